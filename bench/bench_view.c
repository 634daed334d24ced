/* SPDX-License-Identifier: Apache-2.0 */
/* bench_view.c - bytes, seconds and memory of a page of `dshost view` for 10000 particles in more and more frames; how
 * to read it: bench/README.md. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "view/view_page.h"

enum { PARTICLES = 10000, ROUNDS = 5 };

static double processor_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double peak_mib(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)used.ru_maxrss / 1024;
}

static void *take(size_t count, size_t size)
{
    void *p = calloc(count, size);
    if (p == NULL) {
        fprintf(stderr, "bench_view: out of memory\n");
        exit(1);
    }
    return p;
}

/* A block of particles that is pressed down by a ring; those near it move. */
static void fill(double *data, size_t frames)
{
    uint32_t random = 1;
    for (size_t i = 0; i < 3 * (size_t)PARTICLES; i++) {
        random = random * 1664525u + 1013904223u;
        data[i] = 0.3 + 0.4 * (double)(random >> 8) / 16777216.0;
    }
    for (size_t k = 1; k < frames; k++) {
        const double t = (double)k / (double)frames;
        for (size_t i = 0; i < PARTICLES; i++) {
            const double *from = data + 3 * i;
            double *to = data + 3 * (k * PARTICLES + i);
            const double r = hypot(from[0] - 0.5, from[2] - 0.5) - 0.1, press = exp(-100 * r * r) * t;
            to[0] = from[0] + 0.05 * press * (from[0] - 0.5) * sin(40 * t);
            to[1] = from[1] - 0.1 * press * from[1];
            to[2] = from[2] + 0.05 * press * (from[2] - 0.5) * cos(40 * t);
        }
    }
}

static ds_snapshot *scene(size_t frames)
{
    static const double box[6] = {0.2, 0, 0.2, 0.8, 0.8, 0.8};
    ds_snapshot *s = take(1, sizeof *s);
    s->frames = s->kept = frames;
    s->frame = take(frames, sizeof *s->frame);
    for (size_t k = 0; k < frames; k++) {
        s->frame[k] = k;
    }
    s->dt = 0.02;
    memcpy(s->box, box, sizeof box);
    s->bodies = 1;
    s->body = take(1, sizeof *s->body);
    s->body[0] = (ds_snapshot_body){.name = "dough", .shape = DS_BODY_POINTS, .width = 3, .count = PARTICLES};
    s->body[0].data = take(frames * 3 * PARTICLES, sizeof(double));
    fill(s->body[0].data, frames);
    s->metric = take(1, sizeof *s->metric);
    return s;
}

static long file_size(const char *path)
{
    FILE *f = fopen(path, "r");
    long size = -1;
    if (f != NULL && fseek(f, 0, SEEK_END) == 0) {
        size = ftell(f);
    }
    if (f != NULL) {
        fclose(f);
    }
    return size;
}

static int measure(const char *path, size_t frames)
{
    ds_view_episode episode = {.title = strdup("bench"),
                               .env = strdup(""),
                               .opt = strdup(""),
                               .settings = strdup(""),
                               .scene = scene(frames)};
    const ds_view_episodes all = {.item = &episode, .count = 1};
    const double before = peak_mib();
    double least = (double)INFINITY;
    ds_error e = {0, ""};
    for (int k = 0; k < ROUNDS; k++) {
        const double start = processor_s();
        if (ds_view_page(path, &all, &e) != 0) {
            fprintf(stderr, "bench_view: %s\n", e.text);
            return 1;
        }
        least = fmin(least, processor_s() - start);
    }
    const double size = (double)file_size(path);
    printf("%6zu %8.2f %13.2f %18.3f %23.1f\n", frames, size / 1e6, size / (double)(3 * PARTICLES * frames),
           least, peak_mib() - before);
    ds_view_episode_clear(&episode);
    return fflush(stdout) != 0;
}

int main(void)
{
    static const size_t frames[] = {51, 101, 201, 401};
    char path[] = "/tmp/bench_view-XXXXXX";
    const int file = mkstemp(path);
    int failed = file < 0;
    printf("frames  page MB  bytes/number   s of a processor  MiB beyond the episode\n");
    for (size_t i = 0; i < sizeof frames / sizeof *frames && !failed; i++) {
        fflush(stdout);
        /* A process each, whose peak of memory is its own. */
        const pid_t child = fork();
        int status = 1;
        if (child == 0) {
            _exit(measure(path, frames[i]));
        }
        failed = child < 0 || waitpid(child, &status, 0) != child || status != 0;
    }
    unlink(path);
    close(file);
    return failed;
}
