/* save.h - from a model and its sources to bytes: what tn_writer and tn_convert have in common. */
#ifndef API_SAVE_H
#define API_SAVE_H

#include "api/footer.h"

struct save {
	const struct format     *format;
	const struct model      *model;
	const struct source     *sources;   /* [model->n] */
	const tn_file           *origin;    /* that the model was read from, or NULL */
	bool                     told;      /* the caller reports what opening origin found */
	const tn_write_options  *options;
	const struct footers    *footers;            /* that what is written is held to; or NULL */
	bool                     rewrite, converted, recarry; /* see struct plan_job */
	uint64_t                 fit;                /* likewise */
	struct arena            *keep;      /* where what compression makes of the tensors stays; NULL: with the plan */
	const struct packing    *packed;    /* [model->n] that, once it is known: a later save of the same tensors can have it */
	struct tn_report        *report;    /* losses and notes; emptied first */
	tn_error                *err;
	/* between save_begin and save_end */
	struct arena             mem;
	struct plan              plan;
	struct plan_job          job;
};

/* A plan that is ready, whatever made it. */
struct plan_out {
	struct plan             *plan;
	const struct source     *sources;
	const tn_file           *origin;  /* read for it, whatever the sources are; or NULL */
	const struct tensor     *tensors; /* names for errors */
	const tn_write_options  *options;
	tn_code                (*seal)(void *ctx, struct sink *out); /* or NULL */
	void                    *ctx;
	struct arena            *mem;
	tn_error                *err;
};
/* Writes it to a file: whole or not at all. USAGE where that is a file of a set that is read, or, in place, any that is read. */
tn_code plan_to_path(const struct plan_out *o, const char *path);

/* Streams, seals and flushes. */
void    save_stream(struct save *s, struct sink *out);
/* Plans: afterwards plan.size is the exact size. Fails with LOSSY when something would be lost. */
tn_code save_begin(struct save *s);
tn_code save_to_path(struct save *s, const char *path);
/* Opens out and writes all of the file, which is still to be committed or abandoned; abandoned already on failure.
 * room: bytes that must be free. */
tn_code save_write(struct save *s, const char *path, uint64_t room, struct sys_out *out);
/* The same, keeping what an interrupted run has written for the next one (resume.c). */
tn_code save_resumable(struct save *s, const char *path);
tn_code save_to_memory(struct save *s, void *buf, uint64_t cap);
/* Always, also after a failed save_begin. */
void    save_end(struct save *s);

#endif
