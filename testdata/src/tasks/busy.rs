// busy MODE: threads that are busy with Rust's locks, and never stuck; "list" lists the modes.
#![allow(unused_assignments)]
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Barrier, Condvar, Mutex, MutexGuard, RwLock};
use std::thread;
use std::time::Duration;

const N: usize = 4;
static LOCKS: [Mutex<u64>; N] = [const { Mutex::new(0) }; N];
static RW: RwLock<u64> = RwLock::new(0);
static COND: Condvar = Condvar::new();

fn work(n: u64) -> u64 {
    (0..n).fold(0, |a, b| std::hint::black_box(a ^ b))
}
fn nap(us: u64) {
    thread::sleep(Duration::from_micros(us))
}
fn start(n: usize, f: fn(usize)) {
    for i in 0..n {
        thread::spawn(move || loop {
            f(i)
        });
    }
}

fn convoy(_: usize) {
    let mut g = LOCKS[0].lock().unwrap();
    *g += work(2000);
}
fn slow(_: usize) {
    let mut g = LOCKS[0].lock().unwrap();
    nap(2000);
    *g += 1;
}
fn ordered(_: usize) {
    let a = LOCKS[0].lock().unwrap();
    let b = LOCKS[1].lock().unwrap();
    let c = LOCKS[2].lock().unwrap();
    work(*a ^ *b ^ *c ^ 500);
    nap(50);
}
fn one_by_one(i: usize) {
    for k in 0..N {
        let mut g = LOCKS[(i + k) % N].lock().unwrap();
        nap(100);
        *g += 1;
    }
}
fn hand_over_hand(_: usize) {
    let mut g = LOCKS[0].lock().unwrap();
    for next in &LOCKS[1..] {
        nap(20);
        g = next.lock().unwrap();
        *g += 1;
    }
}
fn early(i: usize) {
    let g = LOCKS[i % 2].lock().unwrap();
    nap(30);
    drop(g);
    let h = LOCKS[1 - i % 2].lock().unwrap();
    nap(30);
    drop(h);
    nap(30);
}
fn sometimes(i: usize) {
    let g = LOCKS[i % 2].lock().unwrap();
    if work(*g & 7 | 1) & 1 == 0 {
        drop(g);
    } else {
        std::mem::drop(g);
    }
    let h = LOCKS[1 - i % 2].lock().unwrap();
    nap(*h & 1);
}
#[inline(never)]
fn taken(i: usize) -> MutexGuard<'static, u64> {
    LOCKS[i % 2].lock().unwrap()
}
#[inline(never)]
fn given(mut g: MutexGuard<'static, u64>) {
    *g += 1;
    nap(40);
}
fn helpers(i: usize) {
    let g = taken(i);
    nap(20);
    given(g);
    let mut h = taken(i + 1);
    *h += 1;
    nap(20);
}
fn again(i: usize) {
    let mut g = taken(i);
    for k in 0..4 {
        *g += 1;
        drop(g);
        nap(20);
        g = taken(i + k);
    }
}
fn attempts(i: usize) {
    let _g = LOCKS[i % 2].lock().unwrap();
    if let Ok(h) = LOCKS[1 - i % 2].try_lock() {
        nap(*h & 1);
    }
}
fn conditions(i: usize) {
    let mut g = LOCKS[0].lock().unwrap();
    if i == 0 {
        *g = g.wrapping_add(3);
        COND.notify_all();
        nap(50);
        return;
    }
    while *g == 0 {
        g = COND.wait(g).unwrap();
    }
    *g -= 1;
}
fn two_conditions(i: usize) {
    let outer = LOCKS[1].lock().unwrap();
    let g = LOCKS[0].lock().unwrap();
    if i == 0 {
        COND.notify_all();
    } else {
        let (g, _) = COND.wait_timeout(g, Duration::from_micros(300)).unwrap();
        work(*g & 7);
    }
    drop(outer);
}
fn readers(i: usize) {
    if i == 0 {
        *RW.write().unwrap() += 1;
        nap(100);
        return;
    }
    let r = RW.read().unwrap();
    nap(*r & 63);
}
fn read_then_write(_: usize) {
    let r = RW.read().unwrap();
    let seen = *r;
    nap(20);
    drop(r);
    let mut w = RW.write().unwrap();
    *w = seen;
}
fn closures(i: usize) {
    let f = |g: &mut MutexGuard<'static, u64>| {
        **g += 1;
        nap(30);
    };
    let mut g = LOCKS[i % 2].lock().unwrap();
    f(&mut g);
}

fn main() {
    let modes: &[(&str, fn(usize))] = &[
        ("convoy", convoy), ("slow", slow), ("ordered", ordered), ("one-by-one", one_by_one), ("hand-over-hand", hand_over_hand),
        ("early", early), ("sometimes", sometimes), ("helpers", helpers), ("again", again), ("attempts", attempts),
        ("conditions", conditions), ("two-conditions", two_conditions), ("readers", readers), ("read-then-write", read_then_write),
        ("closures", closures),
    ];
    let mode = std::env::args().nth(1).unwrap();
    if mode == "list" {
        modes.iter().for_each(|m| println!("{}", m.0));
        println!("channels\nbarrier");
        return;
    }
    println!("0");
    match modes.iter().find(|m| m.0 == mode) {
        Some(m) => start(6, m.1),
        None if mode == "channels" => {
            let (s, r) = sync_channel(1);
            let (back, from) = channel();
            thread::spawn(move || loop { s.send(1).unwrap(); let _: i32 = from.recv().unwrap(); });
            thread::spawn(move || loop { let v = r.recv().unwrap(); nap(30); back.send(v).unwrap(); });
        }
        None => {
            static B: Barrier = Barrier::new(3);
            start(3, |i| { nap(10 * i as u64); B.wait(); });
        }
    }
    loop {
        thread::sleep(Duration::from_secs(1))
    }
}
