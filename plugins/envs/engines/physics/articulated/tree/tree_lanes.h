/* SPDX-License-Identifier: Apache-2.0 */
/* tree_lanes.h - contact of robots side by side, for the kernels of real.h. */
#ifndef DS_ENGINES_ARTICULATED_TREE_LANES_H
#define DS_ENGINES_ARTICULATED_TREE_LANES_H

#include "engines/physics/articulated/tree/tree_state.h"

/* Makes room in w; 0 without memory. */
int tree_lanes_create(ds_memory *m, const tree *t, tree_work *w);
/* Adds the forces of compliant contact to the links. */
void tree_lanes_contact(const tree *t, tree_work *w);
/* Adds their derivatives, as tree_compliant_bar() and tree_distant_bar(). */
void tree_lanes_contact_bar(tree_work *w, real *number_bar);

#endif
