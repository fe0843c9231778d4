/* fuzz_cbor.c - any bytes as CBOR: walked item by item, skipped as values, and what the encoder can
 * say is encoded and must decode to the same. */
#include "fuzz/fuzz.h"

#include "codec/cbor.h"

/* False when the encoder has no word for the item. */
static bool encode(struct buf *out, const struct cbor_item *item)
{
	switch (item->kind) {
	case CBOR_UINT:   cbor_put_uint(out, item->value); return true;
	case CBOR_NEGINT:
		if (item->value > INT64_MAX)
			return false;
		cbor_put_int(out, -1 - (int64_t)item->value);
		return true;
	case CBOR_TEXT:   cbor_put_text(out, item->bytes); return true;
	case CBOR_ARRAY:  cbor_put_array(out, item->value); return true;
	case CBOR_MAP:    cbor_put_map(out, item->value); return true;
	case CBOR_FALSE:  cbor_put_bool(out, false); return true;
	case CBOR_TRUE:   cbor_put_bool(out, true); return true;
	case CBOR_NULL:   cbor_put_null(out); return true;
	case CBOR_FLOAT:  cbor_put_float(out, item->bits); return true;
	default:          return false;
	}
}

/* A NaN with a payload is written in full, as ciborium does. */
static bool is_nan(const struct cbor_item *item)
{
	return item->kind == CBOR_FLOAT &&
	       (item->bits & ~(UINT64_C(1) << 63)) > UINT64_C(0x7ff0000000000000);
}

/* The encoder takes the shortest spelling: never longer than what was read, and the same item. */
static void there_and_back(const struct cbor_item *item, size_t spelled)
{
	struct buf out;
	struct cbor_item again;
	tn_error err = { 0 };
	buf_init(&out, 0);
	if (encode(&out, item)) {
		struct cur c = cur_over(buf_bytes(&out), 0, "fuzz", &err);
		require((out.len <= spelled || is_nan(item)) && cbor_next(&c, &again) &&
		        cur_left(&c) == 0, "what is encoded is read, and no longer");
		require(again.kind == item->kind && again.value == item->value &&
		        again.bits == item->bits, "the same item");
		require(view_eq(again.bytes, item->bytes), "the same bytes");
	}
	buf_fini(&out);
}

static void items(tn_view bytes)
{
	tn_error err = { 0 };
	struct cur c = cur_over(bytes, 0, "fuzz", &err);
	struct cbor_item item;
	while (cur_left(&c) != 0) {
		uint64_t at = cur_offset(&c);
		if (!cbor_next(&c, &item)) {
			require(!cur_ok(&c) && cur_left(&c) == 0 && err.msg[0] != '\0', "a failure says why and empties the cursor");
			return;
		}
		require(item.offset == at && cur_offset(&c) > at, "each item takes bytes");
		there_and_back(&item, (size_t)(cur_offset(&c) - at));
	}
}

static void values(tn_view bytes)
{
	tn_error err = { 0 };
	struct cur c = cur_over(bytes, 0, "fuzz", &err);
	struct cbor_item first;
	while (cur_left(&c) != 0 && cbor_next(&c, &first))
		if (!cbor_skip(&c, &first, 128))
			require(!cur_ok(&c) && cur_left(&c) == 0, "a failure empties the cursor");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	items((tn_view){ data, size });
	values((tn_view){ data, size });
	return 0;
}
