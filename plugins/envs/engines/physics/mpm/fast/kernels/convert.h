/* SPDX-License-Identifier: Apache-2.0 */
/* Particles between the engine's arrays and mpm_particle, and from one order to another. */
#ifndef MPM_FAST_CONVERT_H
#define MPM_FAST_CONVERT_H

#include "kernels.h"
#include "lanes.h"

#include <string.h>

INLINE real *quad_at(void *field, size_t i)
{
    return (real *)field + 4 * i;
}

/* Of particle i of the fields, which is one of those in the room. */
INLINE real *gradient_at(void *f, const mpm_room *room, size_t i)
{
    i -= room->first;
    return (real *)f + room->first_f + i / VL * (room->width * VL) + i % VL;
}

INLINE void set_quad(void *field, size_t i, const double value[3], double factor, double offset)
{
    real *to = quad_at(field, i);
    for (int d = 0; d < 3; d++) {
        to[d] = R(value[d] * factor + offset);
    }
    to[3] = R(0);
}

/* Particles that fill the last chunk: at rest where the last one is. `rest`: diagonal of F. */
static void pad(const mpm_fields *to, const mpm_room *room, uint32_t n, double rest)
{
    static const double none[3] = {0.0};
    size_t end = room->first + room->slots, last = room->first + n - 1;
    for (size_t i = last + 1; i < end; i++) {
        *(quad *)quad_at(to->x, i) = *(const quad *)quad_at(to->x, last);
        set_quad(to->v, i, none, 0.0, 0.0);
        for (int k = 0; k < 3; k++) {
            set_quad(to->m, (size_t)k * room->padded + i, none, 0.0, 0.0);
        }
        for (size_t k = 0; k < room->width; k++) {
            gradient_at(to->f, room, i)[k * VL] = k % 4 == 0 ? R(rest) : R(0);
        }
    }
}

static void import_particles(const mpm_fields *to, const mpm_room *room, uint32_t n, const uint32_t *order,
                             double inv_dx, double offset, const mpm_particle *from)
{
    for (uint32_t q = 0; q < n; q++) {
        const mpm_particle *p = &from[order[q]];
        size_t i = room->first + q;
        set_quad(to->x, i, p->x, inv_dx, offset);
        set_quad(to->v, i, p->v, 1.0, 0.0);
        for (size_t k = 0; k < 3; k++) {
            const double column[3] = {p->c[k], p->c[3 + k], p->c[6 + k]};
            set_quad(to->m, k * room->padded + i, column, 0.25 / inv_dx, 0.0);
        }
        for (size_t k = 0; k < room->width; k++) {
            gradient_at(to->f, room, i)[k * VL] = R(p->f[k]);
        }
    }
    pad(to, room, n, 1.0);
}

/* Where there is no f, positions alone. */
static void export_particles(const mpm_fields *from, const mpm_room *room, uint32_t n, const uint32_t *order,
                             double inv_dx, double offset, mpm_particle *to)
{
    for (uint32_t q = 0; q < n; q++) {
        mpm_particle *p = &to[order[q]];
        size_t i = room->first + q;
        for (int d = 0; d < 3; d++) {
            p->x[d] = ((double)quad_at(from->x, i)[d] - offset) / inv_dx;
        }
        for (int d = 0; from->f && d < 3; d++) {
            p->v[d] = from->v ? (double)quad_at(from->v, i)[d] : 0.0;
            for (size_t k = 0; k < 3; k++) {
                p->c[3 * (size_t)d + k] =
                    from->m ? 4.0 * inv_dx * (double)quad_at(from->m, k * room->padded + i)[d] : 0.0;
            }
        }
        for (size_t k = 0; from->f && k < room->width; k++) {
            p->f[k] = (double)gradient_at(from->f, room, i)[k * VL];
        }
    }
}

/* Adjoints: those of positions and APIC matrices scale the other way round. */
static void add_bar(const mpm_fields *to, const mpm_room *room, uint32_t n, const uint32_t *order,
                    double inv_dx, const mpm_particle *from)
{
    for (uint32_t q = 0; q < n; q++) {
        const mpm_particle *p = &from[order[q]];
        size_t i = room->first + q;
        for (int d = 0; d < 3; d++) {
            quad_at(to->x, i)[d] += R(p->x[d] / inv_dx);
            if (to->v) {
                quad_at(to->v, i)[d] += R(p->v[d]);
                for (size_t k = 0; k < 3; k++) {
                    quad_at(to->m, k * room->padded + i)[d] += R(p->c[3 * (size_t)d + k] * 4.0 * inv_dx);
                }
            }
        }
        for (size_t k = 0; to->f && k < room->width; k++) {
            gradient_at(to->f, room, i)[k * VL] += R(p->f[k]);
        }
    }
}

static void permute(const mpm_fields *to, const mpm_fields *from, const mpm_room *room, uint32_t first,
                    uint32_t end, uint32_t n, const uint32_t *order, double rest)
{
    for (uint32_t q = first; q < end; q++) {
        size_t i = room->first + q, j = room->first + order[q];
        *(quad *)quad_at(to->x, i) = *(const quad *)quad_at(from->x, j);
        *(quad *)quad_at(to->v, i) = *(const quad *)quad_at(from->v, j);
        for (size_t k = 0; k < 3; k++) {
            *(quad *)quad_at(to->m, k * room->padded + i) =
                *(const quad *)quad_at(from->m, k * room->padded + j);
        }
        real *f = gradient_at(to->f, room, i);
        const real *g = gradient_at(from->f, room, j);
        for (size_t k = 0; k < room->width; k++) {
            f[k * VL] = g[k * VL];
        }
    }
    if (end == n) {
        pad(to, room, n, rest);
    }
}

static void bases(const void *x, uint32_t n, int16_t *base)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t d = 0; d < 3; d++) {
            base[3 * i + d] = (int16_t)(((const real *)x)[4 * i + d] - R(0.5));
        }
    }
}

static void get_node(const void *field, size_t index, double out[4])
{
    for (size_t c = 0; c < 4; c++) {
        out[c] = (double)((const real *)field)[4 * index + c];
    }
}

static void set_node(void *field, size_t index, const double value[4])
{
    for (size_t c = 0; c < 4; c++) {
        ((real *)field)[4 * index + c] = R(value[c]);
    }
}

#endif
