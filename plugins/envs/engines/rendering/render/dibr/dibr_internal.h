/* SPDX-License-Identifier: Apache-2.0 */
/* dibr_internal.h - what the files of the interpolating rasterizer share: faces in the image plane and what
 * a pixel sees of them (dibr.c), what is interpolated over a face, and how a pixel gets its colour from it
 * (dibr_shade.c). */
#ifndef DS_ENGINES_RENDER_DIBR_INTERNAL_H
#define DS_ENGINES_RENDER_DIBR_INTERNAL_H

#include "dibr.h"

#include "common/exp.h"
#include "engines/kit/team.h"
#include "engines/rendering/render/softras_internal.h"

#include <diffsim/helper/memory.h>

/* Of a vertex, and interpolated of a pixel; what a mode does not use is 0. */
typedef struct dibr_attributes {
    double color[3], uv[2], normal[3], position[3];
} dibr_attributes;
enum { DIBR_ATTRIBUTES = sizeof(dibr_attributes) / sizeof(double) };

/* The colour of a pixel with the attributes `a`, seen from `eye`. */
void dibr_shade(const dibr_options *o, const dibr_surface *s, const double eye[3], const dibr_attributes *a,
                double rgb[3]);

/* *a_bar += and the texture and harmonics of *bar +=, eye_bar += (NULL: not wanted) the derivatives of
 * what has the derivatives g by the colour. */
void dibr_shade_adjoint(const dibr_options *o, const dibr_surface *s, const double eye[3],
                        const dibr_attributes *a, const double g[3], dibr_attributes *a_bar,
                        const dibr_surface *bar, double eye_bar[3]);

/* *rgb_dot = the change of the colour along that of the attributes, of the eye, and of the texture and the
 * harmonics of *dot (NULL: they stand still). */
void dibr_shade_tangent(const dibr_options *o, const dibr_surface *s, const double eye[3],
                        const dibr_attributes *a, const dibr_attributes *a_dot, const dibr_dot *dot,
                        const double eye_dot[3], double rgb_dot[3]);

/* The 9 bands of the harmonics along a unit vector, and their derivatives. */
void dibr_bands(const double n[3], double band[DIBR_HARMONIC_BANDS]);
void dibr_bands_adjoint(const double n[3], const double band_bar[DIBR_HARMONIC_BANDS], double n_bar[3]);

/* ---- faces and pixels ---- */

static const double dibr_sharpness = 7000; /* of the silhouette, per squared half image */

/* A front face in the image plane. */
typedef struct dibr_face {
    render_box box;
    double x[3], y[3], depth[3];
    double slope_x[3], slope_y[3]; /* of the barycentric coordinates */
    double low[2], high[2];        /* of the box grown by `margin` */
} dibr_face;

/* Derivatives by the corners in the image plane. */
typedef struct dibr_corner_bar {
    double x[3], y[3];
} dibr_corner_bar;

struct dibr {
    dibr_options o;
    render_mesh mesh; /* a copy */
    kit_team *team;
    ds_memory memory;
    render_bins bins;
    dibr_face *face;
    dibr_corner_bar *pair; /* per face and tile, in the order of bins.item */
    size_t pairs;          /* room */
    /* the last image */
    int drawn;
    camera camera;
    dibr_surface surface;
    double *q, *q_bar;           /* vertices x 3 */
    double *normal, *normal_bar; /* vertices x 3: sums over faces */
    uint32_t *shown;             /* pixels: the face, or DIBR_NOTHING */
};

enum { DIBR_NOTHING = UINT32_MAX };

typedef struct dibr_job {
    dibr *r;
    const double *in;
    double *out;
    const dibr_dot *dot; /* of a tangent */
} dibr_job;

/* A face beside a pixel of the background: squared distance, place in the tile's list, nearest point. */
typedef struct dibr_neighbour {
    double square, to[2], te[3];
    size_t place;
} dibr_neighbour;

/* Barycentric coordinates; 1 where the point is in the face, its edges included. */
int dibr_weights(const dibr_face *f, double x, double y, double w[3]);

/* The face that a pixel shows, or DIBR_NOTHING; then the nearest faces beside it. */
uint32_t dibr_look(const dibr *r, const render_tile *t, double x, double y, dibr_neighbour list[DIBR_NEAREST],
                   int *n);

dibr_attributes dibr_attributes_of(const dibr *r, uint32_t face, const double w[3]);

/* Runs `visit` for each pixel of a tile that belongs to the image. */
typedef void dibr_visit(const dibr_job *j, int tile, const render_tile *t, size_t pixel);
void dibr_visit_tile(const dibr_job *j, int tile, dibr_visit *visit);

/* How much a face at this squared distance covers a pixel of the background. */
static inline double dibr_covers(double square)
{
    return exp_same(-dibr_sharpness * square);
}

/* Where a pixel is. */
static inline void dibr_center(const dibr *r, size_t pixel, double at[2])
{
    at[0] = r->bins.center[pixel % r->o.size];
    at[1] = -r->bins.center[pixel / r->o.size];
}

#endif
