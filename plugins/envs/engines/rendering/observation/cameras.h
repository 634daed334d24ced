/* SPDX-License-Identifier: Apache-2.0 */
/* cameras.h - cameras, renderer and image settings of an environment, with the parameters that set them. */
#ifndef DS_ENGINES_OBSERVATION_CAMERAS_H
#define DS_ENGINES_OBSERVATION_CAMERAS_H

#include "engines/rendering/render/dibr.h"
#include "engines/rendering/render/softras.h"

#include <diffsim/helper/params.h>

enum { CAMERAS_MAX = 8 };

typedef enum cameras_renderer { CAMERAS_SOFTRAS = 0, CAMERAS_DIBR = 1 } cameras_renderer;
typedef enum cameras_shading { CAMERAS_LIGHT = 0, CAMERAS_COLOR = 1 } cameras_shading;

/* Numbers of the view that can change between episodes: the orbit of the first camera, as parameter `camera`
 * has it (m, degrees), the orbit of the light (degrees) and its shares. */
enum {
    VIEW_CAMERA,
    VIEW_LIGHT = VIEW_CAMERA + 3,
    VIEW_AMBIENT = VIEW_LIGHT + 2,
    VIEW_DIFFUSE,
    VIEW_SPECULAR,
    VIEW_SHINE,
    VIEW_NUMBERS
};

/* The settings. */
typedef struct cameras {
    softras_mode mode; /* also sets the channels of DIB-R images: 1 or 4 */
    cameras_renderer renderer;
    cameras_shading shading;
    uint32_t size; /* pixels per side */
    int antialias;
    double sigma_scale;
    const char *texture; /* PNG file mapped onto the surface, owned by the host; NULL: none */
    uint32_t threads, count;
    camera camera[CAMERAS_MAX];
    dibr_lighting lighting;
    double view[VIEW_NUMBERS]; /* what set camera 0 and the lighting */
} cameras;

extern const char *const cameras_modes[], *const cameras_renderers[], *const cameras_shadings[];

/* Image size and drawing threads. */
#define CAMERAS_SIZE_PARAM(size_)                                                                            \
    DS_INT("image_size", size_, RENDER_MIN_SIZE, 512, "", "Pixels per side of an image.")
#define CAMERAS_THREADS_PARAM                                                                                \
    DS_INT("image_threads", "1", 1, RENDER_MAX_THREADS, "",                                                  \
           "Threads that draw; results do not depend on their number.", .flags = DS_PARAM_ADVANCED)

/* Image size and cameras, with the environment's defaults, such as "64" and "8, 30, 0". */
#define CAMERAS_PLACE_PARAMS(size_, camera_)                                                                 \
    CAMERAS_SIZE_PARAM(size_),                                                                               \
        DS_LIST("camera", camera_, -1e4, 1e4, 3 * CAMERAS_MAX, "m, deg, deg",                                \
                "Distance from the origin, elevation and azimuth of the camera, which looks at the origin; " \
                "three more numbers for each further camera."),                                              \
        CAMERAS_THREADS_PARAM

/* For triangle meshes only. */
#define CAMERAS_MESH_PARAMS(mode_)                                                                           \
    DS_ENUM("obs", mode_, cameras_modes,                                                                     \
            "What is compared. alpha: silhouettes. over: colours in front of black, faded with alpha, "      \
            "and alpha. rgba: raw colours and alpha, as gradSim does; its jumps at the edges of "            \
            "colours are in no gradient."),                                                                  \
        DS_ENUM("renderer", "softras", cameras_renderers,                                                    \
                "softras: soft rasterization. dibr: faces by interpolation, with a soft silhouette on the "  \
                "background only; gradients ignore what is hidden by a face."),                              \
        DS_ENUM("shading", "light", cameras_shadings,                                                        \
                "light: light from one side and from everywhere (parameter light); softras lights faces, "   \
                "dibr interpolates normals as Phong does. color: colours alone."),                           \
        DS_LIST("light", "0.5, 0.5, 0, 20", 0, 1e3, 4, "",                                                   \
                "shading = light: shares of the light from everywhere, of the light from one side that is "  \
                "scattered, and of the one that is reflected (renderer = dibr), and the exponent of this "   \
                "reflection: larger ones make highlights smaller."),                                         \
        DS_LIST("light_from", "90, 0", -360, 360, 2, "deg",                                                  \
                "Elevation and azimuth of the light from one side; 90: from above."),                        \
        DS_PATH("texture", "",                                                                               \
                "PNG file that is mapped onto the surface and replaces its colours, for renderer = "         \
                "dibr. It fills the box around the body at rest, seen along the shortest side of the box. "  \
                "Empty: none."),                                                                             \
        DS_BOOL("antialias", "false", "Draws at twice the size and averages 2 x 2 pixels."),                 \
        DS_REAL("sigma_scale", "1", 1e-3, 1e6, "",                                                           \
                "Blur of the edges: 1 is 0.4 pixels wide; the square root of the scale counts.",             \
                .flags = DS_PARAM_LOG | DS_PARAM_ADVANCED)

/* For triangle meshes: all of them. */
#define CAMERAS_PARAMS(size_, camera_, mode_) CAMERAS_PLACE_PARAMS(size_, camera_), CAMERAS_MESH_PARAMS(mode_)

/* Reads CAMERAS_PARAMS (`triangles` set) or CAMERAS_PLACE_PARAMS. Reports an unusable camera as DS_E_PARAM.
 * [instance] */
void cameras_read(cameras *l, ds_param_reader *in, int triangles);
/* The same without the cameras. */
void cameras_read_images(cameras *l, ds_param_reader *in, int triangles);
/* Reads `camera`: sets `count` and returns three numbers for each camera; NULL after a failure. */
const double *cameras_read_orbits(cameras *l, ds_param_reader *in);
/* Puts camera i at this distance (m), elevation and azimuth (degrees) from the origin. Returns 0, or 1 and a
 * line that says why the camera is unusable. */
int cameras_place(cameras *l, uint32_t i, const double orbit[3], char text[RENDER_TEXT]);

/* Sets the view: camera 0, if it sees, and the light. Returns 0, or 1 for an unusable camera. */
int cameras_view(cameras *l, const double view[VIEW_NUMBERS]);
/* view_bar += the derivatives by the view, from those by camera 0 and the light. */
void cameras_view_adjoint(const cameras *l, const camera_pose *pose_bar, const dibr_lighting *lighting_bar,
                          double view_bar[VIEW_NUMBERS]);
/* Sets the change of camera 0 and the light along view_dot. */
void cameras_view_tangent(const cameras *l, const double view_dot[VIEW_NUMBERS], camera_pose *pose_dot,
                          dibr_lighting *lighting_dot);

#endif
