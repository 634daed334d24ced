/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_merge.c - `dshost merge`: the parts of an experiment in one folder. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/json_text.h"
#include "base/log.h"
#include "base/stop.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/run_flags.h"
#include "merge/bench_merge.h"

static const char usage[] =
    "usage: dshost merge OUT PART... [OPTIONS]\n"
    "\n"
    "Copies the runs of the folders PART, made by `dshost bench --shard`, to the folder OUT, where `dshost "
    "bench`\n"
    "would have put them. Of a run that is in several folders the one with the most evaluations counts.\n"
    "\n"
    "  --trust-plugin P\n"
    "                load this plugin where a part names it and it is not on the plugin path: its file, a "
    "folder,\n"
    "                or an id\n"
    "  --json        print counts as JSON instead of the folder\n";

static int print_counts(const char *out, const ds_merge_counts *n, int json, ds_error *e)
{
    int rc = 0;
    ds_log(DS_LOG_INFO, NULL,
           "%zu runs copied, %zu were there, %zu are in no part; %zu of %zu runs are done%s", n->copied,
           n->kept, n->missing, n->done, n->all,
           n->done < n->all ? "; `dshost bench` with this --out goes on with the others" : "");
    if (json) {
        json_t *o =
            json_pack("{s:o, s:I, s:I, s:I, s:I, s:I}", "out", ds_json_text(out), "copied",
                      (json_int_t)n->copied, "kept", (json_int_t)n->kept, "missing", (json_int_t)n->missing,
                      "done", (json_int_t)n->done, "runs", (json_int_t)n->all);
        rc = ds_json_write(o, stdout, "standard output", e);
        json_decref(o);
    } else {
        printf("%s\n", out);
    }
    return rc != 0 ? rc : ds_stdout_done(e);
}

static int merge_parts(int argc, char **argv, int json, ds_error *e)
{
    ds_merge_counts counts;
    const char *out = argv[optind];
    if (argc - optind < 2) {
        return ds_fail(
            e, DS_EXIT_USAGE,
            "merge: name the folder for the whole and its parts: dshost merge OUT OUT-1of2 OUT-2of2");
    }
    for (int i = optind + 1; i < argc; i++) {
        if (strcmp(argv[i], out) == 0) {
            return ds_fail(e, DS_EXIT_USAGE, "merge: %s is the folder for the whole and one of the parts",
                           out);
        }
    }
    int rc =
        ds_bench_merge(out, (const char *const *)argv + optind + 1, (size_t)(argc - optind - 1), &counts, e);
    rc = rc != 0 ? rc : print_counts(out, &counts, json, e);
    return rc == 0 && counts.left_out > 0
               ? ds_fail(e, counts.status,
                         "%zu runs were left out, see above; the same command tries them again",
                         counts.left_out)
               : rc;
}

static int command(int argc, char **argv, ds_error *e)
{
    int json = 0;
    const ds_flag flags[] = {
        {"trust-plugin", .take = ds_trust_flag_take}, {"json", .set = &json}, {"help", .usage = usage}, {0}};
    int rc = ds_arguments_read(argc, argv, "merge", flags, argc, NULL, e);
    if (rc != 0) {
        return rc;
    }
    ds_signals_install();
    return merge_parts(argc, argv, json, e);
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
