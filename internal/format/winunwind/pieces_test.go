package winunwind_test

import (
	"fmt"
	"testing"

	"github.com/corewalk/corewalk/internal/format/winunwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestPieces: the unwind information of a function has the sizes that the formats say.
func TestPieces(t *testing.T) {
	chained := append(info(1|4<<3, 0, 1, 0, 4, 2<<4|2, 0, 0), words(0x1000, 0x1100, 0x2101)...) // its parent's entry is at 0x2100
	loop := append(info(1|4<<3, 0, 0, 0), words(0x1000, 0x1100, 0x2300)...)
	im := layout(map[uint32][]byte{0x2000: chained, 0x2100: words(0x1000, 0x1100, 0x2200), 0x2200: info(1, 0, 3, 0, 4, 0, 0, 0, 0, 0), 0x2300: loop,
		0x3000: words(1<<27|1<<22|5, 0, 0), 0x3100: words(1<<21|7<<22|2<<27, 0, 0), 0x3200: words(9, 1<<16|2, 0, 0, 0)})
	for _, tt := range []struct {
		arch *arch.Arch
		data uint32
		want string
	}{
		{arch.AMD64, 0x2200, "[{8704 10}]"},
		{arch.AMD64, 0x2000, "[{8192 20} {8448 12} {8704 10}]"},
		{arch.AMD64, 0x9000, "[]"},
		{arch.AMD64, 0x9001, "[]"},
		{arch.ARM64, 0x3000, "[{12288 12}]"},
		{arch.ARM64, 0x3100, "[{12544 12}]"},
		{arch.ARM64, 0x3200, "[{12800 20}]"},
		{arch.ARM64, 0x9000, "[]"},
		{arch.ARM64, 0x3001, "[]"},
	} {
		tab, err := winunwind.New(tt.arch, nil, im)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(tab.Pieces(winunwind.Function{Begin: 0x1000, End: 0x1100, Data: tt.data})); got != tt.want {
			t.Errorf("%s %#x: %s, want %s", tt.arch.Name, tt.data, got, tt.want)
		}
	}
	for _, tt := range []struct {
		arch  *arch.Arch
		bytes image
		want  string
	}{{arch.AMD64, chained[:10], "[{0 10}]"}, {arch.AMD64, chained[:3], "[]"}, {arch.ARM64, words(9), "[]"}, {arch.ARM64, words(9)[:3], "[]"}} {
		tab, _ := winunwind.New(tt.arch, nil, tt.bytes)
		if got := fmt.Sprint(tab.Pieces(winunwind.Function{})); got != tt.want {
			t.Errorf("%s, %d bytes: %s, want %s", tt.arch.Name, len(tt.bytes), got, tt.want)
		}
	}
	tab, _ := winunwind.New(arch.AMD64, nil, im)
	if n := len(tab.Pieces(winunwind.Function{Data: 0x2300})); n != 32 {
		t.Errorf("%d pieces of a circle", n)
	}
}
