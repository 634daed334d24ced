/* SPDX-License-Identifier: Apache-2.0 */
/* check_watch.h - the objective that watches an optimizer, shared by check_problem.c (points) and
 * check_episodes.c (stepwise control). */
#ifndef DS_CHECK_CHECK_WATCH_H
#define DS_CHECK_CHECK_WATCH_H

#include <diffsim/ext/residuals.h>
#include <diffsim/ext/rl.h>
#include <setjmp.h>

#include "check/check_problem.h"

typedef struct ds_check_watch {
    ds_objective objective;
    ds_residual_objective residuals;
    uint32_t kind; /* of the batch in hand: DS_RESIDUALS_*, 0 = evaluations */
    ds_check *c;
    const char *name;
    ds_check_search *s;
    ds_check_problem problem;
    ds_check_host h;
    double begin;
    atomic_int timer_off;
    int stopped;
    jmp_buf cut;                        /* the way out of a search that does not end */
    struct ds_check_episodes *episodes; /* stepwise control; NULL until asked for */
} ds_check_watch;

/* Records what breaks the contract of the objective, and how to mend it. */
void ds_check_breach(ds_check_watch *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ds_check_advise(const ds_check_watch *w, const char *text);

/* The answer to a question after the end; cuts the search off where there are too many. */
ds_status ds_check_asked_after(ds_check_watch *w);

/* From now on every question is answered with DS_STOPPED, which is returned. */
ds_status ds_check_watch_stop(ds_check_watch *w);
int ds_check_time_is_up(ds_check_watch *w);

uint64_t ds_check_hash_row(const double *x, uint64_t n, uint32_t want);

/* The extension ds.objective.rl/1 of the problem: see check_episodes.c. NULL without memory. */
const ds_episodes *ds_check_episodes_of(ds_check_watch *w);

#endif
