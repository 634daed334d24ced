/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_scale.c - how losses of a slice are mapped to colours, in pictures and pages alike. */
#include "config.h"

#include <math.h>

#include "landscape/landscape_internal.h"
#include "plot/plot_scale.h"

int ds_landscape_loss_scale(const ds_landscape *l, double *high)
{
    const ds_spread *v = &l->measures.loss.loss;
    *high = NAN;
    /* Values over more than two decades need a logarithm. */
    if (v->min > 0 && v->max > 100 * v->min && v->median < 0.15 * v->max) {
        return DS_SCALE_LOG;
    }
    /* A few exploded losses would leave one colour for all the others. */
    if (v->max - v->q90 > 20 * (v->q90 - v->min) && v->q90 > v->min) {
        *high = v->q90 + (v->q90 - v->min);
    }
    return DS_SCALE_LINEAR;
}
