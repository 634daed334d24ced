/* SPDX-License-Identifier: Apache-2.0 */
/* present.c - see present.h. */
#include "config.h"

#include "exchange/present.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int is_there(const ds_snapshot_body *b, uint64_t i)
{
    int finite = 1;
    for (uint32_t k = 0; k < b->width; k++) {
        finite &= isfinite(b->data[i * b->width + k]) != 0;
    }
    return finite;
}

/* The cells whose corners are all there, by their new numbers. */
static void cut_cells(const ds_snapshot_body *b, const uint32_t *number, uint32_t *index,
                      ds_snapshot_body *out)
{
    const uint64_t per = b->shape == DS_BODY_MESH ? 3 : 2;
    out->index = index;
    out->index_count = 0;
    for (uint64_t i = 0; i + per <= b->index_count; i += per) {
        int all = 1;
        for (uint64_t c = 0; c < per; c++) {
            all &= number[b->index[i + c]] != UINT32_MAX;
        }
        for (uint64_t c = 0; all && c < per; c++) {
            index[out->index_count++] = number[b->index[i + c]];
        }
    }
}

/* Body b, which becomes number `to`, without what is not there. 0 without memory. */
static int cut_body(ds_present *p, uint64_t b, uint64_t to)
{
    const ds_snapshot_body *from = &p->from->body[b];
    ds_snapshot_body *out = &p->scene.body[to];
    uint32_t *number = malloc((size_t)from->count * sizeof *number);
    p->element[to] = malloc((size_t)from->count * sizeof **p->element);
    p->data[to] = malloc((size_t)(p->from->kept * from->count * from->width) * sizeof **p->data);
    p->index[to] = malloc((size_t)(from->index_count + 1) * sizeof **p->index);
    if (number == NULL || p->element[to] == NULL || p->data[to] == NULL || p->index[to] == NULL) {
        free(number);
        return 0;
    }
    uint64_t left = 0;
    for (uint64_t i = 0; i < from->count; i++) {
        number[i] = is_there(from, i) ? (uint32_t)left : UINT32_MAX;
        if (number[i] != UINT32_MAX) {
            p->element[to][left++] = (uint32_t)i;
        }
    }
    double *data = p->data[to];
    for (uint64_t k = 0; k < p->from->kept; k++) {
        for (uint64_t i = 0; i < left; i++, data += from->width) {
            memcpy(data, from->data + (k * from->count + p->element[to][i]) * from->width,
                   from->width * sizeof *data);
        }
    }
    out->count = left;
    out->data = p->data[to];
    if (from->index_count > 0) {
        cut_cells(from, number, p->index[to], out);
    }
    free(number);
    return 1;
}

int ds_present_make(const ds_snapshot *from, ds_present *out, ds_error *e)
{
    const size_t n = (size_t)from->bodies + 1;
    *out = (ds_present){.scene = *from, .from = from};
    out->scene.body = calloc(n, sizeof *out->scene.body);
    out->element = calloc(n, sizeof *out->element);
    out->data = calloc(n, sizeof *out->data);
    out->index = calloc(n, sizeof *out->index);
    if (out->scene.body == NULL || out->element == NULL || out->data == NULL || out->index == NULL) {
        return ds_no_memory(e);
    }
    out->scene.bodies = 0;
    for (uint64_t b = 0; b < from->bodies; b++) {
        const uint64_t to = out->scene.bodies;
        uint64_t missing = 0;
        for (uint64_t i = 0; from->body[b].nonfinite > 0 && i < from->body[b].count; i++) {
            missing += !is_there(&from->body[b], i);
        }
        out->missing += missing;
        if (missing < from->body[b].count) {
            out->scene.body[to] = from->body[b];
            out->scene.bodies++;
            if (missing > 0 && !cut_body(out, b, to)) {
                return ds_no_memory(e);
            }
        }
    }
    return 0;
}

void ds_present_clear(ds_present *p)
{
    for (uint64_t b = 0; p->from != NULL && b < p->from->bodies; b++) {
        free(p->element != NULL ? p->element[b] : NULL);
        free(p->data != NULL ? p->data[b] : NULL);
        free(p->index != NULL ? p->index[b] : NULL);
    }
    free(p->element);
    free(p->data);
    free(p->index);
    free(p->scene.body);
}
