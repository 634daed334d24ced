/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_resume.c - `dshost resume`: goes on with an interrupted run, or extends a finished one. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/json_text.h"
#include "cli/commands.h"
#include "cli/dispatch.h"
#include "cli/pictures.h"
#include "cli/run_flags.h"
#include "run/run.h"
#include "run/run_series.h"
#include "run/signals.h"
#include "store/run_folder.h"

/* A landscape goes on in the program that makes them. */
static int resume_landscape(char **argv, ds_error *e)
{
    char flag[] = "--resume";
    argv[0] = flag;
    return ds_dispatch("landscape", argv, e);
}

int ds_cmd_resume(int argc, char **argv)
{
    ds_run_flags flags;
    ds_error e = {0, ""};
    const char *folder = NULL;
    int rc = ds_run_flags_read(argc, argv, 1, &flags, &folder, &e);
    if (rc == 0 && flags.help) {
        printf("usage: dshost resume DIR [OPTIONS]\n\n"
               "Goes on with the run in folder DIR where it ended; --budget N extends a finished one.\n\n");
        ds_run_flags_help(1, stdout);
        rc = ds_stdout_done(&e);
    } else if (rc == 0 && ds_folder_has_landscape(folder)) {
        rc = resume_landscape(argv, &e);
    } else if (rc == 0) {
        json_t *summary = NULL;
        ds_signals_install();
        rc = ds_series_is(folder) ? ds_series_resume(folder, &flags.settings, &ds_pictures, &summary, &e)
                                  : ds_run_resume(folder, &flags.settings, &ds_pictures, &summary, &e);
        rc = ds_run_print(flags.json, folder, summary, rc, &e);
        json_decref(summary);
    }
    ds_settings_clear(&flags.settings);
    return ds_run_exit(rc, &e);
}
