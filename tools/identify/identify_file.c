/* SPDX-License-Identifier: Apache-2.0 */
/* identify_file.c - the file of an identification: its sections, and the schema of [identify]. */
#include "config.h"

#include "identify/identify.h"

#include "config/inifile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const scopes[] = {"shared", "own", NULL};

const ds_param *const ds_identify_schema[] = {
    DS_TEXT("method", "auto",
            "Search: auto = growing windows with lm, then pbh; windows and lm for few parameters, racer for "
            "many without products; or the id of a bundled optimizer, for the whole budget."),
    DS_TEXT("windows", "auto",
            "Samples of the windows before the whole one, ascending: 50 100 200; auto = halved down to 50; "
            "none."),
    DS_ENUM("scope", "shared", scopes,
            "Parameters without a scope of their own: shared by all recordings, or own to each."),
    DS_INT("n_samples", "0", 0, 1e9, "",
           "Fitted samples of each recording; 0 = parameter n_samples of the environment, or all."),
    DS_INT(
        "held_out", "0", 0, 1e9, "",
        "Samples after the fitted ones that are predicted only; 0 = parameter held_out of the environment."),
    DS_REAL("noise", "0", 0, INFINITY, "",
            "Standard deviation of the noise of a residual; 0 = estimated from the fit."),
    DS_REAL("level", "0.95", 0.5, 0.999, "", "Level of the intervals."),
    DS_INT("points", "6", 0, 1000, "", "Random points at which identifiability is tested before the search."),
    DS_INT("bootstrap", "400", 0, 1e5, "", "Resamples of windows for intervals; 0 = none."),
    DS_BOOL("profile", "true", "Profile likelihood of parameters that the data determine poorly."),
    DS_INT("recovery", "4", 0, 1000, "",
           "Made data sets of the recovery certificate: simulated from the estimate with the same noise, and "
           "identified again."),
    DS_REAL("hop", "0.05", 1e-6, 1, "", "Hops of pbh in the last part of the search, in widths of the box."),
    DS_BOOL("check_only", "false", "End after the checks of data and identifiability."),
    DS_BOOL("page", "true", "Write identify.html."),
    NULL};

/* ---- sections ---- */

enum { IN_NOTHING, IN_SETTINGS, IN_RECORDING, IN_PARAMETER, IN_SIGNAL };

typedef struct reader {
    ds_identify_file *f;
    const char *const *folder;
    int kind, section;
} reader;

#define SECTIONS "[run], [env], [identify], [recording NAME], [signal NAME] or [parameter NAME ...]"

/* Makes room for one more of `count` elements; NULL without memory. */
static void *grown(void *list, size_t count, size_t size)
{
    char *out = realloc(list, (count + 1) * size);
    if (out != NULL) {
        memset(out + count * size, 0, size);
    }
    return out;
}

/* The rest of a section's name after its first word, or NULL. */
static const char *after(const char *name, const char *word)
{
    const size_t n = strlen(word);
    return strncmp(name, word, n) == 0 && name[n] == ' ' ? name + n + strspn(name + n, " ") : NULL;
}

static int is_plain(const char *name)
{
    return name[0] != '\0' && strlen(name) <= DS_MAX_NAME && name[strcspn(name, " \t")] == '\0';
}

static int begin_recording(reader *r, const char *name, const char *origin, ds_error *e)
{
    ds_identify_file *f = r->f;
    for (size_t i = 0; i < f->sources; i++) {
        if (strcmp(f->source[i].name, name) == 0) {
            return ds_fail(e, DS_EXIT_CONFIG, "%s: recording %.60s is defined twice", origin, name);
        }
    }
    if (f->sources == DS_IDENTIFY_RECORDINGS) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: more than %d recordings", origin, DS_IDENTIFY_RECORDINGS);
    }
    ds_identify_source *list = grown(f->source, f->sources, sizeof *list);
    if (list == NULL) {
        return ds_no_memory(e);
    }
    f->source = list;
    r->kind = IN_RECORDING;
    return (list[f->sources++].name = strdup(name)) != NULL ? 0 : ds_no_memory(e);
}

static int begin_parameter(reader *r, const char *names, const char *origin, ds_error *e)
{
    ds_identify_file *f = r->f;
    ds_identify_rule *list = grown(f->rule, f->rules, sizeof *list);
    if (list == NULL) {
        return ds_no_memory(e);
    }
    f->rule = list;
    r->kind = IN_PARAMETER;
    list[f->rules].names = strdup(names);
    list[f->rules].origin = strdup(origin);
    return list[f->rules].names != NULL && list[f->rules++].origin != NULL ? 0 : ds_no_memory(e);
}

static int begin_signal(reader *r, const char *name, const char *origin, ds_error *e)
{
    ds_identify_file *f = r->f;
    if (f->signals == DS_IDENTIFY_SIGNALS) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: more than %d signals", origin, DS_IDENTIFY_SIGNALS);
    }
    ds_identify_signal *list = grown(f->signal, f->signals, sizeof *list);
    if (list == NULL) {
        return ds_no_memory(e);
    }
    f->signal = list;
    r->kind = IN_SIGNAL;
    list[f->signals].name = strdup(name);
    list[f->signals].origin = strdup(origin);
    return list[f->signals].name != NULL && list[f->signals++].origin != NULL ? 0 : ds_no_memory(e);
}

static int on_section(void *user, const char *name, const char *origin, ds_error *e)
{
    static const int settings[] = {DS_SECTION_RUN, DS_SECTION_ENV, DS_SECTION_IDENTIFY};
    reader *r = user;
    const char *rest;
    for (size_t k = 0; k < sizeof settings / sizeof *settings; k++) {
        if (strcmp(name, ds_section_names[settings[k]]) == 0) {
            r->kind = IN_SETTINGS;
            r->section = settings[k];
            return 0;
        }
    }
    if ((rest = after(name, "recording")) != NULL && is_plain(rest)) {
        return begin_recording(r, rest, origin, e);
    }
    if ((rest = after(name, "signal")) != NULL && ds_variable_is_name(rest)) {
        return begin_signal(r, rest, origin, e);
    }
    if ((rest = after(name, "parameter")) != NULL) {
        return begin_parameter(r, rest, origin, e);
    }
    return ds_fail(e, DS_EXIT_CONFIG, "%s: unknown section [%.60s]: use " SECTIONS, origin, name);
}

/* ---- keys ---- */

typedef struct field {
    const char *key;
    char **text;
} field;

static int take_field(const field *known, size_t count, const char *section, const char *key,
                      const char *value, const char *origin, ds_error *e)
{
    const char *names[16];
    char list[300] = "";
    for (size_t i = 0; i < count; i++) {
        if (strcmp(known[i].key, key) == 0) {
            if (*known[i].text != NULL) {
                return ds_fail(e, DS_EXIT_CONFIG, "%s: %s is set twice in one section", origin, key);
            }
            *known[i].text = strdup(value);
            return *known[i].text != NULL ? 0 : ds_no_memory(e);
        }
        names[i] = known[i].key;
    }
    ds_text_choices(key, names, count, list, sizeof list);
    return ds_fail(e, DS_EXIT_CONFIG, "%s: unknown key '%.60s' in [%s]: %s", origin, key, section, list);
}

static int section_add(ds_section *to, const char *key, const char *value, const char *origin,
                       const char *base, ds_error *e)
{
    ds_settings one = {0};
    one.section[DS_SECTION_ENV] = *to;
    const int rc =
        ds_settings_add(&one, DS_SECTION_ENV, key, value, origin, base, DS_EXIT_CONFIG, DS_LAYER_FILE, e);
    *to = one.section[DS_SECTION_ENV];
    return rc;
}

static int on_value(void *user, const char *key, const char *value, const char *origin, int more, ds_error *e)
{
    reader *r = user;
    ds_identify_file *f = r->f;
    const char *folder = r->folder != NULL ? *r->folder : NULL;
    (void)more;
    if (r->kind == IN_SETTINGS) {
        return ds_settings_add(&f->settings, r->section, key, value, origin, folder, DS_EXIT_CONFIG,
                               DS_LAYER_FILE, e);
    }
    if (r->kind == IN_RECORDING) {
        return section_add(&f->source[f->sources - 1].set, key, value, origin, folder, e);
    }
    if (r->kind == IN_PARAMETER) {
        ds_identify_rule *p = &f->rule[f->rules - 1];
        const field known[] = {{"lower", &p->lower}, {"upper", &p->upper}, {"start", &p->start},
                               {"fixed", &p->fixed}, {"log", &p->log},     {"scope", &p->scope}};
        return take_field(known, sizeof known / sizeof *known, "parameter", key, value, origin, e);
    }
    if (r->kind == IN_SIGNAL) {
        ds_identify_signal *s = &f->signal[f->signals - 1];
        const field known[] = {{"channel", &s->channel}, {"element", &s->element}, {"column", &s->column},
                               {"unit", &s->unit},       {"scale", &s->scale},     {"noise", &s->noise}};
        return take_field(known, sizeof known / sizeof *known, "signal", key, value, origin, e);
    }
    return ds_fail(e, DS_EXIT_CONFIG, "%s: %.60s is in no section: begin with " SECTIONS, origin, key);
}

int ds_identify_file_read(ds_identify_file *f, const char *path, ds_error *e)
{
    char *folder = NULL;
    reader r = {.f = f, .folder = (const char *const *)&folder};
    const ds_ini_handler handler = {&r, SECTIONS, on_section, on_value};
    const int rc = ds_ini_read(path, DS_INI_FILE_LIMIT, &handler, &folder, e);
    free(folder);
    return rc;
}

/* ---- recordings of the command line ---- */

static void clear_source(ds_identify_source *s)
{
    ds_settings one = {0};
    one.section[DS_SECTION_ENV] = s->set;
    ds_settings_clear(&one);
    free(s->name);
}

/* "0" for "data/0.csv.gz". */
static char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *from = slash != NULL ? slash + 1 : path;
    const size_t n = strcspn(from, ".");
    return strndup(from, n == 0 || n > DS_MAX_NAME ? DS_MAX_NAME : n);
}

int ds_identify_file_data(ds_identify_file *f, const char *const *path, size_t paths, ds_error *e)
{
    /* The first recording of the file says how files are read: columns, units. */
    ds_section like = {0};
    int rc = 0;
    if (paths > DS_IDENTIFY_RECORDINGS) {
        return ds_fail(e, DS_EXIT_USAGE, "--data: more than %d recordings", DS_IDENTIFY_RECORDINGS);
    }
    if (f->sources > 0) {
        like = f->source[0].set;
        f->source[0].set = (ds_section){0};
    }
    for (size_t i = 0; i < f->sources; i++) {
        clear_source(&f->source[i]);
    }
    free(f->source);
    f->sources = 0;
    f->source = calloc(paths, sizeof *f->source);
    for (size_t k = 0; rc == 0 && k < paths; k++) {
        ds_identify_source *s = f->source != NULL ? &f->source[f->sources++] : NULL;
        if (s == NULL || (s->name = name_of(path[k])) == NULL) {
            rc = ds_no_memory(e);
        }
        for (size_t i = 0; rc == 0 && i < k; i++) {
            if (strcmp(f->source[i].name, s->name) == 0) {
                char *longer = NULL;
                if (asprintf(&longer, "%.40s-%zu", s->name, k + 1) < 0) {
                    rc = ds_no_memory(e);
                } else {
                    free(s->name);
                    s->name = longer;
                }
                break;
            }
        }
        for (size_t i = 0; rc == 0 && i < like.count; i++) {
            const ds_setting *t = &like.item[i];
            rc = strcmp(t->key, "file") == 0 ? 0
                                             : section_add(&s->set, t->key, t->value, t->origin, t->base, e);
        }
        rc = rc != 0 ? rc : section_add(&s->set, "file", path[k], "--data", NULL, e);
    }
    ds_identify_source old = {NULL, like};
    clear_source(&old);
    return rc;
}

void ds_identify_file_clear(ds_identify_file *f)
{
    for (size_t i = 0; i < f->rules; i++) {
        ds_identify_rule *p = &f->rule[i];
        free(p->names), free(p->origin), free(p->lower), free(p->upper), free(p->start), free(p->fixed);
        free(p->log), free(p->scope);
    }
    for (size_t i = 0; i < f->signals; i++) {
        ds_identify_signal *s = &f->signal[i];
        free(s->name), free(s->origin), free(s->channel), free(s->element), free(s->column), free(s->unit);
        free(s->scale), free(s->noise);
    }
    for (size_t i = 0; i < f->sources; i++) {
        clear_source(&f->source[i]);
    }
    free(f->rule);
    free(f->signal);
    free(f->source);
    ds_settings_clear(&f->settings);
    memset(f, 0, sizeof *f);
}
