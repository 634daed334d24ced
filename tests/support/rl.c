/* SPDX-License-Identifier: Apache-2.0 */
/* rl.c - a miniature host for stepwise control, see rl.h. */
#include "config.h"

#include "rl.h"

#include "config/settings.h"
#include "plugin/instance.h"
#include "test.h"

#include <diffsim/ext/steps.h>
#include <diffsim/helper/eval.h>
#include <diffsim/helper/random.h>
#include <time.h>

typedef struct lane {
    ds_env *env;
    int open;
    uint64_t id, t;
    double *last; /* observation */
} lane;

typedef struct state {
    fake_rl *f;
    ds_settings env_settings;
    const ds_module *env_module;
    lane lane[FAKE_RL_LANES];
    lane trial[64]; /* instances with their own start */
    ds_steps_info info;
    ds_objective_steps episodes;
    ds_objective objective;
    ds_problem problem;
    uint64_t evaluations;
    atomic_int stop;
} state;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const ds_env_steps *extension(const ds_env *env)
{
    return env->vt->get_extension(env->self, DS_EXT_STEPS);
}

static int set_all(ds_settings *s, const char *text)
{
    char copy[2048];
    ds_error e = {0, ""};
    snprintf(copy, sizeof copy, "%s", text ? text : "");
    for (char *save, *t = strtok_r(copy, " ", &save); t; t = strtok_r(NULL, " ", &save)) {
        if (ds_settings_set(s, t, &e) != 0) {
            fprintf(stderr, "fake_rl: %s\n", e.text);
            return 0;
        }
    }
    return 1;
}

/* The instance of an episode: the lane's, or one with the start state of the trial. */
static ds_env *instance(state *s, size_t i, const char *tag)
{
    fake_rl *f = s->f;
    lane *l = &s->lane[i];
    ds_error e = {0, ""};
    if (f->start_count > 0 && tag && strcmp(tag, "evaluate") == 0) {
        size_t k = (size_t)(s->evaluations++ % f->start_count);
        lane *t = &s->trial[k];
        if (!t->env) {
            ds_settings own = {0};
            char text[128];
            ds_settings_copy(&own, &s->env_settings, &e);
            snprintf(text, sizeof text, "env.start=fixed env.theta0=%.17g env.omega0=%.17g", f->starts[2 * k],
                     f->starts[2 * k + 1]);
            set_all(&own, text);
            if (ds_env_open(s->env_module, &own, f->seed, 1, NULL, &t->env, &e) != 0) {
                fprintf(stderr, "fake_rl: %s\n", e.text);
                abort();
            }
            ds_settings_clear(&own);
        }
        return t->env;
    }
    if (!l->env && ds_env_open(s->env_module, &s->env_settings, f->seed, 1, NULL, &l->env, &e) != 0) {
        fprintf(stderr, "fake_rl: %s\n", e.text);
        abort();
    }
    return l->env;
}

static ds_env *running[FAKE_RL_LANES]; /* instance of the open episode of each lane */

static ds_status begin(const ds_objective *objective, const ds_step_rows *r, const ds_label *label,
                       const ds_step_results *results, uint64_t *done)
{
    state *s = objective->ctx;
    fake_rl *f = s->f;
    const char *tag = label && label->tag ? label->tag : "";
    size_t open = 0;
    *done = 0;
    for (size_t i = 0; i < FAKE_RL_LANES; i++) {
        open += s->lane[i].open != 0;
    }
    if (f->begun == f->budget && open == 0) {
        return DS_STOPPED;
    }
    for (uint64_t k = 0; k < r->count && f->begun < f->budget; k++) {
        lane *l = &s->lane[r->lane[k] % FAKE_RL_LANES];
        if (r->lane[k] >= FAKE_RL_LANES || l->open) {
            f->broken++;
            return DS_E_ARG;
        }
        running[r->lane[k]] = instance(s, (size_t)r->lane[k], tag);
        fake_rl_row *row = &f->rows[f->begun];
        *row = (fake_rl_row){.group = label ? label->group : 0,
                             .key = (ds_random_mix(f->seed ^ (f->begun + 1)) >> 12) | 1};
        snprintf(row->tag, sizeof row->tag, "%s", tag);
        ds_env *env = running[r->lane[k]];
        double *obs = results->obs + k * s->info.n_obs;
        ds_step_begin_call(extension(env), env->self, 0, row->key, obs, NULL);
        memcpy(l->last, obs, s->info.n_obs * sizeof(double));
        l->open = 1;
        l->id = f->begun++;
        l->t = 0;
        ++*done;
    }
    return DS_OK;
}

/* Does episode `id` fail at step t? */
static int fails(const fake_rl *f, uint64_t id, uint64_t t, uint64_t horizon)
{
    ds_random r = ds_random_open(f->seed, "failures", id);
    return ds_random_uniform(&r) < f->failure_rate && t == ds_random_below(&r, horizon);
}

static int in_box(const state *s, const lane *l, const double *a)
{
    for (uint64_t k = 0; k < s->info.n_act; k++) {
        uint64_t i = l->t * s->info.n_act + k;
        if (!(a[k] >= s->problem.lower[i] && a[k] <= s->problem.upper[i])) {
            return 0;
        }
    }
    return 1;
}

static ds_status step(const ds_objective *objective, const ds_step_rows *r, const ds_step_results *results,
                      uint64_t *done)
{
    state *s = objective->ctx;
    fake_rl *f = s->f;
    double start = seconds();
    uint64_t m = s->info.n_act;
    *done = 0;
    for (uint64_t k = 0; k < r->count; k++) {
        lane *l = &s->lane[r->lane[k] % FAKE_RL_LANES];
        const double *a = r->action + k * m;
        double *obs = results->obs + k * s->info.n_obs;
        if (!l->open || !in_box(s, l, a)) {
            f->broken++;
            return DS_E_ARG;
        }
        fake_rl_row *row = &f->rows[l->id];
        ds_env *env = running[r->lane[k]];
        ds_step io = {.action = a, .obs = obs};
        memcpy(f->x + l->id * s->problem.n + l->t * m, a, m * sizeof(double));
        ds_status status = ds_step_call(extension(env), env->self, 0, &io);
        if (status != DS_OK || fails(f, l->id, l->t, s->info.horizon)) {
            io.outcome = DS_EVAL_DIVERGED;
            io.ended = DS_STEPS_TERMINATED;
            io.loss = INFINITY;
            io.reward = 0;
            memcpy(obs, l->last, s->info.n_obs * sizeof(double));
        }
        memcpy(l->last, obs, s->info.n_obs * sizeof(double));
        l->t++;
        f->steps++;
        results->reward[k] = io.reward;
        results->ended[k] = io.ended;
        results->loss[k] = io.ended ? io.loss : 0;
        if (results->outcome) {
            results->outcome[k] = io.outcome;
        }
        ++*done;
        row->sum += io.reward;
        if (io.ended) {
            row->loss = io.loss;
            row->outcome = io.outcome;
            row->steps = l->t;
            l->open = 0;
        }
    }
    if (f->stop_after > 0 && f->steps >= f->stop_after) {
        atomic_store(&s->stop, 1);
        return DS_STOPPED;
    }
    f->env_seconds += seconds() - start;
    return DS_OK;
}

static ds_status refuse(const ds_objective *objective, const ds_rows *rows, const ds_label *label,
                        const ds_results *results, uint64_t *done)
{
    state *s = objective->ctx;
    (void)rows;
    (void)label;
    (void)results;
    *done = 0;
    s->f->broken++;
    return DS_E_ARG;
}

static const void *get_extension(const ds_objective *objective, const char *id)
{
    state *s = objective->ctx;
    return strcmp(id, DS_EXT_OBJECTIVE_STEPS) == 0 ? &s->episodes : NULL;
}

static void run_optimizer(state *s, const ds_module *opt, ds_params *params)
{
    fake_rl *f = s->f;
    ds_services services;
    void *self = NULL;
    ds_services_init(&services, opt, params, f->seed, 1, &s->stop);
    f->create_status = opt->opt.create(&services.host, &s->problem, &self);
    if (f->create_status == DS_OK) {
        double start = seconds();
        f->status = opt->opt.run(self, &s->objective);
        f->wall = seconds() - start;
        opt->opt.destroy(self);
    }
    snprintf(f->error, sizeof f->error, "%s", services.last_error);
    ds_services_clear(&services);
}

int fake_rl_run(fake_rl *f)
{
    state *s = calloc(1, sizeof *s);
    ds_error e = {0, ""};
    ds_settings settings = {0};
    const ds_module *opt = NULL;
    ds_params *params = NULL;
    test_find_plugins();
    s->f = f;
    if (ds_loader_open(f->env, DS_KIND_ENV, &s->env_module, &e) != 0 ||
        ds_loader_open(f->opt, DS_KIND_OPTIMIZER, &opt, &e) != 0 ||
        !set_all(&s->env_settings, f->env_settings) || !set_all(&settings, f->opt_settings) ||
        ds_params_make(opt->plugin->desc->params, opt->id, &settings, DS_SECTION_OPT, &params, &e) != 0) {
        fprintf(stderr, "fake_rl: %s\n", e.text);
        free(s);
        return 0;
    }
    ds_env *env = instance(s, 0, NULL);
    s->info = (ds_steps_info){.struct_size = sizeof s->info};
    extension(env)->info(env->self, &s->info);
    for (size_t i = 0; i < FAKE_RL_LANES; i++) {
        s->lane[i].last = calloc(s->info.n_obs, sizeof(double));
    }
    f->n = env->info.n;
    f->rows = calloc(f->budget, sizeof *f->rows);
    f->x = calloc(f->budget * f->n, sizeof(double));
    s->problem = (ds_problem){.struct_size = sizeof s->problem,
                              .n = f->n,
                              .lower = env->lower,
                              .upper = env->upper,
                              .x0 = env->x0,
                              .budget = f->budget,
                              .target = -INFINITY,
                              .loss_floor = -INFINITY};
    s->episodes = (ds_objective_steps){sizeof s->episodes, 0, &s->info, FAKE_RL_LANES, begin, step};
    s->objective = (ds_objective){sizeof s->objective, 0, s, refuse, get_extension};
    run_optimizer(s, opt, params);
    for (size_t i = 0; i < FAKE_RL_LANES; i++) {
        ds_env_close(s->lane[i].env);
        ds_env_close(s->trial[i].env);
        free(s->lane[i].last);
    }
    ds_settings_clear(&s->env_settings);
    ds_settings_clear(&settings);
    free(s);
    return 1;
}

void fake_rl_free(fake_rl *f)
{
    free(f->rows);
    free(f->x);
    f->rows = NULL;
    f->x = NULL;
}
