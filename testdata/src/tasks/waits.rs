// waits KIND: a thread that waits in the way of KIND; then abort.
use std::sync::{mpsc, Barrier, Condvar, Mutex, Once, RwLock};
use std::thread;
use std::time::Duration;

static MUTEX: Mutex<i32> = Mutex::new(0);
static RW: RwLock<i32> = RwLock::new(0);
static COND: Condvar = Condvar::new();
static ONCE: Once = Once::new();

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
        "mutex" => { _a = MUTEX.lock().unwrap(); start(|| { drop(MUTEX.lock()); }) }
        "read" => { _b = RW.write().unwrap(); start(|| { drop(RW.read()); }) }
        "write" => { _c = RW.read().unwrap(); start(|| { drop(RW.write()); }) }
        "condvar" => start(|| { let g = MUTEX.lock().unwrap(); drop(COND.wait(g)); }),
        "once" => { start(|| ONCE.call_once(|| thread::sleep(Duration::from_secs(100)))); start(|| ONCE.call_once(|| {})) }
        "channel" => { let (s, r) = mpsc::channel::<i32>(); start(move || { let _ = r.recv(); }); std::mem::forget(s) }
        "full" => { let (s, r) = mpsc::sync_channel::<i32>(0); start(move || { let _ = s.send(1); }); std::mem::forget(r) }
        "park" => start(|| thread::park()),
        "join" => { let h = thread::spawn(|| thread::sleep(Duration::from_secs(100))); start(move || { let _ = h.join(); }) }
        "barrier" => { static B: Barrier = Barrier::new(2); start(|| { B.wait(); }) }
        _ => {}
    }
    thread::sleep(Duration::from_millis(200));
    std::process::abort();
}
