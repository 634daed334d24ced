/* SPDX-License-Identifier: Apache-2.0 */
/* py.c - the adapter for FILE.py:NAME (diffsim/adapter.h): a class with loss(), or with reset() and step(),
 * is an environment, a class with run() an optimizer. Each instance has its own Python process,
 * python/diffsim/serve.py. */
#include <diffsim/adapter.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/opening.h"
#include "adapters/python/adapted.h"

/* create() does not receive the plugin, so each file has its own create(). */
enum { FILES = 16 };
static adapted *file[FILES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of them */

#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define CREATE(k)                                                                                            \
    static ds_status create_env_##k(const ds_host *host, void **out)                                         \
    {                                                                                                        \
        return adapted_create_env(file[k], host, out);                                                       \
    }                                                                                                        \
    static ds_status create_optimizer_##k(const ds_host *host, const ds_problem *problem, void **out)        \
    {                                                                                                        \
        return adapted_create_optimizer(file[k], host, problem, out);                                        \
    }
EACH(CREATE)

#define PAIR(k) {create_env_##k, create_optimizer_##k},
static const struct {
    ds_status (*env)(const ds_host *host, void **out);
    ds_status (*optimizer)(const ds_host *host, const ds_problem *problem, void **out);
} create[FILES] = {EACH(PAIR)};

/* ---- the adapter ---- */

/* Lets Python describe the class in the file: 0, or -1 and one line. */
static int describe(adapted *a, char *why, size_t room)
{
    char how[200];
    if (child_start(&a->first, a->file, a->object, why, room) != 0) {
        return -1;
    }
    const ds_status st = child_ask(&a->first, NULL, TALK_DESCRIBE);
    const talk_head *h = a->first.talk.head;
    if (child_dead(&a->first, how, sizeof how)) {
        snprintf(why, room, "%s: its Python process %s", a->file, how);
    } else if (st != DS_OK) {
        snprintf(why, room, "%.*s", TALK_TEXT, h->text);
    } else if (h->bytes > a->first.talk.mapped ||
               description_read(&a->description, a->first.talk.room, h->bytes) != 0) {
        snprintf(why, room,
                 "%s: the description by the Python package diffsim is invalid: is the package of another "
                 "version?",
                 a->file);
    } else {
        return 0;
    }
    child_end(&a->first);
    return -1;
}

static adapted *make(const ds_adapter_request *q, size_t k, char *why, size_t room)
{
    adapted *a = calloc(1, sizeof *a);
    if (a == NULL) {
        snprintf(why, room, "%s: out of memory", q->file);
        return NULL;
    }
    snprintf(a->file, sizeof a->file, "%s", q->file);
    snprintf(a->object, sizeof a->object, "%s", q->object);
    if (describe(a, why, room) != 0) {
        free(a);
        return NULL;
    }
    const int env = a->description.desc.kind == DS_KIND_ENV;
    a->env = adapted_env;
    a->env.create = create[k].env;
    a->optimizer = adapted_optimizer;
    a->optimizer.create = create[k].optimizer;
    a->plugin = (ds_plugin){.magic = DS_MAGIC,
                            .struct_size = sizeof a->plugin,
                            .abi_major = DS_ABI_MAJOR,
                            .abi_minor = DS_ABI_MINOR,
                            .layout = DS_LAYOUT,
                            .build = __VERSION__,
                            .desc = &a->description.desc,
                            .env = env ? &a->env : NULL,
                            .optimizer = env ? NULL : &a->optimizer};
    return a;
}

static const ds_plugin *find_or_make(const ds_adapter_request *q, char *why, size_t room)
{
    size_t k = 0;
    while (k < FILES && file[k] != NULL &&
           (strcmp(file[k]->file, q->file) != 0 || strcmp(file[k]->object, q->object) != 0)) {
        k++;
    }
    if (k == FILES) {
        snprintf(why, room, "%s: a process can have at most %d plugins in Python", q->file, FILES);
        return NULL;
    }
    if (file[k] == NULL) {
        file[k] = make(q, k, why, room);
    }
    return file[k] != NULL ? &file[k]->plugin : NULL;
}

const ds_plugin *ds_adapter_query(uint32_t host_major, uint32_t host_minor, ds_adapter_request *request)
{
    char none[8], *why;
    size_t room;
    (void)host_major; /* the host compares the versions */
    (void)host_minor;
    if (!adapter_opens(request, none, &why, &room)) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    const ds_plugin *p = find_or_make(request, why, room);
    pthread_mutex_unlock(&lock);
    return p;
}
