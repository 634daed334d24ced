/* SPDX-License-Identifier: Apache-2.0 */
/* synthetic_scene.h - a scene extension without a simulation: a slab of particles that a torus presses into,
 * with its target next to it. A test can spoil every field through `body` and `info`. */
#ifndef DS_TESTS_SYNTHETIC_SCENE_H
#define DS_TESTS_SYNTHETIC_SCENE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <diffsim/ext/scene.h>

enum { SYN_SIDE = 36, SYN_LAYERS = 8, SYN_POINTS = SYN_SIDE * SYN_SIDE * SYN_LAYERS / 2, SYN_FRAMES = 11 };
enum { SYN_SLAB, SYN_TOOL, SYN_TARGET, SYN_CLOTH, SYN_ROPE, SYN_BODIES };
enum { SYN_METRICS = 2 };

typedef struct synthetic {
    ds_scene_info info;
    ds_scene_body body[SYN_BODIES];
    const char *metric_name[SYN_METRICS];
    const char *metric_unit[SYN_METRICS];
    double metric[SYN_METRICS][SYN_FRAMES];
    const double *metric_values[SYN_METRICS];
    uint32_t triangles[6];
    uint32_t segments[6];
    double spoil; /* added to the first number of every frame of the slab */
    ds_status fail_info, fail_body, fail_frame, fail_metric;
} synthetic;

/* Slab of 0.3 x 0.1 x 0.3 m; `press` (0..1) is how deep the torus of radii 0.05 and 0.03 m has sunk in. */
static inline void synthetic_slab(double press, double *out)
{
    uint32_t state = 12345;
    for (int i = 0; i < SYN_POINTS; i++) {
        double u[3];
        for (int k = 0; k < 3; k++) {
            state = state * 1664525u + 1013904223u;
            u[k] = (double)(state >> 8) / 16777216.0;
        }
        double x = 0.35 + 0.3 * u[0];
        double z = 0.35 + 0.3 * u[2];
        double r = sqrt((x - 0.5) * (x - 0.5) + (z - 0.5) * (z - 0.5)) - 0.05;
        double groove = fabs(r) < 0.03 ? sqrt(0.0009 - r * r) : 0;
        double top =
            0.1 - press * 1.6 * groove + press * 0.012 * exp(-(fabs(r) - 0.035) * (fabs(r) - 0.035) * 4000);
        out[3 * i] = x;
        out[3 * i + 1] = u[1] * top;
        out[3 * i + 2] = z;
    }
}

static inline ds_status synthetic_info(void *self, ds_scene_info *out)
{
    synthetic *s = self;
    *out = s->info;
    return s->fail_info;
}

static inline ds_status synthetic_body(void *self, uint64_t b, ds_scene_body *out)
{
    synthetic *s = self;
    *out = s->body[b];
    return s->fail_body;
}

static inline ds_status synthetic_frame(void *self, uint64_t k, uint64_t b, uint64_t capacity, double *out)
{
    synthetic *s = self;
    double t = s->info.frames > 1 ? (double)k / (double)(s->info.frames - 1) : 0;
    (void)capacity;
    if (b == SYN_SLAB || b == SYN_TARGET) {
        synthetic_slab(b == SYN_TARGET ? 1 : t * 0.8, out);
        out[0] += b == SYN_SLAB ? s->spoil : 0;
    } else if (b == SYN_TOOL) {
        double pose[7] = {0.5, 0.2 - 0.1 * t, 0.5, 1, 0, 0, 0};
        memcpy(out, pose, sizeof pose);
    } else if (b == SYN_CLOTH) {
        double sheet[12] = {0.2, 0.02, 0.2, 0.3, 0.05, 0.2, 0.3, 0.1, 0.3, 0.2, 0.02, 0.3};
        memcpy(out, sheet, sizeof sheet);
    } else {
        double rope[12] = {0.7, 0.02, 0.2, 0.75, 0.1, 0.25, 0.8, 0.02, 0.3, 0.82, 0.02, 0.4};
        memcpy(out, rope, sizeof rope);
    }
    return s->fail_frame;
}

static inline ds_status synthetic_metric(void *self, uint64_t m, ds_scene_metric *out)
{
    synthetic *s = self;
    out->name = s->metric_name[m];
    out->unit = s->metric_unit[m];
    out->values = s->metric_values[m];
    return s->fail_metric;
}

static const ds_scene synthetic_ext = {.struct_size = sizeof(ds_scene),
                                       .info = synthetic_info,
                                       .body = synthetic_body,
                                       .frame = synthetic_frame,
                                       .metric = synthetic_metric};

static inline void synthetic_init(synthetic *s)
{
    static const ds_scene_info info = {.struct_size = sizeof(ds_scene_info),
                                       .frames = SYN_FRAMES,
                                       .bodies = SYN_BODIES,
                                       .metrics = SYN_METRICS,
                                       .dt = 0.04,
                                       .box = {0.22, 0, 0.22, 0.78, 0.26, 0.78},
                                       .ground = 0};
    static const ds_scene_body bodies[SYN_BODIES] = {
        {.shape = DS_BODY_POINTS,
         .role = DS_ROLE_MATERIAL,
         .count = SYN_POINTS,
         .size = {0.006},
         .name = "slab"},
        {.shape = DS_BODY_TORUS, .role = DS_ROLE_TOOL, .count = 1, .size = {0.05, 0.03}, .name = "torus"},
        {.shape = DS_BODY_POINTS,
         .role = DS_ROLE_TARGET,
         .count = SYN_POINTS,
         .size = {0.006},
         .name = "goal"},
        {.shape = DS_BODY_MESH, .role = DS_ROLE_MATERIAL, .variety = 1, .count = 4, .name = "cloth"},
        {.shape = DS_BODY_LINES, .role = DS_ROLE_FIXED, .count = 4, .size = {0.012}, .name = "rope"},
    };
    static const uint32_t triangles[6] = {0, 1, 2, 0, 2, 3};
    static const uint32_t segments[6] = {0, 1, 1, 2, 2, 3};
    memset(s, 0, sizeof *s);
    s->info = info;
    memcpy(s->body, bodies, sizeof bodies);
    memcpy(s->triangles, triangles, sizeof triangles);
    memcpy(s->segments, segments, sizeof segments);
    s->body[SYN_CLOTH].index = s->triangles;
    s->body[SYN_CLOTH].index_count = 6;
    s->body[SYN_ROPE].index = s->segments;
    s->body[SYN_ROPE].index_count = 6;
    s->metric_name[0] = "iou";
    s->metric_unit[0] = "";
    s->metric_name[1] = "com_y";
    s->metric_unit[1] = "m";
    for (int k = 0; k < SYN_FRAMES; k++) {
        s->metric[0][k] = (double)k / 10;
        s->metric[1][k] = k == 0 ? (double)NAN : 0.05;
    }
    s->metric_values[0] = s->metric[0];
    s->metric_values[1] = s->metric[1];
}

#endif
