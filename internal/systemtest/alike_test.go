package systemtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// manyThreads writes a core of x86-64 with n more threads, copies of the one that crashed. change may change the
// general registers of number i, laid out as in user_regs_struct.
func manyThreads(t *testing.T, core string, n int, change func(i int, regs []byte)) string {
	t.Helper()
	b, err := os.ReadFile(core)
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	ph, size, count := le.Uint64(b[32:]), uint64(le.Uint16(b[54:])), uint64(le.Uint16(b[56:]))
	for p := ph; p < ph+count*size; p += size {
		if le.Uint32(b[p:]) != 4 { // PT_NOTE
			continue
		}
		notes := b[le.Uint64(b[p+8:]):][:le.Uint64(b[p+32:])]
		const status, pid, regs = 336, 32, 112 // NT_PRSTATUS: its size, and where the thread's number and registers are
		var all []byte
		for at := 0; at < len(notes); {
			desc := at + 12 + int(le.Uint32(notes[at:])+3)&^3
			end := desc + int(le.Uint32(notes[at+4:])+3)&^3
			if all = append(all, notes[at:end]...); le.Uint32(notes[at+8:]) == 1 && end-desc == status {
				for i := range n {
					thread := bytes.Clone(notes[at:end])
					d := thread[desc-at:]
					le.PutUint32(d[pid:], le.Uint32(d[pid:])+uint32(i)+1)
					change(i, d[regs:])
					all = append(all, thread...)
				}
			}
			at = end
		}
		le.PutUint64(b[p+8:], uint64(len(b)))
		le.PutUint64(b[p+32:], uint64(len(all)))
		b = append(b, all...)
		break
	}
	out := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(out, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return out
}

// Threads with the same stack, most of which are compared and not kept, give the text of a whole report: also if a
// variable differs late, or in one thread only.
func TestTextOfThreadsAlike(t *testing.T) {
	t.Parallel()
	joined, own := 0, 0
	for _, name := range []string{"amd64-vars-c-O2", "amd64-passed-O2", "amd64-kept-O2"} {
		c := fixture.Get(t, name)
		core := manyThreads(t, c.Core(t), 60, func(i int, regs []byte) {
			const rsp, rip, rbp = 19, 16, 4
			for r := range 15 { // those without segments and flags
				if (i == 25 || i > 40 && i%7 == r%7) && r != rbp && r < rip && r != rsp {
					binary.LittleEndian.PutUint64(regs[8*r:], uint64(i*r))
				}
			}
		})
		target, err := corewalk.Open(context.Background(), core, corewalk.WithExecutable(c.Binary(t)), corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithDebugDir(t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		for _, locals := range []corewalk.Locals{corewalk.LocalsTop, corewalk.LocalsAll} {
			var texts [2]bytes.Buffer
			opts := report.TextOptions{AllLocals: true}
			for i, o := range []corewalk.AnalyzeOptions{{Locals: locals}, {Locals: locals, For: opts}} {
				r, err := target.Analyze(context.Background(), o)
				if err != nil {
					t.Fatal(err)
				}
				if err := report.WriteText(&texts[i], r, opts); err != nil {
					t.Fatal(err)
				}
				for k := range r.Threads {
					if r.Threads[k].Alike {
						joined++
					} else if o.For != nil {
						own++
					}
				}
			}
			if diff := cmp.Diff(texts[0].String(), texts[1].String()); diff != "" {
				t.Errorf("%s: (-whole +shown)\n%s", name, diff)
			}
		}
	}
	if joined < 100 || own <= 6*(1+report.MaxByThread) { // some have others, late
		t.Errorf("%d threads were joined, %d have variables of their own", joined, own)
	}
}
