/* SPDX-License-Identifier: Apache-2.0 */
/* embed_run.c - a whole run of dshost inside a program, which observes the run and can end it:
 *     embed_run ENVIRONMENT OPTIMIZER FOLDER BUDGET
 * Resumes the run of the folder where it holds one, up to BUDGET evaluations. Compile: see README.md in this
 * folder. */
#include <diffsim/lib/run.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static ds_runner *run;

/* Ctrl-C ends the run, with everything saved: handlers are the program's own business. */
static void interrupted(int sig)
{
    (void)sig;
    ds_runner_stop(run);
}

static uint32_t progress(void *ctx, const ds_runner_result *now)
{
    (void)ctx;
    fprintf(stderr, "%llu of %llu, best %g\n", (unsigned long long)now->evaluations,
            (unsigned long long)now->budget, now->best_loss);
    return now->best_loss < 1e-9; /* good enough */
}

int main(int argc, char **argv)
{
    char why[600], settings[100], store[600];
    if (argc != 5) {
        fprintf(stderr, "usage: embed_run ENVIRONMENT OPTIMIZER FOLDER BUDGET\n");
        return 2;
    }
    snprintf(settings, sizeof settings, "budget = %s", argv[4]);
    snprintf(store, sizeof store, "%s/run.sqlite", argv[3]);
    ds_runner_options o = {.struct_size = sizeof o, .folder = argv[3], .run = settings, .progress = progress};
    if (access(store, F_OK) == 0) {
        o.resume = 1;
    } else {
        o.environment = argv[1];
        o.optimizer = argv[2];
    }
    run = ds_runner_open(&o, why, sizeof why);
    if (run == NULL) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    signal(SIGINT, interrupted);
    ds_status status = ds_runner_run(run);
    signal(SIGINT, SIG_DFL);
    if (status < 0) {
        fprintf(stderr, "%s\n", ds_runner_message(run));
    }
    ds_runner_result result = {.struct_size = sizeof result};
    if (ds_runner_describe(run, &result) == DS_OK) {
        printf("%.17g after %llu evaluations, %llu of them recorded before (%s)\n", result.best_loss,
               (unsigned long long)result.evaluations, (unsigned long long)result.repeated, result.ended);
    }
    ds_runner_close(run);
    return status < 0;
}
