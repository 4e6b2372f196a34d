package kafkatest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Version is the Kafka that the tests run.
const Version = "4.2.0"

//go:embed pom.xml
var pom []byte

//go:embed log4j2.xml
var log4j []byte

// fetch returns the folder of the broker's libraries. Maven copies them the first time; a lock keeps two test binaries
// from doing so at once.
func fetch(ctx context.Context) (string, error) {
	if _, err := exec.LookPath("java"); err != nil {
		return "", errors.New("the tests of Kafka run the real broker and need Java 17 or newer: " +
			"apt-get install openjdk-17-jre-headless")
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	cache := filepath.Join(root, ".cache", "kafka")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(cache, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer lock.Close() //nolint:errcheck // the lock goes with the file, nothing is written
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("locking %s: %w", lock.Name(), err)
	}
	libs := filepath.Join(cache, Version)
	if _, err := os.Stat(libs); err == nil {
		return libs, nil
	}
	return libs, copyLibraries(ctx, cache, libs)
}

func copyLibraries(ctx context.Context, cache, libs string) error {
	if _, err := exec.LookPath("mvn"); err != nil {
		return errors.New("the tests of Kafka fetch the broker from Maven Central and need Maven: apt-get install maven")
	}
	// What Maven was interrupted in must not look complete.
	unfinished := libs + ".unfinished"
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	project := filepath.Join(cache, "pom.xml")
	if err := os.WriteFile(project, pom, 0o644); err != nil {
		return err
	}
	mvn := exec.CommandContext(ctx, "mvn", "--batch-mode", "--quiet", "--file", project,
		"-Dkafka.version="+Version, "-DincludeScope=runtime", "-DoutputDirectory="+unfinished,
		"dependency:copy-dependencies")
	if out, err := mvn.CombinedOutput(); err != nil {
		return fmt.Errorf("fetching Kafka %s from Maven Central: %w\n%s", Version, err, out)
	}
	return os.Rename(unfinished, libs)
}

// moduleRoot is the folder of go.mod, above the folder that a test runs in.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the working directory: the broker is fetched into the .cache folder beside it")
		}
		dir = parent
	}
}
