/* SPDX-License-Identifier: Apache-2.0 */
/* film_internal.h - what a film holds: shared by its drawing and its targets. */
#ifndef DS_ENGINES_FILM_INTERNAL_H
#define DS_ENGINES_FILM_INTERNAL_H

#include "common/memory.h"
#include "engines/film/film.h"
#include "engines/render/light.h"
#include "engines/render/splat.h"

/* Faces that are seen together: one image for each camera. */
typedef struct film_part {
    render_mesh mesh;
    const double *texture;
    double *color, *color_bar; /* [faces][3], NULL for silhouettes */
    softras *eye[LOOK_CAMERAS];
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

/* Numbers of one picture. */
static inline size_t film_picture_size(const film *f)
{
    return (size_t)f->look.size * f->look.size * f->channels;
}

#endif
