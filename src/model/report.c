/* report.c - findings in the order in which they were made, with their texts in one arena. */
#include "model/report.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void report_init(struct tn_report *r)
{
	memset(r, 0, sizeof *r);
	arena_init(&r->mem, 0);
}

void report_fini(struct tn_report *r)
{
	arena_fini(&r->mem);
	mem_free(r->list);
	memset(r, 0, sizeof *r);
}

static tn_finding *next_slot(struct tn_report *r)
{
	if (r->n == r->cap) {
		size_t cap = r->cap != 0 ? 2 * r->cap : 16;
		tn_finding *list = mem_realloc(r->list, cap * sizeof *list);
		if (list == NULL)
			return NULL;
		r->list = list;
		r->cap = cap;
	}
	return &r->list[r->n];
}

static void append(struct tn_report *r, tn_finding f)
{
	tn_finding *slot = next_slot(r);
	if (slot == NULL || f.text == NULL) {
		r->failed = true;
		return;
	}
	*slot = f;
	r->n++;
}

enum { SUMMARY = 64 }; /* room for any number */

/* The last finding of a full report says how many more there were, as severely as the worst of them. */
static void leave_out(struct tn_report *r, tn_severity severity, tn_code code)
{
	tn_finding *last = &r->list[r->n - 1];
	r->left_out++;
	if (r->summary == NULL) {
		r->summary = arena_raw(&r->mem, SUMMARY, 1);
		if (r->summary == NULL) {
			r->failed = true;
			return;
		}
		*last = (tn_finding){ last->severity, last->code, TN_NO_OFFSET, NO_TENSOR, r->summary };
	}
	if (severity > last->severity) {
		last->severity = severity;
		last->code = code;
	}
	/* its place was another finding's, which is left out too */
	snprintf(r->summary, SUMMARY, "%llu more findings are left out", (unsigned long long)r->left_out + 1);
}

void report_add(struct tn_report *r, tn_severity severity, tn_code code, uint64_t offset, tn_view tensor,
                const char *fmt, ...)
{
	r->of[severity]++;
	if (r->n >= REPORT_MAX) {
		leave_out(r, severity, code);
		return;
	}
	char text[sizeof ((tn_error *)0)->msg];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	tn_view name = NO_TENSOR;
	if (tensor.ptr != NULL) {
		name = arena_copy(&r->mem, tensor);
		r->failed = r->failed || name.ptr == NULL;
	}
	tn_view copy = arena_copy(&r->mem, tn_text(text));
	append(r, (tn_finding){ severity, code, offset, name, (const char *)copy.ptr });
}

static void copy(struct tn_report *r, const struct tn_report *from, const char *file, const char *between)
{
	size_t of[3];
	for (size_t s = 0; s < 3; s++)
		of[s] = r->of[s] + from->of[s];
	for (size_t i = 0; i < from->n; i++) {
		const tn_finding *f = &from->list[i];
		report_add(r, f->severity, f->code, f->offset, f->tensor, "%s%s%s", file, between, f->text);
	}
	if (from->left_out != 0 && r->n >= REPORT_MAX) {
		/* the copied summary stands for all of them, and is counted as one of them */
		r->left_out += from->left_out - 1;
		leave_out(r, TN_NOTE, TN_OK);
	}
	memcpy(r->of, of, sizeof of);
	r->failed = r->failed || from->failed;
}

void report_copy(struct tn_report *r, const struct tn_report *from) { copy(r, from, "", ""); }

void report_copy_as(struct tn_report *r, const struct tn_report *from, const char *file)
{
	copy(r, from, ESC(tn_text(file)), ": ");
}

const tn_finding *report_first(const struct tn_report *r, tn_code code)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->list[i].code == code)
			return &r->list[i];
	return NULL;
}
