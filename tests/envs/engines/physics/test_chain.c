/* SPDX-License-Identifier: Apache-2.0 */
/* test_chain.c - the chain engine: trajectories and gradients recorded from Nimble, accelerations and motions
 * from MuJoCo, invariants, central differences. */
#include "differences.h"
#include "engines/physics/chain/chain.h"
#include "test.h"
#include "test.h"

static const double pi = 3.14159265358979323846;

static const char *const files[] = {"cartpole1_force",
                                    "cartpole1_force_example",
                                    "cartpole1_force_example_sq",
                                    "cartpole1_force_semi",
                                    "cartpole1_velocity",
                                    "cartpole1_velocity_semi",
                                    "cartpole1_velocity_upright_small_h",
                                    "cartpole2_force_normal_start",
                                    "cartpole3_force",
                                    "cartpole3_force_semi",
                                    "cartpole3_velocity",
                                    "cartpole3_velocity_semi",
                                    "cartpole3_velocity_upright_small_h",
                                    "cartpole5_velocity"};

/* Links of 1 m with the masses and inertias of the recorded values. */
static chain_params usual(int links)
{
    chain_params p = {.links = links, .h = 0.01, .gravity = 9.81, .cart_mass = 1};
    for (int i = 0; i < links; i++) {
        p.mass[i] = ldexp(1, -i);
        p.length[i] = 1;
        p.com[i] = 0.5;
        p.inertia[i] = links == 1 ? 1 : p.mass[i] / 12;
    }
    return p;
}

static chain_state read_state(const json_t *j)
{
    chain_state s = {.x = golden_number(j, "x"), .v = golden_number(j, "v")};
    rigid_numbers(json_object_get(j, "theta"), s.theta, CHAIN_MAX_LINKS);
    rigid_numbers(json_object_get(j, "omega"), s.omega, CHAIN_MAX_LINKS);
    return s;
}

static double farthest(int n, const chain_state *a, const chain_state *b)
{
    double far = fmax(fabs(a->x - b->x), fabs(a->v - b->v));
    for (int i = 0; i < n; i++) {
        far = fmax(far, fmax(fabs(a->theta[i] - b->theta[i]), fabs(a->omega[i] - b->omega[i])));
    }
    return far;
}

static chain_params read_meta(const json_t *meta)
{
    chain_params p = {.links = rigid_int(meta, "links"),
                      .h = golden_number(meta, "h"),
                      .gravity = golden_number(meta, "gravity"),
                      .cart_mass = golden_number(meta, "cart_mass")};
    const char *control = json_string_value(json_object_get(meta, "control"));
    const char *order = json_string_value(json_object_get(meta, "integrator"));
    p.control = strcmp(control, "force") == 0 ? CHAIN_FORCE : CHAIN_VELOCITY;
    p.integrator = strcmp(order, "explicit") == 0 ? CHAIN_EXPLICIT : CHAIN_SEMI_IMPLICIT;
    rigid_numbers(json_object_get(meta, "link_masses"), p.mass, CHAIN_MAX_LINKS);
    rigid_numbers(json_object_get(meta, "link_lengths"), p.length, CHAIN_MAX_LINKS);
    rigid_numbers(json_object_get(meta, "com_distance"), p.com, CHAIN_MAX_LINKS);
    rigid_numbers(json_object_get(meta, "link_inertia_about_com"), p.inertia, CHAIN_MAX_LINKS);
    return p;
}

/* Loss and its derivatives by the final state, written out independently of the environment. */
static double final_loss(const chain_params *p, const json_t *meta, const chain_state *s, chain_state *bar)
{
    const char *kind = json_string_value(json_object_get(meta, "loss"));
    memset(bar, 0, sizeof *bar);
    if (strcmp(kind, "tip") == 0) {
        double target[2], tip[2];
        rigid_numbers(json_object_get(meta, "target"), target, 2);
        chain_tip(p, s, tip);
        double d = hypot(tip[0] - target[0], tip[1] - target[1]);
        bar->x = (tip[0] - target[0]) / d;
        for (int i = 0; i < p->links; i++) {
            bar->theta[i] =
                -p->length[i] * (bar->x * cos(s->theta[i]) + (tip[1] - target[1]) / d * sin(s->theta[i]));
        }
        return d;
    }
    assert_int_equal(p->links, 1); /* absolute = relative angle */
    double sum = s->x * s->x + s->v * s->v + s->theta[0] * s->theta[0] + s->omega[0] * s->omega[0];
    int square = strcmp(kind, "state_sq") == 0;
    double f = square ? 2 : 1 / sqrt(sum);
    *bar =
        (chain_state){.x = f * s->x, .v = f * s->v, .theta = {f * s->theta[0]}, .omega = {f * s->omega[0]}};
    return square ? sum : sqrt(sum);
}

static void check_case(const chain_params *p, const json_t *meta, const json_t *c, const char *file)
{
    uint64_t m = (uint64_t)p->links + 1, T = (uint64_t)rigid_int(meta, "T"), n = m * T;
    double scale[CHAIN_MAX_LINKS + 1], *u = calloc(3 * n, sizeof *u), *bar_u = u + n, *want = bar_u + n;
    rigid_numbers(json_object_get(meta, "scale"), scale, CHAIN_MAX_LINKS + 1);
    assert_int_equal(rigid_numbers(json_object_get(c, "params"), u, n), n);
    for (uint64_t i = 0; i < n; i++) {
        u[i] *= scale[i % m];
    }
    ds_memory room = {0};
    chain *sim = chain_create(&room, p, T);
    chain_state start = read_state(json_object_get(c, "start")), s, bar;
    chain_simulate(sim, &start, T, u, 1);
    size_t k = 0;
    json_t *row = NULL;
    json_array_foreach(json_object_get(c, "steps"), k, row)
    {
        chain_state recorded = read_state(row);
        chain_get(sim, (uint64_t)rigid_int(row, "t"), &s);
        double far = farthest(p->links, &s, &recorded), tolerance = p->links >= 3 ? 1e-9 : 1e-10;
        if (!(far <= tolerance)) {
            fail_msg("%s: state at step %d differs by %g", file, rigid_int(row, "t"), far);
        }
    }
    chain_get(sim, T, &s);
    assert_near(final_loss(p, meta, &s, &bar), golden_number(c, "loss"), p->links >= 3 ? 1e-9 : 1e-10);
    chain_adjoint(sim, &bar, bar_u);
    double largest = golden_number(c, "grad_max_abs"), tolerance = 1e-9 * fmax(1, largest);
    assert_int_equal(rigid_numbers(json_object_get(c, "grad_params"), want, n), n);
    for (uint64_t i = 0; i < n; i++) {
        assert_near(bar_u[i] * scale[i % m], want[i], tolerance);
    }
    chain_state recorded = read_state(json_object_get(c, "grad_start"));
    double far = farthest(p->links, &bar, &recorded);
    if (!(far <= 1e-9 * fmax(1, fmax(largest, fabs(recorded.theta[0]))))) {
        fail_msg("%s: gradient by the start state differs by %g", file, far);
    }
    json_array_foreach(json_object_get(c, "fd"), k, row)
    {
        int i = rigid_int(row, "index");
        assert_near(bar_u[i] * scale[(uint64_t)i % m], golden_number(row, "value"), 1e-6 * fmax(1, largest));
    }
    ds_memory_free(&room);
    free(u);
}

static void recorded_episodes(void **state)
{
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        char name[128];
        snprintf(name, sizeof name, "%s.json", files[f]);
        json_t *root = rigid_golden(name), *c = NULL;
        const json_t *meta = json_object_get(root, "meta");
        chain_params p = read_meta(meta);
        size_t k = 0;
        json_array_foreach(json_object_get(root, "cases"), k, c)
        {
            check_case(&p, meta, c, files[f]);
        }
        json_decref(root);
    }
}

/* ---- MuJoCo ---- */

static void recorded_accelerations(void **state)
{
    json_t *root = rigid_golden("cartpole_dynamics.json"), *c = NULL;
    size_t k = 0;
    json_array_foreach(json_object_get(root, "accelerations"), k, c)
    {
        chain_params p = usual(rigid_int(c, "links"));
        double u[CHAIN_MAX_LINKS + 1] = {golden_number(c, "force")}, want[CHAIN_MAX_LINKS],
                                   alpha[CHAIN_MAX_LINKS], a = 0;
        chain_state s = read_state(c);
        p.control = CHAIN_FORCE;
        rigid_numbers(json_object_get(c, "link_masses"), p.mass, CHAIN_MAX_LINKS);
        rigid_numbers(json_object_get(c, "link_inertia_about_com"), p.inertia, CHAIN_MAX_LINKS);
        rigid_numbers(json_object_get(c, "torques"), u + 1, CHAIN_MAX_LINKS);
        rigid_numbers(json_object_get(c, "alpha"), want, CHAIN_MAX_LINKS);
        ds_memory room = {0};
        chain *sim = chain_create(&room, &p, 1);
        chain_accelerations(sim, &s, u, &a, alpha);
        double size = fabs(golden_number(c, "a"));
        for (int i = 0; i < p.links; i++) {
            size = fmax(size, fabs(want[i]));
        }
        assert_near(a, golden_number(c, "a"), 1e-11 * size);
        for (int i = 0; i < p.links; i++) {
            assert_near(alpha[i], want[i], 1e-11 * size);
        }
        ds_memory_free(&room);
    }
    json_decref(root);
}

/* Largest deviation from the recorded motion after 1 s, with steps of h. */
static double free_motion_error(const json_t *c, double h, int integrator)
{
    chain_params p = usual(rigid_int(c, "links"));
    p.control = CHAIN_FORCE;
    p.h = h;
    p.integrator = integrator;
    rigid_numbers(json_object_get(c, "link_masses"), p.mass, CHAIN_MAX_LINKS);
    rigid_numbers(json_object_get(c, "link_inertia_about_com"), p.inertia, CHAIN_MAX_LINKS);
    chain_state start = {0}, end;
    rigid_numbers(json_object_get(c, "theta0"), start.theta, CHAIN_MAX_LINKS);
    uint64_t T = (uint64_t)lround(1 / h);
    const double none[CHAIN_MAX_LINKS + 1] = {0};
    ds_memory room = {0};
    chain *sim = chain_create(&room, &p, T);
    chain_simulate(sim, &start, T, none, T);
    chain_get(sim, T, &end);
    ds_memory_free(&room);
    const json_t *states = json_object_get(c, "states");
    chain_state exact = read_state(json_array_get(states, json_array_size(states) - 1));
    return farthest(p.links, &end, &exact);
}

/* The error against the recorded motion falls with the first power of the step for both orders, with the
 * fourth for RK4. */
static void recorded_free_motion(void **state)
{
    json_t *root = rigid_golden("cartpole_dynamics.json"), *c = NULL;
    size_t k = 0;
    json_array_foreach(json_object_get(root, "free_motion"), k, c)
    {
        for (int order = 0; order < 2; order++) {
            double coarse = free_motion_error(c, 1.0 / 16384, order),
                   fine = free_motion_error(c, 1.0 / 65536, order);
            if (!(coarse / fine > 3.9 && coarse / fine < 4.1)) {
                fail_msg("motion %zu, order %d: errors %g, %g", k, order, coarse, fine);
            }
        }
        double coarse = free_motion_error(c, 1.0 / 512, CHAIN_RK4),
               fine = free_motion_error(c, 1.0 / 1024, CHAIN_RK4);
        if (!(coarse / fine > 12 && coarse / fine < 24 && fine < 1e-6)) {
            fail_msg("motion %zu, rk4: errors %g, %g", k, coarse, fine);
        }
    }
    json_decref(root);
}

/* ---- closed forms and invariants ---- */

static void known_accelerations(void **state)
{
    chain_params p = usual(1);
    double u[2] = {0, 0}, a = 0, alpha = 0;
    p.control = CHAIN_FORCE;
    ds_memory room = {0};
    chain *sim = chain_create(&room, &p, 1);
    chain_state s = {.theta = {0.1}};
    chain_accelerations(sim, &s, u, &a, &alpha);
    assert_near(a, 0.108155, 5e-7);
    assert_near(alpha, 0.434792, 5e-7);
    s.theta[0] = 0;
    u[0] = 1;
    chain_accelerations(sim, &s, u, &a, &alpha);
    assert_near(a, 5.0 / 9, 1e-15);
    assert_near(alpha, 2.0 / 9, 1e-15);
    ds_memory_free(&room);
}

/* The textbook cart-pole (Barto, Sutton and Anderson 1983 without friction), clockwise angle, any mass and
 * length. */
static void textbook_cartpole(void **state)
{
    const double g = 9.8, mc = 1.3, m = 0.2, l = 0.45, F = 3, th = 0.3, w = -1.2;
    chain_params p = {.links = 1,
                      .control = CHAIN_FORCE,
                      .h = 0.01,
                      .gravity = g,
                      .cart_mass = mc,
                      .mass = {m},
                      .length = {2 * l},
                      .com = {l},
                      .inertia = {m * l * l / 3}};
    double temp = (F + m * l * w * w * sin(th)) / (mc + m);
    double accel = (g * sin(th) - cos(th) * temp) / (l * (4.0 / 3 - m * cos(th) * cos(th) / (mc + m)));
    double cart = temp - m * l * accel * cos(th) / (mc + m), a = 0, alpha = 0;
    ds_memory room = {0};
    chain *sim = chain_create(&room, &p, 1);
    chain_state s = {.theta = {-th}, .omega = {-w}};
    const double u[2] = {F, 0};
    chain_accelerations(sim, &s, u, &a, &alpha);
    assert_near(a, cart, 1e-13);
    assert_near(alpha, -accel, 1e-13);
    ds_memory_free(&room);
}

/* Without force: momentum and energy drift linearly in h, as measured. */
static void momentum_and_energy(void **state)
{
    static const double h[2] = {0.01, 0.001}, momentum[2] = {6.0e-4, 6.4e-5},
                        energy[2] = {4.881679, 4.880617};
    for (int k = 0; k < 2; k++) {
        chain_params p = usual(1);
        uint64_t T = (uint64_t)lround(1 / h[k]);
        const double none[2] = {0};
        chain_state s = {.theta = {0.1}};
        p.control = CHAIN_FORCE;
        p.h = h[k];
        assert_near(chain_energy(&p, &s), 4.880495, 5e-6);
        ds_memory room = {0};
        chain *sim = chain_create(&room, &p, T);
        chain_simulate(sim, &s, T, none, T);
        chain_get(sim, T, &s);
        assert_near(fabs(chain_momentum(&p, &s)), momentum[k], 0.02 * momentum[k]);
        assert_near(chain_energy(&p, &s), energy[k], 5e-6);
        ds_memory_free(&room);
    }
}

/* Long chains: small steps keep the energy of the closed form, for every number of links. */
static void energy_of_long_chains(void **state)
{
    for (int n = 1; n <= CHAIN_MAX_LINKS; n++) {
        chain_params p = usual(n);
        const double none[CHAIN_MAX_LINKS + 1] = {0};
        chain_state s = {0};
        for (int i = 0; i < n; i++) {
            s.theta[i] = pi - 0.1 * (1 + i % 3);
        }
        p.control = CHAIN_FORCE;
        p.integrator = CHAIN_SEMI_IMPLICIT;
        p.h = 1e-5;
        double before = chain_energy(&p, &s), kick = 0;
        ds_memory room = {0};
        chain *sim = chain_create(&room, &p, 20000);
        chain_simulate(sim, &s, 20000, none, 20000);
        chain_get(sim, 20000, &s);
        for (int i = 0; i < n; i++) {
            kick += fabs(s.omega[i]);
        }
        assert_true(kick > 0.05);
        assert_near(chain_energy(&p, &s), before, 1e-4);
        assert_near(chain_momentum(&p, &s), 0, 1e-4);
        ds_memory_free(&room);
    }
}

/* A free chain of 2 links for 10 s with the default steps: RK4 keeps its energy relative to the chain at
 * rest; the explicit step multiplies it. */
static void energy_of_integrators(void **state)
{
    for (int integrator = CHAIN_EXPLICIT; integrator <= CHAIN_RK4; integrator++) {
        chain_params p = usual(2);
        const double none[3] = {0};
        chain_state s = {.theta = {pi - 1, pi - 1}}, rest = {.theta = {pi, pi}};
        p.control = CHAIN_FORCE;
        p.integrator = integrator;
        p.h = 0.02;
        const double lowest = chain_energy(&p, &rest), before = chain_energy(&p, &s) - lowest;
        ds_memory room = {0};
        chain *sim = chain_create(&room, &p, 500);
        chain_simulate(sim, &s, 500, none, 500);
        chain_get(sim, 500, &s);
        const double after = (chain_energy(&p, &s) - lowest) / before;
        print_message("# integrator %d: energy times %.6f\n", integrator, after);
        assert_true(integrator == CHAIN_EXPLICIT        ? after > 2
                    : integrator == CHAIN_SEMI_IMPLICIT ? fabs(after - 1) < 0.2
                                                        : fabs(after - 1) < 1e-3);
        ds_memory_free(&room);
    }
}

/* Massless links do not disturb the first one (they keep an inertia, so that they have an equation). */
static void massless_links(void **state)
{
    chain_params one = usual(1), three = usual(3);
    double u1[2 * 50], u3[4 * 50] = {0};
    rigid_random(u1, 100, 3);
    for (int i = 0; i < 50; i++) {
        u3[4 * i] = u1[2 * i];
        u3[4 * i + 1] = u1[2 * i + 1];
    }
    three.mass[0] = one.mass[0];
    three.inertia[0] = one.inertia[0];
    three.mass[1] = three.mass[2] = 0;
    for (int control = 0; control < 2; control++) {
        one.control = three.control = control;
        ds_memory room = {0};
        chain *a = chain_create(&room, &one, 50), *b = chain_create(&room, &three, 50);
        chain_state s = {.theta = {pi, pi, pi}}, t;
        chain_simulate(a, &s, 50, u1, 1);
        chain_simulate(b, &s, 50, u3, 1);
        chain_get(a, 50, &s);
        chain_get(b, 50, &t);
        assert_near(s.x, t.x, 1e-12);
        assert_near(s.theta[0], t.theta[0], 1e-12);
        assert_near(s.omega[0], t.omega[0], 1e-11);
        ds_memory_free(&room);
    }
}

/* Velocity control: the cart has exactly the requested velocity. */
static void cart_velocity(void **state)
{
    chain_params p = usual(2);
    double u[3 * 40], sum = 0.3;
    rigid_random(u, 120, 4);
    ds_memory room = {0};
    chain *sim = chain_create(&room, &p, 40);
    chain_state s = {.x = 0.5, .v = 0.3, .theta = {1, 2}};
    chain_simulate(sim, &s, 40, u, 1);
    for (int t = 0; t < 40; t++) {
        chain_get(sim, (uint64_t)t + 1, &s);
        assert_near(s.v, u[3 * t], 1e-14);
        assert_near(s.x, 0.5 + p.h * sum, 1e-13);
        sum += u[3 * t];
    }
    p.integrator = CHAIN_RK4; /* one acceleration for the whole step */
    sim = chain_create(&room, &p, 40);
    s = (chain_state){.x = 0.5, .v = 0.3, .theta = {1, 2}};
    chain_simulate(sim, &s, 40, u, 1);
    double x = 0.5, v = 0.3;
    for (int t = 0; t < 40; t++) {
        chain_get(sim, (uint64_t)t + 1, &s);
        x += 0.5 * p.h * (v + u[3 * t]);
        v = u[3 * t];
        assert_near(s.v, v, 1e-14);
        assert_near(s.x, x, 1e-13);
    }
    ds_memory_free(&room);
}

/* ---- gradients ---- */

static double probe(chain *sim, const chain_params *p, const chain_state *start, const double *u,
                    const double *w)
{
    chain_state s;
    chain_simulate(sim, start, 60, u, 3);
    chain_get(sim, 60, &s);
    double sum = w[0] * s.x + w[1] * s.v;
    for (int i = 0; i < p->links; i++) {
        sum += w[2 + i] * s.theta[i] + w[12 + i] * s.omega[i];
    }
    return sum;
}

/* Richardson-extrapolated central difference along *at. */
static double slope(chain *sim, const chain_params *p, const chain_state *start, const double *u,
                    const double *w, double *at)
{
    double q[2], kept = *at;
    for (int k = 0; k < 2; k++) {
        double d = k ? 5e-5 : 1e-4;
        *at = kept + d;
        q[k] = probe(sim, p, start, u, w);
        *at = kept - d;
        q[k] = (q[k] - probe(sim, p, start, u, w)) / (2 * d);
    }
    *at = kept;
    return (4 * q[1] - q[0]) / 3;
}

/* Every number of links, control and order: derivatives by one control of each kind and by the whole start
 * state. */
static void central_differences(void **state)
{
    for (int n = 1; n <= CHAIN_MAX_LINKS; n++) {
        for (int mode = 0; mode < 6; mode++) {
            chain_params p = usual(n);
            double w[22], u[20 * (CHAIN_MAX_LINKS + 1)], bar_u[20 * (CHAIN_MAX_LINKS + 1)], r[20];
            int m = n + 1;
            p.control = mode & 1;
            p.integrator = mode >> 1;
            rigid_random(w, 22, 5);
            rigid_random(u, (uint64_t)(20 * m), 6);
            rigid_random(r, 20, 7);
            chain_state start = {.x = 0.2, .v = -0.4}, bar = {.x = w[0], .v = w[1]};
            for (int i = 0; i < n; i++) {
                start.theta[i] = pi + 0.3 * r[i];
                start.omega[i] = 0.5 * r[10 + i];
                bar.theta[i] = w[2 + i];
                bar.omega[i] = w[12 + i];
            }
            for (int i = 0; i < 20 * m; i++) {
                u[i] *= i % m ? 2 * ldexp(1, -(i % m)) : 1;
            }
            ds_memory room = {0};
            chain *sim = chain_create(&room, &p, 60);
            probe(sim, &p, &start, u, w);
            chain_adjoint(sim, &bar, bar_u);
            double size = 0;
            for (int i = 0; i < 20 * m; i++) {
                size = fmax(size, fabs(bar_u[i]));
            }
            for (int i = 0; i < m; i++) {
                int at = (7 + i) % 20 * m + i;
                assert_near(bar_u[at], slope(sim, &p, &start, u, w, &u[at]), 1e-7 * fmax(1, size));
            }
            assert_near(bar.x, slope(sim, &p, &start, u, w, &start.x), 1e-7 * fmax(1, size));
            assert_near(bar.v, slope(sim, &p, &start, u, w, &start.v), 1e-7 * fmax(1, size));
            for (int i = 0; i < n; i++) {
                assert_near(bar.theta[i], slope(sim, &p, &start, u, w, &start.theta[i]),
                            1e-7 * fmax(1, size));
                assert_near(bar.omega[i], slope(sim, &p, &start, u, w, &start.omega[i]),
                            1e-7 * fmax(1, size));
            }
            ds_memory_free(&room);
        }
    }
}

RUN_TESTS(recorded_episodes, recorded_accelerations, recorded_free_motion, known_accelerations,
          textbook_cartpole, momentum_and_energy, energy_of_long_chains, energy_of_integrators,
          massless_links, cart_velocity, central_differences)
