# fatal.py HOW ends in Py_FatalError: called by ctypes, or by a function of the interpreter that finds no thread state.
import ctypes
import sys


def doom():
    if sys.argv[1] == "text":
        ctypes.pythonapi.Py_FatalError(b"the shop is closed")
    ctypes.PyDLL(None).PyEval_RestoreThread(None)


doom()
