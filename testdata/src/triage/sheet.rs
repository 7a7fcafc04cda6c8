// set: held-out
// A sheet of cells with formulas.
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

#[derive(Debug, Clone)]
enum Cell {
    Empty,
    Number(i64),
    Sum(Vec<(u32, u32)>),
    Quotient(Box<Cell>, Box<Cell>),
    Ref(u32, u32),
}

trait Source {
    fn cell(&self, at: (u32, u32)) -> Cell;
    fn name(&self) -> String;
}

struct Grid {
    cells: BTreeMap<(u32, u32), Cell>,
    names: Vec<Rc<str>>,
    width: usize,
}

struct Remote {
    address: Option<String>,
}

impl Source for Grid {
    fn cell(&self, at: (u32, u32)) -> Cell {
        self.cells.get(&at).cloned().unwrap_or(Cell::Empty)
    }
    // bug: no-names 2 (a grid may have none)
    fn name(&self) -> String {
        self.names[0].to_string()
    }
}

impl Source for Remote {
    fn cell(&self, _: (u32, u32)) -> Cell {
        Cell::Number(self.name().len() as i64)
    }
    // bug: no-address 2
    fn name(&self) -> String {
        self.address.as_ref().expect("an address").clone()
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:", self.name())?;
        // bug: no-width 2
        write!(f, "{}", self.cells.len() / self.width)
    }
}

// bug: circular 2
fn value(s: &dyn Source, c: &Cell) -> i64 {
    match c {
        Cell::Empty => 0,
        Cell::Number(n) => *n,
        Cell::Sum(list) => sum(s, list),
        Cell::Quotient(a, b) => quotient(value(s, a), value(s, b)),
        Cell::Ref(x, y) => value(s, &s.cell((*x, *y))),
    }
}

fn sum(s: &dyn Source, list: &[(u32, u32)]) -> i64 {
    let mut n = 0;
    for at in list {
        n += value(s, &s.cell(*at));
    }
    n
}

// bug: divide-by-empty 2
fn quotient(a: i64, b: i64) -> i64 {
    a / b
}

fn caption(s: &dyn Source) -> usize {
    let n = s.name();
    n.len() + 1
}

// bug: bad-column 2
fn column(text: &str) -> u32 {
    let mut n = 0;
    for c in text.chars() {
        match c {
            'A'..='Z' => n = n * 26 + (c as u32 - 'A' as u32) + 1,
            _ => panic!("column {text:?}"),
        }
    }
    n
}

fn reference(text: &str) -> Cell {
    let cut = text.len() - 1;
    Cell::Ref(column(&text[..cut]), 1)
}

// bug: row-range 2
fn rows(list: &[i64], from: usize, to: usize) -> i64 {
    list[from..to].iter().sum()
}

fn first_rows(list: &[i64], n: usize) -> i64 {
    rows(list, 0, n) + 1
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let bug = args.get(1).map(|s| s.as_str()).unwrap_or("");
    let second = args.get(2).is_some_and(|s| s == "b");
    let mut g = Grid { cells: BTreeMap::new(), names: vec!["sheet".into()], width: 4 };
    let r = Remote { address: None };
    let list: Vec<i64> = (0..args.len() as i64).collect();
    let n = match bug {
        "no-names" => {
            g.names.clear();
            if second { caption(&g) as i64 } else { g.to_string().len() as i64 }
        }
        "no-address" if second => caption(&r) as i64,
        "no-address" => value(&r, &Cell::Sum(vec![(1, 1)])),
        "no-width" => {
            g.width = args.len() - 3;
            let s = if second { format!("{g}|{}", g.width) } else { g.to_string() };
            s.len() as i64
        }
        "circular" => {
            g.cells.insert((1, 1), Cell::Sum(vec![(1, 1)]));
            if second { sum(&g, &[(1, 1)]) } else { value(&g, &Cell::Ref(1, 1)) }
        }
        "divide-by-empty" if second => quotient(args.len() as i64, args.len() as i64 - 3),
        "divide-by-empty" => value(&g, &Cell::Quotient(Box::new(Cell::Number(4)), Box::new(Cell::Empty))),
        "bad-column" if second => column("a") as i64,
        "bad-column" => value(&g, &reference("B?1")),
        "row-range" if second => rows(&list, 2, 90),
        "row-range" => first_rows(&list, 80),
        _ => 0,
    };
    println!("{n}");
}
