/* fault_save.c - the scene of the fault tests: see fault_save.h. */
#include "support/fault_save.h"

#include "support/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MEMORY = (2 << 20) + 77, COPIED = (2 << 20) + 500001, COPY_FROM = 1234, PRODUCED = 1 << 20, PIECE = 70000 };

static const uint8_t HEADER[100] = "header";

static uint8_t *noise(size_t n, uint32_t seed)
{
	uint8_t *p = malloc(n);
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		p[i] = (uint8_t)(seed >> 24);
	}
	return p;
}

static tn_code produce(void *ctx, tn_emit *emit, tn_error *err)
{
	const uint8_t *memory = ctx;
	(void)err;
	for (size_t done = 0; done < PRODUCED; done += PIECE)
		tn_emit_bytes(emit, memory + done, PRODUCED - done < PIECE ? PRODUCED - done : PIECE);
	return TN_OK;
}

static tn_code stream(const struct fault_scene *scene, struct plan *plan, struct sink *sink)
{
	const struct source sources[] = {
		{ .kind = SOURCE_MEMORY, .len = MEMORY, .memory = { scene->memory, MEMORY } },
		{ .kind = SOURCE_PATH, .len = COPIED, .path = FAULT_INPUT, .offset = COPY_FROM },
		{ .kind = SOURCE_CALLBACK, .len = PRODUCED, .produce = produce, .ctx = scene->memory },
	};
	const struct tensor tensors[] = { { .name = VIEW("mem") }, { .name = VIEW("copy") }, { .name = VIEW("made") } };
	return plan_run(plan, sources, tensors, sink);
}

static void list(const struct fault_scene *scene, struct plan *plan, struct arena *mem)
{
	plan_init(plan, mem);
	plan_bytes(plan, (tn_view){ HEADER, sizeof HEADER });
	plan_align(plan, 256);
	plan_tensor(plan, 0, MEMORY);
	plan_tensor(plan, 1, COPIED);
	plan_tensor(plan, 2, PRODUCED);
	if (scene->crc)
		plan_crc(plan);
}

tn_code fault_save(const struct fault_scene *scene, bool in_place, tn_error *err)
{
	struct arena mem;
	struct plan plan;
	struct sys_out out;
	struct sink sink;
	err_clear(err);
	arena_init(&mem, 0);
	list(scene, &plan, &mem);
	if (plan_ok(&plan, err) == TN_OK
	    && sys_out_open(&out, FAULT_TARGET, in_place, true, plan.size, NULL, 0, err) == TN_OK) {
		if (sink_init(&sink, &out, err) == TN_OK) {
			stream(scene, &plan, &sink);
			sink_fini(&sink);
		}
		if (err->code == TN_OK)
			sys_out_commit(&out, err);
		else
			sys_out_abandon(&out);
	}
	arena_fini(&mem);
	return err->code;
}

/* The same bytes by the one way that uses no file for output. */
static tn_view save_to_memory(const struct fault_scene *scene)
{
	struct arena mem;
	struct plan plan;
	struct sink sink;
	tn_error err;
	err_clear(&err);
	arena_init(&mem, 0);
	list(scene, &plan, &mem);
	size_t n = (size_t)plan.size;
	uint8_t *to = malloc(n);
	sink_init_memory(&sink, to, n, &err);
	if (stream(scene, &plan, &sink) != TN_OK) {
		fprintf(stderr, "test set-up: %s\n", err.msg);
		exit(99);
	}
	arena_fini(&mem);
	return (tn_view){ to, n };
}

void fault_scene_init(struct fault_scene *scene, bool crc)
{
	*scene = (struct fault_scene){ .folder = tempdir_new(), .crc = crc };
	if (chdir(scene->folder) != 0)
		exit(99);
	scene->memory = noise(MEMORY, 1);
	scene->input = (tn_view){ noise(COPY_FROM + COPIED + 99, 2), COPY_FROM + COPIED + 99 };
	scene->old = VIEW("the old file, which took a week to train");
	files_store(FAULT_INPUT, scene->input);
	files_store(FAULT_TARGET, scene->old);
	scene->expected = save_to_memory(scene);
}

void fault_scene_fini(struct fault_scene *scene)
{
	if (chdir("/") != 0)
		exit(99);
	tempdir_remove(scene->folder);
	free(scene->memory);
	free((void *)(uintptr_t)scene->input.ptr);
	free((void *)(uintptr_t)scene->expected.ptr);
}

size_t fault_scene_reset(struct fault_scene *scene)
{
	size_t others = 0;
	struct file_list all = files_below(".", "");
	for (size_t i = 0; i < all.n; i++) {
		const char *slash = strrchr(all.paths[i], '/'), *name = slash != NULL ? slash + 1 : all.paths[i];
		if (strcmp(name, FAULT_INPUT) == 0)
			continue;
		others += strcmp(name, FAULT_TARGET) != 0;
		unlink(all.paths[i]);
	}
	files_free(&all);
	files_store(FAULT_TARGET, scene->old);
	return others;
}

bool fault_scene_is(const struct fault_scene *scene, tn_view target)
{
	return tempdir_count(".") == 2 && files_equal(FAULT_INPUT, scene->input) && files_equal(FAULT_TARGET, target);
}
