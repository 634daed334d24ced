/* SPDX-License-Identifier: Apache-2.0 */
/* elf_file.c - bounds-checked reader of the dynamic section and dynamic symbols of a shared object. */
#include "config.h"

#include "plugin/elf_file.h"

#include <errno.h>
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#elif defined(__riscv)
#define MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define MACHINE EM_PPC64
#else
#define MACHINE EM_NONE
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTE_ORDER_OF_HOST ELFDATA2LSB
#else
#define BYTE_ORDER_OF_HOST ELFDATA2MSB
#endif

typedef struct image {
    const unsigned char *data;
    size_t size;
} image;

/* `count` records of `each` bytes at `offset`, for the caller to copy; NULL where they exceed the file. */
static const void *part(const image *im, uint64_t offset, uint64_t count, uint64_t each)
{
    int inside = count <= im->size / each && offset <= im->size && count * each <= im->size - offset;
    return inside ? im->data + offset : NULL;
}

/* The string at `offset` of a string table; NULL where it does not end inside the table. */
static const char *string_at(const image *im, const Elf64_Shdr *table, uint64_t offset)
{
    const char *base = part(im, table->sh_offset, table->sh_size, 1);
    int inside =
        base != NULL && offset < table->sh_size && memchr(base + offset, 0, table->sh_size - offset) != NULL;
    return inside ? base + offset : NULL;
}

static void read_dynamic(const image *im, const Elf64_Shdr *s, const Elf64_Shdr *names, ds_elf *out)
{
    uint64_t count = s->sh_size / sizeof(Elf64_Dyn);
    const char *base = part(im, s->sh_offset, count, sizeof(Elf64_Dyn));
    for (uint64_t i = 0; base != NULL && i < count; i++) {
        Elf64_Dyn d;
        memcpy(&d, base + i * sizeof d, sizeof d);
        const char *name = d.d_tag == DT_NEEDED ? string_at(im, names, d.d_un.d_val) : NULL;
        if (name != NULL && out->needed_count < DS_ELF_NAMES &&
            (out->needed[out->needed_count] = strdup(name)) != NULL) {
            out->needed_count++;
        }
        if (d.d_tag == DT_TEXTREL || (d.d_tag == DT_FLAGS && (d.d_un.d_val & DF_TEXTREL) != 0)) {
            out->text_relocations = 1;
        }
        if (d.d_tag == DT_NULL) {
            break;
        }
    }
}

static void read_symbols(const image *im, const Elf64_Shdr *s, const Elf64_Shdr *names, ds_elf *out)
{
    uint64_t count = s->sh_size / sizeof(Elf64_Sym);
    const char *base = part(im, s->sh_offset, count, sizeof(Elf64_Sym));
    for (uint64_t i = 1; base != NULL && i < count; i++) {
        Elf64_Sym y;
        memcpy(&y, base + i * sizeof y, sizeof y);
        unsigned bind = ELF64_ST_BIND(y.st_info), see = ELF64_ST_VISIBILITY(y.st_other);
        if (y.st_shndx == SHN_UNDEF || bind == STB_LOCAL || see == STV_HIDDEN || see == STV_INTERNAL ||
            ELF64_ST_TYPE(y.st_info) == STT_SECTION || y.st_shndx == SHN_ABS) {
            continue;
        }
        const char *name = string_at(im, names, y.st_name);
        if (out->exported_count < DS_ELF_NAMES) {
            out->exported[out->exported_count] = strdup(name != NULL ? name : "?");
        }
        out->exported_count++;
    }
}

static const char *read_image(const image *im, ds_elf *out)
{
    Elf64_Ehdr h;
    if (im->size < sizeof h || memcmp(im->data, ELFMAG, SELFMAG) != 0) {
        return "not a shared object (no ELF header)";
    }
    memcpy(&h, im->data, sizeof h);
    if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != BYTE_ORDER_OF_HOST ||
        (MACHINE != EM_NONE && h.e_machine != MACHINE)) {
        return "built for another type of machine";
    }
    if (h.e_type != ET_DYN) {
        return "an ELF file, but not a shared object: build it with -shared -fPIC";
    }
    const char *programs = part(im, h.e_phoff, h.e_phnum, sizeof(Elf64_Phdr));
    const char *sections = part(im, h.e_shoff, h.e_shnum, sizeof(Elf64_Shdr));
    if (programs == NULL || sections == NULL || (h.e_phnum > 0 && h.e_phentsize != sizeof(Elf64_Phdr)) ||
        (h.e_shnum > 0 && h.e_shentsize != sizeof(Elf64_Shdr))) {
        return "damaged: its headers lie outside of the file or have a wrong size";
    }
    for (unsigned i = 0; i < h.e_phnum; i++) {
        Elf64_Phdr p;
        memcpy(&p, programs + i * sizeof p, sizeof p);
        if (p.p_type == PT_GNU_STACK && (p.p_flags & PF_X) != 0) {
            out->executable_stack = 1;
        }
        if (p.p_type == PT_LOAD && part(im, p.p_offset, p.p_filesz, 1) == NULL) {
            return "damaged: a segment lies outside of the file (an incomplete copy?)";
        }
    }
    for (unsigned i = 0; i < h.e_shnum; i++) {
        Elf64_Shdr s, names;
        memcpy(&s, sections + i * sizeof s, sizeof s);
        if ((s.sh_type != SHT_DYNAMIC && s.sh_type != SHT_DYNSYM) || s.sh_link >= h.e_shnum) {
            continue;
        }
        memcpy(&names, sections + s.sh_link * sizeof names, sizeof names);
        if (s.sh_type == SHT_DYNAMIC) {
            read_dynamic(im, &s, &names, out);
        } else {
            read_symbols(im, &s, &names, out);
        }
    }
    return NULL;
}

int ds_elf_parse(const void *data, size_t size, const char *name, ds_elf *out, int status, ds_error *e)
{
    image im = {data, size};
    memset(out, 0, sizeof *out);
    const char *why = size == 0 ? "an empty file" : read_image(&im, out);
    if (why != NULL) {
        ds_elf_clear(out);
        return ds_fail(e, status, "%s: %s", name, why);
    }
    return 0;
}

int ds_elf_read(const char *path, ds_elf *out, int status, ds_error *e)
{
    struct stat st;
    /* O_NONBLOCK: opening a named pipe would wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r;
    memset(out, 0, sizeof *out);
    if (fd < 0 || fstat(fd, &st) != 0) {
        r = ds_fail(e, status, "%s: cannot be opened: %s", path, strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        r = ds_fail(e, status, "%s: %s, expected a shared object", path,
                    S_ISDIR(st.st_mode) ? "a folder" : "not a regular file");
    } else {
        size_t size = (size_t)st.st_size;
        void *map = size > 0 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
        r = map == MAP_FAILED ? ds_fail(e, status, "%s: cannot be read: %s", path, strerror(errno))
                              : ds_elf_parse(map, size, path, out, status, e);
        if (map != NULL && map != MAP_FAILED) {
            munmap(map, size);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return r;
}

void ds_elf_clear(ds_elf *elf)
{
    for (size_t i = 0; i < DS_ELF_NAMES; i++) {
        free(elf->needed[i]);
        free(elf->exported[i]);
    }
    memset(elf, 0, sizeof *elf);
}

/* ---- sanitizers ---- */

int ds_sanitizer_differs(const char *path, const char *kind, ds_error *e)
{
    return ds_fail(e, DS_EXIT_PLUGIN, "%s: built with -fsanitize=%s, this dshost is not: build both alike",
                   path, kind);
}

const char *ds_sanitizer_in(const char *text, const char *address, const char *thread)
{
    return strstr(text, address) != NULL ? "address" : strstr(text, thread) != NULL ? "thread" : NULL;
}

int ds_elf_check_sanitizer(const char *path, ds_error *e)
{
    ds_elf elf;
    int status = ds_elf_read(path, &elf, DS_EXIT_PLUGIN, e);
    for (size_t i = 0; status == 0 && i < elf.needed_count; i++) {
        const char *kind = ds_sanitizer_in(elf.needed[i], "libasan.so", "libtsan.so");
#ifdef DS_SANITIZERS
        kind = kind != NULL && strstr(DS_SANITIZERS, kind) != NULL ? NULL : kind;
#endif
        status = kind != NULL ? ds_sanitizer_differs(path, kind, e) : 0;
    }
    ds_elf_clear(&elf);
    return status;
}
