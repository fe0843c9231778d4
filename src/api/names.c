/* names.c - names and versions of things: dtypes, severities, formats, the library, reports. */
#include "api/call.h"
#include "base/mem.h"
#include "format/format.h"

#include <string.h>

#define TEXT_OF(x) #x
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *tn_version(void) { return VERSION_TEXT(TN_VERSION_MAJOR, TN_VERSION_MINOR, TN_VERSION_PATCH); }

const char *tn_severity_name(tn_severity severity)
{
	return severity == TN_NOTE ? "note" : severity == TN_WARNING ? "warning" : "error";
}

/* ---- Formats ---- */

static tn_format describe(const struct format *f)
{
	return (tn_format){ .name = f->name, .extensions = f->exts, .reads = f->parse != NULL, .writes = f->plan != NULL };
}

size_t tn_format_count(void) { return format_count; }

tn_format tn_format_at(size_t i) { return i < format_count ? describe(formats[i]) : (tn_format){ 0 }; }

bool tn_format_find(const char *name, tn_format *out)
{
	const struct format *f = format_named(name);
	if (f == NULL)
		f = format_for_extension(name);
	if (f != NULL)
		*out = describe(f);
	return f != NULL;
}

/* ---- Reports ---- */

size_t tn_report_count(const tn_report *r) { return r->n; }

tn_finding tn_report_at(const tn_report *r, size_t i)
{
	return i < r->n ? r->list[i] : (tn_finding){ .offset = TN_NO_OFFSET, .text = "" };
}

size_t tn_report_of(const tn_report *r, tn_severity severity) { return r->of[severity]; }

void tn_report_free(tn_report *r)
{
	if (r == NULL)
		return;
	report_fini(r);
	mem_free(r);
}

/* ---- dtypes: the table is the model's ---- */

const char *tn_dtype_name(tn_dtype d) { return dtype_info(d)->name; }

tn_code tn_dtype_bytes(tn_dtype d, uint32_t rank, const uint64_t *shape, uint64_t *out, tn_error *err)
{
	CALL_BEGIN(err);
	return dtype_bytes(d, BLOCK_ROWS, rank, shape, out, err);
}
