/* SPDX-License-Identifier: Apache-2.0 */
/* bench_overhead.c - the host's overhead per evaluation (analytic sphere, two variables): in this process,
 * isolated, and isolated with the store, in processor time of the host and its workers together; and whether
 * the memory of the host stays constant.
 *
 *     make bench/bench_overhead && bench/bench_overhead [EVALUATIONS] */
#include "config.h"

#include <diffsim/helper/eval.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
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

/* Evaluates `total` points in batches of `batch` rows. */
static void evaluate(ds_pool *p, uint64_t total, uint64_t batch, sum *s, const double *x)
{
    ds_error e = {0, ""};
    for (uint64_t done = 0; done < total; done += batch) {
        if (ds_pool_evaluate(p, batch, x, 0, done + 1, add, s, &e) != 0) {
            die(&e);
        }
    }
    if (s->recorder != NULL && ds_recorder_drain(s->recorder, &e) != 0) {
        die(&e);
    }
}

/* Seconds of this process and of the workers of a pool, which count when they have ended. */
static double pool_seconds(int isolation, uint32_t jobs, uint64_t total, uint64_t batch, const double *x)
{
    sum s = {.x = x};
    const double start = bench_cpu_all_s();
    ds_pool *p = open_pool(isolation, jobs);
    evaluate(p, total, batch, &s, x);
    ds_pool_close(p);
    return bench_cpu_all_s() - start;
}

/* Microseconds per evaluation, the best of five; a run with a tenth of the evaluations is subtracted to
 * remove start and end. */
static double best_of(int isolation, uint32_t jobs, uint64_t total, uint64_t batch, const double *x)
{
    const uint64_t each = (total / 5 + batch - 1) / batch * batch,
                   few = (each / 10 + batch - 1) / batch * batch;
    double best = (double)INFINITY, start = (double)INFINITY;
    for (int k = 0; k < 5; k++) {
        start = fmin(start, pool_seconds(isolation, jobs, few, batch, x));
        best = fmin(best, pool_seconds(isolation, jobs, few + each, batch, x));
    }
    return 1e6 * (best - start) / (double)each;
}

static void report(const char *what, double us, double bare)
{
    printf("%-46s %8.3f us  (%.1f x the bare call)\n", what, us, us / bare);
    fflush(stdout);
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
    ds_eval io = {.bad_step = -1, .n = N};
    const double start = bench_cpu_s();
    for (uint64_t i = 0; i < total; i++) {
        io.x = x + i % BATCH * N;
        ds_eval_call(env->vt, env->self, &io);
        sum_loss += io.loss;
    }
    double us = 1e6 * (bench_cpu_s() - start) / (double)total;
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
    report("in this process, batches of 1000", best_of(DS_ISOLATION_NONE, 1, total, BATCH, x), bare);
    report("in this process, one by one", best_of(DS_ISOLATION_NONE, 1, total, 1, x), bare);
    for (uint32_t jobs = 1; jobs <= 2; jobs++) {
        static const uint64_t batches[] = {BATCH, 16, 1};
        for (int i = 0; i < 3; i++) {
            char what[64];
            snprintf(what, sizeof(what), "isolated, %u job%s, batches of %d", jobs, jobs > 1 ? "s" : "",
                     (int)batches[i]);
            report(what,
                   best_of(DS_ISOLATION_PROCESS, jobs, batches[i] > 1 ? total : total / 10, batches[i], x),
                   bare);
        }
    }

    char folder[] = "/tmp/diffsim-bench-XXXXXX";
    char path[64];
    ds_store *store = NULL;
    ds_recorder *recorder = NULL;
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    snprintf(path, sizeof(path), "%s/run.sqlite", folder);
    const double opening = pool_seconds(DS_ISOLATION_PROCESS, 1, BATCH, BATCH, x), start = bench_cpu_all_s();
    ds_pool *p = open_pool(DS_ISOLATION_PROCESS, 1);
    if (ds_store_create(path, NULL, N, &store, &e) != 0 || ds_recorder_open(store, 0, &recorder, &e) != 0) {
        die(&e);
    }
    sum s = {.x = x, .recorder = recorder};
    evaluate(p, BATCH, BATCH, &s, x);
    const long before = resident_kib();
    evaluate(p, total / 10 / BATCH * BATCH, BATCH, &s, x);
    const long after_tenth = resident_kib();
    evaluate(p, total - total / 10 / BATCH * BATCH, BATCH, &s, x);
    const long after = resident_kib();
    ds_recorder_close(recorder, NULL);
    ds_store_close(store, NULL);
    ds_pool_close(p);
    report("isolated with store, 1 job, batches of 1000",
           1e6 * (bench_cpu_all_s() - start - opening) / (double)total, bare);
    printf("memory of the host: %ld KiB before, %ld KiB after a tenth, %ld KiB after %llu evaluations\n",
           before, after_tenth, after, (unsigned long long)total);
    unlink(path);
    rmdir(folder);
    free(x);
    return 0;
}
