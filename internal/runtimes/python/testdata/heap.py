# Holds objects of many types, writes down how many there are of each, how many bytes they take with what belongs to them, and dies.
import array
import collections
import gc
import os
import signal
import sys


class Node:
    def __init__(self, i):
        self.i = i
        self.next = None


class Slots:
    __slots__ = ("a", "b")


class Stack(list):
    pass


class Index(dict):
    pass


class Outer:
    class Inner:
        pass


class Text(str):
    pass


class Lost:
    pass


class Passing:
    pass


nodes = [Node(i) for i in range(2000)]
slots = [Slots() for _ in range(500)]
stacks = [Stack([1, 2]) for _ in range(70)]
indexes = [Index(a=1) for _ in range(60)]
inner = [Outer.Inner() for _ in range(50)]
texts = [Text("text %d" % i) for i in range(40)]
dicts = [{"k": [i]} for i in range(300)]
plain = [{"k": i} for i in range(200)]
sets = [set(range(i % 40)) for i in range(100)]
frozen = [frozenset([i, i + 1]) for i in range(90)]
tuples = [(i, str(i)) for i in range(400)]
ints = [i + 1000000 for i in range(5000)]
floats = [i * 1.5 for i in range(1200)]
wide = ["\u20ac%d" % i for i in range(80)]
raw = [b"bytes %d" % i for i in range(30)]
mutable = [bytearray(100) for _ in range(20)]
numbers = [array.array("d", [1.0] * 10) for _ in range(15)]
queue = collections.deque(range(1000))
named = collections.OrderedDict((str(i), i) for i in range(100))
types = [int, str, float, Node] * 10
big = list(range(100000))


def lose(n):
    for _ in range(n):
        one = Lost()
        one.me = one


def name(t):
    return t.__qualname__ if t.__module__ == "builtins" else t.__module__ + "." + t.__qualname__


def census():
    counts, seen, rest = {}, set(), gc.get_objects()
    seen.update((id(counts), id(seen), id(rest), id(sys._getframe())))
    while rest:
        o = rest.pop()
        if id(o) in seen:
            continue
        seen.add(id(o))
        n = name(type(o))
        c = counts.setdefault(n, [0, 0])
        seen.add(id(c))
        c[0] += 1
        c[1] += sys.getsizeof(o)
        rest.extend(gc.get_referents(o))
    with open(sys.argv[1], "w") as out:
        for n, c in sorted(counts.items()):
            out.write("%d %d %s\n" % (c[0], c[1], n))
        out.write("where %#x\n" % id(nodes[7]))


def deep(n):
    # What is held by no variable is on the stack of a call, which may be between two arenas.
    if n > 0:
        return [Passing()] + deep(n - 1)
    more = [Node(i) for i in range(30000)]
    census()
    os.kill(os.getpid(), signal.SIGABRT)
    return more


def main():
    held = [Node(i) for i in range(500)]
    gc.collect()
    gc.disable()
    lose(200)
    deep(800)
    return held


main()
