/* SPDX-License-Identifier: Apache-2.0 */
/* render_geometry.c - converts the bodies of a scene to balls and triangles in scaled world coordinates. */
#include "config.h"

#include "render/render_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- list of primitives ---- */

void ds_geometry_free(ds_geometry *g)
{
    free(g->ball);
    free(g->triangle);
    memset(g, 0, sizeof *g);
}

static void geometry_push_ball(ds_geometry *g, vec3 center, float radius, uint32_t surface)
{
    if (g->balls == g->ball_room) {
        size_t room = g->ball_room == 0 ? 1024 : g->ball_room * 2;
        ds_ball *more = realloc(g->ball, room * sizeof *more);
        if (more == NULL) {
            g->failed = 1;
            return;
        }
        g->ball = more;
        g->ball_room = room;
    }
    ds_ball b = {center, radius, surface};
    g->ball[g->balls++] = b;
}

static void geometry_push_triangle(ds_geometry *g, const ds_triangle *t)
{
    if (g->triangles == g->triangle_room) {
        size_t room = g->triangle_room == 0 ? 1024 : g->triangle_room * 2;
        ds_triangle *more = realloc(g->triangle, room * sizeof *more);
        if (more == NULL) {
            g->failed = 1;
            return;
        }
        g->triangle = more;
        g->triangle_room = room;
    }
    g->triangle[g->triangles++] = *t;
}

/* ---- rigid shapes as triangles with smooth normals ---- */

#define PI 3.14159265358979f

/* A point and a normal in body axes. */
typedef struct corner {
    vec3 p;
    vec3 n;
} corner;

static vec3 turn(const ds_rigid *o, vec3 v)
{
    return v3_add(v3_add(v3_scale(o->axis[0], v.x), v3_scale(o->axis[1], v.y)), v3_scale(o->axis[2], v.z));
}

static void quad(ds_geometry *g, const ds_rigid *o, const corner *a, const corner *b, const corner *c,
                 const corner *d)
{
    const corner *order[2][3] = {{a, b, c}, {a, c, d}};
    for (int t = 0; t < 2; t++) {
        ds_triangle tri;
        tri.surface = o->surface;
        for (int k = 0; k < 3; k++) {
            tri.p[k] = v3_add(o->origin, turn(o, order[t][k]->p));
            tri.n[k] = turn(o, order[t][k]->n);
        }
        geometry_push_triangle(g, &tri);
    }
}

/* A surface of revolution about body axis y between two rings, each with radius, height and normal (outward,
 * up). */
static void band(ds_geometry *g, const ds_rigid *o, float r0, float y0, float nr0, float ny0, float r1,
                 float y1, float nr1, float ny1)
{
    for (int i = 0; i < o->detail; i++) {
        float a0 = 2 * PI * (float)i / (float)o->detail;
        float a1 = 2 * PI * (float)(i + 1) / (float)o->detail;
        float c0 = cosf(a0);
        float s0 = sinf(a0);
        float c1 = cosf(a1);
        float s1 = sinf(a1);
        corner q[4] = {
            {v3(r0 * c0, y0, r0 * s0), v3(nr0 * c0, ny0, nr0 * s0)},
            {v3(r0 * c1, y0, r0 * s1), v3(nr0 * c1, ny0, nr0 * s1)},
            {v3(r1 * c1, y1, r1 * s1), v3(nr1 * c1, ny1, nr1 * s1)},
            {v3(r1 * c0, y1, r1 * s0), v3(nr1 * c0, ny1, nr1 * s0)},
        };
        quad(g, o, &q[0], &q[1], &q[2], &q[3]);
    }
}

/* Part of a sphere centred at (0, y, 0) between two latitudes. */
static void cap(ds_geometry *g, const ds_rigid *o, float radius, float y, float from, float to)
{
    int rings = o->detail / 4 + 1;
    for (int i = 0; i < rings; i++) {
        float a = from + (to - from) * (float)i / (float)rings;
        float b = from + (to - from) * (float)(i + 1) / (float)rings;
        band(g, o, radius * cosf(a), y + radius * sinf(a), cosf(a), sinf(a), radius * cosf(b),
             y + radius * sinf(b), cosf(b), sinf(b));
    }
}

void ds_shape_sphere(ds_geometry *g, const ds_rigid *o, float radius)
{
    cap(g, o, radius, 0, -PI / 2, 0);
    cap(g, o, radius, 0, 0, PI / 2);
}

void ds_shape_capsule(ds_geometry *g, const ds_rigid *o, float radius, float length)
{
    cap(g, o, radius, -length / 2, -PI / 2, 0);
    band(g, o, radius, -length / 2, 1, 0, radius, length / 2, 1, 0);
    cap(g, o, radius, length / 2, 0, PI / 2);
}

void ds_shape_cylinder(ds_geometry *g, const ds_rigid *o, float radius, float height)
{
    band(g, o, 0, -height / 2, 0, -1, radius, -height / 2, 0, -1);
    band(g, o, radius, -height / 2, 1, 0, radius, height / 2, 1, 0);
    band(g, o, radius, height / 2, 0, 1, 0, height / 2, 0, 1);
}

void ds_shape_torus(ds_geometry *g, const ds_rigid *o, float major, float minor)
{
    int rings = o->detail / 2;
    for (int i = 0; i < rings; i++) {
        float a = 2 * PI * (float)i / (float)rings;
        float b = 2 * PI * (float)(i + 1) / (float)rings;
        band(g, o, major + minor * cosf(a), minor * sinf(a), cosf(a), sinf(a), major + minor * cosf(b),
             minor * sinf(b), cosf(b), sinf(b));
    }
}

void ds_shape_box(ds_geometry *g, const ds_rigid *o, const float half[3])
{
    for (int axis = 0; axis < 3; axis++) {
        int u = (axis + 1) % 3;
        int v = (axis + 2) % 3;
        for (int side = -1; side <= 1; side += 2) {
            corner q[4];
            for (int k = 0; k < 4; k++) {
                float p[3] = {0, 0, 0};
                float n[3] = {0, 0, 0};
                p[axis] = (float)side * half[axis];
                p[u] = (k == 0 || k == 3 ? -1.0f : 1.0f) * half[u];
                p[v] = (k < 2 ? -1.0f : 1.0f) * half[v];
                n[axis] = (float)side;
                q[k].p = v3(p[0], p[1], p[2]);
                q[k].n = v3(n[0], n[1], n[2]);
            }
            quad(g, o, &q[0], &q[1], &q[2], &q[3]);
        }
    }
}

/* An open tube between two points. */
static void shape_tube(ds_geometry *g, vec3 from, vec3 to, float radius, uint32_t surface, int detail)
{
    vec3 along = v3_sub(to, from);
    float length = sqrtf(v3_dot(along, along));
    if (!(length > 0)) {
        return;
    }
    ds_rigid o;
    o.axis[1] = v3_scale(along, 1 / length);
    /* Any direction that is not nearly parallel completes the axes. */
    vec3 helper = fabsf(o.axis[1].y) < 0.9f ? v3(0, 1, 0) : v3(1, 0, 0);
    o.axis[0] = v3_unit(v3_cross(helper, o.axis[1]));
    o.axis[2] = v3_cross(o.axis[0], o.axis[1]);
    o.origin = v3_scale(v3_add(from, to), 0.5f);
    o.surface = surface;
    o.detail = detail;
    band(g, &o, radius, -length / 2, 1, 0, radius, length / 2, 1, 0);
}

/* ---- frame of reference and bodies ---- */

/* Three-quarter view from the front (+z), right and above; in radians. */
#define AZIMUTH 0.55f

/* Distance in box diagonals beyond which nothing is drawn. */
#define FAR_AWAY 50.0

/* From this number of particles on a body is drawn as one piece. */
#define DENSE 150

/* From this number on the surface looks smooth. */
#define FINE 4000

/* Height of a cloud of particles over its width. */
static double steepness(const ds_snapshot_body *body)
{
    double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
    for (uint64_t i = 0; i < body->count; i++) {
        for (int k = 0; k < 3; k++) {
            double v = body->data[3 * i + (uint64_t)k];
            low[k] = v < low[k] ? v : low[k];
            high[k] = v > high[k] ? v : high[k];
        }
    }
    double wide = fmax(high[0] - low[0], high[2] - low[2]);
    return wide > 0 ? (high[1] - low[1]) / wide : 1;
}

/* From above; steeper for a flat target, such as a slab with strokes in it, whose upper side matters. */
static float elevation_for(const ds_snapshot *s)
{
    double flattest = 1;
    for (uint64_t b = 0; b < s->bodies; b++) {
        if (s->body[b].role == DS_ROLE_TARGET && s->body[b].shape == DS_BODY_POINTS &&
            s->body[b].count >= 200) {
            flattest = fmin(flattest, steepness(&s->body[b]));
        }
    }
    return flattest < 0.5 ? 0.9f : 0.5f;
}

void ds_geometry_turn(ds_frame_of_reference *r, double azimuth, double elevation)
{
    /* the image keeps an upward direction */
    static const double rad = 3.14159265358979 / 180, steepest = 89.5;
    r->azimuth = (float)(azimuth * rad);
    r->elevation = (float)(fmax(-steepest, fmin(steepest, elevation)) * rad);
}

ds_frame_of_reference ds_geometry_reference(const ds_snapshot *s)
{
    ds_frame_of_reference r;
    double sum = 0;
    double largest = 0;
    for (int k = 0; k < 3; k++) {
        double d = s->box[3 + k] - s->box[k];
        r.center[k] = s->box[k] + d / 2;
        largest = fmax(largest, d);
    }
    for (int k = 0; k < 3; k++) {
        double d = (s->box[3 + k] - s->box[k]) / largest;
        sum += d * d;
    }
    r.scale = 1 / (largest * sqrt(sum));
    float half[3];
    for (int k = 0; k < 3; k++) {
        half[k] = (float)((s->box[3 + k] - s->box[k]) * r.scale / 2);
    }
    r.low = v3(-half[0], -half[1], -half[2]);
    r.high = v3(half[0], half[1], half[2]);
    double ground = (s->ground - r.center[1]) * r.scale;
    /* A floor far below or above the scene is not drawn. */
    r.has_ground = isfinite(ground) && fabs(ground) < 2;
    r.ground = r.has_ground ? (float)ground : 0;
    r.azimuth = AZIMUTH;
    r.elevation = s->camera ? 0 : elevation_for(s);
    if (s->camera) {
        ds_geometry_turn(&r, s->azimuth, s->elevation);
    }
    r.zoom = 1;
    r.around = 0;
    return r;
}

/* Scales a position; returns 0 if it is not finite or too far away to be drawn. */
static int scaled(const ds_frame_of_reference *r, const double *p, vec3 *out)
{
    double q[3];
    for (int k = 0; k < 3; k++) {
        q[k] = (p[k] - r->center[k]) * r->scale;
        if (!(fabs(q[k]) < FAR_AWAY)) {
            return 0;
        }
    }
    *out = v3((float)q[0], (float)q[1], (float)q[2]);
    return 1;
}

static float length(const ds_frame_of_reference *r, double v)
{
    return (float)fmin(v * r->scale, FAR_AWAY);
}

/* Particles without a radius get the radius with which they would fill the bounding box of their positions.
 */
static float particle_radius(const ds_snapshot_body *body, const ds_frame_of_reference *r, const double *data)
{
    if (body->size[0] > 0) {
        return length(r, body->size[0]);
    }
    vec3 low = v3(1e9f, 1e9f, 1e9f);
    vec3 high = v3(-1e9f, -1e9f, -1e9f);
    for (uint64_t i = 0; i < body->count; i++) {
        vec3 p;
        if (scaled(r, data + 3 * i, &p)) {
            low = v3(least(low.x, p.x), least(low.y, p.y), least(low.z, p.z));
            high = v3(most(high.x, p.x), most(high.y, p.y), most(high.z, p.z));
        }
    }
    vec3 d = v3(most(high.x - low.x, 0.01f), most(high.y - low.y, 0.01f), most(high.z - low.z, 0.01f));
    return least(0.03f, 0.55f * cbrtf(d.x * d.y * d.z / (float)body->count));
}

/* Dense particles are enlarged so that no light falls between them: more so if there are few, whose layers
 * leave gaps. */
static float drawn_radius(const ds_snapshot_body *body, const ds_frame_of_reference *r, const double *data)
{
    float radius = particle_radius(body, r, data) * (body->count >= FINE    ? 1.7f
                                                     : body->count >= DENSE ? 2.5f
                                                                            : 1.0f);
    return most(radius, 0.0006f);
}

float ds_geometry_point_radius(const ds_snapshot *s, const ds_frame_of_reference *r, uint64_t k, uint64_t b)
{
    return drawn_radius(&s->body[b], r, ds_snapshot_at(s, k, b));
}

float ds_geometry_dense_radius(const ds_snapshot *s, const ds_frame_of_reference *r, uint64_t k, uint64_t b)
{
    const ds_snapshot_body *body = &s->body[b];
    return body->shape != DS_BODY_POINTS || body->count < DENSE ? 0 : ds_geometry_point_radius(s, r, k, b);
}

static void add_points(ds_geometry *g, const ds_snapshot_body *body, const ds_frame_of_reference *r,
                       const double *data, uint32_t surface)
{
    float radius = drawn_radius(body, r, data);
    for (uint64_t i = 0; i < body->count; i++) {
        vec3 p;
        if (scaled(r, data + 3 * i, &p)) {
            geometry_push_ball(g, p, radius, surface);
        }
    }
}

static void add_lines(ds_geometry *g, const ds_snapshot_body *body, const ds_frame_of_reference *r,
                      const double *data, uint32_t surface)
{
    float radius = most(length(r, body->size[0]) / 2, 0.0015f);
    int detail = body->index_count > 20000 ? 5 : 10;
    for (uint64_t i = 0; i + 1 < body->index_count; i += 2) {
        vec3 a, b;
        if (scaled(r, data + 3 * (uint64_t)body->index[i], &a) &&
            scaled(r, data + 3 * (uint64_t)body->index[i + 1], &b)) {
            shape_tube(g, a, b, radius, surface, detail);
            geometry_push_ball(g, a, radius, surface);
            geometry_push_ball(g, b, radius, surface);
        }
    }
}

/* Smooth normals, except at edges sharper than about 50 degrees. */
static void add_mesh(ds_geometry *g, const ds_snapshot_body *body, const ds_frame_of_reference *r,
                     const double *data, uint32_t surface)
{
    vec3 *p = malloc((size_t)body->count * sizeof *p);
    vec3 *n = calloc((size_t)body->count, sizeof *n);
    char *good = malloc((size_t)body->count);
    if (p == NULL || n == NULL || good == NULL) {
        g->failed = 1;
    } else {
        for (uint64_t i = 0; i < body->count; i++) {
            good[i] = (char)scaled(r, data + 3 * i, &p[i]);
        }
        for (int pass = 0; pass < 2; pass++) {
            for (uint64_t i = 0; i + 2 < body->index_count; i += 3) {
                const uint32_t *c = body->index + i;
                if (!good[c[0]] || !good[c[1]] || !good[c[2]]) {
                    continue;
                }
                vec3 face = v3_cross(v3_sub(p[c[1]], p[c[0]]), v3_sub(p[c[2]], p[c[0]]));
                if (pass == 0) {
                    /* The length of the cross product weights by area. */
                    for (int k = 0; k < 3; k++) {
                        n[c[k]] = v3_add(n[c[k]], face);
                    }
                    continue;
                }
                face = v3_unit(face);
                ds_triangle t = {{p[c[0]], p[c[1]], p[c[2]]}, {face, face, face}, surface};
                for (int k = 0; k < 3; k++) {
                    vec3 smooth = v3_unit(n[c[k]]);
                    if (v3_dot(smooth, face) > 0.64f) {
                        t.n[k] = smooth;
                    }
                }
                geometry_push_triangle(g, &t);
            }
        }
    }
    free(p);
    free(n);
    free(good);
}

int ds_axes_from_quaternion(const double q[4], vec3 axis[3])
{
    double n = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    if (!(n > 1e-12) || !isfinite(n)) {
        return 0;
    }
    double s = 2 / n;
    double w = q[0];
    double x = q[1];
    double y = q[2];
    double z = q[3];
    axis[0] =
        v3((float)(1 - s * (y * y + z * z)), (float)(s * (x * y + w * z)), (float)(s * (x * z - w * y)));
    axis[1] =
        v3((float)(s * (x * y - w * z)), (float)(1 - s * (x * x + z * z)), (float)(s * (y * z + w * x)));
    axis[2] =
        v3((float)(s * (x * z + w * y)), (float)(s * (y * z - w * x)), (float)(1 - s * (x * x + y * y)));
    return 1;
}

static void add_rigid(ds_geometry *g, const ds_snapshot_body *body, const ds_frame_of_reference *r,
                      const double *data, uint32_t surface)
{
    int detail = body->count > 1000 ? 12 : body->count > 50 ? 24 : 96;
    float a = most(length(r, body->size[0]), 0.0006f);
    float b = length(r, body->size[1]);
    float half[3] = {a, most(b, 0.0006f), most(length(r, body->size[2]), 0.0006f)};
    for (uint64_t i = 0; i < body->count; i++) {
        ds_rigid o = {.surface = surface, .detail = detail};
        const double *pose = data + 7 * i;
        if (!scaled(r, pose, &o.origin) || !ds_axes_from_quaternion(pose + 3, o.axis)) {
            continue;
        }
        switch (body->shape) {
        case DS_BODY_SPHERE:
            if (a < 0.02f || body->count > 200) {
                geometry_push_ball(g, o.origin, a, surface);
            } else {
                ds_shape_sphere(g, &o, a);
            }
            break;
        case DS_BODY_CAPSULE:
            ds_shape_capsule(g, &o, a, b);
            break;
        case DS_BODY_CYLINDER:
            ds_shape_cylinder(g, &o, a, b);
            break;
        case DS_BODY_TORUS:
            ds_shape_torus(g, &o, a, b);
            break;
        default:
            ds_shape_box(g, &o, half);
            break;
        }
    }
}

void ds_geometry_add_trace(ds_geometry *g, const ds_snapshot *s, const ds_frame_of_reference *r, uint64_t k,
                           uint64_t b)
{
    enum { MOST = 4 /* trajectories of more bodies would hide the scene */ };
    const ds_snapshot_body *body = &s->body[b];
    if (s->kept <= 3 || body->width != 7 || body->count > MOST || body->role == DS_ROLE_TARGET ||
        body->role == DS_ROLE_FIXED) {
        return;
    }
    for (uint64_t i = 0; i < body->count; i++) {
        for (uint64_t t = 1; t <= k; t++) {
            vec3 from, to;
            if (scaled(r, ds_snapshot_at(s, t - 1, b) + 7 * i, &from) &&
                scaled(r, ds_snapshot_at(s, t, b) + 7 * i, &to)) {
                shape_tube(g, from, to, 0.0018f, DS_SURFACE_FIRST + (uint32_t)b, 6);
                geometry_push_ball(g, to, 0.0018f, DS_SURFACE_FIRST + (uint32_t)b);
            }
        }
    }
}

void ds_geometry_add(ds_geometry *g, const ds_snapshot *s, const ds_frame_of_reference *r, uint64_t k,
                     uint64_t b)
{
    const ds_snapshot_body *body = &s->body[b];
    const double *data = ds_snapshot_at(s, k, b);
    uint32_t surface = DS_SURFACE_FIRST + (uint32_t)b;
    switch (body->shape) {
    case DS_BODY_POINTS:
        add_points(g, body, r, data, surface);
        break;
    case DS_BODY_MESH:
        add_mesh(g, body, r, data, surface);
        break;
    case DS_BODY_LINES:
        add_lines(g, body, r, data, surface);
        break;
    default:
        add_rigid(g, body, r, data, surface);
        break;
    }
}
