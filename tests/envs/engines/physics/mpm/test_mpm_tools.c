/* SPDX-License-Identifier: Apache-2.0 */
/* Tools of the plasticine engine: distances, normals, motion and contact, each adjoint against differences.
 * Needs no recorded data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engines/physics/mpm/sim/loss.h"
#include "engines/physics/mpm/env/env.h"
#include "engines/kit/algebra/mat3.h"
#include "mpm_random.h"
#include "mpm_support.h"
#include "engines/kit/algebra/quaternion.h"
#include "engines/physics/mpm/sim/sim.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHAPES = MPM_LADLE + 1 };

static mpm_tool tool_of(uint32_t shape)
{
    mpm_tool tool = {.shape = shape, .friction = 0.9, .upper = {1, 1, 1}, .action_dim = 6, .min_gap = 0.01};
    static const double sizes[SHAPES][3] = {{.04},           {.03, .06}, {.1, .2},  {.05, .03},
                                            {.05, .08, .03}, {.03, .3},  {.02, .2}, {.05, .012}};
    memcpy(tool.size, sizes[shape], sizeof tool.size);
    for (int i = 0; i < MPM_MAX_ACTION; i++) {
        tool.scale[i] = 0.01;
    }
    return tool;
}

static mpm_pose random_pose(void)
{
    mpm_pose pose = {.position = {0.5, 0.3, 0.5}, .gap = 0.06};
    random_numbers(pose.rotation, 4, 1.0);
    double norm =
        sqrt(dot(pose.rotation, pose.rotation, 4)) / uniform(0.99, 1.01); /* nearly of unit length */
    for (int i = 0; i < 4; i++) {
        pose.rotation[i] /= norm;
    }
    return pose;
}

/* A point near the surface of a tool. */
static void near_surface(const mpm_tool *tool, const mpm_pose *pose, double x[3])
{
    for (int attempt = 0; attempt < 1000; attempt++) {
        for (int d = 0; d < 3; d++) {
            x[d] = pose->position[d] + uniform(-0.25, 0.25);
        }
        double n[3], d = mpm_tool_distance(tool, pose, x);
        mpm_tool_normal(tool, pose, x, n);
        vec3_add_scaled(x, uniform(-0.004, 0.003) - d, n);
        if (fabs(mpm_tool_distance(tool, pose, x)) < 0.006) {
            return;
        }
    }
}

static void test_distances_and_normals(void **state)
{
    (void)state;
    for (uint32_t shape = 0; shape < SHAPES; shape++) {
        mpm_tool tool = tool_of(shape);
        for (int k = 0; k < 60; k++) {
            mpm_pose pose = random_pose(), pose_bar = {{0}, {0}, 0}, up, down;
            double x[3], n[3], n_bar[3], x_bar[3] = {0.0}, dx[3], dp[8], xu[3], xd[3], h = 1e-7;
            near_surface(&tool, &pose, x);
            random_numbers(dx, 3, 1.0);
            random_numbers(dp, 8, 1.0);
            random_numbers(n_bar, 3, 1.0);
            move_pose(&pose, h, dp, &up);
            move_pose(&pose, -h, dp, &down);
            for (int i = 0; i < 3; i++) {
                xu[i] = x[i] + h * dx[i];
                xd[i] = x[i] - h * dx[i];
            }
            mpm_tool_distance_adjoint(&tool, &pose, x, 1.0, &pose_bar, x_bar);
            double slope = pose_dot(&pose_bar, dp) + dot(x_bar, dx, 3);
            double quotient =
                (mpm_tool_distance(&tool, &up, xu) - mpm_tool_distance(&tool, &down, xd)) / (2 * h);
            mpm_expect(slope, quotient, 1e-6, "shape %u distance", shape);
            /* the gradient of the distance is the normal, up to the length of the quaternion */
            mpm_tool_normal(&tool, &pose, x, n);
            double length = sqrt(dot(n, n, 3));
            mpm_expect(length, 1.0, 0.05, "shape %u length of the normal", shape);
            for (int i = 0; i < 3 && shape != MPM_BOX; i++) { /* a box's is a difference, blurred at edges */
                mpm_expect(n[i], x_bar[i], 0.1, "shape %u normal", shape);
            }
            memset(&pose_bar, 0, sizeof pose_bar);
            mpm_tool_normal_adjoint(&tool, &pose, x, n_bar, &pose_bar);
            double nu[3], nd[3];
            mpm_tool_normal(&tool, &up, x, nu);
            mpm_tool_normal(&tool, &down, x, nd);
            quotient = (dot(n_bar, nu, 3) - dot(n_bar, nd, 3)) / (2 * h);
            slope = pose_dot(&pose_bar, dp);
            mpm_expect(slope, quotient, 1e-4 * fmax(1.0, fabs(slope)), "shape %u normal adjoint", shape);
        }
    }
}

/* The ladle's distance is that to the nearest of many points of its middle surface, less half its thickness;
 * and the normal points away from there, so that a step along it changes the distance by its length. */
static void test_ladle(void **state)
{
    (void)state;
    const mpm_tool tool = tool_of(MPM_LADLE);
    const mpm_pose pose = {.position = {0.1, 0.2, 0.3}, .rotation = {1, 0, 0, 0}};
    const double radius = tool.size[0], half = tool.size[1];
    enum { TURNS = 400, HEIGHTS = 100 };
    const double pi = acos(-1.0), gap = 0.5 * pi * radius / HEIGHTS; /* of the points */
    for (int k = 0; k < 200; k++) {
        double x[3], nearest = INFINITY, n[3], beyond[3];
        for (int d = 0; d < 3; d++) {
            x[d] = pose.position[d] + uniform(-0.1, 0.1);
        }
        for (int i = 0; i <= HEIGHTS; i++) {
            double fall = 0.5 * pi * i / HEIGHTS;
            for (int j = 0; j < TURNS; j++) {
                double turn = 2.0 * pi * j / TURNS;
                const double to[3] = {pose.position[0] + radius * sin(fall) * cos(turn) - x[0],
                                      pose.position[1] - radius * cos(fall) - x[1],
                                      pose.position[2] + radius * sin(fall) * sin(turn) - x[2]};
                nearest = fmin(nearest, sqrt(dot(to, to, 3)));
            }
        }
        double d = mpm_tool_distance(&tool, &pose, x);
        assert_true(d <= nearest - half + 1e-9);
        mpm_expect(d, nearest - half, nearest > gap ? gap * gap / nearest : gap, "distance at %g %g %g", x[0],
                   x[1], x[2]);
        mpm_tool_normal(&tool, &pose, x, n);
        for (int i = 0; i < 3; i++) {
            beyond[i] = x[i] + 1e-4 * n[i];
        }
        mpm_expect(mpm_tool_distance(&tool, &pose, beyond), d + 1e-4, 1e-9, "away from %g %g %g", x[0], x[1],
                   x[2]);
    }
    /* open to the top, a shell below, bounds of its position kept, no motion along z */
    const double inside[3] = {0.1, 0.19, 0.3}, bottom[3] = {0.1, 0.15, 0.3}, mouth[3] = {0.1, 0.21, 0.3};
    assert_true(mpm_tool_distance(&tool, &pose, inside) > 0.02 &&
                mpm_tool_distance(&tool, &pose, mouth) > 0.02);
    mpm_expect(mpm_tool_distance(&tool, &pose, bottom), -half, 1e-12, "in the shell");
}

static void test_motion_adjoint(void **state)
{
    (void)state;
    for (uint32_t shape = 0; shape < SHAPES; shape++) {
        mpm_tool tool = tool_of(shape);
        for (int k = 0; k < 40; k++) {
            mpm_pose pose = random_pose(), next, bar = {{0}, {0}, 0}, next_bar, up, down;
            mpm_control control, control_bar = {{0.0}}, moved;
            double d[8], dc[7], h = 1e-6, value[2];
            random_numbers(control.value, 7, 0.02);
            if (k % 4 == 0) {
                memset(control.value, 0, sizeof control.value); /* the rotation's limit at zero */
            }
            random_numbers(d, 8, 1.0);
            random_numbers(dc, 7, 1.0);
            random_numbers(next_bar.position, 3, 1.0);
            random_numbers(next_bar.rotation, 4, 1.0);
            next_bar.gap = uniform(-1, 1);
            mpm_tool_move(&tool, &pose, &control, &next);
            mpm_tool_move_adjoint(&tool, &pose, &control, &next_bar, &bar, &control_bar);
            for (int side = 0; side < 2; side++) {
                double s = side ? -h : h;
                move_pose(&pose, s, d, &up);
                for (int i = 0; i < 7; i++) {
                    moved.value[i] = control.value[i] + s * dc[i];
                }
                mpm_tool_move(&tool, &up, &moved, &down);
                value[side] = dot(down.position, next_bar.position, 3) +
                              dot(down.rotation, next_bar.rotation, 4) + down.gap * next_bar.gap;
            }
            double slope = pose_dot(&bar, d) + dot(control_bar.value, dc, 7);
            mpm_expect(slope, (value[0] - value[1]) / (2 * h), 1e-8 * fmax(1.0, fabs(slope)),
                       "shape %u motion", shape);
        }
    }
}

static void test_motion_examples(void **state)
{
    (void)state;
    /* 50 steps of 19 equal parts move a free sphere by exactly 50 actions */
    mpm_tool tool = tool_of(MPM_SPHERE);
    mpm_pose pose = {.position = {0.2, 0.2, 0.2}, .rotation = {1, 0, 0, 0}}, next;
    mpm_control control = {{0.7 * 0.01 / 19, 0.1 * 0.01 / 19, 0.0}};
    for (int i = 0; i < 950; i++) {
        mpm_tool_move(&tool, &pose, &control, &next);
        pose = next;
    }
    mpm_expect(pose.position[0], 0.2 + 50 * 0.7 * 0.01, 1e-13, "x");
    mpm_expect(pose.position[1], 0.2 + 50 * 0.1 * 0.01, 1e-13, "y");
    /* a pin along world z rolls towards -x, and its lift is in y alone */
    tool = tool_of(MPM_ROLLING_PIN);
    pose = (mpm_pose){.position = {0.5, 0.5, 0.5}, .rotation = {0.707, 0.707, 0, 0}};
    control = (mpm_control){{0.1, 0.0, -0.01}};
    mpm_tool_move(&tool, &pose, &control, &next);
    mpm_expect(next.position[0], 0.5 - 0.1 * 0.03, 1e-6, "x of the pin");
    mpm_expect(next.position[1], 0.49, 1e-15, "y of the pin");
    /* bounds stop it */
    tool.lower[1] = 0.495;
    mpm_tool_move(&tool, &pose, &control, &next);
    assert_true(next.position[1] == 0.495);
}

static void test_contact_adjoint(void **state)
{
    (void)state;
    int acted = 0;
    for (uint32_t shape = 0; shape < SHAPES; shape++) {
        mpm_tool tool = tool_of(shape);
        for (int k = 0; k < 80; k++) {
            tool.friction = k % 3 == 0 ? 0.0 : k % 3 == 1 ? 0.9 : 10.0;
            mpm_pose now = random_pose(), next, bars[2], moved[2];
            memset(bars, 0, sizeof bars);
            mpm_control control;
            double x[3], u[3], u_bar[3], w[3], du[3], dp[2][8], h = 1e-6, value[2], scale = 1.0;
            random_numbers(control.value, 7, 2e-4);
            mpm_tool_move(&tool, &now, &control, &next);
            near_surface(&tool, &now, x);
            random_numbers(u, 3, 3.0);
            random_numbers(w, 3, 1.0);
            random_numbers(du, 3, 1.0);
            random_numbers(dp[0], 16, 1e-3);
            mpm_contact contact = {&tool, &now, &next, k % 5 == 0 ? 0.0 : 666.0, 1e-4};
            double after[3] = {u[0], u[1], u[2]};
            acted += mpm_contact_apply(&contact, x, after);
            memcpy(u_bar, w, sizeof w);
            mpm_contact_adjoint(&contact, x, u, u_bar, &bars[0], &bars[1]);
            for (int side = 0; side < 2; side++) {
                double s = side ? -h : h;
                move_pose(&now, s, dp[0], &moved[0]);
                move_pose(&next, s, dp[1], &moved[1]);
                mpm_contact c = {&tool, &moved[0], &moved[1], contact.softness, 1e-4};
                for (int i = 0; i < 3; i++) {
                    after[i] = u[i] + s * du[i];
                }
                mpm_contact_apply(&c, x, after);
                value[side] = dot(after, w, 3);
            }
            double slope = dot(u_bar, du, 3) + pose_dot(&bars[0], dp[0]) + pose_dot(&bars[1], dp[1]);
            scale = fmax(scale, fabs(slope));
            mpm_expect(slope, (value[0] - value[1]) / (2 * h), 2e-6 * scale, "shape %u case %d contact",
                       shape, k);
        }
    }
    assert_true(acted > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_distances_and_normals, reseed),
        cmocka_unit_test_setup(test_ladle, reseed),
        cmocka_unit_test_setup(test_motion_adjoint, reseed),
        cmocka_unit_test(test_motion_examples),
        cmocka_unit_test_setup(test_contact_adjoint, reseed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
