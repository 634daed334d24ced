/* SPDX-License-Identifier: Apache-2.0 */
/* render_raster.c - camera and light views, and which surface each of their pixels sees. */
#include "config.h"

#include "render/render_internal.h"

/* Half the height of the picture at distance 1: a mild tele lens. */
#define HALF_FIELD 0.24f

/* Share of the picture that the box fills. */
#define FILL 0.95f

/* Nothing nearer to the eye is drawn. */
#define NEAR 0.05f

/* Places around the scene from which it has to fit where the eye goes around it. */
#define SIDES 16

static ds_view look_from(vec3 direction)
{
    ds_view v = {.eye = {0, 0, 0}};
    v.forward = v3_scale(v3_unit(direction), -1);
    v.right = v3_unit(v3_cross(v.forward, v3(0, 1, 0)));
    v.up = v3_cross(v.right, v.forward);
    return v;
}

/* Points that are to be seen: the corners of the box, or of what it covers when it is turned about
 * the vertical. */
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
    /* The nearest distance from which the whole box is seen; then it is moved to the middle of the picture.
     */
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
    /* Off-centre boxes leave room: use it, up to the margin. */
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

/* First and one past the last pixel of a range of coordinates inside 0..size. */
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

static void draw_triangle(ds_pixel *pixels, const ds_view *v, const ds_triangle *t)
{
    float x[3], y[3], w[3];
    vec3 n[3];
    for (int k = 0; k < 3; k++) {
        vec3 p = ds_view_to(v, t->p[k]);
        if (p.z < NEAR) {
            return;
        }
        float scale = v->parallel ? v->focal : v->focal / p.z;
        x[k] = v->cx + scale * p.x;
        y[k] = v->cy - scale * p.y;
        /* Linear on the screen: 1/z with perspective, z without. */
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
            vec3 ray = v->parallel ? v3(0, 0, 1) : v3((px - v->cx) / v->focal, (v->cy - py) / v->focal, 1);
            /* Both sides of a sheet are lit. */
            set_pixel(&row[i], z, v3_dot(m, ray) > 0 ? v3_scale(m, -1) : m, t->surface);
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
