/* SPDX-License-Identifier: Apache-2.0 */
/* params.c - checks and converts settings by a schema. */
#include "config.h"

#include "params.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npy.h"

/* Bytes of a line of an .ini file (settings.h) that are left for the key and its text. */
enum { LINE_LIMIT = 197 - 3 };
static const char unwritable[] =
    "too long for a line of 197 bytes in an .ini file, or a line break, a blank at an end or ' ;' in it";

typedef struct value {
    const ds_param *info;
    int given;
    char *text;     /* gives this value again */
    int64_t number; /* BOOL, INT, ENUM */
    double real;    /* REAL, INT */
    double *list;   /* LIST */
    uint64_t count;
    ds_array array; /* ARRAY */
} value;

struct ds_params {
    value *item;
    size_t count;
};

static pthread_once_t locale_once = PTHREAD_ONCE_INIT;
static locale_t c_locale;

static void make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

int ds_parse_real(const char *text, double *out)
{
    char *end;
    pthread_once(&locale_once, make_locale);
    if (text[0] == '\0' || strchr(" \t\n\v\f\r", text[0]) != NULL) {
        return 0;
    }
    double v = strtod_l(text, &end, c_locale);
    if (*end != '\0' || isnan(v)) {
        return 0;
    }
    /* A finite text that overflows is a mistake; infinity must be written as inf. */
    if (isinf(v) && strpbrk(text, "0123456789") != NULL) {
        return 0;
    }
    *out = v;
    return 1;
}

int ds_parse_int(const char *text, int64_t *out)
{
    char *end;
    const char *digits = text[0] == '-' || text[0] == '+' ? text + 1 : text;
    if (digits[0] < '0' || digits[0] > '9') {
        return 0;
    }
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (*end != '\0' || errno != 0) {
        return 0;
    }
    *out = v;
    return 1;
}

/* Levenshtein distance of words of at most 63 characters. */
static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(b), row[64];
    if (n > 63 || strlen(a) > 63) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= n; j++) {
        row[j] = j;
    }
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            size_t gap = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
            row[j] = change < gap ? change : gap;
        }
    }
    return row[n];
}

const char *ds_nearest(const char *word, const char *const *known, size_t count)
{
    const char *best = NULL;
    size_t best_distance = 3;
    size_t prefixes = 0;
    for (size_t i = 0; i < count; i++) {
        size_t d = distance(word, known[i]);
        if (d < best_distance && d < strlen(known[i])) {
            best_distance = d;
            best = known[i];
        }
    }
    if (best == NULL && strlen(word) >= 2) {
        for (size_t i = 0; i < count; i++) {
            if (strncmp(known[i], word, strlen(word)) == 0) {
                best = known[i];
                prefixes++;
            }
        }
        if (prefixes != 1) {
            best = NULL;
        }
    }
    return best;
}

/* One line for a refused value: "runs.ini:7: torus: steps = many: expected ...". */
static int refuse(const ds_setting *s, const char *owner, const value *v, const char *allowed, ds_error *e)
{
    return ds_fail(e, s != NULL ? s->status : DS_EXIT_PLUGIN, "%s: %s%s%s = %.200s: %s", s != NULL ? s->origin : "default",
                   owner, owner[0] != '\0' ? ": " : "", v->info->name, s != NULL ? s->value : v->info->default_text,
                   allowed);
}

static void range_text(const ds_param *info, char *out, size_t size)
{
    const char *kind = info->type == DS_PARAM_INT ? "a whole number" : "a number";
    if (isinf(info->min) && isinf(info->max)) {
        snprintf(out, size, "expected %s", kind);
    } else if (isinf(info->max)) {
        snprintf(out, size, "expected %s of at least %.10g", kind, info->min);
    } else if (isinf(info->min)) {
        snprintf(out, size, "expected %s of at most %.10g", kind, info->max);
    } else {
        snprintf(out, size, "expected %s from %.10g to %.10g", kind, info->min, info->max);
    }
}

static int parse_bool(const char *text, int64_t *out)
{
    static const char *const yes[] = {"true", "yes", "on", "1"}, *const no[] = {"false", "no", "off", "0"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
            *out = strcmp(text, yes[i]) == 0;
            return 1;
        }
    }
    return 0;
}

/* Appends `times` copies of v; 0 = out of memory or over the limit. */
static int push(value *val, size_t *capacity, double v, uint64_t times)
{
    uint64_t limit = val->info->max_count != 0 ? val->info->max_count : 1u << 24;
    if (times > limit || val->count + times > limit) {
        return 0;
    }
    while (val->count + times > *capacity) {
        size_t grown = *capacity == 0 ? 16 : 2 * *capacity;
        double *list = realloc(val->list, grown * sizeof *list);
        if (list == NULL) {
            return 0;
        }
        val->list = list;
        *capacity = grown;
    }
    for (uint64_t i = 0; i < times; i++) {
        val->list[val->count++] = v;
    }
    return 1;
}

static int parse_list(const char *text, value *v, char *why, size_t size)
{
    size_t capacity = 0;
    const char *at = text;
    char range[120];

    range_text(v->info, range, sizeof range);
    for (;;) {
        char token[64];
        at += strspn(at, " \t,");
        size_t n = strcspn(at, " \t,");
        if (n == 0) {
            return 1;
        }
        if (n >= sizeof token) {
            snprintf(why, size, "number %" PRIu64 " of the list is too long", v->count + 1);
            return 0;
        }
        memcpy(token, at, n);
        token[n] = '\0';
        at += n;
        int64_t times = 1;
        double x;
        char *star = strchr(token, '*');
        if (star != NULL) {
            *star = '\0';
        }
        if ((star != NULL && (!ds_parse_int(star + 1, &times) || times < 1)) || !ds_parse_real(token, &x) ||
            !(x >= v->info->min && x <= v->info->max)) {
            snprintf(why, size, "element %" PRIu64 " of the list: %s", v->count + 1, range);
            return 0;
        }
        if (!push(v, &capacity, x, (uint64_t)times)) {
            snprintf(why, size, "more than %u elements", v->info->max_count != 0 ? v->info->max_count : 1u << 24);
            return 0;
        }
    }
}

/* Absolute form of a file name; NULL without memory. */
static char *absolute(const char *path, const char *base)
{
    char cwd[PATH_MAX];
    if (path[0] == '/') {
        return strdup(path);
    }
    if (base == NULL) {
        base = getcwd(cwd, sizeof cwd);
    }
    size_t size = (base != NULL ? strlen(base) : 0) + strlen(path) + 2;
    char *out = malloc(size);
    if (out != NULL) {
        snprintf(out, size, "%s/%s", base != NULL ? base : "", path);
    }
    return out;
}

/* Can the text stand as a value in an .ini file, where it must survive in the record of the run? */
static int is_ini_text(const char *key, const char *text)
{
    size_t n = strlen(text);
    if (n + strlen(key) > LINE_LIMIT || strpbrk(text, "\n\r") != NULL || strstr(text, " ;") != NULL || strstr(text, "\t;") != NULL) {
        return 0;
    }
    return n == 0 || (strchr(" \t;", text[0]) == NULL && strchr(" \t", text[n - 1]) == NULL);
}

static int convert_file(value *v, const char *text, const ds_setting *s, const char *owner, ds_error *e)
{
    struct stat st;
    ds_error inner = {0};

    if (text[0] == '\0') {
        v->text = strdup("");
        return v->text != NULL ? 0 : ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    v->text = absolute(text, s != NULL ? s->base : NULL);
    if (v->text == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    if (!is_ini_text(v->info->name, v->text)) {
        return refuse(s, owner, v, unwritable, e);
    }
    if (stat(v->text, &st) != 0) {
        return refuse(s, owner, v, "no such file", e);
    }
    if (!S_ISREG(st.st_mode) || access(v->text, R_OK) != 0) {
        return refuse(s, owner, v, S_ISREG(st.st_mode) ? "the file cannot be read" : "not a regular file", e);
    }
    if (v->info->type == DS_PARAM_ARRAY && ds_array_read(v->text, 0, DS_EXIT_CONFIG, &v->array, &inner) != 0) {
        return inner.status == DS_EXIT_MEMORY ? ds_fail(e, DS_EXIT_MEMORY, "%s", inner.text)
                                              : refuse(s, owner, v, inner.text, e);
    }
    return 0;
}

static int convert(value *v, const ds_setting *s, const char *owner, ds_error *e)
{
    const ds_param *info = v->info;
    const char *text = s != NULL ? s->value : info->default_text;
    char why[300];
    int ok = 1;

    range_text(info, why, sizeof why);
    switch (info->type) {
    case DS_PARAM_BOOL:
        ok = parse_bool(text, &v->number);
        snprintf(why, sizeof why, "expected true or false");
        break;
    case DS_PARAM_INT:
        ok = ds_parse_int(text, &v->number) && (double)v->number >= info->min && (double)v->number <= info->max;
        v->real = (double)v->number;
        break;
    case DS_PARAM_REAL:
        ok = ds_parse_real(text, &v->real) && v->real >= info->min && v->real <= info->max;
        break;
    case DS_PARAM_ENUM: {
        size_t used = (size_t)snprintf(why, sizeof why, "expected one of");
        ok = 0;
        for (int i = 0; info->choices[i] != NULL; i++) {
            if (strcmp(info->choices[i], text) == 0) {
                v->number = i;
                ok = 1;
            }
            if (used < sizeof why) {
                used += (size_t)snprintf(why + used, sizeof why - used, "%s %s", i > 0 ? "," : "", info->choices[i]);
            }
        }
        break;
    }
    case DS_PARAM_LIST:
        ok = parse_list(text, v, why, sizeof why);
        break;
    case DS_PARAM_PATH:
    case DS_PARAM_ARRAY:
        return convert_file(v, text, s, owner, e);
    case DS_PARAM_TEXT:
        ok = is_ini_text(info->name, text);
        snprintf(why, sizeof why, "%s", unwritable);
        break;
    default:
        break;
    }
    if (!ok) {
        return refuse(s, owner, v, why, e);
    }
    v->text = strdup(text);
    return v->text != NULL ? 0 : ds_fail(e, DS_EXIT_MEMORY, "out of memory");
}

static int refuse_unknown(const ds_params *p, const ds_setting *s, const char *owner, int section, ds_error *e)
{
    const char *known[256];
    size_t n = 0;
    for (; n < p->count && n < 256; n++) {
        known[n] = p->item[n].info->name;
    }
    const char *near = ds_nearest(s->key, known, n);
    char hint[200];
    if (near != NULL) {
        snprintf(hint, sizeof hint, "did you mean '%s'?", near);
    } else if (owner[0] != '\0') {
        snprintf(hint, sizeof hint, "`dshost help %s` lists them", owner);
    } else {
        snprintf(hint, sizeof hint, "`dshost help run` lists them");
    }
    return ds_fail(e, s->status, "%s: %s%sunknown parameter '%s' in [%s]; %s", s->origin, owner,
                   owner[0] != '\0' ? ": " : "", s->key, ds_section_names[section], hint);
}

int ds_params_make(const ds_param *const *schema, const char *owner, const ds_settings *settings, int section,
                   ds_params **out, ds_error *e)
{
    ds_params *p = calloc(1, sizeof *p);
    size_t n = 0;
    int status = 0;

    while (schema != NULL && schema[n] != NULL) {
        n++;
    }
    if (p == NULL || (p->item = calloc(n + 1, sizeof *p->item)) == NULL) {
        free(p);
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    p->count = n;
    for (size_t i = 0; i < n; i++) {
        p->item[i].info = schema[i];
    }
    const ds_section *given = &settings->section[section];
    for (size_t i = 0; i < given->count && status == 0; i++) {
        size_t k = 0;
        while (k < n && strcmp(schema[k]->name, given->item[i].key) != 0) {
            k++;
        }
        if (k == n) {
            status = refuse_unknown(p, &given->item[i], owner, section, e);
        }
    }
    for (size_t i = 0; i < n && status == 0; i++) {
        const ds_setting *s = ds_settings_find(settings, section, schema[i]->name);
        p->item[i].given = s != NULL;
        if (s == NULL && (schema[i]->flags & DS_PARAM_REQUIRED) != 0) {
            status = ds_fail(e, DS_EXIT_CONFIG, "%s: parameter '%s' must be set (%s), for example with --set %s.%s=...",
                             owner, schema[i]->name, schema[i]->doc, ds_section_names[section], schema[i]->name);
        } else {
            status = convert(&p->item[i], s, owner, e);
        }
    }
    if (status != 0) {
        ds_params_free(p);
        return status;
    }
    *out = p;
    return 0;
}

void ds_params_free(ds_params *p)
{
    if (p == NULL) {
        return;
    }
    for (size_t i = 0; i < p->count; i++) {
        free(p->item[i].text);
        free(p->item[i].list);
        ds_array_free(&p->item[i].array);
    }
    free(p->item);
    free(p);
}

static const value *find(const ds_params *p, const char *name, uint32_t types)
{
    for (size_t i = 0; i < p->count; i++) {
        if (strcmp(p->item[i].info->name, name) == 0) {
            return (types & (1u << p->item[i].info->type)) != 0 ? &p->item[i] : NULL;
        }
    }
    return NULL;
}

ds_status ds_params_int(const ds_params *p, const char *name, int64_t *out)
{
    const value *v = find(p, name, 1u << DS_PARAM_BOOL | 1u << DS_PARAM_INT | 1u << DS_PARAM_ENUM);
    if (v == NULL) {
        return DS_E_PARAM;
    }
    *out = v->number;
    return DS_OK;
}

ds_status ds_params_real(const ds_params *p, const char *name, double *out)
{
    const value *v = find(p, name, 1u << DS_PARAM_REAL | 1u << DS_PARAM_INT);
    if (v == NULL) {
        return DS_E_PARAM;
    }
    *out = v->real;
    return DS_OK;
}

ds_status ds_params_text(const ds_params *p, const char *name, const char **out)
{
    const value *v = find(p, name, 1u << DS_PARAM_TEXT | 1u << DS_PARAM_PATH | 1u << DS_PARAM_ENUM);
    if (v == NULL) {
        return DS_E_PARAM;
    }
    *out = v->text;
    return DS_OK;
}

ds_status ds_params_list(const ds_params *p, const char *name, const double **out, uint64_t *count)
{
    const value *v = find(p, name, 1u << DS_PARAM_LIST);
    if (v == NULL) {
        return DS_E_PARAM;
    }
    *out = v->list;
    *count = v->count;
    return DS_OK;
}

ds_status ds_params_array(const ds_params *p, const char *name, const double **data, uint64_t *ndim,
                          uint64_t shape[8])
{
    const value *v = find(p, name, 1u << DS_PARAM_ARRAY);
    if (v == NULL) {
        return DS_E_PARAM;
    }
    *data = v->array.data;
    *ndim = v->array.data != NULL ? v->array.ndim : 0;
    for (uint64_t i = 0; i < *ndim; i++) {
        shape[i] = v->array.shape[i];
    }
    return DS_OK;
}

size_t ds_params_count(const ds_params *p)
{
    return p->count;
}

const ds_param *ds_params_info(const ds_params *p, size_t i)
{
    return p->item[i].info;
}

const char *ds_params_value_text(const ds_params *p, size_t i)
{
    return p->item[i].text;
}

int ds_params_given(const ds_params *p, size_t i)
{
    return p->item[i].given;
}

int ds_params_write_ini(const ds_params *p, FILE *f)
{
    for (size_t i = 0; i < p->count; i++) {
        const char *at = p->item[i].text;
        size_t column = (size_t)fprintf(f, "%s =", p->item[i].info->name);
        if (p->item[i].info->type != DS_PARAM_LIST) {
            fprintf(f, " %s\n", at);
            continue;
        }
        /* A list may be longer than a line can be: break it at blanks. */
        for (;;) {
            at += strspn(at, " \t,");
            size_t n = strcspn(at, " \t,");
            if (n == 0) {
                break;
            }
            if (column + n + 1 > 110) {
                column = (size_t)fprintf(f, "\n   ");
            }
            column += (size_t)fprintf(f, " %.*s", (int)n, at);
            at += n;
        }
        fputc('\n', f);
    }
    return ferror(f) ? -1 : 0;
}
