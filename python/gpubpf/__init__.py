# SPDX-License-Identifier: Apache-2.0
"""Python binding of libgpubpf: verified eBPF probes inside the GPU kernels of programs. <gpubpf/gpubpf.h> documents the
contracts of the functions. Only one thread at a time may use a session."""
import collections
import collections.abc
import ctypes
import ctypes.util
import errno
import json
import os
import subprocess
import sys

from . import btf as _btf

__all__ = ["Error", "Event", "Map", "Print", "Run", "Session"]

# value: the record by its type; data: its bytes
Event = collections.namedtuple("Event", "map value data copy process device backend")
Run = collections.namedtuple("Run", "retval data duration_ns duration_min_ns backend device")
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


class _HostCall(ctypes.Structure):
    _fields_ = [("map", ctypes.c_void_p), ("in", ctypes.c_void_p), ("out", ctypes.c_void_p), ("in_size", ctypes.c_uint32),
                ("out_size", ctypes.c_uint32), ("process", ctypes.c_uint32), ("device", ctypes.c_uint32), ("backend", ctypes.c_char_p)]


_host_call_fn = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.POINTER(_HostCall))


class _Opts(ctypes.Structure):
    _fields_ = [("sz", ctypes.c_size_t), ("runtime_dir", ctypes.c_char_p), ("worker_dir", ctypes.c_char_p),
                ("agent", ctypes.c_char_p), ("cache_dir", ctypes.c_char_p), ("backend", ctypes.c_char_p),
                ("all_gpu", ctypes.c_bool), ("no_wait", ctypes.c_bool), ("wait_ms", ctypes.c_uint32),
                ("sample", ctypes.c_uint64), ("first", ctypes.c_uint64), ("max_events", ctypes.c_uint64),
                ("no_events", ctypes.c_bool), ("max_cost", ctypes.c_uint64), ("threads", ctypes.c_uint32),
                ("inspect", ctypes.c_bool), ("print", _print_fn), ("event", _event_fn), ("note", _note_fn),
                ("ctx", ctypes.c_void_p), ("no_attach", ctypes.c_bool), ("route", ctypes.c_char_p),
                ("closed_libraries", ctypes.c_bool), ("no_kernel", ctypes.c_bool), ("host_call_ms", ctypes.c_uint64), ("clock", ctypes.c_char_p)]


class _ReportOpts(ctypes.Structure):
    _fields_ = [("sz", ctypes.c_size_t), ("json", ctypes.c_bool), ("maps_only", ctypes.c_bool),
                ("no_entries", ctypes.c_bool), ("map", ctypes.c_char_p)]


class _TestRunOpts(ctypes.Structure):
    _fields_ = [("sz", ctypes.c_size_t), ("data_in", ctypes.c_char_p), ("data_out", ctypes.c_void_p),
                ("data_size_in", ctypes.c_size_t), ("data_size_out", ctypes.c_size_t), ("grid", ctypes.c_uint32 * 3),
                ("block", ctypes.c_uint32 * 3), ("repeat", ctypes.c_uint32), ("retval", ctypes.c_uint32),
                ("duration", ctypes.c_uint64), ("duration_min", ctypes.c_uint64), ("duration_first", ctypes.c_uint64),
                ("backend", ctypes.c_char_p), ("device", ctypes.c_char_p), ("device_index", ctypes.c_uint32),
                ("timeout_ms", ctypes.c_uint32), ("environ", ctypes.c_void_p), ("used_backend", ctypes.c_char * 16),
                ("used_device", ctypes.c_char * 128)]


_SETTINGS = [name for name, _ in _Opts._fields_ if name not in ("sz", "print", "event", "note", "ctx")]
_POINTERS = ("session__next_program", "session__new", "session__next_map", "session__find_map_by_name")
_STRINGS = ("version_string", "session__error", "session__path", "session__kernel_name", "map__name", "map__type_str", "prog__name")
_REASONS = {errno.E2BIG: "the map is full, or has no element of this index", errno.ENOSPC: "the map is full",
            errno.EPERM: "the map is read-only", errno.EEXIST: "the key exists", errno.EBUSY: "another update has not finished; try again",
            errno.EINVAL: "a map of this type does not support the operation",
            errno.EOPNOTSUPP: "the map is in a device's own memory, where only GPU programs can change it"}
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
    """A map of a session, which behaves like a dict. Keys and values have the types of the object's BTF: numbers, str for text
    and names of kernels, named tuples for structs, enumerators. A struct is set from a dict, a tuple or a named tuple, and
    any key or value also from bytes. If the map has one value per multiprocessor or per thread, a value is a list of these values.
    Without BTF, keys and values are bytes; `raw` is the same map with bytes only."""

    def __init__(self, session, handle, raw=False):
        self._session, self._map = session, ctypes.c_void_p(handle)
        self.name = _text(self._call("name"))
        self.type = _text(self._call("type_str"))
        self.key_size = self._call("key_size")
        self.max_entries = self._call("max_entries")
        self._several = "PERCPU" in self.type or "PERTHREAD" in self.type
        self._codec, self._key_type, self._value_type = (None, 0, 0) if raw else session._types(self)

    @property
    def raw(self):
        """The same map with bytes as keys and values."""
        return Map(self._session, self._map.value, raw=True)

    def __repr__(self):
        def name(number, size):
            return self._codec.btf.describe(number) if number else f"{size} bytes"
        value = name(self._value_type, self._call("value_size"))
        key = f"key {name(self._key_type, self.key_size)}, " if self.key_size and not (self._value_type and not self._key_type) else ""
        return f"<gpubpf.Map {self.name}: {self.type}, {key}value {value}, room for {self.max_entries}>"

    def _call(self, verb, *args):
        self._session._alive()
        return getattr(self._session._lib, "gpubpf_map__" + verb)(self._map, *args)

    @property
    def value_size(self):
        """Size of a value in bytes. In a map with one value per multiprocessor, the size grows when devices are added."""
        return self._call("user_value_size")

    @property
    def drops(self):
        """Number of updates and records that did not fit in the map."""
        return self._call("drops")

    def _bytes(self, what, data, size):
        if isinstance(data, int):
            try:
                return data.to_bytes(size, sys.byteorder, signed=data < 0)
            except OverflowError:
                raise ValueError(f"{self.name}: {data} does not fit into the {size} bytes of {what}") from None
        if not hasattr(data, "__len__") or isinstance(data, str):
            raise ValueError(f"{self.name}: {what} has no known type; pass {size} bytes, not {data!r}")
        if len(data) != size:
            raise ValueError(f"{self.name}: {what} has {size} bytes, not {len(data)}")
        return bytes(data)

    def _key(self, key):
        if not self.key_size:
            return None, ctypes.c_size_t(0)
        if self._key_type:
            return self._codec.encode(self._key_type, key, self.key_size, f"{self.name}: a key"), ctypes.c_size_t(self.key_size)
        return self._bytes("a key", key, self.key_size), ctypes.c_size_t(self.key_size)

    def _from_key(self, data):
        if self._key_type:
            return self._codec.decode(self._key_type, data)
        is_index = self._value_type and self.key_size == 4  # global data and arrays without a key type
        return int.from_bytes(data, sys.byteorder) if is_index else data

    def _from_value(self, data):
        if not self._value_type:
            return data
        one = self._call("value_size")
        if not self._several:
            return self._codec.decode(self._value_type, data[:one])
        return [self._codec.decode(self._value_type, data[at:at + one]) for at in range(0, len(data), (one + 7) // 8 * 8)]

    def _to_value(self, value, size):
        if not self._value_type or isinstance(value, (bytes, bytearray)):
            return self._bytes("a value", value, size)
        one = self._call("value_size")
        if not self._several:
            return self._codec.encode(self._value_type, value, one, f"{self.name}: a value").ljust(size, b"\0")
        stride = (one + 7) // 8 * 8
        values = value if isinstance(value, list) else [value] * (size // stride)
        if len(values) != size // stride:
            raise ValueError(f"{self.name}: the map has {size // stride} values per key, not {len(values)}")
        return b"".join(self._codec.encode(self._value_type, v, one, f"{self.name}: a value").ljust(stride, b"\0") for v in values)

    def _check(self, err):
        if err < 0:
            raise Error(-err, f"{self.name}: {_REASONS.get(-err, os.strerror(-err))}")

    def _look(self, verb, key):
        size = self.value_size
        value = ctypes.create_string_buffer(size)
        err = self._call(verb, *self._key(key), value, ctypes.c_size_t(size), ctypes.c_uint64(0))
        if err == -errno.ENOENT:
            raise KeyError(key if self.key_size else f"{self.name} is empty")
        self._check(err)
        return self._from_value(value.raw)

    def _put(self, key, value):
        size = self.value_size
        self._check(self._call("update_elem", *self._key(key), self._to_value(value, size), ctypes.c_size_t(size),
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
            yield self._from_key(key)

    def __len__(self):
        """Returns the number of keys. Iterates over all keys."""
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
        """Returns the next value of a queue or a stack. Raises KeyError if it is empty."""
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
        block._handle = self._session._handle  # the view keeps the session alive
        return block, stride.value

    def memory(self):
        """Returns a read-only memoryview of an array's memory, without a copy. Each value begins at a multiple of 8 bytes."""
        return memoryview(self._memory()[0]).toreadonly()

    def array(self, dtype=None, copy=False):
        """Returns a read-only NumPy view of an array's values. The default dtype is the type of the map's values, a structured
        dtype for structs. Without BTF it is an unsigned integer of the value's size.

        copy=True returns a copy of the current values instead. That also works for arrays with summed values. In arrays with
        several values per index, these values become a row."""
        try:
            import numpy
        except ImportError:
            raise Error(errno.ENOENT, f"{self.name}: array() needs NumPy; install python3-numpy, or use memory()") from None

        size = self._call("value_size")
        typed = self._codec.dtype(self._value_type, numpy) if self._value_type and dtype is None else None
        if typed is not None and typed.itemsize != size:
            typed = None
        dtype = typed if typed is not None else numpy.dtype(dtype or (f"u{size}" if size in (1, 2, 4, 8) else f"V{size}"))
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
    """A session: loads objects with probes, verifies them and starts. `attach` is a list of (program, pattern) pairs. A pattern
    replaces the kernel names in the section of the BPF program. Settings are the members of struct gpubpf_session_opts
    (wait_ms=..., backend=..., ...). The methods run(), events() and poll() call on_event, on_print and on_note. Errors raise
    Error with the whole diagnostic."""

    def __init__(self, objects, attach=(), on_event=None, on_print=None, on_note=None, library=None, **settings):
        self._lib = _load(library)
        self._codecs, self._record_types = [], {}
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
            for path in [objects] if isinstance(objects, (str, bytes, os.PathLike)) else objects:
                self._check("add_object", _bytes(path))
                self._read_types(path)
            for prog, pattern in attach:
                self._check("attach", _bytes(prog), _bytes(pattern))
            self._check("load")
            self._check("start")
        except Error:
            self.close()
            raise

    def host_call(self, name):
        """Decorates a function that programs call by gpubpf_call_host() through the map of this name. Its argument has the type
        of the map's key. It returns the output, of the type of the map's value, or None for zeros. The call in the program then
        returns 0. If the function raises OSError(errno), the call returns -errno. If it raises another exception, the call returns
        -EFAULT, and poll() raises the exception. The function runs on a thread of the library, and must not use the session."""
        m = self.maps.get(name)
        if not m:
            raise KeyError(f"the session has no map {name!r}; it has {', '.join(self.maps) or 'none'}")

        def decorate(function):
            call = _host_call_fn(lambda _, p: self._answer(m, function, p.contents))
            err = m._call("register_host_call", call, None)
            if err < 0:
                reasons = {errno.EINVAL: f"it has type {m.type}, not HOST_CALL", errno.EEXIST: "it has a function"}
                raise Error(-err, f"{name}: {reasons.get(-err, os.strerror(-err))}")
            self._handle.calls += (call,)
            return function
        return decorate

    def _answer(self, m, function, call):
        try:
            answer = function(m._from_key(ctypes.string_at(getattr(call, "in"), call.in_size)))
            if answer is not None:
                ctypes.memmove(call.out, m._to_value(answer, call.out_size), call.out_size)
            return 0
        except OSError as error:
            return -(error.errno or errno.EIO)
        except BaseException as error:  # an exception cannot pass through C code, so poll() raises it later
            self._raised = self._raised or error
            return -errno.EFAULT

    def _guard(self, call, convert):
        def guarded(_, data):
            try:
                call(convert(data))
            except BaseException as error:  # an exception cannot pass through C code, so poll() raises it later
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

    def _read_types(self, path):
        try:
            with open(path, "rb") as f:
                self._codecs.append(_btf.Codec(_btf.Btf(f.read()), self.kernel_name, self._find_kernel))
        except (OSError, ValueError):
            pass  # an object without BTF: its keys and values are bytes

    def _types(self, m):
        """Returns the codec and the types of the map's keys and values, or 0 for a type that is not known."""
        for codec in self._codecs:
            key, value = codec.btf.map_types(m.name)
            try:
                key = key if key and codec.btf.size(key) == m.key_size else 0
                value = value if value and codec.btf.size(value) == m._call("value_size") else 0
            except ValueError:
                continue
            if key or value:
                return codec, key, value
        return None, 0, 0

    def kernel_name(self, number):
        """Returns the full name of the kernel with this id (gpubpf_kernel), or None."""
        name = self._lib.gpubpf_session__kernel_name(self._handle.pointer, ctypes.c_uint64(number)) if self._handle else None
        return _text(name) if name else None

    @property
    def kernels(self):
        """The full names of the kernels that programs have created; the index is the kernel's id."""
        names = []
        while name := self.kernel_name(len(names)):
            names.append(name)
        return names

    def _find_kernel(self, name):
        names = self.kernels
        if name not in names:
            raise KeyError(f"the session has no kernel {name}; it has {', '.join(names) or 'none yet'}")
        return names.index(name)

    def _record(self, name, data):
        """Returns a ring's record by its type, or its bytes if the type is not known."""
        at = name, len(data)
        if at not in self._record_types:
            self._record_types[at] = None, 0
            for codec in self._codecs:
                if number := codec.btf.record_type(codec.btf.map_types(name)[1], len(data)):
                    self._record_types[at] = codec, number
                    break
        codec, number = self._record_types[at]
        return codec.decode(number, data) if number else data

    def _to_event(self, p):
        e = p.contents
        name = _text(self._lib.gpubpf_map__name(ctypes.c_void_p(e.map)))
        data = ctypes.string_at(e.data, e.size)
        return Event(name, self._record(name, data), data, e.copy, e.process, e.device, _text(e.backend))

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
        """Returns the environment for a program that shall join the session."""
        entries = [os.fsencode(f"{k}={v}") for k, v in (os.environ if base is None else base).items()]
        given = (ctypes.c_char_p * (len(entries) + 1))(*entries, None)
        made = ctypes.POINTER(ctypes.c_char_p)()
        self._check("environ", given, ctypes.byref(made))
        n = next(i for i in range(len(entries) + 64) if made[i] is None)
        env = dict(os.fsdecode(made[i]).split("=", 1) for i in range(n))
        ctypes.CDLL(None).free(made)
        return env

    def poll(self, timeout_ms=100):
        """Serve programs and read ring buffers for up to timeout_ms. Returns the number of handled events."""
        return self._check("poll", ctypes.c_int(timeout_ms))

    def _serve(self, command, popen):
        """Run a program until it has ended and all its records are read. Yields whenever records may have arrived."""
        with subprocess.Popen(command, env=self.environ(popen.pop("env", None)), **popen) as child:
            try:
                while child.poll() is None:
                    self.poll()
                    yield
                while self.poll(0):
                    yield
            finally:
                while child.poll() is None:  # the program's launches wait for answers of the session
                    self._queue = None
                    if self._call("poll", ctypes.c_int(100)) < 0:
                        child.wait()  # the session has stopped
                self.status = child.returncode

    def run(self, command, **popen):
        """Run a program with the probes until it ends. Returns its exit status, as subprocess does."""
        for _ in self._serve(command, popen):
            pass
        return self.status

    def events(self, command, **popen):
        """Run a program and iterate over its records as they arrive, until the program has ended. Then `status` is its exit
        status. A caller that stops the iteration early still waits for the program's end."""
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

    def test_run(self, program, data=b"", grid=(1,), block=(1,), repeat=1, backend=None, device=None):
        """Run a program of section gpu/run/ on a grid of GPU threads, without an application. `data` is the initial content
        of its buffer. Returns a Run with the first thread's result, the buffer, and the mean and shortest time of a run."""
        at, name = None, None
        while name != program and (at := self._call("next_program", ctypes.c_void_p(at))):
            name = _text(self._lib.gpubpf_prog__name(ctypes.c_void_p(at)))
        if not at:
            raise ValueError(f"the session has no program {program!r}")
        data = bytes(data)
        out, three = ctypes.create_string_buffer(len(data) + 1), ctypes.c_uint32 * 3
        opts = _TestRunOpts(sz=ctypes.sizeof(_TestRunOpts), data_in=data, data_out=ctypes.addressof(out),
                            data_size_in=len(data), data_size_out=len(data), grid=three(*grid), block=three(*block),
                            repeat=repeat, backend=_bytes(backend), device=_bytes(device))
        err = self._lib.gpubpf_prog__test_run(ctypes.c_void_p(at), ctypes.byref(opts))
        if err < 0:
            raise Error(-err, _text(self._call("error")) or os.strerror(-err))
        return Run(opts.retval, out.raw[:len(data)], opts.duration, opts.duration_min, _text(opts.used_backend),
                   _text(opts.used_device))

    def stop(self):
        """Read the remaining records and end the session. Maps and the report stay available."""
        self._check("stop")

    @property
    def maps(self):
        """Returns the session's maps as a dict with their names as keys."""
        found, at = {}, None
        while at := self._call("next_map", ctypes.c_void_p(at)):
            found.setdefault(_text(self._lib.gpubpf_map__name(ctypes.c_void_p(at))), Map(self, at))
        return found

    def report(self):
        """Returns kernels, maps and events, as in the output of `gpubpf run --json`."""
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

    def __repr__(self):
        state = f"{len(self.maps)} maps: {', '.join(self.maps)}" if self._handle else "closed"
        return f"<gpubpf.Session {state}>"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
