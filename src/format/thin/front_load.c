/* front_load.c - header, page table and manifest of an archive that opens, read once more. */
#include "format/thin/front.h"

static uint64_t front_end(const struct model *m)
{
	uint64_t end = THIN_HEADER;
	for (unsigned i = 0; i < m->n_regions; i++)
		end = max_u64(end, m->regions[i].offset + m->regions[i].len);
	return end;
}

/* The file up to the end of manifest and page table. */
static tn_code load_head(tn_view *head, const struct reader *file, const struct model *model, struct arena *mem, tn_error *err)
{
	if (file->map.ptr != NULL) {
		*head = file->map;
		return TN_OK;
	}
	uint64_t n = front_end(model);
	uint8_t *bytes = arena_raw(mem, n, 1);
	if (bytes == NULL)
		return arena_err(mem, err, THIN ": manifest");
	*head = (tn_view){ bytes, (size_t)n };
	return reader_read(file, 0, bytes, head->len, err);
}

static tn_view page_id_at(const void *pages, uint64_t i) { return ((const struct page *)pages)[i].id; }

static tn_code index_pages(struct front *f, struct arena *mem, tn_error *err)
{
	uint64_t other;
	if (!strmap_init(&f->pages, mem, f->m.n_pages))
		return arena_err(mem, err, THIN ": pages");
	for (uint64_t i = 0; i < f->m.n_pages; i++)
		strmap_add(&f->pages, page_id_at, f->m.pages, i, &other);
	return TN_OK;
}

tn_code front_load(struct front *f, const struct reader *file, const struct model *model, struct arena *mem, tn_error *err)
{
	tn_view head;
	if (load_head(&head, file, model, mem, err) != TN_OK)
		return err->code;
	struct parse_job parse = { .file = head, .size = file->size, .mem = mem, .err = err };
	if (!thin_read_header(&parse, &f->h) || !thin_read_table(&parse, &f->h, &f->table))
		return err->code;
	const struct manifest_options opt = { .origin = f->h.manifest_off };
	tn_view text = { head.ptr + f->h.manifest_off, (size_t)f->h.manifest_len };
	if (manifest_read(&f->m, text, &opt, mem, err) != TN_OK)
		return err->code;
	return index_pages(f, mem, err);
}

bool front_page(const struct front *f, tn_view id, uint64_t *out)
{
	return strmap_find(&f->pages, page_id_at, f->m.pages, id, out);
}
