#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""export.py GPUBPF LOOP WORKLOAD: tests gpubpf export with an HTTP client and collectors of different behaviour. WORKLOAD launches three
kernels. If promtool and the Python package opentelemetry-proto are installed, they read the output too. Prints TAP."""
import collections
import glob
import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
from tap import ok, plan, skip, skip_all

gpubpf, loop, workload = sys.argv[1:]
icd = glob.glob("/etc/OpenCL/vendors/pocl*.icd")
if not icd or not os.access(loop, os.X_OK):
    skip_all("PoCL is not installed")
scratch = tempfile.TemporaryDirectory()
for name, folder in (("XDG_RUNTIME_DIR", "run"), ("XDG_CACHE_HOME", "cache")):
    os.environ[name] = os.path.join(scratch.name, folder)
    os.mkdir(os.environ[name], 0o700)
os.environ["OCL_ICD_VENDORS"] = icd[0]
os.environ.pop("GPUBPF_SESSION", None)
stop = os.path.join(scratch.name, "stop")
sys.path += glob.glob(os.path.join(os.path.dirname(os.path.abspath(gpubpf)), "deps/otlp/lib/python3*/site-packages"))
SAMPLE = re.compile(r'^([a-z_]+)(?:\{((?:[a-zA-Z]+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)$')
LABEL = re.compile(r'([a-zA-Z]+)="((?:[^"\\]|\\.)*)"')


def until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.1)
    return value


class Export:
    """A running gpubpf export."""

    def __init__(self, *arguments):
        if os.path.exists(stop):
            os.unlink(stop)
        self.errors = open(os.path.join(scratch.name, "err"), "w+", encoding="utf-8")
        self.process = subprocess.Popen([gpubpf, "export", *arguments], stdout=subprocess.DEVNULL, stderr=self.errors,
                                        env={**os.environ, "LOOP_UNTIL": stop})

    def stderr(self):
        return open(self.errors.name, encoding="utf-8").read()

    def address(self):
        return until(lambda: (m := re.search(r"metrics are at (http://127.0.0.1:\d+)/metrics", self.stderr())) and m[1], 30)

    def get(self, path="/metrics", method="GET"):
        try:
            with urllib.request.urlopen(urllib.request.Request(self.address() + path, method=method), timeout=60) as answer:
                return answer.status, answer.headers["Content-Type"], answer.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, "", e.read().decode()

    def finish(self, by=None):
        open(stop, "w", encoding="ascii").close()
        if by:
            self.process.send_signal(by)
        return self.process.wait(120)


def parse(text):
    """Reads Prometheus's text format strictly. Returns {name: [(labels, value)]} and {name: type}."""
    samples, types = collections.defaultdict(list), {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            types[line.split()[2]] = line.split()[3]
        elif not line.startswith("# HELP "):
            name, labels, value = SAMPLE.match(line).groups()
            samples[name].append((dict(LABEL.findall(labels or "")), float(value)))
    return samples, types


# Prometheus
shell = f"{workload}; LOOP_UNTIL={stop} {loop} 1 5"
e = Export("--prometheus", "127.0.0.1:0", "--kernels", "2", "--probe", "kerneltime,bytes", "--", "sh", "-c", shell)
page = until(lambda: (p := e.get())[0] == 200 and 'program="loop"' in p[2] and 'kernel="other"' in p[2] and p)
status, kind, text = page or e.get()
ok(kind == "text/plain; version=0.0.4; charset=utf-8", "the type of the answer", kind, text)
samples, types = parse(text)
launches = {s["kernel"]: v for s, v in samples["gpubpf_kernel_launches_total"]}
ok(len(launches) == 3 and "other" in launches, "two kernels have names, the others are in other", launches)
report = json.loads(subprocess.run([gpubpf, "session", "report", "-j"], capture_output=True, text=True).stdout)
ok(sum(k["launches"] for k in report["kernels"]) >= sum(launches.values()) >= 10, "the launches are complete", launches)
buckets = collections.defaultdict(list)
for labels, value in samples["gpubpf_kernel_duration_seconds_bucket"]:
    buckets[labels["kernel"]].append((float(labels["le"]), value))
counts = {s["kernel"]: v for s, v in samples["gpubpf_kernel_duration_seconds_count"]}
sums = {s["kernel"]: v for s, v in samples["gpubpf_kernel_duration_seconds_sum"]}
ok(len(counts) == 3 and all(b == sorted(b) and [v for _, v in b] == sorted(v for _, v in b) and b[-1] == (float("inf"), counts[k])
                            for k, b in buckets.items()), "the buckets are cumulative", dict(buckets))
named = next(k for k in launches if k != "other" and k != "step_one")
entry = next(x["value"]["launches"] for m in report["maps"] if m["name"] == "kerneltime" for x in m["entries"] if x["key"] == named)
ok(counts[named] == entry["count"] and abs(sums[named] * 1e9 - entry["sum"]) < 2, "count and sum are exact", named, counts, sums, entry)
below = [sum(h["count"] for h in entry["quantiles"]["histogram"] if h["max"] <= round(le * 1e9)) for le, _ in buckets[named][:-1]]
ok(below == [v for _, v in buckets[named][:-1]], "and each bucket", below, buckets[named])
devices = samples["gpubpf_device_launches_total"]
ok({d["program"] for d, _ in devices} == {os.path.basename(workload), "loop"} and all(d["gpu"] == "0" and d["modelName"] and d["hostname"] for d, _ in devices),
   "devices have dcgm-exporter's labels", devices)
ok(samples["gpubpf_kernel_io_bytes_total"] and samples["gpubpf_up"] == [({}, 1.0)], "bytes, and up")
ok(types["gpubpf_kernel_launches_total"] == "counter" and types["gpubpf_kernel_duration_seconds"] == "histogram", "types", types)
later = until(lambda: {s["kernel"]: v for s, v in parse(e.get()[2])[0]["gpubpf_kernel_launches_total"]}.get("other", 0) > launches.get("other", 0))
ok(later, "a later scrape has more launches in other")
ok(e.get("/")[0] == 404 and e.get("/metrics", "POST")[0] == 405, "other paths and methods are refused")
if promtool := os.environ.get("GPUBPF_TEST_PROMTOOL") or shutil.which("promtool"):
    r = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True)
    # modelName is dcgm-exporter's label
    ok(all("gpubpf_device_launches_total label names should be" in line for line in r.stderr.splitlines()), "promtool accepts the page", r.stdout, r.stderr)
else:
    skip("promtool accepts the page", "Debian's package prometheus is not installed")
ok(e.finish() == 42, "export ends with the application, with its exit status", e.stderr())

# without a session
e = Export("--prometheus", "127.0.0.1:0")
ok(parse(e.get()[2])[0]["gpubpf_up"] == [({}, 0.0)], "without a session, up is 0")
tool = subprocess.Popen([gpubpf, "run", "-q", "-r", "/dev/null", "-p", "kerneltime", "--", loop, "1", "5"], stdout=subprocess.DEVNULL,
                        env={**os.environ, "LOOP_UNTIL": stop})
ok(until(lambda: 'kernel="step_one"' in e.get()[2]), "a session that begins later is read")
open(stop, "w", encoding="ascii").close()
tool.wait()
ok(until(lambda: parse(e.get()[2])[0]["gpubpf_up"] == [({}, 0.0)]), "and up is 0 after its end")
ok(e.finish(signal.SIGTERM) == 0, "SIGTERM ends export", e.stderr())


# OTLP
class Collector(http.server.ThreadingHTTPServer):
    """Answers each request with the next of `statuses`, and repeats the last one."""
    daemon_threads = True

    def __init__(self, statuses, delay=0):
        self.statuses, self.delay, self.bodies, self.paths = list(statuses), delay, [], []
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        server = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server.paths.append((self.path, self.headers["Content-Type"]))
        status = server.statuses.pop(0) if len(server.statuses) > 1 else server.statuses[0]
        if status == 200:
            server.bodies.append(body)
        time.sleep(server.delay)
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        pass


def find(body, name):
    metrics = json.loads(body)["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
    return next((m for m in metrics if m["name"] == name), None)


def is_timed(body):
    return find(body, "gpubpf.kernel.duration")


collector = Collector([200])
e = Export("--otlp", collector.url(), "-i", "0.3", "--", loop, "1", "5")
body = until(lambda: next((b for b in collector.bodies if is_timed(b)), None))
point = is_timed(body)["histogram"]["dataPoints"][0]
ok(collector.paths[0] == ("/v1/metrics", "application/json"), "path and type of a request", collector.paths[0])
ok(sum(int(c) for c in point["bucketCounts"]) == int(point["count"]) > 0 and len(point["bucketCounts"]) == len(point["explicitBounds"]) + 1,
   "a histogram", point)
ok(0 < int(point["startTimeUnixNano"]) <= int(point["timeUnixNano"]), "times", point)
try:
    from google.protobuf import json_format
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
    request = json_format.Parse(body, ExportMetricsServiceRequest())
    names = {m.name for m in request.resource_metrics[0].scope_metrics[0].metrics}
    ok({"gpubpf.kernel.launches", "gpubpf.kernel.duration", "gpubpf.up"} <= names, "opentelemetry-proto reads the request", names)
except ImportError:
    skip("opentelemetry-proto reads the request", "the Python package is not installed")
ok(e.finish() == 42 and "lost" not in e.stderr(), "a collector that accepts all: nothing is lost", e.stderr())

def launches(body):
    points = find(body, "gpubpf.kernel.launches")
    return sum(int(p["asInt"]) for p in points["sum"]["dataPoints"]) if points else 0


collector = Collector([200])
e = Export("--otlp", collector.url(), "-i", "1000", "--", loop, "1", "5")
until(lambda: collector.bodies and any(k["launches"] > launches(collector.bodies[0]) for k in json.loads(
    subprocess.run([gpubpf, "session", "report", "-j"], capture_output=True, text=True).stdout or '{"kernels": []}')["kernels"]))
e.process.send_signal(signal.SIGTERM)
status, sent = e.process.wait(120), [launches(b) for b in collector.bodies]
# a machine under load may need more than the 3 s that export waits for the collector
ok(status == 0 and (len(sent) == 2 and sent[1] > sent[0] or "1 batch of metrics was lost" in e.stderr()),
   "a signal: export sends the launches since the last batch", sent, e.stderr())
open(stop, "w", encoding="ascii").close()
until(lambda: not os.listdir(os.path.join(os.environ["XDG_RUNTIME_DIR"], "gpubpf")))

collector = Collector([503, 429, 200])
e = Export("--otlp", collector.url() + "/", "-i", "0.5", "--", loop, "1", "5")
ok(until(lambda: collector.bodies), "after 503 and 429 the request is repeated")
until(lambda: any(is_timed(b) for b in collector.bodies))
e.finish()
ok("answered with HTTP status 503" in e.stderr() and "was lost" not in e.stderr() and "were lost" not in e.stderr(), "and nothing is lost", e.stderr())

collector = Collector([500, 500, 200])
e = Export("--otlp", collector.url(), "-i", "0.3", "--", loop, "1", "5")
lost = until(lambda: next((find(b, "gpubpf.export.lost")["sum"]["dataPoints"][0]["asInt"] for b in collector.bodies), None))
e.finish()
ok(lost in ("1", "2"), "after 500 the batch is lost, and later batches have the number", lost)
ok(e.stderr().count("HTTP status 500") == 1 and "2 batches of metrics were lost" in e.stderr(), "the reason is printed once", e.stderr())


def time_of(*arguments):
    """The time of an application of 300 launches and 5 ms after each. LOOP_UNTIL names a file that exists."""
    begin = time.monotonic()
    r = subprocess.run([gpubpf, *arguments, "--", loop, "300", "5"], capture_output=True, text=True, timeout=200, env={**os.environ, "LOOP_UNTIL": "/"})
    return time.monotonic() - begin, r


usual, _ = time_of("run", "-q", "-p", "kerneltime")
with socket.socket() as closed:
    closed.bind(("127.0.0.1", 0))
    taken, r = time_of("export", "--otlp", f"http://127.0.0.1:{closed.getsockname()[1]}", "-i", "0.2")
    ok(r.returncode == 42 and "300 launches: ff467000" in r.stdout and re.search(r"\d+ batch\w* of metrics w\w+ lost", r.stderr),
       "a collector that is down: losses are counted, and the application ends as usual", r.stdout, r.stderr)
    # at the end, export waits 3 s for the collector
    ok(taken < 3 * usual + 8, "without a delay", taken, usual)
collector = Collector([200], delay=30)
taken, r = time_of("export", "--otlp", collector.url(), "-i", "0.2")
ok(r.returncode == 42 and "300 launches: ff467000" in r.stdout and taken < 3 * usual + 20, "a slow collector: so too", taken, usual, r.stderr)

# examples/deploy
root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
names = set(re.findall(r'"(gpu\w+)"', open(os.path.join(root, "cli/export/metrics.def"), encoding="utf-8").read()))
board = json.load(open(os.path.join(root, "examples/deploy/dashboard.json"), encoding="utf-8"))
used = {n for p in board["panels"] for t in p["targets"] for n in re.findall(r"\bgpu\w+", t["expr"]) if n != "gpu"}
ok(used and {re.sub("_(bucket|sum|count)$", "", n) for n in used} <= names, "the dashboard shows metrics that exist", used, names)

# mistakes
for arguments, status, says in (
        ([], 2, "no destination"),
        (["--prometheus", "9464"], 2, "must be ADDR:PORT"),
        (["--prometheus", "localhost:9464"], 2, "must be ADDR:PORT"),
        (["--prometheus", "127.0.0.1:0", "--otlp", "ftp://x"], 2, "must be a URL"),
        (["--otlp", "http:///x", "--session", "x"], 2, "must be a URL"),
        (["--otlp", "http://x", "--kernels", "100000"], 2, "at most 1000"),
        (["--otlp", "http://x", "-s", "2"], 2, "need an application"),
        (["--prometheus", "127.0.0.1:0", "--", "/nowhere"], 127, "/nowhere: cannot be run")):
    r = subprocess.run([gpubpf, "export", *arguments], capture_output=True, text=True, timeout=60)
    ok(r.returncode == status and says in r.stderr, f"{arguments}: {says}", r.returncode, r.stderr)
with socket.socket() as taken:
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    r = subprocess.run([gpubpf, "export", "--prometheus", f"127.0.0.1:{taken.getsockname()[1]}"], capture_output=True, text=True, timeout=60)
    ok(r.returncode == 1 and "cannot listen: Address already in use" in r.stderr, "a port in use", r.returncode, r.stderr)
plan()
