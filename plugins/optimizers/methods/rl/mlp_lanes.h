/* SPDX-License-Identifier: Apache-2.0 */
/* mlp_lanes.h - the loops of mlp_loops.c that need vectors of exactly the size of a register; included once
 * for each number LANES of floats in one (4, 8, 16). A compiler keeps wider vectors in memory. Every element
 * goes through the same operations for every LANES. No include guard. */
#ifndef LANES
#error "define LANES before this file"
#endif

#define LANES_JOIN_(name, lanes) name##_##lanes
#define LANES_JOIN(name, lanes) LANES_JOIN_(name, lanes)
#define OF_LANES(name) LANES_JOIN(name, LANES)

#define vec OF_LANES(vec)
#define ivec OF_LANES(ivec)
#define half OF_LANES(half)
#define wide OF_LANES(wide)

typedef float vec __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int ivec __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef float half __attribute__((vector_size(2 * LANES), aligned(4), may_alias));
typedef double wide __attribute__((vector_size(4 * LANES)));

/* Macros, not functions: the instruction set decides how a vector is passed. */
#define LOAD(from) (*(const vec *)(const void *)(from))
#define STORE(to, value) (*(vec *)(void *)(to) = (value))
/* All lanes; adding to zeros would be an operation more, for -0. */
#if LANES == 16
#define SPLAT(a) ((vec){a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a})
#elif LANES == 8
#define SPLAT(a) ((vec){a, a, a, a, a, a, a, a})
#else
#define SPLAT(a) ((vec){a, a, a, a})
#endif
#if LANES == 16 && defined(ISA_X86)
#define FUSED(a, b, c) ((vec)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define FUSED_ONE(a, b, c) __builtin_fmaf(a, b, c)
#define LEAST(a, most) ((vec)_mm512_min_ps((__m512)(most), (__m512)(a)))
#define PICK_BELOW(a, limit, yes, no)                                                                        \
    ((vec)_mm512_mask_blend_ps(_mm512_cmp_ps_mask((__m512)(a), (__m512)(limit), _CMP_LT_OQ), (__m512)(no),   \
                               (__m512)(yes)))
#elif LANES == 8 && defined(ISA_X86)
#define FUSED(a, b, c) ((vec)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define FUSED_ONE(a, b, c) __builtin_fmaf(a, b, c)
#define LEAST(a, most) ((vec)_mm256_min_ps((__m256)(most), (__m256)(a)))
#define PICK_BELOW(a, limit, yes, no)                                                                        \
    ((vec)_mm256_blendv_ps((__m256)(no), (__m256)(yes),                                                      \
                           _mm256_cmp_ps((__m256)(a), (__m256)(limit), _CMP_LT_OQ)))
#else
#define FUSED(a, b, c) ((vec)((c) + (a) * (b)))
#define FUSED_ONE(a, b, c) ((c) + (a) * (b))
#define PICK(where, a, b) ((vec)(((where) & (ivec)(a)) | (~(where) & (ivec)(b))))
#define LEAST(a, most) PICK((a) > (most), most, a)
#define PICK_BELOW(a, limit, yes, no) PICK((a) < (limit), yes, no)
#endif
/* LEAST(NaN, most) is NaN. */

/* ---- products ---- */

/* A sum of loop_product() becomes its element; as in product_tile() below. */
INLINE float OF_LANES(finish_one)(float v, const float *b, const float *of, int f)
{
    v = b ? v + *b : v;
    if (of) {
        return f == LOOP_TANH ? v * (1.0f - *of * *of) : (*of > 0.0f ? v : 0.0f);
    }
    return f == LOOP_RELU && v < 0.0f ? 0.0f : v;
}

/* Columns i ... i + tiles LANES - 1 of `high` rows of p; x, y and of are those of the first of these rows.
 * All sums stay in registers. */
INLINE void OF_LANES(product_tile)(int fused, size_t high, size_t tiles, const loop_factors *p, size_t i,
                                   const float *x, const float *of, float *y)
{
    vec sum[4][4];
#pragma GCC unroll 4
    for (size_t r = 0; r < high; r++) {
#pragma GCC unroll 4
        for (size_t t = 0; t < tiles; t++) {
            sum[r][t] = (vec){0.0f};
        }
    }
    const float *w = p->w + i;
    const size_t row_step = p->row_step;
    for (size_t k = 0; k < p->depth; k++, w += p->width, x += p->step) {
        vec at[4];
#pragma GCC unroll 4
        for (size_t t = 0; t < tiles; t++) {
            at[t] = LOAD(w + t * LANES);
        }
#pragma GCC unroll 4
        for (size_t r = 0; r < high; r++) {
            const vec one = SPLAT(x[r * row_step]);
#pragma GCC unroll 4
            for (size_t t = 0; t < tiles; t++) {
                sum[r][t] = fused ? FUSED(one, at[t], sum[r][t]) : (vec)(sum[r][t] + one * at[t]);
            }
        }
    }
#pragma GCC unroll 4
    for (size_t r = 0; r < high; r++) {
#pragma GCC unroll 4
        for (size_t t = 0; t < tiles; t++) {
            const size_t to = r * p->width + i + t * LANES;
            vec v = sum[r][t];
            if (p->b) {
                v += LOAD(p->b + i + t * LANES);
            }
            if (of) {
                const vec at = LOAD(of + to);
                v = p->f == LOOP_TANH ? (vec)(v * (1.0f - at * at)) : (vec)((at > 0.0f) & (ivec)v);
            } else if (p->f == LOOP_RELU) {
                v = (vec)(~(v < 0.0f) & (ivec)v);
            }
            STORE(y + to, v);
        }
    }
}

/* All columns of `high` rows. The last vector begins so early that it ends with the row. */
INLINE void OF_LANES(product_rows)(int fused, size_t high, const loop_factors *p, const float *x,
                                   const float *of, float *y)
{
    enum { TILES = LANES == 16 ? 4 : 2 };
    size_t i = 0;
    for (; i + TILES * LANES <= p->width; i += TILES * LANES) {
        OF_LANES(product_tile)(fused, high, TILES, p, i, x, of, y);
    }
    for (; i + LANES <= p->width; i += LANES) {
        OF_LANES(product_tile)(fused, high, 1, p, i, x, of, y);
    }
    if (i < p->width && p->width >= LANES) {
        OF_LANES(product_tile)(fused, high, 1, p, p->width - LANES, x, of, y);
        i = p->width;
    }
    for (size_t r = 0; i < p->width && r < high; r++) {
        for (size_t j = i; j < p->width; j++) {
            float sum = 0.0f;
            for (size_t k = 0; k < p->depth; k++) {
                const float one = x[r * p->row_step + k * p->step], at = p->w[k * p->width + j];
                sum = fused ? FUSED_ONE(one, at, sum) : sum + one * at;
            }
            const size_t to = r * p->width + j;
            y[to] = OF_LANES(finish_one)(sum, p->b ? p->b + j : NULL, of ? of + to : NULL, p->f);
        }
    }
}

INLINE void OF_LANES(squash_of)(int fused, size_t count, const float *x, float *y);

INLINE void OF_LANES(product_of)(int fused, const loop_factors *p, float *y)
{
    enum { HIGH = 4 };
    const int squash = p->f == LOOP_TANH && !p->of;
    size_t r = 0;
    for (; r + HIGH <= p->rows; r += HIGH) {
        float *to = y + r * p->width;
        OF_LANES(product_rows)
        (fused, HIGH, p, p->x + r * p->row_step, p->of ? p->of + r * p->width : NULL, to);
        if (squash) {
            OF_LANES(squash_of)(fused, HIGH * p->width, to, to);
        }
    }
    for (; r < p->rows; r++) {
        float *to = y + r * p->width;
        OF_LANES(product_rows)(fused, 1, p, p->x + r * p->row_step, p->of ? p->of + r * p->width : NULL, to);
        if (squash) {
            OF_LANES(squash_of)(fused, p->width, to, to);
        }
    }
}

INLINE void OF_LANES(product_apart)(const loop_factors *p, float *y)
{
    OF_LANES(product_of)(0, p, y);
}

INLINE void OF_LANES(product_fused)(const loop_factors *p, float *y)
{
    OF_LANES(product_of)(1, p, y);
}

INLINE void OF_LANES(dots)(size_t rows, size_t depth, size_t width, const float *restrict x,
                           const float *restrict w, float *restrict y)
{
    enum { GROUPS = DOT_PARTS / LANES };
    const size_t rest = depth % DOT_PARTS, most = depth - rest;
    for (size_t r = 0; r < rows; r++, x += depth, y += width) {
        for (size_t j = 0; j < width; j++) {
            const float *restrict with = w + j * depth;
            vec all[GROUPS] = {{0}};
            float part[DOT_PARTS];
            for (size_t k = 0; k < most; k += DOT_PARTS) {
#pragma GCC unroll 4
                for (size_t t = 0; t < GROUPS; t++) {
                    all[t] += LOAD(x + k + t * LANES) * LOAD(with + k + t * LANES);
                }
            }
            memcpy(part, all, sizeof part);
            for (size_t k = 0; k < rest; k++) {
                part[k] += x[most + k] * with[most + k];
            }
            y[j] = sum_of_parts(part);
        }
    }
}

/* Columns i ... i + tiles LANES - 1 of loop_sums(). */
INLINE void OF_LANES(sums_tile)(size_t tiles, size_t rows, size_t width, const float *restrict d,
                                float *restrict sum)
{
    vec all[4];
#pragma GCC unroll 4
    for (size_t t = 0; t < tiles; t++) {
        all[t] = (vec){0.0f};
    }
    for (size_t r = 0; r < rows; r++, d += width) {
#pragma GCC unroll 4
        for (size_t t = 0; t < tiles; t++) {
            all[t] += LOAD(d + t * LANES);
        }
    }
#pragma GCC unroll 4
    for (size_t t = 0; t < tiles; t++) {
        STORE(sum + t * LANES, all[t]);
    }
}

INLINE void OF_LANES(sums)(size_t rows, size_t width, const float *restrict d, float *restrict sum)
{
    size_t i = 0;
    for (; i + 4 * LANES <= width; i += 4 * LANES) {
        OF_LANES(sums_tile)(4, rows, width, d + i, sum + i);
    }
    for (; i + LANES <= width; i += LANES) {
        OF_LANES(sums_tile)(1, rows, width, d + i, sum + i);
    }
    for (; i < width; i++) {
        float one = 0.0f;
        for (size_t r = 0; r < rows; r++) {
            one += d[r * width + i];
        }
        sum[i] = one;
    }
}

/* ---- elements ---- */

/* h / (h + 1) with 2 h = exp(2 |x|) - 1, and near 0, where the roundings of both would add up,
 * h - h (h / (h + 1)). |x| = n ln(2) / 2 + r, and (exp(2 r) - 1) / 2 = r + r^2 q(r) within 1e-10 of it.
 * ln(2) / 2 is a float within 1e-9. NaN passes all steps. */
INLINE void OF_LANES(tanh)(int fused, const float *from, float *to)
{
#define SUM_OF(a, b, c) (fused ? FUSED(a, b, c) : (vec)((a) * (b) + (c)))
    const vec x = LOAD(from);
    const ivec bits = (ivec){0} + 0x7fffffff; /* all but the sign */
    vec a = (vec)((ivec)x & bits);
    a = LEAST(a, SPLAT(10.0f));
    const vec shifted = SUM_OF(a, SPLAT(2.88539008177792681f), SPLAT(0x1.8p23f)), n = shifted - 0x1.8p23f;
    const vec r = SUM_OF(n, SPLAT(-0x1.62e43p-2f), a);
    vec q = SUM_OF(SPLAT(0.0127014550530986f), r, SPLAT(0.0446101966795799f));
    q = SUM_OF(q, r, SPLAT(0.133334220585443f));
    q = SUM_OF(q, r, SPLAT(0.333330882368611f));
    q = SUM_OF(q, r, SPLAT(0.666666655041918f));
    q = SUM_OF(q, r, SPLAT(1.0f));
    const vec near = SUM_OF(r * r, q, r);                              /* h of r */
    const vec half_power = (vec)(((ivec)shifted << 23) + (126 << 23)); /* 2^n / 2 */
    const vec h = SUM_OF(half_power + half_power, near, half_power - 0.5f);
    const vec far = h / (h + 1.0f);
    const vec size = PICK_BELOW(a, SPLAT(0.36f), SUM_OF(-h, far, h), far);
    STORE(to, (vec)(((ivec)size & bits) | ((ivec)x & ~bits)));
#undef SUM_OF
}

/* No restrict: x may be y. */
INLINE void OF_LANES(squash_of)(int fused, size_t count, const float *x, float *y)
{
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        OF_LANES(tanh)(fused, x + i, y + i);
    }
    if (i < count) {
        float rest[LANES] = {0};
        memcpy(rest, x + i, (count - i) * sizeof *x);
        OF_LANES(tanh)(fused, rest, rest);
        memcpy(y + i, rest, (count - i) * sizeof *y);
    }
}

INLINE void OF_LANES(squash_apart)(size_t count, const float *x, float *y)
{
    OF_LANES(squash_of)(0, count, x, y);
}

INLINE void OF_LANES(squash_fused)(size_t count, const float *x, float *y)
{
    OF_LANES(squash_of)(1, count, x, y);
}

/* Parts are added by halves, the upper one to the lower one. */
INLINE void OF_LANES(squares)(size_t count, const float *restrict g, double *sum)
{
    enum { EACH = LANES / 2, GROUPS = SQUARE_PARTS / EACH };
    double part[SQUARE_PARTS];
    wide all[GROUPS] = {{0}};
    size_t i = 0;
    for (; i + SQUARE_PARTS <= count; i += SQUARE_PARTS) {
#pragma GCC unroll 8
        for (size_t t = 0; t < GROUPS; t++) {
            const wide d = __builtin_convertvector(*(const half *)(const void *)(g + i + t * EACH), wide);
            all[t] += d * d;
        }
    }
    memcpy(part, all, sizeof part);
    for (size_t k = 0; i < count; i++, k++) {
        part[k] += (double)g[i] * (double)g[i];
    }
    for (size_t from = SQUARE_PARTS / 2; from > 0; from /= 2) {
        for (size_t k = 0; k < from; k++) {
            part[k] += part[from + k];
        }
    }
    *sum = part[0];
}

#undef vec
#undef ivec
#undef half
#undef wide
#undef FUSED
#undef FUSED_ONE
#undef LOAD
#undef STORE
#undef SPLAT
#undef PICK
#undef LEAST
#undef PICK_BELOW
#undef OF_LANES
#undef LANES_JOIN
#undef LANES_JOIN_
#undef LANES
