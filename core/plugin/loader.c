/* SPDX-License-Identifier: Apache-2.0 */
/* loader.c - finds plugins on the search path and loads them. */
#include "config.h"

#include "plugin/loader.h"

#include <errno.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "base/program.h"
#include "config/params.h"
#include "plugin/elf_file.h"

enum {
    MAX_PARAMS = 256,  /* of a plugin */
    MAX_CHOICES = 256, /* of a parameter */
    MAX_FILES = 1024   /* of a folder */
};

static char **folders; /* NULL-terminated */
static size_t folder_count;
static ds_module **modules; /* every module that was loaded, never released */
static size_t module_count;

/* ---- search path ---- */

static void add_folder(const char *dir, size_t length)
{
    static const char *const below[] = {"", "/envs", "/optimizers"};
    char **grown = length > 0 ? realloc(folders, (folder_count + 4) * sizeof *folders) : NULL;
    if (grown == NULL) {
        return;
    }
    folders = grown;
    for (int k = 0; k < 3; k++) {
        char text[PATH_MAX];
        if ((size_t)snprintf(text, sizeof text, "%.*s%s", (int)length, dir, below[k]) < sizeof text &&
            (folders[folder_count] = strdup(text)) != NULL) {
            folder_count++;
        }
    }
    folders[folder_count] = NULL;
}

const char *const *ds_loader_path(void)
{
    char text[PATH_MAX];
    const char *env, *home;

    if (folder_count > 0) {
        return (const char *const *)folders;
    }
    env = secure_getenv("DS_PLUGIN_PATH");
    while (env != NULL && *env != '\0') {
        size_t n = strcspn(env, ":");
        add_folder(env, n);
        env += n + (env[n] == ':');
    }
    home = secure_getenv("HOME");
    if (home != NULL && home[0] == '/') {
        int n = snprintf(text, sizeof text, "%s/.local/lib/diffsim", home);
        add_folder(text, n < (int)sizeof text ? (size_t)n : 0);
    }
    if (ds_program_build_tree(text)) {
        size_t n = strlen(text);
        n += (size_t)snprintf(text + n, sizeof text - n, "/plugins");
        add_folder(text, n < sizeof text ? n : 0);
    }
    add_folder(DS_PLUGINDIR, strlen(DS_PLUGINDIR));
    return (const char *const *)folders;
}

/* ---- acceptance of the data ---- */

/* NULL, or what keeps a text of the descriptor from being shown to users and written to files. */
static const char *text_problem(const char *s, int paragraphs)
{
    if (s == NULL) {
        return "is NULL (\"\" is fine)";
    }
    for (;;) {
        size_t n = paragraphs ? strcspn(s, "\n") : strlen(s);
        if (!ds_text_is_line(s, n)) {
            return "is not UTF-8, or has a line break or control character in it";
        }
        if (s[n] == '\0') {
            return NULL;
        }
        s += n + 1;
    }
}

static int is_name(const char *s)
{
    size_t n = 0;
    if (s == NULL || !(s[0] >= 'a' && s[0] <= 'z')) {
        return 0;
    }
    for (; s[n] != '\0'; n++) {
        if (!((s[n] >= 'a' && s[n] <= 'z') || (s[n] >= '0' && s[n] <= '9') || s[n] == '_') || n >= 47) {
            return 0;
        }
    }
    return 1;
}

static int accept_param(const ds_param *q, size_t index, const ds_param *const *all, const char *path,
                        ds_error *e)
{
    if (q->struct_size < sizeof *q) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: parameter %zu: struct_size is %u, this host needs at least %zu", path, index,
                       q->struct_size, sizeof *q);
    }
    if (!is_name(q->name)) {
        return ds_fail(
            e, DS_EXIT_PLUGIN,
            "%s: parameter %zu: name '%.60s' must match [a-z][a-z0-9_]* with at most 47 characters", path,
            index, q->name != NULL ? q->name : "(null)");
    }
    for (size_t k = 0; k < index; k++) {
        if (strcmp(all[k]->name, q->name) == 0) {
            return ds_fail(e, DS_EXIT_PLUGIN, "%s: parameter '%s' is declared twice", path, q->name);
        }
    }
    if (q->type < DS_PARAM_BOOL || q->type > DS_PARAM_ARRAY) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: parameter '%s': type %u is unknown, 1 to 8 are known", path,
                       q->name, q->type);
    }
    const struct {
        const char *what, *text;
    } texts[] = {{"default", q->default_text}, {"unit", q->unit}, {"doc", q->doc}};
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        const char *problem = text_problem(texts[k].text, 0);
        if (problem != NULL) {
            return ds_fail(e, DS_EXIT_PLUGIN, "%s: parameter '%s': %s %s", path, q->name, texts[k].what,
                           problem);
        }
    }
    if (ds_ini_text_problem(q->name, q->default_text) != NULL) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: parameter '%s': default '%.60s' cannot stand in an .ini file: %s", path, q->name,
                       q->default_text, ds_ini_text_problem(q->name, q->default_text));
    }
    if (!(q->min <= q->max)) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: parameter '%s': range %g..%g is empty", path, q->name, q->min,
                       q->max);
    }
    if ((q->type == DS_PARAM_ENUM) != (q->choices != NULL) || (q->choices != NULL && q->choices[0] == NULL)) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: parameter '%s': choices are for ENUM, and ENUM needs them",
                       path, q->name);
    }
    for (size_t k = 0; q->choices != NULL && q->choices[k] != NULL; k++) {
        if (k == MAX_CHOICES || q->choices[k][0] == '\0' || text_problem(q->choices[k], 0) != NULL ||
            ds_ini_text_problem(q->name, q->choices[k]) != NULL) {
            return ds_fail(
                e, DS_EXIT_PLUGIN,
                "%s: parameter '%s': choice %zu: a choice is a short word, at most %d are possible", path,
                q->name, k, MAX_CHOICES);
        }
    }
    return 0;
}

static int accept_texts(const ds_desc *d, const char *path, ds_error *e)
{
    const struct {
        const char *what, *text;
        int paragraphs;
    } texts[] = {{"version", d->version, 0},
                 {"license", d->license, 0},
                 {"summary", d->summary, 0},
                 {"description", d->description, 1},
                 {"citation", d->citation, 1}};
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        const char *problem = text_problem(texts[k].text, texts[k].paragraphs);
        if (problem != NULL) {
            return ds_fail(e, DS_EXIT_PLUGIN, "%s: %s %s", path, texts[k].what, problem);
        }
    }
    return 0;
}

static int accept_desc(const ds_desc *d, const char *id, const char *path, ds_error *e)
{
    if (d == NULL || d->struct_size < sizeof *d) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: the descriptor's struct_size is %u, this host needs at least %zu", path,
                       d != NULL ? d->struct_size : 0, sizeof *d);
    }
    if (!is_name(d->id)) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: id '%.60s' must match [a-z][a-z0-9_]* with at most 47 characters", path,
                       d->id != NULL ? d->id : "(null)");
    }
    if (id != NULL && strcmp(d->id, id) != 0) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: the plugin calls itself '%s' but the file is '%s.so': rename one", path, d->id,
                       id);
    }
    int status = accept_texts(d, path, e);
    for (size_t i = 0; status == 0 && d->params != NULL && d->params[i] != NULL; i++) {
        status = i < MAX_PARAMS ? accept_param(d->params[i], i, d->params, path, e)
                                : ds_fail(e, DS_EXIT_PLUGIN, "%s: more than %d parameters", path, MAX_PARAMS);
    }
    return status;
}

int ds_plugin_accept(const ds_plugin *p, const char *id, const char *path, ds_error *e)
{
    if (p == NULL) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: ds_plugin_query() returned NULL", path);
    }
    if (p->magic != DS_MAGIC) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: magic number is %08x, expected %08x: not a diffsim plugin",
                       path, p->magic, DS_MAGIC);
    }
    /* The fields up to `layout` stay where they are for ever: a plugin for another version is recognised as
     * such. */
    if (p->struct_size >= offsetof(ds_plugin, reserved)) {
        if (p->layout != DS_LAYOUT) {
            return ds_fail(e, DS_EXIT_PLUGIN,
                           "%s: data layout is %08x, this host has %08x: built for another machine", path,
                           p->layout, DS_LAYOUT);
        }
        if (p->abi_major != DS_ABI_MAJOR || (DS_ABI_MAJOR == 0 && p->abi_minor != DS_ABI_MINOR)) {
            return ds_fail(e, DS_EXIT_PLUGIN,
                           "%s: built for plugin ABI %u.%u, this host has %u.%u: compile it again", path,
                           p->abi_major, p->abi_minor, DS_ABI_MAJOR, DS_ABI_MINOR);
        }
    }
    if (p->struct_size < sizeof *p) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: struct_size is %u, this host needs at least %zu", path,
                       p->struct_size, sizeof *p);
    }
    int status = accept_desc(p->desc, id, path, e);
    if (status != 0) {
        return status;
    }
    if (p->desc->kind == DS_KIND_ENV) {
        const ds_env_vtable *v = p->env;
        if (v == NULL || v->struct_size < offsetof(ds_env_vtable, get_extension)) {
            return ds_fail(e, DS_EXIT_PLUGIN,
                           "%s: environment vtable has struct_size %u, at least %zu is needed", path,
                           v != NULL ? v->struct_size : 0, offsetof(ds_env_vtable, get_extension));
        }
        if (v->create == NULL || v->destroy == NULL || v->info == NULL || v->bounds == NULL ||
            v->evaluate == NULL) {
            return ds_fail(e, DS_EXIT_PLUGIN, "%s: create, destroy, info, bounds and evaluate are required",
                           path);
        }
    } else if (p->desc->kind == DS_KIND_OPTIMIZER) {
        const ds_optimizer_vtable *v = p->optimizer;
        if (v == NULL || v->struct_size < offsetof(ds_optimizer_vtable, get_extension)) {
            return ds_fail(e, DS_EXIT_PLUGIN,
                           "%s: optimizer vtable has struct_size %u, at least %zu is needed", path,
                           v != NULL ? v->struct_size : 0, offsetof(ds_optimizer_vtable, get_extension));
        }
        if (v->create == NULL || v->destroy == NULL || v->run == NULL) {
            return ds_fail(e, DS_EXIT_PLUGIN, "%s: create, destroy and run are required", path);
        }
    } else {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: kind is %u, 1 (environment) and 2 (optimizer) are known", path,
                       p->desc->kind);
    }
    return 0;
}

/* ---- loading ---- */

static int not_alike(const char *path, const char *kind, ds_error *e)
{
    return ds_fail(e, DS_EXIT_PLUGIN, "%s: built with -fsanitize=%s, this dshost is not: build both alike",
                   path, kind);
}

/* A sanitized plugin in a program without that sanitizer ends the process inside dlopen, so it is refused
 * before. */
static int check_file(const char *path, ds_error *e)
{
    ds_elf elf;
    int status = ds_elf_read(path, &elf, DS_EXIT_PLUGIN, e);
    if (status != 0) {
        return status;
    }
    for (size_t i = 0; i < elf.needed_count; i++) {
        const char *n = elf.needed[i];
        const char *kind = strncmp(n, "libasan", 7) == 0   ? "address"
                           : strncmp(n, "libtsan", 7) == 0 ? "thread"
                                                           : NULL;
#ifdef DS_SANITIZERS
        if (kind != NULL && strstr(DS_SANITIZERS, kind) != NULL) {
            kind = NULL;
        }
#endif
        if (kind != NULL) {
            status = not_alike(path, kind, e);
        }
    }
    ds_elf_clear(&elf);
    return status;
}

/* dlopen, with the floating-point mode put back: start-up code of -ffast-math switches denormals off for
 * everybody. */
static void *open_guarded(const char *path, int *changed)
{
#if defined(__x86_64__)
    unsigned before = _mm_getcsr();
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *changed = ((_mm_getcsr() ^ before) & ~0x3fu) != 0;
    _mm_setcsr(before);
    return handle;
#else
    *changed = 0;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
#endif
}

static int load(const char *path, const char *id, ds_module *m, ds_error *e)
{
    const ds_plugin *(*query)(void);
    Dl_info where;
    struct stat a, b;
    int changed = 0;
    int status = check_file(path, e);

    if (status != 0) {
        return status;
    }
    void *handle = open_guarded(path, &changed);
    if (handle == NULL) {
        const char *why = dlerror();
        /* The message of dlopen begins with the path. */
        size_t n = strlen(path);
        if (why != NULL && strncmp(why, path, n) == 0 && why[n] == ':') {
            why += n + 1 + (why[n + 1] == ' ');
        }
        /* clang links no shared library for its sanitizers. */
        const char *kind = why == NULL                                        ? NULL
                           : strstr(why, "undefined symbol: __asan_") != NULL ? "address"
                           : strstr(why, "undefined symbol: __tsan_") != NULL ? "thread"
                                                                              : NULL;
        return kind != NULL ? not_alike(path, kind, e)
                            : ds_fail(e, DS_EXIT_PLUGIN, "%s: cannot be loaded: %s", path,
                                      why != NULL ? why : "unknown reason");
    }
    if (changed) {
        return ds_fail(
            e, DS_EXIT_PLUGIN,
            "%s: changes the floating-point mode when loaded: link it without -ffast-math and -Ofast", path);
    }
    void *symbol = dlsym(handle, "ds_plugin_query");
    /* dlsym also looks into the libraries that the plugin needs; a plugin must define the function itself. */
    if (symbol == NULL || dladdr(symbol, &where) == 0 || where.dli_fname == NULL ||
        stat(where.dli_fname, &a) != 0 || stat(path, &b) != 0 || a.st_ino != b.st_ino ||
        a.st_dev != b.st_dev) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: no function ds_plugin_query: not a diffsim plugin", path);
    }
    memcpy(&query, &symbol, sizeof query);
    const ds_plugin *p = query();
    status = ds_plugin_accept(p, id, path, e);
    if (status != 0) {
        return status;
    }
    m->plugin = p;
    if (p->desc->kind == DS_KIND_ENV) {
        size_t n = p->env->struct_size < sizeof m->env ? p->env->struct_size : sizeof m->env;
        memcpy(&m->env, p->env, n);
    } else {
        size_t n = p->optimizer->struct_size < sizeof m->opt ? p->optimizer->struct_size : sizeof m->opt;
        memcpy(&m->opt, p->optimizer, n);
    }
    return 0;
}

static int open_path(const char *name, const ds_module **out, ds_error *e)
{
    char path[PATH_MAX], id[64];
    const char *base = strrchr(name, '/');
    ds_module *m;
    int status;

    base = base != NULL ? base + 1 : name;
    if (realpath(name, path) == NULL) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: cannot be opened: %s", name, strerror(errno));
    }
    /* The id comes from the name that the user sees, not from what a link points to. */
    size_t n = strlen(base);
    if (n < 4 || strcmp(base + n - 3, ".so") != 0 || n - 3 >= sizeof id) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: the name of a plugin file is ID.so", name);
    }
    snprintf(id, sizeof id, "%.*s", (int)(n - 3), base);
    for (size_t i = 0; i < module_count; i++) {
        if (strcmp(modules[i]->path, path) == 0) {
            *out = modules[i];
            return 0;
        }
    }
    m = calloc(1, sizeof *m);
    ds_module **grown = realloc(modules, (module_count + 1) * sizeof *modules);
    if (grown != NULL) {
        modules = grown;
    }
    if (m == NULL || grown == NULL || (m->path = strdup(path)) == NULL || (m->id = strdup(id)) == NULL) {
        status = ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    } else {
        status = load(path, id, m, e);
    }
    if (status != 0) {
        if (m != NULL) {
            free(m->path);
            free(m->id);
        }
        free(m);
        return status;
    }
    modules[module_count++] = m;
    *out = m;
    return 0;
}

static const char *kind_name(uint32_t kind)
{
    return kind == DS_KIND_ENV ? "environment" : kind == DS_KIND_OPTIMIZER ? "optimizer" : "plugin";
}

/* Says that an id is nowhere, with the nearest one that is. */
static int not_found(const char *id, uint32_t kind, ds_error *e)
{
    const char *known[MAX_FILES];
    size_t n = 0;
    const char *const *path = ds_loader_path();
    for (size_t i = 0; path[i] != NULL; i++) {
        DIR *d = opendir(path[i]);
        for (struct dirent *f; d != NULL && n < MAX_FILES && (f = readdir(d)) != NULL;) {
            size_t length = strlen(f->d_name);
            if (length > 3 && strcmp(f->d_name + length - 3, ".so") == 0) {
                known[n] = strndup(f->d_name, length - 3);
                n += known[n] != NULL;
            }
        }
        if (d != NULL) {
            closedir(d);
        }
    }
    const char *near = ds_nearest(id, known, n);
    char hint[120], here[64];
    snprintf(here, sizeof here, "%.50s.so", id);
    if (near == NULL && access(here, F_OK) == 0) {
        snprintf(hint, sizeof hint, "there is one in this folder: './%s'", here);
    } else {
        snprintf(hint, sizeof hint, near != NULL ? "did you mean '%s'?" : "`dshost list` shows what there is",
                 near);
    }
    int status = ds_fail(e, DS_EXIT_PLUGIN, "no %s '%s' on the plugin path; %s", kind_name(kind), id, hint);
    for (size_t i = 0; i < n; i++) {
        free((char *)(uintptr_t)known[i]);
    }
    return status;
}

int ds_loader_open(const char *name, uint32_t kind, const ds_module **out, ds_error *e)
{
    const ds_module *m = NULL;
    int status = -1;
    char id[64];

    if (strchr(name, '/') != NULL) {
        status = open_path(name, &m, e);
    } else {
        size_t n = strlen(name);
        if (n > 3 && strcmp(name + n - 3, ".so") == 0) {
            n -= 3;
        }
        if (n == 0 || n >= sizeof id) {
            return ds_fail(e, DS_EXIT_PLUGIN, "'%.80s' is no name of a plugin", name);
        }
        snprintf(id, sizeof id, "%.*s", (int)n, name);
        const char *const *path = ds_loader_path();
        for (size_t i = 0; path[i] != NULL && status == -1; i++) {
            char file[PATH_MAX];
            if ((size_t)snprintf(file, sizeof file, "%s/%s.so", path[i], id) < sizeof file &&
                access(file, F_OK) == 0) {
                status = open_path(file, &m, e);
            }
        }
        if (status == -1) {
            status = not_found(id, kind, e);
        }
    }
    if (status == 0 && kind != 0 && m->plugin->desc->kind != kind) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s is an %s, an %s is wanted here", name,
                       kind_name(m->plugin->desc->kind), kind_name(kind));
    }
    if (status == 0) {
        *out = m;
    }
    return status;
}

/* ---- listing ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Loads a file in a child process first: one that crashes or hangs in its start-up code costs a line of the
 * list, not the program. The caller has no other threads. */
static int try_load(const char *path, ds_error *e)
{
    const ds_module *m;
    siginfo_t end = {0};
    pid_t child = fork();

    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        alarm(10);
        _exit(open_path(path, &m, NULL) == 0 ? 0 : 1);
    }
    /* Refusals are found again, and told, by the caller. */
    if (child < 0 || waitid(P_PID, (id_t)child, &end, WEXITED) != 0 || end.si_code == CLD_EXITED) {
        return 0;
    }
    return ds_fail(e, DS_EXIT_PLUGIN, "%s: its start-up code ended the process with signal %d (%s)", path,
                   end.si_status, strsignal(end.si_status));
}

static int list_file(const char *dir, const char *file, ds_found **list, size_t *count, ds_error *e)
{
    char path[PATH_MAX];
    struct stat st, other;
    ds_error why = {0};
    size_t n = strlen(file);

    if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, file) >= sizeof path || stat(path, &st) != 0) {
        return 0;
    }
    ds_found *grown = realloc(*list, (*count + 1) * sizeof **list);
    if (grown == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    *list = grown;
    ds_found *f = &grown[*count];
    memset(f, 0, sizeof *f);
    f->path = strdup(path);
    f->id = strndup(file, n - 3);
    if (f->path == NULL || f->id == NULL) {
        free(f->path);
        free(f->id);
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < *count; i++) {
        if (strcmp((*list)[i].id, f->id) == 0) {
            if (stat((*list)[i].path, &other) == 0 && other.st_ino == st.st_ino &&
                other.st_dev == st.st_dev) {
                free(f->path); /* the same file through another folder or link */
                free(f->id);
                return 0;
            }
            f->shadowed = 1;
        }
    }
    (*count)++;
    if (try_load(path, &why) != 0 || open_path(path, &f->module, &why) != 0) {
        snprintf(f->refusal, sizeof f->refusal, "%s", why.text);
    } else {
        f->kind = f->module->plugin->desc->kind;
    }
    return 0;
}

int ds_loader_list(ds_found **out, size_t *count, ds_error *e)
{
    const char *const *path = ds_loader_path();
    int status = 0;

    *out = NULL;
    *count = 0;
    for (size_t i = 0; path[i] != NULL && status == 0; i++) {
        DIR *d = opendir(path[i]);
        char *names[MAX_FILES];
        size_t n = 0;
        for (struct dirent *f; d != NULL && n < MAX_FILES && (f = readdir(d)) != NULL;) {
            size_t length = strlen(f->d_name);
            if (length > 3 && strcmp(f->d_name + length - 3, ".so") == 0) {
                names[n] = strdup(f->d_name);
                n += names[n] != NULL;
            }
        }
        if (d != NULL) {
            closedir(d);
        }
        qsort(names, n, sizeof *names, by_name);
        for (size_t k = 0; k < n; k++) {
            if (status == 0) {
                status = list_file(path[i], names[k], out, count, e);
            }
            free(names[k]);
        }
    }
    if (status != 0) {
        ds_found_free(*out, *count);
        *out = NULL;
        *count = 0;
    }
    return status;
}

void ds_found_free(ds_found *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].path);
        free(list[i].id);
    }
    free(list);
}
