package hotspot

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/corewalk/corewalk/internal/procmem"
)

// Where the thread, the exceptions and the classes of thrower are.
const (
	aThread, anError, another              = 0x1000, 0x1100, 0x1140
	throwable, itsName, itsPool, itsFields = 0x1200, 0x1280, 0x1300, 0x1380
	fieldName, fieldType                   = 0x1400, 0x1480
)

// thrower is a virtual machine with an exception that waits, of a class of the given name, and causes in a circle.
func thrower(class string) *VM {
	mem := make([]byte, page)
	word := func(at int, v uint64) { binary.LittleEndian.PutUint64(mem[at-0x1000:], v) }
	symbol := func(at int, s string) {
		binary.LittleEndian.PutUint16(mem[at-0x1000:], uint16(len(s)))
		copy(mem[at-0x1000+8:], s)
	}
	word(aThread+8, anError)
	for at, cause := range map[int]uint64{anError: another, another: anError} {
		word(at+8, throwable)
		word(at+16, cause)
	}
	word(throwable, itsName)
	word(throwable+16, itsPool)
	word(throwable+24, itsFields)
	symbol(itsName, class)
	symbol(fieldName, "cause")
	symbol(fieldType, "Ljava/lang/Throwable;")
	word(itsPool+8, fieldName)
	word(itsPool+16, fieldType)
	binary.LittleEndian.PutUint32(mem[itsFields-0x1000:], 6)
	for i, v := range []uint16{0, 1, 2, 0, 16<<2 | 1, 0} {
		binary.LittleEndian.PutUint16(mem[itsFields-0x1000+4+2*i:], v)
	}
	r := &recorded{recording: &recording{Pages: map[uint64][]byte{0x1000: mem}}}
	vm := &VM{memory: memory{procmem.Of(r)}, spend: func(int) error { return nil }, tables: &tables{fields: map[string]field{
		"ThreadShadow._pending_exception": {offset: 8}, "Klass._super": {offset: 8},
		"InstanceKlass._constants": {offset: 16}, "InstanceKlass._fields": {offset: 24},
	}}}
	vm.layout.symbolBody = 8
	vm.objects.ready = true
	return vm
}

// TestCauses has causes that lead in a circle: each is told of once.
func TestCauses(t *testing.T) {
	got := thrower("java/lang/Throwable").pending(aThread)
	if len(got) != 2 || got[0].Type != "java.lang.Throwable" || got[0].Relation != "" || got[1].Relation != "cause" {
		t.Errorf("got %+v, want two exceptions", got)
	}
}

// TestNoThrowable has an object in the exception's place that is none.
func TestNoThrowable(t *testing.T) {
	if got := thrower("java/lang/Integers").pending(aThread); len(got) != 0 {
		t.Errorf("got %+v of an object that is no exception", got)
	}
}

// TestRaisedBudget has no budget left.
func TestRaisedBudget(t *testing.T) {
	vm := thrower("java/lang/Throwable")
	vm.spend = func(int) error { return errors.New("spent") }
	if got := vm.pending(aThread); len(got) != 0 {
		t.Errorf("got %+v without budget", got)
	}
}
