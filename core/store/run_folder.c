/* SPDX-License-Identifier: Apache-2.0 */
/* run_folder.c - result folders: names, run.ini, the new store, reproducer files, and the lock. */
#include "config.h"

#include "store/run_folder.h"

#include "arithmetic/arithmetic.h"
#include "base/file.h"
#include "base/text.h"
#include "config/inifile.h"
#include "store/store_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Checks every folder of a path, and creates missing ones where `make`. Folders in the first `trusted` bytes
 * may be links. */
static int go_down(const char *path, size_t trusted, int make, ds_error *e)
{
    char *copy = strdup(path);
    struct stat st;
    int rc = copy == NULL ? ds_no_memory(e) : 0, there = 1;
    for (size_t k = 0; rc == 0 && there && path[k] != '\0';) {
        k += 1 + strcspn(path + k + 1, "/");
        copy[k] = '\0';
        if (make && mkdir(copy, 0777) != 0 && errno != EEXIST) {
            rc = ds_fail(e, DS_EXIT_IO, "%s: cannot make this folder: %s", copy, strerror(errno));
        } else if (k > trusted && path[k - 1] != '/') {
            there = lstat(copy, &st) == 0;
            rc = there && !S_ISDIR(st.st_mode)
                     ? ds_fail(e, DS_EXIT_IO, "%s: %s", copy,
                               S_ISLNK(st.st_mode) ? "is a symbolic link; dshost changes nothing outside the "
                                                     "result folder: remove it"
                                                   : "is not a folder")
                     : 0;
        }
        copy[k] = path[k];
    }
    if (rc == 0 && make && (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: is not a folder", path);
    }
    free(copy);
    return rc;
}

int ds_folder_make(const char *path, ds_error *e)
{
    return go_down(path, SIZE_MAX, 1, e);
}

/* Length of the part of a path that the user named. */
static size_t length_of_root(const char *root, const char *path)
{
    size_t n = strlen(root);
    while (n > 1 && root[n - 1] == '/') {
        n--;
    }
    if (strncmp(root, path, n) == 0 && (path[n] == '/' || path[n] == '\0' || (n == 1 && root[0] == '/'))) {
        return n;
    }
    const char *slash = strrchr(path, '/'); /* written differently: trust all but the last name */
    return slash != NULL ? (size_t)(slash - path) : 0;
}

int ds_folder_make_below(const char *root, const char *path, ds_error *e)
{
    return go_down(path, length_of_root(root, path), 1, e);
}

int ds_folder_check_below(const char *root, const char *path, ds_error *e)
{
    return go_down(path, length_of_root(root, path), 0, e);
}

char *ds_folder_path(const char *folder, const char *name)
{
    size_t length = strlen(folder), size = length + strlen(name) + 2;
    char *path = malloc(size);
    while (length > 1 && folder[length - 1] == '/') {
        length--;
    }
    if (path != NULL) {
        snprintf(path, size, "%.*s%s%s", (int)length, folder, length == 1 && folder[0] == '/' ? "" : "/",
                 name);
    }
    return path;
}

int ds_folder_has(const char *folder, const char *name)
{
    char *path = ds_folder_path(folder, name);
    int has = path != NULL && access(path, F_OK) == 0;
    free(path);
    return has;
}

int ds_folder_has_run(const char *folder)
{
    return ds_folder_has(folder, "run.sqlite");
}

int ds_folder_has_landscape(const char *folder)
{
    return ds_folder_has(folder, "landscape.sqlite");
}

char *ds_folder_default(const char *env, const char *opt, uint64_t seed)
{
    size_t size = strlen(env) + strlen(opt) + 80;
    char *name = malloc(size);
    for (unsigned k = 1; name != NULL && k < 1000000; k++) {
        int used = snprintf(name, size, "results/%s-%s-s%llu", env, opt, (unsigned long long)seed);
        if (k > 1) {
            snprintf(name + used, size - (size_t)used, "-%u", k);
        }
        if (access(name, F_OK) != 0) {
            return name;
        }
    }
    free(name);
    return NULL;
}

const char *ds_folder_plugin_name(const ds_plugin_name *p)
{
    /* A plugin that an adapter makes of a file, "FILE.py:NAME", has no id that is found from anywhere. */
    const int by_path =
        p->path != NULL && (strchr(p->given, '/') != NULL || strcmp(ds_text_ending(p->path), "so") != 0);
    return by_path && strlen(p->path) + 8 < DS_INI_LINE_LIMIT ? p->path : p->id;
}

static int is_one_of(const char *key, const char *const *list)
{
    while (*list != NULL && strcmp(key, *list) != 0) {
        list++;
    }
    return *list != NULL;
}

/* The text of a [run] setting that reproduces the run, or NULL for settings of a single call. */
static const char *run_text(const ds_run_spec *r, const char *key, const char *text)
{
    static const char *const one_call[] = {"out", "x", "noise_key", "verify", NULL};
    static const char *const searches[] = {"opt", "budget", "seconds", "target", NULL};
    if (is_one_of(key, one_call) || (!r->all_runs && strcmp(key, "runs") == 0) ||
        (r->survey && is_one_of(key, searches)) || (strcmp(key, "fix") == 0 && text[0] == '\0')) {
        return NULL;
    }
    return strcmp(key, "env") == 0   ? ds_folder_plugin_name(&r->env)
           : strcmp(key, "opt") == 0 ? ds_folder_plugin_name(&r->opt)
                                     : text;
}

/* Does the file already have this content? */
static int is_there(const char *path, const char *text, size_t size)
{
    void *old = NULL;
    size_t length = 0;
    int same = access(path, F_OK) == 0 && ds_file_read(path, size, &old, &length, DS_EXIT_IO, NULL) == 0 &&
               length == size && memcmp(old, text, size) == 0;
    free(old);
    return same;
}

/* A text file of the folder while it is written. */
typedef struct text_file {
    char name[48], *text;
    size_t size;
} text_file;

/* Closes the text and writes it unless the file already has it. f = NULL means out of memory. */
static int finish_text(FILE *f, text_file *d, const char *folder, ds_error *e)
{
    int bad = f == NULL || ferror(f);
    bad |= f != NULL && fclose(f) != 0;
    char *path = ds_folder_path(folder, d->name);
    int rc = bad || path == NULL                ? ds_no_memory(e)
             : is_there(path, d->text, d->size) ? 0
                                                : ds_file_write_atomic(path, d->text, d->size, e);
    free(path);
    free(d->text);
    return rc;
}

static void print_run(FILE *f, const ds_run_spec *r)
{
    fprintf(f, "; %s %s", r->env.id, r->env.path != NULL ? r->env.version : "(a program)");
    if (!r->survey) {
        fprintf(f, " with %s %s", r->opt.id, r->opt.version);
    }
    fprintf(f, ", by dshost %s.", PACKAGE_VERSION);
    if (r->env.path != NULL) {
        fprintf(f, " The same %s again:\n;   dshost %s --config %s.ini --out OTHER", r->kind, r->kind,
                r->kind);
    }
    fprintf(f, "\n\n");
    fprintf(f, "[run]\n");
    const ds_params *p = r->options->params;
    for (size_t i = 0; i < ds_params_count(p); i++) {
        const char *key = ds_params_info(p, i)->name;
        const char *value = run_text(r, key, ds_params_value_text(p, i));
        if (value != NULL) {
            ds_params_write_value(ds_params_info(p, i), value, f);
        }
    }
    for (int section = DS_SECTION_ENV; section < DS_SECTIONS; section++) {
        if (r->section[section] != NULL) {
            fprintf(f, "\n[%s]\n", ds_section_names[section]);
            ds_params_write_ini(r->section[section], f);
        }
    }
}

int ds_folder_write_ini(const char *folder, const ds_run_spec *r, ds_error *e)
{
    text_file d = {.text = NULL};
    snprintf(d.name, sizeof(d.name), "%s.ini", r->kind);
    FILE *f = open_memstream(&d.text, &d.size);
    if (f != NULL) {
        print_run(f, r);
    }
    return finish_text(f, &d, folder, e);
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
            /* Empty defaults are left out: "" is not a value for every type. */
            if (value != NULL && (value[0] != '\0' || ds_params_given(p, i))) {
                rc = ds_store_put_setting(s, section, key, value, e);
            }
        }
    }
    return rc;
}

static int put_facts(ds_store *s, const ds_run_spec *r, ds_error *e)
{
    char plan[32], created[32], machine[300], processor[200], variables[2000];
    char arithmetic[DS_ARITHMETIC_ROOM];
    const char *const blas[] = {r->env.blas, r->opt.blas};
    time_t now = time(NULL);
    struct tm tm;
    struct utsname u;
    snprintf(plan, sizeof(plan), "%lld", (long long)r->options->budget);
    gmtime_r(&now, &tm);
    strftime(created, sizeof(created), "%Y-%m-%dT%H:%M:%SZ", &tm);
    memset(&u, 0, sizeof(u));
    uname(&u);
    snprintf(machine, sizeof(machine), "%s %s %s", u.sysname, u.release, u.machine);
    ds_processor_name(processor, sizeof(processor));
    ds_arithmetic_describe(blas, 2, arithmetic);
    ds_arithmetic_variables(variables, sizeof(variables));
    const char *const facts[][2] = {
        {"plan", r->survey ? NULL : plan},
        {"budget", r->survey ? NULL : plan},
        {"created", created},
        {"machine", machine},
        {"processor", processor},
        {"arithmetic", arithmetic},
        {"variables", variables},
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
    int rc;
    if (path == NULL) {
        rc = ds_no_memory(e);
    } else {
        rc = ds_store_clear_place(draft, e); /* left by a start that was killed */
        rc = rc != 0 ? rc : ds_store_create(draft, NULL, n, &s, e);
        rc = rc != 0 ? rc : ds_store_begin(s, e);
        rc = rc != 0 ? rc : put_settings(s, r, e);
        rc = rc != 0 ? rc : put_facts(s, r, e);
        rc = rc == 0 && r->variables != NULL ? ds_store_put_variables(s, r->variables, r->named, e) : rc;
        rc = rc != 0 ? rc : ds_store_commit(s, e);
        int closed = ds_store_close(s, rc == 0 ? e : NULL);
        rc = rc != 0 ? rc : closed;
        rc = rc != 0 ? rc : ds_store_clear_beside(path, e);
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
    text_file d = {.text = NULL};
    FILE *f = open_memstream(&d.text, &d.size);
    char message[141];
    snprintf(message, sizeof(message), "%.140s", answer->message);
    ds_text_clean(message); /* may have been cut inside a character */
    snprintf(d.name, sizeof(d.name), "failure-%04llu.ini", (unsigned long long)id);
    if (f == NULL) {
        return finish_text(f, &d, folder, e);
    }
    fprintf(f,
            "; Evaluation %llu: %s: %s\n; Its message again: dshost eval --config %s --isolation process\n",
            (unsigned long long)id, ds_outcome_name(answer->outcome), message, d.name);
    if (!r->env_alone) {
        fprintf(f, "; In a debugger, where a crash stops: gdb --args dshost eval --config %s\n", d.name);
    }
    fprintf(f, "\n[run]\nenv = %s\nseed = %llu\nthreads = %u\nisolation = %s\n",
            ds_folder_plugin_name(&r->env), (unsigned long long)r->options->seed, r->options->threads,
            r->env_alone ? "process" : "none");
    if (noise_key != 0) {
        fprintf(f, "noise_key = %llu\n", (unsigned long long)noise_key);
    }
    fprintf(f, "x =");
    for (uint64_t i = 0; i < n; i++) {
        fprintf(f, "%s%.17g", i % 4 == 0 && i > 0 ? "\n    " : " ", x[i]);
    }
    fprintf(f, "\n\n[env]\n");
    ds_params_write_ini(r->section[DS_SECTION_ENV], f);
    return finish_text(f, &d, folder, e);
}

/* ---- may a new run use a folder? ---- */

/* Readers take a folder with run.sqlite for a run, and everything in it for a part of the run. */

/* Does `name` end with one of these? */
static int ends_with(const char *name, const char *const *endings)
{
    size_t n = strlen(name);
    for (; *endings != NULL; endings++) {
        size_t k = strlen(*endings);
        if (n > k && strcmp(name + n - k, *endings) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Leftovers of a killed start, and files that may lie in a run folder: settings, points, logs, hidden files.
 */
static int is_harmless(const char *name)
{
    static const char *const beside[] = {".ini", ".log", ".out", ".err", ".txt", ".npy", NULL};
    return name[0] == '.' || strcmp(name, "run.lock") == 0 || strcmp(name, "lost+found") == 0 ||
           strncmp(name, "run.sqlite.", 11) == 0 || strncmp(name, "landscape.sqlite.", 17) == 0 ||
           (ends_with(name, beside) && strcmp(name, "bench.ini") != 0);
}

/* Files that only dshost writes. */
static int is_result(const char *name)
{
    static const char *const names[] = {"bench.ini", "bench.json", "run.sqlite", "landscape.sqlite",
                                        "summary.json"};
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        if (strcmp(name, names[k]) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Is there a folder in it with an experiment, runs or a landscape? */
static int holds_results(const char *folder, const char *name, int depth)
{
    struct stat st;
    char *path = ds_folder_path(folder, name);
    DIR *d = path != NULL && lstat(path, &st) == 0 && S_ISDIR(st.st_mode) ? opendir(path) : NULL;
    int has = 0;
    for (struct dirent *item; d != NULL && !has && (item = readdir(d)) != NULL;) {
        has = is_result(item->d_name) ||
              (depth > 0 && item->d_name[0] != '.' && holds_results(path, item->d_name, depth - 1));
    }
    if (d != NULL) {
        closedir(d);
    }
    free(path);
    return has;
}

int ds_folder_vacant(const char *folder, int results_only, ds_error *e)
{
    enum { DEPTH = 4 }; /* OUT/ENV/OPT/seed-K */
    DIR *d = opendir(folder);
    if (d == NULL) {
        return errno == ENOENT ? 0 : ds_fail(e, DS_EXIT_IO, "%s: %s", folder, strerror(errno));
    }
    int rc = 0;
    for (struct dirent *item; rc == 0 && (item = readdir(d)) != NULL;) {
        const char *name = item->d_name;
        const int result = is_result(name) || (name[0] != '.' && holds_results(folder, name, DEPTH));
        if (result || (!results_only && !is_harmless(name))) {
            rc = ds_fail(
                e, DS_EXIT_IO,
                "%s already holds other %s (%.100s): a run needs a folder of its own; choose another --out",
                folder, result ? "results" : "files", name);
        }
    }
    closedir(d);
    return rc;
}

int ds_folder_begun(const char *folder, const char *kind)
{
    char ini[48], store[48];
    snprintf(ini, sizeof(ini), "%s.ini", kind);
    snprintf(store, sizeof(store), "%s.sqlite", kind);
    return ds_folder_has(folder, ini) && !ds_folder_has(folder, store) &&
           ds_folder_vacant(folder, 0, NULL) == 0;
}

/* ---- the lock ---- */

/* flock() on run.lock, which contains the process id of the holder. */

enum { WAIT_NS = 20000000, WAITS_MAX = 100 /* 2 s for children of a dead holder */ };

struct ds_runlock {
    int fd;
    char *path;
};

/* Is the open file the one at the path? Not where the folder was moved and another took its place. */
static int is_at(int fd, const char *path)
{
    struct stat mine, there;
    return fstat(fd, &mine) == 0 && lstat(path, &there) == 0 && mine.st_ino == there.st_ino &&
           mine.st_dev == there.st_dev;
}

/* One attempt. Returns 1 where the last holder removed the file in between: try again. */
static int attempt(const char *path, int *out, long *holder, ds_error *e)
{
    int fd = ds_file_inside(path, O_RDWR | O_CREAT, 0666);
    if (fd < 0) {
        return ds_fail(e, DS_EXIT_IO, "%s: %s", path, ds_file_inside_error(errno));
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int code = errno;
        char pid[32] = "";
        ssize_t got = pread(fd, pid, sizeof(pid) - 1, 0);
        pid[got > 0 ? got : 0] = '\0';
        pid[strspn(pid, "0123456789")] = '\0';
        close(fd);
        *holder = strtol(pid, NULL, 10);
        if (code == EWOULDBLOCK) {
            return ds_fail(e, DS_EXIT_LOCKED, "%s: process %s is working on this run; wait for it or stop it",
                           path, pid[0] != '\0' ? pid : "(unknown)");
        }
        return ds_fail(e, DS_EXIT_IO, "%s: cannot be locked: %s; put the result folder on a local disk", path,
                       strerror(code));
    }
    if (!is_at(fd, path)) {
        close(fd);
        return 1;
    }
    *out = fd;
    return 0;
}

int ds_runlock_take(const char *folder, ds_runlock **out, ds_error *e)
{
    ds_runlock *lock = calloc(1, sizeof(*lock));
    if (lock == NULL || (lock->path = ds_folder_path(folder, "run.lock")) == NULL) {
        free(lock);
        return ds_no_memory(e);
    }
    int rc, waits = 0;
    long holder = 0;
    do {
        rc = attempt(lock->path, &lock->fd, &holder, e);
        /* A killed process can leave its lock to a child that has not become a worker yet: wait for the
         * child. */
        if (rc == DS_EXIT_LOCKED && holder > 0 && kill((pid_t)holder, 0) != 0 && errno == ESRCH &&
            waits++ < WAITS_MAX) {
            struct timespec nap = {0, WAIT_NS};
            nanosleep(&nap, NULL);
            rc = 1;
        }
    } while (rc == 1);
    if (rc == 0) {
        char pid[32];
        int len = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
        /* Without room for the process id the lock still holds. */
        if (ftruncate(lock->fd, 0) != 0 || (pwrite(lock->fd, pid, (size_t)len, 0) != len && errno != ENOSPC &&
                                            errno != EDQUOT && errno != EFBIG)) {
            rc = ds_fail(e, DS_EXIT_IO, "%s: cannot be written: %s", lock->path, strerror(errno));
            unlink(lock->path);
            close(lock->fd);
        }
    }
    if (rc != 0) {
        free(lock->path);
        free(lock);
        return rc;
    }
    *out = lock;
    return 0;
}

void ds_runlock_drop(ds_runlock *lock)
{
    if (lock != NULL) {
        if (is_at(lock->fd, lock->path)) {
            unlink(lock->path); /* before the lock is released: the next holder makes a new file */
        }
        close(lock->fd);
        free(lock->path);
        free(lock);
    }
}
