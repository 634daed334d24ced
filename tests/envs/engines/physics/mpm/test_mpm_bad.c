/* SPDX-License-Identifier: Apache-2.0 */
/* test_mpm_bad.c - bad states in both engines and both precisions: values that are not finite, positions
 * outside, inverted, crushed or extreme deformations, no particles. An episode succeeds or reports that it
 * diverged; it never crashes. */
#include "engines/physics/mpm/sim/scene.h"
#include "mpm_support.h"
#include "sanitizers.h"
#include "test.h"

enum { WAYS = 3, STEPS = 2 };
static const struct {
    const char *name;
    uint32_t engine;
    int bits;
} ways[WAYS] = {
    {"scalar", MPM_ENGINE_SCALAR, 64}, {"fast f64", MPM_ENGINE_FAST, 64}, {"fast f32", MPM_ENGINE_FAST, 32}};

static mpm_scene scene;
static mpm_episode episodes[WAYS];
static mpm_particle *start; /* of a good episode */
static uint32_t count;

static void open_episode(mpm_episode *e, const mpm_scene *of, int way)
{
    static double target[32 * 32 * 32];
    target[(16 * 32 + 2) * 32 + 16] = 1e-3;
    mpm_episode_spec spec = {.scene = of,
                             .domain = mpm_domain_make(MPM_PRESET_SMALL),
                             .steps = STEPS,
                             .segments = STEPS,
                             .loss_mode = MPM_LOSS_STEP_SUM,
                             .softness = 666.0,
                             .engine = ways[way].engine,
                             .fast = {.bits = ways[way].bits}};
    assert_int_equal(mpm_episode_init(e, &spec), MPM_OK);
    e->objective.weight_density = e->objective.weight_sdf = 10.0;
    e->objective.weight_contact = 40.0;
    e->objective.soft_contact = true;
    assert_int_equal(mpm_objective_init(&e->objective, spec.domain.n, target), MPM_OK);
}

static int open_all(void **state)
{
    scene = mpm_test_scene(TASK_TORUS, 1);
    for (int w = 0; w < WAYS; w++) {
        open_episode(&episodes[w], &scene, w);
    }
    count = episodes[0].sim.n_particles;
    start = malloc(count * sizeof *start);
    memcpy(start, episodes[0].start, count * sizeof *start);
    return start ? 0 : -1;
}

static int close_all(void **state)
{
    for (int w = 0; w < WAYS; w++) {
        mpm_episode_free(&episodes[w]);
    }
    free(start);
    return 0;
}

/* An episode with gradient from these particles. It gives a finite loss and gradient, or the step in which it
 * diverged. */
static mpm_result run(int way, const mpm_particle *particles)
{
    mpm_episode *e = &episodes[way];
    double x[STEPS * 3], grad[STEPS * 3];
    mpm_outcome out;
    for (int i = 0; i < STEPS * 3; i++) {
        x[i] = i % 2 ? -1.0 : 0.5;
    }
    memcpy(e->start, particles, count * sizeof *particles);
    mpm_result result = mpm_episode_run(e, x, grad, NULL, NULL, &out);
    if (result == MPM_DIVERGED) {
        assert_true(out.bad_step >= 0 && out.bad_step <= STEPS);
    } else {
        assert_int_equal(result, MPM_OK);
        assert_true(isfinite(out.loss));
    }
    return result;
}

static mpm_particle *changed(uint32_t p, size_t offset, double value)
{
    mpm_particle *particles = malloc(count * sizeof *particles);
    assert_non_null(particles);
    memcpy(particles, start, count * sizeof *particles);
    memcpy((char *)&particles[p] + offset, &value, sizeof value);
    return particles;
}

static const size_t fields[] = {offsetof(mpm_particle, x), offsetof(mpm_particle, v) + sizeof(double),
                                offsetof(mpm_particle, c) + 4 * sizeof(double), offsetof(mpm_particle, f)};
enum { FIELDS = sizeof fields / sizeof fields[0] };

/* After each bad state the engines still give the earlier results. */
static void test_not_finite(void **state)
{
    static const double wrong[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300};
    for (int w = 0; w < WAYS; w++) {
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            for (int k = 0; k < FIELDS; k++) {
                mpm_particle *particles = changed(i % 2 ? 0 : count - 1, fields[k], wrong[i]);
                if (run(w, particles) != MPM_DIVERGED) {
                    print_error("%s, field %d = %g: not reported\n", ways[w].name, k, wrong[i]);
                    fail();
                }
                free(particles);
            }
        }
        assert_int_equal(run(w, start), MPM_OK);
    }
}

static void test_outside(void **state)
{
    static const double where[] = {-1e-9, -3.0, 0.9999, 1.0, 2.0, 1e9};
    for (int w = 0; w < WAYS; w++) {
        for (size_t i = 0; i < sizeof where / sizeof where[0]; i++) {
            mpm_particle *particles =
                changed(7, offsetof(mpm_particle, x) + i % 3 * sizeof(double), where[i]);
            assert_int_equal(run(w, particles), MPM_DIVERGED);
            free(particles);
        }
    }
}

/* Particles that would leave are stopped at the border, all at once, from the start. */
static void test_leaving(void **state)
{
    mpm_particle *particles = changed(0, offsetof(mpm_particle, v), 0.0);
    for (uint32_t p = 0; p < count; p++) {
        particles[p].v[0] = p % 2 ? 1e4 : -1e4;
        particles[p].v[2] = p % 3 ? 1e4 : -1e4;
    }
    for (int w = 0; w < WAYS; w++) {
        run(w, particles);
    }
    free(particles);
}

/* det F <= 0 and worse: the law is defined there, and both engines agree. */
static void test_deformation(void **state)
{
    static const double diagonals[][3] = {{-1.0, 1.0, 1.0},  {-1.0, -1.0, -1.0}, {0.0, 0.0, 0.0},
                                          {1e-12, 1.0, 1.0}, {0.0, 1.0, 1.0},    {0.04, 0.04, 0.04},
                                          {1.5, 0.7, 1.0},   {3.0, 3.0, 3.0}};
    for (size_t i = 0; i < sizeof diagonals / sizeof diagonals[0]; i++) {
        mpm_particle *particles = changed(11, offsetof(mpm_particle, f), diagonals[i][0]);
        particles[11].f[4] = diagonals[i][1];
        particles[11].f[8] = diagonals[i][2];
        mpm_result expected = run(0, particles);
        for (int w = 1; w < WAYS; w++) {
            assert_int_equal(run(w, particles), expected);
        }
        free(particles);
    }
}

/* Random states from harmless to extreme: numbers of any size in any field of many particles. */
static void test_random_states(void **state)
{
    mpm_rng rng;
    mpm_rng_seed(&rng, 5);
    int diverged = 0, rounds = SANITIZED ? 20 : 60;
    for (int round = 0; round < rounds; round++) {
        mpm_particle *particles = changed(0, offsetof(mpm_particle, v), 0.0);
        double size = pow(10.0, -2.0 + 12.0 * mpm_rng_uniform(&rng));
        uint32_t every = 1 + (uint32_t)(40.0 * mpm_rng_uniform(&rng));
        for (uint32_t p = 0; p < count; p += every) {
            double *field = round % 3 == 0   ? particles[p].v
                            : round % 3 == 1 ? particles[p].c
                                             : particles[p].f;
            for (int k = 0; k < (round % 3 == 0 ? 3 : 9); k++) {
                field[k] += size * (2.0 * mpm_rng_uniform(&rng) - 1.0);
            }
        }
        for (int w = 0; w < WAYS; w++) {
            diverged += run(w, particles) == MPM_DIVERGED;
        }
        free(particles);
    }
    assert_true(diverged > 0 && diverged < rounds * WAYS);
}

/* A scene without particles does nothing; its loss must not look like a good one. */
static void test_no_particles(void **state)
{
    mpm_scene empty = scene;
    for (uint32_t b = 0; b < empty.n_bodies; b++) {
        empty.bodies[b].count = 0;
    }
    for (int w = 0; w < WAYS; w++) {
        mpm_episode e;
        double x[STEPS * 3] = {0.0}, grad[STEPS * 3];
        mpm_outcome out;
        open_episode(&e, &empty, w);
        assert_int_equal(e.sim.n_particles, 0);
        assert_int_equal(mpm_episode_run(&e, x, grad, NULL, NULL, &out), MPM_DIVERGED);
        mpm_episode_free(&e);
    }
}

RUN_TESTS_WITH(open_all, close_all, test_not_finite, test_outside, test_leaving, test_deformation,
               test_random_states, test_no_particles)
