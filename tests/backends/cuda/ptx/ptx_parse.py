# SPDX-License-Identifier: Apache-2.0
"""The PTX parser of the interpreter (ptx_run.py): scopes with their names, instructions, functions and modules."""
import re

BITS = {'pred': 1, 'b8': 8, 'u8': 8, 's8': 8, 'b16': 16, 'u16': 16, 's16': 16, 'f16': 16, 'bf16': 16, 'b32': 32, 'u32': 32,
        's32': 32, 'f32': 32, 'f16x2': 32, 'bf16x2': 32, 'b64': 64, 'u64': 64, 's64': 64, 'f64': 64, 'b128': 128}
SPACES = {'global': 1, 'shared': 2, 'local': 3, 'const': 4, 'param': 5}
BLANKS = re.compile(r'\s*')


class Scope:
    def __init__(self, up):
        self.up, self.names, self.ranges, self.labels, self.tables, self.outer = up, {}, [], {}, {}, {}

    def find(self, name):
        got = self.names.get(name) or self.outer.get(name)
        if not got:
            got = self.outer[name] = self.look_up(name)
        return got

    def look_up(self, name):
        at = self
        while at:
            if name in at.names:
                return at.names[name]
            for prefix, count, what in at.ranges:
                if name.startswith(prefix) and name[len(prefix):].isdigit() and int(name[len(prefix):]) < count:
                    at.names[name] = what + (name,)
                    return at.names[name]
            at = at.up
        return None

    def targets(self, name):
        at = self
        while name not in at.tables:
            at = at.up
        return at.tables[name]

    def label(self, name):
        at = self
        while at and name not in at.labels:
            at = at.up
        return at.labels[name]


class Insn:
    def __init__(self, text, scope, line):
        match = re.match(r'(?:@(!?)(\S+)\s+)?([\w.:]+)\s*(.*)', text, re.S)
        self.text, self.scope, self.line = text, scope, line
        self.negated, self.guard = match[1] == '!', match[2]
        self.op, *self.mods = match[3].split('.')
        self.args, self.of, self.rest, self.begins = split(match[4]), None, match[4], False
        self.words = {'::'.join(m.split('::')[:n + 1]) for m in self.mods for n in range(m.count('::') + 1)}

    def has(self, *words):
        return self.words.issuperset(words)

    def spaces(self):
        return [m for m in self.mods if m.split('::')[0] in SPACES]

    def type(self):
        if self.of is None:
            self.of = next(m for m in reversed(self.mods) if m in BITS)
        return self.of

    def count(self):
        return 8 if self.has('v8') else 4 if self.has('v4') else 2 if self.has('v2') else 1


def split(text):
    out, depth, at = [], 0, ''
    for c in text:
        depth += (c in '[{(') - (c in ']})')
        if c == ',' and not depth:
            out.append(at.strip())
            at = ''
        else:
            at += c
    return out + [at.strip()] if at.strip() else out


class Function:
    def __init__(self, name, entry, params, results):
        self.name, self.entry, self.params, self.results, self.code = name, entry, params, results, []
        self.locs, self.loc = set(), None


class Module:
    """The statements of a module in the order of the text. The machine assigns addresses to the variables."""

    def __init__(self, text, machine):
        self.binds = re.findall(r'^//gpubpf-bind (\S+)', text, re.M)
        text = re.sub(r'\bmov\.b\d+\s+gpubpf_mark_(\w+)\s*,', r'gpubpf_mark \1,', text)
        self.text = re.sub(r'//[^\n]*|/\*.*?\*/', lambda m: '\n' * m[0].count('\n'), text, flags=re.S)
        self.machine, self.top, self.functions, self.at, self.line = machine, Scope(None), {}, 0, 0
        while self.skip():
            self.statement()

    def skip(self):
        self.at = BLANKS.match(self.text, self.at).end()
        return self.at < len(self.text)

    def take(self, end):
        to = self.text.index(end, self.at)
        got, self.at = self.text[self.at:to], to + len(end)
        return got

    def statement(self):
        head = re.compile(r'\.(version|target|file)[^\n]*\n|\.address_size\s+\d+').match(self.text, self.at)
        if head:
            self.at = head.end()
            return
        head = re.compile(r'((?:\.(?:visible|weak|extern|entry|func)\s*)+)(\([^)]*\))?\s*([\w$]+)\s*(\([^)]*\))?([^{;]*)').match(
            self.text, self.at)
        if head and re.search(r'entry|func', head[1]):
            self.at = head.end()
            self.function(head)
        else:
            self.declare(self.take(';'), self.top)

    def function(self, head):
        scope = Scope(self.top)
        names = [[self.parameter(p, scope) for p in split((part or '()')[1:-1])] for part in (head[4], head[2])]
        f = Function(head[3], 'entry' in head[1], *names)
        self.functions[f.name] = f
        self.machine.next['local'] = 0
        if self.text[self.at] == ';':
            self.at += 1
            return
        self.at += 1
        self.body(f, Scope(scope))
        self.line = 0

    def parameter(self, text, scope):
        name = re.search(r'([\w$%]+)(?:\[(\d*)\])?$', text)
        bits = next((BITS[t] for t in re.findall(r'\.(\w+)', text) if t in BITS), 8)
        scope.names[name[1]] = ('param', name[1], bits // 8 * int(name[2] or 1))
        return scope.names[name[1]]

    def body(self, f, scope):
        while True:
            self.skip()
            rest = self.text[self.at:self.at + 200]
            label = re.match(r'([\w$]+):', rest)
            if rest[0] == '{':
                self.at += 1
                scope = Scope(scope)
            elif rest[0] == '}':
                self.at += 1
                scope = scope.up
                if scope.up is self.top:
                    return
            elif label and re.match(r'\s*\.branchtargets', rest[label.end():]):
                scope.tables[label[1]] = split(self.take(';').split('.branchtargets')[1])
            elif label:
                self.at += label.end()
                scope.labels[label[1]] = len(f.code)
            elif re.match(r'\.loc\s', rest):
                loc = self.take('\n').split(None, 4)
                self.line = int(loc[2])
                f.loc = (loc[1], loc[2], *re.findall(r',.*', ' '.join(loc[3:])))
            elif rest[0] == '.':
                self.declare(self.take(';'), scope)
            else:
                f.code.append(Insn(self.take(';').strip(), scope, self.line))
                if f.code[-1].op != 'gpubpf_mark':
                    f.code[-1].begins = f.loc is not None and self.line > 0 and f.loc not in f.locs
                    f.locs.add(f.loc)
                    f.loc = None

    def declare(self, text, scope):
        text, _, init = text.partition('=')
        words = re.findall(r'\.([\w:]+)', text.split('[')[0].split('<')[0])
        bits = next((BITS[w] for w in words if w in BITS), 8)
        space = next((w for w in words if w in ('reg', 'shared', 'local', 'param', 'global', 'const')), None)
        names = re.sub(r'\.align\s+\d+|\.[\w:]+', '', text)
        for name in split(names):
            many = re.match(r'([\w$%]+)<(\d+)>', name)
            one = re.match(r'([\w$%]+)\s*(?:\[(\d*)\])?', name)
            if space == 'reg' and many:
                scope.ranges.append((many[1], int(many[2]), ('reg', id(scope), bits)))
            elif space == 'reg':
                scope.names[one[1]] = ('reg', id(scope), bits, one[1])
            elif space == 'param':
                scope.names[one[1]] = ('param', one[1], bits // 8 * int(one[2] or 1))
            elif space:
                scope.names[one[1]] = (space, self.machine.room(space, one[1], bits // 8 * int(one[2] or 1), init,
                                                                 bits // 8))
