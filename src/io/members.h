/* members.h - which keys an object has had, while it is read: of two of one name only one may stay. */
#ifndef IO_MEMBERS_H
#define IO_MEMBERS_H

#include "base/strmap.h"
#include "model/meta.h"

/* Up to so many are looked at one by one: the index pays only where there are more. */
enum { MEMBERS_FEW = 16 };

struct members {
	struct tn_meta **nodes; /* in the order in which their keys came */
	uint64_t         n;
	bool             indexed;
	struct strmap    keys;
};

/* With room for n; false when memory is out. */
bool members_init(struct members *m, struct arena *mem, size_t n);
/* Adds a node. False when one of its key was added before: then that stays, at *at. */
bool members_add(struct members *m, struct tn_meta *node, uint64_t *at);

#endif
