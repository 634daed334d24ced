/* SPDX-License-Identifier: Apache-2.0 */
/* Discretisation presets and initial particles (PlasticineLab: mpm_simulator.py, shape_maker.py). */
#include "scene.h"

#include "mat3.h"
#include "mt19937.h"

mpm_domain mpm_domain_make(uint32_t preset)
{
    mpm_domain d = {0};
    if (preset == MPM_PRESET_SMALL) {
        d.n = 32;
        d.dt = 2e-4;
        d.substeps = 9;
        d.steps = 10;
        d.particle_share = 8;
    } else {
        d.n = 64;
        d.dt = 1e-4;
        d.substeps = 19; /* the original's floor of 2e-3 / 1e-4 in floating point */
        d.steps = 50;
        d.particle_share = 1;
    }
    d.inv_dx = d.n;
    d.dx = 1.0 / d.n;
    /* The original squares instead of cubing (a rest of its 2-D code); mass, stress and losses scale with it.
     */
    d.particle_volume = (0.5 * d.dx) * (0.5 * d.dx);
    d.particle_mass = 1.0 * d.particle_volume; /* density 1 */
    return d;
}

static uint32_t scene_total(const mpm_scene *scene)
{
    uint32_t sum = 0;
    for (uint32_t b = 0; b < scene->n_bodies; b++) {
        sum += scene->bodies[b].count;
    }
    return sum;
}

uint32_t mpm_body_count(const mpm_scene *scene, const mpm_domain *domain, uint32_t total, uint32_t b)
{
    if (total == 0) {
        return scene->bodies[b].count / domain->particle_share;
    }
    /* Shares in proportion, rounded so that they add up to the total. */
    uint64_t before = 0, all = scene_total(scene);
    for (uint32_t i = 0; i < b; i++) {
        before += scene->bodies[i].count;
    }
    uint64_t after = before + scene->bodies[b].count;
    return (uint32_t)(after * total / all - before * total / all);
}

uint32_t mpm_particle_count(const mpm_scene *scene, const mpm_domain *domain, uint32_t total)
{
    uint32_t sum = 0;
    for (uint32_t b = 0; b < scene->n_bodies; b++) {
        sum += mpm_body_count(scene, domain, total, b);
    }
    return sum;
}

uint32_t mpm_action_dim(const mpm_scene *scene)
{
    uint32_t sum = 0;
    for (uint32_t t = 0; t < scene->n_tools; t++) {
        sum += scene->tools[t].action_dim;
    }
    return sum;
}

static void fill_box(const mpm_body *body, uint32_t count, mpm_rng *rng, mpm_particle *out)
{
    for (uint32_t p = 0; p < count; p++) {
        for (int k = 0; k < 3; k++) {
            out[p].x[k] = (2.0 * mpm_rng_uniform(rng) - 1.0) * (0.5 * body->size[k]) + body->center[k];
        }
    }
}

/* All directions are drawn first, then all radii. */
static void fill_sphere(const mpm_body *body, uint32_t count, mpm_rng *rng, mpm_particle *out)
{
    for (uint32_t p = 0; p < count; p++) {
        double *x = out[p].x;
        for (int k = 0; k < 3; k++) {
            x[k] = mpm_rng_gauss(rng);
        }
        double norm = sqrt(vec3_dot(x, x));
        for (int k = 0; k < 3; k++) {
            x[k] /= norm;
        }
    }
    for (uint32_t p = 0; p < count; p++) {
        double r = pow(mpm_rng_uniform(rng), 1.0 / 3.0);
        for (int k = 0; k < 3; k++) {
            out[p].x[k] = out[p].x[k] * r * body->size[0] + body->center[k];
        }
    }
}

void mpm_particles_make(const mpm_scene *scene, const mpm_domain *domain, uint32_t total, uint32_t seed,
                        mpm_particle *out)
{
    mpm_rng rng;
    mpm_rng_seed(&rng, seed);
    for (uint32_t b = 0; b < scene->n_bodies; b++) {
        const mpm_body *body = &scene->bodies[b];
        uint32_t count = mpm_body_count(scene, domain, total, b);
        for (uint32_t p = 0; p < count; p++) {
            memset(&out[p], 0, sizeof out[p]);
            mat3_identity(out[p].f);
        }
        if (body->shape == MPM_BODY_SPHERE) {
            fill_sphere(body, count, &rng, out);
        } else {
            fill_box(body, count, &rng, out);
        }
        out += count;
    }
}
