package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A driver starts workers, again when they die, and counts.
type driver struct {
	o       options
	program string
	tmp     string

	mu       sync.Mutex
	ending   bool
	total    int
	kinds    map[string]*figures
	deaths   int
	verdicts map[string]int // by what and where
	slowest  map[string]*input
}

// keepEach is how many inputs are kept that fail in the same way.
const keepEach = 3

func drive(o options) error {
	if o.n == 0 && o.seconds == 0 {
		return errors.New("say how long: -n or -seconds")
	}
	// Files are written and read all the time.
	memory := "/dev/shm"
	if _, err := os.Stat(memory); err != nil {
		memory = ""
	}
	tmp, err := os.MkdirTemp(memory, "corewalk-torture-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if o.keep == "" {
		o.keep = filepath.Join(os.TempDir(), "corewalk-torture")
	}
	if err := os.MkdirAll(o.keep, 0o755); err != nil {
		return err
	}
	d := &driver{o: o, tmp: tmp, program: filepath.Join(tmp, "worker"), kinds: map[string]*figures{}, verdicts: map[string]int{}, slowest: map[string]*input{}}
	build := []string{"build", "-tags", "countrecovered", "-o", d.program}
	if o.cover {
		build = append(build, "-cover", "-covermode=atomic", "-coverpkg="+module+"/...")
	}
	cmd := exec.Command("go", append(build, module+"/internal/torture")...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build a worker: %w", err)
	}
	start := time.Now()
	var wg sync.WaitGroup
	errs := make([]error, o.jobs)
	for i := range o.jobs {
		wg.Go(func() { errs[i] = d.keepWorking(i + 1) })
	}
	wg.Wait()
	d.print(time.Since(start))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if d.deaths > 0 || len(d.verdicts) > 0 {
		return fmt.Errorf("some inputs failed: %s", o.keep)
	}
	return nil
}

// keepWorking starts worker i until there is enough.
func (d *driver) keepWorking(i int) error {
	current := filepath.Join(d.tmp, fmt.Sprintf("current-%d", i))
	tmp := filepath.Join(d.tmp, fmt.Sprint(i))
	var deadline <-chan time.Time
	if d.o.seconds > 0 {
		deadline = time.After(time.Duration(d.o.seconds) * time.Second)
	}
	for next, idle := 0, 0; ; {
		if err := os.MkdirAll(tmp, 0o755); err != nil {
			return err
		}
		os.Remove(current)
		args := []string{"-worker", fmt.Sprint(i), "-first", fmt.Sprint(next), "-j", fmt.Sprint(d.o.jobs), "-seed", fmt.Sprint(d.o.seed),
			"-kind", d.o.kind, "-corpus", d.o.corpus}
		cmd := exec.Command(d.program, args...)
		cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "TORTURE_CURRENT="+current, "GOCOVERDIR="+tmp)
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		said := &tail{}
		cmd.Stderr = said
		if err := cmd.Start(); err != nil {
			return err
		}
		enough := make(chan bool, 1)
		go func() {
			select {
			case <-deadline:
			case <-enough:
			}
			d.mu.Lock()
			d.ending = true
			d.mu.Unlock()
			cmd.Process.Kill()
		}()
		before := next
		for in := bufio.NewReader(out); ; {
			line, err := in.ReadBytes('\n')
			if err != nil {
				break
			}
			var m message
			if err := json.Unmarshal(line, &m); err != nil {
				continue // the program under test has no business there, but it is no reason to stop
			}
			if m.Verdict != nil {
				d.verdict(m.Verdict)
			}
			if m.Figures != nil {
				next = m.Figures.Burst + 1
				if d.count(m.Figures) {
					select {
					case enough <- true:
					default:
					}
				}
			}
		}
		waited := cmd.Wait()
		d.mu.Lock()
		ending := d.ending
		d.mu.Unlock()
		if err := os.RemoveAll(tmp); err != nil {
			return err
		}
		if ending {
			return nil
		}
		if next == before {
			idle++
		} else {
			idle = 0
		}
		text, err := os.ReadFile(current)
		if err != nil || idle > 20 {
			return fmt.Errorf("the worker does not work: %v\n%s", waited, said.text())
		}
		v := &verdict{What: "death", Where: "?", Text: said.text()}
		json.Unmarshal(text, &v.Input)
		if where := innermost(v.Text); where != "" {
			v.Where = where
		}
		d.deaths++
		d.verdict(v)
		next++ // the rest of the burst is lost
	}
}

// verdict keeps an input that failed.
func (d *driver) verdict(v *verdict) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := v.What + " " + v.Where
	d.verdicts[key]++
	if d.verdicts[key] > keepEach {
		return
	}
	first, _, _ := strings.Cut(v.Text, "\n")
	name := fmt.Sprintf("%s-%016x", v.What, hashOf(key+fmt.Sprint(v.Input.Seed)))
	fmt.Printf("%s: %s in %s: %s (%v, %d MB)\n", name, v.Input.Base, v.Where, first, v.Time.Round(time.Millisecond), v.Bytes>>20)
	if text, err := json.Marshal(v.Input); err == nil {
		os.WriteFile(filepath.Join(d.o.keep, name+".json"), text, 0o644)
	}
	os.WriteFile(filepath.Join(d.o.keep, name+".txt"), []byte(v.Text), 0o644)
}

// count adds figures, and reports whether there were inputs enough.
func (d *driver) count(f *figures) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.kinds[f.Kind]
	if k == nil {
		k = &figures{Kind: f.Kind}
		d.kinds[f.Kind] = k
	}
	k.Inputs += f.Inputs
	k.Panics += f.Panics
	k.Recovered += f.Recovered
	k.OverTime += f.OverTime
	k.OverSize += f.OverSize
	k.Fresh += f.Fresh
	if f.WorstTime > k.WorstTime {
		k.WorstTime, k.SlowInput = f.WorstTime, f.SlowInput
	}
	k.WorstBytes = max(k.WorstBytes, f.WorstBytes)
	d.total += f.Inputs
	return d.o.n > 0 && d.total >= d.o.n
}

func (d *driver) print(took time.Duration) {
	fmt.Printf("%-10s %10s %7s %10s %10s %12s %11s %11s %10s\n", "kind", "inputs", "panics", "recovered", "over time", "over memory", "worst time", "worst MB", "new code")
	line := func(f *figures) {
		fmt.Printf("%-10s %10d %7d %10d %10d %12d %11v %11d %10d\n", f.Kind, f.Inputs, f.Panics, f.Recovered, f.OverTime, f.OverSize,
			f.WorstTime.Round(time.Millisecond), f.WorstBytes>>20, f.Fresh)
	}
	all := &figures{Kind: "all"}
	for _, name := range slices.Sorted(maps.Keys(d.kinds)) {
		f := d.kinds[name]
		line(f)
		if f.SlowInput != nil {
			if text, err := json.Marshal(f.SlowInput); err == nil {
				os.WriteFile(filepath.Join(d.o.keep, "slowest-"+name+".json"), text, 0o644)
			}
		}
		all.Inputs += f.Inputs
		all.Panics += f.Panics
		all.Recovered += f.Recovered
		all.OverTime += f.OverTime
		all.OverSize += f.OverSize
		all.Fresh += f.Fresh
		all.WorstTime = max(all.WorstTime, f.WorstTime)
		all.WorstBytes = max(all.WorstBytes, f.WorstBytes)
	}
	line(all)
	fmt.Printf("%d worker processes died, %d ways to fail, %.0f inputs/s\n", d.deaths, len(d.verdicts), float64(all.Inputs)/took.Seconds())
	for _, key := range slices.Sorted(maps.Keys(d.verdicts)) {
		fmt.Printf("%8d %s\n", d.verdicts[key], key)
	}
}

// A tail keeps the beginning and the end of what a worker says last.
type tail struct {
	mu   sync.Mutex
	head []byte
	end  []byte
}

var _ io.Writer = (*tail)(nil)

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const keep = 64 << 10
	t.head = append(t.head, b[:min(len(b), keep-len(t.head))]...)
	t.end = append(t.end, b...)
	t.end = t.end[max(0, len(t.end)-keep):]
	return len(b), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.head) == len(t.end) {
		return string(t.head)
	}
	return string(t.head) + "\n...\n" + string(t.end)
}
