/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - the kernels, compiled for each instruction set: FEM_ISA names it, VECTOR_LANES is its width. */
#include "engines/physics/fem/kernels/edge.h"
#include "engines/physics/fem/kernels/tet.h"
#include "engines/physics/fem/kernels/triangle.h"

#include "common/isa.h"
#include "engines/physics/fem/ground.h"
#include "engines/physics/fem/kernels/kernels.h"

/* Where the lanes of some elements are: chunk k, lanes from `lane` on. */
#define EACH_LANES(set, k, lane)                                                                             \
    for (size_t k = 0; k < (set)->chunks; k++)                                                               \
        for (size_t lane = 0; lane < FEM_CHUNK; lane += VECTOR_LANES)

static void forces(fem_pack *p, const double *state)
{
    const fem_set *s = &p->spring;
    EACH_LANES(s, k, lane)
    {
        spring_force(state, s->vertex + k * 2 * FEM_CHUNK + lane,
                     s->constant + k * FEM_SPRING_FIELDS * FEM_CHUNK + lane,
                     p->share + (s->first + k * 2 * FEM_CHUNK + lane) * 4);
    }
    s = &p->triangle;
    EACH_LANES(s, k, lane)
    {
        triangle_force(&p->membrane, state, s->vertex + k * 3 * FEM_CHUNK + lane,
                       s->constant + k * FEM_TRIANGLE_FIELDS * FEM_CHUNK + lane,
                       s->act + k * FEM_CHUNK + lane, p->share + (s->first + k * 3 * FEM_CHUNK + lane) * 4);
    }
    s = &p->edge;
    EACH_LANES(s, k, lane)
    {
        edge_force(&p->bending, state, s->vertex + k * 4 * FEM_CHUNK + lane,
                   s->constant + k * FEM_EDGE_FIELDS * FEM_CHUNK + lane, s->act + k * FEM_CHUNK + lane,
                   p->share + (s->first + k * 4 * FEM_CHUNK + lane) * 4);
    }
    s = &p->tet;
    EACH_LANES(s, k, lane)
    {
        tet_force(state, s->vertex + k * 4 * FEM_CHUNK + lane,
                  s->constant + k * FEM_TET_FIELDS * FEM_CHUNK + lane, s->act + k * FEM_CHUNK + lane,
                  p->share + (s->first + k * 4 * FEM_CHUNK + lane) * 4);
    }
}

static void force(fem_pack *p, const double *state, double *to)
{
    forces(p, state);
    for (size_t i = 0; i < p->particles; i++) {
        const double *q = state + FEM_WIDTH * i;
        double *f = to + 4 * i;
        four sum = {0};
        for (uint32_t k = p->begin[i]; k < p->begin[i + 1]; k++) {
            sum = four_plus(sum, p->share + 4 * (size_t)p->list[k]);
        }
        four_store(f, sum);
        const double c = ground_depth(&p->ground, q);
        if (c < 0 && p->ground.on) {
            ground_force(&p->ground, c, q + 4, f);
        }
    }
}

static void vjps(fem_pack *p, const double *state, const double *fb)
{
    fem_set *s = &p->spring;
    EACH_LANES(s, k, lane)
    {
        double *bar = s->bar + k * FEM_SPRING_BARS * FEM_CHUNK + lane;
        spring_vjp(state, fb, s->vertex + k * 2 * FEM_CHUNK + lane,
                   s->constant + k * FEM_SPRING_FIELDS * FEM_CHUNK + lane,
                   p->share + (s->first + k * 2 * FEM_CHUNK + lane) * FEM_WIDTH,
                   p->want_material ? bar : NULL);
    }
    s = &p->triangle;
    EACH_LANES(s, k, lane)
    {
        triangle_vjp(&p->membrane, state, fb, s->vertex + k * 3 * FEM_CHUNK + lane,
                     s->constant + k * FEM_TRIANGLE_FIELDS * FEM_CHUNK + lane, s->act + k * FEM_CHUNK + lane,
                     p->share + (s->first + k * 3 * FEM_CHUNK + lane) * FEM_WIDTH,
                     p->want_material ? s->bar + lane : NULL, s->act_bar + k * FEM_CHUNK + lane);
    }
    s = &p->edge;
    EACH_LANES(s, k, lane)
    {
        edge_vjp(&p->bending, state, fb, s->vertex + k * 4 * FEM_CHUNK + lane,
                 s->constant + k * FEM_EDGE_FIELDS * FEM_CHUNK + lane, s->act + k * FEM_CHUNK + lane,
                 p->share + (s->first + k * 4 * FEM_CHUNK + lane) * FEM_WIDTH,
                 p->want_material ? s->bar + lane : NULL, s->act_bar + k * FEM_CHUNK + lane);
    }
    s = &p->tet;
    EACH_LANES(s, k, lane)
    {
        double *bar = s->bar + k * FEM_TET_BARS * FEM_CHUNK + lane;
        tet_vjp(state, fb, s->vertex + k * 4 * FEM_CHUNK + lane,
                s->constant + k * FEM_TET_FIELDS * FEM_CHUNK + lane, s->act + k * FEM_CHUNK + lane,
                p->share + (s->first + k * 4 * FEM_CHUNK + lane) * FEM_WIDTH, p->want_material ? bar : NULL,
                s->act_bar + k * FEM_CHUNK + lane);
    }
}

static void vjp(fem_pack *p, const double *state, const double *fb, double *bar)
{
    vjps(p, state, fb);
    for (size_t i = 0; i < p->particles; i++) {
        const double *q = state + FEM_WIDTH * i;
        double *to = bar + FEM_WIDTH * i;
        four by_q = {0}, by_u = {0};
        for (uint32_t k = p->begin[i]; k < p->begin[i + 1]; k++) {
            const double *share = p->share + FEM_WIDTH * (size_t)p->list[k];
            by_q = four_plus(by_q, share);
            by_u = four_plus(by_u, share + 4);
        }
        four_store(to, four_plus(by_q, to));
        four_store(to + 4, four_plus(by_u, to + 4));
        const double c = ground_depth(&p->ground, q);
        if (c < 0 && p->ground.on) {
            ground_vjp(&p->ground, c, q + 4, fb + 4 * i, to, to + 4, &p->ground_bar);
        }
    }
}

/* The larger of two squares; infinite where one is not a number. */
static inline double worst(double most, double square)
{
    return square <= most ? most : square == square ? square : (double)INFINITY;
}

static double step(const fem_pack *p, double dt, const double *state, const double *f, double *next)
{
    double most = 0;
    for (size_t i = 0; i < p->particles; i++) {
        const double w = p->inverse_mass[i], moves = w > 0 ? 1 : 0;
        const double *from = state + FEM_WIDTH * i;
        double *to = next + FEM_WIDTH * i, square = 0, place = 0;
        for (int k = 0; k < 4; k++) {
            const double u = from[4 + k] + dt * (w * f[4 * i + (size_t)k] + moves * p->gravity[k]);
            to[k] = from[k] + dt * u;
            to[4 + k] = u;
            square += u * u;
            place += to[k];
        }
        most = worst(most, square);
        most = place - place == 0 ? most : (double)INFINITY;
    }
    return most;
}

static double step_bar(const fem_pack *p, double dt, const double *state, const double *next, double *bar,
                       double *fb, double *mass_bar, double gravity_bar[4])
{
    double most = 0;
    for (size_t i = 0; i < p->particles; i++) {
        const double w = p->inverse_mass[i], moves = w > 0 ? 1 : 0;
        const double *before = state + FEM_WIDTH * i + 4, *after = next + FEM_WIDTH * i + 4;
        double *at = bar + FEM_WIDTH * i, work = 0, square = 0;
        for (int k = 0; k < 4; k++) {
            const double a = at[4 + k] + dt * at[k];
            at[4 + k] = a;
            fb[4 * i + (size_t)k] = dt * w * a;
            gravity_bar[k] += dt * moves * a;
            work += (after[k] - before[k] - dt * moves * p->gravity[k]) * a; /* dt w f . a */
            square += a * a;
        }
        mass_bar[i] -= w * work;
        most = worst(most, square);
    }
    return most;
}

extern const fem_kernels ISA_VARIANT(fem_kernels, FEM_ISA);
const fem_kernels ISA_VARIANT(fem_kernels, FEM_ISA) = {ISA_NAME(FEM_ISA), force, vjp, step, step_bar};
