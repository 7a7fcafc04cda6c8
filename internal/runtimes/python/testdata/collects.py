# A program that aborts while garbage is collected (collects.py SAID), or before that (collects.py SAID not), with another thread that waits.
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
if len(sys.argv) > 2:
    os.abort()
gc.collect()
