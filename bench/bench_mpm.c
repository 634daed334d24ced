/* SPDX-License-Identifier: Apache-2.0 */
/* Speed of the material point engine on the full-size torus: the fast engine against the scalar one,
 * where its time goes, how it scales, and episodes per second. bench_mpm [--steps N] [table ...]; how
 * to read it: bench/README.md. */
#include "bench/bench.h"
#include "plasticine/tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TORUS = 7 }; /* see mpm_task_at() */

/* One way to run an episode. */
typedef struct run {
    uint32_t engine, particles, threads;
    int bits;
    bool store, gradient;
    const char *isa;
    double *times; /* see mpm_fast_options */
} run;

typedef struct cost {
    double cpu, elapsed; /* seconds of one episode, the best of two */
    double ns;           /* processor time per particle and substep */
    double loss;
    size_t memory; /* of the fast engine */
    uint32_t particles;
} cost;

static uint32_t steps = 10;

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double peak_megabytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024.0;
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_mpm: %s\n", what);
    exit(1);
}

static void open_episode(mpm_episode *e, const run *how)
{
    static mpm_scene scene;
    static const mpm_pose start = {.position = {0.5, 0.11, 0.5}, /* in contact from the start */
                                   .rotation = {0.0, 0.0, 0.0, 1.0}};
    scene = mpm_task_at(TORUS).task->scene;
    mpm_episode_spec spec = {.scene = &scene,
                             .domain = mpm_domain_make(MPM_PRESET_FULL),
                             .particles = how->particles,
                             .steps = steps,
                             .segments = 1,
                             .softness = 666.0,
                             .tool_start = &start,
                             .engine = how->engine,
                             .fast = {.bits = how->bits,
                                      .store = how->store,
                                      .threads = how->threads,
                                      .times = how->times,
                                      .isa = how->isa}};
    if (mpm_episode_init(e, &spec) != MPM_OK) {
        fail("no memory");
    }
    e->objective.weight_density = e->objective.weight_sdf = 10.0;
    e->objective.weight_contact = 40.0;
    e->objective.soft_contact = true;
    size_t cells = (size_t)spec.domain.n * (size_t)spec.domain.n * (size_t)spec.domain.n;
    double *target = calloc(cells, sizeof(double));
    if (!target) {
        fail("no memory");
    }
    target[cells / 2] = 1.0; /* any target: its shape does not change the time */
    if (mpm_objective_init(&e->objective, spec.domain.n, target) != MPM_OK) {
        fail("no memory");
    }
    free(target);
}

static cost measure(const run *how)
{
    const double x[3] = {0.1, -0.5, 0.1};
    double grad[3];
    mpm_episode e;
    mpm_outcome out;
    cost c = {.cpu = 1e9, .elapsed = 1e9};
    open_episode(&e, how);
    /* the first run also fetches memory from the system, which later ones use again */
    for (int round = 0; round < (how->engine == MPM_ENGINE_FAST ? 3 : 1); round++) {
        if (how->times) {
            memset(how->times, 0, MPM_TIMES * sizeof(double));
        }
        double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), elapsed = seconds(CLOCK_MONOTONIC);
        if (mpm_episode_run(&e, x, how->gradient ? grad : NULL, NULL, NULL, &out) != MPM_OK) {
            fail("an episode diverged");
        }
        cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        elapsed = seconds(CLOCK_MONOTONIC) - elapsed;
        c.cpu = cpu < c.cpu ? cpu : c.cpu;
        c.elapsed = elapsed < c.elapsed ? elapsed : c.elapsed;
    }
    c.loss = out.loss;
    c.particles = e.sim.n_particles;
    c.memory = e.fast ? mpm_fast_memory(e.fast) : 0;
    c.ns = c.cpu * 1e9 / ((double)c.particles * steps * e.sim.domain.substeps);
    mpm_episode_free(&e);
    return c;
}

static void line(const char *what, const cost *c, const cost *scalar)
{
    printf("%-34s %8.3f s cpu %8.3f s elapsed %7.1f ns %6.1fx  %5.0f MB\n", what, c->cpu, c->elapsed, c->ns,
           scalar->cpu / c->cpu, (double)c->memory / 1e6);
    fflush(stdout);
}

/* The fast engine in every way against the scalar one. */
static void table_ratios(void)
{
    printf("\nfast against scalar, 10000 particles, %u substeps; ns per particle and substep\n", steps * 19);
    for (int gradient = 0; gradient < 2; gradient++) {
        run how = {.engine = MPM_ENGINE_SCALAR, .gradient = gradient};
        cost scalar = measure(&how);
        line(gradient ? "scalar, gradient" : "scalar, loss", &scalar, &scalar);
        how.engine = MPM_ENGINE_FAST;
        for (how.bits = 64; how.bits >= 32; how.bits -= 32) {
            for (int store = 0; store <= gradient; store++) {
                for (how.threads = 1; how.threads <= 2; how.threads++) {
                    char what[64];
                    how.store = store;
                    snprintf(what, sizeof what, "f%d, %s, %s, %u thread%s", how.bits,
                             gradient ? "gradient" : "loss",
                             !gradient ? "-"
                             : store   ? "store"
                                       : "checkpoint",
                             how.threads, how.threads > 1 ? "s" : "");
                    cost c = measure(&how);
                    line(what, &c, &scalar);
                }
            }
        }
    }
    printf("peak memory of this process %.0f MB\n", peak_megabytes());
}

/* One thread on each instruction set. */
static void table_isas(void)
{
    static const char *const isas[] = {"baseline", "avx2", "portable_avx2", "avx512", "portable_avx512"};
    run how = {.engine = MPM_ENGINE_SCALAR, .gradient = true, .threads = 1};
    cost scalar = measure(&how);
    printf("\ninstruction sets: gradient, checkpoint, 1 thread\n");
    how.engine = MPM_ENGINE_FAST;
    for (size_t i = 0; i < sizeof isas / sizeof isas[0] && bench_has(isas[i]); i++) {
        for (how.bits = 64; how.bits >= 32; how.bits -= 32) {
            char what[64];
            how.isa = isas[i];
            snprintf(what, sizeof what, "f%d, %s", how.bits, isas[i]);
            cost c = measure(&how);
            line(what, &c, &scalar);
        }
    }
}

static void table_phases(void)
{
    static const char *const names[MPM_TIMES] = {"forward, particles",   "forward, grid and tools",
                                                 "sort and checkpoints", "simulated again",
                                                 "adjoint, particles",   "adjoint, grid and tools"};
    double times[2][MPM_TIMES], total[2];
    for (int k = 0; k < 2; k++) {
        run how = {.engine = MPM_ENGINE_FAST,
                   .bits = k ? 32 : 64,
                   .threads = 1,
                   .gradient = true,
                   .times = times[k]};
        total[k] = measure(&how).cpu;
    }
    printf("\nphases: gradient, checkpoint, 1 thread; ns per particle and substep\n%-34s %8s %8s\n", "",
           "f64", "f32");
    double per = 1e9 / (10000.0 * 19.0 * steps), sum[2] = {0.0, 0.0};
    for (int t = 0; t < MPM_TIMES; t++) {
        printf("%-34s %8.1f %8.1f\n", names[t], times[0][t] * per, times[1][t] * per);
        sum[0] += times[0][t];
        sum[1] += times[1][t];
    }
    printf("%-34s %8.1f %8.1f\n", "loss, tool motion, copies", (total[0] - sum[0]) * per,
           (total[1] - sum[1]) * per);
}

static void table_particles(void)
{
    static const uint32_t counts[] = {1000, 3000, 10000, 30000, 100000};
    printf("\nnumbers of particles: gradient, checkpoint, 1 thread\n");
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        run how = {.engine = MPM_ENGINE_SCALAR, .particles = counts[i], .gradient = true, .threads = 1};
        cost scalar = measure(&how);
        how.engine = MPM_ENGINE_FAST;
        for (how.bits = 64; how.bits >= 32; how.bits -= 32) {
            char what[64];
            snprintf(what, sizeof what, "%u particles, f%d", counts[i], how.bits);
            cost c = measure(&how);
            line(what, &c, &scalar);
        }
    }
}

/* Episodes with gradient per second, as two workers would do them. */
static void table_processes(void)
{
    printf("\ntwo processes with one thread each: episodes of %u steps with gradient\n", steps);
    fflush(stdout);
    for (int bits = 64; bits >= 32; bits -= 32) {
        run how = {.engine = MPM_ENGINE_FAST, .bits = bits, .threads = 1, .gradient = true};
        int ends[2];
        if (pipe(ends) != 0) {
            fail("no pipe");
        }
        for (int p = 0; p < 2; p++) {
            if (fork() == 0) {
                double elapsed = measure(&how).elapsed;
                _exit(write(ends[1], &elapsed, sizeof elapsed) == sizeof elapsed ? 0 : 1);
            }
        }
        double rate = 0.0, elapsed;
        for (int p = 0; p < 2; p++) {
            if (read(ends[0], &elapsed, sizeof elapsed) != sizeof elapsed) {
                fail("a process failed");
            }
            rate += 1.0 / elapsed;
            wait(NULL);
        }
        close(ends[0]);
        close(ends[1]);
        printf("f%d %6.2f per second; at 50 steps about %.2f\n", bits, rate, rate * steps / 50.0);
    }
}

static const struct {
    const char *name;
    void (*print)(void);
} tables[] = {{"ratios", table_ratios},
              {"phases", table_phases},
              {"isas", table_isas},
              {"particles", table_particles},
              {"processes", table_processes}};
enum { TABLES = sizeof tables / sizeof tables[0] };

int main(int argc, char **argv)
{
    int from = 1;
    if (argc > 2 && strcmp(argv[1], "--steps") == 0) {
        steps = (uint32_t)strtoul(argv[2], NULL, 10);
        from = 3;
    }
    if (steps < 1) {
        fail("--steps needs a positive number");
    }
    for (int a = from; a < argc; a++) {
        int known = 0;
        for (int t = 0; t < TABLES; t++) {
            known |= strcmp(argv[a], tables[t].name) == 0;
        }
        if (!known) {
            fprintf(stderr,
                    "usage: bench_mpm [--steps N] [ratios | phases | isas | particles | processes] ...\n");
            return 2;
        }
    }
    for (int t = 0; t < TABLES; t++) {
        bool wanted = from == argc;
        for (int a = from; a < argc; a++) {
            wanted |= strcmp(argv[a], tables[t].name) == 0;
        }
        if (wanted) {
            tables[t].print();
        }
    }
    return 0;
}
