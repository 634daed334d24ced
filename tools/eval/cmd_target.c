/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_target.c - `dshost target WHAT -o FILE.npy`: the density of a mesh, of points, or of the material at
 * the end of an episode, as a target of scenes and plasticine tasks.
 *
 * Masses of the nodes of a grid over the unit cube, by the quadratic B-splines of the material point method
 * (C. Jiang et al., "The material point method for simulating continuum materials", SIGGRAPH 2016 courses,
 * section 5.1), with PlasticineLab's mass of a particle. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json_text.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/run_flags.h"
#include "config/npy.h"
#include "episode/episode.h"
#include "results/npy_write.h"
#include "results/point.h"

enum { NODES_LEAST = 8, NODES_MOST = 128, NODES = 64, MESH_PARTICLES = 10000 };

typedef struct request {
    const char *what, *out, *scale, *center, *count, *particles_text, *frame_text;
    int64_t nodes, particles, frame; /* particles 0: as many as points; frame -1: the last one */
} request;

/* [count][3], m. */
typedef struct points {
    double *p;
    uint64_t count;
    int of_mesh;
} points;

/* ---- points ---- */

static int take(points *out, const double *p, uint64_t count, ds_error *e)
{
    double *all = realloc(out->p, 3 * (out->count + count + 1) * sizeof *all);
    if (all == NULL) {
        return ds_no_memory(e);
    }
    out->p = all;
    memcpy(all + 3 * out->count, p, 3 * count * sizeof *p);
    out->count += count;
    return 0;
}

/* The particles of the material in kept frame k. */
static int take_material(points *out, const ds_snapshot *s, uint64_t k, const char *what, ds_error *e)
{
    int rc = 0;
    for (uint64_t b = 0; rc == 0 && b < s->bodies; b++) {
        const ds_snapshot_body *body = &s->body[b];
        if (body->role == DS_ROLE_MATERIAL && body->shape == DS_BODY_POINTS) {
            rc = take(out, ds_snapshot_at(s, k, b), body->count, e);
        }
    }
    return rc == 0 && out->count == 0
               ? ds_fail(e, DS_EXIT_USAGE, "target: %.300s: its scene has no particles of a material", what)
               : rc;
}

static int of_episode(const request *q, const char *folder, uint64_t id, points *out, ds_error *e)
{
    ds_view_episode episode = {0};
    int rc = ds_view_episode_of_run(folder, id, NULL, q->frame < 0 ? DS_KEEP_FEW : DS_KEEP_ALL, &episode, e);
    rc = rc != 0 ? rc : ds_view_episode_seen(&episode, e);
    const ds_snapshot *s = episode.scene;
    if (rc == 0 && (q->frame < 0 ? s->kept == 0 : (uint64_t)q->frame >= s->kept)) {
        rc =
            ds_fail(e, DS_EXIT_USAGE, "target: --frame %" PRId64 ": the episode has the frames 0 to %" PRIu64,
                    q->frame, s->kept - 1);
    }
    rc = rc != 0 ? rc : take_material(out, s, q->frame < 0 ? s->kept - 1 : (uint64_t)q->frame, q->what, e);
    ds_view_episode_clear(&episode);
    return rc;
}

/* Numbers of a file: rows of x, y, z. */
static int of_table(const request *q, points *out, ds_error *e)
{
    ds_array a;
    int rc = ds_array_read(q->what, 0, DS_EXIT_CONFIG, &a, e);
    if (rc != 0) {
        return rc;
    }
    const int one = a.ndim == 1 && a.size == 3;
    if (!one && (a.ndim != 2 || a.shape[1] != 3)) {
        rc = ds_fail(e, DS_EXIT_CONFIG, "target: %.300s: expected rows of three numbers x, y, z", q->what);
    }
    rc = rc != 0 ? rc : take(out, a.data, a.size / 3, e);
    ds_array_free(&a);
    return rc;
}

static int set(ds_settings *s, const char *key, const char *value, const char *flag, ds_error *e)
{
    return value == NULL
               ? 0
               : ds_settings_add(s, DS_SECTION_ENV, key, value, flag, NULL, DS_EXIT_USAGE, DS_LAYER_FLAG, e);
}

/* The environment `particles` reads the file and fills the mesh. */
static int of_mesh(const request *q, points *out, ds_error *e)
{
    ds_settings settings = {0};
    ds_view_episode episode = {0};
    int rc = ds_settings_add(&settings, DS_SECTION_RUN, "env", "particles", "dshost target", NULL,
                             DS_EXIT_USAGE, DS_LAYER_FLAG, e);
    rc = rc != 0 ? rc : set(&settings, "fill", q->what, "target", e);
    rc = rc != 0 ? rc : set(&settings, "fill_scale", q->scale, "--scale", e);
    rc = rc != 0 ? rc : set(&settings, "fill_center", q->center, "--center", e);
    rc = rc != 0 ? rc : set(&settings, "particles", q->count, "--count", e);
    rc = rc != 0 ? rc : ds_view_episode_of_point(&settings, "start", DS_KEEP_FEW, &episode, e);
    rc = rc != 0 ? rc : ds_view_episode_seen(&episode, e);
    rc = rc != 0 ? rc : take_material(out, episode.scene, 0, q->what, e);
    out->of_mesh = 1;
    ds_view_episode_clear(&episode);
    ds_settings_clear(&settings);
    return rc;
}

static int is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int read_points(const request *q, points *out, ds_error *e)
{
    static const char *const tables[] = {"npy", "txt", "csv", NULL};
    static const char *const meshes[] = {"obj", "stl", "ply", "msh", "node", "ele", NULL};
    char *folder = NULL;
    uint64_t id = 0;
    int rc;
    if (ds_text_ends_with(q->what, tables)) {
        rc = of_table(q, out, e);
    } else if (ds_text_ends_with(q->what, meshes)) {
        rc = of_mesh(q, out, e);
    } else if (is_folder(q->what)) {
        rc = of_episode(q, q->what, 0, out, e);
    } else if (ds_point_names_run(q->what, &folder, &id)) {
        rc = of_episode(q, folder, id, out, e);
    } else {
        rc = ds_fail(
            e, DS_EXIT_USAGE,
            "target: %.300s: expected a mesh (.obj, .stl, .ply, .msh, .node), points (.npy, .txt, .ply) "
            "or the folder of a run",
            q->what);
    }
    free(folder);
    return rc;
}

/* ---- density ---- */

/* The first of the three nodes that a coordinate (in nodes) gives to, and their weights. */
static int64_t weights(double at, double w[3])
{
    const int64_t base = (int64_t)(at - 0.5);
    const double f = at - (double)base;
    w[0] = 0.5 * (1.5 - f) * (1.5 - f);
    w[1] = 0.75 - (f - 1.0) * (f - 1.0);
    w[2] = 0.5 * (f - 0.5) * (f - 0.5);
    return base;
}

/* Adds `mass` for each point. Positions reach from 0 to 1 - 3 / n, as in the engine. */
static int splat(const points *in, int64_t n, double mass, double *density, ds_error *e)
{
    const double most = 1.0 - 3.0 / (double)n;
    for (uint64_t i = 0; i < in->count; i++) {
        const double *x = in->p + 3 * i;
        double w[3][3];
        int64_t base[3];
        for (int d = 0; d < 3; d++) {
            if (!(x[d] >= 0.0) || !(x[d] <= most)) {
                return ds_fail(e, DS_EXIT_CONFIG,
                               "target: point %" PRIu64 " is at %.4g %.4g %.4g: the grid of %" PRId64
                               " nodes takes 0 to %.4g; move or scale the points",
                               i, x[0], x[1], x[2], n, most);
            }
            base[d] = weights(x[d] * (double)n, w[d]);
        }
        for (int64_t k = 0; k < 27; k++) {
            const int64_t a = k / 9, b = k / 3 % 3, c = k % 3;
            density[((base[0] + a) * n + base[1] + b) * n + base[2] + c] +=
                mass * w[0][a] * w[1][b] * w[2][c];
        }
    }
    return 0;
}

static int write_density(const request *q, const points *in, ds_error *e)
{
    const uint64_t n = (uint64_t)q->nodes, shape[3] = {n, n, n};
    const double particle = 0.25 / (double)n / (double)n;
    const int64_t usual = in->of_mesh ? MESH_PARTICLES : (int64_t)in->count;
    const double total = particle * (double)(q->particles > 0 ? q->particles : usual);
    double *density = calloc(n * n * n, sizeof *density);
    int rc = density == NULL ? ds_no_memory(e) : splat(in, q->nodes, total / (double)in->count, density, e);
    rc = rc != 0 ? rc : ds_npy_write(q->out, DS_NPY_F8, 3, shape, density, e);
    if (rc == 0) {
        printf("%s: %" PRIu64 " x %" PRIu64 " x %" PRIu64 " nodes, mass %.6g kg, from %" PRIu64 " points\n",
               q->out, n, n, n, total, in->count);
        rc = ds_stdout_done(e);
    }
    free(density);
    return rc;
}

/* ---- the command ---- */

static int take_whole(const char *flag, const char *text, int64_t low, int64_t high, int64_t *out,
                      ds_error *e)
{
    char *end = NULL;
    if (text == NULL) {
        return 0;
    }
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || value < low || value > high) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "target: --%s %.40s: expected a whole number from %" PRId64 " to %" PRId64, flag, text,
                       low, high);
    }
    *out = value;
    return 0;
}

static int parse(int argc, char **argv, request *q, ds_error *e)
{
    static const char usage[] =
        "usage: dshost target WHAT -o FILE.npy [OPTIONS]\nMakes a target, the masses of a grid, of a mesh "
        "(.obj, "
        ".stl, .ply, .msh, .node), of points (.npy, .txt, .ply), or of\nthe material at the end of an "
        "episode: the "
        "folder of a run, DIR (its best evaluation) or DIR:ID.\nUse it in a scene, `[target] file = "
        "FILE.npy`, or "
        "by --set env.target=FILE.npy.\n  -o, --out FILE.npy   the file to write\n  --scale S            "
        "factor of "
        "the lengths of a mesh or .ply file [1]\n  --center X,Y,Z       where their origin is placed "
        "[0.5,0,0.5]\n  --count N            points inside a mesh [100000]\n  --frame K            the frame "
        "of an "
        "episode [the last]\n  --nodes N            nodes along each axis, 8 to 128; preset small has 32 "
        "[64]\n  "
        "--particles N        particles that make the mass [as many as points; of a mesh 10000]\n  "
        "--trust-plugin P     load this plugin if the run names it and it is not on the plugin path\n  -h, "
        "--help "
        "          print this text\n";
    const char *nodes = NULL;
    int64_t count = 0;
    const ds_flag flags[] = {{"out", .text = &q->out, .letter = 'o'},
                             {"scale", .text = &q->scale},
                             {"center", .text = &q->center},
                             {"count", .text = &q->count},
                             {"frame", .text = &q->frame_text},
                             {"nodes", .text = &nodes},
                             {"particles", .text = &q->particles_text},
                             {"trust-plugin", .take = ds_trust_flag_take},
                             {"help", .usage = usage},
                             {0}};
    int rc = ds_arguments_read(argc, argv, "target", flags, 1, NULL, e);
    if (rc == 0 && (optind >= argc || q->out == NULL)) {
        rc = ds_fail(
            e, DS_EXIT_USAGE,
            "target: name what to make the target of, and the file to write: dshost target cake.obj -o "
            "cake.npy");
    }
    if (rc == 0) {
        q->what = argv[optind++];
        rc = ds_arguments_end(argc, argv, "target", e);
    }
    rc = rc != 0 ? rc : take_whole("nodes", nodes, NODES_LEAST, NODES_MOST, &q->nodes, e);
    rc = rc != 0 ? rc : take_whole("particles", q->particles_text, 1, 1000000, &q->particles, e);
    rc = rc != 0 ? rc : take_whole("count", q->count, 1, 1000000, &count, e);
    rc = rc != 0 ? rc : take_whole("frame", q->frame_text, 0, 1000000, &q->frame, e);
    if (rc == 0 && !ds_text_ends_with(q->out, (const char *const[]){"npy", NULL})) {
        rc = ds_fail(e, DS_EXIT_USAGE, "target: -o %.200s: use a file name that ends with .npy", q->out);
    }
    ds_file_named(q->out);
    return rc;
}

static int command(int argc, char **argv, ds_error *e)
{
    request q = {.nodes = NODES, .frame = -1};
    points in = {0};
    int rc = parse(argc, argv, &q, e);
    rc = rc != 0 ? rc : read_points(&q, &in, e);
    rc = rc != 0 ? rc : write_density(&q, &in, e);
    free(in.p);
    return rc;
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
