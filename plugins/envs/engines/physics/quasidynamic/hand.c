/* SPDX-License-Identifier: Apache-2.0 */
/* hand.c - see hand.h. A link is the segment a b; p = a + share (b - a) is its point next to the centre c
 * of the disc, n = (c - p)/|c - p| the normal, z = p + thickness n where the link touches. A row pushes along
 * e = n +- mu t, with t normal to n: it has e for the disc, -+ mu r for its angle, and - e . (velocity of z)
 * for the joints. */
#include "hand.h"

#include "common/sincos.h"

#include <math.h>
#include <string.h>

/* ---- the program of a step ---- */

#define TOLERANCE 1e-13 /* of s in m, and of pivots relative to the diagonal */
enum { ROUNDS = 200, NEWTON = 100 };

/* Solves A x = x for a symmetric positive matrix of `n` rows of PROGRAM_ROWS numbers, which it overwrites. */
static void solve(int n, double A[][PROGRAM_ROWS], double *x)
{
    for (int k = 0; k < n; k++) {
        for (int i = k + 1; i < n; i++) {
            const double factor = A[i][k] / A[k][k];
            for (int j = k; j < n; j++) {
                A[i][j] -= factor * A[k][j];
            }
            x[i] -= factor * x[k];
        }
    }
    for (int k = n; k-- > 0;) {
        for (int j = k + 1; j < n; j++) {
            x[k] -= A[k][j] * x[j];
        }
        x[k] /= A[k][k];
    }
}

/* Entry of J Q^-1 J'. */
static double gram(const contact_program *p, int i, int j)
{
    double sum = 0;
    for (int k = 0; k < p->n; k++) {
        sum += p->J[i][k] * p->J[j][k] / p->q[k];
    }
    return sum;
}

static double slack(const contact_program *p, int i, const double *d)
{
    double s = p->gap[i];
    for (int k = 0; k < p->n; k++) {
        s += p->J[i][k] * d[k];
    }
    return s;
}

/* d and s of the forces. */
static void follow(const contact_program *p, contact_solution *out)
{
    for (int k = 0; k < p->n; k++) {
        double impulse = -p->b[k];
        for (int i = 0; i < p->m; i++) {
            impulse += out->force[i] * p->J[i][k];
        }
        out->d[k] = impulse / p->q[k];
    }
    for (int i = 0; i < p->m; i++) {
        out->s[i] = slack(p, i, out->d);
    }
}

/* Changes of the acting forces per force of row i that keep their rows closed: r = G_PP^-1 G_Pi. Returns how
 * much s_i still rises per force. */
static double respond(const contact_program *p, const contact_solution *out, int i, double *r)
{
    double A[PROGRAM_ROWS][PROGRAM_ROWS], rise = gram(p, i, i);
    for (int a = 0; a < out->count; a++) {
        for (int b = 0; b < out->count; b++) {
            A[a][b] = gram(p, out->act[a], out->act[b]);
        }
        r[a] = gram(p, out->act[a], i);
    }
    solve(out->count, A, r);
    for (int a = 0; a < out->count; a++) {
        rise -= r[a] * gram(p, out->act[a], i);
    }
    return rise;
}

static void drop(contact_solution *out, int a)
{
    out->force[out->act[a]] = 0;
    out->count--;
    memmove(out->act + a, out->act + a + 1, (unsigned)(out->count - a) * sizeof *out->act);
}

/* Raises the force of row i, which is violated, until it is closed; drops acting rows whose force becomes 0.
 * Returns 0 where that is impossible. */
static int close_row(const contact_program *p, contact_solution *out, int i, const double *margin)
{
    for (int round = 0; round < ROUNDS; round++) {
        double r[PROGRAM_ROWS];
        const double rise = respond(p, out, i, r);
        const int independent = rise > TOLERANCE * gram(p, i, i) && out->count < p->n;
        double length = independent ? -(out->s[i] - margin[i]) / rise : (double)INFINITY;
        int first = -1;
        for (int a = 0; a < out->count; a++) {
            if (r[a] > 0 && out->force[out->act[a]] / r[a] < length) {
                length = out->force[out->act[a]] / r[a];
                first = a;
            }
        }
        if (!isfinite(length)) {
            return 0;
        }
        for (int a = 0; a < out->count; a++) {
            out->force[out->act[a]] -= length * r[a];
        }
        out->force[i] += length;
        if (first >= 0) {
            drop(out, first);
        } else {
            out->act[out->count++] = i;
        }
        follow(p, out);
        if (first < 0) {
            return 1;
        }
    }
    return 0;
}

/* The hard program with s >= margin. */
static int solve_hard(const contact_program *p, const double *margin, contact_solution *out)
{
    *out = (contact_solution){.count = 0};
    follow(p, out);
    for (int round = 0; round < ROUNDS; round++) {
        int worst = -1;
        for (int i = 0; i < p->m; i++) {
            int acts = 0;
            for (int a = 0; a < out->count; a++) {
                acts |= out->act[a] == i;
            }
            const double s = out->s[i] - margin[i];
            if (isnan(s)) {
                return 0;
            }
            if (!acts && s < -TOLERANCE && (worst < 0 || s < out->s[worst] - margin[worst])) {
                worst = i;
            }
        }
        if (worst < 0) {
            return 1;
        }
        if (!close_row(p, out, worst, margin)) {
            return 0;
        }
    }
    return 0;
}

static double barrier(const contact_program *p, const double *d)
{
    double sum = 0;
    for (int k = 0; k < p->n; k++) {
        sum += 0.5 * p->q[k] * d[k] * d[k] + p->b[k] * d[k];
    }
    for (int i = 0; i < p->m; i++) {
        sum -= log(slack(p, i, d)) / p->kappa;
    }
    return sum;
}

/* Q + J' diag(1/(kappa s^2)) J */
static void curvature(const contact_program *p, const double *s, double H[][PROGRAM_ROWS])
{
    for (int k = 0; k < p->n; k++) {
        for (int l = 0; l < p->n; l++) {
            H[k][l] = k == l ? p->q[k] : 0;
            for (int i = 0; i < p->m; i++) {
                H[k][l] += p->J[i][k] * p->J[i][l] / (p->kappa * s[i] * s[i]);
            }
        }
    }
}

/* Newton's method from out->d, where all s are positive. */
static int minimise(const contact_program *p, contact_solution *out)
{
    double value = barrier(p, out->d);
    for (int round = 0; round < NEWTON; round++) {
        double H[PROGRAM_DOF][PROGRAM_ROWS], step[PROGRAM_DOF], g[PROGRAM_DOF], decrement = 0, length = 1;
        for (int k = 0; k < p->n; k++) {
            g[k] = p->q[k] * out->d[k] + p->b[k];
            for (int i = 0; i < p->m; i++) {
                g[k] -= p->J[i][k] / (p->kappa * out->s[i]);
            }
            step[k] = -g[k];
        }
        curvature(p, out->s, H);
        solve(p->n, H, step);
        for (int k = 0; k < p->n; k++) {
            decrement -= g[k] * step[k];
        }
        for (int i = 0; i < p->m; i++) {
            const double change = slack(p, i, step) - p->gap[i];
            length = out->s[i] + length * change > 0.01 * out->s[i] ? length : 0.99 * out->s[i] / -change;
        }
        /* close to the minimum rounding of the value would stop the search */
        const int is_close = p->kappa * decrement < 1e-10;
        double next[PROGRAM_DOF], reached = value;
        for (int halvings = 0; halvings < 60; halvings++, length *= 0.5) {
            for (int k = 0; k < p->n; k++) {
                next[k] = out->d[k] + length * step[k];
            }
            reached = barrier(p, next);
            if (is_close || reached <= value - 0.25 * length * decrement) {
                break;
            }
        }
        memcpy(out->d, next, sizeof next);
        value = reached;
        for (int i = 0; i < p->m; i++) {
            out->s[i] = slack(p, i, out->d);
        }
        if (p->kappa * decrement < 1e-16) {
            return 1;
        }
    }
    return 0;
}

int contact_program_solve(const contact_program *p, contact_solution *out)
{
    double margin[PROGRAM_ROWS] = {0};
    if (p->kappa == 0) {
        return solve_hard(p, margin, out);
    }
    int made = 0;
    for (double share = 0.5; !made && share > 1e-9; share *= 0.1) {
        for (int i = 0; i < p->m; i++) {
            margin[i] = share * sqrt(gram(p, i, i) / p->kappa); /* s where a single row is closed */
        }
        made = solve_hard(p, margin, out);
    }
    made = made && minimise(p, out);
    for (int i = 0; i < p->m; i++) {
        out->force[i] = 1 / (p->kappa * out->s[i]);
    }
    return made;
}

/* With y'(d condition) for y = (w, v): w solves the linearised condition for d_bar, v are the multipliers of
 * the rows. */
void contact_program_back(const contact_program *p, const contact_solution *at, const double *d_bar,
                          contact_adjoint *out)
{
    double A[PROGRAM_ROWS][PROGRAM_ROWS], w[PROGRAM_DOF], v[PROGRAM_ROWS] = {0}, z[PROGRAM_ROWS];
    memset(out, 0, sizeof *out);
    if (p->kappa == 0) {
        for (int a = 0; a < at->count; a++) {
            z[a] = 0;
            for (int k = 0; k < p->n; k++) {
                z[a] += p->J[at->act[a]][k] * d_bar[k] / p->q[k];
            }
            for (int b = 0; b < at->count; b++) {
                A[a][b] = gram(p, at->act[a], at->act[b]);
            }
        }
        solve(at->count, A, z);
        memcpy(w, d_bar, (unsigned)p->n * sizeof *w);
        for (int a = 0; a < at->count; a++) {
            v[at->act[a]] = z[a];
            for (int k = 0; k < p->n; k++) {
                w[k] -= z[a] * p->J[at->act[a]][k];
            }
        }
        for (int k = 0; k < p->n; k++) {
            w[k] /= p->q[k];
        }
    } else {
        memcpy(w, d_bar, (unsigned)p->n * sizeof *w);
        curvature(p, at->s, A);
        solve(p->n, A, w);
        for (int i = 0; i < p->m; i++) {
            for (int k = 0; k < p->n; k++) {
                v[i] += p->J[i][k] * w[k] / (p->kappa * at->s[i] * at->s[i]);
            }
        }
    }
    for (int k = 0; k < p->n; k++) {
        out->b[k] = -w[k];
    }
    for (int i = 0; i < p->m; i++) {
        out->gap[i] = -v[i];
        for (int k = 0; k < p->n; k++) {
            out->J[i][k] = at->force[i] * w[k] - v[i] * at->d[k];
        }
    }
}

/* ---- the hand ---- */

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

/* Steps of a mean. */
static uint64_t passes(const hand *h)
{
    return h->draws > 0 ? 2 * h->draws : 1;
}

/* State and control of step k of a mean. Both signs of a draw, so that the mean of the noise is 0. */
static void disturb(const hand *h, uint64_t k, const double *q, const double *u, double *at)
{
    memcpy(at, q, HAND_STATES * sizeof *at);
    memcpy(at + HAND_STATES, u, HAND_CONTROLS * sizeof *at);
    for (int i = 0; h->draws > 0 && i < HAND_NOISE; i++) {
        at[i] += (k % 2 ? -1 : 1) * h->noise[k / 2 * HAND_NOISE + (uint64_t)i];
    }
}

static int step_once(const hand *h, const double *q, const double *u, double *next, double *force)
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

int hand_step(const hand *h, const double *q, const double *u, double *next, double *force)
{
    double moved[HAND_STATES] = {0}, pressed[HAND_LINKS] = {0}, count = 0;
    if (h->draws == 0) {
        return step_once(h, q, u, next, force);
    }
    for (uint64_t k = 0; k < passes(h); k++) {
        double at[HAND_NOISE], to[HAND_STATES], by[HAND_LINKS];
        disturb(h, k, q, u, at);
        if (step_once(h, at, at + HAND_STATES, to, by)) {
            count++;
            for (int i = 0; i < HAND_STATES; i++) {
                moved[i] += to[i] - at[i];
            }
            for (int l = 0; l < HAND_LINKS; l++) {
                pressed[l] += by[l];
            }
        }
    }
    for (int i = 0; i < HAND_STATES; i++) {
        next[i] = q[i] + moved[i] / count; /* no step: NaN */
    }
    for (int l = 0; force && l < HAND_LINKS; l++) {
        force[l] = pressed[l] / count;
    }
    return count > 0;
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

/* The products of `rows` adjoints, one after the other, with the mean of the derivatives by state and
 * control. */
static void back_of_mean(const hand *h, const double *q, const double *u, int rows, const double *next_bar,
                         double bar[][HAND_NOISE])
{
    double count = 0;
    memset(bar, 0, (unsigned)rows * sizeof *bar);
    for (uint64_t k = 0; k < passes(h); k++) {
        touch t[HAND_LINKS];
        contact_program p;
        contact_solution s;
        double at[HAND_NOISE];
        disturb(h, k, q, u, at);
        write_program(h, at, at + HAND_STATES, t, &p);
        if (contact_program_solve(&p, &s)) {
            count++;
            for (int r = 0; r < rows; r++) {
                back(h, at, t, &p, &s, next_bar + r * HAND_STATES, bar[r], bar[r] + HAND_STATES);
            }
        }
    }
    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < HAND_NOISE; i++) {
            bar[r][i] /= count;
        }
    }
}

void hand_back(const hand *h, const double *q, const double *u, const double *next_bar, double *q_bar,
               double *u_bar)
{
    if (h->draws == 0) {
        touch t[HAND_LINKS];
        contact_program p;
        contact_solution s;
        write_program(h, q, u, t, &p);
        contact_program_solve(&p, &s);
        back(h, q, t, &p, &s, next_bar, q_bar, u_bar);
        return;
    }
    double bar[1][HAND_NOISE];
    back_of_mean(h, q, u, 1, next_bar, bar);
    for (int i = 0; i < HAND_NOISE; i++) {
        *(i < HAND_STATES ? q_bar + i : u_bar + i - HAND_STATES) += bar[0][i];
    }
}

void hand_linearise(const hand *h, const double *q, const double *u, double A[HAND_STATES][HAND_STATES],
                    double B[HAND_STATES][HAND_CONTROLS])
{
    double unit[HAND_STATES * HAND_STATES] = {0}, bar[HAND_STATES][HAND_NOISE];
    for (int i = 0; i < HAND_STATES; i++) {
        unit[i * (HAND_STATES + 1)] = 1;
    }
    back_of_mean(h, q, u, HAND_STATES, unit, bar);
    for (int i = 0; i < HAND_STATES; i++) {
        memcpy(A[i], bar[i], sizeof A[i]);
        memcpy(B[i], bar[i] + HAND_STATES, sizeof B[i]);
    }
}
