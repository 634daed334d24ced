/* SPDX-License-Identifier: Apache-2.0 */
/* test_tree.c - trees of rigid bodies: forward dynamics against mass matrix and inverse dynamics, a double
 * pendulum in closed form, energy and momentum, points; adjoint and tangent of steps, with and without
 * contact, against each other and against central differences at random points. */
#include "differences.h"
#include "engines/kit/algebra/mat3.h"
#include "engines/physics/articulated/motion.h"
#include "engines/physics/articulated/tree/tree_state.h"
#include "golden.h"
#include "test.h"

enum { DOFS = 80, LINKS = 20, POINTS = 100 };

typedef struct world {
    ds_memory room;
    tree *t;
    motion *m;
    tree_work *w;
    uint64_t key;
    double q[DOFS], v[DOFS], tau[DOFS], target[DOFS], number[1000];
} world;

static double uniform(world *s, double lower, double upper)
{
    double u;
    differences_random(s->key++, 1, &u);
    return lower + 0.5 * (u + 1) * (upper - lower);
}

static void random_turn(world *s, double R[9])
{
    double q[4], norm = 0;
    for (int k = 0; k < 4; k++) {
        q[k] = uniform(s, -1, 1);
        norm += q[k] * q[k];
    }
    double w = q[0], x = q[1], y = q[2], z = q[3], f = 2 / norm;
    const double m[9] = {1 - f * (y * y + z * z), f * (x * y - w * z),     f * (x * z + w * y),
                         f * (x * y + w * z),     1 - f * (x * x + z * z), f * (y * z - w * x),
                         f * (x * z - w * y),     f * (y * z + w * x),     1 - f * (x * x + y * y)};
    memcpy(R, m, sizeof m);
}

static void random_body(world *s, tree_link *l)
{
    double R[9], D[9] = {0}, T[9];
    random_turn(s, R);
    for (int k = 0; k < 3; k++) {
        D[4 * k] = uniform(s, 0.05, 0.2) + (k ? 0 : 0.01);
        l->offset[k] = uniform(s, -0.4, 0.4);
        l->centre[k] = uniform(s, -0.2, 0.2);
        l->axis[k] = uniform(s, -1, 1);
    }
    mat3_mul(R, D, T);
    mat3_mult(T, R, l->inertia);
    l->mass = uniform(s, 0.5, 2);
    random_turn(s, l->rotation);
    double norm = sqrt(vec3_dot(l->axis, l->axis));
    for (int k = 0; k < 3; k++) {
        l->axis[k] /= norm;
    }
}

static void random_state(world *s)
{
    tree *t = s->t;
    for (int i = 0; i < t->links; i++) {
        const tree_link *l = &t->link[i];
        double *q = s->q + l->q, norm = 0;
        for (int k = 0; k < l->nq; k++) {
            q[k] = uniform(s, -1, 1);
        }
        for (int k = l->nq - 4; k >= 0 && k < l->nq; k++) {
            norm += q[k] * q[k];
        }
        for (int k = l->nq - 4; k >= 0 && k < l->nq; k++) {
            q[k] /= sqrt(norm);
        }
    }
    for (int j = 0; j < t->nv; j++) {
        s->v[j] = uniform(s, -1, 1);
        s->tau[j] = uniform(s, -2, 2);
        s->target[j] = uniform(s, -1, 1);
    }
}

/* Numbers that make every term act. */
static void random_numbers(world *s)
{
    tree *t = s->t;
    for (int k = 0; k < 3; k++) {
        t->number[TREE_GRAVITY + k] = k == 2 ? -9.81 : 0.3 * k + 0.1;
    }
    t->number[TREE_STIFFNESS] = 3000;
    t->number[TREE_DISSIPATION] = 0.4;
    t->number[TREE_FRICTION] = 0.8;
    t->number[TREE_RESTITUTION] = 0.6;
    t->number[TREE_MIXING] = 1e-3;
    t->number[TREE_CORRECTION] = 0.02;
    t->number[TREE_LIMIT_STIFFNESS] = 30;
    t->number[TREE_LIMIT_DAMPING] = 0.5;
    for (int k = TREE_GLOBALS; k < tree_joint_number(t, TREE_DAMPING, 0); k++) {
        t->number[k] = uniform(s, 0.8, 1.2);
    }
    for (int k = tree_joint_number(t, TREE_DAMPING, 0); k < t->numbers; k++) {
        t->number[k] = uniform(s, 0.05, 0.5);
    }
}

static void open_world(world *s, uint64_t key, int links, tree_joint root)
{
    memset(s, 0, sizeof *s);
    s->key = 1000 * key;
    s->t = tree_create(&s->room, 4 * LINKS);
    for (int i = 0; i < links; i++) {
        static const tree_joint kinds[] = {TREE_REVOLUTE, TREE_PRISMATIC, TREE_SPHERICAL, TREE_REVOLUTE,
                                           TREE_FIXED};
        int parent = i == 0 ? -1 : (int)uniform(s, fmax(0, i - 3), i - 1e-9);
        tree_joint kind = i == 0 ? root : kinds[(int)uniform(s, 0, 4.999)];
        int at = tree_add_link(s->t, parent, kind);
        random_body(s, &s->t->link[at]);
        if (kind == TREE_REVOLUTE || kind == TREE_PRISMATIC) {
            s->t->lower[s->t->link[at].v] = -0.5;
            s->t->upper[s->t->link[at].v] = 0.7;
        }
    }
}

/* Lets up to `most` joints follow others or stay: the last ones first, so that leaders are put in order. */
static void follow(world *s, int most)
{
    tree *t = s->t;
    int single[LINKS], n = 0;
    for (int i = 0; i < t->links; i++) {
        if (t->link[i].nv == 1) {
            single[n++] = i;
        }
    }
    for (int k = n - 1; k >= 0 && t->couplings < most; k--) {
        t->coupling[t->couplings++] =
            (tree_coupling){single[k], k > 0 ? single[k - 1] : -1, uniform(s, -2, 2), uniform(s, -0.2, 0.2)};
    }
    assert_int_equal(tree_order_couplings(t), -1);
}

static void ready(world *s)
{
    tree *t = s->t;
    t->joint_slip = 0.1;
    t->numbers = tree_joint_number(t, TREE_JOINT_NUMBERS, 0);
    assert_true(t->nq < DOFS && t->numbers < 1000);
    random_numbers(s);
    assert_true(tree_contacts(t));
    s->m = motion_create(&s->room, t);
    assert_non_null(s->m);
    s->w = motion_work(s->m);
    random_state(s);
}

/* M a + bias = tau for what forward dynamics returns, in random trees. */
static void forward_against_inverse(void **state)
{
    static const tree_joint roots[] = {TREE_FREE, TREE_REVOLUTE, TREE_SPHERICAL, TREE_FIXED, TREE_PRISMATIC};
    for (uint64_t key = 0; key < 10; key++) {
        world s;
        double a[DOFS], zero[DOFS] = {0}, bias[DOFS], full[DOFS], M[DOFS * DOFS];
        open_world(&s, key + 1, LINKS, roots[key % 5]);
        ready(&s);
        for (int k = TREE_GLOBALS + TREE_LINK_NUMBERS * s.t->links; k < s.t->numbers; k++) {
            s.t->number[k] =
                k >= tree_joint_number(s.t, TREE_ARMATURE, 0) && k < tree_joint_number(s.t, TREE_DRY, 0) ? 0.1
                                                                                                         : 0;
        }
        s.t->number[TREE_LIMIT_STIFFNESS] = s.t->number[TREE_LIMIT_DAMPING] = 0;
        tree_forward(s.t, s.w, s.q, s.v, &(tree_input){.tau = s.tau}, a);
        assert_int_equal(tree_singular(s.t, s.w), -1);
        tree_inverse(s.t, s.w, s.q, s.v, a, full);
        tree_inverse(s.t, s.w, s.q, s.v, zero, bias);
        tree_mass_matrix(s.t, s.w, s.q, M);
        for (int i = 0; i < s.t->nv; i++) {
            double sum = bias[i] - s.tau[i];
            for (int j = 0; j < s.t->nv; j++) {
                sum += M[i * s.t->nv + j] * a[j];
            }
            assert_near(sum, 0, 1e-10);
            assert_near(full[i], s.tau[i], 1e-10);
        }
        ds_memory_free(&s.room);
    }
}

/* Coupled joints keep their couplings, and the forces that keep them do no work: G' (M a + bias - tau) = 0
 * for all rates G y that obey them. */
static void coupled(void **state)
{
    for (uint64_t key = 0; key < 10; key++) {
        world s;
        double a[DOFS], bias[DOFS], before[DOFS], work[DOFS] = {0}, none[DOFS] = {0};
        open_world(&s, 40 + key, LINKS, TREE_FREE);
        follow(&s, 1 + (int)key);
        ready(&s);
        memset(s.t->number + tree_joint_number(s.t, TREE_DAMPING, 0), 0,
               sizeof(double) * (size_t)(TREE_JOINT_NUMBERS * s.t->nv));
        s.t->number[TREE_LIMIT_STIFFNESS] = s.t->number[TREE_LIMIT_DAMPING] = 0;
        tree_couple(s.t, s.q, s.v);
        tree_forward(s.t, s.w, s.q, s.v, &(tree_input){.tau = s.tau}, a);
        tree_inverse(s.t, s.w, s.q, s.v, a, bias);
        for (int j = 0; j < s.t->nv; j++) {
            work[j] = bias[j] - s.tau[j];
        }
        tree_couple_bar(s.t, work, none);
        memcpy(before, a, sizeof a);
        tree_couple_dot(s.t, a, none);
        for (int j = 0; j < s.t->nv; j++) {
            assert_near(work[j], 0, 1e-9);
            assert_near(a[j], before[j], 1e-9);
        }
        const tree_coupling *c = &s.t->coupling[s.t->couplings - 1];
        for (int n = 0; n < 1000; n++) {
            motion_step(s.t, s.m, MOTION_EULER, 1e-3, &(tree_input){.tau = none}, s.q, s.v, s.q, s.v);
        }
        if (c->leader >= 0) {
            assert_near(s.q[s.t->link[c->follower].q], c->ratio * s.q[s.t->link[c->leader].q] + c->offset,
                        1e-9);
        }
        ds_memory_free(&s.room);
    }
}

/* A joint that follows itself, through others or twice, is found. */
static void coupled_in_a_circle(void **state)
{
    static const int pairs[3][2][2] = {{{0, 0}, {1, -1}}, {{0, 1}, {1, 0}}, {{0, -1}, {0, 1}}};
    for (int k = 0; k < 3; k++) {
        ds_memory room = {0};
        tree *t = tree_create(&room, 2);
        tree_add_link(t, -1, TREE_REVOLUTE);
        tree_add_link(t, 0, TREE_REVOLUTE);
        for (int i = 0; i < 2; i++) {
            t->coupling[t->couplings++] = (tree_coupling){pairs[k][i][0], pairs[k][i][1], 1, 0};
        }
        assert_true(tree_order_couplings(t) >= 0);
        ds_memory_free(&room);
    }
}

/* A slide with dry friction under a constant force: it stays below the friction, but for creeping, and
 * accelerates with what is above it. */
static void dry_friction(void **state)
{
    static const double force[] = {0.5, 2};
    for (int k = 0; k < 2; k++) {
        world s;
        open_world(&s, 60, 1, TREE_PRISMATIC);
        ready(&s);
        s.t->lower[0] = -INFINITY;
        s.t->upper[0] = INFINITY;
        memset(s.t->number, 0, (size_t)s.t->numbers * sizeof(double));
        s.t->number[tree_joint_number(s.t, TREE_DRY, 0)] = 1;
        s.t->number[tree_link_number(s.t, TREE_MASS, 0)] = 1;
        s.t->joint_slip = 0.001;
        double q[1] = {0}, v[1] = {0}, m = s.t->link[0].mass;
        for (int n = 0; n < 10000; n++) {
            motion_step(s.t, s.m, MOTION_EULER, 1e-4, &(tree_input){.tau = &force[k]}, q, v, q, v);
        }
        if (k == 0) { /* 0.5 = v / sqrt(v^2 + slip^2) */
            assert_near(v[0], 0.001 * 0.5 / sqrt(0.75), 1e-9);
        } else {
            assert_near(v[0], 1 / m, 2e-3);
        }
        ds_memory_free(&s.room);
    }
}

/* Two links that turn about y, from the hanging position; equations of the textbooks in absolute angles. */
static void double_pendulum(void **state)
{
    world s;
    const double m1 = 1.3, m2 = 0.7, L = 0.9, c1 = 0.4, c2 = 0.35, I1 = 0.08, I2 = 0.05, g = 9.81;
    memset(&s, 0, sizeof s);
    s.t = tree_create(&s.room, 4);
    for (int i = 0; i < 2; i++) {
        tree_link *l = &s.t->link[tree_add_link(s.t, i - 1, TREE_REVOLUTE)];
        l->axis[1] = 1;
        l->axis[2] = 0;
        l->mass = i ? m2 : m1;
        l->offset[2] = i ? -L : 0;
        l->centre[2] = i ? -c2 : -c1;
        l->inertia[0] = l->inertia[4] = l->inertia[8] = i ? I2 : I1;
    }
    ready(&s);
    memset(s.t->number, 0, (size_t)s.t->numbers * sizeof(double));
    s.t->number[TREE_GRAVITY + 2] = -g;
    for (int i = 0; i < 2; i++) {
        s.t->number[tree_link_number(s.t, TREE_MASS, i)] =
            s.t->number[tree_link_number(s.t, TREE_LENGTH, i)] = 1;
    }
    double a[2], th1 = 0.7, th2 = -1.9, w1 = 2.1, w2 = -0.4;
    tree_forward(s.t, s.w, (double[2]){th1, th2 - th1}, (double[2]){w1, w2 - w1}, &(tree_input){0}, a);
    double m11 = I1 + m1 * c1 * c1 + m2 * L * L, m22 = I2 + m2 * c2 * c2, k = m2 * L * c2, d = th1 - th2;
    double r1 = -k * sin(d) * w2 * w2 - (m1 * c1 + m2 * L) * g * sin(th1);
    double r2 = k * sin(d) * w1 * w1 - m2 * c2 * g * sin(th2), m12 = k * cos(d), det = m11 * m22 - m12 * m12;
    assert_near(a[0], (m22 * r1 - m12 * r2) / det, 1e-12);
    assert_near(a[0] + a[1], (m11 * r2 - m12 * r1) / det, 1e-12);
    ds_memory_free(&s.room);
}

/* Without gravity and dampers a free tree keeps its momenta, and its energy to the order of the method. */
static void conserved(void **state)
{
    world s;
    open_world(&s, 40, 6, TREE_FREE);
    ready(&s);
    memset(s.t->number, 0, TREE_GLOBALS * sizeof(double));
    memset(s.t->number + tree_joint_number(s.t, TREE_DAMPING, 0), 0,
           (size_t)(TREE_JOINT_NUMBERS * s.t->nv) * sizeof(double));
    double start_q[DOFS], start_v[DOFS], error[2][2];
    memcpy(start_q, s.q, sizeof start_q);
    memcpy(start_v, s.v, sizeof start_v);
    for (int rule = 0; rule < 2; rule++) {
        for (int fine = 0; fine < 2; fine++) {
            double x[3], v[3], L[3], x1[3], v1[3], L1[3], h = fine ? 0.0025 : 0.005, e0, last;
            memcpy(s.q, start_q, sizeof s.q);
            memcpy(s.v, start_v, sizeof s.v);
            tree_place(s.t, s.w, s.q, s.v);
            e0 = tree_energy(s.t, s.w, s.q, s.v);
            tree_centre(s.t, s.w, x, v, L);
            for (int n = 0; n < (fine ? 400 : 200); n++) {
                motion_step(s.t, s.m, (motion_rule)rule, h, &(tree_input){0}, s.q, s.v, s.q, s.v);
            }
            tree_place(s.t, s.w, s.q, s.v);
            last = tree_energy(s.t, s.w, s.q, s.v);
            tree_centre(s.t, s.w, x1, v1, L1);
            error[rule][fine] = fabs(last - e0) / fabs(e0);
            double tolerance = rule == MOTION_RK4 ? 1e-6 : 0.05;
            for (int k = 0; k < 3; k++) {
                assert_near(v1[k], v[k], tolerance);
                assert_near(L1[k], L[k], tolerance);
                assert_near(x1[k], x[k] + v[k], tolerance);
            }
        }
    }
    assert_true(error[MOTION_EULER][1] < 0.7 * error[MOTION_EULER][0] && error[MOTION_EULER][1] < 0.02);
    assert_true(error[MOTION_RK4][1] < 1e-6);
    ds_memory_free(&s.room);
}

/* J v is the velocity of a point, and its change is that of the position. */
static void jacobians(void **state)
{
    world s;
    open_world(&s, 50, 12, TREE_FREE);
    ready(&s);
    const double at[3] = {0.1, -0.2, 0.3}, eps = 1e-6;
    for (int i = 0; i < s.t->links; i++) {
        double J[3 * DOFS], x[3], v[3], next[2][3], none[3], q[DOFS];
        tree_place(s.t, s.w, s.q, s.v);
        tree_point(s.t, s.w, i, at, x, v);
        tree_jacobian(s.t, s.w, i, at, J);
        for (int side = 0; side < 2; side++) {
            motion_move(s.t, s.q, side ? eps : -eps, s.v, q);
            tree_place(s.t, s.w, q, NULL);
            tree_point(s.t, s.w, i, at, next[side], none);
        }
        for (int r = 0; r < 3; r++) {
            assert_near(differences_dot((size_t)s.t->nv, J + r * s.t->nv, s.v), v[r], 1e-12);
            assert_near((next[1][r] - next[0][r]) / (2 * eps), v[r], 1e-8);
        }
    }
    ds_memory_free(&s.room);
}

/* ---- derivatives of steps ---- */

/* The change of a state in the space of the velocities: the logarithm for quaternions near each other. */
static void difference_of(const tree *t, const double *from, const double *to, double *out)
{
    for (int i = 0; i < t->links; i++) {
        const tree_link *l = &t->link[i];
        int turn = l->kind == TREE_SPHERICAL ? 0 : l->kind == TREE_FREE ? 3 : l->nv;
        for (int k = 0; k < turn; k++) {
            out[l->v + k] = to[l->q + k] - from[l->q + k];
        }
        if (turn < l->nv) {
            const double *a = from + l->q + turn, *b = to + l->q + turn;
            double *d = out + l->v + turn, sine = 0;
            for (int k = 0; k < 3; k++) {
                int m = (k + 1) % 3, n = (k + 2) % 3;
                d[k] = a[0] * b[1 + k] - b[0] * a[1 + k] - (a[1 + m] * b[1 + n] - a[1 + n] * b[1 + m]);
                sine += d[k] * d[k];
            }
            sine = sqrt(sine);
            for (int k = 0; k < 3; k++) {
                d[k] *= sine > 1e-12 ? 2 * asin(sine) / sine : 2;
            }
        }
    }
}

static double run_loss(world *s, motion_rule rule, double h, tree_law contact, const double *x_dot,
                       double eps, const double *weight, double *q_out, double *v_out)
{
    tree *t = s->t;
    int nv = t->nv;
    double q[DOFS], v[DOFS], tau[DOFS], target[DOFS], sum = 0, d[DOFS];
    motion_move(t, s->q, eps, x_dot, q);
    for (int j = 0; j < nv; j++) {
        v[j] = s->v[j] + eps * x_dot[nv + j];
        tau[j] = s->tau[j] + eps * x_dot[2 * nv + j];
        target[j] = s->target[j] + eps * x_dot[3 * nv + j];
    }
    for (int k = 0; k < t->numbers; k++) {
        t->number[k] = s->number[k] + eps * x_dot[4 * nv + k];
    }
    motion_step(t, s->m, rule, h, &(tree_input){.tau = tau, .target = target, .contact = contact}, q, v, q,
                v);
    memcpy(t->number, s->number, (size_t)t->numbers * sizeof(double));
    if (eps == 0) {
        memcpy(q_out, q, sizeof q);
        memcpy(v_out, v, sizeof v);
    }
    difference_of(t, q_out, q, d);
    for (int j = 0; j < nv; j++) {
        sum += weight[j] * d[j] + weight[nv + j] * (v[j] - v_out[j]);
    }
    return sum;
}

/* Whether the contacts at the ends of a difference are those in the middle: pairs of solids, normals, and the
 * classes of impulses. */
static int same_contacts(world *s, motion_rule rule, double h, tree_law law, const double *x_dot)
{
    static const double ends[] = {0, 2e-5, -2e-5};
    static double weight[2 * DOFS], q_end[DOFS], v_end[DOFS];
    static touch kept[TREE_MOST_TOUCHES];
    unsigned char cls[3 * TREE_MOST_PRESSED] = {0};
    int touching = 0, contacts = 0, same = 1;
    run_loss(s, rule, h, law, x_dot, 0, weight, q_end, v_end);
    for (int k = 0; k < 3 && same; k++) {
        const impulse_problem *p = s->w->impulse;
        if (k > 0) {
            run_loss(s, rule, h, law, x_dot, ends[k], weight, q_end, v_end);
        } else {
            touching = s->w->touching;
            contacts = p->contacts;
            memcpy(kept, s->w->touch, (size_t)touching * sizeof *kept);
            memcpy(cls, p->cls, 3 * (size_t)contacts);
        }
        same = touching == s->w->touching && contacts == p->contacts &&
               memcmp(cls, p->cls, 3 * (size_t)contacts) == 0;
        for (int i = 0; i < touching && same; i++) {
            same = kept[i].k == s->w->touch[i].k && vec3_dot(kept[i].n, s->w->touch[i].n) > 0.999;
        }
    }
    return same;
}

/* Adjoint, tangent and central difference along a random direction of state, inputs and all numbers. Returns
 * whether the difference was compared: it may pass a change of contacts. */
static int check_point(world *s, motion_rule rule, double h, tree_law contact, double tolerance)
{
    enum { ALL = 4 * DOFS + 1000 };
    static double x_dot[ALL], weight[2 * DOFS], q_end[DOFS], v_end[DOFS], number_bar[1000];
    tree *t = s->t;
    int nv = t->nv;
    size_t n = (size_t)(4 * nv + t->numbers);
    memcpy(s->number, t->number, sizeof *s->number * (size_t)t->numbers);
    differences_random(s->key++, n, x_dot);
    differences_random(s->key++, (size_t)(2 * nv), weight);
    for (size_t k = (size_t)(4 * nv); k < n; k++) {
        x_dot[k] *= 0.1 * fabs(s->number[k - (size_t)(4 * nv)]);
    }
    run_loss(s, rule, h, contact, x_dot, 0, weight, q_end, v_end);
    double quotient[2];
    for (int fine = 0; fine < 2; fine++) {
        double eps = fine ? 1e-5 : 2e-5;
        quotient[fine] = (run_loss(s, rule, h, contact, x_dot, eps, weight, q_end, v_end) -
                          run_loss(s, rule, h, contact, x_dot, -eps, weight, q_end, v_end)) /
                         (2 * eps);
    }
    double expected = (4 * quotient[1] - quotient[0]) / 3;

    double q_bar[DOFS], v_bar[DOFS], tau_bar[DOFS] = {0}, target_bar[DOFS] = {0};
    const tree_input in = {.tau = s->tau, .target = s->target, .contact = contact};
    memset(number_bar, 0, sizeof number_bar);
    memcpy(q_bar, weight, sizeof(double) * (size_t)nv);
    memcpy(v_bar, weight + nv, sizeof(double) * (size_t)nv);
    motion_adjoint(t, s->m, rule, h, &in, s->q, s->v, q_bar, v_bar,
                   &(tree_bar){.tau = tau_bar, .target = target_bar, .number = number_bar});
    size_t m = (size_t)nv;
    double adjoint = differences_dot(m, q_bar, x_dot) + differences_dot(m, v_bar, x_dot + nv) +
                     differences_dot(m, tau_bar, x_dot + 2 * nv) +
                     differences_dot(m, target_bar, x_dot + 3 * nv) +
                     differences_dot((size_t)t->numbers, number_bar, x_dot + 4 * nv);

    double q_dot[DOFS], v_dot[DOFS];
    memcpy(q_dot, x_dot, sizeof(double) * m);
    memcpy(v_dot, x_dot + nv, sizeof(double) * m);
    motion_tangent(t, s->m, rule, h, &in, s->q, s->v,
                   &(tree_bar){.q = q_dot,
                               .v = v_dot,
                               .tau = x_dot + 2 * nv,
                               .target = x_dot + 3 * nv,
                               .number = x_dot + 4 * nv});
    double tangent = differences_dot(m, q_dot, weight) + differences_dot(m, v_dot, weight + nv);
    double scale = fmax(1, fabs(expected));
    assert_near(adjoint, tangent, 1e-11 * scale);
    if (t->soft.at_distance) { /* these derivatives are not those of the step */
        return 1;
    }
    int compared = contact == TREE_NO_CONTACT || same_contacts(s, rule, h, contact, x_dot);
    if (compared) {
        assert_near(adjoint, expected, tolerance * scale);
    }
    return compared;
}

static void derivatives_without_contact(void **state)
{
    static const tree_joint roots[] = {TREE_FREE, TREE_REVOLUTE, TREE_SPHERICAL, TREE_FIXED};
    for (uint64_t key = 0; key < POINTS; key++) {
        world s;
        open_world(&s, 100 + key, 8, roots[key % 4]);
        follow(&s, (int)(key % 3));
        ready(&s);
        check_point(&s, key % 2 ? MOTION_RK4 : MOTION_EULER, 0.01, 0, 1e-7);
        ds_memory_free(&s.room);
    }
}

/* Links with solids of every form, which interpenetrate each other and the ground. */
static void open_pile(world *s, uint64_t first, uint64_t key)
{
    static const tree_form forms[] = {TREE_SPHERE, TREE_CAPSULE, TREE_BOX, TREE_CYLINDER};
    open_world(s, first + key, 5, TREE_FREE);
    for (int i = 0; i < 5; i++) {
        tree_shape *shape = &s->t->shape[tree_add_shape(s->t, i, forms[(i + (int)key) % 4])];
        random_turn(s, shape->rotation);
        for (int k = 0; k < 3; k++) {
            shape->size[k] = uniform(s, 0.1, 0.25);
            shape->at[k] = uniform(s, -0.2, 0.2);
        }
    }
    follow(s, key % 3 == 1);
    tree_shape *ground = &s->t->shape[tree_add_shape(s->t, -1, TREE_PLANE)];
    random_turn(s, ground->rotation);
    ready(s);
}

static void derivatives_with_contact(void **state)
{
    int touching = 0, none;
    double force;
    for (uint64_t key = 0; key < POINTS; key++) {
        world s;
        open_pile(&s, 300, key);
        tree_forward(s.t, s.w, s.q, s.v, &(tree_input){.contact = 1}, NULL);
        none = tree_touching(s.w, &force);
        touching += none > 0;
        check_point(&s, key % 2 ? MOTION_RK4 : MOTION_EULER, 0.001, 1, 1e-5);
        ds_memory_free(&s.room);
    }
    assert_true(touching > POINTS / 2);
}

/* The same with impulses: up to 50 contacts at once that bounce, stick and slide. */
static void derivatives_with_impulses(void **state)
{
    int compared = 0, met = 0;
    for (uint64_t key = 0; key < POINTS; key++) {
        world s;
        open_pile(&s, 900, key);
        compared += check_point(&s, MOTION_EULER, 0.01, TREE_COMPLEMENTARITY, 1e-7);
        met += s.w->impulse->met;
        ds_memory_free(&s.room);
    }
    assert_true(compared > 9 * POINTS / 10 && met > 9 * POINTS / 10);
}

/* ---- solids ---- */

static const tree_form all_forms[] = {TREE_SPHERE, TREE_CAPSULE, TREE_BOX,    TREE_CYLINDER,
                                      TREE_MESH,   TREE_PLANE,   TREE_TERRAIN};

/* A cube of half size 0.15 as a hull of triangles. */
static const double cube_point[24] = {-0.15, -0.15, -0.15, 0.15,  -0.15, -0.15, -0.15, 0.15,
                                      -0.15, 0.15,  0.15,  -0.15, -0.15, -0.15, 0.15,  0.15,
                                      -0.15, 0.15,  -0.15, 0.15,  0.15,  0.15,  0.15,  0.15};
static const uint32_t cube_triangle[36] = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                                           2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};
static const tree_mesh cube = {8, 12, cube_point, cube_triangle};

static tree_shape *add_solid(world *s, int link, tree_form form, double rough)
{
    static double height[64];
    static const tree_terrain terrain = {8, 8, {0.15, 0.2}, height};
    tree_shape *shape = &s->t->shape[tree_add_shape(s->t, link, form)];
    for (int k = 0; k < 64; k++) {
        height[k] = rough > 0 ? uniform(s, -rough, rough) : 0;
    }
    for (int k = 0; k < 3; k++) {
        shape->size[k] = form == TREE_MESH ? (k == 0 ? 0.26 : 0) : uniform(s, 0.1, 0.25);
    }
    shape->hull = form == TREE_MESH ? &cube : NULL;
    shape->terrain = form == TREE_TERRAIN ? &terrain : NULL;
    return shape;
}

/* First and second derivatives of the distances, and two hulls with a known one. */
static void distances(void **state)
{
    world s = {.key = 7000};
    s.t = tree_create(&s.room, 8);
    for (size_t f = 0; f < COUNT_OF(all_forms); f++) {
        tree_shape *shape = add_solid(&s, -1, all_forms[f], 0.1);
        int seen = 0;
        for (int point = 0; point < 3 * POINTS; point++) {
            tree_bend bend, end[2];
            double y[3], z[3], x[2][3], d[2], bent[3], slope, eps = 1e-6;
            for (int k = 0; k < 3; k++) {
                y[k] = uniform(&s, -0.4, 0.4);
                z[k] = uniform(&s, -1, 1);
            }
            double distance = tree_distance(shape, y, 10, &bend);
            assert_near(vec3_dot(bend.g, bend.g), 1, 1e-12);
            for (int side = 0; side < 2; side++) {
                for (int k = 0; k < 3; k++) {
                    x[side][k] = y[k] + (side ? eps : -eps) * z[k];
                }
                d[side] = tree_distance(shape, x[side], 10, &end[side]);
            }
            if (!(vec3_dot(end[0].g, end[1].g) > 1 - 1e-8) || fabs(distance) < 1e-3) {
                continue; /* across a ridge or beside the surface */
            }
            slope = (d[1] - d[0]) / (2 * eps);
            assert_near(slope, vec3_dot(bend.g, z), 1e-8);
            tree_distance_bend(&bend, z, bent);
            for (int k = 0; k < 3; k++) {
                assert_near((end[1].g[k] - end[0].g[k]) / (2 * eps), bent[k], 1e-4 * fmax(1, fabs(bent[k])));
            }
            seen++;
            if (all_forms[f] == TREE_MESH) {
                tree_shape box = {.form = TREE_BOX, .size = {0.15, 0.15, 0.15}};
                assert_near(distance, tree_distance(&box, y, 10, &end[0]), 1e-12);
            }
        }
        assert_true(seen > POINTS);
    }
    ds_memory_free(&s.room);
}

/* Derivatives of steps for all pairs of solids that touch: balls, rims, edges, boxes, points of terrain. */
static void all_pairs(const softness *soft, int pairs)
{
    int kinds[3] = {0}, compared = 0, all = 0;
    for (uint64_t key = 0; key < (uint64_t)pairs; key++) {
        tree_form first = all_forms[key % 5], second = all_forms[key / 5 % 7];
        world s = {.key = 1000 * (9000 + key)};
        s.t = tree_create(&s.room, 8);
        for (int i = 0; i < 2; i++) {
            random_body(&s, &s.t->link[tree_add_link(s.t, -1, TREE_FREE)]);
        }
        add_solid(&s, 0, first, 0.1);
        add_solid(&s, second == TREE_PLANE || second == TREE_TERRAIN ? -1 : 1, second, 0.1);
        s.t->soft = *soft;
        s.t->pull = 50;
        s.t->margin = soft->at_distance ? 20 * soft->backward_width : soft->kernel ? 20 * soft->width : 0;
        ready(&s);
        double force;
        int touching = 0;
        for (int k = 0; k < 20 && !touching; k++) {
            random_state(&s);
            for (int i = 0; i < 3; i++) {
                s.q[i] *= second == TREE_TERRAIN || second == TREE_PLANE ? 0.15 : 0.3;
                s.q[7 + i] *= 0.3;
            }
            tree_forward(s.t, s.w, s.q, s.v, &(tree_input){.contact = TREE_COMPLIANT}, NULL);
            touching = tree_touching(s.w, &force);
        }
        for (int k = 0; k < touching; k++) {
            kinds[s.w->touch[k].kind]++;
        }
        if (touching) {
            all += 2;
            compared += check_point(&s, MOTION_EULER, 0.001, TREE_COMPLIANT, 1e-5);
            compared += check_point(&s, MOTION_EULER, 0.01, TREE_COMPLEMENTARITY, 1e-6);
        }
        ds_memory_free(&s.room);
    }
    assert_true(all > 3 * pairs / 2 && compared > 0.95 * all);
    assert_true(kinds[TOUCH_BALL] > pairs);
    /* The first pairs meet by balls alone. */
    assert_true(pairs < 400 || (kinds[TOUCH_RIM] > 15 && kinds[TOUCH_EDGE] > 30));
}

static void derivatives_of_all_pairs(void **state)
{
    all_pairs(&(softness){.kernel = SOFTNESS_NONE}, 400);
}

static void derivatives_of_softened_contact(void **state)
{
    all_pairs(&(softness){.kernel = SOFTNESS_SOFTPLUS, .width = 0.01}, 100);
    all_pairs(&(softness){.at_distance = 1, .backward_kernel = SOFTNESS_GAUSSIAN, .backward_width = 0.05},
              100);
}

/* A ball above a plane that only the gradient feels, under both laws: the velocity after the step changes
 * with the height as under a force, and the step does not. */
static void gradient_at_a_distance(void **state)
{
    const double h = 0.01, height = 0.15, width = 0.05;
    for (int law = TREE_COMPLIANT; law <= TREE_COMPLEMENTARITY; law++) {
        world s;
        double next[7], rate[6], q_bar[6] = {0}, v_bar[6] = {0};
        memset(&s, 0, sizeof s);
        s.t = tree_create(&s.room, 4);
        tree_link *l = &s.t->link[tree_add_link(s.t, -1, TREE_FREE)];
        l->mass = 2;
        l->inertia[0] = l->inertia[4] = l->inertia[8] = 0.01;
        s.t->shape[tree_add_shape(s.t, 0, TREE_SPHERE)].size[0] = 0.1;
        tree_add_shape(s.t, -1, TREE_PLANE);
        s.t->soft =
            (softness){.at_distance = 1, .backward_kernel = SOFTNESS_SOFTPLUS, .backward_width = width};
        s.t->pull = 30;
        s.t->margin = 1;
        ready(&s);
        memset(s.t->number, 0, TREE_GLOBALS * sizeof(double));
        memset(s.t->number + tree_joint_number(s.t, TREE_DAMPING, 0), 0,
               6 * TREE_JOINT_NUMBERS * sizeof(double));
        s.t->number[tree_link_number(s.t, TREE_MASS, 0)] = 1;
        memset(s.q, 0, sizeof s.q);
        memset(s.v, 0, sizeof s.v);
        s.q[2] = height;
        s.q[3] = 1;
        const tree_input in = {.contact = (tree_law)law};
        motion_step(s.t, s.m, MOTION_EULER, h, &in, s.q, s.v, next, rate);
        assert_near(rate[2], 0, 0);
        v_bar[2] = 1;
        motion_adjoint(s.t, s.m, MOTION_EULER, h, &in, s.q, s.v, q_bar, v_bar, &(tree_bar){0});
        assert_near(q_bar[2], -h * 30 / 2.0 / (1 + exp((height - 0.1) / width)), 1e-12);
        ds_memory_free(&s.room);
    }
}

/* ---- impulses ---- */

/* A body that moves in the plane x z, and turns in it with `turns`, against the ground or fixed boxes. */
static tree_shape *open_plane_body(world *s, tree_form form, int turns)
{
    static const tree_joint kinds[] = {TREE_PRISMATIC, TREE_PRISMATIC, TREE_REVOLUTE};
    memset(s, 0, sizeof *s);
    s->t = tree_create(&s->room, 8);
    for (int i = 0; i < 2 + turns; i++) {
        tree_link *l = &s->t->link[tree_add_link(s->t, i - 1, kinds[i])];
        for (int k = 0; k < 3; k++) {
            l->axis[k] = k == (i == 0 ? 0 : i == 1 ? 2 : 1);
        }
    }
    tree_link *body = &s->t->link[1 + turns];
    body->mass = 1;
    body->inertia[0] = body->inertia[4] = body->inertia[8] = 0.02;
    return &s->t->shape[tree_add_shape(s->t, 1 + turns, form)];
}

static void plain_numbers(world *s)
{
    tree *t = s->t;
    t->numbers = tree_joint_number(t, TREE_JOINT_NUMBERS, 0);
    memset(t->number, 0, (size_t)t->numbers * sizeof(double));
    for (int k = TREE_GLOBALS; k < tree_joint_number(t, TREE_DAMPING, 0); k++) {
        t->number[k] = 1;
    }
    assert_true(tree_contacts(t));
    s->m = motion_create(&s->room, t);
    assert_non_null(s->m);
    s->w = motion_work(s->m);
}

static void turn_about_y(double angle, double R[9])
{
    const double m[9] = {cos(angle), 0, sin(angle), 0, 1, 0, -sin(angle), 0, cos(angle)};
    memcpy(R, m, sizeof m);
}

/* A box of the recordings: centre, half sizes and angle, in the plane x y there. */
static void add_box(tree *t, const json_t *box, double angle)
{
    tree_shape *b = &t->shape[tree_add_shape(t, -1, TREE_BOX)];
    b->at[0] = golden_number(box, "cx");
    b->at[2] = golden_number(box, "cy");
    b->size[0] = golden_number(box, "hl");
    b->size[1] = 1;
    b->size[2] = golden_number(box, "ht");
    turn_about_y(-angle, b->rotation);
}

/* One step of Nimble: the velocity v of the contact problem includes gravity. */
static void nimble_step(world *s, double h, int contact, double *q, double *v)
{
    double a[2], moved[2] = {q[0] + h * v[0], q[1] + h * v[1]};
    v[1] -= h * 9.81;
    tree_forward(s->t, s->w, q, v,
                 &(tree_input){.implicit = h, .contact = contact ? TREE_COMPLEMENTARITY : TREE_NO_CONTACT},
                 a);
    for (int k = 0; k < 2; k++) {
        v[k] += h * a[k];
        q[k] = moved[k];
    }
}

/* Impacts of a ball on a fixed box as Nimble computes them: faces, corners, friction, restitution. */
static void recorded_impacts(void **state)
{
    json_t *root = rigid_golden("ball_impact.json"), *c = NULL;
    size_t k = 0;
    json_array_foreach(golden_list(root, "cases"), k, c)
    {
        world s;
        double q[2], v[2], want[4];
        const json_t *box = json_object_get(c, "box"), *before = json_object_get(c, "before");
        tree_shape *ball = open_plane_body(&s, TREE_SPHERE, 0);
        ball->size[0] = golden_number(c, "r");
        add_box(s.t, box, golden_number(box, "theta"));
        plain_numbers(&s);
        s.t->number[TREE_FRICTION] = golden_number(c, "mu");
        s.t->number[TREE_RESTITUTION] = golden_number(c, "e");
        rigid_numbers(json_object_get(before, "q"), q, 2);
        rigid_numbers(json_object_get(before, "v"), v, 2);
        rigid_numbers(json_object_get(json_object_get(c, "after"), "q"), want, 2);
        rigid_numbers(json_object_get(json_object_get(c, "after"), "v"), want + 2, 2);
        nimble_step(&s, golden_number(c, "h"), golden_number(c, "depth") < 0.03, q, v);
        for (int i = 0; i < 2; i++) {
            assert_near(q[i], want[i], 1e-11);
            assert_near(v[i], want[2 + i], 1e-11);
        }
        ds_memory_free(&s.room);
    }
    json_decref(root);
}

/* Trajectories of Nimble: a ball among fixed boxes and walls, 1000 steps. */
static void recorded_trajectories(void **state)
{
    json_t *root = rigid_golden("pinball2.json"), *c = NULL, *box = NULL;
    const json_t *meta = json_object_get(root, "meta");
    size_t k = 0;
    json_array_foreach(golden_list(root, "cases"), k, c)
    {
        world s;
        size_t i;
        static const double walls[4][4] = {{0, 0, 0.5, 1}, {8, 0, -0.5, 1}, {0, 0, 0, 1}, {0, 10, 1, 1}};
        double q[2], v[2], theta[2], want[2];
        open_plane_body(&s, TREE_SPHERE, 0)->size[0] = golden_number(meta, "r");
        rigid_numbers(json_object_get(c, "theta"), theta, 2);
        json_array_foreach(json_object_get(meta, "colliders"), i, box)
        {
            add_box(s.t, box, theta[i]);
        }
        for (i = 0; i < 4; i++) {
            tree_shape *plane = &s.t->shape[tree_add_shape(s.t, -1, TREE_PLANE)];
            plane->at[0] = walls[i][0];
            plane->at[2] = walls[i][1];
            turn_about_y(3.14159265358979323846 * walls[i][2], plane->rotation);
        }
        plain_numbers(&s);
        s.t->number[TREE_RESTITUTION] = golden_number(c, "e");
        rigid_numbers(json_object_get(meta, "start"), q, 2);
        rigid_numbers(json_object_get(meta, "start_velocity"), v, 2);
        json_t *x = json_object_get(c, "x");
        for (int n = 0; n <= 1000; n++) {
            if (n % 50 == 0) {
                rigid_numbers(json_object_get(json_array_get(x, (size_t)n / 50), "q"), want, 2);
                assert_near(q[0], want[0], 1e-9);
                assert_near(q[1], want[1], 1e-9);
            }
            nimble_step(&s, 0.002, 1, q, v);
        }
        ds_memory_free(&s.room);
    }
    json_decref(root);
}

/* A box of half sizes 0.1, 0.1 and `half` on a slope after a second: it rests below the angle of friction and
 * the angle at which its centre is above its edge, slides with g (sin - mu cos) above the first one, and tips
 * over the edge above the second one. */
static void on_a_slope(double angle, double mu, double half, double *slid, double *turned)
{
    world s;
    tree_shape *box = open_plane_body(&s, TREE_BOX, 1);
    box->size[0] = box->size[1] = 0.1;
    box->size[2] = half;
    tree_add_shape(s.t, -1, TREE_PLANE);
    plain_numbers(&s);
    s.t->number[TREE_FRICTION] = mu;
    s.t->number[TREE_MIXING] = 1e-6;
    s.t->number[TREE_CORRECTION] = 0.1;
    s.t->number[TREE_GRAVITY] = 9.81 * sin(angle);
    s.t->number[TREE_GRAVITY + 2] = -9.81 * cos(angle);
    s.q[1] = half - 1e-6;
    for (int n = 0; n < 500; n++) {
        motion_step(s.t, s.m, MOTION_EULER, 0.002, &(tree_input){.contact = TREE_COMPLEMENTARITY}, s.q, s.v,
                    s.q, s.v);
        assert_true(s.w->impulse->met);
    }
    *slid = s.q[0];
    *turned = s.q[2];
    ds_memory_free(&s.room);
}

static void set_size(tree_shape *s, double x, double y, double z)
{
    s->size[0] = x;
    s->size[1] = y;
    s->size[2] = z;
}

/* A body of 1 kg above a solid, by both laws: after a second it rests at this height and its weight is
 * carried. */
static void rests(world *s, double height, int contacts)
{
    plain_numbers(s);
    s->t->number[TREE_FRICTION] = 0.5;
    s->t->number[TREE_STIFFNESS] = 1e5;
    s->t->number[TREE_DISSIPATION] = 2;
    s->t->number[TREE_MIXING] = 1e-6;
    s->t->number[TREE_CORRECTION] = 0.1;
    s->t->number[TREE_GRAVITY + 2] = -9.81;
    for (int law = TREE_COMPLIANT; law <= TREE_COMPLEMENTARITY; law++) {
        double force;
        memset(s->q, 0, sizeof s->q);
        memset(s->v, 0, sizeof s->v);
        s->q[1] = height + 1e-3;
        for (int n = 0; n < 1000; n++) {
            motion_step(s->t, s->m, MOTION_EULER, 0.001, &(tree_input){.contact = (tree_law)law}, s->q, s->v,
                        s->q, s->v);
        }
        assert_int_equal(tree_touching(s->w, &force), contacts);
        assert_near(force, 9.81, 0.02);
        assert_near(s->q[1], height, 1e-3);
        assert_near(s->q[0], 0, 1e-3);
        assert_near(s->q[2], 0, 1e-3);
    }
    ds_memory_free(&s->room);
}

static void rests_on_edges_faces_and_peaks(void **state)
{
    static double height[64];
    static const tree_terrain terrain = {8, 8, {0.1, 0.1}, height};
    world s;
    set_size(open_plane_body(&s, TREE_BOX, 1), 0.4, 0.05, 0.05); /* bars across each other */
    set_size(&s.t->shape[tree_add_shape(s.t, -1, TREE_BOX)], 0.06, 0.3, 0.05);
    rests(&s, 0.1, 4);
    set_size(open_plane_body(&s, TREE_BOX, 1), 0.1, 0.1, 0.1); /* equal cubes */
    set_size(&s.t->shape[tree_add_shape(s.t, -1, TREE_BOX)], 0.1, 0.1, 0.1);
    rests(&s, 0.2, 8);
    set_size(open_plane_body(&s, TREE_BOX, 1), 0.2, 0.2, 0.05); /* four peaks below the middle of a box */
    for (int k = 0; k < 4; k++) {
        height[8 * (k / 2 ? 2 : 5) + (k % 2 ? 2 : 5)] = 0.03;
    }
    s.t->shape[tree_add_shape(s.t, -1, TREE_TERRAIN)].terrain = &terrain;
    rests(&s, 0.08, 4);
    set_size(open_plane_body(&s, TREE_CYLINDER, 1), 0.1, 0.15, 0); /* a cylinder stands */
    tree_add_shape(s.t, -1, TREE_PLANE);
    rests(&s, 0.15, 9);
}

/* A cylinder rolls down a slope, with 2/3 of the acceleration of a body that slides freely. */
static void rolling(void **state)
{
    world s;
    tree_shape *c = open_plane_body(&s, TREE_CYLINDER, 1);
    const double turn[9] = {1, 0, 0, 0, 0, 1, 0, -1, 0}, h = 0.001, a = 9.81 * sin(0.2) * 2 / 3;
    set_size(c, 0.1, 0.15, 0);
    memcpy(c->rotation, turn, sizeof turn);
    for (int k = 0; k < 9; k += 4) {
        s.t->link[2].inertia[k] = 0.5 * 0.1 * 0.1;
    }
    tree_add_shape(s.t, -1, TREE_PLANE);
    plain_numbers(&s);
    s.t->number[TREE_FRICTION] = 1;
    s.t->number[TREE_MIXING] = 1e-6;
    s.t->number[TREE_CORRECTION] = 0.1;
    s.t->number[TREE_GRAVITY] = 9.81 * sin(0.2);
    s.t->number[TREE_GRAVITY + 2] = -9.81 * cos(0.2);
    s.q[1] = 0.1 - 1e-5;
    for (int n = 0; n < 1000; n++) {
        motion_step(s.t, s.m, MOTION_EULER, h, &(tree_input){.contact = TREE_COMPLEMENTARITY}, s.q, s.v, s.q,
                    s.v);
    }
    assert_near(s.q[0], 0.5 * a, 5e-3 * a);
    assert_near(s.v[2], s.v[0] / 0.1, 1e-2 * s.v[2]);
    ds_memory_free(&s.room);
}

static void resting_sliding_tipping(void **state)
{
    /* tan 0.35 = 0.365, tan 0.5 = 0.546; 0.1 / 0.25 = 0.4, 0.1 / 0.3 = 0.333. The last two numbers are
     * those of MuJoCo 4.0.0 with elliptic cones, whose contacts are soft: it creeps. */
    static const double cases[4][5] = {{0.35, 0.5, 0.1, 0.0002, 0.0004},
                                       {0.5, 0.3, 0.1, 1.0620, 0.0023},
                                       {0.35, 0.5, 0.25, 0.0005, 0.0009},
                                       {0.35, 0.5, 0.3, 0.4631, 1.5857}};
    for (int k = 0; k < 4; k++) {
        const double *c = cases[k], h = 0.002, a = 9.81 * (sin(c[0]) - c[1] * cos(c[0]));
        double slid, turned;
        on_a_slope(c[0], c[1], c[2], &slid, &turned);
        if (k < 3) { /* it rests, or slides in semi-implicit steps */
            assert_near(slid, k == 1 ? 0.5 * a * (1 + h) : 0, 1e-4);
            assert_near(turned, 0, 1e-4);
        }
        assert_near(slid, c[3], k == 3 ? 0.03 : 0.003);
        assert_near(turned, c[4], k == 3 ? 0.03 : 0.003);
    }
}

/* A ball on the ground sinks in until the contact carries it, and slides to a stop within the distance of
 * Coulomb's law. */
static void resting_and_sliding(void **state)
{
    world s;
    memset(&s, 0, sizeof s);
    s.t = tree_create(&s.room, 4);
    tree_link *l = &s.t->link[tree_add_link(s.t, -1, TREE_FREE)];
    l->mass = 2;
    l->inertia[0] = l->inertia[4] = l->inertia[8] = 1e6; /* it does not roll */
    s.t->shape[tree_add_shape(s.t, 0, TREE_SPHERE)].size[0] = 0.1;
    tree_add_shape(s.t, -1, TREE_PLANE);
    ready(&s);
    memset(s.t->number + tree_joint_number(s.t, TREE_DAMPING, 0), 0, sizeof(double) * 6 * TREE_JOINT_NUMBERS);
    memcpy(s.t->number, (double[]){0, 0, -10, 1e5, 20, 0.5}, 6 * sizeof(double));
    for (int k = 0; k < 2; k++) {
        s.t->number[TREE_GLOBALS + k] = 1;
    }
    s.t->slip = 1e-3;
    double q[7] = {0, 0, 0.1, 1, 0, 0, 0}, v[6] = {2}, force;
    for (int n = 0; n < 20000; n++) {
        motion_step(s.t, s.m, MOTION_EULER, 1e-4, &(tree_input){.contact = 1}, q, v, q, v);
    }
    assert_int_equal(tree_touching(s.w, &force), 1);
    assert_near(force, 20, 1e-6);
    assert_near(q[2], 0.1 - pow(20 / 1e5, 2.0 / 3), 1e-8);
    assert_near(q[0], 2.0 * 2.0 / (2 * 0.5 * 10), 0.02);
    assert_near(v[0], 0, 1e-5);
    ds_memory_free(&s.room);
}

/* A joint that moves no inertia is found. */
static void no_inertia(void **state)
{
    world s;
    open_world(&s, 700, 2, TREE_REVOLUTE);
    int last = tree_add_link(s.t, 1, TREE_REVOLUTE);
    ready(&s);
    memset(s.t->number + tree_joint_number(s.t, TREE_DAMPING, 0), 0,
           sizeof(double) * (size_t)(TREE_JOINT_NUMBERS * s.t->nv));
    tree_forward(s.t, s.w, s.q, s.v, &(tree_input){0}, NULL);
    assert_int_equal(tree_singular(s.t, s.w), last);
    ds_memory_free(&s.room);
}

RUN_TESTS(forward_against_inverse, coupled, coupled_in_a_circle, dry_friction, double_pendulum, conserved,
          jacobians, derivatives_without_contact, derivatives_with_contact, derivatives_with_impulses,
          distances, derivatives_of_all_pairs, derivatives_of_softened_contact, gradient_at_a_distance,
          recorded_impacts, recorded_trajectories, rests_on_edges_faces_and_peaks, rolling,
          resting_sliding_tipping, resting_and_sliding, no_inertia)
