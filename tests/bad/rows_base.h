/* SPDX-License-Identifier: Apache-2.0 */
/* rows_base.h - all rows of a table at once, each as a ds_eval, for plugins that commit their sin with
 * several rows in one call. */
#include <diffsim/helper/eval.h>

enum { MOST_ROWS = 64 };

/* Calls `many` with the rows of a table, of which there are at most MOST_ROWS. */
static ds_status all_rows(void *self, const ds_rows *rows, const ds_results *results,
                          ds_status (*many)(void *self, uint64_t count, ds_eval *const *io))
{
    ds_eval row[MOST_ROWS], *io[MOST_ROWS];
    ds_eval_query query[MOST_ROWS][DS_MAX_QUERIES], *list[MOST_ROWS][DS_MAX_QUERIES];
    for (uint64_t k = 0; k < rows->count; k++) {
        row[k] = ds_eval_row(rows, results, k, query[k], list[k]);
        io[k] = &row[k];
    }
    const ds_status status = many(self, rows->count, io);
    for (uint64_t k = 0; k < rows->count; k++) {
        ds_eval_store(io[k], results, k);
    }
    return status;
}
