# Four threads want the lock of the interpreter; the one that has it aborts.
import ctypes, sys, threading, time
def busy():
    while True:
        pass
open(sys.argv[1] + ".json", "w").close()
abort = ctypes.PyDLL(None).abort
for i in range(4):
    threading.Thread(target=busy, daemon=True).start()
time.sleep(0.3)
abort()
