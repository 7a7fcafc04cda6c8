# A small program that dies while threads wait for one another, and a fiber is suspended.
class Shop
  Point = Struct.new(:x, :y)
  attr_reader :rate

  def initialize(rate)
    @rate, @name, @points = rate, "tea", [Point.new(1, 2.5), nil, true]
    @a, @b = Mutex.new, Mutex.new
  end

  def pay(n, **options, &block)
    table = { one: 1, "two" => [2, 2**80, 1.0e-7], 3 => nil }
    many = (1..9).to_h { |i| [i, i.to_s] }
    [n].each do |x|
      price = x * 2
      begin
        begin
          Integer("none left")
        rescue ArgumentError
          raise KeyError, "trouble"
        end
      rescue => e
        [3, 1].sort_by { |y| dies(y, price) }
      end
    end
  end

  def both(first, second)
    first.synchronize { sleep 0.1; second.synchronize { 1 } }
  end

  def waits
    a = Thread.new { Thread.current.name = "first"; both(@a, @b) }
    b = Thread.new { Thread.current.name = "second"; both(@b, @a) }
    c = Thread.new { Thread.current.name = "third"; a.join }
    f = Fiber.new { |q| [q].each { |z| Fiber.yield z } }
    f.resume(5)
    sleep 0.5
    Fiber.new { pay(7, kind: :fresh) { f } }.resume
  end

  def dies(y, price)
    text = "x" * 300
    sym, re, code = :"a b", /a+/i, ->(v) { v }
    Process.kill(:ABRT, $$)
    sleep
  end
end

Shop.new(7).waits
