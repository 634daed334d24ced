/* SPDX-License-Identifier: Apache-2.0 */
/* mjcf_actuator.c - what MJCF says of joints after the bodies: actuators, tendons, equality constraints,
 * keyframes, exclusions (mjcf_parts.h). */
#include "engines/physics/articulated/mjcf_parts.h"

#include <string.h>

/* gain and bias of a general actuator: force = gear (gain u + bias . (1, length, velocity)). */
static void read_general(mjcf *f, const robot_node *n, double *gain, double *stiffness, double *damping)
{
    const char *dynamics = mjcf_value(f, n, "dyntype"), *gains = mjcf_value(f, n, "gaintype"),
               *biases = mjcf_value(f, n, "biastype");
    double gainprm[10] = {1}, biasprm[10] = {0};
    mjcf_numbers(f, n, "gainprm", 1, 10, gainprm);
    mjcf_numbers(f, n, "biasprm", 1, 10, biasprm);
    int affine = biases && strcmp(biases, "affine") == 0;
    if (dynamics && strcmp(dynamics, "none") != 0) {
        robot_fail(f->in, n, "dyntype=\"%.20s\": only none is supported", dynamics);
    } else if (gains && strcmp(gains, "fixed") != 0) {
        robot_fail(f->in, n, "gaintype=\"%.20s\": only fixed is supported", gains);
    } else if (biases && !affine && strcmp(biases, "none") != 0) {
        robot_fail(f->in, n, "biastype=\"%.20s\": use none or affine", biases);
    } else if (affine && (biasprm[0] != 0 || biasprm[1] > 0 || biasprm[2] > 0)) {
        robot_fail(f->in, n, "biasprm must be 0 and two numbers that are not positive");
    } else if (affine && biasprm[1] != 0 && fabs(gainprm[0] + biasprm[1]) > 1e-6 * fabs(biasprm[1])) {
        robot_fail(f->in, n,
                   "a servo whose gain differs from its stiffness (gainprm, biasprm) is not supported");
    }
    *gain = gainprm[0];
    *stiffness = affine ? -biasprm[1] : 0;
    *damping = affine ? -biasprm[2] : 0;
}

void mjcf_actuator(mjcf *f, const robot_node *n)
{
    static const char *const kinds[] = {"motor", "position", "velocity", "general", NULL};
    static const char *const other[] = {"tendon",        "site",       "body", "cranksite",
                                        "jointinparent", "slidersite", NULL};
    static const char *const refused[] = {"dampratio", "timeconst", NULL};
    robot *r = f->in->out;
    robot_actuator *a = &r->actuator[r->actuators];
    const char *joint = mjcf_value(f, n, "joint");
    double gear[6] = {1}, range[2], gain = 1, stiffness = 0, damping = 0, inherit = 0;
    int kind = 0;
    while (kinds[kind] && strcmp(n->name, kinds[kind]) != 0) {
        kind++;
    }
    for (int k = 0; other[k]; k++) {
        if (mjcf_value(f, n, other[k])) {
            robot_fail(f->in, n, "it drives a %s: only joints are supported", other[k]);
        }
    }
    if (!kinds[kind] || joint == NULL) {
        robot_fail(f->in, n,
                   kinds[kind] ? "the attribute joint is missing"
                               : "this actuator is not supported: use motor, position, velocity or general");
        return;
    }
    mjcf_refuse(f, n, refused, 0);
    int link = tree_find_joint(r->tree, joint);
    if (link < 0 || r->tree->link[link].nv != 1) {
        robot_fail(f->in, n, "joint \"%.60s\" %s", joint,
                   link < 0 ? "does not exist" : "is not a hinge or slide");
        return;
    }
    if (kind == 1) {
        mjcf_numbers(f, n, "kp", 1, 1, &gain);
        mjcf_numbers(f, n, "kv", 1, 1, &damping);
        stiffness = gain;
    } else if (kind == 2) {
        mjcf_numbers(f, n, "kv", 1, 1, &gain);
        damping = gain;
    } else if (kind == 3) {
        read_general(f, n, &gain, &stiffness, &damping);
        kind = stiffness > 0;
    }
    *a = (robot_actuator){.link = link, .kind = kind, .lower = -INFINITY, .upper = INFINITY};
    mjcf_name(f, n, a->name);
    if (a->name[0] == '\0') {
        memcpy(a->name, r->tree->link[link].joint, sizeof a->name);
    }
    mjcf_numbers(f, n, "gear", 1, 6, gear);
    if (gear[0] == 0) {
        robot_fail(f->in, n, "gear is 0");
    }
    int given = mjcf_numbers(f, n, "ctrlrange", 2, 2, range);
    if (mjcf_numbers(f, n, "inheritrange", 1, 1, &inherit) && inherit > 0 && !given) {
        const tree *t = r->tree;
        double lower = t->lower[t->link[link].v], upper = t->upper[t->link[link].v];
        given = isfinite(lower) && isfinite(upper);
        range[0] = 0.5 * (upper + lower - inherit * (upper - lower));
        range[1] = 0.5 * (upper + lower + inherit * (upper - lower));
    }
    if (mjcf_choice(f, n, "ctrllimited", f->auto_limits && given)) {
        if (!given || !(range[0] < range[1])) {
            robot_fail(f->in, n, "ctrlrange must go from a lower to a higher value");
            return;
        }
        a->lower = range[0];
        a->upper = range[1];
    }
    a->gear = gear[0] * (kind == 0 ? gain : 1);
    a->gain = stiffness * gear[0] * gear[0];
    a->rate_gain = damping * gear[0] * gear[0];
    r->actuators++;
}

/* Tendons that only measure a length are left out; others are refused. */
void mjcf_tendon(mjcf *f, const robot_node *n)
{
    static const char *const forces[] = {"stiffness", "damping", "frictionloss", "armature", "range", NULL};
    for (int k = 0; forces[k]; k++) {
        const char *text = mjcf_value(f, n, forces[k]);
        if (text && strspn(text, "0. \t") != strlen(text)) {
            robot_fail(f->in, n, "a tendon that acts on the robot (%s) is not supported", forces[k]);
        }
    }
}

/* A joint that follows another one, or stays; other equality constraints are refused. */
void mjcf_equality(mjcf *f, const robot_node *n)
{
    tree *t = f->in->out->tree;
    const char *active = robot_text(n, "active"),
               *names[2] = {robot_text(n, "joint1"), robot_text(n, "joint2")};
    double poly[5] = {0, 1, 0, 0, 0}, start[2] = {0};
    int link[2] = {-1, -1};
    if (active && strcmp(active, "false") == 0) {
        return;
    }
    if (strcmp(n->name, "joint") != 0) {
        robot_fail(f->in, n, "this equality constraint is not supported: only joints can follow each other");
        return;
    }
    const char *text = robot_text(n, "polycoef");
    if (text) {
        memset(poly, 0, sizeof poly);
        robot_numbers(f->in, n, "polycoef", text, 1, 5, poly);
    }
    if (poly[2] != 0 || poly[3] != 0 || poly[4] != 0) {
        robot_fail(f->in, n, "polycoef=\"%.60s\": only linear couplings are supported", text);
    }
    for (int k = 0; k < 2; k++) {
        link[k] = names[k] ? tree_find_joint(t, names[k]) : -1;
        if ((names[k] || k == 0) && (link[k] < 0 || t->link[link[k]].nv != 1)) {
            robot_fail(f->in, n, "joint%d=\"%.60s\" %s", k + 1, names[k] ? names[k] : "",
                       link[k] < 0 ? "does not exist" : "is not a hinge or slide");
            return;
        }
        start[k] = link[k] < 0 ? 0 : t->start[t->link[link[k]].q];
    }
    double ratio = link[1] < 0 ? 0 : poly[1];
    t->coupling[t->couplings++] =
        (tree_coupling){link[0], link[1], ratio, start[0] + poly[0] - ratio * start[1]};
}

static double *list_of(mjcf *f, const robot_node *n, const char *attribute, int count)
{
    const char *text = robot_text(n, attribute);
    double *out = text ? ds_memory_doubles(f->in->m, (size_t)count + 1) : NULL;
    if (text && out == NULL) {
        f->in->failed = f->in->failed ? f->in->failed : 2;
    } else if (text) {
        robot_numbers(f->in, n, attribute, text, count, count, out);
    }
    return out;
}

void mjcf_key(mjcf *f, const robot_node *n)
{
    robot *r = f->in->out;
    tree *t = r->tree;
    robot_key *k = &r->key[r->keys++];
    mjcf_name(f, n, k->name);
    k->q = list_of(f, n, "qpos", t->nq);
    k->v = list_of(f, n, "qvel", t->nv);
    k->u = list_of(f, n, "ctrl", r->actuators);
    for (int i = 0; k->q && !f->in->failed && i < t->links; i++) {
        double *q = k->q + t->link[i].q + t->link[i].nq - 4, R[9], norm = 0;
        if (t->link[i].nq < 4) {
            continue;
        }
        if (!robot_quaternion(q, R)) {
            robot_fail(f->in, n, "a quaternion of qpos has no length");
        }
        for (int j = 0; j < 4; j++) {
            norm += q[j] * q[j];
        }
        for (int j = 0; j < 4; j++) {
            q[j] /= sqrt(norm);
        }
    }
}

void mjcf_exclusion(mjcf *f, const robot_node *n)
{
    tree *t = f->in->out->tree;
    static const char *const names[] = {"body1", "body2"};
    for (int k = 0; k < 2; k++) {
        const char *name = robot_text(n, names[k]);
        int link = name ? tree_find_link(t, name) : -1;
        if (link < 0 && !(name && strcmp(name, "world") == 0)) {
            robot_fail(f->in, n, "%s=\"%.40s\" does not exist", names[k], name ? name : "");
            return;
        }
        t->excluded[t->exclusions][k] = link;
    }
    t->exclusions++;
}
