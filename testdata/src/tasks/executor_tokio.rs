// Tasks of tokio that wait in each way. Each says where it waits: function:line.
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, Mutex, Notify, RwLock, Semaphore};

macro_rules! told {
    ($name:expr) => {
        println!("{}:{}", $name, line!() + 1)
    };
}

async fn sleeper(n: u32) {
    let tag = n * 3;
    told!("sleeper");
    tokio::time::sleep(Duration::from_secs(1000 + n as u64)).await;
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
async fn receiver(mut r: mpsc::Receiver<u32>) -> u32 {
    told!("receiver");
    r.recv().await.unwrap_or(0)
}
async fn sender(s: mpsc::Sender<u32>) {
    s.send(1).await.unwrap();
    told!("sender");
    s.send(2).await.unwrap();
}
async fn answered(r: oneshot::Receiver<u32>) -> u32 {
    told!("answered");
    r.await.unwrap_or(1)
}
async fn notified(n: Arc<Notify>) {
    told!("notified");
    n.notified().await;
}
async fn permitted(s: Arc<Semaphore>) {
    told!("permitted");
    let _p = s.acquire_many(3).await;
}
async fn reader(l: Arc<RwLock<u32>>) -> u32 {
    told!("reader");
    *l.read().await
}
async fn writer(l: Arc<RwLock<u32>>) {
    told!("writer");
    *l.write().await = 2;
}
async fn accept() {
    let l = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    told!("accept");
    let _ = l.accept().await;
}
async fn joiner() {
    let h = tokio::spawn(sleeper(77));
    told!("joiner");
    h.await.unwrap()
}
async fn limited(n: Arc<Notify>) {
    told!("limited");
    let _ = tokio::time::timeout(Duration::from_secs(5000), inner(n)).await;
}
async fn inner(n: Arc<Notify>) {
    n.notified().await;
}
async fn transfer(a: Arc<Mutex<u32>>, b: Arc<Mutex<u32>>) {
    let x = a.lock().await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    told!("transfer");
    let y = b.lock().await;
    println!("{} {}", x, y);
}
async fn ended() {}

async fn all() {
    for i in 0..3 {
        tokio::spawn(sleeper(i));
    }
    tokio::spawn(ended());
    let m = Arc::new(Mutex::new(0));
    tokio::spawn(keeper(m.clone()));
    tokio::time::sleep(Duration::from_millis(50)).await;
    tokio::spawn(locker(m.clone()));
    let (tx, rx) = mpsc::channel(1);
    tokio::spawn(receiver(rx));
    let (tx2, rx2) = mpsc::channel(1);
    tokio::spawn(sender(tx2));
    let (ox, orx) = oneshot::channel();
    tokio::spawn(answered(orx));
    let n = Arc::new(Notify::new());
    tokio::spawn(notified(n.clone()));
    tokio::spawn(limited(n.clone()));
    tokio::spawn(permitted(Arc::new(Semaphore::new(2))));
    let l = Arc::new(RwLock::new(1));
    let w = l.clone().write_owned().await;
    tokio::spawn(reader(l.clone()));
    tokio::spawn(writer(l));
    tokio::spawn(accept());
    tokio::spawn(joiner());
    let (a, b) = (Arc::new(Mutex::new(1)), Arc::new(Mutex::new(2)));
    tokio::spawn(transfer(a.clone(), b.clone()));
    tokio::spawn(transfer(b, a));
    tokio::time::sleep(Duration::from_millis(400)).await;
    let _keep = (tx, rx2, ox, w, n);
    std::process::abort();
}

fn main() {
    let mut b = match std::env::args().nth(1).as_deref() {
        Some("multi_thread") => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    b.worker_threads(3).enable_all().build().unwrap().block_on(all());
}
