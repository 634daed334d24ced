/* SPDX-License-Identifier: Apache-2.0 */
/* stability.h - how long a step a model allows before it explodes. */
#ifndef DS_ENGINES_FEM_STABILITY_H
#define DS_ENGINES_FEM_STABILITY_H

#include "engines/physics/fem/model.h"

#include <diffsim/host.h>

typedef struct fem_limit {
    double load;   /* of dt: above 1 the stiffest motion grows from step to step; NaN: no memory */
    double dt;     /* s, about the longest step that does not */
    double ground; /* as load, for the lightest particle alone on the ground */
} fem_limit;

/* Small motions about the start positions, without drag and lift, from below: no warning is false. With k and
 * c stiffness and damping of a mode per mass, a step is stable where dt^2 k + 2 dt c < 4. */
fem_limit fem_step_limit(const fem_model *m, double dt);

/* Says through host where the limit is passed; `cure` ends the line. DS_E_NOMEM, or DS_OK. */
ds_status fem_warn_of_step(const fem_model *m, double dt, const ds_host *host, const char *cure);

#endif
