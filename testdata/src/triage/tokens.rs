// set: unseen
// Splits texts into tokens, parses and evaluates them; values are shared between scopes.
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::rc::{Rc, Weak};

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Num(i64),
    Name(String),
    Op(char),
}

#[derive(Debug)]
enum ParseError {
    End,
    Unexpected(char),
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseError::End => write!(f, "end of text"),
            ParseError::Unexpected(c) => write!(f, "unexpected {c:?}"),
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str) -> Self {
        Lexer { text, at: 0 }
    }

    // bug: split-character 2 (cuts in the middle of a character)
    fn word(&mut self, n: usize) -> &'a str {
        let w = &self.text[self.at..self.at + n];
        self.at += n;
        w
    }

    fn next(&mut self) -> Option<Token> {
        let c = self.text[self.at..].chars().next()?;
        self.at += c.len_utf8();
        Some(match c {
            '0'..='9' => Token::Num(c as i64 - 48),
            'a'..='z' => Token::Name(c.to_string()),
            _ => Token::Op(c),
        })
    }
}

fn columns(text: &str, widths: &[usize]) -> usize {
    let mut l = Lexer::new(text);
    widths.iter().map(|w| l.word(*w).trim().len()).sum()
}

fn prefix(text: &str) -> String {
    let mut l = Lexer::new(text);
    let mut s = String::from("<");
    s.push_str(l.word(4));
    s.push('>');
    s
}

enum Expr {
    Num(i64),
    Name(String),
    Bin(char, Box<Expr>, Box<Expr>),
}

fn parse(l: &mut Lexer, depth: u32) -> Result<Expr, ParseError> {
    let left = match l.next().ok_or(ParseError::End)? {
        Token::Num(n) => Expr::Num(n),
        Token::Name(s) => Expr::Name(s),
        Token::Op(c) => return Err(ParseError::Unexpected(c)),
    };
    match l.next() {
        Some(Token::Op(c)) => Ok(Expr::Bin(c, Box::new(left), Box::new(parse(l, depth + 1)?))),
        _ => Ok(left),
    }
}

struct Scope {
    values: HashMap<String, i64>,
    outer: Option<Rc<RefCell<Scope>>>,
    user: Weak<RefCell<Scope>>,
    hook: Option<fn(&Rc<RefCell<Scope>>)>,
}

type Shared = Rc<RefCell<Scope>>;

fn scope(outer: Option<Shared>) -> Shared {
    Rc::new(RefCell::new(Scope { values: HashMap::new(), outer, user: Weak::new(), hook: None }))
}

// bug: endless-scope 2 (a scope that is its own outer scope)
fn find(s: &Shared, name: &str) -> Option<i64> {
    let b = s.borrow();
    if let Some(v) = b.values.get(name) {
        return Some(*v);
    }
    let r = find(b.outer.as_ref()?, name);
    r.map(|v| v + b.values.len() as i64)
}

fn defined(s: &Shared, name: &str) -> bool {
    find(s, name).is_some()
}

// bug: unknown-name 2 (eval does not expect names that are not defined)
// bug: divide 2 (nor zeros)
// bug: strange-operator 2 (nor other operators)
fn eval(e: &Expr, s: &Shared) -> i64 {
    match e {
        Expr::Num(n) => *n,
        Expr::Name(n) => find(s, n).expect("a defined name"),
        Expr::Bin(op, l, r) => {
            let (a, b) = (eval(l, s), eval(r, s));
            match op {
                '+' => a + b,
                '-' => a - b,
                '/' => a / b,
                _ => unreachable!("operator {op}"),
            }
        }
    }
}

// bug: bad-text 2 (callers of calculate may give bad texts, it unwraps)
fn calculate(text: &str, s: &Shared) -> i64 {
    let e = parse(&mut Lexer::new(text), 0).unwrap();
    eval(&e, s)
}

fn table(rows: &[&str], s: &Shared) -> Vec<i64> {
    rows.iter().map(|r| calculate(r, s)).collect()
}

// bug: hook-writes 2 (runs the hook while the scope is borrowed)
fn assign(s: &Shared, name: &str, v: i64) {
    let mut b = s.borrow_mut();
    b.values.insert(name.to_string(), v);
    if let Some(h) = b.hook {
        h(s);
    }
}

fn count_hook(s: &Shared) {
    println!("{} values", s.borrow().values.len());
}

fn assign_all(s: &Shared, pairs: &[(&str, i64)]) {
    for (n, v) in pairs {
        assign(s, n, *v);
    }
}

// bug: user-gone 2 (the user of a scope may be gone)
fn user_values(s: &Shared) -> usize {
    let u = s.borrow().user.upgrade().unwrap();
    let n = u.borrow().values.len();
    n
}

fn users(list: &[Shared]) -> usize {
    list.iter().map(user_values).max().unwrap_or(0)
}

// bug: window 2 (windows of more tokens than there are)
fn window(tokens: &[Token], from: usize, n: usize) -> &[Token] {
    &tokens[from..from + n]
}

fn peek2(tokens: &[Token]) -> bool {
    window(tokens, tokens.len() - 1, 2)[1] == Token::Op('=')
}

fn triples(tokens: &[Token]) -> usize {
    (0..tokens.len()).filter(|i| window(tokens, *i, 3).contains(&Token::Num(1))).count()
}

// Callers give an index that there is.
fn number(tokens: &[Token], i: usize) -> i64 {
    match &tokens[i] {
        Token::Num(n) => *n,
        other => panic!("no number but {other:?}"),
    }
}

// bug: not-a-number 2 (the panic of number: sums are only of numbers, sum has to ask)
fn sum(tokens: &[Token]) -> i64 {
    (0..tokens.len()).map(|i| number(tokens, i)).sum()
}

// bug: corrupt-pool 1 (an unsafe read through an offset from a file)
fn pooled(pool: &[i64], offset: isize) -> i64 {
    unsafe { std::ptr::read_volatile(pool.as_ptr().offset(offset)) }
}

// bug: exhausted 1 (ends the program on purpose)
fn exhausted(left: i32) -> i32 {
    if left < 0 {
        eprintln!("exhausted");
        std::process::abort();
    }
    left - 1
}

fn tokens(text: &str) -> Vec<Token> {
    let mut l = Lexer::new(text);
    std::iter::from_fn(|| l.next()).collect()
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let bug = args.get(1).map(|s| s.as_str()).unwrap_or("");
    let a = args.get(2).map(|s| s == "a").unwrap_or(true);
    let n = args.len();
    let s = scope(None);
    let inner = scope(Some(s.clone()));
    let r: i64 = match bug {
        "split-character" => {
            if a {
                columns("ab ÄÖÜ xyz", &[2, 2, 3]) as i64
            } else {
                prefix("aäöü").len() as i64
            }
        }
        "endless-scope" => {
            s.borrow_mut().outer = Some(inner.clone());
            if a {
                defined(&inner, "x") as i64
            } else {
                find(&s, "y").unwrap_or(3)
            }
        }
        "unknown-name" => {
            if a {
                calculate("1+z", &inner)
            } else {
                table(&["1+2", "q-1"], &s).len() as i64
            }
        }
        "divide" => {
            if a {
                calculate("8/0", &s)
            } else {
                table(&["8/2", "7/0"], &inner)[0]
            }
        }
        "strange-operator" => {
            if a {
                calculate("1%2", &s)
            } else {
                table(&["1+1", "2^3"], &s)[1]
            }
        }
        "bad-text" => {
            if a {
                calculate("1+", &s)
            } else {
                table(&["1", "(2"], &s)[0]
            }
        }
        "hook-writes" => {
            s.borrow_mut().hook = Some(count_hook);
            if a {
                assign(&s, "k", n as i64);
            } else {
                assign_all(&s, &[("a", 1), ("b", 2)]);
            }
            0
        }
        "user-gone" => {
            let list = [s.clone(), inner.clone()];
            if a {
                user_values(&s) as i64
            } else {
                users(&list) as i64
            }
        }
        "window" => {
            let t = tokens("1+2");
            if a {
                peek2(&t) as i64
            } else {
                triples(&t) as i64
            }
        }
        "not-a-number" => {
            if a {
                sum(&tokens("12x"))
            } else {
                sum(&tokens("1+1")) * 2
            }
        }
        "corrupt-pool" => pooled(&[1, 2, 3], 1 << (30 + n)),
        "exhausted" => exhausted(-(n as i32)) as i64,
        _ => 0,
    };
    println!("{r}");
}
