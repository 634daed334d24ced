/* SPDX-License-Identifier: Apache-2.0 */
/* bench_fem.c - seconds of processor time of whole episodes of the gear and of the walker (gradSim:
 * Jatavallabhula et al., ICLR 2021), with their controllers, without and with gradient, on one core: the
 * best of some rounds, for each instruction set that runs here; `ratio` is by how much it is faster than
 * the scalar oracle of the same run. Prints one JSON object per line. bench/bench_fem [ROUNDS]
 *
 * bench/bench_fem sizes prints the table of gradSim (table 4, right): steps per second of processor time of
 * falling blocks of 100 to 10000 tetrahedra, of the physics and of the physics with an image of each step. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/bench.h"
#include "engines/rendering/render/softras.h"
#include "tests/envs/engines/physics/fem/fem_scenes.h"

enum { ROUNDS = 3 };

static const struct scene {
    const char *name;
    int (*open)(fem_scene *s, uint64_t steps, const char *isa);
    uint64_t steps;
    double goal[2]; /* s, without and with gradient */
} scenes[] = {
    {"gear", fem_scene_gear, 5760, {0.20, 0.60}},
    {"walker", fem_scene_walker, 9600, {0.10, 0.25}},
};

static const char *const sets[] = {"plain", "baseline", "avx2", "avx512"};

static double best_time(fem_scene *s, int gradient, int rounds)
{
    double best = INFINITY;
    for (int i = 0; i < rounds; i++) {
        double start = bench_cpu_s();
        fem_scene_run(s, gradient);
        best = fmin(best, bench_cpu_s() - start);
    }
    return best;
}

/* ---- steps per second by size ---- */

enum { IMAGE = 64, STEP_TETS = 400000 }; /* pixels per side; steps times tetrahedra of an episode */

typedef struct block {
    fem_model model;
    fem_mesh mesh;
    fem_episode *episode;
    fem_variation bar;
    ds_memory room;
    softras *eye;
    camera camera;
    double image[IMAGE * IMAGE], dark[IMAGE * IMAGE], image_bar[IMAGE * IMAGE];
    uint64_t steps, *frame;
    int seen; /* each step is drawn and compared with darkness; else only the last state counts */
} block;

static void block_draw(block *b, const double *q)
{
    softras_draw(b->eye, &b->camera, q, NULL, b->image, NULL);
}

static void see_block(void *self, uint64_t k, const fem_state *s)
{
    block *b = self;
    (void)k;
    if (b->seen) {
        block_draw(b, s->q);
    }
}

static void see_block_bar(void *self, uint64_t k, const fem_state *s, fem_state *bar)
{
    block *b = self;
    if (b->seen) {
        block_draw(b, s->q);
        bench_mean_square_bar((size_t)IMAGE * IMAGE, b->image, b->dark, b->image_bar);
        softras_adjoint(b->eye, b->image_bar, &(softras_bar){.p = bar->q});
    } else if (k == b->steps) {
        bar->q[1] = 1;
    }
}

static void must(int right, const char *what)
{
    if (!right) {
        fprintf(stderr, "bench_fem: %s failed\n", what);
        exit(1);
    }
}

static void block_open(block *b, const size_t cells[3])
{
    const double cell = 0.1;
    const fem_placing where = {{-0.5, 0.3, -0.5}, {1, 0, 0}, {0, 0, 0}, 0};
    char text[RENDER_TEXT];
    ds_status status;
    memset(b, 0, sizeof *b);
    fem_model_open(&b->model);
    must(fem_mesh_block(&b->mesh, cells[0], cells[1], cells[2], (const double[3]){cell, cell, cell}) == DS_OK,
         "the mesh");
    fem_add_soft(&b->model, &b->mesh, &where, 100, (fem_solid){1000, 1000, 1});
    b->model.ground = (fem_ground){.on = 1, .offset = 0.01, .ke = 1e4, .kd = 1, .kf = 10, .mu = 0.5};
    must(fem_mesh_surface(&b->mesh, NULL) == DS_OK && fem_model_finish(&b->model) == DS_OK, "the model");
    b->steps = STEP_TETS / b->model.tets;
    must(fem_episode_open(&b->episode, &b->model, &(fem_options){.dt = 1.0 / 1920, .steps = b->steps},
                          NULL) == DS_OK,
         "the episode");
    fem_variation_open(&b->bar, &b->room, &b->model);
    b->frame = calloc(b->steps, sizeof *b->frame);
    must(b->frame != NULL && !b->room.failed, "memory");
    for (uint64_t k = 0; k < b->steps; k++) {
        b->frame[k] = k + 1;
    }
    const softras_options o = softras_defaults(SOFTRAS_ALPHA, IMAGE);
    b->eye = softras_create(
        &o, &(render_mesh){(uint32_t)b->mesh.points, (uint32_t)b->mesh.triangles, b->mesh.triangle}, &status,
        text);
    must(b->eye != NULL, "the renderer");
    b->camera = camera_orbit(CAMERA_SOFTRAS, 5, 0.5, 0);
}

static void block_close(block *b)
{
    softras_destroy(b->eye);
    free(b->frame);
    fem_episode_close(b->episode);
    ds_memory_free(&b->room);
    fem_mesh_free(&b->mesh);
    fem_model_close(&b->model);
}

/* Steps per second of the forward pass, and of the adjoint alone; the best of some rounds. */
static void block_speed(block *b, int seen, int rounds, double out[2])
{
    const fem_driver d = {
        .frames = b->frame, .frame_count = b->steps, .state = see_block, .state_bar = see_block_bar};
    double best[2] = {INFINITY, INFINITY};
    int64_t bad;
    b->seen = seen;
    for (int r = 0; r < rounds; r++) {
        const double start = bench_cpu_s();
        must(fem_episode_run(b->episode, &d, b, 1, &bad) == DS_OK && bad < 0, "the forward pass");
        const double middle = bench_cpu_s();
        must(fem_episode_adjoint(b->episode, &b->bar, &bad) == DS_OK && bad < 0, "the adjoint");
        best[0] = fmin(best[0], middle - start);
        best[1] = fmin(best[1], bench_cpu_s() - middle);
    }
    out[0] = (double)b->steps / best[0];
    out[1] = (double)b->steps / best[1];
}

static void print_sizes(int rounds)
{
    static const size_t cells[][3] = {{5, 2, 2},   {5, 4, 2},    {5, 4, 4},   {10, 5, 4},
                                      {10, 10, 4}, {10, 10, 10}, {20, 10, 10}};
    static block b;
    printf("steps per second of processor time; images of %d x %d pixels of each step\n\n"
           "| tetrahedra | forward, physics | forward, physics and renderer | backward, physics | "
           "backward, physics and renderer |\n| --- | --- | --- | --- | --- |\n",
           IMAGE, IMAGE);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        double dark[2], seen[2];
        block_open(&b, cells[i]);
        block_speed(&b, 0, rounds, dark);
        block_speed(&b, 1, rounds, seen);
        printf("| %zu | %.0f | %.0f | %.0f | %.0f |\n", b.model.tets, dark[0], seen[0], dark[1], seen[1]);
        block_close(&b);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "sizes") == 0) {
        print_sizes(argc > 2 ? atoi(argv[2]) : ROUNDS);
        return 0;
    }
    const int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; k++) {
        double plain[2] = {NAN, NAN};
        for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
            fem_scene s;
            if (!bench_has(sets[i]) || !scenes[k].open(&s, scenes[k].steps, sets[i])) {
                continue;
            }
            double time[2] = {best_time(&s, 0, rounds), best_time(&s, 1, rounds)};
            for (int g = 0; g < 2; g++) {
                plain[g] = i == 0 ? time[g] : plain[g];
            }
            printf(
                "{\"scene\": \"%s\", \"isa\": \"%s\", \"loss_s\": %.3f, \"gradient_s\": %.3f, "
                "\"loss_ratio\": %.1f, \"gradient_ratio\": %.1f, \"goals_s\": [%g, %g], \"kept_MB\": %.0f}\n",
                scenes[k].name, sets[i], time[0], time[1], plain[0] / time[0], plain[1] / time[1],
                scenes[k].goal[0], scenes[k].goal[1], (double)fem_episode_bytes(s.episode) / 1e6);
            fem_scene_close(&s);
        }
    }
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    printf("{\"most_memory_MB\": %.0f}\n", (double)use.ru_maxrss / 1e3);
    return 0;
}
