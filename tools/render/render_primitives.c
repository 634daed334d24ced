/* SPDX-License-Identifier: Apache-2.0 */
/* render_primitives.c - the growing list of balls and triangles. */
#include "config.h"

#include "render/render_internal.h"

#include <stdlib.h>
#include <string.h>

void ds_geometry_free(ds_geometry *g)
{
    free(g->ball);
    free(g->triangle);
    memset(g, 0, sizeof *g);
}

void ds_geometry_push_ball(ds_geometry *g, vec3 center, float radius, uint32_t surface)
{
    if (g->balls == g->ball_room) {
        size_t room = g->ball_room == 0 ? 1024 : g->ball_room * 2;
        ds_ball *more = realloc(g->ball, room * sizeof *more);
        if (more == NULL) {
            g->failed = 1;
            return;
        }
        g->ball = more;
        g->ball_room = room;
    }
    ds_ball b = {center, radius, surface};
    g->ball[g->balls++] = b;
}

void ds_geometry_push_triangle(ds_geometry *g, const ds_triangle *t)
{
    if (g->triangles == g->triangle_room) {
        size_t room = g->triangle_room == 0 ? 1024 : g->triangle_room * 2;
        ds_triangle *more = realloc(g->triangle, room * sizeof *more);
        if (more == NULL) {
            g->failed = 1;
            return;
        }
        g->triangle = more;
        g->triangle_room = room;
    }
    g->triangle[g->triangles++] = *t;
}
