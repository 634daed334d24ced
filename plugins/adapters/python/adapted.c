/* SPDX-License-Identifier: Apache-2.0 */
/* adapted.c - what environments and optimizers in Python have in common: a process, and parameters. */
#include "adapters/python/adapted.h"

#include <diffsim/helper/fail.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the processes that wait */

/* The process that waits for the first instance, or one more. */
static ds_status take(adapted *a, const ds_host *host, child *out)
{
    char why[600];
    pthread_mutex_lock(&lock);
    const int waits = a->first.pid > 0 && a->first.owner == getpid();
    if (waits) {
        *out = a->first;
        /* Loading has opened the descriptor, so it stays open when the instance goes. */
        out->talk.fd = fcntl(out->talk.fd, F_DUPFD_CLOEXEC, TALK_FD_LEAST);
        a->first = (child){.pid = 0};
    }
    pthread_mutex_unlock(&lock);
    if (waits || child_start(out, a->file, a->object, why, sizeof why) == 0) {
        return DS_OK;
    }
    return ds_host_fail(host, DS_E_GENERIC, "%s", why);
}

/* The values of its parameters go into the room, head->bytes long. */
static ds_status put_values(const adapted *a, const ds_host *host, child *c)
{
    json_t *values = description_values(&a->description.desc, host);
    char *text = values != NULL ? json_dumps(values, JSON_COMPACT) : NULL;
    const size_t bytes = text != NULL ? strlen(text) : 0;
    ds_status st = DS_OK;
    if (values == NULL) {
        st = DS_E_PARAM;
    } else if (text == NULL || talk_grow(&c->talk, bytes) != 0) {
        st = ds_host_fail(host, DS_E_NOMEM, "no memory for the parameters");
    } else {
        memcpy(c->talk.room, text, bytes);
        c->talk.head->bytes = bytes;
    }
    free(text);
    json_decref(values);
    return st;
}

ds_status adapted_begin(adapted *a, const ds_host *host, child *out)
{
    ds_status st = take(a, host, out);
    if (st != DS_OK) {
        return st;
    }
    st = put_values(a, host, out);
    if (st == DS_OK) {
        out->talk.head->threads = host->threads;
        child_limit_memory(out);
        st = child_ask(out, host, TALK_CREATE);
        st = st >= 0 ? st : ds_host_fail(host, st, "%.500s", out->talk.head->text);
    }
    if (st != DS_OK) {
        child_end(out);
    }
    return st;
}
