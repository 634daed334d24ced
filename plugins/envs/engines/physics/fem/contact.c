/* SPDX-License-Identifier: Apache-2.0 */
/* contact.c - contact between bodies (see contact.h). The tangent of one pair is the only derivative: the
 * reverse applies it to unit changes. */
#include "engines/physics/fem/contact.h"

#include "engines/physics/fem/laws/law.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 8, POINTS = 4, CORNERS = 3 }; /* of a pair: the vertex, then three corners */

static const double slow = 1e-12; /* m^2/s^2: below this squared speed kf alone holds a sliding vertex */
static const double tiny = 1e-12; /* m: nearer to an edge a normal has no direction */

/* ---- where a pair is ---- */

typedef struct place {
    vec3 x[POINTS];
    double weight[CORNERS]; /* of the corners in the nearest place */
    vec3 n;                 /* outward from the other body; 0 without a direction */
    double phi;             /* signed distance */
    vec3 normal;            /* FEM_FACE: e1 x e2, not of unit length */
} place;

static void on_face(place *p)
{
    const vec3 e1 = v3_minus(p->x[2], p->x[1]), e2 = v3_minus(p->x[3], p->x[1]),
               r = v3_minus(p->x[0], p->x[1]);
    p->normal = v3_cross(e1, e2);
    const double square = v3_dot(p->normal, p->normal);
    p->n = v3_times(1 / sqrt(square), p->normal);
    p->phi = v3_dot(p->n, r);
    p->weight[1] = v3_dot(v3_cross(r, e2), p->normal) / square;
    p->weight[2] = v3_dot(v3_cross(e1, r), p->normal) / square;
    p->weight[0] = 1 - p->weight[1] - p->weight[2];
}

/* From the place on an edge or at a corner to the vertex. */
static vec3 arm_of(const place *p)
{
    vec3 r = p->x[0];
    for (int k = 0; k < CORNERS; k++) {
        r = v3_along(r, -p->weight[k], p->x[k + 1]);
    }
    return r;
}

static void on_edge(place *p, fem_feature feature, double sign)
{
    const vec3 e = v3_minus(p->x[2], p->x[1]), from = v3_minus(p->x[0], p->x[1]);
    p->weight[1] = feature == FEM_EDGE ? v3_dot(from, e) / v3_dot(e, e) : 0;
    p->weight[2] = 0;
    p->weight[0] = 1 - p->weight[1];
    const vec3 r = arm_of(p);
    const double d = v3_length(r);
    p->n = v3_times(d > tiny ? sign / d : 0, r);
    p->phi = sign * d;
}

/* Positions are `width` numbers apart. */
static void place_of(const fem_near_pair *pair, const double *q, size_t width, place *p)
{
    p->x[0] = v3(q + width * pair->vertex);
    for (int k = 0; k < CORNERS; k++) {
        p->x[k + 1] = v3(q + width * pair->corner[k]);
    }
    if (pair->feature == FEM_FACE) {
        on_face(p);
    } else {
        on_edge(p, pair->feature, pair->sign);
    }
}

/* The change of a place along dx. */
typedef struct place_dot {
    double weight[CORNERS], phi;
    vec3 n;
} place_dot;

static void face_dot(const place *p, const vec3 dx[POINTS], place_dot *d)
{
    const vec3 e1 = v3_minus(p->x[2], p->x[1]), e2 = v3_minus(p->x[3], p->x[1]),
               r = v3_minus(p->x[0], p->x[1]);
    const vec3 d1 = v3_minus(dx[2], dx[1]), d2 = v3_minus(dx[3], dx[1]), dr = v3_minus(dx[0], dx[1]);
    const vec3 dn = v3_plus(v3_cross(d1, e2), v3_cross(e1, d2));
    const double square = v3_dot(p->normal, p->normal), grows = 2 * v3_dot(p->normal, dn) / square;
    d->weight[1] =
        (v3_dot(v3_plus(v3_cross(dr, e2), v3_cross(r, d2)), p->normal) + v3_dot(v3_cross(r, e2), dn)) /
            square -
        p->weight[1] * grows;
    d->weight[2] =
        (v3_dot(v3_plus(v3_cross(d1, r), v3_cross(e1, dr)), p->normal) + v3_dot(v3_cross(e1, r), dn)) /
            square -
        p->weight[2] * grows;
    d->weight[0] = -d->weight[1] - d->weight[2];
    d->n = v3_times(1 / sqrt(square), v3_along(dn, -v3_dot(p->n, dn), p->n));
}

static void edge_dot(const place *p, fem_feature feature, double sign, const vec3 dx[POINTS], place_dot *d)
{
    const vec3 e = v3_minus(p->x[2], p->x[1]), from = v3_minus(p->x[0], p->x[1]);
    const vec3 de = v3_minus(dx[2], dx[1]), dfrom = v3_minus(dx[0], dx[1]);
    const double t = p->weight[1], length = fabs(p->phi);
    const double dt = (v3_dot(dfrom, e) + v3_dot(from, de) - 2 * t * v3_dot(e, de)) / v3_dot(e, e);
    d->weight[1] = feature == FEM_EDGE ? dt : 0;
    d->weight[0] = -d->weight[1];
    d->weight[2] = 0;
    vec3 dr = v3_along(dfrom, -d->weight[1], e);
    dr = v3_along(dr, -t, de);
    d->n = v3_times(length > tiny ? sign / length : 0, v3_along(dr, -v3_dot(p->n, dr), p->n));
}

static void change_place(const fem_near_pair *pair, const place *p, const vec3 dx[POINTS], place_dot *d)
{
    vec3 apart = dx[0];
    for (int k = 0; k < CORNERS; k++) {
        apart = v3_along(apart, -p->weight[k], dx[k + 1]);
    }
    if (pair->feature == FEM_FACE) {
        face_dot(p, dx, d);
    } else {
        edge_dot(p, pair->feature, pair->sign, dx, d);
    }
    d->phi =
        v3_dot(p->n, apart); /* the place is the nearest one: its motion along the surface does not count */
}

/* ---- force ---- */

typedef struct touch {
    place at;
    vec3 u[POINTS], slip, f; /* velocities; sliding velocity; force on the vertex */
    double depth, share;     /* d, s */
    double un, speed;        /* velocity along n; sliding speed */
    double elastic, load, hold;
    int inside, sticks;
} touch;

static vec3 relative(const place *p, const vec3 *u)
{
    vec3 v = u[0];
    for (int k = 0; k < CORNERS; k++) {
        v = v3_along(v, -p->weight[k], u[k + 1]);
    }
    return v;
}

/* Returns 0 where the pair does not touch. */
static int touches(const fem_contact_law *c, const fem_near_pair *pair, const double *state, touch *t)
{
    place_of(pair, state, WIDTH, &t->at);
    t->depth = c->offset - t->at.phi;
    if (!(t->depth > 0)) {
        return 0;
    }
    t->u[0] = v3(state + WIDTH * (size_t)pair->vertex + 4);
    for (int k = 0; k < CORNERS; k++) {
        t->u[k + 1] = v3(state + WIDTH * (size_t)pair->corner[k] + 4);
    }
    const vec3 v = relative(&t->at, t->u);
    t->inside = t->depth > c->offset;
    t->share = t->inside ? 1 : t->depth / c->offset;
    t->elastic = t->inside ? c->ke * (t->depth - c->offset / 2) : c->ke * t->depth * t->share / 2;
    t->un = v3_dot(v, t->at.n);
    t->slip = v3_along(v, -t->un, t->at.n);
    t->speed = sqrt(v3_dot(t->slip, t->slip) + slow);
    t->load = t->elastic - c->kd * t->share * fmin(t->un, 0);
    t->sticks = c->kf < c->mu * t->elastic / t->speed;
    t->hold = t->sticks ? c->kf : c->mu * t->elastic / t->speed;
    t->f = v3_along(v3_times(t->load, t->at.n), -t->hold, t->slip);
    return 1;
}

/* The change of the forces on all points: along changes of the place, of the relative velocity at a fixed
 * place, and of the law. */
static void change(const fem_contact_law *c, const touch *t, const place_dot *d, vec3 dv,
                   const fem_contact_law *law, vec3 df[POINTS])
{
    for (int k = 0; k < CORNERS; k++) {
        dv = v3_along(dv, -d->weight[k], t->u[k + 1]);
    }
    const vec3 v = v3_along(t->slip, t->un, t->at.n);
    const double dun = v3_dot(dv, t->at.n) + v3_dot(v, d->n), ddepth = law->offset - d->phi;
    const vec3 dslip = v3_along(v3_along(dv, -dun, t->at.n), -t->un, d->n);
    const double dshare = t->inside ? 0 : (ddepth - t->share * law->offset) / c->offset;
    const double delastic =
        t->inside ? law->ke * (t->depth - c->offset / 2) + c->ke * (ddepth - law->offset / 2)
                  : (law->ke * t->depth * t->share + c->ke * (ddepth * t->share + t->depth * dshare)) / 2;
    const double near = fmin(t->un, 0), dnear = t->un < 0 ? dun : 0;
    const double dload = delastic - law->kd * t->share * near - c->kd * (dshare * near + t->share * dnear);
    const double dhold = t->sticks ? law->kf
                                   : (law->mu * t->elastic + c->mu * delastic) / t->speed -
                                         t->hold * v3_dot(t->slip, dslip) / (t->speed * t->speed);
    df[0] = v3_along(v3_times(dload, t->at.n), t->load, d->n);
    df[0] = v3_along(v3_along(df[0], -dhold, t->slip), -t->hold, dslip);
    for (int k = 0; k < CORNERS; k++) {
        df[k + 1] = v3_along(v3_times(-d->weight[k], t->f), -t->at.weight[k], df[0]);
    }
}

static size_t pairs_of(const fem_contact *c, const double *state, const fem_near_pair **pair)
{
    return c->surfaces != NULL
               ? fem_surfaces_near(c->surfaces, state, WIDTH, fmax(c->reach, c->law.offset), pair)
               : 0;
}

static void add(double *to, vec3 x)
{
    to[0] += x.x;
    to[1] += x.y;
    to[2] += x.z;
}

static size_t point_of(const fem_near_pair *p, int k)
{
    return k == 0 ? p->vertex : p->corner[k - 1];
}

void fem_contact_force(const fem_contact *c, const double *state, double *force)
{
    const fem_near_pair *pair;
    const size_t n = pairs_of(c, state, &pair);
    touch t;
    for (size_t i = 0; i < n; i++) {
        if (touches(&c->law, &pair[i], state, &t)) {
            add(force + 4 * (size_t)pair[i].vertex, t.f);
            for (int k = 0; k < CORNERS; k++) {
                add(force + 4 * (size_t)pair[i].corner[k], v3_times(-t.at.weight[k], t.f));
            }
        }
    }
}

/* ---- derivatives ---- */

static double work(const vec3 df[POINTS], const vec3 fb[POINTS])
{
    return v3_dot(df[0], fb[0]) + v3_dot(df[1], fb[1]) + v3_dot(df[2], fb[2]) + v3_dot(df[3], fb[3]);
}

static vec3 unit(int axis)
{
    return (vec3){axis == 0, axis == 1, axis == 2};
}

static void reverse(const fem_contact_law *c, const fem_near_pair *pair, const touch *t,
                    const double *force_bar, double *bar, fem_contact_law *by)
{
    static const fem_contact_law none = {0};
    static const place_dot still = {{0}, 0, {0, 0, 0}};
    const vec3 no = {0, 0, 0};
    vec3 fb[POINTS], df[POINTS];
    for (int k = 0; k < POINTS; k++) {
        fb[k] = v3(force_bar + 4 * point_of(pair, k));
    }
    for (int i = 0; i < 3 * POINTS; i++) {
        vec3 dx[POINTS] = {no, no, no, no};
        place_dot d;
        dx[i / 3] = unit(i % 3);
        change_place(pair, &t->at, dx, &d);
        change(c, t, &d, no, &none, df);
        bar[WIDTH * point_of(pair, i / 3) + (size_t)i % 3] += work(df, fb);
    }
    for (int axis = 0; axis < 3; axis++) {
        change(c, t, &still, unit(axis), &none, df);
        const double v_bar = work(df, fb);
        for (int k = 0; k < POINTS; k++) {
            bar[WIDTH * point_of(pair, k) + 4 + (size_t)axis] +=
                k == 0 ? v_bar : -t->at.weight[k - 1] * v_bar;
        }
    }
    double *const to[] = {&by->offset, &by->ke, &by->kd, &by->kf, &by->mu};
    for (int i = 0; i < 5; i++) {
        const fem_contact_law one = {i == 0, i == 1, i == 2, i == 3, i == 4};
        change(c, t, &still, no, &one, df);
        *to[i] += work(df, fb);
    }
}

void fem_contact_vjp(const fem_contact *c, const double *state, const double *force_bar, double *bar,
                     fem_contact_law *by)
{
    const fem_near_pair *pair;
    const size_t n = pairs_of(c, state, &pair);
    touch t;
    for (size_t i = 0; i < n; i++) {
        if (touches(&c->law, &pair[i], state, &t)) {
            reverse(&c->law, &pair[i], &t, force_bar, bar, by);
        }
    }
}

void fem_contact_jvp(const fem_contact *c, const double *state, const double *dot,
                     const fem_contact_law *along, double *force_dot)
{
    const fem_near_pair *pair;
    const size_t n = pairs_of(c, state, &pair);
    touch t;
    for (size_t i = 0; i < n; i++) {
        vec3 dx[POINTS], du[POINTS], df[POINTS];
        place_dot d;
        if (!touches(&c->law, &pair[i], state, &t)) {
            continue;
        }
        for (int k = 0; k < POINTS; k++) {
            dx[k] = v3(dot + WIDTH * point_of(&pair[i], k));
            du[k] = v3(dot + WIDTH * point_of(&pair[i], k) + 4);
        }
        change_place(&pair[i], &t.at, dx, &d);
        change(&c->law, &t, &d, relative(&t.at, du), along, df);
        for (int k = 0; k < POINTS; k++) {
            add(force_dot + 4 * point_of(&pair[i], k), df[k]);
        }
    }
}

/* ---- at the start ---- */

double fem_contact_overlap(const fem_contact *c, const double *q, fem_near_pair *deepest)
{
    const fem_near_pair *pair;
    const size_t n = fem_surfaces_near(c->surfaces, q, 3, HUGE_VAL, &pair);
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        place p;
        place_of(&pair[i], q, 3, &p);
        if (-p.phi > most) {
            most = -p.phi;
            *deepest = pair[i];
        }
    }
    return most;
}
