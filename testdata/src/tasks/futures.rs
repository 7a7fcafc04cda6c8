// Async functions that are suspended when the program aborts: a task in an executor of its own (boxed, behind
// dyn Future), one pinned on the stack, a join of two that wait for different things.
use std::cell::RefCell;
use std::future::Future;
use std::pin::{pin, Pin};
use std::rc::Rc;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

struct Never;
impl Future for Never {
    type Output = u32;
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u32> {
        Poll::Pending
    }
}

async fn leaf(depth: u32) -> u32 {
    let local = depth * 7;
    let got = Never.await;
    got + local
}

async fn middle(depth: u32) -> u32 {
    let saved = depth + 100;
    let got = leaf(depth + 1).await;
    got + saved
}

async fn top(name: &'static str) -> usize {
    let got = middle(1).await;
    got as usize + name.len()
}

struct Join {
    parts: Vec<Pin<Box<dyn Future<Output = u32>>>>,
}
impl Future for Join {
    type Output = u32;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u32> {
        for p in self.parts.iter_mut() {
            let _ = p.as_mut().poll(cx);
        }
        Poll::Pending
    }
}

async fn both() -> u32 {
    let parts: Vec<Pin<Box<dyn Future<Output = u32>>>> = vec![Box::pin(middle(5)), Box::pin(leaf(6))];
    let sum = Join { parts }.await;
    sum + 1
}

struct Executor {
    tasks: Vec<Pin<Box<dyn Future<Output = usize>>>>,
}

const VTABLE: RawWakerVTable = RawWakerVTable::new(|_| RawWaker::new(std::ptr::null(), &VTABLE), |_| {}, |_| {}, |_| {});

fn main() {
    let waker = unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &VTABLE)) };
    let mut cx = Context::from_waker(&waker);
    let mut ex = Executor { tasks: Vec::new() };
    ex.tasks.push(Box::pin(top("outer")));
    ex.tasks.push(Box::pin(async { both().await as usize }));
    ex.tasks.push(Box::pin(top("not begun")));
    let n = ex.tasks.len();
    for t in ex.tasks[..n - 1].iter_mut() {
        let _ = t.as_mut().poll(&mut cx);
    }
    let shared = Rc::new(RefCell::new(ex));
    let mut pinned = pin!(middle(40));
    let _ = pinned.as_mut().poll(&mut cx);
    std::process::abort();
    #[allow(unreachable_code)]
    drop(shared);
}
