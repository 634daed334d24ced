/* SPDX-License-Identifier: Apache-2.0 */
/* soft_internal.h - shared by the files of the environments of deformable bodies: states, and episodes. */
#ifndef DS_ENGINES_SOFT_INTERNAL_H
#define DS_ENGINES_SOFT_INTERNAL_H

#include "engines/physics/soft/soft.h"

enum { SOFT_NOT_COMPARED = -1 };

/* How many states are compared; which of them state k is; whether it is a frame of the scene. */
uint64_t soft_compared(const soft *s);
int64_t soft_compared_at(const soft *s, uint64_t k);
int soft_is_shown(const soft *s, uint64_t k);

/* Sets the driver of episodes, but for the number of states. */
void soft_drive(soft *s);

/* The episode of the model as it is; *bad as in fem_episode_run(). */
ds_status soft_run(soft *s, int keep, int64_t *bad);

/* The functions of the watcher. */
ds_status soft_forward(void *self, ds_eval *io, const double *v, double *out);
ds_status soft_reverse(void *self, ds_eval *io, const double *w, double *x_bar);

#endif
