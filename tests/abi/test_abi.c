/* SPDX-License-Identifier: Apache-2.0 */
/* test_abi - sizes, offsets and numbers of the binary interface, as 0.2 has them (LP64 machines). While the
 * major version is 0, a line that has to change here means that plugins have to be compiled again: raise
 * DS_ABI_MINOR with it. From 1.0 on only sizeof rows may change, and lines may be added. */
#include <diffsim/adapter.h>
#include <diffsim/diffsim.h>
#include <diffsim/ext/batch.h>
#include <diffsim/ext/channel.h>
#include <diffsim/ext/files.h>
#include <diffsim/ext/hooks.h>
#include <diffsim/ext/rl.h>
#include <diffsim/ext/rl_gradient.h>
#include <diffsim/ext/scene.h>
#include <diffsim/ext/score.h>
#include <diffsim/ext/variables.h>
#include <diffsim/lib/ask_tell.h>
#include <diffsim/lib/environment.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <string.h>

typedef struct row {
    const char *what;
    size_t is, should;
} row;

#define SIZE(type, n)                                                                                        \
    {                                                                                                        \
        "sizeof(" #type ")", sizeof(type), n                                                                 \
    }
#define AT(type, field, n)                                                                                   \
    {                                                                                                        \
        "offsetof(" #type ", " #field ")", offsetof(type, field), n                                          \
    }
#define IS(name, n)                                                                                          \
    {                                                                                                        \
#name, (size_t)(name), (size_t)(n)                                                                   \
    }

static const row sizes[] = {
    SIZE(ds_status, 4),
    SIZE(ds_ask, 48),
    SIZE(ds_host, 128),
    SIZE(ds_env_info, 48),
    SIZE(ds_eval, 88),
    SIZE(ds_env_vtable, 56),
    SIZE(ds_problem, 72),
    SIZE(ds_batch, 104),
    SIZE(ds_objective, 32),
    SIZE(ds_optimizer_vtable, 40),
    SIZE(ds_param, 72),
    SIZE(ds_desc, 96),
    SIZE(ds_plugin, 56),
    SIZE(ds_env_batch, 16),
    SIZE(ds_score_info, 32),
    SIZE(ds_score, 40),
    SIZE(ds_env_score, 24),
    SIZE(ds_channel, 128),
    SIZE(ds_env_channels, 24),
    SIZE(ds_objective_channels, 24),
    SIZE(ds_rl_info, 40),
    SIZE(ds_rl_step, 56),
    SIZE(ds_rl, 32),
    SIZE(ds_episode_rows, 96),
    SIZE(ds_episodes, 40),
    SIZE(ds_rl_back, 48),
    SIZE(ds_adapter_request, 40),
    SIZE(ds_rl_gradient, 24),
    SIZE(ds_back_rows, 72),
    SIZE(ds_episode_gradients, 16),
    SIZE(ds_objective_files, 40),
    SIZE(ds_scene_body, 80),
    SIZE(ds_scene_info, 96),
    SIZE(ds_scene, 40),
    SIZE(ds_variable, 32),
    SIZE(ds_env_variables, 16),
    SIZE(ds_hook, 40),
    SIZE(ds_env_hooks, 24),
    SIZE(ds_search_options, 88),
    SIZE(ds_environment_box, 72),
};

static const row offsets[] = {
    AT(ds_ask, struct_size, 0),
    AT(ds_ask, op, 4),
    AT(ds_ask, channel, 8),
    AT(ds_ask, kind, 12),
    AT(ds_ask, v, 16),
    AT(ds_ask, w, 24),
    AT(ds_ask, out, 32),
    AT(ds_ask, out_bytes, 40),
    AT(ds_host, struct_size, 0),
    AT(ds_host, abi_minor, 4),
    AT(ds_host, ctx, 8),
    AT(ds_host, seed, 16),
    AT(ds_host, threads, 24),
    AT(ds_host, reserved, 28),
    AT(ds_host, log, 32),
    AT(ds_host, error, 40),
    AT(ds_host, should_stop, 48),
    AT(ds_host, get_int, 56),
    AT(ds_host, get_real, 64),
    AT(ds_host, get_text, 72),
    AT(ds_host, get_list, 80),
    AT(ds_host, get_array, 88),
    AT(ds_host, resource, 96),
    AT(ds_host, get_extension, 104),
    AT(ds_host, name, 112),
    AT(ds_host, version, 120),
    AT(ds_env_info, struct_size, 0),
    AT(ds_env_info, flags, 4),
    AT(ds_env_info, n, 8),
    AT(ds_env_info, steps, 16),
    AT(ds_env_info, dt, 24),
    AT(ds_env_info, loss_floor, 32),
    AT(ds_env_info, tolerance, 40),
    AT(ds_eval, struct_size, 0),
    AT(ds_eval, want, 4),
    AT(ds_eval, n, 8),
    AT(ds_eval, x, 16),
    AT(ds_eval, noise_key, 24),
    AT(ds_eval, grad, 32),
    AT(ds_eval, loss, 40),
    AT(ds_eval, outcome, 48),
    AT(ds_eval, grad_kind, 52),
    AT(ds_eval, bad_step, 56),
    AT(ds_eval, cost_steps, 64),
    AT(ds_eval, asks, 72),
    AT(ds_eval, ask, 80),
    AT(ds_env_vtable, struct_size, 0),
    AT(ds_env_vtable, reserved, 4),
    AT(ds_env_vtable, create, 8),
    AT(ds_env_vtable, destroy, 16),
    AT(ds_env_vtable, info, 24),
    AT(ds_env_vtable, bounds, 32),
    AT(ds_env_vtable, evaluate, 40),
    AT(ds_env_vtable, get_extension, 48),
    AT(ds_problem, struct_size, 0),
    AT(ds_problem, has_gradient, 4),
    AT(ds_problem, n, 8),
    AT(ds_problem, lower, 16),
    AT(ds_problem, upper, 24),
    AT(ds_problem, x0, 32),
    AT(ds_problem, budget, 40),
    AT(ds_problem, target, 48),
    AT(ds_problem, loss_floor, 56),
    AT(ds_problem, stochastic, 64),
    AT(ds_problem, reserved, 68),
    AT(ds_batch, struct_size, 0),
    AT(ds_batch, want, 4),
    AT(ds_batch, count, 8),
    AT(ds_batch, x, 16),
    AT(ds_batch, loss, 24),
    AT(ds_batch, grad, 32),
    AT(ds_batch, outcome, 40),
    AT(ds_batch, tag, 48),
    AT(ds_batch, group, 56),
    AT(ds_batch, done, 64),
    AT(ds_batch, asks, 72),
    AT(ds_batch, ask, 80),
    AT(ds_batch, noise, 88),
    AT(ds_batch, cost_steps, 96),
    AT(ds_objective, struct_size, 0),
    AT(ds_objective, reserved, 4),
    AT(ds_objective, ctx, 8),
    AT(ds_objective, evaluate, 16),
    AT(ds_objective, get_extension, 24),
    AT(ds_optimizer_vtable, struct_size, 0),
    AT(ds_optimizer_vtable, reserved, 4),
    AT(ds_optimizer_vtable, create, 8),
    AT(ds_optimizer_vtable, destroy, 16),
    AT(ds_optimizer_vtable, run, 24),
    AT(ds_optimizer_vtable, get_extension, 32),
    AT(ds_param, struct_size, 0),
    AT(ds_param, type, 4),
    AT(ds_param, flags, 8),
    AT(ds_param, max_count, 12),
    AT(ds_param, min, 16),
    AT(ds_param, max, 24),
    AT(ds_param, name, 32),
    AT(ds_param, default_text, 40),
    AT(ds_param, unit, 48),
    AT(ds_param, doc, 56),
    AT(ds_param, choices, 64),
    AT(ds_desc, struct_size, 0),
    AT(ds_desc, kind, 4),
    AT(ds_desc, flags, 8),
    AT(ds_desc, id, 16),
    AT(ds_desc, version, 24),
    AT(ds_desc, license, 32),
    AT(ds_desc, summary, 40),
    AT(ds_desc, description, 48),
    AT(ds_desc, citation, 56),
    AT(ds_desc, params, 64),
    AT(ds_desc, extensions, 72),
    AT(ds_desc, needs, 80),
    AT(ds_desc, uses, 88),
    AT(ds_plugin, magic, 0),
    AT(ds_plugin, struct_size, 4),
    AT(ds_plugin, abi_major, 8),
    AT(ds_plugin, abi_minor, 12),
    AT(ds_plugin, layout, 16),
    AT(ds_plugin, reserved, 20),
    AT(ds_plugin, build, 24),
    AT(ds_plugin, desc, 32),
    AT(ds_plugin, env, 40),
    AT(ds_plugin, optimizer, 48),
    AT(ds_env_batch, struct_size, 0),
    AT(ds_env_batch, reserved, 4),
    AT(ds_env_batch, evaluate, 8),
    AT(ds_score_info, struct_size, 0),
    AT(ds_score_info, reserved, 4),
    AT(ds_score_info, noise, 8),
    AT(ds_score_info, action, 16),
    AT(ds_score_info, sigma, 24),
    AT(ds_score, struct_size, 0),
    AT(ds_score, flags, 4),
    AT(ds_score, sigma, 8),
    AT(ds_score, score, 16),
    AT(ds_score, noise, 24),
    AT(ds_score, baseline, 32),
    AT(ds_env_score, struct_size, 0),
    AT(ds_env_score, reserved, 4),
    AT(ds_env_score, info, 8),
    AT(ds_env_score, evaluate, 16),
    AT(ds_channel, struct_size, 0),
    AT(ds_channel, role, 4),
    AT(ds_channel, type, 8),
    AT(ds_channel, ops, 12),
    AT(ds_channel, ndim, 16),
    AT(ds_channel, reserved, 20),
    AT(ds_channel, shape, 24),
    AT(ds_channel, lower, 88),
    AT(ds_channel, upper, 96),
    AT(ds_channel, name, 104),
    AT(ds_channel, unit, 112),
    AT(ds_channel, doc, 120),
    AT(ds_env_channels, struct_size, 0),
    AT(ds_env_channels, reserved, 4),
    AT(ds_env_channels, count, 8),
    AT(ds_env_channels, describe, 16),
    AT(ds_objective_channels, struct_size, 0),
    AT(ds_objective_channels, reserved, 4),
    AT(ds_objective_channels, count, 8),
    AT(ds_objective_channels, channel, 16),
    AT(ds_rl_info, struct_size, 0),
    AT(ds_rl_info, flags, 4),
    AT(ds_rl_info, horizon, 8),
    AT(ds_rl_info, n_act, 16),
    AT(ds_rl_info, n_obs, 24),
    AT(ds_rl_info, dt, 32),
    AT(ds_rl_step, struct_size, 0),
    AT(ds_rl_step, outcome, 4),
    AT(ds_rl_step, ended, 8),
    AT(ds_rl_step, reserved, 12),
    AT(ds_rl_step, action, 16),
    AT(ds_rl_step, obs, 24),
    AT(ds_rl_step, reward, 32),
    AT(ds_rl_step, loss, 40),
    AT(ds_rl_step, cost_steps, 48),
    AT(ds_rl, struct_size, 0),
    AT(ds_rl, reserved, 4),
    AT(ds_rl, info, 8),
    AT(ds_rl, reset, 16),
    AT(ds_rl, step, 24),
    AT(ds_rl_back, struct_size, 0),
    AT(ds_rl_back, reserved, 4),
    AT(ds_rl_back, step, 8),
    AT(ds_rl_back, reward_bar, 16),
    AT(ds_rl_back, obs_bar, 24),
    AT(ds_rl_back, action_bar, 32),
    AT(ds_rl_back, cost_steps, 40),
    AT(ds_adapter_request, struct_size, 0),
    AT(ds_adapter_request, reserved, 4),
    AT(ds_adapter_request, file, 8),
    AT(ds_adapter_request, object, 16),
    AT(ds_adapter_request, error, 24),
    AT(ds_adapter_request, room, 32),
    AT(ds_rl_gradient, struct_size, 0),
    AT(ds_rl_gradient, reserved, 4),
    AT(ds_rl_gradient, begin, 8),
    AT(ds_rl_gradient, back, 16),
    AT(ds_back_rows, struct_size, 0),
    AT(ds_back_rows, reserved, 4),
    AT(ds_back_rows, count, 8),
    AT(ds_back_rows, lane, 16),
    AT(ds_back_rows, step, 24),
    AT(ds_back_rows, reward_bar, 32),
    AT(ds_back_rows, obs_bar, 40),
    AT(ds_back_rows, action_bar, 48),
    AT(ds_back_rows, outcome, 56),
    AT(ds_back_rows, done, 64),
    AT(ds_episode_gradients, struct_size, 0),
    AT(ds_episode_gradients, reserved, 4),
    AT(ds_episode_gradients, back, 8),
    AT(ds_episode_rows, struct_size, 0),
    AT(ds_episode_rows, reserved, 4),
    AT(ds_episode_rows, count, 8),
    AT(ds_episode_rows, lane, 16),
    AT(ds_episode_rows, action, 24),
    AT(ds_episode_rows, obs, 32),
    AT(ds_episode_rows, reward, 40),
    AT(ds_episode_rows, ended, 48),
    AT(ds_episode_rows, loss, 56),
    AT(ds_episode_rows, outcome, 64),
    AT(ds_episode_rows, tag, 72),
    AT(ds_episode_rows, group, 80),
    AT(ds_episode_rows, done, 88),
    AT(ds_episodes, struct_size, 0),
    AT(ds_episodes, reserved, 4),
    AT(ds_episodes, info, 8),
    AT(ds_episodes, lanes, 16),
    AT(ds_episodes, begin, 24),
    AT(ds_episodes, step, 32),
    AT(ds_objective_files, struct_size, 0),
    AT(ds_objective_files, reserved, 4),
    AT(ds_objective_files, env, 8),
    AT(ds_objective_files, env_version, 16),
    AT(ds_objective_files, env_settings, 24),
    AT(ds_objective_files, save, 32),
    AT(ds_scene_body, struct_size, 0),
    AT(ds_scene_body, shape, 4),
    AT(ds_scene_body, role, 8),
    AT(ds_scene_body, variety, 12),
    AT(ds_scene_body, count, 16),
    AT(ds_scene_body, size, 24),
    AT(ds_scene_body, name, 56),
    AT(ds_scene_body, index, 64),
    AT(ds_scene_body, index_count, 72),
    AT(ds_scene_info, struct_size, 0),
    AT(ds_scene_info, flat, 4),
    AT(ds_scene_info, frames, 8),
    AT(ds_scene_info, bodies, 16),
    AT(ds_scene_info, metrics, 24),
    AT(ds_scene_info, dt, 32),
    AT(ds_scene_info, box, 40),
    AT(ds_scene_info, ground, 88),
    AT(ds_scene, struct_size, 0),
    AT(ds_scene, reserved, 4),
    AT(ds_scene, info, 8),
    AT(ds_scene, body, 16),
    AT(ds_scene, frame, 24),
    AT(ds_scene, metric, 32),
    AT(ds_variable, struct_size, 0),
    AT(ds_variable, flags, 4),
    AT(ds_variable, name, 8),
    AT(ds_variable, unit, 16),
    AT(ds_variable, group, 24),
    AT(ds_env_variables, struct_size, 0),
    AT(ds_env_variables, reserved, 4),
    AT(ds_env_variables, describe, 8),
    AT(ds_hook, struct_size, 0),
    AT(ds_hook, kind, 4),
    AT(ds_hook, count, 8),
    AT(ds_hook, name, 16),
    AT(ds_hook, unit, 24),
    AT(ds_hook, doc, 32),
    AT(ds_env_hooks, struct_size, 0),
    AT(ds_env_hooks, reserved, 4),
    AT(ds_env_hooks, count, 8),
    AT(ds_env_hooks, describe, 16),
    AT(ds_search_options, struct_size, 0),
    AT(ds_search_options, has_gradient, 4),
    AT(ds_search_options, n, 8),
    AT(ds_search_options, lower, 16),
    AT(ds_search_options, upper, 24),
    AT(ds_search_options, x0, 32),
    AT(ds_search_options, budget, 40),
    AT(ds_search_options, seed, 48),
    AT(ds_search_options, settings, 56),
    AT(ds_environment_box, struct_size, 0),
    AT(ds_environment_box, has_gradient, 4),
    AT(ds_environment_box, n, 8),
    AT(ds_environment_box, lower, 16),
    AT(ds_environment_box, upper, 24),
    AT(ds_environment_box, x0, 32),
    AT(ds_environment_box, loss_floor, 40),
};

/* Numbers are as much a part of the interface as offsets. */
static const row numbers[] = {
    IS(DS_ASK_SIZE_1_0, 48),
    IS(DS_ADAPTER_REQUEST_SIZE_1_0, 40),
    IS(DS_WANT_GRAD, 1),
    IS(DS_WANT_SCENE, 2),
    IS(DS_GRAD_NONE, 0),
    IS(DS_GRAD_ADJOINT, 1),
    IS(DS_GRAD_FORWARD, 2),
    IS(DS_GRAD_FD, 3),
    IS(DS_GRAD_SMOOTHED, 4),
    IS(DS_ASK_VALUE, 1),
    IS(DS_ASK_JV, 2),
    IS(DS_ASK_JTV, 3),
    IS(DS_ASK_HV, 4),
    IS(DS_OK, 0),
    IS(DS_STOPPED, 1),
    IS(DS_E_GENERIC, -1),
    IS(DS_E_ARG, -2),
    IS(DS_E_NOMEM, -3),
    IS(DS_E_STATE, -4),
    IS(DS_E_UNSUPPORTED, -5),
    IS(DS_E_PARAM, -6),
    IS(DS_E_IO, -7),
    IS(DS_E_DATA, -8),
    IS(DS_E_NUMERIC, -9),
    IS(DS_EVAL_OK, 0),
    IS(DS_EVAL_BAD_GRAD, 1),
    IS(DS_EVAL_DIVERGED, 2),
    IS(DS_EVAL_INFEASIBLE, 3),
    IS(DS_EVAL_STOPPED, 4),
    IS(DS_EVAL_INVALID, 5),
    IS(DS_EVAL_CRASHED, 6),
    IS(DS_EVAL_TIMEOUT, 7),
    IS(DS_EVAL_ERROR, 8),
    IS(DS_ABI_MAJOR, 0),
    IS(DS_ABI_MINOR, 2),
    IS(DS_MAGIC, 0x31505344),
    IS(DS_LAYOUT, 0x01080804),
    IS(DS_MAX_VARIABLES, 16777216),
    IS(DS_MAX_PARAMS, 256),
    IS(DS_MAX_NAME, 47),
    IS(DS_MAX_TAG, 15),
    IS(DS_MAX_ERROR, 511),
    IS(DS_MAX_LOG, 1023),
    IS(DS_MAX_ROWS, 64),
    IS(DS_MAX_LANES, 64),
    IS(DS_MAX_OBSERVED, 1048576),
    IS(DS_MAX_CHANNELS, 256),
    IS(DS_MAX_DIMENSIONS, 8),
    IS(DS_MAX_ELEMENTS, 67108864),
    IS(DS_MAX_ASKS, 16),
    IS(DS_EVAL_OUTCOMES, 9),
    IS(DS_HOST_SIZE_1_0, 128),
    IS(DS_LOG_DEBUG, 0),
    IS(DS_LOG_INFO, 1),
    IS(DS_LOG_WARNING, 2),
    IS(DS_LOG_ERROR, 3),
    IS(DS_ENV_INFO_SIZE_1_0, 48),
    IS(DS_EVAL_SIZE_1_0, 88),
    IS(DS_ENV_VTABLE_SIZE_1_0, 56),
    IS(DS_INFO_NO_GRADIENT, 1),
    IS(DS_PROBLEM_SIZE_1_0, 72),
    IS(DS_BATCH_SIZE_1_0, 104),
    IS(DS_OBJECTIVE_SIZE_1_0, 32),
    IS(DS_OPTIMIZER_VTABLE_SIZE_1_0, 40),
    IS(DS_PARAM_SIZE_1_0, 72),
    IS(DS_DESC_SIZE_1_0, 96),
    IS(DS_PLUGIN_SIZE_1_0, 56),
    IS(DS_PARAM_BOOL, 1),
    IS(DS_PARAM_INT, 2),
    IS(DS_PARAM_REAL, 3),
    IS(DS_PARAM_ENUM, 4),
    IS(DS_PARAM_TEXT, 5),
    IS(DS_PARAM_PATH, 6),
    IS(DS_PARAM_LIST, 7),
    IS(DS_PARAM_ARRAY, 8),
    IS(DS_PARAM_REQUIRED, 1),
    IS(DS_PARAM_ADVANCED, 2),
    IS(DS_PARAM_SHAPE, 4),
    IS(DS_PARAM_LOG, 8),
    IS(DS_KIND_ENV, 1),
    IS(DS_KIND_OPTIMIZER, 2),
    IS(DS_ENV_GRADIENT, 1),
    IS(DS_ENV_STOCHASTIC, 2),
    IS(DS_ENV_OWN_PROCESS, 4),
    IS(DS_ENV_INEXACT, 8),
    IS(DS_ENV_GRADIENT_HOLES, 16),
    IS(DS_OPT_USES_BUDGET, 4),
    IS(DS_ENV_BATCH_SIZE_1_0, 16),
    IS(DS_CHANNEL_SIZE_1_0, 128),
    IS(DS_ENV_CHANNELS_SIZE_1_0, 24),
    IS(DS_OBJECTIVE_CHANNELS_SIZE_1_0, 24),
    IS(DS_CHANNEL_RESIDUAL, 1),
    IS(DS_CHANNEL_CONSTRAINT, 2),
    IS(DS_CHANNEL_OBJECTIVE, 3),
    IS(DS_CHANNEL_IMAGE, 4),
    IS(DS_CHANNEL_STATE, 5),
    IS(DS_CHANNEL_LOSS, 6),
    IS(DS_TYPE_F64, 1),
    IS(DS_TYPE_F32, 2),
    IS(DS_TYPE_U8, 3),
    IS(DS_RL_INFO_SIZE_1_0, 40),
    IS(DS_RL_STEP_SIZE_1_0, 56),
    IS(DS_RL_SIZE_1_0, 32),
    IS(DS_EPISODE_ROWS_SIZE_1_0, 96),
    IS(DS_EPISODES_SIZE_1_0, 40),
    IS(DS_OBJECTIVE_FILES_SIZE_1_0, 40),
    IS(DS_MAX_FILES, 16),
    IS(DS_MAX_FILE_NAME, 63),
    IS(DS_MAX_FILE_BYTES, 268435456),
    IS(DS_RL_GOES_ON, 0),
    IS(DS_RL_TERMINATED, 1),
    IS(DS_RL_TRUNCATED, 2),
    IS(DS_RL_TIME_LIMIT, 1),
    IS(DS_SCENE_BODY_SIZE_1_0, 80),
    IS(DS_SCENE_INFO_SIZE_1_0, 96),
    IS(DS_SCENE_SIZE_1_0, 40),
    IS(DS_BODY_POINTS, 1),
    IS(DS_BODY_SPHERE, 2),
    IS(DS_BODY_CAPSULE, 3),
    IS(DS_BODY_CYLINDER, 4),
    IS(DS_BODY_TORUS, 5),
    IS(DS_BODY_BOX, 6),
    IS(DS_BODY_MESH, 7),
    IS(DS_BODY_LINES, 8),
    IS(DS_ROLE_MATERIAL, 0),
    IS(DS_ROLE_TOOL, 1),
    IS(DS_ROLE_FIXED, 2),
    IS(DS_ROLE_TARGET, 3),
    IS(DS_VARIABLE_SIZE_1_0, 32),
    IS(DS_ENV_VARIABLES_SIZE_1_0, 16),
    IS(DS_VARIABLE_LOG, 1),
    IS(DS_HOOK_SIZE_1_0, 40),
    IS(DS_ENV_HOOKS_SIZE_1_0, 24),
    IS(DS_MAX_HOOKS, 32),
    IS(DS_MAX_HOOK_ELEMENTS, 64),
    IS(DS_HOOK_INPUT, 1),
    IS(DS_HOOK_OUTPUT, 2),
};

static void compare(const row *rows, size_t count)
{
    int bad = 0;
    if (sizeof(void *) != 8 || sizeof(long) != 8) {
        skip(); /* the table is for LP64 machines; DS_LAYOUT keeps others apart */
    }
    for (size_t i = 0; i < count; i++) {
        if (rows[i].is != rows[i].should) {
            print_message("# %s is %zu, frozen as %zu\n", rows[i].what, rows[i].is, rows[i].should);
            bad = 1;
        }
    }
    assert_false(bad);
}

static void test_sizes(void **state)
{
    (void)state;
    compare(sizes, sizeof sizes / sizeof sizes[0]);
}

static void test_offsets(void **state)
{
    (void)state;
    compare(offsets, sizeof offsets / sizeof offsets[0]);
}

static void test_numbers(void **state)
{
    (void)state;
    compare(numbers, sizeof numbers / sizeof numbers[0]);
}

/* DS_HAS says what the writer of a struct knew of. */
static void test_has(void **state)
{
    (void)state;
    ds_env_info info = {.struct_size = offsetof(ds_env_info, dt)};
    assert_true(DS_HAS(ds_env_info, &info, steps));
    assert_false(DS_HAS(ds_env_info, &info, dt));
    info.struct_size = offsetof(ds_env_info, dt) + 7;
    assert_false(DS_HAS(ds_env_info, &info, dt));
    info.struct_size = sizeof info;
    assert_true(DS_HAS(ds_env_info, &info, loss_floor));
}

/* Every status and outcome has a number of its own and a text. */
static void test_lists(void **state)
{
#define ROW(name, value, text) {#name, value, text},
    static const struct {
        const char *name;
        int value;
        const char *text;
    } list[] = {DS_STATUS_LIST(ROW)}, outcome[] = {DS_OUTCOME_LIST(ROW)};
#undef ROW
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        assert_true(strlen(list[i].text) > 0);
        for (size_t k = 0; k < i; k++) {
            assert_int_not_equal(list[i].value, list[k].value);
        }
    }
    for (size_t i = 0; i < sizeof outcome / sizeof outcome[0]; i++) {
        assert_true(strlen(outcome[i].text) > 0);
        assert_int_equal(outcome[i].value, (int)i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes), cmocka_unit_test(test_offsets), cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_has),   cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests_name("abi", tests, NULL, NULL);
}
