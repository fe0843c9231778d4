/* check_file.h - what tenon.h promises of a file that opens, whatever its bytes are. */
#ifndef FUZZ_CHECK_FILE_H
#define FUZZ_CHECK_FILE_H

#include "fuzz/fuzz.h"

/* Reads, walks, maps, verifies and hashes all of it. */
void check_file(const tn_file *file);
/* Goes through a tree of metadata. */
void check_tree(const tn_meta *node);

/* Whether two trees are the same; the keys of their roots may stand in any order, as formats have their own. */
bool check_same_keys(const tn_meta *a, const tn_meta *b);

#endif
