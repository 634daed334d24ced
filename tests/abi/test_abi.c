/* SPDX-License-Identifier: Apache-2.0 */
/* test_abi - sizes, offsets and numbers of the binary interface, as the first version froze them (LP64
 * machines). A line that has to change here means that plugins have to be compiled again: raise DS_ABI_MINOR
 * with it. */
#include <diffsim/diffsim.h>
#include <diffsim/lib/environment.h>
#include <diffsim/ext/batch.h>
#include <diffsim/ext/rl.h>
#include <diffsim/ext/scene.h>
#include <diffsim/lib/ask_tell.h>

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
    SIZE(ds_host, 112),
    SIZE(ds_env_info, 40),
    SIZE(ds_eval, 72),
    SIZE(ds_env_vtable, 56),
    SIZE(ds_problem, 64),
    SIZE(ds_batch, 72),
    SIZE(ds_objective, 32),
    SIZE(ds_optimizer_vtable, 40),
    SIZE(ds_param, 72),
    SIZE(ds_desc, 80),
    SIZE(ds_plugin, 56),
    SIZE(ds_scene_body, 80),
    SIZE(ds_scene_info, 96),
    SIZE(ds_scene, 40),
    SIZE(ds_status, 4),
    SIZE(ds_env_batch, 16),
    SIZE(ds_rl_info, 40),
    SIZE(ds_rl_step, 56),
    SIZE(ds_rl, 32),
    SIZE(ds_episode_rows, 96),
    SIZE(ds_episodes, 40),
    SIZE(ds_search_options, 64),
    SIZE(ds_environment_box, 48),
};

static const row offsets[] = {
    AT(ds_host, struct_size, 0),
    AT(ds_host, abi_minor, 4),
    AT(ds_host, ctx, 8),
    AT(ds_host, seed, 16),
    AT(ds_host, threads, 24),
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
    AT(ds_search_options, has_gradient, 4),
    AT(ds_search_options, n, 8),
    AT(ds_search_options, lower, 16),
    AT(ds_search_options, upper, 24),
    AT(ds_search_options, x0, 32),
    AT(ds_search_options, budget, 40),
    AT(ds_search_options, seed, 48),
    AT(ds_search_options, settings, 56),
    AT(ds_environment_box, has_gradient, 4),
    AT(ds_environment_box, n, 8),
    AT(ds_environment_box, lower, 16),
    AT(ds_environment_box, upper, 24),
    AT(ds_environment_box, x0, 32),
    AT(ds_environment_box, loss_floor, 40),
    AT(ds_env_info, flags, 4),
    AT(ds_env_info, n, 8),
    AT(ds_env_info, steps, 16),
    AT(ds_env_info, dt, 24),
    AT(ds_env_info, loss_floor, 32),
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
    AT(ds_env_vtable, create, 8),
    AT(ds_env_vtable, destroy, 16),
    AT(ds_env_vtable, info, 24),
    AT(ds_env_vtable, bounds, 32),
    AT(ds_env_vtable, evaluate, 40),
    AT(ds_env_vtable, get_extension, 48),
    AT(ds_problem, has_gradient, 4),
    AT(ds_problem, n, 8),
    AT(ds_problem, lower, 16),
    AT(ds_problem, upper, 24),
    AT(ds_problem, x0, 32),
    AT(ds_problem, budget, 40),
    AT(ds_problem, target, 48),
    AT(ds_problem, loss_floor, 56),
    AT(ds_batch, want, 4),
    AT(ds_batch, count, 8),
    AT(ds_batch, x, 16),
    AT(ds_batch, loss, 24),
    AT(ds_batch, grad, 32),
    AT(ds_batch, outcome, 40),
    AT(ds_batch, tag, 48),
    AT(ds_batch, group, 56),
    AT(ds_batch, done, 64),
    AT(ds_objective, ctx, 8),
    AT(ds_objective, evaluate, 16),
    AT(ds_objective, get_extension, 24),
    AT(ds_optimizer_vtable, create, 8),
    AT(ds_optimizer_vtable, destroy, 16),
    AT(ds_optimizer_vtable, run, 24),
    AT(ds_optimizer_vtable, get_extension, 32),
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
    AT(ds_plugin, magic, 0),
    AT(ds_plugin, struct_size, 4),
    AT(ds_plugin, abi_major, 8),
    AT(ds_plugin, abi_minor, 12),
    AT(ds_plugin, layout, 16),
    AT(ds_plugin, build, 24),
    AT(ds_plugin, desc, 32),
    AT(ds_plugin, env, 40),
    AT(ds_plugin, optimizer, 48),
    AT(ds_scene_body, shape, 4),
    AT(ds_scene_body, role, 8),
    AT(ds_scene_body, variety, 12),
    AT(ds_scene_body, count, 16),
    AT(ds_scene_body, size, 24),
    AT(ds_scene_body, name, 56),
    AT(ds_scene_body, index, 64),
    AT(ds_scene_body, index_count, 72),
    AT(ds_scene_info, flat, 4),
    AT(ds_scene_info, frames, 8),
    AT(ds_scene_info, bodies, 16),
    AT(ds_scene_info, metrics, 24),
    AT(ds_scene_info, dt, 32),
    AT(ds_scene_info, box, 40),
    AT(ds_scene_info, ground, 88),
    AT(ds_scene, info, 8),
    AT(ds_scene, body, 16),
    AT(ds_scene, frame, 24),
    AT(ds_scene, metric, 32),
    AT(ds_rl_info, horizon, 8),
    AT(ds_rl_info, n_act, 16),
    AT(ds_rl_info, n_obs, 24),
    AT(ds_rl_info, dt, 32),
    AT(ds_rl_step, outcome, 4),
    AT(ds_rl_step, ended, 8),
    AT(ds_rl_step, action, 16),
    AT(ds_rl_step, obs, 24),
    AT(ds_rl_step, reward, 32),
    AT(ds_rl_step, loss, 40),
    AT(ds_rl_step, cost_steps, 48),
    AT(ds_rl, info, 8),
    AT(ds_rl, reset, 16),
    AT(ds_rl, step, 24),
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
    AT(ds_episodes, info, 8),
    AT(ds_episodes, lanes, 16),
    AT(ds_episodes, begin, 24),
    AT(ds_episodes, step, 32),
    AT(ds_env_batch, evaluate, 8),
};

/* Numbers are as much a part of the interface as offsets. */
static const row numbers[] = {
    IS(DS_ABI_MAJOR, 0),
    IS(DS_ABI_MINOR, 1),
    IS(DS_MAGIC, 0x31505344),
    IS(DS_LAYOUT, 0x01080804),
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
    IS(DS_WANT_GRAD, 1),
    IS(DS_WANT_SCENE, 2),
    IS(DS_GRAD_NONE, 0),
    IS(DS_GRAD_ADJOINT, 1),
    IS(DS_GRAD_FORWARD, 2),
    IS(DS_GRAD_FD, 3),
    IS(DS_GRAD_SMOOTHED, 4),
    IS(DS_LOG_DEBUG, 0),
    IS(DS_LOG_ERROR, 3),
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
    IS(DS_KIND_ENV, 1),
    IS(DS_KIND_OPTIMIZER, 2),
    IS(DS_ENV_GRADIENT, 1),
    IS(DS_ENV_STOCHASTIC, 2),
    IS(DS_OPT_USES_BUDGET, 4),
    IS(DS_BODY_POINTS, 1),
    IS(DS_BODY_LINES, 8),
    IS(DS_ROLE_MATERIAL, 0),
    IS(DS_INFO_NO_GRADIENT, 1),
    IS(DS_ROLE_TARGET, 3),
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
