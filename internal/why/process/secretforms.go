package process

import (
	"regexp"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/lazy"
)

// This file has what secrets look like, as data; secret.go looks for it.

// secretWords are parts of the names of variables, options and headers whose values are secrets. A name is cut into
// words at what is neither a letter nor a digit, and before a capital letter; long parts count anywhere in a name
// ("PGPASSWORD"), short ones only as a word of their own.
var (
	secretParts = []string{"passw", "passphrase", "secret", "token", "credential", "apikey", "accesskey", "privatekey", "signingkey", "cookie", "signature", "bearer", "oauth"}
	secretWords = lazy.Value[map[string]bool]{Make: func() map[string]bool {
		return map[string]bool{"key": true, "keys": true, "pass": true, "pwd": true, "pw": true, "auth": true, "authorization": true, "pin": true, "salt": true,
			"session": true, "jwt": true, "sas": true, "dsn": true, "creds": true, "webhook": true,
			"sshpass": true, "storepass": true, "keypass": true, "dbpass": true, "userpass": true, "rootpass": true, "adminpass": true, "masterpass": true, "smtppass": true, "mailpass": true, "ftppass": true}
	}}
)

// publicNames are names that have such a word and are no secrets.
var publicNames = lazy.Value[map[string]bool]{Make: func() map[string]bool {
	return map[string]bool{"PWD": true, "SSH_AUTH_SOCK": true, "XDG_SESSION_ID": true, "XDG_SESSION_TYPE": true,
		"XDG_SESSION_CLASS": true, "DESKTOP_SESSION": true, "SESSION_MANAGER": true, "DBUS_SESSION_BUS_ADDRESS": true}
}}

// publicParts are longer words that have a part of secretParts and are about something else.
var publicParts = []string{"tokeniz", "tokenis", "maxtoken", "mintoken", "numtoken", "newtokens", "tokencount", "tokenlimit", "passwordless", "secretary", "credentialhelper"}

// publicEnds are last words of names whose values say where a secret is, or something about it.
var publicEnds = []string{"file", "dir", "path", "name", "stdin", "prompt", "type", "size", "length", "ttl", "timeout", "count", "limit", "policy"}

// publicStarts are first words of options that say not to have a secret, or to ask for it.
var publicStarts = []string{"no", "ask"}

// schemes are words before a secret in its value: "Authorization: Bearer x", "-pass pass:x".
var schemes = lazy.Value[*regexp.Regexp]{Make: func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i:(?:bearer|basic|token|negotiate|ntlm|api-?key|key|oauth|jwt|splunk|geniekey|dpop|ssws|bot|sharedkey|sharedaccesssignature)[\s\x00]+|pass:)`)
}}

// A shape is a form of secrets that is known by itself, wherever it stands. Arguments are joined by NUL.
type shape struct {
	of    string // what it is
	needs string // words, in small letters, of which a text with it has one: no other is looked at more closely
	form  string // regular expression: its groups, or all of it, are the secret
	cut   bool   // is looked for only if the text may go on: only the start of a secret is there

	once sync.Once
	made *regexp.Regexp // of form
}

func (s *shape) regexp() *regexp.Regexp {
	s.once.Do(func() { s.made = regexp.MustCompile(s.form) })
	return s.made
}

// shapes are all of them. Regular expressions of Go take time in proportion to the text.
var shapes = []shape{
	// Where it stands tells.
	{of: "password of a URL", needs: "://", form: `[a-zA-Z][a-zA-Z0-9+.-]*://[^/\s\x00:@]*:([^/\s\x00]+)@`},
	{of: "MySQL's DSN of Go", needs: "@", form: `[\w.-]+:([^\s\x00@/"']+)@(?:tcp|unix|udp)\(`},
	{of: "Oracle's JDBC", needs: "jdbc:oracle", form: `(?i)jdbc:oracle:\w+:[^/\s\x00@]+/([^@\s\x00]+)@`},
	{of: "header or option with a colon, without a space", needs: "passw authorization key token", form: `(?i)(?:^|[^\w.:/-])[\w-]*(?:password|passwd|authorization|api[_-]?key|(?:auth|access|private|vault|csrf|session|security|refresh|bearer|job|deploy)-token|secret-key)["']?:["']?([^\s\x00"';,][^\s\x00"']*)`},
	{of: "option of Windows", needs: "/p", form: `(?i)(?:^|[\s\x00"'])/(?:p|pw|pass|password|token):"?([^\s\x00"]+)`},
	{of: "bearer", needs: "bearer", form: `(?i)\bbearer[\s\x00]+([a-z0-9][\w.~+/=-]{15,})`},
	{of: "cookies in a cut line", needs: "cookie", form: `(?i)cookie:[\s\x00]*([^=\s\x00;]+=[^\s\x00;"']*(?:;[\s\x00]*[^=\s\x00;"']+=[^\s\x00;"']*)*)`},
	{of: "openssl's pass:", needs: "pass:", form: `(?:^|[\s\x00"'=])pass:([^\s\x00"']+)`},
	{of: "SAS of Azure", needs: "sig=", form: `(?i)[?&;]sig=([^&\s\x00"';]+)`},
	{of: "literal of Kubernetes", needs: "--from-literal", form: `--from-literal[=\s\x00][^=\s\x00]+=([^\s\x00"']+)`},
	{of: "aws configure set", needs: "aws_", form: `(?i)aws_(?:secret_access_key|session_token)[\s\x00]+([^\s\x00-][^\s\x00]*)`},
	{of: "htpasswd -b FILE USER", needs: "htpasswd", form: `htpasswd(?:[\s\x00]+-\w+)*[\s\x00]+-\w*b\w*[\s\x00]+(?:-\w+[\s\x00]+)*[^\s\x00-][^\s\x00]*[\s\x00]+[^\s\x00]+[\s\x00]+([^\s\x00]+)`},
	{of: "digest after a name", needs: "passw secret token apikey credential key", form: `(?i)(?:^|[^\w.])(?:[\w.-]*(?:passw|secret|token|apikey|credential)[\w.-]*|[\w.-]+[_.-]key|key)[\s\x00]+((?:0x)?[0-9a-f]{16,}|[a-z0-9+/]{20,}={1,2})(?:$|[^\w.-])`},
	{of: "webhook of Slack", needs: "hooks.slack.com", form: `hooks\.slack\.com/(?:services|workflows|triggers)/([\w/-]+)`},
	{of: "webhook of Discord", needs: "/api/webhooks/", form: `discord(?:app)?\.com/api/webhooks/\d+/([\w-]+)`},
	{of: "URL that ends in a password", cut: true, needs: "://", form: `[a-zA-Z][a-zA-Z0-9+.-]*://[^/\s\x00:@\[]*:([^/\s\x00?#]*[^/\s\x00?#0-9][^/\s\x00?#]*)\z`},
	{of: "start of a token", cut: true, needs: "_ - ai ak ey sg.", form: `\b(?:gh[pousr]_|github_pat_|gl[a-z]+-|xox[a-z]-|xapp-|[srp]k_(?:live|test)_|whsec_|AIza|AKIA|ASIA|eyJ|npm_|pypi-A|SG\.|sk-|hf_|shp[a-z]+_|dckr_[a-z]+_|hv[sbr]\.)[\w.-]*\z`},

	// What it begins with tells.
	{of: "private key", needs: "-----begin", form: `-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----((?s:.*?))(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY|\z)`},
	{of: "private key, its lines cut apart", needs: "-----begin", form: `-----BEGIN[\x00 ](?:[A-Z0-9]+[\x00 ]){0,4}PRIVATE[\x00 ]KEY(?:[\x00 ]BLOCK)?-----((?s:.*?))(?:-----END|\z)`},
	{of: "private key in base64", needs: "ls0tls1crudjti", form: `LS0tLS1CRUdJTi[A-Za-z0-9+/=_-]+`},
	{of: "key of OpenSSH in base64", needs: "b3blbnnzac1rzxktdje", form: `b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/=_-]+`},
	{of: "age", needs: "age-secret-key-1", form: `AGE-SECRET-KEY-1[0-9A-Z]+`},
	{of: "AWS", needs: "akia asia abia acca", form: `\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`},
	{of: "GitHub", needs: "gh", form: `\bgh[pousr]_[A-Za-z0-9]{16,}`},
	{of: "GitHub", needs: "github_pat_", form: `\bgithub_pat_\w{16,}`},
	{of: "GitLab", needs: "gl", form: `\bgl(?:pat|ptt|dt|rt|cbt|oas|soat|ft|imt|agent)-[\w-]{16,}`},
	{of: "Slack", needs: "xox", form: `\bxox[a-z](?:\.xox[a-z])?-[\w-]{8,}`},
	{of: "Slack", needs: "xapp-", form: `\bxapp-\d-[\w-]{8,}`},
	{of: "Stripe", needs: "k_", form: `\b[spr]k_(?:live|test)_\w{10,}`},
	{of: "Stripe", needs: "whsec_", form: `\bwhsec_[\w+/=-]{16,}`},
	{of: "Google", needs: "aiza", form: `\bAIza[\w-]{30,}`},
	{of: "Google", needs: "gocspx-", form: `\bGOCSPX-[\w-]{16,}`},
	{of: "Google", needs: "ya29.", form: `\bya29\.[\w.-]{16,}`},
	{of: "JSON web token", needs: "eyj", form: `\beyJ[\w-]{8,}(?:\.[\w-]+){1,4}`},
	{of: "npm", needs: "npm_", form: `\bnpm_[A-Za-z0-9]{30,}`},
	{of: "PyPI", needs: "pypi-a", form: `\bpypi-A[\w-]{15,}`},
	{of: "RubyGems", needs: "rubygems_", form: `\brubygems_[0-9a-f]{32,}`},
	{of: "SendGrid", needs: "sg.", form: `\bSG\.[\w-]{16,}\.[\w-]{16,}`},
	{of: "Twilio", needs: "sk", form: `\bSK[0-9a-f]{32}\b`},
	{of: "OpenAI, Anthropic", needs: "sk-", form: `\bsk-(?:ant-|proj-|svcacct-|or-)?[\w-]{20,}`},
	{of: "Hugging Face", needs: "hf_", form: `\bhf_[A-Za-z0-9]{20,}`},
	{of: "DigitalOcean", needs: "_v1_", form: `\bdo[opr]_v1_[0-9a-f]{32,}`},
	{of: "Shopify", needs: "shp", form: `\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}`},
	{of: "Docker Hub", needs: "dckr_", form: `\bdckr_(?:pat|oat)_[\w-]{16,}`},
	{of: "Vault", needs: "hv", form: `\bhv[sbr]\.[\w-]{20,}`},
	{of: "Grafana", needs: "gl", form: `\bgl(?:sa|c)_[\w+/=]{20,}`},
	{of: "Databricks", needs: "dapi", form: `\bdapi[0-9a-f]{32}`},
	{of: "Telegram", needs: ":aa", form: `\b\d{8,10}:AA[\w-]{30,}`},
	{of: "Mailgun", needs: "key-", form: `\bkey-[0-9a-f]{32}\b`},
	{of: "New Relic", needs: "nrak-", form: `\bNRAK-[A-Z0-9]{20,}`},
	{of: "Linear", needs: "lin_api_", form: `\blin_api_\w{20,}`},
	{of: "Square", needs: "sq0", form: `\bsq0(?:csp|atp)-[\w-]{20,}`},
	{of: "Terraform", needs: ".atlasv1.", form: `\b\w{14}\.atlasv1\.[\w-]{40,}`},
}

// A program has options of one letter with secrets. Long options are known by their names.
type program struct {
	names, options string
	// after is the text in the value behind which the secret begins, ":" of USER:PASSWORD; "" for all of it. A value
	// without it has no secret.
	after string
	// attached says that the value is in the same word, never in the next.
	attached bool
	// separate says that the value is the next word: options of several letters begin with the same one.
	separate bool
	runs     bool // the first word that is no option is another program
	// command is the word that must come before; "" for none.
	command string
}

var programs = []program{
	{names: "mysql mysqldump mysqladmin mysqlimport mysqlshow mysqlcheck mysqlslap mysqlbinlog mysqlpump mysqlsh mysql_upgrade mysqlhotcopy mytop mycli xtrabackup innobackupex mydumper myloader " +
		"mariadb mariadb-dump mariadb-admin mariadb-import mariadb-show mariadb-check mariadb-slap mariadb-binlog mariadb-upgrade mariadb-backup mariabackup", options: "-p", attached: true},
	{names: "7z 7za 7zr 7zz rar unrar", options: "-p -hp", attached: true},
	{names: "sshpass", options: "-p", runs: true},
	{names: "redis-cli valkey-cli keydb-cli redis-benchmark", options: "-a"},
	{names: "docker podman buildah nerdctl helm oras crane skopeo az oc cf ibmcloud", options: "-p", command: "login"},
	{names: "curl", options: "-u -U --user --proxy-user", after: ":"},
	{names: "curl", options: "-b", after: "="},
	{names: "http https xh", options: "-a", after: ":"},
	{names: "ab", options: "-A -P", after: ":"},
	{names: "skopeo", options: "--creds --src-creds --dest-creds", after: ":"},
	{names: "smbclient rpcclient net smbget nmblookup wmic winexe", options: "-U --user", after: "%"},
	{names: "lftp", options: "-u --user", after: ","},
	{names: "ldapsearch ldapadd ldapmodify ldapdelete ldappasswd ldapwhoami ldapcompare ldapmodrdn", options: "-w"},
	{names: "mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat mongotop cqlsh rdesktop ncftp ncftpget ncftpput useradd usermod", options: "-p"},
	{names: "zip unzip zipcloak ipmitool mosquitto_pub mosquitto_sub sqlcmd bcp isql tsql", options: "-P"},
	{names: "snmpget snmpgetnext snmpwalk snmpbulkwalk snmpset snmptrap snmptable", options: "-c -A -X"},
	{names: "openssl", options: "-k -K", separate: true},
	{names: "influx", options: "-t", separate: true},
	{names: "sqlplus rman sqlldr exp imp expdp impdp", options: "", after: "/"}, // SCOTT/TIGER@DB is a word of its own
}

// runners are programs whose later words may name the program that the options are of.
const runners = "sudo doas su runuser env nice ionice nohup time timeout strace ltrace gdb valgrind xargs find watch chroot unshare nsenter setsid stdbuf taskset numactl " +
	"systemd-run chrt docker podman nerdctl kubectl oc lxc ssh sh bash dash ash zsh ksh fish script parallel tini dumb-init gosu su-exec flock sshpass busybox rr perf catchsegv " +
	"python python2 python3 perl ruby node php cmd cmd.exe powershell pwsh expect"

// naming are options of runners whose value is a name, and no program.
const naming = "--name --hostname --network --net --link --network-alias --user -u -h -n -l --label"

// commandsOf has the programs by their names.
var commandsOf = lazy.Value[map[string][]*program]{Make: func() map[string][]*program {
	out := map[string][]*program{}
	for i := range programs {
		for name := range strings.FieldsSeq(programs[i].names) {
			out[name] = append(out[name], &programs[i])
		}
	}
	return out
}}
