// Tasks of async-std that wait. Each says where it waits: function:line.
use async_std::channel;
use async_std::sync::{Arc, Mutex};
use async_std::task;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

// The test puts an address here.
static LEADS_TO: AtomicUsize = AtomicUsize::new(0x5ead_beef_c0de_cafe);

macro_rules! told {
    ($name:expr) => {
        println!("{}:{}", $name, line!() + 1)
    };
}

async fn sleeper(n: u64) {
    let tag = n * 3;
    told!("sleeper");
    task::sleep(Duration::from_secs(1000 + n)).await;
    println!("{tag}");
}
async fn keeper(m: Arc<Mutex<u32>>) {
    let g = m.lock().await;
    told!("keeper");
    std::future::pending::<()>().await;
    drop(g);
}
async fn locker(m: Arc<Mutex<u32>>) {
    told!("locker");
    *m.lock().await += 1;
}
async fn receiver(r: channel::Receiver<u32>) -> u32 {
    told!("receiver");
    r.recv().await.unwrap_or(0)
}
async fn joiner() {
    let h = task::spawn(sleeper(77));
    told!("joiner");
    h.await
}

fn main() {
    task::block_on(async {
        for i in 0..3 {
            task::spawn(sleeper(i));
        }
        let m = Arc::new(Mutex::new(0));
        task::spawn(keeper(m.clone()));
        task::sleep(Duration::from_millis(100)).await;
        task::spawn(locker(m.clone()));
        let (s, r) = channel::bounded(1);
        task::spawn(receiver(r));
        task::spawn(joiner());
        task::sleep(Duration::from_millis(400)).await;
        let _keep = s;
        black_box(LEADS_TO.fetch_add(0, Ordering::SeqCst));
        std::process::abort();
    });
}
