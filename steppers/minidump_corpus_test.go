package steppers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/breakpad"
	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
)

// A miniCase is a minidump or microdump of other projects' tests, and the stack of one
// thread as Breakpad's minidump_stackwalk or lldb has it.
type miniCase struct {
	name, want string
	data       []byte
}

// minidumps reads the corpus of foreign dumps that may lie beside the repository, and
// the symbol files in it by debug identifier.
func minidumps(t *testing.T) ([]miniCase, map[string]*breakpad.File) {
	t.Helper()
	manifest, files := fixture.Foreign(t)
	syms := map[string]*breakpad.File{}
	for name, data := range files {
		if strings.HasSuffix(name, ".sym") || strings.HasSuffix(name, ".syms") {
			if f, err := breakpad.Parse(data); err == nil {
				syms[f.ID] = f
			}
		}
	}
	var list []miniCase
	for _, f := range manifest {
		if f[3] == "minidump" || f[3] == "microdump" {
			list = append(list, miniCase{f[0], f[11], files[f[0]]})
		}
	}
	return list, syms
}

// A symbolSource has Breakpad symbol files by debug identifier, and no other files.
type symbolSource map[string]*breakpad.File

func (s symbolSource) Image(lib *libstate.Library) *modules.Image {
	if lib.Module == nil || s[lib.Module.DebugID] == nil {
		return nil
	}
	return (*modules.Image)(image.FromParts(image.Parts{Breakpad: s[lib.Module.DebugID]}))
}

// walkMini walks a thread of a minidump by its index.
func walkMini(t *testing.T, d *corestate.Minidump, syms map[string]*breakpad.File, thread int) (*unwind.Stack, error) {
	t.Helper()
	g, err := steppers.DefaultGroup(d.Arch(), symbolSource(syms))
	if err != nil {
		return nil, err
	}
	w, err := unwind.NewWalker(d, unwind.WithGroup(g), unwind.WithExplain())
	if err != nil {
		return nil, err
	}
	return w.WalkStack(unwind.ThreadID(minidump.Of(d).Threads[thread].ID))
}

// Where Breakpad, which had no frame pointer to go by or did not ask it, found something
// else by scanning: main was called by __libc_start_main (libc-2.19.so+0x21ec5 and
// libc-2.23.so+0x20830), and not by what ld.so left on the stack before. The number of
// frames that agree is given.
var breakpadScans = map[string]int{
	"breakpad/linux_divide_by_zero.dmp": 2, "breakpad/linux_executable_heap.dmp": 2, "breakpad/linux_inside_module_exe_region1.dmp": 2,
	"breakpad/linux_jmp_to_0.dmp": 2, "breakpad/linux_null_dereference.dmp": 2, "breakpad/linux_raise_sigabrt.dmp": 2,
	"breakpad/linux_stack_pointer_in_module.dmp": 2, "breakpad/linux_write_to_nonwritable_module.dmp": 2,
	"breakpad/linux_write_to_under_4k.dmp": 2, "rust-minidump/linux-mini.dmp": 1, "symbolicator/linux.dmp": 1,
	// Inlined calls are no frames.
	"breakpad/linux_inline.dmp": 0,
	// A third frame would be the fourth again.
	"rust-minidump/simple-crashpad.dmp": 4,
}

// TestCorpusMinidumps walks the minidumps with the symbol files that there are, and
// compares the frames that were not found by scanning with what Breakpad or lldb found.
func TestCorpusMinidumps(t *testing.T) {
	list, syms := minidumps(t)
	checked, bottoms := 0, 0
	for _, c := range list {
		want := expectedFrames(c.want)
		d, _ := corestate.OpenMinidumpBytes(c.name, c.data)
		if d == nil || len(want) == 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			d.BuildLibraries(nil)
			thread := 0
			fmt.Sscanf(c.want, "t%d:", &thread)
			s, err := walkMini(t, d, syms, thread)
			if s == nil {
				t.Fatal(err)
			}
			if n, ok := breakpadScans[c.name]; ok {
				want = want[:n]
			}
			for i, w := range want {
				if i < len(s.Frames) && s.Frames[i].Trust() == unwind.TrustScan {
					break
				}
				if i == len(s.Frames) || !slices.Contains(placesOf(d, syms, s.Frames[i]), w) {
					t.Errorf("frame %d is not %s:\n%s", i, w, miniText(d, syms, s))
					break
				}
				checked++
			}
			if s.End == unwind.EndBottom {
				bottoms++
			}
		})
	}
	t.Logf("%d frames agree; %d stacks have a bottom", checked, bottoms)
	if checked < 120 || bottoms < 15 {
		t.Errorf("%d frames, %d bottoms", checked, bottoms)
	}
}

// expectedFrames takes the manifest's description of a stack apart.
func expectedFrames(text string) []string {
	text, _, _ = strings.Cut(text, " [") // who says so
	text, _, _ = strings.Cut(text, " (3 inlined)")
	if strings.HasPrefix(text, "t") {
		_, text, _ = strings.Cut(text, ": ")
	}
	if text == "" || strings.Contains(text, " (") {
		return nil // words, not frames
	}
	var list []string
	depth, from := 0, 0
	for i := range text {
		switch {
		case text[i] == '<':
			depth++
		case text[i] == '>' && depth > 0:
			depth--
		case text[i] == '>':
			list = append(list, text[from:i])
			from = i + 1
		}
	}
	return append(list, text[from:])
}

// placesOf are the names that a frame's place may be given.
func placesOf(d *corestate.Minidump, syms map[string]*breakpad.File, f *unwind.Frame) []string {
	places := []string{fmt.Sprintf("%#x", f.RA())}
	lib, ok := d.LibraryTracker().LibraryAt(f.LookupAddr())
	if !ok {
		return places
	}
	base := lib.Path[strings.LastIndexAny(lib.Path, `/\`)+1:]
	// The lowest bit of a code pointer of ARM and MIPS is none of the address.
	places = append(places, fmt.Sprintf("%s+%#x", base, f.RA()-lib.Start), fmt.Sprintf("%s+%#x", base, f.CodePointer()-lib.Start))
	if lib.Module != nil && syms[lib.Module.DebugID] != nil {
		if s, ok := syms[lib.Module.DebugID].Lookup(f.LookupAddr() - lib.Start); ok {
			places = append(places, s.Name, strings.TrimSuffix(s.Name, "()"))
		}
	}
	return places
}

func miniText(d *corestate.Minidump, syms map[string]*breakpad.File, s *unwind.Stack) string {
	var b strings.Builder
	for i, f := range s.Frames {
		fmt.Fprintf(&b, "%3d %v %s\n", i, f.Trust(), strings.Join(placesOf(d, syms, f), " "))
		for _, n := range notes(f) {
			b.WriteString("\t\t" + n + "\n")
		}
		if i == 12 {
			break
		}
	}
	return fmt.Sprintf("%s%v %v", b.String(), s.End, s.Err)
}
