/* SPDX-License-Identifier: Apache-2.0 */
/* channels.c - reads and tests the channels that an environment lists, and lays out questions about them. */
#include "config.h"

#include "plugin/channels.h"

#include "base/sized.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the list ---- */

static int is_name(const char *s)
{
    size_t n = s[0] >= 'a' && s[0] <= 'z' ? strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_") : 0;
    return n > 0 && s[n] == '\0';
}

/* Elements of a shape; 0 where it is none. */
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

static int refuse(const char *id, uint64_t i, const char *why, ds_error *e)
{
    return ds_fail(e, DS_EXIT_PLUGIN, "%s: channel %llu %s", id, (unsigned long long)i, why);
}

/* May a role be there once only? */
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
        return refuse(id, i, "has a name that does not match [a-z][a-z0-9_]{0,46}", e);
    }
    if (!ds_text_is_line(to->unit, strlen(to->unit)) || !ds_text_is_line(to->doc, strlen(to->doc))) {
        return refuse(id, i, "has a unit or a sentence that is not one line of UTF-8", e);
    }
    uint64_t elements = elements_of(c);
    if (elements == 0) {
        return refuse(id, i, "has no shape of 1 to 2^26 elements in at most 8 dimensions", e);
    }
    if (!(c->lower <= c->upper)) {
        return refuse(id, i, "has limits with lower > upper, or NaN", e);
    }
    if ((c->ops & DS_CAN(DS_QUERY_VALUE)) == 0) {
        return refuse(id, i, "does not offer its values (DS_CAN(DS_QUERY_VALUE))", e);
    }
    for (uint64_t k = 0; k < i; k++) {
        if (strcmp(all->entry[k].name, to->name) == 0) {
            return refuse(id, i, "has the name of another one", e);
        }
        if (is_single(c->role) && all->entry[k].c.role == c->role) {
            return refuse(id, i, "is a second one of a role that there is only once", e);
        }
    }
    if (c->role == DS_CHANNEL_LOSS && elements != 1) {
        return refuse(id, i, "is the loss and has more than one element", e);
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

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from != NULL ? from : "");
    ds_text_clean(to); /* it may have been cut inside a character */
}

/* Fills entry i from the plugin. */
static int describe(const char *id, const ds_env_channels *table, void *self, uint64_t i,
                    ds_channel_entry *to, ds_error *e)
{
    ds_channel *c = &to->c;
    *c = (ds_channel){.struct_size = sizeof *c, .type = DS_TYPE_F64, .lower = -INFINITY, .upper = INFINITY};
    ds_status st = table->describe(self, i, c);
    if (st != DS_OK) {
        return ds_fail(e, ds_status_exit(st),
                       "%s: describe() of " DS_EXT_CHANNELS " failed for channel %llu (%s)", id,
                       (unsigned long long)i, ds_status_name(st));
    }
    if (c->name != NULL && strlen(c->name) > DS_MAX_NAME) {
        return refuse(id, i, "has a name that does not match [a-z][a-z0-9_]{0,46}", e);
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
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: extension " DS_EXT_CHANNELS ": a function is missing", id);
    }
    ds_status st = table.count(self, &count);
    if (st != DS_OK) {
        return ds_fail(e, ds_status_exit(st), "%s: count() of " DS_EXT_CHANNELS " failed (%s)", id,
                       ds_status_name(st));
    }
    if (count < 1 || count > DS_MAX_CHANNELS) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: %llu channels, 1 to %u are possible", id,
                       (unsigned long long)count, DS_MAX_CHANNELS);
    }
    out->entry = calloc(count, sizeof *out->entry);
    if (out->entry == NULL) {
        return ds_no_memory(e);
    }
    out->count = count;
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && i < count; i++) {
        rc = describe(id, &table, self, i, &out->entry[i], e);
    }
    return rc != 0 ? rc : list_all(id, out, e);
}

int ds_channels_receive(const char *id, ds_channel_entry *entry, uint64_t count, ds_channels *out,
                        ds_error *e)
{
    *out = (ds_channels){.count = count, .entry = entry};
    for (uint64_t i = 0; i < count; i++) {
        entry[i].name[sizeof entry[i].name - 1] = '\0';
        entry[i].unit[sizeof entry[i].unit - 1] = '\0';
        entry[i].doc[sizeof entry[i].doc - 1] = '\0';
        entry[i].c.ops |= DS_CAN(DS_QUERY_VALUE); /* taken away where nothing can be asked */
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

/* ---- questions ---- */

static int wrong(char text[DS_QUERY_TEXT], const ds_placed_query *q, const char *name, const char *why)
{
    snprintf(text, DS_QUERY_TEXT, "operation %u of channel %u%s%s: %s", q->op, q->channel, *name ? " " : "",
             name, why);
    return -1;
}

static int may_ask(const ds_query_layout *a, const ds_channels *channels, uint32_t i,
                   char text[DS_QUERY_TEXT])
{
    const ds_placed_query *q = &a->query[i];
    if (q->channel >= channels->count) {
        return wrong(text, q, "", "the environment has no such channel");
    }
    const ds_channel *c = &channels->entry[q->channel].c;
    if (q->op < DS_QUERY_VALUE || q->op > DS_QUERY_HV || (c->ops & DS_CAN(q->op)) == 0) {
        return wrong(text, q, c->name, "it does not offer that");
    }
    for (uint32_t k = 0; k < i; k++) {
        if (a->query[k].channel == q->channel && a->query[k].op == q->op) {
            return wrong(text, q, c->name, "it is asked twice");
        }
        if (a->query[k].op != DS_QUERY_VALUE && q->op != DS_QUERY_VALUE) {
            return wrong(text, q, c->name, "it is a second product in one row");
        }
    }
    return 0;
}

/* Where the numbers of question i lie, behind those of the questions before it. */
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
        if (may_ask(a, channels, i, text) != 0) {
            return -1;
        }
        last = a->query[i].op != DS_QUERY_VALUE ? i : last;
        if (place != NULL) {
            place[i] = i;
        }
    }
    /* The product goes to the end. */
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
