/* SPDX-License-Identifier: Apache-2.0 */
/* test.h - a test program: cmocka with the headers that it needs, main(), and what most tests use. */
#ifndef DS_TESTS_TEST_H
#define DS_TESTS_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

/* |a - b| <= tolerance, with the values in the message (cmocka compares only floats). */
#define assert_near(a, b, tolerance)                                                                         \
    do {                                                                                                     \
        double near_a = (a), near_b = (b);                                                                   \
        if (!(fabs(near_a - near_b) <= (tolerance))) {                                                       \
            fail_msg("%s = %.17g, not %.17g", #a, near_a, near_b);                                           \
        }                                                                                                    \
    } while (0)

/* Elements of an array. */
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Settings "name=value" of a plugin, for fake_host_open() and fake_env_open(). */
#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Path of a file of the build tree. */
static inline void test_path(char path[4096], const char *name)
{
    const char *top = getenv("DS_TOP_BUILD");
    snprintf(path, 4096, "%s/%s", top != NULL ? top : ".", name);
}

/* Environments and optimizers are found by their ids. */
static inline void test_find_plugins(void)
{
    char path[4096];
    test_path(path, "plugins");
    setenv("DS_PLUGIN_PATH", path, 1);
}

/* main() of a program that runs these test functions in their order. RUN_TESTS_WITH: set_up() before the
 * first one, tear_down() after the last one. RUN_EACH_WITH: before and after each of them. */
#define RUN_TESTS(...) RUN_TESTS_WITH(NULL, NULL, __VA_ARGS__)
#define RUN_TESTS_WITH(set_up, tear_down, ...) RUN_ALL_(set_up, tear_down, NULL, NULL, __VA_ARGS__)
#define RUN_EACH_WITH(set_up, tear_down, ...) RUN_ALL_(NULL, NULL, set_up, tear_down, __VA_ARGS__)
#define RUN_ALL_(first, last, before, after, ...)                                                            \
    int main(void)                                                                                           \
    {                                                                                                        \
        const CMUnitTestFunction functions[] = {__VA_ARGS__};                                                \
        char names[] = #__VA_ARGS__;                                                                         \
        struct CMUnitTest tests[COUNT_OF(functions)] = {{.name = NULL}};                                     \
        char *rest = NULL;                                                                                   \
        for (size_t i = 0; i < COUNT_OF(functions); i++) {                                                   \
            tests[i] = (struct CMUnitTest){.name = strtok_r(i == 0 ? names : NULL, ", ", &rest),             \
                                           .test_func = functions[i],                                        \
                                           .setup_func = before,                                             \
                                           .teardown_func = after};                                          \
        }                                                                                                    \
        return cmocka_run_group_tests(tests, first, last);                                                   \
    }

#endif
