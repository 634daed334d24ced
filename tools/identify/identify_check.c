/* SPDX-License-Identifier: Apache-2.0 */
/* identify_check.c - what is suspicious about recordings, one line each, before the search: gaps, constant
 * and saturated columns, outliers, little motion; and compared with simulations: units, swapped columns,
 * shifted time. */
#include "config.h"

#include "identify/identify.h"

#include <diffsim/helper/random.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIMULATIONS = 9 };

/* ---- one column ---- */

static int look(ds_identify_case *c, const ds_identify_recording *r, const char *name, const double *v,
                uint64_t rows, uint64_t stride, ds_error *e)
{
    const ds_recorded_facts f = ds_recorded_look(v, rows, stride);
    int rc = 0;
    if (f.count == 0) {
        return ds_identify_warn(c, e,
                                "%s: column %s has no values in the first %llu rows: name another column",
                                r->name, name, (unsigned long long)rows);
    }
    if (f.missing > 0) {
        rc = ds_identify_warn(c, e, "%s: column %s: %llu of %llu values are missing, at most %llu in a row",
                              r->name, name, (unsigned long long)f.missing, (unsigned long long)rows,
                              (unsigned long long)f.longest_gap);
    }
    if (rc == 0 && f.constant) {
        return ds_identify_warn(
            c, e,
            "%s: column %s is constant (%.6g): it tells nothing about the motion; is it the "
            "right column?",
            r->name, name, f.mean);
    }
    if (rc == 0 && f.saturated > 8 && f.saturated > rows / 20) {
        rc = ds_identify_warn(
            c, e,
            "%s: column %s stays at its extreme value (%.6g or %.6g) for %llu samples: is the sensor "
            "saturated?",
            r->name, name, f.least, f.most, (unsigned long long)f.saturated);
    }
    if (rc == 0 && f.outliers > 0) {
        rc = ds_identify_warn(
            c, e,
            "%s: column %s: %llu outliers, the first in row %llu: leave such values empty, or cut "
            "the recording",
            r->name, name, (unsigned long long)f.outliers, (unsigned long long)f.first_outlier + 1);
    }
    if (rc == 0 && f.noise > 0 && f.deviation < 3 * f.noise) {
        rc = ds_identify_warn(
            c, e,
            "%s: column %s: the motion (deviation %.3g) is hardly larger than the noise (%.3g): "
            "record a stronger excitation",
            r->name, name, f.deviation, f.noise);
    }
    return rc;
}

/* ---- columns of an environment that reads the file itself ---- */

static const char *setting(const ds_identify_recording *r, const char *key, const char *usual)
{
    const ds_params *p = r->env->params;
    for (size_t i = 0; p != NULL && i < ds_params_count(p); i++) {
        if (strcmp(ds_params_info(p, i)->name, key) == 0) {
            return ds_params_value_text(p, i);
        }
    }
    return usual;
}

/* A point that hardly moves among others that do, as a pivot, is no mistake: its columns are not judged. */
static int look_at_file(ds_identify_case *c, const ds_identify_recording *r, ds_error *e)
{
    int64_t first = 0;
    ds_recorded_table t;
    ds_error why = {0, ""};
    if (r->file == NULL || !ds_parse_int(setting(r, "first_row", "0"), &first)) {
        return 0;
    }
    if (ds_recorded_read(r->file, (uint64_t)first, r->rows, &t, &why) != 0) {
        return 0; /* a form that only the environment reads */
    }
    const char *at = setting(r, "columns", "");
    double most = 0;
    uint64_t moving = 0;
    int rc = 0;
    for (int pass = 0; rc == 0 && pass < 2; pass++) {
        for (const char *s = at + strspn(at, " ,"); rc == 0 && *s != '\0'; s += strspn(s, " ,")) {
            char word[DS_RECORDED_NAME];
            const size_t n = strcspn(s, " ,");
            snprintf(word, sizeof word, "%.*s", (int)n, s);
            s += n;
            const int64_t column = ds_recorded_column(&t, word);
            if (column < 0) {
                continue;
            }
            const ds_recorded_facts f = ds_recorded_look(t.value + column, t.rows, t.columns);
            const int still = f.constant || f.deviation < 3 * f.noise;
            if (pass == 0) {
                most = fmax(most, f.deviation);
                moving += (uint64_t)!still;
            } else if (moving < 2 || f.deviation > 0.05 * most) {
                rc = look(c, r, word, t.value + column, t.rows, t.columns, e);
            }
        }
    }
    ds_recorded_free(&t);
    return rc;
}

/* ---- compared with simulations ---- */

/* What simulations at the start and at random points say about one recorded series. */
typedef struct likeness {
    char name[DS_IDENTIFY_NAME];
    double own; /* largest correlation with its own simulation */
    /* Two series at once, this one and another: the smaller of both correlations, largest over the
     * simulations; each with its own simulation, and each with the other's. */
    double straight[DS_IDENTIFY_SIGNALS], crossed[DS_IDENTIFY_SIGNALS];
    double ratio[SIMULATIONS]; /* of recorded by simulated deviation */
    double lag, best;          /* samples by which the recording should move, and the correlation there */
} likeness;

static double correlation(const double *a, const double *b, uint64_t rows)
{
    double sa = 0, sb = 0, aa = 0, bb = 0, ab = 0, n = 0;
    for (uint64_t i = 0; i < rows; i++) {
        const double x = a[i], y = b[i];
        if (!isnan(x) && !isnan(y)) {
            sa += x, sb += y, aa += x * x, bb += y * y, ab += x * y, n++;
        }
    }
    const double va = aa - sa * sa / n, vb = bb - sb * sb / n;
    return n > 2 && va > 0 && vb > 0 ? (ab - sa * sb / n) / sqrt(va * vb) : 0;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Compares the series of a recording with one simulation, number k. */
static void compare(likeness *found, const ds_identify_pair *pair, size_t pairs, uint64_t fitted, size_t k)
{
    for (size_t q = 0; q < pairs; q++) {
        likeness *f = &found[q];
        const uint64_t rows = pair[q].rows < fitted ? pair[q].rows : fitted;
        memcpy(f->name, pair[q].name, sizeof f->name);
        const double own = correlation(pair[q].simulated, pair[q].recorded, rows);
        f->own = fmax(f->own, own);
        for (size_t o = 0; o < q; o++) {
            const uint64_t both = pair[o].rows < rows ? pair[o].rows : rows;
            const double of_other = correlation(pair[o].simulated, pair[o].recorded, both);
            f->straight[o] = fmax(f->straight[o], fmin(own, of_other));
            f->crossed[o] = fmax(f->crossed[o], fmin(correlation(pair[q].simulated, pair[o].recorded, both),
                                                     correlation(pair[o].simulated, pair[q].recorded, both)));
        }
        for (uint64_t lag = 1; lag < rows / 4; lag++) {
            const double later = correlation(pair[q].simulated, pair[q].recorded + lag, rows - lag);
            const double earlier = correlation(pair[q].simulated + lag, pair[q].recorded, rows - lag);
            if (later > f->best || earlier > f->best) {
                f->best = fmax(later, earlier);
                f->lag = later > earlier ? (double)lag : -(double)lag;
            }
        }
        const ds_recorded_facts a = ds_recorded_look(pair[q].simulated, rows, 1),
                                b = ds_recorded_look(pair[q].recorded, rows, 1);
        f->ratio[k] = a.deviation > 0 ? b.deviation / a.deviation : 1;
    }
}

static int warn_units(ds_identify_case *c, const ds_identify_recording *r, const likeness *f, double middle,
                      ds_error *e)
{
    static const struct {
        double factor;
        const char *words;
    } unit[] = {{180 / 3.14159265358979, "degrees instead of rad"},
                {1000, "mm, ms or g instead of the unit"},
                {0.001, "km or kilo instead of the unit"},
                {100, "cm or percent instead of the unit"},
                {3.14159265358979 / 180, "rad instead of degrees"}};
    size_t near = 0;
    const int has_scale = setting(r, "column_scale", NULL) != NULL;
    char where[DS_IDENTIFY_NAME + 40];
    snprintf(where, sizeof where, "%s", has_scale ? "column_scale in [env]" : "the unit in the file");
    for (size_t k = 1; k < sizeof unit / sizeof *unit; k++) {
        near = fabs(log(middle / unit[k].factor)) < fabs(log(middle / unit[near].factor)) ? k : near;
    }
    if (r->signals > 0) {
        snprintf(where, sizeof where, "scale in [signal %.97s]", f->name);
    }
    return ds_identify_warn(
        c, e, "%s: signal %s is %.3g times as large as in simulations: are its units %s? Change %s", r->name,
        f->name, middle, unit[near].words, where);
}

static int warn_time(ds_identify_case *c, const ds_identify_recording *r, const likeness *f, ds_error *e)
{
    char or_find[DS_IDENTIFY_NAME + 40] = "";
    if (r->signals > 0) {
        snprintf(or_find, sizeof or_find, ", or find %.97s.delay", f->name);
    }
    return ds_identify_warn(c, e,
                            "%s: signal %s fits best when it is moved by %.4g samples: is the time shifted? "
                            "Set first_row%s",
                            r->name, f->name, -f->lag, or_find);
}

/* A gain or a delay among the parameters explains what is judged here. */
static int judge(ds_identify_case *c, const ds_identify_recording *r, likeness *found, size_t pairs,
                 size_t count, ds_error *e)
{
    int rc = 0;
    for (size_t q = 0; rc == 0 && count > 0 && q < pairs; q++) {
        likeness *f = &found[q];
        qsort(f->ratio, count, sizeof *f->ratio, ascending);
        const double middle = f->ratio[count / 2];
        const uint64_t gain = r->env->info.n + 3 * q, delay = gain + 2;
        const int sized = r->signals == 0 || r->parameter[gain] < 0,
                  timed = r->signals == 0 || r->parameter[delay] < 0;
        if (sized && (middle > 20 || middle < 0.05)) {
            rc = warn_units(c, r, f, middle, e);
        }
        size_t other = q;
        for (size_t o = 0; o < q; o++) {
            other = f->crossed[o] > 0.7 && 1 - f->crossed[o] < 0.3 * (1 - f->straight[o]) ? o : other;
        }
        if (rc == 0 && other < q) {
            rc = ds_identify_warn(c, e,
                                  "%s: the columns of signals %s and %s look like each other's: are they "
                                  "swapped?",
                                  r->name, found[other].name, f->name);
        } else if (rc == 0 && timed && f->own < 0.8 && f->best > 0.97) {
            rc = warn_time(c, r, f, e);
        }
    }
    return rc;
}

static int look_at_simulations(ds_identify_problem *p, const ds_identify_recording *r, ds_error *e)
{
    double *u = malloc((p->n + p->m) * sizeof *u), loss;
    likeness found[DS_IDENTIFY_SIGNALS];
    ds_identify_pair pair[DS_IDENTIFY_SIGNALS];
    size_t count = 0, pairs = 1, most = 0;
    int rc = u == NULL ? ds_no_memory(e) : 0;
    memset(found, 0, sizeof found);
    for (int k = 0; rc == 0 && pairs > 0 && k < SIMULATIONS; k++) {
        ds_random random = ds_random_open(p->c->run.seed, "likeness", (uint64_t)k);
        for (size_t i = 0; i < p->n; i++) {
            u[i] =
                k == 0 ? p->start[i] : p->lower[i] + (p->upper[i] - p->lower[i]) * ds_random_uniform(&random);
        }
        rc = ds_identify_residuals(p, 1, u, u + p->n, &loss, e);
        if (rc != 0 || !isfinite(loss)) {
            continue;
        }
        rc = ds_identify_pairs(r, pair, &pairs, e);
        if (rc == 0) {
            compare(found, pair, pairs, r->fitted, count++);
            most = pairs;
        }
        ds_identify_pairs_clear(pair, &pairs);
        pairs = most;
    }
    free(u);
    return rc != 0 ? rc : judge(p->c, r, found, most, count, e);
}

int ds_identify_look(ds_identify_problem *p, ds_error *e)
{
    int rc = 0;
    ds_identify_window(p, ds_identify_fitted(p));
    for (size_t k = 0; rc == 0 && k < p->recordings; k++) {
        const ds_identify_recording *r = &p->c->recording[p->recording[k]];
        for (uint64_t q = 0; rc == 0 && q < r->signals; q++) {
            rc = look(p->c, r, r->element[q].name, r->data.value + q, r->rows, r->data.columns, e);
        }
        rc = rc != 0 || r->signals > 0 ? rc : look_at_file(p->c, r, e);
        rc = rc != 0 || (r->signals == 0 && r->file == NULL) ? rc : look_at_simulations(p, r, e);
    }
    for (size_t i = 0; rc == 0 && i < p->n; i++) {
        const ds_identify_parameter *x = &p->c->parameter[p->parameter[i]];
        const double wide = p->upper[i] - p->lower[i];
        if (p->start[i] - p->lower[i] < 1e-6 * wide || p->upper[i] - p->start[i] < 1e-6 * wide) {
            rc = ds_identify_warn(
                p->c, e,
                "%s starts at its bound %.6g: a local search may stay there; the random starts do "
                "not, but set start = a value inside",
                x->name, x->start);
        }
    }
    return rc;
}
