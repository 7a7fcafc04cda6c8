// Zig: a function that calls itself writes to null. Stack: crash twice, main, start. Values of slices, optionals, errors, tagged unions.
const std = @import("std");

const Colour = enum { red, green, blue };
const Point = struct { x: f64, y: f64 };
const Shape = union(enum) { circle: f64, square: Point, none };
const Node = struct { value: i32, next: ?*Node };
const ShopError = error{ Empty, Broken };

var counter: u32 = 42;

fn mayFail(n: i32) ShopError!i32 {
    if (n > 5) return ShopError.Empty;
    return n + 1;
}

fn crash(depth: i32, total: *i32, name: []const u8) i32 {
    var list = [_]i32{ 7, 8, 9 };
    var c = Colour.blue;
    var shape = Shape{ .square = .{ .x = 1, .y = 2 } };
    var round = Shape{ .circle = 1.5 };
    var opt: ?i32 = 5;
    var none: ?i32 = null;
    var node = Node{ .value = 1, .next = null };
    var head = Node{ .value = 2, .next = &node };
    var slice: []i32 = list[1..];
    var res = mayFail(depth);
    var bad = mayFail(7);
    var cstr: [*:0]const u8 = "zero";
    var flags: packed struct { a: u3, b: u5 } = .{ .a = 3, .b = 17 };
    var list2 = std.ArrayList(i32).init(std.heap.page_allocator);
    list2.append(11) catch {};
    list2.append(12) catch {};
    if (depth > 0) {
        total.* += 1;
        return crash(depth - 1, total, name) + 1;
    }
    var p: [*c]i32 = null;
    p[0] = list[0];
    std.debug.print("{} {} {} {?} {?} {} {} {} {s} {} {}\n", .{ c, shape, round, opt, none, head.value, slice.len, res catch 0, cstr, flags, bad catch 1 });
    return 0;
}

pub fn main() void {
    const act = std.os.Sigaction{ .handler = .{ .handler = std.os.SIG.DFL }, .mask = std.os.empty_sigset, .flags = 0 };
    std.os.sigaction(std.os.SIG.SEGV, &act, null) catch {};
    var t: i32 = 0;
    _ = crash(1, &t, "round");
}
