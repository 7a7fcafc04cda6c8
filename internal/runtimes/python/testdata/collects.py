# A program that aborts while garbage is collected (collects.py SAID), before that (collects.py SAID not), or in C without the interpreter's lock
# (collects.py SAID unlocked), with another thread that waits.
import gc, os, sys, threading


class Till:
    def __init__(self):
        self.own = self

    def __del__(self):
        os.abort()


gc.disable()
lock = threading.Lock()
lock.acquire()
threading.Thread(target=lock.acquire, daemon=True).start()
Till()
open(sys.argv[1] + ".json", "w").close()
if sys.argv[2:] == ["unlocked"]:
    import ctypes

    ctypes.CDLL(None).abort()
if len(sys.argv) > 2:
    os.abort()
gc.collect()
