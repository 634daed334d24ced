/* SPDX-License-Identifier: Apache-2.0 */
/* test_queries.c - requests of an optimizer with gaps between rows, and their queries: structs are read in
 * our own size, rows are packed and returned in place, fixed variables are filled in. A record is read as it
 * was requested; residuals alone have the form of the first versions; a damaged record is refused or
 * harmless. */
#include "run/free_variables.h"
#include "run/queries.h"
#include "test.h"

#include <diffsim/helper/random.h>

enum { N = 3, RESIDUALS = 4, PIXELS = 5, ROWS = 3, ROOM = 100 };
enum { ERROR, PHOTO, LOSS, CHANNELS };
enum {
    VALUE = DS_CAN(DS_QUERY_VALUE),
    JV = DS_CAN(DS_QUERY_JV),
    JTV = DS_CAN(DS_QUERY_JTV),
    HV = DS_CAN(DS_QUERY_HV)
};

static ds_channels channels;

static int make_channels(void **state)
{
    static const ds_channel all[CHANNELS] = {
        {.role = DS_CHANNEL_RESIDUAL,
         .type = DS_TYPE_F64,
         .ops = VALUE | JV | JTV,
         .ndim = 1,
         .shape = {RESIDUALS}},
        {.role = DS_CHANNEL_IMAGE, .type = DS_TYPE_F32, .ops = VALUE, .ndim = 1, .shape = {PIXELS}},
        {.role = DS_CHANNEL_LOSS, .type = DS_TYPE_F64, .ops = VALUE | HV}};
    ds_channel_entry *entry = calloc(CHANNELS, sizeof *entry);
    ds_error e;
    for (int i = 0; i < CHANNELS; i++) {
        entry[i].c = all[i];
        entry[i].c.lower = -INFINITY;
        entry[i].c.upper = INFINITY;
        snprintf(entry[i].name, sizeof entry[i].name, "c%d", i);
    }
    return ds_channels_receive("toy", entry, CHANNELS, &channels, &e);
}

static int clear_channels(void **state)
{
    ds_channels_clear(&channels);
    return 0;
}

/* A request for pixels, H v of the loss with weights, and residuals, with gaps between rows. */
enum { V_GAP = 2, W_GAP = 1, OUT_GAP = 8 /* bytes */ };
enum {
    V_STRIDE = N + V_GAP,
    W_STRIDE = 1 + W_GAP,
    PIXEL_STRIDE = 24 + OUT_GAP, /* of 5 floats: the next multiple of 8, and a gap */
    HV_STRIDE = N * 8 + OUT_GAP,
    RESIDUAL_STRIDE = RESIDUALS * 8 + OUT_GAP
};

typedef struct questions {
    ds_rows rows;
    ds_results results;
    ds_label label;
    ds_query query[DS_MAX_QUERIES + 1];
    ds_reply reply[DS_MAX_QUERIES + 1];
    const ds_query *queries[DS_MAX_QUERIES + 1];
    const ds_reply *replies[DS_MAX_QUERIES + 1];
    double v[ROWS * V_STRIDE], w[ROWS * W_STRIDE], x[ROWS * N], loss[ROWS];
    unsigned char pixels[ROWS * PIXEL_STRIDE], hv[ROWS * HV_STRIDE], residuals[ROWS * RESIDUAL_STRIDE];
    uint32_t kind[3][ROWS];
    ds_request read; /* the same as the host reads it */
} questions;

static void make_questions(questions *q)
{
    memset(q, 0, sizeof *q);
    for (int r = 0; r < ROWS; r++) {
        for (int i = 0; i < V_STRIDE; i++) {
            q->v[r * V_STRIDE + i] = i < N ? 10 + r * N + i : (double)NAN; /* gaps are not read */
        }
        q->w[r * W_STRIDE] = 100 + r;
        q->w[r * W_STRIDE + 1] = INFINITY;
    }
    memset(q->kind, 0x7f, sizeof q->kind);
    q->query[0] = (ds_query){.op = DS_QUERY_VALUE, .channel = PHOTO};
    q->query[1] = (ds_query){
        .op = DS_QUERY_HV, .channel = LOSS, .v = q->v, .w = q->w, .v_stride = V_STRIDE, .w_stride = W_STRIDE};
    q->query[2] = (ds_query){.op = DS_QUERY_VALUE, .channel = ERROR};
    q->reply[0] = (ds_reply){.out = q->pixels, .stride = PIXEL_STRIDE, .bytes = PIXELS * sizeof(float)};
    q->reply[1] = (ds_reply){.out = q->hv, .stride = HV_STRIDE, .bytes = N * sizeof(double)};
    q->reply[2] =
        (ds_reply){.out = q->residuals, .stride = RESIDUAL_STRIDE, .bytes = RESIDUALS * sizeof(double)};
    for (int i = 0; i < 3; i++) {
        q->query[i].struct_size = sizeof q->query[i];
        q->reply[i].struct_size = sizeof q->reply[i];
        q->reply[i].kind = q->kind[i];
        q->queries[i] = &q->query[i];
        q->replies[i] = &q->reply[i];
    }
    q->rows = (ds_rows){.struct_size = sizeof q->rows,
                        .count = ROWS,
                        .n = N,
                        .stride = N,
                        .x = q->x,
                        .queries = 3,
                        .query = q->queries};
    q->label = (ds_label){.struct_size = sizeof q->label, .tag = "init", .group = 4};
    q->results =
        (ds_results){.struct_size = sizeof q->results, .stride = N, .loss = q->loss, .reply = q->replies};
}

/* Reads the request; returns 0, or the error. */
static int read_request(questions *q, char text[DS_REQUEST_TEXT])
{
    return ds_request_read(&q->read, &q->rows, &q->label, &q->results, text);
}

static double number_at(const unsigned char *bytes, uint64_t at)
{
    double v;
    memcpy(&v, bytes + at, sizeof v);
    return v;
}

static void packs_and_hands_out(void **state)
{
    questions q;
    ds_packed_queries rows;
    char text[DS_REQUEST_TEXT];
    make_questions(&q);
    assert_int_equal(read_request(&q, text), 0);
    assert_int_equal(ds_queries_pack(&rows, &q.read, &channels, N, text), 0);
    assert_true(rows.queries.count == 3 && rows.queries.in == N + 1 && rows.queries.product == 1);
    assert_true(rows.queries.values == 3 + RESIDUALS && rows.queries.out == 3 + RESIDUALS + N);
    for (int r = 0; r < ROWS; r++) {
        const double *in = rows.in + r * (N + 1);
        assert_true(in[0] == 10 + r * N && in[N - 1] == 10 + r * N + N - 1 && in[N] == 100 + r);
        unsigned char *out = (unsigned char *)(rows.out + r * rows.queries.out);
        float pixel = (float)(7 + r);
        memset(out, 0, rows.queries.out * 8);
        memcpy(out + (PIXELS - 1) * sizeof pixel, &pixel, sizeof pixel);
        double *residual = (double *)(void *)(out + 8 * rows.queries.query[1].out),
               *hv = residual + RESIDUALS;
        residual[RESIDUALS - 1] = 50 + r;
        hv[1] = 60 + r;
    }
    memset(q.pixels, 1, sizeof q.pixels);
    memset(q.hv, 1, sizeof q.hv);
    memset(q.residuals, 1, sizeof q.residuals);
    const double left_alone = number_at(q.hv, 0);
    rows.kind[0] = DS_GRAD_FORWARD; /* row 1 failed */
    ds_queries_reply(&rows, &q.read, ROWS - 1);
    for (int r = 0; r < ROWS; r++) {
        const int there = r < ROWS - 1; /* the last row has no result and is unchanged */
        float pixel;
        memcpy(&pixel, q.pixels + r * PIXEL_STRIDE + (PIXELS - 1) * sizeof pixel, sizeof pixel);
        assert_true(there == (pixel == (float)(7 + r)));
        assert_true(number_at(q.residuals, r * RESIDUAL_STRIDE + (RESIDUALS - 1) * 8) ==
                    (there ? 50 + r : left_alone));
        assert_true(number_at(q.hv, r * HV_STRIDE + 8) == (there ? 60 + r : left_alone));
        /* Gaps are unchanged. */
        assert_true(number_at(q.pixels, r * PIXEL_STRIDE + 24) == left_alone &&
                    q.pixels[r * PIXEL_STRIDE + PIXELS * sizeof pixel] == 1);
        assert_true(number_at(q.hv, r * HV_STRIDE + N * 8) == left_alone);
        assert_true(number_at(q.residuals, r * RESIDUAL_STRIDE + RESIDUALS * 8) == left_alone);
        /* A kind for every row with a result; values have none. */
        assert_true(q.kind[0][r] == (there ? DS_GRAD_NONE : 0x7f7f7f7fu) && q.kind[2][r] == q.kind[0][r]);
        assert_true(q.kind[1][r] == (!there ? 0x7f7f7f7fu : r == 0 ? DS_GRAD_FORWARD : DS_GRAD_NONE));
    }
    q.read.reply[1].kind = NULL; /* not requested */
    rows.kind[0] = DS_GRAD_FD;
    ds_queries_reply(&rows, &q.read, ROWS);
    assert_int_equal(q.kind[1][0], DS_GRAD_FORWARD);
    ds_queries_free(&rows);
}

/* The request is refused with this text, by its reader or by the reader of its queries. */
static void refused(questions *q, const char *text)
{
    ds_packed_queries rows = {0};
    char why[DS_REQUEST_TEXT] = "";
    int rc = read_request(q, why);
    rc = rc != 0 ? rc : ds_queries_pack(&rows, &q->read, &channels, N, why);
    if (rc != -1 || strstr(why, text) == NULL) {
        fail_msg("%d: '%s' without '%s'", rc, why, text);
    }
    ds_queries_free(&rows);
    make_questions(q);
}

static void refuses_structs(void **state)
{
    questions q;
    char why[DS_REQUEST_TEXT];
    make_questions(&q);
    assert_int_equal(ds_request_read(&q.read, NULL, NULL, &q.results, why), -1);
    assert_int_equal(ds_request_read(&q.read, &q.rows, NULL, NULL, why), -1);
    assert_int_equal(ds_request_read(&q.read, &q.rows, NULL, &q.results, why),
                     0); /* a label may be missing */
    assert_true(q.read.label.tag == NULL && q.read.label.group == 0 && q.read.label.noise == NULL);
    q.rows.struct_size = DS_ROWS_SIZE_1_0 - 1;
    refused(&q, "the rows: struct_size");
    q.results.struct_size = DS_RESULTS_SIZE_1_0 - 1;
    refused(&q, "the results: struct_size");
    q.label.struct_size = 0;
    refused(&q, "the label: struct_size");
    q.rows.queries = DS_MAX_QUERIES + 1;
    refused(&q, "too many");
    q.rows.query = NULL;
    refused(&q, "query or reply is NULL");
    q.results.reply = NULL;
    refused(&q, "query or reply is NULL");
    q.queries[1] = NULL;
    refused(&q, "query 1 is NULL");
    q.replies[2] = NULL;
    refused(&q, "query 2 is NULL");
    q.query[2].struct_size = DS_QUERY_SIZE_1_0 - 1;
    refused(&q, "query 2 is NULL, or its struct_size or that of its reply is impossible");
    q.reply[0].struct_size = DS_REPLY_SIZE_1_0 - 1;
    refused(&q, "query 0 is NULL, or its struct_size or that of its reply is impossible");
    /* Structs of a later version are longer. */
    struct {
        ds_query known;
        double later[4];
    } longer = {q.query[1], {1, 2, 3, 4}};
    longer.known.struct_size = sizeof longer;
    q.queries[1] = &longer.known;
    assert_int_equal(read_request(&q, why), 0);
    assert_true(q.read.query[1].v == q.v && q.read.query[1].w_stride == W_STRIDE);
    assert_true(q.read.rows.query[1] == &q.read.query[1] && q.read.results.reply[1] == &q.read.reply[1]);
}

static void refuses_queries(void **state)
{
    questions q;
    make_questions(&q);
    q.query[0].w = q.w;
    refused(&q, "query 0 has weights");
    q.query[0].v = q.v;
    refused(&q, "query 0 has no v, or one where there is none to give");
    q.query[1].v = NULL;
    refused(&q, "query 1 has no v");
    q.reply[2].out = NULL;
    refused(&q, "no out");
    q.reply[2].bytes -= 8;
    refused(&q, "query 2 has a reply whose bytes");
    q.reply[0].bytes += 4;
    refused(&q, "query 0 has a reply whose bytes");
    q.reply[0].stride = 16;
    refused(&q, "query 0 has a reply whose bytes are not what an answer takes, or a stride");
    q.reply[0].stride = PIXEL_STRIDE - 4; /* a gap that is no multiple of 8 */
    refused(&q, "no multiple of 8");
    q.query[1].v_stride = N - 1;
    refused(&q, "query 1 has a v_stride or w_stride that is less than a row");
    q.query[1].w_stride = 0;
    refused(&q, "query 1 has a v_stride or w_stride that is less than a row");
    q.v[V_STRIDE] = NAN;
    refused(&q, "query 1 has a number in v or w that is not finite");
    q.w[2 * W_STRIDE] = INFINITY;
    refused(&q, "query 1 has a number in v or w that is not finite");
    q.query[1].channel = PHOTO;
    refused(&q, "operation 4 of channel 1 c1: the channel does not offer this operation");
}

/* Strides are ignored for a single row. */
static void takes_one_row(void **state)
{
    questions q;
    ds_packed_queries rows;
    char text[DS_REQUEST_TEXT];
    make_questions(&q);
    q.rows.count = 1;
    q.query[1].v_stride = q.query[1].w_stride = 0;
    for (int i = 0; i < 3; i++) {
        q.reply[i].stride = 0;
    }
    assert_int_equal(read_request(&q, text), 0);
    assert_int_equal(ds_queries_pack(&rows, &q.read, &channels, N, text), 0);
    assert_true(rows.in[0] == 10 && rows.in[N] == 100);
    memset(rows.out, 0, rows.queries.out * sizeof *rows.out);
    rows.out[rows.queries.query[2].out] = 8;
    rows.kind[0] = DS_GRAD_ADJOINT;
    ds_queries_reply(&rows, &q.read, 1);
    assert_true(number_at(q.hv, 0) == 8 && q.kind[1][0] == DS_GRAD_ADJOINT && q.kind[1][1] == 0x7f7f7f7fu);
    ds_queries_free(&rows);
}

static void asks_nothing(void **state)
{
    ds_packed_queries rows;
    questions q;
    char text[DS_REQUEST_TEXT];
    double room[ROOM];
    make_questions(&q);
    q.rows.queries = 0;
    q.rows.query = NULL;
    q.results.reply = NULL;
    assert_int_equal(read_request(&q, text), 0);
    assert_int_equal(ds_queries_pack(&rows, &q.read, &channels, N, text), 0);
    assert_true(rows.queries.count == 0 && rows.in == NULL && rows.out == NULL);
    ds_queries_reply(&rows, &q.read, 2);
    ds_queries_free(&rows);
    ds_extra extra = ds_queries_record(&channels, NULL, NULL, NULL, 0, room);
    assert_true(extra.kind == 0 && extra.asked == NULL && extra.asked_count == 0 &&
                extra.answered_count == 0);
}

/* ---- free variables ---- */

enum { ALL = 5, WIDE = N + 4 };

/* A problem with fixed variables 1 and 3: requests with gaps about the others become requests about all,
 * packed, and the results return to their places. */
static void fills_in_fixed_variables(void **state)
{
    static const double lower[ALL] = {-9, 2, -9, 4, -9}, upper[ALL] = {99, 2, 99, 4, 99};
    const ds_problem problem = {.struct_size = sizeof problem,
                                .n = ALL,
                                .has_gradient = 1,
                                .lower = lower,
                                .upper = upper,
                                .x0 = lower};
    ds_free_variables f;
    ds_full_request full;
    questions q;
    ds_error e;
    char text[DS_REQUEST_TEXT];
    double x[ROWS * WIDE], grad[ROWS * WIDE];
    assert_int_equal(ds_free_variables_open("toy", &problem, 1, &f, &e), 0);
    assert_true(f.problem.n == N && f.n == ALL && f.problem.upper[1] == 99);
    make_questions(&q);
    for (int i = 0; i < ROWS * WIDE; i++) {
        x[i] = i % WIDE < N ? i : (double)NAN;
        grad[i] = -1;
    }
    q.rows.want = DS_WANT_GRAD;
    q.rows.x = x;
    q.rows.stride = q.results.stride = WIDE;
    q.results.grad = grad;
    assert_int_equal(read_request(&q, text), 0);
    assert_true(ds_full_request_needed(&f, &q.read));
    assert_int_equal(ds_full_request_open(&f, &q.read, &channels, &full), 0);
    const ds_rows *rows = &full.request.rows;
    const ds_results *results = &full.request.results;
    assert_true(rows->n == ALL && rows->stride == ALL && results->stride == ALL && rows->count == ROWS);
    const ds_query *hv = rows->query[1];
    const ds_reply *reply = results->reply[1];
    assert_true(hv->v_stride == ALL && hv->w == q.w && hv->w_stride == W_STRIDE);
    assert_true(reply->bytes == ALL * 8 && reply->stride == ALL * 8 && reply->kind == q.kind[1]);
    assert_true(results->reply[0]->out == q.pixels && results->reply[0]->stride == PIXEL_STRIDE);
    double *there = results->grad, *products = reply->out;
    for (int r = 0; r < ROWS; r++) {
        const double *point = rows->x + r * ALL, *v = hv->v + r * ALL;
        assert_true(point[0] == r * WIDE && point[1] == 2 && point[2] == r * WIDE + 1 && point[3] == 4 &&
                    point[4] == r * WIDE + 2);
        assert_true(v[0] == 10 + r * N && v[1] == 0 && v[2] == 11 + r * N && v[3] == 0 && v[4] == 12 + r * N);
        for (int i = 0; i < ALL; i++) {
            there[r * ALL + i] = 1000 + 10 * r + i;
            products[r * ALL + i] = 2000 + 10 * r + i;
        }
    }
    ds_full_request_answer(&f, &full, &q.read, ROWS - 1);
    for (int r = 0; r < ROWS; r++) {
        const int answered = r < ROWS - 1;
        for (int i = 0; i < N; i++) {
            assert_true(grad[r * WIDE + i] == (answered ? 1000 + 10 * r + 2 * i : -1));
            assert_true(number_at(q.hv, r * HV_STRIDE + 8 * i) == (answered ? 2000 + 10 * r + 2 * i : 0));
        }
        assert_true(grad[r * WIDE + N] == -1 && number_at(q.hv, r * HV_STRIDE + 8 * N) == 0);
    }
    ds_full_request_close(&full);
    ds_free_variables_close(&f);
}

/* Where all are free, rows with gaps are packed and others are passed unchanged. */
static void closes_gaps(void **state)
{
    static const double lower[N] = {-9, -9, -9}, upper[N] = {99, 99, 99};
    const ds_problem problem = {
        .struct_size = sizeof problem, .n = N, .lower = lower, .upper = upper, .x0 = lower};
    ds_free_variables f;
    ds_full_request full;
    questions q;
    ds_error e;
    char text[DS_REQUEST_TEXT];
    double x[ROWS * WIDE];
    assert_int_equal(ds_free_variables_open("toy", &problem, 1, &f, &e), 0);
    assert_null(f.index);
    make_questions(&q);
    assert_int_equal(read_request(&q, text), 0);
    assert_false(ds_full_request_needed(&f, &q.read));
    q.rows.want = DS_WANT_GRAD;
    q.results.stride = N + 1;
    assert_int_equal(read_request(&q, text), 0);
    assert_true(ds_full_request_needed(&f, &q.read));
    q.rows.want = 0; /* without gradients their stride is ignored */
    assert_int_equal(read_request(&q, text), 0);
    assert_false(ds_full_request_needed(&f, &q.read));
    for (int i = 0; i < ROWS * WIDE; i++) {
        x[i] = i;
    }
    q.rows.x = x;
    q.rows.stride = WIDE;
    assert_int_equal(read_request(&q, text), 0);
    assert_true(ds_full_request_needed(&f, &q.read));
    assert_int_equal(ds_full_request_open(&f, &q.read, &channels, &full), 0);
    assert_true(full.request.rows.stride == N && full.request.rows.x[2 * N + 1] == 2 * WIDE + 1);
    assert_true(full.request.query[1].v_stride == N && full.request.query[1].v[N] == 10 + N);
    ds_full_request_close(&full);
    ds_free_variables_close(&f);
}

/* ---- the record ---- */

/* Writes queries and reads them again. */
static ds_extra round_trip(const ds_query_layout *queries, const double *in, const double *out,
                           uint64_t noise, double *room)
{
    ds_query_layout again;
    const double *read;
    uint64_t group;
    ds_extra extra = ds_queries_record(&channels, queries, in, out, noise, room);
    assert_true(extra.asked_count + extra.answered_count <= ds_queries_record_room(&channels, N));
    assert_int_equal(ds_queries_read(&extra, &channels, N, &again, &read, &group), 0);
    assert_true(group == noise && ds_queries_noise(&extra) == noise);
    assert_true(again.count == queries->count && again.in == queries->in && again.out == queries->out &&
                again.values == queries->values);
    assert_memory_equal(again.query, queries->query, queries->count * sizeof queries->query[0]);
    if (queries->in > 0) {
        assert_memory_equal(read, in, queries->in * sizeof *in);
    }
    return extra;
}

static void is_read_as_written(void **state)
{
    const uint64_t groups[] = {0, 1, UINT32_MAX, (uint64_t)UINT32_MAX + 1, UINT64_MAX, 0x123456789abcdef0};
    double room[ROOM], out[ROOM] = {0}, in[ROOM];
    char text[DS_QUERY_TEXT];
    for (int i = 0; i < ROOM; i++) {
        in[i] = 0.5 + i;
    }
    for (size_t k = 0; k < sizeof groups / sizeof groups[0]; k++) {
        ds_query_layout mixed = {.count = 3,
                                 .query = {{.op = DS_QUERY_VALUE, .channel = PHOTO},
                                           {.op = DS_QUERY_HV, .channel = LOSS, .weighted = 1},
                                           {.op = DS_QUERY_VALUE, .channel = ERROR}}};
        assert_int_equal(ds_query_layout_make(&mixed, &channels, N, NULL, text), 0);
        ds_extra e = round_trip(&mixed, in, out, groups[k], room);
        assert_true(e.kind == DS_QUERIES_LIST && e.answered == out && e.answered_count == mixed.values &&
                    e.head == 3 + 3 * 3);
        ds_query_layout loss = {.count = 1, .query = {{.op = DS_QUERY_VALUE, .channel = LOSS}}};
        assert_int_equal(ds_query_layout_make(&loss, &channels, N, NULL, text), 0);
        e = round_trip(&loss, NULL, out, groups[k], room);
        assert_true(e.kind == DS_QUERIES_LIST && e.answered_count == 1);
        ds_query_layout none = {.count = 0};
        e = round_trip(&none, NULL, NULL, groups[k], room);
        assert_true(e.kind == (groups[k] != 0 ? DS_QUERIES_LIST : 0) && e.answered == NULL);
    }
}

/* One query for the residuals without a noise group has the form of the first versions. */
static void writes_residuals_as_ever(void **state)
{
    double room[ROOM], out[ROOM] = {0};
    const double in[] = {1, 2, 3, 4};
    const uint64_t numbers[] = {0, 0, N, RESIDUALS};
    char text[DS_QUERY_TEXT];
    for (uint32_t op = DS_QUERY_VALUE; op <= DS_QUERY_JTV; op++) {
        ds_query_layout a = {.count = 1, .query = {{.op = op, .channel = ERROR}}};
        assert_int_equal(ds_query_layout_make(&a, &channels, N, NULL, text), 0);
        ds_extra e = round_trip(&a, in, out, 0, room);
        assert_true(e.kind == op && e.asked_count == numbers[op] && e.head == 0);
        assert_true(e.asked == (op == DS_QUERY_VALUE ? NULL : in));
        assert_true(e.answered_count == (op == DS_QUERY_VALUE ? RESIDUALS : 0));
        assert_true((e.answered != NULL) == (op == DS_QUERY_VALUE));
        e = round_trip(&a, in, out, 7, room);
        assert_int_equal(e.kind, DS_QUERIES_LIST);
    }
}

/* Records of other environments, and damaged ones. */
static void survives_records(void **state)
{
    static const double odd[] = {0,   1,       2, 3, 4, 16, 17, 255, 256, -1, 0.5, 1e300, 9007199254740993.0,
                                 NAN, INFINITY};
    ds_query_layout queries;
    const double *in;
    uint64_t noise;
    ds_random r = ds_random_open(1, "records", 0);
    unsigned taken = 0;
    double two[] = {0, 0, 1, DS_QUERY_JV, PHOTO, 0, 1, 2, 3};
    ds_extra other = {.kind = DS_QUERIES_LIST, .asked = two, .asked_count = 9};
    assert_int_equal(ds_queries_read(&other, &channels, N, &queries, &in, &noise), -1); /* no J v of pixels */
    two[4] = ERROR;
    assert_int_equal(ds_queries_read(&other, &channels, N, &queries, &in, &noise), 0);
    assert_true(in == two + 6 && queries.in == N);
    assert_int_equal(ds_queries_read(&other, &channels, N + 1, &queries, &in, &noise),
                     -1); /* v of another length */
    ds_channels none = {0};
    assert_int_equal(ds_queries_read(&other, &none, N, &queries, &in, &noise), -1);
    ds_extra plain = {.kind = DS_QUERY_VALUE};
    assert_int_equal(ds_queries_read(&plain, &none, N, &queries, &in, &noise), -1);
    for (int k = 0; k < 200000; k++) {
        double asked[12];
        uint64_t count = ds_random_below(&r, 13);
        for (uint64_t i = 0; i < count; i++) {
            asked[i] = odd[ds_random_below(&r, ds_random_below(&r, 2) ? 5 : sizeof odd / sizeof odd[0])];
        }
        double *exact = malloc(count * sizeof *exact + 1); /* memory checkers see reads beyond it */
        memcpy(exact, asked, count * sizeof *exact);
        ds_extra e = {.kind = (uint32_t)odd[ds_random_below(&r, 9)], .asked = exact, .asked_count = count};
        if (ds_queries_read(&e, &channels, N, &queries, &in, &noise) == 0) {
            taken++;
            assert_true(queries.count <= DS_MAX_QUERIES && queries.in <= count);
            assert_true(e.kind == 0 || in == exact + (count - queries.in));
        }
        free(exact);
    }
    assert_true(taken > 1000);
}

RUN_TESTS_WITH(make_channels, clear_channels, packs_and_hands_out, refuses_structs, refuses_queries,
               takes_one_row, asks_nothing, fills_in_fixed_variables, closes_gaps, is_read_as_written,
               writes_residuals_as_ever, survives_records)
