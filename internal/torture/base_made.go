package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/unwind/arch"
)

// made are inputs that a hostile author would write: each costs much for its size. The first file is
// the dump, the second the program.
var made = map[string]func() (dump, program []byte){
	"variables of frames": func() ([]byte, []byte) {
		return withDWARF(60_000, func(d *dwarfMade) {
			typ := d.integer()
			d.function()
			for i := range 10_000 {
				d.variable(5, fmt.Sprint("a", i), typ)
			}
			d.end(2)
		})
	},
	"locals of frames": func() ([]byte, []byte) {
		return withDWARF(60_000, func(d *dwarfMade) {
			typ := d.integer()
			d.function()
			for i := range 10_000 {
				d.variable(0x34, fmt.Sprint("a", i), typ)
			}
			d.end(2)
		})
	},
	"inlined calls of frames": func() ([]byte, []byte) {
		return withDWARF(60_000, func(d *dwarfMade) {
			f := d.function()
			const depth = 10_000
			for range depth {
				d.die(0x1d, true, 0x31, 0x13, ref(f), 0x11, 0x01, u64(madeText), 0x12, 0x07, u64(madeEnd-madeText))
			}
			d.end(depth + 2)
		})
	},
	"threads of one stack": func() ([]byte, []byte) {
		c := newCore(1000)
		for i := range 60_000 {
			c.Thread(8+i, 0, corebuild.AMD64Regs(map[arch.Reg]uint64{arch.RSP: madeStack, arch.RIP: madePC, arch.RBP: madeStack}))
		}
		return c.bytes(), newELF().bytes()
	},
	"nested blocks": func() ([]byte, []byte) {
		return withDWARF(3, func(d *dwarfMade) {
			typ := d.integer()
			d.function()
			const depth = 1_000_000
			for range depth {
				d.die(0x0b, true, 0x11, 0x01, u64(madeText), 0x12, 0x07, u64(madeEnd-madeText))
			}
			d.variable(0x34, "deep", typ)
			d.end(depth + 2)
		})
	},
	"nested types": func() ([]byte, []byte) {
		return withDWARF(3, func(d *dwarfMade) {
			const depth = 1_000_000
			for range depth {
				d.die(0x13, true, 0x03, 0x08, str("s"), 0x0b, 0x0b, []byte{4})
			}
			d.end(depth)
			typ := d.integer()
			d.function()
			d.variable(0x34, "deep", typ)
			d.end(2)
		})
	},
	"type cycles": func() ([]byte, []byte) {
		return withDWARF(100, func(d *dwarfMade) {
			var types []int
			add := func(off int) { types = append(types, off) }
			for _, tag := range []uint64{0x16, 0x26, 0x35, 0x0f, 0x10, 0x42, 0x37, 0x47} {
				off := len(d.info)
				add(d.die(tag, false, 0x49, 0x13, ref(off)))
			}
			off := len(d.info) // a structure that contains itself, derived from itself
			add(d.die(0x13, true, 0x03, 0x08, str("self"), 0x0b, 0x0b, []byte{8}))
			d.die(0x0d, false, 0x03, 0x08, str("again"), 0x49, 0x13, ref(off), 0x38, 0x0b, []byte{0})
			d.die(0x1c, false, 0x49, 0x13, ref(off), 0x38, 0x0b, []byte{0})
			d.end(1)
			off = len(d.info)
			add(d.die(0x01, true, 0x49, 0x13, ref(off)))
			d.die(0x21, false, 0x49, 0x13, ref(off), 0x2f, 0x0b, []byte{9})
			d.end(1)
			off = len(d.info)
			add(d.die(0x15, true, 0x49, 0x13, ref(off)))
			d.die(0x05, false, 0x49, 0x13, ref(off))
			d.end(1)
			off = len(d.info) // two that are one another
			other := off + 5
			add(d.die(0x16, false, 0x49, 0x13, ref(other)))
			add(d.die(0x26, false, 0x49, 0x13, ref(off)))
			d.function()
			for i, typ := range types {
				d.variable(0x34, fmt.Sprint("v", i), typ)
				d.variable(0x05, fmt.Sprint("p", i), typ)
			}
			d.end(2)
		})
	},
	"wide structure": func() ([]byte, []byte) {
		return withDWARF(100, func(d *dwarfMade) {
			typ := d.integer()
			wide := d.die(0x13, true, 0x03, 0x08, str("wide"), 0x0b, 0x0b, []byte{8})
			for range 500_000 {
				d.die(0x0d, false, 0x03, 0x08, str("m"), 0x49, 0x13, ref(typ), 0x38, 0x0b, []byte{0})
			}
			d.end(1)
			d.function()
			for i := range 100 {
				d.variable(0x34, fmt.Sprint("v", i), wide)
			}
			d.end(2)
		})
	},
	"wide enumeration": func() ([]byte, []byte) {
		return withDWARF(100, func(d *dwarfMade) {
			wide := d.die(0x04, true, 0x03, 0x08, str("wide"), 0x0b, 0x0b, []byte{4})
			for range 500_000 {
				d.die(0x28, false, 0x03, 0x08, str("m"), 0x1c, 0x0b, []byte{1})
			}
			d.end(1)
			d.function()
			for i := range 100 {
				d.variable(0x34, fmt.Sprint("v", i), wide)
			}
			d.end(2)
		})
	},
	"array of many dimensions": func() ([]byte, []byte) {
		return withDWARF(100, func(d *dwarfMade) {
			typ := d.integer()
			wide := d.die(0x01, true, 0x49, 0x13, ref(typ))
			for range 100_000 {
				d.die(0x21, false, 0x2f, 0x06, []byte{255, 255, 255, 127})
			}
			d.end(1)
			d.function()
			for i := range 10 {
				d.variable(0x34, fmt.Sprint("v", i), wide)
			}
			d.end(2)
		})
	},
	"long chain of types": func() ([]byte, []byte) {
		return withDWARF(100, func(d *dwarfMade) {
			typ := d.integer()
			for range 300_000 {
				typ = d.die(0x0f, false, 0x49, 0x13, ref(typ))
			}
			d.function()
			for i := range 100 {
				d.variable(0x34, fmt.Sprint("v", i), typ)
			}
			d.end(2)
		})
	},
	"long names": func() ([]byte, []byte) {
		return withDWARF(1000, func(d *dwarfMade) {
			typ := d.die(0x24, false, 0x03, 0x08, str(string(bytes.Repeat([]byte("n"), 4<<20))), 0x0b, 0x0b, []byte{4}, 0x3e, 0x0b, []byte{5})
			d.function()
			for i := range 100 {
				d.variable(0x34, fmt.Sprint("v", i), typ)
			}
			d.end(2)
		})
	},
	"long name of a function": func() ([]byte, []byte) {
		return withDWARF(60_000, func(d *dwarfMade) {
			d.die(0x2e, false, 0x03, 0x08, str(string(bytes.Repeat([]byte("n"), 4<<20))), 0x11, 0x01, u64(madeText), 0x12, 0x07, u64(madeEnd-madeText))
			d.end(1)
		})
	},
	// The walk, which has no tables, spends the budget before the name is written for the first time.
	"long name of a function without tables": func() ([]byte, []byte) {
		e, d := newELF(), newDWARF()
		e.remove(".debug_frame")
		d.die(0x2e, false, 0x03, 0x08, str(string(bytes.Repeat([]byte("n"), 4<<20))), 0x11, 0x01, u64(madeText), 0x12, 0x07, u64(madeEnd-madeText))
		d.end(1)
		d.into(e)
		return newCore(60_000).bytes(), e.bytes()
	},
	// Of each frame, the code of its function says whether it has a frame pointer, from its beginning on.
	"frame pointers in long functions without tables": func() ([]byte, []byte) { return longFunctions(512<<10, 1<<20) },
	"expressions that loop": func() ([]byte, []byte) {
		return withDWARF(1000, func(d *dwarfMade) {
			typ := d.integer()
			d.function()
			for i := range 1000 {
				d.variable(0x05, fmt.Sprint("v", i), typ, 0x2f, 0xfd, 0xff) // DW_OP_skip to itself
			}
			d.end(2)
		})
	},
	"expressions that call themselves": func() ([]byte, []byte) {
		return withDWARF(1000, func(d *dwarfMade) {
			typ := d.integer()
			d.function()
			for i := range 1000 {
				self := byte(len(d.info))
				hi := byte(len(d.info) >> 8)
				d.variable(0x05, fmt.Sprint("v", i), typ, 0x98, self, hi, 0x98, self, hi) // DW_OP_call2
			}
			d.end(2)
		})
	},
	"values on entry": func() ([]byte, []byte) {
		return withDWARF(20_000, func(d *dwarfMade) {
			typ := d.integer()
			d.function()
			d.variable(0x05, "v", typ, 0xa3, 1, 0x55, 0x9f) // DW_OP_entry_value(rdi)
			d.die(0x48, true, 0x7d, 0x01, u64(madePC))      // DW_TAG_call_site, DW_AT_call_return_pc
			d.die(0x49, false, 0x02, 0x18, block(0x55), 0x7e, 0x18, block(0xa3, 1, 0x55))
			d.end(1)
			d.end(2)
		})
	},
	"attributes without bytes": func() ([]byte, []byte) {
		return withDWARF(3, func(d *dwarfMade) {
			var attrs []any
			for range 64 { // more are refused
				attrs = append(attrs, 0x3c, 0x19, []byte(nil)) // DW_AT_declaration, DW_FORM_flag_present
			}
			d.function()
			d.die(0x34, false, attrs...)
			one := d.info[len(d.info)-1:]
			d.info = append(d.info, bytes.Repeat(one, 1_000_000)...)
			d.end(2)
		})
	},
	"variables of an abstract instance": func() ([]byte, []byte) {
		return withDWARF(3, func(d *dwarfMade) {
			typ := d.integer()
			const n = 200_000
			abstract := d.die(0x2e, true, 0x03, 0x08, str("abstract"), 0x20, 0x0b, []byte{1})
			var vars []int
			for range n {
				vars = append(vars, d.die(0x34, false, 0x49, 0x13, ref(typ)))
			}
			d.end(1)
			d.die(0x2e, true, 0x31, 0x13, ref(abstract), 0x11, 0x01, u64(madeText), 0x12, 0x07, u64(madeEnd-madeText), 0x40, 0x18, block(0x9c))
			for i := range n {
				d.die(0x34, false, 0x31, 0x13, ref(vars[n-1-i]))
			}
			d.end(2)
		})
	},
	"long unwind program": func() ([]byte, []byte) {
		return withFrames(60_000, bytes.Repeat([]byte{0x0a}, 4<<20)) // DW_CFA_remember_state
	},
	"many rows": func() ([]byte, []byte) {
		return withFrames(60_000, append(bytes.Repeat([]byte{0x0a, 0x0b}, 2<<20), 0x40))
	},
	"unwind expression that loops": func() ([]byte, []byte) {
		return withFrames(60_000, []byte{0x0f, 4, 0x2f, 0xfd, 0xff, 0x30})
	},
	"symbols with one long name": func() ([]byte, []byte) {
		return withSymbols(500_000, 8<<20)
	},
	"link maps of namespaces over one another": linkMapsThatLie,
	"link map in a cycle":                      func() ([]byte, []byte) { return linkMaps(16_000, true) }, // more are left out
	"JIT list in a cycle":                      func() ([]byte, []byte) { return jitList(50_000, true) },
	"long JIT list":                            func() ([]byte, []byte) { return jitList(200_000, false) },
	"long link map":                            func() ([]byte, []byte) { return linkMaps(500_000, false) },
}

func withDWARF(frames int, fill func(*dwarfMade)) ([]byte, []byte) {
	e, d := newELF(), newDWARF()
	fill(d)
	d.into(e)
	return newCore(frames).bytes(), e.bytes()
}

func withFrames(frames int, program []byte) ([]byte, []byte) {
	e := newELF()
	e.section(".debug_frame", madeFrames(program))
	return newCore(frames).bytes(), e.bytes()
}

func withSymbols(n, length int) ([]byte, []byte) {
	e := newELF()
	var table []byte
	le := binary.LittleEndian
	for i := range n {
		table = le.AppendUint32(table, uint32(1+i%1000))
		table = append(table, 0x12, 0, 1, 0)
		table = le.AppendUint64(table, madeText)
		table = le.AppendUint64(table, 0x1000)
	}
	e.section(".symtab", table)
	e.section(".strtab", append(append([]byte{0, '_', 'Z'}, bytes.Repeat([]byte("1a"), length/2)...), 0))
	return newCore(1000).bytes(), e.bytes()
}

// linkMaps makes a program whose dynamic linker lists n libraries, the last of which leads to the first.
func linkMaps(n int, cycle bool) ([]byte, []byte) {
	le := binary.LittleEndian
	c := newCore(10)
	const dynamic, debug, list = madeData, madeData + 0x100, madeData + 0x1000
	b := make([]byte, 0x1000)
	put := func(at, v uint64) { le.PutUint64(b[at-madeData:], v) }
	put(dynamic, 21) // DT_DEBUG
	put(dynamic+8, debug)
	put(debug, 1)
	put(debug+8, list)
	name := uint64(list + 40*n)
	for i := range n {
		next := uint64(list + 40*(i+1))
		if i == n-1 {
			next = 0
			if cycle {
				next = list + 40*(uint64(n)/2)
			}
		}
		for _, v := range []uint64{uint64(i) << 12, name + uint64(i%64), dynamic, next, 0} {
			b = le.AppendUint64(b, v)
		}
	}
	b = append(b, bytes.Repeat([]byte("/lib/a"), 20_000)...)
	c.data = append(b, 0)
	return c.bytes(), newELF().bytes()
}

// linkMapsThatLie makes a program with 60 namespaces whose lists lie over one another, in an order of their own, and end in one another. Names lead out, to
// what is no file, to themselves and to nothing; dynamic sections are those of others, of the stack and of nothing.
func linkMapsThatLie() ([]byte, []byte) {
	const dynamic, debug, list, each, lists = madeData, madeData + 0x100, madeData + 0x4000, 1000, 60
	c := newCore(10)
	b := make([]byte, list-madeData+40*each*lists)
	putWords(b, 0, 21, debug) // DT_DEBUG
	var names []uint64
	for _, name := range []string{"/proc/self/mem", "../../../../../../etc/shadow", "/net/server/share/x", "/dev/zero", "//", "/opt/program", "\x1b[2J\u202e\n", "/usr/lib/../../../proc/1/root/etc/shadow (deleted)", "linux-vdso.so.1", "", "/" + strings.Repeat("n", 5000)} {
		names = append(names, madeData+uint64(len(b)))
		b = append(append(b, name...), 0)
	}
	names = append(names, madeStack, 0, 1<<62, debug)
	at := func(n int) uint64 { return list + 40*uint64(n%(each*lists)) }
	for n := range lists {
		version := uint64(2)
		putWords(b, 0x100+0x40*n, version, at(n*each), madePC, 0, 0, debug+0x40*uint64(n+1))
		for i := range each {
			k := n*each + i
			next := at((k + each + 7) % (each*lists - 1)) // into the list of the next
			if i%97 == 96 {
				next = at(k * 31)
			}
			dynamics := []uint64{dynamic, madeStack + 64, madeText, 0, 1<<64 - 8, list + 40*uint64(k)}
			putWords(b, int(list-madeData)+40*k, uint64(k)<<12, names[k%len(names)], dynamics[k%len(dynamics)], next, 1)
		}
	}
	putWords(b, 0x100+0x40*(lists-1), 2, at(5), madePC, 0, 0, debug) // back to the first
	c.data = b
	return c.bytes(), newELF().bytes()
}

// jitList makes a program with n files in the list of GDB's JIT interface, all of them the same one.
func jitList(n int, cycle bool) ([]byte, []byte) {
	le := binary.LittleEndian
	c, e := newCore(10), newELF()
	c.jit = true
	const descriptor, file, list = madeData + 0x100, madeData + 0x200, madeData + 0x1000
	symbol := le.AppendUint32(nil, 1)
	symbol = append(symbol, 0x11, 0, 1, 0)
	symbol = le.AppendUint64(le.AppendUint64(symbol, descriptor), 24)
	e.section(".symtab", append(make([]byte, 24), symbol...))
	e.section(".strtab", []byte("\x00__jit_debug_descriptor\x00"))
	b := make([]byte, 0x1000)
	putWords(b, descriptor-madeData, 1, 0, list)
	object := newELF().bytes()
	sections := int(le.Uint64(object[40:]))
	copy(b[file-madeData:], object[:64])
	copy(b[file-madeData+64:], object[sections:])
	le.PutUint64(b[file-madeData+40:], 64)
	for i := range n {
		next := uint64(list + 32*(i+1))
		if i == n-1 {
			next = 0
			if cycle {
				next = list + 32*(uint64(n)/2)
			}
		}
		for _, v := range []uint64{next, 0, file, 64 + uint64(len(object)-sections)} {
			b = le.AppendUint64(b, v)
		}
	}
	c.data = b
	return c.bytes(), e.bytes()
}

func madeBases() (list []base) {
	for _, name := range slices.Sorted(maps.Keys(madeDumps)) {
		list = append(list, base{kind: "made", name: name, ready: func(dir string) (*ready, error) { return aloneReady(madeDumps[name](), dir, foreignShape) }})
	}
	for _, name := range slices.Sorted(maps.Keys(madeSyms)) {
		list = append(list, base{kind: "made", name: "sym: " + name, ready: func(dir string) (*ready, error) { return madeSymReady(name, dir) }})
	}
	for _, name := range slices.Sorted(maps.Keys(madePEs)) {
		list = append(list, base{kind: "made", name: "pe: " + name, ready: func(dir string) (*ready, error) { return madePEReady(name, false, dir) }},
			base{kind: "made", name: "pe in memory: " + name, ready: func(dir string) (*ready, error) { return madePEReady(name, true, dir) }})
	}
	for _, name := range slices.Sorted(maps.Keys(madePDBs)) {
		list = append(list, base{kind: "made", name: "pdb: " + name, ready: func(dir string) (*ready, error) { return madePDBReady(name, dir) }})
	}
	for _, name := range slices.Sorted(maps.Keys(madeGo)) {
		list = append(list, base{kind: "made", name: "goroutines: " + name, ready: func(dir string) (*ready, error) { return madeGoReady(name, dir) }})
	}
	for _, name := range slices.Sorted(maps.Keys(madeJITs)) {
		list = append(list, base{kind: "made", name: "jit: " + name, ready: func(dir string) (*ready, error) { return madeJITReady(name, dir) }})
	}
	for _, name := range slices.Sorted(maps.Keys(made)) {
		list = append(list, base{kind: "made", name: name, ready: func(dir string) (*ready, error) { return madeReady(made[name], dir) }})
	}
	return list
}

// madeReady damages the program, mostly in the structures that its author wrote.
func madeReady(build func() (dump, program []byte), dir string) (*ready, error) {
	dump, program := build()
	core, exe := filepath.Join(dir, "core"), filepath.Join(dir, "program")
	if err := os.WriteFile(core, dump, 0o644); err != nil {
		return nil, err
	}
	s, err := stage(exe, program)
	if err != nil {
		return nil, err
	}
	empty := filepath.Join(dir, "none")
	r := &ready{data: program, shape: elfShape(program), repair: s.mend, close: s.close}
	r.run = func(edits []edit, rng *rand.Rand) error {
		return s.with(edits, func() {
			r.last = service(func(opts ...corewalk.Option) (*corewalk.Target, error) {
				return corewalk.Open(context.Background(), core, append(opts, corewalk.WithExecutable(exe), corewalk.WithSysroot(empty), corewalk.WithDebugDir(empty))...)
			}, rng)
		})
	}
	return r, nil
}
