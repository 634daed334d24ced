/* SPDX-License-Identifier: Apache-2.0 */
/* run_folder.h - the result folder of a run: its name, the text files that make things repeatable, and the
 * lock. */
#ifndef DS_STORE_RUN_FOLDER_H
#define DS_STORE_RUN_FOLDER_H

#include "base/error.h"
#include "config/run_options.h"
#include "store/store.h"

/* Creates a folder and its parents. */
int ds_folder_make(const char *path, ds_error *e);

/* Creates `path` inside the folder `root` that a user named. Others may have written below root, so every
 * part below it must be a real folder and not a link. */
int ds_folder_make_below(const char *root, const char *path, ds_error *e);

/* Makes the same check without creating anything; 0 also where nothing exists yet. */
int ds_folder_check_below(const char *root, const char *path, ds_error *e);

/* "FOLDER/NAME", to be freed; NULL without memory. */
char *ds_folder_path(const char *folder, const char *name);

/* Does this file exist? The store of a run? Of a landscape? */
int ds_folder_has(const char *folder, const char *name);
int ds_folder_has_run(const char *folder);
int ds_folder_has_landscape(const char *folder);

/* May a new run be created in this folder: is it missing, or empty except for settings, logs, hidden files
 * and leftovers of a killed start? Returns DS_EXIT_IO with one line where not. `results_only`: files that
 * dshost does not write are allowed. */
int ds_folder_vacant(const char *folder, int results_only, ds_error *e);

/* Did a start of a run (`kind` "run", "landscape") end before it had a record: does its .ini file exist, but
 * no store and no later file? */
int ds_folder_begun(const char *folder, const char *kind);

/* The default name: results/ENV-OPT-sSEED, with -2, -3, ... where it is taken. To be freed. */
char *ds_folder_default(const char *env, const char *opt, uint64_t seed);

/* A plugin of a run. */
typedef struct ds_plugin_name {
    const char *given; /* as the user wrote it: an id, a file name or a path */
    const char *id, *version;
    const char *path; /* of its file; NULL = the searching program itself evaluates */
    const char *blas; /* see ds_module; NULL = none */
} ds_plugin_name;

/* A run, or the survey of a landscape: its parts and settings. */
typedef struct ds_run_spec {
    const char *kind; /* "run", "landscape": the command, and the name of the .ini file and the store */
    int survey;       /* a survey of fixed points: no budget, no target */
    int all_runs;     /* a folder of several runs with consecutive seeds */
    int env_alone;    /* its instances need a process of their own (DS_ENV_OWN_PROCESS) */
    ds_plugin_name env, opt;
    const ds_run_options *options;
    const ds_params *section[DS_SECTIONS]; /* of [env], [opt], [landscape]; NULL where there is none */
    const ds_named_variable *variables;    /* of the environment; NULL = no names */
    uint64_t named;                        /* their number */
} ds_run_spec;

/* The name of a plugin in .ini files: its path where the user gave one that fits the line, else its id. */
const char *ds_folder_plugin_name(const ds_plugin_name *plugin);

/* Writes run.ini (landscape.ini), which reproduces the run. */
int ds_folder_write_ini(const char *folder, const ds_run_spec *r, ds_error *e);

/* Makes run.sqlite (landscape.sqlite) with its settings and meta data, completely or not at all, and opens it
 * for writing. */
int ds_folder_create_store(const char *folder, const ds_run_spec *r, uint64_t n, ds_store **out, ds_error *e);

/* Writes failure-NNNN.ini, with which `dshost eval --config` repeats one evaluation in its own process (for a
 * debugger) where the environment allows it. */
int ds_folder_write_failure(const char *folder, const ds_run_spec *r, uint64_t id, const double *x,
                            uint64_t n, uint64_t noise_key, const ds_answer *answer, ds_error *e);

/* ---- the lock: one process at a time works on a result folder, and holds DIR/run.lock ---- */

typedef struct ds_runlock ds_runlock;

/* Takes the lock of a folder. Returns DS_EXIT_LOCKED with the process id of the holder where another process
 * has it. */
int ds_runlock_take(const char *folder, ds_runlock **out, ds_error *e);

/* Removes the file and releases the lock (NULL is allowed). The kernel releases the lock of a killed process.
 */
void ds_runlock_drop(ds_runlock *lock);

#endif
