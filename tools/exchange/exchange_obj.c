/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_obj.c - a sequence of Wavefront OBJ files, an object for each body, and one MTL file of
 * their colours. */
#include "config.h"

#include "exchange/exchange.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "exchange/series.h"
#include "plot/plot_color.h"
#include "render/render.h"
#include "results/printer.h"

static void put_body(ds_printer *p, const ds_surface *s, const double *xyz, uint64_t before)
{
    static const char *const cell[] = {"", "p", "l", "f"};
    ds_print(p, "o %s\nusemtl %s\n", s->body->name, s->body->name);
    for (uint64_t i = 0; i < s->vertices; i++) {
        ds_print(p, "v %.10g %.10g %.10g\n", xyz[3 * i], xyz[3 * i + 1], xyz[3 * i + 2]);
    }
    for (uint64_t i = 0; i < s->cells; i++) {
        ds_print(p, "%s", cell[s->corners]);
        for (uint32_t c = 0; c < s->corners; c++) { /* numbers go on from body to body, and begin with 1 */
            ds_print(p, " %" PRIu64, before + s->index[i * s->corners + c] + 1);
        }
        ds_print(p, "\n");
    }
}

/* Its colours, beside the frames: "episode.mtl" of "out/episode.obj". */
static char *colors_of(const char *path)
{
    const size_t stem = strlen(path) - strlen(ds_text_ending(path));
    char *name = NULL;
    return asprintf(&name, "%.*smtl", (int)stem, path) < 0 ? NULL : name;
}

static int write_frame(const ds_series *s, uint64_t k, const char *path, ds_error *e)
{
    ds_printer *p = NULL;
    double *xyz = malloc((size_t)(3 * ds_series_vertices(s) + 1) * sizeof *xyz);
    char *colors = colors_of(s->path);
    int status = xyz == NULL || colors == NULL ? ds_no_memory(e) : ds_printer_open(path, &p, e);
    if (status == 0) {
        const char *slash = strrchr(colors, '/');
        ds_series_place(s, k, xyz);
        ds_print(p, "# %s\n# frame %" PRIu64 ", time %.17g s, metres, y is up\nmtllib %s\n",
                 s->episode->title, s->scene->frame[k], (double)s->scene->frame[k] * s->scene->dt,
                 slash != NULL ? slash + 1 : colors);
        uint64_t before = 0;
        for (uint64_t b = 0; b < s->scene->bodies; before += s->surface[b++].vertices) {
            put_body(p, &s->surface[b], xyz + 3 * before, before);
        }
        status = ds_printer_close(p, 0, e);
    }
    free(xyz);
    free(colors);
    return status;
}

static int write_colors(const ds_series *s, ds_error *e)
{
    ds_printer *p = NULL;
    char *path = colors_of(s->path);
    int status = path == NULL ? ds_no_memory(e) : ds_printer_open(path, &p, e);
    for (uint64_t b = 0; status == 0 && b < s->scene->bodies; b++) {
        const ds_snapshot_body *body = &s->scene->body[b];
        const ds_color c = ds_color_hex(ds_render_color(body->role, body->variety), 1);
        ds_print(p, "newmtl %s\nKd %.4f %.4f %.4f\nd %.2f\n", body->name, c.r, c.g, c.b,
                 body->role == DS_ROLE_TARGET ? 0.4 : 1.0);
    }
    free(path);
    return status != 0 ? status : ds_printer_close(p, 0, e);
}

int ds_exchange_obj(const char *path, const ds_view_episodes *episodes, ds_error *e)
{
    ds_series s;
    int status = ds_series_open(&s, path, episodes, episodes->options.every, e);
    status = status != 0 ? status : ds_series_files(&s, NULL, write_frame, e);
    if (status == 0 && (status = write_colors(&s, e)) != 0) {
        ds_series_remove(&s, NULL, s.count);
    }
    ds_series_close(&s);
    return status;
}
