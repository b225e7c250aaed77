#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the device library as one text: expand.py devlib.cl OUT.cl OUT.c [NAME HEADER]

A header is expanded where it is first included. Comments, headers of other targets and system headers are omitted.
OUT.c defines the text as NAME[], which HEADER declares. The defaults are gpubpf_device_text[] and maps/device/text.h.
A name that is a keyword of OpenCL C is an error, because clang-22 crashes for some of them (a parameter `kernel`)."""
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), '../..')
OTHER_TARGETS = {'machine_host.h', 'machine_nvptx.h', 'machine_amdgcn.h', 'machine_spirv.h', 'machine_scoped.h'}
# a keyword of OpenCL C where C has the name of a variable or parameter: no type follows
KEYWORD = re.compile(r'\b(constant|generic|global|kernel|local|pipe|private|read_only|read_write|write_only)\b\s*(?:[,)=;\[.]|->)')


def find(path, name):
    """Returns the path of an included header: next to the file that includes it, or relative to the top of the tree."""
    near = os.path.join(os.path.dirname(path), name)
    return os.path.realpath(near if os.path.exists(near) else os.path.join(ROOT, name))


def expand(path, seen):
    text = re.sub(r'/\*.*?\*/', ' ', open(path, encoding='ascii').read(), flags=re.S)
    for line in text.splitlines():
        keyword = KEYWORD.search(line)
        if keyword:
            sys.exit(f'{path}: the name `{keyword[1]}` is a keyword of OpenCL C; choose another name: {line.strip()}')
        include = re.match(r'\s*#include\s+([<"])(.*)[>"]', line)
        if not include:
            if line.strip():
                yield line.rstrip()
            continue
        found = find(path, include.group(2))
        if include.group(1) == '<' or os.path.basename(found) in OTHER_TARGETS or found in seen:
            continue
        seen.add(found)
        yield from expand(found, seen)


def main(source, out_cl, out_c, name='gpubpf_device_text', header='maps/device/text.h'):
    lines = list(expand(source, set()))
    with open(out_cl, 'w', encoding='ascii') as f:
        f.writelines(line + '\n' for line in lines)
    with open(out_c, 'w', encoding='ascii') as f:
        f.write(f'#include "{header}"\n\nconst char {name}[] =\n')
        f.writelines('\t"' + line.replace('\\', '\\\\').replace('"', '\\"').replace('\t', '\\t') + '\\n"\n'
                     for line in lines)
        f.write('\t;\n')


main(*sys.argv[1:])
