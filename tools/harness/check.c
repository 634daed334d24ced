/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - records of a test, how often it repeats something, its clock, and commands that repeat an
 * evaluation. */
#include "config.h"

#include "harness/check.h"

#include "base/text.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { SEEN_MAX = 8, HINTS_MAX = 8 };

/* Target time of all repetitions within one test, seconds. */
static const double PLAN_SECONDS = 15;

int ds_check_lines_add(ds_check_lines *l, char kind, const char *text, size_t length)
{
    if (l->count == l->capacity) {
        size_t capacity = l->capacity > 0 ? 2 * l->capacity : 16;
        ds_check_line *grown = realloc(l->item, capacity * sizeof *grown);
        if (grown == NULL) {
            return 0;
        }
        l->item = grown;
        l->capacity = capacity;
    }
    char *copy = strndup(text, length);
    if (copy == NULL) {
        return 0;
    }
    l->item[l->count].kind = kind;
    l->item[l->count++].text = copy;
    return 1;
}

void ds_check_lines_clear(ds_check_lines *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->item[i].text);
    }
    free(l->item);
    memset(l, 0, sizeof *l);
}

const char *ds_check_lines_find(const ds_check_lines *l, char kind)
{
    for (size_t i = l->count; i-- > 0;) {
        if (l->item[i].kind == kind) {
            return l->item[i].text;
        }
    }
    return NULL;
}

void ds_check_record(ds_check *c, char kind, const char *text)
{
    char line[4200];
    int n = snprintf(line, sizeof line, "%c %s", kind, text);
    if (n >= (int)sizeof line) {
        n = (int)sizeof line - 1;
    }
    for (int i = 0; i < n; i++) {
        if (line[i] == '\n' || line[i] == '\r') {
            line[i] = ' ';
        }
    }
    if (c->fd < 0) {
        ds_check_lines_add(c->lines, kind, line + 2, (size_t)n - 2);
        return;
    }
    line[n] = '\n';
    /* One write per line, at once: lines written before a crash must arrive. */
    if (write(c->fd, line, (size_t)n + 1) != n + 1) {
        _exit(DS_EXIT_IO);
    }
}

__attribute__((format(printf, 3, 0))) static void record_format(ds_check *c, char kind, const char *format,
                                                                va_list args)
{
    char text[4096];
    vsnprintf(text, sizeof text, format, args);
    ds_check_record(c, kind, text);
}

void ds_check_fail(ds_check *c, const char *format, ...)
{
    va_list args;
    c->failed++;
    if (c->failed > SEEN_MAX) {
        return;
    }
    va_start(args, format);
    record_format(c, DS_CHECK_FAILURE, format, args);
    va_end(args);
}

void ds_check_hint(ds_check *c, const char *format, ...)
{
    va_list args;
    if (c->hints++ >= HINTS_MAX) {
        return;
    }
    va_start(args, format);
    record_format(c, DS_CHECK_HINT, format, args);
    va_end(args);
}

void ds_check_note(ds_check *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    record_format(c, DS_CHECK_NOTE, format, args);
    va_end(args);
}

void ds_check_skip(ds_check *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    record_format(c, DS_CHECK_SKIP, format, args);
    va_end(args);
}

void ds_check_doing(ds_check *c, const char *what)
{
    ds_check_record(c, DS_CHECK_DOING, what);
}

void *ds_check_room(ds_check *c, uint64_t count, size_t size)
{
    void *room = calloc(count, size);
    if (room == NULL) {
        ds_check_fail(c, "out of memory");
    }
    return room;
}

uint64_t ds_check_plan(ds_check *c, const char *what, uint64_t wish, uint64_t least, double seconds)
{
    if (!(seconds * (double)wish > PLAN_SECONDS)) {
        return wish;
    }
    uint64_t n = (uint64_t)(PLAN_SECONDS / seconds);
    n = n < least ? least : n;
    if (n >= wish) {
        return wish;
    }
    ds_check_note(
        c, "%s: %llu instead of %llu, because one takes %.2g s (set smaller parameters with --set for all)",
        what, (unsigned long long)n, (unsigned long long)wish, seconds);
    return n;
}

/* ---- time that does not depend on the load of the machine ---- */

static double clock_seconds(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double ds_check_now(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

double ds_check_worked(void)
{
    static _Thread_local double sum, wall, work;
    static _Thread_local long waits = -1;
    struct rusage u;
    getrusage(RUSAGE_THREAD, &u);
    const double now = ds_check_now(), worked = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    if (waits >= 0) {
        const double passed = now - wall, had = worked - work;
        sum += u.ru_nvcsw == waits && had < passed ? had : passed;
    }
    wall = now;
    work = worked;
    waits = u.ru_nvcsw;
    return sum;
}

/* State of a process's first thread ('R' = wants a processor), and its processor time so far. */
static char process_state(pid_t pid, double *work)
{
    char path[64], text[1024], state = '?';
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/stat", (long)pid, (long)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    const char *rest = strrchr(text, ')'); /* after the name, which may contain anything */
    if (rest == NULL || sscanf(rest + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &state, &user,
                               &system) != 3) {
        return '?';
    }
    *work = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
    return state;
}

void ds_check_other_open(ds_check_other *o, pid_t pid, double limit)
{
    *o = (ds_check_other){.pid = pid, .limit = limit, .wall = ds_check_now()};
}

int ds_check_other_over(ds_check_other *o)
{
    const double now = ds_check_now(), passed = now - o->wall;
    double work = o->work;
    const char state = process_state(o->pid, &work);
    const double had = work - o->work;
    o->spent += state == 'R' && had < passed ? had : passed;
    o->all += passed;
    o->wall = now;
    o->work = work;
    return o->spent > o->limit || o->all > DS_CHECK_STARVED * o->limit;
}

/* ---- commands that repeat an evaluation ---- */

enum { INLINE = 100 /* numbers that still go on a command line */ };

static void write_numbers(FILE *f, const double *x, uint64_t n, char separator)
{
    for (uint64_t i = 0; i < n; i++) {
        fprintf(f, "%.17g%c", x[i], i + 1 < n ? separator : '\n');
    }
}

/* 1 = the numbers are in a new file named `path`. */
static int write_file(const double *x, uint64_t n, char *path, size_t size)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, size, "%s/dshost-check-XXXXXX.txt", folder != NULL && folder[0] != '\0' ? folder : "/tmp");
    int fd = mkstemps(path, 4);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (f == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return 0;
    }
    write_numbers(f, x, n, '\n');
    return fclose(f) == 0;
}

char *ds_check_point_command(const ds_check_options *o, const double *x, uint64_t n, const char *flags)
{
    char *text = NULL, path[4200];
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (f == NULL) {
        return NULL;
    }
    fputs("dshost eval --env ", f);
    ds_text_shell_word(f, o->path);
    for (size_t i = 0; i < o->set_count; i++) {
        fputs(" --set ", f);
        ds_text_shell_word(f, o->sets[i]);
    }
    fputs(flags, f);
    fputs(" --x ", f);
    if (n > INLINE && write_file(x, n, path, sizeof path)) {
        ds_text_shell_word(f, path);
    } else {
        for (uint64_t i = 0; i < n; i++) {
            fprintf(f, "%s%.17g", i > 0 ? "," : "", x[i]);
        }
    }
    return fclose(f) == 0 ? text : NULL;
}
