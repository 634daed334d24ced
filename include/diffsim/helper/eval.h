/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/eval.h - one evaluation, or one control step of one lane, as one struct, in and out.
 *
 * The interface passes tables of rows (diffsim/base.h). An environment that computes one row at a time sees
 * each as a ds_eval:
 *
 *     static ds_status simulate(void *self, ds_eval *io);
 *
 *     static ds_status evaluate(void *self, const ds_rows *rows, const ds_results *results)
 *     {
 *         return ds_eval_each(self, rows, results, simulate);
 *     }
 *
 * A program that holds an instance evaluates one point by ds_eval_call(). The environment kit
 * (diffsim/helper/env_kit.h) uses both. Header only, in C11 and C++17; not part of the binary interface.
 */
#ifndef DIFFSIM_HELPER_EVAL_H
#define DIFFSIM_HELPER_EVAL_H

#include <diffsim/env.h>
#include <diffsim/ext/draft/steps_gradient.h>
#include <diffsim/ext/steps.h>

/* One query about the row, and its answer: see ds_query and ds_reply. */
typedef struct ds_eval_query {
    uint32_t op;      /* in: DS_QUERY_* */
    uint32_t channel; /* in: its number, from 0 */
    uint32_t kind;    /* out: how a product was computed, DS_GRAD_*; for VALUE DS_GRAD_NONE */
    uint32_t reserved;
    const double *v; /* in */
    const double *w; /* in: HV: weights, NULL = all 1; else NULL */
    void *out;       /* out */
    uint64_t bytes;  /* in: size of `out` in bytes, exactly that of the reply */
} ds_eval_query;

/* One row. */
typedef struct ds_eval {
    uint32_t want;       /* in: DS_WANT_* */
    uint32_t outcome;    /* out: DS_EVAL_OK, _BAD_GRAD, _DIVERGED, _INFEASIBLE */
    uint64_t n;          /* in: decision variables */
    const double *x;     /* in: n values */
    uint64_t noise_key;  /* in: 0 = no noise */
    double *grad;        /* out: n values where DS_WANT_GRAD is set; else NULL */
    double loss;         /* out: finite, or +INFINITY where the outcome says that there is none */
    int64_t bad_step;    /* out: first output step that went wrong, or -1 */
    uint64_t cost_steps; /* out: simulation steps spent */
    uint32_t grad_kind;  /* out: DS_GRAD_* */
    uint32_t reserved;
    uint64_t queries; /* in */
    ds_eval_query *const *query;
} ds_eval;

/* Row k of a table, with preset results. `query` has room for DS_MAX_QUERIES entries, `list` for as many
 * pointers. [instance] */
static inline ds_eval ds_eval_row(const ds_rows *rows, const ds_results *results, uint64_t k,
                                  ds_eval_query *query, ds_eval_query **list);

/* Writes what `io` holds to the results of row k. [instance] */
static inline void ds_eval_store(const ds_eval *io, const ds_results *results, uint64_t k);

/* Calls `one` for each row of a table; stops at the first error status, which it returns. [instance] */
static inline ds_status ds_eval_each(void *self, const ds_rows *rows, const ds_results *results,
                                     ds_status (*one)(void *self, ds_eval *io));

/* A table of one row. */
typedef struct ds_eval_table {
    ds_rows rows;
    ds_results results;
    ds_query query[DS_MAX_QUERIES];
    const ds_query *queries[DS_MAX_QUERIES];
    ds_reply reply[DS_MAX_QUERIES];
    const ds_reply *replies[DS_MAX_QUERIES];
} ds_eval_table;

/* Makes *t of `io`, whose fields marked out are preset by the caller and get the results; *t points into `io`
 * and into itself. [instance] */
static inline void ds_eval_table_of(ds_eval *io, ds_eval_table *t);

/* Evaluates one point: calls the environment with a table of one row. [instance] */
static inline ds_status ds_eval_call(const ds_env_vtable *vt, void *self, ds_eval *io);

/* ---- stepwise control (diffsim/ext/steps.h): one lane ---- */

/* One control step. */
typedef struct ds_step {
    uint32_t outcome;     /* out: DS_EVAL_OK, _DIVERGED, _INFEASIBLE; all but OK end the episode */
    uint32_t ended;       /* out: DS_STEPS_* */
    const double *action; /* in: n_act values */
    double *obs;          /* out: n_obs values */
    double reward;        /* out */
    double loss;          /* out, where `ended` */
    uint64_t cost_steps;  /* out */
} ds_step;

/* One step backwards (diffsim/ext/draft/steps_gradient.h). */
typedef struct ds_back {
    uint64_t step;         /* in: 0 = the first of the episode */
    double reward_bar;     /* in */
    const double *obs_bar; /* in: n_obs values */
    double *action_bar;    /* out: n_act values */
    uint32_t begins;       /* in: 1 = it begins a sweep, 0 = it is the one before the last */
    uint32_t outcome;      /* out: DS_EVAL_OK or DS_EVAL_BAD_GRAD */
    uint64_t cost_steps;   /* out */
} ds_back;

/* Calls `one` for each row of begin(). `n_obs` is that of the environment. [instance] */
static inline ds_status
ds_step_begin_each(void *self, const ds_step_rows *rows, const ds_step_results *results, uint64_t n_obs,
                   ds_status (*one)(void *self, uint64_t lane, uint64_t noise_key, double *obs));

/* Calls `one` for each row of step(). [instance] */
static inline ds_status ds_step_each(void *self, const ds_step_rows *rows, const ds_step_results *results,
                                     uint64_t n_act, uint64_t n_obs,
                                     ds_status (*one)(void *self, uint64_t lane, ds_step *io));

/* Calls `one` for each row of back(). [instance] */
static inline ds_status ds_back_each(void *self, const ds_back_rows *rows, const ds_back_results *results,
                                     uint64_t n_act, uint64_t n_obs,
                                     ds_status (*one)(void *self, uint64_t lane, ds_back *io));

/* Begins an episode in a lane of an instance; *outcome (may be NULL) gets DS_EVAL_*. [instance] */
static inline ds_status ds_step_begin_call(const ds_env_steps *table, void *self, uint64_t lane,
                                           uint64_t noise_key, double *obs, uint32_t *outcome);

/* Takes a step in a lane of an instance; the caller presets the results in `io`. [instance] */
static inline ds_status ds_step_call(const ds_env_steps *table, void *self, uint64_t lane, ds_step *io);

/* Goes back over a step in a lane of an instance; the caller presets the results in `io`. [instance] */
static inline ds_status ds_back_call(const ds_env_steps_gradient *table, void *self, uint64_t lane,
                                     ds_back *io);

#include <diffsim/helper/eval.inl>

#endif
