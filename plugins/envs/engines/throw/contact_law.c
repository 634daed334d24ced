/* SPDX-License-Identifier: Apache-2.0 */
/* contact_law.c - the force of one compliant contact (see contact_law.h). */
#include "contact_law.h"

enum { TAPE = 2 + 2 * (3 + 2 + 1) };

void contact_law_open(contact_law *l, friction_law friction, int network, double force)
{
    static const uint32_t size[] = {2, 3, 2, 1}, bias[] = {1, 1, 1, 1};
    static const uint32_t f[] = {DS_NETWORK_ELU, DS_NETWORK_IDENTITY, DS_NETWORK_IDENTITY};
    *l = (contact_law){.friction = friction, .network = network, .force = force};
    ds_network_make(&l->net, 3, size, f, bias);
}

/* g(v) and its derivatives by v, mu, mu_s and v_s. */
typedef struct friction {
    double g, by_v, by_mu, by_static, by_slip;
} friction;

/* Of mu p(u) + (mu_s - mu) q(u). */
static friction mixed(const double *theta, double u, double p, double p_u, double q, double q_u)
{
    const double mu = theta[LAW_MU], more = theta[LAW_MU_STATIC] - mu, by_u = mu * p_u + more * q_u;
    return (friction){mu * p + more * q, by_u / theta[LAW_SLIP], p - q, q, -by_u * u / theta[LAW_SLIP]};
}

static friction friction_of(const contact_law *l, const double *theta, double v)
{
    const double u = v / theta[LAW_SLIP];
    if (l->friction == FRICTION_COULOMB) {
        return (friction){.g = theta[LAW_MU], .by_mu = 1};
    }
    if (l->friction == FRICTION_TANH) {
        const double t = tanh(u);
        return mixed(theta, u, t, 1 - t * t, 0, 0);
    }
    if (l->friction == FRICTION_ANDERSSON) {
        const double t = tanh(v), e = exp(-v), slope = 1 - t * t;
        friction f = mixed(theta, u, t, 0, e * t, 0);
        f.by_v = theta[LAW_MU] * slope + (theta[LAW_MU_STATIC] - theta[LAW_MU]) * e * (slope - t);
        f.by_slip = 0;
        return f;
    }
    if (l->friction == FRICTION_HOLLARS) {
        const double most = u < 1 ? u : 1, q = 2 / (1 + u * u);
        return mixed(theta, u, most, u < 1, most * q, (u < 1) * q - most * q * q * u);
    }
    if (l->friction == FRICTION_BROWN) {
        const double t = tanh(4 * u), d = 0.25 * u * u + 0.75;
        return mixed(theta, u, t, 4 * (1 - t * t), u / (d * d), 1 / (d * d) - u * u / (d * d * d));
    }
    return (friction){.g = 0};
}

/* What the force is made of: normal force, sliding speed and direction, friction and its derivatives by both. */
typedef struct parts {
    double power, rate, normal, v, along[2];
    double total, by_normal, by_v, per_v; /* per_v: friction / v, also where v is 0 */
    friction f;
    double near, by_near, net;                              /* tanh(v / v_s) and its derivative by v, f N */
    double tape[TAPE], net_bar[2], weight_bar[LAW_WEIGHTS]; /* of the network by its inputs and parameters */
} parts;

/* Derivatives where they are wanted, and where the sliding begins. Returns the force, too. */
static void take_apart(const contact_law *l, const double *theta, double x, const double v[3],
                       int derivatives, parts *p, double force[3])
{
    p->power = x * sqrt(x);
    p->rate = -v[2];
    const double normal = p->power * (theta[LAW_STIFFNESS] + theta[LAW_DAMPING] * p->rate);
    p->normal = normal > 0 ? normal : 0;
    p->v = sqrt(v[0] * v[0] + v[1] * v[1]);
    for (int i = 0; i < 2; i++) {
        p->along[i] = p->v > 0 ? v[i] / p->v : 0;
    }
    p->f = friction_of(l, theta, p->v);
    p->total = p->normal * p->f.g;
    p->by_normal = p->f.g;
    p->by_v = p->normal * p->f.by_v;
    derivatives = derivatives || !(p->v > 1e-12);
    if (l->network) {
        const double in[2] = {p->normal / l->force, p->v}, one = 1;
        p->net = l->force * ds_network_forward(&l->net, theta + LAW_NETWORK, in, p->tape)[0];
        p->near = tanh(p->v / theta[LAW_SLIP]);
        p->total += p->near * p->net;
        if (derivatives) {
            memset(p->net_bar, 0, sizeof p->net_bar);
            memset(p->weight_bar, 0, sizeof p->weight_bar);
            ds_network_reverse(&l->net, theta + LAW_NETWORK, p->tape, &one, p->weight_bar, p->net_bar);
            p->by_near = (1 - p->near * p->near) / theta[LAW_SLIP];
            p->by_normal += p->near * p->net_bar[0];
            p->by_v += p->near * l->force * p->net_bar[1] + p->by_near * p->net;
        }
    }
    p->per_v = p->v > 1e-12 ? p->total / p->v : p->by_v;
    if (p->v <= 1e-12) {
        p->total = p->by_normal = 0;
    }
    force[0] = -p->per_v * v[0];
    force[1] = -p->per_v * v[1];
    force[2] = p->normal;
}

void contact_law_force(const contact_law *l, const double *theta, double x, const double v[3], double f[3])
{
    parts p;
    take_apart(l, theta, x, v, 0, &p, f);
}

void contact_law_adjoint(const contact_law *l, const double *theta, double x, const double v[3],
                         const double f_bar[3], double f[3], double *x_bar, double v_bar[3],
                         double *theta_bar)
{
    parts p;
    take_apart(l, theta, x, v, 1, &p, f);
    const double against = -(f_bar[0] * p.along[0] + f_bar[1] * p.along[1]); /* of the friction */
    const double speed_bar = against * (p.by_v - p.per_v);
    for (int i = 0; i < 2; i++) {
        v_bar[i] += speed_bar * p.along[i] - p.per_v * f_bar[i];
    }
    theta_bar[LAW_MU] += against * p.normal * p.f.by_mu;
    theta_bar[LAW_MU_STATIC] += against * p.normal * p.f.by_static;
    theta_bar[LAW_SLIP] += against * p.normal * p.f.by_slip;
    if (l->network) {
        const double bar = against * p.near * l->force;
        for (int i = 0; i < LAW_WEIGHTS; i++) {
            theta_bar[LAW_NETWORK + i] += bar * p.weight_bar[i];
        }
        theta_bar[LAW_SLIP] -= against * p.by_near * p.net * p.v / theta[LAW_SLIP];
    }
    if (p.normal > 0) {
        const double normal_bar = f_bar[2] + against * p.by_normal;
        *x_bar += normal_bar * 1.5 * p.normal / x;
        v_bar[2] -= normal_bar * theta[LAW_DAMPING] * p.power;
        theta_bar[LAW_STIFFNESS] += normal_bar * p.power;
        theta_bar[LAW_DAMPING] += normal_bar * p.power * p.rate;
    }
}

void contact_law_tangent(const contact_law *l, const double *theta, double x, const double v[3],
                         const double *theta_dot, double x_dot, const double v_dot[3], double f[3],
                         double f_dot[3])
{
    parts p;
    double normal_dot = 0;
    take_apart(l, theta, x, v, 1, &p, f);
    if (p.normal > 0) {
        normal_dot = 1.5 * p.normal / x * x_dot +
                     p.power * (theta_dot[LAW_STIFFNESS] + p.rate * theta_dot[LAW_DAMPING] -
                                theta[LAW_DAMPING] * v_dot[2]);
    }
    const double speed_dot = p.along[0] * v_dot[0] + p.along[1] * v_dot[1];
    double by_theta = p.normal * (p.f.by_mu * theta_dot[LAW_MU] + p.f.by_static * theta_dot[LAW_MU_STATIC] +
                                  p.f.by_slip * theta_dot[LAW_SLIP]);
    if (l->network) {
        double net_dot = 0;
        for (int i = 0; i < LAW_WEIGHTS; i++) {
            net_dot += p.weight_bar[i] * theta_dot[LAW_NETWORK + i];
        }
        by_theta +=
            p.near * l->force * net_dot - p.by_near * p.net * p.v / theta[LAW_SLIP] * theta_dot[LAW_SLIP];
    }
    const double more = by_theta + p.by_normal * normal_dot + (p.by_v - p.per_v) * speed_dot;
    for (int i = 0; i < 2; i++) {
        f_dot[i] = -more * p.along[i] - p.per_v * v_dot[i];
    }
    f_dot[2] = normal_dot;
}
