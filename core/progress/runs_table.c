/* SPDX-License-Identifier: Apache-2.0 */
/* runs_table.c - best, median and quartiles of several runs (see runs_table.h). */
#include "config.h"

#include "progress/runs_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "progress/pieces.h"
#include "base/text.h"

enum { ROWS_MAX = 60, NAME_MAX_COLUMNS = 28 };

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of sorted losses, linear between them, as reports do it. */
static double quantile(const double *x, size_t n, double q)
{
    const double at = q * (double)(n - 1), share = at - floor(at);
    const size_t k = (size_t)at;
    return n == 0                                               ? (double)NAN
           : share > 0 && x[k] < x[k + 1] && isfinite(x[k + 1]) ? x[k] + share * (x[k + 1] - x[k])
           : share > 0 && x[k] < x[k + 1]                       ? (double)INFINITY
                                                                : x[k];
}

static int by_median(const void *a, const void *b)
{
    const ds_runs_row *x = a, *y = b;
    const double s = quantile(x->loss, x->done, 0.5), t = quantile(y->loss, y->done, 0.5);
    return isnan(s) || isnan(t) ? isnan(s) - isnan(t) : (s > t) - (s < t);
}

static const char *loss_text(double v, char text[24])
{
    snprintf(text, 24, isnan(v) ? "-" : isinf(v) ? "none" : "%.5g", v);
    return text;
}

/* "name" and blanks up to `width` columns. What is longer loses whole letters of its middle: names that are
 * told apart at their ends (`@seed=1`, `@seed=2`) stay so. */
static void pad(char *out, size_t room, const char *name, size_t width)
{
    const size_t all = ds_text_columns(name), cut = all > width ? all - width + 2 : 0;
    const size_t from = cut > 0 ? (width - 2) / 2 : all, to = from + cut; /* letters that are left out */
    size_t n = 0, columns = 0;
    for (size_t i = 0, letter = 0; name[i] != '\0' && n + 4 < room; i++) {
        const int begins = ((unsigned char)name[i] & 0xc0) != 0x80;
        letter += (size_t)begins;
        if (letter > from && letter <= to) {
            if (begins && letter <= from + 2) {
                out[n++] = '.';
                columns++;
            }
            continue;
        }
        columns += (size_t)begins;
        out[n++] = name[i];
    }
    for (; columns < width && n + 1 < room; columns++) {
        out[n++] = ' ';
    }
    out[n] = '\0';
}

static size_t widest(const ds_runs_row *row, size_t rows, int opt)
{
    size_t width = opt ? strlen("optimizer") : strlen("environment");
    for (size_t i = 0; i < rows; i++) {
        const size_t n = ds_text_columns(opt ? row[i].opt : row[i].env);
        width = n > width ? n : width;
    }
    return width < NAME_MAX_COLUMNS ? width : NAME_MAX_COLUMNS;
}

static void say_row(const ds_runs_row *r, size_t env_width, size_t opt_width)
{
    char env[160], opt[160], best[24], median[24], low[24], high[24], half[52] = "-", runs[48], time[32];
    pad(env, sizeof env, r->env, env_width);
    pad(opt, sizeof opt, r->opt, opt_width);
    snprintf(runs, sizeof runs, r->done < r->planned ? "%zu of %zu" : "%zu", r->done, r->planned);
    if (r->done > 1) {
        snprintf(half, sizeof half, "%s .. %s", loss_text(quantile(r->loss, r->done, 0.25), low),
                 loss_text(quantile(r->loss, r->done, 0.75), high));
    }
    if (r->wall_s < 10) {
        snprintf(time, sizeof time, "%.1f s", r->wall_s);
    } else {
        ds_duration_text(r->wall_s, time, sizeof time);
    }
    ds_log(DS_LOG_INFO, NULL, "  %s  %s  %8s  %11s  %11s  %23s  %9s  %6zu", env, opt, runs,
           loss_text(r->done > 0 ? r->loss[0] : (double)NAN, best),
           loss_text(quantile(r->loss, r->done, 0.5), median), half, time, r->failed);
}

void ds_runs_table(ds_runs_row *row, size_t rows, const char *folder)
{
    char env[160], opt[160], *word = NULL;
    size_t size = 0;
    for (size_t i = 0; i < rows; i++) {
        qsort(row[i].loss, row[i].done, sizeof *row[i].loss, ascending);
    }
    for (size_t i = 0, end; i < rows; i = end) {
        for (end = i; end < rows && strcmp(row[end].env, row[i].env) == 0; end++) {
        }
        qsort(row + i, end - i, sizeof *row, by_median);
    }
    const size_t env_width = widest(row, rows, 0), opt_width = widest(row, rows, 1);
    pad(env, sizeof env, "environment", env_width);
    pad(opt, sizeof opt, "optimizer", opt_width);
    ds_log(DS_LOG_INFO, NULL, "  %s  %s  %8s  %11s  %11s  %23s  %9s  %6s", env, opt, "runs", "best loss",
           "median", "half of the runs", "time", "failed");
    for (size_t i = 0; i < rows && i < ROWS_MAX; i++) {
        say_row(&row[i], env_width, opt_width);
    }
    if (rows > ROWS_MAX) {
        ds_log(DS_LOG_INFO, NULL, "  and %zu more", rows - ROWS_MAX);
    }
    FILE *f = open_memstream(&word, &size);
    if (f != NULL) {
        ds_text_shell_word(f, folder);
        if (fclose(f) == 0) {
            ds_log(DS_LOG_INFO, NULL, "figures, intervals and tests: dshost report %s", word);
        }
    }
    free(word);
}
