// waits_parking_lot KIND: a thread that waits in the way of KIND; then abort.
use parking_lot::{Condvar, Mutex, RwLock};
use std::thread;
use std::time::Duration;

static MUTEX: Mutex<i32> = parking_lot::const_mutex(0);
static RW: RwLock<i32> = parking_lot::const_rwlock(0);
static COND: Condvar = Condvar::new();

fn start<F: FnOnce() + Send + 'static>(f: F) {
    thread::spawn(f);
    thread::sleep(Duration::from_millis(50));
}

fn main() {
    let kind = std::env::args().nth(1).unwrap_or("mutex".to_string());
    let _a;
    let _b;
    let _c;
    match kind.as_str() {
        "mutex" => { _a = MUTEX.lock(); start(|| { drop(MUTEX.lock()); }) }
        "read" => { _b = RW.write(); start(|| { drop(RW.read()); }) }
        "write" => { _c = RW.read(); start(|| { drop(RW.write()); }) }
        "condvar" => start(|| { let mut g = MUTEX.lock(); COND.wait(&mut g); }),
        _ => {}
    }
    thread::sleep(Duration::from_millis(200));
    std::process::abort();
}
