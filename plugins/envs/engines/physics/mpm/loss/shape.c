/* SPDX-License-Identifier: Apache-2.0 */
/* The shape that a target density stands for, see shape.h. */
#include "shape.h"

#include <math.h>
#include <stdbool.h>

/* A target that the user gives may hold any mass. */
static const double most_points = 200000.0;

static size_t cells_of(int n)
{
    return (size_t)n * (size_t)n * (size_t)n;
}

double mpm_point_mass(const mpm_domain *domain, double mass)
{
    return fmax(domain->particle_mass, mass / most_points);
}

void mpm_spread_cell(mpm_spread *s, double mass, const double at[3], double edge)
{
    const double stride[3] = {0.8191725133961645, 0.6710436067037893, 0.5497004779019703};
    s->mass += mass;
    for (; s->points < s->count && s->points < mpm_spread_points(s->mass, s->point_mass); s->points++) {
        for (int d = 0; d < 3; d++) {
            double u = 0.5 + (double)(s->points + 1) * stride[d];
            double x = (at[d] + (u - floor(u)) - 0.5) * edge;
            s->out[3 * s->points + (uint64_t)d] = x > 0.0 ? x : 0.0;
        }
    }
}

/* All of the mass, and the density at the edge of the shape, as a share of the mean over the mass. Half is
 * that at the edge of a large, even body; but the particles are few and the plasticine is pressed thin. With
 * 0.3 what is left of the loss of `torus` where its target has been made is 0.30 of that of the start, with
 * 0.5 it is 0.47, with all nodes 0.58. */
static double level_of(int n, const double *density, double *mass)
{
    double square = 0.0;
    *mass = 0.0;
    for (size_t i = 0; i < cells_of(n); i++) {
        const double own = density[i] > 0.0 ? density[i] : 0.0;
        *mass += own;
        square += own * own;
    }
    return *mass > 0.0 ? 0.3 * square / *mass : 0.0;
}

/* Density at a quarter or three quarters (`far`) of the way from node i to the next along each axis. */
static double between(int n, const double *density, const int i[3], const int far[3])
{
    double sum = 0.0;
    for (int corner = 0; corner < 8; corner++) {
        double weight = 1.0;
        size_t at = 0;
        for (int d = 0; d < 3; d++) {
            const int up = (corner >> d) & 1;
            weight *= up == far[d] ? 0.75 : 0.25;
            at = at * (size_t)n + (size_t)(i[d] + up);
        }
        sum += weight * density[at];
    }
    return sum;
}

static bool all_below(int n, const double *density, const int i[3], double level)
{
    const size_t m = (size_t)n, at = ((size_t)i[0] * m + (size_t)i[1]) * m + (size_t)i[2];
    for (size_t corner = 0; corner < 8; corner++) {
        if (density[at + (corner >> 2) * m * m + (corner >> 1) % 2 * m + corner % 2] > level) {
            return false;
        }
    }
    return true;
}

/* Goes through the eighths of the cube between node i and its neighbours that are inside: adds up their
 * densities, and spreads `scale` times them where `points` is not NULL. */
static double visit_cube(const mpm_domain *domain, const double *density, double level, const int i[3],
                         double scale, mpm_spread *points)
{
    double sum = 0.0;
    if (all_below(domain->n, density, i, level)) {
        return 0.0;
    }
    for (int part = 0; part < 8; part++) {
        const int far[3] = {part >> 2, (part >> 1) & 1, part & 1};
        const double here = between(domain->n, density, i, far);
        if (!(here > level)) {
            continue;
        }
        sum += here;
        if (points) {
            double at[3];
            for (int d = 0; d < 3; d++) {
                at[d] = 2 * (i[d] - domain->offset) + far[d] + 0.5;
            }
            mpm_spread_cell(points, scale * here, at, 0.5 * domain->dx);
        }
    }
    return sum;
}

static double visit(const mpm_domain *domain, const double *density, double level, double scale,
                    mpm_spread *points)
{
    double sum = 0.0;
    int i[3];
    for (i[0] = 0; i[0] + 1 < domain->n; i[0]++) {
        for (i[1] = 0; i[1] + 1 < domain->n; i[1]++) {
            for (i[2] = 0; i[2] + 1 < domain->n; i[2]++) {
                sum += visit_cube(domain, density, level, i, scale, points);
            }
        }
    }
    return sum;
}

double *mpm_shape_points(const mpm_domain *domain, const double *density, ds_memory *room, size_t *count)
{
    double mass;
    const double level = level_of(domain->n, density, &mass),
                 inside = visit(domain, density, level, 0.0, NULL);
    mpm_spread points = {.point_mass = mpm_point_mass(domain, mass)};
    points.count = mpm_spread_points(mass, points.point_mass);
    points.out = ds_memory_doubles(room, 3 * points.count + 1);
    if (points.out && inside > 0.0) {
        visit(domain, density, level, mass / inside, &points);
    }
    *count = points.points;
    return points.out;
}
