# Python and C call each other three times, then C dies; or without end.
import faulthandler, sys, threading
sys.path.insert(0, ".")
import cross

def last():
    cross.die()

def middle():
    return cross.call(lambda: last())

class Shop:
    def pay(self):
        return [cross.call(middle) for _ in range(1)]

def first():
    yield cross.call(Shop().pay)

def endless():
    cross.call(endless)

if sys.argv[1] == "die":
    faulthandler.enable(file=open("said", "w"), all_threads=True)
    wait = threading.Event()
    started = threading.Event()
    def other():
        started.set()
        wait.wait()
    threading.Thread(target=other, daemon=True).start()
    started.wait()
    list(first())
else:
    sys.setrecursionlimit(10**6)
    endless()
