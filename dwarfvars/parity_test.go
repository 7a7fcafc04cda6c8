package dwarfvars_test

import (
	"fmt"
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
	"gdb is wrong",
	"gdb takes what a callee left in a register",
	"gdb reads zeros where the core has nothing",
}

// A parity is how the variables of some fixtures compare with gdb's.
type parity struct {
	verdicts    tally
	causes      []string // a line for each difference
	crash       coverage // frames of the threads that died
	every       coverage // frames of every thread
	frames      int      // compared
	uncompared  int      // frames of gdb's from where the two walks differ
	unexplained int

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
	switch verdict {
	case "same":
		return
	case "differs", "no value", "missing":
		p.unexplained++
	}
	p.causes = append(p.causes, fmt.Sprintf("%s: %s: %s: %s | gdb %s", verdict, where, name, short(ours), short(theirs)))
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
func (p *parity) agreeing() (same, all int) {
	for verdict, n := range p.verdicts {
		if verdict != "more than gdb" {
			all += n
		}
	}
	return p.verdicts["same"], all
}

func (p *parity) add(o *parity) {
	for verdict, n := range o.verdicts {
		p.verdicts[verdict] += n
	}
	p.causes = append(p.causes, o.causes...)
	p.crash.add(o.crash)
	p.every.add(o.every)
	p.frames += o.frames
	p.uncompared += o.uncompared
	p.unexplained += o.unexplained
}

// groupOf names the row of the figures that a fixture belongs to: those made for
// their variables have one each.
func groupOf(fixture string) string {
	if _, vars, ok := strings.Cut(fixture, "-vars-"); ok {
		return vars
	}
	return "every other fixture"
}

// logParity prints the figures of each group and of all, and every difference
// with its cause.
func logParity(t *testing.T, groups map[string]*parity) *parity {
	t.Helper()
	total := newParity()
	var names []string
	for name, p := range groups {
		names = append(names, name)
		total.add(p)
	}
	sort.Strings(names)
	sort.Strings(total.causes)
	var b strings.Builder
	for _, cause := range total.causes {
		fmt.Fprintf(&b, "difference: %s\n", cause)
	}
	for _, name := range names {
		p := groups[name]
		same, all := p.agreeing()
		fmt.Fprintf(&b, "parity: %-20s %4d of %4d agree; %d frames, %d not compared; crash: %v; %v\n",
			name, same, all, p.frames, p.uncompared, p.crash, p.verdicts)
	}
	same, all := total.agreeing()
	fmt.Fprintf(&b, "parity: variables: %d of %d agree (%s), %d differ for a known cause, %d for none; %d frames, %d not compared\n",
		same, all, percent(same, all), all-same-total.unexplained, total.unexplained, total.frames, total.uncompared)
	fmt.Fprintf(&b, "parity: causes: %v\n", total.verdicts)
	fmt.Fprintf(&b, "parity: coverage of the crashing threads: %v\n", total.crash)
	fmt.Fprintf(&b, "parity: coverage of every thread: %v", total.every)
	t.Logf("\n%s", b.String())
	return total
}
