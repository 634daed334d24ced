/* SPDX-License-Identifier: Apache-2.0 */
/* rl.h - runs an optimizer for stepwise control on an environment plugin in this process, with a small
 * objective of its own that counts episodes, checks every call, and can let episodes fail or choose their
 * start. */
#ifndef DS_TESTS_FAKE_RL_H
#define DS_TESTS_FAKE_RL_H

#include <diffsim/optimizer.h>

enum { FAKE_RL_LANES = 64 };

typedef struct fake_rl_row {
    double loss, sum; /* of the rewards */
    uint64_t steps, key, group;
    uint32_t outcome;
    char tag[16];
} fake_rl_row;

typedef struct fake_rl {
    /* in */
    const char *env, *env_settings; /* id, and "env.k=v env.k=v" */
    const char *opt, *opt_settings; /* the same with "opt." */
    uint64_t budget, seed;
    double failure_rate;  /* share of the episodes that fail, at some step */
    const double *starts; /* (theta0, omega0) of the episodes tagged "evaluate", in this order ... */
    size_t start_count;   /* ... as parameters of the environment; 0 = as other episodes */
    uint64_t stop_after;  /* should_stop() from this step on; 0 = never */
    /* out */
    ds_status create_status, status;
    uint64_t begun, steps, broken; /* calls that break the contract */
    fake_rl_row *rows;             /* budget of them, `begun` used */
    double *x;                     /* budget x n */
    uint64_t n;
    double env_seconds, wall;
    char error[512];
} fake_rl;

/* Returns 0 if the plugins cannot be loaded (reported on stderr). Release with fake_rl_free(). */
int fake_rl_run(fake_rl *f);
void fake_rl_free(fake_rl *f);

#endif
