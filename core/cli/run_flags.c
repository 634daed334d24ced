/* SPDX-License-Identifier: Apache-2.0 */
/* run_flags.c - flags made from the schema of [run]. */
#include "config.h"

#include "cli/run_flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "cli/arguments.h"
#include "evaluate/trust.h"
#include "run/run.h"

static int is_resume_flag(const ds_param *p)
{
    return ds_run_may_override(p->name);
}

/* A new run has no record to verify; a point and its noise are for `dshost eval`. */
static int is_run_flag(const ds_param *p)
{
    return strcmp(p->name, "x") != 0 && strcmp(p->name, "noise_key") != 0 && strcmp(p->name, "verify") != 0;
}

int ds_run_flag_of_measures(const ds_param *p)
{
    static const char *const keys[] = {"env",       "fix",        "seed",    "jobs",      "threads",
                                       "isolation", "portable",   "out",     "timeout_s", "start_timeout_s",
                                       "memory_mb", "max_failed", "pictures"};
    size_t k = 0, count = sizeof keys / sizeof keys[0];
    while (k < count && strcmp(p->name, keys[k]) != 0) {
        k++;
    }
    return k < count;
}

/* Every --fix adds to those before it. */
static int take_fix(ds_settings *s, const char *value, ds_error *e)
{
    const ds_setting *before = ds_settings_find(s, DS_SECTION_RUN, "fix");
    char *all = NULL;
    if (before == NULL || before->layer != DS_LAYER_FLAG) {
        return ds_settings_add_flag(s, DS_SECTION_RUN, "fix", value, e);
    }
    int rc = asprintf(&all, "%s %s", before->value, value) < 0
                 ? ds_no_memory(e)
                 : ds_settings_add_flag(s, DS_SECTION_RUN, "fix", all, e);
    free(all);
    return rc;
}

int ds_run_flag_take(void *settings, const char *name, const char *value, ds_error *e)
{
    return strcmp(name, "set") == 0      ? ds_settings_set(settings, value, e)
           : strcmp(name, "config") == 0 ? ds_settings_read(settings, value, e)
           : strcmp(name, "fix") == 0    ? take_fix(settings, value, e)
                                         : ds_settings_add_flag(settings, DS_SECTION_RUN, name, value, e);
}

int ds_run_sets_check(const ds_settings *settings, const char *command, unsigned used, ds_error *e)
{
    char names[80] = "";
    for (int k = 0; k < DS_SECTIONS; k++) {
        if ((used & 1u << k) != 0) {
            const size_t n = strlen(names);
            snprintf(names + n, sizeof names - n, "%s[%s]", n > 0 ? ", " : "", ds_section_names[k]);
        }
    }
    for (int k = 0; k < DS_SECTIONS; k++) {
        const ds_section *s = &settings->section[k];
        for (size_t i = 0; i < s->count && (used & 1u << k) == 0; i++) {
            if (s->item[i].layer == DS_LAYER_SET) {
                return ds_fail(e, DS_EXIT_CONFIG,
                               "%s: %s does not use section [%s]: leave it out, or set one of %s",
                               s->item[i].origin, command, ds_section_names[k], names);
            }
        }
    }
    return 0;
}

int ds_trust_flag_take(void *request, const char *name, const char *value, ds_error *e)
{
    (void)request, (void)name;
    return ds_trust_add(value, e);
}

int ds_run_flags_read(int argc, char **argv, int resume, ds_run_flags *out, const char **folder, ds_error *e)
{
    ds_flag flags[DS_FLAGS_MAX] = {{0}};
    const char *command = resume ? "resume" : "run";
    memset(out, 0, sizeof(*out));
    size_t k = ds_flags_add(flags, 0, ds_run_schema, resume ? is_resume_flag : is_run_flag, ds_run_flag_take);
    if (!resume) {
        flags[k++] = (ds_flag){"set", .take = ds_run_flag_take};
        flags[k++] = (ds_flag){"config", .take = ds_run_flag_take};
    } else {
        flags[k++] = (ds_flag){"repair", .set = &out->repair};
        flags[k++] = (ds_flag){"trust-plugin", .take = ds_trust_flag_take};
    }
    flags[k++] = (ds_flag){"json", .set = &out->json};
    flags[k++] = (ds_flag){"help", .set = &out->help};
    int rc = ds_arguments_read(argc, argv, command, flags, resume ? 1 : 0, &out->settings, e);
    rc = rc != 0 ? rc
                 : ds_run_sets_check(&out->settings, command,
                                     1u << DS_SECTION_RUN | 1u << DS_SECTION_ENV | 1u << DS_SECTION_OPT, e);
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

void ds_run_flags_help(int resume)
{
    for (int i = 0; ds_run_schema[i] != NULL; i++) {
        if (resume ? is_resume_flag(ds_run_schema[i]) : is_run_flag(ds_run_schema[i])) {
            ds_flag_describe(ds_run_schema[i]);
        }
    }
    if (!resume) {
        printf("  --set          SECTION.KEY=VALUE of the sections run, env and opt; may be repeated.\n"
               "  --config       Read settings from an .ini file; flags and --set win over it.\n");
    } else {
        printf("  --repair       If the record is damaged: keep the evaluations before the first damaged one "
               "and repeat the others. The damaged\n                 file is kept as run.sqlite.damaged.\n  "
               "--trust-plugin Run a plugin that the record names and that is not on the plugin path: its "
               "file, a folder, or an id;\n                 may be repeated.\n");
    }
    printf("  --json         Print the summary as JSON instead of the folder.\n");
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
