/* api_kit.h - small model files for tests of the public calls, made through the writer.
 *
 * What fails here ends the program: it is the ground that the tests stand on. */
#ifndef SUPPORT_API_KIT_H
#define SUPPORT_API_KIT_H

#include "tenon.h"

/* An empty writer that waits for no disk. Free it with tn_writer_free. */
tn_writer *kit_writer(const char *format);
/* Adds a tensor whose bytes are kit_byte(seed, 0), kit_byte(seed, 1), ...; they live until the program ends. */
void       kit_add(tn_writer *writer, const char *name, tn_dtype dtype, uint32_t rank, const uint64_t *shape,
                   unsigned seed);
uint8_t    kit_byte(unsigned seed, uint64_t at);
/* What the writer saves, in a malloc. */
tn_view    kit_save(tn_writer *writer);
/* A file in a malloc: "scalar" f64 [], "matrix" f32 [2,3], "empty" f16 [0,4], "line" u8 [5], with seeds 0 to 3;
 * metadata "a" = "1" and "b" = "two". */
tn_view    kit_file(const char *format);
/* A file of n tensors u8 [1] called t0, t1, ... */
tn_view    kit_many(const char *format, size_t n);
tn_file   *kit_open(tn_view bytes);
/* The index of a tensor that is there. */
size_t     kit_find(const tn_file *file, const char *name);
/* A file beside nothing else: FOLDER/NAME holds the bytes; the path in a malloc. */
char      *kit_store(const char *folder, const char *name, tn_view bytes);

#endif
