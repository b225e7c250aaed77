#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Put the tables of the code into a manual page: tables.py PAGE.in SOURCE-ROOT OUT. docs/reference/generate.py shares rows() and takers().

Each of these words, alone on a line of PAGE.in, becomes a list:
@HELPERS@ the helpers (gpubpf/helpers.def); @MAP_TYPES@ the map types (gpubpf/map_types.def); @SECTIONS@ the sections
(core/model/sections.def, and the places of core/model/places.def that a target of backends/registry.c supports);
@BUILTINS@, @FUNCTIONS@, @CONFIG@, @REFUSED@ and @FEATURES@ the words of the language (cli/lang/tree); @BPF_COMMANDS@ the
commands of bpf(2) (hooks/loader/commands.def)."""
import os
import re
import sys


def rows(path, macro):
    """Yield the arguments of each use of the macro. Strings have no quotes, and adjacent strings are joined."""
    text = re.sub(r'("(?:\\.|[^"\\])*")|/\*.*?\*/', r'\1', open(path, encoding='ascii').read(), flags=re.S)
    for start in re.finditer(r'^%s\(' % macro, text, flags=re.M):
        at, depth, quoted, fields = start.end(), 0, False, ['']
        while depth >= 0:
            c = text[at]
            quoted ^= c == '"' and text[at - 1] != '\\'
            depth += 0 if quoted else (c == '(') - (c == ')')
            if c == ',' and not quoted and depth == 0:
                fields.append('')
            elif depth >= 0:
                fields[-1] += c
            at += 1
        yield [re.sub(r'"\s+"', '', f.strip()).strip('"') for f in fields]


def roff(text):
    return text.replace('-', '\\-')


def helpers(root):
    shown = {name: text for name, _, _, text, _ in rows(os.path.join(root, 'core/model/args.def'), 'GPUBPF_ARG')}
    for f in rows(os.path.join(root, 'include/gpubpf/helpers.def'), 'GPUBPF_HELPER'):
        if f[2] != 'KERNEL':
            arguments = ', '.join(shown[a] for a in f[6:11] if shown[a])
            yield f'.TP\n.BR "{f[0]} {f[1]}" "({arguments})"\n{roff(f[12])}\n'


def map_types(root):
    path = os.path.join(root, 'include/gpubpf/map_types.def')
    for f in [*rows(path, 'GPUBPF_MAP_TYPE'), *rows(path, 'GPUBPF_OWN_MAP_TYPE')]:
        yield f'.TP\n.BR "{f[1]}" " ({f[0]})"\n{roff(f[5])}\n'


NAMES = {'KERNEL': 'KERNEL', 'FUNCTION': 'FUNCTION', 'OPCODE': 'OPCODE', 'MARK': 'NAME', 'LINE': 'FILE:LINE'} # gpubpf_section_list()


def takers(root):
    """Return {place: targets that support it}, and the targets that support at least one place."""
    text = open(os.path.join(root, 'backends/registry.c'), encoding='ascii').read()
    found, every = {}, []
    for row in re.findall(r'\{ \.name = .*?\},\n', text, flags=re.S):
        name = re.search(r'\.name = "(\w+)"', row)[1]
        places = re.findall(r'GPUBPF_SITE_BIT\((\w+)\)', row.split('.never')[0])
        every += [name] if places else []
        for place in places:
            found.setdefault(place, []).append(name)
    return found, every


def sections(root):
    found, every = takers(root)
    names = {'NONE': 'NAME'}
    for f in rows(os.path.join(root, 'core/model/places.def'), 'GPUBPF_PLACE'):
        names[f[0]] = NAMES[f[4]]
        if f[0] in found:
            by = '' if found[f[0]] == every else f' (targets: {", ".join(found[f[0]])})'
            yield f'.TP\n.BI gpu/{f[2]}/ {names[f[0]]}\n{roff(f[6] + by)}\n'
    for f in rows(os.path.join(root, 'core/model/host_events.def'), 'GPUBPF_HOST_EVENT'):
        yield f'.TP\n.BR host/{f[2]} ", " host/{f[2]}_exit\nbefore and after a call in which {roff(f[4])}; the program runs on the CPU\n'
    for f in rows(os.path.join(root, 'core/model/sections.def'), 'GPUBPF_SECTION'):
        host = '; not for a device' if f[2] == 'HOSTPROG' else ''
        name = 'NAME' if f[2] == 'RUN' else names[f[1]]
        yield f'.TP\n.BI {f[0]} {name}\n{roff(f[3] + host)}\n'


def bpf_commands(root):
    for f in rows(os.path.join(root, 'hooks/loader/commands.def'), 'GPUBPF_COMMAND'):
        yield f'.TP\n.BR "{f[0]} {f[1]}"' + (' " (foreseen)"' if f[3] == 'FORESEEN' else '') + f'\n{roff(f[4])}\n'


LANG = 'cli/lang/tree'


def entry(name, text):
    name = name.replace('"', '\\(dq')
    return f'.TP\n.B "{roff(name)}"\n{roff(text)}\n'


def builtins(root):
    for f in rows(os.path.join(root, LANG, 'builtins.def'), 'LANG_BUILTIN'):
        yield entry(f[0], f[5])


def functions(root):
    for f in rows(os.path.join(root, LANG, 'functions.def'), 'LANG_FUNCTION'):
        yield entry(f[5], f[6])


def config(root):
    for f in rows(os.path.join(root, LANG, 'config.def'), 'LANG_CONFIG'):
        yield entry(f[0], f[2])


def features(root):
    """Yield one paragraph per feature of bpftrace."""
    for section, feature, state, _, note in rows(os.path.join(root, LANG, 'features.def'), 'LANG_FEATURE'):
        yield entry(f'{section}: {feature}', state.lower() + (f': {note}' if note else ''))


def refused(root):
    """Yield one paragraph per reason, with all words that are refused for this reason."""
    reasons = {}
    path = os.path.join(root, LANG, 'refused.def')
    meant = dict(re.findall(r'#define (\w+) "(.*)"', open(path, encoding='ascii').read()))
    for word, why, _ in rows(path, 'LANG_REFUSED'):
        reasons.setdefault(meant.get(why, why), []).append(word)
    for why, words in reasons.items():
        yield entry(', '.join(words), why)


def main(page, root, out):
    lists = {'@HELPERS@\n': helpers, '@MAP_TYPES@\n': map_types, '@SECTIONS@\n': sections, '@BUILTINS@\n': builtins,
             '@FUNCTIONS@\n': functions, '@REFUSED@\n': refused, '@CONFIG@\n': config,
             '@FEATURES@\n': features, '@BPF_COMMANDS@\n': bpf_commands}
    with open(page, encoding='ascii') as f, open(out, 'w', encoding='ascii') as to:
        for line in f:
            to.writelines(lists[line](root) if line in lists else [line])


if __name__ == '__main__':
    main(*sys.argv[1:])
