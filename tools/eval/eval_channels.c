/* SPDX-License-Identifier: Apache-2.0 */
/* eval_channels.c - channel values, image files, and intervals of the variables. */
#include "config.h"

#include "eval/eval.h"

#include "base/file.h"
#include "base/json_text.h"
#include "stats/sample.h"
#include "stats/singular.h"
#include "store/run_folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One evaluation, with the channels from `first` on. */
typedef struct visit {
    ds_channel_values *v;
    const ds_query_layout *queries;
    int rc;
} visit;

static double element(uint32_t type, const void *values, uint64_t i)
{
    return type == DS_TYPE_U8    ? ((const unsigned char *)values)[i]
           : type == DS_TYPE_F32 ? (double)((const float *)values)[i]
                                 : ((const double *)values)[i];
}

static int keep(void *ctx, uint64_t row, const ds_answer *answer, const double *grad, const void *out)
{
    visit *s = ctx;
    (void)row, (void)grad;
    s->v->answer = *answer;
    for (uint32_t k = 0; k < s->queries->count && answer->outcome <= DS_EVAL_BAD_GRAD; k++) {
        const ds_placed_query *a = &s->queries->query[k];
        const void *from = (const double *)out + a->out;
        double *to = malloc(a->elements * sizeof *to);
        if (to == NULL) {
            s->rc = DS_EXIT_MEMORY;
            return 1;
        }
        for (uint64_t i = 0; i < a->elements; i++) {
            to[i] = element(s->v->channels->list[a->channel]->type, from, i);
        }
        s->v->value[a->channel] = to;
    }
    return 0;
}

/* Requests the channels from `first` on, as many as one evaluation allows; *first becomes the next one. */
static int query_some(ds_pool *pool, const double *x, uint64_t n, uint64_t *first, ds_channel_values *v,
                      ds_error *e)
{
    ds_query_layout queries = {0};
    char text[DS_QUERY_TEXT];
    for (; *first < v->channels->count && queries.count < DS_MAX_QUERIES; (*first)++) {
        if (v->channels->list[*first]->ops != 0) { /* 0: an unknown role */
            queries.query[queries.count++] =
                (ds_placed_query){.op = DS_QUERY_VALUE, .channel = (uint32_t)*first};
        }
    }
    if (ds_query_layout_make(&queries, v->channels, n, NULL, text) != 0) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s", text);
    }
    visit s = {v, &queries, 0};
    const ds_pool_request q = {.count = 1, .x = x, .queries = &queries, .first = 1};
    int rc = ds_pool_execute(pool, &q, keep, &s, e);
    return s.rc != 0 ? ds_no_memory(e) : rc;
}

int ds_channel_values_get(ds_pool *pool, const char *id, const double *x, ds_channel_values *out, ds_error *e)
{
    const ds_pool_env *env = ds_pool_env_of(pool);
    *out = (ds_channel_values){.channels = env->channels};
    if (env->channels->count == 0) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "%s has no channels: --channels and --images need the extension " DS_EXT_CHANNELS, id);
    }
    out->value = calloc(env->channels->count, sizeof *out->value);
    if (out->value == NULL) {
        return ds_no_memory(e);
    }
    int rc = 0;
    for (uint64_t first = 0; rc == 0 && first < env->channels->count;) {
        rc = query_some(pool, x, env->info.n, &first, out, e);
    }
    return rc;
}

void ds_channel_values_clear(ds_channel_values *v)
{
    for (uint64_t i = 0; v->value != NULL && i < v->channels->count; i++) {
        free(v->value[i]);
    }
    free(v->value);
    v->value = NULL;
}

/* Statistics of a channel's values for the table. */
typedef struct summary {
    double least, most, length, broken;
} summary;

static summary summarise(const ds_channel *c, const double *value)
{
    summary s = {INFINITY, -INFINITY, 0, 0};
    uint64_t elements = ds_channel_elements(c);
    for (uint64_t i = 0; i < elements; i++) {
        s.least = fmin(s.least, value[i]);
        s.most = fmax(s.most, value[i]);
        s.length = hypot(s.length, value[i]);
        s.broken = fmax(s.broken, fmax(c->lower - value[i], value[i] - c->upper));
    }
    return s;
}

void ds_channel_values_print(const ds_channel_values *v)
{
    printf("\nchannel          role       shape              least         most       length unit\n");
    for (uint64_t i = 0; i < v->channels->count; i++) {
        const ds_channel *c = v->channels->list[i];
        char shape[120] = "1";
        for (uint32_t k = 0, at = 0; k < c->ndim && at < sizeof shape; k++) {
            at += (uint32_t)snprintf(shape + at, sizeof shape - at, "%s%llu", k > 0 ? "x" : "",
                                     (unsigned long long)c->shape[k]);
        }
        printf("%-16s %-10s %-11s ", c->name, ds_channel_role_name(c->role), shape);
        if (v->value[i] == NULL) {
            printf("no values\n");
            continue;
        }
        summary s = summarise(c, v->value[i]);
        printf("%12.6g %12.6g %12.6g %s", s.least, s.most, s.length, c->unit);
        if (c->role == DS_CHANNEL_CONSTRAINT) {
            printf(s.broken > 0 ? " (violated by %.6g)" : " (kept)", s.broken);
        }
        printf("\n");
    }
}

json_t *ds_channel_values_json(const ds_channel_values *v)
{
    json_t *all = json_object();
    for (uint64_t i = 0; i < v->channels->count; i++) {
        const ds_channel *c = v->channels->list[i];
        json_t *shape = json_array();
        for (uint32_t k = 0; k < c->ndim; k++) {
            json_array_append_new(shape, json_integer((json_int_t)c->shape[k]));
        }
        json_t *o = json_pack(
            "{s:s, s:o, s:s, s:o}", "role", ds_channel_role_name(c->role), "shape", shape, "unit", c->unit,
            "values", v->value[i] != NULL ? ds_json_reals(v->value[i], ds_channel_elements(c)) : json_null());
        if (c->role == DS_CHANNEL_CONSTRAINT) {
            json_object_set_new(o, "lower", ds_json_real(c->lower));
            json_object_set_new(o, "upper", ds_json_real(c->upper));
        }
        json_object_set_new(all, c->name, o);
    }
    return all;
}

/* ---- image channels as PNG files, written by libpng ---- */

enum { MOST_PIXELS = 1 << 26 }; /* of an image */

/* Colours of a channel that can be written as an image, else 0. */
static uint32_t colours_of(const ds_channel *c)
{
    const uint64_t colours = c->ndim == 2 ? 1 : c->ndim == 3 ? c->shape[2] : 0;
    const int fits = colours > 0 && c->shape[0] <= MOST_PIXELS && c->shape[1] <= MOST_PIXELS / c->shape[0];
    return c->role == DS_CHANNEL_IMAGE && fits && colours <= 4 ? (uint32_t)colours : 0;
}

#ifdef EVAL_LIBPNG
#include <png.h>

/* Image values are 0 .. 1 as doubles, and 0 .. 255 as bytes. */
static png_bytep quantise(const ds_channel *c, const double *value)
{
    const uint64_t count = ds_channel_elements(c);
    const double scale = c->type == DS_TYPE_U8 ? 1 : 255;
    png_bytep out = malloc(count);
    for (uint64_t i = 0; out != NULL && i < count; i++) {
        const double v = fmin(255, fmax(0, scale * value[i])); /* NaN becomes 0 */
        out[i] = (png_byte)lrint(v);
    }
    return out;
}

static int write_png(const char *path, const ds_channel *c, const double *value, ds_error *e)
{
    static const uint32_t format[] = {0, PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB, PNG_FORMAT_RGBA};
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)c->shape[1],
                       .height = (png_uint_32)c->shape[0],
                       .format = format[colours_of(c)]};
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    png_bytep bytes = quantise(c, value), file = malloc(size);
    int rc = bytes == NULL || file == NULL ? ds_no_memory(e) : 0;
    if (rc == 0 && !png_image_write_to_memory(&image, file, &size, 0, bytes, 0, NULL)) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: %s", path, image.message);
    }
    rc = rc != 0 ? rc : ds_file_write_atomic(path, file, size, e);
    free(bytes);
    free(file);
    return rc;
}
#else
static int write_png(const char *path, const ds_channel *c, const double *value, ds_error *e)
{
    (void)c, (void)value;
    return ds_fail(e, DS_EXIT_USAGE, "%s: cannot write: this dshost was built without libpng", path);
}
#endif

static int write_channel(const ds_channel_values *v, uint64_t i, const char *folder, ds_error *e)
{
    const ds_channel *c = v->channels->list[i];
    char *path = NULL;
    int rc = asprintf(&path, "%s/%s.png", folder, c->name) < 0 ? ds_no_memory(e)
                                                               : write_png(path, c, v->value[i], e);
    free(path);
    return rc;
}

static int is_written(const ds_channel_values *v, uint64_t i)
{
    return v->value[i] != NULL && colours_of(v->channels->list[i]) > 0;
}

int ds_eval_images(const ds_channel_values *v, const char *id, const char *folder, ds_error *e)
{
    uint64_t images = 0;
    for (uint64_t i = 0; i < v->channels->count; i++) {
        images += (uint64_t)is_written(v, i);
    }
    if (images == 0) {
        return v->answer.outcome > DS_EVAL_BAD_GRAD
                   ? 0
                   : ds_fail(e, DS_EXIT_USAGE,
                             "%s has no image channel: --images writes those that dshost help %s lists", id,
                             id);
    }
    int rc = ds_folder_make(folder, e);
    for (uint64_t i = 0; rc == 0 && i < v->channels->count; i++) {
        rc = is_written(v, i) ? write_channel(v, i, folder, e) : 0;
    }
    return rc;
}

/* ---- intervals: residuals and Jacobian ---- */

enum { MOST = 200 };
static const double level = 0.95, least = 1e-8, shown = 0.1;

typedef struct matrix {
    uint64_t m, n;
    double *r;        /* m */
    double *column;   /* n columns of m, each times the width of its variable */
    double *v;        /* n x n, by columns */
    uint64_t product; /* offset of the product in a result */
    int bad;
} matrix;

static int keep_product(void *ctx, uint64_t row, const ds_answer *answer, const double *grad, const void *out)
{
    matrix *j = ctx;
    (void)grad;
    j->bad |= answer->outcome != DS_EVAL_OK;
    memcpy(j->column + row * j->m, (const double *)out + j->product, j->m * sizeof *j->column);
    if (row == 0) {
        memcpy(j->r, out, j->m * sizeof *j->r);
    }
    return 0;
}

/* Finds the channel of residuals with products. */
static int find_channel(const ds_pool_env *env, const char *id, uint32_t *channel, ds_error *e)
{
    for (uint64_t i = 0; i < env->channels->count; i++) {
        const ds_channel *c = env->channels->list[i];
        if (c->role == DS_CHANNEL_RESIDUAL && c->type == DS_TYPE_F64 && (c->ops & DS_CAN(DS_QUERY_JV)) != 0) {
            *channel = (uint32_t)i;
            return 0;
        }
    }
    return ds_fail(e, DS_EXIT_USAGE,
                   "--intervals: %s has no residuals with products J v (see dshost help %s)", id, id);
}

/* J times the widths of the box, by columns. */
static int fill(ds_pool *pool, uint32_t channel, const double *x, matrix *j, ds_error *e)
{
    const ds_pool_env *env = ds_pool_env_of(pool);
    const uint64_t n = j->n;
    char text[DS_QUERY_TEXT];
    ds_query_layout queries = {
        .count = 2,
        .query = {{.op = DS_QUERY_VALUE, .channel = channel}, {.op = DS_QUERY_JV, .channel = channel}}};
    double *point = calloc(n, n * sizeof *point), *in = calloc(n, n * sizeof *in);
    int status = point == NULL || in == NULL ? ds_no_memory(e) : 0;
    if (status == 0 && ds_query_layout_make(&queries, env->channels, n, NULL, text) != 0) {
        status = ds_fail(e, DS_EXIT_PLUGIN, "%s", text);
    }
    for (uint64_t i = 0; status == 0 && i < n; i++) {
        memcpy(point + i * n, x, n * sizeof *x);
        in[i * n + i] = env->upper[i] - env->lower[i];
    }
    if (status == 0) {
        const ds_pool_request q = {.count = n, .x = point, .queries = &queries, .in = in, .first = 1};
        j->product = queries.query[1].out;
        status = ds_pool_execute(pool, &q, keep_product, j, e);
    }
    free(point);
    free(in);
    return status != 0 || !j->bad
               ? status
               : ds_fail(e, DS_EXIT_ENV,
                         "--intervals: no Jacobian at this point: the evaluation or a product failed");
}

/* ---- intervals: singular values ---- */

static double length(const double *v, uint64_t n)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum += v[i] * v[i];
    }
    return sqrt(sum);
}

/* ---- intervals ---- */

/* Number of informative rows: a missing record neither is a residual nor depends on a variable. */
static uint64_t count_rows(const matrix *j)
{
    uint64_t rows = 0;
    for (uint64_t k = 0; k < j->m; k++) {
        int counts = fabs(j->r[k]) > 0;
        for (uint64_t i = 0; !counts && i < j->n; i++) {
            counts = fabs(j->column[i * j->m + k]) > 0;
        }
        rows += (uint64_t)counts;
    }
    return rows;
}

static void conclude(matrix *j, const ds_pool_env *env, ds_intervals *out)
{
    const uint64_t n = j->n;
    double most = 0;
    out->rows = count_rows(j);
    ds_singular_rotate(j->column, j->v, j->m, j->n);
    for (uint64_t k = 0; k < n; k++) {
        most = fmax(most, length(j->column + k * j->m, j->m));
    }
    for (uint64_t k = 0; k < n; k++) {
        const double *v = j->v + k * n, s = length(j->column + k * j->m, j->m);
        const int determined = s > least * most;
        if (!determined) {
            memcpy(out->direction + (k - out->rank) * n, v, n * sizeof *v);
        }
        out->rank += (uint64_t)determined;
        for (uint64_t i = 0; i < n; i++) {
            out->half[i] += determined ? v[i] * v[i] / (s * s) : fabs(v[i]) > 1e-6 ? (double)INFINITY : 0;
        }
    }
    const double freedom = (double)out->rows - (double)out->rank, r = length(j->r, j->m);
    out->sigma = freedom > 0 ? r / sqrt(freedom) : (double)NAN;
    for (uint64_t i = 0; i < n; i++) {
        const double wide = env->upper[i] - env->lower[i];
        out->half[i] = freedom > 0 ? ds_student_quantile(0.5 + level / 2, freedom) * out->sigma * wide *
                                         sqrt(out->half[i])
                                   : (double)INFINITY;
    }
}

int ds_intervals_get(ds_pool *pool, const char *id, const double *x, ds_intervals *out, ds_error *e)
{
    const ds_pool_env *env = ds_pool_env_of(pool);
    uint32_t channel = 0;
    int status = find_channel(env, id, &channel, e);
    if (status != 0) {
        return status;
    }
    matrix j = {.m = ds_channel_elements(env->channels->list[channel]), .n = env->info.n};
    if (j.n > MOST) {
        return ds_fail(e, DS_EXIT_USAGE, "--intervals: %llu variables, but at most %d are possible",
                       (unsigned long long)j.n, MOST);
    }
    *out = (ds_intervals){.n = j.n};
    out->half = calloc(j.n, sizeof *out->half);
    out->direction = calloc(j.n, j.n * sizeof *out->direction);
    j.r = calloc(j.m, sizeof *j.r);
    j.column = calloc(j.m, j.n * sizeof *j.column);
    j.v = calloc(j.n, j.n * sizeof *j.v);
    status = out->half == NULL || out->direction == NULL || j.r == NULL || j.column == NULL || j.v == NULL
                 ? ds_no_memory(e)
                 : fill(pool, channel, x, &j, e);
    if (status == 0) {
        conclude(&j, env, out);
    }
    free(j.r);
    free(j.column);
    free(j.v);
    return status;
}

void ds_intervals_clear(ds_intervals *v)
{
    free(v->half);
    free(v->direction);
    *v = (ds_intervals){.n = 0};
}

/* ---- intervals: output ---- */

/* "not determined: 0.8 inertia.1 - 0.6 inertia.2", its largest parts. */
static void print_direction(const double *v, uint64_t n, const ds_named_variable *variables)
{
    char room[24];
    int parts = 0;
    printf("not determined:");
    for (uint64_t i = 0; i < n; i++) {
        if (fabs(v[i]) >= shown) {
            printf(" %s%.3g %s",
                   v[i] < 0    ? "- "
                   : parts > 0 ? "+ "
                               : "",
                   fabs(v[i]), ds_variable_name(variables, i, room));
            parts++;
        }
    }
    printf("%s (in widths of the box)\n", parts > 0 ? "" : " many variables, each a little");
}

void ds_intervals_print(const ds_intervals *v, const double *x, const ds_named_variable *variables)
{
    printf("\nintervals of %g %%: sigma %.6g of a residual, %llu of them, rank %llu of %llu\n", 100 * level,
           v->sigma, (unsigned long long)v->rows, (unsigned long long)v->rank, (unsigned long long)v->n);
    printf("%-28s %16s %12s %16s %16s\n", "variable", "x", "+-", "from", "to");
    for (uint64_t i = 0; i < v->n; i++) {
        char label[DS_VARIABLE_LABEL];
        if (variables != NULL) {
            ds_variable_label(variables, i, label);
        } else {
            snprintf(label, sizeof label, "x%llu", (unsigned long long)i);
        }
        printf("%-28s %16.9g", label, x[i]);
        if (isfinite(v->half[i])) {
            printf(" %12.4g %16.9g %16.9g\n", v->half[i], x[i] - v->half[i], x[i] + v->half[i]);
        } else {
            printf(" %12s\n", "unknown");
        }
    }
    for (uint64_t k = 0; k < v->n - v->rank; k++) {
        print_direction(v->direction + k * v->n, v->n, variables);
    }
}

json_t *ds_intervals_json(const ds_intervals *v, const double *x)
{
    json_t *directions = json_array(), *low = json_array(), *high = json_array();
    for (uint64_t k = 0; k < v->n - v->rank; k++) {
        json_array_append_new(directions, ds_json_reals(v->direction + k * v->n, v->n));
    }
    for (uint64_t i = 0; i < v->n; i++) {
        json_array_append_new(low, ds_json_real(x[i] - v->half[i]));
        json_array_append_new(high, ds_json_real(x[i] + v->half[i]));
    }
    return json_pack("{s:f, s:o, s:I, s:I, s:o, s:o, s:o, s:o}", "level", level, "sigma",
                     ds_json_real(v->sigma), "residuals", (json_int_t)v->rows, "rank", (json_int_t)v->rank,
                     "half", ds_json_reals(v->half, v->n), "low", low, "high", high, "undetermined",
                     directions);
}
