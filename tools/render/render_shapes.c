/* SPDX-License-Identifier: Apache-2.0 */
/* render_shapes.c - the rigid shapes of the scene extension as triangles with smooth normals. */
#include "config.h"

#include "render/render_internal.h"

#define PI 3.14159265358979f

/* A point and a normal given in body axes. */
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
        ds_geometry_push_triangle(g, &tri);
    }
}

/* A surface of revolution about body y between two rings: radius, height and normal (outward, up) of each. */
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

/* Part of a sphere about (0, y, 0) between two latitudes. */
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

void ds_shape_tube(ds_geometry *g, vec3 from, vec3 to, float radius, uint32_t surface, int detail)
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
