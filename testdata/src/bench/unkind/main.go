// Command unkind writes sources in C and C++ of programs whose debug information is laid out as
// badly for a debugger as compilers allow. All of them die by a null pointer:
//
//	unkind -kind small -n 5000 -o DIR      so many small units, which share their types
//	unkind -kind shared -n 150 -o DIR      units with copies of 150 classes, some of which most units only declare
//	unkind -kind templates -n 14 -o DIR    names that double with each of 14 levels, and packs of 20 times as many types
//	unkind -kind one -n 60000 -o DIR       one unit of so many types and functions, 450 bytes of DWARF each
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	kind := flag.String("kind", "", "`KIND` of program: small, shared, templates or one")
	n := flag.Int("n", 10, "the size")
	out := flag.String("o", ".", "write to this `DIR`")
	flag.Parse()
	write := map[string]func(func(name, text string), int){"small": small, "shared": shared, "templates": templates, "one": one}[*kind]
	if write == nil || *n < 2 {
		fmt.Fprintln(os.Stderr, "unkind: -kind must be small, shared, templates or one, and -n at least 2")
		os.Exit(2)
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		fail(err)
	}
	write(func(name, text string) {
		if err := os.WriteFile(filepath.Join(*out, name), []byte(text), 0o644); err != nil {
			fail(err)
		}
	}, *n)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "unkind:", err)
	os.Exit(1)
}

// small: the stack goes through at most 40 units, from the last to the first.
func small(file func(name, text string), n int) {
	var h strings.Builder
	h.WriteString("struct node;\n")
	for i := range 20 {
		fmt.Fprintf(&h, "struct part%d { int id, count; const char *name; struct node *of; double values[%d]; struct part%d *next; };\n", i, i+2, (i+7)%20)
	}
	h.WriteString("struct node { int id; struct node *next; const int *weight;")
	for i := range 20 {
		fmt.Fprintf(&h, " struct part%d p%d;", i, i)
	}
	h.WriteString(" };\n")
	file("types.h", h.String())
	stride := max(n/40, 1)
	for i := range n {
		body := "n->p0.count + *n->weight"
		if i > 0 {
			body = fmt.Sprintf("step%d(n->next, depth + 1) + n->p%d.count", max(i-stride, 0), i%20)
		}
		file(fmt.Sprintf("unit%d.c", i), fmt.Sprintf(`#include "types.h"
int step%d(struct node *n, int depth);
static int weigh%d(const struct part%d *p) { int sum = 0; for (int i = 0; i < p->count; i++) sum += p->id; return sum; }
__attribute__((noinline)) int step%d(struct node *n, int depth)
{
	int own = weigh%d(&n->p%d);
	return own + %s;
}
`, max(i-stride, 0), i, i%20, i, i, i%20, body))
	}
	file("main.c", fmt.Sprintf(`#include "types.h"
int step%d(struct node *n, int depth);
static struct node ring;
int main(void)
{
	ring.next = &ring;
	return step%d(&ring, 0);
}
`, n-1, n-1))
}

// shared: each unit has all classes of the header, and pointers to classes that only the last unit defines.
func shared(file func(name, text string), n int) {
	const classes = 150
	var h strings.Builder
	h.WriteString(`namespace shop {
template <class T> class Owned { T *p = nullptr; public: T *get() const { return p; } explicit operator bool() const { return p; } };
template <class T> class List { T *first = nullptr; unsigned long size_ = 0, room = 0; public: using value_type = T; int size() const { return size_; } T &front() const { return *first; } };
template <class K, class V> class Table { struct Slot { K key; V value; Slot *next; }; List<Slot *> slots; public: using mapped_type = V; bool empty() const { return slots.size() == 0; } };
struct Text { const char *p = nullptr; int n = 0; };
`)
	for i := range classes {
		fmt.Fprintf(&h, "struct Secret%d;\n", i)
	}
	for i := range classes {
		fmt.Fprintf(&h, "class Item%d {\npublic:\n\tvirtual ~Item%d() {}\n\tvirtual int price(int at) const { return tags.size() + at; }\n\tText name;\n\tList<Text> tags;\n\tSecret%d *secret = nullptr;\n\tenum class Kind { small%d, large%d } kind = Kind::small%d;\n",
			i, i, i, i, i, i)
		if i > 0 {
			fmt.Fprintf(&h, "\tTable<Text, Owned<Item%d>> below;\n\tItem%d *peer = nullptr;\n", i-1, i/2)
		}
		h.WriteString("};\n")
	}
	h.WriteString("struct World {\n")
	for i := range classes {
		fmt.Fprintf(&h, "\tItem%d i%d;\n", i, i)
	}
	h.WriteString("\tconst int *weight = nullptr;\n};\n}\n")
	file("shop.h", h.String())
	stride := max(n/20, 1)
	for i := range n {
		body := "*w.weight"
		if i > 0 {
			body = fmt.Sprintf("visit%d(w, w.i%d.secret, depth + 1)", max(i-stride, 0), max(i-stride, 0)%classes)
		}
		file(fmt.Sprintf("unit%d.cpp", i), fmt.Sprintf(`#include "shop.h"
namespace shop {
int visit%d(World &w, Secret%d *secret, int depth);
int visit%d(World &w, Secret%d *secret, int depth)
{
	Item%d kept = w.i%d;
	auto below = [&](int at) { return kept.price(at) + kept.tags.size() + %s; };
	return below(depth) + (secret != nullptr);
}
}
`, max(i-stride, 0), max(i-stride, 0)%classes, i, i%classes, i%classes, i%classes, body))
	}
	var m strings.Builder
	m.WriteString("#include \"shop.h\"\nnamespace shop {\n")
	for i := range classes {
		fmt.Fprintf(&m, "struct Secret%d { int code[%d]; Text word; Secret%d *next; };\n", i, i%5+1, (i+1)%classes)
	}
	fmt.Fprintf(&m, "int visit%d(World &w, Secret%d *secret, int depth);\n", n-1, (n-1)%classes)
	for i := range classes {
		fmt.Fprintf(&m, "static Secret%d secret%d;\n", i, i)
	}
	m.WriteString("}\nint main()\n{\n\tstatic shop::World w;\n")
	for i := range classes {
		fmt.Fprintf(&m, "\tw.i%d.secret = &shop::secret%d;\n", i, i)
	}
	fmt.Fprintf(&m, "\treturn shop::visit%d(w, &shop::secret%d, 0);\n}\n", n-1, (n-1)%classes)
	file("main.cpp", m.String())
}

// templates: the demangled name of the function at level i is 2^i times as long as that at level 0;
// its linkage name is short. The packs are as deep as the levels are wide.
func templates(file func(name, text string), n int) {
	var s strings.Builder
	s.WriteString(`#include <tuple>
#include <utility>
template <class A, class B> struct Pair { A *a; B *b; int n; };
struct Leaf { const int *weight; };
template <int N> struct Level { using type = Pair<typename Level<N - 1>::type, typename Level<N - 1>::type>; };
template <> struct Level<0> { using type = Leaf; };
template <class T> struct Walk;
template <> struct Walk<Leaf> {
	__attribute__((noinline)) static int go(Leaf *l, int depth) { return l->weight[depth]; }
};
template <class A, class B> struct Walk<Pair<A, B>> {
	__attribute__((noinline)) static int go(Pair<A, B> *p, int depth)
	{
		Pair<A, B> copy = *p;
		int rest = Walk<A>::go(copy.a, depth + 1);
		return rest + copy.n;
	}
};
template <int N> struct Tag { int v[N + 1]; };
template <class Seq> struct Pack;
template <int... I> struct Pack<std::integer_sequence<int, I...>> {
	static __attribute__((noinline)) int go(std::tuple<Tag<I>...> *all, int depth);
};
int start(int depth);
template <int... I> int Pack<std::integer_sequence<int, I...>>::go(std::tuple<Tag<I>...> *all, int depth)
{
	constexpr int left = sizeof...(I);
	int rest;
	if constexpr (left > 1)
		rest = Pack<std::make_integer_sequence<int, (left > 8 ? left - left / 8 : left - 1)>>::go(nullptr, depth + 1);
	else
		rest = start(depth + 1);
	return rest + (all != nullptr);
}
`)
	fmt.Fprintf(&s, "constexpr int levels = %d, packed = %d;\n", n, 20*n)
	s.WriteString(`Leaf leaf;
template <int N> typename Level<N>::type *make()
{
	if constexpr (N == 0) {
		return &leaf;
	} else {
		static typename Level<N>::type here{make<N - 1>(), make<N - 1>(), N};
		return &here;
	}
}
int start(int depth) { return Walk<Level<levels>::type>::go(make<levels>(), depth); }
int main() { return Pack<std::make_integer_sequence<int, packed>>::go(nullptr, 0); }
`)
	file("main.cpp", s.String())
}

// one: the crashed function is in the middle of the unit; its callers are before and behind it.
func one(file func(name, text string), n int) {
	var s strings.Builder
	for i := range n {
		call := "a->first" // f0 calls nobody
		switch i {
		case 0:
		case n / 3:
			fmt.Fprintf(&s, "struct r%d;\nint f%d(struct r%d *a, int depth);\n", n/2, n/2, n/2)
			call = fmt.Sprintf("f%d(0, depth + 1)", n/2)
		case n - 1:
			call = fmt.Sprintf("f%d(&v%d, depth + 1)", n/3, n/3)
		default:
			call = fmt.Sprintf("f%d(&v%d, depth + 1)", i/2, i/2)
		}
		fmt.Fprintf(&s, `struct r%d { int id, first; struct r%d *before, *after; const int *weight; enum { small%d, large%d } kind; char name[%d]; double values[4]; union { int i; float f; } u; };
static struct r%d v%d;
__attribute__((noinline)) int f%d(struct r%d *a, int depth)
{
	struct r%d *half = a->before;
	int sum = a->id;
	for (int i = 0; i < a->first; i++) { int twice = 2 * i; sum += twice; }
	int rest = %s;
	return sum + rest + (half != 0);
}
`, i, i/2, i, i, i%60+1, i, i, i, i, i/2, call)
	}
	fmt.Fprintf(&s, "int main(void) { return f%d(&v%d, 0); }\n", n-1, n-1)
	file("main.c", s.String())
}
