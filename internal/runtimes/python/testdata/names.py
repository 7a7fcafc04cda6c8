# A program with threads that have names, of which one aborts.
import _thread, os, sys, threading


def waits(lock):
    lock.acquire()


def dies(ready):
    ready.wait()
    open(sys.argv[1] + ".json", "w").close()
    os.abort()


lock, ready = threading.Lock(), threading.Event()
lock.acquire()
threading.Thread(target=waits, args=(lock,), name="a till that is shut for today").start()
threading.Thread(target=waits, args=(lock,), name="caf\u00e9").start()
_thread.start_new_thread(waits, (lock,))
last = threading.Thread(target=dies, args=(ready,))
last.start()
last.name = "renamed"
ready.set()
last.join()
