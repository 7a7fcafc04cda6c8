package coro

import (
	"errors"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/unwind/arch"
)

// noFrame is the frame of variables that live in an object: nothing depends on registers.
type noFrame struct {
	spend func(units int) error
}

var errNoFrame = errors.New("its type depends on a stack frame")

func (noFrame) Number(u *dwarf.Unit, v *dwarf.Value) (uint64, error) {
	if v.Form.Class() == dwarf.ClassConstant {
		return v.U, nil
	}
	return 0, errNoFrame
}

func (f noFrame) NumberOf(_ arch.Address, u *dwarf.Unit, v *dwarf.Value) (uint64, error) {
	return f.Number(u, v)
}

func (noFrame) Stored(*dwarf.Unit, *dwarf.Value, uint64) (uint64, error) { return 0, errNoFrame }

func (noFrame) StoredOf(arch.Address, *dwarf.Unit, *dwarf.Value, uint64) (uint64, error) {
	return 0, errNoFrame
}

func (noFrame) Address(*dwarf.Unit, []byte, arch.Address) (arch.Address, error) {
	return 0, errNoFrame
}

func (noFrame) Constant(*dwarf.Unit, *dwarf.Value, *types.Type) (values.Object, error) {
	return values.Object{}, errNoFrame
}

func (noFrame) Variable(dwarf.DIE, types.Ref) (values.Object, error) {
	return values.Object{}, errNoFrame
}

func (noFrame) ConstantBytes(dwarf.DIE) ([]byte, bool) { return nil, false }
func (noFrame) Symbol(string) (arch.Address, bool)     { return 0, false }
func (noFrame) Global(uint32) (arch.Address, bool)     { return 0, false }
func (noFrame) Unit() *dwarf.Unit                      { return nil }
func (f noFrame) Spend(units int) error                { return f.spend(units) }
