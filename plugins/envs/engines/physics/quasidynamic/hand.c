/* SPDX-License-Identifier: Apache-2.0 */
/* hand.c - see hand.h. A link is the segment a b; p = a + share (b - a) is its point next to the centre c
 * of the disc, n = (c - p)/|c - p| the normal, z = p + thickness n where the link touches. A row pushes along
 * e = n +- mu t, with t normal to n: it has e for the disc, -+ mu r for its angle, and - e . (velocity of z)
 * for the joints. */
#include "hand.h"

#include "common/sincos.h"

#include <math.h>
#include <string.h>

#define SMALLEST 1e-9 /* m: nearest that the centre of the disc comes to the axis of a link */

typedef struct touch {
    int finger, second; /* second: link 2 */
    double a[2], b[2], joint[2], share, far, gap, n[2], z[2];
} touch;

/* Velocity of point x per rate of a joint at o. */
static double lever(const double *x, const double *o, const double *along)
{
    return along[1] * (x[0] - o[0]) - along[0] * (x[1] - o[1]);
}

void hand_finger(const hand *h, const double *q, int f, double *joint, double *tip)
{
    double sine, cosine;
    const double *angle = q + 3 + 2 * f;
    sincos_same(angle[0], &sine, &cosine);
    joint[0] = h->base[f][0] + h->length[0] * cosine;
    joint[1] = h->base[f][1] + h->length[0] * sine;
    sincos_same(angle[0] + angle[1], &sine, &cosine);
    tip[0] = joint[0] + h->length[1] * cosine;
    tip[1] = joint[1] + h->length[1] * sine;
}

static touch touch_of(const hand *h, const double *q, int l)
{
    touch t = {.finger = l / 2, .second = l % 2};
    double tip[2];
    hand_finger(h, q, t.finger, t.joint, tip);
    memcpy(t.a, t.second ? t.joint : h->base[t.finger], sizeof t.a);
    memcpy(t.b, t.second ? tip : t.joint, sizeof t.b);
    const double e[2] = {t.b[0] - t.a[0], t.b[1] - t.a[1]}, length = h->length[t.second];
    const double along = (q[0] - t.a[0]) * e[0] + (q[1] - t.a[1]) * e[1];
    t.share = fmin(fmax(along / (length * length), 0), 1);
    const double p[2] = {t.a[0] + t.share * e[0], t.a[1] + t.share * e[1]};
    t.far = hypot(q[0] - p[0], q[1] - p[1]);
    if (t.far < SMALLEST) {
        t.far = NAN; /* no normal: the step fails */
    }
    for (int k = 0; k < 2; k++) {
        t.n[k] = (q[k] - p[k]) / t.far;
        t.z[k] = p[k] + h->thickness * t.n[k];
    }
    t.gap = t.far - h->radius - h->thickness + h->shift[l];
    return t;
}

double hand_gap(const hand *h, const double *q, int l)
{
    return touch_of(h, q, l).gap;
}

/* Without friction both rows of a contact would be the same. */
static int rows_of(const hand *h)
{
    return h->friction > 0 ? 2 : 1;
}

static double side(int row)
{
    return row == 0 ? 1 : -1;
}

/* Rows of the contact from row `at` on. */
static void write_rows(const hand *h, const touch *t, contact_program *p, int at)
{
    for (int r = 0; r < rows_of(h); r++) {
        const double mu = side(r) * h->friction;
        const double e[2] = {t->n[0] - mu * t->n[1], t->n[1] + mu * t->n[0]};
        double *row = p->J[at + r];
        memset(row, 0, sizeof p->J[0]);
        row[0] = e[0];
        row[1] = e[1];
        row[2] = -mu * h->radius;
        row[3 + 2 * t->finger] = -lever(t->z, h->base[t->finger], e);
        row[4 + 2 * t->finger] = t->second ? -lever(t->z, t->joint, e) : 0;
        p->gap[at + r] = t->gap;
    }
}

static void write_program(const hand *h, const double *q, const double *u, touch *t, contact_program *p)
{
    *p = (contact_program){.n = HAND_STATES, .kappa = h->kappa};
    p->q[0] = p->q[1] = h->drag;
    p->q[2] = 0.5 * h->drag * h->radius * h->radius;
    for (int k = 0; k < HAND_CONTROLS; k++) {
        p->q[3 + k] = h->h * h->stiffness;
        p->b[3 + k] = -h->h * h->stiffness * u[k];
    }
    for (int l = 0; l < HAND_LINKS; l++) {
        if (h->links >> l & 1) {
            t[l] = touch_of(h, q, l);
            write_rows(h, &t[l], p, p->m);
            p->m += rows_of(h);
        }
    }
}

int hand_step(const hand *h, const double *q, const double *u, double *next, double *force)
{
    touch t[HAND_LINKS];
    contact_program p;
    contact_solution s;
    write_program(h, q, u, t, &p);
    const int made = contact_program_solve(&p, &s);
    for (int k = 0; k < HAND_STATES; k++) {
        next[k] = made ? q[k] + s.d[k] : (double)NAN;
    }
    for (int l = 0, at = 0; force && l < HAND_LINKS; l++) {
        force[l] = 0;
        for (int r = 0; (h->links >> l & 1) && r < rows_of(h); r++) {
            force[l] += made ? s.force[at++] / h->h : (double)NAN;
        }
    }
    return made;
}

/* Adds what x_bar means for the joints: x is a point of link 2 or, if `first`, of link 1. */
static void turn_back(const hand *h, const touch *t, const double *x, int first, const double *x_bar,
                      double *q_bar)
{
    q_bar[3 + 2 * t->finger] += lever(x, h->base[t->finger], x_bar);
    if (!first) {
        q_bar[4 + 2 * t->finger] += lever(x, t->joint, x_bar);
    }
}

/* Adds what along, x and o contribute to the derivative of lever(), times `bar`. */
static void lever_back(double bar, const double *x, const double *o, const double *along, double *along_bar,
                       double *x_bar, double *o_bar)
{
    along_bar[0] -= bar * (x[1] - o[1]);
    along_bar[1] += bar * (x[0] - o[0]);
    x_bar[0] += bar * along[1];
    x_bar[1] -= bar * along[0];
    o_bar[0] -= bar * along[1];
    o_bar[1] += bar * along[0];
}

/* Reverse of write_rows() and touch_of(). */
static void rows_back(const hand *h, const touch *t, const contact_adjoint *adj, int at, const double *q,
                      double *q_bar)
{
    double n_bar[2] = {0, 0}, z_bar[2] = {0, 0}, joint_bar[2] = {0, 0}, base_bar[2] = {0, 0}, gap_bar = 0;
    for (int r = 0; r < rows_of(h); r++) {
        const double mu = side(r) * h->friction, *bar = adj->J[at + r];
        const double e[2] = {t->n[0] - mu * t->n[1], t->n[1] + mu * t->n[0]};
        double e_bar[2] = {bar[0], bar[1]};
        lever_back(-bar[3 + 2 * t->finger], t->z, h->base[t->finger], e, e_bar, z_bar, base_bar);
        if (t->second) {
            lever_back(-bar[4 + 2 * t->finger], t->z, t->joint, e, e_bar, z_bar, joint_bar);
        }
        n_bar[0] += e_bar[0] + mu * e_bar[1];
        n_bar[1] += e_bar[1] - mu * e_bar[0];
        gap_bar += adj->gap[at + r];
    }
    double p_bar[2], a_bar[2], edge_bar[2], share_bar = 0;
    for (int k = 0; k < 2; k++) {
        n_bar[k] += h->thickness * z_bar[k];
    }
    const double inward = n_bar[0] * t->n[0] + n_bar[1] * t->n[1];
    const double length = h->length[t->second];
    for (int k = 0; k < 2; k++) {
        const double c_bar = (n_bar[k] - inward * t->n[k]) / t->far + gap_bar * t->n[k];
        q_bar[k] += c_bar;
        p_bar[k] = z_bar[k] - c_bar;
        a_bar[k] = p_bar[k];
        edge_bar[k] = t->share * p_bar[k];
        share_bar += p_bar[k] * (t->b[k] - t->a[k]);
    }
    if (t->share > 0 && t->share < 1) { /* the edge has a constant length */
        for (int k = 0; k < 2; k++) {
            const double bar = share_bar / (length * length), edge = t->b[k] - t->a[k];
            q_bar[k] += bar * edge;
            a_bar[k] -= bar * edge;
            edge_bar[k] += bar * (q[k] - t->a[k]);
        }
    }
    for (int k = 0; k < 2; k++) {
        a_bar[k] -= edge_bar[k];
        joint_bar[k] += t->second ? a_bar[k] : edge_bar[k];
    }
    if (t->second) {
        turn_back(h, t, t->b, 0, edge_bar, q_bar);
    }
    turn_back(h, t, t->joint, 1, joint_bar, q_bar);
}

static void back(const hand *h, const double *q, const touch *t, const contact_program *p,
                 const contact_solution *s, const double *next_bar, double *q_bar, double *u_bar)
{
    contact_adjoint adj;
    contact_program_back(p, s, next_bar, &adj);
    for (int k = 0; k < HAND_STATES; k++) {
        q_bar[k] += next_bar[k];
    }
    for (int k = 0; k < HAND_CONTROLS; k++) {
        u_bar[k] -= h->h * h->stiffness * adj.b[3 + k];
    }
    for (int l = 0, at = 0; l < HAND_LINKS; l++) {
        if (h->links >> l & 1) {
            rows_back(h, &t[l], &adj, at, q, q_bar);
            at += rows_of(h);
        }
    }
}

void hand_back(const hand *h, const double *q, const double *u, const double *next_bar, double *q_bar,
               double *u_bar)
{
    touch t[HAND_LINKS];
    contact_program p;
    contact_solution s;
    write_program(h, q, u, t, &p);
    contact_program_solve(&p, &s);
    back(h, q, t, &p, &s, next_bar, q_bar, u_bar);
}

void hand_linearise(const hand *h, const double *q, const double *u, double A[HAND_STATES][HAND_STATES],
                    double B[HAND_STATES][HAND_CONTROLS])
{
    touch t[HAND_LINKS];
    contact_program p;
    contact_solution s;
    write_program(h, q, u, t, &p);
    contact_program_solve(&p, &s);
    for (int i = 0; i < HAND_STATES; i++) {
        double unit[HAND_STATES] = {0};
        unit[i] = 1;
        memset(A[i], 0, sizeof A[i]);
        memset(B[i], 0, sizeof B[i]);
        back(h, q, t, &p, &s, unit, A[i], B[i]);
    }
}
