package pdb

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// varsSource has variables of all kinds of types, in frames, registers and pieces.
const varsSource = `extern "C" int _fltused = 0;
extern "C" void *memset(void *p, int c, decltype(sizeof(0)) n) { char *q = (char *)p; while (n--) *q++ = c; return p; }
extern "C" void *memcpy(void *p, const void *s, decltype(sizeof(0)) n) { char *q = (char *)p; while (n--) q[n] = ((char *)s)[n]; return p; }
volatile int sink;
namespace ns {
enum class Color : short { red = -1, green = 2 };
enum Flags { A = 1, B = 2, C = 4 };
struct Base { int b; virtual int f() { return b; } static int count; };
struct VB { int vb; };
struct Mid : virtual VB { int mid; };
union U { int i; float f; };
struct Node;
struct Holder { Node *next; };
struct Node { Node *next; int val; };
template <class T> struct Box { T v; const char *name; };
struct Pair { int first; short second; };
struct D : Base, virtual VB {
  int bits : 3; unsigned more : 7; long long wide : 40;
  Color c; Flags fl; char text[12]; int m[2][3]; double d; bool ok; wchar_t w; char16_t u16; unsigned char uc;
  Box<Box<int>> box; int (*fn)(int, char, ...); int Base::*pm; int (Base::*pmf)(); U u;
  const volatile int *const cvp = 0; long l; unsigned long ul; float fs[3]; decltype(nullptr) np;
  union { int x; short y; };
  int method(int p, const Node &n, Box<short> *q);
};
int Base::count = 7;
static __attribute__((always_inline)) inline int twice(int a) { int t = a + sink; sink = t; return t * 2; }
__attribute__((noinline)) int D::method(int p, const Node &n, Box<short> *q) {
  int local = twice(p); const volatile int cv = 3;
  { long long inner = local + 5; static int stat = 4; stat += (int)inner; local += stat; }
  for (int i = 0; i < p; i++) { float fl = i * 1.5f; local += (int)fl; sink++; }
  return local + n.val + (q ? q->v : 0) + this->bits + cv;
}
struct Deep : Mid, Base { int deep; };
__attribute__((noinline)) int split(Pair p, long long big, Deep *deep) {
  Pair q = p;
  for (int i = 0; i < sink; i++) { q.first += twice(q.second); q.second ^= q.first; }
  struct Own { int only; } own = {sink};
  return q.first + q.second + (int)(big >> 33) + deep->deep + own.only;
}
}
static __attribute__((noinline)) int many(int a, int b, int c, int d, int e, int f, double x, float y) {
  volatile char room[64]; room[a & 63] = (char)b;
  double z = x * y + c; sink = d; sink = e; sink = f; sink = (int)z;
  return room[b & 63] + (int)z;
}
extern "C" int start(void) {
  ns::D d; d.c = ns::Color::green; d.fl = ns::B; d.bits = 2; d.fn = 0;
  ns::Node n{nullptr, 4}; ns::Box<short> b{3, "hi"}; ns::Deep deep; deep.deep = 1; ns::Holder h{&n};
  const int k = 42; decltype(nullptr) nul = nullptr; char c = 'x'; unsigned long long big = 1ull << 40;
  int &&rv = 5; int &lr = n.val;
  return d.method(2, *h.next, &b) + k + (nul == nullptr) + c + (int)big + rv + lr + ns::split({1, 2}, big, &deep) + many(1, 2, 3, 4, 5, 6, 7.5, 8.5f);
}
`

var varsTargets = []struct{ target, level string }{
	{"x86_64-pc-windows-msvc", "-O0"}, {"x86_64-pc-windows-msvc", "-O2"},
	{"i686-pc-windows-msvc", "-O0"}, {"i686-pc-windows-msvc", "-O2"},
	{"aarch64-pc-windows-msvc", "-O0"}, {"aarch64-pc-windows-msvc", "-O2"},
}

func buildVars(t testing.TB, target, level string) (program, *File) {
	p := buildSources(t, map[string]string{"v.cpp": varsSource}, target, level, "-fno-rtti", "-fno-builtin")
	f, err := Open(p.data)
	if err != nil {
		t.Fatal(err)
	}
	return p, f
}

// TestVariables compares the variables of all functions, with their blocks and locations,
// with the records that llvm-pdbutil lists.
func TestVariables(t *testing.T) {
	util := fixture.LLVM(t, "llvm-pdbutil")
	for _, c := range varsTargets {
		t.Run(c.target+c.level, func(t *testing.T) {
			p, f := buildVars(t, c.target, c.level)
			out, err := exec.Command(util, "dump", "-symbols", p.pdb).Output()
			if err != nil {
				t.Fatal(err)
			}
			start, _ := p.text(t)
			x, err := f.sections()
			if err != nil {
				t.Fatal(err)
			}
			listed := listing(string(out), func(sect, off uint32) uint32 { return x.list[sect-1].start + off })
			if len(listed) < 6 {
				t.Fatalf("%d functions of %s", len(listed), out)
			}
			vars := 0
			for low, want := range listed {
				fn, ok, err := f.FuncAt(low)
				if err != nil || !ok {
					t.Fatalf("%#x: %v, %v", low, ok, err)
				}
				var got []string
				describeScope(f.Machine, fn.Scope, 0, &got)
				slices.Sort(got)
				slices.Sort(want)
				if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
					t.Errorf("%s at %#x, .text %#x:\n%s\nwant\n%s", fn.Name, low, start, g, w)
				}
				vars += len(got)
			}
			if vars < 40 {
				t.Errorf("%d records", vars)
			}
		})
	}
}

// describeScope lists variables and blocks with their nesting depth.
func describeScope(machine uint16, s *Scope, depth int, out *[]string) {
	add := func(format string, args ...any) {
		*out = append(*out, fmt.Sprintf("%d ", depth)+fmt.Sprintf(format, args...))
	}
	for _, v := range s.Vars {
		text := fmt.Sprintf("%s type %#x", v.Name, uint32(v.Type))
		if v.Param {
			text += " param"
		}
		for _, p := range v.Places {
			text += "; " + describePlace(machine, &p)
		}
		add("%s", text)
	}
	for _, in := range s.Inner {
		if in.Block {
			add("block %#x+%d", in.Ranges[0].Low, in.Ranges[0].High-in.Ranges[0].Low)
		} else {
			add("inlined %s", in.Name[strings.LastIndex(in.Name, ":")+1:])
		}
		describeScope(machine, in, depth+1, out)
	}
}

func describePlace(machine uint16, p *Place) string {
	var b strings.Builder
	switch p.Kind {
	case InRegister:
		b.WriteString(registerName(machine, p.Reg))
	case AtRegister:
		fmt.Fprintf(&b, "%s%+d", registerName(machine, p.Reg), p.Off)
	case AtAddress:
		return fmt.Sprintf("rva %#x", p.RVA)
	case IsConstant:
		return fmt.Sprintf("= %d", p.Value)
	}
	if p.Part {
		fmt.Fprintf(&b, " part %d", p.At)
	}
	fmt.Fprintf(&b, " in %#x+%d", p.Range.Low, p.Range.High-p.Range.Low)
	for _, g := range p.Gaps {
		fmt.Fprintf(&b, " not %d+%d", g.Low-p.Range.Low, g.High-g.Low)
	}
	return b.String()
}

// registerNames are registers as llvm-pdbutil names them, by the first of a run.
var registerNames = map[uint16]map[Register]string{
	0x14c: {
		1: "AL CL DL BL AH CH DH BH AX CX DX BX SP BP SI DI EAX ECX EDX EBX ESP EBP ESI EDI", 128: "ST0 ST1 ST2",
		154: "XMM0 XMM1 XMM2 XMM3 XMM4 XMM5 XMM6 XMM7", VFrame: "VFRAME",
	},
	0x8664: {
		1:   "AL CL DL BL AH CH DH BH AX CX DX BX SP BP SI DI EAX ECX EDX EBX ESP EBP ESI EDI",
		154: "XMM0 XMM1 XMM2 XMM3 XMM4 XMM5 XMM6 XMM7", 252: "XMM8 XMM9 XMM10 XMM11 XMM12 XMM13 XMM14 XMM15",
		324: "SIL DIL BPL SPL RAX RBX RCX RDX RSI RDI RBP RSP R8 R9 R10 R11 R12 R13 R14 R15",
		344: "R8B R9B R10B R11B R12B R13B R14B R15B R8W R9W R10W R11W R12W R13W R14W R15W R8D R9D R10D R11D R12D R13D R14D R15D",
	},
	0xaa64: {
		10: "ARM64_W%", 41: "ARM64_WZR", 50: "ARM64_X%", 79: "ARM64_FP ARM64_LR ARM64_SP ARM64_ZR",
		100: "ARM64_S%", 140: "ARM64_D%", 180: "ARM64_Q%",
	},
}

func registerName(machine uint16, r Register) string {
	best := Register(0)
	for first := range registerNames[machine] {
		if first <= r {
			best = max(best, first)
		}
	}
	names := strings.Fields(registerNames[machine][best])
	if len(names) == 1 && strings.HasSuffix(names[0], "%") {
		return names[0][:len(names[0])-1] + fmt.Sprint(r-best)
	}
	if int(r-best) < len(names) {
		return names[r-best]
	}
	return fmt.Sprint("register ", r)
}

var (
	listedRecord  = regexp.MustCompile("^ *\\d+ \\| (S_\\w+) \\[size = \\d+\\](?: `(.*)`)?$")
	listedProc    = regexp.MustCompile(`addr = (\d+):(\d+), code size = (\d+)`)
	listedType    = regexp.MustCompile(`type ?= ?0x([0-9A-F]+)`)
	listedRange   = regexp.MustCompile(`\[(\d+):(\d+),\+(\d+)\)`)
	listedStart   = regexp.MustCompile(`range start = (\d+):(\d+), length = (\d+)`)
	listedGaps    = regexp.MustCompile(`\((\d+),(\d+)\)`)
	listedFP      = regexp.MustCompile(`local fp reg = (\w+), param fp reg = (\w+)`)
	listedInlinee = regexp.MustCompile(`inlinee = 0x[0-9A-F]+ \((.*)\), parent`)
)

// listing reads "llvm-pdbutil dump -symbols": for each function's RVA the lines that
// describeScope makes. rva translates a section and an offset.
func listing(out string, rva func(sect, off uint32) uint32) map[uint32][]string {
	all := make(map[uint32][]string)
	num := func(s string) uint32 { n, _ := strconv.ParseUint(s, 10, 32); return uint32(n) }
	at := func(m []string) uint32 { return rva(num(m[1]), num(m[2])) }
	lines := strings.Split(out, "\n")
	var low uint32
	var local, param string
	depth, isParam := 0, false
	for i := 0; i < len(lines); i++ {
		m := listedRecord.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		body := ""
		for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "      ") && listedRecord.FindStringSubmatch(lines[i+1]) == nil {
			i++
			body += lines[i] + " "
		}
		add := func(format string, args ...any) {
			all[low] = append(all[low], fmt.Sprintf("%d ", depth)+fmt.Sprintf(format, args...))
		}
		typ := func() string {
			n, _ := strconv.ParseUint(listedType.FindStringSubmatch(body)[1], 16, 32)
			return fmt.Sprintf("%s type %#x", m[2], n)
		}
		place := func(text string) {
			r := listedRange.FindStringSubmatch(body)
			if r == nil {
				r = listedStart.FindStringSubmatch(body)
			}
			text += fmt.Sprintf(" in %#x+%s", at(r), r[3])
			for _, g := range listedGaps.FindAllStringSubmatch(body[strings.Index(body, "gaps"):], -1) {
				text += fmt.Sprintf(" not %s+%s", g[1], g[2])
			}
			last := len(all[low]) - 1
			all[low][last] += "; " + text
		}
		word := func(key string) string {
			_, rest, _ := strings.Cut(body, key+" = ")
			rest, _, _ = strings.Cut(rest, " ")
			return strings.TrimSuffix(rest, ",")
		}
		switch kind := m[1]; kind {
		case "S_GPROC32", "S_LPROC32":
			low, depth = at(listedProc.FindStringSubmatch(body)), 0
			all[low] = nil
		case "S_FRAMEPROC":
			r := listedFP.FindStringSubmatch(body)
			local, param = r[1], r[2]
		case "S_LOCAL":
			text := typ()
			if isParam = strings.Contains(body, "flags = param"); isParam {
				text += " param"
			}
			add("%s", text)
		case "S_CONSTANT":
			if low != 0 && depth >= 0 {
				v, _ := strconv.ParseInt(word("value"), 10, 64)
				add("%s; = %d", typ(), uint64(v))
			}
		case "S_LDATA32", "S_GDATA32":
			if low != 0 && depth >= 0 {
				r := regexp.MustCompile(`addr = (\d+):(\d+)`).FindStringSubmatch(body)
				add("%s; rva %#x", typ(), at(r))
			}
		case "S_DEFRANGE_REGISTER":
			place(word("register"))
		case "S_DEFRANGE_SUBFIELD_REGISTER":
			place(word("register") + " part " + word("offset in parent"))
		case "S_DEFRANGE_REGISTER_REL":
			text := fmt.Sprintf("%s%+d", word("register"), int32(num2(word("offset"))))
			if word("has spilled udt") == "true" {
				text += " part " + word("offset in parent")
			}
			place(text)
		case "S_DEFRANGE_FRAMEPOINTER_REL":
			reg := local
			if isParam {
				reg = param
			}
			place(fmt.Sprintf("%s%+d", reg, int32(num2(word("offset")))))
		case "S_BLOCK32":
			r := regexp.MustCompile(`code size = (\d+), addr = (\d+):(\d+)`).FindStringSubmatch(body)
			add("block %#x+%s", rva(num(r[2]), num(r[3])), r[1])
			depth++
		case "S_INLINESITE":
			name := listedInlinee.FindStringSubmatch(body)[1]
			add("inlined %s", name[strings.LastIndex(name, ":")+1:])
			depth++
		case "S_END", "S_INLINESITE_END", "S_PROC_ID_END":
			depth--
		}
	}
	delete(all, 0)
	return all
}

func num2(s string) int64 { n, _ := strconv.ParseInt(s, 10, 64); return n }
