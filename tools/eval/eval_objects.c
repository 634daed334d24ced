/* SPDX-License-Identifier: Apache-2.0 */
/* eval_objects.c - a data set: the images of an environment at random points, with these points. */
#include "config.h"

#include "eval/eval.h"

#include "base/file.h"
#include "results/npy_write.h"
#include "results/point.h"
#include "store/run_folder.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is written when all points are evaluated. */
typedef struct dataset {
    FILE *table; /* the text of parameters.csv */
    char *text;
    size_t length;
    FILE *images; /* the numbers of the first image channel, object by object */
    const ds_channel *image;
    double *x, *loss; /* [count][n], [count] */
} dataset;

static int open_dataset(dataset *d, const ds_pool_env *env, uint64_t count, ds_error *e)
{
    const uint64_t n = env->info.n;
    *d = (dataset){.x = calloc(count, n * sizeof *d->x), .loss = calloc(count, sizeof *d->loss)};
    d->table = open_memstream(&d->text, &d->length);
    d->images = tmpfile();
    if (d->x == NULL || d->loss == NULL || d->table == NULL) {
        return ds_no_memory(e);
    }
    if (d->images == NULL) {
        return ds_fail(e, DS_EXIT_IO, "--objects: no temporary file for the images: free space in TMPDIR");
    }
    for (uint64_t i = 0; d->image == NULL && i < env->channels->count; i++) {
        d->image = env->channels->list[i]->role == DS_CHANNEL_IMAGE ? env->channels->list[i] : NULL;
    }
    fprintf(d->table, "object,outcome,loss");
    for (uint64_t i = 0; i < n; i++) {
        char label[DS_VARIABLE_LABEL];
        ds_variable_label(env->variables, i, label);
        fprintf(d->table, ",%s", label);
    }
    fprintf(d->table, "\n");
    return 0;
}

static void close_dataset(dataset *d)
{
    if (d->table != NULL) {
        fclose(d->table);
    }
    if (d->images != NULL) {
        fclose(d->images);
    }
    free(d->text);
    free(d->x);
    free(d->loss);
}

/* The values of the first image channel; NULL without a result. */
static const double *image_of(const dataset *d, const ds_channel_values *v)
{
    uint64_t i = 0;
    while (i < v->channels->count && v->channels->list[i] != d->image) {
        i++;
    }
    return i < v->channels->count ? v->value[i] : NULL;
}

static int add_image(const dataset *d, const ds_channel_values *v, ds_error *e)
{
    const uint64_t elements = d->image != NULL ? ds_channel_elements(d->image) : 0;
    const double *image = image_of(d, v);
    int good = 1;
    for (uint64_t i = 0; good && i < elements; i++) {
        const double number = image != NULL ? image[i] : (double)NAN;
        good = fwrite(&number, sizeof number, 1, d->images) == 1;
    }
    return good ? 0 : ds_fail(e, DS_EXIT_IO, "--objects: the temporary file for the images is full");
}

/* Evaluates object k of the set and adds it. */
static int add_object(dataset *d, ds_pool *pool, const ds_objects *q, uint64_t k, ds_error *e)
{
    const ds_pool_env *env = ds_pool_env_of(pool);
    const ds_point_request point = {"--objects", q->id, env};
    double *x = d->x + k * env->info.n;
    ds_channel_values v = {0};
    char spec[40], *folder = NULL;
    snprintf(spec, sizeof spec, "random:%" PRIu64, q->seed + k);
    int rc = ds_point_read(&point, spec, x, e);
    rc = rc != 0 ? rc : ds_channel_values_get(pool, q->id, x, &v, e);
    if (rc == 0 && asprintf(&folder, "%s/%" PRIu64, q->folder, q->seed + k) < 0) {
        folder = NULL;
        rc = ds_no_memory(e);
    }
    rc = rc != 0 ? rc : ds_eval_images(&v, q->id, folder, e);
    rc = rc != 0 ? rc : add_image(d, &v, e);
    if (rc == 0) {
        d->loss[k] = v.answer.outcome <= DS_EVAL_BAD_GRAD ? v.answer.loss : HUGE_VAL;
        fprintf(d->table, "%" PRIu64 ",%s,%.17g", q->seed + k, ds_outcome_name(v.answer.outcome), d->loss[k]);
        for (uint64_t i = 0; i < env->info.n; i++) {
            fprintf(d->table, ",%.17g", x[i]);
        }
        fprintf(d->table, "\n");
    }
    free(folder);
    ds_channel_values_clear(&v);
    return rc;
}

static int write_arrays(const dataset *d, const ds_pool_env *env, uint64_t count, const char *path,
                        ds_error *e)
{
    const uint64_t by_variable[2] = {count, env->info.n};
    uint64_t by_pixel[1 + sizeof d->image->shape / sizeof *d->image->shape] = {count};
    ds_npz *z = NULL;
    int rc = ds_npz_open(&z, path, e);
    rc = rc != 0 ? rc : ds_npz_add(z, "x", DS_NPY_F8, 2, by_variable, d->x, e);
    rc = rc != 0 ? rc : ds_npz_add(z, "loss", DS_NPY_F8, 1, &count, d->loss, e);
    if (rc == 0 && d->image != NULL) {
        memcpy(by_pixel + 1, d->image->shape, d->image->ndim * sizeof *by_pixel);
        rc = ds_npz_add_file(z, d->image->name, DS_NPY_F8, 1 + d->image->ndim, by_pixel, d->images, e);
    }
    rc = rc != 0 ? rc : ds_npz_add_variables(z, env->variables, env->info.n, e);
    if (rc != 0) {
        ds_npz_abort(z);
        return rc;
    }
    return ds_npz_close(z, e);
}

int ds_eval_objects(ds_pool *pool, const ds_objects *q, ds_error *e)
{
    const ds_pool_env *env = ds_pool_env_of(pool);
    dataset d;
    char *table = NULL, *arrays = NULL;
    int rc = open_dataset(&d, env, q->count, e);
    for (uint64_t k = 0; rc == 0 && k < q->count; k++) {
        rc = add_object(&d, pool, q, k, e);
    }
    if (rc == 0 && (fflush(d.table) != 0 || asprintf(&table, "%s/parameters.csv", q->folder) < 0 ||
                    asprintf(&arrays, "%s/objects.npz", q->folder) < 0)) {
        rc = ds_no_memory(e);
    }
    rc = rc != 0 ? rc : ds_folder_make(q->folder, e);
    rc = rc != 0 ? rc : ds_file_write_atomic(table, d.text, d.length, e);
    rc = rc != 0 ? rc : write_arrays(&d, env, q->count, arrays, e);
    free(table);
    free(arrays);
    close_dataset(&d);
    return rc;
}
