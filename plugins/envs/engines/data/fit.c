/* SPDX-License-Identifier: Apache-2.0 */
/* fit.c - how far a simulated motion is from a recorded one (see fit.h). */
#include "fit.h"

#include <math.h>

int fit_open(fit *f, ds_memory *m, uint64_t rows, uint64_t quantities)
{
    *f = (fit){.rows = rows, .fitted = rows, .quantities = quantities};
    ds_memory_each(m, rows * quantities, (double **const[]){&f->target, &f->weight, NULL});
    for (uint64_t i = 0; !m->failed && i < rows * quantities; i++) {
        f->weight[i] = 1;
    }
    return !m->failed;
}

void fit_fade(fit *f, double dt, double a, double b)
{
    for (uint64_t i = 0; i < f->rows; i++) {
        const double share = i > 0 ? pow(a * (double)i * dt, -b / 2) : 0;
        for (uint64_t q = 0; q < f->quantities; q++) {
            f->weight[i * f->quantities + q] *= share;
        }
    }
}

double fit_error(const fit *f, uint64_t row, uint64_t quantity, double got)
{
    const double turn = 6.283185307179586476925, target = f->target[row * f->quantities + quantity];
    if (isnan(target)) {
        return 0;
    }
    const double error = got - target; /* one of less than half a turn is its own remainder */
    return (f->angles >> quantity & 1) != 0 && !(fabs(error) < 3.14) ? remainder(error, turn) : error;
}

double fit_residuals(const fit *f, const double *got, double *r)
{
    double sum = 0;
    for (uint64_t i = 0, k = 0; i < f->fitted; i++) {
        for (uint64_t q = 0; q < f->quantities; q++, k++) {
            const double residual = f->weight[k] * fit_error(f, i, q, got[k]);
            sum += residual * residual;
            if (r != NULL) {
                r[k] = residual;
            }
        }
    }
    return sum;
}

double fit_rms(const fit *f, const double *got, uint64_t from, uint64_t to)
{
    double sum = 0, count = 0;
    for (uint64_t k = from * f->quantities; k < to * f->quantities; k++) {
        const double error = fit_error(f, k / f->quantities, k % f->quantities, got[k]);
        sum += error * error;
        count += !isnan(f->target[k]);
    }
    return count > 0 ? sqrt(sum / count) : (double)NAN;
}
