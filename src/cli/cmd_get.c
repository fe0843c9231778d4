/* cmd_get.c - tenon get: the bytes or values of one tensor, or one metadata value. */
#define _POSIX_C_SOURCE 200809L
#include "cli/fail.h"
#include "cli/input.h"
#include "cli/meta.h"
#include "cli/npy.h"
#include "cli/out.h"
#include "cli/outfile.h"
#include "cli/slice.h"
#include "cli/value_text.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { AS_DEFAULT, AS_RAW, AS_NPY, AS_TEXT };

struct get {
	const char *output, *slice, *meta;
	int         as;
};

#define AT(field) offsetof(struct get, field)
static const struct opt options[] = {
	{ "output", 'o', OPT_TEXT, AT(output), "OUT",
	  "write there; '-' insists on standard output" },
	{ "as", 0, OPT_CHOICE, AT(as), "raw|npy|text",
	  "raw bytes (default), a numpy file, numbers" },
	{ "slice", 0, OPT_TEXT, AT(slice), "PARTS", "0:4,:,-1: a range or an index per dimension" },
	{ "meta", 0, OPT_TEXT, AT(meta), "KEY", "one metadata value in place of a tensor" },
	OPT_END
};

/* ---- Tensors: three ways to take the pieces ---- */

struct taker {
	FILE       *to;
	tn_dtype    dtype;
	size_t      unit;
	uint64_t    row, at;   /* text: values in a row, values so far */
	struct json json;      /* JSON: nested as the shape is */
	const struct slice *slice;
	uint64_t    index[SLICE_RANK];
};

/* The type of the elements that the taker gets. */
static tn_dtype given_dtype(const tn_tensor *x, const struct slice *s)
{
	return s->decoded ? TN_F32 : x->dtype;
}

static tn_code written(const struct taker *t, tn_error *err)
{
	if (!ferror(t->to))
		return TN_OK;
	*err = (tn_error){ .code = TN_E_IO, .sys = errno, .offset = TN_NO_OFFSET };
	snprintf(err->msg, sizeof err->msg, "write: %s", strerror(errno));
	return err->code;
}

static tn_code take_raw(void *ctx, uint8_t *bytes, size_t n, tn_error *err)
{
	struct taker *t = ctx;
	value_swap(t->dtype, bytes, n);
	fwrite(bytes, 1, n, t->to);
	return written(t, err);
}

static tn_code take_text(void *ctx, uint8_t *bytes, size_t n, tn_error *err)
{
	struct taker *t = ctx;
	struct text line = { 0 };
	for (size_t i = 0; i < n; i += t->unit) {
		value_text(&line, t->dtype, bytes + i);
		text_str(&line, ++t->at % t->row == 0 ? "\n" : " ");
	}
	fwrite(line.p, 1, line.n, t->to);
	text_free(&line);
	return written(t, err);
}

static tn_code take_json(void *ctx, uint8_t *bytes, size_t n, tn_error *err)
{
	struct taker *t = ctx;
	uint32_t rank = t->slice->out_rank;
	const uint64_t *shape = t->slice->out_shape;
	for (size_t i = 0; i < n; i += t->unit) {
		uint32_t opens = rank; /* brackets open where all inner indices are 0 */
		while (opens > 0 && t->index[opens - 1] == 0)
			opens--;
		for (uint32_t d = opens; d < rank; d++)
			js_open(&t->json, '[', d + 1 < rank ? JSON_LINES : JSON_ONE_LINE);
		value_json(&t->json, t->dtype, bytes + i);
		for (uint32_t d = rank; d-- > 0 && ++t->index[d] == shape[d]; ) {
			t->index[d] = 0;
			js_close(&t->json);
		}
	}
	return written(t, err);
}

static void json_shape(struct json *j, const struct slice *s)
{
	js_open(js_at(j, "shape"), '[', JSON_ONE_LINE);
	for (uint32_t d = 0; d < s->out_rank; d++)
		js_uint(j, s->out_shape[d]);
	js_close(j);
}

/* The head that both JSON documents share: of the values, and of the file written. */
static void json_head(struct json *j, const struct cli *cli, const tn_tensor *x,
                      const struct slice *s)
{
	js_begin(j, stdout);
	js_open(j, '{', JSON_LINES);
	js_string(js_at(j, "file"), tn_text(cli->args[0]));
	js_string(js_at(j, "tensor"), x->name);
	js_string(js_at(j, "dtype"), tn_text(tn_dtype_name(x->dtype)));
	json_shape(j, s);
}

static enum status print_json(const struct cli *cli, const tn_file *file, size_t i,
                              const struct slice *s)
{
	tn_tensor x = tn_tensor_at(file, i);
	tn_error err = { 0 };
	struct taker t = { .to = stdout, .dtype = given_dtype(&x, s), .unit = s->unit, .slice = s };
	json_head(&t.json, cli, &x, s);
	js_at(&t.json, "values");
	if (s->elements == 0) {
		js_open(&t.json, '[', JSON_ONE_LINE);
		js_close(&t.json);
	}
	if (slice_read(s, file, i, take_json, &t, &err) != TN_OK)
		return fail(cli, cli->args[0], &err);
	js_close(&t.json);
	js_end(&t.json);
	return STATUS_YES;
}

static void report_written(const struct cli *cli, const struct get *o, const tn_tensor *x,
                           const struct slice *s, int as)
{
	static const char *const names[] = { "", "raw", "npy", "text" };
	struct json j;
	if (!cli->json)
		return;
	json_head(&j, cli, x, s);
	js_string(js_at(&j, "output"), tn_text(o->output));
	js_string(js_at(&j, "as"), tn_text(names[as]));
	js_close(&j);
	js_end(&j);
}

static enum status write_tensor(const struct cli *cli, const struct get *o, const tn_file *file,
                                size_t i, const struct slice *s, int as)
{
	tn_tensor x = tn_tensor_at(file, i);
	tn_error err = { 0 };
	struct outfile out;
	const char *path = o->output != NULL ? o->output : "standard output";
	if (!outfile_open(&out, o->output))
		return fail_system(cli, path, "open", errno);
	uint64_t row = s->out_rank > 0 ? s->out_shape[s->out_rank - 1] : 1;
	struct taker t = { .to = out.to, .dtype = given_dtype(&x, s), .unit = s->unit, .row = row };
	if (as == AS_NPY)
		npy_header(out.to, value_npy(t.dtype), s->out_rank, s->out_shape);
	if (slice_read(s, file, i, as == AS_TEXT ? take_text : take_raw, &t, &err) != TN_OK) {
		bool output = ferror(out.to);
		outfile_abandon(&out);
		return fail(cli, output ? path : cli->args[0], &err);
	}
	if (!outfile_commit(&out))
		return fail_system(cli, path, "write", errno);
	report_written(cli, o, &x, s, as);
	return STATUS_YES;
}

/* ---- What is asked for, and whether it can be had ---- */

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);
	return n >= m && strcmp(s + n - m, end) == 0;
}

static int form(const struct cli *cli, const struct get *o)
{
	if (o->as != AS_DEFAULT)
		return o->as;
	if (cli->json && o->output == NULL)
		return AS_TEXT;
	return o->output != NULL && ends_with(o->output, ".npy") ? AS_NPY : AS_RAW;
}

/* Elements that do not stand alone are decoded where numbers are asked for. */
static enum status check_type(const struct cli *cli, const struct get *o, const struct input *in,
                              size_t i, int as)
{
	tn_dtype dtype = tn_tensor_at(in->file, i).dtype;
	bool packed = value_size(dtype) == 0;
	tn_error err = { 0 };
	if (packed && as == AS_RAW && o->slice != NULL)
		return fail_with(
		        cli, cli->args[0], TN_E_USAGE,
		        "%s elements do not stand alone: --slice needs --as npy or --as text",
		        tn_dtype_name(dtype));
	if (!packed && as == AS_NPY && value_npy(dtype) == NULL)
		return fail_with(cli, cli->args[0], TN_E_USAGE,
		                 "numpy has no type for %s: use --as raw or --as text",
		                 tn_dtype_name(dtype));
	if (packed && as != AS_RAW && tn_read_f32(in->file, i, 0, NULL, 0, &err) != TN_OK)
		return fail(cli, cli->args[0], &err);
	return STATUS_YES;
}

/* The raw whole of a tensor whose elements do not stand alone is a run of bytes. */
static enum status shape_slice(const struct cli *cli, const struct get *o, const tn_tensor *x,
                               int as, struct slice *s)
{
	size_t unit = value_size(x->dtype);
	bool decoded = unit == 0 && as != AS_RAW;
	struct text complaint = { 0 };
	bool good = unit == 0 && !decoded ? slice_parse(s, NULL, 1, &x->nbytes, 1, &complaint)
	                                  : slice_parse(s, o->slice, x->rank, x->shape,
	                                                decoded ? sizeof(float) : unit, &complaint);
	enum status status =
	        good ? STATUS_YES
	             : fail_with(cli, cli->args[0], TN_E_USAGE, "%s", text_is(&complaint));
	s->decoded = decoded;
	text_free(&complaint);
	return status;
}

static enum status get_tensor(const struct cli *cli, const struct get *o, const struct input *in)
{
	size_t i;
	struct slice s;
	int as = form(cli, o);
	enum status status = input_find(in, cli, cli->args[0], cli->args[1], &i);
	if (status != STATUS_YES)
		return status;
	status = check_type(cli, o, in, i, as);
	if (status != STATUS_YES)
		return status;
	tn_tensor x = tn_tensor_at(in->file, i);
	status = shape_slice(cli, o, &x, as, &s);
	if (status != STATUS_YES)
		return status;
	if (cli->json && o->output == NULL)
		return print_json(cli, in->file, i, &s);
	return write_tensor(cli, o, in->file, i, &s, as);
}

static enum status check_usage(const struct cli *cli, const struct get *o)
{
	bool to_stdout = o->output == NULL || strcmp(o->output, "-") == 0;
	if (o->meta != NULL
	    && (cli->nargs > 1 || o->output != NULL || o->slice != NULL || o->as != AS_DEFAULT))
		return fail_usage(cli, "--meta stands alone: no TENSOR, no other option");
	if (o->meta == NULL && cli->nargs < 2)
		return fail_usage(cli, "expected FILE TENSOR, or --meta KEY");
	if (cli->json && (o->output == NULL ? o->as != AS_DEFAULT : to_stdout))
		return fail_usage(cli, "--json prints the values itself: give -o OUT for a file");
	bool bytes = o->meta == NULL && !cli->json && form(cli, o) != AS_TEXT;
	if (bytes && o->output == NULL && isatty(STDOUT_FILENO))
		return fail_usage(cli, "no bytes to a terminal: try --as text, -o OUT or -o -");
	return STATUS_YES;
}

static enum status run(const struct cli *cli, const void *own)
{
	const struct get *o = own;
	struct input in;
	enum status status = check_usage(cli, o);
	if (status == STATUS_YES)
		status = input_open(&in, cli, cli->args[0]);
	if (status != STATUS_YES)
		return status;
	input_errors(cli, &in);
	status = o->meta != NULL ? meta_get(cli, cli->args[0], in.file, o->meta)
	                         : get_tensor(cli, o, &in);
	input_close(&in);
	return status;
}

const struct command cmd_get = {
	.name = "get", .args = "FILE [TENSOR]",
	.summary = "Write the bytes or values of one tensor, or a metadata value",
	.details = "A slice has a part for each dimension: '2' one index, '0:4' a range, ':' all;\n"
	           "negative numbers count from the end. An OUT that ends in .npy is written as\n"
	           "a numpy file.\n",
	.options = options, .size = sizeof(struct get), .least = 1, .most = 2, .run = run,
};
