/* SPDX-License-Identifier: Apache-2.0 */
/* Random parameters for the plasticine plugins on the small preset, absurd ones among them, and random
 * points: every instance is made or refused with a message, every evaluation keeps the rules of env.h,
 * every scene can be read. MPM_FUZZ_SETS sets the number of parameter sets per task, MPM_FUZZ_SEED
 * another stream, MPM_FUZZ_TASK one task. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_host.h"

#include <diffsim/ext/scene.h>
#include <diffsim/random.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SLOW
enum { SETS = 1000 };
#else
enum { SETS = 12 };
#endif
enum { NODES = 32 * 32 * 32, TEXT = 2048, LONGEST_LIST = 72 };

/* Tools, and numbers for the start of each. */
typedef struct task {
    const char *id;
    uint64_t tools, each;
} task;
static const task tasks[] = {{"assembly", 2, 7}, {"chopsticks", 1, 8}, {"move", 2, 7},  {"pinch", 1, 7},
                             {"rollingpin", 1, 7}, {"rope", 3, 7},     {"table", 1, 7}, {"torus", 1, 7},
                             {"triplemove", 6, 7}, {"writer", 1, 7}};

typedef struct fuzz {
    const task *task;
    fake_host host;
    ds_random random;
    char text[FAKE_PARAMS][TEXT];
    double target[NODES];
    long made, refused, outcome[DS_EVAL_ERROR + 1];
} fuzz;

static double unit(fuzz *z)
{
    return ds_random_uniform(&z->random);
}

static uint64_t below(fuzz *z, uint64_t n)
{
    return (uint64_t)(unit(z) * (double)n);
}

/* A number in [low, high]: an end, 0, ordinary, or of any magnitude. */
static double draw(fuzz *z, double low, double high)
{
    double u = unit(z), v = pow(10.0, -8.0 + 16.0 * unit(z));
    v = unit(z) < 0.5 ? v : -v;
    v = u < 0.1 ? low : u < 0.2 ? high : u < 0.3 ? 0.0 : u < 0.5 ? v : fmod(v, 100.0);
    return fmin(high, fmax(low, v));
}

/* Poses near the middle of the domain, or anywhere; now and then too many or too few numbers. */
static void draw_poses(fuzz *z, const ds_param *p, char *text)
{
    uint64_t each = z->task->each;
    uint64_t count = unit(z) < 0.1 ? below(z, LONGEST_LIST) : z->task->tools * each;
    bool wild = unit(z) < 0.2;
    size_t used = 0;
    text[0] = 0;
    for (uint64_t i = 0; i < count && used < TEXT - 40; i++) {
        double v = wild ? draw(z, p->min, p->max) : i % each < 3 ? unit(z) : 2.0 * unit(z) - 1.0;
        used += (size_t)snprintf(text + used, TEXT - used, "%s%.17g", i ? " " : "", v);
    }
}

/* Mostly few particles, so that a set takes milliseconds. */
static int64_t draw_integer(fuzz *z, const ds_param *p)
{
    static const int64_t few[] = {1, 2, 3, 17, 60, 200};
    if (strcmp(p->name, "particles") == 0) {
        return unit(z) < 0.03 ? 1250 : few[below(z, sizeof few / sizeof few[0])];
    }
    double most = strcmp(p->name, "steps") == 0 ? 3 : strcmp(p->name, "segments") == 0 ? 6 : p->max;
    return (int64_t)draw(z, fmax(p->min, 1.0), most);
}

static void draw_target(fuzz *z)
{
    static const uint64_t right[3] = {32, 32, 32}, wrong[3] = {32, 64, 16};
    double u = unit(z), scale = pow(10.0, -6.0 + 10.0 * unit(z));
    memset(z->target, 0, sizeof z->target);
    for (uint64_t i = below(z, 200); i > 0; i--) {
        z->target[below(z, NODES)] = scale * (unit(z) - 0.2);
    }
    if (u < 0.1) {
        z->target[below(z, NODES)] = u < 0.03 ? (double)NAN : u < 0.06 ? (double)INFINITY : 1e308;
    }
    fake_host_set_array(&z->host, "target", z->target, 3, unit(z) < 0.1 ? wrong : right);
}

static void draw_parameters(fuzz *z)
{
    const ds_param *const *params = z->host.plugin->desc->params;
    z->host.host.threads = 1 + (uint32_t)below(z, 3);
    for (int i = 0; params[i]; i++) {
        const ds_param *p = params[i];
        char *text = z->text[i];
        bool change = unit(z) < 0.4 || strcmp(p->name, "particles") == 0 || strcmp(p->name, "steps") == 0;
        z->host.text[i] = p->default_text;
        z->host.ndim[i] = 0;
        if (strcmp(p->name, "preset") == 0) {
            z->host.text[i] = "small";
            continue;
        }
        if (!change) {
            continue;
        }
        z->host.text[i] = text;
        if (p->type == DS_PARAM_INT) {
            snprintf(text, TEXT, "%lld", (long long)draw_integer(z, p));
        } else if (p->type == DS_PARAM_REAL) {
            snprintf(text, TEXT, "%.17g", draw(z, p->min, p->max));
        } else if (p->type == DS_PARAM_LIST) {
            draw_poses(z, p, text);
        } else if (p->type == DS_PARAM_ENUM) {
            uint64_t n = 0;
            while (p->choices[n]) {
                n++;
            }
            snprintf(text, TEXT, "%s", p->choices[below(z, n)]);
        } else {
            z->host.text[i] = p->default_text;
            if (strcmp(p->name, "target") == 0 && unit(z) < 0.5) {
                draw_target(z);
            }
        }
    }
}

/* Every frame of every body, and every metric. */
static void read_scene(fuzz *z, void *env)
{
    const ds_scene *scene = z->host.plugin->env->get_extension(env, DS_EXT_SCENE);
    ds_scene_info info = {.struct_size = sizeof info};
    assert_int_equal(scene->info(env, &info), DS_OK);
    for (uint64_t b = 0; b < info.bodies; b++) {
        ds_scene_body body = {.struct_size = sizeof body};
        assert_int_equal(scene->body(env, b, &body), DS_OK);
        double *numbers = malloc((7 * body.count + 1) * sizeof(double));
        for (uint64_t k = 0; k < info.frames; k++) {
            assert_int_equal(scene->frame(env, k, b, 7 * body.count, numbers), DS_OK);
        }
        free(numbers);
    }
    for (uint64_t m = 0; m < info.metrics; m++) {
        const char *name, *of;
        const double *values;
        assert_int_equal(scene->metric(env, m, &name, &of, &values), DS_OK);
        assert_true(name && of && values);
    }
}

static void evaluate(fuzz *z, void *env)
{
    ds_env_info info = {.struct_size = sizeof info};
    assert_int_equal(z->host.plugin->env->info(env, &info), DS_OK);
    double *x = malloc(2 * info.n * sizeof *x), *grad = x + info.n;
    for (int k = 0; k < 2; k++) {
        double kind = unit(z);
        uint32_t want = unit(z) < 0.7 ? DS_WANT_GRAD : 0;
        want |= unit(z) < 0.3 ? DS_WANT_SCENE : 0;
        for (uint64_t i = 0; i < info.n; i++) {
            double u = 2.0 * unit(z) - 1.0;
            x[i] = kind < 0.6 ? u : kind < 0.8 ? (u < 0.0 ? -1.0 : 1.0) : kind < 0.9 ? 0.0 : 1e6 * u;
            grad[i] = NAN;
        }
        ds_eval io = {.struct_size = sizeof io, .want = want, .n = info.n, .x = x, .grad = grad, .loss = NAN};
        ds_status status = z->host.plugin->env->evaluate(env, &io);
        if (status != DS_OK) {
            print_error("status %d: %s\n", (int)status, z->host.error);
        }
        assert_int_equal(status, DS_OK);
        assert_true(io.outcome <= DS_EVAL_DIVERGED);
        assert_true(io.outcome == DS_EVAL_DIVERGED ? isinf(io.loss) && io.bad_step >= 0
                                                   : isfinite(io.loss) && io.loss >= 0.0);
        for (uint64_t i = 0; i < info.n && want & DS_WANT_GRAD; i++) {
            assert_true(isfinite(grad[i]));
        }
        if (want & DS_WANT_SCENE && io.outcome != DS_EVAL_DIVERGED) {
            read_scene(z, env);
        }
        z->outcome[io.outcome]++;
    }
    free(x);
}

static long number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtol(text, NULL, 10) : otherwise;
}

static void fuzz_task(const task *t)
{
    const char *only = getenv("MPM_FUZZ_TASK");
    if (only && *only && strcmp(only, t->id) != 0) {
        return;
    }
    fuzz *z = calloc(1, sizeof *z);
    long sets = number("MPM_FUZZ_SETS", SETS), seed = number("MPM_FUZZ_SEED", 1);
    z->task = t;
    fake_host_open(&z->host, t->id);
    for (long k = 0; k < sets; k++) {
        void *env = NULL;
        /* a stream per set, so that one can be repeated alone */
        z->random = ds_random_open((uint64_t)seed, t->id, (uint64_t)k);
        z->host.error[0] = 0;
        draw_parameters(z);
        ds_status status = z->host.plugin->env->create(&z->host.host, &env);
        if (status == DS_OK) {
            z->made++;
            evaluate(z, env);
            z->host.plugin->env->destroy(env);
        } else {
            assert_true(status == DS_E_PARAM || status == DS_E_DATA);
            assert_null(env);
            assert_true(strlen(z->host.error) > 10);
            z->refused++;
        }
    }
    print_message("%s: %ld sets refused, %ld made; evaluations: %ld ok, %ld bad gradient, %ld diverged\n",
                  t->id, z->refused, z->made, z->outcome[DS_EVAL_OK], z->outcome[DS_EVAL_BAD_GRAD],
                  z->outcome[DS_EVAL_DIVERGED]);
    assert_true(sets < 100 || (z->refused > 0 && z->outcome[DS_EVAL_OK] > 0));
    fake_host_close(&z->host);
    free(z);
}

static void test_random_parameters(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof tasks / sizeof tasks[0]; k++) {
        fuzz_task(&tasks[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_parameters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
