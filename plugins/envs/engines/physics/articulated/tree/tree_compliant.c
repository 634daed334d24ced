/* SPDX-License-Identifier: Apache-2.0 */
/* tree_compliant.c - contact by forces that grow with the depth (tree_compliant.h). */
#include "engines/physics/articulated/tree/tree_compliant.h"

#include "common/vector_math.h"

/* s / tanh(s / slip), and s divided by the derivative of that. */
static double tanh_speed(double s, double slip, double *bent)
{
    double r = s / slip, T = vec_tanh(vec_all(r))[0], r2 = r * r;
    if (r < 0.02) { /* the series, without cancellation */
        *bent = 1.5 * slip * (1 - r2 * (2.0 / 3 - 17.0 / 45 * r2)) / (1 - r2 * (4.0 / 5 - 17.0 / 35 * r2));
        return slip * (1 + r2 * (1.0 / 3 - r2 / 45));
    }
    *bent = s * T * T / (T - r * (1 - T * T));
    return s / T;
}

/* Hunt and Crossley (1975) with exponent 3/2; friction of Coulomb, proportional to the slip below t->slip. */
static void force_of(const tree *t, touch *c, const double u[3])
{
    double un = vec3_dot(u, c->n);
    c->press = softness_ramp(&t->soft, c->depth);
    c->slope = softness_slope(&t->soft, c->depth);
    double power = c->press * sqrt(c->press);
    double normal = t->number[TREE_STIFFNESS] * power * (1 - t->number[TREE_DISSIPATION] * un);
    c->approach = un;
    c->N = normal > 0 ? normal : 0;
    for (int k = 0; k < 3; k++) {
        c->slip[k] = u[k] - un * c->n[k];
    }
    if (t->sliding == TREE_ROOT) {
        c->speed = c->bent = sqrt(vec3_dot(c->slip, c->slip) + t->slip * t->slip);
    } else {
        c->speed = tanh_speed(sqrt(vec3_dot(c->slip, c->slip)), t->slip, &c->bent);
    }
    double drag = t->number[TREE_FRICTION] * c->friction * c->N / c->speed;
    for (int k = 0; k < 3; k++) {
        c->F[k] = c->N * c->n[k] - drag * c->slip[k];
    }
}

void tree_compliant(const tree *t, tree_work *w)
{
    for (int j = 0; j < w->touching; j++) {
        double u[3];
        tree_touch_velocity(w, &w->touch[j], TREE_VELOCITY, u);
        force_of(t, &w->touch[j], u);
        if (w->touch[j].press > 0) {
            tree_touch_push(w, &w->touch[j], TREE_FORCE, 1, w->touch[j].F);
        }
    }
}

/* Derivatives of the force along F_bar, by depth, normal and velocity; those by the numbers are added. */
static void force_bar(const tree *t, const touch *c, const double F_bar[3], double *depth_bar,
                      double n_bar[3], double u_bar[3], double *number_bar)
{
    double mu = t->number[TREE_FRICTION] * c->friction, k = t->number[TREE_STIFFNESS];
    double damping = t->number[TREE_DISSIPATION], root = sqrt(c->press), power = c->press * root;
    double along = vec3_dot(F_bar, c->slip), slip_bar[3];
    double N_bar = vec3_dot(F_bar, c->n) - mu * along / c->speed, un_bar = 0;
    for (int i = 0; i < 3; i++) {
        slip_bar[i] = -mu * c->N / c->speed * (F_bar[i] - along * c->slip[i] / (c->speed * c->bent));
        n_bar[i] = c->N * F_bar[i];
    }
    *depth_bar = 0;
    if (c->N > 0) {
        double factor = 1 - damping * c->approach;
        *depth_bar = N_bar * 1.5 * k * root * c->slope * factor;
        un_bar = -N_bar * k * power * damping;
        if (number_bar) {
            number_bar[TREE_STIFFNESS] += N_bar * power * factor;
            number_bar[TREE_DISSIPATION] -= N_bar * k * power * c->approach;
            number_bar[TREE_FRICTION] -= c->friction * c->N * along / c->speed;
        }
    }
    un_bar -= vec3_dot(slip_bar, c->n);
    for (int i = 0; i < 3; i++) {
        /* slip = u - (u n) n and un = u n, with u = slip + approach n */
        u_bar[i] = slip_bar[i] + un_bar * c->n[i];
        n_bar[i] += un_bar * (c->slip[i] + c->approach * c->n[i]) - c->approach * slip_bar[i];
    }
}

void tree_compliant_bar(const tree *t, tree_work *w, double *number_bar)
{
    for (int j = 0; j < w->touching; j++) {
        const touch *c = &w->touch[j];
        double rate[3], depth_bar, n_bar[3], u_bar[3], x_bar[3], spin[3], d_spin[3], part[3];
        if (!(c->press > 0)) {
            continue;
        }
        tree_touch_velocity(w, c, TREE_RATE, rate);
        force_bar(t, c, rate, &depth_bar, n_bar, u_bar, number_bar);
        tree_touch_spin(w, c, TREE_VELOCITY, spin);
        tree_touch_spin(w, c, TREE_RATE, d_spin);
        vec3_cross(u_bar, spin, x_bar);
        vec3_cross(c->F, d_spin, part);
        vec3_add_scaled(x_bar, 1, part);
        tree_touch_push(w, c, TREE_RATE_BAR, 1, c->F);
        tree_touch_push(w, c, TREE_VELOCITY_BAR, 1, u_bar);
        tree_touch_bar(t, w, c, depth_bar, n_bar, x_bar, number_bar);
    }
}

/* F_dot of a contact. */
static void force_dot(const tree *t, const touch *c, const tree_bar *dot, const double u_dot[3],
                      double F_dot[3])
{
    double k = t->number[TREE_STIFFNESS], damping = t->number[TREE_DISSIPATION];
    double mu = t->number[TREE_FRICTION] * c->friction, root = sqrt(c->press), power = c->press * root;
    double un_dot =
        vec3_dot(u_dot, c->n) + vec3_dot(c->slip, c->n_dot) + c->approach * vec3_dot(c->n, c->n_dot);
    double factor = 1 - damping * c->approach, N_dot = 0, slip_dot[3];
    if (c->N > 0) {
        N_dot = number_dot(dot, TREE_STIFFNESS) * power * factor +
                1.5 * k * root * c->slope * c->depth_dot * factor -
                k * power * (number_dot(dot, TREE_DISSIPATION) * c->approach + damping * un_dot);
    }
    for (int i = 0; i < 3; i++) {
        slip_dot[i] = u_dot[i] - un_dot * c->n[i] - c->approach * c->n_dot[i];
    }
    double drag = mu * c->N / c->speed, speed_dot = vec3_dot(c->slip, slip_dot) / c->bent;
    double drag_dot = (mu * N_dot + number_dot(dot, TREE_FRICTION) * c->friction * c->N) / c->speed -
                      drag * speed_dot / c->speed;
    for (int i = 0; i < 3; i++) {
        F_dot[i] = N_dot * c->n[i] + c->N * c->n_dot[i] - drag_dot * c->slip[i] - drag * slip_dot[i];
    }
}

void tree_compliant_dot(const tree *t, tree_work *w, const tree_bar *dot)
{
    for (int j = 0; j < w->touching; j++) {
        touch *c = &w->touch[j];
        double spin[3], u_dot[3], moved[3], F_dot[3];
        if (!(c->press > 0)) {
            continue;
        }
        tree_touch_dot(t, w, c, dot);
        tree_touch_spin(w, c, TREE_VELOCITY, spin);
        vec3_cross(spin, c->x_dot, moved);
        tree_touch_velocity(w, c, TREE_VELOCITY_DOT, u_dot);
        vec3_add_scaled(u_dot, 1, moved);
        force_dot(t, c, dot, u_dot, F_dot);
        tree_touch_push_dot(w, c, F_dot);
    }
}

/* ---- what only derivatives feel ---- */

static int is_distant(const tree *t, const touch *c)
{
    return t->soft.at_distance && !(c->depth > 0);
}

void tree_distant_bar(const tree *t, tree_work *w, double *number_bar)
{
    for (int j = 0; j < w->touching; j++) {
        touch *c = &w->touch[j];
        double rate[3], spin[3], n_bar[3], x_bar[3], F = t->pull * softness_pull_ramp(&t->soft, c->depth);
        if (!is_distant(t, c)) {
            continue;
        }
        tree_touch_velocity(w, c, TREE_RATE, rate);
        tree_touch_spin(w, c, TREE_RATE, spin);
        for (int i = 0; i < 3; i++) {
            c->F[i] = F * c->n[i];
            n_bar[i] = F * rate[i];
        }
        vec3_cross(c->F, spin, x_bar);
        tree_touch_push(w, c, TREE_RATE_BAR, 1, c->F);
        double slope = t->pull * softness_pull(&t->soft, c->depth);
        tree_touch_bar(t, w, c, slope * vec3_dot(rate, c->n), n_bar, x_bar, number_bar);
    }
}

void tree_distant_dot(const tree *t, tree_work *w, const tree_bar *dot)
{
    for (int j = 0; j < w->touching; j++) {
        touch *c = &w->touch[j];
        double F_dot[3], F = t->pull * softness_pull_ramp(&t->soft, c->depth);
        if (!is_distant(t, c)) {
            continue;
        }
        tree_touch_dot(t, w, c, dot);
        double slope = t->pull * softness_pull(&t->soft, c->depth);
        for (int i = 0; i < 3; i++) {
            c->F[i] = F * c->n[i];
            F_dot[i] = slope * c->depth_dot * c->n[i] + F * c->n_dot[i];
        }
        tree_touch_push_dot(w, c, F_dot);
        tree_touch_push(w, c, TREE_RATE_BAR, -1, c->F); /* limb.fb holds the force on the link here */
    }
}
