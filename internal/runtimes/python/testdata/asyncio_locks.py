# Tasks that wait for locks of asyncio and the like, two of them for each other, and who has them; the process dies in the first task.
import asyncio, os, sys

class Guard(asyncio.Lock):
    pass

async def circle(mine, other, ready, both):
    async with mine:
        ready.set()
        await both.wait()
        async with other:
            pass

async def waits(what):
    await what

async def again(l):
    async with l:
        async with l:
            pass

async def manual(l):
    await l.acquire()
    await asyncio.sleep(1000)

async def enters(l):
    async with l:
        await asyncio.sleep(1000)

async def passes(l):
    print(l.locked, await asyncio.sleep(1000))


async def condition(c):
    async with c:
        await c.wait()

async def inside(c, l):
    async with c:
        await asyncio.sleep(0.01)
        await through(l)

async def through(l):
    await asyncio.create_task(enters(l), name="child")

async def limited(mine, other, seconds):
    async with mine:
        await asyncio.sleep(0.01)
        async with asyncio.timeout(seconds):
            async with other:
                pass

async def main():
    loop = asyncio.get_running_loop()
    a, b = asyncio.Lock(), Guard()
    r1, r2, both = asyncio.Event(), asyncio.Event(), asyncio.Event()
    async def t(coro, name):
        keep.append(asyncio.create_task(coro, name=name))
        return keep[-1]
    keep = []
    ta = await t(circle(a, b, r1, both), "A")
    tb = await t(circle(b, a, r2, both), "B")
    await r1.wait(); await r2.wait(); both.set()
    await t(waits(ta), "behind")
    await t(enters(a), "second")
    await t(again(asyncio.Lock()), "again")
    m = asyncio.Lock()
    await t(manual(m), "manual")
    h = asyncio.Lock()
    await t(enters(h), "holds")
    await t(waits(asyncio.Event().wait()), "event")
    s = asyncio.Semaphore(0)
    await t(waits(s.acquire()), "semaphore")
    q = asyncio.Queue(1)
    await t(waits(asyncio.Queue().get()), "get")
    q.put_nowait(1)
    await t(waits(q.put(2)), "put")
    await t(condition(asyncio.Condition()), "condition")
    # a circle of a condition's lock, a lock, and a task that somebody waits for
    c, l = asyncio.Condition(), asyncio.Lock()
    await t(condition(c), "told") # gives the lock back while it waits
    await t(inside(c, l), "inside")
    await t(circle(l, c, asyncio.Event(), both), "around")
    # a circle that a time limit ends, and one that has none
    x, y = asyncio.Lock(), asyncio.Lock()
    await t(limited(x, y, 1000), "limited")
    await t(limited(y, x, None), "to limited")
    v, w = asyncio.Lock(), asyncio.Lock()
    await t(limited(v, w, None), "unlimited")
    await t(limited(w, v, None), "to unlimited")
    g = asyncio.Lock()
    await t(enters(g), "gave")
    await asyncio.sleep(0.05)
    await t(enters(m), "unknown")
    await t(enters(h), "held")
    await t(passes(h), "passes")
    await t(enters(g), "woken")
    await asyncio.sleep(0.05)
    g.release()
    open(sys.argv[1] + ".json", "w").close()
    os.abort()

asyncio.run(main())
