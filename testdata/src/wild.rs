// A Rust program that follows a bad pointer in an inlined method.
//
// The load is merged, so Cell::get leaves no trace. Expected stack:
//   wild::Ring::sum (inlined), wild::total, wild::main, std's start code, main,
//   libc's start code
struct Cell {
    value: u64,
}

impl Cell {
    #[inline(always)]
    fn get(&self) -> u64 {
        unsafe { std::ptr::read_volatile(&self.value) }
    }
}

struct Ring {
    cells: [*const Cell; 2],
}

impl Ring {
    #[inline(always)]
    fn sum(&self) -> u64 {
        let mut sum = 0;
        for cell in self.cells {
            sum += unsafe { &*cell }.get();
        }
        sum
    }
}

#[inline(never)]
fn total(rings: &[Ring]) -> u64 {
    let mut sum = 1;
    for ring in rings {
        sum *= ring.sum();
    }
    sum
}

fn main() {
    let good = Cell { value: 2 };
    let wild = 0x18 as *const Cell;
    let rings = [Ring { cells: [&good, &good] }, Ring { cells: [&good, wild] }];
    std::process::exit(total(&rings) as i32);
}
