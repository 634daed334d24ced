/* SPDX-License-Identifier: Apache-2.0 */
/* scene_params.h - parameters that a scene file gives: a ds_host whose getters answer from sections of the
 * file, so that one function reads a task from the parameters of its plugin and from a scene.
 *
 *     static const scene_key keys[] = {{"floor", "friction", "mu"}, {"loss", "compare", "loss"}, {NULL}};
 *     scene_params p;
 *     scene_params_open(&p, file, in->host, params, keys, &e->kit.memory);
 *     ds_param_reader own = {&p.host, DS_OK};
 *     read_task(e, &own);
 *
 * The schema gives type, range and default. A key with a bad value is the first mistake of the file
 * (scene_failed()); messages of read_task() begin with the name of the file. A parameter that no key gives
 * has its default. */
#ifndef SCENE_PARAMS_H
#define SCENE_PARAMS_H

#include "engines/data/scene_file.h"

#include <diffsim/helper/memory.h>
#include <diffsim/helper/params.h>
#include <diffsim/host.h>
#include <diffsim/plugin.h>

/* Parameter `param` is key `key` of section [section], or else of the first one of this kind. A NULL section
 * ends a table. */
typedef struct scene_key {
    const char *section, *key, *param;
} scene_key;

enum { SCENE_PARAMS_MOST = 64 };

/* Not to be moved while its host is in use. */
typedef struct scene_params {
    ds_host host; /* first */
    const ds_host *outer;
    const ds_param *const *schema;
    ds_memory *memory;
    char name[SCENE_NAME + 1]; /* of the file, for messages */
    struct scene_value {
        double number;
        const char *text;
        const double *list;
        uint64_t count;
    } value[SCENE_PARAMS_MOST];
} scene_params;

/* Reads every parameter of the schema (NULL-terminated; all types but ARRAY). Keys of a section that is
 * missing have their default. Values live in `memory`. DS_OK, or DS_E_NOMEM; mistakes are in the file. */
ds_status scene_params_open(scene_params *p, scene_file *f, const ds_host *outer,
                            const ds_param *const *schema, const scene_key *keys, ds_memory *memory);

/* Takes those parameters of the outer host that differ from their default: the user's word wins over the
 * file's. */
void scene_params_override(scene_params *p, ds_param_reader *in);

/* Sets a parameter of the schema: a REAL, INT, BOOL or ENUM (index), a LIST, a TEXT or PATH (kept as a
 * pointer). */
void scene_params_set(scene_params *p, const char *param, double value);
void scene_params_set_list(scene_params *p, const char *param, uint64_t count, const double *values);
void scene_params_set_text(scene_params *p, const char *param, const char *text);

#endif
