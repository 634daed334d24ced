/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c - dynamics of a tree of rigid bodies, with adjoint and tangent (tree.h). */
#include "engines/physics/articulated/tree.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"

#include <math.h>
#include <string.h>

/* ---- spatial vectors ---- */

static inline double dot6(const double a[6], const double b[6])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5];
}

/* y += s x */
static inline void add6(double y[6], double s, const double x[6])
{
    for (int k = 0; k < 6; k++) {
        y[k] += s * x[k];
    }
}

/* out = v x m for a motion m; out must differ from both. */
static inline void cross_motion(const double v[6], const double m[6], double out[6])
{
    out[0] = v[1] * m[2] - v[2] * m[1];
    out[1] = v[2] * m[0] - v[0] * m[2];
    out[2] = v[0] * m[1] - v[1] * m[0];
    out[3] = v[1] * m[5] - v[2] * m[4] + v[4] * m[2] - v[5] * m[1];
    out[4] = v[2] * m[3] - v[0] * m[5] + v[5] * m[0] - v[3] * m[2];
    out[5] = v[0] * m[4] - v[1] * m[3] + v[3] * m[1] - v[4] * m[0];
}

/* out += s (v x* f) for a force f; out must differ from both. */
static inline void add_cross_force(double out[6], double s, const double v[6], const double f[6])
{
    out[0] += s * (v[1] * f[2] - v[2] * f[1] + v[4] * f[5] - v[5] * f[4]);
    out[1] += s * (v[2] * f[0] - v[0] * f[2] + v[5] * f[3] - v[3] * f[5]);
    out[2] += s * (v[0] * f[1] - v[1] * f[0] + v[3] * f[4] - v[4] * f[3]);
    out[3] += s * (v[1] * f[5] - v[2] * f[4]);
    out[4] += s * (v[2] * f[3] - v[0] * f[5]);
    out[5] += s * (v[0] * f[4] - v[1] * f[3]);
}

/* Adds the force f at point x. */
static inline void add_wrench(double out[6], double s, const double x[3], const double f[3])
{
    out[0] += s * (x[1] * f[2] - x[2] * f[1]);
    out[1] += s * (x[2] * f[0] - x[0] * f[2]);
    out[2] += s * (x[0] * f[1] - x[1] * f[0]);
    out[3] += s * f[0];
    out[4] += s * f[1];
    out[5] += s * f[2];
}

/* The velocity at point x of a body with spatial velocity v. */
static inline void velocity_at(const double v[6], const double x[3], double out[3])
{
    out[0] = v[3] + v[1] * x[2] - v[2] * x[1];
    out[1] = v[4] + v[2] * x[0] - v[0] * x[2];
    out[2] = v[5] + v[0] * x[1] - v[1] * x[0];
}

/* ---- model ---- */

tree *tree_create(ds_memory *m, int room)
{
    tree *t = ds_memory_take(m, 1, sizeof *t);
    if (t == NULL) {
        return NULL;
    }
    size_t n = (size_t)room + 1;
    t->memory = m;
    t->room = room;
    t->link = ds_memory_take(m, n, sizeof *t->link);
    t->shape = ds_memory_take(m, n, sizeof *t->shape);
    t->site = ds_memory_take(m, n, sizeof *t->site);
    t->start = ds_memory_doubles(m, 7 * n);
    t->excluded = ds_memory_take(m, n, sizeof *t->excluded);
    t->lower = ds_memory_doubles(m, 6 * n);
    t->upper = ds_memory_doubles(m, 6 * n);
    t->numbers = TREE_GLOBALS + (int)n * (TREE_LINK_NUMBERS + 6 * TREE_JOINT_NUMBERS);
    t->number = ds_memory_doubles(m, (size_t)t->numbers);
    t->slip = 0.05;
    return m->failed ? NULL : t;
}

int tree_add_link(tree *t, int parent, tree_joint kind)
{
    static const int nq[] = {0, 1, 1, 4, 7}, nv[] = {0, 1, 1, 3, 6};
    int i = t->links++;
    tree_link *l = &t->link[i];
    *l = (tree_link){.parent = parent, .kind = kind, .axis = {0, 0, 1}, .q = t->nq, .v = t->nv};
    l->nq = nq[kind];
    l->nv = nv[kind];
    mat3_identity(l->rotation);
    if (l->nq >= 4) {
        t->start[t->nq + l->nq - 4] = 1;
    }
    for (int k = 0; k < l->nv; k++) {
        t->lower[t->nv + k] = -INFINITY;
        t->upper[t->nv + k] = INFINITY;
    }
    t->nq += l->nq;
    t->nv += l->nv;
    return i;
}

int tree_add_shape(tree *t, int link, tree_form form)
{
    tree_shape *s = &t->shape[t->shapes];
    *s = (tree_shape){.link = link, .form = form, .friction = 1, .visible = 1, .collides = 1, .mask = {1, 1}};
    mat3_identity(s->rotation);
    return t->shapes++;
}

int tree_add_site(tree *t, int link)
{
    tree_site *s = &t->site[t->sites];
    *s = (tree_site){.link = link};
    mat3_identity(s->rotation);
    return t->sites++;
}

/* The balls of a shape, in its link: their number, at most 16. */
static int balls_of(const tree_shape *s, double at[16][3], double *radius)
{
    int n = 0;
    double local[16][3] = {{0}};
    *radius = s->form == TREE_SPHERE || s->form == TREE_CAPSULE ? s->size[0] : 0;
    if (s->form == TREE_SPHERE) {
        n = 1;
    } else if (s->form == TREE_CAPSULE) {
        n = 2;
        local[0][2] = -s->size[1];
        local[1][2] = s->size[1];
    } else if (s->form == TREE_BOX) {
        for (n = 0; n < 8; n++) {
            for (int k = 0; k < 3; k++) {
                local[n][k] = (n >> k & 1) ? s->size[k] : -s->size[k];
            }
        }
    } else if (s->form == TREE_CYLINDER) {
        for (n = 0; n < 16; n++) {
            double angle = 0.78539816339744830962 * (n % 8);
            local[n][0] = s->size[0] * cos(angle);
            local[n][1] = s->size[0] * sin(angle);
            local[n][2] = n < 8 ? -s->size[1] : s->size[1];
        }
    }
    for (int i = 0; i < n; i++) {
        mat3_apply(s->rotation, local[i], at[i]);
        vec3_add_scaled(at[i], 1, s->at);
    }
    return n;
}

/* The link that link i moves with: itself, or the one that it is fixed to. */
static int moving(const tree *t, int i)
{
    while (i >= 0 && t->link[i].kind == TREE_FIXED) {
        i = t->link[i].parent;
    }
    return i;
}

static int related(const tree *t, int a, int b)
{
    a = moving(t, a);
    b = moving(t, b);
    int up_a = a < 0 ? -1 : moving(t, t->link[a].parent), up_b = b < 0 ? -1 : moving(t, t->link[b].parent);
    for (int k = 0; k < t->exclusions; k++) {
        int first = moving(t, t->excluded[k][0]), second = moving(t, t->excluded[k][1]);
        if ((first == a && second == b) || (first == b && second == a)) {
            return 1;
        }
    }
    return a == b || (up_a == b && b >= 0) || (up_b == a && a >= 0);
}

static int can_meet(const tree *t, const tree_shape *ball, const tree_shape *solid)
{
    int solid_form = solid->form == TREE_SPHERE || solid->form == TREE_CAPSULE || solid->form == TREE_BOX ||
                     solid->form == TREE_PLANE;
    /* Of two balls of a single point, the first one has the list. */
    int twice = ball->form == TREE_SPHERE && solid->form == TREE_SPHERE && solid < ball;
    return ball != solid && ball->collides && solid->collides && solid_form && !twice &&
           ((ball->mask[0] & solid->mask[1]) || (solid->mask[0] & ball->mask[1])) &&
           !related(t, ball->link, solid->link);
}

/* Lists the contacts from number `have`; with list NULL, counts them. */
static int list_contacts(const tree *t, tree_contact *list)
{
    int count = 0;
    for (int a = 0; a < t->shapes; a++) {
        double at[16][3], radius;
        const tree_shape *ball = &t->shape[a];
        int n = balls_of(ball, at, &radius);
        for (int b = 0; b < t->shapes; b++) {
            const tree_shape *s = &t->shape[b];
            for (int i = 0; i < n && can_meet(t, ball, s); i++, count++) {
                if (list == NULL) {
                    continue;
                }
                tree_contact *c = &list[count];
                *c =
                    (tree_contact){.link = ball->link, .against = s->link, .radius = radius, .form = s->form};
                c->friction = fmax(ball->friction, s->friction);
                memcpy(c->at, at[i], sizeof c->at);
                memcpy(c->place, s->at, sizeof c->place);
                memcpy(c->turn, s->rotation, sizeof c->turn);
                memcpy(c->size, s->size, sizeof c->size);
            }
        }
    }
    return count;
}

int tree_contacts(tree *t)
{
    t->contacts = list_contacts(t, NULL);
    t->contact = ds_memory_take(t->memory, (size_t)t->contacts + 1, sizeof *t->contact);
    if (t->contact == NULL) {
        return 0;
    }
    list_contacts(t, t->contact);
    return 1;
}

int tree_find_link(const tree *t, const char *name)
{
    for (int i = 0; i < t->links; i++) {
        if (strcmp(t->link[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

int tree_find_joint(const tree *t, const char *name)
{
    for (int i = 0; i < t->links; i++) {
        if (t->link[i].kind != TREE_FIXED && strcmp(t->link[i].joint, name) == 0) {
            return i;
        }
    }
    return -1;
}

int tree_find_site(const tree *t, const char *name)
{
    for (int i = 0; i < t->sites; i++) {
        if (strcmp(t->site[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

/* ---- room ---- */

typedef struct limb {
    double R[9], x[3];           /* pose: axes in the world, origin against the point of reference */
    double m, c[3], h[3], I[6];  /* mass, its centre, m c, inertia about the reference: xx yy zz xy xz yz */
    double v[6], s[6], drift[6]; /* velocity; its part by columns fixed in the link; v x s */
    double f[6];                 /* force of contacts */
    double A[36], p[6];          /* articulated inertia, bias force */
    double D[36];                /* Cholesky factor of S' A S, for one joint velocity its inverse */
    double a[6], d[6];           /* acceleration minus gravity; velocity under the rates of the adjoint */
    double fb[6], ab[6], vb[6], pose[6]; /* adjoints of d, a, v; derivative by the pose */
    double S[36], U[36];                 /* columns of the joint, one after the other; A S */
} limb;

/* A contact that touches. */
typedef struct touch {
    int k;             /* of tree.contact */
    double c[3], x[3]; /* centre of the ball and point of contact, against the point of reference */
    double n[3], mask[3], length; /* normal; derivatives of the distance: see distance() */
    double depth, slip[3], speed, approach, N, F[3];
    double R[9]; /* axes of the shape */
} touch;

struct tree_work {
    limb *limb;
    double ref[3];
    double *q, *v, *a, *tau; /* arguments and accelerations of the last evaluation */
    double *w, *rate, *target, *effective;
    tree_input in;
    tree_bar bar; /* where the derivatives go */
    touch *touch;
    int touching, singular;
};

tree_work *tree_work_create(ds_memory *m, const tree *t)
{
    tree_work *w = ds_memory_take(m, 1, sizeof *w);
    if (w == NULL) {
        return NULL;
    }
    w->limb = ds_memory_take(m, (size_t)t->links + 1, sizeof *w->limb);
    w->touch = ds_memory_take(m, (size_t)t->contacts + 1, sizeof *w->touch);
    w->q = ds_memory_doubles(m, (size_t)t->nq + 1);
    ds_memory_each(
        m, (size_t)t->nv + 1,
        (double **const[]){&w->v, &w->a, &w->tau, &w->w, &w->rate, &w->target, &w->effective, NULL});
    return m->failed ? NULL : w;
}

/* ---- poses and velocities ---- */

/* The columns of the joint that are fixed in the link begin with this one; the ones before it are fixed in
 * the world. */
static inline int first_fixed(const tree_link *l)
{
    return l->kind == TREE_FREE ? 3 : 0;
}

/* R = T Rot(axis, angle) */
static void turn_about(const double T[9], const double axis[3], double angle, double R[9])
{
    double s = sin(angle), c = cos(angle), one = 1 - c, x = axis[0], y = axis[1], z = axis[2];
    const double m[9] = {c + one * x * x,     one * x * y - s * z, one * x * z + s * y,
                         one * x * y + s * z, c + one * y * y,     one * y * z - s * x,
                         one * x * z - s * y, one * y * z + s * x, c + one * z * z};
    mat3_mul(T, m, R);
}

static void turning_columns(limb *b, double *S)
{
    for (int k = 0; k < 3; k++) {
        double *column = S + 6 * k;
        const double e[3] = {b->R[k], b->R[3 + k], b->R[6 + k]};
        memcpy(column, e, sizeof e);
        vec3_cross(b->x, e, column + 3);
    }
}

static void pose_of(const tree *t, const tree_work *w, int i, const double *q)
{
    static const double world[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const tree_link *l = &t->link[i];
    const limb *up = l->parent < 0 ? NULL : &w->limb[l->parent];
    limb *b = &w->limb[i];
    double at[3], T[9], axis[3];
    q += l->q;
    if (l->kind == TREE_FREE) {
        quat_matrix(q + 3, b->R);
        memset(b->S, 0, 18 * sizeof *b->S);
        for (int k = 0; k < 3; k++) {
            b->x[k] = q[k] - w->ref[k];
            b->S[6 * k + 3 + k] = 1;
        }
        turning_columns(b, b->S + 18);
        return;
    }
    if (up) {
        double length = t->number[tree_link_number(t, TREE_LENGTH, l->parent)];
        mat3_apply(up->R, l->offset, at);
        for (int k = 0; k < 3; k++) {
            b->x[k] = up->x[k] + length * at[k];
        }
        mat3_mul(up->R, l->rotation, T);
    } else {
        for (int k = 0; k < 3; k++) {
            b->x[k] = l->offset[k] - w->ref[k];
        }
        mat3_mul(world, l->rotation, T);
    }
    if (l->kind == TREE_REVOLUTE) {
        turn_about(T, l->axis, q[0] - l->zero, b->R);
        mat3_apply(T, l->axis, axis);
        memcpy(b->S, axis, sizeof axis);
        vec3_cross(b->x, axis, b->S + 3);
    } else if (l->kind == TREE_PRISMATIC) {
        memcpy(b->R, T, sizeof T);
        mat3_apply(T, l->axis, axis);
        vec3_add_scaled(b->x, q[0] - l->zero, axis);
        memset(b->S, 0, 3 * sizeof *b->S);
        memcpy(b->S + 3, axis, sizeof axis);
    } else if (l->kind == TREE_SPHERICAL) {
        double R[9];
        quat_matrix(q, R);
        mat3_mul(T, R, b->R);
        turning_columns(b, b->S);
    } else {
        memcpy(b->R, T, sizeof T);
    }
}

static void inertia_of(const tree *t, int i, limb *b)
{
    const tree_link *l = &t->link[i];
    double factor = t->number[tree_link_number(t, TREE_MASS, i)];
    double length = t->number[tree_link_number(t, TREE_LENGTH, i)], m = factor * l->mass, T[9];
    mat3_apply(b->R, l->centre, b->c);
    for (int k = 0; k < 3; k++) {
        b->c[k] = b->x[k] + length * b->c[k];
        b->h[k] = m * b->c[k];
    }
    b->m = m;
    mat3_mul(b->R, l->inertia, T);
    const double *R = b->R, *c = b->c, *h = b->h;
    double cc = vec3_dot(c, h);
    b->I[0] = factor * (T[0] * R[0] + T[1] * R[1] + T[2] * R[2]) + cc - h[0] * c[0];
    b->I[1] = factor * (T[3] * R[3] + T[4] * R[4] + T[5] * R[5]) + cc - h[1] * c[1];
    b->I[2] = factor * (T[6] * R[6] + T[7] * R[7] + T[8] * R[8]) + cc - h[2] * c[2];
    b->I[3] = factor * (T[0] * R[3] + T[1] * R[4] + T[2] * R[5]) - h[0] * c[1];
    b->I[4] = factor * (T[0] * R[6] + T[1] * R[7] + T[2] * R[8]) - h[0] * c[2];
    b->I[5] = factor * (T[3] * R[6] + T[4] * R[7] + T[5] * R[8]) - h[1] * c[2];
}

/* out = I v of the rigid body. */
static inline void momentum_of(const limb *b, const double v[6], double out[6])
{
    const double *I = b->I, *h = b->h;
    out[0] = I[0] * v[0] + I[3] * v[1] + I[4] * v[2] + h[1] * v[5] - h[2] * v[4];
    out[1] = I[3] * v[0] + I[1] * v[1] + I[5] * v[2] + h[2] * v[3] - h[0] * v[5];
    out[2] = I[4] * v[0] + I[5] * v[1] + I[2] * v[2] + h[0] * v[4] - h[1] * v[3];
    out[3] = b->m * v[3] + v[1] * h[2] - v[2] * h[1];
    out[4] = b->m * v[4] + v[2] * h[0] - v[0] * h[2];
    out[5] = b->m * v[5] + v[0] * h[1] - v[1] * h[0];
}

static void velocity_of(const tree *t, const tree_work *w, int i, const double *v)
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
    add6(b->v, 1, b->s);
}

void tree_place(const tree *t, tree_work *w, const double *q, const double *v)
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
    for (int i = 0; i < t->links; i++) {
        pose_of(t, w, i, q);
        inertia_of(t, i, &w->limb[i]);
        velocity_of(t, w, i, w->v);
    }
}

/* ---- contact ---- */

/* Signed distance of y from a solid in its frame. It is |mask y'| - constant with a shifted y', so its second
 * derivative is (mask - g g') / length; length INFINITY: 0. */
static double distance(const tree_contact *c, const double y[3], double g[3], double mask[3], double *length)
{
    double e[3] = {y[0], y[1], y[2]}, radius = c->form == TREE_BOX ? 0 : c->size[0];
    mask[0] = mask[1] = mask[2] = 1;
    *length = INFINITY;
    if (c->form == TREE_PLANE) {
        g[0] = g[1] = 0;
        g[2] = 1;
        return y[2];
    }
    if (c->form == TREE_CAPSULE) {
        mask[2] = fabs(y[2]) > c->size[1];
        e[2] = mask[2] > 0 ? y[2] - copysign(c->size[1], y[2]) : 0;
    } else if (c->form == TREE_BOX) {
        int face = 0, outside = 0;
        for (int k = 0; k < 3; k++) {
            double over = fabs(y[k]) - c->size[k];
            mask[k] = over > 0;
            e[k] = over > 0 ? copysign(over, y[k]) : 0;
            outside |= over > 0;
            face = over > fabs(y[face]) - c->size[face] ? k : face;
        }
        if (!outside) {
            g[0] = g[1] = g[2] = 0;
            g[face] = copysign(1, y[face]);
            return fabs(y[face]) - c->size[face];
        }
    }
    double norm = sqrt(vec3_dot(e, e));
    for (int k = 0; k < 3; k++) {
        g[k] = norm > 0 ? e[k] / norm : k == 2;
    }
    *length = norm > 0 ? norm : (double)INFINITY;
    return norm - radius;
}

/* out = second derivative of the distance, applied to z in the axes of the shape. */
static void bend(const touch *c, const double g[3], const double z[3], double out[3])
{
    const double m[3] = {c->mask[0] * z[0], c->mask[1] * z[1], c->mask[2] * z[2]};
    double along = vec3_dot(g, m);
    for (int k = 0; k < 3; k++) {
        out[k] = isinf(c->length) ? 0 : (m[k] - along * g[k]) / c->length;
    }
}

/* A point of a link against the point of reference. */
static void point_of(const tree *t, const tree_work *w, int link, const double at[3], double x[3])
{
    if (link < 0) {
        for (int k = 0; k < 3; k++) {
            x[k] = at[k] - w->ref[k];
        }
        return;
    }
    double length = t->number[tree_link_number(t, TREE_LENGTH, link)];
    mat3_apply(w->limb[link].R, at, x);
    for (int k = 0; k < 3; k++) {
        x[k] = w->limb[link].x[k] + length * x[k];
    }
}

static void relative_velocity(const tree_work *w, const tree_contact *c, const double x[3], int rates,
                              double out[3])
{
    static const double rest[6];
    double other[3];
    const limb *a = c->link < 0 ? NULL : &w->limb[c->link], *b = c->against < 0 ? NULL : &w->limb[c->against];
    velocity_at(a ? (rates ? a->d : a->v) : rest, x, out);
    velocity_at(b ? (rates ? b->d : b->v) : rest, x, other);
    vec3_add_scaled(out, -1, other);
}

/* Hunt and Crossley (1975) with exponent 3/2; friction of Coulomb, proportional to the slip below t->slip. */
static void force_of(const tree *t, touch *c, double friction, const double u[3])
{
    double un = vec3_dot(u, c->n), power = c->depth * sqrt(c->depth);
    double normal = t->number[TREE_STIFFNESS] * power * (1 - t->number[TREE_DISSIPATION] * un);
    c->approach = un;
    c->N = normal > 0 ? normal : 0;
    for (int k = 0; k < 3; k++) {
        c->slip[k] = u[k] - un * c->n[k];
    }
    c->speed = sqrt(vec3_dot(c->slip, c->slip) + t->slip * t->slip);
    double drag = t->number[TREE_FRICTION] * friction * c->N / c->speed;
    for (int k = 0; k < 3; k++) {
        c->F[k] = c->N * c->n[k] - drag * c->slip[k];
    }
}

/* Finds the contacts that touch and adds their forces to the links. */
static void press(const tree *t, tree_work *w)
{
    w->touching = 0;
    for (int k = 0; k < t->contacts; k++) {
        const tree_contact *c = &t->contact[k];
        touch *at = &w->touch[w->touching];
        double place[3], r[3], y[3], g[3], u[3];
        point_of(t, w, c->link, c->at, at->c);
        point_of(t, w, c->against, c->place, place);
        for (int i = 0; i < 3; i++) {
            r[i] = at->c[i] - place[i];
        }
        if (c->form != TREE_PLANE) {
            double reach = c->radius + c->size[0] + (c->form == TREE_BOX ? c->size[1] + c->size[2] : 0) +
                           (c->form == TREE_CAPSULE ? c->size[1] : 0);
            if (vec3_dot(r, r) >= reach * reach) {
                continue;
            }
        }
        if (c->against < 0) {
            memcpy(at->R, c->turn, sizeof at->R);
        } else {
            mat3_mul(w->limb[c->against].R, c->turn, at->R);
        }
        mat3_tapply(at->R, r, y);
        at->depth = c->radius - distance(c, y, g, at->mask, &at->length);
        if (!(at->depth > 0)) {
            continue;
        }
        mat3_apply(at->R, g, at->n);
        for (int i = 0; i < 3; i++) {
            at->x[i] = at->c[i] - c->radius * at->n[i];
        }
        at->k = k;
        relative_velocity(w, c, at->x, 0, u);
        force_of(t, at, c->friction, u);
        if (c->link >= 0) {
            add_wrench(w->limb[c->link].f, 1, at->x, at->F);
        }
        if (c->against >= 0) {
            add_wrench(w->limb[c->against].f, -1, at->x, at->F);
        }
        w->touching++;
    }
}

/* Derivatives of the force along F_bar, by depth, normal and velocity; those by the numbers are added. */
static void force_bar(const tree *t, const touch *c, double friction, const double F_bar[3],
                      double *depth_bar, double n_bar[3], double u_bar[3], double *number_bar)
{
    double mu = t->number[TREE_FRICTION] * friction, k = t->number[TREE_STIFFNESS];
    double damping = t->number[TREE_DISSIPATION], root = sqrt(c->depth), power = c->depth * root;
    double along = vec3_dot(F_bar, c->slip), slip_bar[3];
    double N_bar = vec3_dot(F_bar, c->n) - mu * along / c->speed, un_bar = 0;
    for (int i = 0; i < 3; i++) {
        slip_bar[i] = -mu * c->N / c->speed * (F_bar[i] - along * c->slip[i] / (c->speed * c->speed));
        n_bar[i] = c->N * F_bar[i];
    }
    *depth_bar = 0;
    if (c->N > 0) {
        double factor = 1 - damping * c->approach;
        *depth_bar = N_bar * 1.5 * k * root * factor;
        un_bar = -N_bar * k * power * damping;
        if (number_bar) {
            number_bar[TREE_STIFFNESS] += N_bar * power * factor;
            number_bar[TREE_DISSIPATION] -= N_bar * k * power * c->approach;
            number_bar[TREE_FRICTION] -= friction * c->N * along / c->speed;
        }
    }
    un_bar -= vec3_dot(slip_bar, c->n);
    for (int i = 0; i < 3; i++) {
        /* slip = u - (u n) n and un = u n, with u = slip + approach n */
        u_bar[i] = slip_bar[i] + un_bar * c->n[i];
        n_bar[i] += un_bar * (c->slip[i] + c->approach * c->n[i]) - c->approach * slip_bar[i];
    }
}

static void length_bar(const tree *t, const tree_work *w, int link, const double at[3], const double x_bar[3],
                       double *number_bar)
{
    if (number_bar && link >= 0) {
        double x[3];
        mat3_apply(w->limb[link].R, at, x);
        number_bar[tree_link_number(t, TREE_LENGTH, link)] += vec3_dot(x, x_bar);
    }
}

/* Adds the derivatives of the power of the contact forces under the rates of the adjoint. */
static void press_bar(const tree *t, tree_work *w, double *number_bar)
{
    static const double rest[6];
    for (int j = 0; j < w->touching; j++) {
        const touch *c = &w->touch[j];
        const tree_contact *k = &t->contact[c->k];
        limb *a = k->link < 0 ? NULL : &w->limb[k->link], *b = k->against < 0 ? NULL : &w->limb[k->against];
        double rate[3], depth_bar, n_bar[3], u_bar[3], x_bar[3], spin[3], d_spin[3], part[3];
        relative_velocity(w, k, c->x, 1, rate);
        force_bar(t, c, k->friction, rate, &depth_bar, n_bar, u_bar, number_bar);
        for (int i = 0; i < 3; i++) {
            spin[i] = (a ? a->v : rest)[i] - (b ? b->v : rest)[i];
            d_spin[i] = (a ? a->d : rest)[i] - (b ? b->d : rest)[i];
        }
        vec3_cross(u_bar, spin, x_bar);
        vec3_cross(c->F, d_spin, part);
        vec3_add_scaled(x_bar, 1, part);
        vec3_add_scaled(n_bar, -k->radius, x_bar);
        /* From the normal and the depth to the place of the ball in the frame of the shape. */
        double g[3], g_bar[3], y_bar[3], y_world[3], c_bar[3];
        mat3_tapply(c->R, c->n, g);
        mat3_tapply(c->R, n_bar, g_bar);
        bend(c, g, g_bar, y_bar);
        vec3_add_scaled(y_bar, -depth_bar, g);
        mat3_apply(c->R, y_bar, y_world);
        for (int i = 0; i < 3; i++) {
            c_bar[i] = x_bar[i] + y_world[i];
        }
        if (a) {
            add_wrench(a->fb, 1, c->x, c->F);
            add_wrench(a->vb, 1, c->x, u_bar);
            add_wrench(a->pose, 1, c->c, c_bar);
            length_bar(t, w, k->link, k->at, c_bar, number_bar);
        }
        if (b) {
            add_wrench(b->fb, -1, c->x, c->F);
            add_wrench(b->vb, -1, c->x, u_bar);
            add_wrench(b->pose, -1, c->c, y_world);
            vec3_cross(c->n, n_bar, part);
            for (int i = 0; i < 3; i++) {
                b->pose[i] += part[i];
                part[i] = -y_world[i];
            }
            length_bar(t, w, k->against, k->place, part, number_bar);
        }
    }
}

int tree_touching(const tree_work *w, double *force)
{
    *force = 0;
    for (int k = 0; k < w->touching; k++) {
        *force += w->touch[k].N;
    }
    return w->touching;
}

/* ---- forces of joints ---- */

static inline const double *joint_numbers(const tree *t, enum tree_joint_number what)
{
    return t->number + tree_joint_number(t, what, 0);
}

/* How far position q is beyond its limits: negative below the lower one. */
static double beyond(const tree *t, int j, double q)
{
    return q < t->lower[j] ? q - t->lower[j] : q > t->upper[j] ? q - t->upper[j] : 0;
}

/* The force of a limit: that of a spring and a damper which never pull. */
static double limit_force(const tree *t, int j, double q, double v)
{
    double x = beyond(t, j, q), f = t->number[TREE_LIMIT_STIFFNESS] * x + t->number[TREE_LIMIT_DAMPING] * v;
    return x != 0 && f * x > 0 ? -f : 0;
}

/* Forces on the joints and the inertia that acts on each velocity in addition to the links. */
static void joint_forces(const tree *t, tree_work *w)
{
    const double *damping = joint_numbers(t, TREE_DAMPING), *spring = joint_numbers(t, TREE_SPRING);
    const double *rest = joint_numbers(t, TREE_REST), *armature = joint_numbers(t, TREE_ARMATURE);
    const double *gain = joint_numbers(t, TREE_GAIN), *rate_gain = joint_numbers(t, TREE_RATE_GAIN);
    for (int i = 0; i < t->links; i++) {
        const tree_link *l = &t->link[i];
        for (int k = 0, j = l->v; k < l->nv; k++, j++) {
            double damper = damping[j] + rate_gain[j], v = w->v[j];
            w->tau[j] = (w->in.tau ? w->in.tau[j] : 0) - damper * v;
            w->effective[j] = armature[j] + w->in.implicit * damper;
            if (l->nv == 1) {
                double q = w->q[l->q];
                w->target[j] = w->in.target ? w->in.target[j] : 0;
                w->tau[j] +=
                    gain[j] * (w->target[j] - q) - spring[j] * (q - rest[j]) + limit_force(t, j, q, v);
            }
        }
    }
}

/* Adds the derivatives of the joint forces along w->rate, at the accelerations w->a. */
static void joint_forces_bar(const tree *t, const tree_work *w, const tree_bar *bar)
{
    for (int i = 0; i < t->links; i++) {
        const tree_link *l = &t->link[i];
        for (int k = 0, j = l->v; k < l->nv; k++, j++) {
            double r = w->rate[j], v = w->v[j], q_bar = 0;
            int d = tree_joint_number(t, TREE_DAMPING, j), g = tree_joint_number(t, TREE_GAIN, j);
            int rg = tree_joint_number(t, TREE_RATE_GAIN, j), s = tree_joint_number(t, TREE_SPRING, j);
            int rest = tree_joint_number(t, TREE_REST, j);
            double v_bar = -(t->number[d] + t->number[rg]) * r, slow = -r * (v + w->in.implicit * w->a[j]);
            if (bar->tau) {
                bar->tau[j] += r;
            }
            if (bar->number) {
                bar->number[d] += slow;
                bar->number[rg] += slow;
                bar->number[tree_joint_number(t, TREE_ARMATURE, j)] -= r * w->a[j];
            }
            if (l->nv == 1) {
                double q = w->q[l->q], x = beyond(t, j, q);
                q_bar = -(t->number[g] + t->number[s]) * r;
                if (limit_force(t, j, q, v) != 0) {
                    q_bar -= t->number[TREE_LIMIT_STIFFNESS] * r;
                    v_bar -= t->number[TREE_LIMIT_DAMPING] * r;
                    if (bar->number) {
                        bar->number[TREE_LIMIT_STIFFNESS] -= x * r;
                        bar->number[TREE_LIMIT_DAMPING] -= v * r;
                    }
                }
                if (bar->target) {
                    bar->target[j] += t->number[g] * r;
                }
                if (bar->number) {
                    bar->number[g] += r * (w->target[j] - q);
                    bar->number[s] -= r * (q - t->number[rest]);
                    bar->number[rest] += r * t->number[s];
                }
            }
            if (bar->q) {
                bar->q[j] += q_bar;
            }
            bar->v[j] += v_bar;
        }
    }
}

/* ---- forward dynamics ---- */

static void rigid_matrix(const limb *b, double A[36])
{
    const double *I = b->I, *h = b->h, m = b->m;
    const double M[36] = {I[0],  I[3], I[4], 0,     -h[2], h[1], I[3], I[1],  I[5],  h[2], 0, -h[0],
                          I[4],  I[5], I[2], -h[1], h[0],  0,    0,    h[2],  -h[1], m,    0, 0,
                          -h[2], 0,    h[0], 0,     m,     0,    h[1], -h[0], 0,     0,    0, m};
    memcpy(A, M, sizeof M);
}

static inline void apply36(const double A[36], const double x[6], double out[6])
{
    for (int i = 0; i < 6; i++) {
        out[i] = dot6(A + 6 * i, x);
    }
}

/* Cholesky factor of the n x n matrix D (row length 6), lower part. Returns 0 if it is not positive. */
static int factor(int n, double *D)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = D[6 * i + j];
            for (int k = 0; k < j; k++) {
                sum -= D[6 * i + k] * D[6 * j + k];
            }
            if (i == j) {
                if (!(sum > 0)) {
                    return 0;
                }
                D[6 * i + i] = sqrt(sum);
            } else {
                D[6 * i + j] = sum / D[6 * j + j];
            }
        }
    }
    return 1;
}

/* x = D^-1 x for the joint of a link. */
static inline void solve_joint(int n, const double *D, double *x)
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

/* Articulated inertia of link i, whose children have added theirs, and the factor of its joint. */
static void articulate(const tree *t, tree_work *w, int i)
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
    int positive = n == 1 ? b->D[0] > 0 : factor(n, b->D);
    if (n == 1) {
        b->D[0] = 1 / b->D[0];
    }
    if (!positive && w->singular < 0) {
        w->singular = i;
    }
    if (l->parent < 0) {
        return;
    }
    double *A = w->limb[l->parent].A;
    if (n == 1) {
        for (int r = 0; r < 6; r++) {
            double scaled = b->U[r] * b->D[0];
            for (int c = 0; c < 6; c++) {
                A[6 * r + c] += b->A[6 * r + c] - scaled * b->U[c];
            }
        }
        return;
    }
    for (int c = 0; c < 6; c++) {
        double x[6] = {0};
        for (int k = 0; k < n; k++) {
            x[k] = b->U[6 * k + c];
        }
        solve_joint(n, b->D, x);
        for (int r = 0; r < 6; r++) {
            double sum = b->A[6 * r + c];
            for (int k = 0; k < n; k++) {
                sum -= b->U[6 * k + r] * x[k];
            }
            A[6 * r + c] += sum;
        }
    }
}

/* Passes the bias force of link i to its parent; the joint keeps u = tau - S p in `u`. `drift` may be NULL.
 */
static void pass_bias(const tree *t, tree_work *w, int i, const double *tau, const double *drift, double *u)
{
    const tree_link *l = &t->link[i];
    limb *b = &w->limb[i];
    double x[6];
    for (int k = 0; k < l->nv; k++) {
        u[l->v + k] = tau[l->v + k] - dot6(b->S + 6 * k, b->p);
        x[k] = u[l->v + k];
    }
    if (l->parent < 0) {
        return;
    }
    double *p = w->limb[l->parent].p;
    add6(p, 1, b->p);
    if (drift) {
        double y[6];
        apply36(b->A, drift, y);
        add6(p, 1, y);
        for (int k = 0; k < l->nv; k++) {
            x[k] -= dot6(b->U + 6 * k, drift);
        }
    }
    solve_joint(l->nv, b->D, x);
    for (int k = 0; k < l->nv; k++) {
        add6(p, x[k], b->U + 6 * k);
    }
}

/* Accelerations of link i and its joint from u and from those of the parent, which `a` holds at first. */
static void pass_acceleration(const tree_link *l, const limb *b, const double *u, double a[6], double *out)
{
    double x[6];
    for (int k = 0; k < l->nv; k++) {
        x[k] = u[l->v + k] - dot6(b->U + 6 * k, a);
    }
    solve_joint(l->nv, b->D, x);
    for (int k = 0; k < l->nv; k++) {
        out[l->v + k] = x[k];
        add6(a, x[k], b->S + 6 * k);
    }
}

void tree_forward(const tree *t, tree_work *w, const double *q, const double *v, const tree_input *in,
                  double *a)
{
    w->in = *in;
    w->singular = -1;
    w->touching = 0;
    tree_place(t, w, q, v);
    for (int i = 0; i < t->links; i++) {
        limb *b = &w->limb[i];
        memset(b->f, 0, sizeof b->f);
        cross_motion(b->v, b->s, b->drift);
        rigid_matrix(b, b->A);
    }
    if (in->contact) {
        press(t, w);
    }
    joint_forces(t, w);
    for (int i = 0; i < t->links; i++) {
        limb *b = &w->limb[i];
        double h[6];
        momentum_of(b, b->v, h);
        for (int k = 0; k < 6; k++) {
            b->p[k] = -b->f[k];
        }
        add_cross_force(b->p, 1, b->v, h);
    }
    for (int i = t->links - 1; i >= 0; i--) {
        articulate(t, w, i);
        pass_bias(t, w, i, w->tau, w->limb[i].drift, w->w);
    }
    for (int i = 0; i < t->links; i++) {
        const tree_link *l = &t->link[i];
        limb *b = &w->limb[i];
        for (int k = 0; k < 3; k++) {
            b->a[k] = l->parent < 0 ? 0 : w->limb[l->parent].a[k];
            b->a[3 + k] = l->parent < 0 ? -t->number[TREE_GRAVITY + k] : w->limb[l->parent].a[3 + k];
        }
        add6(b->a, 1, b->drift);
        pass_acceleration(l, b, w->w, b->a, w->a);
    }
    if (a) {
        memcpy(a, w->a, (size_t)t->nv * sizeof *a);
    }
}

int tree_singular(const tree *t, const tree_work *w)
{
    (void)t;
    return w->singular;
}

/* rate = M^-1 b with the factors of the last tree_forward(); the velocities of the links under `rate` are in
 * limb.d. */
static void solve(const tree *t, tree_work *w, const double *b, double *rate)
{
    for (int i = 0; i < t->links; i++) {
        memset(w->limb[i].p, 0, sizeof w->limb[i].p);
    }
    for (int i = t->links - 1; i >= 0; i--) {
        pass_bias(t, w, i, b, NULL, w->w);
    }
    for (int i = 0; i < t->links; i++) {
        const tree_link *l = &t->link[i];
        limb *m = &w->limb[i];
        if (l->parent < 0) {
            memset(m->d, 0, sizeof m->d);
        } else {
            memcpy(m->d, w->limb[l->parent].d, sizeof m->d);
        }
        pass_acceleration(l, m, w->w, m->d, rate);
    }
}

/* ---- adjoint ---- */

void tree_bar_open(const tree *t, tree_work *w, const tree_bar *bar)
{
    w->bar = *bar;
    for (int i = 0; i < t->links; i++) {
        limb *b = &w->limb[i];
        memset(b->fb, 0, sizeof b->fb);
        memset(b->ab, 0, sizeof b->ab);
        memset(b->vb, 0, sizeof b->vb);
        memset(b->pose, 0, sizeof b->pose);
    }
}

/* Adds the derivatives of minus the power of the inertial forces of link i under the rates d. */
static void inertial_bar(const tree *t, tree_work *w, int i)
{
    limb *b = &w->limb[i];
    double Id[6], Ia[6], h[6], u[6], Iu[6];
    momentum_of(b, b->d, Id);
    momentum_of(b, b->a, Ia);
    momentum_of(b, b->v, h);
    cross_motion(b->d, b->v, u);
    momentum_of(b, u, Iu);
    add6(b->fb, -1, Ia);
    add_cross_force(b->fb, -1, b->v, h);
    add6(b->ab, -1, Id);
    add6(b->vb, -1, Iu);
    add_cross_force(b->vb, 1, b->d, h);
    add_cross_force(b->pose, 1, b->d, Ia);
    add_cross_force(b->pose, 1, b->a, Id);
    add_cross_force(b->pose, 1, u, h);
    add_cross_force(b->pose, 1, b->v, Iu);
    double *number = w->bar.number;
    if (number == NULL || b->m == 0) {
        return;
    }
    int mass = tree_link_number(t, TREE_MASS, i);
    number[mass] -= (dot6(b->d, Ia) + dot6(u, h)) / t->number[mass];
    const double *const pair[2][2] = {{b->d, b->a}, {u, b->v}};
    double c_bar[3] = {0}, part[3];
    for (int k = 0; k < 2; k++) {
        double first[3], second[3];
        velocity_at(pair[k][0], b->c, first);
        velocity_at(pair[k][1], b->c, second);
        vec3_cross(second, pair[k][0], part);
        vec3_add_scaled(c_bar, -b->m, part);
        vec3_cross(first, pair[k][1], part);
        vec3_add_scaled(c_bar, -b->m, part);
    }
    length_bar(t, w, i, t->link[i].centre, c_bar, number);
}

/* Sums the derivatives from the leaves to the root. `rate` and `a` are the joint rates of the adjoint and the
 * accelerations, or NULL where limb.d and limb.a had no effect. */
static void sweep_bar(const tree *t, tree_work *w, const double *rate, const double *a)
{
    const tree_bar *bar = &w->bar;
    for (int i = t->links - 1; i >= 0; i--) {
        const tree_link *l = &t->link[i];
        limb *b = &w->limb[i];
        double s_bar[6] = {0};
        int fixed = first_fixed(l);
        if (l->nv > 0) {
            add_cross_force(b->vb, 1, b->s, b->ab);
            add_cross_force(s_bar, -1, b->v, b->ab);
        }
        for (int k = 0; k < l->nv; k++) {
            const double *S = b->S + 6 * k;
            double column[6] = {0}, v_bar[6];
            int j = l->v + k;
            memcpy(v_bar, b->vb, sizeof v_bar);
            if (k >= fixed) {
                add6(v_bar, 1, s_bar);
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
            }
            add_cross_force(b->pose, 1, S, column);
        }
        for (int k = 0; bar->q && k < l->nv; k++) {
            bar->q[l->v + k] += dot6(b->S + 6 * k, b->pose);
        }
        if (l->parent >= 0) {
            limb *up = &w->limb[l->parent];
            add6(up->fb, 1, b->fb);
            add6(up->ab, 1, b->ab);
            add6(up->vb, 1, b->vb);
            add6(up->pose, 1, b->pose);
            length_bar(t, w, l->parent, l->offset, b->pose + 3, bar->number);
        } else if (bar->number) {
            for (int k = 0; k < 3; k++) {
                bar->number[TREE_GRAVITY + k] -= b->ab[3 + k];
            }
        }
    }
}

void tree_bar_close(const tree *t, tree_work *w)
{
    sweep_bar(t, w, NULL, NULL);
}

void tree_adjoint(const tree *t, tree_work *w, const double *a_bar, const tree_bar *bar)
{
    solve(t, w, a_bar, w->rate);
    tree_bar_open(t, w, bar);
    for (int i = 0; i < t->links; i++) {
        inertial_bar(t, w, i);
    }
    press_bar(t, w, bar->number);
    sweep_bar(t, w, w->rate, w->a);
    joint_forces_bar(t, w, bar);
}

/* ---- tangent ---- */

static double number_dot(const tree_bar *dot, int k)
{
    return dot->number ? dot->number[k] : 0;
}

/* The change of a point of a link with its lengths, axes of the world. */
static void stretch(const tree *t, const tree_work *w, const tree_bar *dot, int link, const double at[3],
                    double out[3])
{
    memset(out, 0, 3 * sizeof *out);
    if (link >= 0 && dot->number) {
        double x[3];
        mat3_apply(w->limb[link].R, at, x);
        vec3_add_scaled(out, number_dot(dot, tree_link_number(t, TREE_LENGTH, link)), x);
    }
}

/* F_dot of a contact. */
static void force_dot(const tree *t, const touch *c, double friction, const tree_bar *dot, double depth_dot,
                      const double n_dot[3], const double u_dot[3], double F_dot[3])
{
    double k = t->number[TREE_STIFFNESS], damping = t->number[TREE_DISSIPATION];
    double mu = t->number[TREE_FRICTION] * friction, root = sqrt(c->depth), power = c->depth * root;
    double un_dot = vec3_dot(u_dot, c->n) + vec3_dot(c->slip, n_dot) + c->approach * vec3_dot(c->n, n_dot);
    double factor = 1 - damping * c->approach, N_dot = 0, slip_dot[3];
    if (c->N > 0) {
        N_dot = number_dot(dot, TREE_STIFFNESS) * power * factor + 1.5 * k * root * depth_dot * factor -
                k * power * (number_dot(dot, TREE_DISSIPATION) * c->approach + damping * un_dot);
    }
    for (int i = 0; i < 3; i++) {
        slip_dot[i] = u_dot[i] - un_dot * c->n[i] - c->approach * n_dot[i];
    }
    double drag = mu * c->N / c->speed, speed_dot = vec3_dot(c->slip, slip_dot) / c->speed;
    double drag_dot = (mu * N_dot + number_dot(dot, TREE_FRICTION) * friction * c->N) / c->speed -
                      drag * speed_dot / c->speed;
    for (int i = 0; i < 3; i++) {
        F_dot[i] = N_dot * c->n[i] + c->N * n_dot[i] - drag_dot * c->slip[i] - drag * slip_dot[i];
    }
}

/* Subtracts the changes of the contact forces from limb.ab. */
static void press_dot(const tree *t, tree_work *w, const tree_bar *dot)
{
    static const double rest[6];
    for (int j = 0; j < w->touching; j++) {
        const touch *c = &w->touch[j];
        const tree_contact *k = &t->contact[c->k];
        limb *a = k->link < 0 ? NULL : &w->limb[k->link], *b = k->against < 0 ? NULL : &w->limb[k->against];
        const double *turn_b = b ? b->pose : rest;
        double c_dot[3], frame[3], part[3], y_dot[3], g[3], bent[3], n_dot[3], x_dot[3], u_dot[3], F_dot[3];
        velocity_at(a ? a->pose : rest, c->c, c_dot);
        stretch(t, w, dot, k->link, k->at, part);
        vec3_add_scaled(c_dot, 1, part);
        velocity_at(turn_b, c->c, frame);
        stretch(t, w, dot, k->against, k->place, part);
        for (int i = 0; i < 3; i++) {
            part[i] = c_dot[i] - frame[i] - part[i];
        }
        mat3_tapply(c->R, part, y_dot);
        mat3_tapply(c->R, c->n, g);
        bend(c, g, y_dot, bent);
        mat3_apply(c->R, bent, n_dot);
        vec3_cross(turn_b, c->n, part);
        vec3_add_scaled(n_dot, 1, part);
        for (int i = 0; i < 3; i++) {
            x_dot[i] = c_dot[i] - k->radius * n_dot[i];
            part[i] = (a ? a->v : rest)[i] - (b ? b->v : rest)[i];
        }
        vec3_cross(part, x_dot, u_dot);
        velocity_at(a ? a->vb : rest, c->x, part);
        vec3_add_scaled(u_dot, 1, part);
        velocity_at(b ? b->vb : rest, c->x, part);
        vec3_add_scaled(u_dot, -1, part);
        force_dot(t, c, k->friction, dot, -vec3_dot(g, y_dot), n_dot, u_dot, F_dot);
        vec3_cross(x_dot, c->F, part);
        for (int side = 0; side < 2; side++) {
            limb *m = side == 0 ? a : b;
            if (m) {
                add_wrench(m->ab, side == 0 ? -1 : 1, c->x, F_dot);
                vec3_add_scaled(m->ab, side == 0 ? -1 : 1, part);
            }
        }
    }
}

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
        stretch(t, w, dot, l->parent, l->offset, part);
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
        stretch(t, w, dot, i, l->centre, c_dot);
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
    double damper_dot = number_dot(dot, d) + number_dot(dot, rg);
    double f =
        (dot->tau ? dot->tau[j] : 0) - (t->number[d] + t->number[rg]) * v_dot - damper_dot * v -
        (number_dot(dot, tree_joint_number(t, TREE_ARMATURE, j)) + w->in.implicit * damper_dot) * w->a[j];
    if (l->nv == 1) {
        double q = w->q[l->q];
        f += t->number[g] * ((dot->target ? dot->target[j] : 0) - q_dot) +
             number_dot(dot, g) * (w->target[j] - q) - t->number[s] * (q_dot - number_dot(dot, rest)) -
             number_dot(dot, s) * (q - t->number[rest]);
        if (limit_force(t, j, q, v) != 0) {
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
    press_dot(t, w, dot);
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
    solve(t, w, w->rate, a_dot);
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
                            joint_numbers(t, TREE_ARMATURE)[l->v + k] * a[l->v + k];
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
        rigid_matrix(&w->limb[i], w->limb[i].A);
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
            M[(size_t)(l->v + k) * (n + 1)] += joint_numbers(t, TREE_ARMATURE)[l->v + k];
        }
        for (int k = 0; l->parent >= 0 && k < 36; k++) {
            w->limb[l->parent].A[k] += b->A[k];
        }
    }
}

/* ---- points, centre of mass, energy ---- */

void tree_point(const tree *t, const tree_work *w, int link, const double at[3], double x[3], double v[3])
{
    static const double rest[6];
    point_of(t, w, link, at, x);
    velocity_at(link < 0 ? rest : w->limb[link].v, x, v);
    vec3_add_scaled(x, 1, w->ref);
}

void tree_jacobian(const tree *t, const tree_work *w, int link, const double at[3], double *J)
{
    double x[3], column[3];
    point_of(t, w, link, at, x);
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
            sum += 0.5 * joint_numbers(t, TREE_ARMATURE)[l->v + k] * v[l->v + k] * v[l->v + k];
        }
        if (l->nv == 1) {
            double x = q[l->q] - joint_numbers(t, TREE_REST)[l->v];
            sum += 0.5 * joint_numbers(t, TREE_SPRING)[l->v] * x * x;
        }
    }
    return sum;
}

void tree_point_bar(const tree *t, tree_work *w, int link, const double at[3], const double x_bar[3],
                    const double v_bar[3])
{
    double x[3], moved[3];
    if (link < 0) {
        return;
    }
    limb *b = &w->limb[link];
    point_of(t, w, link, at, x);
    vec3_cross(v_bar, b->v, moved);
    vec3_add_scaled(moved, 1, x_bar);
    add_wrench(b->pose, 1, x, moved);
    add_wrench(b->vb, 1, x, v_bar);
    length_bar(t, w, link, at, moved, w->bar.number);
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
        length_bar(t, w, i, t->link[i].centre, pull, w->bar.number);
        if (w->bar.number && part > 0) {
            int k = tree_link_number(t, TREE_MASS, i);
            for (int r = 0; r < 3; r++) {
                w->bar.number[k] +=
                    part / t->number[k] * (x_bar[r] * (b->c[r] - x[r]) + v_bar[r] * (at[r] - v[r]));
            }
        }
    }
}
