/* SPDX-License-Identifier: Apache-2.0 */
/* distance_grid.c - tensor products of the cubic B-spline, with derivatives. */
#include "engines/data/distance_grid.h"

#include <math.h>
#include <string.h>

/* Weights of the four samples around t in [0, 1] between the second and the third, and their derivatives. */
static void weights(double t, double w[3][4])
{
    const double u = 1.0 - t;
    w[0][0] = u * u * u / 6.0;
    w[0][1] = (4.0 - 6.0 * t * t + 3.0 * t * t * t) / 6.0;
    w[0][2] = (4.0 - 6.0 * u * u + 3.0 * u * u * u) / 6.0;
    w[0][3] = t * t * t / 6.0;
    w[1][0] = -0.5 * u * u;
    w[1][1] = -2.0 * t + 1.5 * t * t;
    w[1][2] = 2.0 * u - 1.5 * u * u;
    w[1][3] = 0.5 * t * t;
    w[2][0] = u;
    w[2][1] = 3.0 * t - 2.0;
    w[2][2] = 3.0 * u - 2.0;
    w[2][3] = t;
}

/* The nearest point of the box in which all samples around it exist. Returns the distance to it; e: the way
 * from there to x. */
static double to_box(const distance_grid *g, const double x[3], double scaled[3], double e[3])
{
    double sum = 0.0;
    for (int d = 0; d < 3; d++) {
        const double at = (x[d] - g->origin[d]) / g->spacing, last = g->n[d] - 2.0;
        scaled[d] = at < 1.0 ? 1.0 : at > last ? last : at;
        e[d] = (at - scaled[d]) * g->spacing;
        sum += e[d] * e[d];
    }
    return sqrt(sum);
}

double distance_grid_at(const distance_grid *g, const double x[3], double gradient[3], double hessian[9])
{
    double scaled[3], e[3], w[3][3][4], sum[3][3] = {{0.0}}, slope[3] = {0.0}, value = 0.0;
    const double outside = to_box(g, x, scaled, e);
    int first[3];
    for (int d = 0; d < 3; d++) {
        int cell = (int)scaled[d];
        cell = cell > g->n[d] - 3 ? g->n[d] - 3 : cell;
        first[d] = cell - 1;
        weights(scaled[d] - cell, w[d]);
    }
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            const double *v =
                g->value +
                ((size_t)(first[0] + i) * (size_t)g->n[1] + (size_t)(first[1] + j)) * (size_t)g->n[2] +
                first[2];
            double line[3];
            for (int k = 0; k < 3; k++) {
                line[k] = w[2][k][0] * v[0] + w[2][k][1] * v[1] + w[2][k][2] * v[2] + w[2][k][3] * v[3];
            }
            const double a = w[0][0][i], da = w[0][1][i], b = w[1][0][j], db = w[1][1][j];
            value += a * b * line[0];
            slope[0] += da * b * line[0];
            slope[1] += a * db * line[0];
            slope[2] += a * b * line[1];
            sum[0][0] += w[0][2][i] * b * line[0];
            sum[1][1] += a * w[1][2][j] * line[0];
            sum[2][2] += a * b * line[2];
            sum[0][1] += da * db * line[0];
            sum[0][2] += da * b * line[1];
            sum[1][2] += a * db * line[1];
        }
    }
    /* Along an axis on which x is outside, only the distance to the box changes. */
    int free_axis[3];
    for (int d = 0; d < 3; d++) {
        free_axis[d] = !(e[d] > 0.0 || e[d] < 0.0);
    }
    for (int d = 0; gradient && d < 3; d++) {
        gradient[d] = free_axis[d] ? slope[d] / g->spacing : e[d] / outside;
    }
    for (int d = 0; hessian && d < 3; d++) {
        for (int k = 0; k < 3; k++) {
            const double own = sum[d < k ? d : k][d < k ? k : d] / (g->spacing * g->spacing);
            const double far = outside > 0.0 ? ((d == k) - e[d] * e[k] / (outside * outside)) / outside : 0.0;
            hessian[3 * d + k] = free_axis[d] && free_axis[k]     ? own
                                 : !free_axis[d] && !free_axis[k] ? far
                                                                  : 0.0;
        }
    }
    return value + outside;
}

double distance_grid_bound(const distance_grid *g, const double x[3])
{
    double scaled[3], e[3];
    const double outside = to_box(g, x, scaled, e);
    return outside > 0.0 ? outside : distance_grid_at(g, x, NULL, NULL) - g->spacing;
}
