#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""escapes.py GPUBPF OBJECTS: text from untrusted files must not reach a terminal unescaped. Prints TAP. Each command
gets objects, images, paths and arguments with C0 and C1 controls, invalid UTF-8 and bidirectional text. Its output
must be valid UTF-8 without any of these."""
import os
import subprocess
import sys
import tempfile
import time

gpubpf, objects = (os.path.abspath(a) for a in sys.argv[1:3])
scratch = tempfile.TemporaryDirectory()
env = {k: v for k, v in os.environ.items() if not k.startswith("GPUBPF_") and k != "OPENCL_LAYERS"}
for name in ("XDG_RUNTIME_DIR", "XDG_CACHE_HOME"):
    env[name] = os.path.join(scratch.name, name)
    os.mkdir(env[name], mode=0o700)
count, failed = 0, False

# Replaces a name in an object. The replacement is cut to the name's length, since an object file must not change its
# size.
HOSTILE = b"\x1b]0;\x9b2J\xff\xe2\x80\xae\xc2\x9b31m\x07\xc0\x80\xed\xa0\x80\x7f\x1b[H\xe2\x81\xa6\xef\xbf"


def forbidden(data):
    """Returns the first forbidden byte sequence or character in the bytes, or None."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"invalid UTF-8: {error}"
    for c in text:
        code = ord(c)
        if (code < 32 and c not in "\n\t") or 0x7F <= code < 0xA0 or 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069 or \
                code in (0x200E, 0x200F, 0x061C):
            return f"U+{code:04X}"
    return None


def check(name, said, results):
    """Checks that no output has a forbidden character. If said is true, one output must contain the escaped text."""
    global count, failed
    count += 1
    bad = [(args, why) for args, out in results if (why := forbidden(out))]
    shown = any(b"\\x1b" in out or b"\\u001b" in out or b"\\x9b" in out for _, out in results)
    good = not bad and (shown or not said)
    failed |= not good
    print(f"{'ok' if good else 'not ok'} {count} - {name}: {len(results)} outputs", flush=True)
    if not good:
        print(f"# {bad[0] if bad else 'nothing of it was shown'}".encode("unicode_escape").decode(), flush=True)


called = set()


def run(*args):
    called.update((args[:1], args[:2]))
    done = subprocess.run([os.fsencode(gpubpf), *[os.fsencode(a) for a in args]], env=env, capture_output=True, timeout=120,
                          check=False)
    return args, done.stdout + b"\n" + done.stderr


def commands(path):
    yield from (["prog", "show", path], ["prog", "show", "-j", path], ["prog", "verify", path],
                ["prog", "verify", "-j", "-v", path], ["prog", "verify", "-v", path], ["prog", "dump", path],
                ["prog", "dump", "-T", "clc", path], ["run", "-o", path, "--", "true"], ["run", "-j", "-o", path, "--", "true"],
                ["run", "-v", "-o", path, "--", "true"], ["gen", "skeleton", path], ["kernel", "inspect", path], ["kernel", "inspect", "-j", path])


def write(name, data):
    path = os.path.join(os.fsencode(scratch.name), os.fsencode(name))
    with open(path, "wb") as f:
        f.write(data)
    return path


def fill(n):
    return (HOSTILE * 8)[:n]


probe, bad = (open(os.path.join(objects, name + ".bpf.o"), "rb").read() for name in ("probe", "bad"))
# one name at a time: the tool stops reading an object at the first refusal
for word, data in ((b"enter", probe), (b"counts", probe), (b"records", probe), (b"gpu/entry/step_*", probe),
                   (b"probe.bpf.c", probe), (b"gpubpf_add(&counts", probe), (b"struct seen", probe), (b"launch", probe),
                   (b"Dual", probe), (b"thread %d of launch", probe), (b"bad.bpf.c", bad)):
    if word not in data:
        continue
    path = write("o.bpf.o", data.replace(word, fill(len(word))))
    check(f"an object whose {word.decode()} is hostile", False, [run(*c) for c in commands(path)])
path = write(b"n" + fill(24).replace(b"\0", b"") + b".o", probe)
check("an object with such a path", True, [run(*c) for c in commands(path)])
path = write("x.o", b"\x7fELF" + fill(200))
check("a file of nothing else", False, [run(*c) for c in commands(path)])
ptx = b".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k" + fill(24) + b"()\n{\n\tret;\n}\n"
check("an image", False, [run("kernel", "inspect", *o, write("k.ptx", ptx)) for o in ([], ["-j"], ["-v"])]
      + [run("kernel", "dump", "-o", os.path.join(objects, "probe.bpf.o"), write("k.ptx", ptx), name) for name in ("k", b"k" + fill(20))])

word = fill(20)
check("arguments", True, [run(*args) for args in (
    [word], ["prog", word], ["run", b"--" + word], ["run", "-o", word, "--", "true"], ["run", "-j", "-o", word, "--", word],
    ["prog", "verify", "-T", word, path], ["device", "list", "-b", word], ["device", "list", "-j", "-b", word],
    ["map", "dump", "-S", word], ["session", "attach", word], ["attach", "-p", word, "-e", "gpu/entry/* { @ = count(); }"],
    ["attach", "--name", word, "-e", "gpu/entry/* { @ = count(); }"], ["attach", "-p", "1", "-e", "gpu/entry/* { @ = count(); }", word], ["help", word], ["version", word],
    ["bpf", "--", word], ["bpf", "-S", word, "--", "true"], ["bpf", "-a", word + b"=" + word, "--", "true"], ["bpf", word],
    ["run", "-o", os.path.join(objects, "probe.bpf.o"), "-a", word + b"=" + word, "--", "true"],
    ["run", "-o", os.path.join(objects, "probe.bpf.o"), "--", word],
    ["kernel", "list", "--", word], ["prepare", "-o", word, "--", word], ["probes", word], ["run", "-p", word, "--", "true"],
    ["top", "-S", word], ["top", "--once", "--probe", word, "--", "true"], ["ps", word], ["export", "--prometheus", word],
    ["export", "--otlp", word, "--", "true"], ["prog", "run", word], ["prog", "run", path, word], ["prog", "serve", word], ["timeline", "-o", word, "--", "true"], ["timeline", word], ["session", "set", word],
    ["gen", "skeleton", word], ["conformance", "--backend", word], ["conformance", "--tests", word],
    ["run", "-e", b"gpu/exit/* { @ = " + word + b"; }", "--", "true"], ["run", "-e", word, "--", "true"],
    ["run", "--param", word, "-e", b'END { printf("%s", $1); }', "--", "true"],
    ["run", "--dump", "-e", b'gpu/exit/"' + word + b'" { @ = count(); }'])])

session = subprocess.Popen([gpubpf, "run", "-q", "-o", os.path.join(objects, "probe.bpf.o"), "--", "sleep", "600"], env=env)
sockets = os.path.join(env["XDG_RUNTIME_DIR"], "gpubpf")
for _ in range(600):
    if os.path.isdir(sockets) and os.listdir(sockets):
        break
    time.sleep(0.1)
check("questions to a session", True, [run(*args) for args in (
    ["map", "show"], ["map", "lookup", word, "key", word], ["map", "lookup", "counts", "key", word],
    ["map", "update", "counts", "key", "0", "value", word], ["map", "update", word, "key", "0", "value", "1", word],
    ["map", "delete", word, "key", "0"], ["map", "getnext", word], ["map", "watch", "-n", "1", word],
    ["map", "top", "-n", "1", word], ["map", "push", word, "value", "1"], ["map", "enqueue", word, "value", "1"],
    ["map", "pop", word], ["map", "dequeue", word], ["map", "peek", word], ["map", "dump", "--csv", word],
    ["map", "dump", word], ["map", "pin", word, word], ["map", "unpin", word], ["map", "dump", "-j", word],
    ["session", "attach", word + b"=" + word], ["session", "links"],
    ["session", "attach", b"enter=" + word], ["session", "list"], ["session", "links"], ["session", "links", "-j"], ["session", "report"],
    ["session", "report", "-j"], ["session", "detach", word])])
session.terminate()
session.wait()
listed = [line.split()[1:3] for line in run("help", "tables")[1].decode().splitlines() if line.startswith("command ")]
missing = [c for c in listed if tuple(w for w in c if w != "-") not in called]
count += 1
failed |= bool(missing) or not listed
print(f"{'not ok' if missing or not listed else 'ok'} {count} - each of {len(listed)} commands was asked: {missing}")
print(f"1..{count}")
sys.exit(failed)
