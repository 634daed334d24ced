/* SPDX-License-Identifier: Apache-2.0 */
/* view_page.c - episodes as a page (see view_page.h). The template page/episodes.html has marks @NAME@, each
 * on a line of its own except inside the Content-Security-Policy. */
#include "config.h"

#include "view/view_page.h"

#include "base/file.h"
#include "base/json_text.h"
#include "base/text.h"
#include "plot/canvas.h"
#include "render/picture.h"
#include "render/render.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* ---- packing positions ---- */

/* Particles move little between frames: the high bytes of differences are nearly all 0, and runs of zeros
 * compress to almost nothing (zlib's strategy Z_RLE). */

/* The renderer's limit. */
#define FAR_AWAY 50.0

/* ---- frames ---- */

static uint64_t numbers_of(const ds_snapshot *s)
{
    uint64_t n = 0;
    for (uint64_t b = 0; b < s->bodies; b++) {
        n += s->body[b].count * s->body[b].width;
    }
    return n > 0 ? n : 1;
}

static uint64_t up(uint64_t a, uint64_t b)
{
    return a / b + (a % b > 0);
}

int ds_pack_frames_choose(const ds_snapshot *s, uint64_t every, size_t episodes, ds_pack_frames *out,
                          ds_error *e)
{
    if (every == 0) {
        const uint64_t room = DS_PACK_NUMBERS / episodes / numbers_of(s) + 2;
        const uint64_t most = room < DS_PACK_FRAMES ? room : DS_PACK_FRAMES;
        every = s->kept > most ? up(s->kept - 1, most - 1) : 1;
    }
    out->count = 0;
    out->kept = calloc((size_t)(up(s->kept, every) + 1), sizeof *out->kept);
    if (out->kept == NULL) {
        return ds_no_memory(e);
    }
    for (uint64_t k = 0; k < s->kept; k += every) {
        out->kept[out->count++] = k;
    }
    if (out->kept[out->count - 1] != s->kept - 1) {
        out->kept[out->count++] = s->kept - 1;
    }
    return 0;
}

/* ---- whole numbers ---- */

/* The box, for elements that are too far away. */
typedef struct reach {
    double center[3], far;
} reach;

static reach reach_of(const ds_snapshot *s)
{
    reach r;
    double sum = 0;
    for (int c = 0; c < 3; c++) {
        const double d = s->box[3 + c] - s->box[c];
        r.center[c] = s->box[c] + d / 2;
        sum += d * d;
    }
    r.far = FAR_AWAY * sqrt(sum);
    return r;
}

static int is_drawn(const reach *r, const double *v, uint32_t width)
{
    for (uint32_t c = 0; c < width; c++) {
        if (c < 3 ? !(fabs(v[c] - r->center[c]) < r->far) : !isfinite(v[c])) {
            return 0;
        }
    }
    return 1;
}

static int moves(const ds_snapshot *s, uint64_t b, const ds_pack_frames *frames)
{
    const size_t bytes = (size_t)(s->body[b].count * s->body[b].width) * sizeof(double);
    for (uint64_t k = 1; k < frames->count; k++) {
        if (memcmp(ds_snapshot_at(s, frames->kept[0], b), ds_snapshot_at(s, frames->kept[k], b), bytes) !=
            0) {
            return 1;
        }
    }
    return 0;
}

static void pack_measure(const ds_snapshot *s, uint64_t b, const ds_pack_frames *frames, ds_pack_range *out)
{
    const ds_snapshot_body *body = &s->body[b];
    const reach r = reach_of(s);
    /* Only the first frame of a target counts (diffsim/ext/scene.h). */
    out->frames = body->role != DS_ROLE_TARGET && moves(s, b, frames) ? frames->count : 1;
    for (uint32_t c = 0; c < 7; c++) {
        out->low[c] = (double)INFINITY;
        out->high[c] = -(double)INFINITY;
    }
    for (uint64_t k = 0; k < out->frames; k++) {
        const double *v = ds_snapshot_at(s, frames->kept[k], b);
        for (uint64_t i = 0; i < body->count; i++, v += body->width) {
            if (!is_drawn(&r, v, body->width)) {
                continue;
            }
            for (uint32_t c = 0; c < body->width; c++) {
                out->low[c] = v[c] < out->low[c] ? v[c] : out->low[c];
                out->high[c] = v[c] > out->high[c] ? v[c] : out->high[c];
            }
        }
    }
    for (uint32_t c = 0; c < 7; c++) { /* nothing is drawn, or the component does not exist */
        if (!(out->low[c] <= out->high[c])) {
            out->low[c] = out->high[c] = 0;
        }
    }
}

static void quantise(const ds_snapshot *s, uint64_t b, uint64_t kept, const ds_pack_range *range,
                     const reach *r, uint16_t *out)
{
    const ds_snapshot_body *body = &s->body[b];
    const double *v = ds_snapshot_at(s, kept, b);
    double scale[7];
    for (uint32_t c = 0; c < body->width; c++) {
        const double span = range->high[c] - range->low[c];
        scale[c] = span > 1e-290 && isfinite(span) ? DS_PACK_LEVELS / span : 0;
    }
    for (uint64_t i = 0; i < body->count; i++, v += body->width) {
        const int drawn = is_drawn(r, v, body->width);
        for (uint32_t c = 0; c < body->width; c++) {
            /* Positive, so that adding a half and truncating rounds. */
            out[c * body->count + i] = !drawn         ? DS_PACK_NOTHING
                                       : scale[c] > 0 ? (uint16_t)((v[c] - range->low[c]) * scale[c] + 0.5)
                                                      : 0;
        }
    }
}

/* ---- the stream ---- */

enum { OUT = 48 << 10 /* a multiple of 3, so that pieces of base64 can be joined */ };

typedef struct stream {
    z_stream z;
    FILE *f;
    unsigned char out[OUT];
} stream;

static int open_stream(stream *s, FILE *f, ds_error *e)
{
    memset(&s->z, 0, sizeof s->z);
    s->f = f;
    s->z.next_out = s->out;
    s->z.avail_out = OUT;
    return deflateInit2(&s->z, 6, Z_DEFLATED, 15, 9, Z_RLE) == Z_OK ? 0 : ds_no_memory(e);
}

/* Compresses n bytes; `flush` is Z_NO_FLUSH, or Z_FINISH for the last ones. */
static void put(stream *s, unsigned char *data, size_t n, int flush)
{
    int status = Z_OK;
    while (status == Z_OK && (n > 0 || flush == Z_FINISH || s->z.avail_in > 0)) {
        if (s->z.avail_in == 0) {
            const size_t part = n < ((size_t)1 << 30) ? n : (size_t)1 << 30;
            s->z.next_in = data;
            s->z.avail_in = (uInt)part;
            data += part;
            n -= part;
        }
        status = deflate(&s->z, n > 0 ? Z_NO_FLUSH : flush);
        if (s->z.avail_out == 0 || status == Z_STREAM_END) {
            ds_put_base64(s->f, s->out, OUT - s->z.avail_out);
            s->z.next_out = s->out;
            s->z.avail_out = OUT;
        }
    }
}

static unsigned zigzag(int16_t d)
{
    return d >= 0 ? 2u * (unsigned)d : 2u * (unsigned)-(d + 1) + 1u;
}

/* The differences of one frame as byte planes; `now` becomes the reference of the next frame. */
static void difference(const uint16_t *now, const uint16_t *before, uint64_t count, uint64_t n,
                       unsigned char *out)
{
    for (uint64_t i = 0; i < n; i++) {
        const unsigned from = before != NULL ? before[i] : i % count > 0 ? now[i - 1] : 0;
        const unsigned z = zigzag((int16_t)(uint16_t)(now[i] - from));
        out[i] = (unsigned char)(z & 255);
        out[n + i] = (unsigned char)(z >> 8);
    }
}

/* Writes the block of a body: base64 of a zlib stream. Per frame: the first component (x) of all elements,
 * then the second, and so on, as differences modulo 65536 to the previous frame (in the first frame: to the
 * previous element, of the first element to 0); d >= 0 as 2 d, d < 0 as -2 d - 1; first all low bytes, then
 * all high bytes. Memory does not depend on the number of frames. DS_EXIT_MEMORY on failure; the caller
 * checks `f`. */
static int pack_positions(FILE *f, const ds_snapshot *s, uint64_t b, const ds_pack_frames *frames,
                          const ds_pack_range *range, ds_error *e)
{
    const ds_snapshot_body *body = &s->body[b];
    const uint64_t n = body->count * body->width;
    const reach r = reach_of(s);
    uint16_t *q = calloc((size_t)n, 2 * sizeof *q);
    unsigned char *bytes = malloc((size_t)n * 2);
    stream *z = malloc(sizeof *z);
    int rc = q == NULL || bytes == NULL || z == NULL ? ds_no_memory(e) : open_stream(z, f, e);
    if (rc == 0) {
        for (uint64_t k = 0; k < range->frames; k++) {
            uint16_t *now = q + k % 2 * n, *before = q + (k + 1) % 2 * n;
            quantise(s, b, frames->kept[k], range, &r, now);
            difference(now, k > 0 ? before : NULL, body->count, n, bytes);
            put(z, bytes, (size_t)n * 2, k + 1 == range->frames ? Z_FINISH : Z_NO_FLUSH);
        }
        deflateEnd(&z->z);
    }
    free(q);
    free(bytes);
    free(z);
    return rc;
}

/* The vertex numbers of a mesh or of lines: 32-bit differences to the previous number in four byte planes,
 * the lowest first. */
static int pack_index(FILE *f, const ds_snapshot_body *body, ds_error *e)
{
    const size_t n = (size_t)body->index_count;
    unsigned char *bytes = malloc(4 * n + 1);
    stream *z = malloc(sizeof *z);
    int rc = bytes == NULL || z == NULL ? ds_no_memory(e) : open_stream(z, f, e);
    if (rc == 0) {
        for (size_t i = 0; i < n; i++) {
            const uint32_t d = body->index[i] - (i > 0 ? body->index[i - 1] : 0);
            for (size_t p = 0; p < 4; p++) {
                bytes[p * n + i] = (unsigned char)(d >> 8 * p & 255);
            }
        }
        put(z, bytes, 4 * n, Z_FINISH);
        deflateEnd(&z->z);
    }
    free(bytes);
    free(z);
    return rc;
}

enum {
    STILL_WIDTH = 480,
    STILL_HEIGHT = 400,
    DIGITS = 15 /* ends of ranges are exact to 1/65534 of the range */
};

/* A page being written. */
typedef struct page {
    const ds_view_episodes *all;
    ds_pack_frames *frames; /* of each episode */
    ds_pack_range **range;  /* of each body of each episode */
    FILE *f;
    int rc;
    ds_error *e;
} page;

/* ---- data for the script ---- */

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

static json_t *describe_options(const ds_view_options *o, const ds_snapshot *first)
{
    json_t *camera = json_null();
    if (o->camera_set) {
        camera = ds_json_reals((const double[]){o->azimuth, o->elevation, o->zoom}, 3);
    } else if (first->camera) {
        camera =
            ds_json_reals((const double[]){first->azimuth, first->elevation, o->zoom > 0 ? o->zoom : 1}, 3);
    }
    return ds_json_object((const ds_json_entry[]){
        {"camera", camera},
        {"orbit", ds_json_real(o->orbit)},
        {"fps", ds_json_real(o->fps)},
        {"background", o->background != NULL ? json_string(o->background) : json_null()},
        {"caption", o->caption != NULL ? ds_json_text(o->caption) : json_null()},
        {0}});
}

/* As text of a script element that nothing in it can end. */
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
    put_json(p, ds_json_object((const ds_json_entry[]){
                    {"format", json_integer(1)},
                    {"options", describe_options(&p->all->options, p->all->item[0].scene)},
                    {"episodes", episodes},
                    {0}}));
}

/* ---- blocks and images ---- */

/* "pE-B" positions, "iE-B" vertex numbers of body B of episode E. */
static void put_blocks(page *p)
{
    for (size_t i = 0; i < p->all->count; i++) {
        const ds_snapshot *s = p->all->item[i].scene;
        for (uint64_t b = 0; b < s->bodies && p->rc == 0; b++) {
            fprintf(p->f, "<script type=\"text/plain\" id=\"p%zu-%u\">", i, (unsigned)b);
            p->rc = pack_positions(p->f, s, b, &p->frames[i], &p->range[i][b], p->e);
            fputs("</script>\n", p->f);
            if (s->body[b].index_count > 0 && p->rc == 0) {
                fprintf(p->f, "<script type=\"text/plain\" id=\"i%zu-%u\">", i, (unsigned)b);
                p->rc = pack_index(p->f, &s->body[b], p->e);
                fputs("</script>\n", p->f);
            }
        }
    }
}

static void put_stills(page *p)
{
    for (size_t i = 0; i < p->all->count && p->rc == 0; i++) {
        const ds_view_episode *episode = &p->all->item[i];
        unsigned char *png = NULL;
        size_t size = 0;
        p->rc = ds_picture_still(episode->scene, episode->scene->kept - 1, STILL_WIDTH, STILL_HEIGHT, &png,
                                 &size, p->e);
        if (p->rc == 0) {
            fputs("<figure><img alt=\"the end of the episode\" src=\"data:image/png;base64,", p->f);
            ds_put_base64(p->f, png, size);
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
            pack_measure(s, b, &p->frames[i], &p->range[i][b]);
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
        fclose(f); /* write errors are kept by the file */
    }
    if (rc == 0) {
        rc = ds_file_commit(file, e);
    } else {
        ds_file_abort(file);
    }
    return rc;
}
