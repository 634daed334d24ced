/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/nearest.h - the known name that a misspelt one probably means, for error messages.
 *
 * Header only, optional, no part of the binary interface; C library only. For names that a plugin reads
 * itself, as the host does for its flags, settings and parameters:
 *
 *     static const char *const known[] = {"gravity", "friction"};
 *     const char *near = ds_nearest(word, known, 2);
 *     ds_host_fail(host, DS_E_DATA, "%s: unknown key '%s'%s%s%s", path, word, near ? "; did you mean '" : "",
 *                  near ? near : "", near ? "'?" : "");
 *
 * A user who types "yougs_modulus" then reads "did you mean 'youngs_modulus'?". Where several known names are
 * equally near, the first one in the list wins; where none is near, the line should list all known names.
 *
 * Words are compared byte by byte, in every locale, and upper and lower case differ. Neither function
 * allocates or keeps anything, so any thread may call them at any time.
 *
 * Source: F. J. Damerau, "A technique for computer detection and correction of spelling errors", 1964. */
#ifndef DIFFSIM_HELPER_NEAREST_H
#define DIFFSIM_HELPER_NEAREST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Edits (insert, delete, change, swap of neighbours) between words of at most 63 characters: the restricted
 * distance of Damerau and Levenshtein, 0 for equal words. SIZE_MAX for longer words.
 *
 * Row i of the usual table holds the distances of the first i characters of `a` to the first 0, 1, 2 ... of
 * `b`. A change looks one row back and a swap two, so three rows are enough, used in turn. */
static inline size_t ds_word_distance(const char *a, const char *b)
{
    size_t n = strlen(b), rows[3][64];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    if (n > 63 || strlen(a) > 63) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= n; j++) {
        row[j] = j;
    }
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t *spare = before;
        before = last;
        last = row;
        row = spare;
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t change = last[j - 1] + (a[i - 1] != b[j - 1]);
            size_t gap = 1 + (row[j - 1] < last[j] ? row[j - 1] : last[j]);
            row[j] = change < gap ? change : gap;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < row[j]) {
                row[j] = before[j - 2] + 1;
            }
        }
    }
    return row[n];
}

/* The known name nearest to `word` (edit distance at most 2 and at most half the length of the word), else
 * the only one that begins with `word`, else NULL.
 *
 * word:  as the user wrote it, without blanks around it. known: `count` names, which stay the caller's; the
 * result is one of these pointers.
 *
 * The second rule helps with names that were cut ("youngs"), unless several begin so. Both rules prefer no
 * answer to a wrong one: a suggestion that is not meant costs the user more time than a list of names. */
static inline const char *ds_nearest(const char *word, const char *const *known, size_t count)
{
    const char *best = NULL;
    size_t best_distance = 3, length = strlen(word);

    for (size_t i = 0; i < count; i++) {
        size_t d = ds_word_distance(word, known[i]);
        /* Two edits turn many short words into each other: that is not near. */
        if (d < best_distance && 2 * d <= length) {
            best_distance = d;
            best = known[i];
        }
    }
    /* Nothing was near: names that begin with the word. */
    for (size_t i = 0; best_distance == 3 && length >= 2 && i < count; i++) {
        if (strncmp(known[i], word, length) == 0) {
            if (best != NULL && strcmp(best, known[i]) != 0) {
                return NULL;
            }
            best = known[i];
        }
    }
    return best;
}

#endif
