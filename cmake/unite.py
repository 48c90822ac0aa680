#!/usr/bin/env python3
"""Which source files can be compiled together, and which cannot: cmake/unity.cmake asks.

Reads lines "TARGET<tab>FILE" from the standard input and writes a script of CMake that puts them in groups so that each
file means in its group what it means alone: they have the same using-directives; no name of one's anonymous namespace
(or a macro) is a word of another, or declared by its headers; and no alias or using-declaration is of a name that
another uses without it (an alias: or its headers). Run it in the root of the sources. Files keep their order; nothing
but their text decides.
"""
import functools
import os
import re
import sys

MOST_FILES = 12       # of a group
MOST_CHARACTERS = 60_000

WORD = re.compile(r"\b[A-Za-z_]\w*")
UNQUALIFIED = re.compile(r"(?<![:\w])[A-Za-z_]\w*")
TYPE = re.compile(r"(?:struct|class|union|concept|enum(?: class)?) (\w+)")
ALIAS = re.compile(r"(?:using|namespace) (\w+) = .*")
USING = re.compile(r"using (?!namespace\b)[\w:]*?(\w+);")
FUNCTION = re.compile(r"[\w:<>,&*\[\] ]*?[\w>&*\]] ?[&* ]+(\w+)\(")
VARIABLE = re.compile(r"(?:[\w:<>,&*() ]|\[\w*\])*?[ &*](\w+)(?:\[[^\]]*\])* ?(?:=|\{|;)")
MORE = re.compile(r", (\w+) = ")
MACRO = re.compile(r"#define (\w+)")
INCLUDE = re.compile(r'^#include "(.*)"', re.MULTILINE)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def declared(line):  # names, by a line of a namespace
    match = line[:1].isalpha() and (TYPE.match(line) or FUNCTION.match(line) or VARIABLE.match(line))
    return [match[1]] + (MORE.findall(line) if " = " in line else []) if match else []


@functools.cache
def header(path):  # its words, what it declares, and what it includes
    text = read(path) if os.path.exists(path) else ""  # generated later, or beside the file that includes it
    return (frozenset(WORD.findall(text)), frozenset(name for line in text.splitlines() for name in declared(line)),
            INCLUDE.findall(text))


def headers(includes):  # (words, declared) of each, and of those that they include
    known = set()
    while includes := [path for path in dict.fromkeys(includes) if path not in known]:
        known.update(includes)
        for path in includes:
            yield header(path)[:2]
        includes = [path for of in includes for path in header(of)[2]]


class Source:
    def __init__(self, path):
        text = read(path)
        self.size = len(text)
        # A macro before an #include is for that header; a group has included it already.
        self.alone = "#define" in text[:text.rfind("#include")]
        self.words = set(WORD.findall(text))
        self.unqualified = set(UNQUALIFIED.findall(text))
        of_headers = list(headers(INCLUDE.findall(text)))
        self.words_with_headers = self.words.union(*(words for words, _ in of_headers))
        self.taken = self.words.union(*(names for _, names in of_headers))
        self.directives = frozenset(line for line in text.splitlines() if line.startswith("using namespace "))
        self.names = set()  # of the anonymous namespace, and macros
        self.aliases, self.usings = {}, {}  # name: the line, which may stand in several files
        private = False
        for line in text.splitlines():
            if line == "namespace {":
                private = True
            elif line.startswith("}  // namespace"):
                private = False
            else:
                self.note(line, private)

    def note(self, line, private):
        if match := MACRO.match(line):
            self.names.add(match[1])
        elif match := USING.match(line):
            self.usings[match[1]] = line
        elif match := ALIAS.match(line):
            self.aliases[match[1]] = line
        elif private or line.startswith("static "):
            self.names.update(declared(line))


class Group:
    def __init__(self):
        self.paths, self.sources, self.size = [], [], 0

    def takes(self, source):
        return (len(self.paths) < MOST_FILES and self.size + source.size <= MOST_CHARACTERS
                and all(apart(source, other) and apart(other, source) for other in self.sources))

    def add(self, path, source):
        self.paths.append(path)
        self.sources.append(source)
        self.size += source.size


def apart(one, other):
    return (not one.alone and one.directives == other.directives
            and one.names.isdisjoint(other.taken)
            and all(other.aliases.get(name) == line for name, line in one.aliases.items()
                    if name in other.words_with_headers)
            and all(other.usings.get(name) == line for name, line in one.usings.items() if name in other.unqualified))


def main():
    groups = {}
    for line in sys.stdin:
        target, path = line.rstrip("\n").split("\t")
        source = Source(path)
        of_target = groups.setdefault(target, [])
        group = next((g for g in of_target if g.takes(source)), None)
        if group is None:
            group = Group()
            of_target.append(group)
        group.add(path, source)
    for target, of_target in groups.items():
        united = [group for group in of_target if len(group.paths) > 1]
        if united:
            print(f"set_target_properties({target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)")
        for number, group in enumerate(united):
            files = " ".join(f'"{path}"' for path in group.paths)
            print(f"set_source_files_properties({files} TARGET_DIRECTORY {target} PROPERTIES UNITY_GROUP {number})")


main()
