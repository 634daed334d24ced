/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_data.c - readers of data files: any bytes give consistent finite values, or one line with the
 * reason. */
#include "config.h"

#include "config/npy.h"
#include "engines/data/recording.h"
#include "engines/data/scene_file.h"
#include "engines/data/scene_params.h"
#include "engines/data/surface.h"
#include "engines/physics/articulated/robot.h"
#include "engines/physics/cloth/trajectory.h"
#include "engines/physics/fem/model.h"
#include "engines/physics/fem/read.h"
#include "engines/rendering/render/read_png.h"
#include "policy/policy.h"
#include "tests/fuzz/fuzz.h"

#include <diffsim/helper/network_file.h>
#include <diffsim/helper/params.h>
#include <diffsim/plugin.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* ---- .npy files ---- */

int fuzz_npy(const uint8_t *data, size_t size)
{
    ds_array a;
    ds_error e = {0};
    if (ds_array_parse_npy(data, size, "input", 1 << 20, 3, &a, &e) != 0) {
        FUZZ_REQUIRE(e.status == 3 && e.text[0] != '\0' && a.data == NULL);
        return 0;
    }
    uint64_t n = 1;
    for (uint32_t k = 0; k < a.ndim; k++) {
        n *= a.shape[k];
    }
    FUZZ_REQUIRE(n == a.size && n > 0 && a.ndim <= DS_MAX_DIMENSIONS);
    for (uint64_t i = 0; i < n; i++) {
        FUZZ_REQUIRE(isfinite(a.data[i]));
    }
    ds_array_free(&a);
    return 0;
}

/* ---- tables as text ---- */

int fuzz_text_array(const uint8_t *data, size_t size)
{
    ds_array a;
    ds_error e = {0};
    if (ds_array_parse_text(data, size, "input", 1 << 20, 3, &a, &e) != 0) {
        FUZZ_REQUIRE(e.status == 3 && e.text[0] != '\0' && a.data == NULL);
        return 0;
    }
    FUZZ_REQUIRE((a.ndim == 1 && a.shape[0] == a.size) || (a.ndim == 2 && a.shape[0] * a.shape[1] == a.size));
    for (uint64_t i = 0; i < a.size; i++) {
        FUZZ_REQUIRE(isfinite(a.data[i]));
    }
    ds_array_free(&a);
    return 0;
}

/* ---- networks ---- */

int fuzz_network(const uint8_t *data, size_t size)
{
    enum { MOST = 3 };
    ds_network net[MOST];
    char why[DS_NETWORK_FILE_TEXT];
    uint32_t count = 77;
    double *w = ds_network_file_parse((const char *)data, size, MOST, net, &count, why);
    if (w == NULL) {
        FUZZ_REQUIRE(count == 0 && why[0] != '\0' && strchr(why, '\n') == NULL);
        return 0;
    }
    FUZZ_REQUIRE(count >= 1 && count <= MOST && why[0] == '\0');
    uint64_t at = 0;
    for (uint32_t k = 0; k < count; k++) {
        for (uint64_t i = 0; i < ds_network_count(&net[k]); i++) {
            FUZZ_REQUIRE(isfinite(w[at++]));
        }
    }
    free(w);
    return 0;
}

/* ---- policies: actions stay inside their bounds ---- */

int fuzz_policy(const uint8_t *data, size_t size)
{
    ds_policy p;
    ds_error e = {0};
    uint8_t *copy = malloc(size > 0 ? size : 1);
    FUZZ_REQUIRE(copy != NULL);
    if (size > 0) {
        memcpy(copy, data, size);
    }
    if (ds_policy_parse(&p, copy, size, "input", &e) != 0) {
        FUZZ_REQUIRE((e.status == DS_EXIT_CONFIG || e.status == DS_EXIT_MEMORY) && e.text[0] != '\0');
        ds_policy_free(&p);
        return 0;
    }
    double *obs = calloc(p.n_obs + p.n_act, sizeof *obs), *action = obs + p.n_obs;
    ds_random r = ds_random_open(1, "fuzz", 0);
    FUZZ_REQUIRE(obs != NULL);
    for (uint64_t k = 0; k < p.n_obs; k++) {
        obs[k] = 1e3 * ds_random_normal(&r);
    }
    for (uint64_t step = 0; step < 3; step++) {
        ds_policy_act(&p, obs, step, 3, step > 0 ? &r : NULL, action);
        for (uint64_t k = 0; k < p.n_act; k++) {
            const uint64_t row = step < p.lower.size / p.n_act ? step : p.lower.size / p.n_act - 1;
            FUZZ_REQUIRE(action[k] >= p.lower.data[row * p.n_act + k] &&
                         action[k] <= p.upper.data[row * p.n_act + k]);
        }
    }
    free(obs);
    ds_policy_free(&p);
    return 0;
}

/* ---- recordings: columns of numbers ---- */

static void parse(const uint8_t *data, size_t size, const recording_request *q, int cut)
{
    recording r;
    char error[RECORDING_ERROR] = "";
    const int status = recording_parse(&r, q, data, size, cut, error);
    if (status != RECORDING_OK) {
        FUZZ_REQUIRE(status == RECORDING_MALFORMED || status == RECORDING_NO_MEMORY);
        FUZZ_REQUIRE(error[0] != '\0' && r.value == NULL && r.time == NULL && r.rows == 0);
        return;
    }
    FUZZ_REQUIRE(r.rows >= 1 && r.rows <= RECORDING_ROWS && (q->rows == 0 || r.rows <= q->rows));
    FUZZ_REQUIRE(r.columns >= 1 && r.columns <= RECORDING_COLUMNS &&
                 (r.time != NULL) == (q->time[0] != '\0'));
    for (uint64_t k = 0; k < r.rows * r.columns; k++) {
        FUZZ_REQUIRE(isnan(r.value[k]) || fabs(r.value[k]) <= 1e12);
    }
    for (uint64_t i = 1; r.time != NULL && i < r.rows; i++) {
        FUZZ_REQUIRE(r.time[i] > r.time[i - 1]);
    }
    recording_free(&r);
}

static uint32_t little(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Corrects the checksum of members that are stored without compression. */
static void mend_checksums(uint8_t *data, size_t size)
{
    for (size_t at = 0; size >= 46 && at <= size - 46; at++) {
        if (memcmp(data + at, "PK\1\2", 4) != 0) {
            continue;
        }
        const size_t local = little(data + at + 42), length = little(data + at + 24);
        if (local > size || size - local < 30) {
            continue;
        }
        const size_t begin =
            local + 30 + (little(data + local + 26) & 0xffff) + (little(data + local + 26) >> 16);
        if (begin <= size && length <= size - begin) {
            const uLong sum = crc32(0, data + begin, (uInt)length);
            for (int i = 0; i < 4; i++) {
                data[at + 16 + (size_t)i] = (uint8_t)(sum >> (8 * i));
            }
        }
    }
}

int fuzz_recording(const uint8_t *data, size_t size)
{
    static const recording_request requests[] = {{.columns = "1", .time = ""},
                                                 {.columns = "2 3", .time = "1", .rows = 20},
                                                 {.columns = "a, b.2", .time = "t", .first = 1, .rows = 3},
                                                 {.columns = "angle", .time = "", .first = 2}};
    uint8_t *mended = malloc(size > 0 ? size : 1);
    FUZZ_REQUIRE(mended != NULL);
    memcpy(mended, data, size);
    mend_checksums(mended, size);
    for (size_t k = 0; k < sizeof requests / sizeof *requests; k++) {
        parse(data, size, &requests[k], k % 2 == 1);
        parse(mended, size, &requests[k], 0);
    }
    free(mended);
    return 0;
}

/* ---- recorded lifts that can be simulated ---- */

int fuzz_trajectory(const uint8_t *data, size_t size)
{
    trajectory t;
    char error[512] = "";
    int status = trajectory_parse(&t, (const char *)data, size, error);
    if (status != 0) {
        FUZZ_REQUIRE(status <= 2 && error[0] != '\0' && strchr(error, '\n') == NULL && t.row == NULL);
        return 0;
    }
    FUZZ_REQUIRE(t.rows >= 1 && t.rows <= TRAJECTORY_MAX_ROWS && t.size[0] > 0 && t.size[1] > 0);
    FUZZ_REQUIRE(isfinite(t.size[0]) && isfinite(t.size[1]) && isfinite(t.rate));
    double before = -INFINITY;
    for (uint64_t i = 0; i < t.rows; i++) {
        const double *row = t.row + TRAJECTORY_COLUMNS * i;
        FUZZ_REQUIRE(row[0] > before && isfinite(row[0]));
        before = row[0];
        for (int k = 1; k < 4; k++) {
            FUZZ_REQUIRE(isfinite(row[k]));
        }
        for (int c = 0; c < 4; c++) { /* a corner is known completely or not at all */
            const double *seen = row + 4 + 3 * c;
            FUZZ_REQUIRE((isfinite(seen[0]) && isfinite(seen[1]) && isfinite(seen[2])) ||
                         (isnan(seen[0]) && isnan(seen[1]) && isnan(seen[2])));
        }
    }
    trajectory_free(&t);
    return 0;
}

/* ---- PNG files: numbers in [0, 1] ---- */

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Gives each whole chunk (length, name, content, checksum) its checksum. */
static void mend_checksums_png(uint8_t *data, size_t size)
{
    for (size_t at = 8; size >= 12 && at <= size - 12;) {
        const size_t length = big_endian(data + at);
        if (length > size - 12 - at) {
            break;
        }
        const uLong sum = crc32(0, data + at + 4, (uInt)length + 4);
        uint8_t *to = data + at + 8 + length;
        for (int i = 0; i < 4; i++) {
            to[i] = (uint8_t)(sum >> (24 - 8 * i));
        }
        at += 12 + length;
    }
}

static void parse_png(const uint8_t *data, size_t size)
{
    png_picture p;
    char text[READ_PNG_TEXT];
    if (png_picture_parse(&p, data, size, text) != READ_PNG_OK) {
        FUZZ_REQUIRE(text[0] != '\0' && strchr(text, '\n') == NULL && p.pixel == NULL && p.width == 0);
        return;
    }
    FUZZ_REQUIRE(p.width > 0 && p.height > 0 && p.channels >= 1 && p.channels <= 4);
    FUZZ_REQUIRE(p.width <= READ_PNG_MAX_SIDE && p.height <= READ_PNG_MAX_SIDE);
    for (size_t i = 0; i < (size_t)p.width * p.height * p.channels; i++) {
        FUZZ_REQUIRE(p.pixel[i] >= 0 && p.pixel[i] <= 1);
    }
    png_picture_free(&p);
}

int fuzz_png(const uint8_t *data, size_t size)
{
    parse_png(data, size);
    uint8_t *mended = malloc(size > 0 ? size : 1);
    FUZZ_REQUIRE(mended != NULL);
    memcpy(mended, data, size);
    mend_checksums_png(mended, size);
    /* An image of many pixels that compresses to almost nothing only costs time. */
    if (size < 24 || (uint64_t)big_endian(mended + 16) * big_endian(mended + 20) <= 1 << 20) {
        parse_png(mended, size);
    }
    free(mended);
    return 0;
}

/* ---- meshes (Wavefront OBJ, Gmsh MSH, TetGen): elements that can be simulated ---- */

static void fuzz_check_mesh(int status, fem_mesh *m, const char *error)
{
    if (status != 0) {
        FUZZ_REQUIRE(status <= 2 && error[0] != '\0' && strchr(error, '\n') == NULL && m->point == NULL);
        return;
    }
    FUZZ_REQUIRE(m->points > 0 && m->points <= FEM_MOST_POINTS && m->triangles + m->tets > 0);
    for (size_t i = 0; i < 3 * m->points; i++) {
        FUZZ_REQUIRE(isfinite(m->point[i]));
    }
    for (size_t i = 0; i < 3 * m->triangles; i++) {
        FUZZ_REQUIRE(m->triangle[i] < m->points);
    }
    for (size_t i = 0; i < 4 * m->tets; i++) {
        FUZZ_REQUIRE(m->tet[i] < m->points);
    }
    fem_model body;
    fem_model_open(&body);
    fem_add_soft(&body, m, &(fem_placing){.angle = 0}, 1, (fem_solid){1, 1, 1});
    FUZZ_REQUIRE(body.status == DS_OK && body.tets == m->tets);
    fem_model_close(&body);
    fem_mesh_free(m);
}

int fuzz_obj(const uint8_t *data, size_t size)
{
    fem_mesh m;
    char error[FEM_READ_ERROR];
    fuzz_check_mesh(fem_parse_obj(&m, (const char *)data, size, "input", error), &m, error);
    return 0;
}

int fuzz_stl(const uint8_t *data, size_t size)
{
    fem_mesh m;
    char error[FEM_READ_ERROR];
    fuzz_check_mesh(fem_parse_stl(&m, (const char *)data, size, "input", error), &m, error);
    return 0;
}

/* A mesh that can be read either is a closed surface or is refused with one line. */
int fuzz_ply(const uint8_t *data, size_t size)
{
    fem_mesh m;
    char error[FEM_READ_ERROR], why[SURFACE_ERROR];
    fuzz_check_mesh(fem_parse_ply(&m, (const char *)data, size, "input", error), &m, error);
    if (fem_parse_ply(&m, (const char *)data, size, "input", error) != 0) {
        return 0;
    }
    surface s;
    if (surface_open(&s, &m, "input", why) != 0) {
        FUZZ_REQUIRE(why[0] != '\0' && strchr(why, '\n') == NULL && s.mesh.point == NULL);
        return 0;
    }
    const double middle[3] = {0.5 * (s.low[0] + s.high[0]), 0.5 * (s.low[1] + s.high[1]),
                              0.5 * (s.low[2] + s.high[2])};
    surface_inside(&s, middle);
    FUZZ_REQUIRE(s.volume > 0.0);
    surface_free(&s);
    return 0;
}

/* ---- scene files ---- */

static const char *const scene_words[] = {"one", "two", NULL};
static const ds_param *const scene_schema[] = {DS_REAL("size", "0.5", 0, 1, "m", ""),
                                               DS_INT("count", "3", 1, 10, "", ""),
                                               DS_BOOL("held", "true", ""),
                                               DS_ENUM("word", "two", scene_words, ""),
                                               DS_LIST("at", "1, 2", -5, 5, 4, "", ""),
                                               DS_PATH("file", "", ""),
                                               NULL};
static const scene_key scene_keys[] = {{"params", "size", "size"}, {"params", "count", "count"},
                                       {"params", "held", "held"}, {"params", "word", "word"},
                                       {"params", "at", "at"},     {"params", "file", "file"},
                                       {NULL, NULL, NULL}};

/* The same section as parameters: what the file does not refuse is in the ranges of the schema. */
static void scene_as_parameters(scene_file *f)
{
    static const ds_host outer = {.struct_size = sizeof outer};
    ds_memory room = {0};
    scene_params p;
    FUZZ_REQUIRE(scene_params_open(&p, f, &outer, scene_schema, scene_keys, &room) == DS_OK);
    ds_param_reader in = {&p.host, DS_OK};
    double at[2] = {0, 0};
    const double size = ds_param_real(&in, "size");
    const int64_t count = ds_param_int(&in, "count"), word = ds_param_int(&in, "word");
    uint64_t n;
    const double *list = ds_param_list(&in, "at", &n);
    FUZZ_REQUIRE(in.status == DS_OK && word >= 0 && word < 2 && ds_param_int(&in, "held") < 2);
    FUZZ_REQUIRE(strcmp(ds_param_text(&in, "word"), scene_words[word]) == 0);
    FUZZ_REQUIRE(scene_failed(f) || (size >= 0 && size <= 1 && count >= 1 && count <= 10 && n <= 4));
    for (uint64_t i = 0; i < n; i++) {
        FUZZ_REQUIRE(list[i] >= -5 && list[i] <= 5);
    }
    FUZZ_REQUIRE(scene_has(f, scene_next(f, NULL, "params"), "at") || scene_failed(f) ||
                 (n == 2 && list[0] == 1 && list[1] == 2));
    scene_params_set_list(&p, "at", 2, (double[]){3, 4});
    ds_param_values(&in, "at", 2, at);
    FUZZ_REQUIRE(at[0] == 3 && at[1] == 4);
    ds_memory_free(&room);
}

int fuzz_scene(const uint8_t *data, size_t size)
{
    static const char *const kinds[] = {"scene", "body", "params", NULL};
    scene_file *f = scene_file_parse((const char *)data, size, "input", "");
    FUZZ_REQUIRE(f != NULL);
    scene_kinds(f, kinds);
    for (const scene_section *s = NULL; (s = scene_next(f, s, "body"));) {
        double at[3] = {0.0};
        const scene_quantity q = scene_quantity_of(f, s, "radius", 0.0, 1.0, 0.5);
        scene_numbers(f, s, "center", 3, true, -1.0, 1.0, at);
        FUZZ_REQUIRE(scene_failed(f) || (q.value >= 0.0 && q.value <= 1.0));
        FUZZ_REQUIRE(scene_failed(f) || (at[0] >= -1.0 && at[2] <= 1.0));
        FUZZ_REQUIRE(scene_whole(f, s, "count", 1, 10, 1) <= 10);
        double list[4];
        scene_quantity v[3] = {{.value = 0.5}, {.value = 0.5}, {.value = 0.5}};
        const size_t n = scene_list(f, s, "list", 4, -1.0, 1.0, list);
        FUZZ_REQUIRE(n <= 4 && (n == 0 || (list[n - 1] >= -1.0 && list[n - 1] <= 1.0)));
        scene_quantities(f, s, "velocity", 3, -2.0, 2.0, v);
        for (size_t i = 0; i < 3; i++) {
            FUZZ_REQUIRE(scene_failed(f) || (v[i].value >= -2.0 && v[i].value + v[i].random <= 2.0));
            FUZZ_REQUIRE(scene_failed(f) || !v[i].variable ||
                         (v[i].lower < v[i].upper && v[i].value >= v[i].lower && v[i].upper <= 2.0));
        }
    }
    scene_as_parameters(f);
    scene_done(f);
    FUZZ_REQUIRE(scene_failed(f) == (scene_error(f)[0] != '\0'));
    FUZZ_REQUIRE(strchr(scene_error(f), '\n') == NULL);
    scene_file_free(f);
    return 0;
}

int fuzz_gmsh(const uint8_t *data, size_t size)
{
    fem_mesh m;
    char error[FEM_READ_ERROR];
    fuzz_check_mesh(fem_parse_gmsh(&m, (const char *)data, size, "input", error), &m, error);
    return 0;
}

/* A .node file, a zero byte, its .ele file. */
int fuzz_tetgen(const uint8_t *data, size_t size)
{
    fem_mesh m;
    char error[FEM_READ_ERROR];
    const char *node = (const char *)data, *cut = size ? memchr(node, 0, size) : NULL;
    const size_t node_size = cut ? (size_t)(cut - node) : size, skip = node_size + (cut != NULL);
    int status = fem_parse_tetgen(&m, node, node_size, "a.node", node + skip, size - skip, "a.ele", error);
    fuzz_check_mesh(status, &m, error);
    return 0;
}

/* ---- robots ---- */

int fuzz_robot(const uint8_t *data, size_t size)
{
    ds_memory room = {0};
    robot r;
    char error[ROBOT_ERROR];
    int failed = robot_parse(&room, (const char *)data, size, "input", &(robot_options){0}, &r, error);
    FUZZ_REQUIRE(failed == 0 || (error[0] != '\0' && strchr(error, '\n') == NULL));
    for (int i = 0; failed == 0 && i < r.tree->links; i++) {
        const tree_link *l = &r.tree->link[i];
        FUZZ_REQUIRE(l->parent < i && l->mass >= 0 && isfinite(l->mass) && isfinite(l->axis[0]));
    }
    ds_memory_free(&room);
    return 0;
}
