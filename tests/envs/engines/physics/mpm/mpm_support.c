/* SPDX-License-Identifier: Apache-2.0 */
/* mpm_support.c - scenes and recorded values for the tests of the plasticine engine. */
#include "mpm_support.h"

#include "engines/physics/mpm/sim/scene.h"
#include "golden.h"
#include "test.h"

#include <zlib.h>

const char *const mpm_task_names[MPM_TASKS] = {"Assembly", "Chopsticks", "Move",  "Pinch",      "Rollingpin",
                                               "Rope",     "Table",      "Torus", "TripleMove", "Writer"};

mpm_scene mpm_test_scene(int t, int variant)
{
    const mpm_task *task = mpm_task_at(t).task;
    mpm_scene scene = task->scene;
    if (task->vary) {
        task->vary(&scene, (uint32_t)variant);
    }
    return scene;
}

static const char *shared_folder(void)
{
    const char *folder = getenv("DS_SHARED");
    return folder && *folder ? folder : NULL;
}

json_t *mpm_golden(const char *format, int t)
{
    char name[128];
    const char *slot = strstr(format, "%s");
    snprintf(name, sizeof name, "plasticine/%.*s%s%s", (int)(slot - format), format, mpm_task_names[t],
             slot + 2);
    return golden_load(name);
}

json_t *mpm_golden_or_skip(const char *format, int t)
{
    json_t *root = mpm_golden(format, t);
    if (!root) {
        skip();
    }
    return root;
}

double *mpm_shipped_target(int t, int variant)
{
    enum { CELLS = 64 * 64 * 64 };
    char path[4096];
    unsigned char head[10];
    snprintf(path, sizeof path, "%s/data/plasticinelab-targets/%s3D-v%d.npy.gz",
             shared_folder() ? shared_folder() : "", mpm_task_names[t], variant);
    gzFile file = gzopen(path, "rb");
    if (!file) {
        print_message("%s is not available (DS_SHARED)\n", path);
        skip();
    }
    assert_int_equal(gzread(file, head, sizeof head), (int)sizeof head);
    assert_memory_equal(head, "\x93NUMPY\x01\x00", 8);
    assert_true(gzseek(file, 10 + head[8] + 256 * head[9], SEEK_SET) > 0);
    double *data = malloc(CELLS * sizeof(double));
    assert_int_equal(gzread(file, data, (unsigned)(CELLS * sizeof(double))), (int)(CELLS * sizeof(double)));
    gzclose(file);
    return data;
}

mpm_scene mpm_test_tank(mpm_domain *domain)
{
    static const double size[3] = {0.2, 0.25, 0.2};
    mpm_scene scene = {
        .n_bodies = 4,
        .bodies = {{.shape = MPM_BODY_LATTICE,
                    .center = {0.1, 0.05, 0.1},
                    .size = {0.2, 0.1, 0.2},
                    .spacing = 0.0125,
                    .jitter = 0.001,
                    .carved = 2,
                    .matter = {.law = MPM_SYRUP, .density = 1000.0, .modulus = 25000.0, .viscosity = 5.0}},
                   {.shape = MPM_BODY_LATTICE,
                    .center = {0.11, 0.06, 0.1},
                    .size = {0.04, 0.04, 0.04},
                    .spacing = 0.01,
                    .matter = {.law = MPM_ELASTIC, .density = 1200.0, .modulus = 50000.0}},
                   {.shape = MPM_BODY_SPHERE, .count = 77, .center = {0.05, 0.12, 0.07}, .size = {0.03}},
                   {.shape = MPM_BODY_BOX,
                    .count = 203,
                    .center = {0.15, 0.13, 0.12},
                    .size = {0.06, 0.04, 0.08},
                    .volume = 1.92e-4,
                    .matter = {.law = MPM_SAND,
                               .density = 1600.0,
                               .youngs_modulus = 1e5,
                               .poisson_ratio = 0.3,
                               .friction_angle = 30.0}}},
        .n_tools = 1,
        .tools = {{.shape = MPM_LADLE,
                   .action_dim = 2,
                   .size = {0.05, 0.0125},
                   .friction = 0.2,
                   .upper = {1.0, 1.0, 1.0},
                   .scale = {0.02, 0.02},
                   .start = {.position = {0.08, 0.11, 0.1}, .rotation = {1.0, 0.0, 0.0, 0.0}}}},
        .youngs_modulus = 5.0,
        .poisson_ratio = 0.2,
        .yield_stress = 0.05,
        .gravity = {0.0, -9.81, 0.0},
    };
    *domain = mpm_domain_tank(0.025, size, 0.001, 1e-3, 20, 50);
    return scene;
}

size_t mpm_numbers(const json_t *array, double *out, size_t capacity)
{
    size_t count = 0, i;
    json_t *item;
    json_array_foreach(array, i, item)
    {
        if (json_is_array(item)) {
            count += mpm_numbers(item, out + count, capacity - count);
        } else {
            assert_true(count < capacity && json_is_number(item));
            out[count++] = json_number_value(item);
        }
    }
    return count;
}

double mpm_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

void mpm_poses(const json_t *list, const mpm_scene *scene, mpm_pose *out)
{
    for (uint32_t t = 0; t < scene->n_tools; t++) {
        double v[8] = {0.0};
        size_t count = mpm_numbers(json_array_get(list, t), v, 8);
        assert_true(count == 7 || count == 8);
        memcpy(out[t].position, v, sizeof out[t].position);
        memcpy(out[t].rotation, v + 3, sizeof out[t].rotation);
        out[t].gap = count == 8 ? v[7] : 0.0;
    }
}

double *mpm_actions(const char *name, const char *formula, uint32_t action_dim)
{
    enum { STEPS = 50 };
    mpm_rng rng;
    double *a = calloc(STEPS * (size_t)action_dim, sizeof(double));
    double bias[64] = {0.0}, piece[5 * 64];
    unsigned number = (unsigned)(name[1] - '0');
    if (name[0] == 'p') {
        mpm_rng_seed(&rng, 2000 + number);
        for (uint32_t i = 0; i < 5 * action_dim; i++) {
            piece[i] = -1.0 + 2.0 * mpm_rng_uniform(&rng);
        }
        for (uint32_t i = 0; i < STEPS * action_dim; i++) {
            a[i] = piece[i / action_dim / 10 * action_dim + i % action_dim];
        }
        return a;
    }
    if (name[0] == 'c') {
        const char *at = strchr(formula, '[');
        assert_non_null(at);
        for (uint32_t c = 0; c < action_dim; c++) {
            char *end;
            bias[c] = strtod(at + 1, &end);
            at = end;
        }
    }
    mpm_rng_seed(&rng, name[0] == 'c' ? 3000 : 1000 + number);
    for (uint32_t i = 0; i < STEPS * action_dim; i++) {
        double u = -1.0 + 2.0 * mpm_rng_uniform(&rng);
        a[i] = name[0] == 'c' ? bias[i % action_dim] + 0.4 * u : u;
    }
    return a;
}

double mpm_relative(const double *a, const double *b, size_t n)
{
    double worst = 0.0, largest = 0.0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs(a[i] - b[i]);
        worst = d > worst || isnan(d) ? d : worst;
        largest = fabs(b[i]) > largest ? fabs(b[i]) : largest;
    }
    return largest > 0.0 ? worst / largest : worst;
}

void mpm_expect(double a, double b, double tol_abs, const char *format, ...)
{
    if (fabs(a - b) <= tol_abs) {
        return;
    }
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    print_error("%s: %.17g, expected %.17g, difference %.3g, allowed %.3g\n", what, a, b, a - b, tol_abs);
    fail();
}
