package dwarfvars_test

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"testing"
)

// A coverage counts the variables shown with a value.
type coverage struct {
	all      int // variables that either of the two lists
	ours     int
	gdb      int
	gdbWrong int // of gdb's: known not to be the variable's value
}

func (c *coverage) add(o coverage) {
	c.all += o.all
	c.ours += o.ours
	c.gdb += o.gdb
	c.gdbWrong += o.gdbWrong
}

func (c coverage) String() string {
	return fmt.Sprintf("with a value %d (%s), gdb %d (%s; %d of them not so), of %d",
		c.ours, percent(c.ours, c.all), c.gdb, percent(c.gdb, c.all), c.gdbWrong, c.all)
}

func percent(n, all int) string {
	return fmt.Sprintf("%.1f%%", 100*float64(n)/float64(max(all, 1)))
}

// notSo are the causes for which what gdb shows is not the variable's value.
var notSo = []string{
	wrongThere,
	notSoThere,
	"gdb shows what a callee left in a register",
	notDeclared,
	"gdb reads zeros where the core has no memory",
}

// A parity is how the variables of some fixtures compare with gdb's.
type parity struct {
	verdicts    tally
	differences []difference
	crash       coverage // frames of the threads that died
	every       coverage // frames of every thread
	frames      int      // compared
	uncompared  int      // frames of gdb's from where the two walks differ
	unexplained int
	proved      int // values that are what the program printed

	inCrash bool // the stack now compared is of the thread that died
}

func newParity() *parity { return &parity{verdicts: tally{}} }

// count notes one variable: its verdict, and the two texts. An empty text is of a
// variable that is not listed.
func (p *parity) count(verdict, where, name, ours, theirs string) {
	p.verdicts[verdict]++
	one := coverage{all: 1}
	if hasValue(ours) {
		one.ours = 1
	}
	if hasValue(theirs) {
		one.gdb = 1
		if slices.Contains(notSo, verdict) {
			one.gdbWrong = 1
		}
	}
	p.every.add(one)
	if p.inCrash {
		p.crash.add(one)
	}
	if verdict == same || verdict == sameRaw {
		return
	}
	if unexplained[verdict] {
		p.unexplained++
	}
	p.differences = append(p.differences, difference{verdict, where, name, ours, theirs})
}

// A difference is a variable that the two do not show alike.
type difference struct {
	verdict      string // the cause
	where        string // "subject #frame function"
	name         string
	ours, theirs string
}

func (d difference) String() string {
	return fmt.Sprintf("%s: %s: %s: %s | gdb %s", d.verdict, d.where, d.name, short(d.ours), short(d.theirs))
}

func (d difference) subject() string {
	subject, _, _ := strings.Cut(d.where, " #")
	return subject
}

// variable is function.name.
func (d difference) variable() string {
	_, frame, _ := strings.Cut(d.where, " #")
	_, function, _ := strings.Cut(frame, " ")
	return baseName(function) + "." + d.name
}

// hasValue tells a value from words on why there is none.
func hasValue(text string) bool {
	return text != "" && !strings.HasPrefix(normal(text), "<")
}

func short(text string) string {
	const most = 72
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "..."
	}
	if text == "" {
		return "(not listed)"
	}
	return text
}

// agreeing is the number of variables of which both say the same, and of all
// that gdb lists.
func (p *parity) agreeing() (agree, all int) {
	for verdict, n := range p.verdicts {
		if verdict != moreThanGDB {
			all += n
		}
	}
	return p.verdicts[same] + p.verdicts[sameRaw] + p.verdicts[sameMisled], all
}

func (p *parity) add(o *parity) {
	for verdict, n := range o.verdicts {
		p.verdicts[verdict] += n
	}
	p.differences = append(p.differences, o.differences...)
	p.crash.add(o.crash)
	p.every.add(o.every)
	p.frames += o.frames
	p.uncompared += o.uncompared
	p.unexplained += o.unexplained
	p.proved += o.proved
}

const otherFixtures = "all other fixtures"

// groupOf names the row of the figures that a fixture belongs to: those made for
// their variables have one each.
func groupOf(fixture string) string {
	if madeForVariables(fixture) {
		return strings.TrimPrefix(fixture, "amd64-")
	}
	return otherFixtures
}

// logParity prints the figures of each group and of all, and every difference
// with its cause.
func logParity(t *testing.T, what string, groups map[string]*parity) *parity {
	t.Helper()
	total := newParity()
	var b strings.Builder
	for _, p := range groups {
		total.add(p)
	}
	for _, line := range lines(total.differences) {
		fmt.Fprintf(&b, "difference: %s\n", line)
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		p := groups[name]
		agree, all := p.agreeing()
		fmt.Fprintf(&b, "parity: %-20s %4d of %4d agree; %d proved; %d frames, %d not compared; crash: %v; %v\n",
			name, agree, all, p.proved, p.frames, p.uncompared, p.crash, p.verdicts)
	}
	agree, all := total.agreeing()
	fmt.Fprintf(&b, "parity: %s: %d of %d agree (%s), %d differ for a known cause, %d for none; %d proved; %d frames, %d not compared\n",
		what, agree, all, percent(agree, all), all-agree-total.unexplained, total.unexplained, total.proved, total.frames, total.uncompared)
	fmt.Fprintf(&b, "parity: %s: causes: %v\n", what, total.verdicts)
	fmt.Fprintf(&b, "parity: %s: coverage of the crashing threads: %v\n", what, total.crash)
	fmt.Fprintf(&b, "parity: %s: coverage of every thread: %v", what, total.every)
	t.Logf("\n%s", b.String())
	return total
}

func lines(differences []difference) []string {
	var list []string
	for _, d := range differences {
		list = append(list, d.String())
	}
	sort.Strings(list)
	return list
}

// A tally counts how values compare.
type tally map[string]int

func (n tally) String() string {
	all := 0
	for _, v := range n {
		all += v
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d variables:", all)
	for _, k := range slices.Sorted(maps.Keys(n)) {
		fmt.Fprintf(&b, " %s %d;", k, n[k])
	}
	return b.String()
}
