/* SPDX-License-Identifier: Apache-2.0 */
/* portable.c - the variables of portable mode, and how a program gets them. */
#include "config.h"

#include "arithmetic/portable.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Names that a C library does not know are ignored: those of before glibc 2.33 end with _Usable. */
#define HWCAPS "glibc.cpu.hwcaps="
#define WITHOUT_FMA HWCAPS "-FMA,-FMA4,-FMA_Usable,-FMA4_Usable"

/* Those that are to be empty or absent would change the block sizes of OpenBLAS. */
static const char *const variables[] = {"DS_PORTABLE=1",
                                        "OPENBLAS_CORETYPE=" DS_PORTABLE_BLAS,
                                        "OPENBLAS_NUM_THREADS=1",
                                        "OMP_NUM_THREADS=1",
                                        "GLIBC_TUNABLES=" WITHOUT_FMA,
                                        "OPENBLAS_BLOCK_FACTOR=",
                                        "GOTO_BLOCK_FACTOR=",
                                        "OPENBLAS_L2_SIZE=",
                                        NULL};
static const char tunables[] = "GLIBC_TUNABLES", entered[] = "DS_PORTABLE_PROCESS";

static char **arguments; /* of this program, as they were */

const char *ds_portable_variable(size_t k)
{
    return variables[k];
}

static int asked(void)
{
    const char *mode = getenv("DS_PORTABLE");
    return mode != NULL && strcmp(mode, "1") == 0;
}

/* The name in "NAME=VALUE"; returns the value. */
static const char *split(const char *variable, char name[40])
{
    size_t n = strcspn(variable, "=");
    snprintf(name, 40, "%.*s", (int)n, variable);
    return variable + n + 1;
}

/* Other tunables may stand beside ours. */
static int has(const char *name, const char *value)
{
    const char *now = getenv(name);
    now = now != NULL ? now : "";
    return strcmp(name, tunables) == 0 ? strstr(now, value) != NULL : strcmp(now, value) == 0;
}

int ds_portable_on(void)
{
    int on = 1;
    char name[40];
    for (int k = 0; on && variables[k] != NULL; k++) {
        const char *value = split(variables[k], name);
        on = has(name, value);
    }
    return on;
}

/* The tunables of the user, but for those of the processor, and ours. */
static int set_tunables(const char *ours)
{
    const char *old = getenv(tunables);
    size_t room = (old != NULL ? strlen(old) : 0) + strlen(ours) + 2;
    char *text = calloc(1, room);
    for (size_t used = 0; text != NULL && old != NULL && *old != '\0';) {
        size_t n = strcspn(old, ":");
        if (n > 0 && strncmp(old, HWCAPS, strlen(HWCAPS)) != 0) {
            used += (size_t)snprintf(text + used, room - used, "%.*s:", (int)n, old);
        }
        old += n + (old[n] == ':');
    }
    int bad = text == NULL || setenv(tunables, strcat(text, ours), 1) != 0;
    free(text);
    return bad;
}

static int set_variables(void)
{
    int bad = 0;
    char name[40];
    for (int k = 0; variables[k] != NULL; k++) {
        const char *value = split(variables[k], name);
        bad |= strcmp(name, tunables) == 0 ? set_tunables(value) : setenv(name, value, 1) != 0;
    }
    return bad;
}

int ds_portable_enter(ds_error *e)
{
    char process[24];
    const char *before = getenv(entered);
    if (ds_portable_on()) {
        return 0;
    }
#if !defined(__x86_64__)
    return ds_fail(e, DS_EXIT_CONFIG, "portable: this mode is one of x86-64 processors; this is another one");
#endif
    if (arguments == NULL) {
        return ds_fail(e, DS_EXIT_CONFIG,
                       "portable: this program was not started in portable mode, and a library cannot start "
                       "it anew; start it with: env $(dshost doctor --portable) PROGRAM");
    }
    /* A process keeps its number when it becomes another program: coming here twice would never end. */
    snprintf(process, sizeof process, "%ld", (long)getpid());
    if (before != NULL && strcmp(before, process) == 0) {
        return ds_fail(e, DS_EXIT_IO,
                       "portable: the variables of portable mode do not reach this program (started anew, it "
                       "still lacks some of them): set them with: env $(dshost doctor --portable)");
    }
    fflush(NULL);
    if (set_variables() != 0 || setenv(entered, process, 1) != 0) {
        return ds_no_memory(e);
    }
    execv("/proc/self/exe", arguments);
    return ds_fail(e, DS_EXIT_IO, "portable: this program cannot be started anew: %s", strerror(errno));
}

int ds_portable_begin(int argc, char **argv, ds_error *e)
{
    /* getopt() sorts them, and commands change them. */
    arguments = calloc((size_t)argc + 1, sizeof *arguments);
    for (int k = 0; arguments != NULL && k < argc; k++) {
        arguments[k] = argv[k];
    }
    return arguments == NULL ? ds_no_memory(e) : asked() ? ds_portable_enter(e) : 0;
}
