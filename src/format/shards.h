/* shards.h - what a format says of models that lie in several files. Nothing here touches a file: the core finds and
 * opens them, formats read and print texts and mark models. */
#ifndef FORMAT_SHARDS_H
#define FORMAT_SHARDS_H

#include "base/buf.h"
#include "codec/json.h"
#include "model/model.h"

/* In native, in the map of the format: the map of what an index says of its set (shard_index.metadata). */
#define SHARDS_INDEX "index"

/* ---- An index: which files there are, and which of them owns each tensor ---- */

struct shard_owner {
	tn_view  tensor;
	uint64_t file;   /* index in files */
};
struct shard_index {
	tn_view            *files;   /* in the order of the model; names of one component, not checked */
	uint64_t            n_files;
	uint64_t           *sizes;   /* bytes of each file, as the index says; NULL where it does not */
	struct shard_owner *owners;
	uint64_t            n_owners;
	bool                has_total;
	uint64_t            total;   /* bytes of all tensors, as the index says */
	struct tn_meta     *metadata;/* a map: what else it says of the set; NULL where it says nothing */
};

struct index_job {
	const struct json_val *root;
	struct arena          *mem;
	struct shard_index    *index;  /* out */
	struct tn_report      *report; /* what is tolerated; NULL: nobody asks */
	tn_error              *err;
};

/* ---- A shard: its place in the set ---- */

struct shard_place {
	uint64_t k, n;     /* number k, from 0, of n */
	uint64_t tensors;  /* of the whole set; UINT64_MAX: not said */
};

/* A model becomes that of one shard: tensors are chosen already. */
struct shard_job {
	struct model      *model;  /* its metadata and native may be replaced, not changed */
	struct shard_place place;
	uint64_t           data;   /* bytes of all tensors of the set */
	struct arena      *mem;
	struct tn_report  *report; /* what of the model has no place in its shards */
	tn_error          *err;
};

/* A shard as it has been planned, for the index. */
struct shard_done {
	const char     *name;
	uint64_t        size;     /* of the file */
	uint64_t        data;     /* bytes of its tensors */
	const tn_view  *tensors;
	uint64_t        n;
};

struct shard_rules {
	const char *index_suffix;  /* what the name of an index ends in: ".safetensors.index.json"; NULL: there is none */
	unsigned    first;         /* the number of the first file in names: STEM-00001-of-00002.EXT */
	bool        any_stands_for_all; /* a shard that is opened means its whole set */
	/* Whether a JSON document is an index of this format, and what it says. NULL where there is none. */
	bool      (*is_index)(const struct json_val *root);
	tn_code   (*read_index)(struct index_job *job);
	/* The place that a shard's own metadata gives it; false: it is a whole model. NULL: files do not say. */
	bool      (*place)(const struct model *m, struct shard_place *out);
	/* Takes out of a model of several files what made one of them a shard, in whatever form. NULL: nothing does. */
	void      (*make_whole)(struct model *m);
	tn_code   (*make_shard)(struct shard_job *job);
	/* The text of an index; whole gives what an earlier index said. May be NULL where index_suffix is. */
	void      (*print_index)(struct buf *out, const struct shard_done *list, uint64_t n, const struct model *whole);
};

#endif
