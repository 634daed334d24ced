/* SPDX-License-Identifier: Apache-2.0 */
/* npy_names.c - see npy_names.h. NumPy keeps texts as UCS-4, in elements of equal length. */
#include "config.h"

#include "results/npy_names.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

_Static_assert((int)DS_NPY_CHARACTERS > (int)DS_MAX_NAME, "every text of a variable fits");

/* The text, which is UTF-8, as code points. */
static void widen(const char *text, uint32_t out[DS_NPY_CHARACTERS])
{
    size_t left = strlen(text), k = 0;
    memset(out, 0, DS_NPY_CHARACTERS * sizeof *out);
    while (left > 0 && k < DS_NPY_CHARACTERS) {
        size_t bytes = ds_utf8_length(text, left);
        uint32_t c = (unsigned char)*text;
        c = bytes < 2 ? c : c & (0x7fu >> bytes); /* the first of several bytes says how many there are */
        bytes = bytes > 0 ? bytes : 1;
        for (size_t i = 1; i < bytes; i++) {
            c = c << 6 | ((unsigned char)text[i] & 0x3fu);
        }
        out[k++] = c;
        text += bytes;
        left -= bytes;
    }
}

int ds_npz_add_variables(ds_npz *z, const ds_named_variable *v, uint64_t n, ds_error *e)
{
    static const struct {
        const char *name;
        size_t offset;
    } field[] = {{"names", offsetof(ds_named_variable, name)},
                 {"units", offsetof(ds_named_variable, unit)},
                 {"groups", offsetof(ds_named_variable, group)}};
    if (v == NULL) {
        return 0;
    }
    uint32_t *text = malloc(n * DS_NPY_CHARACTERS * sizeof *text);
    int rc = text != NULL ? 0 : ds_no_memory(e);
    for (size_t f = 0; f < sizeof field / sizeof *field && rc == 0; f++) {
        for (uint64_t i = 0; i < n; i++) {
            widen((const char *)&v[i] + field[f].offset, text + i * DS_NPY_CHARACTERS);
        }
        rc = ds_npz_add(z, field[f].name, DS_NPY_TEXT, 1, &n, text, e);
    }
    free(text);
    return rc;
}
