/* cmd_sample.c - tenon sample: a small model to try things on, the same bytes on every machine.
 *
 * It has the shape of a decoder: embeddings, layers of attention and a gated MLP, norms, a head,
 * and a few tensors of other types. The tensors are produced when the writer comes to them, so a
 * large one needs no memory. */
#include "cli/fail.h"
#include "cli/out.h"
#include "cli/sample.h"
#include "cli/target.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

struct sample_options {
	const char *to;
	uint64_t    size, tensors;
	bool        no_sync;
};

#define AT(field) offsetof(struct sample_options, field)
static const struct opt options[] = {
	{ "to", 0, OPT_TEXT, AT(to), "FORMAT", "instead of the extension of OUT" },
	{ "size", 0, OPT_SIZE, AT(size), "SIZE",
	  "wider and with more layers, at most SIZE of data" },
	{ "tensors", 0, OPT_COUNT, AT(tensors), "N", "N tiny tensors in place of the decoder" },
	{ "no-sync", 0, OPT_FLAG, AT(no_sync), NULL, "do not wait for the disk" },
	OPT_END
};

enum { VOCABULARY = 256, CONTEXT = 128, WIDTH = 64, LAYERS = 2 };
enum { WIDER_FROM = 16, MOST_TENSORS = 10000000 };

/* ---- The list of tensors ---- */

struct model {
	struct sample *list;
	size_t         n, cap;
	uint64_t       width, layers; /* layers 0: tiny tensors only */
};

/* rows 0: a scalar. columns 0: one dimension. */
static void add(struct model *m, tn_dtype dtype, uint64_t rows, uint64_t columns,
                const char *fmt, ...) PRINTF_LIKE(5, 6);
static void add(struct model *m, tn_dtype dtype, uint64_t rows, uint64_t columns,
                const char *fmt, ...)
{
	if (m->n == m->cap) {
		m->cap = m->cap > 0 ? 2 * m->cap : 64;
		m->list = grab_again(m->list, m->cap * sizeof *m->list);
	}
	struct sample *s = &m->list[m->n++];
	uint32_t rank = columns > 0 ? 2 : rows > 0 ? 1 : 0;
	*s = (struct sample){ .dtype = dtype, .rank = rank, .shape = { rows, columns } };
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(s->name, sizeof s->name, fmt, ap);
	va_end(ap);
}

static uint64_t layer_bytes(uint64_t width)
{
	return 2 * (4 * width * width + 3 * width * 4 * width) + 2 * 4 * width;
}

static uint64_t other_bytes(uint64_t width)
{
	return 2 * 2 * VOCABULARY * width + 4 * width + CONTEXT * 8 + VOCABULARY * 2 + 4;
}

/* Doubles the width while enough of the wider layers still fit, then takes as many as do. */
static void scale(struct model *m, uint64_t size)
{
	m->width = WIDTH;
	while (m->width < 16384
	       && WIDER_FROM * layer_bytes(2 * m->width) + other_bytes(2 * m->width) <= size)
		m->width *= 2;
	uint64_t left = size > other_bytes(m->width) ? size - other_bytes(m->width) : 0;
	m->layers = left / layer_bytes(m->width);
	if (m->layers == 0)
		m->layers = 1;
}

static void add_layer(struct model *m, uint64_t i)
{
	uint64_t w = m->width;
	add(m, TN_F32, w, 0, "layers.%" PRIu64 ".attn_norm.weight", i);
	add(m, TN_BF16, w, w, "layers.%" PRIu64 ".attn.q.weight", i);
	add(m, TN_BF16, w, w, "layers.%" PRIu64 ".attn.k.weight", i);
	add(m, TN_BF16, w, w, "layers.%" PRIu64 ".attn.v.weight", i);
	add(m, TN_BF16, w, w, "layers.%" PRIu64 ".attn.o.weight", i);
	add(m, TN_F32, w, 0, "layers.%" PRIu64 ".mlp_norm.weight", i);
	add(m, TN_F16, 4 * w, w, "layers.%" PRIu64 ".mlp.gate.weight", i);
	add(m, TN_F16, 4 * w, w, "layers.%" PRIu64 ".mlp.up.weight", i);
	add(m, TN_F16, w, 4 * w, "layers.%" PRIu64 ".mlp.down.weight", i);
}

static void build_decoder(struct model *m)
{
	add(m, TN_BF16, VOCABULARY, m->width, "tok_embeddings.weight");
	for (uint64_t i = 0; i < m->layers; i++)
		add_layer(m, i);
	add(m, TN_F32, m->width, 0, "norm.weight");
	add(m, TN_BF16, VOCABULARY, m->width, "output.weight");
	add(m, TN_I64, CONTEXT, 0, "positions");
	add(m, TN_U8, VOCABULARY, 0, "token_kinds");
	add(m, TN_BOOL, VOCABULARY, 0, "token_mask");
	add(m, TN_F32, 0, 0, "logit_scale");
}

static void build_tiny(struct model *m, uint64_t tensors)
{
	for (uint64_t i = 0; i < tensors; i++) {
		if (i % 2 == 0)
			add(m, TN_F32, 8, 8, "layers.%" PRIu64 ".weight", i / 2);
		else
			add(m, TN_F32, 8, 0, "layers.%" PRIu64 ".bias", i / 2);
	}
}

/* ---- Writing ---- */

/* Values of all kinds: a conversion has something to carry. */
static bool put_all(tn_writer *w, tn_meta *root, const struct model *m, tn_error *err)
{
	tn_meta *tokens;
	return tn_put_string(w, root, tn_text("architecture"), tn_text("decoder"), err) == TN_OK
	       && tn_put_uint(w, root, tn_text("hidden_size"), m->width, 32, err) == TN_OK
	       && tn_put_uint(w, root, tn_text("layers"), m->layers, 32, err) == TN_OK
	       && tn_put_uint(w, root, tn_text("vocabulary"), VOCABULARY, 32, err) == TN_OK
	       && tn_put_int(w, root, tn_text("pad_token"), -1, 32, err) == TN_OK
	       && tn_put_f32(w, root, tn_text("norm_epsilon"), 1e-5f, err) == TN_OK
	       && tn_put_f64(w, root, tn_text("rope_theta"), 10000.0, err) == TN_OK
	       && tn_put_bool(w, root, tn_text("tied"), false, err) == TN_OK
	       && tn_put_array(w, root, tn_text("control_tokens"), &tokens, err) == TN_OK
	       && tn_put_string(w, tokens, tn_text(NULL), tn_text("<bos>"), err) == TN_OK
	       && tn_put_string(w, tokens, tn_text(NULL), tn_text("<eos>"), err) == TN_OK;
}

static tn_code describe(tn_writer *w, const struct model *m, tn_error *err)
{
	tn_meta *root = tn_writer_metadata(w);
	if (tn_put_string(w, root, tn_text("name"), tn_text("tenon sample"), err) != TN_OK)
		return err->code;
	return m->layers == 0 || put_all(w, root, m, err) ? TN_OK : err->code;
}

static tn_code add_tensors(tn_writer *w, const struct model *m, tn_error *err)
{
	for (size_t i = 0; i < m->n; i++) {
		struct sample *s = &m->list[i];
		tn_source source = {
			.kind = TN_SOURCE_CALLBACK, .produce = sample_produce, .ctx = s,
		};
		tn_code code = tn_writer_add(w, tn_text(s->name), s->dtype, s->rank, s->shape, 0,
		                             &source, err);
		if (code != TN_OK)
			return code;
	}
	return TN_OK;
}

static void report(const struct cli *cli, const char *format, uint64_t size, size_t tensors)
{
	struct json j;
	struct text t = { 0 };
	if (cli->json) {
		js_begin(&j, stdout);
		js_open(&j, '{', JSON_LINES);
		js_string(js_at(&j, "file"), tn_text(cli->args[0]));
		js_string(js_at(&j, "format"), tn_text(format));
		js_uint(js_at(&j, "size"), size);
		js_uint(js_at(&j, "tensors"), tensors);
		js_close(&j);
		js_end(&j);
		return;
	}
	text_escape(&t, tn_text(cli->args[0]));
	text_fmt(&t, ": %s, ", format);
	text_plural(&t, tensors, "tensor");
	text_str(&t, ", ");
	text_exact_size(&t, size);
	text_str(&t, "\n");
	if (!cli->quiet)
		out_text(&t);
	text_free(&t);
}

static enum status save(const struct cli *cli, const struct sample_options *o, const char *format,
                        const struct model *m)
{
	tn_write_options how = {
		.carry = true, .no_sync = o->no_sync, .exact_path = true,
		.max_memory = cli->max_memory, .work = cli_work(cli),
	};
	tn_writer *w;
	tn_error err = { 0 };
	uint64_t size = 0;
	enum status status = STATUS_YES;
	if (tn_writer_new(&w, format, &how, &err) != TN_OK
	    || describe(w, m, &err) != TN_OK
	    || add_tensors(w, m, &err) != TN_OK
	    || tn_writer_size(w, &size, &err) != TN_OK
	    || tn_writer_save(w, cli->args[0], &err) != TN_OK)
		status = fail(cli, cli->args[0], &err);
	else
		report(cli, format, size, m->n);
	tn_writer_free(w);
	return status;
}

static enum status run(const struct cli *cli, const void *own)
{
	const struct sample_options *o = own;
	struct model m = { .width = WIDTH, .layers = LAYERS };
	tn_format format;
	if (o->size > 0 && o->tensors > 0)
		return fail_usage(cli, "--size and --tensors exclude each other");
	if (o->tensors > MOST_TENSORS)
		return fail_usage(cli, "--tensors takes at most %d", MOST_TENSORS);
	enum status status = target_format(cli, o->to, cli->args[0], &format);
	if (status != STATUS_YES)
		return status;
	if (o->size > 0)
		scale(&m, o->size);
	if (o->tensors > 0) {
		m.layers = 0;
		build_tiny(&m, o->tensors);
	} else {
		build_decoder(&m);
	}
	status = save(cli, o, format.name, &m);
	free(m.list);
	return status;
}

const struct command cmd_sample = {
	.name = "sample", .args = "OUT", .summary = "Write a small model to try things on",
	.details = "A decoder of two layers with made-up weights, the same bytes everywhere.\n",
	.options = options, .size = sizeof(struct sample_options),
	.least = 1, .most = 1, .run = run,
};
