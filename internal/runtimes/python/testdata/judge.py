# A program with everything that the judge looks at; then faulthandler tells, and the process dies.
import asyncio, faulthandler, json, os, sys, threading, time
here = []


def deep(n, then):
    if n:
        return deep(n - 1, then)
    return then()


class Key:
    def __init__(self, then):
        self.then = then

    def __lt__(self, other):  # C calls Python
        return self.then()


class Shop:
    rate = 7

    def pay(self, amount, *rest, note="none", **more):
        local = {"amount": amount}
        return [x for x in sorted([Key(lambda: self.inner(amount)), Key(lambda: self.inner(amount))])]

    def inner(self, amount):
        try:
            raise ValueError(
                "no money: %s" % amount
            )
        except ValueError:
            try:
                return 1 / 0
            except ZeroDivisionError:
                return list(map(lambda v: next(numbers(v)), [amount]))


def numbers(v):
    yield deep(900 if sys.argv[2:] == ["deep"] else 20, lambda: asyncio_part(v))


async def await_it(v):
    return await inner_await(v)


async def inner_await(v):
    (
        last(
            v,
        )
    )


def asyncio_part(v):
    loop = asyncio.new_event_loop()
    loop.run_until_complete(await_it(v))


def worker(n):
    here.append(n)
    with open(os.devnull) as f:
        {x: time.sleep(1000) for x in [n]}


def everything(threads):  # faulthandler stops after 100 calls
    out = []
    for ident, f in threads.items():
        calls = []
        while f:
            if f.f_code.co_name != "everything":
                calls.append([getattr(f.f_code, "co_qualname", f.f_code.co_name), f.f_code.co_filename, f.f_lineno])
            f = f.f_back
        out.append(calls)
    with open(sys.argv[1] + ".json", "w") as f:
        json.dump(out, f)


def last(v):
    with open(sys.argv[1], "w") as f:
        faulthandler.dump_traceback(f, all_threads=True); everything(sys._current_frames()); os.abort()


sys.setrecursionlimit(2000)
for i in range(3):
    threading.Thread(target=worker, args=(i,), daemon=True).start()
while len(here) < 3:
    time.sleep(0.01)
time.sleep(0.2)
Shop().pay(3, 4, 5, note="ü", other=None)
