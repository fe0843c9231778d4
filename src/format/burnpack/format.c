/* format.c - what burnpack supplies to the core. */
#include "format/burnpack/layout.h"

/* The magic is 32 bits of evidence, a version that is known 16 more. */
static int probe(tn_view head, uint64_t file_size)
{
	(void)file_size;
	if (!view_starts(head, PACK_MAGIC))
		return 0;
	return head.len >= 6 && le16(head.ptr + 4) <= PACK_VERSION ? 48 : 32;
}

const struct format format_burnpack = {
	.name = "burnpack",
	.exts = "bpk",
	.caps = CAP_META_STRINGS,
	.adds_extension = true,
	.envelope_key = ENVELOPE_KEY,
	.probe = probe,
	.parse = pack_parse,
	.verify = pack_verify,
	.plan = pack_plan,
};
