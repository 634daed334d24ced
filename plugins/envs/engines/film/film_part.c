/* SPDX-License-Identifier: Apache-2.0 */
/* film_part.c - faces that are seen together: their pictures from all cameras and the derivatives of these, by the
 * renderer that the look names. */
#include "engines/film/film_internal.h"

#include <diffsim/helper/fail.h>
#include <string.h>

static int alone(const film *f)
{
    return f->look.mode == SOFTRAS_ALPHA;
}

/* ---- making one ---- */

/* Copies the faces of a group, and what is needed for their colours. */
static void copy_faces(film *f, film_part *part, const film_subject *s, film_group g)
{
    const size_t numbers = 3 * (size_t)g.faces;
    uint32_t *face = memory_take(&f->memory, numbers, sizeof *face);
    double *texture = memory_doubles(&f->memory, numbers);
    part->mesh = (render_mesh){.vertices = s->mesh.vertices, .faces = g.faces, .face = face};
    part->texture = texture;
    if (!alone(f)) {
        part->color = memory_doubles(&f->memory, numbers);
        part->color_bar = memory_doubles(&f->memory, numbers);
    }
    if (f->memory.failed) {
        return;
    }
    memcpy(face, s->mesh.face + 3 * (size_t)g.first, numbers * sizeof *face);
    for (size_t i = 0; i < numbers; i++) {
        texture[i] = s->texture != NULL ? s->texture[3 * (size_t)g.first + i] : 1;
    }
}

/* Has each edge of a face another one along it, in opposite sense? */
static int closed(const render_mesh *m)
{
    for (size_t i = 0; i < 3 * (size_t)m->faces; i++) {
        const uint32_t a = m->face[i], b = m->face[i / 3 * 3 + (i + 1) % 3];
        size_t k = 0;
        while (k < 3 * (size_t)m->faces && !(m->face[k] == b && m->face[k / 3 * 3 + (k + 1) % 3] == a)) {
            k++;
        }
        if (k == 3 * (size_t)m->faces) {
            return 0;
        }
    }
    return 1;
}

/* The faces of all sides, in memory of the film. */
static render_mesh mesh_of_sides(film *f, const film_part *part)
{
    const render_mesh *m = &part->mesh;
    const size_t numbers = 3 * (size_t)m->faces;
    uint32_t *face = memory_take(&f->memory, part->sides * numbers, sizeof *face);
    for (size_t i = 0; face != NULL && i < numbers; i++) {
        face[i] = m->face[i];
        if (part->sides == 2) {
            face[numbers + i] = m->vertices + m->face[i / 3 * 3 + (3 - i % 3) % 3];
        }
    }
    const uint32_t sides = (uint32_t)part->sides;
    return (render_mesh){.vertices = sides * m->vertices, .faces = sides * m->faces, .face = face};
}

/* Numbers of the places on one side. */
static size_t side_of(const film_part *part)
{
    return 3 * (size_t)part->mesh.vertices;
}

/* The same for each side. */
static void repeat(const film_part *part, const double *from, double *to)
{
    for (size_t k = 0; k < part->sides; k++) {
        memcpy(to + k * side_of(part), from, side_of(part) * sizeof *to);
    }
}

/* Vertices get the mean colour of their faces. */
static void paint_vertices(film_part *part)
{
    for (size_t v = 0; v < part->mesh.vertices; v++) {
        double sum[3] = {0}, count = 0;
        for (size_t i = 0; i < 3 * (size_t)part->mesh.faces; i++) {
            for (size_t k = 0; part->mesh.face[i] == v && k < 3; k++) {
                sum[k] += part->texture[i / 3 * 3 + k];
            }
            count += part->mesh.face[i] == v;
        }
        for (size_t k = 0; k < 3; k++) {
            part->change[3 * v + k] = count > 0 ? sum[k] / count : 0;
        }
    }
}

static void open_sides(film *f, film_part *part)
{
    part->sides = closed(&part->mesh) ? 1 : 2;
    const size_t numbers = part->sides * side_of(part);
    memory_each(&f->memory, numbers, (double **const[]){&part->p, &part->paint, &part->change, NULL});
    part->raw = memory_doubles(&f->memory, DIBR_CHANNELS * (size_t)f->look.size * f->look.size);
    if (!f->memory.failed) {
        paint_vertices(part);
        repeat(part, part->change, part->paint);
        part->both = mesh_of_sides(f, part);
    }
}

static int open_softras(const film *f, film_part *part, uint32_t c, ds_status *status, char text[RENDER_TEXT])
{
    softras_options o = softras_defaults(f->look.mode, f->look.size);
    o.antialias = f->look.antialias;
    o.sigma_scale = f->look.sigma_scale;
    o.threads = f->look.threads;
    part->eye[c] = softras_create(&o, &part->mesh, status, text);
    return part->eye[c] != NULL;
}

static int open_dibr(const film *f, film_part *part, uint32_t c, ds_status *status, char text[RENDER_TEXT])
{
    dibr_options o = dibr_defaults(f->look.shading == LOOK_COLOR ? DIBR_COLOR : DIBR_PHONG, f->look.size);
    o.threads = f->look.threads;
    part->raster[c] = dibr_create(&o, &part->both, status, text);
    return part->raster[c] != NULL;
}

ds_status film_part_open(film *f, film_part *part, const film_subject *s, film_group g, const ds_host *host)
{
    const int by_dibr = f->look.renderer == LOOK_DIBR;
    char text[RENDER_TEXT] = "";
    ds_status status = DS_OK;
    copy_faces(f, part, s, g);
    if (by_dibr && !f->memory.failed) {
        open_sides(f, part);
    }
    if (f->memory.failed) {
        return film_no_memory(host);
    }
    for (uint32_t c = 0; c < f->look.cameras; c++) {
        if (!(by_dibr ? open_dibr : open_softras)(f, part, c, &status, text)) {
            return status == DS_E_NOMEM ? film_no_memory(host)
                                        : ds_host_fail(host, DS_E_PARAM, "pictures: %.200s", text);
        }
    }
    return DS_OK;
}

void film_part_close(film_part *part)
{
    for (uint32_t c = 0; c < LOOK_CAMERAS; c++) {
        softras_destroy(part->eye[c]);
        dibr_destroy(part->raster[c]);
    }
}

/* ---- by soft rasterization ---- */

static ds_status draw_softras(film *f, film_part *part, const double *p, double *image)
{
    ds_status status = DS_OK;
    if (part->color != NULL && f->look.shading == LOOK_LIGHT) {
        light_faces(&f->light, &part->mesh, p, part->texture, 3, part->color);
    } else if (part->color != NULL) {
        memcpy(part->color, part->texture, 3 * (size_t)part->mesh.faces * sizeof *part->color);
    }
    for (uint32_t c = 0; status == DS_OK && c < f->look.cameras; c++) {
        status = softras_draw(part->eye[c], &f->look.camera[c], p, part->color,
                              image + c * film_picture_size(f), NULL);
    }
    return status;
}

static ds_status adjoint_of_softras(film *f, film_part *part, const double *p, const double *image_bar,
                                    double *p_bar)
{
    double *color_bar = f->look.shading == LOOK_LIGHT ? part->color_bar : NULL;
    const softras_bar bar = {.p = p_bar, .color = color_bar};
    ds_status status = DS_OK;
    if (color_bar != NULL) {
        memset(color_bar, 0, 3 * (size_t)part->mesh.faces * sizeof *color_bar);
    }
    for (uint32_t c = 0; status == DS_OK && c < f->look.cameras; c++) {
        status = softras_adjoint(part->eye[c], image_bar + c * film_picture_size(f), &bar);
    }
    if (status == DS_OK && color_bar != NULL) {
        light_faces_adjoint(&f->light, &part->mesh, p, part->texture, 3, color_bar, p_bar, NULL);
    }
    return status;
}

/* color_bar has the room for the change of the colours. */
static ds_status tangent_of_softras(film *f, film_part *part, const double *p, const double *p_dot,
                                    double *out)
{
    double *color_dot = f->look.shading == LOOK_LIGHT ? part->color_bar : NULL;
    const softras_dot dot = {.p = p_dot, .color = color_dot};
    ds_status status = DS_OK;
    if (color_dot != NULL) {
        light_faces_tangent(&f->light, &part->mesh, p, part->texture, 3, p_dot, NULL, color_dot);
    }
    for (uint32_t c = 0; status == DS_OK && c < f->look.cameras; c++) {
        status = softras_tangent(part->eye[c], &dot, out + c * film_picture_size(f));
    }
    return status;
}

/* ---- by interpolation ---- */

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
static ds_status draw_dibr(film *f, film_part *part, const double *p, double *image)
{
    const dibr_surface surface = {.p = part->p, .color = part->paint};
    ds_status status = DS_OK;
    repeat(part, p, part->p);
    for (uint32_t c = 0; status == DS_OK && c < f->look.cameras; c++) {
        status = dibr_draw(part->raster[c], &f->look.camera[c], &surface, raw_of(f, part, image, c), NULL);
        keep_alpha(f, part, image, c);
    }
    return status;
}

static ds_status adjoint_of_dibr(film *f, film_part *part, const double *image_bar, double *p_bar)
{
    ds_status status = DS_OK;
    memset(part->change, 0, part->sides * side_of(part) * sizeof *part->change);
    for (uint32_t c = 0; status == DS_OK && c < f->look.cameras; c++) {
        const double *bar = image_bar + c * film_picture_size(f);
        for (size_t i = 0; alone(f) && i < DIBR_CHANNELS * film_picture_size(f); i++) {
            part->raw[i] = i % DIBR_CHANNELS == 3 ? bar[i / DIBR_CHANNELS] : 0;
        }
        status = dibr_adjoint(part->raster[c], alone(f) ? part->raw : bar, &(dibr_surface){.p = part->change},
                              NULL);
    }
    for (size_t i = 0; status == DS_OK && i < part->sides * side_of(part); i++) {
        p_bar[i % side_of(part)] += part->change[i];
    }
    return status;
}

static ds_status tangent_of_dibr(film *f, film_part *part, const double *p_dot, double *out)
{
    ds_status status = DS_OK;
    repeat(part, p_dot, part->change);
    for (uint32_t c = 0; status == DS_OK && c < f->look.cameras; c++) {
        status = dibr_tangent(part->raster[c], &(dibr_dot){.p = part->change}, raw_of(f, part, out, c));
        keep_alpha(f, part, out, c);
    }
    return status;
}

/* ---- by the one of the look ---- */

ds_status film_part_draw(film *f, film_part *part, const double *p, double *image)
{
    return f->look.renderer == LOOK_DIBR ? draw_dibr(f, part, p, image) : draw_softras(f, part, p, image);
}

ds_status film_part_adjoint(film *f, film_part *part, const double *p, const double *image_bar, double *p_bar)
{
    return f->look.renderer == LOOK_DIBR ? adjoint_of_dibr(f, part, image_bar, p_bar)
                                         : adjoint_of_softras(f, part, p, image_bar, p_bar);
}

ds_status film_part_tangent(film *f, film_part *part, const double *p, const double *p_dot, double *out)
{
    return f->look.renderer == LOOK_DIBR ? tangent_of_dibr(f, part, p_dot, out)
                                         : tangent_of_softras(f, part, p, p_dot, out);
}
