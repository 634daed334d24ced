/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - numbers in text (the same in every locale), UTF-8, the nearest known word, shell words. */
#ifndef DS_BASE_TEXT_H
#define DS_BASE_TEXT_H

#include <diffsim/helper/nearest.h>
#include <locale.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Convert a complete text without white space around it. Return 1, or 0 where the text is not a number of
 * this type (*out is left alone). Reals are decimal with '.', with an optional exponent, or inf, +inf, -inf;
 * overflow is refused. Integers are decimal. Seeds are 0..18446744073709551615 without a sign. */
int ds_parse_real(const char *text, double *out);
int ds_parse_int(const char *text, int64_t *out);
int ds_parse_seed(const char *text, uint64_t *out);

/* The "C" locale, for functions that take one. */
locale_t ds_locale_c(void);

/* strtod() with '.' in every locale. */
double ds_strtod(const char *text, char **end);

/* Writes a real with as few digits as reproduce its bits. DS_TEXT_OF(v) is such a text until the end of its
 * block. */
enum { DS_REAL_TEXT = 32 };
const char *ds_real_text(double v, char out[DS_REAL_TEXT]);
#define DS_TEXT_OF(v) ds_real_text((v), (char[DS_REAL_TEXT]){0})

/* For an unknown word: "expected one of a, b, c; did you mean 'b'?". */
void ds_text_choices(const char *word, const char *const *known, size_t count, char *out, size_t size);

/* Writes `text` as one word for a POSIX shell, quoted where necessary. */
void ds_text_shell_word(FILE *f, const char *text);

/* "FIRST WORD WORD ..." as a shell command; to be freed, NULL without memory. */
char *ds_text_shell_line(const char *first, int count, char *const *word);

/* Writes `text` escaped for HTML elements and "quoted" attributes. */
void ds_text_html(FILE *f, const char *text);

/* Length of the UTF-8 sequence at s (at most n bytes, n >= 1); 0 where it is invalid (overlong forms,
 * surrogates). */
size_t ds_utf8_length(const char *s, size_t n);

/* Is it one line of UTF-8 without control characters? Tabs are allowed. */
int ds_text_is_line(const char *s, size_t n);

/* The ending of a file name after its last dot: "npz" of "out/run.npz"; "" without one. */
const char *ds_text_ending(const char *path);

/* Is the ending one of `endings` (NULL-terminated), in any case of letters? */
int ds_text_ends_with(const char *path, const char *const *endings);

/* Can a path leave the folder that it is relative to: does it begin with / or have a part ".."? */
int ds_path_leaves(const char *path);

/* Makes s one printable line in place: control characters become blanks, bytes that are not UTF-8 become '?'.
 */
void ds_text_clean(char *s);

/* Copies a message, cleaned. A longer one loses its middle to "...": the end holds the reason. */
enum { DS_TEXT_LONG = 10000 /* limit of a message: two paths and a line */ };
void ds_text_shorten(char *to, size_t room, const char *from);

#endif
