/* SPDX-License-Identifier: Apache-2.0 */
/* check_watch.h - small problems of known shape, and an objective that lets an optimizer search them and
 * watches it: every point must be finite and inside the box, and the search must end when told to. */
#ifndef DS_HARNESS_CHECK_WATCH_H
#define DS_HARNESS_CHECK_WATCH_H

#include <diffsim/ext/channel.h>
#include <diffsim/ext/draft/files.h>
#include <diffsim/ext/draft/steps_gradient.h>
#include <diffsim/optimizer.h>
#include <setjmp.h>

#include "evaluate/request.h"
#include "harness/check_host.h"
#include "plugin/channels.h"
#include "store/optimizer_output.h"

/* ---- problems ---- */

enum { DS_CHECK_MAX_N = 10 };

enum {
    DS_CHECK_SPHERE,
    DS_CHECK_ROSENBROCK,
    DS_CHECK_RASTRIGIN,
    DS_CHECK_STEP, /* flat terraces: gradient zero */
    DS_CHECK_CONSTANT,
    DS_CHECK_FUNCTIONS
};

/* A problem with the arrays it points to. */
typedef struct ds_check_problem {
    ds_problem problem;
    double lower[DS_CHECK_MAX_N], upper[DS_CHECK_MAX_N], x0[DS_CHECK_MAX_N];
} ds_check_problem;

void ds_check_problem_make(ds_check_problem *p, uint64_t n, int has_gradient, uint64_t budget);
/* Number of residuals (0 = none); residuals, or products with their Jacobian; op is DS_QUERY_VALUE,
 * DS_QUERY_JV or DS_QUERY_JTV. */
uint64_t ds_check_problem_residuals(int function, uint64_t n);
void ds_check_problem_product(int function, uint64_t n, uint32_t op, const double *x, const double *v,
                              double *out);
double ds_check_problem_value(int function, uint64_t n, const double *x, double *grad);
const char *ds_check_function_name(int function);

/* ---- searches ---- */

/* Injected faults of evaluations. */
enum {
    DS_CHECK_FAIL_NOTHING,
    DS_CHECK_FAIL_SOME, /* 30 % of all points fail (always the same ones) */
    DS_CHECK_FAIL_ALL,
    DS_CHECK_FAIL_HUGE,     /* losses of 1e300 and -1e300 */
    DS_CHECK_FAIL_GRADIENT, /* 30 % of the gradients are invalid, and reported as zero */
    DS_CHECK_FAIL_ZERO      /* every gradient is zero */
};

/* One search of an optimizer: input and results. */
typedef struct ds_check_search {
    /* input */
    int function, failure;
    uint64_t n;
    uint64_t budget;     /* evaluations that the optimizer may plan with */
    uint64_t stop_after; /* evaluations after which the objective returns DS_STOPPED; 0 = the budget */
    uint64_t seed;
    uint32_t threads;
    const ds_settings *settings; /* NULL = the user's */
    int has_gradient;
    int residuals;  /* the problem has channels with its residuals (sphere, rosenbrock, rastrigin) */
    int time_limit; /* stepwise control: episodes at the horizon are truncated, not terminated */
    int early_ends; /* stepwise control: some episodes terminate before the horizon */
    double seconds; /* the objective also stops after this wall time; 0 = never */
    int strict;     /* breaches of the contract fail this test too, not only search.points and search.stop */
    /* should_stop() and the objective ask to stop this many seconds after the start; 0 = never */
    double stop_at;
    /* results */
    int broken;               /* the search was cut off or ended in a wrong way */
    int created;              /* 0: create() refused; see `message` */
    ds_status status;         /* of create() or run() */
    uint64_t used;            /* evaluations done */
    uint64_t asked_after;     /* calls after the first DS_STOPPED */
    double best;              /* smallest loss returned */
    double wall, worked;      /* seconds in run(), and ds_check_worked() of these */
    double told_stop;         /* time of the first DS_STOPPED, seconds since the start; 0 = never */
    uint64_t wanted_gradient; /* rows that requested a gradient */
    uint64_t wanted_residuals, wanted_products; /* rows that requested these */
    uint64_t terminated, truncated;             /* episodes without failure, by how they ended */
    uint64_t wanted_episodes;                   /* episodes begun */
    uint64_t saved, saved_hash;                 /* saved files, and a hash of their names and contents */
    uint64_t *trace;                            /* per evaluation a hash of x and want; to be freed */
    char message[256];                          /* of host->error() */
} ds_check_search;

/* Creates an optimizer for the problem and runs it. Breaches of the contract are recorded after `name`, as
 * failures if the search is strict, else as a reason to skip; the caller judges the rest. 0 if no instance
 * could be tried (recorded). */
int ds_check_search_run(ds_check *c, const char *name, ds_check_search *s);

/* ---- shared by evaluations of points and episodes ---- */

/* Calls after DS_STOPPED that cut a search off. */
enum { DS_CHECK_AFTER_CUT = 1000 };

typedef struct ds_check_watch {
    ds_objective objective;
    ds_channels channels; /* empty without residuals */
    ds_objective_channels table;
    ds_objective_files files;
    ds_objective_progress progress;
    ds_query_layout queries; /* queries of the current request */
    ds_check *c;
    const char *name;
    ds_check_search *s;
    ds_check_problem problem;
    ds_check_host h;
    double begin;
    atomic_int timer_off;
    int stopped;
    jmp_buf cut;                        /* leaves a search that does not end */
    struct ds_check_episodes *episodes; /* stepwise control; NULL until requested */
} ds_check_watch;

/* Records a breach of the objective's contract, and how to fix it. */
void ds_check_breach(ds_check_watch *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ds_check_advise(const ds_check_watch *w, const char *text);

/* Returns DS_STOPPED from a call after the end; cuts the search off after too many of them. */
ds_status ds_check_called_after(ds_check_watch *w);

/* Returns DS_STOPPED from this call and all later ones. */
ds_status ds_check_watch_stop(ds_check_watch *w);
int ds_check_time_is_up(ds_check_watch *w);
/* The test itself is out of time: do not wait any longer. */
int ds_check_is_hurried(ds_check_watch *w);

uint64_t ds_check_hash_row(const double *x, uint64_t n, uint32_t want);

/* The problem as episodes (check_episodes.c), with derivatives; NULL without memory. */
const ds_objective_steps *ds_check_episodes_of(ds_check_watch *w);
const ds_objective_steps_gradient *ds_check_episode_gradients_of(ds_check_watch *w);

#endif
