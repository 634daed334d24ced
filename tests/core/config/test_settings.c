/* SPDX-License-Identifier: Apache-2.0 */
/* test_settings.c - settings: .ini files and --set with their priority; conversion by a schema with every
 * type and refusal; texts that give the same values again; section [run]; numbers in another locale; near
 * names. */
#include "config/inifile.h"
#include "config/params.h"
#include "config/run_options.h"
#include "config/settings.h"
#include "test.h"

#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files and --set ---- */

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
    assert_int_equal(parse(&s,
                           "# comment\n; comment\n\n[run]\nenv = torus\nseed=18446744073709551615\n"
                           "[env] ; remark\nvariant: 2 ; remark\n\tempty =\n\n[opt]\nname = a;b # c\n[run] # "
                           "remark\nout = x y\n",
                           &e),
                     0);
    assert_string_equal(value(&s, DS_SECTION_RUN, "env"), "torus");
    assert_string_equal(value(&s, DS_SECTION_RUN, "seed"), "18446744073709551615");
    assert_string_equal(value(&s, DS_SECTION_RUN, "out"), "x y");
    /* A leading tab continues the value above. */
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
    assert_int_equal(parse(&s, "[env]\nlist = 1 2\n  3 4\n# in between\n\n\t5 ; remark\nnext = 6\n  7\n", &e),
                     0);
    assert_string_equal(value(&s, DS_SECTION_ENV, "list"), "1 2 3 4 5");
    assert_int_equal(ds_settings_find(&s, DS_SECTION_ENV, "list")->more, 3);
    assert_string_equal(value(&s, DS_SECTION_ENV, "next"), "6 7");
    ds_settings_clear(&s);
    /* After a section line there is no value to continue. */
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
    assert_int_equal(ds_settings_set(&s, "env.steps=20", &e), 0);
    assert_string_equal(value(&s, DS_SECTION_ENV, "steps"), "20");
    assert_string_equal(ds_settings_find(&s, DS_SECTION_ENV, "steps")->origin, "--set env.steps");
    assert_null(ds_settings_find(&s, DS_SECTION_ENV, "steps")->base);
    /* The last one has priority; surrounding blanks are removed; the value may contain '=' and '.'. */
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
        {"envs.steps=3", "unknown section 'envs': use run, env, opt, landscape, gradients or identify"},
        {".steps=3", "unknown section ''"},
        {"env.012345678901234567890123456789012345678901234567=1", "key has 48 bytes"},
        {"env.x=\xff", "UTF-8"},
        {"env.x=a\nb", "line break"},
    };
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
    assert_int_equal(ds_settings_set(&s, "env.a=3", &e), 0);
    assert_int_equal(ds_settings_parse(&s, file, strlen(file), "a.ini", NULL, &e), 3);
    assert_non_null(strstr(e.text, "set twice"));
    ds_settings_clear(&s);
    /* Two files that contradict each other are refused. */
    assert_int_equal(ds_settings_parse(&s, "[env]\na = 1\n", 12, "a.ini", NULL, &e), 0);
    assert_int_equal(ds_settings_parse(&s, "[env]\na = 1\n", 12, "b.ini", NULL, &e), 3);
    assert_non_null(strstr(e.text, "b.ini:2: 'a' is set twice (first at a.ini:2)"));
    ds_settings_clear(&s);
}

/* ---- conversion by a schema ---- */

static const char *const choices[] = {"soft", "hard", "frictionless", NULL};

static const ds_param *const schema[] = {
    DS_BOOL("flag", "false", "A truth."),
    DS_INT("steps", "50", 1, 1000, "", "A count."),
    DS_INT("any_int", "-3", -INFINITY, INFINITY, "", "Any whole number."),
    DS_REAL("mass", "1.5", 0, 10, "kg", "A number."),
    DS_REAL("limit", "inf", 0, INFINITY, "", "May be infinite."),
    DS_REAL("low", "-inf", -INFINITY, 0, "", "May be minus infinite."),
    DS_ENUM("contact", "soft", choices, "A choice."),
    DS_TEXT("label", "", "Any text."),
    DS_PATH("file", "", "A file."),
    DS_LIST("list", "1 2", -5, 5, 6, "m", "A list."),
    DS_LIST("long_list", "", -INFINITY, INFINITY, 0, "", "A list without limit."),
    DS_ARRAY("array", "", "Numbers."),
    NULL};

static const ds_param *const wrong[] = {DS_INT("steps", "many", 1, 9, "", ""), NULL};

static const ds_param *const required[] = {&(const ds_param){sizeof(ds_param), DS_PARAM_REAL,
                                                             DS_PARAM_REQUIRED, 0, 0, 9, "mass", "", "kg",
                                                             "Mass.", NULL},
                                           NULL};

static char dir[] = "/tmp/test_params.XXXXXX";

static int make_folder(void **state)
{
    char path[100];
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    snprintf(path, sizeof path, "%s/a.txt", dir);
    FILE *f = fopen(path, "w");
    fputs("1 2 3\n4 5 6\n", f);
    fclose(f);
    snprintf(path, sizeof path, "%s/bad.txt", dir);
    f = fopen(path, "w");
    fputs("1 2\n3\n", f);
    fclose(f);
    return 0;
}

static int remove_folder(void **state)
{
    char path[100];
    snprintf(path, sizeof path, "%s/a.txt", dir);
    unlink(path);
    snprintf(path, sizeof path, "%s/bad.txt", dir);
    unlink(path);
    return rmdir(dir);
}

/* Parameters of an .ini text whose folder is `dir`; NULL after a refusal. */
static ds_params *make(const char *ini, ds_error *e)
{
    ds_settings s = {0};
    ds_params *p = NULL;
    memset(e, 0, sizeof *e);
    int status = ds_settings_parse(&s, ini, strlen(ini), "a.ini", dir, e);
    if (status == 0) {
        status = ds_params_make(schema, "toy", &s, DS_SECTION_ENV, &p, e);
    }
    ds_settings_clear(&s);
    assert_true((status == 0) == (p != NULL));
    assert_int_equal(status, e->status);
    return p;
}

static void gives_the_defaults(void **state)
{
    ds_error e;
    ds_params *p = make("", &e);
    int64_t i = -1;
    double r = -1;
    const char *t = NULL;
    const double *list = NULL, *data = &r;
    uint64_t count = 9, ndim = 9, shape[8];
    assert_non_null(p);
    assert_int_equal(ds_params_int(p, "flag", &i), DS_OK);
    assert_int_equal(i, 0);
    assert_int_equal(ds_params_int(p, "steps", &i), DS_OK);
    assert_int_equal(i, 50);
    assert_int_equal(ds_params_real(p, "steps", &r), DS_OK);
    assert_true(r == 50.0);
    assert_int_equal(ds_params_int(p, "any_int", &i), DS_OK);
    assert_int_equal(i, -3);
    assert_int_equal(ds_params_real(p, "mass", &r), DS_OK);
    assert_true(r == 1.5);
    assert_int_equal(ds_params_real(p, "limit", &r), DS_OK);
    assert_true(r == HUGE_VAL);
    assert_int_equal(ds_params_real(p, "low", &r), DS_OK);
    assert_true(r == -HUGE_VAL);
    assert_int_equal(ds_params_int(p, "contact", &i), DS_OK);
    assert_int_equal(i, 0);
    assert_int_equal(ds_params_text(p, "contact", &t), DS_OK);
    assert_string_equal(t, "soft");
    assert_int_equal(ds_params_text(p, "file", &t), DS_OK);
    assert_string_equal(t, "");
    assert_int_equal(ds_params_list(p, "list", &list, &count), DS_OK);
    assert_int_equal(count, 2);
    assert_true(list[0] == 1 && list[1] == 2);
    assert_int_equal(ds_params_list(p, "long_list", &list, &count), DS_OK);
    assert_int_equal(count, 0);
    assert_int_equal(ds_params_array(p, "array", &data, &ndim, shape), DS_OK);
    assert_int_equal(ndim, 0);
    assert_null(data);
    assert_int_equal(ds_params_given(p, 0), 0);
    ds_params_free(p);
    ds_params_free(NULL);
}

static void refuses_wrong_access(void **state)
{
    ds_error e;
    ds_params *p = make("", &e);
    int64_t i = 77;
    double r = 77;
    const char *t = "kept";
    const double *list = NULL;
    uint64_t count = 77, shape[8];
    assert_int_equal(ds_params_int(p, "nothing", &i), DS_E_PARAM);
    assert_int_equal(ds_params_int(p, "mass", &i), DS_E_PARAM);
    assert_int_equal(ds_params_int(p, "label", &i), DS_E_PARAM);
    assert_int_equal(ds_params_real(p, "flag", &r), DS_E_PARAM);
    assert_int_equal(ds_params_real(p, "contact", &r), DS_E_PARAM);
    assert_int_equal(ds_params_text(p, "steps", &t), DS_E_PARAM);
    assert_int_equal(ds_params_text(p, "array", &t), DS_E_PARAM);
    assert_int_equal(ds_params_list(p, "array", &list, &count), DS_E_PARAM);
    assert_int_equal(ds_params_array(p, "list", &list, &count, shape), DS_E_PARAM);
    assert_true(i == 77 && r == 77 && strcmp(t, "kept") == 0 && count == 77);
    ds_params_free(p);
}

static void converts_every_type(void **state)
{
    char real[4096], want[4200];
    ds_error e;
    ds_params *p =
        make("[env]\nflag = on\nsteps = 1000\nany_int = -9007199254740992\nmass = 0.5e1\nlimit = inf\n"
             "low = -0.1\ncontact = hard\nlabel = two words = a:b\nfile = a.txt\nlist = 1e0,-2 .5\n 0*3\n"
             "array = ./a.txt\n",
             &e);
    int64_t i = 0;
    double r = 0;
    const char *t = NULL;
    const double *v = NULL;
    uint64_t n = 0, shape[8] = {0};
    if (p == NULL) {
        fail_msg("%s", e.text);
    }
    assert_int_equal(ds_params_int(p, "flag", &i), DS_OK);
    assert_int_equal(i, 1);
    assert_int_equal(ds_params_int(p, "steps", &i), DS_OK);
    assert_int_equal(i, 1000);
    assert_int_equal(ds_params_int(p, "any_int", &i), DS_OK);
    assert_true(i == -((int64_t)1 << 53));
    assert_int_equal(ds_params_real(p, "mass", &r), DS_OK);
    assert_true(r == 5.0);
    assert_int_equal(ds_params_int(p, "contact", &i), DS_OK);
    assert_int_equal(i, 1);
    assert_int_equal(ds_params_text(p, "label", &t), DS_OK);
    assert_string_equal(t, "two words = a:b");
    assert_int_equal(ds_params_text(p, "file", &t), DS_OK);
    assert_non_null(realpath(dir, real));
    snprintf(want, sizeof want, "%s/a.txt", dir);
    assert_string_equal(t, want);
    assert_int_equal(ds_params_list(p, "list", &v, &n), DS_OK);
    assert_int_equal(n, 6);
    assert_true(v[0] == 1 && v[1] == -2 && v[2] == 0.5 && v[3] == 0 && v[5] == 0);
    assert_int_equal(ds_params_array(p, "array", &v, &n, shape), DS_OK);
    assert_int_equal(n, 2);
    assert_true(shape[0] == 2 && shape[1] == 3 && v[5] == 6);
    assert_int_equal(ds_params_count(p), 12);
    assert_string_equal(ds_params_info(p, 1)->name, "steps");
    assert_int_equal(ds_params_given(p, 1), 1);
    assert_int_equal(ds_params_given(p, 10), 0);
    ds_params_free(p);
}

static void refuses_wrong_values(void **state)
{
    static const struct {
        const char *line, *part;
    } cases[] = {
        {"flag = maybe", "toy: flag = maybe: expected true or false"},
        {"flag = True", "expected true or false"},
        {"flag =", "expected true or false"},
        {"steps = many", "toy: steps = many: expected a whole number from 1 to 1000"},
        {"steps = 0", "from 1 to 1000"},
        {"steps = 1001", "from 1 to 1000"},
        {"steps = 1e2", "expected a whole number"},
        {"steps = 2.0", "expected a whole number"},
        {"steps = 0x10", "expected a whole number"},
        {"steps = 20 # twenty", "a comment after a value begins with ' ;'"},
        {"steps = 20\n  mass = 3", "line 3 is indented and so continues this value: only lists may continue"},
        {"any_int = 9223372036854775808", "expected a whole number"},
        {"any_int = 9007199254740993", "to 9007199254740992 (2^53)"},
        {"any_int = -9007199254740993", "from -9007199254740992"},
        {"mass = 10.5", "mass = 10.5: expected a number from 0 to 10"},
        {"mass = nan", "expected a number"},
        {"mass = -nan(1)", "expected a number"},
        {"mass = inf", "expected a number from 0 to 10"},
        {"mass = 0x1p1", "expected a number"},
        {"mass = 1,5", "expected a number"},
        {"mass = 1e", "expected a number"},
        {"mass = 1.5kg", "expected a number"},
        {"mass = --1", "expected a number"},
        {"mass = .", "expected a number"},
        {"mass =", "expected a number"},
        {"limit = 1e999", "of at least 0"},
        {"limit = infinity", "of at least 0"},
        {"limit = -1", "of at least 0"},
        {"low = 1e-300", "of at most 0"},
        {"contact = sofd", "expected one of soft, hard, frictionless; did you mean 'soft'?"},
        {"contact = friction", "did you mean 'frictionless'?"},
        {"contact =", "expected one of soft, hard, frictionless"},
        {"file = none.txt", "No such file"},
        {"file = .", "a folder"},
        {"file = a.txt/x", "Not a directory"},
        {"file = /dev/null", "not a regular file"},
        {"array = none.npy", "No such file"},
        {"array = bad.txt", "bad.txt"},
        {"list = 1 x 2", "element 2 ('x'): expected a number from -5 to 5"},
        {"list = 1 6", "element 2 ('6'): expected a number from -5 to 5"},
        {"list = 1*0", "element 1 ('1*0'): v*k repeats v k times"},
        {"list = 1*x", "v*k repeats"},
        {"list = *3", "element 1 ('*3')"},
        {"list = 1*2*2", "v*k repeats"},
        {"list = 1*7", "more than 6 elements"},
        {"list = 1 2 3 4 5 0 1", "more than 6 elements"},
        {"list = 1*9223372036854775807", "more than 6 elements"},
        {"long_list = 1*9223372036854775807", "more than 16777216 elements"},
        {"long_list = 0.00000000000000000000000000000000000000000000000000000000000000001", "element 1"},
        {"long_list = nan", "expected a number"},
        {"stepps = 3", "toy: unknown parameter 'stepps' in [env]; did you mean 'steps'?"},
        {"con = 3", "did you mean 'contact'?"},
        {"banana = 3", "`dshost help toy` lists them"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char ini[300];
        ds_error e;
        snprintf(ini, sizeof ini, "[env]\n%s\n", cases[i].line);
        assert_null(make(ini, &e));
        if (e.status != 3 || strncmp(e.text, "a.ini:2: ", 9) != 0 || strstr(e.text, cases[i].part) == NULL) {
            fail_msg("'%s' gives status %d, '%s'", cases[i].line, e.status, e.text);
        }
    }
}

static void refuses_text_that_a_file_cannot_hold(void **state)
{
    static const char *const bad[] = {"a ;b", ";b", "a\t;b"};
    static char text[8100];
    assert_null(ds_ini_text_problem("label", "a;b"));
    assert_null(ds_ini_text_problem("label", "# [x] = 'y'"));
    assert_null(ds_ini_text_problem("label", ""));
    assert_non_null(ds_ini_text_problem("label", " a"));
    assert_non_null(ds_ini_text_problem("label", "a\t"));
    assert_non_null(ds_ini_text_problem("label", "a\nb"));
    assert_non_null(ds_ini_text_problem("label", "a\x7f"));
    assert_non_null(ds_ini_text_problem("label", "\xff"));
    memset(text, 'x', sizeof text);
    text[8000 - 3 - 5] = '\0';
    assert_null(ds_ini_text_problem("label", text));
    text[8000 - 3 - 5] = 'x';
    text[8000 - 3 - 4] = '\0';
    assert_non_null(ds_ini_text_problem("label", text));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ds_settings s = {0};
        ds_params *p = NULL;
        ds_error e = {0};
        snprintf(text, sizeof text, "env.label=%s", bad[i]);
        assert_int_equal(ds_settings_set(&s, text, &e), 0);
        assert_int_equal(ds_params_make(schema, "toy", &s, DS_SECTION_ENV, &p, &e), 3);
        assert_non_null(strstr(e.text, "--set env.label: toy: label = "));
        ds_settings_clear(&s);
    }
}

static void status_follows_the_origin(void **state)
{
    ds_settings s = {0};
    ds_params *p = NULL;
    ds_error e = {0};
    assert_int_equal(ds_settings_add(&s, DS_SECTION_ENV, "steps", "x", "--steps", NULL, 2, DS_LAYER_FLAG, &e),
                     0);
    assert_int_equal(ds_params_make(schema, "toy", &s, DS_SECTION_ENV, &p, &e), 2);
    assert_non_null(strstr(e.text, "--steps: toy: steps = x"));
    ds_settings_clear(&s);
    /* A wrong default is an error of the plugin. */
    assert_int_equal(ds_params_make(wrong, "toy", &s, DS_SECTION_ENV, &p, &e), 4);
    assert_null(p);
}

static void required_parameters_must_be_there(void **state)
{
    ds_settings s = {0};
    ds_params *p = NULL;
    ds_error e = {0};
    assert_int_equal(ds_params_make(required, "toy", &s, DS_SECTION_ENV, &p, &e), 3);
    assert_non_null(strstr(e.text, "'mass' must be set"));
    assert_non_null(strstr(e.text, "--set env.mass="));
    assert_int_equal(ds_settings_set(&s, "env.mass=2", &e), 0);
    assert_int_equal(ds_params_make(required, "toy", &s, DS_SECTION_ENV, &p, &e), 0);
    ds_params_free(p);
    ds_settings_clear(&s);
    assert_int_equal(ds_params_make(NULL, "toy", &s, DS_SECTION_ENV, &p, &e), 0);
    assert_int_equal(ds_params_count(p), 0);
    ds_params_free(p);
}

static void relative_files_depend_on_the_layer(void **state)
{
    char cwd[4096], text[4200];
    ds_settings s = {0};
    ds_params *p = NULL;
    ds_error e = {0};
    const char *t = NULL;
    assert_non_null(getcwd(cwd, sizeof cwd));
    assert_int_equal(chdir(dir), 0);
    assert_int_equal(ds_settings_set(&s, "env.file=a.txt", &e), 0);
    assert_int_equal(ds_params_make(schema, "toy", &s, DS_SECTION_ENV, &p, &e), 0);
    assert_int_equal(ds_params_text(p, "file", &t), DS_OK);
    assert_non_null(getcwd(text, 4096));
    strcat(text, "/a.txt");
    assert_string_equal(t, text);
    assert_int_equal(chdir(cwd), 0);
    ds_params_free(p);
    ds_settings_clear(&s);
}

/* The output of ds_params_write_ini() gives the same parameters again. */
static void writes_what_it_reads(void **state)
{
    char *text = NULL, list[20000] = "[env]\nlong_list = ";
    size_t size = 0, used = strlen(list);
    ds_error e;
    for (int i = 0; i < 500; i++) {
        used += (size_t)sprintf(list + used, "%s%.17g", i % 5 == 4 ? "\n  " : " ", sin(i));
    }
    strcpy(list + used, "\nlist = 1*2, 3\nlabel = a;b # c\nfile = a.txt\nflag = yes\n");
    ds_params *p = make(list, &e), *q;
    assert_non_null(p);
    FILE *f = open_memstream(&text, &size);
    fputs("[env]\n", f);
    assert_int_equal(ds_params_write_ini(p, f), 0);
    fclose(f);
    q = make(text, &e);
    if (q == NULL) {
        fail_msg("%s", e.text);
    }
    const double *a, *b;
    uint64_t n, m;
    assert_int_equal(ds_params_list(p, "long_list", &a, &n), DS_OK);
    assert_int_equal(ds_params_list(q, "long_list", &b, &m), DS_OK);
    assert_int_equal(n, 500);
    assert_int_equal(m, 500);
    assert_memory_equal(a, b, 500 * sizeof *a);
    for (size_t i = 0; i < ds_params_count(p); i++) {
        if (ds_params_info(p, i)->type != DS_PARAM_LIST) {
            assert_string_equal(ds_params_value_text(p, i), ds_params_value_text(q, i));
        }
    }
    ds_params_free(p);
    ds_params_free(q);
    free(text);
}

/* ---- section [run] ---- */

static int options(const char *ini, ds_run_options *o, ds_error *e)
{
    ds_settings s = {0};
    memset(e, 0, sizeof *e);
    int status = ds_settings_parse(&s, ini, strlen(ini), "a.ini", "/some/folder", e);
    if (status == 0) {
        status = ds_run_options_make(&s, o, e);
    }
    ds_settings_clear(&s);
    return status;
}

static void converts_run_options(void **state)
{
    ds_run_options o;
    ds_error e;
    assert_int_equal(options("", &o, &e), 0);
    assert_string_equal(o.env, "");
    assert_int_equal(o.budget, 1000);
    assert_true(o.target == -HUGE_VAL && o.seconds == 0 && o.max_failed == 0.5 && o.timeout == 600);
    assert_true(o.seed == 0 && o.runs == 1 && o.jobs >= 1 && o.threads == 1 && o.pictures == 1);
    assert_int_equal(o.isolation, DS_ISOLATION_PROCESS);
    ds_run_options_clear(&o);
    assert_int_equal(
        options("[run]\nenv = ./my.so\nopt = rand\nseed = 18446744073709551615\nisolation = none\n"
                "jobs = 3\nx = 1 2*2\nout = here\npictures = no\n",
                &o, &e),
        0);
    assert_string_equal(o.env, "/some/folder/./my.so");
    assert_string_equal(o.opt, "rand");
    assert_true(o.seed == UINT64_MAX);
    assert_int_equal(o.jobs, 3);
    assert_int_equal(o.isolation, DS_ISOLATION_NONE);
    assert_int_equal(o.x_count, 3);
    assert_string_equal(o.out, "here");
    assert_int_equal(o.pictures, 0);
    ds_run_options_clear(&o);
}

static void refuses_wrong_run_options(void **state)
{
    static const struct {
        const char *line, *part;
    } cases[] = {
        {"seed = -1", "seed = -1: expected a whole number from 0 to 18446744073709551615"},
        {"seed = 18446744073709551616", "expected a whole number from 0"},
        {"seed = +1", "expected a whole number"},
        {"seed = 1.0", "expected a whole number"},
        {"seed =", "expected a whole number"},
        {"budget = 0", "budget = 0: expected a whole number from 1 to 1000000000000"},
        {"seconds = -1", "of at least 0"},
        {"isolation = fork", "expected one of process, none"},
        {"max_failed = 2", "from 0 to 1"},
        {"budgett = 3", "unknown parameter 'budgett' in [run]; did you mean 'budget'?"},
        {"banana = 3", "`dshost help run` lists them"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char ini[300];
        ds_run_options o;
        ds_error e;
        snprintf(ini, sizeof ini, "[run]\n%s\n", cases[i].line);
        int status = options(ini, &o, &e);
        if (status != 3 || strncmp(e.text, "a.ini:2: ", 9) != 0 || strstr(e.text, cases[i].part) == NULL) {
            fail_msg("'%s' gives status %d, '%s'", cases[i].line, status, e.text);
        }
    }
}

/* ---- text ---- */

static void parses_numbers(void **state)
{
    static const char *const good[] = {
        "0", "-0.", ".5", "1e5", "+1E-3", "123456789012345678901234567890", "4.9e-324"};
    static const char *const bad[] = {"",    "+",   "-",        ".",   "e5",    "1e",  "1 ",  " 1",   "1\n",
                                      "nan", "INF", "infinity", "0x1", "1e400", "1_0", "1,0", "1..2", "+-1"};
    double r = 77;
    int64_t i = 77;
    for (size_t k = 0; k < sizeof good / sizeof good[0]; k++) {
        assert_int_equal(ds_parse_real(good[k], &r), 1);
        assert_true(r == strtod(good[k], NULL));
    }
    r = 77;
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        if (ds_parse_real(bad[k], &r) != 0 || r != 77) {
            fail_msg("'%s' was taken for a number", bad[k]);
        }
    }
    assert_true(ds_parse_real("+inf", &r) && r == HUGE_VAL && ds_parse_real("-inf", &r) && r == -HUGE_VAL);
    assert_true(ds_parse_real("1e-400", &r) && r == 0);
    assert_true(ds_parse_int("-9223372036854775808", &i) && i == INT64_MIN);
    assert_true(ds_parse_int("+007", &i) && i == 7);
    i = 77;
    assert_false(ds_parse_int("9223372036854775808", &i) || ds_parse_int("", &i) || ds_parse_int("-", &i) ||
                 ds_parse_int(" 1", &i) || ds_parse_int("1 ", &i) || ds_parse_int("--1", &i));
    assert_int_equal(i, 77);
}

/* Builds the locale where the system has only its sources; skipped where that fails. */
static void parses_numbers_in_german(void **state)
{
    char command[300], path[100];
    double r = 0;
    snprintf(command, sizeof command,
             "localedef -i de_DE -f UTF-8 --no-warnings=ascii %s/de_DE.UTF-8 >%s/log 2>&1", dir, dir);
    int made = system(command);
    setenv("LOCPATH", dir, 1);
    int german = setlocale(LC_ALL, "de_DE.UTF-8") != NULL && strcmp(localeconv()->decimal_point, ",") == 0;
    int dot = ds_parse_real("0.5", &r), comma = ds_parse_real("0,5", &r);
    ds_error e;
    ds_params *p = make("[env]\nmass = 0.5\nlist = 0.5,1.5\n", &e);
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    snprintf(path, sizeof path, "%s/log", dir);
    unlink(path);
    snprintf(command, sizeof command, "rm -rf %s/de_DE.UTF-8", dir);
    made |= system(command);
    assert_non_null(p);
    const double *list;
    uint64_t n = 0;
    double mass = 0;
    assert_int_equal(ds_params_real(p, "mass", &mass), DS_OK);
    assert_int_equal(ds_params_list(p, "list", &list, &n), DS_OK);
    assert_true(mass == 0.5 && n == 2 && list[1] == 1.5);
    ds_params_free(p);
    assert_int_equal(dot, 1);
    assert_int_equal(comma, 0);
    assert_true(r == 0.5);
    if (!german || made != 0) {
        skip();
    }
}

static void finds_near_names(void **state)
{
    static const char *const known[] = {"steps", "segments", "softness", "target", "n", "grid"};
    static const struct {
        const char *word, *near;
    } cases[] = {{"step", "steps"},      {"setps", "steps"},   {"STEPS", NULL}, {"softnes", "softness"},
                 {"trget", "target"},    {"seg", "segments"},  {"s", NULL},     {"m", NULL},
                 {"gird", "grid"},       {"", NULL},           {"xyzzy", NULL}, {"so", "softness"},
                 {"segmentation", NULL}, {"targets", "target"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *near = ds_nearest(cases[i].word, known, 6);
        if ((near == NULL) != (cases[i].near == NULL) || (near != NULL && strcmp(near, cases[i].near) != 0)) {
            fail_msg("'%s' gives '%s'", cases[i].word, near != NULL ? near : "(none)");
        }
    }
    char huge[200];
    memset(huge, 'x', sizeof huge);
    huge[199] = '\0';
    assert_null(ds_nearest(huge, known, 6));
    assert_null(ds_nearest("steps", known, 0));
}

static void cleans_text(void **state)
{
    char text[] = "a\nb\tc\x1b[1m\xff\xc3\xa4\xe2\x82";
    assert_false(ds_text_is_line(text, strlen(text)));
    ds_text_clean(text);
    assert_string_equal(text, "a b\tc [1m?\xc3\xa4??");
    assert_true(ds_text_is_line(text, strlen(text)));
    assert_int_equal(ds_utf8_length("\xf0\x9f\x98\x80", 4), 4);
    assert_int_equal(ds_utf8_length("\xf0\x9f\x98\x80", 3), 0);
    assert_int_equal(ds_utf8_length("\xf8\x88\x80\x80\x80", 5), 0);
    assert_int_equal(ds_utf8_length("\x80", 1), 0);
}

RUN_TESTS_WITH(make_folder, remove_folder, accepts_the_usual, accepts_bom_crlf_and_no_last_newline,
               joins_indented_lines, joins_many_lines_quickly, limits_lines, keeps_every_byte_of_long_lines,
               refuses_bad_lines, refuses_large_files, reads_files, shortens_long_names, takes_assignments,
               refuses_bad_assignments, layers_do_not_depend_on_order, duplicates_are_found_below_a_flag,
               gives_the_defaults, refuses_wrong_access, converts_every_type, refuses_wrong_values,
               refuses_text_that_a_file_cannot_hold, status_follows_the_origin,
               required_parameters_must_be_there, relative_files_depend_on_the_layer, writes_what_it_reads,
               converts_run_options, refuses_wrong_run_options, parses_numbers, parses_numbers_in_german,
               finds_near_names, cleans_text)
