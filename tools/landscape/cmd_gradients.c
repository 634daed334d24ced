/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_gradients.c - `dshost gradients`: first-, zeroth- and alpha-order estimates of the gradient of a
 * smoothed loss. */
#include "config.h"

#include "base/json_text.h"
#include "base/stop.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/run_flags.h"
#include "config/run_options.h"
#include "landscape/gradients.h"
#include "run/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct flags {
    ds_settings settings;
    char sweep[2000]; /* of all --sweep flags */
    int json, help;
} flags;

/* --sweep may be repeated, so it is read separately. */
static int is_own_flag(const ds_param *p)
{
    return strcmp(p->name, "sweep") != 0;
}

static int take_run(void *to, const char *name, const char *value, ds_error *e)
{
    return ds_run_flag_take(&((flags *)to)->settings, name, value, e);
}

static int take_own(void *to, const char *name, const char *value, ds_error *e)
{
    return ds_settings_add_flag(&((flags *)to)->settings, DS_SECTION_GRADIENTS, name, value, e);
}

static int take_sweep(void *to, const char *name, const char *value, ds_error *e)
{
    flags *f = to;
    size_t used = strlen(f->sweep);
    if (used + strlen(value) + 2 > sizeof f->sweep) {
        return ds_fail(e, DS_EXIT_USAGE, "--sweep %.60s: too long", value);
    }
    snprintf(f->sweep + used, sizeof f->sweep - used, "%s%s", used > 0 ? " " : "", value);
    return take_own(f, name, f->sweep, e);
}

static int read_flags(int argc, char **argv, flags *f, ds_error *e)
{
    const ds_flag fixed[] = {{"sweep", .take = take_sweep}, {"set", .take = take_run},
                             {"config", .take = take_run},  {"json", .set = &f->json},
                             {"help", .set = &f->help},     {0}};
    ds_flag flag[DS_FLAGS_MAX];
    size_t k = ds_flags_add(flag, 0, ds_gradients_schema, is_own_flag, take_own);
    k = ds_flags_add(flag, k, ds_run_schema, ds_run_flag_of_measures, take_run);
    memcpy(flag + k, fixed, sizeof fixed);
    int rc = ds_arguments_read(argc, argv, "gradients", flag, 0, f, e);
    rc = rc != 0
             ? rc
             : ds_run_sets_check(&f->settings, "gradients",
                                 1u << DS_SECTION_RUN | 1u << DS_SECTION_ENV | 1u << DS_SECTION_GRADIENTS, e);
    return rc != 0 || f->help ? rc : ds_arguments_end(argc, argv, "gradients", e);
}

static void print_help(void)
{
    printf("usage: dshost gradients --env E [OPTIONS]\n"
           "\n"
           "Estimates the gradient of the loss of environment E under Gaussian noise, at a point, on a "
           "slice, or over sweeps:\n"
           "from gradients (first order), from losses alone (zeroth order), and mixed (alpha order); with "
           "means, variances,\n"
           "biases and errors relative to a long run, and intervals for all of them.\n"
           "\n");
    for (int i = 0; ds_gradients_schema[i] != NULL; i++) {
        ds_flag_describe(ds_gradients_schema[i]);
    }
    for (int i = 0; ds_run_schema[i] != NULL; i++) {
        if (strcmp(ds_run_schema[i]->name, "out") == 0) {
            printf("  --out          Folder for estimates.csv, summary.json and figures; empty = none.\n");
        } else if (strcmp(ds_run_schema[i]->name, "pictures") == 0) {
            printf("  --pictures     Draw figures, as PNG and SVG. [true]\n");
        } else if (strcmp(ds_run_schema[i]->name, "max_failed") == 0) {
            printf("  --max-failed   Exit status 5, with all results, if a larger share of all evaluations "
                   "had no loss, or no gradient\n                 although one was requested. [%s]\n",
                   ds_run_schema[i]->default_text);
        } else if (ds_run_flag_of_measures(ds_run_schema[i])) {
            ds_flag_describe(ds_run_schema[i]);
        }
    }
    printf("  --set          SECTION.KEY=VALUE of the sections run, env and gradients; may be repeated.\n"
           "  --config       Read settings from an .ini file; flags and --set win over it.\n"
           "  --json         Print all results as JSON instead of text.\n");
}

static int run(const flags *f, ds_error *e)
{
    json_t *summary = NULL;
    ds_error out = {0, ""};
    const ds_gradients_request q = {!f->json};
    int rc = ds_gradients_make(&f->settings, &q, &summary, e);
    if (summary != NULL && f->json) {
        ds_json_write(summary, stdout, "standard output", &out);
    }
    if ((out.status != 0 || ds_stdout_done(&out) != 0) && rc == 0) {
        *e = out;
        rc = out.status;
    }
    json_decref(summary);
    return rc;
}

static int command(int argc, char **argv, ds_error *e)
{
    flags f;
    memset(&f, 0, sizeof f);
    int rc = read_flags(argc, argv, &f, e);
    if (rc == 0 && f.help) {
        print_help();
    } else if (rc == 0) {
        ds_signals_install();
        rc = ds_portable_settle(&f.settings, e);
        rc = rc != 0 ? rc : run(&f, e);
    }
    ds_settings_clear(&f.settings);
    return ds_stop_status(rc);
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
