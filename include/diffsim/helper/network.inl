/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/network.inl - the functions of network.h, which includes it. */

static inline const char *ds_network_activation_name(uint32_t activation)
{
    static const char *const name[] = {"identity", "tanh", "sin",     "relu",
                                       "softrelu", "elu",  "sigmoid", "softsign"};
    return activation < DS_NETWORK_ACTIVATIONS ? name[activation] : NULL;
}

static inline uint32_t ds_network_activation_named(const char *name)
{
    uint32_t a = 0;
    while (a < DS_NETWORK_ACTIVATIONS && strcmp(ds_network_activation_name(a), name) != 0) {
        a++;
    }
    return a;
}

static inline int ds_network_make(ds_network *net, uint32_t layers, const uint32_t *size,
                                  const uint32_t *activation, const uint32_t *bias)
{
    memset(net, 0, sizeof *net);
    int good = layers >= 1 && layers <= DS_NETWORK_LAYERS;
    for (uint32_t l = 0; good && l <= layers; l++) {
        good = size[l] >= 1 && size[l] <= DS_NETWORK_UNITS && (bias == NULL || bias[l] <= 1) &&
               (l == 0 || activation[l - 1] < DS_NETWORK_ACTIVATIONS);
    }
    if (!good) {
        return 0;
    }
    net->layers = layers;
    for (uint32_t l = 0; l <= layers; l++) {
        net->size[l] = size[l];
        net->bias[l] = bias != NULL ? bias[l] : l > 0;
        net->biases += net->bias[l] ? size[l] : 0;
        net->tape += (l > 0 ? 2u : 1u) * (uint64_t)size[l];
        if (l > 0) {
            net->activation[l - 1] = activation[l - 1];
            net->weights += (uint64_t)size[l - 1] * size[l];
        }
    }
    return 1;
}

static inline uint64_t ds_network_count(const ds_network *net)
{
    return net->weights + net->biases;
}

static inline uint64_t ds_network_weight_at(const ds_network *net, uint32_t l)
{
    uint64_t at = 0;
    for (uint32_t k = 1; k < l; k++) {
        at += (uint64_t)net->size[k - 1] * net->size[k];
    }
    return at;
}

static inline uint64_t ds_network_bias_at(const ds_network *net, uint32_t l)
{
    uint64_t at = net->weights;
    for (uint32_t k = 0; k < l; k++) {
        at += net->bias[k] ? net->size[k] : 0;
    }
    return at;
}

static inline void ds_network_name(const ds_network *net, uint64_t i, char *out, size_t size)
{
    uint32_t l = 1;
    if (i < net->weights) {
        while (i >= (uint64_t)net->size[l - 1] * net->size[l]) {
            i -= (uint64_t)net->size[l - 1] * net->size[l];
            l++;
        }
        snprintf(out, size, "w%u.%u.%u", (unsigned)l, (unsigned)(i / net->size[l - 1] + 1),
                 (unsigned)(i % net->size[l - 1] + 1));
    } else {
        i -= net->weights;
        for (l = 0; l < net->layers && (!net->bias[l] || i >= net->size[l]); l++) {
            i -= net->bias[l] ? net->size[l] : 0;
        }
        snprintf(out, size, "b%u.%u", (unsigned)l, (unsigned)(i + 1));
    }
}

static inline double ds_network_value(uint32_t activation, double z)
{
    switch (activation) {
    case DS_NETWORK_TANH:
        return tanh(z);
    case DS_NETWORK_SIN:
        return sin(z);
    case DS_NETWORK_RELU:
        return z > 0 ? z : 0;
    case DS_NETWORK_SOFTRELU:
        return (z > 0 ? z : 0) + log1p(exp(-fabs(z)));
    case DS_NETWORK_ELU:
        return z >= 0 ? z : expm1(z);
    case DS_NETWORK_SIGMOID:
        return 1 / (1 + exp(-z));
    case DS_NETWORK_SOFTSIGN:
        return z / (1 + fabs(z));
    default:
        return z;
    }
}

static inline double ds_network_slope(uint32_t activation, double z, double value)
{
    switch (activation) {
    case DS_NETWORK_TANH:
        return 1 - value * value;
    case DS_NETWORK_SIN:
        return cos(z);
    case DS_NETWORK_RELU:
        return z > 0 ? 1 : 0;
    case DS_NETWORK_SOFTRELU:
        return 1 / (1 + exp(-z));
    case DS_NETWORK_ELU:
        return z >= 0 ? 1 : value + 1;
    case DS_NETWORK_SIGMOID:
        return value * (1 - value);
    case DS_NETWORK_SOFTSIGN:
        return 1 / ((1 + fabs(z)) * (1 + fabs(z)));
    default:
        return 1;
    }
}

static inline const double *ds_network_forward(const ds_network *net, const double *w, const double *x,
                                               double *tape)
{
    const double *weight = w, *bias = w + net->weights;
    double *a = tape;
    for (uint32_t i = 0; i < net->size[0]; i++) {
        a[i] = net->bias[0] ? x[i] + bias[i] : x[i];
    }
    bias += net->bias[0] ? net->size[0] : 0;
    for (uint32_t l = 1; l <= net->layers; l++) {
        const uint32_t in = net->size[l - 1], out = net->size[l];
        double *z = a + in, *next = z + out;
        for (uint32_t i = 0; i < out; i++, weight += in) {
            double sum = net->bias[l] ? bias[i] : 0;
            for (uint32_t j = 0; j < in; j++) {
                sum += weight[j] * a[j];
            }
            z[i] = sum;
            next[i] = ds_network_value(net->activation[l - 1], sum);
        }
        bias += net->bias[l] ? out : 0;
        a = next;
    }
    return a;
}

static inline void ds_network_reverse(const ds_network *net, const double *w, const double *tape,
                                      const double *y_bar, double *w_bar, double *x_bar)
{
    double bar[2][DS_NETWORK_UNITS];
    const double *weight = w + net->weights, *next = tape + net->tape;
    double *bias_bar = w_bar != NULL ? w_bar + ds_network_count(net) : NULL;
    uint32_t now = 0;
    memcpy(bar[0], y_bar, net->size[net->layers] * sizeof *y_bar);
    for (uint32_t l = net->layers; l >= 1; l--) {
        const uint32_t in = net->size[l - 1], out = net->size[l];
        next -= out;
        const double *z = next - out, *a = z - in;
        double *below = bar[1 - now];
        weight -= (uint64_t)in * out;
        bias_bar -= bias_bar != NULL && net->bias[l] ? out : 0;
        for (uint32_t j = 0; j < in; j++) {
            below[j] = 0;
        }
        for (uint32_t i = 0; i < out; i++) {
            const double z_bar = bar[now][i] * ds_network_slope(net->activation[l - 1], z[i], next[i]);
            for (uint32_t j = 0; j < in; j++) {
                below[j] += z_bar * weight[(uint64_t)i * in + j];
            }
            if (w_bar != NULL) {
                double *row = w_bar + (weight - w) + (uint64_t)i * in;
                for (uint32_t j = 0; j < in; j++) {
                    row[j] += z_bar * a[j];
                }
                if (net->bias[l]) {
                    bias_bar[i] += z_bar;
                }
            }
        }
        next = z; /* the end of a_(l-1) */
        now = 1 - now;
    }
    bias_bar -= bias_bar != NULL && net->bias[0] ? net->size[0] : 0;
    for (uint32_t i = 0; i < net->size[0]; i++) {
        if (x_bar != NULL) {
            x_bar[i] += bar[now][i];
        }
        if (bias_bar != NULL && net->bias[0]) {
            bias_bar[i] += bar[now][i];
        }
    }
}

static inline void ds_network_tangent(const ds_network *net, const double *w, const double *tape,
                                      const double *w_dot, const double *x_dot, double *y_dot)
{
    double dot[2][DS_NETWORK_UNITS];
    const double *weight = w, *a = tape;
    const double *bias_dot = w_dot != NULL ? w_dot + net->weights : NULL;
    uint32_t now = 0;
    for (uint32_t i = 0; i < net->size[0]; i++) {
        dot[0][i] = x_dot != NULL ? x_dot[i] : 0;
        dot[0][i] += bias_dot != NULL && net->bias[0] ? bias_dot[i] : 0;
    }
    bias_dot += bias_dot != NULL && net->bias[0] ? net->size[0] : 0;
    for (uint32_t l = 1; l <= net->layers; l++) {
        const uint32_t in = net->size[l - 1], out = net->size[l];
        const double *z = a + in, *next = z + out;
        for (uint32_t i = 0; i < out; i++, weight += in) {
            double sum = bias_dot != NULL && net->bias[l] ? bias_dot[i] : 0;
            for (uint32_t j = 0; j < in; j++) {
                sum += weight[j] * dot[now][j];
                sum += w_dot != NULL ? w_dot[weight - w + j] * a[j] : 0;
            }
            dot[1 - now][i] = sum * ds_network_slope(net->activation[l - 1], z[i], next[i]);
        }
        bias_dot += bias_dot != NULL && net->bias[l] ? out : 0;
        a = next;
        now = 1 - now;
    }
    memcpy(y_dot, dot[now], net->size[net->layers] * sizeof *y_dot);
}

static inline double ds_network_penalty(const ds_network *net, const double *w, double l1, double l2,
                                        double *w_bar)
{
    const uint64_t first = (uint64_t)net->size[0] * net->size[1], count = ds_network_count(net);
    double absolute = 0, square = 0;
    for (uint64_t i = 0; i < count; i++) {
        absolute += i < first ? fabs(w[i]) : 0;
        square += w[i] * w[i];
        if (w_bar != NULL) {
            w_bar[i] += 2 * l2 * w[i] + (i < first ? l1 * ((w[i] > 0) - (w[i] < 0)) : 0);
        }
    }
    return l1 * absolute + l2 * square;
}

static inline void ds_network_init(const ds_network *net, double *w, uint32_t how, ds_random *random)
{
    for (uint32_t l = 1; l <= net->layers; l++) {
        const double variance = 2.0 / (net->size[l - 1] + net->size[l]);
        const double deviation = how == DS_NETWORK_TDS ? variance : sqrt(variance);
        const uint64_t first = ds_network_weight_at(net, l), end = ds_network_weight_at(net, l + 1);
        for (uint64_t i = first; i < end; i++) {
            w[i] = deviation * ds_random_normal(random);
        }
    }
    for (uint64_t i = net->weights; i < ds_network_count(net); i++) {
        w[i] = how == DS_NETWORK_TDS ? 0.5 : 0;
    }
}
