/* SPDX-License-Identifier: Apache-2.0 */
/* variables.c - numbers of a scene as decision variables. Constants of materials, tools and floor change in
 * place before an episode, the particles of a body move with its frame and its sizes; the simulation leaves
 * the adjoints of all of them, and the chain rule does the rest. */
#include "engines/physics/mpm/env/variables.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"
#include "engines/physics/mpm/env/sizes.h"
#include "engines/physics/mpm/sim/sand.h"

#include <math.h>
#include <string.h>

void mpm_variable_name(const mpm_variable *v, ds_env_variable *out)
{
    ds_env_variable_put(out->group, "%.20s", v->section);
    ds_env_variable_put(out->name, "%.20s.%s%s%s", v->section, v->key, v->component[0] ? "." : "",
                        v->component);
    ds_env_variable_put(out->unit, "%s%s%s", v->log ? "log10" : "", v->log && v->unit[0] ? " " : "", v->unit);
}

void mpm_variable_range(const mpm_variable *v, double *lower, double *upper, double *start)
{
    *lower = v->log ? log10(v->lower) : v->lower;
    *upper = v->log ? log10(v->upper) : v->upper;
    *start = v->log ? log10(v->start) : v->start;
}

static double value_of(const mpm_variable *v, double x)
{
    return v->log ? pow(10.0, x) : x;
}

/* ---- poses ---- */

/* A quaternion of any length as a rotation; *norm: its former length. One without length turns nothing. */
static void rotation_of(const double q[4], double unit[4], double *norm)
{
    static const double none[4] = {1.0, 0.0, 0.0, 0.0};
    const double sq = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    memcpy(unit, sq > 1e-24 ? q : none, sizeof none);
    *norm = sq > 1e-24 ? quat_normalise(unit) : (double)INFINITY;
}

/* A pose as the file gives it, some of it from variables. */
typedef struct placement {
    double position[3], rotation[4], velocity[3];
    bool turns; /* by variables */
} placement;

/* Replaces by variables of these kinds what they give. */
static void place(const mpm_variables *v, const double *x, uint32_t position, uint32_t of, placement *out)
{
    for (uint32_t i = 0; i < v->count; i++) {
        const mpm_variable *w = &v->list[i];
        if (w->of != of) {
            continue;
        }
        if (w->kind == position) {
            out->position[w->part] = value_of(w, x[i]);
        } else if (w->kind == position + 1) { /* MPM_BODY_ROTATION, MPM_TOOL_ROTATION */
            out->rotation[w->part] = value_of(w, x[i]);
            out->turns = true;
        } else if (w->kind == MPM_BODY_VELOCITY && position == MPM_BODY_CENTER) {
            out->velocity[w->part] = value_of(w, x[i]);
        }
    }
}

static placement body_at(const mpm_variables *v, const double *x, uint32_t b)
{
    const mpm_body *body = &v->scene->bodies[b];
    placement p = {.turns = false};
    memcpy(p.position, body->center, sizeof p.position);
    memcpy(p.rotation, body->rotation, sizeof p.rotation);
    memcpy(p.velocity, body->velocity, sizeof p.velocity);
    place(v, x, MPM_BODY_CENTER, b, &p);
    return p;
}

static placement tool_at(const mpm_variables *v, const double *x, uint32_t t)
{
    const mpm_pose *start = &v->scene->tools[t].start;
    placement p = {.turns = false};
    memcpy(p.position, start->position, sizeof p.position);
    memcpy(p.rotation, start->rotation, sizeof p.rotation);
    place(v, x, MPM_TOOL_POSITION, t, &p);
    return p;
}

/* ---- set-up ---- */

static bool belongs_to_body(const mpm_variable *w)
{
    return w->kind >= MPM_BODY_CENTER && w->kind <= MPM_BODY_SIZE;
}

/* The particles of a moved body relative to its frame, and of a resized one what no size changes. */
static void keep_offsets(mpm_variables *v, uint32_t b)
{
    const mpm_body *body = &v->scene->bodies[b];
    double unit[4], inverse[4], norm;
    rotation_of(body->rotation, unit, &norm);
    quat_inverse(unit, inverse);
    for (size_t p = v->first[b]; p < v->first[b + 1]; p++) {
        double turned[3];
        for (int d = 0; d < 3; d++) {
            turned[d] = v->episode->start[p].x[d] - body->center[d];
        }
        quat_rotate(inverse, turned, v->offset + 3 * p);
        if (v->resized[b]) {
            mpm_sizes_sample(body, v->offset + 3 * p, v->sample + 3 * p);
        }
    }
}

bool mpm_variables_open(mpm_variables *v, const mpm_variable *list, uint32_t count, mpm_scene *scene,
                        mpm_episode *episode, uint32_t total, ds_memory *memory)
{
    const mpm_sim *sim = &episode->sim;
    bool any = false, sized = false;
    *v = (mpm_variables){.list = list, .count = count, .scene = scene, .episode = episode};
    for (uint32_t b = 0; b < scene->n_bodies; b++) {
        v->first[b + 1] = v->first[b] + mpm_body_count(scene, &sim->domain, total, b);
        v->growth[b] = 1.0;
    }
    for (uint32_t k = 0; k < sim->n_phases; k++) {
        uint32_t b = 0;
        while (b + 1 < scene->n_bodies &&
               (v->first[b] != sim->phases[k].first || v->first[b + 1] == v->first[b])) {
            b++;
        }
        v->body[k] = b;
        v->matter[k] = &scene->bodies[b].matter;
        v->unit_volume[k] = sim->phases[k].volume;
        v->unit_mass[k] = sim->phases[k].mass / (v->matter[k]->density > 0.0 ? v->matter[k]->density : 1.0);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (belongs_to_body(&list[i])) {
            v->moved[list[i].of] = any = true;
        }
        if (list[i].kind == MPM_BODY_SIZE) {
            v->resized[list[i].of] = sized = true;
        }
    }
    v->offset = any ? ds_memory_doubles(memory, 3 * (size_t)sim->n_particles + 1) : NULL;
    v->sample = sized ? ds_memory_doubles(memory, 3 * (size_t)sim->n_particles + 1) : NULL;
    const bool have = (!any || v->offset) && (!sized || v->sample);
    for (uint32_t b = 0; have && b < scene->n_bodies; b++) {
        if (v->moved[b]) {
            keep_offsets(v, b);
        }
    }
    return have;
}

/* ---- before an episode ---- */

/* The constants of a material at x; of plasticine E, nu and the yield stress. */
static mpm_matter matter_at(const mpm_variables *v, const mpm_matter *matter, const double *x)
{
    mpm_matter m = *matter;
    double *const by_kind[] = {
        [MPM_YOUNGS_MODULUS] = &m.youngs_modulus, [MPM_POISSON_RATIO] = &m.poisson_ratio,
        [MPM_YIELD_STRESS] = &m.yield_stress,     [MPM_FRICTION_ANGLE] = &m.friction_angle,
        [MPM_SHEAR_MODULUS] = &m.modulus,         [MPM_BULK_MODULUS] = &m.modulus,
        [MPM_VISCOSITY] = &m.viscosity,           [MPM_DENSITY] = &m.density};
    for (uint32_t i = 0; m.number > 0 && i < v->count; i++) {
        if (v->list[i].kind <= MPM_DENSITY && v->list[i].of == m.number) {
            *by_kind[v->list[i].kind] = value_of(&v->list[i], x[i]);
        }
    }
    return m;
}

static void set_materials(mpm_variables *v, const double *x)
{
    mpm_sim *sim = &v->episode->sim;
    memset(v->bar, 0, sizeof v->bar);
    for (uint32_t k = 0; k < sim->n_phases; k++) {
        mpm_phase *phase = &sim->phases[k];
        mpm_material *law = &phase->material;
        law->bar = v->bar[k];
        if (v->matter[k]->number == 0 && !v->resized[v->body[k]]) {
            continue;
        }
        const mpm_matter m = matter_at(v, v->matter[k], x);
        phase->mass = v->unit_mass[k] * m.density * v->growth[v->body[k]];
        phase->volume = v->unit_volume[k] * v->growth[v->body[k]];
        law->modulus = m.modulus;
        law->viscosity = m.viscosity;
        if (law->law == MPM_PLASTICINE) {
            const mpm_material made = mpm_material_make(m.youngs_modulus, m.poisson_ratio, m.yield_stress);
            law->mu = made.mu;
            law->lambda = made.lambda;
            law->yield_strain = made.yield_strain;
        } else if (law->law == MPM_SAND) {
            const mpm_material made = mpm_sand_make(m.youngs_modulus, m.poisson_ratio, m.friction_angle);
            law->mu = made.mu;
            law->lambda = made.lambda;
            law->cone = made.cone;
        }
    }
}

/* The sizes of a body at x; returns its volume over that at the start, with the derivatives. */
static double sizes_at(const mpm_variables *v, const double *x, uint32_t b, double size[3], double slope[3])
{
    const uint32_t shape = v->scene->bodies[b].shape;
    mpm_sizes_start(&v->scene->bodies[b], size);
    const double before = mpm_sizes_volume(shape, size, slope);
    for (uint32_t i = 0; i < v->count; i++) {
        const mpm_variable *w = &v->list[i];
        if (w->kind == MPM_BODY_SIZE && w->of == b) {
            size[w->part] = w->factor * value_of(w, x[i]);
        }
    }
    const double growth = mpm_sizes_volume(shape, size, slope) / before;
    for (int k = 0; k < 3; k++) {
        slope[k] /= before;
    }
    return growth;
}

static void resize(mpm_variables *v, const double *x, uint32_t b)
{
    double size[3], slope[3];
    v->growth[b] = sizes_at(v, x, b, size, slope);
    for (size_t p = v->first[b]; p < v->first[b + 1]; p++) {
        mpm_sizes_place(v->scene->bodies[b].shape, size, v->sample + 3 * p, v->offset + 3 * p, NULL);
    }
}

static void set_bodies(mpm_variables *v, const double *x)
{
    for (uint32_t b = 0; b < v->scene->n_bodies; b++) {
        if (!v->moved[b]) {
            continue;
        }
        if (v->resized[b]) {
            resize(v, x, b);
        }
        const placement at = body_at(v, x, b);
        double unit[4], norm;
        rotation_of(at.rotation, unit, &norm);
        for (size_t p = v->first[b]; p < v->first[b + 1]; p++) {
            mpm_particle *particle = &v->episode->start[p];
            quat_rotate(unit, v->offset + 3 * p, particle->x);
            vec3_add_scaled(particle->x, 1.0, at.position);
            memcpy(particle->v, at.velocity, sizeof at.velocity);
        }
    }
}

void mpm_variables_set(mpm_variables *v, const double *x)
{
    mpm_sim *sim = &v->episode->sim;
    mpm_pose *start = v->episode->start_pose;
    set_bodies(v, x);
    set_materials(v, x);
    for (uint32_t i = 0; i < v->count; i++) {
        const mpm_variable *w = &v->list[i];
        const double value = value_of(w, x[i]);
        mpm_tool *tool = &v->scene->tools[w->of < MPM_MAX_TOOLS ? w->of : 0];
        double norm;
        switch (w->kind) {
        case MPM_TOOL_POSITION:
            start[w->of].position[w->part] = value;
            break;
        case MPM_TOOL_ROTATION:
            rotation_of(tool_at(v, x, w->of).rotation, start[w->of].rotation, &norm);
            break;
        case MPM_TOOL_GAP:
            start[w->of].gap = value;
            break;
        case MPM_TOOL_FRICTION:
            tool->friction = value;
            break;
        case MPM_TOOL_SIZE:
            tool->size[w->part] = w->factor * value;
            break;
        case MPM_GRAVITY:
            sim->forcing.gravity[w->part] = sim->domain.gravity_factor * value;
            break;
        case MPM_GROUND_FRICTION:
            sim->forcing.ground_friction = value;
            break;
        case MPM_SOFTNESS:
            sim->forcing.softness = value;
            break;
        default: /* materials and bodies */
            break;
        }
    }
}

/* ---- after it ---- */

/* Adjoints of the constants of the phases of one material, or of all where number is 0. */
static void sum_phases(const mpm_variables *v, uint32_t number, double sum[MPM_CONSTANTS], double *mass)
{
    memset(sum, 0, MPM_CONSTANTS * sizeof *sum);
    *mass = 0.0;
    for (uint32_t k = 0; k < v->episode->sim.n_phases; k++) {
        double own = 0.0;
        if (number != 0 && v->matter[k]->number != number) {
            continue;
        }
        for (uint32_t i = 0; i < MPM_PARTS * MPM_CONSTANTS; i++) {
            sum[i % MPM_CONSTANTS] += v->bar[k][i];
            own += i % MPM_CONSTANTS == MPM_BAR_MASS ? v->bar[k][i] : 0.0;
        }
        *mass += v->unit_mass[k] * v->growth[v->body[k]] * own;
    }
}

/* A matter with this number; all phases of a material have the same constants. */
static const mpm_matter *matter_numbered(const mpm_variables *v, uint32_t number)
{
    uint32_t k = 0;
    while (k + 1 < v->episode->sim.n_phases && v->matter[k]->number != number) {
        k++;
    }
    return v->matter[k];
}

/* The same of sand: cone = alpha(angle) (1 + nu) / (1 - 2 nu). */
static double by_sand(const mpm_matter *m, uint32_t kind, double mu, double lambda, double cone)
{
    const double e = m->youngs_modulus, nu = m->poisson_ratio, a = 1.0 + nu, b = 1.0 - 2.0 * nu;
    double slope, alpha = mpm_sand_alpha(m->friction_angle, &slope);
    switch (kind) {
    case MPM_YOUNGS_MODULUS:
        return mu / (2.0 * a) + lambda * nu / (a * b);
    case MPM_POISSON_RATIO:
        return -mu * e / (2.0 * a * a) + lambda * e * (1.0 + 2.0 * nu * nu) / (a * a * b * b) +
               cone * alpha * 3.0 / (b * b);
    default:
        return cone * slope * a / b;
    }
}

/* By the value of a constant of a material. Plasticine: mu = E / (2 (1 + nu)), lambda = E nu / ((1 + nu) (1 -
 * 2 nu)), yield strain = stress / (2 mu). */
static double by_material(const mpm_variables *v, const mpm_variable *w, const double *x)
{
    double sum[MPM_CONSTANTS], mass;
    sum_phases(v, w->of, sum, &mass);
    const mpm_matter m = matter_at(v, matter_numbered(v, w->of), x);
    const double e = m.youngs_modulus, nu = m.poisson_ratio, stress = m.yield_stress, a = 1.0 + nu,
                 b = 1.0 - 2.0 * nu, mu = sum[MPM_BAR_MODULUS], lambda = sum[MPM_BAR_LAMBDA],
                 yield = sum[MPM_BAR_YIELD];
    if (m.law == MPM_SAND && w->kind <= MPM_FRICTION_ANGLE) {
        return by_sand(&m, w->kind, mu, lambda, sum[MPM_BAR_CONE]);
    }
    switch (w->kind) {
    case MPM_YOUNGS_MODULUS:
        return mu / (2.0 * a) + lambda * nu / (a * b) - yield * stress * a / (e * e);
    case MPM_POISSON_RATIO:
        return -mu * e / (2.0 * a * a) + lambda * e * (1.0 + 2.0 * nu * nu) / (a * a * b * b) +
               yield * stress / e;
    case MPM_YIELD_STRESS:
        return yield * a / e;
    case MPM_DENSITY:
        return mass;
    case MPM_VISCOSITY:
        return sum[MPM_BAR_VISCOSITY];
    default:
        return mu;
    }
}

/* By the growth of a body, which is a phase of its own: masses and volumes go with it, and the volume only
 * multiplies the stress, of which the constants that `bar` belongs to are factors. */
static double by_growth(const mpm_variables *v, uint32_t b)
{
    double sum[MPM_CONSTANTS] = {0.0};
    uint32_t k = 0;
    while (k + 1 < v->episode->sim.n_phases && v->body[k] != b) {
        k++;
    }
    for (uint32_t i = 0; i < MPM_PARTS * MPM_CONSTANTS; i++) {
        sum[i % MPM_CONSTANTS] += v->bar[k][i];
    }
    const mpm_phase *phase = &v->episode->sim.phases[k];
    const mpm_material *law = &phase->material;
    const bool lame = law->law == MPM_PLASTICINE || law->law == MPM_SAND;
    const double by_volume =
        lame ? law->mu * sum[MPM_BAR_MODULUS] + law->lambda * sum[MPM_BAR_LAMBDA]
             : law->modulus * sum[MPM_BAR_MODULUS] +
                   (law->law == MPM_SYRUP ? law->viscosity * sum[MPM_BAR_VISCOSITY] : 0.0);
    return (phase->mass * sum[MPM_BAR_MASS] + by_volume) / v->growth[b];
}

/* By a size of a body: through the places of its particles, and through their volume. */
static double by_size(const mpm_variables *v, const mpm_variable *w, const double *x,
                      const mpm_particle *start)
{
    const placement at = body_at(v, x, w->of);
    double unit[4], norm, size[3], growth_slope[3], sum = 0.0;
    rotation_of(at.rotation, unit, &norm);
    sizes_at(v, x, w->of, size, growth_slope);
    for (size_t p = v->first[w->of]; p < v->first[w->of + 1]; p++) {
        double local[3], slope[3][3], turned[3];
        mpm_sizes_place(v->scene->bodies[w->of].shape, size, v->sample + 3 * p, local, slope);
        quat_rotate(unit, slope[w->part], turned);
        sum += vec3_dot(start[p].x, turned);
    }
    if (v->first[w->of + 1] > v->first[w->of]) {
        sum += growth_slope[w->part] * by_growth(v, w->of);
    }
    return w->factor * sum;
}

/* By the velocity, centre or quaternion of a body: the sum over its particles, in `start`. */
static double by_body(const mpm_variables *v, const mpm_variable *w, const double *x,
                      const mpm_particle *start)
{
    const placement at = body_at(v, x, w->of);
    double unit[4], norm, q_bar[4] = {0.0}, unused[3], sum = 0.0;
    rotation_of(at.rotation, unit, &norm);
    for (size_t p = v->first[w->of]; p < v->first[w->of + 1]; p++) {
        if (w->kind == MPM_BODY_ROTATION) {
            memset(unused, 0, sizeof unused);
            quat_rotate_adjoint(unit, v->offset + 3 * p, start[p].x, q_bar, unused);
        } else {
            sum += w->kind == MPM_BODY_CENTER ? start[p].x[w->part] : start[p].v[w->part];
        }
    }
    quat_normalise_adjoint(unit, norm, q_bar, q_bar);
    return w->kind == MPM_BODY_ROTATION ? q_bar[w->part] : sum;
}

static double by_tool(const mpm_variables *v, const mpm_variable *w, const double *x)
{
    const mpm_pose *bar = &v->episode->start_bar[w->of];
    double unit[4], norm, q_bar[4];
    switch (w->kind) {
    case MPM_TOOL_POSITION:
        return bar->position[w->part];
    case MPM_TOOL_ROTATION:
        rotation_of(tool_at(v, x, w->of).rotation, unit, &norm);
        quat_normalise_adjoint(unit, norm, bar->rotation, q_bar);
        return q_bar[w->part];
    case MPM_TOOL_GAP:
        return bar->gap;
    case MPM_TOOL_FRICTION:
        return bar->constants.friction;
    default:
        return w->factor * bar->constants.size[w->part];
    }
}

static double by_scene(const mpm_variables *v, const mpm_variable *w)
{
    const mpm_domain *domain = &v->episode->sim.domain;
    double sum[MPM_CONSTANTS], mass, softness = 0.0;
    if (w->kind == MPM_GRAVITY) {
        sum_phases(v, 0, sum, &mass);
        return domain->gravity_factor * domain->dt * sum[MPM_BAR_FALL + w->part];
    }
    for (uint32_t t = 0; t < v->scene->n_tools; t++) {
        softness += v->episode->start_bar[t].constants.softness;
    }
    return w->kind == MPM_SOFTNESS ? softness : v->episode->start_bar[0].constants.ground_friction;
}

void mpm_variables_gradient(mpm_variables *v, const double *x, double *grad)
{
    const mpm_particle *start = v->offset ? mpm_episode_start_bar(v->episode) : NULL;
    for (uint32_t i = 0; i < v->count; i++) {
        const mpm_variable *w = &v->list[i];
        const double by = w->kind <= MPM_DENSITY        ? by_material(v, w, x)
                          : w->kind == MPM_BODY_SIZE    ? by_size(v, w, x, start)
                          : w->kind < MPM_TOOL_POSITION ? by_body(v, w, x, start)
                          : w->kind < MPM_GRAVITY       ? by_tool(v, w, x)
                                                        : by_scene(v, w);
        grad[i] = by * (w->log ? log(10.0) * value_of(w, x[i]) : 1.0);
    }
}
