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


async def dies():
    await asyncio.sleep(0.1)
    open(sys.argv[1] + ".json", "w").close()
    os.abort()


async def main():
    f = asyncio.get_running_loop().create_future()
    a = asyncio.create_task(waits_future(f), name="A")
    b = asyncio.create_task(waits_task(a), name="B")
    c = asyncio.create_task(sleeps(), name="C")
    d = asyncio.create_task(dies(), name="D")
    await d


asyncio.run(main())
