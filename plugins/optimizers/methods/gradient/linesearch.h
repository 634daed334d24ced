/* SPDX-License-Identifier: Apache-2.0 */
/* linesearch.h - the line search of J. More and D. Thuente, "Line search algorithms with guaranteed
 * sufficient decrease", ACM Trans. Math. Softw. 20 (1994), driven by its caller.
 *
 * It looks for a step t in (0, step_max] with phi(t) <= phi(0) + decrease t phi'(0) and |phi'(t)| <=
 * curvature |phi'(0)|, where phi(t) is the objective along a descent direction.
 */
#ifndef DS_METHODS_LINESEARCH_H
#define DS_METHODS_LINESEARCH_H

/* One end of the interval that holds the minimiser: step, value and slope there. */
typedef struct line_point {
    double t, f, g;
} line_point;

typedef struct line_search {
    double decrease, curvature, width_tol; /* relative width of the interval at which the search gives up */
    double step_min, step_max;
    /* `best` has the least value so far; `other` is the far end of the interval */
    line_point start, best, other;
    double trial_min, trial_max; /* bounds of the next trial */
    double width, width_before;  /* of the interval, now and one step ago */
    int bracketed;               /* the interval holds a minimiser */
    int auxiliary;               /* still working on the auxiliary function phi - decrease phi'(0) t */
} line_search;

enum { LINE_EVALUATE, LINE_DONE };

/* Starts at phi(0) = f, phi'(0) = g < 0 with first trial `step` <= step_max. */
void line_search_start(line_search *s, double f, double g, double step, double step_max);

/* Takes phi(*step) = f and phi'(*step) = g. LINE_DONE: *step is accepted (or no better one can be told apart
 * from it); LINE_EVALUATE: *step is the next trial. A non-finite f or g makes the step shorter. */
int line_search_next(line_search *s, double f, double g, double *step);

#endif
