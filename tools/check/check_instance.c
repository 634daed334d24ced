/* SPDX-License-Identifier: Apache-2.0 */
/* check_instance.c - conformance of create() and destroy(), for environments and optimizers: parameters over
 * their whole range, errors, leaks, hosts of other versions, extensions. */
#include "config.h"

#include <diffsim/ext/scene.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "harness/check_host.h"
#include "harness/check_watch.h"
#include "harness/check_process.h"
#include "check/check_items.h"
#include "check/check_tests.h"

/* Wall time for one loop over instances, seconds. */
static const double LOOP_SECONDS = 15;

/* Calls create() of the right kind; only the plugin writes *out. */
static ds_status create(ds_check *c, const ds_check_host *h, const ds_check_problem *p, void **out)
{
    const ds_module *m = c->module;
    return m->plugin->desc->kind == DS_KIND_ENV ? m->env.create(h->host, out)
                                                : m->opt.create(h->host, &p->problem, out);
}

static void destroy(ds_check *c, void *self)
{
    if (c->module->plugin->desc->kind == DS_KIND_ENV) {
        c->module->env.destroy(self);
    } else {
        c->module->opt.destroy(self);
    }
}

/* With a gradient, for optimizers that need one. */
static void make_problem(ds_check_problem *p)
{
    ds_check_problem_make(p, 2, 1, 100);
}

/* ---- parameters ---- */

static int section_of(const ds_check *c)
{
    return c->module->plugin->desc->kind == DS_KIND_ENV ? DS_SECTION_ENV : DS_SECTION_OPT;
}

typedef struct tally {
    struct witness *witness;
    unsigned made, refused;
    double end; /* when to stop trying */
    char last_refusal[340];
} tally;

/* Evaluates once where that is cheap: some values take effect only there. A size that needs too much memory
 * may be refused here as well as in create(). */
static void try_evaluate(ds_check *c, const ds_check_host *h, void *self, const char *where, tally *t)
{
    ds_check_env env = {.vt = &c->module->env, .self = self, .loss_floor = -INFINITY};
    ds_env_info info = {.struct_size = sizeof info, .loss_floor = -INFINITY};
    ds_check_result a;

    if (section_of(c) != DS_SECTION_ENV || c->options->cost > 0.02 || env.vt->info(self, &info) != DS_OK ||
        info.n < 1 || info.n > 1000) {
        return;
    }
    double *x = calloc(4 * info.n, sizeof *x);
    if (x == NULL || env.vt->bounds(self, info.n, x, x + info.n, x + 2 * info.n) != DS_OK) {
        free(x);
        return;
    }
    env.n = info.n;
    env.has_gradient =
        (c->module->plugin->desc->flags & DS_ENV_GRADIENT) != 0 && (info.flags & DS_INFO_NO_GRADIENT) == 0;
    env.loss_floor = info.loss_floor;
    ds_check_evaluate(&env, x + 2 * info.n, env.has_gradient ? DS_WANT_GRAD : 0, 0,
                      env.has_gradient ? x + 3 * info.n : NULL, &a);
    memcpy(env.h.error_text, h->error_text, sizeof env.h.error_text);
    if (a.status == DS_E_NOMEM && h->error_text[0] != 0) {
        t->refused++;
        snprintf(t->last_refusal, sizeof t->last_refusal, "%s: %.150s", where, h->error_text);
    } else {
        ds_check_result_check(c, &env, &a, where);
    }
    free(x);
}

/* One value of a parameter. */
typedef struct trial {
    const ds_param *q;
    const char *text;
    tally tally;
} trial;

static void make_trial(ds_check *c, void *arg)
{
    trial *given = arg;
    const ds_param *q = given->q;
    const char *text = given->text;
    tally *t = &given->tally;
    ds_settings s = {0};
    ds_check_host h;
    ds_check_problem p;
    ds_error e = {0};
    char where[160];
    void *mark = c, *self = mark;

    if (ds_settings_copy(&s, &c->options->settings, &e) != 0 ||
        ds_settings_add(&s, section_of(c), q->name, text, "check", NULL, DS_EXIT_CONFIG, 2, &e) != 0) {
        ds_check_note(c, "%s = %s: %s", q->name, text, e.text);
        ds_settings_clear(&s);
        return;
    }
    make_problem(&p);
    if (ds_check_host_open(c, &s, c->options->seed, 1, 0, &h)) {
        snprintf(where, sizeof where, "%s = %.80s", q->name, text);
        ds_status st = create(c, &h, &p, &self);
        if (st == DS_OK && self != NULL && self != mark) {
            t->made++;
            try_evaluate(c, &h, self, where, t);
            destroy(c, self);
        } else if (st == DS_OK) {
            ds_check_fail(c, "%s: create() returned DS_OK without an instance: set *out, or return an error",
                          where);
        } else {
            unsigned failed = c->failed;
            t->refused++;
            ds_check_error_explained(c, &h, "create()", st);
            if (c->failed > failed) {
                ds_check_note(c, "... with %s", where);
            }
            snprintf(t->last_refusal, sizeof t->last_refusal, "%s: %.150s", where, h.error_text);
            if (self != mark) {
                ds_check_fail(c, "%s: create() failed and changed *out", where);
                ds_check_hint(c, "set *out last, after everything that can fail");
            }
        }
        if (h.undeclared > 0) {
            ds_check_fail(c,
                          "it queries the parameter %s, which its schema does not declare with this type: "
                          "add it to ds_desc.params, or correct name or type",
                          h.undeclared_name);
        }
        ds_check_host_close(&h);
    }
    ds_settings_clear(&s);
}

/* An instance that lives on while others are made with other parameters. */
typedef struct witness {
    ds_check_env env;
    ds_check_items items;
    ds_check_player player;
    double *first, *again; /* results at first and now */
} witness;

static void open_witness(ds_check *c, witness *b)
{
    static const double LONGEST = 2e-4; /* seconds of all items, which are played after every value */
    if (section_of(c) != DS_SECTION_ENV || ds_check_needs_process(c) || !c->options->has_reference ||
        !ds_check_env_open(c, 1, &b->env)) {
        return;
    }
    if (ds_check_items_open(c, &b->env, 1, 1, &b->items) && b->items.seconds < LONGEST) {
        b->first = malloc(2 * b->items.size * sizeof *b->first);
    }
    if (b->first != NULL && ds_check_player_open(&b->items, &b->env, &b->player)) {
        b->again = b->first + b->items.size;
        ds_check_items_play(&b->player, b->first);
    }
}

static void close_witness(witness *b)
{
    if (b->again != NULL) {
        ds_check_player_close(&b->player);
    }
    free(b->first);
    ds_check_items_close(&b->items);
    if (b->env.self != NULL) {
        ds_check_env_close(&b->env);
    }
}

static void check_witness(ds_check *c, witness *b, const char *where)
{
    char what[200];
    if (b->again == NULL || c->failed > 0) {
        return;
    }
    ds_check_items_play(&b->player, b->again);
    snprintf(what, sizeof what, "after another instance with %s", where);
    for (uint64_t k = 0, at = 0; k < b->items.count && c->failed == 0; at += b->items.item[k++].size) {
        ds_check_item_same(c, &b->items, &b->items.item[k], b->first + at, b->again + at, what);
    }
}

static void try_value(ds_check *c, const ds_param *q, const char *text, tally *t)
{
    trial given = {q, text, *t};
    char where[160];
    if (ds_check_now() <= t->end) {
        ds_check_in_child(c, make_trial, &given, sizeof given);
        *t = given.tally;
        snprintf(where, sizeof where, "%s = %.80s", q->name, text);
        check_witness(c, t->witness, where);
    }
}

/* Tries a limit of the range if it is a plausible value. */
static void try_limit(ds_check *c, const ds_param *q, double v, tally *t)
{
    char text[64];
    if (!isfinite(v) || fabs(v) > (q->type == DS_PARAM_INT ? 1e6 : 1e9)) {
        return;
    }
    if (q->type == DS_PARAM_INT) {
        snprintf(text, sizeof text, "%" PRId64, (int64_t)v);
    } else {
        snprintf(text, sizeof text, "%.17g", v);
    }
    try_value(c, q, text, t);
}

static void try_param(ds_check *c, const ds_param *q, tally *t)
{
    switch (q->type) {
    case DS_PARAM_BOOL:
        try_value(c, q, "false", t);
        try_value(c, q, "true", t);
        break;
    case DS_PARAM_INT:
    case DS_PARAM_REAL:
    case DS_PARAM_LIST:
        try_limit(c, q, q->min, t);
        try_limit(c, q, q->max, t);
        break;
    case DS_PARAM_ENUM:
        for (size_t i = 0; q->choices[i] != NULL; i++) {
            try_value(c, q, q->choices[i], t);
        }
        break;
    default:
        try_value(c, q, q->default_text, t); /* texts and files: no other value is known */
        break;
    }
}

static void instance_params(ds_check *c)
{
    const ds_desc *d = c->module->plugin->desc;
    witness b = {0};
    tally t = {.witness = &b, .end = ds_check_now() + LOOP_SECONDS};
    size_t count = 0, tried = 0;
    struct rlimit before = {RLIM_INFINITY, RLIM_INFINITY};

    getrlimit(RLIMIT_AS, &before);
#ifndef DS_SANITIZERS
    if (!c->options->in_process) { /* large sizes may be refused but must not exhaust the machine */
        const struct rlimit limit = {(rlim_t)4 << 30, before.rlim_max};
        setrlimit(RLIMIT_AS, &limit);
    }
#endif
    open_witness(c, &b);
    for (size_t i = 0; d->params != NULL && d->params[i] != NULL; i++, count++) {
        if (ds_settings_find(&c->options->settings, section_of(c), d->params[i]->name) == NULL) {
            tried += ds_check_now() < t.end;
            try_param(c, d->params[i], &t);
        }
    }
    close_witness(&b);
    setrlimit(RLIMIT_AS, &before); /* another test may follow in this process */
    ds_check_note(c, "%zu of %zu parameters tried: %u instances created, %u refused with a message", tried,
                  count, t.made, t.refused);
    if (t.refused > 0) {
        ds_check_note(c, "refused: %s", t.last_refusal);
    }
}

/* ---- errors ---- */

/* A parameter query that is made to fail. */
typedef struct failing {
    unsigned k; /* its number, from 1 */
    int found;  /* create() made this query */
} failing;

static void make_failing(ds_check *c, void *arg)
{
    failing *f = arg;
    unsigned k = f->k;
    ds_check_host h;
    ds_check_problem p;
    void *mark = c, *self = mark;

    make_problem(&p);
    if (!ds_check_host_open(c, &c->options->settings, c->options->seed, 1, 0, &h)) {
        return;
    }
    h.fail_at = k;
    ds_status st = create(c, &h, &p, &self);
    if (h.injected > 0) {
        f->found = 1;
        if (st == DS_OK) {
            ds_check_fail(c, "create() returned DS_OK although query %u for a parameter had failed", k);
            ds_check_hint(c,
                          "check the status of every host->get_*(): the variable is not set when it fails");
        } else {
            ds_check_error_explained(c, &h, "create()", st);
            if (self != mark) {
                ds_check_fail(c, "create() failed and changed *out");
                ds_check_hint(c, "set *out last, after everything that can fail");
            }
        }
    } else if (st != DS_OK) {
        ds_check_fail(c, "create() with the given parameters returned %s: %.200s", ds_status_name(st),
                      h.error_text);
    }
    if (st == DS_OK && self != mark) {
        destroy(c, self);
    }
    ds_check_host_close(&h);
}

/* Makes query number `k` fail; 0 = there are fewer queries. */
static int fail_getter(ds_check *c, unsigned k)
{
    failing f = {k, 0};
    ds_check_in_child(c, make_failing, &f, sizeof f);
    return f.found;
}

static void instance_errors(ds_check *c)
{
    double end = ds_check_now() + LOOP_SECONDS;
    unsigned k = 1;
    while (ds_check_now() < end && c->failed == 0 && k < 1000 && fail_getter(c, k)) {
        k++;
    }
    ds_check_note(c, "%u parameter queries made to fail, one at a time", k - 1);
    /* A leak on an error path shows after many repetitions. */
    uint64_t heap[3] = {0, 0, 0};
    for (int round = 0; round < 3 && k > 1 && c->failed == 0; round++) {
        for (int i = 0; i < 20 && ds_check_now() < end; i++) {
            fail_getter(c, k - 1);
        }
        heap[round] = ds_process_heap();
    }
    if (heap[1] > heap[0] + 20 * 8 && heap[2] > heap[1] + 20 * 8 && ds_check_now() < end) {
        ds_check_fail(c, "a create() that fails leaks about %llu bytes",
                      (unsigned long long)((heap[2] - heap[1]) / 20));
        ds_check_hint(c, "call your own destroy() on the incomplete instance before returning the error");
    }
}

/* ---- leaks ---- */

static int make_once(ds_check *c, double *seconds)
{
    ds_check_host h;
    ds_check_problem p;
    void *self = NULL;

    make_problem(&p);
    if (!ds_check_host_open(c, &c->options->settings, c->options->seed, 1, 0, &h)) {
        return 0;
    }
    double begin = ds_check_worked();
    ds_status st = create(c, &h, &p, &self);
    if (st == DS_OK && self != NULL) {
        destroy(c, self);
    } else {
        ds_check_fail(c, "create() returned %s: %.300s", ds_status_name(st), h.error_text);
    }
    *seconds = ds_check_worked() - begin;
    ds_check_host_close(&h);
    return st == DS_OK;
}

static void instance_leak(ds_check *c)
{
    double seconds;
    uint64_t heap[3], resident[3];

    ds_check_doing(c, " in destroy(NULL), which must do nothing");
    destroy(c, NULL);
    ds_check_doing(c, "");
    if (ds_check_needs_process(c)) {
        make_once(c, &seconds);
        ds_check_note(c, "one instance only: its process takes everything with it (DS_ENV_OWN_PROCESS)");
        return;
    }
    for (int i = 0; i < 3; i++) { /* caches and thread pools are filled at first use */
        if (!make_once(c, &seconds)) {
            return;
        }
    }
    uint64_t count = ds_check_plan(c, "instances", 100, 4, seconds);
    ds_process *before = ds_process_snapshot();
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < count / 2 && round > 0; i++) {
            make_once(c, &seconds);
        }
        heap[round] = ds_process_heap();
        resident[round] = ds_process_resident();
    }
    ds_process *after = ds_process_snapshot();
    ds_check_note(c, "%" PRIu64 " instances created and destroyed, %.2g ms each", count, 1e3 * seconds);
    /* Growth in both halves is a leak; growth in the first half only is a cache. */
    if (heap[1] >= heap[0] + 8 * (count / 2) && heap[2] >= heap[1] + 8 * (count / 2)) {
        ds_check_fail(c, "every instance leaks about %llu bytes of the heap",
                      (unsigned long long)((heap[2] - heap[1]) / (count / 2)));
        ds_check_hint(c, "destroy() must free all that create() allocated; valgrind or -fsanitize=address "
                         "finds the place");
    } else if (resident[2] > resident[0] + (1u << 20) && resident[2] > resident[1] + (1u << 18)) {
        ds_check_fail(c, "the process grew by %llu KiB",
                      (unsigned long long)((resident[2] - resident[0]) >> 10));
        ds_check_hint(c, "destroy() does not release memory from mmap() or another allocator");
    }
    ds_process_compare(c, before, after, "create() and destroy()");
    ds_process_compare_threads(c, before, "destroy()");
    free(before);
    free(after);
}

/* ---- other versions ---- */

enum { EXTRA = 64, FILL = 0x5a };

/* Calls info() with a longer struct: bytes after the known part must not change. */
static void longer_info(ds_check *c, void *self)
{
    union {
        ds_env_info info;
        unsigned char bytes[sizeof(ds_env_info) + EXTRA];
    } u;
    memset(&u, FILL, sizeof u);
    u.info.struct_size = sizeof u;
    ds_status st = c->module->env.info(self, &u.info);
    if (st != DS_OK || u.info.struct_size != sizeof u) {
        ds_check_fail(c, "info() into a struct of %zu bytes returned %s and left struct_size %u", sizeof u,
                      ds_status_name(st), u.info.struct_size);
        ds_check_hint(c, "fill the fields that you know; struct_size belongs to the caller");
    }
    for (size_t i = sizeof u.info; i < sizeof u; i++) {
        if (u.bytes[i] != FILL) {
            ds_check_fail(c, "info() wrote past the end of the struct that its ABI version defines: fill "
                             "only its own fields");
            return;
        }
    }
}

/* create() with a ds_host that is `extra` bytes longer, or (0) as long as in version 1.0. */
static void make_size(ds_check *c, void *arg)
{
    size_t extra = *(size_t *)arg;
    ds_check_host h;
    ds_check_problem p;
    void *self = NULL;

    make_problem(&p);
    if (!ds_check_host_open(c, &c->options->settings, c->options->seed, 1, extra, &h)) {
        return;
    }
    if (extra == 0) {
        h.host->struct_size = DS_HOST_SIZE_1_0;
    }
    ds_status st = create(c, &h, &p, &self);
    if (st == DS_OK && self != NULL) {
        if (section_of(c) == DS_SECTION_ENV && extra > 0) {
            longer_info(c, self);
        }
        destroy(c, self);
    } else if (extra > 0) {
        ds_check_fail(c, "create() with a ds_host of %u bytes returned %s: %.200s", h.host->struct_size,
                      ds_status_name(st), h.error_text);
        ds_check_hint(c, "a larger struct_size means a later host: accept it");
    } else {
        ds_check_error_explained(c, &h, "create() with the ds_host of version 1.0", st);
    }
    ds_check_host_check(c, &h);
    ds_check_host_close(&h);
}

/* Structs of later hosts are longer, which must not matter. An earlier host lacks the fields after version
 * 1.0: a plugin tests for them with DS_HAS(), and does without them or refuses. */
static void instance_sizes(ds_check *c)
{
    size_t extra[] = {EXTRA, 0};
    ds_check_in_child(c, make_size, &extra[0], sizeof extra[0]);
    ds_check_in_child(c, make_size, &extra[1], sizeof extra[1]);
}

/* ---- extensions ---- */

typedef const void *extension_function(void *self, const char *id);

static int declared(const ds_desc *d, const char *id)
{
    for (size_t i = 0; d->extensions != NULL && d->extensions[i] != NULL; i++) {
        if (strcmp(d->extensions[i], id) == 0) {
            return 1;
        }
    }
    return 0;
}

static void check_extensions_of(ds_check *c, extension_function *get, void *self)
{
    static const char *const unknown[] = {
        "", "ds", "ds.test.unknown/1", DS_EXT_SCENE "1", "ds.env.scene/", "ds.env.scene", "DS.ENV.SCENE/1"};
    const ds_desc *d = c->module->plugin->desc;
    unsigned count = 0, answered = 0;

    for (size_t i = 0; get != NULL && i < sizeof unknown / sizeof unknown[0]; i++) {
        if (!declared(d, unknown[i]) && get(self, unknown[i]) != NULL) {
            ds_check_fail(c, "get_extension(\"%s\") is not NULL, but the descriptor does not list it",
                          unknown[i]);
            ds_check_hint(
                c, "compare the whole id with strcmp(), and list every extension in ds_desc.extensions");
        }
    }
    if (get != NULL && !declared(d, DS_EXT_SCENE) && get(self, DS_EXT_SCENE) != NULL) {
        ds_check_fail(
            c,
            "get_extension(\"%s\") is not NULL, but ds_desc.extensions does not list it: add it to the list",
            DS_EXT_SCENE);
    }
    for (size_t i = 0; d->extensions != NULL && d->extensions[i] != NULL; i++, count++) {
        const void *a = get != NULL ? get(self, d->extensions[i]) : NULL;
        answered += a != NULL;
        if (get == NULL) {
            ds_check_fail(c,
                          "ds_desc.extensions lists %s, but the vtable has no get_extension(): add the "
                          "function, or remove the entry",
                          d->extensions[i]);
        } else if (a == NULL) {
            ds_check_note(c, "%s is listed, but not offered with these parameters", d->extensions[i]);
        } else if (a != get(self, d->extensions[i])) {
            ds_check_fail(c, "two calls of get_extension(\"%s\") return different tables", d->extensions[i]);
            ds_check_hint(c, "the table must stay the same until destroy()");
        }
    }
    ds_check_note(c, "%u listed, %u offered", count, answered);
}

static void instance_extensions(ds_check *c)
{
    ds_check_host h;
    ds_check_problem p;
    void *self = NULL;

    make_problem(&p);
    if (!ds_check_host_open(c, &c->options->settings, c->options->seed, 1, 0, &h)) {
        return;
    }
    ds_status st = create(c, &h, &p, &self);
    if (st != DS_OK || self == NULL) {
        ds_check_fail(c, "create() returned %s: %.300s", ds_status_name(st), h.error_text);
    } else {
        check_extensions_of(
            c, section_of(c) == DS_SECTION_ENV ? c->module->env.get_extension : c->module->opt.get_extension,
            self);
        destroy(c, self);
    }
    ds_check_host_close(&h);
}

const ds_check_test ds_check_instance_tests[] = {
    {"inst.params", "every parameter works over its range, or is refused with a message", 0, 0, 0,
     instance_params},
    {"inst.errors", "create() passes on errors and leaks nothing", 0, 0, 0, instance_errors},
    {"inst.leak", "create() and destroy() leak no memory, files or threads", DS_CHECK_ALONE, 0, 0,
     instance_leak},
    {"inst.sizes", "hosts of other versions, with longer or shorter structs, work", 0, 0, 0, instance_sizes},
    {"inst.extensions", "get_extension() returns tables for what the descriptor lists, and for nothing else",
     0, 0, 0, instance_extensions},
    {NULL, NULL, 0, 0, 0, NULL}};
