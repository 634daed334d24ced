/* SPDX-License-Identifier: Apache-2.0 */
/* test_mlp_loops.c - the loops of networks give the same bits with every instruction set, for sizes that fill
 * vectors and sizes that do not. */
#include "methods/rl/mlp.h"
#include "methods/rl/mlp_loops.h"
#include "test.h"

#include <diffsim/helper/random.h>

enum { ROWS = 37, NARROW = 7, WIDE = 131, COUNT = ROWS * WIDE };

typedef struct data {
    float x[ROWS * NARROW], w[NARROW * WIDE], b[WIDE], y[COUNT], d[COUNT], m[COUNT], v[COUNT], sum[2];
} data;

/* Values of all sizes, with zeros and values that overflow when squared. */
static void fill(size_t count, float *to, ds_random *rng)
{
    for (size_t i = 0; i < count; i++) {
        float value = (float)(ds_random_normal(rng) * pow(10.0, 3.0 * ds_random_normal(rng)));
        to[i] = i % 11 == 5 ? 0.0f : (i % 97 == 13 ? 1e30f : value);
    }
}

/* Each loop once, on the first `width` columns and `narrow` rows of its arrays; all results in `out`. */
static void run_all(data *s, size_t narrow, size_t width, data *out)
{
    ds_random rng = ds_random_open(5, "loops", 1000 * narrow + width);
    size_t count = ROWS * width;
    double sum = 0;
    fill(sizeof *s / sizeof(float), (float *)s, &rng);
    for (size_t i = 0; i < COUNT; i++) {
        s->v[i] = fminf(fabsf(s->v[i]), 1e30f);
    }
    *out = *s;
    loop_factors p = {ROWS, narrow, width, s->x, narrow, 1, s->w, s->b, LOOP_RELU, NULL};
    loop_product(&p, out->y);
    p.f = LOOP_TANH;
    loop_product(&p, out->d);
    p.b = NULL;
    p.of = s->d;
    loop_product(&p, out->m);
    p.f = LOOP_RELU;
    loop_product(&p, out->v);
    loop_dots(narrow, ROWS, narrow, s->d, s->y, out->x);
    loop_bias(ROWS, width, s->b, 0, out->y);
    loop_bias(ROWS, width, s->b, 1, out->y);
    loop_product(&(loop_factors){narrow, ROWS, width, s->x, 1, narrow, s->d, NULL, LOOP_LINEAR, NULL},
                 out->w);
    loop_sums(ROWS, width, s->d, out->b);
    loop_relu_slope(count, out->y, out->d);
    loop_squash(count, s->y, out->v);
    loop_adam(count, 0.25f, 0.9f, 0.999f, 1e-3f, 0.7f, 1e-8f, s->d, s->m, s->v, s->y);
    loop_adam(count, 0.25f, 0.7f, 0.95f, 1e-3f, 0.7f, 1e-8f, s->d, s->m, s->v, s->y);
    loop_adam_slow(count, 0.25f, 1e-4f, 1e-6f, 1e-3f, 0.7f, 1e-8f, s->d, s->m, s->v, s->y);
    loop_tanh_slope(count, out->v, out->m);
    loop_squares(count, s->d, &sum);
    memcpy(out->sum, &sum, sizeof sum);
    loop_average(count, 0.005f, s->y, s->d);
}

static void test_same_bits(void **state)
{
    static const size_t widths[] = {1, 2, 7, 8, 12, 15, 16, 17, 63, 64, 65, 128, WIDE};
    data *s = calloc(4, sizeof *s);
    int widest = loop_limit(2, 1), compared = 0;
    assert_non_null(s);
    for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
        for (size_t narrow = 1; narrow <= NARROW; narrow++) {
            for (int fused = 0; fused < 2 && fused < widest; fused++) {
                loop_limit(fused, fused);
                run_all(&s[0], narrow, widths[k], &s[1]);
                for (int set = fused + 1; set <= widest; set++) {
                    assert_int_equal(loop_limit(set, fused), set);
                    run_all(&s[2], narrow, widths[k], &s[3]);
                    assert_memory_equal(&s[0], &s[2], sizeof *s);
                    assert_memory_equal(&s[1], &s[3], sizeof *s);
                    compared++;
                }
            }
        }
    }
    loop_limit(2, 1);
    print_message("# %d comparisons; the widest set here is number %d\n", compared, widest);
    free(s);
}

/* Products of all shapes agree with sums in double precision; a row is the same alone and in a batch. */
static void test_products(void **state)
{
    enum { MOST = 70 };
    static const size_t sides[] = {1, 3, 4, 9, 16, 33, MOST};
    enum { SIDES = sizeof sides / sizeof *sides };
    static float x[MOST * MOST], turned[MOST * MOST], w[MOST * MOST], w_turned[MOST * MOST], of[MOST * MOST],
        b[MOST], y[MOST * MOST], alone[MOST];
    ds_random rng = ds_random_open(8, "products", 0);
    for (size_t i = 0; i < MOST * MOST; i++) {
        x[i] = (float)ds_random_normal(&rng);
        w[i] = (float)ds_random_normal(&rng);
        of[i] = (float)(2 * ds_random_uniform(&rng) - 1);
        b[i % MOST] = (float)ds_random_normal(&rng);
    }
    for (size_t at = 0; at < SIDES * SIDES * SIDES; at++) {
        const size_t rows = sides[at % SIDES], depth = sides[at / SIDES % SIDES],
                     width = sides[at / (SIDES * SIDES)];
        loop_transpose(rows, depth, x, turned);
        loop_transpose(depth, width, w, w_turned);
        for (int f = LOOP_LINEAR; f <= LOOP_RELU; f++) {
            for (int back = 0; back < 2 - (f == LOOP_LINEAR); back++) {
                loop_factors p = {rows, depth, width,           turned, 1,
                                  rows, w,     back ? NULL : b, f,      back ? of : NULL};
                loop_product(&p, y);
                for (size_t r = 0; r < rows; r++) {
                    loop_factors one = {
                        1, depth, width, x + r * depth, depth, 1, w, p.b, f, back ? of + r * width : NULL};
                    loop_product(&one, alone);
                    assert_memory_equal(alone, y + r * width, width * sizeof *y);
                    for (size_t j = 0; j < width; j++) {
                        double sum = back ? 0 : (double)b[j], size = 1, slope = (double)of[r * width + j];
                        for (size_t k = 0; k < depth; k++) {
                            const double term = (double)x[r * depth + k] * (double)w[k * width + j];
                            sum += term;
                            size += fabs(term);
                        }
                        slope = f == LOOP_RELU ? slope > 0 : 1 - slope * slope;
                        sum = back ? sum * slope
                                   : (f == LOOP_TANH   ? tanh(sum)
                                      : f == LOOP_RELU ? fmax(sum, 0)
                                                       : sum);
                        assert_true(fabs(sum - (double)y[r * width + j]) <= 1e-6 * size);
                    }
                }
            }
        }
        loop_dots(rows, depth, width, x, w_turned, y);
        for (size_t i = 0; i < rows * width; i++) {
            double sum = 0, size = 1;
            for (size_t k = 0; k < depth; k++) {
                const double term = (double)x[i / width * depth + k] * (double)w[k * width + i % width];
                sum += term;
                size += fabs(term);
            }
            assert_true(fabs(sum - (double)y[i]) <= 1e-6 * size);
        }
    }
}

/* Steps of Adam with any decay, sums of squares and slopes agree with double precision. */
static void test_values(void **state)
{
    enum { N = 77 };
    static const double decay[2][2] = {{0.9, 0.999}, {0.7, 0.95}};
    ds_random rng = ds_random_open(6, "values", 0);
    for (int k = 0; k < 2; k++) {
        const double b1 = decay[k][0], b2 = decay[k][1];
        float g[N], m[N], v[N], w[N], before[3][N], y[N], d[N];
        double sum = 0, exact = 0;
        for (int i = 0; i < N; i++) {
            g[i] = (float)ds_random_normal(&rng);
            m[i] = before[0][i] = (float)ds_random_normal(&rng);
            v[i] = before[1][i] = (float)ds_random_uniform(&rng) + 0.1f;
            w[i] = before[2][i] = (float)ds_random_normal(&rng);
            y[i] = (float)(2 * ds_random_uniform(&rng) - 1);
            d[i] = g[i];
            exact += (double)g[i] * (double)g[i];
        }
        loop_squares(N, g, &sum);
        assert_true(fabs(sum - exact) <= 1e-14 * exact);
        loop_tanh_slope(N, y, d);
        loop_adam(N, 0.5f, (float)b1, (float)b2, 0.01f, 1.3f, 1e-8f, g, m, v, w);
        for (int i = 0; i < N; i++) {
            const double at = 0.5 * (double)g[i], first = b1 * (double)before[0][i] + (1 - b1) * at,
                         second = b2 * (double)before[1][i] + (1 - b2) * at * at;
            const double to = (double)before[2][i] - 0.01 * first / (1.3 * sqrt(second) + 1e-8);
            assert_true(fabs((double)m[i] - first) <= 3e-7 && fabs((double)v[i] - second) <= 3e-7 &&
                        fabs((double)w[i] - to) <= 5e-7);
            assert_true(fabs((double)d[i] - (double)g[i] * (1 - (double)y[i] * (double)y[i])) <= 1e-6);
        }
    }
}

/* Adam with the slowest decays that parameters allow agrees with double precision to the last digits of the
 * weights; 1 - 0.999999 in single precision is off by 1.3 %. */
static void test_slow_decays(void **state)
{
    enum { N = 19, STEPS = 3000 };
    static const double decay[][2] = {{0.9, 0.999}, {0.9, 0.99999}, {0.9, 0.999999}, {0.999999, 0.999999}};
    for (size_t k = 0; k < sizeof decay / sizeof *decay; k++) {
        ds_random rng = ds_random_open(7, "decays", 0);
        const double b1 = decay[k][0], b2 = decay[k][1];
        double m[N] = {0}, v[N] = {0}, worst[3] = {0};
        float w[N] = {0}, g[N];
        float_adam a;
        assert_true(float_adam_init(&a, N, 1e-8));
        a.beta1 = b1;
        a.beta2 = b2;
        for (int t = 1; t <= STEPS; t++) {
            for (size_t i = 0; i < N; i++) {
                g[i] = (float)(1.0 + ds_random_uniform(&rng));
                w[i] = 0.0f;
                m[i] = b1 * m[i] + (1.0 - b1) * (double)g[i];
                v[i] = b2 * v[i] + (1.0 - b2) * (double)g[i] * (double)g[i];
            }
            float_adam_step(&a, 0.01, 1.0, g, w);
            for (size_t i = 0; i < N; i++) {
                const double to = 0.01 * m[i] / (1.0 - pow(b1, t)) / (sqrt(v[i] / (1.0 - pow(b2, t))) + 1e-8);
                worst[0] = fmax(worst[0], fabs((double)a.m[i] / m[i] - 1.0));
                worst[1] = fmax(worst[1], fabs((double)a.v[i] / v[i] - 1.0));
                worst[2] = fmax(worst[2], fabs((double)-w[i] / to - 1.0));
            }
        }
        print_message("# decays %g and %g: moments to %.1g and %.1g, steps to %.1g\n", b1, b2, worst[0],
                      worst[1], worst[2]);
        assert_true(worst[0] < 5e-5 && worst[1] < 5e-5 && worst[2] < 5e-5);
        float_adam_free(&a);
    }
}

RUN_TESTS(test_same_bits, test_products, test_values, test_slow_decays)
