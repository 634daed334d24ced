/* SPDX-License-Identifier: Apache-2.0 */
/* command.c - what all commands begin and end with. */
#include "config.h"

#include "cli/command.h"

#include <diffsim/base.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arithmetic/portable.h"
#include "protect/crash.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/program.h"
#include "protect/call_state.h"

static int print_version(void)
{
    printf("dshost %s (plugin ABI %u.%u)\n", PACKAGE_VERSION, DS_ABI_MAJOR, DS_ABI_MINOR);
    return DS_EXIT_OK;
}

int ds_command_main(int argc, char **argv, int (*command)(int argc, char **argv, ds_error *e))
{
    ds_error e = {0, ""};
    ds_program_hold_standard();
    ds_files_least();
    ds_locale_use_c();
    ds_crash_allow();
    /* A file that grows beyond `ulimit -f` is an error of write(), not the end of the program. */
    signal(SIGXFSZ, SIG_IGN);
    /* Inherited from a parent that ignores it, it would let children end unseen, as if all had gone well. */
    signal(SIGCHLD, SIG_DFL);
    /* Flags may stand anywhere behind the command, whatever the environment says. */
    unsetenv("POSIXLY_CORRECT");
    /* BLAS in a plugin reads these when it is loaded; more than one thread would make results depend on the
     * machine. */
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
    setenv("OMP_NUM_THREADS", "1", 0);

    int version = argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0);
    int status = version ? print_version() : ds_portable_begin(argc, argv, &e);
    status = status != 0 || version ? status : command(argc, argv, &e);
    /* Whatever a command printed must have arrived: a full disk behind a redirection is an error. */
    status = status > 0 ? status : ds_stdout_done(&e);
    if (status != 0 && e.text[0] != '\0') {
        ds_log(DS_LOG_ERROR, NULL, "%s", e.text);
    }
    if (ds_crash_ends_at_once()) {
        _exit(status); /* stdout is flushed, and stderr has no buffer */
    }
    return status;
}
