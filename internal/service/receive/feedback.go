package receive

import (
	"encoding/json"
	"strings"
)

// A Feedback is what a user wrote about a crash. It is text that anybody may have written.
type Feedback struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
	Text  string `json:"text"`
	Event string `json:"-"` // of which it is, as Body has it; "" if it does not say
}

// Limits of feedback; what is longer is cut.
const (
	MaxFeedback = 4       // of a body
	maxText     = 8 << 10 // bytes
	maxContact  = 200     // bytes of a name and of an address
)

// cut makes a text UTF-8 of at most n bytes.
func cut(s string, n int) string {
	return strings.ToValidUTF8(strings.TrimSpace(s[:min(len(s), n)]), "\uFFFD")
}

// say keeps feedback, if it says anything.
func (b *Body) say(name, email, text, event string) {
	f := Feedback{cut(name, maxContact), cut(email, maxContact), cut(text, maxText), event}
	if f.Text != "" && len(b.Feedback) < MaxFeedback {
		b.Feedback = append(b.Feedback, f)
	}
}

// feedback reads an item of an envelope: a user_report, as older clients of Sentry send it, or a feedback. Both say of which event they are, which is not that of
// the envelope: a user writes when a crash was sent already.
func (b *Body) feedback(text []byte) {
	type said struct {
		Event    string `json:"event_id"`
		Name     string `json:"name"`
		Email    string `json:"email"`
		Comments string `json:"comments"`
		Of       string `json:"associated_event_id"`
		Contact  string `json:"contact_email"`
		Message  string `json:"message"`
	}
	var x struct {
		said
		Contexts struct {
			Feedback said `json:"feedback"`
		} `json:"contexts"`
	}
	if json.Unmarshal(text, &x) != nil {
		return
	}
	f := x.Contexts.Feedback
	if f.Message == "" {
		f = said{Name: x.Name, Contact: x.Email, Message: x.Comments, Of: x.Event}
	}
	of := eventID(f.Of)
	b.say(f.Name, f.Contact, f.Message, of)
	if of != "" {
		b.about = of
	}
}

// comments makes feedback of a form's fields: Comments and Email, as Mozilla's reporter sends them, also in lower case.
func (b *Body) comments() {
	for _, names := range [][3]string{{"Comments", "Email", ""}, {"comments", "email", ""}, {"feedback", "feedback_email", "feedback_name"}} {
		if b.Fields[names[0]] == "" {
			continue
		}
		b.say(b.Fields[names[2]], b.Fields[names[1]], b.Fields[names[0]], "")
		for _, name := range names {
			delete(b.Fields, name)
		}
	}
}

// eventID is an event's identifier as 32 hexadecimal digits; "" if it is none.
func eventID(id string) string {
	id = strings.ToLower(strings.ReplaceAll(id, "-", ""))
	if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	return id
}
