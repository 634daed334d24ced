/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - rods side by side (rod.h), compiled for each instruction set: LANES_ISA is its name,
 * VECTOR_LANES its width.
 *
 * A step waits for the one before it longer than it takes, so two vectors of rods take turns. */
#include "engines/kit/lanes.h"

enum { GROUPS = 2, WIDTH = GROUPS * VECTOR_LANES };

#define real vec
#define real_mask vec_bits
#define real_sincos vec_sincos_same
#define real_choose vec_choose
#define real_abs vec_abs
#define real_sign vec_sign
#define real_wrapped wrapped

/* 2 pi in two parts: whole multiples up to 2^20 of each are exact, and what is left after subtracting both is
 * a multiple of its last bit below 8, so that the remainder of fmod() is exact too. */
#define TWO_PI 0x1.921fb54442d18p+2
#define TWO_PI_HIGH 0x1.921fb544p+2
#define TWO_PI_LOW (TWO_PI - TWO_PI_HIGH)
#define WRAP_MOST 1e6

VEC_INLINE vec wrapped(vec theta)
{
    const vec moved = theta + TWO_PI / 2, size = vec_abs(moved);
    const vec n = (size * (1 / TWO_PI) + EXP_SHIFTER) - EXP_SHIFTER;
    vec rest = (size - n * TWO_PI_HIGH) - n * TWO_PI_LOW;
    rest = vec_choose((vec_bits)(rest < 0.0), rest + TWO_PI, rest);
    vec turn = vec_sign(rest, moved);
    if (vec_any(~(vec_bits)(size < WRAP_MOST))) {
        for (int lane = 0; lane < VECTOR_LANES; lane++) {
            turn[lane] = fmod(moved[lane], TWO_PI);
        }
    }
    return vec_choose((vec_bits)(turn < 0.0), turn + TWO_PI, turn) - TWO_PI / 2;
}

#include "rod_step.h"

/* The state of a vector of rods, and the sums of their costs. */
typedef struct rods {
    vec theta, omega, sum;
} rods;

/* Step k of group g; `record` may be NULL. */
ROD_INLINE void advance(const rod_law *l, uint64_t k, uint64_t g, const double *const *u, rods *s,
                        double *record)
{
    const vec torque = lanes_load(u + g * VECTOR_LANES, k), theta = s->theta, omega = s->omega;
    vec cosine;
    s->sum += rod_cost(l, theta, omega, torque);
    const vec_bits limited = rod_move(l, &s->theta, &s->omega, torque, &cosine);
    if (record != NULL) {
        double *r = record + (k * GROUPS + g) * ROD_RECORD * VECTOR_LANES;
        vec_store(r, theta);
        vec_store(r + VECTOR_LANES, omega);
        vec_store(r + 2 * VECTOR_LANES, cosine);
        vec_store(r + 3 * VECTOR_LANES, (vec)limited);
    }
}

ROD_INLINE void run(const rod_law *l, uint64_t steps, const double *const *u, double *theta, double *omega,
                    double *running, double *record)
{
    rods a = {vec_load(theta), vec_load(omega), vec_all(0)},
         b = {vec_load(theta + VECTOR_LANES), vec_load(omega + VECTOR_LANES), vec_all(0)};
    for (uint64_t k = 0; k < steps; k++) {
        advance(l, k, 0, u, &a, record);
        advance(l, k, 1, u, &b, record);
    }
    vec_store(theta, a.theta);
    vec_store(theta + VECTOR_LANES, b.theta);
    vec_store(omega, a.omega);
    vec_store(omega + VECTOR_LANES, b.omega);
    vec_store(running, a.sum);
    vec_store(running + VECTOR_LANES, b.sum);
}

static void simulate(const rod_law *l, uint64_t steps, const double *const *u, double *theta, double *omega,
                     double *running, double *record)
{
    const rod_law law = *l; /* nothing that is written can change it */
    if (record != NULL) {
        run(&law, steps, u, theta, omega, running, record);
    } else {
        run(&law, steps, u, theta, omega, running, NULL);
    }
}

/* Reverse of step k of group g; a, b: as in rod_reverse(). */
ROD_INLINE void go_back(const rod_law *l, uint64_t k, uint64_t g, const double *const *u,
                        const double *record, vec *a, vec *b, double *const *grad)
{
    const double *r = record + (k * GROUPS + g) * ROD_RECORD * VECTOR_LANES;
    const vec by_torque = rod_reverse(l, vec_load(r), vec_load(r + VECTOR_LANES),
                                      lanes_load(u + g * VECTOR_LANES, k), vec_load(r + 2 * VECTOR_LANES),
                                      (vec_bits)vec_load(r + 3 * VECTOR_LANES), vec_all(1), a, b);
    lanes_store(grad + g * VECTOR_LANES, k, by_torque);
}

static void adjoint(const rod_law *l, uint64_t steps, const double *const *u, const double *record,
                    const double *theta_bar, const double *omega_bar, double *const *grad)
{
    const rod_law law = *l;
    vec a[GROUPS] = {vec_load(theta_bar), vec_load(theta_bar + VECTOR_LANES)},
        b[GROUPS] = {vec_load(omega_bar), vec_load(omega_bar + VECTOR_LANES)};
    for (uint64_t k = steps; k-- > 0;) {
        go_back(&law, k, 0, u, record, &a[0], &b[0], grad);
        go_back(&law, k, 1, u, record, &a[1], &b[1], grad);
    }
}

static void step(const rod_law *l, rod_rows *r)
{
    for (int g = 0; g < WIDTH; g += VECTOR_LANES) {
        const vec u = vec_load(r->u + g);
        vec theta = vec_load(r->theta + g), omega = vec_load(r->omega + g), cosine;
        vec_store(r->cost + g, rod_cost(l, theta, omega, u));
        vec_store(r->limited + g, vec_only(rod_move(l, &theta, &omega, u, &cosine), vec_all(1)));
        vec_store(r->theta + g, theta);
        vec_store(r->omega + g, omega);
    }
}

static void back(const rod_law *l, rod_rows *r)
{
    for (int g = 0; g < WIDTH; g += VECTOR_LANES) {
        const vec theta = vec_load(r->theta + g);
        vec a = vec_load(r->a + g), b = vec_load(r->b + g), sine, cosine;
        vec_sincos_same(theta, &sine, &cosine);
        vec_store(r->by_torque + g,
                  rod_reverse(l, theta, vec_load(r->omega + g), vec_load(r->u + g), cosine,
                              (vec_bits)(vec_load(r->limited + g) > 0.0), vec_load(r->weight + g), &a, &b));
        vec_store(r->a + g, a);
        vec_store(r->b + g, b);
    }
}

ISA_DEFINE(rod_lanes) = {ISA_NAME(LANES_ISA), WIDTH, simulate, adjoint, step, back};
