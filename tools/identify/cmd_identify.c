/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_identify.c - `dshost identify`: unknown quantities of a simulation from recordings. */
#include "config.h"

#include "base/json_text.h"
#include "base/stop.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/run_flags.h"
#include "identify/identify.h"
#include "run/session.h"
#include "store/run_folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct flags {
    ds_identify_file file;
    const char *data[DS_IDENTIFY_RECORDINGS];
    size_t count;
    int json, help, check;
} flags;

/* Flags of [run] that this command has. */
static int is_run_flag(const ds_param *p)
{
    static const char *const known[] = {"env",       "budget",          "seed", "jobs",
                                        "threads",   "isolation",       "out",  "timeout_s",
                                        "memory_mb", "start_timeout_s", "fix"};
    size_t i = 0;
    while (i < sizeof known / sizeof *known && strcmp(known[i], p->name) != 0) {
        i++;
    }
    return i < sizeof known / sizeof *known;
}

static int is_own_flag(const ds_param *p)
{
    return strcmp(p->name, "check_only") != 0;
}

static int take_run(void *to, const char *name, const char *value, ds_error *e)
{
    return ds_run_flag_take(&((flags *)to)->file.settings, name, value, e);
}

static int take_own(void *to, const char *name, const char *value, ds_error *e)
{
    return ds_settings_add_flag(&((flags *)to)->file.settings, DS_SECTION_IDENTIFY, name, value, e);
}

static int take_data(void *to, const char *name, const char *value, ds_error *e)
{
    flags *f = to;
    (void)name;
    if (f->count == DS_IDENTIFY_RECORDINGS) {
        return ds_fail(e, DS_EXIT_USAGE, "--data: more than %d recordings", DS_IDENTIFY_RECORDINGS);
    }
    f->data[f->count++] = value;
    return 0;
}

static int read_flags(int argc, char **argv, flags *f, ds_error *e)
{
    const ds_flag fixed[] = {{"data", .take = take_data},      {"set", .take = take_run},
                             {"check-only", .set = &f->check}, {"json", .set = &f->json},
                             {"help", .set = &f->help},        {0}};
    ds_flag flag[DS_FLAGS_MAX];
    size_t k = ds_flags_add(flag, 0, ds_identify_schema, is_own_flag, take_own);
    k = ds_flags_add(flag, k, ds_run_schema, is_run_flag, take_run);
    memcpy(flag + k, fixed, sizeof fixed);
    int rc = ds_arguments_read(argc, argv, "identify", flag, 1, f, e);
    if (rc != 0 || f->help) {
        return rc;
    }
    if (optind >= argc) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "identify: name the file of the case: dshost identify FILE.ini (examples/identify "
                       "has some)");
    }
    rc = ds_run_sets_check(&f->file.settings, "identify",
                           1u << DS_SECTION_RUN | 1u << DS_SECTION_ENV | 1u << DS_SECTION_IDENTIFY, e);
    if (rc == 0 && f->check) {
        rc = ds_settings_add_flag(&f->file.settings, DS_SECTION_IDENTIFY, "check_only", "true", e);
    }
    rc = rc != 0 ? rc : ds_identify_file_read(&f->file, argv[optind++], e);
    rc = rc == 0 && f->count > 0 ? ds_identify_file_data(&f->file, f->data, f->count, e) : rc;
    return rc != 0 ? rc : ds_arguments_end(argc, argv, "identify", e);
}

static void print_help(void)
{
    printf(
        "usage: dshost identify FILE.ini [--data RECORDING ...] [OPTIONS]\n"
        "\n"
        "Finds unknown quantities of a simulation from recordings: checks the data and what they determine, "
        "searches,\n"
        "and writes a folder with estimates, intervals, all minima, held-out errors and a recovery "
        "certificate.\n"
        "\n"
        "  --data         A recording that replaces those of the file; may be repeated.\n"
        "  --check-only   End after the checks of data and identifiability.\n");
    for (int i = 0; ds_identify_schema[i] != NULL; i++) {
        if (is_own_flag(ds_identify_schema[i])) {
            ds_flag_describe(ds_identify_schema[i]);
        }
    }
    for (int i = 0; ds_run_schema[i] != NULL; i++) {
        if (strcmp(ds_run_schema[i]->name, "out") == 0) {
            printf("  --out          Result folder; empty = results/ENV-identify-sSEED.\n");
        } else if (strcmp(ds_run_schema[i]->name, "budget") == 0) {
            printf("  --budget       Most evaluations of each recording before the certificate. [%s]\n",
                   ds_run_schema[i]->default_text);
        } else if (is_run_flag(ds_run_schema[i])) {
            ds_flag_describe(ds_run_schema[i]);
        }
    }
    printf("  --set          SECTION.KEY=VALUE of the sections run, env and identify; may be repeated.\n"
           "  --json         Print the summary as JSON instead of text.\n");
}

static void print_check(const ds_identify_problem *p, const ds_identify_result *v)
{
    const char *name = p->recordings == 1 ? p->c->recording[p->recording[0]].name : "recordings";
    printf("%s: %zu parameters; ", name, p->n);
    if (v->check_points == 0) {
        printf("identifiability was tried at no point\n");
    } else {
        printf("at %zu points the condition of J'J is %.2g to %.2g, the rank deficient at %zu\n",
               v->check_points, v->check_condition[0], v->check_condition[1], v->check_deficient);
    }
    for (size_t i = 0; i < v->undetermined_count; i++) {
        printf("not determined: %s\n", v->undetermined[i]);
    }
}

static int solve(ds_identify_case *c, ds_identify_problem *p, ds_identify_result *v, int quiet, ds_error *e)
{
    int rc = ds_identify_look(p, e);
    rc = rc != 0 ? rc : ds_identify_check(p, v, e);
    if (rc == 0 && !quiet && (c->options.check_only || v->undetermined_count > 0)) {
        print_check(p, v);
    }
    if (rc != 0 || c->options.check_only) {
        return rc;
    }
    rc = ds_identify_search(p, c->run.seed, &v->found, e);
    rc = rc != 0 ? rc : ds_identify_conclude(p, v, e);
    return rc != 0 ? rc : ds_identify_certify(p, v, e);
}

static int finish(const ds_identify_report *r, int json, ds_error *e)
{
    json_t *summary = ds_identify_summary(r, e);
    int rc = summary == NULL ? e->status : ds_folder_make(r->folder, e);
    rc = rc != 0 ? rc : ds_identify_write(r, summary, e);
    if (rc == 0 && json) {
        rc = ds_json_write(summary, stdout, "standard output", e);
    } else if (rc == 0) {
        ds_identify_print(r);
    }
    json_decref(summary);
    return rc != 0 || ds_stdout_done(e) == 0 ? rc : e->status;
}

static int run(flags *f, ds_error *e)
{
    ds_identify_case c;
    ds_identify_problem *p = NULL;
    ds_identify_result *v = NULL;
    size_t count = 0, done = 0;
    char *folder = NULL;
    int rc = ds_identify_open(&c, &f->file, e);
    rc = rc != 0 ? rc : ds_identify_problems(&c, &p, &count, e);
    if (rc == 0) {
        v = calloc(count, sizeof *v);
        folder = c.run.out[0] != '\0' ? strdup(c.run.out)
                                      : ds_folder_default(c.module->id, "identify", c.run.seed);
        rc = v == NULL || folder == NULL ? ds_no_memory(e) : 0;
    }
    for (; rc == 0 && done < count && atomic_load(&ds_stop_flag) == 0; done++) {
        rc = solve(&c, &p[done], &v[done], f->json, e);
    }
    if (rc == 0 && !c.options.check_only && done == count) {
        const ds_identify_report r = {&c, p, v, count, folder};
        rc = finish(&r, f->json, e);
    }
    for (size_t k = 0; v != NULL && k < count; k++) {
        ds_identify_result_clear(&v[k]);
    }
    free(v);
    free(folder);
    ds_identify_problems_free(p, count);
    ds_identify_close(&c);
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
        rc = run(&f, e);
    }
    ds_identify_file_clear(&f.file);
    return ds_stop_status(rc);
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
