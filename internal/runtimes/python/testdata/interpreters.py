# Threads that run interpreters of their own, which the first thread has made, and call back and forth.
import os, sys, threading, time

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

code = """
def deep(n, what):
    import time
    if n:
        return deep(n - 1, what)
    time.sleep(1000)


deep(3, "sub")
"""


def run(which):
    if hasattr(interpreters, "run_string"):
        interpreters.run_string(which, code)
    else:
        interpreters.exec(which, code)


for _ in range(2):
    threading.Thread(target=run, args=(interpreters.create(),), daemon=True).start()
time.sleep(1)
open(sys.argv[1] + ".json", "w").close()
os.abort()
