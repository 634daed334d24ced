/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/zip_read.inl - the functions of zip_read.h, which includes it. */

/* A little-endian number of at most four bytes. */
static inline uint32_t ds_zip_number(const unsigned char *p, int bytes)
{
    uint32_t v = 0;
    while (bytes-- > 0) {
        v = v << 8 | p[bytes];
    }
    return v;
}

static inline const char *ds_zip_open(ds_zip *z, const void *data, size_t bytes)
{
    const unsigned char *p = (const unsigned char *)data;
    memset(z, 0, sizeof *z);
    z->data = p;
    z->bytes = bytes;
    for (size_t back = DS_ZIP_END; back <= bytes && back <= DS_ZIP_END + 0xffffu; back++) {
        const unsigned char *end = p + bytes - back;
        if (memcmp(end, "PK\5\6", 4) == 0 && ds_zip_number(end + 20, 2) + (size_t)DS_ZIP_END == back) {
            z->members = ds_zip_number(end + 10, 2);
            z->directory = ds_zip_number(end + 16, 4);
            z->end = bytes - back;
            return NULL;
        }
    }
    return "its end record is missing";
}

static inline const char *ds_zip_next(const ds_zip *z, size_t *at, ds_zip_member *m)
{
    const unsigned char *p = z->data + *at;
    if (*at > z->end || z->end - *at < DS_ZIP_CENTRAL || memcmp(p, "PK\1\2", 4) != 0) {
        return "its directory is cut off";
    }
    m->name = (const char *)p + DS_ZIP_CENTRAL;
    m->length = ds_zip_number(p + 28, 2);
    const size_t rest = m->length + ds_zip_number(p + 30, 2) + ds_zip_number(p + 32, 2);
    if (z->end - *at - DS_ZIP_CENTRAL < rest) {
        return "its directory is cut off";
    }
    m->mode = p[5] == 3 ? ds_zip_number(p + 38, 4) >> 16 : 0;
    m->flags = ds_zip_number(p + 8, 2);
    m->method = ds_zip_number(p + 10, 2);
    m->crc = ds_zip_number(p + 16, 4);
    m->packed = ds_zip_number(p + 20, 4);
    m->bytes = ds_zip_number(p + 24, 4);
    m->data = NULL;
    const size_t local = ds_zip_number(p + 42, 4);
    if (local <= z->bytes && z->bytes - local >= DS_ZIP_LOCAL && memcmp(z->data + local, "PK\3\4", 4) == 0) {
        const unsigned char *head = z->data + local;
        const size_t skip = DS_ZIP_LOCAL + ds_zip_number(head + 26, 2) + ds_zip_number(head + 28, 2);
        m->data = z->bytes - local >= skip && z->bytes - local - skip >= m->packed ? head + skip : NULL;
    }
    *at += DS_ZIP_CENTRAL + rest;
    return NULL;
}

static inline const char *ds_zip_flaw(const ds_zip_member *m)
{
    return (m->flags & 1) != 0 ? "a member is encrypted"
           : m->method != DS_ZIP_STORED && m->method != DS_ZIP_DEFLATED
               ? "a member has an unsupported compression"
           : m->packed == UINT32_MAX || m->bytes == UINT32_MAX
               ? "a member has more than 4 GiB, which is unsupported"
           : m->data == NULL                                     ? "a member lies outside of the file"
           : m->method == DS_ZIP_STORED && m->packed != m->bytes ? "a member has two different sizes"
                                                                 : NULL;
}

static inline int ds_zip_unpack(const ds_zip_member *m, void *to)
{
    if (m->method == DS_ZIP_STORED) {
        memcpy(to, m->data, m->bytes);
    } else {
        z_stream z;
        memset(&z, 0, sizeof z);
        z.next_in = (Bytef *)(uintptr_t)m->data;
        z.avail_in = (uInt)m->packed;
        z.next_out = (Bytef *)to;
        z.avail_out = (uInt)m->bytes + 1;
        if (inflateInit2(&z, -MAX_WBITS) != Z_OK) {
            return 0;
        }
        const int ended = inflate(&z, Z_FINISH) == Z_STREAM_END && z.total_out == m->bytes;
        inflateEnd(&z);
        if (!ended) {
            return 0;
        }
    }
    return crc32(crc32(0, NULL, 0), (const Bytef *)to, (uInt)m->bytes) == m->crc;
}
