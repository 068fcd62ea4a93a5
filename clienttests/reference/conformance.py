#!/usr/bin/env python3
"""Replay recorded scenarios of Apache Kafka 4.3.1 on a broker of this machine, each under the settings it needs.

    conformance.py [options] FILE|DIR...        (a DIR is searched through)

Scenarios are grouped by their "needs"; each group gets a freshly started broker:
  --command CMD   how to start the broker under test, run at the root of the checkout (default: go run ./cmd/fakekafka). It is given
                  -listen 127.0.0.1:0 -kafka-timings [-brokers N -racks a,b] [-config KEY=VALUE]... (always with
                  group.initial.rebalance.delay.ms=0 unless a scenario says otherwise, offsets.topic.num.partitions=4,
                  transaction.state.log.num.partitions=4) and must print
                  "fakekafka ready on HOST:PORT". It is ended by TERM.
  --kafka         use a real Apache Kafka instead (apache-kafka/start.sh), to check the scenarios themselves
  --default-timings  leave -kafka-timings out: the same answers are due, at other times (scenarios that measure time are left out)
  --run RE        only the scenarios whose name matches
  --jobs N        scenarios at a time on one broker (default 4)
  --first         stop each scenario at its first difference (default: go on and count the matching steps)
  --until-limit D no step waits longer than D (such as 2s) for an answer it asks for again and again
  --log FILE      the broker's standard error
  --anyform       don't compare the form of member ids
  --json OUT      results as JSON: [{"name", "status", "detail"...}]
Prints a line a scenario (pass, differ, error; what differed) and closes with "N passed, N failed". Exit 0 when none failed.
"""
import argparse, collections, glob, json, os, re, shlex, signal, subprocess, sys, tempfile, threading, time

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
ap = argparse.ArgumentParser(usage=__doc__, add_help=True)
ap.add_argument("--command", default="go run ./cmd/fakekafka")
ap.add_argument("--kafka", action="store_true")
ap.add_argument("--default-timings", action="store_true")
ap.add_argument("--run", default="")
ap.add_argument("--jobs", default="4")
ap.add_argument("--anyform", action="store_true")
ap.add_argument("--first", action="store_true")
ap.add_argument("--until-limit")
ap.add_argument("--log")
ap.add_argument("--json")
ap.add_argument("paths", nargs="+")
opt = ap.parse_args()

tmp = tempfile.mkdtemp(prefix="conformance-")
tool = os.path.join(tmp, "transcripts")
subprocess.run(["go", "build", "-o", tool, "./reference/transcripts"], cwd=os.path.dirname(here), env=dict(os.environ, GOWORK="off"), check=True)

files = []
for p in opt.paths:
    files += [p] if os.path.isfile(p) else sorted(glob.glob(os.path.join(p, "**", "*.json"), recursive=True))
groups = collections.OrderedDict()
left_out = 0
for f in files:
    with open(f) as fh:
        sc = json.load(fh)
    if "steps" not in sc or not re.search(opt.run, sc["name"]):
        continue
    if opt.default_timings and any({"elapsed_ms", "pending", "delay_ms"} & set(st) for st in sc["steps"]):
        left_out += 1
        continue
    needs = dict(sc.get("needs") or {})
    brokers = 2 if str(needs.pop("brokers", "")).startswith("2") else 1
    conf = {k: str(v).split(" (")[0] for k, v in needs.items()}
    conf.setdefault("group.initial.rebalance.delay.ms", "0")
    if conf.get("authorizer.class.name") == "":
        del conf["authorizer.class.name"]
    jobs = "1" if "max.incremental.fetch.session.cache.slots" in conf else opt.jobs
    groups.setdefault((brokers, tuple(sorted(conf.items())), jobs), []).append(os.path.abspath(f))

if left_out:
    print(f"{left_out} scenarios that measure time are left out")
if not groups:
    sys.exit(f"no scenario under {' '.join(opt.paths)} matches")

def start(brokers, conf):
    """Start the broker; answer (process, address)."""
    if opt.kafka:
        port = 29000 + os.getpid() % 500 * 2
        cmd = [os.path.join(here, "apache-kafka", "start.sh"), tempfile.mkdtemp(dir=tmp), str(port)] + [f"{k}={v}" for k, v in conf]
    else:
        cmd = shlex.split(opt.command) + ["-listen", "127.0.0.1:0", *([] if opt.default_timings else ["-kafka-timings"]), "-config", "offsets.topic.num.partitions=4",
                                          "-config", "transaction.state.log.num.partitions=4"]
        if brokers > 1:
            cmd += ["-brokers", str(brokers), "-racks", ",".join(f"r{i + 1}" for i in range(brokers))]
        for k, v in conf:
            cmd += ["-config", f"{k}={v}"]
    print("   " + " ".join(shlex.quote(c) for c in cmd), flush=True)
    log = open(opt.log or os.path.join(tmp, "broker.log"), "w+")
    p = subprocess.Popen(cmd, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True, cwd=root)
    timer = threading.Timer(120, lambda: os.killpg(p.pid, signal.SIGKILL)); timer.start()
    addr = None
    for line in p.stdout:
        m = re.match(r"(?:fakekafka )?ready (?:on )?(\S+:\d+)", line)
        if m:
            addr = m.group(1)
            break
    timer.cancel()
    if addr is None:
        p.wait()
        return p, None, tail(log, 15)
    if opt.kafka:
        time.sleep(3)
    else:
        threading.Thread(target=lambda: [None for _ in p.stdout], daemon=True).start()
    return p, addr, log

def tail(log, n):
    """The last lines that the broker wrote."""
    log.seek(0)
    lines = [l for l in log.read().strip().splitlines() if not l.startswith("exit status")]
    return "\n".join("      " + l for l in lines[-n:]) or "      (it wrote nothing)"

def stop(p):
    if p.poll() is None:
        os.killpg(p.pid, signal.SIGTERM)
        try:
            p.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL); p.wait()

results = []
for (brokers, conf, jobs), fs in groups.items():
    label = ", ".join(f"{k}={v}" for k, v in conf if (k, v) != ("group.initial.rebalance.delay.ms", "0")) or "default settings"
    print(f"== {len(fs)} scenarios, {brokers} broker(s), {label}", flush=True)
    if opt.kafka and brokers > 1:
        print("   left out: one real broker only"); continue
    p, addr, log = start(brokers, conf)
    why = log if addr is None else ""
    if addr is None:
        print("error  the broker did not start:\n" + why)
        results += [{"name": os.path.basename(f)[:-5], "file": f, "status": "error", "detail": why} for f in fs]
        continue
    try:
        out = os.path.join(tmp, "out.json")
        if os.path.exists(out): os.remove(out)
        try:
            subprocess.run([tool, "replay", *([] if opt.first else ["-k"]), *(["-anyform"] if opt.anyform else []),
                            *(["-until-limit", opt.until_limit] if opt.until_limit else []), "-p", jobs, "-json", out, addr] + fs, timeout=900)
        except subprocess.TimeoutExpired:
            print("error  the replay took more than 15 minutes")
        done = json.load(open(out)) if os.path.exists(out) else []
        done = done.get("results", done) if isinstance(done, dict) else done
        results += done
        names = {r["name"] for r in done}
        results += [{"name": os.path.basename(f)[:-5], "file": f, "status": "error", "detail": "not replayed"} for f in fs if json.load(open(f))["name"] not in names]
        if p.poll() is not None:
            print(f"error  the broker ended by itself, exit {p.returncode}; its last lines:\n" + tail(log, 40))
    finally:
        stop(p)
if opt.json:
    json.dump(results, open(opt.json, "w"), indent=1)
subprocess.run(["rm", "-rf", tmp])
ok = sum(r["status"] == "pass" for r in results)
print(f'{sum(r.get("matched", 0) for r in results)} of {sum(r.get("compared", 0) for r in results)} compared steps match')
print(f"{ok} passed, {len(results) - ok} failed")
sys.exit(0 if results and ok == len(results) else 1)
