/* SPDX-License-Identifier: Apache-2.0 */
/* channels.c - reads and tests the channels and hook points that an environment lists; lays out queries and
 * checks their results. */
#include "config.h"

#include "plugin/channels.h"

#include "base/plugin_memory.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists of an extension ---- */

static int is_name(const char *s)
{
    size_t n = s[0] >= 'a' && s[0] <= 'z' ? strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_") : 0;
    return n > 0 && n <= DS_MAX_NAME && s[n] == '\0';
}

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from != NULL ? from : "");
    ds_text_clean(to); /* it may have been cut inside a character */
}

/* Ends texts that another process wrote, and makes them printable. */
static void tidy_text(char *text, size_t size)
{
    text[size - 1] = '\0';
    ds_text_clean(text);
}

/* Calls count() of an extension; `what` are its entries. */
static int read_count(const char *id, const char *extension, const char *what, uint64_t most,
                      ds_status(DS_CALL *count)(void *self, uint64_t *count), void *self, uint64_t *out,
                      ds_error *e)
{
    *out = 0;
    const ds_status st = count(self, out);
    if (st != DS_OK) {
        return ds_fail(e, ds_status_exit(st), "%s: count() of %s failed (%s)", id, extension,
                       ds_status_name(st));
    }
    return *out >= 1 && *out <= most ? 0
                                     : ds_fail(e, DS_EXIT_PLUGIN, "%s: %llu %s: list 1 to %llu", id,
                                               (unsigned long long)*out, what, (unsigned long long)most);
}

static int missing_function(const char *id, const char *extension, ds_error *e)
{
    return ds_fail(e, DS_EXIT_PLUGIN, "%s: extension %s: a function is missing", id, extension);
}

static int refuse(const char *id, const char *what, uint64_t i, const char *why, ds_error *e)
{
    return ds_fail(e, DS_EXIT_PLUGIN, "%s: %s %llu %s", id, what, (unsigned long long)i, why);
}

static int describe_failed(const char *id, const char *extension, const char *what, uint64_t i, ds_status st,
                           ds_error *e)
{
    return ds_fail(e, ds_status_exit(st), "%s: describe() of %s failed for %s %llu (%s)", id, extension, what,
                   (unsigned long long)i, ds_status_name(st));
}

static const char bad_name[] = "has a name that does not match [a-z][a-z0-9_]{0,46}";

/* ---- channels ---- */

/* Number of elements; 0 for an invalid shape. */
static uint64_t elements_of(const ds_channel *c)
{
    uint64_t elements = 1;
    if (c->ndim > DS_MAX_DIMENSIONS) {
        return 0;
    }
    for (uint32_t i = 0; i < c->ndim; i++) {
        if (c->shape[i] < 1 || c->shape[i] > DS_MAX_ELEMENTS / elements) {
            return 0;
        }
        elements *= c->shape[i];
    }
    return elements;
}

/* May only one channel have this role? */
static int is_single(uint32_t role)
{
    return role == DS_CHANNEL_RESIDUAL || role == DS_CHANNEL_LOSS;
}

static int accept(const char *id, const ds_channels *all, uint64_t i, ds_error *e)
{
    ds_channel_entry *to = &all->entry[i];
    ds_channel *c = &to->c;
    const uint32_t known =
        DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV) | DS_CAN(DS_QUERY_HV);
    if (!is_name(to->name)) {
        return refuse(id, "channel", i, bad_name, e);
    }
    if (!ds_text_is_line(to->unit, strlen(to->unit)) || !ds_text_is_line(to->doc, strlen(to->doc))) {
        return refuse(id, "channel", i, "has a unit or a sentence that is not one line of UTF-8", e);
    }
    uint64_t elements = elements_of(c);
    if (elements == 0) {
        return refuse(id, "channel", i, "needs a shape of 1 to 2^26 elements in at most 8 dimensions", e);
    }
    if (!(c->lower <= c->upper)) {
        return refuse(id, "channel", i, "has limits with lower > upper, or NaN", e);
    }
    if ((c->ops & DS_CAN(DS_QUERY_VALUE)) == 0) {
        return refuse(id, "channel", i, "does not offer its values (DS_CAN(DS_QUERY_VALUE))", e);
    }
    for (uint64_t k = 0; k < i; k++) {
        if (strcmp(all->entry[k].name, to->name) == 0) {
            return refuse(id, "channel", i, "has the name of another one", e);
        }
        if (is_single(c->role) && all->entry[k].c.role == c->role) {
            return refuse(id, "channel", i, "is the second channel of a role that may occur only once", e);
        }
    }
    if (c->role == DS_CHANNEL_LOSS && elements != 1) {
        return refuse(id, "channel", i, "is the loss and has more than one element", e);
    }
    int strange = c->role < DS_CHANNEL_RESIDUAL || c->role > DS_CHANNEL_LOSS || c->type < DS_TYPE_F64 ||
                  c->type > DS_TYPE_U8;
    c->ops = strange ? 0 : c->ops & known;
    c->name = to->name;
    c->unit = to->unit;
    c->doc = to->doc;
    return 0;
}

static int list_all(const char *id, ds_channels *c, ds_error *e)
{
    c->list = calloc(c->count, sizeof *c->list);
    if (c->list == NULL) {
        return ds_no_memory(e);
    }
    for (uint64_t i = 0; i < c->count; i++) {
        c->list[i] = &c->entry[i].c;
        if (accept(id, c, i, e) != 0) {
            return DS_EXIT_PLUGIN;
        }
    }
    return 0;
}

/* Reads channel i from the plugin. */
static int describe_channel(const char *id, const ds_env_channels *table, void *self, uint64_t i,
                            ds_channel_entry *to, ds_error *e)
{
    ds_channel *c = &to->c;
    *c = (ds_channel){.struct_size = sizeof *c, .type = DS_TYPE_F64, .lower = -INFINITY, .upper = INFINITY};
    ds_status st = table->describe(self, i, c);
    if (st != DS_OK) {
        return describe_failed(id, DS_EXT_CHANNELS, "channel", i, st, e);
    }
    if (c->name != NULL && strlen(c->name) > DS_MAX_NAME) {
        return refuse(id, "channel", i, bad_name, e);
    }
    copy_text(to->name, sizeof to->name, c->name);
    copy_text(to->unit, sizeof to->unit, c->unit);
    copy_text(to->doc, sizeof to->doc, c->doc);
    c->struct_size = sizeof *c;
    return 0;
}

int ds_channels_read(const char *id, const ds_env_channels *theirs, void *self, ds_channels *out, ds_error *e)
{
    ds_env_channels table;
    uint64_t count = 0;
    memset(out, 0, sizeof *out);
    if (DS_SIZED_READ(&table, theirs, DS_ENV_CHANNELS_SIZE_1_0, id, "the table of " DS_EXT_CHANNELS, e) !=
        0) {
        return DS_EXIT_PLUGIN;
    }
    if (table.count == NULL || table.describe == NULL) {
        return missing_function(id, DS_EXT_CHANNELS, e);
    }
    if (read_count(id, DS_EXT_CHANNELS, "channels", DS_MAX_CHANNELS, table.count, self, &count, e) != 0) {
        return e->status;
    }
    out->entry = calloc(count, sizeof *out->entry);
    if (out->entry == NULL) {
        return ds_no_memory(e);
    }
    out->count = count;
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && i < count; i++) {
        rc = describe_channel(id, &table, self, i, &out->entry[i], e);
    }
    return rc != 0 ? rc : list_all(id, out, e);
}

int ds_channels_receive(const char *id, ds_channel_entry *entry, uint64_t count, ds_channels *out,
                        ds_error *e)
{
    *out = (ds_channels){.count = count, .entry = entry};
    for (uint64_t i = 0; i < count; i++) {
        ds_channel_entry *c = &entry[i];
        c->name[sizeof c->name - 1] = c->unit[sizeof c->unit - 1] = c->doc[sizeof c->doc - 1] = '\0';
        entry[i].c.ops |= DS_CAN(DS_QUERY_VALUE); /* accept() clears it where no query is allowed */
    }
    return count == 0 ? 0 : list_all(id, out, e);
}

void ds_channels_clear(ds_channels *c)
{
    free(c->entry);
    free(c->list);
    memset(c, 0, sizeof *c);
}

const char *ds_channel_role_name(uint32_t role)
{
    static const char *const names[] = {"channel", "residual", "constraint", "objective",
                                        "image",   "state",    "loss"};
    return names[role < sizeof names / sizeof *names ? role : 0];
}

uint64_t ds_channels_find(const ds_channels *c, uint32_t role)
{
    uint64_t i = 0;
    while (i < c->count && !(c->entry[i].c.role == role && c->entry[i].c.ops != 0)) {
        i++;
    }
    return i;
}

uint64_t ds_channels_residuals(const ds_channels *c)
{
    uint64_t i = ds_channels_find(c, DS_CHANNEL_RESIDUAL);
    return i < c->count ? ds_channel_elements(&c->entry[i].c) : 0;
}

int ds_channels_equal(const ds_channels *a, const ds_channels *b)
{
    int same = a->count == b->count;
    for (uint64_t i = 0; same && i < a->count; i++) {
        const ds_channel *p = &a->entry[i].c, *q = &b->entry[i].c;
        same = p->role == q->role && p->type == q->type && p->ops == q->ops && p->ndim == q->ndim &&
               memcmp(p->shape, q->shape, p->ndim * sizeof *p->shape) == 0 &&
               strcmp(a->entry[i].name, b->entry[i].name) == 0;
    }
    return same;
}

/* ---- queries ---- */

static int wrong(char text[DS_QUERY_TEXT], const ds_placed_query *q, const char *name, const char *why)
{
    snprintf(text, DS_QUERY_TEXT, "operation %u of channel %u%s%s: %s", q->op, q->channel, *name ? " " : "",
             name, why);
    return -1;
}

static int check_query(const ds_query_layout *a, const ds_channels *channels, uint32_t i,
                       char text[DS_QUERY_TEXT])
{
    const ds_placed_query *q = &a->query[i];
    if (q->channel >= channels->count) {
        return wrong(text, q, "", "the environment has no such channel");
    }
    const ds_channel *c = &channels->entry[q->channel].c;
    if (q->op < DS_QUERY_VALUE || q->op > DS_QUERY_HV || (c->ops & DS_CAN(q->op)) == 0) {
        return wrong(text, q, c->name, "the channel does not offer this operation");
    }
    for (uint32_t k = 0; k < i; k++) {
        if (a->query[k].channel == q->channel && a->query[k].op == q->op) {
            return wrong(text, q, c->name, "the query occurs twice");
        }
        if (a->query[k].op != DS_QUERY_VALUE && q->op != DS_QUERY_VALUE) {
            return wrong(text, q, c->name, "one row allows one product, this is the second");
        }
    }
    return 0;
}

/* Places the numbers of query i after the numbers of earlier queries. */
static void lay_out(ds_query_layout *a, const ds_channel *c, uint64_t n, uint32_t i)
{
    ds_placed_query *q = &a->query[i];
    uint64_t elements = ds_channel_elements(c);
    q->v = a->in;
    q->v_count = q->op == DS_QUERY_JTV ? elements : q->op == DS_QUERY_VALUE ? 0 : n;
    q->w = q->v + q->v_count;
    q->w_count = q->weighted != 0 ? elements : 0;
    q->out = a->out;
    q->bytes = ds_channel_bytes(c, q->op, n);
    q->elements = q->op == DS_QUERY_VALUE || q->op == DS_QUERY_JV ? elements : n;
    a->in = q->w + q->w_count;
    a->out += (q->bytes + 7) / 8;
    a->values = q->op == DS_QUERY_VALUE ? a->out : a->values;
    a->product = q->op != DS_QUERY_VALUE;
}

int ds_query_layout_make(ds_query_layout *a, const ds_channels *channels, uint64_t n, uint32_t *place,
                         char text[DS_QUERY_TEXT])
{
    uint32_t last = a->count;
    for (uint32_t i = 0; i < a->count; i++) {
        if (check_query(a, channels, i, text) != 0) {
            return -1;
        }
        last = a->query[i].op != DS_QUERY_VALUE ? i : last;
        if (place != NULL) {
            place[i] = i;
        }
    }
    /* Move the product to the end. */
    for (uint32_t i = last; i + 1 < a->count; i++) {
        ds_placed_query product = a->query[i];
        a->query[i] = a->query[i + 1];
        a->query[i + 1] = product;
    }
    for (uint32_t i = last; place != NULL && i < a->count; i++) {
        place[i] = i == last ? a->count - 1 : i - 1;
    }
    a->in = a->out = a->values = 0;
    a->product = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        lay_out(a, &channels->entry[a->query[i].channel].c, n, i);
    }
    return 0;
}

void ds_query_layout_room(const ds_channels *channels, uint64_t n, uint64_t *in, uint64_t *out)
{
    uint64_t largest = n, v = 0;
    *in = *out = 0;
    for (uint64_t i = 0; i < channels->count; i++) {
        const ds_channel *c = &channels->entry[i].c;
        uint64_t elements = ds_channel_elements(c);
        uint64_t need = (c->ops & DS_CAN(DS_QUERY_HV)) != 0 ? n + elements : elements;
        v = need > v ? need : v;
        largest = elements > largest ? elements : largest;
        *out += (ds_channel_bytes(c, DS_QUERY_VALUE, n) + 7) / 8;
    }
    if (channels->count > 0) {
        *in = v > n ? v : n;
        *out += largest;
    }
}

/* ---- results of queries ---- */

/* Index of the first number that is not finite; the number of elements if all are. */
static uint64_t first_not_finite(const ds_placed_query *a, uint32_t type, const void *out)
{
    int single = a->op == DS_QUERY_VALUE && type == DS_TYPE_F32;
    uint64_t i = a->op == DS_QUERY_VALUE && type == DS_TYPE_U8 ? a->elements : 0;
    while (i < a->elements && isfinite(single ? (double)((const float *)out)[i] : ((const double *)out)[i])) {
        i++;
    }
    return i;
}

static void check_one(const ds_channels *channels, const ds_placed_query *a, uint32_t kind, const void *out,
                      ds_answer *answer)
{
    static const char *const what[] = {"", "element", "component of J v", "component of J' v",
                                       "component of H v"};
    const ds_channel *c = channels->list[a->channel];
    int product = a->op != DS_QUERY_VALUE;
    uint64_t bad = first_not_finite(a, c->type, out);
    if (bad < a->elements) {
        answer->outcome = product ? DS_EVAL_BAD_GRAD : DS_EVAL_INVALID;
        answer->loss = product ? answer->loss : (double)INFINITY;
        snprintf(answer->message, sizeof answer->message, "channel %s: %s %llu is not finite", c->name,
                 what[a->op], (unsigned long long)bad);
    } else if (product && kind == DS_GRAD_NONE) {
        answer->outcome = DS_EVAL_BAD_GRAD;
        snprintf(answer->message, sizeof answer->message,
                 "evaluate() did not set the kind of the product with channel '%s'", c->name);
    }
}

void ds_query_check(const ds_channels *channels, const ds_query_io *q, const uint32_t *kind, uint64_t stride,
                    ds_answer *answer)
{
    const ds_query_layout *queries = q->queries;
    unsigned char *out = q->out;
    for (uint32_t i = 0; answer->outcome == DS_EVAL_OK && i < queries->count; i++) {
        check_one(channels, &queries->query[i], kind[i * stride], out + 8 * queries->query[i].out, answer);
    }
    if (answer->outcome > DS_EVAL_BAD_GRAD) {
        memset(out, 0, queries->out * 8);
    } else if (answer->outcome == DS_EVAL_BAD_GRAD) {
        memset(out + queries->values * 8, 0, (queries->out - queries->values) * 8);
    } else if (queries->product) {
        const uint32_t last = kind[(queries->count - 1) * stride];
        answer->product_kind =
            last <= DS_GRAD_SMOOTHED ? last : DS_GRAD_SMOOTHED; /* a kind of a later version */
    }
}

/* ---- the score ---- */

/* Operations that no plugin sees, above all values of ds_query.op. */
enum { SCORE = 0x10000, SCORE_AND_BASELINE = 0x10001 };

int ds_score_credible(const ds_score_info *info)
{
    return info->noise == 0 ||
           (info->action >= 1 && info->action <= info->noise && info->noise % info->action == 0 &&
            info->noise <= DS_MAX_ELEMENTS && isfinite(info->sigma) && info->sigma > 0);
}

int ds_score_accept(const char *id, const ds_env_score *table, void *self, ds_env_score *own,
                    ds_score_info *info, ds_error *e)
{
    *info = (ds_score_info){.struct_size = sizeof *info};
    if (table == NULL) {
        return 0;
    }
    if (DS_SIZED_READ(own, table, DS_ENV_SCORE_SIZE_1_0, id, "the table of " DS_EXT_SCORE, e) != 0) {
        return DS_EXIT_PLUGIN;
    }
    if (own->info == NULL || own->evaluate == NULL) {
        return missing_function(id, DS_EXT_SCORE, e);
    }
    ds_status st = own->info(self, info);
    if (st != DS_OK || info->noise == 0 || !ds_score_credible(info)) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: extension " DS_EXT_SCORE
                       ": info() returned %s with %llu numbers of noise, %llu a step, and "
                       "sigma %g: each step needs the same number, at least 1, and sigma must be positive",
                       id, ds_status_name(st), (unsigned long long)info->noise,
                       (unsigned long long)info->action, info->sigma);
    }
    return 0;
}

void ds_score_query(ds_query_layout *a, uint64_t n, int baseline)
{
    memset(a, 0, sizeof *a);
    a->count = 1;
    a->in = 1;
    a->out = a->values = n + 1;
    a->query[0] = (ds_placed_query){
        .op = baseline ? SCORE_AND_BASELINE : SCORE, .v_count = 1, .bytes = 8 * (n + 1), .elements = n + 1};
}

int ds_score_is_queried(const ds_query_layout *a)
{
    return a->count == 1 && (a->query[0].op == SCORE || a->query[0].op == SCORE_AND_BASELINE);
}

int ds_score_wants_baseline(const ds_query_layout *a)
{
    return a->query[0].op == SCORE_AND_BASELINE;
}

void ds_score_room(const ds_score_info *info, uint64_t n, uint64_t *in, uint64_t *out)
{
    if (info->noise > 0) {
        *in = *in > 1 ? *in : 1;
        *out = *out > n + 1 ? *out : n + 1;
    }
}

/* ---- hook points ---- */

static int describe_hook(const char *id, const ds_env_hooks *table, void *self, uint64_t i, ds_hooks *all,
                         ds_error *e)
{
    ds_hook h = {.struct_size = sizeof h};
    ds_hook_entry *to = &all->entry[i];
    ds_status st = table->describe(self, i, &h);
    if (st != DS_OK) {
        return describe_failed(id, DS_EXT_HOOKS, "hook point", i, st, e);
    }
    if (h.name == NULL || !is_name(h.name)) {
        return refuse(id, "hook point", i, bad_name, e);
    }
    if (h.kind != DS_HOOK_INPUT && h.kind != DS_HOOK_OUTPUT) {
        return refuse(id, "hook point", i, "is neither DS_HOOK_INPUT nor DS_HOOK_OUTPUT", e);
    }
    if (h.count < 1 || h.count > DS_MAX_HOOK_ELEMENTS) {
        return refuse(id, "hook point", i, "does not have 1 to 64 elements", e);
    }
    for (uint64_t k = 0; k < i; k++) {
        if (strcmp(all->entry[k].name, h.name) == 0) {
            return refuse(id, "hook point", i, "has the name of another one", e);
        }
    }
    to->kind = h.kind;
    to->count = (uint32_t)h.count;
    copy_text(to->name, sizeof to->name, h.name);
    copy_text(to->unit, sizeof to->unit, h.unit);
    copy_text(to->doc, sizeof to->doc, h.doc);
    return 0;
}

int ds_hooks_read(const char *id, const ds_env_hooks *theirs, void *self, ds_hooks *out, ds_error *e)
{
    ds_env_hooks table;
    uint64_t count = 0;
    memset(out, 0, sizeof *out);
    if (DS_SIZED_READ(&table, theirs, DS_ENV_HOOKS_SIZE_1_0, id, "the table of " DS_EXT_HOOKS, e) != 0) {
        return DS_EXIT_PLUGIN;
    }
    if (table.count == NULL || table.describe == NULL) {
        return missing_function(id, DS_EXT_HOOKS, e);
    }
    int rc = read_count(id, DS_EXT_HOOKS, "hook points", DS_MAX_HOOKS, table.count, self, &count, e);
    for (uint64_t i = 0; rc == 0 && i < count; i++) {
        rc = describe_hook(id, &table, self, i, out, e);
    }
    out->count = rc == 0 ? count : 0;
    return rc;
}

void ds_hooks_tidy(ds_hooks *h)
{
    h->count = h->count <= DS_MAX_HOOKS ? h->count : 0;
    for (uint64_t i = 0; i < h->count; i++) {
        ds_hook_entry *t = &h->entry[i];
        tidy_text(t->name, sizeof t->name);
        tidy_text(t->unit, sizeof t->unit);
        tidy_text(t->doc, sizeof t->doc);
    }
}

const char *ds_hook_kind_name(uint32_t kind)
{
    return kind == DS_HOOK_INPUT ? "input" : "output";
}
