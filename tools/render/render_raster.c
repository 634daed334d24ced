/* SPDX-License-Identifier: Apache-2.0 */
/* render_raster.c - views of camera and light, the surface in each of their pixels, smoothing of particles,
 * and light. */
#include "config.h"

#include "render/render_internal.h"

#include <stdlib.h>

/* Half the height of the image at distance 1: a mild telephoto lens. */
#define HALF_FIELD 0.24f

/* Share of the image that the box fills. */
#define FILL 0.95f

/* Nothing closer to the eye is drawn. */
#define NEAR 0.05f

/* Positions on the circle around the scene from which the box has to fit. */
#define SIDES 16

static ds_view look_from(vec3 direction)
{
    ds_view v = {.eye = {0, 0, 0}};
    v.forward = v3_scale(v3_unit(direction), -1);
    v.right = v3_unit(v3_cross(v.forward, v3(0, 1, 0)));
    v.up = v3_cross(v.right, v.forward);
    return v;
}

/* Collects the points that must be visible: the corners of the box, or of the volume it covers when turned
 * about the vertical. */
static int corners(const ds_frame_of_reference *r)
{
    return r->around ? 2 * SIDES : 8;
}

static vec3 corner(const ds_frame_of_reference *r, int i)
{
    if (r->around) {
        const float reach = sqrtf(r->high.x * r->high.x + r->high.z * r->high.z);
        const float turn = (float)(i / 2) * (6.2831853f / SIDES);
        return v3(reach * sinf(turn), (i & 1) != 0 ? r->high.y : r->low.y, reach * cosf(turn));
    }
    return v3((i & 1) != 0 ? r->high.x : r->low.x, (i & 2) != 0 ? r->high.y : r->low.y,
              (i & 4) != 0 ? r->high.z : r->low.z);
}

ds_view ds_view_camera(const ds_frame_of_reference *r, int width, int height)
{
    ds_view v = look_from(
        v3(sinf(r->azimuth) * cosf(r->elevation), sinf(r->elevation), cosf(r->azimuth) * cosf(r->elevation)));
    v.width = width;
    v.height = height;
    float tall = HALF_FIELD;
    float wide = HALF_FIELD * (float)width / (float)height;
    /* Finds the least distance that shows the whole box, then centres the box in the image. */
    float distance = 0.5f;
    for (int i = 0; i < corners(r); i++) {
        vec3 p = ds_view_to(&v, corner(r, i));
        distance = most(distance, most(fabsf(p.x) / wide, fabsf(p.y) / tall) / FILL - p.z);
    }
    v.eye = v3_scale(v.forward, -distance);
    v.focal = (float)height / (2 * HALF_FIELD);
    float x0 = 1e9f, x1 = -1e9f, y0 = 1e9f, y1 = -1e9f;
    for (int i = 0; i < corners(r); i++) {
        vec3 p = ds_view_to(&v, corner(r, i));
        x0 = least(x0, p.x / p.z);
        x1 = most(x1, p.x / p.z);
        y0 = least(y0, p.y / p.z);
        y1 = most(y1, p.y / p.z);
    }
    /* Off-centre boxes leave room: zoom in up to the margin. */
    float zoom = least(2 * wide * FILL / (x1 - x0), 2 * tall * FILL / (y1 - y0));
    v.focal *= zoom * r->zoom;
    v.cx = (float)width / 2 - v.focal * (x0 + x1) / 2;
    v.cy = (float)height / 2 + v.focal * (y0 + y1) / 2;
    return v;
}

ds_view ds_view_light(vec3 towards_light, float radius, int size)
{
    ds_view v = look_from(towards_light);
    v.eye = v3_scale(v.forward, -4 * radius);
    v.parallel = 1;
    v.width = size;
    v.height = size;
    v.focal = (float)size / (2 * radius);
    v.cx = (float)size / 2;
    v.cy = (float)size / 2;
    return v;
}

void ds_raster_clear(ds_pixel *pixels, const ds_view *v)
{
    ds_pixel nothing = {INFINITY, {0, 0, 0}, DS_SURFACE_NONE};
    size_t n = (size_t)v->width * (size_t)v->height;
    for (size_t i = 0; i < n; i++) {
        pixels[i] = nothing;
    }
}

static void set_pixel(ds_pixel *p, float z, vec3 n, uint32_t surface)
{
    p->z = z;
    p->n[0] = (int16_t)(n.x * 32767);
    p->n[1] = (int16_t)(n.y * 32767);
    p->n[2] = (int16_t)(n.z * 32767);
    p->surface = (uint16_t)surface;
}

/* First pixel, and one past the last, of a range of coordinates within 0..size. */
static void pixel_range(float low, float high, int size, int *first, int *end)
{
    low = most(low, 0);
    high = least(high, (float)size);
    *first = (int)low;
    *end = high > low ? (int)ceilf(high) : *first;
}

static void draw_ball(ds_pixel *pixels, const ds_view *v, const ds_ball *b)
{
    vec3 p = ds_view_to(v, b->center);
    if (p.z < NEAR) {
        return;
    }
    float scale = v->parallel ? v->focal : v->focal / p.z;
    float x = v->cx + scale * p.x;
    float y = v->cy - scale * p.y;
    float r = most(scale * b->radius, 0.6f);
    int x0, x1, y0, y1;
    pixel_range(x - r, x + r, v->width, &x0, &x1);
    pixel_range(y - r, y + r, v->height, &y0, &y1);
    float inverse = 1 / r;
    for (int j = y0; j < y1; j++) {
        float dy = ((float)j + 0.5f - y) * inverse;
        ds_pixel *row = pixels + (size_t)j * (size_t)v->width;
        for (int i = x0; i < x1; i++) {
            float dx = ((float)i + 0.5f - x) * inverse;
            float q = 1 - dx * dx - dy * dy;
            if (q <= 0 || p.z - b->radius >= row[i].z) {
                continue;
            }
            float h = sqrtf(q);
            float z = p.z - b->radius * h;
            if (z < row[i].z) {
                set_pixel(&row[i], z, v3(dx, -dy, -h), b->surface);
            }
        }
    }
}

/* Is the side seen to which the normals do not point? A smooth normal alone does not tell: at a sharp edge it
 * may point away from a triangle that is seen from its front. */
static int from_behind(const ds_view *v, const ds_triangle *t)
{
    vec3 a = ds_view_to(v, t->p[0]);
    vec3 face = v3_cross(v3_sub(ds_view_to(v, t->p[1]), a), v3_sub(ds_view_to(v, t->p[2]), a));
    vec3 n = v3_add(t->n[0], v3_add(t->n[1], t->n[2]));
    vec3 ray = v->parallel ? v3(0, 0, 1) : a;
    return v3_dot(face, ray) *
               v3_dot(face, v3(v3_dot(n, v->right), v3_dot(n, v->up), v3_dot(n, v->forward))) >
           0;
}

static void draw_triangle(ds_pixel *pixels, const ds_view *v, const ds_triangle *t)
{
    float x[3], y[3], w[3];
    vec3 n[3];
    int behind = from_behind(v, t);
    for (int k = 0; k < 3; k++) {
        vec3 p = ds_view_to(v, t->p[k]);
        if (p.z < NEAR) {
            return;
        }
        float scale = v->parallel ? v->focal : v->focal / p.z;
        x[k] = v->cx + scale * p.x;
        y[k] = v->cy - scale * p.y;
        /* Linear on the screen: 1/z with perspective, else z. */
        w[k] = v->parallel ? p.z : 1 / p.z;
        n[k] = v3(v3_dot(t->n[k], v->right), v3_dot(t->n[k], v->up), v3_dot(t->n[k], v->forward));
    }
    float area = (x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0]);
    if (!(fabsf(area) > 1e-12f)) {
        return;
    }
    int x0, x1, y0, y1;
    pixel_range(least(x[0], least(x[1], x[2])), most(x[0], most(x[1], x[2])) + 1, v->width, &x0, &x1);
    pixel_range(least(y[0], least(y[1], y[2])), most(y[0], most(y[1], y[2])) + 1, v->height, &y0, &y1);
    float inverse = 1 / area;
    for (int j = y0; j < y1; j++) {
        float py = (float)j + 0.5f;
        ds_pixel *row = pixels + (size_t)j * (size_t)v->width;
        for (int i = x0; i < x1; i++) {
            float px = (float)i + 0.5f;
            float b1 = ((px - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (py - y[0])) * inverse;
            float b2 = ((x[1] - x[0]) * (py - y[0]) - (px - x[0]) * (y[1] - y[0])) * inverse;
            float b0 = 1 - b1 - b2;
            if (b0 < 0 || b1 < 0 || b2 < 0) {
                continue;
            }
            float value = b0 * w[0] + b1 * w[1] + b2 * w[2];
            float z = v->parallel ? value : 1 / value;
            if (!(z < row[i].z)) {
                continue;
            }
            if (!v->parallel) {
                b0 *= w[0] * z;
                b1 *= w[1] * z;
                b2 *= w[2] * z;
            }
            vec3 m = v3_unit(v3_add(v3_add(v3_scale(n[0], b0), v3_scale(n[1], b1)), v3_scale(n[2], b2)));
            /* Both sides of a sheet are lit. */
            set_pixel(&row[i], z, behind ? v3_scale(m, -1) : m, t->surface);
        }
    }
}

void ds_raster_geometry(ds_pixel *pixels, const ds_view *v, const ds_geometry *g)
{
    for (size_t i = 0; i < g->triangles; i++) {
        draw_triangle(pixels, v, &g->triangle[i]);
    }
    for (size_t i = 0; i < g->balls; i++) {
        draw_ball(pixels, v, &g->ball[i]);
    }
}

void ds_raster_ground(ds_pixel *pixels, const ds_view *v, float ground, float radius)
{
    vec3 normal =
        v3(v3_dot(v3(0, 1, 0), v->right), v3_dot(v3(0, 1, 0), v->up), v3_dot(v3(0, 1, 0), v->forward));
    for (int j = 0; j < v->height; j++) {
        for (int i = 0; i < v->width; i++) {
            float dx = ((float)i + 0.5f - v->cx) / v->focal;
            float dy = (v->cy - (float)j - 0.5f) / v->focal;
            vec3 ray = v3_add(v->forward, v3_add(v3_scale(v->right, dx), v3_scale(v->up, dy)));
            float z = (ground - v->eye.y) / ray.y;
            ds_pixel *p = &pixels[(size_t)j * (size_t)v->width + (size_t)i];
            if (!(z > NEAR) || !(z < p->z)) {
                continue;
            }
            vec3 hit = v3_add(v->eye, v3_scale(ray, z));
            if (hit.x * hit.x + hit.z * hit.z < radius * radius) {
                set_pixel(p, z, normal, DS_SURFACE_GROUND);
            }
        }
    }
}

/* ---- smoothing: a dense cloud of particles looks like one body ---- */

/* Screen-space rendering of particles (van der Laan, Green and Sainz 2009): the depth of the pixels is
 * smoothed, and normals are computed from it. Particles remain visible as a texture, and isolated ones remain
 * balls. */

enum { MAX_TAPS = 7, ROUNDS = 3 };

/* Standard deviation of the first smoothing. Each round halves it, and so halves the gaps between samples,
 * whose pattern the next round removes. */
#define HALVED 0.45f

/* Width of the smoothing, and the largest step in depth that it crosses, in particle radii. */
#define WIDTH 2.2f
#define RANGE 6.0f

/* Remaining share of the ball's own normal. */
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
    /* Samples reach two sigma; neighbours are skipped if that takes too many. */
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

/* Weighted mean of the depth in one direction, over pixels of the same surface at a similar depth. */
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

/* Difference of neighbouring points along x or y, on the side where the surface continues. */
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

/* ---- light ---- */

/* One key light with soft shadow, sky light dimmed in crevices (screen-space ambient occlusion, Mittring
 * 2007), a weak highlight, and the floor with its grid. */

/* Lengths in box diagonals. */
#define SHADOW_SOFT 0.010f
#define SHADOW_BIAS 0.006f
#define NEAR_RADIUS 0.022f
#define WIDE_RADIUS 0.11f

/* Point i of n points that fill a disc evenly (sunflower). */
static void disc_point(int i, int n, float turn, float *x, float *y)
{
    float r = sqrtf(((float)i + 0.5f) / (float)n);
    float a = (float)i * 2.39996323f + turn;
    *x = r * cosf(a);
    *y = r * sinf(a);
}

/* Samples over the half space above (x, y) = 0, at growing distances, because near neighbours matter most. */
static void dome_points(vec3 *out, int n, float turn, float radius)
{
    for (int i = 0; i < n; i++) {
        float x, y;
        disc_point(i, n, turn, &x, &y);
        float up = sqrtf(most(0, 1 - x * x - y * y)) + 0.08f;
        float d = radius * (0.35f + 0.65f * ((float)i + 0.5f) / (float)n);
        out[i] = v3(x * d, y * d, up * d);
    }
}

void ds_shade_prepare(ds_shading *s)
{
    for (int k = 0; k < DS_SUB_PIXELS; k++) {
        float turn = (float)k * 1.5707963f * 0.61803f;
        for (int i = 0; i < DS_SHADOW_TAPS; i++) {
            float x, y;
            disc_point(i, DS_SHADOW_TAPS, turn, &x, &y);
            s->shadow_tap[k][i][0] = x * SHADOW_SOFT * s->light->focal;
            s->shadow_tap[k][i][1] = y * SHADOW_SOFT * s->light->focal;
        }
        dome_points(s->near_tap[k], DS_NEAR_TAPS, turn, NEAR_RADIUS);
        dome_points(s->wide_tap[k], DS_WIDE_TAPS, turn + 0.7f, WIDE_RADIUS);
    }
}

/* Share of the key light that reaches a point, 0..1. */
static float lit(const ds_shading *s, vec3 p, vec3 n, int sub)
{
    const ds_view *l = s->light;
    /* Starts slightly above the surface, which must not shade itself. */
    vec3 q = ds_view_to(l, v3_add(p, v3_scale(n, SHADOW_BIAS)));
    float x = l->cx + l->focal * q.x;
    float y = l->cy - l->focal * q.y;
    float sum = 0;
    for (int i = 0; i < DS_SHADOW_TAPS; i++) {
        int u = (int)(x + s->shadow_tap[sub][i][0]);
        int v = (int)(y + s->shadow_tap[sub][i][1]);
        if (u < 0 || v < 0 || u >= l->width || v >= l->height) {
            sum += 1;
            continue;
        }
        sum += s->shadow[(size_t)v * (size_t)l->width + (size_t)u].z > q.z - SHADOW_BIAS ? 1 : 0;
    }
    return sum / DS_SHADOW_TAPS;
}

/* Share of the sky visible from a point, estimated from what the camera sees around it. In view coordinates.
 */
static float open_sky(const ds_shading *s, vec3 p, vec3 n, const vec3 *tap, int taps, float radius)
{
    const ds_view *c = s->camera;
    /* Two directions perpendicular to n (Duff et al. 2017). */
    float sign = n.z < 0 ? -1.0f : 1.0f;
    float a = -1 / (sign + n.z);
    float h = n.x * n.y * a;
    vec3 t = v3(1 + sign * n.x * n.x * a, sign * h, -sign * n.x);
    vec3 b = v3(h, sign + n.y * n.y * a, -n.y);
    float blocked = 0;
    for (int i = 0; i < taps; i++) {
        vec3 q = v3(p.x + n.x * tap[i].z + t.x * tap[i].x + b.x * tap[i].y,
                    p.y + n.y * tap[i].z + t.y * tap[i].x + b.y * tap[i].y,
                    p.z + n.z * tap[i].z + t.z * tap[i].x + b.z * tap[i].y);
        if (q.z < 0.01f) {
            continue;
        }
        float scale = c->focal / q.z;
        int u = (int)(c->cx + scale * q.x);
        int v = (int)(c->cy - scale * q.y);
        if (u < 0 || v < 0 || u >= c->width || v >= c->height) {
            continue;
        }
        float gap = q.z - s->pixels[(size_t)v * (size_t)c->width + (size_t)u].z;
        if (gap > radius * 0.04f) {
            /* What is far in front of the sample hides it from the camera, not from the sky. */
            float far = gap / (2.5f * radius);
            blocked += far < 1 ? 1 - far * far : 0;
        }
    }
    return 1 - blocked / (float)taps;
}

/* Coverage of a floor grid line at distance d from its centre, for the width of a pixel on the floor. */
static float line_at(float v, float spacing, float pixel)
{
    float d = fabsf(v / spacing - roundf(v / spacing)) * spacing;
    float half = most(0.0011f, pixel * 0.5f);
    return most(0, least(1, (half + pixel * 0.5f - d) / pixel)) * least(1, 0.0011f / half);
}

static vec3 shade_ground(const ds_shading *s, vec3 p, float z, float light, float sky)
{
    float distance = sqrtf(p.x * p.x + p.z * p.z) / s->ground_radius;
    float fade = most(0, 1 - distance * distance);
    fade *= fade;
    float pixel = z / s->camera->focal * 1.6f;
    float grid = most(line_at(p.x - s->grid_origin.x, s->grid, pixel),
                      line_at(p.z - s->grid_origin.z, s->grid, pixel));
    if (s->dark) { /* a lit floor: a shadow on the background would be invisible */
        const float lit = fade * (0.045f * (0.35f + 0.65f * light) * (0.45f + 0.55f * sky) + 0.06f * grid);
        return v3_add(s->background, v3(lit, lit * 1.02f, lit * 1.06f));
    }
    /* Outside shadows the floor is white like the page and fades into it. */
    float dark = 1 - (1 - 0.42f * (1 - light)) * (0.45f + 0.55f * sky) * (1 - 0.20f * grid);
    dark = (dark + 0.035f) * fade;
    return v3(s->background.x * (1 - dark), s->background.y * (1 - dark * 0.98f),
              s->background.z * (1 - dark * 0.94f));
}

vec3 ds_shade(const ds_shading *s, int x, int y)
{
    const ds_view *c = s->camera;
    const ds_pixel *px = &s->pixels[(size_t)y * (size_t)c->width + (size_t)x];
    if (px->surface == DS_SURFACE_NONE) {
        return s->background;
    }
    vec3 n = v3((float)px->n[0] / 32767, (float)px->n[1] / 32767, (float)px->n[2] / 32767);
    vec3 at =
        v3(((float)x + 0.5f - c->cx) / c->focal * px->z, (c->cy - (float)y - 0.5f) / c->focal * px->z, px->z);
    vec3 world = v3_add(
        c->eye, v3_add(v3_add(v3_scale(c->right, at.x), v3_scale(c->up, at.y)), v3_scale(c->forward, at.z)));
    vec3 normal = v3_add(v3_add(v3_scale(c->right, n.x), v3_scale(c->up, n.y)), v3_scale(c->forward, n.z));
    int sub = (x & 1) + 2 * (y & 1);
    float light = lit(s, world, normal, sub);
    float sky = open_sky(s, at, n, s->wide_tap[sub], DS_WIDE_TAPS, WIDE_RADIUS);
    if (px->surface == DS_SURFACE_GROUND) {
        return shade_ground(s, world, px->z, light, sky);
    }
    sky = 0.5f * (sky + open_sky(s, at, n, s->near_tap[sub], DS_NEAR_TAPS, NEAR_RADIUS));
    const ds_material *m = &s->material[px->surface];
    float key = most(0, (v3_dot(normal, s->towards_light) + 0.15f) / 1.15f) * light;
    float dome = 0.5f + 0.5f * normal.y;
    sky = most(0, sky * 1.25f - 0.12f);
    sky = least(1, sky);
    /* Sky light is slightly blue, light from the floor slightly warm. */
    vec3 ambient = v3(0.31f + 0.24f * dome, 0.30f + 0.27f * dome, 0.285f + 0.31f * dome);
    vec3 view = v3_scale(v3_unit(at), -1);
    vec3 l = v3(v3_dot(s->towards_light, c->right), v3_dot(s->towards_light, c->up),
                v3_dot(s->towards_light, c->forward));
    vec3 h = v3_unit(v3_add(view, l));
    float shine = most(0, v3_dot(n, h));
    shine *= shine;
    shine *= shine;
    shine *= shine;
    shine *= shine;
    float sharp = shine * shine;
    float rim = 1 - most(0, v3_dot(n, view));
    float glow = m->gloss * (light * (0.35f * shine + 0.65f * sharp) * 0.6f + 0.22f * rim * rim * rim * sky);
    return v3(m->r * (ambient.x * sky + 0.87f * key) + glow, m->g * (ambient.y * sky + 0.845f * key) + glow,
              m->b * (ambient.z * sky + 0.80f * key) + glow);
}

float ds_linear_from_srgb(uint32_t byte)
{
    float v = (float)byte / 255;
    return v <= 0.04045f ? v / 12.92f : powf((v + 0.055f) / 1.055f, 2.4f);
}

uint32_t ds_srgb_from_linear(float v)
{
    v = most(0, least(1, v));
    v = v <= 0.0031308f ? v * 12.92f : 1.055f * powf(v, 1 / 2.4f) - 0.055f;
    return (uint32_t)(v * 255 + 0.5f);
}
