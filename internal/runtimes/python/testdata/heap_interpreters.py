# Has objects in three interpreters, and dies.
import os
import signal

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters


class Main:
    pass


CODE = """
class Sub: pass
held = [Sub() for _ in range(1234)]
"""
held = [Main() for _ in range(321)]
ids = [interpreters.create() for _ in range(2)]
for i in ids:
    (interpreters.run_string if hasattr(interpreters, "run_string") else interpreters.exec)(i, CODE)
os.kill(os.getpid(), signal.SIGABRT)
