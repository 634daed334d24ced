/* SPDX-License-Identifier: Apache-2.0 */
/* products.c - see products.h.
 *
 * The kernel of OpenBLAS for Nehalem computes blocks of 2 rows and 8 columns. Each element is one sum in
 * ascending order, without fused multiply-add, over at most 256 terms; then C = C + alpha * sum. So wide
 * vectors may hold any rows. The last row of an odd number and the columns after the last eight have several
 * partial sums: OpenBLAS computes those, except in products with few columns. Zeros in the place of the
 * other triangle, which it adds too, do not change a sum. The first call compares all functions with
 * OpenBLAS, which may be another version. */
#include "methods/bayes/products.h"

#include "methods/base/blas.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define ISA_X86 1
#endif

#include "common/isa.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    PANEL = 8,        /* columns of a block, half of its rows */
    TERMS_MOST = 256, /* OpenBLAS divides longer sums */
    SIDE_LEAST = 24,  /* below, packing costs more than it gains */
    SIDE_MOST = 504,  /* rows that OpenBLAS packs at once */
    PARTS = 4         /* of a side in dlauum */
};

typedef double block[PANEL][2 * PANEL]; /* by columns */

/* ---- the kernel ---- */

/* sum[j][i] = the sum of a[l][i] b[l][j] over l, where rows from PANEL on are those of `a2`. */
typedef void kernel(size_t terms, const double *a, const double *a2, const double *b, block sum);

#ifdef ISA_X86
#define KERNEL(name, target, width, parts)                                                                   \
    target static void name(size_t terms, const double *a, const double *a2, const double *b, block sum)     \
    {                                                                                                        \
        typedef double wide __attribute__((vector_size(8 * (width)), aligned(8), may_alias));                \
        for (size_t from = 0; from < 2 * PANEL; from += (size_t)(width) * (parts)) {                         \
            const double *row[2] = {from < PANEL ? a + from : a2 + (from - PANEL), a2};                      \
            wide s[parts][PANEL] = {{{0.0}}};                                                                \
            for (size_t l = 0; l < terms * PANEL; l += PANEL) {                                              \
                _Pragma("GCC unroll 2") for (size_t p = 0; p < (parts); p++)                                 \
                {                                                                                            \
                    const wide r = *(const wide *)(const void *)(row[p] + l);                                \
                    _Pragma("GCC unroll 8") for (size_t j = 0; j < PANEL; j++)                               \
                    {                                                                                        \
                        s[p][j] += r * b[l + j];                                                             \
                    }                                                                                        \
                }                                                                                            \
            }                                                                                                \
            _Pragma("GCC unroll 2") for (size_t p = 0; p < (parts); p++)                                     \
            {                                                                                                \
                _Pragma("GCC unroll 8") for (size_t j = 0; j < PANEL; j++)                                   \
                {                                                                                            \
                    *(wide *)(void *)(&sum[j][from + p * PANEL]) = s[p][j];                                  \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }

KERNEL(kernel_avx2, __attribute__((target("avx2"))), 4, 1)
KERNEL(kernel_avx512, __attribute__((target("avx512f,avx512dq,avx512vl"))), 8, 2)
#endif

static atomic_int widest = ISA_AVX512; /* that may be used */

static kernel *wide_kernel(void)
{
#ifdef ISA_X86
    const int here = isa_widest(), most = atomic_load(&widest), set = here < most ? here : most;
    return set == ISA_AVX512 ? kernel_avx512 : set == ISA_AVX2 ? kernel_avx2 : NULL;
#else
    return NULL;
#endif
}

/* ---- packing ---- */

/* Element i of term l at data[i * across + l * along]. */
typedef struct source {
    const double *data;
    size_t across, along;
    enum { ALL, TERMS_TO_I, TERMS_FROM_I } kind; /* terms of element i: l <= i, l >= i; the others are 0 */
} source;

/* All terms of PANEL elements after the other: out[l][i]. Elements from `count` on are 0. */
static void pack_panel(const source *s, size_t first, size_t count, size_t terms, double *out)
{
    /* From `low` to `high` all elements have a term. */
    const size_t low = s->kind == TERMS_FROM_I ? first + PANEL - 1 : 0;
    const size_t high = s->kind == TERMS_TO_I && first + 1 < terms ? first + 1 : terms;
    for (size_t l = 0; l < terms; l++, out += PANEL) {
        const double *data = s->data + first * s->across + l * s->along;
        if (count >= PANEL && l >= low && l < high) {
            for (size_t i = 0; i < PANEL; i++) {
                out[i] = data[i * s->across];
            }
            continue;
        }
        for (size_t i = 0; i < PANEL; i++) {
            const int absent = i >= count || (s->kind == TERMS_FROM_I && l < first + i) ||
                               (s->kind == TERMS_TO_I && l > first + i);
            out[i] = absent ? 0.0 : data[i * s->across];
        }
    }
}

static size_t panels_of(size_t n)
{
    return (n + PANEL - 1) / PANEL;
}

static void pack_all(const source *s, size_t n, size_t terms, double *out)
{
    for (size_t p = 0; p < panels_of(n); p++) {
        pack_panel(s, p * PANEL, n - p * PANEL < PANEL ? n - p * PANEL : PANEL, terms,
                   out + p * terms * PANEL);
    }
}

/* To be freed; NULL without memory. */
static double *pack(const source *s, size_t n, size_t terms)
{
    double *out = malloc((panels_of(n) * terms + 1) * PANEL * sizeof *out);
    if (out != NULL) {
        pack_all(s, n, terms, out);
    }
    return out;
}

/* Sets `sum` to the products of the rows from i on (two panels, or the last one alone) and the packed
 * columns, for the terms `from` to `to`. */
static void multiply(kernel *run, const double *rows, size_t row_panels, size_t i, const double *columns,
                     size_t terms, size_t from, size_t to, block sum)
{
    const double *a = rows + (i / PANEL * terms + from) * PANEL;
    run(to - from, a, i / PANEL + 1 < row_panels ? a + terms * PANEL : a, columns + from * PANEL, sum);
}

/* Whether this kernel computes a product; NULL: it does not. */
static int fits(kernel *run, int rows, int columns, int terms)
{
    return run != NULL && rows >= SIDE_LEAST && columns >= SIDE_LEAST && terms >= SIDE_LEAST &&
           rows <= SIDE_MOST && columns <= SIDE_MOST && terms <= TERMS_MOST;
}

/* ---- C = alpha A^T A + beta C ---- */

/* Columns that are whole panels of C += alpha A^T A, the upper triangle. 0 without memory. */
static int gram_panels(kernel *run, const source *s, int n, int k, double alpha, double beta, double *c,
                       int ldc)
{
    const size_t whole = (size_t)n / PANEL * PANEL, terms = (size_t)k;
    double *packed = pack(s, whole, terms);
    block sum;
    for (size_t j = 0; packed != NULL && j < whole; j += PANEL) {
        for (size_t i = 0; i < j + PANEL; i += 2 * PANEL) {
            multiply(run, packed, whole / PANEL, i, packed + j * terms, terms, 0, terms, sum);
            for (size_t q = 0; q < PANEL; q++) {
                double *column = c + (j + q) * (size_t)ldc + i;
                const size_t rows = j + q + 1 - i < 2 * PANEL ? j + q + 1 - i : 2 * PANEL;
                for (size_t r = 0; r < rows && i <= j + q; r++) {
                    column[r] = (beta != 0.0 ? column[r] : 0.0) + alpha * sum[q][r];
                }
            }
        }
    }
    free(packed);
    return packed != NULL;
}

static void gram(kernel *run, int n, int k, double alpha, const double *a, int lda, double beta, double *c,
                 int ldc)
{
    const source s = {a, (size_t)lda, 1, ALL};
    const int whole = n / PANEL * PANEL, rest = n - whole;
    if (!fits(run, n, n, k) || !gram_panels(run, &s, n, k, alpha, beta, c, ldc)) {
        cblas_dsyrk(CblasColMajor, CblasUpper, CblasTrans, n, k, alpha, a, lda, beta, c, ldc);
        return;
    }
    if (rest > 0) {
        const double *last = a + (size_t)whole * (size_t)lda;
        double *column = c + (size_t)whole * (size_t)ldc;
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, whole, rest, k, alpha, a, lda, last, lda, beta,
                    column, ldc);
        cblas_dsyrk(CblasColMajor, CblasUpper, CblasTrans, rest, k, alpha, last, lda, beta, column + whole,
                    ldc);
    }
}

/* ---- B = T^T B, B = -T B ---- */

/* Columns that are whole panels, except for the last row of an odd number. */
static void left_columns(kernel *run, const double *packed, int h, int m, double alpha, int transposed,
                         double *b, int ldb)
{
    const size_t whole = (size_t)m / PANEL * PANEL, terms = (size_t)h, rows = terms / 2 * 2;
    double column[TERMS_MOST * PANEL];
    block sum;
    for (size_t j = 0; j < whole; j += PANEL) {
        const source s = {b, (size_t)ldb, 1, ALL};
        pack_panel(&s, j, PANEL, terms, column);
        for (size_t l = 0; alpha != 1.0 && l < terms * PANEL; l++) {
            column[l] *= alpha;
        }
        for (size_t i = 0; i < rows; i += 2 * PANEL) {
            const size_t end = i + 2 * PANEL < terms ? i + 2 * PANEL : terms;
            multiply(run, packed, panels_of(terms), i, column, terms, transposed ? 0 : i,
                     transposed ? end : terms, sum);
            for (size_t q = 0; q < PANEL; q++) {
                memcpy(b + (j + q) * (size_t)ldb + i, sum[q],
                       ((end < rows ? end : rows) - i) * sizeof(double));
            }
        }
    }
}

/* The last row of an odd number, to `out`. */
static void left_last_row(int h, int whole, double alpha, int transposed, const double *upper, int ld,
                          const double *b, int ldb, double *out)
{
    const double *last = upper + (size_t)(h - 1) * (size_t)ld;
    if (transposed) {
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, 1, whole, h, 1.0, last, ld, b, ldb, 0.0, out, 1);
        return;
    }
    for (int j = 0; j < whole; j++) {
        out[j] = 0.0 + last[h - 1] * (alpha * b[(size_t)j * (size_t)ldb + (size_t)h - 1]);
    }
}

static void left(kernel *run, int h, int m, double alpha, int transposed, const double *upper, int ld,
                 double *b, int ldb)
{
    const source s = {upper, transposed ? (size_t)ld : 1, transposed ? 1 : (size_t)ld,
                      transposed ? TERMS_TO_I : TERMS_FROM_I};
    const CBLAS_TRANSPOSE flag = transposed ? CblasTrans : CblasNoTrans;
    double *packed = fits(run, h, m, h) ? pack(&s, (size_t)h, (size_t)h) : NULL;
    const int whole = packed != NULL ? m / PANEL * PANEL : 0;
    double row[SIDE_MOST];
    if (packed != NULL) {
        if (h % 2 != 0) {
            left_last_row(h, whole, alpha, transposed, upper, ld, b, ldb, row);
        }
        left_columns(run, packed, h, m, alpha, transposed, b, ldb);
        for (int j = 0; h % 2 != 0 && j < whole; j++) {
            b[(size_t)j * (size_t)ldb + (size_t)h - 1] = row[j];
        }
        free(packed);
    }
    if (whole < m) {
        cblas_dtrmm(CblasColMajor, CblasLeft, CblasUpper, flag, CblasNonUnit, h, m - whole, alpha, upper, ld,
                    b + (size_t)whole * (size_t)ldb, ldb);
    }
}

/* ---- B = B T, B = B T^T ---- */

/* What a call of right() works on: at most TERMS_MOST columns at once. */
typedef struct right_call {
    int rows; /* an even number */
    int transposed;
    const double *upper;
    size_t ld;
    double *b;
    size_t ldb;
    kernel *run;
    double *packed;                 /* rows of B */
    double edge[SIDE_MOST * PANEL]; /* columns after the last panel */
} right_call;

/* Columns c to c + width of a block (`from`, `terms`): 4, 2 or 1 after its last panel. */
static void edge_piece(right_call *r, int from, int terms, int c, int width, double *out)
{
    double part[TERMS_MOST * 4];
    const int begin = r->transposed ? c : 0, end = r->transposed ? terms : c + width, k = end - begin;
    for (int j = 0; j < width; j++) {
        for (int l = begin; l < end; l++) {
            const size_t row = (size_t)(from + (r->transposed ? c + j : l));
            const size_t column = (size_t)(from + (r->transposed ? l : c + j));
            part[j * k + l - begin] = row <= column ? r->upper[row + column * r->ld] : 0.0;
        }
    }
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, r->rows, width, k, 1.0,
                r->b + (size_t)(from + begin) * r->ldb, (int)r->ldb, part, k, 0.0, out, r->rows);
}

/* Columns of B from `from` on, `terms` of them, times their triangle; then what they add to the columns up to
 * m. */
static void right_block(right_call *r, int from, int terms, int m)
{
    const size_t rows = (size_t)r->rows, n = (size_t)terms, whole = n / PANEL * PANEL, rest = n - whole;
    const size_t after = (size_t)m - (size_t)from - n, after_whole = after / PANEL * PANEL;
    const source b = {r->b + (size_t)from * r->ldb, 1, r->ldb, ALL};
    const double *corner = r->upper + (size_t)from * (r->ld + 1);
    const source t = {corner, r->transposed ? 1 : r->ld, r->transposed ? r->ld : 1,
                      r->transposed ? TERMS_FROM_I : TERMS_TO_I};
    const source beside = {corner + n * r->ld, r->ld, 1, ALL};
    double column[TERMS_MOST * PANEL];
    double *const next = r->b + ((size_t)from + n) * r->ldb;
    block sum;
    size_t done = 0;
    pack_all(&b, rows, n, r->packed);
    for (int width = 4; width > 0; width /= 2) {
        if ((rest & (size_t)width) != 0) {
            edge_piece(r, from, terms, (int)(whole + done), width, r->edge + done * rows);
            done += (size_t)width;
        }
    }
    if (after > after_whole) {
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, r->rows, (int)(after - after_whole), terms,
                    1.0, b.data, (int)r->ldb, beside.data + after_whole * r->ld, (int)r->ld, 1.0,
                    next + after_whole * r->ldb, (int)r->ldb);
    }
    for (size_t j = 0; j < whole + after_whole; j += PANEL) {
        const int inside = j < whole;
        const size_t begin = inside && r->transposed ? j : 0;
        const size_t end = inside && !r->transposed ? j + PANEL : n;
        pack_panel(inside ? &t : &beside, inside ? j : j - whole, PANEL, n, column);
        for (size_t i = 0; i < rows; i += 2 * PANEL) {
            multiply(r->run, r->packed, panels_of(rows), i, column, n, begin, end, sum);
            const size_t count = rows - i < 2 * PANEL ? rows - i : 2 * PANEL;
            for (size_t q = 0; q < PANEL; q++) {
                double *out =
                    inside ? r->b + ((size_t)from + j + q) * r->ldb + i : next + (j - whole + q) * r->ldb + i;
                for (size_t k = 0; k < count; k++) {
                    out[k] = inside ? sum[q][k] : out[k] + sum[q][k];
                }
            }
        }
    }
    for (size_t q = 0; q < rest; q++) {
        memcpy(r->b + ((size_t)from + whole + q) * r->ldb, r->edge + q * rows, rows * sizeof(double));
    }
}

/* 0 = not done. */
static int right(kernel *run, int h, int m, double alpha, int transposed, const double *upper, int ld,
                 double *b, int ldb)
{
    const int terms = m < TERMS_MOST ? m : TERMS_MOST;
    right_call *r = fits(run, h, m, terms) ? malloc(sizeof *r) : NULL;
    double row[SIDE_MOST];
    if (r != NULL) {
        r->packed = malloc(panels_of((size_t)h) * PANEL * (size_t)terms * sizeof(double));
    }
    if (r == NULL || r->packed == NULL) {
        free(r);
        return 0;
    }
    r->run = run;
    r->rows = h / 2 * 2;
    r->transposed = transposed;
    r->upper = upper;
    r->ld = (size_t)ld;
    r->b = b;
    r->ldb = (size_t)ldb;
    for (int j = 0; j < m; j++) {
        double *column = b + (size_t)j * r->ldb;
        row[j] = column[h - 1];
        for (int i = 0; i < h && alpha != 1.0; i++) {
            column[i] *= alpha;
        }
    }
    if (h % 2 != 0) {
        cblas_dtrmm(CblasColMajor, CblasRight, CblasUpper, transposed ? CblasTrans : CblasNoTrans,
                    CblasNonUnit, 1, m, alpha, upper, ld, row, 1);
    }
    for (int from = (m - 1) / TERMS_MOST * TERMS_MOST; from >= 0; from -= TERMS_MOST) {
        right_block(r, from, m - from < TERMS_MOST ? m - from : TERMS_MOST, m);
    }
    for (int j = 0; h % 2 != 0 && j < m; j++) {
        b[(size_t)j * r->ldb + (size_t)h - 1] = row[j];
    }
    free(r->packed);
    free(r);
    return 1;
}

static void right_of(kernel *run, int h, int m, double alpha, int transposed, const double *upper, int ld,
                     double *b, int ldb)
{
    if (!right(run, h, m, alpha, transposed, upper, ld, b, ldb)) {
        cblas_dtrmm(CblasColMajor, CblasRight, CblasUpper, transposed ? CblasTrans : CblasNoTrans,
                    CblasNonUnit, h, m, alpha, upper, ld, b, ldb);
    }
}

/* ---- A = A A^T ---- */

/* What `bk` columns from i on add to the triangle before them; then their product with their own triangle. */
static void square_step(kernel *run, int i, int bk, double *a, int ld)
{
    double *c = a + (size_t)i * (size_t)ld, *own = c + i;
    const source s = {c, 1, (size_t)ld, ALL};
    const int whole = i / PANEL * PANEL, rest = i - whole;
    double *edge = a + (size_t)whole * (size_t)ld;
    if (!fits(run, i, i, bk) || !gram_panels(run, &s, i, bk, 1.0, 1.0, a, ld)) {
        cblas_dsyrk(CblasColMajor, CblasUpper, CblasNoTrans, i, bk, 1.0, c, ld, 1.0, a, ld);
    } else if (rest > 0) {
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, whole, rest, bk, 1.0, c, ld, c + whole, ld, 1.0,
                    edge, ld);
        cblas_dsyrk(CblasColMajor, CblasUpper, CblasNoTrans, rest, bk, 1.0, c + whole, ld, 1.0, edge + whole,
                    ld);
    }
    right_of(run, i, bk, 1.0, 1, own, ld, c, ld);
}

static void square(kernel *run, int n, double *a, int ld)
{
    const int part = (n + PARTS - 1) / PARTS;
    int info;
    if (run == NULL || n > SIDE_MOST || part < SIDE_LEAST) {
        dlauum_("U", &n, a, &ld, &info, 1);
        return;
    }
    for (int i = 0; i < n; i += part) {
        int bk = n - i < part ? n - i : part;
        if (i > 0) {
            square_step(run, i, bk, a, ld);
        }
        dlauum_("U", &bk, a + (size_t)i * (size_t)(ld + 1), &ld, &info, 1);
    }
}

/* ---- few columns ---- */

/* With few columns, such as the points of a prediction, OpenBLAS spends most of the time on packing the
 * matrix. Its kernels for 8, 4, 2 and 1 columns add up differently: with k terms, in pairs of rows
 *
 *     8, 4    one sum
 *     2, 1    of each four terms the sum of the second and fourth plus that of the first and third, the very
 *             last of the fours last; then what is left of k / 4
 *
 * and in the last row of an odd number
 *
 *     8       one sum
 *     4, 2    the first and third plus the second and fourth; what is left of k / 4 belongs to the former
 *     1       (the first + the third) + what is left, plus (the second + the fourth) */

enum {
    FEW_MOST = 24, /* columns at once, eights */
    FEW_ROWS = 4,  /* at once */
    LANES = 4      /* of a vector */
};

typedef double few_sums[FEW_ROWS][FEW_MOST];

/* sum[i][j] = the sum of a[i across + l along] x[l lanes + j] over l, of `rows` rows, an even number. Lanes
 * from `plain` on are those of 2 and 1 columns. */
typedef struct few_call {
    const double *x;
    size_t lanes, plain; /* multiples of LANES */
} few_call;
typedef void few_kernel(const few_call *f, size_t rows, size_t terms, const double *a, size_t across,
                        size_t along, few_sums sum);

#ifdef ISA_X86
#define AVX2 __attribute__((target("avx2")))
typedef double lanes4 __attribute__((vector_size(32), aligned(8), may_alias));

/* One sum for each of `rows` rows and `vectors` vectors of lanes from j on. */
#define PLAIN_SUMS(rows, vectors)                                                                            \
    AVX2 static inline void plain_##rows##_##vectors(const few_call *f, size_t terms, const double *a,       \
                                                     size_t across, size_t along, size_t j, few_sums sum)    \
    {                                                                                                        \
        lanes4 s[rows][vectors] = {{{0.0}}};                                                                 \
        const double *x = f->x + j;                                                                          \
        for (size_t l = 0; l < terms; l++, x += f->lanes, a += along) {                                      \
            _Pragma("GCC unroll 4") for (size_t i = 0; i < (rows); i++)                                      \
            {                                                                                                \
                _Pragma("GCC unroll 2") for (size_t v = 0; v < (vectors); v++)                               \
                {                                                                                            \
                    s[i][v] += a[i * across] * *(const lanes4 *)(const void *)(x + v * LANES);               \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
        for (size_t i = 0; i < (rows); i++) {                                                                \
            for (size_t v = 0; v < (vectors); v++) {                                                         \
                *(lanes4 *)(void *)(sum[i] + j + v * LANES) = s[i][v];                                       \
            }                                                                                                \
        }                                                                                                    \
    }

PLAIN_SUMS(2, 1)
PLAIN_SUMS(2, 2)
PLAIN_SUMS(4, 1)
PLAIN_SUMS(4, 2)

/* The last lanes, of 2 and 1 columns. */
#define SPLIT_SUMS(rows)                                                                                     \
    AVX2 static inline void split_##rows(const few_call *f, size_t terms, const double *a, size_t across,    \
                                         size_t along, size_t j, few_sums sum)                               \
    {                                                                                                        \
        lanes4 odd[rows] = {{0.0}}, even[rows] = {{0.0}}, last[rows] = {{0.0}};                              \
        const double *x = f->x + j;                                                                          \
        for (size_t l = 0; l < terms / 4; l++) {                                                             \
            _Pragma("GCC unroll 2") for (size_t half = 0; half < 2; half++)                                  \
            {                                                                                                \
                const lanes4 first = *(const lanes4 *)(const void *)x;                                       \
                const lanes4 second = *(const lanes4 *)(const void *)(x + f->lanes);                         \
                _Pragma("GCC unroll 4") for (size_t i = 0; i < (rows); i++)                                  \
                {                                                                                            \
                    odd[i] += last[i];                                                                       \
                    even[i] += a[i * across] * first;                                                        \
                    last[i] = a[i * across + along] * second;                                                \
                }                                                                                            \
                x += 2 * f->lanes;                                                                           \
                a += 2 * along;                                                                              \
            }                                                                                                \
        }                                                                                                    \
        for (size_t i = 0; i < (rows); i++) {                                                                \
            odd[i] = odd[i] + even[i] + last[i];                                                             \
        }                                                                                                    \
        for (size_t l = 0; l < terms % 4; l++, x += f->lanes, a += along) {                                  \
            for (size_t i = 0; i < (rows); i++) {                                                            \
                odd[i] += a[i * across] * *(const lanes4 *)(const void *)x;                                  \
            }                                                                                                \
        }                                                                                                    \
        for (size_t i = 0; i < (rows); i++) {                                                                \
            *(lanes4 *)(void *)(sum[i] + j) = odd[i];                                                        \
        }                                                                                                    \
    }

SPLIT_SUMS(2)
SPLIT_SUMS(4)

AVX2 static void few_avx2(const few_call *f, size_t rows, size_t terms, const double *a, size_t across,
                          size_t along, few_sums sum)
{
    size_t j = 0;
    for (; j + 2 * LANES <= f->plain; j += 2 * LANES) {
        (rows == 4 ? plain_4_2 : plain_2_2)(f, terms, a, across, along, j, sum);
    }
    for (; j < f->plain; j += LANES) {
        (rows == 4 ? plain_4_1 : plain_2_1)(f, terms, a, across, along, j, sum);
    }
    if (j < f->lanes) {
        (rows == 4 ? split_4 : split_2)(f, terms, a, across, along, j, sum);
    }
}
#endif

/* A call: at most TERMS_MOST rows of the `columns` columns are in `x`. */
typedef struct few {
    few_call call;
    few_kernel *run;
    size_t columns;
    double *b; /* the columns, and how far they are apart */
    size_t ldb;
    double x[TERMS_MOST * FEW_MOST];
} few;

/* The sum for column j in the last row of an odd number. */
static double last_row_sum(const few *w, size_t j, size_t terms, const double *a, size_t along)
{
    const size_t rest = w->columns % 8, within = j - w->columns / 8 * 8;
    const int eight = j < w->columns - rest, alone = !eight && rest % 2 != 0 && within == rest - 1;
    const double *x = w->x + j;
    double part[4] = {0.0};
    for (size_t l = 0; l < terms; l++, x += w->call.lanes, a += along) {
        part[eight ? 0 : l >= terms / 4 * 4 ? 0 : alone ? l % 4 : l % 2] += *a * *x;
        if (alone && l + 1 == terms / 4 * 4) {
            part[0] += part[2];
            part[1] += part[3];
        }
    }
    return part[0] + part[1];
}

/* Rows `from` to `to` of the columns become c b + alpha times their sums. */
static void few_add(const few *w, size_t from, size_t to, size_t terms, const double *a, size_t across,
                    size_t along, double alpha, int keep)
{
    few_sums sum;
    size_t rows;
    for (size_t i = from; i < to; i += rows, a += rows * across) {
        rows = to - i >= FEW_ROWS ? FEW_ROWS : to - i >= 2 ? 2 : 1;
        if (rows == 1) {
            for (size_t j = 0; j < w->columns; j++) {
                sum[0][j] = last_row_sum(w, j, terms, a, along);
            }
        } else {
            w->run(&w->call, rows, terms, a, across, along, sum);
        }
        for (size_t j = 0; j < w->columns; j++) {
            double *column = w->b + j * w->ldb;
            for (size_t r = 0; r < rows; r++) {
                column[i + r] = (keep ? column[i + r] : 0.0) + alpha * sum[r][j];
            }
        }
    }
}

/* Sets rows i and, if `pair`, i + 1 to the solution, from their sums of the rows before (transposed) or
 * after them; `at` is the row of i in x. */
static void few_solve(few *w, size_t i, size_t at, int pair, int transposed, const double *upper, size_t ld,
                      const double *sum0, const double *sum1)
{
    const double *corner = upper + i * (ld + 1), own0 = 1.0 / corner[0];
    const double beside = pair ? corner[ld] : 0.0, own1 = pair ? 1.0 / corner[ld + 1] : 0.0;
    double *x = w->x + at * w->call.lanes;
    for (size_t j = 0; j < w->columns; j++) {
        double *b = w->b + j * w->ldb + i, first = b[0] - sum0[j], second;
        if (!pair) {
            first *= own0;
        } else if (transposed) {
            first *= own0;
            second = (b[1] - sum1[j] - beside * first) * own1;
        } else {
            second = (b[1] - sum1[j]) * own1;
            first = (first - beside * second) * own0;
        }
        b[0] = x[j] = first;
        if (pair) {
            b[1] = x[w->call.lanes + j] = second;
        }
    }
}

/* Rows ls to ls + terms of B = R^{-T} B, where the rows before have been taken away. */
static void few_down(few *w, size_t ls, size_t terms, const double *upper, size_t ld)
{
    const size_t lanes = w->call.lanes;
    few_sums sum;
    for (size_t i = 0; i < terms; i += FEW_ROWS) {
        const double *a = upper + ls + (ls + i) * ld;
        const size_t left = terms - i, even = left >= FEW_ROWS ? FEW_ROWS : left / 2 * 2;
        if (even > 0) {
            w->run(&w->call, even, i, a, ld, 1, sum);
            few_solve(w, ls + i, i, 1, 1, upper, ld, sum[0], sum[1]);
        }
        for (size_t r = 2; r < even; r++) {
            for (size_t j = 0; j < w->columns; j++) {
                sum[r][j] += a[r * ld + i] * w->x[i * lanes + j];
                sum[r][j] += a[r * ld + i + 1] * w->x[(i + 1) * lanes + j];
            }
        }
        if (even > 2) {
            few_solve(w, ls + i + 2, i + 2, 1, 1, upper, ld, sum[2], sum[3]);
        }
        if (even < left && left < FEW_ROWS) {
            for (size_t j = 0; j < w->columns; j++) {
                sum[0][j] = last_row_sum(w, j, i + even, a + even * ld, 1);
            }
            few_solve(w, ls + i + even, i + even, 0, 1, upper, ld, sum[0], NULL);
        }
    }
}

/* The same of B = R^{-1} B, where the rows after have been taken away. */
static void few_up(few *w, size_t ls, size_t terms, const double *upper, size_t ld)
{
    static const double none[FEW_MOST];
    few_sums sum;
    size_t i = terms;
    if (terms % 2 != 0) {
        i--;
        few_solve(w, ls + i, i, 0, 0, upper, ld, none, NULL);
    }
    for (; i > 0; i -= 2) {
        few_call below = w->call;
        below.x += i * below.lanes;
        w->run(&below, 2, terms - i, upper + (ls + i - 2) + (ls + i) * ld, 1, ld, sum);
        few_solve(w, ls + i - 2, i - 2, 1, 0, upper, ld, sum[0], sum[1]);
    }
}

/* NULL: OpenBLAS computes it. */
static few *few_begin(few_kernel *run, int ldb)
{
    few *w = run != NULL ? malloc(sizeof *w) : NULL;
    if (w != NULL) {
        w->call.x = w->x;
        w->run = run;
        w->ldb = (size_t)ldb;
    }
    return w;
}

/* Takes the first of `left` columns from b on; as many as others hold whole eights. Returns how many. */
static int few_take(few *w, int left, double *b)
{
    w->columns = left < FEW_MOST ? (size_t)left : FEW_MOST;
    w->call.lanes = (w->columns + LANES - 1) / LANES * LANES;
    w->call.plain = w->columns / LANES * LANES;
    w->b = b;
    memset(w->x, 0, TERMS_MOST * w->call.lanes * sizeof(double)); /* lanes without a column */
    return (int)w->columns;
}

static void few_solves(few *w, int transposed, size_t n, const double *upper, size_t ld)
{
    for (size_t done = 0; done < n;) {
        const size_t left = n - done, terms = left < TERMS_MOST ? left : TERMS_MOST;
        const size_t ls = transposed ? done : left - terms;
        done += terms;
        if (transposed) {
            few_down(w, ls, terms, upper, ld);
            few_add(w, done, n, terms, upper + ls + done * ld, ld, 1, -1.0, 1);
        } else {
            few_up(w, ls, terms, upper, ld);
            few_add(w, 0, ls, terms, upper + ls * ld, 1, ld, -1.0, 1);
        }
    }
}

static void solve(few_kernel *run, int transposed, int n, int q, const double *upper, int ld, double *b,
                  int ldb)
{
    few *w = few_begin(run, ldb);
    if (w == NULL) {
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasUpper, transposed ? CblasTrans : CblasNoTrans,
                    CblasNonUnit, n, q, 1.0, upper, ld, b, ldb);
        return;
    }
    for (int j = 0; j < q;) {
        j += few_take(w, q - j, b + (size_t)j * (size_t)ldb);
        few_solves(w, transposed, (size_t)n, upper, (size_t)ld);
    }
    free(w);
}

/* C = alpha op(A) B, with the columns of C in `w`. Longer sums have parts, as in OpenBLAS. */
static void few_product(few *w, int transposed, size_t m, size_t k, double alpha, const double *a, size_t lda,
                        const double *b, size_t ldb)
{
    const size_t along = transposed ? 1 : lda, across = transposed ? lda : 1;
    size_t terms;
    for (size_t from = 0; from < k; from += terms) {
        const size_t left = k - from;
        terms = left >= 2 * TERMS_MOST ? TERMS_MOST : left > TERMS_MOST ? (left / 2 + 1) / 2 * 2 : left;
        for (size_t l = 0; l < terms; l++) {
            for (size_t j = 0; j < w->columns; j++) {
                w->x[l * w->call.lanes + j] = b[from + l + j * ldb];
            }
        }
        few_add(w, 0, m, terms, a + from * along, across, along, alpha, from > 0);
    }
}

/* C is m x q, op(A) m x k. */
static void narrow(few_kernel *run, int transposed, int m, int q, int k, double alpha, const double *a,
                   int lda, const double *b, int ldb, double *c, int ldc)
{
    few *w = few_begin(run, ldc);
    if (w == NULL) {
        cblas_dgemm(CblasColMajor, transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, m, q, k, alpha, a,
                    lda, b, ldb, 0.0, c, ldc);
        return;
    }
    for (int j = 0, taken; j < q; j += taken) {
        taken = few_take(w, q - j, c + (size_t)j * (size_t)ldc);
        few_product(w, transposed, (size_t)m, (size_t)k, alpha, a, (size_t)lda, b + (size_t)j * (size_t)ldb,
                    (size_t)ldb);
    }
    free(w);
}

/* ---- which way ---- */

/* Sides of the matrices of the comparison: of the factors, so that there are sums of two parts, and of the
 * results. */
enum { TRY = 271, TRY_OUT = 144, TRY_RESULTS = 8, TRY_FEW = 15 };

static void fill(double *a, size_t n)
{
    uint32_t state = 1;
    for (size_t k = 0; k < n; k++) {
        state = state * 1664525u + 1013904223u;
        a[k] = (double)state * 0x1p-31 - 1.0;
    }
}

/* The kernel for few columns that goes with a kernel. */
static few_kernel *few_of(kernel *run)
{
#ifdef ISA_X86
    return run != NULL ? few_avx2 : NULL;
#else
    (void)run;
    return NULL;
#endif
}

/* All functions; the results one after the other. */
static void compute(kernel *run, const double *given, double *out)
{
    const size_t size = TRY_OUT * TRY_OUT;
    memcpy(out, given, size * sizeof *out);
    for (size_t k = 1; k < TRY_RESULTS; k++) {
        memcpy(out + k * size, out, size * sizeof *out);
    }
    gram(run, 61, 43, -2.0, given, TRY, 0.0, out, TRY_OUT);
    gram(run, 61, 43, -1.0, given, TRY, 1.0, out + 70 * TRY_OUT, TRY_OUT);
    left(run, 61, 53, 1.0, 1, given, TRY, out + size, TRY_OUT);
    left(run, 60, 53, -1.0, 0, given, TRY, out + 2 * size, TRY_OUT);
    right_of(run, 35, TRY, 2.0, 0, given, TRY, out + 3 * size, 35);
    square(run, 143, out + 4 * size, TRY_OUT);
    solve(few_of(run), 1, TRY, TRY_FEW, given, TRY, out + 5 * size, TRY);
    solve(few_of(run), 0, TRY, TRY_FEW, given, TRY, out + 6 * size, TRY);
    narrow(few_of(run), 1, 61, TRY_FEW, TRY, -2.0, given, TRY, given, TRY, out + 7 * size, 61);
    narrow(few_of(run), 0, 61, TRY_FEW, TRY, 1.0, given, TRY, given, TRY, out + 7 * size + 61 * TRY_FEW, 61);
}

/* Whether the wide kernel has the bits of OpenBLAS. */
static int has_bits(kernel *run)
{
    const size_t given = TRY * TRY, results = TRY_RESULTS * TRY_OUT * TRY_OUT;
    double *a = malloc((given + 2 * results) * sizeof *a), *out = a + given;
    int same = 0;
    if (a != NULL) {
        fill(a, given);
        for (size_t i = 0; i < TRY; i++) {
            a[i * (TRY + 1)] += 30.0; /* or solutions would overflow */
        }
        compute(NULL, a, out);
        compute(run, a, out + results);
        same = memcmp(out, out + results, results * sizeof *a) == 0;
    }
    free(a);
    return same;
}

enum { UNKNOWN, OPENBLAS, WIDE };
static atomic_int way = UNKNOWN;

/* NULL = call OpenBLAS. */
static kernel *chosen(void)
{
    int now = atomic_load(&way);
    if (now == UNKNOWN) {
        kernel *const run = strcmp(openblas_get_corename(), "Nehalem") == 0 ? wide_kernel() : NULL;
        now = run != NULL && has_bits(run) ? WIDE : OPENBLAS;
        atomic_store(&way, now);
    }
    return now == WIDE ? wide_kernel() : NULL;
}

int products_set(int isa)
{
    atomic_store(&widest, isa);
    atomic_store(&way, UNKNOWN);
    return chosen() != NULL;
}

void products_gram(int n, int k, double alpha, const double *a, int lda, double beta, double *c, int ldc)
{
    gram(chosen(), n, k, alpha, a, lda, beta, c, ldc);
}

void products_left_transposed(int h, int m, const double *upper, int ld, double *b, int ldb)
{
    left(chosen(), h, m, 1.0, 1, upper, ld, b, ldb);
}

void products_left_negative(int h, int m, const double *upper, int ld, double *b, int ldb)
{
    left(chosen(), h, m, -1.0, 0, upper, ld, b, ldb);
}

void products_right(int h, int m, double alpha, const double *upper, int ld, double *b, int ldb)
{
    right_of(chosen(), h, m, alpha, 0, upper, ld, b, ldb);
}

void products_square(int n, double *a, int ld)
{
    square(chosen(), n, a, ld);
}

void products_solve_transposed(int n, int q, const double *upper, int ld, double *b, int ldb)
{
    solve(few_of(chosen()), 1, n, q, upper, ld, b, ldb);
}

void products_solve(int n, int q, const double *upper, int ld, double *b, int ldb)
{
    solve(few_of(chosen()), 0, n, q, upper, ld, b, ldb);
}

void products_narrow_transposed(int m, int q, int k, double alpha, const double *a, int lda, const double *b,
                                int ldb, double *c, int ldc)
{
    narrow(few_of(chosen()), 1, m, q, k, alpha, a, lda, b, ldb, c, ldc);
}

void products_narrow(int m, int q, int k, const double *a, int lda, const double *b, int ldb, double *c,
                     int ldc)
{
    narrow(few_of(chosen()), 0, m, q, k, 1.0, a, lda, b, ldb, c, ldc);
}
