/* SPDX-License-Identifier: Apache-2.0 */
/* mpm_support.h - for the tests of the plasticine engine: scenes of the ten PlasticineLab tasks, recorded
 * values of the original simulator (folder golden/plasticine of $DS_SHARED) and comparisons. */
#ifndef TEST_MPM_SUPPORT_H
#define TEST_MPM_SUPPORT_H

#include "engines/physics/mpm/sim/scene.h"
#include "plasticine/tasks.h"

#include <jansson.h>
#include <stddef.h>

/* The names in the files of recorded values. */
extern const char *const mpm_task_names[MPM_TASKS];
enum { TASK_TORUS = 7 };

/* The scene of task `t` for variant 1..5. */
mpm_scene mpm_test_scene(int t, int variant);

/* A small tank with syrup, an elastic cube and a ladle, a ball of plasticine and a box of sand. */
mpm_scene mpm_test_tank(mpm_domain *domain);

/* golden/plasticine/<format % task name>; NULL where it is missing. */
json_t *mpm_golden(const char *format, int t);

/* Skips the running test without recorded values. */
json_t *mpm_golden_or_skip(const char *format, int t);

/* Target density (64^3, malloc) of a task and variant; skips where it is missing. */
double *mpm_shipped_target(int t, int variant);

/* Reads numbers of a (nested) JSON array, row by row; returns their count. */
size_t mpm_numbers(const json_t *array, double *out, size_t capacity);
double mpm_number(const json_t *object, const char *key);

/* Poses from the recorded lists (x y z, w x y z, gap). */
void mpm_poses(const json_t *list, const mpm_scene *scene, mpm_pose *out);

/* Actions (50 x action_dim, malloc) of the recorded sequence `name` (a0 a1 a2 p0 p1 c0) from its seed;
 * `formula` is the recorded text. */
double *mpm_actions(const char *name, const char *formula, uint32_t action_dim);

/* Largest |a - b| divided by the largest |b| (1 where all b are 0). */
double mpm_relative(const double *a, const double *b, size_t n);

/* Fails the running test with a message where |a - b| > tol * scale. */
void mpm_expect(double a, double b, double tol_abs, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- random numbers, vectors and poses ---- */

static mpm_rng mpm_test_rng;

static inline double uniform(double a, double b)
{
    return a + (b - a) * mpm_rng_uniform(&mpm_test_rng);
}

static inline void random_numbers(double *out, size_t n, double scale)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = uniform(-scale, scale);
    }
}

static inline int reseed(void **state)
{
    mpm_rng_seed(&mpm_test_rng, 42);
    return 0;
}

static inline double dot(const double *a, const double *b, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Poses as vectors of 8: position, rotation, gap. */
static inline void move_pose(const mpm_pose *pose, double h, const double *d, mpm_pose *out)
{
    *out = *pose;
    for (int i = 0; i < 3; i++) {
        out->position[i] += h * d[i];
    }
    for (int i = 0; i < 4; i++) {
        out->rotation[i] += h * d[3 + i];
    }
    out->gap += h * d[7];
}

static inline double pose_dot(const mpm_pose *bar, const double *d)
{
    return dot(bar->position, d, 3) + dot(bar->rotation, d + 3, 4) + bar->gap * d[7];
}

#endif
