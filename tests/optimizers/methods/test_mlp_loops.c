/* SPDX-License-Identifier: Apache-2.0 */
/* test_mlp_loops - the loops of networks give the same bits with every instruction set, for sizes that fill
 * vectors and sizes that do not. */
#include "methods/rl/mlp_loops.h"

#include <diffsim/helper/random.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 37, NARROW = 7, WIDE = 131, COUNT = ROWS * WIDE };

typedef struct data {
    float x[ROWS * NARROW], w[NARROW * WIDE], b[WIDE], y[COUNT], d[COUNT], m[COUNT], v[COUNT];
} data;

/* Values of all sizes, with zeros and values that overflow when squared. */
static void fill(size_t count, float *to, ds_random *rng)
{
    for (size_t i = 0; i < count; i++) {
        float value = (float)(ds_random_normal(rng) * pow(10.0, 3.0 * ds_random_normal(rng)));
        to[i] = i % 11 == 5 ? 0.0f : (i % 97 == 13 ? 1e30f : value);
    }
}

/* Each loop once, on the first `width` columns and `narrow` rows of its arrays;
 * everything that came out in `out`. */
static void run_all(data *s, size_t narrow, size_t width, data *out)
{
    ds_random rng = ds_random_open(5, "loops", 1000 * narrow + width);
    size_t count = ROWS * width;
    fill(sizeof *s / sizeof(float), (float *)s, &rng);
    for (size_t i = 0; i < COUNT; i++) {
        s->v[i] = fminf(fabsf(s->v[i]), 1e30f);
    }
    *out = *s;
    loop_spread(ROWS, narrow, width, s->x, s->w, s->b, NULL, 1, out->y);
    loop_spread(ROWS, narrow, width, s->x, s->w, NULL, s->d, 0, out->m);
    loop_bias(ROWS, width, s->b, 0, out->y);
    loop_bias(ROWS, width, s->b, 1, out->y);
    loop_gather(ROWS, narrow, width, s->x, s->d, out->w, out->b);
    loop_relu_slope(count, out->y, out->d);
    loop_squash(count, s->y, out->v);
    loop_adam(count, 0.25f, 1e-3f, 0.7f, 1e-8f, s->d, s->m, s->v, s->y);
    loop_average(count, 0.005f, s->y, s->d);
}

static void test_same_bits(void **state)
{
    static const size_t widths[] = {1, 2, 7, 8, 15, 16, 17, 63, 64, 65, 128, WIDE};
    data *s = calloc(4, sizeof *s);
    int widest = loop_limit(2), compared = 0;
    (void)state;
    assert_non_null(s);
    for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
        for (size_t narrow = 1; narrow <= NARROW; narrow++) {
            loop_limit(0);
            run_all(&s[0], narrow, widths[k], &s[1]);
            for (int set = 1; set <= widest; set++) {
                assert_int_equal(loop_limit(set), set);
                run_all(&s[2], narrow, widths[k], &s[3]);
                assert_memory_equal(&s[0], &s[2], sizeof *s);
                assert_memory_equal(&s[1], &s[3], sizeof *s);
                compared++;
            }
        }
    }
    loop_limit(2);
    print_message("# %d comparisons; the widest set here is number %d\n", compared, widest);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
