# SPDX-License-Identifier: Apache-2.0
# texts.awk - texts as C: NAME.js becomes the lines of ds_text_NAME_js (ds_text_file in page/page.h). Indents and lines
# that are comments alone stay behind, so a text that goes on over several lines must not need them.
# Usage: awk -v header=page/page_texts.h -f texts.awk FILE...
BEGIN { print "/* Made by texts.awk. */\n#include \"" header "\"\n" }
FNR == 1 {
    if (files++ > 0) { print "    NULL};\n" }
    name = FILENAME
    sub(/.*\//, "", name)
    gsub(/[^A-Za-z0-9]/, "_", name)
    print "ds_text_file ds_text_" name " = {"
}
{ sub(/^[ \t]+/, "") }
/^\/\// || $0 == "" { next }
# One line of comment in a style sheet, or the head of a file.
/^\/\*.*\*\/$/ { next }
{
    gsub(/[\\"]/, "\\\\&")
    gsub(/\t/, "\\t")
    print "    \"" $0 "\\n\","
}
END { print "    NULL};" }
