// Fills a heap with objects of known types, writes down how many of each there are, and dies.
// usage: types LOG
use std::io::Write;

pub struct Item { pub id: u64, pub price: u64, pub name: String }
pub struct Node { pub id: u64, pub next: *mut Node, pub pad: [u64; 5] }
pub struct Store { pub items: Vec<Item>, pub boxes: Vec<Box<Node>>, pub names: Vec<String>, pub bytes: Vec<u8>, pub numbers: Vec<u32> }

#[no_mangle]
pub static mut STORE: *mut Store = std::ptr::null_mut();

#[inline(never)]
fn fill(n: u64) -> (usize, usize) {
    let mut s = Box::new(Store { items: Vec::with_capacity(500), boxes: Vec::new(), names: Vec::new(), bytes: Vec::with_capacity(4000), numbers: Vec::with_capacity(1000) });
    let mut last: *mut Node = std::ptr::null_mut();
    for i in 0..n {
        s.items.push(Item { id: i, price: i, name: format!("the item with number {:>20}", i) });
        let mut b = Box::new(Node { id: i, next: last, pad: [i; 5] });
        let extra = Box::into_raw(Box::new(Node { id: i, next: std::ptr::null_mut(), pad: [0; 5] }));
        b.next = extra;
        last = &mut *b;
        s.boxes.push(b);
        s.names.push("x".repeat(40));
    }
    for i in 0..100 {
        s.bytes.push(i as u8);
        s.numbers.push(i);
    }
    let room = (s.items.capacity() - s.items.len()) * std::mem::size_of::<Item>();
    let numbers = (s.numbers.capacity() - s.numbers.len()) * 4;
    unsafe { STORE = Box::into_raw(s) };
    (room, numbers)
}

fn main() {
    let path = std::env::args().nth(1).unwrap();
    let (room, numbers) = fill(300);
    let mut out = std::fs::File::create(path).unwrap();
    // The text of Items and names, and the bytes, are one block each.
    write!(out, "type 600 Node\ntype 1 Item[]\ntype 1 Store\ntype 601 u8[]\ntype 1 u32[]\nroom {} Item[]\nroom {} u32[]\n", room, numbers).unwrap();
    drop(out);
    std::process::abort();
}
