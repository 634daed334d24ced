/* SPDX-License-Identifier: Apache-2.0 */
/* call_state.c - saves and restores the call state of a thread and of the process around third-party code. */
#include "config.h"

#include "protect/call_state.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

locale_t ds_locale_use_c(void)
{
    return uselocale(ds_locale_c());
}

/* ---- the whole process ---- */

enum { LEAST_FD = 64 };
enum { SIGNALS = 32 }; /* higher signals are not used here */

struct ds_process_state {
    ds_call_state thread;
    int folder; /* working directory */
    int out;    /* stdout, which is redirected to stderr meanwhile */
    mode_t umask;
    sigset_t mask;
    struct sigaction handler[SIGNALS];
};

ds_process_state *ds_process_state_save(void)
{
    ds_process_state *s = calloc(1, sizeof *s);
    if (s != NULL) {
        s->thread = ds_call_state_save();
        s->folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        fflush(stdout);
        s->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, LEAST_FD);
        if (s->out >= 0) {
            dup2(STDERR_FILENO, STDOUT_FILENO);
        }
        s->umask = umask(0);
        umask(s->umask);
        pthread_sigmask(SIG_SETMASK, NULL, &s->mask);
        for (int k = 1; k < SIGNALS; k++) {
            sigaction(k, NULL, &s->handler[k]);
        }
    }
    return s;
}

/* A timer that the plugin left running must not end the process when its handler is gone: ignore its signal.
 */
static void put_back_handler(int sig, struct sigaction *before)
{
    struct sigaction now;
    int left = sig == SIGALRM || sig == SIGVTALRM || sig == SIGPROF || sig == SIGUSR1 || sig == SIGUSR2;
    if (left && sigaction(sig, NULL, &now) == 0 && now.sa_handler != SIG_DFL &&
        before->sa_handler == SIG_DFL) {
        before->sa_handler = SIG_IGN;
    }
    sigaction(sig, before, NULL); /* fails for SIGKILL and SIGSTOP */
}

void ds_process_state_restore(ds_process_state *s)
{
    if (s == NULL) {
        return;
    }
    ds_call_state_restore(&s->thread);
    if (s->folder >= 0) {
        int ignored = fchdir(s->folder);
        (void)ignored;
        close(s->folder);
    }
    umask(s->umask);
    fflush(stdout);
    if (s->out >= 0) {
        dup2(s->out, STDOUT_FILENO);
        close(s->out);
    }
    for (int k = 1; k < SIGNALS; k++) {
        put_back_handler(k, &s->handler[k]);
    }
    pthread_sigmask(SIG_SETMASK, &s->mask, NULL);
    free(s);
}
