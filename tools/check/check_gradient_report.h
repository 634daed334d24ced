/* SPDX-License-Identifier: Apache-2.0 */
/* check_gradient_report.h - what the test grad.difference has seen, for its report. */
#ifndef DS_CHECK_CHECK_GRADIENT_REPORT_H
#define DS_CHECK_CHECK_GRADIENT_REPORT_H

#include "difference/gradient_claim.h"
#include "harness/check_host.h"

/* DS_NOISY: the noise key of points with noise. */
enum { DS_FAULTS = 64, DS_SEEN = 4096, DS_NOISY = 12345 };

/* Points that are not random; those have the numbers from DS_AT_SPECIALS on. */
enum {
    DS_AT_START,
    DS_AT_CENTRE,
    DS_AT_LOWER,
    DS_AT_UPPER,
    DS_AT_CORNER,
    DS_AT_FACES,
    DS_AT_NEAR_LOWER,
    DS_AT_NEAR_UPPER,
    DS_AT_NEAR_LOWER_2, /* who was close to the bound is farther off, and the other way round */
    DS_AT_NEAR_UPPER_2,
    DS_AT_NEAR_CORNER,
    DS_AT_SPECIALS
};

/* Variables along which the gradient is wrong. */
typedef struct ds_gradient_fault {
    uint64_t first, count; /* one of them, or a group that is wrong as a whole */
    unsigned point;
    uint64_t noise;                 /* noise key */
    double exact, quotient, spread; /* of one in units of x, of a group along a direction */
} ds_gradient_fault;

/* How quotients ended, by DS_SLOPE_*. */
typedef struct ds_gradient_tally {
    uint64_t count[DS_SLOPE_WRONG + 1];
} ds_gradient_tally;

typedef struct ds_gradient_seen {
    ds_gradient_tally components, directions;
    ds_gradient_fault fault[DS_FAULTS];
    size_t faults;
    unsigned points, failed, zero; /* with a gradient; without; where it is zero */
    unsigned with_loss;            /* points that were asked for their gradient and have a loss; */
    unsigned missing;              /* of these, without a gradient: */
    unsigned holes;                /* the outcome says DS_EVAL_BAD_GRAD; */
    double *hole_x;                /* one of them (n values, or NULL) */
    uint64_t hole_noise;           /* and its noise key */
    unsigned wild;                 /* the outcome says ok, but the gradient is not finite; */
    uint64_t wild_component;       /* the first such component, */
    double *wild_x;                /* and the point (n values, or NULL) */
    unsigned whole;                /* points of which all components were looked at */
    unsigned wrong_points;
    unsigned start_wrong, start_right;   /* at the start point; */
    unsigned bounds_wrong, bounds_right; /* where variables are at their bounds; */
    unsigned inner_wrong, inner_right;   /* elsewhere */
    unsigned noisy_wrong;                /* of the wrong points: with noise */
    uint64_t components_wrong;           /* different ones; */
    uint64_t small;                      /* faults that others of the same gradient show to be such: */
    double exact;                        /* these are off by no more than this part of themselves */
    uint64_t seams;                      /* quotients that disagree where the gradient itself jumps */
    int more;                            /* there may be more of them */
    int changes;                         /* asked for again, it is another one */
    double *fault_x;                     /* where the first fault was seen (n values, or NULL) */
    uint64_t fault_noise;                /* its noise key */
    double seen[DS_SEEN];                /* errors that would have been noticed, */
    double longest;                      /* and the longest component of all gradients */
    size_t seens;
    uint32_t kind; /* DS_GRAD_* */
    int single;    /* all gradients were in single precision */
} ds_gradient_seen;

/* Records the verdict. */
void ds_gradient_report(ds_check *c, const ds_check_env *env, ds_gradient_seen *g);

#endif
