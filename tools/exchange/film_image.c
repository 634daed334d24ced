/* SPDX-License-Identifier: Apache-2.0 */
/* film_image.c - films as animated images: PNG and WebP (see film.h). */
#include "config.h"

#include "base/file.h"
#include "exchange/film.h"
#include "exchange/film_frame.h"
#include "plot/png.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#ifdef HAVE_WEBP
#include <webp/encode.h>
#include <webp/mux.h>
#endif

/* ---- animated PNG: Portable Network Graphics, third edition (W3C), sections 11.2 and 11.3.6 ---- */

/* Frames after the first one hold the rectangle that has changed. */

enum { PIECE = 1 << 16, LEVEL = 6, FILTERS = 5 };

typedef struct png {
    const char *path;
    ds_film_plan plan;
    ds_file *file;
    uint32_t sequence;   /* of the next fcTL or fdAT */
    uint32_t *last;      /* previous frame */
    unsigned char *rows; /* two rows of bytes, then one of each filter */
    unsigned char *out;  /* compressed data, after room for a sequence number */
} png;

typedef struct box {
    int x, y, w, h;
} box;

/* ---- chunks ---- */

static int put_chunk(png *p, const char *type, const unsigned char *data, size_t n, ds_error *e)
{
    unsigned char head[DS_PNG_HEAD], tail[DS_PNG_TAIL];
    ds_png_chunk(type, data, n, head, tail);
    int status = ds_file_write(p->file, head, sizeof head, e);
    status = status != 0 || n == 0 ? status : ds_file_write(p->file, data, n, e);
    return status != 0 ? status : ds_file_write(p->file, tail, sizeof tail, e);
}

/* Writes compressed data of frame i, which follows the room for the sequence number. */
static int put_data(png *p, uint64_t i, size_t n, ds_error *e)
{
    if (i == 0) {
        return put_chunk(p, "IDAT", p->out + 4, n, e);
    }
    ds_png_word(p->out, p->sequence++);
    return put_chunk(p, "fdAT", p->out, n + 4, e);
}

static int put_control(png *p, uint64_t i, box b, ds_error *e)
{
    unsigned char c[26];
    const double s = 1 / p->plan.fps + (i + 1 == p->plan.frames ? DS_FILM_REST_S : 0);
    const int ms = (int)lround(fmin(60, s) * 1000);
    ds_png_word(c, p->sequence++);
    ds_png_word(c + 4, (uint32_t)b.w);
    ds_png_word(c + 8, (uint32_t)b.h);
    ds_png_word(c + 12, (uint32_t)b.x);
    ds_png_word(c + 16, (uint32_t)b.y);
    const unsigned char rest[6] = {(unsigned char)(ms >> 8),
                                   (unsigned char)ms,
                                   1000 >> 8,
                                   1000 & 255,
                                   0 /* dispose: leave it */,
                                   0 /* blend: replace */};
    memcpy(c + 20, rest, sizeof rest);
    return put_chunk(p, "fcTL", c, sizeof c, e);
}

/* ---- pixels ---- */

/* Bounding box of the pixels that differ from the previous frame; one pixel if none does. */
static box changed(const png *p, const uint32_t *pixels)
{
    const int w = p->plan.width, h = p->plan.height;
    int x0 = w, x1 = -1, y0 = h, y1 = -1;
    for (int y = 0; y < h; y++) {
        const uint32_t *now = pixels + (size_t)y * (size_t)w, *before = p->last + (size_t)y * (size_t)w;
        for (int x = 0; x < w; x++) {
            if (now[x] != before[x]) {
                x0 = x < x0 ? x : x0;
                x1 = x > x1 ? x : x1;
                y0 = y < y0 ? y : y0;
                y1 = y;
            }
        }
    }
    return x1 < 0 ? (box){0, 0, 1, 1} : (box){x0, y0, x1 - x0 + 1, y1 - y0 + 1};
}

static int paeth(int a, int b, int c)
{
    const int p = a + b - c, pa = abs(p - a), pb = abs(p - b), pc = abs(p - c);
    return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

/* Filters a row with the smallest sum of absolute differences, as the PNG specification recommends (12.8).
 * Returns the filter byte followed by the row. `row` and `above` have `n` bytes after three zeros. */
static const unsigned char *filtered(unsigned char *out, const unsigned char *row, const unsigned char *above,
                                     size_t n)
{
    unsigned long least = ~0ul;
    const unsigned char *best = out;
    for (int f = 0; f < FILTERS; f++, out += n + 1) {
        unsigned long sum = 0;
        out[0] = (unsigned char)f;
        for (size_t i = 0; i < n; i++) {
            const int a = row[i], b = above[i + 3], c = above[i];
            const int guess = f == 0 ? 0 : f == 1 ? a : f == 2 ? b : f == 3 ? (a + b) / 2 : paeth(a, b, c);
            const unsigned char v = (unsigned char)(row[i + 3] - guess);
            out[i + 1] = v;
            sum += v < 128 ? v : 256u - v;
        }
        if (sum < least) {
            least = sum;
            best = out;
        }
    }
    return best;
}

static int deflate_some(png *p, z_stream *z, int flush, uint64_t i, ds_error *e)
{
    int done = Z_OK;
    do {
        done = deflate(z, flush);
        const size_t n = PIECE - z->avail_out;
        if (z->avail_out == 0 || (done == Z_STREAM_END && n > 0)) {
            const int status = put_data(p, i, n, e);
            if (status != 0) {
                return status;
            }
            z->next_out = p->out + 4;
            z->avail_out = PIECE;
        }
    } while (flush == Z_FINISH ? done == Z_OK : z->avail_in > 0);
    return 0;
}

static int put_pixels(png *p, uint64_t i, const uint32_t *pixels, box b, ds_error *e)
{
    const size_t n = (size_t)b.w * 3;
    unsigned char *row = p->rows, *above = row + n + 3, *tried = above + n + 3;
    z_stream z = {.next_out = p->out + 4, .avail_out = PIECE};
    memset(p->rows, 0, 2 * (n + 3));
    if (deflateInit2(&z, LEVEL, Z_DEFLATED, 15, 9, Z_FILTERED) != Z_OK) {
        return ds_no_memory(e);
    }
    int status = 0;
    for (int y = 0; y < b.h && status == 0; y++) {
        const uint32_t *from = pixels + (size_t)(b.y + y) * (size_t)p->plan.width + (size_t)b.x;
        for (size_t x = 0; x < (size_t)b.w; x++) {
            row[3 * x + 3] = (unsigned char)(from[x] >> 16);
            row[3 * x + 4] = (unsigned char)(from[x] >> 8);
            row[3 * x + 5] = (unsigned char)from[x];
        }
        z.next_in = (unsigned char *)filtered(tried, row, above, n); /* zlib's type has no const */
        z.avail_in = (uInt)n + 1;
        status = deflate_some(p, &z, Z_NO_FLUSH, i, e);
        unsigned char *swap = row;
        row = above;
        above = swap;
    }
    status = status != 0 ? status : deflate_some(p, &z, Z_FINISH, i, e);
    deflateEnd(&z);
    return status;
}

/* ---- the file ---- */

static int png_begin(void *self, const char *path, const ds_film_plan *plan, ds_error *e)
{
    png *p = self;
    const size_t n = (size_t)plan->width * 3 + 3;
    unsigned char header[DS_PNG_HEADER], animation[8];
    p->path = path;
    p->plan = *plan;
    p->last = malloc((size_t)plan->width * (size_t)plan->height * sizeof *p->last);
    p->rows = malloc((2 + FILTERS) * n);
    p->out = malloc(4 + PIECE);
    if (p->last == NULL || p->rows == NULL || p->out == NULL) {
        return ds_no_memory(e);
    }
    ds_png_header(header, (uint32_t)plan->width, (uint32_t)plan->height);
    ds_png_word(animation, (uint32_t)plan->frames);
    ds_png_word(animation + 4, 0); /* repeats forever */
    int status = ds_file_open(&p->file, path, e);
    status = status != 0 ? status : ds_file_write(p->file, ds_png_signature, DS_PNG_SIGNATURE, e);
    status = status != 0 ? status : put_chunk(p, "IHDR", header, sizeof header, e);
    return status != 0 || plan->frames == 1 ? status : put_chunk(p, "acTL", animation, sizeof animation, e);
}

static int png_frame(void *self, uint64_t i, const uint32_t *pixels, ds_error *e)
{
    png *p = self;
    const box all = {0, 0, p->plan.width, p->plan.height}, b = i == 0 ? all : changed(p, pixels);
    int status = p->plan.frames == 1 ? 0 : put_control(p, i, b, e);
    status = status != 0 ? status : put_pixels(p, i, pixels, b, e);
    memcpy(p->last, pixels, (size_t)all.w * (size_t)all.h * sizeof *pixels);
    return status;
}

static int png_end(void *self, int status, ds_error *e)
{
    png *p = self;
    status = status != 0 ? status : put_chunk(p, "IEND", NULL, 0, e);
    if (status == 0) {
        status = ds_file_commit(p->file, e);
    } else {
        ds_file_abort(p->file);
    }
    free(p->last);
    free(p->rows);
    free(p->out);
    return status;
}

int ds_film_png(const char *path, const ds_view_episodes *episodes, ds_error *e)
{
    static const ds_film_format format = {
        .size = sizeof(png), .begin = png_begin, .frame = png_frame, .end = png_end};
    return ds_film_write(path, episodes, &format, e);
}

/* ---- animated WebP, by the encoder of libwebp that stores what changes from frame to frame ---- */

#ifdef HAVE_WEBP
enum { QUALITY = 92, METHOD = 4 };

typedef struct webp {
    const char *path;
    ds_film_plan plan;
    WebPAnimEncoder *encoder;
    WebPConfig config;
    uint32_t *argb; /* an opaque frame */
} webp;

/* Time in milliseconds at which frame i begins; i = frames: at which the last one ends. */
static int starts(const webp *w, uint64_t i)
{
    const double t = (double)i / w->plan.fps + (i == w->plan.frames && i > 1 ? DS_FILM_REST_S : 0);
    return (int)lround(1000 * t);
}

static int failed(const webp *w, const char *why, ds_error *e)
{
    return ds_fail(e, DS_EXIT_IO, "%s: libwebp cannot write it: %s", w->path, why);
}

static int webp_begin(void *self, const char *path, const ds_film_plan *plan, ds_error *e)
{
    webp *w = self;
    WebPAnimEncoderOptions options;
    w->path = path;
    w->plan = *plan;
    if (!WebPAnimEncoderOptionsInit(&options) ||
        !WebPConfigPreset(&w->config, WEBP_PRESET_DRAWING, QUALITY)) {
        return failed(w, "its version does not match", e);
    }
    w->config.method = METHOD;
    w->argb = malloc((size_t)plan->width * (size_t)plan->height * sizeof *w->argb);
    w->encoder = w->argb == NULL ? NULL : WebPAnimEncoderNew(plan->width, plan->height, &options);
    return w->encoder == NULL ? ds_no_memory(e) : 0;
}

static int webp_frame(void *self, uint64_t i, const uint32_t *pixels, ds_error *e)
{
    webp *w = self;
    WebPPicture picture;
    if (!WebPPictureInit(&picture)) {
        return failed(w, "its version does not match", e);
    }
    for (size_t k = 0; k < (size_t)w->plan.width * (size_t)w->plan.height; k++) {
        w->argb[k] = pixels[k] | 0xff000000u;
    }
    picture.use_argb = 1;
    picture.width = w->plan.width;
    picture.height = w->plan.height;
    picture.argb = w->argb;
    picture.argb_stride = w->plan.width;
    const int good = WebPAnimEncoderAdd(w->encoder, &picture, starts(w, i), &w->config);
    WebPPictureFree(&picture); /* frees the encoder's data; the pixels remain ours */
    return good ? 0 : failed(w, WebPAnimEncoderGetError(w->encoder), e);
}

static int webp_end(void *self, int status, ds_error *e)
{
    webp *w = self;
    WebPData data;
    WebPDataInit(&data);
    if (status == 0 && (!WebPAnimEncoderAdd(w->encoder, NULL, starts(w, w->plan.frames), NULL) ||
                        !WebPAnimEncoderAssemble(w->encoder, &data))) {
        status = failed(w, WebPAnimEncoderGetError(w->encoder), e);
    }
    status = status != 0 ? status : ds_file_write_atomic(w->path, data.bytes, data.size, e);
    WebPDataClear(&data);
    WebPAnimEncoderDelete(w->encoder);
    free(w->argb);
    return status;
}

int ds_film_webp(const char *path, const ds_view_episodes *episodes, ds_error *e)
{
    static const ds_film_format format = {
        .size = sizeof(webp), .begin = webp_begin, .frame = webp_frame, .end = webp_end};
    return ds_film_write(path, episodes, &format, e);
}
#else
int ds_film_webp(const char *path, const ds_view_episodes *episodes, ds_error *e)
{
    (void)episodes;
    return ds_fail(e, DS_EXIT_IO,
                   "%s: this dshost was built without libwebp: write .png or .mp4, or install libwebp-dev, "
                   "configure and build again",
                   path);
}
#endif
