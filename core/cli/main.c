/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the dshost program: picks the command and hands over to it. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/commands.h"

typedef struct command_entry {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary; /* NULL = not shown */
} command_entry;

static const command_entry commands[] = {
    {"--bench-run", ds_cmd_bench_run, NULL},
    {"run", ds_cmd_run, "search with an optimizer; the command that is meant when none is named"},
    {"resume", ds_cmd_resume, "go on with an interrupted run, or extend a finished one"},
    {"bench", ds_cmd_bench, "run an experiment: environments x optimizers x seeds, resumable, in parallel"},
    {"merge", ds_cmd_merge, "put the parts of an experiment, made on several machines, together"},
    {"plot", ds_cmd_plot, "one figure about many runs: curves, bars, scores, profiles"},
    {"report", ds_cmd_report, "one HTML page about many runs: tables, intervals, tests, figures"},
    {"compare", ds_cmd_compare, "which of two sets of runs is better, by how much, how sure"},
    {"export", ds_cmd_export,
     "write the evaluations of a run as CSV, JSONL, NumPy, IOHanalyzer or COCO files"},
    {"eval", ds_cmd_eval, "evaluate one point: loss, gradient, metrics, trajectory"},
    {"landscape", ds_cmd_landscape, "loss, gradient and gradient quality on a slice, with pictures"},
    {"list", ds_cmd_list, "list the plugins on the search path"},
    {"help", ds_cmd_help, "describe a plugin and its parameters, or a command"},
    {"template", ds_cmd_template, "print a commented .ini file for an environment and an optimizer"},
    {"check", ds_cmd_check, "test a plugin for conformance (TAP on stdout)"},
    {"doctor", ds_cmd_doctor, "print versions, paths and limits, and test what a run needs"},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

void ds_usage(FILE *f)
{
    fprintf(f, "usage: dshost [COMMAND] [OPTIONS]\n\n"
               "  dshost --env plugins/envs/torus.so --opt boleap.so    one run: progress, saved result, "
               "pictures\n\n"
               "commands:\n");
    for (int i = 0; i < COMMANDS; i++) {
        if (commands[i].summary != NULL) {
            fprintf(f, "  %-9s %s\n", commands[i].name, commands[i].summary);
        }
    }
    fprintf(f, "\n`dshost COMMAND --help` and `dshost help ID` tell more; `man dshost` has it all.\n");
}

int ds_command_usage(const char *name)
{
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(name, commands[i].name) == 0 && commands[i].summary != NULL) {
            char flag[] = "--help", copy[32];
            char *argv[] = {copy, flag, NULL};
            snprintf(copy, sizeof copy, "%s", name);
            return commands[i].run(2, argv);
        }
    }
    return -1;
}

static int command_of(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        ds_usage(argc < 2 ? stderr : stdout);
        return argc < 2 ? DS_EXIT_USAGE : DS_EXIT_OK;
    }
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    if (argv[1][0] == '-') {
        return ds_cmd_run(argc, argv);
    }
    const char *names[COMMANDS];
    for (int i = 0; i < COMMANDS; i++) {
        names[i] = commands[i].name;
    }
    const char *near = ds_nearest(argv[1], names, COMMANDS);
    ds_error e;
    ds_fail(&e, DS_EXIT_USAGE,
            near != NULL ? "unknown command '%.60s'; did you mean '%s'?"
                         : "unknown command '%.60s'; `dshost --help` lists them",
            argv[1], near);
    return ds_command_failed(&e);
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command_of);
}
