/* digests.c - keeping the digests of tensors from run to run. See digests.h.
 *
 * The file is one JSON object: "schema_version" 1; "made_by" "tenon"; "inputs", an array of objects with "path", "device",
 * "inode", "size", "changed" and "touched" (nanoseconds since 1970); "digests", an array of objects with "tensor" and "blake3". */
#include "api/digests.h"

#include "api/resume.h"
#include "api/set.h"
#include "codec/json.h"

/* ---- Writing ---- */

static void put_number(struct buf *out, const char *key, uint64_t number)
{
	buf_printf(out, ",\"%s\":%llu", key, (unsigned long long)number);
}

static void put_inputs(struct buf *out, const tn_file *f)
{
	for (size_t i = 0; i < f->n_parts; i++) {
		const struct part *p = &f->parts[i];
		buf_text(out, i == 0 ? "{\"path\":" : ",\n{\"path\":");
		json_put_lossy(out, tn_text(p->path));
		put_number(out, "device", p->file.dev);
		put_number(out, "inode", p->file.ino);
		put_number(out, "size", p->file.size);
		put_number(out, "changed", (uint64_t)p->file.changed);
		put_number(out, "touched", (uint64_t)p->file.touched);
		buf_byte(out, '}');
	}
}

tn_code digests_save(const struct known *k, const char *path, struct arena *mem, tn_error *err)
{
	struct buf text;
	char hex[2 * TN_DIGEST_LEN + 1];
	buf_init(&text, mem->budget);
	buf_text(&text, "{\"schema_version\":1,\"made_by\":\"tenon\",\"inputs\":[\n");
	put_inputs(&text, k->f);
	buf_text(&text, "],\"digests\":[\n");
	for (uint64_t i = 0; i < k->n; i++) {
		tn_digest_text(&k->digests[i], hex);
		buf_text(&text, i == 0 ? "{\"tensor\":" : ",\n{\"tensor\":");
		json_put_lossy(&text, k->stored[k->which[i]]->name);
		buf_printf(&text, ",\"blake3\":\"%s\"}", hex);
	}
	buf_text(&text, "]}\n");
	if (text.failed)
		err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for the digests");
	else
		resume_write_text(path, buf_bytes(&text), true, err);
	buf_fini(&text);
	return err->code;
}

/* ---- Reading ---- */

static bool same_text(struct buf *scratch, const struct json_val *v, tn_view text)
{
	if (v == NULL || json_type(v) != JSON_STRING)
		return false;
	scratch->len = 0;
	json_put_lossy(scratch, text);
	size_t n = scratch->len;
	json_put_string(scratch, json_string(v));
	return !scratch->failed && scratch->len == 2 * n && memcmp(scratch->ptr, scratch->ptr + n, n) == 0;
}

static bool is_number(const struct json_val *v, uint64_t number)
{
	return v != NULL && json_type(v) == JSON_UINT && json_uint(v) == number;
}

static bool same_inputs(const struct known *k, struct buf *scratch, const struct json_val *list)
{
	struct json_iter it = json_items(list);
	if (json_count(list) != k->f->n_parts)
		return false;
	for (size_t i = 0; json_next(&it); i++) {
		const struct part *p = &k->f->parts[i];
		if (!same_text(scratch, json_find(it.val, "path"), tn_text(p->path)) ||
		    !is_number(json_find(it.val, "device"), p->file.dev) ||
		    !is_number(json_find(it.val, "inode"), p->file.ino) ||
		    !is_number(json_find(it.val, "size"), p->file.size) ||
		    !is_number(json_find(it.val, "changed"), (uint64_t)p->file.changed) ||
		    !is_number(json_find(it.val, "touched"), (uint64_t)p->file.touched))
			return false;
	}
	return true;
}

static int nibble(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool take_digest(const struct json_val *v, tn_digest *out)
{
	if (v == NULL || json_type(v) != JSON_STRING || json_string(v).len != 2 * TN_DIGEST_LEN)
		return false;
	const uint8_t *hex = json_string(v).ptr;
	for (size_t i = 0; i < TN_DIGEST_LEN; i++) {
		int high = nibble(hex[2 * i]), low = nibble(hex[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		out->bytes[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static bool take_digests(struct known *k, struct buf *scratch, const struct json_val *list)
{
	struct json_iter it = json_items(list);
	if (json_count(list) != k->n)
		return false;
	for (uint64_t i = 0; json_next(&it); i++)
		if (!same_text(scratch, json_find(it.val, "tensor"), k->stored[k->which[i]]->name) ||
		    !take_digest(json_find(it.val, "blake3"), &k->digests[i]))
			return false;
	return true;
}

static bool take_all(struct known *k, const struct json_val *root)
{
	struct buf scratch;
	const struct json_val *inputs = json_find(root, "inputs"), *list = json_find(root, "digests");
	buf_init(&scratch, 0);
	bool ok = is_number(json_find(root, "schema_version"), 1) && inputs != NULL && list != NULL &&
	          same_inputs(k, &scratch, inputs) && take_digests(k, &scratch, list);
	buf_fini(&scratch);
	return ok;
}

tn_code digests_load(struct known *k, const char *path, struct arena *mem, bool *found, tn_error *err)
{
	const struct json_options how = { .budget = mem->budget, .what = "digests" };
	struct json_doc *doc;
	tn_view text;
	*found = false;
	if (!sys_file_exists(path))
		return TN_OK;
	if (set_read_file(path, mem, &text, err) != TN_OK)
		return err->code;
	if (json_parse(&doc, text, &how, err) == TN_OK) {
		*found = take_all(k, json_root(doc));
		json_free(doc);
	} else if (err->code == TN_E_CORRUPT) {
		err_clear(err); /* written anew */
	}
	return err->code;
}
