/* SPDX-License-Identifier: Apache-2.0 */
/* node_net.c - forces of networks on the nodes of deformable bodies (see node_net.h). */
#include "engines/physics/soft/node_net.h"

#include "engines/physics/fem/pack.h"

enum { INPUTS = 4, HEIGHT = 1 }; /* the velocity, then the height, coordinate 1 of a place */

uint64_t node_net_hooks(ds_hook *out)
{
    uint64_t k = 0;
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 3, "velocity", "m/s", "Of the node (y is up).");
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 1, "height", "m", "y of the node.");
    ds_env_kit_hook(out, &k, DS_HOOK_OUTPUT, 3, "force", "N",
                    "On each free node at each step, besides the others; the target has none.");
    return k;
}

void node_net_open(node_net *net, ds_memory *room, const ds_hybrid *hybrid, const fem_model *model)
{
    *net = (node_net){.hybrid = hybrid, .model = model, .tape = ds_memory_doubles(room, hybrid->tape + 1)};
}

/* Inputs of node i, or their change. */
static void inputs_of(const double *state, size_t i, double in[INPUTS])
{
    const double *q = state + FEM_WIDTH * i;
    in[0] = q[4];
    in[1] = q[5];
    in[2] = q[6];
    in[3] = q[HEIGHT];
}

/* Force of the networks on node i; writes net->tape. */
static void of_node(const node_net *net, const double *state, size_t i, double force[3])
{
    double in[INPUTS];
    inputs_of(state, i, in);
    force[0] = force[1] = force[2] = 0;
    ds_hybrid_forward(net->hybrid, net->w, in, force, net->tape);
}

void node_net_add(const node_net *net, const double *state, double *force)
{
    for (size_t i = 0; net->w != NULL && i < net->model->particles; i++) {
        double of[3];
        if (net->model->fixed[i]) {
            continue;
        }
        of_node(net, state, i, of);
        for (size_t k = 0; k < 3; k++) {
            force[4 * i + k] += of[k];
        }
    }
}

void node_net_bar(const node_net *net, const double *state, const double *force_bar, double *state_bar)
{
    for (size_t i = 0; net->w != NULL && i < net->model->particles; i++) {
        const double *from = force_bar + 4 * i;
        double of[3], bar[3] = {from[0], from[1], from[2]}, in_bar[INPUTS] = {0};
        if (net->model->fixed[i]) {
            continue;
        }
        of_node(net, state, i, of);
        ds_hybrid_reverse(net->hybrid, net->w, net->tape, bar, net->w_bar, in_bar);
        for (size_t k = 0; k < 3; k++) {
            state_bar[FEM_WIDTH * i + 4 + k] += in_bar[k];
        }
        state_bar[FEM_WIDTH * i + HEIGHT] += in_bar[3];
    }
}

void node_net_dot(const node_net *net, const double *state, const double *state_dot, double *force_dot)
{
    for (size_t i = 0; net->w != NULL && i < net->model->particles; i++) {
        double of[3], in_dot[INPUTS], dot[3] = {0, 0, 0};
        if (net->model->fixed[i]) {
            continue;
        }
        of_node(net, state, i, of);
        inputs_of(state_dot, i, in_dot);
        ds_hybrid_tangent(net->hybrid, net->w, net->tape, net->w_dot, in_dot, dot);
        for (size_t k = 0; k < 3; k++) {
            force_dot[4 * i + k] += dot[k];
        }
    }
}
