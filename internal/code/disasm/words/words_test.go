package words

import (
	"debug/elf"
	"encoding/binary"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/arch/ppc64/ppc64asm"
	"golang.org/x/arch/s390x/s390xasm"

	"github.com/corewalk/corewalk/internal/fixture"
)

// A family is an architecture with its table, and what golang.org/x/arch writes.
type family struct {
	name  string
	table []line
	text  string
	write func(code, pc uint64) string
	arch  func(code, pc uint64) (string, error)
	whole func(code uint64) uint64 // leaves out the bits after the instruction
}

func families() []family {
	return []family{
		{"ppc64", tablePPC64.Get(), textPPC64, PPC64, func(code, pc uint64) (string, error) {
			in, err := ppc64asm.Decode(binary.BigEndian.AppendUint64(nil, code), binary.BigEndian)
			if err != nil {
				return "", err
			}
			return ppc64asm.GNUSyntax(in, pc), nil
		}, func(code uint64) uint64 {
			if code>>58 != 1 {
				return code &^ 0xffffffff
			}
			return code
		}},
		{"s390x", tableS390x.Get(), textS390x, S390x, func(code, pc uint64) (string, error) {
			in, err := s390xasm.Decode(binary.BigEndian.AppendUint64(nil, code))
			if err != nil {
				return "", err
			}
			return s390xasm.GNUSyntax(in, pc), nil
		}, func(code uint64) uint64 {
			return code &^ (1<<(64-8*s390Length(code)) - 1)
		}},
	}
}

func s390Length(code uint64) int { return [4]int{2, 4, 4, 6}[code>>62] }

// archText returns what golang.org/x/arch writes, empty for what it does not know; it panics about a few.
func (f *family) archText(code, pc uint64) (text string, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	text, err := f.arch(code, pc)
	if err != nil {
		text = ""
	}
	return text, true
}

func (f *family) compare(t *testing.T, code, pc uint64) {
	t.Helper()
	if want, ok := f.archText(code, pc); ok {
		if got := f.write(code, pc); got != want {
			t.Errorf("%016x: %q, want %q", code, got, want)
		}
	}
}

// What the tables write is what golang.org/x/arch writes: for instructions of each line, with any operands, and for
// words at random.
func TestAgainstArch(t *testing.T) {
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			if lines := strings.Count(f.text, "\n"); len(f.table) != lines-1 || lines < 1500 {
				t.Fatalf("%d lines, of which %d were read", lines, len(f.table))
			}
			r := rand.New(rand.NewPCG(1, 2))
			each, step, random := 16, 1, 50_000
			if !fixture.IsLong(t) {
				each, step, random = 4, 8, 10_000
			}
			for i, l := range f.table {
				for range each {
					f.compare(t, f.whole(r.Uint64()&^l.mask|l.value), r.Uint64()>>16)
				}
				for bit := i % step; bit < 64; bit += step { // the instructions next to it
					f.compare(t, f.whole((r.Uint64()&^l.mask|l.value)^1<<bit), 0x1000)
				}
				if t.Failed() {
					t.FailNow()
				}
			}
			for _, l := range f.table { // each operand without a bit, and with all
				for _, bits := range regexp.MustCompile(`\d+\.\d+`).FindAllString(l.text, -1) {
					at, of, _ := strings.Cut(bits, ".")
					first, _ := strconv.Atoi(at)
					n, _ := strconv.Atoi(of)
					field := (uint64(1)<<n - 1) << (64 - first - n) &^ l.mask
					code := r.Uint64()&^l.mask | l.value
					f.compare(t, f.whole(code&^field), 0x1000)
					f.compare(t, f.whole(code|field), 0x1000)
				}
			}
			for range random {
				f.compare(t, f.whole(r.Uint64()), r.Uint64()>>16)
			}
		})
	}
}

// An operand of a table is one that is known, of bits that an instruction has.
func TestOperands(t *testing.T) {
	operand := regexp.MustCompile(`^\{[uslpdaxzcqCKSBMXn]\d+\.\d+(\+\d+\.\d+)*(<\d)?(,\d+\.\d+)?\}$`)
	for _, f := range families() {
		for _, l := range f.table {
			for _, s := range regexp.MustCompile(`\{[^}]*\}?`).FindAllString(l.text, -1) {
				if !operand.MatchString(s) {
					t.Errorf("%s: %s: %s", f.name, l.text, s)
				}
			}
			if l.value&^l.mask != 0 {
				t.Errorf("%s: %016x has bits outside of %016x", f.name, l.value, l.mask)
			}
		}
	}
}

// The code of real programs.
func TestFixtures(t *testing.T) {
	all := families()
	for _, tt := range []struct {
		fixture string
		family  family
	}{
		{"ppc64le-crash-O1", all[0]}, {"ppc64-crash-O1", all[0]}, {"ppc-crash-O1", all[0]}, {"s390x-crash-O1", all[1]},
	} {
		t.Run(tt.fixture, func(t *testing.T) {
			file, err := elf.Open(fixture.Get(t, tt.fixture).Binary(t))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			section := file.Section(".text")
			code, err := section.Data()
			if err != nil {
				t.Fatal(err)
			}
			known := 0
			for at, n := 0, 4; at+8 <= len(code) && known < 100_000; at += n {
				var bits uint64
				if tt.family.name == "s390x" {
					bits = binary.BigEndian.Uint64(code[at:])
					n = s390Length(bits)
				} else {
					bits = uint64(file.ByteOrder.Uint32(code[at:]))<<32 | uint64(file.ByteOrder.Uint32(code[at+4:]))
				}
				bits = tt.family.whole(bits)
				tt.family.compare(t, bits, section.Addr+uint64(at))
				if tt.family.write(bits, 0) != "" {
					known++
				}
			}
			if known < 80 {
				t.Errorf("%d instructions", known)
			}
		})
	}
}
