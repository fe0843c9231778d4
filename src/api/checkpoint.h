/* checkpoint.h - what lies beside the weights of a Hugging Face checkpoint, for formats that want to know. */
#ifndef API_CHECKPOINT_H
#define API_CHECKPOINT_H

#include "api/footer.h"

/* What is to be written: tensors of an open file, and where their bytes come from. */
struct selection {
	struct model          model;
	struct source        *sources; /* [model.n] */
	const struct tensor **stored;  /* [model.n] as they are in the file, before any cast */
	struct footers       *footers; /* of the files that they are in, before any cast */
};

/* The path of the config.json that the conversion is to follow: the one that was named, or the one beside a file that
 * checkpoints are kept in. NULL in *out where there is none, or the format does not ask for it. */
tn_code checkpoint_config(const tn_file *f, const struct format *to, const tn_convert_options *opt, struct arena *mem,
                          const char **out, tn_error *err);
/* Makes of the selection what the format has of such a checkpoint. journal: the path of a file that keeps the digests of
 * the tensors from run to run; NULL for none. */
tn_code checkpoint_apply(const tn_file *f, const struct format *to, const tn_convert_options *opt, const char *config,
                         const char *journal, struct arena *mem, struct selection *s, struct tn_report *report,
                         tn_error *err);

#endif
