/* SPDX-License-Identifier: Apache-2.0 */
/* film_webp.c - animated WebP (see film.h), by the encoder of libwebp that stores what changes from frame
 * to frame. */
#include "config.h"

#include "film/film.h"

#include "film/film_write.h"

#ifdef HAVE_WEBP
#include <math.h>
#include <stdlib.h>

#include <webp/encode.h>
#include <webp/mux.h>

#include "base/file.h"

enum { QUALITY = 92, METHOD = 4 };

typedef struct webp {
    const char *path;
    ds_film_plan plan;
    WebPAnimEncoder *encoder;
    WebPConfig config;
    uint32_t *argb; /* a frame, opaque */
} webp;

/* When frame i begins, and for i = frames when the last one ends: milliseconds. */
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
        return failed(w, "its version does not fit", e);
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
        return failed(w, "its version does not fit", e);
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
    WebPPictureFree(&picture); /* what the encoder has put into it; the pixels stay ours */
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
