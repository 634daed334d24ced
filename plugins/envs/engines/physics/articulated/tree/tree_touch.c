/* SPDX-License-Identifier: Apache-2.0 */
/* tree_touch.c - where the solids of a tree of rigid bodies touch (tree_touch.h). */
#include "engines/physics/articulated/tree/tree_touch.h"

static const double rim_width =
    0.01; /* sine of the tilt below which the lowest point of a rim moves inwards */
static const double parallel = 1e-4; /* square of the sine between edges that do not meet */
static const double fading = 0.1;    /* part of an edge along which its contact fades towards an end */
static const double cone = 0.05;     /* slack of the normals of an edge */

/* A corner at the rim of a face counts; edges that cross at their ends do not, which are corners. */
static const double corner_slack = 1e-6, end_slack = 1e-7;

/* ---- solids in the world ---- */

/* A solid of the last placement: axes, middle against the point of reference. */
typedef struct placed {
    const tree_shape *s;
    double R[9], x[3];
} placed;

static void place(const tree *t, const tree_work *w, int shape, placed *out)
{
    const tree_shape *s = out->s = &t->shape[shape];
    tree_point_of(t, w, s->link, s->at, out->x);
    if (s->link < 0) {
        memcpy(out->R, s->rotation, sizeof out->R);
    } else {
        mat3_mul(w->limb[s->link].R, s->rotation, out->R);
    }
}

/* Takes a place for a point of contact of two solids; NULL: all are taken. */
static touch *take(const tree *t, tree_work *w, const tree_contact *c, touch_kind kind, const tree_shape *a,
                   const tree_shape *b)
{
    if (w->touching == w->room) {
        return NULL;
    }
    touch *out = &w->touch[w->touching];
    out->kind = kind;
    out->k = (int)(c - t->contact);
    out->link = a->link;
    out->against = b->link;
    out->radius = 0;
    out->friction = c->friction;
    memcpy(out->place, b->at, sizeof out->place);
    return out;
}

/* ---- balls ---- */

/* Sets depth, normal and point of a ball at out->c from the distance at out->bend. */
static void press_ball(touch *out, const double R[9], double distance)
{
    memcpy(out->R, R, sizeof out->R);
    out->depth = out->radius - distance;
    mat3_apply(R, out->bend.g, out->n);
    for (int i = 0; i < 3; i++) {
        out->x[i] = out->c[i] - out->radius * out->n[i];
    }
}

static void find_ball(const tree *t, tree_work *w, const tree_contact *c, const placed *b)
{
    const tree_shape *a = &t->shape[c->first];
    double x[3], r[3], y[3], reach = tree_reach(b->s) + c->radius + t->margin;
    tree_point_of(t, w, a->link, c->at, x);
    for (int i = 0; i < 3; i++) {
        r[i] = x[i] - b->x[i];
    }
    if (vec3_dot(r, r) >= reach * reach) {
        return;
    }
    touch *out = take(t, w, c, TOUCH_BALL, a, b->s);
    mat3_tapply(b->R, r, y);
    double distance = out ? tree_distance(b->s, y, c->radius + t->margin, &out->bend) : HUGE_VAL;
    if (distance < c->radius + t->margin) {
        out->radius = c->radius;
        memcpy(out->at, c->at, sizeof out->at);
        memcpy(out->c, x, sizeof x);
        press_ball(out, b->R, distance);
        w->touching++;
    }
}

/* Points of terrain inside a solid: corners against the solid. */
static void find_peaks(const tree *t, tree_work *w, const tree_contact *c, const placed *a, const placed *b)
{
    const tree_terrain *f = b->s->terrain;
    double r[3], middle[3], reach = tree_reach(a->s);
    int from[2], to[2];
    for (int i = 0; i < 3; i++) {
        r[i] = a->x[i] - b->x[i];
    }
    mat3_tapply(b->R, r, middle);
    if (!isfinite(middle[0] + middle[1])) { /* the motion diverged */
        return;
    }
    for (int k = 0; k < 2; k++) {
        double last = (k ? f->rows : f->columns) - 1, place = middle[k] / f->cell[k] + 0.5 * last;
        from[k] = (int)ceil(clamp(place - reach / f->cell[k], 0, last + 1));
        to[k] = (int)floor(clamp(place + reach / f->cell[k], -1, last));
    }
    for (int j = from[1]; j <= to[1]; j++) {
        for (int i = from[0]; i <= to[0]; i++) {
            double peak[3], x[3], y[3];
            tree_terrain_point(f, i, j, peak);
            mat3_apply(b->R, peak, x);
            for (int k = 0; k < 3; k++) {
                r[k] = x[k] + b->x[k] - a->x[k];
            }
            touch *out = vec3_dot(r, r) < reach * reach ? take(t, w, c, TOUCH_BALL, b->s, a->s) : NULL;
            if (out == NULL) {
                continue;
            }
            mat3_tapply(a->R, r, y);
            double distance = tree_distance(a->s, y, 0, &out->bend);
            if (distance < 0) {
                mat3_apply(b->s->rotation, peak, out->at);
                vec3_add_scaled(out->at, 1, b->s->at);
                tree_point_of(t, w, b->s->link, out->at, out->c);
                press_ball(out, a->R, distance);
                w->touching++;
            }
        }
    }
}

static void ball_bar(const tree *t, tree_work *w, const touch *c, double depth_bar, const double n_bar[3],
                     const double x_bar[3], double *number_bar)
{
    limb *a = limb_of(w, c->link), *b = limb_of(w, c->against);
    double g_bar[3], y_bar[3], y_world[3], c_bar[3], all[3], part[3];
    for (int i = 0; i < 3; i++) {
        all[i] = n_bar[i] - c->radius * x_bar[i];
    }
    /* From the normal and the depth to the place of the ball in the frame of the solid. */
    mat3_tapply(c->R, all, g_bar);
    tree_distance_bend(&c->bend, g_bar, y_bar);
    vec3_add_scaled(y_bar, -depth_bar, c->bend.g);
    mat3_apply(c->R, y_bar, y_world);
    for (int i = 0; i < 3; i++) {
        c_bar[i] = x_bar[i] + y_world[i];
    }
    if (a) {
        add_wrench(a->pose, 1, c->c, c_bar);
        tree_length_bar(t, w, c->link, c->at, c_bar, number_bar);
    }
    if (b) {
        add_wrench(b->pose, -1, c->c, y_world);
        vec3_cross(c->n, all, part);
        for (int i = 0; i < 3; i++) {
            b->pose[i] += part[i];
            part[i] = -y_world[i];
        }
        tree_length_bar(t, w, c->against, c->place, part, number_bar);
    }
}

/* The motion of a point of a link. */
static void point_dot(const tree *t, const tree_work *w, const tree_bar *dot, int link, const double at[3],
                      const double x[3], double x_dot[3])
{
    double part[3];
    velocity_at(limb_field(w, link, TREE_POSE_DOT), x, x_dot);
    tree_stretch(t, w, dot, link, at, part);
    vec3_add_scaled(x_dot, 1, part);
}

static void ball_dot(const tree *t, tree_work *w, touch *c, const tree_bar *dot)
{
    const double *turn_b = limb_field(w, c->against, TREE_POSE_DOT);
    double c_dot[3], frame[3], part[3], y_dot[3], bent[3];
    point_dot(t, w, dot, c->link, c->at, c->c, c_dot);
    velocity_at(turn_b, c->c, frame);
    tree_stretch(t, w, dot, c->against, c->place, part);
    for (int i = 0; i < 3; i++) {
        part[i] = c_dot[i] - frame[i] - part[i];
    }
    mat3_tapply(c->R, part, y_dot);
    tree_distance_bend(&c->bend, y_dot, bent);
    mat3_apply(c->R, bent, c->n_dot);
    vec3_cross(turn_b, c->n, part);
    vec3_add_scaled(c->n_dot, 1, part);
    for (int i = 0; i < 3; i++) {
        c->x_dot[i] = c_dot[i] - c->radius * c->n_dot[i];
    }
    c->depth_dot = -vec3_dot(c->bend.g, y_dot);
}

/* ---- rims on a plane ---- */

/* The lowest point is r m / sqrt(m^2 + rim_width^2) from the middle c of the rim, where m is the part of -n
 * across the axis: at the middle where the cylinder stands. */
static double rim_direction(const touch *c, double m[3])
{
    double along = vec3_dot(c->n, c->axis);
    for (int i = 0; i < 3; i++) {
        m[i] = along * c->axis[i] - c->n[i];
    }
    return sqrt(vec3_dot(m, m) + rim_width * rim_width);
}

static void find_rim(const tree *t, tree_work *w, const tree_contact *c, const placed *b)
{
    const tree_shape *a = &t->shape[c->first];
    touch *out = take(t, w, c, TOUCH_RIM, a, b->s);
    double m[3];
    if (out == NULL) {
        return;
    }
    out->radius = a->size[0];
    memcpy(out->at, c->at, sizeof out->at);
    tree_point_of(t, w, a->link, c->at, out->c);
    mat3_apply(tree_rotation(w, a->link), c->axis, out->axis);
    for (int i = 0; i < 3; i++) {
        out->n[i] = b->R[3 * i + 2];
    }
    double length = rim_direction(out, m);
    out->depth = 0;
    for (int i = 0; i < 3; i++) {
        out->x[i] = out->c[i] + out->radius / length * m[i];
        out->depth -= out->n[i] * (out->x[i] - b->x[i]);
    }
    w->touching += out->depth > -t->margin;
}

static void rim_bar(const tree *t, tree_work *w, const touch *c, double depth_bar, const double x_bar[3],
                    double *number_bar)
{
    limb *a = limb_of(w, c->link);
    double m[3], x_all[3], m_bar[3], axis_bar[3], part[3], length = rim_direction(c, m);
    if (a == NULL) {
        return;
    }
    for (int i = 0; i < 3; i++) {
        x_all[i] = x_bar[i] - depth_bar * c->n[i];
    }
    double inward = vec3_dot(m, x_all) / (length * length), along = vec3_dot(c->n, c->axis);
    for (int i = 0; i < 3; i++) {
        m_bar[i] = c->radius / length * (x_all[i] - inward * m[i]);
    }
    double across = vec3_dot(m_bar, c->axis);
    for (int i = 0; i < 3; i++) {
        axis_bar[i] = along * m_bar[i] + across * c->n[i];
    }
    add_wrench(a->pose, 1, c->c, x_all);
    vec3_cross(c->axis, axis_bar, part);
    vec3_add_scaled(a->pose, 1, part);
    tree_length_bar(t, w, c->link, c->at, x_all, number_bar);
}

static void rim_dot(const tree *t, tree_work *w, touch *c, const tree_bar *dot)
{
    double m[3], m_dot[3], axis_dot[3], length = rim_direction(c, m), along = vec3_dot(c->n, c->axis);
    point_dot(t, w, dot, c->link, c->at, c->c, c->x_dot);
    vec3_cross(limb_field(w, c->link, TREE_POSE_DOT), c->axis, axis_dot);
    double along_dot = vec3_dot(c->n, axis_dot);
    for (int i = 0; i < 3; i++) {
        m_dot[i] = along_dot * c->axis[i] + along * axis_dot[i];
    }
    double inward = vec3_dot(m, m_dot) / (length * length);
    for (int i = 0; i < 3; i++) {
        c->x_dot[i] += c->radius / length * (m_dot[i] - inward * m[i]);
        c->n_dot[i] = 0;
    }
    c->depth_dot = -vec3_dot(c->n, c->x_dot);
}

/* ---- edges ---- */

/* An edge of a solid: its ends in the link and in the world, its radius, and for a box the normals of its two
 * faces. */
typedef struct edge {
    double at[2][3], x[2][3], radius, face[2][3];
    int sharp;
} edge;

/* Corner k of a box, or end k of an axis along z: bit i is 1 where coordinate i is positive. */
static void corner_of(const tree *t, const tree_work *w, const tree_shape *s, int k, double at[3],
                      double x[3])
{
    double local[3] = {0};
    for (int i = 0; i < 3; i++) {
        if (s->form == TREE_BOX || i == 2) {
            local[i] = (k >> i & 1 ? 1 : -1) * s->size[s->form == TREE_BOX ? i : 1];
        }
    }
    mat3_apply(s->rotation, local, at);
    vec3_add_scaled(at, 1, s->at);
    tree_point_of(t, w, s->link, at, x);
}

static int edges_of(const tree *t, const tree_work *w, const placed *p, edge out[12])
{
    const tree_shape *s = p->s;
    const int sharp = s->form == TREE_BOX, n = sharp ? 12 : 1;
    double at[8][3], x[8][3];
    for (int k = 0; k < 8; k += sharp ? 1 : 4) {
        corner_of(t, w, s, k, at[k], x[k]);
    }
    for (int k = 0; k < n; k++) {
        edge *e = &out[k];
        const int axis = sharp ? k / 4 : 2, second = (axis + 1) % 3, third = (axis + 2) % 3;
        const double one = k & 1 ? 1 : -1, two = k & 2 ? 1 : -1;
        e->sharp = sharp;
        e->radius = sharp ? 0 : s->size[0];
        for (int end = 0; end < 2; end++) {
            const int corner = end << axis | (sharp ? (k & 1) << second | (k >> 1 & 1) << third : 0);
            memcpy(e->at[end], at[corner], sizeof e->at[end]);
            memcpy(e->x[end], x[corner], sizeof e->x[end]);
        }
        for (int i = 0; i < 3; i++) {
            e->face[0][i] = one * p->R[3 * i + second];
            e->face[1][i] = two * p->R[3 * i + third];
        }
    }
    return n;
}

/* With lines a0 + s d1 and b0 + t d2, r = a0 - b0 and m = d1 x d2, the nearest points have s = -(r x d2).m
 * / m^2 and t = -(r x d1).m / m^2. */
typedef struct lines {
    double d1[3], d2[3], r[3], m[3], square, s, t, c1[3], c2[3]; /* c1 = r x d1, c2 = r x d2 */
} lines;

/* All but s, t, c1 and c2, from the ends of both. */
static void lines_across(const double *const end[4], lines *l)
{
    double d1[3], d2[3], r[3], m[3]; /* in registers: reading them back from l would wait for the writes */
    for (int i = 0; i < 3; i++) {
        d1[i] = end[1][i] - end[0][i];
        d2[i] = end[3][i] - end[2][i];
        r[i] = end[0][i] - end[2][i];
    }
    m[0] = d1[1] * d2[2] - d1[2] * d2[1];
    m[1] = d1[2] * d2[0] - d1[0] * d2[2];
    m[2] = d1[0] * d2[1] - d1[1] * d2[0];
    l->square = vec3_dot(m, m);
    memcpy(l->d1, d1, sizeof d1);
    memcpy(l->d2, d2, sizeof d2);
    memcpy(l->r, r, sizeof r);
    memcpy(l->m, m, sizeof m);
}

/* The nearest points. */
static void lines_meet(lines *l)
{
    vec3_cross(l->r, l->d1, l->c1);
    vec3_cross(l->r, l->d2, l->c2);
    l->s = -vec3_dot(l->c2, l->m) / l->square;
    l->t = -vec3_dot(l->c1, l->m) / l->square;
}

static void lines_of(const touch *c, lines *l)
{
    const double *const end[4] = {c->end[0], c->end[1], c->end[2], c->end[3]};
    lines_across(end, l);
    lines_meet(l);
}

/* 1 inside an edge, 0 at its ends, smooth, and its derivative. */
static double fade(double s, double *slope)
{
    double z = (s < 0.5 ? s : 1 - s) / fading;
    *slope = z < 1 ? copysign(6 * z * (1 - z) / fading, 0.5 - s) : 0;
    return z < 1 ? z * z * (3 - 2 * z) : 1;
}

/* Whether a normal, outwards, lies between the normals of the faces of an edge. */
static int outward(const edge *e, const double n[3], double side)
{
    return !e->sharp || (side * vec3_dot(n, e->face[0]) > -cone && side * vec3_dot(n, e->face[1]) > -cone);
}

static int inner(double s)
{
    return s > end_slack && s < 1 - end_slack;
}

/* Two edges; a sharp pair counts up to the depth `most` and does not fade. Returns whether they touch. */
static int find_edge(const tree *t, tree_work *w, const tree_contact *c, const placed *a, const placed *b,
                     const edge *ea, const edge *eb, double most)
{
    lines l;
    int sharp = ea->sharp && eb->sharp;
    double slope, side = 1, n[3];
    lines_across((const double *const[4]){ea->x[0], ea->x[1], eb->x[0], eb->x[1]}, &l);
    if (!(l.square > parallel * vec3_dot(l.d1, l.d1) * vec3_dot(l.d2, l.d2))) {
        return 0;
    }
    if (eb->sharp) {
        side = vec3_dot(l.m, eb->face[0]) + vec3_dot(l.m, eb->face[1]);
    } else if (ea->sharp) {
        side = -vec3_dot(l.m, ea->face[0]) - vec3_dot(l.m, ea->face[1]);
    } else {
        side = vec3_dot(l.m, l.r);
    }
    if (sharp) { /* most pairs of two boxes are apart, or on the far sides of them */
        const double along = copysign(1, side) * vec3_dot(l.m, l.r);
        if (along > 0 || along * along > 1.01 * most * most * l.square) {
            return 0;
        }
    }
    lines_meet(&l);
    if (!inner(l.s) || !inner(l.t)) {
        return 0;
    }
    for (int i = 0; i < 3; i++) {
        n[i] = copysign(1, side) * l.m[i] / sqrt(l.square);
    }
    double reach = ea->radius + eb->radius, depth = reach - vec3_dot(n, l.r);
    if (!(depth > 0 && depth < (sharp ? most : 2 * reach)) || !outward(eb, n, 1) || !outward(ea, n, -1)) {
        return 0;
    }
    touch *out = take(t, w, c, TOUCH_EDGE, a->s, b->s);
    if (out == NULL) {
        return 0;
    }
    out->radius = ea->radius;
    out->reach = reach;
    out->side = copysign(1, side);
    out->fades = !sharp;
    memcpy(out->ends[0], ea->at, sizeof ea->at);
    memcpy(out->ends[2], eb->at, sizeof eb->at);
    memcpy(out->end[0], ea->x, sizeof ea->x);
    memcpy(out->end[2], eb->x, sizeof eb->x);
    memcpy(out->n, n, sizeof n);
    for (int i = 0; i < 3; i++) {
        out->x[i] = ea->x[0][i] + l.s * l.d1[i] - ea->radius * n[i];
    }
    out->depth = depth * (sharp ? 1 : fade(l.s, &slope) * fade(l.t, &slope));
    w->touching += out->depth > 0;
    return 1;
}

static void find_edges(const tree *t, tree_work *w, const tree_contact *c, const placed *a, const placed *b)
{
    edge ea[12], eb[12];
    int na = edges_of(t, w, a, ea), nb = edges_of(t, w, b, eb);
    for (int i = 0; i < na; i++) {
        for (int j = 0; j < nb; j++) {
            find_edge(t, w, c, a, b, &ea[i], &eb[j], 0);
        }
    }
}

static void edge_bar(const tree *t, tree_work *w, const touch *c, double depth_bar, const double n_bar[3],
                     const double x_bar[3], double *number_bar)
{
    lines l;
    double by_s = 0, by_t = 0, fs = 1, ft = 1, part[3];
    lines_of(c, &l);
    if (c->fades) {
        fs = fade(l.s, &by_s);
        ft = fade(l.t, &by_t);
    }
    double depth = c->reach - vec3_dot(c->n, l.r), along = vec3_dot(n_bar, c->n);
    double d_bar = fs * ft * depth_bar, s_bar = by_s * ft * depth * depth_bar + vec3_dot(x_bar, l.d1);
    double t_bar = fs * by_t * depth * depth_bar, p = -s_bar / l.square, q = -t_bar / l.square;
    double n_all[3], m_bar[3], r_bar[3], d1_bar[3], d2_bar[3];
    for (int i = 0; i < 3; i++) {
        n_all[i] = n_bar[i] - c->radius * x_bar[i] - d_bar * l.r[i];
    }
    along = vec3_dot(n_all, c->n);
    for (int i = 0; i < 3; i++) {
        m_bar[i] = c->side / sqrt(l.square) * (n_all[i] - along * c->n[i]) + p * l.c2[i] + q * l.c1[i] -
                   2 * (s_bar * l.s + t_bar * l.t) / l.square * l.m[i];
        r_bar[i] = -d_bar * c->n[i];
        d1_bar[i] = l.s * x_bar[i];
        d2_bar[i] = 0;
    }
    vec3_cross(l.d2, l.m, part); /* (r x d2).m = r.(d2 x m) = d2.(m x r) */
    vec3_add_scaled(r_bar, p, part);
    vec3_cross(l.d1, l.m, part);
    vec3_add_scaled(r_bar, q, part);
    vec3_cross(l.m, l.r, part);
    vec3_add_scaled(d2_bar, p, part);
    vec3_add_scaled(d1_bar, q, part);
    vec3_cross(l.d2, m_bar, part);
    vec3_add_scaled(d1_bar, 1, part);
    vec3_cross(m_bar, l.d1, part);
    vec3_add_scaled(d2_bar, 1, part);
    for (int k = 0; k < 4; k++) {
        double end_bar[3];
        int link = k < 2 ? c->link : c->against;
        for (int i = 0; i < 3; i++) {
            end_bar[i] = k == 0   ? x_bar[i] + r_bar[i] - d1_bar[i]
                         : k == 1 ? d1_bar[i]
                         : k == 2 ? -r_bar[i] - d2_bar[i]
                                  : d2_bar[i];
        }
        if (link >= 0) {
            add_wrench(w->limb[link].pose, 1, c->end[k], end_bar);
            tree_length_bar(t, w, link, c->ends[k], end_bar, number_bar);
        }
    }
}

static void edge_dot(const tree *t, tree_work *w, touch *c, const tree_bar *dot)
{
    lines l;
    double e[4][3], by_s = 0, by_t = 0, fs = 1, ft = 1;
    double d1[3], d2[3], r[3], m[3], c1[3], c2[3], part[3];
    lines_of(c, &l);
    if (c->fades) {
        fs = fade(l.s, &by_s);
        ft = fade(l.t, &by_t);
    }
    for (int k = 0; k < 4; k++) {
        point_dot(t, w, dot, k < 2 ? c->link : c->against, c->ends[k], c->end[k], e[k]);
    }
    for (int i = 0; i < 3; i++) {
        d1[i] = e[1][i] - e[0][i];
        d2[i] = e[3][i] - e[2][i];
        r[i] = e[0][i] - e[2][i];
    }
    vec3_cross(d1, l.d2, m);
    vec3_cross(l.d1, d2, part);
    vec3_add_scaled(m, 1, part);
    vec3_cross(r, l.d1, c1);
    vec3_cross(l.r, d1, part);
    vec3_add_scaled(c1, 1, part);
    vec3_cross(r, l.d2, c2);
    vec3_cross(l.r, d2, part);
    vec3_add_scaled(c2, 1, part);
    double square = 2 * vec3_dot(l.m, m), along = c->side * vec3_dot(m, c->n),
           depth = c->reach - vec3_dot(c->n, l.r);
    double s = -(vec3_dot(c2, l.m) + vec3_dot(l.c2, m) + l.s * square) / l.square;
    double u = -(vec3_dot(c1, l.m) + vec3_dot(l.c1, m) + l.t * square) / l.square;
    for (int i = 0; i < 3; i++) {
        c->n_dot[i] = (c->side * m[i] - along * c->n[i]) / sqrt(l.square);
        c->x_dot[i] = e[0][i] + s * l.d1[i] + l.s * d1[i] - c->radius * c->n_dot[i];
    }
    c->depth_dot =
        -fs * ft * (vec3_dot(c->n_dot, l.r) + vec3_dot(c->n, r)) + (by_s * ft * s + fs * by_t * u) * depth;
}

/* ---- two boxes ---- */

/* The overlap of boxes along a unit axis; n: the axis from b to a. */
static double overlap_along(const placed *a, const placed *b, const double axis[3], double n[3])
{
    double reach = 0, apart = 0;
    for (int k = 0; k < 3; k++) {
        const double ca[3] = {a->R[k], a->R[3 + k], a->R[6 + k]}, cb[3] = {b->R[k], b->R[3 + k], b->R[6 + k]};
        reach += a->s->size[k] * fabs(vec3_dot(ca, axis)) + b->s->size[k] * fabs(vec3_dot(cb, axis));
        apart += (a->x[k] - b->x[k]) * axis[k];
    }
    for (int k = 0; k < 3; k++) {
        n[k] = copysign(1, apart) * axis[k];
    }
    return reach - fabs(apart);
}

/* Corners of a inside b, against the face of b that looks along `side` n. */
static void find_corners(const tree *t, tree_work *w, const tree_contact *c, const placed *a, const placed *b,
                         const double n[3], double most)
{
    double local[3];
    int axis = 0;
    mat3_tapply(b->R, n, local);
    for (int k = 1; k < 3; k++) {
        axis = fabs(local[k]) > fabs(local[axis]) ? k : axis;
    }
    if (fabs(local[axis]) < 0.9) {
        return;
    }
    for (int corner = 0; corner < 8; corner++) {
        double at[3], x[3], r[3], y[3], p[3];
        for (int k = 0; k < 3; k++) {
            p[k] = (corner >> k & 1) ? a->s->size[k] : -a->s->size[k];
        }
        mat3_apply(a->s->rotation, p, at);
        vec3_add_scaled(at, 1, a->s->at);
        tree_point_of(t, w, a->s->link, at, x);
        for (int i = 0; i < 3; i++) {
            r[i] = x[i] - b->x[i];
        }
        mat3_tapply(b->R, r, y);
        double side = copysign(1, local[axis]), depth = b->s->size[axis] - side * y[axis];
        int inside = depth > 0 && depth < most;
        for (int k = 0; k < 3; k++) {
            inside = inside && (k == axis || fabs(y[k]) <= b->s->size[k] * (1 + corner_slack));
        }
        touch *out = inside ? take(t, w, c, TOUCH_BALL, a->s, b->s) : NULL;
        if (out) {
            out->bend = (tree_bend){.length = INFINITY};
            out->bend.g[axis] = side;
            memcpy(out->at, at, sizeof at);
            memcpy(out->c, x, sizeof x);
            press_ball(out, b->R, -depth);
            w->touching++;
        }
    }
}

/* The axis of least overlap of the faces decides: corners behind the faces across it, and crossings of edges
 * that are not deeper. */
static void find_boxes(const tree *t, tree_work *w, const tree_contact *c, const placed *a, const placed *b)
{
    double least = HUGE_VAL, n[3], best[3] = {0}, back[3];
    int before = w->touching, skip[9]; /* pairs of axes that are parallel */
    for (int k = 0; k < 6; k++) {
        const double *R = k < 3 ? a->R : b->R, axis[3] = {R[k % 3], R[3 + k % 3], R[6 + k % 3]};
        double overlap = overlap_along(a, b, axis, n);
        if (overlap < least) {
            least = overlap;
            memcpy(best, n, sizeof best);
        }
    }
    if (!(least > 0)) {
        return;
    }
    double most = 1.05 * least + 1e-9;
    for (int i = 0; i < 3; i++) {
        back[i] = -best[i];
    }
    find_corners(t, w, c, a, b, best, most);
    find_corners(t, w, c, b, a, back, most);
    edge ea[12], eb[12];
    edges_of(t, w, a, ea);
    edges_of(t, w, b, eb);
    for (int k = 0; k < 9; k++) {
        const double *A = a->R + k / 3, *B = b->R + k % 3, along = A[0] * B[0] + A[3] * B[3] + A[6] * B[6];
        skip[k] = 1 - along * along < 0.5 * parallel;
    }
    for (int i = 0; i < 144 && w->touching - before < c->most; i++) {
        if (!skip[i / 48 * 3 + i % 12 / 4]) {
            find_edge(t, w, c, a, b, &ea[i / 12], &eb[i % 12], most);
        }
    }
}

/* ---- all contacts ---- */

void tree_touch_find_group(const tree *t, tree_work *w, int group)
{
    const tree_contact *head = &t->contact[group];
    placed a, b;
    place(t, w, head->first, &a);
    place(t, w, head->second, &b);
    for (const tree_contact *c = head; c < head + head->group; c++) {
        const placed *first = c->first == head->first ? &a : &b, *second = first == &a ? &b : &a;
        switch (c->kind) {
        case TREE_BALL:
            find_ball(t, w, c, second);
            break;
        case TREE_RIM:
            find_rim(t, w, c, second);
            break;
        case TREE_EDGES:
            find_edges(t, w, c, first, second);
            break;
        case TREE_BOXES:
            find_boxes(t, w, c, first, second);
            break;
        case TREE_PEAKS:
            find_peaks(t, w, c, first, second);
            break;
        }
    }
}

void tree_touch_find(const tree *t, tree_work *w)
{
    w->touching = 0;
    tree_middles(t, w);
    for (int k = 0; k < t->contacts; k += t->contact[k].group) {
        if (tree_near(t, w, t->contact[k].first, t->contact[k].second)) {
            tree_touch_find_group(t, w, k);
        }
    }
}

void tree_touch_bar(const tree *t, tree_work *w, const touch *c, double depth_bar, const double n_bar[3],
                    const double x_bar[3], double *number_bar)
{
    if (c->kind == TOUCH_BALL) {
        ball_bar(t, w, c, depth_bar, n_bar, x_bar, number_bar);
    } else if (c->kind == TOUCH_RIM) {
        rim_bar(t, w, c, depth_bar, x_bar, number_bar);
    } else {
        edge_bar(t, w, c, depth_bar, n_bar, x_bar, number_bar);
    }
}

void tree_touch_dot(const tree *t, tree_work *w, touch *c, const tree_bar *dot)
{
    (c->kind == TOUCH_BALL ? ball_dot : c->kind == TOUCH_RIM ? rim_dot : edge_dot)(t, w, c, dot);
}

/* ---- velocities and forces ---- */

void tree_touch_velocity(const tree_work *w, const touch *c, tree_field field, double out[3])
{
    double other[3];
    velocity_at(limb_field(w, c->link, field), c->x, out);
    velocity_at(limb_field(w, c->against, field), c->x, other);
    vec3_add_scaled(out, -1, other);
}

void tree_touch_spin(const tree_work *w, const touch *c, tree_field field, double out[3])
{
    for (int i = 0; i < 3; i++) {
        out[i] = limb_field(w, c->link, field)[i] - limb_field(w, c->against, field)[i];
    }
}

void tree_touch_push(tree_work *w, const touch *c, tree_field field, double scale, const double force[3])
{
    if (c->link >= 0) {
        add_wrench(limb_sum(w, c->link, field), scale, c->x, force);
    }
    if (c->against >= 0) {
        add_wrench(limb_sum(w, c->against, field), -scale, c->x, force);
    }
}

void tree_touch_push_dot(tree_work *w, const touch *c, const double force_dot[3])
{
    double turn[3];
    vec3_cross(c->x_dot, c->F, turn);
    tree_touch_push(w, c, TREE_ACCELERATION_BAR, -1, force_dot);
    for (int i = 0; i < 3; i++) {
        if (c->link >= 0) {
            w->limb[c->link].ab[i] -= turn[i];
        }
        if (c->against >= 0) {
            w->limb[c->against].ab[i] += turn[i];
        }
    }
}
