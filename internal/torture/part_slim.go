package main

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/corewalk/corewalk/internal/format/slimnote"
)

// slimParts are the notes of a slim core: what was dropped, which modules there were, and what is kept of their files.
func slimParts() []base {
	le := binary.LittleEndian
	note := slimnote.Note{Kind: 1, Have: 100, Want: 200, Ranges: []slimnote.Range{{Start: 0x1000, End: 0x3000, Claim: 0x3000, Have: 0x2000, Flags: 4}, {Start: 0x3000, End: 0x4000, Claim: 0x3000, Have: 0x3000, Flags: 6}}}
	modules := slimnote.Modules{Mapped: true, Files: true, List: []slimnote.Module{
		{Base: 0x1000, Size: 0x3000, HasBias: true, BuildID: []byte{1, 2, 3, 4}, Path: "/bin/program", DebugID: "D", CodeID: "C", DebugFile: "program.dbg", Version: "1"},
		{Base: 0x8000, Size: 0x1000, Partial: true, Path: "library"},
	}}
	kept := []slimnote.Kept{{Start: 0x1000, RA: 16, Symbols: []slimnote.KeptSymbol{{Addr: 0x1010, Size: 4, Func: true, Name: "f"}, {Addr: 0x2000, Size: 8, Name: "data"}},
		Rows: []slimnote.KeptRow{{PC: 0x1012, Reg: 7, Offset: 16, Rules: []slimnote.KeptRule{{Reg: 16, Offset: -8}, {Reg: 3, Undefined: true}}}}}, {Start: 0x8000, RA: 16}}
	made := []slimnote.Made{{Start: 0x1000, Size: 64, Name: "f", Places: []slimnote.MadePlace{{Addr: 0x1008, Line: 4, File: "a.toy"}, {Addr: 0x1010}}}, {Start: 0x2000, Size: 8, Cut: true, Name: "g"}}
	return part{"slim", fixed(func() map[string][]byte {
		return map[string][]byte{"note": note.Bytes(le), "modules": modules.Bytes(le), "kept": slimnote.KeptBytes(kept, le), "made": slimnote.MadeBytes(made, le)}
	}), bytesShape(4), useSlim}.bases("note", "modules", "kept", "made")
}

func useSlim(data []byte, _ *rand.Rand) {
	for _, big := range []bool{false, true} {
		_, _ = slimnote.Parse(data, big)
		_, _ = slimnote.ParseModules(data, big)
		_, _ = slimnote.ParseKept(data, big)
		_, _ = slimnote.ParseMade(data, big)
	}
}
