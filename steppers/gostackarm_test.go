package steppers_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf/cfi/cfitest"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An arm64Proc is a fake process of arm64.
type arm64Proc struct{ mapper }

func (arm64Proc) Arch() *arch.Arch { return arch.ARM64 }

// The return addresses of goProcARM64, which follow calls: in the goroutine, and in a link
// register.
const (
	goCaller64 = bias + fnOther + 16
	goCallerLR = bias + fnOther + 8
)

// goProcARM64 is goProc with calls of arm64 before its return addresses.
func goProcARM64() *proc {
	p := goProc()
	for _, ra := range []uint64{goCaller64, goCallerLR} {
		s := p.at(ra - 4)
		binary.LittleEndian.PutUint32(s.data[ra-4-s.m.Start:], 0x97ffff00) // BL
	}
	p.put(goG+64, goCaller64)
	p.put(goG0+64, goCaller64)
	p.put(goOnG+8, goCaller64)
	return p
}

// On arm64 the scheduler and morestack put 16 bytes on g0's stack, asmcgocall keeps the g first, and a function
// whose stack is too small has its return address in the link register.
func TestGoStacksARM64(t *testing.T) {
	toGo := want{ra: goCaller64, sp: goOnG + 16, fp: 0}
	tests := []struct {
		name string
		fn   string
		sp   uint64 // goOnG0 by default
		set  func(p *proc)
		want want   // no ra: the bottom
		lr   uint64 // 0 for not restored
	}{
		{name: "systemstack", fn: "runtime.systemstack.abi0", want: toGo},
		{name: "C called from a goroutine", fn: "runtime.asmcgocall.abi0", want: toGo,
			set: func(p *proc) { p.put(goOnG0, goG, goStack+0x1000-goOnG) }},
		{name: "the scheduler", fn: "runtime.mcall", sp: goOnG0 - 16, want: want{ra: goCaller64, sp: goOnG0, fp: 0}},
		{name: "the scheduler, in the place of amd64's", fn: "runtime.mcall", sp: goOnG0 - 8},
		{name: "a stack too small", fn: "runtime.morestack.abi0", sp: goOnG0 - 16, want: want{ra: goCaller64, sp: goOnG, fp: 0}, lr: goCallerLR,
			set: func(p *proc) { p.put(goG+88, goCallerLR) }},
		{name: "a stack too small, before Go 1.25", fn: "runtime.morestack.abi0", sp: goOnG0 - 16, want: want{ra: goCaller64, sp: goOnG, fp: 0}, lr: goCallerLR,
			set: func(p *proc) { p.put(goG+88, 0, goCallerLR) }},
		{name: "a stack too small, no return address kept", fn: "runtime.morestack.abi0", sp: goOnG0 - 16, want: want{ra: goCaller64, sp: goOnG, fp: 0},
			set: func(p *proc) { p.put(goG+88, goOnG, goOnG) }},
		{name: "the clock", fn: "runtime.nanotime1.abi0", want: toGo},
		{name: "the race detector", fn: "racecall", want: want{ra: goCaller64, sp: goOnG + 16 + 0x100, fp: 0}, set: func(p *proc) { p.put(goOnG+0x108, goCaller64) }},
		{name: "a signal passed on", fn: "runtime.sigfwd.abi0", sp: goOnG, want: toGo},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			p := goProcARM64()
			if tc.set != nil {
				tc.set(p)
			}
			im := buildImage(t, func(_, df *cfitest.Section) {
				df.AddFDE(df.AddCIE(cfitest.CIE{RA: 30, Insns: new(cfitest.Program).DefCFA(31, 16).Offset(30, 1)}), fnCallee, 11, nil)
			}, unwind.Symbol{Name: tc.fn, Addr: fnCallee, Size: 11})
			w := walker(t, arm64Proc{mapper{p}}, nil, must(steppers.NewDebugStepper(arch.ARM64, fileOfAll{im})))
			sp := tc.sp
			if sp == 0 {
				sp = goOnG0
			}
			in := called(t, w, bias+fnCallee+8, sp, 0)
			for r, v := range map[arch.Reg]uint64{arch.ARM64X28: goG0, arch.ARM64X0 + 20: goOnG, arch.ARM64X19: goOnG + 0x100} {
				in.SetReg(r, v, unwind.InRegister(r))
			}
			f, err := w.WalkSingleFrame(in)
			if tc.want.ra == 0 {
				if !errors.Is(err, unwind.ErrStackBottom) {
					t.Errorf("%v, %v; want the bottom", f, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%v; %q", err, notes(in))
			}
			lr, _, ok := f.Reg(arch.ARM64.RA)
			if f.RA() != tc.want.ra || f.SP() != tc.want.sp || tc.lr != 0 && lr != tc.lr || tc.lr == 0 && ok && lr == goOnG {
				t.Errorf("%v, link register %#x %v; want %+v, %#x; %q", f, lr, ok, tc.want, tc.lr, notes(in))
			}
		})
	}
}
