/* SPDX-License-Identifier: Apache-2.0 */
/* test_robot.c - robots from URDF and MJCF: the models of this tree against values of MuJoCo, what the
 * readers make of each attribute, one line for every mistake. */
#include "engines/physics/articulated/motion.h"
#include "engines/physics/articulated/robot.h"
#include "test.h"

enum { MOST = 64 };

static const char *top_file(char path[4096], const char *name)
{
    const char *top = getenv("DS_TOP_SRC");
    snprintf(path, 4096, "%s/%s", top ? top : ".", name);
    return path;
}

static void numbers(FILE *f, int n, double *out)
{
    for (int k = 0; k < n; k++) {
        assert_int_equal(fscanf(f, "%lf", &out[k]), 1);
    }
}

static void near_all(const char *what, const char *file, int n, const double *a, const double *b,
                     double tolerance)
{
    for (int k = 0; k < n; k++) {
        if (!(fabs(a[k] - b[k]) <= tolerance * fmax(1, fabs(b[k])))) {
            fail_msg("%s: %s %d = %.17g, not %.17g", file, what, k, a[k], b[k]);
        }
    }
}

static void compare(FILE *f, const char *file, int nq, int nv)
{
    static double q[MOST], v[MOST], tau[MOST], M[MOST * MOST], bias[MOST], a[MOST], q_end[MOST], v_end[MOST];
    static double own[MOST * MOST], zero[MOST];
    char path[4096], error[ROBOT_ERROR];
    ds_memory room = {0};
    robot r;
    numbers(f, nq, q);
    numbers(f, nv, v);
    numbers(f, nv, tau);
    numbers(f, nv * nv, M);
    numbers(f, nv, bias);
    numbers(f, nv, a);
    numbers(f, nq, q_end);
    numbers(f, nv, v_end);
    if (robot_read(&room, top_file(path, file), &(robot_options){0}, &r, error) != 0) {
        fail_msg("%s", error);
    }
    tree *t = r.tree;
    assert_int_equal(t->nq, nq);
    assert_int_equal(t->nv, nv);
    t->number[TREE_LIMIT_STIFFNESS] = t->number[TREE_LIMIT_DAMPING] = 0;
    motion *s = motion_create(&room, t);
    tree_work *w = motion_work(s);
    tree_mass_matrix(t, w, q, own);
    near_all("mass", file, nv * nv, own, M, 1e-10);
    tree_inverse(t, w, q, v, zero, own);
    near_all("bias", file, nv, own, bias, 1e-10);
    tree_forward(t, w, q, v, &(tree_input){.tau = tau}, own);
    near_all("acceleration", file, nv, own, a, 1e-10);
    for (int n = 0; n < 1000; n++) {
        motion_step(t, s, MOTION_RK4, 0.001, &(tree_input){0}, q, v, q, v);
    }
    near_all("position", file, nq, q, q_end, 1e-6);
    near_all("velocity", file, nv, v, v_end, 1e-6);
    ds_memory_free(&room);
}

static void against_mujoco(void **state)
{
    char path[4096], line[256], file[128];
    int nq, nv, models = 0;
    FILE *f = fopen(top_file(path, "tests/data/robots/mujoco.txt"), "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%127s %d %d", file, &nq, &nv) == 3 && line[0] != '#') {
            assert_true(nq <= MOST && nv <= MOST);
            compare(f, file, nq, nv);
            models++;
        }
    }
    fclose(f);
    assert_int_equal(models, 4);
}

/* ---- what is read ---- */

static int parse(ds_memory *room, const char *text, robot *r, char error[ROBOT_ERROR])
{
    return robot_parse(room, text, strlen(text), "robot", &(robot_options){0}, r, error);
}

static void attributes(void **state)
{
    static const char text[] =
        "<mujoco><compiler angle='radian'/><option timestep='0.004' gravity='0 0 -3'/>\n"
        "<default><default class='a'><motor ctrlrange='-2 3' gear='5'/></default></default>"
        "<worldbody><body name='b' pos='1 2 3'><joint name='j' axis='0 2 0' pos='0 0 1' range='-1 2' "
        "damping='.3'/>"
        "<geom size='.1' mass='2'/><site name='s' pos='0 0 1'/></body></worldbody>"
        "<actuator><motor class='a' name='m' joint='j'/><position joint='j' kp='7' gear='2' "
        "kv='0.5'/></actuator>"
        "<keyframe><key name='k' qpos='0.5' qvel='1' ctrl='1 2'/></keyframe></mujoco>";
    ds_memory room = {0};
    char error[ROBOT_ERROR];
    double x[3], v[3];
    robot r;
    assert_int_equal(parse(&room, text, &r, error), 0);
    tree *t = r.tree;
    assert_near(r.step, 0.004, 0);
    assert_near(t->number[TREE_GRAVITY + 2], -3, 0);
    assert_near(t->link[0].axis[1], 1, 0);
    assert_near(t->lower[0], -1, 0);
    assert_near(t->number[tree_joint_number(t, TREE_DAMPING, 0)], 0.3, 0);
    assert_near(t->link[0].centre[2], -1, 0);
    assert_near(t->link[0].inertia[0], 0.4 * 2 * 0.01, 1e-15);
    assert_int_equal(r.actuators, 2);
    assert_near(r.actuator[0].gear, 5, 0);
    assert_near(r.actuator[0].upper, 3, 0);
    assert_near(r.actuator[1].gain, 28, 0);
    assert_near(r.actuator[1].rate_gain, 2, 0);
    assert_near(r.key[0].q[0], 0.5, 0);
    assert_near(r.key[0].u[1], 2, 0);
    tree_work *w = tree_work_create(&room, t);
    tree_place(t, w, (double[]){0.7}, NULL);
    int site = tree_find_site(t, "s");
    tree_point(t, w, t->site[site].link, t->site[site].at, x, v);
    assert_near(x[0], 1, 1e-15); /* at the joint */
    assert_near(x[2], 4, 1e-15);
    ds_memory_free(&room);
}

static void free_base_and_floating_joint(void **state)
{
    static const char text[] =
        "<robot name='r'><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' "
        "izz='1'/></inertial>"
        "<collision><geometry><sphere radius='0.1'/></geometry></collision></link></robot>";
    ds_memory room = {0};
    char error[ROBOT_ERROR];
    robot r;
    assert_int_equal(robot_parse(&room, text, strlen(text), "r", &(robot_options){.free_base = 1}, &r, error),
                     0);
    assert_int_equal(r.tree->nv, 6);
    assert_int_equal(r.tree->shapes, 1);
    assert_int_equal(r.tree->shape[0].visible, 1);
    assert_int_equal(parse(&room, text, &r, error), 1);
    assert_non_null(strstr(error, "nothing moves"));
    ds_memory_free(&room);
}

/* ---- mistakes ---- */

#define URDF(links, joints) "<robot name='r'>" links joints "</robot>"
#define LINK(name, inside) "<link name='" name "'>" inside "</link>\n"
#define INERTIA(m, x) "<inertial><mass value='" m "'/><inertia ixx='" x "' iyy='1' izz='1'/></inertial>"
#define JOINT(name, type, a, b, inside)                                                                      \
    "<joint name='" name "' type='" type "'><parent link='" a "'/><child link='" b "'/>" inside "</joint>\n"
#define WORLD(inside) "<mujoco>\n<worldbody>" inside "</worldbody></mujoco>"
#define BODY(inside) WORLD("<body name='b'>" inside "</body>")
#define HINGE "<joint name='j'/><geom size='1'/>"

static void mistakes(void **state)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "not valid XML"},
        {"<robot>", "not valid XML"},
        {"<!DOCTYPE a [<!ENTITY b 'c'>]><robot>&b;</robot>", "document type"},
        {"<html/>", "<robot> (URDF) or <mujoco> (MJCF)"},
        {URDF("", ""), "there is no <link>"},
        {URDF(LINK("a", "") LINK("a", ""), ""), "two links of this name"},
        {URDF(LINK("a", "") LINK("b", ""), ""), "second root"},
        {URDF(LINK("a", ""), JOINT("j", "fixed", "a", "x", "")), "child link \"x\" does not exist"},
        {URDF(LINK("a", "") LINK("b", ""),
              JOINT("j", "fixed", "a", "b", "") JOINT("k", "fixed", "b", "a", "")),
         "cycle"},
        {URDF(LINK("r", "") LINK("a", "") LINK("b", ""),
              JOINT("j", "fixed", "a", "b", "") JOINT("k", "fixed", "b", "a", "")),
         "cycle"},
        {URDF(LINK("a", "") LINK("b", ""),
              JOINT("j", "fixed", "a", "b", "") JOINT("k", "fixed", "a", "b", "")),
         "another joint"},
        {URDF(LINK("a", "") LINK("b", ""), JOINT("j", "screw", "a", "b", "")), "joint type \"screw\""},
        {URDF(LINK("a", "") LINK("b", ""), JOINT("j", "revolute", "a", "b", "")), "<limit> is missing"},
        {URDF(LINK("a", "") LINK("b", ""), JOINT("j", "continuous", "a", "b", "<axis xyz='0 0 0'/>")),
         "no length"},
        {URDF(LINK("a", "") LINK("b", ""), JOINT("j", "continuous", "a", "b", "<mimic joint='k'/>")),
         "<mimic>"},
        {URDF(LINK("a", "") LINK("b", ""), JOINT("j", "continuous", "a", "b", "")),
         "joint \"j\" of \"b\" moves no inertia"},
        {URDF(LINK("a", INERTIA("nan", "1")), ""), "not a list of finite numbers"},
        {URDF(LINK("a", INERTIA("-1", "1")), ""), "mass -1"},
        {URDF(LINK("a", INERTIA("1", "3")), ""), "that of no body"},
        {URDF(LINK("a", INERTIA("1", "1 2")), ""), "more than 1 numbers"},
        {URDF(LINK("a", "<visual><geometry><mesh filename='no.stl'/></geometry></visual>"), ""),
         "does not exist"},
        {URDF(LINK("a", "<visual><geometry><mesh filename='package://p/no.stl'/></geometry></visual>"), ""),
         "in no folder of packages"},
        {URDF(LINK("a", "<collision><geometry><mesh filename='no.stl'/></geometry></collision>"), ""),
         "a mesh that collides"},
        {URDF(LINK("a", "<visual><geometry><box size='1 0 1'/></geometry></visual>"), ""),
         "size must be above 0"},
        {"<mujoco><tendon/></mujoco>", "robot:1: <tendon>: this element is not supported"},
        {"<mujoco>\n<equality/></mujoco>", "robot:2: <equality>"},
        {BODY("<joint type='screw'/>"), "joint type \"screw\""},
        {BODY("<joint frictionloss='0.1'/><geom size='1'/>"), "frictionloss=\"0.1\""},
        {BODY("<joint axis='0 0 0'/>"), "no length"},
        {BODY("<joint/>"), "moves no inertia"},
        {BODY("<joint range='1 0'/>"), "lower to a higher"},
        {BODY("<joint class='c'/>"), "default class \"c\" is not defined"},
        {BODY("<geom/>"), "size is missing"},
        {BODY("<geom type='ellipsoid' size='1 1 1'/>"), "\"ellipsoid\""},
        {BODY("<geom size='inf'/>"), "finite"},
        {BODY("<geom type='plane' size='1 1 1'/>"), "fixed to the world"},
        {BODY(HINGE "<freejoint/>"), "only joint"},
        {BODY("<flexcomp/>"), "<flexcomp>: this element is not supported"},
        {WORLD("<body quat='0 0 0 0'/>"), "no length"},
        {WORLD("<body quat='1 0 0 0' euler='0 0 0'/>"), "more than one orientation"},
        {WORLD("<body mocap='true'/>"), "mocap"},
        {"<mujoco><worldbody><body>" HINGE
         "</body></worldbody><actuator><motor joint='x'/></actuator></mujoco>",
         "joint \"x\" does not exist"},
        {"<mujoco><worldbody><body>" HINGE
         "</body></worldbody><actuator><muscle joint='j'/></actuator></mujoco>",
         "use motor, position or velocity"},
        {"<mujoco><worldbody><body>" HINGE
         "</body></worldbody><keyframe><key qpos='1 2'/></keyframe></mujoco>",
         "more than 1 numbers"},
    };
    for (size_t k = 0; k < COUNT_OF(bad); k++) {
        ds_memory room = {0};
        char error[ROBOT_ERROR];
        robot r;
        int rc = parse(&room, bad[k].text, &r, error);
        if (rc != 1 || !strstr(error, bad[k].says) || strchr(error, '\n')) {
            fail_msg("%s gives %d, \"%s\", not \"%s\"", bad[k].text, rc, error, bad[k].says);
        }
        ds_memory_free(&room);
    }
}

RUN_TESTS(against_mujoco, attributes, free_base_and_floating_joint, mistakes)
