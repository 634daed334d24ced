/* SPDX-License-Identifier: Apache-2.0 */
/* bench_parts.h - the environments and optimizers of an experiment, and lists of words. */
#ifndef DS_BENCH_BENCH_PARTS_H
#define DS_BENCH_BENCH_PARTS_H

#include "config/settings.h"

enum {
    DS_BENCH_ENV = 0,
    DS_BENCH_OPT = 1,
    DS_BENCH_NAME = 40,   /* bytes of a name: it stands in [env NAME] */
    DS_BENCH_WORDS = 1000 /* in one list */
};

/* An environment or optimizer of the experiment; with a sweep, one of its variants. */
typedef struct ds_bench_part {
    char *name;           /* a folder of the results: "boleap", "boleap@k=5" */
    char *plugin;         /* id or path */
    char *origin;         /* where its name stands, for messages */
    size_t stem;          /* of a variant: bytes of its name that stand in [sweep]; else 0 */
    ds_settings settings; /* section [env] or [opt] */
} ds_bench_part;

typedef struct ds_bench_parts {
    ds_bench_part *item;
    size_t count;
} ds_bench_parts;

/* Releases parts; the list is then empty. */
void ds_bench_parts_clear(ds_bench_parts *list);
ds_bench_part *ds_bench_parts_find(const ds_bench_parts *list, const char *name);

typedef struct ds_bench_words {
    char *text; /* to be freed */
    char *item[DS_BENCH_WORDS];
    size_t count;
} ds_bench_words;

/* Splits at any of the characters in `separators`; `origin` is for the message where there are too many. */
int ds_bench_split(const char *text, const char *separators, const char *origin, ds_bench_words *out,
                   ds_error *e);

#endif
