/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the plasticine engine: random stream, particles, decomposition, material law with its adjoint,
 * distance field, stored targets. Needs no recorded data. */
#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"
#include "engines/physics/mpm/env/env.h"
#include "engines/physics/mpm/sim/deform.h"
#include "engines/physics/mpm/sim/loss.h"
#include "engines/physics/mpm/sim/sim.h"
#include "mpm_support.h"
#include "test.h"

#include <unistd.h>

/* ---- random stream and particles ---- */

static void test_random_stream(void **state)
{
    static const double u[4] = {0.54881350392732475, 0.71518936637241948, 0.60276337607164387,
                                0.54488318299689686};
    static const double g[4] = {1.764052345967664, 0.40015720836722329, 0.9787379841057392,
                                2.2408931992014578};
    mpm_rng r;
    mpm_rng_seed(&r, 0);
    for (int i = 0; i < 4; i++) {
        assert_true(mpm_rng_uniform(&r) == u[i]);
    }
    mpm_rng_seed(&r, 0);
    for (int i = 0; i < 4; i++) {
        mpm_expect(mpm_rng_gauss(&r), g[i], 5e-16 * g[i], "normal %d", i);
    }
}

/* First and last particle, mean and sum of squares of the tasks, from PlasticineLab. */
static void test_particles(void **state)
{
    typedef struct expected {
        int task;
        double first[3], last[3], mean[3], sum_sq;
    } expected;
    static const expected all[] = {
        {0,
         {.6078101606283719, .11443029861958712, .51644214017146306},
         {.34307851387818422, .062432305639667576, .53229328184829927},
         {.480278640, .071298081, .499433518},
         5115.370608509},
        {1,
         {.50195254015709301, .028607574654896779, .56165802564298628},
         {.51411616752918832, .029369182178579787, .58339844944650443},
         {.500008709, .019792624, .498424447},
         5292.538404663},
        {2,
         {.75727405262101788, .58041719395707503, .79684932225102179},
         {.61623067589030833, .60036463945570495, .80101437720606827},
         {.675654396, .561857414, .751440204},
         13431.620731190},
        {3,
         {.50976270078546493, .14303787327448389, .5205526752143288},
         {.50712216655868514, .070916410204753283, .5871561974612548},
         {.500142591, .098357094, .498503424},
         3110.387464732},
        {5,
         {.5292881023563949, .042911361982345166, .73616580256429864},
         {.7117425129378252, .044053773267869675, .73833984494465044},
         {.500130636, .029688937, .729842445},
         8147.700422474},
        {6,
         {.426952540157093, .12151893663724195, .42911053504286573},
         {.5705808376459417, .19171147772322472, .52779948314883485},
         {.500348929, .115487304, .499760369},
         5257.475852117},
        {TASK_TORUS,
         {.51464405117819745, .071518936637241945, .5308290128214932},
         {.6058712564689126, .073422955446449473, .54169922472325227},
         {.500065318, .049481561, .499212224},
         5177.260587522},
        {8,
         {.30488135039273245, .071518936637241945, .5102763376071644},
         {.73203279841126756, .062235919374876152, .5031140439086732},
         {.500018245, .049479167, .499735992},
         5313.428248081},
    };
    static mpm_particle p[10000];
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        const expected *e = &all[k];
        mpm_scene scene = mpm_test_scene(e->task, 1);
        mpm_domain domain = mpm_domain_make(MPM_PRESET_FULL);
        uint32_t n = mpm_particle_count(&scene, &domain, 0);
        double mean[3] = {0.0}, sum = 0.0;
        assert_true(n <= 10000);
        mpm_particles_make(&scene, &domain, 0, 0, p);
        for (uint32_t i = 0; i < n; i++) {
            vec3_add_scaled(mean, 1.0 / n, p[i].x);
            sum += vec3_dot(p[i].x, p[i].x);
        }
        for (int d = 0; d < 3; d++) {
            /* the random numbers are exact; libm may differ in the last place for spheres */
            mpm_expect(p[0].x[d], e->first[d], 2.3e-16, "%s first", mpm_task_names[e->task]);
            mpm_expect(p[n - 1].x[d], e->last[d], 2.3e-16, "%s last", mpm_task_names[e->task]);
            mpm_expect(mean[d], e->mean[d], 6e-10, "%s mean", mpm_task_names[e->task]);
        }
        mpm_expect(sum, e->sum_sq, 6e-10, "%s sum of squares", mpm_task_names[e->task]);
    }
}

static void test_particle_shares(void **state)
{
    mpm_scene scene = mpm_test_scene(0, 1);
    mpm_domain full = mpm_domain_make(MPM_PRESET_FULL), small = mpm_domain_make(MPM_PRESET_SMALL);
    assert_int_equal(mpm_particle_count(&scene, &full, 0), 10000);
    assert_int_equal(mpm_particle_count(&scene, &small, 0), 1250);
    for (uint32_t total = 1; total < 50; total++) {
        assert_int_equal(mpm_particle_count(&scene, &small, total), total);
    }
}

/* ---- decomposition and material ---- */

static void check_svd(const double a[9])
{
    mpm_svd s;
    double r[9], gram[9], norm = 1e-300;
    mpm_svd3(a, &s);
    for (int i = 0; i < 9; i++) {
        norm = fmax(norm, fabs(a[i]));
    }
    mat3_compose(s.u, s.s, s.v, r);
    for (int i = 0; i < 9; i++) {
        mpm_expect(r[i], a[i], 1e-14 * fmax(norm, 1e-12), "U S V^T");
    }
    mat3_tmul(s.u, s.u, gram);
    for (int i = 0; i < 9; i++) {
        mpm_expect(gram[i], i % 4 == 0, 1e-14, "U^T U");
    }
    mat3_tmul(s.v, s.v, gram);
    for (int i = 0; i < 9; i++) {
        mpm_expect(gram[i], i % 4 == 0, 1e-14, "V^T V");
    }
    mpm_expect(mat3_det(s.u), 1.0, 1e-14, "det U");
    mpm_expect(mat3_det(s.v), 1.0, 1e-14, "det V");
    assert_true(s.s[0] >= s.s[1] - 1e-15 * norm && s.s[1] >= fabs(s.s[2]) - 1e-15 * norm);
}

static void test_svd(void **state)
{
    const double special[][9] = {
        {1, 0, 0, 0, 1, 0, 0, 0, 1},      {1, 0, 0, 0, 1, 0, 0, 0, -1}, {0, 0, 0, 0, 0, 0, 0, 0, 0},
        {2, 0, 0, 0, 0, 0, 0, 0, 0},      {0, 1, 0, 1, 0, 0, 0, 0, 1},  {1, 2, 3, 2, 4, 6, 3, 6, 9},
        {1e-9, 0, 0, 0, 1, 0, 0, 0, 1e3}, {0, 0, 1, 0, 0, 0, 0, 1, 0},
    };
    for (size_t k = 0; k < sizeof special / sizeof special[0]; k++) {
        check_svd(special[k]);
    }
    mpm_svd s;
    mpm_svd3(special[1], &s);
    mpm_expect(s.s[2], -1.0, 1e-15, "s3 of diag(1, 1, -1)");
    for (int k = 0; k < 2000; k++) {
        double a[9];
        random_numbers(a, 9, k % 3 == 0 ? 1.0 : pow(10.0, uniform(-8, 0)));
        for (int i = 0; i < 9 && k % 3 != 0; i += 4) {
            a[i] += 1.0;
        }
        check_svd(a);
    }
}

/* <stress_bar, stress> + <f_bar, F_new> as a function of the trial gradient. */
static double material_value(const mpm_material *law, const double a[9], const double f_bar[9],
                             const double stress_bar[9])
{
    mpm_svd s;
    double f[9], stress[9];
    mpm_svd3(a, &s);
    mpm_material_update(law, a, &s, f, stress);
    return dot(f_bar, f, 9) + dot(stress_bar, stress, 9);
}

static double material_error(const mpm_material *law, const double a[9])
{
    mpm_svd s;
    double f[9], stress[9], f_bar[9], stress_bar[9], a_bar[9], da[9], up[9], down[9], h = 2e-6;
    random_numbers(f_bar, 9, law->mu);
    random_numbers(stress_bar, 9, 1.0);
    random_numbers(da, 9, 1.0);
    mpm_svd3(a, &s);
    mpm_material_update(law, a, &s, f, stress);
    mpm_material_adjoint(law, &s, f, f_bar, stress_bar, a_bar);
    for (int i = 0; i < 9; i++) {
        up[i] = a[i] + h * da[i];
        down[i] = a[i] - h * da[i];
    }
    double slope = dot(a_bar, da, 9);
    double quotient =
        (material_value(law, up, f_bar, stress_bar) - material_value(law, down, f_bar, stress_bar)) / (2 * h);
    return fabs(slope - quotient) / sqrt(dot(a_bar, a_bar, 9) * dot(da, da, 9));
}

static void test_material_adjoint(void **state)
{
    mpm_material law = mpm_material_make(5000.0, 0.2, 50.0);
    double identity[9], a[9];
    mat3_identity(identity);
    assert_true(material_error(&law, identity) < 1e-7); /* all singular values coincide */
    for (int k = 0; k < 400; k++) {
        /* elastic, plastic, equal singular values, strongly sheared */
        static const double size[4] = {1e-3, 0.05, 0.0, 0.5};
        random_numbers(a, 9, size[k % 4]);
        a[0] += 1.0;
        a[4] += k % 4 == 2 ? 1.2 : 1.0;
        a[8] += k % 4 == 2 ? 1.2 : 1.0;
        if (mat3_det(a) < 0.1) {
            continue;
        }
        double error = material_error(&law, a);
        if (!(error < 1e-7)) {
            print_error("case %d: relative error %.3g\n", k, error);
            fail();
        }
    }
    law.clamped_svd = 1;
    for (int k = 0; k < 50; k++) {
        random_numbers(a, 9, 0.1);
        for (int i = 0; i < 9; i += 4) {
            a[i] += 1.0 + 0.1 * i; /* well separated */
        }
        assert_true(material_error(&law, a) < 1e-6);
    }
}

/* The distance field as PlasticineLab computes it: all cells in every sweep, in floating point. */
static void slow_distance(int n, const double *density, double *distance)
{
    size_t cells = (size_t)n * (size_t)n * (size_t)n;
    double *old = malloc(cells * sizeof(double)), *near = calloc(3 * cells, sizeof(double));
    double *old_near = calloc(3 * cells, sizeof(double));
    for (size_t c = 0; c < cells; c++) {
        old[c] = 1000.0;
    }
    for (int sweep = 0; sweep < 2 * n; sweep++) {
        size_t at = 0;
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                for (int k = 0; k < n; k++, at++) {
                    const double x[3] = {i / (double)n, j / (double)n, k / (double)n};
                    distance[at] = 1000.0;
                    if (density[at] > 1e-4) {
                        distance[at] = 0.0;
                        memcpy(near + 3 * at, x, sizeof x);
                        continue;
                    }
                    for (int v = 0; v < 216; v++) {
                        int a = i + v / 36 - 3, b = j + v / 6 % 6 - 3, c = k + v % 6 - 3;
                        if (a < 0 || b < 0 || c < 0 || a >= n || b >= n || c >= n ||
                            (a == i && b == j && c == k)) {
                            continue;
                        }
                        size_t to = ((size_t)a * (size_t)n + (size_t)b) * (size_t)n + (size_t)c;
                        if (old[to] < 1000.0) {
                            const double d[3] = {x[0] - old_near[3 * to], x[1] - old_near[3 * to + 1],
                                                 x[2] - old_near[3 * to + 2]};
                            double r = sqrt(vec3_dot(d, d) + 1e-8);
                            if (r < distance[at]) {
                                distance[at] = r;
                                memcpy(near + 3 * at, old_near + 3 * to, 3 * sizeof(double));
                            }
                        }
                    }
                }
            }
        }
        memcpy(old, distance, cells * sizeof(double));
        memcpy(old_near, near, 3 * cells * sizeof(double));
    }
    free(old);
    free(near);
    free(old_near);
}

static void test_distance_field(void **state)
{
    enum { N = 16, CELLS = N * N * N };
    static double density[CELLS], fast[CELLS], slow[CELLS];
    for (int k = 0; k < 5; k++) {
        memset(density, 0, sizeof density);
        for (int i = 0; i < (k == 0 ? 1 : 4 * k); i++) {
            density[(size_t)uniform(0, CELLS)] = uniform(0.5e-4, 4e-4);
        }
        density[(size_t)uniform(0, CELLS)] = 1.0;
        assert_true(mpm_distance_field(N, density, fast));
        slow_distance(N, density, slow);
        assert_memory_equal(fast, slow, sizeof fast);
    }
    memset(density, 0, sizeof density);
    assert_true(mpm_distance_field(N, density, fast));
    assert_true(fast[0] == 1000.0 && fast[CELLS - 1] == 1000.0);
}

static void test_target_files(void **state)
{
    enum { N = 64 };
    const size_t cells = (size_t)N * N * N;
    double *densities = calloc(2 * cells, sizeof(double)), *back = calloc(cells, sizeof(double));
    char path[] = "/tmp/diffsim-target-XXXXXX";
    int handle = mkstemp(path);
    assert_true(handle >= 0);
    close(handle);
    for (int i = 0; i < 500; i++) {
        densities[(size_t)uniform(0, (double)cells)] = uniform(0, 1e-3);
        densities[cells + (size_t)uniform(2e5, 2.1e5)] = uniform(0, 1e-3);
    }
    assert_null(mpm_target_write(path, N, 2, densities));
    for (uint32_t v = 1; v <= 2; v++) {
        double largest = 0.0;
        assert_null(mpm_target_read(path, N, v, back));
        for (size_t i = 0; i < cells; i++) {
            largest = fmax(largest, densities[(v - 1) * cells + i]);
        }
        for (size_t i = 0; i < cells; i++) {
            mpm_expect(back[i], densities[(v - 1) * cells + i], largest / 65535 * 0.5001, "cell");
        }
    }
    for (uint32_t preset = 0; preset < 2; preset++) {
        mpm_domain domain = mpm_domain_make(preset);
        double *fitted = calloc(cells, sizeof(double)), sum = 0.0;
        mpm_target_fit(back, N, &domain, 1250, fitted);
        for (int i = 0; i < domain.n * domain.n * domain.n; i++) {
            sum += fitted[i];
        }
        mpm_expect(sum, 1250 * domain.particle_mass, 1e-12, "mass");
        free(fitted);
    }
    assert_string_equal(mpm_target_read(path, N, 3, back), "does not hold this variant");
    assert_string_equal(mpm_target_read("/nonexistent", N, 1, back), "cannot be read");
    assert_int_equal(truncate(path, 100), 0);
    assert_string_equal(mpm_target_read(path, N, 1, back), "ends too early");
    assert_int_equal(truncate(path, 4), 0);
    assert_string_equal(mpm_target_read(path, N, 1, back), "is not a target file of version 1");
    unlink(path);
    free(densities);
    free(back);
}

/* ---- elastic solid and syrup ---- */

static const double dt = 1e-3;
static const mpm_material elastic = {.law = MPM_ELASTIC, .modulus = 50.0};
static const mpm_material syrup = {.law = MPM_SYRUP, .modulus = 25.0, .viscosity = 0.005};

static void step(const mpm_material *law, const double c[9], const double f[9], double f_new[9],
                 double stress[9])
{
    mpm_svd svd;
    double again[9];
    mpm_deform(law, dt, c, f, &svd, f_new, stress);
    mpm_deform_stress(law, c, &svd, f_new, again);
    assert_memory_equal(stress, again, sizeof again);
}

static void test_elastic(void **state)
{
    double still[9] = {0.0}, f[9], f_new[9], stress[9];
    mat3_identity(f);
    step(&elastic, still, f, f_new, stress);
    for (int i = 0; i < 9; i++) {
        assert_true(stress[i] == 0.0 && f_new[i] == f[i]);
    }
    /* stretched along the axes: mu (s^2 - 1 + ln J) */
    f[0] = 1.2;
    f[4] = 0.9;
    step(&elastic, still, f, f_new, stress);
    mpm_expect(stress[0], 50.0 * (1.44 - 1.0 + log(1.08)), 1e-12, "x");
    mpm_expect(stress[4], 50.0 * (0.81 - 1.0 + log(1.08)), 1e-12, "y");
    mpm_expect(stress[8], 50.0 * log(1.08), 1e-12, "z");
    /* crushed below 0.05, or inverted: the logarithm stays at 0.05 */
    for (int side = -1; side <= 1; side += 2) {
        mat3_identity(f);
        f[0] = side * 0.02;
        step(&elastic, still, f, f_new, stress);
        mpm_expect(stress[4], 50.0 * log(0.05), 1e-12, "crushed");
    }
    /* rotating the deformed body rotates its stress */
    const double turn[9] = {0.8, -0.6, 0.0, 0.6, 0.8, 0.0, 0.0, 0.0, 1.0};
    double turned[9], other[9], t[9];
    random_numbers(f, 9, 0.1);
    f[0] += 1.0;
    f[4] += 1.0;
    f[8] += 1.0;
    mat3_mul(turn, f, turned);
    step(&elastic, still, f, f_new, stress);
    step(&elastic, still, turned, f_new, other);
    mat3_mul(turn, stress, t);
    mat3_mult(t, turn, stress);
    assert_true(mpm_relative(other, stress, 9) < 1e-13);
}

static void test_syrup(void **state)
{
    const double flow[9] = {3.0, 1.0, 0.0, 0.5, -2.0, 4.0, 0.0, -1.0, 9.0};
    double f[9], f_new[9], stress[9];
    mat3_identity(f);
    f[0] = 0.9;
    step(&syrup, flow, f, f_new, stress);
    double j = 0.9 * (1.0 + dt * 10.0);
    mpm_expect(f_new[0], j, 1e-15, "J");
    mpm_expect(mat3_det(f_new), j, 1e-15, "det F");
    mpm_expect(stress[0], 25.0 * (j - 1.0) + 0.005 * 6.0, 1e-13, "pressure and friction");
    mpm_expect(stress[1], 0.005 * 1.5, 1e-15, "shear");
    mpm_expect(stress[5], 0.005 * 3.0, 1e-15, "shear");
    assert_true(stress[1] == stress[3] && stress[2] == stress[6] && stress[5] == stress[7]);
    /* limits */
    f[0] = 1.045;
    step(&syrup, flow, f, f_new, stress);
    assert_true(f_new[0] == 1.05);
    const double crush[9] = {-200.0, 0.0, 0.0, 0.0, -200.0, 0.0, 0.0, 0.0, 0.0};
    f[0] = 0.7;
    step(&syrup, crush, f, f_new, stress);
    assert_true(f_new[0] == 0.6);
}

static double value(const mpm_material *law, const double c[9], const double f[9], const double f_bar[9],
                    const double stress_bar[9])
{
    double f_new[9], stress[9];
    step(law, c, f, f_new, stress);
    return dot(f_bar, f_new, 9) + dot(stress_bar, stress, 9);
}

static void check_adjoint(const mpm_material *law, const double c[9], const double f[9], const char *label)
{
    double f_new[9], stress[9], f_bar[9], stress_bar[9], bar[18], start[9], dc[9], df[9], q[2], h = 1e-6;
    mpm_svd svd;
    random_numbers(f_bar, 9, law->modulus);
    random_numbers(stress_bar, 9, 1.0);
    random_numbers(dc, 9, 100.0);
    random_numbers(df, 9, 1.0);
    memcpy(start, f_bar, sizeof start);
    mpm_deform(law, dt, c, f, &svd, f_new, stress);
    mpm_deform_adjoint(law, dt, c, f, &svd, f_new, stress_bar, f_bar, bar);
    for (int side = 0; side < 2; side++) {
        double cm[9], fm[9];
        for (int i = 0; i < 9; i++) {
            cm[i] = c[i] + (side ? -h : h) * dc[i];
            fm[i] = f[i] + (side ? -h : h) * df[i];
        }
        q[side] = value(law, cm, fm, start, stress_bar);
    }
    double scale =
        sqrt(dot(f_bar, f_bar, 9) * dot(df, df, 9)) + sqrt(dot(bar, bar, 9) * dot(dc, dc, 9)) + 1e-3;
    mpm_expect(dot(f_bar, df, 9) + dot(bar, dc, 9), (q[0] - q[1]) / (2.0 * h), 1e-7 * scale, "%s", label);
}

static void test_adjoints(void **state)
{
    for (int k = 0; k < 300; k++) {
        double c[9], f[9];
        random_numbers(c, 9, 50.0);
        random_numbers(f, 9, k % 3 == 0 ? 0.5 : 0.1);
        f[0] += 1.0;
        f[4] += 1.0;
        f[8] += 1.0;
        if (k % 10 == 9) {
            f[0] *= 0.03; /* beyond the limit of the logarithm */
        }
        if (fabs(mat3_det(f) - 0.05) > 0.02) {
            check_adjoint(&elastic, c, f, "elastic");
        }
        mat3_identity(f);
        f[0] = uniform(0.5, 1.2); /* free, and beyond both limits */
        double next = f[0] * (1.0 + dt * (c[0] + c[4] + c[8]));
        if (fabs(next - 0.6) > 1e-3 && fabs(next - 1.05) > 1e-3) {
            check_adjoint(&syrup, c, f, "syrup");
        }
    }
}

RUN_EACH_WITH(reseed, NULL, test_random_stream, test_particles, test_particle_shares, test_svd,
              test_material_adjoint, test_distance_field, test_target_files, test_elastic, test_syrup,
              test_adjoints)
