/* SPDX-License-Identifier: Apache-2.0 */
/* lm_params.h - schema entries of the Levenberg-Marquardt method, and reading them. */
#ifndef DS_METHODS_LM_PARAMS_H
#define DS_METHODS_LM_PARAMS_H

#include "methods/squares/least_squares.h"
#include "methods/squares/levenberg.h"

#include <diffsim/helper/params.h>

#define LM_PARAMS                                                                                            \
    DS_ENUM("residuals", "auto", lm_residual_choices,                                                        \
            "vector = the residuals of the environment; scalar = one residual, the loss above its "          \
            "floor; auto = vector where the environment has them."),                                         \
        DS_INT("iterations", "50", 1, 1e6, "", "Most steps of a search, rejected ones included."),           \
        DS_REAL("radius", "1e4", 1e-16, 1e16, "", "Trust radius at the start: the damping is D/radius."),    \
        DS_REAL("ftol", "1e-6", 0, 1, "",                                                                    \
                "A search ends when a step lowers the loss by less than ftol times it."),                    \
        DS_REAL("xtol", "1e-8", 0, 1, "", "A search ends when a step is shorter than xtol (|x| + xtol)."),   \
        DS_REAL("gtol", "1e-10", 0, INFINITY, "",                                                            \
                "A search ends when no component of the projected gradient of the loss exceeds gtol times "  \
                "the loss, where the box is [-1, 1]."),                                                      \
        DS_ENUM("bounds", "clamp", lm_bounds_choices,                                                        \
                "clamp = a step is cut where it leaves the box; damp = besides, variables are damped the "   \
                "more, the nearer they are to the bound that the gradient leads to: fewer searches end in "  \
                "a corner.")

static const char *const lm_residual_choices[] = {"auto", "vector", "scalar", NULL};

static const char *const lm_bounds_choices[] = {"clamp", "damp", NULL};

static inline lm_options lm_read_options(ds_param_reader *in)
{
    return (lm_options){.radius = ds_param_real(in, "radius"),
                        .iterations = (size_t)ds_param_int(in, "iterations"),
                        .accept = 1e-3,
                        .ftol = ds_param_real(in, "ftol"),
                        .xtol = ds_param_real(in, "xtol"),
                        .gtol = ds_param_real(in, "gtol"),
                        .bounds = (int)ds_param_int(in, "bounds")};
}

#endif
