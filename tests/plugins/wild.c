/* SPDX-License-Identifier: Apache-2.0 */
/* wild.c - an environment that does to its process, and to the memory that it finds there, what no plugin may
 * do, for tests of the host. Else it is a sphere function: loss = sum x_i^2, x in [-1, 1]^2. While it is
 * loaded it does what the variable DS_WILD_LOAD names. */
#define _GNU_SOURCE
#include <diffsim/helper/eval.h>
#include <diffsim/plugin.h>

#include <alloca.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "worker/ring.h"

enum { NAP_S = 300, HELPERS = 200, DESCRIPTORS = 1024 };

static volatile int forever = 1;
static jmp_buf back;

/* ---- processes ---- */

static void nap(void)
{
    for (int i = 0; i < NAP_S; i++) {
        sleep(1);
    }
    _exit(0);
}

static void hang(void)
{
    while (forever) {
        sleep(1);
    }
}

static void spin(void)
{
    while (forever) {
    }
}

static void shell(void)
{
    if (system("sleep 300 &") != 0) {
        abort();
    }
}

static void fork_child(void)
{
    if (fork() == 0) {
        nap();
    }
}

static void fork_and_crash(void)
{
    fork_child();
    abort();
}

static void fork_and_hang(void)
{
    fork_child();
    hang();
}

/* Leaves the group and the session of the worker, and keeps its descriptors. */
static void become_daemon(void)
{
    if (fork() == 0) {
        setsid();
        if (fork() != 0) {
            _exit(0);
        }
        for (int i = 0; i < 40; i++) {
            sleep(1);
        }
        _exit(0);
    }
}

static void daemon_and_crash(void)
{
    become_daemon();
    abort();
}

/* Both processes return. */
static void fork_and_return(void)
{
    if (fork() < 0) {
        abort();
    }
}

static void fork_many(void)
{
    for (int i = 0; i < HELPERS && fork() != 0; i++) {
    }
    hang();
}

static void kill_group(void)
{
    kill(0, SIGKILL);
}

static void exit_0(void)
{
    exit(0);
}

static void exit_at_once(void)
{
    _exit(0);
}

static void kill_self(void)
{
    raise(SIGKILL);
}

static void stop_self(void)
{
    raise(SIGSTOP);
}

static void execute(void)
{
    execlp("sleep", "sleep", "300", (char *)NULL);
}

static void execute_true(void)
{
    execlp("true", "true", (char *)NULL);
}

/* ---- threads ---- */

static void *sleeper(void *arg)
{
    hang();
    return arg;
}

static void start_threads(void)
{
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 16);
    for (int i = 0; i < 10 * HELPERS; i++) {
        pthread_t t;
        if (pthread_create(&t, &small, sleeper, NULL) == 0) {
            pthread_detach(t);
        }
    }
}

static void *exiter(void *arg)
{
    usleep(2000);
    exit(0);
    return arg;
}

static void thread_exits(void)
{
    pthread_t t;
    if (pthread_create(&t, NULL, exiter, NULL) == 0) {
        pthread_detach(t);
    }
}

/* ---- signals ---- */

static void ignore_it(int sig)
{
    (void)sig;
}

static void deaf(void)
{
    sigset_t all;
    for (int s = 1; s < 64; s++) {
        signal(s, ignore_it);
    }
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_PDEATHSIG, 0);
}

static void deaf_and_hang(void)
{
    deaf();
    hang();
}

static void set_alarm(void)
{
    struct itimerval soon = {{0, 0}, {0, 3000}};
    setitimer(ITIMER_REAL, &soon, NULL);
}

/* ---- descriptors ---- */

static void close_all(void)
{
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        close(fd);
    }
}

static void close_output(void)
{
    close(1);
    close(2);
}

static void replace_all(void)
{
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 7; fd++) {
        dup2(null, fd);
    }
}

static void close_and_hang(void)
{
    close_all();
    hang();
}

/* ---- the memory that is shared with the host ---- */

static int is_shared(const char *target)
{
    return strstr(target, "diffsim-") != NULL;
}

static void each_file(int (*change)(int fd))
{
    for (int fd = 3; fd < 16; fd++) {
        char link[64], target[256];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, target, sizeof target - 1);
        target[n > 0 ? n : 0] = '\0';
        if (is_shared(target) && change(fd) != 0) {
            continue; /* sealed: as it should be */
        }
    }
}

static int cut(int fd)
{
    return ftruncate(fd, 0);
}

static int grow(int fd)
{
    return ftruncate(fd, (off_t)1 << 30);
}

static int punch(int fd)
{
    return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)1 << 30);
}

static int seal(int fd)
{
    return fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
}

static int litter(int fd)
{
    char bytes[4096];
    memset(bytes, 0x5a, sizeof bytes);
    return pwrite(fd, bytes, sizeof bytes, 0) < 0;
}

static void truncate_files(void)
{
    each_file(cut);
}

static void grow_files(void)
{
    each_file(grow);
}

static void punch_files(void)
{
    each_file(punch);
}

static void seal_files(void)
{
    each_file(seal);
}

static void litter_files(void)
{
    each_file(litter);
}

/* The shared memory as it is mapped here. */
static unsigned char *find_memory(size_t *size)
{
    char line[512];
    unsigned char *at = NULL;
    FILE *f = fopen("/proc/self/maps", "re");
    while (f != NULL && at == NULL && fgets(line, sizeof line, f) != NULL) {
        unsigned long from, to;
        if (strstr(line, "diffsim-share") != NULL && sscanf(line, "%lx-%lx", &from, &to) == 2) {
            *size = to - from;
            at = (unsigned char *)from; /* NOLINT */
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return at;
}

static void fill(int byte, size_t from, size_t to)
{
    size_t size = 0;
    unsigned char *at = find_memory(&size);
    if (at != NULL && from < size) {
        memset(at + from, byte, (to < size ? to : size) - from);
    }
}

static void fill_ones(void)
{
    fill(0xff, 0, SIZE_MAX);
}

static void fill_zeros(void)
{
    fill(0, 0, SIZE_MAX);
}

static void fill_head(void)
{
    fill(0xff, 0, 4096);
}

static void fill_slots(void)
{
    fill(0x41, 4096, SIZE_MAX);
}

static void fill_noise(void)
{
    size_t size = 0;
    unsigned char *at = find_memory(&size);
    uint64_t state = (uint64_t)getpid() * 0x9e3779b97f4a7c15u + 1;
    for (size_t i = 0; at != NULL && i < size; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        at[i] = (unsigned char)(state >> 56);
    }
}

static ds_ring_head *head(void)
{
    size_t size = 0;
    return (ds_ring_head *)(void *)find_memory(&size);
}

static void word_posted(void)
{
    atomic_store(&head()->posted, 0);
}

static void word_posted_far(void)
{
    atomic_store(&head()->posted, UINT64_MAX / 2);
}

static void word_taken(void)
{
    atomic_store(&head()->taken, UINT64_MAX / 2);
}

/* All that was posted was taken, by nobody. */
static void word_taken_all(void)
{
    atomic_store(&head()->taken, atomic_load(&head()->posted));
}

static void word_taken_none(void)
{
    atomic_store(&head()->taken, 0);
}

static void word_done(void)
{
    atomic_store(&head()->done, 0x7fffffff);
    atomic_store(&head()->wake_at, 0x7fffffff);
    atomic_store(&head()->waiting, 0);
    atomic_store(&head()->sleepers, 0);
}

static void word_stop(void)
{
    atomic_store(&head()->stop, 1);
}

static void word_quit(void)
{
    atomic_store(&head()->quit, 1);
}

static void word_layout(void)
{
    memset(&head()->layout, 0x3f, sizeof head()->layout);
}

static void word_started(void)
{
    for (uint32_t w = 0; w < head()->layout.workers; w++) {
        atomic_store(&head()->worker[w].started, UINT64_MAX);
    }
    hang();
}

static void word_started_none(void)
{
    for (uint32_t w = 0; w < head()->layout.workers; w++) {
        atomic_store(&head()->worker[w].started, 0);
    }
    hang();
}

static void word_many(void)
{
    for (uint32_t w = 0; w < head()->layout.workers; w++) {
        atomic_store(&head()->worker[w].many, 1);
    }
    abort();
}

static void word_range(void)
{
    for (uint32_t w = 0; w < head()->layout.workers; w++) {
        atomic_store(&head()->worker[w].next, 0);
        atomic_store(&head()->worker[w].end, UINT64_MAX);
    }
}

static void word_range_none(void)
{
    for (uint32_t w = 0; w < head()->layout.workers; w++) {
        atomic_store(&head()->worker[w].next, UINT64_MAX);
        atomic_store(&head()->worker[w].end, 0);
    }
}

static void states(uint32_t state)
{
    ds_ring_head *h = head();
    for (uint64_t i = 0; i < h->layout.capacity; i++) {
        ds_slot *slot = (void *)((unsigned char *)h + h->layout.first + i * h->layout.stride);
        atomic_store(&slot->state, state);
    }
}

static void states_free(void)
{
    states(DS_SLOT_FREE);
}

static void states_posted(void)
{
    states(DS_SLOT_POSTED);
}

static void states_done(void)
{
    states(DS_SLOT_DONE);
}

static void states_foreign(void)
{
    states(DS_SLOT_OF(DS_SLOT_RUNNING, 1000));
}

static void states_neighbour(void)
{
    states(DS_SLOT_OF(DS_SLOT_RUNNING, 1));
}

static void states_killed(void)
{
    states(DS_SLOT_OF(DS_SLOT_KILLED, 0));
}

static void states_strange(void)
{
    states(0x77);
}

/* Questions: x, and what is asked. */
static void questions(void)
{
    ds_ring_head *h = head();
    for (uint64_t i = 0; i < h->layout.capacity; i++) {
        ds_slot *slot = (void *)((unsigned char *)h + h->layout.first + i * h->layout.stride);
        memset(&slot->request, 0x11, sizeof slot->request);
        memset((double *)(void *)slot - 2 * h->layout.n, 0x22, h->layout.n * sizeof(double));
    }
}

/* Keeps on writing behind the back of everybody. */
static void *scribble(void *arg)
{
    for (;;) {
        fill_noise();
    }
    return arg;
}

static void thread_scribbles(void)
{
    pthread_t t;
    if (pthread_create(&t, NULL, scribble, NULL) == 0) {
        pthread_detach(t);
    }
}

/* ---- what belongs to the process ---- */

static void change_process(void)
{
    const struct rlimit none = {0, 0};
    if (chdir("/") != 0) {
        abort();
    }
    umask(0777);
    setlocale(LC_ALL, "de_DE.UTF-8");
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    if (nice(19) < 0) {
        nice(0);
    }
    setrlimit(RLIMIT_NOFILE, &none);
    setrlimit(RLIMIT_FSIZE, &none);
    setrlimit(RLIMIT_NPROC, &none);
}

static void limit_cpu(void)
{
    const struct rlimit one = {1, 1};
    setrlimit(RLIMIT_CPU, &one);
    spin();
}

static void round_up(void)
{
    fesetround(FE_UPWARD);
}

static void trap(void)
{
    feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_INEXACT);
}

/* ---- memory ---- */

static int descend(volatile char *up, int depth)
{
    volatile char page[4096];
    page[0] = (char)(depth + (up != NULL ? up[0] : 0));
    return forever ? descend(page, depth + 1) + page[0] : 0;
}

static void recurse(void)
{
    descend(NULL, 0);
}

static void use_stack(void)
{
    volatile char *p = alloca((size_t)1 << 30);
    p[0] = 1;
}

static void leave_frame(void)
{
    if (setjmp(back) == 0) {
        return;
    }
    abort();
}

static void jump(void)
{
    leave_frame();
    longjmp(back, 1);
}

/* ---- output ---- */

static void print_much(void)
{
    char line[1000];
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    for (int i = 0; i < 100000; i++) {
        ssize_t ignored = write(1 + i % 2, line, sizeof line);
        (void)ignored;
    }
}

static void print_long(void)
{
    char line[4096];
    memset(line, 'y', sizeof line);
    for (int i = 0; i < 1000; i++) {
        ssize_t ignored = write(1, line, sizeof line);
        (void)ignored;
    }
}

static void print_escapes(void)
{
    fputs("\033[2J\033]0;title\007 \x9b\x31m \xc2\x9b\x31m \xff\xfe \x7f\b\r\v end\n", stderr);
    for (int c = 0; c < 256; c++) {
        fputc(c, stderr);
    }
    fputc('\n', stderr);
}

/* ---- what it may be told ---- */

static void nothing(void)
{
}

/* clang-format nests a list of calls deeper each time. */
/* clang-format off */
#define DEEDS(X)                                                                                        \
    X(nothing) X(hang) X(spin) X(shell) X(fork_child) X(fork_and_crash) X(fork_and_hang)                \
    X(become_daemon) X(daemon_and_crash) X(fork_and_return) X(fork_many) X(kill_group) X(exit_0)        \
    X(exit_at_once) X(abort) X(kill_self) X(stop_self) X(execute) X(execute_true) X(start_threads)      \
    X(thread_exits) X(deaf) X(deaf_and_hang) X(set_alarm) X(close_all) X(close_output)                  \
    X(replace_all) X(close_and_hang) X(truncate_files) X(grow_files) X(punch_files) X(seal_files)       \
    X(litter_files) X(fill_ones) X(fill_zeros) X(fill_head) X(fill_slots) X(fill_noise)                 \
    X(word_posted) X(word_posted_far) X(word_taken) X(word_taken_all) X(word_taken_none)                \
    X(word_done) X(word_stop) X(word_quit) X(word_layout) X(word_started) X(word_started_none)          \
    X(word_many) X(word_range) X(word_range_none) X(states_free) X(states_posted) X(states_done)        \
    X(states_foreign) X(states_neighbour) X(states_killed) X(states_strange) X(questions)               \
    X(thread_scribbles) X(change_process) X(limit_cpu) X(round_up) X(trap) X(recurse) X(use_stack)      \
    X(jump) X(print_much) X(print_long) X(print_escapes)
/* clang-format on */

#define NAME(deed) #deed,
static const char *const names[] = {DEEDS(NAME) NULL};
#define DEED(deed) deed,
static void (*const deeds[])(void) = {DEEDS(DEED)};

static const char *const stages[] = {"evaluate", "create", "info", "bounds", "destroy", NULL};
enum { S_EVALUATE, S_CREATE, S_INFO, S_BOUNDS, S_DESTROY };

static const ds_param *const params[] = {
    DS_ENUM("how", "nothing", names, "What it does."), DS_ENUM("stage", "evaluate", stages, "When."),
    DS_REAL("above", "0.5", -INFINITY, INFINITY, "", "An evaluation does it where x[0] is above this."),
    NULL};

typedef struct env {
    int64_t how, stage;
    double above;
} env;

static void act(const env *e, int64_t stage)
{
    if (e->stage == stage) {
        deeds[e->how]();
    }
}

__attribute__((constructor)) static void at_load(void)
{
    const char *how = getenv("DS_WILD_LOAD");
    for (size_t i = 0; how != NULL && names[i] != NULL; i++) {
        if (strcmp(names[i], how) == 0) {
            deeds[i]();
        }
    }
}

static ds_status create(const ds_host *host, void **out)
{
    env *e = calloc(1, sizeof *e);
    if (e == NULL) {
        return DS_E_NOMEM;
    }
    host->get_int(host, "how", &e->how);
    host->get_int(host, "stage", &e->stage);
    host->get_real(host, "above", &e->above);
    act(e, S_CREATE);
    *out = e;
    return DS_OK;
}

static void destroy(void *self)
{
    act(self, S_DESTROY);
    free(self);
}

static ds_status info(void *self, ds_env_info *out)
{
    act(self, S_INFO);
    out->n = 2;
    out->steps = 1;
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    act(self, S_BOUNDS);
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = -1.0;
        upper[i] = 1.0;
        if (x0 != NULL) {
            x0[i] = 0.5;
        }
    }
    return DS_OK;
}

static ds_status evaluate(void *self, ds_eval *io)
{
    const env *e = self;
    volatile double third = 1.0 / 3.0; /* its last digit tells how it is rounded */
    io->loss = 0.0 * third;
    for (uint64_t i = 0; i < io->n; i++) {
        volatile double square = io->x[i] * io->x[i];
        io->loss += square;
    }
    io->cost_steps = 1;
    if (io->x[0] > e->above) {
        act(e, S_EVALUATE);
    }
    return DS_OK;
}

static ds_status evaluate_rows(void *self, const ds_rows *rows, const ds_results *results)
{
    return ds_eval_each(self, rows, results, evaluate);
}

static const ds_desc desc = {
    .struct_size = sizeof(ds_desc),
    .kind = DS_KIND_ENV,
    .id = "wild",
    .version = "1",
    .license = "Apache-2.0",
    .summary = "An environment that does what no plugin may do.",
    .description = "",
    .citation = "",
    .params = params,
};

static const ds_env_vtable vtable = {
    .struct_size = sizeof(ds_env_vtable),
    .create = create,
    .destroy = destroy,
    .info = info,
    .bounds = bounds,
    .evaluate = evaluate_rows,
};

DS_DEFINE_ENV(desc, vtable)
