/* SPDX-License-Identifier: Apache-2.0 */
/* film_part.c - faces that are seen together: their pictures from all cameras and the derivatives of these,
 * by soft rasterization, or by what else the look names (film_dibr.c). */
#include "engines/rendering/film/film_internal.h"

#include <diffsim/helper/fail.h>
#include <string.h>

/* ---- making one ---- */

/* Copies the faces of a group, and what is needed for their colours. */
static void copy_faces(film *f, film_part *part, const film_subject *s, film_group g)
{
    const size_t numbers = 3 * (size_t)g.faces;
    uint32_t *face = ds_memory_take(&f->memory, numbers, sizeof *face);
    double *color = ds_memory_doubles(&f->memory, numbers);
    part->mesh = (render_mesh){.vertices = s->mesh.vertices, .faces = g.faces, .face = face};
    part->color = color;
    if (f->look.mode != SOFTRAS_ALPHA) {
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

static ds_status open_softras(const film *f, film_part *part, char text[RENDER_TEXT])
{
    softras_options o = softras_defaults(f->look.mode, f->look.size);
    ds_status status = DS_OK;
    o.antialias = f->look.antialias;
    o.sigma_scale = f->look.sigma_scale;
    o.threads = f->look.threads;
    for (uint32_t c = 0; status == DS_OK && c < f->look.cameras; c++) {
        part->eye[c] = softras_create(&o, &part->mesh, &status, text);
    }
    return status;
}

ds_status film_part_open(film *f, film_part *part, const film_subject *s, film_group g, const ds_host *host)
{
    char text[RENDER_TEXT] = "";
    copy_faces(f, part, s, g);
    if (f->memory.failed) {
        return film_no_memory(host);
    }
    const ds_status status =
        f->look.renderer == LOOK_DIBR ? film_dibr_open(f, part, s, text) : open_softras(f, part, text);
    if (status == DS_OK) {
        return DS_OK;
    }
    return status == DS_E_NOMEM ? film_no_memory(host)
                                : ds_host_fail(host, DS_E_PARAM, "pictures: %.200s", text);
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
    if (part->lit != NULL && f->look.shading == LOOK_LIGHT) {
        light_faces(&f->light, &part->mesh, p, part->color, 3, part->lit);
    } else if (part->lit != NULL) {
        memcpy(part->lit, part->color, 3 * (size_t)part->mesh.faces * sizeof *part->lit);
    }
    for (uint32_t c = 0; status == DS_OK && c < f->look.cameras; c++) {
        status = softras_draw(part->eye[c], &f->look.camera[c], p, part->lit,
                              image + c * film_picture_size(f), NULL);
    }
    return status;
}

static ds_status adjoint_of_softras(film *f, film_part *part, const double *p, const double *image_bar,
                                    double *p_bar)
{
    double *lit_bar = f->look.shading == LOOK_LIGHT ? part->lit_bar : NULL;
    const softras_bar bar = {.p = p_bar, .color = lit_bar};
    ds_status status = DS_OK;
    if (lit_bar != NULL) {
        memset(lit_bar, 0, 3 * (size_t)part->mesh.faces * sizeof *lit_bar);
    }
    for (uint32_t c = 0; status == DS_OK && c < f->look.cameras; c++) {
        status = softras_adjoint(part->eye[c], image_bar + c * film_picture_size(f), &bar);
    }
    if (status == DS_OK && lit_bar != NULL) {
        light_faces_adjoint(&f->light, &part->mesh, p, part->color, 3, lit_bar, p_bar, NULL);
    }
    return status;
}

/* lit_bar has the room for the change of the colours. */
static ds_status tangent_of_softras(film *f, film_part *part, const double *p, const double *p_dot,
                                    double *out)
{
    double *lit_dot = f->look.shading == LOOK_LIGHT ? part->lit_bar : NULL;
    const softras_dot dot = {.p = p_dot, .color = lit_dot};
    ds_status status = DS_OK;
    if (lit_dot != NULL) {
        light_faces_tangent(&f->light, &part->mesh, p, part->color, 3, p_dot, NULL, lit_dot);
    }
    for (uint32_t c = 0; status == DS_OK && c < f->look.cameras; c++) {
        status = softras_tangent(part->eye[c], &dot, out + c * film_picture_size(f));
    }
    return status;
}

/* ---- by the one of the look ---- */

ds_status film_part_draw(film *f, film_part *part, const double *p, double *image)
{
    return f->look.renderer == LOOK_DIBR ? film_dibr_draw(f, part, p, image)
                                         : draw_softras(f, part, p, image);
}

ds_status film_part_adjoint(film *f, film_part *part, const double *p, const double *image_bar, double *p_bar)
{
    return f->look.renderer == LOOK_DIBR ? film_dibr_adjoint(f, part, image_bar, p_bar)
                                         : adjoint_of_softras(f, part, p, image_bar, p_bar);
}

ds_status film_part_tangent(film *f, film_part *part, const double *p, const double *p_dot, double *out)
{
    return f->look.renderer == LOOK_DIBR ? film_dibr_tangent(f, part, p_dot, out)
                                         : tangent_of_softras(f, part, p, p_dot, out);
}
