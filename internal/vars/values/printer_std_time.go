package values

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// Durations and points in time of std::chrono, of libstdc++ and libc++.

// units are the names of ratios of a second.
var units = lazy.Value[map[[2]int64]string]{Make: func() map[[2]int64]string {
	return map[[2]int64]string{
		{1, 1_000_000_000}: "ns", {1, 1_000_000}: "us", {1, 1000}: "ms", {1, 1}: "s", {60, 1}: "min", {3600, 1}: "h", {86400, 1}: "d",
	}
}}

// ratio returns the numerator and denominator of a std::ratio.
func ratio(t *types.Type) (num, den int64, ok bool) {
	if t == nil {
		return 0, 0, false
	}
	_, args, ok := strings.Cut(strings.TrimSuffix(t.Strip().BareName, ">"), "ratio<")
	first, second, two := strings.Cut(args, ",")
	number := func(s string) int64 {
		n, err := strconv.ParseInt(strings.TrimRight(strings.TrimSpace(s), "lL"), 10, 64)
		if err != nil || n <= 0 {
			ok = false
		}
		return n
	}
	if num = number(first); two {
		den = number(second)
	} else {
		den = 1
	}
	return num, den, ok
}

// ticks returns the count of a duration: its member, the number in words, and the ratio of a
// second that it counts.
func (b *builder) ticks(o *Object, t *types.Type, depth int) (rep Object, text string, num, den int64, ok bool) {
	for _, name := range []string{"__r", "__rep_"} {
		if rep, ok = b.member(o, name); ok {
			break
		}
	}
	if !ok {
		return rep, "", 0, 0, false
	}
	if num, den, ok = ratio(t.TypeArg(1)); !ok {
		return rep, "", 0, 0, false
	}
	v := b.value(&rep, depth+1)
	if v.Err != nil || v.Text == "" {
		return rep, "", 0, 0, false
	}
	return rep, v.Text, num, den, true
}

// chronoDuration prints a duration with its unit: 1500ms, or with the ratio of a second.
func chronoDuration(b *builder, o *Object, t *types.Type, depth int) *Value {
	_, text, num, den, ok := b.ticks(o, t, depth)
	if !ok {
		return nil
	}
	if unit := units.Get()[[2]int64{num, den}]; unit != "" {
		return b.text(o, text+unit)
	}
	return b.text(o, fmt.Sprintf("%s times %d/%d s", text, num, den))
}

// chronoPoint prints a point in time: as a date if the clock is the system's, else as the
// time since the clock's start.
func chronoPoint(b *builder, o *Object, t *types.Type, depth int) *Value {
	var since Object
	ok := false
	for _, name := range []string{"__d", "__d_"} {
		if since, ok = b.member(o, name); ok {
			break
		}
	}
	if !ok || t.TypeArg(0) == nil {
		return nil
	}
	span := since.Type.Strip()
	clock := t.TypeArg(0).FullName()
	if clock == "std::chrono::_V2::system_clock" || clock == "std::chrono::system_clock" || clock == "std::__1::chrono::system_clock" {
		rep, _, num, den, ok := b.ticks(&since, span, depth)
		if !ok || rep.Type.Strip().Aggregate() || rep.Type.Floats() {
			return nil
		}
		n, err := b.uint(&rep, true)
		if err != nil {
			return nil
		}
		if text, ok := date(int64(n), num, den); ok {
			return b.text(o, text)
		}
	}
	v := chronoDuration(b, &since, span, depth)
	if v == nil {
		return nil
	}
	return b.text(o, v.Text+" since the start of "+clock)
}

// date returns the date that is n times num/den seconds after 1970 began in UTC; false if it
// is outside the years 1 to 9999.
func date(n, num, den int64) (string, bool) {
	ns := new(big.Int).Mul(big.NewInt(n), big.NewInt(num))
	ns.Mul(ns, big.NewInt(int64(time.Second)))
	ns.Div(ns, big.NewInt(den))
	sec, rest := new(big.Int).DivMod(ns, big.NewInt(int64(time.Second)), new(big.Int))
	if !sec.IsInt64() || sec.Int64() > math.MaxInt32*200 || sec.Int64() < -math.MaxInt32*200 {
		return "", false
	}
	at := time.Unix(sec.Int64(), rest.Int64()).UTC()
	if at.Year() < 1 || at.Year() > 9999 {
		return "", false
	}
	return at.Format("2006-01-02 15:04:05.999999999 UTC"), true
}
