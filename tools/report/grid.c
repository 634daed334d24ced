/* SPDX-License-Identifier: Apache-2.0 */
/* grid.c - tables for papers and pages: their cells from a report or from metric_cells.csv, and their formats
 * (see grid.h). */
#include "config.h"

#include "report/grid.h"

#include "base/file.h"
#include "base/text.h"
#include "report/report.h"
#include "results/csv.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const ds_grid_stats[DS_GRID_STATS] = {"mean", "median", "time", "scores", "counts"};
const char *const ds_grid_formats[DS_GRID_FORMATS] = {"latex", "md", "csv"};
const char *const ds_grid_marks[DS_GRID_MARKS] = {"best", "reference", "none"};

enum { NAME_ROOM = 200, NUMBER_ROOM = 400, NOTE_ROOM = 1200, LIST_MAX = 4096, CELLS_FILE_MAX = 64 << 20 };

typedef struct cell {
    int known;
    double value, low, high; /* low and high NaN: no interval */
    size_t runs;
    int bold, sign; /* 1 = better than the reference, -1 = worse */
} cell;

/* A table: named rows and columns. */
typedef struct grid {
    size_t rows, columns;
    char (*row)[NAME_ROOM], (*column)[NAME_ROOM];
    int *row_code, column_code; /* the name belongs to a method and is set as code */
    cell *at;                   /* rows x columns */
    int fixed;                  /* decimals of all values; -1 = significant digits */
    const char *first;          /* name of the first column in CSV */
    char note[NOTE_ROOM];
} grid;

static int grid_make(grid *g, size_t rows, size_t columns, ds_error *e)
{
    *g = (grid){.rows = rows, .columns = columns, .fixed = -1, .first = "method"};
    g->row = calloc(rows + 1, sizeof *g->row);
    g->column = calloc(columns + 1, sizeof *g->column);
    g->row_code = calloc(rows + 1, sizeof *g->row_code);
    g->at = calloc(rows * columns + 1, sizeof *g->at);
    return g->row != NULL && g->column != NULL && g->row_code != NULL && g->at != NULL ? 0 : ds_no_memory(e);
}

static void grid_free(grid *g)
{
    free(g->row);
    free(g->column);
    free(g->row_code);
    free(g->at);
}

/* ---- selection and order of rows and columns ---- */

/* The numbers of the names that a list selects, in its order; all if it is NULL. To be freed. */
static size_t *choose(const char *flag, const char *list, const char *const *name, size_t count, size_t *n,
                      ds_error *e)
{
    size_t *order = calloc(count + 1, sizeof *order);
    char *taken = calloc(count + 1, 1), *copy = list != NULL ? strdup(list) : NULL, *rest = copy;
    int rc = order == NULL || taken == NULL || (list != NULL && copy == NULL) ? ds_no_memory(e) : 0;
    *n = 0;
    for (size_t i = 0; rc == 0 && list == NULL && i < count; i++) {
        order[(*n)++] = i;
    }
    for (char *word; rc == 0 && copy != NULL && (word = strsep(&rest, ", \t\n")) != NULL;) {
        int any = word[0] == '\0';
        for (int exact = 1; exact >= 0 && !any;
             exact--) { /* names may contain characters that patterns interpret */
            for (size_t i = 0; i < count; i++) {
                if (exact ? strcmp(word, name[i]) == 0 : fnmatch(word, name[i], 0) == 0) {
                    any = 1;
                    if (!taken[i]) {
                        order[(*n)++] = i;
                    }
                    taken[i] = 1;
                }
            }
        }
        if (!any) {
            const char *near = ds_nearest(word, name, count);
            rc = ds_fail(e, DS_EXIT_USAGE, "%s %.60s: there are no runs of it; %s %.90s", flag, word,
                         near != NULL ? "nearest is" : "there are runs of", near != NULL ? near : name[0]);
        }
    }
    if (rc == 0 && *n == 0) {
        rc = ds_fail(e, DS_EXIT_USAGE, "%s: the list selects nothing", flag);
    }
    free(taken);
    free(copy);
    if (rc != 0) {
        free(order);
        return NULL;
    }
    return order;
}

/* ---- from a report ---- */

typedef struct selection {
    size_t *method, *env, methods, envs;
} selection;

static int select_cells(const ds_report *r, const ds_grid_choice *q, selection *s, ds_error *e)
{
    const char **name = calloc(r->opts + r->envs + 1, sizeof *name);
    if (name == NULL) {
        return ds_no_memory(e);
    }
    for (size_t k = 0; k < r->opts; k++) {
        name[k] = r->opt[k].name;
    }
    for (size_t i = 0; i < r->envs; i++) {
        name[r->opts + i] = r->env[i].name;
    }
    s->method = choose("--methods", q->methods, name, r->opts, &s->methods, e);
    s->env = s->method != NULL ? choose("--envs", q->envs, name + r->opts, r->envs, &s->envs, e) : NULL;
    free(name);
    return s->env != NULL ? 0 : e->status;
}

static double statistic_of(const ds_report_cell *c, int stat)
{
    return stat == DS_GRID_MEAN ? c->mean : c->median;
}

/* Marks the best method of an environment, and those that the Mann-Whitney test with Holm's correction does
 * not distinguish from it. Returns 0 if there are too few runs to show anything. */
static int mark_best(const ds_report *r, const ds_grid_choice *q, const selection *s, grid *g, size_t column,
                     ds_error *e)
{
    const size_t i = s->env[column];
    size_t best = SIZE_MAX, n = 0;
    double *p = calloc(2 * s->methods + 1, sizeof *p), *least = p + s->methods;
    int can = 0;
    if (p == NULL) {
        return ds_no_memory(e), -1;
    }
    for (size_t k = 0; k < s->methods; k++) {
        const ds_report_cell *c = ds_report_at(r, i, s->method[k]);
        if (c->runs > 0 && isfinite(statistic_of(c, q->stat)) &&
            (best == SIZE_MAX ||
             statistic_of(c, q->stat) < statistic_of(ds_report_at(r, i, s->method[best]), q->stat))) {
            best = k;
        }
    }
    const ds_report_cell *b = best != SIZE_MAX ? ds_report_at(r, i, s->method[best]) : NULL;
    for (size_t k = 0; b != NULL && k < s->methods; k++) {
        const ds_report_cell *c = ds_report_at(r, i, s->method[k]);
        if (c->runs > 0 && k != best) {
            p[n] = ds_mann_whitney_test(c->ranked, c->runs, b->ranked, b->runs).p;
            least[n++] = ds_mann_whitney_least_p(c->runs, b->runs);
        }
    }
    ds_holm(p, n);
    ds_holm(least, n);
    n = 0;
    for (size_t k = 0; b != NULL && k < s->methods; k++) {
        const ds_report_cell *c = ds_report_at(r, i, s->method[k]);
        if (c->runs == 0) {
            continue;
        }
        const double above = statistic_of(c, q->stat) - statistic_of(b, q->stat);
        int bold = k == best || above <= r->env[i].tolerance;
        if (k != best) {
            bold |= p[n] >= 0.05 && least[n] < 0.05;
            can |= least[n++] < 0.05;
        }
        g->at[k * g->columns + column].bold = bold;
    }
    free(p);
    return b == NULL || n == 0 ? 1 : can;
}

static void put_runs(char *note, size_t room, const ds_report *r, const selection *s)
{
    size_t least = SIZE_MAX, most = 0, repeated = 0;
    for (size_t i = 0; i < s->envs; i++) {
        for (size_t k = 0; k < s->methods; k++) {
            const ds_report_cell *c = ds_report_at(r, s->env[i], s->method[k]);
            const size_t runs = c->runs + c->repeated;
            least = runs > 0 && runs < least ? runs : least;
            most = runs > most ? runs : most;
            repeated += c->repeated;
        }
    }
    const size_t n = strlen(note);
    snprintf(note + n, room - n,
             least < most ? " %zu to %zu runs each."
             : most == 1  ? " %zu run each."
                          : " %zu runs each.",
             least, most);
    if (repeated > 0) {
        const size_t m = strlen(note);
        snprintf(note + m, room - m,
                 " Runs that repeat a deterministic search bit for bit (%zu) count as one.", repeated);
    }
}

static void note_append(grid *g, const char *text)
{
    const size_t n = strlen(g->note);
    snprintf(g->note + n, sizeof g->note - n, "%s%s", n > 0 ? " " : "", text);
}

static void note_recommended(grid *g, const ds_report *r, const selection *s)
{
    int any = 0;
    for (size_t i = 0; i < s->envs; i++) {
        any |= r->env[s->env[i]].recommended;
    }
    if (any) {
        note_append(g, "Under noise the loss is the mean of the recommended point over fixed noise keys.");
    }
}

static int fill_cells(const ds_report *r, const ds_grid_choice *q, const selection *s, grid *g, ds_error *e)
{
    size_t blind = 0;
    int rc = 0;
    for (size_t k = 0; k < s->methods; k++) {
        snprintf(g->row[k], NAME_ROOM, "%s", r->opt[s->method[k]].name);
        g->row_code[k] = 1;
        for (size_t i = 0; rc == 0 && i < s->envs; i++) {
            const ds_report_cell *c = ds_report_at(r, s->env[i], s->method[k]);
            cell *to = &g->at[k * g->columns + i];
            *to = (cell){.known = c->runs > 0, .low = NAN, .high = NAN, .runs = c->runs + c->repeated};
            to->value = q->stat == DS_GRID_TIME ? c->wall_s : statistic_of(c, q->stat);
            if (q->stat == DS_GRID_MEAN) {
                to->low = q->level == 95 ? c->mean95.low : c->mean90.low;
                to->high = q->level == 95 ? c->mean95.high : c->mean90.high;
            } else if (q->stat == DS_GRID_MEDIAN) {
                to->low = c->q1;
                to->high = c->q3;
            }
            to->sign =
                q->mark == DS_GRID_MARK_REFERENCE && q->stat != DS_GRID_TIME ? ds_report_verdict(c) : 0;
        }
    }
    for (size_t i = 0; rc == 0 && i < s->envs; i++) {
        snprintf(g->column[i], NAME_ROOM, "%s", r->env[s->env[i]].name);
        if (q->mark == DS_GRID_MARK_BEST && q->stat != DS_GRID_TIME) {
            const int can = mark_best(r, q, s, g, i, e);
            rc = can < 0 ? e->status : 0;
            blind += can == 0;
        }
    }
    g->fixed = q->stat == DS_GRID_TIME ? 0 : -1;
    if (q->stat == DS_GRID_MEAN) {
        snprintf(g->note, sizeof g->note, "Mean of the best losses [%d %% interval, BCa bootstrap].",
                 q->level);
    } else {
        snprintf(g->note, sizeof g->note, "%s",
                 q->stat == DS_GRID_TIME ? "Mean wall time of a run in seconds."
                                         : "Median of the best losses [first and third quartile].");
    }
    put_runs(g->note, sizeof g->note, r, s);
    note_recommended(g, r, s);
    if (q->mark == DS_GRID_MARK_BEST && q->stat != DS_GRID_TIME) {
        note_append(g, "Bold: the lowest value of an environment, and those that are not shown to be worse "
                       "(two-sided Mann-Whitney test against it, p >= 0.05 after Holm's correction).");
        if (blind > 0) {
            char text[160];
            snprintf(text, sizeof text,
                     "On %zu of %zu environments there are too few runs to show any difference: only the "
                     "lowest is bold.",
                     blind, s->envs);
            note_append(g, text);
        }
    } else if (q->mark == DS_GRID_MARK_REFERENCE && q->stat != DS_GRID_TIME) {
        char text[NAME_ROOM + 160];
        snprintf(text, sizeof text,
                 "(+), (-): better, worse than %s (Mann-Whitney test, p < 0.05 after Holm's correction).",
                 r->opt[r->reference].name);
        note_append(g, text);
    }
    return rc;
}

static int fill_scores(const ds_report *r, const ds_grid_choice *q, const selection *s, grid *g)
{
    size_t n = 0;
    int parts = 0;
    for (size_t j = 0; j < r->opts; j++) { /* the best first */
        const size_t k = r->order[j];
        const ds_report_opt *o = &r->opt[k];
        size_t at = 0;
        while (at < s->methods && s->method[at] != k) {
            at++;
        }
        if (at == s->methods) {
            continue;
        }
        cell *to = &g->at[n];
        *to = (cell){
            .known = 1, .value = o->score, .low = o->score95.low, .high = o->score95.high, .runs = o->envs};
        to->bold = q->mark == DS_GRID_MARK_BEST && n == 0;
        parts |= o->envs < r->envs;
        snprintf(g->row[n], NAME_ROOM, "%.150s", o->name);
        g->row_code[n] = 1;
        if (o->envs < r->envs) {
            const size_t end = strlen(g->row[n]);
            snprintf(g->row[n] + end, NAME_ROOM - end, "\t (%zu of %zu)", o->envs, r->envs);
        }
        n++;
    }
    snprintf(g->column[0], NAME_ROOM, "score");
    g->fixed = 2;
    snprintf(g->note, sizeof g->note,
             "Score over %zu environments: interquartile mean [95 %% interval, stratified bootstrap]; 0 is "
             "%s, 1 the best known loss.",
             r->envs, ds_report_zero_text(r));
    note_append(g,
                parts ? "In brackets: the number of environments of a method that did not run on all." : "");
    return 0;
}

/* Columns: better, no difference shown, worse, and the same alone. */
static int fill_counts(const ds_report *r, const selection *s, grid *g)
{
    static const char *const text[] = {"no difference shown", "worse", "alone: better", "no difference shown",
                                       "worse"};
    size_t n = 0;
    snprintf(g->column[0], NAME_ROOM, "better than \t%s", r->opt[r->reference].name);
    for (size_t c = 1; c < 6; c++) {
        snprintf(g->column[c], NAME_ROOM, "%s", text[c - 1]);
    }
    for (size_t k = 0; k < s->methods; k++) {
        double count[6] = {0};
        const size_t opt = s->method[k];
        for (size_t i = 0; i < s->envs; i++) {
            const ds_report_cell *c = ds_report_at(r, s->env[i], opt);
            if (!isnan(c->test.p) && opt != r->reference) {
                const int alone = !(c->p_alone < 0.05) ? 0 : c->test.a12 > 0.5 ? 1 : -1;
                count[1 - ds_report_verdict(c)]++;
                count[4 - alone]++;
            }
        }
        if (count[0] + count[1] + count[2] > 0) {
            for (size_t c = 0; c < 6; c++) {
                g->at[n * 6 + c] = (cell){.known = 1, .value = count[c], .low = NAN, .high = NAN};
            }
            g->row_code[n] = 1;
            snprintf(g->row[n++], NAME_ROOM, "%s", r->opt[opt].name);
        }
    }
    g->rows = n;
    g->fixed = 0;
    snprintf(g->note, sizeof g->note,
             "Number of environments on which a method is better or worse than %s (Mann-Whitney test, p < "
             "0.05 after Holm's correction for the number of methods; alone: for the number of environments, "
             "as if no other method were compared).",
             r->opt[r->reference].name);
    return 0;
}

/* Drops columns and rows without any value. */
static void drop_empty(grid *g)
{
    size_t rows = 0, columns = 0;
    for (size_t k = 0; k < g->rows; k++) {
        int any = 0;
        for (size_t i = 0; i < g->columns; i++) {
            any |= g->at[k * g->columns + i].known;
        }
        if (any) {
            memmove(g->row[rows], g->row[k], NAME_ROOM);
            g->row_code[rows] = g->row_code[k];
            memmove(g->at + rows * g->columns, g->at + k * g->columns, g->columns * sizeof *g->at);
            rows++;
        }
    }
    g->rows = rows;
    for (size_t i = 0; i < g->columns; i++) {
        int any = 0;
        for (size_t k = 0; k < g->rows; k++) {
            any |= g->at[k * g->columns + i].known;
        }
        if (any) {
            memmove(g->column[columns], g->column[i], NAME_ROOM);
            for (size_t k = 0; k < g->rows; k++) {
                g->at[k * g->columns + columns] = g->at[k * g->columns + i];
            }
            columns++;
        }
    }
    for (size_t k = 1; k < g->rows; k++) {
        memmove(g->at + k * columns, g->at + k * g->columns, columns * sizeof *g->at);
    }
    g->columns = columns;
}

/* ---- from a table of metrics ---- */

enum { METRIC_ENV, METRIC_OPT, METRIC_NAME, METRIC_RUNS, METRIC_FIRST, METRIC_COLUMNS = METRIC_FIRST + 6 };
static const char *const metric_column[METRIC_COLUMNS] = {
    "environment", "optimizer", "metric", "runs", "mean", "bca95_low", "bca95_high", "median", "q1", "q3"};

/* Names in order of first occurrence. */
typedef struct names {
    char **name;
    size_t count;
} names;

static size_t name_index(names *n, const char *name, ds_error *e)
{
    for (size_t i = 0; i < n->count; i++) {
        if (strcmp(n->name[i], name) == 0) {
            return i;
        }
    }
    char **grown = realloc(n->name, (n->count + 1) * sizeof *grown);
    n->name = grown != NULL ? grown : n->name;
    if (grown == NULL || (grown[n->count] = strdup(name)) == NULL) {
        ds_no_memory(e);
        return SIZE_MAX;
    }
    return n->count++;
}

static void names_free(names *n)
{
    for (size_t i = 0; i < n->count; i++) {
        free(n->name[i]);
    }
    free(n->name);
}

typedef struct entry {
    size_t env, opt;
    cell cell;
} entry;

typedef struct metrics {
    names env, opt, metric;
    entry *entry;
    size_t entries;
} metrics;

static int read_metric_row(ds_csv *c, const size_t at[METRIC_COLUMNS], const ds_grid_choice *q, metrics *m,
                           ds_error *e)
{
    double v[6];
    uint64_t runs = 0;
    if (name_index(&m->metric, c->field[at[METRIC_NAME]], e) == SIZE_MAX) {
        return e->status;
    }
    if (strcmp(c->field[at[METRIC_NAME]], q->metric) != 0) {
        return 0;
    }
    for (size_t k = METRIC_FIRST; k < METRIC_COLUMNS; k++) {
        const char *text = c->field[at[k]];
        v[k - METRIC_FIRST] = NAN;
        if (text[0] != '\0' && !ds_parse_real(text, &v[k - METRIC_FIRST])) {
            return ds_fail(e, DS_EXIT_CONFIG, "%.300s:%zu: %s \"%.60s\": expected a number, or nothing",
                           c->path, c->line, metric_column[k], text);
        }
    }
    if (!ds_parse_seed(c->field[at[METRIC_RUNS]], &runs)) {
        return ds_fail(e, DS_EXIT_CONFIG, "%.300s:%zu: runs \"%.60s\": expected a whole number", c->path,
                       c->line, c->field[at[METRIC_RUNS]]);
    }
    entry *grown = realloc(m->entry, (m->entries + 1) * sizeof *grown);
    if (grown == NULL) {
        return ds_no_memory(e);
    }
    m->entry = grown;
    const double *of = q->stat == DS_GRID_MEDIAN ? v + 3 : v;
    entry *to = &grown[m->entries++];
    *to = (entry){.cell = {.known = 1, .value = of[0], .low = of[1], .high = of[2], .runs = runs}};
    to->env = name_index(&m->env, c->field[at[METRIC_ENV]], e);
    to->opt = name_index(&m->opt, c->field[at[METRIC_OPT]], e);
    return to->env == SIZE_MAX || to->opt == SIZE_MAX ? e->status : 0;
}

static int read_metrics(const char *path, const ds_grid_choice *q, metrics *m, ds_error *e)
{
    size_t at[METRIC_COLUMNS], size = 0;
    void *text = NULL;
    ds_csv *c = malloc(sizeof *c);
    int rc = c == NULL ? ds_no_memory(e) : ds_file_read(path, CELLS_FILE_MAX, &text, &size, DS_EXIT_IO, e);
    int got = 0;
    if (rc == 0) {
        ds_csv_begin(c, text, size, path);
        got = ds_csv_next(c, e);
        rc = got < 0 ? e->status : 0;
    }
    for (size_t k = 0; rc == 0 && k < METRIC_COLUMNS; k++) {
        at[k] = 0;
        while (at[k] < c->fields && strcmp(c->field[at[k]], metric_column[k]) != 0) {
            at[k]++;
        }
        if (got == 0 || at[k] == c->fields) {
            rc = ds_fail(
                e, DS_EXIT_CONFIG,
                "%.300s: there is no column \"%s\"; metric_cells.csv of dshost report --metrics has it", path,
                metric_column[k]);
        }
    }
    const size_t fields = rc == 0 ? c->fields : 0;
    while (rc == 0 && (got = ds_csv_next(c, e)) > 0) {
        rc = c->fields == fields
                 ? read_metric_row(c, at, q, m, e)
                 : ds_fail(e, DS_EXIT_CONFIG, "%.300s:%zu: %zu fields, but the header has %zu", path, c->line,
                           c->fields, fields);
    }
    rc = got < 0 ? e->status : rc;
    if (rc == 0 && m->entries == 0) {
        const char *near = ds_nearest(q->metric, (const char *const *)m->metric.name, m->metric.count);
        rc = m->metric.count == 0
                 ? ds_fail(e, DS_EXIT_IO, "%.300s: it holds no metric", path)
                 : ds_fail(e, DS_EXIT_USAGE, "--metric %.60s: %.300s has no metric of that name; %s %.60s",
                           q->metric, path, near != NULL ? "nearest is" : "there is",
                           near != NULL ? near : m->metric.name[0]);
    }
    free(text);
    free(c);
    return rc;
}

/* ---- numbers and names as text ---- */

/* Rounds to significant digits; large numbers get no digits after the point. */
static void format_number(double v, int digits, int fixed, char out[NUMBER_ROOM])
{
    const double size = fabs(v);
    if (isnan(v)) {
        snprintf(out, NUMBER_ROOM, "-");
    } else if (isinf(v)) {
        snprintf(out, NUMBER_ROOM, v > 0 ? "inf" : "-inf");
    } else if (fixed >= 0) {
        snprintf(out, NUMBER_ROOM, "%.*f", fixed, v);
    } else if (size >= pow(10, digits + 2) || (size < 0.001 && size > 0)) {
        snprintf(out, NUMBER_ROOM, "%.*g", digits > 1 ? digits - 1 : 1, v);
    } else if (size >= pow(10, digits - 1)) {
        snprintf(out, NUMBER_ROOM, "%.0f", v);
    } else {
        snprintf(out, NUMBER_ROOM, "%.*g", digits, v);
    }
}

/* A number in TeX's math mode: 1.2e-05 becomes 1.2 times a power of ten. */
static void put_tex_number(FILE *f, const char *text, int bold)
{
    const char *exponent = strchr(text, 'e');
    fputs(bold ? "\\mathbf{" : "", f);
    if (strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0) {
        fputs(text[0] == '-' ? "-\\infty" : "\\infty", f);
    } else if (exponent != NULL) {
        fprintf(f, "%.*s{\\times}10^{%d}", (int)(exponent - text), text, atoi(exponent + 1));
    } else {
        fputs(text, f);
    }
    fputs(bold ? "}" : "", f);
}

/* Text escaped for TeX. */
static void put_tex(FILE *f, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '\\':
            fputs("\\textbackslash{}", f);
            break;
        case '~':
            fputs("\\textasciitilde{}", f);
            break;
        case '^':
            fputs("\\textasciicircum{}", f);
            break;
        case '<':
            fputs("\\textless{}", f);
            break;
        case '>':
            fputs("\\textgreater{}", f);
            break;
        case '|':
            fputs("\\textbar{}", f);
            break;
        case '"':
            fputs("\\textquotedbl{}", f);
            break;
        case '&':
        case '%':
        case '$':
        case '#':
        case '_':
        case '{':
        case '}':
            fputc('\\', f);
            fputc(*text, f);
            break;
        default:
            fputc(*text, f);
        }
    }
}

/* The same for a note, in which ">=" is a relation. */
static void put_tex_note(FILE *f, const char *text)
{
    for (const char *at; (at = strstr(text, ">=")) != NULL; text = at + 2) {
        char *part = strndup(text, (size_t)(at - text));
        put_tex(f, part != NULL ? part : "");
        free(part);
        fputs("$\\geq$", f);
    }
    put_tex(f, text);
}

/* Text escaped for a cell of Markdown. */
static void put_markdown(FILE *f, const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr("|\\*_<>`[]", *text) != NULL && *text != '_') {
            fputc('\\', f);
        }
        fputc(*text, f);
    }
}

/* A name set as code or as text; what follows a tab is set the other way. */
static void put_name(FILE *f, int format, const char *name, int code)
{
    const char *tab = strchr(name, '\t');
    char part[2][NAME_ROOM];
    snprintf(part[0], NAME_ROOM, "%.*s", tab != NULL ? (int)(tab - name) : NAME_ROOM - 1, name);
    snprintf(part[1], NAME_ROOM, "%.199s", tab != NULL ? tab + 1 : "");
    for (int k = 0; k < 2; k++) {
        const int as_code = part[k][0] != '\0' && (code ^ k);
        if (format == DS_GRID_LATEX) {
            fputs(as_code ? "\\texttt{" : "", f);
            put_tex(f, part[k]);
            fputs(as_code ? "}" : "", f);
        } else if (as_code) { /* code shows everything but backquotes, and a bar would end the cell */
            fputc('`', f);
            for (const char *c = part[k]; *c != '\0'; c++) {
                fputs(*c == '|' ? "\\|" : *c == '`' ? "'" : (char[]){*c, '\0'}, f);
            }
            fputc('`', f);
        } else {
            put_markdown(f, part[k]);
        }
    }
}

static void put_cell(FILE *f, const grid *g, const ds_grid_choice *q, const cell *c)
{
    char value[NUMBER_ROOM], low[NUMBER_ROOM], high[NUMBER_ROOM];
    const int tex = q->format == DS_GRID_LATEX, interval = !isnan(c->low) || !isnan(c->high);
    if (!c->known) {
        fputs(tex ? "--" : "-", f);
        return;
    }
    format_number(c->value, q->digits, g->fixed, value);
    format_number(c->low, q->digits, g->fixed, low);
    format_number(c->high, q->digits, g->fixed, high);
    if (tex) {
        fputc('$', f);
        put_tex_number(f, value, c->bold);
        if (interval) {
            fputs("\\;[", f);
            put_tex_number(f, low, 0);
            fputs(",\\,", f);
            put_tex_number(f, high, 0);
            fputc(']', f);
        }
        fputs(c->sign > 0 ? "^{+}" : c->sign < 0 ? "^{-}" : "", f);
        fputc('$', f);
        return;
    }
    fprintf(f, c->bold ? "**%s**" : "%s", value);
    if (interval || q->stat == DS_GRID_MEAN || q->stat == DS_GRID_MEDIAN) {
        fprintf(f, " [%s, %s]", low, high);
    }
    fputs(c->sign > 0 ? " (+)" : c->sign < 0 ? " (-)" : "", f);
}

/* ---- the table ---- */

/* Transposes the table on request. */
static const cell *cell_at(const grid *g, int transpose, size_t row, size_t column)
{
    return transpose ? &g->at[column * g->columns + row] : &g->at[row * g->columns + column];
}

static void put_row_name(FILE *f, const grid *g, const ds_grid_choice *q, size_t row)
{
    put_name(f, q->format, q->transpose ? g->column[row] : g->row[row],
             q->transpose ? q->format == DS_GRID_LATEX : g->row_code[row]);
}

static void put_column_name(FILE *f, const grid *g, const ds_grid_choice *q, size_t column)
{
    if (q->stat == DS_GRID_COUNTS || q->stat == DS_GRID_SCORES) {
        put_name(f, q->format, g->column[column], 0);
    } else if (q->transpose) {
        put_name(f, q->format, g->row[column], g->row_code[column]);
    } else {
        put_name(f, q->format, g->column[column], q->format == DS_GRID_LATEX);
    }
}

/* Scores have their interval in a separate column. */
static int is_split(const ds_grid_choice *q)
{
    return q->stat == DS_GRID_SCORES;
}

static void put_block(FILE *f, const grid *g, const ds_grid_choice *q, size_t from, size_t to)
{
    const size_t rows = q->transpose ? g->columns : g->rows;
    const int tex = q->format == DS_GRID_LATEX;
    const char *between = tex ? " & " : " | ", *end = tex ? " \\\\\n" : " |\n";
    if (tex) {
        fputs("\\begin{tabular}{l", f);
        for (size_t k = from; k < to; k++) {
            fputs(is_split(q) ? "rr" : "r", f);
        }
        fputs("}\n\\toprule\n", f);
    }
    fputs(tex ? "" : "|", f);
    for (size_t k = from; k < to; k++) {
        fputs(between, f);
        put_column_name(f, g, q, k);
        fputs(is_split(q) ? tex ? " & interval" : " | interval" : "", f);
    }
    fputs(end, f);
    fputs(tex ? "\\midrule\n" : "| ---", f);
    for (size_t k = from; k < to && !tex; k++) {
        fputs(is_split(q) ? " | --- | ---" : " | ---", f);
    }
    fputs(tex ? "" : " |\n", f);
    for (size_t r = 0; r < rows; r++) {
        int any = 0;
        for (size_t k = from; k < to; k++) {
            any |= cell_at(g, q->transpose, r, k)->known;
        }
        if (!any) {
            continue;
        }
        fputs(tex ? "" : "| ", f);
        put_row_name(f, g, q, r);
        for (size_t k = from; k < to; k++) {
            cell c = *cell_at(g, q->transpose, r, k);
            fputs(between, f);
            if (is_split(q)) {
                cell low = c;
                char a[NUMBER_ROOM], b[NUMBER_ROOM];
                low.low = low.high = NAN;
                put_cell(f, g, q, &low);
                format_number(c.low, q->digits, g->fixed, a);
                format_number(c.high, q->digits, g->fixed, b);
                fprintf(f, tex ? " & $[%s,\\,%s]$" : " | [%s, %s]", a, b);
            } else {
                put_cell(f, g, q, &c);
            }
        }
        fputs(end, f);
    }
    fputs(tex ? "\\bottomrule\n\\end{tabular}\n" : "", f);
}

static void put_csv_text(FILE *f, const char *text)
{
    const int quoted = strpbrk(text, ",\"\r\n") != NULL;
    fputs(quoted ? "\"" : "", f);
    for (; *text != '\0'; text++) {
        if (*text != '\t') {
            fputs(*text == '"' ? "\"\"" : (char[]){*text, '\0'}, f);
        }
    }
    fputs(quoted ? "\"" : "", f);
}

static void put_csv_number(FILE *f, double v)
{
    fputc(',', f);
    if (isfinite(v)) {
        fprintf(f, "%.17g", v);
    }
}

/* One row per cell, with all digits. */
static void put_csv(FILE *f, const grid *g, const ds_grid_choice *q)
{
    static const char *const mark[] = {"worse", "", "better"};
    const int counts = q->stat == DS_GRID_COUNTS;
    fprintf(f,
            counts ? "method,count,environments\n"
                   : "method,environment,runs,%s,low,high,bold,than_reference\n",
            ds_grid_stats[q->stat]);
    for (size_t r = 0; r < g->rows; r++) {
        for (size_t k = 0; k < g->columns; k++) {
            const cell *c = &g->at[r * g->columns + k];
            char name[NAME_ROOM];
            if (!c->known) {
                continue;
            }
            snprintf(name, sizeof name, "%s", g->row[r]);
            name[strcspn(name, "\t")] = '\0';
            put_csv_text(f, name);
            fputc(',', f);
            if (counts && k >= 4) {
                fputs("alone: ", f);
            }
            put_csv_text(f, q->stat == DS_GRID_SCORES ? "all" : g->column[k]);
            if (counts) {
                fprintf(f, ",%.0f\n", c->value);
                continue;
            }
            fprintf(f, ",%zu", c->runs);
            put_csv_number(f, c->value);
            put_csv_number(f, c->low);
            put_csv_number(f, c->high);
            fprintf(f, ",%d,%s\n", c->bold, mark[1 + c->sign]);
        }
    }
}

static void put_all(FILE *f, grid *g, const ds_grid_choice *q)
{
    const size_t columns = q->transpose ? g->rows : g->columns, step = q->columns > 0 ? q->columns : columns;
    const int tex = q->format == DS_GRID_LATEX, floats = tex && q->caption != NULL;
    if (q->format == DS_GRID_CSV) {
        put_csv(f, g, q);
        return;
    }
    if (tex && q->note && q->command != NULL) {
        fprintf(f, "%% %s\n%% needs \\usepackage{booktabs}\n", q->command);
    }
    if (tex && q->note && !floats) {
        fprintf(f, "%% %s\n", g->note);
    }
    if (floats) {
        fputs("\\begin{table}\n\\centering\n\\caption{", f);
        fputs(q->caption, f);
        if (q->note) {
            fputs(q->caption[0] != '\0' ? " " : "", f);
            put_tex_note(f, g->note);
        }
        fputs("}\n", f);
    }
    for (size_t from = 0; from < columns; from += step) {
        fputs(from > 0 ? tex ? "\n\\medskip\n" : "\n" : "", f);
        put_block(f, g, q, from, from + step < columns ? from + step : columns);
    }
    fputs(floats ? "\\end{table}\n" : "", f);
    if (!tex && q->note) {
        fputs("\n", f);
        put_markdown(f, g->note);
        fputs("\n", f);
    }
}

int ds_grid_write(FILE *f, const ds_report *r, const ds_grid_choice *choice, ds_error *e)
{
    ds_grid_choice q = *choice;
    selection s = {NULL, NULL, 0, 0};
    grid g = {0};
    const int counts = q.stat == DS_GRID_COUNTS, scores = q.stat == DS_GRID_SCORES;
    int rc = select_cells(r, &q, &s, e);
    q.transpose = q.transpose && !counts && !scores;
    rc = rc != 0 ? rc : grid_make(&g, s.methods, counts ? 6 : scores ? 1 : s.envs, e);
    rc = rc != 0  ? rc
         : counts ? fill_counts(r, &s, &g)
         : scores ? fill_scores(r, &q, &s, &g)
                  : fill_cells(r, &q, &s, &g, e);
    if (rc == 0) {
        drop_empty(&g);
        put_all(f, &g, &q);
    }
    free(s.method);
    free(s.env);
    grid_free(&g);
    return rc;
}

int ds_grid_write_metrics(FILE *f, const char *path, const ds_grid_choice *choice, ds_error *e)
{
    metrics m = {0};
    grid g = {0};
    size_t methods = 0, envs = 0, *method = NULL, *env = NULL;
    int rc = read_metrics(path, choice, &m, e);
    if (rc == 0) {
        method =
            choose("--methods", choice->methods, (const char *const *)m.opt.name, m.opt.count, &methods, e);
        env = method != NULL
                  ? choose("--envs", choice->envs, (const char *const *)m.env.name, m.env.count, &envs, e)
                  : NULL;
        rc = env == NULL ? e->status : grid_make(&g, methods, envs, e);
    }
    for (size_t k = 0; rc == 0 && k < methods; k++) {
        snprintf(g.row[k], NAME_ROOM, "%s", m.opt.name[method[k]]);
        g.row_code[k] = 1;
        for (size_t i = 0; i < envs; i++) {
            snprintf(g.column[i], NAME_ROOM, "%s", m.env.name[env[i]]);
            for (size_t j = 0; j < m.entries; j++) {
                if (m.entry[j].env == env[i] && m.entry[j].opt == method[k]) {
                    g.at[k * envs + i] = m.entry[j].cell;
                }
            }
        }
    }
    if (rc == 0) {
        snprintf(g.note, sizeof g.note, "%s of %.100s over the best episodes of the runs [%s].",
                 choice->stat == DS_GRID_MEAN ? "Mean" : "Median", choice->metric,
                 choice->stat == DS_GRID_MEAN ? "95 % interval, BCa bootstrap" : "first and third quartile");
        drop_empty(&g);
        put_all(f, &g, choice);
    }
    free(method);
    free(env);
    free(m.entry);
    names_free(&m.env);
    names_free(&m.opt);
    names_free(&m.metric);
    grid_free(&g);
    return rc;
}
