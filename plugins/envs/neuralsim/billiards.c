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
enum {
    INPUTS = 5,
    OUTPUTS = 3,
    PUSHES = INPUTS - OUTPUTS
}; /* of networks: state of a ball, its velocities */

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
    DS_HYBRID_PARAMS,
    NULL};

typedef struct table {
    ds_env_kit kit; /* must be first */
    billiards rules;
    double target[2];
    const billiards_lanes *lanes;
    double (*at)[BILLIARDS_BALLS][2]; /* [steps + 1]: positions of the balls */
    double *impulses;
    double gap[2]; /* last ball at the end: position minus target */
    double *gap_d; /* [2][all variables]: its derivatives */
    double *tape;  /* of the networks */
    double *w_dot; /* a direction of their parameters */
} table;

/* Variables with those of networks. */
static uint64_t all_of(const table *e)
{
    return e->kit.n + e->kit.hybrid.variables;
}

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

static ds_status allocate_billiards(void *self)
{
    table *e = self;
    const ds_hybrid *h = &e->kit.hybrid;
    e->gap_d = ds_memory_doubles(&e->kit.memory, 2 * all_of(e));
    if (h->nets > 0) {
        e->tape = ds_memory_doubles(&e->kit.memory, h->tape);
        e->w_dot = ds_memory_doubles(&e->kit.memory, h->variables);
        e->kit.max_rows = 1;
    }
    return DS_OK;
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

/* The table at the start, the white ball at rest; its velocity is `per_force` times the variables.
 * Derivatives are those by variables `first` and first + 1. */
static billiards start_of(const table *e, uint64_t first, double *per_force)
{
    billiards b = e->rules;
    rack(&b);
    *per_force = b.h / b.mass; /* the force acts for one step */
    for (int d = 0; d < 2 && first == 0; d++) {
        b.ball[PUSHED].v[d].d[d] = *per_force;
    }
    return b;
}

static double loss_of(const double gap[2])
{
    return gap[0] * gap[0] + gap[1] * gap[1];
}

/* gap_d: [2][n] derivatives of the gap. */
static void loss_bar(const double gap[2], uint64_t n, const double *gap_d, double *grad)
{
    for (uint64_t i = 0; i < n; i++) {
        grad[i] = 2 * (gap[0] * gap_d[i] + gap[1] * gap_d[n + i]);
    }
}

/* Networks push and turn each ball before a step. w: their parameters; `first` as in start_of(). */
static void push_balls(const table *e, billiards *b, const double *w, uint64_t first, int derivatives)
{
    const ds_hybrid *h = &e->kit.hybrid;
    const double kick = b->h / b->mass, turn = kick / (0.4 * b->radius * b->radius),
                 per[OUTPUTS] = {kick, kick, turn};
    for (int k = 0; k < BILLIARDS_BALLS; k++) {
        ball_state *ball = &b->ball[k];
        dual *const seen[INPUTS] = {&ball->x[0], &ball->x[1], &ball->v[0], &ball->v[1], &ball->w};
        double in[INPUTS], push[OUTPUTS] = {0};
        for (int i = 0; i < INPUTS; i++) {
            in[i] = seen[i]->v;
        }
        ds_hybrid_forward(h, w, in, push, e->tape);
        for (uint64_t j = 0; derivatives && j < BILLIARDS_VARIABLES; j++) {
            const uint64_t variable = first + j;
            double in_dot[INPUTS], push_dot[OUTPUTS] = {0};
            double *one =
                variable >= e->kit.n && variable < all_of(e) ? &e->w_dot[variable - e->kit.n] : NULL;
            for (int i = 0; i < INPUTS; i++) {
                in_dot[i] = seen[i]->d[j];
            }
            if (one != NULL) {
                *one = 1;
            }
            ds_hybrid_tangent(h, w, e->tape, one != NULL ? e->w_dot : NULL, in_dot, push_dot);
            if (one != NULL) {
                *one = 0;
            }
            for (int i = 0; i < OUTPUTS; i++) {
                seen[PUSHES + i]->d[j] += per[i] * push_dot[i];
            }
        }
        for (int i = 0; i < OUTPUTS; i++) {
            seen[PUSHES + i]->v += per[i] * push[i];
        }
    }
}

/* Simulates an episode, with derivatives by variables `first` and first + 1. */
static void play(table *e, const double *x, uint64_t first, int derivatives)
{
    double per_force;
    billiards b = start_of(e, first, &per_force);
    const uint64_t all = all_of(e);
    for (int d = 0; d < 2; d++) {
        b.ball[PUSHED].v[d].v = per_force * x[d];
    }
    keep(e, &b, 0);
    for (uint64_t k = 1; k <= e->kit.steps; k++) {
        if (e->kit.hybrid.nets > 0) {
            push_balls(e, &b, x + e->kit.n, first, derivatives);
        }
        billiards_step(&b, derivatives);
        keep(e, &b, k);
    }
    for (uint64_t d = 0; d < 2; d++) {
        e->gap[d] = b.ball[AIMED].x[d].v - e->target[d];
        for (uint64_t j = 0; j < BILLIARDS_VARIABLES && first + j < all; j++) {
            e->gap_d[d * all + first + j] = b.ball[AIMED].x[d].d[j];
        }
    }
}

/* Derivatives by networks take one more episode for each two of their parameters. */
static ds_status simulate_billiards(void *self, ds_eval *io)
{
    table *e = self;
    const int derivatives = (io->want & DS_WANT_GRAD) != 0 || io->queries > 0;
    play(e, io->x, 0, derivatives);
    for (uint64_t first = BILLIARDS_VARIABLES; derivatives && first < all_of(e);
         first += BILLIARDS_VARIABLES) {
        play(e, io->x, first, 1);
        io->cost_steps += e->kit.steps;
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
    const billiards b = start_of(e, 0, &per_force);
    for (uint64_t k = 0; k < count; k += width) {
        const lanes_group g = lanes_take(width, count - k, io + k);
        double v[2 * LANES_MOST], last[6 * LANES_MOST];
        for (uint64_t j = 0; j < 2 * width; j++) {
            v[j] = per_force * g.x[j % width][j / width];
        }
        e->lanes->simulate(&b, e->kit.steps, g.graded, PUSHED, v, AIMED, last);
        for (uint64_t lane = 0; lane < width; lane++) {
            double gap[2], gap_d[2 * BILLIARDS_VARIABLES];
            for (uint64_t d = 0; d < 2; d++) {
                const double *at = last + 3 * d * width + lane;
                gap[d] = at[0] - e->target[d];
                gap_d[BILLIARDS_VARIABLES * d] = at[width];
                gap_d[BILLIARDS_VARIABLES * d + 1] = at[2 * width];
            }
            g.io[lane]->loss = loss_of(gap);
            if (g.graded) {
                loss_bar(gap, BILLIARDS_VARIABLES, gap_d, g.grad[lane]);
            }
        }
    }
    return DS_OK;
}

static ds_status gradient_of_billiards(void *self, ds_eval *io)
{
    const table *e = self;
    loss_bar(e->gap, all_of(e), e->gap_d, io->grad);
    return DS_OK;
}

/* With a cost of the weights of networks the loss is not a sum of these squares. */
static uint64_t channels_of_billiards(const void *self)
{
    const ds_hybrid *h = &((const table *)self)->kit.hybrid;
    return h->l1 > 0 || h->l2 > 0 ? 0 : 1;
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
    const uint64_t all = all_of(e);
    double *out = ask->out;
    (void)io;
    memset(out, 0, ask->op == DS_QUERY_JTV ? all * sizeof *out : sizeof e->gap);
    for (uint64_t d = 0; d < 2; d++) {
        const double *row = e->gap_d + d * all;
        for (uint64_t i = 0; i < all && ask->op == DS_QUERY_JV; i++) {
            out[d] += row[i] * ask->v[i];
        }
        for (uint64_t i = 0; i < all && ask->op == DS_QUERY_JTV; i++) {
            out[i] += row[i] * ask->v[d];
        }
        out[d] = ask->op == DS_QUERY_VALUE ? e->gap[d] : out[d];
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

static uint64_t hooks_of_billiards(const void *self, ds_hook *out)
{
    uint64_t k = 0;
    (void)self;
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 2, "position", "m", "Of each ball, before the step.");
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 2, "velocity", "m/s", "Of the ball.");
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 1, "spin", "rad/s", "Of the ball.");
    ds_env_kit_hook(out, &k, DS_HOOK_OUTPUT, 2, "force", "N", "On the ball in the step; begins at 0.");
    ds_env_kit_hook(out, &k, DS_HOOK_OUTPUT, 1, "torque", "N m", "On the ball in the step; begins at 0.");
    return k;
}

static const ds_env_table env = {.size = sizeof(table),
                                 .advice = "reduce steps",
                                 .read = read_billiards,
                                 .hook_points = hooks_of_billiards,
                                 .allocate = allocate_billiards,
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
    BUNDLED_DESC("billiards", "2"), .flags = DS_ENV_GRADIENT,
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
