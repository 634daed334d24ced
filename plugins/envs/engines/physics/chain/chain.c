/* SPDX-License-Identifier: Apache-2.0 */
/* chain.c - planar chain of links on a cart: equations of motion in absolute angles, stepping, reverse sweep
 * (see chain.h).
 *
 * With ell(k,j) = L_j for j < k and c_k for j = k (arm of link j to the centre of mass of link k), the
 * constants are
 *     A_ij = sum_{k >= max(i,j)} m_k ell(k,i) ell(k,j),   b_i = sum_{k >= i} m_k ell(k,i),
 *     M0 = m_c + sum_k m_k.
 * With C_ij = A_ij cos(theta_i - theta_j), S_ij = A_ij sin(theta_i - theta_j), Q_i = tau_i - tau_(i+1):
 *     cart:   M0 a - sum_i b_i cos(theta_i) alpha_i + sum_i b_i sin(theta_i) omega_i^2 = F
 *     link i: -b_i cos(theta_i) a + ((C + diag I) alpha)_i + sum_j S_ij omega_j^2 - g b_i sin(theta_i) = Q_i.
 * C and S act on a vector through A alone: (C w)_i = c_i (A cw)_i + s_i (A sw)_i, (S w)_i = s_i (A cw)_i -
 * c_i (A sw)_i with c, s the cosines and sines of the angles. The mass matrix is factored as L D L^T with the
 * cart in the last row: velocity control needs only the rows of the links, force control one more row. The
 * reverse sweep solves with the stored factor and differentiates lambda . (left side) at fixed accelerations,
 * so no inverse is differentiated. */
#include "chain.h"

#include "common/sincos.h"
#include "engines/kit/lanes.h"

#define real double
#define real_sincos sincos_same
#include "chain_step.h"

#include <math.h>
#include <string.h>

enum {
    POLL = 1024,       /* steps between polls of the stop flag */
    LANES_STEPS = 4096 /* longer episodes have no lanes: their tapes would not fit into caches */
};

struct chain {
    chain_law law;
    uint64_t steps, hold;
    uint64_t stages;          /* records of a step: the state before it, and with RK4 three more stages */
    double *tape;             /* the records of all steps, then the final state */
    double *net_tape, *w_bar; /* tapes of the networks, one per record; see chain_weights() */
    const double *w;
    int stopped;
    const chain_lanes *lanes; /* NULL: none */
    double *lanes_tape;
};

/* Stages of the classical Runge-Kutta method: their place in the step and their weights. */
static const double ahead[4] = {0, 0.5, 0.5, 1}, weight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};

/* State of record `to` = state of record r moved for a time h at the rates of record `by`. */
INLINE void move(const double *r, const double *by, double h, double *to, const int n)
{
    for (int i = 0; i < n; i++) {
        THETA(to, n)[i] = THETA(r, n)[i] + h * OMEGA(by, n)[i];
        OMEGA(to, n)[i] = OMEGA(r, n)[i] + h * ALPHA(by, n)[i];
    }
    CART(to, n)[0] = CART(r, n)[0] + h * CART(by, n)[1];
    CART(to, n)[1] = CART(r, n)[1] + h * CART(by, n)[2];
}

/* Computes the state of record `next` from the four stages that start with record r. */
INLINE void advance_rk4(const chain *c, const double *r, double *next, const int n)
{
    double *to = CART(next, n);
    memcpy(next, r, 2 * (size_t)n * sizeof *r);
    to[0] = CART(r, n)[0];
    to[1] = CART(r, n)[1];
    for (int k = 0; k < 4; k++, r += RECORD(n)) {
        move(next, r, c->law.p.h * weight[k], next, n);
    }
}

/* ---- networks ---- */

/* Inputs of the networks in the state of record r: x, v, relative angles and rates. */
static void net_inputs(const chain *c, const double *r, const int n, double *in)
{
    (void)c;
    in[0] = CART(r, n)[0];
    in[1] = CART(r, n)[1];
    for (int i = 0; i < n; i++) {
        in[2 + i] = THETA(r, n)[i] - (i > 0 ? THETA(r, n)[i - 1] : 0);
        in[2 + n + i] = OMEGA(r, n)[i] - (i > 0 ? OMEGA(r, n)[i - 1] : 0);
    }
}

/* Writes the controls u of step t after the networks to `changed`. */
static const double *net_controls(const chain *c, uint64_t t, const double *r, const double *u, const int n,
                                  const int force, double *changed)
{
    double in[2 + 2 * N];
    net_inputs(c, r, n, in);
    memcpy(changed, u, (size_t)(n + 1) * sizeof *u);
    ds_hybrid_forward(c->law.p.hybrid, c->w, in, changed + !force, c->net_tape + t * c->law.p.hybrid->tape);
    return changed;
}

/* Reverse of net_controls(). u_bar, in: derivatives by the changed controls; out: by those before. Adds the
 * derivatives by the inputs of the networks to those by the state. */
static void net_reverse(const chain *c, uint64_t t, double *u_bar, const int n, const int force,
                        double cart_bar[2], double *tb, double *ob)
{
    double in_bar[2 + 2 * N] = {0};
    ds_hybrid_reverse(c->law.p.hybrid, c->w, c->net_tape + t * c->law.p.hybrid->tape, u_bar + !force,
                      c->w_bar, in_bar);
    cart_bar[0] += in_bar[0];
    cart_bar[1] += in_bar[1];
    for (int i = 0; i < n; i++) {
        tb[i] += in_bar[2 + i] - (i + 1 < n ? in_bar[3 + i] : 0);
        ob[i] += in_bar[2 + n + i] - (i + 1 < n ? in_bar[3 + n + i] : 0);
    }
}

/* Returns whether to stop; polls the host every POLL steps. */
static int should_stop(chain *c, uint64_t t)
{
    if ((t + 1) % POLL != 0 || !c->law.p.host) {
        return 0;
    }
    c->stopped = c->law.p.host->should_stop(c->law.p.host) != 0;
    return c->stopped;
}

INLINE void simulate(chain *c, const double *u, const int n, const int force)
{
    double *r = c->tape;
    uint64_t held = 0;
    for (uint64_t t = 0; t < c->steps && !should_stop(c, t); t++) {
        const double *begin = r;
        double changed[N + 1];
        for (uint64_t k = 0; k < c->stages; k++, r += RECORD(n)) {
            if (k > 0) {
                move(begin, r - RECORD(n), c->law.p.h * ahead[k], r, n);
            }
            const double *controls =
                c->law.p.hybrid ? net_controls(c, t * c->stages + k, r, u, n, force, changed) : u;
            accelerate(&c->law, r, controls, CART(begin, n)[1], n, force);
        }
        if (c->stages > 1) {
            advance_rk4(c, begin, r, n);
        } else {
            advance(&c->law, begin, r, n);
        }
        if (++held == c->hold) {
            held = 0;
            u += n + 1;
        }
    }
}

/* ---- reverse ---- */

/* The same for the four stages of a step of RK4 that start with record r. */
INLINE void reverse_rk4(const chain *c, uint64_t t, const double *r, double cart_bar[2], double *tb,
                        double *ob, double *ub, const int n, const int force)
{
    const double h = c->law.p.h;
    double sum_t[N], sum_o[N], st[N] = {0}, so[N] = {0}, sum_cart[2] = {cart_bar[0], cart_bar[1]};
    double cart[2] = {0, 0};
    memcpy(sum_t, tb, (size_t)n * sizeof *tb);
    memcpy(sum_o, ob, (size_t)n * sizeof *ob);
    for (int k = 3; k >= 0;
         k--) { /* st, so, cart: derivatives by the state of stage k + 1, then of stage k */
        const double next = k < 3 ? ahead[k + 1] : 0;
        double lam[N + 1], of_stage[N + 1] = {0}, rate_o[N];
        for (int i = 0; i < n; i++) {
            rate_o[i] = h * (weight[k] * tb[i] + next * st[i]);
            lam[i] = h * (weight[k] * ob[i] + next * so[i]);
            st[i] = 0;
            so[i] = rate_o[i];
        }
        const double rate_v = h * (weight[k] * cart_bar[0] + next * cart[0]);
        lam[n] = h * (weight[k] * cart_bar[1] + next * cart[1]);
        cart[0] = 0;
        cart[1] = rate_v;
        const double by_cart =
            reverse_accelerations(&c->law, r + k * RECORD(n), lam, st, so, of_stage, n, force);
        of_stage[0] = force ? by_cart : by_cart / h;
        if (c->law.p.hybrid) {
            net_reverse(c, 4 * t + (uint64_t)k, of_stage, n, force, cart, st, so);
        }
        for (int i = 0; i <= n; i++) {
            ub[i] += of_stage[i];
        }
        for (int i = 0; i < n; i++) {
            sum_t[i] += st[i];
            sum_o[i] += so[i];
        }
        sum_cart[0] += cart[0];
        sum_cart[1] += cart[1] - (force ? 0 : by_cart / h);
    }
    cart_bar[0] = sum_cart[0];
    cart_bar[1] = sum_cart[1];
    memcpy(tb, sum_t, (size_t)n * sizeof *tb);
    memcpy(ob, sum_o, (size_t)n * sizeof *ob);
}

INLINE void reverse(chain *c, chain_state *bar, double *u_bar, const int n, const int force)
{
    double cart_bar[2] = {bar->x, bar->v}, tb[N], ob[N];
    uint64_t left = c->steps % c->hold ? c->steps % c->hold : c->hold;
    double *ub = u_bar + (c->steps - 1) / c->hold * (uint64_t)(n + 1);
    memcpy(tb, bar->theta, (size_t)n * sizeof *tb);
    memcpy(ob, bar->omega, (size_t)n * sizeof *ob);
    for (uint64_t t = c->steps; t-- > 0 && !should_stop(c, t);) {
        if (c->stages > 1) {
            reverse_rk4(c, t, c->tape + 4 * t * RECORD(n), cart_bar, tb, ob, ub, n, force);
        } else if (c->law.p.hybrid) {
            double of_step[N + 1] = {0};
            reverse_step(&c->law, c->tape + t * RECORD(n), cart_bar, tb, ob, of_step, n, force);
            net_reverse(c, t, of_step, n, force, cart_bar, tb, ob);
            for (int i = 0; i <= n; i++) {
                ub[i] += of_step[i];
            }
        } else {
            reverse_step(&c->law, c->tape + t * RECORD(n), cart_bar, tb, ob, ub, n, force);
        }
        if (--left == 0) {
            left = c->hold;
            ub -= n + 1;
        }
    }
    bar->x = cart_bar[0];
    bar->v = cart_bar[1];
    memcpy(bar->theta, tb, (size_t)n * sizeof *tb);
    memcpy(bar->omega, ob, (size_t)n * sizeof *ob);
}

/* ---- interface ---- */

/* The loops are compiled for a few fixed numbers of links, so that they unroll, and once for any number. */
#define FOR_LINKS(call, ...)                                                                                 \
    do {                                                                                                     \
        const int any = c->law.p.links, force = c->law.p.control == CHAIN_FORCE;                             \
        switch (any * 2 + force) {                                                                           \
        case 2:                                                                                              \
            call(__VA_ARGS__, 1, 0);                                                                         \
            break;                                                                                           \
        case 3:                                                                                              \
            call(__VA_ARGS__, 1, 1);                                                                         \
            break;                                                                                           \
        case 4:                                                                                              \
            call(__VA_ARGS__, 2, 0);                                                                         \
            break;                                                                                           \
        case 6:                                                                                              \
            call(__VA_ARGS__, 3, 0);                                                                         \
            break;                                                                                           \
        case 7:                                                                                              \
            call(__VA_ARGS__, 3, 1);                                                                         \
            break;                                                                                           \
        default:                                                                                             \
            call(__VA_ARGS__, any, force);                                                                   \
        }                                                                                                    \
    } while (0)

static void put(chain *c, uint64_t t, const chain_state *s)
{
    int n = c->law.p.links;
    double *r = c->tape + t * c->stages * (uint64_t)RECORD(n);
    memcpy(THETA(r, n), s->theta, (size_t)n * sizeof *r);
    memcpy(OMEGA(r, n), s->omega, (size_t)n * sizeof *r);
    CART(r, n)[0] = s->x;
    CART(r, n)[1] = s->v;
}

void chain_get(const chain *c, uint64_t t, chain_state *out)
{
    int n = c->law.p.links;
    const double *r = c->tape + t * c->stages * (uint64_t)RECORD(n);
    memset(out, 0, sizeof *out);
    memcpy(out->theta, THETA(r, n), (size_t)n * sizeof *r);
    memcpy(out->omega, OMEGA(r, n), (size_t)n * sizeof *r);
    out->x = CART(r, n)[0];
    out->v = CART(r, n)[1];
}

void chain_simulate(chain *c, const chain_state *start, uint64_t steps, const double *u, uint64_t hold)
{
    c->steps = steps;
    c->hold = hold;
    c->stopped = 0;
    put(c, 0, start);
    FOR_LINKS(simulate, c, u);
}

void chain_weights(chain *c, const double *w, double *w_bar)
{
    c->w = w;
    c->w_bar = w_bar;
}

void chain_adjoint(chain *c, chain_state *bar, double *u_bar)
{
    if (c->steps == 0) {
        return;
    }
    uint64_t blocks = (c->steps + c->hold - 1) / c->hold;
    memset(u_bar, 0, blocks * (uint64_t)(c->law.p.links + 1) * sizeof *u_bar);
    FOR_LINKS(reverse, c, bar, u_bar);
}

/* ---- lanes ---- */

static void open_lanes(chain *c, ds_memory *m, uint64_t steps)
{
    if (c->law.p.hybrid != NULL || c->stages > 1 || steps > LANES_STEPS) {
        return;
    }
    c->lanes = chain_lanes_find();
    c->lanes_tape = lanes_memory(m, (steps + 1) * (uint64_t)RECORD(c->law.p.links), c->lanes->width);
}

uint64_t chain_width(const chain *c)
{
    return c->lanes != NULL ? c->lanes->width : 1;
}

void chain_lanes_simulate(chain *c, const chain_table *t, const chain_state *start, int keep,
                          chain_state *end)
{
    c->lanes->simulate(&c->law, t, start, c->lanes_tape, keep, end);
}

void chain_lanes_adjoint(chain *c, const chain_table *t, chain_state *bar, double *const *grad)
{
    c->lanes->adjoint(&c->law, t, c->lanes_tape, bar, grad);
}

/* ---- state ---- */

int chain_stopped(const chain *c)
{
    return c->stopped;
}

int chain_finite(const chain *c, uint64_t t)
{
    int n = c->law.p.links;
    const double *r = c->tape + t * c->stages * (uint64_t)RECORD(n);
    int finite = isfinite(CART(r, n)[0]) && isfinite(CART(r, n)[1]);
    for (int i = 0; i < 2 * n; i++) {
        finite = finite && isfinite(r[i]);
    }
    return finite;
}

int64_t chain_bad_step(const chain *c)
{
    for (uint64_t t = 0; t <= c->steps; t++) {
        if (!chain_finite(c, t)) {
            return t ? (int64_t)t - 1 : 0;
        }
    }
    return -1;
}

void chain_accelerations(chain *c, const chain_state *s, const double *u, double *a, double *alpha)
{
    int n = c->law.p.links;
    c->steps = 0;
    put(c, 0, s);
    accelerate(&c->law, c->tape, u, s->v, n, c->law.p.control == CHAIN_FORCE);
    memcpy(alpha, ALPHA(c->tape, n), (size_t)n * sizeof *alpha);
    *a = CART(c->tape, n)[2];
}

/* Arm of link j to the centre of mass of link k >= j. */
static double arm(const chain_params *p, int k, int j)
{
    return j < k ? p->length[j] : p->com[k];
}

chain *chain_create(ds_memory *m, const chain_params *p, uint64_t steps)
{
    chain *c = ds_memory_take(m, 1, sizeof *c);
    const uint64_t stages = p->integrator == CHAIN_RK4 ? 4 : 1, records = steps * stages;
    double *tape = ds_memory_doubles(m, (records + 1) * (uint64_t)RECORD(p->links));
    double *net_tape =
        p->hybrid && p->hybrid->nets > 0 ? ds_memory_doubles(m, records * p->hybrid->tape) : NULL;
    if (m->failed) {
        return NULL;
    }
    c->law.p = *p;
    c->law.p.hybrid = net_tape ? p->hybrid : NULL;
    c->net_tape = net_tape;
    c->tape = tape;
    c->stages = stages;
    c->law.M0 = p->cart_mass;
    for (int k = 0; k < p->links; k++) {
        c->law.M0 += p->mass[k];
        for (int i = 0; i <= k; i++) {
            c->law.b[i] += p->mass[k] * arm(p, k, i);
            for (int j = 0; j <= k; j++) {
                c->law.A[i][j] += p->mass[k] * arm(p, k, i) * arm(p, k, j);
            }
        }
    }
    open_lanes(c, m, steps);
    return c;
}

/* ---- observations ---- */

void chain_tip_at(const chain_params *p, double x, const double *sine, const double *cosine, double tip[2])
{
    tip[0] = x;
    tip[1] = 0;
    for (int i = 0; i < p->links; i++) {
        tip[0] -= p->length[i] * sine[i];
        tip[1] += p->length[i] * cosine[i];
    }
}

void chain_tip(const chain_params *p, const chain_state *s, double tip[2])
{
    double sine[N], cosine[N];
    for (int i = 0; i < p->links; i++) {
        sine[i] = sin(s->theta[i]);
        cosine[i] = cos(s->theta[i]);
    }
    chain_tip_at(p, s->x, sine, cosine, tip);
}

double chain_energy(const chain_params *p, const chain_state *s)
{
    double E = 0.5 * p->cart_mass * s->v * s->v;
    for (int k = 0; k < p->links; k++) {
        double vx = s->v, vy = 0, y = 0;
        for (int j = 0; j <= k; j++) {
            vx -= arm(p, k, j) * cos(s->theta[j]) * s->omega[j];
            vy -= arm(p, k, j) * sin(s->theta[j]) * s->omega[j];
            y += arm(p, k, j) * cos(s->theta[j]);
        }
        E += 0.5 * p->mass[k] * (vx * vx + vy * vy) + 0.5 * p->inertia[k] * s->omega[k] * s->omega[k] +
             p->mass[k] * p->gravity * y;
    }
    return E;
}

double chain_momentum(const chain_params *p, const chain_state *s)
{
    double P = p->cart_mass * s->v;
    for (int k = 0; k < p->links; k++) {
        double vx = s->v;
        for (int j = 0; j <= k; j++) {
            vx -= arm(p, k, j) * cos(s->theta[j]) * s->omega[j];
        }
        P += p->mass[k] * vx;
    }
    return P;
}
