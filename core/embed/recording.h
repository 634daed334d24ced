/* SPDX-License-Identifier: Apache-2.0 */
/* recording.h - the result folder of a search by ask and tell: the losses that a program tells are
 * recorded as those of a run, and a search that goes on is answered from there first. */
#ifndef DS_EMBED_RECORDING_H
#define DS_EMBED_RECORDING_H

#include <diffsim/lib/ask_tell.h>

#include <diffsim/optimizer.h>

#include "config/params.h"
#include "plugin/loader.h"
#include "run/queries.h"

typedef struct ds_recording ds_recording;

/* The folder that the options name: a new one, or, with options->resume, one that holds such a search.
 * `problem` and `params` (of the optimizer) must live as long. problem->budget becomes what the first
 * start was told. */
int ds_recording_open(const ds_search_options *options, const ds_module *optimizer, const ds_params *params,
                      ds_problem *problem, ds_recording **out, ds_error *e);

/* Is there an answer left? Takes it, for the point that is asked for now: the loss, and with DS_WANT_GRAD the
 * gradient, zeros where there is none. */
int ds_recording_left(const ds_recording *r);
int ds_recording_take(ds_recording *r, const double *x, uint32_t want, double *loss, double *grad,
                      uint32_t *outcome, ds_error *e);

/* Enters an answer; `grad` NULL = none was asked for. */
int ds_recording_add(ds_recording *r, const ds_request *request, uint64_t row, double loss,
                     const double *grad, uint32_t outcome, ds_error *e);

/* Why the search ended, as summary.json tells it. */
enum {
    DS_RECORDING_CLOSED,
    DS_RECORDING_TARGET,
    DS_RECORDING_TIME,
    DS_RECORDING_BUDGET,
    DS_RECORDING_FINISHED,
    DS_RECORDING_FAILED
};

/* Commits all, writes the summary and releases everything; NULL is fine. */
int ds_recording_close(ds_recording *r, int why, const ds_error *failure, ds_error *e);

#endif
