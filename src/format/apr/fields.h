/* fields.h - the fields of the metadata that have a type: 35 at the top, and the parts of the three
 * that are objects.
 *
 * The reader gives a field the type that upstream reads it into; the writer puts a node of the
 * model under a field's name only when upstream would read that. */
#ifndef APR_FIELDS_H
#define APR_FIELDS_H

#include "base/buf.h"
#include "model/meta.h"

enum { APR_FIELDS = 35 };

enum apr_kind {
	APR_TEXT,
	APR_BOOL,
	APR_U8, APR_U32, APR_U64,
	APR_F32,    /* any number; kept as a double where it is no f32 */
	APR_OBJECT  /* of parts */
};

/* What stands there when the model has no value. */
enum apr_absent { APR_SKIP, APR_NULL, APR_EMPTY, APR_ZERO, APR_NEEDED };

struct apr_field {
	const char             *name;
	enum apr_kind           kind;
	enum apr_absent         absent;
	const struct apr_field *parts;  /* OBJECT */
	unsigned                n_parts;
	unsigned                least;  /* of parts, where the object is written as an array */
};

/* In the order of the file. */
extern const struct apr_field apr_fields[APR_FIELDS];
/* The index of that name; -1 when the key is a custom one. */
int apr_field_named(tn_view key);

/* Gives a node read from JSON, which is not null, the type of the field. NULL, or what is wrong
 * with it. */
const char *apr_field_read(const struct apr_field *f, struct tn_meta *node, struct arena *a);
/* Would upstream read what apr_field_put prints for this node? *keeps: read back it is an equal
 * node. */
bool        apr_field_takes(const struct apr_field *f, const struct tn_meta *node, bool *keeps);
/* Is this what stands there for no value? Such a value means none: "" and 0. */
bool        apr_field_is_default(const struct apr_field *f, const struct tn_meta *node);
/* The value, or what stands for none where node is NULL. */
void        apr_field_put(struct buf *out, const struct apr_field *f, const struct tn_meta *node);

#endif
