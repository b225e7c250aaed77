# SPDX-License-Identifier: Apache-2.0
# t WORDS...: bpftool, said and run; $pins is where maps are pinned
t() { echo "> $*" | sed "s|$pins|PINS|g"; timeout 20 bpftool "$@" 2>&1 | sed "s|$pins|PINS|g"; }
