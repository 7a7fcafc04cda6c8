// Dies of a pointer in an element of a container, or behind a Box. The argument says which.
use std::collections::{BTreeMap, HashMap, VecDeque};

#[repr(C)]
struct Part { id: u64, weight: u64 }
struct Shelf { name: String, part: *mut Part, n: u64 }
struct Store { by: HashMap<u64, Box<Shelf>>, some: Option<Box<Shelf>>, tree: BTreeMap<u64, Shelf>, queue: VecDeque<Shelf>, row: Vec<Option<Box<Shelf>>> }

#[inline(never)]
fn by(s: &Store, k: u64) -> u64 { unsafe { (*s.by.get(&k).unwrap().part).weight } }
#[inline(never)]
fn some(s: &Store) -> u64 { unsafe { (*s.some.as_ref().unwrap().part).weight } }
#[inline(never)]
fn tree(s: &Store, k: u64) -> u64 { unsafe { (*s.tree.get(&k).unwrap().part).weight } }
#[inline(never)]
fn queue(s: &Store, k: usize) -> u64 { unsafe { (*s.queue[k].part).weight } }
#[inline(never)]
fn row(s: &Store, k: usize) -> u64 { unsafe { (*s.row[k].as_ref().unwrap().part).weight } }

fn shelf(n: u64) -> Shelf { Shelf { name: format!("shelf {}", n), part: Box::into_raw(Box::new(Part { id: n, weight: 1 })), n } }

fn main() {
    let way = std::env::args().nth(1).unwrap();
    let mut s = Store { by: HashMap::new(), some: Some(Box::new(shelf(9))), tree: BTreeMap::new(), queue: VecDeque::new(), row: vec![] };
    for i in 0..7 {
        s.by.insert(i, Box::new(shelf(i)));
        s.tree.insert(i, shelf(i));
        s.queue.push_back(shelf(i));
        s.row.push(Some(Box::new(shelf(i))));
    }
    let bad = 0x4141414141410000usize as *mut Part;
    let r = match way.as_str() {
        "b" => { s.by.get_mut(&3).unwrap().part = bad; by(&s, 3) }
        "s" => { s.some.as_mut().unwrap().part = bad; some(&s) }
        "t" => { s.tree.get_mut(&3).unwrap().part = bad; tree(&s, 3) }
        "q" => { s.queue[3].part = bad; queue(&s, 3) }
        "r" => { s.row[3].as_mut().unwrap().part = bad; row(&s, 3) }
        _ => 0,
    };
    println!("{} {} {}", r, s.some.as_ref().unwrap().n, s.some.as_ref().unwrap().name);
}
