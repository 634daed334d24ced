/* SPDX-License-Identifier: Apache-2.0 */
/* report_pictures.c - see report_pictures.h. */
#include "config.h"

#include "report/report_pictures.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "eval/best_picture.h"
#include "store/run_folder.h"

void ds_report_file_name(char *out, size_t room, const char *kind, const char *name)
{
    snprintf(out, room, "%s%s%.100s", kind, name[0] != '\0' ? "-" : "", name);
    for (char *c = out; *c != '\0'; c++) {
        *c = strchr("/\\ \t", *c) != NULL ? '_' : *c;
    }
}

char *ds_report_picture_path(const ds_report *r, size_t env, const char *folder)
{
    char name[200], *path = NULL;
    ds_report_file_name(name, sizeof name, "best", r->env[env].name);
    return asprintf(&path, "%s/figures/%s.png", folder, name) < 0 ? NULL : path;
}

static int has_picture(const ds_result *run)
{
    char *path = ds_folder_path(run->folder, "best.png");
    int has = path != NULL && access(path, R_OK) == 0;
    free(path);
    return has;
}

int ds_report_pictures(const ds_report *r, const char *folder, int draw, ds_error *e)
{
    char *figures = ds_folder_path(folder, "figures");
    int rc = figures == NULL ? ds_no_memory(e) : ds_folder_make(figures, e);
    for (size_t i = 0; rc == 0 && i < r->envs; i++) {
        const ds_result *run = r->env[i].best_run;
        ds_error why = {0, ""};
        char *path = ds_report_picture_path(r, i, folder);
        if (path == NULL) {
            rc = ds_no_memory(e);
        } else if (unlink(path) != 0 && errno != ENOENT) {
            rc = ds_fail(e, DS_EXIT_IO, "%s: %s", path, strerror(errno));
        } else if (draw && run != NULL && !has_picture(run) && ds_best_picture_of_run(run, path, &why) != 0) {
            ds_log(DS_LOG_WARNING, NULL, "%s: no picture of the best episode: %s", r->env[i].name, why.text);
        }
        free(path);
    }
    free(figures);
    return rc;
}
