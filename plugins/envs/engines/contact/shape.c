/* SPDX-License-Identifier: Apache-2.0 */
/* shape.c - contact of a disc with a turned box (see shape.h).
 *
 * In the frame of the box the closest point is p = clamp(l, -half, half) of the centre l. Outside, the normal
 * is that of a face (one coordinate clamped; it turns with the box: dn/dangle = perp n) or points from a
 * corner c to the disc (dn = (I - n n^T)/d (dq - dc), dc = perp(R p) dangle). A centre inside is pushed out
 * through the nearest face.
 */
#include "shape.h"

#include <math.h>

void shape_box_place(shape_box *b, double radius, double angle)
{
    double r = sqrt(b->half[0] * b->half[0] + b->half[1] * b->half[1]) + radius;
    b->reach = r * r * (1 + 1e-12); /* rounding must not hide a contact */
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

/* The centre lies in the box: out through the nearest face. */
static int inside(const shape_box *b, const double l[2], double radius, shape_contact *out)
{
    double room[2] = {b->half[0] - fabs(l[0]), b->half[1] - fabs(l[1])};
    int axis = room[0] < room[1] ? 0 : 1;
    double sign = l[axis] < 0 ? -1 : 1;
    rotate(b, axis == 0 ? sign : 0, axis == 1 ? sign : 0, out->n);
    out->depth = radius + room[axis];
    out->feature = SHAPE_FACE;
    return 1;
}

int shape_disc_box(const shape_box *b, const double q[2], double radius, shape_contact *out)
{
    double dx = q[0] - b->centre[0], dy = q[1] - b->centre[1];
    double l[2] = {b->c * dx + b->s * dy, -b->s * dx + b->c * dy};
    double px = clamp(l[0], b->half[0]), py = clamp(l[1], b->half[1]);
    double ex = l[0] - px, ey = l[1] - py, square = ex * ex + ey * ey;
    if (square > radius * radius) {
        return 0;
    }
    out->arm[0] = dx;
    out->arm[1] = dy;
    if (square == 0) {
        return inside(b, l, radius, out);
    }
    double d = sqrt(square);
    out->depth = radius - d;
    out->distance = d;
    if (ex != 0 && ey != 0) {
        out->feature = SHAPE_CORNER;
        rotate(b, ex / d, ey / d, out->n);
        rotate(b, px, py, out->arm);
    } else {
        out->feature = SHAPE_FACE;
        rotate(b, ex == 0 ? 0 : copysign(1, ex), ey == 0 ? 0 : copysign(1, ey), out->n);
    }
    return 1;
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
