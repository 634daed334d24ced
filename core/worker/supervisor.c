/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor.c - one thread of the host starts the workers, passes on their output, enforces
 * the time limit, and answers for those that die: the evaluation in hand fails, and a new
 * worker goes on with the rest. */
#include "config.h"

#include "worker/supervisor.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "worker/probe.h"
#include "worker/process.h"

enum {
    IDLE_DEATHS_MAX = 5,  /* deaths in a row outside of evaluations that are forgiven */
    WAIT_NS = 50000000,   /* longest sleep between two looks at the stop flag */
    STOP_NS = 1000000000, /* evaluations in hand get this long to notice that they should stop */
};
static const uint64_t CLOSE_NS = 2000000000; /* to end in, when asked */
static const uint64_t LIFE_NS = 10000000000; /* of a worker whose death is no sign of a worse problem */

struct ds_supervisor {
    ds_supervisor_config config;
    char *program;
    ds_orders orders;
    int share_fd, scene_fd, event_fd;
    ds_ring *share; /* mapped after the first hello */
    ds_env_facts env;
    double *bounds;       /* of env */
    ds_channels channels; /* of env */
    ds_process *process;
    int idle_deaths;
    pthread_t thread;
    int thread_runs;
    pthread_mutex_t lock; /* of ready and error */
    pthread_cond_t changed;
    int ready; /* the first worker said hello */
    ds_error error;
    atomic_int failed;  /* error is valid */
    atomic_uint wanted; /* workers there should be */
    atomic_int quit, killed;
};

/* Keeps the first failure that ends the supervisor, and wakes who waits. */
static void fail(ds_supervisor *c, const ds_error *why)
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

/* ---- birth ---- */

static void start_process(ds_supervisor *c, uint32_t w)
{
    ds_process_place place = {c->program, c->share_fd, c->scene_fd, c->config.module->id};
    ds_error e = {0, ""};
    if (ds_process_start(&c->process[w], &place, &c->orders, w, 0, &e) != 0) {
        fail(c, &e);
    }
}

/* The process that has described the plugin, if it still waits, becomes worker 0. */
static void adopt(ds_supervisor *c)
{
    ds_probe probe;
    if (!ds_probe_take(c->config.module, &probe)) {
        return;
    }
    close(c->share_fd);
    close(c->scene_fd);
    c->share_fd = probe.share_fd;
    c->scene_fd = probe.scene_fd;
    c->process[0] = probe.process;
    if (ds_process_instruct(&c->process[0], &c->orders) != 0) {
        ds_process_bury(&c->process[0], 1); /* it died meanwhile: another one is started */
    }
}

/* Reads the channels of an answer, which lie behind `at`. */
static int read_channels(const ds_supervisor *c, const ds_worker_hello *hello, int fd, size_t at,
                         ds_channels *out, ds_error *e)
{
    const char *id = c->config.module->id;
    if (hello->channels > DS_MAX_CHANNELS) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: the worker's answer is damaged", id);
    }
    size_t bytes = hello->channels * sizeof(ds_channel_entry);
    ds_channel_entry *entry = malloc(bytes > 0 ? bytes : 1);
    if (entry == NULL) {
        return ds_no_memory(e);
    }
    if (pread(fd, entry, bytes, (off_t)at) != (ssize_t)bytes) {
        free(entry);
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: the worker's answer is incomplete", id);
    }
    return ds_channels_take(id, entry, hello->channels, out, e);
}

/* Reads the answer of the first worker: what the environment is. */
static int read_env(ds_supervisor *c, const ds_worker_hello *hello, int fd, ds_error *e)
{
    uint64_t n = hello->env.info.n;
    if (n < 1 || n > (1u << 24)) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: the worker's answer is damaged", c->config.module->id);
    }
    /* The names lie behind the bounds: their size is a multiple of 4. */
    size_t bytes = 3 * n * sizeof(double),
           names = hello->env.variables != NULL ? n * sizeof(ds_named_variable) : 0;
    double *bounds = malloc(bytes + names);
    if (bounds == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    if (pread(fd, bounds, bytes + names, sizeof(*hello)) != (ssize_t)(bytes + names)) {
        free(bounds);
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: the worker's answer is incomplete", c->config.module->id);
    }
    c->env = hello->env;
    c->env.lower = c->bounds = bounds;
    c->env.upper = bounds + n;
    c->env.x0 = bounds + 2 * n;
    ds_named_variable *variables = (void *)(bounds + 3 * n);
    for (uint64_t i = 0; i < n && names > 0; i++) {
        variables[i].name[DS_MAX_NAME] = variables[i].unit[DS_MAX_NAME] = variables[i].group[DS_MAX_NAME] =
            '\0';
    }
    c->env.variables = names > 0 ? variables : NULL;
    c->env.channels = &c->channels;
    if (read_channels(c, hello, fd, sizeof(*hello) + bytes + names, &c->channels, e) != 0) {
        return e->status;
    }
    ds_ring_plan plan = {.workers = c->config.jobs,
                         .n = n,
                         .capacity = c->config.capacity,
                         .extra = c->config.extra,
                         .watched = c->config.timeout > 0.0};
    ds_asks_room(&c->channels, n, &plan.in, &plan.out);
    return ds_ring_make(c->share_fd, &plan, &c->share, e);
}

/* Does a further worker describe the same environment? */
static int compare_env(const ds_supervisor *c, const ds_worker_hello *hello, int fd, ds_error *e)
{
    const char *id = c->config.module->id;
    ds_channels channels = {0};
    if (hello->env.info.n != c->env.info.n) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: info() says %llu variables in one process and %llu in another",
                       id, (unsigned long long)c->env.info.n, (unsigned long long)hello->env.info.n);
    }
    size_t names = hello->env.variables != NULL ? sizeof(ds_named_variable) : 0;
    size_t at = sizeof(*hello) + c->env.info.n * (3 * sizeof(double) + names);
    int rc = read_channels(c, hello, fd, at, &channels, e);
    if (rc == 0 && !ds_channels_equal(&c->channels, &channels)) {
        rc = ds_fail(e, DS_EXIT_PLUGIN, "%s: other channels in one process than in another", id);
    }
    ds_channels_clear(&channels);
    return rc;
}

/* A worker says that its instance is made, or why not. */
static void handshake(ds_supervisor *c, uint32_t w)
{
    ds_process *m = &c->process[w];
    ds_worker_hello hello;
    ds_error e = {0, ""};
    if (pread(m->start, &hello, sizeof(hello), 0) != (ssize_t)sizeof(hello) ||
        hello.magic != DS_WORKER_MAGIC) {
        ds_fail(&e, DS_EXIT_PLUGIN, "%s: the worker's answer is incomplete", c->config.module->id);
    } else if (hello.error.status != 0) {
        e = hello.error;
        e.text[sizeof(e.text) - 1] = '\0';
    } else if (c->share == NULL) {
        read_env(c, &hello, m->start, &e);
    } else {
        compare_env(c, &hello, m->start, &e);
    }
    if (e.status != 0) {
        fail(c, &e);
        return;
    }
    m->state = DS_PROCESS_READY;
    char go = DS_WORKER_GO;
    if (send(m->socket, &go, 1, MSG_NOSIGNAL) != 1) {
        return; /* it died: the end of its socket tells */
    }
    pthread_mutex_lock(&c->lock);
    c->ready = 1;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

/* ---- death ---- */

/* Answers for the evaluation that a dead worker had in hand; 0 = it had none. */
static int settle(ds_supervisor *c, uint32_t w, int status)
{
    ds_ring *s = c->share;
    int found = 0;
    for (uint64_t i = 0; i < s->capacity; i++) {
        ds_slot *slot = ds_ring_slot(s, i);
        uint32_t state = atomic_load(&slot->state);
        if (state != DS_SLOT_OF(DS_SLOT_RUNNING, w) && state != DS_SLOT_OF(DS_SLOT_KILLED, w)) {
            continue;
        }
        found = 1;
        if (atomic_load(&s->worker[w].many) != 0) {
            slot->ask.alone = 1; /* one of them is to blame: each gets its own try */
            atomic_store(&slot->state, DS_SLOT_POSTED);
            continue;
        }
        ds_answer *a = &slot->answer;
        a->loss = INFINITY;
        a->outcome = c->process[w].timed_out ? DS_EVAL_TIMEOUT : DS_EVAL_CRASHED;
        a->grad_kind = DS_GRAD_NONE;
        a->bad_step = -1;
        a->cost_steps = 0;
        uint64_t started = atomic_load(&s->worker[w].started);
        a->wall_s = started != 0 ? 1e-9 * (double)(ds_clock_ns() - started) : 0.0;
        ds_process_say_how(&c->process[w], "the worker", status, c->config.timeout, a->message,
                           sizeof(a->message));
        memset(ds_slot_grad(s, slot), 0, s->stride - sizeof(*slot) - s->n * sizeof(double));
        atomic_store(&slot->state, DS_SLOT_DONE);
        ds_ring_finished(s);
    }
    atomic_store(&s->worker[w].started, 0);
    atomic_store(&s->worker[w].many, 0);
    return found;
}

/* The successor looks at every ticket that may have been taken and skips what is done or held by others. */
static void pass_on(ds_ring *s, uint32_t w)
{
    uint64_t taken = atomic_load(&s->taken);
    uint64_t oldest = taken > s->capacity ? taken - s->capacity : 0;
    atomic_store(&s->worker[w].next, oldest);
    atomic_store(&s->worker[w].end, taken);
}

/* The socket of a worker has ended: it is dead, or as good as that. */
static void bury(ds_supervisor *c, uint32_t w)
{
    ds_process *m = &c->process[w];
    ds_error e = {0, ""};
    int state = m->state;
    int status = ds_process_bury(m, 0);
    if (atomic_load(&c->quit) || atomic_load(&c->killed) || atomic_load(&c->failed)) {
        return;
    }
    int killed = state == DS_PROCESS_STARTING && c->share != NULL && WIFSIGNALED(status) &&
                 WTERMSIG(status) == SIGKILL;
    if (state == DS_PROCESS_STARTING && (m->timed_out || !killed)) {
        char how[200];
        ds_process_say_how(m, "the worker", status,
                           c->config.timeout > DS_START_SECONDS ? c->config.timeout : DS_START_SECONDS, how,
                           sizeof(how));
        ds_fail(&e, DS_EXIT_PLUGIN, "%s: create() failed: %s", c->config.module->id, how);
        fail(c, &e);
        return;
    }
    if (settle(c, w, status) || ds_clock_ns() - m->born > LIFE_NS) {
        c->idle_deaths = 0;
    } else if (++c->idle_deaths > IDLE_DEATHS_MAX) {
        char how[200];
        ds_process_say_how(m, "the worker", status, 0.0, how, sizeof(how));
        ds_fail(&e, DS_EXIT_PLUGIN, "%s: workers keep dying between evaluations: %s", c->config.module->id,
                how);
        fail(c, &e);
        return;
    }
    pass_on(c->share, w);
    start_process(c, w);
}

/* ---- the thread ---- */

/* Kills the worker whose evaluation, or start, has exceeded the time limit. */
static void enforce_limit(ds_supervisor *c, uint32_t w)
{
    ds_process *m = &c->process[w];
    uint64_t now = ds_clock_ns();
    double limit = c->config.timeout;
    if (limit <= 0.0 || m->timed_out) {
        return;
    }
    if (m->state == DS_PROCESS_STARTING) {
        limit = limit > DS_START_SECONDS ? limit : DS_START_SECONDS;
        if (1e-9 * (double)(now - m->born) > limit) {
            m->timed_out = 1;
            kill(m->pid, SIGKILL);
        }
        return;
    }
    uint64_t started = atomic_load(&c->share->worker[w].started);
    if (started == 0 || started > now || 1e-9 * (double)(now - started) <= limit) {
        return;
    }
    for (uint64_t i = 0; i < c->share->capacity; i++) {
        uint32_t state = DS_SLOT_OF(DS_SLOT_RUNNING, w);
        ds_slot *slot = ds_ring_slot(c->share, i);
        if (atomic_load(&slot->state) == state && atomic_load(&c->share->worker[w].started) == started &&
            atomic_compare_exchange_strong(&slot->state, &state, DS_SLOT_OF(DS_SLOT_KILLED, w))) {
            m->timed_out = 1;
            kill(m->pid, SIGKILL);
            return;
        }
    }
}

/* Milliseconds between two looks at the time limits. */
static int poll_interval(const ds_supervisor *c)
{
    if (c->config.timeout <= 0.0) {
        return -1;
    }
    double ms = 100.0 * c->config.timeout;
    return ms > 100.0 ? 100 : ms < 2.0 ? 2 : (int)ms;
}

static int alive(const ds_supervisor *c)
{
    for (uint32_t w = 0; w < c->config.jobs; w++) {
        if (c->process[w].state != DS_PROCESS_NONE) {
            return 1;
        }
    }
    return 0;
}

/* Kills all workers, or those only that are not ready yet. */
static void kill_members(ds_supervisor *c, int starting_only)
{
    for (uint32_t w = 0; w < c->config.jobs; w++) {
        int state = c->process[w].state;
        if (state == DS_PROCESS_STARTING || (state == DS_PROCESS_READY && !starting_only)) {
            kill(c->process[w].pid, SIGKILL);
        }
    }
}

static void look(ds_supervisor *c, const struct pollfd *fds)
{
    for (uint32_t w = 0; w < c->config.jobs; w++) {
        ds_process *m = &c->process[w];
        const struct pollfd *p = fds + 1 + 2 * w;
        if (m->state == DS_PROCESS_NONE) {
            continue;
        }
        if (p[1].revents != 0) {
            ds_process_read_output(m);
        }
        if (p[0].revents != 0) {
            char byte = 0;
            ssize_t got = recv(m->socket, &byte, 1, MSG_DONTWAIT);
            if (got == 1 && byte == DS_WORKER_HELLO && m->state == DS_PROCESS_STARTING) {
                handshake(c, w);
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
    ds_supervisor *c = arg;
    struct pollfd *fds = calloc(1 + 2 * (size_t)c->config.jobs, sizeof(*fds));
    uint64_t closing = 0;
    if (fds == NULL) {
        ds_error e;
        ds_fail(&e, DS_EXIT_MEMORY, "out of memory");
        fail(c, &e);
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
                if (c->process[w].state == DS_PROCESS_NONE) {
                    start_process(c, w);
                }
            }
        }
        fds[0] = (struct pollfd){c->event_fd, POLLIN, 0};
        for (uint32_t w = 0; w < c->config.jobs; w++) {
            int used = c->process[w].state != DS_PROCESS_NONE;
            fds[1 + 2 * w] = (struct pollfd){used ? c->process[w].socket : -1, POLLIN, 0};
            fds[2 + 2 * w] = (struct pollfd){used ? c->process[w].output : -1, POLLIN, 0};
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

static void signal_thread(ds_supervisor *c)
{
    uint64_t one = 1;
    while (write(c->event_fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

/* ---- the host's side ---- */

/* What the workers have in hand stays unfinished, and no new ones start. */
static void kill_all(ds_supervisor *c)
{
    atomic_store(&c->killed, 1);
    signal_thread(c);
}

static int has_failed(ds_supervisor *c, ds_error *e)
{
    if (!atomic_load(&c->failed)) {
        return 0;
    }
    pthread_mutex_lock(&c->lock);
    int rc = ds_fail(e, c->error.status, "%s", c->error.text);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

static int start_thread(ds_supervisor *c, ds_error *e)
{
    /* Signals are the business of the thread that runs the optimizer. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&c->thread, NULL, watch, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0) {
        return ds_fail(e, DS_EXIT_MEMORY, "cannot start the thread that watches the workers: %s",
                       strerror(code));
    }
    c->thread_runs = 1;
    return 0;
}

/* Waits for the first worker. */
static int wait_ready(ds_supervisor *c, ds_error *e)
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
            kill_all(c);
        }
    }
    pthread_mutex_unlock(&c->lock);
    return rc != 0 ? rc : has_failed(c, e);
}

int ds_supervisor_open(const ds_supervisor_config *config, ds_supervisor **out, ds_error *e)
{
    ds_supervisor *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    c->config = *config;
    c->config.jobs = config->jobs > 0 ? config->jobs : 1;
    c->program = config->program != NULL ? strdup(config->program) : NULL;
    c->process = calloc(c->config.jobs, sizeof(*c->process));
    c->share_fd = ds_memory_file("diffsim-share");
    c->scene_fd = ds_memory_file("diffsim-scene");
    c->event_fd = eventfd(0, EFD_CLOEXEC);
    atomic_store(&c->wanted, 1);
    int rc = 0;
    if (c->process == NULL || c->share_fd < 0 || c->scene_fd < 0 || c->event_fd < 0) {
        rc = ds_fail(e, DS_EXIT_IO, "cannot make the shared memory of the workers: %s", strerror(errno));
    }
    c->orders = (ds_orders){.seed = config->seed,
                            .memory = config->memory > 0 ? config->memory << 20 : 0,
                            .threads = config->threads};
    rc = rc != 0 ? rc
                 : ds_orders_write(&c->orders, config->module->path, config->module->id, config->params, e);
    if (rc == 0) {
        adopt(c);
        rc = start_thread(c, e);
    }
    rc = rc != 0 ? rc : wait_ready(c, e);
    if (rc != 0) {
        ds_supervisor_close(c);
        return rc;
    }
    *out = c;
    return 0;
}

void ds_supervisor_close(ds_supervisor *c)
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
    } else if (c->process != NULL && c->process[0].state != DS_PROCESS_NONE) {
        ds_process_bury(&c->process[0], 1);
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
    free(c->bounds);
    ds_channels_clear(&c->channels);
    free(c->process);
    free(c->orders.texts);
    free(c->program);
    free(c);
}

const ds_env_facts *ds_supervisor_env_of(const ds_supervisor *c)
{
    return &c->env;
}

ds_ring *ds_supervisor_share(ds_supervisor *c)
{
    return c->share;
}

void ds_supervisor_want(ds_supervisor *c, uint32_t count)
{
    count = count > c->config.jobs ? c->config.jobs : count;
    if (count > atomic_load(&c->wanted)) {
        atomic_store(&c->wanted, count);
        signal_thread(c);
    }
}

int ds_supervisor_sleep(ds_supervisor *c, const ds_slot *slot, uint32_t wake_at, uint64_t *stop_at,
                        ds_error *e)
{
    ds_ring *s = c->share;
    if (c->config.stop != NULL && atomic_load_explicit(c->config.stop, memory_order_relaxed) != 0) {
        atomic_store(&s->stop, 1);
        *stop_at = *stop_at == 0 ? ds_clock_ns() + STOP_NS : *stop_at;
    }
    if (*stop_at != 0 && ds_clock_ns() > *stop_at) {
        kill_all(c);
        return DS_SUPERVISOR_STOPPED;
    }
    int rc = has_failed(c, e);
    if (rc != 0) {
        return rc;
    }
    atomic_store(&s->wake_at, wake_at);
    atomic_store(&s->waiting, 1);
    uint32_t now = atomic_load(&s->done);
    if (!ds_slot_done(slot) && (int32_t)(now - wake_at) < 0) {
        ds_futex_wait(&s->done, now, *stop_at != 0 ? WAIT_NS / 10 : WAIT_NS);
    }
    atomic_store(&s->waiting, 0);
    return 0;
}

int ds_supervisor_scene_fd(const ds_supervisor *c)
{
    return c->scene_fd;
}
