package unwindrules

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

var errNoMemory = errors.New("not in the dump")

func words(m map[uint64]uint64) func(uint64) (uint64, error) {
	return func(a uint64) (uint64, error) {
		if v, ok := m[a]; ok {
			return v, nil
		}
		return 0, errNoMemory
	}
}

func TestValue(t *testing.T) {
	regs := map[string]uint64{"rsp": 0x1000, "x29": 0x2000, "rbp": ^uint64(0)}
	for _, c := range []struct {
		program string
		want    uint64
		err     error
	}{
		{"1 2 +", 3, nil},
		{"  7 2 -\t", 5, nil},
		{"2 7 -", ^uint64(4), nil},
		{"-8 3 +", ^uint64(4), nil},
		{"6 7 *", 42, nil},
		{"45 7 /", 6, nil},
		{"45 7 %", 3, nil},
		{"45 16 @", 32, nil},
		{"18446744073709551615", ^uint64(0), nil},
		{"$rsp 8 +", 0x1008, nil},
		{"rsp 8 +", 0x1008, nil},
		{"x29", 0x2000, nil},
		{"$rsp ^", 77, nil},
		{"$rsp 8 + ^ ^", 99, nil},
		{".cfa -8 +", 0x7ff8, nil},
		{"$rbp 1 +", 0, nil},
		{"45 0 /", 0, ErrSyntax},
		{"45 0 %", 0, ErrSyntax},
		{"45 12 @", 0, ErrSyntax},
		{"45 0 @", 0, ErrSyntax},
		{"1 2", 0, ErrSyntax},
		{"", 0, ErrSyntax},
		{"+", 0, ErrSyntax},
		{"1 +", 0, ErrSyntax},
		{"99999999999999999999", 0, ErrSyntax},
		{"!", 0, ErrSyntax},
		{"$x 1 =", 0, ErrSyntax},
		{".undef", 0, ErrUndefined},
		{"$nothing", 0, ErrUndefined},
		{"5 ^", 0, ErrMemory},
		{"5 ^", 0, errNoMemory},
		{strings.Repeat("1 ", 65), 0, ErrSyntax},
		{strings.Repeat("1 ", 64) + strings.Repeat("+ ", 63), 64, nil},
		{"1" + strings.Repeat(" 1 +", 600), 0, ErrSyntax},
	} {
		m := Machine{WordSize: 8, Read: words(map[uint64]uint64{0x1000: 77, 0x1008: 0x4000, 0x4000: 99}),
			Reg: func(n string) (uint64, bool) { v, ok := regs[n]; return v, ok }}
		m.Set(".cfa", 0x8000)
		got, err := m.Value(c.program)
		if !errors.Is(err, c.err) || err == nil && got.Bits != c.want {
			t.Errorf("%.40q: %#x, %v; want %#x, %v", c.program, got.Bits, err, c.want, c.err)
		}
	}
}

func TestValuesOf32BitsWrap(t *testing.T) {
	m := Machine{WordSize: 4, Reg: func(string) (uint64, bool) { return 1<<32 | 0xffffffff, true }}
	if v, err := m.Value("$esp 2 +"); err != nil || v.Bits != 1 {
		t.Errorf("%#x, %v", v, err)
	}
	if v, err := m.Value("-1"); err != nil || v.Bits != 0xffffffff {
		t.Errorf("%#x, %v", v, err)
	}
}

func TestExec(t *testing.T) {
	for _, c := range []struct {
		program, name string
		want          uint64
		gone          bool
		err           error
	}{
		{"$T0 $ebp = $eip $T0 4 + ^ =", "$eip", 0x401000, false, nil},
		{"$T0 $ebp =$eip $T0 4 + ^ =", "$eip", 0x401000, false, nil}, // as older linkers wrote it
		{"$T0 $ebp= $eip $T0 4 + ^=", "$eip", 0x401000, false, nil},
		{"$ebp .undef =", "$ebp", 0, true, nil},
		{"$T0 $ebp", "$T0", 0, true, ErrSyntax},
		{"4 $ebp =", "$ebp", 0x100, false, ErrSyntax},
		{".undef 4 =", "$ebp", 0x100, false, ErrSyntax},
		{"$T0 $T1 =", "$T0", 0, true, ErrUndefined},
		{"=", "$T0", 0, true, ErrSyntax},
	} {
		m := Machine{WordSize: 4, Read: words(map[uint64]uint64{0x104: 0x401000})}
		m.Set("$ebp", 0x100)
		err := m.Exec(c.program)
		v, ok := m.Var(c.name)
		if !errors.Is(err, c.err) || ok == c.gone || v.Bits != c.want {
			t.Errorf("%q: %s = %#x, %v, %v", c.program, c.name, v, ok, err)
		}
	}
}

func TestVariablesAreBounded(t *testing.T) {
	m := Machine{WordSize: 4}
	var err error
	for i := 0; i < 100 && err == nil; i++ {
		err = m.Set(strings.Repeat("x", i+1), 1)
	}
	if !errors.Is(err, ErrSyntax) || len(m.vars) != maxVars {
		t.Errorf("%d variables, %v", len(m.vars), err)
	}
}

// TestSources has values that are loaded from somewhere, and others that are computed.
func TestSources(t *testing.T) {
	m := Machine{WordSize: 8, Read: words(map[uint64]uint64{0x1000: 7, 7: 9}),
		Reg: func(n string) (uint64, bool) { return 0x1000, n == "x29" }}
	m.SetReg("$ebp", 0x1000)
	for _, c := range []struct {
		program string
		want    Value
	}{
		{"$x29 ^", Value{Bits: 7, From: FromMemory, Addr: 0x1000}},
		{"x29 ^ ^", Value{Bits: 9, From: FromMemory, Addr: 7}},
		{"$x29", Value{Bits: 0x1000, From: FromRegister, Reg: "x29"}},
		{"$ebp", Value{Bits: 0x1000, From: FromRegister, Reg: "ebp"}},
		{"$x29 ^ 0 +", Value{Bits: 7}},
		{"7", Value{Bits: 7}},
	} {
		if got, err := m.Value(c.program); err != nil || got != c.want {
			t.Errorf("%q: %+v, %v; want %+v", c.program, got, err, c.want)
		}
	}
	if err := m.Exec("$T0 $ebp = $ebx $T0 ^ = $esi $ebx ="); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Value{
		"$T0":  {Bits: 0x1000, From: FromRegister, Reg: "ebp"},
		"$esi": {Bits: 7, From: FromMemory, Addr: 0x1000},
	} {
		if got, _ := m.Var(name); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// winText formats the known registers: value and location.
func winText(r WinRegs, err error) string {
	if err != nil {
		return "error"
	}
	text := ""
	add := func(name string, v Value) {
		text += fmt.Sprintf("%s %x", name, v.Bits)
		if v.From == FromMemory {
			text += fmt.Sprintf("@%x", v.Addr)
		} else if v.From == FromRegister && v.Reg == name {
			text += " kept"
		}
		text += ", "
	}
	add("eip", r.EIP)
	add("esp", r.ESP)
	for i, v := range []Value{r.EBP, r.EBX, r.ESI, r.EDI} {
		if r.Has&(1<<i) != 0 {
			add(winRegNames[i][1:], v)
		}
	}
	return strings.TrimSuffix(text, ", ")
}

// TestWinFrame uses the programs of MSVC's and LLVM's linkers for the three kinds of
// frames: with EBP, without, and with an aligned stack.
func TestWinFrame(t *testing.T) {
	mem := words(map[uint64]uint64{
		0x100c: 0xb00, 0x1010: 0x500010, 0x1014: 0xbad, 0x2000: 0x2222, 0x2004: 0x600010, 0x1ff8: 0xeb,
	})
	call := WinCall{EIP: 0x401000, ESP: 0x1000, EBP: 0x2000, EBX: 0x33, EDI: 0x55, Has: HasEBP | HasEBX | HasEDI}
	for _, c := range []struct {
		name   string
		frame  WinFrame
		callee uint32
		want   string
		err    error
	}{
		{"frame pointer", WinFrame{SavedRegs: 8, Program: "$T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + = $L $T0 .cbSavedRegs - = $P $T0 4 + .cbParams + ="}, 0,
			"eip 600010@2004, esp 2008, ebp 2222@2000", nil}, // of the other saved register nothing is known
		{"frame pointer, nothing else saved", WinFrame{Program: "$T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + ="}, 0,
			"eip 600010@2004, esp 2008, ebp 2222@2000, ebx 33 kept, edi 55 kept", nil},
		{"no frame pointer", WinFrame{Locals: 8, Program: "$T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + ="}, 8,
			"eip 500010@1010, esp 1014, ebp 2000 kept, ebx 33 kept, edi 55 kept", nil},
		{"aligned", WinFrame{Program: "$T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + = $T1 $T0 4 - 8 @ = $ebx $T1 ^ ="}, 0,
			"eip 600010@2004, esp 2008, ebp 2000 kept, ebx 2222@2000, edi 55 kept", nil},
		{"fpo", WinFrame{Locals: 16}, 0,
			"eip 500010@1010, esp 1014, ebp 2000 kept, ebx 33 kept, edi 55 kept", nil},
		{"fpo that saves registers", WinFrame{Locals: 8, SavedRegs: 8}, 0, "eip 500010@1010, esp 1014, ebp 2000 kept", nil},
		{"fpo that saves ebp", WinFrame{Locals: 0, SavedRegs: 16, UsesBP: true}, 4,
			"eip bad@1014, esp 1018, ebp b00@100c", nil},
		{"fpo that saves ebp alone, out of memory", WinFrame{Locals: 16, SavedRegs: 4, UsesBP: true}, 0,
			"eip bad@1014, esp 1018, ebx 33 kept, edi 55 kept", nil},
		{"fpo that saves ebp alone", WinFrame{SavedRegs: 4, UsesBP: true}, 12,
			"eip 500010@1010, esp 1014, ebp b00@100c, ebx 33 kept, edi 55 kept", nil},
		{"fpo out of memory", WinFrame{Locals: 0x100}, 0, "error", ErrMemory},
		{"no result", WinFrame{Program: "$eip .undef ="}, 0, "error", ErrUndefined},
	} {
		call.CalleeParams = c.callee
		got, err := c.frame.Caller(call, &Machine{WordSize: 4, Read: mem})
		if text := winText(got, err); text != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %s, %v; want %s", c.name, text, err, c.want)
		}
	}
}

func FuzzExec(f *testing.F) {
	f.Add("$T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + = $L $T0 .cbSavedRegs - =")
	f.Add("$T2 $esp .cbLocals + .cbSavedRegs + = $T0 .raSearchStart 8 @ = 5 0 /")
	f.Fuzz(func(t *testing.T, program string) {
		w := WinFrame{Program: program, Locals: 8}
		w.Caller(WinCall{ESP: 0x1000}, &Machine{WordSize: 4, Read: func(a uint64) (uint64, error) { return a * 3, nil }})
		m := Machine{WordSize: 8, Read: func(a uint64) (uint64, error) { return a, nil }}
		m.Value(program)
	})
}
