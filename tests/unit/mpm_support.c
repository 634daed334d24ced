/* SPDX-License-Identifier: Apache-2.0 */
/* Scenes and recorded values for the tests of the plasticine engine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "env.h"
#include "mt19937.h"
#include "mpm_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

const char *const mpm_task_names[MPM_TASKS] = {"Assembly", "Chopsticks", "Move",  "Pinch",      "Rollingpin",
                                               "Rope",     "Table",      "Torus", "TripleMove", "Writer"};

#define FREE_RANGE .lower = {0, 0, 0}, .upper = {1, 1, 1}
#define UPRIGHT .rotation = {1, 0, 0, 0}
#define BALL(radius_, scale_, x_, y_, z_)                                                     \
    {                                                                                         \
        .shape = MPM_SPHERE, .size = {radius_}, .friction = 0.9, FREE_RANGE, .action_dim = 3, \
        .scale = {scale_, scale_, scale_}, .start = {                                         \
            .position = {x_, y_, z_},                                                         \
            UPRIGHT                                                                           \
        }                                                                                     \
    }
#define CUBOID(n_, x_, y_, z_, a_, b_, c_)                                                 \
    {                                                                                      \
        .shape = MPM_BODY_BOX, .count = n_, .center = {x_, y_, z_}, .size = { a_, b_, c_ } \
    }
#define MATERIAL(yield_, ground_)                                                                \
    .youngs_modulus = 5000, .poisson_ratio = 0.2, .yield_stress = yield_, .gravity = {0, -1, 0}, \
    .ground_friction = ground_

static const mpm_scene scenes[MPM_TASKS] = {
    {.n_bodies = 2,
     .bodies = {CUBOID(6000, 0.6, 0.08, 0.5, 0.16, 0.16, 0.16),
                {.shape = MPM_BODY_SPHERE, .count = 4000, .center = {0.3, 0.06, 0.5}, .size = {0.06}}},
     .n_tools = 2,
     .tools = {BALL(0.04, 0.009, 0.38, 0.06, 0.5), BALL(0.04, 0.009, 0.22, 0.06, 0.5)},
     MATERIAL(100, 100)},
    {.n_bodies = 1,
     .bodies = {CUBOID(10000, 0.5, 0.02, 0.5, 0.04, 0.04, 0.6)},
     .n_tools = 1,
     .tools = {{.shape = MPM_CHOPSTICKS,
                .size = {0.02, 0.2},
                .friction = 10,
                FREE_RANGE,
                .min_gap = 0.06,
                .action_dim = 7,
                .scale = {0.02, 0.02, 0.02, 0.04, 0.04, 0.04, 0.02},
                .start = {.position = {0.5, 0.15, 0.5}, UPRIGHT, .gap = 0.06}}},
     .youngs_modulus = 5000,
     .poisson_ratio = 0.2,
     .yield_stress = 200,
     .gravity = {0, -5, 0},
     .ground_friction = 0},
    {.n_bodies = 1,
     .bodies = {{.shape = MPM_BODY_SPHERE, .count = 10000}},
     .n_tools = 2,
     .tools = {BALL(0.03, 0.01, 0, 0, 0), BALL(0.03, 0.01, 0, 0, 0)},
     MATERIAL(200, 1.5)},
    {.n_bodies = 1,
     .bodies = {CUBOID(6000, 0.5, 0.1, 0.5, 0.2, 0.2, 0.2)},
     .n_tools = 1,
     .tools = {{.shape = MPM_SPHERE,
                .size = {0.04},
                .friction = 0.9,
                .lower = {0.1, 0.1, 0.1},
                .upper = {0.9, 0.9, 0.9},
                .action_dim = 3,
                .scale = {0.02, 0.02, 0.02},
                .start = {.position = {0.5, 0.35, 0.5}, UPRIGHT}}},
     MATERIAL(50, 100)},
    {.n_bodies = 1,
     .bodies = {CUBOID(10000, 0.5, 0.05, 0.5, 0.3, 0.1, 0.3)},
     .n_tools = 1,
     .tools = {{.shape = MPM_ROLLING_PIN,
                .size = {0.03, 0.3},
                .friction = 0.9,
                FREE_RANGE,
                .action_dim = 3,
                .scale = {0.6666666666666667, 0.06666666666666668, 0.001},
                .start = {.position = {0.5, 0.123, 0.5}, .rotation = {0.707, 0.707, 0, 0}}}},
     MATERIAL(50, 1.5)},
    {.n_bodies = 1,
     .bodies = {CUBOID(10000, 0.5, 0.03, 0.73, 0.6, 0.06, 0.06)},
     .n_tools = 3,
     .tools = {BALL(0.03, 0.01, 0.22, 0.015, 0.82),
               BALL(0.03, 0.01, 0.78, 0.015, 0.82),
               {.shape = MPM_CYLINDER, .size = {0.1, 0.2}, .friction = 0.9, FREE_RANGE, .start = {UPRIGHT}}},
     MATERIAL(50, 0.3)},
    {.n_bodies = 5,
     .bodies = {CUBOID(2000, 0.425, 0.1, 0.425, 0.04, 0.1, 0.04),
                CUBOID(2000, 0.425, 0.1, 0.575, 0.04, 0.1, 0.04),
                CUBOID(2000, 0.575, 0.1, 0.425, 0.04, 0.1, 0.04),
                CUBOID(2000, 0.575, 0.1, 0.575, 0.04, 0.1, 0.04),
                CUBOID(2000, 0.5, 0.18, 0.5, 0.2, 0.05, 0.2)},
     .n_tools = 1,
     .tools = {{.shape = MPM_SPHERE,
                .size = {0.04},
                .friction = 0.9,
                FREE_RANGE,
                .action_dim = 3,
                .scale = {0.03, 0, 0.03},
                .start = {.position = {0.5, 0.06, 0.5}, UPRIGHT}}},
     .youngs_modulus = 5000,
     .poisson_ratio = 0.05,
     .yield_stress = 50,
     .gravity = {0, -1, 0},
     .ground_friction = 0.3},
    {.n_bodies = 0},
    {.n_bodies = 3,
     .bodies = {CUBOID(3333, 0.3, 0.05, 0.5, 0.1, 0.1, 0.1), CUBOID(3333, 0.5, 0.05, 0.5, 0.1, 0.1, 0.1),
                CUBOID(3333, 0.7, 0.05, 0.5, 0.1, 0.1, 0.1)},
     .n_tools = 6,
     .tools = {BALL(0.03, 0.01, 0.23, 0.05, 0.5), BALL(0.03, 0.01, 0.37, 0.05, 0.5),
               BALL(0.03, 0.01, 0.43, 0.05, 0.5), BALL(0.03, 0.01, 0.57, 0.05, 0.5),
               BALL(0.03, 0.01, 0.63, 0.05, 0.5), BALL(0.03, 0.01, 0.77, 0.05, 0.5)},
     MATERIAL(200, 1.5)},
    {.n_bodies = 1,
     .bodies = {CUBOID(10000, 0.5, 0.05, 0.5, 0.3, 0.1, 0.3)},
     .n_tools = 1,
     .tools = {{.shape = MPM_CAPSULE,
                .size = {0.03, 0.06},
                .friction = 0,
                .lower = {0, 0.05, 0},
                .upper = {1, 1, 1},
                .action_dim = 3,
                .scale = {0.01, 0.01, 0.01},
                .start = {.position = {0.5, 0.13, 0.5}, .rotation = {0, 0, 0, 1}}}},
     MATERIAL(50, 100)},
};

static void vary_move(mpm_scene *scene, int variant)
{
    static const double ball[5][4] = {
        {0.6757143040494873, 0.5619162002773135, 0.7515980438048129, 0.2049069760770578},
        {0.4800617702933018, 0.6114161266624294, 0.2150469121879661, 0.22128338675873624},
        {0.5953388885096601, 0.7803511669469463, 0.3652372561756634, 0.21518886629207218},
        {0.5608152006865512, 0.5151402950552514, 0.4707541125135959, 0.23144406058863135},
        {0.2958401778083163, 0.5385429137124296, 0.7461548784761765, 0.23726089169300607}};
    const double *b = ball[variant - 1];
    scene->bodies[0].size[0] = b[3] / 2.0;
    for (int d = 0; d < 3; d++) {
        scene->bodies[0].center[d] = b[d];
        scene->tools[0].start.position[d] = b[d] - (d == 0 ? 0.1 : 0.0);
        scene->tools[1].start.position[d] = b[d] + (d == 0 ? 0.1 : 0.0);
    }
}

static void vary_rope(mpm_scene *scene, int variant)
{
    static const double pole[5][2] = {{0.3919300650726247, 0.4990770359432596},
                                      {0.4827737598605798, 0.572508568647028},
                                      {0.48953026610561057, 0.5199459480962076},
                                      {0.46969068720064815, 0.3868456769743354},
                                      {0.49333308965447087, 0.5946055392248519}};
    scene->tools[2].start.position[0] = pole[variant - 1][0];
    scene->tools[2].start.position[2] = pole[variant - 1][1];
}

mpm_scene mpm_test_scene(int t, int variant)
{
    mpm_scene scene = t == TASK_TORUS ? mpm_task_of_plugin()->scene : scenes[t];
    if (strcmp(mpm_task_names[t], "Move") == 0) {
        vary_move(&scene, variant);
    } else if (strcmp(mpm_task_names[t], "Rope") == 0) {
        vary_rope(&scene, variant);
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
    char name[64] = "", path[4096];
    const char *slot = strstr(format, "%s");
    snprintf(name, sizeof name, "%.*s%s%s", (int)(slot - format), format, mpm_task_names[t], slot + 2);
    if (!shared_folder()) {
        return NULL;
    }
    snprintf(path, sizeof path, "%s/golden/plasticine/%s", shared_folder(), name);
    return json_load_file(path, 0, NULL);
}

json_t *mpm_golden_or_skip(const char *format, int t)
{
    json_t *root = mpm_golden(format, t);
    if (!root) {
        print_message("recorded values of the original simulator are not available (DS_SHARED)\n");
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
        .n_bodies = 3,
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
                   {.shape = MPM_BODY_SPHERE, .count = 77, .center = {0.05, 0.12, 0.07}, .size = {0.03}}},
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

bool mpm_sanitized(void)
{
    const char *flags = getenv("DS_SANITIZE");
    return flags && *flags;
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
