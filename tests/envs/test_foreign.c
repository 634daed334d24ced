/* SPDX-License-Identifier: Apache-2.0 */
/* test_foreign.c - environment ffi: signatures, every way to call a function, functions that fail. */
#include "engines/ffi/call.h"
#include "host.h"
#include "test.h"

#include <fenv.h>

static char file[4096 + 5]; /* "file=...foreign.so" */

static int find_library(void **state)
{
    strcpy(file, "file=");
    test_path(file + 5, "tests/plugins/.libs/foreign.so");
    return 0;
}

static void open_env(fake_env *e, const char *const *settings)
{
    fake_env_open(e, "envs/ffi", settings, 1, -HUGE_VAL);
}

/* ---- signatures ---- */

static void test_signatures(void **state)
{
    signature s;
    char error[SIGNATURE_ERROR];
    assert_true(signature_parse(" i32 ( n : i32 , x:f64*, 2.5e-1:f64, x12:f32 , -3:i64*, ctx:void*,f:f64 *) ",
                                &s, error));
    assert_int_equal(s.result, SCALAR_I32);
    assert_int_equal(s.count, 7);
    assert_true(s.argument[2].role == ROLE_CONSTANT && s.argument[2].value == 0.25);
    assert_true(s.argument[3].role == ROLE_COMPONENT && s.argument[3].index == 12 &&
                s.argument[3].type == SCALAR_F32);
    assert_true(s.argument[4].pointer && s.argument[4].value == -3);
    assert_ptr_equal(signature_find(&s, ROLE_F), &s.argument[6]);
    assert_null(signature_find(&s, ROLE_G));
    assert_true(signature_parse("f64()", &s, error) && s.count == 0);

    static const struct {
        const char *text, *word;
    } wrong[] = {{"", "unknown type"},
                 {"double(x:f64*)", "unknown type 'double'"},
                 {"f64*(x:f64*)", "return a pointer"},
                 {"f64", "'(' is missing"},
                 {"f64(", "unknown role"},
                 {"f64(x:f64*", "',' or ')'"},
                 {"f64(x:f64*,)", "unknown role"},
                 {"f64(y:f64)", "unknown role 'y'"},
                 {"void(r:f64*, J:f64)", "must be pointers"},
                 {"f64(x f64*)", "unknown role"},
                 {"f64(x:f64)", "must be pointers"},
                 {"f64(n:f64)", "must be integers"},
                 {"f64(x0:i32)", "f64 or f32"},
                 {"f64(ctx:i32)", "ctx must be a pointer"},
                 {"f64(1.5:i32)", "does not fit"},
                 {"f64(-1:u64)", "does not fit"},
                 {"f64(3e9:i32)", "does not fit"},
                 {"f64(1e999:f64)", "unknown role"},
                 {"f64(x0:f64))", "unexpected text after"}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        if (signature_parse(wrong[k].text, &s, error) || !strstr(error, wrong[k].word)) {
            fail_msg("%s: %s", wrong[k].text, error);
        }
    }
    char many[1000] = "f64(";
    for (int i = 0; i < 65; i++) {
        strcat(many, i ? ",x:f64*" : "x:f64*");
    }
    assert_false(signature_parse(strcat(many, ")"), &s, error));
    assert_non_null(strstr(error, "64"));
}

/* ---- calls ---- */

/* The default: Bessel's J0 of the C library; its first minimum, and its gradient -J1. */
static void test_libm(void **state)
{
    fake_env e;
    double x = 3.8317059702075125, g;
    open_env(&e, NULL);
    assert_int_equal(e.info.flags, DS_INFO_NO_GRADIENT);
    assert_near(fake_eval(&e, &x, NULL, 0, NULL), -0.40275939570255297, 1e-15);
    assert_true(e.info.n == 1 && e.lower[0] == 0 && e.upper[0] == 20 && e.x0[0] == 10);
    fake_env_close(&e);
    open_env(&e, SETTINGS("gradient_symbol=j1", "gradient_signature=f64(x0:f64)", "gradient_factor=-1",
                          "factor=2"));
    assert_int_equal(e.info.flags, 0);
    for (x = 0.5; x < 20; x += 1.7) {
        assert_near(fake_eval(&e, &x, &g, 0, NULL), 2 * j0(x), 0);
        assert_near(g, -2 * j1(x), 0);
    }
    fake_env_close(&e);
    open_env(&e,
             SETTINGS("symbol=hypot", "signature=f64(x0:f64, x1:f64)", "lower=-1,-2", "upper=1", "x0=0.5"));
    double y[2] = {0.3, -0.4};
    assert_true(e.info.n == 2 && e.lower[1] == -2 && e.upper[1] == 1 && e.x0[1] == 0.5);
    assert_near(fake_eval(&e, y, NULL, 0, NULL), hypot(0.3, -0.4), 0);
    fake_env_close(&e);
}

/* Bitwise the same as a direct call, with every kind of signature. */
static void test_calls(void **state)
{
    fake_env e;
    const double at[2] = {1, 2}, x[2] = {0.3, -0.4};
    double g[2];
    uint32_t outcome;
    open_env(&e, SETTINGS(file, "symbol=rosen", "signature=f64(x:f64*, g:f64*)", "lower=-5,-5", "upper=5"));
    assert_true(fake_eval(&e, at, NULL, 0, NULL) == 100); /* 100 (2 - 1)^2 */
    assert_true(fake_eval(&e, at, g, 0, NULL) == 100 && g[0] == -400 && g[1] == 200);
    fake_env_close(&e);
    open_env(&e, SETTINGS(file, "symbol=rosen", "signature=f64(x:f64*, ctx:f64*)",
                          "gradient_symbol=rosen_gradient", "gradient_signature=void(x:f64*, g:f64*)",
                          "dim=2", "lower=-5", "upper=5"));
    assert_true(fake_eval(&e, at, g, 0, NULL) == 100 && g[0] == -400 && g[1] == 200);
    fake_env_close(&e);
    open_env(&e, SETTINGS(file, "symbol=fortran_sphere_", "signature=void(n:i32*, x:f64*, f:f64*)", "dim=2",
                          "floor=0"));
    assert_true(fake_eval(&e, x, NULL, 0, NULL) == 0.3 * 0.3 + 0.4 * 0.4 && e.info.loss_floor == 0);
    fake_env_close(&e);
    open_env(&e, SETTINGS(file, "symbol=float_sphere", "signature=f32(n:u64, x:f32*, g:f32*)", "dim=2"));
    assert_true(fake_eval(&e, x, g, 0, NULL) == (double)(0.3f * 0.3f + -0.4f * -0.4f) &&
                g[1] == (double)-0.8f);
    fake_env_close(&e);
    open_env(&e, SETTINGS(file, "symbol=mixed", "dim=2",
                          "signature=f64(x1:f64, x0:f64*, 7.5:f64, ctx:void*, -2:i64, 3:u32)"));
    assert_near(fake_eval(&e, at, NULL, 0, NULL), 2000 + 100 + 75 - 2 + 0.3, 1e-12);
    fake_env_close(&e);
    open_env(&e,
             SETTINGS(file, "symbol=fit", "signature=void(m:i64, x:f64*, r:f64*)", "residuals=4", "dim=2"));
    assert_true(fake_eval(&e, at, NULL, 0, NULL) == 1 + 2 * 2 + 1 * 1 + 2 * 2);
    fake_env_close(&e);
    open_env(&e, SETTINGS(file, "symbol=curve", "signature=void(m:i32, x:f64*, r:f64*, J:f64*)",
                          "residuals=7", "dim=2"));
    const double right[2] = {3, 0.5};
    assert_true(e.info.flags == 0 && fake_eval(&e, right, g, 0, NULL) == 0 && g[0] == 0 && g[1] == 0);
    fake_env_close(&e);
    open_env(&e,
             SETTINGS(file, "symbol=status_sphere", "signature=i32(n:i32, x:f64*, f:f64*, g:f64*)", "dim=2"));
    assert_true(fake_eval(&e, x, g, 0, &outcome) == 0.3 * 0.3 + 0.4 * 0.4 && g[0] == 0.6 &&
                outcome == DS_EVAL_OK);
    fake_eval(&e, at, g, 0, &outcome);
    assert_int_equal(outcome, DS_EVAL_DIVERGED);
    fake_env_close(&e);
}

/* ---- failures ---- */

static void test_failures(void **state)
{
    fake_env e;
    double left = 0.25, right = 0.75, g;
    uint32_t outcome;
    open_env(&e, SETTINGS(file, "symbol=nan_right", "upper=1"));
    assert_true(fake_eval(&e, &left, NULL, 0, &outcome) == 0.0625 && outcome == DS_EVAL_OK);
    fake_eval(&e, &right, NULL, 0, &outcome);
    assert_int_equal(outcome, DS_EVAL_DIVERGED);
    fake_env_close(&e);
    open_env(&e, SETTINGS(file, "symbol=huge_gradient", "signature=f64(x:f64*, g:f64*)"));
    assert_true(fake_eval(&e, &right, &g, 0, &outcome) == 0.75 && g == 0);
    assert_int_equal(outcome, DS_EVAL_BAD_GRAD);
    fake_env_close(&e);
    open_env(&e, SETTINGS(file, "symbol=writes_past", "signature=f64(x:f64*, g:f64*)"));
    assert_true(fake_eval(&e, &left, NULL, 0, NULL) == 0.25);
    ds_eval io = {.bad_step = -1, .want = DS_WANT_GRAD, .n = 1, .x = &left, .grad = &g};
    assert_int_equal(ds_eval_call(e.plugin->env, e.self, &io), DS_E_DATA);
    assert_non_null(strstr(e.host.error, "wrote outside"));
    fake_env_close(&e);
    open_env(&e, SETTINGS(file, "symbol=changes_x", "signature=f64(x:f64*)"));
    assert_true(fake_eval(&e, &left, NULL, 0, NULL) == 1.25 && left == 0.25); /* a copy */
    fake_env_close(&e);
    open_env(&e, SETTINGS(file, "symbol=rounds_up"));
    assert_true(fake_eval(&e, &left, NULL, 0, NULL) == 0.25);
    assert_int_equal(fegetround(), FE_TONEAREST);
    fake_env_close(&e);
}

static void refuse(const char *const *settings, const char *word)
{
    fake_env_refuses("envs/ffi", settings, word);
}

static void test_refused(void **state)
{
    refuse(SETTINGS("library=libnothing.so.7"), "libnothing.so.7: cannot open shared object file");
    refuse(SETTINGS("library=./libm.so.6"), "put a path in parameter file");
    refuse(SETTINGS("library="), "a name such as libm.so.6");
    refuse(SETTINGS("symbol=j00"), "not export 'j00'");
    refuse(SETTINGS("symbol="), "not export ''");
    refuse(SETTINGS(file, "symbol=a_variable"), "a variable, not a function");
    refuse(SETTINGS("signature=f64(x1:f64)"), "x1 does not exist: there are 1 variables");
    refuse(SETTINGS("signature=f64(x0)"), "':' is missing");
    refuse(SETTINGS("signature=void(x0:f64)"), "comes from 0 places");
    refuse(SETTINGS("signature=f64(x:f64*, f:f64*)"), "comes from 2 places");
    refuse(SETTINGS("signature=void(x:f64*, r:f64*)"), "residuals = 0");
    refuse(SETTINGS("residuals=3"), "no argument r");
    refuse(SETTINGS("signature=f64(x:f64*, J:f64*)"), "J goes with r");
    refuse(SETTINGS("gradient_symbol=j1"), "gradient_signature");
    refuse(SETTINGS("gradient_symbol=j1", "gradient_signature=void(x:f64*)"), "one argument g");
    refuse(SETTINGS("gradient_symbol=j1", "gradient_signature=f64(x0:f64)", "dim=2"), "cannot be returned");
    refuse(SETTINGS("gradient_symbol=nope", "gradient_signature=f64(x0:f64)"), "gradient_symbol = nope");
    refuse(SETTINGS("signature=f64(x:f64*, g:f64*)", "gradient_symbol=j1", "gradient_signature=f64(x0:f64)"),
           "already");
    refuse(SETTINGS("lower=1", "upper=0.5"), "make lower at most upper");
    refuse(SETTINGS("lower=0,0", "upper=1,1,1"), "lower has 2 values");
    refuse(SETTINGS("lower="), "lower is empty");
    refuse(SETTINGS("x0=21"), "x0 = 21");
}

RUN_TESTS_WITH(find_library, NULL, test_signatures, test_libm, test_calls, test_failures, test_refused)
