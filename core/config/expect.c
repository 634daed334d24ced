/* SPDX-License-Identifier: Apache-2.0 */
/* expect.c - reads the terms of `expect_over` and draws settings of episodes from them. */
#include "config.h"

#include "config/expect.h"

#include <diffsim/helper/random.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TERMS = 64, TRIES = 1000, WORD = 2000 };
enum { UNIFORM, LOGUNIFORM, NORMAL, CHOICE, DISTRIBUTIONS };
static const char *const distributions[] = {"uniform", "loguniform", "normal", "choice"};
/* ---- reading ---- */

/* The term that is read, for messages. */
typedef struct reader {
    const ds_setting *s;
    const ds_params *params;
    const char *id;
    char word[WORD];
} reader;

static int refuse(const reader *r, const char *why, ds_error *e)
{
    return ds_fail(e, r->s->status, "%s: %s: expect_over = %.300s: %s", r->s->origin, r->id, r->word, why);
}

/* Length of the next word; blanks and commas inside parentheses belong to it. */
static size_t next_word(const char **at)
{
    size_t n = 0;
    int depth = 0;
    *at += strspn(*at, " \t,");
    for (; (*at)[n] != '\0' && (depth > 0 || strchr(" \t,", (*at)[n]) == NULL); n++) {
        depth += (*at)[n] == '(' ? 1 : (*at)[n] == ')' ? -1 : 0;
    }
    return n;
}

static char *trimmed(char *text)
{
    text += strspn(text, " \t");
    for (size_t n = strlen(text); n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'); n--) {
        text[n - 1] = '\0';
    }
    return text;
}

static int add_choice(ds_expect_term *t, const char *text)
{
    char **more = realloc(t->choice, (t->choices + 1) * sizeof *more);
    char *copy = strdup(text);
    if (more != NULL) {
        t->choice = more;
    }
    if (more == NULL || copy == NULL) {
        free(copy);
        return -1;
    }
    t->choice[t->choices++] = copy;
    return 0;
}

/* Reads the arguments between the parentheses. */
static int read_arguments(const reader *r, ds_expect_term *t, char *text, ds_error *e)
{
    double v[2] = {0, 0};
    size_t n = 0;
    for (char *at = text, *comma; at != NULL; at = comma) {
        comma = strchr(at, ',');
        if (comma != NULL) {
            *comma++ = '\0';
        }
        at = trimmed(at);
        if (t->distribution == CHOICE) {
            if (add_choice(t, at) != 0) {
                return ds_no_memory(e);
            }
        } else if (n == 2 || !ds_parse_real(at, &v[n++]) || !isfinite(v[n - 1])) {
            return refuse(r, "expected two numbers between the parentheses", e);
        }
    }
    t->a = v[0];
    t->b = v[1];
    const char *why = t->distribution == CHOICE                      ? NULL
                      : n != 2                                       ? "expected two numbers"
                      : t->distribution == NORMAL && !(t->b >= 0)    ? "the standard deviation is negative"
                      : t->distribution == LOGUNIFORM && !(t->a > 0) ? "loguniform needs numbers above 0"
                      : t->distribution != NORMAL && !(t->a <= t->b) ? "the first number is above the second"
                                                                     : NULL;
    return why == NULL ? 0 : refuse(r, why, e);
}

/* Finds the parameter of the term, and tests that the distribution suits it. */
static int find_parameter(const reader *r, ds_expect_term *t, ds_error *e)
{
    const char *known[DS_MAX_PARAMS];
    size_t n = 0;
    for (size_t i = 0; i < ds_params_count(r->params); i++) {
        const ds_param *info = ds_params_info(r->params, i);
        if (!ds_expect_owns(info->name)) {
            known[n++ < DS_MAX_PARAMS ? n - 1 : 0] = info->name;
            t->info = strcmp(info->name, t->name) == 0 ? info : t->info;
        }
    }
    if (t->info == NULL) {
        char why[200];
        const char *near = ds_nearest(t->name, known, n < DS_MAX_PARAMS ? n : DS_MAX_PARAMS);
        snprintf(why, sizeof why, "%.60s has no parameter '%.50s'; %s%s%s", r->id, t->name,
                 near != NULL ? "did you mean '" : "`dshost help` with its name lists them",
                 near != NULL ? near : "", near != NULL ? "'?" : "");
        return refuse(r, why, e);
    }
    const uint32_t type = t->info->type;
    const int number = type == DS_PARAM_REAL || type == DS_PARAM_INT, list = type == DS_PARAM_LIST;
    if (t->distribution != CHOICE && !number && !list) {
        return refuse(r, "the parameter is not a number: use choice(A,B,...)", e);
    }
    if (type == DS_PARAM_INT && (t->distribution != UNIFORM && t->distribution != CHOICE)) {
        return refuse(r, "the parameter is a whole number: use uniform(A,B) or choice(A,B,...)", e);
    }
    if (t->op != '=' && (t->distribution == CHOICE || (!number && !list))) {
        return refuse(r, "a choice replaces the value: write NAME=choice(A,B,...)", e);
    }
    if (t->element != UINT64_MAX && !list) {
        return refuse(r, "the parameter is not a list, so it has no element", e);
    }
    ds_params_real(r->params, t->name, &t->value);
    t->elements = 1;
    if (list && (t->distribution != CHOICE || t->element != UINT64_MAX)) {
        uint64_t count = 0;
        ds_params_list(r->params, t->name, &t->list, &count);
        if (t->element != UINT64_MAX ? t->element >= count : count == 0) {
            char why[120];
            snprintf(why, sizeof why, "the list has %" PRIu64 " elements, numbered from 0: set %.47s", count,
                     t->name);
            return refuse(r, why, e);
        }
        t->elements = t->element != UINT64_MAX ? 1 : count;
    }
    return 0;
}

/* NAME, or NAME[INDEX], which ends at `end`. */
static int read_name(const reader *r, ds_expect_term *t, const char *end, ds_error *e)
{
    const char *bracket = memchr(r->word, '[', (size_t)(end - r->word));
    const size_t n = (size_t)((bracket != NULL ? bracket : end) - r->word);
    t->element = UINT64_MAX;
    if (n == 0 || n > DS_MAX_NAME) {
        return refuse(r, "expected the name of a parameter", e);
    }
    memcpy(t->name, r->word, n);
    if (bracket != NULL) {
        char *stop = NULL;
        t->element = strtoull(bracket + 1, &stop, 10);
        if (bracket[1] < '0' || bracket[1] > '9' || *stop != ']' || stop + 1 != end) {
            return refuse(r, "expected NAME[NUMBER] with a whole number", e);
        }
    }
    return 0;
}

static int read_term(reader *r, ds_expect_term *t, ds_error *e)
{
    static const char shape[] =
        "expected NAME=uniform(A,B), normal(MEAN,SD), loguniform(A,B) or choice(A,B,...); "
        "+= adds to the value, *= multiplies it";
    const char *equals = strchr(r->word, '=');
    char *open = equals != NULL ? strchr(equals, '(') : NULL;
    const size_t length = strlen(r->word);
    if (equals == NULL || equals == r->word || open == NULL || r->word[length - 1] != ')') {
        return refuse(r, shape, e);
    }
    t->op = equals[-1] == '+' || equals[-1] == '*' ? equals[-1] : '=';
    int rc = read_name(r, t, t->op != '=' ? equals - 1 : equals, e);
    const size_t n = (size_t)(open - equals) - 1;
    while (t->distribution < DISTRIBUTIONS && (strlen(distributions[t->distribution]) != n ||
                                               strncmp(distributions[t->distribution], equals + 1, n) != 0)) {
        t->distribution++;
    }
    if (rc == 0 && t->distribution == DISTRIBUTIONS) {
        return refuse(r, shape, e);
    }
    if (rc == 0 && strcmp(t->name, "x") == 0 && (t->op != '+' || t->distribution == CHOICE)) {
        return refuse(r, "decision variables are moved by x+=uniform(A,B) or x+=normal(MEAN,SD)", e);
    }
    if (rc == 0) {
        char arguments[WORD];
        snprintf(arguments, sizeof arguments, "%.*s", (int)(length - (size_t)(open - r->word) - 2), open + 1);
        rc = read_arguments(r, t, arguments, e);
    }
    return rc != 0 || strcmp(t->name, "x") == 0 ? rc : find_parameter(r, t, e);
}

static int read_terms(const ds_setting *s, const ds_params *params, const char *id, ds_expect *x, ds_error *e)
{
    reader r = {s, params, id, ""};
    int rc = 0;
    size_t n = 0;
    for (const char *at = s->value; rc == 0 && (n = next_word(&at)) > 0; at += n) {
        snprintf(r.word, sizeof r.word, "%.*s", n < WORD ? (int)n : WORD - 1, at);
        rc = n >= WORD || x->count == MOST_TERMS ? refuse(&r, "too long a term, or more than 64", e)
                                                 : read_term(&r, &x->term[x->count++], e);
        const ds_expect_term *t = &x->term[x->count - 1];
        for (size_t k = 0; rc == 0 && k + 1 < x->count; k++) {
            const ds_expect_term *o = &x->term[k];
            if (strcmp(o->name, t->name) == 0 &&
                (o->element == t->element || o->element == UINT64_MAX || t->element == UINT64_MAX)) {
                rc = refuse(&r, "it is drawn twice: remove one of both terms", e);
            }
        }
        if (rc == 0) {
            x->numbers += t->elements;
            x->parameters |= t->info != NULL;
            x->variables |= t->info == NULL;
        }
    }
    return rc;
}

uint64_t ds_expect_episodes(const ds_settings *settings)
{
    const ds_setting *s = ds_settings_find(settings, DS_SECTION_ENV, "expect");
    int64_t n = 0;
    return s != NULL && ds_parse_int(s->value, &n) && n >= 1 ? (uint64_t)n : 1;
}

int ds_expect_make(const ds_settings *settings, const ds_params *params, const char *id, ds_expect *out,
                   ds_error *e)
{
    int64_t episodes = 0, each_row = 0, seed = 0;
    const ds_setting *over = ds_settings_find(settings, DS_SECTION_ENV, "expect_over");
    *out = (ds_expect){0};
    ds_params_int(params, "expect", &episodes);
    ds_params_int(params, "expect_draws", &each_row);
    ds_params_int(params, "expect_seed", &seed);
    if (episodes == 0) {
        return over == NULL || over->value[0] == '\0'
                   ? 0
                   : ds_fail(e, over->status,
                             "%s: %s: expect_over has no effect without expect: set env.expect=8, the "
                             "episodes of one evaluation",
                             over->origin, id);
    }
    out->term = calloc(MOST_TERMS, sizeof *out->term);
    if (out->term == NULL) {
        return ds_no_memory(e);
    }
    out->episodes = (uint64_t)episodes;
    out->each_row = each_row != 0;
    out->seed = (uint64_t)seed;
    int rc = over != NULL ? read_terms(over, params, id, out, e) : 0;
    if (rc != 0) {
        ds_expect_clear(out);
    }
    return rc;
}

void ds_expect_clear(ds_expect *x)
{
    for (size_t k = 0; k < x->count; k++) {
        for (uint64_t i = 0; i < x->term[k].choices; i++) {
            free(x->term[k].choice[i]);
        }
        free(x->term[k].choice);
    }
    free(x->term);
    *x = (ds_expect){0};
}

/* ---- drawing ---- */

uint64_t ds_expect_seed_of(const ds_expect *x, uint64_t noise_key)
{
    return x->each_row && noise_key != 0 ? ds_random_mix(ds_random_mix(x->seed) ^ noise_key) : x->seed;
}

uint64_t ds_expect_noise_key(uint64_t seed, uint64_t k)
{
    const ds_random r = ds_random_open(seed, "expect/noise", k);
    return (r.key >> 12) | 1u; /* not 0, which means no noise */
}

/* The stream of a term: its own, so that another term does not change its numbers. */
static ds_random stream_of(const ds_expect_term *t, uint64_t seed, uint64_t k)
{
    char name[DS_MAX_NAME + 40];
    const char *all = t->element == UINT64_MAX ? "" : "[]";
    ds_random r;
    snprintf(name, sizeof name, "expect/%s%s", t->name, all);
    r = ds_random_open(seed, name, k);
    return t->element == UINT64_MAX ? r : ds_random_open(r.key, name, t->element);
}

/* A number of the distribution, before += or *=. */
static double number_of(const ds_expect_term *t, ds_random *r)
{
    if (t->info != NULL && t->info->type == DS_PARAM_INT) {
        const double first = ceil(t->a), last = floor(t->b);
        return last >= first ? first + (double)ds_random_below(r, (uint64_t)(last - first) + 1) : first;
    }
    return t->distribution == NORMAL       ? t->a + t->b * ds_random_normal(r)
           : t->distribution == LOGUNIFORM ? exp(log(t->a) + (log(t->b) - log(t->a)) * ds_random_uniform(r))
                                           : t->a + (t->b - t->a) * ds_random_uniform(r);
}

/* A value of the parameter within its range; NaN where TRIES draws are all outside. */
static double draw_value(const ds_expect_term *t, double base, ds_random *r)
{
    for (int i = 0; i < TRIES; i++) {
        const double v = number_of(t, r), to = t->op == '+' ? base + v : t->op == '*' ? base * v : v;
        if (to >= t->info->min && to <= t->info->max) {
            return to;
        }
    }
    return NAN;
}

/* Appends "NAME[3] = VALUE" to the words. */
static void describe(char text[DS_EXPECT_TEXT], const ds_expect_term *t, uint64_t element, const char *value)
{
    const size_t used = strlen(text);
    char index[24] = "";
    if (t->list != NULL) {
        snprintf(index, sizeof index, "[%" PRIu64 "]", element);
    }
    snprintf(text + used, DS_EXPECT_TEXT - used, "%s%s%s = %s", used > 0 ? ", " : "", t->name, index, value);
}

/* The text of a list setting whose elements are in `list`. */
static char *list_text(const double *list, uint64_t count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    for (uint64_t i = 0; f != NULL && i < count; i++) {
        fprintf(f, "%s%.17g", i > 0 ? " " : "", list[i]);
    }
    if (f != NULL && fclose(f) != 0) {
        free(text);
        text = NULL;
    }
    return text;
}

/* The drawn values of parameter number i of the schema. */
typedef struct drawing {
    const ds_expect *x;
    const ds_params *params;
    uint64_t seed, k;
    char *text; /* DS_EXPECT_TEXT */
    double *number;
} drawing;

static int set_value(const drawing *d, const ds_expect_term *t, double *list, char *single, size_t room,
                     double *number, ds_error *e)
{
    ds_random r = stream_of(t, d->seed, d->k);
    const uint64_t first = t->element != UINT64_MAX ? t->element : 0;
    if (t->distribution == CHOICE) {
        const uint64_t which = ds_random_below(&r, t->choices);
        if (number != NULL) {
            number[0] = (double)which;
        }
        describe(d->text, t, first, t->choice[which]);
        if (list == NULL) {
            snprintf(single, room, "%s", t->choice[which]);
        } else if (!ds_parse_real(t->choice[which], &list[first])) {
            return ds_fail(e, DS_EXIT_CONFIG, "expect_over: %s[%" PRIu64 "]=choice: '%.60s' is not a number",
                           t->name, first, t->choice[which]);
        }
        return 0;
    }
    for (uint64_t i = 0; i < t->elements; i++) {
        const double v = draw_value(t, t->list != NULL ? t->list[first + i] : t->value, &r);
        if (isnan(v)) {
            return ds_fail(
                e, DS_EXIT_CONFIG,
                "expect_over: no draw of %s lies in its range, %.15g to %.15g: change the distribution",
                t->name, t->info->min, t->info->max);
        }
        snprintf(single, room, "%.17g", v);
        if (list != NULL) {
            list[first + i] = v;
        }
        if (number != NULL) {
            number[i] = v;
        }
        describe(d->text, t, first + i, DS_TEXT_OF(v));
    }
    return 0;
}

/* Adds the setting of parameter i: its draws, or what the user gave. */
static int add_setting(const drawing *d, size_t i, ds_settings *to, ds_error *e)
{
    const ds_param *info = ds_params_info(d->params, i);
    double *list = NULL, *number = d->number;
    const double *given = NULL;
    uint64_t count = 0;
    char single[WORD] = "", *text = NULL;
    int rc = 0, drawn = 0;
    ds_params_list(d->params, info->name, &given, &count);
    for (size_t k = 0; rc == 0 && k < d->x->count; k++) {
        const ds_expect_term *t = &d->x->term[k];
        if (t->info == info) {
            if (t->list != NULL && list == NULL) {
                list = malloc(count * sizeof *list);
                if (list == NULL) {
                    return ds_no_memory(e);
                }
                memcpy(list, given, count * sizeof *list);
            }
            drawn = 1;
            rc = set_value(d, t, t->list != NULL ? list : NULL, single, sizeof single, number, e);
        }
        number = number != NULL ? number + t->elements : NULL;
    }
    if (rc == 0 && list != NULL) {
        text = list_text(list, count);
        rc = text != NULL ? 0 : ds_no_memory(e);
    }
    free(list);
    if (rc == 0 && (drawn || ds_params_given(d->params, i))) {
        rc = ds_settings_add(to, DS_SECTION_ENV, info->name,
                             text != NULL ? text
                             : drawn      ? single
                                          : ds_params_value_text(d->params, i),
                             "expect_over", NULL, DS_EXIT_CONFIG, DS_LAYER_SET, e);
    }
    free(text);
    return rc;
}

int ds_expect_draw(const ds_expect *x, const ds_params *params, uint64_t seed, uint64_t k, ds_settings *to,
                   double *number, char text[DS_EXPECT_TEXT], ds_error *e)
{
    const drawing d = {x, params, seed, k, text, number};
    int rc = 0;
    text[0] = '\0';
    for (size_t i = 0; rc == 0 && i < ds_params_count(params); i++) {
        if (!ds_expect_owns(ds_params_info(params, i)->name)) {
            rc = add_setting(&d, i, to, e);
        }
    }
    return rc;
}

void ds_expect_move(const ds_expect *x, uint64_t seed, uint64_t k, uint64_t n, const double *lower,
                    const double *upper, double *at, unsigned char *free)
{
    if (free != NULL) {
        memset(free, 1, n);
    }
    for (size_t i = 0; i < x->count; i++) {
        const ds_expect_term *t = &x->term[i];
        if (t->info != NULL) {
            continue;
        }
        ds_random r = stream_of(t, seed, k);
        const uint64_t first = t->element != UINT64_MAX ? t->element : 0;
        const uint64_t end = t->element != UINT64_MAX ? (t->element < n ? t->element + 1 : 0) : n;
        for (uint64_t j = first; j < end; j++) {
            const double v = at[j] + number_of(t, &r);
            at[j] = v < lower[j] ? lower[j] : v > upper[j] ? upper[j] : v;
            if (free != NULL && at[j] != v) {
                free[j] = 0;
            }
        }
    }
}
