/* SPDX-License-Identifier: Apache-2.0 */
/* check_watch.h - one search of an optimizer on a small problem, and what its objectives (points, steps) have
 * in common: the clock, the end, and records of what breaks the contract. */
#ifndef DS_HARNESS_CHECK_WATCH_H
#define DS_HARNESS_CHECK_WATCH_H

#include <diffsim/ext/channel.h>
#include <diffsim/ext/draft/files.h>
#include <diffsim/ext/steps.h>
#include <setjmp.h>

#include "harness/check.h"
#include "harness/check_host.h"
#include "harness/check_problem.h"
#include "plugin/channels.h"
#include "store/optimizer_output.h"

/* What goes wrong with the answers. */
enum {
    DS_CHECK_FAIL_NOTHING,
    DS_CHECK_FAIL_SOME, /* 30 % of all points fail (always the same points) */
    DS_CHECK_FAIL_ALL,
    DS_CHECK_FAIL_HUGE,     /* losses of 1e300 and -1e300 */
    DS_CHECK_FAIL_GRADIENT, /* 30 % of the gradients are invalid, told as zero */
    DS_CHECK_FAIL_ZERO      /* every gradient is zero */
};

/* One search: what is wanted of it, and what came of it. */
typedef struct ds_check_search {
    /* in */
    int function, failure;
    uint64_t n;
    uint64_t budget;     /* evaluations that the optimizer is told of */
    uint64_t stop_after; /* evaluations after which the objective says DS_STOPPED; 0 = the budget */
    uint64_t seed;
    uint32_t threads;
    const ds_settings *settings; /* NULL = the user's */
    int has_gradient;
    int residuals;  /* the problem has channels, the residuals among them (sphere, rosenbrock, rastrigin) */
    int time_limit; /* of stepwise control: who reaches the horizon is truncated, not terminated */
    int early_ends; /* of stepwise control: some episodes terminate before */
    double seconds; /* the objective also stops after this wall time; 0 = never */
    int strict;     /* breaches of the contract fail this test, too, not only search.points and search.stop */
    double stop_at; /* should_stop() and the objective say so this many seconds after the start; 0 = never */
    /* out */
    int broken;               /* the search was cut off, or it ended as it should not */
    int created;              /* 0: create() refused; message says why */
    ds_status status;         /* of create() or run() */
    uint64_t used;            /* evaluations answered */
    uint64_t asked_after;     /* calls after the first DS_STOPPED */
    double best;              /* smallest loss told */
    double wall, worked;      /* seconds in run(), and of these ds_check_worked() */
    double told_stop;         /* when DS_STOPPED was said first, seconds since the start; 0 = never */
    uint64_t wanted_gradient; /* rows for which a gradient was wanted */
    uint64_t wanted_residuals, wanted_products; /* rows for which these were wanted */
    uint64_t terminated, truncated;             /* episodes that did not fail, by how they ended */
    uint64_t wanted_episodes;                   /* begun */
    uint64_t saved, saved_hash;                 /* files, and a hash of their names and bytes */
    uint64_t *trace;                            /* per evaluation a hash of x and want; free() it */
    char message[256];                          /* of host->error() */
} ds_check_search;

/* Calls after DS_STOPPED after which a search is cut off. */
enum { DS_CHECK_AFTER_CUT = 1000 };

typedef struct ds_check_watch {
    ds_objective objective;
    ds_channels channels;        /* none where the search has no residuals */
    ds_objective_channels table; /* of them */
    ds_objective_files files;
    ds_objective_progress progress;
    ds_query_layout queries; /* of the batch in hand */
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
/* The test itself is out of time: nothing waits any longer. */
int ds_check_is_hurried(ds_check_watch *w);

uint64_t ds_check_hash_row(const double *x, uint64_t n, uint32_t want);

#endif
