/* format.c - what ThinTensor archives supply to the core. */
#include "format/thin/layout.h"

/* Another version of the magic is worth naming. */
static int probe(tn_view head, uint64_t file_size)
{
	(void)file_size;
	if (head.len >= 8 && memcmp(head.ptr, THIN_MAGIC, 8) == 0)
		return 64;
	return view_starts(head, "THINv") ? 40 : 0;
}

const struct format format_thin = {
	.name = THIN,
	.exts = "thin",
	.caps = CAP_META_TREE | CAP_DIGEST,
	.envelope_key = THIN_ENVELOPE_KEY,
	.probe = probe,
	.parse = thin_parse,
	.verify = thin_verify,
	.plan = thin_plan,
	.seal = thin_seal,
	.estimate = thin_estimate,
	.checkpoint = thin_checkpoint,
};
