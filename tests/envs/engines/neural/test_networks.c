/* SPDX-License-Identifier: Apache-2.0 */
/* test_networks.c - small networks: parameters, activations, derivatives, penalties, initial weights, files;
 * at the hook points of environments: wirings, values and derivatives by hand, gradients over whole episodes
 * against differences, zero weights that change no bit. */
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

/* ---- environments ---- */

typedef struct scene {
    const char *env;
    const char *setting[7];
    double step, tolerance;
} scene;

/* One wiring of each kind in each environment. Contacts begin at whole steps: gradients are compared where no
 * contact changes its step. */
static const scene scenes[] = {
    {"envs/cartpole",
     {"steps=60", "residual=joint_torque = joint_angle, joint_rate | 4 | tanh | residual | all"},
     1e-4,
     1e-6},
    {"envs/cartpole",
     {"links=3", "steps=40", "hold=2",
      "residual=joint_torque.2 = joint_rate.2, joint_angle.1 | 3 2 | elu | replace"},
     1e-4,
     1e-6},
    {"envs/cartpole",
     {"links=2", "steps=40", "control=force", "integrator=semi-implicit",
      "residual=cart_force = cart_velocity, cart_position | 3 | softsign & joint_torque = joint_rate | - | "
      "identity"},
     1e-4,
     1e-6},
    {"envs/bounce",
     {"variant=paper", "residual=force = velocity, contact_force.2 | 4 | tanh | residual | all"},
     1e-7,
     1e-4},
    {"envs/bounce",
     {"residual=force.1, force.3 = position.2, contact_force | 3 | sigmoid | replace"},
     1e-7,
     1e-4},
    {"envs/pinball",
     {"friction=0.2",
      "residual=friction = sliding_velocity, normal_velocity, depth | 4 | tanh | residual | all"},
     1e-7,
     1e-4},
    {"envs/pinball",
     {"variant=pinball16", "contact_order=sequential", "integrator=semi-implicit",
      "residual=friction = sliding_velocity | 4 | sin"},
     1e-7,
     1e-4},
    {"envs/swing",
     {"variables=velocity", "cells=4", "h=1e-3", "duration=0.25", "residual_limit=0.01",
      "residual=force = velocity, height | 3 | tanh | residual | hidden"},
     1e-5,
     1e-5},
    {"envs/double_pendulum",
     {"variant=damping", "n_samples=200",
      "residual=joint_torque = joint_angle, joint_rate | 3 2 | elu | residual | all"},
     1e-4,
     1e-6},
    {"envs/double_pendulum",
     {"variant=synthetic", "n_samples=60", "steps_per_sample=2", "held_out=20",
      "residual=joint_torque.1 = joint_rate | 3 | tanh | replace & joint_torque.2 = joint_angle | - | "
      "identity"},
     1e-5,
     1e-5},
    {"envs/double_pendulum",
     {"variant=damping", "rollout=onestep", "n_samples=100", "held_out=30",
      "residual=joint_torque = joint_angle, joint_rate | 3 2 | elu | residual | all"},
     1e-4,
     1e-6},
    {"envs/double_pendulum",
     {"variant=synthetic", "rollout=onestep", "n_samples=60", "steps_per_sample=2",
      "residual=joint_torque = joint_rate, joint_angle | 3 | tanh | replace"},
     1e-5,
     1e-5},
    {"envs/cube_throw",
     {"variables=stiffness damping mu", "n_samples=100", "network_force=50",
      "residual=friction = normal_force, sliding_speed | 3 2 | elu | residual | all & normal = depth, "
      "depth_rate | 3 | tanh"},
     1e-7,
     1e-4},
    {"envs/cube_throw", /* with the network of the paper */
     {"n_samples=80", "network_force=50", "residual=friction, normal = normal_force, depth | 3 | tanh"},
     1e-7,
     1e-4},
    {"envs/cube_throw",
     {"variables=stiffness", "n_samples=80", "network_force=50",
      "residual=normal, friction = depth, depth_rate, sliding_speed | 4 | sigmoid | replace"},
     1e-7,
     1e-4},
    {"envs/rigid_contact",
     {"observe=state", "duration=1", "residual=force, torque = velocity, spin | 3 | tanh | residual | all"},
     1e-6,
     1e-5},
    {"envs/rigid_contact",
     {"observe=state", "duration=0.5", "force=1, 2, 3",
      "residual=force = position, velocity | 3 | tanh | replace & torque.2 = spin | - | identity"},
     1e-6,
     1e-5},
    {"envs/rigid_mass",
     {"observe=state",
      "residual=force, torque = position, momentum, angular_momentum | 3 | tanh | residual | all"},
     1e-5,
     1e-6},
    {"envs/push",
     {"set=k100", "steps=80", "residual=actuation, force = state, control | 3 | tanh | residual | all"},
     1e-5,
     1e-6},
    {"envs/push", {"steps=30", "residual=actuation = control, state.3 | 3 | tanh | replace"}, 1e-5, 1e-6},
    {"envs/push_far",
     {"steps=60", "softness=softplus", "contact_loss=1", "residual=force.2 = state | 3 | tanh"},
     1e-5,
     1e-6},
    {"envs/spring_wall",
     {"steps=60", "residual=force = state | 3 | tanh & actuation = control | 2 | softsign"},
     1e-5,
     1e-6},
    {"envs/friction", {"steps=60", "residual=force, actuation = state | 3 | tanh"}, 1e-6, 1e-5},
    {"envs/roomba",
     {"robot=bicycle", "steps=40", "softness=softplus",
      "residual=actuation = state, control | 3 | tanh | residual | all"},
     1e-5,
     1e-6},
    {"envs/tennis",
     {"steps=60", "begin=fixed", "residual=actuation, force = state | 3 | tanh | residual | all"},
     1e-6,
     1e-5},
    {"envs/lqr", {"states=4", "residual=actuation = state, control | 3 | tanh"}, 1e-5, 1e-6},
    {"envs/planar_hand",
     {"contact=smooth", "steps=8", "residual_limit=0.02",
      "residual=actuation = state, control | 3 | tanh | residual | all"},
     1e-6,
     1e-5},
    {"envs/pendulum", {"residual=torque = angle, rate, control | 4 | tanh | residual | all"}, 1e-5, 1e-6},
    {"envs/pendulum",
     {"variant=swingup200", "residual=torque = control, rate | 3 | tanh | replace"},
     1e-5,
     1e-6},
    {"envs/realtosim",
     {"n_samples=2", "h=1e-3", "residual_limit=1e-4", "residual_bias_limit=1e-4", "r2s_norm=sq",
      "residual=force = velocity, height | 2 | tanh | residual | hidden"},
     1e-5,
     1e-4},
    {"envs/beam",
     {"observe=state", "duration=0.02", "residual_limit=0.02", "residual_bias_limit=0.02",
      "residual=force = velocity, height | 3 | tanh | residual | all"},
     1e-5,
     1e-5},
    {"envs/soft_ball",
     {"observe=state", "duration=0.04", "frames=2", "variables=mu velocity",
      "residual=force.1, force.2 = velocity | 3 | tanh | replace"},
     1e-5,
     1e-5},
    {"envs/walker",
     {"observe=state", "duration=0.1", "residual=force = velocity, height | 2 | tanh"},
     1e-5,
     1e-5},
    {"envs/gear", {"observe=state", "duration=0.02", "residual=force.1 = velocity.1 | - | tanh"}, 1e-5, 1e-5},
    {"envs/cloth_velocity",
     {"observe=state", "duration=0.02", "variables=velocity", "residual=force = velocity | 2 | tanh"},
     1e-5,
     1e-5},
    {"envs/spring_cage",
     {"observe=state", "duration=0.2", "residual=force = velocity, height | 3 | tanh"},
     1e-5,
     1e-5},
    {"envs/smoke",
     {"size=12", "waves=2", "steps=6", "residual=push = velocity, density | 3 | tanh | residual | all"},
     1e-7,
     1e-5},
    {"envs/ball2d",
     {"observe=state", "frames=60", "residual=force = state | 3 | tanh | residual | all"},
     1e-5,
     1e-5},
    {"envs/pendulum_id",
     {"observe=state", "variables=length gravity damping force angle rate",
      "residual=torque = angle, rate | 3 | tanh | residual | all"},
     1e-5,
     1e-5},
    {"envs/pivot", {"residual=force = state | 3 | tanh | residual | all", "residual_l2=0.1"}, 1e-6, 1e-5},
    {"envs/pivot", {"arm=along", "steps=60", "residual=force.3 = state.5, state.6 | 2 | sin"}, 1e-6, 1e-5},
    {"envs/ball_wall_soft", {"residual=force = state | 3 | tanh | residual | all"}, 1e-6, 1e-5},
    {"envs/ball_wall_soft",
     {"variant=hard", "dome=true", "residual=force.2 = state.4 | 3 | tanh"},
     1e-6,
     1e-5},
    {"envs/fluid",
     {"preset=small", "segments=2", "steps=2", "residual_limit=0.2",
      "residual=velocity = control, before | 3 | tanh | residual | all"},
     1e-6,
     1e-5},
};
enum { SCENES = sizeof scenes / sizeof *scenes, POINTS_hybrid = 3 };

static double loss_at(void *self, const double *x)
{
    uint32_t outcome;
    return fake_eval(self, x, NULL, 0, &outcome);
}

static double one_side(fake_env *e, double *x, uint64_t i, double h)
{
    const double kept = x[i];
    x[i] = kept + h;
    const double loss = loss_at(e, x);
    x[i] = kept;
    return loss;
}

/* The gradient by the weights, and by a sample of the other variables. Where two difference quotients
 * disagree a contact has changed its step and nothing is compared: at most one in ten. */
static void check_gradient(const scene *s, fake_env *e, uint64_t point)
{
    const uint64_t n = e->info.n, stride = n > 120 ? n / 60 : 1;
    double *x = malloc(3 * n * sizeof *x), *grad = x + n, largest = 0, worst = 0;
    unsigned compared = 0, skipped = 0;
    uint32_t outcome;
    assert_non_null(x);
    differences_random(17 + point, n, x);
    for (uint64_t i = 0; i < n; i++) {
        const double middle = 0.5 * (e->lower[i] + e->upper[i]), half = 0.5 * (e->upper[i] - e->lower[i]);
        x[i] = middle + 0.8 * half * x[i];
    }
    fake_eval(e, x, grad, 0, &outcome);
    assert_int_equal(outcome, DS_EVAL_OK);
    for (uint64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(grad[i]));
    }
    for (uint64_t i = point % stride; i < n; i += stride) {
        const double h = s->step;
        const double wide = (one_side(e, x, i, h) - one_side(e, x, i, -h)) / (2 * h),
                     narrow = (one_side(e, x, i, 0.5 * h) - one_side(e, x, i, -0.5 * h)) / h;
        if (fabs(wide - narrow) > s->tolerance * largest) {
            skipped++;
            continue;
        }
        compared++;
        worst = fmax(worst, fabs(grad[i] - narrow) / largest);
    }
    print_message("%s, %llu variables: %u compared, %u not, worst %.1e\n", s->env, (unsigned long long)n,
                  compared, skipped, worst);
    assert_true(largest > 0 && worst <= s->tolerance && skipped * 10 <= compared);
    free(x);
}

static void gradients(void **state)
{
    for (int k = 0; k < SCENES; k++) {
        fake_env e;
        fake_env_open(&e, scenes[k].env, scenes[k].setting, 1, -INFINITY);
        for (uint64_t point = 0; point < POINTS_hybrid; point++) {
            check_gradient(&scenes[k], &e, point);
        }
        fake_env_close(&e);
    }
}

/* With weights of 0 a residual changes no bit of the loss, and of the gradient only the order of its sums
 * (without networks flights of many steps are one term). All variables start at the same values. */
static void zero_weights(void **state)
{
    for (int k = 0; k < SCENES; k++) {
        fake_env with, without;
        const char *plain[7] = {NULL}, *zero[8] = {"residual_start=zero"};
        int residual = 0;
        for (int i = 0, p = 0; scenes[k].setting[i] != NULL; i++) {
            const int wiring = strncmp(scenes[k].setting[i], "residual=", 9) == 0;
            residual |= wiring && strstr(scenes[k].setting[i], "replace") == NULL &&
                        strstr(scenes[k].setting[i], "sigmoid") == NULL;
            zero[i + 1] = scenes[k].setting[i];
            if (!wiring) {
                plain[p++] = scenes[k].setting[i];
            }
        }
        if (!residual) {
            continue;
        }
        fake_env_open(&with, scenes[k].env, zero, 1, -INFINITY);
        fake_env_open(&without, scenes[k].env, plain, 1, -INFINITY);
        const uint64_t n = without.info.n;
        assert_true(with.info.n > n);
        assert_memory_equal(with.x0, without.x0, n * sizeof *with.x0);
        double *x = calloc(4 * with.info.n, sizeof *x), *g = x + with.info.n, *plain_g = g + with.info.n;
        assert_non_null(x);
        differences_random(2, n, x);
        uint32_t outcome;
        const double a = fake_eval(&with, x, g, 0, &outcome),
                     b = fake_eval(&without, x, plain_g, 0, &outcome);
        assert_true(a == b);
        for (uint64_t i = 0; i < n; i++) {
            assert_near(g[i], plain_g[i], 1e-12 * fmax(1, fabs(plain_g[i])));
        }
        free(x);
        fake_env_close(&with);
        fake_env_close(&without);
    }
}

/* Where there are residuals: products with their Jacobian, by all variables. */
static void products(void **state)
{
    for (int k = 0; k < SCENES; k++) {
        fake_env e;
        double x[80], v[80];
        char name[64];
        snprintf(name, sizeof name, " %s ", scenes[k].env);
        if (strstr(" envs/double_pendulum envs/cube_throw envs/rigid_contact envs/rigid_mass envs/beam "
                   "envs/soft_ball envs/walker envs/cloth_velocity envs/spring_cage envs/smoke envs/ball2d "
                   "envs/pendulum_id ",
                   name) == NULL) {
            continue;
        }
        fake_env_open(&e, scenes[k].env, scenes[k].setting, 1, -INFINITY);
        assert_true(e.info.n <= 80);
        differences_random(5, e.info.n, x);
        differences_random(6, e.info.n, v);
        for (uint64_t i = 0; i < e.info.n; i++) {
            x[i] = 0.5 * (e.lower[i] + e.upper[i]) + 0.4 * (e.upper[i] - e.lower[i]) * x[i];
        }
        fake_products(&e, x, v, 1e-9);
        fake_env_close(&e);
    }
}

/* The paper's network in the friction of the cube equals a general wiring: the same loss and gradient. */
static void network_of_the_cube(void **state)
{
    fake_env own, wired;
    double x[24], v[24], g[2][24];
    fake_env_open(&own, "envs/cube_throw", (const char *[]){"network_force=50", "weight_cost=0", NULL}, 1,
                  -INFINITY);
    fake_env_open(
        &wired, "envs/cube_throw",
        (const char *[]){"network_force=50", "variables=stiffness damping",
                         "residual=friction = normal_force, sliding_speed | 3 2 | elu identity identity | "
                         "residual | all",
                         NULL},
        1, -INFINITY);
    assert_true(own.info.n == 24 && wired.info.n == 24);
    differences_random(3, 24, x);
    x[0] = 5000;
    x[1] = 6000;
    const double loss = fake_eval(&own, x, g[0], 0, NULL);
    assert_true(loss == fake_eval(&wired, x, g[1], 0, NULL));
    assert_memory_equal(g[0], g[1], sizeof g[0]);
    differences_random(4, 24, v);
    fake_products(&own, x, v, 1e-9);
    fake_products(&wired, x, v, 1e-9);
    fake_env_close(&own);
    fake_env_close(&wired);
}

/* Penalties are added to loss and gradient; hook points and names are listed. */
static void told(void **state)
{
    fake_env plain, e;
    const char *wiring = "residual=joint_torque = joint_rate | 2 | tanh";
    fake_env_open(&plain, "envs/cartpole", (const char *[]){"steps=20", wiring, NULL}, 1, -INFINITY);
    fake_env_open(&e, "envs/cartpole",
                  (const char *[]){"steps=20", wiring, "residual_l1=0.3", "residual_l2=0.2",
                                   "residual_limit=0.25", "residual_bias_limit=0.125", NULL},
                  1, -INFINITY);
    const uint64_t n = e.info.n, first = n - 6; /* 1 x 2 + 2 x 1 weights, 2 biases */
    double x[64] = {0}, g[64], plain_g[64];
    uint32_t outcome;
    assert_int_equal(n, 46);
    for (uint64_t i = 0; i < 6; i++) {
        x[first + i] = 0.02 * (double)(i + 1);
        assert_true(e.upper[first + i] == (i < 4 ? 0.25 : 0.125) &&
                    e.lower[first + i] == -e.upper[first + i]);
    }
    const double with = fake_eval(&e, x, g, 0, &outcome),
                 without = fake_eval(&plain, x, plain_g, 0, &outcome);
    assert_near(with - without, 0.3 * 0.06 + 0.2 * 0.0004 * 91, 1e-14);
    assert_near(g[first] - plain_g[first], 0.3 + 0.4 * 0.02, 1e-14);
    assert_near(g[n - 1] - plain_g[n - 1], 0.4 * 0.12, 1e-14);

    const ds_env_vtable *vt = e.plugin->env;
    const ds_env_variables *names = vt->get_extension(e.self, DS_EXT_VARIABLES);
    ds_variable v = {.struct_size = sizeof v};
    assert_int_equal(names->describe(e.self, n - 1, &v), DS_OK);
    assert_string_equal(v.name, "net1.b1.2");
    assert_string_equal(v.group, "net1");
    const ds_env_hooks *hooks = vt->get_extension(e.self, DS_EXT_HOOKS);
    uint64_t count = 0;
    ds_hook h = {.struct_size = sizeof h};
    assert_int_equal(hooks->count(e.self, &count), DS_OK);
    assert_int_equal(count, 5);
    assert_int_equal(hooks->describe(e.self, 4, &h), DS_OK);
    assert_string_equal(h.name, "joint_torque");
    assert_true(h.kind == DS_HOOK_OUTPUT && h.count == 1);
    fake_env_close(&plain);
    fake_env_close(&e);
}

/* The pendulum with networks keeps the stages of its steps for the sweeps where there are few: the same bits
 * either way. */
static void kept_stages(void **state)
{
    enum { FRAMES = 30, S = COMPOUND_STATES, K = COMPOUND_VARIABLES, MOST = 64 };
    static const ds_hook joints[] = {DS_HYBRID_HOOK(DS_HOOK_INPUT, 4, "joint", "rad", "Angles and rates."),
                                     DS_HYBRID_HOOK(DS_HOOK_OUTPUT, 2, "torque", "N m", "Torques.")};
    for (int method = 0; method < 2; method++) {
        double w[MOST], dot[MOST], y[2][(FRAMES + 1) * S], x_bar[2][K] = {{0}}, w_bar[2][MOST] = {{0}},
                                                           y_dot[2][(FRAMES + 1) * S], x_dot[K];
        char why[DS_NETWORK_FILE_TEXT];
        ds_memory m = {.last = NULL};
        ds_hybrid h;
        compound_net net;
        compound p = {.method = method == 0 ? COMPOUND_RK4 : COMPOUND_SEMI_IMPLICIT,
                      .constant = {9.8, 0.735, 1, 1000, 107.8, -0.3, -0.1},
                      .start = {1.9, -0.1, -20, -26}};
        p.slope[COMPOUND_A][0] = p.start_dot[2 * K + 1] = 1;
        assert_true(ds_hybrid_wire(&h, "torque = joint | 5 | tanh | residual | all", 2, joints, why) &&
                    h.variables <= MOST);
        assert_true(compound_net_open(&net, &m, &h, 0.001, FRAMES, 2) && net.keeps);
        differences_random(7, h.variables, w);
        differences_random(8, h.variables, dot);
        differences_random(9, K, x_dot);
        for (int k = 0; k < 2; k++) {
            net.keeps = k == 0;
            assert_int_equal(compound_net_run(&net, &p, w, FRAMES, y[k]), -1);
            compound_net_adjoint(&net, &p, FRAMES, y[0], x_bar[k], w_bar[k]);
            compound_net_tangent(&net, &p, FRAMES, x_dot, dot, y_dot[k]);
        }
        assert_memory_equal(y[0], y[1], sizeof y[0]);
        assert_memory_equal(x_bar[0], x_bar[1], sizeof x_bar[0]);
        assert_memory_equal(w_bar[0], w_bar[1], h.variables * sizeof(double));
        assert_memory_equal(y_dot[0], y_dot[1], sizeof y_dot[0]);
        assert_true(x_bar[0][0] != 0 && w_bar[0][0] != 0 && y_dot[0][FRAMES * S] != 0);
        ds_memory_free(&m);
    }
}

/* A motion that diverges among the predicted samples has the derivatives of the compared ones. */
static void lost_behind(void **state)
{
    enum { MOST = 16 };
    double x[MOST], grad[2][MOST] = {{0}}, loss[2];
    fake_env e;
    fake_env_open(&e, "envs/double_pendulum",
                  (const char *const[]){"variant=damping", "n_samples=5", "held_out=300",
                                        "residual=joint_torque = joint_rate | 1 | identity | residual | all",
                                        NULL},
                  1, -INFINITY);
    assert_true(e.info.n <= MOST);
    for (uint64_t i = 0; i < e.info.n; i++) {
        x[i] = i < 2 ? 0.1 : 1e3;
    }
    for (int k = 0; k < 2; k++) {
        ds_eval io = {.bad_step = -1,
                      .want = DS_WANT_GRAD | (k == 1 ? DS_WANT_SCENE : 0),
                      .n = e.info.n,
                      .x = x,
                      .grad = grad[k]};
        assert_int_equal(ds_eval_call(e.plugin->env, e.self, &io), DS_OK);
        assert_int_equal(io.outcome, DS_EVAL_OK);
        loss[k] = io.loss;
    }
    assert_true(isnan(fake_metric(&e, x, "rmse")[304]) || !isfinite(fake_values(&e, "angle1")[304]));
    assert_true(loss[0] == loss[1] && isfinite(grad[0][2]) && grad[0][2] != 0);
    assert_memory_equal(grad[0], grad[1], sizeof grad[0]);
    fake_env_close(&e);
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
          wirings, bad_wirings, derivatives_hybrid, gradients, zero_weights, products, network_of_the_cube,
          told, kept_stages, lost_behind, files_hybrid)
