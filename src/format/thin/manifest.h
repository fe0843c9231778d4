/* manifest.h - the manifest as upstream types it: read, printed and judged.
 *
 * Upstream never copies a manifest, it prints it anew: members in the order of the schema, unknown ones dropped,
 * absent ones left out. manifest_print gives the same bytes. */
#ifndef FORMAT_THIN_MANIFEST_H
#define FORMAT_THIN_MANIFEST_H

#include "base/buf.h"
#include "format/thin/text.h"
#include "model/report.h"

/* ---- The model: 64 members, kept as metadata nodes under their names ---- */

enum field_type {
	FIELD_STRING, FIELD_U64, FIELD_U32, FIELD_F64, FIELD_BOOL, FIELD_JSON,
	FIELD_STRINGS, FIELD_BOOLS /* lists: left out when empty */
};
struct field {
	const char     *name;
	enum field_type type;
	bool            required;
};
enum { MODEL_FIELDS = 64 };
extern const struct field model_fields[MODEL_FIELDS];
/* The member of that name; NULL when there is none. */
const struct field *model_field(tn_view name);

/* ---- The rest ---- */

struct stage {
	tn_view         name, operator; /* operator: empty where there is none */
	struct tn_meta *params;         /* a map, or NULL */
	tn_view        *refs;
	uint64_t        n_refs;
};

enum { PAGE_LAYER = 1, PAGE_FUSED_OFFSET = 2, PAGE_BITS = 4, PAGE_GROUP = 8 };

struct page {
	tn_view         id, kind, op, dtype, layout, checksum;
	tn_view         fused_to, scheme, scale_page; /* ptr is NULL where absent */
	const uint64_t *shape;
	uint32_t        rank;
	uint32_t        has; /* which of these are there: */
	uint64_t        layer, fused_offset, bits, group;
	uint64_t        size;
	bool            experimental;
};

struct memory_plan {
	uint64_t scratch, min_vram, recommended_vram, recent_tokens;
	tn_view  policy, codec;
};

struct manifest {
	tn_view            format;
	uint64_t           version;
	struct tn_meta    *model; /* a map */
	struct stage      *tape;
	uint64_t           n_stages;
	struct page       *pages;
	uint64_t           n_pages;
	struct memory_plan plan;
	tn_view            envelope; /* ptr is NULL where there is none */
};

/* ---- Reading ---- */

struct manifest_options {
	uint64_t origin;  /* file offset of the text */
	bool     exact;   /* see struct text */
	/* Takes each page as it is read, in place of the list; what it holds stays valid. at: how far into the file the text
	 * is read. False stops, with err filled in. */
	bool   (*page)(void *ctx, const struct page *p, uint64_t at);
	void    *ctx;
};
tn_code manifest_read(struct manifest *m, tn_view text, const struct manifest_options *opt, struct arena *mem,
                      tn_error *err);

/* ---- Printing ---- */

/* Where in out each page's checksum went, for a later patch: at[i] is that of pages[i]; may be NULL. */
void manifest_print(struct buf *out, const struct manifest *m, uint64_t *at);

/* ---- Judging ---- */

/* All that upstream's validator finds, in its order. False when memory is out. */
bool manifest_judge(const struct manifest *m, struct arena *mem, struct tn_report *r);
/* Not blank, no slash, no white space: what upstream asks of an id. The reason it is none, or NULL. */
const char *id_fault(tn_view id);
/* Empty, or Unicode white space all through. */
bool is_blank(tn_view v);

#endif
