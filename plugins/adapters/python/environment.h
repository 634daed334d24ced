/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h - an instance of an environment in Python, and the extensions that have a file of
 * their own. */
#ifndef DS_ADAPTERS_PYTHON_ENVIRONMENT_H
#define DS_ADAPTERS_PYTHON_ENVIRONMENT_H

#include <diffsim/helper/eval.h>

#include "adapters/python/child.h"
#include "adapters/python/picture.h"

typedef struct python_env {
    child child;
    const ds_host *host;
    ds_env_info info;
    uint32_t has_scene;
    uint64_t residuals;  /* 0 = none */
    uint32_t can;        /* be asked about them */
    uint32_t batches;    /* TALK_BATCH_* */
    int batch_failed;    /* reported once */
    ds_steps_info steps; /* horizon 0 = no stepwise control */
    int open;            /* an episode is */
    double *box;         /* lower, upper, x0 */
    json_t *variables;   /* [name, unit, group] of each; NULL = they have none */
    picture picture;
} python_env;

/* Stepwise control, for instances with steps.horizon > 0. */
extern const ds_env_steps python_env_steps;

/* Can these rows go into one call of Python? */
int python_env_takes(const python_env *p, const ds_rows *rows);

/* Evaluates them. */
ds_status python_env_batch(python_env *p, const ds_rows *rows, const ds_results *results);

/* Evaluates one row. */
ds_status python_env_evaluate(void *self, ds_eval *io);

#endif
