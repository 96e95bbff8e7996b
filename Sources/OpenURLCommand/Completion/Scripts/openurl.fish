# Completion of openurl's command line in fish. The command knows the words; fish knows the files, and quotes what it inserts.

function __openurl_ask
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l plain (string unescape -- $current)
    or set plain $current
    command openurl __complete $words[2..] "$plain" 2>/dev/null
end

function __openurl_words
    set -l answer (__openurl_ask)
    test "$answer[1]" = directories
    and __fish_complete_directories (commandline -ct) ''
    set -q answer[2]
    and printf '%s\n' $answer[2..]
end

function __openurl_wants_files
    set -l answer (__openurl_ask)
    test "$answer[1]" = files
end

complete -c openurl -f -a '(__openurl_words)'
complete -c openurl -n __openurl_wants_files -F
