/* SPDX-License-Identifier: Apache-2.0 */
/* bench_steps.c - nanoseconds of processor time per control step and per step of its derivatives, with 64
 * episodes in one instance: a call for each, and one call for all.
 *
 *     make bench/bench_steps && DS_TOP_BUILD=$PWD bench/bench_steps */
#include "bench/bench.h"
#include "host.h"

#include <diffsim/ext/draft/steps_gradient.h>
#include <diffsim/ext/steps.h>
#include <diffsim/helper/random.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LANES = 64, MOST = 16, ROUNDS = 40 }; /* MOST: numbers of an observation and of an action */

typedef struct stepper {
    fake_env e;
    const ds_env_steps *steps;
    const ds_env_steps_gradient *gradient; /* or NULL */
    ds_steps_info info;
    uint64_t lane[LANES], step[LANES], cost[LANES];
    double obs[LANES * MOST], act[LANES * MOST], reward[LANES], loss[LANES];
    uint32_t ended[LANES], outcome[LANES], begins[LANES];
} stepper;

static void check(ds_status status)
{
    if (status != DS_OK) {
        fprintf(stderr, "bench_steps: a step failed with status %d\n", (int)status);
        exit(1);
    }
}

/* One step of all lanes in calls of `rows`. */
static void forwards(stepper *s, uint64_t rows)
{
    const uint64_t n = s->info.n_obs, m = s->info.n_act;
    for (uint64_t k = 0; k < LANES; k += rows) {
        const ds_step_rows in = {sizeof in, 0, rows, s->lane + k, NULL, s->act + k * m};
        const ds_step_results out = {sizeof out,   0,           s->obs + k * n, s->reward + k,
                                     s->ended + k, s->loss + k, s->outcome + k, s->cost + k};
        check(s->steps->step(s->e.self, &in, &out));
    }
}

static void backwards(stepper *s, uint64_t rows, uint64_t step, int begins)
{
    const uint64_t n = s->info.n_obs, m = s->info.n_act;
    for (uint64_t k = 0; k < LANES; k++) {
        s->step[k] = step;
        s->begins[k] = begins != 0;
    }
    for (uint64_t k = 0; k < LANES; k += rows) {
        const ds_back_rows in = {
            sizeof in, 0, rows, s->lane + k, s->step + k, s->begins + k, s->reward + k, s->obs + k * n};
        const ds_back_results out = {sizeof out, 0, s->act + k * m, s->outcome + k, s->cost + k};
        check(s->gradient->back(s->e.self, &in, &out));
    }
}

/* Nanoseconds per lane and step; episodes of `length` steps. */
static void measure(stepper *s, uint64_t rows, uint64_t length, double best[2])
{
    const ds_step_rows begin = {sizeof begin, 0, LANES, s->lane, NULL, NULL};
    const ds_step_results out = {sizeof out, 0, s->obs, s->reward, s->ended, s->loss, s->outcome, s->cost};
    ds_random rng = ds_random_open(1, "bench", 0);
    for (uint64_t i = 0; i < LANES * s->info.n_act; i++) {
        const double u = ds_random_uniform(&rng);
        s->act[i] = (1 - u) * s->e.lower[0] + u * s->e.upper[0];
    }
    check(s->steps->begin(s->e.self, &begin, &out));
    double start = bench_cpu_s();
    for (uint64_t t = 0; t < length; t++) {
        forwards(s, rows);
    }
    best[0] = fmin(best[0], 1e9 * (bench_cpu_s() - start) / (double)(length * LANES));
    start = bench_cpu_s();
    for (uint64_t t = length; s->gradient != NULL && t-- > 0;) {
        backwards(s, rows, t, t + 1 == length);
    }
    best[1] = fmin(best[1], 1e9 * (bench_cpu_s() - start) / (double)(length * LANES));
}

int main(void)
{
    static const struct {
        const char *env, *setting;
        uint64_t length; /* no episode ends before */
    } scenes[] = {{"envs/pendulum", "variant=swingup60", 60},
                  {"envs/pendulum", "variant=gym", 200},
                  {"envs/pendulum", "variant=swingup200", 200},
                  {"envs/cartpole", "links=1", 100},
                  {"envs/cartpole", "links=3", 100},
                  {"envs/cartpole_gym", "start=fixed", 8}};
    printf("ns per step%24s one by one  %d lanes   backwards: one by one  %d lanes\n", "", LANES, LANES);
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        const char *const settings[] = {scenes[i].setting, NULL};
        static stepper s;
        double one[2] = {INFINITY, INFINITY}, many[2] = {INFINITY, INFINITY};
        fake_env_open(&s.e, scenes[i].env, settings, 1, -INFINITY);
        s.steps = s.e.plugin->env->get_extension(s.e.self, DS_EXT_STEPS);
        s.gradient = s.e.plugin->env->get_extension(s.e.self, DS_EXT_STEPS_GRADIENT);
        s.info = (ds_steps_info){.struct_size = sizeof s.info};
        check(s.steps->info(s.e.self, &s.info));
        if (s.info.max_lanes < LANES || s.info.n_obs > MOST || s.info.n_act > MOST ||
            s.info.horizon < scenes[i].length) {
            fprintf(stderr, "bench_steps: %s has other sizes than this benchmark expects\n", scenes[i].env);
            return 1;
        }
        for (uint64_t k = 0; k < LANES; k++) {
            s.lane[k] = k;
        }
        for (int round = 0; round < ROUNDS; round++) {
            measure(&s, 1, scenes[i].length, one);
            measure(&s, LANES, scenes[i].length, many);
        }
        printf("%-18s %-18s %8.1f %9.1f", scenes[i].env, scenes[i].setting, one[0], many[0]);
        if (s.gradient != NULL) {
            printf("%24.1f %9.1f", one[1], many[1]);
        }
        printf("\n");
        fake_env_close(&s.e);
    }
    return 0;
}
