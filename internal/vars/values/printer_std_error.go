package values

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/demangle"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Error codes and complex numbers of libstdc++ and libc++.

// stdComplex prints a complex number: 1 + 2i.
func stdComplex(b *builder, o *Object, t *types.Type, depth int) *Value {
	if v, ok := b.member(o, "_M_value"); ok {
		return b.value(&v, depth)
	}
	re, ok := b.member(o, "__re_")
	im, ok1 := b.member(o, "__im_")
	if !ok || !ok1 {
		return nil
	}
	first, second := b.value(&re, depth), b.value(&im, depth)
	if first.Err != nil || second.Err != nil {
		return nil
	}
	return b.text(o, first.Text+" + "+second.Text+"i")
}

// stdErrorCode prints an error code with its category: std::error_code generic: 2 (ENOENT).
func stdErrorCode(b *builder, o *Object, t *types.Type, depth int) *Value {
	var val Object
	var cat uint64
	ok, ok1 := false, false
	for _, names := range [...][2]string{{"_M_value", "_M_cat"}, {"__val_", "__cat_"}} {
		if val, ok = b.member(o, names[0]); ok {
			cat, ok1 = b.num(o, names[1])
			break
		}
	}
	if !ok || !ok1 {
		return nil
	}
	n, err := b.uint(&val, true)
	if err != nil {
		return nil
	}
	number := fmt.Sprint(int64(n))
	class, ok := b.dynamicType(cat)
	if !ok {
		return b.text(o, fmt.Sprintf("%s %s of the category at %s", title(t), number, b.p.addressText(cat)))
	}
	if i := strings.LastIndex(class, "::"); i >= 0 {
		class = class[i+len("::"):]
	}
	switch class {
	case "generic_error_category", "__generic_error_category":
		if name := errnoName(int64(n)); name != "" {
			number += " (" + name + ")"
		}
	}
	class = strings.TrimPrefix(strings.TrimSuffix(class, "_error_category"), "__")
	return b.text(o, title(t)+" "+class+": "+number)
}

// dynamicType returns the name of the class of the object at an address, from its virtual table
// (Itanium C++ ABI, 2.5.2): in front of the functions that has the address of the class's
// type_info, the second word of which is the address of the mangled name.
func (b *builder) dynamicType(addr arch.Address) (string, bool) {
	w := b.word()
	for _, off := range [...]uint64{0, -w, w} {
		next, err := b.p.Memory.ReadWord(addr + off)
		if err != nil || next == 0 {
			return "", false
		}
		addr = next
	}
	raw, cut, err := b.cString(addr, 1)
	text := strings.TrimPrefix(string(raw), "*") // of a class that only one file has
	if err != nil || cut || text == "" {
		return "", false
	}
	return strings.CutPrefix(demangle.Name("_ZTS"+text), "typeinfo name for ")
}

// errnoNames are the errors of C whose numbers all systems share, from 1 on; 11 is not one.
const errnoNames = "EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD - ENOMEM EACCES EFAULT ENOTBLK EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE"

func errnoName(n int64) string {
	names := strings.Fields(errnoNames)
	if n < 1 || n > int64(len(names)) || n == 11 {
		return ""
	}
	return names[n-1]
}
