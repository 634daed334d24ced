/* SPDX-License-Identifier: Apache-2.0 */
/* bench_view.c - the cost of the files of `dshost view`: seconds, size and memory of each kind, for 10000
 * particles that a torus presses. bench_view [FRAMES [ENDING...]]; bench/README.md explains the table. */
#include "config.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "view/view.h"

enum { PARTICLES = 10000, FRAMES = 51, BODIES = 2 };

static void *take(size_t count, size_t size)
{
    void *p = calloc(count, size);
    if (p == NULL) {
        fprintf(stderr, "bench_view: out of memory\n");
        exit(1);
    }
    return p;
}

/* A number in 0..1 of a fixed sequence. */
static double drawn(void)
{
    static uint32_t state = 12345;
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) / 16777216.0;
}

/* A slab of particles: each moves down differently where the torus presses, and vibrates, so that films have
 * no equal frames. */
static ds_snapshot *scene_of(uint64_t frames)
{
    ds_snapshot *s = take(1, sizeof *s);
    double *slab = take(frames * PARTICLES * 3, sizeof *slab), *ring = take(frames * 7, sizeof *ring);
    *s = (ds_snapshot){
        .frames = frames, .kept = frames, .dt = 0.02, .box = {0.2, 0, 0.2, 0.8, 0.3, 0.8}, .bodies = BODIES};
    s->frame = take(frames, sizeof *s->frame);
    s->body = take(BODIES, sizeof *s->body);
    for (uint64_t i = 0; i < PARTICLES; i++) {
        const double x = 0.3 + 0.4 * drawn(), y = 0.12 * drawn(), z = 0.3 + 0.4 * drawn();
        const double near = exp(-300 * pow(hypot(x - 0.5, z - 0.5) - 0.1, 2)), own = drawn();
        for (uint64_t k = 0; k < frames; k++) {
            const double t = (double)k / (double)(frames > 1 ? frames - 1 : 1);
            double *p = slab + 3 * (k * PARTICLES + i);
            p[0] = x + 0.01 * t * near * own;
            p[1] = y * (1 - 0.7 * t * near) + 2e-4 * sin(40 * t + 6 * own);
            p[2] = z + 0.01 * t * near * (1 - own);
        }
    }
    for (uint64_t k = 0; k < frames; k++) {
        const double t = (double)k / (double)(frames > 1 ? frames - 1 : 1);
        const double pose[7] = {0.5, 0.2 - 0.1 * t, 0.5, 1, 0, 0, 0};
        s->frame[k] = k;
        memcpy(ring + 7 * k, pose, sizeof pose);
    }
    s->body[0] = (ds_snapshot_body){.name = "slab",
                                    .shape = DS_BODY_POINTS,
                                    .width = 3,
                                    .count = PARTICLES,
                                    .size = {0.006},
                                    .data = slab};
    s->body[1] = (ds_snapshot_body){.name = "ring",
                                    .shape = DS_BODY_TORUS,
                                    .role = DS_ROLE_TOOL,
                                    .width = 7,
                                    .count = 1,
                                    .size = {0.1, 0.03},
                                    .data = ring};
    return s;
}

/* A line of /proc/self/status, kB. */
static long memory(const char *what)
{
    char line[200];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, what, strlen(what)) == 0) {
            kb = strtol(line + strlen(what) + 1, NULL, 10);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return kb;
}

/* Bytes of all files of a folder, which are removed. */
static double size_of(const char *folder, int *files)
{
    double bytes = 0;
    DIR *d = opendir(folder);
    *files = 0;
    for (const struct dirent *f = readdir(d); f != NULL; f = readdir(d)) {
        char path[600];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", folder, f->d_name);
        if (f->d_name[0] != '.' && stat(path, &st) == 0) {
            bytes += (double)st.st_size;
            ++*files;
            unlink(path);
        }
    }
    closedir(d);
    return bytes;
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* In a separate process, so that each has its own peak of memory. */
static void measure(const ds_view_format *f, const ds_view_episodes *all, const char *folder)
{
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        char path[300];
        int files;
        ds_error e = {0, ""};
        snprintf(path, sizeof path, "%s/a.%s", folder, f->ending);
        const double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
        const long before = memory("VmRSS");
        if (f->write(path, all, &e) != 0) {
            printf("%-6s %s\n", f->ending, e.text);
        } else {
            const double took = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu,
                         elapsed = seconds(CLOCK_MONOTONIC) - wall;
            const long peak = memory("VmHWM") - before;
            const double bytes = size_of(folder, &files);
            printf("%-6s %8.2f %8.2f %10.3f %6d %10.1f\n", f->ending, took, elapsed, bytes / 1e6, files,
                   (double)peak / 1e3);
        }
        fflush(stdout);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    static char title[] = "bench", none[] = "";
    char folder[] = "/tmp/bench_view-XXXXXX";
    const uint64_t frames = argc > 1 ? strtoull(argv[1], NULL, 10) : FRAMES;
    if (frames == 0 || mkdtemp(folder) == NULL) {
        fprintf(stderr, "usage: bench_view [FRAMES [ENDING...]]\n");
        return 2;
    }
    ds_view_episode item = {.title = title,
                            .env = none,
                            .opt = none,
                            .settings = none,
                            .loss = 1,
                            .whole = frames,
                            .scene = scene_of(frames)};
    const ds_view_episodes all = {.item = &item, .count = 1};
    printf("%d particles, %llu frames; what memory is above that of the scene\n", PARTICLES,
           (unsigned long long)frames);
    printf("%-6s %8s %8s %10s %6s %10s\n", "kind", "cpu_s", "wall_s", "size_MB", "files", "memory_MB");
    for (const ds_view_format *f = ds_view_formats; f->write != NULL; f++) {
        int wanted = argc <= 2;
        for (int i = 2; i < argc; i++) {
            wanted |= strcmp(argv[i], f->ending) == 0;
        }
        if (wanted) {
            measure(f, &all, folder);
        }
    }
    rmdir(folder);
    return 0;
}
