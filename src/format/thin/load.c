/* load.c - the front of an open archive, anew and in full: for what needs the manifest itself, and not a model. */
#include "format/thin/archive.h"

static tn_code no_memory(struct arena *mem, tn_error *err)
{
	return arena_err(mem, err, THIN ": manifest");
}

/* Manifest and page table are regions of the model that opening made. */
static uint64_t front_end(const struct model *m)
{
	uint64_t end = THIN_HEADER;
	for (unsigned i = 0; i < m->n_regions; i++)
		end = max_u64(end, m->regions[i].offset + m->regions[i].len);
	return end;
}

static tn_code load_head(const struct reader *file, uint64_t n, struct arena *mem, tn_view *out, tn_error *err)
{
	if (file->map.ptr != NULL) {
		*out = file->map;
		return TN_OK;
	}
	uint8_t *bytes = arena_raw(mem, n, 1);
	if (bytes == NULL)
		return no_memory(mem, err);
	*out = (tn_view){ bytes, (size_t)n };
	return reader_read(file, 0, bytes, out->len, err);
}

/* The header may promise a longer table than there is: what it wants is read then, as when the file was opened. */
static tn_code load_front(struct thin_front *f, struct parse_job *parse, const struct reader *file, uint64_t n)
{
	while (load_head(file, n, parse->mem, &parse->file, parse->err) == TN_OK) {
		if (thin_read_header(parse, &f->h) && thin_read_table(parse, &f->h, &f->table))
			return TN_OK;
		if (parse->err->code != TN_E_TRUNCATED || parse->need <= n)
			break;
		n = parse->need;
		err_clear(parse->err);
	}
	return parse->err->code;
}

static tn_view page_id_at(const void *pages, uint64_t i) { return ((const struct page *)pages)[i].id; }

tn_code thin_load(struct thin_front *f, const struct reader *file, const struct model *m, struct arena *mem,
                  tn_error *err)
{
	static const tn_limits none; /* those of the caller were kept when the file was opened */
	struct parse_job parse = { .size = file->size, .limits = &none, .mem = mem, .err = err };
	uint64_t other;
	*f = (struct thin_front){ 0 };
	if (load_front(f, &parse, file, front_end(m)) != TN_OK)
		return err->code;
	const struct manifest_options opt = { .origin = f->h.manifest_off };
	tn_view text = { parse.file.ptr + f->h.manifest_off, (size_t)f->h.manifest_len };
	if (manifest_read(&f->m, text, &opt, mem, err) != TN_OK)
		return err->code;
	if (!strmap_init(&f->pages, mem, f->m.n_pages))
		return no_memory(mem, err);
	for (uint64_t i = 0; i < f->m.n_pages; i++)
		strmap_add(&f->pages, page_id_at, f->m.pages, i, &other);
	return TN_OK;
}

bool thin_page_find(const struct thin_front *f, tn_view id, uint64_t *out)
{
	return strmap_find(&f->pages, page_id_at, f->m.pages, id, out);
}
