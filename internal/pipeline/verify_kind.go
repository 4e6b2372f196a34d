package pipeline

import (
	"slices"

	"github.com/vapshadow/vapshadow/sink"
)

// Kinds of disagreement. Where both sides say the same, what they say it with differs.
const (
	onlyApiserverFails     = "OnlyApiserverFails"
	onlyVapshadowFails     = "OnlyVapshadowFails"
	otherMessage           = "OtherMessage"
	otherActions           = "OtherActions"
	onlyApiserverRejects   = "OnlyApiserverRejects"
	onlyVapshadowRejects   = "OnlyVapshadowRejects"
	otherRejection         = "OtherRejection"
	onlyApiserverAnnotates = "OnlyApiserverAnnotates"
	onlyVapshadowAnnotates = "OnlyVapshadowAnnotates"
	otherValue             = "OtherValue"
)

// kind says in a word how the two sides differ.
func (d *Disagreement) kind() string {
	alike := d.Apiserver == d.Vapshadow
	switch d.Apiserver {
	case SaidFail:
		switch {
		case !alike:
			return onlyApiserverFails
		case d.ApiserverMessage == d.VapshadowMessage:
			return otherActions
		}
		return otherMessage
	case SaidDeny:
		if alike {
			return otherRejection
		}
		return onlyApiserverRejects
	case SaidValue:
		if alike {
			return otherValue
		}
		return onlyApiserverAnnotates
	case SaidNoValue:
		return onlyVapshadowAnnotates
	case SaidAdmit:
		return onlyVapshadowRejects
	default:
		return onlyVapshadowFails
	}
}

// KindAgreement counts the disagreements of a kind.
type KindAgreement struct {
	Count int64
	// AuditIDs are the first of the events.
	AuditIDs []string
}

// add counts a disagreement in which an event is.
func (k *KindAgreement) add(auditID string) {
	k.Count++
	if len(k.AuditIDs) < sink.MaxAgreementSamples && !slices.Contains(k.AuditIDs, auditID) {
		k.AuditIDs = append(k.AuditIDs, auditID)
	}
}

// reasons splits what is not agreed: the disagreements by kind, and what is undecided by what is not known.
type reasons struct {
	Kinds            map[string]*KindAgreement
	UndecidedBecause map[string]int64
}

func newReasons() reasons {
	return reasons{Kinds: map[string]*KindAgreement{}, UndecidedBecause: map[string]int64{}}
}

func (r *reasons) disagreed(kind, auditID string) {
	if r.Kinds[kind] == nil {
		r.Kinds[kind] = &KindAgreement{}
	}
	r.Kinds[kind].add(auditID)
}
