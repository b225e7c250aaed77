#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bitcode.sh NAME IN OUT: writes assembly to OUT that embeds file IN between the symbols NAME and NAME_end.
set -eu
sum=$(sha256sum "$2" | cut -d' ' -f1)
case $2 in /*) in=$2 ;; *) in=$PWD/$2 ;; esac
cat > "$3" <<END
/* $sum */
	.section .rodata.$1,"a",@progbits
	.balign 16
	.globl $1, $1_end
	.hidden $1, $1_end
$1:	.incbin "$in"
$1_end:	.byte 0
	.section .note.GNU-stack,"",@progbits
END
