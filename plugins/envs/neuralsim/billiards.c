/* SPDX-License-Identifier: Apache-2.0 */
/* billiards.c - find the force on the white ball that rolls the last ball of the rack to a target. After the
 * billiards example in google-research/tiny-differentiable-simulator (E. Heiden et al., NeuralSim, ICRA
 * 2021). */
#include "engines/physics/billiards/billiards.h"
#include "engines/kit/bundled.h"
#include "engines/kit/lanes.h"

#include <string.h>

enum { RACK, LAST, WHITE, TARGET };
enum { AIMED = 5, PUSHED = 6 };

static const ds_param *const params[] = {
    DS_BOOL("smooth", "false",
            "Balls that approach fast enough push each other before they touch. Without this the loss has "
            "plateaus where the last ball is never hit."),
    DS_LIST("target", "3.5, 8", -100, 100, 2, "m", "Target of the last ball at the end."),
    DS_REAL("mu", "0.5", 0, 10, "", "Friction between balls."),
    DS_REAL("restitution", "0", 0, 1, "", "Share of the normal velocity that a contact gives back."),
    DS_REAL("mending", "0.1", 0, 1, "", "Share of an overlap that a step corrects (Baumgarte)."),
    DS_INT("sweeps", "50", 1, 1000, "", "Sweeps over all contacts in a step."),
    DS_INT("steps", "300", 1, 100000, "", "Steps of 1/60 s."),
    NULL};

typedef struct table {
    ds_env_kit kit; /* must be first */
    billiards rules;
    double target[2];
    const billiards_lanes *lanes;
    double (*at)[BILLIARDS_BALLS][2]; /* [steps + 1]: positions of the balls */
    double *impulses;
    dual gap[2]; /* last ball at the end: position minus target */
} table;

static void read_billiards(void *self, ds_param_reader *in)
{
    table *e = self;
    e->rules = (billiards){.h = 1.0 / 60,
                           .radius = 0.5,
                           .mass = 1,
                           .friction = ds_param_real(in, "mu"),
                           .restitution = ds_param_real(in, "restitution"),
                           .mending = ds_param_real(in, "mending"),
                           .sweeps = (int)ds_param_int(in, "sweeps"),
                           .apart = ds_param_int(in, "smooth") != 0};
    ds_param_values(in, "target", 2, e->target);
    e->kit.n = BILLIARDS_VARIABLES;
    e->kit.steps = (uint64_t)ds_param_int(in, "steps");
    e->kit.dt = e->rules.h;
    e->lanes = billiards_lanes_find();
    e->kit.grad_kind = DS_GRAD_FORWARD;
    e->at = ds_memory_take(&e->kit.memory, e->kit.steps + 1, sizeof *e->at);
    e->impulses = ds_memory_doubles(&e->kit.memory, e->kit.steps + 1);
}

static void range_of_force(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    (void)self;
    *lower = -1000;
    *upper = 1000;
    *start = i == 0 ? 500 : 400;
}

static void name_of_force(const void *self, uint64_t i, ds_env_variable *out)
{
    (void)self;
    ds_env_variable_put(out->name, "force.%c", i == 0 ? 'x' : 'y');
    ds_env_variable_put(out->unit, "N");
    ds_env_variable_put(out->group, "force");
}

/* ---- an episode ---- */

static void rack(billiards *b)
{
    int k = 0;
    for (int row = 0; row < 3; row++) {
        for (int i = 0; i <= row; i++, k++) {
            b->ball[k] = (ball_state){.x = {{.v = i - 0.5 * row}, {.v = sqrt(0.75) * row}}};
        }
    }
    b->ball[PUSHED] = (ball_state){.x = {{.v = 0}, {.v = -2}}};
    b->switches = 0;
}

static void keep(table *e, const billiards *b, uint64_t step)
{
    for (int k = 0; k < BILLIARDS_BALLS; k++) {
        e->at[step][k][0] = b->ball[k].x[0].v;
        e->at[step][k][1] = b->ball[k].x[1].v;
    }
    e->impulses[step] = step > 0 ? (double)b->impulses : 0;
}

/* The table at the start, the white ball at rest; its velocity is `per_force` times the variables. */
static billiards start_of(const table *e, double *per_force)
{
    billiards b = e->rules;
    rack(&b);
    *per_force = b.h / b.mass; /* the force acts for one step */
    for (int d = 0; d < 2; d++) {
        b.ball[PUSHED].v[d].d[d] = *per_force;
    }
    return b;
}

static double loss_of(const dual gap[2])
{
    double loss = 0;
    for (int d = 0; d < 2; d++) {
        loss += gap[d].v * gap[d].v;
    }
    return loss;
}

static void loss_bar(const dual gap[2], double *grad)
{
    for (int i = 0; i < BILLIARDS_VARIABLES; i++) {
        grad[i] = 2 * (gap[0].v * gap[0].d[i] + gap[1].v * gap[1].d[i]);
    }
}

static ds_status simulate_billiards(void *self, ds_eval *io)
{
    table *e = self;
    double per_force;
    billiards b = start_of(e, &per_force);
    const int derivatives = (io->want & DS_WANT_GRAD) != 0 || io->queries > 0;
    for (int d = 0; d < 2; d++) {
        b.ball[PUSHED].v[d].v = per_force * io->x[d];
    }
    keep(e, &b, 0);
    for (uint64_t k = 1; k <= e->kit.steps; k++) {
        billiards_step(&b, derivatives);
        keep(e, &b, k);
    }
    for (int d = 0; d < 2; d++) {
        e->gap[d] = b.ball[AIMED].x[d];
        e->gap[d].v -= e->target[d];
    }
    io->loss = loss_of(e->gap);
    return DS_OK;
}

/* Many episodes side by side. */
static ds_status simulate_rows(void *self, uint64_t count, ds_eval *const *io)
{
    const table *e = self;
    const uint64_t width = e->lanes->width;
    double per_force;
    const billiards b = start_of(e, &per_force);
    for (uint64_t k = 0; k < count; k += width) {
        const lanes_group g = lanes_take(width, count - k, io + k);
        double v[2 * LANES_MOST], last[6 * LANES_MOST];
        for (uint64_t j = 0; j < 2 * width; j++) {
            v[j] = per_force * g.x[j % width][j / width];
        }
        e->lanes->simulate(&b, e->kit.steps, g.graded, PUSHED, v, AIMED, last);
        for (uint64_t lane = 0; lane < width; lane++) {
            dual gap[2];
            for (uint64_t d = 0; d < 2; d++) {
                const double *at = last + 3 * d * width + lane;
                gap[d] = (dual){at[0] - e->target[d], {at[width], at[2 * width]}};
            }
            g.io[lane]->loss = loss_of(gap);
            if (g.graded) {
                loss_bar(gap, g.grad[lane]);
            }
        }
    }
    return DS_OK;
}

static ds_status gradient_of_billiards(void *self, ds_eval *io)
{
    const table *e = self;
    loss_bar(e->gap, io->grad);
    return DS_OK;
}

static uint64_t channels_of_billiards(const void *self)
{
    (void)self;
    return 1;
}

static void channel_of_billiards(const void *self, uint64_t i, ds_channel *out)
{
    (void)self;
    (void)i;
    out->role = DS_CHANNEL_RESIDUAL;
    out->ops = DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV);
    out->shape[0] = 2;
    out->name = "gap";
    out->unit = "m";
    out->doc = "Final position of the last ball minus its target.";
}

static ds_status answer_of_billiards(void *self, ds_eval *io, ds_eval_query *ask)
{
    const table *e = self;
    double *out = ask->out;
    (void)io;
    for (int i = 0; i < 2; i++) {
        out[i] = ask->op == DS_QUERY_VALUE ? e->gap[i].v
                 : ask->op == DS_QUERY_JV  ? e->gap[i].d[0] * ask->v[0] + e->gap[i].d[1] * ask->v[1]
                                           : e->gap[0].d[i] * ask->v[0] + e->gap[1].d[i] * ask->v[1];
    }
    ask->kind = ask->op == DS_QUERY_VALUE ? DS_GRAD_NONE : DS_GRAD_FORWARD;
    return DS_OK;
}

/* ---- scene and metrics ---- */

static void place_billiards(const void *self, uint64_t k, uint64_t b, double *out)
{
    const table *e = self;
    static const int first[] = {0, AIMED, PUSHED};
    if (b == TARGET) {
        ds_scene_kit_pose(e->target[0], e->target[1], 0, 0, out);
        return;
    }
    for (int i = 0; i < (b == RACK ? AIMED : 1); i++) {
        const double *at = e->at[k][first[b] + i];
        ds_scene_kit_pose(at[0], at[1], 0, 0, out + 7 * i);
    }
}

static void bodies_of_billiards(void *self, ds_scene_kit *s)
{
    const table *e = self;
    const double size[4] = {e->rules.radius, 0, 0, 0};
    ds_scene_kit_body(s, "rack", DS_BODY_SPHERE, DS_ROLE_MATERIAL, AIMED, size);
    ds_scene_kit_body(s, "last", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 1, size);
    ds_scene_kit_body(s, "white", DS_BODY_SPHERE, DS_ROLE_TOOL, 1, size);
    ds_scene_kit_body(s, "target", DS_BODY_SPHERE, DS_ROLE_TARGET, 1, size);
    ds_scene_kit_at(s, LAST)->variety = 1;
    ds_scene_kit_include(s, 0, 0, 0, 3);
    ds_scene_kit_include(s, e->target[0], e->target[1], 0, 2);
    s->info.flat = 1;
}

static const ds_scene_kit_label metrics[] = {
    {"x", "m"}, {"y", "m"}, {"distance", "m"}, {"impulses", ""}, {NULL, NULL}};

static void measure_billiards(void *self, uint64_t k, double *out)
{
    const table *e = self;
    out[0] = e->at[k][AIMED][0];
    out[1] = e->at[k][AIMED][1];
    out[2] = hypot(out[0] - e->target[0], out[1] - e->target[1]);
    out[3] = e->impulses[k];
}

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(table),
                                 .advice = "reduce steps",
                                 .read = read_billiards,
                                 .range = range_of_force,
                                 .variable = name_of_force,
                                 .simulate = simulate_billiards,
                                 .adjoint = gradient_of_billiards,
                                 .rows = simulate_rows,
                                 .rows_adjoint = 1,
                                 .metrics = metrics,
                                 .bodies = bodies_of_billiards,
                                 .place = place_billiards,
                                 .measure = measure_billiards,
                                 .channels = channels_of_billiards,
                                 .channel = channel_of_billiards,
                                 .answer = answer_of_billiards};

static const ds_desc desc = {
    BUNDLED_DESC("billiards", "1"), .flags = DS_ENV_GRADIENT,
    .summary = "Push the white ball so that the last ball of a rack rolls to a target.",
    .description =
        "Seven balls of 1 kg and radius 0.5 m: six are racked in rows of 1, 2 and 3, the white one lies "
        "before them. The variables are the force on the white ball in the first of 300 steps of 1/60 s; the "
        "loss is the squared final distance of the last ball from its target, m^2. Balls collide by "
        "sequential impulses with friction and without restitution.\nThe loss has plateaus, where the last "
        "ball is never hit, and jumps, where another chain of contacts hits it; smooth = true fills most of "
        "the plateaus. The gradient is exact for the contacts of an episode.\nChannel: the gap to the target "
        "as two residuals with J v and J' w. Metrics: position of the last ball, its distance from the "
        "target, impulses in the step.",
    .citation =
        "E. Heiden, D. Millard, E. Coumans, Y. Sheng, G. S. Sukhatme: NeuralSim: Augmenting differentiable "
        "simulators with neural networks. ICRA 2021, arXiv:2011.04217; E. Coumans and others: "
        "google-research/tiny-differentiable-simulator."};

DS_ENV_KIT_DEFINE(env, desc)
