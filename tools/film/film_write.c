/* SPDX-License-Identifier: Apache-2.0 */
/* film_write.c - see film_write.h. */
#include "config.h"

#include "film/film_write.h"

#include <stdlib.h>

int ds_film_write(const char *path, const ds_view_episodes *episodes, const ds_film_format *format,
                  ds_error *e)
{
    ds_film *film = NULL;
    ds_film_plan plan = {0};
    uint32_t *pixels = NULL;
    void *self = NULL;
    int status = ds_film_open(&film, &plan, path, episodes, e);
    if (status == 0) {
        pixels = malloc((size_t)plan.width * (size_t)plan.height * sizeof *pixels);
        self = calloc(1, format->size);
        status = pixels == NULL || self == NULL ? ds_no_memory(e) : 0;
    }
    if (status == 0) {
        status = format->begin(self, path, &plan, e);
        for (uint64_t i = 0; i < plan.frames && status == 0; i++) {
            status = ds_film_draw(film, i, pixels, e);
            status = status != 0 ? status : format->frame(self, i, pixels, e);
        }
        status = format->end(self, status, e);
    }
    free(self);
    free(pixels);
    ds_film_close(film);
    return status;
}
