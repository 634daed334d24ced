/* SPDX-License-Identifier: Apache-2.0 */
/* worker.c - dshost-worker, the process that makes one environment instance and evaluates for its host, or
 * in which an optimizer searches (proxy.h). The kind of the plugin that it is told to load says which. */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/guard.h"
#include "base/log.h"
#include "plugin/instance.h"
#include "scene/scene_write.h"
#include "worker/protocol.h"
#include "worker/proxy.h"
#include "worker/ring.h"

enum {
    CHUNK_MAX = 16,         /* tickets taken at once, when evaluations are cheap */
    MANY_NUMBERS = 1 << 16, /* variables of all points in one call */
    GAP = 8,                /* numbers between two of them */
    CHEAP_NS = 20000,       /* work that is worth taking at once */
    SLEEP_NS = 1000000000   /* a sleeping worker looks up now and then */
};

/* Buffers for x and gradient, with channels for questions and answers, with the
 * extension batch for `many` rows. */
enum { X, GRAD, IN, OUT, XS, GRADS, GUARDS };

typedef struct worker {
    ds_worker_start start;
    char *texts;
    ds_env *env;
    ds_ring *share;
    ds_ring_worker *mine;
    ds_guard guard[GUARDS]; /* what the plugin gets to see */
    uint64_t many;
    double typical_ns; /* running mean of the time of one evaluation */
    ds_spin spin;
    ds_episode lane[DS_MAX_LANES]; /* of stepwise control */
    double *actions, *obs;         /* what its plugin gets to see */
} worker;

/* ---- start ---- */

/* Dies with the host, leaves no core file, and leaves the signals of the terminal to the host. */
static int settle_in(int64_t parent)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};
    struct rlimit none = {0, 0};
    sigset_t empty;
    for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++) {
        signal(ignored[i], SIG_IGN);
    }
    sigemptyset(&empty);
    sigprocmask(SIG_SETMASK, &empty, NULL);
    prctl(PR_SET_NAME, "dshost-worker");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &none);
    syscall(SYS_close_range, DS_WORKER_FDS, ~0u, 0);
    return getppid() == (pid_t)parent ? 0 : -1;
}

static int read_start(worker *w, ds_error *e)
{
    ds_worker_start *s = &w->start;
    if (pread(DS_WORKER_START, s, sizeof(*s), 0) != (ssize_t)sizeof(*s) || s->magic != DS_WORKER_MAGIC) {
        return ds_fail(e, DS_EXIT_USAGE, "dshost-worker is for dshost itself");
    }
    free(w->texts);
    w->texts = malloc(s->texts + 1);
    if (w->texts == NULL) {
        return ds_no_memory(e);
    }
    if (pread(DS_WORKER_START, w->texts, s->texts, sizeof(*s)) != (ssize_t)s->texts) {
        return ds_fail(e, DS_EXIT_IO, "the start file of the worker is incomplete");
    }
    w->texts[s->texts] = '\0';
    return 0;
}

/* Limits the address space to `extra` bytes more than is mapped now. */
static void limit_memory(int64_t extra)
{
#ifdef DS_SANITIZERS
    (void)extra; /* their shadow memory alone is terabytes */
#else
    unsigned long pages = 0;
    FILE *f = extra > 0 ? fopen("/proc/self/statm", "re") : NULL;
    if (f != NULL) {
        if (fscanf(f, "%lu", &pages) == 1) {
            struct rlimit limit;
            getrlimit(RLIMIT_AS, &limit);
            rlim_t wanted = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)extra;
            if (limit.rlim_max == RLIM_INFINITY || wanted < limit.rlim_max) {
                limit.rlim_cur = wanted;
                setrlimit(RLIMIT_AS, &limit);
            }
        }
        fclose(f);
    }
#endif
}

/* Loads the plugin that the start file names; *rest gets what lies behind its path and id. */
static int load(const worker *w, const ds_module **out, const char **rest, ds_error *e)
{
    ds_plugin_file f;
    const char *id = w->texts + strlen(w->texts) + 1;
    snprintf(f.path, sizeof(f.path), "%s", w->texts);
    snprintf(f.id, sizeof(f.id), "%s", id);
    *rest = id;
    return ds_loader_load(&f, out, e);
}

static char await_byte(void)
{
    char byte = 0;
    ssize_t got;
    while ((got = recv(DS_WORKER_SOCKET, &byte, 1, 0)) < 0 && errno == EINTR) {
    }
    return got == 1 ? byte : '\0';
}

static int send_byte(char byte)
{
    return send(DS_WORKER_SOCKET, &byte, 1, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

static int empty(int fd)
{
    return ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0 ? -1 : 0;
}

/* Tells the host what the plugin is, and waits for settings. -1 where there are none: the plugin was
 * refused, or the host has no use for it. */
static int describe(worker *w)
{
    const ds_module *module = NULL;
    const char *rest;
    size_t size = 0;
    ds_error e = {0, ""};
    int rc = load(w, &module, &rest, &e);
    void *report = ds_loader_report(module, &e, &size);
    int told = report != NULL && empty(DS_WORKER_START) == 0 &&
               ds_fd_write_all(DS_WORKER_START, report, size, "start file", &e) == 0 &&
               send_byte(DS_WORKER_DESCRIBED) == 0;
    free(report);
    /* One that was refused waits, too, until the host ends it: its own end might print at no certain time. */
    if (!told || await_byte() != DS_WORKER_SETTINGS || rc != 0) {
        return -1;
    }
    return read_start(w, &e) == 0 ? 0 : -1;
}

/* The settings of the start file, which begin behind the text `at`. */
static int read_settings(const worker *w, const char *at, int section, ds_settings *settings, ds_error *e)
{
    int rc = 0;
    memset(settings, 0, sizeof(*settings));
    for (uint32_t i = 0; rc == 0 && i < w->start.settings; i++) {
        const char *key = at + strlen(at) + 1;
        const char *value = key + strlen(key) + 1;
        rc = ds_settings_add(settings, section, key, value, "worker", NULL, DS_EXIT_CONFIG, 0, e);
        at = value;
    }
    return rc;
}

/* Makes an instance as the start file says. */
static int make_env(worker *w, ds_env **out, ds_error *e)
{
    const ds_module *module = NULL;
    ds_settings settings;
    const char *at;
    int rc = load(w, &module, &at, e);
    if (rc != 0) {
        return rc;
    }
    rc = read_settings(w, at, DS_SECTION_ENV, &settings, e);
    if (rc == 0) {
        if (w->env == NULL) {
            limit_memory(w->start.memory);
        }
        rc = ds_env_open(module, &settings, w->start.seed, w->start.threads, NULL, out, e);
    }
    ds_settings_clear(&settings);
    return rc;
}

static int send_hello(const worker *w, const ds_error *why)
{
    ds_worker_hello hello;
    ds_error e;
    memset(&hello, 0, sizeof(hello));
    hello.magic = DS_WORKER_MAGIC;
    hello.error = *why;
    if (w->env != NULL) {
        hello.env = ds_env_facts_of(w->env);
        hello.channels = w->env->channels.count;
    }
    if (empty(DS_WORKER_START) != 0 ||
        ds_fd_write_all(DS_WORKER_START, &hello, sizeof(hello), "start file", &e) != 0) {
        return -1;
    }
    if (w->env != NULL) {
        uint64_t n = w->env->info.n;
        const struct {
            const void *data;
            size_t bytes;
        } part[] = {{w->env->lower, n * sizeof(double)},
                    {w->env->upper, n * sizeof(double)},
                    {w->env->x0, n * sizeof(double)},
                    {w->env->variables, w->env->variables != NULL ? n * sizeof(ds_named_variable) : 0},
                    {w->env->channels.entry, hello.channels * sizeof(ds_channel_entry)}};
        for (int i = 0; i < 5; i++) {
            if (part[i].bytes > 0 &&
                ds_fd_write_all(DS_WORKER_START, part[i].data, part[i].bytes, "start file", &e) != 0) {
                return -1;
            }
        }
    }
    return send_byte(DS_WORKER_HELLO);
}

/* Makes the buffers between guard pages; -1 without memory. */
static int open_guards(worker *w)
{
    uint64_t n = w->share->n, rows = 0;
    if (w->env->batch != NULL) {
        w->many = MANY_NUMBERS / n < DS_MAX_ROWS ? MANY_NUMBERS / n : DS_MAX_ROWS;
        rows = w->many < 2 ? 0 : w->many * (n + GAP);
    }
    const uint64_t count[GUARDS] = {n, n, w->share->in, w->share->out, rows, rows};
    for (int i = 0; i < GUARDS; i++) {
        if (count[i] > 0 && ds_guard_open(&w->guard[i], count[i], 1) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Waits for the shared memory and maps it. */
static int join_share(worker *w)
{
    if (await_byte() != DS_WORKER_GO) {
        return -1;
    }
    off_t size = lseek(DS_WORKER_SHARE, 0, SEEK_END);
    struct rlimit limit;
    uint64_t in, out;
    if (size <= 0) {
        return -1;
    }
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        limit.rlim_cur += (rlim_t)size; /* ours, not the plugin's */
        setrlimit(RLIMIT_AS, &limit);
    }
    void *map = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, DS_WORKER_SHARE, 0);
    if (map == MAP_FAILED) {
        return -1;
    }
    w->share = map;
    ds_asks_room(&w->env->channels, w->env->info.n, &in, &out);
    if (w->share->magic != DS_RING_MAGIC || w->share->n != w->env->info.n || w->share->in != in ||
        w->share->out != out || open_guards(w) != 0) {
        return -1;
    }
    w->mine = &w->share->worker[w->start.index];
    w->spin.max_ns = w->share->spin_ns;
    w->spin.limit_ns = w->share->spin_ns;
    w->env->services.stop = &w->share->stop;
    return 0;
}

/* ---- stepwise control: an instance for each lane; the worker's own serves the first ---- */

static int prepare_lane(worker *w, ds_episode *ep, ds_error *e)
{
    int taken = 0, rc = 0;
    if (w->actions == NULL) {
        w->actions = malloc(w->share->n * sizeof(double));
        w->obs = malloc(w->env->rl_info.n_obs * sizeof(double));
    }
    if (w->actions == NULL || w->obs == NULL) {
        return ds_no_memory(e);
    }
    for (size_t i = 0; i < DS_MAX_LANES; i++) {
        taken |= w->lane[i].env == w->env;
    }
    if (ep->env == NULL && !taken) {
        ep->env = w->env;
    } else if (ep->env == NULL && (rc = make_env(w, &ep->env, e)) == 0) {
        ep->env->services.stop = &w->share->stop;
    }
    return rc;
}

/* Makes the step in a slot. */
static void step(worker *w, ds_slot *slot)
{
    const ds_rl_info *info = &w->env->rl_info;
    ds_episode *ep = &w->lane[(slot->ask.episode - 1) % DS_MAX_LANES];
    double *head = ds_slot_extra(w->share, slot);
    uint64_t number = (uint64_t)head[DS_SLOT_STEP];
    ds_episode_answer out;
    ds_error e = {0, ""};
    if (w->env->rl == NULL || number > info->horizon || prepare_lane(w, ep, &e) != 0) {
        slot->answer = (ds_answer){.loss = INFINITY, .outcome = DS_EVAL_ERROR, .bad_step = -1};
        snprintf(slot->answer.message, sizeof(slot->answer.message), "%.199s", e.text);
        return;
    }
    memcpy(w->actions, ds_slot_x(slot), number * info->n_act * sizeof(double));
    ds_episode_advance(ep, slot->ask.noise_key, number, w->actions, w->obs, &out);
    if (out.answer.outcome == DS_EVAL_STOPPED && atomic_load(&w->share->stop) == 0) {
        out.answer.outcome = DS_EVAL_INVALID;
        strcpy(out.answer.message, "step() returned DS_STOPPED though nobody asked to stop");
    }
    slot->answer = out.answer;
    head[DS_SLOT_REWARD] = out.reward;
    head[DS_SLOT_ENDED] = out.ended;
    if (out.answer.outcome == DS_EVAL_OK) {
        memcpy(head + DS_SLOT_STEP_HEAD, w->obs, info->n_obs * sizeof(double));
    }
}

static void close_lanes(worker *w)
{
    for (size_t i = 0; i < DS_MAX_LANES; i++) {
        if (w->lane[i].env != w->env) {
            ds_env_close(w->lane[i].env);
        }
    }
    free(w->actions);
    free(w->obs);
}

/* ---- work ---- */

static void refuse(ds_answer *a, const char *text)
{
    a->loss = INFINITY;
    a->outcome = DS_EVAL_INVALID;
    a->grad_kind = DS_GRAD_NONE;
    snprintf(a->message, sizeof(a->message), "%s", text);
}

/* The frames and metrics of the evaluation just made go to the scene file. An empty file means
 * that there are none, one that begins with DS_SCENE_REFUSED has the exit status and the reason
 * why they could not be written. */
static void write_scene(worker *w, const ds_answer *a, uint32_t keep)
{
    const ds_scene *vt = ds_env_scene(w->env);
    uint64_t room[DS_TRACE_FRAMES], count;
    ds_error e = {0, ""};
    char *block;
    size_t size;
    if (empty(DS_WORKER_SCENE) != 0 || vt == NULL || a->outcome == DS_EVAL_STOPPED) {
        return;
    }
    const uint64_t *frames = ds_scene_frames(vt, w->env->self, keep, room, &count);
    int rc = ds_scene_write(vt, w->env->self, frames, count, &block, &size, &e);
    rc = rc != 0 ? rc : ds_fd_write_all(DS_WORKER_SCENE, block, size, "scene", &e);
    free(block);
    if (rc != 0 && (empty(DS_WORKER_SCENE) != 0 ||
                    dprintf(DS_WORKER_SCENE, "%c%d %s", DS_SCENE_REFUSED, e.status, e.text) < 0)) {
        ds_log(DS_LOG_WARNING, w->env->module->id, "scene: %s", e.text);
    }
}

/* After a call of the plugin for a slot: has it kept to the rules? */
static void check(worker *w, ds_slot *slot, const ds_inquiry *q)
{
    ds_answer *a = &slot->answer;
    ds_guard *g = w->guard;
    if (a->outcome == DS_EVAL_STOPPED && atomic_load(&w->share->stop) == 0) {
        refuse(a, "evaluate() returned DS_STOPPED though nobody asked to stop");
    }
    if (!ds_guard_intact(&g[GRAD]) || !ds_guard_intact(&g[X]) ||
        (q != NULL && (!ds_guard_intact(&g[OUT]) || !ds_guard_intact(&g[IN])))) {
        refuse(a, "evaluate() wrote before the beginning of one of its buffers");
    }
    if (memcmp(g[X].data, ds_slot_x(slot), w->share->n * sizeof(double)) != 0 ||
        (q != NULL && memcmp(q->in, ds_slot_in(w->share, slot), q->asks->in * sizeof(double)) != 0)) {
        refuse(a, q != NULL ? "evaluate() changed x, v or w" : "evaluate() changed x");
    }
}

/* The questions of a slot between the guard pages; the host alone writes there, yet a wild plugin might. */
static int take_questions(worker *w, ds_slot *slot, ds_asks *asks, ds_inquiry *q)
{
    *asks = *ds_slot_asks(w->share, slot);
    if (asks->count > DS_MAX_ASKS || asks->in > w->share->in || asks->out > w->share->out) {
        return -1;
    }
    double *in = w->guard[IN].data + (w->guard[IN].n - asks->in);
    memcpy(in, ds_slot_in(w->share, slot), asks->in * sizeof(double));
    *q = (ds_inquiry){asks, in, w->guard[OUT].data + (w->guard[OUT].n - asks->out)};
    return 0;
}

/* Evaluates the row in a slot. The plugin works on copies between guard pages;
 * numbers lie directly before them. */
static void evaluate_slot(worker *w, ds_slot *slot)
{
    uint64_t n = w->share->n;
    ds_answer *a = &slot->answer;
    uint32_t want = slot->ask.want;
    double *x = w->guard[X].data, *grad = w->guard[GRAD].data;
    ds_asks asks;
    ds_inquiry inquiry, *q = slot->ask.asks != 0 ? &inquiry : NULL;
    if (atomic_load_explicit(&w->share->stop, memory_order_relaxed) != 0) {
        a->outcome = DS_EVAL_STOPPED;
        a->message[0] = '\0';
        return;
    }
    if (slot->ask.episode != 0) {
        step(w, slot);
        return;
    }
    memcpy(x, ds_slot_x(slot), n * sizeof(double));
    if (q != NULL && take_questions(w, slot, &asks, q) != 0) {
        refuse(a, "the shared memory was overwritten");
        return;
    }
    if ((want & DS_WANT_GRAD) != 0) {
        memset(grad, 0xff, n * sizeof(double)); /* NaN: a gradient that is not filled is noticed */
    }
    ds_env_inquire(w->env, x, slot->ask.noise_key, want, grad, q, a);
    check(w, slot, q);
    if ((want & DS_WANT_GRAD) != 0 && a->outcome == DS_EVAL_OK) {
        memcpy(ds_slot_grad(w->share, slot), grad, n * sizeof(double));
    } else if ((want & DS_WANT_GRAD) != 0) {
        memset(ds_slot_grad(w->share, slot), 0, n * sizeof(double));
    }
    if (q != NULL && a->outcome <= DS_EVAL_BAD_GRAD) {
        memcpy(ds_slot_out(w->share, slot), q->out, asks.out * sizeof(double));
    } else if (q != NULL) {
        memset(ds_slot_out(w->share, slot), 0, asks.out * sizeof(double));
    }
    if ((want & DS_WANT_SCENE) != 0) {
        write_scene(w, a, slot->ask.keep);
    }
    w->typical_ns += 0.1 * (1e9 * a->wall_s - w->typical_ns);
}

/* The rows of several slots in one call, apart and with marks behind each; all want the same. Where the
 * plugin has touched what is not its own, each gets its own try, as if there were no extension. */
static void evaluate_many(worker *w, ds_slot *const *slot, uint64_t count)
{
    static const double mark = -1.25e-123;
    uint64_t n = w->share->n, stride = n + GAP, key[DS_MAX_ROWS];
    uint32_t want = slot[0]->ask.want;
    double *x = w->guard[XS].data + (w->many - count) * stride,
           *grad = w->guard[GRADS].data + (w->many - count) * stride;
    ds_answer *answer[DS_MAX_ROWS];
    for (uint64_t k = 0; k < count; k++) {
        memcpy(x + k * stride, ds_slot_x(slot[k]), n * sizeof(double));
        memset(grad + k * stride, 0xff, n * sizeof(double));
        for (uint64_t i = n; i < stride; i++) {
            x[k * stride + i] = grad[k * stride + i] = mark;
        }
        key[k] = slot[k]->ask.noise_key;
        answer[k] = &slot[k]->answer;
    }
    ds_env_evaluate_many(w->env, count, x, stride, key, want, grad, answer);
    int sound = ds_guard_intact(&w->guard[GRADS]) && ds_guard_intact(&w->guard[XS]);
    for (uint64_t k = 0; k < count; k++) {
        sound = sound && memcmp(x + k * stride, ds_slot_x(slot[k]), n * sizeof(double)) == 0 &&
                answer[k]->outcome != DS_EVAL_STOPPED;
        for (uint64_t i = n; i < stride; i++) {
            sound = sound && memcmp(&x[k * stride + i], &mark, sizeof mark) == 0 &&
                    memcmp(&grad[k * stride + i], &mark, sizeof mark) == 0;
        }
    }
    for (uint64_t k = 0; k < count; k++) {
        if (!sound) {
            evaluate_slot(w, slot[k]);
            continue;
        }
        if ((want & DS_WANT_GRAD) != 0) {
            memcpy(ds_slot_grad(w->share, slot[k]), grad + k * stride, n * sizeof(double));
        }
        w->typical_ns += 0.1 * (1e9 * answer[k]->wall_s - w->typical_ns);
    }
}

/* Takes the next tickets. 0 = there are none. */
static int take(worker *w)
{
    ds_ring *s = w->share;
    unsigned long long taken = atomic_load(&s->taken);
    for (;;) {
        unsigned long long posted = atomic_load(&s->posted);
        if (taken >= posted) {
            return 0;
        }
        /* Several at once while they are cheap, but never more than a fair share of what is there. */
        unsigned long long fair = (posted - taken) / (2u * s->workers);
        unsigned long long cheap =
            w->typical_ns > CHEAP_NS / CHUNK_MAX ? (unsigned long long)(CHEAP_NS / w->typical_ns) : CHUNK_MAX;
        cheap = cheap > w->many ? cheap : w->many;
        unsigned long long count = fair < cheap ? fair : cheap;
        count = count > 0 ? count : 1;
        if (atomic_compare_exchange_weak(&s->taken, &taken, taken + count)) {
            atomic_store_explicit(&w->mine->next, taken, memory_order_relaxed);
            atomic_store_explicit(&w->mine->end, taken + count, memory_order_release);
            return 1;
        }
    }
}

static int something_to_do(const void *ctx)
{
    const ds_ring *s = ctx;
    return atomic_load_explicit(&s->taken, memory_order_relaxed) <
               atomic_load_explicit(&s->posted, memory_order_acquire) ||
           atomic_load_explicit(&s->quit, memory_order_relaxed) != 0;
}

/* Waits until there is something to do. */
static void rest(worker *w)
{
    ds_ring *s = w->share;
    uint32_t seen = atomic_load(&s->work);
    if (ds_spin_until(&w->spin, something_to_do, s)) {
        return;
    }
    atomic_fetch_add(&s->sleepers, 1);
    if (!something_to_do(s)) {
        ds_futex_wait(&s->work, seen, SLEEP_NS);
    }
    atomic_fetch_sub(&s->sleepers, 1);
}

/* Makes a posted slot ours. 0 = another worker has it already. */
static int seize(const worker *w, ds_slot *slot)
{
    uint32_t state = DS_SLOT_POSTED;
    return atomic_compare_exchange_strong(&slot->state, &state, DS_SLOT_OF(DS_SLOT_RUNNING, w->start.index));
}

static void watch_from(worker *w, uint64_t now)
{
    if (w->share->watched) {
        atomic_store_explicit(&w->mine->started, now, memory_order_release);
    }
}

static void release(worker *w, ds_slot *slot)
{
    uint32_t running = DS_SLOT_OF(DS_SLOT_RUNNING, w->start.index);
    if (!atomic_compare_exchange_strong(&slot->state, &running, DS_SLOT_DONE)) {
        for (;;) {
            pause(); /* the host has decided that it took too long, and is about to kill us */
        }
    }
    ds_ring_finished(w->share);
}

/* Works off the ticket at hand. */
static void do_ticket(worker *w, uint64_t ticket)
{
    ds_slot *slot = ds_ring_slot(w->share, ticket);
    if (seize(w, slot)) {
        watch_from(w, w->share->watched ? ds_clock_ns() : 0);
        evaluate_slot(w, slot);
        watch_from(w, 0);
        release(w, slot);
    }
}

/* May this posted slot be evaluated together with others that want the same? Only the host writes there. */
static int sociable(const ds_slot *slot, uint32_t want)
{
    return slot->ask.asks == 0 && slot->ask.alone == 0 && slot->ask.want == want &&
           (want & DS_WANT_SCENE) == 0;
}

/* Works off tickets from the one at hand on, as many as go together; returns their number. */
static uint64_t do_tickets(worker *w, uint64_t ticket, uint64_t end)
{
    ds_ring *s = w->share;
    ds_slot *slot[DS_MAX_ROWS];
    uint64_t count = 0, taken = 0;
    if (w->many < 2 || end - ticket < 2 || atomic_load_explicit(&s->stop, memory_order_relaxed) != 0) {
        do_ticket(w, ticket);
        return 1;
    }
    atomic_store(&w->mine->many, 1); /* before the first is ours: our successor has to know */
    for (; ticket + taken < end && count < w->many; taken++) {
        ds_slot *next = ds_ring_slot(s, ticket + taken);
        if (!seize(w, next)) {
            continue;
        }
        if (!sociable(next, count > 0 ? slot[0]->ask.want : next->ask.want)) {
            atomic_store(&next->state, DS_SLOT_POSTED); /* ours still: nobody else holds this ticket */
            break;
        }
        slot[count++] = next;
    }
    if (count > 0) {
        watch_from(w, s->watched ? ds_clock_ns() : 0);
        evaluate_many(w, slot, count);
        watch_from(w, 0);
        for (uint64_t k = 0; k < count; k++) {
            release(w, slot[k]);
        }
    }
    atomic_store(&w->mine->many, 0);
    if (taken == 0) {
        do_ticket(w, ticket);
        return 1;
    }
    return taken;
}

static void work(worker *w)
{
    while (atomic_load_explicit(&w->share->quit, memory_order_relaxed) == 0) {
        uint64_t next = atomic_load_explicit(&w->mine->next, memory_order_relaxed);
        uint64_t end = atomic_load_explicit(&w->mine->end, memory_order_relaxed);
        if (next < end) {
            next += do_tickets(w, next, end);
            atomic_store_explicit(&w->mine->next, next, memory_order_relaxed);
        } else if (!take(w)) {
            rest(w);
        }
    }
}

/* Tells how the making of an instance has ended; where it failed, the host ends this process: whatever its
 * exit would print comes at no certain time. 1 = there is an instance, and somebody who wants it. */
static int report(const worker *w, int rc, const ds_error *e)
{
    int told = send_hello(w, e) == 0;
    if (told && rc != 0) {
        await_byte();
    }
    return told && rc == 0;
}

static int serve_env(worker *w)
{
    ds_error e = {0, ""};
    int rc = make_env(w, &w->env, &e);
    rc = rc != 0 ? rc : ds_env_ask_variables(w->env, &e);
    int ready = report(w, rc, &e) && join_share(w) == 0;
    if (ready) {
        work(w);
        close_lanes(w);
    }
    ds_env_close(w->env);
    for (int i = 0; i < GUARDS; i++) {
        ds_guard_close(&w->guard[i]);
    }
    if (ready) {
        munmap(w->share, w->share->size);
    }
    free(w->texts);
    return ready ? DS_EXIT_OK : DS_EXIT_UNMET;
}

/* Is the plugin an optimizer? One that cannot be loaded is told of as environments are. */
static int searches(const worker *w)
{
    const ds_module *module = NULL;
    const char *rest;
    return load(w, &module, &rest, NULL) == 0 && module->plugin->desc->kind == DS_KIND_OPTIMIZER;
}

static int serve_optimizer(worker *w)
{
    const ds_module *module = NULL;
    const char *rest;
    ds_proxy *proxy = NULL;
    ds_settings settings = {0};
    ds_error e = {0, ""};
    int rc = load(w, &module, &rest, &e);
    rc = rc != 0 ? rc : read_settings(w, rest, DS_SECTION_OPT, &settings, &e);
    if (rc == 0) {
        limit_memory(w->start.memory);
        const ds_proxy_config config = {.module = module,
                                        .settings = &settings,
                                        .seed = w->start.seed,
                                        .threads = w->start.threads,
                                        .share = DS_WORKER_SHARE,
                                        .socket = DS_WORKER_SOCKET};
        rc = ds_proxy_open(&config, &proxy, &e);
    }
    int ready = report(w, rc, &e) && await_byte() == DS_WORKER_GO;
    if (ready) {
        ds_proxy_run(proxy);
    }
    ds_proxy_close(proxy);
    ds_settings_clear(&settings);
    free(w->texts);
    return ready ? DS_EXIT_OK : DS_EXIT_UNMET;
}

int main(int argc, char **argv)
{
    worker w;
    ds_error e = {0, ""};
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        printf("dshost-worker %s (plugin ABI %u.%u)\n", PACKAGE_VERSION, DS_ABI_MAJOR, DS_ABI_MINOR);
        return DS_EXIT_OK;
    }
    /* BLAS in a plugin reads these; a host that is not dshost may not have set them. */
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
    setenv("OMP_NUM_THREADS", "1", 0);
    memset(&w, 0, sizeof(w));
    if (read_start(&w, &e) != 0) {
        ds_log(DS_LOG_ERROR, NULL, "%s", e.text);
        return e.status;
    }
    if (settle_in(w.start.parent) != 0) {
        return DS_EXIT_UNMET;
    }
    ds_log_set_level(DS_LOG_DEBUG); /* the host decides what is shown */
    if (w.start.describe && describe(&w) != 0) {
        free(w.texts);
        return DS_EXIT_UNMET;
    }
    return searches(&w) ? serve_optimizer(&w) : serve_env(&w);
}
