/* SPDX-License-Identifier: Apache-2.0 */
/* series.c - surfaces, missing elements, and the frames and files of a sequence (see series.h). */
#include "config.h"

#include "exchange/series.h"

#include "base/log.h"
#include "base/text.h"
#include "render/render_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- surfaces, with the shapes of images ---- */

/* Corners of triangles that differ only by rounding become one. */
typedef struct place {
    long key[3];
    size_t corner;
} place;

static int by_key(const void *a, const void *b)
{
    const place *p = a, *q = b;
    for (int k = 0; k < 3; k++) {
        if (p->key[k] != q->key[k]) {
            return p->key[k] < q->key[k] ? -1 : 1;
        }
    }
    return (p->corner > q->corner) - (p->corner < q->corner);
}

static const vec3 *corner_of(const ds_geometry *g, size_t i)
{
    return &g->triangle[i / 3].p[i % 3];
}

/* Numbers the distinct corners in order of first occurrence, and drops triangles that became lines. */
static int weld(ds_surface *s, const ds_geometry *g, double size)
{
    const size_t n = 3 * g->triangles;
    place *p = malloc((n + 1) * sizeof *p);
    size_t *first = malloc((n + 1) * sizeof *first); /* per corner: the first one at its position */
    uint32_t *number = malloc((n + 1) * sizeof *number);
    s->model = malloc((3 * n + 1) * sizeof *s->model);
    s->index = malloc((n + 1) * sizeof *s->index);
    const int good = p != NULL && first != NULL && number != NULL && s->model != NULL && s->index != NULL;
    for (size_t i = 0; good && i < n; i++) {
        const vec3 *v = corner_of(g, i);
        const double grid = 1e-4 * size;
        p[i] = (place){
            {lround((double)v->x / grid), lround((double)v->y / grid), lround((double)v->z / grid)}, i};
    }
    if (good) {
        qsort(p, n, sizeof *p, by_key);
    }
    for (size_t i = 0; good && i < n; i++) {
        const int same = i > 0 && memcmp(p[i].key, p[i - 1].key, sizeof p[i].key) == 0;
        first[p[i].corner] = same ? first[p[i - 1].corner] : p[i].corner;
    }
    for (size_t i = 0; good && i < n; i++) {
        if (first[i] == i) {
            const vec3 *v = corner_of(g, i);
            double *to = s->model + 3 * s->model_vertices;
            to[0] = (double)v->x;
            to[1] = (double)v->y;
            to[2] = (double)v->z;
            number[i] = (uint32_t)s->model_vertices++;
        }
    }
    for (size_t t = 0; good && t < g->triangles; t++) {
        const uint32_t a = number[first[3 * t]], b = number[first[3 * t + 1]], c = number[first[3 * t + 2]];
        if (a != b && b != c && c != a) {
            uint32_t *to = s->index + 3 * s->cells++;
            /* The renderer lights both sides; here the normal defines the outside. */
            const vec3 *v = g->triangle[t].p;
            const vec3 face = v3_cross(v3_sub(v[1], v[0]), v3_sub(v[2], v[0]));
            const vec3 n0 = v3_add(v3_add(g->triangle[t].n[0], g->triangle[t].n[1]), g->triangle[t].n[2]);
            const int turned = v3_dot(face, n0) < 0;
            to[0] = a;
            to[1] = turned ? c : b;
            to[2] = turned ? b : c;
        }
    }
    free(p);
    free(first);
    free(number);
    return good;
}

/* One element in its own axes. */
static int model(ds_surface *s)
{
    const ds_snapshot_body *b = s->body;
    const int detail = b->count > 1000 ? 12 : b->count > 50 ? 24 : 96;
    const ds_rigid o = {.axis = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, .detail = detail};
    const float half[3] = {(float)b->size[0], (float)b->size[1], (float)b->size[2]};
    ds_geometry g = {0};
    switch (b->shape) {
    case DS_BODY_SPHERE:
        ds_shape_sphere(&g, &o, half[0]);
        break;
    case DS_BODY_CAPSULE:
        ds_shape_capsule(&g, &o, half[0], half[1]);
        break;
    case DS_BODY_CYLINDER:
        ds_shape_cylinder(&g, &o, half[0], half[1]);
        break;
    case DS_BODY_TORUS:
        ds_shape_torus(&g, &o, half[0], half[1]);
        break;
    default:
        ds_shape_box(&g, &o, half);
        break;
    }
    double size = 1e-30;
    for (int k = 0; k < 3; k++) {
        size = fmax(size, fabs(b->size[k]));
    }
    const int good = !g.failed && weld(s, &g, size);
    ds_geometry_free(&g);
    return good;
}

/* Repeats the cells of the first element for the others. */
static int repeat(ds_surface *s)
{
    const uint64_t n = s->body->count, one = 3 * s->cells;
    s->vertices = n * s->model_vertices;
    if (s->vertices > UINT32_MAX || (one > 0 && n > SIZE_MAX / sizeof *s->index / one)) {
        return 0;
    }
    uint32_t *index = realloc(s->index, (size_t)(n * one + 1) * sizeof *index);
    if (index == NULL) {
        return 0;
    }
    for (uint64_t i = one; i < n * one; i++) {
        index[i] = index[i - one] + (uint32_t)s->model_vertices;
    }
    s->index = index;
    s->cells *= n;
    return 1;
}

/* ---- all bodies ---- */

int ds_surface_make(const ds_snapshot_body *body, ds_surface *out, ds_error *e)
{
    *out = (ds_surface){.body = body, .vertices = body->count};
    int good;
    if (body->width == 7) {
        out->corners = 3;
        good = model(out) && repeat(out);
    } else {
        out->corners = body->shape == DS_BODY_MESH ? 3 : body->shape == DS_BODY_LINES ? 2 : 1;
        out->cells = out->corners == 1 ? body->count : body->index_count / out->corners;
        out->index = malloc((size_t)(out->cells * out->corners + 1) * sizeof *out->index);
        good = out->index != NULL && body->count <= UINT32_MAX;
        for (uint64_t i = 0; good && i < out->cells * out->corners; i++) {
            out->index[i] = out->corners == 1 ? (uint32_t)i : body->index[i];
        }
    }
    return good ? 0 : ds_no_memory(e);
}

void ds_surface_clear(ds_surface *s)
{
    free(s->index);
    free(s->model);
}

static int surfaces_make(const ds_snapshot *scene, ds_surface **out, ds_error *e)
{
    ds_surface *s = *out = calloc((size_t)scene->bodies + 1, sizeof *s);
    int status = s == NULL ? ds_no_memory(e) : 0;
    for (uint64_t b = 0; b < scene->bodies && status == 0; b++) {
        status = ds_surface_make(&scene->body[b], &s[b], e);
    }
    return status;
}

/* One surface per body of a scene. DS_EXIT_MEMORY on failure; free with surfaces_free() in any case. */
static void surfaces_free(const ds_snapshot *scene, ds_surface *s)
{
    for (uint64_t b = 0; s != NULL && b < scene->bodies; b++) {
        ds_surface_clear(&s[b]);
    }
    free(s);
}

uint64_t ds_surface_element(const ds_surface *s, uint64_t vertex)
{
    return s->model != NULL ? vertex / s->model_vertices : vertex;
}

/* v rotated by a unit quaternion w x y z: v + 2 q x (q x v + w v). */
static void turned(const double q[4], const double v[3], double out[3])
{
    const double n = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]), f = n > 0 ? 1 / n : 0;
    const double w = n > 0 ? q[0] * f : 1, x = q[1] * f, y = q[2] * f, z = q[3] * f;
    const double t[3] = {y * v[2] - z * v[1] + w * v[0], z * v[0] - x * v[2] + w * v[1],
                         x * v[1] - y * v[0] + w * v[2]};
    out[0] = v[0] + 2 * (y * t[2] - z * t[1]);
    out[1] = v[1] + 2 * (z * t[0] - x * t[2]);
    out[2] = v[2] + 2 * (x * t[1] - y * t[0]);
}

void ds_surface_place(const ds_surface *s, const double *data, double *xyz)
{
    if (s->model == NULL) {
        memcpy(xyz, data, (size_t)s->vertices * 3 * sizeof *xyz);
        return;
    }
    for (uint64_t i = 0; i < s->body->count; i++) {
        const double *pose = data + 7 * i;
        for (uint64_t v = 0; v < s->model_vertices; v++, xyz += 3) {
            turned(pose + 3, s->model + 3 * v, xyz);
            for (int k = 0; k < 3; k++) {
                xyz[k] += pose[k];
            }
        }
    }
}

/* ---- scenes without missing elements ---- */

static int is_there(const ds_snapshot_body *b, uint64_t i)
{
    int finite = 1;
    for (uint32_t k = 0; k < b->width; k++) {
        finite &= isfinite(b->data[i * b->width + k]) != 0;
    }
    return finite;
}

/* Keeps cells whose corners all exist, with their new numbers. */
static void cut_cells(const ds_snapshot_body *b, const uint32_t *number, uint32_t *index,
                      ds_snapshot_body *out)
{
    const uint64_t per = b->shape == DS_BODY_MESH ? 3 : 2;
    out->index = index;
    out->index_count = 0;
    for (uint64_t i = 0; i + per <= b->index_count; i += per) {
        int all = 1;
        for (uint64_t c = 0; c < per; c++) {
            all &= number[b->index[i + c]] != UINT32_MAX;
        }
        for (uint64_t c = 0; all && c < per; c++) {
            index[out->index_count++] = number[b->index[i + c]];
        }
    }
}

/* Copies body b, without its missing elements, to number `to`. Returns 0 without memory. */
static int cut_body(ds_present *p, uint64_t b, uint64_t to)
{
    const ds_snapshot_body *from = &p->from->body[b];
    ds_snapshot_body *out = &p->scene.body[to];
    uint32_t *number = malloc((size_t)from->count * sizeof *number);
    p->element[to] = malloc((size_t)from->count * sizeof **p->element);
    p->data[to] = malloc((size_t)(p->from->kept * from->count * from->width) * sizeof **p->data);
    p->index[to] = malloc((size_t)(from->index_count + 1) * sizeof **p->index);
    if (number == NULL || p->element[to] == NULL || p->data[to] == NULL || p->index[to] == NULL) {
        free(number);
        return 0;
    }
    uint64_t left = 0;
    for (uint64_t i = 0; i < from->count; i++) {
        number[i] = is_there(from, i) ? (uint32_t)left : UINT32_MAX;
        if (number[i] != UINT32_MAX) {
            p->element[to][left++] = (uint32_t)i;
        }
    }
    double *data = p->data[to];
    for (uint64_t k = 0; k < p->from->kept; k++) {
        for (uint64_t i = 0; i < left; i++, data += from->width) {
            memcpy(data, from->data + (k * from->count + p->element[to][i]) * from->width,
                   from->width * sizeof *data);
        }
    }
    out->count = left;
    out->data = p->data[to];
    if (from->index_count > 0) {
        cut_cells(from, number, p->index[to], out);
    }
    free(number);
    return 1;
}

static int present_make(const ds_snapshot *from, ds_present *out, ds_error *e)
{
    const size_t n = (size_t)from->bodies + 1;
    *out = (ds_present){.scene = *from, .from = from};
    out->scene.body = calloc(n, sizeof *out->scene.body);
    out->element = calloc(n, sizeof *out->element);
    out->data = calloc(n, sizeof *out->data);
    out->index = calloc(n, sizeof *out->index);
    if (out->scene.body == NULL || out->element == NULL || out->data == NULL || out->index == NULL) {
        return ds_no_memory(e);
    }
    out->scene.bodies = 0;
    for (uint64_t b = 0; b < from->bodies; b++) {
        const uint64_t to = out->scene.bodies;
        uint64_t missing = 0;
        for (uint64_t i = 0; from->body[b].nonfinite > 0 && i < from->body[b].count; i++) {
            missing += !is_there(&from->body[b], i);
        }
        out->missing += missing;
        if (missing < from->body[b].count) {
            out->scene.body[to] = from->body[b];
            out->scene.bodies++;
            if (missing > 0 && !cut_body(out, b, to)) {
                return ds_no_memory(e);
            }
        }
    }
    return 0;
}

/* DS_EXIT_MEMORY on failure; *out must be cleared in any case. `from` must outlive it and have a kept frame.
 */
static void present_clear(ds_present *p)
{
    for (uint64_t b = 0; p->from != NULL && b < p->from->bodies; b++) {
        free(p->element != NULL ? p->element[b] : NULL);
        free(p->data != NULL ? p->data[b] : NULL);
        free(p->index != NULL ? p->index[b] : NULL);
    }
    free(p->element);
    free(p->data);
    free(p->index);
    free(p->scene.body);
}

static int is_finite_frame(const ds_snapshot *scene, uint64_t k)
{
    for (uint64_t b = 0; b < scene->bodies; b++) {
        const double *v = ds_snapshot_at(scene, k, b);
        for (uint64_t i = 0; i < scene->body[b].count * scene->body[b].width; i++) {
            if (!isfinite(v[i])) {
                return 0;
            }
        }
    }
    return 1;
}

int ds_series_open(ds_series *s, const char *path, const ds_view_episodes *episodes, uint64_t every,
                   ds_error *e)
{
    *s = (ds_series){.path = path, .episode = &episodes->item[0], .every = every > 0 ? every : 1};
    int status = present_make(episodes->item[0].scene, &s->present, e);
    const ds_snapshot *scene = s->scene = &s->present.scene;
    if (status != 0) {
        return status;
    }
    if (scene->bodies == 0) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: no position in the first frame is finite: there is nothing to write", path);
    }
    while (s->usable < scene->kept && is_finite_frame(scene, s->usable)) {
        s->usable++;
    }
    if (s->present.missing > 0) {
        ds_log(DS_LOG_WARNING, NULL,
               "%s: %" PRIu64 " element%s whose positions are not finite in the first frame %s left out",
               path, s->present.missing, s->present.missing == 1 ? "" : "s",
               s->present.missing == 1 ? "is" : "are");
    }
    if (s->usable < scene->kept) {
        ds_log(DS_LOG_WARNING, NULL,
               "%s: positions of frame %" PRIu64 " are not finite: the output ends before it", path,
               scene->frame[s->usable]);
    }
    s->count = (s->usable - 1 + s->every - 1) / s->every + 1;
    return surfaces_make(scene, &s->surface, e);
}

void ds_series_close(ds_series *s)
{
    if (s->scene != NULL) {
        surfaces_free(s->scene, s->surface);
    }
    present_clear(&s->present);
}

uint64_t ds_series_frame(const ds_series *s, uint64_t i)
{
    return i + 1 == s->count ? s->usable - 1 : i * s->every;
}

char *ds_series_name(const ds_series *s, uint64_t i, const char *ending)
{
    char *name = NULL;
    const char *own = ds_text_ending(s->path);
    const size_t stem = strlen(s->path) - strlen(own) - (own[0] != '\0');
    int digits = snprintf(NULL, 0, "%" PRIu64, s->scene->frame[s->usable - 1]);
    digits = digits < 4 ? 4 : digits;
    ending = ending != NULL ? ending : own;
    const int n = s->count == 1 ? asprintf(&name, "%.*s.%s", (int)stem, s->path, ending)
                                : asprintf(&name, "%.*s-%0*" PRIu64 ".%s", (int)stem, s->path, digits,
                                           s->scene->frame[ds_series_frame(s, i)], ending);
    return n < 0 ? NULL : name;
}

uint64_t ds_series_vertices(const ds_series *s)
{
    uint64_t n = 0;
    for (uint64_t b = 0; b < s->scene->bodies; b++) {
        n += s->surface[b].vertices;
    }
    return n;
}

uint64_t ds_series_cells(const ds_series *s)
{
    uint64_t n = 0;
    for (uint64_t b = 0; b < s->scene->bodies; b++) {
        n += s->surface[b].cells;
    }
    return n;
}

void ds_series_place(const ds_series *s, uint64_t k, double *xyz)
{
    for (uint64_t b = 0; b < s->scene->bodies; b++) {
        ds_surface_place(&s->surface[b], ds_snapshot_at(s->scene, k, b), xyz);
        xyz += 3 * s->surface[b].vertices;
    }
}

void ds_series_remove(const ds_series *s, const char *ending, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        char *name = ds_series_name(s, i, ending);
        if (name != NULL) {
            unlink(name);
        }
        free(name);
    }
}

int ds_series_files(const ds_series *s, const char *ending, ds_series_write *write, ds_error *e)
{
    int status = 0;
    uint64_t done = 0;
    while (done < s->count && status == 0) {
        char *name = ds_series_name(s, done, ending);
        status = name == NULL ? ds_no_memory(e) : write(s, ds_series_frame(s, done), name, e);
        done += status == 0;
        free(name);
    }
    if (status != 0) {
        ds_series_remove(s, ending, done);
    }
    return status;
}
