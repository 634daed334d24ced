/* SPDX-License-Identifier: Apache-2.0 */
/* drag - an environment with hook points for networks: a ball is thrown through air. The recorded flight has
 * quadratic drag. The model has none, but a hook point "force" to which a network can be added:
 *
 *     dshost --env ./drag.so --opt lbfgsb --set 'env.residual=force = velocity | 5 | tanh | residual'
 *
 * diffsim/ext/draft/hooks.h describes hook points, diffsim/helper/hybrid.h wires networks to them. */
#include <diffsim/diffsim.h>
#include <diffsim/helper/eval.h>
#include <diffsim/helper/hybrid.h>

#include <stdlib.h>

enum { STEPS = 100, STATES = 4, PHYSICAL = 2, HOOKS = 2 }; /* a state is x, y, vx, vy */

static const double h = 0.02, gravity = 9.81, thrown[2] = {12, 9};

typedef struct drag {
    const ds_host *host;
    ds_hybrid hybrid;
    double recorded[STEPS + 1][STATES], state[STEPS + 1][STATES];
    double *tape; /* hybrid.tape numbers for each step */
} drag;

static const ds_hook hooks[HOOKS] = {
    DS_HYBRID_HOOK(DS_HOOK_INPUT, 2, "velocity", "m/s", "Of the ball before the step."),
    DS_HYBRID_HOOK(DS_HOOK_OUTPUT, 2, "force", "N", "On the ball (1 kg) besides gravity."),
};

static const ds_param *const params[] = {
    DS_REAL("air", "0.05", 0, 1, "1/m",
            "Quadratic drag of the recorded flight, which the model does not know."),
    DS_HYBRID_PARAMS, NULL};

/* One step, semi-implicit, with a force. */
static void move(const double *from, const double force[2], double *to)
{
    for (int i = 0; i < 2; i++) {
        to[2 + i] = from[2 + i] + h * (force[i] - (i == 1 ? gravity : 0));
        to[i] = from[i] + h * to[2 + i];
    }
}

static void record(drag *e, double air)
{
    const double start[STATES] = {0, 0, thrown[0], thrown[1]};
    memcpy(e->recorded[0], start, sizeof start);
    for (int t = 0; t < STEPS; t++) {
        const double *v = e->recorded[t] + 2, speed = sqrt(v[0] * v[0] + v[1] * v[1]);
        const double force[2] = {-air * speed * v[0], -air * speed * v[1]};
        move(e->recorded[t], force, e->recorded[t + 1]);
    }
}

static void destroy(void *self)
{
    drag *e = self;
    if (e == NULL) {
        return;
    }
    ds_hybrid_close(&e->hybrid);
    free(e->tape);
    free(e);
}

static ds_status create(const ds_host *host, void **out)
{
    drag *e = calloc(1, sizeof *e);
    ds_param_reader in = {host, DS_OK};
    if (e == NULL) {
        return ds_host_fail(host, DS_E_NOMEM, "no memory");
    }
    e->host = host;
    record(e, ds_param_real(&in, "air"));
    in.status = in.status != DS_OK ? in.status : ds_hybrid_open(&e->hybrid, host, HOOKS, hooks);
    e->tape = malloc((size_t)(STEPS * e->hybrid.tape + 1) * sizeof *e->tape);
    if (in.status == DS_OK && e->tape == NULL) {
        in.status = ds_host_fail(host, DS_E_NOMEM, "no memory");
    }
    if (in.status != DS_OK) {
        destroy(e);
        return in.status;
    }
    *out = e;
    return DS_OK;
}

static ds_status info(void *self, ds_env_info *out)
{
    out->n = PHYSICAL + ((drag *)self)->hybrid.variables;
    out->steps = STEPS;
    out->dt = h;
    out->loss_floor = 0;
    return DS_OK;
}

/* The variables: how the ball was thrown, then the networks. */
static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    drag *e = self;
    for (uint64_t i = 0; i < n; i++) {
        double start = 10;
        lower[i] = 0;
        upper[i] = 20;
        if (i >= PHYSICAL) {
            ds_hybrid_range(&e->hybrid, i - PHYSICAL, &lower[i], &upper[i], &start);
        }
        if (x0 != NULL) {
            x0[i] = start;
        }
    }
    return DS_OK;
}

/* Mean square distance of the flight to the recorded one. */
static double simulate(drag *e, const double *x)
{
    const double start[STATES] = {0, 0, x[0], x[1]};
    double sum = 0;
    memcpy(e->state[0], start, sizeof start);
    for (int t = 0; t < STEPS; t++) {
        double force[2] = {0, 0};
        if (e->hybrid.nets > 0) {
            ds_hybrid_forward(&e->hybrid, x + PHYSICAL, e->state[t] + 2, force,
                              e->tape + (uint64_t)t * e->hybrid.tape);
        }
        move(e->state[t], force, e->state[t + 1]);
        for (int i = 0; i < 2; i++) {
            const double miss = e->state[t + 1][i] - e->recorded[t + 1][i];
            sum += miss * miss / STEPS;
        }
    }
    return sum;
}

static void adjoint(drag *e, const double *x, double *grad)
{
    double x_bar[2] = {0, 0}, v_bar[2] = {0, 0};
    for (int t = STEPS; t-- > 0;) {
        double force_bar[2];
        for (int i = 0; i < 2; i++) {
            x_bar[i] += 2 * (e->state[t + 1][i] - e->recorded[t + 1][i]) / STEPS;
            v_bar[i] += h * x_bar[i];
            force_bar[i] = h * v_bar[i];
        }
        if (e->hybrid.nets > 0) {
            ds_hybrid_reverse(&e->hybrid, x + PHYSICAL, e->tape + (uint64_t)t * e->hybrid.tape, force_bar,
                              grad + PHYSICAL, v_bar);
        }
    }
    grad[0] = v_bar[0];
    grad[1] = v_bar[1];
}

static ds_status evaluate_row(void *self, ds_eval *io)
{
    drag *e = self;
    const double *w = io->x + PHYSICAL;
    io->loss = simulate(e, io->x) + ds_hybrid_penalty(&e->hybrid, w, NULL);
    io->outcome = isfinite(io->loss) ? DS_EVAL_OK : DS_EVAL_DIVERGED;
    io->loss = io->outcome == DS_EVAL_OK ? io->loss : (double)INFINITY;
    io->cost_steps = STEPS;
    if ((io->want & DS_WANT_GRAD) && io->outcome == DS_EVAL_OK) {
        memset(io->grad, 0, io->n * sizeof *io->grad);
        adjoint(e, io->x, io->grad);
        ds_hybrid_penalty(&e->hybrid, w, io->grad + PHYSICAL);
        io->grad_kind = DS_GRAD_ADJOINT;
    }
    return DS_OK;
}

static ds_status evaluate(void *self, const ds_rows *rows, const ds_results *results)
{
    return ds_eval_each(self, rows, results, evaluate_row);
}

/* ---- hook points ---- */

static ds_status hook_count(void *self, uint64_t *count)
{
    (void)self;
    *count = HOOKS;
    return DS_OK;
}

static ds_status hook_describe(void *self, uint64_t i, ds_hook *out)
{
    (void)self;
    out->kind = hooks[i].kind;
    out->count = hooks[i].count;
    out->name = hooks[i].name;
    out->unit = hooks[i].unit;
    out->doc = hooks[i].doc;
    return DS_OK;
}

static const void *get_extension(void *self, const char *id)
{
    static const ds_env_hooks table = {
        .struct_size = sizeof table, .count = hook_count, .describe = hook_describe};
    (void)self;
    return strcmp(id, DS_EXT_HOOKS) == 0 ? &table : NULL;
}

static const char *const extensions[] = {DS_EXT_HOOKS, NULL};

static const ds_desc desc = {.struct_size = sizeof(ds_desc),
                             .kind = DS_KIND_ENV,
                             .flags = DS_ENV_GRADIENT,
                             .id = "drag",
                             .version = "1",
                             .license = "Apache-2.0",
                             .summary = "Learn the drag of a ball from its flight.",
                             .description =
                                 "Variables: the velocity at which it was thrown, then the weights of the "
                                 "networks that parameter residual wires to its hook points.",
                             .citation = "",
                             .params = params,
                             .extensions = extensions};

static const ds_env_vtable vtable = {.struct_size = sizeof(ds_env_vtable),
                                     .create = create,
                                     .destroy = destroy,
                                     .info = info,
                                     .bounds = bounds,
                                     .evaluate = evaluate,
                                     .get_extension = get_extension};

DS_DEFINE_ENV(desc, vtable)
