/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_descriptor.c - plugin data made from any bytes: NULL pointers, odd texts, and sizes smaller than the
 * host expects. Every struct and text ends at a page without access, which catches reads beyond its size.
 * What is accepted must work: its schema gives parameters and help. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config/params.h"
#include "catalog/catalog.h"
#include "plugin/descriptor.h"
#include "tests/fuzz/fuzz.h"

enum { PAGES = 128, MOST_PARAMS = 6 };

/* Bytes of the input, 0 after its end. */
typedef struct source {
    const uint8_t *at, *end;
    unsigned used; /* pages */
} source;

static unsigned byte(source *s)
{
    return s->at < s->end ? *s->at++ : 0;
}

/* Pages of memory, each followed by one without access. */
static unsigned char *arena(size_t page)
{
    static unsigned char *memory;
    if (memory == NULL) {
        memory = mmap(NULL, 2 * PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        FUZZ_REQUIRE(memory != MAP_FAILED);
        for (size_t k = 0; k < PAGES; k++) {
            FUZZ_REQUIRE(mprotect(memory + (2 * k + 1) * page, page, PROT_NONE) == 0);
        }
    }
    return memory;
}

/* A copy that ends at a page without access (structs are aligned, so up to 7 bytes before it). */
static void *guarded(source *s, const void *data, size_t size, size_t alignment)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    FUZZ_REQUIRE(s->used < PAGES && size <= page);
    unsigned char *end = arena(page) + (2 * (size_t)s->used++ + 1) * page;
    return memcpy(end - (size + alignment - 1) / alignment * alignment, data, size);
}

/* NULL, a usual text, or one from the input. */
static const char *text(source *s, const char *usual)
{
    char bytes[64];
    size_t n = 0;
    unsigned choice = byte(s);
    if (choice < 200) {
        return usual;
    }
    if (choice < 210) {
        return NULL;
    }
    if (choice == 255) { /* a long one */
        static char large[3000];
        memset(large, 'a', sizeof large - 1);
        return guarded(s, large, sizeof large, 1);
    }
    for (size_t length = byte(s) % (sizeof bytes - 1); n < length; n++) {
        bytes[n] = (char)byte(s);
    }
    bytes[n] = '\0';
    return guarded(s, bytes, strlen(bytes) + 1, 1);
}

static uint32_t number(source *s, uint32_t usual)
{
    static const uint32_t odd[] = {0, 1, 3, 4, 7, 8, 9, 23, 24, 31, 63, 64, 0x7fffffff, 0xffffffff};
    unsigned choice = byte(s);
    return choice < 200 ? usual : choice < 230 ? odd[choice % 14] : usual ^ 1u << byte(s) % 32;
}

static double range(source *s, double usual)
{
    static const double odd[] = {0, 1, -1, 1e308, -1e308, INFINITY, -INFINITY, NAN};
    unsigned choice = byte(s);
    return choice < 200 ? usual : odd[choice % 8];
}

/* As much of a struct as its size says; at least the size field. */
static const void *cut(source *s, const void *data, size_t whole, uint32_t size, size_t least)
{
    size_t n = size < least ? least : size < whole ? size : whole;
    return byte(s) < 250 ? guarded(s, data, n, 8) : NULL;
}

static const ds_param *make_param(source *s, unsigned index)
{
    static const char *const names[] = {"steps", "mass", "contact", "file", "list", "flag"};
    static const char *const defaults[] = {"", "false", "1", "1.5", "soft", "", "", "1 2", ""};
    static const char *const words[] = {"soft", "hard", NULL};
    static const char *const none[] = {NULL};
    const char *odd[3] = {NULL, NULL, NULL};
    ds_param q = {.struct_size = number(s, sizeof q), .type = 1 + byte(s) % 8, .flags = byte(s) % 8};
    q.type = number(s, q.type);
    q.max_count = byte(s) % 8;
    q.min = range(s, -10);
    q.max = range(s, 10);
    q.name = text(s, names[index % 6]);
    q.default_text = text(s, defaults[q.type <= 8 ? q.type : 0]);
    q.unit = text(s, "m");
    q.doc = text(s, "What it is.");
    q.choices = q.type == DS_PARAM_ENUM ? words : NULL;
    switch (byte(s) % 16) {
    case 0:
        break;
    case 1:
        q.choices = NULL;
        break;
    case 2:
        q.choices = none;
        break;
    case 3:
        odd[0] = text(s, "soft");
        odd[1] = text(s, "soft");
        q.choices = guarded(s, odd, sizeof odd, 8);
        break;
    default:
        break;
    }
    return cut(s, &q, sizeof q, q.struct_size, sizeof q.struct_size);
}

static ds_status create_env(const ds_host *host, void **out)
{
    return DS_E_GENERIC;
}

static void destroy(void *self)
{
}

static ds_status info(void *self, ds_env_info *out)
{
    return DS_E_GENERIC;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    return DS_E_GENERIC;
}

static ds_status evaluate(void *self, const ds_rows *rows, const ds_results *results)
{
    return DS_E_GENERIC;
}

static ds_status create_optimizer(const ds_host *host, const ds_problem *problem, void **out)
{
    return DS_E_GENERIC;
}

static ds_status run(void *self, const ds_objective *objective)
{
    return DS_E_GENERIC;
}

static const ds_desc *make_desc(source *s)
{
    const ds_param *params[MOST_PARAMS + 1] = {NULL};
    ds_desc d = {.struct_size = number(s, sizeof d), .kind = 1 + byte(s) % 2, .flags = byte(s)};
    d.kind = number(s, d.kind);
    d.id = text(s, "toy");
    d.version = text(s, "1");
    d.license = text(s, "MIT");
    d.summary = text(s, "A toy.");
    d.description = text(s, "Two\nparagraphs.");
    d.citation = text(s, "");
    unsigned n = byte(s) % (MOST_PARAMS + 1);
    for (unsigned i = 0; i < n; i++) {
        params[i] = make_param(s, i);
    }
    d.params = byte(s) % 8 != 7 ? guarded(s, params, (n + 1) * sizeof *params, 8) : NULL;
    const char *ids[] = {text(s, "ds.env.scene/1"), text(s, "org.example.toy/1"), NULL};
    const char *const *list = guarded(s, ids, sizeof ids, 8);
    d.extensions = byte(s) % 2 != 0 ? list : NULL;
    d.needs = byte(s) % 2 != 0 ? list : NULL;
    d.uses = byte(s) % 2 != 0 ? list : NULL;
    return cut(s, &d, sizeof d, d.struct_size, sizeof d.struct_size);
}

static const ds_plugin *make_plugin(source *s)
{
    ds_env_vtable env = {number(s, sizeof env), 0, create_env, destroy, info, bounds, evaluate, NULL};
    ds_optimizer_vtable optimizer = {number(s, sizeof optimizer), 0, create_optimizer, destroy, run, NULL};
    ds_plugin p = {.magic = number(s, DS_MAGIC),
                   .struct_size = number(s, sizeof p),
                   .abi_major = number(s, DS_ABI_MAJOR),
                   .abi_minor = number(s, DS_ABI_MINOR),
                   .layout = number(s, DS_LAYOUT),
                   .build = ""};
    switch (byte(s)) {
    case 1:
        env.create = NULL;
        break;
    case 2:
        env.evaluate = NULL;
        break;
    case 3:
        optimizer.run = NULL;
        break;
    case 4:
        env.destroy = NULL;
        optimizer.destroy = NULL;
        break;
    default:
        break;
    }
    p.desc = make_desc(s);
    p.env = cut(s, &env, sizeof env, env.struct_size, sizeof env.struct_size);
    p.optimizer = cut(s, &optimizer, sizeof optimizer, optimizer.struct_size, sizeof optimizer.struct_size);
    /* The two fields that every version has. */
    return cut(s, &p, sizeof p, p.struct_size, 2 * sizeof p.struct_size);
}

/* An accepted plugin can be described, and its defaults are values of their types or are refused. */
static void use(const ds_plugin *p)
{
    const ds_param *const *params = p->desc->params;
    char type[DS_DESCRIBE_SIZE];
    ds_settings none = {0};
    ds_params *made = NULL;
    ds_error e = {0};
    for (size_t i = 0; params != NULL && params[i] != NULL; i++) {
        ds_describe_type(params[i], type, sizeof type);
        FUZZ_REQUIRE(type[0] == '(' && ds_text_is_line(type, strlen(type)));
    }
    int status = ds_params_make(params, p->desc->id, &none, DS_SECTION_ENV, &made, &e);
    FUZZ_REQUIRE(status == 0 || status == DS_EXIT_PLUGIN || status == DS_EXIT_CONFIG);
    ds_params_free(made);
}

/* Packs the descriptor for another process: unchanged it is the same, and with a changed byte refused or
 * usable. */
static void hand_over(source *s, const ds_plugin *p)
{
    size_t size = 0;
    char *bytes = ds_descriptor_pack(p->desc, &size);
    ds_plugin *same = NULL;
    ds_error e = {0};
    FUZZ_REQUIRE(bytes != NULL && ds_descriptor_unpack(bytes, size, &same, &e) == 0);
    FUZZ_REQUIRE(ds_desc_accept(same->desc, p->desc->id, "toy.so", &e) == 0 &&
                 same->desc->kind == p->desc->kind);
    FUZZ_REQUIRE(strcmp(same->desc->summary, p->desc->summary) == 0);
    ds_descriptor_free(same);
    for (int changes = 0; changes < 4 && s->at < s->end; changes++) {
        size_t at = (byte(s) << 8 | byte(s)) % size;
        bytes[at] = (char)byte(s);
        if (ds_descriptor_unpack(bytes, byte(s) < 200 ? size : at, &same, &e) == 0) {
            if (ds_desc_accept(same->desc, NULL, "toy.so", &e) == 0) {
                use(same);
            }
            ds_descriptor_free(same);
        }
    }
    free(bytes);
}

int fuzz_descriptor(const uint8_t *data, size_t size)
{
    source s = {.at = data, .end = data + size};
    ds_error e = {0};
    const char *id = byte(&s) < 128 ? "toy" : NULL;
    const ds_plugin *p = make_plugin(&s);
    ds_plugin *own = NULL;
    int status = ds_plugin_accept(p, id, "toy.so", &own, &e);
    if (status == 0) {
        use(own);
        hand_over(&s, own);
        ds_descriptor_free(own);
    } else {
        FUZZ_REQUIRE(status == DS_EXIT_PLUGIN && strncmp(e.text, "toy.so: ", 8) == 0);
        FUZZ_REQUIRE(ds_text_is_line(e.text, strlen(e.text)));
    }
    return 0;
}
