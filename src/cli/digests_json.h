/* digests_json.h - the JSON form of a list of digests. */
#ifndef CLI_DIGESTS_JSON_H
#define CLI_DIGESTS_JSON_H

#include "cli/digests.h"

/* text is terminated. False where it is no such document; the list is to be freed all the same. */
bool digests_parse_json(struct digests *list, const char *text);

#endif
