#!/usr/bin/env python3
"""Makes the captures of this directory: `python3 make.py DIRECTORY [NAME...]`, as root.

A client and a server, each in a network namespace of its own; between them a forwarder over two TAP devices
that delays, drops and reorders frames by the rules of the scenario. tcpdump captures on one side, and what the
kernel of the sender counted is written beside the capture.
"""

import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import socket
import ssl
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 2, 0x1000
ADDRESSES = {4: ("10.9.0.1", "10.9.0.2"), 6: ("fd09::1", "fd09::2")}
MACS = ("02:00:00:00:00:01", "02:00:00:00:00:02")
PORT = 8080
COUNTERS = (
    "TCPTimeouts TCPFastRetrans TCPSlowStartRetrans TCPLossProbes TCPLossProbeRecovery TCPDSACKRecv "
    "TCPDSACKOfoRecv TCPSpuriousRtxHostQueues TCPSpuriousRTOs TCPSynRetrans TCPLostRetransmit "
    "TCPSackRecovery TCPRenoRecovery RetransSegs"
).split()


def data(*numbers):
    """Drops the data segments of the server with these numbers (1-based, of those that arrive at the forwarder)."""
    return lambda state: state.is_response and state.data in numbers


# sysctl: of both namespaces. side: where it is captured. hold(state): extra delay of a frame in ms.
SCENARIOS = {
    "fast": dict(size=100_000, drop=data(20)),
    "fast-no-sack": dict(size=100_000, drop=data(20, 24, 25), sysctl={"tcp_sack": 0}),
    "fast-no-timestamps": dict(size=100_000, drop=data(20, 30, 31), sysctl={"tcp_timestamps": 0}),
    "timeout": dict(size=40_000, drop=data(26, 27, 28), sysctl={"tcp_early_retrans": 0}),
    "timeout-twice": dict(
        size=40_000,
        drop=data(26, 27, 28, 29, 30),
        sysctl={"tcp_early_retrans": 0, "tcp_timestamps": 0, "tcp_sack": 0},
    ),
    "timeout-window": dict(
        size=60_000,
        drop=lambda s: s.is_response and 21 <= s.data <= 34,
        sysctl={"tcp_early_retrans": 0},
    ),
    "tail-loss-probe": dict(size=40_000, drop=data(27, 28)),
    "probe-and-timeout": dict(size=40_000, drop=lambda s: s.is_response and 27 <= s.data <= 30),
    "reordering": dict(
        size=100_000, side=0, hold=lambda s: 3 if s.is_response and s.data and s.data % 13 == 0 else 0
    ),
    "spurious-fast": dict(
        size=100_000, hold=lambda s: 25 if s.is_response and s.data in (30, 50) else 0, sysctl={"tcp_recovery": 0}
    ),
    "spurious-timeout": dict(size=60_000, hold=lambda s: 350 if s.is_response and s.data >= 20 else 0),
    "ipv6": dict(size=120_000, family=6, drop=lambda s: s.random() < 0.04),
    "random-loss": dict(size=150_000, drop=lambda s: s.random() < 0.06, sysctl={"tcp_timestamps": 0}, side=0),
    "random-loss-no-sack": dict(
        size=150_000, drop=lambda s: s.random() < 0.06, sysctl={"tcp_sack": 0, "tcp_timestamps": 0}
    ),
    "random-loss-sender": dict(size=200_000, drop=lambda s: s.random() < 0.06),
    "reordering-random": dict(size=200_000, hold=lambda s: 6 * (s.random() < 0.1)),
    "syn-loss": dict(size=5_000, side=0, drop=lambda s: s.frame == 1 and not s.is_response),
    "syn-ack-loss": dict(size=5_000, drop=lambda s: s.frame == 1 and s.is_response),
    "zero-window": dict(size=60_000, client="slow"),
    "window-limited": dict(size=200_000, client="small-window"),
    "nagle": dict(size=300, client="two-writes", requests=4, delay=1),
    "persistent": dict(size=30_000, requests=3, client="pauses", think=0.06),
    "after-idle": dict(size=150_000, requests=2, client="pauses"),
    "tls": dict(size=20_000, requests=3, tls=True, think=0.03, snap=220),
    "keep-alive": dict(size=500, requests=2, client="keep-alive"),
    "reset": dict(size=60_000, client="resets"),
    "receiver-fast": dict(size=100_000, drop=data(20, 33, 50), side=0),
    "receiver-timeout": dict(size=40_000, drop=data(26, 27, 28), side=0, sysctl={"tcp_early_retrans": 0}),
    "receiver-timeout-hole": dict(size=60_000, drop=lambda s: s.is_response and s.data and s.segment == 21 and s.copies <= 2, side=0, sysctl={"tcp_recovery": 0}),
    "receiver-pause": dict(size=60_000, parts=3, side=0),
    "receiver-window": dict(size=200_000, client="small-window", side=0),
    "queue": dict(size=400_000, rate=8e6, queue=400, delay=4, sysctl={"tcp_rmem": "4096 2000000 6000000"}),
    "receiver-queue": dict(size=400_000, rate=8e6, queue=400, delay=4, sysctl={"tcp_rmem": "4096 2000000 6000000"}, side=0),
}


class State:
    """What the rules know of a frame."""

    def __init__(self, seed):
        self.random = random.Random(seed).random
        self.frames, self.datas, self.seen = [0, 0], [0, 0], {}

    def see(self, frame, side):
        self.is_response = side == 1
        self.frames[side] += 1
        self.frame = self.frames[side]
        is_ipv6 = frame[12:14] == b"\x86\xdd"
        ip = 40 if is_ipv6 else 20
        total = struct.unpack("!H", frame[18:20] if is_ipv6 else frame[16:18])[0] + (40 if is_ipv6 else 0)
        header = (frame[14 + ip + 12] >> 4) * 4
        has_data = total > ip + header
        self.datas[side] += has_data
        self.data = self.datas[side] if has_data else 0
        # How often the segment with these bytes was seen; of the bytes at a place in the order of their first segments.
        if has_data and side == 1:
            sequence = frame[14 + ip + 4 : 14 + ip + 8]
            self.seen.setdefault(sequence, [len(self.seen) + 1, 0])[1] += 1
            self.segment, self.copies = self.seen[sequence]


def enter(namespace):
    with open(f"/run/netns/{namespace}") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), 0):
            raise OSError(ctypes.get_errno(), "setns")


def tap(namespace, name):
    enter(namespace)
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TAP | IFF_NO_PI))
    return device


def run(*command, **more):
    return subprocess.run(command, check=True, **more)


def forward(devices, scenario, is_over):
    """Moves frames between the devices until `is_over`."""
    state, waiting, number = State(scenario.get("seed", 7)), [], 0
    rate, queue, free = scenario.get("rate"), scenario.get("queue", 1000), [0, 0]
    delay = scenario.get("delay", 10) / 1000
    drop, hold = scenario.get("drop"), scenario.get("hold")
    while not is_over():
        now = time.monotonic()
        timeout = min(0.05, max(0, waiting[0][0] - now)) if waiting else 0.05
        for device in select.select(devices, [], [], timeout)[0]:
            frame, side = os.read(device, 65536), devices.index(device)
            extra = 0
            if frame[12:14] in (b"\x08\x00", b"\x86\xdd") and frame[23 if frame[12] == 8 else 20] == 6:
                state.see(frame, side)
                if drop and drop(state):
                    continue
                extra = hold(state) / 1000 if hold else 0
            number += 1
            leaves = time.monotonic()
            if rate:
                duration = len(frame) * 8 / rate
                if free[side] - leaves > queue * 1514 * 8 / rate:
                    continue
                leaves = free[side] = max(free[side], leaves) + duration
            heapq.heappush(waiting, (leaves + delay + extra, number, 1 - side, frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, side, frame = heapq.heappop(waiting)
            os.write(devices[side], frame)


def make(name, directory):
    scenario = SCENARIOS[name]
    namespaces = [f"captures-{side}-{os.getpid()}" for side in ("client", "server")]
    family = scenario.get("family", 4)
    for namespace in namespaces:
        run("ip", "netns", "add", namespace)
    try:
        devices = [tap(namespace, "lab") for namespace in namespaces]
        for side, namespace in enumerate(namespaces):
            ip = ["ip", "-n", namespace]
            run(*ip, "link", "set", "lab", "address", MACS[side])
            run(*ip, "link", "set", "lab", "up")
            run(*ip, "link", "set", "lo", "up")
            prefix = "/24" if family == 4 else "/64"
            address = ADDRESSES[family]
            run(*ip, "address", "add", address[side] + prefix, "dev", "lab", *(["nodad"] if family == 6 else []))
            run(*ip, "neigh", "add", address[1 - side], "lladdr", MACS[1 - side], "dev", "lab")
            values = {"tcp_no_metrics_save": 1} | scenario.get("sysctl", {})
            for key, value in values.items():
                with_netns = ["ip", "netns", "exec", namespace, "sysctl", "-q", "-w", f"net.ipv4.{key}={value}"]
                run(*with_netns)
        side = scenario.get("side", 1)
        capture = os.path.join(directory, f"{name}.pcap")
        snap = scenario.get("snap", 160 if family == 6 else 140)
        tcpdump = subprocess.Popen(
            ["ip", "netns", "exec", namespaces[side], "tcpdump", "-q", "-i", "lab", "-s", str(snap), "-U", "--immediate-mode", "-w", capture]
            + ["--time-stamp-precision=nano", "-Z", "root", "tcp"],
            stderr=subprocess.PIPE,
        )
        tcpdump.stderr.readline()
        script, ends = os.path.abspath(__file__), []
        for side in (1, 0):
            command = ["ip", "netns", "exec", namespaces[side], sys.executable, script, "--end", str(side), name]
            ends.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            if side == 1:
                ends[0].stdout.readline()
        until = [None]

        def is_over():
            if until[0] is None and all(end.poll() is not None for end in ends):
                until[0] = time.monotonic() + 0.3
            return until[0] is not None and time.monotonic() > until[0]

        forward(devices, scenario, is_over)
        tcpdump.terminate()
        tcpdump.wait()
        counts = json.loads(ends[0].stdout.read())
        with open(os.path.join(directory, f"{name}.kernel.txt"), "w") as file:
            file.writelines(f"{key} {value}\n" for key, value in counts.items())
        for device in devices:
            os.close(device)
    finally:
        enter_back()
        for namespace in namespaces:
            run("ip", "netns", "delete", namespace)


def repeat(source, target):
    """Writes a capture twice: 10 s later the same ports have a new connection with other sequence numbers."""
    data = open(source, "rb").read()
    again, at = bytearray(), 24
    while at < len(data):
        seconds, _, captured, _ = struct.unpack_from("<4I", data, at)
        packet = bytearray(data[at : at + 16 + captured])
        struct.pack_into("<I", packet, 0, seconds + 10)
        tcp = 16 + 14 + 20
        for offset in (4, 8):
            number = struct.unpack_from("!I", packet, tcp + offset)[0]
            struct.pack_into("!I", packet, tcp + offset, (number + 1_000_000 * bool(number)) % 2**32)
        again += packet
        at += 16 + captured
    with open(target, "wb") as file:
        file.write(data + again)


HOME = open("/proc/self/ns/net")


def enter_back():
    ctypes.CDLL(None, use_errno=True).setns(HOME.fileno(), 0)


def counters():
    """What this namespace's kernel counted."""
    lines = [line.split() for file in ("netstat", "snmp") for line in open(f"/proc/net/{file}")]
    pairs = {}
    for names, values in zip(lines[::2], lines[1::2]):
        pairs |= dict(zip(names[1:], values[1:]))
    return {name: int(pairs.get(name, 0)) for name in COUNTERS}


def total_retrans(connection):
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return struct.unpack_from("I", info, 100)[0]


def unacknowledged(connection):
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return struct.unpack_from("I", info, 24)[0]


def listen(scenario):
    family = scenario.get("family", 4)
    listener = socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    listener.bind((ADDRESSES[family][1], PORT))
    listener.listen()
    print("ready", flush=True)
    raw, _ = listener.accept()
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection, body = raw, b"".join(b"%07d\n" % i for i in range(scenario["size"] // 8 + 1))[: scenario["size"]]
    if scenario.get("tls"):
        run(*"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=x".split(),
            "-keyout", "/tmp/captures-key.pem", "-out", "/tmp/captures-cert.pem", stderr=subprocess.DEVNULL)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain("/tmp/captures-cert.pem", "/tmp/captures-key.pem")
        os.remove("/tmp/captures-key.pem")
        os.remove("/tmp/captures-cert.pem")
        connection = context.wrap_socket(raw, server_side=True)
    retransmitted = 0
    try:
        for _ in range(scenario.get("requests", 1)):
            request = b""
            while b"\r\n\r\n" not in request:
                request += connection.recv(65536) or b"\r\n\r\n"
            head, _, rest = request.partition(b"\r\n\r\n")
            if b"Content-Length: " in head:
                length = int(head.split(b"Content-Length: ")[1].split()[0])
                while len(rest) < length:
                    rest += connection.recv(65536)
            time.sleep(scenario.get("think", 0))
            response = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
            for part in range(scenario.get("parts", 1)):
                time.sleep(0.4 * bool(part))
                size = -(-len(response) // scenario.get("parts", 1))
                connection.sendall(response[part * size : (part + 1) * size])
            while unacknowledged(connection):
                time.sleep(0.002)
            retransmitted = total_retrans(connection)
        while connection.recv(65536):
            pass
        connection.close()
    except ConnectionError:
        pass
    # A FIN can be sent again.
    time.sleep(1.2)
    print(json.dumps({"tcpi_total_retrans": retransmitted} | counters()))


def receive(connection, count):
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536)
    rest = count - len(received.partition(b"\r\n\r\n")[2])
    while rest > 0:
        rest -= len(connection.recv(min(65536, rest)))


def request(scenario):
    family, kind = scenario.get("family", 4), scenario.get("client", "")
    raw = socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6)
    if kind in ("slow", "small-window"):
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8_000)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    raw.connect((ADDRESSES[family][1], PORT))
    connection = raw
    if scenario.get("tls"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = context.wrap_socket(raw)
    if kind == "keep-alive":
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL):
            raw.setsockopt(socket.IPPROTO_TCP, option, 1)
    for number in range(scenario.get("requests", 1)):
        if number and kind in ("pauses", "keep-alive"):
            time.sleep(2.5 if kind == "keep-alive" else 0.7)
        if kind == "two-writes":
            connection.sendall(b"PUT /file HTTP/1.1\r\nHost: x\r\nContent-Length: 200\r\n\r\n")
            time.sleep(0.0005)
            connection.sendall(b"x" * 100)
            time.sleep(0.0005)
            connection.sendall(b"x" * 100)
        else:
            connection.sendall(b"GET /file-%d HTTP/1.1\r\nHost: x\r\n\r\n" % number)
        if kind == "resets":
            connection.recv(10_000)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            break
        if kind == "slow":
            time.sleep(0.9)
        receive(connection, scenario["size"])
    connection.close()


if sys.argv[1] == "--end":
    (request, listen)[int(sys.argv[2])](SCENARIOS[sys.argv[3]])
else:
    directory = sys.argv[1]
    for chosen in sys.argv[2:] or SCENARIOS:
        make(chosen, directory)
        print(chosen)
    paths = [os.path.join(directory, f"{name}.pcap") for name in ("reset", "reused-ports")]
    if os.path.exists(paths[0]):
        repeat(*paths)
        kernel = [path.replace(".pcap", ".kernel.txt") for path in paths]
        with open(kernel[0]) as source, open(kernel[1], "w") as target:
            target.write(source.read())
