# The main thread waits for the end of one that waits for a lock.
import os, sys, threading, time

lock = threading.Lock()
lock.acquire()


def wait():
    lock.acquire()


def watch():
    time.sleep(0.5)
    open(sys.argv[1] + ".json", "w").close()
    os.abort()


threading.Thread(target=watch, daemon=True).start()
t = threading.Thread(target=wait, daemon=True)
t.start()
if sys.argv[2] == "timed":
    t.join(1000)
t.join()
