/* SPDX-License-Identifier: Apache-2.0 */
/* test_rigid_fuzz.c - random values for the parameters of the rigid and the cloth scenes, drawn from their schemas, and
 * random points: every instance is made or refused with a message, every evaluation keeps the rules of env.h. The
 * variable DS_FUZZ_INSTANCES sets how many instances are made of each environment. */
#include "rigid_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <diffsim/ext/scene.h>
#include <diffsim/random.h>
#include <math.h>

#ifdef SLOW
enum { INSTANCES = 500000 };
#else
enum { INSTANCES = 2000 };
#endif
enum { MOST_STEPS = 40, MOST_CELLS = 6 };

/* A number in [low, high]: an end, or anything with a random magnitude. */
static double draw(ds_random *r, double low, double high)
{
    double u = ds_random_uniform(r), v = pow(10, -8 + 16 * ds_random_uniform(r));
    v = ds_random_uniform(r) < 0.5 ? v : -v;
    v = u < 0.1 ? low : u < 0.2 ? high : u < 0.3 ? 0 : u < 0.5 ? v : fmod(v, 3);
    return fmin(high, fmax(low, v));
}

static void set_value(ds_random *r, const ds_param *p, fake_value *v)
{
    double high = strcmp(p->name, "steps") == 0 || strcmp(p->name, "hold") == 0 ? MOST_STEPS
                  : strcmp(p->name, "cells") == 0                               ? MOST_CELLS
                                                                                : p->max;
    if (p->type == DS_PARAM_INT || p->type == DS_PARAM_BOOL) {
        v->integer = (int64_t)draw(r, p->min, fmin(high, 12));
    } else if (p->type == DS_PARAM_ENUM) {
        int n = 0;
        while (p->choices[n]) {
            n++;
        }
        v->integer = (int64_t)(ds_random_uniform(r) * n);
    } else if (p->type == DS_PARAM_REAL) {
        v->real = draw(r, p->min, high);
    } else if (p->type == DS_PARAM_LIST) {
        uint64_t most = p->max_count ? p->max_count : 12;
        double u = ds_random_uniform(r);
        v->count = u < 0.05 ? (uint64_t)(ds_random_uniform(r) * (double)(most + 1)) : u < 0.8 ? 1 : most;
        v->list = realloc(v->list, (most + 1) * sizeof(double));
        assert_non_null(v->list);
        for (uint64_t i = 0; i < v->count; i++) {
            v->list[i] = draw(r, p->min, p->max);
        }
    }
}

static fake_value *value_of(fake_host *host, const ds_plugin *plugin, const char *name)
{
    for (int i = 0; plugin->desc->params[i]; i++) {
        if (strcmp(plugin->desc->params[i]->name, name) == 0) {
            return &host->value[i];
        }
    }
    return NULL;
}

/* Cloth scenes have a time step and a duration instead of a number of steps: keep the episode short. */
static void shorten(fake_host *host, const ds_plugin *plugin, ds_random *r)
{
    fake_value *h = value_of(host, plugin, "h"), *duration = value_of(host, plugin, "duration");
    if (h && duration) {
        double steps = ds_random_uniform(r) * MOST_STEPS;
        duration->real = fmin(100, fmax(1e-7, h->real * (ds_random_uniform(r) < 0.9 ? ceil(steps) : steps)));
    } else if (h && value_of(host, plugin, "data")) { /* a recording of 2 s */
        h->real = fmax(h->real, 0.02);
    }
}

typedef struct tally {
    int refused, outcome[DS_EVAL_ERROR + 1];
} tally;

static void evaluate(const ds_plugin *plugin, void *self, ds_random *r, tally *t)
{
    ds_env_info info = {.struct_size = sizeof info};
    assert_int_equal(plugin->env->info(self, &info), DS_OK);
    double *x = malloc(4 * info.n * sizeof *x), *lower = x + info.n, *upper = lower + info.n,
           *g = upper + info.n;
    assert_non_null(x);
    assert_int_equal(plugin->env->bounds(self, info.n, lower, upper, x), DS_OK);
    for (int k = 0; k < 2; k++) {
        for (uint64_t i = 0; i < info.n; i++) {
            assert_true(lower[i] < upper[i] && x[i] >= lower[i] && x[i] <= upper[i]);
            x[i] = k ? lower[i] + ds_random_uniform(r) * (upper[i] - lower[i]) : x[i];
            g[i] = NAN;
        }
        ds_eval io = {.struct_size = sizeof io,
                      .want = DS_WANT_GRAD | (k ? DS_WANT_SCENE : 0),
                      .n = info.n,
                      .x = x,
                      .grad = g};
        assert_int_equal(plugin->env->evaluate(self, &io), DS_OK);
        assert_true(io.outcome <= DS_EVAL_DIVERGED);
        assert_true(io.outcome == DS_EVAL_DIVERGED ? isinf(io.loss) : isfinite(io.loss) && io.loss >= 0);
        for (uint64_t i = 0; i < info.n; i++) {
            assert_true(isfinite(g[i]));
        }
        t->outcome[io.outcome]++;
    }
    free(x);
}

static void fuzz_some(const char *name, int instances)
{
    const char *wanted = getenv("DS_FUZZ_INSTANCES");
    instances = wanted ? atoi(wanted) : instances;
    const ds_plugin *plugin = fake_load(name);
    ds_random r = ds_random_open(13, name, 0);
    tally t = {0};
    for (int k = 0; k < instances; k++) {
        fake_host host;
        void *self = NULL;
        fake_host_open(&host, plugin, 0, NULL);
        for (int i = 0; plugin->desc->params[i]; i++) {
            const ds_param *p = plugin->desc->params[i];
            if (ds_random_uniform(&r) < 0.3) {
                set_value(&r, p, &host.value[i]);
            } else if (strcmp(p->name, "steps") == 0) {
                host.value[i].integer = MOST_STEPS;
            }
        }
        shorten(&host, plugin, &r);
        ds_status status = plugin->env->create(&host.host, &self);
        if (status == DS_OK) {
            evaluate(plugin, self, &r, &t);
            plugin->env->destroy(self);
        } else {
            assert_int_equal(status, DS_E_PARAM);
            assert_true(strlen(host.message) > 10);
            t.refused++;
        }
        fake_host_close(&host);
    }
    print_message("%s: %d instances, %d refused; evaluations: %d ok, %d bad gradient, %d diverged\n", name,
                  instances, t.refused, t.outcome[DS_EVAL_OK], t.outcome[DS_EVAL_BAD_GRAD],
                  t.outcome[DS_EVAL_DIVERGED]);
    assert_true(t.refused <= instances * 9 / 10);
}

static void fuzz(const char *name)
{
    fuzz_some(name, INSTANCES);
}

static void fuzz_cartpole(void **state)
{
    (void)state;
    fuzz("envs/cartpole");
}

static void fuzz_pinball(void **state)
{
    (void)state;
    fuzz("envs/pinball");
}

static void fuzz_bounce(void **state)
{
    (void)state;
    fuzz("envs/bounce");
}

static void fuzz_swing(void **state)
{
    (void)state;
    fuzz_some("envs/swing", INSTANCES / 5);
}

static void fuzz_flip(void **state)
{
    (void)state;
    fuzz_some("envs/flip", INSTANCES / 5);
}

static void fuzz_realtosim(void **state)
{
    (void)state;
    fuzz_some("envs/realtosim", INSTANCES / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fuzz_cartpole),
        cmocka_unit_test(fuzz_pinball),
        cmocka_unit_test(fuzz_bounce),
        cmocka_unit_test(fuzz_swing),
        cmocka_unit_test(fuzz_flip),
        cmocka_unit_test(fuzz_realtosim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
