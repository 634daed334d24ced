/* SPDX-License-Identifier: Apache-2.0 */
/* check_report.c - prints what the tests of the conformance kit recorded. */
#include "config.h"

#include "check/check_report.h"

#include <stdio.h>
#include <string.h>

#include "base/json_text.h"

static const char *kind_name(uint32_t kind)
{
    return kind == DS_KIND_ENV         ? "environment"
           : kind == DS_KIND_OPTIMIZER ? "optimizer"
                                       : "plugin that does not load";
}

void ds_check_report_begin(ds_check_report *r)
{
    if (r->options->json) {
        return;
    }
    printf("TAP version 13\n# dshost %s, plugin ABI %u.%u: %s, %s, seed %llu\n1..%zu\n", PACKAGE_VERSION,
           DS_ABI_MAJOR, DS_ABI_MINOR, r->options->path, kind_name(r->kind),
           (unsigned long long)r->options->seed, r->count);
    fflush(stdout);
}

static int said_before(const ds_check_lines *lines, size_t k)
{
    for (size_t i = 0; i < k; i++) {
        if (lines->item[i].kind == lines->item[k].kind &&
            strcmp(lines->item[i].text, lines->item[k].text) == 0) {
            return 1;
        }
    }
    return 0;
}

void ds_check_report_result(ds_check_report *r, size_t i)
{
    const ds_check_result *t = &r->result[i];
    const char *skip = ds_check_lines_find(&t->lines, DS_CHECK_SKIP);
    int failed = ds_check_lines_find(&t->lines, DS_CHECK_FAILURE) != NULL;

    r->failed += failed != 0;
    r->skipped += !failed && skip != NULL;
    if (r->options->json) {
        return;
    }
    printf("%sok %zu - %s: %s%s%s\n", failed ? "not " : "", i + 1, t->test->id, t->test->title,
           !failed && skip != NULL ? " # SKIP " : "", !failed && skip != NULL ? skip : "");
    for (size_t k = 0; k < t->lines.count; k++) {
        const ds_check_line *l = &t->lines.item[k];
        switch (l->kind) {
        case DS_CHECK_FAILURE:
        case DS_CHECK_NOTE:
            printf("# %s\n", l->text);
            break;
        case DS_CHECK_HINT: /* several sightings may have the same cure */
            if (!said_before(&t->lines, k)) {
                printf("# hint: %s\n", l->text);
            }
            break;
        default:
            break;
        }
    }
    fflush(stdout);
}

static json_t *texts(const ds_check_lines *lines, char kind)
{
    json_t *a = json_array();
    for (size_t k = 0; k < lines->count; k++) {
        if (lines->item[k].kind == kind) {
            json_array_append_new(a, json_string(lines->item[k].text));
        }
    }
    return a;
}

static int print_json(const ds_check_report *r, ds_error *e)
{
    json_t *o = json_object(), *tests = json_array();
    for (size_t i = 0; i < r->count; i++) {
        const ds_check_result *t = &r->result[i];
        const char *skip = ds_check_lines_find(&t->lines, DS_CHECK_SKIP);
        int failed = ds_check_lines_find(&t->lines, DS_CHECK_FAILURE) != NULL;
        json_t *j =
            json_pack("{s:s*, s:s*, s:s*, s:o, s:o, s:o, s:o, s:o}", "id", t->test->id, "title",
                      t->test->title, "result",
                      failed         ? "failed"
                      : skip != NULL ? "skipped"
                                     : "passed",
                      "seen", texts(&t->lines, DS_CHECK_FAILURE), "hints", texts(&t->lines, DS_CHECK_HINT),
                      "notes", texts(&t->lines, DS_CHECK_NOTE), "skip",
                      skip != NULL ? json_string(skip) : json_null(), "wall_s", ds_json_real(t->wall));
        json_array_append_new(tests, j);
    }
    json_object_set_new(o, "plugin", json_string(r->options->path));
    json_object_set_new(o, "id", r->id[0] != '\0' ? json_string(r->id) : json_null());
    json_object_set_new(o, "kind", r->kind != 0 ? json_string(kind_name(r->kind)) : json_null());
    json_object_set_new(o, "seed", json_integer((json_int_t)r->options->seed));
    json_object_set_new(o, "passed", json_integer((json_int_t)(r->count - r->failed - r->skipped)));
    json_object_set_new(o, "failed", json_integer((json_int_t)r->failed));
    json_object_set_new(o, "skipped", json_integer((json_int_t)r->skipped));
    json_object_set_new(o, "tests", tests);
    int status = ds_json_write(o, stdout, "standard output", e);
    json_decref(o);
    return status;
}

int ds_check_report_end(ds_check_report *r, int loads, ds_error *e)
{
    int status = 0;
    if (r->options->json) {
        status = print_json(r, e);
    } else {
        printf("# %zu passed, %zu failed, %zu skipped\n", r->count - r->failed - r->skipped, r->failed,
               r->skipped);
    }
    status = status != 0 ? status : ds_stdout_done(e);
    if (status != 0) {
        return status;
    }
    return !loads ? DS_EXIT_PLUGIN : r->failed > 0 ? DS_EXIT_CHECK : DS_EXIT_OK;
}
