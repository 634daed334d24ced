/* SPDX-License-Identifier: Apache-2.0 */
/* leaves_thread - starts a team of threads where it may use some, and leaves it behind. */
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
