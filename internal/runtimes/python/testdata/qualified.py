# A chain of methods of every sort, and the end. Each is called by the one before.
import functools
import os


def plain():
    with open("said.json", "w"):
        os.abort()


def wraps(f):
    @functools.wraps(f)
    def wrapper(self):
        return f(self)
    return wrapper


class Base(object):
    def inherited(self):
        self.lost(self)

    @staticmethod
    def lost(object):
        del object
        plain()


class Reader(Base):
    class Inner(object):
        def deep(self):
            self.reader.inherited()

    def renamed(self):
        inner = self.Inner()
        inner.reader = self
        inner.deep()

    alias = renamed

    def __hidden(self):
        self.alias()

    def closed(self):
        def call():
            return self
        call().__hidden()

    @property
    def value(self):
        self.closed()

    @value.setter
    def value(self, v):
        self.value

    @classmethod
    def make(cls):
        cls().value = 1

    @wraps
    def decorated(self):
        self.make()

    def inherited(self):
        super(Reader, self).inherited()

    def again(self, last):
        if last:
            self.decorated()
        else:
            me = self
            self = None
            me.again(True)

    def __init__(self, start=False):
        if start:
            self.again(False)


Reader(True)
