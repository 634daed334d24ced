/* SPDX-License-Identifier: Apache-2.0 */
/* A network in the yield stress of the plasticine, see yield.h. */
#include "yield.h"

#include <diffsim/helper/env_kit.h>
#include <string.h>

enum { INPUTS = 2 };

uint64_t mpm_net_hooks(ds_hook *out)
{
    uint64_t k = 0;
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 1, "volume", "",
                    "Of a particle, 1 at the start: det F of the trial state of a substep, before it "
                    "flows.");
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 1, "shear", "",
                    "Of a particle in that state: norm of the deviator of the logarithmic strain.");
    ds_env_kit_hook(
        out, &k, DS_HOOK_OUTPUT, 1, "yield_stress", "Pa",
        "Of a particle in a substep: begins as that of the task (50 to 200 Pa); below 0 it counts as 0. "
        "The built-in targets are made without it.");
    return k;
}

/* The yield stress of one particle, and how it came about in `tape`. */
static double stress_of(const mpm_net *net, double volume, double shear, double *tape)
{
    const double in[INPUTS] = {volume, shear};
    double stress = net->stress;
    ds_hybrid_forward(net->hybrid, net->weights, in, &stress, tape);
    return stress;
}

static double *tape_of(const mpm_net *net, uint32_t part)
{
    return net->tape + part * (net->hybrid->tape + 1);
}

static void strain(void *self, uint32_t part, size_t count, const double *volume, const double *shear,
                   double *out)
{
    const mpm_net *net = self;
    for (size_t i = 0; i < count; i++) {
        double stress = stress_of(net, volume[i], shear[i], tape_of(net, part));
        out[i] = stress > 0.0 ? stress / (2.0 * net->mu) : 0.0;
    }
}

static void strain_adjoint(void *self, uint32_t part, size_t count, const double *volume, const double *shear,
                           const double *strain_bar, double *volume_bar, double *shear_bar)
{
    const mpm_net *net = self;
    double *tape = tape_of(net, part), *w_bar = net->w_bar + part * net->hybrid->variables;
    for (size_t i = 0; i < count; i++) {
        double in_bar[INPUTS] = {0.0, 0.0};
        /* most particles do not flow in most substeps */
        if ((strain_bar[i] > 0.0 || strain_bar[i] < 0.0) && stress_of(net, volume[i], shear[i], tape) > 0.0) {
            double stress_bar = strain_bar[i] / (2.0 * net->mu);
            ds_hybrid_reverse(net->hybrid, net->weights, tape, &stress_bar, w_bar, in_bar);
        }
        volume_bar[i] = in_bar[0];
        shear_bar[i] = in_bar[1];
    }
}

bool mpm_net_open(mpm_net *net, const ds_hybrid *hybrid, double stress, double mu, ds_memory *room)
{
    net->yield = (mpm_yield){.self = net, .strain = strain, .adjoint = strain_adjoint};
    net->hybrid = hybrid;
    net->stress = stress;
    net->mu = mu;
    net->tape = ds_memory_doubles(room, MPM_PARTS * (hybrid->tape + 1));
    net->w_bar = ds_memory_doubles(room, MPM_PARTS * hybrid->variables);
    return net->tape && net->w_bar;
}

void mpm_net_begin(mpm_net *net, const double *weights)
{
    net->weights = weights;
    memset(net->w_bar, 0, MPM_PARTS * net->hybrid->variables * sizeof *net->w_bar);
}

void mpm_net_gradient(const mpm_net *net, double *grad)
{
    const uint64_t n = net->hybrid->variables;
    for (uint64_t i = 0; i < MPM_PARTS * n; i++) {
        grad[i % n] += net->w_bar[i];
    }
}
