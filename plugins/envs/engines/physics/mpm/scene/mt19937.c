/* SPDX-License-Identifier: Apache-2.0 */
/* Matsumoto and Nishimura 1998, "Mersenne Twister", with the seeding and the conversions to double of
 * numpy.random.RandomState: 53-bit uniforms, polar normals (Marsaglia) whose second value is returned first.
 */
#include "mt19937.h"

#include <math.h>

enum { WORDS = 624, SHIFT = 397 };

void mpm_rng_seed(mpm_rng *rng, uint32_t seed)
{
    rng->key[0] = seed;
    for (uint32_t i = 1; i < WORDS; i++) {
        uint32_t prev = rng->key[i - 1];
        rng->key[i] = 1812433253u * (prev ^ (prev >> 30)) + i;
    }
    rng->index = WORDS;
    rng->has_gauss = false;
    rng->gauss = 0.0;
}

static void refill(mpm_rng *rng)
{
    uint32_t *key = rng->key;
    for (int i = 0; i < WORDS; i++) {
        uint32_t y = (key[i] & 0x80000000u) | (key[(i + 1) % WORDS] & 0x7fffffffu);
        key[i] = key[(i + SHIFT) % WORDS] ^ (y >> 1) ^ ((y & 1u) ? 0x9908b0dfu : 0u);
    }
    rng->index = 0;
}

uint32_t mpm_rng_next32(mpm_rng *rng)
{
    if (rng->index == WORDS) {
        refill(rng);
    }
    uint32_t y = rng->key[rng->index++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

double mpm_rng_uniform(mpm_rng *rng)
{
    uint32_t a = mpm_rng_next32(rng) >> 5;
    uint32_t b = mpm_rng_next32(rng) >> 6;
    return (a * 67108864.0 + b) / 9007199254740992.0;
}

double mpm_rng_gauss(mpm_rng *rng)
{
    if (rng->has_gauss) {
        rng->has_gauss = false;
        return rng->gauss;
    }
    double x1, x2, r2;
    do {
        x1 = 2.0 * mpm_rng_uniform(rng) - 1.0;
        x2 = 2.0 * mpm_rng_uniform(rng) - 1.0;
        r2 = x1 * x1 + x2 * x2;
    } while (r2 >= 1.0 || r2 == 0.0);
    double f = sqrt(-2.0 * log(r2) / r2);
    rng->gauss = f * x1;
    rng->has_gauss = true;
    return f * x2;
}
