# SPDX-License-Identifier: Apache-2.0
"""libgpubpf for Python: verified eBPF probes inside the GPU kernels of programs. <gpubpf/gpubpf.h> documents the
contracts. Only one thread at a time may use a session."""
import collections
import collections.abc
import ctypes
import ctypes.util
import errno
import json
import os
import subprocess
import sys

__all__ = ["Error", "Event", "Map", "Print", "Session"]

Event = collections.namedtuple("Event", "map data copy process device backend")
Print = collections.namedtuple("Print", "text prog kernel launch block thread process device backend")

_c_three = ctypes.c_uint64 * 3


class Error(OSError):
    """An error of the library, with its message."""


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
_SIZES = {"map__drops": ctypes.c_uint64, "map__user_value_size": ctypes.c_size_t, "map__key_size": ctypes.c_uint32,
          "map__value_size": ctypes.c_uint32, "map__max_entries": ctypes.c_uint32}


def _load(path):
    name = path or ctypes.util.find_library("gpubpf") or "libgpubpf.so.0"
    try:
        lib = ctypes.CDLL(os.fspath(name))
    except OSError as error:
        raise Error(errno.ENOENT, f"{error}; install libgpubpf, or name the file: Session(..., library=\"/.../libgpubpf.so\")") from None
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


class _Handle:
    """Owns the library's session and frees it when no Session and no view of a map uses it any more."""

    def __init__(self, lib, opts):
        self.lib, self.pointer = lib, ctypes.c_void_p(lib.gpubpf_session__new(ctypes.byref(opts)))
        self._free = lib.gpubpf_session__free

    def __del__(self):
        self._free(self.pointer)


class Map(collections.abc.MutableMapping):
    """A map of a session, which behaves like a dict. Keys and values are bytes objects of the map's sizes; arguments may also be
    integers. If the map has one value per multiprocessor or thread, a value is the concatenation of all of them."""

    def __init__(self, session, handle):
        self._session, self._map = session, ctypes.c_void_p(handle)
        self.name = _text(self._call("name"))
        self.type = _text(self._call("type_str"))
        self.key_size = self._call("key_size")
        self.max_entries = self._call("max_entries")

    def _call(self, verb, *args):
        self._session._alive()
        return getattr(self._session._lib, "gpubpf_map__" + verb)(self._map, *args)

    @property
    def value_size(self):
        """Size of a value in bytes. With one value per multiprocessor, it grows when devices are added."""
        return self._call("user_value_size")

    @property
    def drops(self):
        """Number of updates and records for which there was no room."""
        return self._call("drops")

    def _bytes(self, what, data, size):
        if isinstance(data, int):
            try:
                return data.to_bytes(size, sys.byteorder, signed=data < 0)
            except OverflowError:
                raise ValueError(f"{self.name}: {data} does not fit into the {size} bytes of {what}") from None
        if len(data) != size:
            raise ValueError(f"{self.name}: {what} has {size} bytes, but {len(data)} were given")
        return bytes(data)

    def _key(self, key):
        return self._bytes("a key", key, self.key_size) if self.key_size else None, ctypes.c_size_t(self.key_size)

    def _check(self, err):
        if err < 0:
            raise Error(-err, f"{self.name}: {os.strerror(-err)}")

    def _look(self, verb, key):
        size = self.value_size
        value = ctypes.create_string_buffer(size)
        err = self._call(verb, *self._key(key), value, ctypes.c_size_t(size), ctypes.c_uint64(0))
        if err == -errno.ENOENT:
            raise KeyError(key if self.key_size else f"{self.name} is empty")
        self._check(err)
        return value.raw

    def _put(self, key, value):
        size = self.value_size
        self._check(self._call("update_elem", *self._key(key), self._bytes("a value", value, size), ctypes.c_size_t(size),
                               ctypes.c_uint64(0)))

    def _keyed(self):
        if not self.key_size:
            has = {"QUEUE": "use push(), peek() and pop()", "STACK": "use push(), peek() and pop()",
                   "BLOOM_FILTER": "use push()"}.get(self.type, "events() returns its records")
            raise TypeError(f"{self.name}: a {self.type} has no keys; {has}")

    def __getitem__(self, key):
        self._keyed()
        return self._look("lookup_elem", key)

    def __setitem__(self, key, value):
        self._keyed()
        self._put(key, value)

    def __delitem__(self, key):
        self._keyed()
        err = self._call("delete_elem", *self._key(key), ctypes.c_uint64(0))
        if err == -errno.ENOENT:
            raise KeyError(key)
        self._check(err)

    def __iter__(self):
        self._keyed()
        key, following = None, ctypes.create_string_buffer(self.key_size)
        while self._call("get_next_key", key, following, ctypes.c_size_t(self.key_size)) == 0:
            key = following.raw
            yield key

    def __len__(self):
        """Number of keys. The method iterates over all keys."""
        return sum(1 for _ in self)

    def __bool__(self):
        return True

    def items(self):
        """Iterate over keys and values. Keys that are deleted meanwhile are skipped."""
        for key in self:
            try:
                yield key, self[key]
            except KeyError:
                pass

    def push(self, value):
        """Push a value into a queue, a stack or a bloom filter."""
        self._put(None, value)

    def peek(self):
        """The next value of a queue or a stack. Raises KeyError if it is empty."""
        return self._look("lookup_elem", None)

    def pop(self, *key_and_default):
        """Remove and return the next value of a queue or a stack, or the value of a key in other maps."""
        if len(key_and_default) > 2 or (self.key_size and not key_and_default):
            raise TypeError(f"{self.name}: use pop() for a queue or a stack, pop(key[, default]) for other maps")
        try:
            return self._look("lookup_and_delete_elem", key_and_default[0] if self.key_size else None)
        except KeyError:
            if len(key_and_default) == 2:
                return key_and_default[1]
            raise

    def _where(self, at, stride):
        err = self._call("memory", ctypes.byref(at), ctypes.byref(stride))
        if err == -errno.EINVAL:
            raise Error(errno.EINVAL, f"{self.name}: it is not an array")
        return err

    def _memory(self):
        at, stride = ctypes.c_void_p(), ctypes.c_size_t()
        if self._where(at, stride) < 0:
            raise Error(errno.EOPNOTSUPP, f"{self.name}: an index has several values; use array(copy=True)")
        block = (ctypes.c_char * (stride.value * self.max_entries)).from_address(at.value)
        block._handle = self._session._handle  # a view keeps the session alive
        return block, stride.value

    def memory(self):
        """A read-only memoryview of an array's memory, without a copy. Each value begins at a multiple of 8 bytes."""
        return memoryview(self._memory()[0]).toreadonly()

    def array(self, dtype=None, copy=False):
        """A read-only NumPy view of an array's values. The default dtype is an unsigned integer of the value's size.

        copy=True returns a copy of the current values instead. That also works for arrays with summed values, and for arrays
        with several values per index, which become rows."""
        import numpy

        size = self._call("value_size")
        dtype = numpy.dtype(dtype or (f"u{size}" if size in (1, 2, 4, 8) else f"V{size}"))
        if dtype.itemsize != size:
            raise ValueError(f"{self.name}: a value has {size} bytes, but the dtype has {dtype.itemsize}")
        if copy:
            return self._copied(numpy, dtype)
        block, stride = self._memory()
        view = numpy.ndarray((self.max_entries,), dtype, block, strides=(stride,))
        view.flags.writeable = False
        return view

    def _copied(self, numpy, dtype):
        size, count = self.value_size, ctypes.c_uint32(self.max_entries)
        keys, values = ctypes.create_string_buffer(4 * count.value), ctypes.create_string_buffer(size * count.value)
        self._where(ctypes.c_void_p(), ctypes.c_size_t())
        err = self._call("lookup_batch", None, ctypes.byref(ctypes.c_uint64()), keys, values, ctypes.byref(count))
        self._check(0 if err == -errno.ENOENT else err)
        several = size > dtype.itemsize and size % 8 == 0
        stride = -(-dtype.itemsize // 8) * 8 if several else dtype.itemsize
        shape, strides = ((count.value, size // stride), (size, stride)) if several else ((count.value,), (size,))
        return numpy.ndarray(shape, dtype, values, strides=strides)


class Session:
    """A session: loads objects with probes, verifies them and starts. attach is a list of (program, pattern) pairs that override
    the kernels of the programs' sections. Settings are the members of struct gpubpf_session_opts (wait_ms=..., backend=..., ...).
    run(), events() and poll() call on_event, on_print and on_note. Raises Error with the whole diagnostic."""

    def __init__(self, objects, attach=(), on_event=None, on_print=None, on_note=None, library=None, **settings):
        self._lib = _load(library)
        self._raised = self._handle = self._queue = self.status = None
        self._on_event = on_event
        opts = _Opts(sz=ctypes.sizeof(_Opts))
        for name, value in settings.items():
            if name not in _SETTINGS:
                raise TypeError(f"{name}: no such setting; known settings are {', '.join(_SETTINGS)}")
            setattr(opts, name, _bytes(value))
        listens = on_event or not settings.get("no_events")
        opts.event = self._event = _event_fn(self._guard(self._hear, lambda event: event) if listens else 0)
        opts.print = self._print = _print_fn(self._guard(on_print, self._to_print) if on_print else 0)
        opts.note = self._note = _note_fn(self._guard(on_note, _text) if on_note else 0)
        self._handle = _Handle(self._lib, opts)
        self._handle.calls = self._event, self._print, self._note
        if not self._handle.pointer:
            raise Error(errno.ENOMEM, "out of memory for a session")
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
            except BaseException as error:  # cannot pass through C: poll() raises it later
                self._raised = self._raised or error
        return guarded

    def _hear(self, p):
        if self._queue is None and not self._on_event:
            return
        event = self._to_event(p)
        if self._on_event:
            self._on_event(event)
        if self._queue is not None:
            self._queue.append(event)

    def _to_event(self, p):
        e = p.contents
        name = _text(self._lib.gpubpf_map__name(ctypes.c_void_p(e.map)))
        return Event(name, ctypes.string_at(e.data, e.size), e.copy, e.process, e.device, _text(e.backend))

    @staticmethod
    def _to_print(p):
        r = p.contents
        return Print(_text(r.text), _text(r.prog), _text(r.kernel), r.launch, tuple(r.block), tuple(r.thread), r.process,
                     r.device, _text(r.backend))

    def _alive(self):
        if not self._handle:
            raise ValueError("the session is closed")

    def _call(self, verb, *args):
        self._alive()
        return getattr(self._lib, "gpubpf_session__" + verb)(self._handle.pointer, *args)

    def _check(self, verb, *args):
        err = self._call(verb, *args)
        if self._raised:
            error, self._raised = self._raised, None
            raise error
        if err < 0:
            raise Error(-err, _text(self._call("error")) or os.strerror(-err))
        return err

    def environ(self, base=None):
        """The environment for a program that shall join the session."""
        entries = [os.fsencode(f"{k}={v}") for k, v in (os.environ if base is None else base).items()]
        given = (ctypes.c_char_p * (len(entries) + 1))(*entries, None)
        made = ctypes.POINTER(ctypes.c_char_p)()
        self._check("environ", given, ctypes.byref(made))
        n = next(i for i in range(len(entries) + 64) if made[i] is None)
        env = dict(os.fsdecode(made[i]).split("=", 1) for i in range(n))
        ctypes.CDLL(None).free(made)
        return env

    def poll(self, timeout_ms=100):
        """Serve programs and read rings for up to timeout_ms. Returns the number of handled events."""
        return self._check("poll", ctypes.c_int(timeout_ms))

    def _serve(self, command, popen):
        """Run a program until it has ended and all records are read. Yields when records may have arrived."""
        with subprocess.Popen(command, env=self.environ(popen.pop("env", None)), **popen) as child:
            try:
                while child.poll() is None:
                    self.poll()
                    yield
                while self.poll(0):
                    yield
            finally:
                while child.poll() is None:  # its launches wait for answers of the session
                    self._queue = None
                    self._call("poll", ctypes.c_int(100))
                self.status = child.returncode

    def run(self, command, **popen):
        """Run a program with the probes until it ends. Returns its status, like subprocess."""
        for _ in self._serve(command, popen):
            pass
        return self.status

    def events(self, command, **popen):
        """Run a program, and iterate over its records as they arrive, until it has ended; `status` is then its exit status. A caller
        that stops the iteration early still waits for the program's end."""
        self._queue = queue = collections.deque()
        serving = self._serve(command, popen)
        try:
            for _ in serving:
                while queue:
                    yield queue.popleft()
            while queue:
                yield queue.popleft()
        finally:
            self._queue = None
            serving.close()

    def stop(self):
        """Read the remaining records and end the session. Maps and the report stay available."""
        self._check("stop")

    @property
    def maps(self):
        """The session's maps by name."""
        found, at = {}, None
        while at := self._call("next_map", ctypes.c_void_p(at)):
            found.setdefault(_text(self._lib.gpubpf_map__name(ctypes.c_void_p(at))), Map(self, at))
        return found

    def report(self):
        """Kernels, maps and events, as in the output of `gpubpf run --json`."""
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
        """End the session. Views of maps stay valid and show the last values."""
        if self._handle:
            self._call("stop")
        self._handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
