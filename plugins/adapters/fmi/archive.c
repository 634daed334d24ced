/* SPDX-License-Identifier: Apache-2.0 */
/* archive.c - see archive.h. ZIP64 is not needed for FMUs below 4 GiB. */
#include "adapters/fmi/archive.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const size_t LARGEST = (size_t)1 << 31;     /* bytes of one file, packed or not, */
static const size_t LARGEST_ALL = (size_t)1 << 32; /* and of all files unpacked */

typedef struct entry {
    char name[PATH_MAX];
    ds_zip_member zip;
} entry;

/* The entry at *at of the directory; moves *at behind it. -1 where the directory is damaged. */
static int next_entry(const archive *a, size_t *at, entry *out)
{
    if (ds_zip_next(&a->zip, at, &out->zip) != NULL || out->zip.length == 0 ||
        out->zip.length >= sizeof out->name || memchr(out->zip.name, 0, out->zip.length) != NULL) {
        return -1;
    }
    memcpy(out->name, out->zip.name, out->zip.length);
    out->name[out->zip.length] = '\0';
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
    size_t at = a->zip.directory, all = 0;
    for (unsigned i = 0; i < a->zip.members; i++) {
        entry e;
        if (next_entry(a, &at, &e) != 0) {
            snprintf(why, room, "%s: the directory of this ZIP archive is damaged", path);
            return -1;
        }
        if (escapes(e.name) || S_ISLNK(e.zip.mode)) {
            snprintf(why, room, "%s: '%.100s' in it %s: this FMU is refused", path, e.name,
                     S_ISLNK(e.zip.mode) ? "is a link" : "would be written outside of its folder");
            return -1;
        }
        if ((e.zip.flags & 1) != 0 || (e.zip.method != DS_ZIP_STORED && e.zip.method != DS_ZIP_DEFLATED) ||
            e.zip.bytes > LARGEST || e.zip.packed > LARGEST) {
            snprintf(why, room, "%s: '%.100s' in it is encrypted, packed by method %u, or larger than 2 GiB",
                     path, e.name, e.zip.method);
            return -1;
        }
        all += e.zip.bytes;
        if (all > LARGEST_ALL) {
            snprintf(why, room, "%s: it would unpack to more than 4 GiB", path);
            return -1;
        }
    }
    return 0;
}

/* The whole file. */
static int read_file(archive *a, const char *path, size_t *size, char *why, size_t room)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (f == NULL || fstat(fileno(f), &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < DS_ZIP_END ||
        (size_t)st.st_size > LARGEST || (a->data = malloc((size_t)st.st_size)) == NULL) {
        snprintf(why, room, "%s: %s", path,
                 f == NULL ? strerror(errno) : "not a ZIP archive: too short, too large, or no regular file");
    } else {
        *size = fread(a->data, 1, (size_t)st.st_size, f);
    }
    if (f != NULL) {
        fclose(f);
    }
    return *size > 0 ? 0 : -1;
}

int archive_open(archive *a, const char *path, char *why, size_t room)
{
    size_t size = 0;
    *a = (archive){.data = NULL};
    if (read_file(a, path, &size, why, room) != 0) {
        return -1;
    }
    if (ds_zip_open(&a->zip, a->data, size) != NULL) {
        snprintf(why, room, "%s: not a ZIP archive, which every FMU is", path);
        return -1;
    }
    return check_entries(a, path, why, room);
}

void archive_close(archive *a)
{
    free(a->data);
    a->data = NULL;
}

/* The contents of an entry. */
static char *unpack(const entry *e, char *why, size_t room)
{
    char *out = malloc(e->zip.bytes + 1);
    if (out == NULL || ds_zip_flaw(&e->zip) != NULL || !ds_zip_unpack(&e->zip, out)) {
        free(out);
        snprintf(why, room, "'%.100s' in it is damaged", e->name);
        return NULL;
    }
    out[e->zip.bytes] = '\0';
    return out;
}

char *archive_read(const archive *a, const char *name, size_t *size, char *why, size_t room)
{
    size_t at = a->zip.directory;
    entry e;
    for (unsigned i = 0; i < a->zip.members && next_entry(a, &at, &e) == 0; i++) {
        if (strcmp(e.name, name) == 0) {
            *size = e.zip.bytes;
            return unpack(&e, why, room);
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
    size_t at = a->zip.directory;
    unsigned count = 0;
    entry e;
    for (unsigned i = 0; i < a->zip.members && next_entry(a, &at, &e) == 0; i++) {
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
    size_t at = a->zip.directory;
    entry e;
    int files = 0;
    for (unsigned i = 0; i < a->zip.members && next_entry(a, &at, &e) == 0; i++) {
        char path[PATH_MAX];
        const int n = snprintf(path, sizeof path, "%s/%s", folder, e.name);
        if (!is_file_below(&e, prefix)) {
            continue;
        }
        char *data = n < (int)sizeof path ? unpack(&e, why, room) : NULL;
        const int rc = data == NULL ? -1 : make_folders(path, strlen(folder) + 1);
        if (data != NULL && (rc != 0 || write_file(path, data, e.zip.bytes) != 0)) {
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
