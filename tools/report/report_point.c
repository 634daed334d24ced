/* SPDX-License-Identifier: Apache-2.0 */
/* report_point.c - see report_point.h. */
#include "config.h"

#include "report/report_point.h"

#include <inttypes.h>
#include <stdlib.h>

#include "page/html.h"

enum { ROWS = 50 /* of the table, at most */ };

static void put_table(FILE *f, const char *env, const char *of, const ds_row *row,
                      const ds_named_variable *variables)
{
    fprintf(f, "<details><summary>The best point%s: evaluation %" PRIu64, of, row->id);
    fputs("</summary>", f);
    ds_html_table(f, "", "the best point", env);
    fputs("<tr><th scope=col>variable<th scope=col>value<th scope=col>unit<th scope=col>group</tr>\n", f);
    for (uint64_t i = 0; i < row->n && i < ROWS; i++) {
        char room[24];
        fputs("<tr>", f);
        ds_html_element(f, "td", ds_variable_name(variables, i, room));
        ds_html_number_cell(f, row->x[i], 8);
        ds_html_element(f, "td", ds_variable_unit(variables, i));
        ds_html_element(f, "td", variables != NULL ? variables[i].group : "");
        fputs("</tr>\n", f);
    }
    ds_html_table_end(f);
    if (row->n > ROWS) {
        fprintf(f, "<p>and %" PRIu64 " more; dshost export writes all.</p>", row->n - ROWS);
    }
    fputs("</details>\n", f);
}

void ds_report_point(FILE *f, const ds_result *run, const char *of)
{
    ds_store *store = NULL;
    ds_cursor *cursor = NULL;
    ds_named_variable *variables = NULL;
    uint64_t named = 0;
    ds_row row;
    ds_error e = {0, ""};
    int rc = run->best_id == 0 ? DS_EXIT_IO : ds_result_store(run->folder, &store, &e);
    rc = rc != 0 ? rc : ds_store_get_variables(store, &variables, &named, &e);
    rc = rc != 0 ? rc : ds_cursor_open(store, run->best_id, &cursor, &e);
    if (rc == 0 && ds_cursor_next(cursor, &row, &e) == 1) {
        put_table(f, run->env, of, &row, named == row.n ? variables : NULL);
    }
    ds_cursor_close(cursor);
    free(variables);
    ds_store_close(store, NULL);
}
