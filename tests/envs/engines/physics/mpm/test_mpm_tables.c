/* SPDX-License-Identifier: Apache-2.0 */
/* Slow checks of the plasticine engine against published and measured values: all ten tasks at frame 0, idle
 * and with constant actions; and the stored targets made again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mpm_support.h"
#include "engines/physics/mpm/sim/scene.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 50 };

static void open_episode(mpm_episode *e, const mpm_scene *scene, uint32_t steps, uint32_t segments,
                         double softness, const mpm_pose *start, const double *target)
{
    mpm_episode_spec spec = {.scene = scene,
                             .domain = mpm_domain_make(MPM_PRESET_FULL),
                             .steps = steps,
                             .segments = segments,
                             .loss_mode = MPM_LOSS_STEP_SUM,
                             .softness = softness,
                             .tool_start = start};
    assert_int_equal(mpm_episode_init(e, &spec), MPM_OK);
    e->objective.weight_density = 10.0;
    e->objective.weight_sdf = 10.0;
    e->objective.weight_contact = 1.0;
    assert_int_equal(mpm_objective_init(&e->objective, spec.domain.n, target), MPM_OK);
}

static int task_number(const char *name)
{
    for (int t = 0; t < MPM_TASKS; t++) {
        if (strcmp(mpm_task_names[t], name) == 0) {
            return t;
        }
    }
    fail();
    return -1;
}

/* ---- frame 0 of all tasks and targets ---- */

typedef struct frame0 {
    const char *task;
    double density[5], sdf[5], iou, hard, soft, distance_sum, distance_max;
} frame0;

static const frame0 frames[] = {
    {"Assembly",
     {.566692, .566760, .567118, .566950, .566697},
     {.052890, .052895, .052896, .052895, .052895},
     .074841,
     0,
     8.65848e-4,
     121260.547180,
     1.015144},
    {"Chopsticks",
     {1.199869, 1.191092, 1.161246, 1.210489, 1.210255},
     {.069344, .053356, .057519, .084529, .088157},
     .003333,
     0,
     1.94238e-4,
     133373.634090,
     1.154454},
    {"Move",
     {1.220703, 1.217313, 1.220703, 1.220703, 1.220703},
     {.106783, .073406, .138592, .132373, .183543},
     0,
     0,
     1.28113e-3,
     152314.424755,
     1.281059},
    {"Pinch",
     {.301990, .289506, .303933, .293613, .279342},
     {.000867, .000662, .000865, .000715, .000610},
     .310547,
     .0126036,
     .0385372,
     119342.097031,
     .976031},
    {"Rollingpin",
     {.444594, .495938, .420190, .315793, .374916},
     {.004501, .005351, .004202, .003213, .003843},
     .237643,
     0,
     7.49323e-4,
     125241.592251,
     1.018146},
    {"Rope",
     {1.220703, 1.076535, 1.216971, 1.220703, .959072},
     {.081604, .039007, .061332, .131668, .032161},
     0,
     1.94644e-3,
     .0198574,
     139189.874421,
     1.105517},
    {"Table",
     {.194405, .228629, .103515, .149601, .309343},
     {.001169, .002046, .000575, .000817, .003100},
     .244206,
     1.49035e-3,
     5.4979e-3,
     120339.651304,
     .976406},
    {"Torus",
     {.146753, .124682, .144839, .135732, .134997},
     {.001487, .001408, .001522, .001432, .001413},
     .347268,
     4.92175e-3,
     .0154907,
     127281.153267,
     1.020062},
    {"TripleMove",
     {1.220723, 1.220642, 1.220741, 1.220642, 1.220791},
     {.136359, .131185, .179426, .136049, .100292},
     0,
     0,
     5.59584e-3,
     104545.610208,
     .994737},
    {"Writer",
     {.092978, .079189, .058534, .092335, .099557},
     {.001130, .001039, .000929, .001130, .001117},
     .349141,
     0,
     1.23784e-3,
     128438.706230,
     1.025433},
};

static void test_frame0(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof frames / sizeof frames[0]; k++) {
        const frame0 *f = &frames[k];
        int t = task_number(f->task);
        for (int v = 1; v <= 5; v++) {
            mpm_scene scene = mpm_test_scene(t, v);
            double *target = mpm_shipped_target(t, v);
            mpm_episode e;
            mpm_measure m;
            open_episode(&e, &scene, 1, 1, 666.0, NULL, target);
            assert_int_equal(mpm_measure_state(&e.objective, &e.sim, e.start, e.start_pose, &m), MPM_OK);
            mpm_expect(m.density, f->density[v - 1], 6e-7, "%s v%d density", f->task, v);
            mpm_expect(m.sdf, f->sdf[v - 1], 6e-7, "%s v%d sdf", f->task, v);
            if (v == 1) {
                double sum = 0.0, max = 0.0;
                for (size_t i = 0; i < 64 * 64 * 64; i++) {
                    sum += e.objective.distance[i];
                    max = fmax(max, e.objective.distance[i]);
                }
                mpm_expect(m.iou, f->iou, 6e-7, "%s iou", f->task);
                mpm_expect(m.contact_hard, f->hard, 6e-6 * f->hard, "%s hard contact", f->task);
                mpm_expect(m.contact_soft, f->soft, 6e-6 * f->soft, "%s soft contact", f->task);
                mpm_expect(sum, f->distance_sum, 6e-7, "%s sum of distances", f->task);
                mpm_expect(max, f->distance_max, 6e-7, "%s largest distance", f->task);
            }
            mpm_episode_free(&e);
            free(target);
        }
    }
}

/* ---- idle episodes and constant actions ---- */

typedef struct last_state {
    mpm_measure measure;
    mpm_pose poses[MPM_MAX_TOOLS];
    mpm_particle first;
    uint32_t n_tools;
} last_state;

static void keep_last(void *context, uint32_t step, const mpm_particle *particles, const mpm_pose *poses,
                      const mpm_measure *measure)
{
    last_state *last = context;
    (void)step;
    last->measure = *measure;
    last->first = particles[0];
    memcpy(last->poses, poses, last->n_tools * sizeof *poses);
}

static double run_constant(int t, uint32_t steps, const double *action, double softness, last_state *last)
{
    mpm_scene scene = mpm_test_scene(t, 1);
    double *target = mpm_shipped_target(t, 1);
    mpm_episode e;
    mpm_outcome out;
    open_episode(&e, &scene, steps, 1, softness, NULL, target);
    last->n_tools = scene.n_tools;
    assert_int_equal(mpm_episode_run(&e, action, NULL, keep_last, last, &out), MPM_OK);
    mpm_episode_free(&e);
    free(target);
    return out.loss;
}

/* PlasticineLab's objective of 50 idle steps. */
static void test_idle_totals(void **state)
{
    (void)state;
    static const double total[MPM_TASKS] = {309.820, 634.608, 663.860, 152.060, 224.509,
                                            651.251, 88.64,   74.391,  678.542, 47.081};
    const double idle[18] = {0.0};
    for (int t = 0; t < MPM_TASKS; t++) {
        last_state last;
        double tol = t == 6 ? 1e-2 * total[t] : 1e-5 * total[t];
        mpm_expect(run_constant(t, STEPS, idle, 0.0, &last), total[t], tol, "%s, idle", mpm_task_names[t]);
    }
}

/* 19 idle substeps: position and velocity of particle 0, mean det F (measured with an independent program).
 */
static void test_idle_step(void **state)
{
    (void)state;
    typedef struct expected {
        const char *task;
        double x[3], v[3], det_f;
    } expected;
    static const expected all[] = {
        {"Assembly",
         {.6078103486, .1143838687, .5164424573},
         {5.327221e-4, -.03330299, 1.018954e-3},
         .999763287},
        {"Chopsticks",
         {.5019525734, .0286073792, .5616580805},
         {-4.779071e-5, -2.736723e-4, -1.06279e-4},
         .999982054},
        {"Move",
         {.7572728391, .5803657846, .7968507256},
         {-2.075577e-3, -.04692028, 1.50551e-3},
         1.000006298},
        {"Pinch",
         {.5097627088, .1429840008, .5205527336},
         {4.241775e-5, -.04679593, 2.591359e-4},
         .999803952},
        {"Rollingpin",
         {.5146438007, .0714969195, .5308288892},
         {1.503289e-4, -2.818906e-3, -1.17878e-4},
         .999772175},
        {"Rope",
         {.5292880754, .0429106360, .7361657635},
         {-1.034899e-4, -1.361465e-3, -3.366523e-4},
         .999986500},
        {"Table",
         {.4269525634, .1214621305, .4291105341},
         {5.498608e-5, -.05655882, -3.425413e-6},
         .999990860},
        {"TripleMove",
         {.3048818961, .0714964886, .5102776208},
         {9.049092e-4, -1.335255e-3, 1.540667e-3},
         .999814105},
        {"Writer",
         {.5146438044, .0714969134, .5308288941},
         {1.643187e-4, -2.836682e-3, -1.01878e-4},
         .999772176},
    };
    const double idle[18] = {0.0};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        const expected *e = &all[k];
        last_state last;
        run_constant(task_number(e->task), 1, idle, 0.0, &last);
        for (int d = 0; d < 3; d++) {
            mpm_expect(last.first.x[d], e->x[d], 6e-11, "%s x", e->task);
            mpm_expect(last.first.v[d], e->v[d], 6e-7 * fmax(fabs(e->v[d]), 1e-3), "%s v", e->task);
        }
        mpm_expect(last.measure.det_f_mean, e->det_f, 6e-10, "%s det F", e->task);
    }
}

/* The tools that turn: where ten steps of the action below bring them. */
static void check_rotation(const char *task, const double rotation[4])
{
    static const double sticks[4] = {.985037, .099501, .099501, .099501};
    static const double pin[4] = {.050019, -.183516, .705335, .682878};
    const double *expected = strcmp(task, "Chopsticks") == 0   ? sticks
                             : strcmp(task, "Rollingpin") == 0 ? pin
                                                               : NULL;
    for (int k = 0; expected && k < 4; k++) {
        mpm_expect(rotation[k], expected[k], 6e-7, "%s: rotation of the tool", task);
    }
}

/* Ten steps of one action; softness 0, and for some 666. The tolerances are those stated with the values. */
static void test_ten_steps(void **state)
{
    (void)state;
    typedef struct expected {
        const char *task;
        double action[18], density, sdf, com[3], position[3], soft_density, soft_sdf;
    } expected;
    static const expected all[] = {
        {"Assembly",
         {-1, .5, .2, 1, .5, .2},
         .566794,
         .051547,
         {.482493, .084014, .503046},
         {.29, .105, .518},
         .566794,
         .050984},
        {"Chopsticks",
         {.5, -.5, .5, .5, .5, .5, .5},
         1.183539,
         .046550,
         {.539558, .020533, .564174},
         {.6, .05, .6},
         0,
         0},
        {"Move",
         {1, .5, .5, -1, .5, .5},
         1.220693,
         .089296,
         {.669830, .594629, .785625},
         {.675714, .611916, .801598},
         0,
         0},
        {"Pinch",
         {.3, -1, .2},
         .318092,
         .001087,
         {.501046, .096400, .499253},
         {.56, .15, .54},
         .319731,
         .001111},
        {"Rollingpin",
         {.5, .5, -1},
         .421708,
         .004058,
         {.498329, .048830, .498910},
         {.401827, .113, .483573},
         .416617,
         .003977},
        {"Rope",
         {.5, .5, -1, -.5, .5, -1},
         1.220211,
         .073155,
         {.499965, .034591, .714029},
         {.27, .065, .72},
         1.219956,
         .072400},
        {"Table",
         {.5, 0, .5},
         .410955,
         .008715,
         {.512808, .116336, .512426},
         {.65, .06, .65},
         .413247,
         .009026},
        {"TripleMove",
         {1, .2, .5, -1, .2, .5, 1, .2, .5, -1, .2, .5, 1, .2, .5, -1, .2, .5},
         1.220384,
         .131639,
         {.484484, .072776, .531340},
         {.33, .07, .55},
         1.220299,
         .131637},
        {"Writer",
         {.3, -1, .2},
         .083462,
         .001126,
         {.500828, .049945, .499752},
         {.53, .05, .52},
         .082951,
         .001130},
    };
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        const expected *e = &all[k];
        last_state last;
        run_constant(task_number(e->task), 10, e->action, 0.0, &last);
        mpm_expect(last.measure.density, e->density, 1e-3 * e->density, "%s density", e->task);
        mpm_expect(last.measure.sdf, e->sdf, 1e-3 * e->sdf, "%s sdf", e->task);
        for (int d = 0; d < 3; d++) {
            mpm_expect(last.measure.com[d], e->com[d], 1e-4, "%s com", e->task);
            mpm_expect(last.poses[0].position[d], e->position[d], 6e-7, "%s tool", e->task);
        }
        check_rotation(e->task, last.poses[0].rotation);
        if (e->soft_density > 0.0) {
            run_constant(task_number(e->task), 10, e->action, 666.0, &last);
            mpm_expect(last.measure.density, e->soft_density, 1e-3 * e->soft_density, "%s density, soft",
                       e->task);
            mpm_expect(last.measure.sdf, e->soft_sdf, 1e-3 * e->soft_sdf, "%s sdf, soft", e->task);
        }
    }
}

/* ---- stored targets ---- */

/* Largest difference of two densities, relative to the largest value. */
static double differ(const double *made, const double *stored, size_t n)
{
    double largest = 0.0, worst = 0.0;
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, made[i]);
        worst = fmax(worst, fabs(made[i] - stored[i]));
    }
    return worst / largest;
}

static void test_stored_targets(void **state)
{
    (void)state;
    enum { CELLS = 64 * 64 * 64 };
    const char *top = getenv("DS_TOP_SRC");
    double *made = calloc(CELLS, sizeof(double)), *stored = calloc(CELLS, sizeof(double));
    for (int t = 0; t < MPM_TASKS; t++) {
        const mpm_task *task = mpm_task_at(t).task;
        size_t moves = (size_t)MPM_TARGET_PIECES * mpm_action_dim(&task->scene);
        char path[4096];
        snprintf(path, sizeof path, "%s/plugins/envs/%s", top ? top : ".", task->target_file);
        for (uint32_t v = 1; task->target_file && v <= MPM_TARGET_VARIANTS; v++) {
            mpm_scene scene = mpm_test_scene(t, (int)v);
            assert_int_equal(mpm_target_simulate(&scene, task->moves + (v - 1) * moves, made), 0);
            assert_null(mpm_target_read(path, 64, v, stored));
            mpm_expect(differ(made, stored, CELLS), 0.0, 1.0 / 65535, "%s: stored target %u",
                       mpm_task_names[t], v);
        }
    }
    free(made);
    free(stored);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frame0),         cmocka_unit_test(test_idle_step),
        cmocka_unit_test(test_ten_steps),      cmocka_unit_test(test_idle_totals),
        cmocka_unit_test(test_stored_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
