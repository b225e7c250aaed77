#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""embed.py SYMBOL INPUT OUTPUT: write the bytes of the file INPUT as a C array named SYMBOL."""
import sys

symbol, source, target = sys.argv[1:]
data = open(source, "rb").read()
with open(target, "w") as out:
    out.write(f"static const unsigned char {symbol}[{len(data)}] = {{\n")
    for i in range(0, len(data), 16):
        out.write("\t" + " ".join(f"0x{b:02x}," for b in data[i:i + 16]) + "\n")
    out.write("};\n")
