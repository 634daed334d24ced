/* SPDX-License-Identifier: Apache-2.0 */
/* hull.c - convex hulls, mass properties and coarser copies of meshes (hull.h). */
#include "engines/physics/articulated/hull.h"

#include "engines/kit/algebra/mat3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- hull ---- */

enum { MOST_FACES = 4 * TREE_CORNERS };

typedef struct face {
    uint32_t corner[3];
    double normal[3], offset; /* outside: normal x > offset */
    uint32_t farthest;
    double distance; /* of the farthest point that belongs to the face; 0: none */
    int seen;        /* from the point that is being added */
} face;

typedef struct hull {
    const double *point;
    size_t count;
    int16_t *owner; /* the face that a point lies outside of; -1: inside */
    face face[MOST_FACES];
    int faces;
} hull;

static const double *at(const hull *h, uint32_t i)
{
    return h->point + 3 * (size_t)i;
}

static double above(const hull *h, const face *f, uint32_t i)
{
    return vec3_dot(f->normal, at(h, i)) - f->offset;
}

static int set_face(const hull *h, face *f, uint32_t a, uint32_t b, uint32_t c)
{
    double u[3], v[3];
    *f = (face){.corner = {a, b, c}};
    for (int k = 0; k < 3; k++) {
        u[k] = at(h, b)[k] - at(h, a)[k];
        v[k] = at(h, c)[k] - at(h, a)[k];
    }
    vec3_cross(u, v, f->normal);
    double size = sqrt(vec3_dot(f->normal, f->normal));
    for (int k = 0; k < 3; k++) {
        f->normal[k] /= size;
    }
    f->offset = vec3_dot(f->normal, at(h, a));
    return size > 0;
}

/* Gives a point to the face from `first` on that it is farthest outside of. */
static void assign(hull *h, uint32_t i, int first, double slack)
{
    double most = slack;
    h->owner[i] = -1;
    for (int k = first; k < h->faces; k++) {
        double d = above(h, &h->face[k], i);
        if (d > most) {
            most = d;
            h->owner[i] = (int16_t)k;
        }
    }
    face *f = h->owner[i] >= 0 ? &h->face[h->owner[i]] : NULL;
    if (f && most > f->distance) {
        f->distance = most;
        f->farthest = i;
    }
}

/* Four points that span a volume; returns 0 if all lie within `slack` of a plane. */
static int open_hull(hull *h, double slack)
{
    uint32_t c[4] = {0};
    double best = -1, u[3], v[3], n[3];
    for (uint32_t i = 0; i < h->count; i++) {
        c[0] = at(h, i)[0] < at(h, c[0])[0] ? i : c[0];
    }
    for (int corner = 1; corner < 4; corner++, best = -1) {
        for (uint32_t i = 0; i < h->count; i++) {
            double d;
            for (int k = 0; k < 3; k++) {
                u[k] = at(h, i)[k] - at(h, c[0])[k];
                v[k] = at(h, c[1])[k] - at(h, c[0])[k];
            }
            if (corner == 1) {
                d = vec3_dot(u, u);
            } else if (corner == 2) {
                vec3_cross(u, v, n);
                d = vec3_dot(n, n) / vec3_dot(v, v);
            } else {
                d = pow(above(h, &h->face[0], i), 2);
            }
            if (d > best) {
                best = d;
                c[corner] = i;
            }
        }
        if (!(sqrt(best) > slack) || (corner == 2 && !set_face(h, &h->face[0], c[0], c[1], c[2]))) {
            return 0;
        }
    }
    if (above(h, &h->face[0], c[3]) > 0) {
        uint32_t other = c[1];
        c[1] = c[2];
        c[2] = other;
    }
    static const int order[4][3] = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}};
    for (h->faces = 0; h->faces < 4; h->faces++) {
        const int *o = order[h->faces];
        set_face(h, &h->face[h->faces], c[o[0]], c[o[1]], c[o[2]]);
    }
    for (uint32_t i = 0; i < h->count; i++) {
        assign(h, i, 0, slack);
    }
    return 1;
}

/* Replaces the faces that point `top` is outside of by a cone over their rim. Returns 0 if that fails. */
static int add_corner(hull *h, uint32_t top, double slack)
{
    uint32_t rim[MOST_FACES][2];
    int rims = 0, kept = 0, moved[MOST_FACES];
    for (int k = 0; k < h->faces; k++) {
        h->face[k].seen = above(h, &h->face[k], top) > 1e-6 * slack;
    }
    for (int k = 0; k < h->faces; k++) {
        for (int j = 0; j < 3 && h->face[k].seen; j++) {
            uint32_t a = h->face[k].corner[j], b = h->face[k].corner[(j + 1) % 3];
            int inner = 0;
            for (int l = 0; l < h->faces && !inner; l++) {
                const uint32_t *o = h->face[l].corner;
                for (int i = 0; i < 3 && h->face[l].seen; i++) {
                    inner = inner || (o[i] == b && o[(i + 1) % 3] == a);
                }
            }
            if (!inner && rims < MOST_FACES) {
                rim[rims][0] = a;
                rim[rims++][1] = b;
            }
        }
    }
    for (int k = 0; k < h->faces; k++) {
        kept += !h->face[k].seen;
    }
    if (kept + rims > MOST_FACES || rims < 3) {
        return 0;
    }
    kept = 0;
    for (int k = 0; k < h->faces; k++) {
        moved[k] = h->face[k].seen ? -1 : kept;
        if (!h->face[k].seen) {
            h->face[kept++] = h->face[k];
        }
    }
    h->faces = kept;
    for (int k = 0; k < rims; k++) {
        if (!set_face(h, &h->face[h->faces++], rim[k][0], rim[k][1], top)) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < h->count; i++) {
        if (h->owner[i] >= 0 && moved[h->owner[i]] >= 0) {
            h->owner[i] = (int16_t)moved[h->owner[i]];
        } else if (h->owner[i] >= 0) {
            assign(h, i, kept, slack);
        }
    }
    return 1;
}

/* The corners and faces; points inside are left out. */
static int copy_hull(ds_memory *m, const hull *h, tree_mesh *out)
{
    uint32_t used[3 * MOST_FACES], *triangle = ds_memory_take(m, 3 * (size_t)h->faces, sizeof *triangle);
    double *point = ds_memory_doubles(m, 3 * (size_t)TREE_CORNERS);
    int corners = 0;
    if (triangle == NULL || point == NULL) {
        return 0;
    }
    for (int k = 0; k < 3 * h->faces; k++) {
        uint32_t i = h->face[k / 3].corner[k % 3];
        int j = 0;
        while (j < corners && used[j] != i) {
            j++;
        }
        if (j == corners) {
            used[corners] = i;
            memcpy(point + 3 * corners++, at(h, i), 3 * sizeof *point);
        }
        triangle[k] = (uint32_t)j;
    }
    *out = (tree_mesh){.points = corners, .triangles = h->faces, .point = point, .triangle = triangle};
    return 1;
}

static int copy_box(ds_memory *m, const double low[3], const double high[3], tree_mesh *out)
{
    static const uint32_t faces[36] = {0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4,
                                       2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5};
    double *point = ds_memory_doubles(m, 24);
    uint32_t *triangle = ds_memory_take(m, 36, sizeof *triangle);
    if (point == NULL || triangle == NULL) {
        return 0;
    }
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < 3; k++) {
            point[3 * i + k] = i >> k & 1 ? high[k] : low[k];
        }
    }
    memcpy(triangle, faces, sizeof faces);
    *out = (tree_mesh){.points = 8, .triangles = 12, .point = point, .triangle = triangle};
    return 1;
}

int hull_of(ds_memory *m, const double *point, size_t count, tree_mesh *out)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, size = 0;
    for (size_t i = 0; i < 3 * count; i++) {
        low[i % 3] = fmin(low[i % 3], point[i]);
        high[i % 3] = fmax(high[i % 3], point[i]);
    }
    for (int k = 0; k < 3; k++) {
        size = fmax(size, high[k] - low[k]);
    }
    hull *h = calloc(1, sizeof *h);
    int16_t *owner = calloc(count + 1, sizeof *owner);
    int solid = 0, done = 0;
    if (h && owner) {
        *h = (hull){.point = point, .count = count, .owner = owner};
        solid = open_hull(h, 1e-3 * size);
        for (int corners = 4; solid && corners < TREE_CORNERS; corners++) {
            const face *far = &h->face[0];
            for (int k = 1; k < h->faces; k++) {
                far = h->face[k].distance > far->distance ? &h->face[k] : far;
            }
            if (!(far->distance > 0) || !add_corner(h, far->farthest, 1e-3 * size)) {
                break;
            }
        }
        done = solid ? copy_hull(m, h, out) : copy_box(m, low, high, out);
    }
    free(h);
    free(owner);
    return done;
}

/* ---- mass ---- */

/* Adds the first and second moments, about the apex, of the pyramids between it and the triangles; with
 * `positive` all of them count as positive. Returns their volume. */
static double pyramids(const tree_mesh *s, const double apex[3], int positive, double moment[3], double C[9])
{
    double volume = 0;
    for (int t = 0; t < s->triangles; t++) {
        double corner[3][3], n[3], sum[3];
        for (int i = 0; i < 3; i++) {
            memcpy(corner[i], s->point + 3 * s->triangle[3 * t + i], sizeof corner[i]);
            vec3_add_scaled(corner[i], -1, apex);
        }
        vec3_cross(corner[1], corner[2], n);
        double det = vec3_dot(corner[0], n); /* six times the volume */
        det = positive ? fabs(det) : det;
        for (int k = 0; k < 3; k++) {
            sum[k] = corner[0][k] + corner[1][k] + corner[2][k];
            moment[k] += det / 24 * sum[k];
        }
        volume += det / 6;
        for (int i = 0; i < 3; i++) {
            mat3_add_outer(C, det / 120, corner[i], corner[i]);
        }
        mat3_add_outer(C, det / 120, sum, sum);
    }
    return volume;
}

/* The inertia of second moments. */
static void inertia_of(const double C[9], double inertia[9])
{
    for (int k = 0; k < 9; k++) {
        inertia[k] = (k % 4 == 0 ? C[0] + C[4] + C[8] : 0) - C[k];
    }
}

double hull_mass(const tree_mesh *s, robot_mass *out)
{
    const double origin[3] = {0};
    double moment[3] = {0}, C[9] = {0}, volume = pyramids(s, origin, 0, moment, C);
    memset(out, 0, sizeof *out);
    out->mass = 1;
    for (int k = 0; k < 3; k++) {
        out->centre[k] = moment[k] / volume;
    }
    for (int k = 0; k < 9; k++) {
        C[k] /= volume;
    }
    mat3_add_outer(C, -1, out->centre, out->centre);
    inertia_of(C, out->inertia);
    return volume;
}

/* Area of a triangle along its normal, times 2; `middle` is three times its centre. */
static void area_of(const tree_mesh *s, int t, double area[3], double middle[3])
{
    const double *a = s->point + 3 * s->triangle[3 * t], *b = s->point + 3 * s->triangle[3 * t + 1],
                 *c = s->point + 3 * s->triangle[3 * t + 2];
    double ab[3], ac[3];
    for (int k = 0; k < 3; k++) {
        ab[k] = b[k] - a[k];
        ac[k] = c[k] - a[k];
        middle[k] = a[k] + b[k] + c[k];
    }
    vec3_cross(ab, ac, area);
}

double hull_mass_legacy(const tree_mesh *s, robot_mass *out)
{
    double apex[3] = {0}, areas = 0, moment[3] = {0}, unused[3] = {0}, C[9] = {0}, rest[9] = {0};
    for (int t = 0; t < s->triangles; t++) {
        double area[3], middle[3];
        area_of(s, t, area, middle);
        double size = sqrt(vec3_dot(area, area));
        areas += size;
        vec3_add_scaled(apex, size / 3, middle);
    }
    for (int k = 0; k < 3; k++) {
        apex[k] /= areas;
    }
    double volume = pyramids(s, apex, 1, moment, rest);
    memset(out, 0, sizeof *out);
    out->mass = 1;
    for (int k = 0; k < 3; k++) {
        out->centre[k] = apex[k] + moment[k] / volume;
    }
    volume = pyramids(s, out->centre, 1, unused, C);
    for (int k = 0; k < 9; k++) {
        C[k] /= volume;
    }
    inertia_of(C, out->inertia);
    return volume;
}

double hull_opening(const tree_mesh *s)
{
    double sum[3] = {0}, all = 0, first[3] = {0}, reach = 0, flow[9] = {0}, open = 0;
    for (int t = 0; t < s->triangles; t++) {
        double area[3], middle[3];
        area_of(s, t, area, middle);
        memcpy(first, t == 0 ? middle : first, sizeof first);
        vec3_add_scaled(middle, -1, first);
        reach = fmax(reach, sqrt(vec3_dot(middle, middle)));
        all += sqrt(vec3_dot(area, area));
        vec3_add_scaled(sum, 1, area);
        mat3_add_outer(flow, 1, middle, area);
    }
    /* flow is the volume times the unit matrix, by the theorem of Gauss for each coordinate */
    for (int k = 0; k < 9; k++) {
        open = fmax(open, fabs(k % 4 == 0 ? flow[k] - flow[0] : flow[k]) / reach);
    }
    return fmax(open, sqrt(vec3_dot(sum, sum))) / all;
}

double hull_outside(const tree_mesh *s, const double *point, size_t count)
{
    double far = 0;
    for (int t = 0; t < s->triangles; t++) {
        double area[3], middle[3];
        area_of(s, t, area, middle);
        const double size = sqrt(vec3_dot(area, area)), level = vec3_dot(area, middle) / 3;
        for (size_t i = 0; i < count && size > 0; i++) {
            far = fmax(far, (vec3_dot(area, point + 3 * i) - level) / size);
        }
    }
    return far;
}

/* ---- pictures ---- */

/* Numbers the cells of a grid with `cells` along the longest edge that hold points: cell_of[i] for each
 * point. Returns their number, or 0 without memory. */
static size_t cells_of(const double *point, size_t points, const double low[3], double edge,
                       uint32_t *cell_of)
{
    size_t slots = 1, used = 0;
    while (slots < 2 * points) {
        slots *= 2;
    }
    struct slot {
        int32_t key[3];
        uint32_t number;
    } *slot = calloc(slots, sizeof *slot);
    for (size_t i = 0; slot && i < points; i++) {
        int32_t key[3];
        for (int k = 0; k < 3; k++) {
            key[k] = (int32_t)floor((point[3 * i + k] - low[k]) / edge);
        }
        size_t s = ((size_t)key[0] * 73856093u ^ (size_t)key[1] * 19349663u ^ (size_t)key[2] * 83492791u) &
                   (slots - 1);
        while (slot[s].number != 0 && memcmp(slot[s].key, key, sizeof key) != 0) {
            s = (s + 1) & (slots - 1);
        }
        if (slot[s].number == 0) {
            memcpy(slot[s].key, key, sizeof key);
            slot[s].number = (uint32_t)++used;
        }
        cell_of[i] = slot[s].number - 1;
    }
    free(slot);
    return used;
}

int hull_coarse(ds_memory *m, const double *point, size_t points, const uint32_t *triangle, size_t triangles,
                size_t most, tree_mesh *out)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, size = 0;
    for (size_t i = 0; i < 3 * points; i++) {
        low[i % 3] = fmin(low[i % 3], point[i]);
    }
    for (size_t i = 0; i < 3 * points; i++) {
        size = fmax(size, point[i] - low[i % 3]);
    }
    uint32_t *cell_of = calloc(points + 1, sizeof *cell_of);
    size_t used = 0;
    double edge = fmax(size, 1e-9) / 4096;
    do {
        used = cell_of ? cells_of(point, points, low, edge, cell_of) : 0;
        edge *= 1.4;
    } while (used > most);
    double *mean = used ? ds_memory_doubles(m, 3 * used) : NULL, *count = calloc(used + 1, sizeof *count);
    uint32_t *kept = mean ? ds_memory_take(m, 3 * triangles, sizeof *kept) : NULL;
    size_t n = 0;
    for (size_t i = 0; kept && count && i < points; i++) {
        double *at = mean + 3 * (size_t)cell_of[i], share = 1 / ++count[cell_of[i]];
        for (int k = 0; k < 3; k++) {
            at[k] += share * (point[3 * i + k] - at[k]);
        }
    }
    for (size_t t = 0; kept && t < triangles; t++) {
        uint32_t a = cell_of[triangle[3 * t]], b = cell_of[triangle[3 * t + 1]],
                 c = cell_of[triangle[3 * t + 2]];
        if (a != b && b != c && c != a) {
            kept[3 * n] = a;
            kept[3 * n + 1] = b;
            kept[3 * n++ + 2] = c;
        }
    }
    int done = kept && count;
    free(cell_of);
    free(count);
    *out = (tree_mesh){.points = (int)used, .triangles = (int)n, .point = mean, .triangle = kept};
    return done;
}
