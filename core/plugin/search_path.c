/* SPDX-License-Identifier: Apache-2.0 */
/* search_path.c - the folders of the plugin path, and the plugin files in them. */
#include "config.h"

#include "plugin/search_path.h"

#include <ctype.h>
#include <diffsim/plugin.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/program.h"
#include "base/text.h"
#include "own_plugins.h"

/* Folders, NULL-terminated: the whole path, and the part that belongs to this host. */
typedef struct folder_list {
    char **item;
    size_t count;
} folder_list;
static folder_list all_path, own_path;

/* ---- names ---- */

/* Length of a name without its .so; 0 where it is not the name of a plugin. */
static size_t stem(const char *name)
{
    size_t n = strlen(name);
    return n > 3 && strcmp(name + n - 3, ".so") == 0 ? n - 3 : 0;
}

/* A name of an object: letters, digits, _ and dots in between. */
static int is_object(const char *s)
{
    int begins = 1; /* a word */
    for (; *s != '\0'; s++) {
        const int letter = isalpha((unsigned char)*s) || *s == '_';
        if (!letter && (begins || (*s != '.' && !isdigit((unsigned char)*s)))) {
            return 0;
        }
        begins = *s == '.';
    }
    return !begins;
}

/* Turns a word into an id: lower case, and a _ where a capital begins a word. */
static void make_id(const char *word, size_t length, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < length && n + 2 < size; i++) {
        const unsigned char c = (unsigned char)word[i];
        const int begins =
            isupper(c) && i > 0 &&
            (islower((unsigned char)word[i - 1]) || isdigit((unsigned char)word[i - 1]) ||
             (isupper((unsigned char)word[i - 1]) && i + 1 < length && islower((unsigned char)word[i + 1])));
        if (begins) {
            out[n++] = '_';
        }
        out[n++] = isalnum(c) && c < 128 ? (char)tolower(c) : '_';
    }
    out[n] = '\0';
}

static int read_object_path(const char *name, ds_object_path *out)
{
    const char *slash = strrchr(name, '/');
    const char *base = slash != NULL ? slash + 1 : name;
    const char *colon = strrchr(base, ':');
    const char *end = colon != NULL && is_object(colon + 1) ? colon : base + strlen(base);
    const char *dot = end;
    while (dot > base && *dot != '.') {
        dot--;
    }
    const size_t ending = (size_t)(end - dot), file = (size_t)(end - name);
    const char *object = *end == ':' ? end + 1 : "";
    if (dot == base || ending < 2 || ending > sizeof out->ending || file >= sizeof out->file ||
        strlen(object) >= sizeof out->object || (ending == 3 && strncmp(dot, ".so", ending) == 0)) {
        return 0;
    }
    for (const char *c = dot + 1; c < end; c++) {
        if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c)) {
            return 0;
        }
    }
    snprintf(out->file, sizeof out->file, "%.*s", (int)file, name);
    snprintf(out->ending, sizeof out->ending, "%.*s", (int)ending - 1, dot + 1);
    snprintf(out->object, sizeof out->object, "%s", object);
    const char *inner = strrchr(object, '.');
    inner = inner != NULL ? inner + 1 : object;
    if (object[0] != '\0') {
        make_id(inner, strlen(inner), out->id, sizeof out->id);
    } else {
        make_id(base, (size_t)(dot - base), out->id, sizeof out->id);
    }
    return 1;
}

/* ---- folders ---- */

static void add_folder(folder_list *list, const char *dir, size_t length)
{
    static const char *const below[] = {"", "/envs", "/optimizers"};
    for (size_t i = 0; i < list->count; i += 3) { /* an installation in ~/.local */
        if (strlen(list->item[i]) == length && strncmp(list->item[i], dir, length) == 0) {
            return;
        }
    }
    char **grown = length > 0 ? realloc(list->item, (list->count + 4) * sizeof *grown) : NULL;
    if (grown == NULL) {
        return;
    }
    list->item = grown;
    for (int k = 0; k < 3; k++) {
        char text[PATH_MAX];
        if ((size_t)snprintf(text, sizeof text, "%.*s%s", (int)length, dir, below[k]) < sizeof text &&
            (list->item[list->count] = strdup(text)) != NULL) {
            list->count++;
        }
    }
    list->item[list->count] = NULL;
}

static void add_own(const char *dir, size_t length)
{
    add_folder(&all_path, dir, length);
    add_folder(&own_path, dir, length);
}

/* ---- adapters ---- */

enum { ADAPTERS_MAX = 16 };
static struct {
    char *path, ending[16];
} adapter[ADAPTERS_MAX];
static size_t adapters;

static int is_served(const char *ending)
{
    size_t i = 0;
    while (i < adapters && strcmp(adapter[i].ending, ending) != 0) {
        i++;
    }
    return i < adapters;
}

/* For each ending, the first adapter on the path is used. */
static void add_adapters(const char *folder)
{
    char dir[PATH_MAX], path[PATH_MAX];
    DIR *d = (size_t)snprintf(dir, sizeof dir, "%s/adapters", folder) < sizeof dir ? opendir(dir) : NULL;
    for (struct dirent *f; d != NULL && adapters < ADAPTERS_MAX && (f = readdir(d)) != NULL;) {
        const size_t n = stem(f->d_name);
        char ending[sizeof adapter->ending];
        if (n == 0 || n >= sizeof ending) {
            continue;
        }
        snprintf(ending, sizeof ending, "%.*s", (int)n, f->d_name);
        if (!is_served(ending) &&
            (size_t)snprintf(path, sizeof path, "%s/%s", dir, f->d_name) < sizeof path &&
            (adapter[adapters].path = strdup(path)) != NULL) {
            memcpy(adapter[adapters++].ending, ending, sizeof ending);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
}

/* The user's folder. Returns 1 where it also belongs to an installation in ~/.local. */
static int user_folder(char out[PATH_MAX])
{
    char worker[PATH_MAX];
    const char *home = secure_getenv("HOME");
    out[0] = '\0';
    if (home == NULL || home[0] != '/' ||
        snprintf(out, PATH_MAX, "%s/.local/lib/diffsim", home) >= PATH_MAX ||
        snprintf(worker, sizeof worker, "%s/.local/libexec/diffsim/dshost-worker", home) >= PATH_MAX) {
        out[0] = '\0';
        return 0;
    }
    return access(worker, F_OK) == 0;
}

static void make_path(void)
{
    char own[PATH_MAX], user[PATH_MAX];
    const char *env = secure_getenv("DS_PLUGIN_PATH");
    while (env != NULL && *env != '\0') {
        size_t n = strcspn(env, ":");
        add_folder(&all_path, env, n);
        env += n + (env[n] == ':');
    }
    const int installation = user_folder(user);
    if (!installation) {
        add_folder(&all_path, user, strlen(user));
    }
    if (ds_installation_build_tree(own)) {
        size_t n = strlen(own);
        n += (size_t)snprintf(own + n, sizeof own - n, "/plugins");
        add_own(own, n < sizeof own ? n : 0);
    }
    ds_installation_folder(DS_INSTALLED_PLUGINS, own);
    add_own(own, strlen(own));
    if (installation) {
        add_folder(&all_path, user, strlen(user));
    }
    for (size_t i = 0; i < all_path.count; i += 3) {
        add_adapters(all_path.item[i]);
    }
}

static void ready(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_path);
}

const char *const *ds_loader_path(void)
{
    static char *const none[] = {NULL};
    ready();
    return (const char *const *)(all_path.item != NULL ? all_path.item : none);
}

const char *const *ds_loader_own_path(void)
{
    static char *const none[] = {NULL};
    ready();
    return (const char *const *)(own_path.item != NULL ? own_path.item : none);
}

int ds_plugin_adapter(const char *ending, char out[PATH_MAX])
{
    ready();
    for (size_t i = 0; i < adapters; i++) {
        if (strcmp(adapter[i].ending, ending) == 0) {
            snprintf(out, PATH_MAX, "%s", adapter[i].path);
            return 1;
        }
    }
    return 0;
}

int ds_plugin_adapted(const char *name, ds_object_path *out)
{
    ready();
    return read_object_path(name, out) && is_served(out->ending);
}

void ds_plugin_id_of(const char *name, char out[64])
{
    ds_object_path o;
    const char *slash = strrchr(name, '/'), *base = slash != NULL ? slash + 1 : name;
    const size_t n = stem(base) > 0 ? stem(base) : strlen(base);
    if (ds_plugin_adapted(name, &o)) {
        memcpy(out, o.id, sizeof o.id);
    } else {
        snprintf(out, 64, "%.*s", (int)n, base);
    }
}

/* Can a file in a plugin folder be a plugin, by its name? The name of a file of another language must be an
 * id, so that helpers called _NAME.py are skipped. */
static int is_candidate(const char *name)
{
    ds_object_path o;
    return stem(name) > 0 || (islower((unsigned char)name[0]) && ds_plugin_adapted(name, &o));
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

size_t ds_plugin_files(const char *folder, char *names[DS_FILES_MAX], size_t count)
{
    DIR *d = opendir(folder);
    size_t n = count;
    for (struct dirent *f; d != NULL && n < DS_FILES_MAX && (f = readdir(d)) != NULL;) {
        if (is_candidate(f->d_name)) {
            names[n] = strdup(f->d_name);
            n += names[n] != NULL;
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    qsort(names + count, n - count, sizeof *names, by_name);
    return n;
}

const char *ds_kind_name(uint32_t kind)
{
    return kind == DS_KIND_ENV ? "environment" : kind == DS_KIND_OPTIMIZER ? "optimizer" : "plugin";
}

/* Is this a subfolder for plugins of the other kind? */
static int is_of_other_kind(const char *folder, uint32_t kind)
{
    const char *name = strrchr(folder, '/');
    return name != NULL && ((kind == DS_KIND_ENV && strcmp(name, "/optimizers") == 0) ||
                            (kind == DS_KIND_OPTIMIZER && strcmp(name, "/envs") == 0));
}

/* The error for an id that is nowhere; names the closest id of the wanted kind. */
static int not_found(const char *id, uint32_t kind, ds_error *e)
{
    char *known[DS_FILES_MAX], hint[120], here[64];
    size_t n = 0;
    const char *const *folder = ds_loader_path();
    for (; *folder != NULL; folder++) {
        n = is_of_other_kind(*folder, kind) ? n : ds_plugin_files(*folder, known, n);
    }
    for (size_t i = 0; i < n; i++) {
        *strrchr(known[i], '.') = '\0';
    }
    const char *near = ds_nearest(id, (const char *const *)known, n);
    snprintf(here, sizeof here, "%.50s.so", id);
    if (near == NULL && access(here, F_OK) == 0) {
        snprintf(hint, sizeof hint, "there is one in this folder: './%s'", here);
    } else {
        snprintf(hint, sizeof hint, near != NULL ? "did you mean '%s'?" : "`dshost list` lists all plugins",
                 near);
    }
    int status =
        ds_fail(e, DS_EXIT_PLUGIN, "no %s '%s' on the plugin path; %s", ds_kind_name(kind), id, hint);
    for (size_t i = 0; i < n; i++) {
        free(known[i]);
    }
    return status;
}

/* Keeps the part after the colon in the path: it identifies the plugin. */
static int adapted_file(const char *name, const ds_object_path *o, ds_plugin_file *out, ds_error *e)
{
    const char *object = name + strlen(o->file);
    if (realpath(o->file, out->path) == NULL) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: cannot be opened: %s", o->file, strerror(errno));
    }
    const size_t n = strlen(out->path);
    if (n + strlen(object) >= sizeof out->path) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: the path is too long", o->file);
    }
    memcpy(out->path + n, object, strlen(object) + 1);
    memcpy(out->id, o->id, sizeof out->id);
    return 0;
}

int ds_plugin_file_of(const char *name, ds_plugin_file *out, ds_error *e)
{
    ds_object_path o;
    const char *base = strrchr(name, '/');
    base = base != NULL ? base + 1 : name;
    if (ds_plugin_adapted(name, &o)) {
        return adapted_file(name, &o, out, e);
    }
    if (realpath(name, out->path) == NULL) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: cannot be opened: %s", name, strerror(errno));
    }
    size_t n = stem(base);
    if (n == 0 || n >= sizeof out->id) {
        const size_t all = strlen(base);
        if (all > 4 && strcmp(base + all - 4, ".ini") == 0) {
            return ds_fail(e, DS_EXIT_PLUGIN,
                           "%s: a plugin file must be called ID.so; a scene or task is a parameter of its "
                           "environment, as in --env particles --set env.scene=%s",
                           name, name);
        }
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: a plugin file must be called ID.so", name);
    }
    snprintf(out->id, sizeof out->id, "%.*s", (int)n, base);
    return 0;
}

/* Looks for FILE.ENDING:NAME in the folders of the path; 1 if it is there. */
static int find_adapted(const char *name, const ds_object_path *o, ds_plugin_file *out, ds_error *e, int *rc)
{
    char file[PATH_MAX];
    const char *const *path = ds_loader_path();
    for (size_t i = 0; path[i] != NULL; i++) {
        if ((size_t)snprintf(file, sizeof file, "%s/%s", path[i], o->file) < sizeof file &&
            access(file, F_OK) == 0 &&
            (size_t)snprintf(file, sizeof file, "%s/%s", path[i], name) < sizeof file) {
            *rc = ds_plugin_file_of(file, out, e);
            return 1;
        }
    }
    return 0;
}

/* Looks for ID.ENDING in a folder, for every ending that an adapter serves. */
static int find_in(const char *folder, const char *id, char file[PATH_MAX])
{
    for (size_t i = 0; i < adapters; i++) {
        if (snprintf(file, PATH_MAX, "%s/%s.%s", folder, id, adapter[i].ending) < PATH_MAX &&
            access(file, F_OK) == 0) {
            return 1;
        }
    }
    return 0;
}

/* py:NAME is a class of the Python package that belongs to the adapter: around it in a wheel, in a build
 * tree, in an installation (plugins/adapters/python/child.c looks for the package in the same way). */
static int find_bundled(const char *name, ds_plugin_file *out, ds_error *e)
{
    static const char *const below[] = {"", "/python", "/share/diffsim/python", "/lib/python3/dist-packages"};
    static const char peers[] = "/diffsim/bridges/plugins/peers.py";
    char own[PATH_MAX], up[PATH_MAX], file[PATH_MAX];
    if (!ds_plugin_adapter("py", own) || realpath(own, up) == NULL) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: the adapter py is not on the plugin path", name);
    }
    for (char *slash = strrchr(up, '/'); slash != NULL; slash = strrchr(up, '/')) {
        *slash = '\0';
        for (size_t k = 0; k < sizeof below / sizeof below[0]; k++) {
            if ((size_t)snprintf(file, sizeof file, "%s%s%s", up, below[k], peers) < sizeof file &&
                access(file, R_OK) == 0 &&
                (size_t)snprintf(file, sizeof file, "%s%s%s%s", up, below[k], peers, name + 2) <
                    sizeof file) {
                return ds_plugin_file_of(file, out, e);
            }
        }
    }
    return ds_fail(
        e, DS_EXIT_PLUGIN,
        "%s: the package diffsim of Python is not where this dshost is installed: install it there "
        "(Debian: python3-diffsim)",
        name);
}

int ds_plugin_find(const char *name, uint32_t kind, ds_plugin_file *out, ds_error *e)
{
    char id[64], file[PATH_MAX];
    ds_object_path o;
    int rc = 0;
    if (strncmp(name, "py:", 3) == 0) {
        return find_bundled(name, out, e);
    }
    size_t n = stem(name) > 0 ? stem(name) : strlen(name);
    const int adapted = ds_plugin_adapted(name, &o);
    /* A file of another language may lie in the current folder, as in `python3 my_env.py`. */
    if (strchr(name, '/') != NULL || (adapted && access(o.file, F_OK) == 0)) {
        return ds_plugin_file_of(name, out, e);
    }
    if (adapted) {
        return find_adapted(name, &o, out, e, &rc)
                   ? rc
                   : ds_fail(e, DS_EXIT_PLUGIN,
                             "%s: no such file, neither in this folder nor on the plugin path", o.file);
    }
    if (n == 0 || n >= sizeof id) {
        return ds_fail(e, DS_EXIT_PLUGIN, "'%.80s' is not a valid plugin name", name);
    }
    snprintf(id, sizeof id, "%.*s", (int)n, name);
    const char *const *path = ds_loader_path();
    for (size_t i = 0; path[i] != NULL; i++) {
        for (int k = 0; k < 2; k++) { /* Cargo and CMake put lib before the name */
            if ((size_t)snprintf(file, sizeof file, "%s/%s%s.so", path[i], k == 0 ? "" : "lib", id) <
                    sizeof file &&
                access(file, F_OK) == 0) {
                return ds_plugin_file_of(file, out, e);
            }
        }
        if (find_in(path[i], id, file)) {
            return ds_plugin_file_of(file, out, e);
        }
    }
    return not_found(id, kind, e);
}

/* ---- plugins of this host ---- */

static int is_known(const char *id)
{
    static const char *const known[] = {DS_OWN_PLUGINS NULL};
    size_t i = 0;
    while (known[i] != NULL && strcmp(known[i], id) != 0) {
        i++;
    }
    return known[i] != NULL;
}

/* Does the file lie in this folder, or in the subfolder where libtool keeps what it links? */
static int lies_in(const char *path, const char *folder)
{
    static const char libtool[] = "/.libs";
    char real[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t n = realpath(folder, real) != NULL ? strlen(real) : 0;
    if (n == 0 || slash == NULL || strncmp(path, real, n) != 0) {
        return 0;
    }
    size_t rest = (size_t)(slash - path) - n;
    return rest == 0 || (rest == sizeof libtool - 1 && strncmp(path + n, libtool, rest) == 0);
}

int ds_plugin_is_own(const ds_plugin_file *f)
{
    const char *const *folder = is_known(f->id) && stem(f->path) > 0 ? ds_loader_own_path() : NULL;
    while (folder != NULL && *folder != NULL && !lies_in(f->path, *folder)) {
        folder++;
    }
    return folder != NULL && *folder != NULL;
}

int ds_plugin_on_path(const char *name, const ds_plugin_file *f)
{
    const char *const *folder = ds_loader_path();
    ds_object_path o;
    if (strchr(name, '/') == NULL && !ds_plugin_adapted(name, &o)) {
        return 1;
    }
    while (*folder != NULL && !lies_in(f->path, *folder)) {
        folder++;
    }
    return *folder != NULL;
}
