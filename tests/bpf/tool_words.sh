# SPDX-License-Identifier: Apache-2.0
# t WORDS...: bpftool, said and run; $pins is where maps are pinned
t() { echo "> $*" | sed "s|$pins|PINS|g"; timeout 20 bpftool "$@" 2>&1 | sed "s|$pins|PINS|g"; }
# say WORDS...: what is done; b TEXT LAUNCHES: bpftrace, with the application
say() { echo "> $*"; }
b() { echo "> bpftrace $1"; timeout 280 bpftrace -e "$1" -c "$app $2 0" 2>&1; echo "status $?"; }
