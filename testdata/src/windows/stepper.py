# Records what chain.c, compiled with RETURNS and carried by carrier.c under qemu, does at
# each instruction from the call of run on, as stepper.c does on Windows: gdb sources this.
import gdb
import os

entry, out = int(os.environ["ENTRY"], 0), open(os.environ["OUT"], "w")
gdb.execute("break *%#x" % entry)
gdb.execute("continue")
frame = gdb.selected_frame
names = ["x%d" % i for i in range(31)] + ["sp"]
seen, known, calls, last = {}, {}, [], 0
top = int(frame().read_register("sp"))
for _ in range(20000):
    regs = {n: int(frame().read_register(n)) & (1 << 64) - 1 for n in names}
    for n in ["d%d" % i for i in range(8, 16)]:  # what calls preserve of vectors
        regs[n] = int(frame().read_register(n)["u"])
    pc = int(frame().read_register("pc"))
    while calls and (pc, regs["sp"]) == calls[-1]:
        calls.pop()
        out.write("t\n")
        if not calls:
            raise SystemExit
    entered = last and regs["x30"] == last + 4 and pc != last + 4
    if entered:
        calls.append((regs["x30"], regs["sp"]))
    if calls:
        for n in regs:
            if seen.get(n) != regs[n]:
                seen[n] = regs[n]
                out.write("r %s %x\n" % (n, regs[n]))
        memory = bytes(gdb.selected_inferior().read_memory(regs["sp"], top - regs["sp"])) if top > regs["sp"] else b""
        for at in range(0, len(memory), 8):
            word, where = int.from_bytes(memory[at:at + 8], "little"), regs["sp"] + at
            if known.get(where, 0) != word:
                known[where] = word
                out.write("m %x %x\n" % (where, word))
        if entered:
            out.write("c %x %x\n" % calls[-1])
        out.write("i %x\n" % pc)
    last = pc
    gdb.execute("stepi", to_string=True)
raise SystemExit("it does not end")
