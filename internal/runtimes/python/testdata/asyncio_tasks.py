# Tasks that await each other, a future and a sleep; the process dies in one of them.
import asyncio, os, sys


async def inner(f):
    await f


async def waits_future(f):
    await inner(f)


async def waits_task(t):
    await t


async def sleeps():
    await asyncio.sleep(1000)


async def numbers():
    yield await inner(asyncio.get_running_loop().create_future())


async def iterates():
    async for _ in numbers():
        pass


async def gathers(*those):
    await asyncio.gather(*those)


async def grouped():
    async with asyncio.TaskGroup() as g:
        g.create_task(inner(asyncio.get_running_loop().create_future()), name="H")


async def ends():
    pass


async def dies():
    await asyncio.sleep(0.1)
    open(sys.argv[1] + ".json", "w").close()
    os.abort()


async def main():
    f = asyncio.get_running_loop().create_future()
    a = asyncio.create_task(waits_future(f), name="A")
    b = asyncio.create_task(waits_task(a), name="B")
    c = asyncio.create_task(sleeps(), name="C")
    e = asyncio.create_task(iterates(), name="E")
    asyncio.create_task(gathers(a, e, asyncio.create_task(ends(), name="ended")), name="F")
    asyncio.create_task(grouped(), name="G")
    d = asyncio.create_task(dies(), name="D")
    await d


asyncio.run(main())
