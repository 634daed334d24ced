/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_vtk.c - VTK XML files of an unstructured grid (docs.vtk.org, "VTK XML Formats") with raw appended
 * data in zlib-compressed blocks, and the collection file with their times. */
#include "config.h"

#include "base/file.h"
#include "exchange/exchange.h"
#include "exchange/series.h"
#include "page/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { BLOCK = 1 << 16, LEVEL = 6, VERTEX = 1, LINE = 3, TRIANGLE = 5 /* VTK's cell types */ };

/* A file's description and data, both in memory: the description needs the offsets of the data. */
typedef struct vtu {
    FILE *xml, *raw;
    char *xml_text, *raw_bytes;
    size_t xml_size, raw_size;
    int failed;
} vtu;

/* ---- arrays ---- */

/* Appends an array: number of blocks, block size, size of the last block (0 = full), compressed sizes,
 * blocks. */
static void put_blocks(vtu *v, const void *data, size_t size)
{
    const size_t blocks = (size + BLOCK - 1) / BLOCK;
    uint64_t *head = calloc(3 + blocks, sizeof *head);
    unsigned char *packed = malloc(blocks * compressBound(BLOCK) + 1), *to = packed;
    if (head == NULL || packed == NULL) {
        v->failed = 1;
        free(head);
        free(packed);
        return;
    }
    head[0] = blocks;
    head[1] = BLOCK;
    head[2] = size % BLOCK;
    for (size_t i = 0; i < blocks; i++) {
        uLongf room = compressBound(BLOCK);
        const size_t n = i + 1 < blocks || size % BLOCK == 0 ? BLOCK : size % BLOCK;
        v->failed |= compress2(to, &room, (const unsigned char *)data + i * BLOCK, n, LEVEL) != Z_OK;
        head[3 + i] = room;
        to += room;
    }
    fwrite(head, sizeof *head, 3 + blocks, v->raw);
    fwrite(packed, 1, (size_t)(to - packed), v->raw);
    free(head);
    free(packed);
}

/* An array of `tuples` times `parts` numbers; `about` holds further attributes. */
static void put_array(vtu *v, const char *type, size_t width, const char *name, uint64_t tuples,
                      uint64_t parts, const void *data, const char *about)
{
    fprintf(v->xml,
            "<DataArray type=\"%s\" Name=\"%s\" NumberOfComponents=\"%" PRIu64 "\"%s format=\"appended\" "
            "offset=\"%ld\"/>\n",
            type, name, parts, about, ftell(v->raw));
    put_blocks(v, data, (size_t)(tuples * parts) * width);
}

static void put_field(vtu *v, const char *name, uint64_t tuples, uint64_t parts, const double *data)
{
    char about[64];
    snprintf(about, sizeof about, " NumberOfTuples=\"%" PRIu64 "\"", tuples);
    put_array(v, "Float64", sizeof *data, name, tuples, parts, data, about);
}

/* ---- what a frame has ---- */

static void put_fields(vtu *v, const ds_series *s, uint64_t k)
{
    const ds_snapshot *scene = s->scene;
    const double time = (double)scene->frame[k] * scene->dt, frame = (double)scene->frame[k];
    fputs("<FieldData>\n", v->xml);
    put_field(v, "TimeValue", 1, 1, &time);
    put_field(v, "frame", 1, 1, &frame);
    for (uint64_t m = 0; m < scene->metrics; m++) {
        char name[DS_SCENE_NAME_MAX + 16];
        snprintf(name, sizeof name, "metrics/%s", scene->metric[m].name);
        put_field(v, name, 1, 1, &scene->metric[m].values[scene->frame[k]]);
    }
    for (uint64_t b = 0; b < scene->bodies; b++) {
        char name[DS_SCENE_NAME_MAX + 16];
        snprintf(name, sizeof name, "%s_poses", scene->body[b].name);
        if (scene->body[b].width == 7) {
            put_field(v, name, scene->body[b].count, 7, ds_snapshot_at(scene, k, b));
        }
    }
    /* The number of each body in the cell array `body`: few programs read texts in VTK files. */
    for (uint64_t b = 0; b < scene->bodies; b++) {
        char name[DS_SCENE_NAME_MAX + 16];
        const double number = (double)b;
        snprintf(name, sizeof name, "body/%s", scene->body[b].name);
        put_field(v, name, 1, 1, &number);
    }
    fputs("</FieldData>\n", v->xml);
}

/* Positions, and their change since the previous kept frame. */
static void put_vertices(vtu *v, const ds_series *s, uint64_t k)
{
    const uint64_t n = ds_series_vertices(s);
    double *now = malloc((size_t)(3 * n + 1) * sizeof *now),
           *before = malloc((size_t)(3 * n + 1) * sizeof *before);
    int32_t *element = malloc((size_t)(n + 1) * sizeof *element);
    const double since = k > 0 ? (double)(s->scene->frame[k] - s->scene->frame[k - 1]) * s->scene->dt : 1;
    if (now == NULL || before == NULL || element == NULL) {
        v->failed = 1;
    } else {
        ds_series_place(s, k, now);
        fputs("<Points>\n", v->xml);
        put_array(v, "Float64", 8, "Points", n, 3, now, "");
        fputs("</Points>\n<PointData>\n", v->xml);
        ds_series_place(s, k > 0 ? k - 1 : k, before);
        for (uint64_t i = 0; i < 3 * n; i++) {
            before[i] = since > 0 ? (now[i] - before[i]) / since : 0;
        }
        put_array(v, "Float64", 8, "velocity", n, 3, before, "");
        double *radius = now;
        for (uint64_t b = 0, i = 0; b < s->scene->bodies; b++) {
            const ds_surface *one = &s->surface[b];
            for (uint64_t j = 0; j < one->vertices; j++, i++) {
                const uint64_t own = ds_surface_element(one, j);
                element[i] = (int32_t)(s->present.element[b] != NULL ? s->present.element[b][own] : own);
                radius[i] = one->corners == 1 ? one->body->size[0] : 0;
            }
        }
        put_array(v, "Float64", 8, "radius", n, 1, radius, "");
        put_array(v, "Int32", 4, "element", n, 1, element, "");
        fputs("</PointData>\n", v->xml);
    }
    free(now);
    free(before);
    free(element);
}

static void put_cells(vtu *v, const ds_series *s)
{
    const uint64_t n = ds_series_cells(s);
    int64_t *corner = malloc((size_t)(3 * n + 1) * sizeof *corner),
            *end = malloc((size_t)(n + 1) * sizeof *end);
    uint8_t *type = malloc((size_t)n + 1);
    int32_t *body = malloc((size_t)(n + 1) * sizeof *body), *role = malloc((size_t)(n + 1) * sizeof *role);
    if (corner == NULL || end == NULL || type == NULL || body == NULL || role == NULL) {
        v->failed = 1;
    } else {
        uint64_t corners = 0, at = 0, cell = 0;
        for (uint64_t b = 0; b < s->scene->bodies; b++) {
            const ds_surface *one = &s->surface[b];
            for (uint64_t i = 0; i < one->cells; i++, cell++) {
                for (uint32_t c = 0; c < one->corners; c++) {
                    corner[corners++] = (int64_t)(at + one->index[i * one->corners + c]);
                }
                end[cell] = (int64_t)corners;
                type[cell] = one->corners == 1 ? VERTEX : one->corners == 2 ? LINE : TRIANGLE;
                body[cell] = (int32_t)b;
                role[cell] = (int32_t)one->body->role;
            }
            at += one->vertices;
        }
        fputs("<Cells>\n", v->xml);
        put_array(v, "Int64", 8, "connectivity", corners, 1, corner, "");
        put_array(v, "Int64", 8, "offsets", n, 1, end, "");
        put_array(v, "UInt8", 1, "types", n, 1, type, "");
        fputs("</Cells>\n<CellData>\n", v->xml);
        put_array(v, "Int32", 4, "body", n, 1, body, "");
        put_array(v, "Int32", 4, "role", n, 1, role, "");
        fputs("</CellData>\n", v->xml);
    }
    free(corner);
    free(end);
    free(type);
    free(body);
    free(role);
}

/* ---- files ---- */

static void describe(vtu *v, const ds_series *s, uint64_t k)
{
    fputs("<?xml version=\"1.0\"?>\n"
          "<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" "
          "header_type=\"UInt64\" compressor=\"vtkZLibDataCompressor\">\n"
          "<UnstructuredGrid>\n",
          v->xml);
    put_fields(v, s, k);
    fprintf(v->xml, "<Piece NumberOfPoints=\"%" PRIu64 "\" NumberOfCells=\"%" PRIu64 "\">\n",
            ds_series_vertices(s), ds_series_cells(s));
    put_vertices(v, s, k);
    put_cells(v, s);
    fputs("</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_", v->xml);
}

static int write_frame(const ds_series *s, uint64_t k, const char *path, ds_error *e)
{
    static const char end[] = "\n</AppendedData>\n</VTKFile>\n";
    vtu v = {0};
    v.xml = open_memstream(&v.xml_text, &v.xml_size);
    v.raw = open_memstream(&v.raw_bytes, &v.raw_size);
    v.failed = v.xml == NULL || v.raw == NULL;
    if (!v.failed) {
        describe(&v, s, k);
    }
    v.failed |= v.xml == NULL || ferror(v.xml) || fclose(v.xml) != 0;
    v.failed |= v.raw == NULL || ferror(v.raw) || fclose(v.raw) != 0;
    ds_file *f = NULL;
    int status = v.failed ? ds_no_memory(e) : ds_file_open(&f, path, e);
    status = status != 0 ? status : ds_file_write(f, v.xml_text, v.xml_size, e);
    status = status != 0 ? status : ds_file_write(f, v.raw_bytes, v.raw_size, e);
    status = status != 0 ? status : ds_file_write(f, end, sizeof end - 1, e);
    if (status == 0) {
        status = ds_file_commit(f, e);
    } else {
        ds_file_abort(f);
    }
    free(v.xml_text);
    free(v.raw_bytes);
    return status;
}

/* The files are next to the collection, which names them without their folder. */
static int write_collection(const ds_series *s, ds_error *e)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (f == NULL) {
        return ds_no_memory(e);
    }
    fputs(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\" byte_order=\"LittleEndian\">\n"
        "<Collection>\n",
        f);
    int failed = 0;
    for (uint64_t i = 0; i < s->count; i++) {
        char *name = ds_series_name(s, i, "vtu");
        const char *slash = name != NULL ? strrchr(name, '/') : NULL;
        const uint64_t frame = s->scene->frame[ds_series_frame(s, i)];
        /* Without a step length the number of the frame is its time. */
        fprintf(f, "<DataSet timestep=\"%.17g\" group=\"\" part=\"0\" file=\"",
                s->scene->dt > 0 ? (double)frame * s->scene->dt : (double)frame);
        ds_html_text(f, slash != NULL ? slash + 1 : name != NULL ? name : "");
        fputs("\"/>\n", f);
        failed |= name == NULL;
        free(name);
    }
    fputs("</Collection>\n</VTKFile>\n", f);
    failed |= ferror(f);
    failed |= fclose(f) != 0;
    const int status = failed ? ds_no_memory(e) : ds_file_write_atomic(s->path, text, size, e);
    free(text);
    return status;
}

static int write_vtk(const char *path, const ds_view_episodes *episodes, int collection, ds_error *e)
{
    ds_series s;
    int status = ds_series_open(&s, path, episodes, episodes->options.every, e);
    status = status != 0 ? status : ds_series_files(&s, "vtu", write_frame, e);
    if (status == 0 && collection && (status = write_collection(&s, e)) != 0) {
        ds_series_remove(&s, "vtu", s.count);
    }
    ds_series_close(&s);
    return status;
}

int ds_exchange_pvd(const char *path, const ds_view_episodes *episodes, ds_error *e)
{
    return write_vtk(path, episodes, 1, e);
}

int ds_exchange_vtu(const char *path, const ds_view_episodes *episodes, ds_error *e)
{
    return write_vtk(path, episodes, 0, e);
}
