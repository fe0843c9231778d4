/* typed_json.h - a metadata tree as JSON that loses nothing: what the envelope is made of.
 *
 *   null true false "text"      themselves
 *   7                           uint of 64 bits, or int of 64 bits when negative
 *   0.5                         float of 64 bits, finite
 *   {"$u8":7} {"$i64":3}        an integer of another kind or width; "$uint", "$int" when the width is unknown
 *   {"$f32":0.1}                a float of 32 bits, the nearest
 *   {"$f64":"7ff8000000000001"} a float that JSON cannot spell, by its bits; likewise "$f32" in 16 digits (widened)
 *   {"$bytes":"00ff"}           a byte string, in hex
 *   {"$string":"ff"}            text that is no UTF-8, in hex
 *   {"$array":"u8","v":[...]}   an array whose items are all of one type: bool, u8 to u64, i8 to i64, f32, f64, string.
 *                               They stand without a tag, but for floats and strings that JSON cannot spell: these as
 *                               the text above, and as {"$string":"ff"}. An empty one keeps its type.
 *   [ ... ]                     any other array, and one of that kind that has items which need no tag anyway: bools,
 *                               strings, and uints of 64 bits
 *   { ... }                     a map; {"$map":{...}} when its first key begins with '$'
 *
 * A tagged value but $array has no other member. In a map the first of two values under one key counts.
 * More than META_DEEPEST containers inside each other spell nothing. */
#ifndef IO_TYPED_JSON_H
#define IO_TYPED_JSON_H

#include "base/buf.h"
#include "codec/json.h"
#include "model/meta.h"

void typed_json_put(struct buf *out, const struct tn_meta *node);
/* The node that the value spells, strings copied into the arena; NULL when it spells none, or memory is out
 * (arena->over or a failed allocation: then *nomem is true). */
struct tn_meta *typed_json_get(struct arena *a, const struct json_val *v, bool *nomem);

#endif
