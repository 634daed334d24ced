/* SPDX-License-Identifier: Apache-2.0 */
/* constraints_base.h - a bowl with 200 smooth constraints. Holes: BAD_SIZE_OF(k) is how large constraint k
 * is, BAD_JACOBIAN(k, i) a factor of its derivative with respect to variable i. */
#include <diffsim/helper/episode.h>

#ifndef BAD_SIZE_OF
#define BAD_SIZE_OF(k) 1
#endif
#ifndef BAD_JACOBIAN
#define BAD_JACOBIAN(k, i) 1
#endif

enum { N = 10, CONSTRAINTS = 200 };

static const ds_channel *const channels[] = {
    DS_CONSTRAINTS("limits", CONSTRAINTS, -INFINITY, 1, "", "Sums of sines."), NULL};

static double loss(const ds_simple_episode *e)
{
    double sum = 0, *jacobian = e->channel[0].jacobian;
    for (int i = 0; i < N; i++) {
        sum += e->x[i] * e->x[i];
        if (e->grad != NULL) {
            e->grad[i] = 2 * e->x[i];
        }
    }
    for (int k = 0; k < CONSTRAINTS; k++) {
        const double size = BAD_SIZE_OF(k);
        double value = 0;
        for (int i = 0; i < N; i++) {
            const double speed = 1 + 0.01 * k + 0.1 * i;
            value += size * sin(speed * e->x[i] + k);
            if (jacobian != NULL) {
                jacobian[N * k + i] = BAD_JACOBIAN(k, i) * size * speed * cos(speed * e->x[i] + k);
            }
        }
        e->channel[0].value[k] = value;
    }
    return sum;
}

DS_SIMPLE_EPISODE(BAD_ID, "A bowl with limits.", NULL, DS_ENV_GRADIENT, N, -1, 1, 0.3, channels, loss)
