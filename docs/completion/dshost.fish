# SPDX-License-Identifier: Apache-2.0
# Completion for fish: `dshost complete` knows commands, flags, plugins and the keys of --set.

function __dshost_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (env DSHOST=$words[1] $words[1] complete $words[2..-1] 2>/dev/null)
    switch "$found[1]"
        case '\*.ini'
            __fish_complete_suffix .ini
        case '\*' ''
            __fish_complete_path (commandline -ct)
        case '*'
            printf '%s\n' $found
    end
end
complete -c dshost -f -a '(__dshost_complete)'
