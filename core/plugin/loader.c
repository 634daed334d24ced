/* SPDX-License-Identifier: Apache-2.0 */
/* loader.c - loads plugins with dlopen, receives descriptions from another process, and keeps the modules. */
#include "config.h"

#include "plugin/loader.h"

#include <diffsim/adapter.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "base/text.h"
#include "plugin/blas.h"
#include "plugin/descriptor.h"
#include "plugin/elf_file.h"

static ds_module **modules; /* all loaded or described modules, never released */
static size_t module_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of both, and for loading */

/* dlopen that restores the floating-point mode: start-up code of -ffast-math switches denormals off for
 * everyone. */
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

/* Explains why dlopen failed. */
static int not_loaded(const char *path, const char *why, ds_error *e)
{
    size_t n = strlen(path);
    why = why != NULL ? why : "unknown reason";
    if (strncmp(why, path, n) == 0 && why[n] == ':') { /* the message begins with the path */
        why += n + 1 + (why[n + 1] == ' ');
    }
    /* clang links no shared library for its sanitizers, so the symbols show whether they are used. */
    const char *kind = ds_sanitizer_in(why, "undefined symbol: __asan_", "undefined symbol: __tsan_");
    return kind != NULL ? ds_sanitizer_differs(path, kind, e)
                        : ds_fail(e, DS_EXIT_PLUGIN, "%s: cannot be loaded: %s", path, why);
}

static void take_functions(ds_module *m, const ds_plugin *p)
{
    m->plugin = p;
    if (p->desc->kind == DS_KIND_ENV) {
        m->env = *p->env;
    } else {
        m->opt = *p->optimizer;
    }
}

static int load(const char *path, const char *id, ds_module *m, ds_error *e)
{
    const ds_plugin *(*query)(uint32_t major, uint32_t minor);
    Dl_info where;
    struct stat a, b;
    int changed = 0;
    if (ds_elf_check_sanitizer(path, e) != 0) {
        return DS_EXIT_PLUGIN;
    }
    void *handle = open_guarded(path, &changed);
    if (handle == NULL) {
        return not_loaded(path, dlerror(), e);
    }
    if (changed) {
        return ds_fail(
            e, DS_EXIT_PLUGIN,
            "%s: changes the floating-point mode when loaded: link it without -ffast-math and -Ofast", path);
    }
    void *symbol = dlsym(handle, "ds_plugin_query");
    /* dlsym also searches the libraries that the plugin needs, but the plugin itself must define the
     * function. */
    if (symbol == NULL || dladdr(symbol, &where) == 0 || where.dli_fname == NULL ||
        stat(where.dli_fname, &a) != 0 || stat(path, &b) != 0 || a.st_ino != b.st_ino ||
        a.st_dev != b.st_dev) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: no function ds_plugin_query: not a diffsim plugin", path);
    }
    memcpy(&query, &symbol, sizeof query);
    ds_plugin *p = NULL;
    int status = ds_blas_find(path, handle, m->blas, sizeof m->blas, e);
    status = status != 0 ? status : ds_plugin_accept(query(DS_ABI_MAJOR, DS_ABI_MINOR), id, path, &p, e);
    if (status != 0) {
        return status;
    }
    if (ds_blas_limited() && ds_blas_reserve(handle) != 0) {
        return ds_fail(e, DS_EXIT_MEMORY,
                       "%s: its OpenBLAS needs 128 MiB more address space: raise the limit (ulimit -v)",
                       path);
    }
    take_functions(m, p);
    m->takes_turns = p->desc->kind == DS_KIND_OPTIMIZER && ds_blas_lacks_locks(handle);
    return 0;
}

/* ---- files of other languages ---- */

typedef const ds_plugin *(DS_CALL *query_function)(uint32_t major, uint32_t minor,
                                                   ds_adapter_request *request);

static int load_adapter(const char *adapter, query_function *out, ds_error *e)
{
    void *handle = dlopen(adapter, RTLD_NOW | RTLD_LOCAL);
    void *at = handle != NULL ? dlsym(handle, "ds_adapter_query") : NULL;
    if (handle == NULL) {
        const char *why = dlerror();
        return ds_fail(e, DS_EXIT_PLUGIN, "the adapter cannot be loaded: %s", why != NULL ? why : adapter);
    }
    if (at == NULL) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: no function ds_adapter_query: not an adapter", adapter);
    }
    memcpy(out, &at, sizeof *out);
    return 0;
}

int ds_loader_ask_adapter(const char *path, const ds_plugin **out, ds_error *e)
{
    char adapter[PATH_MAX], why[512] = "";
    ds_object_path o;
    query_function query = NULL;
    if (!ds_plugin_adapted(path, &o) || !ds_plugin_adapter(o.ending, adapter)) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: no adapter on the plugin path serves such files", path);
    }
    int rc = load_adapter(adapter, &query, e);
    if (rc != 0) {
        return rc;
    }
    ds_adapter_request q = {
        .struct_size = sizeof q, .file = o.file, .object = o.object, .error = why, .room = sizeof why};
    *out = query(DS_ABI_MAJOR, DS_ABI_MINOR, &q);
    why[sizeof why - 1] = '\0';
    ds_text_clean(why);
    return *out != NULL ? 0
           : why[0] != '\0'
               ? ds_fail(e, DS_EXIT_PLUGIN, "%s", why)
               : ds_fail(e, DS_EXIT_PLUGIN, "%s: %s makes no plugin of this file and gives no reason", path,
                         adapter);
}

/* load() for a file of another language. */
static int load_adapted(const char *path, ds_module *m, ds_error *e)
{
    const ds_plugin *theirs = NULL;
    ds_plugin *p = NULL;
    int status = ds_loader_ask_adapter(path, &theirs, e);
    status = status != 0 ? status : ds_plugin_accept(theirs, NULL, path, &p, e);
    if (status == 0) {
        take_functions(m, p);
    }
    return status;
}

/* ---- modules ---- */

static void drop(ds_module *m)
{
    if (m != NULL) {
        free(m->path);
        free(m->id);
    }
    free(m);
}

static ds_module *new_module(const ds_plugin_file *f, ds_error *e)
{
    ds_module *m = calloc(1, sizeof *m);
    ds_module **grown = realloc(modules, (module_count + 1) * sizeof *modules);
    modules = grown != NULL ? grown : modules;
    if (m != NULL && grown != NULL && (m->path = strdup(f->path)) != NULL &&
        (m->id = strdup(f->id)) != NULL) {
        m->own = ds_plugin_is_own(f);
        return m;
    }
    drop(m);
    ds_no_memory(e);
    return NULL;
}

/* Keeps a new module, or frees it where `status` is not 0. */
static int keep(ds_module *m, int status, const ds_module **out)
{
    if (status != 0) {
        drop(m);
        return status;
    }
    char *id = strdup(m->plugin->desc->id); /* without the "lib" of the file name */
    if (id != NULL) {
        free(m->id);
        m->id = id;
    }
    *out = modules[module_count++] = m;
    return 0;
}

static const ds_module *find(const char *path, int loaded)
{
    for (size_t i = 0; i < module_count; i++) {
        if (strcmp(modules[i]->path, path) == 0 &&
            (!loaded || modules[i]->env.create != NULL || modules[i]->opt.create != NULL)) {
            return modules[i];
        }
    }
    return NULL;
}

const ds_module *ds_loader_known(const char *path)
{
    pthread_mutex_lock(&lock);
    const ds_module *m = find(path, 0);
    pthread_mutex_unlock(&lock);
    return m;
}

int ds_loader_load(const ds_plugin_file *f, const ds_module **out, ds_error *e)
{
    ds_object_path o;
    int status = 0;
    pthread_mutex_lock(&lock);
    *out = find(f->path, 1);
    if (*out == NULL) {
        ds_module *m = new_module(f, e);
        status = m == NULL                        ? DS_EXIT_MEMORY
                 : ds_plugin_adapted(f->path, &o) ? keep(m, load_adapted(f->path, m, e), out)
                                                  : keep(m, load(f->path, f->id, m, e), out);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

int ds_loader_of_kind(const char *name, const ds_module *m, uint32_t kind, const ds_module **out, ds_error *e)
{
    if (kind != 0 && m->plugin->desc->kind != kind) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s is an %s, but an %s is expected here", name,
                       ds_kind_name(m->plugin->desc->kind), ds_kind_name(kind));
    }
    *out = m;
    return 0;
}

int ds_loader_open(const char *name, uint32_t kind, const ds_module **out, ds_error *e)
{
    ds_plugin_file f;
    const ds_module *m = NULL;
    int status = ds_plugin_find(name, kind, &f, e);
    status = status != 0 ? status : ds_loader_load(&f, &m, e);
    return status != 0 ? status : ds_loader_of_kind(name, m, kind, out, e);
}

/* ---- turns: one optimizer computes at a time ---- */

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

void ds_module_begin(const ds_module *m)
{
    if (m != NULL && m->takes_turns) {
        pthread_mutex_lock(&turn);
    }
}

void ds_module_end(const ds_module *m)
{
    if (m != NULL && m->takes_turns) {
        pthread_mutex_unlock(&turn);
    }
}

/* ---- descriptions for and from other processes ---- */

/* A report: error, name of the BLAS, descriptor. */
enum { REPORT_HEAD = sizeof(ds_error) + sizeof(((ds_module *)0)->blas) };

void *ds_loader_report(const ds_module *m, const ds_error *why, size_t *size)
{
    const ds_error none = {0, ""};
    size_t length = 0;
    char *desc = m != NULL ? ds_descriptor_pack(m->plugin->desc, &length) : NULL;
    char *bytes = m == NULL || desc != NULL ? calloc(1, REPORT_HEAD + length) : NULL;
    if (bytes != NULL) {
        memcpy(bytes, m != NULL ? &none : why, sizeof *why);
        if (m != NULL) {
            memcpy(bytes + sizeof *why, m->blas, sizeof m->blas);
            memcpy(bytes + REPORT_HEAD, desc, length);
        }
        *size = REPORT_HEAD + length;
    }
    free(desc);
    return bytes;
}

static int damaged(const ds_plugin_file *f, ds_error *e)
{
    return ds_fail(e, DS_EXIT_PLUGIN, "%s: the worker's description of the plugin is damaged", f->path);
}

int ds_loader_receive(const void *bytes, size_t size, const ds_plugin_file *f, const ds_module **out,
                      ds_error *e)
{
    ds_error why;
    ds_object_path o;
    ds_plugin *p = NULL;
    if (size < REPORT_HEAD) {
        return damaged(f, e);
    }
    memcpy(&why, bytes, sizeof why);
    if (why.status != 0) {
        why.text[sizeof why.text - 1] = '\0';
        return ds_fail(e, why.status, "%s", why.text);
    }
    int status = ds_descriptor_unpack((const char *)bytes + REPORT_HEAD, size - REPORT_HEAD, &p, e);
    if (status != 0) {
        return status == DS_EXIT_MEMORY ? status : damaged(f, e);
    }
    status = ds_desc_accept(p->desc, ds_plugin_adapted(f->path, &o) ? NULL : f->id, f->path, e);
    if (status == 0 && p->desc->kind != DS_KIND_ENV && p->desc->kind != DS_KIND_OPTIMIZER) {
        status = damaged(f, e);
    }
    pthread_mutex_lock(&lock);
    const ds_module *known = status == 0 ? find(f->path, 0) : NULL; /* another thread was faster */
    ds_module *m = status == 0 && known == NULL ? new_module(f, e) : NULL;
    if (known != NULL) {
        ds_descriptor_free(p);
        *out = known;
    } else if (m != NULL) {
        m->plugin = p;
        memcpy(m->blas, (const char *)bytes + sizeof why, sizeof m->blas - 1);
        ds_text_clean(m->blas);
        status = keep(m, 0, out);
    } else {
        ds_descriptor_free(p);
        status = status != 0 ? status : DS_EXIT_MEMORY;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

int ds_loader_died(const char *path, int status, ds_error *e)
{
    static const char what[] = "its start-up code ended the process with";
    return WIFSIGNALED(status)
               ? ds_fail(e, DS_EXIT_PLUGIN, "%s: %s signal %d (%s)", path, what, WTERMSIG(status),
                         strsignal(WTERMSIG(status)))
               : ds_fail(e, DS_EXIT_PLUGIN, "%s: %s exit status %d", path, what, WEXITSTATUS(status));
}
