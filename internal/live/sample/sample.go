// Package sample gathers stacks of a running process over time and writes them
// down merged: as a call tree, in the folded form that flame graphs are drawn
// from, and as a profile.proto. Where stacks come from, and what stops the
// process meanwhile, is the caller's business.
package sample

import (
	"context"
	"encoding/binary"
	"time"
)

// A Call is one function activation of source code at an address. Names are written
// as they are: on one line, and without what would disturb a terminal.
type Call struct {
	Name       string // as shown to people
	SystemName string // as the linker sees it; "" when the same
	File       string // "" when not known
	Line       int    // 0 when not known
}

// A Module is a mapped file that addresses lie in.
type Module struct {
	Path, BuildID      string
	Start, End, Offset uint64 // of the mapping; Offset in the file, bytes
}

// A Place is what is known of an address: the calls there, innermost first, at
// least one; and its module, nil when it is in none.
type Place struct {
	Addr   uint64
	Calls  []Call
	Module *Module
}

// A Stack is what one thread was doing at one time.
type Stack struct {
	Thread string   // the thread's name
	Addrs  []uint64 // addresses to look up, youngest first
}

// maxStacks bounds the different stacks kept; those beyond it are counted in
// Profile.Dropped.
const maxStacks = 1 << 18

// maxAddrs bounds the addresses of all different stacks together.
const maxAddrs = 1 << 26

// A Profile is stacks merged. It belongs to one goroutine.
type Profile struct {
	Period   time.Duration // wanted between samples
	Start    time.Time
	Duration time.Duration
	Samples  int // how many times the process was looked at
	Stacks   int // stacks seen, of all threads
	Dropped  int // of these not kept, for there were too many different ones
	Missed   int // samples not taken, for the one before took too long
	Pauses   []time.Duration
	Program  *Module // the main program; nil when it is not known

	resolve func(addr uint64) Place
	places  map[uint64]*Place
	index   map[string]int
	kept    []merged
	addrs   int
}

// merged is one stack, and how often it was seen.
type merged struct {
	thread string
	places []*Place // youngest first
	count  int
}

// New begins a profile. resolve is asked once for each address.
func New(period time.Duration, resolve func(addr uint64) Place) *Profile {
	return &Profile{Period: period, Start: time.Now(), resolve: resolve, places: map[uint64]*Place{}, index: map[string]int{}}
}

// Add counts a stack.
func (p *Profile) Add(s Stack) {
	p.Stacks++
	key := make([]byte, 0, len(s.Thread)+1+8*len(s.Addrs))
	key = append(append(key, s.Thread...), 0)
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
	m := merged{thread: s.Thread, count: 1, places: make([]*Place, len(s.Addrs))}
	for i, a := range s.Addrs {
		m.places[i] = p.place(a)
	}
	p.index[string(key)] = len(p.kept)
	p.kept = append(p.kept, m)
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

// Collect calls take every Period until ctx is done or the time is up (0: until
// ctx is done), and adds what it answers. pause is how long take kept the process
// from running. When take fails, so does Collect; what was gathered stays.
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
