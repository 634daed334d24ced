/* SPDX-License-Identifier: Apache-2.0 */
/* faulty_rl.c - an environment with stepwise control that misbehaves on request, for tests of the host.
 * Otherwise the actions move a point: loss = unit squared distance from 1 at the end + offset; it observes
 * more numbers than there are variables, and the start depends on the noise key. */
#include <diffsim/ext/draft/steps_gradient.h>
#include <diffsim/ext/steps.h>
#include <diffsim/helper/eval.h>
#include <diffsim/helper/random.h>
#include <diffsim/plugin.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HORIZON = 12, N_OBS = 20, FAULT_STEP = 5 };
enum { F_NONE, F_SEGV, F_LOOP, F_DIVERGE, F_NAN, F_ERROR, F_EARLY, F_UNKNOWN, F_LONG, F_CUT };
static const char *const faults[] = {"none",  "segv",    "loop", "diverge", "nan", "error",
                                     "early", "unknown", "long", "cut",     NULL};

enum { B_RIGHT, B_NONE, B_SEGV, B_SIGN, B_NAN, B_UNWRITTEN, B_ERROR, B_EAGER };
static const char *const backs[] = {"right",     "none",  "segv",  "sign", "nan",
                                    "unwritten", "error", "eager", NULL};

static const ds_param *const params[] = {
    DS_ENUM(
        "fault", "none", faults,
        "What goes wrong, in step 6; long, cut: in the last one, where the episode goes on or is truncated."),
    DS_ENUM("back", "right", backs,
            "What steps backwards are: none = not offered; else what goes wrong there, in step 6 of its "
            "share of the episodes; eager: a sweep begins where no step was taken."),
    DS_BOOL("limit", "false", "The horizon is a time limit."),
    DS_REAL("share", "0.2", 0, 1, "", "Share of the episodes (chosen by their actions) where it does."),
    DS_REAL("work", "0", 0, 10, "s", "Sleep of every step."),
    DS_REAL("unit", "1", 1e-300, 1e300, "", "Factor of the loss."),
    DS_REAL("offset", "0", -1e300, 1e300, "", "Added to the loss."),
    NULL};

typedef struct env {
    const ds_host *host;
    int64_t fault;
    double share, work, unit, offset;
    int64_t limit;
    int open;
    uint64_t t;
    double at, chance;
    int64_t back;
    uint64_t sweep; /* steps that are left to go back over */
    double path[HORIZON + 1], bar;
    int still[HORIZON]; /* the action had no effect */
} env;

static volatile double *volatile nowhere = (volatile double *)64; /* no page is mapped there */
static volatile int forever = 1;

static ds_status create(const ds_host *host, void **out)
{
    env *e = calloc(1, sizeof *e);
    if (e == NULL) {
        host->error(host, DS_E_NOMEM, "out of memory");
        return DS_E_NOMEM;
    }
    e->host = host;
    host->get_int(host, "fault", &e->fault);
    host->get_int(host, "limit", &e->limit);
    host->get_int(host, "back", &e->back);
    host->get_real(host, "share", &e->share);
    host->get_real(host, "work", &e->work);
    host->get_real(host, "unit", &e->unit);
    host->get_real(host, "offset", &e->offset);
    *out = e;
    return DS_OK;
}

static ds_status info(void *self, ds_env_info *out)
{
    const env *e = self;
    out->n = HORIZON;
    out->steps = HORIZON;
    out->dt = 0;
    out->loss_floor = e->offset;
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    (void)self;
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = -0.5;
        upper[i] = 0.75;
        if (x0 != NULL) {
            x0[i] = 0.1;
        }
    }
    return DS_OK;
}

static void begin(env *e, uint64_t key)
{
    e->open = 0;
    e->t = 0;
    e->at = key == 0 ? 0 : 1e-3 * (double)(key % 1000);
    e->path[0] = e->at;
    e->sweep = 0;
    e->chance = 0.5;
}

/* Without the offset. */
static double loss_of(const env *e)
{
    return e->unit * ((e->at - 1) * (e->at - 1));
}

/* One step; returns the fault that happens in it. */
static int64_t move(env *e, double a)
{
    uint64_t bits;
    if (e->work > 0) {
        struct timespec nap = {0, (long)(1e9 * e->work)};
        nanosleep(&nap, NULL);
    }
    memcpy(&bits, &a, sizeof bits);
    e->chance = (double)(ds_random_mix(bits ^ (uint64_t)(e->chance * 0x1p52)) >> 12) * 0x1p-52;
    uint64_t when = e->fault == F_LONG || e->fault == F_CUT ? HORIZON - 1 : FAULT_STEP;
    int64_t fault = e->t == when && e->chance < e->share ? e->fault : F_NONE;
    e->t++;
    if (fault == F_SEGV) {
        *nowhere = 1;
    }
    while (fault == F_LOOP && forever) {
    }
    e->at += fault == F_EARLY ? 0 : a;
    e->path[e->t] = e->at;
    e->still[e->t - 1] = fault == F_EARLY;
    e->sweep = 0;
    return fault;
}

static ds_status evaluate(void *self, ds_eval *io)
{
    env *e = self;
    begin(e, io->noise_key);
    io->outcome = DS_EVAL_OK;
    io->bad_step = -1;
    io->grad_kind = DS_GRAD_NONE;
    for (uint64_t t = 0; t < HORIZON && io->outcome == DS_EVAL_OK; t++) {
        int64_t fault = move(e, io->x[t]);
        if (fault == F_EARLY) {
            break;
        }
        io->outcome = fault == F_NONE ? DS_EVAL_OK : DS_EVAL_DIVERGED;
    }
    io->loss = io->outcome == DS_EVAL_OK ? loss_of(e) + e->offset : (double)INFINITY;
    begin(e, 0); /* no sweep goes back over an evaluation */
    return DS_OK;
}

static ds_status evaluate_rows(void *self, const ds_rows *rows, const ds_results *results)
{
    return ds_eval_each(self, rows, results, evaluate);
}

static ds_status steps_info(void *self, ds_steps_info *out)
{
    const env *e = self;
    out->flags = e->limit ? DS_STEPS_TIME_LIMIT : 0;
    out->horizon = HORIZON;
    out->n_act = 1;
    out->n_obs = N_OBS;
    out->dt = 0;
    return DS_OK;
}

static void observe(const env *e, double *obs)
{
    for (int i = 0; i < N_OBS; i++) {
        obs[i] = e->at + i + 100 * (double)e->t;
    }
}

static ds_status begin_lane(void *self, uint64_t lane, uint64_t key, double *obs)
{
    env *e = self;
    (void)lane;
    begin(e, key);
    e->open = 1;
    observe(e, obs);
    return DS_OK;
}

static uint32_t end_of_step(const env *e, int64_t fault)
{
    uint32_t last = e->limit ? DS_STEPS_TRUNCATED : DS_STEPS_TERMINATED;
    return fault == F_EARLY                     ? DS_STEPS_TERMINATED
           : fault == F_UNKNOWN                 ? DS_STEPS_TRUNCATED + 1
           : fault == F_CUT                     ? DS_STEPS_TRUNCATED
           : e->t == HORIZON && fault != F_LONG ? last
                                                : DS_STEPS_CONTINUES;
}

static ds_status step(void *self, uint64_t lane, ds_step *io)
{
    env *e = self;
    (void)lane;
    if (!e->open) {
        return DS_E_STATE;
    }
    double before = loss_of(e);
    int64_t fault = move(e, io->action[0]);
    io->ended = end_of_step(e, fault);
    io->reward = before - loss_of(e);
    io->loss = loss_of(e) + e->offset;
    io->outcome = fault == F_DIVERGE ? DS_EVAL_DIVERGED : DS_EVAL_OK;
    io->cost_steps = 1;
    observe(e, io->obs);
    if (fault == F_NAN) {
        io->obs[N_OBS - 1] = (double)NAN;
    }
    e->open = io->ended == DS_STEPS_CONTINUES;
    if (fault == F_ERROR) {
        e->host->error(e->host, DS_E_NUMERIC, "the step did not converge");
        return DS_E_NUMERIC;
    }
    return DS_OK;
}

static ds_status begin_rows(void *self, const ds_step_rows *rows, const ds_step_results *results)
{
    return ds_step_begin_each(self, rows, results, N_OBS, begin_lane);
}

static ds_status step_rows(void *self, const ds_step_rows *rows, const ds_step_results *results)
{
    return ds_step_each(self, rows, results, 1, N_OBS, step);
}

static const ds_env_steps steps = {sizeof(ds_env_steps), 0, steps_info, begin_rows, step_rows};

static ds_status begin_sweep(env *e, uint64_t last)
{
    if ((last < 1 || last > e->t) && e->back != B_EAGER) {
        return DS_E_STATE;
    }
    e->sweep = last;
    e->bar = 0;
    return DS_OK;
}

static ds_status back(void *self, uint64_t lane, ds_back *io)
{
    env *e = self;
    (void)lane;
    if (io->begins && begin_sweep(e, io->step + 1) != DS_OK) {
        return DS_E_STATE;
    }
    if (e->sweep == 0 || io->step + 1 != e->sweep) {
        return DS_E_STATE;
    }
    e->sweep--;
    for (int i = 0; i < N_OBS; i++) {
        e->bar += io->obs_bar[i];
    }
    e->bar -= io->reward_bar * 2 * e->unit * (e->path[io->step + 1] - 1);
    int64_t wrong = io->step == FAULT_STEP && e->chance < e->share ? e->back : B_RIGHT;
    if (wrong == B_SEGV) {
        *nowhere = 1;
    }
    if (wrong == B_ERROR) {
        e->host->error(e->host, DS_E_NUMERIC, "the step has no adjoint");
        return DS_E_NUMERIC;
    }
    double out = e->still[io->step] ? 0 : e->bar;
    if (wrong != B_UNWRITTEN) {
        io->action_bar[0] = wrong == B_NAN ? (double)NAN : wrong == B_SIGN ? -out : out;
    }
    e->bar += io->reward_bar * 2 * e->unit * (e->path[io->step] - 1);
    io->cost_steps = 1;
    return DS_OK;
}

static ds_status back_rows(void *self, const ds_back_rows *rows, const ds_back_results *results)
{
    return ds_back_each(self, rows, results, 1, N_OBS, back);
}

static const ds_env_steps_gradient steps_gradient = {sizeof(ds_env_steps_gradient), 0, back_rows};

static const void *get_extension(void *self, const char *id)
{
    const env *e = self;
    return strcmp(id, DS_EXT_STEPS) == 0 ? (const void *)&steps
           : strcmp(id, DS_EXT_STEPS_GRADIENT) == 0 && e->back != (int64_t)B_NONE
               ? (const void *)&steps_gradient
               : NULL;
}

static const char *const extensions[] = {DS_EXT_STEPS, DS_EXT_STEPS_GRADIENT, NULL};

static const ds_desc desc = {
    .struct_size = sizeof(ds_desc),
    .kind = DS_KIND_ENV,
    .flags = DS_ENV_STOCHASTIC,
    .id = "faulty_rl",
    .version = "1",
    .license = "Apache-2.0",
    .summary = "An environment with stepwise control that misbehaves on request.",
    .description = "",
    .citation = "",
    .params = params,
    .extensions = extensions,
};

static const ds_env_vtable vtable = {
    .struct_size = sizeof(ds_env_vtable),
    .create = create,
    .destroy = free,
    .info = info,
    .bounds = bounds,
    .evaluate = evaluate_rows,
    .get_extension = get_extension,
};

DS_DEFINE_ENV(desc, vtable)
