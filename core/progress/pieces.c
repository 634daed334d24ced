/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.c - fits parts into a line (see pieces.h). */
#include "config.h"

#include "progress/pieces.h"

#include <stdio.h>
#include <string.h>

enum { PIECES_MAX = 16 };
enum { WHOLE = 0, SHORT = 1, OUT = 2 };

size_t ds_text_columns(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++) {
        n += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return n;
}

static const char *said(const ds_piece *p, int how)
{
    return how == WHOLE ? p->text : how == SHORT ? p->brief : "";
}

void ds_pieces_line(char *out, size_t room, size_t width, const ds_piece *piece, size_t count)
{
    int how[PIECES_MAX] = {WHOLE};
    count = count < PIECES_MAX ? count : PIECES_MAX;
    for (;;) {
        size_t columns = 0, bytes = 0, least = count;
        for (size_t i = 0; i < count; i++) {
            columns += ds_text_columns(said(&piece[i], how[i]));
            bytes += strlen(said(&piece[i], how[i]));
            if (how[i] != OUT && (least == count || piece[i].weight < piece[least].weight)) {
                least = i;
            }
        }
        if (least == count || (columns <= width && bytes < room)) {
            break;
        }
        how[least] = how[least] == WHOLE && piece[least].brief[0] != '\0' ? SHORT : OUT;
    }
    out[0] = '\0';
    for (size_t i = 0, n = 0; i < count; i++) {
        n += (size_t)snprintf(out + n, room - n, "%s", said(&piece[i], how[i]));
    }
}
