package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fill sets everything in v, with two elements in each list, and two levels of recursive types.
func fill(v reflect.Value, n *int, in ...reflect.Type) {
	*n++
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 6000, time.FixedZone("", 3600))))
		return
	}
	if v.Type() == reflect.TypeFor[Location]() {
		v.Set(reflect.ValueOf(Location{Address: Addr(*n)}))
		return
	}
	levels := 0
	for _, t := range in {
		if (v.Kind() == reflect.Slice || v.Kind() == reflect.Pointer) && t == v.Type().Elem() {
			levels++
		}
	}
	if levels >= 2 {
		return
	}
	switch in = append(slices.Clip(in), v.Type()); v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" {
				fill(v.Field(i), n, in...)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), n, in...)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n, in...)
	case reflect.String:
		v.SetString(fmt.Sprintf("s%d \"\\<&>\né日\u2044\U0001f600", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(-*n))
	case reflect.Float64:
		v.SetFloat(1 / float64(*n))
	case reflect.Uint64:
		v.SetUint(1<<63 + uint64(*n))
	default:
		panic(v.Kind())
	}
}

func filled[T any]() *T {
	v, n := new(T), 0
	fill(reflect.ValueOf(v).Elem(), &n)
	return v
}

// oracle is encoding/json's opinion.
func oracle(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

func compact(t *testing.T, doc []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, doc); err != nil {
		t.Fatalf("%v in:\n%s", err, doc)
	}
	return b.String()
}

// TestJSONEqualsEncodingJSON checks the handwritten encoder against the structs' tags.
func TestJSONEqualsEncodingJSON(t *testing.T) {
	full, info := filled[Report](), filled[Info]()
	full.Schema, info.Schema = Schema, InfoSchema
	empty := &Report{Schema: Schema, Modules: []Module{}, Threads: []Thread{{Frames: []Frame{{Args: []Variable{}}}}}, Warnings: []Warning{}}
	for name, r := range map[string]*Report{"full": full, "empty": empty, "queue": sampleQueue(), "kinds": sampleKinds(), "explain": sampleExplain(), "around": sampleAround(), "process": sampleProcess()} {
		if r.Warnings == nil {
			r.Warnings = []Warning{}
		}
		var got bytes.Buffer
		if err := WriteJSON(&got, r); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(oracle(t, r), compact(t, got.Bytes())); diff != "" {
			t.Errorf("%s: (-encoding/json +WriteJSON):\n%s", name, diff)
		}
	}
	var got bytes.Buffer
	WriteInfoJSON(&got, info)
	if diff := cmp.Diff(oracle(t, info), compact(t, got.Bytes())); diff != "" {
		t.Errorf("info: (-encoding/json +WriteInfoJSON):\n%s", diff)
	}
	memory := filled[Memory]()
	memory.Schema = MemorySchema
	got.Reset()
	WriteMemoryJSON(&got, memory)
	if diff := cmp.Diff(oracle(t, memory), compact(t, got.Bytes())); diff != "" {
		t.Errorf("memory: (-encoding/json +WriteMemoryJSON):\n%s", diff)
	}
	diff := filled[MemoryDiff]()
	diff.Schema = MemoryDiffSchema
	got.Reset()
	WriteMemoryDiffJSON(&got, diff)
	if d := cmp.Diff(oracle(t, diff), compact(t, got.Bytes())); d != "" {
		t.Errorf("memory diff: (-encoding/json +WriteMemoryDiffJSON):\n%s", d)
	}
}

// TestJSONSharedFrames: tasks that share frames are written as if each had its own.
func TestJSONSharedFrames(t *testing.T) {
	n := 0
	frames := make([]Frame, 3)
	for i := range frames {
		fill(reflect.ValueOf(&frames[i]).Elem(), &n)
		frames[i].Index, frames[i].Physical = i, max(i-1, 0) // the first is inlined
	}
	frames[2].ReturnAddressLocation = Location{}
	var own, shared Report
	for task := range Addr(3) {
		mine, places := slices.Clone(frames), make([]FramePlace, 2)
		for i := range places {
			places[i] = FramePlace{SP: 0x1000*task + Addr(i), CFA: 0x100 * task * Addr(i), ReturnAddress: 0x2000 + task}
		}
		for i := range mine {
			p := places[mine[i].Physical]
			mine[i].SP, mine[i].CFA = p.SP, p.CFA
			if i < 2 {
				mine[i].ReturnAddressLocation = Location{Address: p.ReturnAddress}
			}
		}
		own.Tasks = append(own.Tasks, Task{ID: int(task), Frames: mine})
		shared.Tasks = append(shared.Tasks, Task{ID: int(task), Frames: frames, Places: places})
	}
	var a, b bytes.Buffer
	if err := errors.Join(WriteJSON(&a, &own), WriteJSON(&b, &shared)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(a.String(), b.String()); d != "" {
		t.Error(d)
	}
}

func TestJSONRoundTrip(t *testing.T) {
	full := filled[Report]()
	full.Schema = Schema
	full.Threads[0].Frames[0].ReturnAddressLocation = Location{Register: "x30"}
	for name, r := range map[string]*Report{"full": full, "queue": sampleQueue(), "kinds": sampleKinds(), "gaps": sampleGaps(), "recursion": sampleRecursion()} {
		var doc bytes.Buffer
		if err := WriteJSON(&doc, r); err != nil {
			t.Fatal(err)
		}
		back, err := ParseJSON(doc.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.Warnings == nil {
			r.Warnings = []Warning{}
		}
		if diff := cmp.Diff(r, back, cmp.Comparer(func(a, b Registers) bool { return slices.Equal(a, b) })); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		var again bytes.Buffer
		WriteJSON(&again, back)
		if !bytes.Equal(doc.Bytes(), again.Bytes()) {
			t.Errorf("%s: a report read back is written otherwise", name)
		}
	}
}

func TestJSONGolden(t *testing.T) {
	var doc bytes.Buffer
	if err := WriteJSON(&doc, sampleQueue()); err != nil {
		t.Fatal(err)
	}
	golden(t, "queue.json", doc.Bytes())
}

// TestJSONHostile checks that strings survive whole and cannot control a terminal.
func TestJSONHostile(t *testing.T) {
	r := sampleHostile()
	var doc bytes.Buffer
	if err := WriteJSON(&doc, r); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"\x1b", "\x07", "\u202e", "\u200b", "\u0085", "\u2028", "\x7f", "\xff"} {
		if bytes.Contains(doc.Bytes(), []byte(bad)) {
			t.Errorf("the document holds %q", bad)
		}
	}
	back, err := ParseJSON(doc.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	f := &back.Threads[0].Frames[0]
	if want := strings.Replace(hostile, "\xff\x80", `\xff\x80`, 1); f.Function != want {
		t.Errorf("function %q, want %q", f.Function, want)
	}
	if got, want := back.Threads[0].Frames[1].Function, r.Threads[0].Frames[1].Function; got != want {
		t.Error("a long name is not whole")
	}
	r.Dump.Time = time.Date(99999, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := WriteJSON(io.Discard, r); err != nil {
		t.Error(err)
	}
}

func TestParseJSONErrors(t *testing.T) {
	tests := []struct {
		doc  string
		want error // nil for any error
	}{
		{`{"schema": "corewalk/2"}`, ErrSchema},
		{`{}`, ErrSchema},
		{`{"schema": "corewalk-info/1"}`, ErrSchema},
		{`{"schema": "corewalk/1", "modules": [{"base": 12}]}`, ErrAddr},
		{`{"schema": "corewalk/1", "modules": [{"base": "12"}]}`, ErrAddr},
		{`{"schema": "corewalk/1", "modules": [{"base": "0x"}]}`, ErrAddr},
		{`{"schema": "corewalk/1", "modules": [{"base": "0x10000000000000000"}]}`, ErrAddr},
		{`{"schema": "corewalk/1", "threads": [{"registers": {"rax": "1"}}]}`, ErrAddr},
		{`{"schema": "corewalk/1", "threads": [{"registers": [1]}]}`, nil},
		{`{"schema": "corewalk/1", "threads": [{"frames": [{"return_address_location": 1}]}]}`, nil},
		{`{"schema": "corewalk/1"`, nil},
		{``, nil},
	}
	for _, test := range tests {
		_, err := ParseJSON([]byte(test.doc))
		if err == nil || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: error %v, want %v", test.doc, err, test.want)
		}
	}
	r, err := ParseJSON([]byte(`{"schema": "corewalk/1", "new": [1], "threads": [{"id": 3, "newer": {}, "registers": null}]}`))
	if err != nil || r.Threads[0].ID != 3 {
		t.Errorf("keys to come are not skipped: %v", err)
	}
}

func FuzzParseJSON(f *testing.F) {
	for _, r := range []*Report{sampleQueue(), sampleKinds(), sampleExplain(), sampleRegisters(), sampleHostile()} {
		var doc bytes.Buffer
		WriteJSON(&doc, r)
		f.Add(doc.Bytes())
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		r, err := ParseJSON(doc)
		if err != nil {
			return
		}
		var out, text bytes.Buffer
		if err := WriteJSON(&out, r); err != nil {
			t.Fatal(err)
		}
		if _, err := ParseJSON(out.Bytes()); err != nil {
			t.Fatalf("%v in:\n%s", err, out.Bytes())
		}
		for _, opts := range []TextOptions{{}, {Width: 1, MaxFrames: 1, ShowRegisters: true, HideInlines: true}, {Explain: true, MaxFrames: 3}} {
			text.Reset()
			if err := WriteText(&text, r, opts); err != nil {
				t.Fatal(err)
			}
			checkText(t, text.String(), false, 1<<20)
		}
	})
}
