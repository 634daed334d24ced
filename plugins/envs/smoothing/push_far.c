/* SPDX-License-Identifier: Apache-2.0 */
/* push_far - the blocks of push with a gap between them: without contact there is no gradient, unless the
 * loss knows how near they came, or force or gradient act at a distance. */
#include "engines/smoothing/blocks.h"
#include "engines/smoothing/sources.h"

#include <string.h>

enum { HARD, SOFT };
static const char *const proximities[] = {"hard", "soft", NULL};

static const ds_param *const params[] = {
    DS_REAL("target", "3", -1e6, 1e6, "m", "Where block 2 is to be at the end."),
    DS_REAL("contact_loss", "0", 0, 1e9, "", "Weight w of how near the blocks came."),
    DS_ENUM("proximity", "hard", proximities,
            "hard = the square of the least gap (0 in contact) of the episode; soft = of a mean that weights "
            "small gaps."),
    DS_REAL("proximity_scale", "0.01", 1e-9, 1e6, "m",
            "soft: gaps g >= 0 count with 1/(1 + (g/scale)^2); far beyond it all count like 1/g^2."),
    BLOCKS_PARAMS,
    SOFTNESS_PARAMS("none", "0.1", "m"),
    SOFTNESS_BACKWARD_PARAMS("0.1", "m"),
    OPEN_LOOP_PARAMS(4, "x1, x2, v1, v2"),
    NULL};

typedef struct far {
    blocks blocks; /* first */
    double weight, scale;
    int64_t proximity;
    double nearest, weights; /* of the episode: mean or least gap, sum of the weights */
    uint64_t when;           /* of the least gap; of equals the last, which controls can change */
    double *more;            /* derivatives by the states */
} far;

static void read_far(void *self, ds_param_reader *in)
{
    far *e = self;
    const double target = ds_param_real(in, "target");
    e->weight = ds_param_real(in, "contact_loss");
    e->proximity = ds_param_int(in, "proximity");
    e->scale = ds_param_real(in, "proximity_scale");
    e->blocks.k = 1000;
    e->blocks.keep = 0.99;
    blocks_read(
        &e->blocks, in,
        &(open_loop_usual){
            .steps = 200, .h = 0.005, .start = {0, 2, 0, 0}, .goal = {0, target, 0, 0}, .qd = {0, 1, 0, 0}});
    e->more = memory_doubles(&e->blocks.loop.kit.memory, (e->blocks.loop.kit.steps + 1) * BLOCKS_STATES);
}

/* ---- how near they came ---- */

static double gap_at(const far *e, uint64_t t)
{
    return fmax(blocks_gap(open_loop_state(&e->blocks.loop, t)), 0);
}

static double weight_of(const far *e, double gap)
{
    return 1 / (1 + (gap / e->scale) * (gap / e->scale));
}

static void find_least(far *e)
{
    e->nearest = HUGE_VAL;
    for (uint64_t t = 0; t <= e->blocks.loop.kit.steps; t++) {
        const double gap = gap_at(e, t);
        if (gap <= e->nearest) {
            e->nearest = gap;
            e->when = t;
        }
    }
}

static void find_mean(far *e)
{
    double sum = 0;
    e->weights = 0;
    for (uint64_t t = 0; t <= e->blocks.loop.kit.steps; t++) {
        const double gap = gap_at(e, t), weight = weight_of(e, gap);
        e->weights += weight;
        sum += weight * gap;
    }
    e->nearest = sum / e->weights;
}

static ds_status simulate_far(void *self, ds_eval *io)
{
    far *e = self;
    io->loss = rollout_simulate(&e->blocks.loop.roll, io->x);
    if (e->blocks.loop.roll.stopped) {
        return DS_STOPPED;
    }
    if (e->weight > 0) {
        (e->proximity == HARD ? find_least : find_mean)(e);
        io->loss += e->weight * e->nearest * e->nearest;
    }
    return DS_OK;
}

/* d loss / d gap at time t into the states. */
static void add_gap(far *e, uint64_t t, double bar)
{
    if (gap_at(e, t) > 0) {
        e->more[t * BLOCKS_STATES + BLOCKS_X2] += bar;
        e->more[t * BLOCKS_STATES + BLOCKS_X1] -= bar;
    }
}

static ds_status adjoint_of_far(void *self, ds_eval *io)
{
    far *e = self;
    const uint64_t steps = e->blocks.loop.kit.steps;
    const double outer = 2 * e->weight * e->nearest;
    if (!(e->weight > 0)) {
        rollout_back(&e->blocks.loop.roll, NULL, io->grad);
        return e->blocks.loop.roll.stopped ? DS_STOPPED : DS_OK;
    }
    memset(e->more, 0, (steps + 1) * BLOCKS_STATES * sizeof *e->more);
    for (uint64_t t = 0; e->proximity == SOFT && t <= steps; t++) {
        const double gap = gap_at(e, t), weight = weight_of(e, gap);
        const double slope = -2 * gap / e->scale / e->scale * weight * weight;
        add_gap(e, t, outer * (weight + (gap - e->nearest) * slope) / e->weights);
    }
    if (e->proximity == HARD) {
        add_gap(e, e->when, outer);
    }
    rollout_back(&e->blocks.loop.roll, e->more, io->grad);
    return e->blocks.loop.roll.stopped ? DS_STOPPED : DS_OK;
}

static const scene_metric metrics[] = {BLOCKS_METRICS_LIST, {NULL, NULL}};

static const env_table env = {.size = sizeof(far),
                              .cure = "reduce parameter h or k",
                              .read = read_far,
                              .simulate = simulate_far,
                              .adjoint = adjoint_of_far,
                              .metrics = metrics,
                              .bodies = blocks_bodies,
                              .place = blocks_place,
                              .measure = blocks_measure,
                              OPEN_LOOP_TABLE};

static const ds_desc desc = {
    ENV_KIT_DESC("push_far", "1"),
    .flags = DS_ENV_GRADIENT,
    .summary = "Push a block that is far away: no contact, no gradient.",
    .description =
        "Variables: the force u on block 1 in each step; block 2 lies 1 m away and is to be 1 m farther at "
        "the "
        "end: loss (x2 - target)^2 + contact_loss x proximity. Without force the gradient is exactly 0.\n"
        "Four remedies: contact_loss > 0 (how near the blocks came), softness (a force at a distance), "
        "contact_grad = distance (only the gradient sees one; its kind is `smoothed`, since it is not the "
        "derivative "
        "of the loss), and noise of the optimizer.\n"
        "Usual numbers: h 0.005, 200 steps, k 1000, keep 0.99, start 0, 2, 0, 0; Q = 0, Qd = 0, 1, 0, 0, R = "
        "0. The goal of q and qd is 0, target, 0, 0.\n"
        "Metrics: x1, x2, gap, force of contact, u and quadratic cost of the step that begins at the frame.",
    .citation = SMOOTHING_HUANG " " SMOOTHING_SUH,
    .extensions = env_kit_scene,
};

ENV_KIT_DEFINE(env, desc)
