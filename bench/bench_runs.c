/* SPDX-License-Identifier: Apache-2.0 */
/* bench_runs.c - processor seconds of whole runs on cartpole, with all their processes: ppo per step, cmaes
 * with its pictures, racer. With the dshost of another build both alternate.
 *
 *     make bench/bench_runs && bench/bench_runs [OTHER/dshost] */
#include "bench/bench.h"

#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 5, SEEDS = 5, MOST = 16 };

typedef struct builds {
    const char *program[2]; /* this build, the other one or NULL */
    char folder[64];        /* of the results */
} builds;

static void die(const char *what, const char *which)
{
    fprintf(stderr, "bench_runs: %s %s\n", what, which);
    exit(1);
}

static void run_program(const char *program, const char *const *arguments)
{
    const pid_t pid = fork();
    int status = 1;
    if (pid == 0) {
        char *argv[MOST + 2];
        size_t n = 0;
        memcpy(&argv[n++], &program, sizeof program);
        for (; *arguments != NULL && n <= MOST; arguments++) {
            memcpy(&argv[n++], arguments, sizeof *arguments);
        }
        argv[n] = NULL;
        if (freopen("/dev/null", "w", stdout) != NULL && freopen("/dev/null", "w", stderr) != NULL) {
            execvp(program, argv);
        }
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        die("no result from", program);
    }
}

/* Processor seconds of one run on cartpole. */
static double run_s(const builds *b, const char *program, const char *opt, const char *budget, int seed,
                    bool pictures)
{
    char number[16];
    snprintf(number, sizeof number, "%d", seed);
    const char *const lanes = strcmp(opt, "ppo") == 0 ? "opt.envs=64" : "run.jobs=1";
    const char *const set = strcmp(opt, "cmaes") == 0 ? "opt.lambda=64" : lanes;
    const char *const run[MOST + 1] = {"--env",  "cartpole", "--opt",      opt,
                                       "--set",  set,        "--budget",   budget,
                                       "--seed", number,     "--pictures", pictures ? "true" : "false",
                                       "--jobs", "1",        "--out",      b->folder};
    const char *const clear[] = {"-rf", b->folder, NULL};
    run_program("rm", clear);
    const double before = bench_cpu_all_s();
    run_program(program, run);
    const double after = bench_cpu_all_s();
    run_program("rm", clear);
    return after - before;
}

static void print(const char *what, double unit, const char *name, const double s[2])
{
    printf("%s: %.4g %s", what, s[0] / unit, name);
    if (s[1] > 0) {
        printf("; other build %.4g %s, this / other %.3f", s[1] / unit, name, s[0] / s[1]);
    }
    printf("\n");
    fflush(stdout);
}

/* Without the start: the difference of two budgets. An episode has 100 steps. */
static void bench_ppo(const builds *b)
{
    double least[2][2] = {{INFINITY, INFINITY}, {INFINITY, INFINITY}}, each[2] = {0, 0};
    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < 2 && b->program[k] != NULL; k++) {
            least[k][0] = fmin(least[k][0], run_s(b, b->program[k], "ppo", "320", 1, false));
            least[k][1] = fmin(least[k][1], run_s(b, b->program[k], "ppo", "960", 1, false));
        }
    }
    for (int k = 0; k < 2 && b->program[k] != NULL; k++) {
        each[k] = (least[k][1] - least[k][0]) / (640 * 100);
    }
    print("ppo, 64 lanes of cartpole, a step", 1e-6, "us", each);
}

static void bench_cmaes(const builds *b)
{
    double least[2] = {INFINITY, INFINITY};
    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < 2 && b->program[k] != NULL; k++) {
            least[k] = fmin(least[k], run_s(b, b->program[k], "cmaes", "1000", 1, true));
        }
    }
    least[1] = b->program[1] != NULL ? least[1] : 0;
    print("cmaes, lambda 64, 1000 evaluations of cartpole with pictures", 1e-3, "ms", least);
}

/* The mean over seeds: rounding changes how many fits a run has. */
static void bench_racer(const builds *b)
{
    double sum[2] = {0, 0};
    for (int seed = 0; seed < SEEDS; seed++) {
        for (int k = 0; k < 2 && b->program[k] != NULL; k++) {
            sum[k] += run_s(b, b->program[k], "racer", "1000", seed, false) / SEEDS;
        }
    }
    print("racer, 1000 evaluations of cartpole, mean of five seeds", 1, "s", sum);
}

int main(int argc, char **argv)
{
    const char *top = getenv("DS_TOP_BUILD");
    char own[4096];
    builds b = {.program = {own, argc > 1 ? argv[1] : NULL}};
    snprintf(own, sizeof own, "%s/dshost", top != NULL ? top : ".");
    snprintf(b.folder, sizeof b.folder, "/tmp/bench_runs-%ld", (long)getpid());
    bench_ppo(&b);
    bench_cmaes(&b);
    bench_racer(&b);
    return 0;
}
