package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A driver starts workers, again when they die, and counts.
type driver struct {
	o       options
	program string
	tmp     string

	stopped chan struct{} // closed when there is enough
	mu      sync.Mutex
	ending  bool
	before  *tally // of earlier runs
	now     *tally
	start   time.Time
}

// keepEach is how many inputs are kept that fail in the same way.
const keepEach = 3

func drive(o options) error {
	if o.n == 0 && o.seconds == 0 && !o.cuts {
		return errors.New("say how long: -n, -seconds or -cuts")
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
	d := &driver{o: o, tmp: tmp, program: filepath.Join(tmp, "worker"), stopped: make(chan struct{}), before: newTally(), now: newTally()}
	if o.figures != "" {
		if d.before, err = readTally(o.figures); err != nil {
			return err
		}
	}
	build := []string{"build", "-tags", "countrecovered", "-o", d.program}
	if o.cover {
		build = append(build, "-cover", "-covermode=atomic", "-coverpkg="+module+"/...")
	}
	cmd := exec.Command("go", append(build, module+"/internal/torture")...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build a worker: %w", err)
	}
	d.start = time.Now()
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	var deadline <-chan time.Time
	if o.seconds > 0 {
		deadline = time.After(time.Duration(o.seconds) * time.Second)
	}
	go func() {
		tick := time.NewTicker(time.Minute)
		for {
			select {
			case <-tick.C:
				d.save()
				continue
			case <-interrupts:
			case <-deadline:
			}
			d.stop()
			return
		}
	}()
	var wg sync.WaitGroup
	errs := make([]error, o.jobs)
	for i := range o.jobs {
		wg.Go(func() { errs[i] = d.keepWorking(i + 1) })
	}
	wg.Wait()
	if err := errors.Join(append(errs, d.finish())...); err != nil {
		return err
	}
	if d.now.Deaths > 0 || len(d.now.Verdicts) > 0 {
		return fmt.Errorf("some inputs failed: %s", o.keep)
	}
	return nil
}

// stop ends the workers.
func (d *driver) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.ending {
		d.ending = true
		close(d.stopped)
	}
}

// keepWorking starts worker i until there is enough.
func (d *driver) keepWorking(i int) error {
	current := filepath.Join(d.tmp, fmt.Sprintf("current-%d", i))
	tmp := filepath.Join(d.tmp, fmt.Sprint(i))
	for next, idle := 0, 0; ; {
		d.mu.Lock()
		ending := d.ending
		d.mu.Unlock()
		if ending {
			return nil
		}
		if err := os.MkdirAll(tmp, 0o755); err != nil {
			return err
		}
		os.Remove(current)
		args := []string{"-worker", fmt.Sprint(i), "-first", fmt.Sprint(next), "-j", fmt.Sprint(d.o.jobs), "-seed", fmt.Sprint(d.o.seed),
			"-kind", d.o.kind, "-corpus", d.o.corpus, fmt.Sprintf("-cuts=%t", d.o.cuts)}
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
		ended := make(chan struct{})
		go func() {
			select {
			case <-d.stopped:
				cmd.Process.Kill()
			case <-ended:
			}
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
					d.stop()
				}
			}
		}
		waited := cmd.Wait()
		close(ended)
		d.mu.Lock()
		ending = d.ending
		d.mu.Unlock()
		if err := os.RemoveAll(tmp); err != nil {
			return err
		}
		if ending || waited == nil { // a worker ends by itself when it has cut all
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
		json.Unmarshal(bytes.TrimRight(text, "\x00"), &v.Input)
		if where := innermost(v.Text); where != "" {
			v.Where = where
		}
		d.verdict(v)
		next++ // the rest of the burst is lost
	}
}

// verdict keeps an input that failed.
func (d *driver) verdict(v *verdict) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := v.What + " " + v.Where
	if v.What == "death" {
		d.now.Deaths++
	}
	d.now.Verdicts[key]++
	if d.now.Verdicts[key] > keepEach {
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
	d.now.count(f)
	return d.o.n > 0 && d.now.inputs() >= d.o.n
}

// sum is what was counted in this run and those before.
func (d *driver) sum() *tally {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := newTally()
	t.add(d.before)
	t.add(d.now)
	t.Took = d.before.Took + time.Since(d.start)
	return t
}

// save writes the file of -figures.
func (d *driver) save() error {
	if d.o.figures == "" {
		return nil
	}
	return d.sum().write(d.o.figures)
}

// finish prints the figures, and keeps the slowest input of each kind.
func (d *driver) finish() error {
	for name, f := range d.now.Kinds {
		if text, err := json.Marshal(f.SlowInput); err == nil && f.SlowInput != nil {
			os.WriteFile(filepath.Join(d.o.keep, "slowest-"+name+".json"), text, 0o644)
		}
	}
	d.sum().print(os.Stdout)
	return d.save()
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
