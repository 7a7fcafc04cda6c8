package cfi

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// TestAgainstReadelf compares every row of every FDE with what readelf prints.
// COREWALK_CFI_ORACLE names more AMD64 files to compare, separated by colons.
func TestAgainstReadelf(t *testing.T) {
	readelf, err := exec.LookPath("readelf")
	if err != nil {
		t.Skip("needs readelf")
	}
	files := []string{libcPath}
	if more := os.Getenv("COREWALK_CFI_ORACLE"); more != "" {
		files = append(files, strings.Split(more, ":")...)
	}
	for _, path := range files {
		t.Run(path, func(t *testing.T) {
			withHdr, without := openELF(t, path)
			cmd := exec.Command(readelf, "-wN", "--debug-dump=frames-interp", path)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Skip(err)
			}
			rows := compareRows(t, out, withHdr, without)
			if err := cmd.Wait(); err != nil && !t.Failed() {
				t.Skip("readelf: ", err)
			}
			if rows == 0 {
				t.Skip("readelf printed no rows")
			}
			t.Logf("%d rows compared", rows)
		})
	}
}

// compareRows reads readelf's output and returns how many rows it compared.
func compareRows(t *testing.T, out io.Reader, withHdr, without *Table) (rows int) {
	defer io.Copy(io.Discard, out)
	var row Row
	var columns []string
	inEH, inFDE := true, false
	lines := bufio.NewScanner(out)
	var pending []string
	flush := func(next uint64) {
		// readelf prints a row for each location; only the last of several at one
		// address is the address's row.
		if pending == nil || len(pending) != len(columns) {
			pending = nil
			return
		}
		loc, _ := strconv.ParseUint(pending[0], 16, 64)
		if loc == next {
			return
		}
		for _, table := range []*Table{withHdr, without} {
			if err := table.Row(loc, &row); err != nil {
				t.Fatalf("row at %#x: %v", loc, err)
			}
			if got, want := likeReadelf(&row, columns), strings.Join(pending[1:], " "); got != want || row.Start != loc {
				t.Fatalf("row at %#x, starting at %#x: %v is %q, want %q", loc, row.Start, columns, got, want)
			}
		}
		rows++
	}
	for lines.Scan() {
		f := strings.Fields(strings.NewReplacer(" (", "(").Replace(lines.Text()))
		switch {
		case len(f) == 0 || strings.HasPrefix(lines.Text(), "Contents"):
			if inFDE {
				flush(0)
			}
			inFDE, pending = false, nil
			if len(f) > 0 {
				inEH = f[3] == ".eh_frame"
			}
		case len(f) > 3 && f[3] == "FDE":
			inFDE = inEH
		case f[0] == "LOC":
			columns = f
		case inFDE:
			loc, _ := strconv.ParseUint(f[0], 16, 64)
			flush(loc)
			pending = f
		}
	}
	return rows
}

// likeReadelf prints a row as readelf does, which prints u for unspecified too.
func likeReadelf(row *Row, columns []string) string {
	name := func(n uint64) string {
		if r, ok := arch.AMD64.FromDWARF(n); ok {
			return arch.AMD64.RegName(r)
		}
		return fmt.Sprintf("r%d", n)
	}
	cells := []string{"exp"}
	if cfa := row.CFA(); cfa.Kind == Register {
		cells[0] = fmt.Sprintf("%s%+d", name(cfa.Reg), cfa.Offset)
	}
	for _, col := range columns[2:] {
		reg := row.RetAddrReg
		if col != "ra" {
			r, _ := arch.AMD64.RegByName(col)
			reg = uint64(arch.AMD64.DWARF(r))
		}
		switch rule := row.Rule(reg); rule.Kind {
		case Offset:
			cells = append(cells, fmt.Sprintf("c%+d", rule.Offset))
		case ValOffset:
			cells = append(cells, fmt.Sprintf("v%+d", rule.Offset))
		case Register:
			cells = append(cells, fmt.Sprintf("r%d(%s)", rule.Reg, name(rule.Reg)))
		case Expression:
			cells = append(cells, "exp")
		case ValExpression:
			cells = append(cells, "vexp")
		case SameValue:
			cells = append(cells, "s")
		default:
			cells = append(cells, "u")
		}
	}
	return strings.Join(cells, " ")
}
