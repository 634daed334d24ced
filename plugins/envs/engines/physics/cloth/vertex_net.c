/* SPDX-License-Identifier: Apache-2.0 */
/* vertex_net.c - forces of networks on the vertices of a cloth, and their adjoint. */
#include "vertex_net.h"

enum { INPUTS = 4 };

uint64_t vertex_net_hooks(ds_hook *out, const char *where)
{
    uint64_t k = 0;
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 3, "velocity", "m/s", "Of the vertex (y is up).");
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 1, "height", "m", where);
    ds_env_kit_hook(out, &k, DS_HOOK_OUTPUT, 3, "force", "N",
                    "On each vertex at each step, besides springs, drag and gravity; the target has none.");
    return k;
}

void vertex_net_open(vertex_net *net, ds_memory *room, const ds_hybrid *hybrid, const cloth *c)
{
    *net = (vertex_net){.hybrid = hybrid, .c = c, .tape = ds_memory_doubles(room, hybrid->tape + 1)};
}

/* Force of the networks on vertex j; writes net->tape. */
static void of_vertex(const vertex_net *net, size_t j, const double *x, const double *v, double force[3])
{
    const size_t n = net->c->mesh.stride;
    const double in[INPUTS] = {v[j], v[n + j], v[2 * n + j], x[n + j] - net->c->floor.height};
    force[0] = force[1] = force[2] = 0;
    ds_hybrid_forward(net->hybrid, net->w, in, force, net->tape);
}

void vertex_net_force(const vertex_net *net, const double *x, const double *v, double *f)
{
    const size_t n = net->c->mesh.stride;
    for (size_t j = 0; net->w && j < net->c->mesh.vertices; j++) {
        double force[3];
        if (!net->c->mesh.present[j]) {
            continue;
        }
        of_vertex(net, j, x, v, force);
        for (size_t i = 0; i < 3; i++) {
            f[i * n + j] += force[i];
        }
    }
}

void vertex_net_force_bar(vertex_net *net, const double *x, const double *v, const double *f_bar,
                          double *x_bar, double *v_bar)
{
    const size_t n = net->c->mesh.stride;
    for (size_t j = 0; j < net->c->mesh.vertices; j++) {
        double force[3], bar[3] = {f_bar[j], f_bar[n + j], f_bar[2 * n + j]}, in_bar[INPUTS] = {0};
        if (!net->c->mesh.present[j]) {
            continue;
        }
        of_vertex(net, j, x, v, force);
        ds_hybrid_reverse(net->hybrid, net->w, net->tape, bar, net->w_bar, in_bar);
        for (size_t i = 0; i < 3; i++) {
            v_bar[i * n + j] += in_bar[i];
        }
        x_bar[n + j] += in_bar[3];
    }
}
