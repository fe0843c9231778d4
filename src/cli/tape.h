/* tape.h - what plan, simulate, profile and info --stats share: the options of a plan, and a tree of estimates. */
#ifndef CLI_TAPE_H
#define CLI_TAPE_H

#include "cli/cli.h"
#include "cli/text.h"
#include <stdio.h>

struct plan_args {
	const char *backend, *kv_dtype, *residency, *fraction;
	uint64_t    vram, ctx, batch, offload, prefetch;
};
/* Upstream's options, for the tables of commands; at is the offset of a plan_args in the command's own struct. */
#define PLAN_AT(at, field) ((at) + offsetof(struct plan_args, field))
#define PLAN_OPTIONS(at)                                                                             \
	{ "vram", 0, OPT_MEMORY, PLAN_AT(at, vram), "SIZE",                                          \
	  "memory of the device: 8GB and 8GiB are the same" },                                       \
	{ "backend", 0, OPT_TEXT, PLAN_AT(at, backend), "NAME",                                      \
	  "whose layouts stay resident beside 'generic' (all layouts)" },                            \
	{ "ctx", 0, OPT_COUNT, PLAN_AT(at, ctx), "N", "tokens of context (4096)" },                  \
	{ "batch", 0, OPT_COUNT, PLAN_AT(at, batch), "N", "sequences at a time (1)" },               \
	{ "kv-dtype", 0, OPT_TEXT, PLAN_AT(at, kv_dtype), "CODEC",                                   \
	  "of older tokens: fp16, bf16, fp8, q8, q6, q5, q4, q3, q2 (q4)" },                         \
	{ "weight-residency", 0, OPT_TEXT, PLAN_AT(at, residency), "MODE",                           \
	  "all, stream, offload-last-n, offload-first-n, offload-middle-out (all)" },                \
	{ "offload-layers", 0, OPT_COUNT, PLAN_AT(at, offload), "N", "the n of offload-..." },       \
	{ "gpu-fraction", 0, OPT_TEXT, PLAN_AT(at, fraction), "F", "of the memory that may be used (1.0)" }

/* Makes the options that the library takes; a complaint has been printed when it is false. */
bool plan_options(const struct cli *cli, const struct plan_args *args, tn_plan_options *out);

/* Verifies the file, but for the bytes of its tensors, and estimates. A failure has been printed. */
enum status tape_estimate(tn_estimate **out, const struct cli *cli, const tn_file *file, tn_estimate_kind kind,
                          const tn_plan_options *options);
/* Opens the command's file, estimates, and prints the values: as JSON, or as print makes them. A failure has been printed. */
enum status tape_show(const struct cli *cli, tn_estimate_kind kind, const tn_plan_options *options,
                      void (*print)(const struct cli *cli, const tn_meta *values));
/* The tree as JSON, each item on a line; without a newline at the end. */
void     tape_json(FILE *to, const tn_meta *values);

/* ---- For people ---- */

uint64_t tape_uint(const tn_meta *map, const char *key); /* 0 where there is none */
tn_view  tape_view(const tn_meta *map, const char *key);
const tn_meta *tape_find(const tn_meta *map, const char *key);
void     tape_heading(const char *title);
/* A table of two columns: "  weights   1.5 KiB". */
struct table;
void         tape_facts(struct table *t);
struct text *tape_fact(struct table *t, const char *name);
/* "any" where no backend was named. */
void     tape_backend(struct text *t, const tn_meta *values);
/* The strings of an array under a heading, the first few of them. */
void     tape_strings(const char *title, const tn_meta *array, uint64_t most);

#endif
