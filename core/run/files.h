/* SPDX-License-Identifier: Apache-2.0 */
/* files.h - the files that the optimizer of a run leaves in its folder (diffsim/ext/draft/files.h): when they
 * are written. */
#ifndef DS_RUN_FILES_H
#define DS_RUN_FILES_H

#include <diffsim/ext/draft/files.h>
#include <jansson.h>

#include "run/journal.h"
#include "store/optimizer_output.h"

/* A file: its bytes are here until they are on the disk. */
typedef struct ds_kept_file {
    char name[DS_MAX_FILE_NAME + 1];
    void *data; /* NULL = written */
    uint64_t bytes;
} ds_kept_file;

typedef struct ds_files {
    const ds_journal *journal; /* of the run */
    ds_objective_files table;  /* what the optimizer gets */
    char *settings;            /* text of the table */
    ds_kept_file file[DS_MAX_FILES];
    uint32_t count;
} ds_files;

/* Fills the table with what the journal knows, but for save(). 0, or DS_EXIT_MEMORY. */
int ds_files_open(ds_files *f, const ds_journal *journal);
void ds_files_close(ds_files *f);

/* Takes a copy of a file. It is written at once where the run records; a resumed run that still repeats
 * its record would write an old one over a young one, so that there it waits, as one does that could not
 * be written. DS_OK, DS_E_NOMEM, or DS_E_ARG and what is wrong in `text`. */
ds_status ds_files_save(ds_files *f, const char *name, const void *data, uint64_t bytes,
                        char text[DS_FILES_TEXT]);

/* Writes what waits: 0, or the status of the first one that could not be written. */
int ds_files_write(ds_files *f, ds_error *e);

/* Their names, for summary.json: a new list, NULL where there are none. */
json_t *ds_files_names(const ds_files *f);

#endif
