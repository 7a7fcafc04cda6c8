package signature

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNormalize(t *testing.T) {
	for in, want := range map[string]string{
		"":           "",
		"main":       "main",
		"T.rec(int)": "T.rec",
		"T$$Lambda$14+0x00007ff29c006860.applyAsInt(int)":       "T$$Lambda.applyAsInt",
		"T$$Lambda+0x0000000026042678.accept(Object)":           "T$$Lambda.accept",
		"T$$Lambda/0x0000000026042678.accept(Object)":           "T$$Lambda.accept",
		"java.lang.invoke.LambdaForm$MH+0x00007ff29c004000.f()": "java.lang.invoke.LambdaForm$MH.f",
		"Frames.lambda$main$11(Integer)":                        "Frames.lambda$main",
		"jdk.proxy2.$Proxy12.run()":                             "jdk.proxy2.$Proxy.run",
		"queue_pop":                                             "queue_pop",
		"f.isra.0":                                              "f",
		"f.part.2":                                              "f",
		"f.cold":                                                "f",
		"f.llvm.12345":                                          "f",
		"f.constprop.1.isra.0":                                  "f",
		"f [clone .constprop.0]":                                "f",
		"memcpy@@GLIBC_2.14":                                    "memcpy",
		"_foo@12":                                               "_foo",
		"@fast@8":                                               "fast",
		"_ZN2ns5Class6methodEi":                                 "ns::Class::method",
		"_Z3fooi.isra.0":                                        "foo",
		"ns::f(int, char const*) const":                         "ns::f",
		"void ns::f<int>(int)":                                  "ns::f",
		"static unsigned long ns::g(void) const &":              "ns::g",
		"std::vector<std::pair<int, A<B> > >::push_back":        "std::vector::push_back",
		"Loader<int>::load":                                     "Loader::load",
		"std::string make[abi:cxx11](int)":                      "make",
		"(anonymous namespace)::local(int)":                     "{anonymous}::local",
		"a::{anonymous}::local":                                 "a::{anonymous}::local",
		"a::`anonymous namespace'::local":                       "a::{anonymous}::local",
		"`anonymous-namespace'::local":                          "{anonymous}::local",
		"main::{lambda(int)#1}::operator()":                     "main::{lambda}::operator()",
		// Swift
		"$s4main3FooC3bar1xySi_tF":    "Foo.bar",
		"$s4shop5outeryyF5innerL_yyF": "outer.inner",
		"closure #1 in Foo.bar":       "Foo.bar.{closure}",
		"partial apply for implicit closure #12 in closure #1 in Foo.bar":                   "Foo.bar.{closure}.{closure}",
		"seek in Null #1 in closure #1 in variable initialization expression of static F.n": "F.n.{closure}.Null.seek",
		"static Circle.make":    "Circle.make",
		"static Circle.+ infix": "Circle.+ infix",
		"protocol witness for static Shape.make in conformance Circle": "Shape.make",
		"Swift runtime failure: Index out of range":                    "Swift runtime failure: Index out of range",
		"specialized Array.subscript.getter":                           "Array.subscript.getter",
		"main::{lambda(std::shared_ptr<A> const&)#2}::operator()(int)": "main::{lambda}::operator()",
		"main::<lambda(int)>::operator()":                              "main::{lambda}::operator()",
		"main()::<lambda(int, char)>":                                  "main::{lambda}",
		"main::$_0::operator()":                                        "main::{lambda}::operator()",
		"main::'lambda'(int)::operator()(int) const":                   "main::{lambda}::operator()",
		"main::<lambda_0123456789abcdef>::operator()":                  "main::{lambda}::operator()",
		"std::__cxx11::basic_string<char>::at":                         "std::basic_string::at",
		"std::__1::vector<int>::at":                                    "std::vector::at",
		"rank::(anonymous)::operator()":                                "rank::{lambda}::operator()",
		"<lambda_1>::operator()":                                       "{lambda}::operator()",
		"f(int)::{lambda()#1}::operator()() const":                     "f::{lambda}::operator()",
		"A::operator==":                                                "A::operator==",
		"A::operator<":                                                 "A::operator<",
		"A::operator< <int>":                                           "A::operator<",
		"A::operator<< <int>(B)":                                       "A::operator<<",
		"A::operator->":                                                "A::operator->",
		"A::operator[]":                                                "A::operator[]",
		"A::operator bool() const":                                     "A::operator bool",
		"operator new":                                                 "operator new",
		"operator new[](unsigned long)":                                "operator new[]",
		"my_operator(int)":                                             "my_operator",
		"A<(B)1, &(f(int))>::g":                                        "A::g",
		"non-virtual thunk to B::f()":                                  "B::f",
		"Foo::~Foo":                                                    "Foo::~Foo",
		"public: int __cdecl C::f(void)":                               "C::f",
		"?f@C@@QEAAHXZ":                                                "C::f",
		"virtual thunk to B::operator bool() const":                    "B::operator bool",
		"covariant return thunk to B::f()":                             "B::f",
		"[thunk]:public: virtual int __cdecl C::f(void)":               "C::f",
		"[thunk]:C::f":                                                 "C::f",
		"??_GC@@UEAAPEAXI@Z":                                           "C::{deleting-destructor}",
		"D::`vector deleting destructor'":                              "D::{deleting-destructor}",
		"C::`vftable'":                                                 "C::`vftable'",
		"+[View new:]":                                                 "+[View new:]",
		"f@plt":                                                        "f@plt",
		"f.lto_priv.0.cold":                                            "f",
		"ns::f(x).isra.0":                                              "ns::f",
		"ns::f(x) [clone .isra.0]":                                     "ns::f",
		// Names of anonymous things.
		"ns::<unnamed-type-x>::f":     "ns::{anonymous}::f",
		"<unnamed-tag>::f":            "{anonymous}::f",
		"a::{unnamed type#3}::f":      "a::{anonymous}::f",
		"'unnamed2'::f":               "{anonymous}::f",
		"{lambda(int)#1}::operator()": "{lambda}::operator()",
		"{lambda()#1}{lambda()#2}":    "{lambda}{lambda}",
		"f()::{lambda()#1}::operator()()::{lambda()#2}::operator()": "f::{lambda}::operator()::{lambda}::operator()",
		"a::{async_fn_env#0}::poll":                                 "a::{async_fn_env}::poll",
		"a::{shim:vtable#0}":                                        "a::{shim}",
		"std::__ndk1::f":                                            "std::f",
		"mystd::__1::f":                                             "mystd::__1::f",
		"x_cgo_43c6a085900a_f":                                      "x_cgo_43c6a085900a_f",
		// What precedes a name.
		"int*ns::f":      "ns::f",
		"int&ns::f(int)": "ns::f",
		"ns::f[x]::g":    "ns::f::g",
		// Operators.
		"A::operator\"\"_km(long double)":      "A::operator\"\"_km",
		"operator\"\" _km":                     "operator\"\" _km",
		"A::operator std::vector<int>() const": "A::operator std::vector",
		"A::operator const char*() const":      "A::operator const char*",
		"A::operator int&()":                   "A::operator int&",
		"A::operator<=><int>":                  "A::operator<=>",
		"A::operator><int>":                    "A::operator>",
		"A::operator-<int>":                    "A::operator-",
		"A::operator==<int>":                   "A::operator==",
		"A::operator&&(int)":                   "A::operator&&",
		"A::operator->*(int)":                  "A::operator->*",
		"A::operator*()":                       "A::operator*",
		"A::operator,(int)":                    "A::operator,",
		"A<&B::operator<>::f":                  "A::f",
		"A<&(B::operator<(B const&))>::f":      "A::f",
		"A<&(B::operator>(B const&))>::f":      "A::f",
		"Cooperator<int>::run":                 "Cooperator::run",
		"xoperator<int>::f":                    "xoperator::f",
		"a::xoperator<int>::f":                 "a::xoperator::f",
		"operators<int>::f":                    "operators::f",
		// What would be nothing stays as it is.
		"(int)":         "(int)",
		"<A<int>>":      "<A<int>>",
		"-[View draw:]": "-[View draw:]",
		// Rust
		"core::option::Option<T>::unwrap":                             "core::option::Option::unwrap",
		"unwrap::last_word::h0123456789abcdef":                        "unwrap::last_word",
		"std::rt::lang_start::{{closure}}":                            "std::rt::lang_start::{closure}",
		"app::run::{closure#0}::{closure#1}":                          "app::run::{closure}::{closure}",
		"vars::{impl#3}::area":                                        "vars::{impl}::area",
		"std::sys::backtrace::__rust_end_short_backtrace::<a::b, ()>": "std::sys::backtrace::__rust_end_short_backtrace",
		"<alloc::vec::Vec<T,A> as core::ops::deref::Deref>::deref":    "<alloc::vec::Vec as core::ops::deref::Deref>::deref",
		"<app::Queue<i32> as app::Source>::next":                      "<app::Queue as app::Source>::next",
		"<app::Queue<i32>>::pop":                                      "app::Queue::pop",
		"<dyn app::Shape as app::Area>::area::{{closure}}":            "<dyn app::Shape as app::Area>::area::{closure}",
		"<[T] as app::Sum>::sum":                                      "<[] as app::Sum>::sum",
		"app::<impl app::Sum for alloc::vec::Vec<u8>>::sum":           "app::<impl app::Sum for alloc::vec::Vec>::sum",
		"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.llvm.99":    "core::fmt::Write::write_fmt",
		"<A<int> as B>":                          "<A as B>",
		"<T>::get":                               "<T>::get",
		"<(A, B) as app::T>::f":                  "<() as app::T>::f",
		"< as B>::c":                             "< as B>::c",
		"::<impl A for B>::c":                    "<impl A for B>::c",
		"app::run<impl app::Job>":                "app::run",
		"app::run::<impl app::Job for x::Y<u8>>": "app::run::<impl app::Job for x::Y>",
		// Go
		"main.main":                               "main.main",
		"main.(*queue).pop":                       "main.(*queue).pop",
		"main.drain.func1":                        "main.drain.func",
		"main.drain.func2.1":                      "main.drain.func",
		"main.drain.func1.func3":                  "main.drain.func",
		"main.drain.gowrap1":                      "main.drain.gowrap",
		"main.main.drain.func1":                   "main.drain.func",
		"main.main.(*queue).pop.func1":            "main.(*queue).pop.func",
		"main.fill.(*queue).pop.func1":            "main.(*queue).pop.func",
		"main.(*set).add.(*queue).pop.gowrap2":    "main.(*queue).pop.gowrap",
		"main.main.queue.pop.func1":               "main.queue.pop.func",
		"main.fill.drain.func1":                   "main.fill.drain.func", // or a method of the type fill
		"main.main.func1":                         "main.main.func",
		"main.init.OnceFunc.func2":                "main.OnceFunc.func",
		"a/b.main.drain.func1":                    "a/b.main.drain.func",
		"main.Map[...]":                           "main.Map",
		"main.Map[go.shape.int,go.shape.[]uint8]": "main.Map",
		"main.(*Tree[go.shape.int]).Insert":       "main.(*Tree).Insert",
		"main.(*queue).pop-fm":                    "main.(*queue).pop",
		"main.init.0":                             "main.init",
		"main.run-range1":                         "main.run",
		"github.com/a/b.v2/c.F":                   "github.com/a/b.v2/c.F",
		"gopkg.in/yaml%2ev2.F":                    "gopkg.in/yaml.v2.F",
		"runtime.gopanic":                         "runtime.gopanic",
		"_cgo_43c6a085900a_Cfunc_visit":           "_cgo_Cfunc_visit",
		"main.glob..func1":                        "main.glob..func",
		"main.run.deferwrap2":                     "main.run.deferwrap",
		"main.run.func1.gowrap1":                  "main.run.func.gowrap",
		"main.run.func1-range2.3":                 "main.run.func",
		"main.T1.run2":                            "main.T1.run2",
		"a.b/":                                    "a.b/",
		// The package's name stays.
		"a/12.F":         "a/12.F",
		"a/func1.F":      "a/func1.F",
		"a/int-ranges.F": "a/int-ranges.F",
	} {
		got := Normalize(in)
		if got != want {
			t.Errorf("Normalize(%q) = %q, want %q", in, got, want)
		}
		if again := Normalize(got); again != got {
			t.Errorf("Normalize(%q) = %q: a normalised name changes", got, again)
		}
	}
}

// TestNormalizeLimits: names of any length and depth.
func TestNormalizeLimits(t *testing.T) {
	template := func(n int) string { return "f<" + strings.Repeat("a", n-len("f<>::g")) + ">::g" }
	nested := func(n int, inner string) string {
		return strings.Repeat("<", n) + inner + strings.Repeat(" as c::D>::e", n)
	}
	for in, want := range map[string]string{
		template(maxNameIn):                        "f::g",
		template(maxNameIn + 1):                    "f::",
		strings.Repeat("x", maxNameOut):            strings.Repeat("x", maxNameOut),
		strings.Repeat("x", maxNameOut+1):          strings.Repeat("x", maxNameOut),
		strings.Repeat("x", maxNameOut-1) + "\xff": strings.Repeat("x", maxNameOut-1) + "?",
		strings.Repeat("x", maxNameOut-1) + "é":    strings.Repeat("x", maxNameOut-1),
		nested(2, "a::B<int>"):                     nested(2, "a::B"),
		nested(maxDepth, "a::B<int>"):              nested(maxDepth, "a::B"),
		nested(maxDepth+1, "a::B<int>"):            nested(maxDepth, "::e"),
		nested(maxDepth+2, "a::B<int>"):            nested(maxDepth, "::e"),
	} {
		if got := Normalize(in); got != want {
			t.Errorf("Normalize(%.20q..., %d bytes) = %q, want %q", in, len(in), got, want)
		}
	}
}

func TestSkipBracket(t *testing.T) {
	for in, want := range map[string]string{
		"<a>b": "b", "(a)b": "b", "[a]b": "b", "{a}b": "b", "<<a>b>c": "c", "<([{}])>b": "b", "<a": "", "(": "",
		// Comparisons and arrows.
		"(a<b)c": "c", "(a<b<c)d": "d", "((a<b)c)d": "d", "(a>b)c": "c", "<(a>b)>c": "c", "<(a<b)>c": "c", "<a->b>c": "c", "<a=>b>c": "c", "<a-b>c": "c", "(a=)b": "b",
		"<a)b": "b",
		// Operators.
		"<operator< >b": "b", "<operator<< >b": "b", "<operator<<= >b": "b", "<operator<=> >b": "b", "<operator<>b": "b", "<operator<<>b": "b",
		"<operator()>b": "b", "<operator[]>b": "b", "<operator<": "", "<operator<<": "", "<operato<r>>b": "b",
	} {
		if got := in[skipBracket(in, 0):]; got != want {
			t.Errorf("after the bracket of %q: %q, want %q", in, got, want)
		}
		if got := in[skipBracket("x"+in, 1)-1:]; got != want {
			t.Errorf("after the bracket of %q at 1: %q, want %q", in, got, want)
		}
	}
}

func TestCutOutside(t *testing.T) {
	for in, want := range map[string][2]string{
		"": {}, "a": {"a", ""}, "a as b": {"a", "b"}, "a as b as c": {"a", "b as c"}, " as b": {"", "b"}, "a as ": {"a", ""},
		"<x as y> as b": {"<x as y>", "b"}, "(x as y) as b": {"(x as y)", "b"}, "[x as y] as b": {"[x as y]", "b"}, "{x as y} as b": {"{x as y}", "b"},
		"<x as y>": {"<x as y>", ""}, "<x as y": {"<x as y", ""}, "a(": {"a(", ""},
	} {
		before, after, found := cutOutside(in, " as ")
		if before != want[0] || after != want[1] || found != (before != in) {
			t.Errorf("%q: %q, %q, %v; want %q", in, before, after, found, want)
		}
	}
}

func TestIsGo(t *testing.T) {
	for in, want := range map[string]bool{
		"main.main": true, "main": false, ".L1": false, "a.b": true, "a.b::c": false, "void a.b": false, "a.b<c>": false, "a::b.c<d>": false,
		"main.(*queue).pop": true, "go.(struct).f": true, "(*a.b)": false, "(a.b).f": false, "f(int).cold": false, "a.f(int)": false, "f(x).(*T).g": true,
	} {
		if got := isGo(in); got != want {
			t.Errorf("isGo(%q) = %v", in, got)
		}
	}
}

func TestIsWord(t *testing.T) {
	const words = "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for c := range 256 {
		if want := c >= 0x80 || strings.IndexByte(words, byte(c)) >= 0; isWord(byte(c)) != want {
			t.Errorf("isWord(%q) = %v", rune(c), !want)
		}
	}
}

func FuzzNormalize(f *testing.F) {
	for _, s := range []string{"", "a<b>(c)::{lambda(int)#1}::operator()", "<A as B>::c", "main.(*T[int]).f.func1.2", "operator<", "x::<impl A for B<C>>::d",
		"<<<<((((", ">>>>))))", "a::operator", "_Z1fIXplLi1EEEvv", "`anonymous namespace'", "a<operator<<b>::c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Normalize(s)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\n\x00") {
			t.Errorf("Normalize(%q) = %q: not fit to print", s, got)
		}
	})
}

func BenchmarkNormalize(b *testing.B) {
	names := []string{"queue_pop", "std::vector<std::pair<int, A<B> > >::push_back", "main::{lambda(std::shared_ptr<A> const&)#2}::operator()(int)", "main.(*queue).pop.func1"}
	b.ReportAllocs()
	for b.Loop() {
		for _, n := range names {
			Normalize(n)
		}
	}
}
