/* SPDX-License-Identifier: Apache-2.0 */
/* export_earlier.c - see export_earlier.h. */
#include "config.h"

#include "results/export_earlier.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_text.h"
#include "store/run_folder.h"

/* Is it a name that an export gives a file, one or two folders below at most? A note may have been written by
 * anyone. */
static int is_ours(const char *name)
{
    if (name == NULL || name[0] == '/' || name[0] == '\0' || strstr(name, "//") != NULL) {
        return 0;
    }
    for (const char *part = name; part != NULL; part = strchr(part, '/')) {
        part += part[0] == '/';
        if (strcmp(part, ".") == 0 || strcmp(part, "..") == 0 || strncmp(part, "./", 2) == 0 ||
            strncmp(part, "../", 3) == 0) {
            return 0;
        }
    }
    const char *slash = strrchr(name, '/'), *file = slash != NULL ? slash + 1 : name;
    return strncmp(file, "IOHprofiler_f", 13) == 0 || strncmp(file, "bbobexp_f", 9) == 0;
}

/* Is there such a file, in folders that are none elsewhere? Cuts `path` for a moment at each slash behind
 * `length`. */
static int is_there(char *path, size_t length)
{
    struct stat s;
    for (char *slash = strchr(path + length + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const int folder = lstat(path, &s) == 0 && S_ISDIR(s.st_mode);
        *slash = '/';
        if (!folder) {
            return 0;
        }
    }
    return lstat(path, &s) == 0 && S_ISREG(s.st_mode);
}

/* A file, and the folders that it was the last one of, up to `folder`, which stays. */
static int remove_file(const char *folder, const char *name, ds_error *e)
{
    const size_t length = strlen(folder);
    char *path = ds_folder_path(folder, name);
    int rc = path == NULL ? ds_no_memory(e) : 0;
    if (rc == 0 && is_there(path, length) && unlink(path) != 0) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: cannot be removed for a new export: %s", path, strerror(errno));
    }
    for (char *end; rc == 0 && (end = strrchr(path, '/')) > path + length;) {
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
    const int there = access(note, F_OK) == 0;
    json_t *o = there ? ds_json_read_file(note) : NULL;
    const json_t *files = json_object_get(o, "files");
    int rc = 0;
    if (there && !json_is_array(files)) {
        rc = ds_fail(
            e, DS_EXIT_USAGE,
            "export: %.250s is there and lists no files of an earlier export: remove it, and %.250s where "
            "that is one, or name another folder with --out",
            note, folder);
    }
    for (size_t i = 0; rc == 0 && i < json_array_size(files); i++) {
        const char *name = json_string_value(json_array_get(files, i));
        rc = is_ours(name) ? remove_file(folder, name, e) : 0;
    }
    json_decref(o);
    free(note);
    return rc;
}
