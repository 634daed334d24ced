# SPDX-License-Identifier: Apache-2.0
# new_files.awk - makes new_files.c of the files that `dshost new` writes: their lines as texts of C.
BEGIN {
    print "/* Made by new_files.awk. */\n#include \"catalog/new_files.h\"\n"
}
FNR == 1 {
    if (files > 0) { print "    NULL};" }
    name[++files] = FILENAME
    sub(/.*\/scenes\//, "scenes/", name[files]) || sub(/.*\//, "", name[files])
    print "static const char *const file_" files "[] = {"
}
{
    gsub(/[\\"]/, "\\\\&")
    gsub(/\t/, "\\t")
    print "    \"" $0 "\","
}
END {
    print "    NULL};\n\nconst ds_new_file ds_new_files[] = {"
    for (i = 1; i <= files; i++) {
        print "    {\"" name[i] "\", file_" i "},"
    }
    print "    {NULL, NULL}};"
}
