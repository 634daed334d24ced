/* SPDX-License-Identifier: Apache-2.0 */
/* picture.c - see picture.h. */
#include "adapters/python/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t whole(const json_t *object, const char *key)
{
    const json_int_t v = json_integer_value(json_object_get(object, key));
    return v > 0 ? (uint64_t)v : 0;
}

static double real(const json_t *v, double none)
{
    return json_is_number(v) ? json_number_value(v) : none;
}

static const char *text(const json_t *v)
{
    const char *s = json_string_value(v);
    return s != NULL ? s : "";
}

static const json_t *body_of(const picture *p, uint64_t b)
{
    return json_array_get(json_object_get(p->json, "bodies"), b);
}

/* Numbers of a body in one frame. */
static uint64_t numbers_of(const json_t *body)
{
    const uint64_t shape = whole(body, "shape");
    const int points = shape == DS_BODY_POINTS || shape == DS_BODY_MESH || shape == DS_BODY_LINES;
    return whole(body, "count") * (points ? 3u : 7u);
}

static uint64_t numbers_before(const picture *p, uint64_t b)
{
    uint64_t at = p->frames * json_array_size(json_object_get(p->json, "metrics"));
    for (uint64_t i = 0; i < b; i++) {
        at += p->frames * numbers_of(body_of(p, i));
    }
    return at;
}

int picture_read(picture *p, const talk *t)
{
    const uint64_t bytes = t->head->bytes, begin = (bytes + 7) / 8 * 8, count = t->head->count;
    if (bytes > t->mapped || count > (t->mapped - bytes) / 8 || begin + 8 * count > t->mapped) {
        return -1;
    }
    p->json = json_loadb(t->room, bytes, 0, NULL);
    p->number = malloc(8 * count + 8);
    p->numbers = count;
    p->frames = whole(p->json, "frames");
    const int good = p->json != NULL && p->number != NULL && p->frames <= count + 1 &&
                     numbers_before(p, json_array_size(json_object_get(p->json, "bodies"))) == count;
    if (!good) {
        picture_clear(p);
        return -1;
    }
    memcpy(p->number, t->room + begin, 8 * count);
    return 0;
}

void picture_clear(picture *p)
{
    json_decref(p->json);
    free(p->number);
    free(p->index);
    *p = (picture){.possible = 0};
}

void picture_info(const picture *p, const ds_env_info *env, ds_scene_info *out)
{
    ds_scene_info all = {.struct_size = out->struct_size,
                         .flat = (uint32_t)whole(p->json, "flat"),
                         .frames = p->frames,
                         .bodies = json_array_size(json_object_get(p->json, "bodies")),
                         .metrics = json_array_size(json_object_get(p->json, "metrics")),
                         .dt = env->dt,
                         .ground = real(json_object_get(p->json, "ground"), -INFINITY)};
    for (size_t k = 0; k < 6; k++) {
        all.box[k] = real(json_array_get(json_object_get(p->json, "box"), k), k < 3 ? -1 : 1);
    }
    memcpy(out, &all, out->struct_size < sizeof all ? out->struct_size : sizeof all);
}

static ds_status take_index(picture *p, const json_t *index)
{
    const size_t count = json_array_size(index);
    free(p->index);
    p->index = count > 0 ? calloc(count, sizeof *p->index) : NULL;
    for (size_t i = 0; p->index != NULL && i < count; i++) {
        p->index[i] = (uint32_t)json_integer_value(json_array_get(index, i));
    }
    return count == 0 || p->index != NULL ? DS_OK : DS_E_NOMEM;
}

ds_status picture_body(picture *p, uint64_t b, ds_scene_body *out)
{
    const json_t *body = body_of(p, b), *index = json_object_get(body, "index");
    if (body == NULL) {
        return DS_E_ARG;
    }
    const ds_status st = take_index(p, index);
    ds_scene_body all = {.struct_size = out->struct_size,
                         .shape = (uint32_t)whole(body, "shape"),
                         .role = (uint32_t)whole(body, "role"),
                         .variety = (uint32_t)whole(body, "variety"),
                         .count = whole(body, "count"),
                         .name = text(json_object_get(body, "name")),
                         .index = p->index,
                         .index_count = json_array_size(index)};
    for (size_t k = 0; k < 4; k++) {
        all.size[k] = real(json_array_get(json_object_get(body, "size"), k), 0);
    }
    memcpy(out, &all, out->struct_size < sizeof all ? out->struct_size : sizeof all);
    return st;
}

ds_status picture_frame(const picture *p, uint64_t k, uint64_t b, uint64_t capacity, double *out)
{
    const json_t *body = body_of(p, b);
    const uint64_t each = numbers_of(body);
    if (body == NULL || k >= p->frames || capacity < each) {
        return DS_E_ARG;
    }
    memcpy(out, p->number + numbers_before(p, b) + k * each, each * sizeof *out);
    return DS_OK;
}

ds_status picture_metric(const picture *p, uint64_t m, ds_scene_metric *out)
{
    const json_t *metric = json_array_get(json_object_get(p->json, "metrics"), m);
    if (metric == NULL) {
        return DS_E_ARG;
    }
    out->name = text(json_array_get(metric, 0));
    out->unit = text(json_array_get(metric, 1));
    out->values = p->number + m * p->frames;
    return DS_OK;
}
