package demangle

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestName(t *testing.T) {
	for _, c := range []struct{ in, name, fn string }{
		{"main", "main", "main"},
		{"", "", ""},
		{"_start", "_start", "_start"},
		{"_Reset_Handler", "_Reset_Handler", "_Reset_Handler"},
		{"_Z", "_Z", "_Z"},
		{"_Znothing", "_Znothing", "_Znothing"},
		{"_ZN", "_ZN", "_ZN"},
		{"main.main", "main.main", "main.main"},
		{"runtime.(*mheap).alloc.func1", "runtime.(*mheap).alloc.func1", "runtime.(*mheap).alloc.func1"},
		{"runtime.raise.abi0", "runtime.raise.abi0", "runtime.raise"},
		{"main.abi0", "main.abi0", "main.abi0"},
		{"_Z3fooi", "foo(int)", "foo"},
		{"_ZN2ns5Class6methodEi", "ns::Class::method(int)", "ns::Class::method"},
		{"_ZNK2ns5Class3getEv", "ns::Class::get() const", "ns::Class::get"},
		{"_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back(int&&)", "std::vector<int, std::allocator<int> >::push_back"},
		{"_Z3maxIiET_S0_S0_", "int max<int>(int, int)", "max<int>"},
		{"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()"},
		{"_ZZ1fiENKUlvE_clEv", "f(int)::{lambda()#1}::operator()() const", "f(int)::{lambda()#1}::operator()"},
		{"_ZN12_GLOBAL__N_15localEv", "(anonymous namespace)::local()", "(anonymous namespace)::local"},
		{"_ZTV3Foo", "vtable for Foo", "vtable for Foo"},
		{"_ZThn16_N1B1fEv", "non-virtual thunk to B::f()", "non-virtual thunk to B::f()"},
		{"_ZN3FooC1Ev", "Foo::Foo()", "Foo::Foo"},
		{"_ZN3FooD0Ev", "Foo::~Foo()", "Foo::~Foo"},
		{"_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4sizeEv",
			"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::size() const",
			"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::size"},
		{"_Z3fooi.isra.0", "foo(int) [clone .isra.0]", "foo"},
		{"_Z3fooi.constprop.0.cold", "foo(int) [clone .constprop.0.cold]", "foo"},
		{"_Z3fooi.llvm.1234567890", "foo(int) [clone .llvm.1234567890]", "foo"},
		{"_Z3fooi.avx2", "foo(int) [clone .avx2]", "foo"},
		{"_Z3fooi@@LIB_1.0", "foo(int)@@LIB_1.0", "foo"},
		{"_Z3fooi@plt", "foo(int)@plt", "foo@plt"},
		{"foo.isra.0", "foo.isra.0", "foo"},
		{"foo.cold", "foo.cold", "foo"},
		{"main._omp_fn.0", "main._omp_fn.0", "main"},
		{"pthread_create@@GLIBC_2.34", "pthread_create@@GLIBC_2.34", "pthread_create"},
		{"memcpy@GLIBC_2.2.5", "memcpy@GLIBC_2.2.5", "memcpy"},
		{"puts@plt", "puts@plt", "puts@plt"},
		{"_foo@12", "_foo@12", "_foo@12"},
		{"?f@@YAXXZ", "void __cdecl f(void)", "f"},
		// Rust, legacy
		{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt", "core::fmt::Write::write_fmt"},
		{"_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h6e36fbe1e1ec79fbE.llvm.4242",
			"std::rt::lang_start::{{closure}} [clone .llvm.4242]", "std::rt::lang_start::{{closure}}"},
		{"_ZN68_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..deref..Deref$GT$5deref17h1e36fbe1e1ec79fbE",
			"<alloc::vec::Vec<T> as core::ops::deref::Deref>::deref", "<alloc::vec::Vec<T> as core::ops::deref::Deref>::deref"},
		{"_ZN3std3sys9backtrace28__rust_begin_short_backtrace17h0123456789abcdefE",
			"std::sys::backtrace::__rust_begin_short_backtrace", "std::sys::backtrace::__rust_begin_short_backtrace"},
		// Rust, v0
		{"_RNvC6_123foo3bar", "123foo::bar", "123foo::bar"},
		{"_RNvCs1234_7mycrate4main", "mycrate::main", "mycrate::main"},
		{"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>", "std::mem::align_of::<f64>"},
	} {
		if got := Name(c.in); got != c.name {
			t.Errorf("Name(%q) = %q; want %q", c.in, got, c.name)
		}
		if got := Func(c.in); got != c.fn {
			t.Errorf("Func(%q) = %q; want %q", c.in, got, c.fn)
		}
	}
}

func TestNameWith(t *testing.T) {
	const s = "_ZNSt6vectorIiSaIiEE9push_backEOi.isra.0"
	for _, c := range []struct {
		o    Options
		in   string
		want string
	}{
		{Options{NoClones: true}, s, "std::vector<int, std::allocator<int> >::push_back(int&&)"},
		{Options{NoParams: true}, s, "std::vector<int, std::allocator<int> >::push_back [clone .isra.0]"},
		{Options{NoTemplateParams: true, NoClones: true}, s, "std::vector::push_back(int&&)"},
		{Options{NoTemplateParams: true, NoParams: true, NoClones: true}, s, "std::vector::push_back"},
		{Options{NoEnclosingParams: true}, "_ZZ1fiENKUlvE_clEv", "f()::{lambda()#1}::operator()() const"},
		{Options{NoClones: true}, "foo.part.0@@V1", "foo@@V1"},
	} {
		if got := NameWith(c.in, c.o); got != c.want {
			t.Errorf("NameWith(%q, %+v) = %q; want %q", c.in, c.o, got, c.want)
		}
	}
}

func TestSplitClone(t *testing.T) {
	for in, base := range map[string]string{
		"f":                            "f",
		"f.isra.0":                     "f",
		"f.isra.0.constprop.1":         "f",
		"f.part.0.cold":                "f",
		"f.cold.1":                     "f",
		"f.lto_priv.0.lto_priv.1":      "f",
		"f.__uniq.42.llvm.7":           "f",
		"f.arch_haswell":               "f",
		"f.default.1":                  "f",
		"f.0":                          "f.0", // a static variable's number, or a name
		"f.":                           "f.",
		".cold":                        ".cold",
		"..":                           "..",
		"time.Now":                     "time.Now",
		"a.b.cold":                     "a.b",
		"_Z1fv.resume":                 "_Z1fv",
		"_Z1fv.unheard_of.3":           "_Z1fv",
		"_ZN1a..b17h0123456789abcdefE": "_ZN1a..b17h0123456789abcdefE",
	} {
		b, c := SplitClone(in)
		if b != base || b+c != in {
			t.Errorf("SplitClone(%q) = %q, %q; want %q first", in, b, c, base)
		}
	}
}

// TestHostileNames checks that no short name takes long or produces unlimited output.
func TestHostileNames(t *testing.T) {
	pairs := "_Z1f4pairI1AS0_E"
	for i := range 34 {
		pairs += "S_IS" + string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]) + "_S" + string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]) + "_E"
	}
	n := MaxInput/2 - 100
	for name, s := range map[string]string{
		"doubling":        pairs,
		"pointers":        "_Z1f" + strings.Repeat("P", n) + "i",
		"qualifiers":      "_Z1f" + strings.Repeat("K", n) + "i",
		"functions":       "_Z1f" + strings.Repeat("PF", n/2) + "i" + strings.Repeat("iE", n/2),
		"expressions":     "_Z1fIX" + strings.Repeat("pl", n/3) + strings.Repeat("Li1E", n/3) + "EEvv",
		"local names":     strings.Repeat("_ZZ1f", n/3),
		"conversions":     "_Z" + strings.Repeat("cv", n/2) + "i",
		"rust back links": "_RINvC1a1f" + strings.Repeat("TB8_B8_", n/7) + "E",
		"too long":        "_Z1f" + strings.Repeat("i", MaxInput),
	} {
		start := time.Now()
		got := Name(s)
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("%s: %v", name, d)
		}
		if len(got) > MaxOutput && len(got) > len(s) {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
	if s := "_Z1f" + strings.Repeat("i", MaxInput); Name(s) != s {
		t.Error("a name over the limit was demangled")
	}
	if got := Name(pairs); len(got) != MaxOutput || !strings.HasSuffix(got, "...") {
		t.Errorf("a name of exponential size came out %d bytes long", len(got))
	}
}

func FuzzName(f *testing.F) {
	for _, s := range []string{"_ZNSt6vectorIiSaIiEE9push_backEOi.isra.0", "_RINvNtC3std3mem8align_ofdE",
		"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "_ZZ4mainENKUliE_clEi", "___Z1fv_block_invoke", "_GLOBAL__I__Z1fv",
		"memcpy@@GLIBC_2.14", "f.cold"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		start := time.Now()
		for _, got := range []string{Name(s), Func(s)} {
			if len(got) > MaxOutput+2*len(s)+16 {
				t.Fatalf("%q: %d bytes", s, len(got))
			}
			if s != "" && got == "" {
				t.Fatalf("%q has an empty name", s)
			}
			if utf8.ValidString(s) && !utf8.ValidString(got) {
				t.Fatalf("%q: %q is not UTF-8", s, got)
			}
		}
		if d := time.Since(start); d > 2*time.Second {
			t.Fatalf("%q: %v", s, d)
		}
		b, c := SplitClone(s)
		if b+c != s {
			t.Fatalf("SplitClone(%q) = %q, %q", s, b, c)
		}
	})
}

func BenchmarkFunc(b *testing.B) {
	for name, s := range map[string]string{
		"c":    "pthread_mutex_lock",
		"c++":  "_ZNSt6vectorIiSaIiEE9push_backEOi",
		"rust": "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Func(s)
			}
		})
	}
}

func TestSplitScope(t *testing.T) {
	for name, want := range map[string][2]string{
		"a::b<c::d>::e": {"a::b<c::d>", "e"}, "f": {"", "f"}, "a::f(b::c)": {"a", "f(b::c)"}, "a::b<c::d>": {"a", "b<c::d>"}, "": {"", ""}, "::f": {"", "f"}, ":": {"", ":"},
	} {
		scope, last, ok := SplitScope(name)
		if scope != want[0] || last != want[1] || ok != (strings.Contains(name, "::") && scope+"::"+last == name) {
			t.Errorf("%q: %q, %q, %v", name, scope, last, ok)
		}
	}
}
