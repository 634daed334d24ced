/* SPDX-License-Identifier: Apache-2.0 */
/* momentum.c - roll-outs of a rigid body by its momenta (see momentum.h).
 *
 * The adjoint and the tangent compute each step again from its stored state. `_bar` marks derivatives of the
 * loss by a quantity, `_dot` the change of a quantity in a direction.
 *
 * Impulses are computed in the frame of the body, where neither lever nor inertia turns. With the normal n =
 * R^T (0, 1, 0) and a = p x n, vertex p approaches with P_y / M + L . I^-1 a and yields by 1/M + a . I^-1 a
 * per unit of impulse. */
#include "momentum.h"

#include "engines/kit/norm.h"
#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"

#include <string.h>

/* An impulse and the state before it, in the frame of the body. */
typedef struct momentum_hit {
    size_t vertex;
    double P;        /* momentum along the normal before it */
    double L[3];     /* angular momentum before it */
    double a[3];     /* lever x normal */
    double turn[3];  /* I^-1 a */
    double give;     /* 1/M + a . I^-1 a */
    double approach; /* normal velocity of the vertex, negative */
    double impulse;
} momentum_hit;

struct momentum {
    momentum_body body;
    momentum_rules rules;
    double inverse[9]; /* of the inertia */
    size_t points;
    double *point;
    size_t count[MOMENTUM_FORCES];  /* number of vertices that a force acts on */
    double sum[MOMENTUM_FORCES][3]; /* sum of their positions in the frame of the body */
    uint64_t steps;
    double norm; /* of the quaternion that the roll-out was started with */
    momentum_state *state;
    momentum_hit *hit;     /* room for the impulses of a step */
    const wrench_net *net; /* NULL: none */
};

/* The numbers of a state that networks read. */
static inline void net_inputs(const momentum_state *s, double in[WRENCH_INPUTS])
{
    memcpy(in, s->x, sizeof s->x);
    memcpy(in + 3, s->P, sizeof s->P);
    memcpy(in + 6, s->L, sizeof s->L);
}

typedef struct momentum_step {
    double R[9];
    double L[3], W[3];    /* angular momentum and velocity in the frame of the body */
    double omega[3];      /* angular velocity, axes of the world */
    double F[3];          /* force, axes of the world */
    double norm;          /* of the quaternion before normalisation */
    momentum_state moved; /* after the step, before impulses */
    double moved_R[9];    /* its rotation; set by the impulses */
} momentum_step;

void momentum_impulses_tangent(momentum *r, momentum_step *step, momentum_state *dot,
                               const momentum_body *body_dot, const double *point_dot);

/* ---- one step ---- */

static int acts(const momentum *r, size_t k, uint64_t t)
{
    return t >= r->rules.list[k].first && t < r->rules.list[k].end;
}

/* How often the torque of force k counts in step t; 0 if the force does not act. */
static double momentum_weight(const momentum *r, size_t k, uint64_t t)
{
    double weight = acts(r, k, t);
    for (size_t later = k + 1; r->rules.parity && weight > 0 && later < r->rules.forces; later++) {
        weight += acts(r, later, t);
    }
    return weight;
}

/* Sum of the levers of all vertices of force k. */
static void momentum_lever(const momentum *r, size_t k, const double x[3], const double R[9], double lever[3])
{
    if (r->rules.parity) {
        memcpy(lever, r->sum[k], 3 * sizeof *lever);
        vec3_add_scaled(lever, -(double)r->count[k], x);
    } else {
        mat3_apply(R, r->sum[k], lever);
    }
}

/* Adds h T to L. */
static void add_torques(const momentum *r, uint64_t t, const momentum_state *s, momentum_step *out)
{
    for (size_t k = 0; k < r->rules.forces; k++) {
        double weight = momentum_weight(r, k, t), lever[3], torque[3];
        if (weight > 0) {
            momentum_lever(r, k, s->x, out->R, lever);
            vec3_cross(lever, r->body.force[k], torque);
            vec3_add_scaled(out->moved.L, r->rules.h * weight, torque);
            vec3_add_scaled(out->F, (double)r->count[k], r->body.force[k]);
        }
    }
}

/* Step t from state s, without impulses. */
static void momentum_step_from(const momentum *r, uint64_t t, const momentum_state *s, momentum_step *out)
{
    const double h = r->rules.h;
    double spin[4] = {0}, qdot[4];
    quat_matrix(s->q, out->R);
    mat3_tapply(out->R, s->L, out->L);
    mat3_apply(r->inverse, out->L, out->W);
    mat3_apply(out->R, out->W, out->omega);
    memcpy(spin + 1, out->omega, sizeof out->omega);
    quat_product(spin, s->q, qdot);
    memset(out->F, 0, sizeof out->F);
    out->moved = *s;
    add_torques(r, t, s, out);
    if (r->net != NULL) {
        double in[WRENCH_INPUTS], force[3] = {0}, torque[3] = {0};
        net_inputs(s, in);
        wrench_add(r->net, in, force, torque);
        vec3_add_scaled(out->F, 1, force);
        vec3_add_scaled(out->moved.L, h, torque);
    }
    for (int k = 0; k < 4; k++) {
        out->moved.q[k] += 0.5 * h * qdot[k];
    }
    out->norm = quat_normalise(out->moved.q);
    vec3_add_scaled(out->moved.P, h, out->F);
    vec3_add_scaled(out->moved.x, h / r->body.mass, out->moved.P);
}

/* ---- impulses ---- */

/* Returns whether vertex i is hit; P and L are the momenta before. */
static int hits(const momentum *r, const double normal[3], double height, size_t i, double P,
                const double L[3], momentum_hit *out)
{
    const double *p = r->point + 3 * i, M = r->body.mass;
    if (!(height + vec3_dot(normal, p) < r->rules.threshold)) {
        return 0;
    }
    vec3_cross(p, normal, out->a);
    mat3_apply(r->inverse, out->a, out->turn);
    out->approach = P / M + vec3_dot(L, out->turn);
    if (!(out->approach < -r->rules.slowest)) {
        return 0;
    }
    out->vertex = i;
    out->P = P;
    memcpy(out->L, L, sizeof out->L);
    out->give = 1 / M + vec3_dot(out->a, out->turn);
    out->impulse = -(1 + r->body.restitution) * out->approach / out->give;
    return 1;
}

/* Computes the impulses after a step into r->hit, applies them to `next` and returns their number. */
static size_t momentum_impulses(momentum *r, momentum_step *step, momentum_state *next)
{
    double L[3], change[3] = {0}, turned[3];
    size_t n = 0;
    quat_matrix(next->q, step->moved_R);
    const double *normal = step->moved_R + 3;
    mat3_tapply(step->moved_R, next->L, L);
    for (size_t i = 0; i < r->points; i++) {
        momentum_hit *hit = &r->hit[n];
        if (hits(r, normal, next->x[1], i, next->P[1], L, hit)) {
            next->P[1] += hit->impulse;
            vec3_add_scaled(L, hit->impulse, hit->a);
            vec3_add_scaled(change, hit->impulse, hit->a);
            n++;
        }
    }
    if (n > 0) {
        mat3_apply(step->moved_R, change, turned);
        vec3_add_scaled(next->L, 1, turned);
    }
    return n;
}

/* Reverse of one impulse: turns P_bar and L_bar from after it to before it; adds to the other derivatives. */
static void reverse_hit(const momentum *r, const momentum_hit *hit, const double normal[3], double *P_bar,
                        double L_bar[3], double normal_bar[3], momentum_body *body_bar, double *point_bar)
{
    const double M = r->body.mass;
    double impulse_bar = *P_bar + vec3_dot(L_bar, hit->a), turn_bar[3] = {0}, a_bar[3] = {0}, c[3];
    double approach_bar = -(1 + r->body.restitution) / hit->give * impulse_bar;
    double give_bar = -hit->impulse / hit->give * impulse_bar;
    body_bar->restitution -= hit->approach / hit->give * impulse_bar;
    body_bar->mass -= (hit->P * approach_bar + give_bar) / (M * M);
    vec3_add_scaled(a_bar, hit->impulse, L_bar);
    vec3_add_scaled(a_bar, give_bar, hit->turn);
    vec3_add_scaled(turn_bar, approach_bar, hit->L);
    vec3_add_scaled(turn_bar, give_bar, hit->a);
    *P_bar += approach_bar / M;
    vec3_add_scaled(L_bar, approach_bar, hit->turn);
    mat3_apply(r->inverse, turn_bar, c);
    vec3_add_scaled(a_bar, 1, c);
    mat3_add_symmetric(body_bar->inertia, -1, c, hit->turn);
    vec3_cross(a_bar, r->point + 3 * hit->vertex, c);
    vec3_add_scaled(normal_bar, 1, c);
    if (point_bar != NULL) {
        vec3_cross(normal, a_bar, c);
        vec3_add_scaled(point_bar + 3 * hit->vertex, 1, c);
    }
}

/* Reverse of all impulses of a step: `bar` goes from after them to before them. */
static void momentum_impulses_adjoint(momentum *r, momentum_step *step, momentum_state *bar,
                                      momentum_body *body_bar, double *point_bar)
{
    momentum_state after = step->moved;
    size_t n = momentum_impulses(r, step, &after);
    if (n == 0) {
        return;
    }
    double change_bar[3], L_bar[3], R_bar[9] = {0}, change[3] = {0}, c[3];
    for (size_t i = 0; i < n; i++) {
        vec3_add_scaled(change, r->hit[i].impulse, r->hit[i].a);
    }
    mat3_add_outer(R_bar, 1, bar->L, change);
    mat3_tapply(step->moved_R, bar->L, change_bar);
    memcpy(L_bar, change_bar, sizeof L_bar);
    for (size_t i = n; i-- > 0;) {
        reverse_hit(r, &r->hit[i], step->moved_R + 3, &bar->P[1], L_bar, R_bar + 3, body_bar, point_bar);
    }
    vec3_add_scaled(L_bar, -1, change_bar); /* change = L after - L before */
    mat3_add_outer(R_bar, 1, step->moved.L, L_bar);
    mat3_apply(step->moved_R, L_bar, c);
    vec3_add_scaled(bar->L, 1, c);
    quat_matrix_adjoint(step->moved.q, R_bar, bar->q);
}

/* Tangent of one impulse; adds to the changes of the momenta. */
static void hit_tangent(const momentum *r, const momentum_hit *hit, const double normal[3],
                        const double normal_dot[3], const momentum_body *body_dot, const double *point_dot,
                        double *P_dot, double L_dot[3], double change_dot[3])
{
    const double M = r->body.mass;
    double a_dot[3], turn_dot[3], c[3];
    vec3_cross(r->point + 3 * hit->vertex, normal_dot, a_dot);
    if (point_dot != NULL) {
        vec3_cross(point_dot + 3 * hit->vertex, normal, c);
        vec3_add_scaled(a_dot, 1, c);
    }
    mat3_apply(body_dot->inertia, hit->turn, c);
    for (int k = 0; k < 3; k++) {
        c[k] = a_dot[k] - c[k];
    }
    mat3_apply(r->inverse, c, turn_dot);
    double approach_dot = *P_dot / M - hit->P * body_dot->mass / (M * M) + vec3_dot(L_dot, hit->turn) +
                          vec3_dot(hit->L, turn_dot);
    double give_dot = -body_dot->mass / (M * M) + vec3_dot(a_dot, hit->turn) + vec3_dot(hit->a, turn_dot);
    double impulse_dot = -(body_dot->restitution * hit->approach + (1 + r->body.restitution) * approach_dot +
                           hit->impulse * give_dot) /
                         hit->give;
    *P_dot += impulse_dot;
    for (int k = 0; k < 3; k++) {
        double d = impulse_dot * hit->a[k] + hit->impulse * a_dot[k];
        L_dot[k] += d;
        change_dot[k] += d;
    }
}

void momentum_impulses_tangent(momentum *r, momentum_step *step, momentum_state *dot,
                               const momentum_body *body_dot, const double *point_dot)
{
    momentum_state after = step->moved;
    size_t n = momentum_impulses(r, step, &after);
    if (n == 0) {
        return;
    }
    double R_dot[9], L_dot[3], change[3] = {0}, change_dot[3] = {0}, c[3];
    quat_matrix_tangent(step->moved.q, dot->q, R_dot);
    mat3_tapply(R_dot, step->moved.L, L_dot);
    mat3_tapply(step->moved_R, dot->L, c);
    vec3_add_scaled(L_dot, 1, c);
    for (size_t i = 0; i < n; i++) {
        vec3_add_scaled(change, r->hit[i].impulse, r->hit[i].a);
        hit_tangent(r, &r->hit[i], step->moved_R + 3, R_dot + 3, body_dot, point_dot, &dot->P[1], L_dot,
                    change_dot);
    }
    mat3_apply(R_dot, change, c);
    vec3_add_scaled(dot->L, 1, c);
    mat3_apply(step->moved_R, change_dot, c);
    vec3_add_scaled(dot->L, 1, c);
}

/* ---- roll-outs ---- */

momentum *momentum_create(ds_memory *m, size_t points, uint64_t steps)
{
    momentum *r = ds_memory_take(m, 1, sizeof *r);
    double *point = ds_memory_doubles(m, 3 * points + 1);
    momentum_state *state = ds_memory_take(m, steps + 1, sizeof *state);
    momentum_hit *hit = ds_memory_take(m, points + 1, sizeof *hit);
    if (m->failed) {
        return NULL;
    }
    r->point = point;
    r->state = state;
    r->hit = hit;
    return r;
}

void momentum_networks(momentum *r, const wrench_net *net)
{
    r->net = net != NULL && net->hybrid != NULL ? net : NULL;
}

/* Sums the vertices of each force: its levers add up to one. */
static void sum_levers(momentum *r)
{
    for (size_t k = 0; k < r->rules.forces; k++) {
        const momentum_list *list = &r->rules.list[k];
        r->count[k] = list->count > 0 ? list->count : r->points;
        memset(r->sum[k], 0, sizeof r->sum[k]);
        for (size_t i = 0; i < r->count[k]; i++) {
            size_t vertex = list->count > 0 ? list->vertex[i] : i;
            vec3_add_scaled(r->sum[k], 1, r->point + 3 * vertex);
        }
    }
}

int64_t momentum_simulate(momentum *r, const momentum_rules *rules, const momentum_body *body, size_t points,
                          const double *point, const momentum_state *start, uint64_t steps)
{
    r->body = *body;
    r->rules = *rules;
    r->points = points;
    memcpy(r->point, point, 3 * points * sizeof *point);
    mat3_inverse_symmetric(body->inertia, r->inverse);
    sum_levers(r);
    r->state[0] = *start;
    r->norm = quat_normalise(r->state[0].q);
    for (r->steps = 0; r->steps < steps; r->steps++) {
        momentum_step step;
        momentum_step_from(r, r->steps, &r->state[r->steps], &step);
        momentum_state next = step.moved;
        if (rules->impulses) {
            momentum_impulses(r, &step, &next);
        }
        if (!all_finite(MOMENTUM_STATE_NUMBERS, &next)) {
            return (int64_t)r->steps;
        }
        r->state[r->steps + 1] = next;
    }
    return -1;
}

uint64_t momentum_steps(const momentum *r)
{
    return r->steps;
}

const momentum_state *momentum_at(const momentum *r, uint64_t t)
{
    return &r->state[t];
}

/* FNV-1a hash of the vertices that are hit. */
uint64_t momentum_branches(momentum *r)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint64_t t = 0; r->rules.impulses && t < r->steps; t++) {
        momentum_step step;
        momentum_step_from(r, t, &r->state[t], &step);
        momentum_state next = step.moved;
        size_t n = momentum_impulses(r, &step, &next);
        for (size_t i = 0; i < n; i++) {
            hash = (hash ^ (t * r->points + r->hit[i].vertex)) * 0x100000001b3u;
        }
    }
    return hash;
}

/* ---- tangent ---- */

/* The derivative of omega = R I^-1 R^T L. */
static void omega_tangent(const momentum *r, const momentum_state *s, const momentum_step *step,
                          const momentum_state *dot, const momentum_body *body_dot, const double R_dot[9],
                          double omega_dot[3])
{
    double L_dot[3], W_dot[3], c[3];
    mat3_tapply(R_dot, s->L, L_dot);
    mat3_tapply(step->R, dot->L, c);
    vec3_add_scaled(L_dot, 1, c);
    mat3_apply(body_dot->inertia, step->W, c);
    vec3_add_scaled(L_dot, -1, c);
    mat3_apply(r->inverse, L_dot, W_dot);
    mat3_apply(R_dot, step->W, omega_dot);
    mat3_apply(step->R, W_dot, c);
    vec3_add_scaled(omega_dot, 1, c);
}

static void turn_tangent(const momentum *r, const momentum_state *s, const momentum_step *step,
                         const double omega_dot[3], double q_dot[4])
{
    const double *o = step->omega, spin[4] = {0, o[0], o[1], o[2]};
    const double spin_dot[4] = {0, omega_dot[0], omega_dot[1], omega_dot[2]};
    double by_spin[4], by_q[4];
    quat_product(spin_dot, s->q, by_spin);
    quat_product(spin, q_dot, by_q);
    for (int k = 0; k < 4; k++) {
        q_dot[k] += 0.5 * r->rules.h * (by_spin[k] + by_q[k]);
    }
    quat_normalise_adjoint(step->moved.q, step->norm, q_dot, q_dot);
}

static void lever_tangent(const momentum *r, size_t k, const momentum_step *step, const double R_dot[9],
                          const double x_dot[3], const double *point_dot, double lever_dot[3])
{
    const momentum_list *list = &r->rules.list[k];
    double sum_dot[3] = {0}, c[3];
    for (size_t i = 0; point_dot != NULL && i < r->count[k]; i++) {
        vec3_add_scaled(sum_dot, 1, point_dot + 3 * (list->count > 0 ? list->vertex[i] : i));
    }
    if (r->rules.parity) {
        memcpy(lever_dot, sum_dot, sizeof sum_dot);
        vec3_add_scaled(lever_dot, -(double)r->count[k], x_dot);
    } else {
        mat3_apply(R_dot, r->sum[k], lever_dot);
        mat3_apply(step->R, sum_dot, c);
        vec3_add_scaled(lever_dot, 1, c);
    }
}

/* Adds the contribution of force k to the changes of P and L. */
static void force_tangent(const momentum *r, size_t k, double weight, const momentum_state *s,
                          const momentum_step *step, const double lever_dot[3], const double f_dot[3],
                          momentum_state *dot)
{
    double lever[3], c[3];
    momentum_lever(r, k, s->x, step->R, lever);
    vec3_cross(lever, f_dot, c);
    vec3_add_scaled(dot->L, r->rules.h * weight, c);
    vec3_cross(lever_dot, r->body.force[k], c);
    vec3_add_scaled(dot->L, r->rules.h * weight, c);
    vec3_add_scaled(dot->P, r->rules.h * (double)r->count[k], f_dot);
}

static void step_tangent(momentum *r, uint64_t t, momentum_state *dot, const momentum_body *body_dot,
                         const double *point_dot)
{
    const momentum_state *s = &r->state[t];
    const double M = r->body.mass, h = r->rules.h;
    double R_dot[9], omega_dot[3], lever_dot[3], F_dot[3] = {0}, T_dot[3] = {0};
    momentum_step step;
    momentum_step_from(r, t, s, &step);
    quat_matrix_tangent(s->q, dot->q, R_dot);
    omega_tangent(r, s, &step, dot, body_dot, R_dot, omega_dot);
    turn_tangent(r, s, &step, omega_dot, dot->q);
    if (r->net != NULL) {
        double in[WRENCH_INPUTS], in_dot[WRENCH_INPUTS];
        net_inputs(s, in);
        net_inputs(dot, in_dot);
        wrench_tangent(r->net, in, in_dot, F_dot, T_dot);
        vec3_add_scaled(dot->P, h, F_dot);
        vec3_add_scaled(dot->L, h, T_dot);
    }
    for (size_t k = 0; k < r->rules.forces; k++) {
        double weight = momentum_weight(r, k, t);
        if (weight > 0) {
            lever_tangent(r, k, &step, R_dot, dot->x, point_dot, lever_dot);
            force_tangent(r, k, weight, s, &step, lever_dot, body_dot->force[k], dot);
        }
    }
    vec3_add_scaled(dot->x, h / M, dot->P);
    vec3_add_scaled(dot->x, -h * body_dot->mass / (M * M), step.moved.P);
    if (r->rules.impulses) {
        momentum_impulses_tangent(r, &step, dot, body_dot, point_dot);
    }
}

int momentum_tangent(momentum *r, uint64_t from, uint64_t to, momentum_state *dot,
                     const momentum_body *body_dot, const double *point_dot)
{
    if (from == 0) {
        quat_normalise_adjoint(r->state[0].q, r->norm, dot->q, dot->q);
    }
    for (uint64_t t = from; t < to; t++) {
        step_tangent(r, t, dot, body_dot, point_dot);
    }
    return all_finite(MOMENTUM_STATE_NUMBERS, dot);
}

/* ---- adjoint ---- */

/* P' = P + h F, x' = x + h P' / M. */
static void reverse_path(const momentum *r, const momentum_step *step, momentum_state *bar,
                         momentum_body *body_bar)
{
    const double M = r->body.mass, h = r->rules.h;
    vec3_add_scaled(bar->P, h / M, bar->x);
    body_bar->mass -= h * vec3_dot(bar->x, step->moved.P) / (M * M);
}

/* Adds the derivatives by force k and its levers; `bar` holds the derivatives by P' and L'. */
static void reverse_force(const momentum *r, size_t k, double weight, const momentum_state *s,
                          const momentum_step *step, const momentum_state *bar, double x_bar[3],
                          double R_bar[9], momentum_body *body_bar, double *point_bar)
{
    const double h = r->rules.h, *f = r->body.force[k];
    double lever[3], lever_bar[3], sum_bar[3], c[3];
    momentum_lever(r, k, s->x, step->R, lever);
    vec3_cross(bar->L, lever, c);
    vec3_add_scaled(body_bar->force[k], h * weight, c);
    vec3_add_scaled(body_bar->force[k], h * (double)r->count[k], bar->P);
    vec3_cross(f, bar->L, lever_bar);
    for (int d = 0; d < 3; d++) {
        lever_bar[d] *= h * weight;
    }
    if (r->rules.parity) {
        vec3_add_scaled(x_bar, -(double)r->count[k], lever_bar);
        memcpy(sum_bar, lever_bar, sizeof sum_bar);
    } else {
        mat3_add_outer(R_bar, 1, lever_bar, r->sum[k]);
        mat3_tapply(step->R, lever_bar, sum_bar);
    }
    const momentum_list *list = &r->rules.list[k];
    for (size_t i = 0; point_bar != NULL && i < r->count[k]; i++) {
        vec3_add_scaled(point_bar + 3 * (list->count > 0 ? list->vertex[i] : i), 1, sum_bar);
    }
}

/* q' = normalised q + h/2 (0, omega) q, omega = R I^-1 R^T L. bar->q goes from q' to q, except for the part
 * through R, which is added to R_bar. */
static void reverse_turn(const momentum *r, const momentum_state *s, const momentum_step *step,
                         momentum_state *bar, double R_bar[9], momentum_body *body_bar)
{
    const double *o = step->omega, back[4] = {0, -o[0], -o[1], -o[2]};
    const double conjugate[4] = {s->q[0], -s->q[1], -s->q[2], -s->q[3]};
    double sum_bar[4], by_q[4], by_spin[4], omega_bar[3], W_bar[3], L_bar[3], c[3];
    quat_normalise_adjoint(step->moved.q, step->norm, bar->q, sum_bar);
    quat_product(back, sum_bar, by_q);
    quat_product(sum_bar, conjugate, by_spin);
    for (int k = 0; k < 4; k++) {
        bar->q[k] = sum_bar[k] + 0.5 * r->rules.h * by_q[k];
    }
    for (int k = 0; k < 3; k++) {
        omega_bar[k] = 0.5 * r->rules.h * by_spin[1 + k];
    }
    mat3_add_outer(R_bar, 1, omega_bar, step->W);
    mat3_tapply(step->R, omega_bar, W_bar);
    mat3_apply(r->inverse, W_bar, L_bar);
    mat3_add_symmetric(body_bar->inertia, -1, L_bar, step->W);
    mat3_add_outer(R_bar, 1, s->L, L_bar);
    mat3_apply(step->R, L_bar, c);
    vec3_add_scaled(bar->L, 1, c);
}

/* Sets in_bar, the derivatives by the inputs of the networks; `bar` holds those by P' and L'. */
static void reverse_networks(const momentum *r, const momentum_state *s, const momentum_state *bar,
                             double in_bar[WRENCH_INPUTS])
{
    double in[WRENCH_INPUTS], F_bar[3], T_bar[3];
    for (int k = 0; k < 3; k++) {
        F_bar[k] = r->rules.h * bar->P[k];
        T_bar[k] = r->rules.h * bar->L[k];
    }
    net_inputs(s, in);
    wrench_reverse(r->net, in, F_bar, T_bar, in_bar);
}

static void reverse_step(momentum *r, uint64_t t, momentum_state *bar, momentum_body *body_bar,
                         double *point_bar)
{
    const momentum_state *s = &r->state[t];
    double R_bar[9] = {0}, x_bar[3] = {0}, in_bar[WRENCH_INPUTS] = {0};
    momentum_step step;
    momentum_step_from(r, t, s, &step);
    if (r->rules.impulses) {
        momentum_impulses_adjoint(r, &step, bar, body_bar, point_bar);
    }
    reverse_path(r, &step, bar, body_bar);
    if (r->net != NULL) {
        reverse_networks(r, s, bar, in_bar);
    }
    for (size_t k = 0; k < r->rules.forces; k++) {
        double weight = momentum_weight(r, k, t);
        if (weight > 0) {
            reverse_force(r, k, weight, s, &step, bar, x_bar, R_bar, body_bar, point_bar);
        }
    }
    reverse_turn(r, s, &step, bar, R_bar, body_bar);
    vec3_add_scaled(bar->x, 1, x_bar);
    if (r->net != NULL) {
        vec3_add_scaled(bar->x, 1, in_bar);
        vec3_add_scaled(bar->P, 1, in_bar + 3);
        vec3_add_scaled(bar->L, 1, in_bar + 6);
    }
    quat_matrix_adjoint(s->q, R_bar, bar->q);
}

int momentum_adjoint(momentum *r, uint64_t from, uint64_t to, momentum_state *bar, momentum_body *body_bar,
                     double *point_bar)
{
    for (uint64_t t = to; t-- > from;) {
        reverse_step(r, t, bar, body_bar, point_bar);
    }
    if (from == 0) {
        quat_normalise_adjoint(r->state[0].q, r->norm, bar->q, bar->q);
    }
    return all_finite(MOMENTUM_STATE_NUMBERS, bar) && all_finite(MOMENTUM_BODY_NUMBERS, body_bar);
}
