/* SPDX-License-Identifier: Apache-2.0 */
/* shape.c - contact of a disc with a turned box (see shape.h).
 *
 * In the frame of the box the closest point is p = clamp(l, -half, half) of the centre l. If the centre is
 * outside, the normal is that of a face (one coordinate clamped; it turns with the box: dn/dangle = perp n)
 * or points from a corner c to the disc (dn = (I - n n^T)/d (dq - dc), dc = perp(R p) dangle). A centre
 * inside is pushed out through the nearest face. */
#include "shape.h"

#include <math.h>

void shape_box_place(shape_box *b, double radius, double angle)
{
    double r = sqrt(b->half[0] * b->half[0] + b->half[1] * b->half[1]) + radius;
    b->reach = r * r * (1 + 1e-12); /* rounding must not hide a contact */
    b->extent = sqrt(b->reach);
    b->c = cos(angle);
    b->s = sin(angle);
}

static void rotate(const shape_box *b, double x, double y, double out[2])
{
    out[0] = b->c * x - b->s * y;
    out[1] = b->s * x + b->c * y;
}

static double clamp(double x, double bound)
{
    return x > bound ? bound : x < -bound ? -bound : x;
}

/* The centre of a disc in the frame of a box, and its nearest point of the box. */
typedef struct place {
    double d[2], l[2], p[2], e[2]; /* from the box's centre: in the world, in the box; nearest point; l - p */
    double square;                 /* |e|^2 */
} place;

static place place_of(const shape_box *b, const double q[2])
{
    const double dx = q[0] - b->centre[0], dy = q[1] - b->centre[1];
    place at = {.d = {dx, dy}, .l = {b->c * dx + b->s * dy, -b->s * dx + b->c * dy}};
    for (int i = 0; i < 2; i++) {
        at.p[i] = clamp(at.l[i], b->half[i]);
        at.e[i] = at.l[i] - at.p[i];
    }
    at.square = at.e[0] * at.e[0] + at.e[1] * at.e[1];
    return at;
}

/* The centre lies in the box: push it out through the nearest face. */
static void inside(const shape_box *b, const double l[2], double radius, shape_contact *out)
{
    double room[2] = {b->half[0] - fabs(l[0]), b->half[1] - fabs(l[1])};
    int axis = room[0] < room[1] ? 0 : 1;
    double sign = l[axis] < 0 ? -1 : 1;
    rotate(b, axis == 0 ? sign : 0, axis == 1 ? sign : 0, out->n);
    out->depth = radius + room[axis];
    out->feature = SHAPE_FACE;
}

static void describe(const shape_box *b, const place *at, double radius, shape_contact *out)
{
    const double *e = at->e;
    out->arm[0] = at->d[0];
    out->arm[1] = at->d[1];
    if (at->square == 0) {
        inside(b, at->l, radius, out);
        return;
    }
    double d = sqrt(at->square);
    out->depth = radius - d;
    out->distance = d;
    if (e[0] != 0 && e[1] != 0) {
        out->feature = SHAPE_CORNER;
        rotate(b, e[0] / d, e[1] / d, out->n);
        rotate(b, at->p[0], at->p[1], out->arm);
    } else {
        out->feature = SHAPE_FACE;
        rotate(b, e[0] == 0 ? 0 : copysign(1, e[0]), e[1] == 0 ? 0 : copysign(1, e[1]), out->n);
    }
}

int shape_disc_box(const shape_box *b, const double q[2], double radius, shape_contact *out)
{
    const place at = place_of(b, q);
    if (at.square > radius * radius) {
        return 0;
    }
    describe(b, &at, radius, out);
    return 1;
}

void shape_disc_near(const shape_box *b, const double q[2], double radius, shape_contact *out)
{
    const place at = place_of(b, q);
    describe(b, &at, radius, out);
}

double shape_gap_angle(const shape_contact *k)
{
    double along = -k->n[1] * k->arm[0] + k->n[0] * k->arm[1]; /* perp(n) . arm = -n . perp(arm) */
    return along;
}

void shape_normal_adjoint(const shape_contact *k, const double n_bar[2], double q_bar[2], double *angle_bar)
{
    const double *n = k->n;
    if (k->feature == SHAPE_FACE) {
        *angle_bar += -n[1] * n_bar[0] + n[0] * n_bar[1];
        return;
    }
    double along = n[0] * n_bar[0] + n[1] * n_bar[1];
    double px = (n_bar[0] - along * n[0]) / k->distance, py = (n_bar[1] - along * n[1]) / k->distance;
    q_bar[0] += px;
    q_bar[1] += py;
    *angle_bar -= -px * k->arm[1] + py * k->arm[0];
}
