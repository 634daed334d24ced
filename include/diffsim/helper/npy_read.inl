/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/npy_read.inl - the functions of npy_read.h, which includes it. */

/* ---- header ---- */

/* A text that is read from left to right, and the reason for its failure. */
typedef struct ds_npy_text {
    const unsigned char *p;
    size_t bytes, at;
    char *why;
} ds_npy_text;

/* Keeps the reason. Returns 0. */
static inline int ds_npy_bad(ds_npy_text *r, const char *why)
{
    snprintf(r->why, DS_NPY_WHY, "not a valid .npy file: %s", why);
    return 0;
}

/* Is the next byte one of `set`? */
static inline int ds_npy_next_is(const ds_npy_text *r, const char *set)
{
    return r->at < r->bytes && r->p[r->at] != '\0' && strchr(set, r->p[r->at]) != NULL;
}

static inline void ds_npy_skip_blanks(ds_npy_text *r)
{
    while (ds_npy_next_is(r, " \t\n")) {
        r->at++;
    }
}

/* Takes `word` if it comes next, after blanks. */
static inline int ds_npy_take(ds_npy_text *r, const char *word)
{
    ds_npy_skip_blanks(r);
    const size_t n = strlen(word);
    const int there = r->bytes - r->at >= n && memcmp(r->p + r->at, word, n) == 0;
    r->at += there ? n : 0;
    return there;
}

/* Takes a quoted string without escapes, shorter than `room`; 0 where there is none. */
static inline int ds_npy_take_string(ds_npy_text *r, char *out, size_t room)
{
    ds_npy_skip_blanks(r);
    if (!ds_npy_next_is(r, "'\"")) {
        return 0;
    }
    const unsigned char quote = r->p[r->at++];
    size_t n = 0;
    for (; r->at < r->bytes && r->p[r->at] != quote; r->at++) {
        const unsigned char c = r->p[r->at];
        if (c < 0x20 || c > 0x7e || c == '\\' || n + 1 >= room) {
            return 0;
        }
        out[n++] = (char)c;
    }
    out[n] = '\0';
    return r->at++ < r->bytes;
}

/* "(3, 4)", "(3,)" or "()". */
static inline int ds_npy_take_shape(ds_npy_text *r, ds_npy *a)
{
    if (!ds_npy_take(r, "(")) {
        return ds_npy_bad(r, "'shape' is not a tuple");
    }
    while (!ds_npy_take(r, ")")) {
        if (a->ndim == DS_NPY_DIMENSIONS) {
            return ds_npy_bad(r, "more than 8 dimensions");
        }
        ds_npy_skip_blanks(r);
        uint64_t v = 0;
        const size_t start = r->at;
        while (ds_npy_next_is(r, "0123456789")) {
            if (v > (UINT64_MAX - 9) / 10) {
                return ds_npy_bad(r, "a dimension in 'shape' is out of range");
            }
            v = v * 10 + (uint64_t)(r->p[r->at++] - '0');
        }
        if (r->at == start) {
            return ds_npy_bad(r, "'shape' holds something other than whole numbers");
        }
        a->shape[a->ndim++] = v;
        if (!ds_npy_take(r, ",")) {
            return ds_npy_take(r, ")") || ds_npy_bad(r, "'shape' is not a tuple");
        }
    }
    return 1;
}

/* The value of key 0 (descr), 1 (fortran_order) or 2 (shape). */
static inline int ds_npy_take_value(ds_npy_text *r, ds_npy *a, int key)
{
    if (key == 2) {
        return ds_npy_take_shape(r, a);
    }
    if (key == 0) {
        return ds_npy_take_string(r, a->descr, sizeof a->descr) ||
               ds_npy_bad(r, "'descr' is not a simple type; records are not supported, save plain numbers");
    }
    a->fortran = ds_npy_take(r, "True");
    return a->fortran || ds_npy_take(r, "False") ||
           ds_npy_bad(r, "'fortran_order' is neither True nor False");
}

/* Takes the dictionary; keys in any order, each exactly once. */
static inline int ds_npy_take_dict(ds_npy_text *r, ds_npy *a)
{
    static const char *const keys[3] = {"descr", "fortran_order", "shape"};
    int seen = 0, more = 1;
    if (!ds_npy_take(r, "{")) {
        return ds_npy_bad(r, "the header is not a dictionary");
    }
    while (more && !ds_npy_take(r, "}")) {
        char word[32];
        int key = 0;
        if (!ds_npy_take_string(r, word, sizeof word) || !ds_npy_take(r, ":")) {
            return ds_npy_bad(r, "the header is not a dictionary of quoted keys");
        }
        while (key < 3 && strcmp(word, keys[key]) != 0) {
            key++;
        }
        if (key == 3 || (seen & 1 << key) != 0) {
            snprintf(r->why, DS_NPY_WHY, "not a valid .npy file: key '%s' is %s", word,
                     key == 3 ? "unknown" : "there twice");
            return 0;
        }
        seen |= 1 << key;
        if (!ds_npy_take_value(r, a, key)) {
            return 0;
        }
        more = ds_npy_take(r, ",");
        if (!more && !ds_npy_take(r, "}")) {
            return ds_npy_bad(r, "the header is not a dictionary");
        }
    }
    ds_npy_skip_blanks(r);
    return r->at != r->bytes ? ds_npy_bad(r, "the header continues after the dictionary")
           : seen != 7       ? ds_npy_bad(r, "'descr', 'fortran_order' or 'shape' is missing")
                             : 1;
}

static inline int ds_npy_open(ds_npy *a, const void *data, size_t bytes, char why[DS_NPY_WHY])
{
    const unsigned char *b = (const unsigned char *)data;
    ds_npy_text r = {b, 0, 0, why};
    memset(a, 0, sizeof *a);
    if (bytes < 10 || memcmp(b, "\x93NUMPY", 6) != 0) {
        return ds_npy_bad(&r, bytes < 10 ? "it is shorter than a header" : "the magic bytes are missing");
    }
    if ((b[6] != 1 && b[6] != 2) || b[7] != 0) {
        snprintf(why, DS_NPY_WHY, ".npy format %u.%u is not supported (allowed: 1.0 and 2.0)", b[6], b[7]);
        return 0;
    }
    const size_t start = b[6] == 1 ? 10 : 12;
    if (bytes < start) {
        return ds_npy_bad(&r, "it is shorter than a header");
    }
    size_t header = (size_t)b[8] | (size_t)b[9] << 8;
    if (b[6] == 2) {
        header |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    }
    if (header > bytes - start) {
        return ds_npy_bad(&r, "the file ends inside the header");
    }
    r.p = b + start;
    r.bytes = header;
    a->data = b + start + header;
    a->bytes = bytes - start - header;
    return ds_npy_take_dict(&r, a);
}

/* ---- numbers ---- */

static inline uint64_t ds_npy_numbers(const ds_npy *a, uint64_t most, char why[DS_NPY_WHY])
{
    const char *d = a->descr;
    uint64_t n = 1;
    if (d[0] == '>' && d[1] != '\0') {
        snprintf(why, DS_NPY_WHY, "its numbers are big-endian ('%s'): save the array with .astype('<f8')", d);
        return 0;
    }
    if (strcmp(d, "<f8") != 0 && strcmp(d, "<f4") != 0 && strcmp(d, "<i8") != 0 && strcmp(d, "<i4") != 0) {
        snprintf(why, DS_NPY_WHY,
                 "elements of type '%s' are not supported (allowed: <f8, <f4, <i8, <i4): save the array with "
                 ".astype('<f8')",
                 d);
        return 0;
    }
    if (a->fortran) {
        snprintf(why, DS_NPY_WHY, "the array is in Fortran order: save numpy.ascontiguousarray(a) instead");
        return 0;
    }
    for (uint32_t k = 0; k < a->ndim; k++) {
        if (a->shape[k] == 0) {
            snprintf(why, DS_NPY_WHY, "the array is empty (dimension %u is 0)", k);
            return 0;
        }
        if (a->shape[k] > most || n > most / a->shape[k]) {
            snprintf(why, DS_NPY_WHY, "the array is too large: at most %llu numbers are read",
                     (unsigned long long)most);
            return 0;
        }
        n *= a->shape[k];
    }
    const uint64_t item = (uint64_t)(d[2] - '0');
    if (n > a->bytes / item || n * item != a->bytes) {
        snprintf(
            why, DS_NPY_WHY,
            "the header promises %llu numbers of %llu bytes but %zu bytes follow: the file is damaged or "
            "was cut",
            (unsigned long long)n, (unsigned long long)item, a->bytes);
        return 0;
    }
    return n;
}

static inline double ds_npy_number(const ds_npy *a, uint64_t i)
{
    union {
        double f8;
        float f4;
        int64_t i8;
        int32_t i4;
    } v;
    const size_t item = (size_t)(a->descr[2] - '0');
    memcpy(&v, a->data + i * item, item);
    return a->descr[1] == 'f' ? (item == 8 ? v.f8 : (double)v.f4) : item == 8 ? (double)v.i8 : (double)v.i4;
}
