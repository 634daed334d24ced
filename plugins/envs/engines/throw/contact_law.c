/* SPDX-License-Identifier: Apache-2.0 */
/* contact_law.c - the force of one compliant contact (see contact_law.h). */
#include "contact_law.h"

enum { TAPE = 2 + 2 * (3 + 2 + 1) };

const ds_hook contact_law_hook[LAW_HOOKS] = {
    DS_HYBRID_HOOK(DS_HOOK_INPUT, 1, "normal_force", "", "Of the springs at a contact, over network_force."),
    DS_HYBRID_HOOK(DS_HOOK_INPUT, 1, "sliding_speed", "m/s", "Of the point along the plane."),
    DS_HYBRID_HOOK(DS_HOOK_INPUT, 1, "depth", "m", "Of penetration."),
    DS_HYBRID_HOOK(DS_HOOK_INPUT, 1, "depth_rate", "m/s", "Its rate."),
    DS_HYBRID_HOOK(
        DS_HOOK_OUTPUT, 1, "friction", "",
        "Against the sliding, over network_force; times tanh(sliding_speed / slip). Begins as that of the "
        "friction law."),
    DS_HYBRID_HOOK(DS_HOOK_OUTPUT, 1, "normal", "",
                   "Normal force that acts, over network_force, cut at 0; begins as normal_force.")};

void contact_law_open(contact_law *l, friction_law friction, int network, double force)
{
    char why[DS_NETWORK_FILE_TEXT];
    *l = (contact_law){.friction = friction, .network = network, .force = force};
    ds_hybrid_wire(&l->source,
                   "friction = normal_force sliding_speed | 3 2 | elu identity identity | residual | all",
                   LAW_HOOKS, contact_law_hook, why);
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

/* What the force is made of: normal force of the springs and that which acts, sliding speed and direction, friction and
 * its derivative by the speed without networks. */
typedef struct parts {
    double power, rate, spring, normal, v, along[2];
    double total, by_v, per_v; /* per_v: friction / v, also where v is 0 */
    friction f;
    double near, by_near;     /* tanh(v / v_s) and its derivative by v */
    double kept[LAW_OUTPUTS]; /* 1, or 0: replaced */
    double net[LAW_OUTPUTS];  /* of the networks, times f */
    double own[TAPE];         /* of the network of the source */
} parts;

static int has_networks(const contact_law *l)
{
    return l->network || l->hybrid != NULL;
}

/* Networks at the springs' normal force. */
static void ask_networks(const contact_law *l, const double *theta, double x, parts *p)
{
    const double in[LAW_INPUTS] = {p->spring / l->force, p->v, x, p->rate};
    if (l->network) {
        ds_hybrid_forward(&l->source, theta + LAW_NETWORK, in, p->net, p->own);
    }
    for (uint32_t k = 0; l->hybrid != NULL && k < l->hybrid->nets; k++) {
        const ds_hybrid_net *net = &l->hybrid->net[k];
        for (uint32_t i = 0; net->replace && i < net->net.size[net->net.layers]; i++) {
            p->kept[net->out[i]] = 0;
        }
    }
    if (l->hybrid != NULL) {
        ds_hybrid_forward(l->hybrid, l->w, in, p->net, l->tape);
    }
    for (int i = 0; i < LAW_OUTPUTS; i++) {
        p->net[i] *= l->force;
    }
    p->near = tanh(p->v / theta[LAW_SLIP]);
    p->by_near = (1 - p->near * p->near) / theta[LAW_SLIP];
}

/* Returns the force, too. */
static void take_apart(const contact_law *l, const double *theta, double x, const double v[3], parts *p,
                       double force[3])
{
    p->power = x * sqrt(x);
    p->rate = -v[2];
    const double spring = p->power * (theta[LAW_STIFFNESS] + theta[LAW_DAMPING] * p->rate);
    p->spring = spring > 0 ? spring : 0;
    p->v = sqrt(v[0] * v[0] + v[1] * v[1]);
    for (int i = 0; i < 2; i++) {
        p->along[i] = p->v > 0 ? v[i] / p->v : 0;
    }
    p->kept[LAW_OUT_FRICTION] = p->kept[LAW_OUT_NORMAL] = 1;
    p->net[LAW_OUT_FRICTION] = p->net[LAW_OUT_NORMAL] = p->near = p->by_near = 0;
    if (has_networks(l)) {
        ask_networks(l, theta, x, p);
    }
    const double normal = p->kept[LAW_OUT_NORMAL] * p->spring + p->net[LAW_OUT_NORMAL];
    p->normal = normal > 0 ? normal : 0;
    p->f = friction_of(l, theta, p->v);
    p->total = p->kept[LAW_OUT_FRICTION] * p->normal * p->f.g + p->near * p->net[LAW_OUT_FRICTION];
    p->by_v = p->kept[LAW_OUT_FRICTION] * p->normal * p->f.by_v + p->by_near * p->net[LAW_OUT_FRICTION];
    p->per_v = p->v > 1e-12 ? p->total / p->v : p->by_v;
    if (p->v <= 1e-12) {
        p->total = 0;
    }
    force[0] = -p->per_v * v[0];
    force[1] = -p->per_v * v[1];
    force[2] = p->normal;
}

void contact_law_force(const contact_law *l, const double *theta, double x, const double v[3], double f[3])
{
    parts p;
    take_apart(l, theta, x, v, &p, f);
}

void contact_law_adjoint(const contact_law *l, const double *theta, double x, const double v[3],
                         const double f_bar[3], double f[3], double *x_bar, double v_bar[3],
                         double *theta_bar)
{
    parts p;
    take_apart(l, theta, x, v, &p, f);
    const double against = -(f_bar[0] * p.along[0] + f_bar[1] * p.along[1]); /* of the friction */
    const double kept = against * p.kept[LAW_OUT_FRICTION];
    const double normal_bar = p.normal > 0 ? f_bar[2] + kept * p.f.g : 0;
    double in_bar[LAW_INPUTS] = {0};
    theta_bar[LAW_MU] += kept * p.normal * p.f.by_mu;
    theta_bar[LAW_MU_STATIC] += kept * p.normal * p.f.by_static;
    theta_bar[LAW_SLIP] += kept * p.normal * p.f.by_slip;
    if (has_networks(l)) {
        double out_bar[LAW_OUTPUTS] = {against * p.near * l->force, normal_bar * l->force};
        if (l->hybrid != NULL) {
            ds_hybrid_reverse(l->hybrid, l->w, l->tape, out_bar, l->w_bar, in_bar);
        }
        if (l->network) {
            ds_hybrid_reverse(&l->source, theta + LAW_NETWORK, p.own, out_bar, theta_bar + LAW_NETWORK,
                              in_bar);
        }
        theta_bar[LAW_SLIP] -= against * p.by_near * p.net[LAW_OUT_FRICTION] * p.v / theta[LAW_SLIP];
    }
    const double speed_bar = against * (p.by_v - p.per_v) + in_bar[LAW_IN_SPEED];
    for (int i = 0; i < 2; i++) {
        v_bar[i] += speed_bar * p.along[i] - p.per_v * f_bar[i];
    }
    *x_bar += in_bar[LAW_IN_DEPTH];
    v_bar[2] -= in_bar[LAW_IN_RATE];
    if (p.spring > 0) {
        const double spring_bar = p.kept[LAW_OUT_NORMAL] * normal_bar + in_bar[LAW_IN_NORMAL] / l->force;
        *x_bar += spring_bar * 1.5 * p.spring / x;
        v_bar[2] -= spring_bar * theta[LAW_DAMPING] * p.power;
        theta_bar[LAW_STIFFNESS] += spring_bar * p.power;
        theta_bar[LAW_DAMPING] += spring_bar * p.power * p.rate;
    }
}

void contact_law_tangent(const contact_law *l, const double *theta, double x, const double v[3],
                         const double *theta_dot, double x_dot, const double v_dot[3], double f[3],
                         double f_dot[3])
{
    parts p;
    double spring_dot = 0, net_dot[LAW_OUTPUTS] = {0};
    take_apart(l, theta, x, v, &p, f);
    if (p.spring > 0) {
        spring_dot = 1.5 * p.spring / x * x_dot +
                     p.power * (theta_dot[LAW_STIFFNESS] + p.rate * theta_dot[LAW_DAMPING] -
                                theta[LAW_DAMPING] * v_dot[2]);
    }
    const double speed_dot = p.along[0] * v_dot[0] + p.along[1] * v_dot[1];
    if (has_networks(l)) {
        const double in_dot[LAW_INPUTS] = {spring_dot / l->force, speed_dot, x_dot, -v_dot[2]};
        if (l->network) {
            ds_hybrid_tangent(&l->source, theta + LAW_NETWORK, p.own, theta_dot + LAW_NETWORK, in_dot,
                              net_dot);
        }
        if (l->hybrid != NULL) {
            ds_hybrid_tangent(l->hybrid, l->w, l->tape, l->w_dot, in_dot, net_dot);
        }
    }
    const double normal_dot =
        p.normal > 0 ? p.kept[LAW_OUT_NORMAL] * spring_dot + l->force * net_dot[LAW_OUT_NORMAL] : 0;
    const double by_theta = p.f.by_mu * theta_dot[LAW_MU] + p.f.by_static * theta_dot[LAW_MU_STATIC] +
                            p.f.by_slip * theta_dot[LAW_SLIP];
    const double more = p.kept[LAW_OUT_FRICTION] * (p.normal * by_theta + p.f.g * normal_dot) +
                        p.near * l->force * net_dot[LAW_OUT_FRICTION] -
                        p.by_near * p.net[LAW_OUT_FRICTION] * p.v / theta[LAW_SLIP] * theta_dot[LAW_SLIP] +
                        (p.by_v - p.per_v) * speed_dot;
    for (int i = 0; i < 2; i++) {
        f_dot[i] = -more * p.along[i] - p.per_v * v_dot[i];
    }
    f_dot[2] = normal_dot;
}
