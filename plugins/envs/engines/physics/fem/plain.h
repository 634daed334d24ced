/* SPDX-License-Identifier: Apache-2.0 */
/* plain.h - single elements of a packed model, for what goes through them one after the other. */
#ifndef DS_ENGINES_FEM_PLAIN_H
#define DS_ENGINES_FEM_PLAIN_H

#include "engines/physics/fem/laws/law.h"
#include "engines/physics/fem/pack.h"

static inline double constant(const fem_set *s, size_t element, size_t field, size_t fields)
{
    return s->constant[(element / FEM_CHUNK * fields + field) * FEM_CHUNK + element % FEM_CHUNK];
}

static inline uint32_t corner_of(const fem_set *s, size_t element, size_t corner, size_t corners)
{
    return s->vertex[(element / FEM_CHUNK * corners + corner) * FEM_CHUNK + element % FEM_CHUNK];
}

/* A field of the corners of an element, and the reverse. */
static inline void take(const fem_set *s, size_t element, size_t corners, const double *from, size_t stride,
                        vec3 *out)
{
    for (size_t c = 0; c < corners; c++) {
        out[c] = v3(from + stride * corner_of(s, element, c, corners));
    }
}

static inline void give(const fem_set *s, size_t element, size_t corners, const vec3 *x, double *to,
                        size_t stride)
{
    for (size_t c = 0; c < corners; c++) {
        double *at = to + stride * corner_of(s, element, c, corners);
        at[0] += x[c].x;
        at[1] += x[c].y;
        at[2] += x[c].z;
    }
}

static inline fem_spring_law spring_law(const fem_pack *p, size_t i)
{
    const fem_set *s = &p->spring;
    return (fem_spring_law){constant(s, i, FEM_SPRING_KE, FEM_SPRING_FIELDS),
                            constant(s, i, FEM_SPRING_KD, FEM_SPRING_FIELDS),
                            constant(s, i, FEM_SPRING_REST, FEM_SPRING_FIELDS)};
}

static inline fem_triangle_rest triangle_rest(const fem_pack *p, size_t i)
{
    fem_triangle_rest r;
    for (size_t k = 0; k < 4; k++) {
        r.inverse[k] = constant(&p->triangle, i, FEM_TRIANGLE_INVERSE + k, FEM_TRIANGLE_FIELDS);
    }
    r.area = constant(&p->triangle, i, FEM_TRIANGLE_AREA, FEM_TRIANGLE_FIELDS);
    return r;
}

static inline fem_membrane membrane_of(const fem_pack *p, size_t i)
{
    double v[5];
    for (size_t k = 0; k < 5; k++) {
        v[k] = constant(&p->triangle, i, FEM_TRIANGLE_MEMBRANE + k, FEM_TRIANGLE_FIELDS);
    }
    return p->mixed ? (fem_membrane){.mu = v[0], .lambda = v[1], .kd = v[2], .drag = v[3], .lift = v[4]}
                    : p->membrane;
}

static inline fem_triangle_law triangle_law(const fem_pack *p, size_t i)
{
    const fem_membrane m = membrane_of(p, i);
    return (fem_triangle_law){m.mu, m.lambda, m.kd, p->triangle.act[i]};
}

static inline fem_edge_law edge_law(const fem_pack *p, size_t i)
{
    const double ke = constant(&p->edge, i, FEM_EDGE_BENDING, FEM_EDGE_FIELDS);
    const double kd = constant(&p->edge, i, FEM_EDGE_BENDING + 1, FEM_EDGE_FIELDS);
    return (fem_edge_law){p->mixed ? ke : p->bending.ke, p->mixed ? kd : p->bending.kd,
                          constant(&p->edge, i, FEM_EDGE_REST, FEM_EDGE_FIELDS) + p->edge.act[i]};
}

static inline fem_tet_rest tet_rest(const fem_pack *p, size_t i)
{
    fem_tet_rest r;
    for (size_t k = 0; k < 9; k++) {
        r.inverse[k] = constant(&p->tet, i, FEM_TET_INVERSE + k, FEM_TET_FIELDS);
    }
    r.volume = constant(&p->tet, i, FEM_TET_VOLUME, FEM_TET_FIELDS);
    return r;
}

static inline fem_tet_law tet_law(const fem_pack *p, size_t i)
{
    return (fem_tet_law){constant(&p->tet, i, FEM_TET_MU, FEM_TET_FIELDS),
                         constant(&p->tet, i, FEM_TET_LAMBDA, FEM_TET_FIELDS),
                         constant(&p->tet, i, FEM_TET_KD, FEM_TET_FIELDS), p->tet.act[i]};
}

static inline fem_air_law air_law(const fem_pack *p, size_t i)
{
    const fem_membrane m = membrane_of(p, i);
    return (fem_air_law){m.drag, m.lift, v3(p->wind)};
}

static inline double edge_length(const fem_pack *p, size_t i)
{
    return constant(&p->edge, i, FEM_EDGE_LENGTH, FEM_EDGE_FIELDS);
}

#endif
