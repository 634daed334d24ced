/* SPDX-License-Identifier: Apache-2.0 */
/* look.h - how an environment is seen: the parameters of cameras and pictures, the same for
 * all environments. */
#ifndef DS_ENGINES_FILM_LOOK_H
#define DS_ENGINES_FILM_LOOK_H

#include "engines/rendering/render/dibr/dibr.h"
#include "engines/rendering/render/softras.h"

#include <diffsim/helper/params.h>

enum { LOOK_CAMERAS = 8 };

typedef enum look_renderer { LOOK_SOFTRAS = 0, LOOK_DIBR = 1 } look_renderer;
typedef enum look_shading { LOOK_LIGHT = 0, LOOK_COLOR = 1 } look_shading;

/* What the parameters say. */
typedef struct look {
    softras_mode mode; /* also which channels dibr's pictures have: 1 or 4 */
    look_renderer renderer;
    look_shading shading;
    uint32_t size; /* pixels per side */
    int antialias;
    double sigma_scale;
    const char *texture; /* PNG file whose picture lies on the surface, a text of the host's; NULL: none */
    uint32_t threads, cameras;
    camera camera[LOOK_CAMERAS];
} look;

extern const char *const look_modes[], *const look_renderers[], *const look_shadings[];

/* Size of pictures, threads that draw them. */
#define LOOK_SIZE_PARAM(size_)                                                                               \
    DS_INT("image_size", size_, RENDER_MIN_SIZE, 512, "", "Pixels of a side of a picture.")
#define LOOK_THREADS_PARAM                                                                                   \
    DS_INT("image_threads", "1", 1, RENDER_MAX_THREADS, "",                                                  \
           "Threads that draw; results do not depend on it.", .flags = DS_PARAM_ADVANCED)

/* Size of pictures and cameras, with the defaults of the environment: "64" and "8, 30, 0". */
#define LOOK_CAMERA_PARAMS(size_, camera_)                                                                   \
    LOOK_SIZE_PARAM(size_),                                                                                  \
        DS_LIST("camera", camera_, -1e4, 1e4, 3 * LOOK_CAMERAS, "m, deg, deg",                               \
                "Distance from the origin, elevation and azimuth of the camera, which looks at the origin; " \
                "three more numbers for each further camera."),                                              \
        LOOK_THREADS_PARAM

/* Those of triangles alone. */
#define LOOK_MESH_PARAMS(mode_)                                                                              \
    DS_ENUM("obs", mode_, look_modes,                                                                        \
            "What is compared. alpha: silhouettes. over: colours in front of black, faded with alpha, "      \
            "and alpha. rgba: raw colours and alpha, as gradSim does; its jumps at the edges of "            \
            "colours are in no gradient."),                                                                  \
        DS_ENUM("renderer", "softras", look_renderers,                                                       \
                "softras: soft rasterization. dibr: faces by interpolation, with a soft silhouette on the "  \
                "background only; nothing is told of what lies behind a face."),                             \
        DS_ENUM("shading", "light", look_shadings,                                                           \
                "light: half of the light comes from above, half from everywhere; softras lights faces, "    \
                "dibr interpolates normals as Phong does. color: colours alone."),                           \
        DS_PATH("texture", "",                                                                               \
                "PNG file with a picture that lies on the surface in place of its colours, for renderer = "  \
                "dibr. It fills the box around the body at rest, seen along the shortest side of the box. "  \
                "Empty: none."),                                                                             \
        DS_BOOL("antialias", "false", "Draws with twice the size and averages 2 x 2 pixels."),               \
        DS_REAL("sigma_scale", "1", 1e-3, 1e6, "",                                                           \
                "Blur of the edges: 1 is 0.4 pixels wide; the square root of the scale counts.",             \
                .flags = DS_PARAM_LOG | DS_PARAM_ADVANCED)

/* Both. */
#define LOOK_PARAMS(size_, camera_, mode_) LOOK_CAMERA_PARAMS(size_, camera_), LOOK_MESH_PARAMS(mode_)

/* Reads LOOK_PARAMS (`triangles`) or LOOK_CAMERA_PARAMS. A camera that cannot be used is said as a mistake of
 * the user. [instance] */
void look_read(look *l, ds_param_reader *in, int triangles);
/* The same without cameras. */
void look_read_pictures(look *l, ds_param_reader *in, int triangles);
/* Three numbers for each camera, whose number it sets; NULL after a failure. */
const double *look_read_orbits(look *l, ds_param_reader *in);
/* Puts camera i at this distance (m), elevation and azimuth (degrees) from the origin. 0, or 1 and a line
 * that says why it cannot be used. */
int look_place(look *l, uint32_t i, const double orbit[3], char text[RENDER_TEXT]);

#endif
