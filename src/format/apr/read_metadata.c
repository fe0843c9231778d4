/* read_metadata.c - the metadata: fields that have a type first, in their order, then the custom
 * keys in theirs.
 *
 * Where a key stands twice its last value counts, as upstream has it. A field that is null has
 * no value, and one that is "" or 0 where these stand for none has none either: the model does
 * not show it. */
#include "format/apr/fields.h"
#include "format/apr/read.h"
#include "io/json_tree.h"

/* Old writers spelled every field out. */
static bool keep_null(struct apr_reading *r, const struct apr_field *f)
{
	struct arena *mem = r->job->mem;
	if (f->absent == APR_NULL)
		return true;
	struct tn_meta *own = apr_reading_native(r), *list = NULL;
	if (own != NULL && (list = meta_find(own, VIEW(APR_NATIVE_NULLS))) == NULL)
		list = meta_add_array(mem, own, VIEW(APR_NATIVE_NULLS));
	r->odd |= APR_ODD_NULLS;
	return (list != NULL &&
	        meta_add_string(mem, list, (tn_view){ NULL, 0 }, tn_text(f->name)) != NULL) ||
	       apr_no_memory(r, "apr: metadata");
}

/* Takes the field out of the custom keys. */
static bool take_field(struct apr_reading *r, const struct apr_field *f, struct tn_meta *all)
{
	tn_view key = tn_text(f->name);
	struct tn_meta *node = meta_find(all, key);
	if (node == NULL)
		return true;
	meta_remove(all, key);
	if (node->type == TN_META_NULL && (f->absent == APR_NULL || f->absent == APR_SKIP))
		return keep_null(r, f);
	const char *why = apr_field_read(f, node, r->job->mem);
	if (why != NULL)
		return apr_fail(r, TN_E_CORRUPT, r->h.metadata_at, "metadata '%s' %s", f->name,
		                why);
	if (!apr_field_is_default(f, node))
		meta_append(r->job->model->metadata, key, node);
	return true;
}

static bool take_custom(struct apr_reading *r, struct tn_meta *all)
{
	const struct tn_meta *last = NULL;
	bool sorted = true;
	for (struct tn_meta *node = all->as.kids.first, *next; node != NULL;
	     last = node, node = next) {
		next = node->next;
		sorted = sorted && (last == NULL || view_cmp(last->key, node->key) < 0);
		meta_append(r->job->model->metadata, node->key, node);
	}
	if (sorted)
		return true;
	struct tn_meta *own = apr_reading_native(r);
	return (own != NULL &&
	        meta_add_bool(r->job->mem, own, VIEW(APR_NATIVE_UNSORTED), true) != NULL) ||
	       apr_no_memory(r, "apr: metadata");
}

static bool read_root(struct apr_reading *r, const struct json_val *root)
{
	struct json_tree tree = { .mem = r->job->mem };
	struct tn_meta *all = meta_new(r->job->mem, TN_META_MAP);
	if (json_type(root) != JSON_OBJECT)
		return apr_fail(r, TN_E_CORRUPT, r->h.metadata_at,
		                "the metadata is no JSON object");
	if (all == NULL || !json_tree_fill(&tree, root, all))
		return apr_no_memory(r, "apr: metadata");
	if (tree.repeated != 0)
		apr_tell(r, TN_WARNING, TN_E_CORRUPT, r->h.metadata_at,
		         "metadata '%s' stands there twice, the last one counts%s", ESC(tree.key),
		         tree.repeated > 1 ? "; so do others" : "");
	for (unsigned i = 0; i < APR_FIELDS; i++)
		if (!take_field(r, &apr_fields[i], all))
			return false;
	return take_custom(r, all);
}

bool apr_read_metadata(struct apr_reading *r, tn_view text)
{
	const struct json_options opt = {
		.origin = r->h.metadata_at,
		.max_depth = APR_NESTING,
		.budget = r->job->mem->budget,
		.what = "apr: metadata",
	};
	struct json_doc *doc;
	if (text.len == 0) {
		r->odd |= APR_ODD_METADATA;
		apr_tell(r, TN_WARNING, TN_E_CORRUPT, 20,
		         "there is no metadata: upstream refuses the file, realizar reads it");
		return true;
	}
	if (json_parse(&doc, text, &opt, r->job->err) != TN_OK)
		return false;
	bool ok = read_root(r, json_root(doc));
	json_free(doc);
	return ok;
}
