/* SPDX-License-Identifier: Apache-2.0 */
/* sizes.h - how the particles of a body follow its sizes. Drawn once in a body of the sizes at the start,
 * they are mapped to other sizes so that they stay spread evenly: each stands for volume / count. */
#ifndef MPM_SIZES_H
#define MPM_SIZES_H

#include "engines/physics/mpm/sim/scene.h"

/* All shapes but lattices have sizes: those of mpm_body.size; points one, a factor of their coordinates. */
void mpm_sizes_start(const mpm_body *body, double size[3]);

/* The volume, up to a factor that depends on the shape alone, and its derivatives by the sizes. */
double mpm_sizes_volume(uint32_t shape, const double size[3], double slope[3]);

/* From a position in a body of the sizes at the start, relative to its frame, to what no size changes. */
void mpm_sizes_sample(const mpm_body *body, const double local[3], double sample[3]);

/* The position in a body of these sizes, and if slope is not NULL its derivatives by each of them. */
void mpm_sizes_place(uint32_t shape, const double size[3], const double sample[3], double local[3],
                     double slope[3][3]);

#endif
