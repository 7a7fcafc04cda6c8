# Makes objects, says how many of each class there are, and dies.
class Point
  def initialize(x, y)
    @x = x
    @y = y
    @label = "the label of the point with number #{x}"
  end
end
Pair = Struct.new(:left, :right)

$cache = (1..5000).map { |i| Point.new(i, 2 * i) }
$table = {}
3000.times { |i| $table["the key with the number #{i}"] = [i, i + 1, i + 2, i + 3, i + 4] }
$pairs = (1..700).map { |i| Pair.new(i, i) }

def hold(many)
  GC.start
  GC.disable
  names = [Point, Pair, Array, Hash, Proc, Regexp, Symbol, Range]
  File.write("log", names.map { |c| "#{c} #{ObjectSpace.each_object(c) { }}\n" }.join)
  Process.kill(:ABRT, $$)
  sleep 5
end

hold((1..50).map { |i| Object.new })
