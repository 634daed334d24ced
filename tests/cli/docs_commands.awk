# SPDX-License-Identifier: Apache-2.0
# docs_commands.awk - the command lines of dshost in Markdown pages, one word per line of output:
#     PAGE:LINE TAB COMMAND TAB KIND TAB VALUE
# KIND is command, flag, env, opt, key (VALUE is ENV KEY or OPT KEY), id or file. Lines of code blocks count, and code in the
# text that begins with `dshost `. Words in capitals, with $ or with ... stand for something, and are passed over.
function stands_for_something(w) {
    return w ~ /^[A-Z][A-Z_]*(:[A-Z]+)?$/ || w ~ /[$<>]|\.\.\./
}
function put(kind, value) {
    printf "%s:%d\t%s\t%s\t%s\n", FILENAME, FNR, command, kind, value
}
function put_plugin(kind, value) {
    if (value ~ /^[a-z][a-z0-9_]*$/) put(kind, value)
}
function put_key(value,    section) { # SECTION.KEY=VALUE
    section = value
    sub(/\..*/, "", section)
    sub(/^[^.]*\./, "", value)
    sub(/=.*/, "", value)
    if (section == "env" && env ~ /^[a-z][a-z0-9_]*$/) put("key", "env " env " " value)
    if (section == "opt" && opt ~ /^[a-z][a-z0-9_]*$/) put("key", "opt " opt " " value)
    if (section !~ /^(env|opt|run)$/) put("flag", "--set " value)
}
# The words of one command, which begin after the word dshost.
function read_command(text,    n, i, w, words, name, value, quote, part) {
    sub(/[ \t]#([ \t].*)?$/, "", text)
    sub(/[ \t]*([|>;&)]|2>).*$/, "", text)
    quote = sprintf("%c", 39)
    n = split(text, part, quote)
    text = ""
    for (i = 1; i <= n; i++) { # blanks inside quotes are no separators
        if (i % 2 == 0) gsub(/ /, "\001", part[i])
        text = text part[i]
    }
    gsub(/"/, "", text)
    n = split(text, words, /[ \t]+/)
    command = env = opt = ""
    i = 1
    if (words[1] == "") i = 2
    if (words[i] ~ /^-/) command = "run"
    else {
        command = words[i++]
        if (stands_for_something(command) || command !~ /^[a-z]+$/) return
        put("command", command)
    }
    for (first = i; i <= n; i++) { # which plugins the keys are of
        if (words[i] == "--env" && words[i + 1] ~ /^[a-z]/) env = words[i + 1]
        if (words[i] == "--opt" && words[i + 1] ~ /^[a-z]/) opt = words[i + 1]
        if (command == "help" && i == first) env = words[i]
    }
    for (i = first; i <= n; i++) {
        w = words[i]
        if (w ~ /^--/) {
            name = value = w
            sub(/=.*/, "", name)
            sub(/^[^=]*=?/, "", value)
            put("flag", name)
            if (name ~ /^--(env|opt|set)$/ && value == "") value = words[++i]
            if (name == "--env") put_plugin("env", value)
            else if (name == "--opt") put_plugin("opt", value)
            else if (name == "--set") put_key(value)
        } else if (stands_for_something(w)) continue
        else if (w ~ /^(examples|docs)\/.*\.[a-z]+/) {
            sub(/:.*/, "", w)
            put("file", w)
        } else if (i == first && command == "help" && w !~ /[.\/]/) put("id", w)
        else if (command == "template" && w ~ /^[a-z]/) put(i == first ? "env" : "opt", w)
    }
}
function read_line(text,    at) {
    while (match(text, /(^|[ \t(`\/])dshost[ \t]+/)) {
        text = substr(text, RSTART + RLENGTH)
        at = match(text, /(^|[ \t(\/])dshost[ \t]+/)
        read_command(at ? substr(text, 1, at - 1) : text)
    }
}
FNR == 1 { fenced = 0; continued = "" }
/^[ \t]*```/ { fenced = !fenced; next }
fenced || /^    / || /^\t/ {
    line = continued $0
    continued = ""
    if (line ~ /\\$/) { sub(/\\$/, "", line); continued = line; next }
    if (line ~ /^[ \t]*(\$ |[A-Z_]+=[^ ]* |env [^ ]* |mpirun [^d]*)*(\.\/|[a-z_]*\/)?dshost[ \t]/) read_line(line)
    next
}
{
    rest = $0
    while (match(rest, /`(\.\/)?dshost [^`]*`/)) {
        code = substr(rest, RSTART + 1, RLENGTH - 2)
        rest = substr(rest, RSTART + RLENGTH)
        read_line(code)
    }
}
