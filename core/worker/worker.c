/* SPDX-License-Identifier: Apache-2.0 */
/* worker.c - dshost-worker: makes one environment instance and evaluates for its host, or runs an optimizer
 * (proxy.h), according to the kind of the plugin in its start file. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "protect/call_state.h"
#include "worker/context.h"
#include "worker/proxy.h"

/* Writes into the start file. Its size may be limited, which the exit status reports to the host. */
static void write_start_file(const void *data, size_t size)
{
    ds_error e;
    errno = 0;
    if (ds_fd_write_all(DS_WORKER_START, data, size, "start file", &e) != 0) {
        _exit(errno == EFBIG ? DS_WORKER_MUTE : DS_EXIT_UNMET);
    }
}

/* Describes the plugin to the host, and waits for settings. Returns -1 if none come: the plugin was refused,
 * or the host does not need it. */
static int describe(ds_worker_context *w)
{
    const ds_module *module = NULL;
    const char *rest;
    size_t size = 0;
    ds_error e = {0, ""};
    int rc = ds_worker_load_plugin(w, &module, &rest, &e);
    void *report = ds_loader_report(module, &e, &size);
    if (report != NULL && ds_worker_truncate(DS_WORKER_START) != 0) {
        _exit(DS_EXIT_UNMET);
    }
    if (report != NULL) {
        write_start_file(report, size);
    }
    int sent = report != NULL && ds_worker_send(DS_WORKER_DESCRIBED) == 0;
    free(report);
    /* After a refusal, wait until the host ends this process: output of an exit here would come at a random
     * time. */
    if (!sent || ds_worker_receive() != DS_WORKER_SETTINGS || rc != 0) {
        return -1;
    }
    return ds_worker_read_start(w, &e) == 0 ? 0 : -1;
}
static int send_hello(const ds_worker_context *w, const ds_error *why)
{
    ds_worker_hello hello;
    memset(&hello, 0, sizeof(hello));
    hello.magic = DS_WORKER_MAGIC;
    hello.error = *why;
    if (w->env != NULL) {
        hello.env = ds_env_facts_of(w->env);
        hello.channels = w->env->channels.count;
    }
    if (ds_worker_truncate(DS_WORKER_START) != 0) {
        return -1;
    }
    write_start_file(&hello, sizeof(hello));
    if (w->env != NULL) {
        uint64_t n = w->env->info.n;
        const struct {
            const void *data;
            size_t bytes;
        } part[] = {{w->env->lower, n * sizeof(double)},
                    {w->env->upper, n * sizeof(double)},
                    {w->env->x0, n * sizeof(double)},
                    {w->env->variables, w->env->variables != NULL ? n * sizeof(ds_named_variable) : 0},
                    {w->env->channels.entry, hello.channels * sizeof(ds_channel_entry)}};
        for (int i = 0; i < 5; i++) {
            if (part[i].bytes > 0) {
                write_start_file(part[i].data, part[i].bytes);
            }
        }
    }
    return ds_worker_send(DS_WORKER_HELLO);
}

/* Waits for the shared memory and maps it. */
static int join_share(ds_worker_context *w)
{
    if (ds_worker_receive() != DS_WORKER_GO) {
        return -1;
    }
    off_t size = lseek(DS_WORKER_SHARE, 0, SEEK_END);
    uint64_t in, out;
    if (size <= 0) {
        return -1;
    }
    ds_worker_allow_memory((uint64_t)size);
    int rc = ds_ring_join(DS_WORKER_SHARE, w->start.index, &w->ring);
    if (rc != 0) {
        w->corrupt = rc == DS_RING_CORRUPT;
        return -1;
    }
    w->share = &w->ring;
    ds_query_layout_room(&w->env->channels, w->env->info.n, &in, &out);
    ds_score_room(&w->env->score, w->env->info.n, &in, &out);
    if (w->share->at.n != w->env->info.n || w->share->at.in != in || w->share->at.out != out ||
        ds_work_begin(w) != 0) {
        return -1;
    }
    w->mine = &w->share->head->worker[w->start.index];
    w->spin.max_ns = w->share->at.spin_ns;
    w->spin.limit_ns = w->share->at.spin_ns;
    w->env->services.stop = &w->share->head->stop;
    return 0;
}
/* Reports how making the instance ended. After a failure, waits until the host ends this process: output of
 * an exit here would come at a random time. Returns 1 if there is an instance and a host. */
static int report(const ds_worker_context *w, int rc, const ds_error *e)
{
    int sent = send_hello(w, e) == 0;
    if (sent && rc != 0) {
        ds_worker_receive();
    }
    return sent && rc == 0;
}

static int serve_env(ds_worker_context *w)
{
    ds_error e = {0, ""};
    int rc = ds_worker_make_env(w, &w->env, &e);
    rc = rc != 0 ? rc : ds_env_read_variables(w->env, &e);
    int ready = report(w, rc, &e) && join_share(w) == 0;
    if (ready) {
        ds_work(w);
    }
    ds_work_end(w);
    ds_env_close(w->env);
    ds_ring_close(&w->ring);
    free(w->texts);
    return ready ? DS_EXIT_OK : w->corrupt ? DS_WORKER_CORRUPT : DS_EXIT_UNMET;
}

/* Is the plugin an optimizer? One that cannot be loaded is reported as environments are. */
static int is_optimizer(const ds_worker_context *w)
{
    const ds_module *module = NULL;
    const char *rest;
    return ds_worker_load_plugin(w, &module, &rest, NULL) == 0 &&
           module->plugin->desc->kind == DS_KIND_OPTIMIZER;
}

static int serve_optimizer(ds_worker_context *w)
{
    const ds_module *module = NULL;
    const char *rest;
    ds_proxy *proxy = NULL;
    ds_settings settings = {0};
    ds_error e = {0, ""};
    int rc = ds_worker_load_plugin(w, &module, &rest, &e);
    rc = rc != 0 ? rc : ds_worker_settings(w, rest, DS_SECTION_OPT, &settings, &e);
    if (rc == 0) {
        ds_worker_limit_memory(w);
        const ds_proxy_config config = {.module = module,
                                        .settings = &settings,
                                        .seed = w->start.seed,
                                        .threads = w->start.threads,
                                        .share = DS_WORKER_SHARE,
                                        .socket = DS_WORKER_SOCKET};
        rc = ds_proxy_open(&config, &proxy, &e);
    }
    int ready = report(w, rc, &e) && ds_worker_receive() == DS_WORKER_GO;
    if (ready) {
        ds_proxy_run(proxy);
    }
    ds_proxy_close(proxy);
    ds_worker_send(DS_WORKER_DONE);
    ds_settings_clear(&settings);
    free(w->texts);
    return ready ? DS_EXIT_OK : DS_EXIT_UNMET;
}

int main(int argc, char **argv)
{
    ds_worker_context w;
    ds_error e = {0, ""};
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        printf("dshost-worker %s (plugin ABI %u.%u)\n", PACKAGE_VERSION, DS_ABI_MAJOR, DS_ABI_MINOR);
        return DS_EXIT_OK;
    }
    ds_locale_use_c();
    signal(SIGCHLD, SIG_DFL); /* a program with libdiffsim may ignore it, but plugins have children too */
    /* BLAS in a plugin reads these; a host other than dshost may not have set them. */
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
    setenv("OMP_NUM_THREADS", "1", 0);
    memset(&w, 0, sizeof(w));
    if (ds_worker_read_start(&w, &e) != 0) {
        ds_log(DS_LOG_ERROR, NULL, "%s", e.text);
        return e.status;
    }
    if (ds_worker_process_begin(w.start.parent, w.start.files) != 0) {
        return DS_EXIT_UNMET;
    }
    ds_log_set_level(DS_LOG_DEBUG); /* the host filters the log */
    if (w.start.describe && describe(&w) != 0) {
        free(w.texts);
        return DS_EXIT_UNMET;
    }
    return is_optimizer(&w) ? serve_optimizer(&w) : serve_env(&w);
}
