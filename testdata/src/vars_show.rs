//! What vars.rs prints when it is compiled with --cfg show: a line "function.name = value"
//! for each variable, from its own values, as corewalk writes them; an address is 0x*.
use super::*;

pub trait Show {
    fn show(&self) -> String;
}

pub fn line<T: Show + ?Sized>(name: &str, value: &T) {
    println!("{name} = {}", value.show());
}

macro_rules! numbers {
    ($($t:ty)*) => { $(impl Show for $t { fn show(&self) -> String { self.to_string() } })* }
}
numbers!(u8 i8 u16 i16 u32 i32 u64 i64 usize isize i128 f32 f64 bool);

fn list<T: Show>(items: impl Iterator<Item = T>) -> String {
    items.map(|e| e.show()).collect::<Vec<_>>().join(", ")
}

/// A head and its elements; nothing is written of no elements.
fn headed(head: String, open: &str, items: String, close: &str) -> String {
    if items.is_empty() { head } else { head + " = " + open + &items + close }
}

impl<T: Show + ?Sized> Show for &T {
    fn show(&self) -> String {
        (**self).show()
    }
}

impl Show for char {
    fn show(&self) -> String {
        format!("{} '{}'", *self as u32, self)
    }
}

impl Show for str {
    fn show(&self) -> String {
        format!("\"{}\"", self.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
    }
}

impl Show for String {
    fn show(&self) -> String {
        self.as_str().show()
    }
}

impl Show for () {
    fn show(&self) -> String {
        "()".into()
    }
}

/// An address.
pub struct At;

impl Show for At {
    fn show(&self) -> String {
        "0x*".into()
    }
}

/// What a reference or a box refers to.
pub struct Ref<'a, T>(pub &'a T);

impl<T: Show> Show for Ref<'_, T> {
    fn show(&self) -> String {
        format!("@0x*: {}", self.0.show())
    }
}

/// The null pointer.
pub struct Null;

impl Show for Null {
    fn show(&self) -> String {
        "0x0".into()
    }
}

/// A slice behind a reference or in a box, with what stands before it.
pub struct Slice<'a, T>(pub &'a str, pub &'a [T]);

impl<T: Show> Show for Slice<'_, T> {
    fn show(&self) -> String {
        headed(format!("{}(size={})", self.0, self.1.len()), "[", list(self.1.iter()), "]")
    }
}

impl<T: Show, const N: usize> Show for [T; N] {
    fn show(&self) -> String {
        format!("[{}]", list(self.iter()))
    }
}

impl<T: Show> Show for Vec<T> {
    fn show(&self) -> String {
        Slice("Vec", self).show()
    }
}

impl<T: Show> Show for Box<[T]> {
    fn show(&self) -> String {
        Slice("Box", self).show()
    }
}

impl<T: Show> Show for VecDeque<T> {
    fn show(&self) -> String {
        headed(format!("VecDeque(size={})", self.len()), "{", list(self.iter()), "}")
    }
}

fn pairs<'a, K: Show + 'a, V: Show + 'a>(items: impl Iterator<Item = (&'a K, &'a V)>) -> String {
    items.map(|(k, v)| format!("[{}] = {}", k.show(), v.show())).collect::<Vec<_>>().join(", ")
}

impl<K: Show, V: Show> Show for HashMap<K, V> {
    fn show(&self) -> String {
        headed(format!("HashMap(size={})", self.len()), "{", pairs(self.iter()), "}")
    }
}

impl<K: Show, V: Show> Show for BTreeMap<K, V> {
    fn show(&self) -> String {
        headed(format!("BTreeMap(size={})", self.len()), "{", pairs(self.iter()), "}")
    }
}

impl<K: Show> Show for HashSet<K> {
    fn show(&self) -> String {
        headed(format!("HashSet(size={})", self.len()), "{", list(self.iter()), "}")
    }
}

impl<T: Show> Show for Rc<T> {
    fn show(&self) -> String {
        format!("Rc(strong={}, weak={}) = {{value = {}}}", Rc::strong_count(self), Rc::weak_count(self), (**self).show())
    }
}

impl<T: Show> Show for Arc<T> {
    fn show(&self) -> String {
        format!("Arc(strong={}, weak={}) = {{value = {}}}", Arc::strong_count(self), Arc::weak_count(self), (**self).show())
    }
}

impl Show for Weak<i32> {
    fn show(&self) -> String {
        format!("Weak(strong={}, weak={}) = {{value = {}}}", self.strong_count(), self.weak_count(), (*self.upgrade().unwrap()).show())
    }
}

impl Show for RefCell<Point> {
    fn show(&self) -> String {
        let value = self.borrow().show();
        format!("RefCell(borrow=0) = {{value = {value}}}")
    }
}

impl Show for Point {
    fn show(&self) -> String {
        format!("Point {{x: {}, y: {}}}", self.x, self.y)
    }
}

impl Show for Pair {
    fn show(&self) -> String {
        format!("Pair({}, {})", self.0, self.1.show())
    }
}

impl Show for Unit {
    fn show(&self) -> String {
        "Unit".into()
    }
}

impl Show for Bits {
    fn show(&self) -> String {
        unsafe { format!("Bits {{whole: {}, real: {}}}", self.whole, self.real) }
    }
}

impl Show for Colour {
    fn show(&self) -> String {
        match self {
            Colour::Red => "vars::Colour::Red".into(),
            Colour::Blue => "vars::Colour::Blue".into(),
        }
    }
}

impl Show for Shape {
    fn show(&self) -> String {
        match self {
            Shape::Empty => "Shape::Empty".into(),
            Shape::Circle { radius } => format!("Shape::Circle {{radius: {radius}}}"),
            Shape::Line(a, b) => format!("Shape::Line({a}, {b})"),
        }
    }
}

impl<T: Show> Show for Option<T> {
    fn show(&self) -> String {
        match self {
            Some(v) => format!("Some({})", v.show()),
            None => "None".into(),
        }
    }
}

impl<T: Show, E: Show> Show for Result<T, E> {
    fn show(&self) -> String {
        match self {
            Ok(v) => format!("Ok({})", v.show()),
            Err(e) => format!("Err({})", e.show()),
        }
    }
}

impl<A: Show, B: Show, C: Show> Show for (A, B, C) {
    fn show(&self) -> String {
        format!("({}, {}, {})", self.0.show(), self.1.show(), self.2.show())
    }
}

/// show!(function: a, b, c = what is shown in place of c).
macro_rules! show {
    ($f:ident: $($name:ident $(= $value:expr)?),* $(,)?) => { $(show!(@ $f $name $($value)?);)* };
    (@ $f:ident $name:ident) => { $crate::show::line(concat!(stringify!($f), ".", stringify!($name)), &$name) };
    (@ $f:ident $name:ident $value:expr) => { $crate::show::line(concat!(stringify!($f), ".", stringify!($name)), &$value) };
}
