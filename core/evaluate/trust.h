/* SPDX-License-Identifier: Apache-2.0 */
/* trust.h - code that a record names. A result folder may come from anybody, and to look at it can mean to
 * run its plugin: one that lies in a folder of the plugin path is run, any other only where the user has
 * said that he trusts it. */
#ifndef DS_EVALUATE_TRUST_H
#define DS_EVALUATE_TRUST_H

#include "config/settings.h"
#include "plugin/loader.h"

/* The user trusts a plugin (`--trust-plugin`): its file, a folder with plugins, or an id on the plugin path.
 * Programs that this one starts trust it, too: it is added to the environment variable DS_TRUSTED_PLUGINS, a
 * colon list that users may also set. Call it before the program has threads. DS_EXIT_USAGE where there is no
 * such file. */
int ds_trust_add(const char *what, ds_error *e);

/* A plugin that the user has named himself: whatever goes on with his run may load it, and with `inherit` the
 * programs that this one starts. What cannot be found is left to whoever loads it. */
void ds_trust_named(const char *name, uint32_t kind, int inherit);

/* Of a program that a run has started: it has said already what it runs. */
void ds_trust_quiet(void);

/* `name` is what the setting `key` of [run] says: may that plugin be loaded? Always, where the setting is
 * not one of a record; else 0 after a line that names its file, or DS_EXIT_PLUGIN and a line that says what
 * to do. */
int ds_trust_check(const ds_settings *settings, const char *key, const char *name, ds_error *e);

/* The same of a plugin that something else in a result folder names, `record` ("DIR/bench.ini:3"). */
int ds_trust_plugin(const char *record, const char *name, ds_error *e);

/* The same of an environment that runs code which its parameters name (DS_ENV_RUNS_CODE), where a record
 * has them. */
int ds_trust_check_parameters(const ds_settings *settings, const ds_module *module, ds_error *e);

#endif
