/* SPDX-License-Identifier: Apache-2.0 */
/* obstacle.c - contact of particles with fixed bodies (see obstacle.h). */
#include "engines/physics/fem/obstacle.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 8 }; /* numbers of a particle in a state */

static const double slow = 1e-12; /* m^2/s^2: below this squared speed kf alone holds a sliding particle */
static const double tiny = 1e-12; /* m: nearer to the middle of a body a normal has no direction */

static double dot3(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* ---- distances in the frame of the body ---- */

/* Distance r of x from a point, an axis or an edge, minus `radius`; `along` marks the coordinates that
 * count: `d` is 0 in the others. */
static double round_distance(const double d[3], const int along[3], double radius, double g[3], double h[9])
{
    const double r = sqrt(dot3(d, d));
    for (int i = 0; i < 3; i++) {
        g[i] = r > tiny ? d[i] / r : 0.0;
    }
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            h[3 * i + j] = r > tiny ? ((i == j && along[i] ? 1.0 : 0.0) - g[i] * g[j]) / r : 0.0;
        }
    }
    if (!(r > tiny)) {
        g[1] = 1.0;
    }
    return r - radius;
}

static double capsule_distance(const double x[3], const double size[3], double g[3], double h[9])
{
    const double end = x[1] > size[1] ? size[1] : x[1] < -size[1] ? -size[1] : x[1];
    const double d[3] = {x[0], x[1] - end, x[2]};
    const int along[3] = {1, fabs(x[1]) > size[1], 1};
    return round_distance(d, along, size[0], g, h);
}

static double box_distance(const double x[3], const double half[3], double g[3], double h[9])
{
    double d[3], depth = -HUGE_VAL;
    int along[3], outside = 0, face = 0;
    for (int i = 0; i < 3; i++) {
        const double past = fabs(x[i]) - half[i];
        along[i] = past > 0.0;
        outside += along[i];
        d[i] = along[i] ? copysign(past, x[i]) : 0.0;
        if (past > depth) {
            depth = past;
            face = i;
        }
    }
    if (outside > 1) {
        return round_distance(d, along, 0.0, g, h);
    }
    memset(g, 0, 3 * sizeof *g);
    memset(h, 0, 9 * sizeof *h);
    g[face] = copysign(1.0, x[face]);
    return depth;
}

/* The distance at x of a body that is `scale` times larger. */
static double surface_distance(const fem_obstacle *o, const double x[3], double g[3], double h[9])
{
    const double own[3] = {x[0] / o->scale, x[1] / o->scale, x[2] / o->scale};
    const double phi = o->distance(o->body, own, g, h);
    for (int i = 0; i < 9; i++) {
        h[i] /= o->scale;
    }
    return o->scale * phi;
}

static double own_distance(const fem_obstacle *o, const double x[3], double g[3], double h[9])
{
    static const int all[3] = {1, 1, 1};
    switch (o->shape) {
    case FEM_BOX:
        return box_distance(x, o->size, g, h);
    case FEM_CAPSULE:
        return capsule_distance(x, o->size, g, h);
    case FEM_SURFACE:
        return surface_distance(o, x, g, h);
    default:
        return round_distance(x, all, o->size[0], g, h);
    }
}

/* ---- in the world ---- */

double fem_obstacle_rotation(const fem_obstacle *o, double unit[4])
{
    const double *w = o->rotation;
    const double length = o->turns ? sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + w[3] * w[3]) : 1.0;
    for (int i = 0; i < 4; i++) {
        unit[i] = w[i] / length;
    }
    return length;
}

/* Rows: the axes of the body in the world, so that own = r (world - position). */
static void axes(const fem_obstacle *o, double r[9])
{
    double q[4];
    fem_obstacle_rotation(o, q);
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double m[9] = {1 - 2 * (y * y + z * z), 2 * (x * y + w * z),     2 * (x * z - w * y),
                         2 * (x * y - w * z),     1 - 2 * (x * x + z * z), 2 * (y * z + w * x),
                         2 * (x * z + w * y),     2 * (y * z - w * x),     1 - 2 * (x * x + y * y)};
    memcpy(r, m, sizeof m);
}

int fem_obstacle_is_near(const fem_obstacle *o, const double q[3])
{
    const double scale = o->shape == FEM_SURFACE ? o->scale : 1.0;
    double reach = o->offset, d[3];
    for (int i = 0; i < 3; i++) {
        reach += scale * o->size[i];
        d[i] = q[i] - o->position[i];
    }
    return dot3(d, d) < reach * reach;
}

void fem_obstacle_point(const fem_obstacle *o, const double own[3], double world[3])
{
    const double scale = o->shape == FEM_SURFACE ? o->scale : 1.0;
    double r[9];
    axes(o, r);
    for (int i = 0; i < 3; i++) {
        world[i] = o->position[i] + r[i] * (scale * own[0]) + r[3 + i] * (scale * own[1]) +
                   r[6 + i] * (scale * own[2]);
    }
}

double fem_obstacle_distance(const fem_obstacle *o, const double q[3], double n[3], double turn[9],
                             double *slope)
{
    double r[9], x[3], g[3], h[9], world[9], d[3];
    axes(o, r);
    for (int i = 0; i < 3; i++) {
        d[i] = q[i] - o->position[i];
    }
    for (int i = 0; i < 3; i++) {
        x[i] = dot3(r + 3 * i, d);
    }
    const double phi = own_distance(o, x, g, h);
    const double size = sqrt(dot3(g, g));
    *slope = size;
    for (int i = 0; i < 3; i++) {
        n[i] = size > tiny ? (r[i] * g[0] + r[3 + i] * g[1] + r[6 + i] * g[2]) / size : 0.0;
    }
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            double sum = 0.0;
            for (int k = 0; k < 9; k++) {
                sum += r[3 * (k / 3) + i] * h[k] * r[3 * (k % 3) + j];
            }
            world[3 * i + j] = size > tiny ? sum / size : 0.0;
        }
    }
    for (int j = 0; j < 3; j++) { /* turn = (1 - n n') H / |g| */
        const double along = n[0] * world[j] + n[1] * world[3 + j] + n[2] * world[6 + j];
        for (int i = 0; i < 3; i++) {
            turn[3 * i + j] = world[3 * i + j] - n[i] * along;
        }
    }
    return phi;
}

/* How the distance at q changes with the sizes of a body: its radius shrinks it; half lengths act as if the
 * point moved along way[size][3] in the world. */
static void growth(const fem_obstacle *o, const double q[3], double way[9])
{
    double r[9];
    memset(way, 0, 9 * sizeof *way);
    if (o->shape != FEM_BOX && o->shape != FEM_CAPSULE) {
        return;
    }
    axes(o, r);
    for (int i = 0; i < 3; i++) {
        double x = 0.0;
        for (int k = 0; k < 3; k++) {
            x += r[3 * i + k] * (q[k] - o->position[k]);
        }
        const int moves = o->shape == FEM_BOX || (i == 1 && fabs(x) > o->size[1]);
        for (int k = 0; k < 3 && moves; k++) {
            way[3 * i + k] = x < 0.0 ? r[3 * i + k] : -r[3 * i + k];
        }
    }
}

static void cross(const double a[3], const double b[3], double out[3])
{
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        out[i] = a[j] * b[k] - a[k] * b[j];
    }
}

/* The rotation of the body, as a vector, from a change of its quaternion: 2 Im(change conj(unit))/length. */
static void turn_of(const fem_obstacle *o, const double dot[4], double vector[3])
{
    double unit[4], product[3];
    const double length = fem_obstacle_rotation(o, unit);
    cross(dot + 1, unit + 1, product);
    for (int i = 0; i < 3; i++) {
        vector[i] = 2.0 / length * (unit[0] * dot[1 + i] - dot[0] * unit[1 + i] - product[i]);
    }
}

/* The reverse: adds derivatives by the quaternion from those by the vector. */
static void turn_bar(const fem_obstacle *o, const double vector_bar[3], double bar[4])
{
    double unit[4], product[3];
    const double length = fem_obstacle_rotation(o, unit);
    cross(vector_bar, unit + 1, product);
    bar[0] -= 2.0 / length * dot3(vector_bar, unit + 1);
    for (int i = 0; i < 3; i++) {
        bar[1 + i] += 2.0 / length * (unit[0] * vector_bar[i] + product[i]);
    }
}

static int is_round(const fem_obstacle *o)
{
    return o->shape == FEM_SPHERE || o->shape == FEM_CAPSULE;
}

void fem_obstacle_surface_bar(const fem_obstacle *o, const double q[3], const fem_obstacle_surface *at,
                              double cb, const double nb[3], double point_bar[3], fem_obstacle_bar *by)
{
    const double *n = at->n, *turn = at->turn;
    for (int j = 0; j < 3; j++) {
        point_bar[j] = cb * at->slope * n[j] + nb[0] * turn[j] + nb[1] * turn[3 + j] + nb[2] * turn[6 + j];
    }
    if (by == NULL) {
        return;
    }
    double way[9], d[3], spin[3], arm[3];
    by->offset -= cb;
    by->size[0] -= is_round(o) ? cb : 0.0;
    growth(o, q, way);
    for (int i = 0; i < 3; i++) {
        by->position[i] -= point_bar[i];
        by->size[i] += dot3(point_bar, way + 3 * i);
        d[i] = q[i] - o->position[i];
    }
    if (o->turns) { /* the normal turns with the body, and the point stays behind */
        cross(n, nb, spin);
        cross(d, point_bar, arm);
        turn_bar(o, (const double[3]){spin[0] - arm[0], spin[1] - arm[1], spin[2] - arm[2]}, by->rotation);
    }
    if (o->shape == FEM_SURFACE) {
        by->scale += (cb * (at->c + o->offset) - dot3(point_bar, d)) / o->scale;
    }
}

/* ---- contact of one particle ---- */

typedef struct touch {
    double c, n[3], turn[9], slope; /* depth, normal, its derivative, length of the gradient of c */
    double un, ut[3], speed;        /* velocity along the normal, sliding velocity and its size */
    double load, hold;              /* force along the normal, and per sliding velocity */
    int sticks;
} touch;

/* Returns 0 where the particle does not touch. */
static int touches(const fem_obstacle *o, const double *q, const double *u, touch *t)
{
    t->c = fem_obstacle_distance(o, q, t->n, t->turn, &t->slope) - o->offset;
    if (!(t->c < 0.0)) {
        return 0;
    }
    t->un = dot3(u, t->n);
    for (int i = 0; i < 3; i++) {
        t->ut[i] = u[i] - t->un * t->n[i];
    }
    t->load = -(o->ke * t->c + o->kd * (t->un < 0.0 ? t->un : 0.0));
    t->speed = sqrt(dot3(t->ut, t->ut) + slow);
    const double most = -o->mu * o->ke * t->c / t->speed;
    t->sticks = o->kf < most;
    t->hold = t->sticks ? o->kf : most;
    return 1;
}

void fem_obstacles_force(const fem_obstacle *o, size_t count, size_t particles, const double *state,
                         double *force)
{
    touch t;
    for (size_t k = 0; k < count; k++) {
        for (size_t p = 0; p < particles; p++) {
            const double *q = state + WIDTH * p;
            if (!fem_obstacle_is_near(o + k, q) || !touches(o + k, q, q + 4, &t)) {
                continue;
            }
            for (int i = 0; i < 3; i++) {
                force[4 * p + (size_t)i] += t.load * t.n[i] - t.hold * t.ut[i];
            }
        }
    }
}

static void reverse(const fem_obstacle *o, const touch *t, const double *q, const double *u, const double *fb,
                    double *qb, double *ub, fem_obstacle_bar *by)
{
    const double slide = dot3(fb, t->ut), load_bar = dot3(fb, t->n);
    double utb[3], nb[3], cb = -o->ke * load_bar;
    for (int i = 0; i < 3; i++) {
        utb[i] = -t->hold * fb[i];
        nb[i] = t->load * fb[i];
    }
    by->ke -= t->c * load_bar;
    by->kd -= t->un < 0.0 ? t->un * load_bar : 0.0;
    if (t->sticks) {
        by->kf -= slide;
    } else { /* hold = -mu ke c / speed */
        cb += o->mu * o->ke * slide / t->speed;
        by->mu += o->ke * t->c * slide / t->speed;
        by->ke += o->mu * t->c * slide / t->speed;
        for (int i = 0; i < 3; i++) {
            utb[i] += slide * t->hold / (t->speed * t->speed) * t->ut[i];
        }
    }
    const double unb = -dot3(utb, t->n) - (t->un < 0.0 ? o->kd * load_bar : 0.0);
    for (int i = 0; i < 3; i++) {
        nb[i] += unb * u[i] - t->un * utb[i];
        ub[i] += utb[i] + unb * t->n[i];
    }
    double point_bar[3];
    fem_obstacle_surface_bar(o, q, &(fem_obstacle_surface){t->c, t->slope, t->n, t->turn}, cb, nb, point_bar,
                             by);
    for (int j = 0; j < 3; j++) {
        qb[j] += point_bar[j];
    }
}

void fem_obstacles_vjp(const fem_obstacle *o, size_t count, size_t particles, const double *state,
                       const double *force_bar, double *bar, fem_obstacle_bar *by)
{
    touch t;
    for (size_t k = 0; k < count; k++) {
        for (size_t p = 0; p < particles; p++) {
            const double *q = state + WIDTH * p;
            if (fem_obstacle_is_near(o + k, q) && touches(o + k, q, q + 4, &t)) {
                double *to = bar + WIDTH * p;
                reverse(o + k, &t, q, q + 4, force_bar + 4 * p, to, to + 4, by + k);
            }
        }
    }
}

static void change(const fem_obstacle *o, const touch *t, const double *q, const double *u, const double *dq,
                   const double *du, const fem_obstacle_bar *along, double *df)
{
    double way[9], dx[3], dn[3], dut[3], dhold = 0.0; /* dx: of the point seen from the body */
    growth(o, q, way);
    double turn[3] = {0.0, 0.0, 0.0}, d[3], arm[3], spin[3];
    const double grow = o->shape == FEM_SURFACE ? along->scale / o->scale : 0.0;
    for (int i = 0; i < 3; i++) {
        d[i] = q[i] - o->position[i];
    }
    if (o->turns) {
        turn_of(o, along->rotation, turn);
    }
    cross(turn, d, arm);
    cross(turn, t->n, spin);
    for (int i = 0; i < 3; i++) {
        dx[i] = dq[i] - along->position[i] - arm[i] - grow * d[i];
        for (int k = 0; k < 3; k++) {
            dx[i] += way[3 * k + i] * along->size[k];
        }
    }
    const double dc = t->slope * dot3(t->n, dx) - (is_round(o) ? along->size[0] : 0.0) - along->offset +
                      grow * (t->c + o->offset);
    for (int i = 0; i < 3; i++) {
        dn[i] = dot3(t->turn + 3 * i, dx) + spin[i];
    }
    const double dun = dot3(du, t->n) + dot3(u, dn);
    for (int i = 0; i < 3; i++) {
        dut[i] = du[i] - dun * t->n[i] - t->un * dn[i];
    }
    const double dload =
        -(o->ke * dc + along->ke * t->c + (t->un < 0.0 ? o->kd * dun + along->kd * t->un : 0.0));
    if (t->sticks) {
        dhold = along->kf;
    } else {
        const double dmost = o->mu * o->ke * dc + (along->mu * o->ke + o->mu * along->ke) * t->c;
        dhold = -dmost / t->speed - t->hold * dot3(t->ut, dut) / (t->speed * t->speed);
    }
    for (int i = 0; i < 3; i++) {
        df[i] += dload * t->n[i] + t->load * dn[i] - dhold * t->ut[i] - t->hold * dut[i];
    }
}

void fem_obstacles_jvp(const fem_obstacle *o, size_t count, size_t particles, const double *state,
                       const double *dot, const fem_obstacle_bar *along, double *force_dot)
{
    touch t;
    for (size_t k = 0; k < count; k++) {
        for (size_t p = 0; p < particles; p++) {
            const double *q = state + WIDTH * p, *d = dot + WIDTH * p;
            if (fem_obstacle_is_near(o + k, q) && touches(o + k, q, q + 4, &t)) {
                change(o + k, &t, q, q + 4, d, d + 4, along + k, force_dot + 4 * p);
            }
        }
    }
}
