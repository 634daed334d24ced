/* SPDX-License-Identifier: Apache-2.0 */
/* seen.h - what cameras see of a cloth as its loss: film/sight.h for the states of a mesh of masses. States
 * are output steps, whose positions the environment keeps: [steps + 1][3][stride], as cloth.h has them. */
#ifndef DS_ENGINES_CLOTH_SEEN_H
#define DS_ENGINES_CLOTH_SEEN_H

#include "engines/rendering/film/sight.h"

typedef struct cloth_seen {
    sight sight;
    size_t stride;
    const uint32_t *vertex; /* of the points that are seen, in their order; NULL: the first ones */
    ds_status failed;       /* in an adjoint that could not say so */
} cloth_seen;

/* What the cameras see of the points of `subject`, whose start and target are these states. vertex: the
 * environment's, not copied. A failure is said to the host. */
ds_status cloth_seen_open(cloth_seen *c, const film_subject *subject, size_t stride, const uint32_t *vertex,
                          const double *start, const double *target, const ds_host *host);
void cloth_seen_close(cloth_seen *c);

/* The target: the compared ones of these states; or one state for all. Then, where one is given, a
 * PNG file. */
ds_status cloth_seen_target(cloth_seen *c, const double *states);
ds_status cloth_seen_target_all(cloth_seen *c, const double *state);

/* *loss: what the compared ones of the states up to output step `last` have in it. */
ds_status cloth_seen_loss(cloth_seen *c, const double *states, uint64_t last, double *loss);
/* *loss: that of a state, as if it were the first that is compared. */
ds_status cloth_seen_state(cloth_seen *c, const double *state, double *loss);
/* x_bar[3][stride] += the derivatives of the loss by output step `step`, where it is compared. */
void cloth_seen_bar(cloth_seen *c, uint64_t step, const double *states, double *x_bar);
/* `status`, or how an adjoint in between has failed. */
ds_status cloth_seen_status(cloth_seen *c, ds_status status);

#endif
