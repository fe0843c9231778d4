/* walk.h - going through the metadata as upstream's decoder does.
 *
 * Tags in front of a value are stepped over, lengths may be indefinite and integers wider than they need be;
 * the keys of a struct are definite strings. The first failure ends the walk: every later call fails too. */
#ifndef BURNPACK_WALK_H
#define BURNPACK_WALK_H

#include "codec/cbor.h"

struct walk {
	struct cur    c;
	struct arena *mem;
	uint64_t      tag;       /* in front of the last value; NO_TAG when there was none */
	bool          in_tensor; /* messages name it then */
	tn_view       tensor;
};

/* A map or array being walked. */
struct walk_items {
	uint64_t n;    /* pairs or items */
	bool     open; /* a break follows them */
};

/* Records why at an offset and ends the walk. Returns false. */
bool walk_fail(struct walk *w, tn_code code, uint64_t offset, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Memory ran out. Returns false. */
bool walk_no_memory(struct walk *w, const char *what);
static inline bool walk_ok(const struct walk *w) { return cur_ok(&w->c); }

/* The next value, its tags stepped over. */
bool walk_value(struct walk *w, struct cbor_item *out);
/* A value that must be a map with depth containers open around it: how many pairs follow.
 * Those of an indefinite one are counted ahead. walk_leave takes its end. */
bool walk_enter_map(struct walk *w, unsigned depth, struct walk_items *out, const char *what);
bool walk_leave(struct walk *w, const struct walk_items *items);
/* The key of a struct. */
bool walk_key(struct walk *w, tn_view *out);
/* A text as map key or value, of any length; what it is leads the message. An indefinite one is joined. */
bool walk_text(struct walk *w, tn_view *out, const char *what);
bool walk_uint(struct walk *w, uint64_t *out, const char *what);
bool walk_int(struct walk *w, int64_t *out, const char *what);
/* A row of small or large unsigned numbers. An array or, as upstream takes it too, a definite byte string:
 * then bytes holds it and items counts it. Take each with walk_number, the end with walk_leave. */
struct walk_numbers {
	struct walk_items items;
	tn_view           bytes;
	bool              in_bytes;
};
bool walk_numbers(struct walk *w, unsigned depth, struct walk_numbers *out, const char *what);
bool walk_number(struct walk *w, struct walk_numbers *row, uint64_t *out, const char *what);
/* A variant's name; *payload tells whether a value follows. */
bool walk_variant(struct walk *w, tn_view *name, bool *payload, const char *what);
/* Steps over the value of a member that is not known, with depth containers open around it; bytes is the
 * whole of it, as it stands. */
bool walk_unknown(struct walk *w, tn_view key, unsigned depth, tn_view *bytes);

#define NO_TAG UINT64_MAX

#endif
