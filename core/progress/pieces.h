/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.h - one line of text for a given width: what matters least is said shorter or left out, and no
 * number is ever cut. */
#ifndef DS_RUN_PIECES_H
#define DS_RUN_PIECES_H

#include <stddef.h>

/* A part of a line, with the separator that it needs. */
typedef struct ds_piece {
    char text[160];
    char brief[96]; /* said instead where `text` has no room; "" = nothing */
    int weight;     /* the smallest is shortened first, and then left out */
} ds_piece;

/* Columns that a UTF-8 text takes, one for each letter. */
size_t ds_text_columns(const char *text);

/* Writes the pieces in their order, as many as fit into `width` columns and `room` bytes. */
void ds_pieces_line(char *out, size_t room, size_t width, const ds_piece *piece, size_t count);

#endif
