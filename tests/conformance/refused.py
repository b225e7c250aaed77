# SPDX-License-Identifier: Apache-2.0
"""What a program of the public suite bpf_conformance may be refused for when it is to be proven: the Linux kernel refuses it too (the
first two), or the access is misaligned, which is legal on its machines and traps on GPUs. Unproven, the first alone."""
import re

REFUSED = ['opcode 0x8d: ', r'shifts (32|64) bits by (-\d+|[3-9]\d|\d{3})$', r'a multiple of [124] only$']


def may_be(reason, proven=True):
    return any(re.search(words, reason) for words in (REFUSED if proven else REFUSED[:1]))
