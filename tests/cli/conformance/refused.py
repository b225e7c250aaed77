# SPDX-License-Identifier: Apache-2.0
"""Accepted reasons for refusing a program of the public suite bpf_conformance. The first two refuse programs that the
Linux kernel refuses too. The third refuses misaligned accesses, which trap on GPUs. Without verification only the
first applies."""
import re

REFUSED = ['opcode 0x8d: ', r'shifts (32|64) bits by (-\d+|[3-9]\d|\d{3})$', r'only a multiple of [124]$']


def may_be(reason, proven=True):
    return any(re.search(words, reason) for words in (REFUSED if proven else REFUSED[:1]))
