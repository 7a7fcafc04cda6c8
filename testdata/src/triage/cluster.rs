// set: unseen
// Members of a cluster in threads, which exchange messages and keep a replicated log.
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, RwLock};
use std::thread;

#[derive(Clone, Debug)]
enum Message {
    Append { term: u64, entry: Vec<u8> },
    Vote { term: u64, from: usize },
    Stop,
}

trait Storage: Send {
    fn put(&mut self, index: usize, bytes: &[u8]);
    fn last(&self) -> usize;
    fn name(&self) -> &str {
        "storage"
    }
}

#[derive(Default)]
struct Ring {
    slots: Vec<u8>,
    used: usize,
}

impl Storage for Ring {
    // bug: large-entry 2 (an entry that is longer than a slot)
    fn put(&mut self, index: usize, bytes: &[u8]) {
        self.slots.resize(64, 0);
        let slot = &mut self.slots[index % 4 * 16..][..16];
        slot[..bytes.len()].copy_from_slice(bytes);
        self.used = self.used.max(index + 1);
    }
    fn last(&self) -> usize {
        self.used
    }
}

struct Log<S> {
    storage: S,
    terms: Vec<u64>,
    waiting: VecDeque<u64>,
}

impl<S: Storage> Log<S> {
    fn append(&mut self, term: u64, entry: &[u8]) -> usize {
        // bug: old-term 2 (an assertion; the sender must not go back)
        assert!(self.terms.last().map_or(true, |t| *t <= term), "term {} is older than the last", term);
        self.terms.push(term);
        let index = self.terms.len() - 1;
        self.storage.put(index, entry);
        index
    }

    // bug: no-such-index 3 (term_of believes indexes that others send)
    fn term_of(&self, index: usize) -> u64 {
        self.terms[index]
    }

    fn agrees(&self, index: usize, term: u64) -> bool {
        index == 0 || self.term_of(index) == term
    }

    // bug: commit-nothing 2 (commits although nothing waits)
    fn commit(&mut self) -> u64 {
        let t = self.waiting.pop_front().expect("an entry that waits");
        t + self.storage.last() as u64
    }
}

struct Member {
    id: usize,
    log: Mutex<Log<Ring>>,
    peers: RwLock<BTreeMap<usize, Sender<Message>>>,
    votes: Mutex<Vec<u32>>,
}

impl Member {
    fn new(id: usize) -> Arc<Self> {
        let log = Log { storage: Ring::default(), terms: vec![1], waiting: VecDeque::new() };
        Arc::new(Member { id, log: Mutex::new(log), peers: RwLock::default(), votes: Mutex::new(vec![0; 3]) })
    }

    // bug: unknown-peer 2 (BTreeMap index of a member that left)
    fn send(&self, to: usize, m: Message) {
        let peers = self.peers.read().unwrap();
        let _ = peers[&to].send(m);
    }

    fn broadcast(&self, n: usize, m: &Message) {
        for i in 0..n {
            if i != self.id {
                self.send(i, m.clone());
            }
        }
    }

    // bug: foreign-vote 2 (a vote of a member with a number that there is not)
    fn vote(&self, term: u64, from: usize) -> u32 {
        let mut v = self.votes.lock().unwrap();
        v[from] += term as u32;
        v[from]
    }

    fn run(&self, inbox: Receiver<Message>) -> usize {
        let mut n = 0;
        while let Ok(m) = inbox.recv() {
            n += 1;
            match m {
                Message::Append { term, entry } => {
                    self.log.lock().unwrap().append(term, &entry);
                }
                Message::Vote { term, from } => {
                    self.vote(term, from);
                }
                Message::Stop => break,
            }
        }
        n
    }
}

fn deliver(m: &Arc<Member>, messages: Vec<Message>) -> usize {
    let (tx, rx) = channel();
    let other = Arc::clone(m);
    let t = thread::spawn(move || other.run(rx));
    for x in messages {
        let _ = tx.send(x);
    }
    let _ = tx.send(Message::Stop);
    t.join().unwrap()
}

// bug: quorum-of-none 2 (a remainder of zero members)
fn leader(term: u64, members: usize) -> usize {
    term as usize % members
}

fn rotate(terms: &[u64], members: &[&str]) -> usize {
    terms.iter().map(|t| leader(*t, members.len())).sum()
}

// bug: parse-address 2 (configurations from users are unwrapped)
fn port(address: &str) -> u16 {
    address.rsplit(':').next().unwrap().parse().unwrap()
}

fn ports(list: &str) -> Vec<u16> {
    list.split(',').map(port).collect()
}

// bug: deep-tree 1 (recursion over a chain of as many nodes as entries)
struct Chain {
    next: Option<Box<Chain>>,
    hash: [u8; 32],
}

fn digest(c: &Chain) -> u8 {
    let rest = c.next.as_ref().map_or(0, |n| digest(n));
    c.hash.iter().fold(rest, |a, b| a.rotate_left(1) ^ b)
}

fn chain(n: usize) -> Chain {
    let mut c = Chain { next: None, hash: [1; 32] };
    for _ in 0..n {
        c = Chain { next: Some(Box::new(c)), hash: [2; 32] };
    }
    c
}

// The caller must give a pointer that is not null.
unsafe fn raw_term(p: *const u64) -> u64 {
    std::ptr::read_volatile(p) + 1
}

// bug: null-snapshot 1 (there may be no snapshot)
fn snapshot(p: Option<&u64>) -> u64 {
    unsafe { raw_term(p.map_or(std::ptr::null(), |x| x)) }
}

// bug: null-hint 1 (hints are optional)
fn hinted(hint: *const u64, fallback: u64) -> u64 {
    let t = unsafe { raw_term(hint) };
    t.max(fallback) * 2
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let bug = args.get(1).map(|s| s.as_str()).unwrap_or("");
    let a = args.get(2).map_or(true, |s| s == "a");
    let c = args.get(2).map_or(false, |s| s == "c");
    let n = args.len();
    let m = Member::new(1);
    let long = vec![7u8; 10 * n];
    match bug {
        "large-entry" => {
            if a {
                m.log.lock().unwrap().append(2, &long);
            } else {
                deliver(&m, vec![Message::Append { term: 3, entry: long }]);
            }
        }
        "old-term" => {
            if a {
                let mut l = m.log.lock().unwrap();
                l.append(5, b"x");
                l.append(n as u64, b"y");
            } else {
                deliver(&m, vec![Message::Append { term: 9, entry: vec![1] }, Message::Append { term: 2, entry: vec![] }]);
            }
        }
        "no-such-index" => {
            let l = m.log.lock().unwrap();
            if a {
                println!("{}", l.agrees(n, 1));
            } else if c {
                println!("{}", (0..n).map(|i| l.term_of(i * 5)).sum::<u64>());
            } else {
                println!("{}", l.term_of(l.terms.len()));
            }
        }
        "commit-nothing" => {
            let mut l = m.log.lock().unwrap();
            if !a {
                l.waiting.push_back(1);
                l.commit();
            }
            println!("{}", l.commit());
        }
        "unknown-peer" => {
            if a {
                m.send(n, Message::Stop);
            } else {
                m.broadcast(n, &Message::Vote { term: 1, from: 1 });
            }
        }
        "foreign-vote" => {
            if a {
                println!("{}", m.vote(2, n + 4));
            } else {
                deliver(&m, vec![Message::Vote { term: 1, from: 1 }, Message::Vote { term: 1, from: 12 }]);
            }
        }
        "quorum-of-none" => {
            if a {
                println!("{}", leader(n as u64, n - 3));
            } else {
                println!("{}", rotate(&[1, 2], &[]));
            }
        }
        "parse-address" => {
            if a {
                println!("{}", port("host:http"));
            } else {
                println!("{}", ports("a:1,b:2,c:70000").len());
            }
        }
        "deep-tree" => println!("{}", digest(&chain(100_000))),
        "null-snapshot" => println!("{}", snapshot(if n > 9 { Some(&1) } else { None })),
        "null-hint" => println!("{}", hinted((n as u64 - 3) as *const u64, 4)),
        _ => {}
    }
    println!("{}", m.log.lock().unwrap().storage.name());
}
