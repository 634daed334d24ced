/* SPDX-License-Identifier: Apache-2.0 */
/* run_folder.c - result folders: names, run.ini, the new store, reproducer files. */
#include "config.h"

#include "store/run_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

enum { LINE_MAX_BYTES = 190 /* of an .ini file: settings.h */ };

int ds_folder_make(const char *path, ds_error *e)
{
    char *copy = strdup(path);
    if (copy == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    int rc = 0;
    for (char *p = copy + 1; rc == 0; p++) {
        char c = *p;
        if (c != '/' && c != '\0') {
            continue;
        }
        *p = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST) {
            rc = ds_fail(e, DS_EXIT_IO, "%s: cannot make this folder: %s", copy, strerror(errno));
        }
        *p = c;
        if (c == '\0') {
            break;
        }
    }
    struct stat st;
    if (rc == 0 && (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: exists and is not a folder", path);
    }
    free(copy);
    return rc;
}

char *ds_folder_path(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    if (path != NULL) {
        snprintf(path, size, "%s/%s", folder, name);
    }
    return path;
}

static int has_file(const char *folder, const char *name)
{
    struct stat st;
    char *path = ds_folder_path(folder, name);
    int has = path != NULL && stat(path, &st) == 0;
    free(path);
    return has;
}

int ds_folder_has_run(const char *folder)
{
    return has_file(folder, "run.sqlite");
}

int ds_folder_has_landscape(const char *folder)
{
    return has_file(folder, "landscape.sqlite");
}

char *ds_folder_default(const char *env, const char *opt, uint64_t seed)
{
    size_t size = strlen(env) + strlen(opt) + 80;
    char *name = malloc(size);
    struct stat st;
    for (unsigned k = 1; name != NULL && k < 1000000; k++) {
        int used = snprintf(name, size, "results/%s-%s-s%llu", env, opt, (unsigned long long)seed);
        if (k > 1) {
            snprintf(name + used, size - (size_t)used, "-%u", k);
        }
        if (stat(name, &st) != 0) {
            return name;
        }
    }
    free(name);
    return NULL;
}

const char *ds_folder_plugin_name(const ds_plugin_name *p)
{
    return strchr(p->given, '/') != NULL && strlen(p->path) < LINE_MAX_BYTES - 8 ? p->path : p->id;
}

static int is_one_of(const char *key, const char *const *list)
{
    while (*list != NULL && strcmp(key, *list) != 0) {
        list++;
    }
    return *list != NULL;
}

/* The text of a setting of [run] that reproduces it, or NULL for what belongs to one call only. */
static const char *run_text(const ds_run_spec *r, const char *key, const char *text)
{
    static const char *const one_call[] = {"out", "x", "noise_key", "verify", NULL};
    static const char *const searches[] = {"opt", "budget", "seconds", "target", NULL};
    if (is_one_of(key, one_call) || (!r->all_runs && strcmp(key, "runs") == 0) ||
        (r->survey && is_one_of(key, searches))) {
        return NULL;
    }
    if (strcmp(key, "env") == 0) {
        return ds_folder_plugin_name(&r->env);
    }
    if (strcmp(key, "opt") == 0) {
        return ds_folder_plugin_name(&r->opt);
    }
    return text;
}

/* Does the file have this content already? */
static int is_there(const char *path, const char *text, size_t size)
{
    void *old = NULL;
    size_t length = 0;
    int same = access(path, F_OK) == 0 && ds_file_read(path, size, &old, &length, DS_EXIT_IO, NULL) == 0 &&
               length == size && memcmp(old, text, size) == 0;
    free(old);
    return same;
}

/* Closes a text made by open_memstream and writes it to a file of the folder, unless it is there. */
static int finish_text(FILE *f, char **text, size_t *size, const char *folder, const char *name, ds_error *e)
{
    int bad = ferror(f);
    bad |= fclose(f) != 0;
    char *path = ds_folder_path(folder, name);
    int rc = bad || path == NULL            ? ds_fail(e, DS_EXIT_MEMORY, "out of memory")
             : is_there(path, *text, *size) ? 0
                                            : ds_file_write_atomic(path, *text, *size, e);
    free(path);
    free(*text);
    return rc;
}

int ds_folder_write_ini(const char *folder, const ds_run_spec *r, ds_error *e)
{
    char *text = NULL;
    size_t size = 0;
    char name[48];
    FILE *f = open_memstream(&text, &size);
    if (f == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    fprintf(f, "; %s %s", r->env.id, r->env.version);
    if (!r->survey) {
        fprintf(f, " with %s %s", r->opt.id, r->opt.version);
    }
    fprintf(f, ", by dshost %s. The same %s again:\n;   dshost %s --config %s.ini --out OTHER\n\n",
            PACKAGE_VERSION, r->kind, r->kind, r->kind);
    fprintf(f, "[run]\n");
    const ds_params *p = r->options->params;
    for (size_t i = 0; i < ds_params_count(p); i++) {
        const char *key = ds_params_info(p, i)->name;
        const char *value = run_text(r, key, ds_params_value_text(p, i));
        if (value != NULL) {
            fprintf(f, "%s = %s\n", key, value);
        }
    }
    for (int section = DS_SECTION_ENV; section < DS_SECTIONS; section++) {
        if (r->section[section] != NULL) {
            fprintf(f, "\n[%s]\n", ds_section_names[section]);
            ds_params_write_ini(r->section[section], f);
        }
    }
    snprintf(name, sizeof(name), "%s.ini", r->kind);
    return finish_text(f, &text, &size, folder, name, e);
}

static int put_settings(ds_store *s, const ds_run_spec *r, ds_error *e)
{
    int rc = 0;
    for (int section = 0; section < DS_SECTIONS; section++) {
        const ds_params *p = section == DS_SECTION_RUN ? r->options->params : r->section[section];
        size_t count = p != NULL ? ds_params_count(p) : 0;
        for (size_t i = 0; i < count && rc == 0; i++) {
            const char *key = ds_params_info(p, i)->name;
            const char *value = ds_params_value_text(p, i);
            value = section == DS_SECTION_RUN ? run_text(r, key, value) : value;
            /* Defaults are left out where they are empty: "" is not a value for every type. */
            if (value != NULL && (value[0] != '\0' || ds_params_given(p, i))) {
                rc = ds_store_put_setting(s, section, key, value, e);
            }
        }
    }
    return rc;
}

static int put_facts(ds_store *s, const ds_run_spec *r, ds_error *e)
{
    char plan[32], created[32], machine[300];
    time_t now = time(NULL);
    struct tm tm;
    struct utsname u;
    snprintf(plan, sizeof(plan), "%lld", (long long)r->options->budget);
    gmtime_r(&now, &tm);
    strftime(created, sizeof(created), "%Y-%m-%dT%H:%M:%SZ", &tm);
    memset(&u, 0, sizeof(u));
    uname(&u);
    snprintf(machine, sizeof(machine), "%s %s %s", u.sysname, u.release, u.machine);
    const char *const facts[][2] = {
        {"plan", r->survey ? NULL : plan},
        {"budget", r->survey ? NULL : plan},
        {"created", created},
        {"machine", machine},
        {"dshost_version", PACKAGE_VERSION},
        {"env", r->env.id},
        {"env_path", r->env.path},
        {"env_version", r->env.version},
        {"opt", r->opt.id},
        {"opt_path", r->opt.path},
        {"opt_version", r->opt.version},
    };
    int rc = 0;
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]) && rc == 0; i++) {
        rc = facts[i][1] != NULL ? ds_store_set(s, facts[i][0], facts[i][1], e) : 0;
    }
    return rc;
}

int ds_folder_create_store(const char *folder, const ds_run_spec *r, uint64_t n, ds_store **out, ds_error *e)
{
    char name[48];
    snprintf(name, sizeof(name), "%s.sqlite.new", r->kind);
    char *draft = ds_folder_path(folder, name);
    char *path = draft != NULL ? strndup(draft, strlen(draft) - strlen(".new")) : NULL;
    ds_store *s = NULL;
    int rc = 0;
    if (path == NULL || draft == NULL) {
        rc = ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    } else {
        unlink(draft); /* of a start that was killed */
        rc = ds_store_create(draft, NULL, n, &s, e);
        rc = rc != 0 ? rc : ds_store_begin(s, e);
        rc = rc != 0 ? rc : put_settings(s, r, e);
        rc = rc != 0 ? rc : put_facts(s, r, e);
        rc = rc != 0 ? rc : ds_store_commit(s, e);
        ds_error late = {0, ""};
        if (ds_store_close(s, &late) != 0 && rc == 0) {
            rc = ds_fail(e, late.status, "%s", late.text);
        }
        if (rc == 0 && rename(draft, path) != 0) {
            rc = ds_fail(e, DS_EXIT_IO, "%s: cannot be renamed: %s", draft, strerror(errno));
        }
        if (rc != 0) {
            unlink(draft);
        }
    }
    rc = rc != 0 ? rc : ds_store_open(path, DS_STORE_WRITE, out, e);
    free(path);
    free(draft);
    return rc;
}

int ds_folder_write_failure(const char *folder, const ds_run_spec *r, uint64_t id, const double *x,
                            uint64_t n, uint64_t noise_key, const ds_answer *answer, ds_error *e)
{
    char *text = NULL;
    size_t size = 0;
    char name[48];
    FILE *f = open_memstream(&text, &size);
    if (f == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    snprintf(name, sizeof(name), "failure-%04llu.ini", (unsigned long long)id);
    fprintf(
        f,
        "; Evaluation %llu: %s: %.140s\n; Its message again: dshost eval --config %s --isolation process\n"
        "; In a debugger, where a crash stops: gdb --args dshost eval --config %s\n\n[run]\n",
        (unsigned long long)id, ds_outcome_name(answer->outcome), answer->message, name, name);
    fprintf(f, "env = %s\nseed = %llu\nthreads = %u\nisolation = none\n", ds_folder_plugin_name(&r->env),
            (unsigned long long)r->options->seed, r->options->threads);
    if (noise_key != 0) {
        fprintf(f, "noise_key = %llu\n", (unsigned long long)noise_key);
    }
    fprintf(f, "x =");
    for (uint64_t i = 0; i < n; i++) {
        fprintf(f, "%s%.17g", i % 4 == 0 && i > 0 ? "\n    " : " ", x[i]);
    }
    fprintf(f, "\n\n[env]\n");
    ds_params_write_ini(r->section[DS_SECTION_ENV], f);
    return finish_text(f, &text, &size, folder, name, e);
}
