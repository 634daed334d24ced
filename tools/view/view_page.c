/* SPDX-License-Identifier: Apache-2.0 */
/* view_page.c - see view_page.h. The template page/episodes.html has marks of the form @NAME@, each on a line
 * of its own but for those within the Content-Security-Policy. */
#include "config.h"

#include "view/view_page.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json_text.h"
#include "base/text.h"
#include "plot/canvas_svg.h"
#include "render/picture.h"
#include "render/render.h"
#include "view/page_files.h"
#include "view/view_pack.h"

enum {
    STILL_WIDTH = 480,
    STILL_HEIGHT = 400,
    DIGITS = 15 /* ends of ranges: within 1/65534 of them, wherever they lie */
};

/* One page being written. */
typedef struct page {
    const ds_view_episodes *all;
    ds_pack_frames *frames; /* of each episode */
    ds_pack_range **range;  /* of each body of each episode */
    FILE *f;
    int rc;
    ds_error *e;
} page;

/* ---- what the script has to know ---- */

static const char *const shapes[] = {
    [DS_BODY_POINTS] = "points",     [DS_BODY_SPHERE] = "sphere", [DS_BODY_CAPSULE] = "capsule",
    [DS_BODY_CYLINDER] = "cylinder", [DS_BODY_TORUS] = "torus",   [DS_BODY_BOX] = "box",
    [DS_BODY_MESH] = "mesh",         [DS_BODY_LINES] = "lines"};
static const char *const roles[] = {[DS_ROLE_MATERIAL] = "material",
                                    [DS_ROLE_TOOL] = "tool",
                                    [DS_ROLE_FIXED] = "fixed",
                                    [DS_ROLE_TARGET] = "target"};

static json_t *describe_body(const ds_snapshot *s, uint64_t b, const ds_pack_range *range)
{
    const ds_snapshot_body *body = &s->body[b];
    char color[8];
    snprintf(color, sizeof color, "#%06x", (unsigned)ds_render_color(body->role, body->variety));
    return ds_json_object((const ds_json_entry[]){
        {"name", ds_json_text(body->name)},
        {"shape", json_string(shapes[body->shape])},
        {"role", json_string(roles[body->role])},
        {"color", json_string(color)},
        {"count", ds_json_whole(body->count)},
        {"width", ds_json_whole(body->width)},
        {"size", ds_json_reals(body->size, (uint64_t)ds_scene_size_count(body->shape))},
        {"drawn", ds_json_real(ds_render_radius(s, b))},
        {"frames", ds_json_whole(range->frames)},
        {"low", ds_json_reals(range->low, body->width)},
        {"high", ds_json_reals(range->high, body->width)},
        {"index", ds_json_whole(body->index_count)},
        {0}});
}

static json_t *describe_metric(const ds_snapshot *s, const ds_snapshot_metric *m,
                               const ds_pack_frames *frames)
{
    json_t *values = json_array();
    for (uint64_t k = 0; k < frames->count; k++) {
        json_array_append_new(values, ds_json_real(m->values[s->frame[frames->kept[k]]]));
    }
    return ds_json_object((const ds_json_entry[]){
        {"name", ds_json_text(m->name)}, {"unit", ds_json_text(m->unit)}, {"values", values}, {0}});
}

static json_t *describe_episode(const page *p, size_t i)
{
    const ds_view_episode *episode = &p->all->item[i];
    const ds_snapshot *s = episode->scene;
    json_t *frame = json_array(), *bodies = json_array(), *metrics = json_array();
    for (uint64_t k = 0; k < p->frames[i].count; k++) {
        json_array_append_new(frame, ds_json_whole(s->frame[p->frames[i].kept[k]]));
    }
    for (uint64_t b = 0; b < s->bodies; b++) {
        json_array_append_new(bodies, describe_body(s, b, &p->range[i][b]));
    }
    for (uint64_t m = 0; m < s->metrics; m++) {
        json_array_append_new(metrics, describe_metric(s, &s->metric[m], &p->frames[i]));
    }
    return ds_json_object((const ds_json_entry[]){{"title", ds_json_text(episode->title)},
                                                  {"settings", ds_json_text(episode->settings)},
                                                  {"loss", ds_json_real(episode->loss)},
                                                  {"dt", ds_json_real(s->dt)},
                                                  {"frame", frame},
                                                  {"frames", ds_json_whole(s->frames)},
                                                  {"whole", ds_json_whole(episode->whole)},
                                                  {"flat", ds_json_whole(s->flat)},
                                                  {"box", ds_json_reals(s->box, 6)},
                                                  {"ground", ds_json_real(s->ground)},
                                                  {"grid", ds_json_real(ds_render_spacing(s))},
                                                  {"elevation", ds_json_real(ds_render_elevation(s))},
                                                  {"bodies", bodies},
                                                  {"metrics", metrics},
                                                  {0}});
}

static json_t *describe_options(const ds_view_options *o)
{
    json_t *camera = json_null();
    if (o->camera_set) {
        camera = ds_json_reals((const double[]){o->azimuth, o->elevation, o->zoom}, 3);
    }
    return ds_json_object((const ds_json_entry[]){
        {"camera", camera},
        {"orbit", ds_json_real(o->orbit)},
        {"fps", ds_json_real(o->fps)},
        {"background", o->background != NULL ? json_string(o->background) : json_null()},
        {"caption", o->caption != NULL ? ds_json_text(o->caption) : json_null()},
        {0}});
}

/* As text of a script element: nothing in it can end one. */
static void put_json(page *p, json_t *o)
{
    char *text =
        o != NULL ? json_dumps(o, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(DIGITS)) : NULL;
    if (text == NULL) {
        p->rc = ds_no_memory(p->e);
    }
    for (const char *c = text; c != NULL && *c != '\0'; c++) {
        if (*c == '<' || *c == '>' || *c == '&') {
            fprintf(p->f, "\\u%04x", (unsigned)*c);
        } else {
            fputc(*c, p->f);
        }
    }
    fputc('\n', p->f);
    free(text);
    json_decref(o);
}

static void put_description(page *p)
{
    json_t *episodes = json_array();
    for (size_t i = 0; i < p->all->count; i++) {
        json_array_append_new(episodes, describe_episode(p, i));
    }
    put_json(p, ds_json_object((const ds_json_entry[]){{"format", json_integer(1)},
                                                       {"options", describe_options(&p->all->options)},
                                                       {"episodes", episodes},
                                                       {0}}));
}

/* ---- blocks and pictures ---- */

/* "pE-B" positions, "iE-B" index numbers of body B of episode E. */
static void put_blocks(page *p)
{
    for (size_t i = 0; i < p->all->count; i++) {
        const ds_snapshot *s = p->all->item[i].scene;
        for (uint64_t b = 0; b < s->bodies && p->rc == 0; b++) {
            fprintf(p->f, "<script type=\"text/plain\" id=\"p%zu-%u\">", i, (unsigned)b);
            p->rc = ds_pack_positions(p->f, s, b, &p->frames[i], &p->range[i][b], p->e);
            fputs("</script>\n", p->f);
            if (s->body[b].index_count > 0 && p->rc == 0) {
                fprintf(p->f, "<script type=\"text/plain\" id=\"i%zu-%u\">", i, (unsigned)b);
                p->rc = ds_pack_index(p->f, &s->body[b], p->e);
                fputs("</script>\n", p->f);
            }
        }
    }
}

static void put_stills(page *p)
{
    for (size_t i = 0; i < p->all->count && p->rc == 0; i++) {
        const ds_view_episode *episode = &p->all->item[i];
        char *png = NULL;
        size_t size = 0;
        p->rc = ds_picture_still(episode->scene, episode->scene->kept - 1, STILL_WIDTH, STILL_HEIGHT, &png,
                                 &size, p->e);
        if (p->rc == 0) {
            fputs("<figure><img alt=\"the end of the episode\" src=\"data:image/png;base64,", p->f);
            ds_put_base64(p->f, (const unsigned char *)png, size);
            fputs("\"><figcaption>", p->f);
            ds_text_html(p->f, episode->title);
            fputs("</figcaption></figure>\n", p->f);
        }
        free(png);
    }
}

/* ---- the template ---- */

static void put_file(FILE *f, const char *const *line)
{
    for (; *line != NULL; line++) {
        fputs(*line, f);
        fputc('\n', f);
    }
}

static void put_title(page *p)
{
    const char *caption = p->all->options.caption;
    ds_text_html(p->f, caption != NULL && caption[0] != '\0' ? caption : p->all->item[0].title);
    if (p->all->count > 1 && caption == NULL) {
        fprintf(p->f, " and %zu more", p->all->count - 1);
    }
}

static void put_mark(page *p, const char *mark, size_t length)
{
    static const struct {
        const char *name;
        void (*put)(page *p);
        const char *const *lines;
    } marks[] = {{"TITLE", put_title, NULL},
                 {"STYLE", NULL, ds_page_episodes_css},
                 {"SCRIPT", NULL, ds_page_episodes_js},
                 {"DESCRIPTION", put_description, NULL},
                 {"BLOCKS", put_blocks, NULL},
                 {"STILLS", put_stills, NULL}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (strlen(marks[i].name) == length && strncmp(marks[i].name, mark, length) == 0) {
            if (marks[i].put != NULL) {
                marks[i].put(p);
            } else {
                put_file(p->f, marks[i].lines);
            }
            return;
        }
    }
    const int script = length == 10 && strncmp(mark, "SCRIPT-SUM", length) == 0;
    fputs(script ? ds_page_episodes_js_sum : ds_page_episodes_css_sum, p->f);
}

static void put_page(page *p)
{
    for (const char *const *line = ds_page_episodes_html; *line != NULL && p->rc == 0; line++) {
        const char *at = *line, *mark, *end;
        while ((mark = strchr(at, '@')) != NULL && (end = strchr(mark + 1, '@')) != NULL) {
            fwrite(at, 1, (size_t)(mark - at), p->f);
            put_mark(p, mark + 1, (size_t)(end - mark - 1));
            at = end + 1;
        }
        fputs(at, p->f);
        fputc('\n', p->f);
    }
}

/* ---- the file ---- */

static ssize_t to_file(void *file, const char *data, size_t n)
{
    return ds_file_write(file, data, n, NULL) == 0 ? (ssize_t)n : 0;
}

static int prepare(page *p)
{
    p->frames = calloc(p->all->count, sizeof *p->frames);
    p->range = calloc(p->all->count, sizeof *p->range);
    if (p->frames == NULL || p->range == NULL) {
        return ds_no_memory(p->e);
    }
    for (size_t i = 0; i < p->all->count; i++) {
        const ds_snapshot *s = p->all->item[i].scene;
        p->range[i] = calloc((size_t)s->bodies + 1, sizeof *p->range[i]);
        int rc = p->range[i] == NULL
                     ? ds_no_memory(p->e)
                     : ds_pack_frames_choose(s, p->all->options.every, p->all->count, &p->frames[i], p->e);
        for (uint64_t b = 0; rc == 0 && b < s->bodies; b++) {
            ds_pack_measure(s, b, &p->frames[i], &p->range[i][b]);
        }
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

static void forget(page *p)
{
    for (size_t i = 0; i < p->all->count; i++) {
        free(p->range != NULL ? p->range[i] : NULL);
        free(p->frames != NULL ? p->frames[i].kept : NULL);
    }
    free(p->range);
    free(p->frames);
}

int ds_view_page_put(FILE *f, const ds_view_episodes *episodes, ds_error *e)
{
    page p = {.all = episodes, .f = f, .e = e};
    p.rc = prepare(&p);
    if (p.rc == 0) {
        put_page(&p);
    }
    forget(&p);
    return p.rc;
}

int ds_view_page(const char *path, const ds_view_episodes *episodes, ds_error *e)
{
    ds_file *file = NULL;
    int rc = ds_file_open(&file, path, e);
    if (rc != 0) {
        return rc;
    }
    FILE *f = fopencookie(file, "w", (cookie_io_functions_t){.write = to_file});
    rc = f == NULL ? ds_no_memory(e) : 0;
    if (rc == 0) {
        setvbuf(f, NULL, _IOFBF, 64 << 10);
        rc = ds_view_page_put(f, episodes, e);
        fclose(f); /* a failure of writing is kept by the file */
    }
    if (rc == 0) {
        rc = ds_file_commit(file, e);
    } else {
        ds_file_abort(file);
    }
    return rc;
}
