#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Talks to the netlink family "metaroce" without libraries, for 12-netlink.sh:
#
#   netlink.py bad DEV       sends requests of every wrong kind; a line "ok NAME" or "nok NAME: why" each
#   netlink.py dump DEV      dumps connections and paths into a small buffer, part by part, and
#                            looks for what is missing, twice, or out of order; lines likewise
#   netlink.py held READY GO dumps paths, reads one part, makes the file READY, waits for the file GO,
#                            reads the rest
#   netlink.py loop          dumps everything again and again until SIGTERM; prints how often
import errno
import os
import signal
import socket
import struct
import sys
import time

NETLINK_GENERIC, SOL_NETLINK, NETLINK_EXT_ACK = 16, 270, 11
NLMSG_ERROR, NLMSG_DONE, GENL_ID_CTRL, CTRL_CMD_GETFAMILY = 2, 3, 16, 3
REQUEST, ACK, DUMP, ACK_TLVS, CAPPED = 1, 4, 0x300, 0x200, 0x100
DEV_GET, DEV_SET, CONN_GET, PATH_GET = 1, 2, 3, 4
INDEX, NAME, PARAMS = 1, 2, 10  # of devices
CID, PATH_ID = 3, 4  # of connections and paths
PATHS = 18  # of connections
SMALL = 4096  # the kernel makes parts of a dump as large as the largest read of a socket, or this


def attr(kind, payload):
    data = struct.pack("=HH", 4 + len(payload), kind) + payload
    return data + bytes(-len(data) % 4)


def u32(kind, value):
    return attr(kind, struct.pack("=I", value))


def text(kind, value):
    return attr(kind, value.encode() + b"\0")


def attrs(data):
    out = {}
    while len(data) >= 4:
        size, kind = struct.unpack_from("=HH", data)
        if size < 4:
            break
        out[kind & 0x3FFF] = data[4:size]
        data = data[size + 3 & ~3 :]
    return out


def number(payload):
    return int.from_bytes(payload, sys.byteorder)


class Family:
    def __init__(self, size=32768):
        self.size = size
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
        self.socket.setsockopt(SOL_NETLINK, NETLINK_EXT_ACK, 1)
        self.socket.bind((0, 0))
        self.seq = 0
        self.send(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, text(2, "metaroce"), ACK)
        self.id = number(attrs(self.answer()[0][0][4:])[1])

    def send(self, kind, cmd, body, flags, cut=0):
        self.seq += 1
        body = struct.pack("=BBH", cmd, 1, 0) + body
        body = body[: len(body) - cut]
        self.socket.send(struct.pack("=IHHII", 16 + len(body), kind, REQUEST | flags, self.seq, 0) + body)

    def part(self):
        """One read. Return: messages, and (errno, text) if it was the end."""
        data, messages = self.socket.recv(self.size), []
        while len(data) >= 16:
            length, kind, flags, _, _ = struct.unpack_from("=IHHII", data)
            body, data = data[16:length], data[length + 3 & ~3 :]
            if kind not in (NLMSG_ERROR, NLMSG_DONE):
                messages.append(body)
                continue
            code = struct.unpack_from("=i", body)[0]
            if kind == NLMSG_DONE:
                rest = body[4:]
            else:
                rest = body[20:] if flags & CAPPED else body[4 + (number(body[4:8]) + 3 & ~3) :]
            said = attrs(rest).get(1, b"") if flags & ACK_TLVS else b""
            return messages, (-code, said.rstrip(b"\0").decode())
        return messages, None

    def answer(self):
        all_messages, end = [], None
        while end is None:
            messages, end = self.part()
            all_messages += messages
        return all_messages, end

    def ask(self, cmd, body=b"", flags=ACK, cut=0):
        self.send(self.id, cmd, body, flags, cut)
        return self.answer()


def bad(dev):
    family = Family()
    index = number(attrs(family.ask(DEV_GET, text(NAME, dev))[0][0][4:])[INDEX])
    missing = max(number(attrs(m[4:])[INDEX]) for m in family.ask(DEV_GET, flags=DUMP)[0]) + 1000
    one = text(NAME, dev)
    burst = attr(PARAMS | 0x8000, u32(1, 8))
    cases = [
        ("no device is named", DEV_GET, b"", ACK, errno.EINVAL, "a device is needed"),
        ("an unknown name", DEV_GET, text(NAME, "nosuch0"), ACK, errno.ENODEV, "no such metaroce device"),
        ("an unknown index", DEV_GET, u32(INDEX, missing), ACK, errno.ENODEV, "no such metaroce device"),
        ("index and name disagree", DEV_GET, u32(INDEX, index) + text(NAME, "other"), ACK, errno.ENODEV,
         "another name"),
        ("a name without an end", DEV_GET, attr(NAME, dev.encode()), ACK, errno.EINVAL, ""),
        ("a name that is too long", DEV_GET, text(NAME, "x" * 64), ACK, errno.EINVAL, "policy validation"),
        ("an index of two bytes", DEV_GET, attr(INDEX, b"\1\0"), ACK, errno.EINVAL, "invalid attribute length"),
        ("an attribute that is not known", DEV_GET, one + u32(77, 0), ACK, errno.EINVAL, "Unknown attribute"),
        ("an attribute that replies have", DEV_GET, one + u32(7, 1), ACK, errno.EINVAL, "Unknown attribute"),
        ("a filter in a dump of devices", DEV_GET, one, DUMP, errno.EINVAL, "a dump is of all devices"),
        ("set without parameters", DEV_SET, one, ACK, errno.EINVAL, "parameters"),
        ("set without a device", DEV_SET, burst, ACK, errno.EINVAL, "a device is needed"),
        ("set an unknown device", DEV_SET, text(NAME, "nosuch0") + burst, ACK, errno.ENODEV, "no such"),
        ("set nothing", DEV_SET, one + attr(PARAMS | 0x8000, b""), ACK, errno.EINVAL, "no parameter"),
        ("parameters that are no nest", DEV_SET, one + attr(PARAMS, u32(1, 8)), ACK, errno.EINVAL, "NLA_F_NESTED"),
        ("an unknown parameter", DEV_SET, one + attr(PARAMS | 0x8000, u32(99, 8)), ACK, errno.EINVAL,
         "Unknown attribute"),
        ("a parameter of one byte", DEV_SET, one + attr(PARAMS | 0x8000, attr(1, b"\1")), ACK, errno.EINVAL,
         "invalid attribute length"),
        ("max-burst 0", DEV_SET, one + attr(PARAMS | 0x8000, u32(1, 0)), ACK, errno.ERANGE, "out of range"),
        ("max-burst 65", DEV_SET, one + attr(PARAMS | 0x8000, u32(1, 65)), ACK, errno.ERANGE, "out of range"),
        ("probe-floor above a second", DEV_SET, one + attr(PARAMS | 0x8000, u32(2, 1000001)), ACK, errno.ERANGE,
         "out of range"),
        ("delay-target 99", DEV_SET, one + attr(PARAMS | 0x8000, u32(3, 99)), ACK, errno.ERANGE, "out of range"),
        ("init-paths 17", DEV_SET, one + attr(PARAMS | 0x8000, u32(4, 17)), ACK, errno.ERANGE, "out of range"),
        ("max-paths 513", DEV_SET, one + attr(PARAMS | 0x8000, u32(5, 513)), ACK, errno.ERANGE, "out of range"),
        ("one good and one bad parameter", DEV_SET, one + attr(PARAMS | 0x8000, u32(2, 7) + u32(1, 0)), ACK,
         errno.ERANGE, "out of range"),
        ("a dump of what cannot be dumped", DEV_SET, one, DUMP, errno.EOPNOTSUPP, ""),
        ("a command that is not known", 99, b"", ACK, errno.EOPNOTSUPP, ""),
        ("no connection is named", CONN_GET, b"", ACK, errno.EINVAL, "id is needed"),
        ("connection 0", CONN_GET, u32(CID, 0), ACK, errno.ERANGE, "out of range"),
        ("an unknown connection", CONN_GET, u32(CID, 1), ACK, errno.ENOENT, "no such connection"),
        ("a connection of an unknown device", CONN_GET, text(NAME, "nosuch0") + u32(CID, 1), ACK, errno.ENODEV,
         "no such"),
        ("a dump of an unknown device's", CONN_GET, text(NAME, "nosuch0"), DUMP, errno.ENODEV, "no such"),
        ("a dump of an unknown connection", PATH_GET, u32(CID, 1), DUMP, errno.ENOENT, "no such connection"),
        ("a dump of one path", PATH_GET, u32(PATH_ID, 1), DUMP, errno.EINVAL, "all paths"),
        ("path 512", PATH_GET, u32(CID, 1) + u32(PATH_ID, 512), ACK, errno.ERANGE, "out of range"),
    ]
    conns = family.ask(CONN_GET, flags=DUMP)[0]
    cid = number(attrs(conns[0][4:])[CID])
    cases += [
        ("no path is named", PATH_GET, u32(CID, cid), ACK, errno.EINVAL, "path's id is needed"),
        ("a path that it has not", PATH_GET, u32(CID, cid) + u32(PATH_ID, 511), ACK, errno.ENOENT, "no such path"),
    ]
    for name, cmd, body, flags, code, said in cases:
        _, end = family.ask(cmd, body, flags)
        good = end[0] == code and said in end[1]
        print(f"ok {name}" if good else f"nok {name}: got {end}, wanted {(code, said)}")
    # cut off in the header of an attribute, and in the family's header
    for name, cut in ("half an attribute", 5), ("half a header", 14):
        _, end = family.ask(DEV_GET, u32(INDEX, index), cut=cut)
        print(f"ok {name}" if end[0] == errno.EINVAL else f"nok {name}: got {end}")
    params = attrs(attrs(family.ask(DEV_GET, one)[0][0][4:])[PARAMS])
    print("nok all or nothing is set" if number(params[2]) == 7 else "ok all or nothing is set")


def say(good, name, why=""):
    print(f"ok {name}" if good else f"nok {name}: {why}")


def dump(dev):
    family = Family()
    conns = [attrs(m[4:]) for m in family.ask(CONN_GET, flags=DUMP)[0]]
    cids = [number(c[CID]) for c in conns]
    say(len(cids) > 1 and cids == sorted(set(cids)), "connections come once, in order", cids)
    wanted = sum(number(c[PATHS]) for c in conns)
    parts, paths, end, small = 0, [], None, Family(SMALL)
    small.send(small.id, PATH_GET, text(NAME, dev), DUMP)
    while end is None:
        messages, end = small.part()
        paths += [attrs(m[4:]) for m in messages]
        parts += 1
    keys = [(number(p[CID]), number(p[PATH_ID])) for p in paths]
    say(parts > 2, "a dump of several parts", parts)
    say(end[0] == 0 and keys == sorted(set(keys)), "paths come once, in order", (end, keys))
    say(len(keys) == wanted, "all paths come", f"{len(keys)} of {wanted}")
    messages, _ = family.ask(PATH_GET, u32(CID, cids[-1]), DUMP)
    say({number(attrs(m[4:])[CID]) for m in messages} == {cids[-1]}, "a dump of one connection's paths", len(messages))
    messages, _ = family.ask(PATH_GET, u32(CID, keys[-1][0]) + u32(PATH_ID, keys[-1][1]))
    say(len(messages) == 1, "one path", len(messages))
    messages, _ = family.ask(CONN_GET, u32(CID, cids[0]))
    say(len(messages) == 1, "one connection", len(messages))


def held(ready, go):
    family = Family(SMALL)
    family.send(family.id, PATH_GET, b"", DUMP)
    _, end = family.part()
    open(ready, "w").close()
    while not os.path.exists(go):
        time.sleep(0.05)
    while end is None:
        _, end = family.part()
    print(end)
    sys.exit(end[0] != 0)


def loop():
    state = {"stop": False}
    signal.signal(signal.SIGTERM, lambda *_: state.update(stop=True))
    family, rounds = Family(SMALL), 0
    while not state["stop"]:
        for cmd in DEV_GET, CONN_GET, PATH_GET:
            _, end = family.ask(cmd, flags=DUMP)
            if end[0]:
                print(f"command {cmd}: {end}")
                sys.exit(1)
        rounds += 1
        time.sleep(0.02)
    print(f"{rounds} rounds")
    sys.exit(rounds == 0)


{"bad": bad, "dump": dump, "held": held, "loop": loop}[sys.argv[1]](*sys.argv[2:])
