/* SPDX-License-Identifier: Apache-2.0 */
/* test_snapshot.c - the checked copy of a scene: what is accepted and refused, damaged blocks, trajectory
 * files. */
#include "config.h"

#include "config/npy.h"
#include "results/trajectory.h"
#include "synthetic_scene.h"
#include "temporary.h"
#include "test.h"

#include <sys/mman.h>

static ds_snapshot *collect(synthetic *s, const uint64_t *keep, uint64_t n)
{
    ds_snapshot *d = NULL;
    ds_error e = {0};
    if (ds_snapshot_collect(&synthetic_ext, s, keep, n, &d, &e) != 0) {
        fail_msg("%s", e.text);
    }
    return d;
}

/* A scene of a few hundred bytes, so that every byte of its block can be tried. */
static void make_small(synthetic *s)
{
    synthetic_init(s);
    s->info.frames = 3;
    s->info.bodies = 2;
    s->body[0] = s->body[SYN_CLOTH];
    s->body[1] = s->body[SYN_TOOL];
}

/* The frame callback of the full scene fills by body number; the small one has a cloth first. */
static ds_status small_frame(void *self, uint64_t k, uint64_t b, uint64_t capacity, double *out)
{
    return synthetic_frame(self, k, b == 0 ? (uint64_t)SYN_CLOTH : (uint64_t)SYN_TOOL, capacity, out);
}

static void test_collect(void **state)
{
    synthetic s;
    synthetic_init(&s);
    ds_snapshot *d = collect(&s, NULL, 0);
    assert_int_equal(d->frames, SYN_FRAMES);
    assert_int_equal(d->kept, SYN_FRAMES);
    assert_int_equal(d->bodies, SYN_BODIES);
    assert_int_equal(d->nonfinite, 0);
    assert_string_equal(d->body[SYN_TOOL].name, "torus");
    assert_int_equal(d->body[SYN_TOOL].width, 7);
    assert_true(d->body[SYN_TOOL].size[1] == 0.03);
    assert_true(ds_snapshot_at(d, 10, SYN_TOOL)[1] == 0.2 - 0.1);
    assert_string_equal(d->body[SYN_ROPE].name, "rope");
    assert_int_equal(d->body[SYN_ROPE].index[5], 3);
    const ds_snapshot_metric *m = &d->metric[1];
    assert_string_equal(m->name, "com_y");
    assert_non_null(m);
    assert_string_equal(m->unit, "m");
    assert_true(isnan(m->values[0]));
    ds_snapshot_free(d);
}

static void test_keep(void **state)
{
    synthetic s;
    synthetic_init(&s);
    static const uint64_t keep[] = {DS_SCENE_LAST, 0, 3, 3, 99, DS_SCENE_MIDDLE, 10};
    static const uint64_t expected[] = {0, 3, 5, 10};
    ds_snapshot *d = collect(&s, keep, 7);
    assert_int_equal(d->kept, 4);
    assert_memory_equal(d->frame, expected, sizeof expected);
    assert_true(ds_snapshot_at(d, 3, SYN_TOOL)[1] == 0.2 - 0.1);
    ds_snapshot_free(d);
    d = collect(&s, keep, 0);
    assert_int_equal(d->kept, 0);
    assert_true(d->metric[0].values[10] == 1.0);
    ds_snapshot_free(d);
}

static void refused(synthetic *s, const char *expected)
{
    ds_snapshot *d = (ds_snapshot *)s;
    ds_error e = {0};
    int status = ds_snapshot_collect(&synthetic_ext, s, NULL, 0, &d, &e);
    if (status != DS_EXIT_PLUGIN || strstr(e.text, expected) == NULL) {
        fail_msg("expected \"%s\", got %d: %s", expected, status, e.text);
    }
    assert_null(d);
    synthetic_init(s);
}

/* The scene of a plugin that was compiled before scenes had cameras. */
static ds_status info_without_camera(void *self, ds_scene_info *out)
{
    memcpy((char *)out + sizeof out->struct_size,
           (const char *)&((synthetic *)self)->info + sizeof out->struct_size,
           DS_SCENE_INFO_SIZE_1_0 - sizeof out->struct_size);
    return DS_OK;
}

static void test_camera(void **state)
{
    synthetic s;
    ds_error e = {0};
    synthetic_init(&s);
    ds_snapshot *d = collect(&s, NULL, 0);
    assert_int_equal(d->camera, 0);
    ds_snapshot_free(d);
    s.info.camera = 1;
    s.info.azimuth = -30;
    s.info.elevation = 20.5;
    d = collect(&s, NULL, 0);
    assert_true(d->camera == 1 && d->azimuth == -30 && d->elevation == 20.5);
    ds_snapshot_free(d);
    s.info.camera = 2; /* of a later version */
    d = collect(&s, NULL, 0);
    assert_true(d->camera == 0 && d->azimuth == 0 && d->elevation == 0);
    ds_snapshot_free(d);
    s.info.camera = 1;
    ds_scene old = synthetic_ext;
    old.info = info_without_camera;
    assert_int_equal(ds_snapshot_collect(&old, &s, NULL, 0, &d, &e), 0);
    assert_int_equal(d->camera, 0);
    assert_int_equal(d->frames, SYN_FRAMES);
    ds_snapshot_free(d);
}

static void test_refused_info(void **state)
{
    synthetic s;
    synthetic_init(&s);
    s.fail_info = DS_E_STATE;
    refused(&s, "kept no scene");
    s.fail_info = DS_E_GENERIC;
    refused(&s, "info() of the plugin failed");
    s.info.frames = 0;
    refused(&s, "0 frames");
    s.info.frames = UINT64_MAX / 2;
    refused(&s, "frames (allowed");
    s.info.bodies = 1u << 20;
    refused(&s, "1048576 bodies");
    s.info.metrics = UINT64_MAX;
    refused(&s, "metrics");
    s.info.flat = 2;
    refused(&s, "flat is 2");
    s.info.dt = -1;
    refused(&s, "dt is -1");
    s.info.box[4] = (double)INFINITY;
    refused(&s, "along y");
    s.info.box[3] = s.info.box[0] - 1;
    refused(&s, "along x");
    memset(s.info.box, 0, sizeof s.info.box);
    refused(&s, "is a point");
    s.info.ground = (double)NAN;
    refused(&s, "ground is");
    s.info.camera = 1;
    s.info.azimuth = (double)NAN;
    refused(&s, "azimuth nan");
    s.info.camera = 1;
    s.info.elevation = 90.5;
    refused(&s, "elevation 90.5");
    ds_scene lacking = synthetic_ext;
    ds_snapshot *d;
    ds_error e = {0};
    lacking.frame = NULL;
    assert_int_equal(ds_snapshot_collect(&lacking, &s, NULL, 0, &d, &e), DS_EXIT_PLUGIN);
    assert_non_null(strstr(e.text, "lacks a function"));
    lacking = synthetic_ext;
    lacking.struct_size = 16;
    assert_int_equal(ds_snapshot_collect(&lacking, &s, NULL, 0, &d, &e), DS_EXIT_PLUGIN);
    assert_non_null(strstr(e.text, "struct_size is 16, 40 to 65536 are possible"));
}

static void test_refused_bodies(void **state)
{
    static const char *const names[] = {"",
                                        "Torus",
                                        "1torus",
                                        "to rus",
                                        "../x",
                                        NULL,
                                        "a123456789012345678901234567890123456789012345678901234567890123"};
    synthetic s;
    synthetic_init(&s);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        s.body[1].name = names[i];
        refused(&s, "the name of body 1 is not");
        s.metric_name[0] = names[i];
        refused(&s, "the name of metric 0 is not");
    }
    s.body[2].name = "slab";
    refused(&s, "bodies 0 and 2 are both named 'slab'");
    s.body[0].shape = 0;
    refused(&s, "'slab' has the unknown shape 0");
    s.body[0].count = 0;
    refused(&s, "'slab' has 0 elements");
    s.body[0].count = UINT64_MAX;
    refused(&s, "'slab' has 18446744073709551615 elements");
    s.body[0].count = 100000000;
    refused(&s, "keep fewer frames");
    s.body[1].size[1] = (double)NAN;
    refused(&s, "size[1] of body 'torus'");
    s.body[1].index_count = 3;
    refused(&s, "'torus' has 3 index numbers (allowed: none)");
    s.body[SYN_CLOTH].index_count = 5;
    refused(&s, "3 per triangle");
    s.body[SYN_ROPE].index_count = UINT64_MAX - 1;
    refused(&s, "too many index numbers");
    s.body[SYN_ROPE].index = NULL;
    refused(&s, "is NULL");
    s.triangles[4] = 4;
    refused(&s, "index number 4 of body 'cloth' is 4 but there are 4 vertices");
    s.fail_body = DS_E_ARG;
    refused(&s, "body() of the plugin failed");
    s.fail_frame = DS_E_GENERIC;
    refused(&s, "frame() of the plugin failed");
    s.fail_metric = DS_E_GENERIC;
    refused(&s, "metric() of the plugin failed");
    s.metric_name[1] = "iou";
    refused(&s, "metrics 0 and 1 are both named 'iou'");
    s.metric_unit[1] = "a\nb";
    refused(&s, "the unit of metric 1");
    s.metric_unit[1] = NULL;
    refused(&s, "the unit of metric 1");
    s.metric_values[1] = NULL;
    refused(&s, "are NULL");
}

/* Additions of a later version of the extension: a body with an unknown shape is left out, one with an
 * unknown role is material. */
static void test_later_version(void **state)
{
    synthetic s;
    synthetic_init(&s);
    s.body[0].shape = DS_BODY_LINES + 1;
    s.body[1].role = DS_ROLE_TARGET + 1;
    ds_snapshot *d = collect(&s, NULL, 0);
    assert_int_equal(d->bodies, SYN_BODIES - 1);
    assert_string_equal(d->body[0].name, s.body[1].name);
    assert_int_equal(d->body[0].role, DS_ROLE_MATERIAL);
    assert_int_equal(d->metrics, s.info.metrics);
    ds_snapshot_free(d);
}

static void test_nonfinite(void **state)
{
    synthetic s;
    synthetic_init(&s);
    s.spoil = (double)NAN;
    ds_snapshot *d = collect(&s, NULL, 0);
    assert_int_equal(d->nonfinite, SYN_FRAMES);
    assert_int_equal(d->body[SYN_SLAB].nonfinite, SYN_FRAMES);
    assert_int_equal(d->body[SYN_TOOL].nonfinite, 0);
    ds_snapshot_free(d);
}

static int memory_file(const ds_scene *ext, synthetic *s, const uint64_t *keep, uint64_t count)
{
    int fd = memfd_create("scene", MFD_CLOEXEC);
    assert_true(fd >= 0);
    char *block;
    size_t size;
    ds_error e = {0};
    if (ds_scene_write(ext, s, keep, count, &block, &size, &e) != 0) {
        fail_msg("%s", e.text);
    }
    assert_int_equal(write(fd, block, size), size);
    free(block);
    return fd;
}

static void test_block(void **state)
{
    synthetic s;
    synthetic_init(&s);
    static const uint64_t keep[2] = {0, DS_SCENE_LAST};
    ds_snapshot *a = collect(&s, keep, 2);
    int fd = memory_file(&synthetic_ext, &s, keep, 2);
    ds_snapshot *b;
    ds_error e = {0};
    assert_int_equal(ds_snapshot_read_fd(fd, &b, &e), 0);
    close(fd);
    assert_int_equal(b->frames, a->frames);
    assert_int_equal(b->kept, 2);
    assert_memory_equal(b->frame, a->frame, 16);
    assert_memory_equal(b->box, a->box, sizeof a->box);
    for (uint64_t k = 0; k < a->bodies; k++) {
        const ds_snapshot_body *p = &a->body[k];
        const ds_snapshot_body *q = &b->body[k];
        assert_string_equal(p->name, q->name);
        assert_int_equal(p->shape, q->shape);
        assert_int_equal(p->role, q->role);
        assert_int_equal(p->variety, q->variety);
        assert_int_equal(p->count, q->count);
        assert_memory_equal(p->size, q->size, sizeof p->size);
        assert_memory_equal(p->data, q->data, a->kept * p->count * p->width * 8);
        if (p->index_count > 0) {
            assert_memory_equal(p->index, q->index, p->index_count * 4);
        }
    }
    assert_memory_equal(a->metric[1].values, b->metric[1].values, SYN_FRAMES * 8);
    ds_snapshot_free(a);
    ds_snapshot_free(b);
    assert_int_equal(ds_snapshot_read_fd(-1, &b, &e), DS_EXIT_IO);
    assert_null(b);
}

/* Truncations and changes at every byte of a block: refused with a line, or read as another valid scene. */
static void test_damaged_block(void **state)
{
    synthetic s;
    make_small(&s);
    ds_scene ext = synthetic_ext;
    ext.frame = small_frame;
    ds_snapshot *d;
    ds_error e = {0};
    int fd = memory_file(&ext, &s, NULL, 0);
    size_t len = (size_t)lseek(fd, 0, SEEK_END);
    unsigned char *block = malloc(len);
    assert_non_null(block);
    assert_int_equal(pread(fd, block, len, 0), len);
    close(fd);
    for (size_t n = 0; n <= len; n++) {
        unsigned char *exact = malloc(n > 0 ? n : 1);
        assert_non_null(exact);
        memcpy(exact, block, n);
        int status = ds_snapshot_read(exact, n, &d, &e);
        assert_int_equal(status, n == len ? 0 : DS_EXIT_PLUGIN);
        ds_snapshot_free(d);
        if (n >= 16) {
            /* The same with a head that states the truncated size. */
            uint64_t total = n;
            memcpy(exact + 8, &total, 8);
            status = ds_snapshot_read(exact, n, &d, &e);
            assert_int_equal(status, n == len ? 0 : DS_EXIT_PLUGIN);
            ds_snapshot_free(d);
        }
        free(exact);
    }
    int refusals = 0;
    for (size_t at = 0; at < len; at++) {
        static const unsigned char masks[5] = {1, 2, 0x40, 0x80, 0xff};
        for (int m = 0; m < 5; m++) {
            block[at] = (unsigned char)(block[at] ^ masks[m]);
            memset(&e, 0, sizeof e);
            int status = ds_snapshot_read(block, len, &d, &e);
            assert_true(status == 0 || (status == DS_EXIT_PLUGIN && e.text[0] != '\0'));
            refusals += status != 0;
            ds_snapshot_free(d);
            block[at] = (unsigned char)(block[at] ^ masks[m]);
        }
    }
    assert_true(refusals > 500);
    free(block);
}

static void test_trajectory(void **state)
{
    temporary t;
    temporary_open(&t);
    synthetic s;
    synthetic_init(&s);
    ds_snapshot *d = collect(&s, NULL, 0);
    ds_error e = {0};
    const char *path = temporary_path(&t, "t.npz");
    assert_int_equal(ds_trajectory_write(path, d, &e), 0);
    size_t len;
    unsigned char *p = temporary_read(path, &len);
    assert_memory_equal(p, "PK\3\4", 4);
    static const char *const names[] = {
        "time.npy",           "frame.npy",        "slab_positions.npy", "slab_size.npy",
        "torus_poses.npy",    "torus_size.npy",   "goal_positions.npy", "cloth_positions.npy",
        "cloth_index.npy",    "rope_index.npy",   "rope_size.npy",      "metrics/iou.npy",
        "bodies.npy",         "torus_role.npy",   "torus_shape.npy",    "torus_major_radius.npy",
        "rope_thickness.npy", "metrics/com_y.npy"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_non_null(memmem(p, len, names[i], strlen(names[i])));
    }
    /* The poses of the tool: header text, then frames x 1 x 7 numbers. */
    const unsigned char *poses = memmem(p, len, "torus_poses.npy", 15);
    ds_array a;
    assert_int_equal(ds_array_parse_npy(poses + 15, 128 + SYN_FRAMES * 7 * 8, "poses", 0, 3, &a, &e), 0);
    assert_int_equal(a.ndim, 3);
    assert_int_equal(a.shape[0], SYN_FRAMES);
    assert_int_equal(a.shape[1], 1);
    assert_int_equal(a.shape[2], 7);
    assert_true(a.data[7 * 10 + 1] == 0.2 - 0.1);
    ds_array_free(&a);
    free(p);
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(ds_trajectory_write("/dev/full", d, &e), DS_EXIT_IO);
    }
    assert_int_equal(ds_trajectory_write(t.folder, d, &e), DS_EXIT_IO);
    ds_snapshot_free(d);
    temporary_close(&t);
}

RUN_TESTS(test_collect, test_keep, test_camera, test_refused_info, test_refused_bodies, test_later_version,
          test_nonfinite, test_block, test_damaged_block, test_trajectory)
