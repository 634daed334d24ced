/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_ini.c - any bytes given to the reader of .ini files: settings that survive writing and reading, or one
 * line with a line number that says why not. */
#include "config.h"

#include <string.h>

#include "config/params.h"
#include "config/settings.h"
#include "tests/fuzz/fuzz.h"

/* Writes all settings that fit on a line each, and reads that. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
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
