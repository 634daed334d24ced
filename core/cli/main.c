/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the program dshost: `dshost run`, which is the default command, and `dshost resume`, which
 * continues an interrupted run or extends a finished one. For any other command it becomes the program
 * dshost-NAME. */
#include "config.h"

#include "base/stop.h"
#include "cli/command.h"
#include "cli/pictures.h"
#include "cli/run_flags.h"
#include "evaluate/trust.h"
#include "plugin/search_path.h"
#include "run/run.h"
#include "store/run_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- run ---- */

/* The folder that the user named, or a new one; to be freed. */
static char *choose_folder(const ds_run_options *o)
{
    if (o->out[0] != '\0') {
        return strdup(o->out);
    }
    char env[64], opt[64];
    ds_plugin_id_of(o->env, env);
    ds_plugin_id_of(o->opt, opt);
    return ds_folder_default(env, opt, o->seed);
}

static int run(const ds_run_flags *flags, ds_error *e)
{
    ds_run_options options;
    json_t *summary = NULL;
    int rc = ds_run_options_make(&flags->settings, &options, e);
    if (rc != 0) {
        return rc;
    }
    if (options.env[0] == '\0' || options.opt[0] == '\0') {
        ds_run_options_clear(&options);
        return ds_fail(e, DS_EXIT_USAGE,
                       "run: name an environment with --env and an optimizer with --opt (`dshost list` "
                       "shows them)");
    }
    /* Programs started for this run, such as dshost-picture, find them in its record. */
    ds_trust_named(options.env, DS_KIND_ENV, 1);
    ds_trust_named(options.opt, DS_KIND_OPTIMIZER, 1);
    char *folder = choose_folder(&options);
    if (folder == NULL) {
        rc = ds_no_memory(e);
    } else if (options.runs > 1) {
        rc = ds_series_start(&flags->settings, &options, folder, &ds_pictures, &summary, e);
    } else {
        rc = ds_run_start(&flags->settings, folder, &ds_pictures, &summary, e);
    }
    rc = ds_run_print(flags->json, folder, summary, rc, e);
    json_decref(summary);
    free(folder);
    ds_run_options_clear(&options);
    return rc;
}

static int cmd_run(int argc, char **argv, ds_error *e)
{
    ds_run_flags flags;
    int rc = ds_run_flags_read(argc, argv, 0, &flags, NULL, e);
    if (rc == 0 && flags.help) {
        printf("usage: dshost [run] --env E --opt O [OPTIONS]\n\n"
               "Searches for the x that minimises the loss of environment E with optimizer O, and leaves a "
               "result folder.\n\n");
        ds_run_flags_help(0);
    } else if (rc == 0) {
        rc = ds_portable_settle(&flags.settings, e);
        if (rc == 0) {
            ds_signals_install();
            rc = run(&flags, e);
        }
    }
    ds_settings_clear(&flags.settings);
    return ds_stop_status(rc);
}

/* ---- resume ---- */

/* The program that makes landscapes resumes them. */
static int resume_landscape(char **argv, ds_error *e)
{
    char flag[] = "--resume";
    argv[0] = flag;
    return ds_dispatch("landscape", argv, e);
}

/* Refuses an experiment and a file of settings, which other commands resume. */
static int check_is_run(const char *path, ds_error *e)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path,
               *dot = strrchr(name, '.');
    struct stat st;
    if (stat(path, &st) != 0) {
        return 0; /* reported later */
    }
    if (S_ISREG(st.st_mode) && dot != NULL && strcmp(dot, ".ini") == 0 && strcmp(name, "run.ini") != 0) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "resume %.300s: a file of settings, not the folder of a run; to resume an experiment: "
                       "dshost bench %.300s",
                       path, path);
    }
    if (S_ISREG(st.st_mode)) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "resume %.300s: a file; name the folder of the run, as in: dshost resume %.*s", path,
                       slash != NULL ? (int)(slash - path) : 1, slash != NULL ? path : ".");
    }
    return ds_folder_has(path, "bench.json") && !ds_folder_has_run(path)
               ? ds_fail(e, DS_EXIT_USAGE,
                         "resume %.300s: an experiment; resume it with: dshost bench %.300s/bench.ini --out "
                         "%.300s",
                         path, path, path)
               : 0;
}

static int cmd_resume(int argc, char **argv, ds_error *e)
{
    ds_run_flags flags;
    const char *folder = NULL;
    int rc = ds_run_flags_read(argc, argv, 1, &flags, &folder, e);
    if (rc == 0 && flags.help) {
        printf("usage: dshost resume DIR [OPTIONS]\n\nContinues the run in folder DIR where it ended; "
               "--budget N extends a finished one.\n\n");
        ds_run_flags_help(1);
        ds_settings_clear(&flags.settings);
        return 0;
    }
    rc = rc == 0 && flags.repair ? ds_run_repair(folder, e) : rc;
    if (rc == 0 && (ds_folder_has_landscape(folder) ||
                    (!ds_folder_has(folder, "run.ini") && ds_folder_begun(folder, "landscape")))) {
        rc = resume_landscape(argv, e);
    } else if (rc == 0) {
        json_t *summary = NULL;
        ds_signals_install();
        rc = check_is_run(folder, e);
        rc = rc != 0                ? rc
             : ds_series_is(folder) ? ds_series_resume(folder, &flags.settings, &ds_pictures, &summary, e)
                                    : ds_run_resume(folder, &flags.settings, &ds_pictures, &summary, e);
        rc = ds_run_print(flags.json, folder, summary, rc, e);
        json_decref(summary);
    }
    ds_settings_clear(&flags.settings);
    return ds_stop_status(rc);
}

/* ---- the program ---- */

static int run_command(int argc, char **argv, ds_error *e)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        ds_usage(argc < 2 ? stderr : stdout);
        return argc < 2 ? DS_EXIT_USAGE : DS_EXIT_OK;
    }
    if (argv[1][0] == '-') {
        return cmd_run(argc, argv, e);
    }
    return strcmp(argv[1], "run") == 0      ? cmd_run(argc - 1, argv + 1, e)
           : strcmp(argv[1], "resume") == 0 ? cmd_resume(argc - 1, argv + 1, e)
                                            : ds_dispatch(argv[1], argv + 2, e);
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, run_command);
}
