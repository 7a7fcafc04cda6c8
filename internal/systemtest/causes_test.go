package systemtest

import (
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// causesOf calls do with what the report says of each way in which a program of testdata/src/causes dies, by each compiler, not optimised and
// optimised: the text of the first cause and its confidence, "-" for none. A compiler may have a flag: "gcc -m32". At every change the first compiler
// is asked about all ways, each of the others about each of them at one level.
func causesOf(t *testing.T, source string, compilers []string, ways string, do func(t *testing.T, way byte, build, cause string)) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the instructions that are followed are of amd64")
	}
	for n, compiler := range compilers {
		for k, level := range []string{"-O0", "-O1", "-O2"} {
			t.Run(compiler+level, func(t *testing.T) {
				t.Parallel()
				with := strings.Fields(compiler)
				exe := fixture.Compile(t, with[0], "causes/"+source, append([]string{"-g", level, "-w"}, with[1:]...)...)
				for i := range len(ways) {
					if n > 0 && (n+k+i)%3 != 0 && !fixture.IsLongRun() {
						continue
					}
					r := analyzeCore(t, fixture.Crash(t, nil, exe, ways[i:i+1]), exe)
					cause := "-"
					if r.Crash == nil {
						t.Fatalf("%c: no crash", ways[i])
					}
					if r.Crash.Blame != nil {
						cause = r.Crash.Causes[0].Text + " [" + r.Crash.Causes[0].Confidence + "]"
					}
					do(t, ways[i], compiler+level, cause)
				}
			})
		}
	}
}

// A member whose place was computed is named with its indexes and what they were. The program says what is right.
func TestComputedMembers(t *testing.T) {
	t.Parallel()
	want := map[byte][]string{ // any of
		'm': {"parent->reg[2]->lo where parent->reg[2] = 0x0, read by modulo"},
		't': {"tab[i].next->v where tab[i].next = 0x0, read by table", "tab[3].next->v where tab[3].next = 0x0, read by table"},
		'c': {"m->rows[r].cells[c].b where m->rows[r].cells = 0x0, read by cells"},
		'C': {"m->rows[r].cells[c].b where c = 90000000 at computed.c"},
		'p': {"g->px[2000000001], an index that was computed at computed.c"},
		'b': {"numbers[-7999999999], an index that was computed at computed.c"},
		'w': {"p[i].e[j].name[2] where p[i].e[j].name = 0x0, read by within", "p[i].e[j].name[2] where rax = 0x2; the address of p[i].e[j].name[2] where p[i].e[j].name = 0x0"},
		'2': {"*rows[y][x + 1] where rows[y][x + 1] = 0x0, read by twice", "*rows[y][3] where rows[y][3] = 0x0, read by twice"},
		's': {"*p->b[1] where p->b[1] = 0x0, read by second", "*p->b[k - 1] where p->b[k - 1] = 0x0, read by second"},
		'l': {"loc[k - 2]->val where loc[k - 2] = 0x0, read by local"},
		'x': {"r->lo where r = 0x0, local of changed"},
		'S': {"small[p->at] where p->at = 0x30000001, read by scaled", "small[p->at] where rax = 0x30000001; p->at"},
		'B': {"from[p->back] where p->back = 0xcfffffff, read by before", "from[p->back] where p->back = 0xffffffffcfffffff, read by before"},
		'n': {"a[n - 100000000] where n = 5 at", "a[n - 100000000] where n = 0x5, argument of far", "a[n - 100000000] where n - 100000000 = -99999995 at"},
	}
	indexes := map[byte][]string{'t': {"i = 3"}, 'c': {"r = 2", "c = 3"}, 'C': {"r = 1"}, 'w': {"i = 2", "j = 1"}, '2': {"y = 2"}}
	// What the machine code no longer tells: the registers with the array and its index are written again.
	gone := map[string]bool{"m clang-O1": true, "m clang-O2": true, "l clang-O0": true}
	causesOf(t, "computed.c", []string{"gcc", "clang"}, "mtcCpbw2slnxafgSB", func(t *testing.T, way byte, build, cause string) {
		said := func(text string) bool { return strings.HasPrefix(cause, text) }
		ok := len(want[way]) == 0
		for _, w := range want[way] {
			ok = ok || said(w)
		}
		switch {
		case gone[string(way)+" "+build]:
			ok = ok && way == 'm' || said("rax = 0x0; read from [") || said("loc[2]->val where loc[2] = 0x0") // a variable may lead there still
		case way == 'g': // the index that memory has now does not lead to the address
			ok = !strings.Contains(cause, "rows[")
		case way == 'a' || way == 'f': // which of two is not known
			ok = !strings.Contains(cause, "->u") && !strings.Contains(cause, "->data") && !strings.Contains(cause, "f[")
		default:
			for _, i := range indexes[way] {
				ok = ok && (strings.Contains(cause, "; "+i) || strings.Contains(cause, strings.Replace(i, "i = ", "tab[", 1)))
			}
		}
		// What an index was set to is the index, not the address that it led to.
		if set := strings.Index(cause, "set to "); way == 'n' && set >= 0 {
			ok = ok && strings.HasPrefix(cause[set:], "set to 0x5 ")
		}
		// Nor is an index what was stored since.
		if way == 'x' && strings.Contains(cause, "k = 3") {
			ok = false
		}
		if !ok {
			t.Errorf("%c: %s", way, cause)
		}
	})
}

// A division that failed names its divisor, and what that was computed from.
func TestDivisors(t *testing.T) {
	t.Parallel()
	want := map[byte]string{
		'm': "p->count = 0, read by member at divide.c",
		'n': "p->few = 0, read by narrow at divide.c",
		'd': "p->k - 3 = 0, computed by difference at divide.c:10; p->k = 3 [",
		'p': "p->to - p->from = 0, computed by pointers at divide.c:11; p->to = 0; p->from = 0 [",
		'g': "buckets = 0, global, read by global at divide.c",
		'e': "sizes[i] = 0, read by element at divide.c",
		'w': "w * h = 0, computed by product at divide.c:16; ",
		'l': "b = -1, argument of least at divide.c:17; ",
		'r': "b = -1, argument of rest at divide.c:18; ",
		'B': "b - a = 0, computed by between at divide.c",
		'X': "a - b = 0, computed by mixed at divide.c",
	}
	other := map[byte]string{'w': "h = 0 [", 'l': "; a = -2147483648 [", 'r': "; a = -9223372036854775808 ["}
	causesOf(t, "divide.c", []string{"gcc", "clang"}, "mndpgewlrothBHMCQWXPLFG", func(t *testing.T, way byte, build, cause string) {
		switch {
		case way == 't': // what memory has now, 4, is not what was computed with: that a register tells
			if strings.Contains(cause, "- 3 = 0") && !strings.Contains(cause, "; p->far = 3 [") {
				t.Errorf("%c: %s", way, cause)
			}
		case way == 'h': // nor is it here
			if strings.Contains(cause, "- 3 = 0") {
				t.Errorf("%c: %s", way, cause)
			}
		case strings.ContainsRune("PLFG", rune(way)): // of a part it is not said that it is all
			if whole := regexp.MustCompile(`(^|[;*] )(b|p->id|wide) = 0`); whole.MatchString(cause) || strings.HasPrefix(build, "gcc-O0") && !strings.Contains(cause, map[byte]string{'P': "4 bytes of b = 0", 'L': "1 byte of p->id = 0", 'F': "4 bytes of b = 0", 'G': "2 bytes of wide = 0"}[way]) {
				t.Errorf("%c: %s", way, cause)
			}
		case strings.ContainsRune("HMCQW", rune(way)):
			if strings.HasPrefix(cause, "a -") || strings.HasPrefix(cause, "b - a =") || strings.Contains(cause, "; b = 1") || strings.Contains(cause, "a - b =") {
				t.Errorf("%c: %s", way, cause)
			}
		case way == 'X' && strings.Contains(cause, "; a = ") && !strings.Contains(cause, "; a = -1"): // an int
			t.Errorf("%c: %s", way, cause)
		case way == 'o':
			if strings.Contains(cause, "w * h") {
				t.Errorf("%c: %s", way, cause)
			}
		case !strings.HasPrefix(cause, want[way]) || !strings.Contains(cause, other[way]):
			t.Errorf("%c: %s", way, cause)
		}
	})
}

// Elements, ends and smart pointers have the names of the containers, of iterators and of the pointers, where the compiler inlines the library's
// functions and where it calls them.
func TestContainers(t *testing.T) {
	t.Parallel()
	want := map[byte]string{'u': "o.box->b where o.box = 0x0, ", 's': "o.shared->b where o.shared = 0x0, ", 'l': "p", 'v': "[i]->b where ", 'e': "*l.end() = 0x0, ", 'b': "end() = 0x0, ",
		'x': "size() = 0x10000000000, ", 'L': "v[i].back()->b where v[i].back() = 0x0, ", 'o': "(*o)->b where *o = 0x0, "}
	called := map[byte]string{'v': "v[i]->b where v[i] = 0x0, ", 'l': "p->b where p = 0x0, ", 'e': "(*it)->b where *it = 0x0, ", 'b': "v.back() where ", 'S': "(*it)->b where *it = 0x0, ", 'm': "m[...]->b where m[...] = 0x0, ",
		'f': "it->second->b where it->second = 0x0, "}
	causesOf(t, "container.cpp", []string{"g++ -std=c++17", "clang++ -std=c++17", "clang++ -std=c++17 -stdlib=libc++"}, "uslvebidxSmfLo", func(t *testing.T, way byte, build, cause string) {
		plain := strings.HasSuffix(build, "-O0") // the values are results of functions of the library
		text := want[way]
		if more, ok := called[way]; plain && ok {
			text = more
		}
		if plain && way == 'x' || !plain && way == 'L' { // a list's size at -O0 is what a function returned, and where a row ends is in another one
			text = ""
		}
		switch {
		case strings.Contains(cause, "_M_color") || strings.Contains(cause, "_M_head_impl") || strings.Contains(cause, "_M_impl"):
			t.Errorf("%c: %s", way, cause)
		case (way == 'd' || way == 'x') && strings.Contains(cause, "end()"): // its size, which was meant
			t.Errorf("%c: %s", way, cause)
		case way == 'e' && strings.Contains(cause, "[certain]") && strings.Contains(cause, "end()"):
			t.Errorf("%c: %s", way, cause)
		case way == 'l' && cause == "-": // the compiler knew that it holds nothing
		case !strings.Contains(cause, text):
			t.Errorf("%c: %s, want %s", way, cause, text)
		}
	})
}

// What operators of a program's own classes returned is named by what the source has: nothing is taken for an element that is a product, an
// object of another class at the same address, or what a proxy or a temporary object returned.
func TestAccessors(t *testing.T) {
	t.Parallel()
	want := map[byte]string{'s': "(*m).box->b where (*m).box = 0x0, ", 'h': "(*h)->b where ", 'w': "v.items.back()->b where v.items.back() = 0x0, ", 'k': "m[...]->b where m[...] = 0x0, ",
		'n': "(*v).at(1)->b where (*v).at(1) = 0x0, ", 'g': "shelf.back()->b where shelf.back() = 0x0, ", 'x': "r->b where r = 0x0, ", 'o': "v.back()->b where v.back() = 0x0, ",
		'u': "w.part->b where ", 'K': "m[...]->b where m[...] = 0x0, ", 'e': "(*it).back()->b where (*it).back() = 0x0, ",
		'i': "all[i].list.back()->b where all[i].list.back() = 0x0, ", 'f': "it->second.list.front()->b where it->second.list.front() = 0x0, ",
		'F': "m.find(...)->second->b where m.find(...)->second = 0x0, ", 'L': "(*s.begin())->b where *s.begin() = 0x0, ", 'T': "std::get<1>(t)->b where std::get<1>(t) = 0x0, ",
		'V': "std::get<Box*>(v)->b where std::get<Box*>(v) = 0x0, ", 'P': "p->next->b where p->next = 0x0, ", 'S': "v.size() = 0, ", 'W': "t.other(k)->b where ", 'N': "n.egg().inner->b where "}
	wrong := map[byte][]string{'D': {"[9]"}, 'm': {"*m", "m->", "(*n)"}, 'c': {"*m", "m->"}, 'p': {"o->b", "o."}, 'r': {"s[i]", "s[1]"}, 'q': {"(*o)", "o->"}, 'j': {"racks->", "racks[0]", "(*racks)"}, 't': {"front()"}, 'x': {"*it"}, 'W': {"t->b", "t.box"}, 'C': {"n.operator"}, 'R': {"t."},
		'B': {"room"}, 'G': {"space"}, 'Q': {"raw.back()"}, 'J': {"cause: .", " .lone"}}
	causesOf(t, "accessors.cpp", []string{"g++ -std=c++17", "clang++ -std=c++17", "clang++ -std=c++17 -stdlib=libc++"}, "mcshpworktngxifquKjeDFLTVPSWNCRBGQJ", func(t *testing.T, way byte, build, cause string) {
		plain := strings.HasSuffix(build, "-O0")
		for _, text := range wrong[way] {
			if plain && strings.Contains(cause, text) {
				t.Errorf("%c: %s", way, cause)
			}
		}
		if way == 'P' && strings.HasPrefix(build, "clang") && strings.HasPrefix(cause, "rax = 0x0; read from [rax]") {
			return // its debug information loses the parameter
		}
		if plain && !strings.HasPrefix(cause, want[way]) {
			t.Errorf("%c: %s, want %s", way, cause, want[way])
		}
		if (way == 'm' || way == 'c') && strings.Contains(cause, "*m") {
			t.Errorf("%c: %s", way, cause)
		}
	})
}

// conversions are what the report says of the ways of conversion.c. The program says what is right.
var conversions = map[byte]string{
	'p': `%s, conversion 1 of printf's "count %s of %d\n", took count = 5, an integer (int) at conversion.c:19; `,
	'm': `%s, conversion 5 of snprintf's "%d%% %-10s|%.2f|%*s %s", took it->size = 4242, an integer (long) at conversion.c:23; `,
	'w': `%s, conversion 3 of vfprintf's "%s has %d at %s", took shelf.id = 7, an integer (int) at conversion.c:114; `,
	't': `%s, conversion 4 of vsnprintf's "%s: %f %x %s", took shelf.id = 7, an integer (int) at conversion.c:115; `,
	'y': `%s, conversion 9 of printf's "%d %d %d %d %f %d %d %s %s\n", took code = 502, an integer (int) at conversion.c:51; `,
	'f': `%s, conversion 17 of printf's "%f%f%f%f%f%f%f%f%f%Lf %d %d %d %d %d %lld %s\n", took code = 602, an integer (int) at conversion.c:55; `,
	'q': `%1$s, conversion 2 of printf's "%2$d %1$s\n", took code = 92, an integer (int) at conversion.c:59; `,
	's': `%d, conversion 2 of sscanf's "%*d %d", took `,
	'P': `%s, conversion 1 of printf's "[%s]\n", took `,
	'n': `%n, conversion 2 of printf's "%d%n\n", took at = 11, an integer (int) at conversion.c:77; `,
	'c': `%s, conversion 2 of printf's "made %d %s\n", took count = 21, an integer (int) at conversion.c:84; `,
	'0': `%s, conversion 2 of printf's "%s %s\n", took count = 31, an integer (int) at conversion.c:103; `,
	'l': `%s, conversion 1 of printf's "tail %s, %d\n", took count = 41, an integer (int) at conversion.c:107; `,
}

// A crash in printf or scanf says which conversion of which format took what, through functions that pass on lists of arguments, too.
func TestConversions(t *testing.T) {
	t.Parallel()
	causesOf(t, "conversion.c", []string{"gcc", "clang", "musl-gcc", "gcc -m32", "gcc -s", "gcc -static"}, "pmwtyfqsPnc0lFT", func(t *testing.T, way byte, build, cause string) {
		want, optimised := conversions[way], !strings.HasSuffix(build, "-O0")
		cause = strings.Replace(cause, "(long int)", "(long)", 1)
		switch {
		case way == 'F' || way == 'T':
			if strings.Contains(cause, ", conversion ") {
				t.Errorf("%c: %s", way, cause)
			}
			return
		case way == 'l' && strings.HasSuffix(build, "-O2") && !strings.Contains(build, "-m32"): // printf was called by a jump, which needs its arguments in registers
			want = ""
			if strings.Contains(cause, ", conversion ") {
				t.Errorf("%c: %s", way, cause)
			}
		case way == 'P' && optimised && cause == "-": // puts
			return
		}
		if way == 'f' && build == "clang-O0" || strings.Contains(build, "-s-") { // the argument has no name
			want, _, _ = strings.Cut(want, "code = ")
			want, _, _ = strings.Cut(want, "took ")
		}
		if (way == 'w' || way == 't') && strings.Contains(build, "-m32") { // the global's address is in a register, and a jump table leads to what reads it
			want, _, _ = strings.Cut(want, "took ")
		}
		doubt := " [likely]"
		if way == 'c' {
			doubt = " [possible]"
		}
		if !strings.HasPrefix(cause, want) || want != "" && !strings.HasSuffix(cause, doubt) {
			t.Errorf("%c: %s", way, cause)
		}
	})
}

// Text that runs over the end of an array into a pointer or a return address is told with the array that it begins in.
func TestOverruns(t *testing.T) {
	t.Parallel()
	want := map[byte][2]string{
		'w': {`; overwritten by text that begins in e->name, 16 bytes before: "a name of sixteen and some more"`, "likely"},
		'h': {`; its first 4 bytes overwritten by text that begins in e->name, 16 bytes before: "exactly sixteen.half"`, "likely"},
		't': {`; its first 2 bytes overwritten by text that begins in e->name, 16 bytes before: "exactly sixteen.ha"`, "possible"},
		's': {`; overwritten by text that begins in p->first, 16 bytes before: "eight of first, second and a pointer"`, "likely"},
		'k': {`; overwritten by text that begins in kept.title, 24 bytes before: "a title of twenty-four and a pointer"`, "likely"},
		'n': {`; overwritten by text that begins in a->name, 16 bytes before: "twelve and a number and a pointer"`, "likely"},
		'l': {`; overwritten by text that begins in v.word, 16 bytes before: "sixteen letters.and a pointer"`, "likely"},
		'r': {`overwritten by text that begins in line, `, "likely"},
		'H': {`; overwritten by text that begins 16 bytes before: "before the list.xxxxxxxx"`, "possible"},
		'o': {"", ""},
		'a': {"", ""},
	}
	causesOf(t, "overrun.c", []string{"gcc -fno-stack-protector", "clang"}, "whtsknlrHoabzc", func(t *testing.T, way byte, build, cause string) {
		text, confidence := want[way][0], want[way][1]
		if way == 'r' && strings.HasPrefix(build, "clang") { // which addresses locals by registers that no longer hold what they did
			text, confidence = "overwritten by text that begins ", "possible"
		}
		if text == "" && strings.Contains(cause, "overwritten") || text != "" && (!strings.Contains(cause, text) || !strings.HasSuffix(cause, " ["+confidence+"]")) {
			t.Errorf("%c: %s", way, cause)
		}
		if way == 'r' && !strings.HasPrefix(cause, "the return address = 0x") {
			t.Errorf("%c: %s", way, cause)
		}
	})
}

// Of the members of a union, the one is named that the access tells apart; where several do, all are, and that is likely.
func TestUnions(t *testing.T) {
	t.Parallel()
	want := map[byte]string{
		'h': "v->as.words->hash where v->as.words = 0x1000, read by hash at unions.c:12 [certain]",
		'n': "v->as.node->next or v->as.words->bytes where v->as.node or v->as.words = 0x1000, read by next at unions.c:13 [likely]",
		'o': "v->as.node or v->as.words = 0x1000, read by half at unions.c:15 [likely]",
		'b': "v->as.number or v->as.real or v->as.node or v->as.words where v = 0x1000, argument of number at unions.c:16",
		'f': "v->as.node[3].next->key where v->as.node[3].next = 0x0, read by far at unions.c:14 [certain]",
	}
	causesOf(t, "unions.c", []string{"gcc", "clang"}, "hnofb", func(t *testing.T, way byte, build, cause string) {
		if cause != want[way] && !(way == 'b' && strings.HasPrefix(cause, want[way]) && strings.HasSuffix(cause, "[certain]")) {
			t.Errorf("%c: %s", way, cause)
		}
	})
}

// The number that was added to a pointer is not told as what the pointer was set to.
func TestFarOff(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the instructions that are followed are of amd64")
	}
	for _, compiler := range []string{"gcc", "clang"} {
		for _, level := range []string{"-O0", "-O1", "-O2"} {
			exe := fixture.Compile(t, compiler, "causes/faroff.c", "-g", level, "-w")
			r := analyzeCore(t, fixture.Crash(t, nil, exe), exe)
			if r.Crash == nil || r.Crash.Blame == nil {
				if level != "-O2" { // at which there is no call
					t.Errorf("%s %s: %+v", compiler, level, r.Crash)
				}
				continue
			}
			if slices.ContainsFunc(r.Crash.Blame.Steps, func(s report.BlameStep) bool { return s.Kind == report.BlameSet }) {
				t.Errorf("%s %s: %+v", compiler, level, r.Crash.Blame.Steps)
			}
		}
	}
}

// A SIGABRT that another thread of the process sent, or a handler that has returned, is no abort, and nothing else is said of one that is.
func TestRaisedElsewhere(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the instructions that are looked at are of amd64")
	}
	const elsewhere = "sent by the program to itself, not by abort: by another thread, or by a handler that had returned"
	for _, flags := range [][]string{{"-O1"}, {"-O1", "-static"}, {"-O1", "-m32"}} {
		exe := fixture.Compile(t, "gcc", "causes/raised.c", append(flags, "-g", "-w", "-pthread")...)
		for way, want := range map[string]string{"h": elsewhere, "w": elsewhere, "t": elsewhere, "b": elsewhere, "z": elsewhere,
			"a": "abort called by the program itself", "r": "raised by the program itself by raise, not by abort"} {
			r := analyzeCore(t, fixture.Crash(t, nil, exe, way), exe)
			reason := ""
			if r.Crash != nil {
				reason = r.Crash.Reason
			}
			if way == "r" && reason == "abort called by the program itself" { // raise has no name, or is the program's own
				want = reason
			}
			if reason != want || (r.Crash.Kind == report.CrashAbort) != (want != elsewhere) {
				t.Errorf("%v %s: %+v", flags, way, r.Crash)
			}
		}
	}
}

// An element of what a pointer leads to is of the pointer, if that is null, and of the index, if that is far out: also where code that is not optimised adds
// the two before it reads, and where the index is a part of a variable.
func TestPartIndexes(t *testing.T) {
	t.Parallel()
	want := map[byte]string{
		'a': "a[i] where a = 0x0, argument of plain",
		'b': "a[i] where i = (400000000|0x17d78400)\\b",
		'c': "a[4 bytes of i] where a = 0x0, argument of part",
		'd': "a[4 bytes of i] where 4 bytes of i = (400000000|0x17d78400)\\b",
		'e': "a[8] where a = 0x0, argument of sum",
		'g': "(-$|rows\\[2\\]\\[j\\] where rows\\[2\\] = 0x0, |rows\\[2\\] = 0x0)",
	}
	check := func(t *testing.T, way byte, build, cause string) {
		pattern := want[way]
		if way != 'g' {
			pattern = strings.NewReplacer("[", `\[`, "]", `\]`).Replace(pattern)
		}
		if !regexp.MustCompile("^" + pattern).MatchString(cause) {
			t.Errorf("%c %s: %s", way, build, cause)
		}
	}
	causesOf(t, "part.c", []string{"gcc", "clang"}, "abcde", check)
	causesOf(t, "part.c", []string{"gcc"}, "g", check) // clang makes no access of it
}

// What the source of Fortran calls by % and subscripts is called so, and not as in C.
func TestMembersOfFortran(t *testing.T) {
	t.Parallel()
	want := map[byte]string{
		'w': "n%next%value where n%next = 0x0, ",
		'r': "t%root%value where t%root = 0x0, ",
		'd': "t%own%next%w(2) where t%own%next = 0x0, ",
		'l': "t%own%next%low(-1) where t%own%next = 0x0, ",
		'i': "t%ids = 0x0, ", // what it is is not allocated
		'o': "t%one where t%one = 0x0, ",
	}
	causesOf(t, "lists.f90", []string{"gfortran"}, "wrdlio", func(t *testing.T, way byte, build, cause string) {
		if way == 'w' && cause == "-" && !strings.HasSuffix(build, "-O0") {
			return // the compiler knew it
		}
		if way == 'w' { // where it is inlined, n is what n points to
			cause = strings.ReplaceAll(cause, "a%next", "n%next")
		}
		if !strings.HasPrefix(cause, want[way]) {
			t.Errorf("%c: %q, want %q", way, cause, want[way])
		}
	})
}
