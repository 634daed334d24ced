/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_usd.c - USD as text (openusd.org, UsdGeom). Particles are Points, cloths and element meshes a
 * Mesh, lines BasisCurves, rigid shapes USD primitives below one Xform per copy. Moving bodies have one time
 * sample per frame, whose time code is the number of the frame. */
#include "config.h"

#include "exchange/exchange.h"
#include "exchange/series.h"
#include "render/render.h"
#include "render/render_internal.h"
#include "results/printer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Number of positions in a file above which frames are left out. */
#define MOST 2e6

/* ---- values ---- */

/* Writes a value of the attribute, or time samples if the body moves. */
typedef void put_value(ds_printer *p, const ds_surface *s, uint64_t element, const double *data);

/* Is the body at the same place in all frames that are written? */
static int rests(const ds_series *s, uint64_t b)
{
    const ds_snapshot_body *body = &s->scene->body[b];
    const size_t size = (size_t)(body->count * body->width) * sizeof(double);
    for (uint64_t i = 1; i < s->count; i++) {
        if (memcmp(ds_snapshot_at(s->scene, 0, b), ds_snapshot_at(s->scene, ds_series_frame(s, i), b),
                   size) != 0) {
            return 0;
        }
    }
    return 1;
}

static void put_samples(ds_printer *p, const ds_series *s, uint64_t b, uint64_t element, const char *indent,
                        const char *attribute, put_value *put)
{
    if (rests(s, b)) {
        ds_print(p, "%s%s = ", indent, attribute);
        put(p, &s->surface[b], element, ds_snapshot_at(s->scene, 0, b));
        ds_print(p, "\n");
        return;
    }
    ds_print(p, "%s%s.timeSamples = {\n", indent, attribute);
    for (uint64_t i = 0; i < s->count; i++) {
        const uint64_t k = ds_series_frame(s, i);
        ds_print(p, "%s    %" PRIu64 ": ", indent, s->scene->frame[k]);
        put(p, &s->surface[b], element, ds_snapshot_at(s->scene, k, b));
        ds_print(p, ",\n");
    }
    ds_print(p, "%s}\n", indent);
}

/* USD positions are floats: nine digits would preserve their bits, seven preserve them to half a step. */
static void put_point(ds_printer *p, const double *v)
{
    ds_print(p, "(%.7g, %.7g, %.7g)", v[0], v[1], v[2]);
}

static void put_points(ds_printer *p, const ds_surface *s, uint64_t element, const double *data)
{
    (void)element;
    ds_print(p, "[");
    for (uint64_t i = 0; i < s->body->count; i++) {
        ds_print(p, i > 0 ? ", " : "");
        put_point(p, data + 3 * i);
    }
    ds_print(p, "]");
}

/* The ends of all segments, as curves of two points each. */
static void put_ends(ds_printer *p, const ds_surface *s, uint64_t element, const double *data)
{
    (void)element;
    ds_print(p, "[");
    for (uint64_t i = 0; i < 2 * s->cells; i++) {
        ds_print(p, i > 0 ? ", " : "");
        put_point(p, data + 3 * (uint64_t)s->index[i]);
    }
    ds_print(p, "]");
}

static void put_place(ds_printer *p, const ds_surface *s, uint64_t element, const double *data)
{
    const double *pose = data + 7 * element;
    (void)s;
    ds_print(p, "(%.15g, %.15g, %.15g)", pose[0], pose[1], pose[2]);
}

/* A quaternion and its negative are the same rotation; the one with w >= 0 is written. */
static void put_turn(ds_printer *p, const ds_surface *s, uint64_t element, const double *data)
{
    const double *q = data + 7 * element + 3;
    const double n = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    const double f = n > 0 ? copysign(1 / n, q[0]) : 0;
    (void)s;
    ds_print(p, "(%.9g, %.9g, %.9g, %.9g)", n > 0 ? q[0] * f : 1, q[1] * f, q[2] * f, q[3] * f);
}

static void put_index(ds_printer *p, const char *indent, const char *attribute, const uint32_t *index,
                      uint64_t n)
{
    ds_print(p, "%s%s = [", indent, attribute);
    for (uint64_t i = 0; i < n; i++) {
        ds_print(p, i > 0 ? ", %" PRIu32 : "%" PRIu32, index[i]);
    }
    ds_print(p, "]\n");
}

static void put_counts(ds_printer *p, const char *indent, const char *attribute, uint32_t each, uint64_t n)
{
    ds_print(p, "%s%s = [", indent, attribute);
    for (uint64_t i = 0; i < n; i++) {
        ds_print(p, i > 0 ? ", %" PRIu32 : "%" PRIu32, each);
    }
    ds_print(p, "]\n");
}

/* ---- bodies ---- */

static void put_look(ds_printer *p, const ds_snapshot_body *body, const char *indent)
{
    const uint32_t rgb = ds_render_color(body->role, body->variety);
    const double clear = body->shape == DS_BODY_POINTS ? fmin(0.95, body->size[1]) : 0;
    const double opacity = body->role == DS_ROLE_TARGET ? 0.4 : 1 - clear;
    ds_print(p, "%scolor3f[] primvars:displayColor = [(%.5f, %.5f, %.5f)]\n", indent,
             (double)ds_linear_from_srgb(rgb >> 16 & 255), (double)ds_linear_from_srgb(rgb >> 8 & 255),
             (double)ds_linear_from_srgb(rgb & 255));
    if (opacity < 1) {
        ds_print(p, "%sfloat[] primvars:displayOpacity = [%.3f]\n", indent, opacity);
    }
}

static void put_width(ds_printer *p, double width)
{
    if (width > 0) {
        ds_print(p,
                 "        float[] widths = [%.7g] (\n            interpolation = \"constant\"\n        )\n",
                 width);
    }
}

static void put_mesh(ds_printer *p, const ds_surface *s, const char *indent)
{
    put_counts(p, indent, "int[] faceVertexCounts", 3, s->cells);
    put_index(p, indent, "int[] faceVertexIndices", s->index, 3 * s->cells);
    ds_print(p, "%suniform token subdivisionScheme = \"none\"\n%suniform bool doubleSided = 1\n", indent,
             indent);
}

/* The shape in the axes of a copy. */
static void put_shape(ds_printer *p, const ds_surface *s)
{
    const double *size = s->body->size;
    static const char in[] = "                ";
    static const char *const type[] = {[DS_BODY_SPHERE] = "Sphere",
                                       [DS_BODY_CAPSULE] = "Capsule",
                                       [DS_BODY_CYLINDER] = "Cylinder",
                                       [DS_BODY_TORUS] = "Mesh",
                                       [DS_BODY_BOX] = "Cube"};
    ds_print(p, "            def %s \"shape\"\n            {\n", type[s->body->shape]);
    switch (s->body->shape) {
    case DS_BODY_SPHERE:
        ds_print(p, "%sdouble radius = %.9g\n", in, size[0]);
        ds_print(p, "%sfloat3[] extent = [(%.9g, %.9g, %.9g), (%.9g, %.9g, %.9g)]\n", in, -size[0], -size[0],
                 -size[0], size[0], size[0], size[0]);
        break;
    case DS_BODY_CAPSULE:
    case DS_BODY_CYLINDER: {
        const double half = size[1] / 2 + (s->body->shape == DS_BODY_CAPSULE ? size[0] : 0);
        ds_print(p, "%suniform token axis = \"Y\"\n%sdouble radius = %.9g\n%sdouble height = %.9g\n", in, in,
                 size[0], in, size[1]);
        ds_print(p, "%sfloat3[] extent = [(%.9g, %.9g, %.9g), (%.9g, %.9g, %.9g)]\n", in, -size[0], -half,
                 -size[0], size[0], half, size[0]);
        break;
    }
    case DS_BODY_BOX:
        ds_print(p,
                 "%sdouble size = 2\n%sfloat3 xformOp:scale = (%.9g, %.9g, %.9g)\n"
                 "%suniform token[] xformOpOrder = [\"xformOp:scale\"]\n",
                 in, in, size[0], size[1], size[2], in);
        break;
    default:
        /* USD has no torus. */
        ds_print(p, "%spoint3f[] points = [", in);
        for (uint64_t i = 0; i < s->model_vertices; i++) {
            ds_print(p, i > 0 ? ", " : "");
            put_point(p, s->model + 3 * i);
        }
        ds_print(p, "]\n");
        const ds_surface one = {.cells = s->cells / s->body->count, .index = s->index};
        put_mesh(p, &one, in);
        break;
    }
    put_look(p, s->body, in);
    ds_print(p, "            }\n");
}

static void put_rigid(ds_printer *p, const ds_series *s, uint64_t b)
{
    static const char in[] = "            ";
    ds_print(p, "    def Xform \"%s\"\n    {\n", s->scene->body[b].name);
    for (uint64_t i = 0; i < s->scene->body[b].count; i++) {
        ds_print(p, "        def Xform \"copy%" PRIu64 "\"\n        {\n", i);
        put_samples(p, s, b, i, in, "double3 xformOp:translate", put_place);
        put_samples(p, s, b, i, in, "quatf xformOp:orient", put_turn);
        ds_print(p, "%suniform token[] xformOpOrder = [\"xformOp:translate\", \"xformOp:orient\"]\n", in);
        put_shape(p, &s->surface[b]);
        ds_print(p, "        }\n");
    }
    ds_print(p, "    }\n");
}

static void put_body(ds_printer *p, const ds_series *s, uint64_t b)
{
    const ds_snapshot_body *body = &s->scene->body[b];
    static const char in[] = "        ";
    if (body->width == 7) {
        put_rigid(p, s, b);
        return;
    }
    ds_print(p, "    def %s \"%s\"\n    {\n",
             body->shape == DS_BODY_MESH    ? "Mesh"
             : body->shape == DS_BODY_LINES ? "BasisCurves"
                                            : "Points",
             body->name);
    if (body->shape == DS_BODY_MESH) {
        put_mesh(p, &s->surface[b], in);
    } else if (body->shape == DS_BODY_LINES) {
        ds_print(p, "%suniform token type = \"linear\"\n", in);
        put_counts(p, in, "int[] curveVertexCounts", 2, s->surface[b].cells);
        put_width(p, body->size[0]);
    } else {
        put_width(p, 2 * body->size[0]);
    }
    put_look(p, body, in);
    put_samples(p, s, b, 0, in, "point3f[] points", body->shape == DS_BODY_LINES ? put_ends : put_points);
    ds_print(p, "    }\n");
}

/* ---- file ---- */

/* A quoted text. */
static void put_quoted(ds_printer *p, const char *text)
{
    ds_print(p, "\"");
    for (; *text != '\0'; text++) {
        ds_print(p, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    }
    ds_print(p, "\"");
}

static void put_metric(ds_printer *p, const ds_series *s, const ds_snapshot_metric *metric)
{
    ds_print(p, "    custom double metrics:%s.timeSamples = {\n", metric->name);
    for (uint64_t i = 0; i < s->count; i++) {
        const uint64_t frame = s->scene->frame[ds_series_frame(s, i)];
        if (isfinite(metric->values[frame])) {
            ds_print(p, "        %" PRIu64 ": %.17g,\n", frame, metric->values[frame]);
        }
    }
    ds_print(p, "    }\n");
}

static void put_stage(ds_printer *p, const ds_series *s)
{
    const ds_snapshot *scene = s->scene;
    const double rate = scene->dt > 0 ? 1 / scene->dt : 24;
    ds_print(p, "#usda 1.0\n(\n    defaultPrim = \"episode\"\n    doc = ");
    put_quoted(p, s->episode->title);
    ds_print(p,
             "\n    metersPerUnit = 1\n    upAxis = \"Y\"\n    startTimeCode = %" PRIu64
             "\n    endTimeCode = %" PRIu64
             "\n    timeCodesPerSecond = %.9g\n    framesPerSecond = %.9g\n)\n\n"
             "def Xform \"episode\"\n{\n",
             scene->frame[0], scene->frame[ds_series_frame(s, s->count - 1)], rate, rate);
    for (uint64_t m = 0; m < scene->metrics; m++) {
        put_metric(p, s, &scene->metric[m]);
    }
    for (uint64_t b = 0; b < scene->bodies; b++) {
        put_body(p, s, b);
    }
    ds_print(p, "}\n");
}

/* Frame step with which the file stays readable for other programs. */
static uint64_t step_of(const ds_snapshot *scene)
{
    double positions = 0;
    for (uint64_t b = 0; b < scene->bodies; b++) {
        positions += scene->body[b].role == DS_ROLE_TARGET ? 0 : (double)scene->body[b].count;
    }
    return (uint64_t)fmax(1, ceil(positions * (double)scene->kept / MOST));
}

int ds_exchange_usda(const char *path, const ds_view_episodes *episodes, ds_error *e)
{
    ds_series s;
    ds_printer *p = NULL;
    const uint64_t every = episodes->options.every;
    int status = ds_series_open(&s, path, episodes, every > 0 ? every : step_of(episodes->item[0].scene), e);
    status = status != 0 ? status : ds_printer_open(path, &p, e);
    if (status == 0) {
        put_stage(p, &s);
        status = ds_printer_close(p, 0, e);
    }
    ds_series_close(&s);
    return status;
}
