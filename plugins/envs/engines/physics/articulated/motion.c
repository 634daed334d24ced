/* SPDX-License-Identifier: Apache-2.0 */
/* motion.c - steps of a tree of rigid bodies, with adjoint and tangent (motion.h).
 *
 * A quaternion moves as q' = q exp(h w). With E = exp(h w) and the right Jacobian J of the rotation vector
 * h w, a change d of q and a change e of w change q' by E' d + h J e, in the axes of the moved link. */
#include "engines/physics/articulated/motion.h"

#include <math.h>
#include <string.h>

enum { STAGES = 4 };

struct motion {
    tree_work *work;
    real *q[STAGES], *v[STAGES], *a[STAGES]; /* of the stages */
    real *u[STAGES], *u_bar[STAGES];         /* rates of the positions: see rates() */
    real *rate, *a_bar, *rate_bar, *q_sum, *v_sum;
    real *q_bar[STAGES], *v_bar[STAGES];
    real *kept, *own; /* evaluations of a step: of the caller, or NULL; of the Runge-Kutta adjoint */
    size_t each;      /* numbers of an evaluation */
};

motion *motion_create(ds_memory *m, const tree *t)
{
    motion *s = ds_memory_take(m, 1, sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    size_t nv = (size_t)t->nv + 1;
    s->work = tree_work_create(m, t);
    for (int k = 0; k < STAGES; k++) {
        real **const stage[] = {&s->v[k], &s->a[k], &s->q_bar[k], &s->v_bar[k], &s->u[k], &s->u_bar[k], NULL};
        s->q[k] = real_memory(m, (size_t)t->nq + 1);
        real_memory_each(m, nv, stage);
    }
    real **const step[] = {&s->rate, &s->a_bar, &s->rate_bar, &s->q_sum, &s->v_sum, NULL};
    real_memory_each(m, nv, step);
    s->each = tree_kept(t, TREE_COMPLIANT); /* of Runge-Kutta steps, which have no impulses */
    s->own = real_memory(m, STAGES * s->each + 1);
    return m->failed ? NULL : s;
}

tree_work *motion_work(motion *s)
{
    return s->work;
}

size_t motion_kept(const tree *t, motion_rule rule, tree_law contact)
{
    return (rule == MOTION_EULER ? 1 : STAGES) * tree_kept(t, contact);
}

void motion_keep(motion *s, real *kept)
{
    s->kept = kept;
}

/* ---- positions ---- */

/* The quaternion of the rotation by |r| about r. */
static void turn_of(const real r[3], real e[4])
{
    static const double small_angle = 1e-9; /* below it the series is exact to rounding */
    const real angle = real_sqrt(vec3_dot(r, r));
    real s;
    real_sincos(0.5 * angle, &s, &e[0]);
    const real part = real_choose(REAL_TEST(angle > small_angle), s / angle, REAL(0.5));
    for (int k = 0; k < 3; k++) {
        e[1 + k] = part * r[k];
    }
}

void motion_move(const tree *t, const real *q, double scale, const real *v, real *next)
{
    for (int i = 0; i < t->links; i++) {
        const tree_link *l = &t->link[i];
        int turn = l->kind == TREE_SPHERICAL ? 0 : l->kind == TREE_FREE ? 3 : l->nv;
        for (int k = 0; k < turn; k++) {
            next[l->q + k] = q[l->q + k] + scale * v[l->v + k];
        }
        if (turn < l->nv) {
            const real *w = v + l->v + turn, r[3] = {scale * w[0], scale * w[1], scale * w[2]};
            real e[4], out[4];
            turn_of(r, e);
            quat_product_inline(q + l->q + turn, e, out);
            const real norm =
                real_sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2] + out[3] * out[3]);
            for (int k = 0; k < 4; k++) {
                next[l->q + turn + k] = out[k] / norm;
            }
        }
    }
}

/* E = exp(r) and J, the right Jacobian at r; row-major. */
static void turn_matrices(const real r[3], real E[9], real J[9])
{
    const real angle2 = vec3_dot(r, r), angle = real_sqrt(angle2);
    const real_test large = REAL_TEST(angle >= 0.05);
    /* The series, exact to rounding. */
    real a = 0.5 - angle2 / 24.0 * (1.0 - angle2 / 30.0 * (1.0 - angle2 / 56.0)), e[4];
    real b = 1.0 / 6 - angle2 / 120.0 * (1.0 - angle2 / 42.0 * (1.0 - angle2 / 72.0));
    if (real_any(large)) {
        real s, c;
        real_sincos(angle, &s, &c);
        a = real_choose(large, (1.0 - c) / angle2, a);
        b = real_choose(large, (angle - s) / (angle2 * angle), b);
    }
    turn_of(r, e);
    quat_matrix_inline(e, E);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            J[3 * i + j] = b * r[i] * r[j] + (i == j ? 1.0 - b * angle2 : REAL(0));
        }
    }
    J[1] += a * r[2];
    J[3] -= a * r[2];
    J[5] += a * r[0];
    J[7] -= a * r[0];
    J[6] += a * r[1];
    J[2] -= a * r[1];
}

/* Adds the derivatives of motion_move() by q and v; next_bar holds the ones by its result. */
static void move_bar(const tree *t, double scale, const real *v, const real *next_bar, real *q_bar,
                     real *v_bar)
{
    for (int i = 0; i < t->links; i++) {
        const tree_link *l = &t->link[i];
        int turn = l->kind == TREE_SPHERICAL ? 0 : l->kind == TREE_FREE ? 3 : l->nv;
        for (int k = l->v; k < l->v + turn; k++) {
            q_bar[k] += next_bar[k];
            v_bar[k] += scale * next_bar[k];
        }
        if (turn < l->nv) {
            int at = l->v + turn;
            const real r[3] = {scale * v[at], scale * v[at + 1], scale * v[at + 2]};
            real E[9], J[9], out[3];
            turn_matrices(r, E, J);
            mat3_apply(E, next_bar + at, out);
            vec3_add_scaled(q_bar + at, REAL(1), out);
            mat3_tapply(J, next_bar + at, out);
            vec3_add_scaled(v_bar + at, REAL(scale), out);
        }
    }
}

#ifndef LANES_ISA

/* next_dot (which may be q_dot) = the change of motion_move(). */
static void move_dot(const tree *t, double scale, const double *v, const double *q_dot, const double *v_dot,
                     double *next_dot)
{
    for (int i = 0; i < t->links; i++) {
        const tree_link *l = &t->link[i];
        int turn = l->kind == TREE_SPHERICAL ? 0 : l->kind == TREE_FREE ? 3 : l->nv;
        for (int k = l->v; k < l->v + turn; k++) {
            next_dot[k] = q_dot[k] + scale * v_dot[k];
        }
        if (turn < l->nv) {
            int at = l->v + turn;
            const double r[3] = {scale * v[at], scale * v[at + 1], scale * v[at + 2]};
            double E[9], J[9], first[3], second[3];
            turn_matrices(r, E, J);
            mat3_tapply(E, q_dot + at, first);
            mat3_apply(J, v_dot + at, second);
            for (int k = 0; k < 3; k++) {
                next_dot[at + k] = first[k] + scale * second[k];
            }
        }
    }
}

#endif

/* ---- rates of the positions ---- */

/* u = v, but for a turn r = c before of a quaternion since the start of the step, u is the rate of the
 * rotation vector: the series of the inverse of J(r) up to r^2, which is enough for order 4 (Munthe-Kaas,
 * 1998). */
static void rates(const tree *t, double c, const real *before, const real *v, real *u)
{
    memcpy(u, v, (size_t)t->nv * sizeof *u);
    for (int i = 0; before && i < t->links; i++) {
        const tree_link *l = &t->link[i];
        if (l->nv < 3) {
            continue;
        }
        int at = l->v + l->nv - 3;
        const real r[3] = {c * before[at], c * before[at + 1], c * before[at + 2]};
        real once[3], twice[3];
        vec3_cross(r, v + at, once);
        vec3_cross(r, once, twice);
        vec3_add_scaled(u + at, REAL(0.5), once);
        vec3_add_scaled(u + at, REAL(1.0 / 12), twice);
    }
}

/* Adds the derivatives of rates() by v and before. */
static void rates_bar(const tree *t, double c, const real *before, const real *v, const real *u_bar,
                      real *v_bar, real *before_bar)
{
    for (int j = 0; j < t->nv; j++) {
        v_bar[j] += u_bar[j];
    }
    for (int i = 0; before && i < t->links; i++) {
        const tree_link *l = &t->link[i];
        if (l->nv < 3) {
            continue;
        }
        int at = l->v + l->nv - 3;
        const real r[3] = {c * before[at], c * before[at + 1], c * before[at + 2]}, *b = u_bar + at;
        real once[3], twice[3], part[3];
        vec3_cross(r, b, once);
        vec3_cross(r, once, twice);
        vec3_add_scaled(v_bar + at, REAL(-0.5), once);
        vec3_add_scaled(v_bar + at, REAL(1.0 / 12), twice);
        vec3_cross(v + at, b, part);
        vec3_add_scaled(before_bar + at, REAL(0.5 * c), part);
        vec3_cross(v + at, once, part); /* once = -b x r */
        vec3_add_scaled(before_bar + at, REAL(-c / 12), part);
        vec3_cross(r, v + at, once);
        vec3_cross(once, b, part);
        vec3_add_scaled(before_bar + at, REAL(c / 12), part);
    }
}

#ifndef LANES_ISA

static void rates_dot(const tree *t, double c, const double *before, const double *v,
                      const double *before_dot, const double *v_dot, double *u_dot)
{
    rates(t, c, before, v_dot, u_dot);
    for (int i = 0; before && i < t->links; i++) {
        const tree_link *l = &t->link[i];
        if (l->nv < 3) {
            continue;
        }
        int at = l->v + l->nv - 3;
        double once[3], once_dot[3], part[3];
        vec3_cross(before + at, v + at, once);
        vec3_cross(before_dot + at, v + at, once_dot);
        vec3_add_scaled(u_dot + at, 0.5 * c, once_dot);
        vec3_cross(before_dot + at, once, part);
        vec3_add_scaled(u_dot + at, c * c / 12, part);
        vec3_cross(before + at, once_dot, part);
        vec3_add_scaled(u_dot + at, c * c / 12, part);
    }
}

#endif

/* ---- steps ---- */

static const double ahead[STAGES] = {0, 0.5, 0.5, 1}, weight[STAGES] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};

/* The stages of the Runge-Kutta step, and the mean rate of the positions in s->rate. The evaluations are
 * written to `kept`, or with `recalls` read from it; NULL: neither. */
static void run_stages(const tree *t, motion *s, double h, const tree_input *in, const real *q, const real *v,
                       real *kept, int recalls)
{
    size_t nv = (size_t)t->nv;
    memset(s->rate, 0, nv * sizeof *s->rate);
    for (int k = 0; k < STAGES; k++) {
        double c = h * ahead[k];
        if (k == 0) {
            memcpy(s->q[0], q, (size_t)t->nq * sizeof *q);
        } else {
            motion_move(t, q, c, s->u[k - 1], s->q[k]);
        }
        for (size_t j = 0; j < nv; j++) {
            s->v[k][j] = v[j] + (k ? c * s->a[k - 1][j] : REAL(0));
        }
        rates(t, c, k ? s->u[k - 1] : NULL, s->v[k], s->u[k]);
        for (size_t j = 0; j < nv; j++) {
            s->rate[j] += weight[k] * s->u[k][j];
        }
        real *at = kept != NULL ? kept + (size_t)k * s->each : NULL;
        if (recalls && at != NULL) {
            memcpy(s->a[k], at, nv * sizeof *at); /* the first of them */
            continue;
        }
        tree_forward(t, s->work, s->q[k], s->v[k], in, s->a[k]);
        if (at != NULL) {
            tree_keep(t, s->work, at);
        }
    }
}

void motion_step(const tree *t, motion *s, motion_rule rule, double h, const tree_input *in, const real *q,
                 const real *v, real *q_next, real *v_next)
{
    tree_input at = *in;
    size_t nv = (size_t)t->nv;
    at.implicit = rule == MOTION_EULER ? h : 0;
    if (rule == MOTION_EULER) {
        tree_forward(t, s->work, q, v, &at, s->a[0]);
        if (s->kept != NULL) {
            tree_keep(t, s->work, s->kept);
        }
        for (size_t j = 0; j < nv; j++) {
            v_next[j] = v[j] + h * s->a[0][j];
        }
        motion_move(t, q, h, v_next, q_next);
        return;
    }
    run_stages(t, s, h, &at, q, v, s->kept, 0);
    for (size_t j = 0; j < nv; j++) {
        real a = REAL(0);
        for (int k = 0; k < STAGES; k++) {
            a += weight[k] * s->a[k][j];
        }
        v_next[j] = v[j] + h * a;
    }
    motion_move(t, q, h, s->rate, q_next);
}

static void euler_adjoint(const tree *t, motion *s, double h, const tree_input *in, const real *q,
                          const real *v, real *q_bar, real *v_bar, const tree_bar *bar)
{
    size_t nv = (size_t)t->nv;
    if (s->kept != NULL) {
        tree_recall(t, s->work, q, v, in, s->kept);
        memcpy(s->a[0], s->kept, nv * sizeof *s->kept);
    } else {
        tree_forward(t, s->work, q, v, in, s->a[0]);
    }
    for (size_t j = 0; j < nv; j++) {
        s->rate[j] = v[j] + h * s->a[0][j];
        s->q_sum[j] = REAL(0);
    }
    move_bar(t, h, s->rate, q_bar, s->q_sum, v_bar);
    for (size_t j = 0; j < nv; j++) {
        s->a_bar[j] = h * v_bar[j];
    }
    memcpy(q_bar, s->q_sum, nv * sizeof *q_bar);
    tree_adjoint(
        t, s->work, s->a_bar,
        &(tree_bar){.q = q_bar, .v = v_bar, .tau = bar->tau, .target = bar->target, .number = bar->number});
}

static void rk4_adjoint(const tree *t, motion *s, double h, const tree_input *in, const real *q,
                        const real *v, real *q_bar, real *v_bar, const tree_bar *bar)
{
    size_t nv = (size_t)t->nv, bytes = nv * sizeof *q_bar;
    real *kept = s->kept != NULL ? s->kept : s->each > 0 ? s->own : NULL;
    run_stages(t, s, h, in, q, v, kept, s->kept != NULL);
    memset(s->q_sum, 0, bytes);
    memset(s->rate_bar, 0, bytes);
    move_bar(t, h, s->rate, q_bar, s->q_sum, s->rate_bar);
    memcpy(s->v_sum, v_bar, bytes);
    for (int k = 0; k < STAGES; k++) {
        for (size_t j = 0; j < nv; j++) {
            s->u_bar[k][j] = weight[k] * s->rate_bar[j];
        }
        memset(s->q_bar[k], 0, bytes);
        memset(s->v_bar[k], 0, bytes);
    }
    /* s->rate_bar becomes the derivative by the acceleration of the stage before. */
    memset(s->rate_bar, 0, bytes);
    for (int k = STAGES - 1; k >= 0; k--) {
        double c = h * ahead[k];
        rates_bar(t, c, k ? s->u[k - 1] : NULL, s->v[k], s->u_bar[k], s->v_bar[k],
                  k ? s->u_bar[k - 1] : NULL);
        if (kept != NULL) {
            tree_recall(t, s->work, s->q[k], s->v[k], in, kept + (size_t)k * s->each);
        } else {
            tree_forward(t, s->work, s->q[k], s->v[k], in, NULL);
        }
        for (size_t j = 0; j < nv; j++) {
            s->a_bar[j] = h * weight[k] * v_bar[j] + s->rate_bar[j];
        }
        tree_adjoint(t, s->work, s->a_bar,
                     &(tree_bar){.q = s->q_bar[k],
                                 .v = s->v_bar[k],
                                 .tau = bar->tau,
                                 .target = bar->target,
                                 .number = bar->number});
        if (k > 0) {
            move_bar(t, c, s->u[k - 1], s->q_bar[k], s->q_sum, s->u_bar[k - 1]);
        }
        for (size_t j = 0; j < nv; j++) {
            s->v_sum[j] += s->v_bar[k][j];
            s->q_sum[j] += k == 0 ? s->q_bar[0][j] : REAL(0);
            s->rate_bar[j] = c * s->v_bar[k][j];
        }
    }
    memcpy(q_bar, s->q_sum, bytes);
    memcpy(v_bar, s->v_sum, bytes);
}

void motion_adjoint(const tree *t, motion *s, motion_rule rule, double h, const tree_input *in, const real *q,
                    const real *v, real *q_bar, real *v_bar, const tree_bar *bar)
{
    tree_input at = *in;
    at.implicit = rule == MOTION_EULER ? h : 0;
    (rule == MOTION_EULER ? euler_adjoint : rk4_adjoint)(t, s, h, &at, q, v, q_bar, v_bar, bar);
}

#ifndef LANES_ISA

void motion_tangent(const tree *t, motion *s, motion_rule rule, double h, const tree_input *in,
                    const double *q, const double *v, const tree_bar *dot)
{
    tree_input at = *in;
    size_t nv = (size_t)t->nv;
    at.implicit = rule == MOTION_EULER ? h : 0;
    if (rule == MOTION_EULER) {
        tree_forward(t, s->work, q, v, &at, s->a[0]);
        tree_tangent(t, s->work, dot, s->a_bar);
        for (size_t j = 0; j < nv; j++) {
            s->rate[j] = v[j] + h * s->a[0][j];
            dot->v[j] += h * s->a_bar[j];
        }
        move_dot(t, h, s->rate, dot->q, dot->v, dot->q);
        return;
    }
    run_stages(t, s, h, &at, q, v, NULL, 0);
    memset(s->rate_bar, 0, nv * sizeof *s->rate_bar);
    memset(s->v_sum, 0, nv * sizeof *s->v_sum);
    for (int k = 0; k < STAGES; k++) {
        double c = h * ahead[k];
        tree_bar stage = *dot;
        stage.q = s->q_bar[k];
        stage.v = s->v_bar[k];
        for (size_t j = 0; j < nv; j++) {
            stage.v[j] = dot->v[j] + (k ? c * s->a_bar[j] : 0);
        }
        if (k == 0) {
            memcpy(stage.q, dot->q, nv * sizeof *stage.q);
        } else {
            move_dot(t, c, s->u[k - 1], dot->q, s->u_bar[k - 1], stage.q);
        }
        rates_dot(t, c, k ? s->u[k - 1] : NULL, s->v[k], k ? s->u_bar[k - 1] : NULL, stage.v, s->u_bar[k]);
        tree_forward(t, s->work, s->q[k], s->v[k], &at, NULL);
        tree_tangent(t, s->work, &stage, s->a_bar);
        for (size_t j = 0; j < nv; j++) {
            s->rate_bar[j] += weight[k] * s->u_bar[k][j];
            s->v_sum[j] += weight[k] * s->a_bar[j];
        }
    }
    move_dot(t, h, s->rate, dot->q, s->rate_bar, dot->q);
    for (size_t j = 0; j < nv; j++) {
        dot->v[j] += h * s->v_sum[j];
    }
}

#endif
