// Package store keeps what a crash service knows besides its ledgers: which dumps it was sent and what became of each, who may do
// what, and what people decided about groups.
//
// Store is the interface that the service uses; package sqlite implements it as an embedded database, package postgres in a database that
// many machines share.
package store

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Errors that those of a Store wrap.
var (
	ErrNotFound = errors.New("not found")
	ErrNone     = errors.New("nothing to do")
	ErrTaken    = errors.New("the name is taken")
)

// The states of an Upload.
const (
	Waiting = "waiting" // for its analysis
	Working = "working" // being analysed
	Done    = "done"    // in the ledger, whatever came of it
	Aside   = "aside"   // not tried again: those who analysed it died
)

// An Upload is a dump that was sent.
type Upload struct {
	ID       string // the start of SHA256: the same dump sent again is the same upload
	Project  string
	SHA256   string // of the content, in hex
	Name     string // as the sender calls it; any text
	Size     int64  // bytes
	Received time.Time
	// Times is how often it was sent.
	Times int
	// Annotations are the fields that came with it.
	Annotations map[string]string

	State    string
	Attempts int // how often its analysis was begun
	// Alone says that it was among several dumps of which one may have killed a worker: it is analysed with no other.
	Alone   bool
	Why     string // why it was set aside, or given back last
	Group   string // its group in the ledger; empty if it has none
	Fault   string // why it has none
	Reason  string // why the process died, in a few words
	Program string
	Build   string
	Release string
	// User and Machine are what is kept of the identifiers that the sender gives: see Store.Key. Empty if it gave none.
	User, Machine string
	// Event is how the sender calls what the upload is of, in 32 hexadecimal digits; "" if it does not. AddUpload stores it.
	Event string
	// Attached is how many bytes came with it as attachments.
	Attached int64
	// Attachments are listed of uploads that are removed only.
	Attachments []Attachment
}

// An Attachment is a file that came with an upload.
type Attachment struct {
	SHA256 string // in hex
	Name   string // as the sender calls it; any text
	Type   string // what it was found to be, as a media type
	Size   int64  // bytes
}

// A Feedback is what a user wrote about a crash.
type Feedback struct {
	Name, Email, Text string
	At                time.Time
}

// Limits of what is kept beside an upload.
const (
	MaxAttachments = 16
	MaxFeedback    = 20
)

// Hint is what the sender says of the build of an upload's program, "" if nothing: dumps with the same hint probably need the same
// files.
func Hint(u *Upload) string {
	for _, name := range []string{"build", "build_id", "build-id", "release"} {
		if v := u.Annotations[name]; v != "" {
			return v[:min(len(v), maxHint)]
		}
	}
	product, version := u.Annotations["prod"], u.Annotations["ver"]
	if product == "" || version == "" {
		return ""
	}
	hint := product + " " + version
	return hint[:min(len(hint), maxHint)]
}

const maxHint = 200 // bytes: it is in an index

// A Result is what came of an upload.
type Result struct {
	Group, Fault, Reason, Program, Build string
	// Attributes are those of AttributesOf. Without a release the dump has the name of its build.
	Attributes []Attribute
	// Needed is how many frames needed the file of a value of AttrLacks, by its path. What is not there is one.
	Needed map[string]int
	// User and Machine are kept if the sender gave none: they were found in the dump.
	User, Machine string
}

// A Finished upload is one with its result.
type Finished struct {
	ID string
	Result
}

// The scopes of a Token.
const (
	ScopeUpload  = "upload"  // send dumps
	ScopeSymbols = "symbols" // send symbols
	ScopeFetch   = "fetch"   // fetch symbols, as debuggers do
	ScopeRead    = "read"    // see groups and dumps
	ScopeTriage  = "triage"  // decide about groups
	ScopeAdmin   = "admin"   // make and revoke tokens, delete dumps
)

// A Token says what its holder may do in one project.
type Token struct {
	ID      string
	Hash    string // SHA-256 of the secret, in hex
	Project string
	Scopes  []string
	Note    string
	Created time.Time
	// Expires is when it is not one any more; zero for never.
	Expires time.Time
	// Subject is whose session it is, as the identity provider and the person are known together, or SubjectOf an account; "" if it is none. Also are other
	// projects of that person.
	Subject string
	Also    []string
}

// MaxSessions is how many sessions a person has in one project.
const MaxSessions = 20

// An Account is a person who has a password here.
type Account struct {
	Name     string
	Projects map[string][]string // scopes by projects
	Password string              // the hash of it; "" until one is chosen
	// Invitation is the SHA-256 of the secret with which a password may be chosen, once, before InvitedUntil; "" for none.
	Invitation   string
	InvitedUntil time.Time
	Created      time.Time
	By           string    // who made it
	Seen         time.Time // of the last login; zero for none
	// Stamp is another one once the password or the projects are.
	Stamp string
}

const subjectAccount = "account "

// SubjectOf is whose sessions those of an account are. It is no subject of an identity provider: those are digits.
func SubjectOf(account string) string { return subjectAccount + account }

// AccountOf is the account of a session; "" if it is of none.
func AccountOf(t *Token) string {
	name, _ := strings.CutPrefix(t.Subject, subjectAccount)
	if name == t.Subject {
		return ""
	}
	return name
}

// MaxAccounts is how many a project has, and MaxPeople how many of those whom identity providers know are remembered of it, for so long.
const (
	MaxAccounts = 1000
	MaxPeople   = 1000
	PeopleTime  = 365 * 24 * time.Hour
)

// The states of a group.
const (
	Open    = "open"
	Fixed   = "fixed"   // in a build: it has regressed if a later dump is of another build that came after
	Ignored = "ignored" // it is not listed
)

// A Decision is what people decided about a group.
type Decision struct {
	State string
	// Build or Release are those in which it is fixed.
	Build   string
	Release string
	At      time.Time
	By      string // a person's name, or the token's note
}

// A Mark is what people noted of a group: who looks at it, and where it is in a tracker of issues.
type Mark struct{ Assignee, Ticket string }

// A Search is one that somebody saved.
type Search struct{ ID, Name, Query, By string }

// MaxSearches is how many of a project are saved.
const MaxSearches = 200

// A Note is what somebody wrote about a group.
type Note struct {
	Text string
	At   time.Time
	By   string
}

// A Day is how many dumps were received on a day.
type Day struct {
	Day   time.Time // its beginning, UTC
	Count int
}

// A Build is how many dumps there are of a build of a program.
type Build struct {
	Build, Program string
	Count          int
	First, Last    time.Time // received
}

// A Release is how many dumps there are of a release.
type Release struct {
	Release     string
	Count       int       // of those that are still kept
	First, Last time.Time // received; zero for one that was only announced
}

// A Facet is an attribute of a project with its most frequent values.
type Facet struct {
	Name   string
	Values []Counted
	Known  int // how many values are counted
}

// A Counted value is one with the number of its dumps.
type Counted struct {
	Value string
	Count int
}

// A Lack is a value of AttrLacks, with how many dumps have it, and how many of their frames needed the file.
type Lack struct {
	Value         string
	Dumps, Frames int
}

// A Share is an attribute of a group's dumps, and how many dumps have it in the group and in the whole project.
type Share struct {
	Attribute
	Here, All int
}

// Shares are those of a group, and how many dumps there are.
type Shares struct {
	List      []Share
	Here, All int
}

// A Query selects uploads, newest first.
type Query struct {
	State  string // "" for any
	Group  string
	Has    []Attribute // all of them
	Before time.Time   // received before this; zero for now
	Limit  int         // 0 for 100
}

// What a Hook may be told of.
const (
	EventNew       = "new"       // a group's first dump
	EventRegressed = "regressed" // one that was fixed is seen again
	EventSpiking   = "spiking"   // many more dumps of a group than usual
	EventTest      = "test"
	EventSummary   = "summary" // messages were held back
)

// A Hook is somebody who is told of what happens to groups.
type Hook struct {
	ID, Project string
	Kind        string // of package notify
	To          string
	Secret      string
	Events      []string
	Quiet       string // quiet hours of package notify
	Created     time.Time
	By          string
	// Failure says why the last message was not taken, Failed when; empty if it was. Dropped is how many were never sent.
	Failure string
	Failed  time.Time
	Dropped int
	// Held is how many of them were held back, and no summary has told of yet.
	Held int
}

// A Notice is a message that a hook is to be sent.
type Notice struct {
	ID, Project, Hook, Event, Group string
	At                              time.Time // when it happened
	Attempts                        int
}

// Limits of hooks.
const (
	MaxHooks   = 20   // of a project
	MaxNotices = 1000 // of a hook that wait; others are dropped
)

// A Retention says which uploads of a project are kept.
type Retention struct {
	After    time.Time // received then or later; zero for all
	PerGroup int       // of each group so many, the newest; 0 for all
	Bytes    int64     // the newest, of so many bytes in all; 0 for all
}

// Counts are numbers of uploads by state, without those that are done.
type Counts map[string]int

// A Store is safe for concurrent use. Errors name the store.
type Store interface {
	// AddUpload stores an upload whose content is stored already, and returns it as it is then: one sent before keeps its state.
	AddUpload(ctx context.Context, u Upload) (Upload, error)
	// Upload returns one upload; id may be the start of its identifier if only one begins so.
	Upload(ctx context.Context, project, id string) (Upload, error)
	Uploads(ctx context.Context, project string, q Query) ([]Upload, error)
	Counts(ctx context.Context) (Counts, error)

	// Take returns the upload that waits longest, of one project or, with "", of any, and marks it as being worked on by
	// worker. The error is ErrNone if none waits.
	Take(ctx context.Context, worker, project string) (Upload, error)
	// Finish stores what came of an upload.
	Finish(ctx context.Context, project, id string, r Result) error
	// FinishAll stores what came of several, all or nothing. One that was removed meanwhile is passed over.
	FinishAll(ctx context.Context, project string, list []Finished) error
	// GiveBack has an upload wait again.
	GiveBack(ctx context.Context, project, id, why string) error
	// Recover gives back what workers have that are not among those alive: they died. An upload that was the only one of its
	// worker is set aside after MaxDeaths of them; one of several is analysed alone from then on.
	Recover(ctx context.Context, alive ...string) (int, error)
	// Again has an upload analysed once more.
	Again(ctx context.Context, project, id string) error
	// Forget removes uploads that are not to be kept and are not being worked on, at most n, and returns them with their attachments.
	Forget(ctx context.Context, project string, keep Retention, n int) ([]Upload, error)
	// Remove removes one upload, and returns its attachments.
	Remove(ctx context.Context, project, id string) ([]Attachment, error)

	// Attach stores that files came with an upload, as long as they are at most MaxAttachments and of some bytes together, and returns those for which there was
	// no place. One that is there already stays as it is.
	Attach(ctx context.Context, project, id string, list []Attachment, bytes int64) (left []Attachment, err error)
	// Attachments lists those of an upload, in the order in which they came.
	Attachments(ctx context.Context, project, id string) ([]Attachment, error)
	// AddFeedback stores what a user wrote about an upload, and reports whether it is there. The same text is stored once, and of one upload MaxFeedback.
	AddFeedback(ctx context.Context, project, id string, f Feedback) (kept bool, err error)
	// Feedback lists that of an upload, the oldest first.
	Feedback(ctx context.Context, project, id string) ([]Feedback, error)
	// OfEvent returns the upload with an Event that was received last.
	OfEvent(ctx context.Context, project, event string) (id string, err error)

	// Days counts the analysed dumps of groups by the day (UTC) on which they were received, since a time.
	Days(ctx context.Context, project string, groups []string, since time.Time) (map[string][]Day, error)
	// Builds counts the analysed dumps of a group by their builds, or with "" all dumps of the project; the build that was
	// seen last comes first.
	Builds(ctx context.Context, project, group string) ([]Build, error)
	// Shared counts, for each group that has dumps of them, the dumps with values of an attribute, or of builds ("build"), in their order.
	Shared(ctx context.Context, project, name string, values []string) (map[string][]int, error)
	// Having counts the dumps with all of some attributes, by their groups. Of those with the rarest of several the newest are looked at, at most some: all says
	// that these are all.
	Having(ctx context.Context, project string, has []Attribute, most int) (counts map[string]int, all bool, err error)
	// Facets lists the attributes of a project that are counted, each with its most frequent values, at most n.
	Facets(ctx context.Context, project string, n int) ([]Facet, error)
	// Lacking lists the files that dumps lack, those that most frames needed first, at most n, and how many there are.
	Lacking(ctx context.Context, project string, n int) (list []Lack, known int, err error)
	// Shares lists the attributes of a group's dumps, the most frequent first, at most n.
	Shares(ctx context.Context, project, group string, n int) (Shares, error)
	// Affected counts the users and machines of groups by kind, IDUser or IDMachine.
	Affected(ctx context.Context, project string, groups []string) (map[string]map[string]int, error)
	// Attributes lists those of one upload.
	Attributes(ctx context.Context, project, id string) ([]Attribute, error)

	// Releases lists those of a group, or with "" all that are known of the project; the one that was seen last comes first.
	Releases(ctx context.Context, project, group string) ([]Release, error)
	// ReleasesOf lists the counted releases of which groups have dumps, in no order.
	ReleasesOf(ctx context.Context, project string, groups []string) (map[string][]string, error)
	// ReleaseDays counts the dumps of a group by their releases and days, since a time.
	ReleaseDays(ctx context.Context, project, group string, since time.Time) (map[string][]Day, error)
	// Announce makes a release known of which there are no dumps yet.
	Announce(ctx context.Context, project, release string) error
	// NameBuild says of which release a build is: its dumps are of that release unless they say another. With project "" it is so for builds of all
	// projects, and for dumps that come later.
	NameBuild(ctx context.Context, project, build, release string) error
	// BuildNames are the releases of builds that were named.
	BuildNames(ctx context.Context, project string) (map[string]string, error)
	// Backfill counts uploads that an older program has finished, at most n, and says how many there were.
	Backfill(ctx context.Context, n int) (int, error)
	// Key is the project's key, with which identifiers of users and machines are hashed.
	Key(ctx context.Context, project string) ([]byte, error)

	Projects(ctx context.Context) ([]string, error)
	AddToken(ctx context.Context, t Token) error
	// AddSession is AddToken of a session. Of those of its person in the project the newest MaxSessions stay, and of all those that have not expired.
	AddSession(ctx context.Context, t Token) error
	// Token returns a token by its identifier.
	Token(ctx context.Context, id string) (Token, error)
	Tokens(ctx context.Context) ([]Token, error)
	RemoveToken(ctx context.Context, id string) error

	// AddAccount stores an account whose name no other has: the error is ErrTaken otherwise.
	AddAccount(ctx context.Context, a Account) error
	Account(ctx context.Context, name string) (Account, error)
	// Accounts lists those of a project by their names, or with "" all.
	Accounts(ctx context.Context, project string) ([]Account, error)
	// HasAccounts reports whether there is one.
	HasAccounts(ctx context.Context) (bool, error)
	// ChangeAccount has change change an account, unless it returns an error: what it says of Name, Created, Seen and Stamp is not looked at. With another password
	// or other projects its sessions end but the one that is kept, and what logs in just then with those before does not; without projects it is removed.
	ChangeAccount(ctx context.Context, name, keep string, change func(*Account) error) error
	// EnterAccount is AddSession of an account as it was read: the error is ErrNotFound if its password or projects are others by now. The session replaces one of
	// that account, unless "", which must not have ended.
	EnterAccount(ctx context.Context, a *Account, t Token, replaces string) error
	// People lists those who have logged in to a project by an identity provider, those who came last first.
	People(ctx context.Context, project string) ([]string, error)

	AddHook(ctx context.Context, h Hook) error
	// Hooks lists those of a project, or with "" all.
	Hooks(ctx context.Context, project string) ([]Hook, error)
	RemoveHook(ctx context.Context, project, id string) error
	// HookResult stores whether a hook took a message; dropped are messages that will not be sent.
	HookResult(ctx context.Context, id, failure string, at time.Time, dropped int) error
	// Notify has the hooks of a project told of something that happened to a group at a time, unless they were told of the same at since or later. Finish does
	// so of new groups itself.
	Notify(ctx context.Context, project, group, event string, at, since time.Time) (bool, error)
	// NotifyOne has one hook told.
	NotifyOne(ctx context.Context, h Hook, event string, at time.Time) error
	// TakeNotice returns the notice that is due first, which nobody else gets until then. The error is ErrNone if none is due.
	TakeNotice(ctx context.Context, now, until time.Time) (Notice, error)
	EndNotice(ctx context.Context, id string) error
	// Admit counts a message that a hook is about to be sent. If it was sent most in this hour, the answer is false: the notice has ended, and there is one of the
	// event EventSummary in the next hour.
	Admit(ctx context.Context, n Notice, now time.Time, most int) (bool, error)
	// EndSummary ends a summary that told of some messages. If others were held back meanwhile, it is there again in the next hour.
	EndSummary(ctx context.Context, n Notice, told int, now time.Time) error
	// DelayNotices has those of a hook wait until a time. With attempt the one that was taken was tried.
	DelayNotices(ctx context.Context, hook, taken string, until time.Time, attempt bool) error
	// CountSince counts the dumps of a group that were received since a time.
	CountSince(ctx context.Context, project, group string, since time.Time) (int, error)
	// Busy counts the dumps of groups that have at least some since a time.
	Busy(ctx context.Context, project string, since time.Time, least int) (map[string]int, error)

	Decide(ctx context.Context, project, group string, d Decision) error
	Decisions(ctx context.Context, project string) (map[string]Decision, error)
	// MarkGroup stores what is noted of a group.
	MarkGroup(ctx context.Context, project, group string, m Mark) error
	Marks(ctx context.Context, project string) (map[string]Mark, error)
	// Merge makes the dumps of a group, and of those merged into it, ones of another, also those that are finished later.
	Merge(ctx context.Context, project, group, into string) error
	// Split takes a merge of a group back.
	Split(ctx context.Context, project, group string) error
	// Merged says of groups into which they were merged.
	Merged(ctx context.Context, project string) (map[string]string, error)
	// Setting is a text that a project has by a name, "" if none.
	Setting(ctx context.Context, project, name string) (string, error)
	SetSetting(ctx context.Context, project, name, value string) error
	AddSearch(ctx context.Context, project string, s Search) error
	Searches(ctx context.Context, project string) ([]Search, error)
	RemoveSearch(ctx context.Context, project, id string) error
	AddNote(ctx context.Context, project, group string, n Note) error
	Notes(ctx context.Context, project, group string) ([]Note, error)
	Close() error
}

// MaxDeaths is how many workers may die of an upload.
const MaxDeaths = 3
