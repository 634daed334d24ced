/* SPDX-License-Identifier: Apache-2.0 */
/* motion.h - steps of a tree of rigid bodies (tree.h): semi-implicit Euler and the classical Runge-Kutta
 * method, their adjoint and tangent. */
#ifndef DS_ENGINES_ARTICULATED_MOTION_H
#define DS_ENGINES_ARTICULATED_MOTION_H

#include "engines/physics/articulated/tree/tree.h"

typedef enum motion_rule {
    MOTION_EULER, /* v' = v + h a(q, v), q' = q + h v'; dampers act on v' */
    MOTION_RK4    /* of order 4 for quaternions too */
} motion_rule;

typedef struct motion motion;

/* Room for steps of `t`; NULL without memory. */
motion *motion_create(ds_memory *m, const tree *t);
tree_work *motion_work(motion *s);

/* Numbers that the adjoint of a step can take from the step instead of computing them again; 0: none. */
size_t motion_kept(const tree *t, motion_rule rule, tree_law contact);
/* From now on steps write these numbers to `kept` and the adjoint reads them; NULL: neither. */
void motion_keep(motion *s, real *kept);

/* q[nq], v[nv] after a step of `h` seconds from q, v. `in` is constant in the step; its `implicit` is
 * ignored. */
void motion_step(const tree *t, motion *s, motion_rule rule, double h, const tree_input *in, const real *q,
                 const real *v, real *q_next, real *v_next);

/* The adjoint of this step: q_bar and v_bar (nv each) hold the derivatives by the state after it and get the
 * ones by the state before it. Adds to bar->tau, target and number; ignores bar->q and v. */
void motion_adjoint(const tree *t, motion *s, motion_rule rule, double h, const tree_input *in, const real *q,
                    const real *v, real *q_bar, real *v_bar, const tree_bar *bar);

/* The tangent: `dot` is the direction (dot->q and v hold the change of the state before the step and get that
 * after it; they must not be NULL). */
void motion_tangent(const tree *t, motion *s, motion_rule rule, double h, const tree_input *in, const real *q,
                    const real *v, const tree_bar *dot);

/* next = q moved by `scale` times the velocity v. */
void motion_move(const tree *t, const real *q, double scale, const real *v, real *next);

#endif
