/* SPDX-License-Identifier: Apache-2.0 */
/* elf_file.h - reads a shared object without loading it: machine, needed libraries, exported symbols,
 * sanitizers. */
#ifndef DS_PLUGIN_ELF_FILE_H
#define DS_PLUGIN_ELF_FILE_H

#include <stddef.h>

#include "base/error.h"

enum { DS_ELF_NAMES = 64 };

typedef struct ds_elf {
    char *needed[DS_ELF_NAMES]; /* DT_NEEDED, in order, at most DS_ELF_NAMES */
    size_t needed_count;
    char *exported[DS_ELF_NAMES]; /* defined global or weak dynamic symbols */
    size_t exported_count;        /* may be larger than DS_ELF_NAMES */
    int text_relocations;
    int executable_stack;
} ds_elf;

/* Reads a 64-bit shared object for this machine. Returns `status` and the reason for anything else. */
int ds_elf_read(const char *path, ds_elf *out, int status, ds_error *e);

/* The same from memory (any alignment); messages call it `name`. */
int ds_elf_parse(const void *data, size_t size, const char *name, ds_elf *out, int status, ds_error *e);

void ds_elf_clear(ds_elf *elf);

/* ---- sanitizers ---- */

/* Refuses a plugin built with a sanitizer that this program lacks: such a plugin ends the process inside
 * dlopen(). */
int ds_elf_check_sanitizer(const char *path, ds_error *e);

/* "address" or "thread", whichever of the two words the text contains; NULL = neither. */
const char *ds_sanitizer_in(const char *text, const char *address, const char *thread);

/* The error for a plugin built with another sanitizer than this program. */
int ds_sanitizer_differs(const char *path, const char *kind, ds_error *e);

#endif
