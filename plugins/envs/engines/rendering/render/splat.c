/* SPDX-License-Identifier: Apache-2.0 */
/* splat.c - soft discs seen by several cameras, tile by tile. Each camera has its own bins, so that the
 * threads can process the tiles of all cameras together. */
#include "engines/rendering/render/splat.h"

#include "engines/rendering/render/image.h"
#include "engines/kit/team.h"

#include <diffsim/helper/memory.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CAMERAS = 64 };

/* What one camera sees. */
typedef struct eye {
    camera camera;
    render_bins bins;
    splat_disc *disc;
    double *q, *q_dot; /* particles x 3 */
    splat_disc_dot *dot;
    double *product;      /* tiles x TILE_PIXELS */
    splat_disc_bar *pair; /* per disc and tile, in the order of bins.item */
    size_t pairs;         /* capacity */
} eye;

struct splat {
    splat_options o;
    uint32_t particles;
    const render_kernels *kernels;
    kit_team *team;
    ds_memory memory;
    size_t bytes; /* of `memory` */
    eye *eye;
    int drawn;
    double *p, *radius, *q_bar; /* particles x 3, 1, 3 */
};

typedef struct job {
    const splat *s;
    const double *in;
    double *out;
} job;

splat_options splat_defaults(uint32_t size)
{
    return (splat_options){.size = size, .cameras = 1, .opacity = 0.9, .threads = 1};
}

static int splat_check(const splat_options *o, uint32_t particles, char text[RENDER_TEXT])
{
    if (o->size < RENDER_MIN_SIZE || o->size > RENDER_MAX_SIZE) {
        snprintf(text, RENDER_TEXT, "image: %u pixels per side; %d to %d are allowed", o->size,
                 (int)RENDER_MIN_SIZE, (int)RENDER_MAX_SIZE);
    } else if (o->cameras < 1 || o->cameras > MOST_CAMERAS) {
        snprintf(text, RENDER_TEXT, "image: %u cameras; 1 to %d are allowed", o->cameras, (int)MOST_CAMERAS);
    } else if (!(o->opacity > 0 && o->opacity <= 0.99)) {
        snprintf(text, RENDER_TEXT, "image: the opacity of particles must be above 0 and at most 0.99");
    } else if (o->threads < 1 || o->threads > RENDER_MAX_THREADS) {
        snprintf(text, RENDER_TEXT, "image: threads must be 1 to %d", (int)RENDER_MAX_THREADS);
    } else if (render_kernels_find(o->isa) == NULL) {
        snprintf(text, RENDER_TEXT, "image: unknown instruction set");
    } else if (particles > RENDER_MAX_COUNT) {
        snprintf(text, RENDER_TEXT, "image: %u particles; at most %d can be drawn", particles,
                 (int)RENDER_MAX_COUNT);
    } else {
        return 0;
    }
    return 1;
}

static void *take(splat *s, size_t count, size_t size)
{
    s->bytes += count * size;
    return ds_memory_take(&s->memory, count, size);
}

static int open_arrays(splat *s)
{
    const size_t n = s->particles;
    int bins = 1;
    s->eye = take(s, s->o.cameras, sizeof *s->eye);
    s->p = take(s, 3 * n + 1, sizeof *s->p);
    s->q_bar = take(s, 3 * n + 1, sizeof *s->q_bar);
    s->radius = take(s, n + 1, sizeof *s->radius);
    for (uint32_t k = 0; s->eye && k < s->o.cameras && bins; k++) {
        eye *e = &s->eye[k];
        bins = bins_open(&e->bins, s->o.size);
        e->disc = take(s, n + 1, sizeof *e->disc);
        e->q = take(s, 3 * n + 1, sizeof *e->q);
        e->q_dot = take(s, 3 * n + 1, sizeof *e->q_dot);
        e->dot = take(s, n + 1, sizeof *e->dot);
        e->product = take(s, (size_t)e->bins.tiles * TILE_PIXELS, sizeof *e->product);
    }
    s->team = kit_team_create(s->o.threads);
    return s->team && bins && !s->memory.failed;
}

splat *splat_create(const splat_options *o, uint32_t particles, ds_status *status, char text[RENDER_TEXT])
{
    *status = DS_E_ARG;
    text[0] = '\0';
    if (splat_check(o, particles, text) != 0) {
        return NULL;
    }
    splat *s = calloc(1, sizeof *s);
    if (s) {
        s->o = *o;
        s->particles = particles;
        s->kernels = render_kernels_find(o->isa);
    }
    if (!s || !open_arrays(s)) {
        splat_destroy(s);
        memcpy(text, "image: out of memory", sizeof "image: out of memory");
        *status = DS_E_NOMEM;
        return NULL;
    }
    *status = DS_OK;
    return s;
}

void splat_destroy(splat *s)
{
    if (!s) {
        return;
    }
    kit_team_destroy(s->team);
    for (uint32_t k = 0; s->eye && k < s->o.cameras; k++) {
        bins_close(&s->eye[k].bins);
        free(s->eye[k].pair);
    }
    ds_memory_free(&s->memory);
    free(s);
}

size_t splat_memory(const splat *s)
{
    size_t bytes = sizeof *s + s->bytes;
    for (uint32_t k = 0; k < s->o.cameras; k++) {
        bytes += bins_memory(&s->eye[k].bins) + s->eye[k].pairs * sizeof *s->eye[k].pair;
    }
    return bytes;
}

/* ---- discs ---- */

static double scale_of(const camera *c)
{
    return 1 / tan(c->pose.half_angle);
}

/* R^2 of a particle. */
static double support(const splat_options *o, double scale, double radius, double depth)
{
    const double r = 2 * radius * scale / depth, pixel = 2.0 / o->size;
    return r * r + pixel * pixel;
}

/* A particle as a camera sees it; the box is empty if it is not drawn. */
static splat_disc disc_of(const splat_options *o, const camera *c, const double q[3], double radius,
                          render_report *report)
{
    splat_disc d = {.box = {.column = {1, 0}}};
    const double square = support(o, scale_of(c), radius, q[2]);
    if (isfinite(q[2]) && q[2] < c->near) {
        report->behind++;
    } else if (!(isfinite(q[2]) && fabs(q[0]) <= 1e8 && fabs(q[1]) <= 1e8 && radius > 0 && square < 1e16)) {
        report->broken++;
    } else {
        const double R = sqrt(square);
        d.x = q[0];
        d.y = q[1];
        d.per_square = 1 / square;
        d.box = bins_box(o->size, (double[2]){q[0] - R, q[0] + R}, (double[2]){q[1] - R, q[1] + R});
        report->outside += (uint32_t)bins_empty(&d.box);
        report->drawn += (uint32_t)!bins_empty(&d.box);
    }
    return d;
}

/* From the derivatives by a disc to the derivatives by its image, depth and radius, and by the scale of the
 * camera. */
static void disc_adjoint(const camera *c, const double q[3], double radius, const splat_disc *d,
                         const splat_disc_bar *g, double q_bar[3], double *radius_bar, double *scale_bar)
{
    const double scale = scale_of(c), r = 2 * radius * scale / q[2];
    const double r_bar = -2 * r * g->per_square * d->per_square * d->per_square;
    q_bar[0] += g->x;
    q_bar[1] += g->y;
    q_bar[2] -= r_bar * r / q[2];
    *radius_bar += r_bar * 2 * scale / q[2];
    *scale_bar += r_bar * 2 * radius / q[2];
}

/* ---- images ---- */

static void draw_tile(void *context, int task, int member)
{
    const job *j = context;
    const splat *s = j->s;
    const uint32_t tiles = s->eye->bins.tiles, size = s->o.size;
    const eye *e = &s->eye[(uint32_t)task / tiles];
    const render_tile t = bins_tile(&e->bins, (uint32_t)task % tiles);
    double *product = e->product + (size_t)task % tiles * TILE_PIXELS;
    double *image = j->out + (size_t)task / tiles * size * size;
    (void)member;
    for (size_t i = 0; i < TILE_PIXELS; i++) {
        product[i] = 1;
    }
    s->kernels->splat_draw(s->o.opacity, e->disc, &t, product);
    for (size_t i = 0; i < TILE_PIXELS; i++) {
        const size_t row = t.row + i / TILE_COLUMNS, column = t.column + i % TILE_COLUMNS;
        if (row < size && column < size) {
            image[row * size + column] = 1 - product[i];
        }
    }
}

ds_status splat_draw(splat *s, const camera *c, const double *p, const double *radius, size_t radius_stride,
                     double *image, render_report *report)
{
    char text[RENDER_TEXT];
    render_report sum = {.drawn = 0};
    s->drawn = 0;
    memcpy(s->p, p, 3 * (size_t)s->particles * sizeof *p);
    for (size_t i = 0; i < s->particles; i++) {
        s->radius[i] = radius[i * radius_stride];
    }
    for (uint32_t k = 0; k < s->o.cameras; k++) {
        eye *e = &s->eye[k];
        if (camera_check(&c[k], text) != 0) {
            return DS_E_ARG;
        }
        e->camera = c[k];
        camera_project(&c[k], s->particles, p, e->q);
        for (size_t i = 0; i < s->particles; i++) {
            e->disc[i] = disc_of(&s->o, &c[k], e->q + 3 * i, s->radius[i], &sum);
        }
        if (!bins_fill(&e->bins, s->particles, &e->disc->box, sizeof *e->disc)) {
            return DS_E_NOMEM;
        }
    }
    kit_team_run(s->team, draw_tile, &(job){.s = s, .out = image}, (int)(s->o.cameras * s->eye->bins.tiles));
    if (report) {
        *report = sum;
    }
    s->drawn = 1;
    return DS_OK;
}

/* ---- derivatives ---- */

static void adjoint_tile(void *context, int task, int member)
{
    const job *j = context;
    const splat *s = j->s;
    const uint32_t tiles = s->eye->bins.tiles, size = s->o.size, tile = (uint32_t)task % tiles;
    const eye *e = &s->eye[(uint32_t)task / tiles];
    const render_tile t = bins_tile(&e->bins, tile);
    const double *product = e->product + (size_t)tile * TILE_PIXELS;
    const double *image_bar = j->in + (size_t)task / tiles * size * size;
    double g[TILE_PIXELS];
    (void)member;
    if (t.items == 0) {
        return;
    }
    for (size_t i = 0; i < TILE_PIXELS; i++) {
        const size_t row = t.row + i / TILE_COLUMNS, column = t.column + i % TILE_COLUMNS;
        g[i] = row < size && column < size ? image_bar[row * size + column] * product[i] : 0;
    }
    s->kernels->splat_adjoint(s->o.opacity, e->disc, &t, g, e->pair + e->bins.start[tile]);
}

static int make_pairs(eye *e)
{
    e->pair = bins_pairs(&e->bins, e->pair, &e->pairs, sizeof *e->pair);
    return bins_fit(&e->bins, e->pairs);
}

/* Adds the results of the tiles of one camera, in their order. */
static void collect(splat *s, const eye *e, size_t radius_stride, double *p_bar, double *radius_bar,
                    camera_pose *bar)
{
    const double scale = scale_of(&e->camera);
    double scale_bar = 0;
    memset(s->q_bar, 0, 3 * (size_t)s->particles * sizeof *s->q_bar);
    for (size_t i = 0; i < e->bins.start[e->bins.tiles]; i++) {
        const size_t k = e->bins.item[i];
        double own = 0;
        disc_adjoint(&e->camera, e->q + 3 * k, s->radius[k], &e->disc[k], &e->pair[i], s->q_bar + 3 * k, &own,
                     &scale_bar);
        if (radius_bar) {
            radius_bar[k * radius_stride] += own;
        }
    }
    if (bar) {
        bar->half_angle -= scale_bar * (1 + scale * scale);
    }
    camera_project_adjoint(&e->camera, s->particles, s->p, s->q_bar, p_bar, bar);
}

ds_status splat_adjoint(splat *s, const double *image_bar, double *p_bar, double *radius_bar,
                        size_t radius_stride, camera_pose *bar)
{
    if (!s->drawn) {
        return DS_E_STATE;
    }
    for (uint32_t k = 0; k < s->o.cameras; k++) {
        if (!make_pairs(&s->eye[k])) {
            return DS_E_NOMEM;
        }
    }
    kit_team_run(s->team, adjoint_tile, &(job){.s = s, .in = image_bar},
                 (int)(s->o.cameras * s->eye->bins.tiles));
    for (uint32_t k = 0; k < s->o.cameras; k++) {
        collect(s, &s->eye[k], radius_stride, p_bar, radius_bar, bar ? bar + k : NULL);
    }
    return DS_OK;
}

static void tangent_tile(void *context, int task, int member)
{
    const job *j = context;
    const splat *s = j->s;
    const uint32_t tiles = s->eye->bins.tiles, size = s->o.size, tile = (uint32_t)task % tiles;
    const eye *e = &s->eye[(uint32_t)task / tiles];
    const render_tile t = bins_tile(&e->bins, tile);
    const double *product = e->product + (size_t)tile * TILE_PIXELS;
    double *image_dot = j->out + (size_t)task / tiles * size * size, sum[TILE_PIXELS] = {0};
    (void)member;
    s->kernels->splat_tangent(s->o.opacity, e->disc, e->dot, &t, sum);
    for (size_t i = 0; i < TILE_PIXELS; i++) {
        const size_t row = t.row + i / TILE_COLUMNS, column = t.column + i % TILE_COLUMNS;
        if (row < size && column < size) {
            image_dot[row * size + column] = product[i] * sum[i];
        }
    }
}

/* The change of a disc, from the change of its image and depth, its radius, and the scale of the camera. */
static splat_disc_dot disc_tangent(const camera *c, const double q[3], double radius, const splat_disc *d,
                                   const double q_dot[3], double radius_dot, double scale_dot)
{
    const double scale = scale_of(c), r = 2 * radius * scale / q[2];
    const double r_dot = 2 * (radius_dot * scale + radius * scale_dot) / q[2] - r * q_dot[2] / q[2];
    return (splat_disc_dot){q_dot[0], q_dot[1], -2 * r * r_dot * d->per_square * d->per_square};
}

/* The change of all discs of a camera along a direction. */
static void move_discs(splat *s, eye *e, const double *p_dot, const double *radius_dot, size_t radius_stride,
                       const camera_pose *dot)
{
    const double scale = scale_of(&e->camera), scale_dot = dot ? -dot->half_angle * (1 + scale * scale) : 0;
    camera_project_tangent(&e->camera, s->particles, s->p, p_dot, dot, e->q_dot);
    for (size_t i = 0; i < s->particles; i++) {
        const double own = radius_dot ? radius_dot[i * radius_stride] : 0;
        e->dot[i] = bins_empty(&e->disc[i].box) ? (splat_disc_dot){0, 0, 0}
                                                : disc_tangent(&e->camera, e->q + 3 * i, s->radius[i],
                                                               &e->disc[i], e->q_dot + 3 * i, own, scale_dot);
    }
}

ds_status splat_tangent(splat *s, const double *p_dot, const double *radius_dot, size_t radius_stride,
                        const camera_pose *dot, double *image_dot)
{
    if (!s->drawn) {
        return DS_E_STATE;
    }
    for (uint32_t k = 0; k < s->o.cameras; k++) {
        move_discs(s, &s->eye[k], p_dot, radius_dot, radius_stride, dot ? dot + k : NULL);
    }
    kit_team_run(s->team, tangent_tile, &(job){.s = s, .out = image_dot},
                 (int)(s->o.cameras * s->eye->bins.tiles));
    return DS_OK;
}

/* ---- reference without bins, threads and vectors ---- */

/* 1 - a of a disc at a pixel, and its derivative by u. */
static double clear(double opacity, const splat_disc *d, double x, double y, double *slope)
{
    const double u = ((x - d->x) * (x - d->x) + (y - d->y) * (y - d->y)) * d->per_square;
    const double t = u < 1 && d->per_square > 0 ? 1 - u : 0;
    *slope = 3 * opacity * t * t;
    return 1 - opacity * t * t * t;
}

/* Adds the part of one pixel to the derivatives by the discs. */
static void pixel_adjoint(const splat_options *o, size_t n, const splat_disc *disc, double x, double y,
                          double g, splat_disc_bar *bar)
{
    for (size_t i = 0; i < n; i++) {
        double slope, ignored, others = 1;
        if (clear(o->opacity, &disc[i], x, y, &slope) == 1) {
            continue;
        }
        for (size_t k = 0; k < n; k++) {
            others *= k == i ? 1 : clear(o->opacity, &disc[k], x, y, &ignored);
        }
        const double gu = -g * others * slope, dx = x - disc[i].x, dy = y - disc[i].y;
        bar[i].x -= 2 * gu * dx * disc[i].per_square;
        bar[i].y -= 2 * gu * dy * disc[i].per_square;
        bar[i].per_square += gu * (dx * dx + dy * dy);
    }
}

static void plain_image(const splat_options *o, size_t n, const splat_disc *disc, double *image,
                        const double *image_bar, splat_disc_bar *bar)
{
    for (size_t i = 0; i < (size_t)o->size * o->size; i++) {
        const double x = (2.0 * (double)(i % o->size) + 1 - o->size) / o->size;
        const double y = (o->size - 1 - 2.0 * (double)(i / o->size)) / o->size;
        double product = 1, ignored;
        for (size_t k = 0; k < n; k++) {
            product *= clear(o->opacity, &disc[k], x, y, &ignored);
        }
        image[i] = 1 - product;
        if (image_bar) {
            pixel_adjoint(o, n, disc, x, y, image_bar[i], bar);
        }
    }
}

ds_status splat_plain(const splat_options *o, uint32_t particles, const camera *c, const double *p,
                      const double *radius, size_t radius_stride, double *image, const double *image_bar,
                      double *p_bar, double *radius_bar, camera_pose *bar)
{
    ds_memory room = {0};
    const size_t n = particles, pixels = (size_t)o->size * o->size;
    render_report ignored = {.drawn = 0};
    splat_disc *disc = ds_memory_take(&room, n + 1, sizeof *disc);
    splat_disc_bar *disc_bar = ds_memory_take(&room, n + 1, sizeof *disc_bar);
    double *q = ds_memory_doubles(&room, 3 * n + 1), *q_bar = ds_memory_doubles(&room, 3 * n + 1);
    for (uint32_t k = 0; k < o->cameras && !room.failed; k++) {
        const double scale = scale_of(&c[k]);
        double scale_bar = 0;
        camera_project(&c[k], n, p, q);
        for (size_t i = 0; i < n; i++) {
            disc[i] = disc_of(o, &c[k], q + 3 * i, radius[i * radius_stride], &ignored);
            disc_bar[i] = (splat_disc_bar){0, 0, 0};
        }
        plain_image(o, n, disc, image + k * pixels, image_bar ? image_bar + k * pixels : NULL, disc_bar);
        memset(q_bar, 0, 3 * n * sizeof *q_bar);
        for (size_t i = 0; i < n && image_bar; i++) {
            if (!bins_empty(&disc[i].box)) {
                disc_adjoint(&c[k], q + 3 * i, radius[i * radius_stride], &disc[i], &disc_bar[i],
                             q_bar + 3 * i, &radius_bar[i * radius_stride], &scale_bar);
            }
        }
        if (image_bar) {
            bar[k].half_angle -= scale_bar * (1 + scale * scale);
            camera_project_adjoint(&c[k], n, p, q_bar, p_bar, &bar[k]);
        }
    }
    int failed = room.failed;
    ds_memory_free(&room);
    return failed ? DS_E_NOMEM : DS_OK;
}
