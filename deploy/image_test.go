package deploy_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// instruction is one of a Dockerfile, its lines joined.
type instruction struct{ name, args string }

func dockerfile(t *testing.T) (all []instruction) {
	t.Helper()
	text := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(content(t, "../Dockerfile"), "")
	text = regexp.MustCompile(`\\\n\s*`).ReplaceAllString(text, "")
	for line := range strings.Lines(text) {
		if name, args, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			all = append(all, instruction{name, strings.TrimSpace(args)})
		}
	}
	return all
}

func TestDockerfile(t *testing.T) {
	last := map[string]string{} // the final stage begins with the last FROM
	for _, i := range dockerfile(t) {
		if i.name == "FROM" {
			clear(last)
			if strings.HasSuffix(i.args, ":latest") || !strings.Contains(i.args, ":") {
				t.Errorf("FROM %s: name a version", i.args)
			}
			if m := regexp.MustCompile(`golang:(\d+\.\d+)`).FindStringSubmatch(i.args); m != nil {
				if want := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(content(t, "../go.mod")); m[1] != want[1] {
					t.Errorf("the image is built by Go %s, and go.mod asks for %s", m[1], want[1])
				}
			}
		}
		if i.name == "RUN" && strings.Contains(i.args, "go build") {
			checkBuild(t, i.args)
		}
		last[i.name] = i.args
	}
	if !strings.HasPrefix(last["FROM"], "gcr.io/distroless/static-debian12:nonroot") {
		t.Errorf("the image is made FROM %s", last["FROM"])
	}
	if !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(last["USER"]) {
		t.Errorf("USER is %q: Kubernetes can see of a number only that it is not root", last["USER"])
	}
	if last["ENTRYPOINT"] != `["/usr/local/bin/vapshadow"]` {
		t.Errorf("ENTRYPOINT is %s: without a shell it has to be a list", last["ENTRYPOINT"])
	}
	if last["RUN"] != "" {
		t.Errorf("RUN %s: there is nothing in the final stage to run", last["RUN"])
	}
}

// checkBuild compares the command with that of the Makefile.
func checkBuild(t *testing.T, command string) {
	t.Helper()
	for _, want := range []string{"CGO_ENABLED=0", "-trimpath", "./cmd/vapshadow"} {
		if !strings.Contains(command, want) || !strings.Contains(content(t, "../Makefile"), want) {
			t.Errorf("%s is not both in the Dockerfile and in the Makefile", want)
		}
	}
	for _, m := range regexp.MustCompile(`-X (main\.\w+)=`).FindAllStringSubmatch(content(t, "../Makefile"), -1) {
		if !strings.Contains(command, m[0]) {
			t.Errorf("the image does not set %s", m[1])
		}
	}
}

// What is compiled or embedded gets into the build.
func TestDockerignoreLeavesTheSources(t *testing.T) {
	patterns := ignored(t)
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=Dir,Standard,Module,GoFiles,EmbedFiles", "./cmd/vapshadow")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			Dir                 string
			Module              *struct{ Main bool }
			GoFiles, EmbedFiles []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Module == nil || !p.Module.Main {
			continue
		}
		for _, f := range append(p.GoFiles, p.EmbedFiles...) {
			name, err := filepath.Rel(root, filepath.Join(p.Dir, f))
			if err != nil {
				t.Fatal(err)
			}
			files++
			if by := ignoredBy(patterns, filepath.ToSlash(name)); by != "" {
				t.Errorf("%s is compiled, and .dockerignore leaves it out: %s", name, by)
			}
		}
	}
	if files < 100 {
		t.Errorf("only %d files are compiled: has go list changed?", files)
	}
	for _, name := range []string{".git/HEAD", "engine/testdata/a.txtar", "sink/store_test.go", "docs/replay.md", "README.md"} {
		if ignoredBy(patterns, name) == "" {
			t.Errorf("%s is sent to the builder, which has no use for it", name)
		}
	}
}

func ignored(t *testing.T) (patterns []string) {
	t.Helper()
	for line := range strings.Lines(content(t, "../.dockerignore")) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
			patterns = append(patterns, line)
		}
	}
	return patterns
}

// ignoredBy is the pattern that leaves out a file or a folder above it. There are no exceptions (!) in the file.
func ignoredBy(patterns []string, name string) string {
	for _, pattern := range patterns {
		rest, anywhere := strings.CutPrefix(pattern, "**/")
		for part := name; part != "."; part = path.Dir(part) {
			against := part
			if anywhere {
				against = path.Base(part)
			}
			if ok, err := path.Match(rest, against); ok && err == nil {
				return pattern
			}
		}
	}
	return ""
}
