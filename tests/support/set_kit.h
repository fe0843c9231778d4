/* set_kit.h - sets of safetensors files for tests: three shards of two tensors each, and their index.
 *
 * What fails here ends the program: it is the ground that the tests stand on. */
#ifndef SUPPORT_SET_KIT_H
#define SUPPORT_SET_KIT_H

#include "support/api_kit.h"
#include "support/files.h"

#define SET_INDEX "model.safetensors.index.json"
#define SET_SHARD(k) "model-0000" #k "-of-00003.safetensors"

/* The tensors a to f, u8 [10], seeds 0 to 5, metadata "format" = "pt"; in one file. */
tn_view  set_kit_single(void);
/* That model as three shards in folder. */
void     set_kit_store(const char *folder);
/* A safetensors file of the u8 [10] tensors that the letters name, seed their place in the alphabet modulo 8. */
tn_view  set_kit_file(const char *letters);
/* FOLDER/NAME holds the text. */
void     set_kit_text(const char *folder, const char *name, const char *text);
void     set_kit_remove(const char *folder, const char *name);
/* Whether a finding of this severity has the text in it. */
bool     set_kit_says(const tn_report *report, tn_severity severity, const char *text);

#endif
