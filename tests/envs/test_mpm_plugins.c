/* SPDX-License-Identifier: Apache-2.0 */
/* test_mpm_plugins.c - the plasticine plugins through the public interface, on the small preset: all ten
 * tasks, and with torus everything that does not depend on the task. */
#include "host.h"
#include "sanitizers.h"
#include "test.h"

#include <diffsim/ext/scene.h>
#include <diffsim/ext/steps.h>
#include <diffsim/helper/random.h>

/* The ring starts in the slab, so that the actions matter within 10 short steps. */
static const char *const in_contact = "0.5 0.13 0.5 0 0 0 1";

enum { N_OBS = 6 * 209 + 7 }; /* every sixth of 1250 particles, and the ring */

static int set_up(void **state)
{
    fake_host *f = calloc(1, sizeof *f);
    fake_host_open(f, "envs/torus", 0, NULL);
    fake_host_set(f, "preset", "small");
    fake_host_set(f, "tool_start", in_contact);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fake_host_close(*state);
    free(*state);
    return 0;
}

static void *create(fake_host *f)
{
    void *env = NULL;
    ds_status status = f->plugin->env->create(&f->services.host, &env);
    if (status != DS_OK) {
        print_error("%s\n", f->error);
    }
    assert_int_equal(status, DS_OK);
    return env;
}

static void expect_refusal(fake_host *f, const char *part)
{
    void *env = NULL;
    f->error[0] = 0;
    assert_true(f->plugin->env->create(&f->services.host, &env) < 0);
    assert_null(env);
    if (!strstr(f->error, part)) {
        print_error("message: %s\n", f->error);
        fail();
    }
}

static ds_eval evaluate(fake_host *f, void *env, uint32_t want, uint64_t n, const double *x, double *grad)
{
    ds_eval io = {.bad_step = -1, .want = want, .n = n, .x = x, .grad = grad};
    assert_int_equal(ds_eval_call(f->plugin->env, env, &io), DS_OK);
    return io;
}

static void random_point(uint64_t index, uint64_t n, double *x)
{
    ds_random r = ds_random_open(1, "test point", index);
    for (uint64_t i = 0; i < n; i++) {
        x[i] = 2.0 * ds_random_uniform(&r) - 1.0;
    }
}

static void test_descriptor(void **state)
{
    fake_host *f = *state;
    assert_int_equal(f->plugin->magic, DS_MAGIC);
    assert_int_equal(f->plugin->layout, DS_LAYOUT);
    assert_string_equal(f->plugin->desc->id, "torus");
    assert_non_null(f->plugin->env);
}

static void test_info_and_bounds(void **state)
{
    fake_host *f = *state;
    ds_env_info info = {.struct_size = sizeof info};
    double lower[30], upper[30], x0[30];
    void *env = create(f);
    assert_int_equal(f->plugin->env->info(env, &info), DS_OK);
    assert_int_equal(info.n, 15);
    assert_int_equal(info.steps, 10);
    assert_true(fabs(info.dt - 1.8e-3) < 1e-15);
    assert_true(info.loss_floor == 0.0);
    assert_int_equal(f->plugin->env->bounds(env, 15, lower, upper, x0), DS_OK);
    for (int i = 0; i < 15; i++) {
        assert_true(lower[i] == -1.0 && upper[i] == 1.0 && x0[i] == 0.0);
    }
    assert_true(f->plugin->env->bounds(env, 14, lower, upper, x0) < 0);
    f->plugin->env->destroy(env);

    fake_host_set(f, "preset", "full");
    fake_host_set(f, "segments", "10");
    env = create(f);
    assert_int_equal(f->plugin->env->info(env, &info), DS_OK);
    assert_int_equal(info.n, 30);
    assert_int_equal(info.steps, 50);
    assert_true(fabs(info.dt - 1.9e-3) < 1e-15);
    f->plugin->env->destroy(env);
    f->plugin->env->destroy(NULL);
}

static void test_pure_and_repeatable(void **state)
{
    fake_host *f = *state;
    double x[15], other[15], grad[15], again[15];
    void *env = create(f), *twin = create(f);
    random_point(0, 15, x);
    random_point(1, 15, other);
    ds_eval plain = evaluate(f, env, 0, 15, x, NULL);
    ds_eval first = evaluate(f, env, DS_WANT_GRAD, 15, x, grad);
    evaluate(f, env, DS_WANT_GRAD | DS_WANT_SCENE, 15, other, again);
    ds_eval second = evaluate(f, env, DS_WANT_GRAD | DS_WANT_SCENE, 15, x, again);
    ds_eval third = evaluate(f, twin, 0, 15, x, NULL);
    assert_true(plain.loss == first.loss && first.loss == second.loss && third.loss == first.loss);
    assert_memory_equal(grad, again, sizeof grad);
    assert_int_equal(first.outcome, DS_EVAL_OK);
    assert_int_equal(first.grad_kind, DS_GRAD_ADJOINT);
    assert_int_equal(first.bad_step, -1);
    assert_int_equal(plain.cost_steps, 90);
    assert_int_equal(first.cost_steps, 180); /* all states are kept: nothing is simulated again */
    f->plugin->env->destroy(env);
    f->plugin->env->destroy(twin);
}

/* Directional derivative against differences whose step is halved until two of them agree: the loss has
 * jumps. */
static void check_direction(fake_host *f, const char *what, uint64_t n, double tolerance)
{
    void *env = create(f);
    double x[128], d[128], y[128], grad[128], best = INFINITY;
    for (uint64_t point = 0; point < 2; point++) {
        random_point(point, n, x);
        random_point(point + 100, n, d);
        double slope = 0.0, scale = 0.0;
        for (uint64_t i = 0; i < n; i++) {
            x[i] *= 0.9; /* leaves room for differences inside the bounds */
        }
        evaluate(f, env, DS_WANT_GRAD, n, x, grad);
        for (uint64_t i = 0; i < n; i++) {
            slope += grad[i] * d[i];
            scale += grad[i] * grad[i];
        }
        double previous = NAN, error = INFINITY, quotient = NAN;
        for (double h = 1e-5; h > 1e-8; h /= 4.0) {
            for (uint64_t i = 0; i < n; i++) {
                y[i] = x[i] + h * d[i];
            }
            double up = evaluate(f, env, 0, n, y, NULL).loss;
            for (uint64_t i = 0; i < n; i++) {
                y[i] = x[i] - h * d[i];
            }
            quotient = (up - evaluate(f, env, 0, n, y, NULL).loss) / (2.0 * h);
            if (fabs(quotient - previous) <= tolerance * sqrt(scale)) {
                error = fabs(quotient - slope) / sqrt(scale);
                break;
            }
            previous = quotient;
        }
        best = fmin(best, error);
        if (isfinite(error) && error > 3.0 * tolerance) {
            print_error("%s, point %d: slope %.12g, difference %.12g\n", what, (int)point, slope, quotient);
            fail();
        }
    }
    assert_true(isfinite(best));
    f->plugin->env->destroy(env);
}

static void test_gradient(void **state)
{
    fake_host *f = *state;
    check_direction(f, "segment_sum, soft contact", 15, 1e-5);
    fake_host_set(f, "loss", "step_sum");
    fake_host_set(f, "contact", "hard");
    fake_host_set(f, "segments", "10");
    fake_host_set(f, "tool_start", "0.5 0.15 0.5 0.92 0.2 0.3 0.1");
    check_direction(f, "step_sum, hard contact, tilted ring", 30, 1e-5);
    fake_host_set(f, "loss", "final");
    fake_host_set(f, "softness", "0");
    fake_host_set(f, "segments", "3");
    fake_host_set(f, "particles", "700");
    check_direction(f, "final, softness 0, 700 particles", 9, 1e-5);
}

/* At rest all singular values coincide; the reference's clamped derivative is only slightly off over these
 * few steps. */
static void test_reference_gradients(void **state)
{
    fake_host *f = *state;
    double x[15], exact[15], clamped[15], spread[15];
    random_point(3, 15, x);
    fake_host_set(f, "contact", "hard");
    fake_host_set(f, "tool_start", "0.5 0.15 0.5 0 0 0 1");
    void *env = create(f);
    evaluate(f, env, DS_WANT_GRAD, 15, x, exact);
    f->plugin->env->destroy(env);
    fake_host_set(f, "svd_grad", "reference");
    env = create(f);
    evaluate(f, env, DS_WANT_GRAD, 15, x, clamped);
    f->plugin->env->destroy(env);
    fake_host_set(f, "contact_grad", "reference");
    env = create(f);
    evaluate(f, env, DS_WANT_GRAD, 15, x, spread);
    f->plugin->env->destroy(env);
    double norm = 0.0, difference = 0.0, factor = 0.0;
    for (int i = 0; i < 15; i++) {
        norm += exact[i] * exact[i];
        difference += (exact[i] - clamped[i]) * (exact[i] - clamped[i]);
        factor += spread[i] * spread[i];
    }
    assert_true(norm > 0.0 && difference <= 1e-4 * norm);
    assert_true(factor > 100.0 * norm);
}

static ds_status no_resource(const ds_host *host, const char *relative, char *buf, uint64_t cap,
                             uint64_t *needed)
{
    return DS_E_IO;
}

static void test_refusals(void **state)
{
    fake_host *f = *state;
    static double wrong[32 * 32 * 32];
    const uint64_t flat[2] = {64, 64}, small[3] = {32, 32, 32};
    fake_host_set(f, "tool_start", "1 2 3");
    expect_refusal(f, "tool_start has 3 numbers, the 1 tool(s) of this task need 7");
    fake_host_set(f, "tool_start", "0.5 0.5 0.5 0 0 0 0");
    expect_refusal(f, "quaternion");
    fake_host_set(f, "tool_start", "");
    fake_host_set_array(f, "target", wrong, 2, flat);
    expect_refusal(f, "target has shape 64x64, this preset needs 32x32x32");
    fake_host_set_array(f, "target", wrong, 3, small);
    expect_refusal(f, "no node with a mass above 0.0001");
    wrong[7] = NAN;
    expect_refusal(f, "not finite, at node (0, 0, 7)");
    wrong[7] = 1.0;
    f->plugin->env->destroy(create(f));
    fake_host_set_array(f, "target", NULL, 0, small);
    f->services.host.resource = no_resource;
    expect_refusal(f, "data/torus.targets");
}

static void test_unused_segments(void **state)
{
    fake_host *f = *state;
    double x[90], grad[90];
    fake_host_set(f, "segments", "30");
    void *env = create(f);
    assert_non_null(strstr(f->log, "the variables of 20 segments have no effect"));
    random_point(5, 90, x);
    evaluate(f, env, DS_WANT_GRAD, 90, x, grad);
    int zero = 0;
    for (int s = 0; s < 30; s++) {
        zero += grad[3 * s] == 0.0 && grad[3 * s + 1] == 0.0 && grad[3 * s + 2] == 0.0;
    }
    assert_int_equal(zero, 20);
    f->plugin->env->destroy(env);
}

static void stop_after(fake_host *f, uint64_t polls)
{
    f->polls = 0;
    f->stop_after = polls;
}

static void test_stop(void **state)
{
    fake_host *f = *state;
    double x[15] = {0.0}, grad[15];
    void *env = create(f);
    for (uint64_t calls = 1; calls < 180; calls += 40) {
        ds_eval io = {.bad_step = -1, .want = DS_WANT_GRAD, .n = 15, .x = x, .grad = grad};
        stop_after(f, calls);
        assert_int_equal(ds_eval_call(f->plugin->env, env, &io), DS_STOPPED);
    }
    stop_after(f, 0);
    evaluate(f, env, DS_WANT_GRAD, 15, x, grad);
    f->plugin->env->destroy(env);
}

/* A target whose difference to the state overflows. */
static void set_overflowing_target(fake_host *f)
{
    static double target[32 * 32 * 32];
    const uint64_t shape[3] = {32, 32, 32};
    for (int i = 0; i < 32 * 32 * 32; i++) {
        target[i] = 1e308;
    }
    fake_host_set_array(f, "target", target, 3, shape);
}

/* The loss counts states from step 2 on. */
static void test_divergence_is_reported(void **state)
{
    fake_host *f = *state;
    double x[15], grad[15];
    set_overflowing_target(f);
    void *env = create(f);
    random_point(0, 15, x);
    ds_eval io = evaluate(f, env, DS_WANT_GRAD, 15, x, grad);
    assert_int_equal(io.outcome, DS_EVAL_DIVERGED);
    assert_true(isinf(io.loss) && io.bad_step == 2);
    assert_non_null(strstr(f->error, "move the tools less"));
    assert_true(grad[0] == 0.0 && grad[14] == 0.0);
    /* Stepwise control gives the same. */
    const ds_env_steps *rl = f->plugin->env->get_extension(env, DS_EXT_STEPS);
    double obs[N_OBS];
    ds_step step = {.action = x, .obs = obs};
    assert_int_equal(ds_step_begin_call(rl, env, 0, 0, obs, NULL), DS_OK);
    assert_int_equal(ds_step_call(rl, env, 0, &step), DS_OK);
    assert_true(step.outcome == DS_EVAL_DIVERGED && step.ended && isinf(step.loss));
    assert_int_equal(ds_step_call(rl, env, 0, &step), DS_E_STATE);
    f->plugin->env->destroy(env);
}

/* A loss of the last state must be finite at the start, too. */
static void test_divergence_at_the_start(void **state)
{
    fake_host *f = *state;
    double x[15], obs[N_OBS];
    set_overflowing_target(f);
    fake_host_set(f, "loss", "final");
    void *env = create(f);
    random_point(0, 15, x);
    const ds_env_steps *rl = f->plugin->env->get_extension(env, DS_EXT_STEPS);
    ds_step step = {.action = x, .obs = obs};
    for (int k = 0; k < 2; k++) {
        assert_int_equal(ds_step_begin_call(rl, env, 0, 0, obs, NULL), DS_OK);
        assert_true(isfinite(obs[0]) && isfinite(obs[N_OBS - 1]));
        assert_int_equal(ds_step_call(rl, env, 0, &step), DS_OK);
        assert_true(step.outcome == DS_EVAL_DIVERGED && step.ended);
    }
    f->plugin->env->destroy(env);
}

/* An episode that receives a stop request, and one after it. */
static void test_stepwise_stops(void **state)
{
    fake_host *f = *state;
    double x[15], obs[N_OBS];
    void *env = create(f);
    random_point(0, 15, x);
    ds_eval whole = evaluate(f, env, 0, 15, x, NULL);
    const ds_env_steps *rl = f->plugin->env->get_extension(env, DS_EXT_STEPS);
    ds_step step = {.action = x, .obs = obs};
    assert_int_equal(ds_step_begin_call(rl, env, 0, 0, obs, NULL), DS_OK);
    stop_after(f, 7);
    assert_int_equal(ds_step_call(rl, env, 0, &step), DS_STOPPED);
    stop_after(f, 0);
    assert_int_equal(ds_step_call(rl, env, 0, &step), DS_E_STATE);
    assert_int_equal(ds_step_begin_call(rl, env, 0, 0, obs, NULL), DS_OK);
    for (int t = 0; t < 5; t++) {
        step.action = x + 3 * t;
        assert_int_equal(ds_step_call(rl, env, 0, &step), DS_OK);
        assert_int_equal(step.cost_steps, 18);
    }
    assert_true(step.ended && step.loss == whole.loss);
    f->plugin->env->destroy(env);
}

static void test_scene(void **state)
{
    fake_host *f = *state;
    static const char *const names[] = {"density", "sdf",   "contact_soft", "contact_hard", "iou",
                                        "com_x",   "com_y", "com_z",        "sum_sq",       "det_f_mean"};
    double x[15], *points = malloc(3 * 20000 * sizeof(double));
    void *env = create(f);
    const ds_scene *scene = f->plugin->env->get_extension(env, DS_EXT_SCENE);
    assert_non_null(scene);
    assert_null(f->plugin->env->get_extension(env, "no.such/1"));
    ds_scene_info info = {.struct_size = sizeof info};
    assert_int_equal(scene->info(env, &info), DS_E_STATE);
    random_point(2, 15, x);
    ds_eval io = evaluate(f, env, DS_WANT_SCENE, 15, x, NULL);
    assert_int_equal(scene->info(env, &info), DS_OK);
    assert_int_equal(info.frames, 11);
    assert_int_equal(info.bodies, 3);
    assert_int_equal(info.metrics, 10);
    static const uint32_t shapes[] = {DS_BODY_POINTS, DS_BODY_TORUS, DS_BODY_POINTS};
    static const uint32_t roles[] = {DS_ROLE_MATERIAL, DS_ROLE_TOOL, DS_ROLE_TARGET};
    for (uint64_t b = 0; b < 3; b++) {
        ds_scene_body body = {.struct_size = sizeof body};
        assert_int_equal(scene->body(env, b, &body), DS_OK);
        assert_int_equal(body.shape, shapes[b]);
        assert_int_equal(body.role, roles[b]);
        assert_int_equal(body.count, b == 1 ? 1 : 1250);
        assert_int_equal(scene->frame(env, 10, b, 1, points), DS_E_ARG);
        assert_int_equal(scene->frame(env, 11, b, 60000, points), DS_E_ARG);
        assert_int_equal(scene->frame(env, 10, b, 60000, points), DS_OK);
        for (uint64_t i = 0; i < (b == 1 ? 1 : body.count) * 3; i++) {
            assert_true(points[i] >= 0.0 && points[i] <= 1.0);
        }
    }
    double weighted = 0.0;
    for (uint64_t m = 0; m < 10; m++) {
        ds_scene_metric metric = {.struct_size = sizeof metric};
        assert_int_equal(scene->metric(env, m, &metric), DS_OK);
        assert_string_equal(metric.name, names[m]);
        const double *values = metric.values;
        for (int s = 2; s <= 10; s += 2) {
            weighted += m == 2 ? 40.0 * values[s] : m < 2 ? 10.0 * values[s] : 0.0;
        }
        if (m == 9) {
            assert_true(fabs(values[0] - 1.0) < 1e-15);
        }
    }
    assert_true(fabs(weighted - io.loss) < 1e-12 * io.loss);
    assert_true(scene->metric(env, 10, &(ds_scene_metric){.struct_size = sizeof(ds_scene_metric)}) < 0);
    free(points);
    f->plugin->env->destroy(env);
}

/* ---- all tasks ---- */

typedef struct task {
    const char *id;
    uint64_t action_dim, bodies, tools;
    uint32_t tool_shape; /* of the first */
    uint64_t particles;
    const char *in_contact; /* tools in the material, where they can be tilted */
} task;

static const task tasks[] = {
    {"assembly", 6, 2, 2, DS_BODY_SPHERE, 1250, "0.36 0.06 0.5 1 0 0 0 0.24 0.07 0.5 1 0 0 0"},
    {"chopsticks", 7, 1, 1, DS_BODY_CAPSULE, 1250, "0.5 0.15 0.5 0.95 0.1 0.2 0.15 0.07"},
    {"move", 6, 1, 2, DS_BODY_SPHERE, 1250, "0.6 0.56 0.75 1 0 0 0 0.75 0.55 0.76 1 0 0 0"},
    {"pinch", 3, 1, 1, DS_BODY_SPHERE, 750, "0.51 0.2 0.49 1 0 0 0"},
    {"rollingpin", 3, 1, 1, DS_BODY_CAPSULE, 1250, "0.5 0.11 0.5 0.7 0.6 0.1 0.2"},
    {"rope", 6, 1, 3, DS_BODY_SPHERE, 1250,
     "0.25 0.03 0.77 1 0 0 0 0.75 0.04 0.76 1 0 0 0 0.4 0.02 0.63 0.9 0.1 0.2 0.3"},
    {"table", 3, 5, 1, DS_BODY_SPHERE, 1250, "0.56 0.1 0.56 1 0 0 0"},
    {"torus", 3, 1, 1, DS_BODY_TORUS, 1250, "0.5 0.13 0.5 0.92 0.2 0.3 0.1"},
    {"triplemove", 18, 3, 6, DS_BODY_SPHERE, 1248,
     "0.25 0.05 0.5 1 0 0 0 0.35 0.05 0.5 1 0 0 0 0.45 0.05 0.5 1 0 0 0 "
     "0.55 0.05 0.5 1 0 0 0 0.65 0.05 0.5 1 0 0 0 0.75 0.05 0.5 1 0 0 0"},
    {"writer", 3, 1, 1, DS_BODY_CAPSULE, 1250, "0.5 0.11 0.5 0.95 0.1 0.2 0.1"},
};
enum { TASKS = sizeof tasks / sizeof tasks[0] };

/* A number that distinguishes targets: the weighted positions of the target's points. */
static double check_bodies(fake_host *f, void *env, const task *t)
{
    const ds_scene *scene = f->plugin->env->get_extension(env, DS_EXT_SCENE);
    ds_scene_info info = {.struct_size = sizeof info};
    uint64_t particles = 0;
    double where = 0.0;
    assert_int_equal(scene->info(env, &info), DS_OK);
    assert_int_equal(info.bodies, t->bodies + t->tools + 1);
    assert_true(info.box[1] == 0.0);
    for (uint64_t b = 0; b < info.bodies; b++) {
        ds_scene_body body = {.struct_size = sizeof body};
        double numbers[3 * 1300];
        assert_int_equal(scene->body(env, b, &body), DS_OK);
        assert_int_equal(scene->frame(env, 0, b, 3 * 1300, numbers), DS_OK);
        if (b < t->bodies) {
            assert_int_equal(body.role, DS_ROLE_MATERIAL);
            particles += body.count;
        } else if (b < t->bodies + t->tools) {
            /* inside the image, except below the floor */
            assert_int_equal(body.role, strcmp(t->id, "rope") == 0 && b == 3 ? DS_ROLE_FIXED : DS_ROLE_TOOL);
            for (int d = 0; d < 3; d++) {
                assert_true(numbers[d] >= info.box[d] && numbers[d] <= info.box[3 + d]);
            }
        } else {
            assert_int_equal(body.role, DS_ROLE_TARGET);
            assert_int_equal(body.count, t->particles);
            for (uint64_t i = 0; i < 3 * body.count; i++) {
                where += numbers[i] * (double)(1 + i % 3) / (double)body.count;
            }
        }
        if (b == t->bodies) {
            assert_int_equal(body.shape, t->tool_shape);
        }
    }
    assert_int_equal(particles, t->particles);
    return where;
}

static void open_task(fake_host *f, const task *t)
{
    char name[64];
    snprintf(name, sizeof name, "envs/%s", t->id);
    fake_host_open(f, name, 0, NULL);
}

/* Dimensions, bodies, and five targets that differ. */
static void test_tasks(void **state)
{
    for (int k = 0; k < TASKS; k++) {
        const task *t = &tasks[k];
        static const char *const variants[5] = {"1", "2", "3", "4", "5"};
        fake_host f;
        double x[90] = {0.0}, where[5];
        open_task(&f, t);
        assert_string_equal(f.plugin->desc->id, t->id);
        fake_host_set(&f, "preset", "small");
        fake_host_set(&f, "steps", "1");
        for (int v = 0; v < 5; v++) {
            ds_env_info info = {.struct_size = sizeof info};
            fake_host_set(&f, "variant", variants[v]);
            void *env = create(&f);
            assert_int_equal(f.plugin->env->info(env, &info), DS_OK);
            assert_int_equal(info.n, 5 * t->action_dim);
            evaluate(&f, env, DS_WANT_SCENE, info.n, x, NULL);
            where[v] = check_bodies(&f, env, t);
            for (int w = 0; w < v; w++) {
                assert_true(fabs(where[v] - where[w]) > 1e-4);
            }
            f.plugin->env->destroy(env);
        }
        fake_host_close(&f);
    }
}

/* Where the target is the start's own particles elsewhere, all mass is in the wrong place (assembly: the
 * lump's mass). */
static void test_own_particles_as_target(void **state)
{
    static const int moved[] = {0, 2, 5, 8};
    for (size_t k = 0; k < sizeof moved / sizeof moved[0]; k++) {
        const task *t = &tasks[moved[k]];
        fake_host f;
        double x[90] = {0.0};
        ds_scene_metric density = {.struct_size = sizeof density};
        open_task(&f, t);
        fake_host_set(&f, "preset", "small");
        fake_host_set(&f, "steps", "1");
        void *env = create(&f);
        const ds_scene *scene = f.plugin->env->get_extension(env, DS_EXT_SCENE);
        evaluate(&f, env, DS_WANT_SCENE, 5 * t->action_dim, x, NULL);
        assert_int_equal(scene->metric(env, 0, &density), DS_OK);
        double mass = (k == 0 ? 500.0 : (double)t->particles) / 4096.0;
        assert_true(fabs(density.values[0] - 2.0 * mass) < 0.02 * mass);
        f.plugin->env->destroy(env);
        fake_host_close(&f);
    }
}

/* Every tool in the material, with both engines. */
static void test_tasks_gradient(void **state)
{
    for (int k = 0; k < TASKS; k++) {
        const task *t = &tasks[k];
        fake_host f;
        open_task(&f, t);
        fake_host_set(&f, "preset", "small");
        fake_host_set(&f, "steps", "3");
        fake_host_set(&f, "segments", "3");
        fake_host_set(&f, "tool_start", t->in_contact);
        check_direction(&f, t->id, 3 * t->action_dim, 1e-5);
        if (k % 3 == 0 || check_all()) {
            fake_host_set(&f, "engine", "scalar");
            fake_host_set(&f, "steps", "2");
            fake_host_set(&f, "contact", "hard");
            check_direction(&f, t->id, 3 * t->action_dim, 1e-5);
        }
        fake_host_close(&f);
    }
}

RUN_EACH_WITH(set_up, tear_down, test_descriptor, test_info_and_bounds, test_pure_and_repeatable,
              test_gradient, test_reference_gradients, test_refusals, test_unused_segments, test_stop,
              test_divergence_is_reported, test_divergence_at_the_start, test_stepwise_stops, test_scene,
              test_tasks, test_own_particles_as_target, test_tasks_gradient)
