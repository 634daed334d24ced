/* SPDX-License-Identifier: Apache-2.0 */
/* render_shade.c - light: one key light with soft shadow, light from the sky dimmed in crevices (screen-space
 * ambient occlusion, Mittring 2007), a weak highlight, and the floor with its grid. */
#include "config.h"

#include "render/render_internal.h"

/* Lengths in diagonals of the box. */
#define SHADOW_SOFT 0.010f
#define SHADOW_BIAS 0.006f
#define NEAR_RADIUS 0.022f
#define WIDE_RADIUS 0.11f

/* Point i of n that fill a disc evenly (sunflower). */
static void disc_point(int i, int n, float turn, float *x, float *y)
{
    float r = sqrtf(((float)i + 0.5f) / (float)n);
    float a = (float)i * 2.39996323f + turn;
    *x = r * cosf(a);
    *y = r * sinf(a);
}

/* Samples over the half space above (x, y) = 0; at growing distances, because near neighbours matter most. */
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
    /* Start a little above the surface: it must not shade itself. */
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

/* Share of the sky that a point sees, judged by what the camera sees around it. All in view coordinates. */
static float open_sky(const ds_shading *s, vec3 p, vec3 n, const vec3 *tap, int taps, float radius)
{
    const ds_view *c = s->camera;
    /* Two directions across n (Duff et al. 2017). */
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

/* Coverage of a grid line of the floor at distance d from its middle, with the width of a pixel on the floor.
 */
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
    if (s->dark) { /* a floor that is lit, where a shadow on the background would not be seen */
        const float lit = fade * (0.045f * (0.35f + 0.65f * light) * (0.45f + 0.55f * sky) + 0.06f * grid);
        return v3_add(s->background, v3(lit, lit * 1.02f, lit * 1.06f));
    }
    /* Without shadow the floor is as white as the page; it fades into it. */
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
    /* The sky is a little blue, light from the floor a little warm. */
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
