/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the dshost program: picks the command and hands over to it. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "log.h"
#include "params.h"

typedef struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary; /* NULL = not shown */
} command;

static const command commands[] = {
    {"eval", ds_cmd_eval, "evaluate one point: loss, gradient, metrics, trajectory"},
    {"list", ds_cmd_list, "list the plugins on the search path"},
    {"help", ds_cmd_help, "describe a plugin and its parameters, or a command"},
    {"template", ds_cmd_template, "print a commented .ini file for an environment and an optimizer"},
    {"check", ds_cmd_check, "test a plugin for conformance (TAP on stdout)"},
    {"doctor", ds_cmd_doctor, "print versions, paths and limits, and test what a run needs"},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

int ds_command_failed(const ds_error *e)
{
    ds_log(DS_LOG_ERROR, NULL, "%s", e->text);
    return e->status;
}

static int usage(FILE *f)
{
    fprintf(f, "usage: dshost [COMMAND] [OPTIONS]\n\n"
               "  dshost --env plugins/envs/torus.so --opt boleap.so    one run: progress, saved result, pictures\n\n"
               "commands:\n");
    for (int i = 0; i < COMMANDS; i++) {
        if (commands[i].summary != NULL) {
            fprintf(f, "  %-9s %s\n", commands[i].name, commands[i].summary);
        }
    }
    fprintf(f, "\n`dshost COMMAND --help` and `dshost help ID` tell more; `man dshost` has it all.\n");
    return DS_EXIT_OK;
}

int main(int argc, char **argv)
{
    /* BLAS in a plugin reads these when it is loaded; more than one thread would make results depend on the machine. */
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
    setenv("OMP_NUM_THREADS", "1", 0);

    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        usage(argc < 2 ? stderr : stdout);
        return argc < 2 ? DS_EXIT_USAGE : DS_EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("dshost %s (plugin ABI %u.%u)\n", PACKAGE_VERSION, DS_ABI_MAJOR, DS_ABI_MINOR);
        return DS_EXIT_OK;
    }
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    const char *names[COMMANDS];
    for (int i = 0; i < COMMANDS; i++) {
        names[i] = commands[i].name;
    }
    const char *near = ds_nearest(argv[1], names, COMMANDS);
    ds_error e;
    ds_fail(&e, DS_EXIT_USAGE, near != NULL ? "unknown command '%.60s'; did you mean '%s'?"
                                            : "unknown command '%.60s'; `dshost --help` lists them", argv[1], near);
    return ds_command_failed(&e);
}
