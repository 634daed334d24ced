/* SPDX-License-Identifier: Apache-2.0 */
/* tree_state.c - poses, velocities and points of a tree of rigid bodies, its articulated inertia (tree.h,
 * tree_state.h). */
#include "engines/physics/articulated/tree/tree_state.h"

/* ---- room ---- */

static link_kind kind_of(const tree_link *l, const link_kind *kinds)
{
    link_kind k = {.grounded = l->kind == TREE_FIXED && (l->parent < 0 || kinds[l->parent].grounded),
                   .straight = 1,
                   .diagonal = 1,
                   .along = -1};
    for (int i = 0; i < 9; i++) {
        k.straight = k.straight && l->rotation[i] == (i % 4 == 0);
        k.diagonal = k.diagonal && (i % 4 == 0 || l->inertia[i] == 0);
    }
    for (int i = 0; i < 3; i++) {
        k.along =
            fabs(l->axis[i]) == 1 && l->axis[(i + 1) % 3] == 0 && l->axis[(i + 2) % 3] == 0 ? i : k.along;
    }
    return k;
}

tree_work *tree_work_create(ds_memory *m, const tree *t)
{
    tree_work *w = (tree_work *)(void *)real_memory(m, sizeof *w / sizeof(real) + 1);
    if (w == NULL) {
        return NULL;
    }
    w->limb = (limb *)(void *)real_memory(m, ((size_t)t->links + 1) * sizeof *w->limb / sizeof(real));
    w->kind = ds_memory_take(m, (size_t)t->links + 1, sizeof *w->kind);
    for (int i = 0; w->kind != NULL && i < t->links; i++) {
        w->kind[i] = kind_of(&t->link[i], w->kind);
    }
    w->middle = (real(*)[3])(void *)real_memory(m, 3 * ((size_t)t->shapes + 1));
    w->reach = ds_memory_doubles(m, (size_t)t->shapes + 1);
    for (int k = 0; w->reach != NULL && k < t->contacts; k++) {
        w->reach[t->contact[k].first] = tree_reach(&t->shape[t->contact[k].first]);
        w->reach[t->contact[k].second] = tree_reach(&t->shape[t->contact[k].second]);
    }
#ifndef LANES_ISA
    w->room = t->touches < TREE_MOST_TOUCHES ? t->touches : TREE_MOST_TOUCHES;
    w->touch = ds_memory_take(m, (size_t)w->room + 1, sizeof *w->touch);
    w->impulse = impulse_problem_create(m, w->room < TREE_MOST_PRESSED ? w->room : TREE_MOST_PRESSED);
    w->pressed = ds_memory_take(m, (size_t)w->room + 1, sizeof *w->pressed);
#endif
    w->q = real_memory(m, (size_t)t->nq + 1);
    real **const each[] = {&w->v,      &w->a,         &w->tau,   &w->w,    &w->rate,
                           &w->target, &w->effective, &w->after, &w->none, NULL};
    real_memory_each(m, (size_t)t->nv + 1, each);
    size_t couplings = (size_t)t->couplings;
    w->answer = real_memory(m, couplings * (size_t)t->nv + 1);
    w->hold = real_memory(m, couplings * couplings + 1);
    w->pull = real_memory(m, couplings + 1);
    return m->failed ? NULL : w;
}

/* ---- poses and velocities ---- */

/* R = T Rot(axis, angle) */
static void turn_about(const real T[9], const double axis[3], real angle, real R[9])
{
    const double x = axis[0], y = axis[1], z = axis[2];
    real s, c;
    real_sincos(angle, &s, &c);
    const real one = 1.0 - c;
    const real m[9] = {c + one * x * x,     one * x * y - s * z, one * x * z + s * y,
                       one * x * y + s * z, c + one * y * y,     one * y * z - s * x,
                       one * x * z - s * y, one * y * z + s * x, c + one * z * z};
    mat3_mul(T, m, R);
}

/* The same about axis k, or against it where `way` is -1. */
static void turn_along(const real T[9], int k, double way, real angle, real R[9])
{
    const int u = (k + 1) % 3, v = (k + 2) % 3;
    real s, c;
    real_sincos(angle, &s, &c);
    s *= way;
    for (int i = 0; i < 9; i += 3) {
        R[i + k] = T[i + k];
        R[i + u] = c * T[i + u] + s * T[i + v];
        R[i + v] = c * T[i + v] - s * T[i + u];
    }
}

static void turning_columns(limb *b, real *S)
{
    for (int k = 0; k < 3; k++) {
        real *column = S + 6 * k;
        const real e[3] = {b->R[k], b->R[3 + k], b->R[6 + k]};
        memcpy(column, e, sizeof e);
        vec3_cross(b->x, e, column + 3);
    }
}

static void pose_of(const tree *t, const tree_work *w, int i, const real *q)
{
    const tree_link *l = &t->link[i];
    const link_kind *kind = &w->kind[i];
    const limb *up = l->parent < 0 ? NULL : &w->limb[l->parent];
    limb *b = &w->limb[i];
    real at[3], T[9], axis[3];
    q += l->q;
    if (l->kind == TREE_FREE) {
        quat_matrix_inline(q + 3, b->R);
        memset(b->S, 0, 18 * sizeof *b->S);
        for (int k = 0; k < 3; k++) {
            b->x[k] = q[k] - w->ref[k];
            b->S[6 * k + 3 + k] = REAL(1);
        }
        turning_columns(b, b->S + 18);
        return;
    }
    if (up) {
        real length = NUMBERS(t, w)[tree_link_number(t, TREE_LENGTH, l->parent)];
        apply_fixed(up->R, l->offset, at);
        for (int k = 0; k < 3; k++) {
            b->x[k] = up->x[k] + length * at[k];
        }
        if (kind->straight) {
            memcpy(T, up->R, sizeof T);
        } else {
            mul_fixed(up->R, l->rotation, T);
        }
    } else {
        for (int k = 0; k < 3; k++) {
            b->x[k] = l->offset[k] - w->ref[k];
        }
        for (int k = 0; k < 9; k++) {
            T[k] = REAL(l->rotation[k]);
        }
    }
    if (kind->along >= 0) {
        for (int k = 0; k < 3; k++) {
            axis[k] = l->axis[kind->along] * T[3 * k + kind->along];
        }
    } else {
        apply_fixed(T, l->axis, axis);
    }
    if (l->kind == TREE_REVOLUTE) {
        if (kind->along >= 0) {
            turn_along(T, kind->along, l->axis[kind->along], q[0] - l->zero, b->R);
        } else {
            turn_about(T, l->axis, q[0] - l->zero, b->R);
        }
        memcpy(b->S, axis, sizeof axis);
        vec3_cross(b->x, axis, b->S + 3);
    } else if (l->kind == TREE_PRISMATIC) {
        memcpy(b->R, T, sizeof T);
        vec3_add_scaled(b->x, q[0] - l->zero, axis);
        memset(b->S, 0, 3 * sizeof *b->S);
        memcpy(b->S + 3, axis, sizeof axis);
    } else if (l->kind == TREE_SPHERICAL) {
        real R[9];
        quat_matrix_inline(q, R);
        mat3_mul(T, R, b->R);
        turning_columns(b, b->S);
    } else {
        memcpy(b->R, T, sizeof T);
    }
}

static void inertia_of(const tree *t, const tree_work *w, int i)
{
    const tree_link *l = &t->link[i];
    limb *b = &w->limb[i];
    real factor = NUMBERS(t, w)[tree_link_number(t, TREE_MASS, i)];
    real length = NUMBERS(t, w)[tree_link_number(t, TREE_LENGTH, i)], m = factor * l->mass, T[9];
    apply_fixed(b->R, l->centre, b->c);
    for (int k = 0; k < 3; k++) {
        b->c[k] = b->x[k] + length * b->c[k];
        b->h[k] = m * b->c[k];
    }
    b->m = m;
    if (w->kind[i].diagonal) {
        for (int k = 0; k < 9; k++) {
            T[k] = b->R[k] * l->inertia[4 * (k % 3)];
        }
    } else {
        mul_fixed(b->R, l->inertia, T);
    }
    const real *R = b->R, *c = b->c, *h = b->h;
    real cc = vec3_dot(c, h);
    b->I[0] = factor * (T[0] * R[0] + T[1] * R[1] + T[2] * R[2]) + cc - h[0] * c[0];
    b->I[1] = factor * (T[3] * R[3] + T[4] * R[4] + T[5] * R[5]) + cc - h[1] * c[1];
    b->I[2] = factor * (T[6] * R[6] + T[7] * R[7] + T[8] * R[8]) + cc - h[2] * c[2];
    b->I[3] = factor * (T[0] * R[3] + T[1] * R[4] + T[2] * R[5]) - h[0] * c[1];
    b->I[4] = factor * (T[0] * R[6] + T[1] * R[7] + T[2] * R[8]) - h[0] * c[2];
    b->I[5] = factor * (T[3] * R[6] + T[4] * R[7] + T[5] * R[8]) - h[1] * c[2];
}

static void velocity_of(const tree *t, const tree_work *w, int i, const real *v)
{
    const tree_link *l = &t->link[i];
    limb *b = &w->limb[i];
    memset(b->s, 0, sizeof b->s);
    if (l->parent < 0) {
        memset(b->v, 0, sizeof b->v);
    } else {
        memcpy(b->v, w->limb[l->parent].v, sizeof b->v);
    }
    for (int k = 0; k < l->nv; k++) {
        add6(k < first_fixed(l) ? b->v : b->s, v[l->v + k], b->S + 6 * k);
    }
    add6(b->v, REAL(1), b->s);
}

void tree_refer(const tree *t, tree_work *w, const real *q, const real *v)
{
    memset(w->ref, 0, sizeof w->ref);
    if (t->links > 0 && t->link[0].kind == TREE_FREE) {
        memcpy(w->ref, q, sizeof w->ref);
    }
    memcpy(w->q, q, (size_t)t->nq * sizeof *q);
    if (v) {
        memcpy(w->v, v, (size_t)t->nv * sizeof *v);
    } else {
        memset(w->v, 0, (size_t)t->nv * sizeof *w->v);
    }
}

void tree_place(const tree *t, tree_work *w, const real *q, const real *v)
{
    tree_refer(t, w, q, v);
    for (int i = 0; i < t->links; i++) {
        pose_of(t, w, i, q);
        inertia_of(t, w, i);
        velocity_of(t, w, i, w->v);
    }
}

void tree_point_of(const tree *t, const tree_work *w, int link, const double at[3], real x[3])
{
    if (link < 0) {
        for (int k = 0; k < 3; k++) {
            x[k] = at[k] - w->ref[k];
        }
        return;
    }
    real length = NUMBERS(t, w)[tree_link_number(t, TREE_LENGTH, link)];
    apply_fixed(w->limb[link].R, at, x);
    for (int k = 0; k < 3; k++) {
        x[k] = w->limb[link].x[k] + length * x[k];
    }
}

void tree_middles(const tree *t, tree_work *w)
{
    for (int i = 0; i < t->shapes; i++) {
        if (w->reach[i] > 0) {
            tree_point_of(t, w, t->shape[i].link, t->shape[i].at, w->middle[i]);
        }
    }
}

real_test tree_near(const tree *t, const tree_work *w, int a, int b)
{
    const double ra = w->reach[a], rb = w->reach[b];
    real r[3], height = REAL(0);
    for (int i = 0; i < 3; i++) {
        r[i] = w->middle[a][i] - w->middle[b][i];
    }
    if (isinf(ra) || isinf(rb)) { /* fixed to the world */
        const tree_shape *flat = &t->shape[isinf(ra) ? a : b];
        const double side = isinf(ra) ? -1 : 1;
        if (flat->form == TREE_TERRAIN) {
            return REAL_TEST(height == 0.0);
        }
        for (int i = 0; i < 3; i++) {
            height += side * r[i] * flat->rotation[3 * i + 2];
        }
        return REAL_TEST(height < (isinf(ra) ? rb : ra) + t->margin);
    }
    return REAL_TEST(vec3_dot(r, r) < (ra + rb + t->margin) * (ra + rb + t->margin));
}

#ifndef LANES_ISA

/* ---- points, centre of mass, energy ---- */

void tree_point(const tree *t, const tree_work *w, int link, const double at[3], double x[3], double v[3])
{
    static const double rest[6];
    tree_point_of(t, w, link, at, x);
    velocity_at(link < 0 ? rest : w->limb[link].v, x, v);
    vec3_add_scaled(x, 1, w->ref);
}

void tree_jacobian(const tree *t, const tree_work *w, int link, const double at[3], double *J)
{
    double x[3], column[3];
    tree_point_of(t, w, link, at, x);
    memset(J, 0, 3 * (size_t)t->nv * sizeof *J);
    for (; link >= 0; link = t->link[link].parent) {
        for (int k = 0; k < t->link[link].nv; k++) {
            velocity_at(w->limb[link].S + 6 * k, x, column);
            for (int r = 0; r < 3; r++) {
                J[r * t->nv + t->link[link].v + k] = column[r];
            }
        }
    }
}

const double *tree_rotation(const tree_work *w, int link)
{
    static const double world[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    return link < 0 ? world : w->limb[link].R;
}

void tree_spin(const tree_work *w, int link, double omega[3])
{
    memset(omega, 0, 3 * sizeof *omega);
    if (link >= 0) {
        memcpy(omega, w->limb[link].v, 3 * sizeof *omega);
    }
}

double tree_centre(const tree *t, const tree_work *w, double x[3], double v[3], double L[3])
{
    double mass = 0, p[6] = {0}, h[6], c[3];
    memset(x, 0, 3 * sizeof *x);
    for (int i = 0; i < t->links; i++) {
        const limb *b = &w->limb[i];
        momentum_of(b, b->v, h);
        add6(p, 1, h);
        vec3_add_scaled(x, 1, b->h);
        mass += b->m;
    }
    double each = mass > 0 ? 1 / mass : 0;
    for (int k = 0; k < 3; k++) {
        x[k] *= each;
        v[k] = p[3 + k] * each;
    }
    vec3_cross(x, p + 3, c);
    for (int k = 0; k < 3; k++) {
        L[k] = p[k] - c[k];
        x[k] += w->ref[k];
    }
    return mass;
}

double tree_energy(const tree *t, const tree_work *w, const double *q, const double *v)
{
    double sum = 0, h[6];
    for (int i = 0; i < t->links; i++) {
        const tree_link *l = &t->link[i];
        const limb *b = &w->limb[i];
        momentum_of(b, b->v, h);
        sum += 0.5 * dot6(b->v, h) - vec3_dot(t->number + TREE_GRAVITY, b->h) -
               b->m * vec3_dot(t->number + TREE_GRAVITY, w->ref);
        for (int k = 0; k < l->nv; k++) {
            sum += 0.5 * joint_numbers(t, w, TREE_ARMATURE)[l->v + k] * v[l->v + k] * v[l->v + k];
        }
        if (l->nv == 1) {
            double x = q[l->q] - joint_numbers(t, w, TREE_REST)[l->v];
            sum += 0.5 * joint_numbers(t, w, TREE_SPRING)[l->v] * x * x;
        }
    }
    return sum;
}

#endif

/* ---- lengths ---- */

void tree_length_bar(const tree *t, const tree_work *w, int link, const double at[3], const real x_bar[3],
                     real *number_bar)
{
    if (number_bar && link >= 0) {
        real x[3];
        apply_fixed(w->limb[link].R, at, x);
        number_bar[tree_link_number(t, TREE_LENGTH, link)] += vec3_dot(x, x_bar);
    }
}

#ifndef LANES_ISA

void tree_stretch(const tree *t, const tree_work *w, const tree_bar *dot, int link, const double at[3],
                  double out[3])
{
    memset(out, 0, 3 * sizeof *out);
    if (link >= 0 && dot->number) {
        double x[3];
        mat3_apply(w->limb[link].R, at, x);
        vec3_add_scaled(out, number_dot(dot, tree_link_number(t, TREE_LENGTH, link)), x);
    }
}

#endif

/* ---- articulated inertia ---- */

void tree_rigid_matrix(const limb *b, real A[36])
{
    const real *I = b->I, *h = b->h, m = b->m;
    const real o = REAL(0);
    const real M[36] = {I[0],  I[3], I[4], o,     -h[2], h[1], I[3], I[1],  I[5],  h[2], o, -h[0],
                        I[4],  I[5], I[2], -h[1], h[0],  o,    o,    h[2],  -h[1], m,    o, o,
                        -h[2], o,    h[0], o,     m,     o,    h[1], -h[0], o,     o,    o, m};
    memcpy(A, M, sizeof M);
}

/* Cholesky factor of the n x n matrix D (row length 6), lower part; not finite if that is not positive. */
static void factor(int n, real *D)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            real sum = D[6 * i + j];
            for (int k = 0; k < j; k++) {
                sum -= D[6 * i + k] * D[6 * j + k];
            }
            D[6 * i + j] = i == j ? real_sqrt(sum) : sum / D[6 * j + j];
        }
    }
}

/* x = D^-1 x for the joint of a link. */
static inline void solve_joint(int n, const real *D, real *x)
{
    if (n == 1) {
        x[0] *= D[0];
        return;
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) {
            x[i] -= D[6 * i + k] * x[k];
        }
        x[i] /= D[6 * i + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) {
            x[i] -= D[6 * k + i] * x[k];
        }
        x[i] /= D[6 * i + i];
    }
}

void tree_articulate(const tree *t, tree_work *w, int i)
{
    const tree_link *l = &t->link[i];
    limb *b = &w->limb[i];
    int n = l->nv;
    for (int k = 0; k < n; k++) {
        apply36(b->A, b->S + 6 * k, b->U + 6 * k);
    }
    for (int k = 0; k < n; k++) {
        for (int j = 0; j <= k; j++) {
            b->D[6 * k + j] = dot6(b->S + 6 * j, b->U + 6 * k);
        }
        b->D[7 * k] += w->effective[l->v + k];
    }
    if (n != 1) {
        factor(n, b->D);
    }
    for (int k = 0; k < n; k++) {
        w->singular = w->singular < 0 && real_any(real_not(REAL_TEST(b->D[7 * k] > 0.0))) ? i : w->singular;
    }
    if (n == 1) {
        b->D[0] = 1.0 / b->D[0];
    }
    if (l->parent < 0 || w->kind[l->parent].grounded) {
        return;
    }
    real *A = w->limb[l->parent].A;
    if (n == 1) {
        for (int r = 0; r < 6; r++) {
            real scaled = b->U[r] * b->D[0];
            for (int c = 0; c < 6; c++) {
                A[6 * r + c] += b->A[6 * r + c] - scaled * b->U[c];
            }
        }
        return;
    }
    for (int c = 0; c < 6; c++) {
        real x[6] = {0};
        for (int k = 0; k < n; k++) {
            x[k] = b->U[6 * k + c];
        }
        solve_joint(n, b->D, x);
        for (int r = 0; r < 6; r++) {
            real sum = b->A[6 * r + c];
            for (int k = 0; k < n; k++) {
                sum -= b->U[6 * k + r] * x[k];
            }
            A[6 * r + c] += sum;
        }
    }
}

void tree_pass_bias(const tree *t, tree_work *w, int i, const real *tau, const real *drift, real *u)
{
    const tree_link *l = &t->link[i];
    limb *b = &w->limb[i];
    real x[6];
    for (int k = 0; k < l->nv; k++) {
        u[l->v + k] = tau[l->v + k] - dot6(b->S + 6 * k, b->p);
        x[k] = u[l->v + k];
    }
    if (l->parent < 0 || w->kind[l->parent].grounded) {
        return;
    }
    real *p = w->limb[l->parent].p;
    add6(p, REAL(1), b->p);
    if (drift) {
        real y[6];
        apply36(b->A, drift, y);
        add6(p, REAL(1), y);
        for (int k = 0; k < l->nv; k++) {
            x[k] -= dot6(b->U + 6 * k, drift);
        }
    }
    solve_joint(l->nv, b->D, x);
    for (int k = 0; k < l->nv; k++) {
        add6(p, x[k], b->U + 6 * k);
    }
}

void tree_pass_acceleration(const tree_link *l, const limb *b, const real *u, real a[6], real *out)
{
    real x[6];
    for (int k = 0; k < l->nv; k++) {
        x[k] = u[l->v + k] - dot6(b->U + 6 * k, a);
    }
    solve_joint(l->nv, b->D, x);
    for (int k = 0; k < l->nv; k++) {
        out[l->v + k] = x[k];
        add6(a, x[k], b->S + 6 * k);
    }
}

void tree_rates(const tree *t, tree_work *w, const real *rate)
{
    for (int i = 0; i < t->links; i++) {
        const tree_link *l = &t->link[i];
        limb *b = &w->limb[i];
        memcpy(b->d, limb_field(w, l->parent, TREE_RATE), sizeof b->d);
        for (int k = 0; k < l->nv; k++) {
            add6(b->d, rate[l->v + k], b->S + 6 * k);
        }
    }
}

void tree_respond_alone(const tree *t, tree_work *w, const real *b, real *rate)
{
    for (int i = t->links - 1; i >= 0; i--) {
        tree_pass_bias(t, w, i, b, NULL, w->w);
    }
    for (int i = 0; i < t->links; i++) {
        const tree_link *l = &t->link[i];
        limb *m = &w->limb[i];
        if (l->parent < 0) {
            memset(m->d, 0, sizeof m->d);
        } else {
            memcpy(m->d, w->limb[l->parent].d, sizeof m->d);
        }
        tree_pass_acceleration(l, m, w->w, m->d, rate);
    }
}

/* ---- joints that follow others ----
 *
 * A coupling is the row J of J v = 0: 1 at the follower, -ratio at the leader. J is constant, so positions
 * and velocities that obey it at the start do so after every step. The forces J' p that keep it have
 * J M^-1 J' p = J a for accelerations a without them. As M is symmetric, adjoint and tangent of the dynamics
 * need the same projection and nothing else: with w = M^-1 (a_bar - J' p) and J w = 0, the forces that keep
 * the couplings have no power under w. */

/* J x of one coupling. */
static real slack(const tree *t, const tree_coupling *c, const real *x)
{
    const real of_leader = c->leader < 0 ? REAL(0) : c->ratio * x[t->link[c->leader].v];
    return x[t->link[c->follower].v] - of_leader;
}

void tree_coupling_factor(const tree *t, tree_work *w)
{
    int n = t->couplings;
    for (int k = 0; k < n; k++) {
        const tree_coupling *c = &t->coupling[k];
        for (int i = 0; i < t->links; i++) {
            memset(w->limb[i].p, 0, sizeof w->limb[i].p);
        }
        w->none[t->link[c->follower].v] = REAL(1);
        if (c->leader >= 0) {
            w->none[t->link[c->leader].v] = REAL(-c->ratio);
        }
        tree_respond_alone(t, w, w->none, w->answer + k * t->nv);
        w->none[t->link[c->follower].v] = REAL(0);
        if (c->leader >= 0) {
            w->none[t->link[c->leader].v] = REAL(0);
        }
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            real sum = slack(t, &t->coupling[i], w->answer + j * t->nv);
            for (int k = 0; k < j; k++) {
                sum -= w->hold[i * n + k] * w->hold[j * n + k];
            }
            w->hold[i * n + j] = i == j ? real_sqrt(sum) : sum / w->hold[j * n + j];
        }
    }
}

void tree_coupling_project(const tree *t, tree_work *w, real *rate)
{
    int n = t->couplings;
    real *p = w->pull;
    for (int i = 0; i < n; i++) {
        p[i] = slack(t, &t->coupling[i], rate);
        for (int k = 0; k < i; k++) {
            p[i] -= w->hold[i * n + k] * p[k];
        }
        p[i] /= w->hold[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) {
            p[i] -= w->hold[k * n + i] * p[k];
        }
        p[i] /= w->hold[i * n + i];
        for (int j = 0; j < t->nv; j++) {
            rate[j] -= p[i] * w->answer[i * t->nv + j];
        }
    }
}

void tree_respond(const tree *t, tree_work *w, const real *b, real *rate)
{
    tree_respond_alone(t, w, b, rate);
    if (t->couplings > 0) {
        tree_coupling_project(t, w, rate);
        tree_rates(t, w, rate);
    }
}

void tree_solve(const tree *t, tree_work *w, const real *b, real *rate)
{
    for (int i = 0; i < t->links; i++) {
        memset(w->limb[i].p, 0, sizeof w->limb[i].p);
    }
    tree_respond(t, w, b, rate);
}
