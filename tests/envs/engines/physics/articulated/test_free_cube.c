/* SPDX-License-Identifier: Apache-2.0 */
/* test_free_cube.c - a free cube with spheres at its corners, thrown on the ground: rotation, bounces and
 * sliding of the tree, and their derivatives by the constants of contact, against the engine of cube_throw.
 *
 * Both have the same equations with sliding = tanh, but other integrators, so both are taken to the limit of
 * short steps: the tree by RK4, cube_throw, of order 1, by extrapolation from steps of h, h/2 and h/4. */
#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"
#include "engines/physics/articulated/motion.h"
#include "engines/physics/articulated/robot.h"
#include "engines/physics/throw/throw.h"
#include "test.h"

#include <diffsim/helper/random.h>

enum { CASES = 3, NUMBERS = 15, THETA = 5 };

static const double duration = 1, stiffness = 5000, damping = 3000, slip = 0.1;

/* Position, velocity, angular velocity in the world, three axes of the cube except for the last numbers. */
static void numbers_of(const double x[3], const double v[3], const double w[3], const double R[9],
                       double *out)
{
    memcpy(out, x, 3 * sizeof *x);
    memcpy(out + 3, v, 3 * sizeof *v);
    memcpy(out + 6, w, 3 * sizeof *w);
    memcpy(out + 9, R, 6 * sizeof *R);
}

/* R_dot = [turn] R, in the axes of the world. */
static void matrix_dot(const double turn[3], const double R[9], double R_dot[9])
{
    for (int c = 0; c < 3; c++) {
        const double column[3] = {R[c], R[3 + c], R[6 + c]};
        double moved[3];
        vec3_cross(turn, column, moved);
        for (int r = 0; r < 3; r++) {
            R_dot[3 * r + c] = moved[r];
        }
    }
}

static tree *make_cube(ds_memory *room, double mu)
{
    char text[4000], error[ROBOT_ERROR];
    int n = snprintf(
        text, sizeof text,
        "<mujoco><option gravity='0 0 %.17g'/><worldbody><geom type='plane' size='0 0 1'/><body><freejoint/>"
        "<inertial pos='0 0 0' mass='%.17g' diaginertia='1 1 1'/>",
        -throw_gravity, throw_mass);
    for (int i = 0; i < 8; i++) {
        n += snprintf(text + n, sizeof text - (size_t)n, "<geom size='%.17g' pos='%.17g %.17g %.17g'/>",
                      throw_radius, i & 1 ? throw_corner : -throw_corner,
                      i & 2 ? throw_corner : -throw_corner, i & 4 ? throw_corner : -throw_corner);
    }
    snprintf(text + n, sizeof text - (size_t)n, "</body></worldbody></mujoco>");
    robot r;
    if (robot_parse(room, text, strlen(text), "cube", &(robot_options){0}, &r, error) != 0) {
        fail_msg("%s", error);
    }
    r.tree->number[TREE_STIFFNESS] = stiffness;
    r.tree->number[TREE_DISSIPATION] = damping / stiffness;
    r.tree->number[TREE_FRICTION] = mu;
    r.tree->slip = slip;
    r.tree->sliding = TREE_TANH;
    return r.tree;
}

/* The end of the motion and its derivatives by stiffness, damping and friction. */
static void by_tree(const double start[THROW_STATES], double mu, double h, double *end,
                    double dot[3][NUMBERS])
{
    ds_memory room = {0};
    tree *t = make_cube(&room, mu);
    motion *m = motion_create(&room, t);
    assert_non_null(m);
    const tree_input in = {.contact = TREE_COMPLIANT};
    double q[7], v[6], R[9], q_dot[3][6] = {{0}}, v_dot[3][6] = {{0}};
    double *number[3];
    const double *turn = start + THROW_TURN;
    memcpy(q, start + THROW_PLACE, 3 * sizeof *q);
    memcpy(q + 3, (double[]){turn[3], turn[0], turn[1], turn[2]}, 4 * sizeof *q);
    memcpy(v, start + THROW_VELOCITY, 3 * sizeof *v);
    quat_matrix(q + 3, R);
    mat3_tapply(R, start + THROW_SPIN, v + 3);
    for (int k = 0; k < 3; k++) {
        number[k] = ds_memory_doubles(&room, (size_t)t->numbers);
        assert_non_null(number[k]);
    }
    number[0][TREE_STIFFNESS] = 1;
    number[0][TREE_DISSIPATION] = -damping / (stiffness * stiffness);
    number[1][TREE_DISSIPATION] = 1 / stiffness;
    number[2][TREE_FRICTION] = 1;
    for (int s = 0; s < (int)(duration / h + 0.5); s++) {
        for (int k = 0; k < 3; k++) {
            const tree_bar along = {.q = q_dot[k], .v = v_dot[k], .number = number[k]};
            motion_tangent(t, m, MOTION_RK4, h, &in, q, v, &along);
        }
        motion_step(t, m, MOTION_RK4, h, &in, q, v, q, v);
    }
    double spin[3];
    quat_matrix(q + 3, R);
    mat3_apply(R, v + 3, spin);
    numbers_of(q, v, spin, R, end);
    for (int k = 0; k < 3; k++) {
        double turned[3], R_dot[9], spin_dot[3], more[3];
        mat3_apply(R, q_dot[k] + 3, turned);
        matrix_dot(turned, R, R_dot);
        mat3_apply(R, v_dot[k] + 3, spin_dot);
        vec3_cross(turned, spin, more);
        vec3_add_scaled(spin_dot, 1, more);
        numbers_of(q_dot[k], v_dot[k], spin_dot, R_dot, dot[k]);
    }
    ds_memory_free(&room);
}

static void by_throw(const double start[THROW_STATES], double mu, double h, double *end,
                     double dot[3][NUMBERS])
{
    ds_memory room = {0};
    throw_motion m = {.h = 0};
    const uint64_t steps = (uint64_t)(duration / h + 0.5);
    const double theta[LAW_CONSTANTS] = {stiffness, damping, mu, mu, slip};
    contact_law_open(&m.law, FRICTION_TANH, 0, 1);
    assert_int_equal(throw_open(&m, &room, h, steps), 1);
    assert_int_equal(throw_simulate(&m, theta, start), -1);
    const double *s = throw_state(&m, steps), *p = s + THROW_TURN, q[4] = {p[3], p[0], p[1], p[2]};
    double R[9], *states = ds_memory_doubles(&room, (steps + 1) * THROW_STATES);
    assert_non_null(states);
    quat_matrix(q, R);
    numbers_of(s + THROW_PLACE, s + THROW_VELOCITY, s + THROW_SPIN, R, end);
    for (int k = 0; k < 3; k++) {
        double theta_dot[LAW_CONSTANTS] = {0}, R_dot[9], d[4];
        theta_dot[k] = 1;
        assert_int_equal(throw_tangent(&m, theta_dot, states), 1);
        const double *x = states + steps * THROW_STATES, *y = x + THROW_TURN,
                     q_dot[4] = {y[3], y[0], y[1], y[2]};
        /* the rotation of a change of the quaternion is twice the vector of q_dot q^-1 */
        const double back[4] = {q[0], -q[1], -q[2], -q[3]};
        quat_product(q_dot, back, d);
        matrix_dot((double[]){2 * d[1], 2 * d[2], 2 * d[3]}, R, R_dot);
        numbers_of(x + THROW_PLACE, x + THROW_VELOCITY, x + THROW_SPIN, R_dot, dot[k]);
    }
    ds_memory_free(&room);
}

/* Removes the errors of order 1 and 2. */
static double limit(const double at[3])
{
    double a = 2 * at[1] - at[0], b = 2 * at[2] - at[1];
    return (4 * b - a) / 3;
}

static void against_cube_throw(void **state)
{
    for (int c = 0; c < CASES; c++) {
        double start[THROW_STATES] = {0}, own[NUMBERS], own_dot[3][NUMBERS], end[3][NUMBERS],
               dot[3][3][NUMBERS], norm = 0;
        const double mu = c == 0 ? 0 : 0.3 * c;
        ds_random r = ds_random_open((uint64_t)c, "start", 0);
        for (int k = 0; k < 4; k++) {
            start[THROW_TURN + k] = ds_random_normal(&r);
            norm += start[THROW_TURN + k] * start[THROW_TURN + k];
        }
        for (int k = 0; k < 4; k++) {
            start[THROW_TURN + k] /= sqrt(norm);
        }
        for (int k = 0; k < 3; k++) {
            start[THROW_SPIN + k] = 3 * ds_random_normal(&r);
            start[THROW_VELOCITY + k] = ds_random_normal(&r);
        }
        start[THROW_PLACE + 2] = 1;
        by_tree(start, mu, 1e-4, own, own_dot);
        for (int k = 0; k < 3; k++) {
            by_throw(start, mu, 2e-5 / (1 << k), end[k], dot[k]);
        }
        assert_true(own[2] < 1 - throw_radius); /* it has bounced or lies */
        for (int i = 0; i < NUMBERS; i++) {
            assert_near(own[i], limit((double[]){end[0][i], end[1][i], end[2][i]}), 2e-6);
        }
        for (int k = 0; k < 3; k++) {
            double size = 0;
            for (int i = 0; i < NUMBERS; i++) {
                size = fmax(size, fabs(own_dot[k][i]));
            }
            assert_true(size > 0 && isfinite(size));
            for (int i = 0; i < NUMBERS; i++) {
                assert_near(own_dot[k][i], limit((double[]){dot[0][k][i], dot[1][k][i], dot[2][k][i]}),
                            1e-4 * size);
            }
        }
    }
}

RUN_TESTS(against_cube_throw)
