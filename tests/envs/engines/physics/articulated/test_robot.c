/* SPDX-License-Identifier: Apache-2.0 */
/* test_robot.c - robots from URDF and MJCF: the models of this tree against values of MuJoCo, what the
 * readers make of each attribute, one line for every mistake. */
#include "engines/physics/articulated/motion.h"
#include "engines/physics/articulated/robot.h"
#include "temporary.h"
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

/* Joints that follow others, and dry friction, in both formats. */
static void followers(void **state)
{
#define PART(name)                                                                                           \
    "<link name='" name "'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link>"
#define TURN(name, b, inside)                                                                                \
    "<joint name='" name "' type='revolute'><parent link='a'/><child link='" b "'/>"                         \
    "<limit lower='-1' upper='1' effort='2'/>" inside "</joint>"
    static const char *const texts[] = {
        "<robot name='r'>" PART("a") PART("b") PART("c") PART("d")
            TURN("k", "c", "<mimic joint='j' multiplier='-2' offset='0.1'/>")
                TURN("j", "b", "<dynamics friction='0.3'/>") TURN("l", "d", "<mimic joint='k'/>") "</robot>",
        "<mujoco><worldbody>"
        "<body><joint name='k' ref='20'/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/></body>"
        "<body><joint name='j' frictionloss='0.3'/><inertial pos='0 0 0' mass='1' diaginertia='1 1 "
        "1'/></body>"
        "<body><joint name='l'/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/></body></worldbody>"
        "<equality><joint joint1='k' joint2='j' polycoef='0.1 -2 0 0 0'/><joint joint1='l' active='false'/>"
        "<joint joint1='l' polycoef='0.2'/></equality></mujoco>"};
    for (int k = 0; k < 2; k++) {
        ds_memory room = {0};
        char error[ROBOT_ERROR];
        robot r;
        double q[3] = {0}, v[3] = {0};
        if (parse(&room, texts[k], &r, error) != 0) {
            fail_msg("%s", error);
        }
        const tree *t = r.tree;
        assert_int_equal(t->couplings, 2);
        int of[3];
        for (int i = 0; i < 3; i++) {
            of[i] = tree_find_joint(t, (const char *const[]){"j", "k", "l"}[i]);
        }
        q[t->link[of[0]].q] = 0.5;
        v[t->link[of[0]].v] = 1;
        tree_couple(t, q, v);
        assert_near(q[t->link[of[1]].q], 0.1 - 2 * 0.5 + (k ? 20 * 3.14159265358979323846 / 180 : 0), 1e-15);
        assert_near(v[t->link[of[1]].v], -2, 0);
        assert_near(q[t->link[of[2]].q], k ? 0.2 : 0.1 - 2 * 0.5, 1e-15);
        assert_near(v[t->link[of[2]].v], k ? 0 : -2, 0);
        assert_near(t->number[tree_joint_number(t, TREE_DRY, t->link[of[0]].v)], 0.3, 0);
        assert_int_equal(r.actuators, k ? 0 : 1); /* the followers of a URDF have none */
        ds_memory_free(&room);
    }
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

#define ELL_FACES                                                                                            \
    "0 2 1 6 7 8 0 3 2 6 8 9 0 4 3 6 9 10 0 5 4 6 10 11 0 1 7 0 7 6 1 2 8 1 8 7 2 3 9 2 9 8 3 4 10 3 10 9 "  \
    "4 5 11 4 11 10 5 0 6 5 6 11"
#define ELL_FACES_BACK                                                                                       \
    "0 1 2 6 8 7 0 2 3 6 9 8 0 3 4 6 10 9 0 4 5 6 11 10 0 7 1 0 6 7 1 8 2 1 7 8 2 9 3 2 8 9 3 10 4 "         \
    "3 9 10 4 11 5 4 10 11 5 6 0 5 11 6"
/* An L whose centre lies outside of it. */
#define ELL(compiler, asset, faces)                                                                          \
    "<mujoco><compiler " compiler "/><asset><mesh name='m' " asset " vertex='0 0 0 6 0 0 6 1 0 1 1 0 1 6 0 " \
    "0 6 0 0 0 1 6 0 1 6 1 1 1 1 1 1 6 1 0 6 1' " faces "/></asset><worldbody><body><freejoint/><geom "      \
    "type='mesh' mesh='m'/></body></worldbody></mujoco>"

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
        {URDF(LINK("a", "") LINK("b", ""), JOINT("j", "revolute", "a", "b", "<limit lowr='-1' upper='1'/>")),
         "<limit>: unknown attribute lowr; did you mean lower?"},
        {URDF(LINK("a", "") LINK("b", ""), JOINT("j", "continuous", "a", "b", "<axis xyz='0 0 0'/>")),
         "no length"},
        {URDF(LINK("a", "") LINK("b", ""), JOINT("j", "continuous", "a", "b", "<mimic joint='k'/>")),
         "<mimic>: joint \"k\" does not exist"},
        {URDF(LINK("a", "") LINK("b", ""), JOINT("j", "continuous", "a", "b", "<mimic joint='j'/>")),
         "joint \"j\" follows itself"},
        {URDF(LINK("a", "") LINK("b", ""), JOINT("j", "planar", "a", "b", "<mimic joint='j'/>")),
         "only revolute, continuous and prismatic joints"},
        {URDF(LINK("a", "") LINK("b", ""), JOINT("j", "continuous", "a", "b", "<dynamics friction='-1'/>")),
         "friction -1 is negative"},
        {URDF(LINK("a", "") LINK("b", ""), JOINT("j", "continuous", "a", "b", "")),
         "joint \"j\" of \"b\" moves no inertia"},
        {URDF(LINK("a", INERTIA("nan", "1")), ""), "not a list of finite numbers"},
        {URDF(LINK("a", INERTIA("-1", "1")), ""), "mass -1"},
        {URDF(LINK("a", INERTIA("1", "-3")), ""), "negative principal moment"},
        {URDF(LINK("a", INERTIA("1", "1 2")), ""), "more than 1 numbers"},
        {URDF(LINK("a", "<visual><geometry><mesh filename='no.stl'/></geometry></visual>"), ""),
         "does not exist"},
        {URDF(LINK("a", "<visual><geometry><mesh filename='package://p/no.stl'/></geometry></visual>"), ""),
         "in no folder of packages"},
        {URDF(LINK("a", "<collision><geometry><mesh filename='no.stl'/></geometry></collision>"), ""),
         "does not exist"},
        {URDF(LINK("a", "<visual><geometry><box size='1 -1 1'/></geometry></visual>"), ""),
         "size must not be negative"},
        {"<mujoco><tendon><fixed stiffness='3'/></tendon></mujoco>", "robot:1: <fixed>: a tendon that acts"},
        {"<mujoco><include/></mujoco>", "robot:1: <include>: the attribute file is missing"},
        {"<mujoco><include file='no.xml'/></mujoco>", "\"no.xml\" does not exist"},
        {"<mujoco>\n<equality><weld name='w'/></equality></mujoco>",
         "robot:2: <weld \"w\">: this equality constraint is not supported"},
        {"<mujoco><equality><joint joint1='x'/></equality></mujoco>", "joint1=\"x\" does not exist"},
        {"<mujoco><worldbody><body>" HINGE
         "</body></worldbody><equality><joint joint1='j' polycoef='0 1 2'/></equality></mujoco>",
         "only linear couplings"},
        {BODY("<joint type='screw'/>"), "joint type \"screw\""},
        {BODY("<joint frictionloss='-0.1'/><geom size='1'/>"), "frictionloss are not negative"},
        {BODY("<joint axis='0 0 0'/>"), "no length"},
        {BODY("<joint/>"), "moves no inertia"},
        {BODY("<joint range='1 0'/>"), "lower to a higher"},
        {BODY("<joint class='c'/>"), "default class \"c\" is not defined"},
        {BODY("<geom/>"), "size is missing"},
        {BODY("<geom type='hfield' size='1 1 1'/>"), "terrain is fixed to the world"},
        {BODY("<geom type='ellipsoid' size='1 1'/>"), "has 2 numbers, not 3"},
        {BODY("<geom type='mesh' mesh='m'/>"), "mesh asset \"m\" is not defined"},
        {ELL("", "inertia='shell'", ""), "<mesh \"m\">: inertia=\"shell\": use legacy, exact or convex"},
        {ELL("", "refquat='1 1 0 0'", ""), "refquat is not supported"},
        {ELL("", "", "face='0 1 2 3'"), "face needs three numbers of vertices (0 to 11)"},
        {ELL("", "", "face='0 1 12'"), "face needs three numbers of vertices (0 to 11)"},
        {ELL("", "inertia='exact'", "face='0 2 1 6 7 8'"), "needs a closed surface"},
        {ELL("", "inertia='exact' scale='1 1 -1'", "face='" ELL_FACES_BACK "'"), "triangles face inwards"},
        {ELL("alignfree='true'", "", ""), "alignfree=\"true\" is not supported"},
        {BODY("<freejoint align='true'/><geom size='1'/>"), "<freejoint>: align=\"true\" is not supported"},
        {BODY("<geom size='inf'/>"), "finite"},
        {BODY("<geom type='plane' size='1 1 1'/>"), "fixed to the world"},
        {BODY(HINGE "<freejoint/>"), "only joint"},
        {BODY("<flexcomp/>"), "<flexcomp>: this element is not supported"},
        {BODY("<joint dampng='1'/>"), "<joint>: unknown attribute dampng; did you mean damping?"},
        {BODY("<geom sise='1'/>"), "<geom>: unknown attribute sise; did you mean size?"},
        {WORLD("<body quat='0 0 0 0'/>"), "no length"},
        {WORLD("<body quat='1 0 0 0' euler='0 0 0'/>"), "more than one orientation"},
        {WORLD("<body>" HINGE "</body><body>" HINGE "</body>"), "<joint \"j\">: another joint has this name"},
        {WORLD("<body name='a'>" HINGE "</body>\n<body name='a'><geom size='1'/></body>"),
         "robot:3: <body \"a\">: another body has this name"},
        {WORLD("<replicate offset='1 0 0'/>"), "<replicate>: count must be 1 to 2000"},
        {WORLD("<replicate count='1.5'/>"), "count must be 1 to 2000"},
        {WORLD("<replicate count='2000'><replicate count='2000'><site/></replicate></replicate>"),
         "<site>: more than 20000 elements with their copies"},
        {WORLD("<replicate count='2'><body><joint name='j'/></body></replicate>"), "moves no inertia"},
        {"<mujoco><worldbody><body>" HINGE
         "</body></worldbody><actuator><motor joint='x'/></actuator></mujoco>",
         "joint \"x\" does not exist"},
        {"<mujoco><worldbody><body>" HINGE
         "</body></worldbody><actuator><muscle joint='j'/></actuator></mujoco>",
         "use motor, position, velocity or general"},
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

/* ---- meshes and parts of files ---- */

static temporary folder;

static int open_folder(void **state)
{
    temporary_open(&folder);
    return 0;
}

static int close_folder(void **state)
{
    return temporary_close(&folder);
}

static const char *put(const char *name, const char *text)
{
    const char *path = temporary_path(&folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

/* The mass matrix at the start of what a text or, if it begins with '/', a file describes. */
static int mass_of(const char *from, double M[36], robot *r, ds_memory *room)
{
    char error[ROBOT_ERROR];
    const robot_options options = {0};
    int rc = *from == '/' ? robot_read(room, from, &options, r, error) : parse(room, from, r, error);
    if (rc != 0) {
        fail_msg("%s: %s", from, error);
    }
    tree_work *w = tree_work_create(room, r->tree);
    assert_non_null(w);
    assert_true(r->tree->nv <= 6);
    tree_mass_matrix(r->tree, w, r->tree->start, M);
    return r->tree->nv;
}

static void same_mass(const char *a, const char *b, double tolerance)
{
    ds_memory room = {0};
    robot r, s;
    double M[36], N[36];
    int n = mass_of(a, M, &r, &room);
    assert_int_equal(mass_of(b, N, &s, &room), n);
    for (int k = 0; k < n * n; k++) {
        if (!(fabs(M[k] - N[k]) <= tolerance * (1 + fabs(M[k])))) {
            fail_msg("%s and %s: mass %d is %.15g and %.15g", a, b, k, M[k], N[k]);
        }
    }
    ds_memory_free(&room);
}

/* Masses of a mesh that is not convex: boxes, and values of MuJoCo 4.0.0. */
static void masses_of_meshes(void **state)
{
    static const char solid[] = BODY("<freejoint/><geom type='box' size='3 0.5 0.5' pos='3 0.5 0.5'/>"
                                     "<geom type='box' size='0.5 2.5 0.5' pos='0.5 3.5 0.5'/>"),
                      convex[] = BODY("<freejoint/><inertial mass='23500' pos='2.2907801418439719 "
                                      "2.2907801418439719 0.5' fullinertia='58554.669030733196 "
                                      "58554.669030733196 113192.67139479972 25361.997635933931 0 0'/>"),
                      legacy[] = BODY("<freejoint/><inertial mass='17475.089427296527' "
                                      "pos='1.9712634140944794 1.9712634140944798 0.5' "
                                      "fullinertia='47249.134668572529 47249.134668572529 "
                                      "92017.427061082068 26095.676704367565 0 0'/>");
    same_mass(ELL("", "inertia='exact'", "face='" ELL_FACES "'"), solid, 1e-12);
    same_mass(ELL("exactmeshinertia='true'", "", "face='" ELL_FACES "'"), solid, 1e-12);
    same_mass(ELL("", "inertia='convex'", "face='" ELL_FACES "'"), convex, 1e-12);
    same_mass(ELL("", "", ""), convex, 1e-12);
    same_mass(ELL("", "", "face='" ELL_FACES "'"), legacy, 1e-12);
    same_mass(ELL("exactmeshinertia='true'", "inertia='legacy'", "face='" ELL_FACES "'"), legacy, 1e-12);

    /* A hull with more corners than contact keeps has no mass, but may be given one. */
    char points[9000] = "", text[10000], error[ROBOT_ERROR];
    for (int i = 0, at = 0; i < 200; i++) {
        double z = (i + 0.5) / 100 - 1, r = sqrt(1 - z * z);
        at += snprintf(points + at, sizeof points - (size_t)at, "%.12g %.12g %.12g ", r * cos(2.4 * i),
                       r * sin(2.4 * i), z);
    }
    for (int given = 0; given < 2; given++) {
        ds_memory room = {0};
        robot r;
        snprintf(text, sizeof text,
                 "<mujoco><asset><mesh name='m' vertex='%s'/></asset><worldbody><body><freejoint/><geom "
                 "type='mesh' mesh='m'/>%s</body></worldbody></mujoco>",
                 points, given ? "<inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>" : "");
        assert_int_equal(parse(&room, text, &r, error), !given);
        assert_true(given || strstr(error, "its convex hull has too many corners for its mass"));
        ds_memory_free(&room);
    }
}

/* Two ways to write the same robot. */
static void equivalents(void **state)
{
    static const char *const pairs[][2] = {
        {BODY("<freejoint/><frame pos='1 2 3' euler='0 0 90'><geom type='box' size='1 2 3' pos='1 0 "
              "0'/></frame>"),
         BODY("<freejoint/><geom type='box' size='1 2 3' pos='1 3 3' euler='0 0 90'/>")},
        {WORLD("<frame/><frame pos='0 0 1'><frame euler='90 0 0'><body pos='1 1 0'><joint axis='1 2 0' "
               "pos='0 1 0'/>"
               "<geom size='1' fromto='0 0 0 1 0 0' type='capsule'/></body></frame></frame>"),
         WORLD("<body pos='1 0 2' euler='90 0 0'><joint axis='1 2 0' pos='0 1 0'/>"
               "<geom type='capsule' size='1 0.5' pos='0.5 0 0' euler='0 90 0'/></body>")},
        {BODY("<frame euler='0 0 90' pos='0 1 0'><joint axis='1 0 0' pos='1 0 0'/></frame><geom size='1'/>"),
         BODY("<joint axis='0 1 0' pos='0 2 0'/><geom size='1'/>")},
        {BODY("<freejoint/><replicate count='3' offset='1 0 0' euler='0 0 90'><geom type='box' size='1 2 3'/>"
              "</replicate>"),
         BODY("<freejoint/><geom type='box' size='1 2 3'/><geom type='box' size='1 2 3' pos='1 0 0' euler='0 "
              "0 "
              "90'/><geom type='box' size='1 2 3' pos='1 1 0'/>")},
        {WORLD("<replicate count='2' offset='0 0 1'><replicate count='2' offset='0 1 0'><body><joint/>"
               "<geom size='0.1' pos='1 0 0'/></body></replicate></replicate>"),
         WORLD(
             "<body><joint/><geom size='0.1' pos='1 0 0'/></body><body pos='0 1 0'><joint/><geom size='0.1' "
             "pos='1 0 0'/></body><body pos='0 0 1'><joint/><geom size='0.1' pos='1 0 0'/></body><body "
             "pos='0 1 "
             "1'><joint/><geom size='0.1' pos='1 0 0'/></body>")},
        {"<mujoco><extension><plugin plugin='p'/></extension><worldbody><body mocap='true' pos='1 0 0'><geom "
         "size='1'/></body><body><freejoint/><geom size='1'/></body></worldbody></mujoco>",
         BODY("<freejoint/><geom size='1'/>")},
        {"<mujoco><compiler inertiagrouprange='4 5'/><worldbody><body><freejoint/><geom size='1'/><geom "
         "size='2' group='3'/><geom size='3' group='4'/></body></worldbody></mujoco>",
         BODY("<freejoint/><geom size='3'/>")},
        {"<mujoco><compiler settotalmass='6'/><worldbody><body><freejoint/><geom "
         "size='1'/></body></worldbody></mujoco>",
         BODY("<freejoint/><geom size='1' mass='6'/>")},
        {"<mujoco><compiler boundmass='2' boundinertia='3'/><worldbody><body><joint/><inertial pos='1 0 0' "
         "mass='1' "
         "diaginertia='1 4 1'/></body></worldbody></mujoco>",
         BODY("<joint/><inertial pos='1 0 0' mass='2' diaginertia='3 4 3'/>")},
        {"<mujoco><default><joint armature='2'/></default><worldbody><body><joint type='free'/>"
         "<inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/></body></worldbody></mujoco>",
         BODY("<freejoint/><inertial pos='0 0 0' mass='3' diaginertia='3 3 3'/>")},
        {"<mujoco><default><joint armature='2'/></default><worldbody><body><freejoint/>"
         "<geom size='1'/></body></worldbody></mujoco>",
         BODY("<freejoint/><geom size='1'/>")},
        {BODY("<freejoint/><geom type='ellipsoid' size='1 2 3' mass='5'/>"),
         BODY("<freejoint/><inertial pos='0 0 0' mass='5' diaginertia='13 10 5'/>")},
        {"<mujoco><asset><mesh name='m' scale='2 1 1' vertex='0 0 0 1 0 0 0 2 0 0 0 3 1 2 0 1 0 3 0 2 3 1 2 "
         "3 0.5 1 1'/>"
         "</asset><worldbody><body><freejoint/><geom type='mesh' mesh='m' pos='1 1 "
         "1'/></body></worldbody></mujoco>",
         BODY("<freejoint/><geom type='box' size='1 1 1.5' pos='2 2 2.5'/>")},
    };
    for (size_t k = 0; k < COUNT_OF(pairs); k++) {
        same_mass(pairs[k][0], pairs[k][1], 1e-12);
    }
}

/* Copies have names of their own. */
static void names_of_copies(void **state)
{
    ds_memory room = {0};
    char error[ROBOT_ERROR];
    robot r;
    const char *text =
        WORLD("<replicate count='10' sep='-'><replicate count='2' sep='_'><body name='b'><joint "
              "name='j'/><geom size='1'/></body></replicate></replicate>");
    assert_int_equal(parse(&room, text, &r, error), 0);
    assert_int_equal(r.tree->nv, 20);
    assert_int_equal(tree_find_joint(r.tree, "j_0-00"), 0);
    assert_int_equal(tree_find_joint(r.tree, "j_1-09"), 19);
    assert_int_equal(tree_find_link(r.tree, "b_1-00"), 1);
    ds_memory_free(&room);
}

/* A servo written as a general actuator; a file that is included; one that includes itself. */
static void servos_and_includes(void **state)
{
    ds_memory room = {0};
    robot r;
    double M[36];
    put("servo.xml",
        "<mujocoinclude><general name='s' joint='j' gainprm='7' biastype='affine' "
        "biasprm='0 -7 -2' ctrlrange='-1 1'/><motor name='m' joint='j' gear='3'/></mujocoinclude>");
    const char *main_file = put("main.xml", "<mujoco><worldbody><body>" HINGE "</body></worldbody><actuator>"
                                            "<include file='servo.xml'/></actuator></mujoco>");
    assert_int_equal(mass_of(main_file, M, &r, &room), 1);
    assert_int_equal(r.actuators, 2);
    assert_int_equal(r.actuator[0].kind, 1);
    assert_near(r.actuator[0].gain, 7, 0);
    assert_near(r.actuator[0].rate_gain, 2, 0);
    assert_near(r.actuator[1].gear, 3, 0);
    char error[ROBOT_ERROR];
    const robot_options options = {0};
    const char *loop = put("loop.xml", "<mujoco>\n<include file='loop.xml'/></mujoco>");
    assert_int_equal(robot_read(&room, loop, &options, &r, error), 1);
    assert_non_null(strstr(error, "loop.xml:2: <include>: files include each other"));
    put("bad.xml", "<mujoco>\n\n<worldbody><body><joint type='x'/></body></worldbody></mujoco>");
    assert_int_equal(
        robot_read(&room, put("m.xml", "<mujoco><include file='bad.xml'/></mujoco>"), &options, &r, error),
        1);
    assert_non_null(strstr(error, "bad.xml:3: <joint>"));
    ds_memory_free(&room);
}

static const char cube_obj[] =
    "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nv 0 0 1\nv 1 0 1\nv 0 1 1\nv 1 1 1\n"
    "v 0.5 0.5 0.5\nf 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n"
    "f 1 1 2\nf 1 2 1\n";
static const char tetrahedron_dae[] =
    "<COLLADA><asset><unit meter='0.5'/></asset><library_geometries><geometry id='g'><mesh><source id='p'>"
    "<float_array count='12'>0 0 0 2 0 0 0 2 0 0 0 2</float_array></source><vertices id='v'><input "
    "semantic='POSITION' source='#p'/></vertices><polylist count='4'><input semantic='VERTEX' source='#v' "
    "offset='0'/><input semantic='NORMAL' source='#n' offset='1'/><vcount>3 3 3 3</vcount><p>0 0 2 0 1 0 0 0 "
    "1 "
    "0 3 0 0 0 3 0 2 0 1 0 2 0 3 "
    "0</p></polylist></mesh></geometry></library_geometries><library_visual_scenes>"
    "<visual_scene><node><translate>6 0 0</translate><instance_geometry url='#g'/></node></visual_scene>"
    "</library_visual_scenes></COLLADA>";

/* Meshes of files: found through the package of the model and above it, their hulls, masses and pictures. */
static void meshes(void **state)
{
    ds_memory room = {0};
    robot r;
    char error[ROBOT_ERROR];
    robot_options options = {.free_base = 1};
    put("cube.OBJ", cube_obj);
    put("tetra.dae", tetrahedron_dae);
    const char *model =
        put("m.urdf",
            URDF(LINK("a",
                      INERTIA("1", "1") "<visual><geometry><mesh filename='package://x/y/tetra.dae'/>"
                                        "</geometry></visual><collision><origin xyz='0 0 1'/><geometry><mesh "
                                        "filename='cube.OBJ' scale='2 1 1'/></geometry></collision>"),
                 ""));
    assert_int_equal(robot_read(&room, model, &options, &r, error), 1);
    assert_non_null(strstr(error, "package://x/y/tetra.dae\" is in no folder above the model"));
    options.packages = temporary_path(&folder, "");
    assert_int_equal(robot_read(&room, model, &options, &r, error), 1); /* y/tetra.dae is not there either */
    model = put(
        "m.urdf",
        URDF(LINK("a",
                  INERTIA(
                      "1",
                      "1") "<visual><geometry><mesh filename='tetra.dae'/>"
                           "</geometry></visual><collision><origin xyz='0 0 1'/><geometry><mesh "
                           "filename='package://anything/cube.OBJ' scale='2 1 1'/></geometry></collision>"),
             ""));
    options.packages = NULL;
    if (robot_read(&room, model, &options, &r, error) != 0) {
        fail_msg("%s", error);
    }
    assert_int_equal(r.tree->shapes, 2);
    const tree_shape *seen = &r.tree->shape[0], *solid = &r.tree->shape[1];
    assert_true(seen->visible && !seen->collides && !solid->visible && solid->collides);
    assert_int_equal(seen->drawn->points, 4);
    assert_int_equal(seen->drawn->triangles, 4);
    for (int k = 0; k < 4; k++) { /* node, then unit: x from 3 to 4 */
        assert_true(seen->drawn->point[3 * k] >= 3 - 1e-12 && seen->drawn->point[3 * k] <= 4 + 1e-12);
    }
    assert_int_equal(solid->hull->points, 8);
    assert_int_equal(solid->hull->triangles, 12);
    assert_near(solid->size[0], sqrt(6), 1e-12);
    /* Its corners touch the ground: 8 balls against the plane. */
    tree_add_shape(r.tree, -1, TREE_PLANE);
    assert_int_equal(tree_contacts(r.tree), 1);
    assert_int_equal(r.tree->contacts, 8);
    ds_memory_free(&room);
    char text[1200];
    snprintf(
        text, sizeof text,
        "<mujoco><compiler meshdir='%s'/><asset><mesh file='cube.OBJ'/></asset><worldbody><body><freejoint/>"
        "<geom type='mesh' mesh='cube' euler='0 90 0'/></body></worldbody></mujoco>",
        temporary_path(&folder, ""));
    same_mass(text, BODY("<freejoint/><geom type='box' size='0.5 0.5 0.5' pos='0.5 0.5 -0.5'/>"), 1e-12);
    static const struct {
        const char *name, *content, *says;
    } bad[] = {{"a.obj", "v 0 0 0\nv nan 0 0\n", "not a finite number"},
               {"b.stl", "hello", "neither a text STL"},
               {"c.dae", "<COLLADA/>", "no triangles"},
               {"d.dae", "<COLLADA>", "not valid XML"},
               {"e.xyz", "", "use .obj, .stl or .ply"},
               {"f.obj", "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n", "no triangle has an area"}};
    for (size_t k = 0; k < COUNT_OF(bad); k++) {
        put(bad[k].name, bad[k].content);
        snprintf(text, sizeof text,
                 URDF(LINK("a", INERTIA("1", "1") "<collision><geometry><mesh filename='%s'/>"
                                                  "</geometry></collision>"),
                      ""),
                 bad[k].name);
        options = (robot_options){.free_base = 1};
        if (robot_read(&room, put("bad.urdf", text), &options, &r, error) != 1 ||
            !strstr(error, bad[k].says) || !strstr(error, "bad.urdf:1: <mesh>: mesh ")) {
            fail_msg("%s: \"%s\", not \"%s\"", bad[k].name, error, bad[k].says);
        }
        ds_memory_free(&room);
    }
}

/* Height fields as MuJoCo reads them: rows from the largest y, scaled to the third size; its binary files
 * from the smallest y. */
static void terrain(void **state)
{
    static const double heights[6] = {0.24, 0.32, 0.4, 0, 0.08, 0.16}; /* MuJoCo 4.0.0, from the smallest y */
    const char *const assets[] = {"nrow='2' ncol='3' elevation='0 1 2 3 4 5' size='1 0.5 0.4 0.1'/>",
                                  "file='field.bin' size='1 0.5 0.4 0.1'/>",
                                  "file='field.PNG' size='1 0.5 0.4 0.1'/>"};
    /* 3 x 2 grey pixels: 0, 51, 102; 153, 204, 255 */
    static const unsigned char picture[] = {
        137, 80,  78, 71,  13,  10, 26, 10, 0,  0,  0,   13,  73,  72,  68, 82, 0,   0,  0,
        3,   0,   0,  0,   2,   8,  0,  0,  0,  0,  184, 31,  57,  198, 0,  0,  0,   16, 73,
        68,  65,  84, 120, 218, 99, 96, 48, 78, 99, 152, 121, 230, 63,  0,  7,  154, 2,  254,
        7,   179, 80, 87,  0,   0,  0,  0,  73, 69, 78,  68,  174, 66,  96, 130};
    const int32_t head[2] = {2, 3};
    const float values[6] = {3, 4, 5, 0, 1, 2};
    char text[1200], error[ROBOT_ERROR];
    FILE *png = fopen(temporary_path(&folder, "field.PNG"), "wb");
    assert_non_null(png);
    assert_true(fwrite(picture, sizeof picture, 1, png) == 1);
    fclose(png);
    for (int k = 0; k < 3; k++) {
        ds_memory room = {0};
        robot r;
        FILE *f = fopen(temporary_path(&folder, "field.bin"), "wb");
        assert_non_null(f);
        assert_true(fwrite(head, sizeof head, 1, f) == 1 && fwrite(values, sizeof values, 1, f) == 1);
        fclose(f);
        snprintf(text, sizeof text,
                 "<mujoco><asset><hfield name='h' %s</asset><worldbody><geom type='hfield' hfield='h' pos='0 "
                 "0 1'/>"
                 "<body><freejoint/><geom size='0.1'/></body></worldbody></mujoco>",
                 assets[k]);
        if (robot_read(&room, put("m.xml", text), &(robot_options){0}, &r, error) != 0) {
            fail_msg("%s", error);
        }
        const tree_terrain *t = r.tree->shape[0].terrain;
        assert_int_equal(t->columns, 3);
        assert_near(t->cell[0], 1, 1e-15);
        assert_near(t->cell[1], 1, 1e-15);
        assert_near(r.tree->shape[0].at[2], 1, 0);
        for (int i = 0; i < 6; i++) {
            assert_near(t->height[i], heights[i], 1e-12);
        }
        ds_memory_free(&room);
    }
    static const struct {
        const char *asset, *says;
    } bad[] = {{"nrow='1' ncol='3' size='1 1 1 1'/>", "nrow and ncol must be 2"},
               {"nrow='2' ncol='2' elevation='1 2 3' size='1 1 1 1'/>", "has 3 numbers, not 4"},
               {"nrow='2' ncol='2' size='1 1 0 1'/>", "four numbers above 0"},
               {"file='none.bin' size='1 1 1 1'/>", "No such file"},
               {"file='none.png' size='1 1 1 1'/>", "none.png"},
               {"file='m.xml' size='1 1 1 1'/>", "not a height field"}};
    for (size_t k = 0; k < COUNT_OF(bad); k++) {
        ds_memory room = {0};
        robot r;
        snprintf(text, sizeof text,
                 "<mujoco><asset><hfield name='h' %s</asset><worldbody><geom type='hfield' hfield='h'/>"
                 "<body><freejoint/><geom size='0.1'/></body></worldbody></mujoco>",
                 bad[k].asset);
        assert_int_equal(robot_read(&room, put("m.xml", text), &(robot_options){0}, &r, error), 1);
        if (!strstr(error, bad[k].says)) {
            fail_msg("'%s' instead of '%s'", error, bad[k].says);
        }
        ds_memory_free(&room);
    }
}

RUN_TESTS_WITH(open_folder, close_folder, terrain, against_mujoco, attributes, free_base_and_floating_joint,
               followers, mistakes, equivalents, names_of_copies, masses_of_meshes, servos_and_includes,
               meshes)
