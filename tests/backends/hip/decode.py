#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""decode.py GFX FILE...: decodes code objects with tinygrad's decoders, which are independent of LLVM's.

For the kernel in each file, compares its descriptor, as tinygrad would launch the kernel, with the metadata that
llvm-readelf prints. Compares the length and name of each instruction with llvm-objdump's. Prints differences, and last
the number of compared instructions and kernels; the number includes instructions that tinygrad does not know."""
import collections
import re
import subprocess
import sys

from tinygrad.renderer.amd import decode_inst
from tinygrad.runtime.autogen import amdgpu_kd
from tinygrad.runtime.support.elf import elf_loader

gfx = sys.argv[1]
arch = 'cdna' if gfx.startswith('gfx9') else 'rdna4' if gfx.startswith('gfx12') else 'rdna3'
unknown = collections.Counter()
done = kernels = wrong = 0


def tool(*args):
    return subprocess.run(args, capture_output=True, text=True, errors='replace', check=True).stdout


def bad(*what):
    global wrong
    wrong += 1
    if wrong <= 10:
        print('wrong', *what)


# names in AMD's guides: names in LLVM
ALIASES = {'v_accvgpr_read_b32': 'v_accvgpr_read', 'v_accvgpr_write_b32': 'v_accvgpr_write',
           'v_mfma_f32_4x4x1f32': 'v_mfma_f32_4x4x1_16b_f32'}


def plain(name):
    """Returns a name of an instruction without suffixes, in lower case: v_add_u32_e32 and V_ADD_U32 become equal."""
    name = re.sub(r'_(e32|e64|sdwa|dpp|dpp8|e64_dpp)$', '', name.lower())
    return ALIASES.get(name, name)


def check_code(path):
    global done
    for line in tool('llvm-objdump-22', '-d', path).splitlines():
        found = re.match(r'^\s+(\S+).*// ([0-9A-F]+): ([0-9A-F ]+?)(?:\s*<.*)?$', line)
        if not found:
            continue
        data = b''.join(int(w, 16).to_bytes(4, 'little') for w in found.group(3).split())
        try:
            inst = decode_inst(data + bytes(16), arch)
            name, size = inst.op.name, inst.size()
        except (ValueError, AttributeError, AssertionError, KeyError):
            unknown[found.group(1)] += 1
            continue
        done += 1
        if plain(name) != plain(found.group(1)) or size != len(data):
            bad(path, found.group(2), found.group(1), len(data), name, size)


def check_descriptor(path):
    global kernels
    with open(path, 'rb') as f:
        image, _, _ = elf_loader(f.read())
    notes = tool('llvm-readelf-22', '--notes', '--symbols', path)
    said = {key: int(value) for key, value in re.findall(r'\.(\w+):\s+(\d+)$', notes, re.M)}
    for at, name in re.findall(r'([0-9a-f]{16})\s+64 OBJECT .* (\S+\.kd)$', notes, re.M)[:1]:
        kd = amdgpu_kd.llvm_amdhsa_kernel_descriptor_t.from_buffer_copy(bytes(image[int(at, 16):int(at, 16) + 64]))
        entry = re.search(r'([0-9a-f]{16})\s+\d+ FUNC .* ' + re.escape(name[:-3]) + '$', notes, re.M)
        kernels += 1
        have = (kd.kernarg_size, kd.private_segment_fixed_size, kd.group_segment_fixed_size,
                int(at, 16) + kd.kernel_code_entry_byte_offset)
        want = (said['kernarg_segment_size'], said['private_segment_fixed_size'], said['group_segment_fixed_size'],
                int(entry.group(1), 16))
        if have != want:
            bad(path, name, have, want)


for file in sys.argv[2:]:
    check_code(file)
    check_descriptor(file)
print(f'{done} instructions and {kernels} descriptors, {wrong} wrong; not known: {dict(unknown)}')
sys.exit(1 if wrong or not done or not kernels else 0)
