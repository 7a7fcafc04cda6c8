# A small program of which cores are kept: Python and C that call each other, values, an exception, tasks where they are read.
import os, sys, threading, time

here = []


class Point:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


class Key:
    def __init__(self, then):
        self.then = then

    def __lt__(self, other):
        return self.then()


def numbers(v):
    yield last(v, big=1 << 70, name="ü", more=[1.5, None, (True,)])


def pay(amount, *rest):
    point, half = Point(1, amount), {"a": b"\x00b"}
    try:
        raise ValueError("no money", amount)
    except ValueError:
        then = Key(lambda: next(numbers(half)))
        return sorted([then, then])


def last(v, big, name, more):
    with open(sys.argv[1] + ".json", "w") as f:
        f.write("{}")
    here.append(v)
    os.abort()


def worker():
    here.append(0)
    time.sleep(1000)


def main():
    threading.Thread(target=worker, daemon=True).start()
    while not here:
        time.sleep(0.01)
    time.sleep(0.1)
    pay(3, 4)


if sys.version_info[:2] in ((3, 12), (3, 14)) and os.name == "posix":
    import asyncio

    async def other(event):
        await event.wait()

    async def both():
        waits = asyncio.create_task(other(asyncio.Event()), name="waits")
        await asyncio.sleep(0)
        main()

    asyncio.run(both())
main()
