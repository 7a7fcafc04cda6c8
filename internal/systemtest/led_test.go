package systemtest

import (
	"runtime"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// What inlined functions of a container read is named by the variables that lead there.
func TestLed(t *testing.T) {
	t.Parallel()
	want := map[byte][]string{ // any of
		'b': {`all["x"]->seats where all["x"] = 0x0, `, "all[...]->seats where all[...] = 0x0, "},
		'f': {`h.plans["none"]->seats where h.plans["none"] = 0x0, `, "h.plans.find(...)->second->seats where "},
		'h': {`h.cache["none"]->seats where h.cache["none"] = 0x0, `, "h.cache.find(...)->second->seats where "},
		'g': {`other.plans["none"]->seats where other.plans["none"] = 0x0, `, "other.plans.find(...)->second->seats where "},
		'n': {"h.by[33]->seats where h.by[33] = 0x0, ", "h.by.find(...)->second->seats where "},
		'e': {"*h.plans.end() = 0x7, ", "h.plans.find(...)->second->seats where "},
		'w': {"n.up->plan->next where n.up->plan = 0x0, ", "n.up.lock()->plan->next where n.up.lock()->plan = 0x0, "},
		'c': {"plan->seats where plan = 0x0, ", "this->plan->seats where this->plan = 0x0, "},
		'q': {"this->q[3]->seats where this->q[3] = 0x0, ", "this->q[i]->seats where ", "rax = 0x0; read from [rax] "}, // whose place the code no longer has
		'v': {"this->v->seats where this->v = 0x0, ", "std::get<Plan*>(this->v)->seats where "},
		'l': {"l[2]->seats where l[2] = 0x0, ", "(*it)->seats where *it = 0x0, "},
		'm': {"m[7]->seats where m[7] = 0x0, ", "kv.second->seats where kv.second = 0x0, "},
	}
	causesOf(t, "led.cpp", []string{"g++ -std=c++17", "clang++ -std=c++17"}, "bfhgnewcqvlm", func(t *testing.T, way byte, build, cause string) {
		for _, text := range want[way] {
			if strings.HasPrefix(cause, text) {
				return
			}
		}
		t.Errorf("%c: %s, want %q", way, cause, want[way])
	})
}

// The same of Rust.
func TestLedRust(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the instructions that are followed are of amd64")
	}
	want := map[string]string{"b": "s.by[3].part", "s": "s.some.part", "t": "s.tree[3].part", "q": "s.queue[3].part", "r": "s.row[3].part"}
	exe := fixture.Compile(t, "rustc", "causes/led.rs", "--edition", "2021", "-A", "warnings", "-g", "-C", "opt-level=2")
	for way, name := range want {
		r := analyzeCore(t, fixture.Crash(t, nil, exe, way), exe)
		if r.Crash == nil || len(r.Crash.Causes) == 0 || !strings.HasPrefix(r.Crash.Causes[0].Text, "(*"+name+").weight where "+name+" = 0x4141414141410000, ") {
			t.Errorf("%s: %+v", way, r.Crash)
		}
	}
}

// A function that was not entered where it begins is told with the pointer that led there; what it fails of is not certain.
func TestCalledInside(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the instructions that are followed are of amd64")
	}
	for _, compiler := range []string{"gcc", "clang"} {
		exe := fixture.Compile(t, compiler, "causes/inside.c", "-g", "-O0", "-w")
		for _, way := range []string{"9", "16", "24"} {
			r := analyzeCore(t, fixture.Crash(t, nil, exe, way), exe)
			if r.Crash == nil || !saysCause(r, "start was entered "+way+" bytes behind its beginning: o->run = 0x", report.Likely) || saysCause(r, "", report.Certain) {
				t.Errorf("%s: %+v", compiler+way, r.Crash)
			}
		}
		if r := analyzeCore(t, fixture.Crash(t, nil, exe, "plain"), exe); r.Crash == nil || saysCause(r, "was entered", "") {
			t.Errorf("%s: %+v", compiler, r.Crash)
		}
	}
	exe := fixture.Compile(t, "gcc", "causes/inside.c", "-g", "-O2", "-w")
	if r := analyzeCore(t, fixture.Crash(t, nil, exe, "free"), exe); r.Crash == nil || !saysCause(r, "free was given an address 16 bytes after what malloc returned at inside.c:", report.Likely) {
		t.Errorf("%+v", r.Crash)
	}
}

// The functions of musl's allocator that check a block have no names, no unwind tables, and no frame pointer: who called them is known by their code.
func TestMuslCaller(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the instructions that are followed are of amd64")
	}
	exe := fixture.Compile(t, "musl-gcc", "causes/inside.c", "-g", "-O0", "-w")
	r := analyzeCore(t, fixture.Crash(t, nil, exe, "free"), exe)
	if r.Crash == nil || !saysCause(r, ", 16 bytes from the beginning of the block of 64 bytes at 0x", "") || !saysCause(r, " (p)", "") {
		t.Errorf("%+v", r.Crash)
	}
}

// saysCause reports whether one of the causes has a text, and a confidence if that is not "".
func saysCause(r *report.Report, text, confidence string) bool {
	for _, c := range r.Crash.Causes {
		if strings.Contains(c.Text, text) && (confidence == "" || c.Confidence == confidence) {
			return true
		}
	}
	return false
}
