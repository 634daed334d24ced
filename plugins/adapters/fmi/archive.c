/* SPDX-License-Identifier: Apache-2.0 */
/* archive.c - see archive.h. ZIP as in PKWARE's APPNOTE 6.3: the central directory at the end lists the
 * entries; each is stored (0) or deflated (8). ZIP64 is not needed for FMUs below 4 GiB. */
#include "adapters/fmi/archive.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

enum {
    END = 22,   /* bytes of the end record without its comment */
    ENTRY = 46, /* of an entry of the directory without its texts */
    LOCAL = 30, /* of the header before the data */
    STORED = 0,
    DEFLATED = 8,
    ENCRYPTED = 1
};
static const size_t LARGEST = (size_t)1 << 31; /* bytes of one file, packed or not */

typedef struct entry {
    char name[PATH_MAX];
    unsigned flags, method, mode;
    size_t packed, size, at; /* at: of the local header */
    uint32_t crc;
} entry;

static unsigned two(const unsigned char *p)
{
    return p[0] | (unsigned)p[1] << 8;
}

static uint32_t four(const unsigned char *p)
{
    return two(p) | (uint32_t)two(p + 2) << 16;
}

/* The entry at *at of the directory; moves *at behind it. -1 where the directory is damaged. */
static int next_entry(const archive *a, size_t *at, entry *out)
{
    const unsigned char *p = a->data + *at;
    if (*at > a->size || a->size - *at < ENTRY || four(p) != 0x02014b50u) {
        return -1;
    }
    const size_t name = two(p + 28), all = ENTRY + name + two(p + 30) + two(p + 32);
    if (a->size - *at < all || name == 0 || name >= sizeof out->name || memchr(p + ENTRY, 0, name) != NULL) {
        return -1;
    }
    memcpy(out->name, p + ENTRY, name);
    out->name[name] = '\0';
    out->flags = two(p + 8);
    out->method = two(p + 10);
    out->crc = four(p + 16);
    out->packed = four(p + 20);
    out->size = four(p + 24);
    out->mode = p[5] == 3 ? four(p + 38) >> 16 : 0; /* made by Unix */
    out->at = four(p + 42);
    *at += all;
    return 0;
}

/* Would the name leave the folder that it is extracted to? */
static int escapes(const char *name)
{
    if (name[0] == '/' || strchr(name, '\\') != NULL || (name[0] != '\0' && name[1] == ':')) {
        return 1;
    }
    for (const char *part = name; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0')) {
            return 1;
        }
    }
    return 0;
}

static int check_entries(const archive *a, const char *path, char *why, size_t room)
{
    size_t at = a->directory;
    for (unsigned i = 0; i < a->entries; i++) {
        entry e;
        if (next_entry(a, &at, &e) != 0) {
            snprintf(why, room, "%s: the directory of this ZIP archive is damaged", path);
            return -1;
        }
        if (escapes(e.name) || S_ISLNK(e.mode)) {
            snprintf(why, room, "%s: '%.100s' in it %s: this FMU is refused", path, e.name,
                     S_ISLNK(e.mode) ? "is a link" : "would be written outside of its folder");
            return -1;
        }
        if ((e.flags & ENCRYPTED) != 0 || (e.method != STORED && e.method != DEFLATED) || e.size > LARGEST ||
            e.packed > LARGEST) {
            snprintf(why, room, "%s: '%.100s' in it is encrypted, packed by method %u, or larger than 2 GiB",
                     path, e.name, e.method);
            return -1;
        }
    }
    return 0;
}

/* The whole file. */
static int read_file(archive *a, const char *path, char *why, size_t room)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (f == NULL || fstat(fileno(f), &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < END ||
        (size_t)st.st_size > LARGEST || (a->data = malloc((size_t)st.st_size)) == NULL) {
        snprintf(why, room, "%s: %s", path,
                 f == NULL ? strerror(errno) : "not a ZIP archive: too short, too large, or no regular file");
    } else {
        a->size = fread(a->data, 1, (size_t)st.st_size, f);
    }
    if (f != NULL) {
        fclose(f);
    }
    return a->size > 0 ? 0 : -1;
}

int archive_open(archive *a, const char *path, char *why, size_t room)
{
    *a = (archive){.data = NULL};
    if (read_file(a, path, why, room) != 0) {
        return -1;
    }
    for (size_t back = END; back <= a->size && back <= END + 65535u; back++) {
        const unsigned char *p = a->data + a->size - back;
        if (four(p) == 0x06054b50u && two(p + 20) + (size_t)END == back) {
            a->entries = two(p + 10);
            a->directory = four(p + 16);
            return check_entries(a, path, why, room);
        }
    }
    snprintf(why, room, "%s: not a ZIP archive, which every FMU is", path);
    return -1;
}

void archive_close(archive *a)
{
    free(a->data);
    a->data = NULL;
}

/* The contents of an entry. */
static char *unpack(const archive *a, const entry *e, char *why, size_t room)
{
    char *out = malloc(e->size + 1);
    size_t begin = e->at;
    int done = 0;
    if (out != NULL && begin <= a->size && a->size - begin >= LOCAL && four(a->data + begin) == 0x04034b50u) {
        begin += LOCAL + two(a->data + begin + 26) + two(a->data + begin + 28);
        if (begin <= a->size && a->size - begin >= e->packed) {
            z_stream z = {.next_in = a->data + begin,
                          .avail_in = (uInt)e->packed,
                          .next_out = (Bytef *)out,
                          .avail_out = (uInt)e->size};
            if (e->method == STORED) {
                done = e->packed == e->size;
                memcpy(out, a->data + begin, done ? e->size : 0);
            } else if (inflateInit2(&z, -MAX_WBITS) == Z_OK) {
                done = inflate(&z, Z_FINISH) == Z_STREAM_END && z.total_out == e->size;
                inflateEnd(&z);
            }
            done = done && crc32(crc32(0, NULL, 0), (const Bytef *)out, (uInt)e->size) == e->crc;
        }
    }
    if (!done) {
        free(out);
        snprintf(why, room, "'%.100s' in it is damaged", e->name);
        return NULL;
    }
    out[e->size] = '\0';
    return out;
}

char *archive_read(const archive *a, const char *name, size_t *size, char *why, size_t room)
{
    size_t at = a->directory;
    entry e;
    for (unsigned i = 0; i < a->entries && next_entry(a, &at, &e) == 0; i++) {
        if (strcmp(e.name, name) == 0) {
            *size = e.size;
            return unpack(a, &e, why, room);
        }
    }
    snprintf(why, room, "%.200s is not in it", name);
    return NULL;
}

static int is_file_below(const entry *e, const char *prefix)
{
    return strncmp(e->name, prefix, strlen(prefix)) == 0 && e->name[strlen(e->name) - 1] != '/';
}

unsigned archive_count(const archive *a, const char *prefix)
{
    size_t at = a->directory;
    unsigned count = 0;
    entry e;
    for (unsigned i = 0; i < a->entries && next_entry(a, &at, &e) == 0; i++) {
        count += is_file_below(&e, prefix) ? 1 : 0;
    }
    return count;
}

/* Makes the folders of a path below `from`. */
static int make_folders(char *path, size_t from)
{
    for (char *slash = strchr(path + from, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const int rc = mkdir(path, 0700);
        *slash = '/';
        if (rc != 0 && errno != EEXIST) {
            return -1;
        }
    }
    return 0;
}

static int write_file(const char *path, const char *data, size_t size)
{
    FILE *f = fopen(path, "wbx");
    if (f == NULL) {
        return -1;
    }
    const int all = fwrite(data, 1, size, f) == size;
    return fclose(f) == 0 && all ? 0 : -1;
}

int archive_extract(const archive *a, const char *prefix, const char *folder, char *why, size_t room)
{
    size_t at = a->directory;
    entry e;
    int files = 0;
    for (unsigned i = 0; i < a->entries && next_entry(a, &at, &e) == 0; i++) {
        char path[PATH_MAX];
        const int n = snprintf(path, sizeof path, "%s/%s", folder, e.name);
        if (!is_file_below(&e, prefix)) {
            continue;
        }
        char *data = n < (int)sizeof path ? unpack(a, &e, why, room) : NULL;
        const int rc = data == NULL ? -1 : make_folders(path, strlen(folder) + 1);
        if (data != NULL && (rc != 0 || write_file(path, data, e.size) != 0)) {
            snprintf(why, room, "%s: %s", path, strerror(errno));
            free(data);
            return -1;
        }
        free(data);
        if (data == NULL) {
            return -1;
        }
        files++;
    }
    return files;
}
