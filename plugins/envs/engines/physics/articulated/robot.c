/* SPDX-License-Identifier: Apache-2.0 */
/* robot.c - reads a robot from a file and checks that it can move (robot.h). */
#include "engines/physics/articulated/robot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What a loaded model must have: some motion, and inertia for each joint. */
static void check(robot_reader *in)
{
    tree *t = in->out->tree;
    tree_work *w = NULL;
    t->numbers = tree_joint_number(t, TREE_JOINT_NUMBERS, 0);
    for (int i = 0; i < t->links; i++) {
        t->number[tree_link_number(t, TREE_MASS, i)] = t->number[tree_link_number(t, TREE_LENGTH, i)] = 1;
    }
    for (int k = 0; k < TREE_JOINT_NUMBERS; k++) {
        memcpy(t->number + tree_joint_number(t, (enum tree_joint_number)k, 0), in->joint[k],
               (size_t)t->nv * sizeof(double));
    }
    int caught = in->failed ? -1 : tree_order_couplings(t);
    if (caught >= 0) {
        robot_fail(in, NULL, "joint \"%s\" follows itself or two joints", t->link[caught].joint);
    }
    if (!in->failed && t->nv == 0) {
        robot_fail(in, NULL, "nothing moves: the model has no joint; base = free in the task lets it move");
    }
    if (!in->failed && !tree_contacts(t)) {
        in->failed = 2;
    }
    if (!in->failed) {
        w = tree_work_create(in->m, t);
        in->failed = w ? 0 : 2;
    }
    if (in->failed) {
        return;
    }
    double *v = robot_take(in, (size_t)t->nv, sizeof *v);
    if (v == NULL) {
        return;
    }
    tree_couple(t, t->start, v);
    tree_forward(t, w, t->start, v, &(tree_input){0}, v);
    int bad = tree_singular(t, w);
    for (int k = 0; bad < 0 && k < t->nv; k++) {
        if (!isfinite(v[k])) {
            robot_fail(in, NULL, "the accelerations at the start are not finite: check masses and lengths");
        }
    }
    if (bad >= 0) {
        robot_fail(in, NULL,
                   "joint \"%s\" of \"%s\" moves no inertia: give the links after it mass and inertia, or "
                   "the joint armature",
                   t->link[bad].joint, t->link[bad].name);
    }
}

static int read_elements(robot_reader *in, robot_node *root)
{
    robot *out = in->out;
    ds_memory *m = in->m;
    if (root != NULL && strcmp(root->name, "mujoco") == 0) {
        robot_expand(in, root);
    }
    if (root != NULL && !in->failed) {
        /* A joint element of MJCF or a planar joint needs up to three links. */
        out->tree = tree_create(m, 3 * in->nodes + 4);
        out->actuator = robot_take(in, (size_t)in->nodes, sizeof *out->actuator);
        out->key = robot_take(in, (size_t)in->nodes, sizeof *out->key);
        for (int k = 0; k < TREE_JOINT_NUMBERS; k++) {
            in->joint[k] = robot_take(in, 18 * ((size_t)in->nodes + 2), sizeof(double));
        }
        in->failed = m->failed ? 2 : 0;
    }
    if (!in->failed) {
        tree *t = out->tree;
        t->number[TREE_GRAVITY + 2] = -9.81;
        t->number[TREE_STIFFNESS] = 2e4;
        t->number[TREE_DISSIPATION] = 1;
        t->number[TREE_FRICTION] = 1;
        t->number[TREE_MIXING] = 1e-6;
        t->number[TREE_CORRECTION] = 0.1;
        t->number[TREE_LIMIT_STIFFNESS] = 500;
        t->number[TREE_LIMIT_DAMPING] = 5;
        if (strcmp(root->name, "robot") == 0) {
            robot_from_urdf(in, root);
        } else if (strcmp(root->name, "mujoco") == 0) {
            robot_from_mjcf(in, root);
        } else {
            robot_fail(in, root, "the first element must be <robot> (URDF) or <mujoco> (MJCF)");
        }
    }
    if (!in->failed) {
        check(in);
    }
    if (in->failed == 2) {
        snprintf(in->error, ROBOT_ERROR, "%.200s: out of memory", in->file);
    }
    return in->failed;
}

int robot_parse(ds_memory *m, const char *data, size_t size, const char *name, const robot_options *options,
                robot *out, char error[ROBOT_ERROR])
{
    robot_reader in = {.m = m, .out = out, .options = options, .file = name, .error = error};
    memset(out, 0, sizeof *out);
    error[0] = '\0';
    return read_elements(&in, robot_elements(&in, data, size));
}

int robot_read(ds_memory *m, const char *path, const robot_options *options, robot *out,
               char error[ROBOT_ERROR])
{
    robot_reader in = {.m = m, .out = out, .options = options, .file = path, .error = error};
    memset(out, 0, sizeof *out);
    error[0] = '\0';
    return read_elements(&in, robot_elements_of(&in, path));
}
