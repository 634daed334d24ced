/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - one start of a run, or of the survey of a landscape: its folder, settings, environment and
 * journal. */
#ifndef DS_RUN_SESSION_H
#define DS_RUN_SESSION_H

#include <jansson.h>

#include "run/journal.h"
#include "store/run_folder.h"

typedef struct ds_session {
    char *folder;
    ds_settings settings;
    ds_run_options options;
    const ds_module *env_module;
    ds_pool *pool;
    const ds_pool_env *env;
    ds_runlock *lock;
    ds_run_spec spec;
    ds_journal journal;
    uint64_t start_ns;
    double wall_before; /* seconds of earlier starts */
} ds_session;

/* Begins a session of a kind ("run", "landscape") in a folder. */
int ds_session_open(ds_session *s, const char *kind, const char *folder, ds_error *e);
void ds_session_close(ds_session *s);

/* Enters portable mode where [run] portable requires it, and sets the option where this program is already in
 * that mode. Nothing may be open yet: the program may be started again. */
int ds_portable_settle(ds_settings *settings, ds_error *e);

/* The second half of it, for programs that start runs in their own processes. */
int ds_portable_adopt(ds_settings *settings, ds_error *e);

/* Warns where the arithmetic (arithmetic/arithmetic.h) differs from that at the beginning of the run, and
 * notes it with the first new evaluation. The plugins must be known. */
int ds_session_compare_arithmetic(ds_session *s, ds_error *e);

/* Copies the settings of a new run. */
int ds_session_configure(ds_session *s, const ds_settings *settings, ds_error *e);

/* The configuration of a pool from the options of a run; ds_stop_flag stops it, unless the caller sets
 * another flag. */
ds_pool_config ds_pool_config_of(const ds_module *env, const ds_settings *settings, const ds_run_options *o);

/* Finds the environment of the options, and sets s->env_module. */
int ds_session_find_env(ds_session *s, ds_error *e);

/* Finds the optimizer of the options: loaded into this process, or *apart, described by its own
 * (run.isolate_optimizer). */
int ds_session_find_optimizer(const ds_run_options *o, const ds_settings *settings, const atomic_int *stop,
                              const ds_module **out, int *apart, ds_error *e);

/* Opens the pool of s->env_module, and a journal with `recorded` variables per row (0 = all). */
int ds_session_open_pool(ds_session *s, uint64_t recorded, ds_error *e);

/* A plugin for the spec; `given` is the user's name for it. */
ds_plugin_name ds_session_plugin(const ds_module *module, const char *given);

/* For a new folder: makes and locks it and writes the .ini file; then makes the store. */
int ds_session_make_folder(ds_session *s, ds_error *e);
int ds_session_make_store(ds_session *s, ds_error *e);

/* Fails where the folder already holds such a run. */
int ds_session_taken(const ds_session *s, ds_error *e);

/* For an existing folder: locks it, opens its store, reads settings (with the overrides) and the seconds of
 * earlier starts; *done = number of evaluations. `hint` ends the line for a folder without a run. */
int ds_session_reopen(ds_session *s, const ds_settings *overrides, const char *hint, uint64_t *done,
                      ds_error *e);

/* Reads a number of the store's meta data; leaves *out alone where it is missing. */
int ds_session_fact(const ds_session *s, const char *key, double *out, ds_error *e);

/* Seconds of all starts together, and of this one. */
double ds_session_wall(const ds_session *s);
double ds_session_seconds(const ds_session *s);

/* Writes the seconds, and why the run ended, into the store. */
int ds_session_note_end(const ds_session *s, const char *ended, ds_error *e);

/* With more variables best_x is in its own file, "best_x.npy", which best_x_file of summary.json names. */
enum { DS_SUMMARY_VARIABLES = 65536 };

/* For summary.json: the seed, the number of evaluations by outcome, and the whole summary of a run; `plan` is
 * the budget of its first start. */
json_t *ds_session_seed(const ds_session *s);
json_t *ds_session_outcomes(const ds_session *s);
json_t *ds_session_summary(const ds_session *s, uint64_t plan);
int ds_session_write_summary(const ds_session *s, const json_t *summary, ds_error *e);

/* 130 or 143: the exit status of a run that a signal stopped. */
int ds_session_signal_status(const ds_session *s);

/* Repeats one recorded evaluation. Returns DS_EXIT_PLUGIN where the result differs: the environment has
 * changed. */
int ds_run_recheck(const ds_session *session, ds_error *e);

#endif
