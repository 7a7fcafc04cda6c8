# Puts what jitlayout.c printed for each version into a table: each layout once, the youngest first, with the day since which it is.
import glob
import sys

layouts, sets, rows = {}, [], {}
for name in sorted(glob.glob("out-*"), key=lambda n: n.split("-")[2:]):
    _, gc64, y, m, d, _ = name.split("-")
    lines = [line.strip() for line in open(name)]
    ops = " ".join(line[3:] for line in lines if line.startswith("op "))
    if ops not in sets:
        sets.append(ops)
    fields = dict(line.split() for line in lines if not line.startswith("op "))
    fields["values.narrow"] = "0" if gc64 == "ENABLE" else "1"
    fields["opcodes"] = str(sets.index(ops))
    key = tuple(sorted(fields.items()))
    layouts.setdefault(key, "%s-%s-%s:%s" % (y, m, d, "64" if gc64 == "ENABLE" else "32"))
columns = sorted(layouts.items(), key=lambda x: x[1], reverse=True)
with open(sys.argv[1] + "/jitlayouts.txt", "w") as out:
    print("# Where LuaJIT 2.1 keeps things on x86-64: offsets in bytes; n if it is a reference of 4 bytes; - if a version does not have it. Made by", file=out)
    print("# testdata/jitlayouts.sh. A column is a layout: the day of the first commit that has it, and whether references have 64 bits (GC64).", file=out)
    print("field", *(name for _, name in columns), file=out)
    tables = [dict(key) for key, _ in columns]
    for f in sorted({f for t in tables for f in t}):
        print(f, *(t.get(f, "-") for t in tables), file=out)
    for i, ops in enumerate(sets):
        print("instructions", i, ops, file=out)
