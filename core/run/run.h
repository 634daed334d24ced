/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - the run engine: one optimizer on one environment, from the first evaluation to the finished result
 * folder. */
#ifndef DS_RUN_RUN_H
#define DS_RUN_RUN_H

#include "run/session.h"

/* Runs the settings in a folder that holds no run yet (the folder is created). A run that finished, was
 * interrupted, or ended by failures leaves run.sqlite, run.ini and summary.json. `observer` (NULL is allowed)
 * gets its progress. Returns the exit status; after an error *e has the line to show, else e->text is empty.
 * *summary, where not NULL, gets the content of summary.json (NULL where there is none). */
int ds_run_start(const ds_settings *settings, const char *folder, const ds_observer *observer,
                 json_t **summary, ds_error *e);

/* Continues the run in a folder. `overrides` may hold settings of [run] that do not change results: budget
 * (at least the evaluations done), seconds, jobs, threads, isolation, isolate_optimizer, timeout_s,
 * memory_mb, max_failed, pictures. */
int ds_run_resume(const char *folder, const ds_settings *overrides, const ds_observer *observer,
                  json_t **summary, ds_error *e);

/* Repairs the damaged records of a folder (a run, several runs, a landscape) by ds_store_repair(), and prints
 * what it did. */
int ds_run_repair(const char *folder, ds_error *e);

/* Does ds_run_resume() accept this setting? */
int ds_run_may_override(const char *key);

/* ---- several runs with consecutive seeds, in folders seed-K of one result folder ---- */

/* Starts all runs. *summaries gets an array of summaries. Returns the first nonzero exit status. */
int ds_series_start(const ds_settings *settings, const ds_run_options *options, const char *folder,
                    const ds_observer *observer, json_t **summaries, ds_error *e);

/* Is this the folder of several runs? */
int ds_series_is(const char *folder);

/* Continues all of them, and starts missing ones. */
int ds_series_resume(const char *folder, const ds_settings *overrides, const ds_observer *observer,
                     json_t **summaries, ds_error *e);

#endif
