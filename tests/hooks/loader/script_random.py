#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""script_random.py WORDS TOOL_RANDOM SEED ACTS: writes a script of ACTS random acts of a user who runs bpftool,
bpftrace and a loader with a skeleton (script.c). Maps, programs and links are pinned, shown, changed and released,
and outlive their creators, while an application runs at times. Run the script as sh SCRIPT PINS OBJECT APP LOADER."""
import random
import subprocess
import sys

words, tool, seed, acts = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
r = random.Random(seed)
lines = [f"pins=$1 object=$2 app=$3 loader=$4\n. '{words}'"]
pinned = {}  # name: kind
made = 0


def name_of(what):
    global made
    made += 1
    return f"{what.replace('-', '')}{made}"


def launches():
    return r.choice([1, 1, 2, 3, 5])


def loader():
    """Adds a run of the loader, with some steps in a sensible order and some out of order."""
    steps, links = ([f"step={r.randint(2, 9)}"] if r.random() < 0.4 else []), set()
    if r.random() < 0.8:
        steps.append(f"put=2={r.randint(0, 50)}")
    for _ in range(r.randint(4, 12)):
        what = r.choice(["enter", "leave", "-enter", "-leave", "run", "run", "run", "put", "del", "zero", "counts", "events", "pin", "pin", "unpin",
                         "step"])
        if what in ("enter", "leave"):
            # The pinned first link stays. A second link would run the program twice in the Linux kernel, but in a
            # session it is attached already.
            if what not in links and any(step.startswith(f"pin=link-{what}=") for step in steps):
                continue
            links.add(what)
        elif what[1:] in links:
            links.discard(what[1:])
        elif what == "run":
            what = f"run={launches()}"
        elif what == "put":
            what = f"put={r.randrange(1, 5)}={r.randint(0, 50)}"
        elif what == "del":
            what = f"del={r.choice([1, 3, 4, 2])}"
        elif what == "step":
            what = "step=3"
        elif what == "pin":
            kind = r.choice(["counts", "seen", "prog-enter", "prog-leave", *(f"link-{link}" for link in sorted(links))])
            name = r.choice(list(pinned)) if pinned and r.random() < 0.15 else name_of(kind)
            if name not in pinned and not any(step.startswith(f"pin={kind}=") for step in steps):
                pinned[name] = kind
            what = f"pin={kind}={name}"
        elif what == "unpin":
            continue
        steps.append(what)
    steps += ["counts", "events"]
    lines.append('say loader ' + " ".join(steps) + '; "$loader" "$app" "$pins" ' + " ".join(steps))


def look():
    """Adds a command that uses a pinned object."""
    if not pinned:
        return
    name = r.choice(list(pinned))
    kind, at = pinned[name], f'pinned "$pins/{name}"'
    j = r.choice(["", "-j "])
    if kind.startswith("prog"):
        lines.append(r.choice([f"t {j}prog show {at}", f't prog pin {at} "$pins/{name}"', f"t map show {at}"]))
    elif kind.startswith("link"):
        lines.append(r.choice([f"t link show {at}", f't link pin {at} "$pins/{name}"', f"t prog show {at}"]))
    elif kind == "counts":
        lines.append(r.choice([f"t {j}map dump {at}", f"t {j}map show {at}", f"t map lookup {at} key {r.randrange(4)} 0 0 0",
                               f"t map update {at} key 2 0 0 0 value {r.randrange(99)} 0 0 0 0 0 0 0", f"t btf dump map {at}"]))
    else:
        key = r.randrange(5)
        lines.append(r.choice([f"t map dump {at} | in_order", f"t {j}map show {at}", f"t map lookup {at} key {key} 0 0 0",
                               f"t map update {at} key {key} 0 0 0 value 3 0 0 0 0 0 0 0 {r.choice(['any', 'noexist', 'exist'])}",
                               f"t map delete {at} key 4 0 0 0", f"t map getnext {at} key 200 0 0 0 > /dev/null"]))


def app():
    n = launches()
    lines.append(f'say app {n}; "$app" {n} 0 > /dev/null')


def let_go():
    if pinned:
        name = r.choice(list(pinned))
        del pinned[name]
        lines.append(f'say rm {name}; rm "$pins/{name}"')


def one_liner():
    keys = r.choice(["", "", "[7]", '["a", 3]', "[probe]"])
    acts = {"@c": "count()", "@s": f"sum({r.randint(1, 4)})", "@a": f"avg({r.randint(1, 900)})", "@h": f"hist({r.randint(0, 900)})",
            "@l": f"lhist({r.randint(0, 20)}, 0, 20, 5)", "@t": f"stats({r.randint(1, 5)})"}
    chosen = r.sample(sorted(acts), r.randint(1, 3))
    body = " ".join(f"{name}{keys} = {acts[name]};" for name in chosen)
    where = r.choice(["uprobe", "uretprobe"])
    if keys == "[probe]":
        body = f"@c{keys} = count();"
    predicate = r.choice(["", "", "/1 == 1/ ", "/pid == 0/ ", "/pid > 0/ "])
    text = f"{where}:$app:step_one {predicate}{{ {body} }}"
    if r.random() < 0.3:
        text += f" {'uretprobe' if where == 'uprobe' else 'uprobe'}:$app:step_one {{ @other = count(); }}"
    if r.random() < 0.3:
        text = f'BEGIN {{ printf(\\"begins %d\\\\n\\", {r.randint(1, 99)}); }} ' + text
    if r.random() < 0.2:
        text += ' END { printf(\\"ends\\\\n\\"); clear(@c); }' if "@c" in chosen and keys != "[probe]" else ' END { printf(\\"ends\\\\n\\"); }'
    if r.random() < 0.1:
        text += r.choice([" nonsense", " uprobe:$app:no_such_function { @n = count(); }", " uprobe:$app:step_one { @x = unheard_of(); }"])
    escaped = text.replace('["a"', '[\\"a\\"')
    lines.append(f'b "{escaped}" {launches()}')


def bpftool():
    steps = subprocess.run([sys.executable, tool, words, str(r.randrange(1 << 30)), "45"], stdout=subprocess.PIPE, check=True).stdout.decode()
    lines.append('mkdir "$pins/below"; ( pins=$pins/below\n' + "\n".join(steps.splitlines()[2:]) + '\n); rmdir "$pins/below"')


def prog():
    lines.append('t prog load "$object" "$pins/prog" pinmaps "$pins/maps"; t prog show pinned "$pins/prog"; t map dump pinned "$pins/maps/places"; '
                 't map update pinned "$pins/maps/places" key 7 0 0 0 2 0 0 0 value 9 0 0 0 0 0 0 0; t map dump pinned "$pins/maps/places"; '
                 'ls "$pins/maps"; rm -r "$pins/maps" "$pins/prog"')


for _ in range(acts):
    r.choices([loader, look, app, let_go, one_liner, bpftool, prog], [6, 14, 4, 3, 3, 1, 1])[0]()
lines += [f'rm "$pins/{name}"' for name in pinned]
lines.append('say left; ls "$pins" | sed "/\\.debug$/d"')
print("\n".join(lines))
