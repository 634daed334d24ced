/* SPDX-License-Identifier: Apache-2.0 */
/* test_channels.c - which lists of channels the host accepts and how it refuses others, how it lays out
 * queries and which it refuses, and how it tests results. */
#include "plugin/channels.h"
#include "test.h"
#include "test.h"

enum {
    VALUE = DS_CAN(DS_QUERY_VALUE),
    JV = DS_CAN(DS_QUERY_JV),
    JTV = DS_CAN(DS_QUERY_JTV),
    HV = DS_CAN(DS_QUERY_HV)
};
enum { N = 4 };

/* What the environment of a test lists. */
static struct plan {
    uint64_t count;
    ds_channel channel[8];
    ds_status counted, described;
} plan;

static ds_status count_channels(void *self, uint64_t *count)
{
    *count = plan.count;
    return plan.counted;
}

static ds_status describe(void *self, uint64_t i, ds_channel *out)
{
    uint32_t size = out->struct_size;
    assert_true(out->lower == -HUGE_VAL && out->upper == HUGE_VAL && size == sizeof *out);
    *out = plan.channel[i % 8];
    return plan.described;
}

static const ds_env_channels table = {
    .struct_size = sizeof table, .count = count_channels, .describe = describe};

/* Residuals (5), a constraint without dimensions, pixels (3 x 2, f32), bytes (7), the loss. */
static int good_plan(void **state)
{
    const ds_channel all[] = {
        {.role = DS_CHANNEL_RESIDUAL, .type = DS_TYPE_F64, .ops = VALUE | JV | JTV, .ndim = 1, .shape = {5}},
        {.role = DS_CHANNEL_CONSTRAINT, .type = DS_TYPE_F64, .ops = VALUE | JV | JTV | HV},
        {.role = DS_CHANNEL_IMAGE, .type = DS_TYPE_F32, .ops = VALUE | JTV, .ndim = 2, .shape = {3, 3}},
        {.role = DS_CHANNEL_STATE, .type = DS_TYPE_U8, .ops = VALUE, .ndim = 1, .shape = {7}},
        {.role = DS_CHANNEL_LOSS, .type = DS_TYPE_F64, .ops = VALUE | HV}};
    static const char *const names[] = {"error", "limit", "photo", "bytes", "loss"};
    memset(&plan, 0, sizeof plan);
    plan.count = 5;
    for (int i = 0; i < 5; i++) {
        plan.channel[i] = all[i];
        plan.channel[i].name = names[i];
        plan.channel[i].unit = "m";
        plan.channel[i].doc = "What it is.";
        plan.channel[i].lower = -INFINITY;
        plan.channel[i].upper = INFINITY;
    }
    return 0;
}

static void take(ds_channels *c)
{
    ds_error e = {0};
    if (ds_channels_read("toy", &table, NULL, c, &e) != 0) {
        fail_msg("%s", e.text);
    }
}

/* The list is refused with a line that contains `text`. */
static void refused(const char *text)
{
    ds_channels c;
    ds_error e = {0};
    if (ds_channels_read("toy", &table, NULL, &c, &e) == 0 || strstr(e.text, text) == NULL ||
        strncmp(e.text, "toy: ", 5) != 0) {
        fail_msg("'%s' without '%s'", e.text, text);
    }
    ds_channels_clear(&c);
    good_plan(NULL);
}

/* ---- the list ---- */

static void takes_lists(void **state)
{
    ds_channels c;
    plan.channel[1].lower = plan.channel[1].upper = 2; /* an equation */
    take(&c);
    assert_int_equal(c.count, 5);
    for (uint64_t i = 0; i < c.count; i++) {
        assert_ptr_equal(c.list[i], &c.entry[i].c);
        assert_string_equal(c.list[i]->name, plan.channel[i].name);
        assert_ptr_not_equal(c.list[i]->name, plan.channel[i].name);
        assert_true(c.list[i]->struct_size == sizeof(ds_channel) && c.list[i]->ops == plan.channel[i].ops);
    }
    assert_string_equal(c.list[2]->unit, "m");
    assert_string_equal(c.list[2]->doc, "What it is.");
    assert_int_equal(ds_channels_find(&c, DS_CHANNEL_LOSS), 4);
    assert_int_equal(ds_channels_find(&c, DS_CHANNEL_OBJECTIVE), 5);
    assert_int_equal(ds_channels_residuals(&c), 5);
    assert_string_equal(ds_channel_role_name(DS_CHANNEL_CONSTRAINT), "constraint");
    assert_string_equal(ds_channel_role_name(1000), "channel");
    ds_channels_clear(&c);
    assert_true(c.count == 0 && c.entry == NULL && c.list == NULL);
    assert_int_equal(ds_channels_residuals(&c), 0);
}

/* Texts are copied, made one line and cut between characters; a missing text is "". */
static void copies_texts(void **state)
{
    char name[50], doc[400];
    ds_channels c;
    memset(name, 'a', sizeof name);
    name[DS_MAX_NAME] = '\0';
    for (size_t i = 0; i + 2 < sizeof doc; i += 2) {
        memcpy(doc + i, "\xc3\xa4", 3); /* of two bytes */
    }
    plan.channel[0].name = name;
    plan.channel[0].doc = doc;
    plan.channel[0].unit = NULL;
    plan.channel[1].doc = "two\nlines, \xff";
    take(&c);
    assert_true(ds_text_is_line(c.list[1]->doc, strlen(c.list[1]->doc)) && strlen(c.list[1]->doc) >= 10);
    assert_string_equal(c.list[0]->name, name);
    assert_string_equal(c.list[0]->unit, "");
    assert_true(strlen(c.list[0]->doc) > 100 && strncmp(c.list[0]->doc, doc, 100) == 0);
    assert_true(ds_text_is_line(c.list[0]->doc, strlen(c.list[0]->doc)));
    ds_channels_clear(&c);
    name[DS_MAX_NAME] = 'a';
    name[DS_MAX_NAME + 1] = '\0';
    good_plan(NULL);
    plan.channel[0].name = name;
    refused("channel 0 has a name that does not match");
}

/* Channels of a later version stay in their place but allow no queries. */
static void leaves_strangers_alone(void **state)
{
    ds_channels c;
    plan.channel[0].role = 7;
    plan.channel[1].type = 4;
    plan.channel[2].ops |= 1u << 20 | 1u;
    plan.channel[3].role = 0;
    take(&c);
    assert_true(c.list[0]->ops == 0 && c.list[1]->ops == 0 && c.list[3]->ops == 0);
    assert_int_equal(c.list[2]->ops, VALUE | JTV);
    assert_int_equal(ds_channels_find(&c, 7), c.count);
    assert_int_equal(ds_channels_residuals(&c), 0);
    ds_channels_clear(&c);
}

static void refuses_lists(void **state)
{
    static const char *const names[] = {"", "Error", "9lives", "a-b", "_a", "a b"};
    plan.count = 0;
    refused("0 channels: list 1 to 256");
    plan.count = DS_MAX_CHANNELS + 1;
    refused("257 channels: list 1 to 256");
    plan.counted = DS_E_NUMERIC;
    refused("count() of " DS_EXT_CHANNELS " failed (DS_E_NUMERIC)");
    plan.described = DS_E_STATE;
    refused("describe() of " DS_EXT_CHANNELS " failed for channel 0 (DS_E_STATE)");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        plan.channel[3].name = names[i];
        refused("channel 3 has a name");
    }
    plan.channel[3].name = NULL;
    refused("channel 3 has a name");
    plan.channel[3].name = "error";
    refused("channel 3 has the name of another one");
    plan.channel[1].lower = 2;
    plan.channel[1].upper = 1;
    refused("channel 1 has limits");
    plan.channel[1].lower = NAN;
    refused("channel 1 has limits");
    plan.channel[0].ops = JV | JTV;
    refused("channel 0 does not offer its values");
    plan.channel[3].role = DS_CHANNEL_RESIDUAL;
    refused("channel 3 is the second channel of a role");
    plan.channel[3].role = DS_CHANNEL_LOSS;
    plan.channel[3].ndim = 0;
    refused("channel 4 is the second channel of a role");
    plan.channel[4].ndim = 1;
    plan.channel[4].shape[0] = 2;
    refused("channel 4 is the loss and has more than one element");
}

static void refuses_shapes(void **state)
{
    ds_channels c;
    plan.channel[3].ndim = 9;
    refused("channel 3 needs a shape");
    plan.channel[3].shape[0] = 0;
    refused("channel 3 needs a shape");
    plan.channel[3].shape[0] = DS_MAX_ELEMENTS + 1;
    refused("channel 3 needs a shape");
    plan.channel[3].ndim = 8;
    for (int i = 0; i < 8; i++) {
        plan.channel[3].shape[i] = UINT64_MAX / 2;
    }
    refused("channel 3 needs a shape");
    plan.channel[3].ndim = 2;
    plan.channel[3].shape[0] = plan.channel[3].shape[1] = 8192;
    take(&c);
    assert_int_equal(ds_channel_elements(c.list[3]), DS_MAX_ELEMENTS);
    ds_channels_clear(&c);
}

/* A list from another process: its texts may lack a NUL, and its numbers are tested like those of a plugin.
 */
static void takes_entries(void **state)
{
    ds_channels c, d;
    ds_error e = {0};
    take(&c);
    ds_channel_entry *entry = malloc(c.count * sizeof *entry);
    memcpy(entry, c.entry, c.count * sizeof *entry);
    entry[1].c.name = (const char *)8; /* an address of the other process */
    assert_int_equal(ds_channels_receive("toy", entry, c.count, &d, &e), 0);
    assert_string_equal(d.list[1]->name, "limit");
    assert_true(ds_channels_equal(&c, &d));
    d.entry[2].c.shape[1]++;
    assert_false(ds_channels_equal(&c, &d));
    d.entry[2].c.shape[1]--;
    d.entry[2].name[0] = 'q';
    assert_false(ds_channels_equal(&c, &d));
    ds_channels_clear(&d);
    entry = malloc(c.count * sizeof *entry);
    memcpy(entry, c.entry, c.count * sizeof *entry);
    memset(entry[2].name, 'a', sizeof entry[2].name);
    memset(entry[2].doc, 'a', sizeof entry[2].doc);
    entry[3].c.shape[0] = 0;
    assert_int_not_equal(ds_channels_receive("toy", entry, c.count, &d, &e), 0);
    assert_non_null(strstr(e.text, "channel 3 needs a shape"));
    assert_int_equal(strlen(d.entry[2].name), DS_MAX_NAME);
    ds_channels_clear(&d);
    entry = malloc(c.count * sizeof *entry);
    memcpy(entry, c.entry, c.count * sizeof *entry);
    memcpy(entry[3].unit, "\xff", 2);
    assert_int_not_equal(ds_channels_receive("toy", entry, c.count, &d, &e), 0);
    assert_non_null(strstr(e.text, "channel 3 has a unit or a sentence"));
    ds_channels_clear(&d);
    ds_channels_clear(&c);
    assert_int_equal(ds_channels_receive("toy", NULL, 0, &d, &e), 0);
    assert_int_equal(d.count, 0);
}

/* ---- queries ---- */

static ds_placed_query ask_for(uint32_t op, uint32_t channel, uint32_t weighted)
{
    return (ds_placed_query){.op = op, .channel = channel, .weighted = weighted};
}

static void lays_out_questions(void **state)
{
    char text[DS_QUERY_TEXT];
    uint32_t place[DS_MAX_QUERIES];
    ds_channels c;
    take(&c);
    ds_query_layout a = {.count = 4,
                         .query = {ask_for(DS_QUERY_VALUE, 3, 0), ask_for(DS_QUERY_HV, 1, 1),
                                   ask_for(DS_QUERY_VALUE, 2, 0), ask_for(DS_QUERY_VALUE, 0, 0)}};
    assert_int_equal(ds_query_layout_make(&a, &c, N, place, text), 0);
    assert_true(a.count == 4 && a.product == 1);
    const uint32_t expected[] = {0, 3, 1, 2}; /* the product is moved to the end */
    assert_memory_equal(place, expected, sizeof expected);
    assert_true(a.query[0].channel == 3 && a.query[1].channel == 2 && a.query[2].channel == 0 &&
                a.query[3].op == DS_QUERY_HV);
    /* 7 bytes take a word, 9 floats five, 5 doubles five, and H v four. */
    assert_true(a.query[0].out == 0 && a.query[0].bytes == 7 && a.query[0].elements == 7);
    assert_true(a.query[1].out == 1 && a.query[1].bytes == 36 && a.query[1].elements == 9);
    assert_true(a.query[2].out == 6 && a.query[2].bytes == 40);
    assert_true(a.query[3].out == 11 && a.query[3].bytes == 8 * N && a.query[3].elements == N);
    assert_true(a.values == 11 && a.out == 15);
    assert_true(a.query[3].v == 0 && a.query[3].v_count == N && a.query[3].w == N && a.query[3].w_count == 1);
    assert_int_equal(a.in, N + 1);

    a = (ds_query_layout){.count = 1, .query = {ask_for(DS_QUERY_JTV, 0, 0)}};
    assert_int_equal(ds_query_layout_make(&a, &c, N, NULL, text), 0);
    assert_true(a.in == 5 && a.out == N && a.values == 0 && a.product == 1 && a.query[0].v_count == 5);
    a = (ds_query_layout){.count = 2, .query = {ask_for(DS_QUERY_JV, 0, 0), ask_for(DS_QUERY_VALUE, 0, 0)}};
    assert_int_equal(ds_query_layout_make(&a, &c, N, place, text), 0);
    assert_true(place[0] == 1 && place[1] == 0 && a.in == N && a.values == 5 && a.out == 10);
    a = (ds_query_layout){.count = 0};
    assert_int_equal(ds_query_layout_make(&a, &c, N, place, text), 0);
    assert_true(a.in == 0 && a.out == 0 && a.product == 0);
    ds_channels_clear(&c);
}

static void refuses_questions(void **state)
{
    const struct {
        ds_placed_query query[2];
        const char *text;
    } cases[] = {{{ask_for(DS_QUERY_VALUE, 5, 0)}, "the environment has no such channel"},
                 {{ask_for(DS_QUERY_JV, 2, 0)},
                  "operation 2 of channel 2 photo: the channel does not offer this operation"},
                 {{ask_for(0, 0, 0)}, "the channel does not offer this operation"},
                 {{ask_for(5, 0, 0)}, "the channel does not offer this operation"},
                 {{ask_for(64 + DS_QUERY_VALUE, 0, 0)}, "the channel does not offer this operation"},
                 {{ask_for(DS_QUERY_VALUE, 0, 0), ask_for(DS_QUERY_VALUE, 0, 0)}, "the query occurs twice"},
                 {{ask_for(DS_QUERY_JTV, 0, 0), ask_for(DS_QUERY_JV, 1, 0)},
                  "one row allows one product, this is the second"}};
    char text[DS_QUERY_TEXT];
    ds_channels c;
    take(&c);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ds_query_layout a = {.count = i < 5 ? 1 : 2, .query = {cases[i].query[0], cases[i].query[1]}};
        text[0] = '\0';
        assert_int_equal(ds_query_layout_make(&a, &c, N, NULL, text), -1);
        if (strstr(text, cases[i].text) == NULL) {
            fail_msg("'%s' without '%s'", text, cases[i].text);
        }
    }
    ds_channels_clear(&c);
}

/* The room is enough for all values and any product. */
static void has_room(void **state)
{
    char text[DS_QUERY_TEXT];
    ds_channels c;
    uint64_t in, out;
    take(&c);
    for (uint64_t n = 1; n < 100; n += 9) {
        ds_query_layout_room(&c, n, &in, &out);
        for (uint32_t k = 0; k < c.count; k++) {
            for (uint32_t op = DS_QUERY_JV; op <= DS_QUERY_HV; op++) {
                ds_query_layout a = {.count = 6, .query = {ask_for(op, k, op == DS_QUERY_HV)}};
                for (uint32_t i = 0; i < 5; i++) {
                    a.query[i + 1] = ask_for(DS_QUERY_VALUE, i, 0);
                }
                if (ds_query_layout_make(&a, &c, n, NULL, text) == 0) {
                    assert_true(a.in <= in && a.out <= out);
                }
            }
        }
    }
    ds_channels none = {0};
    ds_query_layout_room(&none, 3, &in, &out);
    assert_true(in == 0 && out == 0);
    ds_channels_clear(&c);
}

/* ---- results ---- */

/* Values of all channels but the loss, and J' v of the residuals; `spoil` changes one number of a good
 * result. */
enum { KINDS = 3 };

typedef struct answered {
    ds_channels c;
    ds_query_layout queries;
    double in[8], out[20];
    uint32_t kind[DS_MAX_QUERIES * KINDS]; /* the kind of query i is number i KINDS, as in a table of rows */
    ds_answer answer;
} answered;

static void *place_of(answered *t, uint32_t i)
{
    return t->out + t->queries.query[i].out;
}

static void open_answered(answered *t)
{
    char text[DS_QUERY_TEXT];
    memset(t, 0, sizeof *t);
    take(&t->c);
    t->queries.count = 5;
    for (uint32_t i = 0; i < 4; i++) {
        t->queries.query[i] = ask_for(DS_QUERY_VALUE, i, 0);
    }
    t->queries.query[4] = ask_for(DS_QUERY_JTV, 0, 0);
    assert_int_equal(ds_query_layout_make(&t->queries, &t->c, N, NULL, text), 0);
    assert_true(t->queries.out <= 20 && t->queries.in <= 8);
    for (uint32_t i = 0; i < t->queries.count; i++) {
        memset(place_of(t, i), 0x3f, t->queries.query[i].bytes);
        t->kind[i * KINDS + 1] = DS_GRAD_SMOOTHED; /* of another row */
    }
    t->kind[4 * KINDS] = DS_GRAD_ADJOINT;
    t->answer = (ds_answer){.loss = 3, .outcome = DS_EVAL_OK};
}

static void check(answered *t)
{
    const ds_query_io q = {&t->queries, t->in, t->out};
    ds_query_check(&t->c, &q, t->kind, KINDS, &t->answer);
}

/* Tests the result: `outcome`, a message with `text`, and what is zero. */
static void becomes(answered *t, uint32_t outcome, const char *text)
{
    static const double zero[20];
    uint64_t values = t->queries.values, all = t->queries.out;
    check(t);
    if (t->answer.outcome != outcome || strstr(t->answer.message, text) == NULL) {
        fail_msg("%u '%s' without '%s'", t->answer.outcome, t->answer.message, text);
    }
    int kept = memcmp(t->out, zero, values * 8) != 0;
    int product = memcmp(t->out + values, zero, (all - values) * 8) != 0;
    assert_true(kept == (outcome <= DS_EVAL_BAD_GRAD) && product == (outcome == DS_EVAL_OK));
    assert_true((t->answer.product_kind == DS_GRAD_ADJOINT) == (outcome == DS_EVAL_OK));
    assert_true((t->answer.loss == 3) == (outcome <= DS_EVAL_BAD_GRAD));
    ds_channels_clear(&t->c);
}

static void vets_answers(void **state)
{
    answered t;
    open_answered(&t);
    becomes(&t, DS_EVAL_OK, "");
    open_answered(&t);
    memset(place_of(&t, 3), 0xff, t.queries.query[3].bytes); /* bytes are always numbers */
    becomes(&t, DS_EVAL_OK, "");
    open_answered(&t);
    ((double *)place_of(&t, 0))[4] = NAN;
    becomes(&t, DS_EVAL_INVALID, "channel error: element 4 is not finite");
    open_answered(&t);
    ((float *)place_of(&t, 2))[8] = (float)INFINITY;
    becomes(&t, DS_EVAL_INVALID, "channel photo: element 8 is not finite");
    open_answered(&t);
    ((double *)place_of(&t, 4))[1] = -INFINITY;
    becomes(&t, DS_EVAL_BAD_GRAD, "channel error: component of J' v 1 is not finite");
    open_answered(&t);
    t.kind[4 * KINDS] = DS_GRAD_NONE;
    becomes(&t, DS_EVAL_BAD_GRAD, "did not set the kind of the product with channel 'error'");
    open_answered(&t);
    t.kind[4 * KINDS] = DS_GRAD_SMOOTHED + 1; /* a kind of a later version */
    check(&t);
    assert_true(t.answer.outcome == DS_EVAL_OK && t.answer.product_kind == DS_GRAD_SMOOTHED);
    ds_channels_clear(&t.c);
    open_answered(&t);
    t.answer.outcome = DS_EVAL_BAD_GRAD;
    becomes(&t, DS_EVAL_BAD_GRAD, "");
    open_answered(&t);
    t.answer = (ds_answer){.loss = INFINITY, .outcome = DS_EVAL_DIVERGED};
    becomes(&t, DS_EVAL_DIVERGED, "");
}

RUN_EACH_WITH(good_plan, NULL, takes_lists, copies_texts, leaves_strangers_alone, refuses_lists,
              refuses_shapes, takes_entries, lays_out_questions, refuses_questions, has_room, vets_answers)
