# SPDX-License-Identifier: Apache-2.0
"""Types of maps: reads the BTF of a BPF object, and converts between bytes and Python values.

The input is not trusted: ValueError reports BTF that is not valid, and values without a usable type stay bytes."""
import collections
import enum
import keyword
import struct
import sys

DEPTH = 16  # maximum nesting depth of types
PTR, ARRAY, STRUCT, UNION, ENUM, TYPEDEF, VOLATILE, CONST, RESTRICT = 2, 3, 4, 5, 6, 8, 9, 10, 11
INT, VAR, DATASEC, FLOAT, TYPE_TAG, ENUM64 = 1, 14, 15, 16, 18, 19
_EXTRA = {INT: (4, 0), ARRAY: (12, 0), STRUCT: (0, 12), UNION: (0, 12), ENUM: (0, 8), 13: (0, 8), VAR: (4, 0), DATASEC: (0, 12),
          17: (4, 0), ENUM64: (0, 12)}

Type = collections.namedtuple("Type", "name kind flag size extra items")  # size: bytes, or the id of the next type
Member = collections.namedtuple("Member", "name type bit bits")


Section = collections.namedtuple("Section", "name type offset size link")


def _text(data, at):
    return data[at:data.index(b"\0", at)].decode(errors="replace")


def _sections(elf):
    """Returns the sections of a 64-bit little-endian ELF file."""
    if elf[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    start, = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    heads = [struct.unpack_from("<IIQQQQI", elf, start + i * size) for i in range(count)]
    return [Section(_text(elf, heads[names][4] + name), kind, at, length, link) for name, kind, _, _, at, length, link in heads]


def _variables(elf, sections):
    """Returns the offsets of variables in their sections: {(section, name): offset}."""
    offsets = {}
    for table in (s for s in sections if s.type == 2):
        for at in range(table.offset, table.offset + table.size, 24):
            name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", elf, at)
            if 0 < section < len(sections):
                offsets[sections[section].name, _text(elf, sections[table.link].offset + name)] = value
    return offsets


class Btf:
    """The types of one object."""

    def __init__(self, elf):
        try:
            sections = _sections(elf)
            found = next((s for s in sections if s.name == ".BTF"), None)
            if not found:
                raise ValueError("the object has no BTF")
            self._parse(elf[found.offset:found.offset + found.size])
            self._place_variables(_variables(elf, sections), {s.name: s.size for s in sections})
        except (struct.error, IndexError) as error:
            raise ValueError(f"the BTF is not valid: {error}") from None
        self.classes = {}

    def _parse(self, data):
        magic, _, _, head, types, types_size, strings, strings_size = struct.unpack_from("<HBBIIIII", data)
        if magic != 0xeb9f:
            raise ValueError("the BTF has a wrong magic number")
        text = data[head + strings:head + strings + strings_size]
        at, end = head + types, head + types + types_size
        self.types = [Type("", 0, False, 0, (), ())]
        while at < end:
            name, info, size = struct.unpack_from("<III", data, at)
            kind, n = info >> 24 & 31, info & 0xffff
            extra, each = _EXTRA.get(kind, (0, 0))
            at += 12
            words = struct.unpack_from(f"<{extra // 4}I", data, at)
            at += extra
            items = [struct.unpack_from(f"<{each // 4}I", data, at + i * each) for i in range(n)] if each else []
            at += each * len(items)
            named = kind in (STRUCT, UNION, ENUM, ENUM64)
            items = [(_text(text, item[0]), *item[1:]) if named else item for item in items]
            self.types.append(Type(_text(text, name), kind, bool(info >> 31), size, words, items))

    def _place_variables(self, offsets, sizes):
        """Set the sizes of data sections and the offsets of variables, which compilers leave to the linker."""
        for i, t in enumerate(self.types):
            if t.kind == DATASEC and t.name in sizes:
                items = [(var, offsets.get((t.name, self.types[var].name), offset), size) for var, offset, size in t.items]
                self.types[i] = t._replace(size=sizes[t.name], items=sorted(items, key=lambda item: item[1]))

    def strip(self, number):
        """Returns the type after typedefs and qualifiers, and the names of the typedefs."""
        names = []
        for _ in range(64):
            t = self.types[number] if number < len(self.types) else self.types[0]
            if t.kind == TYPEDEF:
                names.append(t.name)
            elif t.kind not in (VOLATILE, CONST, RESTRICT, TYPE_TAG):
                return t, names + ([t.name] if t.kind in (STRUCT, UNION) else [])
            number = t.size
        raise ValueError("a type refers to itself")

    def size(self, number, depth=0):
        t, _ = self.strip(number)
        if depth > DEPTH:
            raise ValueError("types are nested too deep")
        if t.kind == ARRAY:
            return t.extra[2] * self.size(t.extra[0], depth + 1)
        return 8 if t.kind == PTR else t.size

    def members(self, t, bit=0, depth=0):
        """Iterate over the members of a struct. Members of anonymous members count as members of the struct."""
        if depth > DEPTH:
            raise ValueError("types are nested too deep")
        for name, number, offset in t.items:
            bits = offset >> 24 if t.flag else 0
            at = bit + (offset & 0xffffff if t.flag else offset)
            inner, _ = self.strip(number)
            if name:
                yield Member(name + "_" if keyword.iskeyword(name) else name, number, at, bits)
            elif inner.kind in (STRUCT, UNION):
                yield from self.members(inner, at, depth + 1)

    def map_types(self, name):
        """Returns the types of key and value of the map, or (0, 0). The value of global data is its section."""
        for number, t in enumerate(self.types):
            if t.kind == DATASEC and t.name == ".maps":
                for var, _, _ in t.items:
                    if self.types[var].name == name:
                        found = {m[0]: m[1] for m in self.strip(self.types[var].size)[0].items}
                        return tuple(self._pointed(found.get(what, 0)) for what in ("key", "value"))
            elif t.kind == DATASEC and name.endswith(t.name) and name != t.name and t.name.startswith("."):
                return 0, number
        return 0, 0

    def _pointed(self, number):
        t, _ = self.strip(number)
        return t.size if t.kind == PTR else 0

    def record_type(self, value, size):
        """Returns the type of a ring's record: the ring's value type, or the only struct of that size to which a variable points."""
        if value and self.size(value) == size:
            return value
        pointed = {self._pointed(t.size) for t in self.types if t.kind == VAR}
        fit = [n for n in pointed if n and self.strip(n)[0].kind == STRUCT and self.size(n) == size]
        return fit[0] if len(fit) == 1 else 0

    def is_char(self, number):
        t, _ = self.strip(number)
        return t.kind == INT and t.size == 1 and t.name == "char"

    def describe(self, number):
        """Returns the type's name for people, such as `struct seen` or `u64`."""
        t, names = self.strip(number)
        if t.kind == ARRAY and self.is_char(t.extra[0]):
            return f"char[{t.extra[2]}]"
        if t.kind in (STRUCT, UNION):
            return ("struct " if t.kind == STRUCT else "union ") + (t.name or names[0] if names else "")
        if names and names[0].startswith("gpubpf_"):
            return names[0]
        if t.kind == ARRAY:
            return f"{self.describe(t.extra[0])}[{t.extra[2]}]"
        if t.kind == INT:
            return "bool" if t.extra[0] >> 24 & 4 else ("s" if t.extra[0] >> 24 & 1 else "u") + str(8 * t.size)
        return {FLOAT: f"f{8 * t.size}", ENUM: "enum " + t.name, ENUM64: "enum " + t.name, PTR: "pointer",
                DATASEC: t.name}.get(t.kind, "bytes")


class Codec:
    """Converts values of one object between bytes and Python. kernel(id) returns a kernel's name or None; find(name) its id."""

    def __init__(self, btf, kernel, find):
        self.btf, self.kernel, self.find = btf, kernel, find

    def _class(self, number, fields):
        t, names = self.btf.strip(number)
        if number not in self.btf.classes:
            name = (t.name or (names[0] if names else "value")).strip(".") or "value"
            self.btf.classes[number] = collections.namedtuple(name if name.isidentifier() else "value", fields, rename=True)
        return self.btf.classes[number]

    def _fields(self, number):
        t, _ = self.btf.strip(number)
        if t.kind == DATASEC:
            for var, offset, _ in t.items:
                yield Member(self.btf.types[var].name, self.btf.types[var].size, offset * 8, 0)
        else:
            yield from self.btf.members(t)

    def _enum(self, number):
        t, _ = self.btf.strip(number)
        if number not in self.btf.classes:
            bits = 8 * t.size
            values = [(n, v[0] | (v[1] << 32 if t.kind == ENUM64 else 0)) for n, *v in t.items]
            signed = [(n, v - (1 << bits) if t.flag and v >> (bits - 1) & 1 else v & (1 << bits) - 1) for n, v in values]
            self.btf.classes[number] = enum.IntEnum(t.name or "enumeration", signed)
        return self.btf.classes[number]

    def decode(self, number, data, bit=0, bits=0, depth=0):
        """Returns the value of that type at bit offset `bit` of the bytes."""
        t, names = self.btf.strip(number)
        size = self.btf.size(number)
        if depth > DEPTH or (bit + 7) // 8 + size > len(data) + (8 if bits else 0):
            raise ValueError("the type does not fit the bytes")
        part = data[bit // 8:bit // 8 + size]
        if t.kind in (INT, ENUM, ENUM64, PTR):
            return self._decode_number(number, t, names, data, bit, bits or 8 * size)
        if t.kind == FLOAT:
            return struct.unpack({2: "<e", 4: "<f", 8: "<d"}[size], part)[0] if size in (2, 4, 8) else part
        if "gpubpf_name" in names or (t.kind == ARRAY and self.btf.is_char(t.extra[0])):
            text = part.rstrip(b"\0")
            return text.decode() if all(32 <= c < 127 or c in b"\n\t" for c in text) else part
        if t.kind == ARRAY:
            step = 8 * self.btf.size(t.extra[0])
            return tuple(self.decode(t.extra[0], data, bit + i * step, 0, depth + 1) for i in range(t.extra[2]))
        if t.kind in (STRUCT, UNION, DATASEC):
            fields = list(self._fields(number))
            values = [self.decode(f.type, data, bit + f.bit, f.bits, depth + 1) for f in fields]
            return self._class(number, [f.name for f in fields])(*values)
        return part

    def _decode_number(self, number, t, names, data, bit, bits):
        whole = int.from_bytes(data[bit // 8:(bit + bits + 7) // 8], "little") >> bit % 8 & (1 << bits) - 1
        kind = t.extra[0] >> 24 if t.kind == INT else 1 if t.flag and t.kind != PTR else 0
        if kind & 1 and whole >> (bits - 1):
            whole -= 1 << bits
        if t.kind in (ENUM, ENUM64):
            try:
                return self._enum(number)(whole)
            except ValueError:
                return whole
        if kind & 4:
            return bool(whole)
        if "gpubpf_kernel" in names or "gpubpf_kernel_index" in names:
            return self.kernel(whole) or whole
        if "gpubpf_minimum" in names:
            return ~whole & (1 << bits) - 1 if whole else None
        return whole

    def encode(self, number, value, size, name):
        """Returns `size` bytes with the value. `name` names it in errors."""
        data = bytearray(size)
        self._encode(number, value, data, 0, 0, name)
        return bytes(data)

    def _encode(self, number, value, data, bit, bits, name):
        t, names = self.btf.strip(number)
        size, at = self.btf.size(number), bit // 8
        if isinstance(value, (bytes, bytearray)):
            if len(value) != size:
                raise ValueError(f"{name} has {size} bytes, not {len(value)}")
            data[at:at + size] = value
        elif t.kind in (INT, ENUM, ENUM64, PTR):
            self._encode_number(number, t, names, value, data, bit, bits or 8 * size, name)
        elif t.kind == FLOAT and size in (2, 4, 8):
            data[at:at + size] = struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], value)
        elif isinstance(value, str):
            self._encode_text(t, names, value, data, at, size, name)
        elif t.kind == ARRAY:
            step = self.btf.size(t.extra[0])
            if not hasattr(value, "__len__") or len(value) > t.extra[2]:
                raise ValueError(f"{name} is an array of {t.extra[2]} elements, not {value!r}")
            for i, one in enumerate(value):
                self._encode(t.extra[0], one, data, bit + 8 * i * step, 0, f"{name}[{i}]")
        elif t.kind in (STRUCT, UNION, DATASEC):
            self._encode_members(number, value, data, bit, name)
        else:
            raise ValueError(f"{name} has no type; pass {size} bytes")

    def _encode_text(self, t, names, value, data, at, size, name):
        text = value.encode()
        room = size - 1 if "gpubpf_name" in names else size
        if not ("gpubpf_name" in names or (t.kind == ARRAY and self.btf.is_char(t.extra[0]))):
            raise ValueError(f"{name} is a {'struct' if t.kind == STRUCT else 'value'}, not the text {value!r}")
        if len(text) > room:
            raise ValueError(f"{name}: {value!r} has {len(text)} bytes, but at most {room} fit")
        data[at:at + size] = text.ljust(size, b"\0")

    def _encode_members(self, number, value, data, bit, name):
        fields = {f.name: f for f in self._fields(number)}
        if hasattr(value, "_asdict"):
            value = value._asdict()
        elif isinstance(value, (tuple, list)) and len(value) <= len(fields):
            value = dict(zip(fields, value))
        if not isinstance(value, dict):
            raise ValueError(f"{name} has the members {', '.join(fields)}; pass a dict or a tuple, not {value!r}")
        for member, one in value.items():
            if member not in fields:
                raise ValueError(f"{name} has no member {member}; it has {', '.join(fields)}")
            f = fields[member]
            self._encode(f.type, one, data, bit + f.bit, f.bits, f"{name}.{member}")

    def _encode_number(self, number, t, names, value, data, bit, bits, name):
        if isinstance(value, str) and t.kind in (ENUM, ENUM64):
            known = self._enum(number).__members__
            if value not in known:
                raise ValueError(f"{name}: {value} is not an enumerator; the enumerators are {', '.join(known)}")
            value = known[value]
        elif isinstance(value, str) and ("gpubpf_kernel" in names or "gpubpf_kernel_index" in names):
            value = self.find(value)
        elif "gpubpf_minimum" in names:
            value = 0 if value is None else ~value & (1 << bits) - 1
        if not hasattr(value, "__index__"):
            raise ValueError(f"{name} is a number, not {value!r}")
        signed = t.kind == INT and t.extra[0] >> 24 & 1 or t.kind in (ENUM, ENUM64) and t.flag
        low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if signed else (0, 1 << bits)
        if not low <= (value := value.__index__()) < high:
            raise ValueError(f"{name}: {value} does not fit into the {bits // 8} bytes" if bits % 8 == 0 else
                             f"{name}: {value} does not fit into {bits} bits")
        start, end = bit // 8, (bit + bits + 7) // 8
        mask = ((1 << bits) - 1) << bit % 8
        whole = int.from_bytes(data[start:end], "little") & ~mask | value << bit % 8 & mask
        data[start:end] = whole.to_bytes(end - start, "little")

    def dtype(self, number, numpy):
        """Returns the NumPy type, or None if NumPy has no such type (bit fields)."""
        t, names = self.btf.strip(number)
        size = self.btf.size(number)
        if t.kind == INT:
            kind = "?" if t.extra[0] >> 24 & 4 and size == 1 else f"<{'i' if t.extra[0] >> 24 & 1 else 'u'}{size}"
            return numpy.dtype(kind) if size <= 8 else numpy.dtype(f"V{size}")
        if t.kind in (ENUM, ENUM64, PTR):
            return numpy.dtype(f"<{'i' if t.flag and t.kind != PTR else 'u'}{size}")
        if t.kind == FLOAT:
            return numpy.dtype(f"<f{size}") if size in (2, 4, 8) else numpy.dtype(f"V{size}")
        if "gpubpf_name" in names or (t.kind == ARRAY and self.btf.is_char(t.extra[0])):
            return numpy.dtype(f"S{size}")
        if t.kind == ARRAY:
            of = self.dtype(t.extra[0], numpy)
            return of and numpy.dtype((of, (t.extra[2],)))
        if t.kind not in (STRUCT, UNION, DATASEC):
            return None
        fields = list(self._fields(number))
        formats = [None if f.bits or f.bit % 8 else self.dtype(f.type, numpy) for f in fields]
        if not fields or any(f is None for f in formats):
            return None
        return numpy.dtype({"names": [f.name for f in fields], "formats": formats, "offsets": [f.bit // 8 for f in fields],
                            "itemsize": size})


assert sys.byteorder == "little", "gpubpf supports little-endian machines"
