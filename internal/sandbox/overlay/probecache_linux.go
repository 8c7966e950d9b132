package overlay

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ambit-run/ambit/internal/fsop"
)

// probeCacheDir lies in the folder of bases, which all plans share.
const probeCacheDir = ".probed"

// cacheKey names everything that a mount's success depends on, as far as a
// process can see it: the boot, the user, both file systems, the switches.
func (p *prober) cacheKey(dir, lower *fsop.Dir, fsTypes string) (string, error) {
	up, err := dir.Stat(".")
	if err != nil {
		return "", err
	}
	low, err := lower.Stat(".")
	if err != nil {
		return "", err
	}
	ns, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		return "", fmt.Errorf("name the user namespace: %w", err)
	}
	parts := []string{
		"1", p.s.boot, fmt.Sprint(p.s.uid, p.s.gid), ns, fsTypes, fmt.Sprint(up.Dev(), low.Dev()),
		readSwitch(switchMax), readSwitch(switchDebian), readSwitch(switchAppArmor),
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:12]), nil
}

func (p *prober) cacheFile(key string) string {
	if p.req.BasesDir == "" || p.s.boot == "" {
		return ""
	}
	return filepath.Join(p.req.BasesDir, probeCacheDir, key)
}

func (p *prober) cached(key string) bool {
	file := p.cacheFile(key)
	if file == "" {
		return false
	}
	_, err := os.Stat(file)
	return err == nil
}

// remember notes a success. A note that cannot be written costs a few
// milliseconds next time and nothing else.
func (p *prober) remember(key string) {
	file := p.cacheFile(key)
	if file == "" {
		return
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return
	}
	if f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		_ = f.Close()
	}
}
