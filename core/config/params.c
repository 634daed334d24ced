/* SPDX-License-Identifier: Apache-2.0 */
/* params.c - checks and converts settings by a schema. */
#include "config.h"

#include "config/params.h"

#include "config/inifile.h"
#include "config/npy.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of a line of an .ini file for the key and its text. */
enum { LINE_LIMIT = DS_INI_LINE_LIMIT - 3, LIST_LIMIT = DS_MAX_VARIABLES };
enum { EXPECT_MAX = 4, EPISODES_MAX = 4096 }; /* parameters of ds_expect_schema, and the largest `expect` */

static const char *const draws[] = {"run", "row", NULL};

const ds_param *const ds_expect_schema[] = {
    DS_INT("expect", "0", 0, EPISODES_MAX, "",
           "Episodes of one evaluation: loss and gradient are their means over the draws of expect_over and "
           "over noise. 0 = one episode as it is.",
           .flags = DS_PARAM_ADVANCED),
    DS_TEXT("expect_over", "",
            "What differs between them, for example mass=uniform(0.9,1.1), start[0]+=normal(0,0.1), "
            "x+=normal(0,0.05); empty = the noise alone.",
            .flags = DS_PARAM_ADVANCED),
    DS_ENUM("expect_draws", "run", draws,
            "run: every evaluation has the same draws, so that the loss has no noise; row: each has its own.",
            .flags = DS_PARAM_ADVANCED),
    DS_INT("expect_seed", "0", 0, 9007199254740992.0, "",
           "Another number gives other draws. They do not depend on the seed of the run.",
           .flags = DS_PARAM_ADVANCED),
    NULL};

int ds_expect_owns(const char *name)
{
    size_t i = 0;
    while (ds_expect_schema[i] != NULL && strcmp(ds_expect_schema[i]->name, name) != 0) {
        i++;
    }
    return ds_expect_schema[i] != NULL;
}

typedef struct value {
    const ds_param *info;
    int given;
    char *text;     /* reproduces this value */
    int64_t number; /* BOOL, INT, ENUM */
    double real;    /* REAL, INT */
    double *list;   /* LIST */
    uint64_t count;
    ds_array array; /* ARRAY */
} value;

struct ds_params {
    size_t count;
    value item[];
};

/* A mark that other .ini files use for comments. */
static int has_hash(const char *text)
{
    return strstr(text, " #") != NULL || strstr(text, "\t#") != NULL;
}

/* One line for a refused value: "runs.ini:7: torus: steps = many: expected ...". */
static int refuse(const ds_setting *s, const char *owner, const value *v, const char *allowed, ds_error *e)
{
    const char *text = s != NULL ? s->value : v->info->default_text;
    return ds_fail(e, s != NULL ? s->status : DS_EXIT_PLUGIN, "%s: %s%s%s = %.200s: %s%s",
                   s != NULL ? s->origin : "default", owner, owner[0] != '\0' ? ": " : "", v->info->name,
                   text, allowed,
                   s != NULL && s->layer <= DS_LAYER_FILE && has_hash(text)
                       ? " (a comment after a value begins with ' ;')"
                       : "");
}

static void range_text(const ds_param *info, char *out, size_t size)
{
    const char *kind = info->type == DS_PARAM_INT ? "a whole number" : "a number";
    int digits = info->type == DS_PARAM_INT ? 17 : 15; /* whole numbers in full */
    if (isinf(info->min) && isinf(info->max)) {
        snprintf(out, size, "expected %s", kind);
    } else if (isinf(info->max)) {
        snprintf(out, size, "expected %s of at least %.*g", kind, digits, info->min);
    } else if (isinf(info->min)) {
        snprintf(out, size, "expected %s of at most %.*g", kind, digits, info->max);
    } else {
        snprintf(out, size, "expected %s from %.*g to %.*g", kind, digits, info->min, digits, info->max);
    }
}

/* Length of the next word between blanks and commas, and *at points to it; 0 = none. */
static size_t next_word(const char **at)
{
    *at += strspn(*at, " \t,");
    return strcspn(*at, " \t,");
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

/* Appends `times` copies of v. Returns 0, or an exit status: out of memory, or too many elements. */
static int push(value *val, size_t *capacity, double v, uint64_t times, uint64_t limit)
{
    if (times > limit - val->count) {
        return DS_EXIT_CONFIG;
    }
    if (val->count + times > *capacity) {
        *capacity = 2 * (size_t)(val->count + times);
        double *list = realloc(val->list, *capacity * sizeof *list);
        if (list == NULL) {
            return DS_EXIT_MEMORY;
        }
        val->list = list;
    }
    for (uint64_t i = 0; i < times; i++) {
        val->list[val->count++] = v;
    }
    return 0;
}

static int in_range(const ds_param *info, double v)
{
    return v >= info->min && v <= info->max;
}

/* Converts one element "v" or "v*k" of a list (at most 63 bytes). Returns NULL, or the fault. */
static const char *parse_element(char *token, const ds_param *info, double *v, int64_t *times, char *why,
                                 size_t size)
{
    char *star = strchr(token, '*');
    *times = 1;
    if (star != NULL) {
        *star = '\0';
        if (!ds_parse_int(star + 1, times) || *times < 1) {
            return "v*k repeats v k times, k must be a whole number of at least 1";
        }
    }
    range_text(info, why, size);
    return ds_parse_real(token, v) && in_range(info, *v) ? NULL : why;
}

/* Converts elements between blanks and commas. Returns 0, or an exit status with the reason in why. */
static int parse_list(const char *text, value *v, char *why, size_t size)
{
    uint32_t limit = v->info->max_count != 0 ? v->info->max_count : LIST_LIMIT;
    size_t capacity = 0, n;
    char range[120], token[64];
    double x;
    int64_t times;
    for (const char *at = text; n = next_word(&at), n > 0; at += n) {
        snprintf(token, sizeof token, "%.*s", n < sizeof token ? (int)n : 0, at);
        const char *wrong = parse_element(token, v->info, &x, &times, range, sizeof range);
        if (wrong != NULL) {
            snprintf(why, size, "element %" PRIu64 " ('%.*s'): %s", v->count + 1, n < 40 ? (int)n : 40, at,
                     wrong);
            return DS_EXIT_CONFIG;
        }
        int status = push(v, &capacity, x, (uint64_t)times, limit);
        if (status != 0) {
            snprintf(why, size, "more than %u elements", limit);
            return status;
        }
    }
    return 0;
}

/* The absolute form of a file name; NULL without memory. */
static char *absolute(const char *path, const char *base)
{
    char cwd[PATH_MAX], *out;
    if (path[0] == '/') {
        return strdup(path);
    }
    base = base != NULL ? base : getcwd(cwd, sizeof cwd);
    return asprintf(&out, "%s/%s", base != NULL ? base : "", path) >= 0 ? out : NULL;
}

static int is_space(char c)
{
    return c == ' ' || c == '\t';
}

const char *ds_ini_text_problem(const char *key, const char *text)
{
    size_t n = strlen(text);
    if (!ds_text_is_line(text, n)) {
        return "not UTF-8 text, or a line break or control character in it";
    }
    if (n + strlen(key) > LINE_LIMIT) {
        return "too long for a line of 8000 bytes in an .ini file";
    }
    for (size_t i = 0; i < n; i++) {
        if (text[i] == ';' && (i == 0 || is_space(text[i - 1]))) {
            return "a ';' at the beginning or after a blank begins a comment in an .ini file";
        }
    }
    return n > 0 && (is_space(text[0]) || is_space(text[n - 1]))
               ? "a blank at either end is lost in an .ini file"
               : NULL;
}

/* Checks words between blanks or commas, which may continue in further lines. */
static const char *words_problem(const char *key, const char *text)
{
    const char *problem = NULL;
    for (size_t n; problem == NULL && (n = next_word(&text)) > 0; text += n) {
        char word[LINE_LIMIT + 2];
        snprintf(word, sizeof word, "%.*s", n < sizeof word ? (int)n : (int)sizeof word - 1, text);
        problem = ds_ini_text_problem(key, word);
    }
    return problem;
}

static int convert_file(value *v, const char *text, const ds_setting *s, const char *owner, ds_error *e)
{
    struct stat st;
    ds_error inner = {0};

    v->text = text[0] == '\0' ? strdup("") : absolute(text, s != NULL ? s->base : NULL);
    if (v->text == NULL || text[0] == '\0') {
        return v->text != NULL ? 0 : ds_no_memory(e);
    }
    const char *problem = ds_ini_text_problem(v->info->name, v->text);
    if (problem != NULL) {
        char why[500];
        snprintf(why, sizeof why, "with its folder %.300s: %s", v->text, problem);
        return refuse(s, owner, v, text[0] == '/' ? problem : why, e);
    }
    int list = v->info->type == DS_PARAM_ARRAY && strspn(text, "0123456789+-.eE, ") == strlen(text);
    problem = stat(v->text, &st) != 0 && list ? "expected the name of a file with the numbers (.npy or text)"
              : stat(v->text, &st) != 0       ? strerror(errno)
              : S_ISDIR(st.st_mode)           ? "a folder, expected a file"
              : !S_ISREG(st.st_mode)          ? "not a regular file"
              : access(v->text, R_OK) != 0    ? strerror(errno)
                                              : NULL;
    if (problem != NULL) {
        return refuse(s, owner, v, problem, e);
    }
    if (v->info->type == DS_PARAM_ARRAY &&
        ds_array_read(v->text, 0, DS_EXIT_CONFIG, &v->array, &inner) != 0) {
        return inner.status == DS_EXIT_MEMORY ? ds_fail(e, DS_EXIT_MEMORY, "%s", inner.text)
                                              : refuse(s, owner, v, inner.text, e);
    }
    return 0;
}

/* Is the text another word for the choice "true" or "false"? */
static int is_same_truth(const char *choice, const char *text)
{
    int64_t a, b;
    int truth = strcmp(choice, "true") == 0 || strcmp(choice, "false") == 0;
    return truth && parse_bool(choice, &a) && parse_bool(text, &b) && a == b;
}

/* Finds a choice in any case of letters, also after the name of the plugin, as libraries name their
 * constants: NLOPT_LD_LBFGS of nlopt. An exact spelling wins. */
static int parse_enum(const char *text, const char *owner, value *v, char *why, size_t size)
{
    const char *const *choice = v->info->choices;
    const size_t prefix = strlen(owner);
    const char *rest =
        prefix > 0 && strncasecmp(text, owner, prefix) == 0 && text[prefix] == '_' ? text + prefix + 1 : text;
    size_t n = 0;
    int ok = 0;
    for (; choice[n] != NULL; n++) {
        const int exact = strcmp(choice[n], text) == 0;
        if (exact || (!ok && (is_same_truth(choice[n], text) || strcasecmp(choice[n], text) == 0 ||
                              strcasecmp(choice[n], rest) == 0))) {
            v->number = (int64_t)n;
            ok = 1;
        }
    }
    ds_text_choices(text, choice, n, why, size);
    return ok;
}

/* Is it a plugin name followed by a comment? A file may have such a name. */
static int looks_commented(const value *v, const ds_setting *s)
{
    return (v->info->flags & DS_PARAM_NAME_OR_PATH) != 0 && s != NULL && s->layer <= DS_LAYER_FILE &&
           has_hash(s->value) && access(v->text != NULL ? v->text : s->value, F_OK) != 0;
}

/* Converts the user's setting, or the default where s is NULL. */
static int convert(value *v, const ds_setting *s, const char *owner, ds_error *e)
{
    const ds_param *info = v->info;
    const char *text = s != NULL ? s->value : info->default_text;
    const char *problem = NULL;
    char why[600];
    int status = 0;

    if (s != NULL && s->more != 0 && info->type != DS_PARAM_LIST && (info->flags & DS_PARAM_WORDS) == 0) {
        snprintf(why, sizeof why, "line %d is indented and so continues this value: only lists may continue",
                 s->more);
        return refuse(s, owner, v, why, e);
    }
    range_text(info, why, sizeof why);
    switch (info->type) {
    case DS_PARAM_BOOL:
        problem = parse_bool(text, &v->number) ? NULL : "expected true or false";
        break;
    case DS_PARAM_INT:
        problem = ds_parse_int(text, &v->number) && in_range(info, (double)v->number) ? NULL : why;
        if (problem == NULL && (v->number > DS_WHOLE_MAX || v->number < -DS_WHOLE_MAX)) {
            problem = "expected a whole number from -9007199254740992 to 9007199254740992 (2^53)";
        }
        v->real = (double)v->number;
        break;
    case DS_PARAM_REAL:
        problem = ds_parse_real(text, &v->real) && in_range(info, v->real) ? NULL : why;
        break;
    case DS_PARAM_ENUM:
        problem = parse_enum(text, owner, v, why, sizeof why) ? NULL : why;
        text = problem == NULL ? info->choices[v->number] : text;
        break;
    case DS_PARAM_LIST:
        status = parse_list(text, v, why, sizeof why);
        problem = status == DS_EXIT_CONFIG ? why : NULL;
        break;
    case DS_PARAM_PATH:
    case DS_PARAM_ARRAY:
        return convert_file(v, text, s, owner, e);
    default:
        if ((info->flags & DS_PARAM_NAME_OR_PATH) != 0 && strchr(text, '/') != NULL) {
            v->text = absolute(text, s != NULL ? s->base : NULL);
        }
        problem = (info->flags & DS_PARAM_WORDS) != 0
                      ? words_problem(info->name, text)
                      : ds_ini_text_problem(info->name, v->text != NULL ? v->text : text);
        if (problem == NULL && looks_commented(v, s)) {
            problem = "no plugin has this name";
        }
        break;
    }
    if (problem != NULL) {
        return refuse(s, owner, v, problem, e);
    }
    if (status == 0 && v->text == NULL) {
        v->text = strdup(text);
    }
    return v->text != NULL ? 0 : ds_no_memory(e);
}

/* Checks that the schema has the key of a setting. */
static int check_key(const ds_params *p, const ds_setting *s, const char *owner, int section, ds_error *e)
{
    const char *known[DS_MAX_PARAMS];
    size_t n = 0;
    for (size_t i = 0; i < p->count; i++) {
        if (strcmp(p->item[i].info->name, s->key) == 0) {
            return 0;
        }
        if (n < DS_MAX_PARAMS) {
            known[n++] = p->item[i].info->name;
        }
    }
    const int own = section >= DS_SECTION_LANDSCAPE; /* of a command */
    const char *near = ds_nearest(s->key, known, n);
    const char *topic = owner[0] != '\0' ? owner : own ? ds_section_names[section] : "run";
    char hint[200];
    snprintf(hint, sizeof hint, near != NULL ? "did you mean '%s'?" : "`dshost help %s` lists them",
             near != NULL ? near : topic);
    return ds_fail(e, s->status, "%s: %s%sunknown parameter '%s' in [%s]; %s", s->origin, owner,
                   owner[0] != '\0' ? ": " : "", s->key, ds_section_names[section], hint);
}

/* Adds the host's own parameters of environments that the user has set to n parameters of the schema; a
 * schema made from other parameters has them already. Returns their number. */
static size_t add_expect(ds_params *p, size_t n, const ds_settings *settings)
{
    for (size_t i = 0; ds_expect_schema[i] != NULL; i++) {
        const ds_param *info = ds_expect_schema[i];
        size_t k = 0;
        while (k < n && strcmp(p->item[k].info->name, info->name) != 0) {
            k++;
        }
        if (k == n && ds_settings_find(settings, DS_SECTION_ENV, info->name) != NULL) {
            p->item[n++].info = info;
        }
    }
    return n;
}

int ds_params_make(const ds_param *const *schema, const char *owner, const ds_settings *settings, int section,
                   ds_params **out, ds_error *e)
{
    size_t n = 0;
    int status = 0;
    while (schema != NULL && schema[n] != NULL) {
        n++;
    }
    ds_params *p = calloc(1, sizeof *p + (n + EXPECT_MAX) * sizeof *p->item);
    if (p == NULL) {
        return ds_no_memory(e);
    }
    for (size_t i = 0; i < n; i++) {
        p->item[i].info = schema[i];
    }
    n = section == DS_SECTION_ENV ? add_expect(p, n, settings) : n;
    p->count = n;
    const ds_section *given = &settings->section[section];
    for (size_t i = 0; i < given->count && status == 0; i++) {
        status = check_key(p, &given->item[i], owner, section, e);
    }
    for (size_t i = 0; i < n && status == 0; i++) {
        const ds_param *info = p->item[i].info;
        const ds_setting *s = ds_settings_find(settings, section, info->name);
        p->item[i].given = s != NULL;
        if (s == NULL && (info->flags & DS_PARAM_REQUIRED) != 0) {
            status = ds_fail(e, DS_EXIT_CONFIG,
                             "%s: parameter '%s' must be set (%s), for example with --set %s.%s=...", owner,
                             info->name, info->doc, ds_section_names[section], info->name);
        } else {
            status = convert(&p->item[i], s, owner, e);
        }
    }
    if (status != 0) {
        ds_params_free(p);
    } else {
        *out = p;
    }
    return status;
}

void ds_params_free(ds_params *p)
{
    for (size_t i = 0; p != NULL && i < p->count; i++) {
        free(p->item[i].text);
        free(p->item[i].list);
        ds_array_free(&p->item[i].array);
    }
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

int ds_params_same(const ds_params *a, const ds_params *b, size_t i)
{
    const value *v = &a->item[i], *w = &b->item[i];
    switch (v->info->type) {
    case DS_PARAM_BOOL:
    case DS_PARAM_INT:
    case DS_PARAM_ENUM:
        return v->number == w->number;
    case DS_PARAM_REAL:
        return v->real == w->real;
    case DS_PARAM_LIST:
        return v->count == w->count &&
               (v->count == 0 || memcmp(v->list, w->list, v->count * sizeof *v->list) == 0);
    case DS_PARAM_ARRAY: /* by content: the file may have moved */
        return v->array.size == w->array.size && v->array.ndim == w->array.ndim &&
               memcmp(v->array.shape, w->array.shape, sizeof v->array.shape) == 0 &&
               (v->array.data == NULL ||
                memcmp(v->array.data, w->array.data, v->array.size * sizeof *v->array.data) == 0);
    default:
        return strcmp(v->text, w->text) == 0;
    }
}

void ds_params_write_value(const ds_param *info, const char *text, FILE *f)
{
    size_t column = (size_t)fprintf(f, "%s =", info->name);
    if (info->type != DS_PARAM_LIST && (info->flags & DS_PARAM_WORDS) == 0) {
        fprintf(f, " %s\n", text);
        return;
    }
    /* A list may be longer than a line: break it at blanks. */
    for (size_t n; (n = next_word(&text)) > 0; text += n) {
        if (column + n + 1 > 110) {
            column = (size_t)fprintf(f, "\n   ");
        }
        column += (size_t)fprintf(f, " %.*s", (int)n, text);
    }
    fputc('\n', f);
}

int ds_params_write_ini(const ds_params *p, FILE *f)
{
    for (size_t i = 0; i < p->count; i++) {
        ds_params_write_value(p->item[i].info, p->item[i].text, f);
    }
    return ferror(f) ? -1 : 0;
}

/* ---- settings in a title ---- */

enum { LONGEST = 40 /* bytes shown of a setting */ };

void ds_settings_text(char *out, size_t room, const ds_params *p)
{
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; p != NULL && i < ds_params_count(p); i++) {
        const char *name = ds_params_info(p, i)->name, *text = ds_params_value_text(p, i);
        int which =
            strcmp(name, "variant") == 0 || strcmp(name, "preset") == 0 || strcmp(name, "function") == 0;
        if (text == NULL || text[0] == '\0' ||
            !(which || (ds_params_given(p, i) && strcmp(text, ds_params_info(p, i)->default_text) != 0))) {
            continue;
        }
        const char *file = strrchr(text, '/'); /* of a path the file: its folders are those of one machine */
        text = file != NULL && file[1] != '\0' ? file + 1 : text;
        char part[DS_MAX_NAME + LONGEST + 8];
        int cut = strlen(text) > LONGEST;
        int k = snprintf(part, sizeof part, "%s%.*s %.*s%s", n > 0 ? ", " : "", DS_MAX_NAME, name,
                         LONGEST - 3 * cut, text, cut ? "..." : "");
        if (k < 0 || n + (size_t)k + 6 >= room) {
            snprintf(out + n, room - n, ", ...");
            return;
        }
        memcpy(out + n, part, (size_t)k + 1);
        n += (size_t)k;
    }
}
