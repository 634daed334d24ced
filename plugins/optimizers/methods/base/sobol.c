/* SPDX-License-Identifier: Apache-2.0 */
/* sobol.c - Sobol points in Gray code order (I. Antonov, V. Saleev 1979) with a random digital shift,
 * see sobol.h. */
#include "methods/base/sobol.h"

#define BITS 32

/* Joe and Kuo's table new-joe-kuo-6, dimensions 2 to 53: degree and inner coefficients of the primitive
 * polynomial, and the first direction integers. Dimension 1 is the van der Corput sequence. */
static const struct {
    unsigned char degree, inner, m[8];
} joe_kuo[SOBOL_MAX_DIM - 1] = {
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
    {7, 7, {1, 1, 3, 13, 7, 35, 63}},
    {7, 8, {1, 3, 5, 9, 1, 25, 53}},
    {7, 14, {1, 3, 1, 13, 9, 35, 107}},
    {7, 19, {1, 3, 1, 5, 27, 61, 31}},
    {7, 21, {1, 1, 5, 11, 19, 41, 61}},
    {7, 28, {1, 3, 5, 3, 3, 13, 69}},
    {7, 31, {1, 1, 7, 13, 1, 19, 1}},
    {7, 32, {1, 3, 7, 5, 13, 19, 59}},
    {7, 37, {1, 1, 3, 9, 25, 29, 41}},
    {7, 41, {1, 3, 5, 13, 23, 1, 55}},
    {7, 42, {1, 3, 7, 3, 13, 59, 17}},
    {7, 50, {1, 3, 1, 3, 5, 53, 69}},
    {7, 55, {1, 1, 5, 5, 23, 33, 13}},
    {7, 56, {1, 1, 7, 7, 1, 61, 123}},
    {7, 59, {1, 1, 7, 9, 13, 61, 49}},
    {7, 62, {1, 3, 3, 5, 3, 55, 33}},
    {8, 14, {1, 3, 1, 15, 31, 13, 49, 245}},
    {8, 21, {1, 3, 5, 15, 31, 59, 63, 97}},
    {8, 22, {1, 3, 1, 11, 11, 11, 77, 249}},
    {8, 38, {1, 3, 1, 11, 27, 43, 71, 9}},
    {8, 47, {1, 1, 7, 15, 21, 11, 81, 45}},
    {8, 49, {1, 3, 7, 3, 25, 31, 65, 79}},
    {8, 50, {1, 3, 1, 1, 19, 11, 3, 205}},
    {8, 52, {1, 1, 5, 9, 19, 21, 29, 157}},
    {8, 56, {1, 3, 7, 11, 1, 33, 89, 185}},
    {8, 67, {1, 3, 3, 3, 15, 9, 79, 71}},
    {8, 70, {1, 3, 7, 11, 15, 39, 119, 27}},
    {8, 84, {1, 1, 3, 1, 11, 31, 97, 225}},
    {8, 97, {1, 1, 1, 3, 23, 43, 57, 177}},
    {8, 103, {1, 3, 7, 7, 17, 17, 37, 71}},
    {8, 115, {1, 3, 1, 5, 27, 63, 123, 213}},
    {8, 122, {1, 1, 3, 5, 11, 43, 53, 133}},
};

/* Direction numbers of dimension `k` (from 0) as binary fractions with BITS digits. */
static void direction_numbers(size_t k, uint32_t direction[BITS])
{
    if (k == 0) {
        for (int i = 0; i < BITS; i++) {
            direction[i] = 1u << (BITS - 1 - i);
        }
        return;
    }
    int s = joe_kuo[k - 1].degree;
    uint32_t inner = joe_kuo[k - 1].inner;
    for (int i = 0; i < s; i++) {
        direction[i] = (uint32_t)joe_kuo[k - 1].m[i] << (BITS - 1 - i);
    }
    for (int i = s; i < BITS; i++) {
        direction[i] = direction[i - s] ^ (direction[i - s] >> s);
        for (int j = 1; j < s; j++) {
            if ((inner >> (s - 1 - j)) & 1u) {
                direction[i] ^= direction[i - j];
            }
        }
    }
}

void sobol_points(size_t count, size_t dim, ds_random *rng, double *points)
{
    sobol_points_from(0, count, dim, rng, points);
}

void sobol_points_from(uint64_t first, size_t count, size_t dim, ds_random *rng, double *points)
{
    if (dim > SOBOL_MAX_DIM) {
        for (size_t i = 0; i < count * dim; i++) {
            points[i] = ds_random_uniform(rng);
        }
        return;
    }
    for (size_t k = 0; k < dim; k++) {
        uint32_t direction[BITS];
        direction_numbers(k, direction);
        uint32_t word = ds_random_u32(rng); /* the digital shift is point 0 */
        for (int digit = 0; digit < BITS; digit++) {
            word ^= (((first ^ (first >> 1)) >> digit) & 1u) ? direction[digit] : 0;
        }
        for (size_t i = 0; i < count; i++) {
            points[i * dim + k] = ((double)word + 0.5) * 0x1p-32;
            int zeros = 0; /* trailing ones of the index = digit that the Gray code changes next */
            while (zeros < BITS - 1 && (((first + i) >> zeros) & 1u)) {
                zeros++;
            }
            word ^= direction[zeros];
        }
    }
}
