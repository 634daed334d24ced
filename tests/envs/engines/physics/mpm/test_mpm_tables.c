/* SPDX-License-Identifier: Apache-2.0 */
/* Slow checks of the plasticine engine against published and measured values: all ten tasks at frame 0, idle
 * and with constant actions; and the stored targets made again. */
#include "engines/physics/mpm/sim/scene.h"
#include "mpm_support.h"
#include "test.h"

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

/* The rotating tools after ten steps of the action below. */
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

/* Ten steps of one action; softness 0, and for some 666. The tolerances were stated with the values. */
static void test_ten_steps(void **state)
{
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

/* ---- gradients ---- */

/* Torus with the ring just above the slab, so that it acts from the start; segments = steps. */
static void open_torus(mpm_episode *e, const mpm_scene *scene, uint32_t steps)
{
    static const mpm_pose start = {.position = {0.5, 0.11, 0.5}, .rotation = {0.0, 0.0, 0.0, 1.0}};
    mpm_episode_spec spec = {.scene = scene,
                             .domain = mpm_domain_make(MPM_PRESET_FULL),
                             .steps = steps,
                             .segments = steps,
                             .loss_mode = MPM_LOSS_SEGMENT_SUM,
                             .softness = 666.0,
                             .tool_start = &start,
                             .engine = MPM_ENGINE_FAST,
                             .fast = {.bits = 64, .threads = 1}};
    double *stored = calloc(64 * 64 * 64, sizeof(double));
    const char *top = getenv("DS_TOP_SRC");
    char path[4096];
    snprintf(path, sizeof path, "%s/plugins/envs/data/torus.targets", top ? top : ".");
    assert_null(mpm_target_read(path, 64, 1, stored));
    assert_int_equal(mpm_episode_init(e, &spec), MPM_OK);
    e->objective.weight_density = 10.0;
    e->objective.weight_sdf = 10.0;
    e->objective.weight_contact = 40.0;
    e->objective.soft_contact = true;
    assert_int_equal(mpm_objective_init(&e->objective, spec.domain.n, stored), MPM_OK);
    free(stored);
}

/* The loss of the episode from output step `from` on (earlier actions are as in the last gradient run). */
static double loss_from(mpm_episode *e, const double *x, uint32_t from)
{
    mpm_outcome out;
    assert_int_equal(mpm_episode_resume(e, x, from, &out), MPM_OK);
    return out.loss;
}

typedef struct tally {
    double errors[512];
    size_t count;
    size_t without;  /* no two quotients agreed */
    size_t larger;   /* error above 1e-6, */
    size_t switched; /* of these: gone at a smaller h, so a branch switched within the larger one */
} tally;

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quotient_at(mpm_episode *e, double *x, uint32_t i, double h)
{
    double at = x[i], value[2];
    for (int side = 0; side < 2; side++) {
        x[i] = at + (side ? -h : h);
        value[side] = loss_from(e, x, i / e->action_dim);
    }
    x[i] = at;
    return (value[0] - value[1]) / (2.0 * h);
}

/* One component: quotients at decreasing h until two agree. */
static void component(mpm_episode *e, double *x, uint32_t i, double slope, double norm, tally *all)
{
    static const double steps[] = {1e-5, 3e-6, 1e-6, 3e-7, 1e-7, 3e-8, 1e-8};
    enum { COUNT = sizeof steps / sizeof steps[0] };
    double previous = NAN;
    for (int k = 0; k < COUNT; k++) {
        double quotient = quotient_at(e, x, i, steps[k]);
        if (fabs(quotient - previous) <= 2e-6 * norm) {
            double error = fabs(quotient - slope) / norm;
            all->errors[all->count++] = error;
            if (error > 1e-6) {
                bool gone = false;
                for (int j = k + 1; j < COUNT && !gone; j++) {
                    gone = fabs(quotient_at(e, x, i, steps[j]) - slope) <= 1e-6 * norm;
                }
                all->larger++;
                all->switched += gone;
            }
            return;
        }
        previous = quotient;
    }
    all->without++;
}

static void protocol(uint32_t steps, uint32_t points, uint32_t components)
{
    mpm_scene scene = mpm_test_scene(TASK_TORUS, 1);
    mpm_episode e;
    mpm_rng rng;
    tally all = {.count = 0};
    open_torus(&e, &scene, steps);
    uint32_t n = mpm_episode_dim(&e);
    double *x = calloc(n, sizeof(double)), *grad = calloc(n, sizeof(double));
    mpm_rng_seed(&rng, 100 + steps);
    for (uint32_t p = 0; p < points; p++) {
        mpm_outcome out;
        double norm = 0.0;
        for (uint32_t i = 0; i < n; i++) {
            x[i] = 0.999 * (2.0 * mpm_rng_uniform(&rng) - 1.0);
        }
        assert_int_equal(mpm_episode_run(&e, x, grad, NULL, NULL, &out), MPM_OK);
        for (uint32_t i = 0; i < n; i++) {
            norm += grad[i] * grad[i];
        }
        norm = sqrt(norm);
        for (uint32_t c = 0; c < components && c < n; c++) {
            uint32_t i = components < n ? (uint32_t)(mpm_rng_uniform(&rng) * n) : c;
            component(&e, x, i, grad[i], norm, &all);
        }
    }
    qsort(all.errors, all.count, sizeof all.errors[0], by_size);
    assert_true(all.count > all.without);
    double median = all.errors[all.count / 2];
    print_message(
        "H=%u: %zu of %zu components without two agreeing quotients; error relative to the gradient's norm: "
        "median %.2e, 90 %% %.2e, largest %.2e; %zu above 1e-6, %zu of them gone at a smaller h\n",
        steps, all.without, all.count + all.without, median, all.errors[all.count * 9 / 10],
        all.errors[all.count - 1], all.larger, all.switched);
    mpm_expect(median, 0.0, 1e-6, "H=%u median error", steps);
    free(x);
    free(grad);
    mpm_episode_free(&e);
}

static uint32_t points_wanted(uint32_t otherwise)
{
    const char *text = getenv("MPM_GRADIENT_POINTS");
    return text ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

static void test_gradient_2(void **state)
{
    protocol(2, 10, 15);
}

static void test_gradient_10(void **state)
{
    protocol(10, 10, 15);
}

/* One point here; MPM_GRADIENT_POINTS=10 takes a quarter of an hour. */
static void test_gradient_50(void **state)
{
    protocol(50, points_wanted(1), 15);
}

/* Derivatives along random directions over all 50 steps, with the episode's 15 default variables. Jumps (a
 * node enters the reach of the ring) spoil the quotients at larger h; rounding, about 1e-13 / h of the norm,
 * spoils those at smaller h. Where jumps are closer than 1e-8 no two quotients agree and the direction is not
 * counted. */
static void test_direction(void **state)
{
    enum { DIRECTIONS = 10, COUNT = 9 };
    mpm_scene scene = mpm_test_scene(TASK_TORUS, 1);
    mpm_episode e;
    mpm_rng rng;
    mpm_outcome out;
    double x[15], d[15], y[15], grad[15];
    int agreed = 0;
    open_torus(&e, &scene, STEPS);
    e.segments = 5;
    mpm_rng_seed(&rng, 7);
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        double slope = 0.0, size = 0.0, previous = NAN, first = NAN, error = INFINITY;
        bool known = false;
        for (int i = 0; i < 15; i++) {
            x[i] = 1.8 * mpm_rng_uniform(&rng) - 0.9;
            d[i] = 2.0 * mpm_rng_uniform(&rng) - 1.0;
        }
        assert_int_equal(mpm_episode_run(&e, x, grad, NULL, NULL, &out), MPM_OK);
        for (int i = 0; i < 15; i++) {
            slope += grad[i] * d[i];
            size += grad[i] * grad[i];
        }
        for (int k = 0; k < COUNT; k++) {
            double value[2], h = pow(10.0, -6.0 - 0.25 * k);
            for (int side = 0; side < 2; side++) {
                for (int i = 0; i < 15; i++) {
                    y[i] = x[i] + (side ? -h : h) * d[i];
                }
                assert_int_equal(mpm_episode_run(&e, y, NULL, NULL, NULL, &out), MPM_OK);
                value[side] = out.loss;
            }
            double quotient = (value[0] - value[1]) / (2.0 * h);
            double now = fabs(quotient - slope) / sqrt(size);
            known |= fabs(quotient - previous) <= 4e-6 * sqrt(size);
            first = known && isnan(first) ? now : first;
            error = known ? fmin(error, now) : error;
            previous = quotient;
        }
        /* a larger error of the first quotient that vanishes at a smaller h comes from a switch within it */
        if (known) {
            print_message("direction %d, 50 steps: error %.2e of the gradient's norm, %.2e at smaller h\n",
                          direction, first, error);
            mpm_expect(error, 0.0, 1e-5, "directional derivative %d", direction);
            agreed++;
        }
    }
    print_message("%d of %d directions have two agreeing quotients\n", agreed, DIRECTIONS);
    assert_true(agreed >= DIRECTIONS / 2);
    mpm_episode_free(&e);
}

RUN_TESTS(test_frame0, test_idle_step, test_ten_steps, test_idle_totals, test_stored_targets, test_gradient_2,
          test_gradient_10, test_direction, test_gradient_50)
