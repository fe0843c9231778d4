/* relatives.c - files that are not APR v2 but share its name or its magic: told apart and named, so
 * that the answer to a file of another kind is what it is.
 *
 *	APRN      v1: a 32-byte header, MessagePack, bincode, CRC-32
 *	APR1      the serialisation before it
 *	APR2      a draft of v2
 *	APR\0     and a compression method: the serialisation before v1, wrapped
 *	ALBR-ENC  the encryption that the apr command puts around any of them */
#include "format/apr/layout.h"

static bool starts(tn_view v, const char *magic, size_t n)
{
	return v.len >= n && memcmp(v.ptr, magic, n) == 0;
}

int apr_relative_probe(tn_view head)
{
	if (starts(head, "ALBR-ENC", 8))
		return 64;
	bool near = starts(head, "APRN", 4) || starts(head, "APR1", 4) || starts(head, "APR2", 4);
	return near ? 32 : 0;
}

static bool named(struct parse_job *job, const char *kind, const char *what)
{
	err_set(job->err, TN_E_UNSUPPORTED, 0, "apr: %s", what);
	job->err->kind = kind;
	return true;
}

/* The header of v1 says what a user may want to know of such a file. */
static bool version_1(struct parse_job *job)
{
	static const char *const methods[] = { "uncompressed", "zstd", "zstd at its best", "lz4" };
	enum { HEADER_1 = 32 };
	tn_view v = job->file;
	if (v.len < HEADER_1)
		return named(job, "apr-v1", "the start of an APR v1 file (APRN); version 2 is read here");
	unsigned method = v.ptr[20];
	err_set(job->err, TN_E_UNSUPPORTED, 0,
		"apr: an APR v1 file (APRN %u.%u): model type %u, %lu bytes of metadata, a payload "
		"of %lu bytes (%s, %lu unpacked)%s; "
		"version 2 is read here",
	        v.ptr[4], v.ptr[5], le16(v.ptr + 6), (unsigned long)le32(v.ptr + 8),
	        (unsigned long)le32(v.ptr + 12), method < 4 ? methods[method] : "compressed",
	        (unsigned long)le32(v.ptr + 16), v.ptr[21] & 1 ? ", encrypted" : "");
	job->err->kind = "apr-v1";
	return true;
}

bool apr_relative(struct parse_job *job)
{
	if (starts(job->file, "APRN", 4))
		return version_1(job);
	if (starts(job->file, "APR1", 4))
		return named(job, "apr-old", "an old serialisation (APR1); version 2 is read here");
	if (starts(job->file, "APR2", 4))
		return named(job, "apr-draft",
		             "a file of the draft of version 2 (APR2), whose layout was never settled");
	if (starts(job->file, "ALBR-ENC", 8))
		return named(job, "apr-encrypted",
		             "an encrypted file (ALBR-ENC); decrypt it with 'apr decrypt' first");
	return false;
}

/* A method, a length, a payload that starts with what the method gives. */
bool apr_relative_older(struct parse_job *job)
{
	enum { PAYLOAD = 9 };
	tn_view v = job->file;
	if (v.len < PAYLOAD + 4 || v.ptr[4] > 2)
		return false;
	tn_view payload = { v.ptr + PAYLOAD, v.len - PAYLOAD };
	if (v.ptr[4] == 0 && starts(payload, "APR1", 4))
		return named(job, "apr-old", "an old serialisation (APR1 in a wrapper of the same magic); "
		                  "version 2 is read here");
	if (v.ptr[4] == 1)
		return named(job, "apr-old", "an old serialisation, compressed with lz4, in a wrapper of the "
		                  "same magic; version 2 is read here");
	if (v.ptr[4] == 2 && starts(payload, "\x28\xb5\x2f\xfd", 4))
		return named(job, "apr-old", "an old serialisation, compressed with zstd, in a wrapper of the "
		                  "same magic; version 2 is read here");
	return false;
}
