/* SPDX-License-Identifier: Apache-2.0 */
/* bench_file.h - experiment files as the user wrote them: environments, optimizers and their parameters. No
 * plugin is loaded here.
 *
 *   [bench]             envs, opts, seed, runs, skip, out, jobs
 *   [run]               settings of every run: budget, seconds, target, ...
 *   [env A B]           parameters of the environments A and B of envs; `plugin` if the name is not an id
 *   [opt A]             the same for optimizers
 *   [sweep env A]       key = VALUE | VALUE | ...: a variant A@key=VALUE of A for every combination; A@1,
 *                       A@2, ... if these names would be too long
 *   [sweep opt A] */
#ifndef DS_BENCH_BENCH_FILE_H
#define DS_BENCH_BENCH_FILE_H

#include "config/inifile.h"
#include "config/params.h"
#include "config/settings.h"

enum {
    DS_BENCH_ENV = 0,
    DS_BENCH_OPT = 1,
    DS_BENCH_NAME = 40,   /* length of a name, which appears in [env NAME] */
    DS_BENCH_WORDS = 1000 /* in one list */
};

/* An environment or optimizer of the experiment, or one variant of a sweep. */
typedef struct ds_bench_part {
    char *name;           /* a folder of the results: "boleap", "boleap@k=5" */
    char *plugin;         /* id or path */
    char *origin;         /* place of its name, for messages */
    size_t stem;          /* for a variant: length of the name that [sweep] uses; else 0 */
    ds_settings settings; /* section [env] or [opt] */
} ds_bench_part;

typedef struct ds_bench_parts {
    ds_bench_part *item;
    size_t count;
} ds_bench_parts;

/* Releases the parts and empties the list. */
void ds_bench_parts_clear(ds_bench_parts *list);

typedef struct ds_bench_words {
    char *text; /* to be freed */
    char *item[DS_BENCH_WORDS];
    size_t count;
} ds_bench_words;

/* Splits at any of the characters in `separators`; `origin` is for the message if there are too many. */
int ds_bench_split(const char *text, const char *separators, const char *origin, ds_bench_words *out,
                   ds_error *e);

/* The schema of [bench]; its names are also flags of `dshost bench`. */
extern const ds_param *const ds_bench_schema[];

typedef struct ds_bench_file {
    ds_params *options;     /* of [bench], by its schema */
    uint64_t seed;          /* of the first run in each cell */
    ds_settings run;        /* section [run] */
    ds_bench_parts part[2]; /* by DS_BENCH_ENV, DS_BENCH_OPT; variants of a sweep are separate parts */
} ds_bench_file;

/* Reads a file. `flags` override it: keys of [bench] as section [run], with layer DS_LAYER_FLAG; `sets` are
 * keys of [run] from --set and flags. Fails with DS_EXIT_CONFIG; messages name file and line. */
int ds_bench_file_read(const char *path, const ds_settings *flags, const ds_settings *sets,
                       ds_bench_file *out, ds_error *e);

/* The same from memory; `name` stands for the file in messages, `base` for its folder. */
int ds_bench_file_parse(const char *text, size_t length, const char *name, const char *base,
                        const ds_settings *flags, const ds_settings *sets, ds_bench_file *out, ds_error *e);

void ds_bench_file_clear(ds_bench_file *f);

/* What to do about a key of `dshost run` that belongs to [bench] or makes no sense for many runs; NULL = it
 * is a key of [run] here, too. */
const char *ds_bench_elsewhere(const char *key);

/* The value of a key of [bench]. */
const char *ds_bench_text(const ds_bench_file *f, const char *key);
int64_t ds_bench_int(const ds_bench_file *f, const char *key);

#endif
