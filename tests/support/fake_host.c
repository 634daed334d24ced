/* SPDX-License-Identifier: Apache-2.0 */
/* A small host for tests of one plugin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_host.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const fake_host *self(const ds_host *host)
{
    return host->ctx;
}

/* Index of a parameter in the schema, or -1. */
static int find(const fake_host *f, const char *name)
{
    for (int i = 0; f->plugin->desc->params[i]; i++) {
        if (strcmp(f->plugin->desc->params[i]->name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static ds_status get_real(const ds_host *host, const char *name, double *out)
{
    int i = find(self(host), name);
    if (i < 0) {
        return DS_E_PARAM;
    }
    *out = strtod(self(host)->text[i], NULL);
    return DS_OK;
}

static ds_status get_int(const ds_host *host, const char *name, int64_t *out)
{
    int i = find(self(host), name);
    if (i < 0) {
        return DS_E_PARAM;
    }
    const ds_param *param = self(host)->plugin->desc->params[i];
    const char *text = self(host)->text[i];
    if (param->type == DS_PARAM_ENUM) {
        for (int c = 0; param->choices[c]; c++) {
            if (strcmp(param->choices[c], text) == 0) {
                *out = c;
                return DS_OK;
            }
        }
        return DS_E_PARAM;
    }
    *out = strcmp(text, "true") == 0 ? 1 : strtoll(text, NULL, 10);
    return DS_OK;
}

static ds_status get_text(const ds_host *host, const char *name, const char **out)
{
    int i = find(self(host), name);
    if (i < 0) {
        return DS_E_PARAM;
    }
    *out = self(host)->text[i];
    return DS_OK;
}

static ds_status get_list(const ds_host *host, const char *name, const double **out, uint64_t *count)
{
    int i = find(self(host), name);
    if (i < 0) {
        return DS_E_PARAM;
    }
    double *list = ((fake_host *)host->ctx)->list[i];
    const char *at = self(host)->text[i];
    *count = 0;
    for (;;) {
        char *end;
        double value = strtod(at, &end);
        if (end == at || *count == FAKE_LIST) {
            break;
        }
        list[(*count)++] = value;
        at = end;
    }
    *out = list;
    return DS_OK;
}

static ds_status get_array(const ds_host *host, const char *name, const double **data, uint64_t *ndim,
                           uint64_t shape[8])
{
    int i = find(self(host), name);
    if (i < 0) {
        return DS_E_PARAM;
    }
    *data = self(host)->array[i];
    *ndim = self(host)->ndim[i];
    memcpy(shape, self(host)->shape[i], sizeof self(host)->shape[i]);
    return DS_OK;
}

static void take_error(const ds_host *host, ds_status status, const char *line)
{
    (void)status;
    snprintf(((fake_host *)host->ctx)->error, sizeof((fake_host *)host->ctx)->error, "%s", line);
}

static void take_log(const ds_host *host, uint32_t level, const char *line)
{
    (void)level;
    snprintf(((fake_host *)host->ctx)->log, sizeof((fake_host *)host->ctx)->log, "%s", line);
}

static uint32_t should_stop(const ds_host *host)
{
    fake_host *f = host->ctx;
    if (f->stop_after > 0) {
        f->stop_after--;
    }
    return f->stop_after == 0;
}

static ds_status resource(const ds_host *host, const char *relative, char *buf, uint64_t cap)
{
    int used = snprintf(buf, cap, "%s/%s", self(host)->folder, relative);
    FILE *file = used > 0 && (uint64_t)used < cap ? fopen(buf, "rb") : NULL;
    if (!file) {
        return DS_E_IO;
    }
    fclose(file);
    return DS_OK;
}

static const void *get_extension(const ds_host *host, const char *id)
{
    (void)host;
    (void)id;
    return NULL;
}

void fake_host_open(fake_host *f, const char *id)
{
    static char folder[4096];
    char path[4200];
    const char *build = getenv("DS_TOP_BUILD"), *source = getenv("DS_TOP_SRC");
    snprintf(folder, sizeof folder, "%s/plugins/envs", source ? source : ".");
    snprintf(path, sizeof path, "%s/plugins/envs/.libs/%s.so", build ? build : ".", id);
    memset(f, 0, sizeof *f);
    f->module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!f->module) {
        print_error("%s\n", dlerror());
        fail();
    }
    const ds_plugin *(*query)(void);
    void *symbol = dlsym(f->module, "ds_plugin_query");
    memcpy(&query, &symbol, sizeof query);
    f->plugin = query();
    f->folder = folder;
    f->stop_after = -1;
    for (int i = 0; f->plugin->desc->params[i]; i++) {
        assert_true(i < FAKE_PARAMS);
        f->text[i] = f->plugin->desc->params[i]->default_text;
    }
    f->host = (ds_host){.struct_size = sizeof(ds_host),
                        .abi_minor = DS_ABI_MINOR,
                        .ctx = f,
                        .threads = 1,
                        .log = take_log,
                        .error = take_error,
                        .should_stop = should_stop,
                        .get_int = get_int,
                        .get_real = get_real,
                        .get_text = get_text,
                        .get_list = get_list,
                        .get_array = get_array,
                        .resource = resource,
                        .get_extension = get_extension};
}

void fake_host_close(fake_host *f)
{
    dlclose(f->module);
}

void fake_host_set(fake_host *f, const char *name, const char *text)
{
    int i = find(f, name);
    if (i < 0) {
        print_error("no parameter %s\n", name);
        fail();
    }
    f->text[i] = text;
}

void fake_host_set_array(fake_host *f, const char *name, const double *data, uint64_t ndim,
                         const uint64_t *shape)
{
    int i = find(f, name);
    assert_true(i >= 0);
    f->array[i] = data;
    f->ndim[i] = ndim;
    memcpy(f->shape[i], shape, ndim * sizeof(uint64_t));
}
