package where

// A FrameHandle is embedded, by an unexported alias, in dwarfvars.Activation. It has no
// exported name, so that no public declaration tells of a Frame.
type FrameHandle struct{ f Frame }

// A ProcessHandle is the same for dwarfvars.Reader.
type ProcessHandle struct{ p Process }

// HandleFrame returns the handle of f.
func HandleFrame(f Frame) FrameHandle { return FrameHandle{f} }

// HandleProcess returns the handle of p.
func HandleProcess(p Process) ProcessHandle { return ProcessHandle{p} }

func (h *FrameHandle) reachFrame() Frame       { return h.f }
func (h *ProcessHandle) reachProcess() Process { return h.p }

// FrameOf is the Frame of a dwarfvars.Activation.
func FrameOf(a interface{ reachFrame() Frame }) Frame { return a.reachFrame() }

// ProcessOf is the Process of a dwarfvars.Reader.
func ProcessOf(r interface{ reachProcess() Process }) Process { return r.reachProcess() }
