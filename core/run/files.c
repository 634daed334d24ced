/* SPDX-License-Identifier: Apache-2.0 */
/* files.c - see files.h. */
#include "config.h"

#include "run/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

int ds_files_open(ds_files *f, const ds_journal *journal)
{
    const ds_run_spec *spec = journal->spec;
    size_t size = 0;
    f->journal = journal;
    FILE *text = open_memstream(&f->settings, &size);
    if (text != NULL && spec->section[DS_SECTION_ENV] != NULL) {
        ds_params_write_ini(spec->section[DS_SECTION_ENV], text);
    }
    if (text == NULL || fclose(text) != 0) {
        return DS_EXIT_MEMORY;
    }
    f->table = (ds_objective_files){.struct_size = sizeof(f->table),
                                    .env = spec->env.id,
                                    .env_version = spec->env.version,
                                    .env_settings = f->settings};
    return 0;
}

void ds_files_close(ds_files *f)
{
    for (uint32_t i = 0; i < f->count; i++) {
        free(f->file[i].data);
    }
    free(f->settings);
    memset(f, 0, sizeof(*f));
}

/* ---- saving ---- */

static ds_kept_file *find(ds_files *f, const char *name)
{
    uint32_t i = 0;
    while (i < f->count && strcmp(f->file[i].name, name) != 0) {
        i++;
    }
    return i < DS_MAX_FILES ? &f->file[i] : NULL;
}

static int write_file(const ds_files *f, ds_kept_file *file, ds_error *e)
{
    char *path = ds_folder_path(f->journal->folder, file->name);
    int rc = path == NULL ? ds_no_memory(e) : ds_file_write_atomic(path, file->data, file->bytes, e);
    free(path);
    if (rc == 0) {
        free(file->data);
        file->data = NULL;
    }
    return rc;
}

ds_status ds_files_save(ds_files *f, const char *name, const void *data, uint64_t bytes,
                        char text[DS_FILES_TEXT])
{
    ds_error later;
    ds_status st = ds_file_allowed(name, data, bytes, text);
    if (st != DS_OK) {
        return st;
    }
    ds_kept_file *file = find(f, name);
    if (file == NULL) {
        snprintf(text, DS_FILES_TEXT, "'%s' is one more than the %u files that a run may have", name,
                 DS_MAX_FILES);
        return DS_E_ARG;
    }
    void *copy = malloc(bytes > 0 ? bytes : 1);
    if (copy == NULL) {
        return DS_E_NOMEM;
    }
    if (bytes > 0) {
        memcpy(copy, data, bytes);
    }
    if (file == &f->file[f->count]) {
        snprintf(file->name, sizeof(file->name), "%s", name);
        f->count++;
    }
    free(file->data);
    file->data = copy;
    file->bytes = bytes;
    if (f->journal->recorder != NULL) {
        (void)write_file(f, file, &later); /* what fails is tried again at the end, and told there */
    }
    return DS_OK;
}

int ds_files_write(ds_files *f, ds_error *e)
{
    int first = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        ds_error one = {0, ""};
        int rc = f->file[i].data != NULL ? write_file(f, &f->file[i], &one) : 0;
        if (rc != 0 && first == 0) {
            first = rc;
            *e = one;
        }
    }
    return first;
}

json_t *ds_files_names(const ds_files *f)
{
    json_t *list = f->count > 0 ? json_array() : NULL;
    for (uint32_t i = 0; i < f->count; i++) {
        json_array_append_new(list, json_string(f->file[i].name));
    }
    return list;
}
