/* SPDX-License-Identifier: Apache-2.0 */
/* recorded.c - reads the recording that parameters describe, and compares a motion with it. */
#include "engines/data/recorded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median time step; 0 without memory. */
static double spacing(const recording *d)
{
    double *step = malloc(d->rows * sizeof *step), middle = 0;
    for (uint64_t i = 0; step != NULL && i + 1 < d->rows; i++) {
        step[i] = d->time[i + 1] - d->time[i];
    }
    if (step != NULL) {
        qsort(step, d->rows - 1, sizeof *step, ascending);
        middle = step[(d->rows - 1) / 2];
    }
    free(step);
    return middle;
}

/* Moves rows to their times, with gaps between them, up to `wanted` rows. */
static ds_status spread(recorded *r, const ds_host *host, uint64_t wanted, const char *path)
{
    recording *d = &r->data;
    uint64_t last = 0;
    r->dt = d->rows > 1 ? spacing(d) : 0;
    if (!(r->dt > 0)) {
        return ds_host_fail(host, DS_E_DATA, "%.200s: at least two rows are needed to find the time step",
                            path);
    }
    double *value = malloc(wanted * d->columns * sizeof *value);
    if (value == NULL) {
        return DS_E_NOMEM;
    }
    for (uint64_t i = 0; i < wanted * d->columns; i++) {
        value[i] = NAN;
    }
    for (uint64_t i = 0; i < d->rows; i++) {
        const double at = (d->time[i] - d->time[0]) / r->dt, near = floor(at + 0.5);
        if (!(fabs(at - near) <= 0.1) || (i > 0 && near <= (double)last)) {
            free(value);
            return ds_host_fail(host, DS_E_DATA,
                                "%.200s: time %g is not a whole number of steps of %g s after the first row: "
                                "resample the recording at equal distances",
                                path, d->time[i], r->dt);
        }
        if (near >= (double)wanted) {
            break;
        }
        last = (uint64_t)near;
        memcpy(value + last * d->columns, d->value + i * d->columns, d->columns * sizeof *value);
    }
    free(d->value);
    d->value = value;
    d->rows = last + 1;
    return DS_OK;
}

static ds_status scale(recorded *r, ds_param_reader *in, const char *path, uint64_t first)
{
    double by[RECORDING_COLUMNS];
    recording *d = &r->data;
    const int gaps = ds_param_int(in, "gaps") != 0;
    ds_param_values(in, "column_scale", d->columns, by);
    for (uint64_t k = 0; in->status == DS_OK && k < d->rows * d->columns; k++) {
        if (isnan(d->value[k]) && !gaps) {
            in->status = ds_host_fail(in->host, DS_E_DATA,
                                      "%.200s: row %llu has no value in requested column %llu: set parameter "
                                      "gaps = true, or choose other rows",
                                      path, (unsigned long long)(first + k / d->columns + 1),
                                      (unsigned long long)(k % d->columns + 1));
        }
        d->value[k] *= by[k % d->columns];
    }
    return in->status;
}

static ds_status load(recorded *r, ds_param_reader *in, const char *path, uint64_t wanted)
{
    char error[RECORDING_ERROR];
    const recording_request q = {.columns = ds_param_text(in, "columns"),
                                 .time = ds_param_text(in, "time_column"),
                                 .first = (uint64_t)ds_param_int(in, "first_row"),
                                 .rows = wanted};
    const int failed = in->status == DS_OK ? recording_read(&r->data, &q, path, error) : 0;
    if (failed == RECORDING_NO_MEMORY) {
        return DS_E_NOMEM;
    }
    if (failed) {
        return ds_host_fail(in->host, failed == RECORDING_UNREADABLE ? DS_E_IO : DS_E_DATA,
                            "parameter file: %.200s: %.280s", path, error);
    }
    ds_status status = in->status;
    if (status == DS_OK && r->data.time != NULL) {
        status = spread(r, in->host, wanted, path);
    }
    if (status == DS_OK && r->data.rows < wanted) {
        return ds_host_fail(in->host, DS_E_DATA,
                            "parameter file: %.200s has %llu samples from row %llu on, but n_samples + "
                            "held_out = %llu: request fewer",
                            path, (unsigned long long)r->data.rows, (unsigned long long)q.first,
                            (unsigned long long)wanted);
    }
    return status == DS_OK ? scale(r, in, path, q.first) : status;
}

ds_status recorded_open(recorded *r, ds_param_reader *in, double rate, uint64_t n_samples, uint64_t held_out)
{
    const char *path = ds_param_text(in, "file");
    *r = (recorded){.dt = 1 / rate};
    if (in->status == DS_OK && *path == '\0') {
        in->status = ds_host_fail(in->host, DS_E_PARAM, "parameter file is empty: name the recording");
    }
    in->status = in->status == DS_OK ? load(r, in, path, n_samples + held_out) : in->status;
    if (in->status != DS_OK) {
        recorded_close(r);
    }
    return in->status;
}

void recorded_close(recorded *r)
{
    recording_free(&r->data);
}

/* ---- residuals ---- */

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
    const double error = got - target; /* an angle error below half a turn is its own remainder */
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
