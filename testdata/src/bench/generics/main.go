// Command generics writes large programs in Rust and Go that consist of instances of generic
// code. They die by a panic and a nil pointer:
//
//	generics -language rust -n 30 -o DIR    a crate of so many modules
//	generics -language go -n 290 -o DIR     a module of so many packages, 500 KB of program each
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	language := flag.String("language", "", "`LANGUAGE`: rust or go")
	n := flag.Int("n", 4, "the size")
	out := flag.String("o", ".", "write to this `DIR`")
	flag.Parse()
	write := map[string]func(func(name, text string), int){"rust": rust, "go": golang}[*language]
	if write == nil || *n < 2 {
		fmt.Fprintln(os.Stderr, "generics: -language must be rust or go, and -n at least 2")
		os.Exit(2)
	}
	write(func(name, text string) {
		path := filepath.Join(*out, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "generics:", err)
			os.Exit(1)
		}
	}, *n)
}

// perModule is the number of types of a module or package.
const perModule = 20

// rust: every type goes through every generic function.
func rust(file func(name, text string), n int) {
	var s strings.Builder
	s.WriteString(`use std::collections::{BTreeMap, HashMap};
pub trait Weigh: Clone + Ord + std::fmt::Debug { fn weigh(&self, by: Option<&i32>) -> i32; }
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Nest<T, U> { One(T), Two(Box<Nest<T, U>>, U), None }
#[inline(never)]
pub fn gather<T: Weigh, U: Weigh>(t: &T, u: &U, by: Option<&i32>) -> i32 {
    let nested: Nest<T, (U, Vec<T>)> = Nest::Two(Box::new(Nest::One(t.clone())), (u.clone(), vec![t.clone(); 2]));
    let mut all: Vec<(U, Nest<T, (U, Vec<T>)>)> = vec![(u.clone(), nested.clone()), (u.clone(), Nest::None)];
    let mut by_name: HashMap<String, BTreeMap<i32, T>> = HashMap::new();
    by_name.entry(format!("{:?}", u)).or_default().insert(all.len() as i32, t.clone());
    all.sort_by_key(|(_, n)| match n { Nest::One(t) => t.weigh(by), Nest::Two(_, (u, _)) => u.weigh(by), Nest::None => 0 });
    by_name.len() as i32
}
`)
	for i := range n {
		fmt.Fprintf(&s, "mod m%d {\n    use super::*;\n", i)
		for j := range perModule {
			fmt.Fprintf(&s, `    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct T%d { id: i32, name: String, parts: [u%d; %d], of: Option<Box<T%d>> }
    impl Weigh for T%d { fn weigh(&self, by: Option<&i32>) -> i32 { self.id * %s } }
    fn make%d() -> T%d { T%d { id: %d, name: "t".into(), parts: Default::default(), of: None } }
`, j, 8<<(j%4), j+1, j, j, map[bool]string{true: "*by.unwrap()", false: "*by.unwrap_or(&1)"}[i == 0 && j == 0], j, j, j, j)
		}
		below := "0"
		if i > 0 {
			below = fmt.Sprintf("super::m%d::visit(by)", i-1)
		}
		s.WriteString("    #[inline(never)]\n    pub fn visit(by: Option<&i32>) -> i32 {\n        let mut sum = 0;\n")
		fmt.Fprintf(&s, "        sum += %s;\n", below)
		for j := range perModule {
			fmt.Fprintf(&s, "        sum += gather(&make%d(), &make%d(), by);\n", j, (j+1)%perModule)
		}
		s.WriteString("        sum\n    }\n}\n")
	}
	fmt.Fprintf(&s, "fn main() { std::process::exit(m%d::visit(None)); }\n", n-1)
	file("main.rs", s.String())
}

// golang: types of one package have different sizes, so that each instance has code of its own.
func golang(file func(name, text string), n int) {
	file("go.mod", "module many\n\ngo 1.24\n")
	file("generic/generic.go", `// Package generic has what all packages instantiate.
package generic

import "sort"

type Weigher interface{ Weigh(by *int) int }

type Tree[K comparable, V any] struct {
	Key         K
	Value       V
	Left, Right *Tree[K, V]
	seen        map[K][]V
}

func (t *Tree[K, V]) Insert(k K, v V) *Tree[K, V] {
	if t == nil {
		return &Tree[K, V]{Key: k, Value: v, seen: map[K][]V{k: {v}}}
	}
	t.seen[k] = append(t.seen[k], v)
	if t.Key == k {
		t.Left = t.Left.Insert(k, v)
	} else {
		t.Right = t.Right.Insert(k, v)
	}
	return t
}

func Map[T, U any](all []T, f func(T) U) []U {
	var out []U
	for _, t := range all {
		out = append(out, f(t))
	}
	return out
}

//go:noinline
func Gather[K comparable, V Weigher](k K, v V, by *int) int {
	var t *Tree[K, V]
	for range 3 {
		t = t.Insert(k, v)
	}
	all := Map(t.seen[k], func(v V) *Tree[K, V] { return &Tree[K, V]{Key: k, Value: v} })
	sort.Slice(all, func(i, j int) bool { return all[i].Value.Weigh(by) < all[j].Value.Weigh(by) })
	return len(all)
}
`)
	for i := range n {
		var s strings.Builder
		fmt.Fprintf(&s, "// Package p%d is one of many.\npackage p%d\n\nimport (\n\t\"many/generic\"\n", i, i)
		if i > 0 {
			fmt.Fprintf(&s, "\t\"many/p%d\"\n", i-1)
		}
		s.WriteString(")\n")
		for j := range perModule {
			weigh := "t.ID"
			if i == 0 {
				weigh = "t.ID * *by"
			}
			fmt.Fprintf(&s, "\ntype T%d struct {\n\tID int\n\tName string\n\tParts [%d]int\n}\n\nfunc (t T%d) Weigh(by *int) int { return %s }\n", j, i*perModule+j+1, j, weigh)
		}
		s.WriteString("\n//go:noinline\nfunc Visit(by *int) int {\n\tsum := 0\n")
		if i > 0 {
			fmt.Fprintf(&s, "\tsum += p%d.Visit(by)\n", i-1)
		}
		for j := range perModule {
			fmt.Fprintf(&s, "\tsum += generic.Gather(T%d{ID: 1}, T%d{ID: %d}, by)\n", j, (j+1)%perModule, j)
		}
		s.WriteString("\treturn sum\n}\n")
		file(fmt.Sprintf("p%d/p%d.go", i, i), s.String())
	}
	file("main.go", fmt.Sprintf("// Command many dies in p0.\npackage main\n\nimport (\n\t\"os\"\n\t\"runtime/debug\"\n\n\t\"many/p%d\"\n)\n\nfunc main() {\n\tdebug.SetTraceback(\"crash\")\n\tos.Exit(p%d.Visit(nil))\n}\n", n-1, n-1))
}
