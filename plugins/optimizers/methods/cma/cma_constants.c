/* SPDX-License-Identifier: Apache-2.0 */
/* cma_constants.c - default strategy constants of CMA-ES for each profile.
 * Equation numbers are those of the tutorial, arXiv:1604.00772v2, table 1. */
#include "methods/cma/cma_constants.h"

#include <math.h>
#include <stdlib.h>

/* (sum w)^2 / sum w^2 over i in [from, to). */
static double effective_mass(const double *w, uint64_t from, uint64_t to)
{
    double sum = 0, square = 0;
    for (uint64_t i = from; i < to; i++) {
        sum += w[i];
        square += w[i] * w[i];
    }
    return square > 0 ? sum * sum / square : 0;
}

/* Raw weights, decreasing: eq. 49 of the tutorial, or those of the older codes, which are positive
 * up to mu. */
static void raw_weights(cma_constants *k, const cma_options *o, int positive_only)
{
    double top = positive_only ? (double)k->mu + 1 : 0.5 * ((double)k->lambda + 1);
    if (o->profile == CMA_2001) {
        top = 0.5 * ((double)k->lambda + 1);
    }
    for (uint64_t i = 0; i < k->lambda; i++) {
        k->weight[i] = o->equal_weights && i < k->mu ? 1 : log(top) - log((double)(i + 1));
    }
}

/* Positive part sums to 1 (eq. 53); negative part as far as C stays positive definite (eqs. 50-52), or 0. */
static void scale_weights(cma_constants *k, int active)
{
    double n = (double)k->n, positive = 0, negative = 0;
    for (uint64_t i = 0; i < k->lambda; i++) {
        *(i < k->mu ? &positive : &negative) += k->weight[i];
    }
    double s = 0;
    if (active && k->c_mu > 0 && negative < 0) {
        s = fmin(1 + k->c_1 / k->c_mu, 1 + 2 * k->mueff_neg / (k->mueff + 2));
        s = fmin(s, (1 - k->c_1 - k->c_mu) / (n * k->c_mu));
    }
    k->weight_sum = 0;
    for (uint64_t i = 0; i < k->lambda; i++) {
        k->weight[i] = i < k->mu ? k->weight[i] / positive : s > 0 ? s * k->weight[i] / fabs(negative) : 0;
        k->weight_sum += k->weight[i];
    }
}

/* Learning rates of the tutorial; `bonus` is 1/4 there and 0 in the library of profile PAPER. */
static void tutorial_rates(cma_constants *k, double bonus)
{
    double n = (double)k->n, mueff = k->mueff;
    k->c_s = (mueff + 2) / (n + mueff + 5);
    k->c_c = (4 + mueff / n) / (n + 4 + 2 * mueff / n);
    k->c_1 = 2 / (pow(n + 1.3, 2) + mueff);
    k->c_mu = fmin(1 - k->c_1, 2 * (bonus + mueff + 1 / mueff - 2) / (pow(n + 2, 2) + mueff));
}

/* Total learning rate c_cov of c-cmaes and of Ros and Hansen 2008. */
static double older_ccov(const cma_constants *k)
{
    double n = (double)k->n, mueff = k->mueff;
    return 2 / (mueff * pow(n + sqrt(2), 2)) +
           (1 - 1 / mueff) * fmin(1, (2 * mueff - 1) / (pow(n + 2, 2) + mueff));
}

static void older_rates(cma_constants *k)
{
    double n = (double)k->n, ccov = older_ccov(k);
    k->c_s = (k->mueff + 2) / (n + k->mueff + 3);
    k->c_c = 4 / (n + 4);
    k->c_1 = ccov / k->mueff;
    k->c_mu = ccov - k->c_1;
}

static void rates_2001(cma_constants *k)
{
    double n = (double)k->n;
    k->c_s = k->c_c = 4 / (n + 4);
    k->c_1 = 2 / pow(n + sqrt(2), 2);
    k->c_mu = 0;
}

/* A diagonal has n numbers to learn instead of n^2/2, and can learn them faster. */
static void diagonal_rates(cma_constants *k, int profile)
{
    double n = (double)k->n;
    if (profile == CMA_PAPER) { /* class SepCMA of the library */
        k->c_1 = 2 / (pow(n + 1.3, 2) + k->mueff);
        k->c_mu = (n + 2) / 3 * older_ccov(k);
    } else {
        double factor = profile == CMA_C_CMAES ? (n + 1.5) / 3 : (n + 2) / 3;
        k->c_1 = fmin(1, factor * k->c_1);
        k->c_mu *= factor;
    }
    k->c_mu = fmin(1 - k->c_1, k->c_mu);
}

/* Generations from one decomposition to the next. 1/((c_1 + c_mu) 10 n) of the tutorial (appendix
 * B.2) makes its cost O(n^2); a share > 0 waits until C has turned over by that much, which saves
 * more in high dimension. */
static uint64_t decomposition_gap(const cma_constants *k, const cma_options *o)
{
    if (o->profile == CMA_PAPER || o->profile == CMA_2001 || o->diagonal) {
        return 1;
    }
    double rate = k->c_1 + k->c_mu, tutorial = ceil(1 / (rate * (double)k->n * 10));
    return (uint64_t)fmin(fmax(fmax(1, tutorial), floor(o->eigen_share / rate)), 1e6);
}

uint64_t cma_default_lambda(uint64_t n)
{
    return 4 + (uint64_t)floor(3 * log((double)n));
}

int cma_constants_init(cma_constants *k, const cma_options *o)
{
    double n = (double)o->n;
    int older = o->profile == CMA_C_CMAES || (o->profile == CMA_PAPER && o->diagonal);
    *k = (cma_constants){.n = o->n, .c_m = 1, .log_step_cap = INFINITY, .max_axis_ratio = INFINITY};
    k->lambda = o->lambda ? o->lambda : cma_default_lambda(o->n);
    k->mu = o->mu ? o->mu : k->lambda / 2;
    k->weight = malloc(k->lambda * sizeof(double));
    if (!k->weight) {
        return -1;
    }
    raw_weights(k, o, older);
    k->mueff = effective_mass(k->weight, 0, k->mu);
    k->mueff_neg = effective_mass(k->weight, k->mu, k->lambda);
    k->chi_n = sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
    if (o->profile == CMA_2001) {
        rates_2001(k);
    } else if (older) {
        older_rates(k);
    } else {
        tutorial_rates(k, o->profile == CMA_TUTORIAL ? 0.25 : 0);
    }
    if (o->diagonal) {
        diagonal_rates(k, o->profile);
    }
    scale_weights(k, o->active && !older && o->profile != CMA_2001);

    double damping = 1 + 2 * fmax(0, sqrt((k->mueff - 1) / (n + 1)) - 1); /* eq. 55 */
    if (o->profile == CMA_C_CMAES && o->generations > 0) {
        damping *= fmax(0.3, 1 - n / o->generations);
    }
    k->d_s = o->profile == CMA_2001 ? 1 / k->c_s + 1 : damping + k->c_s;
    k->stall_offset = o->profile == CMA_2001 ? 0 : o->profile == CMA_PAPER ? 2 : 1;
    if (o->profile == CMA_TUTORIAL) {
        k->log_step_cap = 1;
    }
    if (o->profile == CMA_2001) {
        k->max_axis_ratio = 1e7;
    }
    k->eigen_gap = decomposition_gap(k, o);
    return 0;
}

void cma_constants_free(cma_constants *k)
{
    free(k->weight);
    k->weight = NULL;
}
