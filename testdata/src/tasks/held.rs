// held KIND: threads that hold Rust's locks in the way of KIND, others that wait for them; then abort.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, RwLock};
use std::thread;
use std::time::Duration;

struct Account {
    sum: Mutex<i64>,
    name: String,
}

const fn account() -> Account {
    Account { sum: Mutex::new(1), name: String::new() }
}
static ACCOUNTS: [Account; 5] = [const { account() }; 5];
static RW: RwLock<Vec<i32>> = RwLock::new(Vec::new());
static COND: Condvar = Condvar::new();
static WAITS: AtomicBool = AtomicBool::new(false);

fn ms(n: u64) {
    thread::sleep(Duration::from_millis(n))
}

#[inline(never)]
fn transfer(from: &Account, to: &Account) {
    let mut a = from.sum.lock().unwrap(); // taken
    ms(100);
    let mut b = to.sum.lock().unwrap();
    *a -= 1;
    *b += 1;
    println!("{} {}", from.name, to.name);
}

#[inline(never)]
fn hold(g: MutexGuard<i64>) {
    ms(1000);
    drop(g);
}

#[inline(never)]
fn sometimes(keep: bool) {
    let g = ACCOUNTS[0].sum.lock().unwrap();
    if !keep {
        drop(g);
    }
    ms(1000);
}

#[inline(never)]
fn one_after_the_other() {
    for i in 0..2 {
        ms(if i == 0 { 0 } else { 1000 });
        let mut g = ACCOUNTS[i].sum.lock().unwrap();
        *g += 1;
    }
}

#[inline(never)]
fn signalled() {
    let mut g = ACCOUNTS[0].sum.lock().unwrap();
    WAITS.store(true, Ordering::SeqCst); // who has the lock after this has it because of the wait
    while *g > 0 {
        g = COND.wait(g).unwrap();
    }
}

fn wanted() {
    ms(50);
    drop(ACCOUNTS[0].sum.lock());
}

fn main() {
    let kind = std::env::args().nth(1).unwrap_or_default();
    match kind.as_str() {
        "dropped" => {
            thread::spawn(|| {
                let g = ACCOUNTS[0].sum.lock().unwrap();
                drop(g);
                ms(1000);
            });
            ms(20);
            thread::spawn(|| hold(ACCOUNTS[0].sum.lock().unwrap()));
            thread::spawn(wanted);
        }
        "moved" => {
            thread::spawn(|| {
                let g = ACCOUNTS[0].sum.lock().unwrap();
                hold(g);
            });
            thread::spawn(wanted);
        }
        "flag" => {
            thread::spawn(|| sometimes(true));
            thread::spawn(wanted);
        }
        "loop" => {
            thread::spawn(one_after_the_other);
            ms(20);
            thread::spawn(|| hold(ACCOUNTS[0].sum.lock().unwrap()));
            thread::spawn(wanted);
        }
        "condvar" => {
            thread::spawn(signalled);
            while !WAITS.load(Ordering::SeqCst) {
                ms(1);
            }
            thread::spawn(|| {
                let _g = ACCOUNTS[0].sum.lock().unwrap();
                ms(1000);
            });
            thread::spawn(wanted);
        }
        "read" => {
            thread::spawn(|| {
                let r = RW.read().unwrap();
                ms(1000);
                println!("{}", r.len());
            });
            ms(50);
            thread::spawn(|| RW.write().unwrap().push(1));
        }
        "arc" => { // no code tells which lock it is that the pointers lead to
            let (a, b) = (Arc::new(Mutex::new(1)), Arc::new(Mutex::new(2)));
            let (a2, b2) = (a.clone(), b.clone());
            thread::spawn(move || {
                let x = a2.lock().unwrap();
                ms(100);
                let y = b2.lock().unwrap();
                println!("{x} {y}");
            });
            thread::spawn(move || {
                let y = b.lock().unwrap();
                ms(100);
                let x = a.lock().unwrap();
                println!("{x} {y}");
            });
        }
        "itself" => {
            thread::spawn(|| {
                let a = ACCOUNTS[0].sum.lock().unwrap();
                let b = ACCOUNTS[0].sum.lock().unwrap();
                println!("{a} {b}");
            });
        }
        n => {
            let n: usize = n.parse().unwrap();
            for i in 0..n {
                thread::spawn(move || transfer(&ACCOUNTS[i], &ACCOUNTS[(i + 1) % n]));
            }
        }
    }
    ms(300);
    std::process::abort();
}
