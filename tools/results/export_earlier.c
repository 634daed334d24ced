/* SPDX-License-Identifier: Apache-2.0 */
/* export_earlier.c - see export_earlier.h. */
#include "config.h"

#include "results/export_earlier.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/run_folder.h"

/* Is it the name of a file below the folder? A note may have been written by anyone. */
static int is_below(const char *name)
{
    return name != NULL && name[0] != '/' && strncmp(name, "../", 3) != 0 && strstr(name, "/../") == NULL;
}

/* A file, and the folders that it was the last one of, up to `folder`, which stays. */
static int remove_file(const char *folder, const char *name, ds_error *e)
{
    char *path = ds_folder_path(folder, name);
    int rc = path == NULL ? ds_no_memory(e) : 0;
    if (rc == 0 && unlink(path) != 0 && errno != ENOENT && errno != ENOTDIR) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: cannot be removed for a new export: %s", path, strerror(errno));
    }
    for (char *end; rc == 0 && (end = strrchr(path, '/')) > path + strlen(folder);) {
        *end = '\0';
        if (rmdir(path) != 0) {
            break;
        }
    }
    free(path);
    return rc;
}

int ds_export_remove_earlier(const char *folder, ds_error *e)
{
    char *note = NULL;
    if (asprintf(&note, "%s.json", folder) < 0) {
        return ds_no_memory(e);
    }
    json_t *o = json_load_file(note, 0, NULL);
    const json_t *files = json_object_get(o, "files");
    const int known =
        json_is_string(json_object_get(o, "format")) && json_is_array(json_object_get(o, "functions"));
    int rc = 0;
    if (known && !json_is_array(files) && access(folder, F_OK) == 0) {
        rc = ds_fail(e, DS_EXIT_USAGE,
                     "export: %.200s holds an export of an older dshost, whose files are not known: remove "
                     "it, or name another folder with --out",
                     folder);
    }
    for (size_t i = 0; rc == 0 && known && i < json_array_size(files); i++) {
        const char *name = json_string_value(json_array_get(files, i));
        rc = is_below(name) ? remove_file(folder, name, e) : 0;
    }
    json_decref(o);
    free(note);
    return rc;
}
