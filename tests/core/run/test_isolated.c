/* SPDX-License-Identifier: Apache-2.0 */
/* test_isolated.c - an optimizer in a process of its own asks and is answered as one in the host is, with
 * every field of a batch: questions about channels, noise, costs, what is refused, and what is answered
 * in part. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <diffsim/ext/channel.h>

#include "base/log.h"
#include "run/isolated.h"
#include "worker/probe.h"

enum { N = 4 };

static const ds_channel image = {.struct_size = sizeof(ds_channel),
                                 .role = DS_CHANNEL_IMAGE,
                                 .type = DS_TYPE_U8,
                                 .ops = DS_CAN(DS_ASK_VALUE),
                                 .ndim = 2,
                                 .shape = {2, 3},
                                 .lower = -1.0,
                                 .upper = 2.0,
                                 .name = "view",
                                 .unit = "",
                                 .doc = "What a camera sees."};
static const ds_channel residual = {.struct_size = sizeof(ds_channel),
                                    .role = DS_CHANNEL_RESIDUAL,
                                    .type = DS_TYPE_F64,
                                    .ops = DS_CAN(DS_ASK_VALUE) | DS_CAN(DS_ASK_JTV) | DS_CAN(DS_ASK_HV),
                                    .ndim = 1,
                                    .shape = {5},
                                    .name = "error",
                                    .unit = "m/s",
                                    .doc = "Differences."};
static const ds_channel *const list[] = {&image, &residual};
static const ds_objective_channels channels = {.struct_size = sizeof(channels), .count = 2, .channel = list};

/* Every number that was asked with, and in which calls. */
typedef struct asked {
    ds_objective objective;
    uint64_t digest, calls, refused, rows, last_group;
    char tags[200];
} asked;

static void fold(asked *a, const void *bytes, uint64_t count)
{
    const unsigned char *b = bytes;
    for (uint64_t i = 0; i < count; i++) {
        a->digest = (a->digest ^ b[i]) * 1099511628211u;
    }
}

/* Fills an answer with what depends on everything asked so far. */
static void fill(asked *a, void *out, uint64_t count)
{
    unsigned char *b = out;
    for (uint64_t i = 0; i < count; i++) {
        b[i] = (unsigned char)((a->digest >> (i % 8 * 4)) + i);
    }
}

static int is_refused(const ds_batch *b)
{
    int refused = b->asks > DS_MAX_ASKS;
    for (uint64_t i = 0; !refused && i < b->asks; i++) {
        refused = b->ask[i] == NULL || b->ask[i]->channel >= channels.count;
    }
    return refused;
}

static void answer_question(asked *a, ds_ask *q, uint64_t count, uint64_t rows)
{
    const ds_channel *c = list[q->channel];
    uint64_t elements = ds_channel_elements(c);
    fold(a, &q->op, sizeof(q->op));
    fold(a, &q->out_bytes, sizeof(q->out_bytes));
    assert_int_equal(q->v != NULL, q->op != DS_ASK_VALUE);
    assert_int_equal(q->w != NULL, q->op == DS_ASK_HV);
    if (q->v != NULL) {
        fold(a, q->v, count * (q->op == DS_ASK_JTV ? elements : N) * sizeof(double));
    }
    if (q->w != NULL) {
        fold(a, q->w, count * elements * sizeof(double));
    }
    fill(a, q->out, rows * ds_channel_bytes(c, q->op, N));
    q->kind = q->op == DS_ASK_VALUE ? DS_GRAD_NONE : DS_GRAD_FORWARD;
}

static ds_status evaluate(const ds_objective *objective, ds_batch *b)
{
    asked *a = objective->ctx;
    a->calls++;
    if (is_refused(b)) {
        a->refused++;
        return DS_E_ARG;
    }
    uint64_t rows = strcmp(b->tag, "part") == 0 ? 1 : b->count;
    a->rows += rows;
    a->last_group = b->group;
    strncat(a->tags, b->tag, 15);
    strcat(a->tags, ";");
    fold(a, &b->want, sizeof(b->want));
    fold(a, &b->group, sizeof(b->group));
    fold(a, b->x, b->count * N * sizeof(double));
    fold(a, b->noise, b->noise != NULL ? b->count * sizeof(*b->noise) : 0);
    for (uint64_t i = 0; i < b->asks; i++) {
        answer_question(a, b->ask[i], b->count, rows);
    }
    fill(a, b->loss, rows * sizeof(double));
    fill(a, b->outcome, b->outcome != NULL ? rows * sizeof(uint32_t) : 0);
    fill(a, b->cost_steps, b->cost_steps != NULL ? rows * sizeof(uint64_t) : 0);
    fill(a, b->grad, (b->want & DS_WANT_GRAD) != 0 ? rows * N * sizeof(double) : 0);
    b->done = rows;
    return rows == b->count ? DS_OK : DS_STOPPED;
}

static const void *extension(const ds_objective *objective, const char *id)
{
    (void)objective;
    return strcmp(id, DS_EXT_OBJECTIVE_CHANNELS) == 0 ? &channels : NULL;
}

static void begin(asked *a)
{
    *a = (asked){.digest = 14695981039346656037u};
    a->objective = (ds_objective){
        .struct_size = sizeof(a->objective), .ctx = a, .evaluate = evaluate, .get_extension = extension};
}

static const double lower[N] = {-1, -2, -3, -4}, upper[N] = {1, 2, 3, 4}, x0[N] = {0, 1, 0, 1};
static const ds_problem problem = {.struct_size = sizeof(problem),
                                   .has_gradient = 1,
                                   .n = N,
                                   .lower = lower,
                                   .upper = upper,
                                   .x0 = x0,
                                   .budget = 9};

static void path_of(char *path, size_t size)
{
    const char *top = getenv("DS_TOP_BUILD");
    snprintf(path, size, "%s/tests/plugins/.libs/digester.so", top != NULL ? top : ".");
}

static void search_here(asked *a, const char *path)
{
    const ds_module *module = NULL;
    ds_services services;
    ds_error e = {0, ""};
    void *self = NULL;
    begin(a);
    assert_int_equal(ds_loader_open(path, DS_KIND_OPTIMIZER, &module, &e), 0);
    ds_services_init(&services, module, NULL, 7, 1, NULL);
    assert_int_equal(module->opt.create(&services.host, &problem, &self), DS_OK);
    assert_int_equal(module->opt.run(self, &a->objective), DS_E_NUMERIC);
    module->opt.destroy(self);
}

static void search_isolated(asked *a, const char *path)
{
    static atomic_int stop;
    static const ds_journal journal = {.folder = "run", .stop = &stop};
    const ds_probe_config probe = {0};
    ds_isolated *isolated = NULL;
    ds_error e = {0, ""};
    char why[DS_MAX_ERROR + 1] = "";
    begin(a);
    ds_isolated_config config = {.problem = &problem, .seed = 7, .threads = 1, .journal = &journal};
    assert_int_equal(ds_probe_open(path, DS_KIND_OPTIMIZER, &probe, &config.module, &e), 0);
    assert_null(config.module->opt.run); /* it was not loaded here */
    assert_int_equal(ds_isolated_open(&config, &isolated, &e), 0);
    assert_int_equal(ds_isolated_run(isolated, &a->objective, why, &e), DS_E_NUMERIC);
    assert_int_equal(e.status, 0);
    assert_string_equal(why, "it has asked enough");
    ds_isolated_close(isolated);
}

static void test_every_field(void **state)
{
    char path[4096];
    asked here, there;
    (void)state;
    path_of(path, sizeof(path));
    search_isolated(&there, path);
    search_here(&here, path);
    assert_string_equal(here.tags, "asked;many;a tag of more t;part;digest;");
    assert_string_equal(there.tags, here.tags);
    assert_int_equal(here.calls, 8);
    assert_int_equal(there.calls, here.calls);
    assert_int_equal(here.refused, 3);
    assert_int_equal(there.refused, here.refused);
    assert_int_equal(there.rows, here.rows);
    assert_true(there.digest == here.digest);         /* what was asked */
    assert_true(there.last_group == here.last_group); /* what was answered, as the plugin saw it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_field)};
    ds_log_set_level(DS_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
