/* SPDX-License-Identifier: Apache-2.0 */
/* proximity.c - how near two bodies came, see proximity.h. */
#include "proximity.h"

#include <math.h>

const char *const proximity_kinds[] = {"hard", "soft", NULL};

void proximity_read(proximity *p, ds_param_reader *in)
{
    p->weight = ds_param_real(in, "contact_loss");
    p->kind = ds_param_int(in, "proximity");
    p->scale = ds_param_real(in, "proximity_scale");
}

static double weight_of(const proximity *p, double gap)
{
    return 1 / (1 + (gap / p->scale) * (gap / p->scale));
}

void proximity_add(const proximity *p, proximity_seen *seen, double gap)
{
    const double g = fmax(gap, 0), weight = weight_of(p, g);
    if (seen->gaps == 0 || g <= seen->least) {
        seen->least = g;
        seen->nearest = seen->gaps;
    }
    seen->weights += weight;
    seen->sum += weight * g;
    seen->gaps++;
}

double proximity_distance(const proximity *p, const proximity_seen *seen)
{
    if (seen->gaps == 0) {
        return 0;
    }
    return p->kind == PROXIMITY_HARD ? seen->least : seen->sum / seen->weights;
}

double proximity_slope(const proximity *p, const proximity_seen *seen, uint64_t i, double gap)
{
    if (!(gap > 0)) {
        return 0;
    }
    if (p->kind == PROXIMITY_HARD) {
        return i == seen->nearest;
    }
    const double weight = weight_of(p, gap), fall = -2 * gap / p->scale / p->scale * weight * weight;
    return (weight + (gap - seen->sum / seen->weights) * fall) / seen->weights;
}
