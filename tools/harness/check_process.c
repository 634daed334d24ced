/* SPDX-License-Identifier: Apache-2.0 */
/* check_process.c - snapshots of the process, captured output, and parts of a test in a child process. All of
 * this state is global: a plugin that changes it breaks the host or other plugins. */
#include "config.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#include "config.h"

#include "harness/check_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <link.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xmmintrin.h>

#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FOREIGN_ALLOCATOR 1
#else
#define FOREIGN_ALLOCATOR 0
#endif

extern char **environ;

/* FNV-1a, continuing from h. */
static uint64_t hash_text(uint64_t h, const char *s)
{
    for (; *s != '\0'; s++) {
        h = (h ^ (uint64_t)(unsigned char)*s) * 0x100000001b3u;
    }
    return h * 31 + 1;
}

static uint32_t floating_point_control(void)
{
#if defined(__x86_64__)
    uint16_t x87;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    return (_mm_getcsr() & ~0x3fu) | ((uint32_t)x87 << 16); /* without the sticky flags */
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return (uint32_t)fpcr;
#else
    return (uint32_t)fegetround();
#endif
}

/* Numbers of /proc/self/status: Umask is octal, Threads decimal. */
static void read_status(ds_process *p)
{
    char line[256];
    FILE *f = fopen("/proc/self/status", "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, "Umask:", 6) == 0) {
            p->umask = (unsigned)strtoul(line + 6, NULL, 8);
        } else if (strncmp(line, "Threads:", 8) == 0) {
            p->threads = (unsigned)strtoul(line + 8, NULL, 10);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
}

static void read_fds(ds_process *p)
{
    DIR *d = opendir("/proc/self/fd");
    for (struct dirent *f; d != NULL && (f = readdir(d)) != NULL;) {
        char target[512];
        char *end;
        int fd = (int)strtol(f->d_name, &end, 10);
        if (f->d_name[0] == '.' || *end != '\0' || fd == dirfd(d) || p->fds == DS_PROCESS_FDS) {
            continue;
        }
        ssize_t n = readlinkat(dirfd(d), f->d_name, target, sizeof target - 1);
        target[n > 0 ? n : 0] = '\0';
        p->fd[p->fds] = fd;
        p->fd_target[p->fds++] = hash_text(0, target);
    }
    if (d != NULL) {
        closedir(d);
    }
}

ds_process *ds_process_snapshot(void)
{
    ds_process *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return NULL;
    }
    p->fp_control = floating_point_control();
    if (getcwd(p->cwd, sizeof p->cwd) == NULL) {
        p->cwd[0] = '\0';
    }
    const char *name = setlocale(LC_ALL, NULL);
    snprintf(p->locale, sizeof p->locale, "%s", name != NULL ? name : "");
    for (int s = 1; s < DS_PROCESS_SIGNALS; s++) {
        sigaction(s, NULL, &p->handler[s]);
    }
    pthread_sigmask(SIG_SETMASK, NULL, &p->mask);
    for (char **v = environ; v != NULL && *v != NULL; v++) {
        p->environment = hash_text(p->environment, *v);
    }
    read_status(p);
    read_fds(p);
    return p;
}

static int has_fd(const ds_process *p, int fd, uint64_t target)
{
    for (unsigned i = 0; i < p->fds; i++) {
        if (p->fd[i] == fd && p->fd_target[i] == target) {
            return 1;
        }
    }
    return 0;
}

static void compare_signals(ds_check *c, const ds_process *a, const ds_process *b, const char *who)
{
    for (int s = 1; s < DS_PROCESS_SIGNALS; s++) {
        if (a->handler[s].sa_handler != b->handler[s].sa_handler ||
            a->handler[s].sa_flags != b->handler[s].sa_flags) {
            ds_check_fail(c, "%s changed the handler of signal %d (%s)", who, s, strsignal(s));
            ds_check_hint(
                c, "signals belong to the host; call host->should_stop() to learn that a run should end");
        }
        if (sigismember(&a->mask, s) != sigismember(&b->mask, s)) {
            ds_check_fail(c, "%s changed the signal mask: signal %d (%s); restore it before the call returns",
                          who, s, strsignal(s));
        }
    }
}

static void compare_fds(ds_check *c, const ds_process *a, const ds_process *b, const char *who)
{
    for (unsigned i = 0; i < b->fds; i++) {
        char link[64], target[200];
        if (has_fd(a, b->fd[i], b->fd_target[i])) {
            continue;
        }
        snprintf(link, sizeof link, "/proc/self/fd/%d", b->fd[i]);
        ssize_t n = readlink(link, target, sizeof target - 1);
        target[n > 0 ? n : 0] = '\0';
        ds_check_fail(c, "%s left descriptor %d open: %s", who, b->fd[i], target);
        ds_check_hint(c, "close every file and pipe before the call returns (host->resource() gives the "
                         "paths of data files)");
    }
    for (unsigned i = 0; i < a->fds; i++) {
        if (!has_fd(b, a->fd[i], a->fd_target[i])) {
            ds_check_fail(c,
                          "%s closed or replaced descriptor %d, which it did not open: close only your own",
                          who, a->fd[i]);
        }
    }
}

void ds_process_compare(ds_check *c, const ds_process *a, const ds_process *b, const char *who)
{
    if (a == NULL || b == NULL) {
        ds_check_note(c, "cannot take a snapshot of the process: out of memory");
        return;
    }
    if (ds_check_needs_process(c)) {
        ds_check_note(
            c,
            "not examined: what %s changed in the process, which belongs to the plugin (DS_ENV_OWN_PROCESS)",
            who);
        return;
    }
    if (a->fp_control != b->fp_control) {
        ds_check_fail(
            c, "%s changed the floating-point mode from %08x to %08x (rounding, traps, or denormals as zero)",
            who, a->fp_control, b->fp_control);
        ds_check_hint(c, "compile and LINK without -ffast-math and -Ofast; restore the mode after "
                         "fesetround() and similar calls");
    }
    if (strcmp(a->cwd, b->cwd) != 0) {
        ds_check_fail(c, "%s changed the working directory from %s to %s", who, a->cwd, b->cwd);
        ds_check_hint(c, "use absolute paths; host->resource() and PATH parameters provide them");
    }
    if (a->umask != b->umask) {
        ds_check_fail(c, "%s changed the umask from %03o to %03o", who, a->umask, b->umask);
        ds_check_hint(
            c, "do not call umask(), which affects all files of the process; use fchmod() on your own files");
    }
    if (strcmp(a->locale, b->locale) != 0) {
        ds_check_fail(c, "%s changed the locale from %s to %s", who, a->locale, b->locale);
        ds_check_hint(
            c, "do not call setlocale(), which changes how the whole program reads numbers; use newlocale()");
    }
    if (a->environment != b->environment) {
        ds_check_fail(c, "%s changed the environment variables", who);
        ds_check_hint(c, "setenv() is not safe while other threads run; pass settings as parameters");
    }
    compare_signals(c, a, b, who);
    compare_fds(c, a, b, who);
}

void ds_process_compare_threads(ds_check *c, const ds_process *before, const char *who)
{
    const struct timespec pause = {0, 10000000};
    ds_process now = {.threads = 0};
    read_status(&now);
    for (int k = 0; before != NULL && k < 20 && now.threads > before->threads; k++) {
        nanosleep(&pause, NULL); /* a joined thread may stay in the table for a moment */
        read_status(&now);
    }
    if (before != NULL && now.threads > before->threads && !ds_check_needs_process(c)) {
        ds_check_fail(c, "%s left %u thread%s running", who, now.threads - before->threads,
                      now.threads - before->threads == 1 ? "" : "s");
        ds_check_hint(c, "join every thread in destroy() at the latest");
    }
}

uint64_t ds_process_heap(void)
{
#if FOREIGN_ALLOCATOR
    return 0;
#else
#if __GLIBC_PREREQ(2, 33)
    struct mallinfo2 m = mallinfo2();
    return (uint64_t)m.uordblks + (uint64_t)m.hblkhd;
#else /* counts of 32 bits, whose differences are what is needed */
    struct mallinfo m = mallinfo();
    return (uint64_t)(unsigned)m.uordblks + (uint64_t)(unsigned)m.hblkhd;
#endif
#endif
}

uint64_t ds_process_resident(void)
{
    unsigned long long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f != NULL) {
        if (fscanf(f, "%llu %llu", &size, &resident) != 2) {
            resident = 0;
        }
        fclose(f);
    }
    return FOREIGN_ALLOCATOR ? 0 : (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- static variables ---- */

typedef struct statics {
    uintptr_t code;
    uint64_t most, bytes, hash;
} statics;

static int is_inside(uintptr_t at, uintptr_t from, uint64_t size)
{
    return at >= from && at - from < size;
}

/* Hashes the whole words in from..end. AddressSanitizer puts gaps between variables that instrumented code
 * must not read. */
__attribute__((no_sanitize("address"))) static void add_words(statics *s, uintptr_t from, uintptr_t end)
{
    for (uintptr_t at = (from + 7) / 8 * 8; at + 8 <= end && s->bytes <= s->most; at += 8, s->bytes += 8) {
        const uint64_t word = *(const volatile uint64_t *)at;
        s->hash = word != 0 ? ds_random_mix(s->hash ^ word ^ (at << 20)) : s->hash;
    }
}

/* Hashes the writable segments of the object that contains s->code, except the part that is read-only after
 * loading. */
static int add_object(struct dl_phdr_info *object, size_t size, void *to)
{
    statics *s = to;
    uintptr_t relro = 0, relro_end = 0;
    int mine = 0;
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        const uintptr_t from = object->dlpi_addr + p->p_vaddr;
        mine |= p->p_type == PT_LOAD && is_inside(s->code, from, p->p_memsz);
        if (p->p_type == PT_GNU_RELRO) {
            relro = from;
            relro_end = from + p->p_memsz;
        }
    }
    for (int i = 0; mine && i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        const uintptr_t from = object->dlpi_addr + p->p_vaddr, end = from + p->p_memsz;
        if (p->p_type == PT_LOAD && (p->p_flags & PF_W) != 0) {
            const int split = relro_end > from && relro < end;
            add_words(s, from, split ? relro : end);
            add_words(s, split ? relro_end : end, end);
        }
    }
    return mine;
}

uint64_t ds_process_statics(const void *code, uint64_t most)
{
    statics s = {.code = (uintptr_t)code, .most = most};
    dl_iterate_phdr(add_object, &s);
    return s.bytes <= most ? s.hash : 0;
}

/* ---- output ---- */

struct ds_capture {
    int file, out, err; /* the memory file, and copies of the original descriptors 1 and 2 */
};

ds_capture *ds_capture_start(void)
{
    ds_capture *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return NULL;
    }
    fflush(stdout);
    fflush(stderr);
    p->file = memfd_create("captured", MFD_CLOEXEC);
    p->out = fcntl(1, F_DUPFD_CLOEXEC, 10);
    p->err = fcntl(2, F_DUPFD_CLOEXEC, 10);
    if (p->file < 0 || p->out < 0 || p->err < 0) {
        free(p);
        return NULL;
    }
    dup2(p->file, 1);
    dup2(p->file, 2);
    return p;
}

void ds_capture_end(ds_check *c, ds_capture *p, const char *who)
{
    char text[121];
    if (p == NULL) {
        ds_check_note(c, "cannot capture output: out of memory or descriptors");
        return;
    }
    fflush(stdout);
    fflush(stderr);
    dup2(p->out, 1);
    dup2(p->err, 2);
    ssize_t n = pread(p->file, text, sizeof text - 1, 0);
    if (n > 0) {
        text[n] = '\0';
        text[strcspn(text, "\r\n")] = '\0';
        ds_check_fail(c, "%s printed \"%s\"%s", who, text, n == (ssize_t)sizeof text - 1 ? " ..." : "");
        ds_check_hint(
            c, "stdout carries the results of dshost and stderr its progress line: use host->log() instead");
    }
    close(p->file);
    close(p->out);
    close(p->err);
    free(p);
}

/* ---- parts of a test in a child process ---- */

/* Results of the child. */
typedef struct letter {
    unsigned failed, hints;
    double tolerance, distance;
    max_align_t arg[];
} letter;

int ds_check_needs_process(const ds_check *c)
{
    const ds_desc *d = c->module != NULL ? c->module->plugin->desc : NULL;
    return d != NULL && d->kind == DS_KIND_ENV && (d->flags & DS_ENV_OWN_PROCESS) != 0;
}

static void in_child(ds_check *c, void (*fn)(ds_check *c, void *arg), letter *l)
{
    c->idle = NULL; /* belongs to the parent */
    fn(c, l->arg);
    l->failed = c->failed;
    l->hints = c->hints;
    l->tolerance = c->tolerance;
    l->distance = c->distance;
    _exit(0);
}

/* Waits for the child; returns -1 after killing it at the end of its time (0 = no limit). */
static int await(pid_t child, double seconds)
{
    const struct timespec pause = {0, 1000000};
    double end = ds_check_now() + seconds;
    int status = 0;
    pid_t ended;
    while ((ended = waitpid(child, &status, seconds > 0 ? WNOHANG : 0)) != child) {
        if (ended < 0 && errno != EINTR) {
            return 1 << 8; /* the plugin reaped it: treat as exit status 1 */
        }
        if (seconds > 0 && ds_check_now() > end) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            return -1;
        }
        if (seconds > 0) {
            nanosleep(&pause, NULL);
        }
    }
    return status;
}

/* Ends this process the way the child ended, unless that was status 0. */
static void follow(int status)
{
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
        _exit(WEXITSTATUS(status));
    }
}

static int forked(ds_check *c, void (*fn)(ds_check *c, void *arg), void *arg, size_t size, double seconds)
{
    size_t bytes = sizeof(letter) + size;
    letter *l = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = 0;
    if (l == MAP_FAILED) {
        ds_check_fail(c, "out of memory");
        return 1;
    }
    memcpy(l->arg, arg, size);
    pid_t child = fork();
    if (child == 0) {
        in_child(c, fn, l);
    }
    if (child < 0) {
        ds_check_fail(c, "cannot start a process for an instance: %s", strerror(errno));
    } else if ((status = await(child, seconds)) >= 0) {
        follow(status);
        memcpy(arg, l->arg, size);
        c->failed = l->failed;
        c->hints = l->hints;
        c->tolerance = l->tolerance;
        c->distance = l->distance;
    }
    munmap(l, bytes);
    return status >= 0;
}

void ds_check_in_child(ds_check *c, void (*fn)(ds_check *c, void *arg), void *arg, size_t size)
{
    if (ds_check_needs_process(c)) {
        forked(c, fn, arg, size, 0);
    } else {
        fn(c, arg);
    }
}

int ds_check_limited(ds_check *c, void (*fn)(ds_check *c, void *arg), void *arg, size_t size, double seconds)
{
    if (!c->options->in_process) {
        return forked(c, fn, arg, size, seconds);
    }
    fn(c, arg);
    return 1;
}

/* ---- crashes ---- */

/* State of the signal handler, set once in a process that runs one test. */
static struct {
    const ds_check_buffer *buffers;
    size_t count;
    const char *who;
    int fd;
} watched;

static const char *size_of(const ds_check_buffer *b)
{
    return b->size != NULL ? b->size : "n entries, 0 to n-1, with n from info()";
}

int ds_check_buffer_open(ds_check_buffer *b, const char *name, uint64_t n, int at_end)
{
    b->name = name;
    return ds_guard_open(&b->guard, n, at_end) == 0;
}

void ds_check_buffer_check(ds_check *c, const ds_check_buffer *b, const char *who)
{
    const unsigned char *data = (const unsigned char *)b->guard.data, *p = ds_guard_breach(&b->guard);
    size_t length = b->guard.n * sizeof(double);
    if (p != NULL) {
        long distance = p < data ? (long)(data - p) : (long)(p - (data + length)) + 1;
        ds_check_fail(c, "%s wrote %ld bytes %s the buffer %s of %zu bytes", who, distance,
                      p < data ? "before" : "behind", b->name, length);
        ds_check_hint(c, "%s has %s", b->name, size_of(b));
    }
}

/* Async-signal-safe: the text is put together by hand. */
static size_t put(char *out, size_t at, const char *text)
{
    while (*text != '\0' && at < 400) {
        out[at++] = *text++;
    }
    return at;
}

static size_t put_number(char *out, size_t at, uint64_t v)
{
    char digits[24];
    size_t n = sizeof digits - 1;
    digits[n] = '\0';
    do {
        digits[--n] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    return put(out, at, digits + n);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    const unsigned char *a = info->si_addr;
    char line[512];
    size_t n = 0;
    (void)context;
    (void)signal;
    for (size_t i = 0; i < watched.count && n == 0; i++) {
        const ds_check_buffer *b = &watched.buffers[i];
        const ds_guard *g = &b->guard;
        const unsigned char *data = (const unsigned char *)g->data, *behind = data + g->n * sizeof(double);
        if (g->map == NULL || a < g->map || a >= g->map + g->map_size) {
            continue;
        }
        n = put(line, n, "F ");
        n = put(line, n, watched.who);
        if (a >= data && a < behind) {
            n = put(line, n, " wrote to the read-only buffer ");
            n = put(line, n, b->name);
            n = put(line, n, "\nH ");
            n = put(line, n, b->name);
            n = put(line, n, " is const: work on a copy\nE \n");
        } else {
            n = put(line, n, " touched memory ");
            n = put_number(line, n, a < data ? (uint64_t)(data - a) : (uint64_t)(a - behind));
            n = put(line, n, a < data ? " bytes before the buffer " : " bytes after the end of the buffer ");
            n = put(line, n, b->name);
            n = put(line, n, "\nH a buffer of this kind has ");
            n = put(line, n, size_of(b));
            n = put(line, n, "\nE \n");
        }
    }
    if (n == 0) {
        n = put(line, n, "F ");
        n = put(line, n, watched.who);
        n = put(line, n, " crashed: segmentation fault outside of the host's buffers\nE \n");
    }
    if (write(watched.fd, line, n) < 0) {
        _exit(2);
    }
    _exit(0);
}

void ds_check_buffer_watch(ds_check *c, const ds_check_buffer *buffers, size_t count, const char *who)
{
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_sigaction = on_fault;
    a.sa_flags = SA_SIGINFO;
    watched.buffers = buffers;
    watched.count = count;
    watched.who = who;
    watched.fd = c->fd;
    if (c->fd >= 0) { /* with --in-process a debugger should see the fault itself */
        sigaction(SIGSEGV, &a, NULL);
        sigaction(SIGBUS, &a, NULL);
    }
}

/* ---- evaluations in progress ---- */

/* The file is a head, followed by one slot for each of DS_FLIGHTS threads. */

typedef struct head {
    uint64_t n;
} head;

static int file = -1;
static head *map;
static atomic_uint threads;
static _Thread_local unsigned own; /* 1 + slot of this thread */

static uint64_t stride(uint64_t n)
{
    return sizeof(ds_flight) + n * sizeof(double);
}

static uint64_t bytes(uint64_t n)
{
    return sizeof(head) + DS_FLIGHTS * stride(n);
}

static ds_flight *place(head *h, unsigned k)
{
    return (ds_flight *)(void *)((char *)(h + 1) + k * stride(h->n));
}

void ds_flight_attach(int fd)
{
    file = fd;
}

void ds_flight_room(uint64_t n)
{
    if (file < 0 || (map != NULL && map->n == n)) {
        return;
    }
    if (map != NULL) {
        munmap(map, bytes(map->n));
        map = NULL;
    }
    /* Truncate first: the old content has another layout. */
    void *m = ftruncate(file, 0) == 0 && ftruncate(file, (off_t)bytes(n)) == 0
                  ? mmap(NULL, bytes(n), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                  : MAP_FAILED;
    if (m != MAP_FAILED) {
        map = m;
        map->n = n;
    }
}

void ds_flight_begin(const double *x, uint64_t n, uint32_t want, uint64_t noise_key, uint32_t rows)
{
    if (map == NULL || map->n != n) {
        return;
    }
    if (own == 0) {
        own = 1 + atomic_fetch_add(&threads, 1) % DS_FLIGHTS;
    }
    ds_flight *f = place(map, own - 1);
    f->noise_key = noise_key;
    f->want = want;
    memcpy(f + 1, x, n * sizeof *x);
    atomic_signal_fence(memory_order_seq_cst);
    *(volatile uint32_t *)&f->rows = rows;
}

void ds_flight_end(void)
{
    if (map != NULL && own != 0) {
        *(volatile uint32_t *)&place(map, own - 1)->rows = 0;
    }
}

void ds_flight_read(int fd, void (*fn)(void *ctx, const ds_flight *f, const double *x, uint64_t n), void *ctx)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size < (off_t)sizeof(head)) {
        return;
    }
    head *h = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (h == MAP_FAILED) {
        return;
    }
    if (h->n <= (uint64_t)st.st_size && bytes(h->n) == (uint64_t)st.st_size) {
        for (unsigned k = 0; k < DS_FLIGHTS; k++) {
            const ds_flight *f = place(h, k);
            if (f->rows > 0) {
                fn(ctx, f, (const double *)(const void *)(f + 1), h->n);
            }
        }
    }
    munmap(h, (size_t)st.st_size);
}
