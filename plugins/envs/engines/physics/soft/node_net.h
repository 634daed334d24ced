/* SPDX-License-Identifier: Apache-2.0 */
/* node_net.h - networks that act on every free node of deformable bodies: a force from its velocity and
 * height (hook points "velocity", "height" and "force"; diffsim/helper/hybrid.h). */
#ifndef DS_ENGINES_SOFT_NODE_NET_H
#define DS_ENGINES_SOFT_NODE_NET_H

#include "engines/physics/fem/episode.h"

#include <diffsim/helper/env_kit.h>

typedef struct node_net {
    const ds_hybrid *hybrid;
    const fem_model *model;
    const double *w;     /* of the present episode; NULL = no forces */
    const double *w_dot; /* their change, for a tangent; NULL = none */
    double *w_bar, *tape;
} node_net;

uint64_t node_net_hooks(ds_hook *out);
/* Needs hybrid->tape numbers of `room`. */
void node_net_open(node_net *net, ds_memory *room, const ds_hybrid *hybrid, const fem_model *model);

/* As the functions of fem_field. */
void node_net_add(const node_net *net, const double *state, double *force);
void node_net_bar(const node_net *net, const double *state, const double *force_bar, double *state_bar);
void node_net_dot(const node_net *net, const double *state, const double *state_dot, double *force_dot);

#endif
