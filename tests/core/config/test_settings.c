/* SPDX-License-Identifier: Apache-2.0 */
/* test_settings.c - .ini files and --set: what is accepted, in which order it counts, and that every refusal
 * says file, line and reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/inifile.h"
#include "config/settings.h"

static int parse(ds_settings *s, const char *text, ds_error *e)
{
    memset(s, 0, sizeof *s);
    memset(e, 0, sizeof *e);
    return ds_settings_parse(s, text, strlen(text), "a.ini", "/base", e);
}

static const char *value(const ds_settings *s, int section, const char *key)
{
    const ds_setting *found = ds_settings_find(s, section, key);
    return found != NULL ? found->value : NULL;
}

/* The text is refused with status 3, and the message begins with `begin` and contains `part`. */
static void refused_bytes(const char *text, size_t length, const char *begin, const char *part)
{
    ds_settings s = {0};
    ds_error e = {0};
    assert_int_equal(ds_settings_parse(&s, text, length, "a.ini", NULL, &e), 3);
    assert_int_equal(e.status, 3);
    if (strncmp(e.text, begin, strlen(begin)) != 0 || strstr(e.text, part) == NULL ||
        strchr(e.text, '\n') != NULL) {
        fail_msg("message '%s' for a text that should give '%s ... %s'", e.text, begin, part);
    }
    ds_settings_clear(&s);
}

static void refused(const char *text, const char *begin, const char *part)
{
    refused_bytes(text, strlen(text), begin, part);
}

static void accepts_the_usual(void **state)
{
    ds_settings s;
    ds_error e;
    (void)state;
    assert_int_equal(parse(&s,
                           "# comment\n; comment\n\n[run]\nenv = torus\nseed=18446744073709551615\n"
                           "[env] ; remark\nvariant: 2 ; remark\n\tempty =\n\n[opt]\nname = a;b # c\n[run] # "
                           "remark\nout = x y\n",
                           &e),
                     0);
    assert_string_equal(value(&s, DS_SECTION_RUN, "env"), "torus");
    assert_string_equal(value(&s, DS_SECTION_RUN, "seed"), "18446744073709551615");
    assert_string_equal(value(&s, DS_SECTION_RUN, "out"), "x y");
    /* A tab in front makes it go on with the value above. */
    assert_string_equal(value(&s, DS_SECTION_ENV, "variant"), "2 empty =");
    assert_string_equal(value(&s, DS_SECTION_OPT, "name"), "a;b # c");
    assert_null(value(&s, DS_SECTION_OPT, "env"));
    const ds_setting *v = ds_settings_find(&s, DS_SECTION_RUN, "env");
    assert_string_equal(v->origin, "a.ini:5");
    assert_string_equal(v->base, "/base");
    assert_int_equal(v->status, 3);
    assert_int_equal(v->layer, DS_LAYER_FILE);
    assert_int_equal(v->more, 0);
    ds_settings_clear(&s);
    assert_null(value(&s, DS_SECTION_RUN, "env"));
}

static void accepts_bom_crlf_and_no_last_newline(void **state)
{
    ds_settings s;
    ds_error e;
    (void)state;
    assert_int_equal(
        parse(&s, "\xef\xbb\xbf[run]\r\nout = \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\r\nenv = torus", &e), 0);
    assert_string_equal(value(&s, DS_SECTION_RUN, "out"), "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    assert_string_equal(value(&s, DS_SECTION_RUN, "env"), "torus");
    ds_settings_clear(&s);
    assert_int_equal(parse(&s, "", &e), 0);
    ds_settings_clear(&s);
    refused("[run]\n\xef\xbb\xbf"
            "env = x\nenv",
            "a.ini:3", "KEY = VALUE");
}

static void joins_indented_lines(void **state)
{
    ds_settings s;
    ds_error e;
    (void)state;
    assert_int_equal(parse(&s, "[env]\nlist = 1 2\n  3 4\n# in between\n\n\t5 ; remark\nnext = 6\n  7\n", &e),
                     0);
    assert_string_equal(value(&s, DS_SECTION_ENV, "list"), "1 2 3 4 5");
    assert_int_equal(ds_settings_find(&s, DS_SECTION_ENV, "list")->more, 3);
    assert_string_equal(value(&s, DS_SECTION_ENV, "next"), "6 7");
    ds_settings_clear(&s);
    /* Behind a section there is nothing to go on with. */
    assert_int_equal(parse(&s, "[env]\n  steps = 3\n", &e), 0);
    assert_string_equal(value(&s, DS_SECTION_ENV, "steps"), "3");
    ds_settings_clear(&s);
}

static void joins_many_lines_quickly(void **state)
{
    /* A file of 1 MiB of short lines must not cost quadratic time. */
    size_t lines = 340000, used;
    char *text = malloc(64 + 3 * lines);
    ds_settings s = {0};
    ds_error e = {0};
    (void)state;
    assert_non_null(text);
    used = (size_t)sprintf(text, "[env]\nlist = 0\n");
    for (size_t i = 0; i < lines; i++) {
        memcpy(text + used, " 1\n", 3);
        used += 3;
    }
    assert_int_equal(ds_settings_parse(&s, text, used, "a.ini", NULL, &e), 0);
    assert_int_equal(strlen(value(&s, DS_SECTION_ENV, "list")), 1 + 2 * lines);
    ds_settings_clear(&s);
    free(text);
}

static void limits_lines(void **state)
{
    static char text[DS_INI_LINE_LIMIT + 100], line[DS_INI_LINE_LIMIT + 2];
    ds_settings s;
    ds_error e;
    (void)state;
    memset(line, 'x', sizeof line);
    memcpy(line, "out = ", 6);
    line[DS_INI_LINE_LIMIT] = '\0';
    snprintf(text, sizeof text, "[run]\n%s\n", line);
    assert_int_equal(parse(&s, text, &e), 0);
    assert_int_equal(strlen(value(&s, DS_SECTION_RUN, "out")), DS_INI_LINE_LIMIT - 6);
    ds_settings_clear(&s);
    snprintf(text, sizeof text, "[run]\n%s\r\n", line);
    assert_int_equal(parse(&s, text, &e), 0);
    ds_settings_clear(&s);
    line[DS_INI_LINE_LIMIT] = 'x';
    line[DS_INI_LINE_LIMIT + 1] = '\0';
    snprintf(text, sizeof text, "[run]\nseed = 1\n%s\n", line);
    refused(text, "a.ini:3: ", "8000");
    /* Comments, too. */
    line[0] = '#';
    snprintf(text, sizeof text, "%s\n[run]\n", line);
    refused(text, "a.ini:1: ", "8000");
}

/* Long lines reach inih in pieces: blanks, '=' and '[' at a cut are kept, whatever the lengths before it. */
static void keeps_every_byte_of_long_lines(void **state)
{
    static const char *const parts[] = {" ", "=", "[x]", ":", "#", "\xc3\xa4", "a;b", "  "};
    (void)state;
    for (size_t before = 150; before < 400; before++) {
        char text[2000], expected[1000];
        size_t n = 0;
        ds_settings s;
        ds_error e;
        for (size_t k = 0; k < before; k++) {
            expected[n++] = 'x';
        }
        for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
            n += (size_t)snprintf(expected + n, sizeof expected - n, "%sy", parts[k]);
        }
        snprintf(text, sizeof text, "[run]\nout = %s ; remark %0300d\nseed = 1\n", expected, 0);
        assert_int_equal(parse(&s, text, &e), 0);
        assert_string_equal(value(&s, DS_SECTION_RUN, "out"), expected);
        ds_settings_clear(&s);
        snprintf(text, sizeof text, "[run]  ; %0300d\nout =%*s%s\n# %0300d\nseed = 1\n", 0, (int)before, "",
                 expected, 0);
        assert_int_equal(parse(&s, text, &e), 0);
        assert_string_equal(value(&s, DS_SECTION_RUN, "out"), expected);
        assert_string_equal(value(&s, DS_SECTION_RUN, "seed"), "1");
        ds_settings_clear(&s);
    }
}

static void refuses_bad_lines(void **state)
{
    (void)state;
    refused_bytes("[run]\nout = a\0b\n", 16, "a.ini:2: ", "NUL");
    refused("[run]\nout = \xff\n", "a.ini:2: ", "UTF-8");
    refused("[run]\nout = \xc0\xaf\n", "a.ini:2: ", "UTF-8");         /* overlong */
    refused("[run]\nout = \xed\xa0\x80\n", "a.ini:2: ", "UTF-8");     /* surrogate */
    refused("[run]\nout = \xf4\x90\x80\x80\n", "a.ini:2: ", "UTF-8"); /* above 10FFFF */
    refused("[run]\nout = \xe2\x82\n", "a.ini:2: ", "UTF-8");         /* cut */
    refused("[run]\nout = a\x1b[1m\n", "a.ini:2: ", "control");
    refused("[run]\n\venv = a\n", "a.ini:2: ", "control");
    refused("\n[walk]\n", "a.ini:2: ", "unknown section [walk]");
    refused("[]\n", "a.ini:1: ", "unknown section []");
    refused("[0123456789012345678901234567890123456789012345678901234567890123456789]\n",
            "a.ini:1: ", "longer than 47 bytes: split it, or use");
    refused("[run\nenv = x\n", "a.ini:1: ", "]");
    refused("[run] env = x\n", "a.ini:1: ", "after ']'");
    refused("[env]\nsteps = 3\n  [run]\n", "a.ini:3: ", "indented section");
    refused("steps = 3\n[env]\n", "a.ini:1: ", "before the first section");
    refused("[env]\nsteps\n", "a.ini:2: ", "KEY = VALUE");
    refused("[env]\nsteps ; = 3\n", "a.ini:2: ", "KEY = VALUE");
    refused("[env]\n= 3\n", "a.ini:2: ", "without a key");
    refused("[env]\nsteps = 3\n\nsteps = 4\n", "a.ini:4: ", "'steps' is set twice (first at a.ini:2)");
    refused("[env]\n012345678901234567890123456789012345678901234567 = 1\n", "a.ini:2: ", "47");
}

static void refuses_large_files(void **state)
{
    size_t size = (1 << 20) + 1;
    char *text = malloc(size);
    ds_settings s = {0};
    ds_error e = {0};
    (void)state;
    assert_non_null(text);
    memset(text, '\n', size);
    assert_int_equal(ds_settings_parse(&s, text, size - 1, "a.ini", NULL, &e), 0);
    refused_bytes(text, size, "a.ini: ", "1048576");
    /* More keys than any schema has. */
    size_t used = (size_t)sprintf(text, "[env]\n");
    for (int i = 0; i < 5000; i++) {
        used += (size_t)sprintf(text + used, "key%d = 1\n", i);
    }
    refused_bytes(text, used, "a.ini:4098: ", "4096 keys");
    free(text);
}

static void reads_files(void **state)
{
    char dir[] = "/tmp/test_settings.XXXXXX", path[64], fifo[64];
    ds_settings s = {0};
    ds_error e = {0};
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/x.ini", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("[env]\ntarget = a.npy\n", f);
    fclose(f);
    assert_int_equal(ds_settings_read(&s, path, &e), 0);
    char *real = realpath(dir, NULL);
    assert_string_equal(ds_settings_find(&s, DS_SECTION_ENV, "target")->base, real);
    free(real);
    ds_settings_clear(&s);

    assert_int_equal(ds_settings_read(&s, dir, &e), 3);
    assert_non_null(strstr(e.text, "a folder"));
    assert_int_equal(ds_settings_read(&s, "/nonexistent/x.ini", &e), 3);
    assert_non_null(strstr(e.text, "/nonexistent/x.ini: cannot be opened: No such file"));
    snprintf(fifo, sizeof fifo, "%s/fifo", dir);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(ds_settings_read(&s, fifo, &e), 3); /* and does not wait for a writer */
    assert_non_null(strstr(e.text, "not a regular file"));
    assert_int_equal(truncate(path, (1 << 20) + 1), 0);
    assert_int_equal(ds_settings_read(&s, path, &e), 3);
    assert_non_null(strstr(e.text, "1048576"));
    if (geteuid() != 0) {
        assert_int_equal(chmod(path, 0), 0);
        assert_int_equal(ds_settings_read(&s, path, &e), 3);
        assert_non_null(strstr(e.text, "ermission"));
    }
    unlink(fifo);
    unlink(path);
    rmdir(dir);
}

static void shortens_long_names(void **state)
{
    char name[5000];
    ds_settings s = {0};
    ds_error e = {0};
    (void)state;
    memset(name, 'n', sizeof name);
    strcpy(name + sizeof name - 7, "/x.ini");
    assert_int_equal(ds_settings_parse(&s, "[run]\nenv\n", 10, name, NULL, &e), 3);
    assert_non_null(strstr(e.text, "/x.ini:2: expected KEY = VALUE"));
    ds_settings_clear(&s);
}

static void takes_assignments(void **state)
{
    ds_settings s = {0};
    ds_error e = {0};
    (void)state;
    assert_int_equal(ds_settings_set(&s, "env.steps=20", &e), 0);
    assert_string_equal(value(&s, DS_SECTION_ENV, "steps"), "20");
    assert_string_equal(ds_settings_find(&s, DS_SECTION_ENV, "steps")->origin, "--set env.steps");
    assert_null(ds_settings_find(&s, DS_SECTION_ENV, "steps")->base);
    /* The last one wins; blanks around are dropped; '=' and '.' may be in the value. */
    assert_int_equal(ds_settings_set(&s, "env. steps = 30 ", &e), 0);
    assert_string_equal(value(&s, DS_SECTION_ENV, "steps"), "30");
    assert_int_equal(s.section[DS_SECTION_ENV].count, 1);
    assert_int_equal(ds_settings_set(&s, "opt.name=a=b.c", &e), 0);
    assert_string_equal(value(&s, DS_SECTION_OPT, "name"), "a=b.c");
    assert_int_equal(ds_settings_set(&s, "run.out=", &e), 0);
    assert_string_equal(value(&s, DS_SECTION_RUN, "out"), "");
    ds_settings_clear(&s);
}

static void refuses_bad_assignments(void **state)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "SECTION.KEY=VALUE"},
        {"steps=3", "SECTION.KEY=VALUE"},
        {"env.steps", "SECTION.KEY=VALUE"},
        {"steps=env.x", "SECTION.KEY=VALUE"},
        {"env.=3", "key has 0 bytes"},
        {"env. =3", "key has 0 bytes"},
        {"envs.steps=3", "unknown section 'envs': use run, env, opt, landscape or gradients"},
        {".steps=3", "unknown section ''"},
        {"env.012345678901234567890123456789012345678901234567=1", "key has 48 bytes"},
        {"env.x=\xff", "UTF-8"},
        {"env.x=a\nb", "line break"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ds_settings s = {0};
        ds_error e = {0};
        assert_int_equal(ds_settings_set(&s, cases[i].text, &e), 3);
        if (strncmp(e.text, "--set ", 6) != 0 || strstr(e.text, cases[i].part) == NULL ||
            strchr(e.text, '\n') != NULL) {
            fail_msg("message '%s' for '%s'", e.text, cases[i].text);
        }
        assert_int_equal(s.section[DS_SECTION_ENV].count, 0);
        ds_settings_clear(&s);
    }
}

static void layers_do_not_depend_on_order(void **state)
{
    static const char file[] = "[env]\na = file\nb = file\nc = file\n";
    (void)state;
    for (int order = 0; order < 6; order++) {
        static const int permutation[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                              {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
        ds_settings s = {0}, copy = {0};
        ds_error e = {0};
        for (int k = 0; k < 3; k++) {
            int status = 0;
            switch (permutation[order][k]) {
            case 0:
                status = ds_settings_parse(&s, file, strlen(file), "a.ini", NULL, &e);
                break;
            case 1:
                status = ds_settings_set(&s, "env.a=set", &e) + ds_settings_set(&s, "env.b=set", &e);
                break;
            default:
                status = ds_settings_add(&s, DS_SECTION_ENV, "a", "old", "--a", NULL, 2, DS_LAYER_FLAG, &e) +
                         ds_settings_add(&s, DS_SECTION_ENV, "a", "flag", "--a", NULL, 2, DS_LAYER_FLAG, &e);
            }
            assert_int_equal(status, 0);
        }
        assert_int_equal(ds_settings_copy(&copy, &s, &e), 0);
        ds_settings_clear(&s);
        assert_string_equal(value(&copy, DS_SECTION_ENV, "a"), "flag");
        assert_string_equal(value(&copy, DS_SECTION_ENV, "b"), "set");
        assert_string_equal(value(&copy, DS_SECTION_ENV, "c"), "file");
        assert_int_equal(ds_settings_find(&copy, DS_SECTION_ENV, "a")->status, 2);
        ds_settings_clear(&copy);
    }
}

static void duplicates_are_found_below_a_flag(void **state)
{
    static const char file[] = "[env]\na = 1\na = 2\n";
    ds_settings s = {0};
    ds_error e = {0};
    (void)state;
    assert_int_equal(ds_settings_set(&s, "env.a=3", &e), 0);
    assert_int_equal(ds_settings_parse(&s, file, strlen(file), "a.ini", NULL, &e), 3);
    assert_non_null(strstr(e.text, "set twice"));
    ds_settings_clear(&s);
    /* Two files may not contradict each other either. */
    assert_int_equal(ds_settings_parse(&s, "[env]\na = 1\n", 12, "a.ini", NULL, &e), 0);
    assert_int_equal(ds_settings_parse(&s, "[env]\na = 1\n", 12, "b.ini", NULL, &e), 3);
    assert_non_null(strstr(e.text, "b.ini:2: 'a' is set twice (first at a.ini:2)"));
    ds_settings_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_the_usual),
        cmocka_unit_test(accepts_bom_crlf_and_no_last_newline),
        cmocka_unit_test(joins_indented_lines),
        cmocka_unit_test(joins_many_lines_quickly),
        cmocka_unit_test(limits_lines),
        cmocka_unit_test(keeps_every_byte_of_long_lines),
        cmocka_unit_test(refuses_bad_lines),
        cmocka_unit_test(refuses_large_files),
        cmocka_unit_test(reads_files),
        cmocka_unit_test(shortens_long_names),
        cmocka_unit_test(takes_assignments),
        cmocka_unit_test(refuses_bad_assignments),
        cmocka_unit_test(layers_do_not_depend_on_order),
        cmocka_unit_test(duplicates_are_found_below_a_flag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
