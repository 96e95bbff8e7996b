# Completion of openurl's command line in bash. The command knows the words; bash knows the files.
#
# bash would run a command that appears in the name of a file or a handler, if the name went through `compgen -W` or `eval`.
# Words are quoted here, and readline quotes the names of files that it completes itself.

_openurl() {
    local line=${COMP_LINE:0:COMP_POINT} IFS=$' \t\n' isQuoted= words current head candidates candidate shown
    # `read` removes backslashes, and expands nothing.
    read -a words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=('')
    IFS= read current <<<"$2"
    if [[ ${words[-1]} == [\"\']* || ${words[-1]} != *"$current" ]]; then
        isQuoted=yes
        words[-1]=$current
    fi
    # readline replaces only the part of the word that follows a colon or an equals sign.
    head=${words[-1]%"$current"}

    mapfile -t candidates < <(command openurl __complete "${words[@]:1}" 2>/dev/null)
    COMPREPLY=()
    for candidate in "${candidates[@]:1}"; do
        candidate=${candidate%%$'\t'*}
        [[ $candidate == "${words[-1]}"* ]] || continue
        candidate=${candidate#"$head"}
        [[ -n $candidate ]] || continue
        printf -v shown %q "$candidate"
        [[ -n $isQuoted && $shown != "$candidate" ]] || COMPREPLY+=("$shown")
    done
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace

    [[ -n $head ]] && return
    case ${candidates[0]} in
    files)
        if ((${#COMPREPLY[@]} == 0)); then
            compopt -o default
            return
        fi
        # readline lists the files beside the words.
        mapfile -t candidates < <(compgen -f -- "$2")
        for candidate in "${candidates[@]}"; do
            # A name with a newline is two lines, which name nothing.
            [[ -e $candidate || -L $candidate ]] || continue
            printf -v shown %q "$candidate"
            COMPREPLY+=("$shown")
        done
        ;;
    directories) compopt -o dirnames ;;
    esac
} && complete -F _openurl openurl
