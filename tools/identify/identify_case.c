/* SPDX-License-Identifier: Apache-2.0 */
/* identify_case.c - opens a case: an instance of the environment for each recording, the data of signals, the
 * list of parameters, and the independent problems. */
#include "config.h"

#include "identify/identify.h"

#include "base/log.h"
#include "run/session.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

static int whole(const ds_params *p, const char *name)
{
    int64_t v = 0;
    ds_params_int(p, name, &v);
    return (int)v;
}

static int read_options(ds_identify_case *c, ds_error *e)
{
    ds_identify_options *o = &c->options;
    int rc = ds_params_make(ds_identify_schema, "", &c->file->settings, DS_SECTION_IDENTIFY, &o->params, e);
    if (rc != 0) {
        return rc;
    }
    const ds_params *p = o->params;
    ds_params_text(p, "method", &o->method);
    ds_params_text(p, "windows", &o->windows);
    ds_params_real(p, "level", &o->level);
    ds_params_real(p, "noise", &o->noise);
    ds_params_real(p, "hop", &o->hop);
    o->own = whole(p, "scope");
    o->samples = (uint64_t)whole(p, "n_samples");
    o->held_out = (uint64_t)whole(p, "held_out");
    o->points = whole(p, "points");
    o->bootstrap = whole(p, "bootstrap");
    o->profile = whole(p, "profile");
    o->recovery = whole(p, "recovery");
    o->check_only = whole(p, "check_only");
    o->page = whole(p, "page");
    return 0;
}

int ds_identify_warn(ds_identify_case *c, ds_error *e, const char *format, ...)
{
    char text[DS_IDENTIFY_LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char **list = realloc(c->warning, (c->warnings + 1) * sizeof *list);
    if (list == NULL) {
        return ds_no_memory(e);
    }
    c->warning = list;
    list[c->warnings] = strdup(text);
    if (list[c->warnings] == NULL) {
        return ds_no_memory(e);
    }
    c->warnings++;
    ds_log(DS_LOG_WARNING, NULL, "%s", text);
    return 0;
}

/* ---- settings of a recording ---- */

static int has_parameter(const ds_module *m, const char *name)
{
    const ds_param *const *p = m->plugin->desc->params;
    while (p != NULL && *p != NULL && strcmp((*p)->name, name) != 0) {
        p++;
    }
    return p != NULL && *p != NULL;
}

/* A setting of the recording replaces the same key of [env] in the file; --set and flags still win. */
static int replace_setting(ds_settings *to, const ds_setting *s, ds_error *e)
{
    ds_section *env = &to->section[DS_SECTION_ENV];
    for (size_t i = 0; i < env->count; i++) {
        if (strcmp(env->item[i].key, s->key) == 0 && env->item[i].layer == DS_LAYER_FILE) {
            ds_setting *old = &env->item[i];
            free(old->key), free(old->value), free(old->origin), free(old->base);
            memmove(old, old + 1, (--env->count - i) * sizeof *old);
            break;
        }
    }
    return ds_settings_add(to, DS_SECTION_ENV, s->key, s->value, s->origin, s->base, s->status, s->layer, e);
}

static int set_number(ds_settings *to, const char *key, uint64_t value, ds_error *e)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return ds_settings_add_flag(to, DS_SECTION_ENV, key, text, e);
}

static uint64_t number_of(const ds_settings *s, const char *key)
{
    const ds_setting *t = ds_settings_find(s, DS_SECTION_ENV, key);
    int64_t v = 0;
    return t != NULL && ds_parse_int(t->value, &v) && v > 0 ? (uint64_t)v : 0;
}

char *ds_identify_path(const ds_setting *s)
{
    char *path = NULL;
    if (s->base == NULL || s->value[0] == '/') {
        return strdup(s->value);
    }
    return asprintf(&path, "%s/%s", s->base, s->value) < 0 ? NULL : path;
}

/* Keys of [recording] that only this tool reads, where signals are compared. */
static int is_own_key(const char *key)
{
    return strcmp(key, "file") == 0 || strcmp(key, "time") == 0 || strcmp(key, "rate") == 0 ||
           strcmp(key, "first_row") == 0;
}

static const ds_setting *source_find(const ds_identify_source *s, const char *key)
{
    for (size_t i = 0; s != NULL && i < s->set.count; i++) {
        if (strcmp(s->set.item[i].key, key) == 0) {
            return &s->set.item[i];
        }
    }
    return NULL;
}

static int copy_settings(ds_identify_case *c, const ds_identify_source *s, ds_identify_recording *r,
                         ds_error *e)
{
    const int signals = c->file->signals > 0;
    int rc = ds_settings_copy(&r->settings, &c->file->settings, e);
    for (size_t i = 0; rc == 0 && s != NULL && i < s->set.count; i++) {
        rc = signals && is_own_key(s->set.item[i].key) && !has_parameter(c->module, s->set.item[i].key)
                 ? 0
                 : replace_setting(&r->settings, &s->set.item[i], e);
    }
    const ds_setting *file = source_find(s, "file");
    file = file != NULL ? file : ds_settings_find(&r->settings, DS_SECTION_ENV, "file");
    if (rc == 0 && file != NULL) {
        r->file = ds_identify_path(file);
        rc = r->file != NULL ? 0 : ds_no_memory(e);
    }
    return rc;
}

/* ---- instances ---- */

static int open_pool(ds_identify_case *c, ds_identify_recording *r, ds_error *e)
{
    ds_pool_config config = ds_pool_config_of(c->module, &r->settings, &c->run);
    ds_pool_close(r->pool);
    r->pool = NULL;
    const int rc = ds_pool_open(&config, &r->pool, e);
    r->env = rc == 0 ? ds_pool_env_of(r->pool) : NULL;
    return rc;
}

/* Names of the channels of a role, for messages. */
static void list_channels(const ds_channels *all, uint32_t role, char *out, size_t size)
{
    size_t at = 0;
    out[0] = '\0';
    for (uint64_t i = 0; i < all->count && at + DS_MAX_NAME + 3 < size; i++) {
        if (all->list[i]->role == role) {
            at += (size_t)snprintf(out + at, size - at, "%s%s", at > 0 ? ", " : "", all->list[i]->name);
        }
    }
}

static int find_residuals(ds_identify_case *c, ds_identify_recording *r, int reads, uint64_t samples,
                          ds_error *e)
{
    const ds_channels *all = r->env->channels;
    const uint64_t i = ds_channels_find(all, DS_CHANNEL_RESIDUAL);
    char states[300];
    if (i == all->count || all->list[i]->type != DS_TYPE_F64) {
        list_channels(all, DS_CHANNEL_STATE, states, sizeof states);
        return ds_fail(
            e, DS_EXIT_CONFIG,
            "%s has no residuals with these settings: add a section [signal NAME] with channel = a "
            "state channel (%s)",
            c->module->id, states[0] != '\0' ? states : "it has none either");
    }
    const ds_channel *channel = all->list[i];
    r->channel = (uint32_t)i;
    r->ops = channel->ops;
    r->elements = r->m = ds_channel_elements(channel);
    /* A list of numbers has those of one sample after the other; what is left over are costs, which always
     * count. */
    r->rows = channel->ndim > 1                         ? channel->shape[0]
              : samples > 0                             ? samples
              : reads && r->env->info.steps + 1 <= r->m ? r->env->info.steps + 1
                                                        : r->m;
    r->width = r->m / r->rows;
    r->dt = r->env->info.dt;
    return 0;
}

/* Environments that read recordings: all samples are residuals, and this tool holds the last ones out. */
static int open_residuals(ds_identify_case *c, ds_identify_recording *r, ds_error *e)
{
    const int reads = has_parameter(c->module, "n_samples") && has_parameter(c->module, "held_out");
    const ds_identify_options *o = &c->options;
    uint64_t fitted = o->samples > 0 ? o->samples : reads ? number_of(&r->settings, "n_samples") : 0;
    uint64_t held_out = o->held_out > 0 ? o->held_out : reads ? number_of(&r->settings, "held_out") : 0;
    int rc = reads ? set_number(&r->settings, "held_out", 0, e) : 0;
    if (reads && fitted > 0) {
        rc = rc != 0 ? rc : set_number(&r->settings, "n_samples", fitted + held_out, e);
    }
    rc = rc != 0 ? rc : open_pool(c, r, e);
    rc = rc != 0 ? rc : find_residuals(c, r, reads, reads && fitted > 0 ? fitted + held_out : 0, e);
    if (rc == 0 && reads && fitted == 0 && held_out > 0) {
        fitted = r->rows;
        rc = set_number(&r->settings, "n_samples", fitted + held_out, e);
        rc = rc != 0 ? rc : open_pool(c, r, e);
        rc = rc != 0 ? rc : find_residuals(c, r, reads, fitted + held_out, e);
    }
    if (rc != 0) {
        return rc;
    }
    r->timed = reads;
    r->fitted = fitted > 0 ? fitted : held_out < r->rows ? r->rows - held_out : 0;
    if (r->fitted == 0 || r->fitted > r->rows || (!reads && fitted + held_out > r->rows)) {
        return ds_fail(e, DS_EXIT_CONFIG,
                       "recording %s: n_samples = %llu and held_out = %llu, but there are %llu samples",
                       r->name, (unsigned long long)fitted, (unsigned long long)held_out,
                       (unsigned long long)r->rows);
    }
    return 0;
}

/* ---- signals ---- */

static int find_channel(ds_identify_recording *r, const ds_identify_signal *s, ds_error *e)
{
    const ds_channels *all = r->env->channels;
    char states[300];
    uint64_t i = 0;
    while (i < all->count && (s->channel == NULL ? all->list[i]->role != DS_CHANNEL_STATE
                                                 : strcmp(all->list[i]->name, s->channel) != 0)) {
        i++;
    }
    if (i == all->count || all->list[i]->type != DS_TYPE_F64) {
        list_channels(all, DS_CHANNEL_STATE, states, sizeof states);
        return ds_fail(e, DS_EXIT_CONFIG, "%s: signal %s: channel %.60s is missing; the environment has: %s",
                       s->origin, s->name, s->channel != NULL ? s->channel : "of states",
                       states[0] != '\0' ? states : "none");
    }
    if (r->signals > 0 && r->channel != i) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: signal %s: all signals must be elements of one channel",
                       s->origin, s->name);
    }
    r->channel = (uint32_t)i;
    r->ops = all->list[i]->ops;
    r->elements = ds_channel_elements(all->list[i]);
    return 0;
}

static int real_or(const char *text, double usual, const char *origin, const char *key, double *out,
                   ds_error *e)
{
    *out = usual;
    return text == NULL || (ds_parse_real(text, out) && isfinite(*out))
               ? 0
               : ds_fail(e, DS_EXIT_CONFIG, "%s: %s = %.60s: expected a number", origin, key, text);
}

static int take_signal(ds_identify_recording *r, const ds_identify_signal *s, const ds_recorded_table *t,
                       ds_error *e)
{
    ds_identify_element *x = &r->element[r->signals];
    const char *word = s->column != NULL ? s->column : s->name;
    const int64_t column = ds_recorded_column(t, word);
    double element = 1, scale = 1;
    int rc = find_channel(r, s, e);
    if (rc == 0 && column < 0) {
        rc = ds_fail(e, DS_EXIT_CONFIG, "%s: signal %s: %.200s has no column %.60s (it has %llu: %.60s, ...)",
                     s->origin, s->name, r->file, word, (unsigned long long)t->columns, t->name[0]);
    }
    rc = rc != 0 ? rc : real_or(s->element, 1, s->origin, "element", &element, e);
    rc = rc != 0 ? rc : real_or(s->scale, 1, s->origin, "scale", &scale, e);
    rc = rc != 0 ? rc : real_or(s->noise, 0, s->origin, "noise", &x->noise, e);
    if (rc != 0) {
        return rc;
    }
    const ds_channel *channel = r->env->channels->list[r->channel];
    const uint64_t frames = r->env->info.steps + 1;
    x->stride = channel->ndim > 1           ? r->elements / channel->shape[0]
                : r->elements % frames == 0 ? r->elements / frames
                                            : 1;
    if (!(element >= 1 && element <= (double)x->stride) || x->noise < 0) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: signal %s: element %g: channel %s has %llu per sample",
                       s->origin, s->name, element, channel->name, (unsigned long long)x->stride);
    }
    x->offset = (uint64_t)element - 1;
    snprintf(x->name, sizeof x->name, "%s", s->name);
    for (uint64_t i = 0; i < t->rows; i++) {
        r->data.value[i * r->data.columns + r->signals] = scale * t->value[i * t->columns + (uint64_t)column];
    }
    r->signals++;
    return 0;
}

/* Times of the samples in s after the first one: the last column of r->data. */
static int take_times(ds_identify_recording *r, const ds_identify_source *s, const ds_recorded_table *t,
                      ds_error *e)
{
    const ds_setting *time = source_find(s, "time"), *rate = source_find(s, "rate");
    const uint64_t at = r->data.columns - 1;
    double per_s = r->env->info.dt > 0 ? 1 / r->env->info.dt : 1;
    if (rate != NULL && !(ds_parse_real(rate->value, &per_s) && per_s > 0)) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: rate = %.60s: expected samples per second", rate->origin,
                       rate->value);
    }
    const int64_t column = time != NULL ? ds_recorded_column(t, time->value) : -1;
    if (time != NULL && column < 0) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: %.200s has no column %.60s", time->origin, r->file,
                       time->value);
    }
    for (uint64_t i = 0; i < t->rows; i++) {
        double *to = &r->data.value[i * r->data.columns + at];
        *to = column < 0 ? (double)i / per_s
                         : t->value[i * t->columns + (uint64_t)column] - t->value[(uint64_t)column];
        if (!isfinite(*to) || (i > 0 && !(*to > to[-(int64_t)r->data.columns]))) {
            return ds_fail(e, DS_EXIT_CONFIG,
                           "%.200s: row %llu: the time does not increase: is %s the column "
                           "of times?",
                           r->file, (unsigned long long)i + 1, time->value);
        }
    }
    return 0;
}

static int open_signals(ds_identify_case *c, const ds_identify_source *s, ds_identify_recording *r,
                        ds_error *e)
{
    const ds_identify_file *f = c->file;
    const ds_setting *first = source_find(s, "first_row");
    const ds_identify_options *o = &c->options;
    ds_recorded_table t = {0};
    int64_t skip = 0;
    if (r->file == NULL) {
        return ds_fail(e, DS_EXIT_CONFIG,
                       "signals need a recording: add [recording NAME] with file =, or --data");
    }
    if (first != NULL && !(ds_parse_int(first->value, &skip) && skip >= 0)) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: first_row = %.60s: expected a row, from 0", first->origin,
                       first->value);
    }
    int rc = open_pool(c, r, e);
    rc = rc != 0 ? rc
                 : ds_recorded_read(r->file, (uint64_t)skip, o->samples > 0 ? o->samples + o->held_out : 0,
                                    &t, e);
    if (rc == 0) {
        r->data = (ds_recorded_table){.rows = t.rows, .columns = f->signals + 1};
        r->data.value = malloc(t.rows * r->data.columns * sizeof *r->data.value);
        rc = r->data.value != NULL ? 0 : ds_no_memory(e);
    }
    for (size_t i = 0; rc == 0 && i < f->signals; i++) {
        rc = take_signal(r, &f->signal[i], &t, e);
    }
    rc = rc != 0 ? rc : take_times(r, s, &t, e);
    ds_recorded_free(&t);
    if (rc != 0) {
        return rc;
    }
    r->timed = 1;
    r->rows = r->data.rows;
    r->width = r->signals;
    r->m = r->rows * r->width;
    r->dt = r->rows > 1 ? r->data.value[2 * r->data.columns - 1] : 0;
    r->fitted = o->samples > 0 ? o->samples : o->held_out < r->rows ? r->rows - o->held_out : 0;
    const double lasts = r->data.value[r->rows * r->data.columns - 1],
                 simulated = r->env->info.dt * (double)r->env->info.steps;
    if (r->env->info.dt > 0 && lasts > simulated * (1 + 1e-9)) {
        return ds_fail(e, DS_EXIT_CONFIG,
                       "recording %s lasts %.4g s, the simulation %.4g s: set n_samples, or simulate longer",
                       r->name, lasts, simulated);
    }
    if (r->fitted == 0 || r->fitted > r->rows) {
        return ds_fail(e, DS_EXIT_CONFIG,
                       "recording %s: n_samples = %llu and held_out = %llu, but it has %llu rows", r->name,
                       (unsigned long long)o->samples, (unsigned long long)o->held_out,
                       (unsigned long long)r->rows);
    }
    return 0;
}

/* ---- inputs ---- */

static int allocate(ds_identify_recording *r, ds_error *e)
{
    const uint64_t n = r->n = r->env->info.n + 3 * r->signals;
    r->parameter = calloc(n, sizeof *r->parameter);
    r->constant = calloc(4 * n, sizeof *r->constant);
    r->input = calloc(n, sizeof *r->input);
    r->unit = calloc(n, sizeof *r->unit);
    r->weight = calloc(r->m, sizeof *r->weight);
    r->last_x = calloc(n, sizeof *r->last_x);
    r->last_r = calloc(r->m, sizeof *r->last_r);
    r->last_s = calloc(r->elements, sizeof *r->last_s);
    if (r->parameter == NULL || r->constant == NULL || r->input == NULL || r->unit == NULL ||
        r->weight == NULL || r->last_x == NULL || r->last_r == NULL || r->last_s == NULL) {
        return ds_no_memory(e);
    }
    r->lower = r->constant + n;
    r->upper = r->lower + n;
    r->start = r->upper + n;
    return 0;
}

static void name_inputs(const ds_identify_file *f, ds_identify_recording *r)
{
    static const char *const extra[] = {"gain", "offset", "delay"};
    static const double neutral[] = {1, 0, 0};
    const uint64_t own = r->env->info.n;
    for (uint64_t i = 0; i < r->n; i++) {
        char room[24];
        r->parameter[i] = -1;
        if (i < own) {
            snprintf(r->input[i], sizeof *r->input, "%s", ds_variable_name(r->env->variables, i, room));
            snprintf(r->unit[i], sizeof *r->unit, "%s", ds_variable_unit(r->env->variables, i));
            r->lower[i] = r->env->lower[i];
            r->upper[i] = r->env->upper[i];
            r->start[i] = r->constant[i] = r->env->x0[i];
        } else {
            const uint64_t k = (i - own) / 3, what = (i - own) % 3;
            const char *unit = f->signal[k].unit != NULL ? f->signal[k].unit : "";
            snprintf(r->input[i], sizeof *r->input, "%s.%s", r->element[k].name, extra[what]);
            snprintf(r->unit[i], sizeof *r->unit, "%.40s", what == 0 ? "" : what == 1 ? unit : "s");
            r->lower[i] = r->upper[i] = r->start[i] = r->constant[i] = neutral[what];
        }
    }
}

/* ---- parameters ---- */

static int names_input(const char *names, const ds_identify_recording *r, uint64_t i)
{
    const char *group = i < r->env->info.n && r->env->variables != NULL ? r->env->variables[i].group : "";
    for (const char *at = names + strspn(names, " \t"); *at != '\0'; at += strspn(at, " \t")) {
        const size_t n = strcspn(at, " \t");
        if ((strlen(r->input[i]) == n && strncmp(r->input[i], at, n) == 0) ||
            (n > 0 && strlen(group) == n && strncmp(group, at, n) == 0)) {
            return 1;
        }
        at += n;
    }
    return 0;
}

/* Refuses a rule with a word that names nothing. */
static int check_rule(const ds_identify_rule *rule, const ds_identify_recording *r, ds_error *e)
{
    for (const char *at = rule->names + strspn(rule->names, " \t"); *at != '\0'; at += strspn(at, " \t")) {
        const size_t n = strcspn(at, " \t");
        char word[DS_IDENTIFY_NAME];
        const char *known[DS_IDENTIFY_PARAMETERS];
        size_t count = 0;
        int found = 0;
        snprintf(word, sizeof word, "%.*s", (int)n, at);
        for (uint64_t i = 0; i < r->n; i++) {
            found |= names_input(word, r, i);
            if (count < DS_IDENTIFY_PARAMETERS) {
                known[count++] = r->input[i];
            }
        }
        if (!found) {
            char list[300];
            ds_text_choices(word, known, count, list, sizeof list);
            return ds_fail(e, DS_EXIT_CONFIG, "%s: there is no parameter %.60s: %.250s", rule->origin, word,
                           list);
        }
        at += n;
    }
    return 0;
}

typedef struct wish {
    const char *origin, *lower, *upper, *start, *fixed, *log, *scope;
} wish;

static wish wish_for(const ds_identify_file *f, const ds_identify_recording *r, uint64_t i)
{
    wish w = {0};
    for (size_t k = 0; k < f->rules; k++) {
        const ds_identify_rule *rule = &f->rule[k];
        if (names_input(rule->names, r, i)) {
            w.origin = rule->origin;
            w.lower = rule->lower != NULL ? rule->lower : w.lower;
            w.upper = rule->upper != NULL ? rule->upper : w.upper;
            w.start = rule->start != NULL ? rule->start : w.start;
            w.fixed = rule->fixed != NULL ? rule->fixed : w.fixed;
            w.log = rule->log != NULL ? rule->log : w.log;
            w.scope = rule->scope != NULL ? rule->scope : w.scope;
        }
    }
    return w;
}

static int is_true(const char *text)
{
    return text != NULL && (strcmp(text, "true") == 0 || strcmp(text, "yes") == 0 ||
                            strcmp(text, "on") == 0 || strcmp(text, "1") == 0);
}

static int read_wish(const ds_identify_recording *r, uint64_t i, const wish *w, ds_identify_parameter *p,
                     ds_error *e)
{
    const int extra = i >= r->env->info.n;
    const double widest = extra ? (double)INFINITY : r->upper[i],
                 least = extra ? -(double)INFINITY : r->lower[i];
    int rc = real_or(w->lower, r->lower[i], w->origin, "lower", &p->lower, e);
    rc = rc != 0 ? rc : real_or(w->upper, r->upper[i], w->origin, "upper", &p->upper, e);
    rc = rc != 0 ? rc : real_or(w->start, r->start[i], w->origin, "start", &p->start, e);
    if (rc != 0) {
        return rc;
    }
    if (!(p->lower < p->upper) || p->lower < least || p->upper > widest) {
        return ds_fail(e, DS_EXIT_CONFIG,
                       "%s: parameter %s: bounds %g to %g; the environment allows %g to %g", w->origin,
                       r->input[i], p->lower, p->upper, least, widest);
    }
    if (w->start != NULL && !(p->start >= p->lower && p->start <= p->upper)) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: parameter %s: start %g is outside of its bounds %g to %g",
                       w->origin, r->input[i], p->start, p->lower, p->upper);
    }
    p->start = fmin(p->upper, fmax(p->lower, p->start));
    const uint32_t flags = !extra && r->env->variables != NULL ? r->env->variables[i].flags : 0;
    p->log = w->log != NULL ? is_true(w->log) : (flags & DS_VARIABLE_LOG) != 0 && p->lower > 0;
    if (p->log && !(p->lower > 0)) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: parameter %s: log = true needs a lower bound above 0, not %g",
                       w->origin, r->input[i], p->lower);
    }
    return 0;
}

/* The parameter of input i of recording k: a new one, or the shared one. */
static int add_parameter(ds_identify_case *c, size_t k, uint64_t i, ds_error *e)
{
    ds_identify_recording *r = &c->recording[k];
    const wish w = wish_for(c->file, r, i);
    double fixed = 0;
    if (w.fixed != NULL) {
        const int extra = i >= r->env->info.n;
        const int rc = real_or(w.fixed, 0, w.origin, "fixed", &fixed, e);
        if (rc == 0 && !extra && !(fixed >= r->lower[i] && fixed <= r->upper[i])) {
            return ds_fail(e, DS_EXIT_CONFIG, "%s: parameter %s: fixed = %g is outside of %g to %g", w.origin,
                           r->input[i], fixed, r->lower[i], r->upper[i]);
        }
        r->constant[i] = fixed;
        return rc;
    }
    if (!(r->lower[i] < r->upper[i]) && w.lower == NULL) {
        return 0; /* fixed by [run] fix, or a neutral gain, offset or delay */
    }
    if (w.scope != NULL && strcmp(w.scope, "own") != 0 && strcmp(w.scope, "shared") != 0) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: scope = %.60s: expected shared or own", w.origin, w.scope);
    }
    const int own = c->recordings > 1 && (w.scope != NULL ? strcmp(w.scope, "own") == 0 : c->options.own);
    for (size_t j = 0; !own && j < c->parameters; j++) {
        if (c->parameter[j].recording < 0 && strcmp(c->parameter[j].name, r->input[i]) == 0) {
            r->parameter[i] = (int64_t)j;
            return 0;
        }
    }
    if (c->parameters == DS_IDENTIFY_PARAMETERS) {
        return ds_fail(e, DS_EXIT_CONFIG,
                       "more than %d parameters: fix or share some in sections [parameter NAME]",
                       DS_IDENTIFY_PARAMETERS);
    }
    ds_identify_parameter *p = &c->parameter[c->parameters];
    *p = (ds_identify_parameter){.recording = own ? (int)k : -1};
    const int rc = read_wish(r, i, &w, p, e);
    snprintf(p->name, sizeof p->name, own ? "%.50s@%.47s" : "%s", r->input[i], r->name);
    snprintf(p->unit, sizeof p->unit, "%s", r->unit[i]);
    r->parameter[i] = (int64_t)c->parameters++;
    return rc;
}

static int make_parameters(ds_identify_case *c, ds_error *e)
{
    int rc = 0;
    c->parameter = calloc(DS_IDENTIFY_PARAMETERS, sizeof *c->parameter);
    if (c->parameter == NULL) {
        return ds_no_memory(e);
    }
    for (size_t k = 0; rc == 0 && k < c->file->rules; k++) {
        rc = check_rule(&c->file->rule[k], &c->recording[0], e);
    }
    for (size_t k = 0; rc == 0 && k < c->recordings; k++) {
        for (uint64_t i = 0; rc == 0 && i < c->recording[k].n; i++) {
            rc = add_parameter(c, k, i, e);
        }
    }
    return rc != 0 || c->parameters > 0
               ? rc
               : ds_fail(e, DS_EXIT_CONFIG, "all parameters are fixed: leave one of them free");
}

/* ---- open ---- */

static int open_recording(ds_identify_case *c, size_t k, ds_error *e)
{
    const ds_identify_source *s = c->file->sources > 0 ? &c->file->source[k] : NULL;
    ds_identify_recording *r = &c->recording[k];
    snprintf(r->name, sizeof r->name, "%s", s != NULL ? s->name : c->module->id);
    int rc = copy_settings(c, s, r, e);
    rc = rc != 0 ? rc : c->file->signals > 0 ? open_signals(c, s, r, e) : open_residuals(c, r, e);
    rc = rc != 0 ? rc : allocate(r, e);
    if (rc == 0) {
        name_inputs(c->file, r);
    }
    return rc;
}

int ds_identify_open(ds_identify_case *c, ds_identify_file *file, ds_error *e)
{
    *c = (ds_identify_case){.file = file};
    int rc = ds_run_options_make(&file->settings, &c->run, e);
    rc = rc != 0 ? rc : read_options(c, e);
    if (rc == 0 && c->run.env[0] == '\0') {
        rc = ds_fail(e, DS_EXIT_CONFIG, "identify: name the environment: env = NAME in [run], or --env NAME");
    }
    if (rc == 0) {
        ds_pool_config config = ds_pool_config_of(NULL, &file->settings, &c->run);
        rc = ds_pool_find_env(&config, c->run.env, e);
        c->module = config.module;
    }
    if (rc == 0) {
        c->recordings = file->sources > 0 ? file->sources : 1;
        c->recording = calloc(c->recordings, sizeof *c->recording);
        rc = c->recording != NULL ? 0 : ds_no_memory(e);
    }
    for (size_t k = 0; rc == 0 && k < c->recordings; k++) {
        rc = open_recording(c, k, e);
    }
    return rc != 0 ? rc : make_parameters(c, e);
}

void ds_identify_close(ds_identify_case *c)
{
    for (size_t k = 0; c->recording != NULL && k < c->recordings; k++) {
        ds_identify_recording *r = &c->recording[k];
        ds_pool_close(r->pool);
        ds_settings_clear(&r->settings);
        ds_recorded_free(&r->data);
        free(r->file), free(r->parameter), free(r->constant), free(r->input), free(r->unit), free(r->weight);
        free(r->shift), free(r->last_x), free(r->last_r), free(r->last_s);
    }
    for (size_t i = 0; i < c->warnings; i++) {
        free(c->warning[i]);
    }
    free(c->warning);
    free(c->recording);
    free(c->parameter);
    ds_params_free(c->options.params);
    ds_run_options_clear(&c->run);
}

/* ---- independent problems ---- */

static int share_parameter(const ds_identify_recording *a, const ds_identify_recording *b)
{
    for (uint64_t i = 0; i < a->n; i++) {
        for (uint64_t j = 0; a->parameter[i] >= 0 && j < b->n; j++) {
            if (a->parameter[i] == b->parameter[j]) {
                return 1;
            }
        }
    }
    return 0;
}

static int fill_problem(ds_identify_case *c, ds_identify_problem *p, ds_error *e)
{
    unsigned char used[DS_IDENTIFY_PARAMETERS] = {0};
    p->c = c;
    p->budget = (uint64_t)c->run.budget;
    for (size_t k = 0; k < p->recordings; k++) {
        const ds_identify_recording *r = &c->recording[p->recording[k]];
        p->m += r->m;
        for (uint64_t i = 0; i < r->n; i++) {
            if (r->parameter[i] >= 0) {
                used[r->parameter[i]] = 1;
            }
        }
    }
    for (size_t j = 0; j < c->parameters; j++) {
        if (used[j]) {
            p->parameter[p->n++] = j;
        }
    }
    p->lower = calloc(3 * (p->n + 1), sizeof *p->lower);
    if (p->lower == NULL) {
        return ds_no_memory(e);
    }
    p->upper = p->lower + p->n;
    p->start = p->upper + p->n;
    for (size_t i = 0; i < p->n; i++) {
        const ds_identify_parameter *x = &c->parameter[p->parameter[i]];
        p->lower[i] = ds_identify_coordinate(x, x->lower);
        p->upper[i] = ds_identify_coordinate(x, x->upper);
        p->start[i] = ds_identify_coordinate(x, x->start);
    }
    return 0;
}

int ds_identify_problems(ds_identify_case *c, ds_identify_problem **out, size_t *count, ds_error *e)
{
    size_t of[DS_IDENTIFY_RECORDINGS];
    ds_identify_problem *all = calloc(c->recordings, sizeof *all);
    *out = all;
    *count = 0;
    if (all == NULL) {
        return ds_no_memory(e);
    }
    for (size_t k = 0; k < c->recordings; k++) {
        of[k] = k;
    }
    for (int changed = 1; changed;) {
        changed = 0;
        for (size_t a = 0; a < c->recordings; a++) {
            for (size_t b = a + 1; b < c->recordings; b++) {
                if (of[a] != of[b] && share_parameter(&c->recording[a], &c->recording[b])) {
                    of[a] = of[b] = of[a] < of[b] ? of[a] : of[b];
                    changed = 1;
                }
            }
        }
    }
    int rc = 0;
    for (size_t k = 0; rc == 0 && k < c->recordings; k++) {
        ds_identify_problem *p = &all[*count];
        for (size_t j = k; of[k] == k && j < c->recordings; j++) {
            if (of[j] == k) {
                p->recording[p->recordings++] = j;
            }
        }
        if (p->recordings > 0) {
            (*count)++;
            rc = fill_problem(c, p, e);
            rc = rc != 0 || p->n > 0
                     ? rc
                     : ds_fail(e, DS_EXIT_CONFIG, "recording %s has no free parameter: leave one free",
                               c->recording[k].name);
        }
    }
    return rc;
}

void ds_identify_problems_free(ds_identify_problem *p, size_t count)
{
    for (size_t i = 0; p != NULL && i < count; i++) {
        free(p[i].lower);
    }
    free(p);
}
