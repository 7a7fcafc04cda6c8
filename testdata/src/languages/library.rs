// What values of Rust's library look like.
use std::cell::{Cell, RefCell};
use std::collections::{BinaryHeap, LinkedList};
use std::ffi::{CString, OsString};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{mpsc, LazyLock, Mutex, OnceLock, RwLock};
use std::time::{Duration, SystemTime};

#[inline(never)]
fn look(n: u64) {
    let os = OsString::from("os");
    let path = PathBuf::from("/tmp/path");
    let borrowed: &Path = Path::new("/etc/hosts");
    let c = CString::new("c string").unwrap();
    let long = Duration::from_millis(1500);
    let short = Duration::from_nanos(250);
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1700000000);
    let rc = Rc::new(5);
    let weak = Rc::downgrade(&rc);
    let none: Weak<i32> = Weak::new();
    let gone = Rc::downgrade(&Rc::new(6));
    let (tx, rx) = mpsc::channel::<u64>();
    for i in 0..40 + n { tx.send(i).unwrap(); }
    rx.recv().unwrap();
    let (bounded, brx) = mpsc::sync_channel::<u64>(3);
    bounded.send(n).unwrap();
    let mutex = Mutex::new(vec![1, 2]);
    let guard = mutex.lock().unwrap();
    let free = Mutex::new(7);
    let rw = RwLock::new(3);
    let reader = rw.read().unwrap();
    let cell = Cell::new(3);
    let refs = RefCell::new(4);
    let mutable = refs.borrow_mut();
    let flag = AtomicBool::new(true);
    let counter = AtomicUsize::new(77);
    let nonzero = NonZeroU32::new(6);
    let range = 1..5;
    let closed = 1..=5;
    let mut list = LinkedList::new();
    list.push_back(1);
    list.push_back(2);
    let heap: BinaryHeap<i32> = vec![1, 5, 2].into();
    let later = LazyLock::new(|| n);
    let once = OnceLock::<u64>::new();
    if n > 0 { std::process::abort(); }
    println!("{:?}", (os, path, borrowed, c, long, short, then, &rc, weak, none, gone));
    println!("{:?}", (tx, rx, bounded, brx, &free, &rw, cell, flag, counter, nonzero, range, closed));
    println!("{:?}", (list, heap, *guard == vec![1], *reader, *mutable, later, once));
}

fn main() { look(1); }
