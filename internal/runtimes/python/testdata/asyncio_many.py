# More tasks than a set has entries in its first 64K, all but one waiting for the same lock.
import asyncio, os, sys


async def enters(l):
    async with l:
        await asyncio.sleep(1000)


async def main():
    l = asyncio.Lock()
    keep = [asyncio.create_task(enters(l)) for _ in range(20000)]
    await asyncio.sleep(1)
    open(sys.argv[1] + ".json", "w").close()
    os.abort()


asyncio.run(main())
