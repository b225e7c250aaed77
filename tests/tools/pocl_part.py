#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pocl_part.py SOURCE FOLDER DEPFILE STAMP: makes a PoCL with only the part of its library that the tests use.

Each process that compiles with PoCL reads its whole library of OpenCL C functions, 23,000 of them, and the header
that declares them. This takes a second, even for programs that call five functions. FOLDER becomes a PoCL with the
same code, which $LD_LIBRARY_PATH = FOLDER/lib/pocl selects. Its library and header have the functions whose names
occur in the texts of SOURCE's tests and in the code that gpubpf adds to programs, with their callees. A program
that calls a missing function does not build, and the error names the function. Third-party programs (tests/real)
use the full PoCL. If PoCL is not installed as by Debian, FOLDER stays empty, and the tests use the installed PoCL."""
import collections
import ctypes
import glob
import os
import re
import shutil
import sys

# CPU features in the order in which PoCL looks for them,
FEATURES = ['avx512f', 'avx2', 'fma4', 'f16c', 'avx', 'sse4_1', 'ssse3']
# and the variant of its library for each feature
VARIANTS = ['avx512', 'avx2', 'avx_fma4', 'avx_f16c', 'avx', 'sse41', 'ssse3']
TEXTS = ['tests', 'examples', 'bench', 'cli', 'core', 'maps', 'backends/spirv/build', 'backends/spirv/opencl_c', 'backends/spirv/device',
         'backends/spirv/wire', 'backends/spirv/opencl_c']
LETTERS = {'c': 'char', 'h': 'uchar', 's': 'short', 't': 'ushort', 'i': 'int', 'j': 'uint', 'l': 'long', 'm': 'ulong', 'f': 'float', 'd': 'double',
           'Dh': 'half'}  # mangled type names
VECTOR = r'\b(?:%s)\d+\b' % '|'.join(LETTERS.values())
PASTED = ('atom_', 'atomic_')  # maps/device/machine_clc.h pastes names from these prefixes, so all such functions stay
# these files have words but no OpenCL C
LEFT_OUT = ('.build', '.case', '.cu', '.cubin', '.data', '.def', '.hip', '.md', '.ptx', '.spvasm')


def texts_of(source):
    for folder in TEXTS:
        for where, _, names in os.walk(os.path.join(source, folder)):
            yield from (os.path.join(where, name) for name in names if not name.endswith(LEFT_OUT))


def words_of(paths):
    words = set()
    for path in paths:
        with open(path, encoding='utf-8', errors='replace') as text:
            words.update(re.findall(r'[A-Za-z_]\w*', text.read()))
    return words


def llvm_of(pocl):
    """Loads the LLVM library that PoCL itself uses, and declares the functions used here."""
    ctypes.CDLL(pocl)
    with open('/proc/self/maps', encoding='utf-8') as maps:
        path = re.search(r'/\S*/libLLVM-\d+\.so\S*', maps.read())
    llvm = ctypes.CDLL(path[0])
    pointer = ctypes.c_void_p
    for name in ('GetFirstFunction', 'GetNextFunction', 'GetFirstUse', 'GetNextUse', 'GetUser', 'IsAInstruction', 'GetInstructionParent',
                 'GetBasicBlockParent', 'TypeOf', 'GetUndef', 'DeleteFunction'):
        getattr(llvm, 'LLVM' + name).argtypes = [pointer]
        getattr(llvm, 'LLVM' + name).restype = pointer
    llvm.LLVMReplaceAllUsesWith.argtypes = [pointer, pointer]
    llvm.LLVMReplaceAllUsesWith.restype = None
    llvm.LLVMContextCreate.restype = pointer
    llvm.LLVMGetValueName2.argtypes = [pointer, ctypes.POINTER(ctypes.c_size_t)]
    llvm.LLVMGetValueName2.restype = ctypes.c_char_p
    return llvm


def read(llvm, path):
    buffer, why, module = ctypes.c_void_p(), ctypes.c_char_p(), ctypes.c_void_p()
    if llvm.LLVMCreateMemoryBufferWithContentsOfFile(path.encode(), ctypes.byref(buffer), ctypes.byref(why)) or \
            llvm.LLVMParseBitcodeInContext2(ctypes.c_void_p(llvm.LLVMContextCreate()), buffer, ctypes.byref(module)):
        raise OSError(f'{path} cannot be read')
    return module


def each(first, following):
    while first:
        yield first
        first = following(first)


def users(llvm, function):
    """Yields the functions that call this function, and None for a use outside of functions."""
    for use in each(llvm.LLVMGetFirstUse(function), llvm.LLVMGetNextUse):
        user = llvm.LLVMGetUser(use)
        yield llvm.LLVMGetBasicBlockParent(llvm.LLVMGetInstructionParent(user)) if llvm.LLVMIsAInstruction(user) else None


def is_wanted(name, words):
    """Returns True if the function must stay. OpenCL C functions are selected by their name and vector types. Sleef's
    functions stay only if they are called, and functions that PoCL itself calls always stay."""
    found = re.match(r'_Z(\d+)(\w+)', name)
    if not found:
        return not name.startswith('Sleef')
    return found[2][:int(found[1])].removeprefix('_cl_') in words and \
        all(LETTERS.get(letter, '') + n in words for n, letter in re.findall(r'Dv(\d+)_(Dh|\w)', found[2]))


def reduce_library(llvm, path, to, words):
    module = read(llvm, path)
    functions = list(each(llvm.LLVMGetFirstFunction(module), llvm.LLVMGetNextFunction))
    names = {f: llvm.LLVMGetValueName2(f, ctypes.byref(ctypes.c_size_t())).decode() for f in functions}
    callees = collections.defaultdict(set)
    for f in functions:
        for user in users(llvm, f):
            callees[user].add(f)
    kept, todo = set(), [f for f in functions if is_wanted(names[f], words)] + list(callees[None])
    while todo:
        f = todo.pop()
        if f not in kept:
            kept.add(f)
            todo += callees[f]
    for f in functions:
        if f not in kept:
            llvm.LLVMReplaceAllUsesWith(f, llvm.LLVMGetUndef(llvm.LLVMTypeOf(f)))
            llvm.LLVMDeleteFunction(f)
    if llvm.LLVMWriteBitcodeToFile(module, to.encode()):
        raise OSError(f'{to} cannot be written')


def reduce_header(path, to, words):
    with open(path, encoding='utf-8') as whole, open(to, 'w', encoding='utf-8') as part:
        for line in whole:
            found = re.search(r'__ovld\b.*?\b(\w+)\(.*\);\s*$', line)
            if not found or found[1] in words and words.issuperset(re.findall(VECTOR, line)):
                part.write(line)


def variant():
    with open('/proc/cpuinfo', encoding='utf-8') as text:
        flags = re.search(r'^flags\s*:(.*)', text.read(), re.M)
    have = flags[1].split() if flags else []
    return next((v for feature, v in zip(FEATURES, VARIANTS) if feature in have), 'sse2')


def reduce_library_of(pocl, words, share):
    for library in glob.glob('/usr/share/pocl/kernel-*.bc'):
        to = f'{share}/{os.path.basename(library)}'
        if library.endswith(f'-{variant()}.bc'):
            reduce_library(llvm_of(pocl), library, to, words)
        else:
            os.symlink(library, to)


def make(folder, words):
    """Makes the PoCL in the folder. PoCL finds its library relative to the folder of libpocl."""
    pocl, share = os.path.realpath(glob.glob('/usr/lib/*/libpocl.so.2')[0]), f'{folder}/share/pocl'
    os.makedirs(f'{folder}/lib/pocl')
    os.makedirs(f'{share}/include')
    for header in glob.glob('/usr/share/pocl/include/*'):
        os.symlink(header, f'{share}/include/{os.path.basename(header)}')
    os.remove(f'{share}/include/opencl-c.h')
    reduce_header('/usr/share/pocl/include/opencl-c.h', f'{share}/include/opencl-c.h', words)
    reduce_library_of(pocl, words, share)
    os.symlink(f'{os.path.dirname(pocl)}/pocl', f'{folder}/lib/pocl/pocl')
    os.symlink(pocl, f'{folder}/lib/pocl/{os.path.basename(pocl)}')


def remake(folder, words):
    shutil.rmtree(folder, ignore_errors=True)
    try:
        make(folder, words)
    except (OSError, IndexError, AttributeError, TypeError) as why:
        shutil.rmtree(folder, ignore_errors=True)
        print(f'tests take the installed PoCL: {why!r}')


def main(source, folder, depfile, stamp):
    """Makes the PoCL again if the OpenCL C words of the texts or PoCL have changed. STAMP records both."""
    texts = sorted(texts_of(source))
    theirs = words_of(glob.glob('/usr/share/pocl/include/*'))
    words = words_of(texts) & theirs | {word for word in theirs if word.startswith(PASTED)}
    libraries = sorted(glob.glob('/usr/share/pocl/kernel-*.bc'))
    made = '\n'.join([variant(), *(f'{path} {os.path.getmtime(path)}' for path in libraries), *sorted(words), ''])
    with open(stamp, 'a+', encoding='utf-8') as kept:
        kept.seek(0)
        if kept.read() != made or os.path.getmtime(__file__) > os.path.getmtime(stamp):
            remake(folder, words)
    with open(stamp, 'w', encoding='utf-8') as kept:
        kept.write(made)
    with open(depfile, 'w', encoding='utf-8') as out:
        out.write(f'{stamp}: ' + ' '.join(text.replace(' ', '\\ ') for text in texts) + '\n')


main(*sys.argv[1:])
