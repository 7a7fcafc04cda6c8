package signin

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// People whom no identity provider knows have accounts here: a name and a password.

// MaxAccountName is how long the name of an account is, in bytes.
const MaxAccountName = 40

// CheckName returns an error for a name that no account can have. Those that accounts can have are in small ASCII letters, so that no two look the same but
// for their case or their script; they are never what a person of a provider is called: see nameOf.
func CheckName(name string) error {
	ok := name != "" && len(name) <= MaxAccountName && name[0] >= 'a' && name[0] <= 'z'
	for i := range len(name) {
		c := name[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.')
	}
	if !ok {
		return fmt.Errorf("name %.60q: an account's name has at most %d of a to z, 0 to 9, '-', '_' and '.', and begins with a letter", name, MaxAccountName)
	}
	return nil
}

// Limits of passwords: characters, and bytes.
const (
	minPassword = 10
	maxPassword = 256
)

// CheckPassword returns an error for what is no password of an account. It says nothing of the password.
func CheckPassword(name, password string) error {
	switch {
	case utf8.RuneCountInString(password) < minPassword:
		return fmt.Errorf("a password has at least %d characters", minPassword)
	case len(password) > maxPassword:
		return fmt.Errorf("a password has at most %d bytes", maxPassword)
	case strings.Contains(strings.ToLower(password), name) && len(password) < minPassword+len(name):
		return fmt.Errorf("a password with one's own name in it has at least %d characters more", minPassword)
	}
	return nil
}

// What hashing takes: of argon2id memory in KiB, passes over it and threads. A hash says with which it was made.
const (
	hashMemory  = 19 << 10
	hashPasses  = 2
	hashThreads = 1
	hashBytes   = 32
	saltBytes   = 16
)

const hashFormat = "$argon2id$v=19$m=%d,t=%d,p=%d$%s$%s"

// HashPassword is what is stored of a password. It takes 19 MiB of memory: few at a time.
func HashPassword(password string) string {
	var salt [saltBytes]byte
	rand.Read(salt[:]) // does not fail
	sum := argon2.IDKey([]byte(password), salt[:], hashPasses, hashMemory, hashThreads, hashBytes)
	return fmt.Sprintf(hashFormat, hashMemory, hashPasses, hashThreads, base64.RawStdEncoding.EncodeToString(salt[:]), base64.RawStdEncoding.EncodeToString(sum))
}

// noPassword is the hash of what nobody knows: who gives a name that is not there waits as long as for one that is.
const noPassword = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// SamePassword reports whether a password is that of a hash. It takes as long, and as much memory, for a hash that is none.
func SamePassword(hash, password string) bool {
	known := true
	memory, passes, threads, salt, sum, ok := parseHash(hash)
	if !ok {
		known = false
		memory, passes, threads, salt, sum, _ = parseHash(noPassword)
	}
	if len(password) > maxPassword {
		known, password = false, ""
	}
	got := argon2.IDKey([]byte(password), salt, passes, memory, threads, uint32(len(sum)))
	return subtle.ConstantTimeCompare(got, sum) == 1 && known
}

// parseHash reads a hash that takes at most four times what one takes today.
func parseHash(hash string) (memory, passes uint32, threads uint8, salt, sum []byte, ok bool) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || len(hash) > 200 {
		return
	}
	_, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &passes, &threads)
	salt, saltErr := base64.RawStdEncoding.DecodeString(parts[4])
	sum, sumErr := base64.RawStdEncoding.DecodeString(parts[5])
	ok = err == nil && saltErr == nil && sumErr == nil && parts[1] == "argon2id" && parts[2] == "v=19" && memory >= 8 && memory <= 4*hashMemory && passes >= 1 && passes <= 4*hashPasses &&
		threads >= 1 && threads <= 4 && len(salt) >= 8 && len(sum) >= 16
	return memory, passes, threads, salt, sum, ok
}
