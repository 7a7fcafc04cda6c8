package disasm

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind/arch"
	"golang.org/x/arch/loong64/loong64asm"
)

var loongKinds = map[string]Kind{
	"B": Jump, "BL": Call, "BEQ": CondJump, "BNE": CondJump, "BLT": CondJump, "BGE": CondJump, "BLTU": CondJump, "BGEU": CondJump,
	"BEQZ": CondJump, "BNEZ": CondJump, "BCEQZ": CondJump, "BCNEZ": CondJump, "SYSCALL": Syscall, "DBAR": Nop, "IBAR": Nop,
	"LD.D": Load, "LD.W": Load, "LD.H": Load, "LD.B": Load, "LD.BU": Load, "LD.HU": Load, "LD.WU": Load, "LDPTR.D": Load, "LDPTR.W": Load,
	"ST.D": Store, "ST.W": Store, "ST.H": Store, "ST.B": Store, "STPTR.D": Store, "STPTR.W": Store,
	"LDX.D": Load, "LDX.W": Load, "LDX.BU": Load, "STX.D": Store, "STX.B": Store, "FLD.D": Load, "FST.D": Store, "FLD.S": Load, "FST.S": Store,
	"LU12I.W": MovImm, "PCADDU12I": MovImm, "PCALAU12I": MovImm, "PCADDI": MovImm, "PCADDU18I": MovImm,
}

// TestLoongAgainstGoDecoder compares, for words of every opcode, the kind and the written
// general register with those of golang.org/x/arch.
func TestLoongAgainstGoDecoder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	seen, bad := map[string]int{}, 0
	words := 400_000
	if fixture.IsLong(t) {
		words = 3_000_000
	}
	for i := range words {
		w := r.Uint32()
		if i%2 == 0 { // the crowded part of the opcodes
			w &= 0x03ffffff
		}
		b := binary.LittleEndian.AppendUint32(nil, w)
		x, err := loong64asm.Decode(b)
		if err != nil {
			continue
		}
		name := x.Op.String()
		seen[name]++
		in, err := Decode(arch.Loong64, b, 0x10000)
		diff := ""
		switch {
		case err != nil:
			diff = err.Error()
		case loongKinds[name] != 0 && in.Kind != loongKinds[name] && !(in.Kind == Nop && strings.HasPrefix(name, "PC")):
			diff = in.Kind.String()
		default:
			diff = loongWrites(&in, x, name)
		}
		if diff != "" {
			if bad++; bad < 30 {
				t.Errorf("%08x %s: %s", w, x, diff)
			}
		}
	}
	if len(seen) < 200 {
		t.Errorf("only %d instructions met", len(seen))
	}
}

// loongWrites compares the written register: the first operand, if it is a general register
// and the instruction is neither a store nor a branch.
func loongWrites(in *Inst, x loong64asm.Inst, name string) string {
	reg, ok := x.Args[0].(loong64asm.Reg)
	if !ok || reg == loong64asm.R0 || reg > loong64asm.R31 {
		return ""
	}
	want := arch.Reg(reg - loong64asm.R0)
	for _, not := range []string{"ST", "B", "ASRT", "FST", "MOVGR2", "IDLE", "CACOP", "LDPTE", "INVTLB", "IOCSRWR", "TLB", "CSRWR"} {
		if strings.HasPrefix(name, not) && !strings.HasPrefix(name, "BSTR") && !strings.HasPrefix(name, "BYTEPICK") && !strings.HasPrefix(name, "BITREV") {
			return ""
		}
	}
	if !in.Writes.Has(want) {
		return "does not write " + in.arch.RegName(want)
	}
	return ""
}

func TestLoongCalls(t *testing.T) {
	t.Parallel()
	word := func(ws ...uint32) (b []byte) {
		for _, w := range ws {
			b = binary.LittleEndian.AppendUint32(b, w)
		}
		return b
	}
	for _, tt := range []struct {
		code []byte
		want CallSite
		ok   bool
	}{
		{word(0x54001000), CallSite{Len: 4, Target: 0x1000c, Direct: true}, true}, // bl 16
		{word(0x50001000), CallSite{}, false},                                     // b 16
		{word(0x4c000020), CallSite{}, false},                                     // ret
		{word(0x4c000181), CallSite{Len: 4}, true},                                // jirl ra, t0, 0
		{word(0x1e000021, 0x4c001021), CallSite{Len: 4, Target: 0x10000 - 8 + 1<<18 + 16, Direct: true}, true},
	} {
		if got, ok := CallBefore(arch.Loong64, tt.code, 0x10000); got != tt.want || ok != tt.ok {
			t.Errorf("% x: %+v, %v; want %+v, %v", tt.code, got, ok, tt.want, tt.ok)
		}
	}
}

func TestLoongFrame(t *testing.T) {
	t.Parallel()
	for w, want := range map[uint32]Kind{
		0x02ff8063: SubSP,     // addi.d sp, sp, -32
		0x02c08063: AddSP,     // addi.d sp, sp, 32
		0x29c06061: Store,     // st.d ra, sp, 24
		0x28c06061: Load,      // ld.d ra, sp, 24
		0x02c08076: Lea,       // addi.d fp, sp, 32
		0x00150076: MovSPtoFP, // move fp, sp
		0x4c000020: Ret,
		0x4c000180: JumpIndirect, // jr t0
		0x002a0000: Int3,         // break 0
		0x002a0007: Trap,         // break 7
		0x002b0000: Syscall,
	} {
		in, err := Decode(arch.Loong64, binary.LittleEndian.AppendUint32(nil, w), 0x10000)
		if err != nil || in.Kind != want {
			t.Errorf("%08x (%s): %v, %v; want %v", w, in.Text(TextOptions{}), in.Kind, err, want)
		}
	}
}
