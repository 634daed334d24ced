/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - for all benchmarks: processor time, which other programs on the machine do not change; the
 * instruction sets of the machine; and the times of peers, measured in the same run. */
#ifndef DS_BENCH_H
#define DS_BENCH_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "common/isa.h"

/* Seconds of processor time of this process, all threads together. */
static inline double bench_cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The same including all its children that have ended. */
static inline double bench_cpu_all_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return bench_cpu_s() + (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* Whether kernels for this instruction set run here: an engine falls back to the next lower set, which has
 * its own row. */
static inline int bench_has(const char *isa)
{
    const int set = isa_named(isa);
    return set >= 0 && set <= isa_widest();
}

/* bar = the derivatives of the mean squared difference of n numbers by a. */
static inline void bench_mean_square_bar(size_t n, const double *a, const double *b, double *bar)
{
    for (size_t i = 0; i < n; i++) {
        bar[i] = 2 * (a[i] - b[i]) / (double)n;
    }
}

/* Seconds of processor time that a peer takes for the same work, measured now by bench/peers.py with the
 * Python of DS_PEER_PYTHON (python3); 0 where it is not installed there. `result`, where not NULL, gets the
 * number that the work computes, such as a mean loss; NaN where it computes none. */
static inline double bench_peer(const char *work, double *result)
{
    const char *python = getenv("DS_PEER_PYTHON"), *top = getenv("DS_TOP_SRC");
    char command[4096];
    double seconds = 0, number = (double)NAN;
    snprintf(command, sizeof command, "'%s' '%s/bench/peers.py' '%s' 2>/dev/null",
             python ? python : "python3", top ? top : ".", work);
    fflush(stdout);
    FILE *f = popen(command, "r");
    if (f == NULL) {
        return 0;
    }
    const int found = fscanf(f, "%lf %lf", &seconds, &number);
    if (result != NULL) {
        *result = number;
    }
    return pclose(f) == 0 && found >= 1 && seconds > 0 ? seconds : 0;
}

/* The seconds alone. */
static inline double bench_peer_s(const char *work)
{
    return bench_peer(work, NULL);
}

#endif
