/* SPDX-License-Identifier: Apache-2.0 */
/* test_robot.c - environment robot: gradients by controls, numbers of the model and the start against central
 * differences at many points, products of the joints' motion, forward steps of episodes and stepwise control,
 * the tasks of examples/robots, one line for every mistake in a task. */
#include "differences.h"
#include "host.h"
#include "temporary.h"
#include "test.h"

#include <diffsim/ext/draft/steps_gradient.h>
#include <diffsim/ext/steps.h>
#include <diffsim/helper/random.h>

enum { POINTS = 100, MOST = 1000 };

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

static const char *setting(char text[5000], const char *name, const char *path)
{
    snprintf(text, 5000, "%s=%s", name, path);
    return text;
}

static const char *source(char path[4096], const char *name)
{
    const char *top = getenv("DS_TOP_SRC");
    snprintf(path, 4096, "%s/%s", top ? top : ".", name);
    return path;
}

/* Writes a task; the first %s of `text` is the folder of the models. */
static const char *written(const char *text)
{
    char top[4096], real[4096];
    assert_non_null(realpath(source(top, "examples/robots"), real));
    const char *path = temporary_path(&folder, "task.ini");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    const char *place = strstr(text, "%s");
    if (place != NULL) {
        fprintf(f, "%.*s%s%s", (int)(place - text), text, real, place + 2);
    } else {
        fputs(text, f);
    }
    fclose(f);
    return path;
}

static void open_task(fake_env *e, const char *path)
{
    char text[5000];
    fake_env_open(e, "envs/robot", SETTINGS(setting(text, "task", path)), 0, 0);
}

/* The derivative along a random direction at `points` random points. Returns how many are wrong. */
static int wrong_directions(fake_env *e, int points, double eps, double tolerance)
{
    static double x[MOST], y[MOST], u[MOST], grad[MOST];
    int wrong = 0;
    uint64_t n = e->info.n;
    assert_true(n <= MOST);
    for (int point = 0; point < points; point++) {
        uint32_t outcome = DS_EVAL_OK;
        double quotient[2];
        rigid_random(x, n, (uint64_t)point + 1);
        rigid_random(u, n, (uint64_t)point + 1001);
        for (uint64_t i = 0; i < n; i++) {
            double middle = 0.5 * (e->lower[i] + e->upper[i]), half = 0.5 * (e->upper[i] - e->lower[i]);
            x[i] = middle + 0.9 * half * x[i];
            u[i] *= half;
        }
        fake_eval(e, x, grad, 0, &outcome);
        assert_int_equal(outcome, DS_EVAL_OK);
        double slope = differences_dot(n, grad, u), size = 0;
        for (uint64_t i = 0; i < n; i++) {
            size += fabs(grad[i] * u[i]);
        }
        for (int fine = 0; fine < 2; fine++) {
            double h = fine ? 0.5 * eps : eps, loss[2];
            for (int side = 0; side < 2; side++) {
                for (uint64_t i = 0; i < n; i++) {
                    y[i] = x[i] + (side ? h : -h) * u[i];
                }
                loss[side] = fake_eval(e, y, NULL, 0, NULL);
            }
            quotient[fine] = (loss[1] - loss[0]) / (2 * h);
        }
        double expected = (4 * quotient[1] - quotient[0]) / 3;
        if (!(fabs(slope - expected) <= tolerance * fmax(size, 1e-3))) {
            print_message("point %d: %.12g, not %.12g (terms %.3g), quotients %.12g, %.12g\n", point, slope,
                          expected, size, quotient[0], quotient[1]);
            wrong++;
        }
    }
    return wrong;
}

/* Every kind of term, control and variable, without contact. */
static void every_derivative(void **state)
{
    static const char *const rules[] = {"euler", "rk4"}, *const shapes[] = {"constant", "linear", "spline"};
    FILE *f = fopen(temporary_path(&folder, "record.txt"), "w");
    fputs("# seconds, two joints\n0 0 0\n0.1 0.1 -0.2\n0.4 0.3 0.1\n", f);
    fclose(f);
    for (int k = 0; k < 6; k++) {
        char text[4000];
        fake_env e;
        snprintf(
            text, sizeof text,
            "[task]\nmodel = %%s/arm.urdf\nduration = 0.3\nstep = 0.005\ncontrol_step = 0.1\n"
            "integrator = %s\nshape = %s\nlimit_stiffness = 5\n"
            "[start]\njoint2 = 0.4\nvelocity.joint3 = 1\n"
            "[controls]\njoint1 = -9 9\nforce.joint2 = -9 9\nposition.joint4 = -1 1 30 2\njoint6 = -1 1\n"
            "[variables]\nmass.link3 = 1 2 log\nlength.link4 = 0.8 1.2\ndamping.joint5 = 0.1 1 log\n"
            "spring.joint3 = 0 5\nrest.joint3 = -1 1\narmature.joint7 = 0.01 0.1 log\n"
            "gain.joint4 = 10 50\nstart.joint1 = -1 1\nvelocity.joint6 = -1 1\n"
            "[loss.a]\nwhat = position\nof = hand\ntarget = 0.5 0.3 0.4\nnorm = distance\n"
            "[loss.b]\nwhat = turn\nof = link6\ntarget = 0 1 1 0\nat = mean\n"
            "[loss.c]\nwhat = velocity\nof = link7\naxes = 1 0.5 0\nat = 0.2\n"
            "[loss.d]\nwhat = com\ntarget = 0 0.1 1\n[loss.e]\nwhat = com_velocity\nat = mean\n"
            "[loss.f]\nwhat = effort\n[loss.g]\nwhat = rate\nof = joint7\nweight = 0.1\n"
            "[loss.h]\nwhat = recording\njoints = joint1 joint2\nfile = record.txt\n"
            "[loss.i]\nwhat = angular_velocity\nof = link5\nnorm = sum\n"
            "[loss.j]\nwhat = joint\nof = joint2\ntarget = 0.2\nat = mean\n",
            rules[k % 2], shapes[k % 3]);
        open_task(&e, written(text));
        assert_int_equal(e.info.n, 3 * 4 + 9);
        assert_int_equal(wrong_directions(&e, POINTS / 6 + 1, 1e-4, 1e-7), 0);
        fake_env_close(&e);
    }
}

/* A gripper whose second finger follows the first one, with dry friction in its joints. */
static void derivatives_of_followers(void **state)
{
    static const char *const laws[] = {"none\nintegrator = rk4", "compliant", "complementarity"};
    FILE *f = fopen(temporary_path(&folder, "gripper.xml"), "w");
    fputs("<mujoco><worldbody><geom type='plane' size='0 0 1' pos='0 0 -0.3'/><body>"
          "<joint name='lift' type='slide'/><geom size='0.05' mass='1'/>"
          "<body pos='0.1 0 0'><joint name='left' axis='0 1 0' frictionloss='0.1'/>"
          "<geom type='capsule' size='0.02' fromto='0 0 0 0 0 -0.2' mass='0.3'/><site name='tip' pos='0 0 "
          "-0.2'/></body>"
          "<body pos='-0.1 0 0'><joint name='right' axis='0 1 0' frictionloss='0.1'/>"
          "<geom type='capsule' size='0.02' fromto='0 0 0 0 0 -0.2' mass='0.3'/></body></body></worldbody>"
          "<equality><joint joint1='right' joint2='left' polycoef='0.1 -0.8 0 0 0'/></equality></mujoco>",
          f);
    fclose(f);
    for (size_t k = 0; k < COUNT_OF(laws); k++) {
        char text[2000];
        fake_env e;
        snprintf(text, sizeof text,
                 "[task]\nmodel = gripper.xml\nduration = 0.2\nstep = 0.001\ncontrol_step = 0.05\njoint_slip "
                 "= 0.2\n"
                 "slip = 0.2\nmixing = 1e-4\ncontact = %s\n[start]\nlift = -0.07\n"
                 "[controls]\nforce.lift = -9 20\nforce.left = -3 3\nforce.right = -3 3\n"
                 "[variables]\nstart.left = -0.3 0.3\nvelocity.left = -2 2\nfriction.left = 0.05 0.5 log\n"
                 "[loss.a]\nwhat = position\nof = tip\ntarget = 0.3 0 0\n"
                 "[loss.b]\nwhat = joint\nof = right\ntarget = 0.5\nat = mean\n",
                 laws[k]);
        open_task(&e, written(text));
        assert_int_equal(e.info.n, 3 * 4 + 3);
        assert_int_equal(wrong_directions(&e, POINTS / 5, k ? 1e-6 : 1e-4, k ? 1e-5 : 1e-7), 0);
        fake_env_close(&e);
    }
}

/* A cube comes to rest on its face: it turns by angles that vanish. */
static void derivatives_at_rest(void **state)
{
    fake_env e;
    char path[4096];
    open_task(&e, source(path, "examples/robots/cube.ini"));
    assert_int_equal(wrong_directions(&e, 5, 2e-6, 1e-5), 0);
    fake_env_close(&e);
}

/* A robot on the ground: the friction and stiffness of contact too. */
static void derivatives_through_contact(void **state)
{
    static const char *const slidings[] = {"root", "tanh"};
    for (int k = 0; k < 2; k++) {
        fake_env e;
        char text[2000];
        snprintf(text, sizeof text,
                 "[task]\nmodel = %%s/hopper.xml\nduration = 0.3\nstep = 0.0005\ncontrol_step = 0.05\n"
                 "slip = 0.1\nstiffness = 30000\nsliding = %s\n"
                 "[start]\nz = -0.1\nhip = 0.3\nknee = -0.6\nankle = 0.3\nvelocity.x = 1\n"
                 "[controls]\nposition.hip = -0.4 1.6 200 10\nknee = -50 50\nankle = -20 20\n"
                 "[variables]\nfriction = 0.3 1 log\nstiffness = 20000 40000 log\n"
                 "dissipation = 0.5 1.5\nmass.torso = 0.8 1.2\nlength.shank = 0.9 1.1\n"
                 "[loss.a]\nwhat = position\nof = middle\ntarget = 1 0 1\n"
                 "[loss.b]\nwhat = rate\nof = pitch\nat = mean\n",
                 slidings[k]);
        open_task(&e, written(text));
        assert_int_equal(e.info.n, 6 * 3 + 5);
        assert_int_equal(wrong_directions(&e, POINTS / 2, 1e-5, 1e-5), 0);
        fake_env_close(&e);
    }
}

/* The same by impulses. The differences are so short that none of them passes a change of contact. */
static void derivatives_through_impulses(void **state)
{
    fake_env e;
    open_task(&e, written("[task]\nmodel = %s/hopper.xml\nduration = 0.3\nstep = 0.005\ncontrol_step = 0.05\n"
                          "contact = complementarity\nmixing = 1e-5\n"
                          "[start]\nz = -0.1\nhip = 0.3\nknee = -0.6\nankle = 0.3\nvelocity.x = 1\n"
                          "[controls]\nposition.hip = -0.4 1.6 200 10\nknee = -50 50\nankle = -20 20\n"
                          "[variables]\nfriction = 0.3 1 log\nrestitution = 0 0.5\n"
                          "mass.torso = 0.8 1.2\nlength.shank = 0.9 1.1\nstart.knee = -0.7 -0.5\n"
                          "[loss.a]\nwhat = position\nof = middle\ntarget = 1 0 1\n"
                          "[loss.b]\nwhat = rate\nof = pitch\nat = mean\n"));
    assert_int_equal(e.info.n, 6 * 3 + 5);
    assert_int_equal(wrong_directions(&e, POINTS, 1e-7, 1e-5), 0);
    fake_env_close(&e);
}

/* A hopper in the air: the speed of its fall does not depend on its height, but with contact_grad =
 * distance the gradient feels the ground. */
static void felt_at_a_distance(void **state)
{
    double slope[2], loss[2];
    for (int k = 0; k < 2; k++) {
        char text[2000];
        static double grad[8];
        fake_env e;
        snprintf(text, sizeof text,
                 "[task]\nmodel = %%s/hopper.xml\nduration = 0.1\nstep = 0.01\ncontrol_step = 0.1\n"
                 "contact = complementarity\n%s[loss.a]\nwhat = com_velocity\nnorm = sum\naxes = 0 0 1\n"
                 "[controls]\nknee = -1 1\n[variables]\nstart.z = 0.4 0.6\n",
                 k ? "contact_grad = distance\ngrad_width = 0.5\n" : "");
        open_task(&e, written(text));
        loss[k] = fake_eval(&e, e.x0, grad, 0, NULL);
        slope[k] = grad[1];
        fake_env_close(&e);
    }
    assert_true(loss[0] == loss[1]);
    assert_near(slope[0], 0, 1e-12);
    assert_true(slope[1] < -1e-2); /* the ground pushes less from farther away */
}

/* Solids against each other: a ball pushes a box. */
static void derivatives_between_bodies(void **state)
{
    fake_env e;
    double force = 0;
    open_task(&e, written("[task]\nmodel = %s/pusher.xml\nduration = 0.6\nstep = 0.001\ncontrol_step = 0.1\n"
                          "stiffness = 5000\nslip = 0.1\n[start]\nrod_x = 0.155\nvelocity.rod_x = 0.3\n"
                          "[loss.a]\nwhat = position\nof = puck\ntarget = 1 0.2 0\n"
                          "[loss.b]\nwhat = joint\nof = puck_turn\ntarget = 0.5\n"));
    const double *values = fake_metric(&e, e.x0, "contact_force");
    for (uint64_t k = 0; k <= e.info.steps; k++) {
        force += values[k];
    }
    assert_true(force > 0);
    assert_int_equal(wrong_directions(&e, POINTS / 2, 1e-5, 1e-5), 0);
    fake_env_close(&e);
}

/* ---- positions and velocities as a channel ---- */

/* At points around the start, for each kind of joint, control and number; `h` for the quotients. */
static void products_agree(const char *task, uint32_t channel, int points, double h, double tolerance)
{
    static double x[MOST], v[MOST];
    fake_env e;
    open_task(&e, task);
    e.channel = channel;
    assert_true(e.info.n <= MOST);
    for (int k = 0; k < points; k++) {
        rigid_random(x, e.info.n, (uint64_t)k + 1);
        rigid_random(v, e.info.n, (uint64_t)k + 501);
        for (uint64_t i = 0; i < e.info.n; i++) {
            x[i] = fmin(e.upper[i], fmax(e.lower[i], e.x0[i] + 0.2 * (e.upper[i] - e.lower[i]) * x[i]));
            v[i] *= e.upper[i] - e.lower[i];
        }
        fake_products(&e, x, v, 1e-9);
        fake_quotient(&e, x, v, h, tolerance);
    }
    fake_env_close(&e);
}

static void products_of_joints(void **state)
{
    static const char *const rules[] = {"euler", "rk4"}, *const shapes[] = {"constant", "linear", "spline"};
    for (int k = 0; k < 6; k++) {
        char text[2000];
        snprintf(text, sizeof text,
                 "[task]\nmodel = %%s/arm.urdf\nduration = 0.3\nstep = 0.005\ncontrol_step = 0.1\n"
                 "integrator = %s\nshape = %s\nlimit_stiffness = 5\n[start]\njoint2 = 0.4\n"
                 "[controls]\njoint1 = -9 9\nforce.joint2 = -9 9\nposition.joint4 = -1 1 30 2\n"
                 "[variables]\nmass.link3 = 1 2 log\nlength.link4 = 0.8 1.2\ndamping.joint5 = 0.1 1 log\n"
                 "spring.joint3 = 0 5\nrest.joint3 = -1 1\narmature.joint7 = 0.01 0.1 log\n"
                 "gain.joint4 = 10 50\nstart.joint1 = -1 1\nvelocity.joint6 = -1 1\n"
                 "[loss.a]\nwhat = effort\n",
                 rules[k % 2], shapes[k % 3]);
        products_agree(written(text), 0, 4, 1e-4, 1e-6);
    }
    products_agree(written("[task]\nmodel = %s/quadruped.xml\nduration = 0.1\nstep = 0.0005\n"
                           "control_step = 0.02\nslip = 0.1\nstiffness = 30000\n"
                           "sliding = tanh\n"
                           "[loss.a]\nwhat = effort\n"),
                   0, 2, 1e-5, 1e-4);
    products_agree(written("[task]\nmodel = %s/quadruped.xml\nduration = 0.1\nstep = 0.0005\n"
                           "control_step = 0.02\nslip = 0.1\nstiffness = 30000\n"
                           "[loss.a]\nwhat = effort\n"),
                   0, 2, 1e-5, 1e-4);
}

/* Every kind of term as residuals; there are none if a term is not a square. */
static void products_of_residuals(void **state)
{
    static const char *const rules[] = {"euler", "rk4"}, *const shapes[] = {"constant", "linear", "spline"};
    FILE *f = fopen(temporary_path(&folder, "record.txt"), "w");
    assert_non_null(f);
    fputs("0 0 0\n0.1 0.1 -0.2\n0.4 0.3 0.1\n", f);
    fclose(f);
    for (int k = 0; k < 7; k++) {
        char text[4000];
        snprintf(text, sizeof text,
                 "[task]\nmodel = %%s/arm.urdf\nduration = 0.3\nstep = 0.005\ncontrol_step = 0.1\n"
                 "integrator = %s\nshape = %s\nlimit_stiffness = 5\n"
                 "[start]\njoint2 = 0.4\nvelocity.joint3 = 1\n"
                 "[controls]\njoint1 = -9 9\nforce.joint2 = -9 9\nposition.joint4 = -1 1 30 2\n"
                 "[variables]\nmass.link3 = 1 2 log\nlength.link4 = 0.8 1.2\ndamping.joint5 = 0.1 1 log\n"
                 "friction.joint2 = 0.1 1\narmature.joint7 = 0.01 0.1 log\n"
                 "start.joint1 = -1 1\nvelocity.joint6 = -1 1\n"
                 "[loss.a]\nwhat = position\nof = hand\ntarget = 0.5 0.3 0.4\n%s"
                 "[loss.b]\nwhat = turn\nof = link6\ntarget = 0 1 1 0\nat = mean\nnorm = square\n"
                 "[loss.c]\nwhat = velocity\nof = link7\naxes = 1 0.5 0\nat = 0.2\n"
                 "[loss.d]\nwhat = com\ntarget = 0 0.1 1\n[loss.e]\nwhat = com_velocity\nat = mean\n"
                 "[loss.f]\nwhat = effort\n[loss.g]\nwhat = rate\nof = joint7\nweight = 0.1\n"
                 "[loss.h]\nwhat = recording\njoints = joint1 joint2\nfile = record.txt\n"
                 "[loss.i]\nwhat = angular_velocity\nof = link5\n"
                 "[loss.j]\nwhat = joint\nof = joint2\ntarget = 0.2\nat = mean\n",
                 rules[k % 2], shapes[k % 3], k == 6 ? "norm = distance\n" : "");
        if (k < 6) {
            products_agree(written(text), 1, 4, 1e-4, 1e-6);
            continue;
        }
        fake_env e;
        uint64_t count;
        open_task(&e, written(text));
        const ds_env_channels *channels = e.plugin->env->get_extension(e.self, DS_EXT_CHANNELS);
        assert_int_equal(channels->count(e.self, &count), DS_OK);
        assert_int_equal(count, 1);
        fake_env_close(&e);
    }
}

/* Controls of a file: the variables are the numbers alone, and the motion is that of the same controls. */
static void known_controls(void **state)
{
    static const char task[] =
        "[task]\nmodel = %s/cartpole.urdf\nduration = 0.4\ncontrol_step = 0.1\nstep = 0.01\n"
        "shape = linear\n[controls]\n%sforce.slide = -4 4\n[variables]\n"
        "damping.hinge = 0.01 1 log\nmass.pole = 0.5 2\n"
        "[loss.a]\nwhat = joint\nof = hinge\n";
    static const double force[] = {1, 2, -3, 0.5};
    double x[6] = {0.25, 0.5, -0.75, 0.125}, grad[2][6];
    double loss[2];
    FILE *f = fopen(temporary_path(&folder, "force.csv"), "w");
    fputs("seconds,slide\n", f);
    for (int k = 0; k < 4; k++) {
        fprintf(f, "%g,%g\n", 0.1 * k, force[k]);
    }
    fclose(f);
    for (int known = 0; known < 2; known++) {
        char text[2000];
        fake_env e;
        snprintf(text, sizeof text, task, "%s", known ? "file = force.csv\n" : "");
        open_task(&e, written(text));
        assert_int_equal(e.info.n, known ? 2 : 6);
        memcpy(x + 4, e.x0 + (known ? 0 : 4), 2 * sizeof *x);
        loss[known] = fake_eval(&e, known ? x + 4 : x, grad[known], 0, NULL);
        assert_null(e.plugin->env->get_extension(e.self, DS_EXT_STEPS));
        fake_env_close(&e);
        if (known) {
            products_agree(written(text), 0, 4, 1e-4, 1e-6);
        }
    }
    assert_near(loss[0], loss[1], 1e-14 * loss[0]);
    for (int i = 0; i < 2; i++) {
        assert_near(grad[0][4 + i], grad[1][i], 1e-12 * fabs(grad[1][i]));
    }
}

/* A cube that falls on terrain of a file, by both laws. */
static void terrain(void **state)
{
    static const char *const laws[] = {"compliant", "complementarity"};
    const double *z;
    FILE *f = fopen(temporary_path(&folder, "hills.txt"), "w");
    fputs("# metres, from the largest y\n0.2 0.2 0.3 0.2\n0.2 0.2 0.2 0.2\n\n0.2 0.2 0.2 0.2\n", f);
    fclose(f);
    for (int k = 0; k < 2; k++) {
        char text[2000];
        fake_env e;
        snprintf(
            text, sizeof text,
            "[task]\nmodel = %%s/cube.xml\nduration = 1\nstep = 0.001\ncontrol_step = 0.1\ncontact = %s\n"
            "terrain = hills.txt\nterrain_cell = 2\n"
            "[loss.a]\nwhat = com\n[variables]\nfriction = 0.5 1\n",
            laws[k]);
        open_task(&e, written(text));
        z = fake_metric(&e, e.x0, "com_z");
        assert_near(z[e.info.steps], 0.3, 0.02);
        fake_env_close(&e);
    }
}

/* A chain on a cart, whose equations `cartpole` has in closed form: the same losses and gradients with both
 * integrators. The joint turns about -y, so that angles count as there. */
static void agrees_with_cartpole(void **state)
{
    static const char model[] =
        "<mujoco><compiler angle='radian'/><default><joint axis='0 -1 0'/></default><worldbody><body "
        "name='cart'>"
        "<joint name='cart' type='slide' axis='1 0 0'/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>"
        "<body><joint name='a'/><inertial pos='0 0 0.5' mass='1' diaginertia='0 0.08333333333333333 0'/>"
        "<body pos='0 0 1'><joint name='b'/>"
        "<inertial pos='0 0 0.5' mass='0.5' diaginertia='0 0.041666666666666664 0'/>"
        "<site name='tip' pos='0 0 1'/></body></body></body></worldbody><actuator>"
        "<motor joint='cart' ctrlrange='-10 10'/><motor joint='a' ctrlrange='-10 10'/>"
        "<motor joint='b' ctrlrange='-5 5'/></actuator></mujoco>";
    static const char *const rules[][2] = {{"integrator=semi-implicit", "euler"}, {"integrator=rk4", "rk4"}};
    FILE *f = fopen(temporary_path(&folder, "cart.xml"), "w");
    assert_non_null(f);
    fputs(model, f);
    fclose(f);
    for (int k = 0; k < 2; k++) {
        char text[500];
        fake_env own, e;
        static double x[MOST], grad[MOST], other[MOST];
        const char *const settings[] = {"links=2",       "control=force", "steps=50", rules[k][0],
                                        "scale=10,10,5", "target=1,2",    NULL};
        snprintf(text, sizeof text,
                 "[task]\nmodel = cart.xml\nduration = 1\nstep = 0.02\ncontrol_step = 0.02\n"
                 "integrator = %s\n[start]\na = 3.141592653589793\n"
                 "[loss.tip]\nwhat = position\nof = tip\nnorm = distance\ntarget = 1 0 2\n",
                 rules[k][1]);
        fake_env_open(&own, "envs/cartpole", settings, 0, 0);
        open_task(&e, written(text));
        assert_int_equal(own.info.n, 150);
        assert_int_equal(e.info.n, own.info.n);
        ds_random r = ds_random_open(7, "points", 0);
        for (int point = 0; point < 20; point++) {
            for (uint64_t i = 0; i < own.info.n; i++) {
                x[i] = 2 * ds_random_uniform(&r) - 1;
            }
            double a = fake_eval(&own, x, grad, 0, NULL), b = fake_eval(&e, x, other, 0, NULL);
            assert_near(a, b, 1e-9 * fabs(a));
            double size = sqrt(differences_dot(own.info.n, grad, grad));
            for (uint64_t i = 0; i < own.info.n; i++) {
                assert_near(grad[i], other[i], 1e-9 * size);
            }
        }
        fake_env_close(&own);
        fake_env_close(&e);
    }
}

/* ---- networks, noise ---- */

/* Networks on the joints: derivatives by their parameters too, with both integrators. */
/* The double pendulum of double_pendulum, whose angles are absolute: the same motion and derivatives of its
 * last state from random starts. */
static void agrees_with_double_pendulum(void **state)
{
    static const char *const rules[][2] = {{"integrator=semi_implicit", "euler"}, {"integrator=rk4", "rk4"}};
    static const char *const of[4] = {"joint\nof = a", "joint\nof = b", "rate\nof = a", "rate\nof = b"};
    static const double pi = 3.14159265358979323846;
    FILE *f = fopen(temporary_path(&folder, "two.xml"), "w");
    assert_non_null(f);
    fputs("<mujoco><compiler angle='radian'/><default><joint axis='0 1 0'/></default><worldbody><body>"
          "<joint name='a'/><inertial pos='0 0 -1' mass='0.1' diaginertia='0 0 0'/><body pos='0 0 -1'>"
          "<joint name='b'/><inertial pos='0 0 -1' mass='0.1' diaginertia='0 0 0'/></body></body></worldbody>"
          "</mujoco>",
          f);
    fclose(f);
    for (int k = 0; k < 2; k++) {
        fake_env own, e[4];
        fake_env_open(
            &own, "envs/double_pendulum",
            SETTINGS("variant=initial", "n_samples=2", "sample_rate=1", "steps_per_sample=1000", rules[k][0]),
            0, 0);
        for (int i = 0; i < 4; i++) {
            char text[1000];
            snprintf(
                text, sizeof text,
                "[task]\nmodel = two.xml\nduration = 1\nstep = 0.001\ncontrol_step = 1\nintegrator = %s\n"
                "[variables]\nstart.a = -7 7\nstart.b = -14 14\nvelocity.a = -15 15\nvelocity.b = -30 30\n"
                "[loss.a]\nwhat = %s\nnorm = sum\n",
                rules[k][1], of[i]);
            open_task(&e[i], written(text));
        }
        ds_random r = ds_random_open(11, "points", 0);
        for (int point = 0; point < 20; point++) {
            double x[4], y[4], end[4], slope[4][4], grad[4], all[4], want = 0;
            for (int i = 0; i < 4; i++) {
                x[i] = own.lower[i] + (own.upper[i] - own.lower[i]) * ds_random_uniform(&r);
                y[i] = x[i] - (i % 2 ? x[i - 1] : 0);
            }
            for (int i = 0; i < 4; i++) {
                end[i] = fake_eval(&e[i], y, slope[i], 0, NULL);
            }
            double loss = fake_eval(&own, x, grad, 0, NULL), size = 0;
            memset(all, 0, sizeof all);
            for (int i = 0; i < 4; i++) {
                double weight = i < 2 ? 1 : 0.1, goal = i < 2 ? pi : 0, first = x[i] - goal;
                double last = end[i] + (i % 2 ? end[i - 1] : 0) - goal;
                want += weight * (first * first + 2000 * last * last);
                all[i] += 2 * weight * first;
                for (int j = 0; j < 4; j++) { /* y[j] and, for even j, y[j + 1] depend on x[j] */
                    double by = slope[i][j] + (i % 2 ? slope[i - 1][j] : 0);
                    all[j] += 4000 * weight * last * by;
                    all[j - j % 2] -= j % 2 ? 4000 * weight * last * by : 0;
                }
            }
            for (int i = 0; i < 4; i++) {
                size = fmax(size, fabs(grad[i]));
            }
            assert_near(loss, want, 1e-8 * want);
            for (int i = 0; i < 4; i++) {
                assert_near(grad[i], all[i], 1e-7 * size);
            }
        }
        fake_env_close(&own);
        for (int i = 0; i < 4; i++) {
            fake_env_close(&e[i]);
        }
    }
}

static void networks(void **state)
{
    static const char *const rules[] = {"euler", "rk4"};
    for (int k = 0; k < 2; k++) {
        fake_env e;
        char task[5000], text[1000];
        snprintf(text, sizeof text,
                 "[task]\nmodel = %%s/double_pendulum.xml\nduration = 0.5\nstep = 0.01\ncontrol_step = 0.1\n"
                 "integrator = %s\n[start]\nshoulder = 0.4\n"
                 "[loss.a]\nwhat = position\nof = tip\ntarget = 1 0 1\n",
                 rules[k]);
        const char *const settings[] = {setting(task, "task", written(text)),
                                        "residual=joint_force = joint_position, joint_rate | 4 | tanh", NULL};
        fake_env_open(&e, "envs/robot", settings, 0, 0);
        assert_int_equal(e.info.n, 5 + 4 * 4 + 4 + 4 * 2);
        assert_null(e.plugin->env->get_extension(e.self, DS_EXT_STEPS));
        assert_int_equal(wrong_directions(&e, 30, 1e-4, 1e-7), 0);
        fake_env_close(&e);
    }
}

/* Noise depends on the key alone. */
static void noise(void **state)
{
    static const char text[] =
        "[task]\nmodel = %s/pusher.xml\nduration = 0.5\nstep = 0.005\ncontrol_step = 0.05\n"
        "[noise]\nstart = 0.01\nvelocity = 0.1\ncontrol = 0.05\nobserve = 0.1\n"
        "[loss.a]\nwhat = position\nof = puck\ntarget = 1 0.2 0\n"
        "[loss.b]\nwhat = rate\nof = rod_x\nat = mean\n";
    fake_env e;
    static double grad[MOST], other[MOST];
    open_task(&e, written(text));
    double plain = fake_eval(&e, e.x0, grad, 0, NULL), a = fake_eval(&e, e.x0, grad, 5, NULL),
           b = fake_eval(&e, e.x0, NULL, 6, NULL), again = fake_eval(&e, e.x0, other, 5, NULL);
    assert_true(plain != a && a != b && fabs(a - plain) < 0.5 * plain);
    assert_true(a == again && memcmp(grad, other, e.info.n * sizeof *grad) == 0);
    assert_true(fake_eval(&e, e.x0, NULL, 0, NULL) == plain);
    const double h = 1e-6, size = sqrt(differences_dot(e.info.n, grad, grad));
    for (uint64_t i = 0; i < e.info.n; i++) {
        double loss[2];
        for (int k = 0; k < 2; k++) {
            memcpy(other, e.x0, e.info.n * sizeof *other);
            other[i] += k ? h : -h;
            loss[k] = fake_eval(&e, other, NULL, 5, NULL);
        }
        assert_near(grad[i], (loss[1] - loss[0]) / (2 * h), 1e-6 * size);
    }
    fake_env_close(&e);
}

/* ---- stepwise control ---- */

static void steps_are_the_episode(void **state)
{
    static const char *const tasks[] = {"examples/robots/cartpole.ini", "examples/robots/quadruped.ini"};
    for (size_t k = 0; k < COUNT_OF(tasks); k++) {
        static double x[MOST], grad[MOST], action_bar[MOST], obs[64], obs_bar[64];
        fake_env e;
        char path[4096];
        open_task(&e, source(path, tasks[k]));
        const ds_env_steps *rl = e.plugin->env->get_extension(e.self, DS_EXT_STEPS);
        const ds_env_steps_gradient *back = e.plugin->env->get_extension(e.self, DS_EXT_STEPS_GRADIENT);
        ds_steps_info info = {.struct_size = sizeof info};
        assert_int_equal(rl->info(e.self, &info), DS_OK);
        assert_true(info.n_obs <= 64 && e.info.n <= MOST);
        rigid_random(x, e.info.n, 5);
        for (uint64_t i = 0; i < e.info.n; i++) {
            x[i] = e.x0[i] + 0.1 * x[i];
            x[i] = fmin(1, fmax(-1, x[i]));
        }
        double loss = fake_eval(&e, x, grad, 0, NULL), sum = 0;
        ds_step io = {.obs = obs};
        assert_int_equal(ds_step_begin_call(rl, e.self, 0, 0, obs, NULL), DS_OK);
        for (uint64_t t = 0; t < info.horizon; t++) {
            io.action = x + t * info.n_act;
            assert_int_equal(ds_step_call(rl, e.self, 0, &io), DS_OK);
            assert_int_equal(io.outcome, DS_EVAL_OK);
            sum += io.reward;
        }
        assert_true(io.loss == loss); /* bit for bit */
        /* The sum of the rewards differs from -loss by the terms of the end at the start, a constant. */
        double largest = 0, worst = 0;
        for (uint64_t t = info.horizon; t-- > 0;) {
            ds_back b = {.step = t,
                         .reward_bar = -1,
                         .obs_bar = obs_bar,
                         .action_bar = action_bar,
                         .begins = t + 1 == info.horizon};
            assert_int_equal(ds_back_call(back, e.self, 0, &b), DS_OK);
            for (uint64_t i = 0; i < info.n_act; i++) {
                largest = fmax(largest, fabs(grad[t * info.n_act + i]));
                worst = fmax(worst, fabs(action_bar[i] - grad[t * info.n_act + i]));
            }
        }
        assert_true(worst <= 1e-9 * largest);
        assert_true(isfinite(sum));
        fake_env_close(&e);
    }
}

/* Variables of the model are not actions. */
static void no_steps_with_variables(void **state)
{
    fake_env e;
    char path[4096];
    open_task(&e, source(path, "examples/robots/cube.ini"));
    assert_null(e.plugin->env->get_extension(e.self, DS_EXT_HOOKS)); /* no joint with a single position */
    assert_null(e.plugin->env->get_extension(e.self, DS_EXT_STEPS));
    assert_null(e.plugin->env->get_extension(e.self, DS_EXT_STEPS_GRADIENT));
    fake_env_close(&e);
}

/* ---- tasks ---- */

static void examples_run(void **state)
{
    static const char *const names[] = {"cartpole", "double_pendulum", "arm",    "hopper", "quadruped",
                                        "cube",     "throw",           "pusher", "hand",   "cube_impulses"};
    for (size_t k = 0; k < COUNT_OF(names); k++) {
        static double grad[MOST];
        fake_env e;
        char path[4096], name[64];
        uint32_t outcome = DS_EVAL_OK;
        snprintf(name, sizeof name, "examples/robots/%s.ini", names[k]);
        open_task(&e, source(path, name));
        assert_true(e.info.n <= MOST);
        double loss = fake_eval(&e, e.x0, grad, 0, &outcome), size = differences_dot(e.info.n, grad, grad);
        assert_int_equal(outcome, DS_EVAL_OK);
        assert_true(loss > 0 && loss < 100 && size > 0 && size < 1e10);
        fake_env_close(&e);
    }
}

/* Without a task file. */
static void built_in_task(void **state)
{
    fake_env e;
    char text[5000], path[4096];
    fake_env_open(&e, "envs/robot", NULL, 0, 0);
    assert_int_equal(e.info.n, 40);
    assert_int_equal(wrong_directions(&e, 5, 1e-4, 1e-7), 0);
    fake_env_close(&e);
    fake_host f;
    void *self = NULL;
    const char *model = setting(text, "model", source(path, "examples/robots/arm.urdf"));
    fake_host_open(&f, "envs/robot", 0, SETTINGS(model));
    assert_int_equal(f.plugin->env->create(&f.services.host, &self), DS_E_DATA);
    assert_non_null(strstr(f.error, "set parameter task"));
    fake_host_close(&f);
}

/* The quadruped stands: its feet carry its weight. */
static void standing(void **state)
{
    fake_env e;
    char path[4096];
    open_task(&e, source(path, "examples/robots/quadruped.ini"));
    const double *force = fake_metric(&e, e.x0, "contact_force");
    assert_near(force[e.info.steps], 9.81 * (6 + 4 * (0.5 + 0.7 + 0.2 + 0.05)), 0.5);
    const double *z = fake_metric(&e, e.x0, "com_z");
    assert_near(z[e.info.steps], z[e.info.steps / 2], 1e-3);
    fake_env_close(&e);
}

static void refuses(const char *text, const char *says)
{
    fake_host f;
    void *self = NULL;
    char task[5000];
    fake_host_open(&f, "envs/robot", 0, SETTINGS(setting(task, "task", written(text))));
    ds_status status = f.plugin->env->create(&f.services.host, &self);
    if (status != DS_E_DATA || self != NULL || !strstr(f.error, says) || strchr(f.error, '\n')) {
        fail_msg("%s: status %d, '%s' instead of '%s'", text, (int)status, f.error, says);
    }
    fake_host_close(&f);
}

static void mistakes(void **state)
{
#define TASK "[task]\nmodel = %s/cartpole.urdf\n"
#define LOSS "[loss.a]\nwhat = joint\nof = hinge\n"
#define LIMITS "[controls]\nslide = -1 1\n"
    refuses("nonsense", "line 1 is not a section");
    refuses("[task]\n; %s", "model is missing");
    refuses("[task]\nmodel = %s/none.urdf\n", "No such file");
    refuses(TASK LIMITS, "section [loss.NAME] is missing");
    refuses(TASK "colour = red\n" LIMITS LOSS, "[task] colour: unknown setting");
    refuses(TASK "durration = 1\n" LIMITS LOSS,
            "[task] durration: unknown setting; did you mean 'duration'?");
    refuses(TASK LIMITS LOSS "wieght = 1\n", "[loss.a] wieght: unknown setting; did you mean 'weight'?");
    refuses(TASK LIMITS LOSS "[variable]\nmass.pole = 1 2\n", "unknown section [variable]: use [task], ");
    refuses(TASK LIMITS LOSS "[variable]\nmass.pole = 1 2\n", "did you mean 'variables'?");
    refuses("model = x.xml\n" TASK LIMITS LOSS, "model: a setting before the first section");
    refuses("<robot name=\"%s\">\n<link/>\n", "a model, not a task");
    refuses("<robot>\n<link name=\"%s\"/>\n", "a model, not a task");
    refuses(TASK LIMITS LOSS "[variables]\nmass.poel = 1 2\n", "no such body; did you mean 'pole'?");
    refuses(TASK LIMITS "[loss.a]\nwhat = position\nof = poel\n", "site or body; did you mean 'pole'?");
    refuses(TASK "[start]\nhigne = 1\n" LOSS, "does not exist in the model; did you mean 'hinge'?");
    refuses(TASK "step = 0\n" LOSS, "step must be above 0");
    refuses(TASK "step = nan\n" LOSS, "finite numbers");
    refuses(TASK "duration = 1\ncontrol_step = 0.3\n" LOSS, "not a multiple of control_step");
    refuses(TASK "step = 0.003\n" LOSS, "not a multiple of step");
    refuses(TASK LIMITS LOSS "[noise]\nstart = -1\n", "[noise] start must not be negative");
    refuses(TASK "step = 1e-9\n" LOSS, "more than 1000000 steps");
    refuses(TASK "integrator = leap\n" LOSS, "use one of euler, rk4");
    refuses(TASK "contact = complementarity\nintegrator = rk4\n" LOSS, "needs integrator = euler");
    refuses(TASK "softness = softplus\ncontact_grad = distance\n" LOSS, "softness needs contact = compliant");
    refuses(TASK "contact = none\ncontact_grad = distance\n" LOSS, "has no effect with contact = none");
    refuses(TASK "terrain = none.txt\n" LOSS, "No such file");
    refuses(TASK "mixing = 0\n" LOSS, "mixing must be at least 1e-9");
    refuses(TASK LIMITS LOSS "[variables]\nrestitution = 0 1\n", "has no effect with contact = compliant");
    refuses(TASK "key = k\n" LOSS, "no keyframe \"k\"");
    refuses(TASK "[start]\nelbow = 1\n" LOSS, "joint \"elbow\" does not exist");
    refuses(TASK "[start]\nhinge = 1 2\n" LOSS, "give 1 number");
    refuses(TASK "[controls]\nelbow = -1 1\n" LOSS, "no such actuator");
    refuses(TASK "[controls]\nslide = 1 -1\n" LOSS, "a lower and a higher value");
    refuses(TASK LIMITS LOSS "[controls]\nfile = none.csv\n", "none.csv: No such file");
    FILE *f = fopen(temporary_path(&folder, "short.csv"), "w");
    fputs("0,1\n0.1,2\n0.2\n", f);
    fclose(f);
    refuses(TASK LIMITS "file = short.csv\n" LOSS, "line 3 of");
    f = fopen(temporary_path(&folder, "force.csv"), "w");
    fputs("0,1\n0.1,2\n", f);
    fclose(f);
    refuses(TASK LIMITS "file = force.csv\n" LOSS, "a file gives the controls; add [variables]");
    refuses(TASK LIMITS "[loss.a]\nof = hinge\n", "what is missing");
    refuses(TASK LIMITS "[loss.a]\nwhat = joint\n", "of is missing");
    refuses(TASK LIMITS "[loss.a]\nwhat = position\nof = nose\n", "no such site or body");
    refuses(TASK LIMITS LOSS "at = 9\n", "seconds up to 1");
    refuses(TASK LIMITS LOSS "target = 1 2\n", "give 1 number");
    refuses(TASK LIMITS LOSS "[variables]\nmass.nose = 1 2\n", "no such body");
    refuses(TASK LIMITS LOSS "[variables]\nmass.pole = 0 2 log\n", "above 0");
    refuses(TASK LIMITS LOSS "[variables]\ncolour = 1 2\n", "use mass.BODY");
    refuses(TASK LIMITS LOSS "[variables]\nmass.pole = 1 2\nmass.pole = 1 2\n",
            "[variables] mass.pole is set twice");
    refuses(TASK "sliding = fast\n" LOSS, "use one of root, tanh");
    refuses(TASK "duration = -1\n" LOSS, "duration must be above 0");
}

RUN_TESTS_WITH(open_folder, close_folder, every_derivative, derivatives_of_followers, derivatives_at_rest,
               derivatives_through_contact, derivatives_through_impulses, felt_at_a_distance,
               derivatives_between_bodies, products_of_joints, products_of_residuals, known_controls,
               agrees_with_cartpole, agrees_with_double_pendulum, networks, noise, steps_are_the_episode,
               no_steps_with_variables, examples_run, built_in_task, standing, terrain, mistakes)
