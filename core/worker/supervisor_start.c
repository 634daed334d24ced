/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor_start.c - starting workers: what they are told, what they answer, and the memory that is shared with
 * them. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "worker/supervisor_internal.h"

enum {
    SLOT_BYTES = 32 << 20, /* memory of all slots, unless single ones are larger */
    CAPACITY_MAX = 1024,
    SPIN_NS = 40000 /* longest busy wait of a worker */
};

int ds_supervisor_make_texts(ds_supervisor *c, ds_error *e)
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

void ds_supervisor_fail(ds_supervisor *c, const ds_error *why)
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

void ds_supervisor_start_process(ds_supervisor *c, uint32_t w)
{
    ds_worker_start head = {.magic = DS_WORKER_MAGIC,
                            .seed = c->config.seed,
                            .memory = c->config.memory > 0 ? c->config.memory << 20 : 0,
                            .threads = c->config.threads,
                            .index = w,
                            .settings = c->setting_count,
                            .texts = c->text_bytes,
                            .parent = getpid()};
    ds_process *m = &c->process[w];
    ds_error e = {0, ""};
    if (ds_spawn_worker(c->program, &head, c->texts, c->share_fd, c->scene_fd, &m->child, &e) != 0) {
        m->state = PROCESS_NONE;
        ds_supervisor_fail(c, &e);
        return;
    }
    m->state = PROCESS_STARTING;
    m->timed_out = 0;
    m->born = ds_clock_ns();
    memset(&m->log, 0, sizeof(m->log));
    m->log.source = c->config.module->id;
}

/* Sizes and maps the shared memory once n is known. */
static int make_share(ds_supervisor *c, ds_error *e)
{
    ds_ring head;
    uint64_t capacity = c->config.capacity;
    memset(&head, 0, sizeof(head));
    head.extra = c->config.extra;
    if (capacity == 0) {
        ds_ring_layout(&head, c->config.jobs, 1, c->env.info.n, c->env.residuals);
        capacity = SLOT_BYTES / head.stride;
        capacity = capacity < 2 * c->config.jobs ? 2 * c->config.jobs : capacity;
        capacity = capacity > CAPACITY_MAX && capacity > 4 * c->config.jobs ? CAPACITY_MAX : capacity;
    }
    uint64_t size = ds_ring_layout(&head, c->config.jobs, capacity, c->env.info.n, c->env.residuals);
    int code;
    /* Limits of file sizes hold for memory files, too: fewer slots do as well. */
    while ((code = ftruncate(c->share_fd, (off_t)size) != 0 ? errno : 0) == EFBIG &&
           capacity > 2 * c->config.jobs) {
        capacity /= 2;
        size = ds_ring_layout(&head, c->config.jobs, capacity, c->env.info.n, c->env.residuals);
    }
    ds_ring *s =
        code == 0 ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, c->share_fd, 0) : MAP_FAILED;
    if (s == MAP_FAILED) {
        code = code != 0 ? code : errno;
        return ds_fail(e, code == EFBIG ? DS_EXIT_IO : DS_EXIT_MEMORY,
                       "no %llu bytes of shared memory for the workers: %s%s", (unsigned long long)size,
                       strerror(code), code == EFBIG ? "; the file size limit (ulimit -f) is too small" : "");
    }
    s->n = head.n;
    s->m = head.m;
    s->size = head.size;
    s->workers = head.workers;
    s->capacity = head.capacity;
    s->stride = head.stride;
    s->extra = head.extra;
    s->first = head.first;
    s->watched = c->config.timeout > 0.0;
    s->spin_ns = c->config.jobs <= ds_processors() ? SPIN_NS : 0;
    s->magic = DS_RING_MAGIC;
    c->share = s;
    return 0;
}

/* Reads the answer of the first worker: what the environment is. */
static int read_env(ds_supervisor *c, const ds_worker_hello *hello, int fd, ds_error *e)
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
    c->env.rl = hello->rl;
    c->env.residuals = hello->residuals;
    c->env.lower = bounds;
    c->env.upper = bounds + n;
    c->env.x0 = bounds + 2 * n;
    return make_share(c, e);
}

/* A worker says that its instance is made, or why not. */
void ds_supervisor_handshake(ds_supervisor *c, uint32_t w)
{
    ds_process *m = &c->process[w];
    ds_worker_hello hello;
    ds_error e = {0, ""};
    if (pread(m->child.start, &hello, sizeof(hello), 0) != (ssize_t)sizeof(hello) ||
        hello.magic != DS_WORKER_MAGIC) {
        ds_fail(&e, DS_EXIT_PLUGIN, "%s: the worker's answer is incomplete", c->config.module->id);
    } else if (hello.error.status != 0) {
        e = hello.error;
        e.text[sizeof(e.text) - 1] = '\0';
    } else if (c->share == NULL) {
        read_env(c, &hello, m->child.start, &e);
    } else if (hello.info.n != c->env.info.n) {
        ds_fail(&e, DS_EXIT_PLUGIN, "%s: info() says %llu variables in one process and %llu in another",
                c->config.module->id, (unsigned long long)c->env.info.n, (unsigned long long)hello.info.n);
    } else if (hello.residuals != c->env.residuals) {
        ds_fail(&e, DS_EXIT_PLUGIN, "%s: %llu residuals in one process and %llu in another",
                c->config.module->id, (unsigned long long)c->env.residuals,
                (unsigned long long)hello.residuals);
    }
    if (e.status != 0) {
        ds_supervisor_fail(c, &e);
        return;
    }
    m->state = PROCESS_READY;
    char go = DS_WORKER_GO;
    if (send(m->child.socket, &go, 1, MSG_NOSIGNAL) != 1) {
        return; /* it died: the end of its socket tells */
    }
    pthread_mutex_lock(&c->lock);
    c->ready = 1;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}
