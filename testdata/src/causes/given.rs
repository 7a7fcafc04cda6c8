// A null that a function is given, without optimisation refused by a check before it is used; and an element that a log does not have, asked for by two functions.
struct Node { value: u64, next: *mut Node }

#[inline(never)]
fn find(list: &[u64], value: u64) -> *mut Node {
    if list.contains(&value) { Box::into_raw(Box::new(Node { value, next: std::ptr::null_mut() })) } else { std::ptr::null_mut() }
}

#[inline(never)]
fn attach(parent: *mut Node, child: *mut Node) {
    unsafe { (*child).next = (*parent).next; (*parent).next = child; }
}

#[inline(never)]
fn link(list: &[u64], n: u64) -> u64 {
    let root = find(list, 1);
    attach(root, find(list, n));
    unsafe { (*root).value }
}

struct Named { name: String, uses: u64 }

struct Shelf { boxes: Vec<Box<Named>> }

impl Shelf {
    fn as_long(&self, length: usize) -> *mut Named {
        for b in &self.boxes { if b.uses.cmp(&(length as u64 + 40)).is_eq() { return &**b as *const Named as *mut Named; } }
        std::ptr::null_mut()
    }
}

#[inline(never)]
fn fetch(s: &Shelf, length: usize) -> u64 {
    let mut sum = 0;
    for more in std::env::args() { unsafe { let b = s.as_long(length); (*b).uses += more.len() as u64; sum += (*b).uses; } }
    sum
}

struct Log { entries: Vec<u64>, base: usize }

impl Log {
    fn at(&self, i: usize) -> u64 { self.entries[i - self.base] }
}

#[inline(never)]
fn check(l: &Log, i: usize) -> bool { l.at(i) == 3 }

#[inline(never)]
fn apply(l: &Log, upto: usize) -> u64 { (0..upto).map(|i| l.at(i)).sum() }

fn main() {
    let n: usize = std::env::args().nth(2).unwrap().parse().unwrap();
    let l = Log { entries: vec![1, 2, 3], base: 0 };
    match std::env::args().nth(1).unwrap().as_str() {
        "l" => println!("{}", link(&l.entries, n as u64)),
        "f" => {
            let mut s = Shelf { boxes: Vec::with_capacity(64) };
            for i in 0..3 { s.boxes.push(Box::new(Named { name: format!("n{}", i), uses: 0 })); }
            println!("{}", fetch(&s, n));
        }
        "c" => println!("{}", check(&l, n)),
        _ => println!("{}", apply(&l, n)),
    }
}
