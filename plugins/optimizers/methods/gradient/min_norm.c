/* SPDX-License-Identifier: Apache-2.0 */
/* min_norm.c - see min_norm.h. The combination always lies on a simplex of a few points, the members. A round
 * adds the point that lies furthest towards the origin, moves to the shortest vector of the members' affine
 * hull, and drops the members where that lies outside their convex hull. */
#include "methods/gradient/min_norm.h"

#include <math.h>
#include <string.h>

#define TOLERANCE 1e-12 /* of x'p and of pivots, relative to the longest point */

size_t min_norm_room(size_t count)
{
    return 2 * count * count + 2 * count;
}

/* Solves (Gram matrix + size) v = 1 for the members by elimination, and divides v by its sum: the weights of
 * the shortest vector of their affine hull. */
static void weigh(size_t members, const size_t *member, size_t count, const double *gram, double size,
                  double *a, double *v)
{
    for (size_t i = 0; i < members; i++) {
        for (size_t j = 0; j < members; j++) {
            a[i * members + j] = gram[member[i] * count + member[j]] + size;
        }
        a[i * members + i] += 1e-15 * size; /* equal points */
        v[i] = 1.0;
    }
    for (size_t k = 0; k < members; k++) { /* symmetric and positive: no pivoting */
        for (size_t i = k + 1; i < members; i++) {
            const double factor = a[i * members + k] / a[k * members + k];
            for (size_t j = k; j < members; j++) {
                a[i * members + j] -= factor * a[k * members + j];
            }
            v[i] -= factor * v[k];
        }
    }
    double sum = 0.0;
    for (size_t k = members; k-- > 0;) {
        for (size_t j = k + 1; j < members; j++) {
            v[k] -= a[k * members + j] * v[j];
        }
        v[k] /= a[k * members + k];
        sum += v[k];
    }
    for (size_t k = 0; k < members; k++) {
        v[k] /= sum;
    }
}

/* Moves the weights of the members towards v as far as they stay positive, and drops those that become 0.
 * Returns 1 where v is reached. */
static int approach(size_t *members, size_t *member, const double *v, double *w)
{
    double theta = 1.0;
    size_t last = *members;
    for (size_t i = 0; i < *members; i++) {
        const double now = w[member[i]];
        if (!(v[i] > 0.0) && now / (now - v[i]) < theta) {
            theta = now / (now - v[i]);
            last = i;
        }
    }
    for (size_t i = 0; i < *members; i++) {
        w[member[i]] = i == last ? 0.0 : fmax((1.0 - theta) * w[member[i]] + theta * v[i], 0.0);
    }
    size_t kept = 0;
    for (size_t i = 0; i < *members; i++) {
        member[kept] = member[i];
        kept += w[member[i]] > 0.0;
    }
    const int reached = last == *members;
    *members = kept;
    return reached || kept == 0;
}

void min_norm(size_t count, size_t n, const double *points, double *x, double *w, double *room,
              size_t *member)
{
    double *gram = room, *a = gram + count * count, *v = a + count * count, *slope = v + count;
    double size = 0.0, unit = 0.0;
    size_t members = 1;
    for (size_t i = 0; i < count * n; i++) {
        unit = fmax(unit, fabs(points[i]));
    }
    unit = unit > 0.0 ? unit : 1.0;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < n; k++) {
                sum += points[i * n + k] / unit * (points[j * n + k] / unit);
            }
            gram[i * count + j] = gram[j * count + i] = sum;
        }
        size = fmax(size, gram[i * count + i]);
        w[i] = 0.0;
    }
    member[0] = 0;
    for (size_t i = 1; i < count; i++) {
        member[0] = gram[i * count + i] < gram[member[0] * count + member[0]] ? i : member[0];
    }
    w[member[0]] = 1.0;
    for (size_t round = 0; size > 0.0 && round < 10 * (count + n); round++) {
        double square = 0.0;
        size_t next = 0;
        for (size_t i = 0; i < count; i++) {
            slope[i] = 0.0;
            for (size_t j = 0; j < members; j++) {
                slope[i] += gram[i * count + member[j]] * w[member[j]];
            }
            next = slope[i] < slope[next] ? i : next;
        }
        for (size_t j = 0; j < members; j++) {
            square += slope[member[j]] * w[member[j]];
        }
        if (members == count || w[next] > 0.0 || slope[next] >= square - TOLERANCE * size) {
            break;
        }
        member[members++] = next;
        do {
            weigh(members, member, count, gram, size, a, v);
        } while (!approach(&members, member, v, w));
    }
    memset(x, 0, n * sizeof *x);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; w[i] > 0.0 && k < n; k++) {
            x[k] += w[i] * points[i * n + k];
        }
    }
}
