/* fault_save.h - one save that takes every way a byte can take, in a folder that holds nothing else.
 *
 * The plan: a header, padding, a tensor from memory larger than the buffer, one copied from a file, one that a
 * callback produces in pieces, and where asked a CRC-32 at the end (which keeps the copy out of the kernel). */
#ifndef SUPPORT_FAULT_SAVE_H
#define SUPPORT_FAULT_SAVE_H

#include "io/plan.h"

#define FAULT_INPUT  "input.bin"
#define FAULT_TARGET "model.out"

struct fault_scene {
	char   *folder;   /* the current folder until the scene ends */
	bool    crc;
	tn_view input;    /* what FAULT_INPUT holds */
	tn_view old;      /* what FAULT_TARGET holds to begin with */
	tn_view expected; /* what a save that succeeds makes of it */
	uint8_t *memory;
};

void    fault_scene_init(struct fault_scene *scene, bool crc);
void    fault_scene_fini(struct fault_scene *scene);
/* Puts the old target back and removes what else is there; returns how many files that were. */
size_t  fault_scene_reset(struct fault_scene *scene);
/* True when the folder holds the input and a target with these bytes, and nothing else. */
bool    fault_scene_is(const struct fault_scene *scene, tn_view target);
tn_code fault_save(const struct fault_scene *scene, bool in_place, tn_error *err);

#endif
