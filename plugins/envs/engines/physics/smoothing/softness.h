/* SPDX-License-Identifier: Apache-2.0 */
/* softness.h - contact that acts before bodies touch: ramps of contact forces, and a term of the loss for how
 * near two bodies came.
 *
 * Ramps: with penetration x (negative: a gap) the hard ramp is max(x, 0). Each smoothed one is E[max(x + w,
 * 0)] for noise w with density rho, the second derivative of the ramp:
 *
 *     softplus   width log(1 + exp(x / width))             w logistic; width = 1/kappa
 *     barrier    (x + sqrt(x^2 + 4 width^2)) / 2           w of Student's t, see below
 *     gaussian   x Phi(x / width) + width phi(x / width)   w normal, standard deviation width
 *
 * barrier results from a logarithmic barrier in a quasi-static contact; its t has 2 degrees of freedom and
 * the scale sqrt(2) width.
 *
 * Sources: H. J. T. Suh, M. Simchowitz, K. Zhang, R. Tedrake, "Do differentiable simulators give better
 * policy gradients?", ICML 2022; T. Pang, H. J. T. Suh, L. Yang, R. Tedrake, "Global planning for
 * contact-rich manipulation via local smoothing of quasi-dynamic contact models", IEEE Transactions on
 * Robotics 2023. */
#ifndef DS_ENGINES_SOFTNESS_H
#define DS_ENGINES_SOFTNESS_H

#include <diffsim/helper/params.h>
#include <diffsim/helper/random.h>
#include <diffsim/plugin.h>

enum { SOFTNESS_NONE, SOFTNESS_SOFTPLUS, SOFTNESS_BARRIER, SOFTNESS_GAUSSIAN };

extern const char *const softness_kernels[];          /* names, in the order of the numbers above */
extern const char *const softness_backward_kernels[]; /* the same without "none" */
extern const char *const contact_grads[];             /* exact, distance */

/* Ramp of a force, and ramp of its derivative. */
typedef struct softness {
    int64_t kernel; /* SOFTNESS_* */
    double width;   /* in the unit of the penetration, positive */
    /* 1: gradients take the slope of another ramp than the force, for contact at a distance. */
    int at_distance;
    int64_t backward_kernel;
    double backward_width;
} softness;

/* Parameters `softness` and its width, usually named `width`; SOFTNESS_BACKWARD_PARAMS: `contact_grad`,
 * `grad_softness` and `grad_width`. The strings are the defaults. */
#define SOFTNESS_PARAMS(name_, kernel_, width_, unit_)                                                       \
    DS_ENUM("softness", kernel_, softness_kernels,                                                           \
            "Ramp of the contact force over the penetration: none = hard, zero before bodies touch; "        \
            "softplus, barrier, gaussian = smoothed, bodies act at a distance."),                            \
        DS_REAL(name_, width_, 1e-12, 1e6, unit_,                                                            \
                "Width of a smoothed ramp: 1/kappa of softplus, half the force at 0 of barrier, standard "   \
                "deviation of gaussian.",                                                                    \
                .flags = DS_PARAM_LOG)
#define SOFTNESS_BACKWARD_PARAMS(width_, unit_)                                                              \
    DS_ENUM("contact_grad", "exact", contact_grads,                                                          \
            "exact = derivative of the force; distance = the gradient alone takes the slope of the ramp "    \
            "`grad_softness`, as if bodies acted at a distance; the loss is not changed, and such a "        \
            "gradient not its derivative."),                                                                 \
        DS_ENUM("grad_softness", "softplus", softness_backward_kernels, "Ramp of contact_grad = distance."), \
        DS_REAL("grad_width", width_, 1e-12, 1e6, unit_, "Its width.", .flags = DS_PARAM_LOG)

void softness_read(softness *s, ds_param_reader *in, const char *width);
/* Call after softness_read(). Refuses contact_grad = distance with a softened contact. */
void softness_read_backward(softness *s, ds_param_reader *in);

/* At penetration x: the ramp, its derivative, and the derivative and the ramp that a gradient uses. */
double softness_ramp(const softness *s, double x);
double softness_slope(const softness *s, double x);
double softness_pull(const softness *s, double x);
double softness_pull_ramp(const softness *s, double x);

/* Second derivatives of both ramps; 0 for a hard ramp. */
double softness_density(const softness *s, double x);
double softness_pull_density(const softness *s, double x);

/* Draws from the density rho of the ramp; 0 for a hard ramp. */
double softness_draw(const softness *s, ds_random *random);

/* ---- proximity ---- */

/* A term of a loss for how near two bodies came, which acts before they touch: the least of many gaps, or a
 * mean that weights small ones (both forms of PlasticineLab's contact loss).
 *
 * The distance d of gaps g_i (cut at 0) is
 *
 *     hard   min_i g_i; the last one if several are equal
 *     soft   sum w_i g_i / sum w_i,  w_i = 1/(1 + (g_i/scale)^2)
 *
 * and the term is weight d^2. If all gaps are far beyond the scale, weights go like 1/g^2, and soft is a mean
 * instead of a least gap.
 *
 * Source: Z. Huang, Y. Hu, T. Du, S. Zhou, H. Su, J. Tenenbaum, C. Gan, "PlasticineLab: A soft-body
 * manipulation benchmark with differentiable physics", ICLR 2021. */

enum { PROXIMITY_HARD, PROXIMITY_SOFT };

extern const char *const proximity_kinds[]; /* names, in the order of the numbers above */

typedef struct proximity {
    double weight; /* 0: no such term */
    double scale;  /* in the unit of the gaps */
    int64_t kind;  /* PROXIMITY_* */
} proximity;

/* Parameters `contact_loss` (the weight), `proximity` and `proximity_scale`; `what_` names the gaps. */
#define PROXIMITY_PARAMS(what_, scale_)                                                                      \
    DS_REAL("contact_loss", "0", 0, 1e9, "", "Weight w of how near " what_ " came; added to the loss."),     \
        DS_ENUM("proximity", "hard", proximity_kinds,                                                        \
                "hard = the square of the least gap (0 in contact); soft = of a mean that weights small "    \
                "gaps."),                                                                                    \
        DS_REAL("proximity_scale", scale_, 1e-9, 1e6, "m",                                                   \
                "soft: gaps g >= 0 count with 1/(1 + (g/scale)^2); far beyond it all count like 1/g^2.")

void proximity_read(proximity *p, ds_param_reader *in);

/* The gaps of one pair of bodies, added one after the other; start with zeros. */
typedef struct proximity_seen {
    uint64_t gaps, nearest; /* number of gaps; index of the least one */
    double least, weights, sum;
} proximity_seen;

void proximity_add(const proximity *p, proximity_seen *seen, double gap);

/* The distance d of the added gaps; 0 without gaps. */
double proximity_distance(const proximity *p, const proximity_seen *seen);

/* d d / d gap of gap i, whose value is `gap`. */
double proximity_slope(const proximity *p, const proximity_seen *seen, uint64_t i, double gap);

#endif
