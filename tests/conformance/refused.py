# SPDX-License-Identifier: Apache-2.0
"""Accepted reasons for refusing a program of the public suite bpf_conformance. A verified program may be refused if
the Linux kernel refuses it too (the first two), or for a misaligned access, which traps on GPUs. Unverified, only
the first applies."""
import re

REFUSED = ['opcode 0x8d: ', r'shifts (32|64) bits by (-\d+|[3-9]\d|\d{3})$', r'a multiple of [124] only$']


def may_be(reason, proven=True):
    return any(re.search(words, reason) for words in (REFUSED if proven else REFUSED[:1]))
