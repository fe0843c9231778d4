/* mutate.c - what the mutation of model files has in common; mutate_FORMAT.c each know one layout. See mutate.h. */
#include "fuzz/mutate.h"

#include <stdio.h>

static const struct mutated_format *const known[] = {
	&mutated_apr, &mutated_burnpack, &mutated_gguf, &mutated_thin, &mutated_safetensors,
};

/* ---- Layouts ---- */

void layout_part(struct layout *l, enum part_kind kind, size_t at, size_t len, size_t group)
{
	if (l->n_parts < LAYOUT_PARTS && span_fits(at, len, l->size))
		l->parts[l->n_parts++] = (struct part){ .kind = kind, .at = at, .len = len, .group = group };
}

void layout_ref(struct layout *l, enum ref_kind kind, size_t at, unsigned width, size_t base)
{
	if (l->n_refs < LAYOUT_REFS && span_fits(at, width != 0 ? width : 1, l->size))
		l->refs[l->n_refs++] = (struct ref){ .kind = kind, .at = at, .width = width, .base = base };
}

static size_t json_string_end(tn_view file, size_t at, size_t end)
{
	for (at++; at < end && file.ptr[at] != '"'; at++)
		at += file.ptr[at] == '\\';
	return at < end ? at + 1 : end;
}

/* An item of a container begins at from and ends before a comma or a bracket; the group is where the container begins. */
static void json_item(struct layout *l, tn_view file, size_t from, size_t to, size_t group)
{
	if (to > from)
		layout_part(l, PART_RECORD, from, to - from + (file.ptr[to] == ','), group);
}

void layout_json(struct layout *l, tn_view file, size_t at, size_t len)
{
	enum { DEPTH = 8 };
	size_t open[DEPTH] = { 0 }, item[DEPTH] = { 0 }, depth = 0, end = at + len;
	while (at < end) {
		uint8_t c = file.ptr[at];
		size_t from = at++;
		if (c == '"') {
			at = json_string_end(file, from, end);
			if (at - from > 2)
				layout_part(l, PART_TEXT, from + 1, at - from - 2, 0);
		} else if (c == '-' || (c >= '0' && c <= '9')) {
			while (at < end && strchr("0123456789.eE+-", file.ptr[at]) != NULL && file.ptr[at] != 0)
				at++;
			layout_part(l, PART_DECIMAL, from, at - from, 0);
		} else if (c == '{' || c == '[') {
			if (++depth < DEPTH)
				open[depth] = from, item[depth] = at;
		} else if (c == '}' || c == ']') {
			if (depth != 0 && depth < DEPTH)
				json_item(l, file, item[depth], from, open[depth]);
			depth -= depth != 0;
		} else if (c == ',' && depth < DEPTH) {
			json_item(l, file, item[depth], from, open[depth]);
			item[depth] = at;
		}
	}
}

const struct mutated_format *layout_of(struct layout *l, tn_view file)
{
	*l = (struct layout){ .size = file.len };
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (known[i]->is(file))
			return known[i]->lay_out(l, file) ? known[i] : NULL;
	return NULL;
}

/* ---- Numbers ---- */

static uint64_t get(const uint8_t *p, unsigned width)
{
	uint64_t v = 0;
	if (width == 0)
		return *p & 31;
	for (unsigned i = 0; i < width; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

static void put(uint8_t *p, unsigned width, uint64_t v)
{
	if (width == 0 && v < 24)
		*p = (uint8_t)((*p & ~31u) | v);
	for (unsigned i = 0; i < width; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

/* ---- Replacing ---- */

/* Whether a length that counts from base covers bytes that are replaced, or inserted behind its first. */
static bool covers(size_t base, uint64_t length, size_t at, size_t len)
{
	if (len == 0)
		return base < at && at - base <= length;
	return base <= at && span_fits(at - base, len, length);
}

static uint64_t follow(const struct ref *r, uint64_t v, size_t at, size_t len, uint64_t more)
{
	bool moved = r->kind == REF_OFFSET && at >= r->base && v >= at + len - r->base;
	bool grown = r->kind == REF_LENGTH && covers(r->base, v, at, len);
	return moved || grown ? v + more : v;
}

/* Zeros so that the data stand where they must again. */
static size_t pad(const struct layout *l, uint8_t *data, size_t size, size_t cap, size_t more)
{
	size_t end = l->head_end + more, was = l->data_at - l->head_end;
	size_t padding = (size_t)pad_to(end, l->align);
	if (end + was > size || padding > cap - end || size - was > cap - padding)
		return size;
	memmove(data + end + padding, data + end + was, size - end - was);
	memset(data + end, 0, padding);
	return size - was + padding;
}

size_t mutate_replace(const struct layout *l, uint8_t *data, size_t size, size_t cap, size_t at, size_t len, tn_view by)
{
	uint64_t more = (uint64_t)by.len - len; /* may be less: it wraps around and back */
	if (!span_fits(at, len, size) || by.len > cap - (size - len))
		return size;
	for (size_t i = 0; i < l->n_refs; i++) {
		const struct ref *r = &l->refs[i];
		put(data + r->at, r->width, follow(r, get(data + r->at, r->width), at, len, more));
	}
	memmove(data + at + by.len, data + at + len, size - at - len);
	copy_bytes(data + at, by.ptr, by.len);
	size += (size_t)more;
	return l->align != 0 && at <= l->head_end ? pad(l, data, size, cap, (size_t)more) : size;
}

/* ---- Changes ---- */

static uint32_t chance(uint32_t *state, uint32_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state % n;
}

static uint64_t interesting(uint32_t *state, uint64_t old)
{
	switch (chance(state, 8)) {
	case 0: return 0;
	case 1: return UINT64_MAX;
	case 2: return old + 1;
	case 3: return old - 1;
	case 4: return old * 2;
	case 5: return (UINT64_C(1) << chance(state, 64)) - chance(state, 2);
	case 6: return chance(state, 256);
	default: return old ^ UINT64_C(1) << chance(state, 64);
	}
}

static void change_count(const struct layout *l, uint8_t *data, size_t group, uint64_t more)
{
	for (size_t i = 0; i < l->n_refs; i++)
		if (l->refs[i].kind == REF_COUNT && l->refs[i].at == group)
			put(data + group, l->refs[i].width, get(data + group, l->refs[i].width) + more);
}

/* Another record of the same group, or the same one. */
static const struct part *sibling(const struct layout *l, const struct part *p, uint32_t *state)
{
	size_t first = chance(state, (uint32_t)l->n_parts);
	for (size_t i = 0; i < l->n_parts; i++) {
		const struct part *q = &l->parts[(first + i) % l->n_parts];
		if (q->kind == PART_RECORD && q->group == p->group && q != p)
			return q;
	}
	return p;
}

struct mutation {
	const struct layout *l;
	uint8_t *data;
	size_t   size, cap;
	uint32_t state;
	mutate_bytes_fn bytes;
};

static void replace(struct mutation *m, size_t at, size_t len, const uint8_t *by, size_t n)
{
	m->size = mutate_replace(m->l, m->data, m->size, m->cap, at, len, (tn_view){ by, n });
}

static void change_text(struct mutation *m, const struct part *p)
{
	uint8_t piece[1024];
	if (p->len > sizeof piece - 32)
		return;
	copy_bytes(piece, m->data + p->at, p->len);
	replace(m, p->at, p->len, piece, m->bytes(piece, p->len, p->len + 32));
}

static void change_decimal(struct mutation *m, const struct part *p)
{
	char text[32];
	uint64_t old = 0;
	for (size_t i = 0; i < p->len && m->data[p->at + i] >= '0' && m->data[p->at + i] <= '9'; i++)
		old = old * 10 + (uint64_t)(m->data[p->at + i] - '0');
	uint64_t v = chance(&m->state, 2) ? old + chance(&m->state, 17) - 8 : interesting(&m->state, old);
	int n = snprintf(text, sizeof text, "%llu", (unsigned long long)v);
	replace(m, p->at, p->len, (const uint8_t *)text, (size_t)n);
}

static void change_record(struct mutation *m, const struct part *p)
{
	uint8_t piece[2048];
	const struct part *other = sibling(m->l, p, &m->state);
	if (p->len > sizeof piece || other->len > sizeof piece)
		return;
	size_t before = m->size;
	switch (chance(&m->state, 4)) {
	case 0: /* once more, behind a record of its kind */
		copy_bytes(piece, m->data + p->at, p->len);
		replace(m, other->at + other->len, 0, piece, p->len);
		if (m->size != before)
			change_count(m->l, m->data, p->group, 1);
		break;
	case 1:
		replace(m, p->at, p->len, NULL, 0);
		if (m->size != before)
			change_count(m->l, m->data, p->group, UINT64_MAX);
		break;
	case 2: /* as another is */
		copy_bytes(piece, m->data + other->at, other->len);
		replace(m, p->at, p->len, piece, other->len);
		break;
	default:
		change_text(m, p);
	}
}

static void change(struct mutation *m)
{
	const struct part *p = &m->l->parts[chance(&m->state, (uint32_t)m->l->n_parts)];
	switch (p->kind) {
	case PART_NUMBER: {
		unsigned width = p->len < 8 ? (unsigned)p->len : 8;
		put(m->data + p->at, width, interesting(&m->state, get(m->data + p->at, width)));
		break;
	}
	case PART_TEXT:    change_text(m, p); break;
	case PART_DECIMAL: change_decimal(m, p); break;
	case PART_RECORD:  change_record(m, p); break;
	}
}

/* The layout after a change is what the changed bytes say, except for the footer: that there is one is known before. */
size_t mutate_file(uint8_t *data, size_t size, size_t cap, unsigned seed, mutate_bytes_fn bytes)
{
	static struct layout l;
	const struct mutated_format *f = layout_of(&l, (tn_view){ data, size });
	struct mutation m = { .l = &l, .data = data, .size = size, .cap = cap, .state = seed | 1, .bytes = bytes };
	bool footer = l.footer;
	chance(&m.state, 2);
	if (f == NULL || l.n_parts == 0 || chance(&m.state, 4) == 0)
		m.size = bytes(data, size, cap);
	else
		change(&m);
	f = layout_of(&l, (tn_view){ data, m.size });
	l.footer = footer;
	if (f != NULL && f->seal != NULL && chance(&m.state, 16) != 0)
		f->seal(&l, data, m.size);
	return m.size;
}
