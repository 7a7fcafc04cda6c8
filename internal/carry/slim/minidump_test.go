package slim_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/carry/slim"
	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
	"github.com/corewalk/corewalk/report"
)

// full is a minidump with the whole memory, most of which nobody reads.
func full() []byte {
	d := dumpbuild.New(false)
	d.System(9, 2, 10, 0, 19041, "")
	d.Threads(false, dumpbuild.Thread{ID: 100, TEB: 0x30000, StackStart: 0x8000, Context: d.Blob(d.AMD64(0x10001f, 0x140001234, 0x8000, 0))})
	d.Modules(dumpbuild.Module{Base: 0x140000000, Size: 0x3000, Stamp: 0x5f5e1000, Name: `C:\prog\app one.exe`})
	d.Exception(dumpbuild.Exception{Thread: 100, Code: 0xc0000005, Address: 0x140001234, Params: []uint64{0, 0x10}, Context: d.Blob(d.AMD64(0x10001f, 0x140001234, 0x8000, 0))})
	d.MemoryInfo(48,
		dumpbuild.Region{Base: 0x8000, Size: 0x1000, State: 0x1000, Protect: 4, Type: 0x20000},
		dumpbuild.Region{Base: 0x30000, Size: 0x1000, State: 0x1000, Protect: 4, Type: 0x20000},
		dumpbuild.Region{Base: 0x200000, Size: 0x100000, State: 0x1000, Protect: 4, Type: 0x20000},
		dumpbuild.Region{Base: 0x140001000, Size: 0x1000, State: 0x1000, Protect: 0x20, Type: 0x1000000})
	d.Memory64(
		dumpbuild.Memory{Start: 0x8000, Data: d.W().U64(0, 0x140001111, 0x200010, 0x140001234).Pad(0x1000).B},
		dumpbuild.Memory{Start: 0x30000, Data: d.W().U64(0, 0x9000, 0x7000).Pad(0x68).U32(5).Pad(0x1000).B},
		dumpbuild.Memory{Start: 0x200000, Data: d.W().U64(1, 2, 3).Pad(0x100000).B},
		dumpbuild.Memory{Start: 0x140001000, Data: d.W().Pad(0x234).Bytes([]byte{0x48, 0x8b, 0x40, 0x10}).Pad(0x1000).B}) // mov rax, [rax+16]
	return d.Bytes()
}

func text(t *testing.T, dump []byte) string {
	t.Helper()
	target, err := corewalk.OpenReader(context.Background(), bytes.NewReader(dump), "dump")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Include: corewalk.Include{Memory: true, Code: true}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.WriteText(&b, r, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func small(dump []byte, o corewalk.SlimOptions) ([]byte, *corewalk.SlimWritten, error) {
	target, err := corewalk.OpenReader(context.Background(), bytes.NewReader(dump), "dump", corewalk.ForSlim())
	if err != nil {
		return nil, nil, err
	}
	defer target.Close()
	var b bytes.Buffer
	w, err := target.WriteSlim(context.Background(), &b, o)
	return b.Bytes(), w, err
}

// A slim minidump has the same report, and none of the memory that nobody reads.
func TestMinidump(t *testing.T) {
	whole := full()
	got, w, err := small(whole, corewalk.SlimOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) > 32<<10 || w.Size != uint64(len(got)) || w.Was != uint64(len(whole)) || len(w.Kept) == 0 {
		t.Errorf("%d of %d bytes: %+v", len(got), len(whole), w)
	}
	if a, b := text(t, whole), text(t, got); a != b {
		t.Errorf("%s\nbut of the slim one %s", a, b)
	}
	again, _, err := small(got, corewalk.SlimOptions{})
	if err != nil || text(t, again) != text(t, whole) {
		t.Errorf("once more: %v", err)
	}
}

// Minidumps with a MemoryList are made small, too, with all that their streams say.
func TestMinidumpSamples(t *testing.T) {
	for name, dump := range dumpbuild.Samples() {
		got, w, err := small(dump, corewalk.SlimOptions{})
		if err != nil {
			t.Fatal(name, err)
		}
		if a, b := text(t, dump), text(t, got); a != b {
			t.Errorf("%s: %s\nbut of the slim one %s", name, a, b)
		}
		if a, b := parse(t, dump), parse(t, got); a != b {
			t.Errorf("%s has\n%s\nbut the slim one\n%s", name, a, b)
		}
		if len(w.Dropped) > 0 {
			t.Errorf("%s: left out %q", name, w.Dropped)
		}
	}
}

// parse returns what the parser finds in a dump, but for offsets and memory.
func parse(t *testing.T, dump []byte) string {
	t.Helper()
	f, err := minidump.Parse(dump)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Warnings) > 0 {
		t.Log(f.Warnings)
	}
	var b strings.Builder
	for i := range f.Threads {
		th := f.Threads[i]
		fmt.Fprintln(&b, th.ID, th.Suspend, th.Priority, th.TEB, th.StackStart, th.StackSize, th.Name, th.Info, th.Context)
	}
	for _, m := range f.Modules {
		fmt.Fprintf(&b, "%+v\n", m)
	}
	fmt.Fprintf(&b, "%+v %+v %+v %+v %+v %q\n%s\n", f.System, f.Misc, f.Unloaded, f.Handles, f.Exception, f.Comments, f.SoftErrors)
	fmt.Fprintf(&b, "%+v %+v %+v %+v %+v\n", f.Linux, f.Crashpad, f.Mac, f.Breakpad, f.Regions)
	return b.String()
}

const secret = "hunter2-correct-horse"

// planted makes the samples with a secret in each of their texts, in memory, in registers, and in a stream that
// nobody knows.
func planted() map[string][]byte {
	all := dumpbuild.Strange(secret)
	d := dumpbuild.New(false)
	d.System(9, 2, 10, 0, 19041, "")
	ctx := d.Context(1232).Put(0x30, 4, 0x10005f).Put(0xf8, 8, 0x140001234).Put(0x98, 8, 0x8000).Put(0x78, 8, binary.LittleEndian.Uint64([]byte(secret)))
	copy(ctx.B[0x1a0:], secret)
	at := d.Blob(ctx.B)
	d.Threads(false, dumpbuild.Thread{ID: 1, StackStart: 0x8000, Context: at})
	d.Modules(dumpbuild.Module{Base: 0x140000000, Size: 0x3000, Name: `C:\Users\` + secret + `\app.exe`,
		CodeView: d.PDB70(1, 2, 3, [8]byte{4}, 1, `D:\`+secret+`\app.pdb`)})
	d.Exception(dumpbuild.Exception{Thread: 1, Code: 0xe06d7363, Address: 0x140001234, Context: at,
		Params: []uint64{1, binary.LittleEndian.Uint64([]byte(secret))}})
	for _, kind := range []uint32{10, 11, 13 << 16, 0x47670007, 0x4b6b0002} {
		d.Stream(kind, append([]byte(secret), utf16le(secret)...))
	}
	d.Stream(0x47670009, []byte("140000000-140003000 r-xp 0 0:0 1 /home/"+secret+"/app\n8000-9000 rw-p 0 0:0 1 /home/me/"+secret+".pdf\n"))
	stack := d.W().U64(0, 0x140001111, 3).Bytes([]byte(secret)).Pad(0x80).Bytes(utf16le(secret)).Pad(0x1000).B
	data := d.W().Pad(0x1100).Bytes([]byte(secret)).Pad(0x2000).B
	d.MemoryList(dumpbuild.Memory{Start: 0x8000, Data: stack}, dumpbuild.Memory{Start: 0x140001000, Data: data})
	all["full.dmp"] = d.Bytes()
	return all
}

func utf16le(s string) []byte {
	var b []byte
	for _, c := range []byte(s) {
		b = append(b, c, 0)
	}
	return b
}

// hidden returns pieces of the secret that are in b, of six characters.
func hidden(b []byte) (found []string) {
	for i := 0; i+6 <= len(secret); i++ {
		if p := secret[i : i+6]; bytes.Contains(b, []byte(p)) || bytes.Contains(b, utf16le(p)) {
			found = append(found, p)
		}
	}
	return found
}

// TestMinidumpRedact: no secret is in a redacted minidump, and its stacks are as before.
func TestMinidumpRedact(t *testing.T) {
	for name, dump := range planted() {
		// In the samples the secret is also in what is kept: names of threads, modules and annotations, the system's version.
		got, w, err := small(dump, corewalk.SlimOptions{Redact: true})
		if err != nil {
			t.Fatal(name, err)
		}
		plain, _, err := small(dump, corewalk.SlimOptions{})
		if err != nil || len(hidden(plain)) < 10 {
			t.Errorf("%s: the slim one has only %q: %v", name, hidden(plain), err)
		}
		if found := hidden(got); name == "full.dmp" && len(found) > 0 {
			at := bytes.Index(got, []byte(found[0]))
			t.Errorf("%s: the redacted dump has %q, at %#x: %q", name, found, at, got[max(0, at-32):at+32])
		}
		f, err := minidump.Parse(got)
		if err != nil || len(f.Warnings) > 0 && name == "full.dmp" {
			t.Errorf("%s: %v %v", name, err, f.Warnings)
		}
		for _, leak := range []any{f.Comments, f.Linux.Args()[min(1, len(f.Linux.Args())):], f.Linux.Environ, f.SoftErrors, f.Mac, f.Misc} {
			if found := hidden(fmt.Appendf(nil, "%s", leak)); len(found) > 0 {
				t.Errorf("%s: %q in %s", name, found, leak)
			}
		}
		for _, h := range f.Handles {
			if found := hidden([]byte(h.Object)); len(found) > 0 {
				t.Errorf("%s: handle %q", name, h.Object)
			}
		}
		if c := f.Crashpad; c != nil {
			for _, a := range c.Annotations {
				if len(hidden([]byte(a.Value))) > 0 {
					t.Errorf("%s: annotation %v", name, a)
				}
			}
			for _, m := range c.Modules {
				if found := hidden(fmt.Appendf(nil, "%q", m.List)); len(found) > 0 {
					t.Errorf("%s: %q in %q", name, found, m.List)
				}
				for _, o := range m.Objects {
					if len(hidden(o.Value)) > 0 {
						t.Errorf("%s: annotation %v", name, o)
					}
				}
			}
		}
		if !strings.Contains(w.Stays, "base names of modules") || w.Blanked.Bytes == 0 {
			t.Errorf("%s: %+v", name, w)
		}
		x, err := corewalk.OpenReader(context.Background(), bytes.NewReader(dump), "dump")
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		y, err := corewalk.OpenReader(context.Background(), bytes.NewReader(got), "slim")
		if err != nil {
			t.Fatal(err)
		}
		defer y.Close()
		if threads, _, err := corewalk.SameStacks(x, y); err != nil || threads == 0 {
			t.Errorf("%s: %d threads: %v", name, threads, err)
		}
	}
}

func TestKeptPaths(t *testing.T) {
	for path, want := range map[string]string{
		"/home/bob/bin/app": "/x/app", "/usr/lib/libc.so.6": "/usr/lib/libc.so.6", `C:\Users\bob\app.exe`: `C:\x\app.exe`,
		`C:\Windows\System32\ntdll.dll`: `C:\Windows\System32\ntdll.dll`, "[vdso]": "[vdso]", "app": "app",
		"/usr/../home/bob/app": "/x/app", "/usr/home/bob/app": "/x/app",
	} {
		if got := slim.BlankPath(path); got != want {
			t.Errorf("%s becomes %s, want %s", path, got, want)
		}
	}
}

// FuzzMinidump: whatever the streams say, a slim dump ends, is no larger than twice the dump and a megabyte, and can be parsed.
func FuzzMinidump(f *testing.F) {
	for _, dump := range planted() {
		f.Add(dump)
	}
	f.Fuzz(func(t *testing.T, dump []byte) {
		for _, redact := range []bool{false, true} {
			got, _, err := small(dump, corewalk.SlimOptions{Redact: redact})
			if err != nil {
				continue
			}
			if len(got) > 6*len(dump)+2<<20 {
				t.Errorf("%d bytes become %d", len(dump), len(got))
			}
			if _, err := minidump.Parse(got); err != nil {
				t.Error(err)
			}
		}
	})
}
