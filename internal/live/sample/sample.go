// Package sample collects stacks of a running process over time and writes them merged: as a call tree, in the
// folded format of flame graphs, and as a profile.proto. The caller provides the stacks and stops the process
// for them.
package sample

import (
	"context"
	"encoding/binary"
	"time"
)

// A Call is one function at an address, physical or inlined. Names are written unchanged, so they must be on
// one line and safe for a terminal.
type Call struct {
	Name       string // as shown to people
	SystemName string // linkage name; "" if the same
	File       string // "" if not known
	Line       int    // 0 if not known
}

// A Module is a mapped file that contains addresses.
type Module struct {
	Path, BuildID      string
	Start, End, Offset uint64 // of the mapping; Offset is in the file; bytes
}

// A Place is what is known of an address: its calls, innermost first, at least one; and its module, nil if it
// is in none.
type Place struct {
	Addr   uint64
	Calls  []Call
	Module *Module
}

// A Stack is what one thread or task was doing at one time.
type Stack struct {
	Thread string   // the thread's name; "" for what no thread runs
	Addrs  []uint64 // addresses to look up, youngest first
	// State is what it waits for, in words on one line, and is written as if it was its youngest function; "" if it runs.
	State  string
	Labels []Label // what the program says of it
}

// A Label is a key and its value.
type Label struct{ Key, Value string }

// maxStacks is how many different stacks are kept; Profile.Dropped counts the others.
const maxStacks = 1 << 18

// maxAddrs is how many addresses all different stacks may have together.
const maxAddrs = 1 << 26

// A Profile is a merged set of stacks. It is not safe for concurrent use.
type Profile struct {
	Period   time.Duration // interval between samples
	Start    time.Time
	Duration time.Duration
	Samples  int // number of samples
	Stacks   int // stacks seen in all threads
	Dropped  int // of these not kept, because there were too many different ones
	Missed   int // samples skipped because the one before took too long
	Pauses   []time.Duration
	Program  *Module // the main program; nil if not known

	resolve func(addr uint64) Place
	places  map[uint64]*Place
	states  map[string]*Place
	index   map[string]int
	kept    []merged
	addrs   int
}

// A merged is a stack, and how often it was seen.
type merged struct {
	thread string
	labels []Label
	places []*Place // youngest first
	count  int
}

// New starts a profile with one sample every period. It calls resolve once for each address.
func New(period time.Duration, resolve func(addr uint64) Place) *Profile {
	return &Profile{Period: period, Start: time.Now(), resolve: resolve, places: map[uint64]*Place{}, states: map[string]*Place{}, index: map[string]int{}}
}

// Add counts a stack.
func (p *Profile) Add(s Stack) {
	p.Stacks++
	key := make([]byte, 0, len(s.Thread)+len(s.State)+2+8*len(s.Addrs))
	key = append(append(key, s.Thread...), 0)
	key = append(append(key, s.State...), 0)
	for _, l := range s.Labels {
		key = append(append(append(append(key, l.Key...), 0), l.Value...), 0)
	}
	for _, a := range s.Addrs {
		key = binary.LittleEndian.AppendUint64(key, a)
	}
	if i, ok := p.index[string(key)]; ok {
		p.kept[i].count++
		return
	}
	if len(p.kept) >= maxStacks || p.addrs+len(s.Addrs) > maxAddrs {
		p.Dropped++
		return
	}
	p.addrs += len(s.Addrs)
	m := merged{thread: s.Thread, labels: s.Labels, count: 1, places: make([]*Place, 0, len(s.Addrs)+1)}
	if s.State != "" {
		m.places = append(m.places, p.state(s.State))
	}
	for _, a := range s.Addrs {
		m.places = append(m.places, p.place(a))
	}
	p.index[string(key)] = len(p.kept)
	p.kept = append(p.kept, m)
}

// state returns the place that stands for a wait: one without an address.
func (p *Profile) state(s string) *Place {
	if p.states[s] == nil {
		p.states[s] = &Place{Calls: []Call{{Name: "[" + s + "]"}}}
	}
	return p.states[s]
}

func (p *Profile) place(addr uint64) *Place {
	if pl := p.places[addr]; pl != nil {
		return pl
	}
	pl := p.resolve(addr)
	pl.Addr = addr
	p.places[addr] = &pl
	return &pl
}

// Collect calls take every Period and adds the stacks that it returns, until ctx is done or long has passed (0:
// until ctx is done). pause is how long take stopped the process. If take fails, Collect returns its error and
// keeps the stacks collected so far.
func (p *Profile) Collect(ctx context.Context, long time.Duration, take func() (stacks []Stack, pause time.Duration, err error)) error {
	if long > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, long)
		defer cancel()
	}
	defer func() { p.Duration = time.Since(p.Start) }()
	next := time.NewTimer(0)
	defer next.Stop()
	for due := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-next.C:
		}
		if ctx.Err() != nil {
			return nil
		}
		stacks, pause, err := take()
		if err != nil {
			return err
		}
		p.Samples++
		p.Pauses = append(p.Pauses, pause)
		for _, s := range stacks {
			p.Add(s)
		}
		due = due.Add(p.Period)
		if late := time.Since(due); late > 0 && p.Period > 0 {
			n := int(late/p.Period) + 1
			p.Missed += n
			due = due.Add(time.Duration(n) * p.Period)
		}
		next.Reset(time.Until(due))
	}
}
