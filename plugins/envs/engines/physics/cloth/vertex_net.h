/* SPDX-License-Identifier: Apache-2.0 */
/* vertex_net.h - networks that act on every vertex of a cloth: a force from its velocity and height (hook
 * points "velocity", "height" and "force"; diffsim/helper/hybrid.h). */
#ifndef DS_ENGINES_CLOTH_VERTEX_NET_H
#define DS_ENGINES_CLOTH_VERTEX_NET_H

#include "cloth.h"

#include <diffsim/helper/env_kit.h>

typedef struct vertex_net {
    const ds_hybrid *hybrid;
    const cloth *c;
    const double *w; /* of the present episode; NULL = no forces */
    double *w_bar, *tape;
} vertex_net;

/* Lists the hook points; `where` says above what a height counts. */
uint64_t vertex_net_hooks(ds_hook *out, const char *where);

/* Needs hybrid->tape numbers of `room`. */
void vertex_net_open(vertex_net *net, ds_memory *room, const ds_hybrid *hybrid, const cloth *c);

/* As force and force_bar of cloth_driver. */
void vertex_net_force(const vertex_net *net, const double *x, const double *v, double *f);
void vertex_net_force_bar(vertex_net *net, const double *x, const double *v, const double *f_bar,
                          double *x_bar, double *v_bar);

#endif
