// Rust programs that end by a panic, chosen by the first argument, with panic=abort.
//
//   format   a panic with a formatted text
//   literal  a panic with a text that is not formatted
//   index    a subscript out of range
//   any      a panic with a value that is no text
//   extern   a panic that would leave a function that C calls
//   alloc    no memory left
//
// Expected stack: <libc>..., abort, std's panic machinery, the function named after the
// argument, lastwords::main, std's start code, main, libc's start code
#[inline(never)]
fn format(port: u32) {
    panic!("cannot bind port {port}: {}", "in use");
}

#[inline(never)]
fn literal() {
    panic!("not reached");
}

#[inline(never)]
fn index(list: &[u32], i: usize) -> u32 {
    list[i]
}

#[inline(never)]
fn any() {
    std::panic::panic_any(42u64);
}

#[inline(never)]
extern "C" fn called_by_c(x: u32) {
    if x > 0 {
        panic!("inside of {x}");
    }
}

#[inline(never)]
fn alloc(size: usize) {
    std::alloc::handle_alloc_error(std::alloc::Layout::from_size_align(size, 16).unwrap());
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("format") => format(8080),
        Some("literal") => literal(),
        Some("index") => std::process::exit(index(&[1, 2, 3], std::env::args().count() + 5) as i32),
        Some("any") => any(),
        Some("extern") => called_by_c(1),
        Some("alloc") => alloc(123456789),
        _ => {}
    }
}
