/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - the run engine: one optimizer on one environment, from the first evaluation to the finished result
 * folder. */
#ifndef DS_RUN_RUN_H
#define DS_RUN_RUN_H

#include "run/session.h"

/* Runs what the settings say in a folder that holds no run yet (it is made). A finished or interrupted run
 * (also one that was ended by a signal, or by failures) leaves run.sqlite, run.ini and summary.json, and
 * tells `observer` (NULL is fine) how it goes on. Returns the exit status; where that is an error, *e has
 * the line to show, else e->text is empty. *summary, where not NULL, gets the content of summary.json (NULL
 * where there is none). */
int ds_run_start(const ds_settings *settings, const char *folder, const ds_observer *observer,
                 json_t **summary, ds_error *e);

/* Goes on with the run in a folder. `overrides` may hold settings of [run] that do not change results:
 * budget (not below the evaluations done), seconds, jobs, threads, isolation, isolate_optimizer,
 * timeout_s, memory_mb, max_failed, pictures. */
int ds_run_resume(const char *folder, const ds_settings *overrides, const ds_observer *observer,
                  json_t **summary, ds_error *e);

/* Makes the damaged records of a folder (a run, several runs, a landscape) ones that can be resumed:
 * ds_store_repair(). Says what it did. */
int ds_run_repair(const char *folder, ds_error *e);

/* Is this a setting that ds_run_resume() takes? */
int ds_run_may_override(const char *key);

/* ---- several runs with seeds one after the other, in folders seed-K of one result folder ---- */

/* Starts all runs. *summaries gets an array of summaries. Returns the first exit status that is not 0. */
int ds_series_start(const ds_settings *settings, const ds_run_options *options, const char *folder,
                    const ds_observer *observer, json_t **summaries, ds_error *e);

/* Is this folder one of several runs? */
int ds_series_is(const char *folder);

/* Goes on with all of them, and starts those that are missing. */
int ds_series_resume(const char *folder, const ds_settings *overrides, const ds_observer *observer,
                     json_t **summaries, ds_error *e);

#endif
