/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - an FMU as an environment: what is varied, what is compared, and the episodes.
 *
 * An episode runs over the communication points time[0 .. points]. Its outputs y are (points + 1) rows. The
 * values r that decide the loss are weighted differences of outputs to a recording or to targets, whose
 * squares are summed, or the final value of one output, which is the loss itself.
 *
 * Model exchange is integrated by the classical Runge-Kutta method with `substeps` fixed steps between two
 * points; an event divides a step. Derivatives are exact for this discrete episode where the FMU offers
 * directional or adjoint derivatives and no event occurs: one sweep backwards (J' w), or one forwards (J
 * v). Else they are central differences. */
#ifndef DS_ADAPTERS_FMI_MODEL_H
#define DS_ADAPTERS_FMI_MODEL_H

#include <diffsim/helper/env_kit.h>
#include <sys/types.h>

#include "adapters/fmi/instance.h"

/* What is varied: a parameter, a start value, or an input with `pieces` values that follow each other. */
typedef struct fmu_decision {
    const fmi_variable *v;
    double lower, upper, start;
    uint64_t pieces, first; /* decision variables first .. first + pieces - 1 */
    int is_input;
} fmu_decision;

/* One value r. */
typedef struct fmu_fit {
    uint64_t point;
    size_t output;
    double value, weight;
} fmu_fit;

enum { FMU_DECISIONS = 256, FMU_FIXED = 256 };

typedef struct fmu {
    ds_env_kit kit; /* first */
    fmi_description d;
    fmi_instance inst;
    char folder[256];        /* of the unpacked FMU, "" = none */
    pid_t keeper;            /* the process that removes it; 0 = none */
    int keeper_fd;           /* which it does when this is closed */
    int library_fd;          /* of a library that was loaded from memory; 0 = none */
    int me, exact, minimize; /* exact: derivatives by the FMU */
    size_t decisions, outputs, fits, fixed;
    fmu_decision decision[FMU_DECISIONS];
    const fmi_variable **output;
    const fmi_variable **given; /* the fixed ones, then room for the decisions */
    double *value;              /* of them */
    fmu_fit *fit;
    uint64_t points, substeps;
    double *time, stop;
    /* the last episode */
    double *y, *r;
    uint64_t events;
    int64_t bad_step;
    double until; /* where the FMU is in time, after the last of its steps */
    /* work */
    double *path, *stage, *sign; /* states of all steps; of one step; of the event indicators */
    double *jacobian, *at;       /* fits x n by differences, and where; at[0] is NAN where there is none */
    double *slope, *middle;      /* of a difference: r per unit to both sides, r between them */
    double *rates;               /* three times: derivatives of the states, outputs */
    double *first;               /* states x n: derivatives of the first states */
    const fmi_variable **known;  /* states, then decisions */
} fmu;

/* Runs an episode: writes y, r and events; `keep`: also path. DS_EVAL_*; the message is inst.last. */
uint32_t fmu_run(fmu *e, const double *x, int keep);

/* out = J' w (n values) or J v (fits values) of the episode at x. *kind: how. DS_EVAL_OK or
 * DS_EVAL_BAD_GRAD. */
uint32_t fmu_transposed(fmu *e, const double *x, const double *w, double *out, uint32_t *kind);
uint32_t fmu_product(fmu *e, const double *x, const double *v, double *out, uint32_t *kind);

/* Are the derivatives that the FMU offers there, and right, for all of states, parameters and inputs? Called
 * once, at the start point. */
int fmu_try_derivatives(fmu *e, const double *x);

/* The parameters of the environment: what is varied, and what its loss is (task.c). fmu_task_read() reads
 * them into e, whose description is there: decisions, outputs, times, fits. All memory is of
 * e->kit.memory. */
extern const ds_param *const fmu_params[];
void fmu_task_read(fmu *e, ds_param_reader *in);

#endif
