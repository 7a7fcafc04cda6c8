// set: tune
// A mailbox: parsing, threads of messages, counters.
use std::cell::RefCell;
use std::collections::HashMap;

struct Message {
    id: usize,
    subject: String,
    reply_to: Option<usize>,
}

#[derive(Default)]
struct Mailbox {
    messages: Vec<Message>,
    unread: RefCell<Vec<usize>>,
    folders: HashMap<String, Vec<usize>>,
    limit: usize,
}

fn refuse(why: &str) -> ! {
    panic!("mailbox: {}", why)
}

impl Mailbox {
    // bug: no-parent 2 (a message need not be a reply)
    fn parent(&self, id: usize) -> &Message {
        let up = self.messages[id].reply_to.unwrap();
        &self.messages[up]
    }
    fn depth(&self, id: usize) -> usize {
        self.parent(id).id + 1
    }
    // bug: beyond-end 2
    fn subject(&self, id: usize) -> &str {
        &self.messages[id].subject
    }
    fn subjects(&self, ids: &[usize]) -> Vec<&str> {
        ids.iter().map(|&i| self.subject(i)).collect()
    }
    // bug: borrowed-twice 2
    fn mark(&self, id: usize) {
        self.unread.borrow_mut().push(id);
    }
    fn mark_replies(&self) {
        let list = self.unread.borrow();
        for m in list.iter() {
            self.mark(m + 1);
        }
    }
    fn mark_all(&self) {
        for m in self.unread.borrow().iter() {
            println!("{m}");
            self.mark(*m);
        }
    }
    // bug: over-quota 1
    fn check_quota(&self, n: usize) {
        if n > self.limit {
            refuse("over quota");
        }
    }
    // bug: bad-folder 1
    fn folder(&self, name: &str) -> &[usize] {
        match self.folders.get(name) {
            Some(f) => f,
            None => refuse("no such folder"),
        }
    }
    // bug: per-folder 2
    fn per_folder(&self, n: usize) -> usize {
        n / self.folders.len()
    }
    fn statistics(&self) -> usize {
        self.per_folder(self.messages.len()) + 1
    }
}

// bug: bad-date 2
fn parse_date(s: &str) -> u32 {
    s.parse::<u32>().expect("a day")
}

fn parse_header(line: &str) -> u32 {
    let (_, value) = line.split_once(':').unwrap_or(("", "x"));
    parse_date(value)
}

// bug: endless-thread 2
fn thread_length(b: &Mailbox, id: usize, seen: &mut [u8; 64]) -> usize {
    seen[id] = seen[id].wrapping_add(1);
    let up = b.messages[id].reply_to.unwrap_or(0);
    let mut copy = *seen;
    1 + thread_length(b, up, &mut copy) + copy[3] as usize
}

fn longest(b: &Mailbox) -> usize {
    thread_length(b, 0, &mut [0; 64]) + 1
}

// bug: raw-header 1
fn raw_header(p: *const u32) -> u32 {
    unsafe { *p.add(4) }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let bug = args.get(1).map(|s| s.as_str()).unwrap_or("");
    let second = args.get(2).is_some_and(|s| s == "b");
    let mut b = Mailbox::default();
    for id in 0..3 {
        b.messages.push(Message { id, subject: format!("subject {id}"), reply_to: None });
    }
    b.unread.borrow_mut().push(1);
    let n = match bug {
        "no-parent" if second => b.parent(1).id,
        "no-parent" => b.depth(2),
        "beyond-end" if second => b.subject(40 + args.len()).len(),
        "beyond-end" => b.subjects(&[1, 2, 70]).len(),
        "borrowed-twice" => {
            if second {
                b.mark_all()
            } else {
                b.mark_replies()
            }
            0
        }
        "over-quota" => {
            b.check_quota(args.len());
            1
        }
        "bad-folder" => b.folder(&args[1]).len(),
        "per-folder" if second => b.per_folder(args.len()),
        "per-folder" => b.statistics(),
        "bad-date" if second => parse_date("monday") as usize,
        "bad-date" => parse_header("date:tuesday") as usize,
        "endless-thread" if second => thread_length(&b, 2, &mut [1; 64]),
        "endless-thread" => longest(&b),
        "raw-header" => raw_header(std::ptr::null::<u32>().wrapping_add(args.len() - 3)) as usize,
        _ => 0,
    };
    println!("{n}");
}
