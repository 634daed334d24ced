/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_files.c - the data of a landscape for other programs: grid.csv, samples.csv, landscape.npz. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/printer.h"
#include "landscape/landscape_internal.h"
#include "results/export.h"
#include "results/npy_names.h"

static void number(ds_printer *p, double v)
{
    if (isfinite(v)) {
        ds_print(p, ",%.17g", v);
    } else {
        ds_print(p, ",");
    }
}

static const char *outcome_name(uint32_t outcome)
{
    return outcome == DS_POINT_OUTSIDE ? "outside" : ds_outcome_name(outcome);
}

/* Is the name that of another column? */
static int is_taken(const char *name)
{
    static const char *const others[] = {"i", "j", "loss", "outcome", "norm", "point", "step"};
    int taken = strncmp(name, "g.", 2) == 0 || strncmp(name, "d.", 2) == 0 || strncmp(name, "x.", 2) == 0;
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
        taken |= strcmp(name, others[k]) == 0;
    }
    return taken;
}

/* The heads of one column for each axis: NAME, g.NAME, d.NAME of a variable that has a name, as `export`
 * writes them; c0, g0, d0 of any other axis. */
static void put_heads(ds_printer *p, const ds_landscape *l, char what)
{
    const ds_slice *s = &l->slice;
    for (int a = 0; a < s->dims; a++) {
        const ds_named_variable *v = s->kind[a] == DS_AXIS_VARIABLE ? l->session.env->variables : NULL;
        const char *name = v != NULL ? v[s->variable[a]].name : "";
        if (name[0] == '\0') {
            ds_print(p, ",%c%d", what, a);
        } else if (what != 'c') {
            ds_print(p, ",%c.%s", what, name);
        } else {
            ds_print(p, is_taken(name) ? ",x.%s" : ",%s", name);
        }
    }
}

static int write_grid(const ds_landscape *l, const char *path, ds_error *e)
{
    const ds_slice *s = &l->slice;
    ds_printer *p = NULL;
    int rc = ds_printer_open(path, &p, e);
    if (rc != 0) {
        return rc;
    }
    ds_print(p, s->dims > 1 ? "i,j" : "i");
    put_heads(p, l, 'c');
    ds_print(p, ",loss,outcome");
    if (l->want_gradient) {
        put_heads(p, l, 'g');
        ds_print(p, ",norm");
    }
    ds_print(p, "\n");
    for (uint64_t k = 0; k < ds_slice_points(s); k++) {
        const ds_slice_value *r = &l->grid[k];
        double c[DS_SLICE_DIMS];
        ds_slice_grid(s, k, c);
        ds_print(p, "%llu", (unsigned long long)(k % s->count[0]));
        if (s->dims > 1) {
            ds_print(p, ",%llu", (unsigned long long)(k / s->count[0]));
        }
        for (int a = 0; a < s->dims; a++) {
            number(p, c[a]);
        }
        number(p, r->loss);
        ds_print(p, ",%s", outcome_name(r->outcome));
        for (int a = 0; a < s->dims && l->want_gradient; a++) {
            number(p, r->grad[a]);
        }
        if (l->want_gradient) {
            number(p, r->norm);
        }
        ds_print(p, "\n");
    }
    return ds_printer_close(p, 0, e);
}

/* One row per sample and step: the derivatives of the gradient and of the difference, per unit of the axis.
 */
static int write_samples(const ds_landscape *l, const char *path, ds_error *e)
{
    const ds_slice *s = &l->slice;
    const ds_samples *m = &l->samples;
    ds_printer *p = NULL;
    int rc = ds_printer_open(path, &p, e);
    if (rc != 0) {
        return rc;
    }
    ds_print(p, "point,step");
    put_heads(p, l, 'c');
    put_heads(p, l, 'g');
    put_heads(p, l, 'd');
    ds_print(p, "\n");
    for (uint64_t k = 0; k < m->count * (uint64_t)m->steps; k++) {
        uint64_t at = k / (uint64_t)m->steps;
        double c[DS_SLICE_DIMS];
        ds_slice_grid(s, l->sample_point[at], c);
        ds_print(p, "%llu", (unsigned long long)l->sample_point[at]);
        number(p, m->step[k % (uint64_t)m->steps]);
        for (int a = 0; a < s->dims; a++) {
            number(p, c[a]);
        }
        for (int a = 0; a < s->dims; a++) {
            number(p, m->g[2 * at + (uint64_t)a] / (s->high[a] - s->low[a]));
        }
        for (int a = 0; a < s->dims; a++) {
            number(p, m->d[2 * k + (uint64_t)a] / (s->high[a] - s->low[a]));
        }
        ds_print(p, "\n");
    }
    return ds_printer_close(p, 0, e);
}

/* Arrays loss, g0, g1, norm (rows are the second axis), the coordinates c0 and c1, the point `center`,
 * and the names of its variables. */
static int write_arrays(const ds_landscape *l, const char *path, ds_error *e)
{
    static const char *const names[] = {"loss", "g0", "g1", "norm"};
    const ds_slice *s = &l->slice;
    uint64_t points = ds_slice_points(s);
    uint64_t shape[2] = {s->dims > 1 ? s->count[1] : s->count[0], s->count[0]};
    ds_field f;
    ds_npz *z = NULL;
    double *v = ds_landscape_field(l, &f);
    double *c = malloc((s->count[0] > s->count[1] ? s->count[0] : s->count[1]) * sizeof *c);
    int rc = v == NULL || c == NULL ? ds_fail(e, DS_EXIT_MEMORY, "out of memory") : ds_npz_open(&z, path, e);
    for (uint64_t k = 0; k < 4 && rc == 0; k++) {
        if (k == 0 || (l->want_gradient && (k != 2 || s->dims > 1))) {
            rc = ds_npz_add(z, names[k], DS_NPY_F8, (uint32_t)s->dims, shape, v + k * points, e);
        }
    }
    for (int a = 0; a < s->dims && rc == 0; a++) {
        for (uint64_t i = 0; i < s->count[a]; i++) {
            double at[DS_SLICE_DIMS];
            ds_slice_grid(s, a == 0 ? i : i * s->count[0], at);
            c[i] = at[a];
        }
        rc = ds_npz_add(z, a == 0 ? "c0" : "c1", DS_NPY_F8, 1, &s->count[a], c, e);
    }
    rc = rc != 0 ? rc : ds_npz_add(z, "center", DS_NPY_F8, 1, &s->n, s->center, e);
    rc = rc != 0 ? rc : ds_npz_add_variables(z, l->session.env->variables, s->n, e);
    if (rc == 0) {
        rc = ds_npz_close(z, e);
    } else {
        ds_npz_abort(z);
    }
    free(v);
    free(c);
    return rc;
}

int ds_landscape_write_files(const ds_landscape *l, ds_error *e)
{
    typedef int writer(const ds_landscape *, const char *, ds_error *);
    static const struct {
        const char *name;
        writer *write;
    } files[] = {{"grid.csv", write_grid}, {"samples.csv", write_samples}, {"landscape.npz", write_arrays}};
    int rc = 0;
    for (size_t k = 0; k < sizeof files / sizeof files[0] && rc == 0; k++) {
        char *path = ds_folder_path(l->session.folder, files[k].name);
        rc = path == NULL ? ds_fail(e, DS_EXIT_MEMORY, "out of memory") : files[k].write(l, path, e);
        free(path);
    }
    return rc;
}
