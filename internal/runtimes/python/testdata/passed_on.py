# A bad address that is handed on through calls to a function of C, by ctypes. The second argument says how.
import ctypes, os, sys

libc = ctypes.CDLL(None)
libc.strlen.argtypes = [ctypes.c_void_p]


def length(text, at):
    return libc.strlen(text)


def twice(text):
    return length(text, 5) * 2


def copied(text):
    other = text
    return length(other, other)


class Label:
    text = None

    def width(self):
        return twice(self.text)

    def both(self):
        return length(self.text, self.text)


open(sys.argv[1] + ".json", "w").close()
if sys.argv[2] == "handed":
    Label().width()
elif sys.argv[2] == "number":
    twice(77)
elif sys.argv[2] == "twice":
    Label().both()
else:
    copied(None)
