# Greenlets that are switched out in different ways, one that has not begun, one that has ended, and one that runs and dies.
import greenlet, json, os, sys

main = greenlet.getcurrent()


def leaf(n):
    main.switch(n)


def plain(n):
    deep(n)


def deep(n):
    leaf(n)


def numbers(n):
    yield leaf(n)


def in_generator():
    return list(numbers(5))


def nested():
    child = greenlet.greenlet(in_generator)
    made.append(child)
    child.switch()


def in_c():
    sorted([2, 1], key=lambda v: leaf(v))


def last():
    out = {}
    for g in made + [main]:
        calls, f = [], g.gr_frame
        while f:
            calls.append("%s:%d" % (f.f_code.co_name, f.f_lineno))
            f = f.f_back
        out[hex(id(g))] = [calls, hex(id(g.parent)) if g.parent else ""]
    out[hex(id(greenlet.getcurrent()))] = [["running"], hex(id(main))]
    out[hex(id(fresh))] = [["not started"], hex(id(main))]
    with open(sys.argv[1] + ".json", "w") as f:
        json.dump(out, f)
    os.abort()


made = [greenlet.greenlet(f) for f in (plain, in_generator, nested, in_c)]
made[0].switch(1)
for g in made[1:4]:
    g.switch()
fresh = greenlet.greenlet(plain)
ended = greenlet.greenlet(lambda: 1)
ended.switch()
greenlet.greenlet(last).switch()
