/* SPDX-License-Identifier: Apache-2.0 */
/* run_folder.h - the result folder of a run: where it is, and the text files in it
 * that make things repeatable. */
#ifndef DS_STORE_RUN_FOLDER_H
#define DS_STORE_RUN_FOLDER_H

#include "base/error.h"
#include "config/run_options.h"
#include "store/store.h"

/* Makes a folder and its parents. */
int ds_folder_make(const char *path, ds_error *e);

/* The same of a path that lies in the folder `root`, which a user has named: what is below it may be made by
 * others, so that each folder there has to be one, and no link to another place. */
int ds_folder_make_below(const char *root, const char *path, ds_error *e);

/* Only the test of that, before something at `path` is changed: 0 also where there is nothing yet. */
int ds_folder_check_below(const char *root, const char *path, ds_error *e);

/* "FOLDER/NAME", to be freed; NULL without memory. */
char *ds_folder_path(const char *folder, const char *name);

/* Is there a file of this name? The store of a run? Of a landscape? */
int ds_folder_has(const char *folder, const char *name);
int ds_folder_has_run(const char *folder);
int ds_folder_has_landscape(const char *folder);

/* May a new run be made in it: is it not there, or empty but for settings, logs, hidden files and what a
 * killed start has left? DS_EXIT_IO and a line where not. `results_only`: files that dshost does not write
 * may be there. */
int ds_folder_vacant(const char *folder, int results_only, ds_error *e);

/* Has a start of a run (`kind` "run", "landscape") ended before it had a record: is its .ini file there, no
 * store, and nothing that follows one? */
int ds_folder_begun(const char *folder, const char *kind);

/* The name that the user gets who names none: results/ENV-OPT-sSEED, with -2, -3, ... where that is taken. To
 * be freed. */
char *ds_folder_default(const char *env, const char *opt, uint64_t seed);

/* A plugin of a run. */
typedef struct ds_plugin_name {
    const char *given; /* by the user: an id, a file name or a path */
    const char *id, *version;
    const char *path; /* of its file; NULL = what searches is part of dshost */
    const char *blas; /* see ds_module; NULL = none */
} ds_plugin_name;

/* What a run, or the survey of a landscape, is made of, and its settings. */
typedef struct ds_run_spec {
    const char *kind; /* "run", "landscape": the command, and the name of .ini file and store */
    int survey;       /* it surveys fixed points: no budget, no target */
    int all_runs;     /* of a folder that holds several runs, with seeds one after the other */
    int env_alone;    /* its instances want a process to themselves (DS_ENV_OWN_PROCESS) */
    ds_plugin_name env, opt;
    const ds_run_options *options;
    const ds_params *section[DS_SECTIONS]; /* of [env], [opt], [landscape]; NULL where there is none */
    const ds_named_variable *variables;    /* of the environment; NULL where they have no names */
    uint64_t named;                        /* their number */
} ds_run_spec;

/* How .ini files name a plugin: by its path where the user did and the line has room, else by its id. */
const char *ds_folder_plugin_name(const ds_plugin_name *plugin);

/* Writes run.ini (landscape.ini), which reproduces it. */
int ds_folder_write_ini(const char *folder, const ds_run_spec *r, ds_error *e);

/* Makes run.sqlite (landscape.sqlite) with its settings and meta data, complete or not at all, and opens it
 * for writing. */
int ds_folder_create_store(const char *folder, const ds_run_spec *r, uint64_t n, ds_store **out, ds_error *e);

/* Writes failure-NNNN.ini, with which `dshost eval --config` repeats one evaluation in its own process, for a
 * debugger, where the environment allows that. */
int ds_folder_write_failure(const char *folder, const ds_run_spec *r, uint64_t id, const double *x,
                            uint64_t n, uint64_t noise_key, const ds_answer *answer, ds_error *e);

/* ---- runlock ---- */

/* one process at a time works on a result folder: DIR/run.lock is locked while it does. */

typedef struct ds_runlock ds_runlock;

/* Takes the lock of a folder. DS_EXIT_LOCKED with the process id of the holder where another process has it.
 */
int ds_runlock_take(const char *folder, ds_runlock **out, ds_error *e);

/* Removes the file and gives the lock back (NULL is fine). A killed process gives it back, too. */
void ds_runlock_drop(ds_runlock *lock);

#endif
