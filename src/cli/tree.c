/* tree.c - tensors grouped by the parts of their names.
 *
 * Once the names are sorted part by part, a group is a run of the list, so no tree is ever built. A
 * group that holds one single group is printed on one line with it: "model.layers". */
#include "cli/tree.h"
#include "cli/out.h"
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 48 }; /* deeper names keep their tail in one piece */

static bool is_dot(uint8_t c)
{
	return c == '.' || c == '/';
}

/* Length of the part that starts at from, without the dot that ends it. */
static size_t part_len(tn_view name, size_t from)
{
	size_t n = from;
	while (n < name.len && !is_dot(name.ptr[n]))
		n++;
	return n - from;
}

/* Without a leading zero, so that equal numbers are equal text. */
static bool is_number(tn_view v)
{
	for (size_t i = 0; i < v.len; i++)
		if (v.ptr[i] < '0' || v.ptr[i] > '9')
			return false;
	return v.len == 1 || (v.len > 1 && v.ptr[0] != '0');
}

/* Numbers by value ("2" before "10") and before words. */
static int cmp_part(tn_view a, tn_view b)
{
	bool x = is_number(a), y = is_number(b);
	if (x != y)
		return x ? -1 : 1;
	if (x && a.len != b.len)
		return a.len < b.len ? -1 : 1;
	return view_cmp(a, b);
}

static int cmp_names(const void *x, const void *y)
{
	tn_view a = ((const tn_tensor *)x)->name, b = ((const tn_tensor *)y)->name;
	for (;;) {
		size_t n = part_len(a, 0), m = part_len(b, 0);
		int d = cmp_part((tn_view){ a.ptr, n }, (tn_view){ b.ptr, m });
		if (d != 0)
			return d;
		if (n == a.len || m == b.len)
			return (n < a.len) - (m < b.len);
		if (a.ptr[n] != b.ptr[n])
			return a.ptr[n] < b.ptr[n] ? -1 : 1;
		a.ptr += n + 1, a.len -= n + 1;
		b.ptr += n + 1, b.len -= n + 1;
	}
}

struct tree {
	struct table     rows;
	const tn_tensor *list;
	struct text      stem; /* the lines to the left */
};

/* The end of the run whose names share the part at from with name i, and a dot after it. */
static size_t run_end(const struct tree *t, size_t i, size_t end, size_t from)
{
	tn_view name = t->list[i].name;
	size_t len = from + part_len(name, from) + 1, k = i + 1;
	while (len <= name.len && k < end && t->list[k].name.len >= len
	       && memcmp(t->list[k].name.ptr, name.ptr, len) == 0)
		k++;
	return k;
}

/* How much of their names the tensors i to end have in common, up to a dot: being sorted, what the
 * first and the last share is shared by all. */
static size_t shared(const struct tree *t, size_t i, size_t end)
{
	tn_view a = t->list[i].name, b = t->list[end - 1].name;
	size_t n = 0, dot = 0;
	for (; n < a.len && n < b.len && a.ptr[n] == b.ptr[n]; n++)
		if (is_dot(a.ptr[n]))
			dot = n + 1;
	return dot;
}

static void leaf(struct tree *t, size_t i, size_t from, const char *branch)
{
	const tn_tensor *x = &t->list[i];
	struct text *cell = table_cell(&t->rows);
	text_fmt(cell, "%s%s", text_is(&t->stem), branch);
	text_escape(cell, (tn_view){ x->name.ptr + from, x->name.len - from });
	text_dtype(table_cell(&t->rows), x);
	text_shape(table_cell(&t->rows), x->rank, x->shape);
	text_bytes(table_cell(&t->rows), x->stored);
}

static void group(struct tree *t, size_t i, size_t end, size_t from, size_t to, const char *branch)
{
	uint64_t bytes = 0;
	for (size_t k = i; k < end; k++)
		bytes = sum(bytes, t->list[k].stored);
	struct text *cell = table_cell(&t->rows);
	text_fmt(cell, "%s%s", text_is(&t->stem), branch);
	text_escape(cell, (tn_view){ t->list[i].name.ptr + from, to - from - 1 });
	table_cell(&t->rows);
	text_plural(table_cell(&t->rows), end - i, "tensor");
	text_bytes(table_cell(&t->rows), bytes);
}

/* The tensors i to end share from bytes of their names. */
static void level(struct tree *t, size_t i, size_t end, size_t from, unsigned depth)
{
	for (size_t stop; i < end; i = stop) {
		stop = depth < DEEPEST ? run_end(t, i, end, from) : i + 1;
		bool last = stop == end, top = depth == 0;
		const char *branch = top ? "" : last ? "└─ " : "├─ ";
		if (stop - i == 1) {
			leaf(t, i, from, branch);
			continue;
		}
		size_t to = shared(t, i, stop), stem = t->stem.n;
		group(t, i, stop, from, to, branch);
		text_str(&t->stem, top ? "" : last ? "   " : "│  ");
		level(t, i, stop, to, depth + 1);
		t->stem.n = stem;
		t->stem.p[stem] = '\0';
	}
}

void tree_print(tn_tensor *list, size_t n)
{
	static const struct column columns[] = {
		{ "NAME", false }, { "DTYPE", false }, { "SHAPE", false }, { "SIZE", true },
	};
	struct tree t = { .list = list };
	qsort(list, n, sizeof *list, cmp_names);
	table_init(&t.rows, columns, 4);
	level(&t, 0, n, 0, 0);
	table_print(&t.rows, "", true);
	text_free(&t.stem);
}
