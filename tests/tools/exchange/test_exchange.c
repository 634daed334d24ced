/* SPDX-License-Identifier: Apache-2.0 */
/* test_exchange.c - files for other programs, read back by the rules of their formats: arrays of a VTU by
 * offsets and blocks, PLY and OBJ by counts, samples of USD. Positions are the trajectory's; surfaces of
 * rigid shapes are closed and have their volume; episodes that diverge, folders that cannot be written. */
#include "config.h"

#include "base/text.h"
#include "exchange/exchange.h"
#include "exchange/series.h"
#include "synthetic_scene.h"
#include "temporary.h"
#include "test.h"

#include <zlib.h>

typedef struct set {
    synthetic s;
    ds_view_episode item;
    ds_view_episodes all;
    temporary t;
} set;

static void open_set(set *x)
{
    static char title[] = "a \"torus\" & <more> \\ of it", env[] = "torus", none[] = "";
    ds_error e = {0};
    memset(x, 0, sizeof *x);
    synthetic_init(&x->s);
    x->item = (ds_view_episode){.title = title, .env = env, .opt = none, .settings = none, .loss = 1.5};
    if (ds_snapshot_take(&synthetic_ext, &x->s, DS_KEEP_ALL, &x->item.scene, &e) != 0) {
        fail_msg("%s", e.text);
    }
    x->all = (ds_view_episodes){.item = &x->item, .count = 1};
    temporary_open(&x->t);
}

static void close_set(set *x)
{
    ds_snapshot_free(x->item.scene);
    temporary_close(&x->t);
}

static const double *at(const set *x, uint64_t k, uint64_t b)
{
    return ds_snapshot_at(x->item.scene, k, b);
}

/* ---- VTK ---- */

/* The value of an attribute after `from`, as a number. */
static long attribute(const char *from, const char *name)
{
    char text[64];
    snprintf(text, sizeof text, " %s=\"", name);
    const char *p = strstr(from, text);
    assert_non_null(p);
    return strtol(p + strlen(text), NULL, 10);
}

/* The bytes of an array, decompressed; to be freed. */
static void *vtu_array(const unsigned char *file, size_t length, const char *name, size_t *size)
{
    char text[80];
    snprintf(text, sizeof text, "Name=\"%s\"", name);
    const char *array = strstr((const char *)file, text),
               *start = memmem(file, length, "<AppendedData encoding=\"raw\">\n_", 31);
    assert_non_null(array);
    assert_non_null(start);
    const unsigned char *p = (const unsigned char *)start + 31 + attribute(array, "offset");
    uint64_t head[3];
    memcpy(head, p, sizeof head);
    const uint64_t whole = head[0] == 0   ? 0
                           : head[2] == 0 ? head[0] * head[1]
                                          : (head[0] - 1) * head[1] + head[2];
    unsigned char *out = malloc(whole + 1);
    assert_non_null(out);
    const unsigned char *data = p + 8 * (3 + head[0]);
    for (uint64_t i = 0; i < head[0]; i++) {
        uint64_t packed;
        memcpy(&packed, p + 8 * (3 + i), 8);
        uLongf n = (uLongf)(whole - i * head[1] < head[1] ? whole - i * head[1] : head[1]);
        const uLongf wanted = n;
        assert_true(data + packed <= file + length);
        assert_int_equal(uncompress(out + i * head[1], &n, data, packed), Z_OK);
        assert_int_equal(n, wanted);
        data += packed;
    }
    *size = whole;
    return out;
}

/* Every element that is opened is closed, up to the appended data. */
static void well_formed(const char *text)
{
    char open[32][40];
    int depth = 0;
    for (const char *p = strstr(text, "?>") + 2; strncmp(p, "<AppendedData", 13) != 0 && *p != '\0'; p++) {
        if (*p != '<') {
            continue;
        }
        const char *end = strchr(p, '>');
        assert_non_null(end);
        if (p[1] == '/') {
            depth--;
            assert_true(depth >= 0);
            assert_int_equal(strncmp(p + 2, open[depth], strlen(open[depth])), 0);
        } else if (end[-1] != '/') {
            assert_true(depth < 32);
            snprintf(open[depth++], 40, "%.*s", (int)strcspn(p + 1, " >"), p + 1);
        }
        p = end;
    }
}

static void check_vtu(const set *x, const char *path, uint64_t k)
{
    size_t length, n, m;
    unsigned char *file = temporary_read(path, &length);
    const char *text = (const char *)file;
    well_formed(text);
    const long points = attribute(text, "NumberOfPoints"), cells = attribute(text, "NumberOfCells");
    double *xyz = vtu_array(file, length, "Points", &n);
    assert_int_equal(n, 24 * (size_t)points);
    /* Slab, torus, goal, cloth, rope, one after the other. */
    assert_memory_equal(xyz, at(x, k, SYN_SLAB), SYN_POINTS * 24);
    assert_memory_equal(xyz + 3 * (points - 8), at(x, k, SYN_CLOTH), 4 * 24);
    assert_memory_equal(xyz + 3 * (points - 4), at(x, k, SYN_ROPE), 4 * 24);
    assert_memory_equal(xyz + 3 * (points - 8 - SYN_POINTS), at(x, k, SYN_TARGET), SYN_POINTS * 24);
    int64_t *corner = vtu_array(file, length, "connectivity", &n),
            *end = vtu_array(file, length, "offsets", &m);
    uint8_t *type = vtu_array(file, length, "types", &m);
    assert_int_equal(m, cells);
    int32_t *body = vtu_array(file, length, "body", &m), *role = vtu_array(file, length, "role", &m);
    assert_int_equal(m, 4 * (size_t)cells);
    int64_t before = 0;
    for (long i = 0; i < cells; i++) {
        const int corners = type[i] == 1 ? 1 : type[i] == 3 ? 2 : type[i] == 5 ? 3 : 0;
        assert_true(corners > 0);
        assert_int_equal(end[i], before + corners);
        for (int64_t c = before; c < end[i]; c++) {
            assert_true(corner[c] >= 0 && corner[c] < points);
        }
        assert_int_equal(role[i], x->item.scene->body[body[i]].role);
        assert_int_equal(corners, body[i] == SYN_ROPE                           ? 2
                                  : body[i] == SYN_TOOL || body[i] == SYN_CLOTH ? 3
                                                                                : 1);
        before = end[i];
    }
    assert_int_equal(n, 8 * (size_t)before);
    double *time = vtu_array(file, length, "TimeValue", &n),
           *pose = vtu_array(file, length, "torus_poses", &m);
    assert_true(fabs(time[0] - 0.04 * (double)k) < 1e-15);
    assert_int_equal(m, 56);
    assert_memory_equal(pose, at(x, k, SYN_TOOL), 56);
    double *velocity = vtu_array(file, length, "velocity", &n);
    const double *now = at(x, k, SYN_SLAB), *last = at(x, k > 0 ? k - 1 : 0, SYN_SLAB);
    for (int i = 0; i < 3 * SYN_POINTS; i++) {
        assert_true(fabs(velocity[i] - (now[i] - last[i]) / 0.04) < 1e-9);
    }
    free(xyz);
    free(corner);
    free(end);
    free(type);
    free(body);
    free(role);
    free(time);
    free(pose);
    free(velocity);
    free(file);
}

static void test_vtk(void **state)
{
    set x;
    ds_error e = {0};
    size_t length;
    open_set(&x);
    assert_int_equal(ds_exchange_pvd(temporary_path(&x.t, "a&b.pvd"), &x.all, &e), 0);
    assert_int_equal(temporary_count(&x.t), SYN_FRAMES + 1);
    unsigned char *file = temporary_read(temporary_path(&x.t, "a&b.pvd"), &length);
    well_formed((char *)file);
    const char *p = (const char *)file;
    for (uint64_t k = 0; k < SYN_FRAMES; k++) {
        char name[64];
        p = strstr(p, "<DataSet timestep=\"");
        assert_non_null(p);
        assert_true(fabs(ds_strtod(p + 19, NULL) - 0.04 * (double)k) < 1e-15);
        snprintf(name, sizeof name, "file=\"a&amp;b-%04d.vtu\"", (int)k);
        assert_non_null(strstr(p, name));
        p += 10;
        snprintf(name, sizeof name, "a&b-%04d.vtu", (int)k);
        check_vtu(&x, temporary_path(&x.t, name), k);
    }
    free(file);
    close_set(&x);
}

/* ---- PLY and OBJ ---- */

static void test_ply(void **state)
{
    set x;
    ds_error e = {0};
    size_t length;
    open_set(&x);
    x.all.options.every = 5;
    assert_int_equal(ds_exchange_ply(temporary_path(&x.t, "a.ply"), &x.all, &e), 0);
    assert_int_equal(temporary_count(&x.t), 3); /* 0, 5, 10 */
    unsigned char *file = temporary_read(temporary_path(&x.t, "a-0005.ply"), &length);
    const char *text = (const char *)file, *data = strstr(text, "end_header\n");
    assert_non_null(data);
    data += 11;
    assert_int_equal(strncmp(text, "ply\nformat binary_little_endian 1.0\n", 36), 0);
    const long vertices = strtol(strstr(text, "element vertex ") + 15, NULL, 10),
               faces = strtol(strstr(text, "element face ") + 13, NULL, 10),
               edges = strtol(strstr(text, "element edge ") + 13, NULL, 10);
    assert_int_equal(edges, 3);
    assert_int_equal((const unsigned char *)data - file + vertices * 31 + faces * 13 + edges * 8, length);
    for (int i = 0; i < SYN_POINTS; i++) {
        assert_memory_equal(data + 31 * i, at(&x, 5, SYN_SLAB) + 3 * i, 24);
    }
    for (long i = 0; i < faces; i++) {
        const char *row = data + 31 * vertices + 13 * i;
        assert_int_equal(row[0], 3);
        for (int c = 0; c < 3; c++) {
            int32_t v;
            memcpy(&v, row + 1 + 4 * c, 4);
            assert_true(v >= SYN_POINTS && v < vertices - 4);
        }
    }
    free(file);
    close_set(&x);
}

static void test_obj(void **state)
{
    set x;
    ds_error e = {0};
    size_t length;
    static const char kinds[] = "plf";
    long vertices = 0, counted[3] = {0};
    char *save = NULL;
    open_set(&x);
    x.all.options.every = 100;
    assert_int_equal(ds_exchange_obj(temporary_path(&x.t, "a.obj"), &x.all, &e), 0);
    assert_int_equal(temporary_count(&x.t), 3); /* 0, 10, colours */
    unsigned char *file = temporary_read(temporary_path(&x.t, "a-0010.obj"), &length);
    for (char *line = strtok_r((char *)file, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
        char *p = line + 2;
        const char *kind = strchr(kinds, line[0]);
        if (line[0] == 'v') {
            for (int k = 0; k < 3; k++) {
                const double v = ds_strtod(p, &p);
                assert_true(vertices >= SYN_POINTS ||
                            fabs(v - at(&x, 10, SYN_SLAB)[3 * vertices + k]) < 1e-10);
            }
            vertices++;
        } else if (kind != NULL && line[1] == ' ') {
            counted[kind - kinds]++;
            while (*p != '\0') {
                const long v = strtol(p, &p, 10);
                assert_true(v >= 1 && v <= vertices);
            }
        }
    }
    assert_int_equal(counted[0], 2 * SYN_POINTS);
    assert_int_equal(counted[1], 3);
    assert_true(counted[2] > 1000);
    free(file);
    file = temporary_read(temporary_path(&x.t, "a.mtl"), &length);
    assert_non_null(strstr((char *)file, "newmtl slab\nKd "));
    free(file);
    close_set(&x);
}

/* ---- USD ---- */

/* Numbers of the sample of frame k of an attribute of a prim, in order. */
static size_t sample(const char *text, const char *prim, const char *name, int k, double *out, size_t room)
{
    char key[120];
    snprintf(key, sizeof key, "\"%s\"\n", prim);
    const char *p = strstr(text, key);
    assert_non_null(p);
    snprintf(key, sizeof key, "%s.timeSamples = {", name);
    p = strstr(p, key);
    assert_non_null(p);
    snprintf(key, sizeof key, " %d: ", k);
    p = strstr(p, key);
    assert_non_null(p);
    p += strlen(key);
    size_t n = 0;
    for (; *p != '\n'; p++) {
        if (strchr("-0123456789", *p) != NULL) {
            char *end;
            assert_true(n < room);
            out[n++] = ds_strtod(p, &end);
            p = end - 1;
        }
    }
    return n;
}

static void test_usd(void **state)
{
    set x;
    ds_error e = {0};
    size_t length;
    double *v = malloc(3 * SYN_POINTS * sizeof *v);
    assert_non_null(v);
    open_set(&x);
    assert_int_equal(ds_exchange_usda(temporary_path(&x.t, "a.usda"), &x.all, &e), 0);
    assert_int_equal(temporary_count(&x.t), 1);
    char *text = (char *)temporary_read(temporary_path(&x.t, "a.usda"), &length);
    assert_int_equal(strncmp(text, "#usda 1.0\n", 10), 0);
    assert_non_null(strstr(text, "doc = \"a \\\"torus\\\" & <more> \\\\ of it\"\n"));
    assert_non_null(strstr(
        text, "    metersPerUnit = 1\n    upAxis = \"Y\"\n    startTimeCode = 0\n    endTimeCode = 10\n"
              "    timeCodesPerSecond = 25\n"));
    long depth = 0;
    for (const char *p = strstr(text, ")\n\n"); *p != '\0'; p++) {
        depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
        assert_true(depth >= 0);
    }
    assert_int_equal(depth, 0);
    for (int k = 0; k < SYN_FRAMES; k += 5) {
        assert_int_equal(sample(text, "slab", "point3f[] points", k, v, 3 * SYN_POINTS), 3 * SYN_POINTS);
        for (int i = 0; i < 3 * SYN_POINTS; i++) {
            assert_true(fabs(v[i] - at(&x, (uint64_t)k, SYN_SLAB)[i]) < 1e-7);
        }
        assert_int_equal(sample(text, "torus", "double3 xformOp:translate", k, v, 3), 3);
        assert_true(fabs(v[1] - at(&x, (uint64_t)k, SYN_TOOL)[1]) < 1e-14);
    }
    /* A body at rest is written once, and a torus is a mesh. */
    const char *goal = strstr(text, "def Points \"goal\"");
    assert_non_null(goal);
    assert_non_null(strstr(goal, "point3f[] points = ["));
    assert_non_null(strstr(text, "def Mesh \"shape\""));
    assert_non_null(strstr(text, "def BasisCurves \"rope\""));
    assert_non_null(strstr(text, "custom double metrics:iou.timeSamples"));
    free(text);
    free(v);
    close_set(&x);
}

/* ---- surfaces ---- */

/* Volume that a closed surface with outward triangles encloses; every edge belongs to two triangles, once in
 * each direction. */
static double volume(const ds_snapshot_body *body, const double *data)
{
    ds_surface s;
    ds_error e = {0};
    assert_int_equal(ds_surface_make(body, &s, &e), 0);
    double *xyz = malloc((size_t)s.vertices * 3 * sizeof *xyz), sum = 0;
    assert_non_null(xyz);
    ds_surface_place(&s, data, xyz);
    for (uint64_t i = 0; i < s.cells; i++) {
        const double *a = xyz + 3 * (uint64_t)s.index[3 * i], *b = xyz + 3 * (uint64_t)s.index[3 * i + 1],
                     *c = xyz + 3 * (uint64_t)s.index[3 * i + 2];
        sum += (a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) +
                a[2] * (b[0] * c[1] - b[1] * c[0])) /
               6;
    }
    /* In a closed surface the end vertices of directed edges are the start vertices of others: a sum of
     * hashes of (from, to) equals that of (to, from). */
    uint64_t forth = 0, back = 0;
    for (uint64_t i = 0; i < s.cells; i++) {
        for (int k = 0; k < 3; k++) {
            const uint64_t a = s.index[3 * i + (uint64_t)k], b = s.index[3 * i + (uint64_t)(k + 1) % 3];
            uint64_t h = (a * 0x9e3779b97f4a7c15u) ^ (b * 0xc2b2ae3d27d4eb4fu),
                     r = (b * 0x9e3779b97f4a7c15u) ^ (a * 0xc2b2ae3d27d4eb4fu);
            h ^= h >> 29;
            r ^= r >> 29;
            forth += h * 0xbf58476d1ce4e5b9u;
            back += r * 0xbf58476d1ce4e5b9u;
        }
    }
    assert_true(forth == back);
    for (uint64_t i = 0; i < s.vertices; i++) {
        assert_int_equal(ds_surface_element(&s, i), i / (s.vertices / body->count));
    }
    free(xyz);
    ds_surface_clear(&s);
    return sum;
}

static void test_surfaces(void **state)
{
    const double pi = acos(-1.0), r = 0.3, h = 1.1;
    /* Two copies, the second one turned and moved. */
    const double pose[14] = {0, 0, 0, 1, 0, 0, 0, 2, -1, 0.5, 0.5, 0.5, -0.5, 0.5};
    const struct {
        uint32_t shape;
        double size[3], volume;
    } shape[] = {{DS_BODY_SPHERE, {0.3}, 4 * pi / 3 * r * r * r},
                 {DS_BODY_CAPSULE, {0.3, 1.1}, 4 * pi / 3 * r * r * r + pi * r * r * h},
                 {DS_BODY_CYLINDER, {0.3, 1.1}, pi * r * r * h},
                 {DS_BODY_TORUS, {1.1, 0.3}, 2 * pi * pi * h * r * r},
                 {DS_BODY_BOX, {0.2, 0.3, 0.4}, 8 * 0.2 * 0.3 * 0.4}};
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        ds_snapshot_body body = {.shape = shape[i].shape, .width = 7, .count = 2};
        memcpy(body.size, shape[i].size, sizeof shape[i].size);
        const double v = volume(&body, pose) / 2 / shape[i].volume;
        if (!(v > 0.985 && v < 1.00001)) {
            fail_msg("shape %d has %g of its volume", (int)shape[i].shape, v);
        }
    }
}

/* A vertex of the torus lies on it, wherever it is: its distance from the central circle is the minor radius.
 */
static void test_places(void **state)
{
    set x;
    ds_surface s;
    ds_error e = {0};
    open_set(&x);
    const ds_snapshot_body *body = &x.item.scene->body[SYN_TOOL];
    assert_int_equal(ds_surface_make(body, &s, &e), 0);
    double *xyz = malloc((size_t)s.vertices * 3 * sizeof *xyz), most = 0;
    assert_non_null(xyz);
    ds_surface_place(&s, at(&x, 7, SYN_TOOL), xyz);
    for (uint64_t i = 0; i < s.vertices; i++) {
        const double *p = at(&x, 7, SYN_TOOL);
        const double away = hypot(xyz[3 * i] - p[0], xyz[3 * i + 2] - p[2]) - 0.05,
                     up = xyz[3 * i + 1] - p[1];
        most = fmax(most, fabs(hypot(away, up) - 0.03));
    }
    assert_true(most < 1e-7); /* the model has single precision */
    free(xyz);
    ds_surface_clear(&s);
    close_set(&x);
}

/* ---- errors ---- */

static void test_errors(void **state)
{
    ds_view_episodes *all;
    set x;
    ds_error e = {0};
    open_set(&x);
    all = &x.all;
    int (*const write[])(const char *, const ds_view_episodes *,
                         ds_error *) = {ds_exchange_pvd, ds_exchange_usda, ds_exchange_ply, ds_exchange_obj};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(write[i]("/nowhere/a.xyz", all, &e), DS_EXIT_IO);
        assert_int_equal(strncmp(e.text, "/nowhere/a", 10), 0);
    }
    /* The episode diverges at frame 4: four frames remain. */
    x.item.scene->body[SYN_SLAB].data[4 * 3 * SYN_POINTS + 11] = NAN;
    assert_int_equal(ds_exchange_ply(temporary_path(&x.t, "a.ply"), all, &e), 0);
    assert_int_equal(temporary_count(&x.t), 4);
    assert_int_equal(access(temporary_path(&x.t, "a-0003.ply"), R_OK), 0);
    /* A vertex that is never finite is left out, and the others keep their numbers. */
    x.item.scene->body[SYN_SLAB].data[7] = INFINITY;
    x.item.scene->body[SYN_SLAB].nonfinite = 2;
    x.item.scene->body[SYN_CLOTH].data[0] = NAN; /* both triangles have that corner */
    x.item.scene->body[SYN_CLOTH].nonfinite = 1;
    all->options.every = 3;
    assert_int_equal(ds_exchange_vtu(temporary_path(&x.t, "b.vtu"), all, &e), 0);
    size_t length, n;
    unsigned char *file = temporary_read(temporary_path(&x.t, "b-0003.vtu"), &length);
    double *xyz = vtu_array(file, length, "Points", &n);
    int32_t *element = vtu_array(file, length, "element", &n), *body = vtu_array(file, length, "body", &n);
    assert_true(element[1] == 1 && element[2] == 3);
    assert_memory_equal(xyz + 6, at(&x, 3, SYN_SLAB) + 9, 24);
    for (size_t i = 0; i < n / 4; i++) {
        assert_int_not_equal(body[i], SYN_CLOTH);
    }
    free(xyz);
    free(element);
    free(body);
    free(file);
    /* No position is finite. */
    const uint64_t bodies = x.item.scene->bodies;
    x.item.scene->bodies = 1;
    for (size_t i = 0; i < SYN_POINTS; i++) {
        x.item.scene->body[SYN_SLAB].data[3 * i + 1] = NAN;
    }
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(write[i](temporary_path(&x.t, "b.xyz"), all, &e), DS_EXIT_PLUGIN);
        assert_non_null(strstr(e.text, "no position in the first frame is finite"));
    }
    x.item.scene->bodies = bodies;
    /* One frame is the file itself. */
    x.item.scene->kept = 1;
    assert_int_equal(ds_exchange_vtu(temporary_path(&x.t, "one.vtu"), all, &e), 0);
    assert_int_equal(access(temporary_path(&x.t, "one.vtu"), R_OK), 0);
    close_set(&x);
}

RUN_TESTS(test_vtk, test_ply, test_obj, test_usd, test_surfaces, test_places, test_errors)
