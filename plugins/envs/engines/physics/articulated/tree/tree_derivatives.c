/* SPDX-License-Identifier: Apache-2.0 */
/* tree_derivatives.c - adjoint and tangent of the dynamics of a tree of rigid bodies (tree.h). */
#include "engines/physics/articulated/tree/tree_compliant.h"
#include "engines/physics/articulated/tree/tree_impulse.h"
#ifdef LANES_ISA
#include "engines/physics/articulated/tree/tree_lanes.h"
#endif

/* ---- adjoint ---- */

/* Adds the derivatives of the joint forces along w->rate, at the accelerations w->a. */
static void joint_forces_bar(const tree *t, const tree_work *w, const tree_bar *bar)
{
    const real *number = NUMBERS(t, w);
    for (int i = 0; i < t->links; i++) {
        const tree_link *l = &t->link[i];
        for (int k = 0, j = l->v; k < l->nv; k++, j++) {
            real r = w->rate[j], v = w->v[j], q_bar = REAL(0);
            int d = tree_joint_number(t, TREE_DAMPING, j), g = tree_joint_number(t, TREE_GAIN, j);
            int rg = tree_joint_number(t, TREE_RATE_GAIN, j), s = tree_joint_number(t, TREE_SPRING, j);
            int rest = tree_joint_number(t, TREE_REST, j);
            real slow = -r * (v + w->in.implicit * w->a[j]), slope, dry = dry_damper(t, w, j, v, &slope);
            real v_bar = -(number[d] + number[rg] + dry) * r + slope * slow;
            if (bar->tau) {
                bar->tau[j] += r;
            }
            if (bar->number) {
                bar->number[d] += slow;
                bar->number[rg] += slow;
                bar->number[tree_joint_number(t, TREE_ARMATURE, j)] -= r * w->a[j];
                bar->number[tree_joint_number(t, TREE_DRY, j)] +=
                    slow / real_sqrt(v * v + t->joint_slip * t->joint_slip);
            }
            if (l->nv == 1) {
                real q = w->q[l->q], limit;
                const real_test acts = limit_acts(t, w, j, q, v, &limit);
                q_bar = -(number[g] + number[s]) * r;
                if (real_any(acts)) {
                    const real held = real_only(acts, r);
                    q_bar -= number[TREE_LIMIT_STIFFNESS] * held;
                    v_bar -= number[TREE_LIMIT_DAMPING] * held;
                    if (bar->number) {
                        bar->number[TREE_LIMIT_STIFFNESS] -= beyond(t, j, q) * held;
                        bar->number[TREE_LIMIT_DAMPING] -= v * held;
                    }
                }
                if (bar->target) {
                    bar->target[j] += number[g] * r;
                }
                if (bar->number) {
                    bar->number[g] += r * (w->target[j] - q);
                    bar->number[s] -= r * (q - number[rest]);
                    bar->number[rest] += r * number[s];
                }
            }
            if (bar->q) {
                bar->q[j] += q_bar;
            }
            bar->v[j] += v_bar;
        }
    }
}

void tree_bar_open(const tree *t, tree_work *w, const tree_bar *bar)
{
    w->bar = *bar;
    for (int i = 0; i < t->links; i++) {
        limb *b = &w->limb[i];
        memset(b->fb, 0, sizeof b->fb);
        memset(b->ab, 0, sizeof b->ab);
        memset(b->vb, 0, sizeof b->vb);
        memset(b->eb, 0, sizeof b->eb);
        memset(b->pose, 0, sizeof b->pose);
    }
}

/* Adds the derivatives of minus the power of the inertial forces of link i under the rates d. */
static void inertial_bar(const tree *t, tree_work *w, int i)
{
    limb *b = &w->limb[i];
    real Id[6], Ia[6], h[6], u[6], Iu[6];
    momentum_of(b, b->d, Id);
    momentum_of(b, b->a, Ia);
    momentum_of(b, b->v, h);
    cross_motion(b->d, b->v, u);
    momentum_of(b, u, Iu);
    add6(b->fb, REAL(-1), Ia);
    add_cross_force(b->fb, REAL(-1), b->v, h);
    add6(b->ab, REAL(-1), Id);
    add6(b->vb, REAL(-1), Iu);
    add_cross_force(b->vb, REAL(1), b->d, h);
    add_cross_force(b->pose, REAL(1), b->d, Ia);
    add_cross_force(b->pose, REAL(1), b->a, Id);
    add_cross_force(b->pose, REAL(1), u, h);
    add_cross_force(b->pose, REAL(1), b->v, Iu);
    real *number = w->bar.number;
    if (number == NULL || t->link[i].mass == 0) {
        return;
    }
    int mass = tree_link_number(t, TREE_MASS, i);
    number[mass] -= real_only(REAL_TEST(b->m != 0.0), (dot6(b->d, Ia) + dot6(u, h)) / NUMBERS(t, w)[mass]);
    const real *const pair[2][2] = {{b->d, b->a}, {u, b->v}};
    real c_bar[3] = {0}, part[3];
    for (int k = 0; k < 2; k++) {
        real first[3], second[3];
        velocity_at(pair[k][0], b->c, first);
        velocity_at(pair[k][1], b->c, second);
        vec3_cross(second, pair[k][0], part);
        vec3_add_scaled(c_bar, -b->m, part);
        vec3_cross(first, pair[k][1], part);
        vec3_add_scaled(c_bar, -b->m, part);
    }
    tree_length_bar(t, w, i, t->link[i].centre, c_bar, number);
}

/* Sums the derivatives from the leaves to the root. `rate` and `a` are the joint rates of the adjoint and the
 * accelerations, or NULL where limb.d and limb.a had no effect. */
static void sweep_bar(const tree *t, tree_work *w, const real *rate, const real *a)
{
    const tree_bar *bar = &w->bar;
    for (int i = t->links - 1; i >= 0; i--) {
        const tree_link *l = &t->link[i];
        limb *b = &w->limb[i];
        real s_bar[6] = {0};
        int fixed = first_fixed(l);
        if (l->nv > 0) {
            add_cross_force(b->vb, REAL(1), b->s, b->ab);
            add_cross_force(s_bar, REAL(-1), b->v, b->ab);
        }
        for (int k = 0; k < l->nv; k++) {
            const real *S = b->S + 6 * k;
            real column[6] = {0}, v_bar[6];
            int j = l->v + k;
            memcpy(v_bar, b->vb, sizeof v_bar);
            if (k >= fixed) {
                add6(v_bar, REAL(1), s_bar);
            }
            if (bar->v) {
                bar->v[j] += dot6(S, v_bar);
            }
            if (k < fixed) {
                continue; /* the column does not move */
            }
            add6(column, w->v[j], v_bar);
            if (rate) {
                add6(column, rate[j], b->fb);
                add6(column, a[j], b->ab);
                add6(column, a[j], b->eb);
            }
            add_cross_force(b->pose, REAL(1), S, column);
        }
        for (int k = 0; bar->q && k < l->nv; k++) {
            bar->q[l->v + k] += dot6(b->S + 6 * k, b->pose);
        }
        if (l->parent >= 0) {
            limb *up = &w->limb[l->parent];
            add6(up->fb, REAL(1), b->fb);
            add6(up->ab, REAL(1), b->ab);
            add6(up->vb, REAL(1), b->vb);
            add6(up->eb, REAL(1), b->eb);
            add6(up->pose, REAL(1), b->pose);
            tree_length_bar(t, w, l->parent, l->offset, b->pose + 3, bar->number);
        } else if (bar->number) {
            for (int k = 0; k < 3; k++) {
                bar->number[TREE_GRAVITY + k] -= b->ab[3 + k];
            }
        }
    }
}

void tree_adjoint(const tree *t, tree_work *w, const real *a_bar, const tree_bar *bar)
{
    tree_solve(t, w, a_bar, w->rate);
    tree_bar_open(t, w, bar);
#ifndef LANES_ISA
    if (w->in.contact == TREE_COMPLEMENTARITY) {
        tree_impulse_bar(t, w, a_bar, bar->number);
    }
#endif
    for (int i = 0; i < t->links; i++) {
        if (!w->kind[i].grounded) { /* others have no power */
            inertial_bar(t, w, i);
        }
    }
#ifdef LANES_ISA
    if (w->in.contact == TREE_COMPLIANT) {
        tree_lanes_contact_bar(w, bar->number);
    }
#else
    if (w->in.contact == TREE_COMPLIANT) {
        tree_compliant_bar(t, w, bar->number);
    }
    tree_distant_bar(t, w, bar->number);
#endif
    sweep_bar(t, w, w->rate, w->a);
    joint_forces_bar(t, w, bar);
}

#ifndef LANES_ISA

void tree_bar_close(const tree *t, tree_work *w)
{
    sweep_bar(t, w, NULL, NULL);
}

/* ---- tangent ---- */

/* Inverse dynamics along a direction, one link: limb.pose, vb, d, fb and ab become the changes of pose,
 * velocity and acceleration, the force on the link, and its change. */
static void link_dot(const tree *t, tree_work *w, int i, const tree_bar *dot)
{
    const tree_link *l = &t->link[i];
    limb *b = &w->limb[i], *up = l->parent < 0 ? NULL : &w->limb[l->parent];
    double s_dot[6] = {0}, h[6], h_dot[6], y[6], Ia[6], part[3];
    for (int k = 0; k < 6; k++) {
        b->pose[k] = up ? up->pose[k] : 0;
        b->vb[k] = up ? up->vb[k] : 0;
        b->d[k] = up ? up->d[k] : k < 3 ? 0 : -number_dot(dot, TREE_GRAVITY + k - 3);
    }
    if (l->kind != TREE_FREE) {
        tree_stretch(t, w, dot, l->parent, l->offset, part);
        for (int k = 0; k < 3; k++) {
            b->pose[3 + k] += part[k];
        }
    }
    for (int k = 0; dot->q && k < l->nv; k++) {
        add6(b->pose, dot->q[l->v + k], b->S + 6 * k);
    }
    for (int k = 0; k < l->nv; k++) {
        double *into = k < first_fixed(l) ? b->vb : s_dot, S_dot[6] = {0};
        int j = l->v + k;
        if (k >= first_fixed(l)) {
            cross_motion(b->pose, b->S + 6 * k, S_dot);
        }
        add6(into, w->v[j], S_dot);
        add6(into, dot->v ? dot->v[j] : 0, b->S + 6 * k);
        add6(b->d, w->a[j], S_dot);
    }
    add6(b->vb, 1, s_dot);
    cross_motion(b->vb, b->s, y);
    add6(b->d, 1, y);
    cross_motion(b->v, s_dot, y);
    add6(b->d, 1, y);

    momentum_of(b, b->v, h);
    momentum_of(b, b->a, Ia);
    memcpy(b->fb, Ia, sizeof Ia);
    add_cross_force(b->fb, 1, b->v, h);
    /* (I x)' = pose x* I x - I (pose x x) + I x' for x = v and x = a */
    cross_motion(b->pose, b->v, y);
    for (int k = 0; k < 6; k++) {
        y[k] = b->vb[k] - y[k];
    }
    momentum_of(b, y, h_dot);
    add_cross_force(h_dot, 1, b->pose, h);
    cross_motion(b->pose, b->a, y);
    for (int k = 0; k < 6; k++) {
        y[k] = b->d[k] - y[k];
    }
    momentum_of(b, y, b->ab);
    add_cross_force(b->ab, 1, b->pose, Ia);
    if (dot->number && b->m > 0) {
        int mass = tree_link_number(t, TREE_MASS, i);
        double more = dot->number[mass] / t->number[mass], c_dot[3];
        const double *const of[2] = {b->a, b->v};
        double *const to[2] = {b->ab, h_dot};
        add6(b->ab, more, Ia);
        add6(h_dot, more, h);
        tree_stretch(t, w, dot, i, l->centre, c_dot);
        for (int k = 0; k < 2; k++) {
            double at[3], f[3];
            velocity_at(of[k], b->c, at);
            vec3_cross(of[k], c_dot, f);
            add_wrench(to[k], b->m, b->c, f);
            vec3_cross(c_dot, at, part);
            vec3_add_scaled(to[k], b->m, part);
        }
    }
    add_cross_force(b->ab, 1, b->vb, h);
    add_cross_force(b->ab, 1, b->v, h_dot);
    add6(b->fb, -1, b->f);
}

static double joint_force_dot(const tree *t, const tree_work *w, const tree_link *l, int j,
                              const tree_bar *dot)
{
    double v = w->v[j], v_dot = dot->v ? dot->v[j] : 0, q_dot = dot->q ? dot->q[j] : 0;
    int d = tree_joint_number(t, TREE_DAMPING, j), g = tree_joint_number(t, TREE_GAIN, j);
    int rg = tree_joint_number(t, TREE_RATE_GAIN, j), s = tree_joint_number(t, TREE_SPRING, j);
    int rest = tree_joint_number(t, TREE_REST, j);
    double limit, slope, dry = dry_damper(t, w, j, v, &slope);
    double damper_dot =
        number_dot(dot, d) + number_dot(dot, rg) + slope * v_dot +
        number_dot(dot, tree_joint_number(t, TREE_DRY, j)) / sqrt(v * v + t->joint_slip * t->joint_slip);
    double f =
        (dot->tau ? dot->tau[j] : 0) - (t->number[d] + t->number[rg] + dry) * v_dot - damper_dot * v -
        (number_dot(dot, tree_joint_number(t, TREE_ARMATURE, j)) + w->in.implicit * damper_dot) * w->a[j];
    if (l->nv == 1) {
        double q = w->q[l->q];
        f += t->number[g] * ((dot->target ? dot->target[j] : 0) - q_dot) +
             number_dot(dot, g) * (w->target[j] - q) - t->number[s] * (q_dot - number_dot(dot, rest)) -
             number_dot(dot, s) * (q - t->number[rest]);
        if (limit_acts(t, w, j, q, v, &limit)) {
            f -= number_dot(dot, TREE_LIMIT_STIFFNESS) * beyond(t, j, q) +
                 t->number[TREE_LIMIT_STIFFNESS] * q_dot + number_dot(dot, TREE_LIMIT_DAMPING) * v +
                 t->number[TREE_LIMIT_DAMPING] * v_dot;
        }
    }
    return f;
}

void tree_tangent(const tree *t, tree_work *w, const tree_bar *dot, double *a_dot)
{
    for (int i = 0; i < t->links; i++) {
        link_dot(t, w, i, dot);
    }
    if (w->in.contact == TREE_COMPLIANT) {
        tree_compliant_dot(t, w, dot);
    } else if (w->in.contact == TREE_COMPLEMENTARITY) {
        tree_impulse_dot(t, w, dot);
    }
    tree_distant_dot(t, w, dot);
    for (int i = t->links - 1; i >= 0; i--) {
        const tree_link *l = &t->link[i];
        limb *b = &w->limb[i];
        for (int k = 0; k < l->nv; k++) {
            double S_dot[6] = {0};
            if (k >= first_fixed(l)) {
                cross_motion(b->pose, b->S + 6 * k, S_dot);
            }
            w->rate[l->v + k] =
                joint_force_dot(t, w, l, l->v + k, dot) - dot6(S_dot, b->fb) - dot6(b->S + 6 * k, b->ab);
        }
        if (l->parent >= 0) {
            add6(w->limb[l->parent].fb, 1, b->fb);
            add6(w->limb[l->parent].ab, 1, b->ab);
        }
    }
    tree_solve(t, w, w->rate, a_dot);
    if (w->in.contact == TREE_COMPLEMENTARITY) {
        tree_impulse_change(t, w, dot, a_dot);
    }
}

/* ---- points and the centre of mass ---- */

void tree_point_bar(const tree *t, tree_work *w, int link, const double at[3], const double x_bar[3],
                    const double v_bar[3])
{
    double x[3], moved[3];
    if (link < 0) {
        return;
    }
    limb *b = &w->limb[link];
    tree_point_of(t, w, link, at, x);
    vec3_cross(v_bar, b->v, moved);
    vec3_add_scaled(moved, 1, x_bar);
    add_wrench(b->pose, 1, x, moved);
    add_wrench(b->vb, 1, x, v_bar);
    tree_length_bar(t, w, link, at, moved, w->bar.number);
}

void tree_turn_bar(tree_work *w, int link, const double turn_bar[3], const double omega_bar[3])
{
    for (int k = 0; link >= 0 && k < 3; k++) {
        w->limb[link].pose[k] += turn_bar[k];
        w->limb[link].vb[k] += omega_bar[k];
    }
}

void tree_centre_bar(const tree *t, tree_work *w, const double x_bar[3], const double v_bar[3])
{
    double x[3], v[3], L[3], mass = tree_centre(t, w, x, v, L);
    vec3_add_scaled(x, -1, w->ref);
    for (int i = 0; i < t->links; i++) {
        limb *b = &w->limb[i];
        double part = b->m / mass, at[3], moved[3], pull[3], push[3];
        velocity_at(b->v, b->c, at);
        vec3_cross(v_bar, b->v, moved);
        vec3_add_scaled(moved, 1, x_bar);
        for (int k = 0; k < 3; k++) {
            pull[k] = part * moved[k];
            push[k] = part * v_bar[k];
        }
        add_wrench(b->pose, 1, b->c, pull);
        add_wrench(b->vb, 1, b->c, push);
        tree_length_bar(t, w, i, t->link[i].centre, pull, w->bar.number);
        if (w->bar.number && part > 0) {
            int k = tree_link_number(t, TREE_MASS, i);
            for (int r = 0; r < 3; r++) {
                w->bar.number[k] +=
                    part / t->number[k] * (x_bar[r] * (b->c[r] - x[r]) + v_bar[r] * (at[r] - v[r]));
            }
        }
    }
}

#endif
