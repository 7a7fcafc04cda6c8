# Calls itself in many ways, writes what Ruby says of its calls, and dies. TestJudge compares that with what corewalk finds in the core.
require "fiddle" if ARGV[1] == "fiddle"

$outer = []

def spell(l)
  "#{l.label}\t#{l.path}\t#{l.lineno}"
end

def dies(*)
  local = "text"
  said = caller_locations(0).map { |l| spell(l) } + $outer
  (Thread.list - [Thread.current]).each { |t| said << "thread #{t.name}" << (t.backtrace_locations || []).map { |l| spell(l) } }
  File.write("said", said.flatten.join("\n") + "\n")
  case ARGV[1]
  when "fiddle" then Fiddle::Pointer.new(8)[0, 8]
  else Process.kill(:ABRT, $$); sleep 5
  end
end

# Remembers the calls of who resumes a fiber, which Ruby does not tell of within it.
def outside(f, *args)
  $outer = [(RUBY_VERSION >= "3.4" ? "Fiber#" : "") + "resume\t\t0"] + caller_locations(0).map { |l| spell(l) } + $outer; f.resume(*args)
end

class Shop
  attr_reader :rate
  def initialize(rate); @rate = rate; end
  def pay(n); [n].each { |x| charge(x) }; end
  def charge(x)
    yield_self { |s| s.then { dies(x) } }
  end
  def self.open(n); new(n).pay(n); end
  class << self
    def close(n)
      dies(n)
    end
  end
  def method_missing(name, *args, &block)
    return super unless name == :sell
    dies(*args)
  end
  def respond_to_missing?(*); true; end
  def to_s; dies; end
  def ==(other); dies; end
  def <=>(other); dies; end
  def each
    yield 1
    yield 2
  end
  include Enumerable
  define_method(:defined) { |x| dies(x) }
  module Inner
    def self.run; dies; end
  end
  protected def secret; dies; end
  def tell; secret; end
end

module Loud
  def pay(n); super(n + 1); end
end

class Loudly < Shop
  prepend Loud
  def pay(n)
    super
  end
end

def deep(n)
  n == 0 ? dies : deep(n - 1)
end

def deep_blocks(n, &b)
  return b.call if n == 0
  [n].each { deep_blocks(n - 1, &b) }
end

def many(a, b = 2, *c, d, e:, f: 6, **g, &h)
  dies
end

def long
  a = 1
  b = a + 2 + 3 * a
  c = [a, b, a, b, a + b, a * b, a - b]
  d = { a => b, b => c, c => a }
  e = "#{a} #{b} #{c} #{d}"
  f = c.map { |x| x.to_s + e }
  g = a > 1 ? b : c
  h = g || d
  i = c.first
  a += 1
  b += 1
  a += b
  b += a
  a = a * b
  c << a << b << a << b
  d[a] = b
  d[b] = a
  e << "x" << "y" << "z"
  f.push(a, b, c)
  g = [a, b, c, d, e, f]
  h = { a: a, b: b, c: c, d: d, e: e }
  i = a.to_s + b.to_s + c.to_s
  a = b
  b = a
  a, b = b, a
  c = [a, b]
  d = [c, c]
  if a == b
    e = 1
  else
    e = 2
  end
  while e < 5
    e += 1
  end
  dies(
    a,
    b,
  )
  i
end

cases = {}
cases["plain"] = -> { dies }
cases["methods"] = -> { Shop.open(2) }
cases["singleton"] = -> { Shop.close(2) }
cases["object-singleton"] = -> {
  o = Object.new
  def o.only; dies; end
  o.only
}
cases["anonymous"] = -> { Class.new { def run; dies; end }.new.run }
cases["missing"] = -> { Shop.new(1).sell(3) }
cases["super"] = -> { Loudly.new(1).pay(3) }
cases["module"] = -> { Shop::Inner.run }
cases["protected"] = -> { Shop.new(1).tell }
cases["deep"] = -> { deep(900) }
cases["deep-blocks"] = -> { deep_blocks(200) { dies } }
cases["arguments"] = -> { many(1, 2, 3, 4, e: 5, g: 7) { 8 } }
cases["long"] = -> { long }
cases["sort"] = -> { [3, 1, 2].sort_by { |x| [x].each { |y| [y].inject(0) { |a, b| dies } } } }
cases["sort-block"] = -> { [3, 1, 2].sort { |a, b| dies } }
cases["compare"] = -> { [Shop.new(1), Shop.new(2)].sort }
cases["max"] = -> { [1, 2].max_by { |x| dies } }
cases["each-with"] = -> { [1].each_with_index { |x, i| { a: 1 }.each_pair { |k, v| 1.upto(2) { dies } } } }
cases["times"] = -> { 3.times { |i| loop { 1.step(3) { dies } } } }
cases["map"] = -> { [1].map { |x| [x].select { |y| [y].each_slice(1) { dies } } } }
cases["enumerable"] = -> { Shop.new(1).map { |x| dies } }
cases["lazy"] = -> { (1..3).lazy.map { |x| dies }.first(1) }
cases["enumerator"] = -> { [1].each.with_index(1) { |x, i| dies } }
cases["hash-default"] = -> { Hash.new { |h, k| dies }[1] }
cases["hash-fetch"] = -> { {}.fetch(:a) { dies } }
cases["gsub"] = -> { "abc".gsub(/b/) { dies } }
cases["to-s"] = -> { "#{Shop.new(1)}" }
cases["equal"] = -> { [Shop.new(1)].include?(3) }
cases["operator"] = -> { Shop.new(1) == 2 }
cases["proc"] = -> { proc { |x| dies }.call(1) }
cases["lambda"] = -> { ->(x) { dies }.(1) }
cases["method-object"] = -> { [1].each(&method(:dies)) }
cases["symbol-proc"] = -> { [Shop.new(1)].each(&:tell) }
cases["compose"] = -> { (method(:dies) << ->(x) { x }).call(1) }
cases["curry"] = -> { ->(a, b) { dies }.curry[1][2] }
cases["define-method"] = -> { Shop.new(1).defined(2) }
cases["instance-eval"] = -> { Shop.new(1).instance_eval { [1].each { dies } } }
cases["instance-exec"] = -> { Shop.new(1).instance_exec(1) { |x| dies } }
cases["class-eval"] = -> { Shop.class_eval { dies } }
cases["class-body"] = -> { eval("class Fresh; dies; end") }
cases["module-body"] = -> { eval("module Fresher\n class Inside\n  dies\n end\nend", binding, "body.rb", 10) }
cases["singleton-body"] = -> { eval("class << self\n dies\nend") }
cases["eval"] = -> { eval("[1].each { dies }") }
cases["eval-file"] = -> { eval("\n\ndies", binding, "made.rb", 7) }
cases["send"] = -> { Shop.new(1).send(:secret) }
cases["public-send"] = -> { Shop.new(1).public_send(:charge, 1) }
cases["tap"] = -> { 1.tap { |x| x.then { |y| dies } } }
cases["catch"] = -> { catch(:done) { dies } }
cases["rescue"] = -> {
  begin
    raise ArgumentError, "bad"
  rescue => e
    dies
  end
}
cases["rescue-deep"] = -> {
  begin
    begin
      Integer("x")
    rescue ArgumentError
      [1].each { nil.nothing }
    end
  rescue NoMethodError => e
    [1].each { dies }
  end
}
cases["ensure"] = -> {
  begin
    1
  ensure
    dies
  end
}
cases["ensure-raised"] = -> {
  begin
    raise "lost"
  ensure
    dies
  end
}
cases["retry"] = -> {
  n = 0
  begin
    n += 1
    raise "again" if n < 3
    dies
  rescue
    retry
  end
}
cases["for"] = -> { for x in [1] do dies end }
cases["while"] = -> { while true do dies end }
cases["case"] = -> {
  case 5
  when ->(x) { dies } then 1
  end
}
cases["string-format"] = -> { format("%s", Shop.new(1)) }
cases["const-missing"] = -> {
  def Object.const_missing(n); dies; end
  Nowhere
}
cases["inherited"] = -> {
  c = Class.new
  def c.inherited(k); dies; end
  Class.new(c)
}
cases["at-exit"] = -> { at_exit { dies }; exit }
cases["trace"] = -> {
  t = TracePoint.new(:call) { |tp| if tp.method_id == :close then t.disable; dies end }
  t.enable
  Shop.close(1)
}
cases["fiber"] = -> { outside(Fiber.new { |x| [x].each { dies } }, 1) }
cases["fiber-deep"] = -> { outside(Fiber.new { outside(Fiber.new { [1].map { dies } }) }) }
cases["fiber-resumed"] = -> {
  f = Fiber.new { Fiber.yield 1; dies }
  f.resume
  outside(f)
}
cases["enumerator-next"] = -> {
  e = Enumerator.new { |y| y << 1; dies }
  e.next
  $outer = ["next\t\t0"] + caller_locations(0).map { |l| spell(l) } + $outer; e.next
}
cases["thread"] = -> { Thread.main.name = "main"; Thread.new { [1].each { dies } }.join }
cases["threads"] = -> {
  q = Queue.new
  m = Mutex.new
  a = Thread.new { Thread.current.name = "waits"; [1].each { q.pop } }
  b = Thread.new { Thread.current.name = "locks"; m.synchronize { sleep } }
  Thread.pass until a.stop? && b.stop?
  c = Thread.new { Thread.current.name = "wants"; m.synchronize { 1 } }
  Thread.pass until c.stop?
  dies
}
cases["require"] = -> { File.write("required.rb", "def loaded; dies; end\nloaded\n"); require "./required" }
cases["load"] = -> { File.write("loaded.rb", "\n\n[1].each { dies }\n"); load "./loaded.rb" }
cases["refinement"] = -> {
  eval("module Finer\n refine String do\n  def fine; dies; end\n end\nend\nusing Finer\n'a'.fine", TOPLEVEL_BINDING)
}
cases["comparable"] = -> { Shop.new(1).then { |s| s.clamp(1, 2) rescue dies } }
cases.fetch(ARGV[0]).call
