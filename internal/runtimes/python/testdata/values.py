# A program with values of all kinds, which prints what it has and dies.
import collections, enum, json, os, sys


class Plain:
    def __init__(self, **kw):
        for k, v in kw.items():
            setattr(self, k, v)


class Fixed:
    __slots__ = ("x", "y")

    def __init__(self):
        self.x, self.y = 1, "two"


class More(Fixed):
    __slots__ = ("z",)

    def __init__(self):
        super().__init__()
        self.z = None


class Sub(dict):
    pass


class Color(enum.Enum):
    RED = 1
    BLUE = "b"


Pair = collections.namedtuple("Pair", "x y")


class Lying(bytearray):
    pass


def shown(v):
    if isinstance(v, (Plain, Fixed)):
        names = getattr(v, "__dict__", None)
        if names is None:
            names = {n: getattr(v, n) for c in type(v).__mro__[::1] for n in getattr(c, "__slots__", ())}
        return "<" + type(v).__name__ + "".join(" %s=%s," % (k, shown(w)) for k, w in names.items()).rstrip(",") + ">"
    if isinstance(v, Sub):
        return "Sub(" + dict.__repr__(v) + ")"
    return repr(v)


def die(zero, small, neg, big, huge, flag, none, f1, f2, f3, f4, f5, c1, c2, s1, s2, s3, s4, s5, b1, e, li, nested, t0, t1, d0, d1, d2, d3, st, fs, p1, p2, fx, mo, sub, ex, cls, *rest, kw=5, **more):
    local = [small, {"k": (1, 2.5)}]
    replaced = swapped
    enums, pair, empty_pair = Color.BLUE, Pair(1, "y"), ()
    queue = collections.deque(range(150))
    few = collections.deque([1, "two"])
    few.rotate(1)
    array, no_array, cut = bytearray(b"xyz\x00"), bytearray(), bytearray(b"abcdef")
    del cut[:3]
    lying = [Lying(b"q")][0:0]
    spans = [range(3), range(1, 10, 2), slice(1, 2), slice(None)]
    unset = None
    del unset
    cell = 17
    fn = lambda: cell
    here = dict(locals())
    raw = Plain(a=1, b="x")  # whose __dict__ nobody asked for
    module = os
    said = {k: shown(v) for k, v in here.items() if k not in ("fn", "here")}
    said["queue"] = "deque([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...])"
    with open(sys.argv[1] + ".json", "w") as f:
        json.dump(said, f)
    f.close(); os.abort()


split = Plain(a=1, b="x")
changed = Plain(a=1, b=2)
changed.__dict__["c"] = [1]
swapped = Plain(a=1)
swapped.__dict__ = {"z": 5}
holes = {1: 1, 2: 2, 3: 3}
del holes[2]
die(0, 42, -7, 1 << 30, -(3 ** 200), True, None, 1.0, -2.5, 1e300, 1e-7, float("inf"), 1j, 2 - 3j,
    "plain", "üñ", "中\n", "\U0001f600'", 'it\'s "x"', b"by\x00\xff'", ..., [1, [2, [3]]], {"a": [{"b": (1,)}]}, (), (1,),
    {}, {"a": 1, "b": "c"}, holes, {i: i for i in range(5)}, {1, 2, 3}, frozenset(["q"]), split, changed, Fixed(), More(), Sub(a=1), ValueError("no", 3), Plain, 8, 9, other="o")
