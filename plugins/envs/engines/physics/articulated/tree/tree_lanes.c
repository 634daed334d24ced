/* SPDX-License-Identifier: Apache-2.0 */
/* tree_lanes.c - contact of robots side by side (tree_lanes.h): vectors find which solids may touch, the rest
 * is done lane by lane (tree_lane.h). */
#include "engines/physics/articulated/tree/tree_lanes.h"

#include "engines/physics/articulated/tree/tree_lane.h"

int tree_lanes_create(ds_memory *m, const tree *t, tree_work *w)
{
    w->number = real_memory(m, (size_t)t->numbers + 1);
    w->lane = tree_lane_create(m, t, VECTOR_LANES);
    w->near = ds_memory_take(m, VECTOR_LANES * ((size_t)t->contacts + 1), sizeof *w->near);
    return !m->failed;
}

void tree_lanes_contact(const tree *t, tree_work *w)
{
    int count[VECTOR_LANES] = {0};
    tree_middles(t, w);
    for (int k = 0; k < t->contacts; k += t->contact[k].group) {
        const vec_bits near = tree_near(t, w, t->contact[k].first, t->contact[k].second);
        if (!vec_any(near)) {
            continue;
        }
        for (int lane = 0; lane < VECTOR_LANES; lane++) {
            if (near[lane]) {
                w->near[lane * t->contacts + count[lane]++] = k;
            }
        }
    }
    for (int lane = 0; lane < VECTOR_LANES; lane++) {
        tree_lane_forces(w->lane, lane, (const double *)w->ref + lane, (double *)w->limb + lane,
                         w->near + lane * t->contacts, count[lane]);
    }
}

void tree_lanes_contact_bar(tree_work *w, real *number_bar)
{
    for (int lane = 0; lane < VECTOR_LANES; lane++) {
        tree_lane_forces_bar(w->lane, lane, (double *)w->limb + lane,
                             number_bar != NULL ? (double *)number_bar + lane : NULL);
    }
}
