# Nim: a function that calls itself writes to nil. Stack: crash twice, main, NimMainModule, NimMainInner, NimMain, main.
import std/tables
type
  Colour = enum red, green, blue
  Point = object
    x, y: float
  Shape = ref object of RootObj
    id: int
    name: string
  Circle = ref object of Shape
    radius: float
    centre: Point
  Box[T] = object
    item: T
var counter = 42
method area(s: Shape): float {.base.} = 0.0
method area(s: Circle): float = s.radius * s.radius * 3.0
proc `+`(a, b: Point): Point = Point(x: a.x + b.x, y: a.y + b.y)
proc generic[T](b: Box[T]): T = b.item
proc crash(depth: int, total: var int, shape: Circle) =
  var list = @[7, 8, 9]
  var arr: array[3, int] = [1, 2, 3]
  var tab = {"one": 1, "two": 2}.toTable
  var c = blue
  var box = Box[int](item: 99)
  var p: ptr int = nil
  var sum = shape.centre + Point(x: 1, y: 1)
  var none: Shape = nil
  if depth > 0:
    total += counter
    crash(depth - 1, total, shape)
  else:
    p[] = generic(box)
  echo list, arr, tab, c, sum, none == nil, shape.area
proc main() =
  var t = 0
  crash(1, t, Circle(id: 7, name: "round", radius: 1.5, centre: Point(x: 1, y: 2)))
main()
