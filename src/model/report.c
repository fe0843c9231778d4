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

/* The last finding of a full report says how many more there were. */
static void count_left_out(struct tn_report *r)
{
	r->left_out++;
	tn_finding *last = &r->list[r->n - 1];
	char *text = (char *)(uintptr_t)last->text; /* made below with room for any number */
	if (r->left_out == 1) {
		text = arena_raw(&r->mem, 64, 1);
		if (text == NULL) {
			r->failed = true;
			return;
		}
		*last = (tn_finding){ last->severity, last->code, TN_NO_OFFSET, NO_TENSOR, text };
	}
	snprintf(text, 64, "%llu more findings are left out", (unsigned long long)r->left_out + 1);
}

void report_add(struct tn_report *r, tn_severity severity, tn_code code, uint64_t offset, tn_view tensor,
                const char *fmt, ...)
{
	r->of[severity]++;
	if (r->n >= REPORT_MAX && r->n > 0) {
		count_left_out(r);
		return;
	}
	char text[sizeof ((tn_error *)0)->msg];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	tn_view name = NO_TENSOR;
	if (tensor.ptr != NULL)
		name = arena_copy(&r->mem, tensor);
	tn_view copy = arena_copy(&r->mem, tn_text(text));
	append(r, (tn_finding){ severity, code, offset, name, (const char *)copy.ptr });
}

void report_copy(struct tn_report *r, const struct tn_report *from)
{
	for (size_t i = 0; i < from->n; i++) {
		const tn_finding *f = &from->list[i];
		report_add(r, f->severity, f->code, f->offset, f->tensor, "%s", f->text);
	}
	r->failed = r->failed || from->failed;
}

const tn_finding *report_first(const struct tn_report *r, tn_code code)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->list[i].code == code)
			return &r->list[i];
	return NULL;
}
