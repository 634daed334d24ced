/* SPDX-License-Identifier: Apache-2.0 */
/* smoke.c - find the wind that turns smoke into a disc or a ring; the variables are the velocity at the
 * start, per cell or by the waves of a stream function. J. Stam, Stable fluids, SIGGRAPH 1999; gradSim
 * (Jatavallabhula et al., ICLR 2021). */
#include "engines/physics/smoke/smoke.h"
#include "engines/kit/bundled.h"
#include "engines/kit/penalties.h"

#include <string.h>

enum { WAVES = 0, FIELD = 1 };
enum { DISC = 0, RING = 1 };
enum { SMOKE, TARGET, DOTS = 55 }; /* bodies; squares along each side of their images */

static const char *const kinds[] = {"waves", "field", NULL};
static const char *const shapes[] = {"disc", "ring", NULL};

static const ds_param *const params[] = {
    DS_ENUM("variables", "waves", kinds,
            "waves = cosines and sines of a periodic stream function, 2 waves^2 numbers; field = both "
            "velocity components of each cell, 2 size^2 numbers, as in gradSim.",
            .flags = DS_PARAM_SHAPE),
    DS_INT("waves", "4", 1, STREAM_MOST, "",
           "variables = waves: waves^2 is the number of waves, the longest ones; at most size / 4.",
           .flags = DS_PARAM_SHAPE),
    DS_INT("size", "110", 8, SMOKE_MOST, "cells", "Cells along each side; the domain is periodic.",
           .flags = DS_PARAM_SHAPE),
    DS_INT("steps", "99", 1, 100000, "", "Steps of an episode."),
    DS_ENUM("target", "disc", shapes,
            "Target shape around the middle: a disc of radius 0.1455 size, or a ring from 0.1818 size to "
            "0.2727 size (16, 20 and 30 cells of 110)."),
    DS_LIST("limit", "", 1e-6, 1e3, 1, "cells/step", "Bound of the variables; empty = 2 (waves), 6 (field)."),
    DS_INT("sweeps", "6", 1, 10000, "", "Jacobi sweeps for the pressure in each step."),
    DS_HYBRID_PARAMS,
    NULL};

typedef struct smoke_env {
    ds_env_kit kit; /* must be first */
    int64_t variables, target;
    size_t waves, size, sweeps;
    double limit;
    smoke *sim;
    stream *stream;
    double *wanted;         /* target density */
    smoke_state start, now; /* the episode; scratch memory: a frame, derivatives, directions */
    uint32_t *corner;       /* of the squares */
    /* Networks: a push of each cell; their parameters, a change of them, derivatives by them. */
    smoke_push push;
    const double *w, *w_dot;
    double *w_bar, *tape;
} smoke_env;

/* ---- networks ---- */

static uint64_t hooks_of_smoke(const void *self, ds_hook *out)
{
    uint64_t k = 0;
    (void)self;
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 2, "velocity", "cells/step", "Of the cell, before the step.");
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 1, "density", "", "Of smoke in the cell, 0 to 1.");
    ds_env_kit_hook(out, &k, DS_HOOK_OUTPUT, 2, "push", "cells/step",
                    "Added to the velocity of each cell in each step, before the pressure acts.");
    return k;
}

static void push_add(void *self, const double in[3], double push[2])
{
    const smoke_env *e = self;
    ds_hybrid_forward(&e->kit.hybrid, e->w, in, push, e->tape);
}

static void push_bar(void *self, const double in[3], const double push_bar_[2], double in_bar[3])
{
    const smoke_env *e = self;
    double push[2] = {0, 0}, bar[2] = {push_bar_[0], push_bar_[1]};
    ds_hybrid_forward(&e->kit.hybrid, e->w, in, push, e->tape);
    ds_hybrid_reverse(&e->kit.hybrid, e->w, e->tape, bar, e->w_bar, in_bar);
}

static void push_dot(void *self, const double in[3], const double in_dot[3], double push_dot_[2])
{
    const smoke_env *e = self;
    double push[2] = {0, 0};
    ds_hybrid_forward(&e->kit.hybrid, e->w, in, push, e->tape);
    ds_hybrid_tangent(&e->kit.hybrid, e->w, e->tape, e->w_dot, in_dot, push_dot_);
}

static void wire(smoke_env *e)
{
    if (e->kit.hybrid.nets > 0 && e->sim != NULL) {
        e->push = (smoke_push){push_add, push_bar, push_dot, e};
        e->tape = ds_memory_doubles(&e->kit.memory, e->kit.hybrid.tape);
        smoke_set_push(e->sim, &e->push);
    }
}

/* ---- set-up ---- */

static void read_smoke(void *self, ds_param_reader *in)
{
    smoke_env *e = self;
    e->variables = ds_param_int(in, "variables");
    e->waves = (size_t)ds_param_int(in, "waves");
    e->size = (size_t)ds_param_int(in, "size");
    e->kit.steps = (uint64_t)ds_param_int(in, "steps");
    e->target = ds_param_int(in, "target");
    e->sweeps = (size_t)ds_param_int(in, "sweeps");
    e->limit = e->variables == FIELD ? 6 : 2;
    ds_param_values(in, "limit", 1, &e->limit);
    e->kit.n = e->variables == FIELD ? 2 * e->size * e->size : 2 * e->waves * e->waves;
    e->kit.dt = 1;
}

/* Places smoke as after a step of the demonstration: in the last third of the rows. */
static void draw_densities(smoke_env *e)
{
    const double n = (double)e->size, middle = (n - 1) / 2, scale = n / 110;
    const double inner = e->target == RING ? 20 * scale : -1, outer = (e->target == RING ? 30 : 16) * scale;
    for (size_t c = 0; c < e->size * e->size; c++) {
        double i = (double)(c / e->size), j = (double)(c % e->size);
        double square = (i - middle) * (i - middle) + (j - middle) * (j - middle);
        e->start.density[c] = i >= 73 * scale;
        e->wanted[c] = square < outer * outer && (inner < 0 || square > inner * inner);
    }
}

static void index_squares(uint32_t *corner)
{
    static const uint32_t order[6] = {0, 1, 2, 0, 2, 3};
    for (uint32_t i = 0; i < DOTS * DOTS * 6; i++) {
        corner[i] = 4 * (i / 6) + order[i % 6];
    }
}

static ds_status allocate_smoke(void *self)
{
    smoke_env *e = self;
    ds_memory *m = &e->kit.memory;
    const size_t field = e->size * e->size;
    if (e->variables == WAVES && 4 * e->waves > e->size) {
        return ds_host_fail(e->kit.host, DS_E_PARAM,
                            "parameter waves = %zu: %zu cells allow at most waves = %zu", e->waves, e->size,
                            e->size / 4);
    }
    e->sim = smoke_create(m, e->size, e->sweeps, e->kit.steps, NULL, e->kit.host);
    wire(e);
    e->stream = e->variables == WAVES ? stream_create(m, e->size, e->waves) : NULL;
    e->wanted = ds_memory_doubles(m, field);
    e->start =
        (smoke_state){ds_memory_doubles(m, field), ds_memory_doubles(m, field), ds_memory_doubles(m, field)};
    e->now =
        (smoke_state){ds_memory_doubles(m, field), ds_memory_doubles(m, field), ds_memory_doubles(m, field)};
    e->corner = ds_memory_take(m, DOTS * DOTS * 6, sizeof *e->corner);
    if (!m->failed) {
        draw_densities(e);
        index_squares(e->corner);
    }
    return penalties_refused(&e->kit);
}

/* Still air is a stationary point of the waves, so a search starts from a weak wind of all waves. */
static void range_of_smoke(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    const smoke_env *e = self;
    (void)i;
    *lower = -e->limit;
    *upper = e->limit;
    *start = e->variables == WAVES ? 0.05 * e->limit : 0;
}

static void name_velocity(const void *self, uint64_t i, ds_env_variable *out)
{
    const smoke_env *e = self;
    ds_env_variable_put(out->unit, "cells/step");
    if (e->variables == WAVES) {
        ds_env_variable_put(out->name, "wave.%u.%s", (unsigned)(i / 2), i % 2 ? "sin" : "cos");
        ds_env_variable_put(out->group, "wave");
        return;
    }
    const uint64_t field = e->size * e->size, cell = i % field;
    ds_env_variable_put(out->group, i < field ? "vx" : "vy");
    ds_env_variable_put(out->name, "%s.%u.%u", out->group, (unsigned)(cell / e->size),
                        (unsigned)(cell % e->size));
}

/* ---- loss ---- */

/* Computes velocities from variables. */
static void set_velocity(const smoke_env *e, const double *x, const smoke_state *out)
{
    const size_t field = e->size * e->size;
    if (e->variables == WAVES) {
        stream_velocity(e->stream, x, out->vx, out->vy);
    } else {
        memcpy(out->vx, x, field * sizeof *x);
        memcpy(out->vy, x + field, field * sizeof *x);
    }
}

static ds_status simulate_smoke(void *self, ds_eval *io)
{
    smoke_env *e = self;
    const size_t field = e->size * e->size;
    double sum = 0;
    set_velocity(e, io->x, &e->start);
    e->w = io->x + e->kit.n;
    if (!smoke_simulate(e->sim, &e->start, e->kit.steps)) {
        io->loss = (double)NAN;
        io->bad_step = (int64_t)smoke_steps(e->sim);
        return DS_OK;
    }
    if (smoke_stopped(e->sim)) {
        return DS_STOPPED;
    }
    smoke_get(e->sim, e->kit.steps, &e->now);
    for (size_t c = 0; c < field; c++) {
        double off = e->now.density[c] - e->wanted[c];
        sum += off * off;
    }
    io->loss = sum / (double)field;
    return DS_OK;
}

/* Passes the derivatives by the final smoke, in e->now.density, on to the variables. */
static ds_status pull_back(smoke_env *e, double *x_bar)
{
    const size_t field = e->size * e->size;
    memset(e->now.vx, 0, field * sizeof *e->now.vx);
    memset(e->now.vy, 0, field * sizeof *e->now.vy);
    e->w_bar = x_bar + e->kit.n;
    memset(e->w_bar, 0, e->kit.hybrid.variables * sizeof *e->w_bar);
    smoke_adjoint(e->sim, 0, e->kit.steps, &e->now);
    if (smoke_stopped(e->sim)) {
        return DS_STOPPED;
    }
    if (e->variables == WAVES) {
        stream_adjoint(e->stream, e->now.vx, e->now.vy, x_bar);
    } else {
        memcpy(x_bar, e->now.vx, field * sizeof *x_bar);
        memcpy(x_bar + field, e->now.vy, field * sizeof *x_bar);
    }
    return DS_OK;
}

static ds_status adjoint_of_smoke(void *self, ds_eval *io)
{
    smoke_env *e = self;
    const size_t field = e->size * e->size;
    smoke_get(e->sim, e->kit.steps, &(smoke_state){.density = e->now.density});
    for (size_t c = 0; c < field; c++) {
        e->now.density[c] = 2 * (e->now.density[c] - e->wanted[c]) / (double)field;
    }
    return pull_back(e, io->grad);
}

/* ---- channels ---- */

enum { RESIDUALS, IMAGE, CHANNELS };

static uint64_t channels_of_smoke(const void *self)
{
    (void)self;
    return CHANNELS;
}

static void channel_of_smoke(const void *self, uint64_t i, ds_channel *out)
{
    const smoke_env *e = self;
    out->ops = DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV);
    out->ndim = 2;
    out->shape[0] = out->shape[1] = e->size;
    out->role = i == RESIDUALS ? DS_CHANNEL_RESIDUAL : DS_CHANNEL_IMAGE;
    out->name = i == RESIDUALS ? "residuals" : "smoke";
    out->doc = i == RESIDUALS ? "(Final smoke - target) / size: the squares add up to the loss."
                              : "Final smoke; rows along i.";
}

/* Change of the final smoke along the variables, times `scale`. */
static ds_status push_forward(smoke_env *e, const double *v, double scale, double *out)
{
    const size_t field = e->size * e->size;
    set_velocity(e, v, &e->now);
    e->w_dot = v + e->kit.n;
    memset(e->now.density, 0, field * sizeof *e->now.density);
    smoke_tangent(e->sim, 0, e->kit.steps, &e->now);
    for (size_t c = 0; c < field; c++) {
        out[c] = scale * e->now.density[c];
    }
    return smoke_stopped(e->sim) ? DS_STOPPED : DS_OK;
}

static ds_status answer_of_smoke(void *self, ds_eval *io, ds_eval_query *ask)
{
    smoke_env *e = self;
    const size_t field = e->size * e->size;
    const double scale = ask->channel == RESIDUALS ? 1 / (double)e->size : 1;
    double *out = ask->out;
    (void)io;
    if (ask->op == DS_QUERY_JV) {
        ask->kind = DS_GRAD_FORWARD;
        return push_forward(e, ask->v, scale, out);
    }
    if (ask->op == DS_QUERY_JTV) {
        ask->kind = DS_GRAD_ADJOINT;
        for (size_t c = 0; c < field; c++) {
            e->now.density[c] = scale * ask->v[c];
        }
        return pull_back(e, out);
    }
    smoke_get(e->sim, e->kit.steps, &(smoke_state){.density = out});
    for (size_t c = 0; ask->channel == RESIDUALS && c < field; c++) {
        out[c] = (out[c] - e->wanted[c]) / (double)e->size;
    }
    return DS_OK;
}

/* ---- scene: squares as large as the smoke is dense, rows along i from above ---- */

/* Mean of the cells of block `at` of `blocks` along a side. */
static double mean_of_block(const smoke_env *e, const double *density, size_t row, size_t column)
{
    const size_t n = e->size, i0 = row * n / DOTS, j0 = column * n / DOTS;
    size_t i1 = (row + 1) * n / DOTS, j1 = (column + 1) * n / DOTS;
    double sum = 0;
    i1 = i1 > i0 ? i1 : i0 + 1;
    j1 = j1 > j0 ? j1 : j0 + 1;
    for (size_t i = i0; i < i1; i++) {
        for (size_t j = j0; j < j1; j++) {
            sum += density[i * n + j];
        }
    }
    return sum / (double)((i1 - i0) * (j1 - j0));
}

static void place_smoke(const void *self, uint64_t k, uint64_t b, double *out)
{
    const smoke_env *e = self;
    const double *density = e->wanted;
    if (b == SMOKE) {
        smoke_get(e->sim, k, &(smoke_state){.density = e->now.density});
        density = e->now.density;
    }
    for (size_t d = 0; d < DOTS * DOTS; d++) {
        size_t row = d / DOTS, column = d % DOTS;
        double half = 0.5 * sqrt(fmin(1, fmax(0, mean_of_block(e, density, row, column)))) / DOTS;
        double x = ((double)column + 0.5) / DOTS, y = 1 - ((double)row + 0.5) / DOTS;
        const double at[12] = {x - half, y - half, 0, x + half, y - half, 0,
                               x + half, y + half, 0, x - half, y + half, 0};
        memcpy(out + 12 * d, at, sizeof at);
    }
}

static void bodies_of_smoke(void *self, ds_scene_kit *s)
{
    smoke_env *e = self;
    static const double box[6] = {0, 0, -0.1, 1, 1, 0.1};
    s->info.flat = 1;
    memcpy(s->info.box, box, sizeof box);
    for (int b = SMOKE; b <= TARGET; b++) {
        uint64_t body = ds_scene_kit_body(s, b == SMOKE ? "smoke" : "target", DS_BODY_MESH,
                                          b == SMOKE ? DS_ROLE_MATERIAL : DS_ROLE_TARGET, 4 * DOTS * DOTS,
                                          (double[4]){0});
        ds_scene_kit_at(s, body)->index = e->corner;
        ds_scene_kit_at(s, body)->index_count = 6 * DOTS * DOTS;
    }
}

static const ds_scene_kit_label metrics[] = {
    {"off_target", ""}, {"smoke", "cells"}, {"speed", "cells/step"}, {NULL, NULL}};

static void measure_smoke(void *self, uint64_t k, double *out)
{
    smoke_env *e = self;
    const size_t field = e->size * e->size;
    out[0] = out[1] = out[2] = 0;
    smoke_get(e->sim, k, &e->now);
    for (size_t c = 0; c < field; c++) {
        double off = e->now.density[c] - e->wanted[c];
        out[0] += off * off / (double)field;
        out[1] += e->now.density[c];
        out[2] = fmax(out[2], sqrt(e->now.vx[c] * e->now.vx[c] + e->now.vy[c] * e->now.vy[c]));
    }
}

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(smoke_env),
                                 .advice = "reduce parameter size or steps",
                                 .cure = "lower residual_limit",
                                 .read = read_smoke,
                                 .hook_points = hooks_of_smoke,
                                 .allocate = allocate_smoke,
                                 .range = range_of_smoke,
                                 .variable = name_velocity,
                                 .simulate = simulate_smoke,
                                 .adjoint = adjoint_of_smoke,
                                 .passes = 2, /* feet computed again, and backward */
                                 .metrics = metrics,
                                 .bodies = bodies_of_smoke,
                                 .place = place_smoke,
                                 .measure = measure_smoke,
                                 .channels = channels_of_smoke,
                                 .channel = channel_of_smoke,
                                 .answer = answer_of_smoke};

static const ds_desc desc = {
    BUNDLED_DESC("smoke", "2"),
    .flags = DS_ENV_GRADIENT,
    .summary = "Find the wind that turns smoke into a disc or a ring.",
    .description =
        "Stable fluids on a periodic square: each step advects the velocity, makes it nearly divergence-free "
        "and advects the smoke, which starts in the last third of the rows. Loss = mean square of (final "
        "smoke - target).\nVariables: the velocity at the start, in cells per step, by the waves of a stream "
        "function or per cell. All 0 is still air, where a cell boundary lies under each cell: the loss has "
        "a kink there, and the gradient is that of one side. Without networks the simulation cannot "
        "diverge.\nA step does not "
        "conserve smoke exactly, and the optimum exploits that.\nNo stepwise control: nothing acts on the "
        "wind after the start.\nChannels: residuals, and the final smoke, both with J v and J' w.\nMetrics: "
        "off_target (the loss, of each frame), smoke (its sum), speed (the largest).",
    .citation = "J. Stam: Stable fluids. SIGGRAPH 1999. K. M. Jatavallabhula et al.: gradSim: Differentiable "
                "simulation for system identification and visuomotor control. ICLR 2021, arXiv:2104.02646.",
};

DS_ENV_KIT_DEFINE(env, desc)
