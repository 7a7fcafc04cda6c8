// busy_tokio MODE: tasks of tokio that are busy, and never stuck; "list" lists the modes.
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, Mutex, Notify, RwLock, Semaphore};

async fn nap(us: u64) {
    tokio::time::sleep(Duration::from_micros(us)).await
}

async fn ordered(a: Arc<Mutex<u64>>, b: Arc<Mutex<u64>>) {
    loop {
        let mut x = a.lock().await;
        nap(50).await;
        let mut y = b.lock().await;
        *x += 1;
        *y += 1;
    }
}
async fn readers(l: Arc<RwLock<u64>>, i: u64) {
    loop {
        if i == 0 {
            *l.write().await += 1;
        } else {
            nap(*l.read().await & 31).await;
        }
    }
}
async fn permits(s: Arc<Semaphore>) {
    loop {
        let _p = s.acquire_many(2).await.unwrap();
        nap(100).await;
    }
}
async fn notes(n: Arc<Notify>, i: u64) {
    loop {
        if i == 0 {
            n.notify_waiters();
            nap(50).await;
        } else {
            n.notified().await;
        }
    }
}

#[tokio::main(worker_threads = 3)]
async fn main() {
    let mode = std::env::args().nth(1).unwrap();
    if mode == "list" {
        println!("ordered\nreaders\npermits\nnotes\nchannels");
        return;
    }
    println!("0");
    let (a, b) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
    let l = Arc::new(RwLock::new(0));
    let (s, n) = (Arc::new(Semaphore::new(4)), Arc::new(Notify::new()));
    for i in 0..6 {
        match mode.as_str() {
            "ordered" => drop(tokio::spawn(ordered(a.clone(), b.clone()))),
            "readers" => drop(tokio::spawn(readers(l.clone(), i))),
            "permits" => drop(tokio::spawn(permits(s.clone()))),
            "notes" => drop(tokio::spawn(notes(n.clone(), i))),
            _ => {
                let (to, mut from) = mpsc::channel(1);
                tokio::spawn(async move {
                    loop {
                        to.send(1u64).await.unwrap();
                    }
                });
                tokio::spawn(async move {
                    while let Some(v) = from.recv().await {
                        nap(v * 20).await;
                    }
                });
            }
        }
    }
    std::future::pending::<()>().await
}
