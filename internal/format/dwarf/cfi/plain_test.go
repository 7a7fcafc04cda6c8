package cfi

import (
	"reflect"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf/cfi/cfitest"
)

func TestPlain(t *testing.T) {
	saved := func() *cfitest.Program { return new(cfitest.Program).DefCFA(7, 32).Offset(16, 1).Offset(3, 2) }
	row := rowFor(t, Config{AddrSize: 8}, saved().OffsetSF(6, 1))
	minus := func(n int64) uint64 { return uint64(-n) }
	want := Plain{Base: 7, Offset: 32, RA: minus(8), Saved: []PlainRule{{3, minus(16)}, {6, minus(8)}}}
	row.RetAddrReg = 16
	if got, ok := row.Plain(); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, ok, want)
	}
	for name, c := range map[string]struct {
		insns  *cfitest.Program
		size   int
		column uint64
		signal bool
	}{
		"signal":                    {saved(), 8, 16, true},
		"addresses of four bytes":   {saved(), 4, 16, false},
		"no return address":         {saved(), 8, 15, false},
		"column that rows have not": {saved(), 8, 1 << 40, false},
		"unknown return address":    {saved().Undefined(16), 8, 16, false},
		"return address computed":   {saved().ValOffset(16, 1), 8, 16, false},
		"CFA by an expression":      {saved().DefCFAExpression(0x77, 0x10), 8, 16, false},
		"register unchanged":        {saved().SameValue(3), 8, 16, false},
		"register by an expression": {saved().Expression(3, 0x31), 8, 16, false},
		"register in another":       {saved().Register(3, 4), 8, 16, false},
	} {
		row := rowFor(t, Config{AddrSize: c.size}, c.insns)
		row.RetAddrReg, row.Signal = c.column, c.signal
		if got, ok := row.Plain(); ok {
			t.Errorf("%s: %+v; want none", name, got)
		}
	}
}
