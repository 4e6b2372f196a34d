package pgtest

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// findPrograms returns the folder of initdb and postgres: that on PATH, or the newest that Debian installed.
func findPrograms() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.SortFunc(found, func(a, b string) int { return majorOf(a) - majorOf(b) })
	if len(found) == 0 {
		return "", errors.New("initdb is neither on PATH nor under /usr/lib/postgresql: install Postgres 14 or newer " +
			"(apt-get install postgresql)")
	}
	return filepath.Dir(found[len(found)-1]), nil
}

func majorOf(initdb string) int {
	major, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	return major
}

// account returns as whom Postgres runs: as user postgres where we are root, since it refuses to run as root, and as
// ourselves (nil) otherwise.
func account() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, errors.New("Postgres does not run as root, and there is no user postgres to run it as: " +
			"install it (apt-get install postgresql), or run the tests as another user")
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: false}, nil
}
