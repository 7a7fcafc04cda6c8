package hotspot

import (
	"encoding/binary"
	"fmt"
	"github.com/corewalk/corewalk/tasks"
)

func (vm *VM) BlobName(pc uint64) string {
	if b := vm.blobAt(pc); b != nil {
		return fmt.Sprintf("%s+%#x complete %d %v frame %d % x", b.name, pc-b.begin, b.complete, b.hasComplete, b.frameSize, vm.bytes(pc, 48))
	}
	return ""
}

func (vm *VM) Debug(pc uint64) {
	b := vm.blobAt(pc)
	if b == nil {
		return
	}
	fmt.Printf("%+v pc %#x off %d\n", b.name, pc, pc-b.begin)
	fmt.Println(b.begin, b.end, b.frameSize, b.complete, b.hasComplete, b.scopes, b.scopesEnd, b.metadata, b.metadataCount)
	for d := b.descs; len(d) >= 16; d = d[16:] {
		fmt.Println(int32(binary.LittleEndian.Uint32(d)), int32(binary.LittleEndian.Uint32(d[4:])), int32(binary.LittleEndian.Uint32(d[8:])), int32(binary.LittleEndian.Uint32(d[12:])))
	}
}

func Dump(p *tasks.Process) {
	for _, lib := range p.Modules {
		if _, ok := p.Symbols.SymbolByName(lib, mark); !ok {
			continue
		}
		m := memory{p.State}
		sym := func(name string) (uint64, bool) { s, ok := p.Symbols.SymbolByName(lib, name); return s.Addr, ok }
		m.eachEntry("gHotSpotVMStruct", sym, p.Spend, []string{"TypeName", "FieldName", "IsStatic", "Offset", "Address", "TypeString"}, func(e []uint64) bool {
			n, _ := m.text(m.word(e[0]))
			if n == "" {
				return false
			}
			f, _ := m.text(m.word(e[1]))
			ty, _ := m.text(m.word(e[5]))
			st, _ := m.u32(e[2])
			fmt.Printf("F %s.%s %d off=%d %s val=%#x\n", n, f, st, m.word(e[3]), ty, m.word(m.word(e[4])))
			return true
		})
		m.eachEntry("gHotSpotVMType", sym, p.Spend, []string{"TypeName", "Size"}, func(e []uint64) bool {
			n, _ := m.text(m.word(e[0]))
			if n == "" {
				return false
			}
			fmt.Printf("T %s %d\n", n, m.word(e[1]))
			return true
		})
		for _, k := range []string{"Int", "Long"} {
			m.eachEntry("gHotSpotVM"+k+"Constant", sym, p.Spend, []string{"Name", "Value"}, func(e []uint64) bool {
				n, _ := m.text(m.word(e[0]))
				if n == "" {
					return false
				}
				fmt.Printf("C %s %d\n", n, m.word(e[1]))
				return true
			})
		}
	}
}
