package report

import (
	"encoding/json"
	"fmt"
	"io"
	"testing"
)

// deepReport has one stack of n different frames.
func deepReport(n int) *Report {
	frames := make([]Frame, n)
	for i := range frames {
		f := with(at(fmt.Sprintf("std::vector<item>::visit%d", i), "queue.c", i+1), "n=0x55b8982216f0", "depth=1")
		f.CFA, f.Lookup, f.ReturnAddressLocation = f.SP+16, f.PC-1, Location{Address: f.SP + 8}
		frames[i] = f
	}
	return newSample(stack(4242, "queue", frames...))
}

func BenchmarkWriteJSON(b *testing.B) {
	for _, n := range []int{12_000, 262_144} {
		r := deepReport(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				WriteJSON(io.Discard, r)
			}
		})
	}
}

func BenchmarkEncodingJSON(b *testing.B) {
	r := deepReport(12_000)
	for b.Loop() {
		json.NewEncoder(io.Discard).Encode(r)
	}
}

func BenchmarkWriteText(b *testing.B) {
	r := deepReport(12_000)
	for name, opts := range map[string]TextOptions{"all": {}, "64": {MaxFrames: 64}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				WriteText(io.Discard, r, opts)
			}
		})
	}
}

func BenchmarkWriteTextThreads(b *testing.B) {
	var threads []Thread
	for i := range 200 {
		threads = append(threads, sampleQueue().Threads[i%4])
	}
	r := newSample(threads...)
	b.ReportAllocs()
	for b.Loop() {
		WriteText(io.Discard, r, TextOptions{})
	}
}

func BenchmarkWriteInfoText(b *testing.B) {
	in := sampleInfo()
	for range 1000 {
		in.Mappings = append(in.Mappings, in.Mappings[0])
	}
	b.ReportAllocs()
	for b.Loop() {
		WriteInfoText(io.Discard, in, TextOptions{})
	}
}

func BenchmarkParseJSON(b *testing.B) {
	var doc bytesWriter
	WriteJSON(&doc, deepReport(1000))
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if _, err := ParseJSON(doc); err != nil {
			b.Fatal(err)
		}
	}
}

type bytesWriter []byte

func (w *bytesWriter) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}
