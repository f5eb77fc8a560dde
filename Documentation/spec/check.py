#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Does the specification agree with its vectors, with the code and with itself?

    check.py            print every disagreement; exit status 1 if there is one
    check.py --trace    print, as a Markdown table, which file implements, proves or
                        shows each requirement

Checked: requirements are numbered in order, once each, in the section they name, and
contain a word of RFC 2119; vectors quoted in the text exist with these bytes; vectors,
code and tests cite requirements that exist; registries and constants in the text are
those of wire.h.
"""
import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

SPEC = Path(__file__).resolve().parent
ROOT = SPEC.parent.parent
KEYWORD = re.compile(r"\b(MUST|SHOULD|MAY)\b")
DEFINITION = re.compile(r"^\*\*MR-(\d+)\.(\d+)-(\d\d)\.\*\* ", re.M)
# MR-6.1-03, MR-6.1-* (some of the section), MR-4.* (some of the chapter), MR-2.3-03 .. 07
CITATION = re.compile(
    r"\bMR-(?P<chapter>\d+)\.(?:(?P<all>\*)|(?P<section>\d+)-(?:(?P<some>\*)|"
    r"(?P<number>\d\d)(?:[ \t]*\.\.[ \t]*(?P<last>\d\d))?))")
SOURCES = (".c", ".h", ".cc", ".sh", ".py", ".lua", ".md", ".json")

problems = []


def problem(where, what):
    problems.append(f"{where}: {what}")


def read_requirements():
    """{(chapter, section, number): text}, checked for order and place."""
    found = {}
    for path in sorted(SPEC.glob("[0-9][0-9]-*.md")):
        text = path.read_text()
        section, last = None, defaultdict(int)
        for block in re.split(r"\n\s*\n", text):
            head = re.match(r"^## (\d+)\.(\d+) ", block.strip())
            if head:
                section = (int(head[1]), int(head[2]))
            match = DEFINITION.match(block.strip())
            if not match:
                if re.match(r"\**MR-", block.strip()):
                    problem(path.name, f"not a requirement's form: {block.strip()[:40]}")
                continue
            key = tuple(int(n) for n in match.groups())
            name = "MR-%d.%d-%02d" % key
            if key in found:
                problem(path.name, f"{name} is there twice")
            if key[:2] != section:
                problem(path.name, f"{name} stands in section {section}")
            if key[2] <= last[section]:
                problem(path.name, f"{name} is out of order")
            if not KEYWORD.search(block):
                problem(path.name, f"{name} says neither MUST, SHOULD nor MAY")
            last[section] = key[2]
            found[key] = " ".join(block.split())
    return found


def cited(text):
    """(label, predicate on keys) for each citation in @text."""
    for m in CITATION.finditer(text):
        chapter = int(m["chapter"])
        if m["all"]:
            yield m[0], [(chapter, None, None)]
        elif m["some"]:
            yield m[0], [(chapter, int(m["section"]), None)]
        else:
            first = int(m["number"])
            for n in range(first, int(m["last"] or first) + 1):
                yield m[0], [(chapter, int(m["section"]), n)]


def matches(pattern, key):
    return all(p is None or p == k for p, k in zip(pattern, key))


def source_files():
    names = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"],
        capture_output=True, text=True, check=False)
    if names.returncode == 0:
        files = [ROOT / n for n in names.stdout.splitlines()]
    else:  # an unpacked archive
        files = [p for p in ROOT.rglob("*") if "build" not in p.parts]
    return [f for f in files if f.suffix in SOURCES and f.is_file() and f != Path(__file__).resolve()]


def kind(path):
    if SPEC / "vectors" in path.parents:
        return "vectors"
    if SPEC in path.parents:
        return "text"
    if re.search(r"_test\.(cc|c|h)$|_kunit\.c$", path.name) or "selftests" in path.parts or \
       "conform" in path.parts or "kunit" in path.parts:
        return "tests"
    return "code"


def read_citations(requirements):
    """{key: {kind: {file}}}; a citation of a whole section counts for none of its members."""
    trace = defaultdict(lambda: defaultdict(set))
    for path in source_files():
        for label, patterns in cited(path.read_text(errors="replace")):
            for pattern in patterns:
                hits = [k for k in requirements if matches(pattern, k)]
                if not hits:
                    problem(path.relative_to(ROOT), f"cites {label}, which does not exist")
                elif None not in pattern:
                    trace[hits[0]][kind(path)].add(path.name)
    return trace


def read_vectors():
    vectors = {}
    for path in sorted((SPEC / "vectors").glob("*.json")):
        for v in json.loads(path.read_text())["vectors"]:
            where = f"{path.name}: {v.get('name')}"
            if v["name"] in vectors:
                problem(where, "name is there twice")
            if not v.get("requirements"):
                problem(where, "names no requirement")
            if not v.get("description"):
                problem(where, "has no description")
            try:
                bytes.fromhex("".join(v["bytes"]))
            except ValueError:
                problem(where, "bytes are not hexadecimal")
            vectors[v["name"]] = v
    return vectors


def check_quotes(vectors):
    for path in sorted(SPEC.glob("*.md")):
        for m in re.finditer(r"^```vector (\S+)\n(.*?)^```$", path.read_text(), re.M | re.S):
            if m[1] not in vectors:
                problem(path.name, f"quotes vector {m[1]}, which does not exist")
            elif m[2].split() != " ".join(vectors[m[1]]["bytes"]).split():
                problem(path.name, f"quotes other bytes for vector {m[1]} than its file has")


def check_kunit(vectors):
    """Vectors that the KUnit suite of the codec has as strings: "name", ..., "bytes" "bytes"."""
    path = ROOT / "drivers/infiniband/sw/metaroce/kunit/wire_kunit.c"
    found = re.findall(r'"([a-z]+(?:-[a-z0-9]+)+)",[^"]*?((?:"[0-9a-f]+"\s*)+)', path.read_text())
    if not found:
        problem(path.name, "no vector in it")
    for name, text in found:
        if name not in vectors:
            problem(path.name, f"has vector {name}, which does not exist")
        elif re.sub(r'["\s]', "", text) != "".join(vectors[name]["bytes"]).replace(" ", ""):
            problem(path.name, f"has other bytes for vector {name} than its file")


def check_registries():
    """Numbers of enums and constants in wire.h against chapter 11."""
    text = (SPEC / "11-registries.md").read_text()
    header = (ROOT / "include/metaroce/wire.h").read_text()
    core = (ROOT / "include/metaroce/core.h").read_text()

    def table(section):
        body = re.search(rf"^## {re.escape(section)} .*?(?=^## |\Z)", text, re.M | re.S)[0]
        return {m[2]: int(m[1], 0) for m in re.finditer(r"^\| (\w+) \| (\w+) \|", body, re.M)
                if m[1] != "Value"}

    def values(prefix, source=header):
        pattern = rf"\bMROCE_{prefix}(\w+)\s*(?:=\s*|\s)(0x[0-9a-f]+|\d+)\b"
        return {m[1]: int(m[2], 0) for m in re.finditer(pattern, source) if m[1] != "MAX"}

    for section, prefix in (("11.1", "T_"), ("11.2", "OP_"), ("11.3", "F_"), ("11.4", "NAK_"),
                            ("11.5", "REJECT_")):
        want, got = values(prefix), table(section)
        if not want:
            problem("wire.h", f"no MROCE_{prefix}* found")
        for name in sorted(set(want) | set(got)):
            if want.get(name) != got.get(name):
                problem("11-registries.md",
                        f"{section} {name}: text {got.get(name)}, wire.h {want.get(name)}")
    for label, name, source in (("UDP destination port", "UDP_PORT", header),
                                ("Wire version", "WIRE_VERSION", header),
                                ("Bits of the bitvector", "BITMAP_BITS", header),
                                ("Window of connection packet numbers", "WINDOW", core),
                                ("Paths per direction", "MAX_PATHS", core),
                                ("Line", "LINE", header)):
        want = re.search(rf"#define MROCE_{name}\s+(\d+)", source)
        got = re.search(rf"^\| {label} \| (\d+)", text, re.M)
        if not want or not got or want[1] != got[1]:
            problem("11-registries.md", f"{label}: text {got and got[1]}, code {want and want[1]}")


def print_trace(requirements, trace):
    print("| Requirement | Code | Tests | Vectors |")
    print("|---|---|---|---|")
    for key in sorted(requirements):
        row = [", ".join(sorted(trace[key][k])) or "–" for k in ("code", "tests", "vectors")]
        print("| MR-%d.%d-%02d | %s |" % (*key, " | ".join(row)))


def main():
    requirements = read_requirements()
    trace = read_citations(requirements)
    vectors = read_vectors()
    check_quotes(vectors)
    check_kunit(vectors)
    check_registries()
    if "--trace" in sys.argv[1:]:
        print_trace(requirements, trace)
    for p in problems:
        print(p, file=sys.stderr)
    if not problems and "--trace" not in sys.argv[1:]:
        cited_by_code = sum(1 for k in requirements if trace[k]["code"] or trace[k]["tests"])
        print(f"spec: {len(requirements)} requirements ({cited_by_code} cited by code or tests), "
              f"{len(vectors)} vectors, no disagreement")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
