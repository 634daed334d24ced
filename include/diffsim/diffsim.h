/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/diffsim.h - everything that a plugin needs, except the optional extensions (ext/) and random.h.
 *
 * An environment implements ds_env_vtable (env.h), an optimizer ds_optimizer_vtable (optimizer.h); plugin.h
 * says how either is announced, host.h what it may ask of its host. */
#ifndef DIFFSIM_DIFFSIM_H
#define DIFFSIM_DIFFSIM_H
#include <diffsim/base.h>
#include <diffsim/env.h>
#include <diffsim/host.h>
#include <diffsim/optimizer.h>
#include <diffsim/plugin.h>
#endif
