/* SPDX-License-Identifier: Apache-2.0 */
/* envs.c - faults of environments: evaluation, state of the process, threads: -DBAD_IS_NAME compiles plugin
 * NAME (compile_bad of tests/cli/lib.sh). */

/* always_grad - writes to the gradient although none is wanted. */
#ifdef BAD_IS_always_grad
#define BAD_ID "always_grad"
#define BAD_ROWS spoil_gradient(self, rows, results)
#define BAD_TABLES                                                                                           \
    static ds_status spoil_gradient(void *self, const ds_rows *rows, const ds_results *results)              \
    {                                                                                                        \
        if (results->grad != NULL) {                                                                         \
            results->grad[0] = 1;                                                                            \
        }                                                                                                    \
        return ds_eval_each(self, rows, results, evaluate);                                                  \
    }
#include "env_base.h"
#endif

/* changes_mode - changes the working directory and the floating-point mode. */
#ifdef BAD_IS_changes_mode
#include <fenv.h>
#include <unistd.h>
#define BAD_ID "changes_mode"
#define BAD_EVALUATE                                                                                         \
    fesetround(FE_DOWNWARD);                                                                                 \
    (void)!chdir("/");
#include "env_base.h"
#endif

/* crashes - crashes at the upper bound of a variable. */
#ifdef BAD_IS_crashes
#include <stdint.h>
#define BAD_ID "crashes"
#define BAD_EVALUATE                                                                                         \
    if (io->x[0] == 2) {                                                                                     \
        *(volatile int *)(uintptr_t)16 = 0;                                                                  \
    }
#include "env_base.h"
#endif

/* endless_steps - says that it took 2^64 - 1 steps. */
#ifdef BAD_IS_endless_steps
#define BAD_ID "endless_steps"
#define BAD_EVALUATE io->cost_steps = UINT64_MAX;
#include "env_base.h"
#endif

/* exits - ends the program where it should report. */
#ifdef BAD_IS_exits
#include <stdlib.h>
#define BAD_ID "exits"
#define BAD_EVALUATE                                                                                         \
    if (io->x[0] == 2) {                                                                                     \
        exit(0);                                                                                             \
    }
#include "env_base.h"
#endif

/* four_threads - sums in another order where it may use 4 threads. */
#ifdef BAD_IS_four_threads
#define BAD_ID "four_threads"
#define BAD_EVALUATE io->loss += b->host->threads == 4 ? 1e-15 * io->loss : 0;
#include "env_base.h"
#endif

/* hangs - does not end at the upper bound of a variable. */
#ifdef BAD_IS_hangs
#define BAD_ID "hangs"
#define BAD_EVALUATE                                                                                         \
    for (volatile int hang = io->x[0] == 2; hang;) {                                                         \
    }
#include "env_base.h"
#endif

/* hangs_at_gradient - never ends where a gradient is wanted in a part of the box. */
#ifdef BAD_IS_hangs_at_gradient
#include <unistd.h>
#define BAD_ID "hangs_at_gradient"
#define BAD_EVALUATE                                                                                         \
    while ((io->want & DS_WANT_GRAD) && io->x[1] < -0.5) {                                                   \
        usleep(1000);                                                                                        \
    }
#include "env_base.h"
#endif

/* hidden_state - the result depends on the calls before. */
#ifdef BAD_IS_hidden_state
#define BAD_ID "hidden_state"
static double calls;
#define BAD_EVALUATE io->loss += 1e-9 * calls++;
#include "env_base.h"
#endif

/* ignores_stop - goes on for seconds after the host asked to stop. */
#ifdef BAD_IS_ignores_stop
#include <time.h>
#define BAD_ID "ignores_stop"
#define BAD_EVALUATE                                                                                         \
    if (b->host->should_stop(b->host)) {                                                                     \
        const struct timespec pause = {2, 300000000};                                                        \
        nanosleep(&pause, NULL);                                                                             \
    }
#include "env_base.h"
#endif

/* leaves_thread - starts a team of threads where it may use some, and leaves it behind. */
#ifdef BAD_IS_leaves_thread
#include <pthread.h>
#include <unistd.h>
#define BAD_ID "leaves_thread"
static void *work(void *arg)
{
    for (;;) {
        pause();
    }
    return arg;
}
#define BAD_EVALUATE                                                                                         \
    if (b->host->threads > 1) {                                                                              \
        pthread_t thread;                                                                                    \
        pthread_create(&thread, NULL, work, NULL);                                                           \
    }
#include "env_base.h"
#endif

/* mask_with_threads - changes the umask where it may use several threads and a gradient is wanted. */
#ifdef BAD_IS_mask_with_threads
#include <sys/stat.h>
#define BAD_ID "mask_with_threads"
#define BAD_EVALUATE                                                                                         \
    if (b->host->threads > 1 && (io->want & DS_WANT_GRAD)) {                                                 \
        umask(0777);                                                                                         \
    }
#include "env_base.h"
#endif

/* mode_with_threads - changes how the process rounds where it may use several threads. */
#ifdef BAD_IS_mode_with_threads
#include <fenv.h>
#define BAD_ID "mode_with_threads"
#define BAD_EVALUATE                                                                                         \
    if (b->host->threads > 1) {                                                                              \
        fesetround(FE_UPWARD);                                                                               \
    }
#include "env_base.h"
#endif

/* nan_gradient - announces gradients and never has a finite one. */
#ifdef BAD_IS_nan_gradient
#define BAD_ID "nan_gradient"
#define BAD_EVALUATE                                                                                         \
    if (io->want & DS_WANT_GRAD) {                                                                           \
        io->grad[1] = NAN;                                                                                   \
    }
#include "env_base.h"
#endif

/* nan_loss - passes a NaN off as a loss. */
#ifdef BAD_IS_nan_loss
#define BAD_ID "nan_loss"
#define BAD_EVALUATE io->loss = NAN;
#include "env_base.h"
#endif

/* odd_want - refuses wishes that it does not know. */
#ifdef BAD_IS_odd_want
#define BAD_ID "odd_want"
#define BAD_EVALUATE                                                                                         \
    if ((io->want & ~(uint32_t)(DS_WANT_GRAD | DS_WANT_SCENE)) != 0) {                                       \
        b->host->error(b->host, DS_E_ARG, "an unknown wish");                                                \
        return DS_E_ARG;                                                                                     \
    }
#include "env_base.h"
#endif

/* past_grad - writes one entry behind the gradient. */
#ifdef BAD_IS_past_grad
#define BAD_ID "past_grad"
#define BAD_EVALUATE                                                                                         \
    if (io->want & DS_WANT_GRAD) {                                                                           \
        io->grad[io->n] = 0;                                                                                 \
    }
#include "env_base.h"
#endif

/* prints - prints on stdout. */
#ifdef BAD_IS_prints
#include <stdio.h>
#define BAD_ID "prints"
#define BAD_EVALUATE printf("loss %g\n", io->loss);
#include "env_base.h"
#endif

/* secret_tolerance - says a tolerance, and not in its descriptor that it is inexact. */
#ifdef BAD_IS_secret_tolerance
#define BAD_ID "secret_tolerance"
#define BAD_TOLERANCE 1e-6
#include "env_base.h"
#endif

/* shared_state - instances in two threads share a variable. */
#ifdef BAD_IS_shared_state
#include <stdatomic.h>
#include <time.h>
#define BAD_ID "shared_state"
static atomic_int inside; /* atomic: a lost count would hide the sin in every later call */
#define BAD_EVALUATE                                                                                         \
    {                                                                                                        \
        const struct timespec pause = {0, 2000000};                                                          \
        inside++;                                                                                            \
        nanosleep(&pause, NULL);                                                                             \
        io->loss += inside > 1;                                                                              \
        inside--;                                                                                            \
    }
#include "env_base.h"
#endif

/* short_grad - leaves the last entry of the gradient unwritten. */
#ifdef BAD_IS_short_grad
#define BAD_ID "short_grad"
#define BAD_ENTRIES (io->n - 1)
#include "env_base.h"
#endif

/* too_inexact - is apart by a thousand times the tolerance that it says. */
#ifdef BAD_IS_too_inexact
#define BAD_ID "too_inexact"
#define BAD_FLAGS (DS_ENV_GRADIENT | DS_ENV_INEXACT)
#define BAD_TOLERANCE 1e-12
static _Thread_local unsigned calls;
#define BAD_EVALUATE io->loss *= 1 + 1e-9 * (calls++ % 2);
#include "env_base.h"
#endif

/* uninitialised - uses memory that it never wrote. */
#ifdef BAD_IS_uninitialised
#include <stdlib.h>
#define BAD_ID "uninitialised"
#define BAD_EVALUATE                                                                                         \
    {                                                                                                        \
        unsigned char *volatile p = malloc(100000);                                                          \
        io->loss += p[50000];                                                                                \
        free(p);                                                                                             \
    }
#include "env_base.h"
#endif
