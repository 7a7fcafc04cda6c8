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
