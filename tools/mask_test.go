package tools_test

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan/internal/userinfo"
)

// What a model has read of a file with a credential in an address still fits the file,
// and the credential stays.
func TestAnEditBesideACredential(t *testing.T) {
	t.Parallel()
	const hidden = "https://user:t0ken@host"
	shown := userinfo.Redact(hidden)
	d := newFixture(t, files{
		"a": "url = " + hidden + "/x\nkeep\n",
		"b": "one " + hidden + "/x\ntwo https://other:s3cret@host/x\n",
	})
	d.read("a", "b")
	d.do("edit", args{"path": "a", "old_string": "url = " + shown + "/x\nkeep", "new_string": "url = " + shown + "/y\nkept"})
	d.has("a", "url = "+hidden+"/y\nkept\n")
	d.do("edit", args{"path": "a", "old_string": "kept", "new_string": "more"})
	d.has("a", "url = "+hidden+"/y\nmore\n")
	d.refused("edit", args{"path": "b", "old_string": shown + "/x", "new_string": "gone"}, "several places")
	d.refused("edit", args{"path": "b", "old_string": "one", "new_string": "one " + shown}, "not shown")
	d.refused("write", args{"path": "b", "content": strings.ReplaceAll("x "+hidden, hidden, shown)}, "not shown")
	d.do("edit", args{"path": "b", "old_string": "one " + shown + "/x", "new_string": "first"})
	d.has("b", "first\ntwo https://other:s3cret@host/x\n")
}

// A patch fits such a file like an edit does.
func TestAPatchBesideACredential(t *testing.T) {
	t.Parallel()
	const hidden, other = "https://user:t0ken@host", "https://other:s3cret@host"
	shown := userinfo.Redact(hidden)
	d := newFixture(t, files{
		"a": "# one\nurl = " + hidden + "/x\nkeep\nmore = " + other + "/x\r\nend\n",
		"b": "# one\n" + hidden + "/x\n# two\n" + other + "/x\n",
	})
	d.read("a", "b")
	d.do("apply_patch", args{"patch": sections("*** Update File: a\n@@\n # one\n-url = " + shown + "/x\n+url = " + shown +
		"/y\n-keep\n more = " + shown + "/x\n-end\n+END\n")})
	d.has("a", "# one\nurl = "+hidden+"/y\nmore = "+other+"/x\r\nEND\n")
	d.refused("apply_patch", args{"patch": sections("*** Update File: b\n@@\n-" + shown + "/x\n+gone\n")}, "2 places")
	d.refused("apply_patch", args{"patch": sections("*** Update File: b\n@@\n # one\n+" + shown + "/z\n")}, "not shown")
	d.refused("apply_patch", args{"patch": sections("*** Update File: b\n@@\n # one\n-x" + shown + "/x\n+gone\n")}, "does not fit")
	d.refused("apply_patch", args{"patch": sections("*** Update File: b\n@@\n # one\n " + shown + "/x\n+" + shown + "/z\n # two\n")}, "not shown")
	d.do("apply_patch", args{"patch": sections("*** Update File: b\n@@ # two\n-" + shown + "/x\n+" + shown + "/y\n")})
	d.has("b", "# one\n"+hidden+"/x\n# two\n"+other+"/y\n")
}
