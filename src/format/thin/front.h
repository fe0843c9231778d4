/* front.h - what stands before the data of an archive that opens, read once more: for those who come after parsing. */
#ifndef FORMAT_THIN_FRONT_H
#define FORMAT_THIN_FRONT_H

#include "format/thin/layout.h"
#include "format/thin/manifest.h"

struct front {
	struct thin_header h;
	struct thin_table  table;
	struct manifest    m;
	struct strmap      pages; /* the first page of each id */
};

/* model is the one that parsing the same file gave. Memory comes from the arena. */
tn_code front_load(struct front *f, const struct reader *file, const struct model *model, struct arena *mem, tn_error *err);
/* The number of the page of that id; false when there is none. */
bool    front_page(const struct front *f, tn_view id, uint64_t *out);

#endif
