/* SPDX-License-Identifier: Apache-2.0 */
/* test_isolated.c - an optimizer in its own process sends the same requests and gets the same results as in
 * the host, with every field of a request and gaps between rows: channel queries, noise, kinds, failed steps,
 * costs, refusals, and partial results. */
#include "config.h"

#include "base/log.h"
#include "run/isolated.h"
#include "test.h"
#include "worker/process.h"

#include <diffsim/ext/channel.h>

enum { N = 4 };

static const ds_channel image = {.struct_size = sizeof(ds_channel),
                                 .role = DS_CHANNEL_IMAGE,
                                 .type = DS_TYPE_U8,
                                 .ops = DS_CAN(DS_QUERY_VALUE),
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
                                    .ops =
                                        DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JTV) | DS_CAN(DS_QUERY_HV),
                                    .ndim = 1,
                                    .shape = {5},
                                    .name = "error",
                                    .unit = "m/s",
                                    .doc = "Differences."};
static const ds_channel *const list[] = {&image, &residual};
static const ds_objective_channels channels = {.struct_size = sizeof(channels), .count = 2, .channel = list};

/* Every number of the requests, and in which calls. */
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

/* Fills a result of row k with a value that depends on all requests so far. */
static void fill(const asked *a, void *out, uint64_t count, uint64_t k)
{
    unsigned char *b = out;
    for (uint64_t i = 0; i < count; i++) {
        b[i] = (unsigned char)((a->digest >> (i % 8 * 4)) + i + 17 * k);
    }
}

/* The same for one number per row, where the array exists. */
static void fill_each(const asked *a, void *out, uint64_t size, uint64_t rows)
{
    for (uint64_t k = 0; out != NULL && k < rows; k++) {
        fill(a, (unsigned char *)out + k * size, size, k);
    }
}

static int is_refused(const ds_rows *r, const ds_results *results)
{
    int refused = r->queries > DS_MAX_QUERIES || (r->queries > 0 && (!r->query || !results->reply));
    for (uint64_t i = 0; !refused && i < r->queries; i++) {
        refused = r->query[i] == NULL || results->reply[i] == NULL || r->query[i]->channel >= channels.count;
    }
    return refused;
}

static void answer_query(asked *a, const ds_query *q, const ds_reply *r, uint64_t count, uint64_t rows)
{
    const ds_channel *c = list[q->channel];
    const uint64_t elements = ds_channel_elements(c), bytes = ds_channel_bytes(c, q->op, N),
                   v_count = q->op == DS_QUERY_JTV ? elements : N;
    fold(a, &q->op, sizeof(q->op));
    fold(a, &r->bytes, sizeof(r->bytes));
    assert_true(q->struct_size >= DS_QUERY_SIZE_1_0 && r->struct_size >= DS_REPLY_SIZE_1_0);
    assert_int_equal(q->v != NULL, q->op != DS_QUERY_VALUE);
    assert_int_equal(q->w != NULL, q->op == DS_QUERY_HV);
    assert_true(r->bytes == bytes && r->stride >= bytes && r->stride % 8 == 0);
    assert_true((q->v == NULL || q->v_stride >= v_count) && (q->w == NULL || q->w_stride >= elements));
    for (uint64_t k = 0; k < count; k++) {
        fold(a, q->v + k * q->v_stride, q->v != NULL ? v_count * sizeof(double) : 0);
        fold(a, q->w + k * q->w_stride, q->w != NULL ? elements * sizeof(double) : 0);
    }
    for (uint64_t k = 0; k < rows; k++) {
        fill(a, (unsigned char *)r->out + k * r->stride, bytes, k);
        if (r->kind != NULL) {
            r->kind[k] = q->op == DS_QUERY_VALUE || k % 2 == 1 ? DS_GRAD_NONE : DS_GRAD_FORWARD;
        }
    }
}

static ds_status evaluate(const ds_objective *objective, const ds_rows *r, const ds_label *label,
                          const ds_results *results, uint64_t *done)
{
    asked *a = objective->ctx;
    a->calls++;
    *done = 0;
    assert_true(r->struct_size >= DS_ROWS_SIZE_1_0 && results->struct_size >= DS_RESULTS_SIZE_1_0);
    assert_true(label->struct_size >= DS_LABEL_SIZE_1_0);
    if (is_refused(r, results)) {
        a->refused++;
        return DS_E_ARG;
    }
    uint64_t rows = strcmp(label->tag, "part") == 0 ? 1 : r->count;
    a->rows += rows;
    a->last_group = label->group;
    strncat(a->tags, label->tag, DS_MAX_TAG);
    strcat(a->tags, ";");
    assert_true(r->n == N && r->stride >= N && r->noise_key == NULL && r->memory == DS_MEMORY_HOST);
    fold(a, &r->want, sizeof(r->want));
    fold(a, &label->group, sizeof(label->group));
    for (uint64_t k = 0; k < r->count; k++) {
        fold(a, r->x + k * r->stride, N * sizeof(double));
    }
    fold(a, label->noise, label->noise != NULL ? r->count * sizeof(*label->noise) : 0);
    for (uint64_t i = 0; i < r->queries; i++) {
        answer_query(a, r->query[i], results->reply[i], r->count, rows);
    }
    fill_each(a, results->loss, sizeof(double), rows);
    fill_each(a, results->outcome, sizeof(uint32_t), rows);
    fill_each(a, results->grad_kind, sizeof(uint32_t), rows);
    fill_each(a, results->bad_step, sizeof(int64_t), rows);
    fill_each(a, results->cost_steps, sizeof(uint64_t), rows);
    for (uint64_t k = 0; (r->want & DS_WANT_GRAD) != 0 && k < rows; k++) {
        assert_true(results->stride >= N);
        fill(a, results->grad + k * results->stride, N * sizeof(double), k);
    }
    *done = rows;
    return rows == r->count ? DS_OK : DS_STOPPED;
}

static const void *extension(const ds_objective *objective, const char *id)
{
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
    const ds_describe_config probe = {0};
    ds_isolated *isolated = NULL;
    ds_error e = {0, ""};
    char why[DS_MAX_ERROR + 1] = "";
    begin(a);
    ds_isolated_config config = {.problem = &problem, .seed = 7, .threads = 1, .journal = &journal};
    assert_int_equal(ds_describe_open(path, DS_KIND_OPTIMIZER, &probe, &config.module, &e), 0);
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
    test_path(path, "tests/plugins/.libs/digester.so");
    search_isolated(&there, path);
    search_here(&here, path);
    assert_string_equal(here.tags, "asked;many;a tag of more t;part;digest;");
    assert_string_equal(there.tags, here.tags);
    assert_int_equal(here.calls, 8);
    assert_int_equal(there.calls, here.calls);
    assert_int_equal(here.refused, 3);
    assert_int_equal(there.refused, here.refused);
    assert_int_equal(there.rows, here.rows);
    assert_true(there.digest == here.digest);         /* the same requests */
    assert_true(there.last_group == here.last_group); /* the same results, as the plugin saw them */
}

static int set_up(void **state)
{
    ds_log_set_level(DS_LOG_ERROR);
    return 0;
}

RUN_TESTS_WITH(set_up, NULL, test_every_field)
