package gtcmalloc

import (
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
)

// Debugging information says where members are: of both compilers, with bits, without names, and hidden in a base by others.
func TestDescribed(t *testing.T) {
	for shape, want := range map[string]string{"older": `map.root 0
map.roots 1048576
leaf.pages 32768
leaf.class 0
leaf.class.size 1
leaf.span 32768
sizes 16
sizes.count 86
sizes.fine 512
spans.free 8
span.size 48
span.first 65600
span.pages 81984
span.sampled 47617
span.location 47106
span.allocated 32784
span.embedded 36880
span.freelist 40976
span.cached 45064
span.cache 24
span.sample 24
sample.proxy 8
thread.next 1376
thread.lists 0
thread.list.size 16
list.first 0
list.length 8
pagemap_ 8388608
sizemap_ 360
span_allocator_ 16
`, "newer": `map.root 8
map.roots 2048
map.mids 4096
map.mid 0
leaf.pages 4096
leaf.class 0
leaf.class.size 2
leaf.span 8192
sizes 16
sizes.count 86
sizes.fine 512
spans.free 8
span.size 56
span.first 65571
span.pages.small 76294
span.pages.large 81984
span.large 75777
span.sampled 76033
span.allocated 57360
span.embedded 49168
span.freelist 53264
span.cached 61444
span.cache 40
span.bitmap 40
span.bitmap.size 16
span.sample 48
sample.size 16
pagemap_ 16400
sizemap_ 360
span_allocator_ 16
`} {
		for compiler, flags := range map[string][]string{"g++": {"-g", "-O1", "-std=c++17"}, "clang++-19": {"-g", "-O1", "-std=c++17", "-fstandalone-debug"}} {
			t.Run(shape+" "+compiler, func(t *testing.T) {
				exe := fixture.Compile(t, compiler, "heap/google.cpp", flags...)
				p := heaptest.OpenDescribed(t, fixture.Crash(t, nil, exe))
				code, _, ok := p.SymbolNamed("_ZN5" + shape + "6Static5beginEv")
				if !ok {
					t.Fatal("no function")
				}
				static, ok := p.TypeOfUnit(code, shape+"::Static")
				if !ok {
					t.Fatal("no type")
				}
				l := described(static.Defined())
				if got := l.text(); got != want {
					t.Errorf("%s", got)
				}
				if lacks, ok := l.proper(); !ok {
					t.Error(lacks)
				}
			})
		}
	}
}

// A layout that lacks something, or has what cannot be, is not read by.
func TestProper(t *testing.T) {
	whole := func() layout {
		all := known(map[string]uint64{"pagemap_": 16392, "sizemap_": 28272, "span_allocator_": 40, "cpu_cache_": 760, "transfer_cache_": 445824, "sharded_transfer_cache_": 296, "guardedpage_allocator_": 3544})
		if len(all) != 1 {
			t.Fatalf("%d layouts", len(all))
		}
		return all[0]
	}
	if lacks, ok := whole().proper(); !ok {
		t.Fatal(lacks)
	}
	for _, name := range needed {
		l := whole()
		delete(l.Layout, name)
		if lacks, ok := l.proper(); ok || lacks != name {
			t.Errorf("without %s: %q", name, lacks)
		}
	}
	for _, c := range []struct {
		name string
		v    uint64
		ok   bool
	}{
		{"map.roots", 3, false}, {"map.roots", 1 << 31, false}, {"map.mids", 0, false}, {"map.mids", 1 << 12, true},
		{"leaf.pages", 1 << 9, false}, {"leaf.pages", 1 << 10, true}, {"leaf.pages", 1 << 21, false}, {"map.roots", 1 << 12, true}, {"map.roots", 1 << 13, false}, {"map.roots", 1 << 4, true}, {"map.roots", 1 << 3, false},
		{"span.size", 0, false}, {"span.size", maxSpan, true}, {"span.size", maxSpan + 1, false},
		{"sizes.count", maxClasses, true}, {"sizes.count", maxClasses + 1, false},
		{"leaf.class.size", 1, true}, {"leaf.class.size", 3, false}, {"span.bitmap.size", maxSpan + 1, false},
		{"transfer.size", 1<<16 + 1, false}, {"sharded.size", 0, false}, {"shard.size", 1<<16 + 1, false}, {"thread.list.size", 1<<12 + 1, false}, {"slot.size", 1<<16 + 1, false}, {"resize.size", 1<<20 + 1, false},
	} {
		l := whole()
		l.Layout[c.name] = c.v
		if lacks, ok := l.proper(); ok != c.ok {
			t.Errorf("%s %d: %v %s", c.name, c.v, ok, lacks)
		}
	}
}
