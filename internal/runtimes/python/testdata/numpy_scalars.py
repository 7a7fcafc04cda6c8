# A program with values of numpy, which prints what it has and dies.
import json, os, sys
import numpy as np


class Lie(np.float64):
    pass


def said(v):
    s = repr(v)
    if s.startswith("np."):  # 2.x: np.float64(1.5), np.True_
        s = s[s.index("(") + 1 : -1] if "(" in s else s[3:-1]
        if isinstance(v, np.complexfloating) and (v.real != 0 or np.signbit(v.real)) and s[0] != "(":
            s = "(" + s + ")"  # np.complex64(1+2j)
    return s


def die(t, f, i8, i16, i32, i64, u8, u16, u32, u64, ll, h, hs, hm, f4, f4s, f4p, f4q, f4r, d, db, dz, inf, nan, c8, c8i, c16, c16z, listed):
    here = dict(locals())
    with open(sys.argv[1] + ".json", "w") as out:
        json.dump({k: said(v) for k, v in here.items() if k != "listed"}, out)
    lie = type("numpy.int8", (), {"__slots__": ("x",)})()  # as large as numpy's
    lie.x = 7
    sub = Lie(2.5)
    os.abort()


die(np.bool_(True), np.bool_(False), np.int8(-128), np.int16(-32768), np.int32(-2147483648), np.int64(-(2**63)), np.uint8(255), np.uint16(65535),
    np.uint32(4294967295), np.uint64(2**64 - 1), np.longlong(-5), np.float16(0.1), np.float16(6e-8), np.float16(0.015625), np.float32(0.1),
    np.float32(1e-4), np.float32(2.0**-12), np.float32(1e17), np.float32(123456.0), np.float64(0.1), np.float64(1e16), np.float64(-0.0), np.float32("inf"),
    np.float16("nan"), np.complex64(0.1 - 2j), np.complex64(1j), np.complex128(complex(1e300, float("nan"))), np.complex128(complex(-0.0, -0.0)),
    [np.float32(0.1), np.int8(3), (np.bool_(False),)])
