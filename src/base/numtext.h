/* numtext.h - numbers to text and back, the same on every host and in every locale. */
#ifndef BASE_NUMTEXT_H
#define BASE_NUMTEXT_H

#include "tenon.h"

enum { NUMTEXT = 40 }; /* room for any of these, with a terminator */

/* The shortest decimal that reads back as the same double / float, spelled as serde_json does: "0.5", "1.0",
 * "1e-7", "1e+16" never "1E16"; "-0.0"; finite values only. Returns the length. */
size_t f64_text(double v, char out[NUMTEXT]);
size_t f32_text(float v, char out[NUMTEXT]);
/* The double nearest to the shortest decimal that reads back as v: what a reader of doubles makes of f32_text. Finite
 * values only. */
double f32_decimal(float v);
size_t u64_text(uint64_t v, char out[NUMTEXT]);
size_t i64_text(int64_t v, char out[NUMTEXT]);
/* Whole text, decimal, no sign, no surplus; false when it does not fit. */
bool   text_u64(tn_view text, uint64_t *out);

#endif
