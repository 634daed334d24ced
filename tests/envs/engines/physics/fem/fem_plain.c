/* SPDX-License-Identifier: Apache-2.0 */
/* fem_plain.c - the scalar oracle of the kernels: one element after the other, by the laws of law.h, and the
 * step as episode.h writes it. */
#include "fem_scenes.h"

#include "engines/physics/fem/ground.h"
#include "engines/physics/fem/plain.h"

#include <string.h>

static void force_of_lines(const fem_pack *p, const double *state, double *to)
{
    vec3 q[4], u[4], f[4];
    for (size_t i = 0; i < p->spring.count; i++) {
        const fem_spring_law law = spring_law(p, i);
        take(&p->spring, i, 2, state, FEM_WIDTH, q);
        take(&p->spring, i, 2, state + 4, FEM_WIDTH, u);
        fem_spring_force(&law, q, u, f);
        give(&p->spring, i, 2, f, to, 4);
    }
    for (size_t i = 0; i < p->edge.count; i++) {
        const fem_edge_law law = edge_law(p, i);
        take(&p->edge, i, 4, state, FEM_WIDTH, q);
        take(&p->edge, i, 4, state + 4, FEM_WIDTH, u);
        fem_edge_force(edge_length(p, i), &law, q, u, f);
        give(&p->edge, i, 4, f, to, 4);
    }
}

static void force_of_triangles(const fem_pack *p, const double *state, double *to)
{
    vec3 q[3], u[3], f[3];
    for (size_t i = 0; i < p->triangle.count; i++) {
        const fem_triangle_rest rest = triangle_rest(p, i);
        const fem_triangle_law law = triangle_law(p, i);
        take(&p->triangle, i, 3, state, FEM_WIDTH, q);
        take(&p->triangle, i, 3, state + 4, FEM_WIDTH, u);
        fem_triangle_force(&rest, &law, q, u, f);
        give(&p->triangle, i, 3, f, to, 4);
        const fem_air_law air = air_law(p, i);
        fem_air_force(&air, q, u, f);
        give(&p->triangle, i, 3, f, to, 4);
    }
}

static void force_of_tets(const fem_pack *p, const double *state, double *to)
{
    vec3 q[4], u[4], f[4];
    for (size_t i = 0; i < p->tet.count; i++) {
        const fem_tet_rest rest = tet_rest(p, i);
        const fem_tet_law law = tet_law(p, i);
        take(&p->tet, i, 4, state, FEM_WIDTH, q);
        take(&p->tet, i, 4, state + 4, FEM_WIDTH, u);
        fem_tet_force(&rest, &law, q, u, f);
        give(&p->tet, i, 4, f, to, 4);
    }
}

static void force(fem_pack *p, const double *state, double *to)
{
    memset(to, 0, 4 * p->particles * sizeof *to);
    force_of_lines(p, state, to);
    force_of_triangles(p, state, to);
    force_of_tets(p, state, to);
    for (size_t i = 0; i < p->particles && p->ground.on; i++) {
        const double *q = state + FEM_WIDTH * i;
        const double c = ground_depth(&p->ground, q);
        if (c < 0) {
            ground_force(&p->ground, c, q + 4, to + 4 * i);
        }
    }
}

/* Adds to the bars of a kind: n numbers of an element, or of all elements where `shared`. */
static void add_bars(const fem_pack *p, fem_set *s, size_t element, int shared, size_t n, const double *bar)
{
    const size_t chunk = shared ? 0 : element / FEM_CHUNK, lane = shared ? 0 : element % FEM_CHUNK;
    for (size_t k = 0; k < n && p->want_material; k++) {
        s->bar[(chunk * n + k) * FEM_CHUNK + lane] += bar[k];
    }
}

static void vjp_of_lines(fem_pack *p, const double *state, const double *fb, double *bar)
{
    vec3 q[4], u[4], f[4], qb[4], ub[4];
    for (size_t i = 0; i < p->spring.count; i++) {
        const fem_spring_law law = spring_law(p, i);
        fem_spring_law by;
        take(&p->spring, i, 2, state, FEM_WIDTH, q);
        take(&p->spring, i, 2, state + 4, FEM_WIDTH, u);
        take(&p->spring, i, 2, fb, 4, f);
        fem_spring_vjp(&law, q, u, f, qb, ub, &by);
        give(&p->spring, i, 2, qb, bar, FEM_WIDTH);
        give(&p->spring, i, 2, ub, bar + 4, FEM_WIDTH);
        add_bars(p, &p->spring, i, 0, FEM_SPRING_BARS, (double[]){by.ke, by.kd, by.rest});
    }
    for (size_t i = 0; i < p->edge.count; i++) {
        const fem_edge_law law = edge_law(p, i);
        fem_edge_law by;
        take(&p->edge, i, 4, state, FEM_WIDTH, q);
        take(&p->edge, i, 4, state + 4, FEM_WIDTH, u);
        take(&p->edge, i, 4, fb, 4, f);
        fem_edge_vjp(edge_length(p, i), &law, q, u, f, qb, ub, &by);
        give(&p->edge, i, 4, qb, bar, FEM_WIDTH);
        give(&p->edge, i, 4, ub, bar + 4, FEM_WIDTH);
        p->edge.act_bar[i] = by.rest;
        add_bars(p, &p->edge, i, !p->mixed, FEM_EDGE_BARS, (double[]){by.ke, by.kd});
    }
}

static void vjp_of_triangles(fem_pack *p, const double *state, const double *fb, double *bar)
{
    vec3 q[3], u[3], f[3], qb[3], ub[3];
    for (size_t i = 0; i < p->triangle.count; i++) {
        const fem_triangle_rest rest = triangle_rest(p, i);
        const fem_triangle_law law = triangle_law(p, i);
        fem_triangle_law by;
        fem_air_law by_air;
        take(&p->triangle, i, 3, state, FEM_WIDTH, q);
        take(&p->triangle, i, 3, state + 4, FEM_WIDTH, u);
        take(&p->triangle, i, 3, fb, 4, f);
        fem_triangle_vjp(&rest, &law, q, u, f, qb, ub, &by);
        give(&p->triangle, i, 3, qb, bar, FEM_WIDTH);
        give(&p->triangle, i, 3, ub, bar + 4, FEM_WIDTH);
        const fem_air_law air = air_law(p, i);
        fem_air_vjp(&air, q, u, f, qb, ub, &by_air);
        give(&p->triangle, i, 3, qb, bar, FEM_WIDTH);
        give(&p->triangle, i, 3, ub, bar + 4, FEM_WIDTH);
        p->triangle.act_bar[i] = by.act;
        add_bars(p, &p->triangle, i, !p->mixed, FEM_TRIANGLE_BARS,
                 (double[]){by.mu, by.lambda, by.kd, by_air.drag, by_air.lift, by_air.wind.x, by_air.wind.y,
                            by_air.wind.z});
    }
}

static void vjp_of_tets(fem_pack *p, const double *state, const double *fb, double *bar)
{
    vec3 q[4], u[4], f[4], qb[4], ub[4];
    for (size_t i = 0; i < p->tet.count; i++) {
        const fem_tet_rest rest = tet_rest(p, i);
        const fem_tet_law law = tet_law(p, i);
        fem_tet_law by;
        take(&p->tet, i, 4, state, FEM_WIDTH, q);
        take(&p->tet, i, 4, state + 4, FEM_WIDTH, u);
        take(&p->tet, i, 4, fb, 4, f);
        fem_tet_vjp(&rest, &law, q, u, f, qb, ub, &by);
        give(&p->tet, i, 4, qb, bar, FEM_WIDTH);
        give(&p->tet, i, 4, ub, bar + 4, FEM_WIDTH);
        p->tet.act_bar[i] = by.act;
        add_bars(p, &p->tet, i, 0, FEM_TET_BARS, (double[]){by.mu, by.lambda, by.kd});
    }
}

static void vjp(fem_pack *p, const double *state, const double *fb, double *bar)
{
    vjp_of_lines(p, state, fb, bar);
    vjp_of_triangles(p, state, fb, bar);
    vjp_of_tets(p, state, fb, bar);
    for (size_t i = 0; i < p->particles && p->ground.on; i++) {
        const double *q = state + FEM_WIDTH * i;
        const double c = ground_depth(&p->ground, q);
        double *to = bar + FEM_WIDTH * i;
        if (c < 0) {
            ground_vjp(&p->ground, c, q + 4, fb + 4 * i, to, to + 4, &p->ground_bar);
        }
    }
}

/* The square of a vector; infinite where it is not a number. */
static double square_of(vec3 a)
{
    const double square = v3_dot(a, a);
    return square == square ? square : (double)INFINITY;
}

static double step(const fem_pack *p, double dt, const double *state, const double *f, double *next)
{
    const vec3 g = v3(p->gravity);
    double most = 0;
    for (size_t i = 0; i < p->particles; i++) {
        const double *from = state + FEM_WIDTH * i;
        const double w = p->inverse_mass[i];
        const vec3 force_on = v3(f + 4 * i), a = v3_along(w > 0 ? g : (vec3){0, 0, 0}, w, force_on);
        const vec3 u = v3_along(v3(from + 4), dt, a), q = v3_along(v3(from), dt, u);
        memcpy(next + FEM_WIDTH * i, (double[]){q.x, q.y, q.z, 0, u.x, u.y, u.z, 0},
               FEM_WIDTH * sizeof *next);
        most = fmax(most, isfinite(q.x + q.y + q.z) ? square_of(u) : (double)INFINITY);
    }
    return most;
}

static double step_bar(const fem_pack *p, double dt, const double *state, const double *next, double *bar,
                       double *fb, double *mass_bar, double gravity_bar[4])
{
    double most = 0;
    for (size_t i = 0; i < p->particles; i++) {
        const double *from = state + FEM_WIDTH * i, *to = next + FEM_WIDTH * i;
        const double w = p->inverse_mass[i];
        double *at = bar + FEM_WIDTH * i;
        const vec3 g = v3_times(w > 0 ? dt : 0, v3(p->gravity)), a = v3_along(v3(at + 4), dt, v3(at));
        const vec3 gain = v3_minus(v3_minus(v3(to + 4), v3(from + 4)), g); /* dt w f */
        memcpy(at + 4, (double[]){a.x, a.y, a.z}, 3 * sizeof *at);
        memcpy(fb + 4 * i, (double[]){dt * w * a.x, dt * w * a.y, dt * w * a.z, 0}, 4 * sizeof *fb);
        mass_bar[i] -= w * v3_dot(gain, a);
        for (int k = 0; k < 3 && w > 0; k++) {
            gravity_bar[k] += dt * at[4 + k];
        }
        most = fmax(most, square_of(a));
    }
    return most;
}

const fem_kernels fem_kernels_plain = {"plain", force, vjp, step, step_bar};
