/* SPDX-License-Identifier: Apache-2.0 */
/* run_series.h - several runs with seeds one after the other, in folders seed-K of one result folder. */
#ifndef DS_RUN_RUN_SERIES_H
#define DS_RUN_RUN_SERIES_H

#include <jansson.h>

#include "config/run_options.h"
#include "run/journal.h"

/* Starts all runs. *summaries gets an array of summaries. Returns the first exit status that is not 0. */
int ds_series_start(const ds_settings *settings, const ds_run_options *options, const char *folder,
                    const ds_observer *observer, json_t **summaries, ds_error *e);

/* Is this folder one of several runs? */
int ds_series_is(const char *folder);

/* Goes on with all of them, and starts those that are missing. */
int ds_series_resume(const char *folder, const ds_settings *overrides, const ds_observer *observer,
                     json_t **summaries, ds_error *e);

#endif
