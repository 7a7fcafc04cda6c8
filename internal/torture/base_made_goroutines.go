package main

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/elffile"
)

// A goLiar is a core of a real program of Go whose runtime is made to lie.
type goLiar struct {
	core    []byte
	file    *elffile.File
	symbols map[string]uint64
	table   []byte // of program headers
	next    uint64 // where there is room
	parked  []byte // the structure of a goroutine that waits
}

// Places in the structures of Go 1.26, in bytes.
const (
	goSize     = 456
	goM        = 48
	goPC       = 64
	goStatus   = 144
	goID       = 152
	goReason   = 176
	goWaiting  = 320
	goLabels   = 352
	sudogSize  = 104
	sudogC     = 96
	sudogLink  = 72
	channelNow = 64 // recvq.first
	waitsChan  = 19 // waitReasonChanReceive of g.waitreason
)

func newGoLiar(t tb) (l *goLiar, c fixture.Case, err error) {
	err = caught(func() error {
		for _, c = range fixture.Cases(t) {
			if c.Name == "amd64-go-nil" {
				break
			}
		}
		core, err := readFile(c.Core(t))
		if err != nil {
			return err
		}
		program, err := readFile(c.Binary(t))
		if err != nil {
			return err
		}
		exe, err := elf.NewFile(bytes.NewReader(program))
		if err != nil {
			return err
		}
		symbols, err := exe.Symbols()
		if err != nil {
			return err
		}
		l = &goLiar{core: withoutZeros(core), symbols: map[string]uint64{}, next: liesAt}
		if l.file, err = elffile.Parse(l.core); err != nil {
			return err
		}
		for _, s := range symbols {
			l.symbols[s.Name] = s.Value
		}
		l.table = bytes.Clone(l.core[binary.LittleEndian.Uint64(l.core[32:]):][:56*len(l.file.Progs)])
		list, n := l.word(l.symbols["runtime.allgptr"]), l.word(l.symbols["runtime.allglen"])
		for i := range n {
			if g := l.at(l.word(list + 8*i)); binary.LittleEndian.Uint32(g[goStatus:]) == 1 || binary.LittleEndian.Uint32(g[goStatus:]) == 4 {
				l.parked = bytes.Clone(g[:goSize])
			}
		}
		return nil
	})
	return l, c, err
}

// withoutZeros is a core of 64 bits without the zeros at the ends of its segments, so that it is small and may cost little.
func withoutZeros(core []byte) []byte {
	le := binary.LittleEndian
	table := bytes.Clone(core[le.Uint64(core[32:]):][:56*int(le.Uint16(core[56:]))])
	out := bytes.Clone(core[:64])
	for p := table; len(p) > 0; p = p[56:] {
		off, size := le.Uint64(p[8:]), le.Uint64(p[32:])
		b := core[off : off+size]
		if le.Uint32(p) == elffile.PT_LOAD {
			b = bytes.TrimRight(b, "\x00")
			b = core[off:][:(len(b)+4095)&^4095]
		}
		for len(out)%4096 != 0 {
			out = append(out, 0)
		}
		le.PutUint64(p[8:], uint64(len(out)))
		le.PutUint64(p[32:], uint64(len(b)))
		out = append(out, b...)
	}
	le.PutUint64(out[32:], uint64(len(out)))
	return append(out, table...)
}

// at returns the bytes of the core from an address on.
func (l *goLiar) at(at uint64) []byte {
	off, _ := fileOffset(l.file, at)
	return l.core[off:]
}

func (l *goLiar) word(at uint64) uint64 { return binary.LittleEndian.Uint64(l.at(at)) }

// add gives the process memory, copies times the same bytes of the file.
func (l *goLiar) add(b []byte, copies int) uint64 {
	le := binary.LittleEndian
	for len(l.core)%4096 != 0 {
		l.core = append(l.core, 0)
	}
	off, at := uint64(len(l.core)), l.next
	for len(b)%4096 != 0 {
		b = append(b, 0)
	}
	l.core = append(l.core, b...)
	for range copies {
		l.table = le.AppendUint32(le.AppendUint32(l.table, elffile.PT_LOAD), elffile.PF_R|elffile.PF_W)
		for _, v := range []uint64{off, l.next, 0, uint64(len(b)), uint64(len(b)), 4096} {
			l.table = le.AppendUint64(l.table, v)
		}
		l.next += uint64(len(b))
	}
	l.next += 1 << 20
	return at
}

// goroutines makes the list of all goroutines: of these, n times.
func (l *goLiar) goroutines(list []byte, n uint64) {
	at := l.add(list, 1)
	le := binary.LittleEndian
	le.PutUint64(l.at(l.symbols["runtime.allgptr"]), at)
	le.PutUint64(l.at(l.symbols["runtime.allglen"]), n)
}

// some makes goroutines that differ in their numbers, of which each is changed; it returns their addresses.
func (l *goLiar) some(n int, change func(g []byte, at uint64)) (list []byte) {
	all := bytes.Repeat(l.parked, n)
	at := l.next
	le := binary.LittleEndian
	for i := range n {
		g := all[goSize*i:]
		le.PutUint64(g[goID:], uint64(i+100))
		le.PutUint64(g[goM:], 0)
		change(g, at+uint64(goSize*i))
		list = le.AppendUint64(list, at+uint64(goSize*i))
	}
	l.add(all, 1)
	return list
}

func (l *goLiar) bytes() []byte {
	le := binary.LittleEndian
	le.PutUint64(l.core[32:], uint64(len(l.core)))
	le.PutUint16(l.core[56:], uint16(len(l.table)/56))
	return append(l.core, l.table...)
}

// ramp is memory whose words lead to the next ones.
func (l *goLiar) ramp(size int) uint64 {
	at := l.next
	var b []byte
	for i := range uint64(size / 8) {
		b = binary.LittleEndian.AppendUint64(b, at+8*(i+1))
	}
	return l.add(b, 1)
}

// waiting has a goroutine wait for the channel that sudog says.
func waiting(g []byte, sudog uint64) {
	le := binary.LittleEndian
	le.PutUint32(g[goStatus:], 4)
	g[goReason] = waitsChan
	le.PutUint64(g[goWaiting:], sudog)
}

// madeGo are what the list of goroutines and what they wait for may say.
var madeGo = map[string]func(l *goLiar){
	"all are one": func(l *goLiar) {
		list := l.some(64, func([]byte, uint64) {})
		l.goroutines(bytes.Repeat(list[:8], 1<<23), 1<<26)
	},
	"all are in one page":            onePage,
	"all are in one page, explained": onePage,
	"all lie over one another, with other numbers": func(l *goLiar) {
		// Of each four words one is the end of a stack and the next number, one is in code and the beginning of a stack, and one is a state.
		le := binary.LittleEndian
		const n, step, stack = 500_000, 32, 1 << 20
		list := l.some(64, func([]byte, uint64) {})
		end := l.next + 1<<30
		b := make([]byte, n*step+goSize)
		for at := 0; at+step <= len(b); at += step {
			le.PutUint64(b[at:], le.Uint64(l.parked[goPC:]))
			le.PutUint64(b[at+8:], end+2*stack)
			le.PutUint64(b[at+16:], 1) // runnable
			le.PutUint64(b[at+24:], end+uint64(at/step)*8%stack)
		}
		at := l.add(b, 1)
		l.next = end
		l.add(bytes.Repeat(u64(l.symbols["runtime.goexit.abi0"]+1), 2*stack/8), 1)
		for i := range uint64(n) {
			list = le.AppendUint64(list, at+step*i)
		}
		l.goroutines(list, uint64(len(list)/8))
	},
	"labels of all": func(l *goLiar) {
		text := l.add(bytes.Repeat([]byte("label"), 1<<18), 1)
		pairs := l.add(bytes.Repeat(append(u64(text), u64(1<<20)...), 2*128), 1)
		labels := l.add(append(u64(pairs), u64(128)...), 1)
		change := func(g []byte, _ uint64) { binary.LittleEndian.PutUint64(g[goLabels:], labels) }
		list := l.some(20_000, change)
		l.goroutines(list, uint64(len(list)/8))
	},
	"channels with long queues": func(l *goLiar) {
		ramp := l.ramp(16 << 20)
		sudogs := make([]byte, 20_000*sudogSize)
		start := l.next
		first := start + 16<<20
		list := l.some(20_000, func(g []byte, at uint64) {
			i := (at - start) / goSize
			sudog := first + sudogSize*i
			waiting(g, sudog)
			binary.LittleEndian.PutUint64(sudogs[sudogSize*i:], at)
			binary.LittleEndian.PutUint64(sudogs[sudogSize*i+sudogC:], ramp+8*i)
		})
		l.next = first
		l.add(sudogs, 1)
		l.goroutines(list, uint64(len(list)/8))
	},
	"a select of one case after the other": func(l *goLiar) {
		channel := l.add(make([]byte, 4096), 1)
		first := l.next + 1<<21
		list := l.some(64, func(g []byte, at uint64) { waiting(g, first) })
		g := binary.LittleEndian.Uint64(list)
		l.next = first
		var sudogs []byte
		const n = 100_000
		for i := range uint64(n) {
			s := make([]byte, sudogSize)
			binary.LittleEndian.PutUint64(s, g)
			binary.LittleEndian.PutUint64(s[sudogC:], channel)
			binary.LittleEndian.PutUint64(s[sudogLink:], first+sudogSize*((i+1)%n))
			sudogs = append(sudogs, s...)
		}
		l.add(sudogs, 1)
		l.goroutines(list, uint64(len(list)/8))
	},
	"semaphores in a tree of all memory": func(l *goLiar) {
		ramp := l.ramp(32 << 20)
		table := l.at(l.symbols["runtime.semtable"])
		for i := range uint64(251) {
			binary.LittleEndian.PutUint64(table[64*i+8:], ramp+8*i)
			binary.LittleEndian.PutUint64(table[64*i+16:], 1)
		}
		list := l.some(64, func(g []byte, _ uint64) {
			binary.LittleEndian.PutUint32(g[goStatus:], 4)
			g[goReason] = 13 // semacquire
		})
		l.goroutines(list, 64)
	},
}

// onePage has 400,000 goroutines in one page of the file.
func onePage(l *goLiar) {
	const copies, each = 50_000, 8
	list := l.some(64, func([]byte, uint64) {})
	at := l.add(bytes.Repeat(l.parked, each), copies)
	for i := range uint64(copies) {
		for k := range uint64(each) {
			list = binary.LittleEndian.AppendUint64(list, at+4096*i+goSize*k)
		}
	}
	l.goroutines(list, uint64(len(list)/8))
}

func madeGoReady(name string, dir string) (*ready, error) {
	t := tb{dir: dir}
	l, c, err := newGoLiar(t)
	if err != nil {
		return nil, err
	}
	madeGo[name](l)
	data := l.bytes()
	s, err := stage(filepath.Join(dir, "core"), data)
	if err != nil {
		return nil, err
	}
	var exe string
	if err := caught(func() error { exe = c.Binary(t); return nil }); err != nil {
		return nil, err
	}
	r := &ready{data: data, shape: foreignShape(data), repair: s.mend, close: s.close}
	empty, explained := filepath.Join(dir, "none"), strings.HasSuffix(name, ", explained")
	r.run = func(edits []edit, rng *rand.Rand) error {
		return s.with(edits, func() {
			r.last = serviceWith(func(opts ...corewalk.Option) (*corewalk.Target, error) {
				return corewalk.Open(context.Background(), s.path, append(opts, corewalk.WithExecutable(exe), corewalk.WithSysroot(empty), corewalk.WithDebugDir(empty))...)
			}, rng, corewalk.FactsOptions{Explain: explained, Verify: explained})
		})
	}
	return r, nil
}
