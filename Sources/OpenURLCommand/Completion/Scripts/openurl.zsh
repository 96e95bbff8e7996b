#compdef openurl
# Completion of openurl's command line in zsh. The command knows the words; zsh knows the files, and quotes what it inserts.

_openurl() {
    local line
    local -a lines words_ shown schemes
    lines=("${(@f)$(command openurl __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    for line in "${(@)lines[2,-1]}"; do
        if [[ ${line%%$'\t'*} == *: ]]; then
            schemes+=("${line%%$'\t'*}")
        else
            words_+=("${line%%$'\t'*}")
            shown+=("${line/$'\t'/  -- }")
        fi
    done
    local ret=1
    (( $#words_ )) && compadd -l -d shown -a words_ && ret=0
    (( $#schemes )) && compadd -S '' -a schemes && ret=0
    case $lines[1] in
    files) _files && ret=0 ;;
    directories) _files -/ && ret=0 ;;
    esac
    return ret
}

# zsh reads the file as the function's body, or a person as a script.
if [[ $funcstack[1] == _openurl ]]; then _openurl "$@"; else compdef _openurl openurl; fi
