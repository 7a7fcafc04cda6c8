package process

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

const (
	hex32  = "5f4dcc3b5aa765d61d8327deb882cf99"
	hex40  = "5f4dcc3b5aa765d61d8327deb882cf99aabbccdd"
	long36 = "abcDEF0123456789abcDEF0123456789abcD"
	jwt    = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJub2JvZHkifQ.c2lnbmF0dXJlLW1hZGUtdXA"
	pem    = "\nMIIBVAIBADANBgkqhkiG9w0BAQEFAASCAT4wggE6\nAgEAAkEAmadeUpNotAKey\n"
)

// secretLines are command lines as they are met, with made-up values: arguments are cut by ¦, secrets are between « and ».
// Everything else must stay.
var secretLines = []string{
	// Headers.
	"curl¦-H¦Authorization: Bearer «s3cr3t-x»¦https://api.example.com/v1",
	"curl¦-H¦authorization: bearer «s3cr3t-x»",
	"curl¦-H¦X-Api-Key: «s3c;r3t-x»¦https://api.example.com/v1",
	"curl¦-HAuthorization: Basic «dXNlcjpwYXNz»",
	"curl¦-H¦Authorization: Token «abcdef01»¦-o¦out",
	"curl¦-H¦Authorization: «s3cr3tx»",
	"curl¦-H¦Authorization: «Digest username=\"me\", response=\"0123\"»",
	"curl¦-H¦X-Api-Key: «k3y-value»¦-d¦a=b",
	"curl¦-H¦X-Api-Key:«k3yvalue»",
	"curl¦--header¦Proxy-Authorization: Basic «cHJveHk6cHc=»",
	"curl¦-H¦PRIVATE-TOKEN: «t0k3nvalue»¦https://git.example.com/api",
	"curl¦-H¦X-Vault-Token: «v4ultvalue»",
	"curl¦-H¦Cookie: «session=abc123; csrf=zzz»",
	"wget¦--header=Authorization: Bearer «s3cr3t-x»¦https://example.com/file",
	"git¦-c¦http.extraHeader=Authorization: Basic «dXNlcjpwYXNz»¦fetch",
	"sh¦-c¦curl -H 'Authorization: Bearer «s3cr3t-x»' https://example.com | jq .",
	"bash¦-c¦exec curl -s -H \"X-Api-Key: «k3y-value»\" https://example.com",
	"grpcurl¦-rpc-header¦authorization: Bearer «s3cr3t-x»¦host:443¦list",
	// Options with a name.
	"app¦--password=«hunter2»", "app¦--password¦«hunter2»¦--verbose", "app¦--token¦«hunter2»¦file", "app¦--token=«a=b=c»", "app¦--api-key¦«hunter2»",
	"app¦--api-key=«hunter2»", "app¦--apiKey=«hunter2»", "app¦-password¦«hunter2»", "app¦--db.password=«hunter two»¦--db.host=h", "app¦--client-secret¦«hunter2»¦--client-id¦me",
	"app¦--passphrase=«hunter2»", "gpg¦--batch¦--passphrase¦«hunter2»¦-d¦f.gpg", "app¦--access-token=«hunter2»", "app¦--secret-key¦«hunter2»", "app¦--pwd=«hunter2»",
	"java¦-Dspring.datasource.password=«hunter2»¦-jar¦app.jar", "java¦-Djavax.net.ssl.keyStorePassword=«changeme1»¦Main", "java¦-Ddb.user=me¦-DdbPass=«hunter2»¦Main",
	"keytool¦-list¦-keystore¦k.jks¦-storepass¦«changeit»", "keytool¦-storepass¦«changeit»¦-keypass¦«changeit2»", "plink¦-pw¦«hunter2»¦me@host",
	"wget¦--user¦me¦--password¦«hunter2»¦https://example.com", "svn¦--username¦me¦--password¦«hunter2»¦co¦url", "oc¦login¦--token=«sha256~madeup»¦--server=https://h:6443",
	"kubectl¦--token¦«hunter2»¦get¦pods", "influx¦-t¦«hunter2»¦query", "setup.exe¦/quiet¦/password:«hunter2»", "xfreerdp¦/u:me¦/p:«hunter2»¦/v:host", "docker¦run¦-e¦DB_PASSWORD=«hunter two»¦image",
	"kubectl¦create¦secret¦generic¦x¦--from-literal=password=«hunter2»¦--from-literal=color=«blue»", "helm¦install¦x¦--set¦db.password=«hunter2»,db.host=h",
	"mount¦-t¦cifs¦//h/s¦/mnt¦-o¦user=me,password=«hunter2»,uid=3", "az¦login¦--service-principal¦-u¦me¦-p¦«hunter2»¦--tenant¦t",
	// Variables before a command, and elsewhere.
	"env¦PGPASSWORD=«hunter2»¦psql¦-h¦db", "sh¦-c¦PGPASSWORD=«hunter2» psql -h db", "sudo¦MYSQL_PWD=«hunter2»¦mysql", "sh¦-c¦export AWS_SECRET_ACCESS_KEY=«abcd/efg+hij»; aws s3 ls",
	"sh¦-c¦TOKEN='«a b»' run", "docker¦run¦--env¦API_KEY=«hunter2»¦--env=API_TOKEN=«hunter3»¦image:1", "sshd¦SSHPASS=«hunter2»",
	// Options of programs.
	"mysql¦-uroot¦-p«hunter2»¦shop", "mysqldump¦-u¦root¦-p«hunter2»¦--all-databases", "/usr/bin/mysqladmin¦-p«hunter2»¦ping", "mariadb¦-p«hunter2»", "mariadb-dump¦-h¦db¦-p«hunter2»¦shop",
	"sudo¦-u¦nobody¦mysql¦-p«hunter2»", "docker¦exec¦-it¦db¦mysql¦-uroot¦-p«hunter2»", "kubectl¦exec¦db-0¦--¦mysqldump¦-p«hunter2»¦shop", "sh¦-c¦cd /x && mysqldump -p«hunter2» shop|gzip > f.gz",
	"/usr/bin/python3¦/usr/bin/mycli¦-p«hunter2»", "mysql.exe¦-p«hunter2»",
	"curl¦-u¦me:«hunter2»¦https://example.com", "curl¦-ume:«hunter2»¦https://example.com", "curl¦-sSu¦me:«hunter2»¦https://example.com", "curl¦--user¦me:«hunter2»", "curl¦--user=me:«hun:ter2»",
	"curl¦-x¦proxy:3128¦-U¦me:«hunter2»¦url", "http¦-a¦me:«hunter2»¦GET¦example.com",
	"sshpass¦-p¦«hunter2»¦ssh¦-p¦22¦me@host", "sshpass¦-p«hunter2»¦ssh¦-p22¦me@host", "redis-cli¦-h¦cache¦-a¦«hunter2»¦ping", "redis-cli¦--pass¦«hunter2»",
	"docker¦login¦-u¦me¦-p¦«hunter2»¦registry.example.com", "podman¦login¦-p¦«hunter2»", "skopeo¦copy¦--src-creds¦me:«hunter2»¦a¦b",
	"openssl¦rsa¦-in¦k.pem¦-passin¦pass:«hunter2»", "openssl¦enc¦-aes-256-cbc¦-pass¦pass:«hunter2»¦-in¦f", "openssl¦enc¦-k¦«hunter2»¦-in¦f",
	"ldapsearch¦-x¦-D¦cn=admin¦-w¦«hunter2»¦-b¦dc=x", "smbclient¦//h/s¦-U¦me%«hunter2»", "mongodump¦-u¦me¦-p¦«hunter2»¦-d¦x", "7z¦x¦-p«hunter2»¦a.7z", "unzip¦-P¦«hunter2»¦a.zip",
	"lftp¦-u¦me,«hunter2»¦sftp://host", "sqlplus¦scott/«tiger1»@orcl", "sqlplus¦-S¦scott/«tiger1»@//host:1521/x", "htpasswd¦-b¦-c¦/etc/f¦me¦«hunter2»", "ipmitool¦-U¦me¦-P¦«hunter2»¦sol",
	"aws¦configure¦set¦aws_secret_access_key¦«abcd1234»",
	// Connection strings and URLs.
	"app¦--conn¦Server=db;Database=x;User Id=me;Password=«hun,ter2»;Encrypt=true", "app¦--conn=Data Source=db;Uid=me;Pwd=«hunter2»;", "app¦Server=db;Password = «hunter2»;X=1",
	"psql¦host=db user=me password=«hunter2» dbname=x", "psql¦postgres://me:«hunter2»@db:5432/x", "app¦DefaultEndpointsProtocol=https;AccountName=me;AccountKey=«bWFkZXVw+/x==»;EndpointSuffix=core.windows.net",
	"app¦Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=«bWFkZXVwa2V5PT0=»", "app¦redis://:«hunter2»@cache:6379/0", "app¦amqp://me:«hunter2»@mq//", "app¦amqps://me:«p@ss»@mq:5671",
	"app¦mongodb+srv://me:«hunter2»@cluster.example.net/x?w=1", "app¦--db=jdbc:sqlserver://db;user=me;password=«hunter2»;encrypt=true", "app¦jdbc:mysql://db/x?user=me&password=«hunter2»&ssl=1",
	"app¦jdbc:oracle:thin:scott/«tiger1»@db:1521:x", "app¦-dsn¦«me:hunter2@tcp(db:3306)/x»", "app¦me:«hunter2»@tcp(db:3306)/x", "git¦clone¦https://oauth2:«hunter2»@git.example.com/x.git",
	"app¦https://x.blob.core.windows.net/c/f?sv=2022-11-02&sp=r&sig=«bWFkZXVw%2Bc2ln%3D»&se=2030", "app¦https://example.com/x?access_token=«hunter2»&page=2", "app¦https://s3/x?X-Amz-Expires=60&X-Amz-Signature=«" + hex32 + "»",
	"curl¦-d¦{\"user\":\"me\",\"password\":\"«hun ter\\\"2»\"}¦url", "curl¦-d¦user=me&password=«hunter2»&remember=1¦url", "sh¦-c¦curl -d \"{\\\"password\\\":\\\"«hunter2»\\\",\\\"a\\\":1}\" url",
	"app¦--config¦{password: «hunter2», color: blue}", "curl¦https://hooks.slack.com/services/«T000/B000/madeup»",
	// Shapes.
	"app¦«AKIAIOSFODNN7EXAMPLE»", "app¦x=«ASIAIOSFODNN7EXAMPLE»,y", "app¦«ghp_" + long36 + "»", "app¦https://«ghs_" + long36 + "»@github.com/x", "app¦«github_pat_11AAAAAAA0" + long36 + "»",
	"app¦«glpat-abcdefghij0123456789»", "app¦«xoxb-123456789012-abcdefGHIJ»", "app¦«xapp-1-A000-123-abcdef»", "app¦«sk_live_abcdefghij0123456789»", "app¦«rk_test_abcdefghij0123456789»", "app¦«whsec_abcdefghij0123456789»",
	"app¦«AIzaSyMadeUpMadeUpMadeUpMadeUpMadeUp012»", "app¦«" + jwt + "»", "app¦x:«" + jwt + "»,y", "app¦«npm_" + long36 + "»", "app¦«pypi-AgEIcHlwaS5vcmcMadeUpMadeUp»", "app¦«SG.abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuv0123456789»",
	"app¦«SK" + hex32 + "»", "app¦«hf_abcdefghijABCDEFGHIJ0123»", "app¦«sk-ant-api03-madeup_madeup-madeup»", "app¦«sk-proj-madeup0123madeup0123»", "app¦«dop_v1_" + hex40 + "»", "app¦«shpat_" + hex32 + "»",
	"app¦«dckr_pat_madeupmadeupmadeup»", "app¦«hvs.madeupmadeupmadeupmadeup»", "app¦«123456789:AAmadeupmadeupmadeupmadeupmadeup0»", "app¦«ya29.a0madeupmadeupmadeup»", "app¦«AGE-SECRET-KEY-1QQQQ»",
	"login¦token¦«" + hex32 + "»", "set¦api-key¦«0x" + hex40 + "»", "run¦secret¦«bWFkZXVwbWFkZXVwbWFk==»",
	"app¦-----BEGIN RSA PRIVATE KEY-----«" + pem + "»-----END RSA PRIVATE KEY-----", "app¦x=-----BEGIN PRIVATE KEY-----«\\nMIIBVA\\nxyz\\n»-----END PRIVATE KEY-----¦--verbose", "app¦-----BEGIN OPENSSH PRIVATE KEY-----«\nb3BlbnNz cut off»",
	"app¦bearer¦«abcdefgh01234567»", "app¦https://discord.com/api/webhooks/12345/«made-up_x»", "app¦«b3BlbnNzaC1rZXktdjEAAAAABG5vbmU=»", "app¦«GOCSPX-madeupmadeupmadeup»", "app¦«rubygems_" + hex40 + "»",
	"app¦«glsa_madeupmadeupmadeupmadeup»", "app¦«dapi" + hex32 + "»", "app¦«key-" + hex32 + "»", "app¦«NRAK-MADEUPMADEUPMADEUP01»", "app¦«lin_api_madeupmadeupmadeupmadeup»", "app¦«sq0atp-madeupmadeupmadeupmadeup»",
	"app¦«abcdefghij0123.atlasv1." + long36 + "0123»", "ab¦-n¦10¦-A¦me:«hunter2»¦http://h/", "snmpwalk¦-v2c¦-c¦«hunter2»¦host",
	"app¦-----BEGIN PGP PRIVATE KEY BLOCK-----«\n\nxyz\n»-----END PGP PRIVATE KEY BLOCK-----", "app¦«LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo=»",
}

// openLines are command lines without secrets, whatever they resemble.
var openLines = []string{
	"ssh¦-p22¦me@host", "ssh¦-p¦22¦me@host", "app¦-p¦22", "mkdir¦-p¦/a/b", "app¦--passthrough", "app¦--passthrough¦yes", "app¦--passthrough=yes", "app¦TOKENIZER=fast", "app¦TOKENIZERS_PARALLELISM=off", "app¦--tokenizer¦fast",
	"app¦PASSENGER_ROOT=/x", "app¦KEYBOARD=us", "app¦SSH_AUTH_SOCK=/tmp/x", "app¦PWD=/x", "cp¦-p¦a¦b", "docker¦run¦-p¦8080:80¦image", "docker¦run¦-p8080:80¦--name¦mysql¦-p3306:3306¦mysql:8", "podman¦ps¦-p",
	"mysql¦-p¦shop", "mysql¦--port=3306¦--protocol=tcp", "psql¦-p¦5432", "psql¦--no-password¦db", "docker¦login¦--password-stdin¦registry.example.com", "ansible¦--ask-become-pass¦all", "app¦--max-tokens¦100", "app¦MAX_TOKENS=4096",
	"app¦--password-file¦/run/p", "app¦--tokenPath=/x", "app¦--bypass¦x", "app¦--compass=north", "app¦--author=me", "app¦MONKEY=1", "app¦--no-auth¦file", "app¦--auth.enabled=true", "curl¦-u¦me¦url", "curl¦-o¦a:b¦url", "ls¦-a¦x", "redis-cli¦-h¦a",
	"grep¦-a¦x", "git¦commit¦-m¦pass the key to the reader", "scp¦-P¦2222¦a¦me@host:b", "nc¦-u¦host:53", "app¦arn:aws:secretsmanager:us-east-1:123456789012:secret:name", "app¦http://host:8080/a@b", "app¦me@host:22", "app¦std::vector<token>::x",
	"app¦-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "app¦-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----", "app¦" + hex40, "git¦checkout¦" + hex40, "app¦--build-id=" + hex40, "app¦sha256:" + hex32, "app¦AKIA", "app¦ghp_x",
	"app¦eyJ", "app¦sk-learn", "app¦sk-1", "app¦npm_config_cache=/x", "app¦npm_lifecycle_event=start", "app¦SG.1", "app¦xoxo", "app¦oauth2-proxy:v7.4", "quay.io/oauth2-proxy/oauth2-proxy:v7.4", "app¦token-service:1.2", "openssl¦req¦-keyform¦PEM", "openssl¦x¦-passin¦env:PW",
	"rsync¦-p¦a¦b", "tar¦-pxf¦a.tar", "netstat¦-p", "java¦-cp¦a.jar:b.jar¦-Xmx1g¦Main", "app¦--color=always¦a=b", "sqlplus¦/nolog", "sqlplus¦@script.sql", "app¦bearer¦--port¦80", "app¦/path/to:x", "app¦PATH=/bin:/usr/bin", "./token=x", "7z¦x¦a.7z", "app¦key", "app¦a==b",
}

var marked = regexp.MustCompile(`«((?s:.*?))»`)

func TestSecretForms(t *testing.T) {
	for _, c := range secretLines {
		line := strings.NewReplacer("«", "", "»", "").Replace(c)
		args := strings.Split(line, "¦")
		want := strings.Split(marked.ReplaceAllString(c, Masked), "¦")
		got := MaskArguments(args, false)
		if !slices.Equal(got, want) {
			t.Errorf("%q\n got %q\nwant %q", line, got, want)
		}
		if again := MaskArguments(got, false); !slices.Equal(again, got) {
			t.Errorf("%q: again %q", got, again)
		}
		// The system's record of the command line has no bounds of arguments: a secret with blanks may show in part.
		joined := MaskLine(strings.Join(args, " "))
		for _, m := range marked.FindAllStringSubmatch(c, -1) {
			if !strings.ContainsAny(m[1], " \t\n") && strings.Contains(joined, m[1]) {
				t.Errorf("%q has %q", joined, m[1])
			}
		}
	}
	if len(secretLines) < 100 || len(openLines) < 30 {
		t.Errorf("only %d and %d forms", len(secretLines), len(openLines))
	}
}

func TestOpenForms(t *testing.T) {
	for _, c := range openLines {
		args := strings.Split(c, "¦")
		if got := MaskArguments(args, false); !slices.Equal(got, args) {
			t.Errorf("%q\n got %q", args, got)
		}
		if line := strings.Join(args, " "); MaskLine(line) != line {
			t.Errorf("%q\n got %q", line, MaskLine(line))
		}
	}
}

// Values of variables have secrets as command lines have.
func TestSecretVariables(t *testing.T) {
	for _, c := range [][2]string{
		{"JAVA_TOOL_OPTIONS", "-Xmx1g -Djavax.net.ssl.keyStorePassword=«hunter2» -Da=b"}, {"BACKUP", "mysqldump -p«hunter2» --all"}, {"DATABASE", "host=db password=«hunter2» dbname=x"},
		{"TLS", "-----BEGIN PRIVATE KEY-----«" + pem + "»-----END PRIVATE KEY-----\n"}, {"HEADER", "Authorization: Bearer «s3cr3t-x»"}, {"GIT", "https://me:«hunter2»@host/x"}, {"X", "«ghp_" + long36 + "»"},
		{"CONN", "Server=db;Password=«hunter2»;Encrypt=true"}, {"JSON", `{"client_secret": "«hunter2»", "id": 3}`}, {"MY_TOKEN", "«a b c»"}, {"dbPass", "«true»"}, {"LS_COLORS", "rs=0:di=01;34:ln=01;36"}, {"PATH", "/bin:/usr/bin"},
		{"TOKENIZER", "fast"}, {"PS1", `\u@\h:\w\$ `}, {"LESSOPEN", "| /usr/bin/lesspipe %s"}, {"PASSENGER_ROOT", "/x"}, {"GPG_AGENT_INFO", "/run/gpg:0:1"},
	} {
		value := strings.NewReplacer("«", "", "»", "").Replace(c[1])
		if got, want := Mask(c[0], value), marked.ReplaceAllString(c[1], Masked); got != want {
			t.Errorf("%s=%q\n got %q\nwant %q", c[0], value, got, want)
		}
	}
}

// The kernel's record of a command line is cut: the start of a secret is one.
func TestMaskCut(t *testing.T) {
	for _, c := range []string{"app¦postgres://me:«hunt»", "app¦redis://:«h»", "app¦«ghp_ab»", "app¦x=«glpat-a»", "app¦«AKIA»", "app¦--password¦«h»", "app¦http://host:80", "app¦http://host", "app¦http://host:80/x", "app¦http://[::1]:80", "app¦me@h", "app¦pkg-x"} {
		args := strings.Split(strings.NewReplacer("«", "", "»", "").Replace(c), "¦")
		want := strings.Split(marked.ReplaceAllString(c, Masked), "¦")
		if got := MaskArguments(args, true); !slices.Equal(got, want) {
			t.Errorf("%q\n got %q\nwant %q", args, got, want)
		}
		long := []string{strings.Repeat("x", cutLine)}
		if got := MaskLine(strings.Join(append(long, args...), " ")); got != strings.Join(append(long, want...), " ") {
			t.Errorf("%q", got)
		}
	}
	if got := MaskArguments([]string{"skopeo", "docker://alpine:latest"}, false); got[1] != "docker://alpine:latest" {
		t.Errorf("%q", got)
	}
}

// What is too long to be looked through is hidden, from the start of a word on.
func TestMaskLong(t *testing.T) {
	args := []string{"app", strings.Repeat("x", maxMasked-20), "a", strings.Repeat("y", 40), "z"}
	if got := MaskArguments(args, false); !slices.Equal(got, []string{"app", args[1], "a", Masked, Masked}) {
		t.Errorf("%.20q", got)
	}
	if got := Mask("X", strings.Repeat("x", maxMasked+1)); got != Masked {
		t.Errorf("%.20q", got)
	}
}

// hostile are texts that would take longer than in proportion, if anything did.
var hostile = map[string]string{
	"equals": "a=", "secret names": "key=1,", "open quotes": `key="`, "names": "password=", "headers": "authorization: ", "urls": "a://b:", "begin": "-----BEGIN PRIVATE KEY-----", "dots": "eyJaaaaaaaa.a",
	"quotes": `'"`, "options": "--token ", "programs": "mysql -p", "runners": "sudo ", "colons": `": `, "tokens": "ghp_", "letters": "a", "cookies": "cookie: a=b; ", "blanks": " ", "backslashes": `\"`, "htpasswd": "htpasswd -b a ",
	"logins": "docker login -p ", "newlines": "\n", "slashes": "a/b@", "nested": `sh -c "`, "digests": "key 0123456789abcdef", "words": "token ", "at": "a:b@", "semicolons": ";a=1", "pass": "pass:", "commas": "key=x,a=", "invalid": "\xff=", "long names": strings.Repeat("k", 200) + "=",
}

func TestMaskHostile(t *testing.T) {
	size := maxMasked / 16
	if fixture.IsLong(t) {
		size = maxMasked
	}
	for name, text := range hostile {
		full := strings.Repeat(text, size/len(text))
		start := time.Now()
		Mask("X", full)
		MaskLine(full)
		MaskArguments([]string{"sh", "-c", full}, false)
		MaskArguments(strings.Split(full, " "), true)
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%s: %v", name, d)
		} else if testing.Verbose() {
			t.Logf("%s: %v", name, d)
		}
	}
}

func FuzzMask(f *testing.F) {
	for _, c := range secretLines {
		f.Add(strings.NewReplacer("«", "", "»", "").Replace(c))
	}
	for _, c := range openLines {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, s string) {
		args := strings.Split(s, "¦")
		if got := MaskArguments(args, false); len(got) != len(args) {
			t.Errorf("%d of %d arguments", len(got), len(args))
		}
		MaskLine(s)
		Mask("X", s)
	})
}

func BenchmarkMaskArguments(b *testing.B) {
	args := strings.Split("/usr/lib/jvm/java/bin/java¦-Xmx4g¦-cp¦/opt/app/lib/a.jar:/opt/app/lib/b.jar¦-Dspring.datasource.password=x¦com.example.Main¦--port¦8080", "¦")
	for b.Loop() {
		MaskArguments(args, false)
	}
}

// Each shape and each program has an example, and its needs let the example through.
func TestFormsHaveExamples(t *testing.T) {
	var all []string
	for _, c := range secretLines {
		all = append(all, strings.NewReplacer("«", "", "»", "", "¦", "\x00").Replace(c))
	}
	for i := range shapes {
		s := &shapes[i]
		if s.cut {
			continue
		}
		if !slices.ContainsFunc(all, func(line string) bool { return hasWord(strings.ToLower(line), s.needs) && s.regexp().MatchString(line) }) {
			t.Errorf("no example of %s: %s", s.of, s.form)
		}
		for _, line := range all {
			if s.regexp().MatchString(line) && !hasWord(strings.ToLower(line), s.needs) {
				t.Errorf("%s is not looked for in %q", s.of, line)
			}
		}
	}
	for i := range programs {
		p := &programs[i]
		if !slices.ContainsFunc(all, func(line string) bool {
			return slices.ContainsFunc(strings.FieldsFunc(line, func(r rune) bool { return r == 0 || r == ' ' }), func(w string) bool { return among(p.names, programName(w)) })
		}) {
			t.Errorf("no example of %s", p.names)
		}
	}
}
