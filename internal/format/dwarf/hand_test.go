package dwarf

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// TestByHand prints the calls at the addresses listed in the file that
// DWARF_PCS names, of the ELF file DWARF_ELF, in the format of
// `addr2line -i -f`, for comparison with other tools.
func TestByHand(t *testing.T) {
	path, pcs := os.Getenv("DWARF_ELF"), os.Getenv("DWARF_PCS")
	if path == "" || pcs == "" {
		t.Skip("DWARF_ELF and DWARF_PCS are not set")
	}
	var opts []Option
	if alt := os.Getenv("DWARF_ALT"); alt != "" {
		_, sup := openELF(t, alt)
		opts = append(opts, WithSup(sup))
	}
	opts = append(opts, WithSplit(func(u *Unit) (*Data, error) {
		if dwp := os.Getenv("DWARF_DWP"); dwp != "" {
			s := readELF(t, dwp)
			p, err := NewPackage(s, s.f.ByteOrder)
			if err != nil {
				t.Fatal(err)
			}
			return p.Unit(u.ID)
		}
		name, _ := u.Skeleton()
		if !filepath.IsAbs(name) {
			name = filepath.Join(u.CompDir(), name)
		}
		if _, err := os.Stat(name); err != nil {
			return nil, nil
		}
		_, dwo := openELF(t, name, DWO())
		return dwo, nil
	}))
	_, d := openELF(t, path, opts...)
	in, err := os.ReadFile(pcs)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(pcs + ".out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	w := bufio.NewWriter(out)
	defer w.Flush()
	var buf []Call
	for i := 0; i < len(in); {
		j := i
		for j < len(in) && in[j] != '\n' {
			j++
		}
		pc, err := strconv.ParseUint(string(in[i:j]), 0, 64)
		if err != nil {
			t.Fatal(err)
		}
		i = j + 1
		fmt.Fprintf(w, "%#x\n", pc)
		buf, _ = d.Frames(pc, buf[:0])
		for _, c := range buf {
			name := c.LinkageName
			if name == "" {
				name = c.Name
			}
			fmt.Fprintf(w, "%s\n%s:%d\n", name, c.File.Path, c.Line)
		}
	}
}
