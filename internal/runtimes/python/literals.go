package python

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"

	"github.com/corewalk/corewalk/internal/runtimes/remote"
)

// integer returns an int in decimal.
func (r *runtime) integer(at uint64) (string, bool) {
	var digits uint64
	negative := false
	if r.has("long.tag") {
		b := r.bytes(at+r.at("long.tag"), 8)
		if b == nil {
			return "", false
		}
		tag := r.p.State.Arch().ByteOrder.Uint64(b)
		digits, negative = tag>>3, tag&3 == 2
		if tag&3 == 1 {
			return "0", true
		}
	} else {
		b := r.bytes(at+r.at("var.size"), 8)
		if b == nil {
			return "", false
		}
		n := int64(r.p.State.Arch().ByteOrder.Uint64(b))
		if negative = n < 0; negative {
			n = -n
		}
		digits = uint64(n)
	}
	if digits == 0 {
		return "0", true
	}
	if digits > maxDigits {
		return "<int of " + strconv.FormatUint(digits*30, 10) + " bits>", digits < 1<<40
	}
	b := r.bytes(at+r.at("long.digit"), digits*4)
	if b == nil {
		return "", false
	}
	if digits <= 2 { // nearly all
		low, high := r.p.State.Arch().ByteOrder.Uint32(b), uint32(0)
		if digits == 2 {
			high = r.p.State.Arch().ByteOrder.Uint32(b[4:])
		}
		if low >= 1<<30 || high >= 1<<30 {
			return "", false
		}
		v := int64(high)<<30 | int64(low)
		if negative {
			v = -v
		}
		return strconv.FormatInt(v, 10), true
	}
	v := new(big.Int)
	for i := int(digits) - 1; i >= 0; i-- {
		d := r.p.State.Arch().ByteOrder.Uint32(b[i*4:])
		if d >= 1<<30 {
			return "", false
		}
		v.Or(v.Lsh(v, 30), big.NewInt(int64(d)))
	}
	if negative {
		v.Neg(v)
	}
	s := v.String()
	if len(s) > maxText {
		s = s[:maxText] + "..."
	}
	return s, true
}

// floatText writes a float as Python does.
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exp, _ := strings.Cut(s, "e")
	e, _ := strconv.Atoi(exp)
	if e < -4 || e >= 16 {
		sign := "+"
		if e < 0 {
			sign, e = "-", -e
		}
		return fmt.Sprintf("%se%s%02d", mantissa, sign, e)
	}
	s = strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

func complexText(re, im float64) string {
	return complexOf(binaryFloat{re, 64}, binaryFloat{im, 64})
}

func address(at uint64) string { return "0x" + strconv.FormatUint(at, 16) }

// short is a type's name without its module.
func short(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// quote writes text as Python's repr does.
func quote(s string) string { return remote.Quote([]rune(s), unicode.IsPrint, escape) }

// quoteBytes writes bytes as Python's repr does, without the b.
func quoteBytes(data []byte) string {
	chars := make([]rune, len(data))
	for i, c := range data {
		chars[i] = rune(c)
	}
	return remote.Quote(chars, func(c rune) bool { return c >= 0x20 && c < 0x7f }, escape)
}

func escape(c rune) string {
	switch {
	case c < 0x100:
		return fmt.Sprintf(`\x%02x`, c)
	case c < 0x10000:
		return fmt.Sprintf(`\u%04x`, c)
	}
	return fmt.Sprintf(`\U%08x`, c)
}
