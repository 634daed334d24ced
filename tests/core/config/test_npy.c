/* SPDX-License-Identifier: Apache-2.0 */
/* test_npy.c - array files and the checked file writer: round trips, every refusal, damaged files, full
 * disks. */
#include "config.h"

#include "base/file.h"
#include "config/npy.h"
#include "results/npy_write.h"
#include "temporary.h"
#include "test.h"

#include <float.h>
#include <locale.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

enum { STATUS = 3 };

/* A .npy image with the given header text and data; returns its length. */
static size_t make_npy(unsigned char *out, int version, const char *header, const void *data, size_t len)
{
    size_t n = strlen(header);
    size_t start = version == 1 ? 10 : 12;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (unsigned char)version;
    out[7] = 0;
    for (size_t k = 8; k < start; k++) {
        out[k] = (unsigned char)(n >> (8 * (k - 8)));
    }
    memcpy(out + start, header, n);
    memcpy(out + start + n, data, len);
    return start + n + len;
}

static void check_refused(const void *p, size_t len, int text, const char *expected)
{
    ds_array a;
    ds_error e = {0};
    int status = text ? ds_array_parse_text(p, len, "the-file", 100, STATUS, &a, &e)
                      : ds_array_parse_npy(p, len, "the-file", 100, STATUS, &a, &e);
    if (status != STATUS || strstr(e.text, expected) == NULL || strncmp(e.text, "the-file: ", 10) != 0) {
        fail_msg("expected \"%s\", got %d: %s", expected, status, e.text);
    }
    assert_int_equal(e.status, STATUS);
    assert_null(a.data);
}

static void test_npy_types(void **state)
{
    static const double f8[4] = {1.5, -2, 1e300, 0.1};
    static const float f4[4] = {1.5f, -2, 3, 0.25f};
    static const int64_t i8[4] = {1, -2, 3, INT64_C(1) << 40};
    static const int32_t i4[4] = {1, -2, 3, INT32_MIN};
    static const struct {
        const char *descr;
        const void *data;
        size_t size;
        double last;
    } cases[] = {{"<f8", f8, 32, 0.1},
                 {"<f4", f4, 16, 0.25},
                 {"<i8", i8, 32, 1099511627776.0},
                 {"<i4", i4, 16, INT32_MIN}};
    for (size_t c = 0; c < 4; c++) {
        for (int version = 1; version <= 2; version++) {
            unsigned char b[512];
            char h[200];
            snprintf(h, sizeof h, "{\"shape\": ( 2 ,2), 'descr':'%s', 'fortran_order': False}  \n",
                     cases[c].descr);
            size_t n = make_npy(b, version, h, cases[c].data, cases[c].size);
            ds_array a;
            ds_error e = {0};
            assert_int_equal(ds_array_parse_npy(b, n, "x", 0, STATUS, &a, &e), 0);
            assert_int_equal(a.ndim, 2);
            assert_int_equal(a.size, 4);
            assert_int_equal(a.shape[0], 2);
            assert_int_equal(a.shape[1], 2);
            assert_true(a.data[1] == -2);
            assert_true(a.data[3] == cases[c].last);
            ds_array_free(&a);
            assert_null(a.data);
        }
    }
}

static void test_npy_refused(void **state)
{
    static const double two[2] = {1, 2};
    static const double bad[2] = {1, NAN};
    static const double inf[2] = {INFINITY, 2};
    static const struct {
        const char *header;
        const double *data;
        size_t size;
        const char *expected;
    } cases[] = {
        {"{'descr': '>f8', 'fortran_order': False, 'shape': (2,)}", two, 16, "big-endian"},
        {"{'descr': '<c16', 'fortran_order': False, 'shape': (1,)}", two, 16, "'<c16' are not supported"},
        {"{'descr': '<U8', 'fortran_order': False, 'shape': (2,)}", two, 16, "'<U8' are not supported"},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (16,)}", two, 16, "'|b1' are not supported"},
        {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,)}", two, 16,
         "records are not supported"},
        {"{'descr': '<f8', 'fortran_order': True, 'shape': (1, 2)}", two, 16, "Fortran order"},
        {"{'descr': '<f8', 'fortran_order': 0, 'shape': (2,)}", two, 16, "neither True nor False"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}", two, 16, "promises 3 numbers"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': ()}", two, 16, "promises 1 numbers"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 2)}", two, 0, "is empty (dimension 0 is 0)"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (101,)}", two, 16, "at most 100 numbers"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (50, 3)}", two, 16, "at most 100 numbers"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (18446744073709551615, 2)}", two, 16,
         "out of range"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", two, 16, "other than whole numbers"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': 2}", two, 16, "not a tuple"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,2)}", two, 16, "more than 8"},
        {"{'descr': '<f8', 'fortran_order': False}", two, 16, "is missing"},
        {"{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", two, 16,
         "'descr' is there twice"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'x': 1}", two, 16, "'x' is unknown"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,)} 1", two, 16, "after the dictionary"},
        {"('descr', '<f8')", two, 16, "not a dictionary"},
        {"", two, 16, "not a dictionary"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", bad, 16, "element 1 is nan"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", inf, 16, "element 0 is infinite"},
    };
    unsigned char b[512];
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        check_refused(b, make_npy(b, 1, cases[c].header, cases[c].data, cases[c].size), 0, cases[c].expected);
    }
    size_t n = make_npy(b, 1, "{}", two, 0);
    b[6] = 3;
    check_refused(b, n, 0, "format 3.0 is not supported");
    b[6] = 1;
    b[9] = 0x7f;
    check_refused(b, n, 0, "ends inside the header");
    b[0] = 'X';
    check_refused(b, n, 0, "magic");
    check_refused(b, 4, 0, "shorter than a header");
}

static void test_text(void **state)
{
    static const struct {
        const char *text;
        uint32_t ndim;
        uint64_t shape[2];
        double last;
    } good[] = {
        {"1 2 3", 1, {3, 0}, 3},
        {"1\n2\n3\n", 1, {3, 0}, 3},
        {"# points\r\n1, 2,3\r\n\r\n4 5\t6 # end\r\n", 2, {2, 3}, 6},
        {"-1e-3", 1, {1, 0}, -1e-3},
        {"\xef\xbb\xbf+.5 5.", 1, {2, 0}, 5},
        {"1.7976931348623157e308 4.9e-324 1e-400", 1, {3, 0}, 0},
        {"  0.1000000000000000055511151231257827  ", 1, {1, 0}, 0.1},
    };
    static const char *const bad[][2] = {
        {"", "no numbers"},
        {"# nothing\n\n", "no numbers"},
        {"1 2\n3\n", "line 2 has 1 numbers but line 1 has 2"},
        {"1\n\n2 nan", "line 3: 'nan' is not a finite decimal number"},
        {"inf", "'inf'"},
        {"0x10", "'0x10'"},
        {"1e999", "too large for a double"},
        {"1,,2", "no number before a comma"},
        {",1", "no number before a comma"},
        {"1,2,\n", "no number after the last comma"},
        {"1;2", "'1;2'"},
        {"1.2.3", "'1.2.3' is not a number"},
        {"1e", "'1e' is not a number"},
        {"--1", "is not a number"},
        {"\x01\xff", "'\?\?' is not"},
        {"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeee", "ddddddddd...'"},
    };
    for (size_t c = 0; c < sizeof good / sizeof good[0]; c++) {
        ds_array a;
        ds_error e = {0};
        if (ds_array_parse_text(good[c].text, strlen(good[c].text), "t", 0, STATUS, &a, &e) != 0) {
            fail_msg("%s", e.text);
        }
        assert_int_equal(a.ndim, good[c].ndim);
        assert_int_equal(a.shape[0], good[c].shape[0]);
        assert_int_equal(a.shape[1], good[c].shape[1]);
        assert_true(a.data[a.size - 1] == good[c].last);
        ds_array_free(&a);
    }
    for (size_t c = 0; c < sizeof bad / sizeof bad[0]; c++) {
        check_refused(bad[c][0], strlen(bad[c][0]), 1, bad[c][1]);
    }
    char many[400] = "";
    for (int i = 0; i < 101; i++) {
        strcat(many, "1 ");
    }
    check_refused(many, strlen(many), 1, "at most 100 are read");
    check_refused("1\0002", 3, 1, "'1?2'");
}

static void test_text_locale(void **state)
{
    /* A locale with a decimal comma must not matter, where one is installed. */
    const char *was = setlocale(LC_NUMERIC, "de_DE.UTF-8");
    ds_array a;
    assert_int_equal(ds_array_parse_text("1.5", 3, "t", 0, STATUS, &a, NULL), 0);
    setlocale(LC_NUMERIC, "C");
    assert_true(a.data[0] == 1.5);
    ds_array_free(&a);
    if (was == NULL) {
        print_message("# no locale with a decimal comma here\n");
    }
}

/* Every truncated or changed file is refused or gives a consistent array. */
static void test_damage(void **state)
{
    double data[6] = {1, 2, 3, 4, 5, 6};
    uint64_t shape[2] = {2, 3};
    char header[DS_NPY_HEADER_MAX];
    size_t n = ds_npy_header(header, DS_NPY_F8, 2, shape);
    assert_int_equal(n % 64, 0);
    unsigned char good[512];
    memcpy(good, header, n);
    memcpy(good + n, data, sizeof data);
    n += sizeof data;
    for (size_t len = 0; len <= n; len++) {
        unsigned char *exact = malloc(len + 1);
        assert_non_null(exact);
        memcpy(exact, good, len);
        ds_array a;
        int status = ds_array_parse_npy(exact, len, "f", 0, STATUS, &a, NULL);
        assert_int_equal(status, len == n ? 0 : STATUS);
        ds_array_free(&a);
        free(exact);
    }
    for (size_t at = 0; at < n; at++) {
        for (int bit = 0; bit < 8; bit++) {
            unsigned char b[512];
            memcpy(b, good, n);
            b[at] = (unsigned char)(b[at] ^ 1 << bit);
            ds_array a;
            if (ds_array_parse_npy(b, n, "f", 0, STATUS, &a, NULL) == 0) {
                uint64_t size = 1;
                for (uint32_t k = 0; k < a.ndim; k++) {
                    size *= a.shape[k];
                }
                assert_int_equal(size, a.size);
                ds_array_free(&a);
            }
        }
    }
}

static void test_files(void **state)
{
    temporary t;
    temporary_open(&t);
    double data[6] = {1, 2, 3, 4, 5, 6.25};
    uint64_t shape[3] = {1, 2, 3};
    ds_error e = {0};
    ds_array a;
    const char *path = temporary_path(&t, "a.npy");
    assert_int_equal(ds_npy_write(path, DS_NPY_F8, 3, shape, data, &e), 0);
    assert_int_equal(ds_array_read(path, 6, STATUS, &a, &e), 0);
    assert_int_equal(a.ndim, 3);
    assert_memory_equal(a.data, data, sizeof data);
    ds_array_free(&a);
    assert_int_equal(ds_array_read(path, 5, STATUS, &a, &e), STATUS);
    temporary_write(path, "1 2 3", 5);
    assert_int_equal(ds_array_read(path, 6, STATUS, &a, &e), STATUS);
    assert_non_null(strstr(e.text, "not a valid .npy file"));
    path = temporary_path(&t, "x.txt");
    temporary_write(path, "1 2 3", 5);
    assert_int_equal(ds_array_read(path, 3, STATUS, &a, &e), 0);
    assert_int_equal(a.size, 3);
    ds_array_free(&a);
    temporary_write(path, "PK\3\4....", 8);
    assert_int_equal(ds_array_read(path, 3, STATUS, &a, &e), STATUS);
    assert_non_null(strstr(e.text, ".npz"));
    assert_int_equal(ds_array_read(t.folder, 3, STATUS, &a, &e), STATUS);
    assert_non_null(strstr(e.text, "directory"));
    assert_int_equal(ds_array_read(temporary_path(&t, "none"), 3, STATUS, &a, &e), STATUS);
    assert_non_null(strstr(e.text, "No such file"));
    assert_int_equal(ds_array_read("/dev/zero", 3, STATUS, &a, &e), STATUS);
    assert_non_null(strstr(e.text, "too large"));
    assert_int_equal(temporary_count(&t), 2);
    temporary_close(&t);
}

static uint32_t get(const unsigned char *p, int bytes)
{
    uint32_t v = 0;
    for (int k = 0; k < bytes; k++) {
        v |= (uint32_t)p[k] << (8 * k);
    }
    return v;
}

static void test_npz(void **state)
{
    temporary t;
    temporary_open(&t);
    const char *path = temporary_path(&t, "a.npz");
    double time[3] = {0, 0.5, 1};
    int32_t number = -7;
    uint64_t three = 3;
    uint64_t empty[2] = {0, 3};
    ds_npz *z;
    assert_int_equal(ds_npz_open(&z, path, NULL), 0);
    assert_int_equal(ds_npz_add(z, "time", DS_NPY_F8, 1, &three, time, NULL), 0);
    assert_int_equal(ds_npz_add(z, "metrics/n", DS_NPY_I4, 0, NULL, &number, NULL), 0);
    assert_int_equal(ds_npz_add(z, "empty", DS_NPY_U4, 2, empty, NULL, NULL), 0);
    assert_int_equal(ds_npz_close(z, NULL), 0);
    size_t len;
    unsigned char *p = temporary_read(path, &len);
    /* End record: 3 members, then the directory leads to members with the right sizes and checksums. */
    const unsigned char *end = p + len - 22;
    assert_int_equal(get(end, 4), 0x06054b50);
    assert_int_equal(get(end + 10, 2), 3);
    const unsigned char *entry = p + get(end + 16, 4);
    static const char *const names[3] = {"time.npy", "metrics/n.npy", "empty.npy"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(get(entry, 4), 0x02014b50);
        uint32_t size = get(entry + 24, 4);
        uint32_t name = get(entry + 28, 2);
        assert_int_equal(name, strlen(names[i]));
        assert_memory_equal(entry + 46, names[i], name);
        const unsigned char *local = p + get(entry + 42, 4);
        assert_int_equal(get(local, 4), 0x04034b50);
        const unsigned char *data = local + 30 + name;
        assert_int_equal(get(entry + 16, 4), (uint32_t)crc32(0, data, size));
        ds_array a;
        int status = ds_array_parse_npy(data, size, "m", 0, STATUS, &a, NULL);
        assert_int_equal(status, i < 2 ? 0 : STATUS);
        if (i == 0) {
            assert_memory_equal(a.data, time, sizeof time);
        }
        ds_array_free(&a);
        entry += 46 + name;
    }
    assert_ptr_equal(entry, end);
    free(p);
    /* A file that cannot be finished is removed. */
    char long_name[300];
    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    ds_error e = {0};
    assert_int_equal(ds_npz_open(&z, temporary_path(&t, "b.npz"), NULL), 0);
    assert_int_equal(ds_npz_add(z, long_name, DS_NPY_F8, 1, &three, time, &e), DS_EXIT_IO);
    assert_int_equal(ds_npz_add(z, "a", DS_NPY_F8, 1, &three, time, &e), DS_EXIT_IO);
    assert_int_equal(ds_npz_close(z, &e), DS_EXIT_IO);
    assert_non_null(strstr(e.text, "is too long, or its shape impossible"));
    assert_int_equal(temporary_count(&t), 1);
    temporary_close(&t);
}

static void test_atomic(void **state)
{
    temporary t;
    temporary_open(&t);
    const char *path = temporary_path(&t, "f");
    struct stat st;
    assert_int_equal(ds_file_write_atomic(path, "old", 3, NULL), 0);
    assert_int_equal(chmod(path, 0640), 0);
    ds_file *f;
    char big[200000];
    memset(big, 'x', sizeof big);
    assert_int_equal(ds_file_open(&f, path, NULL), 0);
    assert_int_equal(ds_file_write(f, big, sizeof big, NULL), 0);
    size_t len;
    unsigned char *p = temporary_read(path, &len);
    assert_int_equal(len, 3);
    free(p);
    ds_file_abort(f);
    assert_int_equal(temporary_count(&t), 1);
    assert_int_equal(ds_file_open(&f, path, NULL), 0);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(ds_file_write(f, big, 777, NULL), 0);
    }
    assert_int_equal(ds_file_commit(f, NULL), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 777000);
    assert_int_equal(st.st_mode & 0777, 0640);
    /* Nothing is written through a symbolic link, unless the user named it: then the file that it points to
     * is replaced. */
    char link_path[512];
    ds_error e;
    snprintf(link_path, sizeof link_path, "%s", temporary_path(&t, "link"));
    assert_int_equal(symlink("f", link_path), 0);
    assert_int_equal(ds_file_write_atomic(link_path, "new", 3, &e), DS_EXIT_IO);
    assert_non_null(strstr(e.text, "link: is a symbolic link; dshost changes nothing outside"));
    ds_file_named(link_path);
    assert_int_equal(ds_file_write_atomic(link_path, "new", 3, NULL), 0);
    assert_int_equal(lstat(link_path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    p = temporary_read(temporary_path(&t, "f"), &len);
    assert_string_equal((char *)p, "new");
    free(p);
    assert_int_equal(temporary_count(&t), 2);
    temporary_close(&t);
}

static void test_write_errors(void **state)
{
    temporary t;
    temporary_open(&t);
    double data[1] = {1};
    uint64_t one = 1;
    ds_error e = {0};
    if (access("/dev/full", W_OK) == 0) {
        ds_file_named("/dev/full");
        assert_int_equal(ds_npy_write("/dev/full", DS_NPY_F8, 1, &one, data, &e), DS_EXIT_IO);
        assert_non_null(strstr(e.text, "/dev/full: cannot write: No space left"));
        ds_npz *z;
        assert_int_equal(ds_npz_open(&z, "/dev/full", &e), 0);
        assert_int_equal(ds_npz_add(z, "a", DS_NPY_F8, 1, &one, data, &e), 0);
        assert_int_equal(ds_npz_close(z, &e), DS_EXIT_IO);
        assert_int_equal(access("/dev/full", W_OK), 0);
    }
    char path[600];
    snprintf(path, sizeof path, "%s/none/a.npy", t.folder);
    assert_int_equal(ds_npy_write(path, DS_NPY_F8, 1, &one, data, &e), DS_EXIT_IO);
    assert_int_equal(ds_npy_write(t.folder, DS_NPY_F8, 1, &one, data, &e), DS_EXIT_IO);
    assert_non_null(strstr(e.text, "directory"));
    /* A limit on the size of files acts like a disk that fills up while writing. */
    struct rlimit was, low = {4096, 4096};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    low.rlim_max = was.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    char big[100000] = {0};
    int status = ds_file_write_atomic(temporary_path(&t, "big"), big, sizeof big, &e);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(status, DS_EXIT_IO);
    assert_non_null(strstr(e.text, "File too large"));
    assert_int_equal(temporary_count(&t), 0);
    temporary_close(&t);
}

RUN_TESTS(test_npy_types, test_npy_refused, test_text, test_text_locale, test_damage, test_files, test_npz,
          test_atomic, test_write_errors)
