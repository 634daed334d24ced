/* SPDX-License-Identifier: Apache-2.0 */
/* number.h - numbers in messages about invalid values. */
#ifndef COMMON_NUMBER_H
#define COMMON_NUMBER_H

#include <stdio.h>
#include <stdlib.h>

enum { NUMBER_TEXT = 32 };

/* The fewest digits that distinguish v from every other number: different values look different. */
static inline const char *number_text(double v, char out[NUMBER_TEXT])
{
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(out, NUMBER_TEXT, "%.*g", digits, v);
        if (strtod(out, NULL) == v) {
            break;
        }
    }
    return out;
}
/* Until the end of the block it stands in. */
#define NUMBER(v) number_text((v), (char[NUMBER_TEXT]){0})

#endif
