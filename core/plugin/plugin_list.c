/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_list.c - lists plugins. Each is loaded in a child process: one that crashes or hangs in its start-up code
 * costs a line of the list, not the program. */
#include "config.h"

#include "plugin/plugin_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 10 /* to load one */ };

/* In the child: loads a file and leaves what it is in `report`. */
static void load(const ds_plugin_file *f, int report)
{
    const ds_module *m = NULL;
    ds_error why = {0, ""};
    int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    alarm(SECONDS);
    ds_loader_load(f, &m, &why);
    _exit(ds_loader_report(report, m, &why));
}

/* The module of a file as a child process describes it. */
static int describe(const char *path, const ds_module **out, ds_error *e)
{
    ds_plugin_file f;
    int end = 0, status = ds_plugin_file_of(path, &f, e);
    if (status != 0 || (*out = ds_loader_known(f.path)) != NULL) {
        return status;
    }
    int report = memfd_create("diffsim-report", MFD_CLOEXEC);
    pid_t child = report >= 0 ? fork() : -1;
    if (child == 0) {
        load(&f, report);
    }
    if (child < 0 || waitpid(child, &end, 0) != child) {
        status = ds_fail(e, DS_EXIT_IO, "%s: no process to load it: %s", path, strerror(errno));
    } else {
        status = lseek(report, 0, SEEK_END) == 0 ? ds_loader_died(path, end, e)
                                                 : ds_loader_receive(report, &f, out, e);
    }
    if (report >= 0) {
        close(report);
    }
    return status;
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
    if (describe(path, &f->module, &why) != 0) {
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
        char *names[DS_FILES_MAX];
        size_t n = ds_plugin_files(path[i], names, 0);
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
