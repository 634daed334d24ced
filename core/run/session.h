/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - one start of a run, or of the survey of a landscape: its folder,
 * settings, environment and journal. */
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

/* Of a kind ("run", "landscape") in a folder. */
int ds_session_open(ds_session *s, const char *kind, const char *folder, ds_error *e);
void ds_session_close(ds_session *s);

/* Enters portable mode where [run] portable asks for it, and writes it there where this program is in that
 * mode already. Nothing must be open yet: a program may be started anew. */
int ds_portable_settle(ds_settings *settings, ds_error *e);

/* The second half of it: for those who start runs as processes of their own. */
int ds_portable_adopt(ds_settings *settings, ds_error *e);

/* Warns, and notes it with the first new evaluation, where the run was begun with other arithmetic
 * (arithmetic/arithmetic.h) than that of now. Its plugins are known. */
int ds_session_compare_arithmetic(ds_session *s, ds_error *e);

/* Takes over the settings of a new run. */
int ds_session_configure(ds_session *s, const ds_settings *settings, ds_error *e);

/* How the environment of a run is evaluated, as its options say; stopped by ds_stop_flag, where no
 * other flag is set. */
ds_pool_config ds_pool_config_of(const ds_module *env, const ds_settings *settings, const ds_run_options *o);

/* Finds the environment that the options name; s->env_module is set. */
int ds_session_find_env(ds_session *s, ds_error *e);

/* The optimizer that the options name: loaded into this process, or *apart, described by one of its own
 * (run.isolate_optimizer). */
int ds_session_find_optimizer(const ds_run_options *o, const ds_settings *settings, const atomic_int *stop,
                              const ds_module **out, int *apart, ds_error *e);

/* Opens the pool of s->env_module, and the journal of `recorded` variables a row (0 = all of them). */
int ds_session_open_pool(ds_session *s, uint64_t recorded, ds_error *e);

/* A plugin for the spec; `given` is what the user said. */
ds_plugin_name ds_session_plugin(const ds_module *module, const char *given);

/* A new folder: makes and locks it and writes the .ini file; then the store. */
int ds_session_make_folder(ds_session *s, ds_error *e);
int ds_session_make_store(ds_session *s, ds_error *e);

/* The line for a folder that holds such a run already. */
int ds_session_taken(const ds_session *s, ds_error *e);

/* An existing folder: locks it, opens its store, takes over its settings, with the overrides, and
 * the seconds of earlier starts; *done gets the number of its evaluations. `hint` goes behind the
 * line for a folder without one. */
int ds_session_reopen(ds_session *s, const ds_settings *overrides, const char *hint, uint64_t *done,
                      ds_error *e);

/* Reads a number of the store's meta data; *out is left alone where there is none. */
int ds_session_fact(const ds_session *s, const char *key, double *out, ds_error *e);

/* Seconds of all starts together, and of this one. */
double ds_session_wall(const ds_session *s);
double ds_session_seconds(const ds_session *s);

/* Writes the seconds and why it ended into the store. */
int ds_session_note_end(const ds_session *s, const char *ended, ds_error *e);

/* Above so many variables, best_x is in a file of its own, "best_x.npy", which best_x_file of summary.json
 * names. */
enum { DS_SUMMARY_VARIABLES = 65536 };

/* For summary.json: the seed, how many evaluations had which outcome, and all of it for a run; `plan` is
 * the budget of its first start. */
json_t *ds_session_seed(const ds_session *s);
json_t *ds_session_outcomes(const ds_session *s);
json_t *ds_session_summary(const ds_session *s, uint64_t plan);
int ds_session_write_summary(const ds_session *s, const json_t *summary, ds_error *e);

/* 130 or 143: the exit status of a run that was stopped by a signal. */
int ds_session_signal_status(const ds_session *s);

/* Repeats one recorded evaluation. DS_EXIT_PLUGIN where it comes out differently: the
 * environment is another one. */
int ds_run_recheck(const ds_session *session, ds_error *e);

#endif
