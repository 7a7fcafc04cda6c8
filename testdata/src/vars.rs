//! Variables of the kinds that Rust and its library have.
//!
//! Dies in stop, called by library, called by values, called by main.
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::rc::{Rc, Weak};
use std::sync::Arc;

#[cfg(show)]
#[macro_use]
#[path = "vars_show.rs"]
mod show;
#[cfg(not(show))]
macro_rules! show {
    ($($any:tt)*) => {};
}

#[derive(Clone, Copy)]
pub enum Colour {
    Red = 1,
    Blue = 7,
}

pub enum Shape {
    Empty,
    Circle { radius: f64 },
    Line(i32, i32),
}

pub struct Point {
    x: i32,
    y: i32,
}

pub struct Pair(u8, char);

pub struct Unit;

pub union Bits {
    whole: u32,
    real: f32,
}

#[inline(never)]
fn stop(p: *mut u8, why: &str) {
    unsafe { std::ptr::write_volatile(p, why.len() as u8) }
}

#[inline(never)]
fn library(names: &[&str], limit: usize) -> usize {
    let text = String::from("owned text");
    let list = vec![1u32, 2, 3];
    let nested = vec![vec![1i8], vec![], vec![2, 3]];
    let words = vec![String::from("a"), String::from("b\n")];
    let mut queue = VecDeque::with_capacity(4);
    let mut ages = HashMap::new();
    let mut seen = HashSet::new();
    let mut tree = BTreeMap::new();
    let boxed = Box::new(Point { x: 1, y: 2 });
    let slice: Box<[i32]> = vec![4, 5].into_boxed_slice();
    let rc = Rc::new(41);
    let other = rc.clone();
    let weak: Weak<i32> = Rc::downgrade(&rc);
    let arc = Arc::new(String::from("shared"));
    let cell = RefCell::new(Point { x: 3, y: 4 });
    let empty: Vec<u64> = Vec::new();

    for i in 0..3 {
        queue.push_back(i);
    }
    queue.pop_front();
    ages.insert("ann", 31);
    seen.insert(7u16);
    tree.insert(1, 'x');
    show!(library: names = show::Slice("&[&str]", names), limit, text, list, nested, words, queue, ages, seen, tree,
        boxed = show::Ref(&*boxed), slice, rc, other, weak, arc, cell, empty);
    show!(stop: p = show::Null, why = names[0]);
    stop(std::ptr::null_mut(), names[0]);
    let sum = text.len() + list.len() + nested.len() + words.len() + queue.len() + ages.len() + seen.len() + tree.len()
        + boxed.x as usize + slice.len() + (*rc + *other) as usize + weak.strong_count() + arc.len()
        + cell.borrow().y as usize + empty.len() + limit + boxed.y as usize + cell.borrow().x as usize;
    sum
}

#[inline(never)]
fn values(n: i32, who: &Point) -> usize {
    let byte = 200u8;
    let letter = 'é';
    let yes = true;
    let wide = -170141183460469231731687303715884105728i128;
    let real = 0.1f32;
    let colour = Colour::Blue;
    let first = Colour::Red;
    let circle = Shape::Circle { radius: 1.5 };
    let line = Shape::Line(n, -n);
    let nothing = Shape::Empty;
    let some = Some(5i64);
    let none: Option<i64> = None;
    let niche: Option<&Point> = Some(who);
    let no_niche: Option<&Point> = None;
    let good: Result<u8, String> = Ok(9);
    let bad: Result<u8, String> = Err(String::from("broken"));
    let tuple = (1, "two", 3.5);
    let pair = Pair(7, 'q');
    let unit = Unit;
    let void = ();
    let array = [1i16, 2, 3];
    let grid = [[0u8; 3]; 2];
    let text = "borrowed \"text\"";
    let names = ["one", "two"];
    let bits = Bits { real: 1.0 };
    let call: fn(i32, &Point) -> usize = values;
    let maybe = Some(Some(3u8));

    show!(values: n, who = show::Ref(who), byte, letter, yes, wide, real, colour, first, circle, line, nothing, some, none,
        niche = niche.map(show::Ref), no_niche = no_niche.map(show::Ref), good, bad, tuple, pair, unit, void,
        array, grid, text, names, bits, call = show::At, maybe);
    let got = library(&names, array.len());
    got + byte as usize + letter as usize + yes as usize + wide as usize + real as usize + colour as usize
        + first as usize + size(&circle) + size(&line) + size(&nothing) + some.is_some() as usize + none.is_some() as usize
        + niche.is_some() as usize + no_niche.is_some() as usize + good.is_ok() as usize + bad.is_ok() as usize
        + tuple.1.len() + pair.0 as usize + pair.1 as usize + std::mem::size_of_val(&unit) + grid[1][2] as usize
        + text.len() + unsafe { bits.whole } as usize + (call as usize) + maybe.is_some() as usize
        + std::mem::size_of_val(&void) + tuple.0 + tuple.2 as usize
}

fn size(s: &Shape) -> usize {
    match s {
        Shape::Empty => 0,
        Shape::Circle { radius } => *radius as usize,
        Shape::Line(a, b) => (a + b) as usize,
    }
}

fn main() {
    let here = Point { x: -1, y: 8 };
    show!(main: here);
    let got = values(here.y, &here);
    std::process::exit((got as i32) + here.x);
}
