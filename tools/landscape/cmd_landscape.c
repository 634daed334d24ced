/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_landscape.c - `dshost landscape`: the loss and its gradient on a slice. */
#include "config.h"

#include "base/json_text.h"
#include "base/stop.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/run_flags.h"
#include "landscape/landscape.h"
#include "run/run.h"
#include "store/run_folder.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATHS_MAX = 7 };
#define ADVICE_GRID "21"    /* points along each axis */
#define ADVICE_BOX "40"     /* random points */
#define ADVICE_SAMPLES "40" /* points where differences are compared, with four steps along both axes */

typedef struct flags {
    ds_settings settings;
    const char *path[PATHS_MAX];
    size_t paths;
    const char *marks;
    const char *folder; /* an existing landscape to continue, or NULL */
    int json, help, advise, has_config;
} flags;

/* "gradient" has two flags without a value. */
static int is_own_flag(const ds_param *p)
{
    return strcmp(p->name, "gradient") != 0;
}

static int take_run(void *to, const char *name, const char *value, ds_error *e)
{
    flags *f = to;
    f->has_config |= strcmp(name, "config") == 0;
    return ds_run_flag_take(&f->settings, name, value, e);
}

static int take_own(void *to, const char *name, const char *value, ds_error *e)
{
    ds_settings *s = &((flags *)to)->settings;
    return strcmp(name, "no-gradient") == 0
               ? ds_settings_add(s, DS_SECTION_LANDSCAPE, "gradient", value, "--no-gradient", NULL,
                                 DS_EXIT_USAGE, DS_LAYER_FLAG, e)
               : ds_settings_add_flag(s, DS_SECTION_LANDSCAPE, name, value, e);
}

static int take_path(void *to, const char *name, const char *value, ds_error *e)
{
    flags *f = to;
    if (f->paths == PATHS_MAX) {
        return ds_fail(e, DS_EXIT_USAGE, "landscape: at most %d runs can be drawn (--%s)", PATHS_MAX, name);
    }
    f->path[f->paths++] = value;
    return 0;
}

static int take_marks(void *to, const char *name, const char *value, ds_error *e)
{
    (void)name;
    (void)e;
    ((flags *)to)->marks = value;
    return 0;
}

/* The first setting that an existing landscape does not accept: only flags that do not change results are
 * accepted. */
static const ds_setting *find_refused(const ds_settings *s)
{
    static const int order[] = {DS_SECTION_LANDSCAPE, DS_SECTION_GRADIENTS, DS_SECTION_ENV, DS_SECTION_OPT,
                                DS_SECTION_RUN};
    for (size_t k = 0; k < sizeof order / sizeof order[0]; k++) {
        const ds_section *section = &s->section[order[k]];
        for (size_t i = 0; i < section->count; i++) {
            const ds_setting *item = &section->item[i];
            if (order[k] != DS_SECTION_RUN || item->layer != DS_LAYER_FLAG ||
                !ds_run_may_override(item->key)) {
                return item;
            }
        }
    }
    return NULL;
}

static int check_resume(const flags *f, ds_error *e)
{
    const ds_setting *refused = find_refused(&f->settings);
    if (refused == NULL && !f->has_config) {
        return 0;
    }
    return ds_fail(
        e, DS_EXIT_USAGE,
        "landscape %.200s: continues an existing landscape with fixed settings (%.200s cannot be given)",
        f->folder, refused != NULL ? refused->origin : "--config");
}

/* Settings that suffice for advice, unless the user chose others. */
static int be_quick(flags *f, ds_error *e)
{
    ds_settings *s = &f->settings;
    int rc = 0;
    if (ds_settings_find(s, DS_SECTION_LANDSCAPE, "grid") == NULL) {
        rc = ds_settings_add_flag(s, DS_SECTION_LANDSCAPE, "grid", ADVICE_GRID, e);
    }
    if (rc == 0 && ds_settings_find(s, DS_SECTION_LANDSCAPE, "samples") == NULL) {
        rc = ds_settings_add_flag(s, DS_SECTION_LANDSCAPE, "samples", ADVICE_SAMPLES, e);
    }
    if (rc == 0 && ds_settings_find(s, DS_SECTION_LANDSCAPE, "box") == NULL) {
        rc = ds_settings_add_flag(s, DS_SECTION_LANDSCAPE, "box", ADVICE_BOX, e);
    }
    if (rc == 0 && ds_settings_find(s, DS_SECTION_RUN, "pictures") == NULL) {
        rc = ds_settings_add_flag(s, DS_SECTION_RUN, "pictures", "false", e);
    }
    return rc;
}

static int read_flags(int argc, char **argv, flags *f, ds_error *e)
{
    const ds_flag fixed[] = {{"gradient", .take = take_own, .word = "yes"},
                             {"no-gradient", .take = take_own, .word = "no"},
                             {"path", .take = take_path},
                             {"marks", .take = take_marks},
                             {"set", .take = take_run},
                             {"config", .take = take_run},
                             {"trust-plugin", .take = ds_trust_flag_take},
                             {"advise", .set = &f->advise},
                             {"json", .set = &f->json},
                             {"help", .set = &f->help},
                             {0}};
    ds_flag flag[DS_FLAGS_MAX];
    size_t k = ds_flags_add(flag, 0, ds_landscape_schema, is_own_flag, take_own);
    k = ds_flags_add(flag, k, ds_run_schema, ds_run_flag_of_measures, take_run);
    memcpy(flag + k, fixed, sizeof fixed);
    int rc = ds_arguments_read(argc, argv, "landscape", flag, 1, f, e);
    if (rc != 0 || f->help) {
        return rc;
    }
    f->folder = optind < argc ? argv[optind++] : NULL;
    rc = f->folder != NULL ? check_resume(f, e) : 0;
    rc = rc != 0
             ? rc
             : ds_run_sets_check(&f->settings, "landscape",
                                 1u << DS_SECTION_RUN | 1u << DS_SECTION_ENV | 1u << DS_SECTION_LANDSCAPE, e);
    rc = rc == 0 && f->advise && f->folder == NULL ? be_quick(f, e) : rc;
    return rc != 0 ? rc : ds_arguments_end(argc, argv, "landscape", e);
}

static void print_help(void)
{
    printf("usage: dshost landscape --env E [OPTIONS]\n"
           "       dshost landscape DIR [OPTIONS]      continue that landscape, or draw it again\n"
           "\n"
           "Measures the loss and its gradient on a line or plane through the box of environment E. Writes a "
           "folder with\n"
           "the record, data, summary.json and figures.\n"
           "\n");
    for (int i = 0; ds_landscape_schema[i] != NULL; i++) {
        if (is_own_flag(ds_landscape_schema[i])) {
            ds_flag_describe(ds_landscape_schema[i]);
        }
    }
    printf("  --gradient     Fail if the environment has no gradient.\n"
           "  --no-gradient  Measure only the loss.\n"
           "  --path         DIR of a run to draw on the slice; may be repeated.\n"
           "  --marks        FILE with points to draw on it: lines NAME,COORDINATE,LOSS (50%%: half of the "
           "largest loss), on a\n"
           "                 plane NAME,COORDINATE,COORDINATE.\n");
    for (int i = 0; ds_run_schema[i] != NULL; i++) {
        if (strcmp(ds_run_schema[i]->name, "out") == 0) {
            printf("  --out          Result folder; empty = results/ENV-landscape-sSEED.\n");
        } else if (strcmp(ds_run_schema[i]->name, "pictures") == 0) {
            printf("  --pictures     Draw landscape.png and gradient.png, also as SVG. [true]\n");
        } else if (ds_run_flag_of_measures(ds_run_schema[i])) {
            ds_flag_describe(ds_run_schema[i]);
        }
    }
    printf("  --set          SECTION.KEY=VALUE of the sections run, env and landscape; may be repeated.\n"
           "  --config       Read settings from an .ini file; flags and --set win over it.\n"
           "  --advise       Print only the verdict and which optimizers to try; a grid of " ADVICE_GRID
           " points an axis,\n"
           "                 " ADVICE_SAMPLES " samples, " ADVICE_BOX " points of the box, no figures.\n"
           "                 Nothing is kept unless a folder is named.\n"
           "  --trust-plugin Run this plugin (file, folder or id) if the record in DIR names it and it is "
           "not on the plugin path.\n"
           "  --json         Print the summary as JSON instead of text.\n");
}

/* The folder that the user named, or a new one; to be freed. */
static char *choose_folder(const flags *f, ds_error *e)
{
    ds_run_options o;
    char *folder = NULL;
    if (ds_run_options_make(&f->settings, &o, e) != 0) {
        return NULL;
    }
    ds_pool_config c = ds_pool_config_of(NULL, &f->settings, &o);
    if (o.out[0] != '\0') {
        folder = strdup(o.out);
    } else if (o.env[0] == '\0') {
        ds_fail(e, DS_EXIT_USAGE, "landscape: name an environment with --env (`dshost list` shows them)");
    } else if (ds_pool_find_env(&c, o.env, e) == 0) {
        folder = ds_folder_default(c.module->id, "landscape", o.seed);
    }
    if (folder == NULL && e->status == 0) {
        ds_no_memory(e);
    }
    ds_run_options_clear(&o);
    return folder;
}

/* A temporary folder for advice without --out, which leaves nothing behind. To be freed. */
static char *temporary_folder(ds_error *e)
{
    const char *place = getenv("TMPDIR");
    char *path = NULL;
    if (asprintf(&path, "%s/diffsim-advice-XXXXXX", place != NULL && place[0] != '\0' ? place : "/tmp") < 0) {
        ds_no_memory(e);
        return NULL;
    }
    if (mkdtemp(path) == NULL) {
        ds_fail(e, DS_EXIT_IO, "%s: %s; name a folder with --out", path, strerror(errno));
        free(path);
        return NULL;
    }
    return path;
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s;
    (void)kind;
    (void)at;
    return remove(path);
}

static int names_folder(const flags *f)
{
    return f->folder != NULL || ds_settings_find(&f->settings, DS_SECTION_RUN, "out") != NULL;
}

static int run(const flags *f, ds_error *e)
{
    json_t *summary = NULL;
    ds_error out = {0, ""};
    const int temporary = f->advise && !f->json && !names_folder(f);
    char *folder = f->folder != NULL ? strdup(f->folder)
                   : temporary       ? temporary_folder(e)
                                     : choose_folder(f, e);
    if (folder == NULL) {
        return e->status != 0 ? e->status : ds_no_memory(e);
    }
    ds_landscape_request q = {folder, f->path, f->paths, f->marks, !f->json, f->advise};
    int rc = f->folder != NULL ? ds_landscape_resume(&f->settings, &q, &summary, e)
                               : ds_landscape_start(&f->settings, &q, &summary, e);
    if (summary != NULL && f->json) {
        ds_json_write(summary, stdout, "standard output", &out);
    }
    if ((out.status != 0 || ds_stdout_done(&out) != 0) && rc == 0) {
        *e = out;
        rc = out.status;
    }
    if (temporary) {
        nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    }
    json_decref(summary);
    free(folder);
    return rc;
}

/* `dshost resume DIR` for a landscape. */
static int resume(int argc, char **argv, ds_error *e)
{
    ds_run_flags given;
    json_t *summary = NULL;
    ds_landscape_request q = {0};
    int rc = ds_run_flags_read(argc, argv, 1, &given, &q.folder, e);
    if (rc == 0) {
        ds_signals_install();
        rc = ds_landscape_resume(&given.settings, &q, &summary, e);
        rc = ds_run_print(given.json, q.folder, summary, rc, e);
    }
    json_decref(summary);
    ds_settings_clear(&given.settings);
    return ds_stop_status(rc);
}

static int command(int argc, char **argv, ds_error *e)
{
    flags f;
    if (argc > 1 && strcmp(argv[1], "--resume") == 0) {
        return resume(argc - 1, argv + 1, e);
    }
    memset(&f, 0, sizeof f);
    int rc = read_flags(argc, argv, &f, e);
    if (rc == 0 && f.help) {
        print_help();
    } else if (rc == 0) {
        ds_signals_install();
        rc = run(&f, e);
    }
    ds_settings_clear(&f.settings);
    return ds_stop_status(rc);
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
