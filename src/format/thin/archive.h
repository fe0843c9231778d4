/* archive.h - an archive as a whole: the front of one that is open, and the layout of one to be written.
 *
 * To write one, its manifest is known and its pages' bytes come from sources. The front (header, manifest, page table)
 * is printed first, with zeros for the checksums that are not known; sealing fills them in, and holds those that were
 * known to what was written. */
#ifndef FORMAT_THIN_ARCHIVE_H
#define FORMAT_THIN_ARCHIVE_H

#include "format/thin/layout.h"
#include "format/thin/manifest.h"

/* ---- Reading ---- */

struct thin_front {
	struct thin_header h;
	struct thin_table  table;
	struct manifest    m;     /* as upstream's arithmetic reads it */
	struct strmap      pages; /* the first page of each id */
};

/* Of a file that has been opened: what failed then cannot fail here. What is loaded lives as long as mem and the file. */
tn_code thin_load(struct thin_front *f, const struct reader *file, const struct model *m, struct arena *mem,
                  tn_error *err);
/* The first page of that id; false when there is none. */
bool thin_page_find(const struct thin_front *f, tn_view id, uint64_t *out);

/* ---- Writing ---- */

extern const tn_view unknown_checksum; /* 64 zeros: what a page's checksum is before it is known */

/* Bytes of one source in a blob. */
struct piece {
	uint64_t         source; /* number of the tensor in the plan's sources */
	uint64_t         len;
	uint64_t         page;   /* the page with just these bytes */
	const tn_digest *known;  /* what they must be; NULL: not known */
};

/* The bytes of a page with a record: those of its one piece, or of its slices end to end. */
struct blob {
	uint64_t            page;
	const struct piece *pieces;
	uint64_t            n;
	const tn_digest    *known; /* of the whole; NULL: not known, or there is one piece */
	uint64_t            zstd;  /* bytes that its one source yields, compressed; 0: it is not. Its checksum is known */
};

struct archive {
	struct arena        *mem;
	struct plan         *plan;
	tn_error            *err;
	const struct manifest *m;
	const struct blob   *blobs;  /* in the order of their data */
	uint64_t             n;
	const uint64_t      *table;  /* [n] record k is of blob table[k]; NULL: in the order of the data */
	uint64_t             align;  /* of each blob; 1: none */
	/* made by archive_plan */
	uint8_t             *front;
	uint64_t             front_len;
	uint64_t            *checksum_at;  /* [m->n_pages] in front */
	uint8_t            **record_hash;  /* [n] by blob: in front */
	uint64_t            *first_span;   /* [n] by blob */
};

/* Lists the spans of the whole file. */
tn_code archive_plan(struct archive *a);
tn_code archive_seal(struct archive *a, struct sink *out);

/* ---- Repacking ---- */

/* Another manifest and order of an archive's records: m starts as the archive's own. pieces[].source is the number of a
 * record. Fails where the layout cannot be had. */
struct repacked {
	struct manifest m;
	struct blob    *blobs;
	uint64_t        n;
};
tn_code thin_repack(struct repacked *out, const struct thin_front *f, tn_thin_layout layout, struct arena *mem,
                    tn_error *err);

#endif
