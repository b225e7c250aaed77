# SPDX-License-Identifier: Apache-2.0
"""An interpreter of PTX for tests, written from the PTX ISA. It runs the lanes of a kernel one after the other, each
lane up to the next barrier. It records each memory access, barrier wait and branch. It implements integer and bit
operations, and raises an error for all others. Each lane is diverged from the other lanes of its warp; hardware may do
the same."""
import re

from ptx_parse import BITS, SPACES, Module, split

GLOBAL, CONST, LOCAL, SHARED = 0x10000000, 0x20000000, 0x7e0000000000, 0x7f0000000000
WINDOW = 1 << 21 # bytes per space
BUFFERS = bytes((i * 7 + (i >> 8)) & 0xff for i in range(1 << 19)) # initial content of all buffers
FLOATS = ('0f', '0F', '0d', '0D')


class Exit(Exception):
    pass


class Machine:
    """The memory of one run, and the recorded events.

    accesses: rows (lane, access, space, address, offset, bytes, count, value, line, insn); rows of atomics append
    (operation, operand, value before). others: rows (kind, lane, {context fields}, line, insn). notes: one row per
    store to gpubpf_log: (lane, number of lanes that have left, number of other lanes that wait at a barrier).
    Lanes run one after the other, and each is active alone. With `whole`, each acts as a lane of a full warp in
    lockstep."""

    def __init__(self, shape=(32, 1, 1), backwards=False, named=False, whole=False, block=(0, 1)):
        self.global_, self.const, self.shared, self.local = bytearray(WINDOW), bytearray(1 << 16), {}, {}
        self.next = {'global': len(BUFFERS), 'const': 0, 'shared': 0, 'local': 0}
        self.variables, self.accesses, self.others, self.notes, self.left = {}, [], [], [], 0
        self.behind, self.timer = set(), 0 # timer: %globaltimer, in ns
        self.shape, self.backwards, self.named, self.whole = shape, backwards, named, whole
        self.block = block # index of the block and number of blocks, in dimension x
        self.grid = 1 # %gridid
        self.global_[:len(BUFFERS)] = BUFFERS

    def room(self, space, name, size, init, width):
        at = self.next[space] = (self.next[space] + 15) & ~15
        self.next[space] += size
        if space == 'const' and name.startswith('gpubpf_'):
            self.variables[name] = CONST + at
        base = {'global': GLOBAL, 'const': CONST, 'shared': 0, 'local': 0}[space]
        values = re.findall(r'-?\w+', init)
        for i, value in enumerate(values):
            memory = self.global_ if space == 'global' else self.const
            memory[at + i * width:at + (i + 1) * width] = (int(value, 0) & (1 << 8 * width) - 1).to_bytes(width, 'little')
        self.variables[name] = base + at
        return base + at

    def memory(self, lane, space, address):
        """Returns the bytearray of an address space and the index of the address in it. space 0 is generic."""
        if space == 0:
            space = self.space_of(address)
            address -= {2: SHARED, 3: LOCAL}.get(space, 0)
        if space == 2:
            return self.shared, address
        if space == 3:
            return self.local.setdefault(lane, bytearray(1 << 12)), address
        return (self.const, address - CONST) if CONST <= address < CONST + WINDOW else (self.global_, address - GLOBAL)

    @staticmethod
    def space_of(address):
        for base, space in ((GLOBAL, 1), (CONST, 4), (SHARED, 2), (LOCAL, 3)):
            if base <= address < base + WINDOW:
                return space
        return 0

    def run(self, function, module, args):
        lanes = self.shape[0] * self.shape[1] * self.shape[2]
        self.shared = bytearray(1 << 16)
        order = range(lanes - 1, -1, -1) if self.backwards else range(lanes)
        live = [(n, Lane(self, module, n).call(function, args)) for n in order]
        while live:
            live = [(n, lane) for n, lane in live if self.step_lane(n, lane)]

    def step_lane(self, n, lane):
        self.behind.discard(n)
        waits = next(lane, None)
        self.left += not waits
        if waits:
            self.behind.add(n)
        return waits


class Lane:
    def __init__(self, machine, module, number):
        self.m, self.module, self.number, self.of_warp = machine, module, number, number % 32

    # -- operands --

    def bits(self, insn, name):
        what = insn.scope.find(name)
        return what[2] if what and what[0] == 'reg' else 0

    def get(self, insn, text, bits=64):
        text = text.strip()
        what = insn.scope.find(text)
        if what and what[0] == 'reg':
            return self.frame.get(what[1:], 0) & ((1 << bits) - 1)
        if text.startswith('!'):
            return 1 - self.get(insn, text[1:], 1)
        minus = text.startswith('-')
        name = text[minus:].strip()
        if name[:2] in FLOATS:
            value = int(name[2:], 16)
        elif name[0].isdigit():
            value = int(re.sub(r'[uU]$', '', name), 0)
        elif name == '%laneid':
            value = self.of_warp
        elif name == '%lanemask_lt':
            value = (1 << self.of_warp) - 1
        elif name == '%lanemask_gt':
            value = -2 << self.of_warp
        elif name in ('%tid.x', '%tid.y', '%tid.z'):
            x, y, _ = self.m.shape
            value = {'x': self.number % x, 'y': self.number // x % y, 'z': self.number // (x * y)}[name[-1]]
        elif name in ('%ntid.x', '%ntid.y', '%ntid.z'):
            value = self.m.shape['xyz'.index(name[-1])]
        elif name == 'WARP_SZ':
            value = 32
        elif name in ('%ctaid.x', '%nctaid.x'):
            value = self.m.block[name == '%nctaid.x']
        elif name in ('%ctaid.y', '%ctaid.z', '%nctaid.y', '%nctaid.z'):
            value = name.startswith('%n')
        elif name == '%total_smem_size':
            value = 1 << 16
        elif name == '%globaltimer':
            self.m.timer += 1000
            value = self.m.timer
        elif name == '%gridid':
            value = self.m.grid
        elif name == '%smid':
            value = self.number % 4 # any multiprocessor number is allowed
        elif re.match(r'[\w$]+\+\d+$', name):
            name, off = name.split('+')
            value = insn.scope.find(name)[1] + int(off)
        else:
            what = insn.scope.find(name)
            if what is None:
                raise KeyError(f'{name} in {insn.text}')
            value = self.frame.get(what[1:], 0) if what[0] == 'reg' else what[1]
        return (-value if minus else value) & ((1 << bits) - 1)

    def set(self, insn, name, value):
        if name == '_':
            return
        what = insn.scope.find(name)
        self.frame[what[1:]] = value & ((1 << what[2]) - 1)

    def signed(self, value, bits):
        value &= (1 << bits) - 1
        return value - (1 << bits) if value >> bits - 1 else value

    def address(self, insn, text):
        """Returns the address of the operand [base+n]. If base is a parameter, returns n and the parameter."""
        match = re.match(r'\[\s*([\w$%.]+)\s*(?:\+?\s*(-?\s*\w+))?\s*\]', text)
        if not match:
            raise ValueError(text)
        what = insn.scope.find(match[1])
        off = int(match[2].replace(' ', ''), 0) if match[2] else 0
        if what and what[0] == 'param':
            return off, what
        base, bits = self.get(insn, match[1]), self.bits(insn, match[1]) or 64
        return (base + off) & ((1 << bits) - 1), None

    # -- memory --

    def access(self, insn, access, space, address, size, count=1, value=0):
        """Records the access with the fields that probes report."""
        named = space.split('::')[0] if space else None
        where = SPACES[named] if named else self.m.space_of(address)
        base = {2: SHARED, 3: LOCAL}.get(where, 0)
        generic = address + base if named else address
        offset = address if named else address - base
        self.m.accesses.append((self.number, access, where, generic, offset, size, count, value & (1 << 128) - 1, insn.line,
                                insn))
        return self.m.memory(self.number, SPACES[named] if named else 0, address)

    def load(self, insn, text):
        space, width, count = (insn.spaces() or [None])[0], BITS[insn.type()] // 8, insn.count()
        address, param = self.address(insn, text)
        if param:
            data, at = self.params[param[1]], address
        else:
            data, at = self.access(insn, 1, space, address, width * count, count)
        return [int.from_bytes(data[at + i * width:at + (i + 1) * width], 'little') for i in range(count)]

    def names(self, text):
        return split(text[1:-1]) if text.startswith('{') else [text]

    def sext(self, insn, value):
        kind = insn.type()
        return self.signed(value, BITS[kind]) if kind[0] == 's' else value

    def do_ld(self, insn):
        for name, value in zip(self.names(insn.args[0]), self.load(insn, insn.args[1])):
            self.set(insn, name, self.sext(insn, value))

    do_ldu = do_ld

    def packed(self, insn, text, width):
        return sum(self.get(insn, v, 8 * width) << 8 * width * i for i, v in enumerate(self.names(text)))

    def store(self, insn, at, value):
        space, width, count = (insn.spaces() or [None])[0], BITS[insn.type()] // 8, insn.count()
        address, param = self.address(insn, at)
        bits = self.packed(insn, value, width)
        if param:
            data = self.params.setdefault(param[1], bytearray(param[2]))
        else:
            if '%log_a' in insn.scope.names and '%log_b' in at:
                self.m.notes.append((self.number, self.m.left, len(self.m.behind)))
            data, address = self.access(insn, 2, space, address, width * count, count, bits)
        data[address:address + width * count] = bits.to_bytes(width * count, 'little')

    def do_st(self, insn):
        if insn.has('bulk'):
            size = self.get(insn, insn.args[1])
            data, at = self.access(insn, 2, insn.spaces()[0], self.address(insn, insn.args[0])[0], size)
            data[at:at + size] = bytes(size)
        else:
            self.store(insn, *insn.args[:2])

    def atomic(self, insn, at, values):
        width, count, kind = BITS[insn.type()] // 8, insn.count(), insn.type()
        space, address = (insn.spaces() or [None])[0], self.address(insn, at)[0]
        operand = self.packed(insn, values[-1], width)
        data, at = self.access(insn, 3, space, address, width * count, count, operand)
        old = int.from_bytes(data[at:at + width * count], 'little')
        op = next(m for m in insn.mods if m in ('add', 'exch', 'cas', 'min', 'max', 'inc', 'dec', 'and', 'or', 'xor'))
        a, b = (self.signed(v, 8 * width) if kind[0] == 's' else v for v in (old, operand))
        new = {'add': lambda: a + b, 'exch': lambda: b, 'min': lambda: min(a, b), 'max': lambda: max(a, b),
               'and': lambda: a & b, 'or': lambda: a | b, 'xor': lambda: a ^ b, 'inc': lambda: 0 if a >= b else a + 1,
               'dec': lambda: b if a == 0 or a > b else a - 1,
               'cas': lambda: b if a == self.packed(insn, values[0], width) else a}[op]()
        more = (self.RMW[op], self.packed(insn, values[0], width), old if insn.op == 'atom' and insn.args[0] != '_' else 0)
        self.m.accesses[-1] += (tuple(v & (1 << 64) - 1 for v in more),)
        data[at:at + width * count] = (new & (1 << 8 * width * count) - 1).to_bytes(width * count, 'little')
        return old

    RMW = {'add': 1, 'and': 3, 'or': 4, 'xor': 5, 'min': 6, 'max': 7, 'exch': 8, 'cas': 9, 'inc': 10, 'dec': 11}

    def do_atom(self, insn):
        old, width = self.atomic(insn, insn.args[1], insn.args[2:4] if insn.has('cas') else insn.args[2:3]), \
            BITS[insn.type()]
        for i, name in enumerate(self.names(insn.args[0])):
            self.set(insn, name, old >> width * i & (1 << width) - 1)

    def do_red(self, insn):
        self.atomic(insn, insn.args[0], insn.args[1:2])

    def do_multimem(self, insn):
        if insn.has('ld_reduce'):
            self.do_ld(insn)
        elif insn.has('st'):
            self.store(insn, *insn.args[:2])
        elif insn.has('red'):
            self.atomic(insn, insn.args[0], insn.args[1:2])
        else:
            self.do_cp(insn)

    def do_cp(self, insn):
        if insn.has('prefetch'):
            self.access(insn, 4, insn.spaces()[0], self.address(insn, insn.args[0])[0], self.get(insn, insn.args[1]))
            return
        if insn.mods[-1] in ('commit_group', 'wait_group', 'wait_all') or insn.has('mbarrier', 'arrive'):
            return
        size = read = self.get(insn, insn.args[2])
        bits = self.bits(insn, insn.args[3]) if len(insn.args) > 3 else 64
        if not insn.has('bulk') and bits == 1:
            read = 0 if self.get(insn, insn.args[3], 1) else size
        elif not insn.has('bulk') and bits in (0, 32):
            read = self.get(insn, insn.args[3], 32)
        to, of = insn.spaces()[:2]
        data, at = self.access(insn, 1, of, self.address(insn, insn.args[1])[0], read)
        got = bytes(data[at:at + read]) + bytes(size - read)
        data, at = self.access(insn, 3 if insn.has('reduce') else 2, to, self.address(insn, insn.args[0])[0], size)
        if insn.has('reduce'):
            got = bytes(a | b for a, b in zip(got, data[at:at + size]))
            self.m.accesses[-1] += ((self.RMW['or'], 0, 0),)
        data[at:at + size] = got

    def do_prefetch(self, insn):
        said = self.get(insn, insn.args[1]) if len(insn.args) > 1 else 0
        self.access(insn, 4, (insn.spaces() or [None])[0], self.address(insn, insn.args[0])[0], said)

    do_prefetchu = do_applypriority = do_discard = do_prefetch

    def matrix(self, insn, access, at):
        rows = 8 if insn.has('x1') else 16 if insn.has('x2') else 32
        if self.number < rows:
            self.access(insn, access, (insn.spaces() or [None])[0], self.address(insn, at)[0], 16)

    def do_ldmatrix(self, insn):
        self.matrix(insn, 1, insn.args[1])

    def do_stmatrix(self, insn):
        self.matrix(insn, 2, insn.args[0])

    # -- numbers --

    def do_mov(self, insn):
        if insn.args[0].startswith('{'):
            names, whole = self.names(insn.args[0]), self.get(insn, insn.args[1], 128)
            for i, name in enumerate(names):
                width = self.bits(insn, name)
                self.set(insn, name, whole >> width * i)
        elif insn.args[1].startswith('{'):
            names = self.names(insn.args[1])
            width = BITS[insn.type()] // len(names)
            self.set(insn, insn.args[0], self.packed(insn, insn.args[1], width // 8))
        else:
            self.set(insn, insn.args[0], self.get(insn, insn.args[1], BITS[insn.type()]))

    def arithmetic(self, insn, f):
        width = BITS[insn.type()]
        args = [self.get(insn, a, width) for a in insn.args[1:]]
        if insn.type()[0] == 's':
            args = [self.signed(a, width) for a in args]
        self.set(insn, insn.args[0], f(*args))

    def do_add(self, insn): self.arithmetic(insn, lambda a, b: a + b)
    def do_sub(self, insn): self.arithmetic(insn, lambda a, b: a - b)
    def do_mul(self, insn): self.arithmetic(insn, lambda a, b: a * b)
    def do_mad(self, insn): self.arithmetic(insn, lambda a, b, c: a * b + c)
    def do_and(self, insn): self.arithmetic(insn, lambda a, b: a & b)
    def do_or(self, insn): self.arithmetic(insn, lambda a, b: a | b)
    def do_xor(self, insn): self.arithmetic(insn, lambda a, b: a ^ b)
    def do_rem(self, insn): self.arithmetic(insn, lambda a, b: a % b)
    def do_min(self, insn): self.arithmetic(insn, min)
    def do_max(self, insn): self.arithmetic(insn, max)

    def do_not(self, insn): self.arithmetic(insn, lambda a: ~a)
    def do_neg(self, insn): self.arithmetic(insn, lambda a: -a)
    def do_popc(self, insn): self.arithmetic(insn, lambda a: bin(a).count('1'))
    def do_bfind(self, insn): self.arithmetic(insn, lambda a: a.bit_length() - 1)

    def active_mask(self):
        return (1 << 32) - 1 if self.m.whole else 1 << self.of_warp

    def do_activemask(self, insn):
        self.set(insn, insn.args[0], self.active_mask())

    def do_vote(self, insn):
        self.set(insn, insn.args[0], self.get(insn, insn.args[1], 1) * (self.active_mask() if 'ballot' in insn.mods else 1))

    def do_match(self, insn):
        for name, value in zip(insn.args[0].split('|'), (self.active_mask(), 1)):
            self.set(insn, name, value)

    def do_shfl(self, insn):
        if self.get(insn, insn.args[2], 32) != self.of_warp and not self.m.whole:
            raise ValueError(insn.text)
        self.set(insn, insn.args[0], self.get(insn, insn.args[1]))

    def do_shl(self, insn):
        self.set(insn, insn.args[0], self.get(insn, insn.args[1]) << self.get(insn, insn.args[2], 32))

    def do_shr(self, insn):
        self.set(insn, insn.args[0], self.get(insn, insn.args[1], BITS[insn.type()]) >> self.get(insn, insn.args[2], 32))

    def do_bfe(self, insn): # for unsigned types
        value, at, bits = (self.get(insn, t, w) for t, w in zip(insn.args[1:], (BITS[insn.type()], 32, 32)))
        self.set(insn, insn.args[0], value >> at & (1 << bits) - 1)

    def do_setp(self, insn):
        width, kind = BITS[insn.type()], insn.type()
        a, b = (self.get(insn, t, width) for t in insn.args[1:3])
        if kind[0] == 's':
            a, b = self.signed(a, width), self.signed(b, width)
        self.set(insn, insn.args[0], {'lt': a < b, 'le': a <= b, 'gt': a > b, 'ge': a >= b, 'eq': a == b, 'ne': a != b,
                                      'lo': a < b, 'hs': a >= b}[insn.mods[0]])

    def do_selp(self, insn):
        self.set(insn, insn.args[0], self.get(insn, insn.args[1 if self.get(insn, insn.args[3], 1) else 2]))

    def do_cvt(self, insn):
        to, of = [m for m in insn.mods if m in BITS]
        value = self.get(insn, insn.args[1], BITS[of])
        value = self.signed(value, BITS[of]) if of[0] == 's' else value
        self.set(insn, insn.args[0], value & (1 << BITS[to]) - 1)

    def do_cvta(self, insn):
        base = {'shared': SHARED, 'local': LOCAL}.get(insn.spaces()[0].split('::')[0], 0)
        value = self.get(insn, insn.args[1])
        self.set(insn, insn.args[0], value - base if insn.has('to') else value + base)

    def do_isspacep(self, insn):
        self.set(insn, insn.args[0], self.m.space_of(self.get(insn, insn.args[1])) ==
                 SPACES[insn.spaces()[0].split('::')[0]])

    def nothing(self, insn):
        pass

    # -- barriers and branches --

    def other(self, insn, what, **told):
        self.m.others.append((what, self.number, told, insn.line, insn))

    def barrier(self, insn):
        """Returns the kind and id of the barrier, or None if the instruction does not wait."""
        if insn.op == 'mbarrier':
            if not insn.has('try_wait') and not insn.has('test_wait'):
                return None
            at = self.address(insn, insn.args[1])[0]
            return 4, at + (SHARED if insn.spaces() else 0)
        if insn.has('arrive'):
            return None
        if insn.has('cluster'):
            return 2, 0
        if insn.has('warp'):
            return 5, self.get(insn, insn.args[0], 32)
        return 1, self.get(insn, insn.args[1 if insn.has('red') else 0], 32)

    def at_barrier(self, insn):
        found = self.barrier(insn)
        if found:
            self.other(insn, 'barrier', kind=found[0], id=found[1])
        if found and found[0] != 4:
            yield True
        if insn.has('red') or found and found[0] == 4:
            self.set(insn, insn.args[0], insn.op == 'mbarrier') # any result is allowed, but mbarrier must succeed
        if found:
            self.other(insn, 'barrier_exit', kind=found[0], id=found[1])

    def taken(self, insn, goes):
        self.other(insn, 'branch', taken=int(goes), lanes=int(goes) << self.of_warp, active=1 << self.of_warp)

    def named(self, insn):
        """Records an instruction, the begin of a line, or a mark, with the register values before it."""
        if insn.op == 'gpubpf_mark':
            self.other(insn, 'mark', mark=self.get(insn, insn.args[1]))
            return
        found = [self.get(insn, w) for w in re.findall(r'[%\w$]+', insn.rest) if self.bits(insn, w)][:8]
        told = {f'operand{("", "+")[i] if i < 2 else f"+{i}"}': v for i, v in enumerate(found + [0] * (8 - len(found)))}
        if insn.begins:
            self.other(insn, 'line')
        self.other(insn, 'insn', **told)

    do_gpubpf_mark = nothing
    do_membar = do_fence = do_nanosleep = do_createpolicy = do_griddepcontrol = do_wmma = do_wgmma = do_tcgen05 = nothing

    # -- control --

    def do_call(self, insn):
        results = split(insn.args.pop(0)[1:-1]) if insn.args[0].startswith('(') else []
        name, args = insn.args[0], split(insn.args[1][1:-1]) if len(insn.args) > 1 else []
        insn.args = (['(' + ', '.join(results) + ')'] if results else []) + insn.args
        f = self.module.functions[name]
        mine, frame = self.params, self.frame
        values = {p[1]: mine.get(insn.scope.find(a)[1], bytearray(8)) for p, a in zip(f.params, args)}
        yield from self.call(f, values)
        told = self.params
        self.params, self.frame = mine, frame
        for p, r in zip(f.results, results):
            self.params[insn.scope.find(r)[1]] = told.get(p[1], bytearray(8))

    def call(self, f, args):
        if f.entry:
            try:
                yield from self.body(f, args)
            except Exit:
                pass
        else:
            yield from self.body(f, args)

    def body(self, f, args):
        self.params, self.frame, pc = dict(args), {}, 0
        while pc < len(f.code):
            insn = f.code[pc]
            pc += 1
            goes = not insn.guard or bool(self.get(insn, insn.guard, 1)) != insn.negated
            if insn.op == 'brx' or insn.guard and insn.op in ('bra', 'ret', 'exit', 'call'):
                self.taken(insn, goes)
            if not goes:
                continue
            if self.m.named:
                self.named(insn)
            if insn.op == 'bra':
                pc = insn.scope.label(insn.args[0])
            elif insn.op == 'brx':
                pc = insn.scope.label(insn.scope.targets(insn.args[1])[self.get(insn, insn.args[0], 32)])
            elif insn.op == 'ret':
                return
            elif insn.op == 'exit':
                raise Exit
            elif insn.op in ('bar', 'barrier', 'mbarrier'):
                yield from self.at_barrier(insn)
            elif insn.op == 'call':
                yield from self.do_call(insn)
            else:
                getattr(self, 'do_' + insn.op)(insn)


def arguments(module, kernel):
    """Returns the kernel's arguments: each 64-bit parameter points to a buffer of 64 KiB, all others are 5."""
    args = {}
    for i, param in enumerate(module.functions[kernel].params):
        value = GLOBAL + (i << 16) if param[2] == 8 else 5
        args[param[1]] = bytearray(value.to_bytes(8, 'little'))[:param[2]].ljust(param[2], b'\7')
    return args


def run(text, kernel, twin=None, arena=0, form='', **how):
    """Runs a kernel of the module as one block of one warp, or its twin with an arena of the size `arena`. `form` is
    the suffix of the twin's form. Returns the machine in its final state."""
    machine = Machine(**how)
    module = Module(text, machine)
    args = arguments(module, kernel)
    machine.own = machine.next['global']
    if twin is not None:
        machine.next.update(shared=0, local=0)
        module = Module(twin, machine)
        for i, name in enumerate(module.binds):
            at = machine.variables[f'gpubpf_bind_{i}'] - CONST
            machine.const[at:at + 8] = machine.variables[name].to_bytes(8, 'little')
        machine.arena = machine.room('global', 'arena', arena, '', 1)
        if arena:
            at = machine.variables['gpubpf_arena'] - CONST
            machine.const[at:at + 8] = machine.arena.to_bytes(8, 'little')
        kernel = 'gpubpf_twin_' + kernel + form
    machine.run(module.functions[kernel], module, args)
    return machine
