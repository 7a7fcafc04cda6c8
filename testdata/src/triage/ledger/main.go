// set: unseen
// A ledger with accounts in a tree, plug-in exporters and a journal that goroutines write.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sort"
	"strings"
	"sync"
	"time"
)

type account struct {
	name     string
	parent   *account
	children []*account
	amounts  map[string]int64
	meta     interface{}
}

type exporter interface {
	export(a *account) string
}

type csv struct{ sep string }

func (c *csv) export(a *account) string { return a.name + c.sep }

type ledger struct {
	mu       sync.Mutex
	accounts map[string]*account
	out      exporter
	journal  chan string
	rates    []int64
	onPost   func(string, int64)
}

func newLedger() *ledger {
	return &ledger{accounts: map[string]*account{}, journal: make(chan string, 4), rates: []int64{1, 2, 3}}
}

func (l *ledger) open(name string, parent *account) *account {
	a := &account{name: name, parent: parent, amounts: map[string]int64{}}
	if parent != nil {
		parent.children = append(parent.children, a)
	}
	l.accounts[name] = a
	return a
}

// bug: post-unknown 2 (post does not expect a name without an account)
func (l *ledger) post(name, currency string, cents int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[name]
	a.amounts[currency] += cents
}

func (l *ledger) postAll(lines []string) int {
	n := 0
	for _, line := range lines {
		f := strings.Fields(line)
		l.post(f[0], f[1], int64(len(line)))
		n++
	}
	return n
}

// bug: no-amounts 2 (an account that was copied has no map)
func (a *account) set(currency string, cents int64) { a.amounts[currency] = cents }

func (a *account) copyOf() *account { return &account{name: a.name + "'", parent: a.parent} }

func move(from, to *account, currency string, cents int64) {
	from.set(currency, -cents)
	to.set(currency, cents)
}

// bug: rate-index 2 (the day is not checked)
func (l *ledger) rate(day int) int64 { return l.rates[day] }

func (l *ledger) average(from, to int) int64 {
	var sum int64
	for d := from; d < to; d++ {
		sum += l.rate(d)
	}
	return sum / int64(to-from)
}

// bug: share-of-nothing 2 (no accounts, no share)
func (l *ledger) share(cents int64, n int) int64 { return cents / int64(n) }

func (l *ledger) split(cents int64, names ...string) map[string]int64 {
	out := map[string]int64{}
	s := l.share(cents, len(names))
	for _, n := range names {
		out[n] = s
	}
	return out
}

// bug: endless-parents 2 (a circle of parents)
func (a *account) path() string {
	if a.parent == nil {
		return a.name
	}
	return a.parent.path() + ":" + a.name
}

func report(list []*account) string {
	sort.Slice(list, func(i, j int) bool { return list[i].path() < list[j].path() })
	return list[0].name
}

// bug: meta-type 2 (what a user stored is asserted to be a string)
func (a *account) note() string { return a.meta.(string) }

func notes(list []*account) (out []string) {
	for _, a := range list {
		out = append(out, a.note())
	}
	return out
}

// bug: no-exporter 2 (no exporter was chosen)
func (l *ledger) export(a *account) string { return l.out.export(a) }

func (l *ledger) exportTree(a *account) string {
	s := l.export(a)
	for _, c := range a.children {
		s += l.exportTree(c)
	}
	return s
}

// bug: typed-nil 1 (chooses an exporter that is a nil pointer)
func (l *ledger) choose(format string) {
	var c *csv
	if format == "csv" {
		c = &csv{";"}
	}
	l.out = c
}

// bug: closed-twice 2 (finish does not know that the journal was closed)
func (l *ledger) finish() { close(l.journal) }

func (l *ledger) flush(wait time.Duration) {
	l.journal <- "flush"
	time.Sleep(wait)
	l.finish()
}

var errUnbalanced = errors.New("the ledger does not balance")

// bug: unbalanced 2 (ends the program with an error value)
func (l *ledger) mustBalance(currency string) {
	var sum int64
	for _, a := range l.accounts {
		sum += a.amounts[currency]
	}
	if sum != 0 {
		panic(errUnbalanced)
	}
}

func (l *ledger) closeYear(y int) string {
	for _, c := range []string{"eur", "usd"} {
		l.mustBalance(c)
	}
	return fmt.Sprint(y)
}

// bug: odd-year 1 (another panic of its own)
func (l *ledger) openYear(y int) int {
	if y < 1990 {
		panic(fmt.Sprintf("year %d is before the ledger", y))
	}
	return y
}

// bug: nobody-reads 2 (record writes more than the journal takes; nobody reads)
func (l *ledger) record(s string) { l.journal <- s }

func (l *ledger) recordAll(n int) {
	for i := 0; i < n; i++ {
		l.record(fmt.Sprint(i))
	}
}

// bug: no-callback 2 (onPost is optional)
func (l *ledger) notify(name string, cents int64) int64 {
	l.onPost(name, cents)
	return cents
}

func (l *ledger) notifyLater(name string) {
	done := make(chan int64)
	go func() { done <- l.notify(name, 3) + 1 }()
	<-done
}

// Callers give an account.
func depth(a *account) int {
	n := 0
	for p := a.parent; p != nil; p = p.parent {
		n++
	}
	return n
}

// bug: depth-of-missing 1 (its own mistake)
func (l *ledger) indent(name string) string {
	return strings.Repeat(" ", depth(l.accounts[name])) + name
}

// bug: depth-of-parent 1 (a root has no parent)
func (l *ledger) above(a *account) int {
	fmt.Fprintln(os.Stderr, "above", a.name)
	return depth(a.parent) + 1
}

func main() {
	debug.SetMaxStack(1 << 17)
	bug, path := "", "a"
	if len(os.Args) > 1 {
		bug = os.Args[1]
	}
	if len(os.Args) > 2 {
		path = os.Args[2]
	}
	l := newLedger()
	root := l.open("assets", nil)
	cash := l.open("cash", root)
	n := len(os.Args)
	switch bug + " " + path {
	case "post-unknown a":
		l.post("debts", "eur", 5)
	case "post-unknown b":
		l.postAll([]string{"cash eur", "loans usd"})
	case "no-amounts a":
		cash.copyOf().set("eur", 3)
	case "no-amounts b":
		move(root, cash.copyOf(), "usd", 2)
	case "rate-index a":
		fmt.Println(l.rate(n + 4))
	case "rate-index b":
		fmt.Println(l.average(n-3, n+5))
	case "share-of-nothing a":
		fmt.Println(l.share(10, n-3))
	case "share-of-nothing b":
		fmt.Println(l.split(100, os.Args[n:]...))
	case "endless-parents a":
		root.parent = cash
		fmt.Println(cash.path())
	case "endless-parents b":
		root.parent = root
		fmt.Println(report([]*account{cash, root}))
	case "meta-type a":
		cash.meta = n
		fmt.Println(cash.note())
	case "meta-type b":
		root.meta, cash.meta = "x", []string{"y"}
		fmt.Println(notes([]*account{root, cash}))
	case "no-exporter a":
		fmt.Println(l.export(cash))
	case "no-exporter b":
		fmt.Println(l.exportTree(root))
	case "typed-nil a":
		l.choose("json")
		fmt.Println(l.exportTree(root))
	case "closed-twice a":
		l.finish()
		l.finish()
	case "closed-twice b":
		go l.finish()
		time.Sleep(20 * time.Millisecond)
		func() {
			defer func() { recover() }()
			l.flush(0)
		}()
		l.finish()
	case "unbalanced a":
		l.post("cash", "eur", 5)
		l.mustBalance("eur")
	case "unbalanced b":
		l.post("cash", "usd", 5)
		fmt.Println(l.closeYear(2020))
	case "odd-year a":
		fmt.Println(l.openYear(n))
	case "nobody-reads a":
		l.recordAll(9)
	case "nobody-reads b":
		for i := range 6 {
			l.record(fmt.Sprint("row ", i))
		}
	case "no-callback a":
		fmt.Println(l.notify("cash", 4))
	case "no-callback b":
		l.notifyLater("cash")
	case "depth-of-missing a":
		fmt.Println(l.indent("nothing"))
	case "depth-of-parent a":
		fmt.Println(l.above(root))
	}
}
