package report

// An Explain says how a frame's caller was found.
type Explain struct {
	Asked []Asked `json:"asked,omitempty"` // steppers in the order they were asked
	// Rule is the rule that the successful stepper applied, in words: "CFI: .eh_frame FDE ..., CFA = rbp+16;
	// ...".
	Rule      string              `json:"rule,omitempty"`
	Registers []RecoveredRegister `json:"registers,omitempty"`
	Notes     []string            `json:"notes,omitempty"` // one line each
}

// An Asked is one stepper's answer.
type Asked struct {
	Stepper string `json:"stepper"`          // name of the stepper
	Status  string `json:"status"`           // "success", "not_me", ...
	Detail  string `json:"detail,omitempty"` // why it said so
}

// A RecoveredRegister is a register of the caller, or several with the same location.
type RecoveredRegister struct {
	Name     string `json:"name"`            // one name, or several: "r12..r15"
	Value    *Addr  `json:"value,omitempty"` // nil when not known
	Location string `json:"location"`        // "saved at 0x7ffc10", "unchanged"
}
