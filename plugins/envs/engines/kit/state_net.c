/* SPDX-License-Identifier: Apache-2.0 */
/* state_net.c - networks that act on a small system before each step (see state_net.h). */
#include "state_net.h"

#include <diffsim/helper/env_kit.h>
#include <string.h>

uint64_t state_net_hooks(ds_hook *out, uint64_t states, uint64_t controls, uint64_t forces, const char *unit,
                         const char *doc)
{
    uint64_t k = 0;
    if (states > STATE_NET_NUMBERS || controls > STATE_NET_NUMBERS) {
        return 0;
    }
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, states, "state", "", doc);
    if (controls > 0) {
        ds_env_kit_hook(out, &k, DS_HOOK_INPUT, controls, "control", unit,
                        "Of the step, as the cost counts it.");
        ds_env_kit_hook(out, &k, DS_HOOK_OUTPUT, controls, "actuation", unit,
                        "What acts on the system: begins as control.");
    }
    if (forces > 0) {
        ds_env_kit_hook(out, &k, DS_HOOK_OUTPUT, forces, "force", "N",
                        "Further force along each velocity of the state, in order; begins at 0.");
    }
    return k;
}

void state_net_open(state_net *n, ds_memory *m, const ds_hybrid *h)
{
    const size_t in = n->states + n->controls, out = n->controls + n->forces;
    if (h->nets == 0) {
        return;
    }
    n->hybrid = h;
    ds_memory_each(m, in, (double **const[]){&n->in, &n->in_bar, NULL});
    ds_memory_each(m, out, (double **const[]){&n->out, &n->bar, NULL});
    ds_memory_each(m, n->states, (double **const[]){&n->x, &n->x_bar, NULL});
    n->u_bar = ds_memory_doubles(m, n->controls + 1); /* never NULL */
    n->tape = ds_memory_doubles(m, h->tape);
}

void state_net_act(const state_net *n, const double **x, const double **u)
{
    memcpy(n->in, *x, n->states * sizeof *n->in);
    memcpy(n->in + n->states, *u, n->controls * sizeof *n->in);
    memcpy(n->out, *u, n->controls * sizeof *n->out);
    memset(n->out + n->controls, 0, n->forces * sizeof *n->out);
    ds_hybrid_forward(n->hybrid, n->w, n->in, n->out, n->tape);
    memcpy(n->x, *x, n->states * sizeof *n->x);
    for (uint64_t k = 0; k < n->forces; k++) {
        n->x[n->pushed[k]] += n->kick * n->out[n->controls + k];
    }
    memset(n->x_bar, 0, n->states * sizeof *n->x_bar);
    memset(n->u_bar, 0, n->controls * sizeof *n->u_bar);
    *x = n->x;
    *u = n->out;
}

void state_net_back(const state_net *n, double *x_bar, double *u_bar)
{
    memcpy(n->bar, n->u_bar, n->controls * sizeof *n->bar);
    for (uint64_t k = 0; k < n->forces; k++) {
        n->bar[n->controls + k] = n->kick * n->x_bar[n->pushed[k]];
    }
    memset(n->in_bar, 0, (n->states + n->controls) * sizeof *n->in_bar);
    ds_hybrid_reverse(n->hybrid, n->w, n->tape, n->bar, n->w_bar, n->in_bar);
    for (uint64_t i = 0; i < n->states; i++) {
        x_bar[i] += n->x_bar[i] + n->in_bar[i];
    }
    for (uint64_t i = 0; i < n->controls; i++) {
        u_bar[i] += n->bar[i] + n->in_bar[n->states + i];
    }
}

void state_net_tangent(const state_net *n, const double *w_dot, double *x_dot, double *u_dot)
{
    memcpy(n->in_bar, x_dot, n->states * sizeof *n->in_bar);
    memcpy(n->in_bar + n->states, u_dot, n->controls * sizeof *n->in_bar);
    memcpy(n->bar, u_dot, n->controls * sizeof *n->bar);
    memset(n->bar + n->controls, 0, n->forces * sizeof *n->bar);
    ds_hybrid_tangent(n->hybrid, n->w, n->tape, w_dot, n->in_bar, n->bar);
    memcpy(u_dot, n->bar, n->controls * sizeof *n->bar);
    for (uint64_t k = 0; k < n->forces; k++) {
        x_dot[n->pushed[k]] += n->kick * n->bar[n->controls + k];
    }
}

const double *state_net_push(const state_net *n, const double *x)
{
    const double none = 0, *u = &none;
    if (n->hybrid != NULL) {
        state_net_act(n, &x, &u);
    }
    return x;
}

void state_net_push_dot(const state_net *n, const double *w_dot, double *x_dot)
{
    double none = 0;
    if (n->hybrid != NULL) {
        state_net_tangent(n, w_dot, x_dot, &none);
    }
}
