/* dump.h - an open file as text, for comparison with what a test expects. */
#ifndef SUPPORT_DUMP_H
#define SUPPORT_DUMP_H

#include "tenon.h"

/* All of these return a C string in a malloc. Strings from files stand in quotes, with \" \\ and
 * \xNN.
 *
 * The whole file, data included by its digest:
 *	format burnpack
 *	version "1"
 *	tensor "weight" f32 [2,2] 256 16 DIGEST  offset in the file, bytes, BLAKE3
 *	  "param_id" uint 42                     extras, indented
 *	metadata
 *	  "producer" string "burn"               bool int uint float string bytes null: a float is
 *	  "list" array                           its 64 bits; items of map and array are indented
 *	native                                   where the format keeps anything of its own
 *
 * An opaque dtype stands with the file's own word for it, opaque:"F8". */
char *dump_file(const tn_file *file);
/* The lines of a tree alone; widths of numbers behind their type (uint32) when asked for. */
char *dump_meta(const tn_meta *node, bool widths);
/* The dialect, where the file has one, and the findings, one a line: SEVERITY CODE OFFSET TENSOR
 * TEXT, "-" for no offset or no tensor. Empty when there is nothing to say. */
char *dump_findings(const tn_file *file, const tn_report *report);
/* "CODE OFFSET MESSAGE\n" */
char *dump_error(const tn_error *err);

#endif
