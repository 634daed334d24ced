/* SPDX-License-Identifier: Apache-2.0 */
/* render.c - draws one frame of a scene: collects its primitives, finds the surface in every sub-pixel,
 * lights it, and averages the sub-pixels. */
#include "config.h"

#include "render/render.h"

#include "base/text.h"
#include "plot/canvas.h"
#include "render/render_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    SUB = 2,            /* sub-pixels per pixel and direction */
    SHADOW_SIZE = 1024, /* pixels of the shadow map */
    TONES = 4096        /* entries of the table from linear light to sRGB */
};

/* Radius of the shadow map and of the floor, in box diagonals. */
#define LIGHT_RADIUS 0.85f
#define GROUND_RADIUS 1.1f

uint32_t ds_render_color(uint32_t role, uint32_t variety)
{
    static const uint32_t material[6] = {0xe58a4b, 0x3fa687, 0xd9b23c, 0xc4719d, 0x9bc46a, 0xb58a68};
    static const uint32_t tool[4] = {0x8d9aa8, 0x68788a, 0xb0b8c0, 0x7c8fa0};
    static const uint32_t fixed[3] = {0xbdb5a9, 0x9c948a, 0xd3ccc1};
    static const uint32_t target[3] = {0x4a90d0, 0x6f7fd0, 0x45aec0};
    switch (role) {
    case DS_ROLE_TOOL:
        return tool[variety % 4];
    case DS_ROLE_FIXED:
        return fixed[variety % 3];
    case DS_ROLE_TARGET:
        return target[variety % 3];
    default:
        return material[variety % 6];
    }
}

int ds_render_has_target(const ds_snapshot *s)
{
    for (uint64_t b = 0; b < s->bodies; b++) {
        if (s->body[b].role == DS_ROLE_TARGET) {
            return 1;
        }
    }
    return 0;
}

int ds_render_target_beside(const ds_snapshot *s)
{
    for (uint64_t b = 0; b < s->bodies; b++) {
        const ds_snapshot_body *body = &s->body[b];
        if (body->role == DS_ROLE_TARGET &&
            ((body->shape == DS_BODY_POINTS && body->count >= 200) || body->shape == DS_BODY_MESH)) {
            return 1;
        }
    }
    return 0;
}

/* All memory of one call; released together. */
typedef struct job {
    ds_frame_of_reference ref;
    ds_geometry scene;
    ds_geometry ghost;
    ds_view camera;
    ds_view light;
    ds_pixel *pixels;
    ds_pixel *ghost_pixels;
    ds_pixel *shadow;
    ds_material *material;
    float *dense; /* by surface: radius of dense particles, else 0 */
    float *clear; /* by surface: share of light that passes; 0 = opaque */
    unsigned char *tone;
    uint32_t background;
} job;

static vec3 linear(uint32_t rgb)
{
    return v3(ds_linear_from_srgb(rgb >> 16 & 255), ds_linear_from_srgb(rgb >> 8 & 255),
              ds_linear_from_srgb(rgb & 255));
}

static int fill(job *j, const ds_snapshot *s, uint64_t k, uint32_t what)
{
    for (uint64_t b = 0; b < s->bodies; b++) {
        const ds_snapshot_body *body = &s->body[b];
        uint32_t rgb = ds_render_color(body->role, body->variety);
        ds_material *m = &j->material[DS_SURFACE_FIRST + b];
        const vec3 light = linear(rgb);
        m->r = light.x;
        m->g = light.y;
        m->b = light.z;
        m->gloss = body->role == DS_ROLE_TOOL ? 0.8f : body->shape == DS_BODY_POINTS ? 0.12f : 0.3f;
        j->dense[DS_SURFACE_FIRST + b] =
            ds_geometry_dense_radius(s, &j->ref, body->role == DS_ROLE_TARGET ? 0 : k, b);
        j->clear[DS_SURFACE_FIRST + b] =
            body->shape == DS_BODY_POINTS ? least((float)body->size[1], 0.95f) : 0;
        if (body->role == DS_ROLE_TARGET) {
            if ((what & DS_RENDER_TARGET) != 0) {
                ds_geometry_add(&j->scene, s, &j->ref, 0, b);
            } else if ((what & DS_RENDER_GHOST) != 0) {
                ds_geometry_add(&j->ghost, s, &j->ref, 0, b);
            }
        } else if ((what & DS_RENDER_SCENE) != 0 || body->role == DS_ROLE_FIXED) {
            ds_geometry_add(j->clear[DS_SURFACE_FIRST + b] > 0 ? &j->ghost : &j->scene, s, &j->ref, k, b);
        }
    }
    for (uint64_t b = 0; b < s->bodies && (what & DS_RENDER_TRACE) != 0; b++) {
        ds_geometry_add_trace(&j->scene, s, &j->ref, k, b);
    }
    return j->scene.failed || j->ghost.failed ? DS_EXIT_MEMORY : 0;
}

/* A round length in the world, about a tenth of the scene. */
static double grid_spacing(const ds_frame_of_reference *r)
{
    double rough = 0.09 / r->scale;
    double power = pow(10, floor(log10(rough)));
    double m = rough / power;
    return power * (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10);
}

/* The frame of reference as seen from `eye`, or from the default one. */
static ds_frame_of_reference seen(const ds_snapshot *s, const ds_render_eye *eye)
{
    ds_frame_of_reference r = ds_geometry_reference(s);
    if (eye != NULL) {
        if (eye->turned) {
            ds_geometry_turn(&r, eye->azimuth, eye->elevation);
        }
        r.zoom = (float)eye->zoom;
        r.around = eye->around;
    }
    return r;
}

int ds_render_eye_read(const char *text, ds_render_eye *out)
{
    double v[3] = {0, 0, 1};
    char *end = NULL;
    int n = 0;
    do {
        v[n] = ds_strtod(text, &end);
        if (end == text || !isfinite(v[n])) {
            return 0;
        }
        text = end + 1;
    } while (++n < 3 && *end == ',');
    *out = (ds_render_eye){1, v[0], v[1], v[2], 0, 0xffffff};
    return *end == '\0' && n >= 2 && fabs(v[0]) <= 360 && fabs(v[1]) <= 90 && v[2] >= 0.05 && v[2] <= 50;
}

ds_render_eye ds_render_usual_eye(const ds_snapshot *s)
{
    static const double deg = 180 / 3.14159265358979;
    const ds_frame_of_reference r = ds_geometry_reference(s);
    return (ds_render_eye){0, (double)r.azimuth * deg, (double)r.elevation * deg, 1, 0, 0xffffff};
}

double ds_render_spacing(const ds_snapshot *s)
{
    ds_frame_of_reference r = ds_geometry_reference(s);
    return grid_spacing(&r);
}

double ds_render_radius(const ds_snapshot *s, uint64_t b)
{
    if (s->kept == 0 || s->body[b].shape != DS_BODY_POINTS) {
        return 0;
    }
    ds_frame_of_reference r = ds_geometry_reference(s);
    return (double)ds_geometry_point_radius(s, &r, 0, b) / r.scale;
}

double ds_render_elevation(const ds_snapshot *s)
{
    return (double)ds_geometry_reference(s).elevation;
}

int ds_render_project(const ds_snapshot *s, const ds_render_eye *eye, int width, int height,
                      const double point[3], double xy[2])
{
    ds_frame_of_reference r = seen(s, eye);
    ds_view v = ds_view_camera(&r, width, height);
    vec3 p = ds_view_to(&v, v3((float)((point[0] - r.center[0]) * r.scale),
                               (float)((point[1] - r.center[1]) * r.scale),
                               (float)((point[2] - r.center[2]) * r.scale)));
    if (!(p.z > 0.05f) || !(fabsf(p.x) < 100 * p.z) || !(fabsf(p.y) < 100 * p.z)) {
        return 0;
    }
    xy[0] = (double)(v.cx + v.focal * p.x / p.z);
    xy[1] = (double)(v.cy - v.focal * p.y / p.z);
    return 1;
}

int ds_render_has_trace(const ds_snapshot *s)
{
    return s->kept > 3;
}

/* Grid lines are at multiples of the spacing in the world. */
static float grid_offset(double center, double scale, float spacing)
{
    double s = (double)spacing;
    double c = center * scale;
    return (float)-(c - s * floor(c / s));
}

/* Blends the translucent target over a colour, more strongly where nothing is in front of it. A clear body
 * tints what is behind its surface, more so at grazing angles. */
static vec3 over(const job *j, vec3 below, size_t at)
{
    const ds_pixel *g = &j->ghost_pixels[at];
    if (g->surface == DS_SURFACE_NONE) {
        return below;
    }
    const ds_material *m = &j->material[g->surface];
    float facing = -(float)g->n[2] / 32767;
    float light = 0.55f + 0.45f * facing;
    int front = g->z < j->pixels[at].z;
    float clear = j->clear[g->surface];
    float a = front ? 0.38f + 0.25f * (1 - facing) : 0.10f;
    if (clear > 0) {
        a = front ? 1 - clear + 0.5f * clear * (1 - facing) : 0;
    }
    return v3(below.x * (1 - a) + a * m->r * light, below.y * (1 - a) + a * m->g * light,
              below.z * (1 - a) + a * m->b * light);
}

static uint32_t toned(const job *j, float v)
{
    int i = (int)(v * (TONES - 1) + 0.5f);
    return j->tone[i < 0 ? 0 : i >= TONES ? TONES - 1 : i];
}

/* The surface seen by all sub-pixels of a pixel; DS_SURFACE_FIRST if they differ or see a body. */
static uint32_t common_surface(const job *j, size_t at)
{
    uint32_t first = j->pixels[at].surface;
    for (size_t k = 1; k < SUB * SUB; k++) {
        if (j->pixels[at + k % SUB + k / SUB * (size_t)j->camera.width].surface != first) {
            return DS_SURFACE_FIRST;
        }
    }
    return first < DS_SURFACE_FIRST ? first : DS_SURFACE_FIRST;
}

static void resolve(const job *j, const ds_shading *s, int width, int height, uint32_t *out)
{
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            size_t corner = (size_t)y * SUB * (size_t)j->camera.width + (size_t)x * SUB;
            uint32_t common = common_surface(j, corner);
            /* The plain floor changes slowly, so two diagonal sub-pixels are enough. */
            int step = common == DS_SURFACE_GROUND && j->ghost_pixels == NULL ? SUB * SUB - 1 : 1;
            if (common == DS_SURFACE_NONE && j->ghost_pixels == NULL) {
                *out++ = j->background;
                continue;
            }
            vec3 sum = v3(0, 0, 0);
            int count = 0;
            for (int k = 0; k < SUB * SUB; k += step) {
                int u = x * SUB + k % SUB;
                int v = y * SUB + k / SUB;
                vec3 c = ds_shade(s, u, v);
                c = v3(least(c.x, 1), least(c.y, 1), least(c.z, 1));
                if (j->ghost_pixels != NULL) {
                    c = over(j, c, (size_t)v * (size_t)j->camera.width + (size_t)u);
                }
                sum = v3_add(sum, c);
                count++;
            }
            sum = v3_scale(sum, 1.0f / (float)count);
            *out++ = toned(j, sum.x) << 16 | toned(j, sum.y) << 8 | toned(j, sum.z);
        }
    }
}

static int render_job(job *j, const ds_snapshot *s, uint64_t k, uint32_t what, const ds_render_eye *eye,
                      int width, int height, uint32_t *pixels)
{
    j->ref = seen(s, eye);
    j->background = eye != NULL ? eye->background : 0xffffff;
    j->camera = ds_view_camera(&j->ref, width * SUB, height * SUB);
    vec3 towards_light = v3_unit(v3(-0.35f, 1.0f, 0.55f));
    j->light = ds_view_light(towards_light, LIGHT_RADIUS, SHADOW_SIZE);
    size_t n = (size_t)width * SUB * (size_t)height * SUB;
    j->pixels = malloc(n * sizeof *j->pixels);
    j->shadow = malloc((size_t)SHADOW_SIZE * SHADOW_SIZE * sizeof *j->shadow);
    j->material = calloc(DS_SURFACE_FIRST + (size_t)s->bodies, sizeof *j->material);
    j->dense = calloc(DS_SURFACE_FIRST + (size_t)s->bodies, sizeof *j->dense);
    j->clear = calloc(DS_SURFACE_FIRST + (size_t)s->bodies, sizeof *j->clear);
    j->tone = malloc(TONES);
    if (j->pixels == NULL || j->shadow == NULL || j->material == NULL || j->dense == NULL ||
        j->clear == NULL || j->tone == NULL || fill(j, s, k, what) != 0) {
        return DS_EXIT_MEMORY;
    }
    for (int i = 0; i < TONES; i++) {
        j->tone[i] = (unsigned char)ds_srgb_from_linear((float)i / (TONES - 1));
    }
    ds_raster_clear(j->pixels, &j->camera);
    ds_raster_geometry(j->pixels, &j->camera, &j->scene);
    if (ds_smooth_points(j->pixels, &j->camera, j->dense, DS_SURFACE_FIRST + (size_t)s->bodies) != 0) {
        return DS_EXIT_MEMORY;
    }
    if (j->ref.has_ground) {
        ds_raster_ground(j->pixels, &j->camera, j->ref.ground, GROUND_RADIUS);
    }
    ds_raster_clear(j->shadow, &j->light);
    ds_raster_geometry(j->shadow, &j->light, &j->scene);
    if (j->ghost.balls + j->ghost.triangles > 0) {
        j->ghost_pixels = malloc(n * sizeof *j->ghost_pixels);
        if (j->ghost_pixels == NULL) {
            return DS_EXIT_MEMORY;
        }
        ds_raster_clear(j->ghost_pixels, &j->camera);
        ds_raster_geometry(j->ghost_pixels, &j->camera, &j->ghost);
        for (size_t i = 0; i < DS_SURFACE_FIRST + (size_t)s->bodies; i++) {
            j->dense[i] = j->clear[i] > 0 ? j->dense[i] : 0;
        }
        size_t surfaces = DS_SURFACE_FIRST + (size_t)s->bodies;
        if (ds_smooth_points(j->ghost_pixels, &j->camera, j->dense, surfaces) != 0) {
            return DS_EXIT_MEMORY;
        }
    }
    ds_shading shading = {.camera = &j->camera,
                          .pixels = j->pixels,
                          .light = &j->light,
                          .shadow = j->shadow,
                          .towards_light = towards_light,
                          .material = j->material,
                          .background = linear(j->background),
                          .dark = ds_color_is_dark(j->background),
                          .ground_radius = GROUND_RADIUS,
                          .grid = (float)(grid_spacing(&j->ref) * j->ref.scale)};
    shading.grid_origin = v3(grid_offset(j->ref.center[0], j->ref.scale, shading.grid), 0,
                             grid_offset(j->ref.center[2], j->ref.scale, shading.grid));
    ds_shade_prepare(&shading);
    resolve(j, &shading, width, height, pixels);
    return 0;
}

int ds_render(const ds_snapshot *s, uint64_t k, uint32_t what, int width, int height, uint32_t *pixels,
              ds_error *e)
{
    return ds_render_seen(s, k, what, NULL, width, height, pixels, e);
}

int ds_render_seen(const ds_snapshot *s, uint64_t k, uint32_t what, const ds_render_eye *eye, int width,
                   int height, uint32_t *pixels, ds_error *e)
{
    job j = {0};
    int status = render_job(&j, s, k, what, eye, width, height, pixels);
    ds_geometry_free(&j.scene);
    ds_geometry_free(&j.ghost);
    free(j.pixels);
    free(j.ghost_pixels);
    free(j.shadow);
    free(j.material);
    free(j.dense);
    free(j.clear);
    free(j.tone);
    return status == 0 ? 0 : ds_fail(e, status, "image: out of memory");
}
