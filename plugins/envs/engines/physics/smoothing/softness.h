/* SPDX-License-Identifier: Apache-2.0 */
/* softness.h - a contact force as a ramp of the penetration, hard or smoothed so that bodies act on each
 * other before they touch.
 *
 * With penetration x (negative: a gap) the hard ramp is max(x, 0). Each smoothed one is E[max(x + w, 0)] for
 * noise w with the density rho = the second derivative of the ramp:
 *
 *     softplus   width log(1 + exp(x / width))             w logistic; width = 1/kappa
 *     barrier    (x + sqrt(x^2 + 4 width^2)) / 2           w of Student's t, see below
 *     gaussian   x Phi(x / width) + width phi(x / width)   w normal, standard deviation width
 *
 * barrier is what a logarithmic barrier makes of a quasi-static contact; its t has 2 degrees of freedom and
 * the scale sqrt(2) width.
 *
 * Sources: H. J. T. Suh, M. Simchowitz, K. Zhang, R. Tedrake, "Do differentiable simulators give better
 * policy gradients?", ICML 2022; T. Pang, H. J. T. Suh, L. Yang, R. Tedrake, "Global planning for
 * contact-rich manipulation via local smoothing of quasi-dynamic contact models", IEEE Transactions on
 * Robotics 2023.
 */
#ifndef DS_ENGINES_SOFTNESS_H
#define DS_ENGINES_SOFTNESS_H

#include <diffsim/helper/params.h>
#include <diffsim/helper/random.h>
#include <diffsim/plugin.h>

enum { SOFTNESS_NONE, SOFTNESS_SOFTPLUS, SOFTNESS_BARRIER, SOFTNESS_GAUSSIAN };

extern const char *const softness_kernels[];          /* names, as the numbers above */
extern const char *const softness_backward_kernels[]; /* the same without "none" */
extern const char *const contact_grads[];             /* exact, distance */

/* How a force looks, and how its derivative. */
typedef struct softness {
    int64_t kernel; /* SOFTNESS_* */
    double width;   /* in the unit of the penetration, positive */
    /* Where set, gradients take the slope of another ramp than the force, for contact at a distance. */
    int at_distance;
    int64_t backward_kernel;
    double backward_width;
} softness;

/* Parameters `softness` and its width, usually called `width`; with SOFTNESS_BACKWARD_PARAMS also
 * `contact_grad`, `grad_softness` and `grad_width`. The texts are the defaults. */
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
/* Behind softness_read(): refuses a gradient at a distance of a contact that is softened. */
void softness_read_backward(softness *s, ds_param_reader *in);

/* The ramp at penetration x, its derivative, and what a gradient takes for its derivative, and for
 * the ramp. */
double softness_ramp(const softness *s, double x);
double softness_slope(const softness *s, double x);
double softness_pull(const softness *s, double x);
double softness_pull_ramp(const softness *s, double x);

/* The second derivatives of both ramps, 0 of a hard one. */
double softness_density(const softness *s, double x);
double softness_pull_density(const softness *s, double x);

/* A number drawn from the density rho of the ramp; 0 of the hard one. */
double softness_draw(const softness *s, ds_random *random);

#endif
