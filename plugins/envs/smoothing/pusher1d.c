/* SPDX-License-Identifier: Apache-2.0 */
/* pusher1d.c - one step of a stiffness-controlled pusher against a block on a line: the effect of softened
 * contact and of noise on the command, in closed form (Pang et al., 2023, in one dimension). */
#include "engines/kit/bundled.h"
#include "engines/physics/smoothing/plain.h"
#include "engines/physics/smoothing/softness.h"

enum { POSITION, SQUARED };
static const char *const losses[] = {"position", "squared", NULL};

static const ds_param *const params[] = {
    DS_REAL("k", "1", 1e-9, 1e9, "N/m", "Stiffness of the pusher's control.", .flags = DS_PARAM_LOG),
    DS_REAL("m", "1", 1e-9, 1e9, "N/m", "Resistance of the block in the step: its inertia / h^2.",
            .flags = DS_PARAM_LOG),
    DS_REAL("block", "0", -1e6, 1e6, "m", "Position of the block."),
    DS_REAL("target", "0.25", -1e6, 1e6, "m", "Goal of the block, with loss = squared."),
    DS_ENUM("loss", "squared", losses, "The squared distance of the block from its target, or its position."),
    SOFTNESS_PARAMS("width", "none", "0.1", "m"),
    SOFTNESS_BACKWARD_PARAMS("0.1", "m"),
    DS_ENUM("noise", "none", softness_kernels,
            "Noise on the command in episodes with noise: its mean effect is the ramp of this name."),
    DS_REAL("noise_width", "0.1", 1e-12, 1e6, "m", "Width of the noise, like `width`.",
            .flags = DS_PARAM_LOG),
    PLAIN_PARAMS("-1", "1", "-0.5", "m"),
    NULL};

typedef struct pusher {
    plain plain; /* must be first */
    softness soft, noise;
    double part, k, m, block, target;
    int64_t loss;
    double x, moved; /* commanded penetration; motion of the block */
    double shift;    /* noise on the command of the open episode */
} pusher;

enum { FRAMES = 40 };

static void read_pusher(void *self, ds_param_reader *in)
{
    pusher *e = self;
    const double k = ds_param_real(in, "k"), m = ds_param_real(in, "m");
    e->part = k / (k + m);
    e->k = k;
    e->m = m;
    e->block = ds_param_real(in, "block");
    e->target = ds_param_real(in, "target");
    e->loss = ds_param_int(in, "loss");
    softness_read(&e->soft, in, "width");
    softness_read_backward(&e->soft, in);
    e->noise.kernel = ds_param_int(in, "noise");
    e->noise.width = ds_param_real(in, "noise_width");
    plain_read(&e->plain, in, 1, "command", "m");
    e->plain.kit.steps = FRAMES;
    e->plain.kit.dt = 1.0 / FRAMES;
    e->plain.kit.horizon = 1;
    e->plain.kit.n_obs = 2;
    e->plain.kit.control_dt = 1;
    e->plain.kit.loss_floor = e->loss == SQUARED ? 0 : e->block;
    e->plain.kit.grad_kind = e->soft.at_distance ? DS_GRAD_SMOOTHED : DS_GRAD_ADJOINT;
}

static double noise_of(const pusher *e, uint64_t noise_key)
{
    if (noise_key == 0 || e->noise.kernel == SOFTNESS_NONE) {
        return 0;
    }
    ds_random random = ds_random_open(noise_key, "command", 0);
    return softness_draw(&e->noise, &random);
}

/* The loss of a command. */
static double push(pusher *e, double command, double noise)
{
    e->x = command - e->block + noise;
    e->moved = e->part * softness_ramp(&e->soft, e->x);
    const double miss = e->block + e->moved - e->target;
    return e->loss == SQUARED ? miss * miss : e->block + e->moved;
}

/* Derivatives of the loss by the position of the block, and of that by the command. */
static double slope_of_loss(const pusher *e)
{
    return e->loss == SQUARED ? 2 * (e->block + e->moved - e->target) : 1;
}

static double slope_of_position(const pusher *e)
{
    return e->part * softness_pull(&e->soft, e->x);
}

static ds_status simulate_pusher(void *self, ds_eval *io)
{
    pusher *e = self;
    io->loss = push(e, io->x[0], noise_of(e, io->noise_key));
    return DS_OK;
}

static ds_status adjoint_of_pusher(void *self, ds_eval *io)
{
    const pusher *e = self;
    io->grad[0] = slope_of_loss(e) * slope_of_position(e);
    return DS_OK;
}

/* ---- stepwise control: one step ---- */

static ds_status begin_pusher(void *self, uint64_t noise_key)
{
    pusher *e = self;
    e->shift = noise_of(e, noise_key);
    e->moved = 0;
    return DS_OK;
}

/* Position of the block, and its goal. */
static void observe_pusher(const void *self, double *obs)
{
    const pusher *e = self;
    obs[0] = e->block + e->moved;
    obs[1] = e->target;
}

static ds_status act_on_pusher(void *self, uint64_t k, ds_step *io)
{
    pusher *e = self;
    (void)k;
    io->loss = push(e, io->action[0], e->shift);
    io->reward = -io->loss;
    io->cost_steps = 1;
    return DS_OK;
}

static int is_differentiable(const void *self)
{
    return !((const pusher *)self)->soft.at_distance;
}

static ds_status begin_sweep(void *self, uint64_t last)
{
    (void)self;
    (void)last;
    return DS_OK;
}

static ds_status sweep_pusher(void *self, ds_back *io)
{
    const pusher *e = self;
    io->action_bar[0] = (io->obs_bar[0] - io->reward_bar * slope_of_loss(e)) * slope_of_position(e);
    io->cost_steps = 1;
    return DS_OK;
}

/* ---- scene: commands from the lower bound to that of the episode, and their effects ---- */

enum { PUSHER, BLOCK, COMMAND, TARGET };

/* Command, face of the pusher, position of the block, force between them, at frame k of FRAMES. The distance
 * between pusher and command is the stretch of the control spring under the force. */
static void state_of(const pusher *e, uint64_t k, double out[4])
{
    const double from = fmin(e->plain.lower - e->block, e->x), share = (double)k / FRAMES;
    const double x = k == FRAMES ? e->x : from + (e->x - from) * share;
    const double moved = k == FRAMES ? e->moved : e->part * softness_ramp(&e->soft, x);
    out[0] = e->block + x;
    out[1] = e->block + x - e->m * moved / e->k;
    out[2] = e->block + moved;
    out[3] = e->m * moved;
}

static double half_width(const pusher *e)
{
    return 0.04 * (e->plain.upper - e->plain.lower);
}

static void bodies_of_pusher(void *self, ds_scene_kit *s)
{
    const pusher *e = self;
    const double half = half_width(e), size[4] = {half, half, half, 0};
    s->info.flat = 1;
    s->info.ground = 0;
    ds_scene_kit_body(s, "pusher", DS_BODY_BOX, DS_ROLE_TOOL, 1, size);
    ds_scene_kit_body(s, "block", DS_BODY_BOX, DS_ROLE_MATERIAL, 1, size);
    ds_scene_kit_body(s, "command", DS_BODY_SPHERE, DS_ROLE_TOOL, 1, (double[4]){0.25 * half, 0, 0, 0});
    if (e->loss == SQUARED) {
        ds_scene_kit_body(s, "target", DS_BODY_SPHERE, DS_ROLE_FIXED, 1, (double[4]){0.25 * half, 0, 0, 0});
    }
    ds_scene_kit_include(s, e->plain.lower - 2 * half, half, 0, half);
    ds_scene_kit_include(s, e->block + 2 * half, half, 0, half);
}

/* The meeting faces of the boxes are at these places; command and target hang above them. */
static void place_pusher(const void *self, uint64_t k, uint64_t b, double *out)
{
    const pusher *e = self;
    const double half = half_width(e);
    double at[4];
    state_of(e, k, at);
    const double x[] = {at[1] - half, at[2] + half, at[0], e->target};
    ds_scene_kit_pose(x[b], b <= BLOCK ? half : 2.5 * half, 0, 0, out);
}

static const ds_scene_kit_label metrics[] = {
    {"command", "m"}, {"pusher", "m"}, {"position", "m"}, {"force", "N"}, {NULL, NULL}};

static void measure_pusher(void *self, uint64_t k, double *out)
{
    pusher *e = self;
    const double half = half_width(e);
    state_of(e, k, out);
    ds_scene_kit_include(&e->plain.kit.scene, out[1] - 2 * half, half, 0, half);
    ds_scene_kit_include(&e->plain.kit.scene, fmax(out[0], fmax(out[2] + half, e->target)), half, 0,
                         2 * half);
}

static const ds_env_table env = {.size = sizeof(pusher),
                                 .read = read_pusher,
                                 .simulate = simulate_pusher,
                                 .adjoint = adjoint_of_pusher,
                                 .begin = begin_pusher,
                                 .observe = observe_pusher,
                                 .act = act_on_pusher,
                                 .differentiable = is_differentiable,
                                 .back_begin = begin_sweep,
                                 .back = sweep_pusher,
                                 .metrics = metrics,
                                 .bodies = bodies_of_pusher,
                                 .place = place_pusher,
                                 .measure = measure_pusher,
                                 PLAIN_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("pusher1d", "1"),
    .flags = DS_ENV_GRADIENT | DS_ENV_STOCHASTIC,
    .summary = "One push on a line: softened contact compared with noise.",
    .description =
        "Variable: the commanded position u of a pusher; a block at q moves to q + k/(k + m) ramp(u - q). "
        "The hard ramp max(x, 0) leaves a plateau of gradient 0 where the pusher does not reach the block. A "
        "logarithmic barrier of sharpness kappa makes it (x + sqrt(x^2 + 4 c))/2 with c = width^2 = (1/m + "
        "1/k)/kappa; softplus and gaussian are alternatives.\nEach is the mean of the hard ramp under noise "
        "on u of one density: barrier: Student's t with 2 degrees of freedom; softplus: logistic; gaussian: "
        "normal. softness = none with noise = that name has this mean over episodes with noise.\nThe figure "
        "moves the command from the lower bound to the variable. Metrics: command, pusher (which lags "
        "behind), block, and the force between them.",
    .citation = SMOOTHING_PANG " " SMOOTHING_SUH,
};

DS_ENV_KIT_DEFINE(env, desc)
