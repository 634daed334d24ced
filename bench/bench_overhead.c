/* SPDX-License-Identifier: Apache-2.0 */
/* bench_overhead.c - what the host adds to one evaluation (analytic sphere, two variables): in this process,
 * isolated, and isolated with the store; and whether the memory of the host stays flat.
 *
 *     make bench/bench_overhead && bench/bench_overhead [EVALUATIONS]
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "evaluate/pool.h"
#include "store/recorder.h"

enum { N = 2, BATCH = 1000 };

typedef struct sum {
    double loss;
    uint64_t rows, id;
    const double *x;
    ds_recorder *recorder; /* or NULL */
} sum;

static void die(const ds_error *e)
{
    fprintf(stderr, "bench_overhead: %s\n", e->text);
    exit(1);
}

static int add(void *ctx, uint64_t i, const ds_answer *a, const double *grad, const void *out)
{
    sum *s = ctx;
    (void)out;
    s->loss += a->loss;
    s->rows++;
    if (s->recorder != NULL) {
        ds_row row;
        ds_error e;
        memset(&row, 0, sizeof(row));
        row.id = ++s->id;
        row.n = N;
        row.x = s->x + i * N;
        row.grad = grad;
        row.answer.loss = a->loss;
        row.answer.wall_s = a->wall_s;
        if (ds_recorder_append(s->recorder, &row, 0, &e) != 0) {
            die(&e);
        }
    }
    return 0;
}

static long resident_kib(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f != NULL) {
        if (fscanf(f, "%*s %ld", &pages) != 1) {
            pages = 0;
        }
        fclose(f);
    }
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static ds_pool *open_pool(int isolation, uint32_t jobs)
{
    ds_settings s;
    ds_error e = {0, ""};
    ds_pool *p = NULL;
    memset(&s, 0, sizeof(s));
    ds_pool_config c = {.settings = &s,
                        .threads = 1,
                        .jobs = jobs,
                        .isolation = isolation,
                        .program = "libexec/dshost-worker"};
    if (ds_settings_set(&s, "env.function=sphere", &e) != 0 || ds_settings_set(&s, "env.dim=2", &e) != 0 ||
        ds_loader_open("plugins/envs/analytic.so", DS_KIND_ENV, &c.module, &e) != 0 ||
        ds_pool_open(&c, &p, &e) != 0) {
        die(&e);
    }
    ds_settings_clear(&s);
    return p;
}

/* Microseconds per evaluation in batches of `batch` rows. */
static double measure(ds_pool *p, uint64_t total, uint64_t batch, ds_recorder *recorder, const double *x)
{
    sum s = {0.0, 0, 0, x, recorder};
    ds_error e = {0, ""};
    uint64_t start = ds_clock_ns();
    for (uint64_t done = 0; done < total; done += batch) {
        if (ds_pool_evaluate(p, batch, x, 0, done + 1, add, &s, &e) != 0) {
            die(&e);
        }
    }
    if (recorder != NULL && ds_recorder_drain(recorder, &e) != 0) {
        die(&e);
    }
    return 1e-3 * (double)(ds_clock_ns() - start) / (double)total;
}

static double best_of(ds_pool *p, uint64_t total, uint64_t batch, const double *x)
{
    double best = (double)INFINITY;
    for (int k = 0; k < 5; k++) {
        double us = measure(p, total / 5, batch, NULL, x);
        best = us < best ? us : best;
    }
    return best;
}

/* `limit` 0: for information; one by one, every evaluation waits for two wake-ups unless a
 * processor is free. */
static void report(const char *what, double us, double limit, double bare)
{
    printf("%-46s %8.3f us  (", what, us);
    if (limit > 0.0) {
        printf("limit %.1f us: %s; ", limit, us <= limit ? "met" : "MISSED");
    }
    printf("%.1f x the bare call)\n", us / bare);
}

/* The environment alone, through its function pointer. */
static double bare_call(uint64_t total, const double *x)
{
    ds_settings s;
    ds_error e = {0, ""};
    const ds_module *m = NULL;
    ds_env *env = NULL;
    memset(&s, 0, sizeof(s));
    if (ds_settings_set(&s, "env.function=sphere", &e) != 0 || ds_settings_set(&s, "env.dim=2", &e) != 0 ||
        ds_loader_open("plugins/envs/analytic.so", DS_KIND_ENV, &m, &e) != 0 ||
        ds_env_open(m, &s, 0, 1, NULL, &env, &e) != 0) {
        die(&e);
    }
    double sum_loss = 0.0;
    ds_eval io = {.struct_size = sizeof(io), .n = N};
    uint64_t start = ds_clock_ns();
    for (uint64_t i = 0; i < total; i++) {
        io.x = x + i % BATCH * N;
        env->vt->evaluate(env->self, &io);
        sum_loss += io.loss;
    }
    double us = 1e-3 * (double)(ds_clock_ns() - start) / (double)total;
    printf("%-46s %8.3f us  (checksum %g)\n", "bare call of the environment", us, sum_loss);
    ds_env_close(env);
    ds_settings_clear(&s);
    return us;
}

int main(int argc, char **argv)
{
    uint64_t total = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    double *x = malloc(BATCH * N * sizeof(double));
    ds_error e = {0, ""};
    total = (total + 5 * BATCH - 1) / (5 * BATCH) * (5 * BATCH);
    for (int i = 0; i < BATCH * N; i++) {
        x[i] = -1.0 + 2.0 * (double)i / (BATCH * N);
    }
    double bare = bare_call(total, x);
    ds_pool *p = open_pool(DS_ISOLATION_NONE, 1);
    report("in this process, batches of 1000", best_of(p, total, BATCH, x), 0.2, bare);
    report("in this process, one by one", best_of(p, total, 1, x), 0.2, bare);
    ds_pool_close(p);
    for (uint32_t jobs = 1; jobs <= 2; jobs++) {
        char what[64];
        p = open_pool(DS_ISOLATION_PROCESS, jobs);
        measure(p, 20000, BATCH, NULL, x);
        snprintf(what, sizeof(what), "isolated, %u job%s, batches of 1000", jobs, jobs > 1 ? "s" : "");
        report(what, best_of(p, total, BATCH, x), 5.0, bare);
        snprintf(what, sizeof(what), "isolated, %u job%s, batches of 16", jobs, jobs > 1 ? "s" : "");
        report(what, best_of(p, total / 80 * 80, 16, x), 5.0, bare);
        snprintf(what, sizeof(what), "isolated, %u job%s, one by one", jobs, jobs > 1 ? "s" : "");
        report(what, best_of(p, total / 10, 1, x), 0.0, bare);
        ds_pool_close(p);
    }

    char folder[] = "/tmp/diffsim-bench-XXXXXX";
    char path[64];
    ds_store *store = NULL;
    ds_recorder *recorder = NULL;
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    snprintf(path, sizeof(path), "%s/run.sqlite", folder);
    p = open_pool(DS_ISOLATION_PROCESS, 1);
    if (ds_store_create(path, NULL, N, &store, &e) != 0 || ds_recorder_open(store, 0, &recorder, &e) != 0) {
        die(&e);
    }
    sum warm = {0.0, 0, 0, x, recorder};
    ds_pool_evaluate(p, BATCH, x, 0, 1, add, &warm, &e);
    ds_recorder_drain(recorder, &e);
    long before = resident_kib();
    sum s = {0.0, 0, BATCH, x, recorder};
    uint64_t start = ds_clock_ns();
    long after_tenth = 0;
    for (uint64_t done = 0; done < total; done += BATCH) {
        if (ds_pool_evaluate(p, BATCH, x, 0, done + 1, add, &s, &e) != 0) {
            die(&e);
        }
        if (done <= total / 10) {
            after_tenth = resident_kib();
        }
    }
    if (ds_recorder_drain(recorder, &e) != 0) {
        die(&e);
    }
    report("isolated with store, 1 job, batches of 1000",
           1e-3 * (double)(ds_clock_ns() - start) / (double)total, 15.0, bare);
    printf("memory of the host: %ld KiB before, %ld KiB after a tenth, %ld KiB after %llu evaluations\n",
           before, after_tenth, resident_kib(), (unsigned long long)total);
    ds_recorder_close(recorder, NULL);
    ds_store_close(store, NULL);
    ds_pool_close(p);
    unlink(path);
    rmdir(folder);
    free(x);
    return 0;
}
