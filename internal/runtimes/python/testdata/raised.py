# A program that aborts while it handles an exception, which came of two others.
import os, sys
def charge(n):
    return 1 // n
def pay(n):
    try:
        {}["a"]
    except KeyError as k:
        try:
            charge(n)
        except ZeroDivisionError as e:
            try:
                raise RuntimeError("payment", 3) from e
            except RuntimeError:
                open(sys.argv[1] + ".json", "w").close()
                os.abort()
pay(0)
