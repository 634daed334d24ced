/* SPDX-License-Identifier: Apache-2.0 */
/* run_flags.c - flags made from the schema of [run]. */
#include "config.h"

#include "cli/run_flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "cli/arguments.h"
#include "run/run.h"

enum { FLAGS_MAX = 48, NAME_BYTES = 48, CODE_SCHEMA = 1000 };

static int is_run_flag(const ds_param *p, int resume)
{
    if (strcmp(p->name, "x") == 0 || strcmp(p->name, "noise_key") == 0) { /* of one point: not for runs */
        return 0;
    }
    if (strcmp(p->name, "verify") == 0) { /* a new run has no record */
        return resume;
    }
    return !resume || ds_run_may_override(p->name);
}

static void flag_name(const char *key, char *out)
{
    snprintf(out, NAME_BYTES, "%s", key);
    for (char *c = out; *c != '\0'; c++) {
        *c = (char)(*c == '_' ? '-' : *c);
    }
}

/* Fills `option` with the flags of the schema and the fixed ones. */
static void make_options(int resume, struct option *option, char (*name)[NAME_BYTES])
{
    int k = 0;
    for (int i = 0; ds_run_schema[i] != NULL && k < FLAGS_MAX - 6; i++) {
        if (is_run_flag(ds_run_schema[i], resume)) {
            flag_name(ds_run_schema[i]->name, name[k]);
            option[k] = (struct option){name[k], required_argument, NULL, CODE_SCHEMA + i};
            k++;
        }
    }
    if (!resume) {
        option[k++] = (struct option){"set", required_argument, NULL, 's'};
        option[k++] = (struct option){"config", required_argument, NULL, 'c'};
    }
    option[k++] = (struct option){"json", no_argument, NULL, 'j'};
    option[k++] = (struct option){"help", no_argument, NULL, 'h'};
    option[k] = (struct option){NULL, 0, NULL, 0};
}

static int take_flag(ds_run_flags *out, int code, ds_error *e)
{
    char origin[NAME_BYTES + 4] = "--";
    if (code == 's') {
        return ds_settings_set(&out->settings, optarg, e);
    }
    if (code == 'c') {
        return ds_settings_read(&out->settings, optarg, e);
    }
    if (code == '?') {
        return e->status;
    }
    out->json |= code == 'j';
    out->help |= code == 'h';
    if (code < CODE_SCHEMA) {
        return 0;
    }
    const char *key = ds_run_schema[code - CODE_SCHEMA]->name;
    flag_name(key, origin + 2);
    return ds_settings_add(&out->settings, DS_SECTION_RUN, key, optarg, origin, NULL, DS_EXIT_USAGE,
                           DS_LAYER_FLAG, e);
}

int ds_run_flags_read(int argc, char **argv, int resume, ds_run_flags *out, const char **folder, ds_error *e)
{
    struct option option[FLAGS_MAX];
    char name[FLAGS_MAX][NAME_BYTES];
    const char *command = resume ? "resume" : "run";
    int rc = 0;
    int c;
    memset(out, 0, sizeof(*out));
    make_options(resume, option, name);
    rc = ds_arguments_check(argc, argv, command, option, resume ? 1 : 0, e);
    while (rc == 0 && !out->help && (c = ds_arguments_next(argc, argv, command, option, e)) != -1) {
        rc = take_flag(out, c, e);
    }
    if (rc != 0 || out->help) {
        return rc;
    }
    if (resume) {
        if (optind >= argc) {
            return ds_fail(e, DS_EXIT_USAGE,
                           "resume: name the result folder: dshost resume DIR [--budget N]");
        }
        *folder = argv[optind++];
    }
    return ds_arguments_end(argc, argv, command, e);
}

void ds_run_flags_help(int resume, FILE *f)
{
    for (int i = 0; ds_run_schema[i] != NULL; i++) {
        const ds_param *p = ds_run_schema[i];
        char name[NAME_BYTES];
        if (is_run_flag(p, resume)) {
            flag_name(p->name, name);
            fprintf(f, "  --%-12s %s", name, p->doc);
            if (p->default_text[0] != '\0') {
                fprintf(f, " [%s]", p->default_text);
            }
            fputc('\n', f);
        }
    }
    if (!resume) {
        fprintf(f, "  --%-12s %s\n", "set",
                "SECTION.KEY=VALUE of the sections run, env and opt; may be repeated.");
        fprintf(f, "  --%-12s %s\n", "config",
                "Read settings from an .ini file; flags and --set win over it.");
    }
    fprintf(f, "  --%-12s %s\n", "json", "Print the summary as JSON instead of the folder.");
}

int ds_run_print(int json, const char *folder, const json_t *summary, int rc, ds_error *e)
{
    ds_error out = {0, ""};
    if (summary == NULL) {
        return rc;
    }
    if (json) {
        ds_json_write(summary, stdout, "standard output", &out);
    } else {
        printf("%s\n", folder);
    }
    if ((out.status != 0 || ds_stdout_done(&out) != 0) && rc == 0) {
        *e = out;
        return out.status;
    }
    return rc;
}
