/* set.h - a model that lies in several files: which they are, opening them, and making one model of theirs. */
#ifndef API_SET_H
#define API_SET_H

#include "api/file.h"
#include "api/series.h"
#include "sys/folder.h"

enum { SHARDS_MAX = 99999 }; /* files of a set that a shard counts: five digits, as names have room for */

struct set {
	struct arena          *mem;
	const tn_open_options *opt;
	const struct format   *format;   /* that the index, or the extension, speaks of */
	const char            *folder;   /* with its slash; "" for the current one */
	const char            *index;    /* the path of the index; NULL: there is none */
	struct shard_index     says;     /* what it says */
	const char           **files;    /* names in the folder, in the order of the model */
	uint64_t               n;
	struct series          series;   /* of the files, where they are numbered; n is 0 where they are not */
	bool                   from_zero;/* a shard has told that the first number is 0 */
	struct tn_report      *report;   /* of finding it: what else lies in the folder */
};

/* ---- Finding (set_find.c) ---- */

/* What path means: true in *found for a folder and for an index; false for any other file, which is to be opened. */
tn_code set_find(struct set *s, const char *path, bool *found, tn_error *err);
/* A folder for what it holds, whatever an index in it says. */
tn_code set_of_folder(struct set *s, const char *folder, tn_error *err);
/* The text of a small file, in the arena. */
tn_code set_read_file(const char *path, struct arena *mem, tn_view *out, tn_error *err);
/* All files of the folder that have an extension of the format. */
tn_code set_list(const struct set *s, const struct format *format, struct sys_names *out, tn_error *err);

/* The set of a shard, by the numbers in its name, where its format says that any shard stands for all. *is is false for
 * every other part. */
tn_code set_of_any(struct set *s, const struct part *p, bool *is, tn_error *err);

/* Warns where a model that says that it is a shard is about to be written under a name by which no set is found. */
void    set_tell_shard(const struct format *format, const struct model *m, const char *path, struct tn_report *r);

/* ---- Paths (set_path.c) ---- */

/* Why a name in an index cannot be that of a file beside it; NULL when it can. */
const char *set_name_fault(tn_view name);
/* The path of file i: TRUNCATED when it is missing, CORRUPT when it leads out of the folder. A link may lead to
 * where a Hugging Face cache keeps the files of the same repository. */
tn_code set_path(const struct set *s, uint64_t i, const char **out, tn_error *err);
/* FOLDER/NAME. */
const char *set_join(const struct set *s, const char *name);

/* ---- Opening (set_open.c, set_merge.c) ---- */

/* Opens the parts. Given a report, what fails goes there, each with the name of its file, and the others are opened all
 * the same; only NOMEM fails then. */
tn_code set_open(tn_file *f, struct set *s, struct tn_report *lenient, tn_error *err);
/* Whether the files have all numbers of their series: the first gap fails, or all are reported. */
tn_code set_gaps(const struct set *s, struct tn_report *lenient, tn_error *err);
/* Makes the model of the open parts: with s of NULL that of the only part. */
tn_code set_merge(tn_file *f, const struct set *s, const tn_open_options *opt, struct tn_report *lenient, tn_error *err);
/* ---- Checking (verify.c) ---- */

/* All findings about the open parts, those of opening first. */
tn_code verify_file(const tn_file *f, const tn_verify_options *opt, struct tn_report *r, struct arena *mem, tn_error *err);

/* A text file that appears whole or not at all (split.c). */
tn_code set_write_text(const char *path, tn_view text, bool sync, tn_error *err);
/* The file's name without its folder. */
const char *part_name(const struct part *p);

#endif
