package view

// secrets are the places below a home where people's credentials and histories
// lie. They are masked where a home shows as it is. Sources: the documentation of
// each tool named.
var secrets = []string{
	".ssh", ".gnupg", ".pki", ".password-store", ".local/share/keyrings", ".local/share/kwalletd",
	".aws", ".azure", ".config/gcloud", ".boto", ".s3cfg", ".config/rclone", ".oci", ".config/doctl", ".config/hcloud",
	".netrc", ".authinfo", ".authinfo.gpg", ".git-credentials", ".config/git/credentials", ".config/gh", ".config/hub", ".config/glab-cli",
	".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".config/pypoetry/auth.toml", ".cargo/credentials", ".cargo/credentials.toml",
	".gem/credentials", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".nuget/NuGet", ".composer/auth.json", ".config/composer/auth.json",
	".docker", ".config/containers/auth.json", ".kube", ".config/helm", ".minikube", ".terraform.d", ".terraformrc", ".vault-token", ".config/op", ".config/sops",
	".pgpass", ".my.cnf", ".mylogin.cnf", ".dbshell", ".mongorc.js", ".config/psql",
	".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge", ".thunderbird", "snap/firefox", ".var/app",
	".config/Code", ".config/Cursor", ".config/github-copilot", ".config/JetBrains", ".config/Slack", ".config/Signal", ".config/discord",
	".claude", ".claude.json", ".codex", ".gemini", ".aider.conf.yml", ".config/opencode", ".local/share/opencode/auth.json", ".cache/huggingface/token", ".huggingface", ".config/anthropic", ".config/openai",
	".env", ".bash_history", ".zsh_history", ".local/share/fish/fish_history", ".python_history", ".node_repl_history", ".psql_history", ".mysql_history", ".sqlite_history", ".lesshst", ".viminfo", ".wget-hsts",
	".Xauthority", ".ICEauthority", ".config/pulse", ".config/systemd",
}

// rootOwned are the system's secrets that only uid 0 may read, and may still
// read without any capability, since it owns them.
var rootOwned = []string{
	"/etc/shadow*", "/etc/gshadow*", "/etc/security/opasswd", "/etc/ssh/*_key",
	"/etc/sudoers*", "/etc/ssl/private", "/etc/pki/tls/private", "/etc/letsencrypt", "/etc/krb5.keytab", "/etc/wireguard", "/etc/openvpn",
	"/etc/ipsec.secrets", "/etc/ppp/chap-secrets", "/etc/NetworkManager/system-connections", "/etc/kubernetes", "/etc/rancher", "/etc/docker/key.json",
	"/var/lib/docker", "/var/lib/containerd", "/var/lib/containers", "/var/lib/kubelet", "/var/lib/rancher", "/var/lib/etcd", "/var/lib/vault",
	"/var/lib/private", "/var/spool/cron", "/var/lib/systemd/random-seed", "/var/lib/AccountsService", "/var/lib/sss", "/var/lib/bluetooth", "/var/lib/iwd", "/var/backups",
}
