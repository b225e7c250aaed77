#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py TWIN LAUNCH CLANG OBJECT GFX [VERSION] [WHERE]: twins of AMD machine code.

Compiles each of kernels/*.cl for GFX and makes a twin with the program of OBJECT at its entry and exit. Runs kernel and
twin on a simulated GPU, with the launcher that $GPUBPF_AMD_SIM names. Both must leave the same memory, and the sums of
probe.bpf.c must follow from the launch. (The simulator does not support partial groups.) WHERE is entry or exit: then
the twins have only this place, and only a few cases run. Lines of a case:
  // launch X Y Z BX BY BZ   number of threads in total, and per group
  // refused WHY[: GFX...]   no twin is possible (for these), and the reason contains these words
  // differs                 the words are expected to differ
  // only GFX...             processors on which it runs"""
import glob
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
import simulated
from tap import ok, plan, skip

twin, launch, clang, probe, gfx = sys.argv[1:6]
version = sys.argv[6] if len(sys.argv) > 6 else '4'
where = sys.argv[7] if len(sys.argv) > 7 else 'both'
here = os.path.dirname(os.path.abspath(__file__))
sim = os.environ.get('GPUBPF_AMD_SIM')


def call(*args, timeout=300):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, errors='replace', timeout=timeout)


def line(text, key):
    found = re.search(r'^// ' + key + r' ?(.*)$', text, re.M)
    return found.group(1) if found else None


def sums(grid, block):
    """Returns the sums that probe.bpf.c should compute, in the order of its struct."""
    total = [0] * 6
    n = grid[0] * grid[1] * grid[2]
    groups = [(grid[d] + block[d] - 1) // block[d] for d in range(3)]
    for z in range(grid[2]):
        for y in range(grid[1]):
            for x in range(grid[0]):
                at, i = (x, y, z), (z * grid[1] + y) * grid[0] + x
                size = [min(block[d], grid[d] - at[d] // block[d] * block[d]) for d in range(3)]
                parts = (i, i * i, sum((at[d] % block[d]) * 100 ** d for d in range(3)),
                         sum((at[d] // block[d]) * 100 ** d for d in range(3)),
                         size[0] + 1000 * groups[0] + 3 * size[1], n)
                total = [a + b for a, b in zip(total, parts)]
    entry, leave = where != 'exit', where != 'entry'
    out = [n * entry, n * leave]
    for part in total:
        out += [part * entry, part * leave]
    return out


def check_twin(name, path):
    """llvm-readelf and llvm-objdump, which are vendor-neutral, must accept the file."""
    notes = call('llvm-readelf-22', '--notes', path)
    text = call('llvm-objdump-22', '-d', path)
    good = notes.returncode == 0 and 'gpubpf_twin_k.kd' in notes.stdout and 'Error' not in notes.stdout + notes.stderr
    good = good and text.returncode == 0 and '<unknown>' not in text.stdout and 'warning' not in text.stderr
    ok(good, f'{name}: llvm-readelf and llvm-objdump read the twin', '' if good else notes.stderr + text.stderr)
    if where == 'entry' or not good:
        return
    symbols = call('llvm-readelf-22', '--symbols', path).stdout
    at, size = re.search(r'([0-9a-f]{16}) +(\d+) FUNC .* gpubpf_twin_k$', symbols, re.M).groups()
    ends = [int(end, 16) for end in re.findall(r's_endpgm.*// ([0-9A-F]{12}):', text.stdout)]
    left = [hex(end) for end in ends if int(at, 16) <= end < int(at, 16) + int(size)]
    ok(ends and not left, f'{name}: each end of the kernel goes to the probe', ' '.join(left))


def run(name, base, sizes, text):
    shape = [int(word) for word in line(text, 'launch').split()]
    if not sim or not launch:
        skip(f'{name}: runs', 'GPUBPF_AMD_SIM names no simulator, or this was built without hsa.h')
        return
    ran = simulated.twin(gfx, launch, base, base + '.twin', sizes, shape)
    lines = ran.stdout.splitlines()
    if ran.returncode or len(lines) != 3:
        ok(False, f'{name}: runs', ran.stdout + ran.stderr)
        return
    ok((lines[1] == 'same') == (line(text, 'differs') is None), f'{name}: {lines[1]} words')
    want = ' '.join(str(v) for v in sums(shape[:3], shape[3:]))
    ok(lines[2].strip() == want, f'{name}: every thread is seen', '' if lines[2].strip() == want else
       f'want {want}\ngot  {lines[2]}')


def compile_cl(source, image):
    return call(clang, '--target=amdgcn-amd-amdhsa', '-mcpu=' + gfx, '-x', 'cl', '-cl-std=CL2.0', '-nogpulib', '-O2', '-w',
                '-mcode-object-version=' + version, '-include', os.path.join(here, 'kernels/prelude.h'), source, '-o', image)


def case(path, folder):
    name = f'{os.path.basename(path)[:-3]}, {gfx} v{version} {where}'
    text = open(path, encoding='utf-8').read()
    base = os.path.join(folder, os.path.basename(path))
    if line(text, 'only') and gfx not in line(text, 'only').split():
        return
    if where != 'both' and os.path.basename(path) not in ('simple.cl', 'local.cl', 'calls.cl', 'several_ends.cl', 'full.cl'):
        return
    built = compile_cl(path, base)
    if built.returncode:
        ok(False, f'{name}: clang', built.stderr)
        return
    made = call(twin, gfx, base, probe, 'k', where, base + '.twin')
    refused, _, there = (line(text, 'refused') or '').partition(': ')
    if where == 'entry' or (there and gfx not in there.split()):
        refused = ''
    if refused or made.returncode or made.stdout.startswith('refused'):
        good = bool(refused) and made.stdout.startswith('refused') and refused in made.stdout
        ok(good, f'{name}: refused, {refused}', '' if good else made.stdout + made.stderr)
        return
    check_twin(name, base + '.twin')
    run(name, base, made.stdout.strip(), text)


def bundles(folder):
    """An object in a bundle, or in a compressed bundle of any version, must give the same twin as the object alone."""
    bundler = shutil.which('clang-offload-bundler-19')
    if not bundler:
        skip(f'bundles, {gfx}', 'no clang-offload-bundler-19')
        return
    base, raw = os.path.join(folder, 'simple.cl'), os.path.join(folder, 'bundle')
    llvm = os.path.dirname(os.path.realpath(shutil.which('llvm-readelf-22'))) # the bundler runs a program llvm-objcopy
    words = ['env', f'PATH={llvm}:{os.environ["PATH"]}', bundler, '-type=o', f'-targets=host-x86_64-unknown-linux-gnu,hipv4-amdgcn-amd-amdhsa--{gfx}', '-input=/dev/null',
             '-input=' + base]
    call(*words, '-output=' + raw)
    call(*words, '-output=' + raw + '.2', '-compress')
    want, packed = open(base + '.twin', 'rb').read(), open(raw + '.2', 'rb').read()
    magic, _, method, _, plain, digest = struct.unpack('<4sHHIIQ', packed[:24])
    files = {'a bundle': open(raw, 'rb').read(), 'a compressed bundle, version 2': packed,
             'version 1': struct.pack('<4sHHIQ', magic, 1, method, plain, digest) + packed[24:],
             'version 3': struct.pack('<4sHHQQQ', magic, 3, method, len(packed) + 8, plain, digest) + packed[24:]}
    for i, (name, data) in enumerate(files.items()):
        with open(raw, 'wb') as f:
            f.write(data)
        made, out = call(twin, gfx, raw, probe, 'k', where, f'{raw}.twin{i}'), f'{raw}.twin{i}'
        good = os.path.exists(out) and open(out, 'rb').read() == want
        ok(good, f'{name}, {gfx}: the same twin', '' if good else made.stdout + made.stderr)
    short = packed[:8] + struct.pack('<I', len(packed) - 9) + packed[12:-9]
    for name, data in {'is damaged': short, 'by method 0': packed[:6] + b'\0\0' + packed[8:],
                       'header is invalid': packed[:20]}.items():
        with open(raw, 'wb') as f:
            f.write(data)
        made = call(twin, gfx, raw)
        good = made.stdout.startswith('refused') and name in made.stdout
        ok(good, f'a compressed bundle, {gfx}: refused, {name}', '' if good else made.stdout)


def long_name(folder):
    """The list of kernels must state the short form of a long name, and the twin must use the same form."""
    base, whole = os.path.join(folder, 'long'), 'k_' + 300 * 'x'
    with open(os.path.join(here, 'kernels/simple.cl'), encoding='utf-8') as f:
        text = f.read().replace('void k(', f'void {whole}(')
    with open(base + '.c', 'w', encoding='utf-8') as f:
        f.write(text)
    built = compile_cl(base + '.c', base)
    short = call(twin, gfx, base).stdout.split(' ')[0]
    made = call(twin, gfx, base, probe, short, where, base + '.made')
    symbols = call('llvm-readelf-22', '--symbols', '--wide', base + '.made').stdout
    good = short.startswith('k_x') and len(short) == 227 and f' gpubpf_twin_{short}\n' in symbols
    ok(good, f'a name of {len(whole)} bytes, {gfx}: {len(short)} in the twin', '' if good else built.stderr + made.stdout + symbols)


def arguments(folder):
    """A descriptor with a size of arguments near 2^32, with which the size of the twin's arguments would overflow."""
    with open(os.path.join(folder, 'simple.cl'), 'rb') as f:
        image = bytearray(f.read())
    rodata = re.search(r'\.rodata\s+PROGBITS\s+\S+\s+(\S+)', call('llvm-readelf-22', '--sections', '--wide', os.path.join(folder, 'simple.cl')).stdout)
    path = os.path.join(folder, 'arguments')
    for size, refused in ((4096, False), (0xfffffff9, True)):
        struct.pack_into('<I', image, int(rodata[1], 16) + 8, size) # kernarg_size of the only kernel
        with open(path, 'wb') as f:
            f.write(image)
        made = call(twin, gfx, path, probe, 'k', where, path + '.twin')
        ok(made.stdout.startswith('refused') == refused and ('megabyte of arguments' in made.stdout) == refused,
           f'{size} bytes of arguments, {gfx}: {"refused" if refused else "a twin"}', made.stdout + made.stderr)


def test_declared_less(folder):
    """If the metadata or the descriptor declares fewer registers than the code uses, the kernel must be refused."""
    name, key = ('full_accum', b'.agpr_count') if gfx.startswith('gfx9') else ('full', b'.vgpr_count')
    image = os.path.join(folder, name + '.cl')
    with open(image, 'rb') as f:
        whole = f.read()
    at, few = whole.index(key) + len(key), bytearray(whole)
    rodata = re.search(r'\.rodata\s+PROGBITS\s+\S+\s+(\S+)', call('llvm-readelf-22', '--sections', '--wide', image).stdout)
    for off in (44, 48):  # rsrc3 and rsrc1: declares the fewest possible registers
        few[int(rodata[1], 16) + off] &= 0xc0
    for told, data in {'metadata': whole.replace(key, b'.A' + key[2:], 1) if name == 'full_accum' else whole[:at] + b'\xcd\x00\x10' + whole[at + 3:],
                       'descriptor': few}.items():
        with open(image + '.less', 'wb') as f:
            f.write(data)
        made = call(twin, gfx, image + '.less', probe, 'k', where, image + '.less.twin')
        ok(made.stdout.startswith('refused') and 'vector registers' in made.stdout,
           f'{name}, {gfx}: the {told} tells less registers than there are: refused', made.stdout + made.stderr)


def test_initial_state(folder):
    """Descriptors with an invalid initial state of the wave: too many scalar registers, and exceptions that a division
    in a probe would raise."""
    with open(os.path.join(folder, 'simple.cl'), 'rb') as f:
        image = bytearray(f.read())
    sections = call('llvm-readelf-22', '--sections', '--wide', os.path.join(folder, 'simple.cl')).stdout
    at = int(re.search(r'\.rodata\s+PROGBITS\s+\S+\s+(\S+)', sections)[1], 16) + 52 # rsrc2
    word = struct.unpack_from('<I', image, at)[0]
    path = os.path.join(folder, 'asked')
    for name, bits, why in (('16 scalar registers', 16 << 1, ''), ('17', 17 << 1, 'more than 16 user registers'), ('31', 31 << 1, 'more than 16 user registers'),
                            ('exceptions', word & 0x3e | 1 << 30, 'arithmetic exceptions')):
        struct.pack_into('<I', image, at, word & ~0x3e | bits)
        with open(path, 'wb') as f:
            f.write(image)
        made = call(twin, gfx, path, probe, 'k', where, path + '.twin')
        ok(made.stdout.startswith('refused') == bool(why) and why in made.stdout,
           f'the descriptor asks for {name}, {gfx}: {"refused" if why else "a twin"}', made.stdout + made.stderr)
    struct.pack_into('<I', image, at, word)
    struct.pack_into('<I', image, at - 52, 0xffffffff) # group_size
    with open(path, 'wb') as f:
        f.write(image)
    made = call(twin, gfx, path, probe, 'k', 'block_end', path + '.twin')
    ok("uses all of a group's memory" in made.stdout, f'a group of 4 GiB, {gfx}: its waves are not counted', made.stdout + made.stderr)


HOSTILE = '''
kernel void bad(global uint *out) { __asm__ volatile(".long 0xe966cf39, 0xff2e1165, 0x528a5af9, 0x4a483f6c"); }
kernel void good(global uint *out) { out[0] = 1; }
kernel void bad_too(global uint *out) { __asm__ volatile(".long 0xe966cf39, 0xff2e1165, 0xd3d66cab, 0x9656f6ff"); }
'''


def hostile(folder):
    """Instruction words that crash LLVM's disassembler. Only the kernels that contain them may be refused."""
    source, image = os.path.join(folder, 'hostile.cl'), os.path.join(folder, 'hostile')
    with open(source, 'w', encoding='utf-8') as f:
        f.write(HOSTILE)
    built = call(clang, '--target=amdgcn-amd-amdhsa', '-mcpu=' + gfx, '-x', 'cl', '-cl-std=CL2.0', '-nogpulib', '-O2', '-w',
                 '-mcode-object-version=' + version, source, '-o', image)
    listed = call(twin, gfx, image).stdout
    reasons = {words[0]: ' '.join(words[3:]) for words in map(str.split, listed.splitlines()) if len(words) > 2}
    good = reasons.get('good') == '' and reasons.get('bad') and reasons.get('bad_too')
    ok(bool(good), f'hostile code, {gfx}: its own kernel alone is refused', '' if good else built.stderr + listed)


def listed(folder):
    """The list of the image's kernels must state the reason for a refusal even without a probe."""
    made = call(twin, gfx, os.path.join(folder, 'computed.cl')).stdout
    ok('computed address' in made, f'computed, {gfx}: listed, computed address', made)
    for name in ('full', 'full_accum'):
        image = os.path.join(folder, name + '.cl')
        made = call(twin, gfx, image).stdout if os.path.exists(image) else ''
        want = gfx.startswith('gfx1') or name == 'full_accum'
        if made:
            good = ('at its exit' in made) == want
            ok(good, f'{name}, {gfx}: listed {"with" if want else "without"} a reason', '' if good else made)


TWO_ENDS = '''
kernel void k(global uint *out, global const uint *in, uint n)
{
	out[ID] = in[ID] + n;
	if (GROUP & 1)
		__asm__ volatile("s_endpgm");
	out[ID] += 1;
}
'''


def one_exit(folder):
    """Probes only the last of two exits. Threads that leave at the other exit are counted at the entry only."""
    source, base = os.path.join(folder, 'two_ends'), os.path.join(folder, 'two_ends.o')
    with open(source, 'w', encoding='utf-8') as f:
        f.write(TWO_ENDS)
    compile_cl(source, base)
    if not sim or not launch:
        skip(f'one exit, {gfx}', 'GPUBPF_AMD_SIM names no simulator, or this was built without hsa.h')
        return
    sizes = call(twin, gfx, base, probe, 'k', 'last', base + '.last').stdout.strip()
    ran = simulated.twin(gfx, launch, base, base + '.last', sizes, [640, 1, 1, 64, 1, 1])
    lines = ran.stdout.splitlines()
    entered, left = (int(word) for word in lines[2].split()[:2]) if len(lines) == 3 else (0, 0)
    ok(len(lines) == 3 and lines[1] == 'same' and (entered, left) == (640, 320),
       f'one exit, {gfx}: {entered} threads entered, {left} left there', ran.stdout + ran.stderr)


def decoded(folder):
    """Decodes all twins with decoders that are independent of LLVM's."""
    python = os.path.join(here, '../../../build/deps/python/bin/python')
    twins = sorted(glob.glob(os.path.join(folder, '*.cl.twin')))
    if not os.path.exists(python) or call(python, '-c', 'import tinygrad').returncode:
        skip(f'decoded, {gfx}', 'no tinygrad in build/deps/python')
        return
    made = call(python, os.path.join(here, 'decode.py'), gfx, *twins, timeout=200)
    last = (made.stdout.splitlines() or ['nothing'])[-1]
    ok(made.returncode == 0, f'decoded, {gfx}: {last}', made.stdout + made.stderr if made.returncode else '')


with tempfile.TemporaryDirectory() as folder:
    for path in sorted(glob.glob(os.path.join(here, 'kernels/**/*.cl'), recursive=True), key=os.path.basename):
        case(path, folder)
    if where == 'both':
        bundles(folder)
        hostile(folder)
        arguments(folder)
        test_declared_less(folder)
        test_initial_state(folder)
        long_name(folder)
        listed(folder)
        one_exit(folder)
        decoded(folder)
plan()
