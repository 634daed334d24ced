/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the dshost program: picks the command and hands over to it. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/cmd_run.h"
#include "cli/dispatch.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv, ds_error *e);
} built_in[] = {
    {"run", ds_cmd_run},
    {"resume", ds_cmd_resume},
};

static int carry_out(int argc, char **argv, ds_error *e)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        ds_usage(argc < 2 ? stderr : stdout);
        return argc < 2 ? DS_EXIT_USAGE : DS_EXIT_OK;
    }
    for (size_t i = 0; i < sizeof built_in / sizeof built_in[0]; i++) {
        if (strcmp(argv[1], built_in[i].name) == 0) {
            return built_in[i].run(argc - 1, argv + 1, e);
        }
    }
    if (argv[1][0] == '-') {
        return ds_cmd_run(argc, argv, e);
    }
    return ds_dispatch(argv[1], argv + 2, e);
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, carry_out);
}
