/* SPDX-License-Identifier: Apache-2.0 */
/* The Mersenne Twister stream of numpy.random.RandomState (numpy's frozen "legacy" generator), from which
 * PlasticineLab draws its particles: same seed, same doubles. */
#ifndef MPM_MT19937_H
#define MPM_MT19937_H

#include <stdbool.h>
#include <stdint.h>

typedef struct mpm_rng {
    uint32_t key[624];
    int index;      /* next word of key; 624 = refill first */
    bool has_gauss; /* the polar method makes two normals; the second one waits here */
    double gauss;
} mpm_rng;

void mpm_rng_seed(mpm_rng *rng, uint32_t seed);
uint32_t mpm_rng_next32(mpm_rng *rng);
double mpm_rng_uniform(mpm_rng *rng); /* [0, 1) with 53 bits */
double mpm_rng_gauss(mpm_rng *rng);   /* standard normal */

#endif
