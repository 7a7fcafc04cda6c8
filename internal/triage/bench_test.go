package triage

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/files/broker"
	"github.com/corewalk/corewalk/internal/fixture"
)

// BenchmarkServe measures the analysis process on small cores, without the supervisor.
func BenchmarkServe(b *testing.B) {
	dir := b.TempDir()
	c := fixture.Get(b, names[0])
	core, err := os.ReadFile(c.Core(b))
	if err != nil {
		b.Fatal(err)
	}
	var paths []string
	for i := range 100 {
		p := filepath.Join(dir, fmt.Sprintf("core.%d", i))
		if err := os.WriteFile(p, binary.LittleEndian.AppendUint64(core[:len(core):len(core)], uint64(i)), 0o644); err != nil {
			b.Fatal(err)
		}
		paths = append(paths, p)
	}
	o := WorkerOptions{Files: []corewalk.Option{corewalk.WithSearch(filepath.Dir(c.Binary(b))), corewalk.WithSysroot(c.Sysroot(b)), corewalk.WithDebugDir(dir)}}
	orders, in := io.Pipe()
	out, replies := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- Serve(b.Context(), orders, replies, func(json.RawMessage, *broker.Client) (WorkerOptions, error) { return o, nil })
	}()
	w := newLineWriter(in)
	w.write(greeting{})
	done := make(chan bool, 1024)
	yes := true
	go readLines(newLineReader(out).readReply, func(r reply) error {
		if r.Identity != nil {
			return w.write(order{N: r.N, Go: &yes})
		}
		if r.Dump.Fault != "" {
			b.Error(r.Dump.Fault)
		}
		done <- true
		return nil
	})
	n := 0
	for b.Loop() {
		if n++; n > 8 {
			<-done
		}
		w.write(order{N: n, Path: Exact(paths[n%len(paths)])})
	}
	b.StopTimer()
	for range min(n, 8) {
		<-done
	}
	in.Close()
	if err := <-served; err != nil {
		b.Error(err)
	}
}
