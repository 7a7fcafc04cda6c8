package demangle

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// msvcNames are mangled names with the output of undname, or "" if it fails.
var msvcNames = []struct{ in, want string }{
	{`??_9Foo@@$BA@AA`, "[thunk]: __cdecl Foo::`vcall'{0, {flat}}"},
	{`??_EV@@$4PPPPPPPM@A@EAAPEAXI@Z`, "[thunk]: public: virtual void * __cdecl V::`vector deleting dtor'`vtordisp{-4, 0}'(unsigned int)"},
	{`?f@C@@$R4A@PPPPPPPM@7A@EAAXXZ`, "[thunk]: public: virtual void __cdecl C::f`vtordispex{0, -4, 8, 0}'(void)"},
	{`??_C@_15ABCDEFGH@?$AAh?$AAi?$AA?$AA@`, `L"hi"`},
	{`?f@@YAXXZ`, `void __cdecl f(void)`},
	{`?f@ns@@YAHH@Z`, `int __cdecl ns::f(int)`},
	{`?method@Widget@ns@@QEAAHH@Z`, `public: int __cdecl ns::Widget::method(int)`},
	{`??0Widget@ns@@QEAA@XZ`, `public: __cdecl ns::Widget::Widget(void)`},
	{`??1Widget@ns@@UEAA@XZ`, `public: virtual __cdecl ns::Widget::~Widget(void)`},
	{`??_7Widget@ns@@6B@`, "const ns::Widget::`vftable'"},
	{`??_7D@@6BB@@@`, "const D::`vftable'{for `B'}"},
	{`??_R0?AVWidget@ns@@@8`, "class ns::Widget `RTTI Type Descriptor'"},
	{`??_R1A@?0A@EA@Widget@ns@@8`, "ns::Widget::`RTTI Base Class Descriptor at (0, -1, 0, 64)'"},
	{`??_R2Widget@ns@@8`, "ns::Widget::`RTTI Base Class Array'"},
	{`??_R3Widget@ns@@8`, "ns::Widget::`RTTI Class Hierarchy Descriptor'"},
	{`??_R4Widget@ns@@6B@`, "const ns::Widget::`RTTI Complete Object Locator'"},
	{`??_C@_05CJBACGMB@hello?$AA@`, `"hello"`},
	{`??$add@H@ns@@YAHHH@Z`, `int __cdecl ns::add<int>(int, int)`},
	{`??$max@V?$vector@HV?$allocator@H@std@@@std@@@@YA?AV?$vector@HV?$allocator@H@std@@@std@@V01@0@Z`, `class std::vector<int, class std::allocator<int>> __cdecl max<class std::vector<int, class std::allocator<int>>>(class std::vector<int, class std::allocator<int>>, class std::vector<int, class std::allocator<int>>)`},
	{`?g@@YAXP6AXH@Z@Z`, `void __cdecl g(void (__cdecl *)(int))`},
	{`?h@@YAXP8Widget@@EAAHH@Z@Z`, `void __cdecl h(int (__cdecl Widget::*)(int))`},
	{`?m@@YAXPEQWidget@@H@Z`, `void __cdecl m(int Widget::*)`},
	{`?x@@3HA`, `int x`},
	{`?y@ns@@3PEBDEB`, `char const *ns::y`},
	{`?z@Foo@@2HB`, `public: static int const Foo::z`},
	{`?priv@Foo@@AEAAXXZ`, `private: void __cdecl Foo::priv(void)`},
	{`?prot@Foo@@IEAAXXZ`, `protected: void __cdecl Foo::prot(void)`},
	{`?stat@Foo@@SAHXZ`, `public: static int __cdecl Foo::stat(void)`},
	{`?virt@Foo@@UEBAHXZ`, `public: virtual int __cdecl Foo::virt(void) const`},
	{`??4Foo@@QEAAAEAV0@AEBV0@@Z`, `public: class Foo & __cdecl Foo::operator=(class Foo const &)`},
	{`??HFoo@@QEBA?AV0@AEBV0@@Z`, `public: class Foo __cdecl Foo::operator+(class Foo const &) const`},
	{`??BFoo@@QEAAHXZ`, `public: int __cdecl Foo::operator int(void)`},
	{`??RFoo@@QEAAHH@Z`, `public: int __cdecl Foo::operator()(int)`},
	{`??2@YAPEAX_K@Z`, `void * __cdecl operator new(unsigned __int64)`},
	{`??3@YAXPEAX@Z`, `void __cdecl operator delete(void *)`},
	{`??_U@YAPEAX_K@Z`, `void * __cdecl operator new[](unsigned __int64)`},
	{`??_V@YAXPEAX@Z`, `void __cdecl operator delete[](void *)`},
	{`??_GFoo@@UEAAPEAXI@Z`, "public: virtual void * __cdecl Foo::`scalar deleting dtor'(unsigned int)"},
	{`??_EFoo@@UEAAPEAXI@Z`, "public: virtual void * __cdecl Foo::`vector deleting dtor'(unsigned int)"},
	{`??_DFoo@@QEAAXXZ`, "public: void __cdecl Foo::`vbase dtor'(void)"},
	{`?f@?A0x12345678@@YAXXZ`, "void __cdecl `anonymous namespace'::f(void)"},
	{`?f@?1??g@@YAXXZ@4HA`, "int `void __cdecl g(void)'::`2'::f"},
	{`??R<lambda_1>@?0??f@@YAXXZ@QEBA@XZ`, "public: __cdecl `void __cdecl f(void)'::`1'::<lambda_1>::operator()(void) const"},
	{`?arr@@YAXQEAY02H@Z`, `void __cdecl arr(int (*const)[3])`},
	{`?r@@YAXPEIAH@Z`, `void __cdecl r(int *__restrict)`},
	{`?i64@@YA_J_K_N_W@Z`, `__int64 __cdecl i64(unsigned __int64, bool, wchar_t)`},
	{`?v@@YAXPECH@Z`, `void __cdecl v(int volatile *)`},
	{`?vc@@YAXPEDH@Z`, `void __cdecl vc(int const volatile *)`},
	{`?e@@YAXW4Color@@@Z`, `void __cdecl e(enum Color)`},
	{`?rr@@YAX$$QEAH@Z`, `void __cdecl rr(int &&)`},
	{`?np@@YAX$$T@Z`, `void __cdecl np(std::nullptr_t)`},
	{`?va@@YAXPEBDZZ`, `void __cdecl va(char const *, ...)`},
	{`?f@@YAXPEAU?$S@$0A@@@@Z`, `void __cdecl f(struct S<0> *)`},
	{`?f@@YAXPEAU?$S@$0?0$0BA@@@@Z`, `void __cdecl f(struct S<-1, 16> *)`},
	{`??$g@$1?x@@3HA@@YAXXZ`, `void __cdecl g<&int x>(void)`},
	{`??$g@$1?f@@YAXXZ@@YAXXZ`, `void __cdecl g<&void __cdecl f(void)>(void)`},
	{`??$v@HNM@@YAXHNM@Z`, `void __cdecl v<int, double, float>(int, double, float)`},
	{`??$v@$$V@@YAXXZ`, `void __cdecl v<>(void)`},
	{`?fas@@YGHH@Z`, `int __stdcall fas(int)`},
	{`?fast@@YIHH@Z`, `int __fastcall fast(int)`},
	{`?vec@@YQHH@Z`, `int __vectorcall vec(int)`},
	{`?thisc@Foo@@QAEHH@Z`, `public: int __thiscall Foo::thisc(int)`},
	{`??__Ex@@YAXXZ`, "void __cdecl `dynamic initializer for 'x''(void)"},
	{`??__Fx@@YAXXZ`, "void __cdecl `dynamic atexit destructor for 'x''(void)"},
	{`??__Kfoo@@YAHPEBD@Z`, `int __cdecl operator ""foo(char const *)`},
	{`?f@Foo@@W7EAAXXZ`, "[thunk]: public: virtual void __cdecl Foo::f`adjustor{8}'(void)"},
	{`?c@@YADE_S_U@Z`, `char __cdecl c(unsigned char, char16_t, char32_t)`},
	{`?f@@YAXABVFoo@@@Z`, `void __cdecl f(class Foo const &)`},
	{`?cfoo@Foo@@QEGBAXXZ`, `public: void __cdecl Foo::cfoo(void) const &`},
	{`?f@Foo@@QEHAAXXZ`, `public: void __cdecl Foo::f(void) &&`},
	{`?f@Foo@@QEFBAXXZ`, `public: void __cdecl Foo::f(void) const __unaligned`},
	{`??_8D@@7B@`, "const D::`vbtable'"},
	{`?s@?1??f@@YAHXZ@4HA`, "int `int __cdecl f(void)'::`2'::s"},
	{`?f@@YAXP6AP6AHH@ZD@Z@Z`, `void __cdecl f(int (__cdecl * (__cdecl *)(char))(int))`},
	{`?pp@@YAXPEAPEAPEBD@Z`, `void __cdecl pp(char const ***)`},
	{`??$?0H@Foo@@QEAA@H@Z`, `public: __cdecl Foo::Foo<int>(int)`},
	{`?a@b@c@d@e@f@g@h@i@j@k@@YAXV0123456789@@Z`, `void __cdecl k::j::i::h::g::f::e::d::c::b::a(class j::i::h::g::f::e::d::c::b::a)`},
	{`?$TSS0@?1??f@@YAXXZ@4HA`, "int `void __cdecl f(void)'::`2'::$TSS0"},
	{`?f@@YAXPEAY01$$CBH@Z`, `void __cdecl f(int const (*)[2])`},
	{`?f@@YAX$$A6AXXZ@Z`, `void __cdecl f(void __cdecl(void))`},
	{`?f@@YAX$$BY01H@Z`, ``},
	{`?x@@3PEQFoo@@HEQ1@`, `int Foo::*x`},
	{`?f@@YA?AUS@@XZ`, `struct S __cdecl f(void)`},
	{`?begin@?$basic_string@DU?$char_traits@D@std@@V?$allocator@D@2@@std@@QEBA?AV?$_String_const_iterator@V?$_String_val@U?$_Simple_types@D@std@@@std@@@2@XZ`, `public: class std::_String_const_iterator<class std::_String_val<struct std::_Simple_types<char>>> __cdecl std::basic_string<char, struct std::char_traits<char>, class std::allocator<char>>::begin(void) const`},
	{`?QueryInterface@?QIUnknown@@Foo@@UEAAJAEBU_GUID@@PEAPEAX@Z`, ``},
	{`??_SFoo@@6B@`, "const Foo::`local vftable'"},
	{`??_HFoo@@YAXXZ`, "void __cdecl Foo::`vector ctor iterator'(void)"},
	{`?dtor$0@?0??f@@YAXXZ@4HA`, "int `void __cdecl f(void)'::`1'::dtor$0"},
	{`??_L@YAXPEAX_K1P6AX0@Z2@Z`, "void __cdecl `eh vector ctor iterator'(void *, unsigned __int64, unsigned __int64, void (__cdecl *)(void *), void (__cdecl *)(void *))"},
	{`??__M@YAXXZ`, `void __cdecl operator<=>(void)`},
	{`??__LFoo@@QEAAXXZ`, `public: void __cdecl Foo::operator co_await(void)`},
	{`?f@@YAPEAHXZ`, `int * __cdecl f(void)`},
	{`??D?$ptr@H@@QEBAAEAHXZ`, `public: int & __cdecl ptr<int>::operator*(void) const`},
	{`??C?$ptr@H@@QEBAPEAHXZ`, `public: int * __cdecl ptr<int>::operator->(void) const`},
	{`??MFoo@@QEBA_NAEBV0@@Z`, `public: bool __cdecl Foo::operator<(class Foo const &) const`},
	{`?ne@@YAXX_E`, `void __cdecl ne(void) noexcept`},
	{`?fp@@YAXP6AXX_E@Z`, `void __cdecl fp(void (__cdecl *)(void) noexcept)`},
	{`?fp@@3P6AHH@ZEA`, `int (__cdecl *fp)(int)`},
	{`?t@@3Vstring@std@@A`, `class std::string t`},
	{`??_C@_0CG@ABCDEFGH@aaaaaaaabbbbbbbbccccccccdddddddd@`, `"aaaaaaaabbbbbbbbccccccccdddddddd"...`},
	{`??_C@_03ABCDEFGH@?6?$CF?1?$AA@`, `"\n%/"`},
	{`?f@@YAXPEIBD0@Z`, `void __cdecl f(char const *__restrict, char const *__restrict)`},
	{`?f@@YAXAEAY02$$CBH@Z`, `void __cdecl f(int const (&)[3])`},
	{`?f@@YAP6AHH@ZXZ`, `int (__cdecl * __cdecl f(void))(int)`},
	{`?f@@YAPEAY01HXZ`, `int (* __cdecl f(void))[2]`},
	{`??__E?x@Foo@@2HA@@YAXXZ`, "void __cdecl `dynamic initializer for `public: static int Foo::x''(void)"},
	{`??__F?x@Foo@@2HA@@YAXXZ`, "void __cdecl `dynamic atexit destructor for `public: static int Foo::x''(void)"},
	{`?p@@3PEBQEBDEB`, `char const *const *p`},
	{`?f@@YAXPEBQEAD@Z`, `void __cdecl f(char *const *)`},
	{`?f@@YAXV?$A@$$BY02H@@@Z`, `void __cdecl f(class A<int[3]>)`},
	{`?f@@YAXV?$A@$$CBH@@@Z`, `void __cdecl f(class A<int const>)`},
	{`?f@@YAXV?$A@$$A6AHH@Z@@@Z`, `void __cdecl f(class A<int __cdecl(int)>)`},
	{`?f@@YAXV?$A@P6AHH@Z@@@Z`, `void __cdecl f(class A<int (__cdecl *)(int)>)`},
	{`?f@@YAXV?$A@$0?0@@@Z`, `void __cdecl f(class A<-1>)`},
	{`?f@@YAXP8S@@EBAHXZ@Z`, `void __cdecl f(int (__cdecl S::*)(void) const)`},
	{`?f@@YAXPEQS@@6AHXZ@Z`, ``},
	{`?f@@YAXPERS@@H@Z`, `void __cdecl f(int const S::*)`},
	{`?f@C@@SAXP6AXPEAV1@@Z@Z`, `public: static void __cdecl C::f(void (__cdecl *)(class C *))`},
	{`?h@@YA?BUS@@XZ`, `struct S const __cdecl h(void)`},
	{`?e@@YA?AW4E@N@@XZ`, `enum N::E __cdecl e(void)`},
	{`??_R0PEAVFoo@@@8`, "class Foo *`RTTI Type Descriptor'"},
	{`??_R0H@8`, "int `RTTI Type Descriptor'"},
	{`?f@@YAXQEBD@Z`, `void __cdecl f(char const *const)`},
	{`?f@@YAX_J_K@Z`, `void __cdecl f(__int64, unsigned __int64)`},
	{`??0?$vec@H@@QEAA@AEBV0@@Z`, `public: __cdecl vec<int>::vec<int>(class vec<int> const &)`},
	{`??1?$vec@H@@QEAA@XZ`, `public: __cdecl vec<int>::~vec<int>(void)`},
	{`??R<lambda_0>@@QEBA?A?<auto>@@H@Z`, `public: <auto> __cdecl <lambda_0>::operator()(int) const`},
	{`?f@?$S@H@?A0xABCD@@QEAAXXZ`, "public: void __cdecl `anonymous namespace'::S<int>::f(void)"},
	{`?c@?A0x1@@3HA`, "int `anonymous namespace'::c"},
	{`?f@@YQXN@Z`, `void __vectorcall f(double)`},
	{`?f@?1??g@C@@QEAAXXZ@YAXXZ`, "void __cdecl `public: void __cdecl C::g(void)'::`2'::f(void)"},
	{`??Bint_like@@QEBAHXZ`, `public: int __cdecl int_like::operator int(void) const`},
	{`?f@@YAXAEBQEBD@Z`, `void __cdecl f(char const *const &)`},
	{`??$f@$$QEAH@@YAX$$QEAH@Z`, `void __cdecl f<int &&>(int &&)`},
	{`??$f@P6AXXZ@@YAXP6AXXZ@Z`, `void __cdecl f<void (__cdecl *)(void)>(void (__cdecl *)(void))`},
	{`??$f@PEAH$$V@@YAXPEAH@Z`, `void __cdecl f<int *>(int *)`},
	{`??_7?$A@H@B@@6B@`, "const B::A<int>::`vftable'"},
	{`?f@@YAXY0A@H@Z`, `void __cdecl f(int[])`},
	{`?f@@YAXPEAY0A@H@Z`, `void __cdecl f(int (*)[])`},
	{`?v@@3HC`, `int volatile v`},
	{`?v@@3RECHEC`, `int volatile *volatile v`},
	{`?v@S@@2PEQ1@HEQ1@`, `public: static int S::*S::v`},
	{`?f@@`, ``},
	{`?f@@YAXH`, ``},
	{`?f@@YAXZ@Z`, ``},
	{`?f@@YAX9@Z`, ``},
	{`?9@@YAXXZ`, ``},
}

func TestMSVC(t *testing.T) {
	for _, c := range msvcNames {
		want := c.want
		if want == "" {
			want = c.in
		}
		if got := Name(c.in); got != want {
			t.Errorf("%s\n\t%s\nwant\t%s", c.in, got, want)
		}
	}
}

// TestMSVCOracle checks the table against llvm-undname.
func TestMSVCOracle(t *testing.T) {
	undname, err := exec.LookPath("llvm-undname-19")
	if err != nil {
		t.Skip("llvm-undname is not installed (Debian: llvm)")
	}
	var names, wants []string
	for _, c := range msvcNames {
		if c.want == "" {
			if exec.Command(undname, c.in).Run() == nil {
				t.Errorf("%s is a name", c.in)
			}
			continue
		}
		names, wants = append(names, c.in), append(wants, c.want)
	}
	for i, got := range undnames(t, names) {
		if got != wants[i] {
			t.Errorf("%s: %s, the table has %s", names[i], got, wants[i])
		}
	}
}

// undnames runs llvm-undname for names that it can demangle.
func undnames(t *testing.T, names []string) (out []string) {
	t.Helper()
	cmd := exec.Command("llvm-undname-19")
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n") + "\n")
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		name, demangled, _ := strings.Cut(part, "\n")
		if i >= len(names) || name != names[i] {
			t.Fatalf("an answer for %s", name)
		}
		out = append(out, demangled)
	}
	return out
}

// TestMSVCDiffers has names for which llvm-undname's output is worse: it counts the number
// of an anonymous namespace as a name for back references, and omits all bases but one.
func TestMSVCDiffers(t *testing.T) {
	for in, want := range map[string]string{
		"?g@N@?A0x1@@YAXV12@@Z": "void __cdecl `anonymous namespace'::N::g(class `anonymous namespace'::N)",
		"??_7C@@6BA@@B@@@":      "const C::`vftable'{for `A's `B'}",
	} {
		if got := Name(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestMSVCFunc(t *testing.T) {
	for in, want := range map[string]string{
		"?method@Widget@ns@@QEAAHH@Z":        "ns::Widget::method",
		"??$add@H@ns@@YAHHH@Z":               "ns::add<int>",
		"??0?$vec@H@@QEAA@AEBV0@@Z":          "vec<int>::vec<int>",
		"??R<lambda_1>@?0??f@@YAXXZ@QEBA@XZ": "`void __cdecl f(void)'::`1'::<lambda_1>::operator()",
		"??BFoo@@QEAAHXZ":                    "Foo::operator int",
		"??_GFoo@@UEAAPEAXI@Z":               "Foo::`scalar deleting dtor'",
		"?broken":                            "?broken",
	} {
		if got := Func(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	in := "??R<lambda_1>@?0???$f@H@@YAXH@Z@QEBA@XZ"
	if got := NameWith(in, Options{NoParams: true, NoEnclosingParams: true, NoTemplateParams: true}); got != "`f<>'::`1'::<lambda_1>::operator()" {
		t.Error(got)
	}
}

const msvcSource = `
namespace std { typedef decltype(sizeof 0) size_t; template <class T> struct allocator {}; template <class T, class A = allocator<T>> struct vector { T *p; vector(const vector &); ~vector(); void push_back(T &&); T &operator[](size_t) const; };
template <class T, class A> __attribute__((noinline)) vector<T, A>::vector(const vector &o) { p = o.p; } template <class T, class A> vector<T, A>::~vector() { p = 0; }
template <class T, class A> void vector<T, A>::push_back(T &&t) { *p = t; } template <class T, class A> T &vector<T, A>::operator[](size_t i) const { return p[i]; } }
template struct std::vector<int>; template struct std::vector<const char *>; template struct std::vector<std::vector<int> *>;
struct B { virtual ~B(); virtual int f(int) const; virtual void g() volatile; int m; static int s; operator bool() const; B &operator=(const B &); bool operator<(const B &) const; void operator()(int, ...); };
struct C { virtual ~C(); virtual void h(); }; struct D : B, C { ~D(); int f(int) const override; void h() override; }; struct V : virtual B { V(); ~V(); void g() volatile override; };
B::~B() {} int B::f(int) const { return 1; } void B::g() volatile {} int B::s; B::operator bool() const { return m; } B &B::operator=(const B &o) { m = o.m; return *this; } bool B::operator<(const B &) const { return true; } void B::operator()(int, ...) {}
C::~C() {} void C::h() {} D::~D() {} int D::f(int x) const { return x; } void D::h() {} V::V() {} V::~V() {} void V::g() volatile {}
namespace { int hidden(D *, V &&, const B *const *) { return 1; } struct H { int go(H &, H *); }; int H::go(H &, H *) { return 2; } enum E { e1 }; E en(E x) { return x; } }
void fp(int (*)(char, long long), void (B::*)(), int B::*, int (&)[3], const int (*)[2][4]) {} void fp2(int (*(*)(short))(float)) {} auto fp3() -> int (*)(unsigned char) { return 0; }
void basic(bool, wchar_t, char16_t, char32_t, signed char, unsigned short, unsigned long, unsigned long long, long double, decltype(nullptr), int *__restrict) {}
template <int N, class... T> void pack(T...) {} template void pack<-3, int, char *>(int, char *); template void pack<0>(); template <void (*F)()> void call() {} void target() {} template void call<&target>();
template <template <class> class T, class U> void tt(T<U>) {} template void tt<std::allocator, unsigned>(std::allocator<unsigned>); template <auto N> struct AV { void f(); }; template <class T, T... I> void seq() {} template void seq<bool, true, false>();
int operator""_deg(unsigned long long) { return 1; } void *operator new[](std::size_t); inline int once() { static int n = hidden(0, V(), 0); return n; } inline auto lam = [](int a) { return [a](char b) { return a + b; }; };
int use() { H h; auto l = [&](auto x) { struct L { int z() { return 1; } }; return L().z() + x; }; const char *s = "text, with \\t and more than thirty-two characters"; const wchar_t *w = L"wide"; const char *q = "a?b\n";
  return l(2) + l('c') + lam(1)('b') + h.go(h, &h) + once() + en(e1) + s[1] + w[1] + q[0]; } struct G { G(); ~G(); } global; G::G() {} G::~G() {} extern "C" int plain() { return 1; } volatile int vi; const volatile char *const volatile cv = 0; struct R { void l() &; void r() &&; void c() const &; }; void R::l() & {} void R::r() && {} void R::c() const & {}
int ar[3][4]; int (*pa)[5]; int (*fpv)(int, int); B *const bc = 0; int B::*mp; void (B::*mf)(int) const; void vec(double __attribute__((vector_size(16)))) ; thread_local int tl = 3;
`

var namespaceNumber = regexp.MustCompile(`\b0x[0-9A-F]{8}\b`)

// TestMSVCCompiled compares all names in a compiled source with llvm-undname.
func TestMSVCCompiled(t *testing.T) {
	for _, name := range []string{"clang-19", "llvm-nm-19", "llvm-undname-19"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name, " is not installed (make deps installs it on Debian)")
		}
	}
	for _, target := range []string{"x86_64-pc-windows-msvc", "i686-pc-windows-msvc"} {
		obj := filepath.Join(t.TempDir(), "a.obj")
		cmd := exec.Command("clang-19", "--target="+target, "-std=c++20", "-w", "-x", "c++", "-c", "-", "-o", obj)
		cmd.Stdin = strings.NewReader(msvcSource)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		list, err := exec.Command("llvm-nm-19", "-j", obj).Output()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, name := range strings.Fields(string(list)) {
			if strings.HasPrefix(name, "?") {
				names = append(names, name)
			}
		}
		for i, want := range undnames(t, names) {
			want = namespaceNumber.ReplaceAllString(want, "`anonymous namespace'") // TestMSVCDiffers
			if got := Name(names[i]); got != want {
				t.Errorf("%s\n\t%s\nwant\t%s", names[i], got, want)
			}
		}
		if len(names) < 80 {
			t.Errorf("%d names", len(names))
		}
	}
}

// hostileMSVC are names whose demangled form would exceed the limits.
var hostileMSVC = []string{
	"?f@@YAX" + strings.Repeat("PEA", 2000) + "H@Z",
	"?f@@YAX" + strings.Repeat("P6AX", 1500) + "X" + strings.Repeat("Z", 1500) + "@Z",
	"?f@@YAXV?$" + strings.Repeat("A@V?$", 1000) + "@@@Z",
	"?f@" + strings.Repeat("a@", 4000) + "@YAXXZ",
	"?f" + strings.Repeat("@?1??f", 1000) + "@@YAXXZ",
	"?f@@YAXP6AXPEADPEAE01010101@Z" + strings.Repeat("P6AX0123456789012345678901234567890@Z", 60) + "@Z",
}

func TestMSVCIsBounded(t *testing.T) {
	for _, in := range hostileMSVC {
		if out := Name(in); len(out) > MaxOutput {
			t.Errorf("%.30s...: %d bytes", in, len(out))
		}
	}
}

func FuzzMSVC(f *testing.F) {
	for _, c := range msvcNames {
		f.Add(c.in)
	}
	for _, in := range hostileMSVC {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if out := Name("?" + in); len(out) > max(MaxOutput, len(in)+1) {
			t.Errorf("%d bytes", len(out))
		}
		NameWith("?"+in, Options{NoParams: true, NoTemplateParams: true, NoEnclosingParams: true})
	})
}
