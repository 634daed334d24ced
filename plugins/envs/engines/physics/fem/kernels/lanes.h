/* SPDX-License-Identifier: Apache-2.0 */
/* lanes.h - conversion between particles, whose numbers are adjacent, and vectors with one element per lane.
 */
#ifndef DS_ENGINES_FEM_LANES_H
#define DS_ENGINES_FEM_LANES_H

#include "common/vector.h"
#include "engines/physics/fem/pack.h"

/* Three-dimensional vectors of VECTOR_LANES elements. */
typedef struct vec3v {
    vec x, y, z;
} vec3v;

typedef double quad __attribute__((vector_size(32)));
typedef double quad_loose __attribute__((vector_size(32), aligned(8), may_alias));
typedef double pair __attribute__((vector_size(16)));
typedef double pair_loose __attribute__((vector_size(16), aligned(8), may_alias));

#define SHUFFLE __builtin_shufflevector

/* Four numbers of a particle: in two halves if registers hold no more, because GCC keeps wider vectors in
 * memory, and sums would wait for it at every term. */
#if VECTOR_LANES == 2
typedef struct four {
    pair low, high;
} four;

VEC_INLINE four four_plus(four a, const double *b)
{
    return (four){a.low + *(const pair_loose *)b, a.high + *(const pair_loose *)(b + 2)};
}

VEC_INLINE void four_store(double *to, four a)
{
    *(pair_loose *)to = a.low;
    *(pair_loose *)(to + 2) = a.high;
}
#else
typedef quad four;

VEC_INLINE four four_plus(four a, const double *b)
{
    return a + *(const quad_loose *)b;
}

VEC_INLINE void four_store(double *to, four a)
{
    *(quad_loose *)to = a;
}
#endif

/* Gathers the first three numbers at from + stride vertex[lane]. */
#if VECTOR_LANES == 2
VEC_INLINE vec3v gather(const double *from, size_t stride, const uint32_t *vertex)
{
    const double *a = from + stride * vertex[0], *b = from + stride * vertex[1];
    const pair a01 = *(const pair_loose *)a, a2 = *(const pair_loose *)(a + 2);
    const pair b01 = *(const pair_loose *)b, b2 = *(const pair_loose *)(b + 2);
    return (vec3v){SHUFFLE(a01, b01, 0, 2), SHUFFLE(a01, b01, 1, 3), SHUFFLE(a2, b2, 0, 2)};
}

/* Writes x, y, z, 0 to the slots to + stride lane. */
VEC_INLINE void spread(double *to, size_t stride, vec3v v)
{
    const vec none = {0};
    *(pair_loose *)to = SHUFFLE(v.x, v.y, 0, 2);
    *(pair_loose *)(to + 2) = SHUFFLE(v.z, none, 0, 2);
    *(pair_loose *)(to + stride) = SHUFFLE(v.x, v.y, 1, 3);
    *(pair_loose *)(to + stride + 2) = SHUFFLE(v.z, none, 1, 3);
}
#elif VECTOR_LANES == 4
VEC_INLINE vec3v gather(const double *from, size_t stride, const uint32_t *vertex)
{
    const quad a = *(const quad_loose *)(from + stride * vertex[0]);
    const quad b = *(const quad_loose *)(from + stride * vertex[1]);
    const quad c = *(const quad_loose *)(from + stride * vertex[2]);
    const quad d = *(const quad_loose *)(from + stride * vertex[3]);
    const quad ab = SHUFFLE(a, b, 0, 4, 2, 6), cd = SHUFFLE(c, d, 0, 4, 2, 6);
    const quad ab_y = SHUFFLE(a, b, 1, 5, 3, 7), cd_y = SHUFFLE(c, d, 1, 5, 3, 7);
    return (vec3v){SHUFFLE(ab, cd, 0, 1, 4, 5), SHUFFLE(ab_y, cd_y, 0, 1, 4, 5), SHUFFLE(ab, cd, 2, 3, 6, 7)};
}

VEC_INLINE void spread(double *to, size_t stride, vec3v v)
{
    const vec none = {0};
    const quad xy = SHUFFLE(v.x, v.y, 0, 4, 2, 6), xy_odd = SHUFFLE(v.x, v.y, 1, 5, 3, 7);
    const quad z = SHUFFLE(v.z, none, 0, 4, 2, 6), z_odd = SHUFFLE(v.z, none, 1, 5, 3, 7);
    *(quad_loose *)to = SHUFFLE(xy, z, 0, 1, 4, 5);
    *(quad_loose *)(to + stride) = SHUFFLE(xy_odd, z_odd, 0, 1, 4, 5);
    *(quad_loose *)(to + 2 * stride) = SHUFFLE(xy, z, 2, 3, 6, 7);
    *(quad_loose *)(to + 3 * stride) = SHUFFLE(xy_odd, z_odd, 2, 3, 6, 7);
}
#else
/* Sums of quads of two particles. */
VEC_INLINE vec two(const double *from, size_t stride, uint32_t low, uint32_t high)
{
    const quad a = *(const quad_loose *)(from + stride * low),
               b = *(const quad_loose *)(from + stride * high);
    return SHUFFLE(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
}

VEC_INLINE vec3v gather(const double *from, size_t stride, const uint32_t *vertex)
{
    const vec a = two(from, stride, vertex[0], vertex[4]), b = two(from, stride, vertex[1], vertex[5]);
    const vec c = two(from, stride, vertex[2], vertex[6]), d = two(from, stride, vertex[3], vertex[7]);
    const vec ab = SHUFFLE(a, b, 0, 8, 2, 10, 4, 12, 6, 14), cd = SHUFFLE(c, d, 0, 8, 2, 10, 4, 12, 6, 14);
    const vec ab_y = SHUFFLE(a, b, 1, 9, 3, 11, 5, 13, 7, 15),
              cd_y = SHUFFLE(c, d, 1, 9, 3, 11, 5, 13, 7, 15);
    return (vec3v){SHUFFLE(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13), SHUFFLE(ab_y, cd_y, 0, 1, 8, 9, 4, 5, 12, 13),
                   SHUFFLE(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15)};
}

VEC_INLINE void spread_two(double *low, double *high, vec v)
{
    *(quad_loose *)low = SHUFFLE(v, v, 0, 1, 2, 3);
    *(quad_loose *)high = SHUFFLE(v, v, 4, 5, 6, 7);
}

VEC_INLINE void spread(double *to, size_t stride, vec3v v)
{
    const vec none = {0};
    const vec xy = SHUFFLE(v.x, v.y, 0, 8, 2, 10, 4, 12, 6, 14),
              z = SHUFFLE(v.z, none, 0, 8, 2, 10, 4, 12, 6, 14);
    const vec xy_odd = SHUFFLE(v.x, v.y, 1, 9, 3, 11, 5, 13, 7, 15);
    const vec z_odd = SHUFFLE(v.z, none, 1, 9, 3, 11, 5, 13, 7, 15);
    spread_two(to, to + 4 * stride, SHUFFLE(xy, z, 0, 1, 8, 9, 4, 5, 12, 13));
    spread_two(to + stride, to + 5 * stride, SHUFFLE(xy_odd, z_odd, 0, 1, 8, 9, 4, 5, 12, 13));
    spread_two(to + 2 * stride, to + 6 * stride, SHUFFLE(xy, z, 2, 3, 10, 11, 6, 7, 14, 15));
    spread_two(to + 3 * stride, to + 7 * stride, SHUFFLE(xy_odd, z_odd, 2, 3, 10, 11, 6, 7, 14, 15));
}
#endif

VEC_INLINE vec3v plus(vec3v a, vec3v b)
{
    return (vec3v){a.x + b.x, a.y + b.y, a.z + b.z};
}

VEC_INLINE vec3v minus(vec3v a, vec3v b)
{
    return (vec3v){a.x - b.x, a.y - b.y, a.z - b.z};
}

VEC_INLINE vec3v times(vec s, vec3v a)
{
    return (vec3v){s * a.x, s * a.y, s * a.z};
}

/* a + s b */
VEC_INLINE vec3v along(vec3v a, vec s, vec3v b)
{
    return (vec3v){a.x + s * b.x, a.y + s * b.y, a.z + s * b.z};
}

VEC_INLINE vec dot(vec3v a, vec3v b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

VEC_INLINE vec3v cross(vec3v a, vec3v b)
{
    return (vec3v){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

/* Gathers positions, velocities or another field of the corners, for the elements of some lanes of a chunk.
 */
VEC_INLINE void gather_corners(const double *from, size_t stride, const uint32_t *vertex, int corners,
                               vec3v *out)
{
    for (int c = 0; c < corners; c++) {
        out[c] = gather(from, stride, vertex + c * FEM_CHUNK);
    }
}

#endif
