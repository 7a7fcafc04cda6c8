package report

import "strings"

// crashInfo writes why the process died. Without a crash every field is null except the thread that requested
// the dump.
func (s *stackwalk) crashInfo() {
	c := s.r.Crash
	none := c == nil
	if none {
		c = &Crash{}
	}
	s.key("crash_info")
	s.open('{', false)
	s.strOrNull("type", c.stackwalkType())
	if addr := s.crashAddress(c); addr != nil {
		s.hex("address", *addr)
	} else {
		s.null("address")
	}
	s.adjusted(c.AdjustedAddress)
	if c.Instruction != nil {
		s.strOrNull("instruction", c.Instruction.Text)
	} else {
		s.null("instruction")
	}
	s.accesses(c)
	s.pointerUpdate(c)
	s.bitFlips(c.BitFlips)
	if none {
		s.null("crash_inconsistencies")
	} else {
		s.strings("crash_inconsistencies", c.Inconsistencies, true)
	}
	if i := s.crashingThread(); i >= 0 {
		s.num("crashing_thread", i)
	} else {
		s.null("crashing_thread")
	}
	s.strOrNull("assertion", c.Message)
	s.close('}')
}

// stackwalkType returns the reason in minidump-stackwalk's words. It leaves out the code of a signal sent by
// kill.
func (c *Crash) stackwalkType() string {
	switch {
	case c.Exception != "":
		return c.Exception
	case c.Signal == "":
		return ""
	case c.Code == "" || c.Code == "SI_USER":
		return c.Signal
	}
	return c.Signal + " / " + c.Code
}

// crashAddress returns the faulting address. Exceptions always have an address in this format: the
// instruction's address if the fault has none.
func (s *stackwalk) crashAddress(c *Crash) *Addr {
	if c.Address != nil || s.d.Exception == nil || c.Exception == "" && !c.faulted() {
		return c.Address
	}
	addr := s.d.Exception.Address
	if s.digits == 8 {
		addr &= 1<<32 - 1 // dump writers sign-extend 32-bit addresses
	}
	return &addr
}

// faulted reports whether an instruction raised the signal, or may have: only then the address in its record is
// one. Older writers do not record the code.
func (c *Crash) faulted() bool {
	switch c.Signal {
	case "SIGILL", "SIGFPE", "SIGSEGV", "SIGBUS", "SIGTRAP":
		return c.Code != "SI_USER" && c.Code != "SI_QUEUE" && c.Code != "SI_TKILL"
	}
	return false
}

func (s *stackwalk) adjusted(a *AdjustedAddress) {
	if a == nil {
		s.null("adjusted_address")
		return
	}
	s.key("adjusted_address")
	s.open('{', true)
	s.str("kind", a.Kind)
	if a.Kind == AdjustedNullPointer {
		s.hex("offset", a.Offset)
	} else {
		s.hex("address", a.Address)
	}
	s.close('}')
}

// accesses writes the memory accesses of the instruction, without the fetch of the next instruction, which is
// another field. null means not known.
func (s *stackwalk) accesses(c *Crash) {
	if c.Instruction == nil || len(c.Accesses) == 0 && c.Instruction.Access != "" {
		s.null("memory_accesses")
		return
	}
	s.key("memory_accesses")
	s.open('[', false)
	for i := range c.Accesses {
		a := &c.Accesses[i]
		if a.Kind == AccessExecute {
			continue
		}
		s.next()
		s.open('{', true)
		s.hex("address", a.Address)
		s.numOrNull("size", a.Size)
		if a.GuardPage {
			s.bool("is_likely_guard_page", true)
		}
		if kind := strings.ReplaceAll(a.Kind, "-", ""); kind != "" {
			s.str("access_type", kind)
		}
		s.close('}')
	}
	s.close(']')
}

// pointerUpdate writes the target of the instruction if it jumps.
func (s *stackwalk) pointerUpdate(c *Crash) {
	for i := range c.Accesses {
		if a := &c.Accesses[i]; a.Kind == AccessExecute {
			s.key("instruction_pointer_update")
			s.open('{', true)
			s.hex("address", a.Address)
			if a.GuardPage {
				s.bool("is_likely_guard_page", true)
			}
			s.close('}')
			return
		}
	}
	s.null("instruction_pointer_update")
}

func (s *stackwalk) bitFlips(flips []BitFlip) {
	if len(flips) == 0 {
		s.null("possible_bit_flips")
		return
	}
	array(&s.jsonWriter, "possible_bit_flips", flips, func(_ *jsonWriter, b *BitFlip) {
		s.open('{', true)
		s.hex("address", b.Address)
		s.strOrNull("source_register", b.Register)
		s.key("details")
		s.open('{', true)
		s.bool("was_non_canonical", b.Details.WasNonCanonical)
		s.bool("is_null", b.Details.IsNull)
		s.bool("was_low", b.Details.WasLow)
		s.num("nearby_registers", b.Details.NearbyRegisters)
		s.bool("poison_registers", b.Details.PoisonRegisters)
		s.close('}')
		s.float("confidence", b.Confidence)
		s.close('}')
	})
}

// stackwalkSystem returns minidump-stackwalk's name of an operating system.
func stackwalkSystem(os string) string {
	switch os {
	case "windows":
		return "Windows NT"
	case "macos":
		return "Mac OS X"
	case "ios":
		return "iOS"
	case "linux":
		return "Linux"
	case "solaris":
		return "Solaris"
	case "android":
		return "Android"
	case "ps3":
		return "PS3"
	case "nacl":
		return "NaCl"
	case "freebsd":
		return "FreeBSD"
	case "netbsd":
		return "NetBSD"
	case "openbsd":
		return "OpenBSD"
	case "fuchsia":
		return "Fuchsia"
	}
	return os
}

func stackwalkArch(arch string) string {
	switch arch {
	case "i386":
		return "x86"
	case "x86-64", "x32":
		return "amd64"
	case "aarch64":
		return "arm64"
	case "sparc64":
		return "sparc"
	case "mipsel":
		return "mips"
	case "mips64el":
		return "mips64"
	case "ppc64le":
		return "ppc64"
	case "":
		return "unknown"
	}
	return arch
}

func (s *stackwalk) systemInfo() {
	sys := &s.d.System
	s.key("system_info")
	s.open('{', false)
	if sys.Platform != 0 {
		s.str("os", sys.Platform.String())
	} else {
		s.strOrNull("os", stackwalkSystem(s.r.Dump.OS))
	}
	s.strOrNull("os_ver", sys.Version)
	s.str("cpu_arch", stackwalkArch(s.r.Dump.Arch))
	s.strOrNull("cpu_info", sys.CPU)
	s.numOrNull("cpu_count", sys.CPUs)
	s.strOrNull("cpu_microcode_version", sys.Microcode)
	s.close('}')
}
