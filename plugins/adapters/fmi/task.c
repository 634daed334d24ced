/* SPDX-License-Identifier: Apache-2.0 */
/* task.c - the parameters of an FMU environment: see model.h. Lists are words divided by blanks, NAME=...,
 * because names of FMUs may contain commas; a name with blanks stands in double quotes. */
#include "adapters/fmi/model.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const INTERFACES[] = {"auto", "exchange", "cosimulation", NULL};
static const char *const GRADIENTS[] = {"auto", "differences", "none", NULL};

const ds_param *const fmu_params[] = {
    DS_TEXT("vary", "",
            "What is searched: NAME, NAME=LOW:HIGH, for an input also NAME=LOW:HIGH/PIECES, divided by "
            "blanks. Empty = "
            "all parameters with min and max."),
    DS_TEXT("set", "", "Values of other parameters and start values, NAME=VALUE, divided by blanks."),
    DS_PATH(
        "recording", "",
        "CSV file with a header: time, then names of outputs. The loss is the sum of squared differences."),
    DS_TEXT("target", "",
            "Values that outputs shall have at the end, NAME=VALUE, divided by blanks. Without a recording "
            "and minimize: 0 for all."),
    DS_TEXT("minimize", "", "The output whose final value is the loss."),
    DS_TEXT("weights", "", "Factors of the differences, NAME=FACTOR, divided by blanks; 1 where not named."),
    DS_REAL("stop", "0", 0, 1e12, "s",
            "Length of an episode; 0 = as the FMU says, else 1. A recording says it itself."),
    DS_INT("points", "100", 1, 100000, "", "Communication points of an episode without a recording."),
    DS_INT("substeps", "0", 0, 1000, "",
           "Steps between two points; 0 = 10 for model exchange, 1 for co-simulation."),
    DS_ENUM("interface", "auto", INTERFACES,
            "auto = model exchange where it has derivatives, else co-simulation."),
    DS_ENUM("gradient", "auto", GRADIENTS,
            "auto = by the FMU's derivatives where it offers them, else by differences."),
    NULL};

/* ---- words ---- */

/* The next word NAME or NAME=VALUE at *at; 0 at the end. *value is NULL without '='. */
static int next_word(const char **at, const char **name, size_t *length, const char **value)
{
    const char *p = *at + strspn(*at, " \t\n");
    const int quoted = *p == '"';
    const size_t first = quoted ? 1 + strcspn(p + 1, "\"") : 0, all = first + strcspn(p + first, " \t\n");
    if (all == 0) {
        return 0;
    }
    const char *equal = p + all;
    while (equal > p + first && *equal != '=') {
        equal--;
    }
    const int has_value = *equal == '=' && equal > p;
    *name = p + quoted;
    *length = quoted ? first - 1 : has_value ? (size_t)(equal - p) : all;
    *value = has_value ? equal + 1 : NULL;
    *at = p + all;
    return 1;
}

static ds_status refuse(ds_param_reader *in, const char *parameter, const char *name, size_t length,
                        const char *why)
{
    in->status = ds_host_fail(in->host, DS_E_PARAM, "%s: '%.*s' %s", parameter,
                              (int)(length < 80 ? length : 80), name, why);
    return in->status;
}

/* An array of this name; NULL where there is none. */
static const fmi_variable *array_of(const fmi_description *d, const char *name, size_t length)
{
    for (size_t i = 0; i < d->count; i++) {
        const fmi_variable *v = &d->variable[i];
        if (v->dimensions > 0 && strncmp(v->name, name, length) == 0 && v->name[length] == '[') {
            return v;
        }
    }
    return NULL;
}

static const fmi_variable *variable_of(fmu *e, ds_param_reader *in, const char *parameter, const char *name,
                                       size_t length)
{
    const fmi_variable *v = fmi_description_find(&e->d, name, length);
    const fmi_variable *array = v == NULL ? array_of(&e->d, name, length) : NULL;
    char why[200];
    if (array != NULL) {
        snprintf(why, sizeof why, "is an array: name its elements, from %.100s", array->name);
        refuse(in, parameter, name, length, why);
    } else if (v == NULL) {
        refuse(in, parameter, name, length,
               "is not a variable of this FMU: `dshost help FILE.fmu` lists some");
    } else if (v->type == FMI_OTHER) {
        refuse(in, parameter, name, length, "is not a number: only those can be used");
        v = NULL;
    }
    return v;
}

/* Can it be varied? Why not, else NULL. */
static const char *not_varied(const fmi_variable *v)
{
    return v->type != FMI_REAL ? "is not real (Float64): only those can be varied"
           : v->constant || v->causality == FMI_CALCULATED || v->causality == FMI_INDEPENDENT ||
                   (v->causality != FMI_PARAMETER && v->causality != FMI_INPUT && !v->exact)
               ? "can be neither set nor started: it is calculated"
               : NULL;
}

/* A number and what follows it. */
static int number(const char **at, double *out)
{
    char *end;
    *out = strtod(*at, &end);
    const int is_number = end != *at && isfinite(*out);
    *at = end;
    return is_number;
}

/* NAME=NUMBER */
static int value_of(ds_param_reader *in, const char *parameter, const char *name, size_t length,
                    const char *value, double *out)
{
    const char *end = value;
    if (value == NULL || !number(&end, out) || (*end != '\0' && strchr(" \t\n", *end) == NULL)) {
        refuse(in, parameter, name, length, "needs a number: NAME=VALUE");
        return 0;
    }
    return 1;
}

/* ---- what is varied ---- */

static void add_decision(fmu *e, ds_param_reader *in, const fmi_variable *v, const char *range)
{
    fmu_decision q = {.v = v,
                      .lower = v->min,
                      .upper = v->max,
                      .pieces = 1,
                      .first = e->kit.n,
                      .is_input = v->causality == FMI_INPUT};
    const size_t length = strlen(v->name);
    if (not_varied(v) != NULL) {
        refuse(in, "vary", v->name, length, not_varied(v));
        return;
    }
    if (range != NULL) {
        double pieces = 1;
        int good = number(&range, &q.lower) && *range == ':';
        range += good;
        good = good && number(&range, &q.upper);
        if (good && *range == '/') {
            range++;
            good = number(&range, &pieces) && pieces >= 1 && pieces <= 1e6 && pieces == floor(pieces) &&
                   q.is_input;
        }
        if (!good || (*range != '\0' && strchr(" \t\n", *range) == NULL)) {
            refuse(in, "vary", v->name, length,
                   "has a bad range: NAME=LOW:HIGH, for an input also NAME=LOW:HIGH/PIECES");
            return;
        }
        q.pieces = (uint64_t)pieces;
    }
    if (!isfinite(q.lower) || !isfinite(q.upper)) {
        refuse(in, "vary", v->name, length, "has no min and max in this FMU: give a range, NAME=LOW:HIGH");
    } else if (q.lower >= q.upper) {
        refuse(in, "vary", v->name, length, "has a range whose end is not above its begin");
    } else if (e->decisions == FMU_DECISIONS) {
        refuse(in, "vary", v->name, length, "is one too many: 256 variables of an FMU can be varied");
    } else {
        q.start = isfinite(v->start) && v->start >= q.lower && v->start <= q.upper
                      ? v->start
                      : 0.5 * (q.lower + q.upper);
        e->decision[e->decisions++] = q;
        e->kit.n += q.pieces;
    }
}

static void read_vary(fmu *e, ds_param_reader *in)
{
    const char *at = ds_param_text(in, "vary"), *name, *range;
    size_t length;
    while (in->status == DS_OK && next_word(&at, &name, &length, &range)) {
        const fmi_variable *v = variable_of(e, in, "vary", name, length);
        for (size_t i = 0; v != NULL && i < e->decisions; i++) {
            if (e->decision[i].v == v) {
                refuse(in, "vary", name, length, "is there twice");
            }
        }
        if (in->status == DS_OK) {
            add_decision(e, in, v, range);
        }
    }
    const int all = in->status == DS_OK && e->kit.n == 0;
    const fmi_variable *candidate = NULL;
    for (size_t i = 0; all && in->status == DS_OK && i < e->d.count; i++) {
        const fmi_variable *v = &e->d.variable[i];
        const int better =
            candidate == NULL || (v->causality == FMI_PARAMETER && candidate->causality != FMI_PARAMETER);
        candidate = better && not_varied(v) == NULL ? v : candidate;
        if (v->causality == FMI_PARAMETER && not_varied(v) == NULL && v->min < v->max) {
            add_decision(e, in, v, NULL);
        }
    }
    if (in->status == DS_OK && e->kit.n == 0 && candidate == NULL) {
        e->kit.n = 1; /* nothing depends on it: the outputs can be looked at */
    } else if (in->status == DS_OK && e->kit.n == 0) {
        const double start = isfinite(candidate->start) ? candidate->start : 0;
        const double reach = start != 0 ? fabs(start) : 1;
        in->status =
            ds_host_fail(in->host, DS_E_PARAM,
                         "no parameter of %.60s has min and max: name what is searched and its range, "
                         "as in vary = %s%.60s%s=%g:%g",
                         e->d.model, strchr(candidate->name, ' ') != NULL ? "\"" : "", candidate->name,
                         strchr(candidate->name, ' ') != NULL ? "\"" : "", start - reach, start + reach);
    }
}

/* Is a value one of a whole type? */
static int holds(enum fmi_type type, double value)
{
    static const double low[] = {[FMI_INT8] = -128,
                                 [FMI_INT16] = -32768,
                                 [FMI_INT32] = -2147483648.0,
                                 [FMI_INT64] = -0x1p53,
                                 [FMI_BOOLEAN] = 0};
    static const double high[] = {
        [FMI_INT8] = 127,     [FMI_UINT8] = 255,          [FMI_INT16] = 32767,
        [FMI_UINT16] = 65535, [FMI_INT32] = 2147483647.0, [FMI_UINT32] = 4294967295.0,
        [FMI_INT64] = 0x1p53, [FMI_UINT64] = 0x1p53,      [FMI_BOOLEAN] = 1};
    return value == floor(value) && value >= low[type] && value <= high[type];
}

static void read_set(fmu *e, ds_param_reader *in)
{
    const char *at = ds_param_text(in, "set"), *name, *value;
    size_t length;
    e->given = ds_memory_take(&e->kit.memory, FMU_FIXED + FMU_DECISIONS, sizeof *e->given);
    e->value = ds_memory_doubles(&e->kit.memory, FMU_FIXED + FMU_DECISIONS);
    while (in->status == DS_OK && e->given != NULL && e->value != NULL &&
           next_word(&at, &name, &length, &value)) {
        const fmi_variable *v = variable_of(e, in, "set", name, length);
        double given;
        if (v == NULL || !value_of(in, "set", name, length, value, &given)) {
            return;
        }
        if (v->causality == FMI_STRUCTURAL) {
            refuse(in, "set", name, length, "is a structural parameter: it has the value of the FMU");
        } else if (v->type > FMI_FLOAT32 && !holds(v->type, given)) {
            refuse(in, "set", name, length,
                   v->type == FMI_BOOLEAN ? "is Boolean: 0 or 1" : "is a whole number of its type");
        } else if (e->fixed == FMU_FIXED) {
            refuse(in, "set", name, length, "is one too many: 256 are possible");
        } else {
            e->given[e->fixed] = v;
            e->value[e->fixed++] = given;
        }
    }
}

/* ---- outputs ---- */

/* The number of an output, which becomes one where it is not. */
static size_t output_of(fmu *e, const fmi_variable *v)
{
    size_t j = 0;
    while (j < e->outputs && e->output[j] != v) {
        j++;
    }
    if (j == e->outputs) {
        e->output[e->outputs++] = v;
    }
    return j;
}

/* All real ones; where there is none, whole numbers and truths. */
static void list_outputs(fmu *e)
{
    e->output = ds_memory_take(&e->kit.memory, e->d.count + 1, sizeof *e->output);
    for (int round = 0; e->output != NULL && round < 2 && e->outputs == 0; round++) {
        for (size_t i = 0; i < e->d.count; i++) {
            const fmi_variable *v = &e->d.variable[i];
            if (v->causality == FMI_OUTPUT && (round == 0 ? v->type == FMI_REAL : v->type != FMI_OTHER)) {
                output_of(e, v);
            }
        }
    }
}

static double weight_of(fmu *e, ds_param_reader *in, const fmi_variable *v)
{
    const char *at = ds_param_text(in, "weights"), *name, *value;
    size_t length;
    double weight = 1;
    while (in->status == DS_OK && next_word(&at, &name, &length, &value)) {
        const fmi_variable *of = variable_of(e, in, "weights", name, length);
        double given;
        if (of != NULL && value_of(in, "weights", name, length, value, &given)) {
            weight = of == v ? given : weight;
        }
    }
    return weight;
}

/* ---- a recording ---- */

/* A whole file as text. */
static char *text_of(fmu *e, ds_param_reader *in, const char *path)
{
    FILE *f = fopen(path, "rb");
    const int ok = f != NULL && fseek(f, 0, SEEK_END) == 0;
    const long size = ok ? ftell(f) : -1;
    char *text = size >= 0 && size < 1 << 30 ? ds_memory_take(&e->kit.memory, (size_t)size + 1, 1) : NULL;
    if (text == NULL || fseek(f, 0, SEEK_SET) != 0 || fread(text, 1, (size_t)size, f) != (size_t)size) {
        in->status = ds_host_fail(in->host, DS_E_IO, "recording %.200s: %s", path,
                                  f == NULL ? strerror(errno) : "it cannot be read");
        text = NULL;
    } else {
        text[size] = '\0';
    }
    if (f != NULL) {
        fclose(f);
    }
    return text;
}

/* Where the next cell of a line ends; *begin .. *end without quotes and blanks. Returns what follows the
 * comma, NULL after the last cell. */
static char *cell(char *line, char **begin, char **end)
{
    const int quoted = line[strspn(line, " \t")] == '"';
    char *from = line + strspn(line, " \t") + quoted;
    char *to = from + strcspn(from, quoted ? "\"" : ",");
    char *comma = to + strcspn(to, ",");
    while (!quoted && to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r')) {
        to--;
    }
    *begin = from;
    *end = to;
    return *comma == ',' ? comma + 1 : NULL;
}

enum { COLUMNS = 256 };

/* The outputs of the columns after the first one; their number. */
static size_t read_header(fmu *e, ds_param_reader *in, char *line, size_t column[COLUMNS])
{
    char *begin, *end, *rest = cell(line, &begin, &end);
    size_t count = 0;
    if (end - begin != 4 || strncmp(begin, "time", 4) != 0) {
        in->status =
            ds_host_fail(in->host, DS_E_PARAM, "recording:1: the first column is '%.*s': expected time",
                         (int)(end - begin), begin);
    }
    while (in->status == DS_OK && rest != NULL) {
        rest = cell(rest, &begin, &end);
        const fmi_variable *v = variable_of(e, in, "recording:1", begin, (size_t)(end - begin));
        if (v != NULL && count == COLUMNS) {
            refuse(in, "recording:1", begin, (size_t)(end - begin),
                   "is one column too many: 256 are possible");
        } else if (v != NULL) {
            column[count++] = output_of(e, v);
        }
    }
    if (in->status == DS_OK && count == 0) {
        in->status = ds_host_fail(in->host, DS_E_PARAM, "recording:1: no output is named after time");
    }
    return count;
}

/* One row: its time becomes a point, its values fits. */
static void read_row(fmu *e, ds_param_reader *in, char *line, size_t number_of_line, size_t columns,
                     const size_t *column, const double *weight)
{
    const unsigned long at = (unsigned long)number_of_line;
    char *rest = line, *begin, *end;
    for (size_t i = 0; i <= columns && in->status == DS_OK; i++) {
        const char *value;
        double v = NAN;
        if (rest == NULL) {
            in->status =
                ds_host_fail(in->host, DS_E_PARAM, "recording:%lu: it has fewer values than the header", at);
            return;
        }
        rest = cell(rest, &begin, &end);
        value = begin;
        const int empty = begin == end;
        if (!empty && (!number(&value, &v) || value != end)) {
            in->status = ds_host_fail(in->host, DS_E_PARAM, "recording:%lu: '%.*s' is not a number", at,
                                      (int)(end - begin), begin);
        } else if (i == 0) {
            const double before = e->time[e->points];
            if (empty || v < before || (v == before && (e->points > 0 || e->fits > 0))) {
                in->status =
                    ds_host_fail(in->host, DS_E_PARAM,
                                 "recording:%lu: time %g: expected above %g, in rising order", at, v, before);
            } else if (v > before) {
                e->time[++e->points] = v;
            }
        } else if (!empty) { /* a sensor may have missed a sample */
            e->fit[e->fits++] = (fmu_fit){e->points, column[i - 1], v, weight[i - 1]};
        }
    }
}

static void read_recording(fmu *e, ds_param_reader *in, const char *path)
{
    char *text = text_of(e, in, path), *line = text;
    size_t column[COLUMNS], columns = 0, lines = 1;
    double weight[COLUMNS];
    for (const char *c = text; c != NULL && *c != '\0'; c++) {
        lines += *c == '\n';
    }
    for (size_t i = 1; line != NULL && in->status == DS_OK; i++) {
        char *next = strchr(line, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        if (i == 1) {
            columns = read_header(e, in, line, column);
            for (size_t k = 0; k < columns; k++) {
                weight[k] = weight_of(e, in, e->output[column[k]]);
            }
            e->time = ds_memory_doubles(&e->kit.memory, lines + 1);
            e->fit = ds_memory_take(&e->kit.memory, lines * columns + 1, sizeof *e->fit);
            if (e->time == NULL || e->fit == NULL) {
                return;
            }
            e->time[0] = isfinite(e->d.start_time) ? e->d.start_time : 0;
        } else if (line[strspn(line, " \t\r")] != '\0') {
            read_row(e, in, line, i, columns, column, weight);
        }
        line = next;
    }
    if (in->status == DS_OK && e->points == 0) {
        in->status = ds_host_fail(in->host, DS_E_PARAM,
                                  "recording %.200s: no row is after the start of the episode", path);
    }
}

/* ---- other losses ---- */

static void make_times(fmu *e, ds_param_reader *in)
{
    const double start = isfinite(e->d.start_time) ? e->d.start_time : 0, given = ds_param_real(in, "stop");
    const double stop = given > 0                                            ? start + given
                        : isfinite(e->d.stop_time) && e->d.stop_time > start ? e->d.stop_time
                                                                             : start + 1;
    e->points = (uint64_t)ds_param_int(in, "points");
    e->time = ds_memory_doubles(&e->kit.memory, e->points + 1);
    for (uint64_t k = 0; e->time != NULL && k <= e->points; k++) {
        e->time[k] = start + (stop - start) * ((double)k / (double)(e->points > 0 ? e->points : 1));
    }
}

static void read_targets(fmu *e, ds_param_reader *in, const char *at)
{
    const char *name, *value;
    size_t length;
    e->fit = ds_memory_take(&e->kit.memory, strlen(at) / 2 + 1, sizeof *e->fit);
    while (in->status == DS_OK && e->fit != NULL && next_word(&at, &name, &length, &value)) {
        const fmi_variable *v = variable_of(e, in, "target", name, length);
        double wanted;
        if (v != NULL && value_of(in, "target", name, length, value, &wanted)) {
            e->fit[e->fits++] = (fmu_fit){e->points, output_of(e, v), wanted, weight_of(e, in, v)};
        }
    }
}

/* Without a task all outputs shall be 0 at the end, so that any FMU can be tried. */
static void target_zero(fmu *e, ds_param_reader *in)
{
    e->fit = ds_memory_take(&e->kit.memory, e->outputs + 1, sizeof *e->fit);
    for (size_t j = 0; e->fit != NULL && j < e->outputs; j++) {
        e->fit[e->fits++] = (fmu_fit){e->points, j, 0, weight_of(e, in, e->output[j])};
    }
    if (e->outputs == 0) {
        in->status = ds_host_fail(
            in->host, DS_E_PARAM,
            "this FMU has no output that is a number: name a variable in target, minimize or a recording");
    }
}

static void read_loss(fmu *e, ds_param_reader *in)
{
    const char *recording = ds_param_text(in, "recording"), *target = ds_param_text(in, "target"),
               *least = ds_param_text(in, "minimize");
    if ((*recording != '\0') + (*target != '\0') + (*least != '\0') > 1) {
        in->status = ds_host_fail(in->host, DS_E_PARAM,
                                  "recording, target and minimize: only one of them can be the loss");
        return;
    }
    if (*recording != '\0') {
        read_recording(e, in, recording);
        return;
    }
    make_times(e, in);
    if (*target == '\0' && *least == '\0') {
        target_zero(e, in);
        return;
    }
    if (*target != '\0') {
        read_targets(e, in, target);
        return;
    }
    const fmi_variable *v = variable_of(e, in, "minimize", least, strlen(least));
    e->fit = ds_memory_take(&e->kit.memory, 1, sizeof *e->fit);
    if (v != NULL && e->fit != NULL) {
        e->fit[e->fits++] = (fmu_fit){e->points, output_of(e, v), 0, 1};
        e->minimize = 1;
    }
}

/* ---- all of it ---- */

static void choose_interface(fmu *e, ds_param_reader *in)
{
    const int64_t wanted = ds_param_int(in, "interface");
    const int derivatives = e->d.me.directional || e->d.me.adjoint;
    const int has_me = e->d.me.id[0] != '\0', has_cs = e->d.cs.id[0] != '\0';
    e->me = wanted == 1 || (wanted == 0 && has_me && (derivatives || !has_cs));
    if (in->status == DS_OK && !(e->me ? has_me : has_cs)) {
        in->status = ds_host_fail(in->host, DS_E_PARAM, "interface = %s: this FMU offers %s alone",
                                  INTERFACES[wanted], has_me ? "model exchange" : "co-simulation");
    } else if (in->status == DS_OK && (e->me ? e->d.me : e->d.cs).needs_tool) {
        in->status = ds_host_fail(in->host, DS_E_UNSUPPORTED,
                                  "this FMU needs the tool that made it (needsExecutionTool)");
    }
}

/* A co-simulation that cannot vary its step needs points at equal distances. */
static void check_steps(fmu *e, ds_param_reader *in)
{
    for (uint64_t k = 1; in->status == DS_OK && !e->me && e->d.cs.fixed_step && k < e->points; k++) {
        const double first = e->time[1] - e->time[0], here = e->time[k + 1] - e->time[k];
        if (fabs(here - first) > 1e-6 * first) {
            in->status = ds_host_fail(in->host, DS_E_PARAM,
                                      "recording: steps of %g s and %g s: this FMU needs equal steps "
                                      "(canHandleVariableCommunicationStepSize)",
                                      first, here);
        }
    }
}

void fmu_task_read(fmu *e, ds_param_reader *in)
{
    choose_interface(e, in);
    list_outputs(e);
    if (in->status == DS_OK && e->output != NULL) {
        read_vary(e, in);
    }
    if (in->status == DS_OK) {
        read_set(e, in);
    }
    if (in->status == DS_OK && e->output != NULL) {
        read_loss(e, in);
    }
    if (in->status == DS_OK && !e->kit.memory.failed) {
        const uint64_t substeps = (uint64_t)ds_param_int(in, "substeps");
        e->substeps = substeps > 0 ? substeps : e->me ? 10 : 1;
        check_steps(e, in);
        e->kit.steps = e->points;
        e->kit.dt = (e->time[e->points] - e->time[0]) / (double)e->points;
        e->kit.cost = e->points * e->substeps;
        e->kit.loss_floor = e->minimize ? -INFINITY : 0;
        e->exact = e->me && (e->d.me.directional || e->d.me.adjoint) && ds_param_int(in, "gradient") == 0;
        e->kit.flags = ds_param_int(in, "gradient") == 2 ? DS_INFO_NO_GRADIENT : 0;
    }
}
