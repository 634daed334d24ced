/* SPDX-License-Identifier: Apache-2.0 */
/* identify_report.c - the results: summary.json, a table on stdout, and the estimate as settings. */
#include "config.h"

#include "identify/identify.h"

#include "base/file.h"
#include "base/json_text.h"
#include "store/run_folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- summary.json ---- */

static json_t *texts(char (*line)[DS_IDENTIFY_LINE], size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(list, ds_json_text(line[i]));
    }
    return list;
}

static json_t *pair(double low, double high)
{
    const double v[] = {low, high};
    return ds_json_reals(v, 2);
}

static void put_parameters(const ds_identify_report *r, size_t k, json_t *to)
{
    const ds_identify_problem *p = &r->problem[k];
    for (size_t i = 0; i < p->n; i++) {
        const ds_identify_parameter *x = &p->c->parameter[p->parameter[i]];
        const ds_identify_estimate *v = &r->result[k].estimate[i];
        json_object_set_new(
            to, x->name,
            ds_json_object((const ds_json_entry[]){{"estimate", ds_json_real(v->value)},
                                                   {"interval", pair(v->low, v->high)},
                                                   {"unit", ds_json_text(x->unit)},
                                                   {"method", ds_json_text(v->interval)},
                                                   {"determined", json_boolean(v->known)},
                                                   {"at_bound", json_boolean(v->at_bound != 0)},
                                                   {"bounds", pair(x->lower, x->upper)},
                                                   {"log", json_boolean(x->log)},
                                                   {"shared", json_boolean(x->recording < 0)},
                                                   {NULL, NULL}}));
    }
}

static json_t *minima_of(const ds_identify_report *r, size_t k)
{
    const ds_identify_problem *p = &r->problem[k];
    const ds_identify_found *f = &r->result[k].found;
    json_t *list = json_array();
    for (size_t m = 0; m < f->count; m++) {
        json_t *at = json_object();
        for (size_t i = 0; i < p->n; i++) {
            const ds_identify_parameter *x = &p->c->parameter[p->parameter[i]];
            json_object_set_new(at, x->name, ds_json_real(ds_identify_value(x, f->minimum[m].u[i])));
        }
        json_array_append_new(list, ds_json_object((const ds_json_entry[]){
                                        {"loss", ds_json_real(f->minimum[m].loss)},
                                        {"fit_rmse", ds_json_real(f->minimum[m].fit)},
                                        {"heldout_rmse", ds_json_real(f->minimum[m].held_out)},
                                        {"within_noise", json_boolean(f->minimum[m].within)},
                                        {"found", ds_json_whole(f->minimum[m].found)},
                                        {"parameters", at},
                                        {NULL, NULL}}));
    }
    return list;
}

static json_t *recovery_of(const ds_identify_recovery *v)
{
    if (v->starts == 0) {
        return json_null();
    }
    return ds_json_object((const ds_json_entry[]){
        {"starts", ds_json_whole(v->starts)},
        {"recovered", ds_json_whole(v->recovered)},
        {"share", ds_json_real((double)v->recovered / (double)v->starts)},
        {"intervals", ds_json_whole(v->intervals)},
        {"covered", ds_json_whole(v->covered)},
        {"coverage",
         ds_json_real(v->intervals > 0 ? (double)v->covered / (double)v->intervals : (double)NAN)},
        {NULL, NULL}});
}

static json_t *correlation_of(const ds_identify_determined *d)
{
    json_t *list = json_array();
    double row[DS_IDENTIFY_PARAMETERS];
    for (size_t i = 0; i < d->n; i++) {
        for (size_t k = 0; k < d->n; k++) {
            row[k] =
                d->covariance[i * d->n + k] / sqrt(d->covariance[i * d->n + i] * d->covariance[k * d->n + k]);
        }
        json_array_append_new(list, ds_json_reals(row, d->n));
    }
    return list;
}

static json_t *problem_json(const ds_identify_report *r, size_t k)
{
    const ds_identify_problem *p = &r->problem[k];
    ds_identify_result *v = &r->result[k];
    json_t *names = json_array(), *of = json_array();
    for (size_t i = 0; i < p->n; i++) {
        json_array_append_new(names, ds_json_text(p->c->parameter[p->parameter[i]].name));
    }
    for (size_t i = 0; i < p->recordings; i++) {
        json_array_append_new(of, ds_json_text(p->c->recording[p->recording[i]].name));
    }
    return ds_json_object(
        (const ds_json_entry[]){{"recordings", of},
                                {"parameters", names},
                                {"recipe", ds_json_text(v->found.recipe)},
                                {"loss", ds_json_real(v->loss)},
                                {"sigma", ds_json_real(v->sigma)},
                                {"residuals", ds_json_whole(v->counted)},
                                {"independent_residuals", ds_json_real(v->effective)},
                                {"lag_correlation", ds_json_real(v->white)},
                                {"bias", ds_json_real(v->bias)},
                                {"rank", ds_json_whole(v->determined.rank)},
                                {"condition", ds_json_real(v->determined.condition)},
                                {"correlation", correlation_of(&v->determined)},
                                {"minima", minima_of(r, k)},
                                {"undetermined", texts(v->undetermined, v->undetermined_count)},
                                {"recovery", recovery_of(&v->recovery)},
                                {"evaluations", ds_json_whole(v->evaluations)},
                                {"certificate_evaluations", ds_json_whole(v->certificate_evaluations)},
                                {NULL, NULL}});
}

static json_t *error_json(const ds_identify_errors *v, int which)
{
    if (v->count[which] == 0) {
        return json_null();
    }
    return ds_json_object((const ds_json_entry[]){{"rmse", ds_json_real(ds_identify_rmse(v, which))},
                                                  {"residuals", ds_json_whole(v->count[which])},
                                                  {NULL, NULL}});
}

/* Errors of each signal of a recording, or of each number of a residual. */
static json_t *signals_of(ds_identify_problem *p, size_t k, const double *u, ds_error *e)
{
    const ds_identify_recording *q = &p->c->recording[p->recording[k]];
    json_t *list = json_array();
    for (uint64_t s = 0; s < ds_identify_columns(q); s++) {
        ds_identify_errors x;
        char name[DS_IDENTIFY_NAME];
        if (ds_identify_errors_of(p, k, u, (int64_t)s, &x, e) != 0) {
            json_decref(list);
            return NULL;
        }
        ds_identify_column_name(q, s, name);
        json_array_append_new(list, ds_json_object((const ds_json_entry[]){{"name", ds_json_text(name)},
                                                                           {"fit", error_json(&x, 0)},
                                                                           {"heldout", error_json(&x, 1)},
                                                                           {NULL, NULL}}));
    }
    return list;
}

static int put_recordings(const ds_identify_report *r, json_t *list, ds_identify_errors *all, ds_error *e)
{
    int rc = 0;
    for (size_t k = 0; rc == 0 && k < r->problems; k++) {
        ds_identify_problem *p = &r->problem[k];
        for (size_t i = 0; rc == 0 && i < p->recordings; i++) {
            const ds_identify_recording *q = &p->c->recording[p->recording[i]];
            ds_identify_errors one;
            rc = ds_identify_errors_of(p, i, r->result[k].u, -1, &one, e);
            json_t *signals = rc == 0 ? signals_of(p, i, r->result[k].u, e) : NULL;
            if (signals == NULL) {
                return rc != 0 ? rc : e->status;
            }
            for (int w = 0; w < 2; w++) {
                all->sum[w] += one.sum[w];
                all->count[w] += one.count[w];
            }
            json_array_append_new(list, ds_json_object((const ds_json_entry[]){
                                            {"name", ds_json_text(q->name)},
                                            {"file", q->file != NULL ? ds_json_text(q->file) : json_null()},
                                            {"fit", error_json(&one, 0)},
                                            {"heldout", error_json(&one, 1)},
                                            {"signals", signals},
                                            {"samples", ds_json_whole(q->fitted)},
                                            {"heldout_samples", ds_json_whole(q->rows - q->fitted)},
                                            {NULL, NULL}}));
        }
    }
    return rc;
}

json_t *ds_identify_summary(const ds_identify_report *r, ds_error *e)
{
    const ds_identify_case *c = r->c;
    json_t *recordings = json_array(), *parameters = json_object(), *minima = json_array(),
           *undetermined = json_array(), *problems = json_array(), *warnings = json_array();
    ds_identify_errors all = {{0, 0}, {0, 0}};
    ds_identify_recovery sum = {0, 0, 0, 0};
    uint64_t evaluations = 0, certificate = 0;
    const int rc = put_recordings(r, recordings, &all, e);
    for (size_t k = 0; k < r->problems; k++) {
        ds_identify_result *v = &r->result[k];
        json_t *some = minima_of(r, k), *words = texts(v->undetermined, v->undetermined_count);
        put_parameters(r, k, parameters);
        json_array_extend(minima, some);
        json_array_extend(undetermined, words);
        json_array_append_new(problems, problem_json(r, k));
        json_decref(some);
        json_decref(words);
        sum.starts += v->recovery.starts;
        sum.recovered += v->recovery.recovered;
        sum.intervals += v->recovery.intervals;
        sum.covered += v->recovery.covered;
        evaluations = v->evaluations > evaluations ? v->evaluations : evaluations;
        certificate += v->certificate_evaluations;
    }
    for (size_t i = 0; i < c->warnings; i++) {
        json_array_append_new(warnings, ds_json_text(c->warning[i]));
    }
    json_t *out =
        ds_json_object((const ds_json_entry[]){{"command", ds_json_text("identify")},
                                               {"environment", ds_json_text(c->module->id)},
                                               {"seed", ds_json_seed(c->run.seed)},
                                               {"budget", ds_json_whole((uint64_t)c->run.budget)},
                                               {"evaluations", ds_json_whole(evaluations)},
                                               {"certificate_evaluations", ds_json_whole(certificate)},
                                               {"level", ds_json_real(c->options.level)},
                                               {"fit", error_json(&all, 0)},
                                               {"heldout", error_json(&all, 1)},
                                               {"recordings", recordings},
                                               {"parameters", parameters},
                                               {"minima", minima},
                                               {"undetermined", undetermined},
                                               {"recovery", recovery_of(&sum)},
                                               {"warnings", warnings},
                                               {"problems", problems},
                                               {NULL, NULL}});
    if (rc != 0) {
        json_decref(out);
        return NULL;
    }
    return out;
}

/* ---- settings of the environment with the estimate ---- */

static int is_number(const ds_params *p, const char *name)
{
    for (size_t i = 0; i < ds_params_count(p); i++) {
        if (strcmp(ds_params_info(p, i)->name, name) == 0) {
            return ds_params_info(p, i)->type == DS_PARAM_REAL;
        }
    }
    return 0;
}

/* Values of the variables of a recording at the estimate; to be freed. */
static double *values_of(const ds_identify_problem *p, const ds_identify_result *v,
                         const ds_identify_recording *q)
{
    const uint64_t n = q->env->info.n;
    double *x = calloc(n + 1, sizeof *x);
    for (uint64_t i = 0; x != NULL && i < n; i++) {
        x[i] = q->constant[i];
        for (size_t k = 0; k < p->n; k++) {
            x[i] = q->parameter[i] == (int64_t)p->parameter[k] ? v->estimate[k].value : x[i];
        }
    }
    return x;
}

/* One file for each recording: `fix` of [run] sets every variable to the estimate; a parameter of the
 * environment that has the name of a variable also gets its value. */
static void put_settings(const ds_identify_report *r, const ds_identify_recording *q, const double *x,
                         FILE *f)
{
    char text[DS_REAL_TEXT];
    const uint64_t n = q->env->info.n;
    fprintf(f,
            "; Estimate of `dshost identify` from recording %s: dshost eval --config THIS FILE\n[run]\nenv = "
            "%s\n",
            q->name, r->c->run.env);
    for (uint64_t i = 0; i < n; i++) {
        fprintf(f, "%s%s=%s\n", i == 0 ? "fix = " : "    ", q->input[i], ds_real_text(x[i], text));
    }
    fputs("\n[env]\n", f);
    const ds_params *all = q->env->params;
    for (size_t i = 0; i < ds_params_count(all); i++) {
        const ds_param *info = ds_params_info(all, i);
        const char *value = ds_params_value_text(all, i);
        if (q->signals == 0 && q->timed && strcmp(info->name, "n_samples") == 0) {
            value = ds_real_text((double)q->fitted, text);
        } else if (q->signals == 0 && q->timed && strcmp(info->name, "held_out") == 0) {
            value = ds_real_text((double)(q->rows - q->fitted), text);
        }
        for (uint64_t k = 0; k < n; k++) {
            if (strcmp(info->name, q->input[k]) == 0 && is_number(all, info->name)) {
                value = ds_real_text(x[k], text);
            }
        }
        if (value[0] != '\0' && (value == text || ds_params_given(all, i))) {
            ds_params_write_value(info, value, f);
        }
    }
}

static int write_settings(const ds_identify_report *r, const ds_identify_problem *p,
                          const ds_identify_result *v, const ds_identify_recording *q, ds_error *e)
{
    char *text = NULL, *path = NULL, name[DS_MAX_NAME + 16];
    double *x = values_of(p, v, q);
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    snprintf(name, sizeof name, r->c->recordings > 1 ? "estimate-%s.ini" : "estimate.ini", q->name);
    path = ds_folder_path(r->folder, name);
    int good = f != NULL && path != NULL && x != NULL;
    if (f != NULL) {
        if (x != NULL) {
            put_settings(r, q, x, f);
        }
        good &= fclose(f) == 0;
    }
    int rc = good ? ds_file_write_atomic(path, text, size, e) : ds_no_memory(e);
    if (rc == 0 && strcmp(r->c->module->id, "robot") == 0) {
        rc = ds_identify_model(r->folder, q, x, r->c->recordings > 1, e);
    }
    free(x);
    free(text);
    free(path);
    return rc;
}

int ds_identify_write(const ds_identify_report *r, const json_t *summary, ds_error *e)
{
    char *path = ds_folder_path(r->folder, "summary.json");
    int rc = path == NULL ? ds_no_memory(e) : ds_json_write_file(summary, path, e);
    for (size_t k = 0; rc == 0 && k < r->problems; k++) {
        const ds_identify_problem *p = &r->problem[k];
        for (size_t i = 0; rc == 0 && i < p->recordings; i++) {
            rc = write_settings(r, p, &r->result[k], &p->c->recording[p->recording[i]], e);
        }
    }
    free(path);
    return rc != 0 || !r->c->options.page ? rc : ds_identify_page(r, summary, e);
}

/* ---- stdout ---- */

static void print_errors(const ds_identify_report *r, size_t k)
{
    const ds_identify_result *v = &r->result[k];
    const ds_identify_minimum *m = &v->found.minimum[0];
    printf("fit: rmse %.4g of %llu residuals", m->fit, (unsigned long long)v->counted);
    if (isfinite(m->held_out)) {
        printf("; held out: rmse %.4g", m->held_out);
    }
    printf("; %llu evaluations\n", (unsigned long long)v->evaluations);
}

void ds_identify_print(const ds_identify_report *r)
{
    for (size_t k = 0; k < r->problems; k++) {
        const ds_identify_problem *p = &r->problem[k];
        const ds_identify_result *v = &r->result[k];
        size_t within = 0;
        printf("%s%s", k > 0 ? "\n" : "",
               p->recordings == 1 ? p->c->recording[p->recording[0]].name : "recordings");
        printf(" (%s, rank %zu of %zu)\n%-28s %14s %14s %14s %-8s %s\n", v->found.recipe, v->determined.rank,
               p->n, "parameter", "estimate", "from", "to", "interval", "unit");
        for (size_t i = 0; i < p->n; i++) {
            const ds_identify_parameter *x = &p->c->parameter[p->parameter[i]];
            const ds_identify_estimate *s = &v->estimate[i];
            printf("%-28s %14.7g %14.7g %14.7g %-8s %s%s\n", x->name, s->value, s->low, s->high, s->interval,
                   x->unit,
                   s->at_bound < 0   ? " (at its lower bound)"
                   : s->at_bound > 0 ? " (at its upper bound)"
                                     : "");
        }
        print_errors(r, k);
        for (size_t i = 0; i < v->undetermined_count; i++) {
            printf("not determined: %s\n", v->undetermined[i]);
        }
        for (size_t i = 0; i < v->found.count; i++) {
            within += (size_t)v->found.minimum[i].within;
        }
        if (within > 1) {
            printf("%zu minima fit equally well within the noise: see minima in summary.json\n", within);
        }
        if (v->recovery.starts > 0) {
            char judgement[DS_IDENTIFY_LINE];
            ds_identify_judge_coverage(&v->recovery, r->c->options.level, judgement);
            printf("recovery: %zu of %zu made data sets; intervals cover the truth in %zu of %zu cases%s\n",
                   v->recovery.recovered, v->recovery.starts, v->recovery.covered, v->recovery.intervals,
                   judgement);
        }
    }
    printf("results: %s\n", r->folder);
}
