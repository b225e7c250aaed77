# SPDX-License-Identifier: Apache-2.0
"""embed.py NAME OBJECT C-FILE: writes a C file that defines the bytes of an object as timeline_object_NAME."""
import sys

name, source, target = sys.argv[1:]
with open(source, "rb") as f:
    data = f.read()
with open(target, "w", encoding="ascii") as f:
    f.write(f'#include "cli/timeline/objects.h"\nconst unsigned char timeline_object_{name}[] = {{\n')
    for at in range(0, len(data), 24):
        f.write(",".join(map(str, data[at:at + 24])) + ",\n")
    f.write(f"}};\nconst unsigned int timeline_object_{name}_size = sizeof(timeline_object_{name});\n")
