# SPDX-License-Identifier: Apache-2.0
"""libgpubpf for Python: verified eBPF probes inside the GPU kernels of programs. The contracts are those of
<gpubpf/gpubpf.h>; one thread at a time may use a session."""
import collections
import ctypes
import ctypes.util
import errno
import json
import os
import subprocess

__all__ = ["Error", "Event", "Map", "Print", "Session"]

Event = collections.namedtuple("Event", "map data copy process device backend")
Print = collections.namedtuple("Print", "text prog kernel launch block thread process device backend")

_c_three = ctypes.c_uint64 * 3


class Error(OSError):
    """What the library refused, in its words."""


class _Print(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char_p), ("prog", ctypes.c_char_p), ("kernel", ctypes.c_char_p),
                ("launch", ctypes.c_uint64), ("block", _c_three), ("thread", _c_three), ("process", ctypes.c_uint32),
                ("device", ctypes.c_uint32), ("backend", ctypes.c_char_p)]


class _Event(ctypes.Structure):
    _fields_ = [("map", ctypes.c_void_p), ("data", ctypes.c_void_p), ("size", ctypes.c_uint32), ("copy", ctypes.c_uint32),
                ("process", ctypes.c_uint32), ("device", ctypes.c_uint32), ("backend", ctypes.c_char_p)]


_print_fn = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(_Print))
_event_fn = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(_Event))
_note_fn = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)


class _Opts(ctypes.Structure):
    _fields_ = [("sz", ctypes.c_size_t), ("runtime_dir", ctypes.c_char_p), ("worker_dir", ctypes.c_char_p),
                ("agent", ctypes.c_char_p), ("cache_dir", ctypes.c_char_p), ("backend", ctypes.c_char_p),
                ("all_gpu", ctypes.c_bool), ("no_wait", ctypes.c_bool), ("wait_ms", ctypes.c_uint32),
                ("sample", ctypes.c_uint64), ("first", ctypes.c_uint64), ("max_events", ctypes.c_uint64),
                ("no_events", ctypes.c_bool), ("max_cost", ctypes.c_uint64), ("threads", ctypes.c_uint32),
                ("inspect", ctypes.c_bool), ("print", _print_fn), ("event", _event_fn), ("note", _note_fn),
                ("ctx", ctypes.c_void_p)]


class _ReportOpts(ctypes.Structure):
    _fields_ = [("sz", ctypes.c_size_t), ("json", ctypes.c_bool), ("maps_only", ctypes.c_bool),
                ("no_entries", ctypes.c_bool), ("map", ctypes.c_char_p)]


_SETTINGS = [name for name, _ in _Opts._fields_ if name not in ("sz", "print", "event", "note", "ctx")]
_POINTERS = ("session__new", "session__next_map", "session__find_map_by_name")
_STRINGS = ("version_string", "session__error", "session__path", "map__name", "map__type_str")
_SIZES = {"map__drops": ctypes.c_uint64, "map__user_value_size": ctypes.c_size_t, "map__key_size": ctypes.c_uint32}


def _load(path):
    lib = ctypes.CDLL(path or ctypes.util.find_library("gpubpf") or "libgpubpf.so.0")
    for names, kind in ((_POINTERS, ctypes.c_void_p), (_STRINGS, ctypes.c_char_p)):
        for name in names:
            getattr(lib, "gpubpf_" + name).restype = kind
    for name, kind in _SIZES.items():
        getattr(lib, "gpubpf_" + name).restype = kind
    return lib


def _text(data):
    return (data or b"").decode(errors="backslashreplace")


def _bytes(value):
    return os.fsencode(value) if isinstance(value, (str, os.PathLike)) else value


class Map:
    """A map of a session; keys and values are bytes of its sizes."""

    def __init__(self, session, handle):
        self._session, self._map = session, ctypes.c_void_p(handle)
        self.name = _text(self._call("name"))
        self.type = _text(self._call("type_str"))
        self.key_size = self._call("key_size")

    def _call(self, verb, *args):
        return getattr(self._session._lib, "gpubpf_map__" + verb)(self._map, *args)

    @property
    def value_size(self):
        """Bytes of a value; with a value a multiprocessor it grows as devices come."""
        return self._call("user_value_size")

    @property
    def drops(self):
        """Updates and records that found no room."""
        return self._call("drops")

    def _key(self, key):
        if len(key) != self.key_size:
            raise ValueError(f"{self.name}: a key has {self.key_size} bytes")
        return bytes(key), ctypes.c_size_t(self.key_size)

    def __getitem__(self, key):
        size = self.value_size
        value = ctypes.create_string_buffer(size)
        err = self._call("lookup_elem", *self._key(key), value, ctypes.c_size_t(size), ctypes.c_uint64(0))
        if err == -errno.ENOENT:
            raise KeyError(key)
        if err < 0:
            raise Error(-err, f"{self.name}: {os.strerror(-err)}")
        return value.raw

    def __setitem__(self, key, value):
        err = self._call("update_elem", *self._key(key), bytes(value), ctypes.c_size_t(len(value)), ctypes.c_uint64(0))
        if err < 0:
            raise Error(-err, f"{self.name}: {os.strerror(-err)}")

    def __iter__(self):
        key, following = None, ctypes.create_string_buffer(self.key_size)
        while self._call("get_next_key", key, following, ctypes.c_size_t(self.key_size)) == 0:
            key = following.raw
            yield key

    def items(self):
        for key in self:
            yield key, self[key]


class Session:
    """Objects with probes, loaded, proven safe and started. attach: (program, pattern) pairs that bind programs to other
    kernels than their sections say. Settings are those of struct gpubpf_session_opts (wait_ms=..., backend=..., ...).
    on_event, on_print and on_note are called while run() or poll() runs. Raises Error with the whole diagnostic."""

    def __init__(self, objects, attach=(), on_event=None, on_print=None, on_note=None, library=None, **settings):
        self._lib = _load(library)
        self._raised = None
        opts = _Opts(sz=ctypes.sizeof(_Opts))
        for name, value in settings.items():
            if name not in _SETTINGS:
                raise TypeError(f"{name}: no such setting; there are {', '.join(_SETTINGS)}")
            setattr(opts, name, _bytes(value))
        opts.event = self._event = _event_fn(self._guard(on_event, self._to_event) if on_event else 0)
        opts.print = self._print = _print_fn(self._guard(on_print, self._to_print) if on_print else 0)
        opts.note = self._note = _note_fn(self._guard(on_note, _text) if on_note else 0)
        self._session = ctypes.c_void_p(self._lib.gpubpf_session__new(ctypes.byref(opts)))
        if not self._session:
            raise Error(errno.ENOMEM, "no memory for a session")
        try:
            for path in objects:
                self._check("add_object", _bytes(path))
            for prog, pattern in attach:
                self._check("attach", _bytes(prog), _bytes(pattern))
            self._check("load")
            self._check("start")
        except Error:
            self.close()
            raise

    def _guard(self, call, convert):
        def guarded(_, data):
            try:
                call(convert(data))
            except BaseException as error:  # there is C above: it is raised behind poll()
                self._raised = self._raised or error
        return guarded

    def _to_event(self, p):
        e = p.contents
        name = _text(self._lib.gpubpf_map__name(ctypes.c_void_p(e.map)))
        return Event(name, ctypes.string_at(e.data, e.size), e.copy, e.process, e.device, _text(e.backend))

    @staticmethod
    def _to_print(p):
        r = p.contents
        return Print(_text(r.text), _text(r.prog), _text(r.kernel), r.launch, tuple(r.block), tuple(r.thread), r.process,
                     r.device, _text(r.backend))

    def _call(self, verb, *args):
        if not self._session:
            raise ValueError("the session is closed")
        return getattr(self._lib, "gpubpf_session__" + verb)(self._session, *args)

    def _check(self, verb, *args):
        err = self._call(verb, *args)
        if self._raised:
            error, self._raised = self._raised, None
            raise error
        if err < 0:
            raise Error(-err, _text(self._call("error")) or os.strerror(-err))
        return err

    def environ(self, base=None):
        """The environment of a program that is to join."""
        entries = [os.fsencode(f"{k}={v}") for k, v in (os.environ if base is None else base).items()]
        given = (ctypes.c_char_p * (len(entries) + 1))(*entries, None)
        made = ctypes.POINTER(ctypes.c_char_p)()
        self._check("environ", given, ctypes.byref(made))
        n = next(i for i in range(len(entries) + 64) if made[i] is None)
        env = dict(os.fsdecode(made[i]).split("=", 1) for i in range(n))
        ctypes.CDLL(None).free(made)
        return env

    def poll(self, timeout_ms=100):
        """Serve programs and read rings for so long; what was handled."""
        return self._check("poll", ctypes.c_int(timeout_ms))

    def run(self, command, **popen):
        """Run a program with the probes until it ends; its status, as subprocess has it."""
        with subprocess.Popen(command, env=self.environ(popen.pop("env", None)), **popen) as child:
            while child.poll() is None:
                self.poll()
            while self.poll(0):
                pass
        return child.returncode

    def stop(self):
        """Read what is left in rings and end the session; maps and the report stay."""
        self._check("stop")

    @property
    def maps(self):
        """By name."""
        found, at = {}, None
        while at := self._call("next_map", ctypes.c_void_p(at)):
            found.setdefault(_text(self._lib.gpubpf_map__name(ctypes.c_void_p(at))), Map(self, at))
        return found

    def report(self):
        """What `gpubpf run --json` has of kernels, maps and events."""
        opts = _ReportOpts(sz=ctypes.sizeof(_ReportOpts), json=True)
        libc = ctypes.CDLL(None)
        libc.fdopen.restype = ctypes.c_void_p
        with open(os.memfd_create("gpubpf-report"), "rb") as text:
            out = ctypes.c_void_p(libc.fdopen(os.dup(text.fileno()), b"w"))
            try:
                self._check("report", out, ctypes.byref(opts))
            finally:
                libc.fclose(out)
            text.seek(0)
            return json.load(text)

    def close(self):
        if self._session:
            self._lib.gpubpf_session__free(self._session)
            self._session = ctypes.c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
