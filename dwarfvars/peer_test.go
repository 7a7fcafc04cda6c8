package dwarfvars_test

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind"
)

// paritySample are the fixtures that are compared with gdb at every change: each language
// and each library with printers of its own once.
var paritySample = []string{"amd64-vars-c-O2", "amd64-vars-cxx-O0", "amd64-vars-libcxx", "amd64-vars-go-O0", "amd64-vars-rust-O0"}

// compared reports whether a subject is compared with gdb: those that -case asks for, else
// the sample, or with COREWALK_LONG=1 all.
func compared(t *testing.T, name string, inSample bool) bool {
	if *onlyCase != "" {
		return strings.Contains(name, *onlyCase)
	}
	return inSample || fixture.IsLong(t)
}

// TestGDBParity compares every variable of every frame with gdb: of a sample of the
// fixtures, with COREWALK_LONG=1 of all fixtures and of programs that are built for it
// (-matrix: of all that can be built here). What differs has to be proved by what the
// program printed, or to be a known difference.
func TestGDBParity(t *testing.T) {
	t.Parallel()
	fixture.Tools(t)
	if _, err := exec.LookPath("gdb"); err != nil {
		t.Skip("gdb is not installed (Debian: gdb): nothing to compare with")
	}
	fixtures, built := &figures{}, &figures{}
	t.Run("fixtures", func(t *testing.T) {
		for _, c := range fixture.Cases(t) {
			if compared(t, c.Name, slices.Contains(paritySample, c.Name)) {
				t.Run(c.Name, func(t *testing.T) {
					t.Parallel()
					fixtures.add(groupOf(c.Name), compareSubject(t, ofFixture(t, c)))
				})
			}
		}
	})
	t.Run("built", func(t *testing.T) {
		for _, r := range recipes() {
			if compared(t, r.name(), false) && (r.always || *matrix || *onlyCase != "") {
				t.Run(r.name(), func(t *testing.T) {
					t.Parallel()
					built.add(r.name(), compareSubject(t, r.build(t)))
				})
			}
		}
	})
	whole := *onlyCase == "" && fixture.IsLong(t) && !t.Failed()
	fixtures.check(t, "fixtures", whole)
	built.check(t, "built", whole)
	if whole {
		writeFigures(t, fixtures, built)
	}
}

// figures are those of some groups. It may be used by several goroutines.
type figures struct {
	mu     sync.Mutex
	groups map[string]*parity
}

func (f *figures) add(group string, p *parity) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.groups == nil {
		f.groups = map[string]*parity{}
	}
	if f.groups[group] == nil {
		f.groups[group] = newParity()
	}
	f.groups[group].add(p)
}

// check prints the figures and fails when fewer variables have a value here than
// gdb has right.
func (f *figures) check(t *testing.T, what string, whole bool) {
	t.Helper()
	total := logParity(t, what, f.groups)
	if c := total.crash; whole && c.ours < c.gdb {
		t.Errorf("%s: fewer variables of the crashing threads have a value than gdb shows: %v", what, c)
	}
	for name, p := range f.groups {
		if c := p.crash; c.ours < c.gdb-c.gdbWrong {
			t.Errorf("%s: fewer variables of the crashing threads have a value than gdb knows: %v", name, c)
		}
	}
}

// compareSubject compares the stacks of one core.
func compareSubject(t *testing.T, s *subject) *parity {
	t.Helper()
	total := newParity()
	target := s.open(t)
	w, err := target.NewWalker()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	crashed, err := target.ProcessState().DefaultThread()
	if err != nil {
		t.Fatal(err)
	}
	stacks, alive := runGDB(t, s)
	if !alive && !strings.HasPrefix(s.name, "amd64-") && !strings.HasPrefix(s.name, "built-") {
		t.Skip("gdb here is not for this architecture")
	}
	if why := gdbFailure(s.name); alive == (why != "") {
		t.Errorf("gdb ended as it should: %v; known: %q", alive, why)
	}
	c := comparison{t: t, s: s, r: target.Variables(), total: total}
	if len(stacks) == 0 {
		stack, _ := w.WalkStack(crashed)
		c.alone(stack.Frames)
	}
	for tid, theirs := range stacks {
		total.inCrash = tid == int(crashed)
		if !total.inCrash && s.crashOnly {
			continue
		}
		stack, _ := w.WalkStack(unwind.ThreadID(tid))
		c.stack(stack.Frames, theirs)
	}
	return total
}

// gdbFailure says why gdb 13 does not come to the end with a subject.
func gdbFailure(subject string) string {
	switch {
	case subject == "amd64-split-dwp", subject == "amd64-vars-c-dwp-O1", strings.HasSuffix(subject, "-dwarf5-dwp"):
		return "it dies of a segmentation fault while it reads a package of DWARF 5"
	case subject == "amd64-split-dwarf":
		return "it looks for the .dwo file only where that was built"
	}
	return ""
}

// A comparison is that of one core with gdb.
type comparison struct {
	t     *testing.T
	s     *subject
	r     *dwarfvars.Reader
	total *parity
}

// alone compares a stack of which gdb says nothing with the program's printout.
func (c *comparison) alone(frames []*unwind.Frame) {
	eachVariable(c.r, frames, func(function, name, text string) {
		switch how := c.s.printed.check(function, name, text); {
		case !hasValue(text):
		case how == proved:
			c.total.proved++
		case how == disproved && debugInformationIsWrong(c.s.name, function, name) == "":
			c.t.Errorf("%s: %s = %s\n  the program printed %s", function, name, text, c.s.printed[baseName(function)+"."+name])
		}
	})
}

// stack compares the frames of one stack.
func (c *comparison) stack(frames []*unwind.Frame, theirs []gdbFrame) {
	var group []gdbFrame
	physical := 0
	for i, f := range theirs {
		if f.Kind == "tail" {
			group = nil
			continue
		}
		group = append(group, f)
		if f.Kind == "inline" {
			continue
		}
		if physical >= len(frames) || frames[physical].RA() != f.PC {
			c.total.uncompared += len(theirs) - i
			return // the walks differ: another test's business
		}
		c.frame(frames, physical, group)
		c.total.frames += len(group)
		physical++
		group = nil
	}
}

func (c *comparison) frame(frames []*unwind.Frame, n int, group []gdbFrame) {
	a, err := c.r.At(frames, n)
	if err != nil {
		for _, g := range group {
			if len(g.Vars) > 0 {
				c.t.Errorf("frame %d %s: %v; gdb has %v", n, g.Function, err, g.Vars)
			}
		}
		return
	}
	defer a.Close()
	scopes := a.Live()
	if len(scopes) != len(group) {
		c.t.Logf("frame %d: %d scopes, gdb has %d", n, len(scopes), len(group))
		c.total.verdicts["gdb has other inlined calls"]++
		return
	}
	for i, g := range group {
		c.scope(fmt.Sprintf("%s #%d %s", c.s.name, n, g.Function), a, scopes[i], g)
	}
}

func (c *comparison) scope(where string, a *dwarfvars.Activation, s *dwarfvars.Scope, g gdbFrame) {
	ours := map[string][]string{}
	for _, list := range [][]*dwarfvars.LocalVar{s.Params, s.Locals} {
		for _, v := range list {
			ours[v.Name] = append(ours[v.Name], a.Read(v, dwarfvars.Options{}).String())
		}
	}
	for _, v := range g.Vars {
		have := ours[v.Name]
		if len(have) == 0 {
			verdict := "missing"
			switch {
			case undeclared(where, v.Name):
				verdict = notDeclared
			case notationOf(where) == "ada" && strings.HasPrefix(v.Name, "<"):
				verdict = "gdb lists what the compiler made for itself"
			}
			c.count(verdict, where, v.Name, "", v.Text)
			continue
		}
		ours[v.Name] = have[1:]
		c.count(c.verdict(where, s.Function, have[0], v), where, v.Name, have[0], v.Text)
	}
	for name, left := range ours {
		for _, text := range left {
			verdict := moreThanGDB
			if hasValue(text) && c.s.printed.check(s.Function, name, text) == disproved && debugInformationIsWrong(c.s.name, s.Function, name) == "" {
				verdict = "not what the program printed"
			}
			c.count(verdict, where, name, text, "")
		}
	}
}

func (c *comparison) count(verdict, where, name, ours, theirs string) {
	c.total.count(verdict, where, name, ours, theirs)
	if unexplained[verdict] {
		c.t.Errorf("%s: %s: %s\n  ours %s\n  gdb  %s\n  printed %s", where, name, verdict, ours, theirs, c.printed(where, name))
	} else if *showAll {
		c.t.Logf("%s: %s: %s: %s | %s", where, name, verdict, ours, theirs)
	}
}

// printed is what the program printed of a variable, for a message.
func (c *comparison) printed(where, name string) []string {
	_, function, _ := strings.Cut(where, " #")
	_, function, _ = strings.Cut(function, " ")
	return c.s.printed[baseName(function)+"."+name]
}

// Verdicts on a variable. Those of unexplained fail the test.
const (
	same        = "same"
	sameRaw     = "same as gdb without its printers"
	sameMisled  = "same, but not what the program printed"
	misledHere  = "the debug information is wrong; gdb has no value"
	better      = "gdb has no value; corewalk's is proved"
	otherwise   = "gdb has no printer for it; corewalk's value is proved"
	wrongThere  = "gdb shows something else; corewalk's value is proved"
	notSoThere  = "gdb's value is disproved; corewalk has none"
	moreThanGDB = "gdb does not list it"
)

var unexplained = map[string]bool{
	"missing": true, "differs": true, "no value": true, "gdb has no value; corewalk's is not proved": true,
	"not what the program printed": true,
}

// verdict compares one variable with gdb, and with the program's printout.
func (c *comparison) verdict(where, function, ours string, v gdbVar) string {
	notation := notationOf(c.s.name)
	verdict := compareValues(notation, ours, v.Text)
	if verdict != same && v.Raw != "" && compareValues(notation, ours, v.Raw) == same {
		verdict = sameRaw
	}
	truth := unprinted
	if hasValue(ours) {
		truth = c.s.printed.check(function, v.Name, ours)
	}
	switch {
	case truth == disproved && (verdict == same || verdict == sameRaw):
		return sameMisled
	case truth == disproved && debugInformationIsWrong(c.s.name, function, v.Name) != "":
		return misledHere
	case truth == disproved:
		return "not what the program printed"
	case verdict == same || verdict == sameRaw:
		if truth == proved {
			c.total.proved++
		}
		return verdict
	case truth == proved:
		c.total.proved++
		switch {
		case verdict == "no text":
			return better
		case notation != "":
			return otherwise
		}
		return wrongThere
	}
	if why := knownDifference(where, v, ours); why != "" {
		return why
	}
	if !hasValue(ours) && c.s.printed.check(function, v.Name, v.Text) == disproved {
		return notSoThere
	}
	if verdict == "no text" {
		return "gdb has no value; corewalk's is not proved"
	}
	return verdict
}

// peerDifferences are variables that no printout holds of which gdb 13 shows less,
// or what is not so. ours is the text that is right.
var peerDifferences = []struct{ where, name, ours, why string }{
	{"rust-segv #0 wild::Ring::sum", "iter", "", "corewalk shows the part that is known"},
	{"rust-unwrap #", "lines", `^(&\[alloc::string::String\]|Vec)\(size=2\) = \["some words", "  "\]$`, "gdb has no printer for it"},
	{"omitted #4 passed::corner", "matrix", `^<length not known: optimised out>$`, "gdb reads bounds that the caller never wrote"},
	{"omitted #4 passed::corner", "column", `^\{11, 22, 33\}$`, "gdb reads a size of elements that the caller never wrote; the sum is of these"},
	{"passed-O2 #5 third", "half", `^2\.25$`, "gdb does not restore floating-point registers from signal frames"},
	{"kept-clang-O2 #", "p", `^0x7ffc710e0924$`, "gdb shows what a callee left in a register"},
	{"threads #1 worker", "arg", `^0x(4|9|e|13|18|1d|22|27|2c|31)$`, keptByCode},
	{"threads #1 worker", "i", `^[1-4]?[49]$`, keptByCode},
	{"passed-deep-O2 #", "c", `^0x7fff07e8c22c$`, keptByCode},
	{"passed-deep-O2 #", "row", `^7$`, keptByCode},
	{"passed-deep-O2 #", "left", `^[1-9][0-9]*$`, "gdb follows values on entry through 256 expressions only"},
	{"runtime.sigtrampgo", "sig", `^6$`, "gdb shows what a callee left in a register"},
	{"runtime.sigtrampgo", "info", `^0x[0-9a-f]+[37bf]0$`, "gdb shows what a callee left in a register"},
	{"runtime.sigtrampgo", "ctx", `^0x[0-9a-f]+[048c]0$`, "gdb shows what a callee left in a register"},
	{"go-nil #14 main.drain", "n", `^3$`, "gdb shows what a callee left in a register"},
	{"go-nil #14 main.drain", "q", `^0x3b8a64406f30(?:: .*)?$`, "gdb shows what a callee left in a register"},
	{"go-nil #", "parked", `^chan int \(len 0, cap 0\)$`, "gdb has no printer for it"},
	{"runtime.gopanic", "e", `^\(runtime\.errorString\) "invalid memory address or nil pointer dereference"`, "gdb has no printer for it"},
	{"runtime.gopanic", "p", `\{arg = \(string\) "runtime error: invalid memory address or nil pointer dereference"`, "gdb has no printer for it"},
	{"go-nil #12 main.drain", "q", `^0x3b8a64406f30(?:: .*)?$`, keptOnStack},
	{"go-nil #12 main.drain", "n", `^3$`, keptOnStack},
	{" runtime.sigtrampgo", "info", `^0x[0-9a-f]+5b0$`, keptOnStack}, // behind ctx, a struct ucontext of 304 bytes
	{" runtime.sigtrampgo", "ctx", `^0x[0-9a-f]+480$`, keptOnStack},
	{"unbounded #4 unbounded.look", "g", `^\{\{1, 2, 3\}, \{4, 5, 6\}\}$`, "gdb reads the bound of the second dimension where there is none"},
	{"unbounded #4 unbounded.look", "d", `^\{1\.5, 2\.5\}$`, "gdb writes the index of the first element"},
	{"unbounded #4 unbounded.look", "null_text", `^null$`, accessToArray},
	{"unbounded #4 unbounded.look", "w", `^"wide"$`, accessToArray},
	{"unbounded #4 unbounded.look", "last", `^\{\{1, 2, 3\}, \{4, 5, 6\}\}$`, accessToArray},
	{"unbounded #4 unbounded.look", "t", `^\{"one", null\}$`, accessToArray},
	{"unbounded #4 unbounded.look", "r", `^@0x56360ac4a080: \{t = "one", g = \{\{1, 2, 3\}, \{4, 5, 6\}\}\}$`, accessToArray},
	{"raised-task #4 raised_task", "worker", `^\{_task_id = 0x[0-9a-f]+\}$`, "gdb shows no task"},
	{"switched-inside #1 middle", "f", `^0x0$`, "gdb takes the frame before for a signal's"}, // main passes 0 for it
	{"pascal", "open", `^\{"zero", "one"\}$`, "gdb takes the descriptors of the elements for the elements"},
	{"pascal", "cur", `^12\.34$`, pascalWord}, {"pascal", "CUR", `^12\.34$`, pascalWord},
	{"pascal", "wb", `^true$`, pascalWord}, {"pascal", "WB", `^true$`, pascalWord},
	{"pascal", "f", `^0x401100 <SHOP\.TWICE`, pascalFunction}, {"pascal", "F", `^0x401100 <SHOP\.TWICE`, pascalFunction},
	{"pascal", "m", `^\{Proc = 0x401120 <SHOP\.TCIRCLE\.CRASH`, pascalFunction}, {"pascal", "M", `^\{Proc = 0x401120 <SHOP\.TCIRCLE\.CRASH`, pascalFunction},
	{"pascal", "none", `^0x0$`, pascalFunction}, {"pascal", "NONE", `^0x0$`, pascalFunction},
	{"pascal-dwarf2", "SHORT", `^"short"$`, "gdb takes it for a name of a type"}, {"pascal-dwarf2", "U", `^0x427050 <.*> "uni"$`, "gdb has no name for the constant"},
	{"objc-clang #", "_cmd", `^0x[0-9a-f]+ <\.objc_selector_list\+[0-9]+>$`, "gdb leaves the point of a name out"},
	{"nim #1 crash", "T9_", `^\{\{len = 513, `, "gdb writes the names of clones otherwise"},
	{"musl-tls #0 break_down", "each", `^17$`, "gdb finds no thread-local storage under musl"},
	{"musl-tls #1 main", "own", `^3$`, "gdb finds no thread-local storage under musl"},
}

// unprintedByGDB are programs of languages that gdb does not know: it takes them for C and shows what their values are made of, structures, addresses and
// characters, which madeOfParts tells from other values.
var (
	unprintedByGDB = regexp.MustCompile(`amd64-(nim|nim-values|crystal|zig) #`)
	madeOfParts    = regexp.MustCompile(`^(\{|0x|[0-9]+ ')`)
)

// Why gdb shows something else of what Free Pascal describes by a name alone: money is counted in ten thousandths, and all bits of a
// true LongBool are set; variables that hold a function have the type of the function itself.
const (
	pascalWord     = "gdb does not know what the type means"
	pascalFunction = "gdb takes the variable for the function"
)

// accessToArray is why gdb shows a number of Ada where corewalk shows an array.
const accessToArray = "gdb does not follow an access to an array"

// notDeclared is why gdb lists more variables of Go: their blocks begin before their declarations.
const notDeclared = "gdb shows a variable whose declaration has not run"

// undeclared reports whether a frame is where the declaration of a variable waits for a call, by the source.
func undeclared(where, name string) bool {
	return strings.HasSuffix(where, " main.values") && name == "got"
}

// keptOnStack is why gdb shows something else of a variable of Go that is on the stack from the return address on: it looks at the place
// that the variable had before the call, a register that calls do not keep.
const keptOnStack = "gdb shows what a callee left in a register"

// keptByCode is why gdb has no value on entry where the source says what it was: it looks at the
// call only.
const keptByCode = "a register still holds what it held on entry: the function's code has not changed it"

// misled are variables whose debug information leads to what is not their value:
// it says where they live, and the compiler stores nothing there. gdb shows the
// same, or would if it read parts.
var misled = []struct {
	subject  *regexp.Regexp
	variable string
	why      string
}{
	{gccOptimised, "owners.both", "nothing of the object that owners reads is stored: its values are known"},
	{gccOptimised, "owners.moved", "as both"},
	{gccOptimised, "method.both", "as owners.both"},
	{gccOptimised, "containers.pile", "the end of the queue stays in registers"},
	{clangOptimised, "containers.bits", "its parts are said to be the zeros of its construction"},
}

var (
	gccOptimised   = regexp.MustCompile(`^amd64-vars-cxx-(split-)?O2|-cxx-gcc-O2`)
	clangOptimised = regexp.MustCompile(`-cxx-clang-.*O[12]|-cxx-libcxx-O2`)
)

// debugInformationIsWrong says why a value is not what the source says although
// the debug information is read as it is; "" when nothing is known.
func debugInformationIsWrong(subject, function, name string) string {
	for _, m := range misled {
		if m.subject.MatchString(subject) && m.variable == baseName(function)+"."+name {
			return m.why
		}
	}
	return ""
}

// callerSaved are the registers that calls do not preserve; those of Go preserve
// none.
var (
	callerSaved = regexp.MustCompile(`^<(rax|rcx|rdx|rsi|rdi|r8|r9|r10|r11|[xs]t?mm\d+|xmm\d+) not recovered>$`)
	anyRegister = regexp.MustCompile(`^<\w+ not recovered>$`)
)

// What a std::function calls, in our text and in gdb's.
var (
	calling = regexp.MustCompile(`^@?[^"]* calling (0x[0-9a-f]+) `)
	invoked = regexp.MustCompile(`_M_invoker = (?:\(.*\) )?(0x[0-9a-f]+) `)
)

// wrapperWords are the values of the fixture cxx-wrappers in our words and in gdb's: the same
// values, as its source has them.
var wrapperWords = map[string][2]string{
	"number": {"std::any containing int", "std::any containing int = {[contained value] = 42}"},
	"text": {"std::any containing std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
		`std::any containing std::string = {[contained value] = "hello"}`},
	"nothing": {"std::any [no contained value]", "std::any [no contained value]"},
	"count":   {"7", "std::atomic<int> = { 7 }"},
	"ready":   {"true", "std::atomic<bool> = { true }"},
	"where":   {"0x0", "std::atomic<int *> = { 0x0 }"},
	"bits":    {"0000001011", "std::bitset = {[0] = 1, [1] = 1, [3] = 1}"},
	"many":    {"1000000000000000000000000000000000000000000000000000000000000000000101", "std::bitset = {[0] = 1, [2] = 1, [69] = 1}"},
	"path":    {`"/usr/lib/libx.so"`, `filesystem::path "/usr/lib/libx.so" = {[root-directory] = "/", [1] = "usr", [2] = "lib", [3] = "libx.so"}`},
	"wait":    {"1500ms", "{__r = 1500}"},
	"day":     {"24h", "{__r = 24}"},
	"exact":   {"2.5ms", "{__r = 2.5}"},
	"frames":  {"3 times 1/60 s", "{__r = 3}"},
	"date":    {"2025-11-22 14:00:00 UTC", "{__d = {__r = 1763820000000000000}}"},
	"before":  {"1969-12-31 23:59:59 UTC", "{__d = {__r = -1}}"},
	"since":   {"12000000ns since the start of std::chrono::_V2::steady_clock", "{__d = {__r = 12000000}}"},
}

// libraryFixtures have classes of libraries that gdb shows as their members. Their golden reports
// were read against their sources.
var libraryFixtures = []string{"amd64-absl", "amd64-boost", "amd64-cxx-errors", "amd64-glib", "amd64-glib-described", "amd64-qt5", "amd64-qt6"}

// knownDifference says why a difference that no printout decides is one where gdb
// is not right; "" when it is none.
func knownDifference(where string, v gdbVar, ours string) string {
	if unprintedByGDB.MatchString(where) && madeOfParts.MatchString(v.Text) {
		return "gdb shows what the compiler made of the language's values"
	}
	for _, d := range peerDifferences {
		if strings.Contains(where, d.where) && d.name == v.Name && regexp.MustCompile(d.ours).MatchString(ours) {
			return d.why
		}
	}
	if w := wrapperWords[v.Name]; strings.Contains(where, "amd64-cxx-wrappers ") && w == [2]string{ours, v.Text} {
		return "the value in other words, as the source has it"
	}
	for _, f := range libraryFixtures {
		switch {
		case !strings.Contains(where, f+" "):
		case v.Text == "<incomplete type>" && strings.HasPrefix(ours, "<incomplete type "):
			return "only the library's debugging information has the type"
		case strings.HasPrefix(v.Text, "std::error_co") && !strings.HasPrefix(ours, "{"):
			return "corewalk tells the category of an error"
		case v.Name == "longer" && v.Text == "":
			return "gdb stops at a string whose first member is only declared"
		case (strings.HasPrefix(v.Text, "{") || strings.HasPrefix(ours, v.Text+" ")) && !strings.Contains(ours, "<corrupt"):
			return "gdb has no printer for it"
		}
	}
	called := calling.FindStringSubmatch(ours)
	invoker := invoked.FindStringSubmatch(v.Text)
	switch {
	case callerSaved.MatchString(ours), notationOf(where) == "go" && anyRegister.MatchString(ours):
		return "gdb shows what a callee left in a register"
	case called != nil && invoker != nil && called[1] == invoker[1]:
		return "corewalk shows what a std::function calls; gdb's text contains it"
	case strings.Contains(ours, "<memory not in the dump: "):
		return "gdb reads zeros where the core has no memory"
	}
	return ""
}

// compareValues says how two texts of a value compare.
func compareValues(notation, ours, theirs string) string {
	a, b := normal(ours), normal(theirs)
	if notation == "rust" {
		a, b = strings.ReplaceAll(plain(normalRust(a)), "@0x", "0x"), normalRust(b)
	}
	if notation == "fortran" || notation == "ada" {
		// gdb names enumerators without their package, and leaves out where a parameter by reference is.
		a, b = strings.NewReplacer("packing__", "", "'", `"`).Replace(byReference.ReplaceAllString(a, "{")), normal(inBraces(theirs))
	}
	if notation == "pascal" {
		a, b = strings.ReplaceAll(a, `"`, "'"), strings.ReplaceAll(normal(theirs), `"`, "'")
	}
	unknown := strings.HasPrefix(b, "<optimized out>") || strings.HasPrefix(b, "<error:") || strings.HasPrefix(b, "<error reading") || strings.HasPrefix(b, "<synthetic") ||
		strings.HasPrefix(b, "<no memory>")
	switch {
	case a == b, plain(a) == plain(b):
		return same
	case a == "(synthetic pointer)" && unknown: // neither has an address nor what is there
		return same
	case strings.HasPrefix(a, "<") && unknown:
		return same
	case unknown:
		return "no text"
	case strings.HasPrefix(a, "<"):
		return "no value"
	}
	return "differs"
}

// notationOf tells languages and libraries that gdb has no printers for.
func notationOf(subject string) string {
	switch {
	case strings.Contains(subject, "-go"):
		return "go"
	case strings.Contains(subject, "-libcxx"):
		return "libcxx"
	case strings.Contains(subject, "-rust-"):
		return "rust"
	case strings.Contains(subject, "-sections"), strings.Contains(subject, "-fortran-"), strings.Contains(subject, "-omitted"):
		return "fortran"
	case strings.Contains(subject, "-pascal"):
		return "pascal"
	case strings.Contains(subject, "-packing"), strings.Contains(subject, "-raised-"), strings.Contains(subject, "-unbounded"):
		return "ada"
	}
	return ""
}

// adaIndex is the index of an element, which gdb writes where the first is not 1.
var adaIndex = regexp.MustCompile(`\b\d+ => `)

var byReference = regexp.MustCompile(`^@0x[0-9a-f]+: \{`)

// adaZeros are zeros at the end of a string of Ada, which we leave out.
var adaZeros = regexp.MustCompile(`(?:\["00"\])+"|", '\["00"\]' <repeats \d+ times>`)

// inBraces is gdb's text of a value of Fortran or Ada in the notation of C.
func inBraces(text string) string {
	text = adaZeros.ReplaceAllString(adaIndex.ReplaceAllString(text, ""), `"`)
	text = strings.ReplaceAll(text, "(system.address) ", "")
	return strings.NewReplacer("( ", "{", " )", "}", " => ", " = ", ") (", "}, {", "(", "{", ")", "}", "'", `"`, "<not allocated>", "not allocated", "<not associated>", "not associated").Replace(text)
}
