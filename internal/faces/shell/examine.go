package shell

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

// address evaluates an expression whose value is an address.
func (sh *Shell) address(ctx context.Context, expr string) (uint64, error) {
	if expr == "" {
		return 0, errors.New("an address is missing")
	}
	if n, err := strconv.ParseUint(expr, 0, 64); err == nil {
		return n, nil
	}
	f, err := sh.current()
	if err != nil {
		return 0, err
	}
	n, err := sh.s.Address(ctx, f.ID, expr, sh.dollars(ctx, expr))
	if err != nil { // of an array or a structure, where it is
		if v, failed := sh.s.Evaluate(ctx, f.ID, expr, sh.dollars(ctx, expr)); failed == nil && v.HasAddress && (v.Kind == "array" || v.Kind == "struct" || v.Kind == "union") {
			return uint64(v.Address), nil
		}
	}
	return n, err
}

// maxExamined is how many units x shows at most.
const maxExamined = 4096

// An examination is what x was asked for last: an empty one goes on behind it.
type examination struct {
	format byte
	unit   int
	next   uint64
	has    bool
}

// examine writes memory, as gdb's x does.
func (sh *Shell) examine(ctx context.Context, args string) error {
	spec, args := cutFormat(args)
	count, format, unit := 1, byte('x'), 4
	if sh.examined.has {
		format, unit = sh.examined.format, sh.examined.unit
	}
	digits := strings.TrimLeft(spec, "0123456789")
	if n := spec[:len(spec)-len(digits)]; n != "" {
		if count, _ = strconv.Atoi(n); count < 1 || count > maxExamined {
			return fmt.Errorf("from 1 to %d units are shown", maxExamined)
		}
	}
	sized := false
	for _, c := range []byte(digits) {
		switch c {
		case 'b', 'h', 'w', 'g':
			unit, sized = map[byte]int{'b': 1, 'h': 2, 'w': 4, 'g': 8}[c], true
		case 'x', 'd', 'u', 'c', 's', 'i', 'a', 'f', 't', 'o', 'z':
			format = c
		default:
			return fmt.Errorf("%q is no format and no unit: x/NFU with F of x d u o t z c a f s i, U of b h w g", c)
		}
	}
	switch {
	case format == 'a':
		unit = sh.s.Target().ProcessState().Arch().WordSize
	case format == 'c' && !sized:
		unit = 1
	case format == 'f' && unit < 4, format == 'f' && !sized && sh.examined.format != 'f':
		unit = 8
	}
	addr := sh.examined.next
	if args = strings.TrimSpace(args); args != "" {
		var err error
		if addr, err = sh.address(ctx, args); err != nil {
			return err
		}
	} else if !sh.examined.has {
		return errors.New("an address is missing")
	}
	sh.examined = examination{format: format, unit: unit, next: addr, has: true}
	sh.lastAddress(ctx, addr, unit, count, format)
	switch format {
	case 'i':
		list, err := sh.s.Disassemble(ctx, addr, 0, count)
		if err != nil {
			return err
		}
		if n := len(list); n > 0 {
			sh.examined.next = uint64(list[n-1].Address) + uint64(len(list[n-1].Bytes)/2)
		}
		o := codeOptions{}
		if sh.has {
			o.here = uint64(sh.frame.PC)
		}
		return sh.instructions(list, o)
	case 's':
		return sh.strings(ctx, addr, count)
	}
	b, err := sh.s.ReadMemory(ctx, addr, count*unit)
	if err != nil {
		return err
	}
	perLine := map[int]int{1: 8, 2: 8, 4: 4, 8: 2}[unit]
	for i := 0; i*unit+unit <= len(b); i++ {
		if i%perLine == 0 {
			if i > 0 {
				_ = sh.printf("\n")
			}
			_ = sh.printf("%#x:", addr+uint64(i*unit))
		}
		n := word(sh.s.Target().ProcessState().Arch().ByteOrder, b[i*unit:(i+1)*unit])
		switch format {
		case 'x':
			_ = sh.printf("\t0x%0*x", 2*unit, n)
		case 't':
			_ = sh.printf("\t%0*b", 8*unit, n)
		default:
			_ = sh.printf("\t%s", sh.inUnit(ctx, n, unit, format, true, ""))
		}
	}
	sh.examined.next = addr + uint64(len(b))
	if err := sh.printf("\n"); err != nil {
		return err
	}
	if len(b) < count*unit {
		return fmt.Errorf("no memory at %#x", addr+uint64(len(b)))
	}
	return nil
}

// word is a number of 1, 2, 4 or 8 bytes.
func word(order binary.ByteOrder, b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(order.Uint16(b))
	case 4:
		return uint64(order.Uint32(b))
	}
	return order.Uint64(b)
}

// cutZero returns what is before a zero; false if there is none.
func cutZero(b []byte) (text, rest string, ok bool) { return strings.Cut(string(b), "\x00") }

// maxString is how much of one string is shown.
const maxString = 200

func (sh *Shell) strings(ctx context.Context, addr uint64, count int) error {
	for range count {
		b, err := sh.s.ReadMemory(ctx, addr, maxString+1)
		if err != nil {
			return err
		}
		end := strings.IndexByte(string(b), 0)
		more := ""
		if end < 0 {
			end, more = min(len(b), maxString), "..."
		}
		if err := sh.printf("%#x:\t%s%s\n", addr, strconv.Quote(string(b[:end])), more); err != nil {
			return err
		}
		addr += uint64(end)
		if more == "" {
			addr++
		}
		sh.examined.next = addr
	}
	return nil
}

// Limits on what find reads and shows.
const (
	maxSearched = 1 << 32 // bytes
	maxFound    = 1000
	page        = 4096 // bytes: memory that is missing is missing by pages
)

// find searches memory for a sequence of values, as gdb does: find [/SN] START, END|+LENGTH, VALUE, ...
func (sh *Shell) find(ctx context.Context, args string) error {
	flags, rest := cutFormat(args)
	unit, most := 0, maxFound
	digits := strings.TrimLeft(flags, "bhwg")
	for _, c := range flags[:len(flags)-len(digits)] {
		unit = map[rune]int{'b': 1, 'h': 2, 'w': 4, 'g': 8}[c]
	}
	if digits != "" {
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 {
			return fmt.Errorf("find/%s is not known: find/bhwg and how many are shown at most", flags)
		}
		most = min(n, maxFound)
	}
	parts := splitComma(rest)
	if len(parts) < 3 {
		return errors.New("find [/bhwgN] START, END or +LENGTH, VALUE, ... needs a range and a value")
	}
	from, err := sh.address(ctx, strings.TrimSpace(parts[0]))
	if err != nil {
		return err
	}
	length, plus := strings.CutPrefix(strings.TrimSpace(parts[1]), "+")
	to, err := sh.address(ctx, length)
	if err != nil {
		return err
	}
	if plus {
		to += from
	} else if to != ^uint64(0) {
		to++
	}
	if to < from {
		return fmt.Errorf("the range ends at %#x, before it begins at %#x", to, from)
	}
	if to-from > maxSearched {
		return fmt.Errorf("a range of %d bytes: at most %d are searched; info proc mappings has the parts of memory", to-from, uint64(maxSearched))
	}
	pattern, err := sh.pattern(ctx, parts[2:], unit)
	if err != nil {
		return err
	}
	found, at, missing := 0, from, uint64(0)
	for at < to && found < most {
		n := min(int(min(to-at, 1<<20)), session.MaxRead)
		b, err := sh.s.ReadMemory(ctx, at, n)
		if context.Cause(ctx) != nil {
			return context.Cause(ctx)
		}
		if err != nil || len(b) == 0 {
			next := min(at|(page-1), to-1) + 1
			missing += next - at
			if at = next; at == 0 { // the last page of all
				break
			}
			continue
		}
		i := 0
		for found < most {
			j := bytes.Index(b[i:], pattern)
			if j < 0 {
				break
			}
			if err := sh.printf("%s\n", sh.symbolic(ctx, at+uint64(i+j))); err != nil {
				return err
			}
			found, i = found+1, i+j+1
		}
		if step := len(b) - len(pattern) + 1; len(b) == n && step > 0 && at+uint64(n) < to {
			at += uint64(step)
		} else {
			at += uint64(len(b))
		}
	}
	if missing > 0 {
		if err := sh.printf("%s of the range are not in the dump, or were not mapped: they were not searched.\n", report.Size(missing)); err != nil {
			return err
		}
	}
	switch {
	case found == 0:
		return sh.printf("Pattern not found.\n")
	case found == most:
		return sh.printf("%d patterns found; there may be more.\n", found)
	case found == 1:
		return sh.printf("1 pattern found.\n")
	}
	return sh.printf("%d patterns found.\n", found)
}

// pattern is the bytes of values.
func (sh *Shell) pattern(ctx context.Context, values []string, unit int) (out []byte, err error) {
	order := sh.s.Target().ProcessState().Arch().ByteOrder
	for _, value := range values {
		value = strings.TrimSpace(value)
		if s, rest, err := quotedText(value); err == nil && strings.TrimSpace(rest) == "" {
			out = append(out, s...)
			continue
		}
		n, err := sh.address(ctx, value)
		if err != nil {
			return nil, err
		}
		size := unit
		if size == 0 { // as gdb: of the value's own type, an int for small numbers
			size = 4
			if n > 1<<32-1 {
				size = 8
			}
			if v, err := sh.value(ctx, value); err == nil && (v.Size == 1 || v.Size == 2 || v.Size == 8) {
				size = int(v.Size)
			}
		}
		var b [8]byte
		order.PutUint64(b[:], n)
		if order == binary.ByteOrder(binary.BigEndian) {
			out = append(out, b[8-size:]...)
		} else {
			out = append(out, b[:size]...)
		}
	}
	if len(out) == 0 || len(out) > session.MaxRead/2 {
		return nil, errors.New("there is nothing to search for")
	}
	return out, nil
}

// dump writes memory to a file: dump [binary] memory FILE START END, dump [binary] value FILE EXPR.
func (sh *Shell) dump(ctx context.Context, args string) error {
	const usage = "dump [binary] memory FILE START END, or dump [binary] value FILE EXPR"
	words := strings.Fields(args)
	if len(words) > 0 && words[0] == "binary" {
		words = words[1:]
	}
	if len(words) < 3 {
		return errors.New(usage)
	}
	var from, to uint64
	switch what := words[0]; {
	case what == "memory" && len(words) == 4:
		var err error
		if from, err = sh.address(ctx, words[2]); err != nil {
			return err
		}
		if to, err = sh.address(ctx, words[3]); err != nil {
			return err
		}
	case what == "value":
		v, err := sh.value(ctx, strings.Join(words[2:], " "))
		if err != nil {
			return err
		}
		if !v.HasAddress {
			return errors.New("the value is not in memory")
		}
		from, to = uint64(v.Address), uint64(v.Address)+v.Size
	case words[0] == "srec" || words[0] == "ihex" || words[0] == "tekhex" || words[0] == "verilog":
		return fmt.Errorf("%s files are not written, but plain bytes: %s", words[0], usage)
	default:
		return errors.New(usage)
	}
	if to < from || to-from > maxSearched {
		return fmt.Errorf("%d bytes from %#x on: from 0 to %d are written", int64(to-from), from, uint64(maxSearched))
	}
	f, err := os.OpenFile(words[1], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("%w: dump writes new files only", err)
	}
	err = sh.copyMemory(ctx, f, from, to)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(words[1]))
	}
	return sh.printf("%d bytes were written to %s\n", to-from, report.Clean(words[1]))
}

func (sh *Shell) copyMemory(ctx context.Context, w io.Writer, from, to uint64) error {
	for at := from; at < to; {
		b, err := sh.s.ReadMemory(ctx, at, int(min(to-at, session.MaxRead)))
		if err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		at += uint64(len(b))
	}
	return nil
}
