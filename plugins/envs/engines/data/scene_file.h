/* SPDX-License-Identifier: Apache-2.0 */
/* scene_file.h - the form of scene files (.ini, through inih): sections "[kind name]", keys, typed values,
 * and messages with file and line. An engine decides which sections and keys there are:
 *
 *     scene_file *f = scene_file_read(path, error);
 *     scene_kinds(f, kinds);
 *     const scene_section *s = scene_next(f, NULL, "body");
 *     double radius = scene_number(f, s, "radius", 1e-6, 10.0, 0.1);
 *     ...
 *     scene_done(f);                        refuses keys that nobody asked for
 *     if (scene_failed(f)) { report scene_error(f) }
 *
 * The first mistake is kept and returned by scene_error(); after it readers return their defaults, so one
 * test at the end is enough. Texts belong to the file and stay valid until scene_file_free().
 *
 * A key `include = FILE` in [scene] adds the sections of another file, whose path is relative to the file
 * that names it. Keys of the including file win. */
#ifndef SCENE_FILE_H
#define SCENE_FILE_H

#include <diffsim/helper/fail.h>
#include <stdbool.h>
#include <stddef.h>

enum { SCENE_NAME = 47, SCENE_ERROR = 600, SCENE_LINE = 190, SCENE_MOST_QUANTITIES = 16 };

typedef struct scene_file scene_file;
typedef struct scene_section scene_section;

/* A number that the file may hand to the optimizer: `key = variable LOWER..UPPER [log] [start VALUE] [truth
 * VALUE]`. The value of a variable is its start: the middle of its range, geometric with log. The truth is
 * the value in the episode that makes the target, NAN where the file does not give it. */
typedef struct scene_quantity {
    double value, truth;
    bool variable, log;
    double lower, upper;
    double random; /* the start is drawn from value .. value + random; only of scene_quantities() */
} scene_quantity;

/* Reads a file and what it includes. Returns NULL without memory; other failures are in scene_error(). */
scene_file *scene_file_read(const char *path);
/* The same from a text; `name` stands for it in messages and `folder` is where its files are ("" = here). */
scene_file *scene_file_parse(const char *text, size_t length, const char *name, const char *folder);
void scene_file_free(scene_file *f);

bool scene_failed(const scene_file *f);
const char *scene_error(const scene_file *f);
/* The name of the file, without its folder. */
const char *scene_file_name(const scene_file *f);

/* The section of this kind after `last` (NULL: the first one), in the order of the file, else NULL. */
const scene_section *scene_next(scene_file *f, const scene_section *last, const char *kind);
/* The section of this kind and name, else NULL. */
const scene_section *scene_find(scene_file *f, const char *kind, const char *name);
/* Its name; "" for "[kind]". */
const char *scene_name(const scene_section *s);

/* Reports a mistake at a key of a section (NULL: at the section itself). */
DS_PRINTF(4, 5)
void scene_fail(scene_file *f, const scene_section *s, const char *key, const char *format, ...);

/* Readers. `s` may be NULL: all keys are missing. Numbers must lie in [low, high]. */
bool scene_has(scene_file *f, const scene_section *s, const char *key);
double scene_number(scene_file *f, const scene_section *s, const char *key, double low, double high,
                    double otherwise);
scene_quantity scene_quantity_of(scene_file *f, const scene_section *s, const char *key, double low,
                                 double high, double otherwise);
uint32_t scene_whole(scene_file *f, const scene_section *s, const char *key, uint32_t low, uint32_t high,
                     uint32_t otherwise);
/* n numbers, or one for all of them where `spread`; `out` keeps its values where the key is missing. Returns
 * whether it was there. */
bool scene_numbers(scene_file *f, const scene_section *s, const char *key, size_t n, bool spread, double low,
                   double high, double *out);
/* Up to `most` numbers; returns how many, 0 after a mistake. */
size_t scene_list(scene_file *f, const scene_section *s, const char *key, size_t most, double low,
                  double high, double *out);
/* Is the key there as `variable ...`? */
bool scene_varies(scene_file *f, const scene_section *s, const char *key);
/* What can be a variable, for the message about a key that cannot; `list` must stay. */
void scene_variables(scene_file *f, const char *list);
/* n quantities, at most SCENE_MOST_QUANTITIES: `key = 1 0 0`, or `key = variable 0..1 0..2 0.5 [log] [start 0
 * 1] [truth 1 0] [random WIDTH]`, with one range for all of them, or n ranges and numbers, which stay fixed;
 * one start and truth, or one for each range. `out` holds the values of a missing key; returns whether it was
 * there. scene_quantities() wants n ranges or n numbers. */
bool scene_components(scene_file *f, const scene_section *s, const char *key, size_t n, double low,
                      double high, scene_quantity *out);
bool scene_quantities(scene_file *f, const scene_section *s, const char *key, size_t n, double low,
                      double high, scene_quantity *out);
/* How many numbers or ranges the key has, up to the first word after `variable`. */
size_t scene_count(scene_file *f, const scene_section *s, const char *key);
const char *scene_text(scene_file *f, const scene_section *s, const char *key, const char *otherwise);
/* Index of one of the words (NULL-terminated). */
uint32_t scene_choice(scene_file *f, const scene_section *s, const char *key, const char *const *words,
                      uint32_t otherwise);
/* Fails where the key is missing; returns whether it is there. */
bool scene_needs(scene_file *f, const scene_section *s, const char *key);

/* A path of the file as the file means it: relative to the file that holds the key. "" where the key is
 * missing. */
const char *scene_path(scene_file *f, const scene_section *s, const char *key);
/* The same of a file that must exist. */
const char *scene_existing(scene_file *f, const scene_section *s, const char *key);

/* Sections of these kinds (NULL-terminated) name what is drawn: refuses names that are not
 * [a-z][a-z0-9_]*, that two of them have, or that are `reserved` (NULL-terminated). unnamed: they may
 * have no name. */
void scene_names(scene_file *f, const char *const *kinds, const char *const *reserved, bool unnamed);

/* Refuses sections of other kinds than these (NULL-terminated), with the nearest one. */
void scene_kinds(scene_file *f, const char *const *kinds);
/* Refuses keys that nobody asked for, with the nearest name. */
void scene_done(scene_file *f);

#endif
