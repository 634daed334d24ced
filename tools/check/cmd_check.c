/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_check.c - `dshost check`: does a plugin keep the promises of its interface? */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "check/check_run.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "config/params.h"

static const char usage[] =
    "usage: dshost check PLUGIN.so [OPTIONS]\n"
    "  PLUGIN.so            a file, or the id of a plugin on the search path\n"
    "  --set env.K=V        test with this parameter (opt.K=V for an optimizer)\n"
    "  --seed N             all points and choices depend on it (default 0)\n"
    "  --only TEXT,...      only the tests with one of these in their id\n"
    "  --list               print the tests and what they promise\n"
    "  --timeout-s 45       seconds of one test, beyond the evaluations it cannot do without\n"
    "  --in-process         no process for each test: for a debugger\n"
    "  --json               one JSON object instead of TAP\n"
    "Exit status: 0 all passed, 8 some failed, 4 the plugin cannot be loaded.\n";

typedef struct request {
    ds_check_options options;
    const char *child; /* hidden: run this one test and write what it records to descriptor 3 */
    int list;
    char path[PATH_MAX];
} request;

/* Where the plugin is: a path, a file here (my.so), or an id on the search path. What does not exist is left
 * to the tests, which then say so. */
static void find_plugin(request *q, const char *name)
{
    const char *const *path = ds_loader_path();
    size_t n = strlen(name);
    int suffix = n > 3 && strcmp(name + n - 3, ".so") == 0;

    snprintf(q->path, sizeof q->path, "%s%s", strchr(name, '/') != NULL ? "" : "./", name);
    q->options.path = q->path;
    if (strchr(name, '/') != NULL || (suffix && access(name, F_OK) == 0)) {
        return;
    }
    for (size_t i = 0; path[i] != NULL; i++) {
        char file[PATH_MAX];
        if ((size_t)snprintf(file, sizeof file, "%s/%s%s", path[i], name, suffix ? "" : ".so") <
                sizeof file &&
            access(file, F_OK) == 0) {
            memcpy(q->path, file, strlen(file) + 1);
            return;
        }
    }
}

static int bad_value(const char *flag, const char *expected, ds_error *e)
{
    return ds_fail(e, DS_EXIT_USAGE, "check: --%s %.80s: expected %s", flag, optarg, expected);
}

static int take_flag(request *q, int c, ds_error *e)
{
    ds_check_options *o = &q->options;
    int64_t seed;
    unsigned long long loss, grad;

    switch (c) {
    case 's':
        o->sets[o->set_count++] = optarg;
        return ds_settings_set(&o->settings, optarg, e);
    case 'S':
        if (!ds_parse_int(optarg, &seed) || seed < 0) {
            return bad_value("seed", "a whole number of at least 0", e);
        }
        o->seed = (uint64_t)seed;
        return 0;
    case 'o':
        o->only = optarg;
        return 0;
    case 't':
        return ds_parse_real(optarg, &o->timeout) && o->timeout > 0 && o->timeout <= 1e6
                   ? 0
                   : bad_value("timeout-s", "seconds, greater than 0", e);
    case 'l':
        q->list = 1;
        return 0;
    case 'j':
        o->json = 1;
        return 0;
    case 'p':
        o->in_process = 1;
        return 0;
    case 'C':
        q->child = optarg;
        return 0;
    case 'K':
        return sscanf(optarg, "%lf,%lf", &o->cost, &o->cost_gradient) == 2 ? 0 : bad_value("cost", "A,B", e);
    case 'R':
        if (sscanf(optarg, "%llx,%llx", &loss, &grad) != 2) {
            return bad_value("reference", "A,B", e);
        }
        o->reference.loss = loss;
        o->reference.grad = grad;
        o->has_reference = 1;
        return 0;
    default:
        return e->status;
    }
}

static int parse(int argc, char **argv, request *q, ds_error *e)
{
    static const struct option options[] = {
        {"set", required_argument, NULL, 's'},  {"seed", required_argument, NULL, 'S'},
        {"only", required_argument, NULL, 'o'}, {"timeout-s", required_argument, NULL, 't'},
        {"list", no_argument, NULL, 'l'},       {"json", no_argument, NULL, 'j'},
        {"in-process", no_argument, NULL, 'p'}, {"child", required_argument, NULL, 'C'},
        {"cost", required_argument, NULL, 'K'}, {"reference", required_argument, NULL, 'R'},
        {"help", no_argument, NULL, 'h'},       {0}};
    int c, status = 0;

    q->options.timeout = 45;
    q->options.sets = calloc((size_t)argc, sizeof *q->options.sets);
    if (q->options.sets == NULL) {
        return ds_no_memory(e);
    }
    while (status == 0 && (c = ds_arguments_next(argc, argv, "check", options, e)) != -1) {
        if (c == 'h') {
            fputs(usage, stdout);
            return -1;
        }
        status = take_flag(q, c, e);
    }
    if (status == 0 && optind < argc) {
        find_plugin(q, argv[optind++]);
    }
    if (status == 0) {
        status = ds_arguments_end(argc, argv, "check", e);
    }
    if (status == 0 && q->options.path == NULL && !q->list) {
        status = ds_fail(e, DS_EXIT_USAGE, "check: name the plugin file: dshost check ./my_plugin.so");
    }
    return status;
}

static int command(int argc, char **argv)
{
    request q = {0};
    ds_error e = {0};
    int status = parse(argc, argv, &q, &e);

    if (status == 0 && q.child != NULL) {
        status = ds_check_child(&q.options, q.child, 3, &e);
    } else if (status == 0 && q.list) {
        const ds_module *m = NULL;
        if (q.options.path != NULL) {
            status = ds_loader_open(q.options.path, 0, &m, &e);
        }
        if (status == 0) {
            ds_check_list(m != NULL ? m->plugin->desc->kind : 0);
        }
    } else if (status == 0) {
        status = ds_check_run(&q.options, &e);
    }
    ds_settings_clear(&q.options.settings);
    free(q.options.sets);
    if (status == -1) {
        return DS_EXIT_OK;
    }
    return e.status != 0 ? ds_command_failed(&e) : status;
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
