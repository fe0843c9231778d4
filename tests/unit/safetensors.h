/* safetensors.h - small safetensors files in memory, for the unit tests of the format. */
#ifndef UNIT_SAFETENSORS_H
#define UNIT_SAFETENSORS_H

#include "base/bytes.h"
#include "base/num.h"
#include "format/safetensors/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

extern const struct format format_safetensors;

/* One file and what was read from it. */
struct opened {
	uint8_t         *bytes;
	size_t           len;
	struct arena     mem;
	struct model     model;
	struct tn_report report;
	struct strmap    names;
	tn_error         err;
};

/* The file of this header text and that many bytes of data, 0 1 2 ..., in a malloc. */
static inline uint8_t *file_of(tn_view header, size_t data, size_t *len)
{
	*len = HEADER_AT + header.len + data;
	uint8_t *bytes = malloc(*len);
	assert_non_null(bytes);
	put_le64(bytes, header.len);
	copy_bytes(bytes + HEADER_AT, header.ptr, header.len);
	for (size_t i = 0; i < data; i++)
		bytes[HEADER_AT + header.len + i] = (uint8_t)i;
	return bytes;
}

/* Reads the bytes, which o then owns, as opening does: parse, then the common checks. */
static inline tn_code open_bytes(struct opened *o, uint8_t *bytes, size_t len, const tn_limits *limits)
{
	*o = (struct opened){ .bytes = bytes, .len = len };
	arena_init(&o->mem, 0);
	report_init(&o->report);
	assert_true(model_init(&o->model, &o->mem));
	struct parse_job job = {
		.file = { bytes, len }, .size = len, .limits = limits, .mem = &o->mem, .model = &o->model,
		.report = &o->report, .err = &o->err,
	};
	if (format_safetensors.parse(&job) != TN_OK)
		return o->err.code;
	return model_check(&o->model, SAFETENSORS, len, &job.check, &o->mem, &o->names, &o->err);
}

static inline tn_code open_header(struct opened *o, tn_view header, size_t data)
{
	static const tn_limits none;
	size_t len;
	uint8_t *bytes = file_of(header, data, &len);
	return open_bytes(o, bytes, len, &none);
}

static inline void close_opened(struct opened *o)
{
	report_fini(&o->report);
	arena_fini(&o->mem);
	free(o->bytes);
}

/* Whether a finding of this severity has text in it. */
static inline bool says(const struct tn_report *r, tn_severity severity, const char *text)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->list[i].severity == severity && strstr(r->list[i].text, text) != NULL)
			return true;
	return false;
}

#endif
