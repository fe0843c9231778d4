/* fuzz_checkpoint.c - a config.json, a NUL, and names of tensors with two dimensions each, a line each, as a checkpoint.
 * What is taken must be planned as an archive, or refused in words. */
#include "fuzz/fuzz.h"

#include "format/format.h"
#include "format/thin/layout.h"

enum { MOST = 256 };

static tn_code digest(void *ctx, const uint64_t *which, uint64_t n, tn_digest *out, tn_error *err)
{
	(void)ctx;
	for (uint64_t i = 0; i < n; i++)
		memset(&out[i], (int)(which[i] % 7), sizeof out[i]);
	return err->code;
}

/* "NAME" with its last two bytes as the dimensions. */
static bool take_line(struct model *m, struct arena *mem, tn_view line)
{
	uint64_t *shape = arena_raw(mem, 2, sizeof *shape);
	if (line.len < 3 || shape == NULL || m->n == MOST)
		return false;
	shape[0] = line.ptr[line.len - 2];
	shape[1] = line.ptr[line.len - 1];
	m->tensors[m->n++] = (struct tensor){
		.name = { line.ptr, line.len - 2 }, .dtype = TN_U8, .rank = 2, .shape = shape, .nbytes = shape[0] * shape[1],
	};
	return true;
}

static void take_tensors(struct model *m, struct arena *mem, tn_view text)
{
	struct strmap names;
	uint64_t other;
	require(strmap_init(&names, mem, MOST), "memory");
	for (size_t at = 0; at < text.len; ) {
		const uint8_t *end = memchr(text.ptr + at, '\n', text.len - at);
		size_t n = end != NULL ? (size_t)(end - text.ptr) - at : text.len - at;
		if (take_line(m, mem, (tn_view){ text.ptr + at, n }) &&
		    !strmap_add(&names, model_name_at, m, m->n - 1, &other))
			m->n--;
		at += n + 1;
	}
}

static void plan_archive(const struct model *m, struct arena *mem, struct tn_report *report, tn_error *err)
{
	struct plan plan;
	plan_init(&plan, mem);
	struct plan_job job = {
		.model = m, .converted = true, .allow_loss = true, .mem = mem, .plan = &plan, .report = report, .err = err,
	};
	tn_code code = format_named("thin")->plan(&job);
	require(code == err->code && (code == TN_OK) == (err->msg[0] == '\0'), "a plan, or a reason");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = size != 0 ? memchr(data, 0, size) : NULL;
	size_t config = nul != NULL ? (size_t)(nul - data) : size;
	struct arena mem;
	struct tn_report report;
	struct model in, out;
	tn_error err = { .offset = TN_NO_OFFSET };
	arena_init(&mem, 64 << 20);
	report_init(&report);
	require(model_init(&in, &mem), "memory");
	in.tensors = ARENA_NEW(&mem, MOST, struct tensor);
	require(in.tensors != NULL, "memory");
	if (nul != NULL)
		take_tensors(&in, &mem, (tn_view){ nul + 1, size - config - 1 });
	struct checkpoint_job job = {
		.config = { data, config }, .model = &in, .digest = digest, .mem = &mem, .out = &out, .report = &report, .err = &err,
	};
	if (format_named("thin")->checkpoint(&job) == TN_OK)
		plan_archive(&out, &mem, &report, &err);
	else
		require(err.code != TN_OK && err.msg[0] != '\0', "a refusal gives a reason");
	report_fini(&report);
	arena_fini(&mem);
	return 0;
}
