/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - rods side by side (rod.h), compiled for each instruction set: LANES_ISA is its name,
 * VECTOR_LANES its width. */
#include "engines/kit/lanes.h"

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

/* `record` may be NULL. */
ROD_INLINE void run(const rod_law *l, uint64_t steps, const double *const *u, double *theta, double *omega,
                    double *running, double *record)
{
    vec at = vec_load(theta), rate = vec_load(omega), sum = vec_all(0);
    for (uint64_t k = 0; k < steps; k++) {
        const vec torque = lanes_load(u, k), at_before = at, rate_before = rate;
        vec cosine;
        sum += rod_cost(l, at, rate, torque);
        const vec_bits limited = rod_move(l, &at, &rate, torque, &cosine);
        if (record != NULL) {
            double *r = record + k * ROD_RECORD * VECTOR_LANES;
            vec_store(r, at_before);
            vec_store(r + VECTOR_LANES, rate_before);
            vec_store(r + 2 * VECTOR_LANES, cosine);
            vec_store(r + 3 * VECTOR_LANES, (vec)limited);
        }
    }
    vec_store(theta, at);
    vec_store(omega, rate);
    vec_store(running, sum);
}

static void simulate(const rod_law *l, uint64_t steps, const double *const *u, double *theta, double *omega,
                     double *running, double *record)
{
    const rod_law law = *l; /* nothing that is written can change it */
    run(&law, steps, u, theta, omega, running, record);
}

static void adjoint(const rod_law *l, uint64_t steps, const double *const *u, const double *record,
                    const double *theta_bar, const double *omega_bar, double *const *grad)
{
    const rod_law law = *l;
    vec a = vec_load(theta_bar), b = vec_load(omega_bar);
    for (uint64_t k = steps; k-- > 0;) {
        const double *r = record + k * ROD_RECORD * VECTOR_LANES;
        const vec by_torque =
            rod_reverse(&law, vec_load(r), vec_load(r + VECTOR_LANES), lanes_load(u, k),
                        vec_load(r + 2 * VECTOR_LANES), (vec_bits)vec_load(r + 3 * VECTOR_LANES), 1, &a, &b);
        lanes_store(grad, k, by_torque);
    }
}

extern const rod_lanes ISA_VARIANT(rod_lanes, LANES_ISA);
const rod_lanes ISA_VARIANT(rod_lanes, LANES_ISA) = {ISA_NAME(LANES_ISA), VECTOR_LANES, simulate, adjoint};
