/* SPDX-License-Identifier: Apache-2.0 */
/* check_load.c - conformance of the file, of loading it, and of its descriptor. */
#include "config.h"

#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "check/check_tests.h"
#include "harness/check_process.h"
#include "config/params.h"
#include "plugin/descriptor.h"
#include "plugin/elf_file.h"
#include "plugin/instance.h"

/* Limit for the processor time of loading, seconds: `dshost list` loads every plugin on the path. */
#ifdef DS_SANITIZERS
static const double LOAD_SECONDS = 3;
#else
static const double LOAD_SECONDS = 0.5;
#endif

static const uint32_t KNOWN_FLAGS = DS_PARAM_REQUIRED | DS_PARAM_ADVANCED | DS_PARAM_SHAPE | DS_PARAM_LOG;

typedef const ds_plugin *query_function(uint32_t major, uint32_t minor);

int ds_check_load(ds_check *c)
{
    ds_error e = {0};
    if (ds_loader_open(c->options->path, 0, &c->module, &e) != 0) {
        ds_check_fail(c, "%s", e.text);
        return 0;
    }
    const ds_offer host = {.who = "this host", .advice = "it cannot be used here"};
    if (c->module->plugin->desc->kind == DS_KIND_ENV &&
        ds_need_check(c->module->plugin->desc, &host, &e) != 0) {
        ds_check_fail(c, "%s", e.text);
        ds_check_hint(c, "list in `needs` only what the plugin cannot work without, and the rest in `uses`");
        return 0;
    }
    return 1;
}

/* Reports wrong --set arguments at once: a misspelt parameter would fail every test. Missing required
 * parameters are left to the tests. */
static void check_settings(ds_check *c)
{
    const ds_desc *d = c->module->plugin->desc;
    int own = d->kind == DS_KIND_ENV ? DS_SECTION_ENV : DS_SECTION_OPT;
    ds_params *params = NULL;
    ds_error e = {0};
    for (int k = 0; k < DS_SECTIONS && e.status == 0; k++) {
        const ds_section *s = &c->options->settings.section[k];
        if (k != own && s->count > 0) {
            ds_fail(&e, DS_EXIT_CONFIG, "%s: %s is an %s: only parameters of [%s] can be set here",
                    s->item[0].origin, d->id, d->kind == DS_KIND_ENV ? "environment" : "optimizer",
                    ds_section_names[own]);
        }
    }
    for (size_t i = 0; own == DS_SECTION_ENV && ds_expect_schema[i] != NULL && e.status == 0; i++) {
        const ds_setting *s = ds_settings_find(&c->options->settings, own, ds_expect_schema[i]->name);
        if (s != NULL) {
            ds_fail(&e, DS_EXIT_CONFIG,
                    "%s: the host averages episodes, not the plugin, which is tested here: leave it out",
                    s->origin);
        }
    }
    if (e.status == 0 && c->options->settings.section[own].count > 0) {
        ds_params_make(d->params, d->id, &c->options->settings, own, &params, &e);
    }
    if (e.status != 0) {
        ds_check_record(c, DS_CHECK_REFUSED, e.text);
    }
    ds_params_free(params);
}

void ds_check_describe(ds_check *c)
{
    const ds_desc *d = c->module->plugin->desc;
    char text[128];
    snprintf(text, sizeof text, "%u %llu %s", d->kind, (unsigned long long)d->flags, d->id);
    ds_check_record(c, DS_CHECK_KIND, text);
    check_settings(c);
}

/* A file in another language, made into a plugin by an adapter, is not a shared object. */
static int is_adapted(ds_check *c)
{
    ds_object_path o;
    const int adapted = ds_plugin_adapted(c->options->path, &o);
    if (adapted) {
        ds_check_skip(c, "not a shared object: the adapter for .%s files loads it", o.ending);
    }
    return adapted;
}

/* Is the file a shared object that dlopen() can be tried on? With a damaged one it could end the process.
 * Else skips the test. */
static int openable(ds_check *c)
{
    ds_elf elf;
    ds_error e = {0};
    if (is_adapted(c)) {
        return 0;
    }
    if (ds_elf_read(c->options->path, &elf, DS_EXIT_PLUGIN, &e) != 0) {
        ds_check_skip(c, "the file cannot be loaded, see load.file");
        return 0;
    }
    ds_elf_clear(&elf);
    return 1;
}

/* dlopen() and the address of ds_plugin_query, without the host's own tests; NULL, with the reason in `why`,
 * if that fails. */
static query_function *raw_open(const char *path, char *why, size_t size)
{
    char full[PATH_MAX];
    query_function *query = NULL;
    Dl_info where;
    struct stat a, b;

    why[0] = '\0';
    if (realpath(path, full) == NULL) {
        snprintf(why, size, "cannot be opened");
        return NULL;
    }
    void *handle = dlopen(full, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        const char *text = dlerror();
        snprintf(why, size, "%s", text != NULL ? text : "dlopen failed");
        return NULL;
    }
    void *symbol = dlsym(handle, "ds_plugin_query");
    if (symbol == NULL) {
        snprintf(why, size, "it has no function ds_plugin_query");
    } else if (dladdr(symbol, &where) == 0 || where.dli_fname == NULL || stat(where.dli_fname, &a) != 0 ||
               stat(full, &b) != 0 || a.st_ino != b.st_ino || a.st_dev != b.st_dev) {
        snprintf(why, size, "ds_plugin_query is not in the file itself but in a library that it links");
    } else {
        memcpy(&query, &symbol, sizeof query);
    }
    return query;
}

/* Calls ds_plugin_query(). 0 = the test is skipped, since an earlier one reports why. */
static int query_plugin(ds_check *c, const ds_plugin **out)
{
    char why[512];
    ds_object_path o;
    ds_error e = {0};
    if (ds_plugin_adapted(c->options->path, &o)) {
        const int told = ds_loader_ask_adapter(c->options->path, out, &e) == 0;
        if (!told) {
            ds_check_skip(c, "it cannot be loaded, see load.host");
        }
        return told;
    }
    query_function *query = openable(c) ? raw_open(c->options->path, why, sizeof why) : NULL;
    if (query == NULL) {
        ds_check_skip(c, "it cannot be loaded, see load.open");
        return 0;
    }
    *out = query(DS_ABI_MAJOR, DS_ABI_MINOR);
    return 1;
}

/* ---- tests: the file ---- */

static void test_file(ds_check *c)
{
    ds_elf elf;
    ds_error e = {0};
    if (is_adapted(c)) {
        return;
    }
    if (ds_elf_read(c->options->path, &elf, DS_EXIT_PLUGIN, &e) != 0) {
        ds_check_fail(c, "%s", e.text);
        ds_check_hint(c, "build it with: cc -O2 -fPIC -shared -fvisibility=hidden $(pkg-config --cflags "
                         "diffsim) -o ID.so ID.c -lm");
        return;
    }
    size_t named = elf.exported_count < DS_ELF_NAMES ? elf.exported_count : DS_ELF_NAMES;
    int found = 0;
    for (size_t i = 0; i < named; i++) {
        if (elf.exported[i] == NULL) {
            continue;
        }
        int is_query = strcmp(elf.exported[i], "ds_plugin_query") == 0;
        found |= is_query;
        if (!is_query) {
            ds_check_fail(c, "exports the symbol %s", elf.exported[i]);
            ds_check_hint(c, "compile with -fvisibility=hidden and make every other function static: a "
                             "plugin exports only ds_plugin_query");
        }
    }
    if (!found) {
        ds_check_fail(c, "does not export ds_plugin_query (%zu symbols are exported)", elf.exported_count);
        ds_check_hint(c, "use DS_DEFINE_ENV or DS_DEFINE_OPTIMIZER, or mark the function DS_EXPORT");
    }
    if (elf.text_relocations) {
        ds_check_fail(c, "has text relocations");
        ds_check_hint(c, "compile every part of it with -fPIC");
    }
    if (elf.executable_stack) {
        ds_check_fail(c, "has an executable stack");
        ds_check_hint(c, "caused by nested functions of GCC, or by assembler files without .note.GNU-stack; "
                         "link with -z noexecstack");
    }
    ds_elf_clear(&elf);
}

static void test_open(ds_check *c)
{
    char why[512];
    if (openable(c) && raw_open(c->options->path, why, sizeof why) == NULL) {
        ds_check_fail(c, "%s", why);
        ds_check_hint(c, "link every library that is used: the host exports no symbols to plugins");
    }
}

static void load_once(const ds_check *c)
{
    char why[512];
    query_function *query = raw_open(c->options->path, why, sizeof why);
    if (query != NULL) {
        query(DS_ABI_MAJOR, DS_ABI_MINOR);
    }
}

static void test_quick(ds_check *c)
{
    struct timespec t[2];
    if (!openable(c)) {
        return;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t[0]);
    load_once(c);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t[1]);
    double s = (double)(t[1].tv_sec - t[0].tv_sec) + 1e-9 * (double)(t[1].tv_nsec - t[0].tv_nsec);
    ds_check_note(c, "%.2g ms of processor time", 1e3 * s);
    if (s > LOAD_SECONDS) {
        ds_check_fail(c, "loading took %.2g s of processor time, the limit is %.2g s", s, LOAD_SECONDS);
        ds_check_hint(c, "move work from constructors and ds_plugin_query() to create()");
    }
}

static void test_state(ds_check *c)
{
    if (!openable(c)) {
        return;
    }
    ds_process *before = ds_process_snapshot();
    load_once(c);
    ds_process *after = ds_process_snapshot();
    ds_process_compare(c, before, after, "loading");
    ds_process_compare_threads(c, before, "loading");
    free(before);
    free(after);
}

static void test_quiet(ds_check *c)
{
    if (!openable(c)) {
        return;
    }
    ds_capture *capture = ds_capture_start();
    load_once(c);
    ds_capture_end(c, capture, "loading");
}

static void test_query(ds_check *c)
{
    const ds_plugin *a = NULL, *b = NULL;
    ds_plugin copy = {0};
    if (query_plugin(c, &a) && a != NULL) {
        size_t n = a->struct_size < sizeof copy ? a->struct_size : sizeof copy;
        memcpy(&copy, a, n);
        if (!query_plugin(c, &b) || a != b || memcmp(&copy, b, n) != 0) {
            ds_check_fail(c, "two calls of ds_plugin_query() return different data");
            ds_check_hint(c, "return the address of one static constant struct");
        }
    }
}

static void test_host(ds_check *c)
{
    ds_check_load(c);
}

/* ---- tests: the descriptor ---- */

static void test_accept(ds_check *c)
{
    const ds_plugin *said = NULL;
    ds_plugin *own = NULL;
    ds_object_path o;
    ds_error e = {0};
    char id[64];
    if (!query_plugin(c, &said)) {
        return;
    }
    const char *base = strrchr(c->options->path, '/');
    base = base != NULL ? base + 1 : c->options->path;
    snprintf(id, sizeof id, "%.*s", (int)strcspn(base, "."), base);
    /* whose ids are not bound to the file name */
    const int adapted = ds_plugin_adapted(c->options->path, &o);
    if (ds_plugin_accept(said, adapted ? NULL : id, base, &own, &e) != 0) {
        ds_check_fail(c, "%s", e.text);
        ds_check_hint(c, "let DS_DEFINE_ENV or DS_DEFINE_OPTIMIZER fill ds_plugin, set every struct_size to "
                         "sizeof(T), and compile with the headers of this host");
    }
    ds_descriptor_free(own);
}

/* A copy of the plugin's data if desc.accept finds nothing wrong, else NULL; release it with
 * ds_descriptor_free(). `theirs` (may be NULL) receives the original. */
static ds_plugin *sound_plugin(ds_check *c, const ds_plugin **theirs)
{
    const ds_plugin *said = NULL;
    ds_plugin *own = NULL;
    ds_error e;
    if (query_plugin(c, &said) && ds_plugin_accept(said, NULL, "", &own, &e) != 0) {
        ds_check_skip(c, "the descriptor is invalid, see desc.accept");
    }
    if (theirs != NULL) {
        *theirs = said;
    }
    return own;
}

static int blank(const char *s)
{
    return s[strspn(s, " \t\r\n")] == '\0';
}

/* Grammar of an SPDX expression: names joined by AND, OR, WITH, with parentheses. Unknown names pass. */
static int is_spdx(const char *s)
{
    int name = 0, open = 0; /* was the last word a name? */
    while (*s != '\0') {
        if (*s == ' ') {
            s++;
        } else if (*s == '(' || *s == ')') {
            if ((*s == '(') == name) {
                return 0;
            }
            open += *s == '(' ? 1 : -1;
            if (open < 0) {
                return 0;
            }
            s++;
        } else {
            size_t n = 0;
            while (isalnum((unsigned char)s[n]) || (s[n] != '\0' && strchr("+.-:", s[n]) != NULL)) {
                n++;
            }
            int word = (n == 3 && strncmp(s, "AND", 3) == 0) || (n == 2 && strncmp(s, "OR", 2) == 0) ||
                       (n == 4 && strncmp(s, "WITH", 4) == 0);
            if (n == 0 || word != name) {
                return 0;
            }
            name = !word;
            s += n;
        }
    }
    return name && open == 0;
}

static void test_text(ds_check *c)
{
    ds_plugin *own = sound_plugin(c, NULL);
    if (own == NULL) {
        return;
    }
    const ds_desc *d = own->desc;
    if (blank(d->summary) || strchr(d->summary, '\n') != NULL || strlen(d->summary) > 100) {
        ds_check_fail(c, "summary is \"%.120s\": expected one line of 1 to 100 characters", d->summary);
        ds_check_hint(c, "say in one sentence what the plugin is: `dshost list` prints it");
    }
    if (!is_spdx(d->license)) {
        ds_check_fail(c, "license is \"%.120s\", which is not an SPDX expression", d->license);
        ds_check_hint(
            c, "examples: Apache-2.0, MIT, GPL-3.0-or-later, LicenseRef-Proprietary; see spdx.org/licenses");
    }
    if (blank(d->version)) {
        ds_check_fail(c, "version is empty");
        ds_check_hint(c, "set a version; bug reports and result folders record it: \"1\" is a good start");
    }
    for (size_t i = 0; d->params != NULL && d->params[i] != NULL; i++) {
        const ds_param *p = d->params[i];
        if (blank(p->doc)) {
            ds_check_fail(c, "parameter %s has no doc", p->name);
            ds_check_hint(c, "write one or two sentences: what it does, and what special values mean");
        }
    }
    if (blank(d->description)) {
        ds_check_note(c, "description is empty: explain in a paragraph %s",
                      d->kind == DS_KIND_ENV ? "what the variables mean and what the loss is"
                                             : "how it searches");
    }
    ds_descriptor_free(own);
}

static void test_params(ds_check *c)
{
    const ds_plugin *theirs;
    ds_plugin *own = sound_plugin(c, &theirs);
    ds_settings none = {0};
    size_t count = 0;
    if (own == NULL) {
        return;
    }
    const ds_desc *d = own->desc;
    /* One parameter at a time, so that every wrong default is reported. */
    for (size_t i = 0; d->params != NULL && d->params[i] != NULL; i++, count++) {
        const ds_param *one[2] = {d->params[i], NULL};
        ds_params *p = NULL;
        ds_error e = {0};
        if ((one[0]->flags & DS_PARAM_REQUIRED) != 0) {
            ds_check_note(c, "%s has no default: set it with --set for the tests", one[0]->name);
            continue;
        }
        if (ds_params_make(one, "", &none, DS_SECTION_ENV, &p, &e) != 0) {
            ds_check_fail(c, "%s", e.text);
            ds_check_hint(c,
                          "write the default as a user would, with the declared type and inside the range");
        }
        ds_params_free(p);
        uint32_t unknown = theirs->desc->params[i]->flags & ~KNOWN_FLAGS;
        if (unknown != 0) {
            ds_check_fail(c, "parameter %s: unknown flags %x", one[0]->name, unknown);
            ds_check_hint(c,
                          "flags are DS_PARAM_REQUIRED, _ADVANCED, _SHAPE and _LOG; all others are reserved");
        }
    }
    ds_check_note(c, "%zu parameter%s", count, count == 1 ? "" : "s");
    ds_descriptor_free(own);
}

const ds_check_test ds_check_load_tests[] = {
    {"load.file", "the file is a shared object that exports only ds_plugin_query", 0, 0, 0, test_file},
    {"load.open", "it loads with every symbol resolved and contains ds_plugin_query", 0, 0, 0, test_open},
    {"load.quick", "loading takes little time", DS_CHECK_ALONE, 0, 0, test_quick},
    {"load.state", "loading it changes nothing in the process", DS_CHECK_ALONE, 0, 0, test_state},
    {"load.quiet", "loading it prints nothing", DS_CHECK_ALONE, 0, 0, test_quiet},
    {"load.query", "ds_plugin_query() always returns the same data", 0, 0, 0, test_query},
    {"load.host", "this host accepts it", 0, 0, 0, test_host},
    {"desc.accept", "its data are complete, well-formed and of this ABI version", 0, 0, 0, test_accept},
    {"desc.text", "summary, licence, version and the parameters' docs are written", 0, 0, 0, test_text},
    {"desc.params", "every default parses and lies in its range", 0, 0, 0, test_params},
    {NULL, NULL, 0, 0, 0, NULL}};
