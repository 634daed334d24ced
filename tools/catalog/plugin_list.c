/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_list.c - lists plugins. Each is loaded in a child process: one that crashes or hangs in its
 * start-up code costs a line of the list, not the program. */
#include "config.h"

#include "catalog/plugin_list.h"

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

/* Memory that both processes see; a file would have to do with limits of file sizes. */
typedef struct letter {
    size_t size; /* 0 = the child has ended before it wrote */
    char bytes[DS_REPORT_MAX];
} letter;

/* In the child: loads a file and leaves what it is in the letter. */
static void load(const ds_plugin_file *f, letter *out)
{
    const ds_module *m = NULL;
    ds_error why = {0, ""};
    size_t size = 0;
    int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    alarm(SECONDS);
    ds_loader_load(f, &m, &why);
    void *report = ds_loader_report(m, &why, &size);
    if (report != NULL && size <= sizeof out->bytes) {
        memcpy(out->bytes, report, size);
        out->size = size;
    }
    _exit(0);
}

static int describe_file(const ds_plugin_file *f, const ds_module **out, ds_error *e)
{
    int end = 0, status = 0;
    if ((*out = ds_loader_known(f->path)) != NULL) {
        return 0;
    }
    letter *l =
        mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    pid_t child = l != MAP_FAILED ? fork() : -1;
    if (child == 0) {
        load(f, l);
    }
    if (child < 0 || waitpid(child, &end, 0) != child) {
        status = ds_fail(e, DS_EXIT_MEMORY, "%s: no process to load it: %s", f->path, strerror(errno));
    } else if (l->size == 0 || l->size > sizeof l->bytes) {
        status = ds_loader_died(f->path, end, e);
    } else {
        status = ds_loader_receive(l->bytes, l->size, f, out, e);
    }
    if (l != MAP_FAILED) {
        munmap(l, sizeof *l);
    }
    return status;
}

int ds_loader_describe(const char *name, uint32_t kind, const ds_module **out, ds_error *e)
{
    ds_plugin_file f;
    const ds_module *m = NULL;
    int status = ds_plugin_find(name, kind, &f, e);
    status = status != 0 ? status : describe_file(&f, &m, e);
    return status != 0 ? status : ds_loader_of_kind(name, m, kind, out, e);
}

/* ---- listing ---- */

static int list_file(const char *dir, const char *file, ds_found **list, size_t *count, ds_error *e)
{
    char path[PATH_MAX];
    struct stat st, other;
    ds_plugin_file found;
    ds_error why = {0};
    ds_found new = {0};
    int n = (int)strlen(file) - 3;

    if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, file) >= sizeof path || stat(path, &st) != 0) {
        return 0;
    }
    for (size_t i = 0; i < *count; i++) {
        const ds_found *f = &(*list)[i];
        if (strncmp(f->id, file, (size_t)n) == 0 && f->id[n] == '\0') {
            if (stat(f->path, &other) == 0 && other.st_ino == st.st_ino && other.st_dev == st.st_dev) {
                return 0; /* the same file through another folder or link */
            }
            new.shadowed = 1;
        }
    }
    ds_found *grown = realloc(*list, (*count + 1) * sizeof **list);
    *list = grown != NULL ? grown : *list;
    new.path = strdup(path);
    new.id = strndup(file, (size_t)n);
    if (grown == NULL || new.path == NULL || new.id == NULL) {
        free(new.path);
        free(new.id);
        return ds_no_memory(e);
    }
    if (ds_plugin_file_of(path, &found, &why) != 0 || describe_file(&found, &new.module, &why) != 0) {
        snprintf(new.refusal, sizeof new.refusal, "%s", why.text);
    } else {
        new.kind = new.module->plugin->desc->kind;
    }
    grown[(*count)++] = new;
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
            status = status != 0 ? status : list_file(path[i], names[k], out, count, e);
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
