/* SPDX-License-Identifier: Apache-2.0 */
/* crew.c - one thread of the host starts the workers, passes on their output, enforces the time limit, and answers for
 * those that die: the evaluation in hand fails, and a new worker goes on with the rest. */
#include "config.h"

#include "crew.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "childlog.h"
#include "spawn.h"

enum {
    SLOT_BYTES = 32 << 20,         /* memory of all slots, unless single ones are larger */
    CAPACITY_MAX = 1024,
    SPIN_NS = 40000,               /* longest busy wait of a worker */
    IDLE_DEATHS_MAX = 5,           /* deaths in a row outside of evaluations that are forgiven */
    START_SECONDS = 60             /* least time limit of a start, where there is one */
};
static const uint64_t CLOSE_NS = 2000000000; /* to end in, when asked */
static const uint64_t LIFE_NS = 10000000000; /* of a worker whose death is no sign of a worse problem */

enum { MEMBER_NONE = 0, MEMBER_STARTING, MEMBER_READY };

typedef struct member {
    int state;        /* MEMBER_* */
    int timed_out;    /* killed at its time limit */
    uint64_t born;    /* ds_clock_ns() of its start */
    ds_child child;
    ds_childlog log;
} member;

struct ds_crew {
    ds_crew_config config;
    char *program;
    char *texts;             /* of the start file */
    uint64_t text_bytes;
    uint32_t setting_count;
    int share_fd, scene_fd, event_fd;
    ds_share *share;         /* mapped after the first hello */
    ds_crew_env env;
    member *member;
    int idle_deaths;
    pthread_t thread;
    int thread_runs;
    pthread_mutex_t lock;    /* of ready and error */
    pthread_cond_t changed;
    int ready;               /* the first worker said hello */
    ds_error error;
    atomic_int failed;       /* error is valid */
    atomic_uint wanted;      /* workers there should be */
    atomic_int quit, killed;
};

uint32_t ds_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) {
        return (uint32_t)CPU_COUNT(&set);
    }
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (uint32_t)n : 1;
}

/* ---- start ---- */

static int make_texts(ds_crew *c, ds_error *e)
{
    const ds_params *p = c->config.params;
    size_t size = 0;
    FILE *f = open_memstream(&c->texts, &size);
    if (f == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    fprintf(f, "%s%c", c->config.module->path, 0);
    for (size_t i = 0; i < ds_params_count(p); i++) {
        if (ds_params_given(p, i)) {
            fprintf(f, "%s%c%s%c", ds_params_info(p, i)->name, 0, ds_params_value_text(p, i), 0);
            c->setting_count++;
        }
    }
    if (fclose(f) != 0) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    c->text_bytes = size;
    return 0;
}

static void crew_fail(ds_crew *c, const ds_error *why)
{
    pthread_mutex_lock(&c->lock);
    if (!atomic_load(&c->failed)) {
        c->error = *why;
        atomic_store(&c->failed, 1);
    }
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    if (c->share != NULL) {
        ds_futex_wake(&c->share->done, 1);
    }
}

static void start_member(ds_crew *c, uint32_t w)
{
    ds_worker_start head = {.magic = DS_WORKER_MAGIC,
                            .seed = c->config.seed,
                            .memory = c->config.memory > 0 ? c->config.memory << 20 : 0,
                            .threads = c->config.threads,
                            .index = w,
                            .settings = c->setting_count,
                            .texts = c->text_bytes,
                            .parent = getpid()};
    member *m = &c->member[w];
    ds_error e = {0, ""};
    if (ds_spawn_worker(c->program, &head, c->texts, c->share_fd, c->scene_fd, &m->child, &e) != 0) {
        m->state = MEMBER_NONE;
        crew_fail(c, &e);
        return;
    }
    m->state = MEMBER_STARTING;
    m->timed_out = 0;
    m->born = ds_clock_ns();
    memset(&m->log, 0, sizeof(m->log));
    m->log.source = c->config.module->id;
}

/* Sizes and maps the shared memory once n is known. */
static int make_share(ds_crew *c, ds_error *e)
{
    ds_share head;
    uint64_t capacity = c->config.capacity;
    memset(&head, 0, sizeof(head));
    if (capacity == 0) {
        ds_share_layout(&head, c->config.jobs, 1, c->env.info.n);
        capacity = SLOT_BYTES / head.stride;
        capacity = capacity < 2 * c->config.jobs ? 2 * c->config.jobs : capacity;
        capacity = capacity > CAPACITY_MAX && capacity > 4 * c->config.jobs ? CAPACITY_MAX : capacity;
    }
    uint64_t size = ds_share_layout(&head, c->config.jobs, capacity, c->env.info.n);
    int code;
    /* Limits of file sizes hold for memory files, too: fewer slots do as well. */
    while ((code = ftruncate(c->share_fd, (off_t)size) != 0 ? errno : 0) == EFBIG && capacity > 2 * c->config.jobs) {
        capacity /= 2;
        size = ds_share_layout(&head, c->config.jobs, capacity, c->env.info.n);
    }
    ds_share *s = code == 0 ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, c->share_fd, 0) : MAP_FAILED;
    if (s == MAP_FAILED) {
        code = code != 0 ? code : errno;
        return ds_fail(e, code == EFBIG ? DS_EXIT_IO : DS_EXIT_MEMORY, "no %llu bytes of shared memory for the workers: %s%s",
                       (unsigned long long)size, strerror(code),
                       code == EFBIG ? "; the file size limit (ulimit -f) is too small" : "");
    }
    s->n = head.n;
    s->size = head.size;
    s->workers = head.workers;
    s->capacity = head.capacity;
    s->stride = head.stride;
    s->first = head.first;
    s->watched = c->config.timeout > 0.0;
    s->spin_ns = c->config.jobs <= ds_processors() ? SPIN_NS : 0;
    s->magic = DS_SHARE_MAGIC;
    c->share = s;
    return 0;
}

/* Reads the answer of the first worker: what the environment is. */
static int read_env(ds_crew *c, const ds_worker_hello *hello, int fd, ds_error *e)
{
    uint64_t n = hello->info.n;
    if (n < 1 || n > (1u << 24)) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: the worker's answer is damaged", c->config.module->id);
    }
    double *bounds = malloc(3 * n * sizeof(double));
    if (bounds == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    size_t bytes = 3 * n * sizeof(double);
    if (pread(fd, bounds, bytes, sizeof(*hello)) != (ssize_t)bytes) {
        free(bounds);
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: the worker's answer is incomplete", c->config.module->id);
    }
    c->env.info = hello->info;
    c->env.has_gradient = hello->has_gradient != 0;
    c->env.lower = bounds;
    c->env.upper = bounds + n;
    c->env.x0 = bounds + 2 * n;
    return make_share(c, e);
}

/* A worker says that its instance is made, or why not. */
static void welcome(ds_crew *c, uint32_t w)
{
    member *m = &c->member[w];
    ds_worker_hello hello;
    ds_error e = {0, ""};
    if (pread(m->child.start, &hello, sizeof(hello), 0) != (ssize_t)sizeof(hello) || hello.magic != DS_WORKER_MAGIC) {
        ds_fail(&e, DS_EXIT_PLUGIN, "%s: the worker's answer is incomplete", c->config.module->id);
    } else if (hello.error.status != 0) {
        e = hello.error;
        e.text[sizeof(e.text) - 1] = '\0';
    } else if (c->share == NULL) {
        read_env(c, &hello, m->child.start, &e);
    } else if (hello.info.n != c->env.info.n) {
        ds_fail(&e, DS_EXIT_PLUGIN, "%s: info() says %llu variables in one process and %llu in another",
                c->config.module->id, (unsigned long long)c->env.info.n, (unsigned long long)hello.info.n);
    }
    if (e.status != 0) {
        crew_fail(c, &e);
        return;
    }
    m->state = MEMBER_READY;
    char go = DS_WORKER_GO;
    if (send(m->child.socket, &go, 1, MSG_NOSIGNAL) != 1) {
        return; /* it died: the end of its socket tells */
    }
    pthread_mutex_lock(&c->lock);
    c->ready = 1;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

/* ---- death ---- */

static void say_how(const member *m, int status, double timeout, char *text, size_t size)
{
    if (m->timed_out) {
        snprintf(text, size, "no answer within %g s (timeout_s)", timeout);
    } else if (WIFSIGNALED(status)) {
        int sig = WTERMSIG(status);
        const char *name = sigabbrev_np(sig);
        snprintf(text, size, "the worker died of SIG%s (%s)%s", name != NULL ? name : "?", strsignal(sig),
                 sig == SIGKILL ? ": killed from outside, perhaps for want of memory" : "");
    } else {
        snprintf(text, size, "the worker ended by itself with exit status %d", WEXITSTATUS(status));
    }
}

/* Answers for the evaluation that a dead worker had in hand; 0 = it had none. */
static int settle(ds_crew *c, uint32_t w, int status)
{
    ds_share *s = c->share;
    int found = 0;
    for (uint64_t i = 0; i < s->capacity; i++) {
        ds_slot *slot = ds_share_slot(s, i);
        uint32_t state = atomic_load(&slot->state);
        if (state != DS_SLOT_OF(DS_SLOT_RUNNING, w) && state != DS_SLOT_OF(DS_SLOT_KILLED, w)) {
            continue;
        }
        ds_answer *a = &slot->answer;
        a->loss = INFINITY;
        a->outcome = c->member[w].timed_out ? DS_EVAL_TIMEOUT : DS_EVAL_CRASHED;
        a->grad_kind = DS_GRAD_NONE;
        a->bad_step = -1;
        a->cost_steps = 0;
        uint64_t started = atomic_load(&s->worker[w].started);
        a->wall = started != 0 ? 1e-9 * (double)(ds_clock_ns() - started) : 0.0;
        say_how(&c->member[w], status, c->config.timeout, a->message, sizeof(a->message));
        memset(ds_slot_grad(s, slot), 0, s->n * sizeof(double));
        atomic_store(&slot->state, DS_SLOT_DONE);
        ds_share_finished(s);
        found = 1;
    }
    atomic_store(&s->worker[w].started, 0);
    return found;
}

/* The successor looks at every ticket that may have been taken and skips what is done or held by others. */
static void pass_on(ds_share *s, uint32_t w)
{
    uint64_t taken = atomic_load(&s->taken);
    uint64_t oldest = taken > s->capacity ? taken - s->capacity : 0;
    atomic_store(&s->worker[w].next, oldest);
    atomic_store(&s->worker[w].end, taken);
}

static void read_output(member *m)
{
    char bytes[4096];
    ssize_t got;
    /* Bounded: one that prints without end must not keep us from its time limit. */
    for (int i = 0; i < 16 && (got = read(m->child.output, bytes, sizeof(bytes))) > 0; i++) {
        ds_childlog_feed(&m->log, bytes, (size_t)got);
    }
}

/* Collects a process whose socket has ended; that happens a moment before it is gone. */
static void reap(pid_t pid, int *status)
{
    struct timespec nap = {0, 1000000};
    for (int i = 0; i < 30; i++) {
        if (waitpid(pid, status, WNOHANG) != 0) {
            return;
        }
        nanosleep(&nap, NULL);
    }
    kill(pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR) {
    }
}

/* The socket of a worker has ended: it is dead, or as good as that. */
static void bury(ds_crew *c, uint32_t w)
{
    member *m = &c->member[w];
    int status = 0;
    ds_error e = {0, ""};
    reap(m->child.pid, &status);
    read_output(m);
    ds_childlog_end(&m->log);
    int state = m->state;
    ds_child_close(&m->child);
    m->state = MEMBER_NONE;
    if (atomic_load(&c->quit) || atomic_load(&c->killed) || atomic_load(&c->failed)) {
        return;
    }
    int killed = state == MEMBER_STARTING && c->share != NULL && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (state == MEMBER_STARTING && (m->timed_out || !killed)) {
        char how[200];
        say_how(m, status, c->config.timeout > START_SECONDS ? c->config.timeout : START_SECONDS, how, sizeof(how));
        ds_fail(&e, DS_EXIT_PLUGIN, "%s: create() failed: %s", c->config.module->id, how);
        crew_fail(c, &e);
        return;
    }
    if (settle(c, w, status) || ds_clock_ns() - m->born > LIFE_NS) {
        c->idle_deaths = 0;
    } else if (++c->idle_deaths > IDLE_DEATHS_MAX) {
        char how[200];
        say_how(m, status, 0.0, how, sizeof(how));
        ds_fail(&e, DS_EXIT_PLUGIN, "%s: workers keep dying between evaluations: %s", c->config.module->id, how);
        crew_fail(c, &e);
        return;
    }
    pass_on(c->share, w);
    start_member(c, w);
}

/* ---- the thread ---- */

/* Kills the worker whose evaluation, or start, has exceeded the time limit. */
static void enforce_limit(ds_crew *c, uint32_t w)
{
    member *m = &c->member[w];
    uint64_t now = ds_clock_ns();
    double limit = c->config.timeout;
    if (limit <= 0.0 || m->timed_out) {
        return;
    }
    if (m->state == MEMBER_STARTING) {
        limit = limit > START_SECONDS ? limit : START_SECONDS;
        if (1e-9 * (double)(now - m->born) > limit) {
            m->timed_out = 1;
            kill(m->child.pid, SIGKILL);
        }
        return;
    }
    uint64_t started = atomic_load(&c->share->worker[w].started);
    if (started == 0 || started > now || 1e-9 * (double)(now - started) <= limit) {
        return;
    }
    for (uint64_t i = 0; i < c->share->capacity; i++) {
        uint32_t state = DS_SLOT_OF(DS_SLOT_RUNNING, w);
        ds_slot *slot = ds_share_slot(c->share, i);
        if (atomic_load(&slot->state) == state && atomic_load(&c->share->worker[w].started) == started &&
            atomic_compare_exchange_strong(&slot->state, &state, DS_SLOT_OF(DS_SLOT_KILLED, w))) {
            m->timed_out = 1;
            kill(m->child.pid, SIGKILL);
            return;
        }
    }
}

/* Milliseconds between two looks at the time limits. */
static int poll_interval(const ds_crew *c)
{
    if (c->config.timeout <= 0.0) {
        return -1;
    }
    double ms = 100.0 * c->config.timeout;
    return ms > 100.0 ? 100 : ms < 2.0 ? 2 : (int)ms;
}

static int alive(const ds_crew *c)
{
    for (uint32_t w = 0; w < c->config.jobs; w++) {
        if (c->member[w].state != MEMBER_NONE) {
            return 1;
        }
    }
    return 0;
}

/* Kills all workers, or those only that are not ready yet. */
static void kill_members(ds_crew *c, int starting_only)
{
    for (uint32_t w = 0; w < c->config.jobs; w++) {
        int state = c->member[w].state;
        if (state == MEMBER_STARTING || (state == MEMBER_READY && !starting_only)) {
            kill(c->member[w].child.pid, SIGKILL);
        }
    }
}

static void look(ds_crew *c, const struct pollfd *fds)
{
    for (uint32_t w = 0; w < c->config.jobs; w++) {
        member *m = &c->member[w];
        const struct pollfd *p = fds + 1 + 2 * w;
        if (m->state == MEMBER_NONE) {
            continue;
        }
        if (p[1].revents != 0) {
            read_output(m);
        }
        if (p[0].revents != 0) {
            char byte = 0;
            ssize_t got = recv(m->child.socket, &byte, 1, MSG_DONTWAIT);
            if (got == 1 && byte == DS_WORKER_HELLO && m->state == MEMBER_STARTING) {
                welcome(c, w);
            } else if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
                bury(c, w);
                continue;
            }
        }
        enforce_limit(c, w);
    }
}

static void *watch(void *arg)
{
    ds_crew *c = arg;
    struct pollfd *fds = calloc(1 + 2 * (size_t)c->config.jobs, sizeof(*fds));
    uint64_t closing = 0;
    if (fds == NULL) {
        ds_error e;
        ds_fail(&e, DS_EXIT_MEMORY, "out of memory");
        crew_fail(c, &e);
        return NULL;
    }
    for (;;) {
        int ms = poll_interval(c);
        if (atomic_load(&c->quit)) {
            if (!alive(c)) {
                break;
            }
            uint64_t now = ds_clock_ns();
            closing = closing == 0 ? now : closing;
            kill_members(c, now - closing <= CLOSE_NS);
            ms = 50;
        } else if (!atomic_load(&c->killed) && !atomic_load(&c->failed)) {
            uint32_t wanted = atomic_load(&c->wanted);
            for (uint32_t w = 0; w < wanted; w++) {
                if (c->member[w].state == MEMBER_NONE) {
                    start_member(c, w);
                }
            }
        }
        fds[0] = (struct pollfd){c->event_fd, POLLIN, 0};
        for (uint32_t w = 0; w < c->config.jobs; w++) {
            int used = c->member[w].state != MEMBER_NONE;
            fds[1 + 2 * w] = (struct pollfd){used ? c->member[w].child.socket : -1, POLLIN, 0};
            fds[2 + 2 * w] = (struct pollfd){used ? c->member[w].child.output : -1, POLLIN, 0};
        }
        if (poll(fds, 1 + 2 * (nfds_t)c->config.jobs, ms) < 0) {
            continue;
        }
        if (fds[0].revents != 0) {
            uint64_t ignored;
            if (read(c->event_fd, &ignored, sizeof(ignored)) < 0) {
                continue;
            }
            if (atomic_load(&c->killed)) {
                kill_members(c, 0);
            }
        }
        look(c, fds);
    }
    free(fds);
    return NULL;
}

static void signal_thread(ds_crew *c)
{
    uint64_t one = 1;
    while (write(c->event_fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

/* ---- the host's side ---- */

static int start_thread(ds_crew *c, ds_error *e)
{
    /* Signals are the business of the thread that runs the optimizer. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&c->thread, NULL, watch, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0) {
        return ds_fail(e, DS_EXIT_MEMORY, "cannot start the thread that watches the workers: %s", strerror(code));
    }
    c->thread_runs = 1;
    return 0;
}

/* Waits for the first worker. */
static int wait_ready(ds_crew *c, ds_error *e)
{
    int rc = 0;
    pthread_mutex_lock(&c->lock);
    while (!c->ready && !atomic_load(&c->failed) && rc == 0) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 50000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&c->changed, &c->lock, &until);
        if (c->config.stop != NULL && atomic_load(c->config.stop) != 0) {
            rc = ds_fail(e, DS_EXIT_SIGINT, "stopped before the first evaluation");
            atomic_store(&c->killed, 1);
            signal_thread(c);
        }
    }
    pthread_mutex_unlock(&c->lock);
    return rc != 0 ? rc : ds_crew_failed(c, e);
}

int ds_crew_open(const ds_crew_config *config, ds_crew **out, ds_error *e)
{
    ds_crew *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    c->config = *config;
    c->config.jobs = config->jobs > 0 ? config->jobs : 1;
    c->program = config->program != NULL ? strdup(config->program) : NULL;
    c->member = calloc(c->config.jobs, sizeof(*c->member));
    c->share_fd = ds_memory_file("diffsim-share");
    c->scene_fd = ds_memory_file("diffsim-scene");
    c->event_fd = eventfd(0, EFD_CLOEXEC);
    atomic_store(&c->wanted, 1);
    int rc = 0;
    if (c->member == NULL || c->share_fd < 0 || c->scene_fd < 0 || c->event_fd < 0) {
        rc = ds_fail(e, DS_EXIT_IO, "cannot make the shared memory of the workers: %s", strerror(errno));
    }
    rc = rc != 0 ? rc : make_texts(c, e);
    rc = rc != 0 ? rc : start_thread(c, e);
    rc = rc != 0 ? rc : wait_ready(c, e);
    if (rc != 0) {
        ds_crew_close(c);
        return rc;
    }
    *out = c;
    return 0;
}

void ds_crew_close(ds_crew *c)
{
    if (c == NULL) {
        return;
    }
    atomic_store(&c->quit, 1);
    if (c->share != NULL) {
        atomic_store(&c->share->stop, 1);
        atomic_store(&c->share->quit, 1);
        atomic_fetch_add(&c->share->work, 1);
        ds_futex_wake(&c->share->work, (int)c->config.jobs);
    }
    if (c->thread_runs) {
        if (c->share == NULL) {
            atomic_store(&c->killed, 1); /* no shared memory to ask through */
        }
        signal_thread(c);
        pthread_join(c->thread, NULL);
    }
    int fds[] = {c->share_fd, c->scene_fd, c->event_fd};
    for (int i = 0; i < 3; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    if (c->share != NULL) {
        munmap(c->share, c->share->size);
    }
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->changed);
    free(c->env.lower);
    free(c->member);
    free(c->texts);
    free(c->program);
    free(c);
}

const ds_crew_env *ds_crew_env_of(const ds_crew *c)
{
    return &c->env;
}

ds_share *ds_crew_share(ds_crew *c)
{
    return c->share;
}

void ds_crew_want(ds_crew *c, uint32_t count)
{
    count = count > c->config.jobs ? c->config.jobs : count;
    if (count > atomic_load(&c->wanted)) {
        atomic_store(&c->wanted, count);
        signal_thread(c);
    }
}

void ds_crew_kill(ds_crew *c)
{
    atomic_store(&c->killed, 1);
    signal_thread(c);
}

int ds_crew_failed(ds_crew *c, ds_error *e)
{
    if (!atomic_load(&c->failed)) {
        return 0;
    }
    pthread_mutex_lock(&c->lock);
    int rc = ds_fail(e, c->error.status, "%s", c->error.text);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

int ds_crew_scene_fd(const ds_crew *c)
{
    return c->scene_fd;
}
