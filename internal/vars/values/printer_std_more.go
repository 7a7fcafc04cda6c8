package values

import (
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/vars/types"
)

// Small classes of libstdc++ and libc++ that wrap a value.

// stdAtomic prints an atomic as its value.
func stdAtomic(b *builder, o *Object, t *types.Type, depth int) *Value {
	for _, path := range [][]string{{"_M_i"}, {"_M_base", "_M_i"}, {"_M_b", "_M_p"}, {"_M_fp"}, {"__a_", "__a_value"}} {
		if v, ok := b.path(o, path...); ok {
			return b.value(&v, depth)
		}
	}
	return nil
}

// stdPath prints a std::filesystem::path as its text.
func stdPath(b *builder, o *Object, t *types.Type, depth int) *Value {
	for _, name := range []string{"_M_pathname", "__pn_"} {
		if v, ok := b.member(o, name); ok {
			return b.value(&v, depth)
		}
	}
	return nil
}

// stdBitset prints the bits of a std::bitset, the highest first as std::bitset::to_string
// does.
func stdBitset(b *builder, o *Object, t *types.Type, depth int) *Value {
	n, known := lastNumber(t)
	if known && n == 0 {
		return b.bitText(o, []byte(`""`), 0)
	}
	words, ok := b.member(o, "_M_w")
	if !ok {
		words, ok = b.member(o, "__first_")
	}
	if !known || !ok || words.Size*8 < n {
		return nil
	}
	shown := min(n, uint64(b.opts.MaxString))
	text := make([]byte, 0, shown)
	for i := range shown {
		bit := n - 1 - i
		at := bit / 8
		if b.p.Arch.Big() { // in each word the highest byte comes first
			word := b.word()
			at = at/word*word + word - 1 - at%word
		}
		data, err := b.p.Bytes(&words, at, 1)
		if err != nil {
			return Failed(o.Type, err)
		}
		text = append(text, '0'+data[0]>>(bit%8)&1)
	}
	return b.bitText(o, text, n)
}

// lastNumber returns the number that is the last argument of a template, by its name: std::bitset<10ul>.
func lastNumber(t *types.Type) (uint64, bool) {
	arg := strings.TrimSuffix(t.BareName, ">")
	arg = arg[strings.LastIndexAny(arg, "<, ")+1:]
	n, err := strconv.ParseUint(strings.TrimRight(arg, "ulUL"), 10, 64)
	return n, err == nil
}

// bitText returns the value of a set of n bits, of which text has the first.
func (b *builder) bitText(o *Object, text []byte, n uint64) *Value {
	v := b.text(o, string(text))
	if uint64(len(text)) < n {
		v.Text, v.More = v.Text+"...", true
	}
	return v
}

// stdAny prints which type a std::any of libstdc++ holds: by the name of the function that
// manages it.
func stdAny(b *builder, o *Object, t *types.Type, depth int) *Value {
	manager, ok := b.num(o, "_M_manager")
	if !ok {
		return nil
	}
	if manager == 0 {
		return b.text(o, "std::any [no contained value]")
	}
	symbol := b.p.addressText(manager)
	store, ok := b.member(o, "_M_storage")
	if !ok || !strings.Contains(symbol, ">::_S_manage") {
		return nil
	}
	if _, held, ok := strings.Cut(symbol, "_Manager_internal<"); ok {
		return b.anyValueOf(o, held, &store, depth)
	}
	if _, held, ok := strings.Cut(symbol, "_Manager_external<"); ok {
		return b.anyPointed(o, held, &store, depth)
	}
	return nil
}

// stdExpected prints a std::expected as the value or the error that it holds.
func stdExpected(b *builder, o *Object, t *types.Type, depth int) *Value {
	has, ok := b.num(o, "_M_has_value")
	if !ok || t.TypeArg(1) == nil {
		return nil
	}
	name := title(t) + "<" + t.TypeArg(0).Name() + ", " + t.TypeArg(1).Name() + ">"
	if has == 0 {
		unexpected, ok := b.member(o, "_M_unex")
		if !ok {
			return nil
		}
		v := b.holding(o, name, &unexpected, depth)
		v.Parts[0].Name = "[unexpected]"
		return v
	}
	value, ok := b.member(o, "_M_val")
	if !ok {
		return b.text(o, name+" [void]")
	}
	return b.holding(o, name, &value, depth)
}
