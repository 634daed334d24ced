/* SPDX-License-Identifier: Apache-2.0 */
/* proximity.h - a term of a loss for how near two bodies came, which is felt where they do not touch: the
 * least of many gaps, or a mean that weights small ones (PlasticineLab's contact loss in both of its forms).
 *
 * Of gaps g_i (cut at 0: contact is near enough) the distance d is
 *
 *     hard   min_i g_i; the last one where several are equal
 *     soft   sum w_i g_i / sum w_i,  w_i = 1/(1 + (g_i/scale)^2)
 *
 * and the term weight d^2. Where all gaps are far beyond the scale, weights go like 1/g^2, and soft is no
 * least gap any more but a mean.
 *
 * Source: Z. Huang, Y. Hu, T. Du, S. Zhou, H. Su, J. Tenenbaum, C. Gan, "PlasticineLab: A soft-body
 * manipulation benchmark with differentiable physics", ICLR 2021.
 */
#ifndef DS_ENGINES_PROXIMITY_H
#define DS_ENGINES_PROXIMITY_H

#include <diffsim/helper/params.h>
#include <diffsim/plugin.h>

enum { PROXIMITY_HARD, PROXIMITY_SOFT };

extern const char *const proximity_kinds[]; /* names, as the numbers above */

typedef struct proximity {
    double weight; /* 0: there is no such term */
    double scale;  /* in the unit of the gaps */
    int64_t kind;  /* PROXIMITY_* */
} proximity;

/* Parameters `contact_loss` (the weight), `proximity` and `proximity_scale`; `what_` says which gaps. */
#define PROXIMITY_PARAMS(what_, scale_)                                                                      \
    DS_REAL("contact_loss", "0", 0, 1e9, "", "Weight w of how near " what_ " came; added to the loss."),     \
        DS_ENUM("proximity", "hard", proximity_kinds,                                                        \
                "hard = the square of the least gap (0 in contact); soft = of a mean that weights small "    \
                "gaps."),                                                                                    \
        DS_REAL("proximity_scale", scale_, 1e-9, 1e6, "m",                                                   \
                "soft: gaps g >= 0 count with 1/(1 + (g/scale)^2); far beyond it all count like 1/g^2.")

void proximity_read(proximity *p, ds_param_reader *in);

/* The gaps of one pair of bodies, one after the other; begins as zeros. */
typedef struct proximity_seen {
    uint64_t gaps, nearest; /* how many; number of the least one */
    double least, weights, sum;
} proximity_seen;

void proximity_add(const proximity *p, proximity_seen *seen, double gap);

/* The distance d of the gaps that have been added; 0 of none. */
double proximity_distance(const proximity *p, const proximity_seen *seen);

/* d d / d gap of the i-th one that was added, whose gap this is. */
double proximity_slope(const proximity *p, const proximity_seen *seen, uint64_t i, double gap);

#endif
