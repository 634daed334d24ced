/* SPDX-License-Identifier: Apache-2.0 */
/* frames.c - images of the states of an episode, and the derivatives of their difference from a target.
 *
 * Sections: texture; parts, which are faces seen together, drawn by DIB-R or by soft rasterization; frames;
 * targets and channels. */
#include "engines/rendering/observation/frames.h"

#include "engines/rendering/render/image.h"
#include "engines/rendering/render/mesh.h"
#include "engines/rendering/render/read_png.h"
#include "engines/rendering/render/splat.h"
#include "engines/rendering/render/vec3.h"

#include <diffsim/helper/fail.h>
#include <diffsim/helper/memory.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Faces that are seen together: one image for each camera, by either renderer. */
typedef struct part_images {
    render_mesh mesh;
    const double *color;   /* [faces][3] */
    double *lit, *lit_bar; /* the lit colours, and derivatives by them; NULL for silhouettes */
    softras *eye[CAMERAS_MAX];
    /* Or DIB-R, which draws only the outside of faces: an open surface is given to it with both sides, each
     * with its own vertices. */
    dibr *raster[CAMERAS_MAX];
    render_mesh both;
    size_t sides;
    double *p, *paint, *change; /* [sides][vertices][3]: positions, colours, scratch */
    double *uv;                 /* [sides][vertices][2]: texture coordinates; NULL without texture */
    double *raw;                /* [size][size][4]: an image of which only alpha is kept */
} part_images;

/* An image on the surface; width 0: none. */
typedef struct frames_texture {
    uint32_t width, height;
    double *texel; /* [height][width][3], row 0 on top */
} frames_texture;

struct camera_frames {
    ds_memory memory;
    cameras cameras;
    light light;
    double *view_bar; /* NULL: not wanted */
    const double *view_dot;
    camera_pose pose_bar, pose_dot; /* of camera 0 */
    dibr_lighting lighting_bar, lighting_dot;
    frames_texture skin;
    uint64_t frames;
    uint32_t channels, views, parts, vertices;
    part_images part[FRAMES_VIEWS];
    splat *cloud; /* NULL for a mesh */
    double radius, opacity;
    double *picture, *target; /* numbers of one frame, scratch */
    double *side;             /* the frame that the renderers hold; UINT64_MAX: none */
    uint64_t drawn;           /* the frame that the renderers hold; UINT64_MAX = none */
};

/* The status of a failed png_picture_read(). */
static ds_status png_status(int failed)
{
    return failed == READ_PNG_NO_MEMORY ? DS_E_NOMEM : failed == READ_PNG_IO ? DS_E_IO : DS_E_DATA;
}

static ds_status no_memory(const ds_host *host)
{
    return ds_host_fail(host, DS_E_NOMEM, "no memory for the images: reduce parameter image_size");
}

/* Numbers of one image. */
static size_t image_size(const camera_frames *f)
{
    return (size_t)f->cameras.size * f->cameras.size * f->channels;
}

/* ---- texture ---- */

static void paint_rgb(const png_picture *png, double *texel)
{
    const size_t of = png->channels, pixels = (size_t)png->width * png->height;
    for (size_t i = 0; i < 3 * pixels; i++) {
        texel[i] = png->pixel[i / 3 * of + (of < 3 ? 0 : i % 3)];
    }
}

static ds_status texture_read(camera_frames *f, const char *path, const ds_host *host)
{
    png_picture png;
    char text[READ_PNG_TEXT];
    const int failed = png_picture_read(&png, path, text);
    if (failed != READ_PNG_OK) {
        return ds_host_fail(host, png_status(failed), "parameter texture: %.400s", text);
    }
    f->skin.width = png.width;
    f->skin.height = png.height;
    f->skin.texel = ds_memory_doubles(&f->memory, 3 * (size_t)png.width * png.height);
    if (f->skin.texel != NULL) {
        paint_rgb(&png, f->skin.texel);
    }
    png_picture_free(&png);
    return f->memory.failed ? no_memory(host) : DS_OK;
}

/* The box around the corners of the faces. */
static void box_of(const render_mesh *m, const double *rest, double low[3], double size[3])
{
    double high[3];
    for (size_t d = 0; d < 3; d++) {
        low[d] = HUGE_VAL;
        high[d] = -HUGE_VAL;
        for (size_t i = 0; i < 3 * (size_t)m->faces; i++) {
            const double x = rest[3 * (size_t)m->face[i] + d];
            low[d] = fmin(low[d], x);
            high[d] = fmax(high[d], x);
        }
        size[d] = high[d] - low[d];
    }
}

/* uv[vertices][2]: the texture fills the box around the faces at rest[vertices][3], seen along its shortest
 * side; both sides of the body show it. u runs along x, or z if that side is x; v along y, or z if that side
 * is y. Of equal sides z is dropped first, then y, so that a camera in front of a body sees the texture
 * upright. */
static void texture_map(const render_mesh *m, const double *rest, double *uv)
{
    static const double alike = 1 - 1e-9;
    double low[3], size[3];
    box_of(m, rest, low, size);
    size_t thin = 2;
    thin = size[1] < alike * size[thin] ? 1 : thin;
    thin = size[0] < alike * size[thin] ? 0 : thin;
    const size_t axis[2] = {thin == 0 ? 2 : 0, thin == 1 ? 2 : 1};
    for (size_t i = 0; i < 2 * (size_t)m->vertices; i++) {
        const size_t d = axis[i % 2];
        uv[i] = size[d] > 0 ? (rest[i / 2 * 3 + d] - low[d]) / size[d] : 0.5;
    }
}

/* ---- parts drawn by DIB-R ---- */

static int alone(const camera_frames *f)
{
    return f->cameras.mode == SOFTRAS_ALPHA;
}

static int by_ends(const void *a, const void *b)
{
    const uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;
    return (p > q) - (p < q);
}

/* Does each edge have an opposite edge along it? Returns -1 without memory. */
static int closed(const render_mesh *m)
{
    const size_t edges = 3 * (size_t)m->faces;
    uint64_t *there = calloc(2 * edges + 1, sizeof *there), *back = there + edges;
    int is_closed = 1;
    if (there == NULL) {
        return -1;
    }
    for (size_t i = 0; i < edges; i++) {
        const uint64_t a = m->face[i], b = m->face[i / 3 * 3 + (i + 1) % 3];
        there[i] = a << 32 | b;
        back[i] = b << 32 | a;
    }
    qsort(there, edges, sizeof *there, by_ends);
    qsort(back, edges, sizeof *back, by_ends);
    for (size_t i = 0, k = 0; is_closed && i < edges; i++) {
        while (k < edges && there[k] < back[i]) {
            k++;
        }
        is_closed = k < edges && there[k] == back[i];
    }
    free(there);
    return is_closed;
}

/* The faces of all sides, in memory of the frames. */
static render_mesh mesh_of_sides(camera_frames *f, const part_images *part)
{
    const render_mesh *m = &part->mesh;
    const size_t numbers = 3 * (size_t)m->faces;
    uint32_t *face = ds_memory_take(&f->memory, part->sides * numbers, sizeof *face);
    for (size_t i = 0; face != NULL && i < numbers; i++) {
        face[i] = m->face[i];
        if (part->sides == 2) {
            face[numbers + i] = m->vertices + m->face[i / 3 * 3 + (3 - i % 3) % 3];
        }
    }
    const uint32_t sides = (uint32_t)part->sides;
    return (render_mesh){.vertices = sides * m->vertices, .faces = sides * m->faces, .face = face};
}

/* Copies to[vertices][of] of one side to each side. */
static void repeat(const part_images *part, size_t of, const double *from, double *to)
{
    const size_t side = of * part->mesh.vertices;
    for (size_t k = 0; k < part->sides; k++) {
        memmove(to + k * side, from, side * sizeof *to);
    }
}

/* Gives vertices the mean colour of their faces. */
static void paint_vertices(part_images *part)
{
    double *faces = part->change; /* faces of each vertex */
    memset(faces, 0, part->mesh.vertices * sizeof *faces);
    memset(part->paint, 0, 3 * part->mesh.vertices * sizeof *part->paint);
    for (size_t i = 0; i < 3 * (size_t)part->mesh.faces; i++) {
        const size_t v = part->mesh.face[i];
        faces[v]++;
        for (size_t k = 0; k < 3; k++) {
            part->paint[3 * v + k] += part->color[i / 3 * 3 + k];
        }
    }
    for (size_t i = 0; i < 3 * (size_t)part->mesh.vertices; i++) {
        part->paint[i] /= faces[i / 3] > 0 ? faces[i / 3] : 1;
    }
    repeat(part, 3, part->paint, part->paint);
}

static ds_status open_sides(camera_frames *f, part_images *part, const frames_subject *s)
{
    const int one_side = closed(&part->mesh);
    part->sides = one_side ? 1 : 2;
    const size_t vertices = part->sides * part->mesh.vertices;
    ds_memory_each(&f->memory, 3 * vertices, (double **const[]){&part->p, &part->paint, &part->change, NULL});
    part->raw = ds_memory_doubles(&f->memory, DIBR_CHANNELS * (size_t)f->cameras.size * f->cameras.size);
    part->uv = f->skin.width > 0 ? ds_memory_doubles(&f->memory, 2 * vertices) : NULL;
    if (one_side < 0 || f->memory.failed) {
        return DS_E_NOMEM;
    }
    paint_vertices(part);
    if (part->uv != NULL) {
        texture_map(&part->mesh, s->rest, part->uv);
        repeat(part, 2, part->uv, part->uv);
    }
    part->both = mesh_of_sides(f, part);
    return f->memory.failed ? DS_E_NOMEM : DS_OK;
}

static ds_status dibr_part_open(camera_frames *f, part_images *part, const frames_subject *s,
                                char text[RENDER_TEXT])
{
    const dibr_mode plain = f->skin.width > 0 ? DIBR_TEXTURE : DIBR_COLOR;
    dibr_options o = dibr_defaults(f->cameras.shading == CAMERAS_COLOR ? plain : DIBR_PHONG, f->cameras.size);
    ds_status status = open_sides(f, part, s);
    o.threads = f->cameras.threads;
    o.texture_width = f->skin.width;
    o.texture_height = f->skin.height;
    o.specular = f->cameras.lighting.specular;
    o.shine = f->cameras.lighting.shine;
    for (uint32_t c = 0; status == DS_OK && c < f->cameras.count; c++) {
        part->raster[c] = dibr_create(&o, &part->both, &status, text);
    }
    return status;
}

/* Where the image of camera c is drawn: `image`, or scratch if only alpha is kept. */
static double *raw_of(const camera_frames *f, const part_images *part, double *image, uint32_t c)
{
    return alone(f) ? part->raw : image + c * image_size(f);
}

static void keep_alpha(const camera_frames *f, const part_images *part, double *image, uint32_t c)
{
    for (size_t i = 0; alone(f) && i < image_size(f); i++) {
        image[c * image_size(f) + i] = part->raw[DIBR_CHANNELS * i + 3];
    }
}

/* Keeps the positions: derivatives may be requested after the caller's array is gone. */
static ds_status dibr_part_draw(camera_frames *f, part_images *part, const double *p, double *image)
{
    const dibr_surface surface = {
        .p = part->p, .color = part->paint, .uv = part->uv, .texture = f->skin.texel};
    ds_status status = DS_OK;
    repeat(part, 3, p, part->p);
    for (uint32_t c = 0; status == DS_OK && c < f->cameras.count; c++) {
        dibr_light(part->raster[c], &f->cameras.lighting);
        status = dibr_draw(part->raster[c], &f->cameras.camera[c], &surface, raw_of(f, part, image, c), NULL);
        keep_alpha(f, part, image, c);
    }
    return status;
}

static ds_status dibr_part_adjoint(camera_frames *f, part_images *part, const double *image_bar,
                                   double *p_bar)
{
    const size_t side = 3 * (size_t)part->mesh.vertices;
    ds_status status = DS_OK;
    memset(part->change, 0, part->sides * side * sizeof *part->change);
    for (uint32_t c = 0; status == DS_OK && c < f->cameras.count; c++) {
        const double *bar = image_bar + c * image_size(f);
        for (size_t i = 0; alone(f) && i < DIBR_CHANNELS * image_size(f); i++) {
            part->raw[i] = i % DIBR_CHANNELS == 3 ? bar[i / DIBR_CHANNELS] : 0;
        }
        const dibr_surface by = {.p = part->change, .lighting = f->view_bar ? &f->lighting_bar : NULL};
        status = dibr_adjoint(part->raster[c], alone(f) ? part->raw : bar, &by,
                              f->view_bar && c == 0 ? &f->pose_bar : NULL);
    }
    for (size_t i = 0; status == DS_OK && i < part->sides * side; i++) {
        p_bar[i % side] += part->change[i];
    }
    return status;
}

static ds_status dibr_part_tangent(camera_frames *f, part_images *part, const double *p_dot, double *out)
{
    ds_status status = DS_OK;
    repeat(part, 3, p_dot, part->change);
    for (uint32_t c = 0; status == DS_OK && c < f->cameras.count; c++) {
        const dibr_dot along = {.p = part->change,
                                .camera = f->view_dot && c == 0 ? &f->pose_dot : NULL,
                                .lighting = f->view_dot ? &f->lighting_dot : NULL};
        status = dibr_tangent(part->raster[c], &along, raw_of(f, part, out, c));
        keep_alpha(f, part, out, c);
    }
    return status;
}

/* ---- parts: soft rasterization ---- */

/* What soft rasterization uses of the light; also of its change. */
static light light_of(const dibr_lighting *l)
{
    light out = {.ambient = l->ambient, .directional = l->diffuse};
    memcpy(out.direction, l->light, sizeof out.direction);
    return out;
}

/* Copies the faces of a group and allocates their colours. */
static void copy_faces(camera_frames *f, part_images *part, const frames_subject *s, frames_group g)
{
    const size_t numbers = 3 * (size_t)g.faces;
    uint32_t *face = ds_memory_take(&f->memory, numbers, sizeof *face);
    double *color = ds_memory_doubles(&f->memory, numbers);
    part->mesh = (render_mesh){.vertices = s->mesh.vertices, .faces = g.faces, .face = face};
    part->color = color;
    if (f->cameras.mode != SOFTRAS_ALPHA) {
        part->lit = ds_memory_doubles(&f->memory, numbers);
        part->lit_bar = ds_memory_doubles(&f->memory, numbers);
    }
    if (f->memory.failed) {
        return;
    }
    memcpy(face, s->mesh.face + 3 * (size_t)g.first, numbers * sizeof *face);
    for (size_t i = 0; i < numbers; i++) {
        color[i] = s->color != NULL ? s->color[3 * (size_t)g.first + i] : 1;
    }
}

static ds_status softras_part_open(const camera_frames *f, part_images *part, char text[RENDER_TEXT])
{
    softras_options o = softras_defaults(f->cameras.mode, f->cameras.size);
    ds_status status = DS_OK;
    o.antialias = f->cameras.antialias;
    o.sigma_scale = f->cameras.sigma_scale;
    o.threads = f->cameras.threads;
    for (uint32_t c = 0; status == DS_OK && c < f->cameras.count; c++) {
        part->eye[c] = softras_create(&o, &part->mesh, &status, text);
    }
    return status;
}

static ds_status part_open(camera_frames *f, part_images *part, const frames_subject *s, frames_group g,
                           const ds_host *host)
{
    char text[RENDER_TEXT] = "";
    copy_faces(f, part, s, g);
    if (f->memory.failed) {
        return no_memory(host);
    }
    const ds_status status = f->cameras.renderer == CAMERAS_DIBR ? dibr_part_open(f, part, s, text)
                                                                 : softras_part_open(f, part, text);
    if (status == DS_OK) {
        return DS_OK;
    }
    return status == DS_E_NOMEM ? no_memory(host) : ds_host_fail(host, DS_E_PARAM, "images: %.200s", text);
}

static void part_close(part_images *part)
{
    for (uint32_t c = 0; c < CAMERAS_MAX; c++) {
        softras_destroy(part->eye[c]);
        dibr_destroy(part->raster[c]);
    }
}

static ds_status softras_part_draw(camera_frames *f, part_images *part, const double *p, double *image)
{
    ds_status status = DS_OK;
    if (part->lit != NULL && f->cameras.shading == CAMERAS_LIGHT) {
        light_faces(&f->light, &part->mesh, p, part->color, 3, part->lit);
    } else if (part->lit != NULL) {
        memcpy(part->lit, part->color, 3 * (size_t)part->mesh.faces * sizeof *part->lit);
    }
    for (uint32_t c = 0; status == DS_OK && c < f->cameras.count; c++) {
        status =
            softras_draw(part->eye[c], &f->cameras.camera[c], p, part->lit, image + c * image_size(f), NULL);
    }
    return status;
}

static ds_status softras_part_adjoint(camera_frames *f, part_images *part, const double *p,
                                      const double *image_bar, double *p_bar)
{
    double *lit_bar = f->cameras.shading == CAMERAS_LIGHT ? part->lit_bar : NULL;
    softras_bar bar = {.p = p_bar, .color = lit_bar};
    ds_status status = DS_OK;
    if (lit_bar != NULL) {
        memset(lit_bar, 0, 3 * (size_t)part->mesh.faces * sizeof *lit_bar);
    }
    for (uint32_t c = 0; status == DS_OK && c < f->cameras.count; c++) {
        bar.camera = f->view_bar && c == 0 ? &f->pose_bar : NULL;
        status = softras_adjoint(part->eye[c], image_bar + c * image_size(f), &bar);
    }
    if (status == DS_OK && lit_bar != NULL) {
        light_faces_adjoint(&f->light, &part->mesh, p, part->color, 3, lit_bar, p_bar, NULL);
    }
    if (status == DS_OK && lit_bar != NULL && f->view_bar != NULL) {
        light bar_of_light = {.ambient = 0};
        light_adjoint(&f->light, &part->mesh, p, part->color, 3, lit_bar, &bar_of_light);
        f->lighting_bar.ambient += bar_of_light.ambient;
        f->lighting_bar.diffuse += bar_of_light.directional;
        vec3_add(f->lighting_bar.light, 1, bar_of_light.direction);
    }
    return status;
}

/* Uses lit_bar for the change of the colours. */
static ds_status softras_part_tangent(camera_frames *f, part_images *part, const double *p,
                                      const double *p_dot, double *out)
{
    double *lit_dot = f->cameras.shading == CAMERAS_LIGHT ? part->lit_bar : NULL;
    softras_dot dot = {.p = p_dot, .color = lit_dot};
    ds_status status = DS_OK;
    if (lit_dot != NULL) {
        light_faces_tangent(&f->light, &part->mesh, p, part->color, 3, p_dot, NULL, lit_dot);
    }
    if (lit_dot != NULL && f->view_dot != NULL) {
        const light along = light_of(&f->lighting_dot);
        light_tangent(&f->light, &part->mesh, p, part->color, 3, &along, lit_dot);
    }
    for (uint32_t c = 0; status == DS_OK && c < f->cameras.count; c++) {
        dot.camera = f->view_dot && c == 0 ? &f->pose_dot : NULL;
        status = softras_tangent(part->eye[c], &dot, out + c * image_size(f));
    }
    return status;
}

/* ---- parts: either renderer ---- */

static ds_status part_draw(camera_frames *f, part_images *part, const double *p, double *image)
{
    return f->cameras.renderer == CAMERAS_DIBR ? dibr_part_draw(f, part, p, image)
                                               : softras_part_draw(f, part, p, image);
}

static ds_status part_adjoint(camera_frames *f, part_images *part, const double *p, const double *image_bar,
                              double *p_bar)
{
    return f->cameras.renderer == CAMERAS_DIBR ? dibr_part_adjoint(f, part, image_bar, p_bar)
                                               : softras_part_adjoint(f, part, p, image_bar, p_bar);
}

static ds_status part_tangent(camera_frames *f, part_images *part, const double *p, const double *p_dot,
                              double *out)
{
    return f->cameras.renderer == CAMERAS_DIBR ? dibr_part_tangent(f, part, p_dot, out)
                                               : softras_part_tangent(f, part, p, p_dot, out);
}

/* ---- opening and closing ---- */

static ds_status open_mesh(camera_frames *f, const frames_subject *s, const ds_host *host)
{
    const frames_group all = {0, s->mesh.faces};
    ds_status status = DS_OK;
    f->parts = s->groups > 0 ? s->groups : 1;
    if (f->cameras.texture != NULL && s->rest == NULL) {
        return ds_host_fail(host, DS_E_PARAM,
                            "parameter texture: this environment cannot show a texture: remove it");
    }
    if (f->cameras.texture != NULL) {
        status = texture_read(f, f->cameras.texture, host);
    }
    for (uint32_t i = 0; !f->memory.failed && status == DS_OK && i < f->parts; i++) {
        status = part_open(f, &f->part[i], s, s->groups > 0 ? s->group[i] : all, host);
    }
    return f->memory.failed ? no_memory(host) : status;
}

static ds_status open_cloud(const camera_frames *f, uint32_t particles, splat **out, const ds_host *host)
{
    splat_options o = splat_defaults(f->cameras.size);
    char text[RENDER_TEXT] = "";
    ds_status status = DS_OK;
    o.cameras = f->cameras.count;
    o.threads = f->cameras.threads;
    o.opacity = f->opacity > 0 ? f->opacity : o.opacity;
    *out = splat_create(&o, particles, &status, text);
    if (*out != NULL) {
        return DS_OK;
    }
    return status == DS_E_NOMEM ? no_memory(host) : ds_host_fail(host, DS_E_PARAM, "images: %.200s", text);
}

ds_status frames_open(camera_frames **out, const cameras *l, const frames_subject *subject, uint64_t frames,
                      const ds_host *host)
{
    const int cloud = subject->mesh.faces == 0;
    const uint32_t groups = !cloud && subject->groups > 0 ? subject->groups : 1;
    camera_frames *f = calloc(1, sizeof *f);
    *out = f;
    if (f == NULL) {
        return no_memory(host);
    }
    f->cameras = *l;
    f->light = light_of(&l->lighting);
    f->frames = frames;
    f->views = groups * l->count;
    f->vertices = cloud ? subject->particles : subject->mesh.vertices;
    f->channels = softras_channels(l->mode);
    f->drawn = UINT64_MAX;
    if (cloud && (l->mode != SOFTRAS_ALPHA || l->renderer != CAMERAS_SOFTRAS)) {
        return ds_host_fail(host, DS_E_PARAM,
                            "parameter %s: particles are drawn as silhouettes only: remove it",
                            l->mode != SOFTRAS_ALPHA ? "obs" : "renderer");
    }
    if (f->views == 0 || f->views > FRAMES_VIEWS) {
        return ds_host_fail(
            host, DS_E_PARAM,
            "parameter camera: %u views in each frame, at most %d are possible: give fewer cameras", f->views,
            FRAMES_VIEWS);
    }
    if (frames_size(f) > DS_MAX_ELEMENTS) {
        return ds_host_fail(
            host, DS_E_PARAM,
            "the images have %.3g numbers, at most %u are possible: reduce parameter image_size",
            (double)frames_size(f), DS_MAX_ELEMENTS);
    }
    f->picture = ds_memory_doubles(&f->memory, frames_size(f));
    f->target = ds_memory_doubles(&f->memory, frames_size(f));
    f->side = ds_memory_doubles(&f->memory, frames_frame_size(f));
    f->radius = subject->radius;
    f->opacity = subject->opacity;
    return cloud ? open_cloud(f, subject->particles, &f->cloud, host) : open_mesh(f, subject, host);
}

void frames_close(camera_frames *f)
{
    if (f == NULL) {
        return;
    }
    for (uint32_t i = 0; i < f->parts; i++) {
        part_close(&f->part[i]);
    }
    splat_destroy(f->cloud);
    ds_memory_free(&f->memory);
    free(f);
}

size_t frames_frame_size(const camera_frames *f)
{
    return f->views * image_size(f);
}

size_t frames_size(const camera_frames *f)
{
    return f->frames * frames_frame_size(f);
}

const double *frames_image(const camera_frames *f, uint64_t k)
{
    return f->picture + k * frames_frame_size(f);
}

/* ---- view ---- */

int frames_view(camera_frames *f, const double *view)
{
    const int unusable = cameras_view(&f->cameras, view);
    f->light = light_of(&f->cameras.lighting);
    f->drawn = UINT64_MAX;
    return unusable;
}

void frames_view_derivatives(camera_frames *f, double *bar, const double *dot)
{
    f->view_bar = bar;
    f->view_dot = dot;
    if (dot != NULL) {
        cameras_view_tangent(&f->cameras, dot, &f->pose_dot, &f->lighting_dot);
    }
}

/* ---- drawing ---- */

static ds_status draw(camera_frames *f, const double *p, double *image)
{
    ds_status status = DS_OK;
    if (f->cloud != NULL) {
        return splat_draw(f->cloud, f->cameras.camera, p, &f->radius, 0, image, NULL);
    }
    for (uint32_t i = 0; status == DS_OK && i < f->parts; i++) {
        status = part_draw(f, &f->part[i], p, image + i * f->cameras.count * image_size(f));
    }
    return status;
}

ds_status frames_draw(camera_frames *f, uint64_t k, const double *p)
{
    const ds_status status = draw(f, p, f->picture + k * frames_frame_size(f));
    f->drawn = status == DS_OK ? k : UINT64_MAX;
    return status;
}

ds_status frames_target_cloud(camera_frames *f, uint32_t particles, const double *p, const ds_host *host)
{
    splat *cloud = NULL;
    ds_status status = open_cloud(f, particles, &cloud, host);
    status =
        status != DS_OK ? status : splat_draw(cloud, f->cameras.camera, p, &f->radius, 0, f->target, NULL);
    splat_destroy(cloud);
    for (uint64_t k = 1; k < f->frames; k++) {
        memcpy(f->target + k * frames_frame_size(f), f->target, frames_frame_size(f) * sizeof *f->target);
    }
    return status;
}

/* Makes the renderers hold frame k again, without changing images. */
static ds_status hold(camera_frames *f, uint64_t k, const double *p)
{
    const ds_status status = f->drawn == k ? DS_OK : draw(f, p, f->side);
    f->drawn = status == DS_OK ? k : UINT64_MAX;
    return status;
}

/* ---- loss and derivatives ---- */

static double frame_mean_square(const camera_frames *f, uint64_t k)
{
    const size_t at = k * frames_frame_size(f);
    return image_mean_square(frames_frame_size(f), f->picture + at, f->target + at);
}

double frames_loss(const camera_frames *f)
{
    double sum = 0;
    for (uint64_t k = 0; k < f->frames; k++) {
        sum += frame_mean_square(f, k);
    }
    return sum / (double)f->frames;
}

double frames_frame_loss(const camera_frames *f, uint64_t k)
{
    return frame_mean_square(f, k) / (double)f->frames;
}

static double residual_scale(const camera_frames *f)
{
    return 1 / sqrt((double)frames_size(f));
}

void frames_residuals(const camera_frames *f, double *out)
{
    const double scale = residual_scale(f);
    for (size_t i = 0; i < frames_size(f); i++) {
        out[i] = scale * (f->picture[i] - f->target[i]);
    }
}

/* side = the derivatives by the images of frame k. */
static void weigh(camera_frames *f, uint64_t k, const double *w)
{
    const size_t n = frames_frame_size(f), at = k * n;
    const double scale = w != NULL ? residual_scale(f) : 2 / (double)frames_size(f);
    for (size_t i = 0; i < n; i++) {
        f->side[i] = scale * (w != NULL ? w[i] : f->picture[at + i] - f->target[at + i]);
    }
}

ds_status frames_adjoint(camera_frames *f, uint64_t k, const double *p, const double *w, double *p_bar)
{
    ds_status status = hold(f, k, p);
    f->pose_bar = (camera_pose){.half_angle = 0};
    f->lighting_bar = (dibr_lighting){.ambient = 0};
    weigh(f, k, w);
    if (status == DS_OK && f->cloud != NULL) {
        return splat_adjoint(f->cloud, f->side, p_bar, NULL, 0, NULL);
    }
    for (uint32_t i = 0; status == DS_OK && i < f->parts; i++) {
        status = part_adjoint(f, &f->part[i], p, f->side + i * f->cameras.count * image_size(f), p_bar);
    }
    if (f->view_bar != NULL) {
        cameras_view_adjoint(&f->cameras, &f->pose_bar, &f->lighting_bar, f->view_bar);
    }
    return status;
}

ds_status frames_tangent(camera_frames *f, uint64_t k, const double *p, const double *p_dot, double *out)
{
    const double scale = residual_scale(f);
    ds_status status = hold(f, k, p);
    if (status == DS_OK && f->cloud != NULL) {
        status = splat_tangent(f->cloud, p_dot, NULL, 0, NULL, out);
    }
    for (uint32_t i = 0; status == DS_OK && i < f->parts; i++) {
        status = part_tangent(f, &f->part[i], p, p_dot, out + i * f->cameras.count * image_size(f));
    }
    for (size_t i = 0; i < frames_frame_size(f); i++) {
        out[i] *= scale;
    }
    return status;
}

/* ---- targets and channels ---- */

void frames_target(camera_frames *f, uint64_t k)
{
    const size_t n = frames_frame_size(f);
    memcpy(f->target + k * n, f->picture + k * n, n * sizeof *f->target);
}

void frames_target_all(camera_frames *f, uint64_t k)
{
    const size_t n = frames_frame_size(f);
    for (uint64_t i = 0; i < f->frames; i++) {
        memcpy(f->target + i * n, f->picture + k * n, n * sizeof *f->target);
    }
}

/* Does the file have transparent pixels? Many programs write an alpha of 1 everywhere. */
static int transparent(const png_picture *png)
{
    const size_t of = png->channels, pixels = (size_t)png->width * png->height;
    for (size_t i = 0; of % 2 == 0 && i < pixels; i++) {
        if (png->pixel[i * of + of - 1] < 1) {
            return 1;
        }
    }
    return 0;
}

/* Converts a pixel of a file to one of the images. */
static void convert(uint32_t channels, const double *pixel, uint32_t of, int by_alpha, double *out)
{
    const int grey = of < 3;
    if (channels == 1) {
        const double mean = grey ? pixel[0] : (pixel[0] + pixel[1] + pixel[2]) / 3;
        out[0] = by_alpha ? pixel[of - 1] : mean;
        return;
    }
    for (uint32_t i = 0; i < 3; i++) {
        out[i] = pixel[grey ? 0 : i];
    }
    out[3] = of % 2 == 0 ? pixel[of - 1] : 1;
}

/* Copies the target of view v in frame k out of the file. */
static void cut(camera_frames *f, const png_picture *png, int by_alpha, uint32_t v, uint64_t k)
{
    const size_t size = f->cameras.size, column = png->width == size ? 0 : k;
    double *out = f->target + k * frames_frame_size(f) + v * image_size(f);
    for (size_t r = 0; r < size; r++) {
        const double *row = png->pixel + ((v * size + r) * png->width + column * size) * png->channels;
        for (size_t c = 0; c < size; c++) {
            convert(f->channels, row + c * png->channels, png->channels, by_alpha,
                    out + (r * size + c) * f->channels);
        }
    }
}

static ds_status fits(const camera_frames *f, const png_picture *png, const char *path, const char *name,
                      const ds_host *host)
{
    const uint64_t size = f->cameras.size;
    if (png->height == f->views * size && (png->width == size || png->width == f->frames * size)) {
        return DS_OK;
    }
    char one[80] = "";
    if (f->frames > 1) {
        snprintf(one, sizeof one, ", or %llu x %llu for one target of all states", (unsigned long long)size,
                 (unsigned long long)(f->views * size));
    }
    return ds_host_fail(host, DS_E_PARAM, "parameter %s: %.200s has %u x %u pixels: give %llu x %llu%s", name,
                        path, png->width, png->height, (unsigned long long)(f->frames * size),
                        (unsigned long long)(f->views * size), one);
}

ds_status frames_read_targets(camera_frames *f, const char *path, const char *name, const ds_host *host)
{
    png_picture png;
    char text[READ_PNG_TEXT];
    const int failed = png_picture_read(&png, path, text);
    if (failed != READ_PNG_OK) {
        return ds_host_fail(host, png_status(failed), "parameter %s: %.400s", name, text);
    }
    const ds_status status = fits(f, &png, path, name, host);
    const int by_alpha = status == DS_OK && transparent(&png);
    for (uint64_t k = 0; status == DS_OK && k < f->frames; k++) {
        for (uint32_t v = 0; v < f->views; v++) {
            cut(f, &png, by_alpha, v, k);
        }
    }
    png_picture_free(&png);
    return status;
}

void frames_describe(const camera_frames *f, uint64_t channel, uint32_t ops, ds_channel *out)
{
    if (channel == FRAMES_RESIDUALS) {
        out->role = DS_CHANNEL_RESIDUAL;
        out->ops = ops;
        out->shape[0] = frames_size(f);
        out->name = "residuals";
        out->doc = "Differences from the target, scaled so that their squares add up to the loss.";
        return;
    }
    out->role = DS_CHANNEL_IMAGE;
    out->ops = DS_CAN(DS_QUERY_VALUE);
    out->ndim = f->channels > 1 ? 3 : 2;
    out->shape[0] = (uint64_t)f->views * f->cameras.size;
    out->shape[1] = f->frames * f->cameras.size;
    out->shape[2] = f->channels;
    out->name = channel == FRAMES_IMAGES ? "pictures" : "target";
    out->doc = channel == FRAMES_IMAGES ? "What the cameras see of the compared states, side by side."
                                        : "What the cameras should see.";
}

void frames_answer(const camera_frames *f, uint64_t channel, double *out)
{
    const size_t size = f->cameras.size, row = size * f->channels, line = f->frames * row;
    const double *from = channel == FRAMES_TARGET ? f->target : f->picture;
    if (channel == FRAMES_RESIDUALS) {
        frames_residuals(f, out);
        return;
    }
    for (uint64_t k = 0; k < f->frames; k++) {
        for (size_t r = 0; r < f->views * size; r++) {
            memcpy(out + r * line + k * row, from + k * frames_frame_size(f) + r * row, row * sizeof *out);
        }
    }
}
