/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_run_table.c - any bytes as a table of runs: rows with names that can be parts of paths and numbers
 * that can be counted with, or one line that says why not. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "results/run_table.h"
#include "tests/fuzz/fuzz.h"

static void require_name(const char *name)
{
    FUZZ_REQUIRE(name != NULL && name[0] != '\0' && strchr(name, '/') == NULL && name[0] != '.' &&
                 name[0] != '-');
    FUZZ_REQUIRE(ds_text_is_line(name, strlen(name)) && strlen(name) <= 120);
}

static void require_run(const ds_result *r)
{
    require_name(r->env);
    require_name(r->opt);
    FUZZ_REQUIRE(r->table != NULL && r->where != NULL && r->folder != NULL && r->ended != NULL);
    FUZZ_REQUIRE(isfinite(r->best_loss) || r->best_loss > 0);
    FUZZ_REQUIRE(r->wall_s >= 0 && r->evaluation_s >= 0 && r->n > 0 && r->best_id == 0);
    FUZZ_REQUIRE(ds_text_is_line(r->folder, strlen(r->folder)) &&
                 ds_text_is_line(r->ended, strlen(r->ended)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ds_run_results all = {NULL, 0, 0}, own = {NULL, 0, 0};
    ds_error e = {0, ""};
    ds_log_set_level(DS_LOG_ERROR);
    int rc = ds_run_table_parse((const char *)data, size, "input", &all, &e);
    for (size_t i = 0; rc == 0 && i < all.count; i++) {
        require_run(&all.item[i]);
    }
    rc = rc != 0 ? rc : ds_run_table_join(&own, &all, 0, &e);
    rc = rc != 0 ? rc : ds_run_table_settle(&own, &e);
    if (rc != 0) {
        FUZZ_REQUIRE((rc == DS_EXIT_CONFIG || rc == DS_EXIT_MEMORY) && e.status == rc);
        FUZZ_REQUIRE(e.text[0] != '\0' && ds_text_is_line(e.text, strlen(e.text)));
    }
    ds_results_clear(&all);
    ds_results_clear(&own);
    return 0;
}
