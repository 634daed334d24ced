/* SPDX-License-Identifier: Apache-2.0 */
/* test_mpm_fast.c - the fast engine against the scalar one: substeps forward and backward from random states
 * of all ten tasks, on every instruction set of the machine, in both precisions; extreme states; memory,
 * threads and sorting, which must not change the results. */
#include "engines/kit/algebra/mat3.h"
#include "engines/physics/mpm/sim/scene.h"
#include "mpm_support.h"
#include "sanitizers.h"
#include "test.h"

static const char *const isas[] = {"baseline", "avx2", "avx512"};
enum { ISAS = 3 };

/* A simulation, its states and their adjoints by the scalar engine. */
typedef struct reference {
    mpm_scene scene;
    mpm_sim sim;
    uint32_t n, substeps;
    mpm_particle *frames;             /* [substeps + 1][n] */
    mpm_particle *end_bar;            /* the seed of the adjoint */
    mpm_particle *bar;                /* adjoint of frame 0 */
    mpm_pose *poses;                  /* [substeps + 1][tools] */
    mpm_pose pose_bar[MPM_MAX_TOOLS]; /* adjoint of the poses at frame 0, each frame's taken as independent */
} reference;

/* The scene after the tasks: a tank with bodies of all laws. */
enum { TANK = MPM_TASKS, SCENES = MPM_TASKS + 1 };

static const char *scene_name(int scene)
{
    return scene == TANK ? "tank" : mpm_task_names[scene];
}

/* Syrup has only a relative volume; some of it is at its limits. */
static void make_syrup(reference *r)
{
    for (uint32_t k = 0; k < r->sim.n_phases; k++) {
        const mpm_phase *phase = &r->sim.phases[k];
        for (uint32_t p = phase->first; phase->material.law == MPM_SYRUP && p < phase->first + phase->count;
             p++) {
            double *f = r->frames[p].f;
            mat3_identity(f);
            f[0] = uniform(p % 5 == 0 ? 0.59 : 0.9, 1.06);
        }
    }
}

/* Particles of a task, in random motion and deformation. */
static void open_reference(reference *r, int task, uint32_t preset, uint32_t substeps, double speed)
{
    memset(r, 0, sizeof *r);
    mpm_rng_seed(&mpm_test_rng, 7 + (uint32_t)task);
    mpm_domain domain = mpm_domain_make(preset);
    r->scene = task == TANK ? mpm_test_tank(&domain) : mpm_test_scene(task, 1);
    r->n = mpm_particle_count(&r->scene, &domain, 0);
    r->substeps = substeps;
    assert_int_equal(mpm_sim_init(&r->sim, &r->scene, &domain, r->n, task == TANK ? 0.0 : 666.0), MPM_OK);
    assert_true(mpm_grid_init_adjoint(&r->sim.grid));
    r->frames = malloc((substeps + (size_t)1) * r->n * sizeof *r->frames);
    r->end_bar = malloc(r->n * sizeof *r->end_bar);
    r->bar = malloc(r->n * sizeof *r->bar);
    r->poses = malloc((substeps + (size_t)1) * r->scene.n_tools * sizeof *r->poses);
    mpm_particles_make(&r->scene, &domain, 0, 0, r->frames);
    for (uint32_t p = 0; p < r->n; p++) {
        mpm_particle *q = &r->frames[p];
        for (int k = 0; k < 3; k++) {
            q->v[k] = uniform(-speed, speed);
        }
        for (int k = 0; k < 9; k++) {
            q->c[k] = uniform(-10.0 * speed, 10.0 * speed);
            /* some undeformed, some elastic, some that yield */
            q->f[k] += p % 3 == 0 ? 0.0 : uniform(-0.03, 0.03);
        }
        for (int k = 0; k < 3; k++) {
            r->end_bar[p].x[k] = uniform(-1.0, 1.0);
            r->end_bar[p].v[k] = uniform(-1.0, 1.0);
        }
        for (int k = 0; k < 9; k++) {
            r->end_bar[p].c[k] = uniform(-0.01, 0.01);
            r->end_bar[p].f[k] = uniform(-1.0, 1.0);
        }
    }
    make_syrup(r);
    for (uint32_t t = 0; t < r->scene.n_tools; t++) {
        r->poses[t] = r->scene.tools[t].start;
        if (r->scene.tools[t].action_dim > 0) {
            /* into the material */
            for (int d = 0; d < 3; d++) {
                double target = r->frames[(t + 1) * 37 % r->n].x[d];
                r->poses[t].position[d] += 0.8 * (target - r->poses[t].position[d]);
            }
        }
    }
    for (uint32_t j = 0; j < substeps; j++) {
        for (uint32_t t = 0; t < r->scene.n_tools; t++) {
            mpm_control control = {{0.0}};
            for (uint32_t c = 0; c < r->scene.tools[t].action_dim; c++) {
                control.value[c] = (c % 2 ? -0.7 : 0.5) * r->scene.tools[t].scale[c] / 19.0;
            }
            uint32_t at = j * r->scene.n_tools + t;
            mpm_tool_move(&r->scene.tools[t], &r->poses[at], &control, &r->poses[at + r->scene.n_tools]);
        }
    }
}

static void close_reference(reference *r)
{
    mpm_sim_free(&r->sim);
    free(r->frames);
    free(r->end_bar);
    free(r->bar);
    free(r->poses);
}

/* Forward and adjoint by the scalar engine. */
static void run_reference(reference *r)
{
    mpm_tape *tape = calloc(r->substeps, sizeof *tape);
    for (uint32_t j = 0; j < r->substeps; j++) {
        const mpm_pose *now = r->poses + j * r->scene.n_tools;
        mpm_particle *in = r->frames + (size_t)j * r->n;
        tape[j].svd = malloc(r->n * sizeof(mpm_svd));
        assert_int_equal(mpm_substep(&r->sim, in, in + r->n, now, now + r->scene.n_tools, &tape[j]), MPM_OK);
    }
    memcpy(r->bar, r->end_bar, r->n * sizeof *r->bar);
    for (uint32_t j = r->substeps; j-- > 0;) {
        const mpm_pose *now = r->poses + j * r->scene.n_tools;
        mpm_particle *in = r->frames + (size_t)j * r->n;
        mpm_substep_adjoint(&r->sim, in, in + r->n, &tape[j], now, now + r->scene.n_tools, r->bar,
                            r->pose_bar, r->pose_bar);
        free(tape[j].svd);
        mpm_grid_record_free(&tape[j].grid);
    }
    free(tape);
}

/* Largest difference of fields [from, from + count) of the particles, relative to the largest value. */
static double differ(const mpm_particle *a, const mpm_particle *b, uint32_t n, size_t offset, size_t count)
{
    double largest = 0.0, difference = 0.0;
    for (uint32_t p = 0; p < n; p++) {
        double u[9], v[9];
        memcpy(u, (const char *)&a[p] + offset, count * sizeof(double));
        memcpy(v, (const char *)&b[p] + offset, count * sizeof(double));
        for (size_t k = 0; k < count; k++) {
            double d = fabs(u[k] - v[k]);
            difference = d <= difference ? difference : d;
            largest = fabs(v[k]) > largest ? fabs(v[k]) : largest;
        }
    }
    return difference / (largest > 0.0 ? largest : 1.0);
}

static void expect_close(const mpm_particle *a, const mpm_particle *b, uint32_t n, double tolerance,
                         const char *what)
{
    double d[4] = {
        differ(a, b, n, offsetof(mpm_particle, x), 3), differ(a, b, n, offsetof(mpm_particle, v), 3),
        differ(a, b, n, offsetof(mpm_particle, c), 9), differ(a, b, n, offsetof(mpm_particle, f), 9)};
    if (!(d[0] <= tolerance && d[1] <= tolerance && d[2] <= tolerance && d[3] <= tolerance)) {
        print_error("%s: relative differences x %.2e v %.2e C %.2e F %.2e\n", what, d[0], d[1], d[2], d[3]);
        fail();
    }
}

typedef struct result {
    mpm_particle *end, *bar;
    mpm_pose pose_bar[MPM_MAX_TOOLS];
    size_t bytes; /* bytes that the engine held after the adjoint */
} result;

static void free_result(result *out)
{
    free(out->end);
    free(out->bar);
}

static void advance_fast(const reference *r, mpm_fast *f, bool with_adjoint, mpm_particle *end)
{
    assert_int_equal(mpm_fast_start(f, r->frames, r->poses, r->substeps, with_adjoint), MPM_OK);
    for (uint32_t j = 0; j < r->substeps; j++) {
        assert_int_equal(mpm_fast_advance(f), MPM_OK);
    }
    assert_int_equal(mpm_fast_state(f, end), MPM_OK);
}

static void begin_result(const reference *r, result *out)
{
    memset(out, 0, sizeof *out);
    out->end = malloc(r->n * sizeof *out->end);
    out->bar = malloc(r->n * sizeof *out->bar);
}

/* An episode forward and backward. */
static void episode_fast(const reference *r, mpm_fast *f, result *out)
{
    advance_fast(r, f, true, out->end);
    mpm_fast_turn(f);
    mpm_fast_add_bar(f, r->end_bar);
    for (uint32_t j = 0; j < r->substeps; j++) {
        assert_int_equal(mpm_fast_retreat(f, out->pose_bar, out->pose_bar), MPM_OK);
    }
    assert_int_equal(mpm_fast_bar(f, out->bar), MPM_OK);
    out->bytes = mpm_fast_memory(f);
}

static void run_fast(const reference *r, const mpm_fast_options *options, result *out)
{
    mpm_fast *f = mpm_fast_create(&r->sim, options);
    assert_non_null(f);
    begin_result(r, out);
    episode_fast(r, f, out);
    /* the same engine again, without the adjoint */
    mpm_particle *plain = malloc(r->n * sizeof *plain);
    advance_fast(r, f, false, plain);
    assert_memory_equal(plain, out->end, r->n * sizeof *plain);
    free(plain);
    mpm_fast_destroy(f);
}

static void compare(const reference *r, const mpm_fast_options *options, double forward, double adjoint,
                    const char *label)
{
    char what[128];
    result out;
    run_fast(r, options, &out);
    snprintf(what, sizeof what, "%s %d %s, state", label, options->bits, options->isa ? options->isa : "");
    expect_close(out.end, r->frames + (size_t)r->substeps * r->n, r->n, forward, what);
    snprintf(what, sizeof what, "%s %d %s, adjoint", label, options->bits, options->isa ? options->isa : "");
    expect_close(out.bar, r->bar, r->n, adjoint, what);
    for (uint32_t t = 0; t < r->scene.n_tools; t++) {
        double a[8], b[8];
        memcpy(a, &out.pose_bar[t], sizeof a);
        memcpy(b, &r->pose_bar[t], sizeof b);
        double scale = 0.0;
        for (int k = 0; k < 8; k++) {
            scale = fabs(b[k]) > scale ? fabs(b[k]) : scale;
        }
        for (int k = 0; k < 8; k++) {
            mpm_expect(a[k], b[k], adjoint * scale, "%s: adjoint of the pose of tool %u, %d", what, t, k);
        }
    }
    free_result(&out);
}

static void test_one_substep(void **state)
{
    for (int task = 0; task < SCENES; task++) {
        reference r;
        open_reference(&r, task, MPM_PRESET_SMALL, 1, 0.5);
        run_reference(&r);
        for (int i = 0; i < ISAS; i++) {
            compare(&r, &(mpm_fast_options){.bits = 64, .isa = isas[i]}, 1e-10, 1e-10, scene_name(task));
            compare(&r, &(mpm_fast_options){.bits = 32, .isa = isas[i]}, 1e-3, 1e-2, scene_name(task));
        }
        close_reference(&r);
    }
}

/* Several sorts, and substeps fused across and within them. */
static void test_many_substeps(void **state)
{
    for (int task = 0; task < SCENES; task++) {
        reference r;
        open_reference(&r, task, MPM_PRESET_SMALL, 15, 0.2);
        run_reference(&r);
        for (int i = 0; i < ISAS; i++) {
            compare(&r, &(mpm_fast_options){.bits = 64, .isa = isas[i], .interval = 6}, 1e-10, 1e-9,
                    scene_name(task));
        }
        compare(&r, &(mpm_fast_options){.bits = 64, .store = true, .interval = 4}, 1e-10, 1e-9,
                scene_name(task));
        close_reference(&r);
    }
}

/* Deformations where the power series diverge: strong shear, crushed, inverted, all three small. */
static void test_extreme_states(void **state)
{
    reference r;
    open_reference(&r, TASK_TORUS, MPM_PRESET_SMALL, 3, 0.1);
    for (uint32_t p = 0; p < r.n; p += 11) {
        double *f = r.frames[p].f;
        switch (p / 11 % 5) {
        case 0:
            f[1] += 0.7;
            break;
        case 1:
            f[8] *= 0.03;
            break;
        case 2:
            f[6] *= -1.0;
            f[7] *= -1.0;
            f[8] *= -1.0;
            break;
        case 3:
            f[0] *= 1.3;
            break;
        default:
            for (int k = 0; k < 9; k++) {
                f[k] *= 0.045;
            }
        }
    }
    run_reference(&r);
    for (int i = 0; i < ISAS; i++) {
        compare(&r, &(mpm_fast_options){.bits = 64, .isa = isas[i]}, 1e-10, 1e-8, "extreme states");
    }
    close_reference(&r);
}

/* Particles that cross cells within a few substeps, and one that crosses many in one. */
static void test_fast_particles(void **state)
{
    reference r;
    open_reference(&r, TASK_TORUS, MPM_PRESET_SMALL, 12, 8.0);
    run_reference(&r);
    compare(&r, &(mpm_fast_options){.bits = 64}, 1e-9, 1e-7, "fast particles");
    close_reference(&r);

    open_reference(&r, TASK_TORUS, MPM_PRESET_SMALL, 2, 0.1);
    for (uint32_t p = 0; p < r.n; p++) {
        r.frames[p].v[0] += 1000.0;
    }
    run_reference(&r);
    compare(&r, &(mpm_fast_options){.bits = 64}, 1e-9, 1e-7, "very fast particles");
    close_reference(&r);
}

static void expect_same(const reference *r, const result *a, const result *b)
{
    assert_memory_equal(a->end, b->end, r->n * sizeof *a->end);
    assert_memory_equal(a->bar, b->bar, r->n * sizeof *a->bar);
    assert_memory_equal(a->pose_bar, b->pose_bar, sizeof a->pose_bar);
}

/* The same bits for every number of threads, whether substeps are stored or simulated again. */
static void expect_same_for_all_threads(int task)
{
    reference r;
    open_reference(&r, task, SANITIZED ? MPM_PRESET_SMALL : MPM_PRESET_FULL, 10, 0.2);
    for (int bits = 32; bits <= 64; bits += 32) {
        result one, other;
        run_fast(&r, &(mpm_fast_options){.bits = bits, .threads = 1, .interval = 4}, &one);
        for (uint32_t threads = 2; threads <= 5; threads++) {
            run_fast(&r, &(mpm_fast_options){.bits = bits, .threads = threads, .interval = 4}, &other);
            expect_same(&r, &one, &other);
            free_result(&other);
        }
        run_fast(&r, &(mpm_fast_options){.bits = bits, .threads = 2, .interval = 4, .store = true}, &other);
        expect_same(&r, &one, &other);
        free_result(&other);
        free_result(&one);
    }
    close_reference(&r);
}

static void test_threads_and_memory(void **state)
{
    expect_same_for_all_threads(TASK_TORUS);
    expect_same_for_all_threads(TANK);
}

/* For every budget, from checkpoints alone to all states, the bits are the same. A checkpoint is less than
 * half of the state that it replaces. */
static void test_budgets(void **state)
{
    for (int bits = 32; bits <= 64; bits += 32) {
        reference r;
        result all, some, least, shorter;
        open_reference(&r, TANK, MPM_PRESET_SMALL, 42, 0.2);
        mpm_fast_options options = {.bits = bits, .interval = 4};
        run_fast(&r, &options, &all);
        options.budget = 1;
        run_fast(&r, &options, &least);
        options.budget = (all.bytes + least.bytes) / 2;
        run_fast(&r, &options, &some);
        print_message("# f%d: %zu bytes, %zu, %zu\n", bits, least.bytes, some.bytes, all.bytes);
        assert_true(least.bytes < some.bytes && some.bytes < all.bytes);
        expect_same(&r, &all, &some);
        expect_same(&r, &all, &least);
        options.budget = 1;
        r.substeps = 22; /* five segments less */
        run_fast(&r, &options, &shorter);
        size_t state_bytes = 29 * (size_t)(bits / 8) * r.n;
        assert_true(least.bytes - shorter.bytes < 5 * state_bytes / 2);
        free_result(&all);
        free_result(&some);
        free_result(&least);
        free_result(&shorter);
        close_reference(&r);
    }
}

/* Memory that is allocated for later episodes changes no bit of them; the first episodes run without it. */
static void test_later_budget(void **state)
{
    reference r;
    result first, second;
    open_reference(&r, TANK, MPM_PRESET_SMALL, 42, 0.2);
    mpm_fast_options options = {.bits = 64, .interval = 4, .budget = 1, .later_budget = SIZE_MAX};
    run_fast(&r, &options, &first);
    mpm_fast *f = mpm_fast_create(&r.sim, &options);
    assert_non_null(f);
    for (int episode = 0; episode < MPM_EARLY_EPISODES + 2; episode++) {
        begin_result(&r, &second);
        episode_fast(&r, f, &second);
        print_message("# episode %d: %zu bytes, %u substeps again\n", episode, second.bytes,
                      mpm_fast_repeated(f));
        expect_same(&r, &first, &second);
        assert_true(episode < MPM_EARLY_EPISODES ? second.bytes == first.bytes && mpm_fast_repeated(f) > 0
                                                 : second.bytes > first.bytes && mpm_fast_repeated(f) == 0);
        free_result(&second);
    }
    mpm_fast_destroy(f);
    free_result(&first);
    close_reference(&r);
}

/* A particle of syrup needs room for one number of F instead of nine. */
static void test_room_for_syrup(void **state)
{
    reference r;
    size_t bytes[2], syrup = 0;
    open_reference(&r, TANK, MPM_PRESET_SMALL, 1, 0.2);
    for (int solid = 0; solid < 2; solid++) {
        for (uint32_t k = 0; k < r.sim.n_phases; k++) {
            mpm_phase *phase = &r.sim.phases[k];
            if (phase->material.law == MPM_SYRUP) {
                syrup += phase->count;
                phase->material.law = solid ? MPM_ELASTIC : MPM_SYRUP;
            }
        }
        mpm_fast *f = mpm_fast_create(&r.sim, &(mpm_fast_options){.bits = 64});
        assert_non_null(f);
        bytes[solid] = mpm_fast_memory(f);
        mpm_fast_destroy(f);
    }
    assert_true(syrup > 1000 && bytes[1] - bytes[0] >= 2 * 8 * sizeof(double) * (syrup / 2));
    close_reference(&r);
}

/* One engine, episode after episode: with gradient, without, with it again. */
static void test_again(void **state)
{
    reference r;
    open_reference(&r, TASK_TORUS, MPM_PRESET_SMALL, 10, 0.2);
    for (int store = 0; store < 2; store++) {
        mpm_fast *f = mpm_fast_create(&r.sim, &(mpm_fast_options){.bits = 64, .interval = 4, .store = store});
        mpm_particle *end[3], *bar = malloc(r.n * sizeof *bar), *again = malloc(r.n * sizeof *again);
        mpm_pose pose_bar[MPM_MAX_TOOLS];
        memset(pose_bar, 0, sizeof pose_bar);
        for (int k = 0; k < 3; k++) {
            end[k] = malloc(r.n * sizeof *end[k]);
            assert_int_equal(mpm_fast_start(f, r.frames, r.poses, r.substeps, k != 1), MPM_OK);
            for (uint32_t j = 0; j < r.substeps; j++) {
                assert_int_equal(mpm_fast_advance(f), MPM_OK);
            }
            assert_int_equal(mpm_fast_state(f, end[k]), MPM_OK);
            assert_memory_equal(end[k], end[0], r.n * sizeof *end[k]);
            if (k == 1) {
                continue;
            }
            mpm_fast_turn(f);
            mpm_fast_add_bar(f, r.end_bar);
            for (uint32_t j = 0; j < r.substeps; j++) {
                assert_int_equal(mpm_fast_retreat(f, pose_bar, pose_bar), MPM_OK);
            }
            assert_int_equal(mpm_fast_bar(f, k == 0 ? bar : again), MPM_OK);
        }
        assert_memory_equal(bar, again, r.n * sizeof *bar);
        for (int k = 0; k < 3; k++) {
            free(end[k]);
        }
        free(bar);
        free(again);
        mpm_fast_destroy(f);
    }
    close_reference(&r);
}

/* The kernels of portable mode: the bits of the baseline, with vectors of any width. */
static void test_portable(void **state)
{
    static const char *const portable[] = {"portable_avx2", "portable_avx512"};
    for (int task = 0; task < SCENES; task++) {
        reference r;
        open_reference(&r, task, MPM_PRESET_SMALL, 6, 0.5);
        run_reference(&r);
        for (int bits = 32; bits <= 64; bits += 32) {
            result baseline, other;
            run_fast(&r, &(mpm_fast_options){.bits = bits, .isa = "baseline", .interval = 3}, &baseline);
            for (int i = 0; i < 2; i++) {
                run_fast(&r, &(mpm_fast_options){.bits = bits, .isa = portable[i], .interval = 3}, &other);
                assert_memory_equal(baseline.end, other.end, r.n * sizeof *other.end);
                assert_memory_equal(baseline.bar, other.bar, r.n * sizeof *other.bar);
                assert_memory_equal(baseline.pose_bar, other.pose_bar, sizeof other.pose_bar);
                free_result(&other);
            }
            free_result(&baseline);
        }
        close_reference(&r);
    }
}

static void test_not_finite(void **state)
{
    static const double wrong[] = {NAN, INFINITY, -INFINITY, 1e300};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        for (int field = 0; field < 4; field++) {
            reference r;
            open_reference(&r, TASK_TORUS, MPM_PRESET_SMALL, 3, 0.1);
            mpm_particle *p = &r.frames[100];
            *(field == 0 ? p->x : field == 1 ? p->v : field == 2 ? p->c : p->f) = wrong[i];
            for (int k = 0; k < ISAS; k++) {
                mpm_fast *f = mpm_fast_create(&r.sim, &(mpm_fast_options){.bits = 64, .isa = isas[k]});
                mpm_result status = mpm_fast_start(f, r.frames, r.poses, 3, false);
                for (int j = 0; j < 3 && status == MPM_OK; j++) {
                    status = mpm_fast_advance(f);
                }
                assert_int_equal(status, MPM_DIVERGED);
                mpm_fast_destroy(f);
            }
            close_reference(&r);
        }
    }
}

static void open_episode(mpm_episode *e, const mpm_scene *scene, uint32_t engine, int bits,
                         const double *target)
{
    mpm_episode_spec spec = {.scene = scene,
                             .domain = mpm_domain_make(MPM_PRESET_SMALL),
                             .steps = 10,
                             .segments = 5,
                             .loss_mode = MPM_LOSS_SEGMENT_SUM,
                             .softness = 666.0,
                             .engine = engine,
                             .fast = {.bits = bits}};
    assert_int_equal(mpm_episode_init(e, &spec), MPM_OK);
    e->objective.weight_density = 10.0;
    e->objective.weight_sdf = 10.0;
    e->objective.weight_contact = 40.0;
    e->objective.soft_contact = true;
    assert_int_equal(mpm_objective_init(&e->objective, spec.domain.n, target), MPM_OK);
}

/* Whole episodes: loss and gradient of all ten tasks. */
static void test_episodes(void **state)
{
    static double target[32 * 32 * 32];
    for (int i = 10; i < 22; i++) {
        for (int j = 0; j < 5; j++) {
            for (int k = 10; k < 22; k++) {
                target[(i * 32 + j) * 32 + k] = 3.0 / 16384.0;
            }
        }
    }
    for (int task = check_all() ? 0 : 1; task < MPM_TASKS; task += check_all() ? 1 : 3) {
        mpm_scene scene = mpm_test_scene(task, 1);
        double x[5 * 18], grad[3][5 * 18];
        mpm_outcome out[3];
        mpm_rng_seed(&mpm_test_rng, 3);
        for (int i = 0; i < 5 * 18; i++) {
            x[i] = uniform(-1.0, 1.0);
        }
        size_t dim = 0;
        for (int i = 0; i < 3; i++) {
            mpm_episode e;
            open_episode(&e, &scene, i == 0 ? MPM_ENGINE_SCALAR : MPM_ENGINE_FAST, i == 2 ? 32 : 64, target);
            assert_int_equal(mpm_episode_run(&e, x, grad[i], NULL, NULL, &out[i]), MPM_OK);
            dim = mpm_episode_dim(&e);
            mpm_episode_free(&e);
        }
        const char *name = mpm_task_names[task];
        mpm_expect(out[1].loss, out[0].loss, 1e-11 * out[0].loss, "%s: loss", name);
        mpm_expect(out[2].loss, out[0].loss, 1e-4 * out[0].loss, "%s: loss in f32", name);
        mpm_expect(mpm_relative(grad[1], grad[0], dim), 0.0, 1e-8, "%s: gradient", name);
    }
}

RUN_TESTS(test_one_substep, test_many_substeps, test_extreme_states, test_fast_particles,
          test_threads_and_memory, test_budgets, test_later_budget, test_room_for_syrup, test_again,
          test_portable, test_not_finite, test_episodes)
