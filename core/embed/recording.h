/* SPDX-License-Identifier: Apache-2.0 */
/* recording.h - the result folder of a search by ask and tell: records the losses of a program as those of a
 * run. A resumed search takes its first results from there. */
#ifndef DS_EMBED_RECORDING_H
#define DS_EMBED_RECORDING_H

#include <diffsim/lib/ask_tell.h>

#include <diffsim/optimizer.h>

#include "config/params.h"
#include "plugin/loader.h"
#include "run/queries.h"

typedef struct ds_recording ds_recording;

/* Opens the folder that the options name: a new one, or, with options->resume, one that holds such a search.
 * `problem` and `params` (of the optimizer) must live as long as the recording. Sets problem->budget to that
 * of the first start. */
int ds_recording_open(const ds_search_options *options, const ds_module *optimizer, const ds_params *params,
                      ds_problem *problem, ds_recording **out, ds_error *e);

/* Is a recorded result left? Takes it for the point that is requested now: the loss, and with DS_WANT_GRAD
 * the gradient, zeros where there is none. */
int ds_recording_left(const ds_recording *r);
int ds_recording_take(ds_recording *r, const double *x, uint32_t want, double *loss, double *grad,
                      uint32_t *outcome, ds_error *e);

/* Records a result; `grad` NULL = none was requested. */
int ds_recording_add(ds_recording *r, const ds_request *request, uint64_t row, double loss,
                     const double *grad, uint32_t outcome, ds_error *e);

/* Why the search ended, for summary.json. */
enum {
    DS_RECORDING_CLOSED,
    DS_RECORDING_TARGET,
    DS_RECORDING_TIME,
    DS_RECORDING_BUDGET,
    DS_RECORDING_FINISHED,
    DS_RECORDING_FAILED
};

/* Commits everything, writes the summary and frees the recording; accepts NULL. */
int ds_recording_close(ds_recording *r, int why, const ds_error *failure, ds_error *e);

#endif
