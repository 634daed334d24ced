/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_output.c - checks and keeps the reports of an optimizer, and checks the names of its files. */
#include "config.h"

#include "store/optimizer_output.h"

#include "base/plugin_memory.h"
#include "base/variables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reports ---- */

void ds_reports_close(ds_reports *r)
{
    free(r->x);
    r->x = NULL;
}

/* Sets a scalar; returns 0 where there are too many. */
static int set(ds_reports *r, const char *name, double value)
{
    uint64_t k = 0;
    while (k < r->count && strcmp(r->name[k], name) != 0) {
        k++;
    }
    if (k == DS_MAX_SCALARS) {
        return 0;
    }
    if (k == r->count) {
        snprintf(r->name[k], sizeof r->name[k], "%s", name);
        r->count++;
    }
    r->value[k] = value;
    return 1;
}

ds_status ds_reports_read(ds_progress_report *own, const ds_progress_report *theirs, const ds_problem *p,
                          char text[DS_REPORTS_TEXT])
{
    ds_error e = {0, ""};
    if (DS_SIZED_READ(own, theirs, DS_PROGRESS_REPORT_SIZE_1_0, "", "the report", &e) != 0) {
        snprintf(text, DS_REPORTS_TEXT, "%.190s", e.text);
        return DS_E_ARG;
    }
    if (own->count > DS_MAX_SCALARS || (own->count > 0 && (own->name == NULL || own->value == NULL))) {
        snprintf(text, DS_REPORTS_TEXT, "a report of %llu scalars: give at most %u, with name and value",
                 (unsigned long long)own->count, DS_MAX_SCALARS);
        return DS_E_ARG;
    }
    for (uint64_t k = 0; k < own->count; k++) {
        if (!ds_variable_is_name(own->name[k])) {
            snprintf(
                text, DS_REPORTS_TEXT,
                "the name of scalar %llu: use a letter, then letters, digits, '_' and '.', at most %u bytes",
                (unsigned long long)k, DS_MAX_NAME);
            return DS_E_ARG;
        }
    }
    for (uint64_t i = 0; own->x != NULL && i < p->n; i++) {
        if (!(own->x[i] >= p->lower[i] && own->x[i] <= p->upper[i])) {
            snprintf(text, DS_REPORTS_TEXT,
                     "variable %llu of the recommended point is %g, outside of its bounds",
                     (unsigned long long)i, own->x[i]);
            return DS_E_ARG;
        }
    }
    return DS_OK;
}

ds_status ds_reports_add(ds_reports *r, const ds_progress_report *report, uint64_t n, const double *x,
                         char text[DS_REPORTS_TEXT])
{
    for (uint64_t k = 0; k < report->count; k++) {
        if (!set(r, report->name[k], report->value[k])) {
            snprintf(text, DS_REPORTS_TEXT,
                     "scalar '%s' is one more than the %u that fit between two evaluations", report->name[k],
                     DS_MAX_SCALARS);
            return DS_E_ARG;
        }
    }
    if (x != NULL) {
        r->x = r->x != NULL ? r->x : malloc(n * sizeof *r->x);
        if (r->x == NULL) {
            return DS_E_NOMEM;
        }
        memcpy(r->x, x, n * sizeof *r->x);
        r->fresh = 1;
    }
    return DS_OK;
}

int ds_reports_take(ds_reports *r, uint64_t n, ds_row_progress **out, ds_error *e)
{
    const uint64_t numbers = r->count + (r->fresh ? n : 0);
    *out = NULL;
    if (r->count == 0 && !r->fresh) {
        return 0;
    }
    ds_row_progress *p = malloc(sizeof *p + numbers * sizeof(double) + r->count * sizeof r->name[0] + 1);
    if (p == NULL) {
        return ds_no_memory(e);
    }
    double *value = (double *)(void *)(p + 1);
    char *names = (char *)(value + numbers), *at = names;
    names[0] = '\0';
    for (uint64_t k = 0; k < r->count; k++) {
        value[k] = r->value[k];
        at += sprintf(at, k > 0 ? " %s" : "%s", r->name[k]);
    }
    if (r->fresh) {
        memcpy(value + r->count, r->x, n * sizeof(double));
    }
    *p = (ds_row_progress){r->count, names, value, r->fresh ? value + r->count : NULL};
    ds_reports_skip(r);
    *out = p;
    return 0;
}

void ds_reports_skip(ds_reports *r)
{
    r->count = 0;
    r->fresh = 0;
}

/* ---- files ---- */

/* Prefixes of names that dshost writes into run folders or reads there. */
static const char *own_name(const char *name)
{
    static const char *const begin[] = {"run.",   "runs.",        "summary.", "failure-", "landscape.",
                                        "bench.", "convergence.", "best.",    "report."};
    for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++) {
        if (strncmp(name, begin[i], strlen(begin[i])) == 0) {
            return begin[i];
        }
    }
    return NULL;
}

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static int is_name(const char *name, size_t length)
{
    size_t i = 0;
    while (i < length && (is_letter(name[i]) || (i > 0 && strchr("._-", name[i]) != NULL))) {
        i++;
    }
    return length > 0 && i == length;
}

ds_status ds_file_allowed(const char *name, const void *data, uint64_t bytes, char text[DS_FILES_TEXT])
{
    size_t length = name != NULL ? strnlen(name, DS_MAX_FILE_NAME + 1) : 0;
    const char *own = length > 0 ? own_name(name) : NULL;
    if (length > DS_MAX_FILE_NAME || !is_name(name, length)) {
        snprintf(text, DS_FILES_TEXT,
                 "a name has 1 to %u letters, digits, '.', '_' or '-' and begins with a letter or a digit",
                 DS_MAX_FILE_NAME);
    } else if (own != NULL) {
        snprintf(text, DS_FILES_TEXT, "'%s': names that begin with '%s' are reserved for dshost", name, own);
    } else if (bytes > DS_MAX_FILE_BYTES) {
        snprintf(text, DS_FILES_TEXT, "'%s' has %llu bytes, at most %u are taken", name,
                 (unsigned long long)bytes, DS_MAX_FILE_BYTES);
    } else if (data == NULL && bytes > 0) {
        snprintf(text, DS_FILES_TEXT, "'%s': data is NULL", name);
    } else {
        return DS_OK;
    }
    return DS_E_ARG;
}
