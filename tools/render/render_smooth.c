/* SPDX-License-Identifier: Apache-2.0 */
/* render_smooth.c - makes a dense cloud of particles look like one body: the depth of its pixels is smoothed
 * and the normals follow from it (screen-space rendering of particles, van der Laan, Green and Sainz 2009).
 * Single particles stay visible as a texture, and those that fly off stay balls. */
#include "config.h"

#include "render/render_internal.h"

#include <stdlib.h>

enum { MAX_TAPS = 7, ROUNDS = 3 };

/* Standard deviation of the first smoothing; each round halves it, and with it the gaps between the samples,
 * whose pattern the next round removes. */
#define HALVED 0.45f

/* Width of the smoothing and largest step in depth that it crosses, in particle radii. */
#define WIDTH 2.2f
#define RANGE 6.0f

/* Share of the ball's own normal that is left. */
#define TEXTURE 0.2f

/* Samples on one side of a pixel. */
typedef struct kernel {
    int taps;
    int step[MAX_TAPS];
    float weight[MAX_TAPS];
    float inverse_range;
} kernel;

static kernel make_kernel(const ds_view *v, float radius, int round)
{
    kernel k = {.taps = 0};
    float distance = sqrtf(v3_dot(v->eye, v->eye));
    float sigma = WIDTH * radius * v->focal / most(distance, 0.1f);
    sigma = least(sigma, 24);
    for (int i = 0; i < round; i++) {
        sigma *= HALVED;
    }
    /* The samples reach two sigma; neighbours are skipped where that takes too many. */
    int reach = (int)(2 * sigma + 0.5f);
    int stride = reach / MAX_TAPS + 1;
    for (int d = stride; d <= reach && k.taps < MAX_TAPS; d += stride) {
        k.step[k.taps] = d;
        k.weight[k.taps] = expf(-(float)(d * d) / (2 * sigma * sigma));
        k.taps++;
    }
    k.inverse_range = 1 / (RANGE * radius);
    return k;
}

/* Weighted mean of the depth along one direction, over pixels of the same surface and about the same depth.
 */
static float mean_depth(const ds_pixel *pixels, const float *z, const kernel *k, size_t at, int place,
                        int end, size_t stride)
{
    float here = z[at];
    float sum = here;
    float total = 1;
    for (int i = 0; i < k->taps; i++) {
        for (int side = -1; side <= 1; side += 2) {
            int q = place + side * k->step[i];
            if (q < 0 || q >= end) {
                continue;
            }
            size_t other = side < 0 ? at - (size_t)k->step[i] * stride : at + (size_t)k->step[i] * stride;
            if (pixels[other].surface != pixels[at].surface) {
                continue;
            }
            float d = 1 - fabsf(z[other] - here) * k->inverse_range;
            if (d > 0) {
                float w = k->weight[i] * d;
                sum += w * z[other];
                total += w;
            }
        }
    }
    return sum / total;
}

/* Point of a pixel in view coordinates. */
static vec3 point(const ds_view *v, const float *z, int x, int y)
{
    float depth = z[(size_t)y * (size_t)v->width + (size_t)x];
    return v3(((float)x + 0.5f - v->cx) / v->focal * depth, (v->cy - (float)y - 0.5f) / v->focal * depth,
              depth);
}

/* Difference of neighbouring points along x or y, on the side where the surface goes on. */
static int slope(const ds_view *v, const ds_pixel *pixels, const float *z, int x, int y, int dx, int dy,
                 vec3 *out)
{
    uint32_t surface = pixels[(size_t)y * (size_t)v->width + (size_t)x].surface;
    vec3 here = point(v, z, x, y);
    float best = INFINITY;
    for (int side = -1; side <= 1; side += 2) {
        int u = x + side * dx;
        int w = y + side * dy;
        if (u < 0 || w < 0 || u >= v->width || w >= v->height ||
            pixels[(size_t)w * (size_t)v->width + (size_t)u].surface != surface) {
            continue;
        }
        vec3 d = v3_scale(v3_sub(point(v, z, u, w), here), (float)side);
        if (fabsf(d.z) < best) {
            best = fabsf(d.z);
            *out = d;
        }
    }
    return best < 1e9f;
}

static void set_normals(ds_pixel *pixels, const ds_view *v, const float *z, const float *radius)
{
    for (int y = 0; y < v->height; y++) {
        for (int x = 0; x < v->width; x++) {
            ds_pixel *p = &pixels[(size_t)y * (size_t)v->width + (size_t)x];
            vec3 a, b;
            if (!(radius[p->surface] > 0)) {
                continue;
            }
            p->z = z[(size_t)y * (size_t)v->width + (size_t)x];
            if (!slope(v, pixels, z, x, y, 1, 0, &a) || !slope(v, pixels, z, x, y, 0, 1, &b)) {
                continue;
            }
            vec3 n = v3_unit(v3_cross(a, b));
            vec3 at = point(v, z, x, y);
            n = v3_dot(n, at) > 0 ? v3_scale(n, -1) : n;
            vec3 ball = v3((float)p->n[0] / 32767, (float)p->n[1] / 32767, (float)p->n[2] / 32767);
            n = v3_unit(v3_add(v3_scale(n, 1 - TEXTURE), v3_scale(ball, TEXTURE)));
            p->n[0] = (int16_t)(n.x * 32767);
            p->n[1] = (int16_t)(n.y * 32767);
            p->n[2] = (int16_t)(n.z * 32767);
        }
    }
}

int ds_smooth_points(ds_pixel *pixels, const ds_view *v, const float *radius, size_t surfaces)
{
    size_t n = (size_t)v->width * (size_t)v->height;
    float *z = malloc(n * sizeof *z);
    float *next = malloc(n * sizeof *next);
    kernel *k = calloc(surfaces, sizeof *k);
    int status = z == NULL || next == NULL || k == NULL ? DS_EXIT_MEMORY : 0;
    for (size_t i = 0; i < n && status == 0; i++) {
        z[i] = pixels[i].z;
    }
    for (int round = 0; round < 2 * ROUNDS && status == 0; round++) {
        for (size_t s = 0; s < surfaces && round % 2 == 0; s++) {
            if (radius[s] > 0) {
                k[s] = make_kernel(v, radius[s], round / 2);
            }
        }
        for (int y = 0; y < v->height; y++) {
            for (int x = 0; x < v->width; x++) {
                size_t at = (size_t)y * (size_t)v->width + (size_t)x;
                next[at] = z[at];
                if (radius[pixels[at].surface] > 0) {
                    const kernel *one = &k[pixels[at].surface];
                    next[at] = round % 2 == 0
                                   ? mean_depth(pixels, z, one, at, x, v->width, 1)
                                   : mean_depth(pixels, z, one, at, y, v->height, (size_t)v->width);
                }
            }
        }
        float *swap = z;
        z = next;
        next = swap;
    }
    if (status == 0) {
        set_normals(pixels, v, z, radius);
    }
    free(z);
    free(next);
    free(k);
    return status;
}
