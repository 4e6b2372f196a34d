package engine

import "github.com/vapshadow/vapshadow/replay"

// asDigest is the digest of the resource and kind as which a policy matched.
func (s *scope) asDigest(as target) digest {
	if s.asKnown && s.asTarget == as {
		return s.asOf
	}
	s.asKnown, s.asTarget = true, as
	s.asOf = kindDigest(as.kind.Group, as.kind.Version, as.kind.Kind).and(kindDigest(as.resource.Group, as.resource.Version, as.resource.Resource))
	return s.asOf
}

func kindDigest(group, version, name string) digest {
	return digestString(group).and(digestString(version)).and(digestString(name))
}

// requestDigest is the digest of a part of `request`. What of it is the policy's own, the resource and kind as which it
// matched, is not in it.
func requestDigest(req *replay.Request, p *place) digest {
	if len(p.fields) == 0 || p.isNull {
		var all digest
		for _, field := range requestFields {
			all = all.and(requestField(req, []string{field}))
		}
		return all
	}
	return requestField(req, p.fields)
}

var requestFields = []string{
	"kind", "resource", "subResource", "requestKind", "requestResource", "name", "namespace", "operation", "dryRun", "userInfo", "options",
}

func requestField(req *replay.Request, fields []string) digest {
	switch fields[0] {
	case "kind", "requestKind":
		return kindDigest(req.Kind.Group, req.Kind.Version, req.Kind.Kind)
	case "resource", "requestResource":
		return kindDigest(req.Resource.Group, req.Resource.Version, req.Resource.Resource)
	case "subResource", "requestSubResource":
		return digestString(req.SubResource)
	case "name":
		return digestString(req.Name)
	case "namespace":
		return digestString(req.Namespace)
	case "operation":
		return digestString(string(req.Operation))
	case "dryRun":
		return digestOf(req.DryRun)
	case "userInfo":
		return userDigest(req, fields[1:])
	case "options":
		return digestString(string(req.Operation)).and(digestOf(req.Options.Content))
	}
	return digestNumber(tagAbsent, 0)
}

func userDigest(req *replay.Request, fields []string) digest {
	if len(fields) > 0 {
		switch fields[0] {
		case "username":
			return digestString(req.User.Username)
		case "uid":
			return digestString(req.User.UID)
		case "groups":
			return stringsDigest(req.User.Groups)
		}
	}
	d := digestString(req.User.Username).and(digestString(req.User.UID)).and(stringsDigest(req.User.Groups))
	var sum digest
	for key, values := range req.User.Extra {
		entry := digestString(key).and(stringsDigest(values))
		sum[0] += entry[0]
		sum[1] += entry[1]
	}
	return d.and(sum).and(digestNumber(tagMap, uint64(len(req.User.Extra))))
}

func stringsDigest(list []string) digest {
	if list == nil {
		return digestNumber(tagNull, 3)
	}
	d := digestNumber(tagList, uint64(len(list)))
	for _, s := range list {
		d = d.and(digestString(s))
	}
	return d
}

// authorizerDigest is the digest of what the answers of an authorizer hang on: the state of RBAC, who asks, and, for
// authorizer.requestResource, what about.
func authorizerDigest(req *replay.Request, p *place) digest {
	state, _ := req.View.RBAC()
	d := userDigest(req, nil)
	for _, n := range []int{state.Order, state.Changes, state.Pending} {
		d = d.and(digestNumber(tagInt, uint64(n)))
	}
	if len(p.fields) > 0 {
		d = d.and(kindDigest(req.Resource.Group, req.Resource.Version, req.Resource.Resource))
		d = d.and(kindDigest(req.SubResource, req.Namespace, req.Name))
	}
	return d
}
