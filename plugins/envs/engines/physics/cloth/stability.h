/* SPDX-License-Identifier: Apache-2.0 */
/* stability.h - how long a step the springs allow before an episode explodes. */
#ifndef DS_ENGINES_CLOTH_STABILITY_H
#define DS_ENGINES_CLOTH_STABILITY_H

#include "cloth.h"

typedef struct cloth_limit {
    double load; /* above 1 every motion of the stiffest kind grows from step to step; NaN: no memory */
    double h;    /* s, about the longest step that does not */
} cloth_limit;

/* Small motions about the positions x (as those of cloth_start()), where all springs are at rest. With k and
 * c the stiffness and damping in a mode of the springs, per mass, the step of cloth.h is stable if
 *     h^2 k + 2 h c < 2 (1 + exp(-drag h)),
 * and explodes in the stiffest mode otherwise. */
cloth_limit cloth_step_limit(const cloth *c, const double *x);

/* Warns through c->host where the limit is passed. `where` says at which variables, or is "". DS_E_NOMEM, or
 * DS_OK. */
ds_status cloth_warn_of_step(const cloth *c, const double *x, const char *where, const char *cure);

#endif
