package process

import "strings"

// Variable returns the value of a variable in an environment; "" if it has none.
func Variable(env []string, name string) string {
	for _, e := range env {
		if rest, ok := strings.CutPrefix(e, name); ok && strings.HasPrefix(rest, "=") {
			return rest[1:]
		}
	}
	return ""
}

// Container returns the kind of container that a process ran in, as far as its environment
// tells: "kubernetes", or what the container's manager says of itself (systemd's
// CONTAINER_INTERFACE): "docker", "podman", "lxc", "systemd-nspawn"; "" if it tells nothing.
func Container(env []string) string {
	switch {
	case Variable(env, "KUBERNETES_SERVICE_HOST") != "":
		return "kubernetes"
	case Variable(env, "ECS_CONTAINER_METADATA_URI_V4") != "" || Variable(env, "ECS_CONTAINER_METADATA_URI") != "":
		return "ecs"
	}
	kind := Variable(env, "container")
	if len(kind) > 32 || strings.ContainsFunc(kind, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return kind
}
