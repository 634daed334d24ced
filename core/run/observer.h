/* SPDX-License-Identifier: Apache-2.0 */
/* observer.h - who wants to see how a run goes on, the pictures for example. The run tells, and does
 * nothing else for it. */
#ifndef DS_RUN_OBSERVER_H
#define DS_RUN_OBSERVER_H

#include <stdint.h>

#include "config/run_options.h"

/* What is told of a run. */
typedef struct ds_observed {
    const char *folder;
    const ds_run_options *options;
    uint64_t evaluations;
    uint64_t best_id;    /* evaluation with the lowest loss; 0 = none yet */
    double evaluation_s; /* of all evaluations together */
    int interrupted;     /* by a signal: its user waits */
} ds_observed;

enum {
    DS_RUN_BEGINS, /* the search does; a record may be repeated first */
    DS_RUN_STEP,   /* evaluations were handed to the record */
    DS_RUN_ENDED   /* summary and record are complete; not told where this start has changed nothing */
};

/* see() is called by the thread of the run, which waits for it: a step must be cheap. */
typedef struct ds_observer {
    void *ctx;
    void (*see)(void *ctx, int event, const ds_observed *run);
} ds_observer;

#endif
