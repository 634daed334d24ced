/* SPDX-License-Identifier: Apache-2.0 */
/* services.c - what a plugin instance may request from its host: log, errors, parameters, files next to the
 * plugin. */
#include "config.h"

#include "plugin/services.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

static ds_services *of(const ds_host *host)
{
    return host->ctx;
}

static void service_log(const ds_host *host, uint32_t level, const char *line)
{
    ds_log(level, of(host)->module->id, "%.*s", (int)DS_MAX_LOG, line);
}

static void service_error(const ds_host *host, ds_status status, const char *line)
{
    /* several threads of an instance may fail at once */
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    ds_services *s = of(host);
    pthread_mutex_lock(&lock);
    s->last_status = status;
    snprintf(s->last_error, sizeof s->last_error, "%s", line);
    ds_text_clean(s->last_error);
    pthread_mutex_unlock(&lock);
}

static uint32_t service_stop(const ds_host *host)
{
    const atomic_int *stop = of(host)->stop;
    return stop != NULL && atomic_load_explicit(stop, memory_order_relaxed) != 0;
}

static ds_status undeclared(const ds_host *host, const char *name, ds_status status)
{
    if (status != DS_OK) {
        ds_log(DS_LOG_ERROR, of(host)->module->id,
               "the plugin reads parameter '%.60s', which its schema does not declare with this type", name);
    }
    return status;
}

static ds_status service_int(const ds_host *host, const char *name, int64_t *out)
{
    return undeclared(host, name, ds_params_int(of(host)->params, name, out));
}

static ds_status service_real(const ds_host *host, const char *name, double *out)
{
    return undeclared(host, name, ds_params_real(of(host)->params, name, out));
}

static ds_status service_text(const ds_host *host, const char *name, const char **out)
{
    return undeclared(host, name, ds_params_text(of(host)->params, name, out));
}

static ds_status service_list(const ds_host *host, const char *name, const double **out, uint64_t *count)
{
    return undeclared(host, name, ds_params_list(of(host)->params, name, out, count));
}

static ds_status service_array(const ds_host *host, const char *name, const double **data, uint64_t *ndim,
                               uint64_t shape[8])
{
    return undeclared(host, name, ds_params_array(of(host)->params, name, data, ndim, shape));
}

static ds_status service_resource(const ds_host *host, const char *relative, char *buf, uint64_t cap,
                                  uint64_t *needed)
{
    const char *path = of(host)->module->path;
    const char *slash = strrchr(path, '/');
    char text[PATH_MAX];

    if (relative[0] == '/' || strstr(relative, "..") != NULL) {
        return DS_E_ARG;
    }
    /* Next to the plugin; in the build tree the plugin lies in a folder .libs below its data. */
    for (int up = 0; up < 2; up++) {
        int n =
            snprintf(text, sizeof text, "%.*s%s/%s", (int)(slash - path), path, up ? "/.." : "", relative);
        if (n > 0 && (size_t)n < sizeof text && access(text, R_OK) == 0) {
            uint64_t bytes = (uint64_t)n + 1;
            if (needed != NULL) {
                *needed = bytes;
            }
            if (bytes > cap) {
                return DS_E_ARG;
            }
            memcpy(buf, text, bytes);
            return DS_OK;
        }
    }
    return DS_E_IO;
}

static const void *service_extension(const ds_host *host, const char *id)
{
    (void)host;
    (void)id;
    return NULL;
}

void ds_services_init(ds_services *s, const ds_module *module, ds_params *params, uint64_t seed,
                      uint32_t threads, const atomic_int *stop)
{
    *s = (ds_services){.host = {.struct_size = sizeof s->host,
                                .abi_minor = DS_ABI_MINOR,
                                .ctx = s,
                                .seed = module->plugin->desc->kind == DS_KIND_ENV ? 0 : seed,
                                .threads = threads > 0 ? threads : 1,
                                .workers = 1,
                                .log = service_log,
                                .error = service_error,
                                .should_stop = service_stop,
                                .get_int = service_int,
                                .get_real = service_real,
                                .get_text = service_text,
                                .get_list = service_list,
                                .get_array = service_array,
                                .resource = service_resource,
                                .get_extension = service_extension,
                                .name = PACKAGE_NAME,
                                .version = PACKAGE_VERSION},
                       .module = module,
                       .params = params,
                       .stop = stop};
}

static void drop_log(const ds_host *host, uint32_t level, const char *line)
{
    (void)host;
    (void)level;
    (void)line;
}

void ds_services_quiet(ds_services *s)
{
    s->host.log = drop_log;
}

void ds_services_clear(ds_services *s)
{
    ds_params_free(s->params);
    s->params = NULL;
}

int ds_services_explain(const ds_services *s, int rc, ds_error *e)
{
    if (rc != 0 && s->last_error[0] != '\0') {
        const size_t used = strlen(e->text);
        snprintf(e->text + used, sizeof e->text - used, ": %s", s->last_error);
    }
    return rc;
}

int ds_services_fail(const ds_services *s, ds_error *e, const char *function, ds_status status)
{
    return ds_fail(e, ds_status_exit(status), "%s: %s failed: %s (%s)", s->module->id, function,
                   s->last_error[0] != '\0' ? s->last_error : ds_status_text(status), ds_status_name(status));
}
