/* checkpoint_kit.h - makes the checkpoints that tests/checkpoints describes.
 *
 * What fails here ends the program: it is the ground that the tests stand on. */
#ifndef SUPPORT_CHECKPOINT_KIT_H
#define SUPPORT_CHECKPOINT_KIT_H

#include "tenon.h"

/* The path of a file of tests/checkpoints/NAME, in a malloc. */
char *checkpoint_file(const char *name, const char *file);
/* Makes the checkpoint in a folder that is there: its shards, config.json and tokenizer files. */
void  checkpoint_make(const char *name, const char *folder);

#endif
