/* SPDX-License-Identifier: Apache-2.0 */
/* tree_impulse.c - contact by impulses (tree_impulse.h). */
#include "engines/physics/articulated/tree/tree_impulse.h"

static const double fixed = 1e-9; /* 1/kg, of a direction along which nothing moves */
static const double pop = 0.2;    /* m/s, the fastest correction of the depth */

/* ---- directions ---- */

/* The tangents are e x n, of length 1, and n x (e x n), for an axis e of the world. */
static const double *reference(const double n[3])
{
    static const double x[3] = {1, 0, 0}, z[3] = {0, 0, 1};
    return fabs(n[2]) > 0.7 ? x : z;
}

static void set_directions(touch *c)
{
    memcpy(c->D[0], c->n, sizeof c->n);
    vec3_cross(reference(c->n), c->n, c->D[1]);
    double length = sqrt(vec3_dot(c->D[1], c->D[1]));
    for (int i = 0; i < 3; i++) {
        c->D[1][i] /= length;
    }
    vec3_cross(c->n, c->D[1], c->D[2]);
}

static double tangent_length(const touch *c)
{
    double m[3];
    vec3_cross(reference(c->n), c->n, m);
    return sqrt(vec3_dot(m, m));
}

/* n_bar = derivatives by the normal, given those by the directions. */
static void directions_bar(const touch *c, double D_bar[3][3], double n_bar[3])
{
    double part[3], length = tangent_length(c);
    memcpy(n_bar, D_bar[0], 3 * sizeof *n_bar);
    vec3_cross(c->D[1], D_bar[2], part);
    vec3_add_scaled(n_bar, 1, part);
    vec3_cross(D_bar[2], c->n, part);
    vec3_add_scaled(D_bar[1], 1, part);
    double along = vec3_dot(c->D[1], D_bar[1]);
    vec3_add_scaled(D_bar[1], -along, c->D[1]);
    vec3_cross(D_bar[1], reference(c->n), part);
    vec3_add_scaled(n_bar, 1 / length, part);
}

static void directions_dot(touch *c)
{
    double part[3], length = tangent_length(c);
    memcpy(c->D_dot[0], c->n_dot, sizeof c->n_dot);
    vec3_cross(reference(c->n), c->n_dot, part);
    double along = vec3_dot(c->D[1], part);
    for (int i = 0; i < 3; i++) {
        c->D_dot[1][i] = (part[i] - along * c->D[1][i]) / length;
    }
    vec3_cross(c->n_dot, c->D[1], c->D_dot[2]);
    vec3_cross(c->n, c->D_dot[1], part);
    vec3_add_scaled(c->D_dot[2], 1, part);
}

/* sum[3] = the sum of the directions times x[3]. */
static void along(double (*D)[3], const double x[3], double sum[3])
{
    for (int i = 0; i < 3; i++) {
        sum[i] = D[0][i] * x[0] + D[1][i] * x[1] + D[2][i] * x[2];
    }
}

/* ---- velocities after the step ---- */

/* w->after and limb.e for the accelerations w->a. */
static void move_on(const tree *t, tree_work *w)
{
    for (int i = 0; i < t->links; i++) {
        const tree_link *l = &t->link[i];
        limb *b = &w->limb[i];
        memcpy(b->e, limb_field(w, l->parent, TREE_NEXT_VELOCITY), sizeof b->e);
        for (int j = l->v; j < l->v + l->nv; j++) {
            w->after[j] = w->v[j] + w->in.implicit * w->a[j];
            add6(b->e, w->after[j], b->S + 6 * (j - l->v));
        }
    }
}

/* limb.d = velocities of the links that `scale` times the impulse x[3] of contact c adds. */
static void strike(const tree *t, tree_work *w, touch *c, double scale, const double x[3])
{
    double push[3];
    for (int i = 0; i < t->links; i++) {
        memset(w->limb[i].p, 0, sizeof w->limb[i].p);
    }
    along(c->D, x, push);
    tree_touch_push(w, c, TREE_BIAS, -scale, push);
    tree_respond(t, w, w->none, w->rate);
}

/* ---- impulses ---- */

/* The deepest contacts, in their order, if there are too many. */
static void choose(tree_work *w)
{
    impulse_problem *p = w->impulse;
    p->contacts = 0;
    for (int j = 0; j < w->touching; j++) {
        if (!(w->touch[j].depth > 0)) {
            continue;
        }
        if (p->contacts < p->most) {
            w->pressed[p->contacts++] = j;
            continue;
        }
        int least = 0;
        for (int k = 1; k < p->most; k++) {
            least = w->touch[w->pressed[k]].depth < w->touch[w->pressed[least]].depth ? k : least;
        }
        if (w->touch[j].depth > w->touch[w->pressed[least]].depth) {
            for (int k = least; k + 1 < p->most; k++) {
                w->pressed[k] = w->pressed[k + 1];
            }
            w->pressed[p->most - 1] = j;
        }
    }
}

static void set_problem(const tree *t, tree_work *w)
{
    impulse_problem *p = w->impulse;
    size_t rows = 3 * (size_t)p->contacts;
    double h = w->in.implicit, e = t->number[TREE_RESTITUTION];
    for (int k = 0; k < p->contacts; k++) {
        touch *c = &w->touch[w->pressed[k]];
        double before[3], after[3];
        tree_touch_velocity(w, c, TREE_VELOCITY, before);
        tree_touch_velocity(w, c, TREE_NEXT_VELOCITY, after);
        double bounce = -e * vec3_dot(before, c->n), out = t->number[TREE_CORRECTION] * c->depth / h;
        set_directions(c);
        c->bounces = bounce > t->bounce;
        c->corrected = !c->bounces && out < pop;
        p->mu[k] = t->number[TREE_FRICTION] * c->friction;
        for (int r = 0; r < 3; r++) {
            p->b[3 * k + r] = -vec3_dot(after, c->D[r]);
        }
        p->b[3 * k] += c->bounces ? bounce : fmin(out, pop);
    }
    for (int k = 0; k < p->contacts; k++) {
        for (int r = 0; r < 3; r++) {
            const double unit[3] = {r == 0, r == 1, r == 2};
            size_t column = 3 * (size_t)k + (size_t)r;
            strike(t, w, &w->touch[w->pressed[k]], 1, unit);
            for (int l = 0; l < p->contacts; l++) {
                touch *c = &w->touch[w->pressed[l]];
                double u[3];
                tree_touch_velocity(w, c, TREE_RATE, u);
                for (int s = 0; s < 3; s++) {
                    p->A[(3 * (size_t)l + (size_t)s) * rows + column] = vec3_dot(c->D[s], u);
                }
            }
            p->still[column] = !(p->A[column * (rows + 1)] > fixed);
            p->A[column * (rows + 1)] += t->number[TREE_MIXING];
        }
    }
}

void tree_impulse(const tree *t, tree_work *w)
{
    impulse_problem *p = w->impulse;
    move_on(t, w);
    choose(w);
    set_problem(t, w);
    impulse_problem_solve(p);
    for (int j = 0; j < w->touching; j++) {
        w->touch[j].N = 0;
    }
    for (int k = 0; k < p->contacts; k++) {
        touch *c = &w->touch[w->pressed[k]];
        along(c->D, p->f + 3 * k, c->F);
        for (int i = 0; i < 3; i++) {
            c->F[i] /= w->in.implicit;
        }
        c->N = p->f[3 * k] / w->in.implicit;
        tree_touch_push(w, c, TREE_FORCE, 1, c->F);
    }
}

/* ---- adjoint ---- */

/* z for the rates limb.d of a_bar. */
static void multipliers(tree_work *w, double *z)
{
    impulse_problem *p = w->impulse;
    for (int k = 0; k < p->contacts; k++) {
        touch *c = &w->touch[w->pressed[k]];
        double u[3];
        tree_touch_velocity(w, c, TREE_RATE, u);
        for (int r = 0; r < 3; r++) {
            z[3 * k + r] = -vec3_dot(c->D[r], u) / w->in.implicit;
        }
        for (int r = 1; r < 3; r++) {
            z[3 * k] += impulse_problem_slope(p, 3 * k + r) * z[3 * k + r];
        }
    }
    impulse_problem_linear(p, 1, z);
}

static void contact_bar(const tree *t, tree_work *w, touch *c, int k, const double z[3], double *number_bar)
{
    const impulse_problem *p = w->impulse;
    double h = w->in.implicit, e = c->bounces ? t->number[TREE_RESTITUTION] : 0, part[3];
    double before[3], after[3], rate[3], hold[3], push[3], D_bar[3][3], x_bar[3] = {0}, n_bar[3];
    tree_touch_velocity(w, c, TREE_VELOCITY, before);
    tree_touch_velocity(w, c, TREE_NEXT_VELOCITY, after);
    tree_touch_velocity(w, c, TREE_RATE, rate);
    along(c->D, z, hold);
    for (int i = 0; i < 3; i++) {
        push[i] = e * z[0] * c->n[i];
        for (int r = 0; r < 3; r++) {
            D_bar[r][i] =
                z[r] * after[i] + p->f[3 * k + r] / h * rate[i] + (r == 0 ? e * z[0] * before[i] : 0);
        }
    }
    const double *const forces[] = {hold, push, c->F};
    static const tree_field fields[] = {TREE_NEXT_VELOCITY, TREE_VELOCITY, TREE_RATE};
    for (int i = 0; i < 3; i++) {
        double spin[3];
        tree_touch_spin(w, c, fields[i], spin);
        vec3_cross(forces[i], spin, part);
        vec3_add_scaled(x_bar, 1, part);
    }
    tree_touch_push(w, c, TREE_RATE_BAR, 1, c->F);
    tree_touch_push(w, c, TREE_VELOCITY_BAR, 1, hold);
    tree_touch_push(w, c, TREE_VELOCITY_BAR, 1, push);
    tree_touch_push(w, c, TREE_NEXT_BAR, h, hold);
    if (number_bar) {
        double f = p->f[3 * k] / h;
        for (int r = 1; r < 3; r++) {
            double slope = impulse_problem_slope(p, 3 * k + r), side = slope > 0 ? 1 : slope < 0 ? -1 : 0;
            number_bar[TREE_FRICTION] += side * c->friction * f * vec3_dot(c->D[r], rate);
        }
        for (int r = 0; r < 3; r++) {
            number_bar[TREE_MIXING] += z[r] * p->f[3 * k + r];
        }
        number_bar[TREE_RESTITUTION] += c->bounces ? z[0] * vec3_dot(c->n, before) : 0;
        number_bar[TREE_CORRECTION] -= c->corrected ? z[0] * c->depth / h : 0;
    }
    directions_bar(c, D_bar, n_bar);
    tree_touch_bar(t, w, c, c->corrected ? -z[0] * t->number[TREE_CORRECTION] / h : 0, n_bar, x_bar,
                   number_bar);
}

void tree_impulse_bar(const tree *t, tree_work *w, const double *a_bar, double *number_bar)
{
    impulse_problem *p = w->impulse;
    double *z = p->z;
    multipliers(w, z);
    for (int i = 0; i < t->links; i++) {
        memset(w->limb[i].p, 0, sizeof w->limb[i].p);
    }
    for (int k = 0; k < p->contacts; k++) {
        touch *c = &w->touch[w->pressed[k]];
        double hold[3];
        along(c->D, z + 3 * k, hold);
        tree_touch_push(w, c, TREE_BIAS, -w->in.implicit, hold);
    }
    tree_respond(t, w, a_bar, w->rate);
    move_on(t, w);
    for (int k = 0; k < p->contacts; k++) {
        contact_bar(t, w, &w->touch[w->pressed[k]], k, z + 3 * k, number_bar);
    }
}

/* ---- tangent ---- */

void tree_impulse_dot(const tree *t, tree_work *w, const tree_bar *dot)
{
    const impulse_problem *p = w->impulse;
    for (int k = 0; k < p->contacts; k++) {
        touch *c = &w->touch[w->pressed[k]];
        double F_dot[3], more[3] = {0}, second[3];
        tree_touch_dot(t, w, c, dot);
        directions_dot(c);
        for (int r = 1; r < 3; r++) {
            double slope = impulse_problem_slope(p, 3 * k + r), side = slope > 0 ? 1 : slope < 0 ? -1 : 0;
            more[r] = side * c->friction * number_dot(dot, TREE_FRICTION) * p->f[3 * k];
        }
        along(c->D_dot, p->f + 3 * k, F_dot);
        along(c->D, more, second);
        for (int i = 0; i < 3; i++) {
            F_dot[i] = (F_dot[i] + second[i]) / w->in.implicit;
        }
        tree_touch_push_dot(w, c, F_dot);
    }
}

/* limb.ab = change of limb.e, given a_dot. */
static void move_on_dot(const tree *t, tree_work *w, const tree_bar *dot, const double *a_dot)
{
    for (int i = 0; i < t->links; i++) {
        const tree_link *l = &t->link[i];
        limb *b = &w->limb[i];
        memcpy(b->ab, limb_field(w, l->parent, TREE_ACCELERATION_BAR), sizeof b->ab);
        for (int k = 0; k < l->nv; k++) {
            int j = l->v + k;
            if (k >= first_fixed(l)) {
                double S_dot[6];
                cross_motion(b->pose, b->S + 6 * k, S_dot);
                add6(b->ab, w->after[j], S_dot);
            }
            add6(b->ab, (dot->v ? dot->v[j] : 0) + w->in.implicit * a_dot[j], b->S + 6 * k);
        }
    }
}

void tree_impulse_change(const tree *t, tree_work *w, const tree_bar *dot, double *a_dot)
{
    impulse_problem *p = w->impulse;
    double h = w->in.implicit, e = t->number[TREE_RESTITUTION], *x = p->z;
    if (p->contacts == 0) {
        return;
    }
    move_on(t, w);
    move_on_dot(t, w, dot, a_dot);
    for (int k = 0; k < p->contacts; k++) {
        touch *c = &w->touch[w->pressed[k]];
        double before[3], after[3], before_dot[3], after_dot[3], spin[3], part[3];
        tree_touch_velocity(w, c, TREE_VELOCITY, before);
        tree_touch_velocity(w, c, TREE_NEXT_VELOCITY, after);
        tree_touch_velocity(w, c, TREE_VELOCITY_DOT, before_dot);
        tree_touch_velocity(w, c, TREE_ACCELERATION_BAR, after_dot);
        tree_touch_spin(w, c, TREE_VELOCITY, spin);
        vec3_cross(spin, c->x_dot, part);
        vec3_add_scaled(before_dot, 1, part);
        tree_touch_spin(w, c, TREE_NEXT_VELOCITY, spin);
        vec3_cross(spin, c->x_dot, part);
        vec3_add_scaled(after_dot, 1, part);
        for (int r = 0; r < 3; r++) {
            x[3 * k + r] = -vec3_dot(c->D_dot[r], after) - vec3_dot(c->D[r], after_dot) -
                           number_dot(dot, TREE_MIXING) * p->f[3 * k + r];
        }
        if (c->bounces) {
            x[3 * k] -= e * (vec3_dot(c->n_dot, before) + vec3_dot(c->n, before_dot)) +
                        number_dot(dot, TREE_RESTITUTION) * vec3_dot(c->n, before);
        } else if (c->corrected) {
            x[3 * k] +=
                (number_dot(dot, TREE_CORRECTION) * c->depth + t->number[TREE_CORRECTION] * c->depth_dot) / h;
        }
    }
    impulse_problem_linear(p, 0, x);
    for (int i = 0; i < t->links; i++) {
        memset(w->limb[i].p, 0, sizeof w->limb[i].p);
    }
    for (int k = 0; k < p->contacts; k++) {
        touch *c = &w->touch[w->pressed[k]];
        double push[3];
        for (int r = 1; r < 3; r++) {
            x[3 * k + r] += impulse_problem_slope(p, 3 * k + r) * x[3 * k];
        }
        along(c->D, x + 3 * k, push);
        tree_touch_push(w, c, TREE_BIAS, -1 / h, push);
    }
    tree_respond(t, w, w->none, w->rate);
    for (int j = 0; j < t->nv; j++) {
        a_dot[j] += w->rate[j];
    }
}
