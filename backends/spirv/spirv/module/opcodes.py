#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""opcodes.py CORE OPENCL OUT: generate the C tables of opcode names that named.h declares.

CORE and OPENCL are the JSON grammars of the core instructions and of OpenCL.std, from the SPIR-V headers. OUT is the generated C file."""
import json
import sys

IDS = {'IdRef', 'IdScope', 'IdMemorySemantics'}


def letter(operand, masks):
    """Return the letters for an operand, and whether the position of the next operand is known."""
    kind, many = operand['kind'], operand.get('quantifier') == '*'
    if kind in IDS:
        return ('I', False) if many else ('i', True)
    if kind == 'ImageOperands':
        return '-I', False
    if kind in {'LiteralString', 'LiteralContextDependentNumber', 'LiteralSpecConstantOpInteger'} | masks or kind.startswith('Pair'):
        return '', False
    return '-', not many


def words(instruction, masks):
    all_of_them = ''
    for operand in instruction.get('operands', []):
        one, more = letter(operand, masks)
        all_of_them += one
        if not more:
            break
    return all_of_them.rstrip('-')


def write(out, name, rows):
    out.write(f'const struct gpubpf_spv_opcode gpubpf_spv_{name}[] = {{\n')
    for row in rows:
        out.write('\t{ %d, "%s", "%s" },\n' % row)
    out.write(f'}};\nconst uint32_t gpubpf_spv_n{name} = {len(rows)};\n')


def main():
    with open(sys.argv[1], encoding='utf-8') as f:
        core = json.load(f)
    with open(sys.argv[2], encoding='utf-8') as f:
        extended = json.load(f)
    masks = {k['kind'] for k in core['operand_kinds']
             if k['kind'] != 'ImageOperands' and any(e.get('parameters') for e in k.get('enumerants', []))}
    seen = {}
    for i in core['instructions']:
        seen.setdefault(i['opcode'], i)
    with open(sys.argv[3], 'w', encoding='ascii') as out:
        out.write('#include "backends/spirv/spirv/module/named.h"\n')
        write(out, 'opcodes', [(n, i['opname'], words(i, masks)) for n, i in sorted(seen.items())])
        write(out, 'extended', sorted((i['opcode'], i['opname'], '') for i in extended['instructions']))


main()
