/* SPDX-License-Identifier: Apache-2.0 */
/* throw.c - the thrown cube with springs: its motion, the adjoint of the steps and their tangent (see throw.h). */
#include "throw.h"

#include "engines/algebra/finite.h"
#include "vec.h"

#include <string.h>

int throw_open(throw_motion *t, memory *m, double h, uint64_t steps)
{
    t->h = h;
    t->steps = steps;
    t->kept = memory_doubles(m, (steps + 1) * THROW_KEPT);
    return t->kept != NULL;
}

/* Number of the lowest bit that is set. */
static int lowest(unsigned bits)
{
    return __builtin_ctz(bits);
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

static void add_forces(const throw_motion *t, const double *at, double *next)
{
    memset(next + THROW_FORCE, 0, 6 * sizeof *next);
    for (unsigned low = throw_low(at); low != 0; low &= low - 1) {
        const int i = lowest(low);
        touch c;
        double f[3];
        if (throw_touch(at, next, i, &c)) {
            contact_law_force(&t->law, t->theta, c.depth, c.v, f);
            for (int d = 0; d < 3; d++) {
                next[THROW_FORCE + d] += f[d];
            }
            add_cross(c.arm, f, next + THROW_TORQUE);
        }
    }
}

int64_t throw_simulate(throw_motion *t, const double *theta, const double start[THROW_STATES])
{
    memcpy(t->theta, theta, sizeof t->theta);
    memcpy(t->kept, start, THROW_STATES * sizeof *start);
    memset(t->kept + THROW_FORCE, 0, 6 * sizeof *start);
    for (uint64_t k = 0; k < t->steps; k++) {
        const double *at = t->kept + k * THROW_KEPT;
        double *next = t->kept + (k + 1) * THROW_KEPT;
        accelerate(t->h, at, next);
        add_forces(t, at, next);
        throw_move(t->h, at, next);
        if (!all_finite(THROW_KEPT, next)) {
            return (int64_t)k;
        }
    }
    return -1;
}

/* ---- adjoint ---- */

/* Adds to q_bar the derivative of r_bar . (c turned by q). */
static void turn_vector_adjoint(const double q[4], const double c[3], const double r_bar[3], double q_bar[4])
{
    double t[3] = {0, 0, 0}, s[3] = {0, 0, 0}, uc = 0, ur = 0, cr = 0;
    add_cross(q, c, t);
    add_cross(c, r_bar, s);
    for (int d = 0; d < 3; d++) {
        uc += q[d] * c[d];
        ur += q[d] * r_bar[d];
        cr += c[d] * r_bar[d];
    }
    for (int d = 0; d < 3; d++) {
        q_bar[d] += 2 * (q[3] * s[d] + uc * r_bar[d] + ur * c[d] - 2 * cr * q[d]);
        q_bar[3] += 2 * r_bar[d] * t[d];
    }
}

static void move_adjoint(double h, const double *at, const double *next, const double *next_bar,
                         double *at_bar, double *velocity_bar)
{
    const double *q = at + THROW_TURN, *turned = next + THROW_TURN, *bar = next_bar + THROW_TURN;
    const double *w = next + THROW_SPIN;
    double dq[4], square = 0, along = 0, b[4];
    spin_quaternion(w, q, dq);
    for (int i = 0; i < 4; i++) {
        const double raw = q[i] + 0.5 * h * dq[i];
        square += raw * raw;
        along += turned[i] * bar[i];
    }
    const double norm = sqrt(square);
    for (int i = 0; i < 4; i++) {
        b[i] = (bar[i] - turned[i] * along) / norm;
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

static void forces_adjoint(const throw_motion *t, const double *at, const double *next,
                           const double *next_bar, double *at_bar, double *velocity_bar, double *theta_bar)
{
    const double *torque_bar = next_bar + THROW_TORQUE;
    for (unsigned low = throw_low(at); low != 0; low &= low - 1) {
        const int i = lowest(low);
        touch c;
        double f[3], f_bar[3], arm_bar[3] = {0, 0, 0}, v_bar[3] = {0, 0, 0}, depth_bar = 0;
        if (!throw_touch(at, next, i, &c)) {
            continue;
        }
        memcpy(f_bar, next_bar + THROW_FORCE, sizeof f_bar);
        add_cross(torque_bar, c.arm, f_bar);
        contact_law_adjoint(&t->law, t->theta, c.depth, c.v, f_bar, f, &depth_bar, v_bar, theta_bar);
        add_cross(f, torque_bar, arm_bar);
        for (int d = 0; d < 3; d++) {
            velocity_bar[THROW_VELOCITY + d] += v_bar[d];
        }
        add_cross(c.arm, v_bar, velocity_bar + THROW_SPIN);
        add_cross(v_bar, next + THROW_SPIN, arm_bar);
        at_bar[THROW_PLACE + 2] -= depth_bar;
        arm_bar[2] -= depth_bar;
        turn_vector_adjoint(at + THROW_TURN, c.c, arm_bar, at_bar + THROW_TURN);
    }
}

int throw_adjoint(const throw_motion *t, const double *state_bar, double *theta_bar)
{
    double bar[THROW_KEPT] = {0};
    memcpy(bar, state_bar + t->steps * THROW_STATES, THROW_STATES * sizeof *bar);
    for (uint64_t k = t->steps; k-- > 0;) {
        const double *at = t->kept + k * THROW_KEPT, *next = at + THROW_KEPT;
        double at_bar[THROW_KEPT] = {0}, velocity_bar[THROW_STATES] = {0};
        memcpy(velocity_bar + THROW_SPIN, bar + THROW_SPIN, 6 * sizeof *bar);
        move_adjoint(t->h, at, next, bar, at_bar, velocity_bar);
        forces_adjoint(t, at, next, bar, at_bar, velocity_bar, theta_bar);
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
    return all_finite(LAW_CONSTANTS, theta_bar);
}

/* ---- tangent ---- */

/* out = the change of c turned by q. */
static void turn_vector_tangent(const double q[4], const double q_dot[4], const double c[3], double out[3])
{
    double t[3] = {0, 0, 0}, t_dot[3] = {0, 0, 0}, s[3] = {0, 0, 0};
    add_cross(q, c, t);
    add_cross(q_dot, c, t_dot);
    add_cross(q_dot, t, s);
    add_cross(q, t_dot, s);
    for (int d = 0; d < 3; d++) {
        out[d] = 2 * (q_dot[3] * t[d] + q[3] * t_dot[d] + s[d]);
    }
}

static void forces_tangent(const throw_motion *t, const double *at, const double *next,
                           const double *theta_dot, const double *at_dot, double *next_dot)
{
    memset(next_dot + THROW_FORCE, 0, 6 * sizeof *next_dot);
    for (unsigned low = throw_low(at); low != 0; low &= low - 1) {
        const int i = lowest(low);
        touch c;
        double f[3], f_dot[3], arm_dot[3], v_dot[3];
        if (!throw_touch(at, next, i, &c)) {
            continue;
        }
        turn_vector_tangent(at + THROW_TURN, at_dot + THROW_TURN, c.c, arm_dot);
        const double depth_dot = -(at_dot[THROW_PLACE + 2] + arm_dot[2]);
        memcpy(v_dot, next_dot + THROW_VELOCITY, sizeof v_dot);
        add_cross(next_dot + THROW_SPIN, c.arm, v_dot);
        add_cross(next + THROW_SPIN, arm_dot, v_dot);
        contact_law_tangent(&t->law, t->theta, c.depth, c.v, theta_dot, depth_dot, v_dot, f, f_dot);
        for (int d = 0; d < 3; d++) {
            next_dot[THROW_FORCE + d] += f_dot[d];
        }
        add_cross(arm_dot, f, next_dot + THROW_TORQUE);
        add_cross(c.arm, f_dot, next_dot + THROW_TORQUE);
    }
}

static void move_tangent(double h, const double *at, const double *next, const double *at_dot,
                         double *next_dot)
{
    const double *q = at + THROW_TURN, *turned = next + THROW_TURN;
    double dq[4], by_q[4], by_w[4], raw_dot[4], square = 0, along = 0;
    spin_quaternion(next + THROW_SPIN, q, dq);
    spin_quaternion(next + THROW_SPIN, at_dot + THROW_TURN, by_q);
    spin_quaternion(next_dot + THROW_SPIN, q, by_w);
    for (int i = 0; i < 4; i++) {
        const double raw = q[i] + 0.5 * h * dq[i];
        square += raw * raw;
        raw_dot[i] = at_dot[THROW_TURN + i] + 0.5 * h * (by_q[i] + by_w[i]);
        along += turned[i] * raw_dot[i];
    }
    const double norm = sqrt(square);
    for (int i = 0; i < 4; i++) {
        next_dot[THROW_TURN + i] = (raw_dot[i] - turned[i] * along) / norm;
    }
    for (int d = 0; d < 3; d++) {
        next_dot[THROW_PLACE + d] = at_dot[THROW_PLACE + d] + h * next_dot[THROW_VELOCITY + d];
    }
}

int throw_tangent(const throw_motion *t, const double *theta_dot, double *state_dot)
{
    double dot[2][THROW_KEPT] = {{0}};
    memset(state_dot, 0, THROW_STATES * sizeof *state_dot);
    for (uint64_t k = 0; k < t->steps; k++) {
        const double *at = t->kept + k * THROW_KEPT, *next = at + THROW_KEPT, *at_dot = dot[k % 2];
        double *next_dot = dot[1 - k % 2];
        for (int d = 0; d < 3; d++) {
            next_dot[THROW_VELOCITY + d] =
                at_dot[THROW_VELOCITY + d] + t->h * at_dot[THROW_FORCE + d] / throw_mass;
            next_dot[THROW_SPIN + d] = at_dot[THROW_SPIN + d] + t->h * at_dot[THROW_TORQUE + d];
        }
        forces_tangent(t, at, next, theta_dot, at_dot, next_dot);
        move_tangent(t->h, at, next, at_dot, next_dot);
        memcpy(state_dot + (k + 1) * THROW_STATES, next_dot, THROW_STATES * sizeof *state_dot);
    }
    return all_finite(THROW_KEPT, dot[t->steps % 2]);
}
