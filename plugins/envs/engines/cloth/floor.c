/* SPDX-License-Identifier: Apache-2.0 */
/* floor.c - vertices against a horizontal floor, with the time of impact and Coulomb friction (see touch.h). */
#include <math.h>

#include "touch.h"

static const double slip_epsilon = 1e-9; /* m/s, added to the sliding speed that friction divides by */
static const double tiny = 1e-300;

/* What contact does to one vertex: velocity before u, height above the floor y. */
typedef struct impact {
    int hit, late;        /* in contact; in contact after a flight (toi > 0) */
    double toi;           /* s, from the begin of the step */
    double speed, factor; /* sliding speed, and what friction leaves of it */
} impact;

static inline impact impact_of(const touch_floor *floor, double h, double y, double ux, double uy, double uz)
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

void touch_floor_move(const touch_floor *floor, double h, size_t n, const double *restrict x, const double *restrict u,
                      double *restrict x_new, double *restrict v_new)
{
    const touch_floor f = *floor;
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

void touch_floor_adjoint(const touch_floor *floor, double h, size_t n, const double *restrict x, const double *restrict u,
                         double *restrict x_bar, double *restrict v_bar, double *restrict mu_bar)
{
    const touch_floor f = *floor;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        double ux = u[i], uy = u[n + i], uz = u[2 * n + i], y = x[n + i] - f.height;
        double px = x_bar[i], py = x_bar[n + i], pz = x_bar[2 * n + i];
        impact c = impact_of(&f, h, y, ux, uy, uz);
        double vx_bar = v_bar[i] + (h - c.toi) * px, vz_bar = v_bar[2 * n + i] + (h - c.toi) * pz;
        double toi_bar = (1 - c.factor) * (px * ux + pz * uz);
        double factor_bar = vx_bar * ux + vz_bar * uz;
        factor_bar = c.hit & (c.factor > 0) ? factor_bar : 0;
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
