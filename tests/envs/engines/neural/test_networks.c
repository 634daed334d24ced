/* SPDX-License-Identifier: Apache-2.0 */
/* test_networks.c - small networks: parameters, activations, derivatives, penalties, initial weights, files;
 * wirings to hook points, with values and derivatives by hand. */
#include "differences.h"
#include "engines/physics/pendulum/compound.h"
#include "host.h"
#include "temporary.h"
#include "test.h"

#include <diffsim/ext/draft/hooks.h>
#include <diffsim/ext/variables.h>
#include <diffsim/helper/hybrid.h>
#include <diffsim/helper/network_file.h>

/* ---- networks ---- */

enum { IN = 3, HIDDEN = 4, OUT = 2, ROOM = 128, POINTS = 12 };

/* The net of NeuralSim's cube: 2 inputs with a bias, 3 ELU, 2 and 1 identity. */
static void parameters_of_the_cube(void **state)
{
    ds_network net;
    const uint32_t size[] = {2, 3, 2, 1}, f[] = {DS_NETWORK_ELU, DS_NETWORK_IDENTITY, DS_NETWORK_IDENTITY},
                   all[] = {1, 1, 1, 1};
    assert_true(ds_network_make(&net, 3, size, f, all));
    assert_int_equal(net.weights, 14);
    assert_int_equal(net.biases, 8);
    assert_int_equal(ds_network_count(&net), 22);
    static const char *const name[] = {"w1.1.1", "w1.1.2", "w1.2.1", "w1.2.2", "w1.3.1", "w1.3.2",
                                       "w2.1.1", "w2.1.2", "w2.1.3", "w2.2.1", "w2.2.2", "w2.2.3",
                                       "w3.1.1", "w3.1.2", "b0.1",   "b0.2",   "b1.1",   "b1.2",
                                       "b1.3",   "b2.1",   "b2.2",   "b3.1"};
    for (uint64_t i = 0; i < 22; i++) {
        char text[32];
        ds_network_name(&net, i, text, sizeof text);
        assert_string_equal(text, name[i]);
    }
    assert_int_equal(ds_network_weight_at(&net, 2), 6);
    assert_int_equal(ds_network_bias_at(&net, 0), 14);
    assert_int_equal(ds_network_bias_at(&net, 3), 21);

    const uint32_t hidden_only[] = {0, 1, 0, 0};
    assert_true(ds_network_make(&net, 3, size, f, hidden_only));
    assert_int_equal(ds_network_count(&net), 17);
    char text[32];
    ds_network_name(&net, 14, text, sizeof text);
    assert_string_equal(text, "b1.1");
}

/* Definitions that are refused. */
static void refused(void **state)
{
    ds_network net;
    const uint32_t none[] = {2, 0, 1}, wide[] = {2, DS_NETWORK_UNITS + 1, 1}, good[] = {2, 3, 1};
    const uint32_t f[] = {DS_NETWORK_TANH, DS_NETWORK_IDENTITY}, other[] = {DS_NETWORK_ACTIVATIONS, 0};
    const uint32_t two[] = {0, 2, 0};
    assert_false(ds_network_make(&net, 2, none, f, NULL));
    assert_false(ds_network_make(&net, 2, wide, f, NULL));
    assert_false(ds_network_make(&net, 2, good, other, NULL));
    assert_false(ds_network_make(&net, 2, good, f, two));
    assert_false(ds_network_make(&net, 0, good, f, NULL));
    assert_false(ds_network_make(&net, DS_NETWORK_LAYERS + 1, good, f, NULL));
    assert_int_equal(ds_network_count(&net), 0);
}

/* A network by hand, in which every weight and bias matters. */
static void values(void **state)
{
    ds_network net;
    const uint32_t size[] = {2, 2, 1}, f[] = {DS_NETWORK_TANH, DS_NETWORK_SOFTSIGN}, all[] = {1, 1, 1};
    assert_true(ds_network_make(&net, 2, size, f, all));
    const double w[] = {0.5, -1, 2, 0.25, 3, -2, /* biases */ 0.1, -0.2, 0.3, -0.4, 0.5};
    const double x[] = {0.7, -0.6}, a = x[0] + 0.1, b = x[1] - 0.2;
    const double z = 3 * tanh(0.5 * a - b + 0.3) - 2 * tanh(2 * a + 0.25 * b - 0.4) + 0.5;
    double tape[ROOM];
    assert_true(net.tape <= ROOM);
    const double *y = ds_network_forward(&net, w, x, tape);
    assert_true(fabs(y[0] - z / (1 + fabs(z))) < 1e-15);
    assert_ptr_equal(y, tape + net.tape - 1);

    static const double at[] = {-30, -1.5, -0.2, 0, 0.4, 2, 30};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        const double v = at[i];
        const double want[DS_NETWORK_ACTIVATIONS] = {[DS_NETWORK_IDENTITY] = v,
                                                     [DS_NETWORK_TANH] = tanh(v),
                                                     [DS_NETWORK_SIN] = sin(v),
                                                     [DS_NETWORK_RELU] = v > 0 ? v : 0,
                                                     [DS_NETWORK_SOFTRELU] = log(1 + exp(v)),
                                                     [DS_NETWORK_ELU] = v >= 0 ? v : exp(v) - 1,
                                                     [DS_NETWORK_SIGMOID] = 1 / (1 + exp(-v)),
                                                     [DS_NETWORK_SOFTSIGN] = v / (1 + fabs(v))};
        for (uint32_t k = 0; k < DS_NETWORK_ACTIVATIONS; k++) {
            assert_true(fabs(ds_network_value(k, v) - want[k]) <= 1e-14 * fmax(1, fabs(want[k])));
            assert_int_equal(ds_network_activation_named(ds_network_activation_name(k)), k);
        }
    }
    /* No overflow where the textbook formulas overflow. */
    assert_true(ds_network_value(DS_NETWORK_SOFTRELU, 1e4) == 1e4 &&
                ds_network_value(DS_NETWORK_SIGMOID, -1e4) == 0);
    assert_null(ds_network_activation_name(DS_NETWORK_ACTIVATIONS));
}

typedef struct problem {
    ds_network net;
    double y_bar[OUT];
    double x[IN];
    double tape[ROOM];
} problem;

/* y_bar . y as a function of all parameters and inputs. */
static double scalar(void *self, const double *at)
{
    problem *p = self;
    const double *y = ds_network_forward(&p->net, at, at + ds_network_count(&p->net), p->tape);
    return differences_dot(OUT, p->y_bar, y);
}

/* Distance to the nearest kink: of relu, and of the second derivative of elu and softsign. */
static double clearance(const problem *p)
{
    const double *z1 = p->tape + IN, *z2 = z1 + 2 * HIDDEN;
    double least = HUGE_VAL;
    for (int i = 0; i < HIDDEN; i++) {
        least = fmin(least, fmin(fabs(z1[i]), fabs(z2[i])));
    }
    return least;
}

/* Reverse and tangent at many points, for every activation and every kind of bias. Fourth-order differences
 * are exact to 1e-11 away from kinks. */
static void derivatives(void **state)
{
    for (uint32_t k = 0; k < DS_NETWORK_ACTIVATIONS; k++) {
        unsigned far = 0;
        double worst = 0;
        for (uint64_t trial = 0; far < POINTS; trial++) {
            problem p;
            assert_true(trial < 400);
            const uint32_t size[] = {IN, HIDDEN, HIDDEN, OUT},
                           f[] = {k, k, trial % 2 ? k : DS_NETWORK_IDENTITY},
                           bias[] = {trial % 3 == 0, trial % 2, 1, trial % 5 != 0};
            assert_true(ds_network_make(&p.net, 3, size, f, bias) && p.net.tape <= ROOM);
            const uint64_t count = ds_network_count(&p.net), n = count + IN;
            double at[ROOM], grad[ROOM] = {0}, direction[ROOM], y_dot[OUT];
            differences_random(1000 * k + trial, n, at);
            differences_random(7 + trial, OUT, p.y_bar);
            scalar(&p, at);
            if (clearance(&p) < 0.01) {
                continue;
            }
            far++;
            ds_network_reverse(&p.net, at, p.tape, p.y_bar, grad, grad + count);
            differences_random(31 + trial, n, direction);
            ds_network_tangent(&p.net, at, p.tape, direction, direction + count, y_dot);
            const double forward = differences_dot(OUT, p.y_bar, y_dot);
            assert_true(fabs(forward - differences_dot(n, grad, direction)) <=
                        1e-13 * fmax(1, fabs(forward)));
            double largest = 0, h = 1e-3;
            for (uint64_t i = 0; i < n; i++) {
                largest = fmax(largest, fabs(grad[i]));
            }
            for (uint64_t i = 0; i < n; i++) {
                double side[4], kept = at[i];
                for (int s = 0; s < 4; s++) {
                    at[i] = kept + h * (s < 2 ? s - 2 : s - 1);
                    side[s] = scalar(&p, at);
                }
                at[i] = kept;
                const double quotient = (side[0] - 8 * side[1] + 8 * side[2] - side[3]) / (12 * h);
                worst = fmax(worst, fabs(quotient - grad[i]) / fmax(largest, 1));
            }
        }
        print_message("%s: %u points, worst difference %.1e\n", ds_network_activation_name(k), far, worst);
        assert_true(worst <= 1e-9);
    }
}

/* Bars are added to, and may be left out. */
static void bars(void **state)
{
    ds_network net;
    const uint32_t size[] = {IN, HIDDEN, OUT}, f[] = {DS_NETWORK_TANH, DS_NETWORK_IDENTITY},
                   all[] = {1, 1, 1};
    assert_true(ds_network_make(&net, 2, size, f, all));
    const uint64_t count = ds_network_count(&net);
    double w[ROOM], x[IN], tape[ROOM], y_bar[OUT], once[ROOM] = {0}, twice[ROOM] = {0};
    differences_random(1, count, w);
    differences_random(2, IN, x);
    differences_random(3, OUT, y_bar);
    ds_network_forward(&net, w, x, tape);
    ds_network_reverse(&net, w, tape, y_bar, once, once + count);
    ds_network_reverse(&net, w, tape, y_bar, twice, NULL);
    ds_network_reverse(&net, w, tape, y_bar, NULL, twice + count);
    assert_memory_equal(once, twice, sizeof once);
    ds_network_reverse(&net, w, tape, y_bar, twice, twice + count);
    for (uint64_t i = 0; i < count + IN; i++) {
        assert_true(twice[i] == 2 * once[i]);
    }
    double both[OUT], of_w[OUT], of_x[OUT];
    ds_network_tangent(&net, w, tape, w, x, both);
    ds_network_tangent(&net, w, tape, w, NULL, of_w);
    ds_network_tangent(&net, w, tape, NULL, x, of_x);
    for (int i = 0; i < OUT; i++) {
        assert_true(fabs(both[i] - of_w[i] - of_x[i]) < 1e-14);
    }
}

static void penalties(void **state)
{
    ds_network net;
    const uint32_t size[] = {2, 2, 1}, f[] = {DS_NETWORK_RELU, DS_NETWORK_IDENTITY};
    assert_true(ds_network_make(&net, 2, size, f, NULL));
    const double w[] = {1, -2, 0, 0.5, /**/ 3, -1, /* biases */ 0.25, 0, -4};
    double bar[9] = {0};
    const double square = 1 + 4 + 0.25 + 9 + 1 + 0.0625 + 16,
                 got = ds_network_penalty(&net, w, 0.1, 0.01, bar);
    assert_true(fabs(got - (0.1 * 3.5 + 0.01 * square)) < 1e-15);
    const double want[] = {0.12, -0.14, 0, 0.11, 0.06, -0.02, 0.005, 0, -0.08};
    for (int i = 0; i < 9; i++) {
        assert_true(fabs(bar[i] - want[i]) < 1e-15);
    }
    assert_true(ds_network_penalty(&net, w, 0, 0, NULL) == 0);
}

/* Standard deviations of many draws, layer by layer. */
static void initial(void **state)
{
    ds_network net;
    const uint32_t size[] = {100, 60, 40}, f[] = {DS_NETWORK_TANH, DS_NETWORK_IDENTITY}, all[] = {1, 1, 1};
    assert_true(ds_network_make(&net, 2, size, f, all));
    double *w = malloc(2 * ds_network_count(&net) * sizeof *w), *again = w + ds_network_count(&net);
    assert_non_null(w);
    for (uint32_t how = 0; how < 2; how++) {
        ds_random r = ds_random_open(5, "weights", how), same = r;
        ds_network_init(&net, w, how, &r);
        ds_network_init(&net, again, how, &same);
        assert_memory_equal(w, again, ds_network_count(&net) * sizeof *w);
        for (uint32_t l = 1; l <= 2; l++) {
            const uint64_t first = ds_network_weight_at(&net, l), end = ds_network_weight_at(&net, l + 1);
            const double variance = 2.0 / (size[l - 1] + size[l]),
                         want = how == DS_NETWORK_TDS ? variance * variance : variance;
            double sum = 0;
            for (uint64_t i = first; i < end; i++) {
                sum += w[i] * w[i];
            }
            assert_true(fabs(sum / (double)(end - first) / want - 1) < 0.1);
        }
        for (uint64_t i = net.weights; i < ds_network_count(&net); i++) {
            assert_true(w[i] == (how == DS_NETWORK_TDS ? 0.5 : 0));
        }
    }
    free(w);
}

/* Written and read: the same networks, the same bits. */
static void files(void **state)
{
    ds_network net[2], got[2];
    const uint32_t one[] = {2, 3, 2, 1}, two[] = {IN, OUT},
                   f[] = {DS_NETWORK_ELU, DS_NETWORK_SIN, DS_NETWORK_IDENTITY}, bias[] = {1, 1, 0, 1};
    assert_true(ds_network_make(&net[0], 3, one, f, bias) && ds_network_make(&net[1], 1, two, f, NULL));
    const uint64_t count = ds_network_count(&net[0]) + ds_network_count(&net[1]);
    double w[ROOM];
    differences_random(9, count, w);
    w[0] = 1.0 / 3e7;
    w[1] = 5e-324;
    char path[] = "test-network-XXXXXX", why[DS_NETWORK_FILE_TEXT];
    FILE *f_out = fdopen(mkstemp(path), "w");
    assert_non_null(f_out);
    assert_true(ds_network_file_write(f_out, 2, net, w));
    assert_int_equal(fclose(f_out), 0);
    uint32_t nets = 0;
    double *read = ds_network_file_read(path, 2, got, &nets, why);
    assert_non_null(read);
    assert_int_equal(nets, 2);
    assert_memory_equal(got, net, sizeof net);
    assert_memory_equal(read, w, count * sizeof *w);
    free(read);
    assert_null(ds_network_file_read(path, 1, got, &nets, why));
    assert_non_null(strstr(why, "line 26: more than 1 network"));
    remove(path);
    assert_null(ds_network_file_read(path, 1, got, &nets, why));
    assert_non_null(strstr(why, "No such file"));
}

static void bad_files(void **state)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"", "line 1: a file of networks begins with 'diffsim-network 1' (the file ends)"},
        {"diffsim-network 2", "line 1: a file of networks begins with 'diffsim-network 1', not '2'"},
        {"diffsim-network 1\n", "expected 'network' and its sizes (the file ends)"},
        {"diffsim-network 1\nnetwork 2\n", "line 3: expected 2 to 9 sizes"},
        {"diffsim-network 1\nnetwork 2 0 1", "line 2: a size must be a number from 1 to 256, not '0'"},
        {"diffsim-network 1\nnetwork 2 1e9 1", "a size must be a number from 1 to 256, not '1e9'"},
        {"diffsim-network 1\nnetwork 1 1 1 1 1 1 1 1 1 1",
         "expected 2 to 9 sizes, then 'activations', not '1'"},
        {"diffsim-network 1\nnetwork 2 1\nactivations selu", "line 3: expected an activation"},
        {"diffsim-network 1\nnetwork 2 1\nactivations elu\nbiases 1 2", "line 4: expected 0 or 1"},
        {"diffsim-network 1\nnetwork 2 1\nactivations elu\nbiases 0 0\nparameters 1 nan",
         "line 5: expected 2 parameters, 1 numbers are there, not 'nan'"},
        {"diffsim-network 1\nnetwork 2 1\nactivations elu\nbiases 0 0\nparameters 1",
         "line 5: expected 2 parameters, 1 numbers are there (the file ends)"},
        {"diffsim-network 1\nnetwork 2 1\nactivations elu\nbiases 0 0\nparameters 1 2 3",
         "line 5: expected 'network' and its sizes, not '3'"},
        {"diffsim-network 1\nnetwork 256 256\nactivations elu\nbiases 0 0\nparameters 1 2 3",
         "line 5: expected 65536 parameters"},
        {"diffsim-network 1 # \xff\nnetwork \xff", "line 2: only printable ASCII"},
        {"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
         "at most 63 letters"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ds_network net[4];
        uint32_t count;
        char why[DS_NETWORK_FILE_TEXT];
        assert_null(ds_network_file_parse(bad[i].text, strlen(bad[i].text), 4, net, &count, why));
        if (strstr(why, bad[i].why) == NULL) {
            fail_msg("'%s': %s", bad[i].text, why);
        }
        assert_int_equal(count, 0);
    }
    const char *good = "# made by hand\ndiffsim-network 1 network 1 1 # small\nactivations\ttanh\nbiases 0 "
                       "1\nparameters\n-2 1e-3\n";
    ds_network net;
    uint32_t count;
    char why[DS_NETWORK_FILE_TEXT];
    double *w = ds_network_file_parse(good, strlen(good), 1, &net, &count, why);
    assert_non_null(w);
    assert_true(count == 1 && w[0] == -2 && w[1] == 1e-3 && net.activation[0] == DS_NETWORK_TANH);
    free(w);
}

/* ---- networks at hook points ---- */

static const ds_hook hook[] = {DS_HYBRID_HOOK(DS_HOOK_INPUT, 1, "v", "m/s", "Velocity."),
                               DS_HYBRID_HOOK(DS_HOOK_OUTPUT, 2, "force", "N", "Force."),
                               DS_HYBRID_HOOK(DS_HOOK_INPUT, 3, "angle", "rad", "Angles."),
                               DS_HYBRID_HOOK(DS_HOOK_OUTPUT, 1, "heat", "W", "Heat.")};
enum { HOOKS = 4, INPUTS = 4, OUTPUTS = 3 };

/* ---- wiring ---- */

static void wirings(void **state)
{
    ds_hybrid h;
    char why[DS_NETWORK_FILE_TEXT];
    assert_true(ds_hybrid_wire(&h, " ", HOOKS, hook, why));
    assert_true(h.nets == 0 && h.variables == 0);

    assert_true(ds_hybrid_wire(&h, "heat, force.2 = angle, v", HOOKS, hook, why));
    assert_true(h.nets == 1 && !h.net[0].replace && h.net[0].net.layers == 3);
    assert_memory_equal(h.net[0].net.size, ((uint32_t[]){4, 5, 5, 2}), 4 * sizeof(uint32_t));
    assert_memory_equal(h.net[0].net.activation,
                        ((uint32_t[]){DS_NETWORK_ELU, DS_NETWORK_ELU, DS_NETWORK_IDENTITY}),
                        3 * sizeof(uint32_t));
    assert_memory_equal(h.net[0].net.bias, ((uint32_t[]){0, 1, 1, 0}), 4 * sizeof(uint32_t));
    assert_memory_equal(h.net[0].in, ((uint32_t[]){1, 2, 3, 0}), 4 * sizeof(uint32_t));
    assert_memory_equal(h.net[0].out, ((uint32_t[]){2, 1}), 2 * sizeof(uint32_t));
    assert_int_equal(h.variables, 4 * 5 + 5 * 5 + 5 * 2 + 10);

    assert_true(ds_hybrid_wire(
        &h, "force=angle.2|3 2|elu identity|replace|all & heat = v | - | tanh | residual | none", HOOKS, hook,
        why));
    assert_true(h.nets == 2 && h.net[0].replace && !h.net[1].replace);
    assert_true(h.net[1].net.layers == 1 && h.net[1].net.activation[0] == DS_NETWORK_TANH);
    assert_int_equal(h.net[1].at, ds_network_count(&h.net[0].net));
    assert_int_equal(h.variables, h.net[1].at + 1);
    char name[64], group[64];
    ds_hybrid_name(&h, h.net[1].at, name, group, sizeof name);
    assert_string_equal(name, "net2.w1.1.1");
    assert_string_equal(group, "net2");

    /* Without a named activation hidden layers have elu and outputs have none; a network may consist of
     * outputs only. */
    assert_true(ds_hybrid_wire(&h, "heat = v | - & force.1 = v | 3 | | replace & force.2 = v | - | elu",
                               HOOKS, hook, why));
    assert_int_equal(h.net[0].net.activation[0], DS_NETWORK_IDENTITY);
    assert_int_equal(h.net[1].net.activation[0], DS_NETWORK_ELU);
    assert_int_equal(h.net[1].net.activation[1], DS_NETWORK_IDENTITY);
    assert_int_equal(h.net[2].net.activation[0], DS_NETWORK_ELU);
}

static void bad_wirings(void **state)
{
    static const char *const bad[][2] = {
        {"force", "expected 'outputs = inputs | ...'"},
        {"= v", "at least one output"},
        {"heat = ", "at least one input"},
        {"torque = v", "there is no output 'torque'; there are: force.1 .. force.2, heat"},
        {"v = v", "there is no output 'v'"},
        {"heat = heat", "there is no input 'heat'; there are: v, angle.1 .. angle.3"},
        {"force.3 = v", "there is no output 'force.3'"},
        {"force.0 = v", "there is no output 'force.0'"},
        {"force.x = v", "there is no output 'force.x'"},
        {"heat = v | 0", "1 to 256 units, not '0'"},
        {"heat = v | 3 257", "not '257'"},
        {"heat = v | 2.5", "not '2.5'"},
        {"heat = v | 1 1 1 1 1 1 1 1", "at most 7 hidden layers"},
        {"heat = v | 3 | selu", "there is no activation 'selu'"},
        {"heat = v | 3 3 3 | elu tanh", "one for each of the 3 hidden layers"},
        {"heat = v | 3 | elu elu elu", "one for each of the 1 hidden layers"},
        {"heat = v | 3 | elu | add", "expected residual or replace, not 'add'"},
        {"heat = v | 3 | elu | residual | some", "not 'some'"},
        {"heat = v | 3 | elu | residual | all | more", "at most five fields"},
        {"heat = v & heat = v", "network 2 has an output that is taken already"},
        {"force, force.1 = v", "network 1 has an output that is taken already"},
        {"heat = v &", "expected 'outputs = inputs | ...'"},
        {"heat=v&heat=v&heat=v&heat=v&heat=v&heat=v&heat=v&heat=v&heat=v", "at most 8 networks"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ds_hybrid h;
        char why[DS_NETWORK_FILE_TEXT];
        assert_false(ds_hybrid_wire(&h, bad[i][0], HOOKS, hook, why));
        if (strstr(why, bad[i][1]) == NULL) {
            fail_msg("'%s': %s", bad[i][0], why);
        }
        assert_int_equal(h.nets, 0);
    }
    ds_hybrid none;
    char why[DS_NETWORK_FILE_TEXT];
    assert_false(ds_hybrid_wire(&none, "force = v", 0, NULL, why));
    assert_string_equal(why,
                        "there is no output 'force': the environment has no hook points for outputs with "
                        "these parameters; leave residual empty");
}

/* c . outputs of a model with analytic outputs 2 inputs[1], inputs[0]^2, 3, changed by two networks. */
typedef struct model {
    ds_hybrid h;
    double c[OUTPUTS], in[INPUTS], tape[256];
} model;

static double value(void *self, const double *at)
{
    model *m = self;
    const double *in = at + m->h.variables;
    double out[OUTPUTS] = {2 * in[1], in[0] * in[0], 3};
    ds_hybrid_forward(&m->h, at, in, out, m->tape);
    return differences_dot(OUTPUTS, m->c, out);
}

static void derivatives_hybrid(void **state)
{
    model m;
    char why[DS_NETWORK_FILE_TEXT];
    assert_true(ds_hybrid_wire(
        &m.h, "force.1 = v, angle.3 | 3 | tanh | replace | all & heat, force.2 = angle | 2 | sin", HOOKS,
        hook, why));
    const uint64_t n = m.h.variables + INPUTS;
    double at[128], grad[128] = {0}, dot[128];
    assert_true(n <= 128 && m.h.tape <= 256);
    differences_random(3, n, at);
    differences_random(4, OUTPUTS, m.c);
    differences_random(5, n, dot);
    value(&m, at);
    double out_bar[OUTPUTS], out_dot[OUTPUTS], *in_bar = grad + m.h.variables, *in = at + m.h.variables,
                                               *in_dot = dot + m.h.variables;
    memcpy(out_bar, m.c, sizeof out_bar);
    ds_hybrid_reverse(&m.h, at, m.tape, out_bar, grad, in_bar);
    assert_true(out_bar[0] == 0 && out_bar[1] == m.c[1] && out_bar[2] == m.c[2]);
    in_bar[1] += 2 * out_bar[0];
    in_bar[0] += 2 * in[0] * out_bar[1];
    differences d = {.name = "two networks",
                     .n = n,
                     .x = at,
                     .grad = grad,
                     .loss = value,
                     .self = &m,
                     .step = 1e-4,
                     .tolerance = 1e-8};
    assert_int_equal(differences_check(&d, NULL), 0);
    value(&m, at);
    out_dot[0] = 2 * in_dot[1];
    out_dot[1] = 2 * in[0] * in_dot[0];
    out_dot[2] = 0;
    ds_hybrid_tangent(&m.h, at, m.tape, dot, in_dot, out_dot);
    assert_near(differences_dot(OUTPUTS, m.c, out_dot), differences_dot(n, grad, dot), 1e-14);
}

/* Initial weights from a file, files that do not fit, and other mistakes of a user. */
static void files_hybrid(void **state)
{
    ds_hybrid h;
    char why[DS_NETWORK_FILE_TEXT], setting[600];
    temporary folder;
    temporary_open(&folder);
    const char *path = temporary_path(&folder, "weights");
    assert_true(ds_hybrid_wire(&h, "heat = v | 2 | tanh", HOOKS, hook, why));
    const double w[] = {0.1, -0.2, 0.3, 0.4, -0.45, 0.05};
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(ds_network_file_write(f, 1, &h.net[0].net, w));
    assert_int_equal(fclose(f), 0);
    snprintf(setting, sizeof setting, "residual_weights=%s", path);
    fake_env e;
    fake_env_open(&e, "envs/cartpole",
                  (const char *[]){setting, "steps=5", "residual=joint_torque = joint_rate | 2 | tanh", NULL},
                  1, -INFINITY);
    assert_memory_equal(e.x0 + 10, w, sizeof w);
    fake_env_close(&e);
    fake_env_refuses("envs/cartpole",
                     (const char *[]){setting, "residual=joint_torque = joint_rate | 3 | tanh", NULL},
                     "network 1 is not that of parameter residual");
    fake_env_refuses("envs/cartpole",
                     (const char *[]){setting, "residual_limit=0.25",
                                      "residual=joint_torque = joint_rate | 2 | tanh", NULL},
                     "is beyond 0.25");
    fake_env_refuses("envs/cartpole", (const char *[]){setting, NULL}, "there is no network: set residual");
    fake_env_refuses("envs/double_pendulum", (const char *[]){"residual=joint_torque = joint_rate", NULL},
                     "camera");
    fake_env_refuses("envs/rigid_contact", (const char *[]){"residual=force = spin", "residual_l2=1", NULL},
                     "sum of squares");
    fake_env_refuses("envs/cartpole", (const char *[]){"residual=cart_force = joint_rate", NULL},
                     "there is no output 'cart_force'; there are: joint_torque");
    temporary_close(&folder);
}

RUN_TESTS(parameters_of_the_cube, refused, values, derivatives, bars, penalties, initial, files, bad_files,
          wirings, bad_wirings, derivatives_hybrid, files_hybrid)
