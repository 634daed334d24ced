/* SPDX-License-Identifier: Apache-2.0 */
/* render_geometry.c - turns the bodies of a scene into balls and triangles in scaled world coordinates. */
#include "config.h"

#include "render/render_internal.h"

#include <stdlib.h>
#include <string.h>

/* Three-quarter view from the front (+z), right and above; in radians. */
#define AZIMUTH 0.55f

/* Nothing farther than this (in diagonals of the box) is drawn. */
#define FAR_AWAY 50.0

/* Particles of a body that is drawn as one piece. */
#define DENSE 150

/* As many of them look smooth. */
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

/* Three quarters from above; a flat target, such as a slab with strokes in it, is told by its upper side. */
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
    /* A floor far below or above what is worth seeing is not drawn. */
    r.has_ground = isfinite(ground) && fabs(ground) < 2;
    r.ground = r.has_ground ? (float)ground : 0;
    r.azimuth = AZIMUTH;
    r.elevation = elevation_for(s);
    r.zoom = 1;
    r.around = 0;
    return r;
}

/* Scaled position; returns 0 where it is not finite or too far away to be drawn. */
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

/* Particles without a radius get one with which they would fill the box of their positions. */
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

/* Dense particles are drawn larger than they are, so that no light falls between them; the fewer they are,
 * the fewer layers of them there are to close a gap. */
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
            ds_geometry_push_ball(g, p, radius, surface);
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
            ds_shape_tube(g, a, b, radius, surface, detail);
            ds_geometry_push_ball(g, a, radius, surface);
            ds_geometry_push_ball(g, b, radius, surface);
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
                ds_geometry_push_triangle(g, &t);
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
                ds_geometry_push_ball(g, o.origin, a, surface);
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
    enum { MOST = 4 /* of more bodies the ways would hide the scene */ };
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
                ds_shape_tube(g, from, to, 0.0018f, DS_SURFACE_FIRST + (uint32_t)b, 6);
                ds_geometry_push_ball(g, to, 0.0018f, DS_SURFACE_FIRST + (uint32_t)b);
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
