package signature

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNormalize(t *testing.T) {
	for in, want := range map[string]string{
		"":                              "",
		"main":                          "main",
		"queue_pop":                     "queue_pop",
		"f.isra.0":                      "f",
		"f.part.2":                      "f",
		"f.cold":                        "f",
		"f.llvm.12345":                  "f",
		"f.constprop.1.isra.0":          "f",
		"f [clone .constprop.0]":        "f",
		"memcpy@@GLIBC_2.14":            "memcpy",
		"_foo@12":                       "_foo",
		"@fast@8":                       "fast",
		"_ZN2ns5Class6methodEi":         "ns::Class::method",
		"_Z3fooi.isra.0":                "foo",
		"ns::f(int, char const*) const": "ns::f",
		"void ns::f<int>(int)":          "ns::f",
		"static unsigned long ns::g(void) const &":                     "ns::g",
		"std::vector<std::pair<int, A<B> > >::push_back":               "std::vector::push_back",
		"Loader<int>::load":                                            "Loader::load",
		"std::string make[abi:cxx11](int)":                             "make",
		"(anonymous namespace)::local(int)":                            "{anonymous}::local",
		"a::{anonymous}::local":                                        "a::{anonymous}::local",
		"a::`anonymous namespace'::local":                              "a::{anonymous}::local",
		"`anonymous-namespace'::local":                                 "{anonymous}::local",
		"main::{lambda(int)#1}::operator()":                            "main::{lambda}::operator()",
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
		"-[View draw:]":                                                "-[View draw:]",
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
		// Go
		"main.main":                               "main.main",
		"main.(*queue).pop":                       "main.(*queue).pop",
		"main.drain.func1":                        "main.drain.func",
		"main.drain.func2.1":                      "main.drain.func",
		"main.drain.func1.func3":                  "main.drain.func",
		"main.drain.gowrap1":                      "main.drain.gowrap",
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
