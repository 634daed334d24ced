/* SPDX-License-Identifier: Apache-2.0 */
/* render_internal.h - the parts of the renderer: scene -> primitives -> surface per pixel -> light and
 * colour.
 *
 * Primitives are in scaled world coordinates: the box of the scene is centred at the origin and its diagonal
 * is 1. So float is precise enough, and all lengths of the lighting (shadow softness, occlusion radius) are
 * constants. */
#ifndef DS_RENDER_RENDER_INTERNAL_H
#define DS_RENDER_RENDER_INTERNAL_H

#include "snapshot/snapshot.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* Unlike fminf() and fmaxf() without the costly treatment of NaN and signed zeros: positions here are finite.
 */
static inline float least(float a, float b)
{
    return a < b ? a : b;
}

static inline float most(float a, float b)
{
    return a > b ? a : b;
}

typedef struct vec3 {
    float x, y, z;
} vec3;

static inline vec3 v3(float x, float y, float z)
{
    vec3 r = {x, y, z};
    return r;
}

static inline vec3 v3_add(vec3 a, vec3 b)
{
    return v3(a.x + b.x, a.y + b.y, a.z + b.z);
}

static inline vec3 v3_sub(vec3 a, vec3 b)
{
    return v3(a.x - b.x, a.y - b.y, a.z - b.z);
}

static inline vec3 v3_scale(vec3 a, float s)
{
    return v3(a.x * s, a.y * s, a.z * s);
}

static inline float v3_dot(vec3 a, vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline vec3 v3_cross(vec3 a, vec3 b)
{
    return v3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

/* The zero vector is returned unchanged. */
static inline vec3 v3_unit(vec3 a)
{
    float n = sqrtf(v3_dot(a, a));
    return n > 0 ? v3_scale(a, 1 / n) : a;
}

/* ---- primitives (render_geometry.c) ---- */

enum { DS_SURFACE_NONE = 0, DS_SURFACE_GROUND = 1, DS_SURFACE_FIRST = 2 /* + number of the body */ };

typedef struct ds_ball {
    vec3 center;
    float radius;
    uint32_t surface;
} ds_ball;

typedef struct ds_triangle {
    vec3 p[3];
    vec3 n[3]; /* unit normals at the corners, outward if the body has an outside */
    uint32_t surface;
} ds_triangle;

typedef struct ds_geometry {
    ds_ball *ball;
    size_t balls, ball_room;
    ds_triangle *triangle;
    size_t triangles, triangle_room;
    int failed; /* memory ran out */
} ds_geometry;

void ds_geometry_free(ds_geometry *g);

/* ---- bodies as primitives (render_geometry.c) ---- */

/* Scaled world coordinates of a scene. */
typedef struct ds_frame_of_reference {
    double center[3];
    double scale;
    vec3 low, high; /* the box */
    int has_ground;
    float ground;
    /* of the camera, rad: the scene's own, else flat shapes are seen from a higher elevation */
    float azimuth, elevation;
    float zoom;
    int around; /* the box fits into the image from all sides */
} ds_frame_of_reference;

ds_frame_of_reference ds_geometry_reference(const ds_snapshot *s);

/* Sets the angles of the camera, degrees. */
void ds_geometry_turn(ds_frame_of_reference *r, double azimuth, double elevation);

/* The drawn radius (scaled) of a body with so many particles that it is drawn as one piece; else 0. */
float ds_geometry_dense_radius(const ds_snapshot *s, const ds_frame_of_reference *r, uint64_t k, uint64_t b);

/* The drawn radius (scaled) of a body of points. */
float ds_geometry_point_radius(const ds_snapshot *s, const ds_frame_of_reference *r, uint64_t k, uint64_t b);

/* Appends body b in kept frame k. */
void ds_geometry_add(ds_geometry *g, const ds_snapshot *s, const ds_frame_of_reference *r, uint64_t k,
                     uint64_t b);

/* Appends the trajectory of a rigid body through the kept frames up to k, if it moves and there are more than
 * three. */
void ds_geometry_add_trace(ds_geometry *g, const ds_snapshot *s, const ds_frame_of_reference *r, uint64_t k,
                           uint64_t b);

/* Body axes in the world from a quaternion w x y z of any length; returns 0 for the zero quaternion. */
int ds_axes_from_quaternion(const double q[4], vec3 axis[3]);

/* A rigid element: origin and axes in the world; lengths are scaled. */
typedef struct ds_rigid {
    vec3 origin;
    vec3 axis[3];
    uint32_t surface;
    int detail; /* segments of a full turn */
} ds_rigid;

void ds_shape_sphere(ds_geometry *g, const ds_rigid *o, float radius);
void ds_shape_capsule(ds_geometry *g, const ds_rigid *o, float radius, float length);
void ds_shape_cylinder(ds_geometry *g, const ds_rigid *o, float radius, float height);
void ds_shape_torus(ds_geometry *g, const ds_rigid *o, float major, float minor);
void ds_shape_box(ds_geometry *g, const ds_rigid *o, const float half[3]);

/* ---- pixels (render_raster.c) ---- */

/* A camera (perspective) or a light (parallel). View coordinates: x right, y up, z away from the eye. */
typedef struct ds_view {
    vec3 eye, right, up, forward;
    float focal; /* pixels per unit at z = 1 (camera) or per unit (light) */
    float cx, cy;
    int parallel;
    int width, height;
} ds_view;

/* What one pixel shows. */
typedef struct ds_pixel {
    float z;          /* view coordinate, or INFINITY */
    int16_t n[3];     /* normal in view coordinates x 32767, towards the eye */
    uint16_t surface; /* DS_SURFACE_* */
} ds_pixel;

ds_view ds_view_camera(const ds_frame_of_reference *r, int width, int height);
ds_view ds_view_light(vec3 towards_light, float radius, int size);

static inline vec3 ds_view_to(const ds_view *v, vec3 p)
{
    vec3 d = v3_sub(p, v->eye);
    return v3(v3_dot(d, v->right), v3_dot(d, v->up), v3_dot(d, v->forward));
}

/* Clears pixels, and draws primitives into them (the nearest wins). */
void ds_raster_clear(ds_pixel *pixels, const ds_view *v);
void ds_raster_geometry(ds_pixel *pixels, const ds_view *v, const ds_geometry *g);
void ds_raster_ground(ds_pixel *pixels, const ds_view *v, float ground, float radius);

/* Makes the particles of a surface with radius[surface] > 0 (as drawn) look like one body. Returns 0 or
 * DS_EXIT_MEMORY. */
int ds_smooth_points(ds_pixel *pixels, const ds_view *v, const float *radius, size_t surfaces);

/* ---- light (render_raster.c) ---- */

typedef struct ds_material {
    float r, g, b; /* linear */
    float gloss;   /* strength of the highlight, 0..1 */
} ds_material;

/* Samples per sub-pixel. The sub-pixels of a pixel use different ones, so their average sees four times more.
 */
enum { DS_SUB_PIXELS = 4, DS_SHADOW_TAPS = 7, DS_NEAR_TAPS = 4, DS_WIDE_TAPS = 6 };

typedef struct ds_shading {
    const ds_view *camera;
    const ds_pixel *pixels;
    const ds_view *light;
    const ds_pixel *shadow; /* the scene as seen from the light */
    vec3 towards_light;
    const ds_material *material; /* by surface number */
    vec3 background;             /* linear */
    int dark;                    /* Is it dark? Then the floor is lighter than it. */
    float ground_radius;
    float grid; /* spacing of the floor's grid */
    vec3 grid_origin;
    /* Filled by ds_shade_prepare(). */
    float shadow_tap[DS_SUB_PIXELS][DS_SHADOW_TAPS][2]; /* pixels of the light's view */
    vec3 near_tap[DS_SUB_PIXELS][DS_NEAR_TAPS];
    vec3 wide_tap[DS_SUB_PIXELS][DS_WIDE_TAPS];
} ds_shading;

/* To be called after the other fields are set. */
void ds_shade_prepare(ds_shading *s);

/* Colour (linear) of pixel x, y. */
vec3 ds_shade(const ds_shading *s, int x, int y);

float ds_linear_from_srgb(uint32_t byte);
/* sRGB byte of a linear value, clamped. */
uint32_t ds_srgb_from_linear(float v);

#endif
