/* SPDX-License-Identifier: Apache-2.0 */
/* mesh.c - indices of triangles, and what is said about those that cannot be drawn (see mesh.h). */
#include "mesh.h"

#include <stdio.h>

int render_report_line(const render_report *r, const char *what, char text[RENDER_TEXT])
{
    char behind[96] = "", broken[96] = "";
    text[0] = '\0';
    if (r->behind == 0 && r->broken == 0) {
        return 0;
    }
    if (r->behind > 0) {
        snprintf(behind, sizeof behind, "%u behind the camera or nearer than the near plane", r->behind);
    }
    if (r->broken > 0) {
        snprintf(broken, sizeof broken, "%u with coordinates or colours that are no numbers to draw",
                 r->broken);
    }
    snprintf(text, RENDER_TEXT, "%s not drawn: %s%s%s", what, behind, behind[0] && broken[0] ? ", " : "",
             broken);
    return 1;
}

int render_mesh_check(const render_mesh *m, char text[RENDER_TEXT])
{
    if (m->vertices > RENDER_MAX_COUNT || m->faces > RENDER_MAX_COUNT) {
        snprintf(text, RENDER_TEXT, "mesh: %u vertices and %u faces; at most %d of each can be drawn",
                 m->vertices, m->faces, (int)RENDER_MAX_COUNT);
        return 1;
    }
    for (size_t i = 0; i < 3 * (size_t)m->faces; i++) {
        if (m->face[i] >= m->vertices) {
            snprintf(text, RENDER_TEXT, "mesh: face %zu names vertex %u, but there are %u", i / 3, m->face[i],
                     m->vertices);
            return 1;
        }
    }
    return 0;
}
