/* SPDX-License-Identifier: Apache-2.0 */
/* contact_law.c - the force of one compliant contact, and its network (see contact_law.h). */
#include "contact_law.h"

#include <math.h>
#include <string.h>

static double hyperbolic_tangent(double x)
{
    return vec_tanh(vec_all(x))[0];
}

#define real_choose(mask, a, b) ((mask) ? (a) : (b))
#define real_sqrt sqrt
#define real_abs fabs
#define real_exp exp_same
#define real_tanh hyperbolic_tangent
#define real_power(a) ((a) < 0 ? pow(-(a), 0.05) : 0)
#include "contact_step.h"

/* ---- the network of the paper ---- */

/* Hidden units of the first and second layer; offsets of the layers in the weights. */
enum { FIRST = 3, SECOND = 2 };
enum { W1, W2 = 6, W3 = 12, B0 = 14, B1 = 16, B2 = 19, B3 = 21 };

void law_net_make(const double *weights, law_net *n)
{
    const double *w1 = weights + W1, *w2 = weights + W2, *w3 = weights + W3, *b0 = weights + B0;
    memset(n, 0, sizeof *n);
    for (int i = 0; i < FIRST; i++) {
        n->w[0][i] = w1[2 * i];
        n->w[1][i] = w1[2 * i + 1];
        n->c[i] = w1[2 * i] * b0[0] + w1[2 * i + 1] * b0[1] + weights[B1 + i];
        n->e[i] = w3[0] * w2[i] + w3[1] * w2[FIRST + i];
    }
    n->c[FIRST] = 1;
    n->e[FIRST] = w3[0] * weights[B2] + w3[1] * weights[B2 + 1] + weights[B3];
}

void law_net_make_tangent(const double *weights, const double *weights_dot, law_net *n_dot)
{
    const double *w1 = weights + W1, *w2 = weights + W2, *w3 = weights + W3, *b0 = weights + B0;
    const double *w1_dot = weights_dot + W1, *w2_dot = weights_dot + W2, *w3_dot = weights_dot + W3;
    memset(n_dot, 0, sizeof *n_dot);
    for (int i = 0; i < FIRST; i++) {
        n_dot->c[i] = weights_dot[B1 + i];
        for (int j = 0; j < LAW_NET_INPUTS; j++) {
            n_dot->w[j][i] = w1_dot[2 * i + j];
            n_dot->c[i] += w1_dot[2 * i + j] * b0[j] + w1[2 * i + j] * weights_dot[B0 + j];
        }
        for (int k = 0; k < SECOND; k++) {
            n_dot->e[i] += w3_dot[k] * w2[FIRST * k + i] + w3[k] * w2_dot[FIRST * k + i];
        }
    }
    n_dot->e[FIRST] = weights_dot[B3];
    for (int k = 0; k < SECOND; k++) {
        n_dot->e[FIRST] += w3_dot[k] * weights[B2 + k] + w3[k] * weights_dot[B2 + k];
    }
}

void law_net_gather(const double *weights, const law_net_sums *sums, double *weights_bar)
{
    const double *w1 = weights + W1, *w2 = weights + W2, *w3 = weights + W3, *b0 = weights + B0;
    const double of_all = sums->a[FIRST];
    for (int i = 0; i < FIRST; i++) {
        for (int j = 0; j < LAW_NET_INPUTS; j++) {
            weights_bar[W1 + 2 * i + j] += sums->zx[j][i] + b0[j] * sums->z[i];
            weights_bar[B0 + j] += w1[2 * i + j] * sums->z[i];
        }
        weights_bar[B1 + i] += sums->z[i];
        for (int k = 0; k < SECOND; k++) {
            weights_bar[W2 + FIRST * k + i] += w3[k] * sums->a[i];
            weights_bar[W3 + k] += w2[FIRST * k + i] * sums->a[i];
        }
    }
    for (int k = 0; k < SECOND; k++) {
        weights_bar[W3 + k] += weights[B2 + k] * of_all;
        weights_bar[B2 + k] += w3[k] * of_all;
    }
    weights_bar[B3] += of_all;
}

/* ---- friction laws and forces ---- */

const ds_hook contact_law_hook[LAW_HOOKS] = {
    DS_HYBRID_HOOK(DS_HOOK_INPUT, 1, "normal_force", "",
                   "Normal force of the springs at a contact / network_force."),
    DS_HYBRID_HOOK(DS_HOOK_INPUT, 1, "sliding_speed", "m/s", "Speed of the contact point along the plane."),
    DS_HYBRID_HOOK(DS_HOOK_INPUT, 1, "depth", "m", "Penetration."),
    DS_HYBRID_HOOK(DS_HOOK_INPUT, 1, "depth_rate", "m/s", "Rate of the penetration."),
    DS_HYBRID_HOOK(DS_HOOK_OUTPUT, 1, "friction", "",
                   "Friction against the sliding / network_force; multiplied by tanh(sliding_speed / slip). "
                   "Starts as the friction of the law."),
    DS_HYBRID_HOOK(DS_HOOK_OUTPUT, 1, "normal", "",
                   "Normal force that acts / network_force, cut at 0; starts as normal_force.")};

void contact_law_open(contact_law *l, friction_law friction, int network, double force)
{
    char why[DS_NETWORK_FILE_TEXT];
    *l = (contact_law){.kind = {.friction = friction, .force = force}, .network = network};
    ds_hybrid_wire(&l->source,
                   "friction = normal_force sliding_speed | 3 2 | elu identity identity | residual | all",
                   LAW_HOOKS, contact_law_hook, why);
}

/* Returns whether the caller's network is the network of the paper, wired the same way: both give the same
 * numbers. */
static int is_source(const contact_law *l)
{
    if (l->hybrid == NULL || l->hybrid->nets != 1) {
        return 0;
    }
    const ds_hybrid_net *is = &l->hybrid->net[0], *should = &l->source.net[0];
    return memcmp(&is->net, &should->net, sizeof is->net) == 0 && is->replace == should->replace &&
           memcmp(is->in, should->in, LAW_NET_INPUTS * sizeof *is->in) == 0 && is->out[0] == should->out[0];
}

void contact_law_set(contact_law *l, const double *theta)
{
    memcpy(l->theta, theta, sizeof l->theta);
    memcpy(l->first.theta, theta, sizeof l->first.theta);
    l->first.per_slip = 1 / theta[LAW_SLIP];
    l->kind.kept[LAW_OUT_FRICTION] = l->kind.kept[LAW_OUT_NORMAL] = 1;
    for (uint32_t k = 0; l->hybrid != NULL && k < l->hybrid->nets; k++) {
        const ds_hybrid_net *net = &l->hybrid->net[k];
        for (uint32_t i = 0; net->replace && i < net->net.size[net->net.layers]; i++) {
            l->kind.kept[net->out[i]] = 0;
        }
    }
    const int wired = !l->network && is_source(l);
    l->weights = l->network ? l->theta + LAW_NETWORK : wired ? l->w : NULL;
    l->others = wired ? NULL : l->hybrid;
    if (l->weights != NULL) {
        law_net_make(l->weights, &l->net);
    }
}

static int has_networks(const contact_law *l)
{
    return l->weights != NULL || l->others != NULL;
}

/* Outputs of the networks, in units of f, at the normal force of the springs. */
static void evaluate_networks(const contact_law *l, contact_record *r, double net[LAW_OUTPUTS])
{
    double in[LAW_INPUTS];
    contact_inputs(&l->kind, r, in);
    if (l->weights != NULL) {
        net[LAW_OUT_FRICTION] = law_net_forward(&l->net, in, r->unit);
    }
    if (l->others != NULL) {
        ds_hybrid_forward(l->others, l->w, in, net, l->tape);
    }
}

void contact_law_force(const contact_law *l, double x, const double v[3], contact_record *out)
{
    double net[LAW_OUTPUTS] = {0};
    contact_begin(&l->kind, &l->first, x, v, out);
    if (has_networks(l)) {
        evaluate_networks(l, out, net);
        contact_near(&l->kind, &l->first, out);
    }
    contact_end(&l->kind, v, net, out);
}

/* Sets the derivatives by the inputs of the networks, from those by their outputs; adds those by their
 * weights. */
static void networks_adjoint(const contact_law *l, const contact_record *r, double out_bar[LAW_OUTPUTS],
                             double in_bar[LAW_INPUTS], contact_sums *sums)
{
    double in[LAW_INPUTS], out[LAW_OUTPUTS] = {0};
    contact_inputs(&l->kind, r, in);
    if (l->others != NULL) {
        ds_hybrid_forward(l->others, l->w, in, out, l->tape);
        ds_hybrid_reverse(l->others, l->w, l->tape, out_bar, l->w_bar, in_bar);
    }
    if (l->weights != NULL) {
        law_net_reverse(&l->net, in, r->unit, out_bar[LAW_OUT_FRICTION], &sums->net, in_bar);
    }
}

void contact_law_adjoint(const contact_law *l, const contact_record *r, const double f_bar[3], double *x_bar,
                         double v_bar[3], contact_sums *sums)
{
    const int networks = has_networks(l);
    contact_bar b = contact_back(&l->kind, &l->first, r, f_bar, 1, networks, sums->theta);
    if (networks) {
        networks_adjoint(l, r, b.out, b.in, sums);
    }
    contact_back_end(&l->kind, &l->first, r, f_bar, &b, 1, x_bar, v_bar, sums->theta);
}

void contact_law_gather(const contact_law *l, const contact_sums *sums, double *theta_bar)
{
    for (int i = 0; i < LAW_NETWORK; i++) {
        theta_bar[i] += sums->theta[i];
    }
    if (l->weights != NULL) {
        law_net_gather(l->weights, &sums->net, l->network ? theta_bar + LAW_NETWORK : l->w_bar);
    }
}

void contact_law_change(const contact_law *l, const double *theta_dot, contact_change *out)
{
    memcpy(out->theta, theta_dot, sizeof out->theta);
    if (l->weights != NULL) {
        law_net_make_tangent(l->weights, l->network ? theta_dot + LAW_NETWORK : l->w_dot, &out->net);
    }
}

/* Change of the outputs of the networks. */
static void networks_tangent(const contact_law *l, const contact_record *r, const contact_change *change,
                             const double in_dot[LAW_INPUTS], double net_dot[LAW_OUTPUTS])
{
    double in[LAW_INPUTS], out[LAW_OUTPUTS] = {0};
    contact_inputs(&l->kind, r, in);
    if (l->weights != NULL) {
        net_dot[LAW_OUT_FRICTION] = law_net_tangent(&l->net, &change->net, in, r->unit, in_dot);
    }
    if (l->others != NULL) {
        ds_hybrid_forward(l->others, l->w, in, out, l->tape);
        ds_hybrid_tangent(l->others, l->w, l->tape, l->w_dot, in_dot, net_dot);
    }
}

void contact_law_tangent(const contact_law *l, const contact_record *r, const contact_change *change,
                         double x_dot, const double v_dot[3], double f_dot[3])
{
    const double *theta_dot = change->theta;
    double spring_dot = 0, net_dot[LAW_OUTPUTS] = {0};
    if (r->pressed) {
        spring_dot =
            r->spring_by_x * x_dot + r->x * r->root *
                                         (theta_dot[LAW_STIFFNESS] + r->brake * theta_dot[LAW_DAMPING] -
                                          l->theta[LAW_DAMPING] * r->brake_by_rate * v_dot[2]);
    }
    const double speed_dot = r->along[0] * v_dot[0] + r->along[1] * v_dot[1];
    if (has_networks(l)) {
        const double in_dot[LAW_INPUTS] = {spring_dot / l->kind.force, speed_dot, x_dot, -v_dot[2]};
        networks_tangent(l, r, change, in_dot, net_dot);
    }
    const double normal_dot =
        r->touched ? l->kind.kept[LAW_OUT_NORMAL] * spring_dot + l->kind.force * net_dot[LAW_OUT_NORMAL] : 0;
    const contact_friction *f = &r->friction;
    const double by_theta = f->by_mu * theta_dot[LAW_MU] + f->by_static * theta_dot[LAW_MU_STATIC] +
                            f->by_slip * theta_dot[LAW_SLIP];
    const double more =
        l->kind.kept[LAW_OUT_FRICTION] * (r->normal * by_theta + f->g * normal_dot) +
        r->near * l->kind.force * net_dot[LAW_OUT_FRICTION] -
        r->by_near * r->net[LAW_OUT_FRICTION] * r->speed * l->first.per_slip * theta_dot[LAW_SLIP] +
        (r->by_speed - r->per_speed) * speed_dot;
    for (int i = 0; i < 2; i++) {
        f_dot[i] = -more * r->along[i] - r->per_speed * v_dot[i];
    }
    f_dot[2] = normal_dot;
}
