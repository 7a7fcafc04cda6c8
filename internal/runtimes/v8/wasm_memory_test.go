package v8

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Each guard keeps functions of WebAssembly from being made of what is none.
func TestWasmGuards(t *testing.T) {
	for _, name := range []string{"node18-wasm.zst", "node20-wasm.zst", "node22-wasm.zst", "node24-wasm.zst"} {
		t.Run(name, func(t *testing.T) { wasmGuards(t, read(t, name)) })
	}
}

func wasmGuards(t *testing.T, r *recorded) {
	functions := func(words map[uint64]uint64) (out []string) {
		for _, s := range r.changed(words).walk(t) {
			if strings.Contains(s, "wasm") && !strings.Contains(s, "wasm.js") {
				out = append(out, s)
			}
		}
		return out
	}
	good := functions(nil)
	e := r.script().anywhere()
	fp, pc := r.FP, r.PC
	for range 64 { // the youngest frame of WebAssembly
		if e.marker(fp) == "Wasm" && r.At[pc-1] == "" {
			break
		}
		fp, pc = r.word(fp), r.word(fp+8)
	}
	instance := r.word(from(fp, frameInstance))
	m := e.wasmModuleOf(instance)
	if m == nil || len(good) < 9 || !strings.Contains(good[0], "inner ") {
		t.Fatalf("%q", good)
	}
	wire := r.word(m.at + e.wasmWire)
	node, at := r.word(m.at+e.wasmOwned+mapRoot), uint64(0)
	for node != 0 {
		if r.word(node+mapKey) <= pc-1 {
			at = r.word(node + mapKey + 8)
			node = r.word(node + mapRight)
		} else {
			node = r.word(node + mapLeft)
		}
	}
	sizes := at + e.wasmSizes
	for _, c := range []struct {
		what  string
		words map[uint64]uint64
	}{
		{"an instance without a map", map[uint64]uint64{instance - 1: 0}},
		{"an instance that is none", map[uint64]uint64{from(fp, frameInstance): 8}},
		{"a module whose jump table is another's", map[uint64]uint64{m.at + e.wasmWire + wireJumpTable: at + 8}},
		{"bytes that are no module", map[uint64]uint64{wire: r.word(wire) + 1}},
		{"too many bytes", map[uint64]uint64{wire + 8: 1 << 40}},
		{"code of another module", map[uint64]uint64{at: at}},
		{"code that begins behind the address", map[uint64]uint64{at + 8: pc + 16}},
		{"code that ends before the address", map[uint64]uint64{sizes: 1}},
		{"an absurd table", map[uint64]uint64{sizes + 8&^7: 0x7fffffff<<32 | 0x7fffffff}},
	} {
		if got := functions(c.words); len(got) > 0 && strings.Contains(got[0], "wasm-function[") {
			t.Errorf("%s: still %s", c.what, got[0])
		}
	}
	// What describes the function says that it is none.
	index := at + e.wasmProtected + 4
	word := r.word(index &^ 7)
	negative := word | 0x80000000<<(8*(index&4))
	if got := functions(map[uint64]uint64{index &^ 7: negative}); len(got) > 0 && strings.Contains(got[0], "wasm-function[") && !strings.Contains(got[0], "inner") {
		t.Errorf("code without a function is %s", got[0])
	}
	// A circle in the tree of code, and one of what was inlined, end.
	root := r.word(m.at + e.wasmOwned + mapRoot)
	if got := functions(map[uint64]uint64{root + mapLeft: root, root + mapRight: root}); len(got) == 0 {
		t.Error("no frame with a circle of code")
	}
	c := e.wasmCodeAt(m, pc-1)
	if len(c.inlined) > 0 {
		meta := r.word(at+e.wasmMeta) + uint64(r.u32(sizes+4)) + uint64(r.u32(at+e.wasmProtected)) + uint64(r.u32(sizes+8))
		words := map[uint64]uint64{} // each leads to itself, or to a later one
		b := slices.Clone(c.inlined)
		for i := 0; (i+1)*c.entry <= len(b); i++ {
			binary.LittleEndian.PutUint64(b[(i+1)*c.entry-8:], uint64(i+1)<<31)
		}
		for i, v := range b {
			a := meta + uint64(i)
			w, ok := words[a&^7]
			if !ok {
				w = r.word(a &^ 7)
			}
			shift := 8 * (a & 7)
			words[a&^7] = w&^(0xff<<shift) | uint64(v)<<shift
		}
		if got := functions(words); len(got) >= len(good)-1 || strings.Contains(got[0], "inner ") {
			t.Errorf("a circle of inlined functions: %q", got)
		}
	}
}

func (r *recorded) u32(at uint64) uint32 {
	return uint32(r.word(at&^7) >> (8 * (at & 4)))
}

// TestWasmWithoutSymbols: without a symbol that functions of WebAssembly need, a frame is said to be one, and no more.
func TestWasmWithoutSymbols(t *testing.T) {
	r := read(t, "node24-wasm.zst")
	delete(r.recording.Symbols, "v8dbg_type_WasmModuleObject__WASM_MODULE_OBJECT_TYPE")
	got := strings.Join(r.walk(t), "\n")
	if !strings.Contains(got, "<wasm function>") || strings.Contains(got, "wasm-function[") {
		t.Errorf("%s", got)
	}
}

// A module in memory of its own.
type wasmMemory []byte

func (m wasmMemory) ReadMem(at arch.Address, b []byte) (int, error) {
	return copy(b, m[min(at, uint64(len(m))):]), nil
}

func (m wasmMemory) ReadWord(at arch.Address) (uint64, error) {
	var b [8]byte
	m.ReadMem(at, b[:])
	return binary.LittleEndian.Uint64(b[:]), nil
}

func moduleOf(b []byte) *wasmModule {
	return &wasmModule{Reader: procmem.Reader{Memory: wasmMemory(b), Arch: arch.AMD64}, size: uint64(len(b)), spend: func(int) error { return nil }, script: &script{}}
}

// small is a module with a table, a memory, a global and a function that are imported, and a function with a name and an export.
var small = slices.Concat([]byte("\x00asm\x01\x00\x00\x00"), section(1, "\x01\x60\x00\x00"),
	section(2, "\x05"+"\x01e\x01a\x01\x63\x70\x01\x01\x90\x4e"+"\x01e\x01m\x02\x00\x01"+"\x01e\x01g\x03\x7f\x01"+"\x01e\x01t\x04\x00\x00"+"\x01e\x01f\x00\x00"),
	section(3, "\x01\x00"), section(7, "\x01\x02ex\x00\x01"), section(10, "\x01\x04\x00\x10\x00\x0b"),
	section(0, "\x03abc"), section(0, "\x04name"+"\x00\x02\x01m"+"\x01\x05\x01\x01\x02fn"))

func section(kind byte, body string) []byte { return append([]byte{kind, byte(len(body))}, body...) }

// TestWasmModule reads names and places from a module, and nothing from what is none.
func TestWasmModule(t *testing.T) {
	m := moduleOf(small)
	body := bytes.Index(small, []byte("\x00\x10\x00\x0b"))
	if got := m.call(1, 2); got.Function != "m.fn" || got.File != fmt.Sprintf("wasm://wasm:wasm-function[1]:%#x", body+2) {
		t.Errorf("%s at %s", got.Function, got.File)
	}
	if got := m.call(0, 2); got.Function != "wasm-function[0]" || got.File != "wasm://wasm:wasm-function[0]" { // imported
		t.Errorf("%s at %s", got.Function, got.File)
	}
	if got := moduleOf(small[:len(small)-2]).call(1, -1); got.Function != "m.ex" || got.File != "wasm://wasm:wasm-function[1]" { // by its export
		t.Errorf("%s at %s", got.Function, got.File)
	}
	bad := slices.Clone(small)
	copy(bad[len(bad)-2:], "\xff\xfe") // no UTF-8
	if got := moduleOf(bad).call(1, 0); got.Function != "m.ex" {
		t.Errorf("a name that is no text: %q", got.Function)
	}
	for n := range small {
		moduleOf(small[:n]).call(1, 0)
	}
	many := "\xff\xff\xff\xff\x0f" // that are not there: this must not take long
	moduleOf(slices.Concat(small[:8], section(2, many), section(7, many), section(10, many), section(0, "\x04name\x01\x05"+many))).call(1, 0)
}

// FuzzWasmModule reads names and places from anything.
func FuzzWasmModule(f *testing.F) {
	f.Add(small, uint32(1))
	f.Fuzz(func(t *testing.T, b []byte, index uint32) {
		m := moduleOf(b)
		spent := 0
		m.spend = func(n int) error { spent += n; return nil }
		m.call(uint64(index), 1)
		if spent > 200*(len(b)+100) {
			t.Errorf("%d spent on %d bytes", spent, len(b))
		}
	})
}
