protocol Shape { associatedtype Unit; var area: Double { get set }; func scaled(by factor: Double, _ unit: Unit) throws -> Self; static func make() -> Self }
extension Shape { func twice() throws -> Double { area * 2 } }
enum Fault: Error { case empty(code: Int), broken }
struct Circle: Shape, Hashable {
  typealias Unit = Int
  var r: Double
  var area: Double { get { r * r } set { r = newValue } }
  func scaled(by factor: Double, _ unit: Int) throws -> Circle { if unit == 0 { throw Fault.empty(code: 3) }; return Circle(r: r * factor) }
  static func make() -> Circle { Circle(r: 1) }
  subscript(i: Int, named name: String) -> Double { get { r + Double(i) } set { r = newValue } }
  static func + (a: Circle, b: Circle) -> Circle { Circle(r: a.r + b.r) }
}
class Animal {
  var name: String { willSet { print(newValue) } didSet { print(oldValue) } }
  lazy var tag: String = { "tag " + name }()
  init(name: String) { self.name = name }
  convenience init?(code: Int) { if code < 0 { return nil }; self.init(name: "n\(code)") }
  deinit { print("gone", name) }
  func speak(_ times: Int = 3, loud: Bool) -> String { String(repeating: name, count: times) }
  class Cage<T: Hashable> { var items: [T: Animal] = [:]; func put(_ a: Animal, at key: T) { items[key] = a }; enum State { case open, shut } }
  fileprivate func hidden(x: (Int, label: String)) -> (Int) -> String { { i in "\(i)\(x.label)" } }
}
final class Dog: Animal { override func speak(_ times: Int, loud: Bool) -> String { super.speak(times, loud: loud) + "wuff" } }
func outer<T: Collection, U>(_ c: T, with f: (T.Element) throws -> U) rethrows -> [U] where T.Element: Equatable {
  func inner(_ e: T.Element) throws -> U { try f(e) }
  var list: [U] = []
  for e in c { list.append(try inner(e)) }
  return list
}
@inline(never) func visit(_ n: inout [Int?], _ dict: [String: Set<Int>], any: Any, p: any Error, kind: Animal.Type, _ rest: Int...) -> (Int, String)? { n.append(dict.count); return rest.isEmpty ? nil : (rest[0], "\(any)") }
func local() -> Int {
  struct Local { var n = 1; func show() -> Int { n } }
  return Local().show()
}
private func crash(_ list: [Int], at i: Int) -> Int { list[i] }
func grüße(an straße: String) -> Int { straße.count }
actor Counter { var n = 0; func add(_ k: Int) async -> Int { n += k; return n } }
func work() async throws -> Int { let c = Counter(); async let a = c.add(1); return await a }
infix operator <+>: AdditionPrecedence
func <+> (a: Int, b: Int) -> Int { a &+ b }
prefix func ++ (a: inout Int) -> Int { a += 1; return a }
func pack<each T: Hashable>(_ x: repeat each T) -> Int { 1 }
func opaque() -> some Collection { [1, 2] }
func key() -> KeyPath<Circle, Double> { \Circle.area }
let table: [String: Int] = ["a": 1]
var counter = 0 
@propertyWrapper struct Clamped { var wrappedValue: Int; init(wrappedValue: Int) { self.wrappedValue = min(wrappedValue, 9) } }
struct Settings { @Clamped var level: Int = 12 }
extension Array where Element == Circle { func total() -> Double { reduce(0) { $0 + $1.area } } }
var ns: [Int?] = [1, nil]
print(visit(&ns, ["a": [1]], any: 3, p: Fault.broken, kind: Dog.self, 4, 5) as Any, grüße(an: "hä"), 1 <+> 2, ++counter, pack(1, "a"), opaque().count, Circle.make()[keyPath: key()], table.count, Settings().level, [Circle(r: 2)].total())
let cage = Animal.Cage<String>()
cage.put(Dog(name: "rex"), at: "x")
print(try outer([1, 2, 3]) { $0 + 1 }, cage.items["x"]!.speak(loud: true), Animal(code: 4)!.tag, Animal(name: "q").hidden(x: (1, label: "l"))(3))
var circle = Circle(r: 2); circle[1, named: "z"] = 4
print(try circle.scaled(by: 2, 1).twice(), circle + circle, Set([circle]).count)
print(local(), crash([1, 2, 3], at: Int(CommandLine.arguments.count) + 5))
