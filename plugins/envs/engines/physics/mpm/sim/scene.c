/* SPDX-License-Identifier: Apache-2.0 */
/* scene.c - discretisation presets and initial particles (PlasticineLab: mpm_simulator.py, shape_maker.py),
 * and their random numbers. */
#include "engines/physics/mpm/sim/scene.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"

#include <math.h>
#include <stdbool.h>

/* ---- random numbers ----
 *
 * Matsumoto and Nishimura 1998, "Mersenne Twister", with the seeding and the conversions to double of
 * numpy.random.RandomState: 53-bit uniforms, polar normals (Marsaglia) whose second value is returned first.
 */

enum { WORDS = 624, SHIFT = 397 };

void mpm_rng_seed(mpm_rng *rng, uint32_t seed)
{
    rng->key[0] = seed;
    for (uint32_t i = 1; i < WORDS; i++) {
        uint32_t prev = rng->key[i - 1];
        rng->key[i] = 1812433253u * (prev ^ (prev >> 30)) + i;
    }
    rng->index = WORDS;
    rng->has_gauss = false;
    rng->gauss = 0.0;
}

static void refill(mpm_rng *rng)
{
    uint32_t *key = rng->key;
    for (int i = 0; i < WORDS; i++) {
        uint32_t y = (key[i] & 0x80000000u) | (key[(i + 1) % WORDS] & 0x7fffffffu);
        key[i] = key[(i + SHIFT) % WORDS] ^ (y >> 1) ^ ((y & 1u) ? 0x9908b0dfu : 0u);
    }
    rng->index = 0;
}

static uint32_t mpm_rng_next32(mpm_rng *rng)
{
    if (rng->index == WORDS) {
        refill(rng);
    }
    uint32_t y = rng->key[rng->index++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

double mpm_rng_uniform(mpm_rng *rng)
{
    uint32_t a = mpm_rng_next32(rng) >> 5;
    uint32_t b = mpm_rng_next32(rng) >> 6;
    return (a * 67108864.0 + b) / 9007199254740992.0;
}

double mpm_rng_gauss(mpm_rng *rng)
{
    if (rng->has_gauss) {
        rng->has_gauss = false;
        return rng->gauss;
    }
    double x1, x2, r2;
    do {
        x1 = 2.0 * mpm_rng_uniform(rng) - 1.0;
        x2 = 2.0 * mpm_rng_uniform(rng) - 1.0;
        r2 = x1 * x1 + x2 * x2;
    } while (r2 >= 1.0 || r2 == 0.0);
    double f = sqrt(-2.0 * log(r2) / r2);
    rng->gauss = f * x1;
    rng->has_gauss = true;
    return f * x2;
}

/* ---- adjoints of poses ---- */

void mpm_pose_add(mpm_pose *to, double scale, const mpm_pose *from)
{
    for (int k = 0; k < 4; k++) {
        to->rotation[k] += scale * from->rotation[k];
    }
    for (int k = 0; k < 3; k++) {
        to->position[k] += scale * from->position[k];
        to->constants.size[k] += scale * from->constants.size[k];
    }
    to->gap += scale * from->gap;
    to->constants.friction += scale * from->constants.friction;
    to->constants.softness += scale * from->constants.softness;
    to->constants.ground_friction += scale * from->constants.ground_friction;
}

/* ---- domain and particles ---- */

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
        d.substeps = 19; /* PlasticineLab's floor(2e-3 / 1e-4) in floating point */
        d.steps = 50;
        d.particle_share = 1;
    }
    d.inv_dx = d.n;
    d.dx = 1.0 / d.n;
    d.gravity_factor = 30.0;
    for (int k = 0; k < 3; k++) {
        d.wall_low[k] = 2;
        d.wall_high[k] = d.n - 2;
        d.high[k] = 1.0 - 3.0 * d.dx;
    }
    /* PlasticineLab squares instead of cubing (left from its 2-D code); mass, stress and losses scale with
     * it. */
    d.particle_volume = (0.5 * d.dx) * (0.5 * d.dx);
    d.particle_mass = 1.0 * d.particle_volume; /* density 1 */
    return d;
}

/* Nodes outside each wall: the stencil of a particle reaches one, or two if rounding adds half a spacing. */
enum { TANK_MARGIN = 3 };

mpm_domain mpm_domain_tank(double dx, const double size[3], double margin, double dt, int substeps,
                           uint32_t steps)
{
    mpm_domain d = {.offset = TANK_MARGIN,
                    .gravity_factor = 1.0,
                    .substeps = substeps,
                    .steps = steps,
                    .particle_share = 1,
                    .dx = dx,
                    .inv_dx = 1.0 / dx,
                    .dt = dt};
    for (int k = 0; k < 3; k++) {
        int cells = (int)(size[k] / dx + 0.5);
        d.wall_low[k] = d.offset;
        d.wall_high[k] = d.offset + cells;
        d.n = cells + 2 * TANK_MARGIN + 1 > d.n ? cells + 2 * TANK_MARGIN + 1 : d.n;
        d.low[k] = margin;
        d.high[k] = size[k] - margin;
    }
    d.particle_volume = dx * dx * dx / 8.0;
    d.particle_mass = d.particle_volume;
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

/* Is the point inside the box of a body? */
static bool in_box(const mpm_body *body, const double x[3])
{
    bool inside = true;
    for (int k = 0; k < 3; k++) {
        inside = inside && fabs(x[k] - body->center[k]) < 0.5 * body->size[k];
    }
    return inside;
}

/* The points of a lattice, z fastest, without jitter; out may be NULL. Returns their number. */
static uint32_t lattice_points(const mpm_scene *scene, const mpm_body *body, mpm_particle *out)
{
    uint32_t count = 0;
    int side[3], i[3];
    for (int k = 0; k < 3; k++) {
        side[k] = (int)(body->size[k] / body->spacing + 0.5);
    }
    for (i[0] = 0; i[0] < side[0]; i[0]++) {
        for (i[1] = 0; i[1] < side[1]; i[1]++) {
            for (i[2] = 0; i[2] < side[2]; i[2]++) {
                double x[3];
                for (int k = 0; k < 3; k++) {
                    x[k] = body->center[k] - 0.5 * body->size[k] + (i[k] + 0.5) * body->spacing;
                }
                if (body->carved && in_box(&scene->bodies[body->carved - 1], x)) {
                    continue;
                }
                if (out) {
                    memcpy(out[count].x, x, sizeof x);
                }
                count++;
            }
        }
    }
    return count;
}

uint32_t mpm_body_count(const mpm_scene *scene, const mpm_domain *domain, uint32_t total, uint32_t b)
{
    if (scene->bodies[b].shape == MPM_BODY_LATTICE) {
        return lattice_points(scene, &scene->bodies[b], NULL);
    }
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

static void fill_lattice(const mpm_scene *scene, const mpm_body *body, uint32_t count, mpm_rng *rng,
                         mpm_particle *out)
{
    lattice_points(scene, body, out);
    for (uint32_t p = 0; body->jitter > 0.0 && p < count; p++) {
        for (int k = 0; k < 3; k++) {
            out[p].x[k] += (2.0 * mpm_rng_uniform(rng) - 1.0) * body->jitter;
        }
    }
}

/* Is the point, relative to the centre, inside a body of revolution about y? */
static bool in_revolution(const mpm_body *body, const double x[3])
{
    const double *size = body->size;
    double across = sqrt(x[0] * x[0] + x[2] * x[2]), along = fabs(x[1]);
    if (body->shape == MPM_BODY_CYLINDER) {
        return across < size[0] && along < 0.5 * size[1];
    }
    if (body->shape == MPM_BODY_CAPSULE) {
        along = along > 0.5 * size[1] ? along - 0.5 * size[1] : 0.0;
        return across * across + along * along < size[0] * size[0];
    }
    across -= size[0];
    return across * across + along * along < size[1] * size[1];
}

void mpm_body_half(const mpm_body *body, double half[3])
{
    const double *size = body->size;
    for (int k = 0; k < 3; k++) {
        half[k] = 0.5 * size[k];
    }
    if (body->shape == MPM_BODY_SPHERE) {
        half[0] = half[1] = half[2] = size[0];
    } else if (body->shape == MPM_BODY_CYLINDER || body->shape == MPM_BODY_CAPSULE) {
        half[0] = half[2] = size[0];
        half[1] = 0.5 * size[1] + (body->shape == MPM_BODY_CAPSULE ? size[0] : 0.0);
    } else if (body->shape == MPM_BODY_TORUS) {
        half[0] = half[2] = size[0] + size[1];
        half[1] = size[1];
    }
}

/* Draws points of the box around the body until enough are inside. */
static void fill_revolution(const mpm_body *body, uint32_t count, mpm_rng *rng, mpm_particle *out)
{
    double half[3];
    mpm_body_half(body, half);
    for (uint32_t p = 0; p < count;) {
        double x[3];
        for (int k = 0; k < 3; k++) {
            x[k] = (2.0 * mpm_rng_uniform(rng) - 1.0) * half[k];
        }
        for (int k = 0; k < 3; k++) {
            out[p].x[k] = x[k] + body->center[k];
        }
        p += in_revolution(body, x);
    }
}

/* Fewer points than the body has are every so many of them. More repeat some. */
static void fill_points(const mpm_body *body, uint32_t count, mpm_particle *out)
{
    for (uint64_t p = 0; p < count; p++) {
        const double *x = body->points + 3 * (p * body->count / count);
        for (int k = 0; k < 3; k++) {
            out[p].x[k] = x[k] + body->center[k];
        }
    }
}

static void turn_body(const mpm_body *body, uint32_t count, mpm_particle *out)
{
    for (uint32_t p = 0; p < count; p++) {
        double offset[3], turned[3];
        for (int k = 0; k < 3; k++) {
            offset[k] = out[p].x[k] - body->center[k];
        }
        quat_rotate(body->rotation, offset, turned);
        for (int k = 0; k < 3; k++) {
            out[p].x[k] = turned[k] + body->center[k];
        }
    }
}

void mpm_particles_make(const mpm_scene *scene, const mpm_domain *domain, uint32_t total, uint32_t seed,
                        mpm_particle *out)
{
    mpm_rng shared, own;
    mpm_rng_seed(&shared, seed);
    for (uint32_t b = 0; b < scene->n_bodies; b++) {
        const mpm_body *body = &scene->bodies[b];
        uint32_t count = mpm_body_count(scene, domain, total, b);
        mpm_rng *rng = &shared;
        for (uint32_t p = 0; p < count; p++) {
            memset(&out[p], 0, sizeof out[p]);
            memcpy(out[p].v, body->velocity, sizeof out[p].v);
            mat3_identity(out[p].f);
        }
        if (body->seed != 0) {
            mpm_rng_seed(&own, body->seed);
            rng = &own;
        }
        if (body->shape == MPM_BODY_SPHERE) {
            fill_sphere(body, count, rng, out);
        } else if (body->shape == MPM_BODY_LATTICE) {
            fill_lattice(scene, body, count, rng, out);
        } else if (body->shape == MPM_BODY_POINTS) {
            fill_points(body, count, out);
        } else if (body->shape == MPM_BODY_BOX) {
            fill_box(body, count, rng, out);
        } else {
            fill_revolution(body, count, rng, out);
        }
        if (body->turned) {
            turn_body(body, count, out);
        }
        out += count;
    }
}

/* ---- targets ---- */

void mpm_aim_place(const mpm_scene *scene, uint32_t b, double x[3])
{
    const double pi = 3.14159265358979323846;
    const mpm_body *body = &scene->bodies[b];
    const mpm_aim *aim = &body->aim;
    if (aim->kind == MPM_AIM_RING) {
        const double *pole = scene->tools[aim->tool].start.position;
        double angle = 2.0 * pi * (x[0] - body->center[0]) / body->size[0];
        double radius = aim->radius + x[2] - body->center[2];
        x[0] = pole[0] + radius * sin(angle);
        x[2] = pole[2] + radius * cos(angle);
        return;
    }
    for (int d = 0; d < 3 && aim->kind != MPM_AIM_STAY; d++) {
        x[d] += aim->kind == MPM_AIM_CENTER ? aim->by[d] - body->center[d] : aim->by[d];
    }
}
