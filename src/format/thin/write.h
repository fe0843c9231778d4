/* write.h - what the files that turn a model into an archive share. */
#ifndef FORMAT_THIN_WRITE_H
#define FORMAT_THIN_WRITE_H

#include "format/thin/archive.h"

/* What becomes of a tensor. */
struct written {
	bool        there;
	uint64_t    page;   /* in the list of pages as they were made */
	bool        alias;  /* a slice of another tensor's bytes: it has none of its own in the file */
	uint64_t    fused;  /* a slice of that fused page; UINT64_MAX: of none */
};

/* A page that is the sum of tensors. */
struct fused {
	struct page page;
	uint64_t    size;     /* that their sum must have; 0: not stated */
	uint64_t   *tensors; /* its slices, in order */
	uint64_t    n;
	bool        complete;
};

struct writing {
	struct plan_job    *job;
	const struct model *m;
	const struct tn_meta *native; /* the subtree "thin", or NULL */
	struct envelope     env;
	struct manifest     man;      /* pages: as made, then in the manifest's order */
	struct written     *tensors;  /* [m->n] */
	struct fused       *fused;
	uint64_t            n_fused;
	struct strmap       fused_ids; /* over fused */
	struct strmap       page_ids;  /* over man.pages in the manifest's order */
	struct blob        *blobs;
	uint64_t            n_blobs;
	uint64_t           *table;
};

bool write_no_memory(struct writing *w);
/* The value under that key in the native subtree, where it has that type; else NULL. */
const struct tn_meta *write_native(const struct writing *w, const char *key, tn_meta_type type);
tn_view write_page_id(const void *pages, uint64_t i);

/* write_pages.c: w->man.pages and w->tensors, then their order. */
bool write_pages(struct writing *w);
/* Whether a page of that id is the sum of tensors. */
bool write_is_fused(const struct writing *w, tn_view id);
/* write_model.c: the manifest's other members, from metadata and native. */
bool write_model(struct writing *w);
bool write_tape(struct writing *w);
bool write_memory_plan(struct writing *w);

#endif
