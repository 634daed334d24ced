/* SPDX-License-Identifier: Apache-2.0 */
/* fmu.c - the adapter for FILE.fmu (diffsim/adapter.h): a model of FMI 2.0 or 3.0 is an environment. */
#include <diffsim/adapter.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapters/fmi/archive.h"
#include "adapters/fmi/model.h"
#include "adapters/opening.h"

/* create() does not receive the plugin, so each file has its own create(). */
enum { FILES = 16, LISTED = 12 };

typedef struct model {
    char file[4096], id[DS_MAX_NAME + 1], version[64], summary[160], description[4096];
    ds_desc desc;
    ds_env_vtable env;
    ds_plugin plugin;
} model;

static model *file[FILES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of them */

/* ---- the folder of an instance ---- */

typedef struct made_folder {
    int error; /* errno, or 0 */
    char path[sizeof((fmu *)0)->folder];
} made_folder;

/* Makes a folder, tells its path, waits until the process that uses it has closed its end of the socket,
 * which its death does too, and removes the folder. The host may end the group of the worker at any time:
 * leave it first. Between fork() and exec() of a process with threads: hardly more than system calls. */
static void keep_folder(int end, made_folder *f)
{
    setsid();
    for (int s = 1; s < 32; s++) {
        signal(s, SIG_IGN);
    }
    dup2(end, 0);
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, 1);
    dup2(null, 2);
    for (int fd = 3; fd < 4096; fd++) { /* someone may wait for the end of one of them */
        close(fd);
    }
    f->error = mkdtemp(f->path) != NULL ? 0 : errno;
    if (write(0, f, sizeof *f) < 0 && f->error != 0) {
        _exit(1);
    }
    char none;
    while (read(0, &none, 1) < 0 && errno == EINTR) {
    }
    if (f->error == 0) {
        execl("/bin/rm", "rm", "-rf", "--", f->path, (char *)NULL);
    }
    _exit(1);
}

static void remove_folder(fmu *e)
{
    if (e->keeper > 0) {
        close(e->keeper_fd);
        while (waitpid(e->keeper, NULL, 0) < 0 && errno == EINTR) {
        }
        e->keeper = 0;
        e->folder[0] = '\0';
    }
}

/* Makes e->folder, which a process of its own makes and removes, whatever ends this one. */
static int make_folder(fmu *e)
{
    const char *tmp = getenv("TMPDIR");
    made_folder f = {.error = 0};
    int ends[2];
    snprintf(f.path, sizeof f.path, "%.200s/diffsim-fmu-XXXXXX", tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return -1;
    }
    e->keeper = fork();
    if (e->keeper == 0) {
        keep_folder(ends[0], &f);
    }
    const int error = errno;
    close(ends[0]);
    size_t got = 0;
    for (ssize_t n = 1; e->keeper > 0 && got < sizeof f && n > 0;) {
        do {
            n = read(ends[1], (char *)&f + got, sizeof f - got);
        } while (n < 0 && errno == EINTR);
        got += n > 0 ? (size_t)n : 0;
    }
    e->keeper_fd = ends[1];
    if (got == sizeof f && f.error == 0) {
        memcpy(e->folder, f.path, sizeof e->folder);
        return 0;
    }
    if (e->keeper > 0) {
        remove_folder(e);
        errno = got == sizeof f ? f.error : ECHILD;
    } else {
        close(ends[1]);
        e->keeper = 0;
        errno = error;
    }
    return -1;
}

/* Unpacks the FMU into a new folder and loads the library from there. */
static int load_from_folder(fmu *e, const archive *a, const char *name, char *why, size_t room)
{
    char path[sizeof e->folder + 1024];
    if (make_folder(e) != 0) {
        const char *tmp = getenv("TMPDIR");
        snprintf(why, room, "no folder for the FMU in %.200s: %s", tmp != NULL ? tmp : "/tmp",
                 strerror(errno));
        return -1;
    }
    snprintf(path, sizeof path, "%s/%s", e->folder, name);
    return archive_extract(a, "resources/", e->folder, why, room) < 0 ||
                   archive_extract(a, "binaries/", e->folder, why, room) < 0
               ? -1
               : fmi_load(&e->inst, &e->d, e->me, e->folder, path, why, room);
}

/* Loads the library from memory: nothing is left behind, whatever ends the process. */
static int load_from_memory(fmu *e, const archive *a, const char *name, char *why, size_t room)
{
    char path[64];
    size_t size = 0;
    char *data = archive_read(a, name, &size, why, room);
    if (data == NULL) {
        return -1;
    }
    const int fd = memfd_create("fmu", MFD_CLOEXEC);
    size_t done = 0;
    for (ssize_t n = 1; fd >= 0 && done < size && n > 0; done += n > 0 ? (size_t)n : 0) {
        n = write(fd, data + done, size - done);
    }
    free(data);
    e->library_fd =
        fd; /* open as long as the library is loaded: dlopen() takes equal names for one library */
    if (fd < 0 || done < size) {
        snprintf(why, room, "no memory for %.200s: %s", name, strerror(errno));
        return -1;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return fmi_load(&e->inst, &e->d, e->me, "", path, why, room);
}

/* Loads the library. A folder is needed for resources and for libraries that load others. */
static ds_status open_library(fmu *e, const archive *a)
{
    char why[400] = "", folder[64], name[1024];
    fmi_library(&e->d, e->me, folder, name, sizeof name);
    if (archive_count(a, name) == 0) {
        return ds_host_fail(e->kit.host, DS_E_IO, "%.200s is not in it: this FMU was made for other machines",
                            name);
    }
    const int alone = archive_count(a, "resources/") == 0 && archive_count(a, folder) == 1;
    return (alone ? load_from_memory : load_from_folder)(e, a, name, why, sizeof why) == 0
               ? DS_OK
               : ds_host_fail(e->kit.host, DS_E_IO, "%s", why);
}

/* ---- the table of the kit ---- */

static const char *opened; /* the file of the instance that is being made, under the lock */

static void fmu_read(void *self, ds_param_reader *in)
{
    fmu *e = self;
    archive a;
    char why[400];
    size_t size = 0;
    if (archive_open(&a, opened, why, sizeof why) != 0) {
        in->status = ds_host_fail(in->host, DS_E_IO, "%s", why);
    } else {
        char *xml = archive_read(&a, "modelDescription.xml", &size, why, sizeof why);
        if (xml == NULL || fmi_description_read(&e->d, xml, size, why, sizeof why) != 0) {
            in->status = ds_host_fail(in->host, DS_E_DATA, "%s", why);
        } else {
            fmu_task_read(e, in);
            in->status = in->status == DS_OK && !e->kit.memory.failed ? open_library(e, &a) : in->status;
        }
        free(xml);
    }
    archive_close(&a);
}

static ds_status fmu_allocate(void *self)
{
    fmu *e = self;
    ds_memory *m = &e->kit.memory;
    const size_t n = e->kit.n, states = e->d.states, known = states + e->decisions;
    e->y = ds_memory_doubles(m, (e->points + 1) * (e->outputs + 1));
    e->r = ds_memory_doubles(m, e->fits + 1);
    e->sign = ds_memory_doubles(m, 2 * e->d.indicators + 1);
    e->stage = ds_memory_doubles(m, 32 * states + 16 * known + e->fits + 64);
    e->path = ds_memory_doubles(m, e->exact ? (e->points * e->substeps + 1) * states + 1 : 1);
    e->rates = ds_memory_doubles(m, 3 * (states + e->outputs) + 1);
    e->first = ds_memory_doubles(m, states * n + 1);
    e->jacobian = ds_memory_doubles(m, e->fits * n + 1);
    e->at = ds_memory_doubles(m, 2 * n + 2 * e->fits + 1);
    e->slope = ds_memory_doubles(m, 2 * e->fits + 1);
    e->middle = ds_memory_doubles(m, e->fits + 1);
    e->known = ds_memory_take(m, known + 1, sizeof *e->known);
    if (m->failed) {
        return DS_OK;
    }
    e->at[0] = NAN;
    for (size_t i = 0; i < states; i++) {
        e->known[i] = e->d.state[i];
    }
    for (size_t i = 0; i < e->decisions; i++) {
        e->known[states + i] = e->decision[i].v;
    }
    for (size_t i = 0; e->exact && i < e->decisions; i++) {
        for (uint64_t k = 0; k < e->decision[i].pieces; k++) {
            e->at[e->decision[i].first + k] = e->decision[i].start;
        }
    }
    if (e->exact && !fmu_try_derivatives(e, e->at)) {
        char why[sizeof e->inst.last];
        snprintf(why, sizeof why, "%s", e->inst.last);
        e->exact = 0;
        if (fmu_run(e, e->at, 0) == DS_EVAL_OK) { /* else each evaluation reports what fails */
            ds_host_say(e->kit.host, DS_LOG_WARNING,
                        "%.60s: it lacks derivatives for what is varied (%.100s): gradients are differences",
                        e->d.model, why);
        }
    }
    e->at[0] = NAN;
    return DS_OK;
}

static void fmu_release(void *self)
{
    fmu *e = self;
    fmi_unload(&e->inst);
    if (e->library_fd > 0) {
        close(e->library_fd);
    }
    remove_folder(e);
    fmi_description_free(&e->d);
}

static void fmu_range(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    const fmu *e = self;
    size_t d = 0;
    if (e->decisions == 0) { /* nothing can be varied */
        *lower = *start = 0;
        *upper = 1;
        return;
    }
    while (d + 1 < e->decisions && e->decision[d + 1].first <= i) {
        d++;
    }
    *lower = e->decision[d].lower;
    *upper = e->decision[d].upper;
    *start = e->decision[d].start;
}

/* A name of FMI with the characters that names of variables have here. */
static void plain_name(char out[DS_MAX_NAME + 1], const char *name, const char *after)
{
    size_t n = 0;
    const size_t room = DS_MAX_NAME - strlen(after);
    if ((name[0] | 32) < 'a' || (name[0] | 32) > 'z') {
        out[n++] = 'v';
    }
    for (const char *c = name; *c != '\0' && n < room; c++) {
        const int fits = (*c >= '0' && *c <= '9') || ((*c | 32) >= 'a' && (*c | 32) <= 'z') || *c == '.';
        out[n++] = fits ? *c : '_';
    }
    snprintf(out + n, DS_MAX_NAME + 1 - n, "%s", after);
}

static void fmu_variable(const void *self, uint64_t i, ds_env_variable *out)
{
    const fmu *e = self;
    size_t d = 0;
    char piece[32] = "", own[DS_MAX_NAME + 1];
    if (e->decisions == 0) {
        snprintf(out->name, sizeof out->name, "unused");
        return;
    }
    while (d + 1 < e->decisions && e->decision[d + 1].first <= i) {
        d++;
    }
    const fmu_decision *q = &e->decision[d];
    if (q->pieces > 1) {
        snprintf(piece, sizeof piece, ".%llu", (unsigned long long)(i - q->first));
    }
    plain_name(own, q->v->name, "");
    for (size_t k = 0; k < d; k++) { /* two names that differ in other characters only */
        char other[DS_MAX_NAME + 1];
        plain_name(other, e->decision[k].v->name, "");
        if (strcmp(own, other) == 0) {
            snprintf(piece + strlen(piece), sizeof piece - strlen(piece), "_%zu", d);
            break;
        }
    }
    plain_name(out->name, q->v->name, piece);
    ds_env_variable_put(out->unit, "%s", q->v->unit != NULL ? q->v->unit : "");
}

/* ---- channels ---- */

static uint64_t fmu_channels(const void *self)
{
    return ((const fmu *)self)->minimize ? 1 : 2;
}

static void fmu_channel(const void *self, uint64_t i, ds_channel *out)
{
    const fmu *e = self;
    if (i == 0) {
        out->role = DS_CHANNEL_STATE;
        out->name = "outputs";
        out->doc = "The outputs of the FMU at all communication points.";
        out->ops = DS_CAN(DS_QUERY_VALUE);
        out->ndim = 2;
        out->shape[0] = e->points + 1;
        out->shape[1] = e->outputs;
        return;
    }
    out->role = DS_CHANNEL_RESIDUAL;
    out->name = "residuals";
    out->doc = "Weighted differences to the recording or to the targets.";
    out->shape[0] = e->fits;
    out->ops = DS_CAN(DS_QUERY_VALUE) |
               ((e->kit.flags & DS_INFO_NO_GRADIENT) != 0 ? 0 : DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV));
}

/* ---- an evaluation ---- */

static void answer_values(fmu *e, ds_eval *io)
{
    for (uint64_t i = 0; i < io->queries; i++) {
        ds_eval_query *q = io->query[i];
        if (q->op == DS_QUERY_VALUE) {
            memcpy(q->out, q->channel == 0 ? e->y : e->r, q->bytes);
            q->kind = DS_GRAD_NONE;
        }
    }
}

/* Gradient and products; each begins with the episode at x again. */
static void differentiate(fmu *e, ds_eval *io)
{
    const size_t fits = e->fits;
    double *w = e->at + 2 * e->kit.n + fits;
    if ((io->want & DS_WANT_GRAD) != 0) {
        for (size_t j = 0; j < fits; j++) {
            w[j] = e->minimize ? 1 : 2 * e->r[j];
        }
        io->outcome = fmu_transposed(e, io->x, w, io->grad, &io->grad_kind);
    }
    for (uint64_t i = 0; io->outcome == DS_EVAL_OK && i < io->queries; i++) {
        ds_eval_query *q = io->query[i];
        if (q->op == DS_QUERY_JV) {
            io->outcome = fmu_product(e, io->x, q->v, q->out, &q->kind);
        } else if (q->op == DS_QUERY_JTV) {
            io->outcome = fmu_transposed(e, io->x, q->v, q->out, &q->kind);
        }
    }
    for (uint64_t i = 0; io->outcome == DS_EVAL_OK && (io->want & DS_WANT_GRAD) != 0 && i < io->n; i++) {
        io->outcome = isfinite(io->grad[i]) ? DS_EVAL_OK : DS_EVAL_BAD_GRAD;
    }
}

static ds_status fmu_evaluate(void *self, ds_eval *io)
{
    fmu *e = self;
    const uint32_t outcome = fmu_run(e, io->x, 0);
    if (e->kit.host->should_stop(e->kit.host)) {
        return DS_STOPPED;
    }
    io->cost_steps = e->kit.cost;
    if (outcome != DS_EVAL_OK) {
        io->outcome = outcome;
        io->loss = INFINITY;
        io->bad_step = e->bad_step;
        ds_host_fail(e->kit.host, DS_E_NUMERIC, "the FMU: %.180s", e->inst.last);
        return DS_OK;
    }
    io->loss = 0;
    for (size_t j = 0; j < e->fits; j++) {
        io->loss += e->minimize ? e->r[j] : e->r[j] * e->r[j];
    }
    io->outcome = isfinite(io->loss) ? DS_EVAL_OK : DS_EVAL_DIVERGED;
    io->loss = isfinite(io->loss) ? io->loss : (double)INFINITY;
    if (io->outcome == DS_EVAL_OK) {
        answer_values(e, io);
        differentiate(e, io);
    }
    return DS_OK;
}

static ds_status fmu_table(void *self, const ds_rows *rows, const ds_results *results)
{
    return ds_eval_each(self, rows, results, fmu_evaluate);
}

static ds_status no_kit(void *self, ds_eval *io)
{
    return fmu_evaluate(self, io);
}

static const ds_env_table table = {.size = sizeof(fmu),
                                   .advice = "take fewer points",
                                   .read = fmu_read,
                                   .allocate = fmu_allocate,
                                   .release = fmu_release,
                                   .range = fmu_range,
                                   .variable = fmu_variable,
                                   .simulate = no_kit,
                                   .channels = fmu_channels,
                                   .channel = fmu_channel};

static ds_status create_one(size_t k, const ds_host *host, void **out)
{
    pthread_mutex_lock(&lock);
    opened = file[k]->file;
    const ds_status status = ds_env_kit_create(&table, host, out);
    pthread_mutex_unlock(&lock);
    return status;
}

#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define CREATE(k)                                                                                            \
    static ds_status create_##k(const ds_host *host, void **out)                                             \
    {                                                                                                        \
        return create_one(k, host, out);                                                                     \
    }
EACH(CREATE)
#define NAME(k) create_##k,
static ds_status (*const create[FILES])(const ds_host *host, void **out) = {EACH(NAME)};

/* ---- the adapter ---- */

static void append(char *out, size_t room, const char *format, ...)
{
    const size_t n = strlen(out);
    va_list more;
    va_start(more, format);
    vsnprintf(out + n, room - n, format, more);
    va_end(more);
}

/* "m [kg] 1, k [N/m] 10": the first variables of a causality. */
static void list(const fmi_description *d, int which, const char *title, char *out, size_t room)
{
    int count = 0;
    for (size_t i = 0; i < d->count; i++) {
        const fmi_variable *v = &d->variable[i];
        const int is =
            which == FMI_LOCAL ? v->exact && v->causality != FMI_PARAMETER : (int)v->causality == which;
        if (!is || v->type == FMI_OTHER || v->constant) {
            continue;
        }
        append(out, room, "%s%s",
               count == 0       ? title
               : count < LISTED ? ", "
                                : "",
               count < LISTED ? v->name : "");
        if (count < LISTED && v->unit != NULL) {
            append(out, room, " [%s]", v->unit);
        }
        if (count < LISTED && isfinite(v->min) && isfinite(v->max)) {
            append(out, room, " %g..%g", v->min, v->max);
        }
        count++;
    }
    if (count > LISTED) {
        append(out, room, ", and %d more", count - LISTED);
    }
    append(out, room, "%s", count > 0 ? ".\n" : "");
}

static void describe(model *m, const fmi_description *d, const archive *a)
{
    static const char *const extensions[] = {DS_EXT_VARIABLES, DS_EXT_CHANNELS, NULL};
    char name[DS_MAX_NAME + 1];
    uint32_t sum = 2166136261u; /* FNV-1a: a changed file is another version */
    for (size_t i = 0; i < a->zip.bytes; i++) {
        sum = (sum ^ a->data[i]) * 16777619u;
    }
    plain_name(name, d->model, "");
    for (size_t i = 0; i <= strlen(name); i++) {
        const char c = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
        m->id[i] = c == '.' ? '_' : c;
    }
    snprintf(m->version, sizeof m->version, "FMI %d (%08x)", d->version, sum);
    snprintf(m->summary, sizeof m->summary, "%.100s", d->text[0] != '\0' ? d->text : d->model);
    snprintf(m->description, sizeof m->description, "Interfaces: %s%s%s. Derivatives: %s.\n",
             d->me.id[0] != '\0' ? "model exchange" : "",
             d->me.id[0] != '\0' && d->cs.id[0] != '\0' ? ", " : "",
             d->cs.id[0] != '\0' ? "co-simulation" : "",
             d->me.adjoint       ? "adjoint"
             : d->me.directional ? "directional"
                                 : "by differences");
    list(d, FMI_PARAMETER, "Parameters: ", m->description, sizeof m->description);
    list(d, FMI_LOCAL, "Start values: ", m->description, sizeof m->description);
    list(d, FMI_INPUT, "Inputs: ", m->description, sizeof m->description);
    list(d, FMI_OUTPUT, "Outputs: ", m->description, sizeof m->description);
    m->desc = (ds_desc){.struct_size = sizeof m->desc,
                        .kind = DS_KIND_ENV,
                        .flags = DS_ENV_GRADIENT | DS_ENV_OWN_PROCESS | DS_ENV_GRADIENT_HOLES,
                        .id = m->id,
                        .version = m->version,
                        .license = "unstated",
                        .summary = m->summary,
                        .description = m->description,
                        .citation = "",
                        .params = fmu_params,
                        .extensions = extensions};
}

static model *make(const ds_adapter_request *q, size_t k, char *why, size_t room)
{
    archive a;
    fmi_description d = {.version = 0};
    char *xml = NULL, line[400];
    size_t size = 0;
    model *m = calloc(1, sizeof *m);
    int rc = m == NULL || archive_open(&a, q->file, why, room) != 0;
    if (rc == 0) {
        xml = archive_read(&a, "modelDescription.xml", &size, line, sizeof line);
        rc = xml == NULL || fmi_description_read(&d, xml, size, line, sizeof line) != 0;
        if (rc != 0) {
            snprintf(why, room, "%.200s: %s", q->file, line);
        } else if (q->object[0] != '\0') {
            rc = 1;
            snprintf(why, room, "%.200s: an FMU has one model: leave out ':%.40s'", q->file, q->object);
        }
    }
    if (rc == 0) {
        snprintf(m->file, sizeof m->file, "%s", q->file);
        describe(m, &d, &a);
        m->env = (ds_env_vtable){.struct_size = sizeof m->env,
                                 .create = create[k],
                                 .destroy = ds_env_kit_destroy,
                                 .info = ds_env_kit_info,
                                 .bounds = ds_env_kit_bounds,
                                 .evaluate = fmu_table,
                                 .get_extension = ds_env_kit_extension};
        m->plugin = (ds_plugin){.magic = DS_MAGIC,
                                .struct_size = sizeof m->plugin,
                                .abi_major = DS_ABI_MAJOR,
                                .abi_minor = DS_ABI_MINOR,
                                .layout = DS_LAYOUT,
                                .build = __VERSION__,
                                .desc = &m->desc,
                                .env = &m->env};
    }
    free(xml);
    fmi_description_free(&d);
    if (m != NULL) {
        archive_close(&a);
    }
    if (rc != 0) {
        free(m);
        m = NULL;
    }
    return m;
}

const ds_plugin *ds_adapter_query(uint32_t host_major, uint32_t host_minor, ds_adapter_request *request)
{
    char none[8], *why;
    size_t room;
    (void)host_major; /* the host compares the versions */
    (void)host_minor;
    if (!adapter_opens(request, none, &why, &room)) {
        return NULL;
    }
    size_t k = 0;
    pthread_mutex_lock(&lock);
    while (k < FILES && file[k] != NULL && strcmp(file[k]->file, request->file) != 0) {
        k++;
    }
    if (k == FILES) {
        snprintf(why, room, "%s: a process can have at most %d FMUs", request->file, FILES);
    } else if (file[k] == NULL) {
        file[k] = make(request, k, why, room);
    }
    const ds_plugin *p = k < FILES && file[k] != NULL ? &file[k]->plugin : NULL;
    pthread_mutex_unlock(&lock);
    return p;
}
