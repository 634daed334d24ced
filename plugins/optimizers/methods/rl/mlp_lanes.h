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
#define PICK(where, a, b) ((vec)(((where) & (ivec)(a)) | (~(where) & (ivec)(b))))

/* Columns i ... i + tiles LANES - 1 of one row of loop_spread(). */
INLINE void OF_LANES(spread_tile)(size_t tiles, size_t narrow, size_t width, size_t i,
                                  const float *restrict x, const float *restrict w, const float *restrict b,
                                  const float *restrict gate, int relu, float *restrict y)
{
    vec sum[8];
#pragma GCC unroll 8
    for (size_t t = 0; t < tiles; t++) {
        sum[t] = (vec){0.0f};
    }
    for (size_t k = 0; k < narrow; k++) {
        const float *at = w + k * width + i;
#pragma GCC unroll 8
        for (size_t t = 0; t < tiles; t++) {
            sum[t] += x[k] * LOAD(at + t * LANES);
        }
    }
#pragma GCC unroll 8
    for (size_t t = 0; t < tiles; t++) {
        vec v = sum[t];
        if (b) {
            v += LOAD(b + i + t * LANES);
            v = relu ? (vec)(~(v < 0.0f) & (ivec)v) : v;
        }
        if (gate) {
            v = (vec)((LOAD(gate + i + t * LANES) > 0.0f) & (ivec)v);
        }
        STORE(y + i + t * LANES, v);
    }
}

/* Whether there are `b` and `gate`, and `relu`, is constant where this is inlined. */
INLINE void OF_LANES(spread_rows)(size_t rows, size_t narrow, size_t width, const float *restrict x,
                                  const float *restrict w, const float *restrict b,
                                  const float *restrict gate, int relu, float *restrict y)
{
    enum { TILES = LANES == 16 ? 4 : 8 }; /* half of the registers */
    for (size_t r = 0; r < rows; r++, x += narrow, y += width, gate = gate ? gate + width : NULL) {
        size_t i = 0;
        for (; i + TILES * LANES <= width; i += TILES * LANES) {
            OF_LANES(spread_tile)(TILES, narrow, width, i, x, w, b, gate, relu, y);
        }
        for (; i + LANES <= width; i += LANES) {
            OF_LANES(spread_tile)(1, narrow, width, i, x, w, b, gate, relu, y);
        }
        for (; i < width; i++) {
            float sum = 0.0f;
            for (size_t k = 0; k < narrow; k++) {
                sum += x[k] * w[k * width + i];
            }
            if (b) {
                sum += b[i];
                sum = relu && sum < 0.0f ? 0.0f : sum;
            }
            y[i] = !gate || gate[i] > 0.0f ? sum : 0.0f;
        }
    }
}

INLINE void OF_LANES(spread)(size_t rows, size_t narrow, size_t width, const float *restrict x,
                             const float *restrict w, const float *restrict b, const float *restrict gate,
                             int relu, float *restrict y)
{
    if (b && gate) {
        OF_LANES(spread_rows)(rows, narrow, width, x, w, b, gate, relu, y);
    } else if (b && relu) {
        OF_LANES(spread_rows)(rows, narrow, width, x, w, b, NULL, 1, y);
    } else if (b) {
        OF_LANES(spread_rows)(rows, narrow, width, x, w, b, NULL, 0, y);
    } else if (gate) {
        OF_LANES(spread_rows)(rows, narrow, width, x, w, NULL, gate, 0, y);
    } else {
        OF_LANES(spread_rows)(rows, narrow, width, x, w, NULL, NULL, 0, y);
    }
}

/* Columns i ... i + tiles LANES - 1 of loop_gather(); the sums of all rows stay in registers. */
INLINE void OF_LANES(gather_tile)(size_t tiles, size_t rows, size_t narrow, size_t width, size_t i,
                                  const float *restrict x, const float *restrict d, float *restrict g,
                                  float *restrict sum)
{
    vec part[LOOP_NARROW][2], all[2];
#pragma GCC unroll 8
    for (size_t t = 0; t < tiles; t++) {
        all[t] = (vec){0.0f};
#pragma GCC unroll 8
        for (size_t k = 0; k < narrow; k++) {
            part[k][t] = (vec){0.0f};
        }
    }
    for (size_t r = 0; r < rows; r++, x += narrow, d += width) {
#pragma GCC unroll 8
        for (size_t t = 0; t < tiles; t++) {
            const vec at = LOAD(d + i + t * LANES);
#pragma GCC unroll 8
            for (size_t k = 0; k < narrow; k++) {
                part[k][t] += x[k] * at;
            }
            if (sum) {
                all[t] += at;
            }
        }
    }
#pragma GCC unroll 8
    for (size_t t = 0; t < tiles; t++) {
#pragma GCC unroll 8
        for (size_t k = 0; k < narrow; k++) {
            STORE(g + k * width + i + t * LANES, part[k][t]);
        }
        if (sum) {
            STORE(sum + i + t * LANES, all[t]);
        }
    }
}

/* `narrow` is constant where this is inlined. Returns the first column that is left. */
INLINE size_t OF_LANES(gather_columns)(size_t rows, size_t narrow, size_t width, const float *restrict x,
                                       const float *restrict d, float *restrict g, float *restrict sum)
{
    size_t i = 0;
    for (; narrow <= 4 && i + 2 * LANES <= width; i += 2 * LANES) {
        OF_LANES(gather_tile)(2, rows, narrow, width, i, x, d, g, sum);
    }
    for (; i + LANES <= width; i += LANES) {
        OF_LANES(gather_tile)(1, rows, narrow, width, i, x, d, g, sum);
    }
    return i;
}

INLINE void OF_LANES(gather)(size_t rows, size_t narrow, size_t width, const float *restrict x,
                             const float *restrict d, float *restrict g, float *restrict sum)
{
    size_t i = 0;
    switch (narrow) {
#define CASE(count)                                                                                          \
    case count:                                                                                              \
        i = OF_LANES(gather_columns)(rows, count, width, x, d, g, sum);                                      \
        break;
        CASE(0)
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
        CASE(7)
        CASE(8)
#undef CASE
    default:
        break;
    }
    for (; i < width; i++) {
        for (size_t k = 0; k < narrow; k++) {
            float one = 0.0f;
            for (size_t r = 0; r < rows; r++) {
                one += x[r * narrow + k] * d[r * width + i];
            }
            g[k * width + i] = one;
        }
        float one = 0.0f;
        for (size_t r = 0; sum && r < rows; r++) {
            one += d[r * width + i];
        }
        if (sum) {
            sum[i] = one;
        }
    }
}

/* Near 0 an odd polynomial, else 1 - 2/(exp(2|x|) + 1), both in all lanes: otherwise a compiler makes a
 * scalar loop of it. Coefficients: S. Moshier, Cephes, tanhf.c and expf.c. */
INLINE void OF_LANES(tanh)(const float *from, float *to)
{
    const vec x = LOAD(from);
    const ivec bits = (ivec){0} + 0x7fffffff; /* all but the sign */
    vec a = (vec)((ivec)x & bits);
    a = PICK(a < 10.0f, a, (vec){0} + 10.0f); /* NaN becomes 10, and itself again at the end */
    const vec z = a * a;
    const vec small =
        ((((-5.70498872745e-3f * z + 2.06390887954e-2f) * z - 5.37397155531e-2f) * z + 1.33314422036e-1f) *
             z -
         3.33332819422e-1f) *
            z * a +
        a;
    const vec t = 2.0f * a;
    const ivec whole = __builtin_convertvector(t * 1.44269504088896341f + 0.5f, ivec);
    const vec n = __builtin_convertvector(whole, vec);
    const vec r = t - n * 0.693359375f + n * 2.12194440e-4f;
    const vec p =
        ((((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f) * r +
         1.6666665459e-1f) *
            r +
        5.0000001201e-1f;
    const vec power = (vec)((whole + 127) << 23);
    const vec e = (p * r * r + r + 1.0f) * power;
    const vec large = 1.0f - 2.0f / (e + 1.0f);
    const vec size = PICK(a < 0.625f, small, large);
    const vec y = (vec)(((ivec)size & bits) | ((ivec)x & ~bits));
    STORE(to, PICK(x == x, y, x));
}

/* No restrict: x may be y. */
INLINE void OF_LANES(squash)(size_t count, const float *x, float *y)
{
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        OF_LANES(tanh)(x + i, y + i);
    }
    if (i < count) {
        float rest[LANES] = {0};
        memcpy(rest, x + i, (count - i) * sizeof *x);
        OF_LANES(tanh)(rest, rest);
        memcpy(y + i, rest, (count - i) * sizeof *y);
    }
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
#undef LOAD
#undef STORE
#undef PICK
#undef OF_LANES
#undef LANES_JOIN
#undef LANES_JOIN_
#undef LANES
