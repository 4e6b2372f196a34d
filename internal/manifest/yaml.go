package manifest

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// yamlDocument reads a YAML document. It goes by way of JSON, as kubectl does, so that both mean the same.
func (r *reader) yamlDocument(d document) error {
	read, done, err := r.yamlList(d)
	if done || err != nil {
		return err
	}
	value, duplicates, err := toJSON(d)
	if err != nil && read > 0 {
		err = fmt.Errorf("nothing was read after item %d: %w", read, err)
	}
	if err != nil {
		r.problem(r.at, err)
		return nil
	}
	if duplicates != nil {
		r.problem(r.at, duplicates)
	}
	if string(value) == "null" {
		return nil
	}
	return r.value(value, read)
}

// toJSON converts a document. Keys that stand twice are reported beside the result, in which the last one counts.
func toJSON(d document) (value []byte, duplicates, err error) {
	value, err = yaml.YAMLToJSONStrict(d.text)
	if err == nil {
		return value, nil, nil
	}
	value, again := yaml.YAMLToJSON(d.text)
	if again != nil {
		return nil, nil, lineError(d, again)
	}
	return value, duplicateKeys(d), nil
}

// duplicateKeys names the keys that stand twice in a mapping. The strict YAML reader also complains where a key stands
// beside a merge (`<<`) that has it too, which is what merges are for; so the keys are looked at here.
func duplicateKeys(d document) error {
	var root yamlv3.Node
	if err := yamlv3.Unmarshal(d.text, &root); err != nil {
		return fmt.Errorf("%w: %w", ErrDuplicateKey, lineError(d, err))
	}
	var found []string
	var walk func(node *yamlv3.Node)
	walk = func(node *yamlv3.Node) {
		seen := map[string]bool{}
		for i, child := range node.Content {
			if node.Kind == yamlv3.MappingNode && i%2 == 0 && child.Kind == yamlv3.ScalarNode {
				if key := child.ShortTag() + " " + child.Value; !seen[key] {
					seen[key] = true
				} else {
					found = append(found, fmt.Sprintf("%s in line %d", child.Value, child.Line+d.first-1))
				}
			}
			walk(child)
		}
	}
	walk(&root)
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrDuplicateKey, strings.Join(found, ", "))
}

// yamlLine is how the YAML reader names a line of the document.
var yamlLine = regexp.MustCompile(`(?m)(^yaml: |^ *)line (\d+):`)

// lineError turns the lines that an error of the YAML reader names from the document's into the file's.
func lineError(d document, err error) error {
	text := yamlLine.ReplaceAllStringFunc(err.Error(), func(match string) string {
		parts := yamlLine.FindStringSubmatch(match)
		line, err := strconv.Atoi(parts[2])
		if err != nil {
			return match
		}
		return fmt.Sprintf("%sline %d:", parts[1], line+d.first-1)
	})
	text = strings.ReplaceAll(strings.TrimPrefix(text, "yaml: unmarshal errors:\n"), "\n", ";")
	return fmt.Errorf("invalid YAML: %s", strings.TrimSpace(strings.TrimPrefix(text, "yaml: ")))
}

// yamlList reads a list as kubectl prints it item by item: as a whole, the tree that YAML makes of it takes some twenty
// times its size. Where an item cannot be read by itself, or the document is no such list, it is not done: the document
// has to be read as a whole, without the items that were read already.
func (r *reader) yamlList(d document) (read int, done bool, err error) {
	before, items, after, ok := splitItems(d)
	if !ok {
		return 0, false, nil
	}
	h, ok := listHead(d, before, after)
	if !ok {
		return 0, false, nil
	}
	document := r.at
	for i, text := range items {
		value, duplicates, err := toJSON(text)
		var one []any
		if err == nil {
			err = json.UnmarshalCaseSensitivePreserveInts(value, &one)
		}
		if err != nil || len(one) != 1 {
			r.at = document
			return i, false, nil
		}
		r.at.Item++
		if duplicates != nil {
			r.problem(r.at, duplicates)
		}
		content, ok := one[0].(map[string]any)
		if !ok {
			r.problem(r.at, fmt.Errorf("%w: the item is no mapping", ErrNotObject))
			continue
		}
		if err := r.object(content, h.apiVersion, strings.TrimSuffix(h.kind, "List")); err != nil {
			return i, true, err
		}
	}
	return len(items), true, nil
}

// listHead reads what stands around the items of a list. It must be complete before them, so that no string or bracket
// is open where they begin. That each item is complete is seen when it is read.
func listHead(d document, before, after []byte) (head, bool) {
	if _, duplicates, err := toJSON(document{text: before, first: d.first}); err != nil || duplicates != nil {
		return head{}, false
	}
	around := append(append(bytes.Clone(before), "items: []\n"...), after...)
	value, duplicates, err := toJSON(document{text: around, first: d.first})
	if err != nil || duplicates != nil {
		return head{}, false
	}
	h, err := scan(value)
	return h, err == nil && h.isList()
}

// splitItems finds the sequence under a top-level `items:` and cuts it at its dashes.
func splitItems(d document) (before []byte, items []document, after []byte, ok bool) {
	begin := -1
	dash := -1 // the column of the dashes
	at, line := 0, d.first
	for ; at < len(d.text); line++ {
		next := len(d.text)
		if i := bytes.IndexByte(d.text[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		text := d.text[at:next]
		column := len(text) - len(bytes.TrimLeft(text, " "))
		content := bytes.TrimSpace(text)
		switch {
		case begin < 0:
			if bytes.HasPrefix(text, []byte("items:")) && len(content) == len("items:") {
				before, begin = d.text[:at], next
			}
		case len(content) == 0 || content[0] == '#' && dash < 0:
		case isDash(content) && (dash < 0 || column == dash):
			dash = column
			if len(items) > 0 {
				last := &items[len(items)-1]
				last.text = last.text[:len(last.text)-len(d.text[at:])]
			}
			items = append(items, document{text: d.text[at:], first: line, line: line})
		case dash < 0:
			return nil, nil, nil, false
		case column <= dash && content[0] != '#':
			last := &items[len(items)-1]
			last.text = last.text[:len(last.text)-len(d.text[at:])]
			return before, items, d.text[at:], true
		}
		at = next
	}
	return before, items, nil, len(items) > 0
}

// isDash says whether a line's content begins an item.
func isDash(content []byte) bool {
	return content[0] == '-' && (len(content) == 1 || content[1] == ' ')
}
