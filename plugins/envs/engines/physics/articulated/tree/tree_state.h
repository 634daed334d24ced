/* SPDX-License-Identifier: Apache-2.0 */
/* tree_state.h - what the files of tree.h share: spatial vectors, the state of an evaluation. */
#ifndef DS_ENGINES_ARTICULATED_TREE_STATE_H
#define DS_ENGINES_ARTICULATED_TREE_STATE_H

#include "engines/physics/articulated/tree/impulse_problem.h"
#include "engines/physics/articulated/tree/tree_distance.h"

#include <math.h>
#include <string.h>

/* ---- spatial vectors ---- */

static inline real dot6(const real a[6], const real b[6])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5];
}

/* y += s x */
static inline void add6(real y[6], real s, const real x[6])
{
    for (int k = 0; k < 6; k++) {
        y[k] += s * x[k];
    }
}

/* out = v x m for a motion m; out must differ from both. */
static inline void cross_motion(const real v[6], const real m[6], real out[6])
{
    out[0] = v[1] * m[2] - v[2] * m[1];
    out[1] = v[2] * m[0] - v[0] * m[2];
    out[2] = v[0] * m[1] - v[1] * m[0];
    out[3] = v[1] * m[5] - v[2] * m[4] + v[4] * m[2] - v[5] * m[1];
    out[4] = v[2] * m[3] - v[0] * m[5] + v[5] * m[0] - v[3] * m[2];
    out[5] = v[0] * m[4] - v[1] * m[3] + v[3] * m[1] - v[4] * m[0];
}

/* out += s (v x* f) for a force f; out must differ from both. */
static inline void add_cross_force(real out[6], real s, const real v[6], const real f[6])
{
    out[0] += s * (v[1] * f[2] - v[2] * f[1] + v[4] * f[5] - v[5] * f[4]);
    out[1] += s * (v[2] * f[0] - v[0] * f[2] + v[5] * f[3] - v[3] * f[5]);
    out[2] += s * (v[0] * f[1] - v[1] * f[0] + v[3] * f[4] - v[4] * f[3]);
    out[3] += s * (v[1] * f[5] - v[2] * f[4]);
    out[4] += s * (v[2] * f[3] - v[0] * f[5]);
    out[5] += s * (v[0] * f[4] - v[1] * f[3]);
}

/* Adds the force f at point x. */
static inline void add_wrench(real out[6], real s, const real x[3], const real f[3])
{
    out[0] += s * (x[1] * f[2] - x[2] * f[1]);
    out[1] += s * (x[2] * f[0] - x[0] * f[2]);
    out[2] += s * (x[0] * f[1] - x[1] * f[0]);
    out[3] += s * f[0];
    out[4] += s * f[1];
    out[5] += s * f[2];
}

/* The velocity at point x of a body with spatial velocity v. */
static inline void velocity_at(const real v[6], const real x[3], real out[3])
{
    out[0] = v[3] + v[1] * x[2] - v[2] * x[1];
    out[1] = v[4] + v[2] * x[0] - v[0] * x[2];
    out[2] = v[5] + v[0] * x[1] - v[1] * x[0];
}

/* ---- the state of an evaluation ---- */

typedef struct limb {
    real R[9], x[3];          /* pose: axes in the world, origin against the point of reference */
    real m, c[3], h[3], I[6]; /* mass, its centre, m c, inertia about the reference: xx yy zz xy xz yz */
    real v[6], s[6];          /* velocity; its part by columns fixed in the link */
    real a[6];                /* acceleration minus gravity */
    real D[36];               /* Cholesky factor of S' A S, for one joint velocity its inverse */
    real S[36], U[36];        /* columns of the joint, one after the other; A S */
    real drift[6], f[6];      /* v x s; force of contacts */
    real A[36], p[6];         /* articulated inertia, bias force */
    real d[6], e[6];          /* velocity under the rates of the adjoint; velocity after the step */
    real fb[6], ab[6], vb[6], eb[6], pose[6]; /* adjoints of d, a, v, of e by accelerations; by the pose */
} limb;

enum { TREE_MOST_TOUCHES = 2000, TREE_MOST_PRESSED = 64 }; /* at once, and with impulses */

/* A ball or corner of the first solid on the second one; the lowest point of a rim on a plane; two edges. */
typedef enum touch_kind { TOUCH_BALL, TOUCH_RIM, TOUCH_EDGE } touch_kind;

/* Two solids that touch. Vectors in the axes of the world, points against the point of reference. */
typedef struct touch {
    touch_kind kind;
    int k, link, against;   /* of tree.contact; links of the two solids */
    double depth, n[3];     /* penetration; normal, from the second solid to the first */
    double x[3];            /* point of contact */
    double friction;        /* factor of TREE_FRICTION */
    double N, F[3];         /* normal force and force on the first solid */
    double at[3], place[3]; /* ball or middle of the rim, and second solid, in their links */
    double radius, c[3];    /* of the ball, the rim or the first edge; ball or middle of the rim */
    double R[9];            /* ball: axes of the second solid */
    tree_bend bend;         /* ball: derivatives of the distance */
    double axis[3];         /* rim: axis of the cylinder, outwards */
    double ends[4][3], end[4][3], reach,
        side;  /* edges: ends in their links and in the world, sum of the radii,
                                                * sign of the normal against d1 x d2 */
    int fades; /* edges: the depth fades towards the ends */
    /* compliant law: ramp of the depth and its slope; friction is mu N slip / speed, and the derivative of
     * speed by slip is slip / bent */
    double press, slope, slip[3], speed, bent, approach;
    double D[3][3];         /* impulses: normal and two tangents */
    int bounces, corrected; /* impulses: restitution acts; the depth is corrected */
    double depth_dot, n_dot[3], x_dot[3], D_dot[3][3]; /* along the direction of a tangent */
} touch;

/* What shortens the equations of a link. */
typedef struct link_kind {
    int grounded; /* the link does not move */
    int straight; /* its rotation is the identity */
    int diagonal; /* its inertia is */
    int along;    /* its axis is plus or minus this one of the frame; -1: another one */
} link_kind;

struct tree_work {
    limb *limb;
    link_kind *kind;
    real ref[3];
    real *q, *v, *a, *tau; /* arguments and accelerations of the last evaluation */
    real *w, *rate, *target, *effective;
    tree_input in;
    tree_bar bar; /* where the derivatives go */
    touch *touch;
    int room, touching, singular; /* of touch: room, present number */
    real *after, *none;           /* velocities after the step; zeros */
    real *answer, *hold, *pull; /* of couplings: M^-1 J', a row each; Cholesky factor of J M^-1 J'; forces */
    impulse_problem *impulse;
    int *pressed; /* contact k of the problem is touch[pressed[k]] */
    /* Of the shapes that may meet: a ball that holds it, its radius and its middle in the last
     * tree_middles(). */
    double *reach;
    real (*middle)[3];
#ifdef LANES_ISA
    real *number;           /* of the model, see NUMBERS */
    struct tree_lane *lane; /* contact */
    int *near;              /* of each lane: groups of contacts that may touch */
#endif
};

/* Spatial vectors of a link. In a tangent, `pose` is the motion of the link and `vb` the change of its
 * velocity. */
typedef enum tree_field {
    TREE_VELOCITY,         /* v */
    TREE_RATE,             /* d */
    TREE_NEXT_VELOCITY,    /* e */
    TREE_POSE_DOT,         /* pose */
    TREE_VELOCITY_DOT,     /* vb */
    TREE_FORCE,            /* f */
    TREE_RATE_BAR,         /* fb */
    TREE_VELOCITY_BAR,     /* vb */
    TREE_NEXT_BAR,         /* eb */
    TREE_ACCELERATION_BAR, /* ab */
    TREE_BIAS              /* p */
} tree_field;

static inline limb *limb_of(const tree_work *w, int link)
{
    return link < 0 ? NULL : &w->limb[link];
}

static inline real *limb_sum(const tree_work *w, int link, tree_field field)
{
    limb *b = &w->limb[link];
    real *const fields[] = {b->v, b->d, b->e, b->pose, b->vb, b->f, b->fb, b->vb, b->eb, b->ab, b->p};
    return fields[field];
}

/* The world is at rest. */
static inline const real *limb_field(const tree_work *w, int link, tree_field field)
{
    static const real rest[6];
    return link < 0 ? rest : limb_sum(w, link, field);
}

/* The columns of the joint that are fixed in the link begin with this one; the ones before it are fixed in
 * the world. */
static inline int first_fixed(const tree_link *l)
{
    return l->kind == TREE_FREE ? 3 : 0;
}

/* out = I v of the rigid body. */
static inline void momentum_of(const limb *b, const real v[6], real out[6])
{
    const real *I = b->I, *h = b->h;
    out[0] = I[0] * v[0] + I[3] * v[1] + I[4] * v[2] + h[1] * v[5] - h[2] * v[4];
    out[1] = I[3] * v[0] + I[1] * v[1] + I[5] * v[2] + h[2] * v[3] - h[0] * v[5];
    out[2] = I[4] * v[0] + I[5] * v[1] + I[2] * v[2] + h[0] * v[4] - h[1] * v[3];
    out[3] = b->m * v[3] + v[1] * h[2] - v[2] * h[1];
    out[4] = b->m * v[4] + v[2] * h[0] - v[0] * h[2];
    out[5] = b->m * v[5] + v[0] * h[1] - v[1] * h[0];
}

/* out = M a for the fixed numbers of a model. */
static inline void apply_fixed(const real m[9], const double a[3], real out[3])
{
    const real all[3] = {REAL(a[0]), REAL(a[1]), REAL(a[2])};
    mat3_apply(m, all, out);
}

/* out = A B */
static inline void mul_fixed(const real a[9], const double b[9], real out[9])
{
    for (int i = 0; i < 9; i += 3) {
        for (int j = 0; j < 3; j++) {
            out[i + j] = a[i] * b[j] + a[i + 1] * b[3 + j] + a[i + 2] * b[6 + j];
        }
    }
}

static inline void apply36(const real A[36], const real x[6], real out[6])
{
    for (int i = 0; i < 6; i++) {
        out[i] = dot6(A + 6 * i, x);
    }
}

/* ---- numbers of the model ---- */

/* Robots side by side have numbers of their own. */
#ifdef LANES_ISA
#define NUMBERS(t, w) ((w)->number)
#else
#define NUMBERS(t, w) ((t)->number)
#endif

static inline const real *joint_numbers(const tree *t, const tree_work *w, enum tree_joint_number what)
{
    (void)w;
    return NUMBERS(t, w) + tree_joint_number(t, what, 0);
}

/* How far position q is beyond its limits: negative below the lower one. */
static inline real beyond(const tree *t, int j, real q)
{
    const double lower = t->lower[j], upper = t->upper[j];
    return real_choose(REAL_TEST(q < lower), q - lower, real_only(REAL_TEST(q > upper), q - upper));
}

/* The coefficient of the damper that stands for dry friction at velocity v, and its derivative by v. */
static inline real dry_damper(const tree *t, const tree_work *w, int j, real v, real *slope)
{
    const real f = joint_numbers(t, w, TREE_DRY)[j], square = v * v + t->joint_slip * t->joint_slip;
    const real_test acts = REAL_TEST(f != 0.0);
    *slope = REAL(0);
    if (!real_any(acts)) {
        return REAL(0);
    }
    const real c = real_only(acts, f / real_sqrt(square));
    *slope = -c * v / square;
    return c;
}

/* Whether a limit acts, and its force: that of a spring and a damper which never pull. */
static inline real_test limit_acts(const tree *t, const tree_work *w, int j, real q, real v, real *force)
{
    const real *number = NUMBERS(t, w), x = beyond(t, j, q);
    const real f = number[TREE_LIMIT_STIFFNESS] * x + number[TREE_LIMIT_DAMPING] * v;
    const real_test acts = REAL_TEST(x != 0.0) & REAL_TEST(f * x > 0.0);
    (void)w;
    *force = real_only(acts, -f);
    return acts;
}

#ifndef LANES_ISA
/* The change of a number of the model. */
static inline double number_dot(const tree_bar *dot, int k)
{
    return dot->number ? dot->number[k] : 0;
}
#endif

/* ---- what the adjoint needs of an evaluation ---- */

enum { LIMB_KEPT = 43 }; /* numbers of a limb before D */

/* Numbers of D that are in use. */
static inline int numbers_of_factor(const tree_link *l)
{
    return l->nv == 1 ? 1 : 6 * l->nv;
}

/* ---- functions ---- */

/* Sets w->q and v, and the point of reference. */
void tree_refer(const tree *t, tree_work *w, const real *q, const real *v);
/* A point of a link against the point of reference. */
void tree_point_of(const tree *t, const tree_work *w, int link, const double at[3], real x[3]);
/* Adds the derivative by the lengths of a link for the derivative x_bar by a point of it. number_bar may be
 * NULL. */
void tree_length_bar(const tree *t, const tree_work *w, int link, const double at[3], const real x_bar[3],
                     real *number_bar);
/* The change of a point of a link with its lengths, axes of the world. */
void tree_stretch(const tree *t, const tree_work *w, const tree_bar *dot, int link, const double at[3],
                  double out[3]);
/* rate = M^-1 b with the factors of the last tree_forward(), without what breaks a coupling; the velocities
 * of the links under `rate` are in limb.d. */
void tree_solve(const tree *t, tree_work *w, const real *b, real *rate);
/* The same with the force -limb.p on every link in addition to b. */
void tree_respond(const tree *t, tree_work *w, const real *b, real *rate);
/* The same as if joints were not coupled. */
void tree_respond_alone(const tree *t, tree_work *w, const real *b, real *rate);
/* limb.d for these rates of the joints. */
void tree_rates(const tree *t, tree_work *w, const real *rate);

/* Middles of the shapes that may meet, for tree_near(): whether the balls around two of them do. */
void tree_middles(const tree *t, tree_work *w);
real_test tree_near(const tree *t, const tree_work *w, int a, int b);

/* The spatial inertia of a link as a matrix. */
void tree_rigid_matrix(const limb *b, real A[36]);
/* Articulated inertia of link i, whose children have added theirs, and the factor of its joint. */
void tree_articulate(const tree *t, tree_work *w, int i);
/* Passes the bias force of link i to its parent; the joint keeps u = tau - S p in `u`.
 * `drift` may be NULL. */
void tree_pass_bias(const tree *t, tree_work *w, int i, const real *tau, const real *drift, real *u);
/* Accelerations of link i and its joint from u and from those of the parent, which `a` holds at first. */
void tree_pass_acceleration(const tree_link *l, const limb *b, const real *u, real a[6], real *out);

/* What the projection on couplings needs, from the factors of tree_articulate(). Overwrites limb.d, limb.p.
 */
void tree_coupling_factor(const tree *t, tree_work *w);
/* Removes from `rate`, a product of M^-1, what breaks a coupling. */
void tree_coupling_project(const tree *t, tree_work *w, real *rate);

#endif
