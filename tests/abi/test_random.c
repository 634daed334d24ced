/* SPDX-License-Identifier: Apache-2.0 */
/* test_random.c - the random streams of diffsim/helper/random.h: known answers of the generator, frozen
 * values of the streams, moments and independence. */
#include "test.h"

#include <diffsim/helper/random.h>

/* Known answers that come with Random123 (kat_vectors, philox4x32 with 10 rounds). */
static void philox_known_answers(void **state)
{
    static const uint32_t cases[3][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e,
         0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb,
         0x5001e420, 0x24126ea1},
    };
    for (int k = 0; k < 3; k++) {
        const uint32_t *c = cases[k];
        philox4x32_ctr_t counter = {{c[0], c[1], c[2], c[3]}};
        philox4x32_key_t key = {{c[4], c[5]}};
        philox4x32_ctr_t out = philox4x32(counter, key);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(out.v[i], c[6 + i]);
        }
    }
}

/* A stream is that generator, word by word, with the counter in the low words. */
static void stream_is_philox(void **state)
{
    ds_random r = {0};
    assert_int_equal(ds_random_u32(&r), 0x6627e8d5);
    assert_int_equal(ds_random_u32(&r), 0xe169c58d);
    assert_int_equal(ds_random_u32(&r), 0xbc57ac4c);
    assert_int_equal(ds_random_u32(&r), 0x9b00dbd8);
    philox4x32_ctr_t counter = {{1, 0, 0, 0}};
    philox4x32_key_t key = {{0, 0}};
    assert_int_equal(ds_random_u32(&r), philox4x32(counter, key).v[0]);
    /* The counter carries into the second word. */
    ds_random far = {.counter = 0x100000000u};
    philox4x32_ctr_t next = {{0, 1, 0, 0}};
    assert_int_equal(ds_random_u32(&far), philox4x32(next, key).v[0]);
}

/* splitmix64 with state 0 gives these numbers (S. Vigna's reference program). */
static void mix_known_answers(void **state)
{
    assert_true(ds_random_mix(0) == 0xe220a8397b1dcdafu);
    assert_true(ds_random_mix(0x9e3779b97f4a7c15u) == 0x6e789e6aa1b965f4u);
    assert_true(ds_random_mix(2 * 0x9e3779b97f4a7c15u) == 0x06c45d188009454fu);
}

/* Recorded results depend on these numbers: a change breaks the reproduction of every stored run. */
static void streams_are_frozen(void **state)
{
    ds_random a = ds_random_open(0, "sample", 0), b = ds_random_open(UINT64_MAX, "init", 7);
    uint64_t seed_mix = ds_random_mix(0), h = 0xcbf29ce484222325u;
    for (const char *c = "sample"; *c != '\0'; c++) {
        h = (h ^ (unsigned char)*c) * 0x100000001b3u;
    }
    assert_true(a.key == ds_random_mix(ds_random_mix(seed_mix ^ h)));
    double u = ds_random_uniform(&a);
    ds_random again = ds_random_open(0, "sample", 0);
    assert_true(u == ds_random_uniform(&again));
    assert_true(b.key != a.key);
    /* The two words of a uniform: high word first. */
    ds_random zero = {0};
    assert_true(ds_random_uniform(&zero) ==
                ((double)((uint64_t)0x6627e8d5 << 20 | 0xe169c58d >> 12) + 0.5) * 0x1p-52);
}

static void uniform_moments(void **state)
{
    enum { N = 1000000 };
    ds_random r = ds_random_open(1, "test", 0);
    double m1 = 0, m2 = 0, m3 = 0, least = 1, most = 0, lag = 0, last = 0;
    int bin[64] = {0};
    for (int i = 0; i < N; i++) {
        double u = ds_random_uniform(&r), c = u - 0.5;
        assert_true(u > 0 && u < 1);
        least = fmin(least, u);
        most = fmax(most, u);
        m1 += c / N;
        m2 += c * c / N;
        m3 += c * c * c / N;
        lag += c * last / N;
        last = c;
        bin[(int)(u * 64)]++;
    }
    /* Five standard deviations each. */
    assert_true(fabs(m1) < 5 * sqrt(1.0 / 12 / N));
    assert_true(fabs(m2 - 1.0 / 12) < 5 * sqrt(1.0 / 180 / N));
    assert_true(fabs(m3) < 5 * sqrt(1.0 / 448 / N));
    assert_true(fabs(lag) < 5.0 / 12 / sqrt(N));
    assert_true(least < 20.0 / N && most > 1 - 20.0 / N);
    double chi2 = 0;
    for (int k = 0; k < 64; k++) {
        chi2 += pow(bin[k] - N / 64.0, 2) / (N / 64.0);
    }
    assert_true(chi2 > 25 && chi2 < 120); /* 63 degrees of freedom: 1e-5 on either side */
}

/* 0 and 1 never appear, whatever the bits are. */
static void uniform_is_open(void **state)
{
    ds_random low = {.left = 2, .word = {0, 0, 0, 0}};
    ds_random high = {.left = 2, .word = {0, 0, UINT32_MAX, UINT32_MAX}};
    double u = ds_random_uniform(&low);
    assert_true(u > 0 && u == 0x1p-53);
    assert_true(ds_random_uniform(&high) < 1);
}

static void normal_moments(void **state)
{
    enum { N = 1000000 };
    ds_random r = ds_random_open(2, "test", 0);
    double m1 = 0, m2 = 0, m3 = 0, m4 = 0, pair = 0, last = 0;
    int beyond = 0;
    for (int i = 0; i < N; i++) {
        double z = ds_random_normal(&r);
        assert_true(isfinite(z));
        m1 += z / N;
        m2 += z * z / N;
        m3 += z * z * z / N;
        m4 += z * z * z * z / N;
        pair += z * last / N;
        last = z;
        beyond += fabs(z) > 1.959963984540054;
    }
    assert_true(fabs(m1) < 5 / sqrt(N));
    assert_true(fabs(m2 - 1) < 5 * sqrt(2.0 / N));
    assert_true(fabs(m3) < 5 * sqrt(15.0 / N));
    assert_true(fabs(m4 - 3) < 5 * sqrt(96.0 / N));
    assert_true(fabs(pair) < 5 / sqrt(N));
    assert_true(fabs(beyond - 0.05 * N) < 5 * sqrt(0.05 * 0.95 * N));
}

static void streams_are_independent(void **state)
{
    enum { N = 200000, STREAMS = 6 };
    ds_random r[STREAMS] = {ds_random_open(0, "a", 0),  ds_random_open(0, "a", 1),
                            ds_random_open(1, "a", 0),  ds_random_open(0, "b", 0),
                            ds_random_open(0, "ab", 0), ds_random_open(0, "ba", 0)};
    double product[STREAMS][STREAMS] = {{0}};
    for (int i = 0; i < N; i++) {
        double u[STREAMS];
        for (int k = 0; k < STREAMS; k++) {
            u[k] = ds_random_uniform(&r[k]) - 0.5;
            for (int j = 0; j < k; j++) {
                product[k][j] += u[k] * u[j] * 12 / N;
            }
        }
    }
    for (int k = 0; k < STREAMS; k++) {
        for (int j = 0; j < k; j++) {
            assert_true(r[k].key != r[j].key);
            assert_true(fabs(product[k][j]) < 5 / sqrt(N));
        }
    }
    /* Seed and index do not stand for each other. */
    assert_true(ds_random_open(3, "a", 4).key != ds_random_open(4, "a", 3).key);
}

static void copies_go_their_own_way(void **state)
{
    ds_random a = ds_random_open(5, "copy", 0);
    ds_random_normal(&a);
    ds_random b = a;
    double first = ds_random_normal(&a), second = ds_random_normal(&a);
    assert_true(first == ds_random_normal(&b));
    assert_true(second == ds_random_normal(&b));
}

static void below_is_unbiased(void **state)
{
    static const uint64_t limits[] = {1, 2, 3, 7, 10, 1000};
    for (size_t k = 0; k < sizeof limits / sizeof limits[0]; k++) {
        enum { N = 200000 };
        uint64_t n = limits[k];
        ds_random r = ds_random_open(n, "below", 0);
        double count[1000] = {0}, chi2 = 0;
        for (int i = 0; i < N; i++) {
            uint64_t v = ds_random_below(&r, n);
            assert_true(v < n);
            count[v]++;
        }
        for (uint64_t i = 0; i < n; i++) {
            chi2 += pow(count[i] - (double)N / (double)n, 2) / ((double)N / (double)n);
        }
        double f = (double)n - 1;
        assert_true(chi2 <= f + 5 * sqrt(2 * f) + 10);
    }
    /* Of 3 * 2^62 numbers a plain remainder would give the first third twice as often: count the thirds. */
    ds_random r = ds_random_open(9, "below", 0);
    uint64_t n = 3 * ((uint64_t)1 << 62);
    int third[3] = {0};
    for (int i = 0; i < 90000; i++) {
        third[ds_random_below(&r, n) / (n / 3)]++;
    }
    for (int i = 0; i < 3; i++) {
        assert_true(abs(third[i] - 30000) < 5 * 142);
    }
    /* The words that a remainder would favour are drawn again. */
    ds_random bad = {.left = 2, .word = {0, 0, UINT32_MAX, UINT32_MAX}};
    ds_random none = {0};
    uint64_t hi = ds_random_u32(&none), lo = ds_random_u32(&none);
    assert_true(ds_random_below(&bad, 10) == (hi << 32 | lo) % 10);
}

RUN_TESTS(philox_known_answers, stream_is_philox, mix_known_answers, streams_are_frozen, uniform_moments,
          uniform_is_open, normal_moments, streams_are_independent, copies_go_their_own_way,
          below_is_unbiased)
