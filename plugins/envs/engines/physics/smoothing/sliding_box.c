/* SPDX-License-Identifier: Apache-2.0 */
/* sliding_box.c - a box on the ground: contact, steps and their reverse (see sliding_box.h). */
#include "sliding_box.h"

#include "box_field.h"

/* What the derivatives of a wrench are by. */
enum { BY_Y, BY_TILT, BY_VX, BY_VY, BY_RATE, BY_MU, BYS };

/* A place where the ground pushes with P before damping: r relative to the centre; its derivatives by height
 * and tilt. */
typedef struct place {
    double r[2], P, r_by[2][2], P_by[2];
} place;

/* Adds the force at a place. */
static void add_place(const sliding_box *s, const double *state, const place *p, sliding_wrench *w)
{
    const double rate = state[SLIDING_RATE];
    const double vn = state[SLIDING_VY] + rate * p->r[0], vt = state[SLIDING_VX] - rate * p->r[1];
    const double damped = fmax(0, 1 - s->damping * vn), slope = damped > 0 ? -s->damping : 0;
    const double speed = sqrt(vt * vt + s->slip * s->slip), share = vt / speed;
    const double bend = s->slip * s->slip / (speed * speed * speed);
    const double N = p->P * damped, F = -s->mu * share * N;
    w->force[0] += F;
    w->force[1] += N;
    w->force[2] += p->r[0] * N - p->r[1] * F;
    for (int k = 0; k < BYS; k++) {
        const int pose = k <= BY_TILT;
        const double dx = pose ? p->r_by[0][k] : 0, dy = pose ? p->r_by[1][k] : 0;
        const double dvn = rate * dx + (k == BY_VY) + (k == BY_RATE ? p->r[0] : 0);
        const double dvt = -rate * dy + (k == BY_VX) - (k == BY_RATE ? p->r[1] : 0);
        const double dN = (pose ? p->P_by[k] : 0) * damped + p->P * slope * dvn;
        const double dF = -s->mu * (bend * dvt * N + share * dN) - (k == BY_MU ? share * N : 0);
        w->by[0][k] += dF;
        w->by[1][k] += dN;
        w->by[2][k] += dx * N + p->r[0] * dN - dy * F - p->r[1] * dF;
    }
}

/* The pressure vanishes at the ends of the contact line and is continuous between them, so moving ends do not
 * contribute to derivatives. It is a polynomial of order 2 between them; two points integrate its moments
 * exactly. */
static void add_field(const sliding_box *s, const double *state, sliding_wrench *w)
{
    static const double gauss = 0.28867513459481288; /* sqrt(3) / 6 */
    const double y = state[SLIDING_Y], scale = s->stiffness / (2 * s->a);
    const double undamped = (1 / s->damping - state[SLIDING_VY]) / state[SLIDING_RATE];
    box_side sides[BOX_SIDES];
    double cut[BOX_CROSSINGS + 1];
    box_sides(s->a, s->b, y, state[SLIDING_TILT], sides);
    int cuts = box_crossings(sides, cut);
    cuts = isfinite(undamped) ? box_insert(undamped, cuts, cut) : cuts; /* where the pressure becomes 0 */
    for (int k = 0; k + 1 < cuts; k++) {
        const double middle = 0.5 * (cut[k] + cut[k + 1]), width = cut[k + 1] - cut[k];
        int which = 0;
        if (!(width > 0 && box_depth(sides, middle, &which) > 0)) {
            continue;
        }
        const box_side *side = &sides[which];
        for (int q = -1; q <= 1; q += 2) {
            const double x = middle + q * gauss * width, part = 0.5 * width * scale;
            const place p = {.r = {x, -y},
                             .P = part * (side->at + side->along * x),
                             .r_by = {{0, 0}, {-1, 0}},
                             .P_by = {part * (side->at_bar[0] + side->along_bar[0] * x),
                                      part * (side->at_bar[1] + side->along_bar[1] * x)}};
            add_place(s, state, &p, w);
        }
    }
}

/* All corners below the ground share the stiffness of two; or the deepest alone has it, of equal ones the
 * first. */
static void add_corners(const sliding_box *s, const double *state, sliding_wrench *w)
{
    place deepest = {.P = 0};
    for (int k = 0; k < BOX_SIDES; k++) {
        const double part = s->contact == SLIDING_POINT ? s->stiffness : 0.5 * s->stiffness;
        place p;
        box_corner(s->a, s->b, state[SLIDING_TILT], k, p.r);
        const double depth = -(state[SLIDING_Y] + p.r[1]);
        p.P = part * depth;
        p.P_by[0] = -part;
        p.P_by[1] = -part * p.r[0];
        p.r_by[0][0] = p.r_by[1][0] = 0;
        p.r_by[0][1] = -p.r[1];
        p.r_by[1][1] = p.r[0];
        if (s->contact == SLIDING_CORNERS && depth > 0) {
            add_place(s, state, &p, w);
        } else if (depth > 0 && p.P > deepest.P) {
            deepest = p;
        }
    }
    if (s->contact == SLIDING_POINT && deepest.P > 0) {
        add_place(s, state, &deepest, w);
    }
}

sliding_wrench sliding_contact(const sliding_box *s, const double state[SLIDING_STATE])
{
    sliding_wrench w = {{0}, {{0}}};
    if (s->contact == SLIDING_FIELD) {
        add_field(s, state, &w);
    } else {
        add_corners(s, state, &w);
    }
    return w;
}

static void inertia_of(const sliding_box *s, double out[3])
{
    out[0] = out[1] = s->mass;
    out[2] = s->mass * (s->a * s->a + s->b * s->b) / 3;
}

void sliding_step(const sliding_box *s, double state[SLIDING_STATE])
{
    const sliding_wrench w = sliding_contact(s, state);
    double inertia[3];
    inertia_of(s, inertia);
    for (int i = 0; i < 3; i++) {
        state[SLIDING_VX + i] += s->h * (w.force[i] / inertia[i] - (i == 1 ? s->gravity : 0));
        state[i] += s->h * state[SLIDING_VX + i];
    }
}

void sliding_back(const sliding_box *s, const double state[SLIDING_STATE], double bar[SLIDING_STATE],
                  double *mu_bar)
{
    static const int state_of[BYS] = {SLIDING_Y, SLIDING_TILT, SLIDING_VX, SLIDING_VY, SLIDING_RATE, -1};
    const sliding_wrench w = sliding_contact(s, state);
    double inertia[3], v_bar[3];
    inertia_of(s, inertia);
    for (int i = 0; i < 3; i++) {
        v_bar[i] = bar[SLIDING_VX + i] + s->h * bar[i];
        bar[SLIDING_VX + i] = v_bar[i];
    }
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < BYS; k++) {
            const double part = s->h / inertia[i] * v_bar[i] * w.by[i][k];
            *(k == BY_MU ? mu_bar : &bar[state_of[k]]) += part;
        }
    }
}
