/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_snapshot.c - any bytes given to the reader of scene blocks: a scene whose arrays can all be read and
 * turned into something to draw, or one line that says why not. */
#include "config.h"

#include <stdlib.h>

#include "render/render_internal.h"
#include "snapshot/snapshot.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ds_snapshot *s;
    ds_error e = {0};
    if (ds_snapshot_read(data, size, &s, &e) != 0) {
        FUZZ_REQUIRE(e.status == DS_EXIT_PLUGIN && e.text[0] != '\0' && s == NULL);
        return 0;
    }
    FUZZ_REQUIRE(s->kept <= s->frames && s->frames > 0);
    uint64_t sum = 0;
    for (uint64_t b = 0; b < s->bodies; b++) {
        const ds_snapshot_body *body = &s->body[b];
        for (uint64_t i = 0; i < body->index_count; i++) {
            FUZZ_REQUIRE(body->index[i] < body->count);
        }
        for (uint64_t i = 0; i < s->kept * body->count * body->width; i++) {
            sum += !isfinite(body->data[i]);
        }
    }
    FUZZ_REQUIRE(sum == s->nonfinite);
    for (uint64_t m = 0; m < s->metrics; m++) {
        sum += s->metric[m].values[s->frames - 1] > 0;
    }
    ds_frame_of_reference ref = ds_geometry_reference(s);
    ds_geometry g = {0};
    for (uint64_t b = 0; s->kept > 0 && b < s->bodies; b++) {
        ds_geometry_add(&g, s, &ref, s->kept - 1, b);
    }
    ds_geometry_free(&g);
    ds_snapshot_free(s);
    return 0;
}
