/* SPDX-License-Identifier: Apache-2.0 */
/* blocks.c - two blocks on a line (see blocks.h). */
#include "blocks.h"

#define real double
#define real_mask int
#define real_choose(mask, a, b) ((mask) ? (a) : (b))
#include "open_step.h"

const char *const blocks_names[] = {"u"};
const ds_scene_kit_label blocks_metrics[] = {{"x1", "m"}, {"x2", "m"},  {"gap", "m"}, {"force", "N"},
                                             {"u", "N"},  {"cost", ""}, {NULL, NULL}};

double blocks_gap(const double *x)
{
    return blocks_gap_of(x);
}

static void step(const void *self, const double *x, const double *u, double *next)
{
    const blocks *b = self;
    blocks_move(&b->loop.law, x, u[0], b->k * softness_ramp(&b->soft, -blocks_gap(x)), next);
}

static void back(const void *self, const double *x, const double *u, const double *next_bar, double *x_bar,
                 double *u_bar)
{
    const blocks *b = self;
    (void)u;
    blocks_reverse(&b->loop.law, softness_pull(&b->soft, -blocks_gap(x)), next_bar, x_bar, u_bar);
}

static const uint32_t pushed[] = {BLOCKS_V1, BLOCKS_V2};
const rollout_system blocks_system = {
    .states = BLOCKS_STATES, .controls = 1, .step = step, .back = back, .forces = 2, .pushed = pushed};

void blocks_read(blocks *b, ds_param_reader *in, const open_loop_usual *usual)
{
    b->mass = ds_param_real(in, "mass");
    ds_param_values(in, "k", 1, &b->k);
    ds_param_values(in, "keep", 1, &b->keep);
    softness_read(&b->soft, in, "width");
    softness_read_backward(&b->soft, in);
    open_loop_read(&b->loop, in, &blocks_system, usual);
    b->loop.names = blocks_names;
    b->loop.unit = "N";
    b->loop.state_doc = "Positions (m) and velocities (m/s) of both blocks before the step.";
    b->loop.roll.kick = b->loop.h / b->mass;
    b->loop.kit.grad_kind = b->soft.at_distance ? DS_GRAD_SMOOTHED : DS_GRAD_ADJOINT;
    const int hard = b->soft.kernel == SOFTNESS_NONE && !b->soft.at_distance;
    b->loop.law = (open_law){.system = hard ? OPEN_BLOCKS : OPEN_OTHER,
                             .h = b->loop.h,
                             .rate = b->loop.h / b->mass,
                             .k = b->k,
                             .keep = b->keep};
    open_loop_lanes(&b->loop);
}

enum { PUSHER, PUSHED, GOAL };

void blocks_bodies(void *self, ds_scene_kit *s)
{
    const blocks *b = self;
    const double half[4] = {0.5, 0.25, 0.25, 0}, *start = b->loop.roll.start;
    s->info.flat = 1;
    ds_scene_kit_body(s, "pusher", DS_BODY_BOX, DS_ROLE_TOOL, 1, half);
    ds_scene_kit_body(s, "pushed", DS_BODY_BOX, DS_ROLE_MATERIAL, 1, half);
    ds_scene_kit_body(s, "goal", DS_BODY_BOX, DS_ROLE_TARGET, 1, half);
    ds_scene_kit_include(s, start[BLOCKS_X1], 0.25, 0, 0.6);
    ds_scene_kit_include(s, start[BLOCKS_X2], 0.25, 0, 0.6);
    ds_scene_kit_include(s, b->loop.roll.goal[BLOCKS_X2], 0.25, 0, 0.6);
    s->info.ground = 0;
}

void blocks_place(const void *self, uint64_t k, uint64_t b, double *out)
{
    const blocks *e = self;
    const double *x = b == GOAL ? e->loop.roll.goal : open_loop_state(&e->loop, k);
    ds_scene_kit_pose(x[b == PUSHER ? BLOCKS_X1 : BLOCKS_X2], 0.25, 0, 0, out);
}

void blocks_measure(void *self, uint64_t k, double *out)
{
    blocks *e = self;
    const double *x = open_loop_state(&e->loop, k);
    ds_scene_kit_include(&e->loop.kit.scene, x[BLOCKS_X1], 0.25, 0, 0.6);
    ds_scene_kit_include(&e->loop.kit.scene, x[BLOCKS_X2], 0.25, 0, 0.6);
    out[0] = x[BLOCKS_X1];
    out[1] = x[BLOCKS_X2];
    out[2] = blocks_gap(x);
    out[3] = e->k * softness_ramp(&e->soft, -out[2]);
    out[4] = open_loop_control(&e->loop, k, 0);
    out[5] = rollout_cost(&e->loop.roll, k);
}
