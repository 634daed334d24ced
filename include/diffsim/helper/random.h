/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/random.h - reproducible random numbers for plugins: Philox4x32-10 (Random123) keyed by
 * seed and stream name.
 *
 * Header only, no part of the binary interface. Needs Random123 (Debian: librandom123-dev). A stream depends
 * on the seed, its name and its index alone, so that adding a stream never shifts another one. A ds_random is
 * a plain value: copy it freely; it is used by one thread at a time.
 *
 * Usage: one stream per purpose, its index for what repeats (a restart, a particle, the noise_key of an
 * evaluation):
 *
 *     ds_random r = ds_random_open(host->seed, "mutation", restart);
 *     double step = sigma * ds_random_normal(&r);
 *
 * Never seed a stream with the time, an address or a counter that is shared between instances: runs could not
 * be resumed.
 *
 * The numbers of a stream are the same on every machine for u32, uniform and below; normal() also depends on
 * the last bit of the machine's log, sqrt, sin and cos.
 *
 * Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. */
#ifndef DIFFSIM_RANDOM_H
#define DIFFSIM_RANDOM_H

/* Philox needs no SSE; without it Random123 leaves out <x86intrin.h>, which takes ten times as long to
 * compile as the rest. A file that wants Random123's SSE generators includes them before this header. */
#ifndef R123_USE_SSE
#define R123_USE_SSE 0
#endif
#ifndef R123_USE_X86INTRIN_H
#define R123_USE_X86INTRIN_H 0
#endif
#include <Random123/philox.h>
#include <math.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A stream at its current position. Only ds_random_open() makes one. The fields are private, but fixed-width
 * and free of pointers, so that a stream may lie in any struct, be compared, or be copied to branch off: copy
 * and original then deliver the same numbers. There is nothing to release. */
typedef struct ds_random {
    uint64_t key;     /* names the stream */
    uint64_t counter; /* next block of four words */
    uint32_t word[4]; /* the current block */
    uint32_t left;    /* words of it not yet used */
    uint32_t has_normal;
    double normal; /* second half of the last normal pair */
} ds_random;

/* Finaliser of splitmix64: spreads every bit of z over the result. Also of use for turning several numbers
 * into one key: mix(mix(a) ^ b). Source: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number
 * generators", OOPSLA 2014. */
static inline uint64_t ds_random_mix(uint64_t z)
{
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Opens stream `name`, number `index`, of a run seed. The name is read here and not kept. Two streams that
 * differ in seed, name or index have different keys (up to a chance of 2^-64) and thus independent numbers.
 */
static inline ds_random ds_random_open(uint64_t seed, const char *name, uint64_t index)
{
    ds_random r = {0, 0, {0, 0, 0, 0}, 0, 0, 0.0};
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a of the name */
    for (; *name; name++) {
        h = (h ^ (uint64_t)(unsigned char)*name) * 0x100000001b3u;
    }
    r.key = ds_random_mix(ds_random_mix(ds_random_mix(seed) ^ h) ^ index);
    return r;
}

/* The next 32 random bits. A stream has 2^64 blocks of four words: it does not end. */
static inline uint32_t ds_random_u32(ds_random *r)
{
    if (r->left == 0) {
        philox4x32_ctr_t c = {{(uint32_t)r->counter, (uint32_t)(r->counter >> 32), 0, 0}};
        philox4x32_key_t k = {{(uint32_t)r->key, (uint32_t)(r->key >> 32)}};
        philox4x32_ctr_t out = philox4x32(c, k);
        r->counter++;
        for (int i = 0; i < 4; i++) {
            r->word[i] = out.v[i];
        }
        r->left = 4;
    }
    return r->word[4 - r->left--];
}

/* Uniform in the open interval (0, 1), 52 bits: never 0 and never 1, so that log() of it is finite.
 * Takes two words. */
static inline double ds_random_uniform(ds_random *r)
{
    uint64_t hi = ds_random_u32(r);
    uint64_t lo = ds_random_u32(r);
    return ((double)((hi << 20) | (lo >> 12)) + 0.5) * 0x1p-52;
}

/* Uniform integer in 0..n-1, n >= 1, without bias: draws from the incomplete last interval are thrown away,
 * hence the number of words taken varies. */
static inline uint64_t ds_random_below(ds_random *r, uint64_t n)
{
    /* The largest multiple of n that fits; what lies above would favour small results. */
    uint64_t limit = UINT64_MAX - UINT64_MAX % n;
    uint64_t v;
    do {
        uint64_t hi = ds_random_u32(r);
        v = (hi << 32) | ds_random_u32(r);
    } while (v >= limit);
    return v % n;
}

/* Standard normal (Box-Muller, cosine first). Every second call takes four words and keeps the second deviate
 * for the next call; a copy of the stream keeps it, too. Source: G. Box, M. Muller, "A note on the generation
 * of random normal deviates", Ann. Math. Stat. 29, 1958. */
static inline double ds_random_normal(ds_random *r)
{
    if (r->has_normal) {
        r->has_normal = 0;
        return r->normal;
    }
    double a = sqrt(-2.0 * log(ds_random_uniform(r)));
    double b = 6.283185307179586476925 * ds_random_uniform(r);
    r->normal = a * sin(b);
    r->has_normal = 1;
    return a * cos(b);
}

#ifdef __cplusplus
}
#endif
#endif
