/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h - what the readers of meshes share: words of a text with their lines, and a growing mesh. The
 * first mistake is kept, and nothing is read after it. */
#ifndef DS_ENGINES_FEM_READ_READER_H
#define DS_ENGINES_FEM_READ_READER_H

#include "engines/physics/fem/read.h"

typedef struct reader {
    const char *at, *end; /* remaining text */
    const char *name;
    size_t line;  /* line of the last word, from 1 */
    char comment; /* starts a comment, which ends with the line; 0: none */
    int loose;    /* triangles without area are left out instead of refused */
    int status;   /* 0, or 1 = the file, 2 = memory */
    char *error;  /* [FEM_READ_ERROR] */
    /* The mesh, and the lines of its elements. */
    fem_mesh mesh;
    size_t *triangle_line, *tet_line;
    int32_t group; /* of the next elements */
    size_t point_room, triangle_room, tet_room;
} reader;

enum { WORD = 64 };

reader reader_of(const char *text, size_t size, const char *name, char comment, char error[FEM_READ_ERROR]);

/* Keeps the failure, preceded by file and line. Returns 0. */
__attribute__((format(printf, 2, 3))) int reader_fail(reader *r, const char *format, ...);

/* Reads the next word on this line, or (`any`) on any line; returns 0 if there is none. Cuts words longer
 * than WORD - 1. */
int reader_word(reader *r, int any, char word[WORD]);
/* Moves to the start of the next line; returns 0 at the end of the text. */
int reader_next_line(reader *r);
/* Reads a number, the next word; `what` names it in messages. Returns 0 after a failure. */
int reader_number(reader *r, int any, const char *what, double *out);
int reader_integer(reader *r, int any, const char *what, int64_t low, int64_t high, int64_t *out);
/* Reads the next `count` bytes. */
int reader_bytes(reader *r, size_t count, const char *what, void *out);

/* Return 0 after a failure. */
int reader_add_point(reader *r, const double p[3]);
int reader_add_triangle(reader *r, const uint32_t v[3]);
int reader_add_tet(reader *r, const uint32_t v[4]);

/* Read all of the remaining text in one format. */
void reader_obj(reader *r);
void reader_stl(reader *r);
void reader_ply(reader *r);

/* Checks the elements, turns over tetrahedra of negative volume, and moves the mesh to *out; releases
 * everything after a failure. Returns the status. */
int reader_finish(reader *r, fem_mesh *out);

#endif
