/* inputs.c - which files a run reads: those of the model it began with, and those that its tensors come from. */
#include "api/inputs.h"

#include "base/num.h"

/* Files stand in the list once for tensors in a row. */
static void add(struct inputs *in, const struct sys_file *file)
{
	if (file != NULL && (in->n == 0 || in->files[in->n - 1] != file))
		in->files[in->n++] = file;
}

/* A path is looked up for its identity only: it is opened again when its bytes are wanted. */
static tn_code add_path(struct inputs *in, const char *path, struct arena *mem, tn_error *err)
{
	struct sys_file *file = ARENA_NEW(mem, 1, struct sys_file);
	if (file == NULL)
		return arena_err(mem, err, "a path");
	if (sys_file_open(file, path, TN_IO_PREAD, err) != TN_OK)
		return err->code;
	sys_file_close(file);
	add(in, file);
	return TN_OK;
}

tn_code inputs_find(struct inputs *in, const struct plan *plan, const struct source *sources, const tn_file *origin,
                    struct arena *mem, tn_error *err)
{
	uint64_t parts = origin != NULL ? origin->n_parts : 0, most;
	*in = (struct inputs){ NULL, 0 };
	if (!add_u64(parts, plan->n, &most) || (in->files = arena_raw(mem, most, sizeof *in->files)) == NULL)
		return arena_err(mem, err, "the list of inputs");
	for (uint64_t i = 0; i < parts; i++)
		add(in, reader_file(&origin->parts[i].reader));
	for (uint64_t i = 0; i < plan->n; i++) {
		if (!span_is_tensor(&plan->spans[i]))
			continue;
		const struct source *from = &sources[plan->spans[i].tensor];
		if (from->from != NULL)
			add(in, reader_file(from->from));
		else if (from->kind == SOURCE_PATH && add_path(in, from->path, mem, err) != TN_OK)
			return err->code;
	}
	return TN_OK;
}

tn_code inputs_spare_set(const tn_file *f, const char *path, tn_error *err)
{
	struct sys_file target;
	if (f->n_parts < 2 || !sys_file_identify(&target, path))
		return TN_OK;
	for (size_t i = 0; i < f->n_parts; i++)
		if (sys_file_same(&f->parts[i].file, &target))
			return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "%s: the output is a file of the set that is read", ESC(tn_text(path)));
	return TN_OK;
}
