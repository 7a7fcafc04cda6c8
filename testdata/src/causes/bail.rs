// Ends by a function that never returns, which is called for two reasons; other functions that never return lie before the calls. The arguments are the way to die
// and numbers.
use std::collections::HashMap;

#[inline(never)]
fn bail(msg: &str) -> ! {
    panic!("ledger: {}", msg)
}

struct Ledger {
    rows: Vec<i64>,
    totals: HashMap<String, i64>,
}

impl Ledger {
    fn check(&self) {
        for r in &self.rows {
            if *r < 0 {
                bail("negative booking");
            }
        }
    }
    fn first(&self) -> i64 {
        match self.rows.first() {
            Some(b) => *b,
            None => bail("no bookings at all"),
        }
    }
    fn page(&self, from: usize, n: usize) -> &[i64] {
        &self.rows[from..from + n]
    }
    fn share(&self, n: i64) -> i64 {
        self.rows.iter().sum::<i64>() / n
    }
}

fn main() {
    let a: Vec<String> = std::env::args().collect();
    let mut l = Ledger { rows: vec![], totals: HashMap::new() };
    for s in a[2].split(',').filter(|s| !s.is_empty()) {
        let cents = s.parse::<i64>().unwrap();
        *l.totals.entry(s.to_string()).or_insert(0) += cents;
        l.rows.push(cents);
    }
    let n: usize = a.get(3).and_then(|s| s.parse().ok()).unwrap_or(0);
    match a[1].as_str() {
        "total" => println!("{}", l.totals[&a[3]]),
        "page" => println!("{:?}", l.page(n, 2)),
        "share" => println!("{}", l.share(n as i64)),
        "check" => l.check(),
        "first" => println!("{:?}", l.first()),
        _ => println!("{}", l.rows.len()),
    }
}
