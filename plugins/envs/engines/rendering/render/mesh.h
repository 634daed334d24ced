/* SPDX-License-Identifier: Apache-2.0 */
/* mesh.h - what the renderers of this folder share: triangles, limits, and what is said about those that
 * cannot be drawn. */
#ifndef DS_ENGINES_RENDER_MESH_H
#define DS_ENGINES_RENDER_MESH_H

#include <stddef.h>
#include <stdint.h>

enum {
    RENDER_MIN_SIZE = 8, /* pixels per side of a square image */
    RENDER_MAX_SIZE = 1024,
    RENDER_MAX_COUNT = 10000000, /* vertices, faces, particles */
    RENDER_MAX_THREADS = 256,
    RENDER_TEXT = 256 /* room for a line that says what is wrong, with its 0 */
};

/* Triangles over vertices that the caller keeps. Positions are x y z per vertex, metres, world space, y up;
 * several bodies are one mesh with their vertices one after the other. Counter-clockwise corners seen from
 * outside. */
typedef struct render_mesh {
    uint32_t vertices, faces;
    const uint32_t *face; /* faces x 3, each below `vertices` */
} render_mesh;

/* What became of the faces (or particles) of one image. They are left out as a whole where one of their
 * vertices lies nearer than the near plane or behind the camera (`behind`), or is not finite or further
 * than 1e8 half images from the centre of the image, or has a colour that is not finite (`broken`). A face
 * seen from its edge (no area in the image, `flat`) is drawn as the line it is. What lies beside the
 * image, where it changes no pixel, counts as `outside`. */
typedef struct render_report {
    uint32_t drawn, flat; /* `flat` are among those drawn */
    uint32_t behind, broken, outside;
} render_report;

/* 1, and one line without newline about what is not drawn, where that is for being behind or broken; else
 * 0 and an empty text. `what` is the noun: "faces". */
int render_report_line(const render_report *r, const char *what, char text[RENDER_TEXT]);

/* 0 where all indices are valid; else 1 and a line. */
int render_mesh_check(const render_mesh *m, char text[RENDER_TEXT]);

#endif
