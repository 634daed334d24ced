/* SPDX-License-Identifier: Apache-2.0 */
/* check_gradient_report.h - what comparisons of a gradient with difference quotients have seen, and its
 * report. */
#ifndef DS_CHECK_GRADIENT_REPORT_H
#define DS_CHECK_GRADIENT_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "check/check_tests.h"
#include "difference/finite_difference.h"
#include "harness/check.h"
#include "harness/check_host.h"

enum { DS_FAULTS = 64, DS_SEEN = 4096 };

/* Special points; random ones are numbered from DS_AT_SPECIALS on. */
enum {
    DS_AT_START,
    DS_AT_CENTRE,
    DS_AT_LOWER,
    DS_AT_UPPER,
    DS_AT_CORNER,
    DS_AT_FACES,
    DS_AT_NEAR_LOWER,
    DS_AT_NEAR_UPPER,
    DS_AT_NEAR_LOWER_2, /* near and far variables exchanged */
    DS_AT_NEAR_UPPER_2,
    DS_AT_NEAR_CORNER,
    DS_AT_SPECIALS
};

/* Variables along which the gradient is wrong. */
typedef struct ds_gradient_fault {
    uint64_t first, count; /* one variable, or a group that is wrong as a whole */
    unsigned point;
    uint64_t noise;                 /* noise key */
    double exact, quotient, spread; /* per unit of x for one variable, along a direction for a group */
} ds_gradient_fault;

/* Number of quotients by DS_SLOPE_*. */
typedef struct ds_gradient_tally {
    uint64_t count[DS_SLOPE_WRONG + 1];
} ds_gradient_tally;

typedef struct ds_gradient_seen {
    ds_gradient_tally components, directions;
    ds_gradient_fault fault[DS_FAULTS];
    size_t faults;
    unsigned points, failed, zero; /* points with a gradient, without one, and with a zero one */
    unsigned with_loss;            /* points with a loss whose gradient was requested; */
    unsigned missing;              /* of these, points without a gradient, */
    unsigned holes;                /* with the outcome DS_EVAL_BAD_GRAD; */
    double *hole_x;                /* one of them (n values, or NULL) */
    uint64_t hole_noise;           /* and its noise key */
    unsigned wild;                 /* outcome ok, but the gradient is not finite; */
    uint64_t wild_component;       /* the first such component, */
    double *wild_x;                /* and the point (n values, or NULL) */
    unsigned whole;                /* points whose components were all compared */
    unsigned wrong_points;
    unsigned start_wrong, start_right;   /* at the start point; */
    unsigned bounds_wrong, bounds_right; /* with variables at their bounds; */
    unsigned inner_wrong, inner_right;   /* elsewhere */
    unsigned noisy_wrong;                /* wrong points with noise */
    uint64_t components_wrong;           /* distinct ones; */
    uint64_t small;                      /* small errors, conspicuous next to other components: */
    double exact;                        /* others are exact to this part of themselves */
    uint64_t seams;                      /* quotients that disagree where the gradient itself jumps, */
    uint64_t bounds;                     /* or jumps one step from a bound */
    int more;                            /* more components may be wrong */
    int changes;                         /* a second request gives another gradient */
    double *fault_x;                     /* the point of the first fault (n values, or NULL) */
    uint64_t fault_noise;                /* its noise key */
    double seen[DS_SEEN];                /* errors that would have been noticed, */
    double longest;                      /* largest component of all gradients */
    size_t seens;
    uint32_t kind; /* DS_GRAD_* */
    int single;    /* all gradients have single precision */
} ds_gradient_seen;

/* Records the verdict. */
void ds_gradient_report(ds_check *c, const ds_check_env *env, ds_gradient_seen *g);

#endif
