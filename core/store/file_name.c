/* SPDX-License-Identifier: Apache-2.0 */
/* file_name.c - see file_name.h. */
#include "config.h"

#include "store/file_name.h"

#include <stdio.h>
#include <string.h>

/* How names begin that dshost itself writes into folders of runs, or that are read there. */
static const char *own_name(const char *name)
{
    static const char *const begin[] = {"run.",   "runs.",        "summary.", "failure-", "landscape.",
                                        "bench.", "convergence.", "best.",    "report."};
    for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++) {
        if (strncmp(name, begin[i], strlen(begin[i])) == 0) {
            return begin[i];
        }
    }
    return NULL;
}

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static int is_name(const char *name, size_t length)
{
    size_t i = 0;
    while (i < length && (is_letter(name[i]) || (i > 0 && strchr("._-", name[i]) != NULL))) {
        i++;
    }
    return length > 0 && i == length;
}

ds_status ds_file_allowed(const char *name, const void *data, uint64_t bytes, char text[DS_FILES_TEXT])
{
    size_t length = name != NULL ? strnlen(name, DS_MAX_FILE_NAME + 1) : 0;
    const char *own = length > 0 ? own_name(name) : NULL;
    if (length > DS_MAX_FILE_NAME || !is_name(name, length)) {
        snprintf(text, DS_FILES_TEXT,
                 "a name has 1 to %u letters, digits, '.', '_' or '-' and begins with a letter or a digit",
                 DS_MAX_FILE_NAME);
    } else if (own != NULL) {
        snprintf(text, DS_FILES_TEXT, "'%s': names that begin with '%s' are those of dshost", name, own);
    } else if (bytes > DS_MAX_FILE_BYTES) {
        snprintf(text, DS_FILES_TEXT, "'%s' has %llu bytes, at most %u are taken", name,
                 (unsigned long long)bytes, DS_MAX_FILE_BYTES);
    } else if (data == NULL && bytes > 0) {
        snprintf(text, DS_FILES_TEXT, "'%s': data is NULL", name);
    } else {
        return DS_OK;
    }
    return DS_E_ARG;
}
