/* tree.h - tensors grouped by the parts of their names. */
#ifndef CLI_TREE_H
#define CLI_TREE_H

#include "tenon.h"

/* Sorts the list and prints it, names split at dots and slashes, with the number of tensors and the
 * bytes of each group. */
void tree_print(tn_tensor *list, size_t n);

#endif
