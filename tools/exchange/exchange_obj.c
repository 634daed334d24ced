/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_obj.c - sequences of mesh files: Wavefront OBJ with one MTL file, and PLY. */
#include "config.h"

#include "base/file.h"
#include "base/text.h"
#include "exchange/exchange.h"
#include "exchange/series.h"
#include "plot/canvas.h"
#include "render/render.h"
#include "results/printer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_body(ds_printer *p, const ds_surface *s, const double *xyz, uint64_t before)
{
    static const char *const cell[] = {"", "p", "l", "f"};
    ds_print(p, "o %s\nusemtl %s\n", s->body->name, s->body->name);
    for (uint64_t i = 0; i < s->vertices; i++) {
        ds_print(p, "v %.10g %.10g %.10g\n", xyz[3 * i], xyz[3 * i + 1], xyz[3 * i + 2]);
    }
    for (uint64_t i = 0; i < s->cells; i++) {
        ds_print(p, "%s", cell[s->corners]);
        /* vertex numbers continue from body to body and start at 1 */
        for (uint32_t c = 0; c < s->corners; c++) {
            ds_print(p, " %" PRIu64, before + s->index[i * s->corners + c] + 1);
        }
        ds_print(p, "\n");
    }
}

/* The colours are next to the frames: "episode.mtl" for "out/episode.obj". */
static char *colors_of(const char *path)
{
    const size_t stem = strlen(path) - strlen(ds_text_ending(path));
    char *name = NULL;
    return asprintf(&name, "%.*smtl", (int)stem, path) < 0 ? NULL : name;
}

static int write_obj(const ds_series *s, uint64_t k, const char *path, ds_error *e)
{
    ds_printer *p = NULL;
    double *xyz = malloc((size_t)(3 * ds_series_vertices(s) + 1) * sizeof *xyz);
    char *colors = colors_of(s->path);
    int status = xyz == NULL || colors == NULL ? ds_no_memory(e) : ds_printer_open(path, &p, e);
    if (status == 0) {
        const char *slash = strrchr(colors, '/');
        ds_series_place(s, k, xyz);
        ds_print(p, "# %s\n# frame %" PRIu64 ", time %.17g s, metres, y is up\nmtllib %s\n",
                 s->episode->title, s->scene->frame[k], (double)s->scene->frame[k] * s->scene->dt,
                 slash != NULL ? slash + 1 : colors);
        uint64_t before = 0;
        for (uint64_t b = 0; b < s->scene->bodies; before += s->surface[b++].vertices) {
            put_body(p, &s->surface[b], xyz + 3 * before, before);
        }
        status = ds_printer_close(p, 0, e);
    }
    free(xyz);
    free(colors);
    return status;
}

static int write_colors(const ds_series *s, ds_error *e)
{
    ds_printer *p = NULL;
    char *path = colors_of(s->path);
    int status = path == NULL ? ds_no_memory(e) : ds_printer_open(path, &p, e);
    for (uint64_t b = 0; status == 0 && b < s->scene->bodies; b++) {
        const ds_snapshot_body *body = &s->scene->body[b];
        const ds_color c = ds_color_hex(ds_render_color(body->role, body->variety), 1);
        ds_print(p, "newmtl %s\nKd %.4f %.4f %.4f\nd %.2f\n", body->name, c.r, c.g, c.b,
                 body->role == DS_ROLE_TARGET ? 0.4 : 1.0);
    }
    free(path);
    return status != 0 ? status : ds_printer_close(p, 0, e);
}

int ds_exchange_obj(const char *path, const ds_view_episodes *episodes, ds_error *e)
{
    ds_series s;
    int status = ds_series_open(&s, path, episodes, episodes->options.every, e);
    status = status != 0 ? status : ds_series_files(&s, NULL, write_obj, e);
    if (status == 0 && (status = write_colors(&s, e)) != 0) {
        ds_series_remove(&s, NULL, s.count);
    }
    ds_series_close(&s);
    return status;
}

/* ---- PLY (G. Turk, "The PLY Polygon File Format"), binary: vertices with body and colour, faces, edges ----
 */

enum { VERTEX_BYTES = 3 * 8 + 4 + 3, FACE_BYTES = 1 + 3 * 4, EDGE_BYTES = 2 * 4 };

/* Cells with this number of corners in all bodies. */
static uint64_t cells_of(const ds_series *s, uint32_t corners)
{
    uint64_t n = 0;
    for (uint64_t b = 0; b < s->scene->bodies; b++) {
        n += s->surface[b].corners == corners ? s->surface[b].cells : 0;
    }
    return n;
}

static int put_head(const ds_series *s, uint64_t k, ds_file *f, ds_error *e)
{
    char *text = NULL;
    size_t size = 0;
    FILE *m = open_memstream(&text, &size);
    if (m == NULL) {
        return ds_no_memory(e);
    }
    fprintf(m, "ply\nformat binary_little_endian 1.0\ncomment %s\n", s->episode->title);
    fprintf(m, "comment frame %" PRIu64 ", time %.17g s, metres, y is up; bodies:", s->scene->frame[k],
            (double)s->scene->frame[k] * s->scene->dt);
    for (uint64_t b = 0; b < s->scene->bodies; b++) {
        fprintf(m, " %s", s->scene->body[b].name);
    }
    fprintf(m,
            "\nelement vertex %" PRIu64 "\nproperty double x\nproperty double y\nproperty double z\n"
            "property int body\nproperty uchar red\nproperty uchar green\nproperty uchar blue\n",
            ds_series_vertices(s));
    /* Some programs reject elements that they do not know, even empty ones. */
    if (cells_of(s, 3) > 0) {
        fprintf(m, "element face %" PRIu64 "\nproperty list uchar int vertex_indices\n", cells_of(s, 3));
    }
    if (cells_of(s, 2) > 0) {
        fprintf(m, "element edge %" PRIu64 "\nproperty int vertex1\nproperty int vertex2\n", cells_of(s, 2));
    }
    fputs("end_header\n", m);
    const int failed = ferror(m) | (fclose(m) != 0);
    const int status = failed ? ds_no_memory(e) : ds_file_write(f, text, size, e);
    free(text);
    return status;
}

static int put_vertices(const ds_series *s, uint64_t k, ds_file *f, ds_error *e)
{
    double *xyz = malloc((size_t)(3 * ds_series_vertices(s) + 1) * sizeof *xyz), *at = xyz;
    int status = xyz == NULL ? ds_no_memory(e) : 0;
    if (status == 0) {
        ds_series_place(s, k, xyz);
    }
    for (uint64_t b = 0; b < s->scene->bodies && status == 0; b++) {
        const ds_snapshot_body *body = &s->scene->body[b];
        const uint32_t rgb = ds_render_color(body->role, body->variety);
        const int32_t number = (int32_t)b;
        const unsigned char color[3] = {(unsigned char)(rgb >> 16), (unsigned char)(rgb >> 8),
                                        (unsigned char)rgb};
        for (uint64_t i = 0; i < s->surface[b].vertices && status == 0; i++, at += 3) {
            unsigned char row[VERTEX_BYTES];
            memcpy(row, at, 24);
            memcpy(row + 24, &number, 4);
            memcpy(row + 28, color, 3);
            status = ds_file_write(f, row, sizeof row, e);
        }
    }
    free(xyz);
    return status;
}

static int put_cells(const ds_series *s, uint32_t corners, ds_file *f, ds_error *e)
{
    int status = 0;
    uint64_t before = 0; /* vertices of earlier bodies */
    for (uint64_t b = 0; b < s->scene->bodies; before += s->surface[b++].vertices) {
        const ds_surface *one = &s->surface[b];
        for (uint64_t i = 0; i < one->cells && one->corners == corners && status == 0; i++) {
            unsigned char row[FACE_BYTES] = {3};
            unsigned char *to = row + (corners == 3);
            for (uint32_t c = 0; c < corners; c++) {
                const int32_t number = (int32_t)(before + one->index[i * corners + c]);
                memcpy(to + (size_t)4 * c, &number, 4);
            }
            status = ds_file_write(f, row, corners == 3 ? FACE_BYTES : EDGE_BYTES, e);
        }
    }
    return status;
}

static int write_ply(const ds_series *s, uint64_t k, const char *path, ds_error *e)
{
    ds_file *f = NULL;
    int status = ds_file_open(&f, path, e);
    status = status != 0 ? status : put_head(s, k, f, e);
    status = status != 0 ? status : put_vertices(s, k, f, e);
    status = status != 0 ? status : put_cells(s, 3, f, e);
    status = status != 0 ? status : put_cells(s, 2, f, e);
    if (status == 0) {
        return ds_file_commit(f, e);
    }
    ds_file_abort(f);
    return status;
}

int ds_exchange_ply(const char *path, const ds_view_episodes *episodes, ds_error *e)
{
    ds_series s;
    int status = ds_series_open(&s, path, episodes, episodes->options.every, e);
    status = status != 0 ? status : ds_series_files(&s, NULL, write_ply, e);
    ds_series_close(&s);
    return status;
}
