package hotspot

import (
	"encoding/binary"
	"sort"
)

// The bytes of a PcDesc: the offset of its code, where its scope is, where its objects are, flags.
const descSize = 16

// maxInlined is the most methods that one address may be inlined in.
const maxInlined = 256

// An activation is a method and the index of its current bytecode; -1 if that is not known.
type activation struct {
	method *method
	bci    int
	// Of compiled code: where its variables and the monitors that it holds are described; 0 if they are not.
	values, monitors uint32
	objects          uint32 // and the objects that the compiler removed
}

// activations are the methods that run at an address of compiled code, innermost first; nil if
// that is not known. exact is false if the code between two places that the compiler described is meant.
func (vm *VM) activations(b *blob, pc uint64, called bool) (all []activation, exact bool) {
	own := vm.methodAt(b.method)
	if own == nil {
		return nil, false
	}
	if b.kind == kindCompiled {
		before, here, after := b.describes(pc)
		if called && here == 0 { // calls have descriptions of their own
			return []activation{{method: own, bci: -1}}, true
		}
		// Interrupted code: what comes next says more, unless that is a slow path at the end.
		for _, at := range []uint32{here, after, before} {
			if all := vm.scopesFrom(b, at, own); len(all) > 0 && all[0].bci >= 0 {
				if at == here {
					for i := range all {
						all[i].objects = b.objectsAt(pc)
					}
				}
				return all, at == here
			}
			if called {
				break
			}
		}
	}
	return []activation{{method: own, bci: -1}}, true
}

// scopesFrom decodes a scope and those it is inlined in, out to the method own; nil if that fails.
func (vm *VM) scopesFrom(b *blob, at uint32, own *method) (out []activation) {
	for range maxInlined {
		if at == 0 || uint64(at) >= b.scopesEnd-b.scopes {
			return nil
		}
		data := vm.scope(b, b.scopes+uint64(at))
		sender, n := vm.unsigned5(data)
		index, n2 := vm.unsigned5(data[n:])
		bci, n3 := vm.unsigned5(data[n+n2:])
		if n == 0 || n2 == 0 || n3 == 0 || index == 0 || uint64(index) > b.metadataCount {
			return nil
		}
		m := vm.methodAt(vm.Word(b.metadata + 8*uint64(index-1)))
		if m == nil {
			return nil
		}
		a := activation{method: m, bci: int(bci) - 1}
		rest := data[n+n2+n3:]
		values, n4 := vm.unsigned5(rest)
		_, n5 := vm.unsigned5(rest[n4:])
		monitors, n6 := vm.unsigned5(rest[n4+n5:])
		if n4 != 0 && n5 != 0 && n6 != 0 {
			a.values, a.monitors = values, monitors
		}
		if a.bci >= m.codeSize {
			a.bci = -1
		}
		out = append(out, a)
		if sender == 0 { // the compiled method itself
			if m != own {
				return nil
			}
			return out
		}
		if sender >= at { // senders lie before what they inlined
			return nil
		}
		at = sender
	}
	return nil
}

// scope reads the beginning of an encoded scope: six numbers of at most five bytes.
func (vm *VM) scope(b *blob, at uint64) []byte {
	return vm.Bytes(at, int(min(30, b.scopesEnd-at)))
}

// describes finds the scopes that are described for an address, before it and behind it: offsets in the
// scopes of the method; 0 where there is none.
func (b *blob) describes(pc uint64) (before, here, after uint32) {
	want := int64(pc - b.begin)
	at := func(i int) (int64, uint32) {
		d := b.descs[i*descSize:]
		return int64(int32(binary.LittleEndian.Uint32(d))), binary.LittleEndian.Uint32(d[4:])
	}
	n := len(b.descs) / descSize
	i := sort.Search(n, func(i int) bool { off, _ := at(i); return off >= want })
	if i > 0 {
		if off, scope := at(i - 1); off >= 0 {
			before = scope
		}
	}
	if i == n {
		return before, 0, 0
	}
	off, scope := at(i)
	if off != want {
		return before, 0, scope
	}
	if i+1 < n {
		_, after = at(i + 1)
	}
	return before, scope, after
}

// objectsAt is where the objects are described that the compiler removed, for an address that has a description; 0 if there
// are none.
func (b *blob) objectsAt(pc uint64) uint32 {
	n := len(b.descs) / descSize
	want := int64(pc - b.begin)
	i := sort.Search(n, func(i int) bool { return int64(int32(binary.LittleEndian.Uint32(b.descs[i*descSize:]))) >= want })
	if i == n || int64(int32(binary.LittleEndian.Uint32(b.descs[i*descSize:]))) != want {
		return 0
	}
	return binary.LittleEndian.Uint32(b.descs[i*descSize+8:])
}

// unsigned5 decodes a number of one to five bytes, of 6 bits each but the first ones of the last; 0 bytes if it is damaged.
// From JDK 20 on no byte is zero.
func (vm *VM) unsigned5(b []byte) (v uint32, n int) {
	least := byte(0)
	if vm.noZeroBytes() {
		least = 1
	}
	for i, c := range b {
		if c < least {
			return 0, 0
		}
		v += uint32(c-least) << (6 * i)
		if c < 192 || i == 4 {
			return v, i + 1
		}
	}
	return 0, 0
}

// noZeroBytes is true from JDK 20 on. JDK 8 calls its machine 25.
func (vm *VM) noZeroBytes() bool {
	return vm.version >= 20 && !vm.isOld()
}

// zigzag is a signed number out of an unsigned one.
func zigzag(v uint32) int { return int(int32(v>>1) ^ -int32(v&1)) }
