/* SPDX-License-Identifier: Apache-2.0 */
/* identified.c - how far what was to be identified is from what it is, as metrics. */
#include "identified.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void identified_open(identified *d, uint64_t parts)
{
    d->parts = parts >= 2 && parts <= IDENTIFIED_PARTS ? parts : 0;
}

void identified_name(identified *d, uint64_t part, const char *quantity)
{
    if (part < d->parts) {
        snprintf(d->name[part], sizeof *d->name, "error_%.*s", IDENTIFIED_NAME - 7, quantity);
        for (char *c = d->name[part]; *c != '\0'; c++) { /* letters that names of metrics have */
            *c = (char)(isalnum((unsigned char)*c) ? tolower((unsigned char)*c) : '_');
        }
    }
}

void identified_set(identified *d, uint64_t part, double error)
{
    if (part < d->parts) {
        d->part[part] = error;
    }
}

void identified_metrics(const identified *d, ds_scene_kit *s)
{
    const uint64_t last = s->info.metrics - 1;
    if (s->info.metrics > 0 && strcmp(s->metric[last].name, "error") == 0) {
        for (uint64_t k = 0; k < d->parts; k++) {
            ds_scene_kit_metric(s, d->name[k], "");
        }
    }
}

void identified_put(const identified *d, double *out)
{
    out[0] = d->mean;
    memcpy(out + 1, d->part, d->parts * sizeof *out);
}
