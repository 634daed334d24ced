/* SPDX-License-Identifier: Apache-2.0 */
/* number.h - numbers in messages about values that are not what they must be. */
#ifndef COMMON_NUMBER_H
#define COMMON_NUMBER_H

#include <stdio.h>
#include <stdlib.h>

enum { NUMBER_TEXT = 32 };

/* As few digits as tell v from every other number: what differs looks different. */
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
