/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h - what the readers of meshes share: words of a text with their lines, and a mesh that grows. The
 * first mistake is kept; after it nothing more is read. */
#ifndef DS_ENGINES_FEM_READ_READER_H
#define DS_ENGINES_FEM_READ_READER_H

#include "engines/physics/fem/read.h"

typedef struct reader {
    const char *at, *end; /* what is left of the text */
    const char *name;
    size_t line;  /* from 1: that of the last word */
    char comment; /* the rest of a line from this character on is left out; 0: none */
    int status;   /* 0, or 1 = the file, 2 = memory */
    char *error;  /* [FEM_READ_ERROR] */
    /* The mesh, and the lines where its elements stand. */
    fem_mesh mesh;
    size_t *triangle_line, *tet_line;
    size_t point_room, triangle_room, tet_room;
} reader;

enum { WORD = 64 };

reader reader_of(const char *text, size_t size, const char *name, char comment, char error[FEM_READ_ERROR]);

/* Keeps the failure, with file and line in front. Returns 0. */
__attribute__((format(printf, 2, 3))) int reader_fail(reader *r, const char *format, ...);

/* The next word on this line, or on any where `any`; 0 where there is none. Words longer than WORD - 1
 * are cut. */
int reader_word(reader *r, int any, char word[WORD]);
/* To the begin of the next line; 0 at the end of the text. */
int reader_next_line(reader *r);
/* The next word must be one; `what` is for the message. 0 after a failure. */
int reader_number(reader *r, int any, const char *what, double *out);
int reader_integer(reader *r, int any, const char *what, int64_t low, int64_t high, int64_t *out);
/* The next `count` bytes, as they are, must be there. */
int reader_bytes(reader *r, size_t count, const char *what, void *out);

/* 0 after a failure. */
int reader_add_point(reader *r, const double p[3]);
int reader_add_triangle(reader *r, const uint32_t v[3]);
int reader_add_tet(reader *r, const uint32_t v[4]);

/* Looks at the elements, turns over tetrahedra of negative volume, and hands the mesh out; releases all
 * after a failure. Returns the status. */
int reader_finish(reader *r, fem_mesh *out);

#endif
