#include "io/tensor_read.h"

tn_code tensor_read(const struct reader *r, const struct tensor *t, uint64_t off, void *buf, size_t n, tn_error *err)
{
	switch (t->enc) {
	case ENC_RAW:
		return reader_read(r, t->offset + off, buf, n, err);
	case ENC_NONE:
		return err_set(err, TN_E_CORRUPT, t->offset, "tensor '%s' has no bytes in this file that could be read", ESC(t->name));
	}
	return err_set(err, TN_E_UNSUPPORTED, t->offset, "tensor '%s' is stored in an unknown encoding", ESC(t->name));
}
