/* SPDX-License-Identifier: Apache-2.0 */
/* target.c - makes, stores and reads the built-in targets; the shape of a target density as points. */
#include "engines/physics/mpm/sim/target.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/physics/mpm/sim/sim.h"
#include "engines/physics/mpm/sim/tool.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEADER = 8, ENTRY = 16, UNITS = 65535 };

static size_t cells_of(int n)
{
    return (size_t)n * (size_t)n * (size_t)n;
}

static mpm_result simulate(mpm_sim *sim, const mpm_scene *scene, const double *moves, mpm_particle *particles)
{
    uint32_t dim = mpm_action_dim(scene);
    mpm_pose now[MPM_MAX_TOOLS], next[MPM_MAX_TOOLS];
    for (uint32_t t = 0; t < scene->n_tools; t++) {
        now[t] = scene->tools[t].start;
    }
    for (uint32_t step = 0; step < sim->domain.steps; step++) {
        uint32_t piece = step * MPM_TARGET_PIECES / sim->domain.steps;
        for (int j = 0; j < sim->domain.substeps; j++) {
            const double *a = moves + (size_t)piece * dim;
            for (uint32_t t = 0; t < scene->n_tools; t++) {
                const mpm_tool *tool = &scene->tools[t];
                mpm_control control = {{0.0}};
                for (uint32_t c = 0; c < tool->action_dim; c++) {
                    control.value[c] = *a++ * tool->scale[c] / sim->domain.substeps;
                }
                mpm_tool_move(tool, &now[t], &control, &next[t]);
            }
            mpm_result result = mpm_substep(sim, particles, particles, now, next, NULL);
            if (result != MPM_OK) {
                return result;
            }
            memcpy(now, next, sizeof now);
        }
    }
    return MPM_OK;
}

static mpm_result splat(const mpm_domain *domain, const mpm_particle *particles, uint32_t count,
                        double *density)
{
    memset(density, 0, cells_of(domain->n) * sizeof(double));
    for (uint32_t p = 0; p < count; p++) {
        mpm_stencil s;
        if (!mpm_stencil_at(domain->n, particles[p].x, &s)) {
            return MPM_DIVERGED;
        }
        mpm_splat(density, domain->n, &s, domain->particle_mass);
    }
    return MPM_OK;
}

int mpm_target_simulate(const mpm_scene *scene, const double *moves, double *density)
{
    mpm_domain domain = mpm_domain_make(MPM_PRESET_FULL);
    uint32_t count = mpm_particle_count(scene, &domain, 0);
    mpm_particle *particles = malloc(count * sizeof *particles);
    mpm_sim sim;
    mpm_result result = mpm_sim_init(&sim, scene, &domain, count, 0.0);
    if (!particles) {
        result = MPM_NO_MEMORY;
    }
    if (result == MPM_OK) {
        mpm_particles_make(scene, &domain, 0, 0, particles);
        result = simulate(&sim, scene, moves, particles);
    }
    if (result == MPM_OK) {
        result = splat(&domain, particles, count, density);
    }
    mpm_sim_free(&sim);
    free(particles);
    return result != MPM_OK;
}

int mpm_target_arrange(const mpm_scene *scene, const mpm_domain *domain, uint32_t total, double *density)
{
    uint32_t count = mpm_particle_count(scene, domain, total);
    mpm_particle *particles = malloc((count + (size_t)1) * sizeof *particles), *p = particles;
    if (!particles) {
        return MPM_NO_MEMORY;
    }
    mpm_particles_make(scene, domain, total, 0, particles);
    for (uint32_t b = 0; b < scene->n_bodies; b++) {
        for (uint32_t n = mpm_body_count(scene, domain, total, b); n > 0; n--, p++) {
            mpm_aim_place(scene, b, p->x);
        }
    }
    mpm_result result = splat(domain, particles, count, density);
    free(particles);
    return (int)result;
}

static void put_double(uint8_t *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 8; i++) {
        out[i] = (uint8_t)(bits >> (8 * i));
    }
}

static double get_double(const uint8_t *in)
{
    uint64_t bits = 0;
    double value;
    for (int i = 0; i < 8; i++) {
        bits |= (uint64_t)in[i] << (8 * i);
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The box of nonzero cells and the largest value. */
static double bounding_box(int n, const double *density, int lower[3], int extent[3])
{
    double max = 0.0;
    int upper[3] = {0, 0, 0};
    lower[0] = lower[1] = lower[2] = n;
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < n; k++, at++) {
                if (density[at] <= 0.0) {
                    continue;
                }
                const int node[3] = {i, j, k};
                for (int d = 0; d < 3; d++) {
                    lower[d] = node[d] < lower[d] ? node[d] : lower[d];
                    upper[d] = node[d] >= upper[d] ? node[d] + 1 : upper[d];
                }
                max = density[at] > max ? density[at] : max;
            }
        }
    }
    for (int d = 0; d < 3; d++) {
        extent[d] = upper[d] - lower[d];
    }
    return max;
}

static int write_variant(FILE *file, int n, const double *density)
{
    int lower[3], extent[3];
    double unit = bounding_box(n, density, lower, extent) / UNITS;
    uint8_t entry[ENTRY] = {0};
    for (int d = 0; d < 3; d++) {
        entry[d] = (uint8_t)lower[d];
        entry[3 + d] = (uint8_t)extent[d];
    }
    put_double(entry + 8, unit);
    int ok = fwrite(entry, sizeof entry, 1, file) == 1;
    for (int i = 0; i < extent[0]; i++) {
        for (int j = 0; j < extent[1]; j++) {
            for (int k = 0; k < extent[2]; k++) {
                size_t at = ((size_t)(lower[0] + i) * (size_t)n + (size_t)(lower[1] + j)) * (size_t)n;
                double value = density[at + (size_t)(lower[2] + k)];
                unsigned units = value > 0.0 ? (unsigned)lround(value / unit) : 0;
                const uint8_t bytes[2] = {(uint8_t)units, (uint8_t)(units >> 8)};
                ok &= fwrite(bytes, sizeof bytes, 1, file) == 1;
            }
        }
    }
    return ok;
}

const char *mpm_target_write(const char *path, int n, uint32_t variants, const double *densities)
{
    FILE *file = fopen(path, "wb");
    if (!file) {
        return "cannot be written";
    }
    const uint8_t header[HEADER] = {'M', 'P', 'M', 'T', 1, (uint8_t)n, (uint8_t)variants, 0};
    int ok = fwrite(header, sizeof header, 1, file) == 1;
    for (uint32_t v = 0; v < variants && ok; v++) {
        ok = write_variant(file, n, densities + v * cells_of(n));
    }
    return fclose(file) == 0 && ok ? NULL : "cannot be written";
}

/* Reads one entry; writes the masses to `density` unless it is NULL. */
static const char *read_variant(FILE *file, int n, double *density)
{
    uint8_t entry[ENTRY];
    if (fread(entry, sizeof entry, 1, file) != 1) {
        return "ends too early";
    }
    double unit = get_double(entry + 8);
    for (int d = 0; d < 3; d++) {
        if (entry[d] + entry[3 + d] > n) {
            return "holds a box outside the grid";
        }
    }
    if (!(unit > 0.0) || !isfinite(unit)) {
        return "holds a bad unit of mass";
    }
    for (int i = 0; i < entry[3]; i++) {
        for (int j = 0; j < entry[4]; j++) {
            uint8_t line[2 * 255];
            if (fread(line, 2, entry[5], file) != entry[5]) {
                return "ends too early";
            }
            if (!density) {
                continue;
            }
            size_t at = ((size_t)(entry[0] + i) * (size_t)n + (size_t)(entry[1] + j)) * (size_t)n + entry[2];
            for (int k = 0; k < entry[5]; k++) {
                density[at + (size_t)k] = unit * (line[2 * k] + 256 * line[2 * k + 1]);
            }
        }
    }
    return NULL;
}

const char *mpm_target_read(const char *path, int n, uint32_t variant, double *density)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        return "cannot be read";
    }
    uint8_t header[HEADER];
    const char *wrong = NULL;
    if (fread(header, sizeof header, 1, file) != 1 || memcmp(header, "MPMT\1", 5) != 0) {
        wrong = "is not a target file of version 1";
    } else if (header[5] != n || variant < 1 || variant > header[6]) {
        wrong = "does not hold this variant";
    }
    memset(density, 0, cells_of(n) * sizeof(double));
    for (uint32_t v = 1; v <= variant && !wrong; v++) {
        wrong = read_variant(file, n, v == variant ? density : NULL);
    }
    fclose(file);
    return wrong;
}

void mpm_target_fit(const double *density, int n, const mpm_domain *domain, uint32_t count, double *out)
{
    int m = domain->n;
    memset(out, 0, cells_of(m) * sizeof(double));
    double total = 0.0;
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < n; k++, at++) {
                if (density[at] == 0.0) {
                    continue;
                }
                total += density[at];
                const double x[3] = {(double)i * m / n, (double)j * m / n, (double)k * m / n};
                for (int corner = 0; corner < 8; corner++) {
                    size_t to = 0;
                    double w = density[at];
                    for (int d = 0; d < 3; d++) {
                        int base = (int)x[d], up = (corner >> d) & 1;
                        w *= up ? x[d] - base : 1.0 - (x[d] - base);
                        int node = base + up;
                        to = to * (size_t)m + (size_t)(node < m ? node : m - 1);
                    }
                    out[to] += w;
                }
            }
        }
    }
    double scale = count * domain->particle_mass / total;
    for (size_t c = 0; c < cells_of(m); c++) {
        out[c] *= scale;
    }
}

/* ---- shape as points ----
 *
 * The shape of a target density. */

/* A user's target may hold any mass. */
static const double most_points = 200000.0;

double mpm_point_mass(const mpm_domain *domain, double mass)
{
    return fmax(domain->particle_mass, mass / most_points);
}

void mpm_spread_cell(mpm_spread *s, double mass, const double at[3], double edge)
{
    const double stride[3] = {0.8191725133961645, 0.6710436067037893, 0.5497004779019703};
    s->mass += mass;
    for (; s->points < s->count && s->points < mpm_spread_points(s->mass, s->point_mass); s->points++) {
        for (int d = 0; d < 3; d++) {
            double u = 0.5 + (double)(s->points + 1) * stride[d];
            double x = (at[d] + (u - floor(u)) - 0.5) * edge;
            s->out[3 * s->points + (uint64_t)d] = x > 0.0 ? x : 0.0;
        }
    }
}

/* Computes the total mass, and the density at the edge of the shape as a share of the mass-weighted mean. At
 * the edge of a large, even body the share is one half; but the particles are few and the plasticine is
 * pressed thin. With 0.3 the remaining loss of `torus`, at the state that made its target, is 0.30 of the
 * loss at the start; with 0.5 it is 0.47, with all nodes 0.58. */
static double level_of(int n, const double *density, double *mass)
{
    double square = 0.0;
    *mass = 0.0;
    for (size_t i = 0; i < cells_of(n); i++) {
        const double own = density[i] > 0.0 ? density[i] : 0.0;
        *mass += own;
        square += own * own;
    }
    return *mass > 0.0 ? 0.3 * square / *mass : 0.0;
}

/* Density at a quarter or three quarters (`far`) of the way from node i to the next along each axis. */
static double between(int n, const double *density, const int i[3], const int far[3])
{
    double sum = 0.0;
    for (int corner = 0; corner < 8; corner++) {
        double weight = 1.0;
        size_t at = 0;
        for (int d = 0; d < 3; d++) {
            const int up = (corner >> d) & 1;
            weight *= up == far[d] ? 0.75 : 0.25;
            at = at * (size_t)n + (size_t)(i[d] + up);
        }
        sum += weight * density[at];
    }
    return sum;
}

static bool all_below(int n, const double *density, const int i[3], double level)
{
    const size_t m = (size_t)n, at = ((size_t)i[0] * m + (size_t)i[1]) * m + (size_t)i[2];
    for (size_t corner = 0; corner < 8; corner++) {
        if (density[at + (corner >> 2) * m * m + (corner >> 1) % 2 * m + corner % 2] > level) {
            return false;
        }
    }
    return true;
}

/* Visits the eighths of the cube between node i and its neighbours that are inside the shape: adds their
 * densities, and if `points` is not NULL spreads `scale` times them. */
static double visit_cube(const mpm_domain *domain, const double *density, double level, const int i[3],
                         double scale, mpm_spread *points)
{
    double sum = 0.0;
    if (all_below(domain->n, density, i, level)) {
        return 0.0;
    }
    for (int part = 0; part < 8; part++) {
        const int far[3] = {part >> 2, (part >> 1) & 1, part & 1};
        const double here = between(domain->n, density, i, far);
        if (!(here > level)) {
            continue;
        }
        sum += here;
        if (points) {
            double at[3];
            for (int d = 0; d < 3; d++) {
                at[d] = 2 * (i[d] - domain->offset) + far[d] + 0.5;
            }
            mpm_spread_cell(points, scale * here, at, 0.5 * domain->dx);
        }
    }
    return sum;
}

static double visit(const mpm_domain *domain, const double *density, double level, double scale,
                    mpm_spread *points)
{
    double sum = 0.0;
    int i[3];
    for (i[0] = 0; i[0] + 1 < domain->n; i[0]++) {
        for (i[1] = 0; i[1] + 1 < domain->n; i[1]++) {
            for (i[2] = 0; i[2] + 1 < domain->n; i[2]++) {
                sum += visit_cube(domain, density, level, i, scale, points);
            }
        }
    }
    return sum;
}

double *mpm_shape_points(const mpm_domain *domain, const double *density, ds_memory *room, size_t *count)
{
    double mass;
    const double level = level_of(domain->n, density, &mass),
                 inside = visit(domain, density, level, 0.0, NULL);
    mpm_spread points = {.point_mass = mpm_point_mass(domain, mass)};
    points.count = mpm_spread_points(mass, points.point_mass);
    points.out = ds_memory_doubles(room, 3 * points.count + 1);
    if (points.out && inside > 0.0) {
        visit(domain, density, level, mass / inside, &points);
    }
    *count = points.points;
    return points.out;
}
