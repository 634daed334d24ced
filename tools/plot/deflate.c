/* SPDX-License-Identifier: Apache-2.0 */
/* deflate.c - P. Deutsch, "DEFLATE compressed data format specification", RFC 1951.
 *
 * In a drawing most pixels equal the one on their left, or nothing changes from row to row and the filter
 * leaves zeros: a match at the distance of one pixel, which is tried first and compared by eight bytes. Then
 * the last place with the same four bytes is tried, and the first match is taken. Each block has its own
 * codes. */
#include "config.h"

#include "plot/deflate.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIXEL = 3,           /* bytes: the first distance that is tried */
    WINDOW = 1 << 15,    /* longest distance */
    BUFFER = 2 * WINDOW, /* the window and what is not compressed yet */
    HASH_BITS = 12,
    LEAST = 4, /* shortest match */
    MOST = 258,
    TOKENS = 1 << 13, /* of a block */
    LITERALS = 286,   /* bytes, the end, lengths */
    DISTANCES = 30,
    LENGTHS = 19, /* symbols of the code for lengths of codes */
    END = 256,
    CODE_MOST = 15,
    LENGTH_CODE_MOST = 7
};

struct ds_deflate {
    ds_bytes *out;
    uint64_t bits; /* not written yet, the first one lowest */
    unsigned bit_count;
    size_t filled, at; /* bytes of `window`, and how many of them have become tokens */
    size_t base;       /* of `window` in the whole stream */
    size_t tokens;
    size_t place[1 << HASH_BITS]; /* where four bytes with this hash were last, from 1; 0 = nowhere */
    uint32_t token[TOKENS];       /* a byte, or length << 16 | distance */
    uint32_t literal_count[LITERALS], distance_count[DISTANCES];
    unsigned char window[BUFFER];
};

/* ---- output ---- */

int ds_bytes_reserve(ds_bytes *b, size_t more)
{
    if (b->room - b->size >= more) {
        return 1;
    }
    const size_t room = 2 * b->room + more;
    unsigned char *data = realloc(b->data, room);
    if (data != NULL) {
        b->data = data;
        b->room = room;
    }
    return data != NULL;
}

int ds_bytes_append(ds_bytes *b, const void *data, size_t n)
{
    if (!ds_bytes_reserve(b, n)) {
        return 0;
    }
    memcpy(b->data + b->size, data, n);
    b->size += n;
    return 1;
}

/* At most 32 bits; there is room. */
static void put_bits(ds_deflate *d, uint32_t value, unsigned count)
{
    d->bits |= (uint64_t)value << d->bit_count;
    d->bit_count += count;
    while (d->bit_count >= 8) {
        d->out->data[d->out->size++] = (unsigned char)d->bits;
        d->bits >>= 8;
        d->bit_count -= 8;
    }
}

/* ---- lengths and distances (section 3.2.5) ---- */

/* A number from 0 as symbol and extra bits: 2^each_bits symbols for every number of extra bits, twice as many
 * without. */
static unsigned symbol_of(unsigned v, unsigned each_bits, unsigned *extra)
{
    unsigned e = 0;
    while ((v >> e) >= (2u << each_bits)) {
        e++;
    }
    *extra = e;
    return (e << each_bits) + (v >> e);
}

static unsigned length_symbol(unsigned length, unsigned *extra)
{
    if (length == MOST) {
        *extra = 0;
        return LITERALS - 1;
    }
    return END + 1 + symbol_of(length - 3, 2, extra);
}

static unsigned distance_symbol(unsigned distance, unsigned *extra)
{
    return symbol_of(distance - 1, 1, extra);
}

/* ---- codes ---- */

typedef struct leaf {
    uint32_t count;
    uint16_t symbol;
} leaf;

static int compare_leaves(const void *a, const void *b)
{
    const leaf *p = a, *q = b;
    return p->count != q->count ? (p->count > q->count) - (p->count < q->count)
                                : (p->symbol > q->symbol) - (p->symbol < q->symbol);
}

/* Depths of the leaves of a Huffman tree, by ascending counts (n >= 2), which become depths: A. Moffat,
 * J. Katajainen, "In-place calculation of minimum-redundancy codes" (1995). */
static void depths_of(uint32_t *a, size_t n)
{
    size_t leaf_at = 0, root = 0;
    for (size_t next = 0; next < n - 1; next++) { /* counts of inner nodes, then their parents */
        uint32_t sum = 0;
        for (int k = 0; k < 2; k++) {
            if (leaf_at >= n || (root < next && a[root] < a[leaf_at])) {
                sum += a[root];
                a[root++] = (uint32_t)next;
            } else {
                sum += a[leaf_at++];
            }
        }
        a[next] = sum;
    }
    a[n - 2] = 0;
    for (size_t k = n - 2; k-- > 0;) { /* depths of inner nodes */
        a[k] = a[a[k]] + 1;
    }
    size_t open = 1, used = 0, inner = n - 1, next = n;
    for (uint32_t depth = 0; open > 0; depth++) { /* depths of leaves */
        while (inner > 0 && a[inner - 1] == depth) {
            used++;
            inner--;
        }
        while (open > used) {
            a[--next] = depth;
            open--;
        }
        open = 2 * used;
        used = 0;
    }
}

/* Lengths of the codes of n symbols, 0 for those without a count, at most `most`. At least two have a
 * count. */
static void code_lengths(size_t n, const uint32_t *count, unsigned most, unsigned char *length)
{
    leaf leaves[LITERALS];
    uint32_t depth[LITERALS];
    size_t used = 0;
    for (size_t k = 0; k < n; k++) {
        length[k] = 0;
        if (count[k] > 0) {
            leaves[used++] = (leaf){count[k], (uint16_t)k};
        }
    }
    qsort(leaves, used, sizeof *leaves, compare_leaves);
    for (size_t k = 0; k < used; k++) {
        depth[k] = leaves[k].count;
    }
    depths_of(depth, used);
    uint32_t space = 0; /* that the codes take of 2^most */
    for (size_t k = 0; k < used; k++) {
        depth[k] = depth[k] < most ? depth[k] : most;
        space += 1u << (most - depth[k]);
    }
    for (size_t k = 0; space > 1u << most;) { /* the rarest with a shorter code gets a longer one */
        k = depth[k] < most ? k : k + 1;
        if (depth[k] < most) {
            space -= 1u << (most - ++depth[k]);
        }
    }
    for (size_t k = used; k-- > 0 && space < 1u << most;) { /* the most frequent get what is left */
        while (depth[k] > 1 && space + (1u << (most - depth[k])) <= 1u << most) {
            space += 1u << (most - depth[k]--);
        }
    }
    for (size_t k = 0; k < used; k++) {
        length[leaves[k].symbol] = (unsigned char)depth[k];
    }
}

/* The codes of these lengths, first bit lowest (section 3.2.2). */
static void make_codes(size_t n, const unsigned char *length, uint16_t *code)
{
    uint32_t count[CODE_MOST + 1] = {0}, next[CODE_MOST + 1] = {0};
    for (size_t k = 0; k < n; k++) {
        count[length[k]]++;
    }
    count[0] = 0;
    for (unsigned k = 1; k <= CODE_MOST; k++) {
        next[k] = (next[k - 1] + count[k - 1]) << 1;
    }
    for (size_t k = 0; k < n; k++) {
        uint32_t v = length[k] > 0 ? next[length[k]]++ : 0, turned = 0;
        for (unsigned b = 0; b < length[k]; b++, v >>= 1) {
            turned = turned << 1 | (v & 1);
        }
        code[k] = (uint16_t)turned;
    }
}

/* ---- blocks ---- */

/* The lengths of codes as symbols of their own code (section 3.2.7): symbol | extra bits << 8. */
static size_t pack_lengths(const unsigned char *length, size_t n, uint16_t *packed)
{
    size_t count = 0;
    for (size_t k = 0, run; k < n; k += run) {
        const size_t most = length[k] == 0 ? 138 : 7;
        for (run = 1; k + run < n && run < most && length[k + run] == length[k]; run++) {
        }
        if (length[k] == 0 && run >= 3) {
            packed[count++] = (uint16_t)(run < 11 ? 17 | (run - 3) << 8 : 18 | (run - 11) << 8);
        } else {
            packed[count++] = length[k];
            if (run >= 4) {
                packed[count++] = (uint16_t)(16 | (run - 4) << 8);
            } else {
                run = 1;
            }
        }
    }
    return count;
}

static unsigned extra_of_length_code(unsigned symbol)
{
    return symbol == 16 ? 2 : symbol == 17 ? 3 : symbol == 18 ? 7 : 0;
}

static void put_codes(ds_deflate *d, const unsigned char *length)
{
    static const unsigned char order[LENGTHS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                 11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint16_t packed[LITERALS + DISTANCES], code[LENGTHS];
    uint32_t count[LENGTHS] = {1, 1};
    unsigned char own[LENGTHS];
    const size_t n = pack_lengths(length, LITERALS + DISTANCES, packed);
    for (size_t k = 0; k < n; k++) {
        count[packed[k] & 0xff]++;
    }
    code_lengths(LENGTHS, count, LENGTH_CODE_MOST, own);
    make_codes(LENGTHS, own, code);
    put_bits(d, LITERALS - 257, 5);
    put_bits(d, DISTANCES - 1, 5);
    put_bits(d, LENGTHS - 4, 4);
    for (size_t k = 0; k < LENGTHS; k++) {
        put_bits(d, own[order[k]], 3);
    }
    for (size_t k = 0; k < n; k++) {
        const unsigned symbol = packed[k] & 0xff;
        put_bits(d, code[symbol], own[symbol]);
        put_bits(d, packed[k] >> 8, extra_of_length_code(symbol));
    }
}

static int put_block(ds_deflate *d, int last)
{
    unsigned char length[LITERALS + DISTANCES], *far = length + LITERALS;
    uint16_t code[LITERALS], far_code[DISTANCES];
    if (!ds_bytes_reserve(d->out, 8 * TOKENS + 4096)) { /* at most 48 bits each */
        return 0;
    }
    d->literal_count[END] = 1;
    d->literal_count[0]++; /* so that there are two */
    d->distance_count[0]++;
    d->distance_count[1]++;
    code_lengths(LITERALS, d->literal_count, CODE_MOST, length);
    code_lengths(DISTANCES, d->distance_count, CODE_MOST, far);
    make_codes(LITERALS, length, code);
    make_codes(DISTANCES, far, far_code);
    put_bits(d, last ? 1 : 0, 1);
    put_bits(d, 2, 2);
    put_codes(d, length);
    for (size_t k = 0; k < d->tokens; k++) {
        const unsigned t = d->token[k], n = t >> 16;
        unsigned extra, symbol = t;
        if (n > 0) {
            symbol = length_symbol(n, &extra);
            put_bits(d, code[symbol], length[symbol]);
            put_bits(d, (n - 3) & ((1u << extra) - 1), extra);
            symbol = distance_symbol(t & 0xffff, &extra);
            put_bits(d, far_code[symbol], far[symbol]);
            put_bits(d, ((t & 0xffff) - 1) & ((1u << extra) - 1), extra);
        } else {
            put_bits(d, code[symbol], length[symbol]);
        }
    }
    put_bits(d, code[END], length[END]);
    d->tokens = 0;
    memset(d->literal_count, 0, sizeof d->literal_count);
    memset(d->distance_count, 0, sizeof d->distance_count);
    return 1;
}

/* ---- tokens ---- */

static uint32_t four(const unsigned char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* How many bytes are equal, at most n. */
static size_t common(const unsigned char *a, const unsigned char *b, size_t n)
{
    size_t k = 0;
    for (; k + 8 <= n && memcmp(a + k, b + k, 8) == 0; k += 8) {
    }
    while (k < n && a[k] == b[k]) {
        k++;
    }
    return k;
}

/* The length of a match at place `at`, 0 = none, and its distance. */
static size_t find_match(ds_deflate *d, size_t *distance)
{
    const unsigned char *p = d->window + d->at;
    const size_t left = d->filled - d->at, most = left < MOST ? left : MOST;
    size_t length = d->at >= PIXEL ? common(p, p - PIXEL, most) : 0;
    *distance = PIXEL;
    if (left < LEAST) {
        return length >= LEAST ? length : 0;
    }
    size_t *place = &d->place[four(p) * 2654435761u >> (32 - HASH_BITS)];
    const size_t here = d->base + d->at + 1, there = *place;
    *place = here;
    if (length < 4 * LEAST && there > d->base && here - there <= WINDOW) {
        const size_t other = common(p, p - (here - there), most);
        if (other > length) {
            *distance = here - there;
            length = other;
        }
    }
    return length >= LEAST ? length : 0;
}

/* Makes tokens of everything in the buffer. */
static int make_tokens(ds_deflate *d)
{
    while (d->at < d->filled) {
        size_t distance, length = find_match(d, &distance);
        unsigned unused;
        if (length > 0) {
            d->literal_count[length_symbol((unsigned)length, &unused)]++;
            d->distance_count[distance_symbol((unsigned)distance, &unused)]++;
            d->token[d->tokens++] = (uint32_t)(length << 16 | distance);
            d->at += length;
        } else {
            d->literal_count[d->window[d->at]]++;
            d->token[d->tokens++] = d->window[d->at++];
        }
        if (d->tokens == TOKENS && !put_block(d, 0)) {
            return 0;
        }
    }
    return 1;
}

ds_deflate *ds_deflate_open(ds_bytes *out)
{
    ds_deflate *d = calloc(1, sizeof *d);
    if (d != NULL) {
        d->out = out;
    }
    return d;
}

int ds_deflate_put(ds_deflate *d, const unsigned char *data, size_t n)
{
    while (n > 0) {
        if (d->filled == BUFFER) {
            if (!make_tokens(d)) {
                return 0;
            }
            memcpy(d->window, d->window + WINDOW, WINDOW);
            d->filled = d->at = WINDOW;
            d->base += WINDOW;
        }
        const size_t part = n < BUFFER - d->filled ? n : BUFFER - d->filled;
        memcpy(d->window + d->filled, data, part);
        d->filled += part;
        data += part;
        n -= part;
    }
    return 1;
}

int ds_deflate_close(ds_deflate *d)
{
    const int good = make_tokens(d) && put_block(d, 1);
    if (good) {
        put_bits(d, 0, 7); /* to whole bytes */
    }
    free(d);
    return good;
}
