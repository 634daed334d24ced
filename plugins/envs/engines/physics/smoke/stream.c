/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c - velocities from the waves of a stream function. */
#include "engines/physics/smoke/stream.h"

#include <math.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;

struct stream {
    size_t n, waves;
    int (*vector)[2];
    double (*along)[2];    /* direction of the velocity of each wave, of length 1 */
    double *cosine, *sine; /* direction of the velocity of each wave, unit length */
};

/* Does a come before b? */
static int shorter(const int a[2], const int b[2])
{
    int la = a[0] * a[0] + a[1] * a[1], lb = b[0] * b[0] + b[1] * b[1];
    return la != lb ? la < lb : a[0] != b[0] ? a[0] < b[0] : a[1] < b[1];
}

/* Inserts a wave vector into the list of the shortest ones, which has `count` so far. */
static size_t insert(int (*list)[2], size_t count, size_t most, const int vector[2])
{
    size_t at = count < most ? count : most;
    for (; at > 0 && shorter(vector, list[at - 1]); at--) {
        if (at < most) {
            list[at][0] = list[at - 1][0];
            list[at][1] = list[at - 1][1];
        }
    }
    if (at < most) {
        list[at][0] = vector[0];
        list[at][1] = vector[1];
    }
    return count < most ? count + 1 : most;
}

/* The curl of a wave of the stream function: perpendicular to its vector, with the sines that central
 * differences give. */
static void set_direction(stream *s, size_t m)
{
    double x = sin(2 * pi * s->vector[m][1] / (double)s->n),
           y = -sin(2 * pi * s->vector[m][0] / (double)s->n);
    double norm = sqrt(x * x + y * y);
    s->along[m][0] = x / norm;
    s->along[m][1] = y / norm;
}

stream *stream_create(ds_memory *m, size_t n, size_t k)
{
    const int most = (int)k;
    size_t count = 0;
    stream *s = ds_memory_take(m, 1, sizeof *s);
    int(*vector)[2] = ds_memory_take(m, k * k, sizeof *vector);
    double(*along)[2] = ds_memory_take(m, k * k, sizeof *along);
    double *cosine = ds_memory_doubles(m, n), *sine = ds_memory_doubles(m, n);
    if (m->failed) {
        return NULL;
    }
    *s = (stream){.n = n, .waves = k * k, .vector = vector, .along = along, .cosine = cosine, .sine = sine};
    for (int a = 0; a <= most; a++) {
        for (int b = -most; b <= most; b++) {
            if (a > 0 || b > 0) {
                count = insert(vector, count, k * k, (const int[2]){a, b});
            }
        }
    }
    for (size_t i = 0; i < s->waves; i++) {
        set_direction(s, i);
    }
    for (size_t i = 0; i < n; i++) {
        cosine[i] = cos(2 * pi * (double)i / (double)n);
        sine[i] = sin(2 * pi * (double)i / (double)n);
    }
    return s;
}

void stream_wave(const stream *s, size_t wave, int vector[2])
{
    vector[0] = s->vector[wave][0];
    vector[1] = s->vector[wave][1];
}

/* The phase of wave m at (i, 0), and its increment from j to j + 1, in steps of 2 pi / n. */
static void phases(const stream *s, size_t m, size_t i, size_t *first, size_t *each)
{
    const size_t n = s->n;
    *first = (size_t)s->vector[m][0] * i % n;
    *each = (n + (size_t)s->vector[m][1]) % n;
}

void stream_velocity(const stream *s, const double *c, double *vx, double *vy)
{
    const size_t n = s->n;
    for (size_t i = 0; i < n * n; i++) {
        vx[i] = vy[i] = 0;
    }
    for (size_t m = 0; m < s->waves; m++) {
        for (size_t i = 0; i < n; i++) {
            size_t phase = 0, each = 0;
            phases(s, m, i, &phase, &each);
            for (size_t j = 0; j < n; j++) {
                double speed = c[2 * m] * s->cosine[phase] + c[2 * m + 1] * s->sine[phase];
                vx[i * n + j] += s->along[m][0] * speed;
                vy[i * n + j] += s->along[m][1] * speed;
                phase = phase + each < n ? phase + each : phase + each - n;
            }
        }
    }
}

void stream_adjoint(const stream *s, const double *vx_bar, const double *vy_bar, double *c_bar)
{
    const size_t n = s->n;
    for (size_t m = 0; m < s->waves; m++) {
        double cosine = 0, sine = 0;
        for (size_t i = 0; i < n; i++) {
            size_t phase = 0, each = 0;
            phases(s, m, i, &phase, &each);
            for (size_t j = 0; j < n; j++) {
                double bar = s->along[m][0] * vx_bar[i * n + j] + s->along[m][1] * vy_bar[i * n + j];
                cosine += s->cosine[phase] * bar;
                sine += s->sine[phase] * bar;
                phase = phase + each < n ? phase + each : phase + each - n;
            }
        }
        c_bar[2 * m] = cosine;
        c_bar[2 * m + 1] = sine;
    }
}
