/* SPDX-License-Identifier: Apache-2.0 */
/* test_lanes.c - environments with episodes side by side (engines/kit/lanes.h): every row of a call has the
 * bits of the point evaluated alone, with each instruction set and number of rows, without and with gradient;
 * also where an episode diverges, and where rows differ in their contacts. Stepwise control: episodes in
 * lanes of one instance have the bits of episodes alone, forwards and backwards. */
#include "common/isa.h"
#include "host.h"
#include "temporary.h"
#include "test.h"

#include <ctype.h>
#include <diffsim/helper/random.h>
#include <stdlib.h>

enum { MOST = 64 };

typedef struct scene {
    const char *name;
    double wide; /* points are drawn from the box times this number */
    const char *settings[8];
} scene;

static const scene scenes[] = {
    {"roomba", 1, {NULL}},
    {"cartpole_gym", 1, {"start=random", NULL}},
    {"cartpole_gym", 1, {"steps=40", "theta0=-0.1", NULL}},
    {"push", 1, {NULL}},
    {"push", 1, {"set=variance", "goal=1,2,3,4", "mass=3", NULL}},
    {"push_far", 1, {"start=0,1.2,5,0", NULL}},
    {"spring_wall", 1, {NULL}},
    {"spring_wall", 1, {"set=k2000", "control_in_wall=ignored", "r=0", NULL}},
    {"pinball", 1, {NULL}},
    {"pinball", 1, {"variant=pinball16", "integrator=semi-implicit", "steps=400", NULL}},
    {"pinball", 1, {"contact_order=sequential", "gradient=saltation", "clip=0.05", NULL}},
    {"pinball",
     1,
     {"gravity=-3", "height=3", "width=4", "start=2,1", "start_velocity=30,9", "steps=300", NULL}},
    {"pinball", 1, {"half_thickness=0.02", "restitution=0", NULL}},
    {"double_pendulum", 1, {"variant=lengths", NULL}},
    {"double_pendulum", 1, {"variant=damping", "n_samples=60", "integrator=rk4", NULL}},
    {"double_pendulum", 1, {"variant=synthetic", "n_samples=40", NULL}},
    {"double_pendulum", 1, {"variant=initial", "n_samples=80", "steps_per_sample=2", NULL}},
    {"double_pendulum", 1, {"variant=initial", "n_samples=30", "sample_rate=0.5", NULL}}, /* some diverge */
    {"double_pendulum",
     1,
     {"variant=initial", "n_samples=3", "sample_rate=1e-5", NULL}}, /* beyond SINCOS_MOST */
    {"billiards", 1, {NULL}},
    {"billiards", 0.2, {"smooth=true", "steps=60", NULL}},
    {"billiards", 1, {"mu=0", "restitution=0.8", "sweeps=3", "mending=0.5", "steps=100", NULL}},
    {"tennis", 1, {NULL}},
    {"tennis", 0.3, {"contact=bounce", "begin=fixed", "steps=60", NULL}},
    {"tennis", 1, {"start=0,0.5,0,-1,0,0,0.1", "half_width=3", "restitution=0.5", NULL}},
    {"pendulum", 1, {NULL}},
    {"pendulum", 1, {"variant=gym", "start=random", NULL}},
    {"pendulum", 1, {"variant=gym", "theta0=-990", "omega0=8", NULL}},
    {"pendulum", 50, {"variant=gym", NULL}}, /* at the speed limit */
    {"pendulum", 1, {"variant=swingup200", "theta0=1000", "start=random", NULL}},
    {"bounce", 1, {NULL}},
    {"bounce", 1, {"variant=paper", "steps=700", "loss=l2", NULL}},
    {"bounce", 1, {"kf=30", "mu=0.5", "gravity=3", "start=1.5,0.2,0", NULL}},
    {"bounce", 1, {"steps=5", "kd=0", "radius=0.9", NULL}},
    {"bounce", 1, {"gravity=-10", "kf=1", "mu=1", "kd=1e5", NULL}},
    {"bounce", 1, {"ke=1e300", NULL}}, /* diverges in a contact */
    {"cartpole", 1, {NULL}},
    {"cartpole", 1, {"links=1", "control=force", "loss=state_sq", "hold=3", "steps=7", NULL}},
    {"cartpole", 1, {"links=2", "integrator=semi-implicit", "steps=20", NULL}},
    {"cartpole", 1, {"links=3", "steps=20", NULL}},
    {"cartpole", 1, {"links=5", "control=force", "steps=9", NULL}},
    {"cartpole", 1, {"start_omega=1000", "h=10", "steps=300", "gravity=0", NULL}}, /* beyond SINCOS_MOST */
    {"cartpole", 1, {"links=3", "h=0.08", "steps=40", NULL}},                      /* some diverge */
    {"cube_throw", 1, {NULL}},
    {"cube_throw", 1, {"variables=stiffness damping mu slip", "n_samples=100", NULL}},
    {"cube_throw", 1, {"variables=stiffness damping mu mu_static", "friction=brown", "n_samples=90", NULL}},
    {"cube_throw", 1, {"friction=andersson", "damping_fade=sigmoid", "fade_rate=50", "n_samples=90", NULL}},
    {"cube_throw",
     1,
     {"variables=mu mu_static slip", "friction=hollars", "damping_fade=tanh", "hc_repo=true", "n_samples=90",
      NULL}},
    {"cube_throw", 1, {"friction=coulomb", "damping_fade=softsign", "weight_cost=0", "n_samples=90", NULL}},
    {"cube_throw", 1, {"friction=none", "velocity=0,0,-3", "turn=0,0,0", "position=0,0,0.6", NULL}},
    {"cube_throw", 1000, {"variables=stiffness damping", "h=0.1", "n_samples=60", NULL}}, /* some diverge */
};

/* One point in, one row of results out. */
typedef struct row {
    double loss;
    uint32_t outcome, kind;
    int64_t bad;
    uint64_t cost;
} row;

static void evaluate(fake_env *e, uint64_t count, const double *x, const uint64_t *key, uint32_t want,
                     row *out, double *grad)
{
    const uint64_t n = e->info.n;
    double loss[MOST];
    uint32_t outcome[MOST], kind[MOST];
    int64_t bad[MOST];
    uint64_t cost[MOST];
    for (uint64_t k = 0; k < count; k++) {
        loss[k] = INFINITY;
        outcome[k] = kind[k] = 0;
        bad[k] = -1;
        cost[k] = 0;
    }
    const ds_rows rows = {.struct_size = sizeof rows,
                          .count = count,
                          .n = n,
                          .x = x,
                          .stride = n,
                          .want = want,
                          .noise_key = key};
    const ds_results results = {.struct_size = sizeof results,
                                .stride = n,
                                .loss = loss,
                                .grad = want & DS_WANT_GRAD ? grad : NULL,
                                .outcome = outcome,
                                .bad_step = bad,
                                .cost_steps = cost,
                                .grad_kind = kind};
    assert_int_equal(e->plugin->env->evaluate(e->self, &rows, &results), DS_OK);
    for (uint64_t k = 0; k < count; k++) {
        memset(&out[k], 0, sizeof out[k]);
        out[k] = (row){loss[k], outcome[k], kind[k], bad[k], cost[k]};
    }
}

static uint64_t checksum(const row *r, uint64_t count, const double *grad, uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t k = 0; k < count; k++) {
        sum += r[k].outcome != DS_EVAL_OK;
        for (uint64_t i = 0; i < n; i++) {
            sum += grad[k * n + i] != 0;
        }
    }
    return sum;
}

/* Compares up to `most` rows. */
static void check_scene(const scene *s, const char *isa, uint64_t most_rows)
{
    fake_env e;
    char name[64];
    snprintf(name, sizeof name, "envs/%s", s->name);
    setenv("DS_ISA", isa, 1);
    fake_env_open(&e, name, s->settings, 1, -INFINITY);
    const uint64_t n = e.info.n;
    double *x = calloc(most_rows * n, sizeof *x), *one = calloc(most_rows * n, sizeof *one),
           *many = calloc(most_rows * n, sizeof *many);
    uint64_t key[MOST];
    assert_true(x && one && many);
    assert_true(e.info.max_rows >= most_rows); /* else nothing is side by side */
    ds_random rng = ds_random_open(7, s->name, 0);
    for (uint64_t i = 0; i < most_rows * n; i++) {
        const double u = ds_random_uniform(&rng), at = (1 - u) * e.lower[i % n] + u * e.upper[i % n];
        x[i] = s->wide * at;
    }
    for (uint64_t k = 0; k < most_rows; k++) {
        key[k] = 3 * k;
    }
    const int most = (e.plugin->desc->flags & DS_ENV_GRADIENT) != 0;
    for (int graded = 0; graded <= most; graded++) {
        const uint32_t want = graded ? DS_WANT_GRAD : 0;
        row alone[MOST], together[MOST];
        for (uint64_t k = 0; k < most_rows; k++) {
            evaluate(&e, 1, x + k * n, key + k, want, alone + k, one + k * n);
        }
        if (graded && checksum(alone, most_rows, one, n) < most_rows / 8) {
            fail_msg("%s %s: nothing to compare", s->name, s->settings[0] ? s->settings[0] : "");
        }
        for (uint64_t count = 1; count <= most_rows; count += most_rows < MOST ? 4 : count < 10 ? 1 : 9) {
            for (uint64_t first = 0; first + count <= most_rows && first < 3; first++) {
                memset(many, 0, most_rows * n * sizeof *many);
                evaluate(&e, count, x + first * n, key + first, want, together, many);
                if (memcmp(together, alone + first, count * sizeof *alone) != 0 ||
                    (graded && memcmp(many, one + first * n, count * n * sizeof *one) != 0)) {
                    fail_msg("%s %s, %s: %llu rows from %llu, gradient %d, have other bits than alone",
                             s->name, s->settings[0] ? s->settings[0] : "", isa, (unsigned long long)count,
                             (unsigned long long)first, graded);
                }
            }
        }
    }
    fake_env_close(&e);
    free(x);
    free(one);
    free(many);
}

static const char *const sets[] = {"baseline", "avx2", "avx512"};

static void rows_have_the_bits_of_points(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        for (int k = 0; k < 3; k++) {
            check_scene(&scenes[i], sets[k], MOST);
        }
    }
    unsetenv("DS_ISA");
}

/* ---- robots ---- */

/* The start of a task of examples/robots, with sections that are added. */
typedef struct robot_task {
    const char *name, *duration, *settings, *sections;
} robot_task;

static const robot_task robots[] = {
    {"cartpole", "0.2", "", ""},
    {"double_pendulum", "0.2", "", ""},
    {"double_pendulum", "0.2", "shape = spline\njoint_slip = 0.1\n",
     "[variables]\nstart.shoulder = -3 3\nfriction.elbow = 0 2\nlength.lower = 0.8 1.2\n"},
    {"arm", "0.3", "shape = linear\n", "[noise]\nstart = 0.1\nvelocity = 1\ncontrol = 0.1\n"},
    {"arm", "0.1", "integrator = rk4\nlimit_stiffness = 500\nlimit_damping = 2\n",
     "[variables]\nmass.link3 = 0.5 2 log\ndamping.joint2 = 0 5\nspring.joint1 = 0 9\nstart.joint4 = -4 4\n"},
    {"hopper", "0.1", "", ""},
    {"quadruped", "0.05", "", ""},
    {"quadruped", "0.05", "softness = softplus\nwidth = 0.02\nintegrator = rk4\n",
     "[noise]\nstart = 0.2\n[variables]\nlength.trunk = 0.5 2\nmass.trunk = 0.5 2\nfriction = 0.1 2\n"},
    {"quadruped", "0.05", "contact_grad = distance\ngrad_width = 0.1\ngrad_stiffness = 50\n", ""},
    {"cube", "0.5", "", ""},
    {"throw", "0.25", "", ""},
    {"pusher", "0.3", "", ""},
    {"hand", "0.05", "", ""},
};

static void write_robot(const robot_task *r, const char *path)
{
    char from[4096], line[256];
    const char *top = getenv("DS_TOP_SRC");
    snprintf(from, sizeof from, "%s/examples/robots/%s.ini", top ? top : ".", r->name);
    FILE *in = fopen(from, "r"), *out = fopen(path, "w");
    assert_true(in != NULL && out != NULL);
    while (fgets(line, sizeof line, in)) {
        char key[64] = "";
        sscanf(line, "%60[a-z_]", key);
        strcat(key, " =");
        if (strncmp(line, "duration", 8) == 0) {
            fprintf(out, "duration = %s\n%s", r->duration, r->settings);
        } else if (strncmp(line, "at = ", 5) == 0 && isdigit((unsigned char)line[5])) {
            fputs("at = 0.05\n", out); /* s, within the duration */
        } else if (key[0] == ' ' || strstr(r->settings, key) == NULL) {
            fputs(line, out);
        }
    }
    fputs(r->sections, out);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* Robots, whose contacts differ from lane to lane. */
static void robots_have_the_bits_of_robots(void **state)
{
    temporary folder;
    (void)state;
    temporary_open(&folder);
    for (size_t i = 0; i < sizeof robots / sizeof *robots; i++) {
        char task[5000], model[5000];
        const char *top = getenv("DS_TOP_SRC"), *path = temporary_path(&folder, "task.ini");
        const int urdf = strcmp(robots[i].name, "cartpole") == 0 || strcmp(robots[i].name, "arm") == 0;
        write_robot(&robots[i], path);
        snprintf(task, sizeof task, "task=%s", path);
        snprintf(model, sizeof model, "model=%s/examples/robots/%s.%s", top ? top : ".", robots[i].name,
                 urdf ? "urdf" : "xml");
        for (int k = 0; k < 3; k++) {
            check_scene(&(scene){"robot", 1, {task, model, NULL}}, sets[k], 9);
        }
    }
    unsetenv("DS_ISA");
    temporary_close(&folder);
}

/* ---- stepwise control ---- */

enum { EPISODES = 21, LONGEST = 200, MOST_OBS = 11, MOST_ACT = 4 };

/* The episode in one lane, with a sweep back over it. */
typedef struct course {
    double obs[LONGEST + 1][MOST_OBS], reward[LONGEST], loss, bar[LONGEST][MOST_ACT];
    uint64_t steps;
    uint32_t ended;
} course;

typedef struct stepper {
    fake_env e;
    const ds_env_steps *steps;
    const ds_env_steps_gradient *gradient; /* NULL: none */
    ds_steps_info info;
} stepper;

static void stepper_open(stepper *s, const scene *is)
{
    char name[64];
    snprintf(name, sizeof name, "envs/%s", is->name);
    fake_env_open(&s->e, name, is->settings, 1, -INFINITY);
    s->steps = s->e.plugin->env->get_extension(s->e.self, DS_EXT_STEPS);
    s->gradient = s->e.plugin->env->get_extension(s->e.self, DS_EXT_STEPS_GRADIENT);
    s->info = (ds_steps_info){.struct_size = sizeof s->info};
    assert_non_null(s->steps);
    assert_int_equal(s->steps->info(s->e.self, &s->info), DS_OK);
    assert_true(s->info.max_lanes >= EPISODES && s->info.horizon <= LONGEST);
    assert_true(s->info.n_obs <= MOST_OBS && s->info.n_act <= MOST_ACT);
}

static void draw_action(const stepper *s, uint64_t episode, uint64_t t, double *out)
{
    ds_random r = ds_random_open(episode + 1, "action", t);
    for (uint64_t k = 0; k < s->info.n_act; k++) {
        const uint64_t i = t * s->info.n_act + k;
        const double u = ds_random_uniform(&r);
        out[k] = (1 - u) * s->e.lower[i] + u * s->e.upper[i];
    }
}

/* Any adjoint of the observation after step t. */
static void draw_bar(const stepper *s, uint64_t episode, uint64_t t, double *out)
{
    ds_random r = ds_random_open(episode + 1, "bar", t);
    for (uint64_t k = 0; k < s->info.n_obs; k++) {
        out[k] = ds_random_normal(&r);
    }
}

/* Episodes `first` .. `first` + count - 1, each in the lane of its number modulo EPISODES, in one call per
 * step; then the sweeps, likewise. */
static void play(stepper *s, uint64_t first, uint64_t count, course *out)
{
    uint64_t lane[EPISODES], key[EPISODES], at[EPISODES], on[EPISODES];
    double obs[EPISODES * MOST_OBS], act[EPISODES * MOST_ACT], reward[EPISODES], loss[EPISODES];
    uint32_t ended[EPISODES], outcome[EPISODES], begins[EPISODES];
    uint64_t cost[EPISODES], live = count;
    const uint64_t n = s->info.n_obs, m = s->info.n_act;
    const ds_step_results results = {sizeof results, 0, obs, reward, ended, loss, outcome, cost};
    for (uint64_t k = 0; k < count; k++) {
        on[k] = k;
        lane[k] = (first + count - 1 - k) % EPISODES; /* rows are not in the order of lanes */
        key[k] = 7 * (first + k) + 1;
    }
    const ds_step_rows begin = {sizeof begin, 0, count, lane, key, NULL};
    assert_int_equal(s->steps->begin(s->e.self, &begin, &results), DS_OK);
    for (uint64_t k = 0; k < count; k++) {
        memset(&out[k], 0, sizeof out[k]);
        memcpy(out[k].obs[0], obs + k * n, n * sizeof *obs);
    }
    for (uint64_t t = 0; live > 0; t++) {
        for (uint64_t i = 0; i < live; i++) {
            lane[i] = (first + count - 1 - on[i]) % EPISODES;
            draw_action(s, first + on[i], t, act + i * m);
            ended[i] = DS_STEPS_CONTINUES;
            outcome[i] = DS_EVAL_OK;
        }
        const ds_step_rows rows = {sizeof rows, 0, live, lane, NULL, act};
        assert_int_equal(s->steps->step(s->e.self, &rows, &results), DS_OK);
        uint64_t left = 0;
        for (uint64_t i = 0; i < live; i++) {
            course *c = &out[on[i]];
            memcpy(c->obs[t + 1], obs + i * n, n * sizeof *obs);
            c->reward[t] = reward[i];
            c->steps = t + 1;
            c->loss = loss[i];
            c->ended = ended[i];
            on[left] = on[i];
            left += ended[i] == DS_STEPS_CONTINUES;
        }
        live = left;
    }
    for (uint64_t t = s->gradient != NULL ? out[0].steps : 0; t-- > 0;) { /* all have the same length */
        for (uint64_t k = 0; k < count; k++) {
            lane[k] = (first + count - 1 - k) % EPISODES;
            at[k] = t;
            begins[k] = t + 1 == out[k].steps;
            reward[k] = 0.5 + (double)(first + k);
            draw_bar(s, first + k, t, obs + k * n);
        }
        const ds_back_rows rows = {sizeof rows, 0, count, lane, at, begins, reward, obs};
        const ds_back_results back = {sizeof back, 0, act, outcome, cost};
        assert_int_equal(s->gradient->back(s->e.self, &rows, &back), DS_OK);
        for (uint64_t k = 0; k < count; k++) {
            memcpy(out[k].bar[t], act + k * m, m * sizeof *act);
        }
    }
}

/* A lane without an episode ends a call: rows before it have taken their step, rows after it have not. */
static void a_call_ends_at_a_free_lane(stepper *s, const double *x)
{
    double obs[3 * MOST_OBS], act[3 * MOST_ACT], reward[3] = {0}, loss[3] = {0};
    uint32_t ended[3] = {0}, outcome[3] = {0};
    uint64_t cost[3] = {0};
    const uint64_t open[] = {0, 2}, lane[] = {0, 1, 2}, m = s->info.n_act;
    const ds_step_results results = {sizeof results, 0, obs, reward, ended, loss, outcome, cost};
    const ds_step_rows begin = {sizeof begin, 0, 2, open, NULL, NULL},
                       step = {sizeof step, 0, 3, lane, NULL, act};
    for (uint64_t k = 0; k < 3; k++) {
        memcpy(act + k * m, x, m * sizeof *x);
    }
    assert_int_equal(s->steps->begin(s->e.self, &begin, &results), DS_OK);
    assert_int_equal(s->steps->step(s->e.self, &step, &results), DS_E_STATE);
    assert_true(cost[0] > 0 && cost[2] == 0);
}

/* Episodes in the lanes of one instance have the bits of episodes in an instance of their own. */
static void lanes_have_the_bits_of_episodes(void **state)
{
    static const scene stepped[] = {
        {"cartpole", 1, {"steps=30", NULL}},
        {"cartpole", 1, {"steps=20", "links=3", "hold=2", "control=force", NULL}},
        {"cartpole_gym", 1, {"steps=60", "start=random", NULL}}, /* episodes of different length */
        {"pendulum", 1, {NULL}},
        {"pendulum", 1, {"variant=gym", "start=random", NULL}},
        {"pendulum", 1, {"variant=swingup200", NULL}},
        {"push_far", 1, {"steps=40", NULL}},
        {"roomba", 1, {"steps=40", NULL}}, /* a term of the last state */
    };
    (void)state;
    for (size_t i = 0; i < sizeof stepped / sizeof *stepped; i++) {
        stepper together, alone;
        static course many[EPISODES], one;
        stepper_open(&together, &stepped[i]);
        play(&together, 0, EPISODES, many);
        for (uint64_t k = 0; k < EPISODES; k++) {
            stepper_open(&alone, &stepped[i]);
            play(&alone, k, 1, &one);
            if (memcmp(&one, &many[k], sizeof one) != 0) {
                fail_msg("%s %s: episode %llu in a lane has other bits than alone", stepped[i].name,
                         stepped[i].settings[0] ? stepped[i].settings[0] : "", (unsigned long long)k);
            }
            fake_env_close(&alone.e);
        }
        play(&together, 3, 2, many); /* lanes are used again */
        play(&together, 0, 1, &one);
        double x[LONGEST * MOST_ACT], loss = 0;
        for (uint64_t t = 0; t < together.info.horizon; t++) {
            draw_action(&together, 0, t, x + t * together.info.n_act);
        }
        row r;
        evaluate(&together.e, 1, x, &(uint64_t){1}, 0, &r, NULL);
        loss = r.loss;
        assert_memory_equal(&loss, &one.loss, sizeof loss);
        /* There is no lane with this number; the evaluation has ended all episodes. */
        ds_step io = {.action = x, .obs = one.obs[0]};
        assert_int_equal(ds_step_call(together.steps, together.e.self, together.info.max_lanes, &io),
                         DS_E_ARG);
        assert_int_equal(ds_step_call(together.steps, together.e.self, 1, &io), DS_E_STATE);
        a_call_ends_at_a_free_lane(&together, x);
        fake_env_close(&together.e);
    }
}

RUN_TESTS(rows_have_the_bits_of_points, robots_have_the_bits_of_robots, lanes_have_the_bits_of_episodes)
