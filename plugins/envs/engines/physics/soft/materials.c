/* SPDX-License-Identifier: Apache-2.0 */
/* materials.c - Young's modulus, Poisson's ratio and density of materials as variables (see materials.h). */
#include "engines/physics/soft/materials.h"

#include "engines/kit/decision.h"

#include <math.h>
#include <string.h>

/* The law, mu (1 - 1/(Ic + 1)) F + (lambda (J - 1) - 3/4 mu) dJ/dF, is for small strains linear elasticity
 * with the Lame parameters 3/4 mu and lambda - 5/8 mu (B. Smith et al. 2018, section 3.4). */
void body_material_law(double youngs_modulus, double poisson_ratio, fem_solid *law)
{
    const double mu = youngs_modulus / (2 * (1 + poisson_ratio));
    law->mu = 4 * mu / 3;
    law->lambda =
        youngs_modulus * poisson_ratio / ((1 + poisson_ratio) * (1 - 2 * poisson_ratio)) + 5 * mu / 6;
}

static double as_built(const body_variable *q)
{
    return q->kind == BODY_VARIABLE_YOUNGS    ? q->material->youngs_modulus
           : q->kind == BODY_VARIABLE_POISSON ? q->material->poisson_ratio
           : q->kind == BODY_VARIABLE_FACTOR  ? q->material->factor
                                              : q->material->density;
}

/* The constant that item i sets. */
static double constant_of(const body_variables *set, uint64_t i, const double *x)
{
    const body_variable *q = set->item[i];
    return x == NULL ? as_built(q) : q->log ? pow(10, x[set->at[i]]) : x[set->at[i]];
}

/* Derivative of the constant by its variable. */
static double slope_of(const body_variables *set, uint64_t i, const double *x)
{
    return set->item[i]->log ? decision_ln10 * constant_of(set, i, x) : 1;
}

/* Both elastic constants of the material of item i. */
static void elastic(const body_variables *set, uint64_t i, const double *x, double *youngs, double *poisson)
{
    const body_material *m = set->item[i]->material;
    *youngs = m->youngs_modulus;
    *poisson = m->poisson_ratio;
    for (uint64_t k = 0; k < set->count; k++) {
        if (set->item[k]->material == m && set->item[k]->kind == BODY_VARIABLE_YOUNGS) {
            *youngs = constant_of(set, k, x);
        } else if (set->item[k]->material == m && set->item[k]->kind == BODY_VARIABLE_POISSON) {
            *poisson = constant_of(set, k, x);
        }
    }
}

static void apply_elastic(const body_variables *set, uint64_t i, const double *x)
{
    const body_material *m = set->item[i]->material;
    fem_solid law = {0};
    double youngs, poisson;
    elastic(set, i, x, &youngs, &poisson);
    body_material_law(youngs, poisson, &law);
    for (size_t t = 0; t < set->model->tets; t++) {
        if (m->tets[t]) {
            set->model->solid[t].mu = law.mu;
            set->model->solid[t].lambda = law.lambda;
        }
    }
}

void body_material_share(const body_material *m, const fem_model *model)
{
    if (m->tets == NULL && m->triangles == NULL) {
        return;
    }
    memset(m->share, 0, model->particles * sizeof *m->share);
    for (size_t t = model->tets; m->tets != NULL && t-- > 0;) {
        for (int k = 0; k < 4 && m->tets[t]; k++) {
            m->share[model->tet[4 * t + (size_t)k]] += model->tet_volume[t] / 4;
        }
    }
    for (size_t t = 0; m->triangles != NULL && t < model->triangles; t++) {
        for (int k = 0; k < 3 && m->triangles[t]; k++) {
            m->share[model->triangle[3 * t + (size_t)k]] += model->triangle_area[t] / 3;
        }
    }
}

double body_material_density(const body_variables *set, const double *x, int tet, size_t t)
{
    double density = tet ? set->tet_density[t] : set->triangle_density[t];
    for (uint64_t i = 0; i < set->count; i++) {
        const body_material *m = set->item[i]->material;
        const uint8_t *of = m == NULL ? NULL : tet ? m->tets : m->triangles;
        if (set->item[i]->kind == BODY_VARIABLE_MATERIAL_DENSITY && of != NULL && of[t]) {
            density += constant_of(set, i, x) - m->density;
        }
    }
    return density;
}

/* The stiffness of parts of sheets; several may overlap. */
static void apply_factors(const body_variables *set, const double *x)
{
    fem_model *model = set->model;
    int first = 1;
    for (uint64_t i = 0; i < set->count; i++) {
        const body_material *m = set->item[i]->material;
        if (set->item[i]->kind != BODY_VARIABLE_FACTOR) {
            continue;
        }
        const double by = constant_of(set, i, x) / m->factor;
        for (size_t t = 0; t < model->triangles; t++) {
            const double before = first ? set->truth.triangle_factor[t] : model->triangle_factor[t];
            model->triangle_factor[t] = before * (m->triangles[t] ? by : 1);
        }
        for (size_t e = 0; e < model->edges; e++) {
            const double before = first ? set->truth.edge_factor[e] : model->edge_factor[e];
            model->edge_factor[e] = before * (m->edges[e] ? by : 1);
        }
        first = 0;
    }
}

/* Derivative by the factor of item i. */
static double gather_factor(const body_variables *set, uint64_t i, const double *x, const fem_variation *bar)
{
    const body_material *m = set->item[i]->material;
    double sum = 0;
    for (size_t t = 0; t < set->model->triangles; t++) {
        sum += m->triangles[t] ? bar->triangle_factor[t] * set->model->triangle_factor[t] : 0;
    }
    for (size_t e = 0; e < set->model->edges; e++) {
        sum += m->edges[e] ? bar->edge_factor[e] * set->model->edge_factor[e] : 0;
    }
    return sum / constant_of(set, i, x);
}

static void spread_factor(const body_variables *set, uint64_t i, const double *x, double change,
                          fem_variation *dot)
{
    const body_material *m = set->item[i]->material;
    const double relative = change / constant_of(set, i, x);
    for (size_t t = 0; t < set->model->triangles; t++) {
        dot->triangle_factor[t] += m->triangles[t] ? relative * set->model->triangle_factor[t] : 0;
    }
    for (size_t e = 0; e < set->model->edges; e++) {
        dot->edge_factor[e] += m->edges[e] ? relative * set->model->edge_factor[e] : 0;
    }
}

/* A particle may have its mass from several materials. Where shapes change, their masses are set. */
static void apply_densities(const body_variables *set, const double *x)
{
    int first = set->model->rest == NULL;
    for (uint64_t i = 0; i < set->count; i++) {
        const body_material *m = set->item[i]->material;
        if (set->item[i]->kind != BODY_VARIABLE_MATERIAL_DENSITY) {
            continue;
        }
        if (set->model->rest != NULL) {
            body_material_share(m, set->model);
        }
        const double more = constant_of(set, i, x) - m->density;
        for (size_t j = 0; j < set->model->particles; j++) {
            const double before = first ? set->truth.mass[j] : set->model->mass[j];
            set->model->mass[j] = before + more * m->share[j];
        }
        first = 0;
    }
}

void body_materials_apply(const body_variables *set, const double *x)
{
    for (uint64_t i = 0; i < set->count; i++) {
        if (set->item[i]->kind == BODY_VARIABLE_YOUNGS || set->item[i]->kind == BODY_VARIABLE_POISSON) {
            apply_elastic(set, i, x);
        }
    }
    apply_densities(set, x);
    apply_factors(set, x);
}

/* Derivatives of mu and lambda of the law by the elastic constant of item i. */
static void by_constant(const body_variables *set, uint64_t i, const double *x, double *mu, double *lambda)
{
    double e, nu;
    elastic(set, i, x, &e, &nu);
    const double a = 1 + nu, b = 1 - 2 * nu;
    const int youngs = set->item[i]->kind == BODY_VARIABLE_YOUNGS;
    const double shear = youngs ? 1 / (2 * a) : -e / (2 * a * a);
    const double bulk = youngs ? nu / (a * b) : e * (1 + 2 * nu * nu) / (a * a * b * b);
    *mu = 4 * shear / 3;
    *lambda = bulk + 5 * shear / 6;
}

void body_material_gather(const body_variables *set, uint64_t i, const double *x, const fem_variation *bar,
                          double *grad)
{
    const body_material *m = set->item[i]->material;
    double mu = 0, lambda = 0, sum = 0;
    if (set->item[i]->kind == BODY_VARIABLE_FACTOR) {
        sum = gather_factor(set, i, x, bar);
    } else if (set->item[i]->kind == BODY_VARIABLE_MATERIAL_DENSITY) {
        for (size_t j = 0; j < set->model->particles; j++) {
            sum += bar->mass[j] * m->share[j];
        }
    } else {
        by_constant(set, i, x, &mu, &lambda);
        for (size_t t = 0; t < set->model->tets; t++) {
            sum += m->tets[t] ? bar->solid[t].mu * mu + bar->solid[t].lambda * lambda : 0;
        }
    }
    *grad += sum * slope_of(set, i, x);
}

void body_material_spread(const body_variables *set, uint64_t i, const double *x, const double *v,
                          fem_variation *dot)
{
    const body_material *m = set->item[i]->material;
    const double change = *v * slope_of(set, i, x);
    double mu = 0, lambda = 0;
    if (set->item[i]->kind == BODY_VARIABLE_MATERIAL_DENSITY) {
        for (size_t j = 0; j < set->model->particles; j++) {
            dot->mass[j] += change * m->share[j];
        }
        return;
    }
    if (set->item[i]->kind == BODY_VARIABLE_FACTOR) {
        spread_factor(set, i, x, change, dot);
        return;
    }
    by_constant(set, i, x, &mu, &lambda);
    for (size_t t = 0; t < set->model->tets; t++) {
        if (m->tets[t]) {
            dot->solid[t].mu += mu * change;
            dot->solid[t].lambda += lambda * change;
        }
    }
}

double body_material_error(const body_variable *q, double value)
{
    return q->log ? fabs(pow(10, value) / as_built(q) - 1) : fabs(value - as_built(q));
}
