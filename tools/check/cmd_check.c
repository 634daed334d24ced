/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_check.c - `dshost check`: does a plugin keep the contract of its interface? */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/check_tests.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "config/params.h"
#include "worker/process.h"

static const char usage[] =
    "usage: dshost check PLUGIN.so [OPTIONS]\n  PLUGIN.so            a file (also FILE.py:NAME), or the id "
    "of a plugin on the search path\n  --set env.K=V        test with this parameter (opt.K=V for an "
    "optimizer)\n  --seed N             seed of all random points and choices (default 0)\n  --only TEXT,... "
    "     run only tests whose id contains one of these texts; may be repeated.\n                       "
    "Tests for the other kind of plugin are ignored; a text that matches no test is an error\n  --list       "
    "        print the tests and what they check\n  --timeout-s 45       seconds per test, in addition to "
    "the evaluations that it needs at least\n  --in-process         run all tests in this process, for a "
    "debugger\n  --json               print one JSON object instead of TAP\nExit status: 0 all tests passed, "
    "8 some failed, 4 the plugin cannot be loaded, 3 a parameter is wrong,\n2 wrong arguments.\n";

typedef struct request {
    ds_check_options options;
    const char *child; /* internal: run this test and write its records to descriptor 3 */
    char *only;        /* all --only flags, joined */
    int list, flight, kept;
    char path[PATH_MAX];
} request;

/* Finds the plugin: a path, a file in this folder (my.so), or an id on the search path. If it does not exist,
 * the tests report that. */
static void find_plugin(request *q, const char *name)
{
    const char *const *path = ds_loader_path();
    size_t n = strlen(name);
    ds_plugin_file found;
    ds_error none;
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
    if (ds_plugin_find(name, 0, &found, &none) == 0) { /* written in another language */
        memcpy(q->path, found.path, strlen(found.path) + 1);
    }
}

static int bad_value(const char *flag, const char *expected, ds_error *e)
{
    return ds_fail(e, DS_EXIT_USAGE, "check: --%s %.80s: expected %s", flag, optarg, expected);
}

static int take_value(void *to, const char *name, const char *value, ds_error *e)
{
    ds_check_options *o = &((request *)to)->options;
    int64_t seed;
    unsigned long long loss, grad;

    if (strcmp(name, "set") == 0) {
        o->sets[o->set_count++] = value;
        return ds_settings_set(&o->settings, value, e);
    }
    if (strcmp(name, "timeout-s") == 0) {
        return ds_parse_real(value, &o->timeout) && o->timeout > 0 && o->timeout <= 1e6
                   ? 0
                   : bad_value(name, "seconds above 0", e);
    }
    if (strcmp(name, "cost") == 0) {
        return sscanf(value, "%lf,%lf", &o->cost, &o->cost_gradient) == 2 ? 0 : bad_value(name, "A,B", e);
    }
    if (strcmp(name, "reference") == 0) {
        o->has_reference = sscanf(value, "%llx,%llx", &loss, &grad) == 2;
        o->reference = o->has_reference ? (ds_check_bits){loss, grad} : o->reference;
        return o->has_reference ? 0 : bad_value(name, "A,B", e);
    }
    if (!ds_parse_int(value, &seed) || seed < 0) {
        return bad_value(name, "a whole number of at least 0", e);
    }
    o->seed = (uint64_t)seed;
    return 0;
}

static int parse(int argc, char **argv, request *q, ds_error *e)
{
    const ds_flag flags[] = {{"set", .take = take_value},
                             {"seed", .take = take_value},
                             {"only", .list = &q->only},
                             {"timeout-s", .take = take_value},
                             {"list", .set = &q->list},
                             {"json", .set = &q->options.json},
                             {"in-process", .set = &q->options.in_process},
                             {"child", .text = &q->child},
                             {"flight", .set = &q->flight},
                             {"kept", .set = &q->kept},
                             {"cost", .take = take_value},
                             {"reference", .take = take_value},
                             {"help", .usage = usage},
                             {0}};
    q->options.timeout = 45;
    q->options.kept = -1;
    q->options.sets = calloc((size_t)argc, sizeof *q->options.sets);
    int status =
        q->options.sets == NULL ? ds_no_memory(e) : ds_arguments_read(argc, argv, "check", flags, -1, q, e);
    q->options.only = q->only;
    if (status != 0) {
        return status;
    }
    if (optind < argc) {
        find_plugin(q, argv[optind++]);
    }
    status = ds_arguments_end(argc, argv, "check", e);
    return status == 0 && q->options.path == NULL && !q->list
               ? ds_fail(e, DS_EXIT_USAGE, "check: name the plugin file: dshost check ./my_plugin.so")
               : status;
}

static int command(int argc, char **argv, ds_error *e)
{
    request q = {0};
    int status = parse(argc, argv, &q, e);

    if (status == 0 && q.child != NULL) {
        status = ds_check_child(&q.options, q.child, q.flight, q.kept, e);
    } else if (status == 0 && q.list) {
        const ds_module *m = NULL;
        const ds_describe_config look = {.start_timeout = DS_DESCRIBE_ONLY_SECONDS};
        if (q.options.path != NULL) {
            status = ds_describe_name(q.options.path, 0, &look, &m, e);
        }
        if (status == 0) {
            ds_check_list(m != NULL ? m->plugin->desc->kind : 0);
        }
    } else if (status == 0) {
        status = ds_check_run(&q.options, e);
    }
    ds_settings_clear(&q.options.settings);
    free(q.options.sets);
    free(q.only);
    return e->status != 0 ? e->status : status;
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
