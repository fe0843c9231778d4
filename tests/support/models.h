/* models.h - models that are hard on formats, put into a writer. */
#ifndef SUPPORT_MODELS_H
#define SUPPORT_MODELS_H

#include "tenon.h"

/* Fills a writer. Every tensor's bytes are static, or owned by the program until it ends. */
struct model_maker {
	const char *name;
	void      (*fill)(tn_writer *writer);
};

extern const struct model_maker model_makers[];
extern const size_t             model_maker_count;

/* Whether the format can hold such a model: some do not have long names. */
bool models_fit(const struct model_maker *maker, const char *format);
/* Saves a writer to memory: a malloc of exactly the file's length. Ends the program with the
 * library's message when it refuses. */
tn_view models_save(tn_writer *writer);
/* A model of that maker in that format, written with carry and the envelope. */
tn_view models_make(const struct model_maker *maker, const char *format);

#endif
