/* SPDX-License-Identifier: Apache-2.0 */
/* arguments.c - getopt_long with messages of our own. */
#include "config.h"

#include "arguments.h"

#include <stdio.h>
#include <string.h>

#include "params.h"

/* The text of a flag without dashes and value. */
static void flag_name(const char *arg, char *out, size_t size)
{
    while (*arg == '-') {
        arg++;
    }
    snprintf(out, size, "%.*s", (int)strcspn(arg, "="), arg);
}

int ds_arguments_next(int argc, char **argv, const char *command, const struct option *options, ds_error *e)
{
    const char *known[64];
    size_t n = 0;
    char name[64];

    opterr = 0;
    int c = getopt_long(argc, argv, ":h", options, NULL);
    if (c != '?' && c != ':') {
        return c;
    }
    const char *arg = optind > 0 && optind <= argc ? argv[optind - 1] : "";
    for (; options[n].name != NULL && n < 64; n++) {
        known[n] = options[n].name;
    }
    flag_name(arg, name, sizeof name);
    if (c == ':') {
        ds_fail(e, DS_EXIT_USAGE, "%s: --%s needs a value", command, name);
        return '?';
    }
    if (optopt != 0 && strncmp(arg, "--", 2) == 0) {
        ds_fail(e, DS_EXIT_USAGE, "%s: --%s takes no value", command, name);
        return '?';
    }
    const char *near = ds_nearest(name, known, n);
    char hint[100];
    if (near != NULL) {
        snprintf(hint, sizeof hint, "did you mean --%s?", near);
    } else {
        snprintf(hint, sizeof hint, "`dshost %s --help` lists what there is", command);
    }
    ds_fail(e, DS_EXIT_USAGE, "%s: unknown flag %.80s; %s", command, arg, hint);
    return '?';
}

int ds_arguments_end(int argc, char **argv, const char *command, ds_error *e)
{
    if (optind < argc) {
        return ds_fail(e, DS_EXIT_USAGE, "%s: unexpected argument '%.80s'", command, argv[optind]);
    }
    return 0;
}
