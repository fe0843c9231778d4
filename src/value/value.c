/* value.c - which codec reads which type. */
#include "value/codec.h"

static const struct value_codec *const codecs[TN_DTYPES] = {
	[TN_BOOL] = &codec_bool, [TN_BOOL_U8] = &codec_bool, [TN_BOOL_U32] = &codec_bool_u32,
	[TN_U8] = &codec_u8, [TN_U16] = &codec_u16, [TN_U32] = &codec_u32, [TN_U64] = &codec_u64,
	[TN_I8] = &codec_i8, [TN_I16] = &codec_i16, [TN_I32] = &codec_i32, [TN_I64] = &codec_i64,
	[TN_F16] = &codec_f16, [TN_BF16] = &codec_bf16, [TN_F32] = &codec_f32,
	[TN_FLEX32] = &codec_f32, [TN_F64] = &codec_f64,
	[TN_F8_E4M3] = &codec_f8_e4m3, [TN_F8_E5M2] = &codec_f8_e5m2, [TN_F8_E8M0] = &codec_f8_e8m0,
	[TN_F8_E4M3FNUZ] = &codec_f8_e4m3fnuz, [TN_F8_E5M2FNUZ] = &codec_f8_e5m2fnuz,
	[TN_F6_E2M3] = &codec_f6_e2m3, [TN_F6_E3M2] = &codec_f6_e3m2, [TN_F4] = &codec_f4,
	[TN_APR_Q4] = &codec_apr_q4,
	[TN_Q4_0] = &codec_q4_0, [TN_Q4_1] = &codec_q4_1, [TN_Q5_0] = &codec_q5_0,
	[TN_Q5_1] = &codec_q5_1, [TN_Q8_0] = &codec_q8_0, [TN_Q8_1] = &codec_q8_1,
	[TN_Q2_K] = &codec_q2_k, [TN_Q3_K] = &codec_q3_k, [TN_Q4_K] = &codec_q4_k,
	[TN_Q5_K] = &codec_q5_k, [TN_Q6_K] = &codec_q6_k, [TN_Q8_K] = &codec_q8_k,
	[TN_IQ1_S] = &codec_iq1_s, [TN_IQ1_M] = &codec_iq1_m, [TN_IQ2_XXS] = &codec_iq2_xxs,
	[TN_IQ2_XS] = &codec_iq2_xs, [TN_IQ2_S] = &codec_iq2_s, [TN_IQ3_XXS] = &codec_iq3_xxs,
	[TN_IQ3_S] = &codec_iq3_s,
	[TN_IQ4_NL] = &codec_iq4_nl, [TN_IQ4_XS] = &codec_iq4_xs,
	[TN_TQ1_0] = &codec_tq1_0, [TN_TQ2_0] = &codec_tq2_0, [TN_MXFP4] = &codec_mxfp4,
	[TN_NVFP4] = &codec_nvfp4, [TN_Q1_0] = &codec_q1_0, [TN_Q2_0] = &codec_q2_0,
};

const struct value_codec *value_codec(tn_dtype d)
{
	return (unsigned)d < TN_DTYPES ? codecs[d] : NULL;
}

void value_decode(const struct value_codec *c, const uint8_t *in, float *out, size_t n)
{
	size_t whole = n - n % c->elems;
	float block[VALUE_BLOCK];
	c->decode(in, out, whole);
	if (whole == n)
		return;
	c->decode(in + whole / c->elems * c->bytes, block, c->elems);
	memcpy(out + whole, block, (n - whole) * sizeof *out);
}
