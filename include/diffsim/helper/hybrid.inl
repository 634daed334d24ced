/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/hybrid.inl - the functions of hybrid.h, which includes it. */

/* ---- reading a wiring ---- */

/* Cuts *text at the next `mark` and returns the part before it without surrounding blanks; *text moves after
 * the mark, NULL at the end. */
static inline char *ds_hybrid_part(char **text, char mark)
{
    char *part = *text, *end = strchr(part, mark);
    *text = end != NULL ? end + 1 : NULL;
    end = end != NULL ? end : part + strlen(part);
    while (end > part && strchr(" \t\r\n", end[-1]) != NULL) {
        end--;
    }
    *end = '\0';
    return part + strspn(part, " \t\r\n");
}

/* The next word of *text, ended by blanks or commas; NULL where there is none. */
static inline char *ds_hybrid_word(char **text)
{
    char *word = *text + strspn(*text, " \t\r\n,"), *end = word + strcspn(word, " \t\r\n,");
    *text = *end != '\0' ? end + 1 : end;
    *end = '\0';
    return *word != '\0' ? word : NULL;
}

/* Lists all hook points of a kind, for messages. */
static inline void ds_hybrid_names(uint64_t hooks, const ds_hook *hook, uint32_t kind, char *out, size_t size)
{
    size_t at = 0;
    out[0] = '\0';
    for (uint64_t k = 0; k < hooks; k++) {
        if (hook[k].kind == kind && at < size) {
            at += (size_t)snprintf(out + at, size - at, at > 0 ? ", %s" : "%s", hook[k].name);
            if (hook[k].count > 1 && at < size) {
                at += (size_t)snprintf(out + at, size - at, ".1 .. %s.%u", hook[k].name,
                                       (unsigned)hook[k].count);
            }
        }
    }
}

/* Appends the elements that `word` names to wire[*wires]; returns 0 and the reason on failure. */
static inline int ds_hybrid_connect(const char *word, uint64_t hooks, const ds_hook *hook, uint32_t kind,
                                    uint32_t *wires, uint32_t *wire, char *why)
{
    const size_t length = strcspn(word, ".");
    uint32_t first = 0;
    for (uint64_t k = 0; k < hooks; k++) {
        if (hook[k].kind != kind) {
            continue;
        }
        if (strncmp(hook[k].name, word, length) == 0 && hook[k].name[length] == '\0') {
            char *end = NULL;
            const unsigned long one = word[length] == '.' ? strtoul(word + length + 1, &end, 10) : 0;
            const uint32_t begin = one > 0 ? (uint32_t)one - 1 : 0;
            const uint32_t number = one > 0 ? 1 : (uint32_t)hook[k].count;
            if (word[length] == '.' && (*end != '\0' || one < 1 || one > hook[k].count)) {
                break;
            }
            if (*wires + number > DS_HYBRID_WIRES) {
                snprintf(why, DS_NETWORK_FILE_TEXT, "a network has at most %d inputs and %d outputs",
                         DS_HYBRID_WIRES, DS_HYBRID_WIRES);
                return 0;
            }
            for (uint32_t i = 0; i < number; i++) {
                wire[(*wires)++] = first + begin + i;
            }
            return 1;
        }
        first += (uint32_t)hook[k].count;
    }
    char names[320];
    ds_hybrid_names(hooks, hook, kind, names, sizeof names);
    const char *const noun = kind == DS_HOOK_INPUT ? "input" : "output";
    if (first == 0) { /* no hook of this kind */
        snprintf(why, DS_NETWORK_FILE_TEXT,
                 "there is no %s '%.60s': the environment has no hook points for %ss with these parameters; "
                 "leave residual empty",
                 noun, word, noun);
    } else {
        snprintf(why, DS_NETWORK_FILE_TEXT, "there is no %s '%.60s'; there are: %s", noun, word, names);
    }
    return 0;
}

/* Does this for all words of `text`, at least one. */
static inline int ds_hybrid_connect_all(char *text, uint64_t hooks, const ds_hook *hook, uint32_t kind,
                                        uint32_t *wires, uint32_t *wire, char *why)
{
    for (char *word = ds_hybrid_word(&text); word != NULL; word = ds_hybrid_word(&text)) {
        if (!ds_hybrid_connect(word, hooks, hook, kind, wires, wire, why)) {
            return 0;
        }
    }
    if (*wires == 0) {
        snprintf(why, DS_NETWORK_FILE_TEXT, "a network needs at least one %s",
                 kind == DS_HOOK_INPUT ? "input" : "output");
    }
    return *wires > 0;
}

/* Reads the sizes of the hidden layers; size[0] is set. */
static inline int ds_hybrid_sizes(char *text, uint32_t *layers, uint32_t *size, char *why)
{
    *layers = 1;
    for (char *word = ds_hybrid_word(&text); word != NULL && strcmp(word, "-") != 0;
         word = ds_hybrid_word(&text)) {
        char *end = NULL;
        const unsigned long units = strtoul(word, &end, 10);
        if (*end != '\0' || word[0] == '-' || units < 1 || units > DS_NETWORK_UNITS) {
            snprintf(why, DS_NETWORK_FILE_TEXT, "a hidden layer has 1 to %d units, not '%.60s'",
                     DS_NETWORK_UNITS, word);
            return 0;
        }
        if (*layers == DS_NETWORK_LAYERS) {
            snprintf(why, DS_NETWORK_FILE_TEXT, "a network has at most %d hidden layers",
                     DS_NETWORK_LAYERS - 1);
            return 0;
        }
        size[(*layers)++] = (uint32_t)units;
    }
    return 1;
}

static inline int ds_hybrid_activations(char *text, uint32_t layers, uint32_t *f, char *why)
{
    uint32_t known = 0;
    if (*text == '\0') { /* the default is for hidden layers: outputs alone have none unless it is given */
        f[known++] = layers > 1 ? DS_NETWORK_ELU : DS_NETWORK_IDENTITY;
    }
    for (char *word = ds_hybrid_word(&text); word != NULL; word = ds_hybrid_word(&text)) {
        const uint32_t a = ds_network_activation_named(word);
        if (a == DS_NETWORK_ACTIVATIONS) {
            snprintf(why, DS_NETWORK_FILE_TEXT,
                     "there is no activation '%.60s'; there are identity, tanh, sin, relu, softrelu, elu, "
                     "sigmoid and "
                     "softsign",
                     word);
            return 0;
        }
        if (known == layers) {
            known = layers + 1;
            break;
        }
        f[known++] = a;
    }
    if (known == 1) { /* for all hidden layers */
        for (uint32_t l = 1; l + 1 < layers; l++) {
            f[l] = f[0];
        }
        known = layers > 1 ? layers - 1 : 1;
    }
    if (known + 1 != layers && known != layers) {
        snprintf(
            why, DS_NETWORK_FILE_TEXT,
            "give one activation, or one for each of the %u hidden layers and perhaps one for the outputs",
            (unsigned)layers - 1);
        return 0;
    }
    if (known < layers) {
        f[layers - 1] = DS_NETWORK_IDENTITY;
    }
    return 1;
}

static inline int ds_hybrid_biases(char *text, uint32_t layers, uint32_t *bias, char *why)
{
    for (uint32_t l = 0; l <= layers; l++) {
        bias[l] = 0;
    }
    for (char *word = ds_hybrid_word(&text); word != NULL; word = ds_hybrid_word(&text)) {
        const int all = strcmp(word, "all") == 0, input = strcmp(word, "input") == 0;
        const int hidden = strcmp(word, "hidden") == 0, output = strcmp(word, "output") == 0;
        if (!all && !input && !hidden && !output && strcmp(word, "none") != 0) {
            snprintf(why, DS_NETWORK_FILE_TEXT,
                     "biases are none, all, or some of input, hidden, output, not '%.60s'", word);
            return 0;
        }
        for (uint32_t l = 0; l <= layers; l++) {
            bias[l] |= (uint32_t)(all || (l == 0 ? input : l < layers ? hidden : output));
        }
    }
    return 1;
}

/* Makes one network from its part of the wiring, which it cuts into pieces. */
static inline int ds_hybrid_wire_net(ds_hybrid *h, char *text, uint64_t hooks, const ds_hook *hook, char *why)
{
    static const char *const usual[] = {"5 5", "", "residual", "hidden"};
    char field[4][128];
    uint32_t ins = 0, outs = 0, layers, size[DS_NETWORK_LAYERS + 1], f[DS_NETWORK_LAYERS],
             bias[DS_NETWORK_LAYERS + 1];
    ds_hybrid_net *n = &h->net[h->nets];
    if (strchr(text, '=') == NULL) {
        snprintf(why, DS_NETWORK_FILE_TEXT, "expected 'outputs = inputs | ...', not '%.60s'", text);
        return 0;
    }
    char *outputs = ds_hybrid_part(&text, '='), *inputs = ds_hybrid_part(&text, '|');
    for (int i = 0; i < 4; i++) {
        const char *given = text != NULL ? ds_hybrid_part(&text, '|') : "";
        if (strlen(given) >= sizeof field[i]) {
            snprintf(why, DS_NETWORK_FILE_TEXT, "'%.60s...' is longer than %u bytes", given,
                     (unsigned)sizeof field[i] - 1);
            return 0;
        }
        memcpy(field[i], *given != '\0' ? given : usual[i], strlen(*given != '\0' ? given : usual[i]) + 1);
    }
    if (text != NULL) {
        snprintf(why, DS_NETWORK_FILE_TEXT,
                 "'%.60s': there are at most five fields, outputs = inputs | sizes | "
                 "activations | residual or replace | biases",
                 text);
        return 0;
    }
    n->replace = strcmp(field[2], "replace") == 0;
    if (!n->replace && strcmp(field[2], "residual") != 0) {
        snprintf(why, DS_NETWORK_FILE_TEXT, "expected residual or replace, not '%.60s'", field[2]);
        return 0;
    }
    if (!ds_hybrid_connect_all(outputs, hooks, hook, DS_HOOK_OUTPUT, &outs, n->out, why) ||
        !ds_hybrid_connect_all(inputs, hooks, hook, DS_HOOK_INPUT, &ins, n->in, why) ||
        !ds_hybrid_sizes(field[0], &layers, size, why) || !ds_hybrid_activations(field[1], layers, f, why) ||
        !ds_hybrid_biases(field[3], layers, bias, why)) {
        return 0;
    }
    size[0] = ins;
    size[layers] = outs;
    n->at = h->variables;
    if (!ds_network_make(&n->net, layers, size, f, bias)) {
        snprintf(why, DS_NETWORK_FILE_TEXT, "no such network");
        return 0;
    }
    h->variables += ds_network_count(&n->net);
    h->tape += n->net.tape;
    h->nets++;
    return 1;
}

/* No output belongs to two networks, or twice to one. */
static inline int ds_hybrid_once(const ds_hybrid *h, char *why)
{
    unsigned char taken[DS_MAX_HOOKS * DS_MAX_HOOK_ELEMENTS] = {0};
    for (uint32_t k = 0; k < h->nets; k++) {
        for (uint32_t i = 0; i < h->net[k].net.size[h->net[k].net.layers]; i++) {
            if (taken[h->net[k].out[i]]++) {
                snprintf(why, DS_NETWORK_FILE_TEXT, "network %u has an output that is taken already",
                         (unsigned)k + 1);
                return 0;
            }
        }
    }
    return 1;
}

static inline int ds_hybrid_wire(ds_hybrid *h, const char *wiring, uint64_t hooks, const ds_hook *hook,
                                 char *why)
{
    char text[DS_HYBRID_TEXT];
    memset(h, 0, sizeof *h);
    why[0] = '\0';
    if (strlen(wiring) >= sizeof text) {
        snprintf(why, DS_NETWORK_FILE_TEXT, "a wiring has at most %d bytes", DS_HYBRID_TEXT - 1);
    } else if (wiring[strspn(wiring, " \t\r\n")] != '\0') {
        memcpy(text, wiring, strlen(wiring) + 1);
        char *rest = text;
        while (rest != NULL && why[0] == '\0') {
            if (h->nets == DS_HYBRID_NETS) {
                snprintf(why, DS_NETWORK_FILE_TEXT, "there are at most %d networks", DS_HYBRID_NETS);
            } else {
                ds_hybrid_wire_net(h, ds_hybrid_part(&rest, '&'), hooks, hook, why);
            }
        }
        if (why[0] == '\0') {
            ds_hybrid_once(h, why);
        }
    }
    if (why[0] != '\0') {
        memset(h, 0, sizeof *h);
    }
    return why[0] == '\0';
}

/* ---- an instance ---- */

static inline void ds_hybrid_close(ds_hybrid *h)
{
    free(h->start);
    memset(h, 0, sizeof *h);
}

/* Which variable of a network is a bias? */
static inline double ds_hybrid_limit(const ds_hybrid *h, uint64_t i)
{
    uint32_t k = 0;
    while (k + 1 < h->nets && i >= h->net[k + 1].at) {
        k++;
    }
    return i - h->net[k].at < h->net[k].net.weights ? h->weight_limit : h->bias_limit;
}

/* Reads initial parameters from a file of the same networks. */
static inline ds_status ds_hybrid_load(ds_hybrid *h, const ds_host *host, const char *path)
{
    ds_network net[DS_HYBRID_NETS];
    uint32_t count;
    char why[DS_NETWORK_FILE_TEXT];
    double *w = ds_network_file_read(path, h->nets, net, &count, why);
    if (w == NULL) {
        return ds_host_fail(host, DS_E_PARAM, "parameter residual_weights: %s", why);
    }
    for (uint32_t k = 0; k < h->nets; k++) {
        if (k >= count || memcmp(&net[k], &h->net[k].net, sizeof net[k]) != 0) {
            free(w);
            return ds_host_fail(
                host, DS_E_PARAM,
                "parameter residual_weights: %s: %s %u is not that of parameter residual (sizes, "
                "activations and biases must be the same)",
                path, k >= count ? "there is no network, and" : "network", (unsigned)k + 1);
        }
    }
    for (uint64_t i = 0; i < h->variables; i++) {
        if (fabs(w[i]) > ds_hybrid_limit(h, i)) {
            const double value = w[i];
            free(w);
            return ds_host_fail(host, DS_E_PARAM,
                                "parameter residual_weights: %s: %g is beyond %g: raise residual_limit or "
                                "residual_bias_limit",
                                path, value, ds_hybrid_limit(h, i));
        }
    }
    free(h->start);
    h->start = w;
    return DS_OK;
}

/* Draws them: how = 0 Xavier, 1 as in TDS, 2 zeros. */
static inline void ds_hybrid_draw(ds_hybrid *h, int64_t how, uint64_t seed)
{
    for (uint32_t k = 0; how < 2 && k < h->nets; k++) {
        ds_random r = ds_random_open(seed, "residual", k);
        ds_network_init(&h->net[k].net, h->start + h->net[k].at,
                        how == 1 ? DS_NETWORK_TDS : DS_NETWORK_XAVIER, &r);
    }
    for (uint64_t i = 0; i < h->variables; i++) {
        const double limit = ds_hybrid_limit(h, i);
        h->start[i] = fmax(-limit, fmin(limit, h->start[i]));
    }
}

static inline ds_status ds_hybrid_open(ds_hybrid *h, const ds_host *host, uint64_t hooks, const ds_hook *hook)
{
    ds_param_reader in = {host, DS_OK};
    char why[DS_NETWORK_FILE_TEXT];
    const char *wiring = ds_param_text(&in, "residual"), *path = ds_param_text(&in, "residual_weights");
    const int64_t how = ds_param_int(&in, "residual_start"), seed = ds_param_int(&in, "residual_seed");
    const double weight = ds_param_real(&in, "residual_limit"),
                 bias = ds_param_real(&in, "residual_bias_limit");
    const double l1 = ds_param_real(&in, "residual_l1"), l2 = ds_param_real(&in, "residual_l2");
    memset(h, 0, sizeof *h);
    if (in.status == DS_OK && !ds_hybrid_wire(h, wiring, hooks, hook, why)) {
        in.status = ds_host_fail(host, DS_E_PARAM, "parameter residual: %s", why);
    }
    if (in.status == DS_OK && h->nets == 0 && path[0] != '\0') {
        in.status =
            ds_host_fail(host, DS_E_PARAM, "parameter residual_weights: there is no network: set residual");
    }
    if (in.status != DS_OK || h->nets == 0) {
        return in.status;
    }
    h->weight_limit = weight;
    h->bias_limit = bias;
    h->l1 = l1;
    h->l2 = l2;
    h->start = (double *)calloc((size_t)h->variables, sizeof *h->start);
    if (h->start == NULL) {
        in.status =
            ds_host_fail(host, DS_E_NOMEM, "no memory for %llu weights", (unsigned long long)h->variables);
    } else if (path[0] != '\0') {
        in.status = ds_hybrid_load(h, host, path);
    } else {
        ds_hybrid_draw(h, how, (uint64_t)seed);
    }
    if (in.status != DS_OK) {
        ds_hybrid_close(h);
    }
    return in.status;
}

static inline void ds_hybrid_range(const ds_hybrid *h, uint64_t i, double *lower, double *upper,
                                   double *start)
{
    *upper = ds_hybrid_limit(h, i);
    *lower = -*upper;
    if (start != NULL) {
        *start = h->start[i];
    }
}

static inline void ds_hybrid_name(const ds_hybrid *h, uint64_t i, char *name, char *group, size_t size)
{
    char part[48];
    uint32_t k = 0;
    while (k + 1 < h->nets && i >= h->net[k + 1].at) {
        k++;
    }
    ds_network_name(&h->net[k].net, i - h->net[k].at, part, sizeof part);
    snprintf(group, size, "net%u", (unsigned)k + 1);
    snprintf(name, size, "net%u.%.32s", (unsigned)k + 1, part);
}

/* ---- values and derivatives ---- */

static inline void ds_hybrid_forward(const ds_hybrid *h, const double *w, const double *inputs,
                                     double *outputs, double *tape)
{
    double x[DS_HYBRID_WIRES];
    for (uint32_t k = 0; k < h->nets; k++) {
        const ds_hybrid_net *n = &h->net[k];
        for (uint32_t i = 0; i < n->net.size[0]; i++) {
            x[i] = inputs[n->in[i]];
        }
        const double *y = ds_network_forward(&n->net, w + n->at, x, tape);
        for (uint32_t i = 0; i < n->net.size[n->net.layers]; i++) {
            outputs[n->out[i]] = n->replace ? y[i] : outputs[n->out[i]] + y[i];
        }
        tape += n->net.tape;
    }
}

static inline void ds_hybrid_reverse(const ds_hybrid *h, const double *w, const double *tape,
                                     double *outputs_bar, double *w_bar, double *inputs_bar)
{
    double y_bar[DS_HYBRID_WIRES], x_bar[DS_HYBRID_WIRES];
    for (uint32_t k = 0; k < h->nets; k++) {
        const ds_hybrid_net *n = &h->net[k];
        for (uint32_t i = 0; i < n->net.size[n->net.layers]; i++) {
            y_bar[i] = outputs_bar[n->out[i]];
            outputs_bar[n->out[i]] = n->replace ? 0 : y_bar[i];
        }
        for (uint32_t i = 0; i < n->net.size[0]; i++) {
            x_bar[i] = 0;
        }
        ds_network_reverse(&n->net, w + n->at, tape, y_bar, w_bar != NULL ? w_bar + n->at : NULL, x_bar);
        for (uint32_t i = 0; inputs_bar != NULL && i < n->net.size[0]; i++) {
            inputs_bar[n->in[i]] += x_bar[i];
        }
        tape += n->net.tape;
    }
}

static inline void ds_hybrid_tangent(const ds_hybrid *h, const double *w, const double *tape,
                                     const double *w_dot, const double *inputs_dot, double *outputs_dot)
{
    double y_dot[DS_HYBRID_WIRES], x_dot[DS_HYBRID_WIRES];
    for (uint32_t k = 0; k < h->nets; k++) {
        const ds_hybrid_net *n = &h->net[k];
        for (uint32_t i = 0; i < n->net.size[0]; i++) {
            x_dot[i] = inputs_dot != NULL ? inputs_dot[n->in[i]] : 0;
        }
        ds_network_tangent(&n->net, w + n->at, tape, w_dot != NULL ? w_dot + n->at : NULL, x_dot, y_dot);
        for (uint32_t i = 0; i < n->net.size[n->net.layers]; i++) {
            outputs_dot[n->out[i]] = y_dot[i] + (n->replace ? 0 : outputs_dot[n->out[i]]);
        }
        tape += n->net.tape;
    }
}

static inline double ds_hybrid_penalty(const ds_hybrid *h, const double *w, double *w_bar)
{
    double sum = 0;
    for (uint32_t k = 0; k < h->nets; k++) {
        const ds_hybrid_net *n = &h->net[k];
        sum += ds_network_penalty(&n->net, w + n->at, h->l1, h->l2, w_bar != NULL ? w_bar + n->at : NULL);
    }
    return sum;
}
