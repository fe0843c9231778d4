/* play.c - playing a file's execution tape for real: every byte of each page that it uses is read, in its order, once
 * for each token. Three ways are compared, and before each the file leaves the system's cache, as far as it lets go. */
#define _DEFAULT_SOURCE 1 /* struct rusage has its counters */
#include "cli/play.h"
#include "cli/fail.h"
#include "cli/input.h"
#include "cli/js.h"
#include "cli/out.h"
#include "cli/tape.h"
#include "cli/value_text.h"
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { WAYS = 3 };

/* What one way took. */
struct result {
	const char     *name;
	bool            mapped;
	tn_pages_counts counts;       /* of the pages; of a map only bytes_read is known */
	uint64_t        system_faults, device_bytes;
	double          seconds;
	uint64_t        digest;       /* the same for the same bytes in the same order */
};

struct playing {
	const struct play *how;
	struct result      results[WAYS];
	size_t             steps;
	uint64_t           tape_bytes;
};

/* Every byte has to come to the processor. */
static uint64_t look_at(uint64_t digest, tn_view v)
{
	size_t i = 0;
	for (; i + 8 <= v.len; i += 8) {
		uint64_t word;
		memcpy(&word, v.ptr + i, 8);
		digest = (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	}
	for (; i < v.len; i++)
		digest = (digest ^ v.ptr[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return digest;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* What is stored encoded has to be decoded somewhere: into one buffer, page after page. The pages of a tape have the
 * file's order of bytes, what is read has the host's. */
static tn_code map_page(const tn_file *file, size_t tensor, tn_buffer *room, tn_view *out, tn_error *err)
{
	if (tn_bytes(file, tensor, out, err) != TN_E_UNSUPPORTED)
		return err->code;
	if (tn_read_buffer(file, tensor, room, err) != TN_OK)
		return err->code;
	value_swap(tn_tensor_at(file, tensor).dtype, room->ptr, room->len);
	*out = (tn_view){ room->ptr, room->len };
	return TN_OK;
}

static tn_code through_map(struct result *r, const tn_file *file, tn_pages *pages, tn_error *err)
{
	tn_buffer room = { 0 };
	for (size_t i = 0; err->code == TN_OK && i < tn_pages_count(pages); i++) {
		size_t tensor = tn_pages_at(pages, i).tensor;
		tn_view bytes;
		if (map_page(file, tensor, &room, &bytes, err) != TN_OK)
			break;
		r->digest = look_at(r->digest, bytes);
		r->counts.bytes_read += tn_tensor_at(file, tensor).stored;
	}
	tn_buffer_fini(&room);
	return err->code;
}

static tn_code through_pages(struct result *r, tn_pages *pages, uint64_t prefetch, tn_error *err)
{
	for (size_t i = 0; i < tn_pages_count(pages); i++) {
		tn_view bytes;
		if (tn_pages_use(pages, i, &bytes, err) != TN_OK)
			return err->code;
		tn_pages_prefetch(pages, i + 1 < tn_pages_count(pages) ? i + 1 : 0, (size_t)prefetch);
		r->digest = look_at(r->digest, bytes);
		tn_pages_end(pages, i);
	}
	return TN_OK;
}

static tn_code measure(struct playing *p, struct result *r, const tn_file *file, tn_pages *pages, uint64_t prefetch,
                       tn_error *err)
{
	struct rusage before, after;
	tn_code code = TN_OK;
	for (size_t i = 0; i < tn_pages_count(pages); i++)
		tn_pages_release(pages, i);
	getrusage(RUSAGE_SELF, &before);
	double start = now();
	for (uint64_t k = 0; code == TN_OK && k < p->how->tokens; k++)
		code = r->mapped ? through_map(r, file, pages, err) : through_pages(r, pages, prefetch, err);
	r->seconds = now() - start;
	getrusage(RUSAGE_SELF, &after);
	r->device_bytes = (uint64_t)(after.ru_inblock - before.ru_inblock) * 512;
	r->system_faults = (uint64_t)(after.ru_majflt + after.ru_minflt - before.ru_majflt - before.ru_minflt);
	if (!r->mapped)
		r->counts = tn_pages_counted(pages);
	return code;
}

static void sum_tape(struct playing *p, const tn_pages *pages)
{
	p->steps = tn_pages_count(pages);
	p->tape_bytes = 0;
	for (size_t i = 0; i < p->steps; i++)
		p->tape_bytes = sum(p->tape_bytes, tn_pages_at(pages, i).nbytes);
}

/* Each way with a file of its own, so that none finds what another has mapped. */
static enum status play_one(const struct cli *cli, struct playing *p, struct result *r, uint64_t prefetch)
{
	struct cli other = *cli;
	tn_pages_options options = { .budget = p->how->budget };
	struct input in;
	tn_pages *pages;
	tn_error err = { 0 };
	other.io = 1 + (int)(r->mapped ? TN_IO_MMAP : TN_IO_PREAD);
	enum status status = input_open(&in, &other, cli->args[0]);
	if (status != STATUS_YES)
		return status;
	tn_code code = tn_pages_open(&pages, in.file, &options, &err);
	if (code == TN_OK) {
		sum_tape(p, pages);
		code = measure(p, r, in.file, pages, prefetch, &err);
		tn_pages_close(pages);
	}
	input_close(&in);
	return code == TN_OK ? STATUS_YES : fail(cli, cli->args[0], &err);
}

/* ---- What came of it ---- */

static void json_result(struct json *j, const struct result *r)
{
	js_open(j, '{', JSON_LINES);
	js_string(js_at(j, "name"), tn_text(r->name));
	js_uint(js_at(j, "bytes_read"), r->counts.bytes_read);
	if (r->mapped) {
		js_null(js_at(j, "faults"));
		js_null(js_at(j, "hits"));
		js_null(js_at(j, "verified"));
		js_null(js_at(j, "peak_bytes"));
	} else {
		js_uint(js_at(j, "faults"), r->counts.faults);
		js_uint(js_at(j, "hits"), r->counts.hits);
		js_uint(js_at(j, "verified"), r->counts.verified);
		js_uint(js_at(j, "peak_bytes"), r->counts.peak);
	}
	js_uint(js_at(j, "system_faults"), r->system_faults);
	js_uint(js_at(j, "device_bytes"), r->device_bytes);
	js_f64(js_at(j, "seconds"), r->seconds);
	js_close(j);
}

static void print_json(const struct cli *cli, const struct playing *p, bool same)
{
	struct json j;
	js_begin(&j, stdout);
	js_open(&j, '{', JSON_LINES);
	js_string(js_at(&j, "file"), tn_text(cli->args[0]));
	js_uint(js_at(&j, "tokens"), p->how->tokens);
	js_uint(js_at(&j, "steps"), p->steps);
	js_uint(js_at(&j, "tape_bytes"), p->tape_bytes);
	js_uint(js_at(&j, "budget_bytes"), p->how->budget);
	js_uint(js_at(&j, "prefetch_pages"), p->how->prefetch);
	js_bool(js_at(&j, "same_bytes"), same);
	js_open(js_at(&j, "ways"), '[', JSON_LINES);
	for (size_t i = 0; i < WAYS; i++)
		json_result(&j, &p->results[i]);
	js_close(&j);
	js_close(&j);
	js_end(&j);
}

static void count_or_dash(struct text *t, bool known, uint64_t v)
{
	if (known)
		text_count(t, v);
	else
		text_str(t, "-");
}

static void print_text(const struct playing *p, bool same)
{
	static const struct column columns[] = {
		{ "WAY", false }, { "READ", true }, { "FAULTS", true }, { "HITS", true }, { "MEMORY", true },
		{ "SYSTEM FAULTS", true }, { "FROM DEVICE", true }, { "SECONDS", true },
	};
	struct table t;
	tape_facts(&t);
	text_count(tape_fact(&t, "tokens"), p->how->tokens);
	text_count(tape_fact(&t, "steps"), p->steps);
	text_exact_size(tape_fact(&t, "tape"), p->tape_bytes);
	text_exact_size(tape_fact(&t, "budget"), p->how->budget);
	text_count(tape_fact(&t, "prefetch"), p->how->prefetch);
	table_print(&t, "", false);
	printf("\n");
	table_init(&t, columns, 8);
	for (size_t i = 0; i < WAYS; i++) {
		const struct result *r = &p->results[i];
		text_str(table_cell(&t), r->name);
		text_bytes(table_cell(&t), r->counts.bytes_read);
		count_or_dash(table_cell(&t), !r->mapped, r->counts.faults);
		count_or_dash(table_cell(&t), !r->mapped, r->counts.hits);
		if (r->mapped)
			text_str(table_cell(&t), "-");
		else
			text_bytes(table_cell(&t), r->counts.peak);
		text_count(table_cell(&t), r->system_faults);
		text_bytes(table_cell(&t), r->device_bytes);
		text_fmt(table_cell(&t), "%.3f", r->seconds);
	}
	table_print(&t, "", true);
	if (!same)
		printf("\nthe file changed in between: the ways gave different bytes\n");
}

enum status play(const struct cli *cli, const struct play *given)
{
	struct play how = *given;
	if (strcmp(cli->args[0], "-") == 0)
		return fail_usage(cli, "standard input cannot be played: it is read only once");
	how.tokens += how.tokens == 0;
	how.prefetch = how.prefetch != 0 ? how.prefetch : 4;
	struct playing p = {
		.how = &how,
		.results = { { .name = "map", .mapped = true }, { .name = "pages" }, { .name = "pages, prefetched" } },
	};
	for (size_t i = 0; i < WAYS; i++) {
		enum status status = play_one(cli, &p, &p.results[i], i == 2 ? how.prefetch : 0);
		if (status != STATUS_YES)
			return status;
	}
	bool same = p.results[0].digest == p.results[1].digest && p.results[1].digest == p.results[2].digest;
	if (cli->json)
		print_json(cli, &p, same);
	else
		print_text(&p, same);
	return same ? STATUS_YES : STATUS_NO;
}
