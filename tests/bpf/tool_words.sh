# SPDX-License-Identifier: Apache-2.0
# t WORDS...: bpftool, said and run; $pins is where maps are pinned. $only is a name of a map that nobody else on the machine has given one
only=only$$
t() { echo "> $*" | plain; timeout 20 bpftool "$@" 2>&1 | plain; }
plain() { sed "s|$pins|PINS|g; s|$only|ONLY|g"; }
# say WORDS...: what is done; b TEXT LAUNCHES: bpftrace, with the application
say() { echo "> $*"; }
b() { echo "> bpftrace $1"; timeout 280 bpftrace -e "$1" -c "$app $2 0" 2>&1; echo "status $?"; }
