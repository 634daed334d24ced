/* SPDX-License-Identifier: Apache-2.0 */
/* trust.h - code that a record names. A result folder may come from anyone, and viewing it can mean to run
 * its plugin. A plugin in a folder of the plugin path runs; any other runs only if the user trusts it. */
#ifndef DS_EVALUATE_TRUST_H
#define DS_EVALUATE_TRUST_H

#include "config/settings.h"
#include "plugin/loader.h"

/* Trusts a plugin (`--trust-plugin`): its file, a folder with plugins, or an id on the plugin path. Programs
 * that this one starts trust it too, through the environment variable DS_TRUSTED_PLUGINS, a colon-separated
 * list that users may also set. Call it before the program has threads. Returns DS_EXIT_USAGE if there is no
 * such file. */
int ds_trust_add(const char *what, ds_error *e);

/* Trusts a plugin that the user named: a program that continues the user's run may load it, and with
 * `inherit` the programs that this one starts. A plugin that cannot be found is left to the loader. */
void ds_trust_named(const char *name, uint32_t kind, int inherit);

/* For programs that a run starts: the run has already reported its plugins. */
void ds_trust_quiet(void);

/* May the plugin `name`, the value of setting `key` of [run], be loaded? Returns 0 if the setting does not
 * come from a record, or after one line that names the plugin's file; else DS_EXIT_PLUGIN and what to do. */
int ds_trust_check(const ds_settings *settings, const char *key, const char *name, ds_error *e);

/* The same for a plugin that another file of a result folder names; `record` is the place
 * ("DIR/bench.ini:3"). */
int ds_trust_plugin(const char *record, const char *name, ds_error *e);

/* The same for an environment that runs code named by its parameters (DS_ENV_RUNS_CODE), if a record holds
 * them. */
int ds_trust_check_parameters(const ds_settings *settings, const ds_module *module, ds_error *e);

#endif
