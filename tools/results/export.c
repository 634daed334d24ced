/* SPDX-License-Identifier: Apache-2.0 */
/* export.c - opens runs for export, writes their evaluations as tables, and removes an earlier export (see
 * export.h). */
#include "config.h"

#include "results/export.h"

#include "base/file.h"
#include "base/json_text.h"
#include "results/npy_write.h"
#include "results/printer.h"
#include "results/results.h"
#include "store/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- runs ---- */

static int read_texts(ds_export_run *r, ds_error *e)
{
    const struct {
        const char *key;
        char **to;
    } fact[] = {{"env", &r->env},
                {"opt", &r->opt},
                {"env_version", &r->env_version},
                {"opt_version", &r->opt_version}};
    int rc = 0;
    for (size_t i = 0; i < sizeof(fact) / sizeof(fact[0]) && rc == 0; i++) {
        rc = ds_store_get(r->store, fact[i].key, fact[i].to, e);
        if (rc == 0 && *fact[i].to == NULL) {
            rc = ds_fail(e, DS_EXIT_IO, "%s: damaged: '%s' is missing", ds_store_path(r->store), fact[i].key);
        }
    }
    return rc;
}

static int read_seed(ds_export_run *r, ds_error *e)
{
    ds_settings s = {0};
    int rc = ds_store_get_settings(r->store, &s, e);
    const ds_setting *seed = ds_settings_find(&s, DS_SECTION_RUN, "seed");
    if (rc == 0 && seed != NULL) {
        r->seed = strtoull(seed->value, NULL, 10);
    }
    ds_settings_clear(&s);
    return rc;
}

/* The store of a landscape has coordinates, not variables. */
static int read_names(ds_export_run *r, ds_error *e)
{
    uint64_t count = 0;
    int rc = ds_store_get_variables(r->store, &r->variables, &count, e);
    return rc != 0 || r->variables == NULL || count == r->n
               ? rc
               : ds_fail(e, DS_EXIT_IO, "%s: damaged: the names of its variables", ds_store_path(r->store));
}

void ds_export_plain(ds_export_run *r)
{
    free(r->variables);
    r->variables = NULL;
}

/* Takes the new names of a report. */
static int note_scalars(void *ctx, uint64_t id, const ds_row_progress *p)
{
    ds_export_run *r = ctx;
    (void)id;
    char name[DS_MAX_NAME + 1];
    for (const char *at = p->names; (at = ds_progress_name(at, name)) != NULL;) {
        size_t k = 0;
        while (k < r->scalars && strcmp(r->scalar[k], name) != 0) {
            k++;
        }
        if (k == r->scalars) {
            void *grown = realloc(r->scalar, (k + 1) * sizeof *r->scalar);
            if (grown == NULL) {
                return DS_EXIT_MEMORY;
            }
            r->scalar = grown;
            memcpy(r->scalar[r->scalars++], name, sizeof name);
        }
    }
    return 0;
}

/* One pass over all evaluations. */
static int survey(ds_export_run *r, ds_error *e)
{
    ds_cursor *c = NULL;
    ds_row row;
    int step = 0;
    int rc = ds_cursor_open(r->store, 1, &c, e);
    r->best = (double)INFINITY;
    while (rc == 0 && (step = ds_cursor_next(c, &row, e)) == 1) {
        r->gradients |= row.grad != NULL;
        r->count++;
        if (row.answer.loss < r->best) {
            r->best = row.answer.loss;
            r->best_id = row.id;
        }
    }
    ds_cursor_close(c);
    rc = rc != 0 || step < 0 ? rc : ds_store_scan_progress(r->store, note_scalars, r, e);
    return rc == DS_EXIT_MEMORY ? ds_no_memory(e) : rc != 0 ? rc : step < 0 ? e->status : 0;
}

void ds_export_sleep(ds_export_run *r)
{
    ds_store_close(r->store, NULL);
    r->store = NULL;
}

int ds_export_wake(ds_export_run *r, ds_error *e)
{
    return r->store != NULL ? 0 : ds_result_store(r->folder, &r->store, e);
}

int ds_export_open(const char *folder, ds_export_run *out, ds_error *e)
{
    int is_run = ds_folder_has_run(folder);
    char *path = ds_folder_path(folder, is_run ? "run.sqlite" : "landscape.sqlite");
    memset(out, 0, sizeof(*out));
    out->folder = strdup(folder);
    int rc = 0;
    if (path == NULL || out->folder == NULL) {
        rc = ds_no_memory(e);
    } else if (!is_run && !ds_folder_has_landscape(folder)) {
        rc = ds_fail(e, DS_EXIT_IO, "%s holds no run (there is no run.sqlite)", folder);
    }
    rc = rc != 0 ? rc : ds_store_open(path, DS_STORE_READ, &out->store, e);
    rc = rc != 0 ? rc : ds_store_verify(out->store, e);
    rc = rc != 0 ? rc : read_texts(out, e);
    rc = rc != 0 ? rc : read_seed(out, e);
    if (rc == 0) {
        out->n = ds_store_n(out->store);
        rc = is_run ? read_names(out, e) : 0;
        rc = rc != 0 ? rc : survey(out, e);
    }
    free(path);
    if (rc != 0) {
        ds_export_close(out);
    }
    return rc;
}

void ds_export_close(ds_export_run *r)
{
    ds_store_close(r->store, NULL);
    free(r->variables);
    free(r->scalar);
    free(r->folder);
    free(r->env);
    free(r->opt);
    free(r->env_version);
    free(r->opt_version);
    memset(r, 0, sizeof(*r));
}

/* ---- one row per evaluation: CSV, JSON lines, NumPy arrays ---- */

/* The columns of all formats in order; x and the gradient follow. */
typedef struct column {
    const char *name;
    /* n count, i whole number, r real, b best loss so far, a seconds, o outcome, g gradient, t text */
    char kind;
    size_t offset; /* offset in ds_row */
} column;

static const column columns[] = {{"id", 'n', offsetof(ds_row, id)},
                                 {"loss", 'r', offsetof(ds_row, answer.loss)},
                                 {"best_loss", 'b', 0},
                                 {"outcome", 'o', offsetof(ds_row, answer.outcome)},
                                 {"gradient_kind", 'g', offsetof(ds_row, answer.grad_kind)},
                                 {"tag", 't', offsetof(ds_row, tag)},
                                 {"group", 'n', offsetof(ds_row, group)},
                                 {"cost_steps", 'n', offsetof(ds_row, answer.cost_steps)},
                                 {"bad_step", 'i', offsetof(ds_row, answer.bad_step)},
                                 {"message", 't', offsetof(ds_row, answer.message)},
                                 {"wall_s", 'r', offsetof(ds_row, answer.wall_s)},
                                 {"at", 'a', offsetof(ds_row, at)}};
enum {
    COLUMNS = sizeof columns / sizeof *columns,
    TIMES = 2 /* number of columns of times, which are last */
};

typedef void row_visitor(void *ctx, const ds_export_run *r, const ds_row *row, double best);

/* Visits all rows, with the best loss so far. */
static int for_rows(ds_export_run *r, row_visitor *visit, void *ctx, ds_error *e)
{
    ds_cursor *c = NULL;
    ds_row row;
    double best = (double)INFINITY;
    int step = 0;
    int rc = ds_cursor_open(r->store, 1, &c, e);
    while (rc == 0 && (step = ds_cursor_next(c, &row, e)) == 1) {
        best = row.answer.loss < best ? row.answer.loss : best;
        visit(ctx, r, &row, best);
    }
    ds_cursor_close(c);
    return rc != 0 ? rc : step < 0 ? e->status : 0;
}

/* ---- texts: CSV (RFC 4180; empty = no value) and JSON lines ---- */

typedef struct printing {
    ds_printer *p;
    int json, columns;
} printing;

static void put_real(const printing *o, double v)
{
    if (isfinite(v)) {
        ds_print(o->p, "%.17g", v);
    } else {
        ds_print_text(o->p, o->json ? "null" : "");
    }
}

static void csv_text(ds_printer *p, const char *text)
{
    const int quoted = text[strcspn(text, ",\"\r\n")] != '\0';
    ds_print_text(p, quoted ? "\"" : "");
    for (; *text != '\0'; text++) {
        ds_print(p, *text == '"' ? "\"\"" : "%c", *text);
    }
    ds_print_text(p, quoted ? "\"" : "");
}

/* Recorded texts are printable ASCII. */
static void json_text(ds_printer *p, const char *text)
{
    if (text[0] == '\0') {
        ds_print_text(p, "null");
        return;
    }
    ds_print_text(p, "\"");
    for (; *text != '\0'; text++) {
        const int escaped = *text == '"' || *text == '\\';
        ds_print(p, escaped ? "\\%c" : "%c", *text >= ' ' && *text <= '~' ? *text : '?');
    }
    ds_print_text(p, "\"");
}

static void put_value(const printing *o, const column *k, const ds_row *row, double best)
{
    const char *at = (const char *)row + k->offset;
    switch (k->kind) {
    case 'n':
        ds_print(o->p, "%llu", (unsigned long long)*(const uint64_t *)(const void *)at);
        break;
    case 'i':
        ds_print(o->p, "%lld", (long long)*(const int64_t *)(const void *)at);
        break;
    case 'a':
        ds_print(o->p, "%.6f", row->at);
        break;
    case 't':
        (o->json ? json_text : csv_text)(o->p, at);
        break;
    case 'o':
    case 'g':
        ds_print(o->p, o->json ? "\"%s\"" : "%s",
                 k->kind == 'o' ? ds_outcome_name(row->answer.outcome)
                                : ds_gradient_name(row->answer.grad_kind));
        break;
    default:
        put_real(o, k->kind == 'b' ? best : *(const double *)(const void *)at);
    }
}

/* Numbers separated by commas; CSV also has one before them. */
static void put_reals(const printing *o, const double *v, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        ds_print_text(o->p, i > 0 || !o->json ? "," : "");
        put_real(o, v != NULL ? v[i] : (double)NAN);
    }
}

/* What was reported before the row under a name; NaN = nothing. */
static double scalar_of(const ds_row *row, const char *wanted)
{
    char name[DS_MAX_NAME + 1];
    const double *value = row->progress != NULL ? row->progress->value : NULL;
    for (const char *at = value != NULL ? row->progress->names : NULL;
         at != NULL && (at = ds_progress_name(at, name)) != NULL; value++) {
        if (strcmp(name, wanted) == 0) {
            return *value;
        }
    }
    return (double)NAN;
}

/* Behind the other columns: what the optimizer reported. */
static void put_progress(const printing *o, const ds_export_run *r, const ds_row *row)
{
    char name[DS_MAX_NAME + 1];
    const ds_row_progress *p = row->progress;
    for (size_t k = 0; !o->json && k < r->scalars; k++) {
        ds_print_text(o->p, ",");
        put_real(o, scalar_of(row, r->scalar[k]));
    }
    if (!o->json || p == NULL) {
        return;
    }
    ds_print_text(o->p, ",\"progress\":{");
    const char *at = p->names;
    for (uint64_t k = 0; k < p->count && (at = ds_progress_name(at, name)) != NULL; k++) {
        ds_print(o->p, k > 0 ? ",\"%s\":" : "\"%s\":", name);
        put_real(o, p->value[k]);
    }
    ds_print_text(o->p, "}");
    if (p->x != NULL) {
        ds_print_text(o->p, ",\"recommended\":[");
        put_reals(o, p->x, r->n);
        ds_print_text(o->p, "]");
    }
}

static void put_row(void *ctx, const ds_export_run *r, const ds_row *row, double best)
{
    const printing *o = ctx;
    for (int k = 0; k < o->columns; k++) {
        if (o->json) {
            ds_print(o->p, "%s\"%s\":", k > 0 ? "," : "{", columns[k].name);
        } else {
            ds_print_text(o->p, k > 0 ? "," : "");
        }
        put_value(o, &columns[k], row, best);
    }
    ds_print_text(o->p, o->json ? ",\"x\":[" : "");
    put_reals(o, row->x, r->n);
    if (o->json) {
        ds_print_text(o->p, row->grad != NULL ? "],\"gradient\":[" : "],\"gradient\":null");
    }
    if (o->json ? row->grad != NULL : r->gradients) {
        put_reals(o, row->grad, r->n);
        ds_print_text(o->p, o->json ? "]" : "");
    }
    put_progress(o, r, row);
    ds_print_text(o->p, o->json ? "}\n" : "\n");
}

/* Is it the name of a column, or could it be one of the gradient's, or of a report? */
static int is_taken(const char *name)
{
    int taken =
        strncmp(name, "g.", 2) == 0 || strncmp(name, "x.", 2) == 0 || strncmp(name, "progress.", 9) == 0;
    for (int k = 0; k < COLUMNS; k++) {
        taken |= strcmp(name, columns[k].name) == 0;
    }
    return taken;
}

/* The headers of the columns of x, or of the gradient. */
static void put_names(const printing *o, const ds_export_run *r, char what)
{
    for (uint64_t i = 0; i < r->n; i++) {
        if (r->variables == NULL) {
            ds_print(o->p, ",%c%llu", what, (unsigned long long)i);
        } else {
            const char *name = r->variables[i].name;
            ds_print(o->p, what == 'g' ? ",g.%s" : is_taken(name) ? ",x.%s" : ",%s", name);
        }
    }
}

static int print_rows(ds_export_run *r, const char *path, int json, int times, ds_error *e)
{
    printing o = {NULL, json, times ? COLUMNS : COLUMNS - TIMES};
    int rc = ds_printer_open(path, &o.p, e);
    if (rc != 0) {
        return rc;
    }
    for (int k = 0; !json && k < o.columns; k++) {
        ds_print(o.p, k > 0 ? ",%s" : "%s", columns[k].name);
    }
    if (!json) {
        put_names(&o, r, 'x');
    }
    if (!json && r->gradients) {
        put_names(&o, r, 'g');
    }
    for (size_t k = 0; !json && k < r->scalars; k++) {
        ds_print(o.p, ",progress.%s", r->scalar[k]);
    }
    ds_print_text(o.p, json ? "" : "\n");
    return ds_printer_close(o.p, for_rows(r, put_row, &o, e), e);
}

int ds_export_csv(ds_export_run *r, const char *path, int times, ds_error *e)
{
    return print_rows(r, path, 0, times, e);
}

int ds_export_jsonl(ds_export_run *r, const char *path, int times, ds_error *e)
{
    return print_rows(r, path, 1, times, e);
}

/* ---- NumPy ---- */

/* The arrays: columns, x, gradient, and what the optimizer recommended and reported. */
enum { X = COLUMNS, GRADIENT, RECOMMENDED, RECOMMENDED_ID, SCALARS };

/* Each array goes to a temporary file first, so that one pass over a record of any length needs little
 * memory. */
typedef struct arrays {
    FILE **file; /* SCALARS of them, and one per reported scalar */
    int count;
    uint64_t rows, recommended;
    int full; /* a file could not be written */
} arrays;

/* The type of a column, or -1 if it has no array: messages would fill most of the file. */
static int type_of(const column *k)
{
    return k == columns                         ? -1
           : k->offset == offsetof(ds_row, tag) ? DS_NPY_TAG
           : k->kind == 't'                     ? -1
           : k->kind == 'n'                     ? DS_NPY_U8
           : k->kind == 'i'                     ? DS_NPY_I8
           : k->kind == 'o' || k->kind == 'g'   ? DS_NPY_I4
                                                : DS_NPY_F8;
}

/* Bytes per element. */
static size_t size_of(const column *k)
{
    const int type = type_of(k);
    return type == DS_NPY_I4 ? 4 : type == DS_NPY_TAG ? 4 * DS_NPY_TAG_CHARACTERS : 8;
}

/* Recorded texts are printable ASCII. */
static void keep_tag(const char *tag, uint32_t out[DS_NPY_TAG_CHARACTERS])
{
    for (size_t i = 0; i < DS_NPY_TAG_CHARACTERS; i++) {
        out[i] = *tag != '\0' ? (unsigned char)*tag++ : 0;
    }
}

static void keep(arrays *a, int k, const void *data, size_t bytes)
{
    a->full |= fwrite(data, 1, bytes, a->file[k]) != bytes;
}

static void keep_row(void *ctx, const ds_export_run *r, const ds_row *row, double best)
{
    arrays *a = ctx;
    if (a->rows == r->count) { /* another process continues the run */
        return;
    }
    for (int k = 0; k < COLUMNS; k++) {
        uint32_t tag[DS_NPY_TAG_CHARACTERS];
        const int type = type_of(&columns[k]);
        if (type == DS_NPY_TAG) {
            keep_tag(row->tag, tag);
            keep(a, k, tag, sizeof tag);
        } else if (type >= 0) {
            keep(a, k, columns[k].kind == 'b' ? (const char *)&best : (const char *)row + columns[k].offset,
                 size_of(&columns[k]));
        }
    }
    keep(a, X, row->x, r->n * sizeof(double));
    if (r->gradients && row->grad != NULL) {
        keep(a, GRADIENT, row->grad, r->n * sizeof(double));
    }
    for (uint64_t i = 0; i < r->n && r->gradients && row->grad == NULL; i++) {
        keep(a, GRADIENT, &(const double){NAN}, sizeof(double));
    }
    for (size_t k = 0; k < r->scalars; k++) {
        const double value = scalar_of(row, r->scalar[k]);
        keep(a, SCALARS + (int)k, &value, sizeof value);
    }
    if (row->progress != NULL && row->progress->x != NULL) {
        keep(a, RECOMMENDED, row->progress->x, r->n * sizeof(double));
        keep(a, RECOMMENDED_ID, &row->id, sizeof row->id);
        a->recommended++;
    }
    a->rows++;
}

static int add_arrays(ds_npz *z, const ds_export_run *r, const arrays *a, int times, ds_error *e)
{
    const uint64_t shape[2] = {a->rows, r->n};
    int rc = ds_npz_add_file(z, "x", DS_NPY_F8, 2, shape, a->file[X], e);
    for (int k = 0; k < (times ? COLUMNS : COLUMNS - TIMES) && rc == 0; k++) {
        const int type = type_of(&columns[k]);
        rc = type >= 0 ? ds_npz_add_file(z, columns[k].name, type, 1, shape, a->file[k], e) : 0;
        if (rc == 0 && columns[k].kind == 'b' && r->gradients) {
            rc = ds_npz_add_file(z, "gradient", DS_NPY_F8, 2, shape, a->file[GRADIENT], e);
        }
    }
    for (size_t k = 0; k < r->scalars && rc == 0; k++) {
        char name[DS_MAX_NAME + 16];
        snprintf(name, sizeof name, "progress.%s", r->scalar[k]);
        rc = ds_npz_add_file(z, name, DS_NPY_F8, 1, shape, a->file[SCALARS + k], e);
    }
    if (rc == 0 && a->recommended > 0) {
        const uint64_t points[2] = {a->recommended, r->n};
        rc = ds_npz_add_file(z, "recommended", DS_NPY_F8, 2, points, a->file[RECOMMENDED], e);
        rc = rc != 0 ? rc
                     : ds_npz_add_file(z, "recommended_id", DS_NPY_U8, 1, points, a->file[RECOMMENDED_ID], e);
    }
    return rc != 0 ? rc : ds_npz_add_variables(z, r->variables, r->n, e);
}

/* A file without a name in the folder of `path`, because /tmp may be in memory. */
static FILE *open_nameless(const char *path)
{
    char *name = NULL;
    const char *slash = strrchr(path, '/');
    if (asprintf(&name, "%.*s.export-XXXXXX", slash != NULL ? (int)(slash + 1 - path) : 0, path) < 0) {
        return NULL;
    }
    const int fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0) {
        unlink(name);
    }
    free(name);
    return fd >= 0 ? fdopen(fd, "w+b") : NULL;
}

int ds_export_npz(ds_export_run *r, const char *path, int times, ds_error *e)
{
    arrays a = {.count = SCALARS + (int)r->scalars};
    ds_npz *z = NULL;
    a.file = calloc((size_t)a.count, sizeof(FILE *));
    int rc = a.file == NULL ? ds_no_memory(e) : 0;
    for (int k = 0; k < a.count && rc == 0; k++) {
        a.file[k] = open_nameless(path);
        rc = a.file[k] == NULL ? ds_fail(e, DS_EXIT_IO, "%s: cannot create a temporary file next to it: %s",
                                         path, strerror(errno))
                               : 0;
    }
    rc = rc != 0 ? rc : for_rows(r, keep_row, &a, e);
    for (int k = 0; k < a.count && rc == 0; k++) {
        a.full |= fflush(a.file[k]) != 0;
    }
    rc = rc == 0 && a.full ? ds_file_write_failed(path, errno, e) : rc;
    rc = rc != 0 ? rc : ds_npz_open(&z, path, e);
    rc = rc != 0 ? rc : add_arrays(z, r, &a, times, e);
    if (z != NULL && rc == 0) {
        rc = ds_npz_close(z, e);
    } else {
        ds_npz_abort(z);
    }
    for (int k = 0; a.file != NULL && k < a.count; k++) {
        if (a.file[k] != NULL) {
            fclose(a.file[k]);
        }
    }
    free(a.file);
    return rc;
}

/* ---- removing an earlier export ---- */

/* Is it a name that an export gives to a file, at most two folders deep? The note may have been written by
 * anyone. */
static int is_ours(const char *name)
{
    if (name == NULL || name[0] == '/' || name[0] == '\0' || strstr(name, "//") != NULL) {
        return 0;
    }
    for (const char *part = name; part != NULL; part = strchr(part, '/')) {
        part += part[0] == '/';
        if (strcmp(part, ".") == 0 || strcmp(part, "..") == 0 || strncmp(part, "./", 2) == 0 ||
            strncmp(part, "../", 3) == 0) {
            return 0;
        }
    }
    const char *slash = strrchr(name, '/'), *file = slash != NULL ? slash + 1 : name;
    return strncmp(file, "IOHprofiler_f", 13) == 0 || strncmp(file, "bbobexp_f", 9) == 0;
}

/* Does the file exist in real folders, without links? Temporarily cuts `path` at each slash after `length`.
 */
static int is_there(char *path, size_t length)
{
    struct stat s;
    for (char *slash = strchr(path + length + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const int folder = lstat(path, &s) == 0 && S_ISDIR(s.st_mode);
        *slash = '/';
        if (!folder) {
            return 0;
        }
    }
    return lstat(path, &s) == 0 && S_ISREG(s.st_mode);
}

/* Removes a file, and the folders up to `folder` that it leaves empty; `folder` stays. */
static int remove_file(const char *folder, const char *name, ds_error *e)
{
    const size_t length = strlen(folder);
    char *path = ds_folder_path(folder, name);
    int rc = path == NULL ? ds_no_memory(e) : 0;
    if (rc == 0 && is_there(path, length) && unlink(path) != 0) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: cannot be removed for a new export: %s", path, strerror(errno));
    }
    for (char *end; rc == 0 && (end = strrchr(path, '/')) > path + length;) {
        *end = '\0';
        if (rmdir(path) != 0) {
            break;
        }
    }
    free(path);
    return rc;
}

int ds_export_remove_earlier(const char *folder, ds_error *e)
{
    char *note = NULL;
    if (asprintf(&note, "%s.json", folder) < 0) {
        return ds_no_memory(e);
    }
    const int there = access(note, F_OK) == 0;
    json_t *o = there ? ds_json_read_file(note) : NULL;
    const json_t *files = json_object_get(o, "files");
    int rc = 0;
    if (there && !json_is_array(files)) {
        rc = ds_fail(e, DS_EXIT_USAGE,
                     "export: %.250s exists and lists no files of an earlier export: remove it (and %.250s, "
                     "if that is one), or name another folder with --out",
                     note, folder);
    }
    for (size_t i = 0; rc == 0 && i < json_array_size(files); i++) {
        const char *name = json_string_value(json_array_get(files, i));
        rc = is_ours(name) ? remove_file(folder, name, e) : 0;
    }
    json_decref(o);
    free(note);
    return rc;
}
