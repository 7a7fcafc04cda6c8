package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// burst is how many inputs are made of a base before the next: setting one up costs. Bases whose reports cost less
// than burstBytes allocated, divided by burst, have more, up to burstMost: bytes do not depend on how busy the machine is.
const (
	burst      = 60
	burstMost  = 300
	burstBytes = 90 << 20
	burstPart  = 2000
	burstMade  = 4 // inputs that cost as much as is allowed
)

// maxCurrent is more than the text of an input takes.
const maxCurrent = 4 << 20

// A verdict says what was wrong with an input.
type verdict struct {
	What  string // panic, recovered, time, memory, output, death
	Where string // for telling failures apart
	Text  string
	Time  time.Duration // of the processor
	Bytes uint64        // allocated
	Input input
}

// A message is a line from a worker.
type message struct {
	Figures *figures `json:",omitempty"`
	Verdict *verdict `json:",omitempty"`
}

type worker struct {
	o       options
	out     *json.Encoder
	dir     string
	trail   *trail
	seeds   *seeds
	used    int    // bytes of current
	current []byte // a mapped file that holds the input being worked on

	// For the watchdog.
	began struct {
		cpu    atomic.Int64 // of the process, ns
		wall   atomic.Int64
		allocs atomic.Uint64
		n      atomic.Int64 // input, 0 for none
	}
	slow atomic.Pointer[string] // stacks when the time was over
}

func metric(name string) uint64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// used is how much of the heap is in use. If it seems to be too much, what the inputs before have left is collected first.
func used() uint64 {
	const all = "/memory/classes/heap/objects:bytes"
	if metric(all) > killMemory {
		runtime.GC()
	}
	return metric(all)
}

func allocated() uint64 { return metric("/gc/heap/allocs:bytes") }

// work damages inputs until the driver ends it.
func work(o options) error {
	debug.SetMaxStack(maxStack)
	debug.SetGCPercent(200)
	dir, err := os.MkdirTemp("", "worker-*")
	if err != nil {
		return err
	}
	w := &worker{o: o, out: json.NewEncoder(os.Stdout), dir: dir}
	if w.current, err = mapCurrent(os.Getenv("TORTURE_CURRENT")); err != nil {
		return err
	}
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		return err
	}
	all, err := bases(empty)
	if err != nil {
		return err
	}
	w.trail = newTrail()
	w.seeds = newSeeds(o.corpus)
	go w.watch()
	all = slices.DeleteFunc(all, func(b base) bool { return o.kind != "" && !slices.Contains(strings.Split(o.kind, ","), b.kind) })
	if len(all) == 0 {
		return fmt.Errorf("no kind %q", o.kind)
	}
	if o.cuts {
		return w.cutAll(all)
	}
	return w.mix(all)
}

// cutAll cuts all fixtures, of which each worker takes every -j'th.
func (w *worker) cutAll(all []base) error {
	all = slices.DeleteFunc(all, func(b base) bool { return !strings.HasPrefix(b.kind, "cut ") })
	for n := w.o.first; n*w.o.jobs+w.o.worker-1 < len(all); n++ {
		number := n*w.o.jobs + w.o.worker - 1
		err := w.burst(n, all[number], rand.New(rand.NewPCG(w.o.seed, uint64(number))))
		if err != nil && !errors.Is(err, errNothing) {
			return fmt.Errorf("%s: %w", all[number].id(), err)
		}
	}
	return nil
}

// mix damages fixtures of all kinds in turn, without end.
func (w *worker) mix(all []base) error {
	byKind := map[string][]base{}
	for _, b := range all {
		byKind[b.kind] = append(byKind[b.kind], b)
	}
	kinds := slices.Sorted(maps.Keys(byKind))
	for _, k := range kinds { // a burst of cuts has many inputs, one of made inputs costs much
		for range 5 {
			if !strings.HasPrefix(k, "cut ") && k != "made" {
				kinds = append(kinds, k)
			}
		}
	}
	for n := w.o.first; ; n++ {
		// The worker's bursts are every -j'th.
		number := uint64(n*w.o.jobs + w.o.worker - 1)
		kind := kinds[number%uint64(len(kinds))]
		list, rng := byKind[kind], rand.New(rand.NewPCG(w.o.seed, number))
		err := errNothing
		for try := 0; errors.Is(err, errNothing) && try < 500; try++ { // later kinds have their turn
			i := rng.IntN(len(list))
			if strings.HasPrefix(kind, "cut ") { // each in its turn
				i = int((number/uint64(len(kinds)) + w.o.seed) % uint64(len(list)))
			}
			if err = w.burst(n, list[i], rng); err != nil && !errors.Is(err, errNothing) {
				return fmt.Errorf("%s: %w", list[i].id(), err)
			}
			if strings.HasPrefix(kind, "cut ") {
				break
			}
		}
	}
}

// burst damages one base many times.
func (w *worker) burst(number int, b base, rng *rand.Rand) error {
	dir := filepath.Join(w.dir, "base")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r, err := b.ready(dir)
	if err != nil {
		return err
	}
	defer r.close()
	f := &figures{Burst: number, Kind: b.kind, Whole: !b.part}
	// The base itself shows what is new only because it is another base.
	before := allocated()
	if _, err := w.one(r, input{Base: b.id(), Seed: rng.Uint64()}, f); err != nil {
		return err
	}
	cost := allocated() - before
	if strings.HasPrefix(b.kind, "cut ") {
		for _, at := range lengths(r, rng) {
			if _, err := w.one(r, input{Base: b.id(), Seed: rng.Uint64(), Edits: []edit{{Off: at, Del: len(r.data) - at}}}, f); err != nil {
				return err
			}
		}
		return w.out.Encode(message{Figures: f})
	}
	m := &mutator{rng: rng, data: r.data, shape: r.shape}
	n := min(max(burst, burstBytes/int(cost+1)), burstMost)
	switch {
	case b.kind == "made":
		n = burstMade
	case b.kind == "part heap": // a whole heap is walked
		n = burst
	case b.part:
		n = burstPart
	}
	for range n {
		in := input{Base: b.id(), Seed: rng.Uint64()}
		if old := w.seeds.pick(b.id(), rng); old != nil {
			in.Edits = append(in.Edits, old.Edits...)
			if rng.IntN(4) == 0 {
				in.Seed = old.Seed
			}
		}
		if r.lie != nil && rng.IntN(4) != 0 {
			in.Edits = append(in.Edits, r.lies(rng)...)
		} else {
			in.Edits = append(in.Edits, m.edits()...)
		}
		fresh, err := w.one(r, in, f)
		if err != nil {
			return err
		}
		if fresh > 0 {
			f.Fresh += fresh
			w.seeds.add(b.id(), in)
		}
	}
	return w.out.Encode(message{Figures: f})
}

// one makes the report of one input, and returns how much of the program it was the first to reach.
func (w *worker) one(r *ready, in input, f *figures) (fresh int, err error) {
	text, err := json.Marshal(in)
	if err != nil {
		return 0, err
	}
	clear(w.current[copy(w.current, text):min(len(w.current), max(w.used, len(text)))])
	w.used = len(text)
	recoveredBefore := recovered()
	cpu, allocs := processorTime(), allocated()
	written.Store(0)
	w.slow.Store(nil)
	w.began.cpu.Store(int64(cpu))
	w.began.wall.Store(time.Now().UnixNano())
	w.began.allocs.Store(allocs)
	w.began.n.Add(1)
	if w.trail != nil {
		w.trail.start()
	}
	trouble, where, err := w.guarded(r, in)
	if err != nil {
		return 0, err
	}
	if w.trail != nil {
		if fresh, err = w.trail.fresh(); err != nil {
			return 0, err
		}
	}
	w.began.wall.Store(0)
	f.Inputs++
	v := verdict{Input: in, Time: processorTime() - cpu, Bytes: allocated() - allocs}
	f.Time += v.Time
	if v.Time > f.WorstTime {
		f.WorstTime, f.SlowInput = v.Time, &in
	}
	f.WorstBytes = max(f.WorstBytes, v.Bytes)
	out := written.Load()
	f.WorstOutput = max(f.WorstOutput, out)
	tell := func(what, where, text string) error {
		v.What, v.Where, v.Text = what, where, text
		return w.out.Encode(message{Verdict: &v})
	}
	if trouble != "" {
		f.Panics++
		if err := tell("panic", where, trouble); err != nil {
			return 0, err
		}
		return 0, nil
	}
	if recovered() != recoveredBefore {
		f.Recovered++
		if err := tell("recovered", in.Base, ""); err != nil {
			return 0, err
		}
	}
	if v.Time > w.limit() {
		f.OverTime++
		stacks := ""
		if p := w.slow.Load(); p != nil {
			stacks = *p
		}
		return 0, tell("time", innermost(stacks), stacks)
	}
	if v.Bytes > limitAllocs {
		f.OverSize++
		return 0, tell("memory", in.Base, "")
	}
	if out > limitOutput {
		f.OverOutput++
		return 0, tell("output", in.Base, "")
	}
	return fresh, nil
}

// limit is limitTime, for programs that count what they run more.
func (w *worker) limit() time.Duration {
	if w.trail != nil {
		return countingCosts * limitTime
	}
	return limitTime
}

func (w *worker) guarded(r *ready, in input) (trouble, where string, err error) {
	defer func() {
		if p := recover(); p != nil {
			stack := string(debug.Stack())
			if _, after, ok := strings.Cut(stack, "panic("); ok {
				where = innermost(after)
			}
			trouble = fmt.Sprintf("%v\n%s", p, stack)
			err = r.repair(in.Edits)
		}
	}()
	return "", "", r.run(in.Edits, rand.New(rand.NewPCG(in.Seed, 0)))
}

const module = "github.com/corewalk/corewalk"

// innermost returns the innermost function of the module in a stack, other than of this package.
func innermost(stack string) string {
	for line := range strings.Lines(stack) {
		if name, ok := strings.CutPrefix(line, module); ok && !strings.Contains(line, "internal/torture") {
			name, _, _ = strings.Cut(name, "(0x")
			name, _, _ = strings.Cut(name, "({")
			return strings.TrimSpace(strings.TrimPrefix(name, "/"))
		}
	}
	return ""
}

// watch notes the stacks of what takes long, and ends the process when something does not end.
func (w *worker) watch() {
	for awake := time.Now(); ; {
		time.Sleep(20 * time.Millisecond)
		wall, n := w.began.wall.Load(), w.began.n.Load()
		// Somebody may stop the process (SIGSTOP) for as long as he likes.
		late := time.Since(awake)
		awake = time.Now()
		if wall != 0 && late > time.Second {
			w.began.wall.CompareAndSwap(wall, wall+int64(late))
			continue
		}
		if wall == 0 {
			continue
		}
		cpu := processorTime() - time.Duration(w.began.cpu.Load())
		allocs := allocated() - w.began.allocs.Load()
		if w.began.n.Load() != n {
			continue
		}
		if cpu > w.limit() && w.slow.Load() == nil {
			s := stacks()
			w.slow.Store(&s)
		}
		why := ""
		switch took := time.Since(time.Unix(0, wall)); {
		case cpu > w.limit()+killAfter:
			why = fmt.Sprintf("takes more than %v of processor time", w.limit()+killAfter)
		case took > killWall:
			why = fmt.Sprintf("takes more than %v", killWall)
		case used() > killMemory:
			why = fmt.Sprintf("uses %d MB", used()>>20)
		case allocs > 4*killMemory:
			why = fmt.Sprintf("allocated %d MB", allocs>>20)
		}
		if why != "" {
			fmt.Fprintf(os.Stderr, "%s\n%s\n", why, stacks())
			os.Exit(3)
		}
	}
}

// stacks are those of all goroutines, that of the input first.
func stacks() string {
	b := make([]byte, 256<<10)
	all := strings.Split(string(b[:runtime.Stack(b, true)]), "\n\n")
	slices.SortStableFunc(all, func(a, b string) int { return score(b) - score(a) })
	return strings.Join(all, "\n\n")
}

func score(stack string) int {
	if strings.Contains(stack, "guarded") {
		return 1
	}
	return 0
}

func hashOf(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}
