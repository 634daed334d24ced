/* SPDX-License-Identifier: Apache-2.0 */
/* test_products.c - the products of bayes/products.h have the bits of OpenBLAS's kernels for Nehalem, for odd
 * sizes, sums in two parts, and sizes that OpenBLAS itself computes. */
#include "config.h"

#include "common/isa.h"
#include "methods/base/blas.h"
#include "methods/bayes/products.h"
#include "test.h"

#include <stdint.h>
#include <unistd.h>

enum { SIDE = 520, GAP = 3 /* columns are farther apart than they are long */ };

static double given[SIDE * (SIDE + GAP)], other[SIDE * (SIDE + GAP)], result[2][SIDE * (SIDE + GAP)];
static int is_wide, set = ISA_AVX512;

static void fill(double *a, uint32_t state)
{
    for (size_t k = 0; k < sizeof given / sizeof *given; k++) {
        state = state * 1664525u + 1013904223u;
        a[k] = (double)(state >> 4) * 0x1p-27 - 1.0;
    }
}

typedef void product(int n, int k, double *c);

static void gram_new(int n, int k, double *c)
{
    products_gram(n, k, -2.0, given, SIDE, 0.0, c, SIDE + GAP);
}

static void gram_added(int n, int k, double *c)
{
    products_gram(n, k, -1.0, given, SIDE, 1.0, c, SIDE + GAP);
}

static void left_transposed(int n, int k, double *c)
{
    products_left_transposed(k, n, given, SIDE, c, SIDE + GAP);
}

static void left_negative(int n, int k, double *c)
{
    products_left_negative(k, n, given, SIDE, c, SIDE + GAP);
}

static void right(int n, int k, double *c)
{
    products_right(k, n, 2.0, given, SIDE, c, SIDE + GAP);
}

static void square(int n, int k, double *c)
{
    (void)k;
    products_square(n, c, SIDE + GAP);
}

/* n x k results; the diagonal of `given` is large here, so that no solution overflows. */
static void solve_transposed(int n, int k, double *c)
{
    products_solve_transposed(n, k, given, SIDE, c, SIDE + GAP);
}

static void solve(int n, int k, double *c)
{
    products_solve(n, k, given, SIDE, c, SIDE + GAP);
}

static void narrow_transposed(int n, int k, double *c)
{
    products_narrow_transposed(n, k, n, -2.0, given, SIDE, other, SIDE + GAP, c, SIDE + GAP);
}

static void narrow(int n, int k, double *c)
{
    products_narrow(60, k, n, given, SIDE, other, SIDE + GAP, c, SIDE + GAP);
}

static void compare(product *p, int n, int k)
{
    for (int wide = 0; wide < 2; wide++) {
        products_set(wide ? set : ISA_BASELINE);
        memcpy(result[wide], other, sizeof other);
        p(n, k, result[wide]);
    }
    if (memcmp(result[0], result[1], sizeof other) != 0) {
        print_message("n = %d, k = %d\n", n, k);
        fail();
    }
}

static void compare_sizes(product *p)
{
    static const int sizes[] = {1,   7,   23,  24,  25,  31,  33,  48,  63,  65,  97, 128,
                                130, 155, 199, 255, 256, 257, 310, 501, 504, 505, 515};
    static const int terms[] = {5, 24, 37, 64, 111, 200, 250, 256, 259};
    if (!is_wide) {
        skip(); /* no wide vectors, or no OpenBLAS with these kernels */
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        compare(p, sizes[i], terms[i % (sizeof terms / sizeof *terms)]);
        compare(p, sizes[i], terms[(5 * i + 3) % (sizeof terms / sizeof *terms)]);
    }
}

static void test_gram(void **unused)
{
    compare_sizes(gram_new);
    compare_sizes(gram_added);
}

static void test_left(void **unused)
{
    compare_sizes(left_transposed);
    compare_sizes(left_negative);
}

/* With half the lanes. */
static void test_short_vectors(void **unused)
{
    set = ISA_AVX2;
    compare_sizes(gram_new);
    compare_sizes(right);
    set = ISA_AVX512;
}

static void test_right(void **unused)
{
    compare_sizes(right);
}

static void test_square(void **unused)
{
    compare_sizes(square);
}

/* All rests of eight columns, and orders with one and several blocks, with an odd last row and without. */
static void test_few_columns(void **unused)
{
    static const int orders[] = {1,   2,   3,   5,   6,   7,   30,  31,  63, 64,
                                 200, 255, 256, 257, 301, 486, 511, 512, 515};
    static const int columns[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 24, 25, 31, 64};
    if (!is_wide) {
        skip(); /* no wide vectors, or no OpenBLAS with these kernels */
    }
    for (size_t i = 0; i < SIDE; i++) {
        given[i * (SIDE + 1)] += 30.0;
    }
    for (size_t n = 0; n < sizeof orders / sizeof *orders; n++) {
        for (size_t q = n % 2; q < sizeof columns / sizeof *columns; q += 2) {
            compare(solve_transposed, orders[n], columns[q]);
            compare(solve, orders[n], columns[q]);
            compare(narrow_transposed, orders[n], columns[q]);
            compare(narrow, orders[n], columns[q]);
        }
    }
    fill(given, 1);
}

/* The solutions solve, with every kernel of OpenBLAS. */
static void test_solutions(void **unused)
{
    enum { N = 37, Q = 5 };
    products_set(ISA_AVX512);
    for (size_t i = 0; i < SIDE; i++) {
        given[i * (SIDE + 1)] += 30.0;
    }
    memcpy(result[0], other, sizeof other);
    products_solve_transposed(N, Q, given, SIDE, result[0], SIDE + GAP);
    memcpy(result[1], other, sizeof other);
    products_solve(N, Q, given, SIDE, result[1], SIDE + GAP);
    for (size_t j = 0; j < Q; j++) {
        for (size_t i = 0; i < N; i++) {
            double down = 0.0, up = 0.0;
            for (size_t l = 0; l <= i; l++) {
                down += given[l + i * SIDE] * result[0][l + j * (SIDE + GAP)];
            }
            for (size_t l = i; l < N; l++) {
                up += given[i + l * SIDE] * result[1][l + j * (SIDE + GAP)];
            }
            assert_true(fabs(down - other[i + j * (SIDE + GAP)]) < 1e-12);
            assert_true(fabs(up - other[i + j * (SIDE + GAP)]) < 1e-12);
        }
    }
    fill(given, 1);
}

/* With every kernel of OpenBLAS the functions compute what they say. */
static void test_values(void **unused)
{
    enum { H = 29, M = 40 };
    products_set(ISA_AVX512);
    memcpy(result[0], other, sizeof other);
    products_left_transposed(H, M, given, SIDE, result[0], SIDE + GAP);
    memcpy(result[1], other, sizeof other);
    products_right(H, M, 2.0, given, SIDE, result[1], SIDE + GAP);
    for (size_t j = 0; j < M; j++) {
        for (size_t i = 0; i < H; i++) {
            double left_sum = 0.0, right_sum = 0.0;
            for (size_t l = 0; l <= i; l++) {
                left_sum += given[l + i * SIDE] * other[l + j * (SIDE + GAP)];
            }
            for (size_t l = 0; l <= j; l++) {
                right_sum += 2.0 * other[i + l * (SIDE + GAP)] * given[l + j * SIDE];
            }
            assert_true(fabs(result[0][i + j * (SIDE + GAP)] - left_sum) < 1e-12);
            assert_true(fabs(result[1][i + j * (SIDE + GAP)] - right_sum) < 1e-12);
        }
    }
}

/* OpenBLAS reads the variable when it is loaded: starts this program again with it. */
__attribute__((constructor)) static void choose_kernels(void)
{
    static char program[] = "/proc/self/exe";
    static char *const argv[] = {program, NULL};
    const char *kernels = getenv("OPENBLAS_CORETYPE");
    if (kernels == NULL || strcmp(kernels, "Nehalem") != 0) {
        setenv("OPENBLAS_CORETYPE", "Nehalem", 1);
        execv(program, argv);
    }
}

static int set_up(void **unused)
{
    openblas_set_num_threads(1);
    fill(given, 1);
    fill(other, 2);
    is_wide = products_set(ISA_AVX512);
    return 0;
}

RUN_TESTS_WITH(set_up, NULL, test_gram, test_left, test_right, test_square, test_short_vectors,
               test_few_columns, test_solutions, test_values)
