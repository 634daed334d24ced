/* SPDX-License-Identifier: Apache-2.0 */
/* floor.c - vertices against a horizontal floor, with the time of impact and Coulomb
 * friction (see touch.h). */
#include <math.h>

#include "sets.h"
#include "touch.h"

static const double slip_epsilon = 1e-9; /* m/s, added to the sliding speed that friction divides by */
static const double tiny = 1e-300;

/* What contact does to one vertex: velocity before u, height above the floor y. */
typedef struct impact {
    int hit, late;        /* in contact; in contact after a flight (toi > 0) */
    double toi;           /* s, from the begin of the step */
    double speed, factor; /* sliding speed, and what friction leaves of it */
} impact;

INLINE impact impact_of(const touch_floor *floor, double h, double y, double ux, double uy, double uz)
{
    impact c;
    c.hit = (y + h * uy < 0) & (uy < 0);
    c.late = c.hit & (floor->toi != 0) & (y > 0);
    c.toi = c.late ? -y / (c.late ? uy : -1) : 0;
    c.speed = sqrt(ux * ux + uz * uz + tiny);
    double left = 1 + floor->mu * uy / (c.speed + slip_epsilon);
    c.factor = c.hit ? (left > 0 ? left : 0) : 1;
    return c;
}

INLINE void move(const touch_floor *floor, double h, size_t stride, const double *restrict x,
                 const double *restrict u, double *restrict x_new, double *restrict v_new)
{
    const touch_floor f = *floor;
    const size_t n = stride & ~(size_t)(CLOTH_LANES - 1);
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        double ux = u[i], uy = u[n + i], uz = u[2 * n + i], y = x[n + i] - f.height;
        impact c = impact_of(&f, h, y, ux, uy, uz);
        double vx = c.factor * ux, vz = c.factor * uz;
        x_new[i] = x[i] + c.toi * ux + (h - c.toi) * vx;
        x_new[2 * n + i] = x[2 * n + i] + c.toi * uz + (h - c.toi) * vz;
        /* After a flight the vertex lies on the floor exactly. */
        x_new[n + i] = c.late ? f.height : c.hit ? x[n + i] : x[n + i] + h * uy;
        v_new[i] = vx;
        v_new[n + i] = c.hit ? 0 : uy;
        v_new[2 * n + i] = vz;
    }
}

INLINE void adjoint(const touch_floor *floor, double h, size_t stride, const double *restrict x,
                    const double *restrict u, double *restrict x_bar, double *restrict v_bar,
                    double *restrict mu_bar)
{
    const touch_floor f = *floor;
    const size_t n = stride & ~(size_t)(CLOTH_LANES - 1);
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        double ux = u[i], uy = u[n + i], uz = u[2 * n + i], y = x[n + i] - f.height;
        double px = x_bar[i], py = x_bar[n + i], pz = x_bar[2 * n + i];
        impact c = impact_of(&f, h, y, ux, uy, uz);
        /* A vertex that begins on the floor: a little higher it would fly for a moment, and lower there is
         * none. */
        c.late |= c.hit & (f.toi != 0) & (y >= 0);
        double vx_bar = v_bar[i] + (h - c.toi) * px, vz_bar = v_bar[2 * n + i] + (h - c.toi) * pz;
        double toi_bar = (1 - c.factor) * (px * ux + pz * uz);
        double factor_bar = vx_bar * ux + vz_bar * uz;
        factor_bar = (c.hit & (c.factor > 0)) ? factor_bar : 0;
        double per = 1 / (c.speed + slip_epsilon), slow = f.mu * per;
        double speed_bar = -factor_bar * slow * uy * per / c.speed;
        double fall = 1 / (c.late ? uy : -1);
        toi_bar = c.late ? toi_bar : 0;
        mu_bar[i] += factor_bar * uy * per;
        v_bar[i] = c.factor * vx_bar + c.toi * px + speed_bar * ux;
        v_bar[2 * n + i] = c.factor * vz_bar + c.toi * pz + speed_bar * uz;
        v_bar[n + i] = c.hit ? factor_bar * slow + toi_bar * y * fall * fall : v_bar[n + i] + h * py;
        x_bar[n + i] = c.late ? -toi_bar * fall : py;
    }
}

#define MOVE_ARGS                                                                                            \
    const touch_floor *floor, double h, size_t stride, const double *x, const double *u, double *x_new,      \
        double *v_new
#define ADJOINT_ARGS                                                                                         \
    const touch_floor *floor, double h, size_t stride, const double *x, const double *u, double *x_bar,      \
        double *v_bar, double *mu_bar

static void move_portable(MOVE_ARGS)
{
    move(floor, h, stride, x, u, x_new, v_new);
}

static void adjoint_portable(ADJOINT_ARGS)
{
    adjoint(floor, h, stride, x, u, x_bar, v_bar, mu_bar);
}

#ifdef CLOTH_SETS
TARGET_AVX2 static void move_avx2(MOVE_ARGS)
{
    move(floor, h, stride, x, u, x_new, v_new);
}

TARGET_AVX2 static void adjoint_avx2(ADJOINT_ARGS)
{
    adjoint(floor, h, stride, x, u, x_bar, v_bar, mu_bar);
}

TARGET_AVX512 static void move_avx512(MOVE_ARGS)
{
    move(floor, h, stride, x, u, x_new, v_new);
}

TARGET_AVX512 static void adjoint_avx512(ADJOINT_ARGS)
{
    adjoint(floor, h, stride, x, u, x_bar, v_bar, mu_bar);
}
#else
#define move_avx2 move_portable
#define move_avx512 move_portable
#define adjoint_avx2 adjoint_portable
#define adjoint_avx512 adjoint_portable
#endif

void touch_floor_move(int set, const touch_floor *floor, double h, size_t stride, const double *x,
                      const double *u, double *x_new, double *v_new)
{
    static void (*const table[])(MOVE_ARGS) = {move_portable, move_avx2, move_avx512};
    table[set](floor, h, stride, x, u, x_new, v_new);
}

void touch_floor_adjoint(int set, const touch_floor *floor, double h, size_t stride, const double *x,
                         const double *u, double *x_bar, double *v_bar, double *mu_bar)
{
    static void (*const table[])(ADJOINT_ARGS) = {adjoint_portable, adjoint_avx2, adjoint_avx512};
    table[set](floor, h, stride, x, u, x_bar, v_bar, mu_bar);
}
