/* fuzz_index.c - any bytes as the index of a set. What is one has owners that point to files, and what is printed from it
 * is one again with the same. */
#include "fuzz/fuzz.h"

#include "format/format.h"

struct parsed {
	struct arena       mem;
	struct shard_index index;
	bool               is;
};

static struct parsed parse(const struct shard_rules *rules, tn_view text)
{
	struct parsed p = { .is = false };
	struct json_doc *doc;
	const struct json_options options = { .what = "fuzz", .budget = 64 << 20 };
	tn_error err = { .code = TN_OK };
	arena_init(&p.mem, 64 << 20);
	if (json_parse(&doc, text, &options, &err) != TN_OK)
		return p;
	struct index_job job = { .root = json_root(doc), .mem = &p.mem, .index = &p.index, .err = &err };
	p.is = rules->is_index(job.root) && rules->read_index(&job) == TN_OK;
	json_free(doc);
	for (uint64_t i = 0; p.is && i < p.index.n_owners; i++)
		require(p.index.owners[i].file < p.index.n_files, "an owner is one of the files");
	return p;
}

/* One shard for each file that can be named in a C string. */
static tn_view print(const struct shard_rules *rules, struct parsed *p)
{
	struct shard_done *done = ARENA_NEW(&p->mem, p->index.n_files, struct shard_done);
	struct buf out;
	struct model whole;
	require(done != NULL && model_init(&whole, &p->mem), "memory");
	for (uint64_t f = 0; f < p->index.n_files; f++) {
		tn_view *names = ARENA_NEW(&p->mem, p->index.n_owners, tn_view);
		if (names == NULL || memchr(p->index.files[f].ptr, 0, p->index.files[f].len) != NULL)
			return (tn_view){ NULL, 0 };
		done[f] = (struct shard_done){ .name = (const char *)p->index.files[f].ptr, .tensors = names };
		for (uint64_t i = 0; i < p->index.n_owners; i++)
			if (p->index.owners[i].file == f)
				names[done[f].n++] = p->index.owners[i].tensor;
	}
	buf_init(&out, 0);
	rules->print_index(&out, done, p->index.n_files, &whole);
	return buf_done(&out, &p->mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < format_count; i++) {
		const struct shard_rules *rules = formats[i]->shards;
		if (rules == NULL || rules->is_index == NULL)
			continue;
		struct parsed once = parse(rules, (tn_view){ data, size });
		tn_view text = once.is && once.index.n_files < 64 ? print(rules, &once) : (tn_view){ NULL, 0 };
		if (text.ptr != NULL) {
			struct parsed twice = parse(rules, text);
			require(twice.is && twice.index.n_files == once.index.n_files && twice.index.n_owners == once.index.n_owners,
			        "what was printed says the same");
			arena_fini(&twice.mem);
		}
		arena_fini(&once.mem);
	}
	return 0;
}
