/* play.h - playing a file's execution tape for real: through a map, and through the library's cache of pages. */
#ifndef CLI_PLAY_H
#define CLI_PLAY_H

#include "cli/cli.h"

struct play {
	uint64_t budget;   /* memory for pages */
	uint64_t tokens;   /* how often; 0: once */
	uint64_t prefetch; /* pages that are asked for early; 0: 4 */
};
/* Plays FILE of the command three times and prints what was measured. */
enum status play(const struct cli *cli, const struct play *how);

#endif
