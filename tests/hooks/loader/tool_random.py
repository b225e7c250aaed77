#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tool_random.py WORDS SEED COMMANDS: writes a script of COMMANDS random bpftool commands, in the form of tool_steps.sh. It
creates, pins, shows, fills, reads, empties and releases maps of each type, with some wrong arguments. It avoids results
that the Linux kernel leaves open: the order of a hash table's keys, evictions of an LRU table, and false positives of a
Bloom filter."""
import random
import sys

words, r, commands = sys.argv[1], random.Random(int(sys.argv[2])), int(sys.argv[3])
# for each map type: sizes of keys, sizes of values, sets of flags
KINDS = {
    'array': ([4], [1, 2, 4, 8, 12, 16, 100], [[]]),
    'percpu_array': ([4], [4, 8, 24], [[]]),
    'hash': ([1, 2, 4, 7, 8, 16, 33], [1, 4, 8, 12, 100], [[], ['flags', '1']]),
    'percpu_hash': ([2, 4, 12], [8, 12], [[]]),
    'lru_hash': ([4, 8, 12], [4, 8, 20], [[]]),
    'lru_percpu_hash': ([4, 8], [8], [[]]),
    'lpm_trie': ([5, 8, 20], [4, 8, 16], [['flags', '1']]),
    'queue': ([0], [1, 4, 8, 24], [[]]),
    'stack': ([0], [1, 4, 8, 24], [[]]),
    'bloom_filter': ([0], [4, 8, 20], [[]]),
}
ORDERED = ('array', 'percpu_array')
lines, maps, made = [], {}, 0


def t(text, *more):
    lines.append('t ' + text + ''.join(more))


def octets(n):
    return ' '.join(str(r.randrange(256)) for _ in range(n))


class Map:
    def __init__(self, number, kind):
        keys, values, flags = KINDS[kind]
        self.kind, self.key, self.value = kind, r.choice(keys), r.choice(values)
        self.entries = r.choice([2, 3, 8, 17]) if not kind.startswith('lru') else 1024
        self.pins, self.flags = [f'"$pins/m{number}"'], r.choice(flags)
        if kind == 'lpm_trie':
            self.keys = [f'{r.randrange(8 * (self.key - 4) + 1)} 0 0 0 {octets(self.key - 4)}' for _ in range(5)]
        elif kind in ORDERED:
            # if the map has few entries, the last key is past the end
            self.keys = [f'{i} 0 0 0' for i in range(min(self.entries + 1, 6))]
        else:
            self.keys = [octets(self.key) for _ in range(6)]

    def at(self):
        return 'pinned ' + r.choice(self.pins)

    def some_key(self):
        wrong = r.random() < 0.03
        return octets(self.key + 1) if wrong else r.choice(self.keys)

    def some_value(self):
        return octets(self.value + (r.random() < 0.03))


def make(number=None, kind=None):
    global made
    if number is None:
        made += 1
        number = made
    m = Map(number, kind or r.choice(list(KINDS)))
    key, value, entries = m.key, m.value, m.entries
    taken, wrong = number in maps, r.random() < 0.1
    if wrong:
        key, value, entries = r.choice([(key + 600, value, entries), (key, 0, entries), (key, value, 0), (key + 3, value, entries)])
    if wrong and m.kind in ('hash', 'percpu_hash', 'lru_hash', 'lru_percpu_hash', 'lpm_trie') and value and entries:
        key = 0 # for these map types every other size of keys is valid
    t(f'map create {m.pins[0]} type {m.kind} key {key} value {value} entries {entries} name map{number}', *(' ' + f for f in m.flags))
    if not taken and not wrong:
        maps[number] = m


def show(m):
    t(r.choice(['', '-j ']) + f'map show {m.at()}')


def dump(m):
    if m.kind in ORDERED:
        t(r.choice(['', '-j ']) + f'map dump {m.at()}')
    elif m.kind in ('queue', 'stack', 'bloom_filter'):
        t(f'map peek {m.at()}') if m.kind != 'bloom_filter' else t(f'map pop {m.at()}')
    elif 'percpu' not in m.kind: # not for per-CPU maps, since sorting would mix the lines of their values
        t(f'map dump {m.at()} | sort')


def pin(m):
    name = f'"$pins/p{r.randrange(6)}"'
    if any(name in other.pins for other in maps.values()):
        t(f'map pin {m.at()} {name}') # the name exists
    else:
        t(f'map pin {m.at()} {name}')
        m.pins.append(name)


def unpin(number, m):
    name = r.choice(m.pins)
    lines.append(f'rm {name}')
    m.pins.remove(name)
    t(f'map show pinned {name}')
    if not m.pins:
        del maps[number]


def look(m):
    t(r.choice(['', '-j ']) + f'map lookup {m.at()} key {m.some_key()}' if m.key else f'map lookup {m.at()} key 0 0 0 0')


def update(m):
    t(f'map update {m.at()} key {m.some_key()} value {m.some_value()}' + r.choice(['', ' any', ' noexist', ' exist']) if m.key else
      f'map update {m.at()} value {m.some_value()}')


def erase(m):
    t(f'map delete {m.at()} key {m.some_key()}' if m.key else f'map pop {m.at()}')


def follow(m):
    if m.kind in ORDERED:
        t(f'map getnext {m.at()} key {m.some_key()}')
    else:
        t(f'map {r.choice(["push", "enqueue"])} {m.at()} value {m.some_value()}')


for kind in KINDS:
    make(kind=kind)
while len(lines) < commands:
    number = r.choice(list(maps)) if maps else None
    if number is None or (len(maps) < 12 and r.random() < 0.05):
        make(r.choice(list(maps)) if maps and r.random() < 0.2 else None)
        continue
    what = r.choices([show, dump, pin, unpin, look, update, erase, follow], [6, 12, 4, 4, 20, 40, 10, 10])[0]
    what(number, maps[number]) if what is unpin else what(maps[number])
for m in maps.values():
    lines.extend(f'rm {name}' for name in m.pins)
print(f"pins=$1\n. '{words}'")
print('\n'.join(lines))
print('ls "$pins" | sed -n "/^[mp][0-9]/p"')
