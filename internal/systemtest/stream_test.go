package systemtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// A crowd is a runtime whose fibers wait for each other, and all but a few have the stack of a thread. It counts the
// stacks that have been walked.
type crowd struct {
	start  tasks.Start
	size   uint64
	walked atomic.Int64
	seen   []*tasks.Task
}

func (c *crowd) Name() string { return "crowd" }

func (c *crowd) Tasks(context.Context) iter.Seq2[*tasks.Task, error] {
	return func(yield func(*tasks.Task, error) bool) {
		for id := range c.size {
			s := c.start
			t := &tasks.Task{Key: tasks.Key{Kind: tasks.KindFiber, ID: id + 1}, Runtime: "crowd", Thread: unwind.NullThread, State: tasks.StateWaiting, Start: &s}
			if id%100 == 7 {
				t.Start = nil
			}
			if !yield(t, nil) {
				return
			}
		}
	}
}

func (c *crowd) Wait(_ context.Context, t *tasks.Task, frames []*unwind.Frame) *tasks.Wait {
	c.walked.Add(1)
	if t.ID%5 == 0 { // what it waits for is known at once
		return &tasks.Wait{Kind: tasks.WaitForever, Proved: true}
	}
	return &tasks.Wait{Kind: tasks.WaitLock, Object: tasks.Object{Address: t.ID * 8}, Proved: true}
}

func (c *crowd) Links() tasks.Links { c.seen = nil; return c }

func (c *crowd) Saw(t *tasks.Task, _ []*unwind.Frame) { c.seen = append(c.seen, t) }

// Link makes circles of two, and some that wait have waited for a second.
func (c *crowd) Link(context.Context) {
	for _, t := range c.seen {
		switch t.ID % 5 {
		case 1:
			t.Wait.Holders = []tasks.Holder{{Key: tasks.Key{Kind: tasks.KindFiber, ID: t.ID + 1}, Certainty: tasks.Certain}}
		case 2:
			t.Wait.Holders = []tasks.Holder{{Key: tasks.Key{Kind: tasks.KindFiber, ID: t.ID - 1}, Certainty: tasks.Certain}}
		case 3:
			t.Seconds = 1
		}
	}
}

// TestStream: the first tasks of a report in JSON lines can be read before the last are walked, all lines fit their schema, and
// together they have what the one document has.
func TestStream(t *testing.T) {
	c := fixture.Get(t, "amd64-threads")
	open := func() *corewalk.Target {
		target, err := corewalk.Open(context.Background(), c.Core(t), corewalk.WithExecutable(c.Binary(t)), corewalk.WithSysroot(c.Sysroot(t)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { target.Close() })
		return target
	}
	of := &crowd{size: 1000}
	find := func(p *tasks.Process) (tasks.Runtime, error) {
		ids, err := p.State.ThreadIDs()
		if err != nil {
			return nil, err
		}
		of.start.Regs, err = p.State.Registers(ids[0])
		return of, err
	}
	r, err := open().AnalyzeWith(context.Background(), corewalk.FactsOptions{Runtimes: []tasks.Finder{find}}, corewalk.AnalyzeOptions{For: report.ForJSON{}})
	if err != nil {
		t.Fatal(err)
	}
	var whole bytes.Buffer
	if err := report.WriteJSON(&whole, r); err != nil {
		t.Fatal(err)
	}

	of.walked.Store(0)
	in, out := io.Pipe() // without a buffer: what is written has been read
	lines := report.NewLineWriter(out)
	go func() {
		r, err := open().AnalyzeWith(context.Background(), corewalk.FactsOptions{Runtimes: []tasks.Finder{find}}, corewalk.AnalyzeOptions{For: lines})
		if err == nil {
			err = lines.Finish(r)
		}
		out.CloseWithError(err)
	}()
	scan := bufio.NewScanner(bufio.NewReaderSize(in, 16)) // reads nothing ahead that counts
	scan.Buffer(make([]byte, 64<<10), 64<<20)
	streamed := map[string]any{}
	var all []any
	n, last := 0, map[string]any{}
	for scan.Scan() {
		if n++; n == 50 {
			if walked := of.walked.Load(); walked < 50 || walked > int64(of.size)/4 {
				t.Errorf("%d of %d stacks were walked when 50 had been read", walked, of.size)
			}
		}
		if n%50 == 1 || n > int(of.size) {
			validate(t, "report-lines", scan.Bytes())
		}
		last = map[string]any{}
		if err := json.Unmarshal(scan.Bytes(), &last); err != nil {
			t.Fatal(err)
		}
		if task, ok := last["task"].(map[string]any); ok {
			streamed[key(task)] = task
			all = append(all, task)
		}
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	rest, ok := last["report"].(map[string]any)
	if !ok || n != int(of.size)+1 || last["type"] != "report" {
		t.Fatalf("%d lines, the last has %q", n, last["type"])
	}
	news := rest["tasks"].([]any)
	fibers := 0
	for _, more := range news {
		more := more.(map[string]any)
		if before, ok := streamed[key(more)].(map[string]any); ok {
			before["wait"] = more["wait"]
			fibers++
		} else {
			all = append(all, more)
		}
	}
	if fibers != int(of.size)*3/5 {
		t.Errorf("more is said of %d tasks", fibers)
	}
	rest["tasks"] = all
	var want map[string]any
	if err := json.Unmarshal(whole.Bytes(), &want); err != nil {
		t.Fatal(err)
	}
	for _, doc := range []map[string]any{want, rest} {
		slices.SortFunc(doc["tasks"].([]any), func(a, b any) int { return strings.Compare(key(a), key(b)) })
	}
	for k := range want {
		a, ok := want[k].([]any)
		b, ok2 := rest[k].([]any)
		if !ok || !ok2 || len(a) != len(b) {
			a, b = []any{want[k]}, []any{rest[k]}
		}
		for i := range a { // one at a time, as they are long
			if !reflect.DeepEqual(a[i], b[i]) {
				t.Fatalf("%s: %v\nin lines %v", k, a[i], b[i])
			}
		}
	}
	if len(want) != len(rest) {
		t.Errorf("%d keys, in lines %d", len(want), len(rest))
	}
	if len(want["deadlocks"].([]any)) != int(of.size)/5 {
		t.Errorf("%d deadlocks", len(want["deadlocks"].([]any)))
	}
}

func key(task any) string {
	t := task.(map[string]any)
	return fmt.Sprint(t["kind"], " ", t["id"])
}
