# Two threads that have an RLock each and wait for the other's, and one that waits for a Lock.
import os, sys, threading, time

a, b, c = threading.RLock(), threading.RLock(), threading.Lock()
ready = threading.Barrier(3)


def first():
    with a:
        ready.wait()
        with b:
            pass


def second():
    with b:
        ready.wait()
        a.acquire()


for f in first, second, c.acquire:
    c.acquire(False)
    threading.Thread(target=f, daemon=True).start()
ready.wait()
time.sleep(0.3)
open(sys.argv[1] + ".json", "w").close()
os.abort()
