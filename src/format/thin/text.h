/* text.h - a pull reader of JSON that accepts what upstream's parser accepts, no more and no less.
 *
 * A manifest may be tens of megabytes: it is read once from front to end, without a tree of it in memory. Known
 * members are asked for by type; the value of an unknown one is passed over with fewer demands, as upstream does. */
#ifndef FORMAT_THIN_TEXT_H
#define FORMAT_THIN_TEXT_H

#include "model/meta.h"

struct text {
	const uint8_t *base, *p, *end;
	uint64_t       origin; /* file offset of base */
	unsigned       depth;  /* containers that are open */
	const char    *what;   /* leads messages: "manifest" */
	bool           exact;  /* decimals to the nearest double; else by upstream's arithmetic, which may miss it by one */
	struct arena  *mem;    /* for strings with escapes, and trees */
	tn_error      *err;    /* never NULL; sticks */
};

struct text text_over(tn_view v, uint64_t origin, struct arena *mem, tn_error *err);
static inline bool text_ok(const struct text *t) { return t->err->code == TN_OK; }
/* Records a fault at the place that was reached; later calls do nothing. Returns false. */
bool text_fail(struct text *t, tn_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool text_no_memory(struct text *t);

/* Opens an object or array; what names it in messages. Then, until false:
 *	for (bool first = true; text_member(&t, &first, &key); ) ... read the value ... */
bool text_object(struct text *t, const char *what);
bool text_member(struct text *t, bool *first, tn_view *key);
bool text_array(struct text *t, const char *what);
bool text_item(struct text *t, bool *first);

/* Values. A string is a view of the text, or of the arena where it had escapes. */
bool text_string(struct text *t, const char *what, tn_view *out);
bool text_bool(struct text *t, const char *what, bool *out);
bool text_uint(struct text *t, const char *what, uint64_t max, uint64_t *out);
bool text_real(struct text *t, const char *what, double *out);
/* Takes a null when there is one. */
bool text_null(struct text *t);
/* Any value as a tree: keys sorted, the last of equal ones kept. NULL on failure. */
struct tn_meta *text_tree(struct text *t);
/* Any value of an unknown key, however deep. */
void text_skip(struct text *t);
/* Nothing but white space may follow. */
bool text_end(struct text *t);

#endif
