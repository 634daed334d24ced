/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_doctor.c - `dshost doctor`: versions, processor, limits, plugin path and a write test, for bug reports;
 * for folders, whether every row of their records is intact. */
#include "config.h"

#include <cairo.h>
#include <dirent.h>
#include <diffsim/ext/steps.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include "arithmetic/arithmetic.h"
#include "base/json_text.h"
#include "base/program.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "plugin/descriptor.h"
#include "catalog/catalog.h"
#include "store/run_folder.h"
#include "store/store.h"

static void add(json_t *o, const char *key, const char *text)
{
    json_object_set_new(o, key, ds_json_text(text));
}

static void processor(json_t *o)
{
    char model[300];
    ds_processor_name(model, sizeof model);
    add(o, "processor", model);
    json_object_set_new(o, "processors", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
    json_object_set_new(o, "memory_mb",
                        json_integer(sysconf(_SC_PHYS_PAGES) / 1024 * (sysconf(_SC_PAGESIZE) / 1024)));
    add(o, "instructions", ds_instruction_set());
}

static void limit(json_t *o, const char *key, int which)
{
    struct rlimit r;
    if (getrlimit(which, &r) == 0 && r.rlim_cur != RLIM_INFINITY) {
        json_object_set_new(o, key, json_integer((json_int_t)r.rlim_cur));
    } else {
        add(o, key, "none");
    }
}

/* Where the parts of diffsim were found: those of this program, or others that take precedence. */
static int parts(json_t *o)
{
    char path[PATH_MAX + 32];
    static const char *const programs[] = {"dshost", "dshost-worker", "dshost-picture"};
    int missing = 0;
    if (ds_installation_build_tree(path)) {
        add(o, "build_tree", path);
    } else {
        add(o, "installation",
            ds_installation_folder(DS_INSTALLED_PLUGINS, path) ? "as a whole, found from this program"
                                                               : "where it was configured to be");
    }
    for (int k = 0; k < 3; k++) {
        ds_error e = {0};
        const int found = ds_program_find(programs[k], path, &e) == 0;
        add(o, programs[k] + (k > 0 ? strlen("dshost-") : 0), found ? path : e.text);
        missing += !found;
    }
    if (ds_installation_build_tree(path)) {
        strcat(path, "/tools/ranks/.libs");
    } else {
        ds_installation_folder(DS_INSTALLED_MODULES, path);
    }
    strcat(path, "/ranks_mpi.so");
    add(o, "mpi_module", access(path, F_OK) == 0 ? path : "none: built without MPI");
    return missing;
}

/* Can files be created where results go? */
static int write_test(json_t *o)
{
    char name[] = "dshost-doctor-XXXXXX";
    int fd = mkstemp(name);
    if (fd < 0) {
        char text[200];
        snprintf(text, sizeof text, "failed: %s", strerror(errno));
        add(o, "write_here", text);
        return 1;
    }
    close(fd);
    unlink(name);
    add(o, "write_here", "ok");
    return 0;
}

enum { DIFFERENT_BLAS = 4 };

static size_t add_blas(const char *blas[DIFFERENT_BLAS], size_t kinds, const char *name)
{
    int new = name[0] != '\0' && kinds < DIFFERENT_BLAS;
    for (size_t k = 0; k < kinds; k++) {
        new = new &&strcmp(blas[k], name) != 0;
    }
    if (new) {
        blas[kinds] = name;
    }
    return kinds + (size_t) new;
}

/* What the bits of results depend on here. */
static void describe_arithmetic(json_t *o, const char *const *blas, size_t kinds)
{
    char text[DS_ARITHMETIC_ROOM], set[2000];
    ds_arithmetic_describe(blas, kinds, text);
    ds_arithmetic_variables(set, sizeof set);
    add(o, "arithmetic", text);
    add(o, "portable", ds_portable_on() ? "on" : "off");
    add(o, "variables", set[0] != '\0' ? set : "none");
    for (size_t k = 0; k < kinds; k++) {
        const char *better = ds_arithmetic_better_kernels(blas[k]);
        if (better != NULL) {
            snprintf(text, sizeof text,
                     "%s: this OpenBLAS does not know the processor and takes its kernels for old ones; bo, "
                     "boleap, racer and turbo take about half the time with: export OPENBLAS_CORETYPE=%s",
                     blas[k], better);
            add(o, "slow_kernels", text);
        }
    }
}

/* The number of problems with plugins. */
static int plugins(json_t *o)
{
    ds_found *list = NULL;
    size_t count = 0;
    int refused = 0;
    ds_error e = {0};
    json_t *path = json_array(), *bad = json_array();
    const char *const *dirs = ds_loader_path();

    json_t *missing = json_array();
    const char *blas[DIFFERENT_BLAS] = {NULL};
    size_t kinds = 0;
    for (int i = 0; dirs[i] != NULL; i++) {
        json_array_append_new(access(dirs[i], F_OK) == 0 ? path : missing, ds_json_text(dirs[i]));
    }
    json_object_set_new(o, "plugin_path", path);
    json_object_set_new(o, "not_there", missing);
    size_t stepwise = 0;
    if (ds_loader_list(&list, &count, &e) == 0) {
        for (size_t i = 0; i < count; i++) {
            if (list[i].module == NULL) {
                json_array_append_new(bad, json_string(list[i].refusal));
                refused++;
            } else {
                kinds = add_blas(blas, kinds, list[i].module->blas);
                stepwise += !list[i].shadowed && ds_desc_offers(list[i].module->plugin->desc, DS_EXT_STEPS);
            }
        }
    }
    describe_arithmetic(o, blas, kinds);
    json_object_set_new(o, "plugins", json_integer((json_int_t)count - refused));
    json_object_set_new(o, "plugins_with_rl", json_integer((json_int_t)stepwise));
    json_object_set_new(o, "plugins_refused", bad);
    ds_found_free(list, count);
    return refused + (count == 0);
}

/* Prints one line about the record of a run or landscape. Returns whether something is wrong. */
static int report_record(const char *folder, const char *name, json_t *list)
{
    ds_store *s = NULL;
    ds_error why = {0, ""};
    uint64_t count = 0;
    char *text = NULL, *path = ds_folder_path(folder, name);
    int rc = path == NULL ? ds_no_memory(&why) : ds_store_open(path, DS_STORE_READ, &s, &why);
    const int old = rc == 0 && ds_store_format(s) == 1;
    rc = rc != 0 ? rc : ds_store_verify(s, &why);
    rc = rc != 0 ? rc : ds_store_count(s, &count, &why);
    ds_store_close(s, NULL);
    if (asprintf(&text, "%s: %" PRIu64 " evaluations, %s", folder, count,
                 old ? "store format 1: without checksums, so damage in numbers goes unnoticed" : "intact") <
        0) {
        text = NULL;
    }
    json_array_append_new(list, ds_json_text(rc != 0 ? why.text : text != NULL ? text : folder));
    free(text);
    free(path);
    return rc != 0;
}

static int is_visible(const struct dirent *item)
{
    return item->d_name[0] != '.';
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Results of reading records. */
typedef struct findings {
    json_t *list; /* one line per record */
    size_t found; /* records */
    int damaged;  /* of these, damaged */
    ds_error *e;  /* the first folder that is unreadable or has no record */
} findings;

static void refuse_folder(findings *f, const char *folder, const char *why)
{
    ds_error here = {0, ""};
    ds_fail(&here, DS_EXIT_IO, "%s%s", folder, why);
    json_array_append_new(f->list, ds_json_text(here.text));
    if (f->e->status == 0) {
        *f->e = here;
    }
}

/* Reads the records in a folder, at any depth. Continues after unreadable ones. */
static void read_folder(findings *f, const char *folder, int depth)
{
    enum { DEPTH_MAX = 16 };
    static const char *const records[] = {"landscape.sqlite", "run.sqlite"};
    for (size_t k = 0; k < sizeof records / sizeof records[0]; k++) {
        if (ds_folder_has(folder, records[k])) {
            f->found++;
            f->damaged += report_record(folder, records[k], f->list);
        }
    }
    struct dirent **item = NULL;
    const int count = depth < DEPTH_MAX ? scandir(folder, &item, is_visible, by_name) : 0;
    if (count < 0) {
        char why[160];
        snprintf(why, sizeof why, ": %s", strerror(errno));
        refuse_folder(f, folder, why);
    }
    for (int i = 0; i < count; i++) {
        struct stat st;
        char *path = ds_folder_path(folder, item[i]->d_name);
        if (path != NULL && lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
            read_folder(f, path, depth + 1);
        }
        free(path);
        free(item[i]);
    }
    free(item);
}

/* The number of damaged records; *e: a folder is unreadable or has none. */
static int records(json_t *o, char *const *folders, int count, ds_error *e)
{
    findings f = {.list = json_array(), .e = e};
    for (int i = 0; i < count; i++) {
        const size_t before = f.found, lines = json_array_size(f.list);
        read_folder(&f, folders[i], 0);
        if (f.found == before && json_array_size(f.list) == lines) {
            refuse_folder(&f, folders[i], " holds no run and no landscape (no record at any depth)");
        }
    }
    json_object_set_new(o, "records", f.list);
    return f.damaged;
}

static void print_text(const json_t *o)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)o, key, v)
    {
        if (json_is_string(v)) {
            printf("%-16s %s\n", key, json_string_value(v));
        } else if (json_is_integer(v)) {
            printf("%-16s %lld\n", key, (long long)json_integer_value(v));
        } else {
            size_t i;
            json_t *item;
            if (json_array_size(v) == 0) {
                printf("%-16s none\n", key);
            }
            json_array_foreach(v, i, item)
            {
                printf("%-16s %s\n", i == 0 ? key : "", json_string_value(item));
            }
        }
    }
}

static int wants_environment(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--env") == 0 || strncmp(argv[i], "--env=", strlen("--env=")) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Problems of an environment show in its landscape: hands over to `dshost landscape --advise`. */
static int examine_environment(int argc, char **argv, ds_error *e)
{
    char path[PATH_MAX], advise[] = "--advise", *program = path;
    int rc = ds_program_find("dshost-landscape", path, e);
    char **arguments = rc == 0 ? calloc((size_t)argc + 2, sizeof *arguments) : NULL;
    if (rc != 0 || arguments == NULL) {
        return rc != 0 ? rc : ds_no_memory(e);
    }
    arguments[0] = program;
    memcpy(arguments + 1, argv + 1, (size_t)(argc - 1) * sizeof *arguments);
    arguments[argc] = advise;
    execv(path, arguments);
    free(arguments);
    return ds_fail(e, DS_EXIT_IO, "cannot start %.200s: %s", path, strerror(errno));
}

static int command(int argc, char **argv, ds_error *e)
{
    static const char usage[] =
        "usage: dshost doctor [DIR...] [--json] [--portable]\n       dshost doctor --env E [OPTIONS]      "
        "describe the loss of E and advise what to try:\n                                            dshost "
        "landscape --env E --advise [OPTIONS]\nPrints versions, processor, limits and plugins for bug "
        "reports; exit status 1 if something is wrong.\nFor folders, reads every row of their runs and "
        "landscapes, and reports which records are damaged, and which have no\nchecksums; exit status 6 if a "
        "record is damaged, or a folder is unreadable or has none.\n  --json       print one JSON object\n  "
        "--portable   print the variables that a program needs for portable mode:\n               env "
        "$(dshost doctor --portable) PROGRAM\n";
    struct utsname u;
    char text[300];
    int json = 0, portable = 0;
    if (wants_environment(argc, argv)) {
        return examine_environment(argc, argv, e);
    }
    const ds_flag flags[] = {
        {"json", .set = &json}, {"portable", .set = &portable}, {"help", .usage = usage}, {0}};
    int rc = ds_arguments_read(argc, argv, "doctor", flags, argc, NULL, e);
    if (rc != 0) {
        return rc;
    }
    if (portable) {
        for (size_t k = 0; ds_portable_variable(k) != NULL; k++) {
            printf("%s\n", ds_portable_variable(k));
        }
        return ds_stdout_done(e);
    }
    json_t *o = json_object();
    snprintf(text, sizeof text, "%s, plugin ABI %u.%u", PACKAGE_VERSION, DS_ABI_MAJOR, DS_ABI_MINOR);
    add(o, "version", text);
    add(o, "compiler", __VERSION__);
#ifdef DS_SANITIZERS
    add(o, "sanitizers", DS_SANITIZERS);
#endif
    if (uname(&u) == 0) {
        snprintf(text, sizeof text, "%s %s %s", u.sysname, u.release, u.machine);
        add(o, "system", text);
    }
    add(o, "glibc", gnu_get_libc_version());
    add(o, "sqlite", sqlite3_libversion());
    add(o, "cairo", cairo_version_string());
    add(o, "jansson", jansson_version_str());
    add(o, "zlib", zlibVersion());
    processor(o);
    limit(o, "limit_as", RLIMIT_AS);
    limit(o, "limit_fsize", RLIMIT_FSIZE);
    limit(o, "limit_nproc", RLIMIT_NPROC);
    limit(o, "limit_nofile", RLIMIT_NOFILE);
    int bad = parts(o) + plugins(o) + write_test(o);
    int damaged = optind < argc ? records(o, argv + optind, argc - optind, e) : 0;
    const ds_error folders = *e;
    *e = (ds_error){0, ""};
    if (json) {
        rc = ds_json_write(o, stdout, "standard output", e);
    } else {
        print_text(o);
    }
    json_decref(o);
    rc = rc != 0 ? rc : ds_stdout_done(e);
    if (rc == 0 && damaged > 0) {
        rc = ds_fail(e, DS_EXIT_IO, "%d record%s damaged or unreadable, see `records`", damaged,
                     damaged == 1 ? " is" : "s are");
    } else if (rc == 0 && folders.status != 0) {
        *e = folders;
        rc = e->status;
    }
    return rc != 0 ? rc : bad > 0 ? DS_EXIT_UNMET : DS_EXIT_OK;
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
