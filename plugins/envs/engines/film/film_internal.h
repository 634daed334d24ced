/* SPDX-License-Identifier: Apache-2.0 */
/* film_internal.h - what a film holds: shared by its drawing and its targets. */
#ifndef DS_ENGINES_FILM_INTERNAL_H
#define DS_ENGINES_FILM_INTERNAL_H

#include "common/memory.h"
#include "engines/film/film.h"
#include "engines/render/light.h"
#include "engines/render/splat.h"

#include <diffsim/helper/fail.h>

/* Faces that are seen together: one image for each camera, by either renderer. */
typedef struct film_part {
    render_mesh mesh;
    const double *texture;
    double *color, *color_bar; /* [faces][3], NULL for silhouettes */
    softras *eye[LOOK_CAMERAS];
    /* Or these, who see the outside of faces alone: a surface that is open is given to them with both sides, each with
     * vertices of its own. */
    dibr *raster[LOOK_CAMERAS];
    render_mesh both;
    size_t sides;
    double *p, *paint, *change; /* [sides][vertices][3]: places in the images, colours, room */
    double *raw;                /* [size][size][4]: an image of which the film keeps alpha alone */
} film_part;

struct film {
    memory memory;
    look look;
    light light;
    uint64_t frames;
    uint32_t channels, views, parts, vertices;
    film_part part[FILM_VIEWS];
    splat *cloud; /* NULL for a mesh */
    double radius, opacity;
    double *picture, *target; /* [frames][views][size][size][channels] */
    double *side;             /* numbers of one frame */
    uint64_t drawn;           /* the frame that the renderers hold; UINT64_MAX = none */
};

/* A part with the faces of a group. Images are [cameras][size][size][channels]. */
ds_status film_part_open(film *f, film_part *part, const film_subject *s, film_group g, const ds_host *host);
void film_part_close(film_part *part);
ds_status film_part_draw(film *f, film_part *part, const double *p, double *image);
ds_status film_part_adjoint(film *f, film_part *part, const double *p, const double *image_bar,
                            double *p_bar);
ds_status film_part_tangent(film *f, film_part *part, const double *p, const double *p_dot, double *out);

static inline ds_status film_no_memory(const ds_host *host)
{
    return ds_host_fail(host, DS_E_NOMEM, "no memory for the pictures: reduce parameter image_size");
}

/* Numbers of one picture. */
static inline size_t film_picture_size(const film *f)
{
    return (size_t)f->look.size * f->look.size * f->channels;
}

#endif
