/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_host.c - readers of the host: settings, shared objects and scenes. Any bytes give a consistent result,
 * or one line with the reason. */
#include "config.h"

#include "base/text.h"
#include "config/params.h"
#include "config/settings.h"
#include "plugin/elf_file.h"
#include "render/render_internal.h"
#include "snapshot/snapshot.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- .ini files: settings read back the same after writing ---- */

/* Writes all settings that fit on one line each, and reads them. */
static void read_again(const ds_settings *s)
{
    char *text = NULL;
    size_t size = 0;
    ds_settings again = {0};
    ds_error e = {0};
    FILE *f = open_memstream(&text, &size);
    FUZZ_REQUIRE(f != NULL);
    for (int k = 0; k < DS_SECTIONS; k++) {
        fprintf(f, "[%s]\n", ds_section_names[k]);
        for (size_t i = 0; i < s->section[k].count; i++) {
            const ds_setting *item = &s->section[k].item[i];
            if (ds_ini_text_problem(item->key, item->value) == NULL) {
                fprintf(f, "%s = %s\n", item->key, item->value);
            }
        }
    }
    fclose(f);
    FUZZ_REQUIRE(size > (1 << 20) || ds_settings_parse(&again, text, size, "again", NULL, &e) == 0);
    for (int k = 0; k < DS_SECTIONS; k++) {
        for (size_t i = 0; i < again.section[k].count; i++) {
            const ds_setting *item = &again.section[k].item[i], *first = ds_settings_find(s, k, item->key);
            FUZZ_REQUIRE(first != NULL && strcmp(first->value, item->value) == 0);
        }
    }
    ds_settings_clear(&again);
    free(text);
}

int fuzz_ini(const uint8_t *data, size_t size)
{
    ds_settings s = {0};
    ds_error e = {0};
    int status = ds_settings_parse(&s, (const char *)data, size, "input", "/base", &e);
    if (status != 0) {
        FUZZ_REQUIRE(status == DS_EXIT_CONFIG && e.status == status);
        FUZZ_REQUIRE(strncmp(e.text, "input:", 6) == 0 && ds_text_is_line(e.text, strlen(e.text)));
    } else {
        for (int k = 0; k < DS_SECTIONS; k++) {
            for (size_t i = 0; i < s.section[k].count; i++) {
                const ds_setting *item = &s.section[k].item[i];
                FUZZ_REQUIRE(item->key[0] != '\0' && strlen(item->key) <= 47);
                FUZZ_REQUIRE(ds_text_is_line(item->value, strlen(item->value)));
                FUZZ_REQUIRE(ds_settings_find(&s, k, item->key) == item);
            }
        }
        read_again(&s);
    }
    ds_settings_clear(&s);
    return 0;
}

/* ---- --set assignments, separated by NUL bytes, for a schema with every type ---- */

static const char *const choices[] = {"soft", "hard", "frictionless", NULL};

static const ds_param *const schema[] = {DS_BOOL("flag", "false", ""),
                                         DS_INT("steps", "50", 1, 1000, "", ""),
                                         DS_INT("any", "0", -INFINITY, INFINITY, "", ""),
                                         DS_REAL("mass", "1.5", 0, 10, "kg", ""),
                                         DS_REAL("limit", "inf", -INFINITY, INFINITY, "", ""),
                                         DS_ENUM("contact", "soft", choices, ""),
                                         DS_TEXT("label", "", ""),
                                         DS_PATH("file", "", ""),
                                         DS_LIST("list", "1 2", -5, 5, 100, "m", ""),
                                         DS_ARRAY("array", "", ""),
                                         NULL};

static void check_line(int status, const ds_error *e)
{
    FUZZ_REQUIRE(status == DS_EXIT_CONFIG && e->status == status && e->text[0] != '\0');
    FUZZ_REQUIRE(ds_text_is_line(e->text, strlen(e->text)));
}

/* All values are in their ranges, and are the same after writing and reading. */
static void check_params(const ds_params *p)
{
    char *text = NULL;
    size_t size = 0;
    ds_settings s = {0};
    ds_params *again = NULL;
    ds_error e = {0};
    int64_t i = 0;
    double r = 0;
    const double *list = NULL;
    uint64_t count = 0;

    FUZZ_REQUIRE(ds_params_int(p, "steps", &i) == DS_OK && i >= 1 && i <= 1000);
    FUZZ_REQUIRE(ds_params_int(p, "contact", &i) == DS_OK && i >= 0 && i <= 2);
    FUZZ_REQUIRE(ds_params_real(p, "mass", &r) == DS_OK && r >= 0 && r <= 10);
    FUZZ_REQUIRE(ds_params_real(p, "limit", &r) == DS_OK && !isnan(r));
    FUZZ_REQUIRE(ds_params_list(p, "list", &list, &count) == DS_OK && count <= 100);
    for (uint64_t k = 0; k < count; k++) {
        FUZZ_REQUIRE(list[k] >= -5 && list[k] <= 5);
    }
    FILE *f = open_memstream(&text, &size);
    FUZZ_REQUIRE(f != NULL);
    fputs("[env]\n", f);
    FUZZ_REQUIRE(ds_params_write_ini(p, f) == 0);
    fclose(f);
    FUZZ_REQUIRE(ds_settings_parse(&s, text, size, "again", NULL, &e) == 0);
    FUZZ_REQUIRE(ds_params_make(schema, "toy", &s, DS_SECTION_ENV, &again, &e) == 0);
    const double *second = NULL;
    uint64_t n = 0;
    FUZZ_REQUIRE(ds_params_list(again, "list", &second, &n) == DS_OK && n == count);
    for (uint64_t k = 0; k < count; k++) {
        FUZZ_REQUIRE(list[k] == second[k]);
    }
    for (size_t k = 0; k < ds_params_count(p); k++) {
        FUZZ_REQUIRE(ds_params_info(p, k)->type == DS_PARAM_LIST ||
                     strcmp(ds_params_value_text(p, k), ds_params_value_text(again, k)) == 0);
    }
    ds_params_free(again);
    ds_settings_clear(&s);
    free(text);
}

int fuzz_set(const uint8_t *data, size_t size)
{
    ds_settings s = {0};
    ds_params *p = NULL;
    ds_error e = {0};
    int status = 0;

    while (size > 0 && status == 0) {
        size_t n = strnlen((const char *)data, size);
        char *assignment = strndup((const char *)data, n);
        FUZZ_REQUIRE(assignment != NULL);
        status = ds_settings_set(&s, assignment, &e);
        free(assignment);
        n += n < size;
        data += n;
        size -= n;
    }
    if (status == 0) {
        status = ds_params_make(schema, "toy", &s, DS_SECTION_ENV, &p, &e);
    }
    if (status != 0) {
        check_line(status, &e);
    } else {
        check_params(p);
        ds_params_free(p);
    }
    ds_settings_clear(&s);
    return 0;
}

/* ---- shared objects: names and flags ---- */

int fuzz_elf(const uint8_t *data, size_t size)
{
    ds_elf elf;
    ds_error e = {0};
    int status = ds_elf_parse(data, size, "input", &elf, 4, &e);
    if (status != 0) {
        FUZZ_REQUIRE(status == 4 && strncmp(e.text, "input: ", 7) == 0 &&
                     ds_text_is_line(e.text, strlen(e.text)));
        FUZZ_REQUIRE(elf.needed_count == 0 && elf.exported_count == 0);
        return 0;
    }
    FUZZ_REQUIRE(elf.needed_count <= DS_ELF_NAMES);
    for (size_t i = 0; i < elf.needed_count; i++) {
        FUZZ_REQUIRE(elf.needed[i] != NULL && strlen(elf.needed[i]) < size);
    }
    for (size_t i = 0; i < DS_ELF_NAMES; i++) {
        FUZZ_REQUIRE((elf.exported[i] != NULL) == (i < elf.exported_count));
    }
    ds_elf_clear(&elf);
    return 0;
}

/* ---- scene blocks: arrays that can be read and drawn ---- */

int fuzz_snapshot(const uint8_t *data, size_t size)
{
    ds_snapshot *s;
    ds_error e = {0};
    if (ds_snapshot_read(data, size, &s, &e) != 0) {
        FUZZ_REQUIRE(e.status == DS_EXIT_PLUGIN && e.text[0] != '\0' && s == NULL);
        return 0;
    }
    FUZZ_REQUIRE(s->kept <= s->frames && s->frames > 0);
    uint64_t sum = 0;
    for (uint64_t b = 0; b < s->bodies; b++) {
        const ds_snapshot_body *body = &s->body[b];
        for (uint64_t i = 0; i < body->index_count; i++) {
            FUZZ_REQUIRE(body->index[i] < body->count);
        }
        for (uint64_t i = 0; i < s->kept * body->count * body->width; i++) {
            sum += !isfinite(body->data[i]);
        }
    }
    FUZZ_REQUIRE(sum == s->nonfinite);
    for (uint64_t m = 0; m < s->metrics; m++) {
        sum += s->metric[m].values[s->frames - 1] > 0;
    }
    ds_frame_of_reference ref = ds_geometry_reference(s);
    ds_geometry g = {0};
    for (uint64_t b = 0; s->kept > 0 && b < s->bodies; b++) {
        ds_geometry_add(&g, s, &ref, s->kept - 1, b);
    }
    ds_geometry_free(&g);
    ds_snapshot_free(s);
    return 0;
}
