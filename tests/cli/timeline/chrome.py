# SPDX-License-Identifier: Apache-2.0
"""Checks the rules of the Trace Event Format, which Chrome's trace viewer reads."""


class Trace:
    """The events of a document. `errors` has a line for each broken rule, `flows` the pairs of slices."""

    def __init__(self, document):
        self.errors, self.spans, self.flows, self.names, self.counters = [], [], [], {}, []
        self.open, self.last, self.starts = {}, {}, {}
        for event in document["traceEvents"]:
            getattr(self, "take_" + event["ph"])(event, (event["pid"], event["tid"]))
        for track, stack in self.open.items():
            if stack:
                self.error(f"track {track}: {len(stack)} slices have no end")
        if self.starts:
            self.error(f"{len(self.starts)} flows have no end")

    def error(self, text):
        if len(self.errors) < 20:
            self.errors.append(text)

    def advance(self, event, track):
        if event["ts"] < self.last.get(track, 0):
            self.error(f"track {track}: time {event['ts']} comes after {self.last[track]}")
        self.last[track] = event["ts"]

    def take_M(self, event, track):
        self.names[track, event["name"]] = event["args"]["name"]

    def take_B(self, event, track):
        self.advance(event, track)
        self.open.setdefault(track, []).append(event)
        self.spans.append(event)

    def take_E(self, event, track):
        self.advance(event, track)
        if not self.open.get(track):
            self.error(f"track {track}: an end without a begin")
        else:
            self.open[track].pop()["end"] = event["ts"]

    def take_i(self, event, track):
        self.advance(event, track)
        self.at_instant = event

    def take_C(self, event, track):
        self.counters.append(event)

    def enclosing(self, event, track):
        stack = self.open.get(track)
        if not stack or stack[-1]["ts"] != event["ts"]:
            self.error(f"flow {event['id']} is outside of slices")
            return None
        return stack[-1]

    def take_s(self, event, track):
        if event["id"] in self.starts:
            self.error(f"flow {event['id']} begins twice")
        self.starts[event["id"]] = self.enclosing(event, track)

    def take_f(self, event, track):
        if event["id"] not in self.starts or event["bp"] != "e":
            self.error(f"flow {event['id']} ends before it begins")
        else:
            self.flows.append((self.starts.pop(event["id"]), self.enclosing(event, track)))
