/* SPDX-License-Identifier: Apache-2.0 */
/* sha256.h - SHA-256 (FIPS 180-4), by which a page names the scripts that it allows. */
#ifndef DS_PAGE_SHA256_H
#define DS_PAGE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { DS_SHA256 = 32 /* bytes */ };

typedef struct ds_sha256 {
    uint32_t state[8];
    uint64_t length; /* bytes so far */
    unsigned char block[64];
} ds_sha256;

void ds_sha256_begin(ds_sha256 *h);
void ds_sha256_add(ds_sha256 *h, const void *data, size_t length);
void ds_sha256_end(ds_sha256 *h, unsigned char sum[DS_SHA256]);

#endif
