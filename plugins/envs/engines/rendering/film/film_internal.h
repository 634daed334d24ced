/* SPDX-License-Identifier: Apache-2.0 */
/* film_internal.h - what a film holds: shared by its drawing, its targets and the picture on its surface. */
#ifndef DS_ENGINES_FILM_INTERNAL_H
#define DS_ENGINES_FILM_INTERNAL_H

#include "engines/rendering/film/film.h"
#include "engines/rendering/render/light.h"
#include "engines/rendering/render/read_png.h"
#include "engines/rendering/render/splat.h"

#include <diffsim/helper/fail.h>
#include <diffsim/helper/memory.h>

/* Faces that are seen together: one image for each camera, by either renderer. */
typedef struct film_part {
    render_mesh mesh;
    const double *color;   /* [faces][3] */
    double *lit, *lit_bar; /* the same in light, and derivatives by it; NULL for silhouettes */
    softras *eye[LOOK_CAMERAS];
    /* Or these, who see the outside of faces alone: a surface that is open is given to them with both sides,
     * each with vertices of its own. */
    dibr *raster[LOOK_CAMERAS];
    render_mesh both;
    size_t sides;
    double *p, *paint, *change; /* [sides][vertices][3]: places in the images, colours, room */
    double *uv;                 /* [sides][vertices][2]: places in the skin; NULL without */
    double *raw;                /* [size][size][4]: an image of which the film keeps alpha alone */
} film_part;

/* A picture that lies on the surface; width 0: none. */
typedef struct film_skin {
    uint32_t width, height;
    double *texel; /* [height][width][3], row 0 on top */
} film_skin;

struct film {
    ds_memory memory;
    look look;
    light light;
    film_skin skin;
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

/* The same of the faces alone, by interpolation. A failure to open is DS_E_NOMEM, or has a line in `text`. */
ds_status film_dibr_open(film *f, film_part *part, const film_subject *s, char text[RENDER_TEXT]);
ds_status film_dibr_draw(film *f, film_part *part, const double *p, double *image);
ds_status film_dibr_adjoint(film *f, film_part *part, const double *image_bar, double *p_bar);
ds_status film_dibr_tangent(film *f, film_part *part, const double *p_dot, double *out);

/* Reads the skin from a PNG file, whose transparency does not count. A failure is said to the host. */
ds_status film_skin_read(film *f, const char *path, const ds_host *host);
/* uv[vertices][2]: the picture fills the box around the faces at rest[vertices][3], seen along its shortest
 * side; both sides of the body show it. u goes along x, or z where that side is x; v along y, or z where it
 * is y. */
void film_skin_lay(const render_mesh *m, const double *rest, double *uv);

/* What a failed png_picture_read() is for the host. */
static inline ds_status film_png_status(int failed)
{
    return failed == READ_PNG_NO_MEMORY ? DS_E_NOMEM : failed == READ_PNG_IO ? DS_E_IO : DS_E_DATA;
}

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
