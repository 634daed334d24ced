/* SPDX-License-Identifier: Apache-2.0 */
/* wrench_net.c - networks that add a force and a torque to a rigid body (see wrench_net.h). */
#include "wrench_net.h"

#include <string.h>

uint64_t wrench_hooks(ds_hook *out, const char *const inputs[3][3], const char *force_begins)
{
    uint64_t k = 0;
    for (; k < 3; k++) {
        out[k] = (ds_hook)DS_HYBRID_HOOK(DS_HOOK_INPUT, 3, inputs[k][0], inputs[k][1], inputs[k][2]);
    }
    out[k++] = (ds_hook)DS_HYBRID_HOOK(DS_HOOK_OUTPUT, 3, "force", "N", force_begins);
    out[k++] = (ds_hook)DS_HYBRID_HOOK(DS_HOOK_OUTPUT, 3, "torque", "N m",
                                       "About the centre of mass, axes of the world; starts at 0.");
    return k;
}

void wrench_open(wrench_net *n, ds_memory *m, const ds_hybrid *h)
{
    *n = (wrench_net){.hybrid = h->nets > 0 ? h : NULL};
    n->tape = h->nets > 0 ? ds_memory_doubles(m, h->tape) : NULL;
}

static void forward(const wrench_net *n, const double *in, const double *force, const double *torque,
                    double *out)
{
    memcpy(out, force, 3 * sizeof *out);
    memcpy(out + 3, torque, 3 * sizeof *out);
    ds_hybrid_forward(n->hybrid, n->w, in, out, n->tape);
}

void wrench_add(const wrench_net *n, const double in[WRENCH_INPUTS], double force[3], double torque[3])
{
    double out[WRENCH_OUTPUTS];
    forward(n, in, force, torque, out);
    memcpy(force, out, 3 * sizeof *force);
    memcpy(torque, out + 3, 3 * sizeof *torque);
}

/* Derivatives do not depend on the initial values of the outputs, which are added to or replaced. */
static void fill_tape(const wrench_net *n, const double *in)
{
    static const double nothing[3];
    double unused[WRENCH_OUTPUTS];
    forward(n, in, nothing, nothing, unused);
}

void wrench_reverse(const wrench_net *n, const double in[WRENCH_INPUTS], double force_bar[3],
                    double torque_bar[3], double in_bar[WRENCH_INPUTS])
{
    double bar[WRENCH_OUTPUTS];
    fill_tape(n, in);
    memcpy(bar, force_bar, 3 * sizeof *bar);
    memcpy(bar + 3, torque_bar, 3 * sizeof *bar);
    ds_hybrid_reverse(n->hybrid, n->w, n->tape, bar, n->w_bar, in_bar);
    memcpy(force_bar, bar, 3 * sizeof *bar);
    memcpy(torque_bar, bar + 3, 3 * sizeof *bar);
}

void wrench_tangent(const wrench_net *n, const double in[WRENCH_INPUTS], const double in_dot[WRENCH_INPUTS],
                    double force_dot[3], double torque_dot[3])
{
    double dot[WRENCH_OUTPUTS];
    fill_tape(n, in);
    memcpy(dot, force_dot, 3 * sizeof *dot);
    memcpy(dot + 3, torque_dot, 3 * sizeof *dot);
    ds_hybrid_tangent(n->hybrid, n->w, n->tape, n->w_dot, in_dot, dot);
    memcpy(force_dot, dot, 3 * sizeof *dot);
    memcpy(torque_dot, dot + 3, 3 * sizeof *dot);
}
