// A Rust program that panics: unwrap on None, with panic=abort.
//
// Expected stack: frames of libc's abort and of std's panic machinery, then
//   unwrap::last_word (with Option::unwrap inlined), unwrap::longest, unwrap::main,
//   std's start code, main, libc's start code
#[inline(never)]
fn last_word(text: &str) -> &str {
    text.split_whitespace().last().unwrap()
}

#[inline(never)]
fn longest(lines: &[String]) -> usize {
    let mut most = 0;
    for line in lines {
        most = most.max(last_word(line).len());
    }
    most
}

fn main() {
    let lines = vec![String::from("some words"), String::from("  ")];
    std::process::exit(longest(&lines) as i32);
}
