package cfi

import (
	"fmt"
	"math"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// Limits on one program. In a large C++ library, the longest program has some tens of
// kilobytes.
const (
	maxProgram = 1 << 20 // bytes of instructions
	maxRules   = 512     // registers with a rule
	maxStates  = 64      // remembered at once
)

// A program executes an FDE's instructions into a row, one row at a time.
type program struct {
	t     *Table
	row   *Row
	f     fde
	c     binbuf.Cursor
	next  uint64 // if more is set: where the next row starts
	more  bool   // the program continues after this row
	inCIE bool
}

// start sets the row to the result of the CIE's instructions.
func (p *program) start() error {
	row, f, k := p.row, &p.f, p.f.cie
	row.FDE = f.public()
	row.Start, row.End = f.begin, f.end
	row.RetAddrReg, row.ArgsSize = k.ra, 0
	row.Signal, row.BKey = k.signal, k.bKey
	row.Source = p.t.source
	row.data, row.big, row.addrSize = p.t.data, p.t.cfg.Big, k.addrSize
	row.saved, row.states = row.saved[:0], row.states[:0]
	if k.end-k.insns > maxProgram || f.stop-f.insns > maxProgram {
		return malformed(f.off, "program has %d + %d bytes, which is too long", k.end-k.insns, f.stop-f.insns)
	}
	if last := &row.last; last.ran {
		row.set.copy(&last.initial)
		row.cfa, row.RASigned = last.state.cfa, last.state.raSigned
	} else {
		if err := p.runCIE(); err != nil {
			return err
		}
		last.initial.copy(&row.set)
		last.state = state{cfa: row.cfa, raSigned: row.RASigned}
		last.ran = true
	}
	p.c = binbuf.Cursor{Data: p.t.data[:f.stop], Off: f.insns, Big: p.t.cfg.Big}
	return nil
}

func (p *program) runCIE() error {
	k, row := p.f.cie, p.row
	row.cfa, row.RASigned = rule{}, false
	row.set.reset()
	row.last.initial.reset()
	p.c = binbuf.Cursor{Data: p.t.data[:k.end], Off: k.insns, Big: p.t.cfg.Big}
	p.inCIE = true
	err := p.run(p.f.begin)
	p.inCIE = false
	return err
}

// run executes instructions up to the one that moves the location beyond pc.
func (p *program) run(pc uint64) error {
	p.more = false
	for p.c.Off < len(p.c.Data) {
		at := p.c.Off
		b := p.c.Data[at]
		p.c.Off++
		var err error
		switch arg := b & 0x3f; b & 0xc0 {
		case cfaAdvanceLoc:
			err = p.move(p.row.Start + uint64(arg)*p.f.cie.codeAlign)
		case cfaOffset:
			err = p.put(rule{reg: uint16(arg), kind: Offset, n: int64(p.c.ULEB()) * p.f.cie.dataAlign})
		case cfaRestore:
			err = p.restore(uint64(arg))
		default:
			err = p.extended(b)
		}
		if err == nil && p.c.Error != nil {
			err = p.c.Error
		}
		if err != nil {
			return fmt.Errorf("FDE at offset %#x, instruction at %#x: %w: %w", p.f.off, at, ErrMalformed, err)
		}
		if !p.more {
			continue
		}
		if p.next > pc {
			p.row.End = min(p.next, p.f.end)
			return nil
		}
		p.more = false
		p.row.Start = p.next
	}
	p.row.End = p.f.end
	return nil
}

// advance replaces the current row by the next one, or returns false if there is none.
func (p *program) advance() bool {
	if !p.more || p.next >= p.f.end {
		return false
	}
	p.row.Start = p.next
	return true
}

// move records that the next row starts at loc.
func (p *program) move(loc uint64) error {
	if p.inCIE {
		return fmt.Errorf("the CIE's instructions move the location")
	}
	if loc < p.row.Start || loc > mask(int(p.f.cie.addrSize)) {
		return fmt.Errorf("invalid move of the location from %#x to %#x", p.row.Start, loc)
	}
	p.next, p.more = loc, true
	return nil
}

func (p *program) put(r rule) error {
	if !p.row.set.put(r) {
		return fmt.Errorf("more than %d registers with rules", maxRules)
	}
	return nil
}

// restore resets a register to its rule after the CIE's instructions.
func (p *program) restore(reg uint64) error {
	if reg > maxRegister {
		return fmt.Errorf("invalid register %d", reg)
	}
	r := rule{reg: uint16(reg)}
	if i := p.row.last.initial.find(r.reg); i >= 0 {
		r = p.row.last.initial.rules[i]
	} else if p.row.set.find(r.reg) < 0 {
		return nil
	}
	return p.put(r)
}

// remember saves the rules, including the CFA's, for recall.
func (p *program) remember() error {
	row := p.row
	if len(row.states) == maxStates {
		return fmt.Errorf("more than %d states remembered", maxStates)
	}
	row.saved = append(row.saved, row.set.rules...)
	row.states = append(row.states, state{len(row.set.rules), row.set.low, row.cfa, row.RASigned})
	return nil
}

func (p *program) recall() error {
	row := p.row
	if len(row.states) == 0 {
		return fmt.Errorf("no remembered state to restore")
	}
	s := row.states[len(row.states)-1]
	row.states = row.states[:len(row.states)-1]
	from := len(row.saved) - s.n
	row.set.rules = append(row.set.rules[:0], row.saved[from:]...)
	row.saved = row.saved[:from]
	row.set.low, row.cfa, row.RASigned = s.low, s.cfa, s.raSigned
	return nil
}

// register reads a register's number.
func (p *program) register() uint16 {
	n := p.c.ULEB()
	if n > maxRegister {
		p.c.Fail(fmt.Errorf("invalid register %d", n))
		return 0
	}
	return uint16(n)
}

// expression reads a block and returns a rule with it, without a register.
func (p *program) expression(kind RuleKind) rule {
	n := p.c.ULEB()
	at := p.c.Off
	p.c.Skip64(n)
	if p.c.Error != nil || n > math.MaxUint32 {
		return rule{}
	}
	return rule{kind: kind, n: int64(at), from: uint32(n)}
}
