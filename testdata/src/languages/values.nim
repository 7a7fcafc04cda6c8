# Nim: containers of its library, when a write to nil ends the program.
import std/[tables, sets, deques, options, strutils]
type
  Colour = enum red, green, blue
  Point = object
    x, y: float
  Shape = ref object of RootObj
    id: int
    name: string
  Circle = ref object of Shape
    radius: float
  Kind = enum kInt, kStr
  Node = object
    case kind: Kind
    of kInt: i: int
    of kStr: s: string
var counter = 42
proc crash(depth: int, total: var int, shape: Shape, rows: openArray[int]): int =
  var s = "héllo"
  var empty = ""
  var list = @[7, 8, 9]
  var names = @["a", "bc"]
  var nothing: seq[int]
  var tab = {"one": 1, "two": 2}.toTable
  var otab = {"z": 1, "y": 2}.toOrderedTable
  var rtab = newTable[int, string]()
  rtab[5] = "five"
  var hs = toHashSet([1, 2, 3])
  var dq = [1, 2, 3].toDeque
  dq.addLast 4
  dq.popFirst
  var o1 = some(5)
  var o2 = none(int)
  var o3 = some("text")
  var c = blue
  var cs = {red, blue}
  var n = Node(kind: kStr, s: "node")
  var tup = (1, "two", 3.0)
  var ch = 'x'
  var b: uint8 = 200
  var flag = true
  var p: ptr int = nil
  var nested = @[@[1], @[2, 3]]
  p[] = depth
  echo s, empty, list, names, nothing, tab, otab, rtab[5], hs, dq, o1, o2, o3, c, cs, n.s, tup, ch, b, flag, nested, total, shape.name, rows
  return 0
var t = 0
discard crash(1, t, Circle(id: 7, name: "round", radius: 1.5), [1, 2])
