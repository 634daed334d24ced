/* SPDX-License-Identifier: Apache-2.0 */
/* test_recording.c - recordings as text and as NumPy files: what is read of them, and one line for whatever
 * is wrong; how far a motion is from one. */
#include "engines/data/recording.h"
#include "temporary.h"
#include "test.h"

#include <zlib.h>
#include <zlib.h>

/* The values of a text, row by row; NAN where a value is missing. */
static void reads(const char *text, recording_request q, uint64_t rows, uint64_t columns, const double *want)
{
    recording r;
    char error[RECORDING_ERROR];
    if (recording_parse(&r, &q, text, strlen(text), 0, error) != RECORDING_OK) {
        fail_msg("'%s': %s", text, error);
    }
    assert_int_equal(r.rows, rows);
    assert_int_equal(r.columns, columns);
    for (uint64_t k = 0; k < rows * columns; k++) {
        assert_true(isnan(want[k]) ? isnan(r.value[k]) : !(fabs(r.value[k] - want[k]) > 0));
    }
    recording_free(&r);
}

static void texts(void **state)
{
    const double three[] = {2, 1, 4, 3, 6, 5}, missing[] = {1, (double)NAN, (double)NAN, 4};
    const recording_request turned = {.columns = "2 1", .time = ""}, named = {.columns = "b, a", .time = ""};
    reads("1,2\n3,4\n5,6\n", turned, 3, 2, three);
    reads("# of a pendulum\n\na;b\r\n1;2\r\n3;4\r\n5;6", named, 3, 2, three);
    reads("\"a\", \"b\", c\n1,2,x1\n3,4,\n5,6,y", named, 3, 2,
          three); /* a column of words that was not requested */
    reads("  1\t2\n3 4 # here\n+5 6.0e0\n", turned, 3, 2, three);
    reads("1,2\n3,4\n5,6\n", (recording_request){.columns = "2 1", .time = "", .first = 1, .rows = 1}, 1, 2,
          three + 2);
    reads("1,\nnan,4\n", (recording_request){.columns = "1 2", .time = ""}, 2, 2, missing);
    reads("1 NA\nnull 4\n", (recording_request){.columns = "1 2", .time = ""}, 2, 2, missing);
    reads("1,2\n3,4\nwhat follows is not read\n", (recording_request){.columns = "1", .time = "", .rows = 2},
          2, 1, (const double[]){1, 3});
}

static void refuses(const void *bytes, size_t length, recording_request q, const char *word)
{
    recording r;
    char error[RECORDING_ERROR];
    assert_int_equal(recording_parse(&r, &q, bytes, length, 0, error), RECORDING_MALFORMED);
    assert_true(r.value == NULL && r.rows == 0);
    if (strstr(error, word) == NULL) {
        fail_msg("'%s' instead of '%s'", error, word);
    }
}

static void bad_texts(void **state)
{
    static const struct {
        const char *text, *columns, *time, *word;
    } at[] = {{"", "1", "", "0 rows"},
              {"a,b\n", "1", "", "0 rows"},
              {"1,2\n3\n", "1", "", "line 2 has 1 columns, the first row has 2"},
              {"1,2\n3,4x\n", "2", "", "line 2, column 2: '4x' is not a number"},
              {"1,2\n3,0x4\n", "2", "", "not a number"},
              {"1,2\n3,4\n", "3", "", "no column '3' among its 2"},
              {"1,2\n3,4\n", "a", "", "number them from 1"},
              {"a,b\n3,4\n", "c", "", "no column 'c'"},
              {"a,b\n3,4\n", "", "", "no column is requested"},
              {"a,b\n3,4\n", "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "", "more than 16"},
              {"1,1e13\n3,4\n", "2", "", "not a measured value"},
              {"1,1e999\n3,4\n", "2", "", "not a measured value"},
              {"0,1\n1,2\n1,3\n", "2", "1", "row 3: time 1 comes after 1"},
              {"0,1\n,2\n", "2", "1", "row 2: the time is missing"}};
    for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
        refuses(at[k].text, strlen(at[k].text),
                (recording_request){.columns = at[k].columns, .time = at[k].time}, at[k].word);
    }
    refuses("1,2\n\0,3\n", 8, (recording_request){.columns = "1", .time = ""}, "line 2");
    refuses("1\n2\n", 4, (recording_request){.columns = "1", .time = "", .first = 5},
            "2 rows of numbers, but row 6");
    static char line[5000];
    memset(line, '1', sizeof line);
    refuses(line, sizeof line, (recording_request){.columns = "1", .time = ""}, "too long");
}

/* ---- files of the corpus, which NumPy would read alike ---- */

static const char *corpus(const char *name)
{
    static char path[4096];
    const char *top = getenv("DS_TOP_SRC");
    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/recording/%s", top != NULL ? top : ".", name);
    return path;
}

static void arrays(void **state)
{
    static const char *const archives[] = {"stored.npz", "packed.npz"};
    recording r;
    char error[RECORDING_ERROR];
    const recording_request table = {.columns = "3 2", .time = "1", .first = 1, .rows = 2};
    assert_int_equal(recording_read(&r, &table, corpus("table.npy"), error), RECORDING_OK);
    assert_int_equal(r.rows, 2);
    assert_true(r.value[0] == 4 && r.value[1] == 3 && r.value[2] == 6 && r.value[3] == 5 && r.time[1] == 0.2);
    recording_free(&r);
    const recording_request whole = {.columns = "1", .time = ""};
    assert_int_equal(recording_read(&r, &whole, corpus("whole.npy"), error), RECORDING_OK);
    assert_true(r.rows == 5 && r.value[4] == 5);
    recording_free(&r);
    for (int k = 0; k < 2; k++) {
        const recording_request members = {.columns = "b.2 a b", .time = "t", .first = 3};
        assert_int_equal(recording_read(&r, &members, corpus(archives[k]), error), RECORDING_OK);
        assert_true(r.rows == 2 && r.columns == 3 && r.time[0] == 3);
        assert_true(r.value[3] == 9 && r.value[4] == 5 && r.value[5] == 8);
        recording_free(&r);
        const recording_request others[] = {{.columns = "c", .time = ""}, {.columns = "b.3", .time = ""}};
        assert_int_equal(recording_read(&r, &others[0], corpus(archives[k]), error), RECORDING_MALFORMED);
        assert_non_null(strstr(error, "no array 'c'"));
        assert_int_equal(recording_read(&r, &others[1], corpus(archives[k]), error), RECORDING_MALFORMED);
        assert_non_null(strstr(error, "no column 'b.3' among its 2"));
    }
}

/* A member name with a zero byte is not the name before the zero. */
static void name_with_zero(void **state)
{
    enum { LOCAL = 30, CENTRAL = 46, NAME = 200, END = 22 };
    unsigned char archive[LOCAL + CENTRAL + NAME + END] = "PK\3\4";
    unsigned char *entry = archive + LOCAL, *end = entry + CENTRAL + NAME;
    memcpy(entry, "PK\1\2", 4);
    entry[28] = NAME;
    memset(entry + CENTRAL, 'A', NAME);
    memcpy(entry + CENTRAL, "a", 2);
    memcpy(end, "PK\5\6", 4);
    end[10] = 1;
    end[16] = LOCAL;
    refuses(archive, sizeof archive, (recording_request){.columns = "a", .time = ""}, "no array 'a'");
}

/* Every byte of an archive matters, except names and times. */
static void damaged_arrays(void **state)
{
    static const char *const files[] = {"table.npy", "stored.npz", "packed.npz"};
    for (int k = 0; k < 3; k++) {
        size_t length;
        char error[RECORDING_ERROR];
        unsigned char *bytes = temporary_read(corpus(files[k]), &length);
        const recording_request q = {.columns = k == 0 ? "1" : "a b.2", .time = ""};
        for (size_t cut = 7; cut < length; cut++) {
            recording r;
            assert_int_equal(recording_parse(&r, &q, bytes, cut, 0, error), RECORDING_MALFORMED);
            assert_true(error[0] != '\0' && strchr(error, '\n') == NULL);
        }
        free(bytes);
    }
}

/* A sparse file of 10 GB; one of which only the beginning is requested; a folder; no file. */
static void files(void **state)
{
    temporary folder;
    recording r;
    char error[RECORDING_ERROR];
    const recording_request first = {.columns = "2", .time = "", .rows = 2},
                            all = {.columns = "2", .time = ""};
    temporary_open(&folder);
    const char *path = temporary_path(&folder, "hole.csv");
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(fputs("1,2\n3,4\n", f) >= 0 && fflush(f) == 0);
    if (ftruncate(fileno(f), (off_t)10 << 30) == 0) {
        assert_int_equal(recording_read(&r, &first, path, error), RECORDING_OK);
        assert_true(r.rows == 2 && r.value[1] == 4);
        recording_free(&r);
        assert_int_equal(recording_read(&r, &all, path, error), RECORDING_MALFORMED);
        assert_non_null(strstr(error, "line 3"));
    }
    fclose(f);
    gzFile z = gzopen(temporary_path(&folder, "text.csv.gz"), "wb");
    assert_true(z != NULL && gzputs(z, "1,2\n3,4\n5,6\n") > 0 && gzclose(z) == Z_OK);
    assert_int_equal(recording_read(&r, &all, folder.path, error), RECORDING_OK);
    assert_true(r.rows == 3 && r.value[2] == 6);
    recording_free(&r);
    assert_int_equal(recording_read(&r, &all, folder.folder, error), RECORDING_UNREADABLE);
    assert_int_equal(recording_read(&r, &all, "/nowhere/at.all", error), RECORDING_UNREADABLE);
    temporary_close(&folder);
}

/* ---- distance between a motion and a recording ---- */

static void fits(void **state)
{
    ds_memory m = {.last = NULL};
    fit f;
    const double turn = 2 * M_PI, got[6] = {0.5, 1, 3.1, 2, 7, 3};
    double r[4];
    assert_true(fit_open(&f, &m, 3, 2));
    f.angles = 1;
    f.fitted = 2;
    memcpy(f.target, (const double[]){0.5 + turn, 3, -3.1, (double)NAN, 7, 3.5}, sizeof got);
    f.weight[1] = 2;
    const double across = 6.2 - turn; /* across the seam of the circle */
    assert_true(fabs(fit_residuals(&f, got, r) - 16 - across * across) < 1e-12);
    assert_true(fabs(r[0]) < 1e-12 && fabs(r[1] + 4) < 1e-12 && fabs(r[2] - across) < 1e-12 &&
                fabs(r[3]) <= 0);
    assert_true(fabs(fit_rms(&f, got, 0, 2) - sqrt((4 + across * across) / 3)) < 1e-12);
    assert_true(fabs(fit_rms(&f, got, 2, 3) - sqrt(0.125)) < 1e-12);
    fit_fade(&f, 0.1, 10, 1.2);
    assert_true(fabs(f.weight[1]) <= 0 && fabs(f.weight[2] - 1) < 1e-15);
    assert_true(fabs(f.weight[4] - pow(2, -0.6)) < 1e-15);
    ds_memory_free(&m);
}

RUN_TESTS(texts, bad_texts, arrays, name_with_zero, damaged_arrays, files, fits)
