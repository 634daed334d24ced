/* SPDX-License-Identifier: Apache-2.0 */
/* throw.c - the thrown cube with springs: its motion, the adjoint of the steps and their tangent
 * (see throw.h). */
#include "throw.h"

#include "engines/kit/algebra/finite.h"
#include "vec.h"

#include <string.h>

enum { CORNERS = 8 };

int throw_open(throw_motion *t, ds_memory *m, double h, uint64_t steps)
{
    t->h = h;
    t->steps = steps;
    t->kept = ds_memory_doubles(m, (steps + 1) * THROW_KEPT);
    t->contact = ds_memory_take(m, CORNERS * steps, sizeof *t->contact);
    return t->kept != NULL && t->contact != NULL;
}

/* ---- the corners ---- */

/* The edges of half the cube's length in the world; corner i is their sum with the signs of its bits. */
typedef struct edges {
    double e[3][3];
} edges;

static void edges_of(const double *q, edges *out)
{
    const double c = throw_corner, x = q[0], y = q[1], z = q[2], w = q[3];
    *out = (edges){{{c * (1 - 2 * (y * y + z * z)), 2 * c * (x * y + w * z), 2 * c * (x * z - w * y)},
                    {2 * c * (x * y - w * z), c * (1 - 2 * (x * x + z * z)), 2 * c * (y * z + w * x)},
                    {2 * c * (x * z + w * y), 2 * c * (y * z - w * x), c * (1 - 2 * (x * x + y * y))}}};
}

/* Adds to q_bar the derivatives for those by the edges. */
static void edges_adjoint(const double *q, const edges *bar, double *q_bar)
{
    const double c = throw_corner, (*g)[3] = bar->e;
    const double all = g[0][0] + g[1][1] + g[2][2];
    const double turn[3] = {g[1][2] - g[2][1], g[2][0] - g[0][2], g[0][1] - g[1][0]};
    for (int k = 0; k < 3; k++) {
        double both = 0;
        for (int j = 0; j < 3; j++) {
            both += (g[k][j] + g[j][k]) * q[j];
        }
        q_bar[k] += 2 * c * (both + q[3] * turn[k] - 2 * all * q[k]);
    }
    q_bar[3] += 2 * c * (q[0] * turn[0] + q[1] * turn[1] + q[2] * turn[2]);
}

/* The change of the edges along that of the quaternion. */
static void edges_tangent(const double *q, const double *q_dot, edges *out)
{
    const double c = 2 * throw_corner, x = q[0], y = q[1], z = q[2], w = q[3];
    const double xx = 2 * x * q_dot[0], yy = 2 * y * q_dot[1], zz = 2 * z * q_dot[2];
    const double xy = x * q_dot[1] + y * q_dot[0], xz = x * q_dot[2] + z * q_dot[0],
                 yz = y * q_dot[2] + z * q_dot[1];
    const double wx = w * q_dot[0] + x * q_dot[3], wy = w * q_dot[1] + y * q_dot[3],
                 wz = w * q_dot[2] + z * q_dot[3];
    *out = (edges){{{-c * (yy + zz), c * (xy + wz), c * (xz - wy)},
                    {c * (xy - wz), -c * (xx + zz), c * (yz + wx)},
                    {c * (xz + wy), c * (yz - wx), -c * (xx + yy)}}};
}

static const double sign[CORNERS][3] = {{-1, -1, -1}, {1, -1, -1}, {-1, 1, -1}, {1, 1, -1},
                                        {-1, -1, 1},  {1, -1, 1},  {-1, 1, 1},  {1, 1, 1}};

/* Coordinate d of a corner from the centre of the cube. */
static inline double corner_of(const edges *e, uint64_t corner, int d)
{
    return sign[corner][0] * e->e[0][d] + sign[corner][1] * e->e[1][d] + sign[corner][2] * e->e[2][d];
}

/* ---- forward ---- */

/* Velocities of the next state by gravity and the forces that are kept with this one. */
static void accelerate(double h, const double *at, double *next)
{
    for (int d = 0; d < 3; d++) {
        next[THROW_VELOCITY + d] = at[THROW_VELOCITY + d] + h * at[THROW_FORCE + d] / throw_mass;
        next[THROW_SPIN + d] = at[THROW_SPIN + d] + h * at[THROW_TORQUE + d];
    }
    next[THROW_VELOCITY + 2] -= h * throw_gravity;
}

/* Forces and torques on the next state, of the contacts at this pose, which are kept. */
static void add_forces(throw_motion *t, uint64_t step, const double *at, double *next)
{
    const double height =
        at[THROW_PLACE + 2] - throw_radius; /* of the spheres' lowest points, without corners */
    edges e;
    memset(next + THROW_FORCE, 0, 6 * sizeof *next);
    edges_of(at + THROW_TURN, &e);
    if (height > fabs(e.e[0][2]) + fabs(e.e[1][2]) + fabs(e.e[2][2]) + 1e-9) {
        return; /* all spheres are above the plane, as most of the time */
    }
    for (uint64_t i = 0; i < CORNERS; i++) {
        const double up = corner_of(&e, i, 2), depth = -(height + up);
        if (depth > 0) {
            throw_contact *c = t->contact + t->contacts;
            double v[3] = {next[THROW_VELOCITY], next[THROW_VELOCITY + 1], next[THROW_VELOCITY + 2]};
            c->step = step;
            c->corner = i;
            c->arm[0] = corner_of(&e, i, 0);
            c->arm[1] = corner_of(&e, i, 1);
            c->arm[2] = up - throw_radius;
            add_cross(next + THROW_SPIN, c->arm, v);
            contact_law_force(&t->law, depth, v, &c->law);
            for (int d = 0; d < 3; d++) {
                next[THROW_FORCE + d] += c->law.force[d];
            }
            add_cross(c->arm, c->law.force, next + THROW_TORQUE);
            t->contacts++;
        }
    }
}

/* Steps `from` .. `until` - 1. */
static int64_t move_on(throw_motion *t, uint64_t from, uint64_t until)
{
    for (uint64_t k = from; k < until; k++) {
        const double *at = t->kept + k * THROW_KEPT;
        double *next = t->kept + (k + 1) * THROW_KEPT;
        accelerate(t->h, at, next);
        add_forces(t, k, at, next);
        next[THROW_NORM] = throw_move(t->h, at, next);
        if (!all_finite(THROW_KEPT, next)) {
            return (int64_t)k;
        }
    }
    return -1;
}

int64_t throw_simulate(throw_motion *t, const double *theta, const double start[THROW_STATES])
{
    contact_law_set(&t->law, theta);
    memcpy(t->kept, start, THROW_STATES * sizeof *start);
    memset(t->kept + THROW_FORCE, 0, 6 * sizeof *start);
    t->contacts = 0;
    return move_on(t, 0, t->steps);
}

int64_t throw_go_on(throw_motion *t, uint64_t until)
{
    const uint64_t contacts = t->contacts;
    const int64_t lost = move_on(t, t->steps, until);
    t->contacts = contacts;
    return lost;
}

/* ---- adjoint ---- */

static void move_adjoint(double h, const double *at, const double *next, const double *next_bar,
                         double *at_bar, double *velocity_bar)
{
    const double *q = at + THROW_TURN, *turned = next + THROW_TURN, *bar = next_bar + THROW_TURN;
    const double *w = next + THROW_SPIN, per_norm = 1 / next[THROW_NORM];
    double along = 0, b[4];
    for (int i = 0; i < 4; i++) {
        along += turned[i] * bar[i];
    }
    for (int i = 0; i < 4; i++) {
        b[i] = (bar[i] - turned[i] * along) * per_norm;
        at_bar[THROW_TURN + i] += b[i];
        b[i] *= 0.5 * h;
    }
    at_bar[0] += b[1] * w[2] - b[2] * w[1] - b[3] * w[0];
    at_bar[1] += -b[0] * w[2] + b[2] * w[0] - b[3] * w[1];
    at_bar[2] += b[0] * w[1] - b[1] * w[0] - b[3] * w[2];
    at_bar[3] += b[0] * w[0] + b[1] * w[1] + b[2] * w[2];
    velocity_bar[THROW_SPIN] += b[0] * q[3] - b[1] * q[2] + b[2] * q[1] - b[3] * q[0];
    velocity_bar[THROW_SPIN + 1] += b[0] * q[2] + b[1] * q[3] - b[2] * q[0] - b[3] * q[1];
    velocity_bar[THROW_SPIN + 2] += -b[0] * q[1] + b[1] * q[0] + b[2] * q[3] - b[3] * q[2];
    for (int d = 0; d < 3; d++) {
        at_bar[THROW_PLACE + d] += next_bar[THROW_PLACE + d];
        velocity_bar[THROW_VELOCITY + d] += h * next_bar[THROW_PLACE + d];
    }
}

/* Of the contacts of a step, the last ones before `end`; returns where they begin. */
static const throw_contact *forces_adjoint(const throw_motion *t, uint64_t step, const throw_contact *end,
                                           const double *at, const double *next, const double *next_bar,
                                           double *at_bar, double *velocity_bar, contact_sums *sums)
{
    const double *torque_bar = next_bar + THROW_TORQUE;
    const throw_contact *c = end;
    edges bar = {{{0}}};
    for (; c > t->contact && c[-1].step == step; c--) {
        const double *arm = c[-1].arm;
        double f_bar[3], arm_bar[3] = {0}, v_bar[3] = {0}, depth_bar = 0;
        memcpy(f_bar, next_bar + THROW_FORCE, sizeof f_bar);
        add_cross(torque_bar, arm, f_bar);
        contact_law_adjoint(&t->law, &c[-1].law, f_bar, &depth_bar, v_bar, sums);
        add_cross(c[-1].law.force, torque_bar, arm_bar);
        add_cross(v_bar, next + THROW_SPIN, arm_bar);
        add_cross(arm, v_bar, velocity_bar + THROW_SPIN);
        at_bar[THROW_PLACE + 2] -= depth_bar;
        arm_bar[2] -= depth_bar;
        for (int d = 0; d < 3; d++) {
            velocity_bar[THROW_VELOCITY + d] += v_bar[d];
            for (int k = 0; k < 3; k++) {
                bar.e[k][d] += sign[c[-1].corner][k] * arm_bar[d];
            }
        }
    }
    if (c < end) {
        edges_adjoint(at + THROW_TURN, &bar, at_bar + THROW_TURN);
    }
    return c;
}

int throw_adjoint(const throw_motion *t, const double *state_bar, double *theta_bar)
{
    double bar[THROW_KEPT] = {0};
    const throw_contact *end = t->contact + t->contacts;
    contact_sums sums = {.theta = {0}};
    memcpy(bar, state_bar + t->steps * THROW_STATES, THROW_STATES * sizeof *bar);
    for (uint64_t k = t->steps; k-- > 0;) {
        const double *at = t->kept + k * THROW_KEPT, *next = at + THROW_KEPT;
        double at_bar[THROW_KEPT] = {0}, velocity_bar[THROW_STATES] = {0};
        memcpy(velocity_bar + THROW_SPIN, bar + THROW_SPIN, 6 * sizeof *bar);
        move_adjoint(t->h, at, next, bar, at_bar, velocity_bar);
        end = forces_adjoint(t, k, end, at, next, bar, at_bar, velocity_bar, &sums);
        for (int d = 0; d < 3; d++) {
            at_bar[THROW_VELOCITY + d] = velocity_bar[THROW_VELOCITY + d];
            at_bar[THROW_SPIN + d] = velocity_bar[THROW_SPIN + d];
            at_bar[THROW_FORCE + d] = t->h / throw_mass * velocity_bar[THROW_VELOCITY + d];
            at_bar[THROW_TORQUE + d] = t->h * velocity_bar[THROW_SPIN + d];
        }
        for (int i = 0; i < THROW_KEPT; i++) {
            bar[i] = at_bar[i] + (i < THROW_STATES ? state_bar[k * THROW_STATES + (uint64_t)i] : 0);
        }
    }
    contact_law_gather(&t->law, &sums, theta_bar);
    return all_finite(LAW_CONSTANTS, theta_bar);
}

/* ---- tangent ---- */

/* Of the contacts of a step, the first ones from `first` on; returns where those of the next begin. */
static const throw_contact *forces_tangent(const throw_motion *t, uint64_t step, const throw_contact *first,
                                           const double *at, const double *next, const contact_change *change,
                                           const double *at_dot, double *next_dot)
{
    const throw_contact *c = first;
    edges e_dot;
    memset(next_dot + THROW_FORCE, 0, 6 * sizeof *next_dot);
    for (; c < t->contact + t->contacts && c->step == step; c++) {
        double f_dot[3], arm_dot[3], v_dot[3];
        if (c == first) {
            edges_tangent(at + THROW_TURN, at_dot + THROW_TURN, &e_dot);
        }
        for (int d = 0; d < 3; d++) {
            arm_dot[d] = corner_of(&e_dot, c->corner, d);
        }
        const double depth_dot = -(at_dot[THROW_PLACE + 2] + arm_dot[2]);
        memcpy(v_dot, next_dot + THROW_VELOCITY, sizeof v_dot);
        add_cross(next_dot + THROW_SPIN, c->arm, v_dot);
        add_cross(next + THROW_SPIN, arm_dot, v_dot);
        contact_law_tangent(&t->law, &c->law, change, depth_dot, v_dot, f_dot);
        for (int d = 0; d < 3; d++) {
            next_dot[THROW_FORCE + d] += f_dot[d];
        }
        add_cross(arm_dot, c->law.force, next_dot + THROW_TORQUE);
        add_cross(c->arm, f_dot, next_dot + THROW_TORQUE);
    }
    return c;
}

static void move_tangent(double h, const double *at, const double *next, const double *at_dot,
                         double *next_dot)
{
    const double *q = at + THROW_TURN, *turned = next + THROW_TURN;
    double by_q[4], by_w[4], raw_dot[4], along = 0;
    spin_quaternion(next + THROW_SPIN, at_dot + THROW_TURN, by_q);
    spin_quaternion(next_dot + THROW_SPIN, q, by_w);
    for (int i = 0; i < 4; i++) {
        raw_dot[i] = at_dot[THROW_TURN + i] + 0.5 * h * (by_q[i] + by_w[i]);
        along += turned[i] * raw_dot[i];
    }
    for (int i = 0; i < 4; i++) {
        next_dot[THROW_TURN + i] = (raw_dot[i] - turned[i] * along) / next[THROW_NORM];
    }
    for (int d = 0; d < 3; d++) {
        next_dot[THROW_PLACE + d] = at_dot[THROW_PLACE + d] + h * next_dot[THROW_VELOCITY + d];
    }
}

int throw_tangent(const throw_motion *t, const double *theta_dot, double *state_dot)
{
    double dot[2][THROW_KEPT] = {{0}};
    const throw_contact *c = t->contact;
    contact_change change;
    contact_law_change(&t->law, theta_dot, &change);
    memset(state_dot, 0, THROW_STATES * sizeof *state_dot);
    for (uint64_t k = 0; k < t->steps; k++) {
        const double *at = t->kept + k * THROW_KEPT, *next = at + THROW_KEPT, *at_dot = dot[k % 2];
        double *next_dot = dot[1 - k % 2];
        for (int d = 0; d < 3; d++) {
            next_dot[THROW_VELOCITY + d] =
                at_dot[THROW_VELOCITY + d] + t->h * at_dot[THROW_FORCE + d] / throw_mass;
            next_dot[THROW_SPIN + d] = at_dot[THROW_SPIN + d] + t->h * at_dot[THROW_TORQUE + d];
        }
        c = forces_tangent(t, k, c, at, next, &change, at_dot, next_dot);
        move_tangent(t->h, at, next, at_dot, next_dot);
        memcpy(state_dot + (k + 1) * THROW_STATES, next_dot, THROW_STATES * sizeof *state_dot);
    }
    return all_finite(THROW_KEPT, dot[t->steps % 2]);
}
