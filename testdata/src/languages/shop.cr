# Crystal: a method that calls itself writes to null in a block. Stack: Shop::Circle#crash twice, outer, __crystal_main, ...
require "set"
require "deque"

module Shop
  enum Colour
    Red
    Green
    Blue
  end

  struct Point
    def initialize(@x : Float64, @y : Float64)
    end
  end

  abstract class Shape
    @name : String

    def initialize(@id : Int32, @name)
    end
  end

  class Circle < Shape
    def initialize(id, name, @radius : Float64)
      super(id, name)
      @centre = Point.new(1.0, 2.0)
    end

    def crash(depth : Int32, total : Int32*) : Int32
      list = [7, 8, 9]
      c = Colour::Blue
      t = {1, "two"}
      u = depth > 5 ? "str" : 77
      n = depth > 5 ? "str" : nil
      st = StaticArray(Int32, 3).new { |i| i + 1 }
      r = 1..5
      h = {"one" => 1, "two" => 2, "three" => 3}
      h.delete("one")
      set = Set{4, 5}
      dq = Deque{1, 2, 3}
      dq.push(4)
      dq.shift
      m = depth > 5 ? nil : 'c'
      v = depth > 5 ? Shop::Point.new(1.0, 2.0) : self
      w = depth > 5 ? :sym : true
      none = depth > 5 ? 3 : nil
      p = Pointer(Int32).null
      if depth > 0
        total.value += 1
        return crash(depth - 1, total) + 1
      end
      list.each do |e|
        p.value = e
      end
      puts c, t, u, n, st, r, h, set, dq, m, v, w, none
      1
    end
  end
end

def outer(x)
  t = 0
  Shop::Circle.new(7, "round", 1.5).crash(1, pointerof(t))
end

Signal::SEGV.reset
outer(3)
