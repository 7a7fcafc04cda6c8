//go:build amd64 || arm64 || 386

package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Offsets in the structure that a filter sees (struct seccomp_data). All architectures with a list of system calls
// are little-endian: the low half of an argument comes first.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// What a filter returns. A system call that is not known to be needed is reported as not implemented, for which
// Go's libraries have other ways.
const (
	allow   = unix.SECCOMP_RET_ALLOW
	deny    = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// A test compares the low half of an argument. The kernel uses no more of those that are tested.
type test struct {
	arg  uint32
	mask uint32   // 0 for all bits
	any  []uint32 // the values that pass
}

// A checked system call is allowed if its arguments pass all tests.
type checked struct {
	number uint32
	tests  []test
}

func load(off uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off}
}

func ret(what uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what}
}

// jump skips yes instructions if the accumulator is k, else no instructions.
func jump(k uint32, yes, no int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: uint8(yes), Jf: uint8(no)}
}

// program returns the filter of the process pid.
func program(pid uint32) []unix.SockFilter {
	// The numbers mean other system calls in another architecture's mode.
	p := []unix.SockFilter{load(offArch), jump(auditArch, 1, 0), ret(deny), load(offNumber)}
	if otherMode != 0 {
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: otherMode, Jt: 0, Jf: 1}, ret(deny))
	}
	p = append(p, list(slices.Concat(allowed, allowedHere), allow)...)
	for _, c := range slices.Concat(checkedCalls(pid), checkedHere) {
		body := c.body()
		p = append(append(p, jump(c.number, 0, len(body))), body...)
	}
	p = append(p, list(slices.Concat(denied, deniedHere), deny)...)
	return append(p, ret(unknown))
}

// list returns what for each of the numbers.
func list(numbers []uint32, what uint32) (p []unix.SockFilter) {
	const most = 128 // a jump skips at most 255
	for len(numbers) > 0 {
		n := min(len(numbers), most)
		for i, nr := range numbers[:n] {
			left := n - 1 - i
			if left > 0 {
				p = append(p, jump(nr, left, 0))
			} else {
				p = append(p, jump(nr, 0, 1))
			}
		}
		p = append(p, ret(what))
		numbers = numbers[n:]
	}
	return p
}

// body decides on the arguments.
func (c checked) body() (p []unix.SockFilter) {
	for _, t := range c.tests {
		p = append(p, load(offArgs+8*t.arg))
		if t.mask != 0 {
			p = append(p, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: t.mask})
		}
		for i, v := range t.any {
			p = append(p, jump(v, len(t.any)-i, 0)) // over the others and the refusal
		}
		p = append(p, ret(deny))
	}
	return append(p, ret(allow))
}
