/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_doctor.c - `dshost doctor`: versions, processor, limits, plugin path and a write test,
 * for bug reports. */
#include "config.h"

#include <cairo.h>
#include <diffsim/ext/rl.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include "base/json_text.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "plugin/descriptor.h"
#include "catalog/plugin_list.h"

static void add(json_t *o, const char *key, const char *text)
{
    json_object_set_new(o, key, ds_json_text(text));
}

static void processor(json_t *o)
{
    char line[512], model[300] = "unknown";
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':') != NULL) {
            snprintf(model, sizeof model, "%s", strchr(line, ':') + 2);
            model[strcspn(model, "\n")] = '\0';
            break;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    add(o, "processor", model);
    json_object_set_new(o, "processors", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
    json_object_set_new(o, "memory_mb",
                        json_integer(sysconf(_SC_PHYS_PAGES) / 1024 * (sysconf(_SC_PAGESIZE) / 1024)));
#if defined(__x86_64__)
    __builtin_cpu_init();
    add(o, "instructions",
        __builtin_cpu_supports("avx512f") ? "avx512"
        : __builtin_cpu_supports("avx2")  ? "avx2"
                                          : "baseline");
#endif
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

/* Can a file be made where results go? */
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

/* The number of things that are wrong with the plugins. */
static int plugins(json_t *o)
{
    ds_found *list = NULL;
    size_t count = 0;
    int refused = 0;
    ds_error e = {0};
    json_t *path = json_array(), *bad = json_array();
    const char *const *dirs = ds_loader_path();

    json_t *missing = json_array();
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
                stepwise += !list[i].shadowed && ds_desc_offers(list[i].module->plugin->desc, DS_EXT_RL);
            }
        }
    }
    json_object_set_new(o, "plugins", json_integer((json_int_t)count - refused));
    json_object_set_new(o, "plugins_with_rl", json_integer((json_int_t)stepwise));
    json_object_set_new(o, "plugins_refused", bad);
    ds_found_free(list, count);
    return refused + (count == 0);
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

static int command(int argc, char **argv, ds_error *e)
{
    static const char usage[] =
        "usage: dshost doctor [--json]\n"
        "Prints versions, processor, limits and plugins for reports; exit status 1 where "
        "something is wrong.\n"
        "  --json       one object\n";
    struct utsname u;
    char text[300];
    int json = 0;
    const ds_flag flags[] = {{"json", .set = &json}, {"help", .usage = usage}, {0}};
    int rc = ds_arguments_read(argc, argv, "doctor", flags, -1, NULL, e);
    rc = rc != 0 ? rc : ds_arguments_end(argc, argv, "doctor", e);
    if (rc != 0) {
        return rc;
    }
    json_t *o = json_object();
    snprintf(text, sizeof text, "%s, plugin ABI %u.%u", PACKAGE_VERSION, DS_ABI_MAJOR, DS_ABI_MINOR);
    add(o, "dshost", text);
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
    int bad = plugins(o) + write_test(o);
    if (json) {
        rc = ds_json_write(o, stdout, "standard output", e);
    } else {
        print_text(o);
    }
    json_decref(o);
    rc = rc != 0 ? rc : ds_stdout_done(e);
    return rc != 0 ? rc : bad > 0 ? DS_EXIT_UNMET : DS_EXIT_OK;
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
