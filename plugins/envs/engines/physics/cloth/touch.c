/* SPDX-License-Identifier: Apache-2.0 */
/* touch.c - contact of vertices with a floor (time of impact, Coulomb friction) and with a pan that moves and
 * tilts in the x-y plane (see touch.h). */
#include "touch.h"

#include "sets.h"

#include <math.h>

/* ---- floor ---- */

static const double slip_epsilon = 1e-9; /* m/s, added to the sliding speed that friction divides by */
static const double tiny = 1e-300;

/* Effect of contact on one vertex with velocity u before it, at height y above the floor. */
typedef struct impact {
    int hit, late;        /* in contact; in contact after a flight (toi > 0) */
    double toi;           /* s, from the start of the step */
    double speed, factor; /* sliding speed, and the share of it that friction leaves */
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
        /* After a flight the vertex lies exactly on the floor. */
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
        /* A vertex that starts on the floor: slightly higher it would fly for a moment, and lower positions
         * do not occur. */
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

CLOTH_SETS(moves, move,
           (const touch_floor *floor, double h, size_t stride, const double *x, const double *u,
            double *x_new, double *v_new),
           (floor, h, stride, x, u, x_new, v_new));
CLOTH_SETS(adjoints, adjoint,
           (const touch_floor *floor, double h, size_t stride, const double *x, const double *u,
            double *x_bar, double *v_bar, double *mu_bar),
           (floor, h, stride, x, u, x_bar, v_bar, mu_bar));

void touch_floor_move(int set, const touch_floor *floor, double h, size_t stride, const double *x,
                      const double *u, double *x_new, double *v_new)
{
    moves[set](floor, h, stride, x, u, x_new, v_new);
}

void touch_floor_adjoint(int set, const touch_floor *floor, double h, size_t stride, const double *x,
                         const double *u, double *x_bar, double *v_bar, double *mu_bar)
{
    adjoints[set](floor, h, stride, x, u, x_bar, v_bar, mu_bar);
}

/* ---- pan ---- */

static const double slip_square = 1e-12; /* (m/s)^2 under the root of the sliding speed */
static const double drift_rate = 0.2;    /* share of the depth that one step corrects */
static const double drift_limit = 1;     /* m/s, limit of this correction */

/* A vertex that the pan pushes; in the world unless marked `local`. */
typedef struct push {
    double ox, oy;            /* from the axis point of the pan to the predicted position */
    double lx, ly, lz, r;     /* the same, local; distance from the axis */
    double rise, slope, norm; /* profile h, h', sqrt(1 + h'^2) */
    double local[3], n[3];    /* normal */
    double surface[2];        /* velocity of the pan at the vertex */
    double rel[3], vn;        /* velocity relative to the pan, and its normal component */
    double wanted;            /* normal component after contact */
    double vt[3], slip;       /* tangential part and its size */
    double factor;            /* share of it that friction leaves */
    double share, density;    /* share of the velocity change that acts, and its derivative by the depth */
} push;

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Share of a contact that acts on a vertex which may not touch: in a step, or (`back`) in its adjoint. */
static void share_of(const softness *s, double depth, int back, push *p)
{
    const int far = s->kernel != SOFTNESS_NONE || !(depth > 0);
    p->share = !far ? 1 : back ? softness_pull(s, depth) : softness_slope(s, depth);
    p->density = far ? softness_pull_density(s, depth) : 0;
}

/* Fills *p; returns 0 if the pan does not push the vertex with predicted position q and velocity u. */
static int push_of(const touch_pan *pan, const touch_pose *pose, double cs, double sn, double h,
                   const double q[3], const double u[3], int back, push *p)
{
    p->ox = q[0] - pose->x;
    p->oy = q[1] - pose->y;
    p->lx = cs * p->ox + sn * p->oy;
    p->ly = -sn * p->ox + cs * p->oy;
    p->lz = q[2];
    double square = p->lx * p->lx + p->lz * p->lz + tiny;
    if (!(square < pan->radius * pan->radius)) {
        return 0;
    }
    p->r = sqrt(square);
    double over = p->r > pan->flat ? p->r - pan->flat : 0;
    p->rise = pan->curve * over * over;
    const int far = pan->soft.kernel != SOFTNESS_NONE || (back && pan->soft.at_distance);
    if (!((far || p->ly < p->rise) && p->ly > p->rise - pan->thickness)) {
        return 0;
    }
    p->slope = 2 * pan->curve * over;
    p->norm = sqrt(1 + p->slope * p->slope);
    p->share = 1;
    if (far) {
        share_of(&pan->soft, (p->rise - p->ly) / p->norm, back, p);
    }
    p->local[0] = -p->slope * p->lx / p->r / p->norm;
    p->local[1] = 1 / p->norm;
    p->local[2] = -p->slope * p->lz / p->r / p->norm;
    p->n[0] = cs * p->local[0] - sn * p->local[1];
    p->n[1] = sn * p->local[0] + cs * p->local[1];
    p->n[2] = p->local[2];
    p->surface[0] = pose->vx - pose->omega * p->oy;
    p->surface[1] = pose->vy + pose->omega * p->ox;
    p->rel[0] = u[0] - p->surface[0];
    p->rel[1] = u[1] - p->surface[1];
    p->rel[2] = u[2];
    p->vn = dot(p->rel, p->n);
    p->wanted = p->ly < p->rise ? fmin(drift_limit, drift_rate * (p->rise - p->ly) / (h * p->norm)) : 0;
    if (!(p->vn < p->wanted)) {
        return 0;
    }
    for (int i = 0; i < 3; i++) {
        p->vt[i] = p->rel[i] - p->vn * p->n[i];
    }
    p->slip = sqrt(dot(p->vt, p->vt) + slip_square);
    p->factor = fmax(0, 1 - pan->mu * (p->wanted - p->vn) / p->slip);
    return 1;
}

/* Component j of the velocity after a push. */
static double pushed(const push *p, int j)
{
    return (j < 2 ? p->surface[j] : 0) + p->factor * p->vt[j] + p->wanted * p->n[j];
}

void touch_pan_move(const touch_pan *pan, const touch_pose *pose, double h, const cloth_mesh *m,
                    const double *x, const double *u, double *x_new, double *v_new)
{
    const size_t n = m->stride;
    const double cs = cos(pose->tilt), sn = sin(pose->tilt);
    for (size_t i = 0; i < n; i++) {
        double v[3] = {u[i], u[n + i], u[2 * n + i]};
        const double q[3] = {x[i] + h * v[0], x[n + i] + h * v[1], x[2 * n + i] + h * v[2]};
        push p;
        if (m->present[i] && push_of(pan, pose, cs, sn, h, q, v, 0, &p)) {
            for (int j = 0; j < 3; j++) {
                const double after = pushed(&p, j);
                v[j] = p.share < 1 ? v[j] + p.share * (after - v[j]) : after;
            }
        }
        for (size_t j = 0; j < 3; j++) {
            v_new[j * n + i] = v[j];
            x_new[j * n + i] = x[j * n + i] + h * v[j];
        }
    }
}

/* Adds the derivatives by the offset (q_bar), the pose and the profile, from those by normal, height of the
 * profile and depth. */
static void geometry_adjoint(const touch_pan *pan, const push *p, double cs, double sn, const double n_bar[3],
                             double rise_bar, double ly_bar, double norm_bar, double q_bar[3],
                             touch_pose *pose_bar, touch_pan_bar *by)
{
    const double l_bar[3] = {cs * n_bar[0] + sn * n_bar[1], -sn * n_bar[0] + cs * n_bar[1], n_bar[2]};
    double cs_bar = n_bar[0] * p->local[0] + n_bar[1] * p->local[1];
    double sn_bar = -n_bar[0] * p->local[1] + n_bar[1] * p->local[0];
    /* local = (-h' lx/r, 1, -h' lz/r) / norm */
    double mx_bar = l_bar[0] / p->norm, mz_bar = l_bar[2] / p->norm;
    double outward = mx_bar * p->lx + mz_bar * p->lz;
    norm_bar -= dot(l_bar, p->local) / p->norm;
    double slope_bar = norm_bar * p->slope / p->norm - outward / p->r;
    double r_bar = p->slope * outward / (p->r * p->r);
    double lx_bar = -p->slope * mx_bar / p->r, lz_bar = -p->slope * mz_bar / p->r;
    if (p->r > pan->flat) {
        const double over = p->r - pan->flat, over_bar = 2 * pan->curve * (slope_bar + over * rise_bar);
        r_bar += over_bar;
        if (by != NULL) {
            by->flat -= over_bar;
            by->curve += 2 * over * slope_bar + over * over * rise_bar;
        }
    }
    lx_bar += r_bar * p->lx / p->r;
    lz_bar += r_bar * p->lz / p->r;
    cs_bar += lx_bar * p->ox + ly_bar * p->oy;
    sn_bar += lx_bar * p->oy - ly_bar * p->ox;
    q_bar[0] += cs * lx_bar - sn * ly_bar;
    q_bar[1] += sn * lx_bar + cs * ly_bar;
    q_bar[2] += lz_bar;
    pose_bar->tilt += cs * sn_bar - sn * cs_bar;
}

/* Reverse of a push. v_bar goes from the velocity after it to the velocity before it; sets q_bar, the
 * derivatives by the predicted position. depth_bar: further derivatives by the depth. */
static void push_adjoint(const touch_pan *pan, const touch_pose *pose, const push *p, double cs, double sn,
                         double h, double depth_bar, double v_bar[3], double q_bar[3], touch_pose *pose_bar,
                         touch_pan_bar *by, double *mu_bar)
{
    double n_bar[3], vt_bar[3], change = p->wanted - p->vn;
    double wanted_bar = dot(v_bar, p->n), factor_bar = p->factor > 0 ? dot(v_bar, p->vt) : 0;
    double change_bar = -factor_bar * pan->mu / p->slip;
    *mu_bar -= factor_bar * change / p->slip;
    double slip_bar = factor_bar * pan->mu * change / (p->slip * p->slip);
    for (int i = 0; i < 3; i++) {
        n_bar[i] = p->wanted * v_bar[i];
        vt_bar[i] = p->factor * v_bar[i] + slip_bar * p->vt[i] / p->slip;
    }
    wanted_bar += change_bar;
    double vn_bar = -change_bar - dot(vt_bar, p->n), rel_bar[3];
    for (int i = 0; i < 3; i++) {
        n_bar[i] += vn_bar * p->rel[i] - p->vn * vt_bar[i];
        rel_bar[i] = vt_bar[i] + vn_bar * p->n[i];
    }
    double surface_bar[2] = {v_bar[0] - rel_bar[0], v_bar[1] - rel_bar[1]};
    q_bar[0] = pose->omega * surface_bar[1];
    q_bar[1] = -pose->omega * surface_bar[0];
    q_bar[2] = 0;
    pose_bar->vx += surface_bar[0];
    pose_bar->vy += surface_bar[1];
    pose_bar->omega += p->ox * surface_bar[1] - p->oy * surface_bar[0];
    double gain = drift_rate / (h * p->norm), depth = p->rise - p->ly;
    wanted_bar = depth > 0 && gain * depth < drift_limit ? wanted_bar * gain : 0;
    wanted_bar += depth_bar / p->norm;
    geometry_adjoint(pan, p, cs, sn, n_bar, wanted_bar, -wanted_bar, -wanted_bar * depth / p->norm, q_bar,
                     pose_bar, by);
    pose_bar->x -= q_bar[0];
    pose_bar->y -= q_bar[1];
    for (int i = 0; i < 3; i++) {
        v_bar[i] = rel_bar[i] + h * q_bar[i];
    }
}

/* Reverse of a push with a share: u + share (after - u), with velocity u before it. */
static void share_adjoint(const touch_pan *pan, const touch_pose *pose, const push *p, double cs, double sn,
                          double h, const double u[3], double v_bar[3], double q_bar[3], touch_pose *pose_bar,
                          touch_pan_bar *by, double *mu_bar)
{
    double whole[3], share_bar = 0;
    for (int j = 0; j < 3; j++) {
        share_bar += v_bar[j] * (pushed(p, j) - u[j]);
        whole[j] = p->share * v_bar[j];
    }
    push_adjoint(pan, pose, p, cs, sn, h, p->density * share_bar, whole, q_bar, pose_bar, by, mu_bar);
    for (int j = 0; j < 3; j++) {
        v_bar[j] = whole[j] + (1 - p->share) * v_bar[j];
    }
}

void touch_pan_adjoint(const touch_pan *pan, const touch_pose *pose, double h, const cloth_mesh *m,
                       const double *x, const double *u, double *x_bar, double *v_bar, touch_pose *pose_bar,
                       touch_pan_bar *by, double *mu_bar)
{
    const size_t n = m->stride;
    const double cs = cos(pose->tilt), sn = sin(pose->tilt);
    for (size_t i = 0; i < n; i++) {
        const double v[3] = {u[i], u[n + i], u[2 * n + i]};
        const double q[3] = {x[i] + h * v[0], x[n + i] + h * v[1], x[2 * n + i] + h * v[2]};
        double q_bar[3] = {0, 0, 0};
        double bar[3] = {v_bar[i] + h * x_bar[i], v_bar[n + i] + h * x_bar[n + i],
                         v_bar[2 * n + i] + h * x_bar[2 * n + i]};
        push p;
        if (m->present[i] && push_of(pan, pose, cs, sn, h, q, v, 1, &p)) {
            if (p.share < 1) {
                share_adjoint(pan, pose, &p, cs, sn, h, v, bar, q_bar, pose_bar, by, mu_bar + i);
            } else {
                push_adjoint(pan, pose, &p, cs, sn, h, 0, bar, q_bar, pose_bar, by, mu_bar + i);
            }
        }
        for (size_t j = 0; j < 3; j++) {
            v_bar[j * n + i] = bar[j];
            x_bar[j * n + i] += q_bar[j];
        }
    }
}

/* ---- distance of a point from the pan ---- */

/* Position of a point relative to the pan. */
typedef struct apart {
    double cs, sn, lx, ly, lz, r; /* local coordinates; distance from the axis */
    double over, beyond;          /* height above or (negative) below the pan; distance outside its rim */
    double rim, slope;            /* distance from the flat part, and the slope there */
} apart;

static apart apart_of(const touch_pan *pan, const touch_pose *pose, const double q[3])
{
    const double ox = q[0] - pose->x, oy = q[1] - pose->y;
    apart a = {.cs = cos(pose->tilt), .sn = sin(pose->tilt), .lz = q[2]};
    a.lx = a.cs * ox + a.sn * oy;
    a.ly = -a.sn * ox + a.cs * oy;
    a.r = sqrt(a.lx * a.lx + a.lz * a.lz + tiny);
    a.beyond = fmax(a.r - pan->radius, 0);
    a.rim = fmax(fmin(a.r, pan->radius) - pan->flat, 0);
    const double rise = pan->curve * a.rim * a.rim;
    a.over = a.ly > rise ? a.ly - rise : a.ly < rise - pan->thickness ? a.ly - rise + pan->thickness : 0;
    a.slope = a.beyond > 0 ? 0 : 2 * pan->curve * a.rim;
    return a;
}

double touch_pan_gap(const touch_pan *pan, const touch_pose *pose, const double q[3])
{
    const apart a = apart_of(pan, pose, q);
    return hypot(a.beyond, a.over);
}

void touch_pan_gap_adjoint(const touch_pan *pan, const touch_pose *pose, const double q[3], double bar,
                           double q_bar[3], touch_pose *pose_bar, touch_pan_bar *by)
{
    const apart a = apart_of(pan, pose, q);
    const double gap = hypot(a.beyond, a.over);
    if (!(gap > 0)) {
        return;
    }
    const double ly_bar = bar * a.over / gap, r_bar = bar * a.beyond / gap - ly_bar * a.slope;
    const double lx_bar = r_bar * a.lx / a.r, x_bar = a.cs * lx_bar - a.sn * ly_bar,
                 y_bar = a.sn * lx_bar + a.cs * ly_bar;
    q_bar[0] += x_bar;
    q_bar[1] += y_bar;
    q_bar[2] += r_bar * a.lz / a.r;
    pose_bar->x -= x_bar;
    pose_bar->y -= y_bar;
    pose_bar->tilt += lx_bar * a.ly - ly_bar * a.lx;
    if (by != NULL) { /* over = ly - curve rim^2, with rim = min(r, radius) - flat */
        by->flat += 2 * pan->curve * a.rim * ly_bar;
        by->curve -= a.rim * a.rim * ly_bar;
    }
}

/* ---- shape of the pan for drawing ---- */

enum { FLAT = 3 /* rings of the flat part */ };
static const double innermost = 0.001, turn_of_circle = 6.283185307179586; /* m, rad */

void pan_shape_triangles(uint32_t *triangle)
{
    for (uint32_t r = 0; r + 1 < PAN_RINGS; r++) {
        for (uint32_t s = 0; s < PAN_SECTORS; s++) {
            uint32_t a = r * PAN_SECTORS + s, b = r * PAN_SECTORS + (s + 1) % PAN_SECTORS;
            const uint32_t two[6] = {a, b, b + PAN_SECTORS, a, b + PAN_SECTORS, a + PAN_SECTORS};
            for (int k = 0; k < 6; k++) {
                *triangle++ = two[k];
            }
        }
    }
}

void pan_shape_points(const touch_pan *pan, const touch_pose *at, double *out)
{
    for (int r = 0; r < PAN_RINGS; r++) {
        double flat = pan->flat, rim = pan->radius - flat;
        double radius = r < FLAT ? innermost + 0.5 * r * (flat - innermost)
                                 : flat + rim * (r - FLAT + 1) / (PAN_RINGS - FLAT);
        double over = fmax(0, radius - flat), y = pan->curve * over * over;
        for (int s = 0; s < PAN_SECTORS; s++) {
            double turn = turn_of_circle * s / PAN_SECTORS, x = radius * cos(turn);
            *out++ = at->x + cos(at->tilt) * x - sin(at->tilt) * y;
            *out++ = at->y + sin(at->tilt) * x + cos(at->tilt) * y;
            *out++ = radius * sin(turn);
        }
    }
}
