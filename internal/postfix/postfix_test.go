package postfix

import (
	"errors"
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
		if !errors.Is(err, c.err) || err == nil && got != c.want {
			t.Errorf("%.40q: %#x, %v; want %#x, %v", c.program, got, err, c.want, c.err)
		}
	}
}

func TestValuesOf32BitsWrap(t *testing.T) {
	m := Machine{WordSize: 4, Reg: func(string) (uint64, bool) { return 1<<32 | 0xffffffff, true }}
	if v, err := m.Value("$esp 2 +"); err != nil || v != 1 {
		t.Errorf("%#x, %v", v, err)
	}
	if v, err := m.Value("-1"); err != nil || v != 0xffffffff {
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
		if !errors.Is(err, c.err) || ok == c.gone || v != c.want {
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

// TestWinFrame has the programs of MSVC's and LLVM's linkers for the three kinds
// of frames: with EBP, without, and with an aligned stack.
func TestWinFrame(t *testing.T) {
	mem := words(map[uint64]uint64{
		0x100c: 0xb00, 0x1010: 0x500010, 0x1014: 0xbad, 0x2000: 0x2222, 0x2004: 0x600010, 0x1ff8: 0xeb,
	})
	call := WinCall{EIP: 0x401000, ESP: 0x1000, EBP: 0x2000, EBX: 0x33, HasEBP: true, HasEBX: true}
	for _, c := range []struct {
		name   string
		frame  WinFrame
		callee uint32
		want   WinRegs
		err    error
	}{
		{"frame pointer", WinFrame{SavedRegs: 8, Program: "$T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + = $L $T0 .cbSavedRegs - = $P $T0 4 + .cbParams + ="}, 0,
			WinRegs{EIP: 0x600010, ESP: 0x2008, EBP: 0x2222, EBX: 0x33, Has: HasEBP | HasEBX}, nil},
		{"no frame pointer", WinFrame{Locals: 8, SavedRegs: 4, Program: "$T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + ="}, 4,
			WinRegs{EIP: 0x500010, ESP: 0x1014, EBP: 0x2000, EBX: 0x33, Has: HasEBP | HasEBX}, nil},
		{"aligned", WinFrame{Program: "$T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + = $T1 $T0 4 - 8 @ = $ebx $T1 ^ ="}, 0,
			WinRegs{EIP: 0x600010, ESP: 0x2008, EBP: 0x2000, EBX: 0x2222, Has: HasEBP | HasEBX}, nil},
		{"fpo", WinFrame{Locals: 8, SavedRegs: 8}, 0,
			WinRegs{EIP: 0x500010, ESP: 0x1014, EBP: 0x2000, EBX: 0x33, Has: HasEBP | HasEBX}, nil},
		{"fpo that saves ebp", WinFrame{Locals: 0, SavedRegs: 16, UsesBP: true}, 4,
			WinRegs{EIP: 0xbad, ESP: 0x1018, EBP: 0xb00, EBX: 0x33, Has: HasEBP | HasEBX}, nil},
		{"fpo out of memory", WinFrame{Locals: 0x100}, 0, WinRegs{}, ErrMemory},
		{"no result", WinFrame{Program: "$eip .undef ="}, 0, WinRegs{}, ErrUndefined},
	} {
		call.CalleeParams = c.callee
		got, err := c.frame.Caller(call, mem)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
}

func FuzzExec(f *testing.F) {
	f.Add("$T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + = $L $T0 .cbSavedRegs - =")
	f.Add("$T2 $esp .cbLocals + .cbSavedRegs + = $T0 .raSearchStart 8 @ = 5 0 /")
	f.Fuzz(func(t *testing.T, program string) {
		w := WinFrame{Program: program, Locals: 8}
		w.Caller(WinCall{ESP: 0x1000}, func(a uint64) (uint64, error) { return a * 3, nil })
		m := Machine{WordSize: 8, Read: func(a uint64) (uint64, error) { return a, nil }}
		m.Value(program)
	})
}
