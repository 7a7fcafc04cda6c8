package hotspot

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// A named process has symbols at the addresses of its frames: those below 100 are the virtual machine's.
type named struct {
	*recorded
	libstate.LibraryState
	libs  [2]*libstate.Library
	names map[uint64]string
}

func (n *named) LibraryTracker() libstate.LibraryState { return n }

func (n *named) LibraryAt(at uint64) (*libstate.Library, bool) {
	if at < 100 {
		return n.libs[0], true
	}
	return n.libs[1], true
}

func (n *named) SymbolAt(_ *libstate.Library, at uint64) (unwind.Symbol, bool) {
	s, ok := n.names[at]
	return unwind.Symbol{Name: s}, ok
}

// TestFold: between Java calls the stub and the virtual machine's functions that lead from one to the next are folded;
// what does something of its own, and what is younger than every Java frame, is not.
func TestFold(t *testing.T) {
	n := &named{recorded: &recorded{recording: &recording{}}, libs: [2]*libstate.Library{{Path: "libjvm.so"}, {Path: "libfoo.so"}}, names: map[uint64]string{}}
	w, err := unwind.NewWalker(n.recorded)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, c := range []struct{ stack, want string }{
		{"java stub _ZN9JavaCalls11call_helperEP9JavaValue _ZL17jni_invoke_staticP7JNIEnv_ foreign java", "1 2 3"},
		{"java stub _ZN9JavaCalls11call_helperEP9JavaValue _ZN6Events3logEv _ZN12LinkResolver13resolve_fieldEv <adapter> java", "1 2 4 5"},
		{"java stub _ZN9JavaCalls11call_helperEP9JavaValue _ZN10JavaThread17thread_main_innerEv foreign", "1 2 3"},
		{"java stub unnamed java", "1 2"},
		{"_ZN9JavaCalls11call_helperEP9JavaValue stub java", ""},                     // the youngest frames
		{"_ZN13SharedRuntime3endEv java _ZN9JavaCalls11call_helperEP9JavaValue", ""}, // no stub was there
		{"java stub java _ZN9JavaCalls11call_helperEP9JavaValue java", "1"},
		{"<blob> java <blob> java", ""},
		{"java stub _ZN9JavaCallsX4callEv _ZL6invokev _ZL13invoke_signalv", "1 3"},
	} {
		j := New(func() *tasks.Process { return &tasks.Process{State: n, Symbols: n} })
		j.vm = &VM{lib: n.libs[0]}
		clear(n.names)
		var frames []*unwind.Frame
		var list []tasks.Stretch
		for i, name := range strings.Fields(c.stack) {
			pc := uint64(i + 2)
			if name == "foreign" {
				pc += 100
			}
			f, err := unwind.NewFrame(pc, 0, 0, w)
			if err != nil {
				t.Fatal(err)
			}
			frames = append(frames, f)
			switch {
			case name == "stub":
				name = callStub
				fallthrough
			case name == "java", name[0] == '<':
				list = append(list, tasks.Stretch{From: i, To: i + 1, Named: true, Calls: []tasks.Call{{Function: name}}})
			case name == "foreign":
				n.names[f.LookupAddr()] = "_ZN9JavaCalls11call_helperEP9JavaValue"
			case name != "unnamed":
				n.names[f.LookupAddr()] = name
			}
		}
		var got []string
		at := 0
		for _, st := range j.fold(frames, list) {
			if st.From < at {
				t.Errorf("%s: stretches overlap", c.stack)
			}
			at = st.To
			for i := st.From; i < st.To && (st.Folded || !st.Named); i++ {
				got = append(got, fmt.Sprint(i))
			}
		}
		if !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%s: %v is folded, want %s", c.stack, got, c.want)
		}
	}
}
