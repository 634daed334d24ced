/* SPDX-License-Identifier: Apache-2.0 */
/* softness.c - ramps of contact forces, proximity of bodies (see softness.h). */
#include "softness.h"

#include <diffsim/helper/fail.h>

#include <math.h>

const char *const softness_kernels[] = {"none", "softplus", "barrier", "gaussian", NULL};
const char *const softness_backward_kernels[] = {"softplus", "barrier", "gaussian", NULL};
const char *const contact_grads[] = {"exact", "distance", NULL};

void softness_read(softness *s, ds_param_reader *in, const char *width)
{
    s->kernel = ds_param_int(in, "softness");
    s->width = ds_param_real(in, width);
}

void softness_read_backward(softness *s, ds_param_reader *in)
{
    s->at_distance = ds_param_int(in, "contact_grad") == 1;
    s->backward_kernel = SOFTNESS_SOFTPLUS + ds_param_int(in, "grad_softness");
    s->backward_width = ds_param_real(in, "grad_width");
    if (in->status == DS_OK && s->at_distance && s->kernel != SOFTNESS_NONE) {
        in->status = ds_host_fail(in->host, DS_E_PARAM,
                                  "parameters softness = %s and contact_grad = distance: the gradient of a "
                                  "softened contact already acts at a distance; set only one of them",
                                  softness_kernels[s->kernel]);
    }
}

/* Distribution function of the standard normal, exact also far below 0. */
static double normal_below(double z)
{
    return 0.5 * erfc(-z * 0.70710678118654752440);
}

static double normal_density(double z)
{
    return 0.39894228040143267794 * exp(-0.5 * z * z);
}

static double ramp(int64_t kernel, double w, double x)
{
    const double root = 2 * w;
    switch (kernel) {
    case SOFTNESS_SOFTPLUS:
        return fmax(x, 0) + w * log1p(exp(-fabs(x) / w));
    case SOFTNESS_BARRIER: /* avoids cancellation on the side of the gap */
        return x > 0 ? 0.5 * (x + hypot(x, root)) : 0.5 * root * (root / (hypot(x, root) - x));
    case SOFTNESS_GAUSSIAN:
        return fmax(x * normal_below(x / w) + w * normal_density(x / w), 0);
    default:
        return fmax(x, 0);
    }
}

double softness_ramp(const softness *s, double x)
{
    return ramp(s->kernel, s->width, x);
}

static double slope(int64_t kernel, double w, double x)
{
    const double root = hypot(x, 2 * w);
    switch (kernel) {
    case SOFTNESS_SOFTPLUS:
        return x > 0 ? 1 / (1 + exp(-x / w)) : exp(x / w) / (1 + exp(x / w));
    case SOFTNESS_BARRIER:
        return x > 0 ? 0.5 * (1 + x / root) : 2 * w / root * (w / (root - x));
    case SOFTNESS_GAUSSIAN:
        return normal_below(x / w);
    default:
        return x > 0;
    }
}

double softness_slope(const softness *s, double x)
{
    return slope(s->kernel, s->width, x);
}

double softness_pull(const softness *s, double x)
{
    return s->at_distance ? slope(s->backward_kernel, s->backward_width, x) : slope(s->kernel, s->width, x);
}

double softness_pull_ramp(const softness *s, double x)
{
    return s->at_distance ? ramp(s->backward_kernel, s->backward_width, x) : ramp(s->kernel, s->width, x);
}

static double density(int64_t kernel, double w, double x)
{
    const double root = hypot(x, 2 * w), below = slope(kernel, w, x);
    switch (kernel) {
    case SOFTNESS_SOFTPLUS:
        return below / (1 + exp(x / w)) / w;
    case SOFTNESS_BARRIER:
        return 2 * (w / root) * (w / root) / root;
    case SOFTNESS_GAUSSIAN:
        return normal_density(x / w) / w;
    default:
        return 0;
    }
}

double softness_density(const softness *s, double x)
{
    return density(s->kernel, s->width, x);
}

double softness_pull_density(const softness *s, double x)
{
    return s->at_distance ? density(s->backward_kernel, s->backward_width, x)
                          : density(s->kernel, s->width, x);
}

double softness_draw(const softness *s, ds_random *random)
{
    double u, t;
    switch (s->kernel) {
    case SOFTNESS_SOFTPLUS:
        u = ds_random_uniform(random);
        return s->width * log(u / (1 - u));
    case SOFTNESS_BARRIER: /* inverse of 1/2 + w / (2 sqrt(w^2 + 4 width^2)) */
        u = ds_random_uniform(random);
        t = 2 * u - 1;
        return s->width * t / sqrt(u * (1 - u));
    case SOFTNESS_GAUSSIAN:
        return s->width * ds_random_normal(random);
    default:
        return 0;
    }
}

/* ---- proximity ---- */

const char *const proximity_kinds[] = {"hard", "soft", NULL};

void proximity_read(proximity *p, ds_param_reader *in)
{
    p->weight = ds_param_real(in, "contact_loss");
    p->kind = ds_param_int(in, "proximity");
    p->scale = ds_param_real(in, "proximity_scale");
}

static double weight_of(const proximity *p, double gap)
{
    return 1 / (1 + (gap / p->scale) * (gap / p->scale));
}

void proximity_add(const proximity *p, proximity_seen *seen, double gap)
{
    const double g = fmax(gap, 0), weight = weight_of(p, g);
    if (seen->gaps == 0 || g <= seen->least) {
        seen->least = g;
        seen->nearest = seen->gaps;
    }
    seen->weights += weight;
    seen->sum += weight * g;
    seen->gaps++;
}

double proximity_distance(const proximity *p, const proximity_seen *seen)
{
    if (seen->gaps == 0) {
        return 0;
    }
    return p->kind == PROXIMITY_HARD ? seen->least : seen->sum / seen->weights;
}

double proximity_slope(const proximity *p, const proximity_seen *seen, uint64_t i, double gap)
{
    if (!(gap > 0)) {
        return 0;
    }
    if (p->kind == PROXIMITY_HARD) {
        return i == seen->nearest;
    }
    const double weight = weight_of(p, gap), fall = -2 * gap / p->scale / p->scale * weight * weight;
    return (weight + (gap - seen->sum / seen->weights) * fall) / seen->weights;
}
