/* SPDX-License-Identifier: Apache-2.0 */
/* series.c - see series.h. */
#include "config.h"

#include "exchange/series.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"

static int is_finite_frame(const ds_snapshot *scene, uint64_t k)
{
    for (uint64_t b = 0; b < scene->bodies; b++) {
        const double *v = ds_snapshot_at(scene, k, b);
        for (uint64_t i = 0; i < scene->body[b].count * scene->body[b].width; i++) {
            if (!isfinite(v[i])) {
                return 0;
            }
        }
    }
    return 1;
}

int ds_series_open(ds_series *s, const char *path, const ds_view_episodes *episodes, uint64_t every,
                   ds_error *e)
{
    *s = (ds_series){.path = path, .episode = &episodes->item[0], .every = every > 0 ? every : 1};
    int status = ds_present_make(episodes->item[0].scene, &s->present, e);
    const ds_snapshot *scene = s->scene = &s->present.scene;
    if (status != 0) {
        return status;
    }
    if (scene->bodies == 0) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: no position of the first frame is finite: there is nothing to write", path);
    }
    while (s->usable < scene->kept && is_finite_frame(scene, s->usable)) {
        s->usable++;
    }
    if (s->present.missing > 0) {
        ds_log(DS_LOG_WARNING, NULL,
               "%s: %" PRIu64 " element%s whose positions are not finite in the first frame %s left out",
               path, s->present.missing, s->present.missing == 1 ? "" : "s",
               s->present.missing == 1 ? "is" : "are");
    }
    if (s->usable < scene->kept) {
        ds_log(DS_LOG_WARNING, NULL,
               "%s: positions of frame %" PRIu64 " are not finite: it ends before that one", path,
               scene->frame[s->usable]);
    }
    s->count = (s->usable - 1 + s->every - 1) / s->every + 1;
    return ds_surfaces_make(scene, &s->surface, e);
}

void ds_series_close(ds_series *s)
{
    if (s->scene != NULL) {
        ds_surfaces_free(s->scene, s->surface);
    }
    ds_present_clear(&s->present);
}

uint64_t ds_series_frame(const ds_series *s, uint64_t i)
{
    return i + 1 == s->count ? s->usable - 1 : i * s->every;
}

char *ds_series_name(const ds_series *s, uint64_t i, const char *ending)
{
    char *name = NULL;
    const char *own = ds_text_ending(s->path);
    const size_t stem = strlen(s->path) - strlen(own) - (own[0] != '\0');
    int digits = snprintf(NULL, 0, "%" PRIu64, s->scene->frame[s->usable - 1]);
    digits = digits < 4 ? 4 : digits;
    ending = ending != NULL ? ending : own;
    const int n = s->count == 1 ? asprintf(&name, "%.*s.%s", (int)stem, s->path, ending)
                                : asprintf(&name, "%.*s-%0*" PRIu64 ".%s", (int)stem, s->path, digits,
                                           s->scene->frame[ds_series_frame(s, i)], ending);
    return n < 0 ? NULL : name;
}

uint64_t ds_series_vertices(const ds_series *s)
{
    uint64_t n = 0;
    for (uint64_t b = 0; b < s->scene->bodies; b++) {
        n += s->surface[b].vertices;
    }
    return n;
}

uint64_t ds_series_cells(const ds_series *s)
{
    uint64_t n = 0;
    for (uint64_t b = 0; b < s->scene->bodies; b++) {
        n += s->surface[b].cells;
    }
    return n;
}

void ds_series_place(const ds_series *s, uint64_t k, double *xyz)
{
    for (uint64_t b = 0; b < s->scene->bodies; b++) {
        ds_surface_place(&s->surface[b], ds_snapshot_at(s->scene, k, b), xyz);
        xyz += 3 * s->surface[b].vertices;
    }
}

void ds_series_remove(const ds_series *s, const char *ending, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        char *name = ds_series_name(s, i, ending);
        if (name != NULL) {
            unlink(name);
        }
        free(name);
    }
}

int ds_series_files(const ds_series *s, const char *ending, ds_series_write *write, ds_error *e)
{
    int status = 0;
    uint64_t done = 0;
    while (done < s->count && status == 0) {
        char *name = ds_series_name(s, done, ending);
        status = name == NULL ? ds_no_memory(e) : write(s, ds_series_frame(s, done), name, e);
        done += status == 0;
        free(name);
    }
    if (status != 0) {
        ds_series_remove(s, ending, done);
    }
    return status;
}
