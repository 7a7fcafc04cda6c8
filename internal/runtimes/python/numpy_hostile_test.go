package python

import (
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/tasks"
)

// TestScalarGuards makes an object as numpy's int16 and one thing at a time that is not as numpy has it.
func TestScalarGuards(t *testing.T) {
	const object, typeAt, meta, name = base + 0x100, base + 0x1000, base + 0x2000, base + 0x1800
	for what, c := range map[string]struct {
		spoil func(r *runtime, put func(at, v uint64))
		want  string
	}{
		"":                    {func(*runtime, func(at, v uint64)) {}, "-2"},
		"a class":             {func(r *runtime, put func(at, v uint64)) { put(typeAt+r.at("type.flags"), flagHeap) }, ""},
		"another size":        {func(r *runtime, put func(at, v uint64)) { put(typeAt+r.at("type.basicsize"), 32) }, ""},
		"many items":          {func(r *runtime, put func(at, v uint64)) { put(typeAt+r.at("type.itemsize"), 1) }, ""},
		"another name":        {func(_ *runtime, put func(at, v uint64)) { copyName(put, name, "numpy.int128") }, ""},
		"of no package":       {func(_ *runtime, put func(at, v uint64)) { copyName(put, name, "int16") }, ""},
		"a type that is none": {func(_ *runtime, put func(at, v uint64)) { put(meta+8, 0) }, "<no object at " + address(object) + ">"},
		"a bool that is none": {func(_ *runtime, put func(at, v uint64)) { copyName(put, name, "numpy.bool_") }, "?"},
		"not in the dump":     {func(_ *runtime, put func(at, v uint64)) { copyName(put, name, "numpy.complex128") }, ""},
	} {
		data := make([]byte, 1<<14)
		r, _ := over(data, 12)
		put := func(at, v uint64) { binary.LittleEndian.PutUint64(data[at-base:], v) }
		put(object+8, typeAt)
		put(object+16, 0xfefe_fffe)
		put(typeAt+8, meta)
		put(meta+8, meta)
		put(meta+r.at("type.flags"), flagType)
		put(typeAt+r.at("type.name"), name)
		put(typeAt+r.at("type.basicsize"), 24)
		copyName(put, name, "numpy.int16")
		c.spoil(r, put)
		w := newPrinter(r, tasks.Limits{})
		w.value(object, 0)
		if got := w.String(); c.want != "" && got != c.want || c.want == "" && got == "-2" {
			t.Errorf("%q: %s", what, got)
		}
	}
	// The value of an object that the dump has only the head of.
	data := make([]byte, 1<<14)
	r, _ := over(data, 12)
	w := newPrinter(r, tasks.Limits{})
	if w.scalar(base+uint64(len(data))-20, scalar{scalarFloat, 8}); w.String() != "?" {
		t.Errorf("a value that is not in the dump: %s", w.String())
	}
}

// TestScalarTexts: numbers at the limits of the formats, as numpy 1.24 prints them.
func TestScalarTexts(t *testing.T) {
	for _, c := range []struct {
		kind string
		size uint64
		bits uint64
		want string
	}{
		{scalarFloat, 2, 0x0001, "6e-08"}, {scalarFloat, 2, 0x7bff, "65500.0"}, {scalarFloat, 2, 0x2400, "0.01563"}, {scalarFloat, 2, 0x8000, "-0.0"},
		{scalarFloat, 2, 0x068e, "0.0001"}, {scalarFloat, 2, 0x068d, "9.996e-05"}, {scalarFloat, 2, 0xfc00, "-inf"}, {scalarFloat, 2, 0x7e00, "nan"},
		{scalarFloat, 4, 0x39800000, "0.00024414062"}, {scalarFloat, 4, 0x6c800000, "1.2379401e+27"}, {scalarFloat, 4, 0x38d1b717, "1e-04"},
		{scalarFloat, 4, 1, "1e-45"}, {scalarFloat, 4, 0x7f7fffff, "3.4028235e+38"}, {scalarFloat, 8, 1, "5e-324"},
		{scalarInt, 1, 0xff80, "-128"}, {scalarUint, 1, 0xff80, "128"}, {scalarInt, 8, 1 << 63, "-9223372036854775808"},
		{scalarComplex, 8, 0x3f800000_80000000, "(-0+1j)"}, {scalarComplex, 8, 0x3f800000_00000000, "1j"}, {scalarBool, 1, 2, "?"},
	} {
		b := binary.LittleEndian.AppendUint64(nil, c.bits)[:c.size]
		if got := (scalar{c.kind, c.size}).text(b); got != c.want {
			t.Errorf("%s%d %#x = %s, want %s", c.kind, c.size*8, c.bits, got, c.want)
		}
	}
}
