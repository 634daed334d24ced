/* SPDX-License-Identifier: Apache-2.0 */
/* tree_dynamics.c - forward and inverse dynamics of a tree of rigid bodies, its mass matrix (tree.h). */
#include "engines/physics/articulated/tree/tree_compliant.h"
#include "engines/physics/articulated/tree/tree_impulse.h"
#ifdef LANES_ISA
#include "engines/physics/articulated/tree/tree_lanes.h"
#endif

/* ---- forces of joints ---- */

/* Forces on the joints and the inertia that acts on each velocity in addition to the links. */
static void joint_forces(const tree *t, tree_work *w)
{
    const real *damping = joint_numbers(t, w, TREE_DAMPING), *spring = joint_numbers(t, w, TREE_SPRING);
    const real *rest = joint_numbers(t, w, TREE_REST), *armature = joint_numbers(t, w, TREE_ARMATURE);
    const real *gain = joint_numbers(t, w, TREE_GAIN), *rate_gain = joint_numbers(t, w, TREE_RATE_GAIN);
    for (int i = 0; i < t->links; i++) {
        const tree_link *l = &t->link[i];
        for (int k = 0, j = l->v; k < l->nv; k++, j++) {
            real slope, limit, v = w->v[j];
            real damper = damping[j] + rate_gain[j] + dry_damper(t, w, j, v, &slope);
            w->tau[j] = (w->in.tau ? w->in.tau[j] : REAL(0)) - damper * v;
            w->effective[j] = armature[j] + w->in.implicit * damper;
            if (l->nv == 1) {
                real q = w->q[l->q];
                w->target[j] = w->in.target ? w->in.target[j] : REAL(0);
                limit_acts(t, w, j, q, v, &limit);
                w->tau[j] += gain[j] * (w->target[j] - q) - spring[j] * (q - rest[j]) + limit;
            }
        }
    }
}

/* ---- forward dynamics ---- */

/* Removes from w->a and limb.a what breaks a coupling. */
static void couple(const tree *t, tree_work *w, int first)
{
    if (first) {
        tree_coupling_factor(t, w);
    }
    memcpy(w->rate, w->a, (size_t)t->nv * sizeof *w->a);
    tree_coupling_project(t, w, w->a);
    for (int j = 0; j < t->nv; j++) {
        w->rate[j] = w->a[j] - w->rate[j];
    }
    tree_rates(t, w, w->rate);
    for (int i = 0; i < t->links; i++) {
        add6(w->limb[i].a, REAL(1), w->limb[i].d);
    }
}

/* w->a for the forces on joints and links; `first`: the articulated inertia too. */
static void accelerate(const tree *t, tree_work *w, int first)
{
    for (int i = 0; i < t->links; i++) {
        limb *b = &w->limb[i];
        real h[6];
        momentum_of(b, b->v, h);
        for (int k = 0; k < 6; k++) {
            b->p[k] = -b->f[k];
        }
        add_cross_force(b->p, REAL(1), b->v, h);
    }
    for (int i = t->links - 1; i >= 0; i--) {
        if (first) {
            tree_articulate(t, w, i);
        }
        tree_pass_bias(t, w, i, w->tau, w->limb[i].drift, w->w);
    }
    for (int i = 0; i < t->links; i++) {
        const tree_link *l = &t->link[i];
        limb *b = &w->limb[i];
        for (int k = 0; k < 3; k++) {
            b->a[k] = l->parent < 0 ? REAL(0) : w->limb[l->parent].a[k];
            b->a[3 + k] = l->parent < 0 ? -NUMBERS(t, w)[TREE_GRAVITY + k] : w->limb[l->parent].a[3 + k];
        }
        add6(b->a, REAL(1), b->drift);
        tree_pass_acceleration(l, b, w->w, b->a, w->a);
    }
    if (t->couplings > 0) {
        couple(t, w, first);
    }
}

/* Finds contacts and adds the forces of the compliant law to the links. */
static void touch_links(const tree *t, tree_work *w)
{
    w->touching = 0;
    for (int i = 0; i < t->links; i++) {
        memset(w->limb[i].f, 0, sizeof w->limb[i].f);
    }
#ifdef LANES_ISA
    if (w->in.contact == TREE_COMPLIANT) {
        tree_lanes_contact(t, w);
    }
#else
    if (w->in.contact != TREE_NO_CONTACT) {
        tree_touch_find(t, w);
    }
    if (w->in.contact == TREE_COMPLIANT) {
        tree_compliant(t, w);
    }
#endif
}

void tree_forward(const tree *t, tree_work *w, const real *q, const real *v, const tree_input *in, real *a)
{
    w->in = *in;
    w->singular = -1;
    tree_place(t, w, q, v);
    for (int i = 0; i < t->links; i++) {
        limb *b = &w->limb[i];
        cross_motion(b->v, b->s, b->drift);
        if (!w->kind[i].grounded) {
            tree_rigid_matrix(b, b->A);
        }
    }
    touch_links(t, w);
    joint_forces(t, w);
    accelerate(t, w, 1);
#ifndef LANES_ISA
    if (in->contact == TREE_COMPLEMENTARITY) {
        tree_impulse(t, w);
        accelerate(t, w, 0);
    }
#endif
    if (a) {
        memcpy(a, w->a, (size_t)t->nv * sizeof *a);
    }
}

/* ---- evaluations that are kept ---- */

size_t tree_kept(const tree *t, tree_law contact)
{
    size_t sum = (size_t)t->nv;
    for (int i = 0; i < t->links; i++) {
        sum += LIMB_KEPT + (size_t)(numbers_of_factor(&t->link[i]) + 12 * t->link[i].nv);
    }
    return contact == TREE_COMPLEMENTARITY || t->couplings > 0 ? 0 : sum;
}

void tree_keep(const tree *t, const tree_work *w, real *kept)
{
    memcpy(kept, w->a, (size_t)t->nv * sizeof *kept);
    kept += t->nv;
    for (int i = 0; i < t->links; i++) {
        const limb *b = &w->limb[i];
        const int factor = numbers_of_factor(&t->link[i]), columns = 6 * t->link[i].nv;
        memcpy(kept, b, LIMB_KEPT * sizeof *kept);
        kept += LIMB_KEPT;
        memcpy(kept, b->D, (size_t)factor * sizeof *kept);
        kept += factor;
        memcpy(kept, b->S, (size_t)columns * sizeof *kept);
        kept += columns;
        memcpy(kept, b->U, (size_t)columns * sizeof *kept);
        kept += columns;
    }
}

void tree_recall(const tree *t, tree_work *w, const real *q, const real *v, const tree_input *in,
                 const real *kept)
{
    w->in = *in;
    tree_refer(t, w, q, v);
    for (int j = 0; j < t->nv; j++) {
        w->target[j] = in->target ? in->target[j] : REAL(0);
    }
    memcpy(w->a, kept, (size_t)t->nv * sizeof *kept);
    kept += t->nv;
    for (int i = 0; i < t->links; i++) {
        limb *b = &w->limb[i];
        const int factor = numbers_of_factor(&t->link[i]), columns = 6 * t->link[i].nv;
        memcpy(b, kept, LIMB_KEPT * sizeof *kept);
        kept += LIMB_KEPT;
        memcpy(b->D, kept, (size_t)factor * sizeof *kept);
        kept += factor;
        memcpy(b->S, kept, (size_t)columns * sizeof *kept);
        kept += columns;
        memcpy(b->U, kept, (size_t)columns * sizeof *kept);
        kept += columns;
    }
    touch_links(t, w);
}

#ifndef LANES_ISA

int tree_touching(const tree_work *w, double *force)
{
    int count = 0;
    *force = 0;
    for (int k = 0; k < w->touching; k++) {
        *force += w->touch[k].N;
        count += w->touch[k].depth > 0;
    }
    return count;
}

int tree_singular(const tree *t, const tree_work *w)
{
    (void)t;
    return w->singular;
}

/* ---- inverse dynamics, mass matrix ---- */

void tree_inverse(const tree *t, tree_work *w, const double *q, const double *v, const double *a, double *tau)
{
    tree_place(t, w, q, v);
    for (int i = 0; i < t->links; i++) {
        const tree_link *l = &t->link[i];
        limb *b = &w->limb[i];
        double h[6];
        cross_motion(b->v, b->s, b->a);
        for (int k = 0; k < 3; k++) {
            b->a[k] += l->parent < 0 ? 0 : w->limb[l->parent].a[k];
            b->a[3 + k] += l->parent < 0 ? -t->number[TREE_GRAVITY + k] : w->limb[l->parent].a[3 + k];
        }
        for (int k = 0; k < l->nv; k++) {
            add6(b->a, a[l->v + k], b->S + 6 * k);
        }
        momentum_of(b, b->v, h);
        momentum_of(b, b->a, b->p);
        add_cross_force(b->p, 1, b->v, h);
    }
    for (int i = t->links - 1; i >= 0; i--) {
        const tree_link *l = &t->link[i];
        for (int k = 0; k < l->nv; k++) {
            tau[l->v + k] = dot6(w->limb[i].S + 6 * k, w->limb[i].p) +
                            joint_numbers(t, w, TREE_ARMATURE)[l->v + k] * a[l->v + k];
        }
        if (l->parent >= 0) {
            add6(w->limb[l->parent].p, 1, w->limb[i].p);
        }
    }
}

void tree_mass_matrix(const tree *t, tree_work *w, const double *q, double *M)
{
    size_t n = (size_t)t->nv;
    memset(M, 0, n * n * sizeof *M);
    tree_place(t, w, q, NULL);
    for (int i = 0; i < t->links; i++) {
        tree_rigid_matrix(&w->limb[i], w->limb[i].A);
    }
    for (int i = t->links - 1; i >= 0; i--) {
        const tree_link *l = &t->link[i];
        limb *b = &w->limb[i];
        for (int k = 0; k < l->nv; k++) {
            size_t row = (size_t)(l->v + k);
            apply36(b->A, b->S + 6 * k, b->U + 6 * k);
            for (int up = i; up >= 0; up = t->link[up].parent) {
                for (int j = 0; j < t->link[up].nv; j++) {
                    size_t column = (size_t)(t->link[up].v + j);
                    double value = dot6(w->limb[up].S + 6 * j, b->U + 6 * k);
                    M[row * n + column] = value;
                    M[column * n + row] = value;
                }
            }
        }
        for (int k = 0; k < l->nv; k++) {
            M[(size_t)(l->v + k) * (n + 1)] += joint_numbers(t, w, TREE_ARMATURE)[l->v + k];
        }
        for (int k = 0; l->parent >= 0 && k < 36; k++) {
            w->limb[l->parent].A[k] += b->A[k];
        }
    }
}

#endif
