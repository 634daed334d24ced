/* SPDX-License-Identifier: Apache-2.0 */
/* film_dibr.c - faces that are seen together, by interpolation: both sides of a surface that is open, the
 * colours of vertices or the picture that lies on them. */
#include "engines/rendering/film/film_internal.h"

#include <stdlib.h>
#include <string.h>

static int alone(const film *f)
{
    return f->look.mode == SOFTRAS_ALPHA;
}

/* ---- making one ---- */

static int by_ends(const void *a, const void *b)
{
    const uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;
    return (p > q) - (p < q);
}

/* Has each edge of a face another one along it, in opposite sense? -1: no memory. */
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

/* The faces of all sides, in memory of the film. */
static render_mesh mesh_of_sides(film *f, const film_part *part)
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

/* to[vertices][of] of one side is that of each. */
static void repeat(const film_part *part, size_t of, const double *from, double *to)
{
    const size_t side = of * part->mesh.vertices;
    for (size_t k = 0; k < part->sides; k++) {
        memmove(to + k * side, from, side * sizeof *to);
    }
}

/* Vertices get the mean colour of their faces: sums, then their quotients with the number of faces. */
static void paint_vertices(film_part *part)
{
    double *faces = part->change; /* of each vertex */
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

static ds_status open_sides(film *f, film_part *part, const film_subject *s)
{
    const int one_side = closed(&part->mesh);
    part->sides = one_side ? 1 : 2;
    const size_t vertices = part->sides * part->mesh.vertices;
    ds_memory_each(&f->memory, 3 * vertices, (double **const[]){&part->p, &part->paint, &part->change, NULL});
    part->raw = ds_memory_doubles(&f->memory, DIBR_CHANNELS * (size_t)f->look.size * f->look.size);
    part->uv = f->skin.width > 0 ? ds_memory_doubles(&f->memory, 2 * vertices) : NULL;
    if (one_side < 0 || f->memory.failed) {
        return DS_E_NOMEM;
    }
    paint_vertices(part);
    if (part->uv != NULL) {
        film_skin_lay(&part->mesh, s->rest, part->uv);
        repeat(part, 2, part->uv, part->uv);
    }
    part->both = mesh_of_sides(f, part);
    return f->memory.failed ? DS_E_NOMEM : DS_OK;
}

ds_status film_dibr_open(film *f, film_part *part, const film_subject *s, char text[RENDER_TEXT])
{
    const dibr_mode plain = f->skin.width > 0 ? DIBR_TEXTURE : DIBR_COLOR;
    dibr_options o = dibr_defaults(f->look.shading == LOOK_COLOR ? plain : DIBR_PHONG, f->look.size);
    ds_status status = open_sides(f, part, s);
    o.threads = f->look.threads;
    o.texture_width = f->skin.width;
    o.texture_height = f->skin.height;
    for (uint32_t c = 0; status == DS_OK && c < f->look.cameras; c++) {
        part->raster[c] = dibr_create(&o, &part->both, &status, text);
    }
    return status;
}

/* ---- pictures and their derivatives ---- */

/* The image of camera c: what is drawn to, or alpha alone in its place. */
static double *raw_of(const film *f, const film_part *part, double *image, uint32_t c)
{
    return alone(f) ? part->raw : image + c * film_picture_size(f);
}

static void keep_alpha(const film *f, const film_part *part, double *image, uint32_t c)
{
    for (size_t i = 0; alone(f) && i < film_picture_size(f); i++) {
        image[c * film_picture_size(f) + i] = part->raw[DIBR_CHANNELS * i + 3];
    }
}

/* The places are kept: derivatives may be wanted when the caller's are gone. */
ds_status film_dibr_draw(film *f, film_part *part, const double *p, double *image)
{
    const dibr_surface surface = {
        .p = part->p, .color = part->paint, .uv = part->uv, .texture = f->skin.texel};
    ds_status status = DS_OK;
    repeat(part, 3, p, part->p);
    for (uint32_t c = 0; status == DS_OK && c < f->look.cameras; c++) {
        status = dibr_draw(part->raster[c], &f->look.camera[c], &surface, raw_of(f, part, image, c), NULL);
        keep_alpha(f, part, image, c);
    }
    return status;
}

ds_status film_dibr_adjoint(film *f, film_part *part, const double *image_bar, double *p_bar)
{
    const size_t side = 3 * (size_t)part->mesh.vertices;
    ds_status status = DS_OK;
    memset(part->change, 0, part->sides * side * sizeof *part->change);
    for (uint32_t c = 0; status == DS_OK && c < f->look.cameras; c++) {
        const double *bar = image_bar + c * film_picture_size(f);
        for (size_t i = 0; alone(f) && i < DIBR_CHANNELS * film_picture_size(f); i++) {
            part->raw[i] = i % DIBR_CHANNELS == 3 ? bar[i / DIBR_CHANNELS] : 0;
        }
        status = dibr_adjoint(part->raster[c], alone(f) ? part->raw : bar, &(dibr_surface){.p = part->change},
                              NULL);
    }
    for (size_t i = 0; status == DS_OK && i < part->sides * side; i++) {
        p_bar[i % side] += part->change[i];
    }
    return status;
}

ds_status film_dibr_tangent(film *f, film_part *part, const double *p_dot, double *out)
{
    ds_status status = DS_OK;
    repeat(part, 3, p_dot, part->change);
    for (uint32_t c = 0; status == DS_OK && c < f->look.cameras; c++) {
        status = dibr_tangent(part->raster[c], &(dibr_dot){.p = part->change}, raw_of(f, part, out, c));
        keep_alpha(f, part, out, c);
    }
    return status;
}
