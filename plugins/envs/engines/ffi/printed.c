/* SPDX-License-Identifier: Apache-2.0 */
/* printed.c - stderr as a file in memory while a foreign function runs. */
#define _GNU_SOURCE
#include "printed.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { UNKNOWN = -2, NONE = -1, MOST = 1 << 16 /* bytes shown of one call */ };

static int buffer = UNKNOWN, own = NONE; /* the file; stderr itself */
static volatile sig_atomic_t open_call;

/* Empties the buffer to where it belongs. Safe in a signal handler. */
static int forward(void)
{
    char bytes[4096];
    off_t at = 0;
    ssize_t n;
    while (at < MOST && (n = pread(buffer, bytes, sizeof bytes, at)) > 0) {
        for (ssize_t done = 0, wrote; done < n; done += wrote) {
            wrote = write(own, bytes + done, (size_t)(n - done));
            if (wrote < 0 && errno != EINTR) {
                return 1;
            }
            wrote = wrote < 0 ? 0 : wrote;
        }
        at += n;
    }
    return at > 0;
}

static void last_words(void)
{
    if (open_call) {
        forward();
    }
}

static void dying(int number)
{
    last_words();
    signal(number, SIG_DFL);
    raise(number);
}

static int prepare(void)
{
    static const int fatal[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
    struct sigaction old, mine = {.sa_handler = dying, .sa_flags = SA_ONSTACK | SA_NODEFER};
    if (strcmp(program_invocation_short_name, "dshost-worker") != 0) {
        return NONE;
    }
    own = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    const int fd = own >= 0 ? memfd_create("stderr", MFD_CLOEXEC) : NONE;
    if (fd < 0 || fcntl(fd, F_SETFL, O_APPEND) != 0) {
        return NONE;
    }
    atexit(last_words);
    for (size_t k = 0; k < sizeof fatal / sizeof fatal[0]; k++) {
        if (sigaction(fatal[k], NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) &&
            old.sa_handler == SIG_DFL) {
            sigaction(fatal[k], &mine, NULL);
        }
    }
    return fd;
}

void printed_begin(void)
{
    buffer = buffer == UNKNOWN ? prepare() : buffer;
    if (buffer >= 0) {
        open_call = dup2(buffer, STDERR_FILENO) >= 0;
    }
}

int printed_end(void)
{
    struct stat st;
    if (!open_call) {
        return 0;
    }
    dup2(own, STDERR_FILENO);
    open_call = 0;
    if (fstat(buffer, &st) != 0 || st.st_size == 0) {
        return 0;
    }
    forward();
    return ftruncate(buffer, 0) == 0;
}
