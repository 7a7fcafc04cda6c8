// Numbers that are written past the end of memory through a pointer, into what owns other memory.
struct Image { pixels: Box<[u64; 4]>, width: usize }
struct Palette { colours: Box<Vec<u64>>, name: Box<u64>, next: usize, k: usize }
struct Track { samples: Vec<u32>, rate: u32 }
struct Node { next: Option<Box<Node>>, name: String, id: u64 }

#[inline(never)]
fn fill(image: &mut Image, n: usize) {
    let p = image.pixels.as_mut_ptr();
    for i in 0..n { unsafe { *p.add(i) = 1000 + 8 * i as u64; } }
}

// given: what is given back is a number.
fn given(n: usize) -> usize {
    let mut image = Image { pixels: Box::new([0; 4]), width: 4 };
    let palette = Box::new(Palette { colours: Box::new(vec![1, 2, 3]), name: Box::new(7), next: 0, k: 1 });
    fill(&mut image, n + 7);
    palette.colours.len() + *palette.name as usize + image.width + palette.next + palette.k
}

#[inline(never)]
fn record(t: &mut Track, n: usize) {
    let p = t.samples.as_mut_ptr();
    for i in 0..n { unsafe { p.add(i).write(40000 + i as u32 * 3) } }
}

// aligned: a number that no pointer can be.
fn aligned(n: usize) -> usize {
    let mut t = Track { samples: Vec::with_capacity(12), rate: 1 };
    let list = Box::new(Node { next: Some(Box::new(Node { next: None, name: String::from("b"), id: 2 })), name: String::from("a"), id: 1 });
    record(&mut t, 28 + n);
    let (mut sum, mut at) = (t.rate as usize, Some(&list));
    while let Some(x) = at { sum += x.name.len() + x.id as usize; at = x.next.as_ref(); }
    sum
}

fn main() {
    let n = std::env::args().count() - 1;
    println!("{}", if std::env::args().nth(1).unwrap() == "given" { given(n) } else { aligned(n) });
}
