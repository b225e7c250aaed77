# SPDX-License-Identifier: Apache-2.0
# bash completion for gpubpf: the words are those of `gpubpf help tables`.
_gpubpf()
{
	local tool=${COMP_WORDS[0]} cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	local object=${COMP_WORDS[1]} verb=${COMP_WORDS[2]} words= i
	local tables=$("$tool" help tables 2> /dev/null)

	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} = -- ]] && { _command_offset $((i + 1)) 2> /dev/null; return; }
	done
	if ((COMP_CWORD == 1)); then
		words="$(awk '$1 == "command" { print $2 }' <<< "$tables" | sort -u) --help --version"
	elif ((COMP_CWORD == 2)) && awk -v o="$object" '$1 == "command" && $2 == o && $3 != "-" { f = 1 } END { exit !f }' <<< "$tables"; then
		words="$(awk -v o="$object" '$1 == "command" && $2 == o { print $3 }' <<< "$tables") --help"
	elif words=$(awk -v o="$object" -v v="$verb" -v p="$prev" '
			$1 == "command" { f = $2 == o && ($3 == "-" || $3 == v); g = 0 }
			$1 == "option" { g = f && ($2 == p || $3 == p) }
			$1 == "value" && g { print $2 }' <<< "$tables") && [[ $words ]]; then
		: # values of the option before
	elif [[ $cur = -* ]]; then
		words=$(awk -v o="$object" -v v="$verb" '
			$1 == "command" { f = $2 == o && ($3 == "-" || $3 == v) }
			$1 == "option" && f { print $2; if ($3 != "--") print $3 }' <<< "$tables")
	else
		COMPREPLY=($(compgen -f -- "$cur"))
		compopt -o filenames 2> /dev/null
		return
	fi
	COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _gpubpf gpubpf
