# SPDX-License-Identifier: Apache-2.0
"""Reads traces of Perfetto with the messages of its Python package, and checks the rules that Perfetto's tools rely on."""
import glob
import os
import sys

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def import_messages(build):
    """Returns the module with Perfetto's messages, or None if the package is not installed."""
    sys.path += glob.glob(os.path.join(build, "deps/perfetto/lib/python3*/site-packages"))
    try:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2
        return perfetto_trace_pb2
    except ImportError:
        return None


class Span:
    """A slice or an instant, with its interned texts."""

    def __init__(self, trace, packet, event):
        self.begin, self.end, self.track = packet.timestamp, None, event.track_uuid
        self.name = trace.text("event_names", event.name_iid)
        self.category = [trace.text("event_categories", i) for i in event.category_iids]
        self.flows, self.ended_flows = list(event.flow_ids), list(event.terminating_flow_ids)
        self.depth = 0
        self.args = {}
        for a in event.debug_annotations:
            name = trace.text("debug_annotation_names", a.name_iid)
            which = a.WhichOneof("value")
            self.args[name] = trace.text("debug_annotation_string_values", a.string_value_iid) \
                if which == "string_value_iid" else getattr(a, which)
        self.stack = []
        if event.callstack_iid:
            for frame in trace.interned["callstacks"][event.callstack_iid].frame_ids:
                function = trace.interned["frames"][frame].function_name_id
                self.stack.append(trace.text("function_names", function))


class Trace:
    """The trace of a file. `errors` has a line for each broken rule."""

    def __init__(self, messages, path):
        self.messages, self.errors = messages, []
        self.interned, self.tracks, self.spans, self.instants, self.counters, self.clocks = {}, {}, [], [], {}, {}
        self.is_cleared = False
        self.open, self.last = {}, {}
        with open(path, "rb") as f:
            self.read(f.read())
        for uuid, stack in self.open.items():
            if stack:
                self.error(f"track {uuid}: {len(stack)} slices have no end")
        self.check_flows()

    def error(self, text):
        if len(self.errors) < 20:
            self.errors.append(text)

    def text(self, kind, iid):
        entry = self.interned.get(kind, {}).get(iid)
        if entry is None:
            self.error(f"{kind}: number {iid} is not interned")
            return ""
        text = entry.str if hasattr(entry, "str") and entry.DESCRIPTOR.name == "InternedString" else entry.name
        return text.decode() if isinstance(text, bytes) else text

    def read(self, data):
        trace = self.messages.Trace()
        trace.ParseFromString(data)
        for packet in trace.packet:
            self.take(packet)

    def take(self, packet):
        if not packet.trusted_packet_sequence_id:
            self.error("a packet has no sequence")
        if packet.sequence_flags & 1:
            self.interned, self.is_cleared = {}, True
        if packet.HasField("trace_packet_defaults") and packet.trace_packet_defaults.timestamp_clock_id != 3:
            self.error("times are not of CLOCK_MONOTONIC")
        if packet.HasField("clock_snapshot"):
            self.clocks = {c.clock_id: c.timestamp for c in packet.clock_snapshot.clocks}
        if packet.HasField("interned_data"):
            self.intern(packet.interned_data)
        if packet.HasField("track_descriptor"):
            self.add_track(packet.track_descriptor)
        if packet.HasField("track_event"):
            if packet.sequence_flags & 2 and not self.is_cleared:
                self.error("an event needs interned values, but none were begun")
            self.add_event(packet, packet.track_event)

    def intern(self, data):
        for field, entries in data.ListFields():
            for entry in entries:
                known = self.interned.setdefault(field.name, {})
                if entry.iid in known or not entry.iid:
                    self.error(f"{field.name}: number {entry.iid} is interned twice, or is 0")
                known[entry.iid] = entry

    def add_track(self, track):
        if track.parent_uuid and track.parent_uuid not in self.tracks:
            self.error(f"track {track.uuid} comes before its parent")
        if self.tracks.get(track.uuid, track) != track or not track.uuid:
            self.error(f"track {track.uuid} is described differently, or has no number")
        self.tracks[track.uuid] = track

    def add_event(self, packet, event):
        track, now = event.track_uuid, packet.timestamp
        if track not in self.tracks:
            self.error(f"an event is on the unknown track {track}")
        if now < self.last.get(track, 0):
            self.error(f"track {track}: time {now} comes after {self.last[track]}")
        self.last[track] = now
        stack = self.open.setdefault(track, [])
        if event.type == BEGIN:
            span = Span(self, packet, event)
            span.depth = len(stack)
            stack.append(span)
            self.spans.append(span)
        elif event.type == END:
            if not stack:
                self.error(f"track {track}: an end at {now} without a begin")
            else:
                stack.pop().end = now
        elif event.type == INSTANT:
            self.instants.append(Span(self, packet, event))
        elif event.type == COUNTER:
            if not self.tracks[track].HasField("counter"):
                self.error(f"track {track} has a value, but is no counter")
            self.counters.setdefault(track, []).append((now, event.double_counter_value))
        else:
            self.error(f"an event has type {event.type}")

    def check_flows(self):
        """Each flow begins at one slice, and ends at one slice or instant that is not earlier."""
        begins, ends = {}, {}
        for span in self.spans + self.instants:
            for flow in span.flows:
                if flow in begins:
                    self.error(f"flow {flow} begins twice")
                begins[flow] = span
            for flow in span.ended_flows:
                if flow in ends:
                    self.error(f"flow {flow} ends twice")
                ends[flow] = span
        for flow in begins.keys() ^ ends.keys():
            self.error(f"flow {flow} has no {'end' if flow in begins else 'begin'}")
        self.flows = [(begins[f], ends[f]) for f in begins.keys() & ends.keys()]
        for begin, end in self.flows:
            if end.begin < begin.begin:
                self.error(f"a flow from {begin.name} to {end.name} goes back in time")

    def name(self, uuid):
        """The name of a track, as a viewer shows it."""
        track = self.tracks[uuid]
        return track.process.process_name or track.thread.thread_name or track.name
